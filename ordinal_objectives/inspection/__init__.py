"""What a fitted model says: which feature moves which threshold, and its score and probabilities along one feature."""

from ordinal_objectives.inspection.importances import ThresholdImportances, threshold_importances
from ordinal_objectives.inspection.marginal_effects import MarginalEffects, average_marginal_effects
from ordinal_objectives.inspection.partial_dependence import FeatureEffect, feature_effect, partial_probabilities
from ordinal_objectives.inspection.proportional_odds import ProportionalOddsTest, proportional_odds_test
from ordinal_objectives.inspection.rows import column_of as column_of
from ordinal_objectives.inspection.rows import feature_names as feature_names
from ordinal_objectives.inspection.rows import unwrapped as unwrapped

__all__ = [
    "FeatureEffect",
    "MarginalEffects",
    "ProportionalOddsTest",
    "ThresholdImportances",
    "average_marginal_effects",
    "feature_effect",
    "partial_probabilities",
    "proportional_odds_test",
    "threshold_importances",
]
