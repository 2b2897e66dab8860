"""A training: trees until there are enough of them, or until the validation loss no longer falls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.estimators.held_out import check_fraction, hold_out
from ordinal_objectives.histogram_engine.engine_run import EngineRun
from ordinal_objectives.histogram_engine.labelled_rows import LabelledRows, RunStart
from ordinal_objectives.histogram_engine.leaf_step import LeafModel
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.pruning import SumsOf
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.row_blocks import RowBlocks
from ordinal_objectives.rows import CPU
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.threshold_solver import ThresholdRecord
from ordinal_objectives.trees import Tree, TreeEnsemble
from ordinal_objectives.utils.progress import Show
from ordinal_objectives.utils.validation import check_integer, check_number

# Features, class codes and weights.
Rows = tuple[NDArray[np.floating] | RowBlocks, NDArray[np.int32], NDArray[np.float64] | None]
# early_stopping="auto" holds rows out where there are more than this, as scikit-learn does.
MANY_ROWS = 10_000
Callback = Callable[[int, dict[str, list[float]]], object]


def check_callback(callback: Any) -> None:
    """Raise TypeError unless a callback is None, or can be called with an iteration and what has been evaluated."""
    allowed = "callback must be a function of (iteration, evals_result), or None"
    if callback is None:
        return
    if not callable(callback):
        raise TypeError(f"{allowed}; got {callback!r}")
    try:
        parameters = inspect.signature(callback)
    except (TypeError, ValueError):  # not every callable has a signature
        return
    try:
        parameters.bind(1, {})
    except TypeError:
        name = getattr(callback, "__name__", type(callback).__name__)
        raise TypeError(f"{allowed}; got {name}{parameters}") from None


def shown(callback: Callback | None, show: Show | None) -> Callback | None:
    """Return a callback that also shows each tree, with the loss of the last rows that are watched."""
    if show is None:
        return callback

    def called(iteration: int, evals: dict[str, list[float]]) -> object:
        show(iteration, list(evals.values())[-1][-1])
        return None if callback is None else callback(iteration, evals)

    return called


@dataclass
class GrownModel:
    """What a training leaves behind, and what another one continues.

    Attributes
    ----------
    ensemble : TreeEnsemble
        With early stopping, the trees up to the best validation loss.
    thresholds : ndarray of float64, shape (n_trees + 1, n_classes - 1)
        Those that belong to the score after 0, 1, ... trees.
    evals : dict of str to list of float
        Weighted mean loss after 0, 1, ... trees, also of trees that were not kept.
    cuts : list of ndarray
        Cuts of the features that the last tree was grown on.
    curvature : ndarray of float64, shape (n_classes - 1,), or None
        What the thresholds are grouped by for the next tree, where they are.
    """

    ensemble: TreeEnsemble
    thresholds: NDArray[np.float64]
    evals: dict[str, list[float]]
    cuts: list[NDArray[np.float64]]
    curvature: NDArray[np.float64] | None = None

    def record(
        self, loss: OrdinalLoss, hessian: str, threshold_update: str, diagnostics: dict[str, int]
    ) -> ThresholdRecord:
        """Return the thresholds and training losses of the trees that were kept."""
        losses = self.evals.get("training", [])[: len(self.thresholds)]
        return ThresholdRecord.of(loss, hessian, threshold_update, self.thresholds, losses, diagnostics)

    def start(self, rows: LabelledRows, n_threads: int | None) -> RunStart:
        """Return where a run on these rows continues.

        Leaves of several values give one score for each threshold.
        """
        score = self.ensemble.zeros(rows.X.shape[0])
        self.ensemble.add_to(score, rows.X, 0, len(self.ensemble), effective_n_threads(n_threads))
        score = rows.started(score)
        return RunStart(score, self.thresholds[-1].copy(), len(self.ensemble), self.cuts, self.curvature)


class WatchedRows:
    """Rows that no tree is grown on; their score follows the trees.

    Parameters
    ----------
    name : str
        What ``evals`` calls them.
    rows : LabelledRows
    parameters : BoostingParameters
    n_threads : int or None
    """

    def __init__(self, name: str, rows: LabelledRows, parameters: BoostingParameters, n_threads: int | None) -> None:
        self.name, self._X, self._n_threads = name, rows.X, effective_n_threads(n_threads)
        self._parameters, self._shifts = parameters, parameters.shifts
        memory, n_rows = CPU(n_threads), len(rows.y)
        kernel: Any = memory.row_pass if self._shifts is None else memory.margin_pass
        self._rows: Any = kernel(parameters.spec.loss, rows.y, rows.n_classes, rows.sample_weight)
        self._score = rows.started(np.zeros(n_rows if self._shifts is None else (n_rows, rows.n_classes - 1)))

    def add(self, trees: TreeEnsemble) -> None:
        """Add trees to the score."""
        trees.add_to(self._score, self._X, 0, len(trees), self._n_threads)

    def loss(self, thresholds: NDArray[np.float64]) -> float:
        """Return the weighted mean loss of what is predicted for these rows."""
        if self._shifts is not None:
            return float(self._rows.loss_of_prediction(self._score, thresholds) / self._rows.total_weight)
        return float(self._rows(self._score, thresholds, self._parameters.spec.hessian).loss / self._rows.total_weight)

    def sums(self, tree: Tree, thresholds: NDArray[np.float64], sums_of: SumsOf) -> LeafModel:
        """Return the sums of the rows over the nodes of a new tree, at the score before it."""
        leaves = TreeEnsemble([tree], self._X.shape[1]).apply(self._X, self._n_threads)[:, 0]
        now = self._rows(self._score, thresholds, self._parameters.spec.hessian)
        return sums_of(self._rows, now, leaves, len(tree.left))


def divided(rows: Rows, fraction: float, seed: int, groups: Any, instead: str) -> tuple[Rows, list[Rows]]:
    """Return rows to train on and rows to watch; blocks cannot be divided, and ``instead`` says what to pass."""
    if isinstance(rows[0], RowBlocks):
        name = instead.partition("=")[0]
        raise ValueError(f"{name} holds rows out of arrays alone; for RowBlocks pass X_val and y_val, or {instead}")
    fit, held = hold_out(rows, fraction, seed, groups)
    return fit, [held]


def set_names(n_sets: int) -> list[str]:
    """Return what the sets to be watched are called: "validation", or "validation_<i>" where there are several."""
    return ["validation"] if n_sets == 1 else [f"validation_{i}" for i in range(n_sets)]


@dataclass
class EarlyStopping:
    """Ends a training whose last watched loss has not fallen by ``tol`` for ``n_iter_no_change`` trees."""

    n_iter_no_change: int
    tol: float
    best: float = np.inf
    best_iteration: int = 0
    last_gain: int = 0

    def __post_init__(self) -> None:
        self.n_iter_no_change = check_integer("n_iter_no_change", self.n_iter_no_change, 1)
        self.tol = check_number("tol", self.tol, at_least=0.0)

    @classmethod
    def from_parameters(
        cls, early_stopping: Any, validation_fraction: Any, n_iter_no_change: Any, tol: Any
    ) -> EarlyStopping:
        """Check an estimator's parameters of early stopping, whether it will stop or not.

        Raises
        ------
        TypeError, ValueError
            Naming the parameter, what came and what is allowed.
        """
        is_word = isinstance(early_stopping, str) and early_stopping == "auto"
        if not is_word and not isinstance(early_stopping, (bool, np.bool_)):
            raise ValueError(f"early_stopping must be 'auto', True or False; got {early_stopping!r}")
        check_fraction(validation_fraction)
        return cls(n_iter_no_change, tol)

    @staticmethod
    def applies(early_stopping: Any, n_rows: int, watched: list[Rows]) -> bool:
        """Tell whether a training stops early: "auto" leaves it to the number of rows, or to rows that are watched."""
        if isinstance(early_stopping, str):
            return n_rows > MANY_ROWS or bool(watched)
        return bool(early_stopping)

    def should_stop(self, loss: float, iteration: int) -> bool:
        """Keep the loss of an iteration and tell whether to stop."""
        if loss < self.best - self.tol:
            self.last_gain = iteration
        if loss < self.best:
            self.best, self.best_iteration = loss, iteration
        return iteration - self.last_gain >= self.n_iter_no_change


class Run(Protocol):
    """What the loop advances."""

    parameters: Any

    @property
    def cuts(self) -> list[NDArray[np.float64]]:
        """Cuts of the features that the newest tree was grown on."""

    @property
    def curvature(self) -> NDArray[np.float64] | None:
        """What else a training that continues this one needs."""

    @property
    def thresholds(self) -> NDArray[np.float64]:
        """Those of the newest iteration."""

    @property
    def training_loss(self) -> float:
        """Weighted mean loss of the newest iteration."""

    def advance(self) -> Tree:
        """Grow one tree, take the step and return the tree."""


class Watched(Protocol):
    """Rows whose loss the loop records."""

    name: str

    def add(self, trees: TreeEnsemble) -> None:
        """Add trees to the score."""

    def loss(self, thresholds: NDArray[np.float64]) -> float:
        """Return the weighted mean loss."""


def fit_loop(
    run: Run,
    earlier: GrownModel,
    watched: Sequence[Watched],
    stopping: EarlyStopping | None,
    callback: Callback | None,
) -> GrownModel:
    """Advance a run to ``max_iter`` trees, or to its early end.

    Parameters
    ----------
    run : Run
        Stands where `earlier` ended.
    earlier : GrownModel
        Its trees are continued; it is left as it is.
    watched : sequence of Watched
        Rows whose loss is recorded; `stopping` looks at the last.
    stopping : EarlyStopping or None
    callback : callable or None
        ``callback(iteration, evals)`` after each tree; the training ends if it returns True.

    Returns
    -------
    GrownModel
    """
    trees = list(earlier.ensemble.trees)
    n_features = earlier.ensemble.n_features
    history = list(earlier.thresholds[: len(trees)])
    evals = {"training": earlier.evals.get("training", [])[: len(trees)]}
    for rows in watched:  # the earlier training watched none, or may have watched others
        evals[rows.name] = []
        for tree, thresholds in zip(trees, history, strict=True):
            evals[rows.name].append(rows.loss(thresholds))
            rows.add(TreeEnsemble([tree], n_features))

    of_kept = run.cuts, run.curvature

    def record() -> bool:
        nonlocal of_kept
        history.append(run.thresholds.copy())
        evals["training"].append(run.training_loss)
        for rows in watched:
            evals[rows.name].append(rows.loss(run.thresholds))
        ends = stopping is not None and stopping.should_stop(evals[watched[-1].name][-1], len(trees))
        if stopping is None or stopping.best_iteration == len(trees):
            of_kept = run.cuts, run.curvature
        return ends

    record()
    ends = False
    while not ends and len(trees) < run.parameters.max_iter:
        trees.append(run.advance())
        for rows in watched:
            rows.add(TreeEnsemble(trees[-1:], n_features))
        ends = record()
        said = None if callback is None else callback(len(trees), evals)
        ends = (isinstance(said, (bool, np.bool_)) and bool(said)) or ends
    kept = len(trees) if stopping is None else stopping.best_iteration
    return GrownModel(TreeEnsemble(trees[:kept], n_features), np.array(history[: kept + 1]), evals, *of_kept)


def fit_rows(
    parameters: BoostingParameters,
    earlier: GrownModel | None,
    rows: LabelledRows,
    watched: list[LabelledRows],
    stopping: EarlyStopping | None,
    callback: Callback | None,
    *,
    seed: int,
    n_threads: int | None,
) -> tuple[GrownModel, dict[str, int]]:
    """Train on some rows, from the start or from where `earlier` ended; return the training and its counters."""
    names = set_names(len(watched))
    sets = [WatchedRows(name, one, parameters, n_threads) for name, one in zip(names, watched, strict=True)]
    run = EngineRun(
        parameters,
        rows,
        seed=seed,
        n_threads=n_threads,
        start=RunStart(rows.start) if earlier is None else earlier.start(rows, n_threads),
        judge=sets[-1] if parameters.judged_by == "validation" else None,
    )
    earlier = earlier or GrownModel(TreeEnsemble([], rows.X.shape[1]), np.zeros((0, 0)), {}, run.cuts)
    trained = fit_loop(run, earlier, sets, stopping, callback)
    return trained, run.diagnostics.as_dict()
