"""Two options of one training of a library, beside the same training said another way."""

from __future__ import annotations

import threading
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost

from grouped_rows import simulated
from ordinal_objectives import XGBOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.adapters.lgbm.prediction import _Gate
from ordinal_objectives.metrics import ordinal_log_loss, ranked_probability_score

LGB = {"num_leaves": 6, "learning_rate": 0.3, "min_data_in_leaf": 5, "num_threads": 1, "verbosity": -1}
XGB = {"max_depth": 3, "eta": 0.3, "nthread": 1}


@pytest.fixture
def rows(ordinal_data):
    X, y = ordinal_data(300, 6)
    return X[:200], y[:200], X[200:], y[200:]


@pytest.mark.parametrize("proportional", [True, False])
@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_a_metric_beside_shared_shifts_is_that_of_the_predictions(library, proportional, rows):
    X, y, Xv, yv = rows
    rps: Any
    options = {"proportional": proportional, **({} if proportional else {"max_shifts": 2})}
    if library == "xgboost":
        found, evals = {}, [(xgboost.DMatrix(Xv, yv), "held_out")]
        rps = lambda proba, data: ("rps", ranked_probability_score(data.get_label().astype(int), proba))  # noqa: E731
        options |= {"evals": evals, "evals_result": found, "custom_metric": rps, "verbose_eval": False}
        booster = oxgb.train(XGB, xgboost.DMatrix(X, y), 5, **options)
        proba = [oxgb.predict_proba(booster, evals[0][0], iteration_range=(0, n)) for n in range(1, 6)]
    else:
        found, train_set = {}, lightgbm.Dataset(X, y)
        rps = lambda proba, data: ("rps", ranked_probability_score(data.get_label().astype(int), proba), False)  # noqa: E731
        options |= {"valid_sets": [lightgbm.Dataset(Xv, yv, reference=train_set)], "valid_names": ["held_out"]}
        recorded = lightgbm.record_evaluation(found)
        booster = olgbm.train(LGB, train_set, 5, feval=rps, callbacks=[recorded], **options)
        proba = [olgbm.predict_proba(booster, Xv, num_iteration=n) for n in range(1, 6)]
    by_hand = [ranked_probability_score(yv, each) for each in proba]
    np.testing.assert_allclose(found["held_out"]["rps"], by_hand, rtol=1e-5)


def test_start_scores_of_lightgbm_are_in_the_last_effects_as_a_linear_part_would_be():
    X, y, _, group = simulated(20, 3, n_groups=30)
    options = {"loss": "cumulative_link", "threshold_update": "newton", "random_intercept": group}

    def trained(start):
        # Trees have nothing to split: score, effects and thresholds are all that there is.
        data = lightgbm.Dataset(np.zeros((len(y), 1)), y, init_score=start, params={"feature_pre_filter": False})
        return olgbm.threshold_record(olgbm.train(LGB, data, 30, **options))

    plain, started = trained(None), trained(X[:, 0].copy())
    effects, thresholds = started.random_effects[0].effects, started.thresholds[-1]

    def loss(effects, thresholds):
        f = X[:, 0] + effects[group]
        bounds = np.concatenate([[-np.inf], thresholds, [np.inf]])
        upper, lower = (1 / (1 + np.exp(f - bounds[y + above])) for above in (1, 0))
        return -np.log(upper - lower).sum() + (effects**2).sum() / (2 * started.random_effects[0].variance)

    # The effects are those of the highest penalised likelihood at the scores.
    least = loss(effects, thresholds)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert loss(effects + 0.01 * rng.normal(size=len(effects)), thresholds) > least
        assert loss(effects, thresholds + 0.01 * rng.normal(size=len(thresholds))) > least
    assert np.abs(plain.random_effects[0].effects - effects).max() > 0.05


