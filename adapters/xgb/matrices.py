"""Rows as XGBoost's matrices, by the classifier's parameters."""

from __future__ import annotations

from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np
import xgboost
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.xgb.input_checks import refused_rows
from ordinal_objectives.adapters.xgb.levels import Levels, coded, named
from ordinal_objectives.adapters.xgb.outputs.settings import start_outputs
from ordinal_objectives.estimators.held_out import Rows
from ordinal_objectives.estimators.linear import LinearPart, with_start
from ordinal_objectives.threads import library_n_threads


class Matrices:
    """Mixin of the classifier: what it gives XGBoost."""

    _linear: LinearPart | None
    n_classes_: int
    shift_method: str
    missing: float | None
    n_jobs: int | None
    enable_categorical: bool
    feature_types: Any
    feature_weights: ArrayLike | None
    # XGBoost takes a level that it does not know for another one, and one outside ASCII too, if the order differs: it
    # is given codes of these.
    _levels: Levels = MappingProxyType({})

    @property
    def _missing(self) -> float:
        """What stands for a missing value; None is NaN, as XGBoost has it."""
        missing = self.missing
        if isinstance(missing, (bool, np.bool_)) or not isinstance(missing, (Real, np.number, type(None))):
            raise ValueError(f"missing must be a number or None; got {missing!r}")
        return np.nan if missing is None else float(missing)

    def _matrices(self, rows: list[Rows], continued: xgboost.Booster | None) -> list[xgboost.DMatrix]:
        """Return the training matrix and those to evaluate, with the linear part in their start."""
        first, *others = (with_start(self._linear, some) for some in rows)
        dtrain = self._training_matrix(first, continued)
        evaluated = [self._matrix_of(one, like=dtrain, name=f"X of evaluation set {i}") for i, one in enumerate(others)]
        return [dtrain, *evaluated]

    def _matrix_of(self, rows: Rows, **options: Any) -> xgboost.DMatrix:
        return self._matrix(rows.X, rows.codes, rows.weight, rows.start, **options)

    def _training_matrix(self, rows: Rows, continued: xgboost.Booster | None = None) -> xgboost.DMatrix:
        types = self.feature_types
        if continued is not None and self._levels:
            types = continued.feature_types
        X = named(rows.X, self._levels, continued, self._missing)
        others = rows.codes, rows.weight, rows.start
        return self._dmatrix(X, types, *others, feature_weights=self.feature_weights)

    def _matrix(
        self,
        X: Any,
        codes: NDArray[Any] | None = None,
        weight: Any = None,
        margin: Any = None,
        *,
        like: xgboost.DMatrix | xgboost.Booster,
        name: str = "X",
    ) -> xgboost.DMatrix:
        """Return a matrix of rows to evaluate or to predict, as codes of the training's levels."""
        types = like.feature_types if self._levels else self.feature_types
        return self._dmatrix(coded(X, self._levels, self._missing, name=name), types, codes, weight, margin, name=name)

    def _dmatrix(
        self,
        X: Any,
        feature_types: Any,
        codes: NDArray[Any] | None = None,
        weight: Any = None,
        margin: Any = None,
        *,
        name: str = "X",
        **options: Any,
    ) -> xgboost.DMatrix:
        with refused_rows(X, self._missing, name):
            return xgboost.DMatrix(
                X,
                codes,
                weight=weight,
                base_margin=start_outputs(margin, self.n_classes_) if self.shift_method == "host" else margin,
                missing=self._missing,
                nthread=library_n_threads(self.n_jobs),
                enable_categorical=self.enable_categorical,
                feature_types=feature_types,
                **options,
            )
