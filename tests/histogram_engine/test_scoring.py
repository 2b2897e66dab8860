"""Metrics and scorers of the native engine's rounds, and what ends its training."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import accuracy_score, make_scorer

from makers import make_engine
from ordinal_objectives import metrics
from ordinal_objectives.scorers import get_scorer

NAMES = np.array(["low", "middle", "high"])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, 4))
    y = np.digitize(X[:, 0] + rng.logistic(size=600), [-0.8, 0.9])
    return X[:400], y[:400], X[400:], y[400:]


def make(**params):
    return make_engine(max_iter=12, random_state=0, **params)


@pytest.mark.parametrize("proportional", [True, False])
def test_metrics_are_those_of_the_stages(data, proportional):
    X, y, X_val, y_val = data
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 200)
    model = make(eval_metric=["mae", "rps", lambda y, P: ("third", P[:, 2].mean(), True)], proportional=proportional)
    plain = make(proportional=proportional, early_stopping=False)
    for one in (model.set_params(early_stopping=False), plain):
        one.fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=weight)
    assert_array_equal(model.predict_proba(X_val), plain.predict_proba(X_val))
    assert_array_equal(model.evals_result_["validation"], plain.evals_result_["validation"])
    of = model.evals_result_
    assert list(of) == ["training", "validation", "validation_mae", "validation_rps", "validation_third"]
    for i, proba in enumerate(model.staged_predict_proba(X_val), 1):
        codes = next(iter(p for n, p in enumerate(model.staged_predict(X_val), 1) if n == i))
        assert_allclose(of["validation_mae"][i], np.average(abs(codes - y_val), weights=weight))
        expected = metrics.ranked_probability_score(y_val, proba, sample_weight=weight)
        assert_allclose(of["validation_rps"][i], expected)
        assert_allclose(of["validation_third"][i], proba[:, 2].mean())
    assert len(of["validation_mae"]) == 13


@pytest.mark.parametrize(
    ("scoring", "value"),
    [
        ("neg_mae", lambda y, codes, P: -np.abs(codes - y).mean()),
        ("accuracy", lambda y, codes, P: (codes == y).mean()),
        (None, lambda y, codes, P: (codes == y).mean()),
        (make_scorer(accuracy_score), lambda y, codes, P: (codes == y).mean()),
        (get_scorer("neg_rps"), lambda y, codes, P: -metrics.ranked_probability_score(y, P)),
        (lambda model, X, y: -np.abs(model.predict_raw(X)).mean(), None),
    ],
)
def test_a_scorer_ends_the_training(data, scoring, value):
    X, y, X_val, y_val = data
    model = make(scoring=scoring, classes=NAMES, early_stopping=True, n_iter_no_change=2).set_params(max_iter=60)
    model.fit(X, NAMES[y], X_val=X_val, y_val=NAMES[y_val])
    scores = model.evals_result_["validation_score"]
    assert model.n_iter_ == int(np.argmax(scores))
    assert len(scores) < 61
    if value is not None:
        proba = model.predict_proba_ordered(X_val)
        codes = np.array([list(NAMES).index(label) for label in model.predict(X_val)])
        assert_allclose(scores[model.n_iter_], value(y_val, codes, proba))


def test_a_scorer_gets_weights_where_there_are_some(data):
    X, y, X_val, y_val = data
    given = []

    def scorer(model, X, y, sample_weight=None):
        given.append(None if sample_weight is None else sample_weight.sum())
        return 0.0

    model = make(scoring=scorer, early_stopping=True, n_iter_no_change=1)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    model.fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=np.full(200, 3.0))
    assert given == [None, None, 600.0, 600.0]


def test_a_scorer_needs_no_weights(data):
    X, y, X_val, y_val = data
    model = make(scoring=lambda model, X, y: model.score(X, y), early_stopping=True, class_weight="balanced")
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert model.evals_result_["validation_score"][model.n_iter_] == model.score(X_val, y_val)


def test_a_scorer_cannot_change_the_rows(data):
    X, y, *_ = data
    X_val, y_val = np.copy(X[:50]), np.copy(y[:50])

    def scorer(model, X, y):
        X[:] = 0.0
        return 0.0

    with pytest.raises(ValueError, match="scorer of scoring must not change the arrays"):
        make(scoring=scorer, early_stopping=True).fit(X, y, X_val=X_val, y_val=y_val)
    assert_array_equal(X_val, X[:50])


def test_verbose_prints_what_is_measured(data, capsys):
    X, y, X_val, y_val = data
    model = make(verbose=5, eval_metric="mae").fit(X, y, X_val=X_val, y_val=y_val)
    lines = capsys.readouterr().out.splitlines()
    of = model.evals_result_
    assert lines == [
        f"{n} trees: training {of['training'][n]:.5f}, validation {of['validation'][n]:.5f}, "
        f"validation_mae {of['validation_mae'][n]:.5f}"
        for n in (5, 10)
    ]
    make().fit(X, y)
    assert capsys.readouterr().out == ""
    make(verbose=True).fit(X, y)
    assert len(capsys.readouterr().out.splitlines()) == 12


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"scoring": "mae"}, ValueError, "scoring"),
        ({"eval_metric": "maee"}, ValueError, "eval_metric"),
        ({"verbose": -1}, ValueError, "verbose"),
        ({"verbose": "yes"}, TypeError, "verbose"),
        ({"scoring": lambda model, X, y: np.nan}, ValueError, "scoring"),
        ({"scoring": lambda model, X, y: model.predict(X[:3])[0]}, ValueError, "must predict all 200 rows"),
    ],
)
def test_mistakes_are_told(data, params, error, message):
    X, y, X_val, y_val = data
    with pytest.raises(error, match=message):
        make(**params, early_stopping=True).fit(X, y, X_val=X_val, y_val=y_val)
