"""Trainings that were interrupted: the thresholds of every round, in a file beside CatBoost's snapshot."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from catboost import CatBoost, CatBoostError, Pool

from ordinal_objectives.adapters.cb.booster import SAME
from ordinal_objectives.adapters.cb.objective import OrdinalObjective
from ordinal_objectives.adapters.run import TrainingRun
from ordinal_objectives.aliases import Params
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver.record import ThresholdRecord


class Snapshot:
    """CatBoost's snapshot of a training, which it writes between rounds when it likes, and the thresholds beside it.

    Parameters
    ----------
    params : dict
        CatBoost's parameters, ``save_snapshot`` among them.
    """

    def __init__(self, params: Params) -> None:
        folder, file = params.get("train_dir") or "catboost_info", params.get("snapshot_file")
        self._params = {name: value for name, value in params.items() if name not in SAME["iterations"]}
        self._path = Path(folder, file or "experiment.cbsnapshot")
        self._thresholds = Path(f"{self._path}.thresholds")

    def record(self, spec: OrdinalSpec, pool: Pool, options: Params) -> ThresholdRecord | None:
        """Return the record of the training that is resumed, up to its snapshot; None where there is no snapshot.

        CatBoost tells how many trees a snapshot has by making a model of it, where it has all rounds that are asked
        for; it takes one of the same data and parameters only.
        """
        if not self._path.exists():
            return None
        objective = OrdinalObjective.of(spec, None, pool, None)
        with TemporaryDirectory() as folder:
            file = shutil.copy(self._path, folder)
            of_copy = {"iterations": 1, "train_dir": folder, "snapshot_file": file}
            model = CatBoost(self._params | objective.params | of_copy)
            try:
                model.fit(pool, **options | {"use_best_model": False})
            except CatBoostError as error:
                raise ValueError(f"CatBoost does not resume snapshot_file={self._path}: {error}") from error
        n_trees = model.tree_count_ - objective.training.run.record().n_iterations  # a snapshot may have no tree yet
        if not self._thresholds.exists():
            raise ValueError(f"snapshot_file={self._path} has no thresholds beside it: {self._thresholds} is not there")
        return ThresholdRecord.from_json(self._thresholds.read_text(encoding="utf-8")).kept(n_trees)

    def write(self, run: TrainingRun) -> None:
        """Write the thresholds of a run, before CatBoost writes its snapshot of the round."""
        newer = Path(f"{self._thresholds}.new")
        newer.write_text(run.record().to_json(), encoding="utf-8")
        os.replace(newer, self._thresholds)
