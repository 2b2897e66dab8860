"""Shifts that XGBoost fits itself: what it is given, what is made of its outputs, files, other tools of the host."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xgboost
from sklearn.base import clone

from ordinal_objectives import AllThreshold, XGBOrdinalClassifier
from ordinal_objectives.adapters import xgb as oxgb
from ordinal_objectives.adapters.run import TrainingRun
from ordinal_objectives.adapters.xgb.outputs import CONTRIBUTIONS, OutputUpdate, is_at_least
from ordinal_objectives.leaves.vector import Shifts, contrasts
from ordinal_objectives.losses import get_loss
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver import ThresholdLearner
from shifting import N_CLASSES, data, mean_loss

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "host_shifts.md"
BARE = {"base_score": 0.0, "disable_default_eval_metric": 1, "max_depth": 3, "nthread": 1}


def train(X, y, rounds=10, params=None, previous=None, weight=None, **options):
    options = {"proportional": False, "shift_method": "host"} | options
    dtrain = xgboost.DMatrix(X, y, weight=weight)
    given = {"max_depth": 3, "nthread": 1} | (params or {})
    return oxgb.train(given, dtrain, rounds, xgb_model=previous, verbose_eval=False, **options)


def bare(dtrain, rounds=10, params=None, n_classes=N_CLASSES, **options):
    objective = oxgb.OrdinalObjective(n_classes, proportional=False, **options)
    booster = xgboost.train(BARE | (params or {}), dtrain, rounds, obj=objective, callbacks=[objective.callback])
    return objective, booster


def outputs_of(booster, X, t=0):
    return booster.predict(xgboost.DMatrix(X), output_margin=True, iteration_range=(0, t))


@pytest.mark.parametrize("penalty", ["ridge", "smooth"])
@pytest.mark.parametrize("hidden", [[], [2]], ids=["all", "one inactive"])
def test_the_penalty_of_contrasts_is_that_of_the_shifts(penalty, hidden):
    active = ~np.isin(np.arange(5), hidden)
    C = contrasts(5, 1.5, 4.0, penalty, active)
    n = active.sum()
    z = np.random.default_rng(0).normal(size=4) * (np.arange(4) < n - 1)
    v = C @ z
    assert v[active].sum() == pytest.approx(0.0, abs=1e-12)
    assert not v[~active].any()
    expected = np.sum(v[active] ** 2) if penalty == "ridge" else np.sum(np.diff(v[active]) ** 2)
    assert 1.5 * np.sum(z**2) == pytest.approx(4.0 * expected)
    inner = C.T @ C
    np.testing.assert_allclose(inner, np.diag(np.diag(inner)), atol=1e-12)


@pytest.mark.parametrize("loss", [AllThreshold(), get_loss("immediate_threshold", "probit")], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_and_hessian_are_those_of_the_outputs(loss, weighted):
    rng = np.random.default_rng(1)
    y, outputs = np.arange(40) % N_CLASSES, rng.normal(size=(40, N_CLASSES - 1)).astype(np.float32)
    weight = rng.uniform(0.5, 2.0, 40) if weighted else None
    run = TrainingRun(OrdinalSpec(loss), y, N_CLASSES, weight, update=OutputUpdate(Shifts(2.0), reg_lambda=1.0))
    G, H = run.gradient(outputs, 0)
    record = run.record()

    mixing, offset = record.outputs.mixing, record.outputs.offset(0)

    def losses(moved):
        margins = record.at(0) - (moved @ mixing.T - offset)
        return loss.margin_derivatives(margins, y, "exact").value * (1.0 if weight is None else weight)

    exact = outputs.astype(np.float64)
    for j, step in enumerate(1e-3 * np.eye(N_CLASSES - 1)):
        low, here, high = losses(exact - step), losses(exact), losses(exact + step)
        np.testing.assert_allclose(G[:, j], (high - low) / 2e-3, atol=2e-5)
        np.testing.assert_allclose(H[:, j], (high - 2 * here + low) / 1e-6, atol=2e-4)


def test_taking_the_mean_of_the_shifts_out_changes_no_margin(monkeypatch):
    rng = np.random.default_rng(1)
    y, outputs = np.arange(60) % N_CLASSES, rng.normal(size=(60, N_CLASSES - 1)).astype(np.float32)
    run = TrainingRun(OrdinalSpec(AllThreshold()), y, N_CLASSES, update=OutputUpdate(Shifts(2.0), reg_lambda=1.0))
    run.advance(outputs, 0)
    monkeypatch.setattr(ThresholdLearner, "newton", lambda *_: False)
    moved = outputs + np.array([0.0, 3.0, -1.0, 2.0], np.float32)
    run.advance(moved, 1)
    record = run.record()
    before = record.at(0) + record.outputs.offset(0) - outputs @ record.outputs.mixing.T
    after = record.at(1) + record.outputs.offset(1) - moved @ record.outputs.mixing.T
    expected = before - record.outputs.contrasts @ [3.0, -1.0, 2.0]
    np.testing.assert_allclose(after, expected, atol=1e-5)
    np.testing.assert_allclose(record.outputs.means[1], moved[:, 1:].mean(axis=0), rtol=1e-5)


def test_leaves_are_the_penalised_steps_of_score_and_contrasts():
    """One tree at learning rate 1 from the reference derivatives: w = -G / (H + lambda), v = -C z."""
    X, y = data()
    _, booster = bare(xgboost.DMatrix(X, y), 1, {"eta": 1.0, "lambda": 2.0, "min_child_weight": 0.0}, shift_l2=3.0)
    record = oxgb.threshold_record(booster)
    outputs, leaves = outputs_of(booster, X), booster.predict(xgboost.DMatrix(X), pred_leaf=True).ravel()
    margins = np.tile(record.at(0), (len(y), 1))
    found = AllThreshold().margin_derivatives(margins, y, "exact")
    C = contrasts(N_CLASSES - 1, 2.0, 3.0)
    np.testing.assert_allclose(record.outputs.contrasts, C)
    for leaf in np.unique(leaves):
        G, H = found.gradient[leaves == leaf].sum(axis=0), found.hessian[leaves == leaf].sum(axis=0)
        expected = np.append(-G.sum() / (H.sum() + 2.0), -(G @ C) / (H @ C**2 + 2.0))
        np.testing.assert_allclose(outputs[leaves == leaf], np.tile(expected, (np.sum(leaves == leaf), 1)), rtol=1e-4)


def test_the_hosts_own_train_and_ours_give_the_same_model():
    X, y = data()
    dtrain = xgboost.DMatrix(X, y)
    history: dict = {}
    objective, _ = bare(dtrain)
    again = xgboost.train(
        BARE, dtrain, 10, obj=objective, callbacks=[objective.callback], custom_metric=objective.metric,
        evals=[(dtrain, "train"), (xgboost.DMatrix(*data(200, 3)), "valid")], evals_result=history, verbose_eval=False,
    )  # fmt: skip
    ours = train(X, y)
    np.testing.assert_array_equal(outputs_of(again, X), outputs_of(ours, X))
    record = oxgb.threshold_record(ours)
    np.testing.assert_array_equal(oxgb.threshold_record(again).thresholds, record.thresholds)
    assert record.shifts == Shifts()
    np.testing.assert_allclose(history["train"]["all_threshold"], record.training_loss[1:], rtol=1e-6)
    Xv, yv = data(200, 3)
    margins = np.sort(record.at(10) - record.outputs.scores(outputs_of(ours, Xv), 0, 10), axis=1)
    assert history["valid"]["all_threshold"][-1] == pytest.approx(mean_loss(AllThreshold(), margins, yv), rel=1e-6)
    np.testing.assert_allclose(
        objective.predict_proba(again, dtrain), AllThreshold().margin_proba(record.at(10) - record.outputs.scores(
            outputs_of(ours, X), 0, 10)), atol=1e-12,
    )  # fmt: skip


def test_every_recorded_loss_is_that_of_its_round_and_falls():
    X, y = data()
    weight = np.random.default_rng(2).uniform(0.2, 3.0, len(y))
    record = oxgb.threshold_record(booster := train(X, y, 15, weight=weight))
    for t in range(16):
        scores = record.outputs.scores(outputs_of(booster[:t], X) if t else np.zeros((len(y), N_CLASSES - 1)), 0, t)
        loss = mean_loss(AllThreshold(), record.at(t) - scores, y, weight)
        assert record.training_loss[t] == pytest.approx(loss, rel=1e-6)
        shifts = scores - scores.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(np.average(shifts, axis=0, weights=weight), 0.0, atol=1e-6)
    assert (np.diff(record.training_loss) < 0).all()
    assert record.diagnostics["n_raised"] == 0


@pytest.mark.slow
def test_shifts_find_what_one_score_cannot():
    (X, y), (Xv, yv) = data(2000), data(1000, seed=5)
    losses = {}
    kinds: dict[str, dict] = {
        "host": {},
        "renewal": {"shift_method": "renewal"},
        "one": {"shift_method": "renewal", "proportional": True},
    }
    for name, options in kinds.items():
        booster = train(X, y, 30, **options)
        proba = oxgb.predict_proba(booster, xgboost.DMatrix(Xv))
        losses[name] = -np.log(proba[np.arange(len(yv)), yv]).mean()
    assert losses["host"] < 0.97 * losses["one"]
    assert losses["host"] == pytest.approx(losses["renewal"], rel=0.02)


def test_small_leaves_keep_their_shifts():
    """XGBoost before 3.4 sets an output to 0 if its Hessian is below min_child_weight, and contrasts have little."""
    X, y = data(300)
    booster = train(X, y, 1, {"max_depth": 5, "min_child_weight": 1.0})
    record, leaves = (
        oxgb.threshold_record(booster),
        booster.predict(xgboost.DMatrix(X), pred_leaf=True).ravel().astype(int),
    )
    margins = np.tile(record.at(0), (len(y), 1))
    hessian = AllThreshold().margin_derivatives(margins, y, "exact").hessian.sum(axis=1)
    enough = np.bincount(leaves, weights=hessian)[leaves] >= 1.0
    assert len(np.unique(leaves[enough])) > 10
    assert (outputs_of(booster, X)[enough] != 0.0).mean() > 0.99


@pytest.mark.slow
def test_the_page_predicts_without_the_package(tmp_path):
    X, y = data()
    booster, whole = train(X, y, 12), xgboost.DMatrix(X)
    booster.save_model(tmp_path / "model.ubj")
    np.save(tmp_path / "X.npy", X)
    text = PAGE.read_text(encoding="utf-8").partition("## Predict without this package")[2]
    lines, of_margins = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    explains = is_at_least(CONTRIBUTIONS)
    code = (
        "import sys\nsys.modules['ordinal_objectives'] = None\nimport numpy as np\nX = np.load('X.npy')\n"
        + lines
        + "np.save('proba.npy', proba)\n"
        + (of_margins + "np.save('of_margins.npy', of_margins)\n" if explains else "")
    )
    subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, check=True)
    np.testing.assert_allclose(np.load(tmp_path / "proba.npy"), oxgb.predict_proba(booster, whole), atol=1e-6)
    if explains:
        expected = oxgb.margin_contributions(booster, whole)
        np.testing.assert_allclose(np.load(tmp_path / "of_margins.npy"), expected, atol=1e-6)
    assert len(lines.strip().splitlines()) <= 11


def test_a_continued_training_is_one_in_a_single_piece(tmp_path):
    X, y = data()
    whole = train(X, y, 10)
    train(X, y, 6).save_model(tmp_path / "first.json")
    more = train(X, y, 4, previous=tmp_path / "first.json")
    np.testing.assert_allclose(outputs_of(more, X), outputs_of(whole, X), atol=1e-6)
    twice = train(X, y, 2, previous=train(X, y, 2, previous=train(X, y, 6)))  # never written to a file
    np.testing.assert_allclose(outputs_of(twice, X), outputs_of(whole, X), atol=1e-6)
    one, other = map(oxgb.threshold_record, (more, whole))
    np.testing.assert_allclose(one.thresholds, other.thresholds, atol=1e-6)
    np.testing.assert_allclose(one.outputs.means, other.outputs.means, atol=1e-6)
    with pytest.raises(ValueError, match=r"shift_l2=3 .* not those"):
        train(X, y, 1, previous=whole, shift_l2=3.0)
    with pytest.raises(ValueError, match="has shifts among its outputs"):
        train(X, y, 1, previous=whole, shift_method="renewal")
    for options in ({"shift_method": "renewal"}, {"proportional": True, "shift_method": "renewal"}):
        with pytest.raises(ValueError, match="has one output, the score"):
            train(X, y, 1, previous=train(X, y, 2, **options))


def test_going_on_with_other_rows_keeps_the_models_margins():
    (X, y), (X2, y2) = data(), data(400, seed=7)
    first = train(X, y, 5)
    more = oxgb.threshold_record(train(X2, y2, 1, previous=first))
    np.testing.assert_array_equal(more.at(5), oxgb.threshold_record(first).at(5))
    np.testing.assert_array_equal(more.outputs.means[5], oxgb.threshold_record(first).outputs.means[5])


def test_slices_pickles_and_files_predict_alike(tmp_path):
    X, y = data()
    matrix, booster = xgboost.DMatrix(X), train(X, y, 9)
    expected = oxgb.predict_proba(booster, matrix)
    booster.save_model(tmp_path / "model.json")
    for other in (pickle.loads(pickle.dumps(booster)), xgboost.Booster(model_file=tmp_path / "model.json")):
        np.testing.assert_array_equal(oxgb.predict_proba(other, matrix), expected)
    np.testing.assert_array_equal(oxgb.predict_proba(booster[:4], matrix), oxgb.predict_proba(booster, matrix, (0, 4)))
    with pytest.raises(ValueError, match="does not start at 0"):
        oxgb.predict_proba(booster[2:6], matrix)


def test_cv_measures_each_fold_with_its_own_thresholds():
    X, y = data()
    folds = [(np.arange(300), np.arange(300, 600)), (np.arange(300, 600), np.arange(300))]
    history = oxgb.cv(
        {"max_depth": 3, "nthread": 1}, xgboost.DMatrix(X, y), 6, folds=folds, as_pandas=False,
        proportional=False, shift_method="host",
    )  # fmt: skip
    values = []
    for kept, out in folds:
        record = oxgb.threshold_record(booster := train(X[kept], y[kept], 6))
        margins = record.at(6) - record.outputs.scores(outputs_of(booster, X[out]), 0, 6)
        values.append(mean_loss(AllThreshold(), np.sort(margins, axis=1), y[out]))
    assert history["test-all_threshold-mean"][-1] == pytest.approx(np.mean(values), rel=1e-5)


def test_the_classifier_takes_it_as_an_option(tmp_path):
    (X, y), (Xv, yv) = data(800), data(300, seed=2)
    labels = np.array(["e", "d", "c", "b", "a"])
    model = XGBOrdinalClassifier(
        n_estimators=60, shift_method="host", learning_rate=0.5, early_stopping_rounds=4, shift_l2=2.0, max_depth=3,
        classes=labels, n_jobs=1,
    ).fit(X, labels[y], eval_set=[(Xv, labels[yv])])  # fmt: skip
    assert not model.proportional_
    assert model.n_iter_ < model._record.n_iterations
    proba = model.predict_proba_ordered(Xv)
    np.testing.assert_allclose(proba, oxgb.predict_proba(model.booster_, xgboost.DMatrix(Xv)), atol=1e-6)
    np.testing.assert_allclose(proba, AllThreshold().margin_proba(model.predict_linear_predictors(Xv)), atol=1e-12)
    np.testing.assert_allclose(list(model.staged_predict_proba(Xv))[-1], model.predict_proba(Xv), atol=1e-6)
    np.testing.assert_allclose(model.predict_shifts(X).sum(axis=1), 0.0, atol=1e-9)
    model.save_model(tmp_path / "model.json")
    loaded = XGBOrdinalClassifier().load_model(tmp_path / "model.json")
    assert (loaded.shift_method, loaded.proportional, loaded.shift_l2) == ("host", False, 2.0)
    np.testing.assert_array_equal(loaded.predict(Xv), model.predict(Xv))
    np.testing.assert_array_equal(
        clone(model).fit(X, labels[y], eval_set=[(Xv, labels[yv])]).predict_proba(Xv), model.predict_proba(Xv)
    )


def test_start_scores_are_those_of_the_score_alone():
    X, y = data()
    start = 2.0 + X[:, 0]
    model = XGBOrdinalClassifier(n_estimators=5, shift_method="host", max_depth=3, n_jobs=1)
    model.fit(X, y, base_margin=start)
    margins = np.sort(model.predict_linear_predictors(X, base_margin=start), axis=1)
    assert model._record.training_loss[-1] == pytest.approx(mean_loss(AllThreshold(), margins, y), rel=1e-4)
    assert np.abs(model.predict_shifts(X)).max() < 2.0
    moved = model.predict_raw(X, base_margin=start) - model.predict_raw(X)
    np.testing.assert_allclose(moved, start, rtol=1e-6)


def test_a_threshold_without_rows_on_one_side_takes_no_shift():
    X, y = data()
    y[y == 4] = 3
    booster = train(X, y, 20, n_classes=N_CLASSES)
    record = oxgb.threshold_record(booster)
    scores = record.outputs.scores(outputs_of(booster, X), 0, 20)
    np.testing.assert_allclose(scores[:, 3], outputs_of(booster, X)[:, 0], rtol=1e-6)
    assert np.abs(scores[:, 0] - scores[:, 3]).max() > 0.1