def test_given_thresholds_stay_beside_start_scores(rows):
    X, y, _, _ = rows
    given = [-3.0, -1.5, 0.0, 1.5, 3.0]
    fixed = {"threshold_update": "fixed", "thresholds": given}
    shifted = [0.5 + value for value in given]
    booster = oxgb.train(
        XGB, xgboost.DMatrix(X, y, base_margin=np.full(len(y), 0.5)), 4, **fixed | {"thresholds": shifted}
    )
    alone = oxgb.train(XGB, xgboost.DMatrix(X, y), 4, **fixed)
    np.testing.assert_allclose(oxgb.threshold_record(booster).thresholds[-1], shifted)
    proba = oxgb.predict_proba(booster, xgboost.DMatrix(X, base_margin=np.full(len(y), 0.5)))
    np.testing.assert_allclose(proba, oxgb.predict_proba(alone, xgboost.DMatrix(X)), atol=1e-5)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_thresholds_of_a_model_with_shifts_may_cross_where_it_goes_on(library, rows):
    """Only the shifted thresholds of a row are ordered: the means over rows need not be."""
    X, y, _, _ = rows
    crossing = np.array([-2.0, -1.0, 0.2, 0.1, 2.0])
    options = {"proportional": False, "thresholds": crossing, "threshold_update": "newton"}
    if library == "xgboost":
        found = oxgb.threshold_record(oxgb.train(XGB, xgboost.DMatrix(X, y), 2, **options))
    else:
        found = olgbm.threshold_record(olgbm.train(LGB, lightgbm.Dataset(X, y), 2, **options))
    np.testing.assert_array_equal(found.thresholds[0], crossing)


def test_cross_validation_has_the_deviation_of_its_first_round(rows):
    X, y, _, _ = rows
    folds = [(np.delete(np.arange(200), held), held) for held in np.arange(200).reshape(4, 50)]
    objective, seen = olgbm.OrdinalObjective(n_classes=6, threshold_update="newton"), []
    params = {**LGB, "objective": objective, "metric": "None"}
    # It sees the boosters after the first round, and renews what later callbacks are shown of it.
    callbacks = [objective.callback, lambda env: seen.append(env.evaluation_result_list[0])]
    ours = olgbm.cv(LGB, lightgbm.Dataset(X, y), 3, folds=folds, threshold_update="newton")
    lightgbm.cv(params, lightgbm.Dataset(X, y), 3, folds=folds, feval=objective.metric, callbacks=callbacks)
    shown = {f"valid all_threshold-{what}": [of[place] for of in seen] for what, place in (("mean", 2), ("stdv", 4))}
    losses = []
    for fit, held in folds:
        whole, of_fold = lightgbm.Dataset(X, y, free_raw_data=False).construct(), {}  # cv bins all rows together
        sets, recorded = [whole.subset(some.tolist()) for some in (fit, held)], lightgbm.record_evaluation(of_fold)
        olgbm.train(LGB, sets[0], 3, valid_sets=sets[1:], threshold_update="newton", callbacks=[recorded])
        losses.append(of_fold["valid_0"]["all_threshold"])
    for found in (ours, shown):
        np.testing.assert_allclose(found["valid all_threshold-mean"], np.mean(losses, axis=0), rtol=1e-6)
        np.testing.assert_allclose(found["valid all_threshold-stdv"], np.std(losses, axis=0), rtol=1e-6)


def test_a_cut_booster_goes_on_with_the_record_of_what_is_left(rows):
    X, y, _, _ = rows
    data = xgboost.DMatrix(X, y)
    whole = oxgb.train(XGB, data, 6, threshold_update="newton")
    again = oxgb.train(XGB, data, 2, threshold_update="newton", xgb_model=whole[:3])
    record, first = oxgb.threshold_record(again), oxgb.threshold_record(whole)
    assert record.n_iterations == again.num_boosted_rounds() == 5
    np.testing.assert_allclose(record.thresholds, first.thresholds[:6], atol=1e-5)
    np.testing.assert_allclose(record.training_loss, first.training_loss[:6], rtol=1e-5)


