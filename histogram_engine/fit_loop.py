"""A training: trees until there are enough of them, or until the validation loss no longer falls.

Early stopping may read a score in place of the loss (``scoring``), by the scorers of scikit-learn and of this package.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer

from ordinal_objectives import predictions, random_effects, scorers
from ordinal_objectives.aliases import FloatArray, LabelArray, NDArray
from ordinal_objectives.estimators import held_out
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.eval_metric import Decide, EvalMetric, takes_weight
from ordinal_objectives.histogram_engine.parameters import BoostingParameters, GrowthParameters
from ordinal_objectives.histogram_engine.run import SumsOf
from ordinal_objectives.histogram_engine.state import LeafModel, TrainingSet
from ordinal_objectives.metrics import ordinal_log_loss
from ordinal_objectives.rows import CPU, soft_rows
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.threshold_solver import Diagnostics, random_intercept
from ordinal_objectives.trees import Tree, TreeEnsemble
from ordinal_objectives.utils import extras, validation

# early_stopping="auto" holds rows out where there are more than this, as scikit-learn does.
MANY_ROWS = 10_000
Evals = dict[str, list[float]]
Callback = Callable[[int, Evals], object]
# Takes the number of trees, what has been measured, and a function that returns the model of these trees, or None for a
# forest, which has no stages. Returns what a callback does.
AfterTree = Callable[[int, Evals, "Callable[[], GrownModel] | None"], object]
LOSS = "loss"
Scorer = Callable[..., float]
# What is measured after a tree, by name in `evals`, and what early stopping looks at: lower is better.
Measured = tuple[dict[str, float], float]
# Higher is better: (rows, probabilities, score).
Scored = Callable[[TrainingSet, FloatArray, FloatArray], float]


def after_tree(
    show: extras.Show | None,
    every: int = 0,
    callback: Callback | None = None,
    remember: Callable[[GrownModel], None] | None = None,
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
        Gets the model of the trees so far before the callback is called, which may predict and save.
    """
    if callback is None and show is None and not every:
        return None

    def called(iteration: int, evals: Evals, model: Callable[[], GrownModel] | None) -> object:
        if show is not None:
            show(iteration, evals[["training", *watched_in(evals)][-1]][-1])
        if every and iteration % every == 0:
            print(f"{iteration} trees: " + ", ".join(f"{name} {values[-1]:.5f}" for name, values in evals.items()))
        if callback is None:
            return None
        if remember is not None and model is not None:
            remember(model())
        return callback(iteration, evals)

    return called


