"""The boosting loop: every round grows a tree and moves leaves and thresholds together.

Iteration t is the state after t trees: the score f_t and the thresholds that belong to it. One pass over the
rows at that state gives its loss and all that the next tree is grown on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives import _core
from ordinal_objectives.histogram_engine.binning import bin_rows, fill, find_cuts, uneven
from ordinal_objectives.histogram_engine.cross_terms import (
    FEWEST_CLASSES,
    CrossTerms,
    all_cross_terms,
    few_cross_terms,
    no_cross_terms,
    score_mass,
)
from ordinal_objectives.histogram_engine.high_order import HighOrderModel
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.pruning import Judge, LeafQuadratic, best_step_size, merge_splits
from ordinal_objectives.histogram_engine.sampling import Sampler
from ordinal_objectives.links import Logit
from ordinal_objectives.losses import AllThreshold, RoundStatistics
from ordinal_objectives.row_blocks import RowBlocks
from ordinal_objectives.rows import RowStatistics
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.threshold_solver import Diagnostics, JointQuadratic, ThresholdLearner
from ordinal_objectives.threshold_solver.curvature import tridiagonal
from ordinal_objectives.trees import Tree, reached
from ordinal_objectives.validation import check_two_classes

_ALL = 2**31 - 1
_NO_THRESHOLDS = (np.zeros(0), np.zeros((0, 0)), np.zeros(0, np.int32), 2, np.zeros((0, 0)))


class EngineRun:
    """One training run.

    Parameters
    ----------
    parameters : BoostingParameters
    X : ndarray of float32 or float64, or RowBlocks, shape (n_samples, n_features)
        NaN is missing. Read, never changed.
    y : ndarray of int32, shape (n_samples,)
        Class codes.
    n_classes : int
    sample_weight : ndarray of float64, shape (n_samples,), or None
    seed : int
        Together with the iteration it determines the rows and columns drawn.
    n_threads : int or None
    start : tuple of (ndarray, ndarray, int) or None
        Score, thresholds and iteration of a model that is continued.
    cuts, curvature : list of ndarray or None, ndarray or None
        Those of the model that is continued.
    judge : WatchedRows or None
        Validation rows that judge pruning and step size; None for the rows outside each sample.

    Attributes
    ----------
    raw_prediction : ndarray of float64, shape (n_samples,)
        The score of the newest iteration.
    cuts : list of ndarray
        Cuts of the features that the newest tree was grown on.
    curvature : ndarray of float64, shape (n_classes - 1,), or None
        What thresholds are grouped by, where they are: see :class:`.vector_run.VectorRun`.
    """

    def __init__(
        self,
        parameters: BoostingParameters,
        X: NDArray[np.floating] | RowBlocks,
        y: NDArray[np.int32],
        n_classes: int,
        sample_weight: NDArray[np.float64] | None = None,
        *,
        seed: int = 0,
        n_threads: int | None = None,
        start: tuple[NDArray[np.float64], NDArray[np.float64], int] | None = None,
        cuts: list[NDArray[np.float64]] | None = None,
        curvature: NDArray[np.float64] | None = None,
        judge: Judge | None = None,
    ) -> None:
        self.parameters = parameters
        self._y, self._weight, self._n_classes, self._seed = y, sample_weight, n_classes, seed
        self._n_threads, self._judge, self.curvature = n_threads, judge, curvature
        self._joint = self._judges_jointly()
        if self._joint and n_classes > _core.max_joint_classes:
            raise ValueError(
                f"threshold_update='joint' takes at most {_core.max_joint_classes} classes; got {n_classes}. "
                "Use 'newton', or merge classes"
            )
        loss = parameters.loss
        score, thresholds, self.iteration = start or (np.zeros(len(y)), None, 0)
        self._rows = self._kernel(y, sample_weight, score)
        check_two_classes(self._rows.class_weights, name="the training labels")
        self.raw_prediction = self._start_score(score)
        self._learner = ThresholdLearner(loss, self._rows.class_weights, thresholds, ordered=parameters.shifts is None)
        # Needed again only to be cut anew.
        self._X = X if parameters.rebin_every is not None else None
        self.cuts = find_cuts(X, parameters.max_bins, sample_weight, seed) if cuts is None else cuts
        self._sampler = Sampler(
            len(y),
            len(self.cuts),
            sample_weight,
            parameters.subsample,
            parameters.colsample_bytree,
            seed,
            leaves_rows_out=parameters.judges and judge is None,
        )
        self._engine = bin_rows(X, self.cuts, effective_n_threads(n_threads), in_float64=uneven(sample_weight))
        follows = parameters.hessian == "exact" and loss.link.curvature_floor == 0.0
        every = no_cross_terms()
        if self._joint:
            every = all_cross_terms(self._rows.class_weights, one_follows=follows, n_behind=self._n_behind)
        self._all_cross_terms = self._cross_terms = every
        # Bumps that do not depend on the label.
        self._few_may_do = (
            self._joint
            and parameters.cross_terms == "auto"
            and n_classes >= FEWEST_CLASSES
            and type(loss) is AllThreshold
            and type(loss.link) is Logit
        )
        # Higher derivatives of leaves alone; those that judge splits too are in the engine's rows.
        alone = parameters.order > 2 and not self._n_behind
        self._higher = np.empty((len(y), parameters.order - 2), np.float32) if alone else None
        self._leaf_of_row = np.empty(len(y), np.int32)
        self._next_score = np.empty_like(self.raw_prediction)  # changes places with raw_prediction when a step is taken
        self._now = self._evaluate(self.raw_prediction, self.thresholds)

    def _judges_jointly(self) -> bool:
        return self.parameters.threshold_update == "joint"

    def _kernel(self, y: NDArray[np.int32], weight: NDArray[np.float64] | None, score: NDArray[np.floating]) -> Any:
        """Return the pass over some rows that stand at a score."""
        return RowStatistics(self.parameters.loss, y, self._n_classes, weight, n_threads=self._n_threads)

    def _start_score(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        return score

    @property
    def thresholds(self) -> NDArray[np.float64]:
        """The newest thresholds, float64 (n_classes - 1,)."""
        return self._learner.thresholds

    @property
    def diagnostics(self) -> Diagnostics:
        """Counters."""
        return self._learner.diagnostics

    @property
    def training_loss(self) -> float:
        """Weighted mean loss of the newest iteration."""
        return float(self._now.loss / self._rows.total_weight)

    def advance(self) -> Tree:
        """Grow one tree, take the step and return the tree."""
        self._rebin()
        in_bag, features = self._sampler.draw(self.iteration)
        grown = self._grow(in_bag, features)
        tree = Tree.from_bins(grown, self.cuts)
        size = self.parameters.learning_rate
        if self.parameters.judges:
            tree, leaves, weights, delta, size = self._judge_held_out(tree, in_bag)
        else:
            leaves = tree.leaves
            weights, delta = self._fit(self._sums(len(tree.left), None), leaves)
        self._take(tree, leaves, weights, delta, size)
        self.iteration += 1
        return tree

    def _rebin(self) -> None:
        """Where it is time to, cut the features into bins of equal Hessian (thesis, section 4.1.3)."""
        every, hessian = self.parameters.rebin_every, self._now.hessian
        if every is None or self.iteration == 0 or self.iteration % every or not hessian.any():
            return
        assert self._X is not None
        self.cuts = find_cuts(self._X, self.parameters.max_bins, hessian.astype(np.float64), self._seed)
        self._engine.recut([c.tolist() for c in self.cuts])
        fill(self._engine, self._X)

    def _grow(self, in_bag: NDArray[np.uint32] | None, features: list[int]) -> dict[str, Any]:
        parameters = self.parameters
        growth = _core.Growth(
            features,
            in_bag,
            self._leaf_of_row,
            _ALL if parameters.max_leaf_nodes is None else parameters.max_leaf_nodes,
            _ALL if parameters.max_depth is None else parameters.max_depth,
            float(parameters.min_samples_leaf),
            parameters.min_child_weight,
            parameters.l2_regularization,
            parameters.gamma,
        )
        return self._grow_judged(growth, in_bag)

    def _grow_judged(self, growth: Any, in_bag: NDArray[np.uint32] | None) -> dict[str, Any]:
        """Grow a tree by the gain that judges this training's splits."""
        grown: dict[str, Any]
        thresholds = self._threshold_terms(in_bag) if self._joint else _NO_THRESHOLDS
        if self._n_behind:
            grown = self._engine.grow_high_order(growth, self.parameters.order, self._first_higher, *thresholds)
        elif self._joint:
            grown = self._engine.grow_joint(growth, *thresholds)
        else:
            grown = self._engine.grow_scalar(growth)
        return grown

    def _threshold_terms(self, in_bag: NDArray[np.uint32] | None) -> tuple[Any, ...]:
        """Return what the joint criterion is told of the thresholds."""
        sums = self._now if in_bag is None else self._statistics_of(in_bag)[1]
        V = full_hessian(sums)
        self._judge_cross_terms(in_bag, V)
        if self.parameters.hessian == "exact":
            V = self._cross_terms.threshold_hessian(V, len(self._y) if in_bag is None else len(in_bag))
        group = np.where(self._learner.active, np.cumsum(~self._learner.tied) - 1, -1)
        _, group = np.unique(np.append(group, -1), return_inverse=True)
        group = (group[:-1] - 1).astype(np.int32)
        cross = self._cross_terms
        return sums.threshold_gradient, V, group, cross.first, cross.weights

    def _judge_cross_terms(self, in_bag: NDArray[np.uint32] | None, V: NDArray[np.float64]) -> None:
        """Let few cross terms speak for the rows of the sample, and carry all where they cannot."""
        few: CrossTerms | None = self._cross_terms
        if not self._cross_terms.exact:
            if in_bag is not None:
                weight = None if self._weight is None else self._weight[in_bag]
                few = self._few(self.raw_prediction[in_bag], weight, self.thresholds, self._cross_terms.chosen)
            n_rows = len(self._y) if in_bag is None else len(in_bag)
            if (
                few is not None
                and self.parameters.hessian == "exact"
                and not few.agree(V, n_rows, self._learner.active)
            ):
                few = None
            if few is None:
                self._now = self._evaluate(self.raw_prediction, self.thresholds, few=False)
            else:
                self._cross_terms = few
        self.diagnostics.add(n_all_cross_terms=int(self._few_may_do and self._cross_terms.exact))

    @property
    def _n_behind(self) -> int:
        """Higher derivatives that judge splits: columns of the rows behind their count."""
        return 0 if self.parameters.split_gain == "quadratic" else self.parameters.order - 2

    @property
    def _first_higher(self) -> int:
        """The rows' first column behind gradient, Hessian, cross terms and count."""
        return 3 + len(self._cross_terms.chosen)

    def _few(
        self,
        raw_prediction: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        thresholds: NDArray[np.float64],
        chosen: NDArray[np.int32] | None = None,
    ) -> CrossTerms | None:
        """Return few cross terms that speak for these rows, if there are any: those chosen, or the best."""
        return few_cross_terms(
            score_mass(raw_prediction, weight, thresholds, effective_n_threads(self._n_threads)),
            thresholds,
            self.parameters.hessian,
            weighted=weight is not None,
            active=self._learner.active,
            chosen=chosen,
            n_behind=self._n_behind,
        )

    def _statistics_of(self, rows: NDArray[np.uint32]) -> tuple[Any, RoundStatistics]:
        """Return the kernel of some rows, and what it says of them."""
        score = self.raw_prediction[rows]
        some = self._kernel(self._y[rows], None if self._weight is None else self._weight[rows], score)
        return some, some(score, self.thresholds, self.parameters.hessian, want_loss=False)

    def _sums(self, n_nodes: int, rows: NDArray[np.uint32] | None) -> LeafQuadratic:
        """Add up rows (None for all) by leaf and over thresholds."""
        u, V = np.zeros(0), np.zeros((0, 0))
        few = not self._cross_terms.exact
        if self._joint:
            kernel, statistics = (self._rows, self._now) if rows is None else self._statistics_of(rows)
            u, V = statistics.threshold_gradient, full_hessian(statistics)
        if not few or self._n_behind:
            of_nodes = self._engine.leaf_sums(self._leaf_of_row, n_nodes, rows)
        if few:
            leaves = self._leaf_of_row if rows is None else self._leaf_of_row[rows]
            sums = kernel.leaf_sums(leaves, n_nodes)
            model = JointQuadratic(sums.gradient, sums.hessian, sums.cross, u, V)
        else:
            model = JointQuadratic(of_nodes[:, 0], of_nodes[:, 1], self._cross_terms.of_all(of_nodes), u, V)
        if self._n_behind:
            return HighOrderModel(**vars(model), higher=of_nodes[:, self._first_higher :][:, : self._n_behind])
        return model if self._higher is None else HighOrderModel.summed(model, self._higher, self._leaf_of_row)

    def _fit(self, sums: LeafQuadratic, leaves: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Leaf steps and threshold step (empty unless joint), without shrinkage."""
        learner = self._learner
        return sums.solve(
            leaves, self.parameters.l2_regularization, learner.active, learner.tied, diagnostics=learner.diagnostics
        )

    def _judge_held_out(
        self, tree: Tree, in_bag: NDArray[np.uint32] | None
    ) -> tuple[Tree, NDArray[np.intp], NDArray[np.float64], NDArray[np.float64], float]:
        """Prune and choose the step size; the step itself is fitted on all rows that do not judge."""
        if self._judge is not None:
            training, held_out = self._sums(len(tree.left), None), self._judge.leaf_quadratic(tree, self.thresholds)
        else:
            assert in_bag is not None
            outside = np.setdiff1d(np.arange(len(self._y), dtype=np.uint32), in_bag, assume_unique=True)
            training, held_out = (self._sums(len(tree.left), rows) for rows in (in_bag, outside))
        training, held_out = training.of_all_nodes(tree.left), held_out.of_all_nodes(tree.left)
        left = merge_splits(tree.left, training, held_out, self._fit) if self.parameters.pruning else tree.left
        leaves = np.flatnonzero((left < 0) & reached(left))
        weights, delta = self._fit(training, leaves)
        size = self.parameters.learning_rate
        if self.parameters.adaptive_step:
            size = best_step_size(held_out, leaves, weights, delta, size)
        tree, number = tree.pruned(left)
        np.take(number, self._leaf_of_row, out=self._leaf_of_row)
        return tree, tree.leaves, weights, delta, size

    def _take(
        self,
        tree: Tree,
        leaves: NDArray[np.intp],
        weights: NDArray[np.float64],
        delta: NDArray[np.float64],
        scale: float,
    ) -> None:
        """Move score and thresholds by the longest of the steps scale, scale/2, ... that does not raise the loss.

        The loss is that of all rows, whichever of them the step was fitted on. The next tree needs the pass that
        computes it, so a step that stands at once costs nothing more.
        """
        score = self._next_score

        def loss_at(share: float, thresholds: NDArray[np.float64]) -> float:
            tree.value[leaves] = share * scale * weights
            threads = effective_n_threads(self._n_threads)
            _core.add_leaf_values(self.raw_prediction, self._leaf_of_row, tree.value, score, threads)
            self._now = self._evaluate(score, thresholds)
            return self._now.loss

        highest = self._rows.highest_loss(self._now.loss)
        step = scale * delta if self._joint else np.zeros_like(self.thresholds)
        if self._learner.move(step, loss_at, highest) == 0.0:
            loss_at(0.0, self.thresholds)
        self.raw_prediction, self._next_score = score, self.raw_prediction
        if self.parameters.threshold_update == "newton":
            self._newton()

    def _newton(self) -> None:
        """One conditional Newton step on the thresholds given the new score."""
        learner = self._learner
        now = self._rows(self.raw_prediction, self.thresholds, learner.step_hessian, want_loss=learner.newton_may_rise)
        self._newton_from(now)

    def _newton_from(self, now: RoundStatistics) -> None:
        """Take that step from the sums at the newest score and thresholds, by the learner's Hessian."""

        def loss_at(thresholds: NDArray[np.float64]) -> float:
            self._now = self._evaluate(self.raw_prediction, thresholds)
            return self._now.loss

        if not self._learner.newton(now, loss_at, self._rows.highest_loss):
            self._now = self._evaluate(self.raw_prediction, self.thresholds)

    def _evaluate(
        self, raw_prediction: NDArray[np.float64], thresholds: NDArray[np.float64], *, few: bool = True
    ) -> RoundStatistics:
        found = self._few(raw_prediction, self._weight, thresholds) if few and self._few_may_do else None
        self._cross_terms = found or self._all_cross_terms
        chosen = self._cross_terms.chosen
        columns = self._engine.statistics(2 + len(chosen), self._n_behind)
        now: RoundStatistics = self._rows(
            raw_prediction,
            thresholds,
            self.parameters.hessian,
            want_cross=self._joint,
            side_by_side=columns,
            cross_of=chosen if self._joint else None,
            higher=columns[:, self._first_higher :][:, : self._n_behind] if self._n_behind else self._higher,
        )
        self.diagnostics.add(n_clipped=now.n_clipped, n_floored=now.n_floored)
        return now


def full_hessian(statistics: RoundStatistics) -> NDArray[np.float64]:
    """Return V as a full matrix, (n_classes - 1, n_classes - 1)."""
    return tridiagonal(statistics.threshold_hessian, statistics.threshold_hessian_off)
