"""``xgboost.cv`` with the ordinal objective, its callback and its metric in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import xgboost

from ordinal_objectives.adapters.arguments import check_asked
from ordinal_objectives.adapters.parameters import ordinal_options, spec_and_record
from ordinal_objectives.adapters.xgb.input_checks import check_dtrain
from ordinal_objectives.adapters.xgb.train import arguments_of, objective_of, train
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.utils.shared_docs import documented


@documented(like=train)
@one_thread_after_fork()
def cv(
    params: Mapping[str, Any],
    dtrain: xgboost.DMatrix,
    num_boost_round: int = 10,
    nfold: int = 3,
    *,
    custom_metric: Callable[..., Any] | None = None,
    callbacks: Sequence[xgboost.callback.TrainingCallback] | None = None,
    **options: Any,
) -> Any:
    """Cross-validate an ordinal model: :func:`xgboost.cv` with objective, callback and metric in place.

    Parameters
    ----------
    <<params, dtrain, num_boost_round>>
    nfold : int
        Number of folds.
    <<custom_metric>>
        Thresholds are those of each fold and round.
    callbacks : sequence of xgboost.callback.TrainingCallback or None
        Called each round with all folds, as :func:`xgboost.cv` does.
    <<n_classes, loss, link, hessian, threshold_update, thresholds>>
    <<proportional, shift_l2, shift_penalty, max_shifts, shift_method, split_outputs>>
    **options
        What else :func:`xgboost.cv` takes, such as ``stratified``, ``folds``, ``seed`` and ``as_pandas``.

    Returns
    -------
    pandas.DataFrame or dict
        Mean and standard deviation of the ordinal loss and of the metrics, round by round.

    Raises
    ------
    ValueError
        If a parameter is refused; the message names it.

    Examples
    --------
    >>> import numpy as np, xgboost
    >>> from ordinal_objectives.adapters import xgb as oxgb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> history = oxgb.cv({"max_depth": 2}, xgboost.DMatrix(X, y), 5, proportional=False, as_pandas=False)
    >>> len(history["test-all_threshold-mean"])
    5
    """
    check_dtrain(dtrain)
    check_asked(params, num_boost_round, 0)
    own = ordinal_options(options, dtrain.get_label())
    options |= {"custom_metric": custom_metric, "callbacks": callbacks}
    objective = objective_of(spec_and_record("xgb.cv", **own), params, options, dtrain)
    given = arguments_of(objective, params, options)
    return xgboost.cv(dtrain=dtrain, num_boost_round=num_boost_round, nfold=nfold, **options | given)
