"""The classifiers inside scikit-learn's tools, in other processes, and as model files."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn import config_context
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from makers import BOTH, make_lgb, make_xgb
from ordinal_objectives import XGBOrdinalClassifier
from ordinal_objectives.adapters import xgb as oxgb
from ordinal_objectives.threads import library_n_threads

pytestmark = pytest.mark.slow


@pytest.fixture
def data(ordinal_data):
    return ordinal_data(400, 4)


# scikit-learn's tools


@BOTH
def test_metadata_routing(make, data):
    X, y = data
    weight = np.where(y >= 2, 4.0, 1.0)
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipe = make_pipeline(scaler, make().set_fit_request(sample_weight=True))
        routed = pipe.fit(X, y, sample_weight=weight).predict_proba(X)
        results = cross_validate(
            make().set_fit_request(sample_weight=True).set_score_request(sample_weight=True),
            X, y, params={"sample_weight": weight}, return_estimator=True, cv=2,
        )  # fmt: skip
    scaled = StandardScaler().fit(X).transform(X)
    np.testing.assert_array_equal(routed, make().fit(scaled, y, sample_weight=weight).predict_proba(scaled))
    unweighted = cross_validate(make(), X, y, cv=2, return_estimator=True)
    for with_weight, without in zip(results["estimator"], unweighted["estimator"], strict=True):
        assert (with_weight.predict_proba(X)[:, 2:].sum(1) > without.predict_proba(X)[:, 2:].sum(1)).mean() > 0.8


# Processes


FORK_DURING_FIT = """
import os, warnings
import numpy as np
from ordinal_objectives import HistGradientBoostingOrdinalClassifier
warnings.simplefilter("ignore", DeprecationWarning)

X, y = np.random.default_rng(0).normal(size=(20_000, 5)), np.arange(20_000) % 4
model = HistGradientBoostingOrdinalClassifier(max_iter=4, n_jobs=2, random_state=0, early_stopping=False)
expected = model.fit(X, y).predict_proba(X)
child = None

def fork(iteration, evals):
    global child
    if iteration == 2:
        child = os.fork()
        if child == 0 and how == "leaves":
            raise InterruptedError

for how in ("goes on", "leaves"):
    try:
        same = (model.fit(X, y, callback=fork).predict_proba(X) == expected).all()
    except InterruptedError:
        same = True
    if child == 0:
        os._exit(0 if same else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, f"the child that {how}"
    assert same, how
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fork_in_the_middle_of_a_fit_does_not_hang(tmp_path):
    """The child has no helpers: it does their work, and waits for none at its end."""
    process = subprocess.Popen([sys.executable, "-c", FORK_DURING_FIT], start_new_session=True, cwd=tmp_path)
    try:
        assert process.wait(timeout=60) == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_asks_for_one_thread():
    assert library_n_threads(2) == 2
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(library_n_threads, (2,)) == 1


# Model files


FORMATS = pytest.mark.parametrize(
    ("make", "name"), [(make_xgb, "model.json"), (make_xgb, "model.ubj"), (make_lgb, "model.txt")]
)


@FORMATS
@pytest.mark.parametrize("update", ["newton", "joint"])
def test_model_file_round_trip(make, name, update, data, tmp_path):
    X, y = data
    grades = np.array(["low", "medium", "high", "top"])
    frame = pd.DataFrame(X, columns=list("abcd"))
    cost = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) ** 1.5
    options = {"link": "probit", "threshold_update": update, "proportional": True}
    model = make(classes=grades, cost_matrix=cost, **options).fit(frame, grades[y])
    model.save_model(tmp_path / name)
    again = make().load_model(tmp_path / name)
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert again.ordered_classes_.tolist() == grades.tolist()
    assert again.classes_.tolist() == sorted(grades)
    assert again.feature_names_in_.tolist() == list("abcd")
    assert (again.n_features_in_, again.n_iter_, again.link) == (4, model.n_iter_, "probit")
    assert again.threshold_update == update
    assert again.diagnostics_ == model.diagnostics_
    np.testing.assert_array_equal(again.thresholds_, model.thresholds_)
    np.testing.assert_array_equal(again.fit(frame, grades[y]).predict(frame), model.predict(frame))


def test_model_trained_without_the_classifier_is_loaded(data, tmp_path):
    X, y = data
    objective = oxgb.OrdinalObjective(4)
    params = {"base_score": 0.0, "disable_default_eval_metric": 1, "max_depth": 2}
    dtrain = xgboost.DMatrix(X, y)
    booster = xgboost.train(params, dtrain, 5, obj=objective, callbacks=[objective.callback])
    booster.save_model(tmp_path / "bare.json")
    model = XGBOrdinalClassifier().load_model(tmp_path / "bare.json")
    assert model.classes_.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(model.predict_proba(X), objective.predict_proba(booster, dtrain))
    named = XGBOrdinalClassifier(classes=list("abcd")).load_model(tmp_path / "bare.json")
    assert set(named.predict(X)) <= set("abcd")
    with pytest.raises(ValueError, match="classes must hold the model's 4 labels; got 3"):
        XGBOrdinalClassifier(classes=list("abc")).load_model(tmp_path / "bare.json")


@BOTH
def test_failed_load_leaves_the_model_as_it_was(make, data, tmp_path):
    X, y = data
    model = make().fit(X, y)
    before = model.predict_proba(X)
    plain = tmp_path / "plain.json"
    if make is make_xgb:
        xgboost.train({}, xgboost.DMatrix(X, y), 2).save_model(plain)
    else:
        lightgbm.train({"verbosity": -1}, lightgbm.Dataset(X, y), 2).save_model(plain)
    with pytest.raises(ValueError, match="no ordinal thresholds"):
        model.load_model(plain)
    np.testing.assert_array_equal(model.predict_proba(X), before)
