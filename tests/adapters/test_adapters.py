"""The objectives of both frameworks: what they refuse, and that their state never leaks."""

from __future__ import annotations

import copy
import json

import lightgbm
import numpy as np
import pytest
import xgboost
from hypothesis import given, strategies as st

from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.losses import get_loss
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver.record import ThresholdRecord

XGB_PARAMS = {"base_score": 0.0, "disable_default_eval_metric": 1, "max_depth": 3}
LGB_PARAMS = {"num_leaves": 8, "verbosity": -1, "metric": "None", "min_data_in_leaf": 5}


def train_xgb(objective, X, y, rounds=10, params=None, callback=True, **kwargs):
    callbacks = [objective.callback] if callback else []
    matrix = xgboost.DMatrix(X, y, **kwargs)
    return xgboost.train({**XGB_PARAMS, **(params or {})}, matrix, rounds, obj=objective, callbacks=callbacks)


def train_lgb(objective, X, y, rounds=10, params=None, callback=True, **kwargs):
    callbacks = [objective.callback] if callback else []
    data = lightgbm.Dataset(X, y, **kwargs)
    return lightgbm.train({**LGB_PARAMS, **(params or {}), "objective": objective}, data, rounds, callbacks=callbacks)


TRAINERS = pytest.mark.parametrize(
    ("make", "train"), [(oxgb.OrdinalObjective, train_xgb), (olgbm.OrdinalObjective, train_lgb)]
)


@TRAINERS
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 2, 5], r"labels outside the declared classes 0\.\.2; got 5"),
        ([0, 1, 2, -1], "got -1"),
        ([0, 1, 2, 0.5], "integer class codes; got 0.5"),
        ([1, 1, 1, 1], "at least two classes.*got only class 1"),
        ([1, 2, 3, 3], "got 3"),
    ],
)
@pytest.mark.parametrize("callback", [True, False])
def test_bad_labels_are_refused(make, train, labels, message, callback):
    # NaN labels never arrive: XGBoost refuses them, and LightGBM's Dataset turns them into 0.
    X = np.arange(40.0).reshape(40, 1)
    y = np.tile(labels, 10)
    with pytest.raises(ValueError, match=message):
        train(make(3), X, y, callback=callback)
    if min(labels) == 1 and max(labels) > 1:
        with pytest.raises(ValueError, match=r"codes, which start at 0; got 1\.\.3\. Subtract 1, or pass n_classes=4"):
            train(make(), X, y, callback=callback)
        train(make(4), X, y, callback=True)


@TRAINERS
def test_weights_of_zero_are_refused(make, train, ordinal_data):
    X, y = ordinal_data(100)
    with pytest.raises(ValueError, match="zero for every row"):
        train(make(5), X, y, weight=np.zeros(100))


@pytest.mark.parametrize("callback", [True, False])
@pytest.mark.parametrize("base_score", [0.5, None])
def test_xgboost_base_score_is_refused(ordinal_data, base_score, callback):
    params = {} if base_score is None else {"base_score": base_score}
    objective = oxgb.OrdinalObjective(5)
    callbacks = [objective.callback] if callback else []
    with pytest.raises(ValueError, match=r"base_score must be 0\.0.*starts at 0\.5"):
        xgboost.train(params, xgboost.DMatrix(*ordinal_data(100)), 2, obj=objective, callbacks=callbacks)


def test_xgboost_builtin_objective_is_refused(ordinal_data):
    with pytest.raises(ValueError, match="'binary:logistic' is not allowed"):
        train_xgb(oxgb.OrdinalObjective(5), *ordinal_data(100), params={"objective": "binary:logistic"})


@TRAINERS
@pytest.mark.parametrize("callback", [True, False])
def test_num_class_is_refused(make, train, ordinal_data, callback):
    with pytest.raises(ValueError, match="num_class"):
        train(make(5), *ordinal_data(100), params={"num_class": 5}, callback=callback)


