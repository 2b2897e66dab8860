"""Copies that inspections train: by the parameters, and what the caller gives their fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from makers import make_cat, make_engine, make_lgb, make_xgb
from ordinal_objectives import (
    AllThreshold,
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    XGBOrdinalClassifier,
)
from ordinal_objectives.inspection import average_marginal_effects, rows, summary
from own_losses import Steep

N = 240
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = np.digitize(X[:, 0] + 1.5 * RNG.normal(size=N), [-1, 0, 1])
MAKE = {"xgb": XGBOrdinalClassifier, "lgbm": LGBMOrdinalClassifier, "engine": HistGradientBoostingOrdinalClassifier}
FIXED = {"xgb": make_xgb, "lgbm": make_lgb, "engine": make_engine}
BOTH = pytest.mark.parametrize("inspect", ["effects", "summary"])
KINDS = pytest.mark.parametrize("kind", MAKE)


def make(kind, **options):
    return MAKE[kind](n_jobs=1, random_state=0, **options)


@pytest.fixture
def trained(monkeypatch):
    """Return the list of copies, with their rows and weights, that inspections train from now on."""
    found, again = [], rows.trained_again

    def remembered(estimator, X, y, weight, *given, **options):
        found.append((again(estimator, X, y, weight, *given, **options), X, weight))
        return found[-1][0]

    monkeypatch.setattr(rows, "trained_again", remembered)
    return found


def inspected(inspect, model, X=X, y=Y, **options):
    if inspect == "summary":
        return summary(model, X, y, n_refits=2, random_state=0, **options).threshold_spread
    return average_marginal_effects(model, X, 0, step=1.0, n_refits=2, random_state=0, **options).lower


# Rows that are drawn twice


@KINDS
@pytest.mark.parametrize("linear", [False, True, "auto"])
def test_copies_of_a_summary_train_the_rounds_of_the_model(kind, linear, trained):
    model = make(kind, linear=linear).fit(X, Y)
    spread = inspected("summary", model)
    rounds = {"max_iter" if kind == "engine" else "n_estimators": model.n_iter_, "linear": model.linear_ is not None}
    rounds |= model.round_search_.settings
    assert [copy.n_iter_ for copy, _, _ in trained] == [model.n_iter_] * 2
    np.testing.assert_allclose(spread, inspected("summary", make(kind, **rounds).fit(X, Y)))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("xgb", {"n_estimators": 100, "early_stopping_rounds": 3, "validation_fraction": 0.2}),
        (
            "xgb",
            {"n_estimators": 100, "callbacks": [xgboost.callback.EarlyStopping(rounds=3)], "validation_fraction": 0.2},
        ),
        ("lgbm", {"n_estimators": 100, "early_stopping_round": 3, "validation_fraction": 0.2}),
        ("lgbm", {"num_iterations": 100, "n_iter_no_change": 3, "validation_fraction": 0.2}),
        ("engine", {"early_stopping": True}),
        ("lgbm", {"n_estimators": 60, "min_split_gain": 6}),
    ],
)
def test_nothing_ends_copies_of_a_summary_early(kind, options, trained):
    model = make(kind, **options).fit(X, Y)
    inspected("summary", model)
    assert [copy.trained_rounds() for copy, _, _ in trained] == [model.trained_rounds()] * 2


def test_copies_of_a_summary_keep_other_callbacks(trained):
    stop, rates = xgboost.callback.EarlyStopping(rounds=3), xgboost.callback.LearningRateScheduler([0.3] * 20)
    model = make("xgb", n_estimators=20, callbacks=[stop, rates], validation_fraction=0.2).fit(X, Y)
    inspected("summary", model)
    assert [list(map(type, copy.callbacks)) for copy, _, _ in trained] == [[type(rates)]] * 2


@pytest.mark.parametrize(
    "options",
    [
        {"boosting_type": "rf", "max_iter": 20},
        {"pruning": True},
        {"adaptive_step": True, "max_iter": 8},
        {"pruning": True, "judged_by": "validation", "max_iter": 8},
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_judge_are_not_those_that_are_trained_on(options, weighted, trained):
    weight = np.random.default_rng(1).uniform(1.0, 2.0, size=N) if weighted else None
    model = make("engine", **options).fit(X, Y, sample_weight=weight)
    inspected("summary", model, sample_weight=weight)
    for copy, drawn, given in trained:
        assert len(np.unique(drawn, axis=0)) == len(drawn) < N
        assert given.sum() == pytest.approx(N * (1.5 if weighted else 1.0), rel=0.05 if weighted else 1e-12)
        assert copy.n_iter_ <= model.n_iter_


@KINDS
def test_copies_of_effects_find_their_own_rounds(kind, trained):
    """Their labels are drawn anew each time, so a row held out tells nothing of its twin."""
    model = make(kind).fit(X, Y)
    inspected("effects", model)
    assert all(copy.round_search_ is not None for copy, _, _ in trained)


# What fit was given

CODES = RNG.integers(0, 8, size=N)
WITH_CODES = np.column_stack([X[:, 0], CODES])
OF_CODES = np.digitize(X[:, 0] + 3 * (CODES % 2) + RNG.logistic(size=N), [0, 1.5, 3])


@BOTH
@pytest.mark.parametrize("how", ["plain", "pipeline", "file"])
def test_copies_are_given_what_the_caller_gives_them(how, inspect, trained, tmp_path):
    options = {"n_estimators": 6, "num_leaves": 4, "min_child_samples": 10}
    model, given = make("lgbm", **options), {"categorical_feature": [1]}
    if how == "pipeline":
        model = make_pipeline(FunctionTransformer(), model)
        model.fit(WITH_CODES, OF_CODES, lgbmordinalclassifier__categorical_feature=[1])
    else:
        model.fit(WITH_CODES, OF_CODES, **given)
    if how == "file":
        model.save_model(tmp_path / "model.txt")
        model = LGBMOrdinalClassifier(n_jobs=1).load_model(tmp_path / "model.txt")
    found = inspected(inspect, model, WITH_CODES, OF_CODES, fit_params=given)
    for copy, _, _ in trained:
        last = copy[-1] if how == "pipeline" else copy
        assert last.is_categorical_.tolist() == [False, True]
    frame = pd.DataFrame({"x": X[:, 0], "code": pd.Categorical(CODES)})
    np.testing.assert_allclose(
        found, inspected(inspect, make("lgbm", **options).fit(frame, OF_CODES), frame, OF_CODES), rtol=1e-6
    )


@pytest.mark.parametrize("kind", ["xgb", "lgbm", "cat"])
@pytest.mark.parametrize("brings", ["loss", "link"])
def test_a_loss_changed_in_place_changes_no_model(brings, kind, tmp_path):
    if kind == "cat":
        pytest.importorskip("catboost")
    own = Steep(2.0) if brings == "link" else SteepLoss()
    model = made(kind, loss=AllThreshold(own) if brings == "link" else own).fit(X, Y)
    expected = model.predict_proba(X)
    own.steepness = 9.0
    for one in (model, loaded(model, tmp_path / "model.ubj")):
        np.testing.assert_array_equal(one.predict_proba(X), expected)


class SteepLoss(AllThreshold):
    """A loss of which an attribute says the probabilities."""

    def __init__(self, link="logit", steepness=2.0):
        super().__init__(link)
        self.steepness = steepness

    def _proba(self, x):
        return super()._proba(self.steepness * x)


def loaded(model, path):
    model.save_model(path)
    return type(model)(n_jobs=1).load_model(path)


def made(kind, **options):
    return make_cat(**options) if kind == "cat" else FIXED[kind](**options)