def test_rounds_of_other_objectives_before_ours_take_the_first_thresholds(rows):
    X, y, _, _ = rows
    data = xgboost.DMatrix(X, y)
    params = {**XGB, "base_score": 0.0, "disable_default_eval_metric": 1}
    other = xgboost.train({**params, "objective": "reg:squarederror"}, data, 3)
    objective = oxgb.OrdinalObjective(n_classes=6, threshold_update="newton")
    booster = xgboost.train(params, data, 4, obj=objective, xgb_model=other)
    objective.attach(booster, data)
    record = oxgb.threshold_record(booster)
    assert record.n_iterations == booster.num_boosted_rounds() == 7
    np.testing.assert_array_equal(record.thresholds[:3], [record.thresholds[0]] * 3)
    assert np.isnan(record.training_loss[:3]).all()
    loss = ordinal_log_loss(y, oxgb.predict_proba(booster, data))
    assert loss < ordinal_log_loss(y, np.tile(np.bincount(y) / len(y), (len(y), 1)))


def test_a_dart_model_that_goes_on_without_dropping_has_its_last_round_only(rows):
    X, y, _, _ = rows
    data = xgboost.DMatrix(X, y)
    dart = oxgb.train({**XGB, "booster": "dart", "rate_drop": 0.5}, data, 4, threshold_update="newton")
    drops_none = {**XGB, "booster": "dart", "rate_drop": 0.0}
    booster = oxgb.train(drops_none, data, 2, threshold_update="newton", xgb_model=dart)
    assert oxgb.threshold_record(booster).last_only
    with pytest.raises(ValueError, match="iteration_range"):
        oxgb.predict_proba(booster, data, iteration_range=(0, 3))


@pytest.mark.parametrize("rate", [0.3, 2.0])
def test_losses_are_those_of_the_effects_and_thresholds_of_their_round(rate):
    """With too large leaves the loss rises, and steps of the effects are halved."""
    X, y, _, _ = simulated(10, 5, n_groups=40)
    options = {"max_depth": 2, "subsample": 1.0, "loss": "cumulative_link", "random_intercept": 3, "n_jobs": 1}
    model = XGBOrdinalClassifier(n_estimators=4, learning_rate=rate, **options).fit(X, y)
    losses = [ordinal_log_loss(y, proba) for proba in model.staged_predict_proba(X)]
    np.testing.assert_allclose(losses[:-1], model.training_loss_[1:-1], rtol=1e-5)  # the last effects are settled


def test_predictions_with_other_iterations_wait_for_those_inside():
    gate, inside, let_go, order = _Gate(), threading.Event(), threading.Event(), []

    def first():
        with gate.passed((0, 2)):
            inside.set()
            let_go.wait(10)
            order.append("first")

    def second():
        with gate.passed((0, 1)):
            order.append("second")

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    assert inside.wait(10)
    threads[1].start()
    threads[1].join(0.1)
    let_go.set()
    for thread in threads:
        thread.join(10)
    assert order == ["first", "second"]


def test_trees_after_a_linear_part_start_from_it_when_they_are_continued(rows):
    X, y, _, _ = rows
    options = {"max_depth": 3, "subsample": 1.0, "n_jobs": 1, "linear": True, "threshold_update": "newton"}
    first = XGBOrdinalClassifier(n_estimators=4, proportional=True, **options).fit(X, y)
    data = xgboost.DMatrix(X, y, base_margin=first.linear_.scores(X))
    again = oxgb.train(XGB, data, 2, threshold_update="newton", xgb_model=first.booster_)
    more = XGBOrdinalClassifier(n_estimators=2, proportional=True, **options).fit(X, y, xgb_model=first)
    np.testing.assert_allclose(oxgb.predict_proba(again, data), more.predict_proba_ordered(X), atol=1e-5)
    with pytest.raises(ValueError, match="base_margin"):
        oxgb.predict_proba(again, xgboost.DMatrix(X))


def test_folds_of_lightgbms_cv_are_drawn_over_all_rows(rows):
    X, y, _, _ = rows

    def losses(**options):
        return olgbm.cv(LGB, lightgbm.Dataset(X, y), 2, nfold=3, seed=1, threshold_update="newton", **options)

    plain, over_all, by_class = losses(), losses(stratified=False), losses(stratified=True)
    name = "valid all_threshold-mean"
    np.testing.assert_array_equal(plain[name], over_all[name])
    assert np.abs(np.subtract(plain[name], by_class[name])).max() > 1e-3
