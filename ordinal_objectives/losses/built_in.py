"""The losses of this package: sums over thresholds, with costs of errors or without, and the cumulative link."""

from __future__ import annotations

import json
from abc import abstractmethod

import numpy as np
from scipy import special

from ordinal_objectives.aliases import ArrayLike, BoolArray, FloatArray, IntArray
from ordinal_objectives.decision import RULES
from ordinal_objectives.links import IntervalTerms, Link, Logit
from ordinal_objectives.losses import quantities
from ordinal_objectives.losses.base import OrdinalLoss
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import as_floats, check_choice, check_finite, check_integer, check_shape

ABSOLUTE, QUADRATIC = "absolute", "quadratic"


class ThresholdSum(OrdinalLoss):
    """Base of the losses l_i = sum_k w_ik times -log G(theta_k - f_i) if y_i <= k, else -log[1 - G(theta_k - f_i)]."""

    takes_shifts = True

    @abstractmethod
    def _weights(self, y: IntArray, n_thresholds: int) -> FloatArray:
        """How much each threshold counts in the sum of each row, (n_samples, n_thresholds)."""

    def _row_derivatives(self, f: FloatArray, y: IntArray, thresholds: FloatArray) -> quantities.RowDerivatives:
        return self._of_margins(thresholds - f[:, None], y)

    def _of_margins(self, x: FloatArray, y: IntArray) -> quantities.RowDerivatives:
        weights = self._weights(y, x.shape[1])
        counted = weights > 0.0
        above = y[:, None] > np.arange(x.shape[1])
        terms = np.zeros((3, *x.shape))
        for side, function in ((counted & ~above, self.link.lower), (counted & above, self.link.upper)):
            terms[:, side] = function(x[side])
        value, slope, curvature = terms * weights
        return quantities.RowDerivatives(
            value=value.sum(axis=1),
            gradient=-slope.sum(axis=1),
            threshold_gradient=slope,
            curvature=curvature,
            curvature_next=np.zeros((len(x), x.shape[1] - 1)),
            cross=-curvature,
        )

    def _majorized(self, f: FloatArray, y: IntArray, thresholds: FloatArray) -> quantities.Curvatures:
        return self._majorized_of_margins(thresholds - f[:, None], y)

    def _majorized_of_margins(self, x: FloatArray, y: IntArray) -> quantities.Curvatures:
        return _diagonal(self._weights(y, x.shape[1]) * self.link.sharp_curvature(-x))

    def _floored(self, rows: quantities.RowDerivatives, y: IntArray) -> tuple[quantities.Curvatures, int]:
        floor = self.curvature_floor * self._weights(y, rows.curvature.shape[1])
        low = rows.curvature < floor
        return _diagonal(np.where(low, floor, rows.curvature)), int(low.sum())

    def _majorizes(self, link: Link) -> bool:
        return link.curvature_bound is not None

    @property
    def highest_order(self) -> int:
        """That of the link."""
        return self.link.highest_order

    def higher(self, f: FloatArray, y: IntArray, thresholds: FloatArray) -> FloatArray:
        """Third and fourth derivatives in the score, (n_samples, 2)."""
        return _sum_of_higher(self.link, thresholds - f[:, None], y, self._weights(y, len(thresholds)))


@documented
class AllThreshold(ThresholdSum):
    """Sum over all thresholds of the binary loss of "label above the threshold" [1]_.

    l_i = sum_k psi(s_ik (f_i - theta_k)) with s_ik = 1 if y_i > k, else -1, and psi = -log G for a symmetric
    link. With two classes and the logit it is the logistic loss. Fisher consistent for the absolute
    error [2]_.

    Parameters
    ----------
    <<link>>

    References
    ----------
    .. [1] J. Rennie and N. Srebro, "Loss functions for preference levels: regression with discrete ordered
       labels", IJCAI Multidisciplinary Workshop on Advances in Preference Handling (2005).
    .. [2] F. Pedregosa, F. Bach and A. Gramfort, "On the consistency of ordinal regression methods", JMLR 18
       (2017), 55:1-35.

    Examples
    --------
    >>> AllThreshold().value([0.0], [1], [-1.0, 1.0]).round(4)
    array([0.6265])
    """

    name = "all_threshold"
    ordered = True

    def _weights(self, y: IntArray, n_thresholds: int) -> FloatArray:
        return np.ones((len(y), n_thresholds))


