"""Whether leaves shift single thresholds, how far, and what judges the splits of their trees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ordinal_objectives.leaves.vector import PENALTIES, check_penalty
from ordinal_objectives.losses import OrdinalLoss

SPLIT_GAINS = ("auto", "joint", "scalar", "vector")
# Chosen where shift_l2 is None.
SHIFT_L2 = 10.0


@dataclass(kw_only=True)
class ShiftParameters:
    """Parameters of thresholds that move with x; see HistGradientBoostingOrdinalClassifier for what they mean."""

    proportional: bool | str = True
    shift_l2: float | None = None
    shift_penalty: str = "ridge"
    split_gain: str = "auto"

    def shifts_with(self, loss: OrdinalLoss, order: int) -> bool:
        """Tell whether leaves shift single thresholds: "auto" leaves it to the loss and the order of leaf steps."""
        may = loss.takes_shifts and order == 2
        return may if isinstance(self.proportional, str) else not self.proportional

    def check_shifts(self, loss: OrdinalLoss, order: int) -> None:
        """Raise ValueError or TypeError, naming the parameter, unless they are allowed and agree with each other."""
        is_auto = isinstance(self.proportional, str) and self.proportional == "auto"
        if not is_auto and not isinstance(self.proportional, (bool, np.bool_)):
            raise ValueError(f"proportional must be 'auto', True or False; got {self.proportional!r}")
        if self.split_gain not in SPLIT_GAINS:
            raise ValueError(f"split_gain must be one of {', '.join(map(repr, SPLIT_GAINS))}; got {self.split_gain!r}")
        check_penalty(SHIFT_L2 if self.shift_l2 is None else self.shift_l2, self.shift_penalty)
        if self.shifts_with(loss, order):
            loss.check_shifts()
            if order > 2:
                raise ValueError(
                    f"order={order} is for leaves of the score alone: it needs proportional=True or 'auto'; "
                    f"got proportional={self.proportional!r}"
                )
        elif not is_auto:
            self._refuse_shift_parameters()

    def _refuse_shift_parameters(self) -> None:
        unset = {"shift_l2": None, "shift_penalty": PENALTIES[0], "split_gain": "auto"}
        for name, value in unset.items():
            if getattr(self, name) != value:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} belongs to leaves that shift single thresholds: it needs "
                    f"proportional=False or 'auto'; got proportional=True"
                )
