"""Milliseconds of rounds: data to time on, a clock for both libraries, variants in turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import xgboost

SKIPPED = 3  # the first rounds build histograms' cuts and warm the caches


def make_data(n_rows: int, n_features: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    score = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + rng.logistic(size=n_rows)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    return X, y.astype(np.int32)


class Clock(xgboost.callback.TrainingCallback):
    """Times rounds of either library."""

    order = 10**9

    def __init__(self) -> None:
        self.times: list[float] = []

    def _tick(self) -> None:
        self.times.append(time.perf_counter())

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self._tick()
        return False

    def __call__(self, env: Any) -> None:
        self._tick()

    def rounds(self) -> list[float]:
        return np.diff(self.times)[SKIPPED:].tolist()


def interleave(variants: dict[str, Callable[[], list[float]]], repeats: int) -> dict[str, float]:
    """Run the variants in turn; return the median round of each in milliseconds."""
    rounds: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(repeats):
        for name, variant in variants.items():
            rounds[name] += variant()
    return {name: 1e3 * median(values) for name, values in rounds.items()}
