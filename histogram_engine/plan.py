"""What is decided before the first tree: parameters, number of trees, linear part, and rows held out."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from ordinal_objectives.estimators.linear_choice import check_linear, search
from ordinal_objectives.estimators.linear_part import LinearPart
from ordinal_objectives.estimators.round_search import UNSEARCHED, RoundSearch, is_auto, smallest_leaf
from ordinal_objectives.histogram_engine.fit_loop import EarlyStopping, GrownModel, Rows, divided, fit_rows
from ordinal_objectives.histogram_engine.labelled_rows import LabelledRows
from ordinal_objectives.histogram_engine.parameters import OF_MODEL, BoostingParameters
from ordinal_objectives.histogram_engine.saving import EngineModel
from ordinal_objectives.losses import OrdinalLoss, get_loss
from ordinal_objectives.row_blocks import RowBlocks


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
    round_search_: RoundSearch | None = None

    def _parameters(self, n_rows: int) -> BoostingParameters:
        """Return the parameters of a training on so many rows, before a search."""
        names = [*OF_MODEL, *(field.name for field in fields(BoostingParameters) if field.name != "spec")]
        given = {name: getattr(self, name) for name in names}
        given["min_samples_leaf"] = smallest_leaf(self.min_samples_leaf, n_rows)
        given["max_iter"] = UNSEARCHED if is_auto(self.max_iter) else self.max_iter
        return BoostingParameters.of(self.loss, link=self.link, **given)

    def _plan(
        self,
        rows: Rows,
        watched: list[Rows],
        parameters: BoostingParameters,
        earlier: GrownModel | None,
        stopping: EarlyStopping,
        groups: Any,
    ) -> tuple[Rows, list[Rows], BoostingParameters, bool]:
        """Find the number of trees and the linear part.

        Returns the rows to train on, those to watch, the parameters, and whether the training stops early.
        """
        always = check_linear(self.linear, self.linear_l2)
        if earlier is None:
            self.linear_ = None
        elif always and self.linear_ is None:
            raise ValueError("linear=True continues models that have a linear part; the one to go on with has none")
        self.round_search_ = None
        if self._searches(rows, watched, parameters, earlier):
            how = self.linear, self._fit_linear, self._held_out_losses
            self.round_search_, self.linear_ = search(*how, rows, self.learning_rate, self._seed, groups)
            if self.round_search_ is not None:
                parameters = replace(parameters, max_iter=self.round_search_.n_iter)
            return rows, watched, parameters, False
        judged = parameters.judged_by == "validation"
        if not watched and (judged or stopping.applies(self.early_stopping, len(rows[1]), watched)):
            name, without = ("judged_by", "out_of_bag") if judged else ("early_stopping", False)
            instead = f"{name}={without!r}; got {getattr(self, name)!r}"
            rows, watched = divided(rows, self.validation_fraction, self._seed, groups, instead)
        if earlier is None and always:
            self.linear_ = self._fit_linear(rows)
        return rows, watched, parameters, stopping.applies(self.early_stopping, len(rows[1]), watched)

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

    def _held_out_losses(self, fit: tuple[Any, ...], held: tuple[Any, ...], most: int, patience: int) -> list[float]:
        """Train on some rows and return the loss of others after 0, 1, ... trees."""
        parameters = replace(self._parameters(len(fit[1])), max_iter=most)
        stopping, watched = EarlyStopping(patience, self.tol), [self._labelled(held)]
        rows, seed = self._labelled(fit), self._seed
        trained, _ = fit_rows(parameters, None, rows, watched, stopping, None, seed=seed, n_threads=self.n_jobs)
        return trained.evals["validation"]

    def _labelled(self, rows: tuple[Any, ...]) -> LabelledRows:
        X, codes, sample_weight, *start = rows
        return LabelledRows(X, codes, self.n_classes_, sample_weight, *start)
