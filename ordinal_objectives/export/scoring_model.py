"""What a fitted classifier computes, without its trainer: trees, and the thresholds that cut their sum."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.estimators.linear import LinearPart
from ordinal_objectives.estimators.ordinal_classifier import OrdinalClassifier
from ordinal_objectives.estimators.tables import column_kinds
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.utils.validation import check_integer

FloatArray = NDArray[np.float64]
# Numbers of at most this size are zeros to LightGBM.
ZERO = 1e-35


@dataclass(frozen=True)
class ScoringTree:
    """A tree of any trainer.

    Attributes
    ----------
    feature : ndarray of int32, shape (n_nodes,)
        -1 in a leaf.
    threshold : ndarray of float64, shape (n_nodes,)
        Values up to it go left, infinity where all numbers do. 0 where categories part the rows, and in leaves.
    left, right : ndarray of int32, shape (n_nodes,)
        Children; -1 in a leaf. The root is node 0.
    missing_left : ndarray of bool, shape (n_nodes,)
        Whether missing values go left.
    value : ndarray of float64, shape (n_nodes, n_outputs)
        What a leaf adds; 0 elsewhere.
    count : ndarray of float64, shape (n_nodes,)
        Training rows of each node, or their Hessian where the trainer keeps that.
    categories : mapping of int to ndarray of int64
        Of each node that parts rows by categories: the codes that go left. All others go right.
    """

    feature: NDArray[np.int32]
    threshold: FloatArray
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    value: FloatArray
    count: FloatArray
    categories: Mapping[int, NDArray[np.int64]] = field(default_factory=dict)


@dataclass(frozen=True)
class Scorer:
    """The trees of a trainer, and how they read a row.

    Attributes
    ----------
    trees : list of ScoringTree
        In their order.
    n_outputs : int
        1 if the trees add up to the score f, n_classes - 1 if they add up to f + v_k of each threshold.
    offset : ndarray of float64, shape (n_outputs,)
        What is added to the sum of the trees.
    reads_float32 : bool
        Whether features are rounded to float32 before they meet a threshold, as in XGBoost.
    missing : float
        A number that stands for a missing value, beside NaN.
    zero_is_missing : ndarray of int, shape (n,)
        Features whose zeros are missing.
    levels : dict of int to list
        Levels of the columns that hold categories by value; the code of a level is its place. A level that is missing
        or unknown is a missing value.
    codes_everywhere : bool
        Whether a linear part reads codes as well, in the place of the columns themselves.
    """

    trees: list[ScoringTree]
    n_outputs: int
    offset: FloatArray
    reads_float32: bool = False
    missing: float = np.nan
    zero_is_missing: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))
    levels: Mapping[int, list[Any]] = field(default_factory=dict)
    codes_everywhere: bool = False

    @property
    def read_as_codes(self) -> NDArray[np.intp]:
        """Features of categories that are given as codes, whose fractions the trainer leaves off."""
        by_category = {int(tree.feature[node]) for tree in self.trees for node in tree.categories}
        return np.array(sorted(by_category - set(self.levels)), dtype=np.intp)

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the sum of trees and offset, (n_samples, n_outputs), row by row: slow, to compare with.

        Parameters
        ----------
        X : ndarray of float, shape (n_samples, n_features)
            Codes in the place of levels.
        """
        X = X.astype(np.float32 if self.reads_float32 else np.float64).astype(np.float64)
        X = np.where(self.missing == X, np.nan, X)
        of_zero = X[:, self.zero_is_missing]
        X[:, self.zero_is_missing] = np.where(np.abs(of_zero) <= ZERO, np.nan, of_zero)
        whole = np.floor if self.reads_float32 else np.trunc
        X[:, self.read_as_codes] = whole(X[:, self.read_as_codes])
        return np.array([self.offset + sum(tree.value[_leaf(tree, row)] for tree in self.trees) for row in X])


def _leaf(tree: ScoringTree, row: FloatArray) -> int:
    node = 0
    while tree.feature[node] >= 0:
        value = row[tree.feature[node]]
        if np.isnan(value):
            goes_left = tree.missing_left[node]
        elif node in tree.categories:
            goes_left = value in tree.categories[node]
        else:
            goes_left = value <= tree.threshold[node]
        node = int(tree.left[node] if goes_left else tree.right[node])
    return node


@dataclass(frozen=True)
class ScoringModel:
    """What a fitted classifier computes.

    Attributes
    ----------
    scorer : Scorer
    thresholds : ndarray of float64, shape (n_classes - 1,)
        Those that belong to the trees.
    model : OrdinalClassifier
        The fitted classifier: loss, linear part, labels and decision are its own.
    """

    scorer: Scorer
    thresholds: FloatArray
    model: OrdinalClassifier

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.thresholds) + 1

    @property
    def loss(self) -> OrdinalLoss:
        """Loss of the training."""
        return self.model.trained_loss()

    @property
    def linear(self) -> LinearPart | None:
        """The linear part, whose score is added to the trees'."""
        return self.model.linear_

    @property
    def names(self) -> list[str] | None:
        """Names of the features."""
        names = getattr(self.model, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]


# What reads the trees of each classifier.
_READERS = {
    "XGBOrdinalClassifier": "xgboost_trees",
    "LGBMOrdinalClassifier": "lightgbm_trees",
    "HistGradientBoostingOrdinalClassifier": "engine_trees",
}


def scoring_model(model: Any, iterations: int | None = None, X_example: Any = None) -> ScoringModel:
    """Return what a fitted classifier of this package computes.

    Parameters
    ----------
    model : XGBOrdinalClassifier, LGBMOrdinalClassifier or HistGradientBoostingOrdinalClassifier
    iterations : int or None, default=None
        Number of its first iterations, with the thresholds that belong to them; None for all that it predicts with.
    X_example : array, frame or Arrow table, or None, default=None
        Rows like those of the training, whose types say which columns hold categories by value.

    Raises
    ------
    TypeError
        If it is another object.
    NotFittedError
        Before ``fit``.
    ValueError
        If it has no such iteration, or its booster has no trees that could be written down.
    """
    reader = next((_READERS[kind.__name__] for kind in type(model).__mro__ if kind.__name__ in _READERS), None)
    if reader is None or not isinstance(model, OrdinalClassifier):
        raise TypeError(f"model must be one of {', '.join(_READERS)}; got {type(model).__name__}")
    check_is_fitted(model)
    n_iter = model.n_iter_ if iterations is None else check_integer("iterations", iterations, 0, model.n_iter_)
    read = importlib.import_module(f"ordinal_objectives.export.{reader}").read
    by_value = [place for place, (_, _, kind) in enumerate(column_kinds(X_example)) if kind == "category"]
    return ScoringModel(read(model, n_iter, by_value), model.threshold_history_[n_iter], model)
