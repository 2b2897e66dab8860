"""Whose gradient and whose metric: one objective in cv, in turns, inside another training, after an exception."""

from __future__ import annotations

from contextlib import suppress

import lightgbm
import numpy as np
import pytest
import xgboost

from bare import LGB_PARAMS, XGB_PARAMS, train_lgb, train_xgb
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from pairs import each_pair


@pytest.mark.parametrize("rounds", [1, 5])
@pytest.mark.parametrize("metric", ["loss", "proba"])
def test_xgboost_cv_without_the_callback_refuses_our_metrics(ordinal_data, rounds, metric):
    """Its folds had been evaluated with the thresholds of the last one."""
    objective = oxgb.OrdinalObjective(5)
    function = objective.metric if metric == "loss" else objective.proba_metric(lambda proba, _: ("p", proba[0, 0]))
    options = {"obj": objective, "custom_metric": function, "as_pandas": False}
    dtrain = xgboost.DMatrix(*ordinal_data(300))
    with pytest.raises(ValueError, match=r"callbacks=\[objective\.callback\]"):
        xgboost.cv(XGB_PARAMS, dtrain, rounds, nfold=3, **options)


def of_each_fold(rows, folds, rounds, *, with_callback=True):
    """Return the losses of `lightgbm.train` on each fold, (n_folds, n_rounds)."""
    losses = []
    for fit, held in folds:
        objective, seen = olgbm.OrdinalObjective(5), {}
        whole = lightgbm.Dataset(*rows, free_raw_data=False).construct()  # cv bins all rows together
        params, sets = {**LGB_PARAMS, "objective": objective}, [whole.subset(some) for some in (fit, held)]
        callbacks = [*([objective.callback] if with_callback else []), lightgbm.record_evaluation(seen)]
        lightgbm.train(params, sets[0], rounds, sets[1:], ["v"], feval=objective.metric, callbacks=callbacks)
        losses.append(seen["v"]["all_threshold"])
    return losses


@pytest.mark.parametrize("rounds", [1, 5])
@pytest.mark.parametrize("metric", ["loss", "proba"])
def test_lightgbm_cv_evaluates_each_fold_by_its_own_thresholds(ordinal_data, rounds, metric):
    """All had been evaluated with the thresholds of the last fold."""
    rows, parts = ordinal_data(300), np.arange(300).reshape(3, 100)
    folds = [(np.setdiff1d(np.arange(300), part), part) for part in parts]
    objective = olgbm.OrdinalObjective(5)
    params, function = {**LGB_PARAMS, "objective": objective}, objective.metric
    if metric == "proba":
        function = objective.proba_metric(lambda proba, data: ("all_threshold", all_threshold(proba, data), False))
    options = {"folds": folds, "feval": function, "callbacks": [objective.callback]}
    found = lightgbm.cv(params, lightgbm.Dataset(*rows), rounds, **options)
    expected = np.mean(of_each_fold(rows, folds, rounds), axis=0)
    # LightGBM stores the first entry before a callback can show the objective its boosters.
    expected[0] = np.mean(of_each_fold(rows, folds, 1, with_callback=False))
    np.testing.assert_allclose(found["valid all_threshold-mean"], expected, rtol=1e-6)


def all_threshold(proba, data):
    """Return the mean loss, from the probabilities of the classes."""
    below = np.cumsum(proba, axis=1)[:, :-1]
    is_above = data.get_label()[:, np.newaxis] > np.arange(below.shape[1])
    return -np.mean(np.log(np.where(is_above, 1 - below, below)).sum(axis=1))


@pytest.mark.parametrize("update", ["fixed", "newton", "schur", "joint"])
def test_our_lightgbm_cv_is_right_in_every_entry(ordinal_data, update):
    rows, parts = ordinal_data(300), np.arange(300).reshape(3, 100)
    folds, losses = [(np.setdiff1d(np.arange(300), part), part) for part in parts], {"train": [], "valid": []}
    params = {name: value for name, value in LGB_PARAMS.items() if name != "metric"}
    for fit, held in folds:
        seen, whole = {}, lightgbm.Dataset(*rows, free_raw_data=False).construct()
        sets, recorded = [whole.subset(some) for some in (fit, held)], lightgbm.record_evaluation(seen)
        olgbm.train(params, sets[0], 3, sets, list(losses), threshold_update=update, callbacks=[recorded])
        for name, of_fold in losses.items():
            of_fold.append(seen[name]["all_threshold"])
    for rounds in (1, 3):
        data = lightgbm.Dataset(*rows, free_raw_data=False)
        found = olgbm.cv(params, data, rounds, folds=folds, threshold_update=update, eval_train_metric=True)
        for name, of_fold in losses.items():
            expected = np.mean(of_fold, axis=0)[:rounds]
            np.testing.assert_allclose(found[f"{name} all_threshold-mean"], expected, rtol=1e-6)