@documented
class ImmediateThreshold(ThresholdSum):
    """The all-threshold loss restricted to the two thresholds next to the label [1]_.

    It models adjacent categories, P(y = k + 1) / P(y = k) = [1 - G(theta_k - f)] / G(theta_k - f), not a
    cumulative probability. Its thresholds need no order.

    Parameters
    ----------
    <<link>>

    References
    ----------
    .. [1] J. Rennie and N. Srebro, "Loss functions for preference levels: regression with discrete ordered
       labels", IJCAI Multidisciplinary Workshop on Advances in Preference Handling (2005).

    Examples
    --------
    >>> ImmediateThreshold().predict_proba([0.0], [0.0, 0.0]).round(4)
    array([[0.3333, 0.3333, 0.3333]])
    """

    name = "immediate_threshold"
    ordered = False
    takes_intervals = False

    def start(self, classes: quantities.ClassWeights) -> quantities.InitialThresholds:
        """Thresholds before the first tree: G^-1 of the share of each class among itself and the next one."""
        n, observed, half_a_row = classes
        has_weight = np.isin(np.arange(n.size), observed)
        filled = np.where(has_weight, n, half_a_row)
        share = filled[:-1] / (filled[:-1] + filled[1:])
        active, tied = has_weight[:-1] & has_weight[1:], np.zeros(n.size - 1, dtype=bool)
        return quantities.InitialThresholds(self.link.link(share), active, tied)

    def _weights(self, y: IntArray, n_thresholds: int) -> FloatArray:
        return _beside_label(y, n_thresholds).astype(np.float64)

    def _proba(self, x: FloatArray) -> FloatArray:
        """P(y = k): products of adjacent odds, normalised."""
        log_odds = self.link.log_complement(x) - self.link.log_inverse(x)
        return np.asarray(special.softmax(_log_products(log_odds), axis=1))

    def _cumulative_proba(self, x: FloatArray) -> FloatArray:
        return np.minimum(np.cumsum(self._proba(x), axis=1)[:, :-1], 1.0)


def _log_products(log_odds: FloatArray) -> FloatArray:
    """Logarithms of the products of the first 0, 1, ... odds, relative to the largest product of each row.

    Summed from the largest outwards: log-odds reach 1e17 and more, and a sum from one end that is so large would lose
    the digits of the odds between the likely classes.
    """
    # Twice the largest double is infinite, and the difference of infinities is no number.
    steps = np.clip(log_odds.T, -1e300, 1e300)
    n_products = len(steps) + 1
    log = np.zeros((n_products, steps.shape[1]))
    largest = np.zeros(steps.shape[1], dtype=np.intp)
    for j in range(1, n_products):
        log[j] = log[j - 1] + steps[j - 1]
        higher = log[j] > 0.0
        log[j, higher], largest[higher] = 0.0, j
    for j in range(n_products - 2, -1, -1):
        log[j] = np.where(j < largest, log[j + 1] - steps[j], log[j])
    return log.T


