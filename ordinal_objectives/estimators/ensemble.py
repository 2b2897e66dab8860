"""OrdinalEnsembleClassifier: pooled probabilities of several classifiers, and one decision from them."""

from __future__ import annotations

import importlib
import io
import json
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.aliases import ArrayLike, Estimator, FloatArray, IntArray, Params, Seed
from ordinal_objectives.estimators.arguments import GivenSets, explains_keywords, store_constructor_arguments
from ordinal_objectives.estimators.description import ClassifierDescription, describe, give_back
from ordinal_objectives.estimators.ensemble_members import (
    CRITERIA,
    OF_DEFAULT,
    OF_GIVEN,
    EnsembleData,
    Members,
    best_weights,
    check_members,
    is_pair,
)
from ordinal_objectives.estimators.held_out import Rows, hold_out_unless_given, n_rows, split_seed
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.estimators.wrappers import ClassifierOfClassifiers, FittedMember, refuse_settings_by_label
from ordinal_objectives.metrics import ordinal_log_loss, ranked_probability_score
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.utils import documented, extras, files, json_of, validation
from ordinal_objectives.utils.json_of import Within

# Classifiers with a format of their own: where they live, how their files end, and the extra that installs them.
_KINDS = {
    "HistGradientBoostingOrdinalClassifier": ("ordinal_objectives", ".model", ""),
    "CatBoostOrdinalClassifier": ("ordinal_objectives", ".cbm", "catboost"),
    "LGBMOrdinalClassifier": ("ordinal_objectives", ".txt", "lightgbm"),
    "XGBOrdinalClassifier": ("ordinal_objectives", ".json", "xgboost"),
    "XGBClassifier": ("xgboost", ".json", "xgboost"),
}
_CONTENTS = "ensemble.json"
# Parameters of an ensemble that stand elsewhere in its file.
_NOT_PARAMETERS = frozenset({"members"})


@dataclass(frozen=True)
class _Member:
    """A member in the file: the parameters of its template, and of each copy its own, its file and its classes."""

    name: str
    kind: str
    params: dict[str, Any]
    own: list[dict[str, Any]]
    files: list[str]
    columns: list[IntArray]


@dataclass(frozen=True)
class _Contents:
    """The table of contents of a file."""

    classifier: ClassifierDescription
    n_features: Annotated[int, Within(0)]
    weights: FloatArray
    members: list[_Member]
    are_default: bool


