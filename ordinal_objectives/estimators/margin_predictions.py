"""Predictions for every threshold of a row: its shifts and its linear predictors."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.utils.shared_docs import documented


class MarginPredictions:
    """Predictions of the classifiers beside classes and probabilities: linear predictors theta_k - f(x) - v_k(x)."""

    thresholds_: NDArray[np.float64]

    @abstractmethod
    def _scores(self, X: Any, **start: Any) -> NDArray[np.float64]:
        """Return f(x), (n_samples,), or f(x) + v_k(x), (n_samples, n_classes - 1)."""

    @documented
    def predict_shifts(self, X: Any, **start: Any) -> NDArray[np.float64]:
        """Return the shifts v_k(x): how far each threshold moves with x, beside the score.

        They sum to zero over the thresholds of a row, and have weighted mean zero over the training rows. Where v_k
        is positive, P(y > k) is higher than the score alone says.

        Parameters
        ----------
        <<X, **start>>
            They change no shift.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes - 1)
            Lowest threshold first. Zeros if the model is ``proportional_``.
        """
        scores = self._scores(X, **start)
        if scores.ndim == 1:
            return np.zeros((len(scores), len(self.thresholds_)))
        shifts: NDArray[np.float64] = scores - scores.mean(axis=1, keepdims=True)
        return shifts

    @documented
    def predict_linear_predictors(self, X: Any, **start: Any) -> NDArray[np.float64]:
        """Return the linear predictors theta_k - f(x) - v_k(x), as R's VGAM calls what the link turns into P(y <= k).

        With the immediate-threshold loss it is P(y = k), given that y is k or k + 1. They fall where the score rises,
        unlike what XGBoost calls a margin. Those of a model that is not ``proportional_`` need not increase with k:
        :meth:`predict_cumulative_proba` sorts those of the all-threshold loss in each row.

        Parameters
        ----------
        <<X, **start>>

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes - 1)
            Lowest threshold first, not sorted.
        """
        scores = self._scores(X, **start)
        found: NDArray[np.float64] = self.thresholds_ - (scores if scores.ndim == 2 else scores[:, np.newaxis])
        return found

    @documented
    def predict_margins(self, X: Any, **start: Any) -> NDArray[np.float64]:
        """Return what :meth:`predict_linear_predictors` does, under the name that it had.

        Warns
        -----
        DeprecationWarning
            The name goes with version 0.6.
        """
        warnings.warn(
            "predict_margins is called predict_linear_predictors now; the old name goes with version 0.6",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.predict_linear_predictors(X, **start)
