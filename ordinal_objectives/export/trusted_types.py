"""Types of this package's models, for skops."""

from __future__ import annotations

_OF_PACKAGE = (
    "adapters.lgbm.estimator.LGBMOrdinalClassifier",
    "adapters.xgb.cluster.estimator.DaskXGBOrdinalClassifier",
    "adapters.xgb.estimator.XGBOrdinalClassifier",
    "decision.KappaRule",
    "decisions.calibrated.OrdinalCalibratedClassifier",
    "decisions.conformal.CalibratedMember",
    "decisions.curves.Isotonic",
    "decisions.curves.Recalibration",
    "decisions.curves.Sigmoids",
    "decisions.cut_points.CutPoints",
    "decisions.prediction_sets.OrdinalPredictionSets",
    "decisions.tuned.OrdinalTunedClassifier",
    "estimators.booster_in_transit.BoosterInTransit",
    "estimators.category_columns.CategoryColumns",
    "estimators.ensemble.OrdinalEnsembleClassifier",
    "estimators.labels.OrderedLabels",
    "estimators.linear_columns.LinearColumns",
    "estimators.linear_part.LinearPart",
    "estimators.on_codes.FittedMember",
    "estimators.on_codes.PrefitMember",
    "estimators.round_search.RoundSearch",
    "histogram_engine.estimator.HistGradientBoostingOrdinalClassifier",
    "histogram_engine.forest.OutOfBag",
    "histogram_engine.multi_output.estimator.HistGradientBoostingMultiOutputClassifier",
    "histogram_engine.multi_output.estimator.HistGradientBoostingMultiOutputRegressor",
    "histogram_engine.multi_output.losses.BinaryCrossEntropy",
    "histogram_engine.multi_output.losses.SoftmaxCrossEntropy",
    "histogram_engine.multi_output.losses.SquaredError",
    "leaves.shifts.Shifts",
    "links.cauchit.Cauchit",
    "links.gumbel.Cloglog",
    "links.gumbel.Loglog",
    "links.logit.Logit",
    "links.probit.Probit",
    "losses.cost_weighted.CostWeighted",
    "losses.cumulative_link.CumulativeLink",
    "losses.threshold_sums.AllThreshold",
    "losses.threshold_sums.ImmediateThreshold",
    "threshold_solver.outputs.VectorOutputs",
    "threshold_solver.record.ThresholdRecord",
    "trees.ensemble.TreeEnsemble",
    "trees.tree.Tree",
)

#: What ``skops.io.load(file, trusted=TRUSTED_TYPES)`` needs for the estimators of this package, also around
#: and with XGBoost's, LightGBM's and scikit-learn's own: tuple of str. None of them runs code that the file brings
#: along. XGBoost and LightGBM read their boosters in C++, which damaged bytes can crash.
TRUSTED_TYPES = (
    "collections.OrderedDict",
    "lightgbm.basic.Booster",
    "lightgbm.sklearn.LGBMClassifier",
    *(f"ordinal_objectives.{name}" for name in _OF_PACKAGE),
    "xgboost.core.Booster",
    "xgboost.sklearn.XGBClassifier",
)
