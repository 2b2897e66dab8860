"""What is made of class probabilities: sets that cover the class, and probabilities that are calibrated."""

from ordinal_objectives.decisions.calibrated import OrdinalCalibratedClassifier
from ordinal_objectives.decisions.prediction_sets import OrdinalPredictionSets
from ordinal_objectives.metrics.of_probabilities import CumulativeReliability, cumulative_reliability

__all__ = ["CumulativeReliability", "OrdinalCalibratedClassifier", "OrdinalPredictionSets", "cumulative_reliability"]
