"""Net benefit of treating by P(y >= k): what a decision is worth at each probability from which one would act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ordinal_objectives.aliases import ArrayLike, DataFrame, FloatArray, Seed
from ordinal_objectives.estimators.labels import OrderedLabels, ordered_categories
from ordinal_objectives.metrics.intervals import BootstrapSample, Interval
from ordinal_objectives.metrics.table import OfWeights, check_forecasts
from ordinal_objectives.utils import documented, extras, validation


@dataclass(frozen=True)
class NetBenefit:
    """A decision curve; see :func:`net_benefit`.

    Attributes
    ----------
    thresholds : ndarray of float64, shape (n_thresholds,)
        Probabilities from which one would act, increasing.
    model : ndarray of float64, shape (n_thresholds,)
        Net benefit of acting where the model states at least this probability.
    treat_all : ndarray of float64, shape (n_thresholds,)
        Of acting for every row. Acting for none has 0.
    low, high : ndarray of float64, shape (n_thresholds,), or None
        Ends of the intervals of ``model``, each by itself; None without draws.
    low_over_all, high_over_all : ndarray of float64, shape (n_thresholds,), or None
        Ends of the intervals of ``model - treat_all``, of the same samples.
    share : float
        Share of the rows with y >= k.
    at_least : label
        The class k.
    level : float
        Of the intervals.

    Examples
    --------
    >>> from ordinal_objectives.metrics import net_benefit
    >>> found = net_benefit([0, 2, 1, 2], [[0.8, 0.1, 0.1], [0.1, 0.3, 0.6]] * 2, at_least=2, thresholds=[0.25, 0.5])
    >>> found.model, found.treat_all.round(3)
    (array([0.5, 0.5]), array([0.333, 0.   ]))
    """

    thresholds: FloatArray
    model: FloatArray
    treat_all: FloatArray
    low: FloatArray | None
    high: FloatArray | None
    low_over_all: FloatArray | None
    high_over_all: FloatArray | None
    share: float
    at_least: object
    level: float

    def to_frame(self) -> DataFrame:
        """Return a pandas.DataFrame with a row for each threshold, and the attributes of its shape as columns.

        Raises
        ------
        ModuleNotFoundError
            If pandas is not installed.
        """
        names = ("model", "treat_all", "low", "high", "low_over_all", "high_over_all")
        columns = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return extras.data_frame({"threshold": self.thresholds, **columns}).set_index("threshold")


@documented
def net_benefit(
    y_true: ArrayLike,
    proba: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    at_least: object,
    thresholds: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    n_draws: int = 0,
    random_state: Seed = 0,
) -> NetBenefit:
    r"""Return the net benefit of acting by P(y >= k), beside acting for all rows and for none [1]_.

    Who acts, such as by treating a patient, from the probability t on holds that one event y >= k is worth (1 - t) / t
    actions without one. The net benefit of acting where the model states at least t is, in events,

    .. math:: \frac{1}{n} \sum_i 1[p_i \ge t] \left( 1[y_i \ge k] - \frac{t}{1 - t} 1[y_i < k] \right) ,
              \qquad p_i = P(y_i \ge k) .

    Acting for every row has that of :math:`p_i = 1`, and acting for none has 0. A model is of use at the thresholds
    that somebody would choose where it lies above both. A net benefit of 0.05 is that of finding five events among a
    hundred rows and acting for no one else. No threshold is chosen by the data: which one is right depends on the harm
    of an action and of a missed event, and so thresholds far from any that are chosen say nothing.

    Parameters
    ----------
    y_true : array-like, shape (n_samples,)
        Labels; class codes 0..n_classes - 1 unless `labels` or an ordered categorical `y_true` says otherwise.
    proba : array-like of float, shape (n_samples, n_classes)
        P(y = k), columns from the lowest class to the highest, as `predict_proba_ordered` has them, of rows that the
        model has not seen.
    sample_weight : array-like of float, shape (n_samples,), or None
        Weights; None for ones. Rows of weight 0 are not drawn.
    at_least : label
        The class k from which on one acts, not the lowest; a code where labels are codes.
    thresholds : array-like of float, shape (n_thresholds,), or None
        Increasing, above 0 and below 1. None for 0.01, 0.02, ..., 0.99.
    labels : array-like of shape (n_classes,), or None
        The classes from lowest to highest, one for each column of `proba`; ``range(n_classes)`` for codes.
    groups : array-like, shape (n_samples,), or None
        The group of each row, such as a patient. Then samples are of whole groups.
    level : float
        Of the intervals, in (0, 1).
    n_draws : int
        Number of bootstrap samples for intervals, as those of :func:`interval`; 0 for none.
    random_state : int, RandomState instance or None
        Seed of the samples. None takes NumPy's global state.

    Returns
    -------
    NetBenefit

    Raises
    ------
    TypeError
        If ``y_true`` has several answers a row or intervals, or a number has a wrong type.
    ValueError
        If an array has the wrong shape or values, labels have no known order, ``at_least`` is the lowest class or none,
        an argument is out of range, or fewer than two rows or groups have weight to draw from.

    References
    ----------
    .. [1] A. Vickers and E. Elkin, "Decision curve analysis: a novel method for evaluating prediction models", Medical
       Decision Making 26 (2006), 565-574.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.metrics import net_benefit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 2))
    >>> y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=600), [-1.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20).fit(X[:300], y[:300])
    >>> proba = model.predict_proba_ordered(X[300:])
    >>> found = net_benefit(y[300:], proba, at_least=2, thresholds=[0.1, 0.3], n_draws=200)
    >>> bool((found.model > found.treat_all).all()), bool((found.low > 0).all())
    (True, True)
    """
    validation.refuse_soft(y_true, name="y_true")
    level = validation.check_number("level", level, above=0.0, below=1.0)
    n_draws = validation.check_integer("n_draws", n_draws, 0)
    true, P, _ = check_forecasts(y_true, proba, sample_weight, labels)
    order = ordered_categories(y_true) if labels is None else labels
    k = _code(at_least, range(P.shape[1]) if order is None else order)
    t = _check_thresholds(thresholds)
    weight = validation.row_weights(sample_weight, len(true))
    events, stated, odds = true >= k, P[:, k:].sum(axis=1, dtype=np.float64), t / (1.0 - t)
    of_rows = np.where(events[:, np.newaxis], 1.0, -odds) * (stated[:, np.newaxis] >= t)
    share = float(weight @ events / weight.sum())
    model = weight @ of_rows / weight.sum()
    ends: tuple[Any, Any, Any, Any] = (None, None, None, None)
    if n_draws:
        rows = BootstrapSample.of(true, sample_weight, groups)
        each = [OfWeights.mean(column, weight).value_of for column in (*of_rows[rows.row].T, events[rows.row])]
        drawn = rows.draw(each, n_draws, validation.random_numbers(random_state))
        of_model, of_all = drawn[:-1], _treat_all(drawn[-1], odds[:, np.newaxis])
        of_both = np.concatenate([of_model, of_model - of_all])
        outer = rows.expanded(level)
        found = np.array([Interval.of(0.0, samples, outer)[1:] for samples in of_both]).reshape(2, len(t), 2)
        ends = (found[0, :, 0], found[0, :, 1], found[1, :, 0], found[1, :, 1])
    return NetBenefit(t, model, _treat_all(share, odds), *ends, share, at_least, level)


def _treat_all(share: float | FloatArray, odds: FloatArray) -> FloatArray:
    """Return the net benefit of acting for every row, given the share of events and t / (1 - t)."""
    return share - (1.0 - share) * odds


def _code(at_least: Any, classes: ArrayLike) -> int:
    """Return the code of the class from which on one acts."""
    known = OrderedLabels(classes, name="labels")
    found = int(known.encode([at_least], name="at_least")[0])
    if found == 0:
        raise ValueError(f"at_least must be a class above the lowest, {known.ordered_classes_[0]!r}; got {at_least!r}")
    return found


def _check_thresholds(thresholds: ArrayLike | None) -> FloatArray:
    """Return the probabilities from which one would act, increasing, float64 (n_thresholds,)."""
    if thresholds is None:
        return np.arange(1, 100) / 100.0
    found = validation.as_floats(thresholds, name="thresholds")
    validation.check_shape("thresholds", found, ("n_thresholds",))
    if not found.size or not ((found > 0.0) & (found < 1.0)).all() or (np.diff(found) <= 0.0).any():
        raise ValueError(f"thresholds must be increasing numbers above 0 and below 1; got {thresholds!r}")
    return found
