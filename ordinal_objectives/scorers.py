"""Scikit-learn scorers of the ordinal metrics: higher is better, and labels may be anything that has an order.

Scorers made by `sklearn.metrics.make_scorer` hand the labels as they are to the metric, and cannot tell it their
order. These translate labels into codes by the `classes_` of the estimator first.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metadata_routing import MetadataRequest

from ordinal_objectives import metrics
from ordinal_objectives.labels import OrderedLabels

__all__ = [
    "OrdinalScorer",
    "neg_log_loss_scorer",
    "neg_macro_mae_scorer",
    "neg_mae_scorer",
    "neg_rps_scorer",
    "neg_zero_one_scorer",
    "qwk_scorer",
]


class OrdinalScorer:
    """Scorer for `scoring=` of cross-validation, grid search and the like.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, response, sample_weight=None) -> float`` on class codes, from
        :mod:`ordinal_objectives.metrics` or of your own.
    response_method : {"predict", "predict_proba"}, default="predict"
        What `metric` judges: decisions, as codes, or probabilities, as they are.
    greater_is_better : bool, default=False
        Whether a high value of `metric` is good; otherwise the scorer returns its negative.

    Raises
    ------
    ValueError
        If `response_method` is unknown.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.model_selection import cross_val_score
    >>> from ordinal_objectives.scorers import neg_mae_scorer
    >>> X, y = [[0.0]] * 8, [10, 20, 30, 20] * 2
    >>> cross_val_score(DummyClassifier(), X, y, cv=2, scoring=neg_mae_scorer)
    array([-0.5, -0.5])
    """

    def __init__(
        self,
        metric: Callable[..., float],
        *,
        response_method: str = "predict",
        greater_is_better: bool = False,
    ) -> None:
        if response_method not in ("predict", "predict_proba"):
            raise ValueError(f"response_method must be 'predict' or 'predict_proba'; got {response_method!r}")
        self.metric = metric
        self.response_method = response_method
        self.greater_is_better = greater_is_better
        self._weight_request: bool | str | None = None

    def __repr__(self) -> str:
        return (
            f"OrdinalScorer({self.metric.__name__}, response_method={self.response_method!r}, "
            f"greater_is_better={self.greater_is_better})"
        )

    def __call__(self, estimator: Any, X: Any, y_true: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Score a fitted estimator.

        Parameters
        ----------
        estimator : object
            With `predict` or `predict_proba`. Without `classes_`, labels must be codes 0, 1, 2, ... already.
        X : array-like of shape (n_samples, n_features)
            Features.
        y_true : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of float, shape (n_samples,), or None
            Weights; None for ones.

        Returns
        -------
        float
            Higher is better.

        Raises
        ------
        ValueError
            If `y_true` holds labels that the estimator does not know.
        """
        classes = getattr(estimator, "classes_", None)
        encode: Callable[[ArrayLike], NDArray[Any]] = np.asarray if classes is None else OrderedLabels(classes).encode
        response = getattr(estimator, self.response_method)(X)
        if self.response_method == "predict":
            response = encode(response)
        value = self.metric(encode(y_true), response, sample_weight=sample_weight)
        return value if self.greater_is_better else -value

    def set_score_request(self, *, sample_weight: bool | str | None) -> OrdinalScorer:
        """Return a copy that asks for sample weights where scikit-learn routes metadata.

        Parameters
        ----------
        sample_weight : bool, str or None
            True to ask for `sample_weight`, a string for the name it is passed under, False to go without, None to
            refuse it.

        Returns
        -------
        OrdinalScorer
        """
        twin = copy.copy(self)
        twin._weight_request = sample_weight
        return twin

    def get_metadata_routing(self) -> MetadataRequest:
        """Return what the scorer asks scikit-learn to route to it.

        Returns
        -------
        MetadataRequest
        """
        request = MetadataRequest(owner=repr(self))
        request.score.add_request(param="sample_weight", alias=self._weight_request)
        return request


neg_mae_scorer = OrdinalScorer(metrics.mean_absolute_error)
neg_macro_mae_scorer = OrdinalScorer(metrics.macro_mean_absolute_error)
neg_zero_one_scorer = OrdinalScorer(metrics.zero_one_error)
qwk_scorer = OrdinalScorer(metrics.quadratic_weighted_kappa, greater_is_better=True)
neg_rps_scorer = OrdinalScorer(metrics.ranked_probability_score, response_method="predict_proba")
neg_log_loss_scorer = OrdinalScorer(metrics.ordinal_log_loss, response_method="predict_proba")
