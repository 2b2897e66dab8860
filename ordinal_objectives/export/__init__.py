"""Models in the formats of other programs: ONNX, treelite, XGBoost and LightGBM.

Names are imported on first use, so that the package of one format is not needed for another.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ordinal_objectives.utils.extras import not_installed
from ordinal_objectives.utils.public_names import public_names

if TYPE_CHECKING:
    from ordinal_objectives.export.lightgbm_model import to_lightgbm
    from ordinal_objectives.export.onnx.model import to_onnx
    from ordinal_objectives.export.onnx.pipelines import register_converters
    from ordinal_objectives.export.treelite_model import to_treelite
    from ordinal_objectives.export.trusted_types import TRUSTED_TYPES
    from ordinal_objectives.export.xgboost_model import to_xgboost

# Where each name is, and the extra that it needs.
_HOMES = {
    "TRUSTED_TYPES": ("trusted_types", ""),
    "register_converters": ("onnx.pipelines", "onnx"),
    "to_lightgbm": ("lightgbm_model", "lightgbm"),
    "to_onnx": ("onnx.model", "onnx"),
    "to_treelite": ("treelite_model", "treelite"),
    "to_xgboost": ("xgboost_model", "xgboost"),
}

__all__ = ["TRUSTED_TYPES", "register_converters", "to_lightgbm", "to_onnx", "to_treelite", "to_xgboost"]


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
