"""What each feature contributes to the margin of each threshold, by XGBoost's own SHAP values."""

from __future__ import annotations

import numpy as np
import xgboost
from numpy.typing import NDArray

from ordinal_objectives.adapters.xgb.input_checks import check_matrix
from ordinal_objectives.adapters.xgb.outputs.settings import CONTRIBUTIONS, refuse_before
from ordinal_objectives.adapters.xgb.record import carried_record, check_all_rounds, completed, last_round
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.utils.shared_docs import documented


@documented
@one_thread_after_fork()
def margin_contributions(
    booster: xgboost.Booster, data: xgboost.DMatrix, iteration_range: tuple[int, int] | None = None
) -> NDArray[np.float64]:
    """Return the contributions of all features to the margins theta_k - f(x) - v_k(x), which say P(y <= k).

    XGBoost splits each of its outputs into one SHAP value for each feature and a bias. The margins are the thresholds
    less a linear function of the outputs, so theirs are the same function of those values.

    Parameters
    ----------
    booster : xgboost.Booster
        Proportional, or trained with ``shift_method="host"``, and carrying its thresholds.
    data : xgboost.DMatrix
        Rows to explain.
    <<iteration_range>>

    Returns
    -------
    ndarray of float64, shape (n_samples, n_classes - 1, n_features + 1)
        Lowest threshold first; the last column is the bias, with the threshold. They sum to the margins, which are
        those before any sorting. A positive number raises P(y <= k).

    Raises
    ------
    ValueError
        If the booster carries no thresholds, or shifts that XGBoost does not know, or XGBoost is too old.
    TypeError
        If ``booster`` is no booster, or ``data`` no DMatrix.

    Examples
    --------
    >>> import numpy as np, xgboost
    >>> from ordinal_objectives.adapters import xgb as oxgb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> dtrain = xgboost.DMatrix(X, y)
    >>> booster = oxgb.train({"max_depth": 2}, dtrain, 20)
    >>> oxgb.margin_contributions(booster, dtrain).shape
    (300, 3, 4)
    """
    booster = completed(booster)
    record = carried_record(booster)
    check_matrix(booster, data)
    n_features = booster.num_features()
    if data.num_col() != n_features:  # XGBoost's room for them is another one
        raise ValueError(f"data must have the model's {n_features} columns; got {data.num_col()}")
    record.check_start(data.get_base_margin().size > 0, "data has no base_margin")
    end = last_round(booster, iteration_range)
    check_all_rounds(booster, record, end)
    if record.outputs is None and record.shifts is not None:
        raise ValueError(
            "the shifts of this booster are kept beside XGBoost, which has no contributions for them; train with "
            "shift_method='host' or proportional=True"
        )
    if record.outputs is not None:
        refuse_before(CONTRIBUTIONS, "margin_contributions")
    of_outputs = booster.predict(data, pred_contribs=True, iteration_range=(0, end)).astype(np.float64)
    bias = record.at(end)
    if record.outputs is None or record.n_classes == 2:
        contributions = -np.repeat(of_outputs.reshape(len(of_outputs), 1, n_features + 1), record.n_classes - 1, axis=1)
    else:
        contributions = -np.einsum("kj,njf->nkf", record.outputs.mixing, of_outputs)
        bias = bias + record.outputs.offset(end)
    contributions[:, :, -1] += bias
    return contributions
