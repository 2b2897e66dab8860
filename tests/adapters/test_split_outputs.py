"""Which outputs judge the splits of XGBoost's trees where it fits the shifts itself."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import xgboost
from sklearn.base import clone

from makers import make_xgb
from ordinal_objectives import AllThreshold
from ordinal_objectives.adapters import xgb as oxgb
from ordinal_objectives.adapters.xgb.outputs import MIN_CHILD_WEIGHT, is_at_least
from ordinal_objectives.leaves.vector import contrasts
from shifting import N_CLASSES, data

VALUES = ("score", 1, 2, "all")
# How many of the outputs judge splits.
COUNTS = (1, 2, 3, N_CLASSES - 1)
REG_LAMBDA, SHIFT_L2 = 2.0, 3.0


def train(X, y, rounds=5, params=None, **options):
    options = {"proportional": False, "shift_method": "host", "verbose_eval": False} | options
    return oxgb.train({"max_depth": 3, "nthread": 1} | (params or {}), xgboost.DMatrix(X, y), rounds, **options)


def outputs_at_the_start(y):
    """Return gradient and Hessian of every output before the first tree, from the reference derivatives."""
    start = oxgb.threshold_record(train(np.zeros((len(y), 1)), y, 1)).at(0)
    found = AllThreshold().margin_derivatives(np.tile(start, (len(y), 1)), y, "exact")
    mixing = np.column_stack([np.ones(N_CLASSES - 1), contrasts(N_CLASSES - 1, REG_LAMBDA, SHIFT_L2)])
    return found.gradient @ mixing, found.hessian @ mixing**2


@pytest.mark.parametrize(("value", "count"), [*zip(VALUES, COUNTS, strict=True)])
@pytest.mark.parametrize("seed", range(3))
def test_the_first_split_gains_most_over_the_outputs_that_judge(value, count, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, size=(600, 5)).astype(np.float32)
    spread = np.where(X[:, 1] > 3, 2.0, 0.4)
    y = np.digitize(0.12 * X[:, 0] + spread * rng.normal(size=600), [-1.0, -0.2, 0.6, 1.4])
    y[(X[:, 2] > 5) & (y == 2)] = 1
    G, H = (columns[:, :count] for columns in outputs_at_the_start(y))

    def gain(rows):
        return np.sum(G[rows].sum(axis=0) ** 2 / (H[rows].sum(axis=0) + REG_LAMBDA))

    gains = {
        (feature, cut): gain(X[:, feature] < cut) + gain(X[:, feature] >= cut)
        for feature in range(5)
        for cut in range(1, 8)
    }
    given = {"max_depth": 1, "lambda": REG_LAMBDA, "min_child_weight": 0.0}
    tree = train(X, y, 1, given, shift_l2=SHIFT_L2, split_outputs=value).get_dump()[0]
    feature, cut = re.match(r"0:\[f(\d)<(\d)", tree).groups()
    assert (int(feature), int(cut)) == max(gains, key=gains.get)


def test_xgboost_is_handed_the_first_columns():
    gradient, hessian = np.arange(20.0, dtype=np.float32).reshape(5, 4), np.ones((5, 4), np.float32)
    for value, count in zip((*VALUES[:-1], 9), COUNTS, strict=True):
        objective = oxgb.OrdinalObjective(N_CLASSES, proportional=False, split_outputs=value)
        for handed, whole in zip(objective.split_grad(0, gradient, hessian), (gradient, hessian), strict=True):
            np.testing.assert_array_equal(handed, whole[:, :count])
            assert handed.flags.c_contiguous
    objective = oxgb.OrdinalObjective(N_CLASSES, proportional=False, split_outputs="all")
    assert objective.split_grad(0, gradient, hessian) is None  # XGBoost takes all then
    assert oxgb.OrdinalObjective(N_CLASSES).split_grad(0, gradient, hessian) is None


def test_each_value_is_another_model_and_the_score_is_the_default():
    X, y = data(800)

    def trees(**options):
        return train(X, y, 10, {"max_depth": 6}, **options).get_dump()

    found = [trees(split_outputs=value) for value in VALUES]
    assert found[0] == trees()
    assert all(one != other for i, one in enumerate(found) for other in found[:i])
    assert trees(split_outputs=3) == trees(split_outputs=50) == found[-1]


@pytest.mark.skipif(not is_at_least(MIN_CHILD_WEIGHT), reason="min_child_weight bounds no split")
@pytest.mark.parametrize("penalty", ["ridge", "smooth"])
@pytest.mark.parametrize("value", VALUES)
def test_min_child_weight_bounds_the_hessian_of_the_score(value, penalty):
    y = np.arange(400) % N_CLASSES
    X = (np.arange(400)[:, np.newaxis] < 60).astype(np.float32)
    y[:60] = np.repeat([0, 4], [50, 10])
    weight = outputs_at_the_start(y)[1][:60, 0].sum()
    for share, n_leaves in ((0.7, 2), (1.4, 1)):
        given = {"min_child_weight": share * weight, "max_depth": 1}
        booster = train(X, y, 1, given, split_outputs=value, shift_penalty=penalty)
        assert booster.get_dump()[0].count("leaf=") == n_leaves
        kept = json.loads(booster.save_config())["learner"]["gradient_booster"]["tree_train_param"]
        assert float(kept["min_child_weight"]) == pytest.approx(share * weight)


ALONE = r"split_outputs=2 belongs to shifts that XGBoost fits itself: pass shift_method='host' with it"


@pytest.mark.parametrize("options", [{"shift_method": "renewal"}, {"shift_method": "host", "proportional": True}])
def test_it_needs_shifts_that_xgboost_fits(options):
    X, y = data(100)
    with pytest.raises(ValueError, match=ALONE):
        train(X, y, split_outputs=2, **options)
    model = make_xgb(n_estimators=3, shift_method="host").fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match=ALONE):
        model.set_params(split_outputs=2, **options).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("value", [2, "all"])
def test_files_keep_it(value, tmp_path):
    X, y = data(300)
    model = make_xgb(n_estimators=4, shift_method="host", split_outputs=value).fit(X, y)
    model.save_model(tmp_path / "model.ubj")
    loaded = make_xgb().load_model(tmp_path / "model.ubj")
    assert loaded.split_outputs == value
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    again = clone(loaded).set_params(n_jobs=1).fit(X, y)
    assert again.booster_.get_dump() == model.booster_.get_dump()
    more = clone(model).fit(X, y, xgb_model=loaded)
    assert more.booster_.num_boosted_rounds() == 8
    assert more.booster_.get_dump()[:4] == model.booster_.get_dump()
    make_xgb(n_estimators=2).fit(X, y).booster_.save_model(tmp_path / "renewed.ubj")
    renewed = loaded.load_model(tmp_path / "renewed.ubj")
    assert (renewed.shift_method, renewed.split_outputs) == ("renewal", "score")
    renewed.fit(X, y)
