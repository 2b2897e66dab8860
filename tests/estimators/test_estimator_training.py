"""Training the classifiers: evaluation, early stopping, threshold updates, host parameters."""

from __future__ import annotations

import inspect

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.base import clone

from makers import BOTH, make_cat, make_lgb, make_xgb, mean_loss
from ordinal_objectives import CatBoostOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.metrics import ranked_probability_score
from ordinal_objectives.utils.validation import drawn_seed

GRADES = ["low", "medium", "high", "top"]


# Evaluation and early stopping


def test_xgboost_early_stopping(halves):
    X, y, Xv, yv = halves
    model = make_xgb(n_estimators=200, early_stopping_rounds=5).fit(X, y, eval_set=[(X, y), (Xv, yv)])
    losses = model.evals_result_["validation_1"]["all_threshold"]
    assert len(losses) < 200
    assert model.best_iteration_ == np.argmin(losses)
    assert model.n_iter_ == model.best_iteration_ + 1
    # Predictions use the trees and the thresholds of the best round.
    short = make_xgb(n_estimators=model.n_iter_).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(Xv), short.predict_proba(Xv), rtol=1e-6)
    np.testing.assert_allclose(oxgb.predict_proba(model.booster_, xgboost.DMatrix(Xv)), model.predict_proba(Xv))


def test_lightgbm_early_stopping(halves):
    X, y, Xv, yv = halves
    stop = lightgbm.early_stopping(5, verbose=False)
    model = make_lgb(n_estimators=200).fit(X, y, eval_set=[(Xv, yv)], callbacks=[stop])
    losses = model.evals_result_["valid_0"]["all_threshold"]
    assert len(losses) < 200
    assert model.best_iteration_ == model.n_iter_ == np.argmin(losses) + 1
    short = make_lgb(n_estimators=model.n_iter_).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(Xv), short.predict_proba(Xv), rtol=1e-9)
    np.testing.assert_allclose(olgbm.predict_proba(model.booster_, Xv), model.predict_proba(Xv))


def test_lightgbm_takes_both_spellings_of_evaluation_sets(halves):
    X, y, Xv, yv = halves
    one = make_lgb().fit(X, y, eval_set=[(Xv, yv)]).evals_result_
    assert make_lgb().fit(X, y, eval_set=(Xv, yv)).evals_result_ == one
    assert make_lgb().fit(X, y, eval_X=Xv, eval_y=yv).evals_result_ == one
    two = make_lgb().fit(X, y, eval_X=(X, Xv), eval_y=(y, yv), eval_names=["train", "held out"]).evals_result_
    assert list(two) == ["train", "held out"]
    assert two["held out"] == one["valid_0"]
    for wrong, message in [
        ({"eval_X": Xv}, "eval_X and eval_y go together; eval_y is None"),
        ({"eval_X": Xv, "eval_y": yv, "eval_set": [(Xv, yv)]}, "eval_set and eval_X, eval_y say the same thing"),
        ({"eval_X": (Xv,), "eval_y": yv}, "tuples of one length"),
        ({"eval_X": (Xv,), "eval_y": (yv, yv)}, "tuples of one length"),
        ({"eval_set": [Xv]}, r"eval_set must be a list of \(X, y\) pairs; got an entry of type ndarray"),
        ({"eval_set": [(Xv, yv)], "eval_sample_weight": [None, None]}, "eval_sample_weight must have one entry"),
        ({"eval_set": [(Xv[:, :2], yv)]}, "X has 2 features.*expecting 4"),
    ]:
        with pytest.raises(ValueError, match=message):
            make_lgb().fit(X, y, **wrong)


@BOTH
def test_metrics_use_the_thresholds_of_their_round(make, halves):
    X, y, Xv, yv = halves
    weight = np.linspace(0.5, 2, 300)
    if make is make_xgb:
        model = make(eval_metric=ranked_probability_score)
        model.fit(X, y, eval_set=[(Xv, yv)], sample_weight_eval_set=[weight])
        seen = model.evals_result_["validation_0"]
    else:

        def rps(y, proba, weight):
            return "ranked_probability_score", ranked_probability_score(y, proba, sample_weight=weight), False

        model = make().fit(X, y, eval_set=[(Xv, yv)], eval_sample_weight=[weight], eval_metric=rps)
        seen = model.evals_result_["valid_0"]
    expected = [ranked_probability_score(yv, P, sample_weight=weight) for P in model.staged_predict_proba(Xv)]
    np.testing.assert_allclose(seen["ranked_probability_score"], expected, rtol=1e-5)
    np.testing.assert_allclose(seen["all_threshold"][-1], mean_loss(model, Xv, yv, weight), rtol=1e-5)


