"""Models in the formats of other programs, ONNX and treelite, and their types, for skops.

Names are imported on first use, so that the package of one format is not needed for another.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ordinal_objectives.utils import public_names
from ordinal_objectives.utils.extras import not_installed

if TYPE_CHECKING:
    from ordinal_objectives.export.onnx.converters import register_converters
    from ordinal_objectives.export.onnx.model import to_onnx
    from ordinal_objectives.export.treelite_model import to_treelite

# Where each name is, and the extra that it needs.
_HOMES = {
    "register_converters": ("onnx.converters", "onnx"),
    "to_onnx": ("onnx.model", "onnx"),
    "to_treelite": ("treelite_model", "treelite"),
}

__all__ = ["TRUSTED_TYPES", "register_converters", "to_onnx", "to_treelite"]


_OF_PACKAGE = {
    "adapters.lgbm.dask": "DaskLGBMOrdinalClassifier",
    "adapters.lgbm.estimator": "LGBMOrdinalClassifier",
    "adapters.xgb.dask": "DaskXGBOrdinalClassifier",
    "adapters.xgb.estimator": "XGBOrdinalClassifier",
    "columns": "Columns",
    "decision": "KappaRule",
    "decisions.calibrated": "OrdinalCalibratedClassifier Isotonic Recalibration Sigmoids",
    "decisions.prediction_sets": "CalibratedMember OrdinalPredictionSets",
    "decisions.tuned": "CutPoints OrdinalTunedClassifier",
    "distributions.binned_target": "BinnedTarget",
    "distributions.regressor": "OrdinalDistributionRegressor",
    "estimators.description": "ClassifierDescription",
    "estimators.host_classifier": "BoosterInTransit",
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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home, extra = _HOMES[name]
    try:
        return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("ordinal_objectives"):
            raise
        raise not_installed(error, extra) from error


__dir__ = public_names(__name__)