@documented
class CostWeighted(ThresholdSum):
    r"""Sum over all thresholds of binary losses that count by what an error there costs [1]_.

    Where y is the class of row i, threshold k counts w_ik = \|C[y, k] - C[y, k + 1]\|, divided by the mean of these
    numbers over all classes and thresholds: to multiply all costs by a number changes nothing. With costs
    \|y - k\| it is the all-threshold loss. The prediction is the number of thresholds below the score, which the
    median of the probabilities is.

    Its probabilities are not those of the classes: G(theta_k - f) tends to the share of the costs, not of the rows,
    that the classes up to k have at x. Measures of probabilities do not suit them.

    Parameters
    ----------
    <<link>>
    training_cost : {"absolute", "quadratic"} or array-like of float, shape (n_classes, n_classes), default="quadratic"
        What an error costs: the distance between the classes, or its square. In a matrix entry [j, k] is the
        cost where class j is taken for k; each row rises to both sides of the true class, by steps that do not shrink.

    Raises
    ------
    ValueError
        If the costs of a class do not bend upwards, have no single lowest place at the class itself, or are not finite.

    References
    ----------
    .. [1] H.-T. Lin and L. Li, "Reduction from cost-sensitive ordinal ranking to weighted binary classification",
       Neural Computation 24 (2012), 1329-1367.

    Examples
    --------
    >>> from ordinal_objectives.losses import CostWeighted
    >>> CostWeighted().threshold_costs(3)
    array([[0.6, 1.8],
           [0.6, 0.6],
           [1.8, 0.6]])
    """

    name = "cost_weighted"
    ordered = True
    takes_intervals = False

    def __init__(self, link: str | Link = "logit", training_cost: str | ArrayLike = QUADRATIC) -> None:
        super().__init__(link)
        if isinstance(training_cost, str):
            check_choice(training_cost, (ABSOLUTE, QUADRATIC), name="training_cost", hint=" (or give a matrix)")
            self._costs: str | list[list[float]] = training_cost
        else:
            self._costs = _check_costs(training_cost).tolist()

    @property
    def training_cost(self) -> str | list[list[float]]:
        """What errors cost, by name or as the rows of a matrix."""
        return self._costs

    @property
    def identity(self) -> str:
        """Its name in model files, with the costs unless they are quadratic."""
        if not self.is_built_in or self._costs == QUADRATIC:
            return super().identity
        return f"{self.name}({json.dumps(self._costs)})"

    @classmethod
    def of_identity(cls, identity: str, link: str | Link) -> CostWeighted:
        """Return the loss that a model file names.

        Raises
        ------
        ValueError
            If it names none.
        """
        costs = identity.removeprefix(f"{cls.name}(").removesuffix(")")
        return cls(link) if costs == identity else cls(link, json.loads(costs))

    def _parameters(self) -> dict[str, object]:
        return super()._parameters() | ({} if self._costs == QUADRATIC else {"training_cost": self._costs})

    def threshold_costs(self, n_classes: int) -> FloatArray:
        """Return the weights of the thresholds, (n_classes, n_classes - 1) by class; their mean is 1.

        Raises
        ------
        ValueError
            If the costs are those of another number of classes.
        """
        if isinstance(self._costs, str):
            distance = np.abs(np.subtract.outer(np.arange(n_classes), np.arange(n_classes))).astype(np.float64)
            costs = distance**2 if self._costs == QUADRATIC else distance
        else:
            costs = np.array(self._costs)
            check_shape("training_cost", costs, (n_classes, n_classes))
        steps: FloatArray = np.abs(np.diff(costs, axis=1))
        return np.asarray(steps / steps.mean())

    def check_decision(self, rule: str, cost_matrix: ArrayLike | None) -> None:
        """Raise ValueError unless the decision is the median, which counts the thresholds passed."""
        if rule != RULES[0] or cost_matrix is not None:
            got = f"decision_rule={rule!r}" if cost_matrix is None else "a cost_matrix"
            raise ValueError(
                f"with a training_cost the decision is decision_rule={RULES[0]!r}: the model's probabilities are "
                f"weighted by these costs already, and other rules would count them twice; got {got}"
            )

    def as_parameters(self) -> dict[str, object]:
        """Return ``loss``, ``link`` and ``training_cost``, from which :func:`.get_loss` makes it again."""
        if not self.is_built_in or self._costs == ABSOLUTE:
            return super().as_parameters()
        return {"loss": "all_threshold", "link": self.link.identity, "training_cost": self.training_cost}

    def start(self, classes: quantities.ClassWeights) -> quantities.InitialThresholds:
        """Thresholds before the first tree: G^-1 of the share that the classes up to each threshold have of its costs.

        With convex costs these shares increase, also around empty classes, whose thresholds differ: nothing is tied.
        """
        thresholds, active, tied = quantities.from_shares(self.link, classes, with_gaps=False)
        costs = classes.weights[:, np.newaxis] * self.threshold_costs(len(classes.weights))
        share = np.triu(costs).sum(axis=0)[active] / costs.sum(axis=0)[active]
        # Around an empty class shares may be equal, and rounding must not put them out of order.
        thresholds[active] = self.link.link(np.maximum.accumulate(share))
        first, last = np.flatnonzero(active)[[0, -1]]
        thresholds[:first] = np.minimum(thresholds[:first], thresholds[first])
        thresholds[last + 1 :] = np.maximum(thresholds[last + 1 :], thresholds[last])
        return quantities.InitialThresholds(thresholds, active, np.zeros_like(tied))

    def _weights(self, y: IntArray, n_thresholds: int) -> FloatArray:
        return np.asarray(self.threshold_costs(n_thresholds + 1)[y])


