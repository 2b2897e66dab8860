"""The newest tree as the steps of few scores show it is the one in the booster's bytes, or it is not taken."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost

from ordinal_objectives.adapters import xgb as oxgb
from ordinal_objectives.adapters.xgb import booster as boosters
from ordinal_objectives.adapters.xgb.booster import TreeReader

RNG = np.random.default_rng(3)
X = np.where(RNG.random((400, 5)) < 0.1, np.nan, RNG.normal(size=(400, 5)))
Y = np.digitize(np.nan_to_num(X[:, 0] + X[:, 1]) + RNG.logistic(size=400), [-1.0, 0.0, 1.0])


def grown(data, rounds=4, obj=None, **params):
    """Yield the booster after each round, and the scores before and after it."""
    booster = xgboost.Booster({"nthread": 1, "base_score": 0.0, **params}, [data])
    target = np.nan_to_num(X[:, 0] * X[:, 1]) + Y
    before = booster.predict(data, output_margin=True)
    for iteration in range(rounds):
        booster.update(data, iteration, obj or (lambda score, _: (score - target, np.ones(len(score)))))
        after = booster.predict(data, output_margin=True)
        yield booster, before, after
        before = after


KINDS = {
    "by depth": {"max_depth": 4},
    "by loss": {"grow_policy": "lossguide", "max_leaves": 9, "max_depth": 0},
    "approx": {"tree_method": "approx"},
    "pruned": {"tree_method": "exact", "gamma": 5.0},
    "of a sample": {"subsample": 0.3, "colsample_bytree": 0.5},
    "a root": {"max_depth": 0, "gamma": 1e9, "tree_method": "hist"},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("margin", [None, 3.0])
def test_steps_show_the_tree_that_the_bytes_hold(kind, margin):
    start = None if margin is None else margin * RNG.normal(size=400)
    data = xgboost.DMatrix(X, Y, base_margin=start, qid=np.repeat([1, 2], 200), nthread=1)
    taken = 0
    for booster, before, after in grown(data, **KINDS[kind]):
        reader = TreeReader(booster, settings_stay=False)
        found, expected = reader.from_steps(data, before, after), reader.from_bytes()
        if found is not None:
            taken += 1
            np.testing.assert_array_equal(found.leaves, expected.route(data))
            np.testing.assert_array_equal(found.route(data), found.leaves)
            np.testing.assert_allclose(found.leaf_values, expected.leaf_values, rtol=0, atol=found.off)
            assert found.off < 1e-5
            assert found[1:4] == expected[1:4]
    assert taken == 4 or kind == "pruned"


def test_leaves_of_one_value_are_read_from_the_bytes():
    data = xgboost.DMatrix(X[:, 2:3], Y, nthread=1)
    middle = (np.abs(np.nan_to_num(X[:, 2])) < 0.5).astype(float)  # both sides of it are alike

    def same(score, _):
        return score - middle, np.ones(400)

    (booster, before, after), *_ = grown(data, 1, same, max_depth=2, reg_lambda=0.0, eta=1.0)
    reader = TreeReader(booster, settings_stay=False)
    assert len(set(reader.from_bytes().leaf_values)) < len(reader.from_bytes().leaf_values)
    assert reader.from_steps(data, before, after) is None


@pytest.mark.parametrize("kind", [xgboost.QuantileDMatrix, xgboost.DMatrix])
def test_matrices_that_are_not_cut_and_many_rows_are_left_to_the_bytes(kind, monkeypatch):
    data = kind(X, Y)
    booster, before, after = list(grown(data))[-1]
    reader = TreeReader(booster, settings_stay=True)
    assert (reader.from_steps(data, before, after) is None) == (kind is xgboost.QuantileDMatrix)
    for name, most in (("_FEW_ROWS", 399), ("_FEW_WALKS", 7)):
        with monkeypatch.context() as patch:
            patch.setattr(boosters, name, most)
            assert reader.from_steps(data, before, after) is None


@pytest.mark.parametrize("options", [{"threshold_update": "joint"}, {"proportional": False}], ids=["joint", "shifts"])
def test_models_do_not_depend_on_how_trees_are_read(options, monkeypatch):
    def trained():
        data, held = xgboost.DMatrix(X[:300], Y[:300], nthread=1), xgboost.DMatrix(X[300:], Y[300:], nthread=1)
        losses = {}
        evals = {"evals": [(held, "held")], "evals_result": losses, "verbose_eval": False}
        booster = oxgb.train({"max_depth": 3, "nthread": 1}, data, 25, n_classes=4, **options, **evals)
        return bytes(booster.save_raw()), losses

    calls, read = [], TreeReader.from_bytes

    def counted(reader):
        calls.append(reader)
        return read(reader)

    monkeypatch.setattr(TreeReader, "from_bytes", counted)
    few = trained()
    assert len(calls) < 5
    monkeypatch.setattr(boosters, "_FEW_ROWS", 0)
    assert few == trained()
    assert len(calls) >= 25


@pytest.mark.parametrize("gamma", [0.0, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("options", [{"threshold_update": "joint"}, {"proportional": False}], ids=["joint", "shifts"])
def test_leaves_that_are_cut_off_keep_their_numbers(options, gamma):
    """Those that are left may look like all leaves of a tree."""
    data = xgboost.DMatrix(X, Y, nthread=1)
    params = {"max_depth": 4, "nthread": 1, "tree_method": "exact", "gamma": gamma}
    losses = {}
    evals = {"evals": [(data, "all")], "evals_result": losses, "verbose_eval": False}
    booster = oxgb.train(params, data, 12, n_classes=4, **options, **evals)
    above = np.maximum(1.0 - np.cumsum(oxgb.predict_proba(booster, data), axis=1)[:, :-1], 1e-12)
    expected = -np.where(np.arange(3) < Y[:, np.newaxis], np.log(above), np.log1p(-above)).sum(axis=1).mean()
    np.testing.assert_allclose(losses["all"]["all_threshold"][-1], expected, rtol=1e-5)


def test_a_rate_that_a_callback_changes_is_read_in_every_round():
    def largest(*callbacks):
        data = xgboost.DMatrix(X, Y, nthread=1)
        options = {"n_classes": 4, "proportional": False, "callbacks": callbacks}
        booster = oxgb.train({"max_depth": 3, "eta": 0.3}, data, 2, **options)
        return [np.abs(vectors).max() for vectors in oxgb.threshold_record(booster).leaf_vectors]

    scheduled, plain = largest(xgboost.callback.LearningRateScheduler([0.05, 0.05])), largest()
    assert scheduled[0] == plain[0]
    assert scheduled[1] < 0.3 * plain[1]
