"""Parameters of a training run, checked once."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ordinal_objectives.histogram_engine.constraints import Constraints
from ordinal_objectives.histogram_engine.criteria.cross_terms import CROSS_TERMS
from ordinal_objectives.leaves.shifts import Shifts
from ordinal_objectives.losses import check_order
from ordinal_objectives.spec import ENTRY_POINTS, OrdinalSpec
from ordinal_objectives.utils.validation import check_choice, check_flag, check_integer, check_number

DOOR = "HistGradientBoostingOrdinalClassifier"
THRESHOLD_UPDATES = ENTRY_POINTS[DOOR].updates
# Fields of the spec, beside loss and link.
OF_MODEL = ("hessian", "threshold_update", "proportional", "shift_l2", "shift_penalty", "max_shifts")
# Gains of leaves that shift thresholds.
SHIFT_GAINS = ("vector", "joint", "scalar")
SPLIT_GAINS = ("auto", *SHIFT_GAINS, "quadratic")
JUDGES = ("out_of_bag", "validation")
STRATEGIES = ("bagging", "goss")
BOOSTING_TYPES = ("gbdt", "rf")
# Names of parameters in other libraries, and parameters that do not exist here.
DIALECT = {
    "n_estimators": "max_iter",
    "num_boost_round": "max_iter",
    "num_iterations": "max_iter",
    "eta": "learning_rate",
    "num_leaves": "max_leaf_nodes",
    "max_leaves": "max_leaf_nodes",
    "min_child_samples": "min_samples_leaf",
    "min_data_in_leaf": "min_samples_leaf",
    "reg_lambda": "l2_regularization",
    "lambda_l2": "l2_regularization",
    "max_bin": "max_bins",
    "min_split_gain": "gamma",
    "bagging_fraction": "subsample",
    "feature_fraction": "colsample_bytree",
    "monotone_constraints": "monotonic_cst",
    "interaction_constraints": "interaction_cst",
    "colsample_bynode": "max_features",
    "feature_fraction_bynode": "max_features",
    "seed": "random_state",
    "num_threads": "n_jobs",
    "nthread": "n_jobs",
    "early_stopping_rounds": "n_iter_no_change (with early_stopping=True)",
    "categorical_feature": "categorical_features",
    "cat_features": "categorical_features",
    "min_data_per_group": "min_samples_category",
}
REFUSED = {
    "enable_categorical": "columns of a category type are categories: see categorical_features",
    "num_class": "the score has one output for all classes",
    "objective": "the ordinal loss is the objective; see loss and link",
}


def engine_options(categories: Mapping[int, int], min_rows: int) -> dict[str, Any]:
    """Return what an engine is told of columns of categories; nothing if there are none."""
    if not categories:
        return {}
    return {"by_category": sorted(categories), "min_category_rows": float(min_rows)}


@dataclass
class BoostingParameters:
    """Parameters of a training run; HistGradientBoostingOrdinalClassifier says what they mean.

    Attributes
    ----------
    shifts : Shifts or None
        How leaves shift single thresholds, or None if they do not: decided once, from these parameters.

    Raises
    ------
    TypeError, ValueError
        On construction, naming the parameter, what came and what is allowed.
    """

    spec: OrdinalSpec
    learning_rate: float = 0.1
    max_iter: int = 100
    max_leaf_nodes: int | None = 31
    max_depth: int | None = None
    min_samples_leaf: int = 20
    min_child_weight: float = 1e-3
    l2_regularization: float = 0.0
    gamma: float = 0.0
    max_bins: int = 255
    rebin_every: int | None = None
    subsample: float = 1.0
    colsample_bytree: float = 1.0
    pruning: bool = False
    adaptive_step: bool = False
    judged_by: str = "out_of_bag"
    cross_terms: str = "auto"
    split_gain: str = "auto"
    order: int = 2
    boosting_type: str = "gbdt"
    max_features: float = 1.0
    data_sample_strategy: str = "bagging"
    top_rate: float = 0.2
    other_rate: float = 0.1
    constraints: Constraints = field(default_factory=Constraints)
    min_samples_category: int = 10

    @classmethod
    def of(cls, loss: Any, *, link: Any = "logit", **given: Any) -> BoostingParameters:
        """Return the parameters by the names that the classifier has for them, those of the model among them.

        What is not given is as a field says, and ``proportional=True``.
        """
        model = {"proportional": True} | {name: given.pop(name) for name in OF_MODEL if name in given}
        return cls(OrdinalSpec.of(DOOR, loss=loss, link=link, **model), **given)

    def __post_init__(self) -> None:
        spec = self.spec
        spec.loss.check_native()
        self._integer("order", 2, 4)
        check_order(spec.loss, spec.hessian, self.order)
        check_choice(self.split_gain, SPLIT_GAINS, name="split_gain")
        if self.split_gain == "quadratic" and self.order == 2:
            raise ValueError(
                "split_gain='quadratic' leaves the higher derivatives of order=3 and 4 to the leaves; got order=2"
            )
        self.shifts = self._choose_shifts()
        of_shifts = self.split_gain in SHIFT_GAINS
        if of_shifts and self.shifts is None and not isinstance(spec.proportional, str):
            raise ValueError(
                f"split_gain={self.split_gain!r} belongs to thresholds that move with x: pass proportional=False with "
                f"it; threshold_update says what splits are worth without"
            )
        check_choice(self.cross_terms, CROSS_TERMS, name="cross_terms")
        self._number("learning_rate", above=0.0)
        self._integer("max_iter", 1)
        self._integer("max_leaf_nodes", 2, optional=True)
        self._integer("max_depth", 1, optional=True)
        self._integer("min_samples_leaf", 1)
        self._number("min_child_weight", at_least=0.0)
        self._number("l2_regularization", at_least=0.0)
        self._number("gamma", at_least=0.0)
        self._integer("max_bins", 2, 255)
        self._integer("rebin_every", 1, optional=True)
        self._number("subsample", above=0.0, at_most=1.0)
        self._number("colsample_bytree", above=0.0, at_most=1.0)
        self._number("max_features", above=0.0, at_most=1.0)
        self._check_sampling()
        self._check_forest()
        self._integer("min_samples_category", 1)
        check_choice(self.judged_by, JUDGES, name="judged_by")
        out_of_bag = self.judged_by == "out_of_bag"
        for name in ("pruning", "adaptive_step"):
            if check_flag(name, getattr(self, name)) and out_of_bag and self.subsample == 1.0:
                raise ValueError(
                    f"{name}=True judges by rows left out of the sample: it needs subsample < 1; got 1.0. Or pass "
                    "judged_by='validation'"
                )
            if getattr(self, name) and self.order > 2:
                raise ValueError(f"{name}=True judges steps by the quadratic model: it needs order=2; got {self.order}")

        if not out_of_bag and not self.judges:
            raise ValueError("judged_by='validation' belongs to pruning=True or adaptive_step=True; both are False")

    def _check_sampling(self) -> None:
        check_choice(self.data_sample_strategy, STRATEGIES, name="data_sample_strategy")
        self._number("top_rate", above=0.0, below=1.0)
        self._number("other_rate", above=0.0, below=1.0)
        if self.data_sample_strategy == "bagging":
            return
        if self.top_rate + self.other_rate > 1.0:
            raise ValueError(f"top_rate + other_rate must be at most 1; got {self.top_rate} + {self.other_rate}")
        if self.judges and self.judged_by == "out_of_bag":
            raise ValueError(
                "data_sample_strategy='goss' leaves the rows with small gradients out, which cannot judge a tree: pass "
                "judged_by='validation', or leave pruning and adaptive_step out"
            )

    def of_categories(self, categories: Mapping[int, int]) -> dict[str, Any]:
        """Return what an engine is told of columns of categories."""
        return engine_options(categories, self.min_samples_category)

    def _check_forest(self) -> None:
        check_choice(self.boosting_type, BOOSTING_TYPES, name="boosting_type")
        if not self.is_forest:
            return
        if self.subsample == 1.0:
            raise ValueError("boosting_type='rf' needs rows that a tree does not know: pass subsample below 1; got 1.0")
        given = {"data_sample_strategy": "bagging", "pruning": False, "adaptive_step": False, "rebin_every": None}
        for name, allowed in given.items():
            if getattr(self, name) != allowed:
                raise ValueError(
                    f"boosting_type='rf' grows trees side by side: {name} must be {allowed!r}; got "
                    f"{getattr(self, name)!r}"
                )

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
        elif self.split_gain in SHIFT_GAINS:
            warnings.warn(
                f"split_gain={self.split_gain!r} has no effect where thresholds do not move with x, as proportional="
                f"'auto' has it here: threshold_update says what splits are worth. Leave it out",
                UserWarning,
                stacklevel=2,
            )

    def _choose_shifts(self) -> Shifts | None:
        """Return how leaves shift single thresholds, or None if they do not."""
        refusal = None
        if self.order > 2:
            refusal = f"order={self.order} raises the step of one score a leaf; it needs proportional=True"
        elif self.is_forest:
            refusal = "boosting_type='rf' fits one score to the rows out of bag; it needs proportional=True"
        elif self.split_gain not in ("auto", *SHIFT_GAINS):
            refusal = f"split_gain={self.split_gain!r} judges splits of one score; it needs proportional=True"
        return self.spec.shifts(refusal)

    def _integer(self, name: str, least: int, most: int | None = None, *, optional: bool = False) -> None:
        value = getattr(self, name)
        if value is not None or not optional:
            setattr(self, name, check_integer(name, value, least, most, or_none=optional))

    def _number(self, name: str, **bounds: float) -> None:
        setattr(self, name, check_number(name, getattr(self, name), **bounds))
