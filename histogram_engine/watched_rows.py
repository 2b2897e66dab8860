"""Rows that no tree is grown on: their score follows the trees, and what is measured of them may end the training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives import predictions
from ordinal_objectives.eval_metric import EvalMetric
from ordinal_objectives.histogram_engine.labelled_rows import LabelledRows
from ordinal_objectives.histogram_engine.leaf_step import LeafModel
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.pruning import SumsOf
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.rows import CPU
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.trees import Tree, TreeEnsemble

# Higher is better: (rows, probabilities, score).
Scored = Callable[[LabelledRows, NDArray[np.float64], NDArray[np.float64]], float]


class Measured(NamedTuple):
    """Measurement of an iteration.

    Attributes
    ----------
    values : dict of str to float
        By their names in ``evals``.
    judged : float
        What early stopping looks at; lower is better.
    """

    values: dict[str, float]
    judged: float


@dataclass(frozen=True)
class Watching:
    """Rows that are watched, and what is measured of them beside their loss.

    Attributes
    ----------
    sets : list of LabelledRows
    metrics : list of EvalMetric
        Recorded.
    scored : callable or None
        What early stopping looks at; None for the loss.
    """

    sets: list[LabelledRows]
    metrics: list[EvalMetric] = field(default_factory=list)
    scored: Scored | None = None

    @property
    def beyond_the_loss(self) -> bool:
        """Whether there is anything beside it."""
        return bool(self.metrics) or self.scored is not None

    def measure(
        self,
        name: str,
        loss: float,
        rows: LabelledRows,
        of: OrdinalLoss,
        score: NDArray[np.float64],
        thresholds: NDArray[np.float64],
    ) -> Measured:
        """Measure what is predicted for some rows.

        Parameters
        ----------
        name : str
            What ``evals`` calls the rows.
        loss : float
            Their mean loss.
        rows : LabelledRows
        of : OrdinalLoss
        score : ndarray of float64, shape (n_samples,) or (n_samples, n_classes - 1)
        thresholds : ndarray of float64, shape (n_classes - 1,)
        """
        proba = predictions.proba(of, score, thresholds)
        values = {name: loss}
        for metric in self.metrics:
            values |= {f"{name}_{found}": value for found, value, _ in metric(rows.y, proba, rows.sample_weight)}
        if self.scored is None:
            return Measured(values, loss)
        values[f"{name}_score"] = better = self.scored(rows, proba, score)
        return Measured(values, -better)


class WatchedRows:
    """Rows that no tree is grown on; their score follows the trees.

    Parameters
    ----------
    name : str
        What ``evals`` calls them.
    rows : LabelledRows
    parameters : BoostingParameters
    n_threads : int or None
    watching : Watching or None
        What is measured beside the loss.
    """

    def __init__(
        self,
        name: str,
        rows: LabelledRows,
        parameters: BoostingParameters,
        n_threads: int | None,
        watching: Watching | None = None,
    ) -> None:
        self.name, self._X, self._n_threads = name, rows.X, effective_n_threads(n_threads)
        self._parameters, self._shifts = parameters, parameters.shifts
        self._labelled, self._watching = rows, watching
        memory, n_rows = CPU(n_threads), len(rows.y)
        kernel: Any = memory.row_pass if self._shifts is None else memory.margin_pass
        self._rows: Any = kernel(parameters.spec.loss, rows.y, rows.n_classes, rows.sample_weight)
        self._score = rows.started(np.zeros(n_rows if self._shifts is None else (n_rows, rows.n_classes - 1)))

    def add(self, trees: TreeEnsemble) -> None:
        """Add trees to the score."""
        trees.add_to(self._score, self._X, 0, len(trees), self._n_threads)

    def measure(self, thresholds: NDArray[np.float64]) -> Measured:
        """Return the weighted mean loss of what is predicted for these rows, and what else is measured of it."""
        loss = self._loss(thresholds)
        if self._watching is None or not self._watching.beyond_the_loss:
            return Measured({self.name: loss}, loss)
        of = self._parameters.spec.loss
        return self._watching.measure(self.name, loss, self._labelled, of, self._score, thresholds)

    def _loss(self, thresholds: NDArray[np.float64]) -> float:
        if self._shifts is not None:
            return float(self._rows.loss_of_prediction(self._score, thresholds) / self._rows.total_weight)
        return float(self._rows(self._score, thresholds, self._parameters.spec.hessian).loss / self._rows.total_weight)

    def sums(self, tree: Tree, thresholds: NDArray[np.float64], sums_of: SumsOf) -> LeafModel:
        """Return the sums of the rows over the nodes of a new tree, at the score before it."""
        leaves = TreeEnsemble([tree], self._X.shape[1]).apply(self._X, self._n_threads)[:, 0]
        now = self._rows(self._score, thresholds, self._parameters.spec.hessian)
        return sums_of(self._rows, now, leaves, len(tree.left))
