"""Boosters and matrices of a user's own: what is not the model that was recorded is refused by name."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives import LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

KINDS = {
    "proportional": {"proportional": True},
    "renewal": {"proportional": False},
    "host": {"proportional": False, "shift_method": "host"},
}
X = np.random.default_rng(0).normal(size=(120, 4))
Y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def trained(kind):
    return oxgb.train({"max_depth": 3, "nthread": 1}, xgboost.DMatrix(X, Y), 4, n_classes=4, **kind)


def boost_once(booster):
    """Add a round that no objective of ours knows of."""
    booster.update(xgboost.DMatrix(X, Y), 9, fobj=lambda predt, _: (predt - 1.0, np.ones_like(predt)))


@each_kind
def test_rounds_that_were_added_by_hand_have_no_thresholds(kind):
    booster, data = trained(kind), xgboost.DMatrix(X, Y)
    expected = oxgb.predict_proba(booster, data)
    boost_once(booster)
    with pytest.raises(ValueError, match="booster has 5 rounds, but thresholds for only 4"):
        oxgb.predict_proba(booster, data)
    with pytest.raises(ValueError, match="booster has 5 rounds, but thresholds for only 4"):
        oxgb.train({"max_depth": 3, "nthread": 1}, data, 1, xgb_model=booster, **kind)
    # What the message offers.
    np.testing.assert_array_equal(oxgb.predict_proba(booster, data, (0, 4)), expected)
    np.testing.assert_array_equal(oxgb.predict_proba(booster[:4], data), expected)


@each_kind
def test_a_classifier_predicts_with_the_rounds_of_its_fit(kind):
    model = XGBOrdinalClassifier(n_estimators=4, **kind).fit(X, Y)
    expected = model.predict_proba(X)
    boost_once(model.booster_)
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_rounds_before_those_that_were_added_are_checked():
    booster, other = trained(KINDS["renewal"]), trained(KINDS["proportional"])
    boost_once(other)
    other.set_attr(**{oxgb.ATTRIBUTE: booster.attr(oxgb.ATTRIBUTE)})
    with pytest.raises(ValueError, match="rounds are not the first"):
        oxgb.predict_proba(other, xgboost.DMatrix(X), (0, 4))


@pytest.mark.parametrize("proportional", [True, False])
def test_lightgbm_iterations_added_by_hand_have_no_thresholds(proportional, tmp_path):
    params = {"verbosity": -1, "num_threads": 1}
    booster = olgbm.train(
        params, lightgbm.Dataset(X, Y), 4, n_classes=4, proportional=proportional, keep_training_booster=True
    )
    expected = olgbm.predict_proba(booster, X)
    booster.update(fobj=lambda predt, _: (predt - 1.0, np.ones_like(predt)))
    path, says = tmp_path / "model.txt", "thresholds for only 4"
    for ask in (
        lambda: olgbm.predict_proba(booster, X),
        lambda: olgbm.save_model(booster, path),
        lambda: olgbm.train(params, lightgbm.Dataset(X, Y), 1, proportional=proportional, init_model=booster),
        lambda: LGBMOrdinalClassifier(n_estimators=1, proportional=proportional).fit(X, Y, init_model=booster),
    ):
        with pytest.raises(ValueError, match=says):
            ask()
    assert not path.exists()
    # What the message offers.
    np.testing.assert_array_equal(olgbm.predict_proba(booster, X, 4), expected)
    olgbm.save_model(booster, path, num_iteration=4)
    np.testing.assert_array_equal(LGBMOrdinalClassifier().load_model(path).predict_proba(X), expected)


def test_a_file_with_rounds_that_were_added_by_hand_is_no_classifier(tmp_path):
    path, booster = tmp_path / "model.ubj", trained(KINDS["proportional"])
    boost_once(booster)
    booster.save_model(path)
    with pytest.raises(ValueError, match="booster has 5 rounds, but thresholds for only 4"):
        XGBOrdinalClassifier().load_model(path)
