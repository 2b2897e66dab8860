"""Iterations of a LightGBM model and their thresholds: in their order, without a split, and continued."""

from __future__ import annotations

import pickle

import lightgbm
import numpy as np
import pytest

from makers import LGB_DEFAULTS, mean_loss
from ordinal_objectives import LGBMOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm

QUIET = {"verbosity": -1, "num_leaves": 7, "min_data_in_leaf": 5, "learning_rate": 0.3, "num_threads": 1}
CHANGED = "are not the first .* of the training that recorded its thresholds"
UPDATES = pytest.mark.parametrize("update", ["fixed", "newton", "schur", "joint", "attach"])


def trained(X, y, update, rounds=12, **options):
    data = lightgbm.Dataset(X, y)
    if update != "attach":
        return olgbm.train(QUIET, data, rounds, n_classes=5, threshold_update=update, **options)
    objective = olgbm.OrdinalObjective(5)
    booster = lightgbm.train({**QUIET, "metric": "None", "objective": objective}, data, rounds)
    objective.attach(booster, X)
    return booster


def cut(booster, tmp_path, **options):
    """Return what LightGBM keeps of a saved model."""
    olgbm.save_model(booster, tmp_path / "whole.txt")
    whole = lightgbm.Booster(model_file=tmp_path / "whole.txt")
    (tmp_path / "cut.txt").write_text(whole.model_to_string(**options))
    return lightgbm.Booster(model_file=tmp_path / "cut.txt")


@UPDATES
def test_shuffled_trees_are_refused(ordinal_data, update, tmp_path):
    X, y = ordinal_data(300)
    booster = trained(X, y, update)
    booster.shuffle_models(2, 9)  # the last trees stay where they are
    for use in (
        lambda: olgbm.predict_proba(booster, X, 5),
        lambda: olgbm.threshold_record(booster),
        lambda: olgbm.save_model(booster, tmp_path / "model.txt"),
        lambda: trained(X, y, "newton", init_model=booster),
        lambda: LGBMOrdinalClassifier().fit(X, y, init_model=booster),
    ):
        with pytest.raises(ValueError, match=CHANGED):
            use()


@UPDATES
def test_a_text_cut_at_the_front_is_refused(ordinal_data, update, tmp_path):
    X, y = ordinal_data(300)
    booster = trained(X, y, update)
    part = cut(booster, tmp_path, start_iteration=3)
    assert part.current_iteration() == 9
    with pytest.raises(ValueError, match=CHANGED):
        olgbm.predict_proba(part, X)
    with pytest.raises(ValueError, match=f"cut.txt is damaged: .*{CHANGED}"):
        olgbm.load_model(tmp_path / "cut.txt")


@UPDATES
@pytest.mark.parametrize("kept", [1, 7, 12])
def test_a_text_cut_at_the_end_is_right(ordinal_data, update, kept, tmp_path):
    X, y = ordinal_data(300)
    booster = trained(X, y, update)
    expected = olgbm.predict_proba(booster, X, kept)
    np.testing.assert_array_equal(olgbm.predict_proba(cut(booster, tmp_path, num_iteration=kept), X), expected)
    np.testing.assert_array_equal(olgbm.predict_proba(olgbm.load_model(tmp_path / "cut.txt"), X), expected)
    again = pickle.loads(pickle.dumps(booster))
    np.testing.assert_array_equal(olgbm.predict_proba(again, X, kept), expected)


@UPDATES
def test_continued_models_carry_the_checksums_of_all_their_trees(ordinal_data, update):
    X, y = ordinal_data(300)
    first = trained(X, y, update)
    second = trained(X, y, "newton", 4, init_model=first)
    trees = olgbm.threshold_record(second).trees
    assert trees[:12] == olgbm.threshold_record(first).trees
    assert len(set(trees)) == 16


# Rounds without a split


PARAMS = {
    "extra_trees": True, "min_data_in_leaf": 20, "max_bin": 8, "learning_rate": 0.5, "num_threads": 1,
    "verbosity": -1,
}  # fmt: skip


def few_rows(seed):
    """Return rows on which some rounds find no split, and others to evaluate."""
    rng = np.random.default_rng(seed)
    X, Xv = rng.normal(size=(60, 2)), rng.normal(size=(40, 2))
    y = np.digitize(X[:, 0] + rng.logistic(size=60), [-1, 0, 1])
    y[:4] = [0, 1, 2, 3]
    return X, y, Xv, np.random.default_rng(seed + 1).integers(0, 4, 40)


