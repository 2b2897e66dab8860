"""Formulas that a class of losses defines, and which of them are optional."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives import _core
from ordinal_objectives.links import LINKS, FloatArray, Link
from ordinal_objectives.losses.initial_thresholds import ClassWeights, InitialThresholds, from_shares
from ordinal_objectives.losses.quantities import Curvatures, RowDerivatives
from ordinal_objectives.registry import Named
from ordinal_objectives.utils.read_only import call_read_only
from ordinal_objectives.utils.validation import check_choice

CodeArray: TypeAlias = NDArray[np.int32]

HESSIANS = ("exact", "majorized")
LOSSES: dict[str, Any] = {}


class Formulas(Named, ABC):
    """Formulas that a class of losses defines; the arrays that they get are checked."""

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
    _why_no_shifts: ClassVar[str] = "it has no formulas for margins one by one (takes_shifts)"
    link: Link

    def __init_subclass__(cls, **options: Any) -> None:
        """Remove what a class that overrides formulas must define again: shifts, majorisers, higher derivatives.

        Raises
        ------
        TypeError
            If the class takes shifts and lacks a formula that they need.
        """
        super().__init_subclass__(**options)
        own = vars(cls).keys()
        if "_row_derivatives" in own and not own & {"_of_margins", "takes_shifts"}:
            cls.takes_shifts = False
        if own & {"_row_derivatives", "_of_margins"}:
            if not own & {"_majorized", "_majorized_of_margins"}:
                cls._majorizes = Formulas._majorizes  # type: ignore[method-assign]
            if "higher" not in own:
                cls.highest_order = Formulas.highest_order  # type: ignore[method-assign]
        for needed, if_there_is in (("_of_margins", "_row_derivatives"), ("_majorized_of_margins", "_majorized")):
            has, asks = (getattr(cls, name) is not getattr(Formulas, name) for name in (needed, if_there_is))
            if cls.takes_shifts and asks and not has:
                raise TypeError(f"{cls.__name__} has takes_shifts = True and {if_there_is}: it needs {needed} too")

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

    def _parameters(self) -> dict[str, Any]:
        return {key: value for key, value in super()._parameters().items() if key != "link"}

    @property
    def highest_order(self) -> int:
        """Of the derivatives in the score."""
        return 2

    @property
    def curvature_floor(self) -> float:
        """Exact curvatures below it are raised to it."""
        return self.link.curvature_floor

    @abstractmethod
    def _row_derivatives(self, f: FloatArray, y: CodeArray, thresholds: FloatArray) -> RowDerivatives:
        """Row derivatives of checked arrays."""

    def _majorizes(self, link: Link) -> bool:
        """Whether this loss has a majoriser with a link."""
        return False

    def _majorized(self, f: FloatArray, y: CodeArray, thresholds: FloatArray) -> Curvatures:
        """Curvatures of the quadratic majoriser, where there is one."""
        raise NotImplementedError(f"loss {self.identity!r} has no majoriser")

    def _floored(self, rows: RowDerivatives, y: CodeArray) -> tuple[Curvatures, int]:
        """Exact curvatures, raised to `curvature_floor`, except those of thresholds that do not count, which are 0.

        The number of those that were raised is returned too.
        """
        floor = self.curvature_floor
        low, low_diagonal = rows.hessian < floor, (rows.curvature < floor) & (rows.curvature != 0.0)
        curvatures = Curvatures(
            np.where(low, floor, rows.hessian), np.where(low_diagonal, floor, rows.curvature), rows.curvature_next
        )
        return curvatures, int(low.sum() + low_diagonal.sum())

    def start(self, classes: ClassWeights) -> InitialThresholds:
        """Thresholds before the first tree; by default those that fit the class shares as G(theta_k) = P(y <= k)."""
        return from_shares(self.link, classes, with_gaps=self.strictly_ordered)

    def start_at(self, classes: ClassWeights) -> InitialThresholds:
        """Return the thresholds of :meth:`start`, checked."""
        found, n = call_read_only(self.owner, self.start, classes), len(classes.weights) - 1
        if not isinstance(found, InitialThresholds):
            raise TypeError(f"start of {self.owner} must return InitialThresholds; got {type(found).__name__}")
        thresholds, *masks = map(np.asarray, found)
        if thresholds.dtype != np.float64 or thresholds.shape != (n,) or not np.isfinite(thresholds).all():
            raise ValueError(f"start of {self.owner} must be {n} finite thresholds, float64; got {found.thresholds!r}")
        gaps = np.diff(thresholds)
        if (self.ordered and (gaps < 0.0).any()) or (self.strictly_ordered and (gaps == 0.0).any()):
            raise ValueError(f"start of {self.owner} must be {n} thresholds in order; got {thresholds.tolist()}")
        for name, mask in zip(("active", "tied"), masks, strict=True):
            if mask.dtype != np.bool_ or mask.shape != (n,):
                raise ValueError(
                    f"{name} of start of {self.owner} must be boolean ({n},); got {mask.dtype} {mask.shape}"
                )
        return found

    def higher(self, f: FloatArray, y: CodeArray, thresholds: FloatArray) -> FloatArray:
        """Third and fourth derivatives in the score, (n_samples, 2), of checked arrays, if `highest_order` is 4."""
        raise NotImplementedError(f"loss {self.identity!r} has highest_order={self.highest_order}")

    def _of_margins(self, x: FloatArray, y: CodeArray) -> RowDerivatives:
        """Row derivatives of a loss that takes shifts."""
        raise NotImplementedError

    def _majorized_of_margins(self, x: FloatArray, y: CodeArray) -> Curvatures:
        """Curvatures of the quadratic majoriser of a loss that takes shifts."""
        raise NotImplementedError

    def _cumulative_proba(self, x: FloatArray) -> FloatArray:
        return self.link.inverse(x)

    def _proba(self, x: FloatArray) -> FloatArray:
        """P(y = k) at margins in the order that the loss needs."""
        below, above = self.link.inverse(x), self.link.complement(x)
        # Subtracted in the tail where both terms are small, so that small probabilities keep their digits.
        inner = np.where(x[:, :-1] > 0, above[:, :-1] - above[:, 1:], below[:, 1:] - below[:, :-1])
        return np.hstack([below[:, :1], np.maximum(inner, 0.0), above[:, -1:]])

    def supports(self, hessian: str) -> bool:
        """Whether `hessian` ("exact" or "majorized") exists for this loss and link."""
        return hessian == "exact" or (hessian == "majorized" and self._majorizes(self.link))

    def check_hessian(self, hessian: str) -> None:
        """Raise unless `hessian` exists for this loss and link.

        Raises
        ------
        ValueError
            Naming the loss, the link and what is allowed.
        """
        check_choice(hessian, HESSIANS, name="hessian")
        if not self.supports(hessian):
            links = ", ".join(repr(name) for name, link in LINKS.items() if self._majorizes(link))
            raise ValueError(
                f"hessian={hessian!r} does not exist for loss {self.identity!r} with link {self.link.identity!r}; "
                f"allowed: hessian='exact'{', or one of the links ' if links else ''}{links}"
            )

    @property
    def codes(self) -> tuple[int, int] | None:
        """Numbers of the loss and its link in the native kernels; None if there is no kernel for one of them."""
        loss, link = self.code, self.link.code
        return None if loss is None or link is None else (loss, link)

    def check_native(self) -> tuple[int, int]:
        """Return `codes`, or raise ValueError where there are none."""
        if self.codes is None:
            raise ValueError(
                f"loss {self!r} has formulas of its own, which the native engine does not know; train it with XGBoost "
                f"or LightGBM: ordinal_objectives.adapters.xgb, ordinal_objectives.adapters.lgbm"
            )
        return self.codes

    def check_shifts(self) -> None:
        """Raise ValueError unless the loss exists for thresholds that move with x."""
        if not self.takes_shifts:
            allowed = ", ".join(repr(name) for name, loss in self._built_in.items() if loss.takes_shifts)
            raise ValueError(
                f"loss {self.identity!r} does not exist for thresholds that move with x (proportional=False): "
                f"{self._why_no_shifts}; allowed: {allowed}"
            )
