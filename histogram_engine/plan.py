"""What is decided before the first tree: parameters, number of trees, linear part, and rows held out."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives import predictions
from ordinal_objectives.estimators.held_out import (
    FinishedSearch,
    RoundSearch,
    Rows,
    Trial,
    UnseenRows,
    is_auto,
    rounds_unsearched,
    smallest_leaf,
)
from ordinal_objectives.estimators.linear import (
    LinearPart,
    check_continued,
    check_linear,
    check_monotone,
    search,
    with_linear,
)
from ordinal_objectives.eval_metric import EvalMetric
from ordinal_objectives.histogram_engine.constraints import Constraints
from ordinal_objectives.histogram_engine.fit_loop import EarlyStopping, GrownModel, after_tree, divided, fit_rows
from ordinal_objectives.histogram_engine.labelled_rows import LabelledRows
from ordinal_objectives.histogram_engine.parameters import OF_MODEL, BoostingParameters
from ordinal_objectives.histogram_engine.saving import EngineModel
from ordinal_objectives.histogram_engine.scoring import check_scoring, scored_by
from ordinal_objectives.histogram_engine.watched_rows import Watching
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.row_blocks import RowBlocks
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.utils.progress import round_bar


class TrainingPlan(NamedTuple):
    """The parameters of a training, whether it stops early, and its rows."""

    parameters: BoostingParameters
    stops: bool
    unseen: UnseenRows


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
    monotonic_cst: Any
    interaction_cst: Any
    scoring: Any
    round_search_: RoundSearch | None = None

    def _parameters(self, n_rows: int, constraints: Constraints | None = None) -> BoostingParameters:
        """Return the parameters of a training on so many rows, before a search."""
        others = (field.name for field in fields(BoostingParameters) if field.name not in ("spec", "constraints"))
        names = [*OF_MODEL, *others]
        given = {name: getattr(self, name) for name in names}
        given["min_samples_leaf"] = smallest_leaf(self.min_samples_leaf, n_rows)
        given["max_iter"] = rounds_unsearched("max_iter", self.max_iter)
        if constraints is not None:
            given["constraints"] = constraints
        return BoostingParameters.of(self._ordinal_loss(), **given)

    def _constraints(self) -> Constraints:
        """Return the constraints of the features that the classifier knows."""
        names = getattr(self, "feature_names_in_", None)
        found = Constraints.of(self.monotonic_cst, self.interaction_cst, self.n_features_in_, names)
        return found.beside(self._categories.mask(self.n_features_in_))

    def _plan(
        self,
        rows: Rows,
        watched: list[Rows],
        parameters: BoostingParameters,
        earlier: GrownModel | None,
        stopping: EarlyStopping,
    ) -> TrainingPlan:
        """Find the number of trees and the linear part, and hold rows out."""
        always = check_linear(self.linear, self.linear_l2)
        has_linear = earlier is not None and self._linear is not None
        check_monotone(self.linear, has_linear, "monotonic_cst", parameters.constraints.signs)
        if earlier is None:
            self._linear = None
        else:
            check_continued(always, has_linear)
        self.round_search_ = None
        if parameters.is_forest:
            self._check_forest()
            if always:
                self._linear = self._fit_linear(rows)
            return TrainingPlan(parameters, False, self._unseen(rows, watched, None, earlier))
        if self._searches(rows, watched, parameters, earlier):
            if check_scoring(self.scoring) is not None:
                raise ValueError(
                    f"scoring={self.scoring!r} decides when to stop, and with max_iter='auto' the loss of rows held "
                    f"out finds the number of trees: pass early_stopping=True, or an eval_set, or max_iter as a number"
                )
            how = self.linear, self._fit_linear, self._trial
            found, self._linear = search(*how, rows, self.learning_rate, self._seed)
            if found is not None:
                self.round_search_ = found.search
                parameters = replace(parameters, max_iter=found.search.n_iter)
            return TrainingPlan(parameters, False, self._unseen(rows, [], found, earlier))
        judged = parameters.judged_by == "validation"
        if not watched and (judged or stopping.applies(self.early_stopping, len(rows), watched)):
            name, without = ("judged_by", "out_of_bag") if judged else ("early_stopping", False)
            instead = f"{name}={without!r}; got {getattr(self, name)!r}"
            rows, watched = divided(rows, self.validation_fraction, self._seed, instead)
        if earlier is None and always:
            self._linear = self._fit_linear(rows)
        stops = stopping.applies(self.early_stopping, len(rows), watched)
        return TrainingPlan(parameters, stops, self._unseen(rows, watched, None, earlier))

    def _unseen(
        self, rows: Rows, watched: list[Rows], found: FinishedSearch | None, earlier: GrownModel | None
    ) -> UnseenRows:
        trials = self._trial if self._linear is None else with_linear(self._fit_linear, self._trial)
        if self._takes_kappa() and isinstance(rows.X, RowBlocks) and not watched and self.kappa_rows != "training":
            raise ValueError("decision_rule='kappa' divides arrays alone; for RowBlocks pass X_val and y_val")
        return UnseenRows(rows, list(watched), found, trials if earlier is None else None, self._seed)

    def _check_forest(self) -> None:
        """Raise ValueError for what belongs to trees that follow each other."""
        given = {"early_stopping": self.early_stopping, "linear": self.linear}
        for name, allowed in {"early_stopping": ("auto", False), "linear": (True, False)}.items():
            if given[name] not in allowed:
                raise ValueError(
                    f"boosting_type='rf' grows trees side by side: {name} must be {' or '.join(map(repr, allowed))}; "
                    f"got {given[name]!r}"
                )

    def _searches(self, rows: Rows, watched: list[Rows], parameters: BoostingParameters, earlier: Any) -> bool:
        """Tell whether rows held out decide the number of trees; blocks are not divided."""
        decided = (
            watched or earlier is not None or parameters.judged_by == "validation" or isinstance(rows.X, RowBlocks)
        )
        return is_auto(self.max_iter) and is_auto(self.early_stopping) and not decided

    def _fit_linear(self, rows: Rows) -> LinearPart:
        loss, n_threads = self._ordinal_loss(), self.n_jobs
        hows: dict[str, Any] = {"hessian": self.hessian, "categories": self._categories.levels, "n_threads": n_threads}
        return LinearPart.fit(rows, self.n_classes_, loss, self.linear_l2, **hows)

    def _trial(self, fit: Rows, held: Rows, most: int, patience: int | None) -> Trial:
        """Train on some rows and tell of others after 0, 1, ... trees."""
        parameters = self._parameters(len(fit), self._constraints())
        rows, others, seed = self._labelled(fit), self._labelled(held), self._seed
        hows: dict[str, Any] = {"seed": seed, "n_threads": self.n_jobs}

        def grow(n_trees: int, stopping: EarlyStopping | None) -> GrownModel:
            with round_bar(self.progress, n_trees, "search") as show:
                wanted, watching = replace(parameters, max_iter=n_trees), Watching([others])
                grown, _ = fit_rows(wanted, None, rows, watching, stopping, after_tree(show), **hows)
            return grown

        trained = grow(most, None if patience is None else EarlyStopping(patience, self.tol))

        def proba(n: int) -> NDArray[np.float64]:
            # An early stop keeps the trees up to the lowest loss: none of them where no tree lowers it.
            grown = trained if n <= len(trained.ensemble) else grow(n, None)
            scores = grown.ensemble.zeros(others.X.shape[0])
            grown.ensemble.add_to(scores, others.X, 0, n, effective_n_threads(self.n_jobs))
            return predictions.proba(parameters.spec.loss, others.started(scores), grown.thresholds[n])

        return Trial(trained.evals["validation"], proba)

    def _watching(self, sets: list[LabelledRows], metrics: list[EvalMetric]) -> Watching:
        """Return the rows to be watched, with what is measured of them."""
        scorer = check_scoring(self.scoring)
        scored = None if scorer is None else scored_by(scorer, self._labels, self._decide_in_round)
        return Watching(sets, metrics, scored)

    def _labelled(self, rows: Rows) -> LabelledRows:
        return LabelledRows(rows.X, rows.codes, self.n_classes_, rows.weight, rows.start, self._categories.sizes)
