"""Types of this package's models, for skops."""

_OF_PACKAGE = {
    "adapters.lgbm.dask_estimator": "DaskLGBMOrdinalClassifier",
    "adapters.lgbm.estimator": "LGBMOrdinalClassifier",
    "adapters.xgb.dask_estimator": "DaskXGBOrdinalClassifier",
    "adapters.xgb.estimator": "XGBOrdinalClassifier",
    "decision": "KappaRule",
    "decisions.calibrated": "OrdinalCalibratedClassifier Isotonic Recalibration Sigmoids",
    "decisions.prediction_sets": "CalibratedMember OrdinalPredictionSets",
    "decisions.tuned": "CutPoints OrdinalTunedClassifier",
    "distributions.binned_target": "BinnedTarget",
    "distributions.regressor": "OrdinalDistributionRegressor",
    "estimators.arguments": "GivenToFit",
    "estimators.host_classifier": "BoosterInTransit",
    "estimators.tables": "CategoryColumns",
    "estimators.ensemble": "OrdinalEnsembleClassifier",
    "estimators.labels": "OrderedLabels",
    "estimators.linear": "LinearPart",
    "estimators.wrappers": "FittedMember",
    "estimators.held_out": "RoundSearch",
    "histogram_engine.estimator": "HistGradientBoostingOrdinalClassifier",
    "histogram_engine.fit_loop": "GrownModel OutOfBag",
    "histogram_engine.multi_output.estimator": (
        "HistGradientBoostingMultiOutputClassifier HistGradientBoostingMultiOutputRegressor"
    ),
    "histogram_engine.multi_output.losses": "BinaryCrossEntropy SoftmaxCrossEntropy SquaredError",
    "leaves.vector": "Shifts",
    "links.built_in": "Cauchit Cloglog Logit Loglog Probit",
    "losses.built_in": "AllThreshold CostWeighted CumulativeLink ImmediateThreshold",
    "spec": "OrdinalSpec",
    "threshold_solver.record": "ThresholdRecord VectorOutputs",
    "trees": "Tree TreeEnsemble",
}

#: What ``skops.io.load(file, trusted=TRUSTED_TYPES)`` needs for the estimators of this package, also around
#: and with XGBoost's, LightGBM's and scikit-learn's own: tuple of str. None of them runs code that the file brings
#: along. XGBoost and LightGBM read their boosters in C++, which damaged bytes can crash.
TRUSTED_TYPES = (
    "collections.OrderedDict",
    "lightgbm.basic.Booster",
    "lightgbm.sklearn.LGBMClassifier",
    *(f"ordinal_objectives.{home}.{name}" for home, names in _OF_PACKAGE.items() for name in names.split()),
    "xgboost.core.Booster",
    "xgboost.sklearn.XGBClassifier",
)
