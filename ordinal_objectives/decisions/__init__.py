"""What is made of class probabilities: sets that cover the class, and probabilities that are calibrated."""

from ordinal_objectives.decisions.calibrated import OrdinalCalibratedClassifier
from ordinal_objectives.decisions.prediction_sets import OrdinalPredictionSets

__all__ = ["OrdinalCalibratedClassifier", "OrdinalPredictionSets"]
