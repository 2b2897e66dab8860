"""Base of the classifiers of XGBoost, LightGBM and CatBoost: parameters, plan of a training, files and pickles."""

from __future__ import annotations

import copy
import functools
import inspect
import numbers
from abc import abstractmethod
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import fields, replace
from os import PathLike
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.aliases import Booster, FloatArray, Params, Seed, Table
from ordinal_objectives.columns import Columns
from ordinal_objectives.estimators import arguments, held_out, linear
from ordinal_objectives.estimators.description import ClassifierDescription, describe, give_back
from ordinal_objectives.estimators.held_out import RoundSearch, Rows, Trial
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.estimators.ordinal_classifier import OrdinalClassifier
from ordinal_objectives.random_effects import GroupColumn, without
from ordinal_objectives.rows import CPU, soft_rows
from ordinal_objectives.spec import OrdinalSpec, parameter_names
from ordinal_objectives.threads import library_n_threads, one_thread_after_fork
from ordinal_objectives.threshold_solver import ThresholdRecord, initial_thresholds
from ordinal_objectives.threshold_solver.random_intercept import ScoredRows, check_random_intercept, settled
from ordinal_objectives.utils import files, validation


class BoosterInTransit:
    """Writes and reads a booster as its library does, on one thread in a forked process, which would hang otherwise.

    Parameters
    ----------
    booster : xgboost.Booster, lightgbm.Booster or catboost.CatBoost
    """

    def __init__(self, booster: Booster) -> None:
        self.booster = booster

    @one_thread_after_fork()
    def __reduce__(self) -> tuple[object, ...]:
        return _arrived, (type(self.booster), self.booster.__getstate__())


@one_thread_after_fork()
def _arrived(kind: Any, state: Params) -> Any:
    booster = kind.__new__(kind)
    booster.__setstate__(state)
    return booster


# What the classifiers' constructors take and the library's ``train`` does not.
ORDINAL_PARAMETERS = frozenset(parameter_names("classifier")) | {
    *("class_weight", "classes", "cost_matrix", "decision_rule", "importance_type"),
    *("linear", "linear_l2", "n_estimators", "progress", "random_intercept", "training_cost", "validation_fraction"),
}
# Not in the description of the classifier: they stand in the record of the thresholds.
_IN_RECORD = frozenset(parameter_names("classifier", in_files=True)) | {"training_cost"}


class RoundPlan(NamedTuple):
    """How many rounds there will be, and the parameters of the library's ``train`` that a search has found."""

    n_rounds: int
    settings: Params


