"""The ordinal objective for ``xgboost.train``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import xgboost
from xgboost.objective import TreeObjective

from ordinal_objectives import threads
from ordinal_objectives.adapters.objective import OrdinalObjectiveBase
from ordinal_objectives.adapters.run import TrainingRun
from ordinal_objectives.adapters.xgb import booster as xgb_booster, prediction
from ordinal_objectives.adapters.xgb.training import ThresholdCallback, XGBoostTraining
from ordinal_objectives.aliases import ArrayLike, FloatArray, IndexArray, RealArray
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils.shared_docs import documented


@documented
class OrdinalObjective(OrdinalObjectiveBase, TreeObjective):  # type: ignore[misc]
    """Ordinal objective for :func:`xgboost.train`.

    The score starts at 0, so ``params`` must hold ``base_score=0.0``; ``disable_default_eval_metric=1``
    silences XGBoost's rmse. Pass the object as ``obj=``: thresholds are learned inside the call, one Newton
    step behind the trees, by the number of the round that XGBoost passes, so for one training at a time. Pass
    ``callbacks=[objective.callback]`` as well, and metrics see the thresholds of their own round, the last step is
    done, folds of cv may take turns, and the thresholds are stored in the booster, where saving, slicing, pickling
    and continuing keep them. Without the callback, call :meth:`attach` after the training, before predictions.

    With ``proportional=False`` XGBoost itself fits shifts of single thresholds, as outputs beside the score: the
    callback tells it to grow trees with a vector in every leaf, and :func:`predict_proba` makes probabilities of its
    outputs. ``n_classes`` and the callback are needed then.

    Parameters
    ----------
    <<n_classes, loss, link, step parameters, thresholds, shift parameters>>
    <<shift_method>>
        None for "host", the only one that is possible here: :func:`train` renews leaves.
    <<split_outputs, n_threads>>

    Raises
    ------
    ValueError
        If a parameter is not one of those allowed, or the XGBoost that is installed cannot fit shifts.

    Examples
    --------
    >>> import numpy as np, xgboost
    >>> from ordinal_objectives.adapters import xgb as oxgb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> dtrain = xgboost.DMatrix(X, y)
    >>> objective = oxgb.OrdinalObjective(n_classes=4)
    >>> params = {"base_score": 0.0, "disable_default_eval_metric": 1, "max_depth": 2}
    >>> booster = xgboost.train(params, dtrain, 20, obj=objective, callbacks=[objective.callback])
    >>> objective.predict_proba(booster, dtrain).shape
    (300, 4)
    """

    training: XGBoostTraining
    callback: ThresholdCallback
    _entry_point: ClassVar = "xgb.OrdinalObjective"
    _training_type: ClassVar = XGBoostTraining
    _callback_type: ClassVar = ThresholdCallback

    def __call__(self, *given: Any) -> tuple[RealArray, RealArray]:
        """Return gradient and Hessian, float32 (n_samples,) each, or a column for each output.

        XGBoost passes ``(iteration, predt, dtrain)``; a function around the objective may leave out the iteration.
        """
        *epoch, predt, dtrain = given
        return super().__call__(predt, dtrain, *epoch)

    def split_grad(self, iteration: int, grad: RealArray, hess: RealArray) -> Any:
        """Return what judges splits where that is not what values leaves, the first columns of each, or None.

        Where XGBoost fits the shifts, its leaves have the outputs (w, z), the score and contrasts of the shifts.

        Parameters
        ----------
        iteration : int
            Number of the round.
        grad, hess : ndarray of float32, shape (n_samples, n_outputs)
            What the objective returned.
        """
        n_outputs = self.spec.n_split_outputs if self.training.in_outputs else None
        if n_outputs is None:
            return None
        return grad[:, :n_outputs].copy(), hess[:, :n_outputs].copy()  # of either device

    def metric(self, predt: RealArray, dmatrix: xgboost.DMatrix) -> tuple[str, float]:
        """Return the name and weighted mean of the loss, for ``custom_metric=``.

        Thresholds are those of the round if the callback is passed as well.

        Parameters
        ----------
        predt : ndarray of float, shape (n_samples,)
            Scores that XGBoost hands over.
        dmatrix : xgboost.DMatrix
            Whose rows they are.
        """
        return self.loss.name, self.mean_loss(predt, dmatrix)

    @threads.one_thread_after_fork()
    def attach(self, booster: xgboost.Booster, dtrain: xgboost.DMatrix | None = None) -> None:
        """Store the thresholds in a booster that was trained without the callback.

        Parameters
        ----------
        booster : xgboost.Booster
            What the latest training with this objective returned: attach it before the objective is used again.
            Its attribute is set.
        dtrain : xgboost.DMatrix or None, default=None
            The training matrix, to take the last threshold step; None leaves the last tree with the
            thresholds it was grown on. With gblinear, and with dart that drops trees, the objective has not seen the
            scores of the model; dtrain is needed, and the thresholds are fitted to the last one.

        Raises
        ------
        ValueError
            If the booster has fewer rounds than the objective's latest training, dtrain has other labels, booster and
            dtrain have another loss before the last round than the training had, or dtrain is missing where it is
            needed.
        """
        xgb_booster.store_record(booster, _finished_record(self.training, booster, dtrain))

    @threads.one_thread_after_fork()
    @documented(like=prediction.predict_proba)
    def predict_proba(
        self, booster: xgboost.Booster, data: xgboost.DMatrix, iteration_range: tuple[int, int] | None = None
    ) -> FloatArray:
        """Class probabilities, float64 (n_samples, n_classes)."""
        return prediction.predict_proba(booster, data, iteration_range)

    @threads.one_thread_after_fork()
    @documented(like=prediction.predict)
    def predict(
        self,
        booster: xgboost.Booster,
        data: xgboost.DMatrix,
        iteration_range: tuple[int, int] | None = None,
        *,
        decision_rule: str = "median",
        cost_matrix: ArrayLike | None = None,
    ) -> IndexArray:
        """Class codes, (n_samples,)."""
        return prediction.predict(booster, data, iteration_range, decision_rule=decision_rule, cost_matrix=cost_matrix)


def _finished_record(
    training: XGBoostTraining, booster: xgboost.Booster, dtrain: xgboost.DMatrix | None
) -> ThresholdRecord:
    """Return the record of an objective's latest training, if it is that of the booster.

    Parameters
    ----------
    training : XGBoostTraining
        That of the objective.
    booster : xgboost.Booster
    dtrain : xgboost.DMatrix or None
        The training matrix, to take the last step; None leaves it out.

    Raises
    ------
    ValueError
        If the booster or the matrix is another one, or the matrix is needed.
    """
    run = training.latest
    rounds, grown = booster.num_boosted_rounds(), run.first_iteration + run.n_grown
    if rounds < grown or not run.n_grown:
        raise ValueError(
            f"booster has {rounds} rounds, but this objective's latest training ended with {grown}; attach the "
            f"booster that it returned, or pass callbacks=[objective.callback] to train"
        )
    last_only = xgb_booster.why_last_only(booster) is not None
    if dtrain is None and last_only:
        raise ValueError(
            "dtrain is needed, since the objective has not seen the scores of this model: call "
            "objective.attach(booster, dtrain) with the training matrix, or train with callbacks=[objective.callback]"
        )
    xgb_booster.check_base_score(booster)
    if dtrain is not None:
        if not run.has_labels(dtrain.get_label()):
            raise ValueError("dtrain must be the matrix of this objective's latest training; its labels differ")
        if not last_only and not _has_loss_of_last_round(run, booster, dtrain):
            raise ValueError(
                "booster is not the one that this objective's latest training returned, or dtrain is not its matrix: "
                "the loss before the last round differs. Attach a booster before the objective is used again"
            )
        # Where the objective has seen other scores, thresholds are fitted to those of the model.
        step = run.refit_thresholds if last_only else run.advance
        step(booster.predict(dtrain, output_margin=True), grown)
    record = run.record().stretched(rounds, rounds - grown)
    if last_only:
        record = replace(record, training_loss=[float("nan")] * rounds + record.training_loss[-1:])
    return replace(record, last_only=last_only)


def _has_loss_of_last_round(run: TrainingRun, booster: xgboost.Booster, dtrain: xgboost.DMatrix) -> bool:
    """Return whether a booster without its last round has the loss that the run recorded there."""
    i, before = run.first_iteration + run.n_grown - 1, booster.num_boosted_rounds() - 1
    if before == 0:  # no tree, and XGBoost takes the range (0, 0) for all of them
        return True
    scores = booster.predict(dtrain, output_margin=True, iteration_range=(0, before))
    loss = run.rows(scores, run.history[i], run.spec.hessian).sums.loss / run.rows.total_weight
    run.forget()  # a pass reuses the arrays of the one before
    return bool(np.isclose(loss, run.training_loss[i], rtol=1e-5, equal_nan=True))
