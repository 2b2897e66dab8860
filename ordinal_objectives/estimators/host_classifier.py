"""Base of the classifiers of XGBoost, LightGBM and CatBoost: parameters, plan of a training, files and pickles."""

from __future__ import annotations

import copy
import functools
import inspect
import numbers
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import fields, replace
from os import PathLike
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives import tables
from ordinal_objectives.aliases import Booster, FloatArray, Params, Seed, Table
from ordinal_objectives.columns import Columns
from ordinal_objectives.estimators import arguments, held_out, linear
from ordinal_objectives.estimators.description import ClassifierDescription, describe, give_back
from ordinal_objectives.estimators.held_out import RoundSearch, Rows, Trial
from ordinal_objectives.estimators.host import GivenRows, Host, Trained, TrainingRequest, loss_without_trees
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.estimators.ordinal_classifier import OrdinalClassifier
from ordinal_objectives.random_effects import GroupColumn, without_groups
from ordinal_objectives.spec import OrdinalSpec, parameter_names
from ordinal_objectives.threads import library_n_threads, one_thread_after_fork
from ordinal_objectives.threshold_solver import ThresholdRecord
from ordinal_objectives.threshold_solver.random_intercept import (
    RowsWithScores,
    check_random_intercept,
    with_final_effects,
)
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


# Not in the description of the classifier: they stand in the record of the thresholds.
_IN_RECORD = frozenset(parameter_names("classifier", in_files=True)) | {"training_cost"}


