"""A training inside XGBoost: which run a score belongs to, which iteration it is, where rows are, what is kept."""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import xgboost

from ordinal_objectives.adapters.collective import Collective
from ordinal_objectives.adapters.followed_scores import GrownTree
from ordinal_objectives.adapters.run import TrainingRun, Update, score_of_rows
from ordinal_objectives.adapters.training import Training, one_at_a_time
from ordinal_objectives.adapters.xgb import booster as xgb_booster, input_checks, outputs, prediction
from ordinal_objectives.aliases import ArrayLike, FloatArray, NDArray, RealArray
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.rows import CPU, Array, Device, Workers, fail_together
from ordinal_objectives.rows.gpu import GPU, cupy_of, why_no_pass
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver.record import ThresholdRecord

type Callback = xgboost.callback.TrainingCallback
type EvalsLog = xgboost.callback.TrainingCallback.EvalsLog
# A booster, the folds of xgboost.cv, whose type is not public, or None outside a training.
type Model = Any


def boosters_of(model: Model) -> list[xgboost.Booster]:
    """Return a booster, or those of the folds of xgboost.cv; none of None."""
    return [fold.bst for fold in getattr(model, "cvfolds", [])] or [model] * (model is not None)


class CallbackState(threading.local):
    """State that the callback passes to a training, in each thread.

    Attributes
    ----------
    model : xgboost.Booster, the folds of xgboost.cv, or None
        None outside a training with the callback.
    round : int
        Rounds done before the one under way.
    previous : ThresholdRecord or None
        Record of the model that is continued.
    workers : Workers or None
        Those of the training.
    last_only : bool
        Whether the booster holds the score of its last round only.
    before : callable or None
        Returns the shifts of a matrix by the model that is continued, if it has any.
    afterwards : dict
        Parameters of XGBoost's that the training changes, as they are set again at its end.
    """

    def __init__(self) -> None:
        self.start(None, None)

    def start(
        self, model: Model, previous: ThresholdRecord | None, workers: Workers | None = None, *, last_only: bool = False
    ) -> None:
        """Register the model of a training that begins."""
        self.previous, self.workers, self.last_only = previous, workers, last_only
        self.before: Callable[[xgboost.DMatrix], FloatArray] | None = None
        self.afterwards: dict[str, float] = {}
        self.model, self.round = model, 0
        self.readers: weakref.WeakKeyDictionary[xgboost.DMatrix, xgb_booster.TreeReader] = weakref.WeakKeyDictionary()

    def start_round(self, model: Model, epoch: int) -> None:
        """Register a round that begins.

        Raises
        ------
        ValueError
            If another training has begun since the last round.
        """
        if epoch and self.model is None:
            raise ValueError(
                "the objective was used in another training before this one had ended; take one objective for each "
                "of the trainings that run inside one another"
            )
        self.model, self.round = model, epoch

    def end(self) -> None:
        """Drop the model."""
        self.model = None
        self.readers = weakref.WeakKeyDictionary()

    def find_previous(self, check: Callable[[ThresholdRecord], None]) -> None:
        """Find the record of the booster that is continued, if it has rounds; ``check(record)`` may refuse it.

        Raises
        ------
        ValueError
            If it has rounds without thresholds.
        """
        model, rounds = self.model, self.model.num_boosted_rounds()
        # The best round of an earlier training is not that of the model that this one returns.
        model.set_attr(best_iteration=None, best_score=None)
        stored = xgb_booster.stored_record(model)
        if stored is not None:
            xgb_booster.check_all_rounds(model, stored, rounds)
            self.previous = stored.kept(rounds)
            check(self.previous)
            # Rounds that were rescaled once stay rescaled.
            self.last_only = self.last_only or bool(stored.last_only)
        elif rounds and (self.previous is None or self.previous.n_iterations != rounds):
            raise ValueError(
                f"xgb_model has {rounds} rounds but carries no thresholds for them; train it with this "
                f"callback, or store them with objective.attach(booster, dtrain)"
            )

    def keep_shifts(self) -> None:
        """Keep the shifts of the model that is continued, before it grows on."""
        self.before = prediction.shifts_before(self.model, self.previous)

    def booster_of(self, dmatrix: xgboost.DMatrix) -> xgboost.Booster | None:
        """Return the booster that a matrix belongs to, or None outside a training with the callback."""
        folds = getattr(self.model, "cvfolds", None)
        if folds is None:
            return self.model
        return next((fold.bst for fold in folds if dmatrix is fold.dtrain or dmatrix is fold.dtest), None)


