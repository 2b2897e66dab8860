"""A training inside LightGBM: its callbacks, and the run and the iteration of a score, as far as LightGBM has them."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import lightgbm
import numpy as np
from lightgbm.callback import CallbackEnv

from ordinal_objectives.adapters.followed_scores import GrownTree
from ordinal_objectives.adapters.lgbm import booster as lgbm_booster, input_checks
from ordinal_objectives.adapters.run import TrainingRun
from ordinal_objectives.adapters.training import Training
from ordinal_objectives.aliases import ArrayLike, FloatArray, RealArray
from ordinal_objectives.rows import Workers
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver.record import ThresholdRecord


class _LightGBMState(threading.local):
    """State that LightGBM passes to its trainings, in each thread."""

    def __init__(self) -> None:
        # The booster or the folds that the callback was given last, and the boosters in it.
        self.model: lightgbm.Booster | lightgbm.CVBooster | None = None
        self.boosters: list[lightgbm.Booster] = []
        # Data set -> the array of its training scores, which LightGBM passes at every call for one booster.
        self.scores: weakref.WeakKeyDictionary[lightgbm.Dataset, weakref.ref[RealArray]] = weakref.WeakKeyDictionary()
        # Data set -> the booster that trains on it, which keeps its data set alive.
        self.trained: weakref.WeakKeyDictionary[lightgbm.Dataset, weakref.ref[lightgbm.Booster]] = (
            weakref.WeakKeyDictionary()
        )
        # Booster -> its iterations before its training.
        self.earlier: weakref.WeakKeyDictionary[lightgbm.Booster, int] = weakref.WeakKeyDictionary()
        # Booster -> its iterations before those of its run.
        self.unseen: weakref.WeakKeyDictionary[lightgbm.Booster, int] = weakref.WeakKeyDictionary()
        # Runs that have grown a tree since a metric was last asked for: several are the folds of cv.
        self.in_round: weakref.WeakSet[TrainingRun] = weakref.WeakSet()
        self.is_evaluated = False

    def note_tree(self, run: TrainingRun) -> None:
        """Note that a run grows a tree."""
        if self.is_evaluated:
            self.in_round.clear()
        self.is_evaluated = False
        self.in_round.add(run)

    def note_metric(self) -> None:
        """Note that a metric is asked for: the next tree is of another round."""
        self.is_evaluated = True

    def set_model(self, model: lightgbm.Booster | lightgbm.CVBooster | None, boosters: list[lightgbm.Booster]) -> None:
        """Set the booster or the folds of the training; None where another training begins."""
        self.model, self.boosters = model, boosters


class LightGBMTraining(Training):
    """A training inside LightGBM, which passes no booster to the objective: the callback does.

    Parameters
    ----------
    spec, continues, **options
        As for :class:`.training.Training`.
    workers : Workers or None
        Those that train together, each on its own rows, connected beside LightGBM's own network.
    """

    _matrix_type: ClassVar = lightgbm.Dataset
    _elsewhere: ClassVar = (
        "this objective belongs to lightgbm.train, which shows it the data set; with LightGBM's scikit-learn and Dask "
        "classes take LGBMOrdinalClassifier and DaskLGBMOrdinalClassifier"
    )

    def __init__(
        self,
        spec: OrdinalSpec,
        continues: ThresholdRecord | None = None,
        *,
        workers: Workers | None = None,
        **options: Any,
    ) -> None:
        if spec.shift_method is not None:
            raise ValueError(
                f"shift_method={spec.shift_method!r} belongs to XGBoost: LightGBM fits no shifts itself; leave it out"
            )
        super().__init__(spec, continues, **options)
        self._workers = workers
        self.state = _LightGBMState()
        # Shifts by the model that is continued, if it has any.
        self.before: weakref.WeakKeyDictionary[lightgbm.Dataset, FloatArray] = weakref.WeakKeyDictionary()

    def set_model(self, env: CallbackEnv, n_new: int) -> bool:
        """Set the booster of a training of so many rounds, or its folds; return whether it is a new one."""
        model = env.model
        if self.state.model is model:
            return False
        boosters = getattr(model, "boosters", None) or [model]
        for booster in boosters:
            lgbm_booster.check_parameters(booster, self.spec.threshold_update)
            if self.continues is not None:
                lgbm_booster.check_record(booster, self.continues, n_new)
        if not self.items() or self.plan.driven:
            self.choose_shifts(lgbm_booster.why_not_renewed(boosters[0]))
        self.state.set_model(model, boosters)
        for booster in boosters:
            self.state.trained[booster.train_set] = weakref.ref(booster)
            self.state.earlier[booster] = env.begin_iteration if n_new else booster.current_iteration()
        return True

    def _booster_of(self, data: lightgbm.Dataset) -> lightgbm.Booster | None:
        """Return the booster that trains on ``data``, or None if the callback was given none."""
        known = self.state.trained.get(data)
        booster = None if known is None else known()
        # A booster whose training has ended has no train_set.
        return booster if getattr(booster, "train_set", None) is data else None

    def growing(
        self, preds: RealArray, train_data: lightgbm.Dataset, epoch: int | None = None
    ) -> tuple[TrainingRun, int]:
        """Return the run whose next tree is grown on a score of the data set, and the iteration of that score.

        Raises
        ------
        ValueError
            At the second gradient of a training whose callback has not passed the booster.
        """
        run = self.of(train_data)
        if run is None or not self._is_of_booster(preds, train_data):
            run = self._begin(preds, train_data)
            if self._booster_of(train_data) is None:
                self.state.note_tree(run)
            return run, run.first_iteration
        booster = self._booster_of(train_data)
        if booster is None:
            raise self.callback_is_needed()
        self._check_in_step(booster, run)
        return run, len(run.history) - 1

    def _is_of_booster(self, preds: RealArray, data: lightgbm.Dataset) -> bool:
        """Return whether LightGBM passed this array before, for the booster that trains on the data set."""
        known = self.state.scores.get(data)
        return known is not None and known() is _owner(preds)

    def _iteration(self, booster: lightgbm.Booster, run: TrainingRun) -> int:
        """Return the iteration of a booster's newest training score in its run.

        Trees that the run has not seen stand first: those of a model continued without its record, and that of a first
        round which leaves the score as it was, a constant if it finds no split.
        """
        rounds: int = booster.current_iteration()
        unseen = self.state.unseen.get(booster)
        if unseen is None:  # in the first round
            grown = rounds > self.state.earlier[booster] and lgbm_booster.has_split(booster, rounds - 1)
            unseen = self.state.unseen[booster] = rounds - run.first_iteration - grown
        if rounds - unseen < len(run.history) - 1:
            raise _out_of_count(rounds, unseen + len(run.history) - 1)
        # A tree whose leaves are below the rounding of the score is one all the same.
        return rounds - unseen

    def _begin(self, preds: RealArray, train_data: lightgbm.Dataset) -> TrainingRun:
        """Begin a training: the first on this data set, or a new one, which starts at the scores of its rows."""
        if self.of(train_data) is not None and not np.array_equal(preds, self.initial_score(train_data)):
            raise _foreign_scores()
        machines = input_checks.value_of(train_data.params or {}, "num_machines")
        fixed = not self.spec.learns and self.spec.thresholds is not None
        if int(machines or 1) > 1 and not fixed and self._workers is None:
            raise ValueError(
                f"params['num_machines'] = {machines} is not allowed beside thresholds that are learned: LightGBM has "
                f"no sum over its machines that they could be learned from. Call olgbm.train where xgboost.collective "
                f"connects the same machines, or take DaskLGBMOrdinalClassifier; or pass threshold_update='fixed' with "
                f"thresholds="
            )
        self.check_start(preds, self.continues, "init_model or init_score is set")
        if not self.plan.driven:
            self.state.set_model(None, [])
            self.state.trained.pop(train_data, None)
        run = self.begin(train_data, self.continues)
        self.state.scores[train_data] = weakref.ref(_owner(preds))
        return run

    def evaluating(self, preds: RealArray, data: lightgbm.Dataset) -> TrainingRun:
        """Return the run whose booster evaluates a data set, at the iteration of that booster."""
        own, booster = self.of(data), self._booster_of(data)
        self.state.note_metric()
        if own is not None and booster is not None and self._is_of_booster(preds, data) and not self.needs_tree:
            self._learn(booster, own, preds, data)
            return own
        for booster in self.state.boosters:
            if not hasattr(booster, "train_set"):  # its training has ended
                continue
            if data is booster.train_set or any(data is valid for valid in booster.valid_sets):
                return self.advance(booster)
        # lightgbm.cv evaluates folds before the callback knows them, and passes training scores in other arrays.
        if own is not None and len(own.history) > own.first_iteration + 1:
            raise _foreign_scores()
        return own or self._run_of_fold(data) or self.only_run(data)

    def _run_of_fold(self, data: lightgbm.Dataset) -> TrainingRun | None:
        """Return the run of the fold of cv whose held-out rows a data set has.

        That is the only run of the round on a part of the same whole that shares no row with it; None if there is none,
        or several.
        """
        of_round: list[tuple[Any, TrainingRun]] = [one for one in self.items() if one[1] in self.state.in_round]
        if data.used_indices is None or len(of_round) == 1:
            return None
        found = [
            run
            for matrix, run in of_round
            if matrix.used_indices is not None
            and matrix.reference is data.reference
            and len(run.history) == len(self.latest.history)
            and not np.isin(data.used_indices, matrix.used_indices).any()
        ]
        return found[0] if len(found) == 1 else None

    def advance(self, booster: lightgbm.Booster) -> TrainingRun:
        """Learn the thresholds of a booster's iteration; return its run."""
        run = self._here.runs[booster.train_set]
        # Evaluating the training set is the one public way to its cached score.
        booster.eval_train(partial(self._learn, booster, run))
        return run

    def _learn(
        self, booster: lightgbm.Booster, run: TrainingRun, preds: RealArray, data: lightgbm.Dataset
    ) -> tuple[str, float, bool]:
        """Learn the thresholds of a training score; what is returned LightGBM takes for a metric."""
        if not self._is_of_booster(preds, data):
            raise _foreign_scores()
        run.advance(preds, self._iteration(booster, run))
        return "", 0.0, False

    def record_of(self, booster: lightgbm.Booster) -> ThresholdRecord:
        """Learn the thresholds of a booster's iteration; return its record.

        The booster must not have lost or gained iterations that its run has not.
        """
        run = self.advance(booster)
        unseen = self._check_in_step(booster, run)
        # Among workers the newest loss comes with the sums of the next round, and the last one when the training ends.
        record = replace(
            run.record(by_all=self._workers is None), linear=self.plan.linear, classifier=self.plan.classifier
        )
        return record.stretched(record.n_iterations + unseen, unseen) if unseen else record

    def _check_in_step(self, booster: lightgbm.Booster, run: TrainingRun) -> int:
        """Return how many iterations of a booster stand before those of its run."""
        rounds: int = booster.current_iteration()
        unseen = self.state.unseen.setdefault(booster, rounds - (len(run.history) - 1))
        expected = unseen + len(run.history) - 1
        if rounds != expected:
            raise _out_of_count(rounds, expected)
        return unseen

    def n_threads(self, matrix: lightgbm.Dataset) -> int | None:
        """Return the threads of the passes over a data set: LightGBM's, unless the objective has its own."""
        asked = int(input_checks.value_of(matrix.params or {}, "num_threads") or 0)
        # LightGBM takes 0 and less for all processors.
        return self.asked_threads if self.asked_threads is not None or asked <= 0 else asked

    def label_and_weight(self, matrix: lightgbm.Dataset) -> tuple[ArrayLike, ArrayLike | None]:
        """Return the labels of a data set and its weights, or None."""
        label = matrix.get_label()
        if label is None:
            raise ValueError("the data set has no labels; pass label= to lightgbm.Dataset")
        return label, matrix.get_weight()

    def initial_score(self, matrix: lightgbm.Dataset) -> RealArray:
        """Return the score of a data set before the first tree, float64 (n_samples,)."""
        score = matrix.get_init_score()
        return np.zeros(matrix.num_data()) if score is None else np.asarray(score, dtype=np.float64)

    def newest_tree(self, matrix: lightgbm.Dataset, before: object, after: object) -> GrownTree:
        """Return the tree of the last iteration."""
        booster = self._booster_of(matrix)
        assert booster is not None
        update = f"threshold_update={self.spec.threshold_update!r}"
        return lgbm_booster.newest_tree(booster, update if self.shifts is None else lgbm_booster.SHIFTS)

    def initial_shifts(self, matrix: lightgbm.Dataset) -> FloatArray | None:
        """Return the shifts of a data set by the model that is continued, (n_samples, n_classes - 1), or None."""
        return self.before.get(matrix)