@TRAINERS
def test_parameters_and_arrays_are_left_alone(make, train, ordinal_data):
    X, y = ordinal_data(200)
    params = {"max_depth": 2}
    before = copy.deepcopy((X, y, params))
    train(make(5), X, y, params=params)
    if train is train_xgb:
        oxgb.train(params, xgboost.DMatrix(X, y), 3)
    else:
        olgbm.train(params, lightgbm.Dataset(X, y), 3)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])
    assert params == before[2]


@TRAINERS
def test_wrong_lengths_are_named(make, train, ordinal_data):
    X, y = ordinal_data(200)
    objective = make(5)
    train(objective, X, y)
    matrix = xgboost.DMatrix(X, y) if train is train_xgb else lightgbm.Dataset(X, y).construct()
    with pytest.raises(ValueError, match=r"raw_prediction must have shape \(200,\).*got \(3,\)"):
        objective(*([0] if train is train_xgb else []), np.zeros(3, np.float32), matrix)


@pytest.mark.parametrize(
    ("make", "train", "callback"),
    [
        (oxgb.OrdinalObjective, train_xgb, True),
        (oxgb.OrdinalObjective, train_xgb, False),
        (olgbm.OrdinalObjective, train_lgb, True),
    ],
)
def test_one_objective_many_trainings(make, train, ordinal_data, callback):
    """A second training with the same object equals one with a fresh object."""
    X, y = ordinal_data(300)
    Z, z = ordinal_data(300, seed=4)
    objective = make(5)
    train(objective, X, y, callback=callback)
    again = train(objective, Z, z, callback=callback)
    fresh = make(5)
    alone = train(fresh, Z, z, callback=callback)
    np.testing.assert_array_equal(objective.thresholds_, fresh.thresholds_)
    rows = xgboost.DMatrix(Z) if train is train_xgb else Z
    np.testing.assert_array_equal(again.predict(rows), alone.predict(rows))


@pytest.mark.parametrize("update", ["newton", "schur"])
def test_xgboost_cv_leaks_nothing(ordinal_data, update):
    X, y = ordinal_data(300)
    folds = [(np.arange(100, 300), np.arange(100)), (np.arange(200), np.arange(200, 300))]
    objective = oxgb.OrdinalObjective(5, threshold_update=update)
    result = xgboost.cv(
        XGB_PARAMS, xgboost.DMatrix(X, y), 6, folds=folds, obj=objective, custom_metric=objective.metric,
        callbacks=[objective.callback], as_pandas=False,
    )  # fmt: skip
    losses = []
    for fit, test in folds:
        single = oxgb.OrdinalObjective(5, threshold_update=update)
        seen: dict = {}
        xgboost.train(
            XGB_PARAMS, xgboost.DMatrix(X[fit], y[fit]), 6, obj=single, custom_metric=single.metric,
            callbacks=[single.callback], evals=[(xgboost.DMatrix(X[test], y[test]), "v")], evals_result=seen,
            verbose_eval=False,
        )  # fmt: skip
        losses.append(seen["v"]["all_threshold"])
    np.testing.assert_allclose(result["test-all_threshold-mean"], np.mean(losses, axis=0), rtol=1e-5)


@pytest.mark.parametrize("update", ["fixed", "newton", "schur"])
def test_lightgbm_cv_leaks_nothing(ordinal_data, update):
    """Each fold is the training of that fold alone: trees, thresholds and losses, bit for bit."""
    X, y = ordinal_data(300)
    thirds = np.array_split(np.random.default_rng(0).permutation(300), 3)
    folds = [(np.setdiff1d(np.arange(300), test), np.sort(test)) for test in thirds]
    objective = olgbm.OrdinalObjective(5, threshold_update=update)
    params = {**LGB_PARAMS, "objective": objective}
    data = lightgbm.Dataset(X, y, free_raw_data=False)
    result = lightgbm.cv(
        params, data, 6, folds=folds, feval=objective.metric, callbacks=[objective.callback], return_cvbooster=True
    )
    losses = []
    for (fit, test), fold in zip(folds, result["cvbooster"].boosters, strict=True):
        single = olgbm.OrdinalObjective(5, threshold_update=update)
        seen: dict = {}
        booster = lightgbm.train(
            {**LGB_PARAMS, "objective": single}, data.subset(fit).construct(), 6, valid_sets=[data.subset(test)],
            valid_names=["v"], feval=single.metric, callbacks=[single.callback, lightgbm.record_evaluation(seen)],
        )  # fmt: skip
        losses.append(seen["v"]["all_threshold"])
        records = [olgbm.threshold_record(one) for one in (fold, booster)]
        np.testing.assert_array_equal(records[0].thresholds, records[1].thresholds)
        np.testing.assert_array_equal(records[0].training_loss, records[1].training_loss)
        np.testing.assert_array_equal(olgbm.predict_proba(fold, X), olgbm.predict_proba(booster, X))
    # lightgbm.cv stores the first round's metric before a callback can show the objective its boosters.
    for name, statistic in (("mean", np.mean), ("stdv", np.std)):
        expected = statistic(losses, axis=0)[1:]
        np.testing.assert_allclose(result[f"valid all_threshold-{name}"][1:], expected, rtol=1e-5)


