"""Workers killed at random moments of a training: what is raised, how soon, and whether the next training is right.

    python benchmarks/claims/speed/killed_workers.py [--engines Ray Spark ...] [--times 10]

in the environment of `make test-clusters`, with PYTHONPATH=benchmarks.
Each engine runs on this machine with two workers, processes of one thread. A moment is drawn from the time that an
undisturbed training takes, connecting included; Ray's and Spark's processes exist from when they have read what to do.
Resumes where it was stopped.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import xgboost

import ordinal_objectives
from lib import report
from ordinal_objectives.adapters import xgb as oxgb

Fit = Callable[[int, "Present"], np.ndarray]

N_WORKERS, N_ROUNDS, FEW_ROUNDS, PATIENCE = 2, 600, 5, 90
XGBOOST = {"max_depth": 4, "learning_rate": 0.3, "tree_method": "hist", "min_child_weight": 0.1}
CLASSIFIERS: dict[str, dict[str, Any]] = {
    "XGBOrdinalClassifier": {"proportional": True, "subsample": 1.0, **XGBOOST},
    "LGBMOrdinalClassifier": {
        "proportional": True,
        "num_leaves": 7,
        "subsample_freq": 0,
        "min_child_samples": 1,
        "min_child_weight": 5.0,
    },
}
RIGHT, WRONG, UNNAMED = "the right model", "another model", ", unnamed"
NOTES = (
    "Two workers on one machine, 600 rounds. A named error speaks of a worker, or a task of Spark's. Where Dask has "
    "another worker before the rows are in their places, the training goes on, and the model must be one machine's. "
    "Where client.restart() of Dask has not brought the workers back in half a minute, the next training is on a new "
    "cluster."
)
CLUSTER = {"n_workers": N_WORKERS, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
SPARK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}


class Present(xgboost.callback.TrainingCallback):
    """Tells which processes train; Spark unpickles it in each."""

    def __init__(self, folder: Path):
        super().__init__()
        self.folder = folder

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.tell()

    def tell(self) -> None:
        (self.folder / str(os.getpid())).touch()


def data(n: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    """Return features of few values, so that bins are those of one machine, and class codes."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, size=(n, 4)) / 4 - 1.5
    return X, np.digitize(2 * X[:, 0] + X[:, 1] + rng.logistic(size=n), [-3.0, -1.0, 1.0, 3.0])


def xgboost_alone(n_rounds: int) -> np.ndarray:
    booster = oxgb.train({**XGBOOST, "nthread": 1}, xgboost.DMatrix(*data()), n_rounds)
    return np.asarray(oxgb.threshold_record(booster).thresholds[-1])


def classifier_alone(name: str, n_rounds: int) -> np.ndarray:
    model = getattr(ordinal_objectives, name)(n_estimators=n_rounds, n_jobs=1, **CLASSIFIERS[name])
    return np.asarray(model.fit(*data()).thresholds_)


@contextmanager
def dask_cluster(name: str) -> Iterator[tuple[Fit, Callable[[], None]]]:
    """Start Dask; yield what fits a classifier of the package there, and what restarts the workers."""
    import dask.array as da
    from distributed import Client, LocalCluster

    def fit(n_rounds: int, present: Present) -> np.ndarray:
        for process in client.run(os.getpid).values():
            (present.folder / str(process)).touch()
        X, y = (da.from_array(array, chunks=(750, *array.shape[1:])) for array in data())
        model = getattr(ordinal_objectives, f"Dask{name}")(n_estimators=n_rounds, n_jobs=1, **CLASSIFIERS[name])
        return np.asarray(model.fit(X, y).thresholds_)

    def restart() -> None:
        client.wait_for_workers(N_WORKERS, timeout=30)  # Dask may lose a worker that it starts and restarts at once
        client.restart(timeout=30)
        client.wait_for_workers(N_WORKERS, timeout=30)

    # A cluster that loses a worker while it closes raises a KeyError of its own.
    with suppress(KeyError), LocalCluster(**CLUSTER, silence_logs=50) as cluster, Client(cluster) as client:
        yield fit, restart


