"""OrdinalEnsembleClassifier: pooled probabilities of several classifiers, and one decision from them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.estimators.arguments import explains_keywords
from ordinal_objectives.estimators.ensemble_members import (
    TrainingRows,
    all_take,
    check_members,
    named_members,
    read_ensemble,
    write_ensemble,
)
from ordinal_objectives.estimators.held_out import Rows, hold_out_unless_given, n_rows, split_seed
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.estimators.wrappers import ClassifierOfClassifiers, FittedMember
from ordinal_objectives.metrics import ordinal_log_loss, ranked_probability_score
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.utils.files import as_damaged_file
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import as_floats, check_choice, check_flag, check_integer, check_number

CRITERIA = ("log_loss", "rps")
# The probability that a class counts with which all models rule out: its logarithm must be finite.
_LEAST = np.finfo(np.float64).tiny
# How far above the minimum, of which the gap of Frank and Wolfe is a bound, weights may be.
_GAP = 1e-5
Criterion = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]


def best_weights(
    proba: NDArray[np.float64], codes: NDArray[np.int32], sample_weight: NDArray[np.float64] | None, criterion: str
) -> NDArray[np.float64]:
    """Return weights of models, non-negative and of sum 1, whose pooled probabilities score best.

    Both criteria are convex in the weights, so a local minimum is a global one. The solver is SciPy's SLSQP, which
    starts at equal weights.

    Parameters
    ----------
    proba : ndarray of float64, shape (n_models, n_samples, n_classes)
        Columns from the lowest class to the highest.
    codes : ndarray of int32, shape (n_samples,)
    sample_weight : ndarray of float64, shape (n_samples,), or None
    criterion : {"log_loss", "rps"}

    Returns
    -------
    ndarray of float64, shape (n_models,)

    Warns
    -----
    ConvergenceWarning
        If the solver stopped before the minimum.
    """
    share = np.ones(len(codes)) if sample_weight is None else sample_weight
    share = share / share.sum()
    value = (_log_loss if criterion == "log_loss" else _rps)(proba, codes, share)
    n_models = len(proba)
    found = minimize(
        value,
        np.full(n_models, 1 / n_models),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * n_models,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like},
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    weights: NDArray[np.float64] = np.clip(found.x, 0.0, None)
    weights /= weights.sum()
    gradient = value(weights)[1]
    if not weights @ gradient - gradient.min() <= _GAP:
        warnings.warn(
            f"the weights are not those of the lowest {criterion}: {found.message}", ConvergenceWarning, stacklevel=2
        )
    return weights


def _log_loss(proba: NDArray[np.float64], codes: NDArray[np.int32], share: NDArray[np.float64]) -> Criterion:
    of_label = proba[:, np.arange(len(codes)), codes]

    def value(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        pooled = np.maximum(w @ of_label, _LEAST)
        return -float(share @ np.log(pooled)), -(of_label @ (share / pooled))

    return value


def _rps(proba: NDArray[np.float64], codes: NDArray[np.int32], share: NDArray[np.float64]) -> Criterion:
    below = np.arange(proba.shape[2] - 1) >= codes[:, np.newaxis]
    away = (np.cumsum(proba[..., :-1], axis=2) - below) * np.sqrt(share)[:, np.newaxis]
    away = away.reshape(len(proba), -1)
    gram = away @ away.T

    def value(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        return float(w @ gram @ w), 2.0 * gram @ w

    return value


@documented
class OrdinalEnsembleClassifier(ClassifierOfClassifiers):
    """Average of the class probabilities of several classifiers, ordinal or not, and one decision from it.

    Members are trained on class codes 0, 1, ..., lowest class first, whatever the labels are.

    Parameters
    ----------
    members : list of (str, classifier) or None, default=None
        Classifiers with ``predict_proba``: those of this package, of XGBoost and LightGBM, of scikit-learn. Their
        parameters are set by name, ``ordinal__max_depth=3``. None for ``"ordinal"`` and ``"multiclass"`` of the first
        library that is installed: XGBOrdinalClassifier and XGBClassifier, those of LightGBM, both with at most 500
        rounds, early stopping and ``subsample=0.8``, or HistGradientBoostingOrdinalClassifier with scikit-learn's
        HistGradientBoostingClassifier.
    n_bags : int, default=2
        Copies of each member, every one with a seed and a subsample of its own.
    subsample : float, default=0.8
        Share of the rows that a copy is trained on, in (0, 1], drawn by class without replacement. A copy with
        ``early_stopping_rounds`` (LightGBM: ``early_stopping_round``) and no ``validation_fraction`` of its own stops
        by the rows that it leaves out.
    refit : bool, default=True
        Whether a copy that has stopped by the rows that it leaves out is trained again, on all rows, for as many rounds
        as were best.
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

    def __init__(
        self,
        members: list[tuple[str, Any]] | None = None,
        *,
        n_bags: int = 2,
        subsample: float = 0.8,
        refit: bool = True,
        weights: str | ArrayLike = "equal",
        validation_fraction: float = 0.2,
        classes: ArrayLike | None = None,
        class_weight: Any = None,
        decision_rule: str = "median",
        cost_matrix: ArrayLike | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.members = members
        self.n_bags = n_bags
        self.subsample = subsample
        self.refit = refit
        self.weights = weights
        self.validation_fraction = validation_fraction
        self.classes = classes
        self.class_weight = class_weight
        self.decision_rule = decision_rule
        self.cost_matrix = cost_matrix
        self.random_state = random_state
        self.n_jobs = n_jobs

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with ``deep`` those of the members by ``name__parameter``.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the members and their parameters as well.

        Returns
        -------
        dict of str to object
        """
        found: dict[str, Any] = super().get_params(deep=False)
        for name, member in named_members(self.members) if deep else ():
            found |= {name: member} | {f"{name}__{key}": value for key, value in member.get_params().items()}
        return found

    def set_params(self, **params: Any) -> OrdinalEnsembleClassifier:
        """Set parameters, members by their name, and those of members by ``name__parameter``.

        Parameters
        ----------
        **params
            New values.

        Returns
        -------
        OrdinalEnsembleClassifier
        """
        if "members" in params:
            self.members = params.pop("members")
        members = named_members(self.members)
        if not params.keys().isdisjoint(dict(members)):
            self.members = [(name, params.pop(name, member)) for name, member in members]
        super().set_params(**params)
        return self

    @documented
    @explains_keywords
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        eval_set: Any = None,
        eval_sample_weight: list[Any] | None = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: ArrayLike | None = None,
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
        <<eval_sample_weight, X_val, y_val, sample_weight_val>>

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
            rows = self._check_training(X, y, sample_weight, groups)
            members = check_members(self.members, taken=super().get_params(deep=False))
            names = [name for name, _ in members]
            given = self._check_weights(len(members))
            n_bags = check_integer("n_bags", self.n_bags, 1)
            subsample = check_number("subsample", self.subsample, above=0.0, at_most=1.0)
            refit = check_flag("refit", self.refit)
            evaluated = self._check_evaluation(
                eval_set, eval_sample_weight, "eval_sample_weight", X_val, y_val, sample_weight_val
            )
            seed, fraction = split_seed(self.random_state), self.validation_fraction if given is None else None
            rows, evaluated = hold_out_unless_given(rows, evaluated, fraction, seed)
            training = TrainingRows(rows, self._labels, subsample, refit)
            seeds = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=(len(members), n_bags)).tolist()
            fitted = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(training.fit_copy)(name, member, one)
                for (name, member), of_member in zip(members, seeds, strict=True)
                for one in of_member
            )
            self._trained = [(name, clone(member)) for name, member in members]  # parameters may be set after fit
            self._fitted = {name: fitted[i * n_bags : (i + 1) * n_bags] for i, name in enumerate(names)}
            self._evaluate(evaluated, given)
        return self

    def _check_weights(self, n_members: int) -> NDArray[np.float64] | None:
        """Return the weights of members, or None where they are to be found."""
        if isinstance(self.weights, str):
            check_choice(self.weights, ("equal", *CRITERIA), name="weights")
            return None if self.weights in CRITERIA else np.full(n_members, 1 / n_members)
        weights = as_floats(self.weights, name="weights")
        if weights.shape != (n_members,) or not np.isfinite(weights).all() or weights.min() < 0 or weights.max() <= 0:
            raise ValueError(
                f"weights must be 'equal', 'log_loss', 'rps', or a non-negative number for each of {n_members} "
                f"members, not all zero; got {self.weights!r}"
            )
        weights /= weights.max()  # the sum of the largest numbers is infinite
        weights /= weights.sum()
        return weights

    def _evaluate(self, evaluated: list[Rows], given: NDArray[np.float64] | None) -> None:
        """Set the weights, given or found on the last set, and what each set says of members and ensemble."""
        of_sets = [self._of_members(rows.X) for rows in evaluated]
        if given is None:
            given = best_weights(of_sets[-1], evaluated[-1].codes, evaluated[-1].weight, str(self.weights))
        self.weights_ = given
        self.evals_result_: dict[str, dict[str, dict[str, float]]] = {}
        labels = range(self.n_classes_)
        for i, (proba, rows) in enumerate(zip(of_sets, evaluated, strict=True)):
            of_each = {**dict(zip(self._fitted, proba, strict=True)), "ensemble": np.tensordot(given, proba, axes=1)}
            self.evals_result_[f"validation_{i}"] = {
                name: {
                    "log_loss": ordinal_log_loss(rows.codes, P, labels=labels, sample_weight=rows.weight),
                    "rps": ranked_probability_score(rows.codes, P, labels=labels, sample_weight=rows.weight),
                }
                for name, P in of_each.items()
            }

    def _of_members(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of each member, (n_members, n_samples, n_classes): the mean of its copies."""
        return np.stack([self._of_copies(copies, X) for copies in self._fitted.values()])

    def _of_copies(self, copies: list[FittedMember], X: Any) -> NDArray[np.float64]:
        mean: NDArray[np.float64] = np.mean([copy.proba(X, self.n_classes_) for copy in copies], axis=0)
        return mean

    @property
    def members_(self) -> dict[str, list[Any]]:
        """Fitted copies of each member."""
        check_is_fitted(self)
        return {name: [copy.estimator for copy in copies] for name, copies in self._fitted.items()}

    def weighted_copies(self) -> list[tuple[float, FittedMember]]:
        """Return the weight of each copy in the mean, and the copy; members of weight 0 are left out."""
        check_is_fitted(self)
        pairs = zip(self.weights_.tolist(), self._fitted.values(), strict=True)
        return [(weight / len(copies), copy) for weight, copies in pairs for copy in copies if weight > 0]

    def _proba(self, X: Any) -> NDArray[np.float64]:
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
        write_ensemble(path, self, self._trained, self._fitted)

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
        with self._all_or_nothing():
            read = read_ensemble(path, set(super().get_params(deep=False)) - {"members", "classes", "n_jobs"})
            for name in ("feature_names_in_", "evals_result_"):  # of an earlier fit
                self.__dict__.pop(name, None)
            self.__dict__.update(read.params | {"members": read.members})
            with as_damaged_file(path):
                self._keep_labels(OrderedLabels(read.classes))
                self._check_decision()
            self.n_features_in_, self._fitted, self.weights_ = read.n_features, read.fitted, read.weights
            self._trained = [(name, clone(member)) for name, member in read.members]
            if read.feature_names is not None:
                self.feature_names_in_ = read.feature_names
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for kind in ("sparse", "allow_nan", "string", "categorical"):
            setattr(tags.input_tags, kind, all_take(self.members, kind))
        return tags
