"""Objectives for LightGBM: thresholds that are learned, and fixed ones for its scikit-learn and Dask classes."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import lightgbm
import numpy as np

from ordinal_objectives import threads
from ordinal_objectives.adapters.lgbm import booster as lgbm_booster, prediction
from ordinal_objectives.adapters.lgbm.training import LightGBMTraining, ThresholdCallback
from ordinal_objectives.adapters.objective import OrdinalObjectiveBase
from ordinal_objectives.adapters.prediction import decide
from ordinal_objectives.adapters.run import SAME_SCORE, TrainingRun
from ordinal_objectives.aliases import ArrayLike, FloatArray, IndexArray, NDArray, Table
from ordinal_objectives.losses import OrdinalLoss, get_loss
from ordinal_objectives.rows import CPU
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver import initial_thresholds
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils import shared_docs, validation


@shared_docs.documented
class OrdinalObjective(OrdinalObjectiveBase):
    """Ordinal objective for :func:`lightgbm.train`: ``params["objective"] = objective``.

    Thresholds are learned inside the call, one Newton step behind the trees. Pass
    ``callbacks=[objective.callback]`` as well, and metrics see the thresholds of their own round, the last
    step is done, and the booster carries its thresholds: :func:`save_model` and :func:`load_model` keep
    them in LightGBM's own text format, and pickling keeps them too. LightGBM's own ``booster.save_model`` drops
    them, without a warning.

    LightGBM copies its parameters deeply; a deep copy of this object is the object itself, so that what it
    learned is not lost. Use :func:`copy.copy` or :mod:`pickle` for an independent, untrained copy.

    Parameters
    ----------
    <<n_classes, loss, link, step parameters, thresholds, shift parameters>>
    shift_method : None
        LightGBM fits no shifts itself, so nothing else is taken.
    split_outputs : "score"
        As ``shift_method``.
    <<n_threads>>

    Examples
    --------
    >>> import lightgbm, numpy as np
    >>> from ordinal_objectives.adapters import lgbm as olgbm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> objective = olgbm.OrdinalObjective(n_classes=4)
    >>> params = {"objective": objective, "metric": "None", "verbosity": -1, "num_leaves": 4}
    >>> booster = lightgbm.train(params, lightgbm.Dataset(X, y), 20, callbacks=[objective.callback])
    >>> objective.predict_proba(booster, X).shape
    (300, 4)
    """

    training: LightGBMTraining
    callback: ThresholdCallback
    _entry_point: ClassVar = "lgbm.OrdinalObjective"
    _training_type: ClassVar = LightGBMTraining
    _callback_type: ClassVar = ThresholdCallback

    def __deepcopy__(self, memo: dict[int, object]) -> OrdinalObjective:
        return self

    def metric(self, preds: FloatArray, data: lightgbm.Dataset) -> tuple[str, float, bool]:
        """Return the name and weighted mean of the loss and False, for ``feval=``: lower is better.

        Thresholds are those of the round if the callback is passed as well.

        Parameters
        ----------
        preds : ndarray of float, shape (n_samples,)
            Scores that LightGBM passes.
        data : lightgbm.Dataset
            Whose rows they are.
        """
        return self.loss.name, self.training.mean_loss(preds, data), False

    @threads.one_thread_after_fork()
    def attach(self, booster: lightgbm.Booster, data: object = None) -> None:
        """Give its thresholds to a booster that was trained without the callback.

        Parameters
        ----------
        booster : lightgbm.Booster
            What the latest training with this objective returned.
        data : array-like or None, default=None
            The training features, which are needed: the booster is recognised by its scores, and takes its last
            threshold step.

        Raises
        ------
        ValueError
            If the objective's latest training is not the booster's, if data is missing, or if the training
            had an init_score, which data does not hold.
        """
        lgbm_booster.store_record(booster, _finished_record(self.training, booster, data))

    def _record(self, booster: lightgbm.Booster) -> ThresholdRecord:
        return lgbm_booster.stored_record(booster) or _finished_record(self.training, booster, None)

    @threads.one_thread_after_fork()
    @shared_docs.documented(like=prediction.predict_proba)
    def predict_proba(self, booster: lightgbm.Booster, data: object, num_iteration: int | None = None) -> FloatArray:
        """Class probabilities, float64 (n_samples, n_classes)."""
        return prediction.proba_of(booster, self._record(booster), data, num_iteration)

    @threads.one_thread_after_fork()
    @shared_docs.documented(like=prediction.predict)
    def predict(
        self,
        booster: lightgbm.Booster,
        data: Table,
        num_iteration: int | None = None,
        *,
        decision_rule: str = "median",
        cost_matrix: ArrayLike | None = None,
    ) -> IndexArray:
        """Class codes, (n_samples,)."""
        record = self._record(booster)
        find = partial(prediction.proba_of, booster, record, data, num_iteration)
        return decide(record, find, decision_rule, cost_matrix)


def _finished_record(training: LightGBMTraining, booster: lightgbm.Booster, data: object) -> ThresholdRecord:
    """Return the record of an objective's latest training; raise ValueError unless the booster is what it returned."""
    lgbm_booster.check_parameters(booster, training.spec.threshold_update)
    run = training.latest
    rounds = booster.current_iteration()
    if rounds < run.seen.grown_at:
        raise ValueError(
            f"booster has {rounds} iterations, but this objective's latest training had at least "
            f"{run.seen.grown_at}; attach the booster that it returned"
        )
    if data is None:
        raise ValueError(
            "data is needed to tell whether the booster is that of this objective's latest training: call "
            "objective.attach(booster, X) with the training features, or train with callbacks=[objective.callback]"
        )
    data = prediction.rows_for(booster, data)
    seen = _iterations_seen(run, booster, data, rounds)
    if seen < rounds:
        run.advance(prediction.predict_raw(booster, data, 0, rounds), run.seen.grown_at + 1)
    # LightGBM puts a constant first where the first round finds no split; it left the score as it was.
    return run.record().stretched(rounds, max(0, seen - run.seen.grown_at))


