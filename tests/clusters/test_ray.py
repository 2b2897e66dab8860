"""XGBoost on Ray: the thresholds of one machine, on every worker. LightGBM there."""

from __future__ import annotations

import os
import re
import runpy
import signal
import sys
import tempfile
import time
from pathlib import Path

import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

pytest.importorskip("ray")

import ray
import ray.train
from ray import cloudpickle
from ray.train.xgboost import RayTrainReportCallback, XGBoostTrainer

# What Ray says to itself.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")]

PARAMS = {"max_depth": 4, "eta": 0.3, "nthread": 1, "tree_method": "hist", "min_child_weight": 0.1}
UPDATES = {
    "newton": {"threshold_update": "newton"},
    "joint": {"threshold_update": "joint"},
    "shifts": {"proportional": False},
}
# The rows are sorted by class, so the first worker lacks the highest ones.
PARTS = {"uneven": [0, 400, 1500], "empty": [0, 0, 1500]}
PAGE = Path(__file__).resolve().parents[2] / "docs" / "how_to" / "ray.md"


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory):
    """Ray on this machine. Its workers look for modules where it was started: not in the source folder."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import the tests
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("ray"))
        patch.setenv("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.2")
        ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, object_store_memory=200_000_000)
        yield
        ray.shutdown()
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def data(n=1500):
    """Return features of few values, some missing, class codes from low to high blocks, and weights."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 25, size=(n, 4)) / 25
    y = np.digitize(3 * X[:, 0] + X[:, 1] + rng.logistic(size=n), [0.5, 1.5, 2.5, 4.0])
    X[rng.random(X.shape) < 0.05] = np.nan
    order = np.argsort(y, kind="stable")
    return X[order], y[order], rng.uniform(0.5, 2.0, size=n)


def matrix(rows=slice(None), types=("float64", "int64", "float64")):
    X, y, w = (values[rows].astype(dtype) for values, dtype in zip(data(), types, strict=True))
    return xgboost.DMatrix(X, y, weight=w)


def rank():
    return ray.train.get_context().get_world_rank()


def own_rows(bounds):
    return slice(*bounds[rank() : rank() + 2])


def fit(function, folder, config=None, **failures):
    return XGBoostTrainer(
        function,
        train_loop_config=config or {"folder": folder},
        scaling_config=ray.train.ScalingConfig(num_workers=2),
        run_config=ray.train.RunConfig(
            storage_path=str(folder / "runs"), failure_config=ray.train.FailureConfig(**failures)
        ),
    ).fit()


def assert_same(booster, expected):
    record, alone = oxgb.threshold_record(booster), oxgb.threshold_record(expected)
    np.testing.assert_allclose(record.thresholds, alone.thresholds, rtol=0, atol=1e-6)
    np.testing.assert_allclose(record.training_loss, alone.training_loss, rtol=1e-6)
    np.testing.assert_allclose(oxgb.predict_proba(booster, matrix()), oxgb.predict_proba(expected, matrix()), atol=1e-5)


def train_all(config):
    """Train each update on each division of the rows, of other types; then meet a label that one worker alone has."""
    types = [("float64", "int64", "float64"), ("float32", "int8", "float32")][rank()]
    for update, options in UPDATES.items():
        for parts, bounds in PARTS.items():
            booster = oxgb.train(PARAMS, matrix(own_rows(bounds), types), 12, **options)
            booster.save_model(config["folder"] / f"{update}-{parts}-{rank()}.ubj")
    wrong = matrix(own_rows(PARTS["uneven"]))
    wrong.set_label(wrong.get_label() + 7 * rank())
    with pytest.raises(ValueError, match=r"outside the declared classes 0\.\.4"):
        oxgb.train(PARAMS, wrong, 3, n_classes=5)


def test_thresholds_are_those_of_one_machine_and_the_same_on_all_workers(tmp_path):
    fit(train_all, tmp_path)
    for update, options in UPDATES.items():
        alone = oxgb.train(PARAMS, matrix(), 12, **options)
        for parts in PARTS:
            first, second = (xgboost.Booster(model_file=tmp_path / f"{update}-{parts}-{i}.ubj") for i in (0, 1))
            assert first.attr(oxgb.ATTRIBUTE) == second.attr(oxgb.ATTRIBUTE)
            assert_same(first, alone)


