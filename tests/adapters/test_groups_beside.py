"""Groups beside the matrices of the frameworks' own ``train``."""

from __future__ import annotations

from functools import partial

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost

from grouped_rows import crossed, of_host, simulated
from ordinal_objectives import LGBMOrdinalClassifier, OrdinalLabels, XGBOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.metrics import ordinal_log_loss


def train_beside(library, X, y, groups, sets=(), others=None, rounds=20, **options):
    """Return what predicts by a booster, the booster, and the losses of each set."""
    asked = {"n_classes": 5, "loss": "cumulative_link", "threshold_update": "newton"} | options
    asked |= {"random_intercept": groups, "eval_random_intercept": others}
    if library == "xgboost":
        params = {"max_depth": 4, "eta": 0.1, "nthread": 1}
        evals, found = [(xgboost.DMatrix(*one), f"valid_{i}") for i, one in enumerate(sets)], {}
        asked |= {"evals": evals, "evals_result": found, "verbose_eval": False}
        booster = oxgb.train(params, xgboost.DMatrix(X, y), rounds, **asked)
        return lambda X, **how: oxgb.predict_proba(booster, xgboost.DMatrix(X), **how), booster, found
    params, found = {"num_leaves": 8, "learning_rate": 0.1, "num_threads": 1, "verbosity": -1}, {}
    data = lightgbm.Dataset(X, y)
    valid = [lightgbm.Dataset(*one, reference=data) for one in sets]
    callbacks = [lightgbm.record_evaluation(found)] if sets else []
    booster = olgbm.train(params, data, rounds, valid_sets=valid, callbacks=callbacks, **asked)
    return lambda X, **how: olgbm.predict_proba(booster, X, **how), booster, found


LIBRARIES = pytest.mark.parametrize("library", ["xgboost", "lightgbm"])


@LIBRARIES
def test_groups_beside_matrices_are_those_of_the_classifier(library, tmp_path):
    X, y, _, group = simulated(20, 16)
    train = np.random.default_rng(0).random(len(y)) < 0.5
    names = np.array([f"clinic {g:03}" for g in group])
    sets = [(X[~train, :3], y[~train])]
    predict, booster, found = train_beside(library, X[train, :3], y[train], names[train], sets, [names[~train]])
    if library == "xgboost":
        model = of_host(XGBOrdinalClassifier, max_depth=4, subsample=1.0)
        booster.save_model(tmp_path / "booster.ubj")
        loaded, module, matrix = xgboost.Booster(model_file=tmp_path / "booster.ubj"), oxgb, xgboost.DMatrix(X[:, :3])
    else:
        model = of_host(LGBMOrdinalClassifier, num_leaves=8, min_child_samples=20, subsample=1.0, reg_lambda=0.0)
        olgbm.save_model(booster, tmp_path / "booster.txt")
        loaded, module, matrix = olgbm.load_model(tmp_path / "booster.txt"), olgbm, X[:, :3]
    model.fit(X[train], y[train])
    proba = predict(X[:, :3], random_intercept=names)
    np.testing.assert_array_equal(module.predict_proba(loaded, matrix, random_intercept=names), proba)
    np.testing.assert_allclose(proba, model.predict_proba(X), atol=1e-6)
    effects = module.threshold_record(booster).random_effects[0]
    np.testing.assert_allclose(effects.effects, model.random_effects_.effects, atol=1e-6)
    assert effects.groups == sorted(set(names[train].tolist()))
    loss = ordinal_log_loss(y[~train], proba[~train])
    assert found["valid_0"]["cumulative_link"][-1] == pytest.approx(loss, abs=0.01)
    # Without groups, rows are of the average one; new groups are integrated over.
    average, new = X.copy(), X.copy()
    average[:, 3], new[:, 3] = np.nan, 999
    np.testing.assert_allclose(predict(X[:, :3]), model.predict_proba(average), atol=1e-6)
    np.testing.assert_allclose(predict(X[:, :3], random_intercept=["?"] * len(X)), model.predict_proba(new), atol=1e-6)
    classes = module.predict(booster, matrix, random_intercept=names, decision_rule="mode")
    np.testing.assert_array_equal(classes, proba.argmax(axis=1))


@LIBRARIES
def test_several_columns_beside_matrices(library):
    X, y, effects = crossed(0, n=2000)
    frame = pd.DataFrame(X[:, 3:].astype(int), columns=["clinic", "rater"])
    predict, booster, _ = train_beside(library, X[:, :3], y, frame)
    found = (oxgb if library == "xgboost" else olgbm).threshold_record(booster).random_effects
    for one, true in zip(found, effects, strict=True):
        assert np.corrcoef(one.effects, true)[0, 1] > 0.9
    proba = predict(X[:, :3], random_intercept=frame)
    np.testing.assert_array_equal(predict(X[:, :3], random_intercept=frame.to_numpy()), proba)
    swapped = frame[["rater", "clinic"]]
    with pytest.raises(ValueError, match=r"must have the columns of the training, \['clinic', 'rater'\]; got \['rater"):
        predict(X[:, :3], random_intercept=swapped)
    with pytest.raises(ValueError, match="random_intercept must have the columns of the training"):
        train_beside(library, X[:, :3], y, frame, [(X[:, :3], y)], [swapped], rounds=2)
    both = ordinal_log_loss(y, proba)
    assert both < ordinal_log_loss(y, predict(X[:, :3], random_intercept=frame.assign(rater=np.nan))) - 0.02


