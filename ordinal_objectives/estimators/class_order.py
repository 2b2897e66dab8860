"""The order of the classes as any fitted estimator, or one inside it, knows it, and what it predicts in this order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ordinal_objectives.aliases import ArrayLike, Estimator, LabelArray
from ordinal_objectives.estimators.labels import (
    OrderedLabels,
    distinct_labels,
    ordered_categories,
    refuse_numbers_as_text,
)


def classes_in_order(
    estimator: Estimator, y_true: ArrayLike, labels: ArrayLike | None, argument: str
) -> OrderedLabels | None:
    """Return the classes that an estimator is judged by, or None of one without classes.

    They are ``labels``, or else those whose order it knows, the categories of an ordered ``y_true``, or numbers. Where
    their order was found in the labels of the training, which may have lacked some, those of ``y_true`` are sorted in.

    Raises
    ------
    ValueError
        If the classes are text without an order; the message asks for ``argument``.
    """
    if labels is not None:
        return OrderedLabels(labels, name="labels")
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return None
    classes = np.asarray(classes)
    ordered = _with_order(estimator, classes)
    categories = ordered_categories(y_true) if ordered is None else None
    if categories is not None:
        return OrderedLabels(categories)
    if ordered is None and classes.dtype.kind not in "biuf":
        raise ValueError(
            f"{type(estimator).__name__} does not say what the order of its classes {classes.tolist()} is: pass "
            f"{argument} the classes from lowest to highest"
        )
    order = np.sort(classes) if ordered is None else np.asarray(ordered.ordered_classes_)
    if getattr(ordered, "classes", None) is None:
        order = _with_those_of(y_true, order)
    return OrderedLabels(order)


def response_of(estimator: Estimator, method: str, X: object, *arguments: object, what: str) -> Any:
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


def has_response(estimator: Estimator, method: str) -> bool:
    """Tell whether :func:`response_of` finds a method."""
    if isinstance(estimator, Pipeline):
        return has_response(estimator[-1], method)
    searched = hasattr(estimator, "best_estimator_") and has_response(estimator.best_estimator_, method)
    return hasattr(estimator, method) or searched


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


def columns_in_order(proba: ArrayLike, order: OrderedLabels, classes: ArrayLike) -> LabelArray:
    """Return probabilities with columns in the order of the classes; one that the estimator lacks holds zeros."""
    P = np.asarray(proba)
    codes = order.encode(classes, name="classes_")
    if P.ndim != 2 or P.shape[1] != len(codes):
        raise ValueError(f"predict_proba must return one column for each of {len(codes)} classes; got {P.shape}")
    of_codes = np.zeros((len(P), len(order.ordered_classes_)), dtype=P.dtype)
    of_codes[:, codes] = P
    return of_codes
