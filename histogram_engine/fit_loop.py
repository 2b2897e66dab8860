"""A training: trees until there are enough of them, or until the validation loss no longer falls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.estimators.held_out import Rows, check_fraction, hold_out
from ordinal_objectives.histogram_engine.engine_run import EngineRun
from ordinal_objectives.histogram_engine.forest import Forest, OutOfBag
from ordinal_objectives.histogram_engine.labelled_rows import LabelledRows, RunStart
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.watched_rows import Measured, WatchedRows, Watching
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.row_blocks import RowBlocks
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.threshold_solver import Diagnostics, ThresholdRecord
from ordinal_objectives.trees import Tree, TreeEnsemble
from ordinal_objectives.utils.progress import Show
from ordinal_objectives.utils.validation import check_integer, check_number

# early_stopping="auto" holds rows out where there are more than this, as scikit-learn does.
MANY_ROWS = 10_000
Callback = Callable[[int, dict[str, list[float]]], object]
# Takes what is known after a tree, and returns what a callback does.
AfterTree = Callable[["SoFar"], object]


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


def after_tree(
    show: Show | None,
    every: int = 0,
    callback: Callback | None = None,
    remember: Callable[[GrownModel, dict[str, int]], None] | None = None,
) -> AfterTree | None:
    """Return what is done after each tree, or None.

    Parameters
    ----------
    show : callable or None
        Gets each tree, with the loss of the last rows that are watched.
    every : int, default=0
        What has been measured is printed after so many trees each; 0 for never.
    callback : callable or None, default=None
        The user's.
    remember : callable or None, default=None
        Gets the model of the trees so far, and the counters, before the callback is called, which may predict and save.
    """
    if callback is None and show is None and not every:
        return None

    def called(so_far: SoFar) -> object:
        iteration, evals = so_far.iteration, so_far.evals
        if show is not None:
            show(iteration, evals[_last_set(evals)][-1])
        if every and iteration % every == 0:
            print(f"{iteration} trees: " + ", ".join(f"{name} {values[-1]:.5f}" for name, values in evals.items()))
        if callback is None:
            return None
        if remember is not None and so_far.model is not None:
            remember(*so_far.model())
        return callback(iteration, evals)

    return called


def _last_set(evals: dict[str, list[float]]) -> str:
    """Return the name of the loss of the rows that were watched last."""
    n_sets = 1 if "validation" in evals else sum(f"validation_{i}" in evals for i in range(len(evals)))
    return set_names(n_sets)[-1] if n_sets else "training"


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
    out_of_bag : OutOfBag or None
        Of a random forest, once it is trained.
    """

    ensemble: TreeEnsemble
    thresholds: NDArray[np.float64]
    evals: dict[str, list[float]]
    cuts: list[NDArray[np.float64]]
    curvature: NDArray[np.float64] | None = None
    out_of_bag: OutOfBag | None = None

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


class SoFar(NamedTuple):
    """What is known of a training after a tree.

    Attributes
    ----------
    iteration : int
        Number of trees.
    evals : dict of str to list of float
        What has been measured.
    model : callable or None
        Returns the model of these trees, and the counters; None of a forest, which has no stages.
    """

    iteration: int
    evals: dict[str, list[float]]
    model: Callable[[], tuple[GrownModel, dict[str, int]]] | None


def divided(rows: Rows, fraction: float, seed: int, instead: str) -> tuple[Rows, list[Rows]]:
    """Return rows to train on and rows to watch; blocks cannot be divided, and ``instead`` says what to pass."""
    if isinstance(rows.X, RowBlocks):
        name = instead.partition("=")[0]
        raise ValueError(f"{name} holds rows out of arrays alone; for RowBlocks pass X_val and y_val, or {instead}")
    fit, held = hold_out(rows, fraction, seed)
    return fit, [held]


def set_names(n_sets: int) -> list[str]:
    """Return what the sets to be watched are called: "validation", or "validation_<i>" where there are several."""
    return ["validation"] if n_sets == 1 else [f"validation_{i}" for i in range(n_sets)]


@dataclass
class EarlyStopping:
    """Ends a training whose last watched rows have not become better by ``tol`` for ``n_iter_no_change`` trees."""

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
    def applies(early_stopping: Any, n_rows: int, watched: Sequence[Rows]) -> bool:
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

    @property
    def diagnostics(self) -> Diagnostics:
        """Counters."""

    def advance(self) -> Tree:
        """Grow one tree, take the step and return the tree."""


class Watched(Protocol):
    """Rows whose loss the loop records."""

    name: str

    def add(self, trees: TreeEnsemble) -> None:
        """Add trees to the score."""

    def measure(self, thresholds: NDArray[np.float64]) -> Measured:
        """Return the weighted mean loss, and what else is measured."""


