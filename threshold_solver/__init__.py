"""Steps of the thresholds: start values, Newton step, Schur step, order. Functions of sums over the rows."""

from ordinal_objectives.losses.quantities import InitialThresholds
from ordinal_objectives.threshold_solver.learner import (
    ThresholdLearner,
    initial_thresholds,
    is_ordered,
    longest_step,
    repair_order,
)
from ordinal_objectives.threshold_solver.quadratic import JointQuadratic, JointStep, newton_step, schur_step
from ordinal_objectives.threshold_solver.record import Diagnostics, ThresholdRecord
from ordinal_objectives.utils import public_names

__all__ = [
    "Diagnostics",
    "InitialThresholds",
    "JointQuadratic",
    "JointStep",
    "ThresholdLearner",
    "ThresholdRecord",
    "initial_thresholds",
    "is_ordered",
    "longest_step",
    "newton_step",
    "repair_order",
    "schur_step",
]
__dir__ = public_names(__name__)
