"""A training inside LightGBM: the run and the iteration of a score, as far as LightGBM provides them."""

from __future__ import annotations

import threading
import weakref
from dataclasses import replace
from typing import Any, ClassVar

import lightgbm
import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.adapters.followed_scores import GrownTree
from ordinal_objectives.adapters.lgbm.record import check_record
from ordinal_objectives.adapters.lgbm.scores import TrainingScore, out_of_step
from ordinal_objectives.adapters.lgbm.trees import SHIFTS, check_parameters, initial_score, newest_tree, why_not_renewed
from ordinal_objectives.adapters.run import TrainingRun
from ordinal_objectives.adapters.training import Plan, Training
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver.record import ThresholdRecord

_MACHINES = ("num_machines", "num_machine")
_THREADS = ("num_threads", "num_thread", "nthread", "nthreads", "n_jobs")


class _LightGBMState(threading.local):
    """State that LightGBM passes to its trainings, in each thread."""

    def __init__(self) -> None:
        # The booster or the folds that the callback has seen last.
        self.model: Any = None
        self.scores: weakref.WeakKeyDictionary[lightgbm.Dataset, TrainingScore] = weakref.WeakKeyDictionary()
        # Booster -> its iterations before those of its run.
        self.unseen: weakref.WeakKeyDictionary[lightgbm.Booster, int] = weakref.WeakKeyDictionary()

    def set_model(self, model: Any) -> None:
        """Take over a booster, or folds."""
        self.model = model

    def clear_model(self) -> None:
        """Drop the booster: another training begins."""
        self.model = None