def _check_costs(training_cost: ArrayLike) -> FloatArray:
    """Return a matrix of costs, true class by predicted class."""
    costs = as_floats(training_cost, name="training_cost")
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or len(costs) < 2:
        raise ValueError(
            f"training_cost must be 'absolute', 'quadratic' or a (n_classes, n_classes) matrix, true class by "
            f"predicted class; got shape {costs.shape}"
        )
    check_finite(costs, "training_cost", "costs must be finite")
    steps = np.diff(costs, axis=1)
    column = np.arange(len(costs) - 1)
    for code, row in enumerate(steps):
        rises = (row[column < code] < 0.0).all() and (row[column >= code] > 0.0).all()
        if not rises or (np.diff(row) < -1e-9 * np.abs(row).max()).any():
            raise ValueError(
                f"training_cost must be lowest where the prediction is right, and be convex: each step away from the "
                f"true class must cost at least as much as the one before; the costs of class {code} are "
                f"{costs[code].tolist()}"
            )
    return costs


@documented
class CumulativeLink(OrdinalLoss):
    """Negative log-likelihood of P(y <= k) = G(theta_k - f) [1]_.

    l_i = -log[G(theta_y - f_i) - G(theta_{y-1} - f_i)] with theta_{-1} = -inf and theta_{K-1} = inf. Its
    Hessian in the thresholds is tridiagonal. With the logit it is the immediate-threshold loss minus
    log[1 - exp(-(theta_y - theta_{y-1}))], a term free of f; the majorised Hessian replaces the curvature
    of the first part only.

    Parameters
    ----------
    <<link>>

    References
    ----------
    .. [1] P. McCullagh, "Regression models for ordinal data", JRSS B 42 (1980), 109-142.

    Examples
    --------
    >>> CumulativeLink().value([0.0], [1], [-1.0, 1.0]).round(4)
    array([0.7719])
    """

    name = "cumulative_link"
    ordered = True
    strictly_ordered = True
    _why_no_shifts = "rows whose thresholds cross have no likelihood"

    def _row_derivatives(self, f: FloatArray, y: IntArray, thresholds: FloatArray) -> quantities.RowDerivatives:
        terms = self._interval(f, y, thresholds)
        below, above = np.flatnonzero(y > 0), np.flatnonzero(y < len(thresholds))
        inner = np.intersect1d(below, above)
        threshold_gradient, curvature, cross = np.zeros((3, len(f), len(thresholds)))
        curvature_next = np.zeros((len(f), len(thresholds) - 1))
        threshold_gradient[below, y[below] - 1] = terms.d_lower[below]
        threshold_gradient[above, y[above]] = terms.d_upper[above]
        curvature[below, y[below] - 1] = terms.d_lower2[below]
        curvature[above, y[above]] = terms.d_upper2[above]
        curvature_next[inner, y[inner] - 1] = terms.d_cross[inner]
        cross[below, y[below] - 1] = -terms.d_lower_shift[below]
        cross[above, y[above]] = -terms.d_upper_shift[above]
        of_thresholds = threshold_gradient, curvature, curvature_next, cross
        return quantities.RowDerivatives(terms.value, -terms.d_shift, *of_thresholds)

    def _interval(self, f: FloatArray, y: IntArray, thresholds: FloatArray) -> IntervalTerms:
        self.check_gaps(thresholds, np.bincount(y, minlength=len(thresholds) + 1).astype(np.float64))
        ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
        lower, upper = ends[y] - f, ends[y + 1] - f
        # Far from the score, a narrow gap can round to 0 although the thresholds differ.
        return self.link.interval(lower, np.maximum(upper, np.nextafter(lower, np.inf)))

    def _majorized(self, f: FloatArray, y: IntArray, thresholds: FloatArray) -> quantities.Curvatures:
        sides = np.where(_beside_label(y, len(thresholds)), self.link.sharp_curvature(f[:, None] - thresholds), 0.0)
        off_diagonal = self._row_derivatives(f, y, thresholds).curvature_next
        diagonal = sides.copy()
        diagonal[:, 1:] -= off_diagonal
        diagonal[:, :-1] -= off_diagonal
        return quantities.Curvatures(sides.sum(axis=1), diagonal, off_diagonal)

    def _floored(self, rows: quantities.RowDerivatives, y: IntArray) -> tuple[quantities.Curvatures, int]:
        return quantities.raised(rows, self.curvature_floor, _beside_label(y, rows.curvature.shape[1]))

    def _majorizes(self, link: Link) -> bool:
        return type(link) is Logit

    @property
    def highest_order(self) -> int:
        """4 with the logit, where the loss is a sum over thresholds plus a term free of the score."""
        return 4 if type(self.link) is Logit else 2

    def higher(self, f: FloatArray, y: IntArray, thresholds: FloatArray) -> FloatArray:
        """Third and fourth derivatives in the score, (n_samples, 2)."""
        return _sum_of_higher(self.link, thresholds - f[:, None], y, _beside_label(y, len(thresholds)))