@documented
class OrdinalEnsembleClassifier(ClassifierOfClassifiers, _BaseComposition):  # type: ignore[misc]
    """Average of the class probabilities of several classifiers, ordinal or not, and one decision from it.

    Members are trained on class codes 0, 1, ..., lowest class first, whatever the labels are.

    Parameters
    ----------
    members : list of (str, classifier) or None, default=None
        Classifiers with ``predict_proba``: those of this package, of XGBoost and LightGBM, of scikit-learn. Their
        parameters are set by name, ``linear__C=0.1``. None for ``"trees"``: HistGradientBoostingOrdinalClassifier
        without arguments.
    n_bags : int or None, default=None
        Copies of each member, every one with a seed and a subsample of its own. None for 2, and for 4 of the default.
    subsample : float or None, default=None
        Share of the rows that a copy is trained on, in (0, 1], drawn by class without replacement. None for 0.8, and
        for 1 with the default member, which holds rows out itself. A copy with
        ``early_stopping_rounds`` (LightGBM: ``early_stopping_round``) and no ``validation_fraction`` of its own stops
        by the rows that it leaves out; so does HistGradientBoostingOrdinalClassifier with ``early_stopping=True``.
    refit : bool, default=True
        Whether a copy that has stopped by the rows that it leaves out is trained again, on all rows: for the rounds
        that were best, and more by as much as there are more rows.
    weights : {"equal", "log_loss", "rps"} or array-like of float, shape (n_members,), default="equal"
        Weights of the members, which copies of one share. "log_loss" and "rps" find those that score best on rows held
        out, a convex problem that SciPy's SLSQP solves. Numbers are divided by their sum.
    validation_fraction : float, default=0.2
        Share of the rows held out from all members where weights are found and ``fit`` is given no evaluation set.
    <<classes, class_weight, decision_rule, cost_matrix>>
    random_state : int, RandomState instance or None, default=None
        Seed of the rows that are drawn, and of every copy. None draws the same each time.
    n_jobs : int or None, default=None
        Copies that are trained at a time, on threads; results do not depend on it. None for 1, -1 for one on each
        processor. Every copy has its own ``n_jobs`` beside: set it to 1 where this is above 1.

    Attributes
    ----------
    <<classes_, ordered_classes_, n_classes_>>
    members_ : dict of str to list
        Fitted copies of each member. Those of this package know the codes of all classes, others the codes, without
        gaps, of the classes that had rows.
    weights_ : ndarray of float64, shape (n_members,)
        Weight of each member; they sum to 1.
    evals_result_ : dict of str to dict
        Of each set that was evaluated, "validation_0" and so on: "log_loss" and "rps" of every member and of the
        "ensemble".
    <<n_features_in_, feature_names_in_>>

    Notes
    -----
    There are no staged predictions, no score and no thresholds: probabilities of several models have none in common.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier, OrdinalEnsembleClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.array(["low", "middle", "high"])[np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-0.5, 0.5])]
    >>> members = [("trees", HistGradientBoostingOrdinalClassifier(max_iter=20)), ("linear", LogisticRegression())]
    >>> model = OrdinalEnsembleClassifier(members, weights="rps", classes=["low", "middle", "high"]).fit(X, y)
    >>> model.predict_proba_ordered(X).shape, model.weights_.sum().round(6).tolist()
    ((300, 3), 1.0)
    """

    members: Members | None
    _trained_members: Members | None

    def __init__(
        self,
        members: Members | None = None,
        *,
        n_bags: int | None = None,
        subsample: float | None = None,
        refit: bool = True,
        weights: str | ArrayLike = "equal",
        validation_fraction: float = 0.2,
        classes: ArrayLike | None = None,
        class_weight: object = None,
        decision_rule: str = "median",
        cost_matrix: ArrayLike | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        store_constructor_arguments(self, locals())

    def get_params(self, deep: bool = True) -> Params:
        """Return the parameters, with ``deep`` those of the members by ``name__parameter``.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the members and their parameters as well.

        Returns
        -------
        dict of str to object
        """
        given: object = self.members
        named = isinstance(given, list) and all(is_pair(entry) and not isinstance(entry[1], type) for entry in given)
        return self._get_params("members", deep=deep and named)

    def set_params(self, **params: object) -> OrdinalEnsembleClassifier:
        """Set parameters, members by their name, and those of members by ``name__parameter``.

        Parameters
        ----------
        **params
            New values.

        Returns
        -------
        OrdinalEnsembleClassifier
        """
        self._set_params("members", **params)
        return self

    @documented
    @explains_keywords
    def fit(
        self,
        X: object,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        eval_set: object = None,
        eval_sample_weight: list[ArrayLike | None] | None = None,
    ) -> OrdinalEnsembleClassifier:
        """Train all copies of all members.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features); or texts, (n_samples,)
            What all members read. Pipelines may encode text; what columns may hold is for the members to check.
        <<y, sample_weight>>
            All members must take them. Rows of weight 0 are left out.
        groups : array-like, shape (n_samples,), or None
            Rows of one group stay together in the rows that are held out, and in those of a copy. Members whose fit
            takes groups are given them.
        eval_set : (X, y) pair, list of such pairs, or None
            Evaluated after the training; where weights are found, it is by the last one.
        eval_sample_weight : list of array-like or None
            Weights of each evaluation set.

        Returns
        -------
        OrdinalEnsembleClassifier

        Raises
        ------
        TypeError, ValueError
            If labels, weights, parameters or members are not what the docs allow, or a member cannot be trained; the
            message names the argument or the member.
        """
        with self._all_or_nothing():
            rows = self._check_training(X, y, sample_weight, groups).counted()
            members = check_members(self.members, taken=super().get_params(deep=False))
            for name, member in members:
                instead = "give it to the ensemble"
                refuse_settings_by_label(f"member {name!r}", member, self.ordered_classes_, instead)
            names = [name for name, _ in members]
            given = self._check_weights(len(members))
            copies, share = OF_DEFAULT if self.members is None else OF_GIVEN
            n_bags = copies if self.n_bags is None else validation.check_integer("n_bags", self.n_bags, 1)
            subsample = share
            if self.subsample is not None:
                subsample = validation.check_number("subsample", self.subsample, above=0.0, at_most=1.0)
            refit = validation.check_flag("refit", self.refit)
            sets = GivenSets(eval_set, eval_sample_weight, "eval_sample_weight")
            evaluated = self._check_evaluation(sets)
            seed, fraction = split_seed(self.random_state), self.validation_fraction if given is None else None
            rows, evaluated = hold_out_unless_given(rows, evaluated, fraction, seed)
            training = EnsembleData(rows, self._labels, subsample, refit)
            seeds = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=(len(members), n_bags)).tolist()
            fitted = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(training.fit_copy)(name, member, copy_seed)
                for (name, member), seeds_of_member in zip(members, seeds, strict=True)
                for copy_seed in seeds_of_member
            )
            self._trained_members = None if self.members is None else members
            self._fitted = {name: fitted[i * n_bags : (i + 1) * n_bags] for i, name in enumerate(names)}
            self._evaluate(evaluated, given)
        return self

    def _check_weights(self, n_members: int) -> FloatArray | None:
        """Return the weights of members, or None where they are to be found."""
        if isinstance(self.weights, str):
            validation.check_choice(self.weights, ("equal", *CRITERIA), name="weights")
            return None if self.weights in CRITERIA else np.full(n_members, 1 / n_members)
        weights = validation.as_floats(self.weights, name="weights").copy()
        if weights.shape != (n_members,) or not np.isfinite(weights).all() or weights.min() < 0 or weights.max() <= 0:
            raise ValueError(
                f"weights must be 'equal', 'log_loss', 'rps', or a non-negative number for each of {n_members} "
                f"members, not all zero; got {self.weights!r}"
            )
        weights /= weights.max()  # the sum of the largest numbers is infinite
        weights /= weights.sum()
        return weights

    def _evaluate(self, evaluated: list[Rows], given: FloatArray | None) -> None:
        """Set the weights, given or found on the last set, and evaluate members and ensemble on each set."""
        proba_of_sets = [  # (n_members, n_samples, n_classes) of each
            np.stack([self._of_copies(copies, rows.X) for copies in self._fitted.values()]) for rows in evaluated
        ]
        if given is None:
            given = best_weights(proba_of_sets[-1], evaluated[-1], str(self.weights))
        self.weights_ = given
        self.evals_result_: dict[str, dict[str, dict[str, float]]] = {}
        labels = range(self.n_classes_)
        for i, (proba, rows) in enumerate(zip(proba_of_sets, evaluated, strict=True)):
            evaluated_proba = {
                **dict(zip(self._fitted, proba, strict=True)),
                "ensemble": np.tensordot(given, proba, axes=1),
            }
            self.evals_result_[f"validation_{i}"] = {
                name: {
                    "log_loss": ordinal_log_loss(rows.y, P, labels=labels, sample_weight=rows.weight),
                    "rps": ranked_probability_score(rows.y, P, labels=labels, sample_weight=rows.weight),
                }
                for name, P in evaluated_proba.items()
            }

    def _of_copies(self, copies: list[FittedMember], X: object) -> FloatArray:
        return np.mean([copy.proba(X, self.n_classes_) for copy in copies], axis=0)

    @property
    def members_(self) -> dict[str, list[Estimator]]:
        """Fitted copies of each member."""
        check_is_fitted(self)
        return {name: [copy.estimator for copy in copies] for name, copies in self._fitted.items()}

    def weighted_copies(self) -> list[tuple[float, FittedMember]]:
        """Return the weight of each copy in the mean, and the copy; members of weight 0 are left out."""
        check_is_fitted(self)
        pairs = zip(self.weights_.tolist(), self._fitted.values(), strict=True)
        return [(weight / len(copies), copy) for weight, copies in pairs for copy in copies if weight > 0]

    def _proba(self, X: object) -> FloatArray:
        pooled = np.zeros((n_rows(X), self.n_classes_))
        for weight, copies in zip(self.weights_, self._fitted.values(), strict=True):
            if weight > 0:
                pooled += weight * self._of_copies(copies, X)
        return pooled

    @one_thread_after_fork()
    def save_model(self, path: str | PathLike[str]) -> None:
        """Save the model as a zip archive, with the file of each copy in its own format; nothing is pickled.

        Parameters
        ----------
        path : path-like
            Where to write.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        TypeError
            If a member has no file format of its own: that is all but the classifiers of this package and XGBoost's
            XGBClassifier. Also if class labels are neither strings nor numbers.
        """
        self.check_fitted_decision()
        kinds = {name: type(copies[0].estimator) for name, copies in self._fitted.items()}
        for name, kind in kinds.items():
            if kind.__name__ not in _KINDS or _import(kind.__name__, name) is not kind:
                raise TypeError(
                    f"member {name!r} is of {kind.__name__}, which has no file format of its own; those that have are "
                    f"{', '.join(_KINDS)}. Pickle the ensemble instead"
                )
        described = describe(self, _parameters(self), self.ordered_classes_, _NOT_PARAMETERS)
        members, copies_by_file, left_out = [], dict[str, FittedMember](), described.left_out.copy()
        for i, (name, template) in enumerate(check_members(self._trained_members)):
            copies, library = self._fitted[name], kinds[name].__name__
            params, lost = files.parameters_to_json(_parameters(template))
            left_out += [f"{name}__{parameter}" for parameter in lost]
            by_file = {f"{i}_{j}{_KINDS[library][1]}": copy for j, copy in enumerate(copies)}
            # The file of XGBoost's own classifier holds none of its parameters, and predictions need some.
            bare = library == "XGBClassifier"
            own = [files.parameters_to_json(_parameters(copy.estimator))[0] if bare else {} for copy in copies]
            members.append(_Member(name, library, params, own, list(by_file), [copy.columns for copy in copies]))
            copies_by_file |= by_file
        described = replace(described, left_out=left_out)
        are_default = self._trained_members is None
        contents = json_of.encoded(_Contents(described, self.n_features_in_, self.weights_, members, are_default))
        with tempfile.TemporaryDirectory() as folder:
            for file, copy in copies_by_file.items():
                copy.estimator.save_model(Path(folder) / file)
            with files.written(path) as newer, zipfile.ZipFile(newer, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(_CONTENTS, json.dumps(contents))
                for file in copies_by_file:
                    archive.write(Path(folder) / file, file)

    @one_thread_after_fork()
    def load_model(self, path: str | PathLike[str]) -> OrdinalEnsembleClassifier:
        """Load what :meth:`save_model` wrote, with the parameters of the training; ``n_jobs`` stays as it is.

        Parameters
        ----------
        path : path-like
            Where to read.

        Returns
        -------
        OrdinalEnsembleClassifier
            Itself.

        Raises
        ------
        ValueError
            If the file is damaged, or another kind of file. The model stays as it was.
        ModuleNotFoundError
            If the library of a member is not installed; the message names the member.
        """
        files.check_kind(path, "an ensemble")
        whole = io.BytesIO(Path(path).read_bytes())  # a place outside it is no error of the file system
        with files.as_damaged_file(path), zipfile.ZipFile(whole) as archive:
            contents: _Contents = json_of.decoded(_Contents, json_of.parsed(archive.read(_CONTENTS)))
            unknown = [member.kind for member in contents.members if member.kind not in _KINDS]
            if unknown:
                raise ValueError(f"it holds a member of {unknown[0]!r}; those that can be are {', '.join(_KINDS)}")
        kinds = [_import(member.kind, member.name) for member in contents.members]
        with (
            self._all_or_nothing(),
            files.as_damaged_file(path),
            zipfile.ZipFile(whole) as archive,
            tempfile.TemporaryDirectory() as folder,
        ):
            give_back(contents.classifier, self, contents.n_features, _NOT_PARAMETERS)
            self._keep_labels(OrderedLabels(contents.classifier.labels))
            self._check_decision()
            templates, self._fitted = Members(), {}
            for kind, member in zip(kinds, contents.members, strict=True):
                templates.append((member.name, kind(**_from_json(member.params))))
                copies = []
                for file, own, columns in zip(member.files, member.own, member.columns, strict=True):
                    own_file = Path(folder) / f"copy{_KINDS[member.kind][1]}"
                    own_file.write_bytes(archive.read(file))
                    copy = kind(**_from_json(own))
                    copy.load_model(own_file)
                    copies.append(FittedMember(copy, columns))
                self._fitted[member.name] = copies
            self.members = self._trained_members = None if contents.are_default else templates
            self.weights_ = contents.weights
        files.warn_of(contents.classifier.left_out, stacklevel=3)  # past the context that is around the method
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        for kind in ("sparse", "allow_nan", "string", "categorical"):
            try:
                takes = all(getattr(get_tags(member).input_tags, kind) for _, member in check_members(self.members))
            except (AttributeError, TypeError, ValueError):  # they are no members
                takes = False
            setattr(tags.input_tags, kind, takes)
        return tags


def _import(kind: str, member: str) -> type[Estimator]:
    """Return a class that files may hold; raise ModuleNotFoundError, which names the member, without its library."""
    home, _, extra = _KINDS[kind]
    try:
        return getattr(importlib.import_module(home), kind)
    except ImportError as error:
        reason = f"member {member!r} is of {kind}: {extras.not_installed(error, extra)}"
        raise ModuleNotFoundError(reason, name=error.name) from error


def _parameters(estimator: Estimator) -> Params:
    """Return an estimator's parameters but NaN, which JSON cannot hold: the default of ``missing``."""
    given = estimator.get_params(deep=False).items()
    return {name: value for name, value in given if not (isinstance(value, float) and np.isnan(value))}


def _from_json(params: Mapping[str, object]) -> Params:
    return {name: files.value_from_json(value) for name, value in params.items()}
