"""Thresholds for another population, by few labelled rows."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from xgboost import callback

from makers import make_engine, make_lgb, make_xgb, watching
from ordinal_objectives import XGBOrdinalClassifier
from ordinal_objectives.estimators import adapted
from ordinal_objectives.export import to_onnx
from ordinal_objectives.inspection import average_marginal_effects
from ordinal_objectives.links import get_link
from ordinal_objectives.losses import CumulativeLink
from ordinal_objectives.metrics import ordinal_log_loss
from ordinal_objectives.plotting import TrainingDisplay

MAKERS = {"xgb": make_xgb, "lgb": make_lgb, "engine": make_engine}
ROUNDS = {make_xgb: {"n_estimators": 4}, make_lgb: {"n_estimators": 4}, make_engine: {"max_iter": 4}}
THRESHOLDS = np.array([-1.5, 0.0, 1.5])


def rows(n: int, seed: int, thresholds: np.ndarray = THRESHOLDS) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.searchsorted(thresholds, 1.5 * X[:, 0] + X[:, 1] + rng.logistic(size=n))


@pytest.fixture(scope="module", params=[(name, alike) for name in MAKERS for alike in (True, False)], ids=str)
def trained(request: pytest.FixtureRequest) -> Any:
    name, proportional = request.param
    return MAKERS[name](proportional=proportional, learning_rate=0.15).fit(*rows(4_000, 0))


def test_new_thresholds_are_those_of_a_moved_population(trained: Any) -> None:
    X, y = rows(400, 1, THRESHOLDS + 1.0)
    before = trained.predict_proba(X)
    model = trained.refit_thresholds(X, y)
    assert type(model) is type(trained)
    np.testing.assert_array_equal(trained.predict_proba(X), before)
    np.testing.assert_array_equal(model.predict_raw(X), trained.predict_raw(X))
    assert 0.6 < np.mean(model.thresholds_ - trained.thresholds_) < 1.4
    X_test, y_test = rows(4_000, 2, THRESHOLDS + 1.0)
    losses = [ordinal_log_loss(y_test, one.predict_proba(X_test)) for one in (trained, model)]
    assert losses[1] < losses[0] - 0.05
    *_, last = model.staged_predict_proba(X)
    np.testing.assert_allclose(last, model.predict_proba(X), atol=1e-6)
    assert np.isnan(model.training_loss_[model.n_iter_])
    assert not np.isnan(trained.training_loss_[trained.n_iter_])


def test_an_adapted_model_is_kept_by_files_pickles_and_onnx(trained: Any, tmp_path: Any) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y = rows(60, 1, THRESHOLDS - 1.0)
    model = trained.refit_thresholds(X, y)
    expected = model.predict_proba(X)
    path = tmp_path / "model.json"
    model.save_model(path)
    read = type(trained)().load_model(path)
    for other in (read, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(other.predict_proba(X), expected)
    session = onnxruntime.InferenceSession(to_onnx(model, X).SerializeToString())
    (name,) = [entry.name for entry in session.get_inputs()]
    of_graph = session.run(None, {name: X.astype(np.float32)})
    np.testing.assert_allclose(next(part for part in of_graph if np.shape(part) == expected.shape), expected, atol=2e-5)
    for other in (model, read):  # copies that are trained anew would have the old population's thresholds
        with pytest.raises(ValueError, match="estimator has thresholds by refit_thresholds"):
            average_marginal_effects(other, X, 0, n_refits=2)


def test_without_a_shift_the_thresholds_stay_near() -> None:
    model = make_xgb().fit(*rows(1_500, 0))
    moved = [model.refit_thresholds(*rows(50, seed)).thresholds_ - model.thresholds_ for seed in range(1, 9)]
    assert np.abs(np.mean(moved, axis=0)).max() < 0.4


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
@pytest.mark.parametrize("shifted", [False, True])
def test_the_fit_is_the_minimum_of_the_penalised_likelihood(link: str, shifted: bool) -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40, 3) if shifted else 40) * (0.1 if shifted else 1.0)
    codes, weight = rng.integers(0, 4, 40).astype(np.int32), rng.uniform(0.5, 2.0, 40)
    start, penalty = np.array([-1.0, 0.2, 1.0]), np.diag([1.0, 3.0, 0.5])
    labelled = adapted.LabelledScores(scores, codes, weight)
    G = get_link(link).inverse

    def slow(thresholds: np.ndarray) -> float:
        predictors = thresholds - (scores if shifted else scores[:, np.newaxis])
        below = np.column_stack([np.zeros(40), G(predictors), np.ones(40)])
        of_class = np.diff(below, axis=1)[np.arange(40), codes]
        moved = thresholds - start
        return float(-weight @ np.log(np.maximum(of_class, 1e-300)) + 0.5 * moved @ penalty @ moved)

    fitted, terms, curvature = adapted._fit(get_link(link), labelled, start, penalty)
    expected = minimize(slow, start, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10}).x
    np.testing.assert_allclose(fitted, expected, atol=1e-5)
    # Leaving out by one Newton step is close to fitting without each row, or without one of those that it counts as.
    exact = 0.0
    for i in range(40):
        others = adapted.LabelledScores(scores, codes, np.where(np.arange(40) == i, np.maximum(weight - 1, 0), weight))
        without, *_ = adapted._fit(get_link(link), others, start, penalty)
        of_one = adapted._terms(
            get_link(link), adapted.LabelledScores(*(part[i : i + 1] for part in labelled)), without
        )
        assert of_one is not None
        exact += of_one.value.sum()
    approximate = adapted._left_out(get_link(link), labelled, fitted, terms, curvature)
    assert approximate == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_every_change_of_the_thresholds_is_bound_and_each_class_may_grow_alone(n: int) -> None:
    scores, thresholds = np.random.default_rng(n).normal(size=50), np.linspace(-1.5, 1.7, n)
    penalties, shares = adapted._penalties(get_link("logit"), scores, np.ones(50), thresholds)
    for strength in adapted._STRENGTHS:
        assert any(np.allclose(penalty, strength * np.eye(n)) for penalty in penalties)
    # Location, spread and shape may change in any way, or each but the last may be forbidden with it; or one class
    # grows.
    kinds = min(n, 3)
    assert shares.sum() == pytest.approx(1 + 2 ** (kinds - 1) + (n + 1 if n > 1 else 0))
    for penalty in penalties:
        assert np.linalg.eigvalsh(penalty).min() > 0


def test_many_rows_take_the_weakest_penalty() -> None:
    X, y = rows(5_200, 1, THRESHOLDS + 0.5)
    score, start = 1.5 * X[:, 0] + X[:, 1], np.array([-1.0, 0.0, 1.0])
    found = adapted.to_labels(CumulativeLink(), score, y, np.ones(len(y)), start)
    invented = adapted.LabelledScores(
        np.append(score, [-0.5, 0.5]), np.append(y, [1, 2]), np.append(np.ones(len(y)), [0.1, 0.1])
    )
    expected, *_ = adapted._fit(get_link("logit"), invented, start, 0.3 * np.eye(3))
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_weights_are_repeated_rows_and_rows_without_weight_do_not_count() -> None:
    model = make_xgb().fit(*rows(1_500, 0))
    X, y = rows(60, 1, THRESHOLDS + 0.5)
    weight = np.where(np.arange(60) < 50, 1.0, 0.0)
    by_weight = model.refit_thresholds(X, y, sample_weight=weight).thresholds_
    np.testing.assert_allclose(by_weight, model.refit_thresholds(X[:50], y[:50]).thresholds_, rtol=1e-10)
    times = np.arange(60) % 4
    by_weight = model.refit_thresholds(X, y, sample_weight=times).thresholds_
    by_rows = model.refit_thresholds(np.repeat(X, times, axis=0), np.repeat(y, times)).thresholds_
    np.testing.assert_allclose(by_weight, by_rows, atol=1e-9)


@pytest.mark.parametrize("kept", [[0], [1], [0, 3], [1, 2]])
def test_classes_without_a_row_keep_the_order(kept: list[int], trained: Any) -> None:
    X, y = rows(300, 1)
    some = np.isin(y, kept)
    model = trained.refit_thresholds(X[some][:30], y[some][:30])
    assert (np.diff(model.thresholds_) > 0).all()
    proba = model.predict_proba(X)
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


@pytest.mark.parametrize(("make", "go_on"), [(make_xgb, "xgb_model"), (make_lgb, "init_model")])
def test_a_training_goes_on_from_the_new_thresholds_after_an_early_stop(make: Any, go_on: str) -> None:
    X, y = rows(400, 0)
    model = make(n_estimators=60, learning_rate=0.3, early_stopping_rounds=5).fit(X, y, eval_set=[rows(100, 1)])
    adapted_model = model.refit_thresholds(*rows(100, 2, THRESHOLDS + 1.0))
    assert model.n_iter_ < 55
    longer = make(n_estimators=1).fit(X, y, **{go_on: adapted_model})
    np.testing.assert_array_equal(longer.threshold_history_[-2], adapted_model.thresholds_)


@pytest.mark.parametrize("make", [make_xgb, make_lgb, make_engine])
def test_evaluation_losses_of_the_old_thresholds_are_not_those_of_the_new_ones(make: Any) -> None:
    model = make(**ROUNDS[make])
    model.fit(*rows(400, 0), **watching(model, *rows(100, 1)))
    moved = TrainingDisplay.from_estimator(model.refit_thresholds(*rows(100, 2, THRESHOLDS + 1.0))).losses
    for name, losses in TrainingDisplay.from_estimator(model).losses.items():
        stale = model.n_iter_
        np.testing.assert_array_equal(np.isnan(moved[name]), np.isnan(losses) | (np.arange(len(losses)) == stale))
        np.testing.assert_array_equal(moved[name][:stale], losses[:stale])


@pytest.mark.parametrize(("make", "go_on"), [(make_xgb, "xgb_model"), (make_lgb, "init_model")])
def test_evaluation_losses_of_a_continued_training_are_counted_from_its_own_rounds(make: Any, go_on: str) -> None:
    sets: Any = {"eval_set": [rows(100, 1)]}
    first = make(n_estimators=3).fit(*rows(400, 0), **sets)
    moved = make(n_estimators=2).fit(*rows(400, 0), **sets, **{go_on: first}).refit_thresholds(*rows(100, 2))
    (found,) = (next(iter(one.values())) for one in moved.evals_result_.values())
    assert np.isnan(found).tolist() == [False, True]


def test_an_adapted_model_with_callbacks_is_kept_by_a_file(tmp_path: Any) -> None:
    X, y = rows(200, 0)
    slower = callback.LearningRateScheduler([0.3, 0.2, 0.1])
    model = make_xgb(n_estimators=3, callbacks=[slower]).fit(X, y).refit_thresholds(X, y)
    model.save_model(tmp_path / "model.json")
    with pytest.warns(UserWarning, match="callbacks"):
        read = XGBOrdinalClassifier().load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))


def test_mistakes_are_named() -> None:
    X, y = rows(300, 0)
    model = make_xgb().fit(X, y)
    with pytest.raises(ValueError, match="the same number of rows; got 300 and 299"):
        model.refit_thresholds(X, y[:-1])
    with pytest.raises(ValueError, match="sample_weight must have shape"):
        model.refit_thresholds(X, y, sample_weight=[1.0])
    for params in ({"loss": "immediate_threshold"}, {"training_cost": "quadratic"}):
        other = XGBOrdinalClassifier(n_estimators=3, n_jobs=1, proportional=True, **params).fit(X, y)
        with pytest.raises(ValueError, match="'all_threshold' and 'cumulative_link' without"):
            other.refit_thresholds(X, y)
