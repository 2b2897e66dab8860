"""A saved model replays its training: at every round, the recorded loss is that of (score, thresholds)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from pairs import each_pair

pytestmark = pytest.mark.slow


class XGBoost:
    """Trainings inside one library, the same for both."""

    name, adapter, file = "xgboost", oxgb, "model.json"
    params: ClassVar = {"base_score": 0.0, "disable_default_eval_metric": 1, "max_depth": 3, "eta": 0.3}
    drawn: ClassVar = {"max_depth": 3, "eta": 0.3, "subsample": 0.8, "lambda": 0.5}
    data = staticmethod(lambda X, y, w=None, train=None: xgboost.DMatrix(X, y, weight=w))

    @classmethod
    def bare(cls, objective, data, rounds=25, *, callbacks=(), model=None, valid=None, seen=None, **params):
        """Train by the library's own train, with the callback among ``callbacks`` or not."""
        params = {name: value for name, value in (cls.params | params).items() if name != "base_score" or model is None}
        watched = {} if valid is None else {"custom_metric": objective.metric, "evals": [(valid, "valid")]}
        return xgboost.train(
            params, data, rounds, obj=objective, callbacks=list(callbacks), xgb_model=model, evals_result=seen,
            verbose_eval=False, **watched,
        )  # fmt: skip

    @staticmethod
    def score(booster, X, t):
        return booster.predict(xgboost.DMatrix(X), output_margin=True, iteration_range=(0, t)).astype(float)

    @staticmethod
    def save(booster, path):
        booster.save_model(path)


class LightGBM:
    name, adapter, file = "lightgbm", olgbm, "model.txt"
    params: ClassVar = {"num_leaves": 8, "learning_rate": 0.3, "verbosity": -1, "min_data_in_leaf": 5}
    drawn: ClassVar = {
        "num_leaves": 8, "learning_rate": 0.3, "verbosity": -1, "bagging_fraction": 0.8, "bagging_freq": 1,
    }  # fmt: skip
    data = staticmethod(
        lambda X, y, w=None, train=None: lightgbm.Dataset(X, y, weight=w, reference=train, free_raw_data=False)
    )

    @classmethod
    def bare(cls, objective, data, rounds=25, *, callbacks=(), model=None, valid=None, seen=None, **params):
        params = cls.params | params | {"objective": objective, "metric": "None"}
        watched = {} if valid is None else {"feval": objective.metric, "valid_sets": [valid], "valid_names": ["valid"]}
        callbacks = [*callbacks, *([] if seen is None else [lightgbm.record_evaluation(seen)])]
        return lightgbm.train(params, data, rounds, callbacks=callbacks, init_model=model, **watched)

    @staticmethod
    def score(booster, X, t):
        return booster.predict(X, raw_score=True, num_iteration=t)

    save = staticmethod(olgbm.save_model)


HOSTS = pytest.mark.parametrize("host", [XGBoost, LightGBM])
# LightGBM needs the callback.
WITH_CALLBACK = [(XGBoost, True), (XGBoost, False), (LightGBM, True)]


