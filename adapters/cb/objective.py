"""The objective for CatBoost, with the metric and the callback that belong to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import catboost
import numpy as np

from ordinal_objectives.adapters.arguments import spec_and_record
from ordinal_objectives.adapters.cb import booster as cb_booster
from ordinal_objectives.adapters.cb.training import CatBoostTraining, LossMetric, RoundCallback
from ordinal_objectives.aliases import ArrayLike, FloatArray
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils.shared_docs import documented


@documented
class OrdinalObjective:
    """Ordinal objective for ``catboost.CatBoost``: ``CatBoost(params | objective.params)``.

    Thresholds take a Newton step in each round, in the metric among these parameters. Pass
    ``callbacks=[objective.callback]`` to ``fit``, which ends the rounds, and afterwards call :meth:`attach`: the model
    carries its thresholds then, in its files too.

    Parameters
    ----------
    pool : catboost.Pool
        The one that is trained on. Labels are class codes 0..n_classes - 1.
    <<n_classes, loss, link, hessian>>
    threshold_update : {"newton", "fixed"}
        Whether thresholds move.
    thresholds : array-like of float, shape (n_classes - 1,), ThresholdRecord or None
        Where they start, lowest first; None computes them from the shares of the classes, or from ``init_model``.
    init_model : catboost.CatBoost or None
        The model that ``fit(init_model=)`` continues.
    <<n_threads>>

    Attributes
    ----------
    params : dict
        What CatBoost must be given beside other parameters.
    callback : object
        For ``fit(callbacks=[...])``.

    Examples
    --------
    >>> import numpy as np
    >>> from catboost import CatBoost, Pool
    >>> from ordinal_objectives.adapters import cb as ocb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> pool = Pool(X, y)
    >>> objective = ocb.OrdinalObjective(pool)
    >>> params = {"iterations": 20, "depth": 2, "verbose": False, "allow_writing_files": False}
    >>> model = CatBoost(params | objective.params).fit(pool, callbacks=[objective.callback])
    >>> objective.attach(model)
    >>> ocb.predict_proba(model, X).shape
    (300, 4)
    """

    no_jit: ClassVar = True  # CatBoost would compile it, if numba is there

    def __init__(
        self,
        pool: catboost.Pool,
        n_classes: int | None = None,
        *,
        loss: str | OrdinalLoss = "all_threshold",
        link: str = "logit",
        hessian: str = "exact",
        threshold_update: str = "newton",
        thresholds: ArrayLike | ThresholdRecord | None = None,
        init_model: catboost.CatBoost | None = None,
        n_threads: int | None = None,
    ) -> None:
        asked: dict[str, object] = {"n_classes": n_classes, "loss": loss, "link": link, "hessian": hessian}
        asked |= {"threshold_update": threshold_update, "thresholds": thresholds}
        spec, record = spec_and_record("cb.OrdinalObjective", **asked)
        self._connect(spec, record, pool, init_model, n_threads=n_threads)

    @classmethod
    def of(
        cls, spec: OrdinalSpec, record: ThresholdRecord | None, pool: catboost.Pool, init_model: Any, **options: Any
    ) -> OrdinalObjective:
        """Return the objective of a specification, and of the record that is continued, if one is given.

        Parameters
        ----------
        spec : OrdinalSpec
            The ordinal model.
        record : ThresholdRecord or None
            Of the model that is continued, where ``init_model`` does not carry it.
        pool : catboost.Pool
            The one that is trained on.
        init_model : catboost.CatBoost or None
            The model that is continued.
        **options
            Those of ``CatBoostTraining``.
        """
        objective = object.__new__(cls)
        objective._connect(spec, record, pool, init_model, **options)
        return objective

    def _connect(
        self, spec: OrdinalSpec, record: ThresholdRecord | None, pool: catboost.Pool, init_model: Any, **options: Any
    ) -> None:
        if init_model is not None and record is None and spec.thresholds is None:
            record = cb_booster.threshold_record(init_model)
        self.training = training = CatBoostTraining(spec, record, **options)
        training.check_matrix(pool)
        score = training.initial_score(pool)
        if init_model is not None:
            if np.size(pool.get_baseline()) or (record is not None and record.linear is not None):
                raise ValueError(
                    "init_model cannot be continued with a baseline or a linear part: CatBoost starts a continued "
                    "training at the score of the trees alone"
                )
            score = cb_booster.predict_raw(init_model, cb_booster.rows_for(init_model, pool, "pool"))
        training.start(pool, score)
        self.callback = RoundCallback(training)
        self.params = cb_booster.FIXED | {"loss_function": self, "eval_metric": LossMetric(training)}

    def __deepcopy__(self, memo: dict[int, object]) -> OrdinalObjective:
        return self  # CatBoost copies its parameters; the training is to be found in this object

    def calc_ders_range(self, approxes: Any, targets: Any, weights: Any) -> Any:
        """Return derivatives of a block of rows, as CatBoost asks for them: -gradient and -Hessian.

        Parameters
        ----------
        approxes : ndarray of float64, shape (n_some,)
            Scores.
        targets : ndarray of float32, shape (n_some,)
            Class codes.
        weights : ndarray of float32, shape (n_some,), or None
            Weights; None where all are 1.
        """
        with self.training.keeping_errors():
            return self.training.derivatives(approxes, targets, weights)

    @property
    def spec(self) -> OrdinalSpec:
        """The ordinal model, checked."""
        return self.training.spec

    @property
    def thresholds_(self) -> FloatArray:
        """The newest thresholds, float64 (n_classes - 1,)."""
        return np.array(self.training.run.thresholds)

    @property
    def diagnostics_(self) -> dict[str, int]:
        """Counters of the training; see :class:`ordinal_objectives.threshold_solver.Diagnostics`."""
        return self.training.run.diagnostics.as_dict()

    def attach(self, model: catboost.CatBoost) -> None:
        """Give its thresholds to the model that was trained with this objective.

        Parameters
        ----------
        model : catboost.CatBoost
            With the trees of the rounds up to the best one, or of all.

        Raises
        ------
        ValueError
            If it has other trees than the training had rounds, or does not go on with ``init_model``.
        """
        training, plan = self.training, self.training.plan
        record = replace(training.run.record(), linear=plan.linear, classifier=plan.classifier)
        cb_booster.store_record(model, record, training.continues)