class XGBoostTraining(Training):
    """A training inside XGBoost. It numbers its rounds for a callback, and for the objective.

    Parameters
    ----------
    spec, continues, **options
        As for :class:`.training.Training`.

    Attributes
    ----------
    callback_state : CallbackState
    """

    _matrix_type: ClassVar = xgboost.DMatrix
    _elsewhere: ClassVar = (
        "this objective and its metrics belong to xgboost.train, which shows them the matrix; instead of XGBoost's "
        "scikit-learn classes take XGBOrdinalClassifier, and on Dask DaskXGBOrdinalClassifier"
    )

    def __init__(self, spec: OrdinalSpec, continues: ThresholdRecord | None = None, **options: Any) -> None:
        input_checks.check_loss_name(spec.loss.name)
        if spec.in_outputs:
            spec = _for_outputs(spec)
        elif spec.shift_method == "host":
            raise ValueError(
                "shift_method='host' belongs to thresholds that move with x: pass proportional=False with it"
            )
        super().__init__(spec, continues, **options)
        self.callback_state = CallbackState()

    def update_of(self, matrix: xgboost.DMatrix) -> Update:
        """Return how the rounds of a run on a training matrix move leaves and thresholds."""
        booster = self.callback_state.booster_of(matrix)
        if not self.in_outputs or self.shifts is None or booster is None:
            return super().update_of(matrix)
        if self.workers is not None:
            # Found in XGBoost 3.2: where splits are judged by other gradients, the workers' leaves differ.
            raise ValueError(
                "shift_method='host' is not allowed on several workers: XGBoost gives each the leaves of only "
                "its own rows; shift_method='renewal', through train of xgb.dask, adds them up"
            )
        if "c" in (matrix.feature_types or ()):
            outputs.refuse_before(outputs.CATEGORICAL_SPLITS, "categorical features")
        reg_lambda = float(xgb_booster.settings_of(booster)["gradient_booster"]["tree_train_param"]["reg_lambda"])
        return outputs.OutputUpdate(self.shifts, reg_lambda=reg_lambda, halves=not self.callback_state.last_only)

    def start(self, model: Model) -> None:
        """Begin a training of this model: refuse parameters that would spoil it; find the record that it continues."""
        self._here.forget()
        state, plan, boosters = self.callback_state, self.plan, boosters_of(model)
        reason = xgb_booster.why_last_only(boosters[0])
        state.start(model, self.continues, self.workers, last_only=reason is not None)
        for booster in boosters:
            xgb_booster.check_configuration(booster, "newton" if self.in_outputs else self.spec.threshold_update)
        if reason is not None and plan.stops_early is not None:
            raise ValueError(
                f"{plan.stops_early} is not allowed here: {reason}, so that the model of the best round is lost; train "
                f"a fixed number of rounds, or use booster='gbtree' without dropped trees"
            )
        if isinstance(model, xgboost.Booster):
            state.find_previous(self.check_continues)
        self._check_kind(state.previous)
        excluded = xgb_booster.why_not_renewed(boosters[0])
        self.choose_shifts(excluded and ": ".join(excluded))
        if self.in_outputs and self.shifts is not None:
            for booster in boosters:
                wanted = self._n_classes(), self.shifts, self.spec.n_split_outputs
                asked, afterwards = outputs.ask_for_outputs(booster, *wanted)
                booster.set_param(asked)
                state.afterwards.update(afterwards)
        if isinstance(model, xgboost.Booster):
            if self.needs_tree:
                # Each tree is read from a slice of the booster, which copies its attributes.
                model.set_attr(**{xgb_booster.ATTRIBUTE: None})
            state.keep_shifts()
        for booster in boosters:
            xgb_booster.begin_growing(booster, self.completed)

    def finish(self, model: Model) -> None:
        """End the training of a model: learn the thresholds of the last round, and complete the boosters.

        A callback may have returned another booster than the trained one, such as early stopping's best rounds.
        """
        state = self.callback_state
        for booster in [*boosters_of(state.model), *([model] if isinstance(model, xgb_booster.GrowingBooster) else [])]:
            xgb_booster.end_growing(booster)
        self.refresh()
        for dtrain, run in self.items():
            booster = model if isinstance(model, xgboost.Booster) else state.booster_of(dtrain)
            if booster is not None:
                xgb_booster.store_record(booster, self._renewed(booster, run))
        for booster in [model] if isinstance(model, xgboost.Booster) else boosters_of(state.model):
            booster.set_param(state.afterwards)
        state.end()

    def completed(self, booster: xgboost.Booster) -> xgboost.Booster:
        """Return a copy of a booster in training, as it would be if the training ended now.

        Raises
        ------
        ValueError
            If it is not in training, or the thresholds of its newest round are still to be learned from all workers.
        """
        state = self.callback_state
        if all(booster is not growing for growing in boosters_of(state.model)):
            raise xgb_booster.interrupted()
        if self.workers is None:
            self._learn_newest()
        copy = xgboost.Booster.__new__(xgboost.Booster)
        copy.__setstate__(xgboost.Booster.__getstate__(booster))
        run = next((run for dtrain, run in self.items() if state.booster_of(dtrain) is booster), None)
        record = state.previous if run is None else self._renewed(copy, run, by_all=self.workers is None)
        if record is not None and record.n_iterations < booster.num_boosted_rounds():
            raise ValueError(
                "the thresholds of the newest round are not known yet, and one worker cannot learn them: put "
                "objective.callback before the callback that saves the booster"
            )
        if record is not None:
            xgb_booster.store_record(copy, replace(record, classifier=self.plan.classifier))
        copy.set_param(state.afterwards)
        return copy

    def _renewed(self, booster: xgboost.Booster, run: TrainingRun, *, by_all: bool = True) -> ThresholdRecord:
        """Write the renewed leaves of a run into a booster, if there are any, and return the record of the run."""
        if run.update.renews:
            xgb_booster.renew_leaves(booster, run.first_iteration, run.update.leaf_values)
        state = self.callback_state
        linear = self.plan.linear
        if linear is None and state.previous is not None:
            linear = state.previous.linear
        record = replace(run.record(by_all=by_all), last_only=state.last_only)
        return replace(record, linear=linear, classifier=self.plan.classifier)

    def _check_kind(self, previous: ThresholdRecord | None) -> None:
        """Refuse to continue a model that keeps its shifts in another way."""
        if previous is None or self.in_outputs is (previous.outputs is not None):
            return
        own = "one output, the score" if self.in_outputs else "shifts among its outputs"
        raise ValueError(f"the model to be continued has {own}: go on with the proportional and shift_method it has")

    def _n_classes(self) -> int:
        """Return the number of classes, which XGBoost needs before it passes the labels."""
        previous, n_classes = self.callback_state.previous, self.spec.n_classes
        if n_classes is None and previous is not None:
            return previous.n_classes
        if n_classes is None:
            raise ValueError(
                "n_classes must be given to an objective whose shifts XGBoost fits itself: it is told the number of "
                "outputs before it shows the labels"
            )
        return n_classes

    def growing(self, predt: RealArray, dtrain: xgboost.DMatrix, epoch: int | None = None) -> tuple[TrainingRun, int]:
        """Return the run whose next tree is grown on a score of the matrix, and the iteration of that score."""
        run, state = self.of(dtrain), self.callback_state
        if epoch == 0 and state.model is not None and (state.round or self._has_begun(run)):
            state.end()  # an exception has ended the training with the callback, and one without it begins
        if state.booster_of(dtrain) is not None:
            return self._growing_with_callback(predt, dtrain, run, epoch)
        if self.in_outputs or self.needs_tree:
            raise self.callback_is_needed()
        if epoch is None:
            raise ValueError(
                "XGBoost passes the number of the round to the objective itself, and not to a function around it: "
                "pass obj=objective, or callbacks=[objective.callback] as well"
            )
        if epoch == 0:
            run = self._begin(predt, dtrain, self.continues)
        elif run is None or run is not self._here.latest or run.n_grown != epoch:
            raise one_at_a_time()
        return run, run.first_iteration + epoch

    def _has_begun(self, run: TrainingRun | None) -> bool:
        """Return whether the training with the callback has asked for a gradient; of folds, for that of this run."""
        return run is not None if hasattr(self.callback_state.model, "cvfolds") else bool(self.items())

    def _growing_with_callback(
        self, predt: RealArray, dtrain: xgboost.DMatrix, run: TrainingRun | None, epoch: int | None
    ) -> tuple[TrainingRun, int]:
        state = self.callback_state
        begins = run is None and state.round == 0
        # Each matrix asks once a round.
        if epoch not in (None, state.round) or not (begins or (run is not None and run.n_grown == state.round)):
            state.end()
            raise ValueError(
                "the gradient is not that of the round that the callback was told of: a training with this objective "
                "was interrupted, or runs inside another one. Take one objective for each training"
            )
        if run is None:
            run = self._begin(predt, dtrain, state.previous, grows_on_recorded=not state.last_only)
            run.advance(predt, run.first_iteration)
            if state.last_only and state.previous is not None:
                # dart leaves trees out of this score already: its loss is not that of the iteration.
                run.training_loss[-1] = float("nan")
        return run, run.first_iteration + state.round

    def _begin(
        self,
        predt: RealArray,
        dtrain: xgboost.DMatrix,
        previous: ThresholdRecord | None,
        *,
        grows_on_recorded: bool = True,
    ) -> TrainingRun:
        fail_together(self.workers, lambda: self._check_first_score(predt, dtrain, previous))
        return self.begin(dtrain, previous, grows_on_recorded=grows_on_recorded)

    def _check_first_score(self, predt: RealArray, dtrain: xgboost.DMatrix, previous: ThresholdRecord | None) -> None:
        if not np.isfinite(predt).all():
            raise ValueError("the training set starts at scores that are NaN or infinite; base_margin must be finite")
        booster = self.callback_state.booster_of(dtrain)
        if previous is not None:
            previous.check_start(dtrain.get_base_margin().size > 0, "the training set has no base_margin")
        if booster is not None:
            xgb_booster.check_base_score(booster)
        starts_bare = previous is None and not dtrain.get_base_margin().size
        if starts_bare and predt.any() and predt.size > 1 and np.ptp(predt) == 0:
            raise xgb_booster.base_score_error(float(predt.flat[0]))
        self.check_start(predt, previous, "a model is continued, or base_margin is set")

    def evaluating(self, predt: RealArray, dmatrix: xgboost.DMatrix) -> TrainingRun:
        """Return the run whose booster evaluates a matrix; with the callback, at the round just finished."""
        self.refresh()
        booster = self.callback_state.booster_of(dmatrix)
        if booster is not None:
            for dtrain, run in self.items():
                if self.callback_state.booster_of(dtrain) is booster:
                    return run
        return self.only_run(dmatrix)

    def refresh(self) -> None:
        """Learn the thresholds of the round just finished; a second call in a round costs nothing."""
        if not self._learn_newest():
            self.callback_state.end()  # an exception has ended its training before this tree

    @property
    def latest(self) -> TrainingRun:
        """The latest run of this thread, at its newest tree, or else of any."""
        self._learn_newest()
        return super().latest

    def _learn_newest(self) -> bool:
        """Learn the thresholds of the newest tree of each run; return whether it is that of the round under way."""
        for dtrain, run in self.items():
            booster = self.callback_state.booster_of(dtrain)
            if booster is None:
                continue
            iteration = run.first_iteration + self.callback_state.round
            grown = booster.num_boosted_rounds() > iteration
            if len(run.history) <= iteration + grown:
                run.advance(score_of_rows(booster.predict(dtrain, output_margin=True)), iteration + grown)
            if not grown:
                return False
        return True

    @property
    def workers(self) -> Collective | None:
        """The workers that train together, each on its own rows; None if all rows are in this process."""
        return Collective() if xgboost.collective.is_distributed() else None

    def device(self, matrix: xgboost.DMatrix) -> Device:
        """Return where gradients of a training matrix are computed: on the GPU that the booster is on, if any."""
        return device_of(self.callback_state.booster_of(matrix), self.spec.loss, self.n_threads(matrix))

    def n_threads(self, matrix: xgboost.DMatrix) -> int | None:
        """Return the threads for a training matrix: the booster's, unless the objective has its own."""
        booster = self.callback_state.booster_of(matrix)
        if self.asked_threads is not None or booster is None:
            return self.asked_threads
        return int(xgb_booster.settings_of(booster)["generic_param"]["nthread"]) or None

    def label_and_weight(self, matrix: xgboost.DMatrix) -> tuple[ArrayLike, ArrayLike | None]:
        """Return the labels of a matrix and its weights, or None."""
        weight = matrix.get_weight()
        return matrix.get_label(), weight if weight.size else None

    def initial_score(self, matrix: xgboost.DMatrix) -> RealArray:
        """Return the score of an evaluated matrix before the first tree, (n_samples,)."""
        state = self.callback_state
        rounds = 0 if state.previous is None else state.previous.n_iterations
        if rounds:
            return score_of_rows(state.model.predict(matrix, output_margin=True, iteration_range=(0, rounds)))
        margin: NDArray[np.float32] = matrix.get_base_margin()
        return margin if margin.size else np.zeros(matrix.num_row(), np.float32)

    def initial_shifts(self, matrix: xgboost.DMatrix) -> FloatArray | None:
        """Return the shifts of a matrix by the model that is continued, (n_samples, n_classes - 1), or None."""
        return None if self.callback_state.before is None else self.callback_state.before(matrix)

    def newest_tree(self, matrix: xgboost.DMatrix, before: Array, after: Array) -> GrownTree:
        """Return the tree of the last round, whose leaf values are right to the rounding of the scores."""
        state = self.callback_state
        if matrix not in state.readers:
            booster, settings_stay = state.booster_of(matrix), self.plan.settings_stay
            state.readers[matrix] = xgb_booster.TreeReader(booster, settings_stay=settings_stay)
        reader = state.readers[matrix]
        by_steps = reader.from_steps(matrix, before, after) if isinstance(before, np.ndarray) else None
        return by_steps or reader.from_bytes()


