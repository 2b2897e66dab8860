"""Parameters of a training, and what they may be."""

from __future__ import annotations

import copy
import math
import numbers
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ordinal_objectives import _core
from ordinal_objectives.aliases import IntArray, NDArray
from ordinal_objectives.histogram_engine.constraints import Constraints
from ordinal_objectives.leaves.vector import Shifts
from ordinal_objectives.losses import OrdinalLoss, check_order
from ordinal_objectives.spec import ENTRY_POINTS, OrdinalSpec, parameter_names
from ordinal_objectives.utils.validation import check_choice, check_flag, check_integer, check_number

ENTRY_POINT = "HistGradientBoostingOrdinalClassifier"
THRESHOLD_UPDATES = ENTRY_POINTS[ENTRY_POINT].updates
# Parameters of the ordinal model beside loss and link.
OF_MODEL = tuple(name for name in parameter_names("engine") if name not in ("loss", "link"))
_ALL = 2**31 - 1


def integer(default: int | None, least: int, most: int | None = None, *, or_none: bool = False) -> Any:
    """Return a field for integers, or None where that is allowed."""

    def check(name: str, value: object) -> int | None:
        return None if value is None and or_none else check_integer(name, value, least, most, also=" or None" * or_none)

    return field(default=default, metadata={"check": check})


def number(default: float, **bounds: float) -> Any:
    """Return a field for finite numbers."""
    return field(default=default, metadata={"check": lambda name, value: check_number(name, value, **bounds)})


def choice(default: str, *others: str) -> Any:
    """Return a field for some words."""

    def check(name: str, value: object) -> Any:
        check_choice(value, (default, *others), name=name)
        return value

    return field(default=default, metadata={"check": check})


def _check_max_features(name: str, value: object) -> float | int | str:
    allowed = "a share above 0 and at most 1, a whole number of at least 1, 'sqrt' or 'log2'"
    message = f"{name} must be {allowed}; got {value!r}"
    if isinstance(value, str):
        found: float | int | str = value
    elif isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(message)
    else:
        found = int(value) if isinstance(value, numbers.Integral) else float(value)
    known = (
        found in ("sqrt", "log2")
        if isinstance(found, str)
        else found >= 1
        if isinstance(found, int)
        else 0 < found <= 1
    )
    if not known:
        raise ValueError(message)
    return found


def check_side_by_side(given: object, **allowed: tuple[object, ...]) -> None:
    """Raise ValueError for what belongs to trees that follow each other, in attributes of ``given``."""
    for name, values in allowed.items():
        if getattr(given, name) not in values:
            raise ValueError(
                f"boosting_type='rf' grows trees side by side: {name} must be {' or '.join(map(repr, values))}; got "
                f"{getattr(given, name)!r}"
            )


@dataclass(kw_only=True)
class GrowthParameters:
    """Parameters of trees, whatever their leaves hold; the estimators say what they mean.

    Raises
    ------
    TypeError, ValueError
        On construction, naming the parameter, what came and what is allowed.
    """

    learning_rate: float = number(0.1, above=0.0)
    max_iter: int = integer(100, 1)
    max_leaf_nodes: int | None = integer(31, 2, or_none=True)
    max_depth: int | None = integer(None, 1, or_none=True)
    min_samples_leaf: int = integer(20, 1)
    min_child_weight: float = number(1e-3, at_least=0.0)
    l2_regularization: float = number(0.0, at_least=0.0)
    gamma: float = number(0.0, at_least=0.0)
    max_bins: int = integer(255, 2, 255)
    subsample: float = number(1.0, above=0.0, at_most=1.0)
    colsample_bytree: float = number(1.0, above=0.0, at_most=1.0)
    min_samples_category: int = integer(10, 1)

    def __post_init__(self) -> None:
        for one in fields(self):
            if "check" in one.metadata:
                setattr(self, one.name, one.metadata["check"](one.name, getattr(self, one.name)))

    def growth(
        self, features: list[int], rows: NDArray[np.uint32] | None, leaf_of_row: IntArray, **options: Any
    ) -> _core.Growth:
        """Return what the core is given of a tree: columns, rows, None for all, and limits."""
        sizes = self.max_leaf_nodes or _ALL, self.max_depth or _ALL, float(self.min_samples_leaf)
        limits = self.min_child_weight, self.l2_regularization, self.gamma
        return _core.Growth(features, rows, leaf_of_row, *sizes, *limits, **options)

    def category_options(self, categories: Mapping[int, int]) -> dict[str, object]:
        """Return the arguments of a core engine about columns of categories; none if there are no such columns."""
        if not categories:
            return {}
        return {"by_category": sorted(categories), "min_category_rows": float(self.min_samples_category)}


