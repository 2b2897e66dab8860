"""Parameters of leaves that shift single thresholds, which all trainers share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ordinal_objectives.leaves.vector import check_penalty
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.utils.validation import check_integer

DEFAULT_SHIFT_L2 = 10.0
DEFAULT_SHIFT_PENALTY = "ridge"
# Reason that fixed thresholds take no shifts.
STAY = "threshold_update='fixed' keeps the thresholds where they start"


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


def choose_shifts(
    proportional: Any,
    shift_l2: Any,
    shift_penalty: Any,
    loss: OrdinalLoss,
    refusal: str | None = None,
    max_shifts: int | None = None,
) -> Shifts | None:
    """Return how thresholds move with x, or None if they do not.

    Parameters
    ----------
    proportional : {True, False, "auto"}
        True: one score moves all thresholds alike. False: leaves shift single thresholds. "auto": False where the loss
        and the trainer allow it.
    shift_l2 : float or None
        None for the default.
    shift_penalty : {"ridge", "smooth", "sparse"}
    loss : OrdinalLoss
    refusal : str or None, default=None
        Why the trainer does not allow shifts, if it does not.
    max_shifts : int or None, default=None
        Of a leaf, with "sparse" alone; None for 1.

    Raises
    ------
    ValueError
        If a parameter is not one of those allowed, ``proportional=True`` has a penalty, or ``proportional=False`` is
        not possible.

    Examples
    --------
    >>> from ordinal_objectives import AllThreshold
    >>> from ordinal_objectives.leaves.shifts import choose_shifts
    >>> choose_shifts(False, 30.0, "ridge", AllThreshold())
    Shifts(l2=30.0, penalty='ridge', most=1)
    """
    if not (isinstance(proportional, (bool, np.bool_)) or (isinstance(proportional, str) and proportional == "auto")):
        raise ValueError(f"proportional must be True, False or 'auto'; got {proportional!r}")
    if max_shifts is not None:
        max_shifts = check_integer("max_shifts", max_shifts, 1, or_none=True)
    shifts = Shifts(DEFAULT_SHIFT_L2 if shift_l2 is None else shift_l2, shift_penalty, max_shifts or 1)
    if max_shifts is not None and shift_penalty != "sparse":
        raise ValueError(f"max_shifts={max_shifts!r} belongs to shift_penalty='sparse'; got {shift_penalty!r}")
    if not isinstance(proportional, str) and proportional:
        for name, value, default in (
            ("shift_l2", shift_l2, None),
            ("shift_penalty", shift_penalty, DEFAULT_SHIFT_PENALTY),
        ):
            if value != default:
                raise ValueError(
                    f"{name}={value!r} belongs to thresholds that move with x: pass proportional=False with it"
                )
        return None
    if proportional == "auto":
        return shifts if loss.takes_shifts and refusal is None else None
    loss.check_shifts()
    if refusal is not None:
        raise ValueError(f"proportional=False is not possible here: {refusal}")
    return shifts