class Raise(xgboost.callback.TrainingCallback):
    def __init__(self, when, epoch):
        self.when, self.epoch = when, epoch

    def before_iteration(self, model, epoch, evals_log):
        if (self.when, self.epoch) == ("before", epoch):
            raise InterruptedError
        return False

    def after_iteration(self, model, epoch, evals_log):
        if (self.when, self.epoch) == ("after", epoch):
            raise InterruptedError
        return False


@each_pair({"when": ["before", "after"], "first": [True, False], "epoch": [0, 1, 4], "other_rows": [True, False]})
def test_xgboost_without_callback_after_an_interruption(ordinal_data, when, first, epoch, other_rows):
    """The callback had gone on with the booster of the training that an exception stopped."""
    dtrain = xgboost.DMatrix(*ordinal_data(300))
    objective, fresh = oxgb.OrdinalObjective(5), oxgb.OrdinalObjective(5)
    callbacks = [objective.callback, Raise(when, epoch)]
    with pytest.raises(InterruptedError):
        train_xgb(objective, dtrain, callbacks=callbacks[::-1] if first else callbacks)
    if other_rows:
        dtrain = xgboost.DMatrix(*ordinal_data(300, seed=1))
    seen = [{}, {}]
    if epoch == 0:  # a first round cannot be known from that which was interrupted; the next one can
        with suppress(ValueError):
            train_xgb(objective, dtrain, 2)
    for one, result in zip((objective, fresh), seen, strict=True):
        options = {"custom_metric": one.metric, "evals": [(dtrain, "t")], "evals_result": result}
        booster = train_xgb(one, dtrain, 8, **options)
        one.attach(booster, dtrain)
    assert seen[0] == seen[1]
    np.testing.assert_array_equal(objective.thresholds_, fresh.thresholds_)
    assert oxgb.threshold_record(booster).n_iterations == 8


@pytest.mark.parametrize("first", [True, False], ids=["it first", "ours first"])
@pytest.mark.parametrize("other_rows", [True, False])
def test_xgboost_without_callback_after_a_continued_one_ended(ordinal_data, first, other_rows):
    """It had begun with the thresholds of the model that was to be continued."""
    dtrain = xgboost.DMatrix(*ordinal_data(300))
    begun = oxgb.train({"nthread": 1}, dtrain, 5, n_classes=5, threshold_update="newton")
    objective, fresh = oxgb.OrdinalObjective(5), oxgb.OrdinalObjective(5)
    callbacks = [objective.callback, Raise("before", 0)]
    params = {"disable_default_eval_metric": 1, "nthread": 1}
    with pytest.raises(InterruptedError):
        xgboost.train(
            params, dtrain, 5, obj=objective, xgb_model=begun, callbacks=callbacks[::-1] if first else callbacks
        )
    if other_rows:
        dtrain = xgboost.DMatrix(*ordinal_data(300, seed=1))
    with pytest.raises(ValueError, match="was interrupted"):
        train_xgb(objective, dtrain, 2)
    for one in (objective, fresh):
        booster = train_xgb(one, dtrain, 8)
        one.attach(booster, dtrain)
    np.testing.assert_array_equal(objective.thresholds_, fresh.thresholds_)
    assert oxgb.threshold_record(booster).n_iterations == 8


@pytest.mark.parametrize("with_callback", [True, False])
def test_a_training_inside_another_is_refused(ordinal_data, with_callback):
    objective = oxgb.OrdinalObjective(5)
    dtrain, inner = (xgboost.DMatrix(*ordinal_data(200, seed=seed)) for seed in (0, 1))

    class Nested(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            train_xgb(objective, inner, 2, callbacks=[objective.callback] if with_callback else [])
            return False

    with pytest.raises(ValueError, match="one objective for each of the trainings that run inside one another"):
        train_xgb(objective, dtrain, 5, callbacks=[objective.callback, Nested()])


def test_a_lightgbm_training_inside_another_leaves_it_alone(ordinal_data):
    objective, alone = olgbm.OrdinalObjective(5), olgbm.OrdinalObjective(5)
    data, inner = (lightgbm.Dataset(*ordinal_data(200, seed=seed)) for seed in (0, 1))

    def nested(env):
        train_lgb(objective, inner, 2, callbacks=[objective.callback])

    outer = train_lgb(objective, data, 5, callbacks=[objective.callback, nested])
    expected = train_lgb(alone, data, 5, callbacks=[alone.callback])
    found, wanted = olgbm.threshold_record(outer), olgbm.threshold_record(expected)
    np.testing.assert_array_equal(found.thresholds, wanted.thresholds)
    np.testing.assert_array_equal(found.training_loss, wanted.training_loss)
    assert found.trees == wanted.trees
