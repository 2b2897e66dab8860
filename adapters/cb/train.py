"""Training with CatBoost, with the ordinal objective, its metric and its callback in place; also interrupted ones."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from catboost import CatBoost, CatBoostError, Pool

from ordinal_objectives.adapters import arguments
from ordinal_objectives.adapters.cb import booster as cb_booster
from ordinal_objectives.adapters.cb.objective import OrdinalObjective
from ordinal_objectives.adapters.cb.training import CatBoostTraining, RoundMetric
from ordinal_objectives.adapters.run import TrainingRun
from ordinal_objectives.adapters.training import Plan
from ordinal_objectives.aliases import ArrayLike, Params, Table
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils import files
from ordinal_objectives.utils.extras import round_bar
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import collected, refuse_masked

# Parameters that a training may be resumed without, or with others.
_OF_THE_RUN = {
    *("iterations", "verbose", "logging_level", "silent", "verbose_eval", "thread_count", "used_ram_limit"),
    *("allow_writing_files", "save_snapshot", "snapshot_file", "snapshot_interval", "train_dir"),
    *cb_booster.SAME["iterations"],
}


@documented
def train(
    pool: Pool | tuple[Table, ArrayLike],
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
        (model_shrink_rate, langevin, posterior_sampling) are refused. ``allow_writing_files`` and ``verbose`` are False
        unless given. With ``save_snapshot`` a training that was interrupted is resumed: the thresholds are in a file
        beside ``snapshot_file``, of its name and ``.thresholds``.
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
    pool: Pool | tuple[Table, ArrayLike],
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
    arguments.check_asked(params, n_rounds, 1)
    params = cb_booster.checked_params(params)
    arguments.listed(
        "callbacks", callbacks, lambda one: hasattr(one, "after_iteration"), "objects with after_iteration"
    )
    pool = _as_pool(pool, "pool")
    sets = eval_set if isinstance(eval_set, list) else [] if eval_set is None else [eval_set]
    pools = [_as_pool(one, "eval_set") for one in sets]
    spec, record = asked
    options |= {"eval_set": pools or None}
    snapshot = _Snapshot(params, spec, record, pool, pools) if params.get("save_snapshot") else None
    if snapshot is not None and init_model is not None:
        raise ValueError("params['save_snapshot'] and init_model cannot go together: a snapshot has the trees of both")
    resumed = None if snapshot is None else snapshot.record(pool, options, n_rounds)
    record = resumed or record
    # A copy, which does not know the rows of its training: CatBoost would go on from their baseline.
    previous = None if init_model is None else cb_booster.as_model(init_model).copy()
    n_threads = params.get("thread_count")
    plan = Plan(driven=True, **(carried or {}))
    objective = OrdinalObjective.of(spec, record, pool, previous, n_threads=n_threads, plan=plan, metrics=metrics)
    training, run = objective.training, objective.training.run
    if resumed is not None:
        training.resume(resumed)
    model = CatBoost(params | objective.params)
    with round_bar(progress, n_rounds, what) as show:
        hooks: list[Any] = [objective.callback]
        hooks += [] if snapshot is None else [_AfterRound(lambda n_rounds: snapshot.write(run))]
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


class _Snapshot:
    """CatBoost's snapshot of a training, which it writes between rounds when it likes, and the thresholds beside it.

    Parameters
    ----------
    params : dict
        CatBoost's parameters, ``save_snapshot`` among them.
    spec : OrdinalSpec
    start : ThresholdRecord or None
        Thresholds that are given.
    pool : Pool
        The training rows.
    sets : list of Pool
        The evaluated ones, in their order.
    """

    def __init__(
        self, params: Params, spec: OrdinalSpec, start: ThresholdRecord | None, pool: Pool, sets: list[Pool]
    ) -> None:
        folder, file = params.get("train_dir") or "catboost_info", params.get("snapshot_file")
        self._params = {name: value for name, value in params.items() if name not in cb_booster.SAME["iterations"]}
        self._path = Path(folder, file or "experiment.cbsnapshot")
        self._thresholds = Path(f"{self._path}.thresholds")
        self._spec = spec
        loss, steps = spec.loss, spec.common_parameters
        # CatBoost compares features and most parameters, and neither labels nor what is only known here.
        of_trees = {name: value for name, value in params.items() if name not in _OF_THE_RUN}
        self._training: Params = {
            "parameters": repr(sorted(of_trees.items())),
            "loss, link or threshold steps": repr((loss.identity, loss.link.identity, steps)),
            "given thresholds": [repr(spec.thresholds), None if start is None else start.to_json()],
            "labels, weights or baseline": _checksum(pool),
            "evaluation sets": [_checksum(one) for one in sets],
        }

    def record(self, pool: Pool, options: Params, n_rounds: int) -> ThresholdRecord | None:
        """Return the record of the training that is resumed, up to its snapshot; None where there is no snapshot.

        CatBoost tells how many trees a snapshot has by making a model of it, where it has all rounds that are asked
        for.

        Raises
        ------
        ValueError
            If the snapshot is of another training, or has more than ``n_rounds`` rounds.
        """
        if not self._path.exists():
            return None
        if not self._thresholds.exists():
            raise ValueError(f"snapshot_file={self._path} has no thresholds beside it: {self._thresholds} is not there")
        with files.as_damaged_file(self._thresholds):
            stored, _, text = self._thresholds.read_text(encoding="utf-8").partition("\n")
            before, record = json.loads(stored), ThresholdRecord.from_json(text)
            others = [name for name, value in self._training.items() if before.get(name) != value]
        if others:
            raise ValueError(f"snapshot_file={self._path} is of a training with other {', and other '.join(others)}")
        objective = OrdinalObjective.of(self._spec, None, pool, None)
        with TemporaryDirectory() as folder:
            file = shutil.copy(self._path, folder)
            of_copy = {"iterations": 1, "train_dir": folder, "snapshot_file": file}
            model = CatBoost(self._params | objective.params | of_copy)
            try:
                model.fit(pool, **options | {"use_best_model": False})
            except CatBoostError as error:
                reason = str(error).replace(str(file), str(self._path))
                raise ValueError(f"CatBoost does not resume snapshot_file={self._path}: {reason}") from error
        n_trees = model.tree_count_ - objective.training.run.record().n_iterations  # a snapshot may have no tree yet
        if n_trees > n_rounds:
            raise ValueError(f"iterations must be at least {n_trees}, those of snapshot_file; got {n_rounds}")
        return record.kept(n_trees)

    def write(self, run: TrainingRun) -> None:
        """Write the thresholds of a run, before CatBoost writes its snapshot of the round."""
        newer = Path(f"{self._thresholds}.new")
        newer.write_text(f"{json.dumps(self._training)}\n{run.record().to_json()}", encoding="utf-8")
        os.replace(newer, self._thresholds)


def _checksum(pool: Pool) -> list[int]:
    """Return the number of rows of a pool, and a checksum of their labels, weights and start scores."""
    texts = [repr(np.asarray(of).tolist()) for of in (pool.get_label(), pool.get_weight(), pool.get_baseline())]
    return [pool.num_row(), zlib.crc32("\n".join(texts).encode())]
