"""Rows as XGBoost's matrices, by the classifier's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import xgboost
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.xgb.input_checks import readable, refused_rows, types_like
from ordinal_objectives.adapters.xgb.outputs.settings import start_outputs
from ordinal_objectives.estimators.category_levels import with_known_levels
from ordinal_objectives.estimators.linear_choice import with_start
from ordinal_objectives.estimators.linear_part import LinearPart
from ordinal_objectives.threads import library_n_threads


class Matrices:
    """Mixin of the classifier: what it gives XGBoost."""

    linear_: LinearPart | None
    n_classes_: int
    shift_method: str
    missing: float
    n_jobs: int | None
    enable_categorical: bool
    feature_types: Any
    feature_weights: ArrayLike | None
    # XGBoost takes a level that it does not know for another one, and one outside ASCII too, if the order differs.
    # None of a model that goes on with another: XGBoost has those.
    _levels: Mapping[int, list[Any]] = MappingProxyType({})

    def _matrices(self, rows: list[tuple[Any, ...]], continued: xgboost.Booster | None) -> list[xgboost.DMatrix]:
        """Return the training matrix and those to evaluate, with the linear part in their start."""
        first, *others = (with_start(self.linear_, some) for some in rows)
        dtrain = self._matrix(*first, like=continued, feature_weights=self.feature_weights)
        return [dtrain, *(self._matrix(*one, like=dtrain) for one in others)]

    def _matrix(
        self,
        X: Any,
        codes: NDArray[Any] | None = None,
        weight: Any = None,
        margin: Any = None,
        *,
        like: xgboost.DMatrix | xgboost.Booster | None = None,
        **options: Any,
    ) -> xgboost.DMatrix:
        X = readable(with_known_levels(X, self._levels))
        with refused_rows(X, self.missing):
            return xgboost.DMatrix(
                X,
                codes,
                weight=weight,
                base_margin=start_outputs(margin, self.n_classes_) if self.shift_method == "host" else margin,
                missing=self.missing,
                nthread=library_n_threads(self.n_jobs),
                enable_categorical=self.enable_categorical,
                feature_types=self.feature_types if like is None else types_like(X, self.feature_types, like),
                **options,
            )
