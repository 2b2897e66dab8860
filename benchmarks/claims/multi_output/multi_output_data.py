"""Rows with several outputs: the two simulated sets of Zhang and Jung, real ones, and a wide simulated one.

MNIST, Yeast, Caltech101 and NUS-WIDE are in no data folder of ours. Digits stand for MNIST, and their lower halves for
its inpainting; simulated classes stand for Caltech101, and conditions of health for the labels of NUS-WIDE.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_digits, make_classification

from lib.data import load, read

MOST_ROWS = 10_000
# Three hands of poker have six rows or fewer.
RARE = 30
SIMULATED_ROWS, VALIDATION_ROWS = 10_000, 5_000
# Of diabetes012; its target, diabetes or what comes before it, is one more.
CONDITIONS = ["HighBP", "HighChol", "Stroke", "HeartDiseaseorAttack", "DiffWalk"]


@dataclass(frozen=True)
class Part:
    """Features, shape (n, p), and outputs: values or labels of shape (n, d), or class codes of shape (n,)."""

    X: NDArray[np.float32]
    Y: NDArray[np.float64]

    def __getitem__(self, rows: NDArray[np.intp]) -> Part:
        return Part(self.X[rows], self.Y[rows])


@dataclass(frozen=True)
class Problem:
    """Rows to train on, to choose rounds and settings by, and to test on."""

    task: str  # "regression", "classes" or "labels"
    n_outputs: int
    fit: Part
    valid: Part
    test: Part


@dataclass(frozen=True)
class Kind:
    """A data set: how its rows are made, what is asked, how many partitions, and the least rows of a leaf."""

    make: Callable[[int], Part]  # of a seed
    task: str
    seeds: int
    min_rows: int  # Table XI: 16 for classes, 4 for the others
    like: str  # what it is or stands for
    simulated: bool = False


def friedman(seed: int) -> Part:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (2 * SIMULATED_ROWS + VALIDATION_ROWS, 10))
    f = np.sin(np.pi * X[:, 0] * X[:, 1]) + 2 * (X[:, 2] - 0.5) ** 2 + X[:, 3] + 0.5 * X[:, 4]
    return Part(X.astype(np.float32), f[:, None] + 0.1 * rng.normal(size=(len(f), 5)))


def projection(seed: int) -> Part:
    rng = np.random.default_rng(seed)
    w = rng.uniform(-1.0, 1.0, (4, 8))
    X = rng.uniform(-1.0, 1.0, (2 * SIMULATED_ROWS + VALIDATION_ROWS, 4)).astype(np.float32)
    return Part(X, X @ w)


@lru_cache(maxsize=1)
def student_por(_: int) -> Part:
    """Return the three grades, from -1 to 1, and everything else as numbers."""
    frame = read("student_por")
    grades = frame[["G1", "G2", "target"]].to_numpy(dtype=float) / 10 - 1
    return Part(_numbers(frame.drop(columns=["G1", "G2", "target"])), grades)


@lru_cache(maxsize=1)
def digits(_: int) -> Part:
    X, y = load_digits(return_X_y=True)
    return Part(X.astype(np.float32), y.astype(float))


@lru_cache(maxsize=1)
def digits_inpainting(_: int) -> Part:
    """Return the upper half of every digit, and six columns of the lower one."""
    images = load_digits().images / 16
    return Part(images[:, :4].reshape(len(images), -1).astype(np.float32), images[:, 4:, 1:7].reshape(len(images), -1))


@lru_cache(maxsize=1)
def conditions(_: int) -> Part:
    frame = read("diabetes012")
    labels = frame[CONDITIONS].assign(diabetes=frame["target"] > 0).to_numpy(dtype=float)
    return Part(_numbers(frame.drop(columns=[*CONDITIONS, "target"])), labels)


@lru_cache(maxsize=1)
def made_classes(_: int, n_rows: int = 8_677, n_classes: int = 101, n_features: int = 32) -> Part:
    """Return as many rows and classes as Caltech101 has."""
    X, y = make_classification(
        n_rows,
        n_features,
        n_informative=16,
        n_redundant=16,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=1.5,
        random_state=0,
    )
    return Part(X.astype(np.float32), y.astype(float))


def stored(name: str) -> Callable[[int], Part]:
    """Return a maker of the rows of classes that no partition lacks."""

    def make(_: int) -> Part:
        dataset = load(name)
        kept = (np.bincount(dataset.y) >= RARE)[dataset.y]
        return Part(_numbers(dataset.X)[kept], np.unique(dataset.y[kept], return_inverse=True)[1].astype(float))

    return lru_cache(maxsize=1)(make)


def _numbers(frame: pd.DataFrame) -> NDArray[np.float32]:
    return pd.get_dummies(frame, drop_first=False).to_numpy(dtype=np.float32)


KINDS = {
    "friedman1": Kind(friedman, "regression", 5, 4, "simulated, as the paper's", True),
    "random projection": Kind(projection, "regression", 5, 4, "simulated, as the paper's", True),
    "student_por": Kind(student_por, "regression", 10, 4, "Student-por"),
    "digits inpainting": Kind(digits_inpainting, "regression", 10, 4, "for MNIST-inpainting"),
    "digits": Kind(digits, "classes", 10, 16, "for MNIST"),
    "covertype93k": Kind(stored("covertype93k"), "classes", 3, 16, "not in the paper"),
    "poker25k": Kind(stored("poker25k"), "classes", 3, 16, "not in the paper"),
    "connect4": Kind(stored("connect4"), "classes", 3, 16, "not in the paper"),
    "101 classes": Kind(made_classes, "classes", 1, 16, "simulated, for Caltech101"),
    "conditions": Kind(conditions, "labels", 10, 4, "for NUS-WIDE"),
}


def problem(name: str, seed: int) -> Problem:
    """Return a partition: simulated rows as the paper draws them, and rows to validate on; others 56/14/30."""
    kind = KINDS[name]
    rows = kind.make(seed)
    if kind.simulated:
        cuts = [SIMULATED_ROWS, SIMULATED_ROWS + VALIDATION_ROWS]
        order = np.arange(len(rows.X))
    else:
        order = np.random.default_rng(seed).permutation(len(rows.X))[:MOST_ROWS]
        cuts = [56 * len(order) // 100, 70 * len(order) // 100]
    n_outputs = rows.Y.shape[1] if rows.Y.ndim == 2 else int(rows.Y.max()) + 1
    return Problem(kind.task, n_outputs, *(rows[part] for part in np.split(order, cuts)))
