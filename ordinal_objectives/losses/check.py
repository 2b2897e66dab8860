"""Check of a loss: every quantity is compared with finite differences and with the others."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ordinal_objectives.links import FloatArray, check_link
from ordinal_objectives.losses.base import OrdinalLoss
from ordinal_objectives.losses.quantities import ClassWeights, Curvatures, RowDerivatives
from ordinal_objectives.utils.finite_differences import Differences, compare, require
from ordinal_objectives.utils.validation import check_n_classes

_SAYS = "finite differences say"
_N_ROWS = 60


def check_loss(loss: OrdinalLoss, n_classes: int = 5) -> None:
    """Raise ValueError if the formulas of a loss disagree, naming the first quantity that is wrong, with the numbers.

    Parameters
    ----------
    loss : OrdinalLoss
        Its link is checked first, if it is not one of this package.
    n_classes : int, default=5
        Number of classes of the rows that it is checked on, 2 to 60.

    Raises
    ------
    ValueError
        If a derivative is not that of finite differences, a majoriser does not bound the loss, probabilities do not
        sum to 1 or do not fall with the score, or the loss is no function of theta_k - f.

    Notes
    -----
    Rows of each class with scores of usual size are checked. Digits far away are not.

    Examples
    --------
    >>> from ordinal_objectives import CumulativeLink
    >>> from ordinal_objectives.losses import check_loss
    >>> check_loss(CumulativeLink("probit"))
    """
    if not isinstance(loss, OrdinalLoss):
        raise TypeError(f"check_loss takes an OrdinalLoss, an object of the class; got {loss!r}")
    loss.check_needs()
    check_n_classes(n_classes, _N_ROWS)
    if not loss.link.is_built_in:
        check_link(loss.link)
    rows = _CheckedRows(loss, n_classes)
    rows.check_first()
    rows.check_second()
    rows.check_steps()
    rows.check_probabilities()
    if loss.takes_shifts:
        _Margins(loss, rows).check()


class _CheckedRows:
    """Rows of every class at scores and thresholds, with the quantities of the loss."""

    def __init__(self, loss: OrdinalLoss, n_classes: int) -> None:
        rng = np.random.default_rng(0)
        self.loss, self.owner = loss, loss.owner
        self.y = np.arange(_N_ROWS, dtype=np.int32) % n_classes
        quarter, three = loss.link.link(np.array([0.25, 0.75]))
        self.unit = (three - quarter) / 2.0
        self.by = Differences(self.unit)
        self.theta = (np.cumsum(rng.uniform(0.4, 1.2, n_classes - 1)) - 0.4 * n_classes) * self.unit
        self.f = 1.5 * rng.normal(size=_N_ROWS) * self.unit
        loss.check_formulas(self.f, self.y, self.theta)
        self.rows = self.at(self.f, self.theta)
        self.same = partial(compare, self.owner, where=self.where)
        self.rule = partial(require, self.owner, where=self.where)

    def where(self, i: int) -> str:
        return f"f={self.f[i]:.4g}, y={self.y[i]}, thresholds={self.theta.round(4).tolist()}"

    def at(self, f: FloatArray, theta: FloatArray) -> RowDerivatives:
        return self.loss.row_derivatives(f, self.y, theta)

    def check_first(self) -> None:
        """Check the loss and its first derivatives."""
        rows, f, theta = self.rows, self.f, self.theta
        moved = self.at(f + 0.75, theta + 0.75).value
        self.same("value", moved, rows.value, "a shift of score and thresholds together must leave")
        self.same("gradient", rows.gradient, self.by.derivative(lambda x: self.at(x, theta).value, f), _SAYS)
        expected = self.by.partial_derivatives(lambda t: self.at(f, t).value, theta)
        self.same("threshold_gradient", rows.threshold_gradient, expected, _SAYS)

    def check_second(self) -> None:
        """Check the second derivatives, and those beyond where the loss has them."""
        rows, f, theta = self.rows, self.f, self.theta
        self.same("cross", rows.cross, self.by.partial_derivatives(lambda t: self.at(f, t).gradient, theta), _SAYS)
        hessian = self.by.derivative(lambda x: self.at(x, theta).gradient, f)
        self.same("the Hessian in the score, minus the sum of cross,", rows.hessian, hessian, _SAYS)
        V = self.by.partial_derivatives(lambda t: self.at(f, t).threshold_gradient, theta)
        self.same("curvature", rows.curvature, np.diagonal(V, axis1=1, axis2=2), _SAYS)
        self.same("curvature_next", rows.curvature_next, np.diagonal(V, offset=1, axis1=1, axis2=2), _SAYS)
        beyond = np.triu(V, 2)
        self.rule("threshold_gradient", np.abs(beyond) < 1e-6, beyond, "depend on the thresholds next to it alone")
        if not self.loss.strictly_ordered:
            none = rows.curvature_next == 0.0
            self.rule("curvature_next", none, rows.curvature_next, "be 0 unless the loss has strictly_ordered = True")
        if self.loss.highest_order == 4:
            higher = self.loss.higher(f, self.y, theta)
            third = self.by.derivative(lambda x: self.at(x, theta).hessian, f)
            fourth = self.by.derivative(lambda x: self.loss.higher(x, self.y, theta)[:, 0], f)
            self.same("higher", higher, np.stack([third, fourth], axis=1), _SAYS)

    def check_steps(self) -> None:
        """Check the curvatures that steps use, and where thresholds start."""
        loss, rows, n = self.loss, self.rows, len(self.theta) + 1
        floored, _ = loss.curvatures_of(rows, self.f, self.y, self.theta, "exact")
        for name, raised, exact in (
            ("hessian", floored.hessian, rows.hessian),
            ("diagonal", floored.diagonal, rows.curvature),
        ):
            least = np.maximum(exact, 0.0)
            self.rule(f"{name} of _floored", raised >= least, raised, "be no less than the exact one, and than 0")
        if loss.supports("majorized"):
            majorized, _ = loss.curvatures_of(rows, self.f, self.y, self.theta, "majorized")
            for d in self.unit * np.array([-2.0, -0.5, 0.5, 2.0]):
                bound = rows.value + rows.gradient * d + 0.5 * majorized.hessian * d**2
                gap = bound - self.at(self.f + d, self.theta).value
                self.rule(f"_majorized, {d:+g} from f,", gap >= -1e-9, gap, "bound the loss from above")
            if not loss.strictly_ordered:
                self._check_bound_of_thresholds(majorized)
        weights = np.arange(1.0, n + 1.0)
        loss.start_at(ClassWeights(weights, np.arange(n), 0.5))

    def _check_bound_of_thresholds(self, majorized: Curvatures) -> None:
        rng = np.random.default_rng(1)
        for _ in range(4):
            d = rng.normal(size=len(self.theta)) * 0.1 * self.unit
            quadratic = majorized.diagonal @ d**2 + 2 * majorized.off_diagonal @ (d[1:] * d[:-1])
            bound = self.rows.value + self.rows.threshold_gradient @ d + 0.5 * quadratic
            gap = bound - self.at(self.f, self.theta + d).value
            self.rule(
                f"_majorized, thresholds moved by {d.round(3).tolist()},",
                gap >= -1e-9,
                gap,
                "bound the loss from above",
            )

    def check_probabilities(self) -> None:
        """Check that probabilities are between 0 and 1 and sum to 1, and that P(y <= k) falls as the score rises."""
        loss, f, theta = self.loss, np.sort(self.f), self.theta

        def where(i: int) -> str:
            return f"f={f[i]:.4g}, thresholds={theta.round(4).tolist()}"

        _check_probabilities(self.owner, "predict_proba", loss.predict_proba(f, theta), len(theta) + 1, where)
        below = loss.cumulative_proba(f, theta)
        expected = np.cumsum(loss.predict_proba(f, theta), axis=1)[:, :-1]
        compare(self.owner, "cumulative_proba", below, expected, "predict_proba sums to", where)
        falls = np.diff(below, axis=0) <= 1e-9
        require(self.owner, "cumulative_proba", falls, np.diff(below, axis=0), "fall as the score rises", where)


def _check_probabilities(owner: str, name: str, proba: Any, n_classes: int, where: Any) -> None:
    proba = np.asarray(proba)
    if proba.shape != (_N_ROWS, n_classes):
        raise ValueError(f"{name} of {owner} must have shape {(_N_ROWS, n_classes)}; got {proba.shape}")
    require(owner, name, proba >= 0.0, proba, "not be negative", where)
    compare(owner, f"the sum of {name}", proba.sum(axis=1), np.ones(len(proba)), "it must be", where)


class _Margins:
    """The same rows at margins that are given one by one."""

    def __init__(self, loss: OrdinalLoss, rows: _CheckedRows) -> None:
        self.loss, self.owner, self.rows, self.by = loss, rows.owner, rows, rows.by
        self.x = np.random.default_rng(2).normal(size=(_N_ROWS, len(rows.theta))) * 1.5 * rows.unit

    def where(self, i: int) -> str:
        return f"margins={self.x[i].round(4).tolist()}, y={self.rows.y[i]}"

    def at(self, x: FloatArray) -> RowDerivatives:
        return self.loss.rows_of_margins(x, self.rows.y)

    def check(self) -> None:
        """Check that the loss of margins is that of scores, and a sum of functions of one margin each."""
        loss, rows = self.loss, self.rows
        together = self.at(rows.theta - rows.f[:, None])
        rows.same("the value of _of_margins", together.value, rows.rows.value, "_row_derivatives says")
        same = partial(compare, self.owner, where=self.where)
        here = self.at(self.x)
        slope = self.by.partial_derivatives(lambda x: self.at(x).value, self.x)
        same("threshold_gradient of _of_margins", here.threshold_gradient, slope, _SAYS)
        V = self.by.partial_derivatives(lambda x: self.at(x).threshold_gradient, self.x)
        same("curvature of _of_margins", here.curvature, np.diagonal(V, axis1=1, axis2=2), _SAYS)
        mixed = V * (1.0 - np.eye(V.shape[1]))
        none = np.abs(mixed) < 1e-6
        require(self.owner, "_of_margins", none, mixed, "be a sum of functions of one margin each", self.where)
        if loss.supports("majorized"):
            curvature = loss.margins_of(self.x, rows.y, "majorized").hessian
            for d in self.rows.unit * np.array([-2.0, 2.0]):
                bound = here.value + (here.threshold_gradient * d + 0.5 * curvature * d**2).sum(axis=1)
                gap = bound - self.at(self.x + d).value
                says = "bound the loss from above"
                require(self.owner, "_majorized_of_margins", gap >= -1e-9, gap, says, self.where)
        proba = loss.margin_proba(self.x)
        _check_probabilities(self.owner, "margin_proba", proba, self.x.shape[1] + 1, self.where)