class HostClassifier(OrdinalClassifier):
    """An ordinal classifier whose trees XGBoost, LightGBM or CatBoost grows, predicts and keeps in its files.

    A subclass has the constructor, and a ``fit`` that calls :meth:`_fit`; all that differs between the libraries its
    :class:`.host.Host` says and does.
    """

    _host: ClassVar[Host]
    _n_earlier: int = 0
    # By which parameters the fit read its rows: predictions read theirs so, whatever is set for the next one.
    _of_rows: Mapping[str, Any] = MappingProxyType({})
    validation_fraction: float | None
    linear_l2: float
    random_intercept: object
    columns_: Columns
    # Those of the model that fit continues.
    _earlier_columns: Columns | None = None
    n_jobs: int | None
    random_state: Seed
    progress: bool
    booster_: Booster
    evals_result_: Params
    round_search_: RoundSearch | None = None

    @classmethod
    @functools.cache
    def _default(cls, name: str) -> Any:
        """Return the value of a parameter that nobody set."""
        return inspect.signature(arguments.class_with_constructor(cls)).parameters[name].default

    @contextmanager
    def _with(self, **given: Any) -> Iterator[None]:
        """Set the parameters that ``fit`` was given, None aside, for as long as it lasts."""
        before = arguments.constructor_arguments(self) | {"_host_params": self._host_params}
        try:
            self.set_params(**{name: value for name, value in given.items() if value is not None})
            yield
        finally:
            self.__dict__ |= before

    @one_thread_after_fork()
    def _fit(
        self,
        training: GivenRows,
        sets: arguments.GivenSets,
        model: Any,
        *,
        callbacks: Any,
        eval_metric: Any = None,
        verbose: Any = False,
        of_library: Params | None = None,
        **of_rows: Any,
    ) -> Self:
        """Train; the body of every ``fit``.

        Parameters
        ----------
        training : GivenRows
        sets : GivenSets
            Rows to evaluate.
        model : object
            Model to continue: a classifier, a booster, a file, or None.
        callbacks : object
            The library's.
        eval_metric : object
            None takes that of the constructor, where it has one.
        verbose : object
        of_library : dict or None
            Other arguments of the library's training.
        **of_rows
            What the library's matrices need to know beside the rows.
        """
        host = self._host
        model = copy.copy(model) if model is self else model  # of which this fit changes nothing
        with self._all_or_nothing():
            params = self._resolved_params(warns_at=6)
            self._check_starts(model, training.start, sets.starts_name, sets.starts)
            continued, earlier = self._read_model(model)
            rows, evaluated = self._rows_to_fit(training, sets, params["random_state"])
            self._check_continued(model, continued, earlier)
            arguments.check_rounds(host.stopping_name, params[host.stopping_name], len(evaluated))
            metrics = self._metrics(params.get("eval_metric"), eval_metric)
            ends, schedules = host.ends_early(params, callbacks), host.schedules(callbacks)
            asked, always = params[host.rounds_name], self._check_linear(params, earlier)
            if self._groups:
                self._check_groups(rows, params, earlier)
            found = None
            if earlier is not None:
                self._take_linear(earlier)
            elif held_out.is_auto(asked) and not ends and not params[host.stopping_name]:
                found = self._search(rows, params, schedules, **of_rows)
                if found is not None and host.says(params, verbose):
                    part = "" if self._linear is None else ", with a linear part"
                    print(f"{host.rounds_name}='auto': {found}{part}")
            elif always:
                self._linear = self._fit_linear(rows, **of_rows)
            n_rounds = held_out.rounds_unsearched(host.rounds_name, asked) if found is None else found.n_iter
            native = self._native_params(len(rows.weighted), self._found)
            matrices = self._matrices([rows, *evaluated], continued, **of_rows)
            self.evals_result_ = {}
            asked_for = TrainingRequest(
                n_rounds,
                self.evals_result_,
                callbacks,
                params[host.stopping_name],
                self.progress,
                continued=continued,
                metrics=metrics,
                carried=self._carried(),
                of_library=of_library or {},
            )
            with self._under_way():
                trained = host.train(self._spec(), native, matrices, asked_for)
            self._finish(trained, rows)
        self._warn_if_constant(len(rows), host.leaf_name, host.least_leaf(params, len(rows.weighted)), stacklevel=6)
        return self

    def _resolved_params(self, warns_at: int | None = None) -> Params:
        """Return the parameters by one name each, and warn of those that are not used if a stack level is given."""
        params, unused = self._host.resolved_params(self)
        if warns_at is not None:
            for words in unused:
                warnings.warn(words, stacklevel=warns_at)
        return params

    def _native_params(self, n_weighted: int = 0, found: Mapping[str, Any] = MappingProxyType({})) -> Params:
        """Return the parameters of the library's ``train`` on so many rows with weight; None takes its default.

        ``found`` holds values of parameters that were left at "auto".
        """
        self._refuse_unknown()
        host = self._host
        given = self._resolved_params()
        given = host.choices.replaced(given) | dict(found)
        given = {k: v for k, v in given.items() if v is not None and k not in host.not_native}
        seed = given.get("random_state")
        if seed is not None and not isinstance(seed, numbers.Integral):
            given["random_state"] = validation.drawn_seed(seed)
        threads = library_n_threads(given.pop("n_jobs", None))
        if threads is not None:
            given["n_jobs"] = threads
        native = {host.native_names.get(name, name): value for name, value in given.items()}
        return host.completed_params(self, native, n_weighted)

    def _check_features(self, X: object, *, reset: bool) -> Table:
        host = self._host
        if reset:
            self._forget_fit()
            groups, missing = getattr(self, "random_intercept", None), host.missing_value(self)
            self._groups = GroupColumn.learn(X, groups, missing=np.nan if missing is None else missing)
        table: Table = self._with_codes(tables.as_table(X), reset=reset)
        known = not reset and host.reads_names(self, table)
        numbers = host.with_numbers(self, table, reset=reset)
        checked = arguments.check_features(self, numbers, self._hint, reset=reset, names_are_known=known)
        to_encode = host.to_encode(self, table, checked, reset=reset)
        if reset:
            self._take_columns(host.learn_columns(self, to_encode))
        columns = replace(self.columns_, names=None) if known else self.columns_
        return host.as_rows(self, table, columns.encode(to_encode, refuse_new=reset, hint=self._hint), reset=reset)

    def _take_columns(self, found: Columns) -> None:
        """Take the columns of a training: their levels are those of the model that is continued, if one is."""
        earlier = self._earlier_columns
        self.columns_ = found if earlier is None else replace(found, levels=earlier.levels)

    def _read_model(self, model: Booster) -> tuple[Booster | None, ThresholdRecord | None]:
        """Return the booster of the model that ``fit`` goes on with, and its record; its columns are those of X."""
        self._earlier_columns = None
        if model is None:
            return None, None
        is_ours = isinstance(model, arguments.class_with_constructor(type(self)))
        if is_ours:
            says = f"{self._host.continued_name} must be fitted; got an %(name)s that has not been fitted"
            check_is_fitted(model, msg=says)
        booster, record = self._host.read_continued(model.booster_ if is_ours else model)
        self._earlier_columns = model.columns_ if is_ours else self._columns_in(booster, record)
        return booster, record

    def _columns_in(self, booster: Booster, record: ThresholdRecord) -> Columns:
        """Return the columns of a booster, with the levels that the record of a classifier names, or its own."""
        described = record.classifier
        columns = self._host.columns_in(booster, None if described is None else described.levels)
        columns.check()
        return columns

    def _forget_fit(self) -> None:
        """Forget what an earlier fit found beside trees, thresholds and classes."""
        self.round_search_ = self._linear = self._n_rounds = None
        self._found, self._effects, self._groups, self._n_earlier = {}, (), (), 0
        self._of_rows = {name: getattr(self, name) for name in self._host.row_parameters}
        self.__dict__.pop("evals_result_", None)

    def _matrices(self, rows: list[Rows], continued: Booster | None = None, **of_rows: Any) -> list[Any]:
        """Return rows as the library's training reads them, with the linear part in their start scores."""
        started = {id(one): linear.with_start(self._linear, one) for one in rows}
        parts = [started[id(one)] for one in rows]  # the same rows stay the same: LightGBM's training set is one
        matrices = self._host.matrices(self, parts, continued, **of_rows)
        if self._groups:
            for matrix, one in zip(matrices, parts, strict=True):
                matrix.ordinal_groups = self._groups, one.X
        return matrices

    def _scorer(self, X: Table) -> Callable[[int, int], FloatArray]:
        return functools.partial(self._host.scores, self, self._host.prediction_data(self, X))

    def _splits(self) -> list[bool]:
        return self._host.splits(self.booster_)

    def _fixed_rounds(self, n_rounds: int) -> Params:
        host, same = self._host, self._parameter_names.same
        others = {*same.get(host.rounds_name, ()), *same.get(host.stopping_name, ())} & self._host_params.keys()
        return {**dict.fromkeys(others), **host.fixed_rounds(self, n_rounds)}

    def asked_threads(self) -> int | None:
        """Return the number of threads that was asked for, by any name."""
        return self._resolved_params()["n_jobs"] if self._host_params else self.n_jobs

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
        self._host.write(self, path)

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
            record, n_iter, n_features = self._host.read(self, path)
            described = record.classifier
            for name, value in (record.spec.loss.as_parameters() | record.spec.common_parameters).items():
                setattr(self, name, value)
            with files.as_damaged_file(path) if described else nullcontext():
                if described:
                    give_back(described, self, n_features, _IN_RECORD | self._host.kept_on_loading)
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
                    written = self._host.names_in(self.booster_)
                    are_numbers = written and (described or all(map(str.isdecimal, written)))
                    arguments.keep_names(self, *((None, written) if are_numbers else (written, None)))
                missing = self._host.missing_value(self)
                missing = np.nan if missing is None else missing
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

    def _check_starts(self, model: object, start: object, of_sets: str, starts: object) -> None:
        """Raise ValueError for start scores beside a model that is continued, where the library takes only its own."""
        why = self._host.start_beside_model
        given = {self._host.start_name: start, of_sets: starts}
        if why is not None and model is not None:
            for name in (name for name, scores in given.items() if scores is not None):
                raise ValueError(f"{name} is not allowed beside {self._host.continued_name}: {why}")

    def _check_continued(self, model: Booster, booster: Booster | None, record: ThresholdRecord | None) -> None:
        """Check that the rows of ``fit`` go on with a model, if there is one, which :meth:`_read_model` has read."""
        if record is not None:
            self._check_same_classes(record, model, self._host.continued_name)
            self._n_earlier = record.n_iterations
            self._host.check_continued(self, model, booster, record)

    def _rows_to_fit(
        self, training: GivenRows, sets: arguments.GivenSets, random_state: Seed
    ) -> tuple[Rows, list[Rows]]:
        """Return the rows to train on and those to evaluate, checked.

        Among the latter is the former itself where the library takes a set for the training set. ``random_state`` draws
        the rows that ``validation_fraction`` holds out, where no set is given.
        """
        X, y, sample_weight, scores, groups = training
        rows = self._check_training(X, y, sample_weight, groups)
        rows = replace(rows, start=validation.check_start_score(scores, len(rows), name=self._host.start_name))
        checked = self._check_evaluation(sets, (X, y, rows) if self._host.knows_training_set else None)
        starts = arguments.one_for_each(sets.starts, checked, sets.starts_name)
        evaluated = [
            held
            if held is rows
            else replace(held, start=validation.check_start_score(held_start, len(held), name=sets.starts_name))
            for held, held_start in zip(checked, starts, strict=True)
        ]
        return held_out.hold_out_unless_given(rows, evaluated, self.validation_fraction, random_state)

    def _take_linear(self, continued: ThresholdRecord) -> None:
        """Keep the linear part of the model that is continued."""
        if continued.random_effects:
            raise ValueError(
                f"{self._host.continued_name} must be without random_intercept: no training keeps its effects"
            )
        if continued.linear is not None:
            continued.linear.check(self.n_features_in_)
            self._linear = continued.linear

    def _fit_linear(self, rows: Rows, **of_rows: Any) -> linear.LinearPart:
        """Return the linear part of some rows."""
        categories, missing = self._host.category_places(self, **of_rows), self.columns_.missing_in_codes
        return linear.LinearPart.of_model(
            self,
            replace(rows, X=without_groups(rows.X, self._groups)),
            self._ordinal_loss(),
            self.hessian,
            categories,
            missing,
        )

    def _search(self, rows: Rows, params: Params, schedules: arguments.Schedules, **of_rows: Any) -> RoundSearch | None:
        """Search for the number of rounds on rows held out, and set the linear part."""
        host = self._host
        schedules.warn_of_unknown()
        rate, scheduled = params[held_out.RATE], host.first_rates(schedules.known)
        if held_out.is_auto(rate) and scheduled:  # which begin with the rate of a training that has no search
            rate = host.choices.unsearched[held_out.RATE]
        if not held_out.is_auto(rate):
            rate = validation.check_number(held_out.RATE, host.default_rate if rate is None else rate, above=0.0)
            rate = arguments.smallest_rate(rate, scheduled)
        params = params | {held_out.RATE: rate}

        def trial_of(fit: Rows, held: Rows) -> Trial:
            matrices = self._matrices([fit, held], keeps_data=True, **of_rows)  # for several trainings
            without_trees = loss_without_trees(self._ordinal_loss(), self.n_classes_, fit, held)

            def trial(most: int, patience: int | None, settings: Params) -> list[float]:
                native, results = self._native_params(len(fit.weighted), settings), dict[str, Any]()
                callbacks = copy.deepcopy(schedules.known)
                asked = TrainingRequest(most, results, callbacks, patience, self.progress, is_search=True)
                host.train(self._spec(), native, matrices, asked)
                of_set = next(iter(results.values()))
                return [without_trees, *next(iter(of_set.values()))]

            return trial

        seed = held_out.split_seed(params["random_state"])
        fit_linear = functools.partial(self._fit_linear, **of_rows)
        found, self._linear = linear.search(self, fit_linear, trial_of, host.choices, params, rows, seed)
        if found is not None:
            self.round_search_, self._found = found, found.settings
        return found

    def _check_linear(self, params: Params, continued: ThresholdRecord | None) -> bool:
        """Check what is asked for of a linear part; tell whether there is one whatever the rows say."""
        has_linear = None if continued is None else continued.linear is not None
        if (self.linear is not False or has_linear) and str(params.get("zero_as_missing")).lower() in ("true", "+"):
            raise ValueError("a linear part counts 0 as a number: train without zero_as_missing, on NaN for 0")
        signs = params.get("monotone_constraints")
        given = self.linear, self.linear_l2, "monotone_constraints", signs, has_linear, self.threshold_update
        return linear.check_linear(*given)

    def _check_groups(self, rows: Rows, params: Params, continued: ThresholdRecord | None) -> None:
        validation.refuse_soft(rows.labels, name=f"y with random_intercept={self.random_intercept!r}")
        if continued is not None:
            raise ValueError(
                f"random_intercept must be None beside {self._host.continued_name}; got {self.random_intercept!r}"
            )
        allowed: Params = {"threshold_update": "newton", "boosting_type": "gbdt", "booster": "gbtree"}
        check_random_intercept(self._ordinal_loss(), params, **allowed)

    def _finish(self, trained: Trained, rows: Rows) -> None:
        """Store what a training gives.

        The record, which the booster carries, describes the classifier as it was when the training began.
        """
        self.booster_, record, n_iter, n_rounds = trained
        self._n_rounds = None if n_rounds == n_iter else n_rounds
        self._keep(record, n_iter)
        if self._groups:  # effects and last thresholds of the highest likelihood, given the trees
            scores = self._scores_of_checked(rows.X, {} if rows.start is None else {self._host.start_name: rows.start})
            scored = RowsWithScores(rows.X, rows.codes, self.n_classes_, rows.weight, scores)
            self._keep(with_final_effects(self._record, n_iter, scored, self.asked_threads()), n_iter)
            self._effects = self._record.random_effects
        if self._n_rounds is not None or self._groups:
            self._carry(None if record.classifier is None else replace(record.classifier, n_rounds=self._n_rounds))

    def _carry(self, classifier: ClassifierDescription | None = None) -> None:
        classifier = self._in_files() if classifier is None else classifier
        self._record = replace(self._record, classifier=classifier, random_effects=self._effects)
        self._host.store(self.booster_, self._record)

    def _in_files(self) -> ClassifierDescription:
        """Return the description of the classifier for files that others write."""
        try:
            return self._description()
        except TypeError:  # labels that no file holds; loading the booster as a classifier raises an error
            return self._description(labelled=False)

    def _carried(self) -> Params:
        """Return what a training adds to the record: the linear part, and for files that callbacks write the rest."""
        return {"linear": self._linear, "classifier": self._in_files()}

    def _spec(self) -> OrdinalSpec:
        """Return the ordinal model that the parameters ask for."""
        names = [*(field.name for field in fields(OrdinalSpec)), "link", "training_cost"]
        given = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return OrdinalSpec.of(self._host.entry_point, **given | {"n_classes": self.n_classes_})

    def _description(self, *, labelled: bool = True) -> ClassifierDescription:
        """Return the description of the classifier in a file; TypeError for labels that no file holds."""
        params = arguments.constructor_arguments(self) | self._host_params | dict(self._of_rows)
        classes = self.ordered_classes_ if labelled else None
        return describe(self, params, classes, _IN_RECORD | self._host.kept_on_loading)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.linear is False
        return tags


# Why metrics of a classifier's constructor or of fit are refused on clusters.
NO_METRICS = "other metrics than the loss are not sums over rows"


def refuse_on_cluster(model: HostClassifier, refused: Mapping[str, str]) -> None:
    """Raise ValueError for parameters that need all rows in one place; ``refused`` says what to do instead."""
    everywhere = {"random_intercept": "rows stay with their workers", "progress": "it has a dashboard"}
    for name, why in (everywhere | {"linear": "no worker has all rows"} | dict(refused)).items():
        value, off = getattr(model, name), model._default(name)
        if value is not off:
            raise ValueError(f"{name} must be {off} on a cluster; got {value!r}; {why}")


def begin_on_cluster(model: HostClassifier, labels: OrderedLabels, n_features: int) -> None:
    """Let a classifier take the classes of all workers' labels, and forget an earlier fit."""
    model._forget_fit()
    model._keep_labels(labels)
    model._check_decision()
    model.n_features_in_ = n_features
