"""The ordinal objective for ``lightgbm.train``."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.lgbm.attach import finished_record
from ordinal_objectives.adapters.lgbm.callback import ThresholdCallback
from ordinal_objectives.adapters.lgbm.prediction import predict, predict_proba, proba_of
from ordinal_objectives.adapters.lgbm.record import store_record, stored_record
from ordinal_objectives.adapters.lgbm.training import LightGBMTraining
from ordinal_objectives.adapters.objective import OrdinalObjectiveBase
from ordinal_objectives.decision import decide
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils.shared_docs import documented


@documented
class OrdinalObjective(OrdinalObjectiveBase):
    """Ordinal objective for :func:`lightgbm.train`: ``params["objective"] = objective``.

    Thresholds are learned inside the call, one Newton step behind the trees. Pass
    ``callbacks=[objective.callback]`` as well, and metrics see the thresholds of their own round, the last
    step is done, and the booster carries its thresholds: :func:`save_model` and :func:`load_model` keep
    them in LightGBM's own text format, and pickling keeps them too.

    LightGBM copies its parameters deeply; a deep copy of this object is the object itself, so that what it
    learned is not lost. Use :func:`copy.copy` or :mod:`pickle` for an independent, untrained copy.

    Parameters
    ----------
    <<n_classes, loss, link, hessian, threshold_update, thresholds, proportional, shift_l2, shift_penalty, max_shifts>>
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

    def _door(self) -> str:
        return "lgbm.OrdinalObjective"

    def _begin(self, spec: OrdinalSpec, record: ThresholdRecord | None, n_threads: int | None) -> LightGBMTraining:
        return LightGBMTraining(spec, record, n_threads=n_threads)

    def _connect(self, training: LightGBMTraining) -> None:
        self.training, self.callback = training, ThresholdCallback(training)

    def __deepcopy__(self, memo: dict[int, Any]) -> OrdinalObjective:
        return self

    def metric(self, preds: NDArray[Any], data: lightgbm.Dataset) -> tuple[str, float, bool]:
        """Return the name and weighted mean of the loss and False, for ``feval=``: lower is better.

        Thresholds are those of the round if the callback is passed as well.

        Parameters
        ----------
        preds : ndarray of float, shape (n_samples,)
            Scores that LightGBM hands over.
        data : lightgbm.Dataset
            Whose rows they are.
        """
        return self.training.metric(preds, data)

    @one_thread_after_fork()
    def attach(self, booster: lightgbm.Booster, data: Any = None) -> None:
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
        store_record(booster, finished_record(self.training, booster, data))

    def _record(self, booster: lightgbm.Booster) -> ThresholdRecord:
        return stored_record(booster) or finished_record(self.training, booster, None)

    @one_thread_after_fork()
    @documented(like=predict_proba)
    def predict_proba(
        self, booster: lightgbm.Booster, data: Any, num_iteration: int | None = None
    ) -> NDArray[np.float64]:
        """Class probabilities, float64 (n_samples, n_classes)."""
        return proba_of(booster, self._record(booster), data, num_iteration)

    @documented(like=predict)
    def predict(
        self,
        booster: lightgbm.Booster,
        data: Any,
        num_iteration: int | None = None,
        *,
        decision_rule: str = "median",
        cost_matrix: ArrayLike | None = None,
    ) -> NDArray[np.intp]:
        """Class codes, (n_samples,)."""
        self._record(booster).ordinal_loss().check_decision(decision_rule, cost_matrix)
        return decide(self.predict_proba(booster, data, num_iteration), decision_rule, cost_matrix)