def test_groups_beside_part_of_a_data_set_leave_it_as_it_was():
    X, y, _, group = simulated(20, 16)
    chosen = np.flatnonzero(np.random.default_rng(0).random(len(y)) < 0.7)
    asked = {"n_classes": 5, "loss": "cumulative_link", "threshold_update": "newton", "num_boost_round": 5}
    asked |= {"params": {"verbosity": -1, "num_threads": 1}, "random_intercept": group[chosen]}
    whole, found = lightgbm.Dataset(X[:, :3], y, free_raw_data=False), []
    own = lightgbm.Dataset(X[chosen, :3], y[chosen], reference=whole)  # with the same bins
    for data in (whole.subset(chosen.tolist()), own):
        frees = data.free_raw_data
        found.append(olgbm.threshold_record(olgbm.train(train_set=data, **asked)).random_effects[0])
        assert data.free_raw_data is frees
    np.testing.assert_allclose(found[0].effects, found[1].effects, atol=1e-9)


@LIBRARIES
def test_what_does_not_go_beside_matrices_is_refused(library, tmp_path):
    X, y, _, group = simulated(20, 17, n_groups=60)
    data, sets = X[:, :3], [(X[:, :3], y)]
    predict, booster, _ = train_beside(library, data, y, group, rounds=5)
    name = "xgb_model" if library == "xgboost" else "init_model"
    for groups, options, message in (
        (group, {"loss": "all_threshold"}, "random_intercept needs loss='cumulative_link'"),
        (group, {"threshold_update": "joint"}, "random_intercept needs threshold_update='newton'; got 'joint'"),
        (group, {name: booster}, "random_intercept must be None where a model is continued"),
        (None, {name: booster}, "the model to be continued has random intercepts"),
        (None, {"others": [group]}, "eval_random_intercept belongs to random_intercept, which is None"),
        (group[:-1], {}, "random_intercept must have an entry for each of 1200 rows; got 1199"),
        (X[:, 0], {}, "column 0 holds fractions"),
        (group, {"sets": sets, "others": [group[1:]]}, "an entry for each of 1200 rows; got 1199"),
        (group, {"sets": sets, "others": []}, "eval_random_intercept must have one entry for each of 1 sets"),
    ):
        with pytest.raises(ValueError, match=message):
            train_beside(library, data, y, groups, rounds=2, **options)
    for groups, message in (
        (group[:5], "random_intercept must have an entry for each of 1200 rows; got 5"),
        (X[:, 2:], "random_intercept must have the 1 columns of the training; got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            predict(data, random_intercept=groups)
    without, _, _ = train_beside(library, data, y, None, rounds=2)
    with pytest.raises(ValueError, match="random_intercept must have the 0 columns of the training; got 1"):
        without(data, random_intercept=group)
    if library == "lightgbm":
        freed = lightgbm.Dataset(data, y).construct()
        with pytest.raises(ValueError, match="train_set must hold its rows beside random_intercept"):
            olgbm.train({}, freed, random_intercept=group, loss="cumulative_link", threshold_update="newton")
    labels = OrdinalLabels.from_intervals(np.minimum(y, 3), y, classes=range(5))
    with pytest.raises(TypeError, match="the training set beside random_intercept must hold one label a row"):
        train_beside(library, data, y, group, rounds=2, labels=labels)
    path = tmp_path / "booster.ubj"
    (booster.save_model if library == "xgboost" else partial(olgbm.save_model, booster))(path)
    with pytest.raises(ValueError, match="groups stood beside the features"):
        (XGBOrdinalClassifier if library == "xgboost" else LGBMOrdinalClassifier)().load_model(path)


def test_after_an_early_stop_the_last_effects_are_those_of_the_kept_rounds():
    X, y, _, group = simulated(10, 3, n_groups=30)
    half = np.arange(len(y)) % 2 == 0
    rows, held = (X[half, :3], y[half], group[half]), (X[~half, :3], 4 - y[~half])  # each round is worse on these
    _, stopped, _ = train_beside("xgboost", *rows, [held], [group[~half]], early_stopping_rounds=3)
    _, short, _ = train_beside("xgboost", *rows, rounds=stopped.best_iteration + 1)
    assert stopped.best_iteration + 1 < stopped.num_boosted_rounds()
    effects = [oxgb.threshold_record(one).random_effects[0].effects for one in (stopped, short)]
    np.testing.assert_allclose(*effects, atol=1e-6)


def test_rows_of_new_groups_count_by_their_weights_in_an_evaluation_set():
    X, y, _, group = simulated(10, 3, n_groups=30)
    half, weight, found = np.arange(len(y)) % 2 == 0, 0.5 + X[:, 0] ** 2, {}
    train, held = (xgboost.DMatrix(X[of, :3], y[of], weight=weight[of]) for of in (half, ~half))
    new = np.where(group[~half] < 15, group[~half], 1000 + group[~half])
    options = {"loss": "cumulative_link", "threshold_update": "newton", "random_intercept": group[half]}
    options |= {"evals": [(held, "held")], "eval_random_intercept": [new], "evals_result": found, "verbose_eval": False}
    booster = oxgb.train({"max_depth": 3, "nthread": 1}, train, 4, **options)
    proba = oxgb.predict_proba(booster, held, random_intercept=new, iteration_range=(0, 3))
    by_hand = ordinal_log_loss(y[~half], proba, sample_weight=weight[~half])
    np.testing.assert_allclose(found["held"]["cumulative_link"][2], by_hand, rtol=1e-3)
    assert abs(by_hand - ordinal_log_loss(y[~half], proba)) > 1e-2
