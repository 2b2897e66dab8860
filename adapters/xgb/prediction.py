"""Probabilities and classes of an XGBoost booster that carries its thresholds."""

from __future__ import annotations

import numpy as np
import xgboost
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.objective import predict_from_scores
from ordinal_objectives.adapters.xgb.input_checks import check_levels, check_matrix, check_names, refused_rows
from ordinal_objectives.adapters.xgb.leaf_vectors import leaf_scores, start_scores
from ordinal_objectives.adapters.xgb.record import carried_record, check_all_rounds, completed, last_round
from ordinal_objectives.decision import decide
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils.shared_docs import documented


def proba_of(
    booster: xgboost.Booster,
    record: ThresholdRecord,
    data: xgboost.DMatrix,
    iteration_range: tuple[int, int] | None,
) -> NDArray[np.float64]:
    """Return class probabilities of a booster whose record is known; see :func:`predict_proba`."""
    check_matrix(booster, data)
    check_levels(booster, data, "data")
    record.check_start(data.get_base_margin().size > 0, "data has no base_margin")
    end = last_round(booster, iteration_range)
    check_all_rounds(booster, record, end)
    if record.outputs is None and record.shifts is not None:
        check_names(booster, data)
        with refused_rows(data, name="data"):
            scores = start_scores(data)[:, np.newaxis] + leaf_scores(booster, record, data, 0, end)
    else:
        with refused_rows(data, name="data"):
            outputs = booster.predict(data, output_margin=True, iteration_range=(0, end))
        of_rows = record.outputs
        scores = outputs.reshape(data.num_row()) if of_rows is None else of_rows.scores(outputs, 0, end)
    return predict_from_scores(record, end, scores)


@documented
@one_thread_after_fork()
def predict_proba(
    booster: xgboost.Booster, data: xgboost.DMatrix, iteration_range: tuple[int, int] | None = None
) -> NDArray[np.float64]:
    """Return class probabilities of a booster that carries its thresholds.

    Parameters
    ----------
    <<booster>>
    data : xgboost.DMatrix
        Rows to predict.
    <<iteration_range>>

    Returns
    -------
    ndarray of float64, shape (n_samples, n_classes)

    Raises
    ------
    ValueError
        If the booster carries no thresholds, or none for that iteration; if data has levels of categories that the
        training did not have, or the booster holds none, or XGBoost refuses data.
    TypeError
        If ``booster`` is no booster, or ``data`` no DMatrix.

    Examples
    --------
    >>> import numpy as np
    >>> import xgboost
    >>> from ordinal_objectives.adapters import xgb as oxgb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.logistic(size=300), [-1.0, 1.0])
    >>> data = xgboost.DMatrix(X, y)
    >>> booster = oxgb.train({"max_depth": 2}, data, 20)
    >>> oxgb.predict_proba(booster, data).shape
    (300, 3)
    """
    booster = completed(booster)
    return proba_of(booster, carried_record(booster), data, iteration_range)


@documented(like=predict_proba)
@one_thread_after_fork()
def predict(
    booster: xgboost.Booster,
    data: xgboost.DMatrix,
    iteration_range: tuple[int, int] | None = None,
    *,
    decision_rule: str = "median",
    cost_matrix: ArrayLike | None = None,
) -> NDArray[np.intp]:
    """Return class codes of a booster that carries its thresholds.

    Parameters
    ----------
    <<booster, data, iteration_range, decision_rule, cost_matrix>>

    Returns
    -------
    ndarray of int, shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> import xgboost
    >>> from ordinal_objectives.adapters import xgb as oxgb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.logistic(size=300), [-1.0, 1.0])
    >>> data = xgboost.DMatrix(X, y)
    >>> booster = oxgb.train({"max_depth": 2}, data, 20)
    >>> oxgb.predict(booster, data)[:4], y[:4]
    (array([1, 1, 1, 2]), array([1, 1, 0, 2]))
    """
    booster = completed(booster)
    carried_record(booster).ordinal_loss().check_decision(decision_rule, cost_matrix)
    return decide(predict_proba(booster, data, iteration_range), decision_rule, cost_matrix)
