"""Methods that exist for classifiers of two classes only."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from sklearn.utils.validation import check_is_fitted


class two_classes_only:  # noqa: N801 - a decorator
    """Make a method exist for two classes only; for more, the AttributeError names the methods to call instead.

    :func:`sklearn.utils.metaestimators.available_if` does the same, but words the error itself.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, estimator: Any, owner: type) -> Any:
        """Return the method of an estimator, or the function for the class itself.

        Raises
        ------
        NotFittedError, AttributeError
            Before ``fit``, and for more than two classes.
        """
        if estimator is None:
            return self._method
        check_is_fitted(estimator)
        if estimator.n_classes_ != 2:
            raise AttributeError(
                f"{owner.__name__} has a {self._method.__name__} for two classes only; got {estimator.n_classes_}. "
                f"predict_raw returns the score, (n_samples,), and thresholds_ cuts it; predict_cumulative_proba "
                f"returns P(y <= k)"
            )
        return self._method.__get__(estimator, owner)
