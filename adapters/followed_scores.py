"""The model's own scores beside the framework's: each row's leaf in the newest tree is found, its new value added."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ordinal_objectives.aliases import FloatArray, IndexArray, IntArray, RealArray
from ordinal_objectives.rows import Array, Device
from ordinal_objectives.threshold_solver import Diagnostics


class GrownTree(NamedTuple):
    """The properties of a tree that a joint step needs.

    Attributes
    ----------
    leaf_values : ndarray of float64, shape (n_leaves,)
        As the framework added them to its scores.
    learning_rate, reg_lambda : float
        Those the tree was grown with.
    value_type : type
        float32 or float64: how the framework stores a leaf value.
    route : callable
        ``route(matrix)`` returns the leaf of every row, int32 (n_samples,), by passing the rows through the
        tree: slow, but always exact. None where the framework has freed the rows.
    renew : callable or None
        ``renew(leaf_values)`` writes new values into the tree; None leaves that to the end of the training.
    leaves : ndarray of int32, shape (n_samples,), or None
        Leaf of every training row, if it is known already.
    off : float
        How far ``leaf_values`` may be from those that the framework added.
    """

    leaf_values: FloatArray
    learning_rate: float
    reg_lambda: float
    value_type: type
    route: Callable[[object], IntArray | None]
    renew: Callable[[FloatArray], None] | None
    leaves: IntArray | None = None
    off: float = 0.0


class FollowedScore:
    """Score of one matrix, or its scores for every threshold, followed tree by tree.

    Parameters
    ----------
    score : ndarray, shape (n_samples,)
        The framework's.
    iteration : int
    device : Device
    margins : ndarray of float32 or float64, shape (n_samples, n_classes - 1), or None
        The model's own scores f + v_k, one threshold after the other in memory. None where it has one score a row.

    Attributes
    ----------
    iteration : int
        Number of trees in it.
    framework_score : ndarray of float32 or float64, shape (n_samples,)
        As the framework keeps it, with the leaves that it set.
    raw_prediction : ndarray of float64, shape (n_samples,), or as ``margins``
        The model's own score, with renewed leaves.
    """

    def __init__(self, score: RealArray, iteration: int, device: Device, margins: RealArray | None = None) -> None:
        self.iteration = iteration
        self._device = device
        self.framework_score: RealArray = device.copy(score)
        self._add: Callable[..., RealArray]
        if margins is None:
            self.raw_prediction: RealArray = device.copy(score, np.float64)
            self._add = device.add_leaf_values
        else:
            self.raw_prediction, self._add = device.copy(margins), device.add_leaf_vectors
        self._spare: Array = None  # memory for the score with a tree more: new pages cost more than the sum

    def find_leaves(self, score: RealArray, tree: GrownTree, matrix: object) -> tuple[IntArray, IndexArray]:
        """Return the leaf of every row in the newest tree, and which leaves were merged.

        The change of the framework's score is the leaf value. Where two values are too close to be distinguished, the
        rows are routed through the tree; without the rows, such leaves are merged.

        Parameters
        ----------
        score : ndarray, shape (n_samples,)
            The framework's score with the newest tree.
        tree : GrownTree
        matrix : object
            What ``tree.route`` takes.

        Returns
        -------
        leaves : ndarray of int32, shape (n_samples,)
        merged : ndarray of int, shape (n_leaves,)
            Entry j is the leaf that leaf j is merged into: j itself, or one with the same value.
        """
        values = tree.leaf_values
        order = np.argsort(values, kind="stable").astype(np.int32)
        ascending = values[order]
        leaves, error, largest = self._device.match_leaves(self.framework_score, score, ascending, order)
        # The framework rounds each sum once; twice that leaves room for its own order of adding.
        noise = float(np.finfo(self.framework_score.dtype).eps) * max(largest, float(np.abs(values).max())) + tree.off
        close = np.diff(ascending) <= 2 * noise
        identity = np.arange(values.shape[0])
        if error <= noise and not close.any():
            return leaves, identity
        routed = tree.route(matrix)
        if routed is not None:
            return routed, identity
        if error > noise:
            raise RuntimeError(
                f"the framework's score changed by {error:.3g} beside the newest tree; only training with plain "
                f"boosted trees can be followed"
            )
        first_of_run = np.maximum.accumulate(np.where(np.append(True, ~close), identity, 0))
        merged = np.empty_like(identity)
        merged[order] = order[first_of_run]
        return self._device.renumbered(leaves, merged), merged

    def move(self, score: RealArray, raw_prediction: RealArray) -> None:
        """Replace both scores by those with the newest tree."""
        self.iteration += 1
        self.framework_score = self._device.copy(score, out=self.framework_score)
        if raw_prediction is self._spare:
            self._spare = self.raw_prediction
        self.raw_prediction = raw_prediction

    def plus(self, leaves: IntArray, leaf_values: RealArray) -> RealArray:
        """Return the model's scores with a tree more, shaped as they are, in memory that the next call reuses."""
        self._spare = total = self._add(self.raw_prediction, leaves, leaf_values, out=self._spare)
        return total