@contextmanager
def ray_cluster() -> Iterator[tuple[Fit, Callable[[], None]]]:
    """Start Ray; yield what trains there. Ray starts workers for each training."""
    import ray
    import ray.train
    from ray.train.xgboost import XGBoostTrainer

    def train_here(given: dict[str, Any]) -> None:
        Present(given["folder"]).tell()
        rank = ray.train.get_context().get_world_rank()
        rows = slice(*[0, 600, 1500][rank : rank + 2])
        X, y = data()
        booster = oxgb.train({**XGBOOST, "nthread": 1}, xgboost.DMatrix(X[rows], y[rows]), given["rounds"])
        if rank == 0:  # reports would take longer than rounds
            np.save(given["file"], oxgb.threshold_record(booster).thresholds[-1])

    def fit(n_rounds: int, present: Present) -> np.ndarray:
        file = present.folder.parent / f"{present.folder.name}.npy"
        XGBoostTrainer(
            train_here,
            train_loop_config={"rounds": n_rounds, "folder": present.folder, "file": file},
            scaling_config=ray.train.ScalingConfig(num_workers=N_WORKERS),
            run_config=ray.train.RunConfig(storage_path=str(present.folder.parent / "runs")),
        ).fit()
        return np.asarray(np.load(file))

    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, object_store_memory=200_000_000)
    try:
        yield fit, lambda: None
    finally:
        ray.shutdown()


@contextmanager
def spark_cluster() -> Iterator[tuple[Fit, Callable[[], None]]]:
    """Start Spark; yield what trains there. Spark starts a process in the place of one that is lost."""
    import pandas as pd
    from pyspark.sql import SparkSession

    from ordinal_objectives.adapters.xgb import spark as oxgb_spark

    session = SparkSession.builder.master(f"local[{N_WORKERS}]").config(map=SPARK).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    X, y = data()
    rows = session.createDataFrame(pd.DataFrame(X, columns=list("abcd")).assign(label=y))

    def fit(n_rounds: int, present: Present) -> np.ndarray:
        options: dict[str, Any] = {"features": list("abcd"), "n_workers": N_WORKERS, "callbacks": [present]}
        return np.asarray(oxgb.threshold_record(oxgb_spark.train(rows, XGBOOST, n_rounds, **options)).thresholds[-1])

    try:
        yield fit, lambda: None
    finally:
        session.stop()


# What starts each, what the same model is on one machine, and what an error must speak of.
ENGINES: dict[str, tuple[Callable[[], AbstractContextManager[Any]], Callable[[int], np.ndarray], str]] = {
    **{
        f"Dask, {library}": (partial(dask_cluster, name), partial(classifier_alone, name), "worker")
        for library, name in zip(("XGBoost", "LightGBM"), CLASSIFIERS, strict=True)
    },
    "Ray": (ray_cluster, xgboost_alone, "worker|actor"),
    "Spark": (spark_cluster, xgboost_alone, "barrier task|crashed"),
}


def kill_one(folder: Path, moment: float, chosen: float, at: list[float]) -> None:
    """Kill a process of those that have told that they train, so many seconds after the last has."""
    while len(processes := sorted(folder.iterdir())) < N_WORKERS:
        time.sleep(0.01)
    time.sleep(moment)
    at.append(time.monotonic())
    with suppress(ProcessLookupError):
        os.kill(int(processes[int(chosen * N_WORKERS)].name), signal.SIGKILL)


def give_up(number: int, frame: Any) -> None:
    raise TimeoutError(f"nothing was raised within {PATIENCE} s")


