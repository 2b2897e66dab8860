"""Fixed thresholds, for LightGBM's scikit-learn classes and for LightGBM on Dask."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.lgbm.record import store_record
from ordinal_objectives.losses import OrdinalLoss, get_loss
from ordinal_objectives.rows import CPU
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.threshold_solver import initial_thresholds
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import check_thresholds, check_total_weight, check_two_classes


@documented
class FixedThresholds:
    """Objective with given thresholds: gradients depend on each row alone, so rows may be on any worker.

    LightGBM has no sum over its workers that an objective could use, so thresholds cannot be learned there; with
    XGBoost they can. Here they stay where they are, and the score is fitted to them. Pass the object as ``objective=``
    to :class:`lightgbm.DaskLGBMRegressor` or :class:`lightgbm.LGBMRegressor`, with class codes as labels.

    Parameters
    ----------
    thresholds : array-like of float, shape (n_classes - 1,)
        Lowest first, on the scale of the score. :meth:`of_classes` finds those of the classes' shares.
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
        self.thresholds: NDArray[np.float64] = check_thresholds(thresholds, ordered=self.loss.ordered).copy()
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
        check_total_weight(weights, name="class_weights")
        check_two_classes(weights, name="class_weights")
        loss = get_loss(options.get("loss", "all_threshold"), options.get("link", "logit"))
        return cls(initial_thresholds(weights, loss=loss).thresholds, **options)

    def __call__(self, y_true: NDArray[Any], y_pred: NDArray[Any], weight: Any = None) -> Any:
        """Return gradient and Hessian, float32 (n_samples,) each, as LightGBM asks for them."""
        n_classes = len(self.thresholds) + 1
        rows = CPU(self.n_threads).row_pass(self.loss, y_true, n_classes, weight, part=True)
        statistics = rows(y_pred, self.thresholds, self.hessian, want_loss=False)
        return statistics.gradient, statistics.hessian

    @one_thread_after_fork()
    def attach(self, booster: lightgbm.Booster) -> None:
        """Give its thresholds to a booster that was trained with this objective.

        Parameters
        ----------
        booster : lightgbm.Booster
            ``booster_`` of the regressor.
        """
        n = booster.current_iteration() + 1
        history, losses = [self.thresholds] * n, [float("nan")] * n
        store_record(booster, ThresholdRecord.of(self.loss, self.hessian, "fixed", history, losses, {}))
