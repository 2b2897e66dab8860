"""Base of the classifiers made of other classifiers: probabilities, and no start scores."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted, validate_data

from ordinal_objectives.estimators.column_types import NUMBERS
from ordinal_objectives.estimators.held_out import n_rows
from ordinal_objectives.estimators.ordered_classifier import OrderedClassifier
from ordinal_objectives.estimators.start_scores import start_scores
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import collected, refuse_masked


class ClassifierOfClassifiers(OrderedClassifier):
    """A classifier whose probabilities are made of those of others."""

    def _check_features(self, X: Any, *, reset: bool) -> Any:
        """Count rows and features, and keep the features' names; what they may hold is for the classifiers inside.

        Texts, one a row, and other entries that are no numbers may come as a list, a series or an array.
        """
        refuse_masked(X, name="X")
        X = _as_numbers(collected(X))
        least = 2 if reset else 1
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
        elif not _is_flat(X):
            options = {"accept_sparse": "csr", "dtype": None, "ensure_all_finite": False, "allow_nd": True}
            return validate_data(self, X, reset=reset, ensure_min_samples=least, **options)
        elif reset:
            for name in ("n_features_in_", "feature_names_in_"):  # of an earlier fit
                self.__dict__.pop(name, None)
        if n_rows(X) < least:
            raise ValueError(f"X must have at least {least} row(s); got {n_rows(X)} sample(s)")
        return X

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
        start_scores(start, None, n_rows(X), type(self).__name__)
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


def _as_numbers(X: Any) -> Any:
    """Return a list of numbers, or of lists of them, as an array, and anything else as it is."""
    if not isinstance(X, (list, tuple)):
        return X
    try:
        array = np.asarray(X)
    except ValueError:  # entries of several lengths
        return X
    if array.dtype.kind in "biufc":
        return array
    are_numbers = array.dtype.kind == "O" and all(one is None or isinstance(one, NUMBERS) for one in array.ravel())
    return array if array.ndim > 1 and are_numbers else X


def _is_flat(X: Any) -> bool:
    """Tell whether X has one entry a row, which is no number."""
    if isinstance(X, (list, tuple)):
        return True
    shape = () if issparse(X) else getattr(X, "shape", ())
    return len(shape) == 1 and getattr(getattr(X, "dtype", None), "kind", "O") not in tuple("biufc")
