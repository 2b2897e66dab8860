"""A training inside CatBoost: its metric takes the steps of the thresholds, and derivatives are handed out in blocks.

In each round CatBoost asks for derivatives of blocks of rows, first for the splits and then for the leaves. Then it
evaluates the metric: on all training rows, with the score that has the new tree, and on each evaluation set. The
callback ends the round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from catboost import Pool

from ordinal_objectives.adapters.cb.booster import baseline_of
from ordinal_objectives.adapters.followed_scores import GrownTree
from ordinal_objectives.adapters.run import TrainingRun
from ordinal_objectives.adapters.training import Training
from ordinal_objectives.aliases import ArrayLike, FloatArray, IntArray, NDArray, RealArray
from ordinal_objectives.eval_metric import Result, for_early_stopping
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver.record import ThresholdRecord

# Of class codes, probabilities and weights.
RoundMetric = Callable[[IntArray, FloatArray, "FloatArray | None"], list[Result]]


# What is kept of the training rows from one round to the next.
_OF_ROUND = ("_score", "_first", "_second", "_sets")


class _Pairs:
    """First and second derivatives of some rows: CatBoost asks for their number, and walks through them once."""

    def __init__(self, first: list[float], second: list[float]) -> None:
        self._columns = first, second

    def __len__(self) -> int:
        return len(self._columns[0])

    def __iter__(self) -> Iterator[tuple[float, float]]:
        return zip(*self._columns, strict=True)


class _PoolData:
    """What stands for the training rows and for each evaluation set, of which CatBoost shows arrays alone."""

    def __init__(self, pool: Pool = None) -> None:
        self.pool = pool  # which has no hash


class CatBoostTraining(Training):
    """A training inside CatBoost, which shows neither the data nor the model: rounds are counted by its callback.

    Parameters
    ----------
    spec, continues, **options
        As for :class:`.training.Training`.
    metrics : sequence of callable
        Evaluated beside the loss on each evaluation set.

    Attributes
    ----------
    results : dict of str to dict
        Loss and metrics of each evaluation set after 1, 2, ... rounds.
    error : BaseException or None
        What was raised here: CatBoost has only the text of it.
    """

    _matrix_type: ClassVar = Pool
    _elsewhere: ClassVar = "this objective belongs to CatBoost.fit"
    _run: TrainingRun | None = None
    # Score and derivatives of the training rows, and where the next block of them begins.
    _score: RealArray
    _first: list[float]
    _second: list[float]
    _place: int

    def __init__(
        self,
        spec: OrdinalSpec,
        continues: ThresholdRecord | None = None,
        *,
        metrics: Sequence[RoundMetric] = (),
        **options: Any,
    ) -> None:
        super().__init__(spec, continues, **options)
        self._metrics = metrics

    def start(self, pool: Pool, score: RealArray) -> None:
        """Begin a run on a pool whose rows have a score before the first tree."""
        self.check_matrix(pool)
        self.check_start(score, self.continues, "init_model or a baseline is set")
        self._run = run = self.begin(_PoolData(pool), self.continues)
        self.results: dict[str, dict[str, list[float]]] = {}
        self.error: BaseException | None = None
        self._iteration, self._n_evaluated = run.first_iteration, 0
        self._sets: list[_PoolData] = []
        self._keep_derivatives(score)

    @property
    def run(self) -> TrainingRun:
        """The run of the training; raises ValueError before it has begun."""
        return self._run or self.latest

    def growing(self, score: RealArray, matrix: object, epoch: int | None = None) -> tuple[TrainingRun, int]:
        """Return the run, and the iteration of the score that the next tree is grown on."""
        return self.run, self._iteration

    def evaluating(self, score: RealArray, matrix: object) -> TrainingRun:
        """Return the run, advanced to the score of all training rows with the newest tree."""
        self._iteration += 1
        self.run.advance(score, self._iteration)
        return self.run

    def label_and_weight(self, matrix: object) -> tuple[ArrayLike, ArrayLike | None]:
        """Return the labels of a pool and its weights; None where all are 1."""
        assert isinstance(matrix, _PoolData)
        label = matrix.pool.get_label()
        if label is None:
            raise ValueError("the pool has no labels; pass label= to catboost.Pool")
        weight = np.asarray(matrix.pool.get_weight())
        return label, None if (weight == 1.0).all() else weight

    def initial_score(self, matrix: Pool) -> RealArray:
        """Return the baseline of a pool, float64 (n_samples,)."""
        return baseline_of(matrix)

    def newest_tree(self, matrix: object, before: object, after: object) -> GrownTree:
        """Not possible: CatBoost shows no tree before the training ends, and no entry point takes such an update."""
        raise NotImplementedError

    # What CatBoost calls

    def derivatives(self, approxes: RealArray, targets: RealArray, weights: RealArray | None) -> _Pairs:
        """Return what CatBoost grows a tree on, and values its leaves by: -g and -h of a block of rows."""
        start, stop = self._place, self._place + len(approxes)
        if not self._are_rows(slice(start, stop), approxes, targets, weights):
            start, stop = 0, len(approxes)  # CatBoost walks through the rows again, from the first one
        self._place = stop % len(self._score)
        if self._are_rows(slice(start, stop), approxes, targets, weights):
            return _Pairs(self._first[start:stop], self._second[start:stop])
        run = self.run
        rows = run.placement.device.row_pass(run.spec.loss, targets, run.rows.n_classes, weights, part=True)
        statistics = rows(approxes, run.thresholds, run.spec.hessian, want_loss=False)
        return _Pairs((-statistics.gradient).tolist(), (-statistics.hessian).tolist())

    def measure(self, score: RealArray, targets: RealArray, weights: RealArray | None) -> float:
        """Return the mean loss of some rows with the newest tree; those of the training come first, and step.

        Of an evaluation set it is the last metric, where there are some: CatBoost stops by what is returned. It asks
        for the direction before there is a value: the sign is changed where higher is better.
        """
        self._n_evaluated += 1
        if self._n_evaluated == 1:
            self._in_order(targets, weights)
            loss = self.evaluating(score, None).newest_loss()
            self._keep_derivatives(np.array(score))
            return loss
        place = self._n_evaluated - 2
        if place == len(self._sets):
            self._sets.append(_PoolData())
        run, rows = self.run, self._sets[place]
        loss = run.mean_loss_of(rows, score, targets, weights)
        found = [(run.spec.loss.name, loss, False)]
        if self._metrics:
            weight = None if weights is None else weights.astype(np.float64)
            codes, proba = targets.astype(np.int32), run.proba_of(rows, score)
            found += [result for metric in self._metrics for result in metric(codes, proba, weight)]
        results = self.results.setdefault(f"validation_{place}", {})
        for name, value, _ in found:
            results.setdefault(name, []).append(value)
        [(_, value, higher)] = for_early_stopping(found[-1:])
        worst = float(np.finfo(np.float64).max)  # CatBoost writes values to JSON, which has no infinity
        return min(-value if higher else value, worst)

    def end_round(self, n_rounds: int) -> None:
        """End a round of a fit; raise ValueError if the thresholds have not seen its tree, or belong to another fit."""
        if self._n_evaluated == 0:
            raise ValueError(
                "the metric was not evaluated on the training rows in this round, so the thresholds cannot follow: "
                "pass objective.params among CatBoost's, and leave metric_period at 1"
            )
        if n_rounds != (seen := self._iteration - self.run.first_iteration):
            raise ValueError(
                f"an objective belongs to one fit: this one has seen {seen} rounds, and the fit {n_rounds}. Make "
                f"another one, and leave out save_snapshot"
            )
        self._n_evaluated = 0

    def forget(self) -> None:
        """Forget the run with its rows: a model holds its objective, and a copy of the record."""
        self._run = self._latest_anywhere = None
        self._here.forget()
        self.__dict__ = {name: value for name, value in vars(self).items() if name not in _OF_ROUND}

    @contextmanager
    def keeping_errors(self) -> Iterator[None]:
        """Keep what is raised into CatBoost, an interrupt too."""
        try:
            yield
        except BaseException as error:
            self.error = self.error or error
            raise

    def _are_rows(self, some: slice, score: RealArray, targets: RealArray, weights: RealArray | None) -> bool:
        """Return whether a block has the score, labels and weights of some training rows, as they came last."""
        of_rows = self.run.rows.sample_weight
        return (
            np.array_equal(self._score[some], score)
            and np.array_equal(self.run.rows.y[some], targets)
            and (
                (weights is None) if of_rows is None else weights is not None and np.array_equal(of_rows[some], weights)
            )
        )

    def _in_order(self, targets: RealArray, weights: RealArray | None) -> None:
        """Take the training rows in CatBoost's order: with categories, and in ordered boosting, it is another one."""
        run = self.run
        of_rows = run.rows.sample_weight
        if np.array_equal(run.rows.y, targets) and (
            (weights is None) if of_rows is None else np.array_equal(of_rows, np.asarray(weights, of_rows.dtype))
        ):
            return
        ours, those = _sorted_pairs(run.rows.y, of_rows), _sorted_pairs(targets, weights)
        if not np.array_equal(ours, those):
            raise ValueError(
                f"CatBoost trains on {len(those)} rows, the objective was made for {len(ours)}, and labels or weights "
                f"differ: fit needs the objective's own pool, whole and without weights of groups"
            )
        run.reorder(targets, weights)

    def _keep_derivatives(self, score: RealArray) -> None:
        """Advance to a score of the training rows, and keep their derivatives for the blocks of the next round."""
        run, iteration = self.growing(score, None)
        gradient, hessian = run.gradient(score, iteration)
        self._score, self._place = score, 0
        self._first, self._second = (-gradient).tolist(), (-hessian).tolist()


