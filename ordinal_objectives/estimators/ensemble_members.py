"""Members of an ensemble: which there are, what each is trained on, and the weights of the best pool."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ordinal_objectives.aliases import Estimator, FloatArray, IndexArray, IntArray, Params
from ordinal_objectives.estimators import held_out, ordered_classifier, wrappers
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.utils.validation import seeds_of

# How members say that they stop early on rows that ``fit`` is given, and how that they do not.
_STOPPING = {"early_stopping_rounds": None, "early_stopping_round": None, "early_stopping": False}
# All names of LightGBM for the number of rounds, of which XGBoost has the first; CatBoost has some and the last one.
ROUNDS = (
    *("n_estimators", "num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees", "num_round", "num_rounds"),
    *("nrounds", "num_boost_round", "max_iter", "iterations"),
)
_EVALUATION_WEIGHTS = ("sample_weight_eval_set", "eval_sample_weight")
Members = list[tuple[str, Estimator]]


def default_members() -> Members:
    """Return the native classifier, which holds rows out itself to find its rounds and the size of its trees."""
    return [("trees", wrappers.native())]


# Copies of each member and the share of the rows that each is trained on: of the default, and of those that are given.
OF_DEFAULT, OF_GIVEN = (4, 1.0), (2, 0.8)


def check_members(members: object, taken: Collection[str] = ()) -> Members:
    """Return named members, or raise TypeError or ValueError unless each is a classifier with probabilities.

    Parameters
    ----------
    members : object
    taken : collection of str, default=()
        Names that no member may have.
    """
    if members is None:
        return default_members()
    if not isinstance(members, list) or not members or not all(map(is_pair, members)):
        raise ValueError(f"members must be a list of (name, classifier) pairs, with one at least; got {members!r}")
    names = [name for name, _ in members]
    for name, member in members:
        if names.count(name) > 1 or name in taken or "__" in name:
            raise ValueError(
                f"names of members must differ from each other and from parameters, without '__'; got {names}"
            )
        if wrappers.weighs_costs(clone(member)):
            raise ValueError(
                f"member {name!r} has a training_cost, so its probabilities are weighted by cost: an ensemble averages "
                f"probabilities of the classes"
            )
    return members


def is_pair(entry: object) -> bool:
    """Return whether this is a name and what it names."""
    return isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str) and entry[0] != ""


@dataclass(frozen=True)
class EnsembleData:
    """What all members draw their rows from, and the classes."""

    rows: held_out.Rows
    labels: OrderedLabels
    subsample: float
    refit: bool

    def draw(self, seed: int) -> tuple[IndexArray, IndexArray]:
        """Return the rows that a copy is trained on, and those that it leaves out; no group is divided."""
        codes, weighted = self.rows.codes, self.rows.weighted
        if self.subsample == 1.0:
            return weighted, weighted[:0]
        numbers = replace(self.rows, X=np.arange(len(codes))).take(weighted)
        asked = f"subsample={self.subsample}"
        bag, rest = (part.X for part in held_out.hold_out(numbers, round(1.0 - self.subsample, 12), seed, asked))
        if numbers.groups is None:  # a class keeps one of its rows
            lost = np.setdiff1d(codes[rest], codes[bag])
            kept = rest[[int(np.argmax(codes[rest] == code)) for code in lost]]
            bag, rest = np.concatenate([bag, kept]), np.setdiff1d(rest, kept)
        return np.sort(bag), np.sort(rest)

    @one_thread_after_fork()
    def fit_copy(self, name: str, member: Estimator, seed: int) -> wrappers.FittedMember:
        """Train a copy of a member on rows of its own, with a seed of its own.

        Raises
        ------
        ValueError
            If it cannot be trained; the message names it.
        """
        if isinstance(member, FrozenEstimator):
            check_is_fitted(member, msg=f"member {name!r} is a FrozenEstimator, and what it holds is not fitted")
            codes = self.labels.encode(member.classes_, name=f"classes_ of member {name!r}")
            return wrappers.FittedMember(FrozenEstimator(member.estimator), codes)
        bag, rest = self.draw(seed)
        seeds = seeds_of(member, seed)
        fitted = self._fit(name, clone(member).set_params(**seeds), bag, rest)
        stopping = _stopping(member)
        if not self.refit or stopping is None or len(rest) == 0:
            return fitted
        more = _rounds(fitted.estimator) * (len(bag) + len(rest)) / len(bag)  # all rows take more, as a plain call's do
        rounds = dict.fromkeys(set(ROUNDS) & set(member.get_params(deep=False)), round(more))
        if not rounds:
            raise ValueError(
                f"member {name!r} stops early and does not say what its number of rounds is called: with refit=True it "
                f"must have a parameter {', '.join(ROUNDS[:-1])} or {ROUNDS[-1]}; pass refit=False"
            )
        again = clone(member).set_params(**seeds, **rounds, **{stopping: _STOPPING[stopping]})
        return self._fit(name, again, np.sort(np.concatenate([bag, rest])), rest[:0])

    def _fit(self, name: str, copy: Estimator, bag: IndexArray, rest: IndexArray) -> wrappers.FittedMember:
        """Train a copy on some rows; ``rest`` are those that it may stop early by."""
        what = f"member {name!r}"
        rows, present, keywords = wrappers.prepared(what, copy, self.rows.take(bag), self.labels.ordered_classes_)
        keywords |= self._evaluation(name, copy, present, rest)
        copy.fit(rows.X, wrappers.labels_of(rows, present), **keywords)
        return wrappers.FittedMember.trained(copy, present)

    def _evaluation(self, name: str, copy: object, present: IntArray, rest: IndexArray) -> dict[str, object]:
        """Return the rows that a copy stops early by, as its ``fit`` takes them: those that it is not trained on."""
        stopping = _stopping(copy)
        if stopping is None:
            return {}
        rows = wrappers.rows_for(f"member {name!r}", copy, self.rows.take(rest))
        rows = rows.take(np.flatnonzero(np.isin(rows.codes, present)))
        if len(rows) == 0:  # the engine holds rows out itself, and other libraries say that they need some
            return {}
        labels = wrappers.labels_of(rows, present)
        keywords: dict[str, object] = {"eval_set": [(rows.X, labels)]}
        if not has_fit_parameter(copy, "eval_set"):
            keywords = {"X_val": rows.X, "y_val": labels}
        if has_fit_parameter(copy, "eval_X"):  # LightGBM has given eval_set up
            keywords = {"eval_X": rows.X, "eval_y": labels}
        if rows.weight is not None:
            keywords |= _weighted_evaluation(name, copy, rows.X, labels, rows.weight)
        return keywords | ({"verbose": False} if has_fit_parameter(copy, "verbose") else {})


def _weighted_evaluation(name: str, copy: Estimator, X: object, labels: object, weight: FloatArray) -> Params:
    """Return what tells the ``fit`` of a copy the weights of the rows that it stops early by."""
    if has_fit_parameter(copy, "sample_weight_val"):
        return {"sample_weight_val": weight}
    weights_name = next((name for name in _EVALUATION_WEIGHTS if has_fit_parameter(copy, name)), None)
    if weights_name is not None:
        return {weights_name: [weight]}
    if any(kind.__module__.startswith("catboost.") for kind in type(copy).__mro__):  # its weights lie in a pool
        return {"eval_set": importlib.import_module("catboost").Pool(X, labels, weight=weight)}
    raise ValueError(
        f"member {name!r} stops early, but its fit takes no weights of evaluation rows "
        f"({' or '.join(_EVALUATION_WEIGHTS)}), and the rows have weights: set it not to stop early"
    )


def _stopping(member: Estimator) -> str | None:
    """Return the parameter by which a member stops early on rows that ``fit`` is given, or None."""
    given = member.get_params(deep=False)
    asked = given.get("early_stopping")  # or "auto"
    is_ours = any(kind.__module__.startswith("ordinal_objectives.") for kind in type(member).__mro__)
    if isinstance(asked, (bool, np.bool_)) and asked and (is_ours or has_fit_parameter(member, "eval_set")):
        return "early_stopping"
    if given.get("validation_fraction") is not None:
        return None
    return next((name for name, off in _STOPPING.items() if off is None and given.get(name)), None)


def _rounds(fitted: Estimator) -> int:
    """Return the number of rounds up to the best one of a member that has stopped early, at least 1."""
    if hasattr(fitted, "trained_rounds"):  # of this package
        return max(1, int(fitted.trained_rounds()))
    if isinstance(fitted, ordered_classifier.OrderedClassifier):
        return int(fitted.n_iter_)
    if hasattr(fitted, "get_best_iteration"):  # CatBoost counts it from 0
        return int(fitted.get_best_iteration()) + 1
    if hasattr(fitted, "best_iteration"):  # XGBoost does too
        return int(fitted.best_iteration) + 1
    return int(fitted.best_iteration_)  # LightGBM counts it from 1


CRITERIA = ("log_loss", "rps")
# The probability that a class counts with which all models rule out: its logarithm must be finite.
_LEAST = np.finfo(np.float64).tiny
# How far above the minimum, of which the gap of Frank and Wolfe is a bound, weights may be.
_GAP = 1e-5
Criterion = Callable[[FloatArray], tuple[float, FloatArray]]


def best_weights(proba: FloatArray, rows: held_out.Rows, criterion: str) -> FloatArray:
    """Return weights of models, non-negative and of sum 1, whose pooled probabilities score best.

    Both criteria are convex in the weights, so a local minimum is a global one. The solver is SciPy's SLSQP, which
    starts at equal weights.

    Parameters
    ----------
    proba : ndarray of float64, shape (n_models, n_samples, n_classes)
        Columns from the lowest class to the highest.
    rows : Rows
    criterion : {"log_loss", "rps"}

    Returns
    -------
    ndarray of float64, shape (n_models,)

    Warns
    -----
    ConvergenceWarning
        If the solver stopped before the minimum.
    """
    rows = replace(rows, X=np.arange(len(rows)))
    rows = rows if rows.of_intervals else rows.by_answer()
    share = np.ones(len(rows)) if rows.weight is None else rows.weight
    value = (_log_loss if criterion == "log_loss" else _rps)(proba[:, rows.X], rows, share / share.sum())
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
    weights: FloatArray = np.clip(found.x, 0.0, None)
    weights /= weights.sum()
    gradient = value(weights)[1]
    if not weights @ gradient - gradient.min() <= _GAP:
        warnings.warn(
            f"the weights are not those of the lowest {criterion}: {found.message}", ConvergenceWarning, stacklevel=2
        )
    return weights


def _log_loss(proba: FloatArray, rows: held_out.Rows, share: FloatArray) -> Criterion:
    if rows.labels is None:
        own_class = proba[:, np.arange(len(rows)), rows.codes]
    else:
        own_class = (rows.labels.shares[rows.labels.codes] * proba).sum(axis=2)

    def value(w: FloatArray) -> tuple[float, FloatArray]:
        pooled = np.maximum(w @ own_class, _LEAST)
        return -float(share @ np.log(pooled)), -(own_class @ (share / pooled))

    return value


def _rps(proba: FloatArray, rows: held_out.Rows, share: FloatArray) -> Criterion:
    k, (lower, upper) = np.arange(proba.shape[2] - 1), (end[:, np.newaxis] for end in rows.bounds())
    known = (k < lower) | (k >= upper)  # thresholds inside an interval tell nothing
    away = known * (np.cumsum(proba[..., :-1], axis=2) - (k >= upper)) * np.sqrt(share)[:, np.newaxis]
    away = away.reshape(len(proba), -1)
    gram = away @ away.T

    def value(w: FloatArray) -> tuple[float, FloatArray]:
        return float(w @ gram @ w), 2.0 * gram @ w

    return value
