"""Scores of a LightGBM booster that several threads may ask for at once."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray


class _Gate:
    """Lets predictions with the same iterations run together; others wait until those are done."""

    def __init__(self) -> None:
        self._queue = threading.Lock()  # so that a steady stream of one kind keeps no other out
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
    # The threads that would open a gate again do not exist in the child.
    os.register_at_fork(after_in_child=_gates.clear)


def predict_raw(booster: lightgbm.Booster, data: Any, start: int, stop: int, **params: Any) -> NDArray[np.float64]:
    """Return what iterations ``start`` to ``stop - 1`` add to the score, (n_samples,).

    A LightGBM booster keeps the iterations it predicts with as a state of its own, so a call from another thread
    with other iterations would change the answer under way.
    """
    with _gates.setdefault(booster, _Gate()).passed((start, stop)):
        scores = booster.predict(data, raw_score=True, start_iteration=start, num_iteration=stop - start, **params)
    return np.asarray(scores, dtype=np.float64)
