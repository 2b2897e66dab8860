"""What the objectives of all frameworks share: gradients and metrics of the run that a score belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.newton_run import score_of_rows
from ordinal_objectives.adapters.parameters import OrdinalParameters
from ordinal_objectives.adapters.runs import Runs
from ordinal_objectives.threshold_solver.record import ThresholdRecord

# A copy begins without them: training matrices cannot travel.
_OF_THE_TRAINING = ("runs", "callback")


class OrdinalObjectiveBase(OrdinalParameters):
    """Ordinal objective; each framework adds its runs, its callback and its kind of metric.

    Parameters
    ----------
    n_classes, loss, link, hessian, threshold_update, thresholds, n_threads
        See :class:`ordinal_objectives.adapters.parameters.OrdinalParameters`.
    """

    runs: Runs

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.connect()

    def connect(self) -> None:
        """Set ``runs`` and ``callback``, new and empty."""
        raise NotImplementedError("each framework has runs and a callback of its own")

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in vars(self).items()
            if name not in _OF_THE_TRAINING and not name.startswith("_")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.connect()

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(n_classes={self.n_classes}, loss={self.loss!r}, "
            f"hessian={self.hessian!r}, threshold_update={self.threshold_update!r})"
        )

    def __call__(self, raw_prediction: NDArray[Any], matrix: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return gradient and Hessian, float32 (n_samples,) each, as the framework asks for them."""
        raw_prediction = score_of_rows(raw_prediction)
        if raw_prediction.ndim != 1:
            raise ValueError(
                "params['num_class'] is not allowed beside an ordinal objective: the score must have shape "
                f"(n_samples,); got {raw_prediction.shape}"
            )
        self.runs.check_train()
        run, iteration = self.runs.growing(raw_prediction, matrix)
        return run.gradient(raw_prediction, iteration)

    @property
    def thresholds_(self) -> NDArray[np.float64]:
        """Newest thresholds of the latest training of this thread, or else of any; (n_classes - 1,), float64."""
        return self.runs.latest.thresholds.copy()

    @property
    def diagnostics_(self) -> dict[str, int]:
        """Counters of the latest training; see :class:`ordinal_objectives.threshold_solver.Diagnostics`."""
        return self.runs.latest.diagnostics.as_dict()

    def mean_loss(self, raw_prediction: ArrayLike, matrix: Any) -> float:
        """Return the weighted mean loss of a matrix at given scores, with the newest thresholds of its run."""
        score = score_of_rows(raw_prediction)
        run = self.runs.evaluating(score, matrix)
        if self.runs.of(matrix) is run:
            return run.newest_loss()
        return run.mean_loss_of(matrix, score, *self.runs.label_and_weight(matrix))

    def proba_metric(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a metric for the framework that hands class probabilities to ``function``.

        Parameters
        ----------
        function : callable
            ``function(proba, matrix)``, with proba float64 (n_samples, n_classes) from the thresholds of the
            round just finished; returns what the framework's metrics return.

        Returns
        -------
        callable
            For ``custom_metric=`` or ``feval=``. Thresholds are fresh if the callback is passed as well.
        """

        def metric(preds: NDArray[Any], matrix: Any) -> Any:
            score = score_of_rows(preds)
            return function(self.runs.evaluating(score, matrix).proba_of(matrix, score), matrix)

        metric.__name__ = getattr(function, "__name__", type(function).__name__)
        return metric


def predict_from_scores(record: ThresholdRecord, iteration: int, raw_prediction: NDArray[Any]) -> NDArray[np.float64]:
    """Return class probabilities (n_samples, n_classes) with the thresholds of ``iteration``.

    ``raw_prediction`` holds one score a row, or with shifts one for every threshold of a row.
    """
    scores = np.asarray(raw_prediction, dtype=np.float64)
    if record.shifts is not None:
        return record.ordinal_loss().margin_proba(record.at(iteration) - scores)
    return record.ordinal_loss().predict_proba(scores, record.at(iteration))
