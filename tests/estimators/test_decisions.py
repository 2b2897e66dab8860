"""Decisions of the classifiers: in the rounds of a training, and set after it."""

from __future__ import annotations

import numpy as np
import pytest

from makers import make_engine, make_lgb, make_xgb, watching
from ordinal_objectives import OrdinalEnsembleClassifier, OrdinalTunedClassifier
from ordinal_objectives.decision import decide
from ordinal_objectives.export.onnx.model import to_onnx
from ordinal_objectives.metrics import METRICS
from pairs import each_pair

RNG = np.random.default_rng(0)
N = 300
X = RNG.normal(size=(N, 3))
Y = np.digitize(X[:, 0] + X[:, 1] ** 2 + RNG.logistic(size=N), [-1.0, 1.0, 3.0])
W = RNG.uniform(0.5, 2.0, size=N)
MAKE = {"xgb": make_xgb, "lgbm": make_lgb, "engine": make_engine}
UPWARDS = {"cost_matrix": np.triu(np.full((4, 4), 5.0), 1) + np.tril(np.ones((4, 4)), -1), "random_state": 0}


def rounds(kind, n):
    return {"max_iter" if kind == "engine" else "n_estimators": n}


@each_pair({"kind": MAKE, "metric": ["qwk", "lwk", "mae", "zero_one"], "weighted": [False, True]})
def test_the_metrics_of_rounds_judge_the_decisions_of_the_model(kind, metric, weighted):
    in_fit = {"eval_metric": metric} if kind == "lgbm" else {}
    given = {} if kind == "lgbm" else {"eval_metric": metric}
    given |= {"early_stopping": False} if kind == "engine" else {}
    model = MAKE[kind](**UPWARDS, **given)
    in_fit |= watching(model, X[200:], Y[200:], W[200:] if weighted else None)
    model.fit(X[:200], Y[:200], **in_fit)
    results = model.evals_result_
    logged = results[f"validation_{metric}"] if kind == "engine" else list(results.values())[-1][metric]
    of_last = METRICS[metric].function(Y[200:], model.predict(X[200:]), W[200:] if weighted else None)
    assert logged[-1] == pytest.approx(of_last, abs=1e-6)
    median = METRICS[metric].function(Y[200:], decide(model.predict_proba(X[200:])), W[200:] if weighted else None)
    assert abs(of_last - median) > 1e-3
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))


def test_early_stopping_looks_at_the_decisions_of_the_model():
    model = make_engine(**UPWARDS, scoring="qwk", max_iter=60)
    model.fit(X[:200], Y[:200], X_val=X[200:], y_val=Y[200:])
    achieved = METRICS["qwk"].function(Y[200:], model.predict(X[200:]))
    assert max(model.evals_result_["validation_score"]) == pytest.approx(achieved, abs=1e-6)
    host = make_xgb(**UPWARDS, eval_metric="qwk", early_stopping_rounds=10, n_estimators=60).fit(
        X[:200], Y[:200], eval_set=[(X[200:], Y[200:])]
    )
    achieved = METRICS["qwk"].function(Y[200:], host.predict(X[200:]))
    assert max(host.evals_result_["validation_0"]["qwk"]) == pytest.approx(achieved, abs=1e-6)


@pytest.mark.parametrize("training_cost", ["quadratic", "absolute"])
@pytest.mark.parametrize("kind", MAKE)
def test_a_decision_that_is_set_after_the_fit_suits_the_trained_model(kind, training_cost, tmp_path):
    model = MAKE[kind](training_cost="quadratic", **rounds(kind, 3)).fit(X, Y)
    model.set_params(decision_rule="mode", training_cost=training_cost)
    path = tmp_path / "model.json"
    for use in (
        lambda: model.predict(X),
        lambda: list(model.staged_predict(X)),
        lambda: model.save_model(path),
        lambda: to_onnx(model, X[:1]),
    ):
        with pytest.raises(ValueError, match="training_cost"):
            use()
    assert not path.exists()


@pytest.mark.parametrize("kind", MAKE)
def test_costs_that_are_set_after_a_fit_without_them_change_no_decision(kind, tmp_path):
    model = MAKE[kind](**rounds(kind, 3)).fit(X, Y).set_params(training_cost="quadratic", decision_rule="mode")
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
    model.save_model(tmp_path / "model.json")
    loaded = type(model)().load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_the_rule_of_kappa_is_found_around_a_classifier():
    ensemble = OrdinalEnsembleClassifier(
        [("one", make_xgb(n_estimators=3)), ("other", make_lgb(n_estimators=3))], n_bags=1
    )
    for model in (make_xgb(n_estimators=3), ensemble):
        with pytest.raises(ValueError, match=r"decision_rule must be .*OrdinalTunedClassifier"):
            model.set_params(decision_rule="kappa").fit(X, Y)
        model.set_params(decision_rule="median")
        tuned = OrdinalTunedClassifier(model, metric="qwk", rule="kappa", cv=2).fit(X, Y)
        np.testing.assert_array_equal(tuned.predict(X), tuned.decision_.decide(tuned.predict_proba(X)))
