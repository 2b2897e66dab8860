"""The ordinal objective for ``lightgbm.train``."""

from __future__ import annotations

from typing import ClassVar

import lightgbm

from ordinal_objectives import threads
from ordinal_objectives.adapters.lgbm import prediction
from ordinal_objectives.adapters.lgbm.training import LightGBMTraining, ThresholdCallback
from ordinal_objectives.adapters.objective import OrdinalObjectiveBase
from ordinal_objectives.aliases import ArrayLike, FloatArray, IndexArray
from ordinal_objectives.utils import shared_docs


@shared_docs.documented
class OrdinalObjective(OrdinalObjectiveBase):
    """Ordinal objective for :func:`lightgbm.train`: ``params["objective"] = objective``.

    Pass ``callbacks=[objective.callback]`` as well, which is needed: LightGBM passes an objective neither the booster
    nor the number of the round. Metrics see the thresholds of their own round, and the booster carries its
    thresholds: :func:`save_model` and :func:`load_model` keep them in LightGBM's own text format, and pickling keeps
    them too. LightGBM's own ``booster.save_model`` drops them, without a warning.

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
    @shared_docs.documented(like=prediction.predict_proba)
    def predict_proba(self, booster: lightgbm.Booster, data: object, num_iteration: int | None = None) -> FloatArray:
        """Class probabilities, float64 (n_samples, n_classes)."""
        return prediction.predict_proba(booster, data, num_iteration)

    @threads.one_thread_after_fork()
    @shared_docs.documented(like=prediction.predict)
    def predict(
        self,
        booster: lightgbm.Booster,
        data: object,
        num_iteration: int | None = None,
        *,
        decision_rule: str = "median",
        cost_matrix: ArrayLike | None = None,
    ) -> IndexArray:
        """Class codes, (n_samples,)."""
        return prediction.predict(booster, data, num_iteration, decision_rule=decision_rule, cost_matrix=cost_matrix)
