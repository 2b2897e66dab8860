"""What is decided before the first tree: number of trees, linear part, rows held out; and a training on given rows.

The training is a loop of rounds (`fit_loop.py`), or a random forest, whose trees stand side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from ordinal_objectives import _core, predictions, random_effects
from ordinal_objectives.aliases import FloatArray, Params
from ordinal_objectives.columns import Columns
from ordinal_objectives.estimators import held_out, linear as linear_scores
from ordinal_objectives.estimators.held_out import Choices, Rates, Tried
from ordinal_objectives.estimators.linear import LinearPart
from ordinal_objectives.eval_metric import EvalMetric
from ordinal_objectives.histogram_engine import fit_loop
from ordinal_objectives.histogram_engine.parameters import BoostingParameters, check_side_by_side
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import RunStart, TrainingSet, settle_thresholds
from ordinal_objectives.random_effects import GroupColumn
from ordinal_objectives.row_blocks import RowBlocks
from ordinal_objectives.rows import CPU, soft_rows
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.threshold_solver import ThresholdLearner, random_intercept
from ordinal_objectives.threshold_solver.random_intercept import EffectsLearner
from ordinal_objectives.trees import Tree, TreeEnsemble
from ordinal_objectives.utils import extras, validation

# Without a search "auto" is what BoostingParameters has.
_CHOICES = Choices(
    {
        0: Tried(Rates(search=0.1, last=0.1), [{"max_leaf_nodes": 7}]),
        1_000: Tried(Rates(search=0.1, last=0.1), [{"max_leaf_nodes": n} for n in (15, 63)]),
    }
)
# Of the scale of a forest: bounds of its logarithm, and how exactly it is found.
_SCALE: Params = {"bounds": np.log((0.05, 20.0)), "method": "bounded", "options": {"xatol": 1e-2}}


class Decided(NamedTuple):
    """What is decided before the first tree.

    Attributes
    ----------
    parameters : BoostingParameters
    rows : Rows
        Those to train on.
    watched : list of Rows
        Those to evaluate.
    search : RoundSearch or None
        The search for the number of trees, if there was one.
    stopping : EarlyStopping or None
        What may end the training early.
    linear : LinearPart or None
    """

    parameters: BoostingParameters
    rows: held_out.Rows
    watched: list[held_out.Rows]
    search: held_out.RoundSearch | None
    stopping: fit_loop.EarlyStopping | None
    linear: LinearPart | None


@dataclass(frozen=True)
class TrainingPlan:
    """The plan of a training.

    Attributes
    ----------
    model : HistGradientBoostingOrdinalClassifier
    parameters : BoostingParameters
        Before a search for the number of trees.
    columns : Columns
    seed : int
    groups : tuple of GroupColumn
        The columns of groups with random effects.
    """

    model: Any
    parameters: BoostingParameters
    columns: Columns
    seed: int
    groups: tuple[GroupColumn, ...] = ()

    def decide(
        self,
        rows: held_out.Rows,
        watched: list[held_out.Rows],
        earlier: fit_loop.GrownModel | None,
        linear: LinearPart | None,
        stopping: fit_loop.EarlyStopping,
    ) -> Decided:
        """Find the number of trees and the linear part, and hold rows out; a model that is continued has `linear`."""
        model, parameters = self.model, self.parameters
        has_linear = None if earlier is None else linear is not None
        signs = parameters.constraints.signs
        given = model.linear, model.linear_l2, "monotonic_cst", signs, has_linear, model.threshold_update
        always = linear_scores.check_linear(*given)
        found, ends = None, None
        if parameters.is_forest:
            check_side_by_side(model, early_stopping=("auto", False), linear=(True, False))
        elif self._searches(rows, watched, earlier):
            found, linear = self._search(rows)
            if found is not None:
                parameters = parameters.changed(max_iter=found.n_iter, **found.settings)
        else:
            if not watched:
                rows, watched = self._divided(rows, stopping)
            ends = stopping if stopping.applies(model.early_stopping, len(rows), watched) else None
        if earlier is None and linear is None and always:
            linear = self.fit_linear(rows)
        return Decided(parameters, rows, list(watched), found, ends, linear)

    def _searches(self, rows: held_out.Rows, watched: list[held_out.Rows], earlier: fit_loop.GrownModel | None) -> bool:
        """Tell whether rows held out decide the number of trees; blocks are not divided."""
        decided = watched or earlier is not None or self.parameters.judged_by == "validation"
        is_asked = held_out.is_auto(self.model.max_iter) and held_out.is_auto(self.model.early_stopping)
        return is_asked and not decided and not isinstance(rows.X, RowBlocks)

    def _search(self, rows: held_out.Rows) -> tuple[held_out.RoundSearch | None, LinearPart | None]:
        model = self.model
        given: Params = {name: getattr(model, name) for name in ("max_leaf_nodes", held_out.RATE)}
        return linear_scores.search(model, self.fit_linear, self.trial_of, _CHOICES, given, rows, self.seed)

    def _divided(
        self, rows: held_out.Rows, stopping: fit_loop.EarlyStopping
    ) -> tuple[held_out.Rows, list[held_out.Rows]]:
        """Return rows to train on and rows held out, where they judge or stop the training."""
        judged = self.parameters.judged_by == "validation"
        if not judged and not stopping.applies(self.model.early_stopping, len(rows), []):
            return rows, []
        if isinstance(rows.X, RowBlocks):
            name, without = ("judged_by", "out_of_bag") if judged else ("early_stopping", False)
            raise ValueError(
                f"{name} holds rows out of arrays only; for RowBlocks pass X_val and y_val, or {name}={without!r}; "
                f"got {getattr(self.model, name)!r}"
            )
        fit, held = held_out.hold_out(rows, held_out.check_part(self.model.validation_fraction), self.seed)
        return fit, [held]

    def labelled(self, rows: held_out.Rows) -> TrainingSet:
        """Return checked rows as a run takes them."""
        model, sizes = self.model, self.columns.sizes
        return TrainingSet(rows.X, rows.y, model.n_classes_, rows.weight, rows.start, sizes, self.groups)

    def fit_linear(self, rows: held_out.Rows) -> LinearPart:
        """Return the linear part of some rows."""
        model, spec = self.model, self.parameters.spec
        rows = replace(rows, X=random_effects.without_groups(rows.X, self.groups))
        return LinearPart.of_model(model, rows, spec.loss, spec.hessian, self.columns.levels)

    def trial_of(self, fit: held_out.Rows, held: held_out.Rows) -> held_out.Trial:
        """Return what trains on some rows, and measures others after 0, 1, ... trees."""
        return partial(self._trial, fit, held)

    def _trial(
        self, fit: held_out.Rows, held: held_out.Rows, most: int, patience: int | None, settings: Params
    ) -> list[float]:
        model, parameters = self.model, self.parameters.changed(**settings)
        if held_out.is_auto(model.min_samples_leaf):
            parameters = parameters.changed(min_samples_leaf=held_out.smallest_leaf("auto", len(fit.weighted)))
        with extras.round_bar(model.progress, most, "search") as show:
            stopping = None if patience is None else fit_loop.EarlyStopping(patience, model.tol)
            wanted = parameters.changed(max_iter=most)
            return self.train(wanted, None, fit, [held], stopping, fit_loop.after_tree(show)).evals["validation"]

    def train(
        self,
        parameters: BoostingParameters,
        earlier: fit_loop.GrownModel | None,
        rows: held_out.Rows,
        watched: list[held_out.Rows],
        stopping: fit_loop.EarlyStopping | None,
        callback: fit_loop.AfterTree | None,
        metrics: Sequence[EvalMetric] = (),
        scored: fit_loop.Scored | None = None,
    ) -> fit_loop.GrownModel:
        """Train on some rows, from the start or from where `earlier` ended."""
        n_threads, labelled = effective_n_threads(self.model.n_jobs), self.labelled(rows)
        n_trees, before = (0, ()) if earlier is None else (len(earlier.ensemble), earlier.effects)
        effects = EffectsLearner(self.groups, rows.X, n_threads, before, n_trees) if self.groups else None
        sets = [
            fit_loop.LabelledEvaluationSet(name, self.labelled(one), parameters, n_threads, metrics, scored, effects)
            for name, one in zip(fit_loop.set_names(len(watched)), watched, strict=True)
        ]
        if earlier is None:  # the trees of a forest start from the thresholds only
            start = RunStart(None if parameters.is_forest else rows.start, effects=effects)
        else:
            score = labelled.started(earlier.ensemble.scores(rows.X, 0, n_trees, n_threads))
            score = score if effects is None else effects.add_to(score)
            last = earlier.thresholds[-1]
            start = RunStart(score, last, n_trees, earlier.cuts, earlier.curvature, effects)
        judge = sets[-1].sums if parameters.judged_by == "validation" else None
        run = EngineRun(parameters, labelled, seed=self.seed, n_threads=n_threads, start=start, judge=judge)
        if parameters.is_forest:
            return _fit_forest(run, labelled, sets, callback)
        grown = fit_loop.fit_loop(run, earlier, sets, stopping, callback)
        return self._settled(grown, labelled, run.state.learner) if grown.effects else grown

    def _settled(self, grown: fit_loop.GrownModel, rows: TrainingSet, learner: ThresholdLearner) -> fit_loop.GrownModel:
        """Return a model with the effects and the last thresholds of the highest likelihood, given the trees."""
        n_trees, n_threads = len(grown.ensemble), effective_n_threads(self.model.n_jobs)
        scores = rows.started(grown.ensemble.scores(rows.X, 0, n_trees, n_threads))
        learner.set_thresholds(grown.thresholds[-1])
        scored = random_intercept.RowsWithScores(rows.X, rows.y, rows.n_classes, rows.sample_weight, scores)
        effects = random_intercept.integrated(grown.effects, n_trees, scored, learner, n_threads)
        thresholds = np.vstack([grown.thresholds[:-1], learner.thresholds])
        return replace(grown, effects=effects, thresholds=thresholds)


def _fit_forest(
    run: EngineRun,
    rows: TrainingSet,
    watched: Sequence[fit_loop.LabelledEvaluationSet],
    callback: fit_loop.AfterTree | None,
) -> fit_loop.GrownModel:
    """Grow the trees of a run that stands at its start, and stays there: a random forest, the mean of its trees.

    Every tree starts from the thresholds only, and its leaves take one whole step. The mean of the trees is too flat
    or too steep to be a score, since each row was seen by most of them. So its scale and the thresholds are fitted to
    scores of rows by the trees that were not grown on them (out of bag). There are no stages: what is measured is
    known before the first tree and after the last.

    Raises
    ------
    ValueError
        If only one class is left among the rows out of bag.
    """
    evals = {"training": [run.training_loss]}
    for one in watched:
        fit_loop.note(one.measure(run.thresholds), evals)
    trees: list[Tree] = []
    ends = False
    total, out_of_bag, n_out = np.zeros(len(rows.y)), np.zeros(len(rows.y)), np.zeros(len(rows.y), np.int64)
    while not ends and len(trees) < run.parameters.max_iter:
        tree, sample = run.separate_tree(len(trees))
        assert sample.outside is not None
        sums = total, out_of_bag, n_out
        _core.add_tree_of_forest(run.state.leaf_of_row, tree.value, sample.outside, *sums, run.state.n_threads)
        trees.append(tree)
        ends = fit_loop.asks_to_end(callback, len(trees), evals, None)
    for losses in evals.values():
        losses += [np.nan] * (len(trees) - 1)
    known = n_out > 0
    found = _fit_scale(run, rows, known, out_of_bag[known] / n_out[known])
    trees = [replace(tree, value=found.scale / len(trees) * tree.value) for tree in trees]
    ensemble = TreeEnsemble(trees, rows.X.shape[1])
    score = rows.started(found.scale * total / len(trees))
    of_all = run.state.row_pass(score, found.thresholds, run.parameters.spec.hessian)
    evals["training"].append(float(of_all.loss / run.state.row_pass.total_weight))
    for one in watched:
        one.add(ensemble)
        fit_loop.note(one.measure(found.thresholds), evals)
    history = np.vstack([np.tile(run.thresholds, (len(trees), 1)), found.thresholds])
    return fit_loop.GrownModel(
        ensemble, history, evals, run.cuts, diagnostics=run.diagnostics.as_dict(), out_of_bag=found
    )


def _fit_scale(run: EngineRun, rows: TrainingSet, known: Any, mean: FloatArray) -> fit_loop.OutOfBag:
    """Fit scale and thresholds to rows that are out of bag, given the mean of the trees for these."""
    spec, start = run.parameters.spec, 0.0 if rows.start is None else rows.start[known]
    weight = None if rows.sample_weight is None else rows.sample_weight[known]
    of_rows = CPU(run.state.n_threads).row_pass(spec.loss, rows.y[known], rows.n_classes, weight)
    validation.check_two_classes(of_rows.class_weights, name="the labels of the rows out of bag")

    def thresholds_at(score: FloatArray) -> FloatArray:
        learner = ThresholdLearner(spec, of_rows.class_weights, run.thresholds, ordered=True)
        if spec.learns:
            settle_thresholds(learner, of_rows, score)
        return learner.thresholds

    def loss_at(scale: float) -> float:
        score = start + scale * mean
        return soft_rows.judged_loss(of_rows, score, thresholds_at(score), spec.hessian) / of_rows.total_weight

    scale = float(np.exp(minimize_scalar(lambda log: loss_at(np.exp(log)), **_SCALE).x))
    score = start + scale * mean
    thresholds, proba = thresholds_at(score), np.full((len(known), rows.n_classes), np.nan)
    proba[known] = predictions.proba(spec.loss, score, thresholds)
    return fit_loop.OutOfBag(scale, thresholds, proba, loss_at(scale))
