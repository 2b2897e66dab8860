"""A saved model replays its training: at every round, the recorded loss is that of (score, thresholds)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives.adapters import lgbm as olgbm
from ordinal_objectives.adapters import xgb as oxgb

pytestmark = pytest.mark.slow

XGB_PARAMS = {"base_score": 0.0, "disable_default_eval_metric": 1, "max_depth": 3, "eta": 0.3}
LGB_PARAMS = {"num_leaves": 8, "learning_rate": 0.3, "verbosity": -1, "metric": "None", "min_data_in_leaf": 5}


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


CASES = pytest.mark.parametrize(
    ("loss", "hessian", "update"),
    [
        ("all_threshold", "majorized", "newton"),
        ("all_threshold", "exact", "newton"),
        ("all_threshold", "majorized", "fixed"),
        ("cumulative_link", "majorized", "newton"),
        ("immediate_threshold", "exact", "newton"),
    ],
)


@CASES
@pytest.mark.parametrize("with_callback", [True, False])
def test_xgboost(rows, replay, tmp_path, loss, hessian, update, with_callback):
    X, y, w = rows
    dtrain = xgboost.DMatrix(X, y, weight=w)
    objective = oxgb.OrdinalObjective(5, loss=loss, hessian=hessian, threshold_update=update)
    callbacks = [objective.callback] if with_callback else []
    booster = xgboost.train(XGB_PARAMS, dtrain, 25, obj=objective, callbacks=callbacks)
    if not with_callback:
        objective.attach(booster, dtrain)
    booster.save_model(tmp_path / "model.json")
    assert replay(tmp_path / "model.json", X, y, w, "xgboost") == 26


@CASES
@pytest.mark.parametrize("with_callback", [True, False])
def test_lightgbm(rows, replay, tmp_path, loss, hessian, update, with_callback):
    X, y, w = rows
    objective = olgbm.OrdinalObjective(5, loss=loss, hessian=hessian, threshold_update=update)
    callbacks = [objective.callback] if with_callback else []
    data = lightgbm.Dataset(X, y, weight=w)
    booster = lightgbm.train({**LGB_PARAMS, "objective": objective}, data, 25, callbacks=callbacks)
    if not with_callback:
        objective.attach(booster, X)
    olgbm.save_model(booster, tmp_path / "model.txt")
    assert replay(tmp_path / "model.txt", X, y, w, "lightgbm") == 26


MODES = pytest.mark.parametrize(
    ("loss", "link", "hessian"),
    [
        ("all_threshold", "logit", "majorized"),
        ("all_threshold", "logit", "exact"),
        ("all_threshold", "probit", "majorized"),
        ("cumulative_link", "logit", "exact"),
        ("cumulative_link", "cloglog", "exact"),
        ("immediate_threshold", "logit", "majorized"),
        ("immediate_threshold", "cauchit", "exact"),
    ],
)
UPDATES = pytest.mark.parametrize("update", ["fixed", "newton", "schur", "joint"])


@UPDATES
@MODES
def test_xgboost_train(rows, replay, tmp_path, loss, link, hessian, update):
    X, y, w = rows
    params = {"max_depth": 3, "eta": 0.3, "subsample": 0.8, "lambda": 0.5}
    options = {"loss": loss, "link": link, "hessian": hessian, "threshold_update": update}
    booster = oxgb.train(params, xgboost.DMatrix(X, y, weight=w), 25, n_classes=5, **options)
    booster.save_model(tmp_path / "model.json")
    assert replay(tmp_path / "model.json", X, y, w, "xgboost") == 26


@UPDATES
@MODES
def test_lightgbm_train(rows, replay, tmp_path, loss, link, hessian, update):
    X, y, w = rows
    params = {"num_leaves": 8, "learning_rate": 0.3, "verbosity": -1, "bagging_fraction": 0.8, "bagging_freq": 1}
    options = {"loss": loss, "link": link, "hessian": hessian, "threshold_update": update}
    booster = olgbm.train(params, lightgbm.Dataset(X, y, weight=w), 25, n_classes=5, **options)
    olgbm.save_model(booster, tmp_path / "model.txt")
    assert replay(tmp_path / "model.txt", X, y, w, "lightgbm") == 26


def test_schur_through_the_bare_objective(rows, replay, tmp_path):
    X, y, w = rows
    dtrain = xgboost.DMatrix(X, y, weight=w)
    objective = oxgb.OrdinalObjective(5, threshold_update="schur")
    booster = xgboost.train(XGB_PARAMS, dtrain, 25, obj=objective, callbacks=[objective.callback])
    booster.save_model(tmp_path / "model.json")
    assert replay(tmp_path / "model.json", X, y, w, "xgboost") == 26

    objective = olgbm.OrdinalObjective(5, threshold_update="schur")
    data = lightgbm.Dataset(X, y, weight=w)
    booster = lightgbm.train({**LGB_PARAMS, "objective": objective}, data, 25, callbacks=[objective.callback])
    olgbm.save_model(booster, tmp_path / "model.txt")
    assert replay(tmp_path / "model.txt", X, y, w, "lightgbm") == 26


def test_xgboost_without_last_step(rows, replay, tmp_path):
    X, y, w = rows
    dtrain = xgboost.DMatrix(X, y, weight=w)
    objective = oxgb.OrdinalObjective(5)
    booster = xgboost.train(XGB_PARAMS, dtrain, 25, obj=objective)
    objective.attach(booster)
    booster.save_model(tmp_path / "model.json")
    assert replay(tmp_path / "model.json", X, y, w, "xgboost") == 25


@pytest.mark.parametrize("save_best", [True, False])
def test_xgboost_early_stopping(rows, replay, ordinal_data, tmp_path, save_best):
    X, y, w = rows
    dtrain, dvalid = xgboost.DMatrix(X, y, weight=w), xgboost.DMatrix(*ordinal_data(300, seed=7))
    objective = oxgb.OrdinalObjective(5, hessian="exact")
    stop = xgboost.callback.EarlyStopping(rounds=5, save_best=save_best)
    booster = xgboost.train(
        {**XGB_PARAMS, "eta": 1.0},
        dtrain,
        200,
        obj=objective,
        custom_metric=objective.metric,
        evals=[(dvalid, "valid")],
        callbacks=[stop, objective.callback],
        verbose_eval=False,
    )
    best = booster.best_iteration + 1
    assert best < 200
    booster.save_model(tmp_path / "model.json")
    rounds = replay(tmp_path / "model.json", X, y, w, "xgboost")
    assert rounds == booster.num_boosted_rounds() + 1
    assert (booster.num_boosted_rounds() == best) == save_best
    record = oxgb.threshold_record(booster)
    expected = record.ordinal_loss().predict_proba(
        booster.predict(dvalid, output_margin=True, iteration_range=(0, best)).astype(float), record.at(best)
    )
    np.testing.assert_allclose(oxgb.predict_proba(booster, dvalid), expected, rtol=1e-12)


def test_lightgbm_early_stopping_and_truncation(rows, replay, ordinal_data, tmp_path):
    X, y, w = rows
    Xv, yv = ordinal_data(300, seed=7)
    train = lightgbm.Dataset(X, y, weight=w)
    objective = olgbm.OrdinalObjective(5, hessian="exact")
    booster = lightgbm.train(
        {**LGB_PARAMS, "objective": objective, "learning_rate": 1.0},
        train,
        200,
        valid_sets=[lightgbm.Dataset(Xv, yv, reference=train)],
        feval=objective.metric,
        callbacks=[lightgbm.early_stopping(5, verbose=False), objective.callback],
    )
    best = booster.best_iteration
    assert 0 < best < 200
    olgbm.save_model(booster, tmp_path / "model.txt")
    assert replay(tmp_path / "model.txt", X, y, w, "lightgbm") == best + 1
    loaded = olgbm.load_model(tmp_path / "model.txt")
    np.testing.assert_allclose(olgbm.predict_proba(loaded, Xv), olgbm.predict_proba(booster, Xv), rtol=1e-12)


def test_xgboost_truncation(rows, replay, tmp_path):
    X, y, w = rows
    dtrain = xgboost.DMatrix(X, y, weight=w)
    objective = oxgb.OrdinalObjective(5)
    booster = xgboost.train(XGB_PARAMS, dtrain, 25, obj=objective, callbacks=[objective.callback])
    booster[:10].save_model(tmp_path / "model.ubj")
    assert replay(tmp_path / "model.ubj", X, y, w, "xgboost") == 11
    np.testing.assert_array_equal(
        oxgb.predict_proba(booster[:10], dtrain), oxgb.predict_proba(booster, dtrain, iteration_range=(0, 10))
    )


@pytest.mark.parametrize("update", ["newton", "fixed"])
@pytest.mark.parametrize("with_callback", [True, False])
def test_xgboost_continuation_is_an_uninterrupted_run(rows, replay, tmp_path, update, with_callback):
    X, y, w = rows
    dtrain = xgboost.DMatrix(X, y, weight=w)

    def train(n_rounds, model=None, **options):
        objective = oxgb.OrdinalObjective(5, threshold_update=update, **options)
        callbacks = [objective.callback] if with_callback else []
        params = {key: value for key, value in XGB_PARAMS.items() if key != "base_score" or model is None}
        booster = xgboost.train(params, dtrain, n_rounds, obj=objective, callbacks=callbacks, xgb_model=model)
        if not with_callback:
            objective.attach(booster, dtrain)
        return booster

    whole, first = train(20), train(12)
    options = {} if with_callback else {"thresholds": oxgb.threshold_record(first)}
    second = train(8, first, **options)
    records = [oxgb.threshold_record(booster) for booster in (whole, second)]
    np.testing.assert_array_equal(*[record.thresholds for record in records])
    np.testing.assert_array_equal(*[record.training_loss for record in records])
    second.save_model(tmp_path / "model.json")
    assert replay(tmp_path / "model.json", X, y, w, "xgboost") == 21


@pytest.mark.parametrize("update", ["newton", "fixed"])
@pytest.mark.parametrize("with_callback", [True, False])
def test_lightgbm_continuation_is_an_uninterrupted_run(rows, replay, tmp_path, update, with_callback):
    X, y, w = rows

    def train(n_rounds, model=None, **options):
        objective = olgbm.OrdinalObjective(5, threshold_update=update, **options)
        callbacks = [objective.callback] if with_callback else []
        data = lightgbm.Dataset(X, y, weight=w, free_raw_data=False)
        booster = lightgbm.train(
            {**LGB_PARAMS, "objective": objective}, data, n_rounds, callbacks=callbacks, init_model=model
        )
        if not with_callback:
            objective.attach(booster, X)
        return booster

    whole, first = train(20), train(12)
    second = train(8, first, thresholds=olgbm.threshold_record(first))
    records = [olgbm.threshold_record(booster) for booster in (whole, second)]
    np.testing.assert_allclose(*[record.thresholds for record in records], rtol=1e-9)
    np.testing.assert_allclose(*[record.training_loss for record in records], rtol=1e-9)
    olgbm.save_model(second, tmp_path / "model.txt")
    assert replay(tmp_path / "model.txt", X, y, w, "lightgbm") == 21


@pytest.mark.parametrize("update", ["newton", "fixed"])
def test_metrics_are_those_of_their_own_round(rows, ordinal_data, update):
    X, y, w = rows
    Xv, yv = ordinal_data(300, seed=7)
    objective = oxgb.OrdinalObjective(5, threshold_update=update)
    dtrain, dvalid = xgboost.DMatrix(X, y, weight=w), xgboost.DMatrix(Xv, yv)
    seen: dict = {}
    booster = xgboost.train(
        XGB_PARAMS,
        dtrain,
        10,
        obj=objective,
        custom_metric=objective.metric,
        callbacks=[objective.callback],
        evals=[(dvalid, "valid"), (dtrain, "train")],
        evals_result=seen,
        verbose_eval=False,
    )
    record = oxgb.threshold_record(booster)
    loss = record.ordinal_loss()
    np.testing.assert_allclose(seen["train"]["all_threshold"], record.training_loss[1:], rtol=1e-6)
    for t in range(1, 11):
        score = booster.predict(dvalid, output_margin=True, iteration_range=(0, t)).astype(float)
        assert seen["valid"]["all_threshold"][t - 1] == pytest.approx(
            loss.value(score, yv, record.at(t)).mean(), rel=1e-6
        )

    objective = olgbm.OrdinalObjective(5, threshold_update=update)
    train = lightgbm.Dataset(X, y, weight=w)
    booster = lightgbm.train(
        {**LGB_PARAMS, "objective": objective},
        train,
        10,
        valid_sets=[lightgbm.Dataset(Xv, yv, reference=train)],
        valid_names=["valid"],
        feval=objective.metric,
        callbacks=[lightgbm.record_evaluation(seen), objective.callback],
    )
    record = olgbm.threshold_record(booster)
    for t in range(1, 11):
        score = booster.predict(Xv, raw_score=True, num_iteration=t)
        assert seen["valid"]["all_threshold"][t - 1] == pytest.approx(
            loss.value(score, yv, record.at(t)).mean(), rel=1e-6
        )