@BOTH
def test_metrics_of_ones_own_follow_the_order_of_the_classes(make, halves):
    X, y, Xv, yv = halves
    grades = np.array(GRADES)
    rows = (yv > 0) & (yv < 3)
    held_out = [(Xv[rows], grades[yv[rows]])]
    model = make(classes=grades, n_estimators=4)
    if make is make_xgb:  # the metric is told that codes are codes where the rows lack a class
        model.set_params(eval_metric=ranked_probability_score).fit(X, grades[y], eval_set=held_out)
    else:

        def rps(y, proba):
            return "ranked_probability_score", ranked_probability_score(y, proba, labels=range(4)), False

        model.fit(X, grades[y], eval_set=held_out, eval_metric=rps)
    seen = next(iter(model.evals_result_.values()))["ranked_probability_score"]
    in_order = model.predict_proba_ordered(Xv[rows])
    assert seen[-1] == pytest.approx(ranked_probability_score(yv[rows], in_order, labels=range(4)), rel=1e-5)


@BOTH
@pytest.mark.parametrize("update", ["fixed", "newton", "schur", "joint"])
def test_every_threshold_update(make, update, ordinal_data):
    X, codes = ordinal_data(600, 4)
    y = np.array(GRADES)[codes]
    model = make(threshold_update=update, proportional=True, classes=GRADES)
    if make is make_xgb:
        fitted = model.set_params(n_estimators=100, early_stopping_rounds=3).fit(
            X[:300], y[:300], eval_set=[(X[300:], y[300:])]
        )
    else:
        fitted = model.set_params(n_estimators=100).fit(
            X[:300], y[:300], eval_X=X[300:], eval_y=y[300:], callbacks=[lightgbm.early_stopping(3, verbose=False)]
        )
    assert fitted.n_iter_ < 100
    seen = next(iter(fitted.evals_result_.values()))["all_threshold"]
    np.testing.assert_allclose(seen[fitted.n_iter_ - 1], mean_loss(fitted, X[300:], codes[300:]), rtol=1e-5)
    np.testing.assert_allclose(list(fitted.staged_predict_proba(X))[-1], fitted.predict_proba(X), atol=1e-6)
    prior = np.bincount(codes[:300]) / 300
    start = np.log(np.cumsum(prior)[:-1] / (1 - np.cumsum(prior)[:-1]))
    assert (update == "fixed") == np.allclose(fitted.thresholds_, start, atol=1e-6)


@BOTH
def test_leaf_renewal_refuses_what_it_cannot_do(make, data):
    with pytest.raises(ValueError, match=r"(reg_alpha|lambda_l1|alpha).*newton"):
        make(threshold_update="joint", reg_alpha=1.0).fit(*data)


# Host parameters


@BOTH
def test_host_parameters_pass_through(make, data):
    X, y = data
    model = make(min_child_weight=5.0, max_delta_step=0.1, random_state=3)
    assert model.get_params()["max_delta_step"] == 0.1
    again = clone(model)
    assert again.get_params() == model.get_params()
    again.set_params(max_delta_step=0.0, min_child_weight=1.0)
    assert again.get_params()["max_delta_step"] == 0.0
    assert "max_delta_step=0.1" in repr(model)
    assert np.ptp(again.fit(X, y).predict_raw(X)) > np.ptp(model.fit(X, y).predict_raw(X))


@pytest.mark.slow
@BOTH
def test_random_state_makes_it_reproducible(make, data):
    X, y = data
    options = {"subsample": 0.5, **({"subsample_freq": 1} if make is make_lgb else {})}
    first = make(random_state=0, **options).fit(X, y).predict_raw(X)
    np.testing.assert_array_equal(make(random_state=0, **options).fit(X, y).predict_raw(X), first)
    assert (make(random_state=1, **options).fit(X, y).predict_raw(X) != first).any()
    drawn = [make(random_state=np.random.RandomState(5), **options).fit(X, y).predict_raw(X) for _ in range(2)]
    np.testing.assert_array_equal(*drawn)
    with pytest.raises(ValueError, match="cannot be used to seed"):
        make(random_state="today").fit(X, y)


@pytest.mark.parametrize("make", [make_xgb, make_lgb, make_cat])
def test_a_training_draws_one_seed(make, data):
    used, expected = np.random.RandomState(5), np.random.RandomState(5)
    make(random_state=used).fit(*data)
    drawn_seed(expected)
    assert used.randint(2**31) == expected.randint(2**31)


@pytest.mark.parametrize("kind", [XGBOrdinalClassifier, LGBMOrdinalClassifier, CatBoostOrdinalClassifier])
def test_the_words_of_a_host_are_those_of_its_classifier(kind):
    host, names, of_fit = kind._host, kind._get_param_names(), inspect.signature(kind.fit).parameters
    assert {host.rounds_name, host.stopping_name, *host.row_parameters} <= {*names}
    assert {*host.choices.unsearched, *(name for one in host.choices.tried.values() for name in one.settings[0])} <= {
        *names
    }
    assert {host.start_name, host.continued_name} <= {*of_fit}
    assert host.entry_point == kind.__name__
