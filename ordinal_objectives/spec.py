"""Description of an ordinal model: loss, curvature, how thresholds move. Checked once, and passed on as one object."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import Any

import numpy as np

from ordinal_objectives.aliases import FloatArray
from ordinal_objectives.leaves.vector import DEFAULT_SHIFT_L2, DEFAULT_SHIFT_PENALTY, Shifts
from ordinal_objectives.losses import OrdinalLoss, get_loss
from ordinal_objectives.utils import documented, validation

THRESHOLD_UPDATES = ("newton", "fixed", "schur", "joint")
# Those that need the leaves of the newest tree.
TREE_UPDATES = ("schur", "joint")
SHIFT_METHODS = ("renewal", "host")
SPLIT_OUTPUTS = ("score", "all")


@dataclass(frozen=True)
class EntryPoint:
    """A public way into a training, and its defaults.

    Attributes
    ----------
    name : str
        The function or class, behind its framework.
    threshold_update : {"newton", "fixed", "schur", "joint"}
        Default.
    proportional : {True, False, "auto"}
        Default: whether one score moves all thresholds alike.
    shift_method : {"renewal", "host"} or None
        Default: who fits the shifts; None where there is one way only.
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
_NO_TREES = "CatBoost shows no tree before the training ends, which all other steps need"
ENTRY_POINTS = {
    entry.name: entry
    for entry in (
        EntryPoint("xgb.OrdinalObjective", "newton", True, "host", f"{_ALTERNATING}; XGBoost can fit shifts itself"),
        EntryPoint("xgb.train", "joint", True, "renewal", _WHOLE_STEP),
        EntryPoint("xgb.cv", "joint", True, "renewal", "as xgb.train"),
        EntryPoint("xgb.dask.train", "joint", True, "renewal", "as xgb.train"),
        EntryPoint("XGBOrdinalClassifier", "newton", "auto", "renewal", f"{_BEST}; on Dask too"),
        EntryPoint("lgbm.OrdinalObjective", "newton", True, None, _ALTERNATING),
        EntryPoint("lgbm.train", "joint", True, None, _WHOLE_STEP),
        EntryPoint("lgbm.cv", "joint", True, None, "as lgbm.train"),
        EntryPoint("LGBMOrdinalClassifier", "newton", "auto", None, _BEST),
        *(
            EntryPoint(name, "newton", True, None, _NO_TREES, ("newton", "fixed"))
            for name in ("cb.OrdinalObjective", "cb.train", "CatBoostOrdinalClassifier")
        ),
        EntryPoint(
            "HistGradientBoostingOrdinalClassifier", "joint", "auto", None, _ENGINE, ("joint", "newton", "fixed")
        ),
    )
}


_BY_ALL = {"takers": ("train", "classifier", "engine"), "in_files": True}
_BY_TRAIN = {"takers": ("train",), "in_files": True}
_BY_XGBOOST = {"takers": ("train", "classifier"), "in_files": True}
_BY_NOBODY = {"takers": (), "in_files": False}


