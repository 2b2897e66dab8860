"""Pictures of a fitted model, as scikit-learn's displays: scores, effects, probabilities, training, errors, sets."""

from ordinal_objectives.plotting.agreement import AgreementDisplay
from ordinal_objectives.plotting.classes import (
    CumulativeReliabilityDisplay,
    OrdinalConfusionDisplay,
    PredictionSetsDisplay,
    RatersSpreadDisplay,
)
from ordinal_objectives.plotting.decision_curve import NetBenefitDisplay
from ordinal_objectives.plotting.distributions import (
    DistributionFanDisplay,
    PITDisplay,
    PredictionIntervalsDisplay,
)
from ordinal_objectives.plotting.effects import (
    ClassProbabilitiesDisplay,
    FeatureEffectDisplay,
    RowProbabilitiesDisplay,
)
from ordinal_objectives.plotting.scores import ScoreDistributionDisplay, TrainingDisplay

__all__ = [
    "AgreementDisplay",
    "ClassProbabilitiesDisplay",
    "CumulativeReliabilityDisplay",
    "DistributionFanDisplay",
    "FeatureEffectDisplay",
    "NetBenefitDisplay",
    "OrdinalConfusionDisplay",
    "PITDisplay",
    "PredictionIntervalsDisplay",
    "PredictionSetsDisplay",
    "RatersSpreadDisplay",
    "RowProbabilitiesDisplay",
    "ScoreDistributionDisplay",
    "TrainingDisplay",
]
