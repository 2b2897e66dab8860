"""Check of a loss: every quantity is compared with finite differences and with the others."""

from __future__ import annotations

import numpy as np

from ordinal_objectives.aliases import FloatArray
from ordinal_objectives.links import check_link
from ordinal_objectives.links.check import FormulaCheck
from ordinal_objectives.losses import base, quantities
from ordinal_objectives.utils.validation import check_n_classes

_N_ROWS = 60
_BOUNDS = "bound the loss from above"


def check_loss(loss: base.OrdinalLoss, n_classes: int = 5) -> None:
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
    if not isinstance(loss, base.OrdinalLoss):
        raise TypeError(f"check_loss takes an OrdinalLoss, an object of the class; got {loss!r}")
    loss.check_needs()
    check_n_classes(n_classes, _N_ROWS)
    if not loss.link.is_built_in:
        check_link(loss.link)
    check = _LossCheck(loss, n_classes)
    check.check_first()
    check.check_second()
    check.check_steps()
    check.check_probabilities()
    if loss.takes_shifts:
        check.check_margins()


class _LossCheck(FormulaCheck):
    """Rows of every class at scores and thresholds, with the quantities of the loss."""

    def __init__(self, loss: base.OrdinalLoss, n_classes: int) -> None:
        rng = np.random.default_rng(0)
        self.loss, self.y = loss, np.arange(_N_ROWS, dtype=np.int32) % n_classes
        quarter, three = loss.link.link(np.array([0.25, 0.75]))
        self.unit = (three - quarter) / 2.0
        super().__init__(loss.owner, self.unit, self._row)
        self.theta = (np.cumsum(rng.uniform(0.4, 1.2, n_classes - 1)) - 0.4 * n_classes) * self.unit
        self.f = 1.5 * rng.normal(size=_N_ROWS) * self.unit
        loss.check_formulas(self.f, self.y, self.theta)
        self.rows = self._at(self.f, self.theta)

    def _row(self, i: int) -> str:
        return f"f={self.f[i]:.4g}, y={self.y[i]}, thresholds={self.theta.round(4).tolist()}"

    def _at(self, f: FloatArray, theta: FloatArray) -> quantities.RowDerivatives:
        return self.loss.row_derivatives(f, self.y, theta)

    def check_first(self) -> None:
        """Check the loss and its first derivatives."""
        rows, f, theta, at = self.rows, self.f, self.theta, self._at
        moved = at(f + 0.75, theta + 0.75).value
        self.same("value", moved, rows.value, "a shift of score and thresholds together must leave")
        self.same("gradient", rows.gradient, self.derivative(lambda x: at(x, theta).value, f))
        slope = self.partial_derivatives(lambda t: at(f, t).value, theta)
        self.same("threshold_gradient", rows.threshold_gradient, slope)

    def check_second(self) -> None:
        """Check the second derivatives, and those beyond where the loss has them."""
        rows, f, theta, at = self.rows, self.f, self.theta, self._at
        self.same("cross", rows.cross, self.partial_derivatives(lambda t: at(f, t).gradient, theta))
        hessian = self.derivative(lambda x: at(x, theta).gradient, f)
        self.same("the Hessian in the score, minus the sum of cross,", rows.hessian, hessian)
        V = self.partial_derivatives(lambda t: at(f, t).threshold_gradient, theta)
        self.same("curvature", rows.curvature, np.diagonal(V, axis1=1, axis2=2))
        self.same("curvature_next", rows.curvature_next, np.diagonal(V, offset=1, axis1=1, axis2=2))
        beyond = np.triu(V, 2)
        self.rule("threshold_gradient", np.abs(beyond) < 1e-6, beyond, "depend on the thresholds next to it only")
        if not self.loss.strictly_ordered:
            none = rows.curvature_next == 0.0
            self.rule("curvature_next", none, rows.curvature_next, "be 0 unless the loss has strictly_ordered = True")
        if self.loss.highest_order == 4:
            third = self.derivative(lambda x: at(x, theta).hessian, f)
            fourth = self.derivative(lambda x: self.loss.higher(x, self.y, theta)[:, 0], f)
            self.same("higher", self.loss.higher(f, self.y, theta), np.stack([third, fourth], axis=1))

    def check_steps(self) -> None:
        """Check the curvatures that steps use, and where thresholds start."""
        loss, rows, n = self.loss, self.rows, len(self.theta) + 1
        floored, _ = loss.curvatures_of(rows, self.f, self.y, self.theta, "exact")
        for name, exact in (("hessian", rows.hessian), ("diagonal", rows.curvature)):
            raised = getattr(floored, name)
            holds = raised >= np.maximum(exact, 0.0)
            self.rule(f"{name} of _floored", holds, raised, "be no less than the exact one, and than 0")
        if loss.supports("majorized"):
            majorized, _ = loss.curvatures_of(rows, self.f, self.y, self.theta, "majorized")
            for d in self.unit * np.array([-2.0, -0.5, 0.5, 2.0]):
                bound = rows.value + rows.gradient * d + 0.5 * majorized.hessian * d**2
                gap = bound - self._at(self.f + d, self.theta).value
                self.rule(f"_majorized, {d:+g} from f,", gap >= -1e-9, gap, _BOUNDS)
            if not loss.strictly_ordered:
                self._check_bound_of_thresholds(majorized)
        loss.start_at(quantities.ClassWeights(np.arange(1.0, n + 1.0), np.arange(n), 0.5))

    def _check_bound_of_thresholds(self, majorized: quantities.Curvatures) -> None:
        rng = np.random.default_rng(1)
        for _ in range(4):
            d = rng.normal(size=len(self.theta)) * 0.1 * self.unit
            quadratic = majorized.diagonal @ d**2 + 2 * majorized.off_diagonal @ (d[1:] * d[:-1])
            bound = self.rows.value + self.rows.threshold_gradient @ d + 0.5 * quadratic
            gap = bound - self._at(self.f, self.theta + d).value
            self.rule(f"_majorized, thresholds moved by {d.round(3).tolist()},", gap >= -1e-9, gap, _BOUNDS)

    def check_probabilities(self) -> None:
        """Check that probabilities are between 0 and 1 and sum to 1, and that P(y <= k) falls as the score rises."""
        loss, f, theta = self.loss, np.sort(self.f), self.theta
        self.where = lambda i: f"f={f[i]:.4g}, thresholds={theta.round(4).tolist()}"
        proba, below = loss.predict_proba(f, theta), loss.cumulative_proba(f, theta)
        self._check_proba("predict_proba", proba)
        self.same("cumulative_proba", below, np.cumsum(proba, axis=1)[:, :-1], "predict_proba sums to")
        falls = np.diff(below, axis=0)
        self.rule("cumulative_proba", falls <= 1e-9, falls, "fall as the score rises")

    def _check_proba(self, name: str, proba: object) -> None:
        proba, expected = np.asarray(proba), (_N_ROWS, len(self.theta) + 1)
        if proba.shape != expected:
            raise ValueError(f"{name} of {self.loss.owner} must have shape {expected}; got {proba.shape}")
        self.rule(name, proba >= 0.0, proba, "not be negative")
        self.same(f"the sum of {name}", proba.sum(axis=1), np.ones(len(proba)), "it must be")

    def check_margins(self) -> None:
        """Check that the loss of margins is that of scores, and a sum of functions of one margin each."""
        loss, y = self.loss, self.y
        self.where = self._row
        together = loss.rows_of_margins(self.theta - self.f[:, None], y)
        self.same("the value of _of_margins", together.value, self.rows.value, "_row_derivatives says")
        margins = np.random.default_rng(2).normal(size=(_N_ROWS, len(self.theta))) * 1.5 * self.unit
        self.where = lambda i: f"margins={margins[i].round(4).tolist()}, y={y[i]}"
        here = loss.rows_of_margins(margins, y)
        slope = self.partial_derivatives(lambda x: loss.rows_of_margins(x, y).value, margins)
        self.same("threshold_gradient of _of_margins", here.threshold_gradient, slope)
        V = self.partial_derivatives(lambda x: loss.rows_of_margins(x, y).threshold_gradient, margins)
        self.same("curvature of _of_margins", here.curvature, np.diagonal(V, axis1=1, axis2=2))
        mixed = V * (1.0 - np.eye(V.shape[1]))
        self.rule("_of_margins", np.abs(mixed) < 1e-6, mixed, "be a sum of functions of one margin each")
        if loss.supports("majorized"):
            curvature = loss.margins_of(margins, y, "majorized").hessian
            for d in self.unit * np.array([-2.0, 2.0]):
                bound = here.value + (here.threshold_gradient * d + 0.5 * curvature * d**2).sum(axis=1)
                gap = bound - loss.rows_of_margins(margins + d, y).value
                self.rule("_majorized_of_margins", gap >= -1e-9, gap, _BOUNDS)
        self._check_proba("margin_proba", loss.margin_proba(margins))