class LightGBMTraining(Training):
    """A training inside LightGBM, which passes no booster to the objective: the callback does, or changes are counted.

    Parameters
    ----------
    spec, continues, n_threads, plan
        As for :class:`.training.Training`.
    """

    _matrix_type: ClassVar = lightgbm.Dataset
    _elsewhere: ClassVar = (
        "this objective belongs to lightgbm.train, which shows it the data set; with LightGBM's scikit-learn and Dask "
        "classes take LGBMOrdinalClassifier, or FixedThresholds for thresholds that stay"
    )

    def __init__(
        self,
        spec: OrdinalSpec,
        continues: ThresholdRecord | None = None,
        *,
        n_threads: int | None = None,
        plan: Plan | None = None,
    ) -> None:
        if spec.shift_method is not None:
            raise ValueError(
                f"shift_method={spec.shift_method!r} belongs to XGBoost: LightGBM fits no shifts itself; leave it out"
            )
        super().__init__(spec, continues, n_threads=n_threads, plan=plan)
        self._state = _LightGBMState()
        # Shifts by the model that is continued, if it has any.
        self._before: weakref.WeakKeyDictionary[lightgbm.Dataset, NDArray[np.float64]] = weakref.WeakKeyDictionary()

    def set_initial_shifts(self, data: lightgbm.Dataset, shifts: NDArray[np.float64]) -> None:
        """Take over the shifts of a data set by the model that is continued, (n_samples, n_classes - 1)."""
        self._before[data] = shifts

    def set_model(self, model: Any, n_new: int) -> bool:
        """Take over a booster of so many new rounds, if it suits the objective; return whether it is a new one."""
        if self._state.model is model:
            return False
        boosters = getattr(model, "boosters", None) or [model]
        for booster in boosters:
            check_parameters(booster, self.spec.threshold_update)
            if self.continues is not None:
                check_record(booster, self.continues, n_new)
        if not self.items() or self.plan.driven:
            self.choose_shifts(why_not_renewed(boosters[0]))
        self._state.set_model(model)
        return True

    def boosters(self) -> list[Any]:
        """Return the boosters of the training with the callback."""
        model = self._state.model
        return [] if model is None else getattr(model, "boosters", None) or [model]

    def booster_of(self, data: lightgbm.Dataset) -> Any:
        """Return the booster that trains on ``data``, or None if the callback has seen none."""
        # A booster whose training has ended has no train_set.
        return next((booster for booster in self.boosters() if getattr(booster, "train_set", None) is data), None)

    def growing(self, preds: NDArray[Any], train_data: lightgbm.Dataset) -> tuple[TrainingRun, int]:
        """Return the run whose next tree is grown on a score of the data set, and the iteration of that score."""
        run = self.of(train_data)
        if run is None or not self._state.scores[train_data].is_in(preds):
            run = self._begin(preds, train_data)
        elif self.needs_tree and self.booster_of(train_data) is None:
            raise self.callback_is_needed()
        else:
            self._check_in_step(train_data, run)
        if self.booster_of(train_data) is None:
            self.note_turn(run)
        return run, self._iteration(preds, train_data, run)

    def _iteration(self, preds: NDArray[Any], data: lightgbm.Dataset, run: TrainingRun) -> int:
        """Return the iteration of a training score: the booster's, or as counted where the callback shows none."""
        booster = self.booster_of(data)
        unseen = None if booster is None else self._state.unseen.get(booster)
        if unseen is None:
            return self._state.scores[data].count(preds)
        # A tree whose leaves are below the rounding of the score is one all the same.
        rounds: int = booster.current_iteration()
        if rounds - unseen < len(run.history) - 1:
            raise _out_of_count(rounds, unseen + len(run.history) - 1)
        return rounds - unseen

    def _begin(self, preds: NDArray[Any], train_data: lightgbm.Dataset) -> TrainingRun:
        """Begin a training: the first on this data set, or a new one, which starts at the scores of its rows."""
        if self.of(train_data) is not None and not np.array_equal(preds, initial_score(train_data)):
            raise _foreign_scores()
        previous = self.continues
        self._check_machines(train_data)
        self.check_start(preds, previous, "init_model or init_score is set")
        if not self.plan.driven:
            self._state.clear_model()
        run = self.begin(train_data, previous)
        self._state.scores[train_data] = TrainingScore(preds, run.first_iteration)
        return run

    def _check_machines(self, train_data: lightgbm.Dataset) -> None:
        """Refuse to learn thresholds from the rows of one machine of several."""
        params = train_data.params or {}
        machines = next((params[name] for name in _MACHINES if params.get(name) is not None), 1)
        fixed = not self.spec.learns and self.spec.thresholds is not None
        if int(machines) > 1 and not fixed:
            raise ValueError(
                f"params['num_machines'] = {machines} is not allowed beside thresholds that are learned: LightGBM has "
                f"no sum over its machines that they could be learned from, so each would have its own. Pass "
                f"threshold_update='fixed' with thresholds=, or train with XGBoost on Dask"
            )

    def evaluating(self, preds: NDArray[Any], data: lightgbm.Dataset) -> TrainingRun:
        """Return the run whose booster evaluates a data set, at the iteration of that booster."""
        own = self.of(data)
        if own is not None and self._state.scores[data].is_in(preds) and not self.needs_tree:
            self._learn(preds, data, own)
            return own
        for booster in self.boosters():
            if not hasattr(booster, "train_set"):  # its training has ended
                continue
            if data is booster.train_set or any(data is valid for valid in booster.valid_sets):
                return self.advance(booster)
        # lightgbm.cv hands over training scores in other arrays, in the first round before the callback knows it.
        if own is not None and len(own.history) > own.first_iteration + 1:
            raise _foreign_scores()
        return own or self.unambiguous_run()

    def advance(self, booster: Any) -> TrainingRun:
        """Learn the thresholds of a booster's iteration; return its run."""
        run = self[booster.train_set]

        # Evaluating the training set is the one public way to its cached score.
        def look(preds: NDArray[Any], data: lightgbm.Dataset) -> tuple[str, float, bool]:
            self._learn(preds, data, run)
            return "", 0.0, False

        booster.eval_train(look)
        return run

    def _learn(self, preds: NDArray[Any], train_data: lightgbm.Dataset, run: TrainingRun) -> None:
        score = self._state.scores[train_data]
        if not score.is_in(preds):
            raise _foreign_scores()
        run.advance(preds, self._iteration(preds, train_data, run))

    def record_of(self, booster: Any) -> ThresholdRecord:
        """Return the record of a booster, which must not have lost or gained iterations beside its run."""
        run = self[booster.train_set]
        unseen, record = self._check_in_step(booster.train_set, run), run.record()
        record = replace(record, linear=self.plan.linear, classifier=self.plan.classifier)
        return record.stretched(record.n_iterations + unseen, unseen) if unseen else record

    def _check_in_step(self, data: lightgbm.Dataset, run: TrainingRun) -> int:
        """Return how many iterations of the booster that trains on ``data`` stand before those of its run."""
        booster = self.booster_of(data)
        if booster is None:
            return 0
        rounds: int = booster.current_iteration()
        # Trees that the run has not seen stand first, and stay as many: those of a model continued without its
        # record, and that of a first round which leaves the score as it was, a constant if it finds no split.
        unseen = rounds - (len(run.history) - 1)
        expected = self._state.unseen.setdefault(booster, unseen)
        if unseen != expected:
            raise _out_of_count(rounds, rounds - unseen + expected)
        return unseen

    def n_threads(self, matrix: lightgbm.Dataset) -> int | None:
        """Return the threads of the passes over a data set: LightGBM's, unless the objective has its own."""
        params = matrix.params or {}
        asked = next((int(params[name]) for name in _THREADS if params.get(name) is not None), 0)
        # LightGBM takes 0 and less for all processors.
        return self.asked_threads if self.asked_threads is not None or asked <= 0 else asked

    def metric(self, preds: NDArray[Any], data: lightgbm.Dataset) -> tuple[str, float, bool]:
        """Return the weighted mean loss as LightGBM asks for a metric."""
        return self.spec.loss.name, self.mean_loss(preds, data), False

    def label_and_weight(self, matrix: lightgbm.Dataset) -> tuple[Any, Any]:
        """Return the labels of a data set and its weights, or None."""
        label = matrix.get_label()
        if label is None:
            raise ValueError("the data set has no labels; pass label= to lightgbm.Dataset")
        return label, matrix.get_weight()

    def initial_score(self, matrix: lightgbm.Dataset) -> NDArray[Any]:
        """Return the score of an evaluated data set before the first tree, (n_samples,)."""
        return initial_score(matrix)

    def newest_tree(self, matrix: lightgbm.Dataset, before: Any, after: Any) -> GrownTree:
        """Return the tree of the last iteration."""
        update = f"threshold_update={self.spec.threshold_update!r}"
        return newest_tree(self.booster_of(matrix), update if self.shifts is None else SHIFTS)

    def initial_shifts(self, matrix: lightgbm.Dataset) -> NDArray[np.float64] | None:
        """Return the shifts of a data set by the model that is continued, (n_samples, n_classes - 1), or None."""
        return self._before.get(matrix)


def _out_of_count(rounds: int, expected: int) -> ValueError:
    return out_of_step(f"the booster has {rounds} iterations where {expected} are expected")


def _foreign_scores() -> ValueError:
    return ValueError(
        "the scores are not those of the training that this objective follows on the data set: take one objective "
        "for each booster, and hand it the array that LightGBM passes, not a copy (start scores are the data set's "
        "init_score)"
    )
