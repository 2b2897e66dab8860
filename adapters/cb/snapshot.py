"""Trainings that were interrupted: the thresholds of every round, in a file beside CatBoost's snapshot."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from catboost import CatBoost, CatBoostError, Pool

from ordinal_objectives.adapters.cb.booster import SAME
from ordinal_objectives.adapters.cb.objective import OrdinalObjective
from ordinal_objectives.adapters.run import TrainingRun
from ordinal_objectives.aliases import Params
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver.record import ThresholdRecord

# Parameters that a training may be resumed without, or with others.
_OF_THE_RUN = {
    *("iterations", *SAME["iterations"], "verbose", "logging_level", "silent", "verbose_eval", "thread_count"),
    *("allow_writing_files", "save_snapshot", "snapshot_file", "snapshot_interval", "train_dir", "used_ram_limit"),
}


class Snapshot:
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
        self._params = {name: value for name, value in params.items() if name not in SAME["iterations"]}
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
        stored, _, record = self._thresholds.read_text(encoding="utf-8").partition("\n")
        before = json.loads(stored)
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
        return ThresholdRecord.from_json(record).kept(n_trees)

    def write(self, run: TrainingRun) -> None:
        """Write the thresholds of a run, before CatBoost writes its snapshot of the round."""
        newer = Path(f"{self._thresholds}.new")
        newer.write_text(f"{json.dumps(self._training)}\n{run.record().to_json()}", encoding="utf-8")
        os.replace(newer, self._thresholds)


def _checksum(pool: Pool) -> list[int]:
    """Return the number of rows of a pool, and a checksum of their labels, weights and start scores."""
    texts = [repr(np.asarray(of).tolist()) for of in (pool.get_label(), pool.get_weight(), pool.get_baseline())]
    return [pool.num_row(), zlib.crc32("\n".join(texts).encode())]
