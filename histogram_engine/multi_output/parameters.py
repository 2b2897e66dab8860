"""Parameters of a multi-output training, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ordinal_objectives.histogram_engine.multi_output.losses import HESSIANS
from ordinal_objectives.histogram_engine.parameters import engine_options
from ordinal_objectives.leaves.multi_output import SEARCHES
from ordinal_objectives.utils.validation import check_choice, check_integer, check_number

_INTEGERS = {
    "max_iter": (1, None),
    "min_samples_leaf": (1, None),
    "max_bins": (2, 255),
    "min_samples_category": (1, None),
}
_INTEGERS_OR_NONE = {"max_leaf_nodes": (2, None), "max_depth": (1, None), "max_outputs": (1, None)}
_NUMBERS = {
    "learning_rate": {"above": 0.0},
    "min_child_weight": {"at_least": 0.0},
    "l2_regularization": {"at_least": 0.0},
    "gamma": {"at_least": 0.0},
    "subsample": {"above": 0.0, "at_most": 1.0},
    "colsample_bytree": {"above": 0.0, "at_most": 1.0},
}


@dataclass
class MultiOutputParameters:
    """Parameters of a training run; HistGradientBoostingMultiOutputRegressor says what they mean.

    Raises
    ------
    TypeError, ValueError
        On construction, naming the parameter, what came and what is allowed.
    """

    learning_rate: float = 0.1
    max_iter: int = 100
    max_leaf_nodes: int | None = 31
    max_depth: int | None = None
    min_samples_leaf: int = 20
    min_child_weight: float = 1e-3
    l2_regularization: float = 1.0
    gamma: float = 0.0
    max_bins: int = 255
    subsample: float = 1.0
    colsample_bytree: float = 1.0
    max_outputs: int | None = None
    search: str = "restricted"
    hessian: str = "diagonal"
    min_samples_category: int = 10

    def __post_init__(self) -> None:
        for name, (least, most) in _INTEGERS.items():
            setattr(self, name, check_integer(name, getattr(self, name), least, most))
        for name, (least, most) in _INTEGERS_OR_NONE.items():
            if getattr(self, name) is not None:
                setattr(self, name, check_integer(name, getattr(self, name), least, most, or_none=True))
        for name, bounds in _NUMBERS.items():
            setattr(self, name, check_number(name, getattr(self, name), **bounds))
        check_choice(self.search, SEARCHES, name="search")
        check_choice(self.hessian, HESSIANS, name="hessian")

    def of_categories(self, categories: Mapping[int, int]) -> dict[str, Any]:
        """Return what an engine is told of columns of categories."""
        return engine_options(categories, self.min_samples_category)

    @classmethod
    def of(cls, estimator: Any) -> MultiOutputParameters:
        """Return those that are attributes of an estimator."""
        return cls(**{field.name: getattr(estimator, field.name) for field in fields(cls)})
