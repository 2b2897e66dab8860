"""The boosting loop: every round grows a tree and moves leaves and thresholds together.

Iteration t is the state after t trees: the score f_t and the thresholds that belong to it. One pass over the rows at
that state gives its loss and the derivatives that the next tree is grown on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives import _core
from ordinal_objectives.histogram_engine import category_noise
from ordinal_objectives.histogram_engine.criteria.base import Criterion
from ordinal_objectives.histogram_engine.criteria.list import choose
from ordinal_objectives.histogram_engine.engine_state import EngineState
from ordinal_objectives.histogram_engine.labelled_rows import LabelledRows, RunStart
from ordinal_objectives.histogram_engine.leaf_step import LeafStep, Leaves
from ordinal_objectives.histogram_engine.monotone_leaves import monotone_values
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.pruning import Judge, judged_step
from ordinal_objectives.histogram_engine.sampling import Sample, Sampler
from ordinal_objectives.threshold_solver import Diagnostics
from ordinal_objectives.trees import Tree

_ALL = 2**31 - 1


class EngineRun:
    """One training run.

    Parameters
    ----------
    parameters : BoostingParameters
    rows : LabelledRows
    seed : int
        Together with the iteration it determines the rows and columns drawn.
    n_threads : int or None
    start : RunStart
        Where a model that is continued ended.
    judge : WatchedRows or None
        Validation rows that judge pruning and step size; None for the rows outside each sample.
    criterion : callable or None
        ``criterion(state)`` returns what judges splits and solves leaves; None for what the parameters ask for.

    Attributes
    ----------
    state : EngineState
        Where the training stands: score, thresholds, the newest sums.
    criterion : Criterion
    iteration : int
    """

    def __init__(
        self,
        parameters: BoostingParameters,
        rows: LabelledRows,
        *,
        seed: int = 0,
        n_threads: int | None = None,
        start: RunStart | None = None,
        judge: Judge | None = None,
        criterion: Callable[[EngineState[Any]], Criterion] | None = None,
    ) -> None:
        start = start or RunStart()
        self.parameters, self.iteration, self._judge = parameters, start.iteration, judge
        self.state: EngineState[Any] = EngineState(parameters, rows, start, seed=seed, n_threads=n_threads)
        self._sampler = Sampler(
            len(rows.y),
            len(self.cuts),
            rows.sample_weight,
            1.0 if parameters.data_sample_strategy == "goss" else parameters.subsample,
            parameters.colsample_bytree,
            seed,
            leaves_rows_out=parameters.is_forest or (parameters.judges and judge is None),
        )
        self.criterion = (criterion or choose(parameters))(self.state)
        self.state.set_newest(self.criterion.columns(self.state.score, self.state.thresholds))

    @property
    def cuts(self) -> list[NDArray[np.float64]]:
        """Cuts of the features that the newest tree was grown on."""
        return self.state.cuts

    @property
    def curvature(self) -> NDArray[np.float64] | None:
        """What the criterion keeps for a training that continues this one, (n_classes - 1,), or None."""
        return self.criterion.curvature

    @property
    def raw_prediction(self) -> NDArray[Any]:
        """The score of the newest iteration: (n_samples,), or (n_samples, n_classes - 1) where leaves are vectors."""
        return self.state.score

    @property
    def thresholds(self) -> NDArray[np.float64]:
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
        in_bag, features = self._sampler.draw(self.iteration)
        sample = self._sample(in_bag)
        with state.sampled(sample):
            tree = Tree.from_bins(self.grow(sample.rows, features), self.cuts, state.n_values)
        solve = partial(self._solve, tree)
        if self.parameters.judges:
            sums = self._sums_to_judge(tree, in_bag)
            tree, number, step, size = judged_step(tree, *sums, solve, self.parameters)
            state.renumber(number)
        else:
            sums_of_all, size = criterion.sums(len(tree.left), None), self.parameters.learning_rate
            step = solve(sums_of_all, tree.leaves)
        criterion.take(tree, step, size)
        self.iteration += 1
        return tree

    def _solve(self, tree: Tree, sums: Any, leaves: Leaves) -> LeafStep:
        """Return the criterion's step of a newly grown tree, kept monotone where that is asked for.

        Pruning asks for several sets of leaves, (n_sets, n_leaves): what is clipped differs from set to set.
        """
        signs = self.parameters.constraints.signs
        if signs is not None and leaves.ndim == 2:
            steps = [self._solve(tree, sums, one) for one in leaves]
            return LeafStep(np.array([one.weights for one in steps]), np.array([one.delta for one in steps]))
        step = self.criterion.solve(sums, leaves)
        if signs is None:
            return step
        weights, clipped = monotone_values(tree, leaves, step.weights, signs)
        return self.criterion.with_leaves(sums, leaves, LeafStep(weights, step.delta)) if clipped else step

    def separate_tree(self, iteration: int) -> tuple[Tree, NDArray[np.uint32]]:
        """Grow a tree on a sample, with whole steps of its leaves fitted to the sample; the run stays where it is.

        Returns the tree and the rows that it was grown on.
        """
        in_bag, features = self._sampler.draw(iteration)
        assert in_bag is not None
        self.iteration = iteration
        tree = Tree.from_bins(self.grow(in_bag, features), self.cuts, self.state.n_values)
        tree.value[tree.leaves] = self._solve(tree, self.criterion.sums(len(tree.left), in_bag), tree.leaves).weights
        return tree, in_bag

    def _sample(self, in_bag: NDArray[np.uint32] | None) -> Sample:
        """Return the rows of the next tree: those that were drawn, or by their gradients.

        As in LightGBM, the first 1 / learning_rate trees take all rows instead.
        """
        parameters = self.parameters
        if parameters.data_sample_strategy != "goss" or self.iteration + 1 <= 1.0 / parameters.learning_rate:
            return Sample(in_bag)
        rates = parameters.top_rate, parameters.other_rate
        return self._sampler.by_gradients(self.iteration, self.state.columns, self.criterion.n_gradients, rates)

    def grow(self, in_bag: NDArray[np.uint32] | None, features: list[int]) -> dict[str, Any]:
        """Grow a tree on some rows, None for all, and some columns; return its nodes."""
        parameters = self.parameters
        growth = _core.Growth(
            features,
            in_bag,
            self.state.leaf_of_row,
            _ALL if parameters.max_leaf_nodes is None else parameters.max_leaf_nodes,
            _ALL if parameters.max_depth is None else parameters.max_depth,
            float(parameters.min_samples_leaf),
            parameters.min_child_weight,
            parameters.l2_regularization,
            parameters.gamma,
            parameters.max_features,
            self._sampler.node_seed(self.iteration) if parameters.max_features < 1.0 else 0,
            parameters.constraints.groups or [],
            [] if parameters.constraints.signs is None else parameters.constraints.signs.tolist(),
            self.criterion.n_gradients,
            self._category_noise(),
        )
        return self.criterion.grow(growth, in_bag)

    def _category_noise(self) -> float:
        categories = self.state.rows.categories
        return category_noise.of_score(self.state.columns, self.criterion.n_gradients) if categories else 0.0

    def _sums_to_judge(self, tree: Tree, in_bag: NDArray[np.uint32] | None) -> tuple[Any, Any]:
        """Return the sums that the step is fitted on, of all rows that do not judge, and those that judge it."""
        n_nodes, criterion = len(tree.left), self.criterion
        if self._judge is not None:
            held_out = self._judge.sums(tree, self.thresholds, criterion.exact_sums)
            return criterion.sums(n_nodes, None), held_out
        assert in_bag is not None
        outside = np.setdiff1d(np.arange(len(self.state.leaf_of_row), dtype=np.uint32), in_bag, assume_unique=True)
        return criterion.sums(n_nodes, in_bag), criterion.sums(n_nodes, outside)