@dataclass(kw_only=True)
class BoostingParameters(GrowthParameters):
    """Parameters of an ordinal training; HistGradientBoostingOrdinalClassifier says what they mean.

    Attributes
    ----------
    shifts : Shifts or None
        How leaves shift single thresholds, or None if they do not: decided once, from these parameters.
    """

    spec: OrdinalSpec
    rebin_every: int | None = integer(None, 1, or_none=True)
    pruning: bool = field(default=False, metadata={"check": check_flag})
    adaptive_step: bool = field(default=False, metadata={"check": check_flag})
    judged_by: str = choice("out_of_bag", "validation")
    cross_terms: str = choice("auto", "all")
    split_gain: str = choice("auto", "vector", "joint", "scalar")
    order: int = integer(2, 2, 4)
    boosting_type: str = choice("gbdt", "rf")
    max_features: float | int | str = field(default=1.0, metadata={"check": _check_max_features})
    data_sample_strategy: str = choice("bagging", "goss")
    top_rate: float = number(0.2, above=0.0, below=1.0)
    other_rate: float = number(0.1, above=0.0, below=1.0)
    constraints: Constraints = field(default_factory=Constraints)

    @classmethod
    def of(cls, loss: str | OrdinalLoss, *, link: Any = "logit", **given: Any) -> BoostingParameters:
        """Return the parameters by the names that the classifier has for them, those of the model among them.

        What is not given is as a field says, and ``proportional=True``.
        """
        model = {"proportional": True} | {name: given.pop(name) for name in OF_MODEL if name in given}
        return cls(spec=OrdinalSpec.of(ENTRY_POINT, loss=loss, link=link, **model), **given)

    def __post_init__(self) -> None:
        super().__post_init__()
        spec = self.spec
        spec.loss.check_native()
        check_order(spec.loss, spec.hessian, self.order)
        refusal = None
        if self.order > 2:
            refusal = f"order={self.order} raises the step of one score a leaf; it needs proportional=True"
        elif self.is_forest:
            refusal = "boosting_type='rf' fits one score to the rows out of bag; it needs proportional=True"
        self.shifts: Shifts | None = spec.shifts(refusal)
        if self.split_gain != "auto" and self.shifts is None and not isinstance(spec.proportional, str):
            raise ValueError(
                f"split_gain={self.split_gain!r} belongs to thresholds that move with x: pass proportional=False with "
                f"it; threshold_update says what splits are worth without"
            )
        self._check_sampling()
        self._check_judges()

    def _check_sampling(self) -> None:
        if self.is_forest and self.subsample == 1.0:
            raise ValueError("boosting_type='rf' needs rows that a tree does not know: pass subsample below 1; got 1.0")
        if self.is_forest:
            bagging, off, never = ("bagging",), (False,), (None,)
            check_side_by_side(self, data_sample_strategy=bagging, pruning=off, adaptive_step=off, rebin_every=never)
        if self.data_sample_strategy == "bagging":
            return
        if self.top_rate + self.other_rate > 1.0:
            raise ValueError(f"top_rate + other_rate must be at most 1; got {self.top_rate} + {self.other_rate}")
        if self.judges and self.judged_by == "out_of_bag":
            raise ValueError(
                "data_sample_strategy='goss' leaves the rows with small gradients out, which cannot judge a tree: pass "
                "judged_by='validation', or leave pruning and adaptive_step out"
            )

    def _check_judges(self) -> None:
        out_of_bag = self.judged_by == "out_of_bag"
        for name in ("pruning", "adaptive_step"):
            if getattr(self, name) and out_of_bag and self.subsample == 1.0:
                raise ValueError(
                    f"{name}=True judges by rows left out of the sample: it needs subsample < 1; got 1.0. Or pass "
                    "judged_by='validation'"
                )
            if getattr(self, name) and self.order > 2:
                raise ValueError(f"{name}=True judges steps by the quadratic model: it needs order=2; got {self.order}")
        if not out_of_bag and not self.judges:
            raise ValueError("judged_by='validation' belongs to pruning=True or adaptive_step=True; both are False")

    def changed(self, **values: object) -> BoostingParameters:
        """Return these parameters with other values, which have been checked."""
        other = copy.copy(self)
        vars(other).update(values)
        return other

    def share_of_features(self, n_features: int) -> float:
        """Return the share of a tree's columns that is drawn for each split."""
        if isinstance(self.max_features, float):
            return self.max_features
        words = {"sqrt": math.isqrt(n_features), "log2": n_features.bit_length() - 1}
        count = words[self.max_features] if isinstance(self.max_features, str) else self.max_features
        return min(max(count, 1), n_features) / n_features

    @property
    def is_forest(self) -> bool:
        """Whether trees are grown side by side."""
        return self.boosting_type == "rf"

    @property
    def judges(self) -> bool:
        """Whether rows that the step is not fitted on judge it."""
        return self.pruning or self.adaptive_step

    def warn_unused(self) -> None:
        """Warn of a ``threshold_update`` or ``split_gain`` beside the default that has no effect."""
        if self.shifts is not None:
            self.spec.warn_unused(judges_splits=True)
        elif self.split_gain != "auto":
            warnings.warn(
                f"split_gain={self.split_gain!r} has no effect where thresholds do not move with x, as proportional="
                f"'auto' has it here: threshold_update says what splits are worth. Leave it out",
                stacklevel=2,
            )
