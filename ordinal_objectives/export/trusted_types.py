"""Types of this package's models, for skops."""

from __future__ import annotations

_OF_PACKAGE = (
    "adapters.lgbm.estimator.LGBMOrdinalClassifier",
    "adapters.xgb.dask_estimator.DaskXGBOrdinalClassifier",
    "adapters.xgb.estimator.XGBOrdinalClassifier",
    "decision.KappaRule",
    "decisions.calibrated.OrdinalCalibratedClassifier",
    "decisions.prediction_sets.CalibratedMember",
    "decisions.calibrated.Isotonic",
    "decisions.calibrated.Recalibration",
    "decisions.calibrated.Sigmoids",
    "decisions.tuned.CutPoints",
    "decisions.prediction_sets.OrdinalPredictionSets",
    "decisions.tuned.OrdinalTunedClassifier",
    "estimators.host_classifier.BoosterInTransit",
    "estimators.given_to_fit.GivenToFit",
    "estimators.tables.CategoryColumns",
    "estimators.ensemble.OrdinalEnsembleClassifier",
    "estimators.labels.OrderedLabels",
    "estimators.linear.LinearPart",
    "estimators.wrappers.FittedMember",
    "estimators.held_out.RoundSearch",
    "histogram_engine.estimator.HistGradientBoostingOrdinalClassifier",
    "histogram_engine.fit_loop.GrownModel",
    "histogram_engine.fit_loop.OutOfBag",
    "histogram_engine.multi_output.estimator.HistGradientBoostingMultiOutputClassifier",
    "histogram_engine.multi_output.estimator.HistGradientBoostingMultiOutputRegressor",
    "histogram_engine.multi_output.losses.BinaryCrossEntropy",
    "histogram_engine.multi_output.losses.SoftmaxCrossEntropy",
    "histogram_engine.multi_output.losses.SquaredError",
    "leaves.shifts.Shifts",
    "links.built_in.Cauchit",
    "links.built_in.Cloglog",
    "links.built_in.Logit",
    "links.built_in.Loglog",
    "links.built_in.Probit",
    "losses.built_in.AllThreshold",
    "losses.built_in.CostWeighted",
    "losses.built_in.CumulativeLink",
    "losses.built_in.ImmediateThreshold",
    "threshold_solver.record.ThresholdRecord",
    "threshold_solver.record.VectorOutputs",
    "trees.Tree",
    "trees.TreeEnsemble",
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