def device_of(booster: xgboost.Booster | None, loss: OrdinalLoss, n_threads: int | None) -> Device:
    """Return the GPU that a booster is trained on, or the CPU.

    Parameters
    ----------
    booster : xgboost.Booster or None
    loss : OrdinalLoss
    n_threads : int or None
        Of the CPU.

    Warns
    -----
    UserWarning
        If the booster is on a GPU, and gradients are computed on the CPU nevertheless.
    """
    trained_on = "cpu" if booster is None else _configured(booster)
    if not trained_on.startswith("cuda"):
        return CPU(n_threads)
    library, reason = cupy_of(int(trained_on.partition(":")[2] or 0))
    refused = why_no_pass(loss)
    if library is not None and refused is None:
        return GPU(library)
    warnings.warn(
        f"the trees grow on {trained_on!r}, and the gradients are computed on the CPU: {reason or refused}",
        stacklevel=2,
    )
    return CPU(n_threads)


def _configured(booster: xgboost.Booster) -> str:
    """Return the device of a booster's configuration: XGBoost itself goes back to "cpu" where it finds no GPU."""
    return str(xgb_booster.settings_of(booster)["generic_param"]["device"])


def _for_outputs(spec: OrdinalSpec) -> OrdinalSpec:
    """Return the specification of shifts that XGBoost fits: all thresholds move with x."""
    outputs.refuse_before(outputs.VECTOR_LEAVES, "proportional=False")
    if spec.shift_penalty == "sparse":
        raise ValueError(
            "shift_penalty='sparse' chooses thresholds leaf by leaf, which XGBoost does not: it goes with "
            "shift_method='renewal'; here 'ridge' and 'smooth' are possible"
        )
    spec = replace(spec, proportional=False)
    spec.shifts()  # which may be refused
    return spec


