"""Models in the formats of other programs."""

from __future__ import annotations

from ordinal_objectives.export.lightgbm_model import to_lightgbm
from ordinal_objectives.export.treelite_model import to_treelite
from ordinal_objectives.export.xgboost_model import to_xgboost

__all__ = ["to_lightgbm", "to_treelite", "to_xgboost"]
