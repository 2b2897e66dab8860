"""What ``train`` of each library does around its training: the model that is asked for, labels, and groups of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from ordinal_objectives import random_effects
from ordinal_objectives.adapters.arguments import Asked, given_options, spec_and_record
from ordinal_objectives.adapters.training import CARRIED, bind_labels, labels_of
from ordinal_objectives.aliases import FloatArray
from ordinal_objectives.estimators.arguments import one_for_each
from ordinal_objectives.threshold_solver.random_intercept import (
    RowsWithScores,
    check_random_intercept,
    with_final_effects,
)
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils import validation

# Takes a record, its number of rounds, the scores of the training rows and the number of threads.
LastEffects = Callable[[ThresholdRecord, int, FloatArray, "int | None"], ThresholdRecord]


def train[Booster](
    entry_point: str,
    given: dict[str, Any],
    model: object,
    sets: Sequence[Any],
    train_spec: Callable[..., Booster],
    settle: Callable[[Booster, LastEffects], None],
) -> Booster:
    """Train the model that a library's ``train`` was asked for.

    Parameters
    ----------
    entry_point : str
        Its name in ``ENTRY_POINTS``.
    given : dict of str to object
        Its arguments by name.
    model : object
        The one among them that is continued, or None.
    sets : sequence of matrices
        That of the training first. During the training they carry their labels and groups.
    train_spec : callable
        The library's, which takes the specification and the other arguments.
    settle : callable
        ``settle(booster, last_effects)`` stores the random effects that have the highest likelihood at the last round.
    """
    labels = given.pop("labels")
    groups, eval_groups = given.pop("random_intercept"), given.pop("eval_random_intercept")
    if labels is not None:
        bind_labels(sets[0], labels)
        given["n_classes"] = len(labels.classes) if given["n_classes"] is None else given["n_classes"]
    asked = spec_and_record(entry_point, **given_options(given))
    with bound_groups(asked, given["params"], model, sets, groups, eval_groups):
        booster = train_spec(asked, **given.pop("options", {}), **given)
    if groups is not None:
        settle(booster, partial(_with_last_effects, sets[0], groups))
    return booster


@contextmanager
def bound_groups(
    asked: Asked,
    params: Mapping[str, object],
    model: object,
    sets: Sequence[Any],
    random_intercept: object = None,
    eval_random_intercept: Sequence[object] | None = None,
) -> Iterator[None]:
    """Let matrices carry the groups of their rows during a training.

    Parameters
    ----------
    asked, params, model
        What is trained, with which parameters of the framework, and the model that is continued, if one is.
    sets : sequence of matrices
        That of the training first.
    random_intercept : array-like of shape (n_samples,) or (n_samples, n_effects), frame, or None
        The group of each row, which has an effect on the score; several columns have effects that add up. Needs
        ``loss="cumulative_link"`` and ``threshold_update="newton"``. :func:`threshold_record` has the effects,
        ``random_effects``.
    eval_random_intercept : sequence of these or None
        Groups of each evaluation set; None for rows of the average group.
    """
    if random_intercept is None:
        if eval_random_intercept is not None:
            raise ValueError("eval_random_intercept belongs to random_intercept, which is None")
        yield
        return
    spec, record = asked
    if model is not None or record is not None:
        raise ValueError("random_intercept must be None where a model is continued")
    described = {"threshold_update": spec.threshold_update, "proportional": spec.proportional, **params}
    allowed = {"threshold_update": "newton", "proportional": True, "booster": "gbtree"}
    check_random_intercept(spec.loss, described, **allowed)
    validation.refuse_soft(getattr(sets[0], CARRIED, None), name="the training set beside random_intercept")
    X = random_effects.as_groups(random_intercept)
    columns = random_effects.GroupColumn.learn(X, list(range(X.shape[1])))
    others = one_for_each(eval_random_intercept, sets[1:], "eval_random_intercept")
    try:
        for matrix, its in zip(sets, [X, *others], strict=True):
            if its is not None:
                matrix.ordinal_groups = columns, random_effects.codes_beside(its, columns)
        yield
    finally:
        for matrix in sets:
            vars(matrix).pop("ordinal_groups", None)


def _with_last_effects(
    matrix: Any, groups: object, record: ThresholdRecord, n_iter: int, scores: FloatArray, n_threads: int | None
) -> ThresholdRecord:
    """Return the record of a training on a matrix with the effects of the highest likelihood, given its scores."""
    weight = matrix.get_weight()
    codes = validation.check_codes(labels_of(matrix, matrix.get_label()), record.n_classes, name="the training set")
    X = random_effects.codes_beside(groups, [one.column for one in record.random_effects])
    weight = np.asarray(weight) if np.size(weight) > 1 else None
    rows = RowsWithScores(X, codes, record.n_classes, weight, scores)
    return with_final_effects(record, n_iter, rows, n_threads)
