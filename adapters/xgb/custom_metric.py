"""The metrics of XGBOrdinalClassifier, and whether higher is better in early stopping."""

from __future__ import annotations

from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray

from ordinal_objectives.adapters.xgb.input_checks import callbacks_in
from ordinal_objectives.eval_metric import EvalMetric


class CustomMetric:
    """Metrics for ``custom_metric`` of :func:`ordinal_objectives.adapters.xgb.train`.

    XGBoost guesses from its name whether a high value of a metric is good. Here each metric says it, and the callbacks
    that stop early are set accordingly before the first value.

    Parameters
    ----------
    metrics : list of EvalMetric
    """

    def __init__(self, metrics: list[EvalMetric]) -> None:
        self.metrics = metrics
        self._stoppers: list[Any] = []

    def early_stopping(self, callbacks: Any, rounds: int | None) -> tuple[list[Any], int | None]:
        """Return callbacks and ``early_stopping_rounds`` for XGBoost: a callback where there are metrics."""
        every = callbacks_in(callbacks)
        if self.metrics and rounds:
            every, rounds = [*every, xgboost.callback.EarlyStopping(rounds=rounds)], None
        self._stoppers = [one for one in every if isinstance(one, xgboost.callback.EarlyStopping)]
        return every, rounds

    def __call__(self, proba: NDArray[np.float64], dmatrix: xgboost.DMatrix) -> list[tuple[str, float]]:
        """Return (name, value) of every metric.

        Raises
        ------
        ValueError
            If XGBoost could not read a name back: it puts names and values into one line.
        """
        weight = dmatrix.get_weight()
        codes = dmatrix.get_label().astype(np.int32)
        results = [one for metric in self.metrics for one in metric(codes, proba, weight if weight.size else None)]
        for name, _, _ in results:
            if ":" in name or "".join(name.split()) != name:
                raise ValueError(f"eval_metric must have names without spaces and colons with XGBoost; got {name!r}")
        higher = {name: is_higher_better for name, _, is_higher_better in results}
        for stopper in self._stoppers:
            if stopper.maximize is None:
                stopper.maximize = higher.get(stopper.metric_name or results[-1][0], False)
        return [(name, value) for name, value, _ in results]
