"""The criteria, and which of them a training has."""

from __future__ import annotations

from ordinal_objectives.histogram_engine.criteria.base import Criterion
from ordinal_objectives.histogram_engine.criteria.one_score import HighOrder, Joint, Scalar
from ordinal_objectives.histogram_engine.criteria.vector import Vector
from ordinal_objectives.histogram_engine.parameters import BoostingParameters

# A training has the first that takes its parameters.
CRITERIA: tuple[type[Criterion], ...] = (Vector, HighOrder, Joint, Scalar)


def choose(parameters: BoostingParameters) -> type[Criterion]:
    """Return the criterion that these parameters ask for."""
    return next(kind for kind in CRITERIA if kind.takes(parameters))
