"""One training: every round grows one tree whose leaves move all outputs, or those worth most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives import _core
from ordinal_objectives.estimators.held_out import Rows
from ordinal_objectives.histogram_engine import category_noise
from ordinal_objectives.histogram_engine.binning import bin_rows, find_cuts, uneven
from ordinal_objectives.histogram_engine.multi_output.checked_loss import CheckedLoss
from ordinal_objectives.histogram_engine.multi_output.columns import OutputColumns
from ordinal_objectives.histogram_engine.multi_output.parameters import MultiOutputParameters
from ordinal_objectives.histogram_engine.sampling import Sampler
from ordinal_objectives.leaves import multi_output
from ordinal_objectives.rows.checked_rows import IN_FLOAT32, IN_FLOAT64, highest_loss
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.threshold_solver import Diagnostics, longest_step
from ordinal_objectives.trees import Tree

FloatArray = NDArray[np.float64]
_ALL = 2**31 - 1
# Numbers of a block of rows: its scores, derivatives and columns stay in the cache.
_BLOCK = 1 << 16
_NO_THRESHOLDS = np.zeros(0)


@dataclass(frozen=True)
class TargetRows(Rows):
    """Rows with their targets; the class codes are zeros where there are none."""

    targets: Any = None


class MultiOutputRun:
    """One training run.

    Parameters
    ----------
    parameters : MultiOutputParameters
    loss : CheckedLoss
    rows : TargetRows
        Read, never changed.
    seed : int
        Draws the rows that the cuts of a large table are computed from, and with the iteration those of a tree.
    n_threads : int or None
    earlier : tuple of (ndarray, ndarray, list of ndarray, int) or None
        Start, raw prediction of the rows, cuts and number of trees of a model that is continued.
    categories : mapping of int to int, or None
        Columns that hold numbers of categories, and how many each has.

    Attributes
    ----------
    start : ndarray of float64, shape (n_outputs,)
        The raw prediction before the first tree.
    raw_prediction : ndarray of float64, shape (n_samples, n_outputs)
        That of the newest iteration.
    thresholds : ndarray of float64, shape (0,)
    curvature : None
        There are no thresholds.
    diagnostics : Diagnostics
        Counters.
    """

    thresholds = _NO_THRESHOLDS
    curvature: FloatArray | None = None

    def __init__(
        self,
        parameters: MultiOutputParameters,
        loss: CheckedLoss,
        rows: TargetRows,
        *,
        seed: int = 0,
        n_threads: int | None = None,
        earlier: tuple[FloatArray, FloatArray, list[FloatArray], int] | None = None,
        categories: Mapping[int, int] | None = None,
    ) -> None:
        X, sample_weight, y = rows.X, rows.weight, rows.targets
        self.parameters, self._loss, self._y, self._weight = parameters, loss, y, sample_weight
        if earlier is None:
            self.start = loss.start(y, sample_weight)
            self.raw_prediction = np.tile(self.start, (len(y), 1))
            loss.predictions(self.raw_prediction[: len(self.start) + 1])  # not as many rows as outputs
            self.cuts, self.iteration = find_cuts(X, parameters.max_bins, sample_weight, seed, categories), 0
        else:
            self.start, self.raw_prediction, self.cuts, self.iteration = earlier
        _, gradient, hessian = loss.derivatives(y[:2], self.raw_prediction[:2], parameters.hessian)
        self._columns = OutputColumns.of(gradient, hessian, len(self.start), weighted=sample_weight is not None)
        d = self._columns.n_outputs
        self._most = d if parameters.max_outputs is None else min(parameters.max_outputs, d)
        if self._columns.kind == "full":
            if self._most < d:
                raise ValueError(f"max_outputs={self._most} needs outputs that are separate: hessian='diagonal'")
            if parameters.l2_regularization == 0.0:
                raise ValueError("hessian='full' inverts matrices: it needs l2_regularization > 0; got 0.0")
        self._by_category = bool(categories)
        options = {"in_float64": uneven(sample_weight), **parameters.of_categories(categories or {})}
        self._engine = bin_rows(X, self.cuts, effective_n_threads(n_threads), **options)
        self._statistics = self._engine.statistics(self._columns.n_columns)
        self._total_weight = float(len(y) if sample_weight is None else sample_weight.sum())
        shares = parameters.subsample, parameters.colsample_bytree
        self._sampler = Sampler(len(y), len(self.cuts), sample_weight, *shares, seed)
        self._leaf_of_row = np.zeros(len(y), np.int32)
        self._next_raw = np.empty_like(self.raw_prediction)  # swapped with raw_prediction after a step
        self.diagnostics = Diagnostics()
        self._rounding = IN_FLOAT64  # of the loss sum, relative
        self._loss_sum = self._evaluate(np.zeros((1, d)))
        if not np.isfinite(self._loss_sum):
            raise ValueError(
                f"{loss.name} must be finite before the first tree; got a mean loss of {self.training_loss}"
            )
        self._least = abs(self._loss_sum)  # losses near 0 have the rounding error of the first one
        self._settle()

    @property
    def training_loss(self) -> float:
        """Weighted mean loss of all training rows at the newest iteration."""
        return self._loss_sum / self._total_weight

    def advance(self) -> Tree:
        """Grow one tree and return it, after the longest of the steps eta, eta/2, ... that does not raise the loss.

        The loss is that of all training rows, whichever of them the tree was grown on.
        """
        tree = Tree.from_bins(self._grow(), self.cuts, self._columns.n_outputs)
        leaves, steps = tree.leaves, self.parameters.learning_rate * self._steps(tree)

        def loss_at(share: float, _: FloatArray) -> float:
            tree.value[leaves] = share * steps if share > 0.0 else 0.0
            return self._evaluate(tree.value)

        highest = highest_loss(self._loss_sum, self._rounding, self._least)
        nothing = _NO_THRESHOLDS, _NO_THRESHOLDS
        _, share = longest_step(*nothing, loss_at, highest, ordered=False, diagnostics=self.diagnostics)
        if share == 0.0:
            loss_at(0.0, _NO_THRESHOLDS)
        self._settle()
        self.iteration += 1
        return tree

    def _grow(self) -> dict[str, Any]:
        parameters, columns = self.parameters, self._columns
        in_bag, features = self._sampler.draw(self.iteration)
        growth = _core.Growth(
            features,
            in_bag,
            self._leaf_of_row,
            parameters.max_leaf_nodes or _ALL,
            parameters.max_depth or _ALL,
            float(parameters.min_samples_leaf),
            parameters.min_child_weight,
            parameters.l2_regularization,
            parameters.gamma,
            category_noise=self._category_noise(),
        )
        grown: dict[str, Any] = self._engine.grow_multi_output(
            growth,
            columns.n_outputs,
            columns.kind,
            columns.first_hessian,
            self._most,
            parameters.search == "restricted",
        )
        return grown

    def _category_noise(self) -> float:
        return category_noise.of_outputs(*self._columns.split(self._statistics)) if self._by_category else 0.0

    def _steps(self, tree: Tree) -> FloatArray:
        """Return the leaves' steps, (n_leaves, n_outputs)."""
        sums = self._engine.leaf_sums(self._leaf_of_row, len(tree.left), None)
        l2 = self.parameters.l2_regularization
        outputs = None
        if self._most < self._columns.n_outputs:
            if self.parameters.search == "restricted":
                _add_up(sums, tree.left)
            worth = multi_output.output_values(*self._columns.split(sums), l2)
            if self.parameters.search == "restricted":
                _share(worth, tree.left)
            outputs = multi_output.largest(worth[tree.leaves], self._most)
        G, H = self._columns.split(sums[tree.leaves])
        if self._columns.kind != "full":
            flat = ((G != 0.0) & (H + l2 <= 0.0)).any(axis=1)
            self.diagnostics.add(n_flat_leaves=int(np.count_nonzero(flat)))
        return multi_output.steps(G, H, l2, outputs)

    def _evaluate(self, values: FloatArray) -> float:
        """Return the loss sum after a step by the values of the rows' leaves; leave the derivatives in the columns."""
        columns, self._tried, self._hold = self._columns, 0.0, True
        block = max(1, _BLOCK // columns.n_columns)
        for begin in range(0, len(self._y), block):
            rows = slice(begin, begin + block)
            raw, weight = self._next_raw[rows], None if self._weight is None else self._weight[rows]
            np.add(self.raw_prediction[rows], values.take(self._leaf_of_row[rows], axis=0), out=raw)
            with np.errstate(over="ignore"):  # a step that is too long is halved
                of_rows, gradient, hessian = self._loss.derivatives(self._y[rows], raw, self.parameters.hessian)
                columns.fill(self._statistics[rows], gradient, hessian, weight)
            self._hold = self._hold and columns.hold(self._statistics[rows])
            self._tried += float(np.sum(of_rows) if weight is None else weight @ of_rows)
            if of_rows.dtype == np.float32:
                self._rounding = IN_FLOAT32
        return self._tried

    def _settle(self) -> None:
        """Take the state at which the loss was evaluated last."""
        if not self._hold:
            self._columns.refuse(self._statistics, self._loss.name)
        self._loss_sum = self._tried
        self.raw_prediction, self._next_raw = self._next_raw, self.raw_prediction


def _add_up(sums: FloatArray, left: NDArray[np.int32]) -> None:
    """Add the leaves' sums up into their ancestors; children follow parents."""
    for node in reversed(np.flatnonzero(left >= 0)):
        sums[node] = sums[left[node]] + sums[left[node] + 1]


def _share(worth: FloatArray, left: NDArray[np.int32]) -> None:
    """Give both children of a split the sum of the gains of each output: they move the same outputs."""
    for node in np.flatnonzero(left >= 0):
        worth[left[node] : left[node] + 2] = worth[left[node]] + worth[left[node] + 1]
