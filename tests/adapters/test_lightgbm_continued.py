"""``lightgbm.train`` as the guide writes it: going on after early stopping, and what it evaluates."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest

from ordinal_objectives import LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm

QUIET = {"verbosity": -1, "num_leaves": 4, "learning_rate": 0.3}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return X, np.digitize(2 * X[:, 0] + rng.logistic(size=300), [-2, 0, 2])


def plain(rows, n_rounds=100, *, params=(), feval=True, stop=True, record=None, valid=True, **options):
    """Train by ``lightgbm.train``, by default with early stopping."""
    X, y = rows
    objective = olgbm.OrdinalObjective(4, thresholds=record)
    data = lightgbm.Dataset(X[:200], y[:200])
    return lightgbm.train(
        {**QUIET, "metric": "None", **dict(params), "objective": objective},
        data,
        n_rounds,
        valid_sets=[data.create_valid(X[200:], y[200:])] if valid else None,
        feval=objective.metric if feval else None,
        callbacks=[objective.callback, *([lightgbm.early_stopping(10, verbose=False)] if stop else [])],
        **options,
    )


def go_on(rows, model, record, n_rounds=5):
    return plain(rows, n_rounds, stop=False, record=record, init_model=model)


def continued_by_ours(rows, model, record):
    return olgbm.train(QUIET, lightgbm.Dataset(*rows), 5, init_model=model, thresholds=record)


def stopped(rows, kind, folder):
    """Return what ``init_model`` takes, and the booster that carries its record."""
    if kind == "classifier":
        model = LGBMOrdinalClassifier(
            n_estimators=100,
            early_stopping_round=10,
            validation_fraction=0.3,
            num_leaves=4,
            learning_rate=0.3,
            proportional=True,
            subsample=1.0,
            threshold_update="newton",
        )
        model.fit(*rows)
        assert len(model.threshold_history_) > model.n_iter_ + 1
        return model.booster_, model.booster_
    booster = plain(rows)
    if kind == "booster":
        return booster, booster
    path = folder / "model.txt"
    if kind == "file":
        olgbm.save_model(booster, path)
        return path, olgbm.load_model(path)
    booster.save_model(path)
    return path, booster


KINDS = ["booster", "classifier", "file", "host's file"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_early_stopped_model_is_continued_by_its_record(rows, kind, tmp_path):
    model, carrier = stopped(rows, kind, tmp_path)
    record, n_trees = olgbm.threshold_record(carrier), carrier.current_iteration()
    assert record.n_iterations == n_trees == len(record.trees)
    X, _ = rows
    booster = go_on(rows, model, record)
    assert booster.current_iteration() == n_trees + 5
    np.testing.assert_array_equal(olgbm.predict_proba(booster, X, n_trees), olgbm.predict_proba(carrier, X, n_trees))


@pytest.mark.parametrize("kind", KINDS[:3])
def test_olgbm_train_takes_the_record_beside_the_model(rows, kind, tmp_path):
    model, carrier = stopped(rows, kind, tmp_path)
    given = continued_by_ours(rows, model, olgbm.threshold_record(carrier))
    alone = continued_by_ours(rows, model, None)
    np.testing.assert_array_equal(olgbm.predict_proba(given, rows[0]), olgbm.predict_proba(alone, rows[0]))


def test_a_saved_classifier_keeps_the_rounds_after_the_best(rows, tmp_path):
    model = LGBMOrdinalClassifier(n_estimators=100, early_stopping_round=10, validation_fraction=0.3).fit(*rows)
    model.save_model(tmp_path / "model.txt")
    loaded = LGBMOrdinalClassifier().load_model(tmp_path / "model.txt")
    assert len(loaded.threshold_history_) == len(model.threshold_history_) > model.n_iter_ + 1


@pytest.mark.parametrize("ours", [False, True])
@pytest.mark.parametrize("wrong", ["longer", "shorter", "of other trees"])
def test_the_record_of_another_model_is_refused(rows, wrong, ours):
    model = plain(rows, 6, stop=False)
    X, y = rows
    others = {
        "longer": plain(rows, 9, stop=False),
        "shorter": plain(rows, 3, stop=False),
        "of other trees": plain((X[::-1], y[::-1]), 6, stop=False),
    }
    record = olgbm.threshold_record(others[wrong])
    go = continued_by_ours if ours else go_on
    with pytest.raises(ValueError, match=r"thresholds must be the record of the model that is continued"):
        go(rows, model, record)


def test_a_model_whose_thresholds_move_is_left_to_olgbm_train(rows):
    model = olgbm.train(QUIET, lightgbm.Dataset(*rows), 3, proportional=False)
    with pytest.raises(ValueError, match=r"pass proportional=False to .*lgbm\.train, not the framework"):
        go_on(rows, model, olgbm.threshold_record(model))


@pytest.mark.parametrize("name", ["metric", "metrics", "metric_types"])
@pytest.mark.parametrize("value", ["None", "none", "NULL", "na", "custom", "", "none,null", ["None"], ["na", ""]])
def test_no_metric_is_no_refused_metric(rows, name, value):
    data = lightgbm.Dataset(*rows)
    assert olgbm.train({**QUIET, name: value}, data, 2).num_trees() == 2
    assert len(olgbm.cv({**QUIET, name: value}, lightgbm.Dataset(*rows), 2, proportional=False, nfold=2)) == 2


@pytest.mark.parametrize("name", ["metric", "metrics", "metric_types"])
@pytest.mark.parametrize("value", ["l2", "none,l2", ["None", "l2"]])
def test_a_built_in_metric_is_refused_by_every_training(rows, name, value):
    with pytest.raises(ValueError, match=rf"params\['{name}'\] = .* is not allowed"):
        olgbm.train({**QUIET, name: value}, lightgbm.Dataset(*rows), 2)
    params = {name: value} if name == "metric" else {"metric": None, name: value}
    with pytest.raises(ValueError, match=r"params\['metric.*'\] = .* is not allowed"):
        plain(rows, 5, params=params)


@pytest.mark.parametrize("name", ["early_stopping_round", "early_stopping_rounds", "n_iter_no_change"])
def test_early_stopping_without_a_metric_is_refused(rows, name):
    with pytest.raises(ValueError, match=r"needs feval=objective\.metric"):
        plain(rows, 5, params={name: 3}, feval=False, stop=False)


def test_evaluation_sets_without_a_metric_are_warned_of_once(rows):
    with pytest.warns(UserWarning, match=r"pass feval=objective\.metric") as seen:
        plain(rows, 5, feval=False, stop=False)
    assert len(seen) == 1
    plain(rows, 5, feval=False, stop=False, valid=False)


def test_xgboost_classifier_takes_missing_none_as_nan(rows):
    X, y = rows
    X = np.where(X > 1.5, np.nan, X)
    model, expected = (XGBOrdinalClassifier(n_estimators=3, missing=missing).fit(X, y) for missing in (None, np.nan))
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize("missing", ["nan", [0], True])
def test_xgboost_classifier_refuses_what_is_no_missing_value(rows, missing):
    with pytest.raises(ValueError, match=r"missing must be a number or None; got"):
        XGBOrdinalClassifier(n_estimators=3, missing=missing).fit(*rows)