def _sorted_pairs(y: RealArray, weight: RealArray | None) -> NDArray[np.complex128]:
    """Return labels as real parts and weights as imaginary ones, sorted."""
    return np.sort(np.asarray(y) + 1j * np.asarray(1 if weight is None else weight, np.float32))


class LossMetric:
    """The mean ordinal loss or what decides in its place, as CatBoost's ``eval_metric``; thresholds step with it.

    Parameters
    ----------
    training : CatBoostTraining
    """

    no_jit = True  # CatBoost would compile it, if numba is there

    def __init__(self, training: CatBoostTraining) -> None:
        self._training = training

    def __deepcopy__(self, memo: dict[int, object]) -> LossMetric:
        return self

    def is_max_optimal(self) -> bool:
        """Return False: a lower value is better."""
        return False

    def get_final_error(self, error: float, weight: float) -> float:
        """Return the mean from what :meth:`evaluate` returns."""
        return error / weight

    def evaluate(self, approxes: Sequence[Any], target: Any, weight: Any) -> tuple[float, float]:
        """Return what some rows are judged by, and 1."""
        with self._training.keeping_errors():
            return self._training.measure(approxes[0], target, weight), 1.0


class RoundCallback:
    """Ends each round of a training.

    Parameters
    ----------
    training : CatBoostTraining
    """

    def __init__(self, training: CatBoostTraining) -> None:
        self._training = training

    def after_iteration(self, info: Any) -> bool:
        """End the round, and return True: the training goes on."""
        with self._training.keeping_errors():
            self._training.end_round(info.iteration)
        return True
