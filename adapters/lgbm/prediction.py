"""Probabilities and classes of a LightGBM booster that carries its thresholds; several threads may ask at once."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import lightgbm
import numpy as np

from ordinal_objectives import predictions, tables, threads, trees
from ordinal_objectives.adapters import arguments, prediction
from ordinal_objectives.adapters.lgbm import booster as lgbm_booster, input_checks
from ordinal_objectives.aliases import ArrayLike, FloatArray, IndexArray, NDArray
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils import shared_docs, validation


class _Gate:
    """Lets predictions with the same iterations run together; others wait until those are done."""

    def __init__(self) -> None:
        self._queue = threading.Lock()  # so that many calls of one kind do not block others for ever
        self._changed = threading.Condition()
        self._iterations: tuple[int, int] | None = None
        self._n_inside = 0

    @contextmanager
    def passed(self, iterations: tuple[int, int]) -> Iterator[None]:
        with self._queue, self._changed:
            self._changed.wait_for(lambda: not self._n_inside or self._iterations == iterations)
            self._iterations = iterations
            self._n_inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._n_inside -= 1
                self._changed.notify_all()


# Kept beside the boosters: a lock inside one could be neither pickled nor copied.
_gates: weakref.WeakKeyDictionary[lightgbm.Booster, _Gate] = weakref.WeakKeyDictionary()
if hasattr(os, "register_at_fork"):
    # Threads that hold a gate do not exist in the child.
    os.register_at_fork(after_in_child=_gates.clear)


def rows_for(booster: lightgbm.Booster, data: object) -> Any:
    """Return rows to predict as a booster reads them, by the levels that it was trained on.

    LightGBM reads columns by their places, whatever their names.
    """
    rows = validation.collected(data, name="data")
    input_checks.check_rows(rows, "data")
    names, given = booster.feature_name(), tables.column_names(rows)
    if given is not None and not input_checks.are_made_up(names):
        arguments.check_same_names(names, input_checks.written_names(given))
    tables.refuse_other_order(names, rows, name="data")
    return input_checks.with_codes(rows, booster.pandas_categorical, name="data")


def predict_raw(booster: lightgbm.Booster, data: object, start: int, stop: int, **params: Any) -> NDArray[Any]:
    """Return what iterations ``start`` to ``stop - 1`` add to the score, (n_samples,).

    With ``pred_leaf=True`` it is the leaf of each row in each of these iterations, (n_samples, stop - start).

    A LightGBM booster keeps the iterations it predicts with as a state of its own, so a call from another thread
    with other iterations would change the answer under way.
    """
    with _gates.setdefault(booster, _Gate()).passed((start, stop)):
        answer = booster.predict(data, raw_score=True, start_iteration=start, num_iteration=stop - start, **params)
    return np.asarray(answer)


def predict_scores(
    booster: lightgbm.Booster,
    record: ThresholdRecord,
    data: object,
    start: int,
    stop: int,
    **params: Any,
) -> FloatArray:
    """Return what iterations ``start`` to ``stop - 1`` add to the score, (n_samples,).

    Where thresholds move with x it is what they add to f + v_k, (n_samples, n_classes - 1): LightGBM itself predicts f,
    the mean over the thresholds, and the vectors of the leaves are in the record.
    """
    if record.shifts is None or start == stop:
        raw = predict_raw(booster, data, start, stop, **params)
        return raw if record.shifts is None else np.zeros((len(raw), record.n_classes - 1))

    def find_leaves(first: int, last: int) -> NDArray[Any]:
        return predict_raw(booster, data, first, last, pred_leaf=True, **params)

    n_samples = data.shape[0] if hasattr(data, "shape") else len(find_leaves(start, start + 1))
    scores = np.zeros((n_samples, record.n_classes - 1))
    if n_samples == 0:  # LightGBM divides by it
        return scores
    vectors_of = partial(_vectors_of, booster, record)
    trees.add_by_leaves(scores, find_leaves, vectors_of, start, stop, threads.effective_n_threads(None))
    return scores


def _vectors_of(booster: lightgbm.Booster, record: ThresholdRecord, tree: int) -> FloatArray:
    """Return what each leaf of a tree adds; a tree without vectors adds its values to all thresholds alike."""
    vectors = record.leaf_vectors[tree]
    if len(vectors):
        return vectors.astype(np.float64)
    values = lgbm_booster.leaf_values_in(booster.model_to_string(num_iteration=1, start_iteration=tree))
    return np.repeat(values[:, np.newaxis], record.n_classes - 1, axis=1)


def shifts_of(booster: lightgbm.Booster, record: ThresholdRecord, data: object) -> FloatArray:
    """Return the shifts of some rows by all iterations of a booster, (n_samples, n_classes - 1).

    Raises
    ------
    ValueError
        If the rows are no longer there.
    """
    if data is None:
        raise ValueError(
            "a model with thresholds that move with x is continued on its raw rows: pass Datasets that still hold them "
            "(free_raw_data=False, or new ones)"
        )
    return predictions.without_mean(predict_scores(booster, record, data, 0, booster.current_iteration()))


def proba_of(
    booster: lightgbm.Booster,
    record: ThresholdRecord,
    data: object,
    num_iteration: int | None,
    random_intercept: object = None,
) -> FloatArray:
    """Return class probabilities of a booster whose record is known; see :func:`predict_proba`."""
    end = lgbm_booster.iterations_of(booster, num_iteration)
    record.check_start(False, "booster", has_groups=random_intercept is not None)
    data = rows_for(booster, data)
    lgbm_booster.check_all_rounds(booster, record, end)
    return prediction.proba_of(record, predict_scores(booster, record, data, 0, end), end, random_intercept)


@shared_docs.documented
@threads.one_thread_after_fork()
def predict_proba(
    booster: lightgbm.Booster, data: object, num_iteration: int | None = None, *, random_intercept: object = None
) -> FloatArray:
    """Return class probabilities of a booster that carries its thresholds.

    Parameters
    ----------
    <<booster>>
        From a file, :func:`load_model` loads it.
    data : array-like
        Features, as :meth:`lightgbm.Booster.predict` takes them.
    <<num_iteration>>
    random_intercept : array-like of shape (n_samples,) or (n_samples, n_effects), frame, or None
        The group of each row, of a booster with random intercepts; None for the average group.

    Returns
    -------
    ndarray of float64, shape (n_samples, n_classes)

    Raises
    ------
    ValueError
        If the booster carries no thresholds, or none for that iteration; if data has other columns than the training,
        or types or categories that LightGBM does not read.

    Examples
    --------
    >>> import lightgbm
    >>> import numpy as np
    >>> from ordinal_objectives.adapters import lgbm as olgbm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.logistic(size=300), [-1.0, 1.0])
    >>> booster = olgbm.train({"verbosity": -1}, lightgbm.Dataset(X, y), 20)
    >>> olgbm.predict_proba(booster, X).shape
    (300, 3)
    """
    return proba_of(booster, lgbm_booster.carried_record(booster), data, num_iteration, random_intercept)


@threads.one_thread_after_fork()
@shared_docs.documented(like=predict_proba)
def predict(
    booster: lightgbm.Booster,
    data: object,
    num_iteration: int | None = None,
    *,
    decision_rule: str = "median",
    cost_matrix: ArrayLike | None = None,
    random_intercept: object = None,
) -> IndexArray:
    """Return class codes of a booster that carries its thresholds.

    Parameters
    ----------
    <<booster, data, num_iteration, decision_rule, cost_matrix, random_intercept>>

    Returns
    -------
    ndarray of int, shape (n_samples,)

    Examples
    --------
    >>> import lightgbm
    >>> import numpy as np
    >>> from ordinal_objectives.adapters import lgbm as olgbm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.logistic(size=300), [-1.0, 1.0])
    >>> booster = olgbm.train({"verbosity": -1}, lightgbm.Dataset(X, y), 20)
    >>> olgbm.predict(booster, X)[:4], y[:4]
    (array([1, 1, 1, 2]), array([1, 1, 0, 2]))
    """
    record = lgbm_booster.carried_record(booster)
    find = partial(proba_of, booster, record, data, num_iteration, random_intercept)
    return prediction.decide(record, find, decision_rule, cost_matrix)
