"""Pictures of a fitted model, as scikit-learn's displays: scores, effects, probabilities, training, errors, sets."""

from ordinal_objectives.plotting.confusion import OrdinalConfusionDisplay
from ordinal_objectives.plotting.feature_effect import FeatureEffectDisplay
from ordinal_objectives.plotting.probabilities import ClassProbabilitiesDisplay
from ordinal_objectives.plotting.reliability import CumulativeReliabilityDisplay
from ordinal_objectives.plotting.score_distribution import ScoreDistributionDisplay
from ordinal_objectives.plotting.sets import PredictionSetsDisplay
from ordinal_objectives.plotting.training import TrainingDisplay

__all__ = [
    "ClassProbabilitiesDisplay",
    "CumulativeReliabilityDisplay",
    "FeatureEffectDisplay",
    "OrdinalConfusionDisplay",
    "PredictionSetsDisplay",
    "ScoreDistributionDisplay",
    "TrainingDisplay",
]
