"""Scikit-learn scorers of the ordinal metrics: higher is better, and labels may be anything that has an order.

Scorers made by `sklearn.metrics.make_scorer` pass labels unchanged to the metric, which then does not know their order.
These find the order of the classes in the estimator, `ordered_classes_`, also inside a pipeline, a search or a
calibration, and translate labels into codes first. The `classes_` of other estimators are sorted by label: that is the
right order for numbers, but not for strings.

Each metric of :data:`ordinal_objectives.metrics.METRICS` has a scorer, `get_scorer("neg_mae")` or `neg_mae_scorer`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Self

from sklearn.utils.metadata_routing import MetadataRequest

from ordinal_objectives.aliases import ArrayLike, Estimator
from ordinal_objectives.estimators.class_order import classes_in_order, columns_in_order, response_of
from ordinal_objectives.estimators.wrappers import weighs_costs
from ordinal_objectives.eval_metric import warn_of_costs
from ordinal_objectives.metrics import METRICS
from ordinal_objectives.metrics.table import RESPONSES, on_codes
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.utils import public_names, validation

__all__ = ["OrdinalScorer", "get_scorer", "get_scorer_names"]
__all__ += [f"{metric.scorer_name}_scorer" for metric in METRICS.values()]


class RoutedScorer:
    """Base of the scorers: what they ask of scikit-learn's metadata routing."""

    _weight_request: bool | str | None = None

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Return a copy that asks for sample weights where scikit-learn routes metadata.

        Parameters
        ----------
        sample_weight : bool, str or None
            True to ask for `sample_weight`, a string for the name it is passed under, False to go without, None to
            refuse it.

        Returns
        -------
        scorer
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


class OrdinalScorer(RoutedScorer):
    """Scorer for `scoring=` of cross-validation, grid search and the like.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, response, sample_weight=None) -> float`` on class codes, from
        :mod:`ordinal_objectives.metrics` or of your own. If it takes `labels`, it is called with
        ``labels=range(n_classes)``.
    response_method : {"predict", "predict_proba", "predict_raw"} or None, default=None
        What `metric` judges: decisions, as codes; probabilities, columns from the lowest class to the highest; or the
        score, which classifiers of this package have, also at the end of a pipeline or a search. None takes what
        :data:`ordinal_objectives.metrics.METRICS` says, and "predict" for a metric of your own.
    greater_is_better : bool or None, default=None
        Whether a high value of `metric` is good; otherwise the scorer returns its negative. None takes what the table
        says, and False for a metric of your own.
    labels : array-like of shape (n_classes,), or None, default=None
        The classes from lowest to highest, at least those of the estimator. None takes the order that the estimator
        has, or that of numbers; strings of an estimator without an order are refused.

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
        response_method: str | None = None,
        greater_is_better: bool | None = None,
        labels: ArrayLike | None = None,
    ) -> None:
        known = METRICS.of(metric)
        if response_method is None:
            response_method = "predict" if known is None else known.response_method
        if greater_is_better is None:
            greater_is_better = known is not None and known.higher_is_better
        validation.check_flag("greater_is_better", greater_is_better)
        validation.check_choice(response_method, RESPONSES, name="response_method")
        self.metric = metric
        self.response_method = response_method
        self.greater_is_better = greater_is_better
        self.labels = labels

    def __repr__(self) -> str:
        return (
            f"OrdinalScorer({self.metric.__name__}, response_method={self.response_method!r}, "
            f"greater_is_better={self.greater_is_better}{'' if self.labels is None else f', labels={self.labels!r}'})"
        )

    def __call__(
        self, estimator: Estimator, X: object, y_true: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Score a fitted estimator.

        Parameters
        ----------
        estimator : object
            With `predict` or `predict_proba`. Without `classes_` and `labels` its labels must be class codes.
        X : array-like of shape (n_samples, n_features)
            Features.
        y_true : array-like of shape (n_samples,)
            Labels; a metric of this package takes OrdinalLabels too, with the classes of the estimator.
        sample_weight : array-like of float, shape (n_samples,), or None
            Weights; None for ones.

        Returns
        -------
        float
            Higher is better.

        Raises
        ------
        ValueError
            If `y_true` holds labels outside the `classes` that the estimator or the scorer was given, or the order of
            strings is not known.

        Notes
        -----
        A training may have lacked a class of `y_true`. Where its order of the classes was that of numbers, or
        alphabetical, the class takes its place in it: its rows count as wrong, with probability 0.
        """
        if self.response_method == "predict_proba" and weighs_costs(estimator):
            warn_of_costs([self.metric.__name__], stacklevel=3)
        if hasattr(estimator, self.response_method) or self.response_method != "predict_raw":
            response = getattr(estimator, self.response_method)(X)
        else:
            response = response_of(estimator, "predict_raw", X, what=f"{self.metric.__name__} judges scores")
        soft = y_true if isinstance(y_true, OrdinalLabels) and METRICS.of(self.metric) is not None else None
        y = y_true if soft is None else soft.classes
        order = classes_in_order(estimator, y, self.labels, "OrdinalScorer(..., labels=)")
        if order is None:
            value = self.metric(y_true, response, sample_weight=sample_weight)
        else:
            if self.response_method == "predict":
                response = order.encode(response, name="predictions")
            elif self.response_method == "predict_proba":
                response = columns_in_order(response, order, getattr(estimator, "classes_", order.ordered_classes_))
            metric = on_codes(self.metric, len(order.ordered_classes_))
            true = order.encode(y_true, name="y_true") if soft is None else soft.with_codes(order.ordered_classes_)
            value = metric(true, response, sample_weight=sample_weight)
        return value if self.greater_is_better else -value


_NAMED = {metric.scorer_name: OrdinalScorer(metric.function) for metric in METRICS.values()}


def __getattr__(name: str) -> OrdinalScorer:
    scorer = _NAMED.get(name.removesuffix("_scorer")) if name.endswith("_scorer") else None
    if scorer is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return scorer


__dir__ = public_names(__name__)


def get_scorer(scoring: str) -> OrdinalScorer:
    """Return the scorer of a name, as :func:`sklearn.metrics.get_scorer` does with scikit-learn's.

    Pass what is returned as ``scoring=``, not the name: scikit-learn knows its own names only.

    Parameters
    ----------
    scoring : str
        One of :func:`get_scorer_names`: the metric's short name, with ``"neg_"`` before it where lower is better.

    Returns
    -------
    OrdinalScorer

    Raises
    ------
    ValueError
        If there is no such scorer.

    Examples
    --------
    >>> from ordinal_objectives.scorers import get_scorer
    >>> get_scorer("neg_rps")
    OrdinalScorer(ranked_probability_score, response_method='predict_proba', greater_is_better=False)
    """
    validation.check_choice(scoring, get_scorer_names(), name="scoring")
    return _NAMED[scoring]


def get_scorer_names() -> list[str]:
    """Return the names that :func:`get_scorer` ordered.

    Examples
    --------
    >>> from ordinal_objectives.scorers import get_scorer_names
    >>> "neg_rps" in get_scorer_names()
    True
    """
    return sorted(_NAMED)
