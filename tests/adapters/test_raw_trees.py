"""What is read from the bytes of an XGBoost model, and written into them, is what its JSON says."""

from __future__ import annotations

import json
import zlib

import numpy as np
import pandas as pd
import pytest
import xgboost

from ordinal_objectives.adapters import xgb as oxgb
from ordinal_objectives.adapters.xgb import booster as boosters
from ordinal_objectives.adapters.xgb.booster import TreeReader, categories_of, checksums, nodes_of_trees, renew_leaves

RNG = np.random.default_rng(0)
# Names with letters that JSON escapes.
X = pd.DataFrame(RNG.normal(size=(300, 3)), columns=["plain", 'a"b\\', "größe"])
X["letter"] = pd.Categorical(RNG.choice(list("abcde"), 300))
Y = np.digitize(X.iloc[:, 0] + (X["letter"].isin(["a", "c"])) + RNG.normal(size=300), [-1.0, 0.0, 1.0])


def matrix(**options):
    return xgboost.DMatrix(X, Y, enable_categorical=True, nthread=1, **options)


def trees_in_json(booster):
    return json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]["model"]["trees"]


def leaf_values(tree):
    values, left = tree["split_conditions"], tree["left_children"]
    return [value for value, child in zip(values, left, strict=True) if child == -1]


@pytest.mark.parametrize("max_depth", [1, 4])
@pytest.mark.parametrize("few", [0, 2, 16], ids="cut off from {} rounds on".format)
def test_the_newest_tree_is_that_of_the_json_file(max_depth, few, monkeypatch):
    monkeypatch.setattr(boosters, "_FEW_ROUNDS", few)
    data = matrix()
    booster = xgboost.Booster({"nthread": 1, "lambda": 0.1, "max_depth": max_depth}, [data])
    booster.set_attr(note="left_children[$l#L, split_conditions[$d#L of a tree")
    for iteration, eta in enumerate([0.3, 0.3, 1e-9, 0.1]):
        booster.set_param({"eta": eta})
        booster.update(data, iteration)
        found, expected = TreeReader(booster, settings_stay=False).from_bytes(), trees_in_json(booster)[-1]
        np.testing.assert_array_equal(found.leaf_values, np.float32(leaf_values(expected)))
        assert found.leaf_values.dtype == np.float64
        assert (found.learning_rate, found.reg_lambda) == (pytest.approx(eta), pytest.approx(0.1))
        reached = booster.predict(data, pred_leaf=True)[:, -1] if iteration else booster.predict(data, pred_leaf=True)
        np.testing.assert_array_equal(np.unique(reached, return_inverse=True)[1].ravel(), found.route(data))


@pytest.mark.parametrize("method", ["renewal", "host"])
def test_checksums_and_nodes_are_those_of_the_json_file(method):
    options = {"proportional": method != "host", "shift_method": method}
    booster = oxgb.train({"max_depth": 3, "nthread": 1}, xgboost.DMatrix(X.iloc[:, 0], Y), 4, n_classes=4, **options)
    expected = [
        zlib.crc32(np.array([*tree.get("leaf_weights", []), *tree["split_conditions"]], ">f4").tobytes())
        for tree in trees_in_json(booster)
    ]
    assert len(set(expected)) == 4
    assert checksums(booster) == expected == list(oxgb.threshold_record(booster).trees)
    assert nodes_of_trees(booster) == [len(tree["left_children"]) for tree in trees_in_json(booster)]


def test_renewed_leaves_change_nothing_else():
    booster = oxgb.train({"max_depth": 3, "nthread": 1}, matrix(), 5, n_classes=4)
    booster.set_param({"eta": 0.07})  # not in a model's bytes
    before, configuration = json.loads(bytes(booster.save_raw("json"))), booster.save_config()
    counts = [len(leaf_values(tree)) for tree in trees_in_json(booster)]
    values = [np.float32(RNG.normal(size=n)).astype(np.float64) for n in counts[2:]]
    renew_leaves(booster, 2, values)
    for tree, new in zip(before["learner"]["gradient_booster"]["model"]["trees"][2:], values, strict=True):
        leaves = np.flatnonzero(np.array(tree["left_children"]) == -1)
        for leaf, value in zip(leaves, new, strict=True):
            tree["split_conditions"][leaf] = value
    after = json.loads(bytes(booster.save_raw("json")))
    for content in (before, after):  # to float32, which JSON writes in shorter digits
        for tree in content["learner"]["gradient_booster"]["model"]["trees"]:
            tree["split_conditions"] = np.float32(tree["split_conditions"]).tolist()
    assert after == before
    assert booster.save_config() == configuration


def test_leaves_of_another_tree_are_refused():
    booster = oxgb.train({"max_depth": 3, "nthread": 1}, matrix(), 3, n_classes=4)
    raw = booster.save_raw()
    with pytest.raises(ValueError, match="cannot reshape"):
        renew_leaves(booster, 2, [np.zeros(1)])
    assert booster.save_raw() == raw


def test_trees_and_categories_are_those_of_the_json_file():
    booster = oxgb.train({"max_depth": 3, "nthread": 1, "min_child_weight": 0}, matrix(), 5, n_classes=4)
    content = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]["model"]
    found = boosters.trees(booster.save_raw("ubj"))
    assert any(tree["categories_nodes"].size for tree in found)
    for tree, expected in zip(found, content["trees"], strict=True):
        for name, array in tree.items():
            np.testing.assert_array_equal(array, np.array(expected[name], array.dtype), err_msg=name)
    assert categories_of(booster) == content["cats"] != {}
    assert categories_of(oxgb.train({"nthread": 1}, xgboost.DMatrix(X.iloc[:, 0], Y), 1, n_classes=4)) is None