def killed(fit: Fit, rng: np.random.Generator, lasts: float, named: str, right: np.ndarray) -> dict[str, Any] | None:
    """Return what a training ends with whose worker is killed; None if the kill came too late."""
    folder, at = Path(tempfile.mkdtemp()), list[float]()
    moment = rng.uniform(0, lasts)
    Thread(target=kill_one, args=(folder, moment, rng.uniform(), at), daemon=True).start()
    signal.alarm(PATIENCE)
    try:
        found = fit(N_ROUNDS, Present(folder))
        ended = RIGHT if np.allclose(found, right, rtol=0, atol=1e-6) else WRONG
    except Exception as error:  # whatever a user would see
        ended = type(error).__name__ + ("" if re.search(named, str(error)) else UNNAMED)
        print(
            f"after {moment:.2f} of {lasts:.2f} s: {ended}: {str(error)[:300]} ... {str(error)[-300:]}", file=sys.stderr
        )
    signal.alarm(0)
    until = time.monotonic()
    if not at:
        while not at:
            time.sleep(0.1)  # it must not come into the next training
        return None
    return {"moment_s": moment, "seconds": until - at[0], "ended": ended}


def measure(engine: str, times: int, runs: report.RunsFile) -> None:
    """Kill a worker until so many trainings have ended by it, those of the file among them, and store each time."""
    start, alone, named = ENGINES[engine]
    done = sum(row["engine"] == engine and row["ended"] != RIGHT for row in runs.rows)
    if done >= times:
        return
    right, few = alone(N_ROUNDS), alone(FEW_ROUNDS)
    rng = np.random.default_rng(len(runs.rows))
    row: dict[str, Any] | None = None
    while done < times:
        with start() as (fit, restart):
            for n_rounds in (FEW_ROUNDS, N_ROUNDS):  # the first one loads libraries
                folder, begun = Path(tempfile.mkdtemp()), time.monotonic()
                fit(n_rounds, Present(folder))
                lasts = time.monotonic() - begun
            while done < times:
                if row is None:
                    row = killed(fit, rng, lasts, named, right)
                    try:
                        restart()
                    except TimeoutError:  # the next training is on a new cluster
                        row = row and row | {"restarted": False}
                        break
                    if row is None:
                        continue
                begun = time.monotonic()
                again = np.allclose(fit(FEW_ROUNDS, Present(Path(tempfile.mkdtemp()))), few, rtol=0, atol=1e-6)
                next_s = time.monotonic() - begun
                runs.add([{"engine": engine, "restarted": True, **row, "next_right": again, "next_s": next_s}])
                done += row["ended"] != RIGHT
                row = None


def summary(runs: report.RunsFile) -> list[dict[str, Any]]:
    """Return a row for each engine."""
    found = []
    for engine in ENGINES:
        rows = [row for row in runs.rows if row["engine"] == engine]
        errors = [float(row["seconds"]) for row in rows if row["ended"] not in (RIGHT, WRONG)]
        named = sum(row["ended"] not in (RIGHT, WRONG) and UNNAMED not in row["ended"] for row in rows)
        if rows:
            found.append(
                {
                    "engine": engine,
                    "kills": len(rows),
                    "named errors": named,
                    "right models": sum(row["ended"] == RIGHT for row in rows),
                    "s to the error": statistics.median(errors) if errors else math.nan,
                    "at most s": max(errors, default=math.nan),
                    "restarted by its client": sum(row["restarted"] == "True" for row in rows),
                    "next training right": sum(row["next_right"] == "True" for row in rows),
                }
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--times", type=int, default=10)
    args = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.2")
    signal.signal(signal.SIGALRM, give_up)
    columns = ("engine", "moment_s", "seconds", "ended", "restarted", "next_right", "next_s")
    runs = report.RunsFile(report.RESULTS / "killed_workers_runs.csv", columns)
    for engine in args.engines:
        measure(engine, args.times, runs)
    report.write("killed_workers", "A worker killed at a random moment", summary(runs), NOTES, runs.path)


if __name__ == "__main__":
    main()