def _iterations_seen(run: TrainingRun, booster: lightgbm.Booster, data: object, rounds: int) -> int:
    """Return the iterations in the score that the objective saw last; refuse one that is not the booster's."""
    # All but the last, or all if the last round found no split.
    off = {}
    for iteration in (rounds - 1, rounds):
        score = prediction.predict_raw(booster, data, 0, max(iteration, 1)) * (iteration > 0)
        off[iteration] = run.seen.off_grown_on(score)
    seen = min(off, key=off.__getitem__)
    if off[seen] > SAME_SCORE:
        raise ValueError(
            "booster is not the one that this objective's latest training returned, data are not its features, or "
            "its scores began with an init_score: the scores differ from those of the training. Pass "
            "callbacks=[objective.callback] to train instead"
        )
    return seen


@shared_docs.documented
class FixedThresholds:
    """Objective with given thresholds: a row's gradient depends only on the row, so rows may be on any worker.

    LightGBM has no sum over its workers that an objective could use: :class:`.dask.DaskLGBMOrdinalClassifier`
    learns thresholds by another way. Here they stay where they are, and the score is fitted to them. Pass the object
    as ``objective=`` to :class:`lightgbm.DaskLGBMRegressor` or :class:`lightgbm.LGBMRegressor`, with class codes as
    labels.

    Parameters
    ----------
    thresholds : array-like of float, shape (n_classes - 1,)
        Lowest first, on the scale of the score. :meth:`of_classes` computes them from the classes' shares.
    <<loss, link, hessian, n_threads>>
        Those of each worker.

    Raises
    ------
    ValueError
        If an argument is not one of those allowed.

    Examples
    --------
    >>> import lightgbm, numpy as np
    >>> from ordinal_objectives.adapters import lgbm as olgbm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> objective = olgbm.FixedThresholds.of_classes(np.bincount(y))
    >>> model = lightgbm.LGBMRegressor(objective=objective, n_estimators=20, verbosity=-1).fit(X, y)
    >>> objective.attach(model.booster_)
    >>> olgbm.predict_proba(model.booster_, X).shape
    (300, 4)
    """

    def __init__(
        self,
        thresholds: ArrayLike,
        *,
        loss: str | OrdinalLoss = "all_threshold",
        link: str = "logit",
        hessian: str = "exact",
        n_threads: int | None = 1,
    ) -> None:
        self.loss = get_loss(loss, link)
        self.loss.check_hessian(hessian)
        self.hessian = hessian
        self.thresholds: FloatArray = validation.check_thresholds(thresholds, ordered=self.loss.ordered).copy()
        self.n_threads = n_threads

    @classmethod
    def of_classes(cls, class_weights: ArrayLike, **options: Any) -> FixedThresholds:
        """Return the objective whose thresholds fit the shares of the classes at a score of 0.

        Parameters
        ----------
        class_weights : array-like of float, shape (n_classes,)
            Number, or weight, of each class's rows on all workers.
        **options
            ``loss``, ``link``, ``hessian`` and ``n_threads``.
        """
        weights = np.asarray(class_weights, dtype=np.float64)
        validation.check_total_weight(weights, name="class_weights")
        validation.check_two_classes(weights, name="class_weights")
        loss = get_loss(options.get("loss", "all_threshold"), options.get("link", "logit"))
        return cls(initial_thresholds(weights, loss=loss).thresholds, **options)

    def __call__(
        self, y_true: ArrayLike, y_pred: FloatArray, weight: ArrayLike | None = None
    ) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
        """Return gradient and Hessian, float32 (n_samples,) each, as LightGBM asks for them."""
        n_classes = len(self.thresholds) + 1
        rows = CPU(self.n_threads).row_pass(self.loss, y_true, n_classes, weight, part=True)
        statistics = rows(y_pred, self.thresholds, self.hessian, want_loss=False)
        return statistics.gradient, statistics.hessian

    @threads.one_thread_after_fork()
    def attach(self, booster: lightgbm.Booster) -> None:
        """Give its thresholds to a booster that was trained with this objective.

        Parameters
        ----------
        booster : lightgbm.Booster
            ``booster_`` of the regressor.
        """
        n = booster.current_iteration() + 1
        spec = OrdinalSpec(self.loss, self.hessian, "fixed")
        history, losses = [self.thresholds] * n, [float("nan")] * n
        lgbm_booster.store_record(booster, ThresholdRecord.of(spec, history, losses, {}))