def _diagonal(curvature: FloatArray) -> quantities.Curvatures:
    """Curvatures of a sum of functions of one threshold each."""
    n_samples, n_thresholds = curvature.shape
    return quantities.Curvatures(curvature.sum(axis=1), curvature, np.zeros((n_samples, n_thresholds - 1)))


def _beside_label(y: IntArray, n_thresholds: int) -> BoolArray:
    """Which thresholds lie next to each label, shape (n_samples, n_thresholds)."""
    k = np.arange(n_thresholds)
    return np.asarray((y[:, None] == k) | (y[:, None] == k + 1))


def _sum_of_higher(link: Link, x: FloatArray, y: IntArray, weights: FloatArray | BoolArray) -> FloatArray:
    """Third and fourth derivatives in the score of a weighted sum over the thresholds, at margins x."""
    above = y[:, None] > np.arange(x.shape[1])
    third, fourth = np.where(above, link.mirror_link.higher(-x), link.higher(x))
    terms = np.where(weights > 0, (np.where(above, third, -third), fourth), 0.0) * weights
    return np.asarray(terms.sum(axis=2).T)


def check_order(loss: OrdinalLoss, hessian: str, order: int) -> None:
    """Raise unless a loss has the derivatives of leaf steps of this order.

    Parameters
    ----------
    loss : OrdinalLoss
        What is minimised, with its link.
    hessian : {"exact", "majorized"}
        Second derivative by which steps are taken.
    order : {2, 3, 4}
        Highest derivative of the loss that is needed.

    Raises
    ------
    ValueError
        If order > 2 is combined with a majorised Hessian, or a link other than the logit.

    Examples
    --------
    >>> from ordinal_objectives import AllThreshold
    >>> check_order(AllThreshold(), "exact", 4)
    """
    if check_integer("order", order, 2, 4) == 2:
        return
    if hessian != "exact" or loss.highest_order < order:
        raise ValueError(
            f"order={order} needs hessian='exact' and a loss with derivatives of this order, which those of this "
            f"package have with link='logit'; got hessian={hessian!r}, {loss!r}"
        )


def higher_derivatives(loss: OrdinalLoss, raw_prediction: ArrayLike, y: ArrayLike, thresholds: ArrayLike) -> FloatArray:
    """Return third and fourth derivatives of each row's loss in the score, unweighted.

    Parameters
    ----------
    loss : OrdinalLoss
        A loss that has them: one of this package, with the logit link.
    raw_prediction : array-like of float, shape (n_samples,)
        Scores f(x).
    y : array-like of int, shape (n_samples,)
        Class codes.
    thresholds : array-like of float, shape (n_classes - 1,)
        Lowest first, on the scale of the scores.

    Returns
    -------
    ndarray of float64, shape (n_samples, 2)

    Raises
    ------
    ValueError
        If the link is another one, or the rows do not fit together.

    Examples
    --------
    >>> from ordinal_objectives import AllThreshold
    >>> higher_derivatives(AllThreshold(), [0.5], [1], [0.0]).round(4)
    array([[-0.0576, -0.0964]])
    """
    check_order(loss, "exact", 4)
    loss.gradient(raw_prediction, y, thresholds)  # checks the rows
    f, theta = (as_floats(x, name="scores") for x in (raw_prediction, thresholds))
    return loss.higher(f, np.asarray(y, dtype=np.int32), theta)
