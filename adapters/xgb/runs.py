"""Which run, which iteration, as far as XGBoost shows it."""

from __future__ import annotations

import json
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray

from ordinal_objectives.adapters.joint_run import JointRun
from ordinal_objectives.adapters.leaf_matching import GrownTree
from ordinal_objectives.adapters.newton_run import SAME_SCORE, NewtonRun, sample_of, score_of_rows
from ordinal_objectives.adapters.parameters import OrdinalParameters
from ordinal_objectives.adapters.runs import Runs
from ordinal_objectives.adapters.xgb.collective import Collective
from ordinal_objectives.adapters.xgb.gpu import device_of
from ordinal_objectives.adapters.xgb.output_run import OutputRun
from ordinal_objectives.adapters.xgb.outputs import CATEGORICAL_SPLITS, refuse_before, reg_lambda_of
from ordinal_objectives.adapters.xgb.trees import newest_tree
from ordinal_objectives.leaves.shifts import Shifts
from ordinal_objectives.rows import Device, agreed
from ordinal_objectives.threshold_solver.record import ThresholdRecord

# The largest step of float32 at the training scores: leaves at small learning rates are not far above it.
_COARSE = 0.01


class Shown(threading.local):
    """What the callback shows of a training, in each thread.

    Attributes
    ----------
    model : xgboost.Booster, the folds of xgboost.cv, or None
        None outside a training with the callback.
    round : int
        Rounds done before the one under way.
    previous : ThresholdRecord or None
        Record of the model that is continued.
    last_only : bool
        Whether the booster holds the score of its last round alone.
    starts : mapping of DMatrix to ndarray
        Scores of evaluated matrices before the first round, where leaves are renewed.
    asked : set of int
        Matrices that asked for gradients in this round, by their ids.
    before : callable or None
        Returns the shifts of a matrix by the model that is continued, if it has any.
    afterwards : dict
        Parameters of XGBoost's that the training changes, as they are set again at its end.
    """

    def __init__(self) -> None:
        self.model: Any = None
        self.round = 0
        self.previous: ThresholdRecord | None = None
        self.last_only = False
        self.starts: weakref.WeakKeyDictionary[xgboost.DMatrix, NDArray[Any]] = weakref.WeakKeyDictionary()
        self.asked: set[int] = set()
        self.before: Callable[[xgboost.DMatrix], NDArray[np.float64]] | None = None
        self.afterwards: dict[str, Any] = {}