class OutOfBag(NamedTuple):
    """Rows by the trees that were not grown on them, and what is fitted to them.

    Attributes
    ----------
    scale : float
    thresholds : ndarray of float64, shape (n_classes - 1,)
    proba : ndarray of float64, shape (n_samples, n_classes)
        Class probabilities, lowest class first; NaN of rows that all trees knew.
    loss : float
        Weighted mean.
    """

    scale: float
    thresholds: FloatArray
    proba: FloatArray
    loss: float


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
    diagnostics : dict of str to int
        Counters of the training.
    out_of_bag : OutOfBag or None
        Of a random forest, once it is trained.
    start : ndarray of float64, shape (n_outputs,), or None
        Of several outputs: those before the first tree.
    effects : tuple of RandomEffects
        Of groups, a column each, where they have a random intercept.
    """

    ensemble: TreeEnsemble
    thresholds: FloatArray
    evals: Evals
    cuts: list[FloatArray]
    curvature: FloatArray | None = None
    diagnostics: dict[str, int] = field(default_factory=dict)
    out_of_bag: OutOfBag | None = None
    start: FloatArray | None = None
    effects: tuple[random_effects.RandomEffects, ...] = ()


def check_more_trees(max_iter: int, n_trees: int) -> None:
    """Raise ValueError if a model that is continued has more trees than are asked for."""
    if max_iter < n_trees:
        raise ValueError(
            f"max_iter must be at least {n_trees}, the trees of the model that warm_start continues; got {max_iter}"
        )


def set_names(n_sets: int) -> list[str]:
    """Return what the sets to be watched are called: "validation", or "validation_<i>" where there are several."""
    return ["validation"] if n_sets == 1 else [f"validation_{i}" for i in range(n_sets)]


def watched_in(evals: Evals) -> list[str]:
    """Return the names of the sets that were watched."""
    n_sets = 1 if "validation" in evals else sum(f"validation_{i}" in evals for i in range(len(evals)))
    return set_names(n_sets) if n_sets else []


@dataclass
class EarlyStopping:
    """Ends a training whose last watched rows have not become better by ``tol`` for ``n_iter_no_change`` trees.

    A gain is measured from the last loss that was one, so that small gains add up.
    """

    n_iter_no_change: int
    tol: float
    best: float = np.inf
    best_iteration: int = 0
    last_gain: int = 0
    loss_of_gain: float = np.inf

    def __post_init__(self) -> None:
        self.n_iter_no_change = validation.check_integer("n_iter_no_change", self.n_iter_no_change, 1)
        self.tol = validation.check_number("tol", self.tol, at_least=0.0)

    @classmethod
    def of(cls, estimator: Any) -> EarlyStopping:
        """Check an estimator's parameters of early stopping, whether it will stop or not.

        Raises
        ------
        TypeError, ValueError
            Naming the parameter, what came and what is allowed.
        """
        asked = estimator.early_stopping
        if not (isinstance(asked, str) and asked == "auto") and not isinstance(asked, (bool, np.bool_)):
            raise ValueError(f"early_stopping must be 'auto', True or False; got {asked!r}")
        held_out.check_part(estimator.validation_fraction)
        return cls(estimator.n_iter_no_change, estimator.tol)

    @staticmethod
    def applies(early_stopping: object, n_rows: int, watched: Sequence[held_out.Rows]) -> bool:
        """Tell whether a training stops early: "auto" leaves it to the number of rows, or to rows that are watched."""
        if isinstance(early_stopping, str):
            return n_rows > MANY_ROWS or bool(watched)
        return bool(early_stopping)

    def should_stop(self, loss: float, iteration: int) -> bool:
        """Keep the loss of an iteration and tell whether to stop."""
        if loss < self.loss_of_gain - self.tol:
            self.loss_of_gain, self.last_gain = loss, iteration
        if loss < self.best:
            self.best, self.best_iteration = loss, iteration
        return iteration - self.last_gain >= self.n_iter_no_change


class Run(Protocol):
    """What the loop advances: a run of the ordinal engine, or one of several outputs."""

    @property
    def parameters(self) -> GrowthParameters:
        """Those of the trees."""

    @property
    def cuts(self) -> list[FloatArray]:
        """Cuts of the features that the newest tree was grown on."""

    @property
    def curvature(self) -> FloatArray | None:
        """What else a training that continues this one needs."""

    @property
    def start(self) -> FloatArray | None:
        """Several outputs before the first tree."""

    @property
    def effects(self) -> tuple[random_effects.RandomEffects, ...]:
        """Those of groups at the newest iteration."""

    @property
    def thresholds(self) -> FloatArray:
        """Those of the newest iteration."""

    @property
    def training_loss(self) -> float:
        """Weighted mean loss of the newest iteration."""

    @property
    def diagnostics(self) -> Diagnostics:
        """Counters."""

    def advance(self) -> Tree:
        """Grow one tree, take the step and return the tree."""


class EvaluationSet(ABC):
    """Rows that no tree is grown on; their score follows the trees, and what is measured of them may end the training.

    Parameters
    ----------
    name : str
        What ``evals`` calls them.
    X : ndarray or RowBlocks, shape (n_samples, n_features)
    score : ndarray of float64, shape (n_samples,) or (n_samples, n_values)
        Before the first tree; changed in place.
    n_threads : int or None
    """

    def __init__(self, name: str, X: Any, score: FloatArray, n_threads: int | None) -> None:
        self.name, self._X, self._score, self._n_threads = name, X, score, effective_n_threads(n_threads)

    def add(self, trees: TreeEnsemble) -> None:
        """Add trees to the score."""
        trees.add_to(self._score, self._X, 0, len(trees), self._n_threads)

    @abstractmethod
    def measure(self, thresholds: FloatArray) -> Measured:
        """Return the weighted mean loss, and what else is measured."""


class LabelledEvaluationSet(EvaluationSet):
    """Rows of an ordinal training.

    Parameters
    ----------
    name : str
    rows : TrainingSet
    parameters : BoostingParameters
    n_threads : int or None
    metrics : sequence of EvalMetric
        What is recorded beside the loss.
    scored : callable or None
        What early stopping reads; None for the loss.
    effects : EffectsLearner or None
        Effects of groups in the training that is watched.
    """

    def __init__(
        self,
        name: str,
        rows: TrainingSet,
        parameters: BoostingParameters,
        n_threads: int | None,
        metrics: Sequence[EvalMetric] = (),
        scored: Scored | None = None,
        effects: random_intercept.EffectsLearner | None = None,
    ) -> None:
        self._proportional = parameters.shifts is None
        shape = len(rows.y) if self._proportional else (len(rows.y), rows.n_classes - 1)
        super().__init__(name, rows.X, rows.started(np.zeros(shape)), n_threads)
        self._rows, self._spec, self._metrics, self._scored = rows, parameters.spec, metrics, scored
        self._effects, self._n_trees = effects, 0
        memory = CPU(n_threads)
        kernel: Any = memory.row_pass if self._proportional else memory.margin_pass
        self._pass: Any = kernel(parameters.spec.loss, rows.y, rows.n_classes, rows.sample_weight)

    def measure(self, thresholds: FloatArray) -> Measured:
        """Return the weighted mean loss of what is predicted for these rows, and what else is measured of it."""
        spec, rows, score = self._spec, self._rows, self._score
        if self._effects is not None:
            effects = [one.at(self._n_trees) for one in self._effects.found()]
            score = random_effects.with_effects(score, self._X, effects, spec.loss, thresholds)
        if score.ndim == 2 and self._proportional:  # rows of new groups
            proba = predictions.proba(spec.loss, score, thresholds)
            loss = ordinal_log_loss(rows.y, proba, sample_weight=rows.sample_weight)
        else:
            loss = soft_rows.judged_loss(self._pass, score, thresholds, spec.hessian) / float(self._pass.total_weight)
        values = {self.name: loss}
        if not self._metrics and self._scored is None:
            return values, loss
        proba = predictions.proba(spec.loss, score, thresholds)
        for metric in self._metrics:
            values |= {f"{self.name}_{name}": value for name, value, _ in metric(rows.y, proba, rows.sample_weight)}
        if self._scored is None:
            return values, loss
        values[f"{self.name}_score"] = better = self._scored(rows, proba, score)
        return values, -better

    def add(self, trees: TreeEnsemble) -> None:
        """Add trees to the score."""
        super().add(trees)
        self._n_trees += len(trees)

    def sums(self, tree: Tree, thresholds: FloatArray, sums_of: SumsOf) -> LeafModel:
        """Return the sums of the rows over the nodes of a new tree, at the score before it."""
        leaves = TreeEnsemble([tree], self._X.shape[1]).apply(self._X, self._n_threads)[:, 0]
        now = self._pass(self._score, thresholds, self._spec.hessian)
        return sums_of(self._pass, now, leaves, len(tree.left))


def fit_loop(
    run: Run,
    earlier: GrownModel | None,
    watched: Sequence[EvaluationSet],
    stopping: EarlyStopping | None,
    callback: AfterTree | None,
) -> GrownModel:
    """Advance a run to ``max_iter`` trees, or to its early end.

    Parameters
    ----------
    run : Run
        Stands where `earlier` ended.
    earlier : GrownModel or None
        Its trees are continued; it is left as it is.
    watched : sequence of EvaluationSet
        Rows whose loss is recorded; `stopping` looks at the last.
    stopping : EarlyStopping or None
    callback : callable or None
        Called after each tree; the training ends if it returns True.

    Returns
    -------
    GrownModel
    """
    trees, history, n_features = [], [], len(run.cuts)
    evals: Evals = {"training": []}
    if earlier is not None:
        trees = list(earlier.ensemble.trees)
        history = list(earlier.thresholds[: len(trees)])
        evals["training"] = earlier.evals.get("training", [])[: len(trees)]
    for rows in watched:  # the earlier training watched none, or may have watched others
        for tree, thresholds in zip(trees, history, strict=True):
            note(rows.measure(thresholds), evals)
            rows.add(TreeEnsemble([tree], n_features))

    of_kept = run.cuts, run.curvature, run.effects

    def record() -> bool:
        nonlocal of_kept
        history.append(run.thresholds)
        evals["training"].append(run.training_loss)
        judged = [note(rows.measure(run.thresholds), evals) for rows in watched]
        ends = stopping is not None and stopping.should_stop(judged[-1], len(trees))
        if stopping is None or stopping.best_iteration == len(trees):
            of_kept = run.cuts, run.curvature, run.effects
        return ends

    def model(n_trees: int | None = None) -> GrownModel:
        kept = trees[:n_trees]
        measured = {name: list(values) for name, values in evals.items()}
        cuts, curvature, effects = (run.cuts, run.curvature, run.effects) if n_trees is None else of_kept
        ensemble, counters = TreeEnsemble(kept, n_features), run.diagnostics.as_dict()
        thresholds = np.array(history[: len(kept) + 1])
        return GrownModel(ensemble, thresholds, measured, cuts, curvature, counters, start=run.start, effects=effects)

    record()
    ends = False
    while not ends and len(trees) < run.parameters.max_iter:
        trees.append(run.advance())
        for rows in watched:
            rows.add(TreeEnsemble(trees[-1:], n_features))
        ends = record()
        ends = asks_to_end(callback, len(trees), evals, model) or ends
    return model(len(trees) if stopping is None else stopping.best_iteration)


def asks_to_end(callback: AfterTree | None, *known: Any) -> bool:
    """Call what follows a tree, and tell whether it returns True."""
    answer = None if callback is None else callback(*known)
    return isinstance(answer, (bool, np.bool_)) and bool(answer)


def note(measured: Measured, evals: Evals) -> float:
    """Record what was measured and return what early stopping looks at."""
    values, judged = measured
    for name, value in values.items():
        evals.setdefault(name, []).append(value)
    return judged


@dataclass(eq=False, repr=False)
class StoredPredictions(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Stands for a classifier in the middle of its training, with its predictions for the rows that are watched.

    Attributes
    ----------
    labels : OrderedLabels
    decide : callable
        From probabilities to class codes.
    proba : ndarray of float64, shape (n_samples, n_classes)
        Lowest class first.
    score_of_rows : ndarray of float64, shape (n_samples,) or (n_samples, n_classes - 1)
    """

    labels: OrderedLabels
    decide: Callable[[FloatArray], NDArray[Any]]
    proba: FloatArray
    score_of_rows: FloatArray

    def __post_init__(self) -> None:
        self.classes_, self.ordered_classes_ = self.labels.classes_, self.labels.ordered_classes_

    def predict(self, X: Any) -> LabelArray:
        """Return labels of the rows that are watched."""
        self._check(X)
        return self.labels.decode(self.decide(self.proba))

    def predict_proba(self, X: object) -> FloatArray:
        """Return probabilities of the rows that are watched, columns sorted by label."""
        self._check(X)
        return self.labels.sort_columns(self.proba)

    def predict_raw(self, X: object) -> FloatArray:
        """Return the score of the rows that are watched."""
        self._check(X)
        return predictions.score(self.score_of_rows)

    def _check(self, X: Any) -> None:
        if X.shape[0] != len(self.proba):
            raise ValueError(f"scoring must predict all {len(self.proba)} rows that are watched; got {X.shape[0]}")


