"""Thresholds only: initialise, Newton step, Schur step, order. Pure functions of sums."""

from __future__ import annotations

from ordinal_objectives.threshold_solver.diagnostics import Diagnostics
from ordinal_objectives.threshold_solver.initialise import InitialThresholds, initial_thresholds
from ordinal_objectives.threshold_solver.newton import newton_step
from ordinal_objectives.threshold_solver.order import is_ordered, repair_order
from ordinal_objectives.threshold_solver.safeguard import safeguarded_step
from ordinal_objectives.threshold_solver.schur import JointStep, schur_step

__all__ = [
    "Diagnostics",
    "InitialThresholds",
    "JointStep",
    "initial_thresholds",
    "is_ordered",
    "newton_step",
    "repair_order",
    "safeguarded_step",
    "schur_step",
]
