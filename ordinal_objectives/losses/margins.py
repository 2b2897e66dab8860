"""Losses as functions of margins that are given one by one: thresholds that move with x."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ordinal_objectives.links import FloatArray
from ordinal_objectives.losses.formulas import CodeArray, Formulas
from ordinal_objectives.losses.quantities import MarginDerivatives, RowDerivatives
from ordinal_objectives.validation import check_codes


class MarginFunctions(Formulas):
    """What a loss offers of the margins theta_k - f(x_i) - v_k(x_i), in which the shifts v move single thresholds."""

    def margin_derivatives(self, margins: ArrayLike, y: ArrayLike, hessian: str = "majorized") -> MarginDerivatives:
        """Loss of margins that are given one by one, and its derivatives: thresholds may move with x.

        Parameters
        ----------
        margins : array-like of float, shape (n_samples, n_classes - 1)
            theta_k - f(x_i) - v_k(x_i), in any order.
        y : array-like of int, shape (n_samples,)
            Class codes.
        hessian : {"majorized", "exact"}, default="majorized"

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
        if hessian == "majorized":
            curvatures, n_floored = self._majorized_of_margins(x, y), 0
        else:
            curvatures, n_floored = self._floored(rows, y)
        return MarginDerivatives(rows.value, -rows.threshold_gradient, curvatures.diagonal, n_floored)

    def rows_of_margins(self, x: FloatArray, y: CodeArray) -> RowDerivatives:
        """Row derivatives of checked margins, looked at."""
        rows = self._of_margins(x, y)
        rows.check(self.identity, *x.shape)
        return rows

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
        return self._proba(self._in_order(margins))

    def margin_cumulative_proba(self, margins: ArrayLike) -> FloatArray:
        """P(y <= k) at margins given one by one, shape (n_samples, n_classes - 1); see :meth:`margin_proba`."""
        return self._cumulative_proba(self._in_order(margins))

    def _in_order(self, margins: ArrayLike) -> FloatArray:
        self.check_shifts()
        x = _check_margins(margins)
        return np.sort(x, axis=1) if self.ordered else x


def _check_margins(margins: ArrayLike) -> FloatArray:
    x = np.asarray(margins, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] == 0:
        raise ValueError(f"margins must have shape (n_samples, n_classes - 1); got {x.shape}")
    if not np.isfinite(x).all():
        raise ValueError("margins hold NaN or infinite values; they must be finite")
    return x
