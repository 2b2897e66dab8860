"""Losses as functions of margins that are given one by one: thresholds that move with x."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ordinal_objectives.links import FloatArray
from ordinal_objectives.losses.formulas import CodeArray, Formulas
from ordinal_objectives.losses.quantities import Curvatures, MarginDerivatives, RowDerivatives
from ordinal_objectives.utils.read_only import call_read_only
from ordinal_objectives.utils.validation import as_floats, check_codes

# How far beyond the thresholds a loss must still be finite, in widths between the quartiles of the link.
_NOT_FAR = 5.0
# How far rounding may move a probability out of [0, 1], or a sum away from 1.
_ROUNDING = 1e-6


class MarginFunctions(Formulas):
    """Methods of a loss for margins theta_k - f(x_i) - v_k(x_i), in which the shifts v move single thresholds."""

    def margin_derivatives(self, margins: ArrayLike, y: ArrayLike, hessian: str = "majorized") -> MarginDerivatives:
        """Loss of margins that are given one by one, and its derivatives: thresholds may move with x.

        Parameters
        ----------
        margins : array-like of float, shape (n_samples, n_classes - 1)
            theta_k - f(x_i) - v_k(x_i), in any order.
        y : array-like of int, shape (n_samples,)
            Class codes.
        hessian : {"majorized", "exact"}, default="majorized"
            Second derivative of the loss, or a bound above it.

        Returns
        -------
        MarginDerivatives

        Raises
        ------
        ValueError
            If the loss does not exist for such thresholds, or has no such Hessian.

        Examples
        --------
        >>> from ordinal_objectives import AllThreshold
        >>> AllThreshold().margin_derivatives([[-1.0, 1.0]], [1], "exact").gradient.round(4)
        array([[-0.2689,  0.2689]])
        """
        self.check_shifts()
        self.check_hessian(hessian)
        x = _check_margins(margins)
        codes = check_codes(y, x.shape[1] + 1)
        if len(codes) != len(x):
            raise ValueError(f"margins must have one row a label, {len(codes)}; got {len(x)}")
        return self.margins_of(x, codes, hessian)

    def margins_of(self, x: FloatArray, y: CodeArray, hessian: str) -> MarginDerivatives:
        """Loss of checked margins, of which there may be none; see :meth:`margin_derivatives`."""
        rows = self.rows_of_margins(x, y)
        curvatures, n_floored = self._curvatures_of(rows, y, hessian, self._majorized_of_margins, x, y)
        return MarginDerivatives(rows.value, -rows.threshold_gradient, curvatures.diagonal, n_floored)

    def rows_of_margins(self, x: FloatArray, y: CodeArray) -> RowDerivatives:
        """Row derivatives of checked margins, checked themselves."""
        rows = self._looked_at(x.shape, self._of_margins, x, y)
        if np.isinf(rows.value).any():
            self._check_near(rows.value, x, y)
        return rows

    def _looked_at(
        self, shape: tuple[int, ...], formula: Callable[..., RowDerivatives], *arguments: Any
    ) -> RowDerivatives:
        """Return the result of a formula for the rows, checked for their number and that of the thresholds."""
        rows = call_read_only(self.owner, formula, *arguments)
        if not isinstance(rows, RowDerivatives):
            raise TypeError(f"{formula.__name__} of {self.owner} must return RowDerivatives; got {type(rows).__name__}")
        rows.check(self.owner, *shape)
        return rows

    def _check_near(self, value: FloatArray, x: FloatArray, y: CodeArray) -> None:
        """Raise ValueError if the loss is infinite at margins that are not far away.

        A correct loss may be infinite where float64 overflows, as with the cloglog at a distance of 700. It is finite
        where the score lies among the thresholds, or not far beyond them.
        """
        quarter, three = self.link.link(np.array([0.25, 0.75]))
        reach = _NOT_FAR * (three - quarter)
        wrong = np.isinf(value) & (x.min(axis=1) <= reach) & (x.max(axis=1) >= -reach)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"value of {self.owner} must be finite near the thresholds; got {value[row]} for a row of class "
                f"{y[row]}, with theta_k - f at {x[row].tolist()}"
            )

    def _curvatures_of(
        self, rows: RowDerivatives, y: CodeArray, hessian: str, majorized: Callable[..., Curvatures], *arguments: Any
    ) -> tuple[Curvatures, int]:
        """Curvatures of a step, majorised or exact and floored, checked, and how many were raised to the floor."""
        curvatures: Any
        if hessian == "majorized":
            formula: Any = majorized
            curvatures, n_floored = call_read_only(self.owner, majorized, *arguments), 0
        else:
            formula = self._floored
            found: Any = call_read_only(self.owner, self._floored, rows, y)
            if not isinstance(found, tuple) or len(found) != 2 or not isinstance(found[1], (int, np.integer)):
                raise TypeError(
                    f"_floored of {self.owner} must return Curvatures and how many were raised; got {found!r}"
                )
            curvatures, n_floored = found
        if not isinstance(curvatures, Curvatures):
            got = type(curvatures).__name__
            raise TypeError(f"{formula.__name__} of {self.owner} must return Curvatures; got {got}")
        curvatures.check(f"{formula.__name__} of {self.owner}", *rows.curvature.shape)
        return curvatures, n_floored

    def margin_proba(self, margins: ArrayLike) -> FloatArray:
        """P(y = k) at margins given one by one, shape (n_samples, n_classes).

        Margins of the all-threshold loss are sorted in each row first, which never raises its loss whatever the
        label: so no probability is negative where thresholds that move with x cross.

        Parameters
        ----------
        margins : array-like of float, shape (n_samples, n_classes - 1)
            theta_k - f(x_i) - v_k(x_i).

        Examples
        --------
        >>> from ordinal_objectives import AllThreshold
        >>> AllThreshold().margin_proba([[1.0, -1.0]]).round(4)
        array([[0.2689, 0.4621, 0.2689]])
        """
        return self._said(self._proba, self._in_order(margins))

    def margin_cumulative_proba(self, margins: ArrayLike) -> FloatArray:
        """P(y <= k) at margins given one by one, shape (n_samples, n_classes - 1); see :meth:`margin_proba`."""
        return self._said(self._cumulative_proba, self._in_order(margins))

    def _said(self, formula: Callable[[FloatArray], FloatArray], x: FloatArray) -> FloatArray:
        """Return probabilities at margins, checked; of classes there is one more in a row than margins."""
        proba = call_read_only(self.owner, formula, x)
        if self.codes is None:
            proba, name = np.asarray(proba), f"{formula.__name__} of {self.owner}"
            of_classes = formula == self._proba
            expected = (len(x), x.shape[1] + of_classes)
            if proba.shape != expected or proba.dtype != np.float64:
                raise ValueError(f"{name} must be float64 {expected}; got {proba.dtype} {proba.shape}")
            inside = (proba >= -_ROUNDING) & (proba <= 1.0 + _ROUNDING)
            if not inside.all():
                raise ValueError(f"{name} must be probabilities; got {proba[~inside][0]}")
            wrong = np.abs(proba.sum(axis=1) - 1.0) > _ROUNDING
            if of_classes and wrong.any():
                raise ValueError(f"{name} must have rows that sum to 1; got a sum of {proba[wrong][0].sum()}")
        return proba

    def _in_order(self, margins: ArrayLike) -> FloatArray:
        self.check_shifts()
        x = _check_margins(margins)
        return np.sort(x, axis=1) if self.ordered else x


def _check_margins(margins: ArrayLike) -> FloatArray:
    x = as_floats(margins, name="margins")
    if x.ndim != 2 or x.shape[1] == 0:
        raise ValueError(f"margins must have shape (n_samples, n_classes - 1); got {x.shape}")
    if not np.isfinite(x).all():
        raise ValueError("margins hold NaN or infinite values; they must be finite")
    return x
