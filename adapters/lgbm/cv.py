"""``lightgbm.cv`` with the ordinal objective, its callback and its metric in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lightgbm

from ordinal_objectives.adapters.arguments import check_asked, ordinal_options, spec_and_record
from ordinal_objectives.adapters.lgbm.input_checks import check_set, refused_sets
from ordinal_objectives.adapters.lgbm.levels import check_levels
from ordinal_objectives.adapters.lgbm.objective import OrdinalObjective
from ordinal_objectives.adapters.lgbm.train import all_metrics, callbacks_of, checked_params, n_threads_of, train
from ordinal_objectives.adapters.lgbm.training import LightGBMTraining
from ordinal_objectives.adapters.training import Plan
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.utils.shared_docs import documented


@documented(like=train)
@one_thread_after_fork()
def cv(
    params: Mapping[str, Any],
    train_set: lightgbm.Dataset,
    num_boost_round: int = 100,
    *,
    feval: Callable[..., Any] | list[Callable[..., Any]] | None = None,
    callbacks: Sequence[Callable[..., Any]] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Cross-validate an ordinal model: :func:`lightgbm.cv` with objective, callback and metric in place.

    Parameters
    ----------
    <<params, train_set, num_boost_round, feval>>
        Thresholds are those of each fold and round.
    callbacks : sequence of callable or None
        Called each round with all folds, as :func:`lightgbm.cv` does.
    <<n_classes, loss, link, hessian, threshold_update, thresholds, proportional, shift_l2, shift_penalty, max_shifts>>
    **options
        What else :func:`lightgbm.cv` takes, such as ``nfold``, ``folds``, ``stratified`` (False unless given) and
        ``seed``.

    Returns
    -------
    dict
        Mean and standard deviation of the ordinal loss and of the metrics, round by round.

    Raises
    ------
    ValueError
        If a parameter is refused; the message names it.

    Examples
    --------
    >>> import lightgbm, numpy as np
    >>> from ordinal_objectives.adapters import lgbm as olgbm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> params = {"num_leaves": 4, "verbosity": -1}
    >>> history = olgbm.cv(params, lightgbm.Dataset(X, y), 5, proportional=False, nfold=3)
    >>> len(history["valid all_threshold-mean"])
    5
    """
    check_asked(params, num_boost_round, 1)
    params = checked_params(params)
    check_set(train_set, "train_set")
    check_levels(train_set, "train_set")
    own = ordinal_options(options, train_set.get_label())
    spec, record = spec_and_record("lgbm.cv", **own)
    training = LightGBMTraining(spec, record, n_threads=n_threads_of(params), plan=Plan(driven=True))
    objective = OrdinalObjective.of(training)
    with refused_sets([("train_set", train_set.data)], training.boosters):
        history: dict[str, Any] = lightgbm.cv(
            {**params, "objective": objective, "metric": "None"},
            train_set,
            num_boost_round,
            feval=all_metrics(objective, feval),
            callbacks=callbacks_of(objective, callbacks),
            **{"stratified": False, **options},
        )
    return history