def test_booster_without_thresholds_is_refused(ordinal_data, tmp_path):
    X, y = ordinal_data(100)
    dtrain = xgboost.DMatrix(X, y)
    with pytest.raises(ValueError, match="booster carries no ordinal thresholds"):
        oxgb.predict_proba(xgboost.train({}, dtrain, 2), dtrain)
    plain = lightgbm.train({"verbosity": -1}, lightgbm.Dataset(X, y), 2)
    with pytest.raises(ValueError, match="booster carries no ordinal thresholds"):
        olgbm.predict_proba(plain, X)
    plain.save_model(tmp_path / "plain.txt")
    with pytest.raises(ValueError, match="holds no ordinal thresholds"):
        olgbm.load_model(tmp_path / "plain.txt")
    with pytest.raises(ValueError, match="carries no ordinal thresholds"):
        olgbm.save_model(plain, tmp_path / "other.txt")


@pytest.mark.parametrize("value", [(2, 4), (0, 10_000), (0, -1), (1, 0)])
def test_other_iteration_ranges_are_refused(ordinal_data, value):
    X, y = ordinal_data(200)
    booster = oxgb.train({}, xgboost.DMatrix(X, y), 5)
    with pytest.raises(ValueError, match=r"iteration_range must start at 0.* end at one of 0\.\.5"):
        oxgb.predict_proba(booster, xgboost.DMatrix(X), value)


@given(
    st.lists(st.lists(st.floats(-1e300, 1e300), min_size=3, max_size=3).map(sorted), min_size=1, max_size=5),
    st.sampled_from(["all_threshold", "cumulative_link"]),
)
def test_record_round_trips_exactly(thresholds, loss):
    rows, losses = [np.array(row) for row in thresholds], [float("nan"), *[0.1] * (len(thresholds) - 1)]
    record = ThresholdRecord(OrdinalSpec(get_loss(loss)), rows, losses, {"n_halved": 2})
    again = ThresholdRecord.from_json(record.to_json())
    np.testing.assert_array_equal(again.thresholds, record.thresholds)
    np.testing.assert_array_equal(again.training_loss, record.training_loss)
    assert again.diagnostics == {"n_halved": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "damaged"),
        ("[]", "damaged"),
        ('{"format": "other", "version": 1}', "it has format 'other'"),
        ('{"format": "ordinal_objectives", "version": 99}', "version 99; this version"),
        ('{"format": "ordinal_objectives", "version": 1}', "damaged"),
        (
            json.dumps(
                {
                    "format": "ordinal_objectives",
                    "version": 1,
                    "loss": "all_threshold",
                    "link": "logit",
                    "hessian": "exact",
                    "threshold_update": "newton",
                    "proportional": True,
                    "shift_l2": None,
                    "shift_penalty": "ridge",
                    "max_shifts": None,
                    "thresholds": [[1, 0]],
                    "training_loss": [],
                    "diagnostics": {},
                    **dict.fromkeys(["classifier", "trees", "last_only", "outputs", "linear"]),
                    "leaf_vectors": [],
                    "random_effects": [],
                }
            ),
            "damaged.*increasing order",
        ),
    ],
)
def test_damaged_record_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        ThresholdRecord.from_json(text)
