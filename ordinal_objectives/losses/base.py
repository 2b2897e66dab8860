"""Losses: the formulas that a class of them defines, and what is computed from these for rows of scores and margins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar
from weakref import WeakSet

import numpy as np

from ordinal_objectives import _core
from ordinal_objectives.aliases import ArrayLike, FloatArray, IntArray, Params
from ordinal_objectives.links import LINKS, Link, get_link
from ordinal_objectives.losses import quantities
from ordinal_objectives.registry import Named
from ordinal_objectives.utils import documented, validation

HESSIANS = ("exact", "majorized")
LOSSES: Params = {}
# How far rounding may move a probability out of [0, 1], or a sum away from 1.
_ROUNDING = 1e-6


@documented
class OrdinalLoss(Named, ABC):
    """Loss of ordered labels y in 0..n_classes - 1, given a score f and n_classes - 1 thresholds theta.

    Parameters
    ----------
    <<link>>

    Attributes
    ----------
    name : str
    link : Link
    ordered : bool
        Whether the thresholds must not decrease, for the class probabilities to exist.
    strictly_ordered : bool
        Whether a class that has rows must lie between different thresholds, for its loss to be finite.
    takes_shifts : bool
        Whether the loss exists where thresholds move with x.
    takes_intervals : bool
        Whether labels may be intervals of classes.
    highest_order : int
        Of the derivatives in the score: 2, or 4 with :meth:`higher`.
    curvature_floor : float
        Exact curvatures below it are raised to it; by default that of the link.

    Notes
    -----
    A loss of one's own needs `name`, `ordered` and ``_row_derivatives``: see docs/how_to/add_a_loss.md. Without a
    majoriser of its own, steps on the thresholds only use its exact curvatures, and are halved where they raise the
    loss; those of the all-threshold loss are majorised wherever its link allows it, whatever ``hessian`` is.

    Methods take ``raw_prediction`` of shape (n_samples,), class codes ``y`` of that shape and ``thresholds``
    of shape (n_classes - 1,), and compute in float64. They raise ValueError where a length is wrong, a
    label is out of range, a value is not finite or a weight is negative.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.losses import AllThreshold
    >>> f, y, thresholds = np.array([-1.0, 0.2, 2.0]), np.array([0, 1, 2]), np.array([-0.5, 1.0])
    >>> loss = AllThreshold("logit")
    >>> loss.ordered, loss.takes_shifts
    (True, True)
    >>> loss.value(f, y, thresholds).round(3)
    array([0.601, 0.774, 0.392])
    """

    needs: ClassVar[Mapping[str, type]] = {
        "name": str,
        "link": Link,
        "ordered": bool,
        "strictly_ordered": bool,
        "takes_shifts": bool,
    }
    _built_in = LOSSES
    _codes = _core.loss_codes
    ordered: ClassVar[bool]
    strictly_ordered: ClassVar[bool] = False
    takes_shifts: ClassVar[bool] = False
    takes_intervals: ClassVar[bool] = True
    _why_no_shifts: ClassVar[str] = "it has no formulas for margins one by one (takes_shifts)"
    link: Link

    def __init__(self, link: str | Link = "logit") -> None:
        self.link = get_link(link)
        validation.check_number("curvature_floor of a link", self.link.curvature_floor, at_least=0.0)

    def __init_subclass__(cls, **options: object) -> None:
        """Remove what a class that overrides formulas must define again: shifts, majorisers, higher derivatives."""
        super().__init_subclass__(**options)
        own = vars(cls).keys()
        if "_row_derivatives" in own and not own & {"_of_margins", "takes_shifts"}:
            cls.takes_shifts = False
        if own & {"_row_derivatives", "_of_margins"}:
            if not own & {"_majorized", "_majorized_of_margins"}:
                cls._majorizes = OrdinalLoss._majorizes  # type: ignore[method-assign]
            if "higher" not in own:
                cls.highest_order = OrdinalLoss.highest_order  # type: ignore[method-assign]

    def __repr__(self) -> str:
        state = {"link": self.link.identity} | self._parameters()
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in state.items())})"

    @property
    def key(self) -> tuple[str, ...]:
        """Losses with the same key are equal."""
        return self.identity, self.link.identity

    @property
    def owner(self) -> str:
        """Name in messages; with its link, if that is a user's own."""
        return f"loss {self.identity!r}" + ("" if self.link.is_built_in else f" with link {self.link.identity!r}")

    @property
    def codes(self) -> tuple[int, int] | None:
        """Numbers of the loss and its link in the native kernels; None if there is no kernel for one of them."""
        loss, link = self.code, self.link.code
        return None if loss is None or link is None else (loss, link)

    def _parameters(self) -> dict[str, object]:
        return {key: value for key, value in super()._parameters().items() if key != "link"}

    def as_parameters(self) -> dict[str, object]:
        """Return ``loss``, ``link`` and ``training_cost``, from which :func:`.get_loss` makes it again."""
        return {"loss": self.identity, "link": self.link.identity, "training_cost": "absolute"}

    @property
    def highest_order(self) -> int:
        """Of the derivatives in the score."""
        return 2

    @property
    def curvature_floor(self) -> float:
        """Exact curvatures below it are raised to it."""
        return self.link.curvature_floor

    @abstractmethod
    def _row_derivatives(self, f: FloatArray, y: IntArray, thresholds: FloatArray) -> quantities.RowDerivatives:
        """Row derivatives of checked arrays."""

    def _majorizes(self, link: Link) -> bool:
        """Whether this loss has a majoriser with a link."""
        return False

    def _majorized(self, f: FloatArray, y: IntArray, thresholds: FloatArray) -> quantities.Curvatures:
        """Curvatures of the quadratic majoriser, where there is one."""
        raise NotImplementedError(f"loss {self.identity!r} has no majoriser")

    def _floored(self, rows: quantities.RowDerivatives, y: IntArray) -> tuple[quantities.Curvatures, int]:
        """Exact curvatures, raised to `curvature_floor`, except those of thresholds that do not count, which are 0.

        The number of those that were raised is returned too.
        """
        return quantities.raised(rows, self.curvature_floor, rows.curvature != 0.0)

    def _of_margins(self, x: FloatArray, y: IntArray) -> quantities.RowDerivatives:
        """Row derivatives of a loss that takes shifts."""
        raise NotImplementedError(f"loss {self.identity!r} has no derivatives of margins")

    def _majorized_of_margins(self, x: FloatArray, y: IntArray) -> quantities.Curvatures:
        """Curvatures of the quadratic majoriser of a loss that takes shifts."""
        raise NotImplementedError(f"loss {self.identity!r} has no majoriser of margins")

    def _proba(self, x: FloatArray) -> FloatArray:
        """P(y = k) at margins in the order that the loss needs."""
        below, above = self.link.inverse(x), self.link.complement(x)
        # Subtracted in the tail where both terms are small, so that small probabilities keep their digits.
        inner = np.where(x[:, :-1] > 0, above[:, :-1] - above[:, 1:], below[:, 1:] - below[:, :-1])
        return np.hstack([below[:, :1], np.maximum(inner, 0.0), above[:, -1:]])

    def _cumulative_proba(self, x: FloatArray) -> FloatArray:
        return self.link.inverse(x)

    def higher(self, f: FloatArray, y: IntArray, thresholds: FloatArray) -> FloatArray:
        """Third and fourth derivatives in the score, (n_samples, 2), of checked arrays, if `highest_order` is 4."""
        raise NotImplementedError(f"loss {self.identity!r} has highest_order={self.highest_order}")

    def start(self, classes: quantities.ClassWeights) -> quantities.InitialThresholds:
        """Thresholds before the first tree; by default those that fit the class shares as G(theta_k) = P(y <= k)."""
        return quantities.from_shares(self.link, classes, with_gaps=self.strictly_ordered)

    def start_at(self, classes: quantities.ClassWeights) -> quantities.InitialThresholds:
        """Return the thresholds of :meth:`start`, checked where it is a user's."""
        if self.is_built_in:
            return self.start(classes)
        found, n_classes = validation.call_read_only(self.owner, self.start, classes), len(classes.weights)
        name = f"start of {self.owner}: thresholds"
        return found._replace(
            thresholds=validation.check_thresholds(found.thresholds, n_classes, ordered=self.ordered, name=name)
        )

    def threshold_costs(self, n_classes: int) -> FloatArray | None:
        """Return what each threshold weighs for a row of each class, (n_classes, n_classes - 1); None for 1."""
        return None

    def check_decision(self, rule: str, cost_matrix: ArrayLike | None) -> None:
        """Raise ValueError unless a rule, or a matrix of costs, may decide by this loss's class probabilities."""

    def check_gaps(self, thresholds: FloatArray, class_weights: FloatArray) -> None:
        """Raise if a strictly ordered loss has rows of a class whose two thresholds are equal.

        Parameters
        ----------
        thresholds : ndarray of shape (n_classes - 1,)
            Lowest first.
        class_weights : ndarray of shape (n_classes,)
            Weight, or number, of the rows of each class.

        Raises
        ------
        ValueError
            Naming the class.
        """
        if not self.strictly_ordered:
            return
        crowded = 1 + np.flatnonzero((np.diff(thresholds) <= 0) & (class_weights[1:-1] > 0))
        if crowded.size:
            raise ValueError(
                f"thresholds must increase strictly around every class that has rows for loss {self.name!r}; "
                f"got {thresholds.tolist()} with rows of class {crowded[0]}"
            )

    def supports(self, hessian: object) -> bool:
        """Whether `hessian` ("exact" or "majorized") exists for this loss and link."""
        return isinstance(hessian, str) and (
            hessian == "exact" or (hessian == "majorized" and self._majorizes(self.link))
        )

    def check_hessian(self, hessian: str) -> None:
        """Raise ValueError unless `hessian` exists for this loss and link; the message names what is allowed."""
        if not self.supports(hessian):
            validation.check_choice(hessian, HESSIANS, name="hessian")
            links = ", ".join(repr(name) for name, link in LINKS.items() if self._majorizes(link))
            raise ValueError(
                f"hessian={hessian!r} does not exist for loss {self.identity!r} with link {self.link.identity!r}; "
                f"allowed: hessian='exact'{', or one of the links ' if links else ''}{links}"
            )

    def check_native(self) -> tuple[int, int]:
        """Return `codes`, or raise ValueError where there are none."""
        codes = self.codes
        if codes is None:
            raise ValueError(
                f"loss {self!r} has formulas of its own, which the native engine does not know; train it with XGBoost "
                f"or LightGBM: ordinal_objectives.adapters.xgb, ordinal_objectives.adapters.lgbm"
            )
        return codes

    def check_shifts(self) -> None:
        """Raise ValueError unless the loss exists for thresholds that move with x."""
        if not self.takes_shifts:
            allowed = ", ".join(repr(name) for name, loss in self._built_in.items() if loss.takes_shifts)
            raise ValueError(
                f"loss {self.identity!r} does not exist for thresholds that move with x (proportional=False): "
                f"{self._why_no_shifts}; allowed: {allowed}"
            )

    def row_derivatives(
        self, raw_prediction: ArrayLike, y: ArrayLike, thresholds: ArrayLike
    ) -> quantities.RowDerivatives:
        """Loss of each row and its exact derivatives, unweighted.

        Examples
        --------
        >>> from ordinal_objectives import AllThreshold
        >>> AllThreshold().row_derivatives([0.0, 0.5], [0, 2], [-1.0, 1.0]).gradient.round(4)
        array([ 1.    , -0.8049])
        """
        return self._row_derivatives(*_check_rows(raw_prediction, y, thresholds))

    def value(self, raw_prediction: ArrayLike, y: ArrayLike, thresholds: ArrayLike) -> FloatArray:
        """l_i, shape (n_samples,)."""
        return self.row_derivatives(raw_prediction, y, thresholds).value

    def gradient(self, raw_prediction: ArrayLike, y: ArrayLike, thresholds: ArrayLike) -> FloatArray:
        """g_i = dl_i/df_i, shape (n_samples,)."""
        return self.row_derivatives(raw_prediction, y, thresholds).gradient

    def hessian(
        self, raw_prediction: ArrayLike, y: ArrayLike, thresholds: ArrayLike, kind: str = "exact"
    ) -> FloatArray:
        """h_i, shape (n_samples,): d2l_i/df_i2 without a floor ("exact"), or its majoriser ("majorized")."""
        return self._curvatures(*_check_rows(raw_prediction, y, thresholds), kind).hessian

    def cross_terms(self, raw_prediction: ArrayLike, y: ArrayLike, thresholds: ArrayLike) -> FloatArray:
        """d2l_i/df_i dtheta_k, shape (n_samples, n_classes - 1)."""
        return self.row_derivatives(raw_prediction, y, thresholds).cross

    def threshold_gradient(
        self, raw_prediction: ArrayLike, y: ArrayLike, thresholds: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> FloatArray:
        """u, shape (n_classes - 1,): the weighted sum of dl_i/dtheta_k."""
        rows = self.row_derivatives(raw_prediction, y, thresholds)
        return validation.row_weights(sample_weight, len(rows.value)) @ rows.threshold_gradient

    def threshold_hessian(
        self,
        raw_prediction: ArrayLike,
        y: ArrayLike,
        thresholds: ArrayLike,
        sample_weight: ArrayLike | None = None,
        kind: str = "exact",
    ) -> tuple[FloatArray, FloatArray]:
        """V: its diagonal (n_classes - 1,) and the entries beside it (n_classes - 2,), without a floor."""
        f, y, thresholds = _check_rows(raw_prediction, y, thresholds)
        weight = validation.row_weights(sample_weight, len(f))
        curvatures = self._curvatures(f, y, thresholds, kind)
        return weight @ curvatures.diagonal, weight @ curvatures.off_diagonal

    def round_statistics(
        self,
        raw_prediction: ArrayLike,
        y: ArrayLike,
        thresholds: ArrayLike,
        sample_weight: ArrayLike | None = None,
        hessian: str = "majorized",
    ) -> quantities.RoundStatistics:
        """All statistics of one round, weighted: the reference of the native kernels.

        Parameters
        ----------
        raw_prediction : array-like of shape (n_samples,)
            Scores f(x).
        y : array-like of int of shape (n_samples,)
            Class codes 0..n_classes - 1.
        thresholds : array-like of shape (n_classes - 1,)
            Lowest first, on the scale of the scores.
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative; None weighs every row 1.
        hessian : {"majorized", "exact"}, default="majorized"
            With "exact", curvatures below the link's `curvature_floor` are raised to it and counted.

        Returns
        -------
        RoundStatistics

        Raises
        ------
        ValueError
            If the loss has no such Hessian with its link (see `check_hessian`).

        Examples
        --------
        >>> from ordinal_objectives import AllThreshold
        >>> statistics = AllThreshold().round_statistics([0.0, 0.5], [0, 2], [-1.0, 1.0])
        >>> statistics.threshold_gradient.round(4), round(statistics.loss, 4)
        (array([-0.5486,  0.3535]), 2.802)
        """
        f, y, thresholds = _check_rows(raw_prediction, y, thresholds)
        weight = validation.row_weights(sample_weight, len(f))
        self.check_hessian(hessian)
        return self.statistics_of(f, y, thresholds, weight, hessian)

    def statistics_of(
        self, f: FloatArray, y: IntArray, thresholds: FloatArray, weight: FloatArray, hessian: str
    ) -> quantities.RoundStatistics:
        """Statistics of checked arrays, of which there may be none; see :meth:`round_statistics`."""
        rows = self._row_derivatives(f, y, thresholds)
        curvatures, n_floored = self.curvatures_of(rows, f, y, thresholds, hessian)
        beyond = np.abs(f[:, None] - thresholds) > self.link.argument_limit
        return quantities.RoundStatistics(
            gradient=weight * rows.gradient,
            hessian=weight * curvatures.hessian,
            cross=weight[:, None] * rows.cross,
            sums=quantities.RoundSums(
                loss=float(weight @ rows.value),
                threshold_gradient=weight @ rows.threshold_gradient,
                threshold_hessian=weight @ curvatures.diagonal,
                threshold_hessian_off=weight @ curvatures.off_diagonal,
                n_floored=n_floored,
                n_clipped=int(beyond.any(axis=1).sum()),
            ),
        )

    def curvatures_of(
        self, rows: quantities.RowDerivatives, f: FloatArray, y: IntArray, thresholds: FloatArray, hessian: str
    ) -> tuple[quantities.Curvatures, int]:
        """Curvatures of a step, majorised or exact and floored, and how many were raised to the floor."""
        return self._floored(rows, y) if hessian == "exact" else (self._majorized(f, y, thresholds), 0)

    def margin_derivatives(
        self, margins: ArrayLike, y: ArrayLike, hessian: str = "majorized"
    ) -> quantities.MarginDerivatives:
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
        x = _check_finite(margins, "margins", "(n_samples, n_classes - 1)")
        codes = validation.check_codes(y, x.shape[1] + 1)
        validation.check_shape("margins", x, (len(codes), x.shape[1]))
        return self.margins_of(x, codes, hessian)

    def margins_of(self, x: FloatArray, y: IntArray, hessian: str) -> quantities.MarginDerivatives:
        """Loss of checked margins, of which there may be none; see :meth:`margin_derivatives`."""
        rows = self._of_margins(x, y)
        exact = hessian == "exact"
        curvatures, n_floored = self._floored(rows, y) if exact else (self._majorized_of_margins(x, y), 0)
        return quantities.MarginDerivatives(rows.value, -rows.threshold_gradient, curvatures.diagonal, n_floored)

    def rows_of_margins(self, x: FloatArray, y: IntArray) -> quantities.RowDerivatives:
        """Row derivatives of checked margins."""
        return self._of_margins(x, y)

    def predict_proba(self, raw_prediction: ArrayLike, thresholds: ArrayLike) -> FloatArray:
        """P(y = k), shape (n_samples, n_classes); never negative, and each row sums to one.

        Raises
        ------
        ValueError
            If the thresholds decrease somewhere and the loss needs them in order.

        Examples
        --------
        >>> from ordinal_objectives import CumulativeLink
        >>> CumulativeLink().predict_proba([0.0], [-1.0, 1.0]).round(4)
        array([[0.2689, 0.4621, 0.2689]])
        """
        return self._proba(self._distances(raw_prediction, thresholds))

    def cumulative_proba(self, raw_prediction: ArrayLike, thresholds: ArrayLike) -> FloatArray:
        """P(y <= k), shape (n_samples, n_classes - 1); raises as :meth:`predict_proba`."""
        return self._cumulative_proba(self._distances(raw_prediction, thresholds))

    def margin_proba(self, margins: ArrayLike) -> FloatArray:
        """P(y = k) at margins given one by one, shape (n_samples, n_classes).

        Margins of the all-threshold loss are sorted in each row first, which never raises its loss whatever the
        label: so no probability is negative where thresholds that move with x cross. Those of the cumulative link must
        not cross.

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
        x = _check_finite(margins, "margins", "(n_samples, n_classes - 1)")
        if (np.diff(x, axis=1) < 0.0).any():
            self.check_shifts()
        crossed = np.flatnonzero((x[:, 1:] < x[:, :-1]).any(axis=1)) if self.ordered else x[:0, 0]
        if crossed.size:
            x = x.copy()
            x[crossed] = np.sort(x[crossed], axis=1)
        return x

    def _distances(self, raw_prediction: ArrayLike, thresholds: ArrayLike) -> FloatArray:
        """Return theta_k - f_i, shape (n_samples, n_classes - 1)."""
        thresholds = validation.check_thresholds(thresholds, ordered=self.ordered)
        return thresholds - _check_finite(raw_prediction, "raw_prediction", "(n_samples,)")[:, None]

    def _curvatures(self, f: FloatArray, y: IntArray, thresholds: FloatArray, kind: str) -> quantities.Curvatures:
        self.check_hessian(kind)
        if kind == "majorized":
            return self._majorized(f, y, thresholds)
        rows = self._row_derivatives(f, y, thresholds)
        return quantities.Curvatures(rows.hessian, rows.curvature, rows.curvature_next)

    def check_own(self, n_classes: int) -> None:
        """Call :meth:`check_formulas` once for each object whose loss or link is a user's own."""
        if self.codes is None and self not in _CHECKED:
            quarter, three = self.link.link(np.array([0.25, 0.75]))
            theta = np.linspace(quarter, three, n_classes - 1)
            self.check_formulas(np.zeros(2 * n_classes), np.arange(2 * n_classes, dtype=np.int32) % n_classes, theta)
            _CHECKED.add(self)

    def check_formulas(self, f: FloatArray, y: IntArray, thresholds: FloatArray) -> None:
        """Raise TypeError or ValueError if a result of a formula is of another type or shape, or is not finite.

        The same holds where a formula changes the arrays that it is given.
        """
        if not self.link.is_built_in:
            self.link.check_answers(thresholds)
        x = thresholds - f[:, None]
        kinds: list[Any] = [(self._row_derivatives, self._majorized, (f, y, thresholds))]
        if self.takes_shifts:
            kinds.append((self._of_margins, self._majorized_of_margins, (x, y)))
        for formula, majorized, given in kinds:
            rows = validation.call_read_only(self.owner, formula, *given)
            quantities.check_arrays(rows, quantities.RowDerivatives, self.owner, x.shape)
            floored, _ = validation.call_read_only(self.owner, self._floored, rows, y)
            quantities.check_arrays(
                floored, quantities.Curvatures, f"{self._floored.__name__} of {self.owner}", x.shape
            )
            if self.supports("majorized"):
                curvatures = validation.call_read_only(self.owner, majorized, *given)
                name = f"{majorized.__name__} of {self.owner}"
                quantities.check_arrays(curvatures, quantities.Curvatures, name, x.shape)
        if self.highest_order == 4:
            validation.call_read_only(self.owner, self.higher, f, y, thresholds)
        for formula, n in ((self._proba, x.shape[1] + 1), (self._cumulative_proba, x.shape[1])):
            name, proba = f"{formula.__name__} of {self.owner}", validation.call_read_only(self.owner, formula, x)
            validation.check_answer(name, proba, (len(x), n))
            inside = (proba >= -_ROUNDING) & (proba <= 1.0 + _ROUNDING)
            if not inside.all():
                raise ValueError(f"{name} must be probabilities; got {proba[~inside][0]}")
            wrong = np.abs(proba.sum(axis=1) - 1.0) > _ROUNDING
            if n > x.shape[1] and wrong.any():
                raise ValueError(f"{name} must have rows that sum to 1; got a sum of {proba[wrong][0].sum()}")


_CHECKED: WeakSet[OrdinalLoss] = WeakSet()


def _check_finite(values: ArrayLike, name: str, shape: str) -> FloatArray:
    """Return scores, or margins, as finite float64 of as many dimensions as `shape` names."""
    x = validation.as_floats(values, name=name)
    if x.ndim != 1 + shape.count(", ") or x.shape[1:] == (0,):
        raise ValueError(f"{name} must have shape {shape}; got {x.shape}")
    validation.check_finite(x, name, "they must be finite")
    return x


def _check_rows(
    raw_prediction: ArrayLike, y: ArrayLike, thresholds: ArrayLike
) -> tuple[FloatArray, IntArray, FloatArray]:
    # The loss after a partial step must be computable although thresholds may be out of order: order is not checked.
    theta = validation.check_thresholds(thresholds, ordered=False)
    f = _check_finite(raw_prediction, "raw_prediction", "(n_samples,)")
    codes = validation.check_codes(y, len(theta) + 1)
    validation.check_shape("raw_prediction", f, codes.shape)
    return f, codes, theta
