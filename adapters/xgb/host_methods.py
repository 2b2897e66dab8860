"""Methods of XGBClassifier about its booster, under the same names."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.adapters.xgb.matrices import Matrices
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.utils.shared_docs import documented


class HostMethods(Matrices):
    """Methods of :class:`xgboost.XGBClassifier` that its users look for."""

    booster_: xgboost.Booster
    evals_result_: dict[str, Any]
    n_iter_: int
    n_features_in_: int
    importance_type: str

    @abstractmethod
    def _check_features(self, X: Any, *, reset: bool) -> Any: ...

    @property
    def best_iteration_(self) -> int:
        """Last of the iterations that predictions use, counted from 0, as XGBoost does."""
        return self.n_iter_ - 1

    def get_booster(self) -> xgboost.Booster:
        """Return ``booster_``.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        """
        check_is_fitted(self)
        return self.booster_

    def evals_result(self) -> dict[str, Any]:
        """Return ``evals_result_``: the loss and the metrics of every round on every evaluation set.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        """
        check_is_fitted(self)
        return getattr(self, "evals_result_", {})  # no file keeps them

    @property
    @one_thread_after_fork()
    def best_score(self) -> float:
        """The value by which early stopping chose the best round.

        Raises
        ------
        NotFittedError, AttributeError
            Before ``fit``, and where nothing could stop the training early.
        """
        score = self.get_booster().attr("best_score")
        if score is None:
            raise AttributeError("best_score is there after early stopping only; give early_stopping_rounds")
        return float(score)

    @property
    def best_iteration(self) -> int:
        """The best round of an early stop, counted from 0, or the last one.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        """
        check_is_fitted(self)
        return self.n_iter_ - 1

    @property
    @one_thread_after_fork()
    def feature_importances_(self) -> NDArray[np.float32]:
        """Importance of each feature by ``importance_type``, summing to 1, float32 (n_features,)."""
        check_is_fitted(self)
        names = self.booster_.feature_names or [f"f{i}" for i in range(self.n_features_in_)]
        scores = self.booster_.get_score(importance_type=self.importance_type)
        values = np.array([scores.get(name, 0.0) for name in names], dtype=np.float32)
        total = values.sum()
        return values / total if total else values

    @documented
    @one_thread_after_fork()
    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf that each row ends in, int32 ``(n_samples, n_iter_)``.

        Trees of one round that grew in parallel have a column each.

        Parameters
        ----------
        <<X>>
        """
        check_is_fitted(self)
        matrix = self._matrix(self._check_features(X, reset=False), like=self.booster_)
        leaves = self.booster_.predict(matrix, pred_leaf=True, iteration_range=(0, self.n_iter_))
        return np.asarray(leaves, dtype=np.int32).reshape(matrix.num_row(), -1)
