"""A multi-output training on some rows, watched by others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.histogram_engine.fit_loop import AfterTree, EarlyStopping, GrownModel, fit_loop, set_names
from ordinal_objectives.histogram_engine.multi_output.checked_loss import CheckedLoss
from ordinal_objectives.histogram_engine.multi_output.losses import MultiOutputLoss
from ordinal_objectives.histogram_engine.multi_output.parameters import MultiOutputParameters
from ordinal_objectives.histogram_engine.multi_output.run import MultiOutputRun, TargetRows
from ordinal_objectives.histogram_engine.watched_rows import Measured
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.trees import TreeEnsemble


class WatchedTargets:
    """Rows that no tree is grown on; their raw prediction follows the trees.

    Parameters
    ----------
    name : str
        What ``evals`` calls them.
    rows : TargetRows
    loss : CheckedLoss
    hessian : str
    start : ndarray of float64, shape (n_outputs,)
    n_threads : int or None
    """

    def __init__(
        self,
        name: str,
        rows: TargetRows,
        loss: CheckedLoss,
        hessian: str,
        start: NDArray[np.float64],
        n_threads: int | None,
    ) -> None:
        self.name, self._loss, self._hessian = name, loss, hessian
        self._X, self._weight, self._y = rows.X, rows.weight, rows.targets
        self._n_threads = effective_n_threads(n_threads)
        self._raw = np.tile(start, (len(self._y), 1))

    def add(self, trees: TreeEnsemble) -> None:
        """Add trees to the raw prediction."""
        trees.add_to(self._raw, self._X, 0, len(trees), self._n_threads)

    def measure(self, thresholds: NDArray[np.float64]) -> Measured:
        """Return the weighted mean loss; there are no thresholds."""
        hessian = "diagonal" if self._hessian == "full" else self._hessian  # Hessians are not used
        loss = float(np.average(self._loss.derivatives(self._y, self._raw, hessian)[0], weights=self._weight))
        return Measured({self.name: loss}, loss)


@dataclass(frozen=True)
class OutputTraining:
    """A training before it has seen rows.

    Attributes
    ----------
    parameters : MultiOutputParameters
    loss : MultiOutputLoss
    n_columns : tuple of int
        How many columns its predictions may have.
    seed : int
    n_threads : int or None
    categories : mapping of int to int
        Columns that hold numbers of categories, and how many each has.
    """

    parameters: MultiOutputParameters
    loss: MultiOutputLoss
    n_columns: tuple[int, ...]
    seed: int
    n_threads: int | None
    categories: Mapping[int, int]

    def fit(
        self,
        rows: TargetRows,
        watched: list[TargetRows],
        earlier: tuple[NDArray[np.float64], GrownModel] | None,
        stopping: EarlyStopping | None,
        after_tree: Callable[[NDArray[np.float64]], AfterTree | None],
    ) -> tuple[NDArray[np.float64], GrownModel, dict[str, int]]:
        """Train from the start or from where `earlier` ended; return the start, the grown model and the counters.

        ``after_tree(start)`` returns what is done after each tree.
        """
        X, y = rows.X, rows.targets
        state = None
        if earlier is not None:
            start, grown = earlier
            raw = np.tile(start, (len(y), 1))
            grown.ensemble.add_to(raw, X, 0, len(grown.ensemble), effective_n_threads(self.n_threads))
            state = start, raw, grown.cuts, len(grown.ensemble)
        checked, seed, n_threads = CheckedLoss(self.loss, self.n_columns), self.seed, self.n_threads
        hows: dict[str, Any] = {"seed": seed, "n_threads": n_threads, "categories": self.categories}
        run = MultiOutputRun(self.parameters, checked, rows, earlier=state, **hows)
        sets = [
            WatchedTargets(name, one, checked, self.parameters.hessian, run.start, self.n_threads)
            for name, one in zip(set_names(len(watched)), watched, strict=True)
        ]
        before = GrownModel(TreeEnsemble([], X.shape[1]), np.zeros((0, 0)), {}, run.cuts) if earlier is None else grown
        grown = fit_loop(run, before, sets, stopping, after_tree(run.start))
        return run.start, grown, run.diagnostics.as_dict()