class XGBoostRuns(Runs):
    """Runs inside XGBoost. It numbers its rounds for a callback; without one, gradients are counted.

    Parameters
    ----------
    parameters : OrdinalParameters
    in_outputs : bool, default=False
        Whether XGBoost fits the shifts itself.

    Attributes
    ----------
    shown : Shown
    """

    def __init__(self, parameters: OrdinalParameters, *, in_outputs: bool = False) -> None:
        super().__init__(parameters)
        self.in_outputs = in_outputs
        self.shown = Shown()

    @property
    def needs_tree(self) -> bool:
        """Whether a step of the training reads the newest tree."""
        return not self.in_outputs and super().needs_tree

    def choose_shifts(self, refusal: str | None) -> None:
        """Settle whether thresholds move with x, given what XGBoost's parameters have against renewed leaves."""
        if self.in_outputs:
            self.shifts = self.parameters.choose_shifts(None)
        else:
            super().choose_shifts(refusal)

    def run_with_shifts(self, matrix: Any, shifts: Shifts) -> tuple[type[NewtonRun], dict[str, Any]]:
        """Return the kind of run whose thresholds move with x, and what it takes beside what all runs do."""
        booster = self.booster_of(matrix)
        if not self.in_outputs or booster is None:
            return super().run_with_shifts(matrix, shifts)
        if self.workers is not None:
            # Found in XGBoost 3.2: where splits are judged by other gradients, the workers' leaves differ.
            raise ValueError(
                "shift_method='host' is not allowed on several workers: XGBoost gives each the leaves of its own rows "
                "alone; shift_method='renewal', through train of xgb.dask, adds them up"
            )
        if "c" in (matrix.feature_types or ()):
            refuse_before(CATEGORICAL_SPLITS, "categorical features")
        return OutputRun, {
            "shifts": shifts,
            "reg_lambda": reg_lambda_of(booster),
            "halves": not self.shown.last_only,
        }

    def start(self, model: Any, previous: ThresholdRecord | None) -> None:
        """Take over the model of a training that begins, and forget other trainings."""
        self.forget()
        self.shown.starts = weakref.WeakKeyDictionary()
        self.shown.previous = previous
        self.shown.before = None
        self.shown.afterwards = {}
        self.start_round(model, 0)

    def start_round(self, model: Any, epoch: int) -> None:
        """Take over the number of a round that begins.

        Raises
        ------
        ValueError
            If another training has begun since the last round.
        """
        if epoch and self.shown.model is None:
            raise ValueError(
                "the objective was used in another training before this one had ended; take one objective for each "
                "of the trainings that run inside one another"
            )
        self.shown.model = model
        self.shown.round = epoch
        self.shown.asked = set()

    def end(self) -> None:
        """Let go of the model; what is known of its training stays."""
        self.shown.model = None

    def boosters(self) -> list[xgboost.Booster]:
        """Return the boosters of the training with the callback."""
        return [fold.bst for fold in getattr(self.shown.model, "cvfolds", [])] or [self.shown.model]

    def booster_of(self, dmatrix: xgboost.DMatrix) -> xgboost.Booster | None:
        """Return the booster that a matrix belongs to, or None outside a training with the callback."""
        folds = getattr(self.shown.model, "cvfolds", None)
        if folds is None:
            return self.shown.model
        return next((fold.bst for fold in folds if dmatrix is fold.dtrain or dmatrix is fold.dtest), None)

    def growing(self, predt: NDArray[Any], dtrain: xgboost.DMatrix) -> tuple[NewtonRun, int]:
        """Return the run whose next tree is grown on a score of the matrix, and the iteration of that score."""
        run = self.of(dtrain)
        if self._is_of_callback(predt, dtrain):
            if run is None:
                run = self._begin(predt, dtrain, self.shown.previous)
                if self.workers is not None:
                    run.grows_on_recorded = not self.shown.last_only
                    run.defers_loss = True
                run.advance(predt, run.first_iteration)
                if self.shown.last_only and self.shown.previous is not None:
                    # dart leaves trees out of this score already: its loss is not that of the iteration.
                    run.training_loss[-1] = float("nan")
            return run, run.first_iteration + self.shown.round
        if self.in_outputs:
            raise ValueError(
                "proportional=False tells XGBoost to grow vector leaves through the callback: pass "
                "callbacks=[objective.callback], or call train of this module"
            )
        if self.needs_tree:
            raise self.callback_is_needed()
        # Where the score is that of the run's first tree again, a new training has begun on this matrix.
        if run is None or run.starts_at(predt):
            run = self._begin(predt, dtrain, self.parameters.continues)
        self.note_turn(run)
        return run, run.first_iteration + run.n_grown

    def _is_of_callback(self, predt: NDArray[Any], dtrain: xgboost.DMatrix) -> bool:
        """Tell whether a gradient is asked for by the training with the callback.

        Each of its matrices asks once a round. Whatever else asks shows that an exception has ended that training.
        """
        shown = self.shown
        if self.booster_of(dtrain) is None:
            return False
        if self.workers is not None:  # no other training is among them, and they must not disagree
            return True
        run = self.of(dtrain)
        asked = id(dtrain) in shown.asked if hasattr(shown.model, "cvfolds") else bool(shown.asked)
        if shown.round == 0:
            lost = self._starts_elsewhere(predt, dtrain)
        else:
            lost = run is None or (not shown.last_only and run.begins_again(predt))
        if asked or lost:
            self.end()
            return False
        shown.asked.add(id(dtrain))
        return True

    def _starts_elsewhere(self, predt: NDArray[Any], dtrain: xgboost.DMatrix) -> bool:
        """Tell whether the first score is not that of the model that the callback saw continued.

        dart starts without some of the model's trees, so there any score will do.
        """
        model = self.shown.model
        if self.shown.last_only or not isinstance(model, xgboost.Booster) or not model.num_boosted_rounds():
            return False
        expected = sample_of(model.predict(dtrain, output_margin=True))
        return not np.allclose(sample_of(predt), expected, rtol=SAME_SCORE, atol=SAME_SCORE * np.abs(expected).max())

    def _begin(self, predt: NDArray[Any], dtrain: xgboost.DMatrix, previous: ThresholdRecord | None) -> NewtonRun:
        agreed(self.workers, lambda: self._check_first_score(predt, dtrain, previous))
        run = self.begin(dtrain, previous)
        if not (isinstance(run, JointRun) and run.renews):  # that follows its own scores, in doubles
            _warn_of_coarse_scores(predt)
        return run

    def _check_first_score(
        self, predt: NDArray[Any], dtrain: xgboost.DMatrix, previous: ThresholdRecord | None
    ) -> None:
        if not np.isfinite(predt).all():
            raise ValueError("the training set starts at scores that are NaN or infinite; base_margin must be finite")
        starts_bare = previous is None and not dtrain.get_base_margin().size
        if starts_bare and predt.any() and predt.size > 1 and np.ptp(predt) == 0:
            raise ValueError(
                f"base_score must be 0.0 beside an ordinal objective, since the thresholds hold the location; "
                f"the score starts at {predt.flat[0]}. Pass params={{'base_score': 0.0, ...}}"
            )
        self.check_start(predt, previous, "a model is continued, or base_margin is set")

    def evaluating(self, predt: NDArray[Any], dmatrix: xgboost.DMatrix) -> NewtonRun:
        """Return the run whose booster evaluates a matrix; with the callback, at the round just finished."""
        self.refresh()
        booster = self.booster_of(dmatrix)
        if booster is not None:
            for dtrain, run in self.items():
                if self.booster_of(dtrain) is booster:
                    return run
        return self.only(self.of(dmatrix))

    def refresh(self) -> None:
        """Learn the thresholds of the round just finished; a second call in a round costs nothing."""
        for dtrain, run in self.items():
            booster = self.booster_of(dtrain)
            iteration = run.first_iteration + self.shown.round + 1
            if booster is not None and booster.num_boosted_rounds() < iteration:
                self.end()  # an exception has ended its training before this tree
                return
            if booster is not None and len(run.history) <= iteration:
                run.advance(score_of_rows(booster.predict(dtrain, output_margin=True)), iteration)

    @property
    def workers(self) -> Collective | None:
        """Those who train together, each on its own rows; None if all rows are here."""
        return Collective() if xgboost.collective.is_distributed() else None

    def device(self, matrix: xgboost.DMatrix) -> Device:
        """Return where the rows of a training matrix are passed over: the GPU that the booster is on, if any."""
        return device_of(self.booster_of(matrix), self.parameters.loss, self.n_threads(matrix))

    def n_threads(self, matrix: xgboost.DMatrix) -> int | None:
        """Return the threads of the passes over a training matrix: the booster's, unless the objective has its own."""
        booster = self.booster_of(matrix)
        if self.parameters.n_threads is not None or booster is None:
            return self.parameters.n_threads
        return int(json.loads(booster.save_config())["learner"]["generic_param"]["nthread"]) or None

    def label_and_weight(self, matrix: xgboost.DMatrix) -> tuple[Any, Any]:
        """Return the labels of a matrix and its weights, or None."""
        weight = matrix.get_weight()
        return matrix.get_label(), weight if weight.size else None

    def initial_score(self, matrix: xgboost.DMatrix) -> NDArray[Any]:
        """Return the score of an evaluated matrix before the first tree, (n_samples,)."""
        start = self.shown.starts.get(matrix)
        return self._score_before(matrix) if start is None else start

    def _score_before(self, matrix: xgboost.DMatrix) -> NDArray[Any]:
        """Return the score by the model that is continued, or of none, where the callback was not shown the matrix."""
        rounds = 0 if self.shown.previous is None else self.shown.previous.n_iterations
        if rounds:
            return score_of_rows(self.shown.model.predict(matrix, output_margin=True, iteration_range=(0, rounds)))
        margin: NDArray[np.float32] = matrix.get_base_margin()
        return margin if margin.size else np.zeros(matrix.num_row(), np.float32)

    def initial_shifts(self, matrix: xgboost.DMatrix) -> NDArray[np.float64] | None:
        """Return the shifts of a matrix by the model that is continued, (n_samples, n_classes - 1), or None."""
        return None if self.shown.before is None else self.shown.before(matrix)

    def newest_tree(self, matrix: xgboost.DMatrix) -> GrownTree:
        """Return the tree of the last round."""
        booster = self.booster_of(matrix)
        if booster is None:
            raise RuntimeError("the newest tree belongs to a booster that the callback has not seen")
        return newest_tree(booster)


def _warn_of_coarse_scores(predt: NDArray[Any]) -> None:
    """Warn of training scores, (n_samples,) or the first of several outputs, that float32 rounds too much."""
    sample = sample_of(predt)
    if not sample.size:
        return
    middle = float(np.median(sample.reshape(sample.shape[0], -1)[:, 0]))
    step = float(np.spacing(np.float32(abs(middle))))
    if step > _COARSE:
        warnings.warn(
            f"the training starts at scores around {middle:g}, where XGBoost's float32 has steps of {step:.2g}: leaves "
            f"below half a step are lost. Subtract a constant from all of base_margin; the thresholds take it",
            UserWarning,
            stacklevel=2,
        )
