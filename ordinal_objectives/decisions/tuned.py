"""OrdinalTunedClassifier: decisions of any classifier, tuned for a metric on rows that it was not trained on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from ordinal_objectives.aliases import ArrayLike, Estimator, FloatArray, IndexArray, LabelArray, Seed
from ordinal_objectives.decision import KappaRule
from ordinal_objectives.decisions.around import AroundOneClassifier
from ordinal_objectives.estimators.arguments import store_constructor_arguments
from ordinal_objectives.estimators.held_out import Rows
from ordinal_objectives.eval_metric import takes_weight
from ordinal_objectives.metrics import METRICS, table
from ordinal_objectives.utils import documented, validation

# What is to be large, of predicted codes.
Score = Callable[[IndexArray], float]
_MOST_CANDIDATES, _MOST_PAIRED, _MOST_SWEEPS = 200, 20, 20
# How far a cut point stays from values that it is on but for rounding.
_ROOM, _ROUNDING = 1e-5, 1e-9
_STRETCHES = np.geomspace(0.5, 20.0, 200)


@dataclass(frozen=True)
class CutPoints:
    """A decision by the mean class: the number of cut points that it reaches.

    Attributes
    ----------
    cuts : ndarray of float64, shape (n_classes - 1,)
        They do not decrease.
    """

    cuts: FloatArray

    @classmethod
    def free(cls, proba: FloatArray, shares: FloatArray, score: Score, weight: FloatArray | None = None) -> CutPoints:
        """Find the cut points with the highest score, one after the other, from two starts.

        The starts are those of rounding, and those that predict each class as often as it occurs. A cut point moves
        between its neighbours, over at most 200 values between which the same number of rows lie, and two neighbours
        move together over some of them, until none moves.

        Parameters
        ----------
        proba : ndarray of float64, shape (n_samples, n_classes)
            Lowest class first.
        shares : ndarray of float64, shape (n_classes,)
            Of the classes.
        score : callable
        weight : ndarray of float64, shape (n_samples,), or None
            Of the rows, positive.
        """
        means = mean_class(proba)
        values, place = np.unique(means, return_inverse=True)
        between = (values[1:] + values[:-1]) / 2.0
        most = min(len(between), _MOST_CANDIDATES)
        inner = between[np.linspace(0, max(len(between) - 1, 0), most).astype(np.intp)]
        candidates = np.concatenate([[values[0]], inner, [np.nextafter(values[-1], np.inf)]])
        rounding = np.arange(proba.shape[1] - 1) + 0.5
        below = np.cumsum(np.bincount(place, weight))
        ends = np.concatenate([values[:1], between, candidates[-1:]])
        reached = np.abs(np.append(0.0, below / below[-1]) - np.cumsum(shares)[:-1, np.newaxis])
        starts = rounding, ends[reached.argmin(axis=1)]
        found = [_climb(means, start, candidates, _without_rounding(score)) for start in starts]
        return cls(_off_values(max(found, key=lambda one: one[1])[0], values))

    @classmethod
    def stretched(cls, proba: FloatArray, score: Score, weight: FloatArray | None = None) -> CutPoints:
        """Find the stretch of the mean class about its own weighted mean whose rounding has the highest score."""
        means = mean_class(proba)
        middle = float(np.average(means, weights=weight))
        rounding = np.arange(proba.shape[1] - 1) + 0.5
        tried = [middle + (rounding - middle) / stretch for stretch in (1.0, *_STRETCHES)]
        rounded = _without_rounding(score)
        return cls(max(tried, key=lambda cuts: rounded(_codes(means, cuts))))

    def decide(self, proba: FloatArray) -> IndexArray:
        """Return class codes, (n_samples,)."""
        return _codes(mean_class(proba), self.cuts)


def mean_class(proba: FloatArray) -> FloatArray:
    """Return the mean of the class codes, (n_samples,)."""
    return proba @ np.arange(proba.shape[1])


def _codes(means: FloatArray, cuts: FloatArray) -> IndexArray:
    return np.searchsorted(cuts, means, side="right").astype(np.intp)


def _without_rounding(score: Score) -> Score:
    """Return a score of 12 digits: of the others the order of the rows decides, and decisions may be equally good."""
    return lambda predicted: float(f"{score(predicted):.12g}")


def _off_values(cuts: FloatArray, values: FloatArray) -> FloatArray:
    """Return cut points of which none lies on a value, where rounding would decide for all rows that have it.

    Those that do move away from it, at most to the middle between two values, so that all rows keep their class.
    """
    place = np.searchsorted(values, cuts)
    low, high = np.append(-np.inf, values)[place], np.append(values, np.inf)[place]
    room = np.minimum(_ROOM, (high - low) / 2.0)
    on_value = np.minimum(high - cuts, cuts - low) < _ROUNDING
    return np.maximum.accumulate(np.where(on_value, np.clip(cuts, low + room, high - room), cuts))


def _climb(means: FloatArray, cuts: FloatArray, candidates: FloatArray, score: Score) -> tuple[FloatArray, float]:
    """Move cut points, one or two at a time, while that raises the score; return them and the score."""
    best = score(_codes(means, cuts))
    for _ in range(_MOST_SWEEPS):
        before = best
        for k in range(len(cuts)):
            for moved in _moved(cuts, k, candidates):
                now = score(_codes(means, moved))
                if now > best:
                    cuts, best = moved, now
        if best == before:
            break
    return cuts, best


def _moved(cuts: FloatArray, k: int, candidates: FloatArray) -> Iterator[FloatArray]:
    """Yield cut points of which one has moved between its neighbours, or two of them together."""
    ends = np.concatenate([[-np.inf], cuts, [np.inf]])
    few = candidates[:: max(1, len(candidates) // _MOST_PAIRED)]
    for n_moved, values in ((1, candidates), (2, few)):
        if k + n_moved <= len(cuts):
            between = values[(values >= ends[k]) & (values <= ends[k + n_moved + 1])]
            for places in combinations_with_replacement(between, n_moved):
                moved = cuts.copy()
                moved[k : k + n_moved] = places
                yield moved


RULES = ("cuts", "stretch", "kappa")
# What rule="kappa" can make large.
_KAPPAS = {"qwk": "quadratic", "lwk": "linear"}


@documented
class OrdinalTunedClassifier(AroundOneClassifier):
    """A classifier whose decisions are tuned for a metric, by probabilities of rows that it was not trained on.

    Cut points tuned on the training rows would be fitted to overfitted probabilities. Here each row's probabilities are
    those of a copy that was not trained on it; the classifier that predicts is trained on all rows afterwards.
    Probabilities stay as they are.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``: of this package, of XGBoost, LightGBM or scikit-learn, or a pipeline. It is copied, and
        trained on class codes 0, 1, ..., lowest class first. ``FrozenEstimator(model)`` of scikit-learn is a trained
        one: then all rows of ``fit`` tune it, and it must not have been trained on them.
    metric : str or callable
        One of :data:`ordinal_objectives.metrics.METRICS` that judges decisions: "qwk", "lwk", "mae", "macro_mae",
        "max_mae", "zero_one", "tau_b"; or a function ``metric(y, predicted)`` of class codes, which may take
        ``sample_weight``, and ``labels``: it gets ``range(n_classes)``.
    greater_is_better : bool
        Of a metric that is a function.
    rule : {"cuts", "stretch", "kappa"}
        "cuts": cut points of the mean class, each free. "stretch": the expected class is spread away from its
        mean, and rounded; one number is found. "kappa": the closed form for "qwk" and "lwk", which needs no labels; see
        :class:`ordinal_objectives.decision.KappaRule`.
    cv : int or splitter
        Number of folds of the rows with weight, drawn at random, or one of scikit-learn's splitters, which divides all.
    <<classes>>
        None also takes those that the estimator names.
    random_state : int, RandomState instance or None
        Seed of the folds. None draws the same each time.

    Attributes
    ----------
    <<classes_, ordered_classes_, n_classes_>>
    estimator_ : object
        The fitted classifier. Its labels are codes; see ``ordered_classes_``.
    decision_ : CutPoints or KappaRule
        The rule: ``decide(proba)`` returns class codes. ``cuts`` are the cut points.
    tuned_score_ : float
        The metric of the rows that the rule was tuned on. A little optimistic, since the rule was chosen by it. NaN
        where it is for each decision.
    <<n_features_in_, feature_names_in_>>

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ordinal_objectives import OrdinalTunedClassifier
    >>> from ordinal_objectives.metrics import quadratic_weighted_kappa
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = np.digitize(X[:, 0] + 2 * rng.normal(size=2000), [-3, 0, 3])
    >>> plain = LogisticRegression().fit(X[:1000], y[:1000])
    >>> tuned = OrdinalTunedClassifier(LogisticRegression(), metric="qwk").fit(X[:1000], y[:1000])
    >>> before, after = (quadratic_weighted_kappa(y[1000:], one.predict(X[1000:])) for one in (plain, tuned))
    >>> after > before
    True
    """

    def __init__(
        self,
        estimator: Estimator,
        *,
        metric: Any = "qwk",
        greater_is_better: bool = True,
        rule: str = "cuts",
        cv: object = 5,
        classes: ArrayLike | None = None,
        random_state: Seed = None,
    ) -> None:
        store_constructor_arguments(self, locals())

    @documented
    def fit(
        self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None, *, groups: ArrayLike | None = None
    ) -> OrdinalTunedClassifier:
        """Tune the decision, and train the classifier on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
            What the estimator reads.
        <<y, sample_weight>>
            Rows of weight 0 are left out. Both the estimator, which must take them, and the metric are given them.
        groups : array-like, shape (n_samples,), or None
            Rows of one group stay together in all folds, also of searches inside. Estimators whose fit takes groups are
            given them.

        Returns
        -------
        OrdinalTunedClassifier

        Raises
        ------
        TypeError, ValueError
            If labels, weights, parameters or the estimator are not what the docs allow; the message names the argument.
        """
        with self._all_or_nothing():
            known = self._check_metric()
            rows = self._check_rows(X, y, sample_weight, groups)
            if rows.labels is not None:
                self._score(known, rows)(rows.codes.astype(np.intp))  # refuses what cannot judge them first
            proba, rows = self._fit_member(rows)
            score = self._score(known, rows)
            if self.rule == "kappa" and known is not None:
                self.decision_: CutPoints | KappaRule = KappaRule.fit(proba, _KAPPAS[known.name], rows.weight)
            elif self.rule == "stretch":
                self.decision_ = CutPoints.stretched(proba, score, rows.weight)
            else:
                class_weights = rows.class_weights(self.n_classes_)
                self.decision_ = CutPoints.free(proba, class_weights / class_weights.sum(), score, rows.weight)
            found = score(self.decision_.decide(proba))
            if known is None and not np.isfinite(found):
                raise ValueError("metric must be a finite number for some decision; got NaN or infinity for each")
            self.tuned_score_ = self._sign(known) * found if np.isfinite(found) else np.nan
        return self

    def _check_metric(self) -> table.Metric | None:
        """Return the entry of the table, or None for a function."""
        validation.check_choice(self.rule, RULES, name="rule")
        known = METRICS.of(self.metric) if callable(self.metric) else METRICS.get(str(self.metric))
        if known.judges != "decisions" if known is not None else not callable(self.metric):
            names = ", ".join(repr(name) for name, metric in METRICS.items() if metric.judges == "decisions")
            raise ValueError(f"metric must be one of {names}, or a function of (y, predicted); got {self.metric!r}")
        if self.rule == "kappa" and (known is None or known.name not in _KAPPAS):
            raise ValueError(f"rule='kappa' maximises 'qwk' or 'lwk'; got metric={self.metric!r}")
        validation.check_flag("greater_is_better", self.greater_is_better)
        return known

    def _score(self, known: table.Metric | None, rows: Rows) -> Score:
        """Return what is to be large of predictions."""
        function = table.on_codes(self.metric if known is None else known.function, self.n_classes_)
        given: dict[str, object] = {}
        by_name, _ = takes_weight(function)
        if known is None and rows.labels is not None and (rows.of_intervals or not by_name):
            what = "'mae' or 'zero_one'" if rows.of_intervals else "a function that takes sample_weight"
            raise ValueError(f"metric must be {what} for {rows.labels!r}; got {self.metric!r}")
        judged = replace(rows, X=np.arange(len(rows)))
        judged = judged if rows.of_intervals else judged.by_answer()
        if judged.weight is not None and by_name:
            given["sample_weight"] = validation.read_only(judged.weight)
        called, truth = partial(function, **given), judged.y

        def score(predicted: IndexArray) -> float:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UndefinedMetricWarning)  # of predictions that are never taken
                value = validation.call_read_only("metric", called, truth, predicted[judged.X])
            return -np.inf if np.isnan(value) else self._sign(known) * float(value)

        return score

    def _sign(self, known: table.Metric | None) -> float:
        return 1.0 if (self.greater_is_better if known is None else known.higher_is_better) else -1.0

    def _decide(self, proba: FloatArray) -> LabelArray:
        return self.decision_.decide(proba)

    def _proba(self, X: object) -> FloatArray:
        return self._member.proba(X, self.n_classes_)


def tune_decision(
    estimator: Estimator,
    X: object,
    y: ArrayLike,
    metric: Any = "qwk",
    *,
    sample_weight: ArrayLike | None = None,
    **options: Any,
) -> OrdinalTunedClassifier:
    """Return a classifier whose decisions are tuned for a metric.

    Parameters
    ----------
    estimator, metric
        See :class:`OrdinalTunedClassifier`.
    X, y, sample_weight
        Of its ``fit``.
    **options
        Its other parameters.

    Returns
    -------
    OrdinalTunedClassifier
        Fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ordinal_objectives.decisions.tuned import tune_decision
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = np.digitize(X[:, 0] + rng.normal(size=500), [-1, 1])
    >>> tune_decision(LogisticRegression(), X, y, "macro_mae").decision_.cuts.shape
    (2,)
    """
    return OrdinalTunedClassifier(estimator, metric=metric, **options).fit(X, y, sample_weight)
