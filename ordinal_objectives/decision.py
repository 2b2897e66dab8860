"""Decision rules: from class probabilities to a class, by the cost of errors or for the largest kappa."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ordinal_objectives.aliases import JSON, ArrayLike, FloatArray, IndexArray
from ordinal_objectives.utils import documented, files, validation

_MOST_STEPS = 100
_PARTS = 5
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


def check_rule(
    rule: str, cost_matrix: ArrayLike | None, n_classes: int, *, rules: tuple[str, ...] = RULES, name: str = "rule"
) -> FloatArray | None:
    """Check what is to decide: a rule, or the costs of errors.

    Parameters
    ----------
    rule : str
        One of ``rules``; the median where there are costs.
    cost_matrix : array-like of float, shape (n_classes, n_classes), or None
        Cost of predicting column k where row j is true.
    n_classes : int
        Number of classes.
    rules : tuple of str, default=("median", "mode", "mean")
        The rules that are allowed.
    name : str, default="rule"
        What messages call the rule.

    Returns
    -------
    ndarray of float64, shape (n_classes, n_classes), or None
        The costs; None where the rule decides.

    Raises
    ------
    ValueError
        If the rule is none of ``rules``, both are given, or the costs have the wrong shape or are not finite.
    """
    validation.check_choice(rule, rules, name=name)
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
    if W.shape != (n_classes, n_classes) or not np.isfinite(W).all() or (W < 0.0).any() or np.diag(W).any():
        raise ValueError(
            f"kappa_weights must be 'quadratic', 'linear' or a ({n_classes}, {n_classes}) matrix of finite numbers of "
            f"at least 0 with zeros on its diagonal; got {weights!r}"
        )
    if not W.any():
        raise ValueError("kappa_weights must hold a number above 0")
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
        high for overfitted probabilities: see `measured`.
    measured : float or None
        Kappa of decisions and labels, of rows that neither the model nor the rule was fitted to. NaN where labels and
        decisions are all of one class, None where it was not measured.

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
    measured: float | None = None

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

    def measure(self, proba: ArrayLike, codes: ArrayLike, sample_weight: ArrayLike | None = None) -> KappaRule:
        """Return the rule with the kappa of its kind of decision: of each fifth of the rows by a rule of the others.

        Parameters
        ----------
        proba : array-like of float, shape (n_samples, n_classes)
            Of rows that the model was not trained on, lowest class first.
        codes : array-like of int, shape (n_samples,)
            Their classes.
        sample_weight : array-like of float, shape (n_samples,), or None, default=None
            Weights of the rows.

        Returns
        -------
        KappaRule
        """
        P, true = validation.check_proba(proba), validation.check_codes(codes, len(self.shares), name="codes")
        weight = validation.relative_weights(sample_weight, len(P))
        rows = np.flatnonzero(weight)
        confusion = np.zeros(self.weights.shape)
        for first in range(min(_PARTS, len(rows))):
            part, others = rows[first::_PARTS], np.delete(rows, np.s_[first::_PARTS])
            rule = KappaRule.fit(P[others], self.weights, weight[others]) if len(others) else self
            np.add.at(confusion, (true[part], rule.decide(P[part])), weight[part])
        confusion /= confusion.sum()
        by_chance = float((np.outer(confusion.sum(axis=1), confusion.sum(axis=0)) * self.weights).sum())
        kappa = 1.0 - float((confusion * self.weights).sum()) / by_chance if by_chance > 0.0 else np.nan
        return replace(self, measured=kappa)

    def to_json(self) -> JSON:
        """Return the rule in JSON's types; what is not a number is left out."""
        numbers: JSON = {"weights": self.weights.tolist(), "shares": self.shares.tolist()}
        measured = {} if self.measured is None else {"measured": [x for x in [self.measured] if np.isfinite(x)]}
        return numbers | {"kappa": self.kappa} | measured

    @classmethod
    def from_json(cls, content: JSON, n_classes: int) -> KappaRule:
        """Read what :meth:`to_json` wrote.

        Raises
        ------
        ValueError
            If it is damaged.
        """
        rows = [files.numbers_from_json(row, "kappa_weights") for row in content["weights"]]
        weights = kappa_weights(rows, n_classes)
        shares = files.numbers_from_json(content["shares"], "the shares of classes")
        (kappa,) = files.numbers_from_json([content["kappa"]], "kappa")
        are_shares = shares.shape == (n_classes,) and (shares >= 0.0).all() and abs(shares.sum() - 1.0) <= 1e-6
        if not are_shares or not 0 <= kappa <= 1:
            raise ValueError(f"a rule of kappa must hold the shares of {n_classes} classes and a kappa between 0 and 1")
        if "measured" not in content:
            return cls(weights, shares, float(kappa))
        measured = files.numbers_from_json(content["measured"], "the measured kappa")
        if len(measured) > 1 or (measured > 1.0).any():
            raise ValueError(f"a measured kappa must be at most 1; got {content['measured']!r}")
        return cls(weights, shares, float(kappa), float(measured[0]) if len(measured) else np.nan)