def fit_loop(
    run: Run,
    earlier: GrownModel,
    watched: Sequence[Watched],
    stopping: EarlyStopping | None,
    callback: AfterTree | None,
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
        Called after each tree; the training ends if it returns True.

    Returns
    -------
    GrownModel
    """
    trees = list(earlier.ensemble.trees)
    n_features = earlier.ensemble.n_features
    history = list(earlier.thresholds[: len(trees)])
    evals = {"training": earlier.evals.get("training", [])[: len(trees)]}
    for rows in watched:  # the earlier training watched none, or may have watched others
        for tree, thresholds in zip(trees, history, strict=True):
            _note(rows.measure(thresholds), evals)
            rows.add(TreeEnsemble([tree], n_features))

    of_kept = run.cuts, run.curvature

    def record() -> bool:
        nonlocal of_kept
        history.append(run.thresholds.copy())
        evals["training"].append(run.training_loss)
        judged = [_note(rows.measure(run.thresholds), evals) for rows in watched]
        ends = stopping is not None and stopping.should_stop(judged[-1], len(trees))
        if stopping is None or stopping.best_iteration == len(trees):
            of_kept = run.cuts, run.curvature
        return ends

    def model() -> tuple[GrownModel, dict[str, int]]:
        measured = {name: list(values) for name, values in evals.items()}
        ensemble = TreeEnsemble(list(trees), n_features)
        return GrownModel(ensemble, np.array(history), measured, run.cuts, run.curvature), run.diagnostics.as_dict()

    record()
    ends = False
    while not ends and len(trees) < run.parameters.max_iter:
        trees.append(run.advance())
        for rows in watched:
            rows.add(TreeEnsemble(trees[-1:], n_features))
        ends = record()
        said = None if callback is None else callback(SoFar(len(trees), evals, model))
        ends = (isinstance(said, (bool, np.bool_)) and bool(said)) or ends
    kept = len(trees) if stopping is None else stopping.best_iteration
    return GrownModel(TreeEnsemble(trees[:kept], n_features), np.array(history[: kept + 1]), evals, *of_kept)


def _fit_forest(
    parameters: BoostingParameters,
    rows: LabelledRows,
    watched: Sequence[WatchedRows],
    callback: AfterTree | None,
    *,
    seed: int,
    n_threads: int | None,
) -> tuple[GrownModel, dict[str, int]]:
    """Train a random forest. It has no stages: what is measured is known before the first tree and after the last."""
    run = EngineRun(parameters, rows, seed=seed, n_threads=n_threads)
    forest, evals = Forest(run, rows), {"training": [run.training_loss]}
    for one in watched:
        _note(one.measure(run.thresholds), evals)
    ends = False
    while not ends and len(forest.trees) < parameters.max_iter:
        forest.grow()
        said = None if callback is None else callback(SoFar(len(forest.trees), evals, None))
        ends = isinstance(said, (bool, np.bool_)) and bool(said)
    n_trees = len(forest.trees)
    for values in evals.values():
        values += [np.nan] * (n_trees - 1)
    out_of_bag = forest.finish()
    ensemble, thresholds = TreeEnsemble(forest.trees, rows.X.shape[1]), out_of_bag.thresholds
    of_all = run.state.row_pass(forest.score(out_of_bag.scale), thresholds, parameters.spec.hessian)
    evals["training"].append(float(of_all.loss / run.state.row_pass.total_weight))
    for one in watched:
        one.add(ensemble)
        _note(one.measure(thresholds), evals)
    history = np.vstack([np.tile(run.thresholds, (n_trees, 1)), thresholds])
    return GrownModel(ensemble, history, evals, run.cuts, out_of_bag=out_of_bag), run.diagnostics.as_dict()


def _note(measured: Measured, evals: dict[str, list[float]]) -> float:
    """Record what was measured and return what early stopping looks at."""
    for name, value in measured.values.items():
        evals.setdefault(name, []).append(value)
    return measured.judged


def fit_rows(
    parameters: BoostingParameters,
    earlier: GrownModel | None,
    rows: LabelledRows,
    watching: Watching,
    stopping: EarlyStopping | None,
    callback: AfterTree | None,
    *,
    seed: int,
    n_threads: int | None,
) -> tuple[GrownModel, dict[str, int]]:
    """Train on some rows, from the start or from where `earlier` ended; return the training and its counters."""
    watched = zip(set_names(len(watching.sets)), watching.sets, strict=True)
    sets = [WatchedRows(name, one, parameters, n_threads, watching) for name, one in watched]
    if parameters.is_forest:
        return _fit_forest(parameters, rows, sets, callback, seed=seed, n_threads=n_threads)
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
