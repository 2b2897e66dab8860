"""Base of the classifiers made of other classifiers: probabilities, and no start scores."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.estimators.ordered_classifier import OrderedClassifier
from ordinal_objectives.estimators.start_scores import start_scores
from ordinal_objectives.utils.shared_docs import documented


class ClassifierOfClassifiers(OrderedClassifier):
    """A classifier whose probabilities are made of those of others."""

    @abstractmethod
    def _proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of checked features, (n_samples, n_classes), lowest class first."""

    @documented
    def predict_proba_ordered(self, X: Any, **start: Any) -> NDArray[np.float64]:
        """Return the class probabilities P(y = k | x), columns from the lowest class to the highest.

        Parameters
        ----------
        <<X>>
        **start
            Refused: start scores belong to the classifiers inside.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = self._check_features(X, reset=False)
        start_scores(start, None, X.shape[0], type(self).__name__)
        return self._proba(X)

    @documented
    def predict_cumulative_proba(self, X: Any, **start: Any) -> NDArray[np.float64]:
        """Return P(y <= k | x) for all classes but the highest, lowest first.

        Parameters
        ----------
        <<X>>
        **start
            Refused: start scores belong to the classifiers inside.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes - 1)
        """
        return np.minimum(np.cumsum(self.predict_proba_ordered(X, **start), axis=1)[:, :-1], 1.0)
