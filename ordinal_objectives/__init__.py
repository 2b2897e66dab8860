"""Ordinal gradient boosting: ordered thresholds learned together with the trees.

An ordinal model is a score cut by ordered thresholds, P(y <= k | x) = G(theta_k - f(x)). The package
learns both parts inside XGBoost, LightGBM and CatBoost, and in a native engine of its own. Names and modules are
imported on first use, so that no framework is needed to import the package.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinal_objectives import (
        adapters as adapters,
        agreement as agreement,
        compare as compare,
        decisions as decisions,
        distributions as distributions,
        export as export,
        inspection as inspection,
        links as links,
        losses as losses,
        metrics as metrics,
        plotting as plotting,
        scorers as scorers,
    )
    from ordinal_objectives.adapters.cb.estimator import CatBoostOrdinalClassifier as CatBoostOrdinalClassifier
    from ordinal_objectives.adapters.lgbm.dask import DaskLGBMOrdinalClassifier as DaskLGBMOrdinalClassifier
    from ordinal_objectives.adapters.lgbm.estimator import LGBMOrdinalClassifier as LGBMOrdinalClassifier
    from ordinal_objectives.adapters.xgb.dask import DaskXGBOrdinalClassifier as DaskXGBOrdinalClassifier
    from ordinal_objectives.adapters.xgb.estimator import XGBOrdinalClassifier as XGBOrdinalClassifier
    from ordinal_objectives.decision import decide as decide
    from ordinal_objectives.decisions.calibrated import OrdinalCalibratedClassifier as OrdinalCalibratedClassifier
    from ordinal_objectives.decisions.prediction_sets import OrdinalPredictionSets as OrdinalPredictionSets
    from ordinal_objectives.decisions.tuned import OrdinalTunedClassifier as OrdinalTunedClassifier
    from ordinal_objectives.distributions.regressor import OrdinalDistributionRegressor as OrdinalDistributionRegressor
    from ordinal_objectives.estimators.ensemble import OrdinalEnsembleClassifier as OrdinalEnsembleClassifier
    from ordinal_objectives.estimators.labels import LabelOrderWarning as LabelOrderWarning
    from ordinal_objectives.histogram_engine.estimator import (
        HistGradientBoostingOrdinalClassifier as HistGradientBoostingOrdinalClassifier,
    )
    from ordinal_objectives.histogram_engine.multi_output.estimator import (
        HistGradientBoostingMultiOutputClassifier as HistGradientBoostingMultiOutputClassifier,
        HistGradientBoostingMultiOutputRegressor as HistGradientBoostingMultiOutputRegressor,
    )
    from ordinal_objectives.losses import (
        AllThreshold as AllThreshold,
        CostWeighted as CostWeighted,
        CumulativeLink as CumulativeLink,
        ImmediateThreshold as ImmediateThreshold,
    )
    from ordinal_objectives.ordinal_labels import OrdinalLabels as OrdinalLabels
    from ordinal_objectives.row_blocks import RowBlocks as RowBlocks
    from ordinal_objectives.utils.extras import show_versions as show_versions

__version__ = "0.4.0"

_HOMES = {
    "AllThreshold": "losses",
    "CatBoostOrdinalClassifier": "adapters.cb.estimator",
    "CostWeighted": "losses",
    "CumulativeLink": "losses",
    "DaskLGBMOrdinalClassifier": "adapters.lgbm.dask",
    "DaskXGBOrdinalClassifier": "adapters.xgb.dask",
    "HistGradientBoostingMultiOutputClassifier": "histogram_engine.multi_output.estimator",
    "HistGradientBoostingMultiOutputRegressor": "histogram_engine.multi_output.estimator",
    "HistGradientBoostingOrdinalClassifier": "histogram_engine.estimator",
    "ImmediateThreshold": "losses",
    "LabelOrderWarning": "estimators.labels",
    "LGBMOrdinalClassifier": "adapters.lgbm.estimator",
    "OrdinalCalibratedClassifier": "decisions.calibrated",
    "OrdinalDistributionRegressor": "distributions.regressor",
    "OrdinalEnsembleClassifier": "estimators.ensemble",
    "OrdinalLabels": "ordinal_labels",
    "OrdinalPredictionSets": "decisions.prediction_sets",
    "OrdinalTunedClassifier": "decisions.tuned",
    "RowBlocks": "row_blocks",
    "XGBOrdinalClassifier": "adapters.xgb.estimator",
    "decide": "decision",
    "show_versions": "utils.extras",
}

# Imported where they are named, as `ordinal_objectives.metrics`.
_MODULES = (
    *("adapters", "agreement", "compare", "decisions", "distributions", "export", "inspection", "links", "losses"),
    *("metrics", "plotting", "scorers"),
)

# `from ordinal_objectives import *` takes what can be imported here.
_NEEDS = {
    "CatBoostOrdinalClassifier": ("catboost",),
    "DaskLGBMOrdinalClassifier": ("lightgbm", "xgboost", "distributed"),
    "DaskXGBOrdinalClassifier": ("xgboost", "distributed"),
    "LGBMOrdinalClassifier": ("lightgbm",),
    "XGBOrdinalClassifier": ("xgboost",),
}
__all__ = [name for name in _HOMES if all(map(find_spec, _NEEDS.get(name, ())))]

if not list(Path(__file__).parent.glob("_core*.so")) and not list(Path(__file__).parent.glob("_core*.pyd")):
    try:
        import_module("ordinal_objectives._core")
    except ImportError as error:
        raise ImportError(
            f"{Path(__file__).parent} is a source folder whose native kernels are not built. Install the project "
            f"(pip install .) and start Python outside the source folder, so that the installed package is found."
        ) from error


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


__dir__ = import_module(f"{__name__}.utils").public_names(__name__, _MODULES)
