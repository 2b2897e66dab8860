"""Parameters of a training run, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ordinal_objectives.histogram_engine.criteria.cross_terms import CROSS_TERMS
from ordinal_objectives.leaves.shifts import Shifts
from ordinal_objectives.losses import check_order
from ordinal_objectives.spec import DOORS, OrdinalSpec
from ordinal_objectives.utils.validation import check_choice, check_flag, check_integer, check_number

DOOR = "HistGradientBoostingOrdinalClassifier"
THRESHOLD_UPDATES = DOORS[DOOR].updates
# Fields of the spec, beside loss and link.
OF_MODEL = ("hessian", "threshold_update", "proportional", "shift_l2", "shift_penalty", "max_shifts")
# Gains of leaves that shift thresholds.
SHIFT_GAINS = ("vector", "joint", "scalar")
SPLIT_GAINS = ("auto", *SHIFT_GAINS, "quadratic")
JUDGES = ("out_of_bag", "validation")
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
    "seed": "random_state",
    "num_threads": "n_jobs",
    "nthread": "n_jobs",
    "early_stopping_rounds": "n_iter_no_change (with early_stopping=True)",
}
REFUSED = {
    **dict.fromkeys(
        ("categorical_features", "categorical_feature", "enable_categorical"),
        "categories are not supported; encode them as ordered numbers",
    ),
    **dict.fromkeys(("monotonic_cst", "monotone_constraints"), "renewed leaves would break monotone constraints"),
    **dict.fromkeys(("interaction_cst", "interaction_constraints"), "interaction constraints are not supported"),
    "max_features": "columns are drawn for each tree: use colsample_bytree",
    "scoring": "early stopping uses the ordinal loss",
    "verbose": "pass callback= to fit",
    "num_class": "the score has one output for all classes",
    "objective": "the ordinal loss is the objective; see loss and link",
}


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

    @property
    def judges(self) -> bool:
        """Whether rows that the step is not fitted on judge it."""
        return self.pruning or self.adaptive_step

    def _choose_shifts(self) -> Shifts | None:
        """Return how leaves shift single thresholds, or None if they do not."""
        refusal = None
        if self.order > 2:
            refusal = f"order={self.order} raises the step of one score a leaf; it needs proportional=True"
        elif self.split_gain not in ("auto", *SHIFT_GAINS):
            refusal = f"split_gain={self.split_gain!r} judges splits of one score; it needs proportional=True"
        return self.spec.shifts(refusal)

    def _integer(self, name: str, least: int, most: int | None = None, *, optional: bool = False) -> None:
        value = getattr(self, name)
        if value is not None or not optional:
            setattr(self, name, check_integer(name, value, least, most, or_none=optional))

    def _number(self, name: str, **bounds: float) -> None:
        setattr(self, name, check_number(name, getattr(self, name), **bounds))