def check_scoring(scoring: Any) -> Scorer | None:
    """Return the scorer that ``scoring`` names, or None for the loss."""
    if isinstance(scoring, str) and scoring == LOSS:
        return None
    if scoring is None:
        return StoredPredictions.score
    if isinstance(scoring, str):
        if scoring in scorers.get_scorer_names():
            return scorers.get_scorer(scoring)
        return get_scorer(scoring)
    return scoring


def scored_by(scorer: Scorer, labels: OrderedLabels, decide: Decide) -> Scored:
    """Return what early stopping looks at, given a scorer.

    Parameters
    ----------
    scorer : callable
        ``scorer(estimator, X, y)``, with ``sample_weight=`` where the rows have weights and it takes them; higher is
        better.
    labels : OrderedLabels
    decide : callable
        From probabilities and weights to class codes.
    """
    by_name, _ = takes_weight(scorer)

    def scored(rows: TrainingSet, proba: FloatArray, score: FloatArray) -> float:
        estimator = StoredPredictions(labels, lambda P: decide(P, rows.sample_weight), proba, score)
        function = scorer
        if by_name and rows.sample_weight is not None:
            function = partial(scorer, sample_weight=validation.read_only(rows.sample_weight))
        number = float(validation.call_read_only("scoring", function, estimator, rows.X, labels.decode(rows.y)))
        if not np.isnan(number):
            return number
        if np.ptp(estimator.decide(proba)) > 0:
            raise ValueError("scoring must return a number; got NaN")
        return -np.inf  # a rank correlation, before the trees tell rows apart

    return scored