def _owner(array: RealArray) -> RealArray:
    return _owner(array.base) if isinstance(array.base, np.ndarray) else array


def _out_of_count(rounds: int, expected: int) -> ValueError:
    return _out_of_step(f"the booster has {rounds} iterations where {expected} are expected")


def _out_of_step(what: str) -> ValueError:
    return ValueError(
        f"{what}: the thresholds cannot follow rollback_one_iter or any other change of the booster's iterations "
        f"during the training"
    )


def _foreign_scores() -> ValueError:
    return ValueError(
        "the scores are not those of the training that this objective follows on the data set: take one objective "
        "for each booster, and hand it the array that LightGBM passes, not a copy (start scores are the data set's "
        "init_score)"
    )


class ThresholdCallback:
    """Passes the booster to a training after each round, and gives the booster its thresholds.

    Parameters
    ----------
    training : LightGBMTraining
        That of the objective.
    """

    order = -1_000_000  # before whatever reads the metrics

    def __init__(self, training: LightGBMTraining) -> None:
        self._training = training

    def __call__(self, env: CallbackEnv) -> None:
        """Learn the thresholds of the round, and give the booster their record."""
        first = self._training.set_model(env, 1)
        if first:
            input_checks.check_metrics(env.params)
        for booster in self._training.state.boosters:
            lgbm_booster.store_round(booster, self._training.record_of(booster), env.iteration + 1)
        if first and env.evaluation_result_list:
            self._renew_first_metrics(env)

    def _renew_first_metrics(self, env: CallbackEnv) -> None:
        """Replace metrics of the first round, which were computed before a callback could see the booster."""
        name = self._training.spec.loss.name

        def metric(preds: RealArray, data: lightgbm.Dataset) -> tuple[str, float, bool]:
            return name, self._training.mean_loss(preds, data), False

        fresh = [
            {result[:2]: result for result in [*booster.eval_train(metric), *booster.eval_valid(metric)]}
            for booster in self._training.state.boosters
        ]
        results = env.evaluation_result_list
        for i, result in enumerate(results):
            key = set_and_metric(result)
            if key[1] == name and all(key in renewed for renewed in fresh):
                values = [renewed[key][2] for renewed in fresh]
                tail = result[3:] if len(fresh) == 1 else (result[3], float(np.std(values)), *result[5:])
                entry = (*result[:2], float(np.mean(values)), *tail)
                results[i] = type(result)(*entry) if hasattr(result, "_fields") else entry


def set_and_metric(result: Sequence[Any]) -> tuple[str, str]:
    """Return the names of the set and the metric of an entry of an evaluation; cv of older LightGBMs joins them."""
    name, metric = result[1].split(" ", 1) if result[0] == "cv_agg" else result[:2]
    return name, metric


class BeforeIterationCallback(ThresholdCallback):
    """Passes the booster before the first tree, so that the first metrics use the newest thresholds too.

    Parameters
    ----------
    training : LightGBMTraining
    """

    before_iteration = True

    def __call__(self, env: CallbackEnv) -> None:
        """Pass the booster to the training."""
        if self._training.set_model(env, 0):
            for booster in self._training.state.boosters:
                lgbm_booster.let_train_without_features(booster)
