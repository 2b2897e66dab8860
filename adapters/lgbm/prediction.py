"""Probabilities and classes of a LightGBM booster that carries its thresholds; several threads may ask at once."""

from __future__ import annotations

import os
import re
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.arguments import check_same_names
from ordinal_objectives.adapters.lgbm.input_checks import check_rows, refused_rows
from ordinal_objectives.adapters.lgbm.leaf_vectors import leaf_scores
from ordinal_objectives.adapters.lgbm.levels import category_places, with_levels
from ordinal_objectives.adapters.lgbm.record import carried_record, check_all_rounds, iterations_of
from ordinal_objectives.adapters.objective import predict_from_scores
from ordinal_objectives.decision import decide
from ordinal_objectives.estimators.tables import column_names
from ordinal_objectives.predictions import without_mean
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import collected


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


def rows_for(booster: lightgbm.Booster, data: Any) -> Any:
    """Return rows that were handed over beside a booster as it reads them, by the levels that it was trained on.

    LightGBM reads columns by their places, whatever their names.
    """
    data = collected(data, name="data")
    check_rows(data, "data")
    names, given = booster.feature_name(), column_names(data)
    if given is not None and names != [f"Column_{place}" for place in range(len(names))]:  # what LightGBM calls others
        check_same_names(names, [re.sub(r"\s", "_", name) for name in given])
    return with_levels(data, None, booster.pandas_categorical, name="data") if category_places(data) else data


def predict_raw(
    booster: lightgbm.Booster, data: Any, start: int, stop: int, *, name: str = "data", **params: Any
) -> NDArray[np.float64]:
    """Return what iterations ``start`` to ``stop - 1`` add to the score, (n_samples,); errors call the rows ``name``.

    A LightGBM booster keeps the iterations it predicts with as a state of its own, so a call from another thread
    with other iterations would change the answer under way.
    """
    with refused_rows(data, name), _gates.setdefault(booster, _Gate()).passed((start, stop)):
        scores = booster.predict(data, raw_score=True, start_iteration=start, num_iteration=stop - start, **params)
    return np.asarray(scores, dtype=np.float64)


def predict_scores(
    booster: lightgbm.Booster,
    record: ThresholdRecord,
    data: Any,
    start: int,
    stop: int,
    *,
    name: str = "data",
    **params: Any,
) -> NDArray[np.float64]:
    """Return what iterations ``start`` to ``stop - 1`` add to the score, (n_samples,); errors call the rows ``name``.

    Where thresholds move with x it is what they add to f + v_k, (n_samples, n_classes - 1).
    """
    if record.shifts is None or start == stop:
        raw = predict_raw(booster, data, start, stop, name=name, **params)
        return raw if record.shifts is None else np.zeros((len(raw), record.n_classes - 1))

    def find_leaves(first: int, last: int) -> NDArray[np.int32]:
        with refused_rows(data, name), _gates.setdefault(booster, _Gate()).passed((first, last)):
            leaves = booster.predict(data, pred_leaf=True, start_iteration=first, num_iteration=last - first, **params)
        return np.asarray(leaves).reshape(-1, last - first)

    n_samples = data.shape[0] if hasattr(data, "shape") else len(find_leaves(start, start + 1))
    if n_samples == 0:  # LightGBM divides by it
        return np.zeros((0, record.n_classes - 1))
    return leaf_scores(booster, record, find_leaves, n_samples, start, stop)


def shifts_of(booster: lightgbm.Booster, record: ThresholdRecord, data: Any) -> NDArray[np.float64]:
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
    return without_mean(predict_scores(booster, record, data, 0, booster.current_iteration()))


def proba_of(
    booster: lightgbm.Booster, record: ThresholdRecord, data: Any, num_iteration: int | None
) -> NDArray[np.float64]:
    """Return class probabilities of a booster whose record is known; see :func:`predict_proba`."""
    end = iterations_of(booster, num_iteration)
    record.check_start(False, "booster")
    data = rows_for(booster, data)
    check_all_rounds(booster, record, end)
    return predict_from_scores(record, end, predict_scores(booster, record, data, 0, end))


@documented
@one_thread_after_fork()
def predict_proba(booster: lightgbm.Booster, data: Any, num_iteration: int | None = None) -> NDArray[np.float64]:
    """Return class probabilities of a booster that carries its thresholds.

    Parameters
    ----------
    <<booster>>
        From a file, :func:`load_model` loads it.
    data : array-like
        Features, as :meth:`lightgbm.Booster.predict` takes them.
    <<num_iteration>>

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
    return proba_of(booster, carried_record(booster), data, num_iteration)


@documented(like=predict_proba)
def predict(
    booster: lightgbm.Booster,
    data: Any,
    num_iteration: int | None = None,
    *,
    decision_rule: str = "median",
    cost_matrix: ArrayLike | None = None,
) -> NDArray[np.intp]:
    """Return class codes of a booster that carries its thresholds.

    Parameters
    ----------
    <<booster, data, num_iteration, decision_rule, cost_matrix>>

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
    carried_record(booster).ordinal_loss().check_decision(decision_rule, cost_matrix)
    return decide(predict_proba(booster, data, num_iteration), decision_rule, cost_matrix)
