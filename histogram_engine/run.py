"""The boosting loop: every round grows a tree and moves leaves and thresholds together.

Pruning and step size may be judged on rows that the tree was not grown on: those outside its sample, or validation
rows. A step beta = (leaf weights, threshold step) changes their loss, to second order, by
Q(beta) = g'beta + 1/2 beta'H beta, with g and H their sums and no penalty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ordinal_objectives import _core
from ordinal_objectives.aliases import FloatArray, IndexArray, IntArray, NDArray
from ordinal_objectives.histogram_engine import constraints, criteria
from ordinal_objectives.histogram_engine.criteria.base import Criterion
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.state import EngineState, LeafModel, LeafStep, RunStart, Sample, TrainingSet
from ordinal_objectives.random_effects import RandomEffects
from ordinal_objectives.threshold_solver import Diagnostics
from ordinal_objectives.trees import Tree, reached_nodes

Fit = Callable[[Any, IndexArray], LeafStep]
# Pass, what its latest call returned, leaf of each row and number of nodes.
SumsOf = Callable[[Any, Any, IntArray, int], LeafModel]
# Sums of validation rows over the nodes of a new tree, at the score before it and at some thresholds.
Judge = Callable[[Tree, FloatArray, SumsOf], LeafModel]
# Rows that show how noisy the gradients of a training are.
NOISE_ROWS = 8192


class Sampler:
    """Draws rows and columns without replacement; what is drawn depends on seed and iteration only.

    Parameters
    ----------
    n_rows, n_features : int
    sample_weight : ndarray of float64, shape (n_rows,), or None
        Rows of weight 0 are not drawn.
    subsample, colsample_bytree : float
        Shares, above 0 and at most 1.
    seed : int
    leaves_rows_out : bool
        Whether at least one row stays outside of each tree.
    n_threads : int
    """

    def __init__(
        self,
        n_rows: int,
        n_features: int,
        sample_weight: FloatArray | None,
        subsample: float,
        colsample_bytree: float,
        seed: int,
        *,
        leaves_rows_out: bool = False,
        n_threads: int = 1,
    ) -> None:
        self._rows, self._n_features = _core.RowSampler(n_rows, sample_weight), n_features
        self._share_of_rows, self._share_of_columns = subsample, colsample_bytree
        self._seed, self._leaves_rows_out, self._n_threads = seed, leaves_rows_out, n_threads

    def draw(self, iteration: int) -> tuple[Sample, list[int]]:
        """Return the rows of an iteration and the columns; in order.

        Exactly the share of the rows is drawn, rounded. The rows hold until the next call.
        """
        sample, features = Sample(None), list(range(self._n_features))
        if self._share_of_rows < 1.0:
            n = self._rows.n_eligible
            size = min(max(1, round(self._share_of_rows * n)), n - self._leaves_rows_out)
            rows, outside = self._rows.draw(size, self._seed % 2**64, iteration, self._n_threads)
            sample = Sample(rows, outside=outside)
        if self._share_of_columns < 1.0:
            size = max(1, round(self._share_of_columns * self._n_features))
            rng = np.random.default_rng([self._seed, iteration])
            features = sorted(rng.choice(self._n_features, size, replace=False).tolist())
        return sample, features

    def by_gradients(
        self, columns: NDArray[np.float32], n_gradients: int, top_rate: float, other_rate: float, iteration: int
    ) -> Sample:
        """Keep the rows with the largest gradients, and draw some others, which count for all of these (GOSS) [1]_.

        Parameters
        ----------
        columns : ndarray of float32, shape (n_samples, at least 2 n_gradients)
            Gradients, then Hessians, weighted. Rows without Hessians are left out.
        n_gradients : int
        top_rate, other_rate : float
            Shares of the rows.
        iteration : int

        References
        ----------
        .. [1] G. Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", NIPS 2017.
        """
        drawn = top_rate, other_rate, self._seed % 2**64, iteration
        found = self._rows.draw_by_gradients(columns, n_gradients, *drawn, self._n_threads)
        return Sample(None) if found is None else Sample(*found)


class EngineRun:
    """One training run.

    Parameters
    ----------
    parameters : BoostingParameters
    rows : TrainingSet
    seed : int
        Together with the iteration it determines the rows and columns drawn.
    n_threads : int or None
    start : RunStart
        Where a model that is continued ended.
    judge : callable or None
        Sums of validation rows that judge pruning and step size; None for the rows outside each sample.
    criterion : type of Criterion, or None
        What judges splits and solves leaves; None for what the parameters ask for.

    Attributes
    ----------
    state : EngineState
        Where the training stands: score, thresholds, the newest sums.
    criterion : Criterion
    iteration : int

    Raises
    ------
    ValueError
        If the criterion does not take the parameters; the message names both sides.
    """

    def __init__(
        self,
        parameters: BoostingParameters,
        rows: TrainingSet,
        *,
        seed: int = 0,
        n_threads: int | None = None,
        start: RunStart | None = None,
        judge: Judge | None = None,
        criterion: type[Criterion] | None = None,
    ) -> None:
        if criterion is None:
            criterion = criteria.choose(parameters)
        else:
            criterion.check(parameters)
        start = start or RunStart()
        self.parameters, self.iteration, self._judge, self._seed = parameters, start.iteration, judge, seed
        self.state: EngineState[Any] = EngineState(
            parameters, rows, start, proportional=criterion.proportional, seed=seed, n_threads=n_threads
        )
        share = 1.0 if parameters.data_sample_strategy == "goss" else parameters.subsample
        given = len(rows.y), len(self.cuts), rows.sample_weight, share, parameters.colsample_bytree, seed
        out = parameters.is_forest or (parameters.judges and judge is None)
        self._sampler = Sampler(*given, leaves_rows_out=out, n_threads=self.state.n_threads)
        self.criterion = criterion(self.state)
        self.state.set_newest(self.criterion.columns(self.state.score, self.state.thresholds))

    start: FloatArray | None = None  # scores start from 0, or where another training ended

    @property
    def cuts(self) -> list[FloatArray]:
        """Cuts of the features that the newest tree was grown on."""
        return self.state.cuts

    @property
    def curvature(self) -> FloatArray | None:
        """What the criterion keeps for a training that continues this one, (n_classes - 1,), or None."""
        return self.criterion.curvature

    @property
    def effects(self) -> tuple[RandomEffects, ...]:
        """The newest effects of groups, if they have any."""
        state = self.state
        return () if state.effects is None else state.effects.found()

    @property
    def thresholds(self) -> FloatArray:
        """The newest thresholds, float64 (n_classes - 1,)."""
        return self.state.thresholds

    @property
    def diagnostics(self) -> Diagnostics:
        """Counters."""
        return self.state.diagnostics

    @property
    def training_loss(self) -> float:
        """Weighted mean loss of the newest iteration."""
        return float(self.state.now.loss / self.state.row_pass.total_weight)

    def advance(self) -> Tree:
        """Grow one tree, take the step and return the tree."""
        every, state, criterion = self.parameters.rebin_every, self.state, self.criterion
        if every is not None and self.iteration > 0 and self.iteration % every == 0:
            state.recut()
        drawn, features = self._sampler.draw(self.iteration)
        sample = self._sample(drawn)
        with state.sampled(sample):
            tree = Tree.from_bins(self.grow(sample.rows, features), self.cuts, state.n_values)
        solve = self._solver(tree)
        if self.parameters.judges:
            sums = self._sums_to_judge(tree, drawn)
            tree, number, step, size = judged_step(tree, *sums, solve, self.parameters)
            np.take(number, state.leaf_of_row, out=state.leaf_of_row)  # the leaves of the pruned tree
        else:
            sums_of_all, size = criterion.sums(len(tree.left), None), self.parameters.learning_rate
            step = solve(sums_of_all, tree.leaves)
        criterion.take(tree, step, size)
        self.iteration += 1
        return tree

    def _sample(self, drawn: Sample) -> Sample:
        """Return the rows of the next tree: those that were drawn, or by their gradients.

        As in LightGBM, the first 1 / learning_rate trees take all rows instead.
        """
        parameters = self.parameters
        if parameters.data_sample_strategy != "goss" or self.iteration + 1 <= 1.0 / parameters.learning_rate:
            return drawn
        rates = parameters.top_rate, parameters.other_rate
        return self._sampler.by_gradients(self.state.columns, self.criterion.n_gradients, *rates, self.iteration)

    def grow(self, in_bag: NDArray[np.uint32] | None, features: list[int]) -> dict[str, Any]:
        """Grow a tree on some rows, None for all, and some columns; return its nodes."""
        parameters, options = self.parameters, {}
        share = parameters.share_of_features(len(features))
        if share < 1.0:
            options["seed"] = int(np.random.default_rng([self._seed, self.iteration, 1]).integers(2**63))
        if parameters.constraints.signs is not None:
            options["signs"] = parameters.constraints.signs.tolist()
        growth = parameters.growth(
            features,
            in_bag,
            self.state.leaf_of_row,
            max_features=share,
            groups=parameters.constraints.groups or [],
            n_gradients=self.criterion.n_gradients,
            category_noise=self._category_noise() if self.state.rows.categories else 0.0,
            **options,
        )
        return self.criterion.grow(growth, in_bag)

    def _category_noise(self) -> float:
        """Return the mean squared gradient of the score over its mean Hessian.

        Where a category means nothing, the sum G of its rows' gradients has about this variance times H, and it adds
        to the gain G^2 / H in proportion.
        """
        columns, n = self.state.columns, self.criterion.n_gradients
        some = columns[:: len(columns) // NOISE_ROWS + 1, : 2 * n].astype(np.float64)
        curvature = some[:, n:].sum()
        return float((some[:, :n].sum(axis=1) ** 2).sum() / curvature) if curvature > 0.0 else 0.0

    def _solver(self, tree: Tree) -> Fit:
        """Return the criterion's step of a newly grown tree, kept monotone where that is asked for.

        Pruning asks for several sets of leaves, (n_sets, n_leaves): what is clipped differs from set to set.
        """
        signs, criterion = self.parameters.constraints.signs, self.criterion
        if signs is None:
            return criterion.solve
        weight = self.state.weight_of_nodes(tree)

        def solve(sums: Any, leaves: IndexArray) -> LeafStep:
            if leaves.ndim == 2:
                steps = [solve(sums, one) for one in leaves]
                return LeafStep(np.array([one.weights for one in steps]), np.array([one.delta for one in steps]))
            step = criterion.solve(sums, leaves)
            weights, clipped = constraints.monotone_values(tree, weight, leaves, step.weights, signs)
            return criterion.with_leaves(sums, leaves, LeafStep(weights, step.delta)) if clipped else step

        return solve

    def _sums_to_judge(self, tree: Tree, drawn: Sample) -> tuple[Any, Any]:
        """Return the sums that the step is fitted on, of all rows that do not judge, and those that judge it."""
        n_nodes, criterion = len(tree.left), self.criterion
        if self._judge is not None:
            held_out = self._judge(tree, self.thresholds, criterion.exact_sums)
            return criterion.sums(n_nodes, None), held_out
        return criterion.sums(n_nodes, drawn.rows), criterion.sums(n_nodes, drawn.outside)

    def separate_tree(self, iteration: int) -> tuple[Tree, Sample]:
        """Grow a tree on a sample, with whole steps of its leaves fitted to the sample; the run stays where it is.

        Returns the tree and the sample, which holds until the next one.
        """
        sample, features = self._sampler.draw(iteration)
        self.iteration = iteration
        with self.state.sampled(sample):
            tree = Tree.from_bins(self.grow(sample.rows, features), self.cuts, self.state.n_values)
            sums = self.criterion.sums(len(tree.left), sample.rows)
        tree.value[tree.leaves] = self._solver(tree)(sums, tree.leaves).weights
        return tree, sample


def judged_step(
    tree: Tree, training: LeafModel, held_out: LeafModel, fit: Fit, parameters: BoostingParameters
) -> tuple[Tree, IntArray, LeafStep, float]:
    """Prune a tree and choose the size of its step by held-out rows.

    Parameters
    ----------
    tree : Tree
        Newly grown.
    training, held_out : LeafModel
        Over its leaves.
    fit : callable
        ``fit(training, leaves)`` returns the step.
    parameters : BoostingParameters

    Returns
    -------
    Tree
        The pruned tree.
    ndarray of int32, shape (n_nodes,)
        The new number of each node; see :meth:`.trees.Tree.pruned`.
    LeafStep
        Of the leaves that are left.
    float
        Its size.
    """
    training, held_out = training.of_all_nodes(tree.left), held_out.of_all_nodes(tree.left)
    left = merge_splits(tree.left, training, held_out, fit) if parameters.pruning else tree.left
    leaves = np.flatnonzero((left < 0) & reached_nodes(left))
    step, size = fit(training, leaves), parameters.learning_rate
    if parameters.adaptive_step:
        size = best_step_size(held_out, leaves, step, size)
    tree, number = tree.pruned(left)
    return tree, number, step, size


def merge_splits(left: IntArray, training: LeafModel, held_out: LeafModel, fit: Fit) -> IntArray:
    """Undo splits that do not lower the held-out loss (thesis, Algorithm 4).

    Of all pairs of sibling leaves the one whose merger leaves Q lowest is merged, as long as Q is then not
    higher than before; the step is fitted anew each time.

    Parameters
    ----------
    left : ndarray of int32, shape (n_nodes,)
        Left child, -1 in a leaf.
    training, held_out : LeafModel
        Of all nodes.
    fit : callable
        ``fit(training, leaves)`` returns a step for each row of ``leaves``, (n_sets, n_leaves).

    Returns
    -------
    ndarray of int32, shape (n_nodes,)
        ``left`` of the pruned tree; nodes below a merged one are no longer reached.
    """
    left = left.copy()
    leaves = np.flatnonzero(left < 0)[np.newaxis]
    (now,) = held_out.changes(leaves, *fit(training, leaves))
    while True:
        inner = np.flatnonzero((left >= 0) & reached_nodes(left))
        twigs = inner[(left[left[inner]] < 0) & (left[left[inner] + 1] < 0)]
        if not twigs.size:
            return left
        is_leaf = np.tile((left < 0) & reached_nodes(left), (len(twigs), 1))
        each = np.arange(len(twigs))
        is_leaf[each, left[twigs]] = is_leaf[each, left[twigs] + 1] = False
        is_leaf[each, twigs] = True
        leaves = np.nonzero(is_leaf)[1].reshape(len(twigs), -1)
        changes = held_out.changes(leaves, *fit(training, leaves))
        best = np.argmin(changes)
        if not changes[best] <= now:
            return left
        left[twigs[best]] = -1
        now = changes[best]


def best_step_size(held_out: LeafModel, leaves: IndexArray, step: LeafStep, most: float) -> float:
    """Return the step size that lowers the held-out loss most, between 0 and ``most`` (thesis, eq. 4.6)."""
    slope, curvature = held_out.slope(leaves, *step), held_out.curvature(leaves, *step)
    if slope >= 0.0:
        return 0.0
    return most if -slope >= most * curvature else -slope / curvature
