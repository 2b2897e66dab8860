"""Scikit-learn scorers of the ordinal metrics: higher is better, and labels may be anything that has an order.

Scorers made by `sklearn.metrics.make_scorer` pass labels unchanged to the metric, which then does not know their order.
These find the order of the classes in the estimator, `ordered_classes_`, also inside a pipeline, a search or a
calibration, and translate labels into codes first. The `classes_` of other estimators are sorted by label: that is the
right order for numbers, but not for strings.

Each metric of :data:`ordinal_objectives.metrics.METRICS` has a scorer, `get_scorer("neg_mae")` or `neg_mae_scorer`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest

from ordinal_objectives.aliases import ArrayLike, Estimator, LabelArray, Table
from ordinal_objectives.estimators.labels import OrderedLabels, distinct_labels, refuse_numbers_as_text
from ordinal_objectives.estimators.wrappers import weighs_costs
from ordinal_objectives.eval_metric import warn_of_costs
from ordinal_objectives.metrics import METRICS
from ordinal_objectives.metrics.table import RESPONSES, on_codes
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.utils import public_names, validation

if TYPE_CHECKING:
    from typing_extensions import Self

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
        if not callable(metric):
            raise TypeError(f"metric must be a function, metric(y_true, response, sample_weight=None); got {metric!r}")
        METRICS.refuse_scorer(metric, "metric")
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
        self, estimator: Estimator, X: Table, y_true: ArrayLike, sample_weight: ArrayLike | None = None
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
        order = self._order(estimator, y_true if soft is None else soft.classes)
        if order is None:
            value = self.metric(y_true, response, sample_weight=sample_weight)
        else:
            if self.response_method == "predict":
                response = order.encode(response, name="predictions")
            elif self.response_method == "predict_proba":
                response = _columns(response, order, getattr(estimator, "classes_", order.ordered_classes_))
            metric = on_codes(self.metric, len(order.ordered_classes_))
            true = order.encode(y_true, name="y_true") if soft is None else soft.coded(order.ordered_classes_)
            value = metric(true, response, sample_weight=sample_weight)
        return value if self.greater_is_better else -value

    def _order(self, estimator: object, y_true: ArrayLike) -> OrderedLabels | None:
        """Return the order of the classes, or None for an estimator without classes.

        Where it was found in the labels of the training, which may have lacked some, those of ``y_true`` are sorted in.
        """
        if self.labels is not None:
            return OrderedLabels(self.labels, name="labels")
        classes = getattr(estimator, "classes_", None)
        if classes is None:
            return None
        classes = np.asarray(classes)
        ordered = _with_order(estimator, classes)
        if ordered is None and classes.dtype.kind not in "biuf":
            raise ValueError(
                f"{type(estimator).__name__} does not say what the order of its classes {classes.tolist()} is: pass "
                f"OrdinalScorer(..., labels=) the classes from lowest to highest"
            )
        order = np.sort(classes) if ordered is None else np.asarray(ordered.ordered_classes_)
        if getattr(ordered, "classes", None) is None:
            order = _with_those_of(y_true, order)
        return OrderedLabels(order)


def response_of(estimator: Estimator, method: str, X: Table, *arguments: object, what: str) -> Any:
    """Return what a method of an estimator, or of the one that a search or a pipeline ends in, says of some rows.

    ``what`` is the beginning of the message of an error.

    Raises
    ------
    TypeError
        If it has no such method.
    """
    if hasattr(estimator, method):
        return getattr(estimator, method)(X, *arguments)
    if hasattr(estimator, "best_estimator_"):
        return response_of(estimator.best_estimator_, method, X, *arguments, what=what)
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        return response_of(estimator[-1], method, estimator[:-1].transform(X), *arguments, what=what)
    raise TypeError(
        f"{what}, and {type(estimator).__name__} has no {method}, as estimators of ordinal_objectives have, nor ends "
        f"in an estimator that has"
    )


def class_order(estimator: object, classes: LabelArray) -> LabelArray | None:
    """Return all `classes` from lowest to highest as a fitted estimator, or one inside it, knows them.

    Parameters
    ----------
    estimator : object
        Fitted.
    classes : ndarray of shape (n_classes,)
        Its `classes_`. The order of an inner estimator counts only if it knows all of them: some tools train it on
        codes.

    Returns
    -------
    ndarray or None
        `ordered_classes_`, which may hold more than `classes`; None if there is none.
    """
    ordered = _with_order(estimator, classes)
    return None if ordered is None else np.asarray(ordered.ordered_classes_)


def _with_order(estimator: object, classes: LabelArray) -> Estimator:
    """Return the fitted estimator, itself or one inside it, that knows the order of all ``classes``, or None."""
    known = getattr(estimator, "ordered_classes_", None)
    if known is not None and set(classes.tolist()) <= set(np.asarray(known).tolist()):
        return estimator
    found = (_with_order(inner, classes) for inner in _inside(estimator))
    return next((one for one in found if one is not None), None)


def _with_those_of(y_true: ArrayLike, order: LabelArray) -> LabelArray:
    """Return the sorted classes of a training with the labels that only ``y_true`` has; as they are if not sorted."""
    known = order.tolist()
    given = distinct_labels("y_true", y_true).distinct.tolist()
    new = [label for label in given if label not in known]
    are_text = {isinstance(label, str) for label in (*known, *new)}
    if not new or len(are_text) > 1 or known != sorted(known):
        return order
    every = sorted([*known, *new])
    refuse_numbers_as_text("y_true", every)
    return np.array(every, dtype=object if order.dtype.kind == "O" else None)


def _inside(estimator: object) -> Iterator[Estimator]:
    """Yield fitted estimators that a search, a pipeline, a calibration, a selection or an ensemble predicts with."""
    for name in ("best_estimator_", "estimator_", "final_estimator_"):
        if hasattr(estimator, name):
            yield getattr(estimator, name)
    yield from (step for _, step in getattr(estimator, "steps", [])[-1:])
    yield from list(getattr(estimator, "estimators_", []))[:1]
    yield from (one.estimator for one in getattr(estimator, "calibrated_classifiers_", []))


def _columns(proba: ArrayLike, order: OrderedLabels, classes: ArrayLike) -> LabelArray:
    """Return probabilities with columns in the order of the classes; one that the estimator lacks holds zeros."""
    P = np.asarray(proba)
    codes = order.encode(classes, name="classes_")
    if P.ndim != 2 or P.shape[1] != len(codes):
        raise ValueError(f"predict_proba must return one column for each of {len(codes)} classes; got {P.shape}")
    of_codes = np.zeros((len(P), len(order.ordered_classes_)), dtype=P.dtype)
    of_codes[:, codes] = P
    return of_codes


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
    if not isinstance(scoring, str) or scoring not in _NAMED:
        meant = METRICS.meant_by(scoring) if isinstance(scoring, str) else None
        hint = "" if meant is None else f"; did you mean {meant.scorer_name!r}?"
        raise ValueError(f"scoring must be one of {', '.join(map(repr, get_scorer_names()))}; got {scoring!r}{hint}")
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
