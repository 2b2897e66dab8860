"""What is decided before the first tree: parameters, number of trees, linear part, and rows held out."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives import predictions
from ordinal_objectives.estimators.kappa_decision import Unseen
from ordinal_objectives.estimators.linear_choice import check_continued, check_linear, search, with_linear
from ordinal_objectives.estimators.linear_part import LinearPart
from ordinal_objectives.estimators.round_search import (
    Found,
    RoundSearch,
    Trial,
    is_auto,
    rounds_unsearched,
    smallest_leaf,
)
from ordinal_objectives.histogram_engine.fit_loop import EarlyStopping, GrownModel, Rows, divided, fit_rows, shown
from ordinal_objectives.histogram_engine.labelled_rows import LabelledRows
from ordinal_objectives.histogram_engine.parameters import OF_MODEL, BoostingParameters
from ordinal_objectives.histogram_engine.saving import EngineModel
from ordinal_objectives.losses import OrdinalLoss, get_loss
from ordinal_objectives.row_blocks import RowBlocks
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.utils.progress import round_bar


class TrainingPlan(NamedTuple):
    """The parameters of a training, whether it stops early, and its rows."""

    parameters: BoostingParameters
    stops: bool
    unseen: Unseen


class PlannedTraining(EngineModel):
    """The classifier's plan of a training, by its parameters and the rows."""

    loss: str | OrdinalLoss
    link: str
    linear: bool | str
    linear_l2: float
    learning_rate: float
    max_iter: int | str
    min_samples_leaf: int | str
    early_stopping: str | bool
    validation_fraction: float
    tol: float
    progress: bool
    round_search_: RoundSearch | None = None

    def _parameters(self, n_rows: int) -> BoostingParameters:
        """Return the parameters of a training on so many rows, before a search."""
        names = [*OF_MODEL, *(field.name for field in fields(BoostingParameters) if field.name != "spec")]
        given = {name: getattr(self, name) for name in names}
        given["min_samples_leaf"] = smallest_leaf(self.min_samples_leaf, n_rows)
        given["max_iter"] = rounds_unsearched("max_iter", self.max_iter)
        return BoostingParameters.of(self.loss, link=self.link, **given)

    def _plan(
        self,
        rows: Rows,
        watched: list[Rows],
        parameters: BoostingParameters,
        earlier: GrownModel | None,
        stopping: EarlyStopping,
        groups: Any,
    ) -> TrainingPlan:
        """Find the number of trees and the linear part, and hold rows out."""
        always = check_linear(self.linear, self.linear_l2)
        if earlier is None:
            self.linear_ = None
        else:
            check_continued(always, self.linear_ is not None)
        self.round_search_ = None
        if self._searches(rows, watched, parameters, earlier):
            how = self.linear, self._fit_linear, self._trial
            found, self.linear_ = search(*how, rows, self.learning_rate, self._seed, groups)
            if found is not None:
                self.round_search_ = found.search
                parameters = replace(parameters, max_iter=found.search.n_iter)
            return TrainingPlan(parameters, False, self._unseen(rows, [], found, earlier, groups))
        judged = parameters.judged_by == "validation"
        if not watched and (judged or stopping.applies(self.early_stopping, len(rows[1]), watched)):
            name, without = ("judged_by", "out_of_bag") if judged else ("early_stopping", False)
            instead = f"{name}={without!r}; got {getattr(self, name)!r}"
            rows, watched = divided(rows, self.validation_fraction, self._seed, groups, instead)
        if earlier is None and always:
            self.linear_ = self._fit_linear(rows)
        stops = stopping.applies(self.early_stopping, len(rows[1]), watched)
        return TrainingPlan(parameters, stops, self._unseen(rows, watched, None, earlier, groups))

    def _unseen(
        self, rows: Rows, watched: list[Rows], found: Found | None, earlier: GrownModel | None, groups: Any
    ) -> Unseen:
        trials = self._trial if self.linear_ is None else with_linear(self._fit_linear, self._trial)
        if self._takes_kappa() and isinstance(rows[0], RowBlocks) and not watched and self.kappa_rows != "training":
            raise ValueError("decision_rule='kappa' divides arrays alone; for RowBlocks pass X_val and y_val")
        return Unseen(rows, list(watched), found, trials if earlier is None else None, self._seed, groups)

    def _searches(self, rows: Rows, watched: list[Rows], parameters: BoostingParameters, earlier: Any) -> bool:
        """Tell whether rows held out decide the number of trees; blocks are not divided."""
        decided = (
            watched or earlier is not None or parameters.judged_by == "validation" or isinstance(rows[0], RowBlocks)
        )
        return is_auto(self.max_iter) and is_auto(self.early_stopping) and not decided

    def _fit_linear(self, rows: tuple[Any, ...]) -> LinearPart:
        X, codes, weight, *_ = rows
        loss, n_threads = get_loss(self.loss, self.link), self.n_jobs
        some = X, codes, weight, None
        return LinearPart.fit(some, self.n_classes_, loss, self.linear_l2, hessian=self.hessian, n_threads=n_threads)

    def _trial(self, fit: tuple[Any, ...], held: tuple[Any, ...], most: int, patience: int | None) -> Trial:
        """Train on some rows and tell of others after 0, 1, ... trees."""
        parameters = replace(self._parameters(len(fit[1])), max_iter=most)
        stopping = None if patience is None else EarlyStopping(patience, self.tol)
        rows, others, seed = self._labelled(fit), self._labelled(held), self._seed
        with round_bar(self.progress, most, "search") as show:
            hows: dict[str, Any] = {"seed": seed, "n_threads": self.n_jobs}
            trained, _ = fit_rows(parameters, None, rows, [others], stopping, shown(None, show), **hows)

        def proba(n_trees: int) -> NDArray[np.float64]:
            n = min(n_trees, len(trained.ensemble))  # an early stop keeps the best
            scores = trained.ensemble.zeros(others.X.shape[0])
            trained.ensemble.add_to(scores, others.X, 0, n, effective_n_threads(self.n_jobs))
            return predictions.proba(parameters.spec.loss, others.started(scores), trained.thresholds[n])

        return Trial(trained.evals["validation"], proba)

    def _labelled(self, rows: tuple[Any, ...]) -> LabelledRows:
        X, codes, sample_weight, *start = rows
        return LabelledRows(X, codes, self.n_classes_, sample_weight, *start)