class TrainingHost(Protocol):
    """Access to the trees and matrices of a framework: a :class:`.training.Training`."""

    def newest_tree(self, matrix: object, before: object, after: object) -> GrownTree:
        """Return the tree that the framework added last for a training matrix.

        ``before`` and ``after`` are the framework's scores without it and with it, for a framework that passes scores
        before its trees can be read.
        """
        ...

    def initial_score(self, matrix: object) -> RealArray:
        """Return the score of an evaluated matrix before the first tree, (n_samples,)."""
        ...

    def initial_shifts(self, matrix: object) -> FloatArray | None:
        """Return the shifts of a matrix by the model that is continued, (n_samples, n_classes - 1), or None."""
        ...


class NewestTree(NamedTuple):
    """The newest tree, and the training rows in it.

    Attributes
    ----------
    tree : GrownTree
    own : FollowedScore
        Of the training rows, without the tree.
    score : ndarray of shape (n_samples,)
        The framework's, with the tree.
    leaves : ndarray of int32, shape (n_samples,)
    merged : ndarray of int, shape (n_leaves,)
        See :meth:`FollowedScore.find_leaves`.
    """

    tree: GrownTree
    own: FollowedScore
    score: RealArray
    leaves: IntArray
    merged: IndexArray


class FollowedScores:
    """Scores of all matrices of one run.

    Parameters
    ----------
    host : TrainingHost
    matrix : object
        The training matrix. Neither is kept alive: the host keeps the run.
    """

    def __init__(self, host: TrainingHost, matrix: object) -> None:
        self._host: TrainingHost = weakref.proxy(host)
        self.matrix = weakref.ref(matrix)
        self._of: weakref.WeakKeyDictionary[object, FollowedScore] = weakref.WeakKeyDictionary()
        self._follow: Callable[[object, RealArray, int], FollowedScore]
        self._tree: GrownTree | None = None

    def start(self, own: FollowedScore, follow: Callable[[object, RealArray, int], FollowedScore]) -> RealArray:
        """Begin with the training rows, and return the model's own score of them.

        ``follow(matrix, score, iteration)`` begins another matrix at the framework's score before the first tree.
        """
        self._first, self._follow = own.iteration, follow
        self._of[self.matrix()] = own
        return own.raw_prediction

    def newest(self, score: RealArray, diagnostics: Diagnostics) -> NewestTree:
        """Return the newest tree with the training rows in it, at the framework's score with the tree."""
        matrix = self.matrix()
        own = self._of[matrix]
        self._tree = tree = self._host.newest_tree(matrix, own.framework_score, score)
        every = np.arange(tree.leaf_values.shape[0])
        if tree.leaves is not None:
            return NewestTree(tree, own, score, tree.leaves, every)
        leaves, merged = own.find_leaves(score, tree, matrix)
        diagnostics.add(n_merged_leaves=int(np.count_nonzero(merged != every)))
        return NewestTree(tree, own, score, leaves, merged)

    def score_of(self, matrix: object, score: RealArray, added: Sequence[RealArray]) -> RealArray:
        """Return the model's own score of any matrix.

        Parameters
        ----------
        matrix : object
        score : ndarray of shape (n_samples,)
            The framework's, with the newest tree.
        added : list of ndarray
            What each leaf of the newest tree adds, if there is a tree.

        Raises
        ------
        RuntimeError
            If the matrix was not evaluated after the iteration before.
        """
        own = self._of.get(matrix)
        if own is None:
            own = self._of[matrix] = self._follow(matrix, self._host.initial_score(matrix), self._first)
        newest = self._of[self.matrix()].iteration
        if own.iteration == newest:
            return own.raw_prediction
        if own.iteration != newest - 1 or self._tree is None:
            raise RuntimeError(
                f"a matrix was evaluated after {newest} iterations and before that after {own.iteration}; with "
                f"threshold_update='joint' it must be evaluated after every iteration"
            )
        leaves, _ = own.find_leaves(score, self._tree, matrix)
        own.move(score, own.plus(leaves, added[-1]))
        return own.raw_prediction
