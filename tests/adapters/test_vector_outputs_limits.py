"""Shifts that XGBoost fits itself: what is refused by name, what needs a newer XGBoost, and steps that are too long."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xgboost

from ordinal_objectives import XGBOrdinalClassifier
from ordinal_objectives.adapters import xgb as oxgb
from ordinal_objectives.adapters.xgb.outputs import (
    CATEGORICAL_SPLITS,
    CONTRIBUTIONS,
    DART,
    OutputUpdate,
    is_at_least,
)
from shifting import N_CLASSES, data

BARE = {"base_score": 0.0, "disable_default_eval_metric": 1, "max_depth": 3, "nthread": 1}


def train(X, y, rounds=5, params=None, **options):
    options = {"proportional": False, "shift_method": "host", "verbose_eval": False} | options
    dtrain = X if isinstance(X, xgboost.DMatrix) else xgboost.DMatrix(X, y)
    return oxgb.train({"max_depth": 3, "nthread": 1} | (params or {}), dtrain, rounds, **options)


def from_version(version, named, call):
    """Return what a call returns, or None where the XGBoost that is installed is too old, which it must say."""
    if is_at_least(version):
        return call()
    with pytest.raises(ValueError, match=f"{named}.* needs XGBoost {version[0]}.{version[1]} or later"):
        call()
    return None


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"monotone_constraints": "(1,0,0,0)"}, r"params\['monotone_constraints'\]"),
        ({"tree_method": "approx"}, r"params\['tree_method'\] = 'approx'"),
        ({"tree_method": "exact"}, r"params\['tree_method'\] = 'exact'"),
        ({"booster": "gblinear"}, r"params\['booster'\] = 'gblinear'"),
        ({"lambda": 0.0}, r"params\['reg_lambda'\] = 0"),
        ({"process_type": "update", "updater": "refresh"}, r"params\['updater'\] = 'refresh'"),
        ({"updater": "grow_histmaker"}, r"params\['updater'\] = 'grow_histmaker'"),
        ({"num_target": 3}, r"params\['num_target'\] must be n_classes - 1 = 4; got 3"),
        ({"num_class": 5}, "num_class"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_what_vector_leaves_rule_out_is_named(params, named):
    X, y = data(200)
    with pytest.raises(ValueError, match=named):
        train(X, y, params={"verbosity": 0, **params})


def test_an_objective_of_its_own_needs_the_classes_and_the_callback():
    X, y = data(200)
    dtrain = xgboost.DMatrix(X, y)
    objective = oxgb.OrdinalObjective(proportional=False)
    with pytest.raises(ValueError, match="n_classes must be given"):
        xgboost.train(BARE, dtrain, 2, obj=objective, callbacks=[objective.callback])
    objective = oxgb.OrdinalObjective(N_CLASSES, proportional=False)
    with pytest.raises(ValueError, match=r"pass callbacks=\[objective\.callback\]"):
        xgboost.train(BARE, dtrain, 2, obj=objective)
    with pytest.raises(ValueError, match=r"base_score must be 0\.0"):
        xgboost.train(BARE | {"base_score": 0.5}, dtrain, 2, obj=objective, callbacks=[objective.callback])
    xgboost.train(BARE, dtrain, 2, obj=objective, callbacks=[objective.callback])
    auto = oxgb.OrdinalObjective(N_CLASSES, proportional="auto")
    booster = xgboost.train(BARE, dtrain, 2, obj=auto, callbacks=[auto.callback])
    assert oxgb.threshold_record(booster).outputs is not None


def test_categorical_splits():
    X, y = data(800)
    groups = np.random.default_rng(0).integers(0, 8, len(y))
    y = np.clip(y + groups % 2, 0, N_CLASSES - 1)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(group=pd.Categorical(groups))
    model = XGBOrdinalClassifier(n_estimators=20, shift_method="host", n_jobs=1, max_cat_to_onehot=1)
    if from_version(CATEGORICAL_SPLITS, "categorical features", lambda: model.fit(frame, y)) is not None:
        assert model.feature_importances_[4] > 0.1
        one = model.predict_proba(frame.assign(group=pd.Categorical(groups * 0 + 1, categories=range(8))))
        other = model.predict_proba(frame.assign(group=pd.Categorical(groups * 0 + 2, categories=range(8))))
        assert one[:, -1].mean() > other[:, -1].mean() + 0.05


def test_dart_halves_no_steps():
    """Dropped trees raise the loss, which says nothing of the newest one."""
    X, y = data()
    objective = oxgb.OrdinalObjective(N_CLASSES, proportional=False)
    params = BARE | {"booster": "dart", "rate_drop": 0.7, "one_drop": 1, "eta": 1.0}
    dtrain, callbacks = xgboost.DMatrix(X, y), [objective.callback]
    done = from_version(DART, "dart", lambda: xgboost.train(params, dtrain, 20, obj=objective, callbacks=callbacks))
    if done is not None:
        assert objective.diagnostics_["n_raised"] > 2
        update = objective.training.latest.update
        assert isinstance(update, OutputUpdate)
        assert update._damping == 1.0


@pytest.mark.parametrize("n_classes", [2, N_CLASSES])
def test_contributions_sum_to_the_margins(n_classes):
    X, y = data()
    y = np.minimum(y, n_classes - 1)
    matrix = xgboost.DMatrix(X)
    model = XGBOrdinalClassifier(n_estimators=12, shift_method="host", shift_l2=1.0, max_depth=3, n_jobs=1).fit(X, y)
    found = from_version(
        CONTRIBUTIONS, "margin_contributions", lambda: oxgb.margin_contributions(model.booster_, matrix)
    )
    if found is not None:
        assert found.shape == (len(X), n_classes - 1, 5)
        np.testing.assert_allclose(found.sum(axis=2), model.predict_linear_predictors(X), atol=2e-5)
        part = oxgb.margin_contributions(model.booster_, matrix, (0, 5))
        earlier = oxgb.margin_contributions(model.booster_[:5], matrix)
        np.testing.assert_allclose(part, earlier, atol=1e-5)
        # The second feature moves the lower thresholds one way and the upper ones the other.
        if n_classes == N_CLASSES:
            low, high = (np.corrcoef(X[:, 1], found[:, k, 1])[0, 1] for k in (0, 3))
            assert low < -0.5 < 0.5 < high


@pytest.mark.parametrize("params", [{"eta": 0.5, "subsample": 0.1}, {"eta": 1.0, "subsample": 0.3}], ids=str)
def test_steps_that_are_too_long_are_halved(params):
    """Without that the loss rises in every second round and ends at twice that of the start."""
    X, y = data(1000, n_classes=12)
    record = oxgb.threshold_record(train(X, y, 60, params))
    assert 0 < record.diagnostics["n_raised"] < 20
    assert record.training_loss[-1] < 0.9 * record.training_loss[0]


@pytest.mark.parametrize("hessian", ["exact", "majorized"])
def test_no_round_raises_the_loss_at_the_default_penalty(hessian):
    X, y = data(1000)
    record = oxgb.threshold_record(train(X, y, 40, {"eta": 0.3}, hessian=hessian))
    assert record.diagnostics["n_raised"] == 0
    assert (np.diff(record.training_loss) <= 0).all()
