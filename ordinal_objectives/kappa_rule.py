"""The decision that makes weighted kappa largest, in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.decision import decide
from ordinal_objectives.utils.files import numbers_from_json
from ordinal_objectives.utils.validation import as_floats, check_choice, check_flag, check_proba, check_sample_weight

Array = NDArray[np.float64]
_MOST_STEPS = 100


def kappa_weights(weights: ArrayLike | str, n_classes: int) -> Array:
    """Return what it costs that a class is taken for another, (n_classes, n_classes).

    Parameters
    ----------
    weights : {"quadratic", "linear"} or array-like of float, shape (n_classes, n_classes)
        Rows are true classes. A matrix has zeros on its diagonal, and no negative entry.
    n_classes : int

    Raises
    ------
    ValueError
        If it is neither.
    """
    if isinstance(weights, str):
        check_choice(weights, ("quadratic", "linear"), name="kappa_weights", hint=" (or give a matrix)")
        distance = np.abs(np.subtract.outer(np.arange(n_classes), np.arange(n_classes))).astype(np.float64)
        return distance if weights == "linear" else distance**2
    W = as_floats(weights, name="kappa_weights")
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
        Expected on the rows that the rule was fitted to.
    unseen : bool
        Whether the model was not trained on these rows.
    """

    weights: Array
    shares: Array
    kappa: float
    unseen: bool = True

    @classmethod
    def fit(
        cls,
        proba: ArrayLike,
        weights: ArrayLike | str = "quadratic",
        sample_weight: ArrayLike | None = None,
        *,
        unseen: bool = True,
        start: float = 0.0,
    ) -> KappaRule:
        """Find the rule for some rows.

        Parameters
        ----------
        proba : array-like of float, shape (n_samples, n_classes)
            Lowest class first.
        weights
            See :func:`kappa_weights`.
        sample_weight : array-like of float, shape (n_samples,), or None
        unseen : bool
        start : float
            The kappa that the search starts from; what it finds does not depend on it.

        Returns
        -------
        KappaRule
        """
        P = check_proba(proba).astype(np.float64)
        W = kappa_weights(weights, P.shape[1])
        of_rows = check_sample_weight(sample_weight, len(P))
        shares = np.average(P, axis=0, weights=of_rows)
        costs, by_chance = P @ W, shares @ W
        tried, ratio = 1.0 - start, np.inf  # 1 - kappa
        for _ in range(_MOST_STEPS):  # each lowers it, until the predictions stay the same
            codes = np.argmin(costs - tried * by_chance, axis=1)
            observed = np.average(costs[np.arange(len(P)), codes], weights=of_rows)
            expected = np.average(by_chance[codes], weights=of_rows)
            if expected <= 0.0:  # one class has all probability
                return cls(W, shares, 0.0, unseen)
            now = float(observed / expected)
            if now >= ratio:
                break
            tried = ratio = now
        return cls(W, shares, max(1.0 - ratio, 0.0), unseen)

    def decide(self, proba: ArrayLike) -> NDArray[np.intp]:
        """Return class codes, (n_samples,); by the median where no decision has a kappa above 0."""
        P = check_proba(proba)
        if self.kappa <= 0.0:
            return decide(P)
        codes: NDArray[np.intp] = np.argmin(
            P @ self.weights - (1.0 - self.kappa) * (self.shares @ self.weights), axis=1
        )
        return codes

    def to_json(self) -> dict[str, Any]:
        """Return the rule in JSON's types."""
        numbers = {"weights": self.weights.tolist(), "shares": self.shares.tolist(), "kappa": self.kappa}
        return numbers | {"unseen": self.unseen}

    @classmethod
    def from_json(cls, content: Mapping[str, Any], n_classes: int) -> KappaRule:
        """Read what :meth:`to_json` wrote.

        Raises
        ------
        ValueError
            If it is damaged.
        """
        weights = kappa_weights([numbers_from_json(row, "kappa_weights") for row in content["weights"]], n_classes)
        shares = numbers_from_json(content["shares"], "the shares of classes")
        (kappa,) = numbers_from_json([content["kappa"]], "kappa")
        if (
            shares.shape != (n_classes,)
            or (shares < 0.0).any()
            or abs(shares.sum() - 1.0) > 1e-6
            or not 0 <= kappa <= 1
        ):
            raise ValueError(f"a rule of kappa must hold the shares of {n_classes} classes and a kappa between 0 and 1")
        return cls(weights, shares, float(kappa), check_flag("unseen", content["unseen"]))
