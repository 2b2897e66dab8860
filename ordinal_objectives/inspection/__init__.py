"""Interpretation of a fitted model: which feature moves what, effects of one feature, proportional odds, a summary."""

from ordinal_objectives.inspection.effects import (
    FeatureEffect,
    LocalEffects,
    accumulated_local_effects,
    feature_effect,
    partial_probabilities,
)
from ordinal_objectives.inspection.features import ShapValues, ThresholdImportances, shap_values, threshold_importances
from ordinal_objectives.inspection.marginal_effects import MarginalEffects, average_marginal_effects
from ordinal_objectives.inspection.model_summary import ModelSummary, summary
from ordinal_objectives.inspection.proportional_odds import ProportionalOddsTest, proportional_odds_test
from ordinal_objectives.utils import public_names

__all__ = [
    "FeatureEffect",
    "LocalEffects",
    "MarginalEffects",
    "ModelSummary",
    "ProportionalOddsTest",
    "ShapValues",
    "ThresholdImportances",
    "accumulated_local_effects",
    "average_marginal_effects",
    "feature_effect",
    "partial_probabilities",
    "proportional_odds_test",
    "shap_values",
    "summary",
    "threshold_importances",
]
__dir__ = public_names(__name__)
