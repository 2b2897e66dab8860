"""Parameters of leaves that shift single thresholds, which all trainers share."""

from __future__ import annotations

from dataclasses import dataclass

from ordinal_objectives.leaves.vector import check_penalty

DEFAULT_SHIFT_L2 = 10.0
DEFAULT_SHIFT_PENALTY = "ridge"


@dataclass(frozen=True)
class Shifts:
    """How thresholds move with x.

    Attributes
    ----------
    l2 : float
        Penalty lambda_v of the shifts, positive; the larger, the closer to proportional odds.
    penalty : {"ridge", "smooth", "sparse"}
        What is penalised: their distance to the mean, or the distance between neighbours. "sparse" is the former, with
        few shifts.
    most : int
        With "sparse", the thresholds of a leaf that have a shift of their own.
    """

    l2: float = DEFAULT_SHIFT_L2
    penalty: str = DEFAULT_SHIFT_PENALTY
    most: int = 1

    def __post_init__(self) -> None:
        check_penalty(self.l2, self.penalty)