class ThresholdCallback(xgboost.callback.TrainingCallback):  # type: ignore[misc]
    """Passes the booster and the rounds to a training, and stores the thresholds in the booster.

    Parameters
    ----------
    training : XGBoostTraining
        That of the objective.
    """

    def __init__(self, training: XGBoostTraining) -> None:
        super().__init__()
        self._training = training

    def before_training(self, model: Model) -> Model:
        """Pass the model."""
        self._training.start(model)
        return model

    def before_iteration(self, model: Model, epoch: int, evals_log: EvalsLog) -> bool:
        """Pass the number of the round."""
        self._training.callback_state.start_round(model, epoch)
        return False

    def after_iteration(self, model: Model, epoch: int, evals_log: EvalsLog) -> bool:
        """Pass the end of the round. Its thresholds wait for the next gradient, unless somebody asks for them.

        The next gradient is asked for at the same score, which XGBoost then computes and copies once, except where it
        drops trees (dart). A callback may change the parameters that the tree was grown with, and workers must not
        ask one by one.
        """
        training, state = self._training, self._training.callback_state
        changes = not training.plan.settings_stay and training.needs_tree
        if changes or state.last_only or state.workers is not None:
            training.refresh()
        return False

    def after_training(self, model: Model) -> Model:
        """Learn the thresholds of the last round, and store those of all in the booster."""
        # A model that early stopping cut short keeps the whole record; predictions use its own iteration.
        self._training.finish(model)
        return model