@documented
@dataclass(frozen=True, eq=False)
class OrdinalSpec:
    """An ordinal model, as the arguments of an entry point describe it.

    :meth:`of` checks these arguments; every spec that it returns is valid. The metadata of a field say who takes the
    parameter ("takers") and whether the record in a model file holds it ("in_files"), so that a classifier in the file
    need not; see :func:`parameter_names`.

    Parameters
    ----------
    <<loss, link, step parameters, n_classes>>
    thresholds : array-like of float, shape (n_classes - 1,), or None
        Where the thresholds start, lowest first, on the scale of the score. None computes them from the shares of the
        classes.
    <<shift parameters, shift_method>>
        None for the default of the entry point.
    <<split_outputs>>
    entry_point : EntryPoint or None
        A value of ``ENTRY_POINTS``, which holds the defaults of ``threshold_update``, ``proportional`` and
        ``shift_method``.

    Examples
    --------
    >>> from ordinal_objectives.spec import OrdinalSpec
    >>> spec = OrdinalSpec.of("xgb.train", n_classes=4, proportional=False, shift_l2=30.0)
    >>> spec.threshold_update, spec.shifts()
    ('joint', Shifts(l2=30.0, penalty='ridge', most=None))
    """

    loss: OrdinalLoss = field(metadata=_BY_ALL)
    hessian: str = field(default="exact", metadata=_BY_ALL)
    threshold_update: str = field(default="newton", metadata=_BY_ALL)
    n_classes: int | None = field(default=None, metadata=_BY_TRAIN)
    thresholds: FloatArray | None = field(default=None, metadata=_BY_TRAIN)
    proportional: bool | str = field(default=True, metadata=_BY_ALL)
    shift_l2: float | None = field(default=None, metadata=_BY_ALL)
    shift_penalty: str = field(default=DEFAULT_SHIFT_PENALTY, metadata=_BY_ALL)
    max_shifts: int | None = field(default=None, metadata=_BY_ALL)
    shift_method: str | None = field(default=None, metadata=_BY_XGBOOST)
    split_outputs: str | int = field(default="score", metadata=_BY_XGBOOST | {"in_files": False})
    entry_point: EntryPoint | None = field(default=None, metadata=_BY_NOBODY)

    @classmethod
    @documented
    def of(
        cls,
        entry_point: str,
        *,
        loss: Any = "all_threshold",
        link: Any = "logit",
        training_cost: Any = "absolute",
        **given: Any,
    ) -> OrdinalSpec:
        """Return the model that the arguments of an entry point describe.

        Parameters
        ----------
        entry_point : str
            A key of ``ENTRY_POINTS``, whose defaults hold for what is not given.
        <<loss, link, training_cost>>
        **given
            Other fields by name. What is not given, and a ``shift_method`` of None, is the entry point's default.

        Raises
        ------
        ValueError, TypeError
            If a value is not one of those allowed; the message names the parameter.
        """
        entered = ENTRY_POINTS[entry_point]
        if given.get("n_classes") is not None:
            given["n_classes"] = validation.check_n_classes(given["n_classes"])
        spec = cls(
            get_loss(loss, link, training_cost),
            **{"threshold_update": entered.threshold_update, "proportional": entered.proportional} | given,
            entry_point=entered,
        )
        spec.check()
        return spec

    def check(self) -> None:
        """Raise ValueError or TypeError, naming the parameter, unless every field is one of those allowed."""
        self.loss.check_hessian(self.hessian)
        if self.n_classes is not None:
            self.loss.threshold_costs(self.n_classes)
        updates = THRESHOLD_UPDATES if self.entry_point is None else self.entry_point.updates
        asked: object = self.threshold_update
        is_schur = isinstance(asked, str) and asked == "schur"
        hint = "; leaves are renewed with the step here: use 'joint'" if is_schur and "joint" in updates else ""
        validation.check_choice(self.threshold_update, updates, name="threshold_update", hint=hint)
        if self.shift_method is not None:
            validation.check_choice(self.shift_method, SHIFT_METHODS, name="shift_method")
        self.shifts()
        if not isinstance(self.proportional, str):  # NumPy's booleans are taken as well
            object.__setattr__(self, "proportional", bool(self.proportional))
        self._check_split_outputs()
        if self.thresholds is not None:
            ordered = self.loss.ordered and self.proportional is True
            thresholds = validation.check_thresholds(self.thresholds, self.n_classes, ordered=ordered).copy()
            object.__setattr__(self, "thresholds", thresholds)

    def _check_split_outputs(self) -> None:
        given = self.split_outputs
        if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 1:
            hint = "; a number of contrasts is an integer of at least 1"
            validation.check_choice(given, SPLIT_OUTPUTS, name="split_outputs", hint=hint)
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
    def in_outputs(self) -> bool:
        """Whether the framework fits the shifts itself: as asked for, or by default."""
        method = self.shift_method or (None if self.entry_point is None else self.entry_point.shift_method)
        return self.proportional is not True and method == "host"

    @property
    def n_split_outputs(self) -> int | None:
        """How many of the framework's outputs judge its splits, the score first; None for all."""
        if isinstance(self.split_outputs, str):
            return 1 if self.split_outputs == "score" else None
        return 1 + int(self.split_outputs)

    @property
    def common_parameters(self) -> dict[str, object]:
        """What all trainers take beside loss and link, by name: what a record holds of the model."""
        return {name: getattr(self, name) for name in parameter_names("engine") if name not in ("loss", "link")}

    def decided(self, shifts: Shifts | None) -> OrdinalSpec:
        """Return the model as it was trained: all that a record holds, with ``proportional`` and its penalty decided.

        Parameters
        ----------
        shifts : Shifts or None
            How thresholds moved with x in the training, or None if they did not.
        """
        how: dict[str, object] = {"shift_l2": None, "shift_penalty": DEFAULT_SHIFT_PENALTY, "max_shifts": None}
        if shifts is not None:
            how = {"shift_l2": shifts.l2, "shift_penalty": shifts.penalty, "max_shifts": shifts.most}
        given: Any = self.common_parameters | how | {"proportional": shifts is None}
        return OrdinalSpec(self.loss, **given)

    @cached_property
    def given_shifts(self) -> Shifts:
        """How thresholds move with x, where they do."""
        l2 = DEFAULT_SHIFT_L2 if self.shift_l2 is None else self.shift_l2
        return Shifts(l2, self.shift_penalty, self.max_shifts)

    def shifts(self, refusal: str | None = None) -> Shifts | None:
        """Return how thresholds move with x in a training, or None if they do not.

        Parameters
        ----------
        refusal : str or None, default=None
            Why the training does not allow them, if it does not.

        Raises
        ------
        ValueError
            If a parameter is not one of those allowed, ``proportional=True`` has a penalty, or ``proportional=False``
            is not possible.
        """
        if self.threshold_update == "fixed":
            refusal = "threshold_update='fixed' keeps the thresholds where they start"
        elif self.threshold_update == "schur":
            refusal = "threshold_update='schur' leaves the framework's trees as they are"
        given, most = self.proportional, self.max_shifts
        is_auto = isinstance(given, str) and given == "auto"
        if not (isinstance(given, (bool, np.bool_)) or is_auto):
            raise ValueError(f"proportional must be True, False or 'auto'; got {given!r}")
        if most is not None:
            most = validation.check_integer("max_shifts", most, 1, also=" or None")
        shifts = self.given_shifts
        if most is not None and self.in_outputs:
            raise ValueError(f"max_shifts={most!r} is not possible with shifts that XGBoost fits itself: leave it out")
        if is_auto:
            return shifts if self.loss.takes_shifts and refusal is None else None
        if given:
            for name, default in (("shift_l2", None), ("shift_penalty", DEFAULT_SHIFT_PENALTY), ("max_shifts", None)):
                if getattr(self, name) != default:
                    raise ValueError(
                        f"{name}={getattr(self, name)!r} belongs to thresholds that move with x: pass "
                        f"proportional=False with it"
                    )
            return None
        self.loss.check_shifts()
        if refusal is not None:
            raise ValueError(f"proportional=False is not possible here: {refusal}")
        return shifts

    def warn_unused(self, *, judges_splits: bool = False) -> None:
        """Warn of a ``threshold_update`` beside the default that has no effect, since thresholds move with x.

        Parameters
        ----------
        judges_splits : bool, default=False
            Whether it also judges splits; otherwise "newton" is what happens anyway.
        """
        given = self.threshold_update
        is_set = self.entry_point is not None and given != self.entry_point.threshold_update
        if is_set and (given != "newton" or judges_splits):
            unused = f"threshold_update={given!r} has no effect where thresholds move with x"
            splits = ", and split_gain judges the splits" if judges_splits else ""
            warnings.warn(f"{unused}{splits}: leave it out, or pass proportional=True", stacklevel=2)


@cache
def parameter_names(taker: str | None = None, *, in_files: bool | None = None) -> tuple[str, ...]:
    """Return the names of the parameters of a model; ``link`` follows ``loss``, whose part it is.

    Parameters
    ----------
    taker : {"train", "classifier", "engine"} or None, default=None
        Those that the functions ``train`` and ``cv`` and the objectives take, the classifiers of XGBoost and LightGBM
        (XGBoost only: ``shift_method``, ``split_outputs``), or the native engine; None for all of them.
    in_files : bool or None, default=None
        Only those that the record in a model file holds, or does not hold.

    Examples
    --------
    >>> from ordinal_objectives.spec import parameter_names
    >>> parameter_names("train", in_files=False)
    ('split_outputs',)
    """
    names = list[str]()
    for one in fields(OrdinalSpec):
        takers = one.metadata["takers"]
        if takers and taker in (None, *takers) and in_files in (None, one.metadata["in_files"]):
            names += ["loss", "link"] if one.name == "loss" else [one.name]
    return tuple(names)
