"""Description of an ordinal model: loss, curvature, how thresholds move. Checked once, and passed on as one object."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.leaves.shifts import DEFAULT_SHIFT_PENALTY, STAY, Shifts, choose_shifts
from ordinal_objectives.losses import OrdinalLoss, get_loss
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import check_choice, check_n_classes, check_thresholds

THRESHOLD_UPDATES = ("newton", "fixed", "schur", "joint")
# Those that need the leaves of the newest tree.
TREE_UPDATES = ("schur", "joint")
SHIFT_METHODS = ("renewal", "host")
SPLIT_OUTPUTS = ("score", "all")


@dataclass(frozen=True)
class Door:
    """A public way into a training, and its defaults.

    Attributes
    ----------
    name : str
        The function or class, behind its framework.
    threshold_update : {"newton", "fixed", "schur", "joint"}
        How thresholds move where nothing is said.
    proportional : {True, False, "auto"}
        Whether one score moves all thresholds alike, where nothing is said.
    shift_method : {"renewal", "host"} or None
        Who fits the shifts where nothing is said; None where there is one way alone.
    reason : str
        Why these are the defaults.
    updates : tuple of str
        Values of threshold_update that it takes.
    """

    name: str
    threshold_update: str
    proportional: bool | str
    shift_method: str | None
    reason: str
    updates: tuple[str, ...] = THRESHOLD_UPDATES


_ALTERNATING = 'the framework\'s own train cannot follow renewed leaves, which "joint" and shifts need'
_WHOLE_STEP = "it can follow renewed leaves, and nothing beyond the plain model is assumed"
_BEST = 'thresholds that move with x predicted better on average; "newton" is cheap where they do not move'
_ENGINE = (
    "with one score the engine judges splits by the joint step; thresholds that move with x, where it has no effect, "
    "predicted better on average"
)
DOORS = {
    door.name: door
    for door in (
        Door("xgb.OrdinalObjective", "newton", True, "host", f"{_ALTERNATING}; XGBoost can fit shifts itself"),
        Door("xgb.train", "joint", True, "renewal", _WHOLE_STEP),
        Door("xgb.cv", "joint", True, "renewal", "as xgb.train"),
        Door("xgb.dask.train", "joint", True, "renewal", "as xgb.train"),
        Door("XGBOrdinalClassifier", "newton", "auto", "renewal", f"{_BEST}; on Dask too"),
        Door("lgbm.OrdinalObjective", "newton", True, None, _ALTERNATING),
        Door("lgbm.train", "joint", True, None, _WHOLE_STEP),
        Door("lgbm.cv", "joint", True, None, "as lgbm.train"),
        Door("LGBMOrdinalClassifier", "newton", "auto", None, _BEST),
        Door("HistGradientBoostingOrdinalClassifier", "joint", "auto", None, _ENGINE, ("joint", "newton", "fixed")),
    )
}


@documented
@dataclass(frozen=True, eq=False)
class OrdinalSpec:
    """An ordinal model, as the arguments of a door describe it.

    :meth:`of` checks the arguments of a door; every spec that it returns is valid.

    Parameters
    ----------
    <<loss, link, hessian, threshold_update, n_classes>>
    thresholds : array-like of float, shape (n_classes - 1,), or None
        Where the thresholds start, lowest first, on the scale of the score. None computes them from the shares of the
        classes.
    <<proportional, shift_l2, shift_penalty, max_shifts, shift_method>>
        None for what the door does.
    <<split_outputs>>
    door : Door or None
        Where the model was asked for: a value of ``DOORS``, which holds the defaults of ``threshold_update``,
        ``proportional`` and ``shift_method``.

    Examples
    --------
    >>> from ordinal_objectives.spec import OrdinalSpec
    >>> spec = OrdinalSpec.of("xgb.train", n_classes=4, proportional=False, shift_l2=30.0)
    >>> spec.threshold_update, spec.shifts()
    ('joint', Shifts(l2=30.0, penalty='ridge', most=1))
    """

    loss: OrdinalLoss
    hessian: str = "exact"
    threshold_update: str = "newton"
    n_classes: int | None = None
    thresholds: NDArray[np.float64] | None = None
    proportional: bool | str = True
    shift_l2: float | None = None
    shift_penalty: str = DEFAULT_SHIFT_PENALTY
    max_shifts: int | None = None
    shift_method: str | None = None
    split_outputs: str | int = "score"
    door: Door | None = None

    @classmethod
    @documented
    def of(cls, door: str, *, loss: Any = "all_threshold", link: Any = "logit", **given: Any) -> OrdinalSpec:
        """Return the model that the arguments of a door describe.

        Parameters
        ----------
        door : str
            A key of ``DOORS``, whose defaults hold where nothing is given.
        <<loss, link>>
        **given
            Other fields by name. What is not given, and a ``shift_method`` of None, is the door's.

        Raises
        ------
        ValueError, TypeError
            If a value is not one of those allowed; the message names the parameter.
        """
        entered = DOORS[door]
        if given.get("n_classes") is not None:
            given["n_classes"] = check_n_classes(given["n_classes"])
        spec = cls(
            get_loss(loss, link),
            **{"threshold_update": entered.threshold_update, "proportional": entered.proportional} | given,
            door=entered,
        )
        spec._check()
        return spec

    def _check(self) -> None:
        self.loss.check_hessian(self.hessian)
        if self.n_classes is not None:
            self.loss.threshold_costs(self.n_classes)
        updates = THRESHOLD_UPDATES if self.door is None else self.door.updates
        schur = isinstance(self.threshold_update, str) and self.threshold_update == "schur"
        hint = "; leaves are renewed with the step here: use 'joint'" if schur else ""
        check_choice(self.threshold_update, updates, name="threshold_update", hint=hint)
        if self.shift_method is not None:
            check_choice(self.shift_method, SHIFT_METHODS, name="shift_method")
        self.shifts()
        if not isinstance(self.proportional, str):  # NumPy's booleans are taken as well
            object.__setattr__(self, "proportional", bool(self.proportional))
        self._check_split_outputs()
        if self.thresholds is not None:
            ordered = self.loss.ordered and self.proportional is True
            thresholds = check_thresholds(self.thresholds, self.n_classes, ordered=ordered).copy()
            object.__setattr__(self, "thresholds", thresholds)

    def _check_split_outputs(self) -> None:
        given = self.split_outputs
        if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 1:
            hint = "; a number of contrasts is an integer of at least 1"
            check_choice(given, SPLIT_OUTPUTS, name="split_outputs", hint=hint)
        if given != "score" and not self.in_outputs:
            raise ValueError(
                f"split_outputs={given!r} belongs to shifts that XGBoost fits itself: pass shift_method='host' with "
                f"it, and leave proportional=True out"
            )

    @property
    def learns(self) -> bool:
        """Whether thresholds move."""
        return self.threshold_update != "fixed"

    @property
    def reads_trees(self) -> bool:
        """Whether the update needs the leaves of the newest tree, shifts aside."""
        return self.threshold_update in TREE_UPDATES

    @property
    def in_outputs(self) -> bool:
        """Whether the framework fits the shifts itself: as asked for, or as the door does."""
        method = self.shift_method or (None if self.door is None else self.door.shift_method)
        return self.proportional is not True and method == "host"

    @property
    def n_split_outputs(self) -> int | None:
        """How many of the framework's outputs judge its splits, the score first; None for all."""
        if isinstance(self.split_outputs, str):
            return 1 if self.split_outputs == "score" else None
        return 1 + int(self.split_outputs)

    def shifts(self, refusal: str | None = None) -> Shifts | None:
        """Return how thresholds move with x in a training, or None; see :func:`.leaves.shifts.choose_shifts`.

        Parameters
        ----------
        refusal : str or None, default=None
            Why the training does not allow them, if it does not.
        """
        if self.threshold_update == "fixed":
            refusal = STAY
        elif self.threshold_update == "schur":
            refusal = "threshold_update='schur' leaves the framework's trees as they are"
        penalty = (self.shift_l2, self.shift_penalty)
        return choose_shifts(self.proportional, *penalty, self.loss, refusal, self.max_shifts)

    def warn_unused(self, *, judges_splits: bool = False) -> None:
        """Warn of a ``threshold_update`` beside the default that has no effect, since thresholds move with x.

        Parameters
        ----------
        judges_splits : bool, default=False
            Whether it says what splits are worth, too; "newton" is only then more than what happens anyway.
        """
        given = self.threshold_update
        if self.door is not None and given != self.door.threshold_update and (given != "newton" or judges_splits):
            splits = ", and split_gain says what splits are worth" if judges_splits else ""
            warnings.warn(
                f"threshold_update={given!r} has no effect where thresholds move with x: they take one Newton step "
                f"after the leaves{splits}. Leave it out, or pass proportional=True",
                UserWarning,
                stacklevel=2,
            )


def door_table() -> str:
    """Return doors, defaults and reasons as a table in Markdown."""
    names = ("name", "threshold_update", "proportional", "shift_method", "reason")
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for door in DOORS.values():
        lines.append("| " + " | ".join(str(getattr(door, name)) for name in names) + " |")
    return "\n".join(lines)
