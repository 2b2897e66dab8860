"""Models whose thresholds move with x: files, classifiers, cross-validation."""

from __future__ import annotations

import json
import pickle

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.base import clone

from ordinal_objectives import AllThreshold, XGBOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from shifting import CLASSIFIERS, N_CLASSES, OnLightGBM, OnXGBoost, data, mean_loss

pytestmark = pytest.mark.slow


def test_the_record_with_shifts_is_read_again():
    X, y = data(200)
    record = oxgb.threshold_record(OnXGBoost.train(X, y, 3, n_classes=N_CLASSES))
    content = json.loads(record.to_json())
    again = ThresholdRecord.from_json(record.to_json())
    assert again.shifts == record.shifts
    for one, other in zip(again.leaf_vectors, record.leaf_vectors, strict=True):
        np.testing.assert_array_equal(one, other)
    content["leaf_vectors"][0]["float32"] = content["leaf_vectors"][0]["float32"][:-8]
    with pytest.raises(ValueError, match="damaged"):
        ThresholdRecord.from_json(json.dumps(content))
    plain = oxgb.threshold_record(OnXGBoost.train(X, y, 3, n_classes=N_CLASSES, proportional=True))
    assert json.loads(plain.to_json())["leaf_vectors"] == []


@CLASSIFIERS
def test_classifiers_predict_from_margins(make, tmp_path):
    X, y = data(800)
    labels = np.array(["e", "d", "c", "b", "a"])
    model = make(
        n_estimators=20, proportional=False, shift_l2=2.0, shift_penalty="smooth", classes=labels, random_state=0
    ).fit(X, labels[y])
    assert not model.proportional_
    proba = model.predict_proba_ordered(X)
    margins = model.thresholds_ - model._scores(X)
    np.testing.assert_allclose(proba, AllThreshold().margin_proba(margins), atol=1e-12)
    np.testing.assert_allclose(model.predict_cumulative_proba(X), proba.cumsum(axis=1)[:, :-1], atol=1e-12)
    np.testing.assert_allclose(model.predict_raw(X), model._scores(X).mean(axis=1))
    np.testing.assert_array_equal(list(model.staged_predict_proba(X))[-1], model.predict_proba(X))
    model.save_model(tmp_path / "model.json")
    loaded = make().load_model(tmp_path / "model.json")
    assert (loaded.proportional, loaded.shift_l2, loaded.shift_penalty) == (False, 2.0, "smooth")
    for other in (pickle.loads(pickle.dumps(model)), loaded):
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(clone(model).fit(X, labels[y]).predict_proba(X), model.predict_proba(X))


@CLASSIFIERS
def test_classifiers_stop_early_and_go_on(make):
    (X, y), (Xv, yv) = data(), data(300, seed=2)
    stopper = {
        "early_stopping_rounds" if make is XGBOrdinalClassifier else "early_stopping_round": 5,
        "learning_rate": 0.5,
    }
    model = make(n_estimators=200, proportional=False, shift_l2=0.1, **stopper).fit(X, y, eval_set=[(Xv, yv)])
    assert model.n_iter_ < 200
    history = np.array(next(iter(model.evals_result_.values()))["all_threshold"])
    assert model.n_iter_ == history.argmin() + 1
    margins = np.sort(model.thresholds_ - model._scores(Xv), axis=1)
    assert history.min() == pytest.approx(mean_loss(AllThreshold(), margins, yv), rel=1e-6)
    more = make(n_estimators=3, proportional=False, shift_l2=0.1, learning_rate=0.5)
    given = {"xgb_model" if make is XGBOrdinalClassifier else "init_model": model}
    more.fit(X, y, **given)
    assert more._record.n_iterations >= model.n_iter_ + 3


@pytest.mark.parametrize("options", [{"proportional": False}, {"proportional": True}], ids=["shifts", "joint"])
def test_cross_validation_follows_every_fold(options):
    X, y = data()
    halves = [(np.arange(0, 600, 2), np.arange(1, 600, 2)), (np.arange(1, 600, 2), np.arange(0, 600, 2))]
    expected = {"xgb": [], "lgbm": []}
    for train, test in halves:
        for host in (OnXGBoost, OnLightGBM):
            kept = {}
            host.train(
                X[train], y[train], 5, valid=[(X[test], y[test])], evals_result=kept, n_classes=N_CLASSES, **options
            )
            expected[host.name].append(kept["valid_0"]["all_threshold"])
    found = oxgb.cv(OnXGBoost.options, xgboost.DMatrix(X, y), 5, folds=halves, as_pandas=False, **options)
    np.testing.assert_allclose(found["test-all_threshold-mean"], np.mean(expected["xgb"], axis=0), rtol=1e-6)
    frame = lightgbm.Dataset(X, y, free_raw_data=False)
    found = olgbm.cv(OnLightGBM.options, frame, 5, folds=halves, **options)
    np.testing.assert_allclose(found["valid all_threshold-mean"], np.mean(expected["lgbm"], axis=0), rtol=0.02)
