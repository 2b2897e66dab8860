"""Decision rules: from class probabilities to a class, by the cost of errors or for the largest kappa."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ordinal_objectives.aliases import ArrayLike, FloatArray, IndexArray
from ordinal_objectives.utils import documented, validation

_MOST_STEPS = 100
# A kappa that is no larger is none: of rows that are all alike it would choose classes by chance.
_ROUNDING = 1e-9
RULES = ("median", "mode", "mean")


@documented
def decide(proba: ArrayLike, rule: str = "median", cost_matrix: ArrayLike | None = None) -> IndexArray:
    r"""Choose a class for every row.

    ========== ============================================================ ======================
    rule       class                                                        least expected
    ========== ============================================================ ======================
    median     smallest k with :math:`P(y \le k) \ge 1/2`                   absolute error
    mode       most probable k                                              zero-one error
    mean       :math:`\sum_k k P(y = k)`, rounded                           squared error
    cost       :math:`\arg\min_k \sum_j P(y = j) C_{jk}`                    cost C
    ========== ============================================================ ======================

    For a symmetric link the median is the number of thresholds below the score (thesis, eq. 2.2). Of two
    classes that are equally good the lower one is chosen; the median and the mean count sums within rounding
    of a tie as a tie.

    Parameters
    ----------
    proba : array-like of float, shape (n_samples, n_classes)
        P(y = k), rows summing to 1, columns from the lowest class to the highest, as ``predict_proba_ordered`` has
        them; float32 or float64.
    rule : {"median", "mode", "mean"}, default="median"
        The rule, unless there is a cost matrix.
    cost_matrix : array-like of float, shape (n_classes, n_classes), or None
        Cost of predicting column k where row j is true. It takes the place of `rule`, which must be left at
        its default.

    Returns
    -------
    ndarray of intp, shape (n_samples,)
        Class codes 0..n_classes - 1.

    Raises
    ------
    ValueError
        If `proba` holds no probabilities, `rule` is unknown or given beside `cost_matrix`, or `cost_matrix`
        has the wrong shape or is not finite.

    Examples
    --------
    >>> from ordinal_objectives.decision import decide
    >>> proba = [[0.4, 0.0, 0.3, 0.3]]
    >>> [decide(proba, rule).tolist() for rule in ("median", "mode", "mean")]
    [[2], [0], [1]]
    >>> decide(proba, cost_matrix=[[0, 1, 1, 1], [9, 0, 1, 1], [9, 1, 0, 1], [9, 1, 1, 0]]).tolist()
    [2]
    """
    P = validation.check_proba(proba)
    validation.refuse_other_order_of_classes(validation.names_along(proba, "columns", []), cost_matrix, "cost_matrix")
    costs = check_rule(rule, cost_matrix, P.shape[1])
    if costs is not None:
        return np.argmin(P @ costs, axis=1)
    if rule == "mode":
        return np.argmax(P, axis=1)
    rounding = 2 * P.shape[1] ** 2 * float(np.finfo(P.dtype).eps)
    if rule == "mean":
        mean = P @ np.arange(P.shape[1])
        return np.maximum(np.ceil(mean - 0.5 - rounding), 0.0).astype(np.intp)
    return np.argmax(np.cumsum(P, axis=1, dtype=np.float64) >= 0.5 - rounding, axis=1)


def check_rule(rule: object, cost_matrix: ArrayLike | None, n_classes: int, *, name: str = "rule") -> FloatArray | None:
    """Check what is to decide: a rule, or the costs of errors.

    Parameters
    ----------
    rule : str
        "median", "mode" or "mean"; "median" where there are costs.
    cost_matrix : array-like of float, shape (n_classes, n_classes), or None
        Cost of predicting column k where row j is true.
    n_classes : int
        Number of classes.
    name : str, default="rule"
        What messages call the rule.

    Returns
    -------
    ndarray of float64, shape (n_classes, n_classes), or None
        The costs; None where the rule decides.

    Raises
    ------
    ValueError
        If the rule is unknown, both are given, or the costs have the wrong shape or are not finite.
    """
    hint = (
        " ('kappa': OrdinalTunedClassifier(model, metric='qwk', rule='kappa'))"
        if isinstance(rule, str) and rule == "kappa"
        else ""
    )
    validation.check_choice(rule, RULES, name=name, hint=hint)
    if cost_matrix is None:
        return None
    if rule != RULES[0]:
        raise ValueError(f"{name}={rule!r} and cost_matrix are two different rules; give one of them")
    cost = validation.as_floats(cost_matrix, name="cost_matrix")
    if cost.shape != (n_classes, n_classes):
        raise ValueError(f"cost_matrix must have shape ({n_classes}, {n_classes}), true by predicted; got {cost.shape}")
    validation.check_finite(cost, "cost_matrix", "costs must be finite")
    return cost


def kappa_weights(weights: ArrayLike | str, n_classes: int) -> FloatArray:
    """Return what it costs that a class is taken for another, (n_classes, n_classes).

    Parameters
    ----------
    weights : {"quadratic", "linear"} or array-like of float, shape (n_classes, n_classes)
        Rows are true classes. A matrix has zeros on its diagonal, and no negative entry.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of float64, shape (n_classes, n_classes)

    Raises
    ------
    ValueError
        If it is neither.

    Examples
    --------
    >>> from ordinal_objectives.decision import kappa_weights
    >>> kappa_weights("quadratic", 3)
    array([[0., 1., 4.],
           [1., 0., 1.],
           [4., 1., 0.]])
    """
    if isinstance(weights, str):
        validation.check_choice(weights, ("quadratic", "linear"), name="kappa_weights", hint=" (or give a matrix)")
        distance = np.abs(np.subtract.outer(np.arange(n_classes), np.arange(n_classes))).astype(np.float64)
        return distance if weights == "linear" else distance**2
    W = validation.as_floats(weights, name="kappa_weights").copy()  # the rule keeps it
    are_weights = W.shape == (n_classes, n_classes) and np.isfinite(W).all() and (W >= 0.0).all() and W.any()
    if not are_weights or np.diag(W).any():
        raise ValueError(
            f"kappa_weights must be 'quadratic', 'linear' or a ({n_classes}, {n_classes}) matrix of finite numbers of "
            f"at least 0 with zeros on its diagonal alone; got {weights!r}"
        )
    return W


@dataclass(frozen=True)
class KappaRule:
    r"""The decision with the largest weighted kappa, given probabilities.

    With p_i the probabilities of row i and :math:`\pi` their mean, predictions c have the expected kappa

    .. math::

        \kappa = 1 - \frac{\sum_i \sum_y p_i(y) W_{y c_i}}{\sum_i \sum_y \pi(y) W_{y c_i}} .

    It is largest at :math:`c(x) = \arg\min_c \sum_y (p(y|x) - (1 - \kappa) \pi(y)) W_{yc}` for that kappa: see
    theory.md.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_classes, n_classes)
        W.
    shares : ndarray of float64, shape (n_classes,)
        The mean probabilities pi.
    kappa : float
        Kappa of the rows that the rule was fitted to if their probabilities were true. It is too
        high for overfitted probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.decision import KappaRule
    >>> proba = np.array([[0.8, 0.1, 0.1], [0.4, 0.2, 0.4], [0.1, 0.1, 0.8]])
    >>> rule = KappaRule.fit(proba, "quadratic")
    >>> rule.decide(proba)
    array([0, 1, 2])
    >>> round(rule.kappa, 2)
    0.61
    """

    weights: FloatArray
    shares: FloatArray
    kappa: float

    @classmethod
    def fit(
        cls,
        proba: ArrayLike,
        weights: ArrayLike | str = "quadratic",
        sample_weight: ArrayLike | None = None,
        *,
        start: float = 0.0,
    ) -> KappaRule:
        """Find the rule for some rows.

        Parameters
        ----------
        proba : array-like of float, shape (n_samples, n_classes)
            Lowest class first.
        weights : {"quadratic", "linear"} or array-like of float, shape (n_classes, n_classes), default="quadratic"
            What it costs that a class (row) is taken for another (column); see :func:`kappa_weights`.
        sample_weight : array-like of float, shape (n_samples,), or None, default=None
            Weights of the rows.
        start : float, default=0.0
            The kappa that the search starts from; what it finds does not depend on it.

        Returns
        -------
        KappaRule
        """
        P = validation.check_proba(proba).astype(np.float64)
        validation.refuse_other_order_of_classes(validation.names_along(proba, "columns", []), weights, "weights")
        W = kappa_weights(weights, P.shape[1])
        of_rows = validation.check_sample_weight(sample_weight, len(P))
        shares = np.average(P, axis=0, weights=of_rows)
        costs, by_chance = P @ W, shares @ W
        tried, ratio = 1.0 - start, np.inf  # 1 - kappa
        for _ in range(_MOST_STEPS):  # each lowers it, until the predictions stay the same
            codes = np.argmin(costs - tried * by_chance, axis=1)
            observed = np.average(costs[np.arange(len(P)), codes], weights=of_rows)
            expected = np.average(by_chance[codes], weights=of_rows)
            if expected <= 0.0:  # one class has all probability
                return cls(W, shares, 0.0)
            now = float(observed / expected)
            if now >= ratio:
                break
            tried = ratio = now
        return cls(W, shares, 1.0 - ratio if 1.0 - ratio > _ROUNDING else 0.0)

    def decide(self, proba: ArrayLike) -> IndexArray:
        """Return class codes, (n_samples,); by the median where no decision has a kappa above 0."""
        P = validation.check_proba(proba)
        if self.kappa <= 0.0:
            return decide(P)
        return np.argmin(P @ self.weights - (1.0 - self.kappa) * (self.shares @ self.weights), axis=1)