@pytest.fixture(scope="module")
def replay():
    """Return replay(model, X, y, w, library) -> rounds compared, in a process that never saw a training."""
    worker = subprocess.Popen(
        [sys.executable, "-W", "error", str(Path(__file__).with_name("replay_worker.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent,
    )

    def run(model: Path, X, y, w, library: str) -> int:
        data = model.with_suffix(".npz")
        np.savez(data, X=X, y=y, w=w)
        worker.stdin.write(f"{json.dumps([str(model), str(data), library])}\n")
        worker.stdin.flush()
        answer = json.loads(worker.stdout.readline())
        assert "error" not in answer, answer
        return answer["compared"]

    yield run
    worker.stdin.close()
    assert worker.wait(timeout=60) == 0
    worker.stdout.close()


@pytest.fixture
def rows(ordinal_data):
    X, y = ordinal_data(600)
    return X, y, np.random.default_rng(1).uniform(0.5, 2.0, len(y)).astype(np.float32)


CASES = [
    ("all_threshold", "majorized", "newton"),
    ("all_threshold", "exact", "newton"),
    ("all_threshold", "majorized", "fixed"),
    ("cumulative_link", "majorized", "newton"),
    ("immediate_threshold", "exact", "newton"),
]


@pytest.mark.parametrize(
    ("host", "loss", "hessian", "update", "with_callback"),
    [
        *((host, *case, by) for case in CASES for host, by in WITH_CALLBACK),
        *((host, "all_threshold", "majorized", "schur", True) for host in (XGBoost, LightGBM)),
    ],
)
def test_the_bare_objective(rows, replay, tmp_path, host, loss, hessian, update, with_callback):
    X, y, w = rows
    objective = host.adapter.OrdinalObjective(5, loss=loss, hessian=hessian, threshold_update=update)
    data = host.data(X, y, w)
    booster = host.bare(objective, data, callbacks=[objective.callback] if with_callback else [])
    if not with_callback:
        objective.attach(booster, data)
    host.save(booster, tmp_path / host.file)
    assert replay(tmp_path / host.file, X, y, w, host.name) == 26


@each_pair(
    {
        "host": [XGBoost, LightGBM],
        "update": ["fixed", "newton", "schur", "joint"],
        "loss, link, hessian": [
            ("all_threshold", "logit", "majorized"),
            ("all_threshold", "logit", "exact"),
            ("all_threshold", "probit", "majorized"),
            ("cumulative_link", "logit", "exact"),
            ("cumulative_link", "cloglog", "exact"),
            ("immediate_threshold", "logit", "majorized"),
            ("immediate_threshold", "cauchit", "exact"),
        ],
    }
)
def test_train(rows, replay, tmp_path, host, loss, link, hessian, update):
    X, y, w = rows
    options = {"loss": loss, "link": link, "hessian": hessian, "threshold_update": update}
    booster = host.adapter.train(host.drawn, host.data(X, y, w), 25, n_classes=5, **options)
    host.save(booster, tmp_path / host.file)
    assert replay(tmp_path / host.file, X, y, w, host.name) == 26


def test_xgboost_without_last_step(rows, replay, tmp_path):
    X, y, w = rows
    dtrain = xgboost.DMatrix(X, y, weight=w)
    objective = oxgb.OrdinalObjective(5)
    booster = XGBoost.bare(objective, dtrain)
    objective.attach(booster)
    booster.save_model(tmp_path / "model.json")
    assert replay(tmp_path / "model.json", X, y, w, "xgboost") == 25


@pytest.mark.parametrize("save_best", [True, False])
def test_xgboost_early_stopping(rows, replay, ordinal_data, tmp_path, save_best):
    X, y, w = rows
    Xv, yv = ordinal_data(300, seed=7)
    dtrain, dvalid = xgboost.DMatrix(X, y, weight=w), xgboost.DMatrix(Xv, yv)
    objective = oxgb.OrdinalObjective(5, hessian="exact")
    stop = xgboost.callback.EarlyStopping(rounds=5, save_best=save_best)
    booster = XGBoost.bare(objective, dtrain, 200, callbacks=[stop, objective.callback], valid=dvalid, eta=1.0)
    best = booster.best_iteration + 1
    assert best < 200
    booster.save_model(tmp_path / "model.json")
    rounds = replay(tmp_path / "model.json", X, y, w, "xgboost")
    assert rounds == booster.num_boosted_rounds() + 1
    assert (booster.num_boosted_rounds() == best) == save_best
    record = oxgb.threshold_record(booster)
    expected = record.ordinal_loss().predict_proba(XGBoost.score(booster, Xv, best), record.at(best))
    np.testing.assert_allclose(oxgb.predict_proba(booster, dvalid), expected, rtol=1e-12)


def test_lightgbm_early_stopping_and_truncation(rows, replay, ordinal_data, tmp_path):
    X, y, w = rows
    Xv, yv = ordinal_data(300, seed=7)
    train = LightGBM.data(X, y, w)
    objective = olgbm.OrdinalObjective(5, hessian="exact")
    callbacks = [lightgbm.early_stopping(5, verbose=False), objective.callback]
    valid = LightGBM.data(Xv, yv, train=train)
    booster = LightGBM.bare(objective, train, 200, callbacks=callbacks, valid=valid, learning_rate=1.0)
    best = booster.best_iteration
    assert 0 < best < 200
    olgbm.save_model(booster, tmp_path / "model.txt")
    assert replay(tmp_path / "model.txt", X, y, w, "lightgbm") == best + 1
    loaded = olgbm.load_model(tmp_path / "model.txt")
    np.testing.assert_allclose(olgbm.predict_proba(loaded, Xv), olgbm.predict_proba(booster, Xv), rtol=1e-12)


@pytest.mark.parametrize(("host", "with_callback"), WITH_CALLBACK)
@pytest.mark.parametrize("update", ["newton", "fixed"])
def test_continuation_is_an_uninterrupted_run(rows, replay, tmp_path, host, update, with_callback):
    X, y, w = rows
    dtrain = xgboost.DMatrix(X, y, weight=w)

    def train(n_rounds, model=None, **options):
        objective = host.adapter.OrdinalObjective(5, threshold_update=update, **options)
        callbacks = [objective.callback] if with_callback else []
        data = dtrain if host is XGBoost else host.data(X, y, w)
        booster = host.bare(objective, data, n_rounds, callbacks=callbacks, model=model)
        if not with_callback:
            objective.attach(booster, dtrain)
        return booster

    whole, first = train(20), train(12)
    of_model = host is XGBoost and with_callback  # there the booster brings its record along
    second = train(8, first, **({} if of_model else {"thresholds": host.adapter.threshold_record(first)}))
    records = [host.adapter.threshold_record(booster) for booster in (whole, second)]
    rtol = 0.0 if host is XGBoost else 1e-9
    np.testing.assert_allclose(*[record.thresholds for record in records], rtol=rtol)
    np.testing.assert_allclose(*[record.training_loss for record in records], rtol=rtol)
    host.save(second, tmp_path / host.file)
    assert replay(tmp_path / host.file, X, y, w, host.name) == 21


@HOSTS
@pytest.mark.parametrize("update", ["newton", "fixed"])
@pytest.mark.parametrize("watched", ["others", "training"])
def test_metrics_are_those_of_their_own_round(rows, ordinal_data, host, update, watched):
    X, y, w = rows
    Xv, yv = ordinal_data(300, seed=7)
    objective, seen = host.adapter.OrdinalObjective(5, threshold_update=update), {}
    data = host.data(X, y, w)
    valid = data if watched == "training" else host.data(Xv, yv, train=data)
    booster = host.bare(objective, data, 10, callbacks=[objective.callback], valid=valid, seen=seen)
    record = host.adapter.threshold_record(booster)
    losses = next(iter(seen.values()))["all_threshold"]
    if watched == "training":
        np.testing.assert_allclose(losses, record.training_loss[1:], rtol=1e-6)
        return
    for t in range(1, 11):
        value = record.ordinal_loss().value(host.score(booster, Xv, t), yv, record.at(t)).mean()
        assert losses[t - 1] == pytest.approx(value, rel=1e-6)
