"""Random forests of the native engine."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from makers import make_engine
from ordinal_objectives.histogram_engine.run import Sampler
from ordinal_objectives.losses import AllThreshold
from ordinal_objectives.metrics import ranked_probability_score as rps


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2000, 6))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * rng.logistic(size=2000), [-1.5, -0.2, 1.4])
    return X[:1000], y[:1000], X[1000:], y[1000:]


def make(**params):
    shared = {"boosting_type": "rf", "max_iter": 60, "max_leaf_nodes": None, "min_samples_leaf": 3, "max_features": 0.5}
    return make_engine(**shared | {"subsample": 0.632, "random_state": 0, **params})


def test_rows_out_of_bag_tell_of_new_rows(data):
    X, y, X_test, y_test = data
    model = make().fit(X, y)
    oob = model.oob_decision_function_
    assert oob.shape == (1000, 4)
    assert np.isfinite(oob).all()
    of_new = rps(y_test, model.predict_proba(X_test))
    assert rps(y, oob) == pytest.approx(of_new, rel=0.08)
    assert rps(y, model.predict_proba(X)) < 0.8 * of_new
    few = make(max_iter=2).fit(X, y)
    assert 0.2 < np.isnan(few.oob_decision_function_).any(axis=1).mean() < 0.6


def test_it_is_the_mean_of_its_trees_and_its_thresholds_fit_the_rows_out_of_bag(data):
    X, y, *_ = data
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    model = make(max_iter=8).fit(X, y, sample_weight=weight)
    total, n_out, loss = np.zeros(1000), np.zeros(1000), AllThreshold()
    sampler = Sampler(1000, 6, None, 0.632, 1.0, model._seed)
    for i in range(8):
        outside = sampler.draw(i)[0].outside
        total[outside] += 8 * model._score(X, i, i + 1)[outside]
        n_out[outside] += 1
    known = n_out > 0
    score = total[known] / n_out[known]
    of_rows = loss.round_statistics(score, y[known], model.thresholds_, weight[known])
    assert_allclose(of_rows.sums.threshold_gradient, 0.0, atol=1e-3 * weight.sum())
    assert model.oob_loss_ == pytest.approx(of_rows.sums.loss / weight[known].sum(), rel=1e-6)
    proba = loss.predict_proba(score, model.thresholds_)
    assert_allclose(model.oob_decision_function_[known], proba, atol=1e-6)
    for scale in (0.8, 1.25):  # no other scale is better, whatever the thresholds
        other = loss.round_statistics(scale * score, y[known], model.thresholds_, weight[known])
        assert other.sums.loss > of_rows.sums.loss


@pytest.mark.parametrize(
    "params",
    [
        {"threshold_update": "newton"},
        {"threshold_update": "fixed"},
        {"order": 3},
        {"loss": "cumulative_link", "link": "probit"},
        {"training_cost": "quadratic"},
        {"linear": True},
    ],
    ids=str,
)
def test_kinds_of_forests_beat_the_class_shares(data, params):
    X, y, X_test, y_test = data
    model = make(**{"max_iter": 30} | params).fit(X, y, X_val=X_test, y_val=y_test)
    assert model.n_iter_ == params.get("max_iter", 30)
    first, last = (model.evals_result_["validation"][i] for i in (0, -1))
    assert last < (0.97 if "linear" in params else 0.93) * first  # the linear part comes first
    assert len(model.evals_result_["validation"]) == len(model.threshold_history_) == model.n_iter_ + 1


def test_monotone_forests_are_monotone(data):
    X, y, *_ = data
    model = make(monotonic_cst=[1, -1, 0, 0, 0, 0]).fit(X, y)
    rng = np.random.default_rng(0)
    low = rng.normal(size=(5000, 6))
    for feature, sign in ((0, 1), (1, -1)):
        high = low.copy()
        high[:, feature] += sign * rng.exponential(size=5000)
        assert (model.predict_cumulative_proba(high) <= model.predict_cumulative_proba(low) + 1e-15).all()


def test_threads_files_and_pickles(data, tmp_path):
    X, y, X_test, _ = data
    one, two = (make(n_jobs=n, max_iter=20).fit(X, y) for n in (1, 2))
    expected = one.predict_proba(X_test)
    assert_array_equal(two.predict_proba(X_test), expected)
    one.save_model(tmp_path / "model")
    loaded = type(one)().load_model(tmp_path / "model")
    assert_array_equal(loaded.predict_proba(X_test), expected)
    with pytest.raises(AttributeError, match="not in a file"):
        loaded.oob_decision_function_  # noqa: B018
    again = pickle.loads(pickle.dumps(one))
    assert_array_equal(again.oob_decision_function_, one.oob_decision_function_)
    for model in (one, loaded):
        with pytest.raises(ValueError, match="a random forest has no stages"):
            next(model.staged_predict(X))
    assert not hasattr(make_engine().fit(X, y), "oob_loss_")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"boosting_type": "dart"}, "boosting_type"),
        ({"subsample": 1.0}, "boosting_type='rf' needs rows that a tree does not know"),
        ({"proportional": False}, "boosting_type='rf' fits one score to the rows out of bag"),
        ({"data_sample_strategy": "goss"}, "data_sample_strategy"),
        ({"pruning": True}, "pruning must"),
        ({"rebin_every": 3}, "rebin_every"),
        ({"early_stopping": True}, "early_stopping"),
        ({"linear": "auto"}, "linear must"),
    ],
)
def test_what_makes_no_sense_is_refused(data, params, message):
    X, y, *_ = data
    with pytest.raises(ValueError, match=message):
        make(**params).fit(X, y)


def test_a_forest_is_not_continued(data):
    X, y, *_ = data
    model = make(warm_start=True, max_iter=5).fit(X, y)
    with pytest.raises(ValueError, match="warm_start continues trees that follow each other"):
        model.set_params(max_iter=10).fit(X, y)
    with pytest.raises(ValueError, match="warm_start continues trees that follow each other"):
        model.set_params(boosting_type="gbdt", proportional=True).fit(X, y)