class KillOne(xgboost.callback.TrainingCallback):
    """Kills the process of one worker in the fourth round."""

    def before_iteration(self, model, epoch, evals_log):
        if epoch == 3 and rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return False


def train_once_killed(config):
    """Train with checkpoints. The first attempt ends in a kill, the second goes on from the checkpoint."""
    checkpoint = ray.train.get_checkpoint()
    model = checkpoint and RayTrainReportCallback.get_model(checkpoint)
    callbacks = [RayTrainReportCallback(frequency=1), *([] if model else [KillOne()])]
    rounds = 12 - (model.num_boosted_rounds() if model else 0)
    oxgb.train(PARAMS, matrix(own_rows(PARTS["uneven"])), rounds, n_classes=5, xgb_model=model, callbacks=callbacks)


def test_a_killed_worker_is_an_error_within_a_minute(tmp_path):
    begun = time.monotonic()
    with pytest.raises(ray.train.TrainingFailedError, match=r"(?i)allreduce|connect|died"):
        fit(train_once_killed, tmp_path)
    assert time.monotonic() - begun < 60


def test_another_attempt_goes_on_from_the_checkpoint(tmp_path):
    result = fit(train_once_killed, tmp_path, max_failures=1)
    assert_same(RayTrainReportCallback.get_model(result.checkpoint), oxgb.train(PARAMS, matrix(), 12))


def grow(config):
    """Train LightGBM with a checkpoint each round; where it is asked for, the first attempt ends in a kill."""
    checkpoint, model = ray.train.get_checkpoint(), None
    if checkpoint:
        with checkpoint.as_directory() as folder:
            model = olgbm.load_model(f"{folder}/model.txt")

    def report(env):
        if config["kills"] and model is None and env.iteration == 3 and rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        with tempfile.TemporaryDirectory() as folder:
            olgbm.save_model(env.model, f"{folder}/model.txt")
            saved = ray.train.Checkpoint.from_directory(folder) if rank() == 0 else None
            ray.train.report({"resumed": model is not None}, saved)

    X, y, w = (values[own_rows(PARTS["uneven"])] for values in data())
    params = {"num_leaves": 7, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 5.0, "num_threads": 1, "verbosity": -1}
    rounds = 12 - (model.current_iteration() if model else 0)
    train_set = lightgbm.Dataset(X, y, weight=w)
    params |= olgbm.network_params(ray.util.get_node_ip_address())
    olgbm.train(params, train_set, rounds, n_classes=5, init_model=model, callbacks=[report])


def test_lightgbm_goes_on_from_the_checkpoint_with_its_thresholds(tmp_path):
    found = []
    for kills in (False, True):
        result = fit(grow, tmp_path / str(kills), {"kills": kills}, max_failures=int(kills))
        assert result.metrics["resumed"] == kills
        with result.checkpoint.as_directory() as folder:
            found.append(olgbm.load_model(f"{folder}/model.txt"))
    records = [olgbm.threshold_record(booster) for booster in found]
    assert len(records[0].thresholds) == 13
    np.testing.assert_allclose(*(record.thresholds for record in records), atol=1e-5)
    np.testing.assert_allclose(*(olgbm.predict_proba(booster, data()[0]) for booster in found), atol=1e-5)


def test_the_page_runs(tmp_path):
    """As a script, whose functions Ray sends to the workers."""
    script = tmp_path / "page.py"
    script.write_text("\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)))
    names = runpy.run_path(str(script), run_name="__main__")
    booster, predicted = names["booster"], names["predicted"].to_pandas().astype(float)
    best = booster.best_iteration
    assert best < booster.num_boosted_rounds() - 1 < 199
    data = xgboost.DMatrix(predicted[names["features"]])
    proba = predicted[[f"grade_{i}" for i in range(4)]]
    np.testing.assert_allclose(proba, oxgb.predict_proba(booster, data, (0, best + 1)))
    assert (predicted["found"] == predicted["grade"]).mean() > 0.45
    grown = names["saved"](names["grown"].checkpoint)
    assert grown.current_iteration() == 50
    answers = names["valid"].to_pandas()
    np.testing.assert_array_equal(names["probabilities"], olgbm.predict_proba(grown, answers[names["features"]]))
    assert (names["probabilities"].argmax(axis=1) == answers["grade"]).mean() > 0.45