def stopped_early(seed, *, ours):
    """Return a booster that was stopped early, the rows it was stopped by, and their losses after every round."""
    X, y, Xv, yv = few_rows(seed)
    data, losses = lightgbm.Dataset(X, y), {}
    valid, params = data.create_valid(Xv, yv), {**PARAMS, "seed": seed}
    callbacks = [lightgbm.record_evaluation(losses), lightgbm.early_stopping(4, verbose=False)]
    if ours:
        booster = olgbm.train(params, data, 12, [valid], n_classes=4, threshold_update="newton", callbacks=callbacks)
    else:
        objective = olgbm.OrdinalObjective(4)
        params |= {"objective": objective, "metric": "None"}
        callbacks = [objective.callback, *callbacks]
        booster = lightgbm.train(params, data, 12, [valid], feval=objective.metric, callbacks=callbacks)
    return booster, Xv, yv, losses["valid_0"]["all_threshold"]


def loss_of(proba, y):
    """All-threshold loss of the probabilities P(y <= k) = sigma(theta_k - f)."""
    below = np.cumsum(proba, axis=1)[:, :-1]
    above = y[:, None] > np.arange(below.shape[1])
    return -np.log(np.where(above, 1 - below, below)).sum(axis=1).mean()


SEEDS = pytest.mark.parametrize("seed", [9, 14, 28, 115])


@SEEDS
def test_an_early_stop_of_the_classifier_keeps_the_best_loss(seed):
    X, y, Xv, yv = few_rows(seed)
    options = {**LGB_DEFAULTS, "extra_trees": True, "max_bin": 8, "learning_rate": 0.5, "random_state": seed}
    model = LGBMOrdinalClassifier(n_estimators=12, verbose=-1, **options)
    model.fit(X, y, eval_set=[(Xv, yv)], callbacks=[lightgbm.early_stopping(4, verbose=False)])
    losses = model.evals_result_["valid_0"]["all_threshold"]
    assert mean_loss(model, Xv, yv) == pytest.approx(min(losses), rel=1e-6)
    assert model.n_iter_ <= model.booster_.current_iteration() <= len(losses)


@SEEDS
@pytest.mark.parametrize("ours", [True, False], ids=["olgbm.train", "lightgbm.train"])
def test_an_early_stop_keeps_the_best_loss_everywhere(seed, ours, tmp_path):
    """LightGBM numbers the best round, and takes that number for one of trees: too many, or more than there are."""
    booster, Xv, yv, losses = stopped_early(seed, ours=ours)
    olgbm.save_model(booster, tmp_path / "model.txt")
    loaded = olgbm.load_model(tmp_path / "model.txt")
    for model in (booster, pickle.loads(pickle.dumps(booster)), loaded):
        assert loss_of(olgbm.predict_proba(model, Xv), yv) == pytest.approx(min(losses), rel=1e-6)
    assert len(losses) >= len(olgbm.threshold_record(booster).trees)
    if ours:
        assert booster.best_iteration == loaded.current_iteration()


# Rounds that leave the score as it was


SMALL = {"verbosity": -1, "num_leaves": 4, "num_threads": 1}
TINY = {**SMALL, "learning_rate": 1e-300}


@pytest.fixture
def separable():
    X = np.random.default_rng(0).normal(size=(300, 3))
    return X, np.digitize(X[:, 0], [-0.7, 0.0, 0.7])


# Leaves too small to change the score


def by_olgbm(data, update):
    return olgbm.train(TINY, data, 5, n_classes=4, threshold_update=update)


def by_lightgbm(data, update):
    objective = olgbm.OrdinalObjective(4, threshold_update=update)
    params = {**TINY, "objective": objective, "metric": "None"}
    return lightgbm.train(params, data, 5, callbacks=[objective.callback])


