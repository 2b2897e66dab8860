"""Training with CatBoost, with the ordinal objective, its metric and its callback in place."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from catboost import CatBoost, CatBoostError, Pool

from ordinal_objectives.adapters import arguments
from ordinal_objectives.adapters.cb import booster as cb_booster
from ordinal_objectives.adapters.cb.objective import OrdinalObjective
from ordinal_objectives.adapters.cb.training import CatBoostTraining, RoundMetric
from ordinal_objectives.adapters.training import Plan
from ordinal_objectives.aliases import ArrayLike, Params
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils.extras import round_bar
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import collected, refuse_masked


@documented
def train(
    pool: Pool | tuple[object, ArrayLike],
    params: Mapping[str, Any] | None = None,
    iterations: int | None = None,
    *,
    eval_set: Any = None,
    early_stopping_rounds: int | None = None,
    use_best_model: bool | None = None,
    init_model: CatBoost | str | os.PathLike[str] | None = None,
    callbacks: Sequence[Any] | None = None,
    n_classes: int | None = None,
    loss: str | OrdinalLoss = "all_threshold",
    link: str = "logit",
    hessian: str = "exact",
    threshold_update: str = "newton",
    thresholds: ArrayLike | ThresholdRecord | None = None,
    progress: bool = False,
) -> CatBoost:
    """Train an ordinal model with CatBoost.

    CatBoost asks objectives of Python for derivatives on one thread, in blocks of 1,000 rows, and grows trees on all.

    Parameters
    ----------
    pool : catboost.Pool, or tuple of (X, y)
        Labels are class codes 0..n_classes - 1.
    params : mapping or None
        Those of ``catboost.CatBoost``. Losses, metrics, a GPU, and what changes the scores of earlier trees
        (model_shrink_rate, langevin, posterior_sampling) are refused, and so are snapshots, which hold no thresholds.
        ``allow_writing_files`` and ``verbose`` are False unless given.
    iterations : int or None
        Number of rounds; None takes that of ``params``, or CatBoost's 1000.
    eval_set : catboost.Pool, tuple of (X, y), list of them, or None
        Evaluated each round with the ordinal loss; the last one decides when to stop, and which model is the best.
    early_stopping_rounds : int or None
        After how many rounds without a lower loss the training ends.
    use_best_model : bool or None
        Whether the trees after the round of the lowest loss are left out; None does so where there is an evaluation
        set.
    init_model : catboost.CatBoost, path or None
        Model to continue, which must carry its thresholds unless ``thresholds`` holds them.
    callbacks : sequence of objects or None
        CatBoost's, with a method ``after_iteration``; called after the one that ends a round of the thresholds.
    <<n_classes, loss, link, hessian>>
    threshold_update : {"newton", "fixed"}
        Whether thresholds move: one Newton step after each tree. CatBoost shows no tree before the training ends, so
        that "schur", "joint" and thresholds that move with x are not possible.
    thresholds : array-like of float, shape (n_classes - 1,), ThresholdRecord or None
        Where they start, lowest first; None computes them from the shares of the classes.
    <<progress>>

    Returns
    -------
    catboost.CatBoost
        Carries its thresholds: :func:`predict_proba` reads them, and CatBoost's .cbm files keep them.

    Raises
    ------
    ValueError
        If a parameter is refused; the message names it.

    Examples
    --------
    >>> import numpy as np
    >>> from catboost import Pool
    >>> from ordinal_objectives.adapters import cb as ocb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> model = ocb.train(Pool(X, y), {"depth": 2}, 20)
    >>> ocb.predict_proba(model, X).shape
    (300, 4)
    """
    given = dict(locals())
    asked = arguments.spec_and_record("cb.train", **arguments.given_options(given))
    return train_spec(asked, **given)[0]


def train_spec(
    asked: arguments.Asked,
    pool: Pool | tuple[object, ArrayLike],
    params: Mapping[str, Any] | None,
    iterations: int | None,
    *,
    eval_set: Any = None,
    init_model: Any = None,
    callbacks: Sequence[Any] | None = None,
    progress: bool = False,
    what: str = "rounds",
    carried: Params | None = None,
    metrics: Sequence[RoundMetric] = (),
    **options: Any,
) -> tuple[CatBoost, dict[str, dict[str, list[float]]]]:
    """Train the model that an entry point was asked for; return it, and the results of its evaluation sets.

    ``carried`` is what a classifier adds to the record, ``metrics`` are evaluated beside the loss, and ``options`` are
    the other arguments of :func:`train`.
    """
    params = dict(params or {})
    names = ("iterations", *cb_booster.SAME["iterations"])
    if iterations is not None:
        others = [name for name in names if name in params]
        if others:
            raise ValueError(f"iterations={iterations} and params[{others[0]!r}] say the same thing; give one of them")
        params["iterations"] = iterations
    n_rounds = next((params[name] for name in names if name in params), 1000)
    params = cb_booster.checked_params(params)
    pool = _as_pool(pool, "pool")
    sets = eval_set if isinstance(eval_set, list) else [] if eval_set is None else [eval_set]
    pools = [_as_pool(one, "eval_set") for one in sets]
    spec, record = asked
    options |= {"eval_set": pools or None}
    # A copy, which does not know the rows of its training: CatBoost would go on from their baseline.
    previous = None if init_model is None else cb_booster.as_model(init_model).copy()
    n_threads = params.get("thread_count")
    plan = Plan(driven=True, **(carried or {}))
    objective = OrdinalObjective.of(spec, record, pool, previous, n_threads=n_threads, plan=plan, metrics=metrics)
    training, run = objective.training, objective.training.run
    model = CatBoost(params | objective.params)
    with round_bar(progress, n_rounds, what) as show:
        hooks: list[Any] = [objective.callback]
        hooks += [_Guarded(training, callback) for callback in callbacks or ()]
        hooks += [] if show is None else [_AfterRound(lambda n_rounds: show(n_rounds, run.newest_loss()))]
        try:
            model.fit(pool, init_model=previous, callbacks=hooks, **options)
        except CatBoostError as error:
            raise (training.error or ValueError(f"CatBoost refuses the training: {error}")) from error
    if previous is not None:  # CatBoost's result reads tables of categories in `previous`, which dies here
        model = model.copy()
    objective.attach(model)
    training.forget()
    return model, training.results


def _as_pool(data: Any, name: str) -> Pool:
    """Return a pool that is given as such, or as (X, y)."""
    if isinstance(data, Pool):
        return data
    if isinstance(data, tuple) and len(data) == 2:
        for values, what in zip(data, ("features", "labels"), strict=True):
            refuse_masked(values, name=f"{what} of {name}")
        return Pool(collected(data[0], name=f"features of {name}"), data[1])
    raise TypeError(f"{name} must be a catboost.Pool, or a tuple (X, y); got {type(data).__name__}")


class _Guarded:
    """A callback whose errors are kept."""

    def __init__(self, training: CatBoostTraining, callback: Any) -> None:
        self._training, self._callback = training, callback

    def after_iteration(self, info: Any) -> Any:
        with self._training.keeping_errors():
            return self._callback.after_iteration(info)


class _AfterRound:
    """A callback that does something after each round."""

    def __init__(self, act: Callable[[int], None]) -> None:
        self._act = act

    def after_iteration(self, info: Any) -> bool:
        self._act(info.iteration)
        return True
