"""Groups of rows beside a framework's matrices: arrays, or frames with a column for each random intercept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ordinal_objectives import predictions
from ordinal_objectives.adapters.arguments import Asked
from ordinal_objectives.adapters.training import labels_of
from ordinal_objectives.aliases import FloatArray, Table
from ordinal_objectives.estimators.arguments import one_for_each
from ordinal_objectives.estimators.random_intercept import (
    GroupColumn,
    ScoredRows,
    as_groups,
    check_random_intercept,
    encoded,
    settled,
    with_effects_beside,
)
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils import validation


@contextmanager
def bound_groups(
    asked: Asked, params: Mapping[str, Any], model: object, sets: Sequence[Any], *given: Any
) -> Iterator[None]:
    """Let matrices carry the groups of their rows during a training.

    Parameters
    ----------
    asked, params, model
        What is trained, with which parameters of the framework, and the model that is continued, if one is.
    sets : sequence of matrices
        That of the training first.
    *given : array-like, and sequence of array-like or None
        ``random_intercept`` and ``eval_random_intercept``.
    """
    groups, others = given
    if groups is None:
        if others is not None:
            raise ValueError("eval_random_intercept belongs to random_intercept, which is None")
        yield
        return
    spec, record = asked
    if model is not None or record is not None:
        raise ValueError("random_intercept must be None where a model is continued")
    allowed = {"threshold_update": "newton", "proportional": True, "booster": "gbtree"}
    described = {"threshold_update": spec.threshold_update, "proportional": spec.proportional, **params}
    check_random_intercept(spec.loss, described, **allowed)
    columns = GroupColumn.learn(as_groups(groups), list(range(as_groups(groups).shape[1])))
    try:
        for matrix, its in zip(sets, [groups, *one_for_each(others, sets[1:], "eval_random_intercept")], strict=True):
            if its is not None:
                matrix.ordinal_groups = columns, encoded(as_groups(its, len(columns)), columns)
        yield
    finally:
        for matrix in sets:
            vars(matrix).pop("ordinal_groups", None)


def proba_beside(record: ThresholdRecord, scores: FloatArray, n_iter: int, groups: Table) -> FloatArray:
    """Return class probabilities at the trees' scores after so many iterations, and the groups beside them."""
    loss, thresholds, effects = (
        record.ordinal_loss(),
        record.at(n_iter),
        [one.at(n_iter) for one in record.random_effects],
    )
    return predictions.proba(loss, with_effects_beside(scores, groups, effects, loss, thresholds), thresholds)


def with_last_effects(
    record: ThresholdRecord, n_iter: int, matrix: Any, groups: Table, scores: FloatArray, n_threads: int | None
) -> ThresholdRecord:
    """Return the record of a training on a matrix with the effects of the highest likelihood, given its scores."""
    weight = matrix.get_weight()
    codes = validation.check_codes(labels_of(matrix, matrix.get_label()), record.n_classes, name="the training set")
    columns = [one.column for one in record.random_effects]
    X, weight = encoded(as_groups(groups), columns), None if weight is None or not len(weight) else np.asarray(weight)
    return settled(record, n_iter, ScoredRows(X, codes, record.n_classes, weight, scores), n_threads)