@pytest.mark.parametrize(
    ("train", "update"),
    [
        *((by_olgbm, update) for update in ("fixed", "newton", "schur", "joint")),
        *((by_lightgbm, update) for update in ("fixed", "newton", "schur")),
    ],
)
def test_steps_below_the_rounding_of_the_score_are_counted(separable, train, update):
    X, y = separable
    booster = train(lightgbm.Dataset(X, y, free_raw_data=False), update)
    record = olgbm.threshold_record(booster)
    assert booster.current_iteration() == record.n_iterations == 5
    losses = record.training_loss[1:]  # a first tree that leaves the score as it was stands in front of the training
    np.testing.assert_allclose(losses, losses[0], rtol=1e-6)
    shares = np.bincount(y) / len(y)
    np.testing.assert_allclose(olgbm.predict_proba(booster, X), np.tile(shares, (300, 1)), atol=1e-7)


# Features without a split


@pytest.mark.parametrize(
    ("update", "proportional"),
    [*((update, True) for update in ("fixed", "newton", "schur", "joint")), ("newton", False), ("joint", False)],
)
def test_constant_features_forecast_the_shares_of_the_classes(update, proportional):
    X, y = np.zeros((300, 2)), np.repeat([0, 1, 2], [150, 100, 50])
    data = lightgbm.Dataset(X, y, free_raw_data=False)
    valid = data.create_valid(X[:30], y[:30])
    options = {"n_classes": 3, "threshold_update": update, "proportional": proportional}
    booster = olgbm.train(SMALL, data, 4, [valid], **options)
    assert booster.num_feature() == 2
    np.testing.assert_allclose(olgbm.predict_proba(booster, X[:1]), [[1 / 2, 1 / 3, 1 / 6]], atol=1e-6)


@pytest.mark.filterwarnings("ignore:no tree has a split")
def test_the_classifier_takes_constant_features(tmp_path):
    X, y = np.zeros((300, 2)), np.arange(300) % 3
    model = LGBMOrdinalClassifier(n_jobs=1, n_estimators=3).fit(X, y, eval_set=[(X[:60], y[:60])])
    np.testing.assert_allclose(model.predict_proba(X[:2]), np.full((2, 3), 1 / 3), atol=1e-6)
    assert model.feature_importances_.tolist() == [0, 0]
    model.save_model(tmp_path / "model.txt")
    loaded = LGBMOrdinalClassifier().load_model(tmp_path / "model.txt")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    again = LGBMOrdinalClassifier(n_jobs=1, n_estimators=3).fit(X, y, init_model=model)
    np.testing.assert_allclose(again.predict_proba(X[:2]), np.full((2, 3), 1 / 3), atol=1e-6)


def test_features_that_the_least_rows_of_a_leaf_rule_out():
    """LightGBM drops them before the training unless feature_pre_filter is False."""
    X, y = np.zeros((300, 1)), np.arange(300) % 3
    X[:5] = 1.0
    booster = olgbm.train(SMALL, lightgbm.Dataset(X, y), 3, n_classes=3)
    np.testing.assert_allclose(olgbm.predict_proba(booster, X[:1]), [[1 / 3, 1 / 3, 1 / 3]], atol=1e-6)


def test_constant_features_are_cross_validated():
    y = np.arange(300) % 3
    history = olgbm.cv(SMALL, lightgbm.Dataset(np.zeros((300, 2)), y), 3, n_classes=3, nfold=3)
    assert len(history["valid all_threshold-mean"]) == 3


# ``lightgbm.train`` as the guide writes it: going on after early stopping, and what it evaluates


FEW_LEAVES = {"verbosity": -1, "num_leaves": 4, "learning_rate": 0.3}


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
        {**FEW_LEAVES, "metric": "None", **dict(params), "objective": objective},
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
    return olgbm.train(FEW_LEAVES, lightgbm.Dataset(*rows), 5, init_model=model, thresholds=record)


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


@pytest.mark.parametrize("name", ["metric", "metrics", "metric_types"])
@pytest.mark.parametrize("value", ["l2", "none,l2", ["None", "l2"]])
def test_a_built_in_metric_is_refused_by_every_training(rows, name, value):
    with pytest.raises(ValueError, match=rf"params\['{name}'\] = .* is not allowed"):
        olgbm.train({**FEW_LEAVES, name: value}, lightgbm.Dataset(*rows), 2)
    params = {name: value} if name == "metric" else {"metric": None, name: value}
    with pytest.raises(ValueError, match=r"params\['metric.*'\] = .* is not allowed"):
        plain(rows, 5, params=params)