class HostClassifier(OrdinalClassifier):
    """An ordinal classifier whose trees XGBoost, LightGBM or CatBoost grows, predicts and keeps in its files.

    A subclass says which parameters the library's ``train`` spells otherwise (``_native``), and which of its own never
    go there (``_own``).
    """

    _native: ClassVar[Mapping[str, str]] = {}
    _own: ClassVar[frozenset[str]] = frozenset()
    # The argument of ``fit`` with a model to continue.
    _continued_by: ClassVar[str]
    # Whether the library evaluates its training set where an evaluation set is the very X and y of ``fit``.
    _knows_training_set: ClassVar[bool] = False
    _rounds_name: ClassVar[str] = "n_estimators"
    _n_earlier: int = 0
    # By which parameters the fit read its rows: predictions read theirs so, whatever is set for the next one.
    _of_rows: Mapping[str, Any] = MappingProxyType({})
    # What a search tries, with few rows and with more, and what "auto" is where nothing is searched.
    _tried: ClassVar[tuple[held_out.Settings, held_out.Settings]]
    _unsearched: ClassVar[Params]
    # Parameters of the machine, by all their names in the library.
    _of_machine: ClassVar[frozenset[str]] = frozenset()
    validation_fraction: float | None
    linear_l2: float
    random_intercept: object
    columns_: Columns
    # Those of the model that fit continues.
    _earlier_columns: Columns | None = None
    n_jobs: int | None
    round_search_: RoundSearch | None = None

    @classmethod
    @functools.cache
    def _default(cls, name: str) -> Any:
        """Return the value of a parameter that nobody set."""
        return inspect.signature(arguments.keeper(cls)).parameters[name].default

    def _resolved_params(self) -> Params:
        """Return the parameters, by one name each."""
        return arguments.kept_arguments(self) | self._host_params

    def _native_params(self) -> Params:
        """Return the parameters of the library's ``train``; those left at None take its defaults."""
        self._refuse_unknown()
        given = self._resolved_params()
        given |= {name: value for name, value in self._unsearched.items() if held_out.is_auto(given[name])}
        given = {k: v for k, v in given.items() if v is not None and k not in self._own}
        seed = given.get("random_state")
        if seed is not None and not isinstance(seed, numbers.Integral):
            given["random_state"] = validation.drawn_seed(seed)
        threads = library_n_threads(given.pop("n_jobs", None))
        if threads is not None:
            given["n_jobs"] = threads
        return {self._native.get(name, name): value for name, value in given.items()}

    def _check_features(self, X: Table, *, reset: bool) -> Table:
        if reset:
            self._forget_fit()
            missing = getattr(self, "_missing", np.nan)
            self._groups = GroupColumn.learn(X, getattr(self, "random_intercept", None), missing=missing)
        return super()._check_features(self._with_codes(X, reset=reset), reset=reset)

    def _encoded(self, X: Table, *, reset: bool) -> Any:
        """Return checked features as numbers; those of ``fit`` say which columns there are."""
        if reset:
            self._take_columns(X)
        columns = replace(self.columns_, names=None) if self._has_written_names(X) else self.columns_
        return columns.encode(X, refuse_new=reset, hint=self._hint)

    def _take_columns(self, X: Table) -> None:
        """Take the columns of a training: their levels are those of the model that is continued, if one is."""
        found, earlier = self._learned(X), self._earlier_columns
        self.columns_ = found if earlier is None else replace(found, levels=earlier.levels)

    def _learned(self, X: Table) -> Columns:
        return Columns.learn(X, declared=True)

    def _read_model(self, model: Booster) -> tuple[Booster | None, ThresholdRecord | None]:
        """Return the booster of the model that ``fit`` goes on with, and its record; its columns are those of X."""
        self._earlier_columns = None
        if model is None:
            return None, None
        is_ours = isinstance(model, arguments.keeper(type(self)))
        if is_ours:
            says = f"{self._continued_by} must be fitted; got an %(name)s that has not been fitted"
            check_is_fitted(model, msg=says)
        booster, record = self._read_continued(model.booster_ if is_ours else model)
        self._earlier_columns = model.columns_ if is_ours else self._columns_in(booster, record)
        return booster, record

    @abstractmethod
    def _own_columns(self, booster: Booster) -> Columns:
        """Return the columns of a booster with the levels that the library keeps."""

    def _columns_in(self, booster: Booster, record: ThresholdRecord) -> Columns:
        """Return the columns of a booster, with the levels that the record of a classifier names, or its own."""
        columns = self._own_columns(booster)
        if record.classifier is not None:
            columns = Columns(columns.n_features, record.classifier.levels)
        columns.check()
        return columns

    def _forget_fit(self) -> None:
        """Forget what an earlier fit found beside trees, thresholds and classes."""
        self.round_search_ = self._linear = self._n_rounds = None
        self._found, self._effects, self._groups, self._n_earlier = {}, (), (), 0
        self.__dict__.pop("evals_result_", None)

    def _bind_groups(self, matrix: Any, rows: Rows) -> None:
        """Let a matrix of the library carry the groups of its rows."""
        if self._groups:
            matrix.ordinal_groups = self._groups, rows.X

    def _settle(self, rows: Rows) -> None:
        """Take effects and last thresholds of the highest likelihood, given the trees of a training."""
        if not self._groups:
            return
        scores = self._scores_of_checked(rows.X, {} if rows.start is None else {str(self._start_name): rows.start})
        scored = ScoredRows(rows.X, rows.codes, self.n_classes_, rows.weight, scores)
        self._keep(settled(self._record, self.n_iter_, scored, self.n_jobs), self.n_iter_)
        self._effects = self._record.random_effects

    @abstractmethod
    def _trial(self, fit: Rows, held: Rows, **options: Any) -> Trial:
        """Return what trains on some rows and evaluates others after 1, 2, ... rounds, at most ``most`` of them.

        The training ends after ``patience`` rounds without a lower loss. ``settings`` are parameters of the library's
        ``train`` that change nothing of its data sets; ``options`` what else it needs to know of the rows.
        """

    @abstractmethod
    def _categories(self, **options: Any) -> Collection[int]:
        """Return the columns of numbers that the library takes for categories."""

    @abstractmethod
    def _read_continued(self, model: Booster) -> tuple[Booster, ThresholdRecord]:
        """Return a booster to go on with, given as such or by its file, and its record."""

    @abstractmethod
    def _store(self, record: ThresholdRecord) -> None:
        """Make the booster carry a record."""

    @abstractmethod
    def _write(self, path: str | PathLike[str]) -> None:
        """Write the booster with the record that it carries."""

    @abstractmethod
    def _read(self, path: str | PathLike[str]) -> tuple[ThresholdRecord, int, int]:
        """Read the model: return the record, the number of iterations kept and of features."""

    @abstractmethod
    def _names_in_booster(self) -> list[str] | None:
        """Return the names of columns that the training had, numbers as text; None where it had none."""

    @property
    def threshold_history_(self) -> FloatArray:
        """Thresholds that belong to the score after 0, 1, ... iterations, (n_iterations + 1, n_classes - 1)."""
        check_is_fitted(self)
        return np.array(self._record.thresholds)

    def __getstate__(self) -> Params:
        state: Params = super().__getstate__()
        return state | {"booster_": BoosterInTransit(state["booster_"])} if "booster_" in state else state

    def __setstate__(self, state: Params) -> None:
        booster = state.get("booster_")  # still in transit in a shallow copy
        super().__setstate__(state | {"booster_": booster.booster} if isinstance(booster, BoosterInTransit) else state)

    def save_model(self, path: str | PathLike[str]) -> None:
        """Save the model, with its thresholds, labels and decision rule, in the format of the library.

        Parameters
        ----------
        path : path-like
            Where to write. The library's loader reads the file too.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        TypeError
            If class labels are neither strings nor numbers, or a parameter has been set that there is not.
        ValueError
            If ``decision_rule`` or ``cost_matrix`` have been set to what no prediction can use; in a callback of
            ``fit``, which saves the booster that it is given.
        """
        self._check_not_under_way("save the booster that the callback is given")
        check_is_fitted(self)
        files.check_path(path)
        self.check_fitted_decision()
        self._refuse_unknown()
        self._carry(self._description())  # raises an error for labels that no file holds
        self._write(path)

    def load_model(self, path: str | PathLike[str]) -> HostClassifier:
        """Load what :meth:`save_model` wrote; or a model trained without the classifier.

        Sets the parameters of the training, and the others to their defaults, so that a clone trains the same model on
        the same rows. Left as they are:
        ``n_jobs``, ``verbosity`` and ``device``, which belong to the machine; what JSON cannot hold, such as
        callbacks, of which a warning tells; and, where the model was trained without the classifier, all but
        ``loss``, ``link``, ``training_cost``, ``hessian``, ``threshold_update`` and ``proportional`` with its penalty.
        Classes that the file does not name are those of the parameter ``classes``, or 0, 1, ...

        Parameters
        ----------
        path : path-like
            Where to read.

        Returns
        -------
        HostClassifier
            Itself.

        Raises
        ------
        ValueError
            If the file is damaged or carries no thresholds. The model stays as it was.

        Warns
        -----
        UserWarning
            If the model was trained with parameters that the file cannot hold.
        """
        with self._all_or_nothing():
            record, n_iter, n_features = self._read(path)
            described = record.classifier
            for name, value in (record.spec.loss.as_parameters() | record.spec.common_parameters).items():
                setattr(self, name, value)
            with files.as_damaged_file(path) if described else nullcontext():
                if described:
                    give_back(described, self, n_features, _IN_RECORD | self._of_machine)
                labels = OrderedLabels(np.arange(record.n_classes) if self.classes is None else self.classes)
                n_classes = len(labels.classes_)
                if n_classes != record.n_classes:
                    raise ValueError(f"classes must hold the model's {record.n_classes} labels; got {n_classes}")
                self._keep_labels(labels)
                self._check_decision()
                self.n_features_in_ = n_features
                self._forget_fit()
                self._earlier_columns = None
                if described:
                    self._found, self._n_rounds = described.found, described.n_rounds
                if record.linear is not None:
                    record.linear.check(n_features)
                self._effects, self._linear = record.random_effects, record.linear
                self._groups = tuple(one.column for one in self._effects)
                if any(column.place >= n_features for column in self._groups):
                    raise ValueError(f"random effects must be of columns below {n_features}")
                if self._groups and not described:
                    raise ValueError(f"the groups stood beside the features of {path}: predict with its booster")
                if described is None or described.feature_names is described.column_numbers is None:
                    written = self._names_in_booster()
                    are_numbers = written and (described or all(map(str.isdecimal, written)))
                    arguments.keep_names(self, *((None, written) if are_numbers else (written, None)))
                missing = getattr(self, "_missing", np.nan)
                self.columns_ = replace(self.columns_, names=self._names(), missing=missing)
                self._keep(record, n_iter)
        files.warn_of(described.left_out if described else (), stacklevel=2)
        return self

    def _names(self) -> list[str] | None:
        """Return the names of the columns, numbers as text; None where the training had none."""
        names = getattr(self, "feature_names_in_", None)
        return getattr(self, "_column_numbers", None) if names is None else list(names)

    def n_earlier_rounds(self) -> int:
        """Return how many rounds the continued model had, 0 without one; those of ``evals_result_`` follow them."""
        return self._n_earlier

    def _apart(self, model: Booster) -> Booster:
        """Return a model to go on with, of which this fit changes nothing: it may be this very one."""
        return copy.copy(model) if model is self else model

    def _check_continued(self, model: Booster, booster: Booster | None, record: ThresholdRecord | None) -> None:
        """Check that the rows of ``fit`` go on with a model, if there is one, which :meth:`_read_model` has read."""
        if record is not None:
            self._check_same_classes(record, model, self._continued_by)
            self._n_earlier = record.n_iterations

    def _rows_to_fit(
        self, training: tuple[Any, Any, Any, Any, Any], start: str, sets: arguments.GivenSets, random_state: Seed
    ) -> tuple[Rows, list[Rows]]:
        """Return the rows to train on and those to evaluate, checked.

        Parameters
        ----------
        training : tuple of (X, y, sample_weight, start score, groups)
            As ``fit`` was given them; ``start`` is what the library calls the scores.
        start : str
        sets : GivenSets
        random_state
            Of the rows that ``validation_fraction`` holds out, where no set is given.

        Returns
        -------
        Rows, list of Rows
            Among the latter is the former itself where the library takes a set for the training set.
        """
        X, y, sample_weight, scores, groups = training
        rows = self._check_training(X, y, sample_weight, groups)
        rows = replace(rows, start=validation.check_start_score(scores, len(rows), name=start))
        checked = self._check_evaluation(sets, (X, y, rows) if self._knows_training_set else None)
        starts = arguments.one_for_each(sets.starts, checked, sets.starts_name)
        evaluated = [
            held
            if held is rows
            else replace(held, start=validation.check_start_score(held_start, len(held), name=sets.starts_name))
            for held, held_start in zip(checked, starts, strict=True)
        ]
        return held_out.hold_out_unless_given(rows, evaluated, self.validation_fraction, random_state)

    def _plan(
        self,
        asked: Any,
        rows: Rows,
        search: tuple[float, Any] | None,
        *,
        continued: ThresholdRecord | None = None,
        watched: list[Rows],
        callbacks: arguments.Schedules,
        says: bool = False,
        **options: Any,
    ) -> RoundPlan:
        """Find the number of rounds, and set ``round_search_`` and the linear part.

        Parameters
        ----------
        asked : int or "auto"
            For "auto" it is the number with the lowest loss on rows held out.
        rows : Rows
            Those of the training.
        search : tuple or None
            Learning rate and random state; None where rows are not divided, since a model is continued or
            stops early.
        continued : ThresholdRecord or None
            Of a model that is continued: its linear part is kept.
        watched : list of Rows
            Those that are evaluated.
        callbacks : Schedules
            Those of the training.
        says : bool
            Whether to print the result.
        **options
            For :meth:`_trial` and :meth:`_categories`.
        """
        if search is not None and held_out.is_auto(asked):
            callbacks.warn_of_unknown()
        options |= {"callbacks": callbacks.known}
        always = self._check_linear(continued)
        if self._groups:
            self._check_groups(rows, continued)
        if continued is not None:
            if continued.random_effects:
                raise ValueError(
                    f"{self._continued_by} must be without random_intercept: no training keeps its effects"
                )
            if continued.linear is not None:
                continued.linear.check(self.n_features_in_)
                self._linear = continued.linear
            return RoundPlan(held_out.rounds_unsearched(self._rounds_name, asked), {})
        categories = self._categories(**options) if self.linear is not False else ()

        def fit_linear(some: Rows) -> linear.LinearPart:
            some = replace(some, X=without(some.X, self._groups))
            given: Params = {"hessian": self.hessian, "categories": categories, "n_threads": self.n_jobs}
            given |= {"missing": self.columns_.missing_in_codes}
            return linear.LinearPart.fit(some, self.n_classes_, self._ordinal_loss(), self.linear_l2, **given)

        def trial_of(fit: Rows, held: Rows) -> Trial:
            trial, without_trees = self._trial(fit, held, **options), self._loss_without_trees(fit, held)

            return lambda most, patience, settings: [without_trees, *trial(most, patience, settings)]

        if search is None or not held_out.is_auto(asked):
            found, self._linear = None, fit_linear(rows) if always else None
        else:
            rate, random_state = search
            rate, seed = validation.check_number("learning_rate", rate, above=0.0), held_out.split_seed(random_state)
            tried = False if linear.is_fixed(self.threshold_update) else self.linear
            settings = held_out.settings_to_try(*self._tried, self._resolved_params(), len(rows.weighted))
            found, self._linear = linear.search(tried, fit_linear, trial_of, settings, rows, rate, seed)
        if found is None:
            return RoundPlan(held_out.rounds_unsearched(self._rounds_name, asked), {})
        self.round_search_, self._found = found, found.settings
        if says:
            print(f"{self._rounds_name}='auto': {found}{'' if self._linear is None else ', with a linear part'}")
        return RoundPlan(found.n_iter, found.settings)

    def _check_linear(self, continued: ThresholdRecord | None) -> bool:
        """Check what is asked for of a linear part; tell whether there is one whatever the rows say."""
        params, has_linear = self._resolved_params(), None if continued is None else continued.linear is not None
        if (self.linear is not False or has_linear) and str(params.get("zero_as_missing")).lower() in ("true", "+"):
            raise ValueError("a linear part counts 0 as a number: train without zero_as_missing, on NaN for 0")
        signs = params.get("monotone_constraints")
        given = self.linear, self.linear_l2, "monotone_constraints", signs, has_linear, self.threshold_update
        return linear.check_linear(*given)

    def _check_groups(self, rows: Rows, continued: ThresholdRecord | None) -> None:
        validation.refuse_soft(rows.labels, name=f"y with random_intercept={self.random_intercept!r}")
        if continued is not None:
            raise ValueError(
                f"random_intercept must be None beside {self._continued_by}; got {self.random_intercept!r}"
            )
        allowed: Params = {"threshold_update": "newton", "boosting_type": "gbdt", "booster": "gbtree"}
        check_random_intercept(self._ordinal_loss(), self._resolved_params(), **allowed)

    def _loss_without_trees(self, fit: Rows, held: Rows) -> float:
        loss = self._ordinal_loss()
        if held.start is not None:  # the training fits its thresholds to these scores
            return float("nan")
        options = {"part": True} if loss.codes is None else {"part": True, "precision": "float64"}
        of_fit, of_held = (
            CPU(1).row_pass(loss, some.y, self.n_classes_, some.weight, **options) for some in (fit, held)
        )
        thresholds = initial_thresholds(of_fit.class_weights, loss=loss).thresholds
        return soft_rows.judged_loss(of_held, np.zeros(len(held)), thresholds, "exact") / of_held.total_weight

    def _finish(self, record: ThresholdRecord, n_iter: int, rows: Rows, n_rounds: int | None = None) -> None:
        """Store what the training gives; ``n_rounds`` where it is not ``n_iter``.

        The record, which the booster carries, describes the classifier as it was when the training began.
        """
        self._n_rounds = None if n_rounds == n_iter else n_rounds
        self._keep(record, n_iter)
        self._settle(rows)
        if self._n_rounds is not None or self._groups:
            self._carry(None if record.classifier is None else replace(record.classifier, n_rounds=self._n_rounds))

    def _refuse_on_cluster(self, refused: Mapping[str, str]) -> None:
        """Raise ValueError for parameters that need all rows in one place; ``refused`` says what to do instead."""
        everywhere = {"random_intercept": "rows stay with their workers", "progress": "it has a dashboard"}
        for name, why in (everywhere | {"linear": "no worker has all rows"} | dict(refused)).items():
            value, off = getattr(self, name), self._default(name)
            if value is not off:
                raise ValueError(f"{name} must be {off} on a cluster; got {value!r}; {why}")

    def _begin_on_cluster(self, labels: OrderedLabels, n_features: int) -> None:
        """Take the classes of all workers' labels, and forget an earlier fit."""
        self._forget_fit()
        self._keep_labels(labels)
        self._check_decision()
        self.n_features_in_ = n_features

    def _carry(self, classifier: ClassifierDescription | None = None) -> None:
        classifier = self._in_files() if classifier is None else classifier
        self._record = replace(self._record, classifier=classifier, random_effects=self._effects)
        self._store(self._record)

    def _in_files(self) -> ClassifierDescription:
        """Return the description of the classifier for files that others write."""
        try:
            return self._description()
        except TypeError:  # labels that no file holds; loading the booster as a classifier raises an error
            return self._description(labelled=False)

    def _carried(self) -> Params:
        """Return what a training adds to the record: the linear part, and for files that callbacks write the rest."""
        return {"linear": self._linear, "classifier": self._in_files()}

    def _spec(self, entry: str) -> OrdinalSpec:
        """Return the ordinal model that the parameters ask for, with the defaults of an entry point."""
        names = [*(field.name for field in fields(OrdinalSpec)), "link", "training_cost"]
        given = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return OrdinalSpec.of(entry, **given | {"n_classes": self.n_classes_})

    def _description(self, *, labelled: bool = True) -> ClassifierDescription:
        """Return the description of the classifier in a file; TypeError for labels that no file holds."""
        params = arguments.kept_arguments(self) | self._host_params | dict(self._of_rows)
        classes = self.ordered_classes_ if labelled else None
        return describe(self, params, classes, _IN_RECORD | self._of_machine)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.linear is False
        return tags
