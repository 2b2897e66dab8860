"""What model files hold is read as strictly as it is written: parameters, losses, leaves, types of JSON."""

from __future__ import annotations

import copy
import json
import pickle
import warnings

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.base import clone

from damage_files import rewritten
from grouped_rows import of_host, simulated
from makers import LGB_DEFAULTS
from ordinal_objectives import (
    HistGradientBoostingMultiOutputRegressor,
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    XGBOrdinalClassifier,
)
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.utils.files import value_from_json, value_to_json
from ordinal_objectives.utils.json_of import decoded, encoded

HOSTS = {
    "model.json": lambda **o: XGBOrdinalClassifier(**{"n_estimators": 6, "max_depth": 3, "n_jobs": 1} | o),
    "model.ubj": lambda **o: XGBOrdinalClassifier(**{"n_estimators": 6, "max_depth": 3, "n_jobs": 1} | o),
    "model.txt": lambda **o: LGBMOrdinalClassifier(
        **{"n_estimators": 6, "num_leaves": 6, "n_jobs": 1, "verbose": -1} | LGB_DEFAULTS | o
    ),
}
EACH = pytest.mark.parametrize("name", HOSTS)


def edited(path, edit):
    """Change the record or the header in a file."""

    def changed(text):
        content = json.loads(text)
        edit(content)
        return json.dumps(content)

    rewritten(path, changed)


def take_leaves_away(record):
    record["leaf_vectors"][0] = {"shape": [1, 3], "float32": "A" * 16}


def put(key, value):
    return lambda record: record.__setitem__(key, value)


@EACH
@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (take_leaves_away, r"record holds vectors of \d leaves of tree 0, which has \d"),
        (put("version", 2), "'ordinal_objectives', version 2"),
        (put("thresholds", [["0", "1", "2"]] * 7), r"thresholds\[0\]"),
        (
            lambda record: record["classifier"].update(params={"n_estimators": {"group": []}}),
            "damaged: a parameter must be",
        ),
        (lambda record: record["classifier"].update(params={"loss": "cumulative_link"}), "loss"),
        (lambda record: record["classifier"].update(params=[1]), "classifier.params"),
    ],
)
def test_a_record_of_other_types_or_leaves_is_refused(data, tmp_path, name, edit, message):
    X, y = data
    HOSTS[name]().fit(X, y).save_model(tmp_path / name)
    edited(tmp_path / name, edit)
    model = HOSTS[name](learning_rate=0.7)
    before = model.get_params()
    with pytest.raises(ValueError, match=message):
        model.load_model(tmp_path / name)
    assert model.get_params() == before
    assert not hasattr(model, "booster_")


def test_effects_of_a_column_that_there_is_not_are_refused(tmp_path):
    X, y, _, _ = simulated(5, 0, n_groups=10)
    of_host(XGBOrdinalClassifier, n_estimators=2).fit(X, y).save_model(tmp_path / "model.json")
    edited(tmp_path / "model.json", lambda record: record["random_effects"][0]["column"].update(place=X.shape[1]))
    with pytest.raises(ValueError, match="random effects must be of columns below 4"):
        XGBOrdinalClassifier().load_model(tmp_path / "model.json")


def test_boosters_whose_record_has_other_leaves_predict_nothing(data, tmp_path):
    X, y = data
    for name in ("model.json", "model.txt"):
        HOSTS[name]().fit(X, y).save_model(tmp_path / name)
        edited(tmp_path / name, take_leaves_away)
    with pytest.raises(ValueError, match="leaves of tree 0"):
        oxgb.predict_proba(xgboost.Booster(model_file=tmp_path / "model.json"), xgboost.DMatrix(X))
    with pytest.raises(ValueError, match="leaves of tree 0"):
        olgbm.predict_proba(lightgbm.Booster(model_file=tmp_path / "model.txt"), X)


@EACH
@pytest.mark.filterwarnings("ignore:no tree has a split")
def test_an_infinite_loss_is_kept(data, tmp_path, name):
    X, y = data
    rng = np.random.default_rng(0)
    start = {"base_margin" if name != "model.txt" else "init_score": rng.normal(size=len(y)) * 1000}
    model = HOSTS[name](link="cloglog", proportional=True, n_estimators=2)
    model.fit(X, y, sample_weight=np.full(len(y), 1e6), **start)
    losses = model._record.training_loss
    assert np.isinf(losses).any()
    model.save_model(tmp_path / name)
    for again in (HOSTS[name]().load_model(tmp_path / name), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again._record.training_loss == losses
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_the_engines_file_keeps_losses_that_are_not_finite(data, tmp_path):
    X, y = data
    model = HistGradientBoostingOrdinalClassifier(max_iter=2, n_jobs=1).fit(X, y)
    model.evals_result_["validation"] = [np.inf, 0.5, np.inf]
    model.save_model(tmp_path / "model")
    again = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "model")
    assert again.evals_result_ == model.evals_result_


def test_losses_in_json():
    losses = [0.1, np.nan, np.inf, -np.inf, 3]
    text = json.dumps(encoded(losses), allow_nan=False)
    np.testing.assert_array_equal(decoded(list[float], json.loads(text)), losses)


@EACH
def test_a_loaded_model_trains_as_the_saved_one(data, tmp_path, name):
    X, y = data
    grades = np.array(["d", "c", "b", "a"])
    weights = {"a": 2.0, "b": 1.0, "c": 0.5, "d": 3.0}
    options = {"class_weight": weights, "learning_rate": 0.05, "random_state": np.int64(3), "subsample": 0.8}
    options |= {"reg_alpha": 0.1, "classes": grades}
    options |= {"subsample_freq": 1} if name == "model.txt" else {"monotone_constraints": None, "max_bin": 32}
    model = HOSTS[name](**options).fit(X, grades[y])
    model.save_model(tmp_path / name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = type(model)(n_jobs=1, **({"verbose": -1} if name == "model.txt" else {})).load_model(tmp_path / name)
    expected, found = model.get_params(), loaded.get_params()
    written_out = {"classes", "proportional", "shift_l2"}  # as the training had them
    assert found.keys() == expected.keys()
    for key in expected.keys() - written_out - {"missing"}:
        assert found[key] == expected[key], key
    again = clone(loaded).fit(X, grades[y])
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_what_json_cannot_hold_is_named(data, tmp_path):
    X, y = data
    model = XGBOrdinalClassifier(n_estimators=3, n_jobs=1, eval_metric=lambda y, proba: 0.0, random_state=3)
    model.fit(X, y).save_model(tmp_path / "model.ubj")
    kept = XGBOrdinalClassifier(eval_metric="rps")
    with pytest.warns(UserWarning, match="the file holds no eval_metric, which JSON cannot") as told:
        kept.load_model(tmp_path / "model.ubj")
    assert told[0].filename == __file__
    assert kept.eval_metric == "rps"
    assert kept.random_state == 3


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 0.5, "text", [1, [2, "a"]], (1, -1, 0), {1: 2.0, "a": (1,)}, {}, (), [{"x": None}], [(0, 1), (2,)]]
    + [np.inf, [-np.inf], {1, 2}, [{0, 1}, frozenset({"a"})], {(0, 1)}, set(), {"a": np.inf}],
)
def test_values_of_parameters_in_json(value):
    again = value_from_json(json.loads(json.dumps(value_to_json(value), allow_nan=False)))
    assert again == value
    assert type(again) is type(value)


def test_nan_in_json():
    assert np.isnan(value_from_json(json.loads(json.dumps(value_to_json([np.nan]), allow_nan=False)))[0])


@pytest.mark.parametrize("value", [len, object(), [len], {len}, {"a": 1j}])
def test_values_that_json_cannot_hold_are_refused(value):
    with pytest.raises(TypeError, match="a model file holds no"):
        value_to_json(value)


@pytest.mark.parametrize("loss", [None, {}, [1.0], 2, "log_loss"])
def test_a_multi_output_file_of_no_loss_is_refused(data, tmp_path, loss):
    X, _ = data
    model = HistGradientBoostingMultiOutputRegressor(max_iter=2, n_jobs=1).fit(X, X[:, :2])
    model.save_model(tmp_path / "model")
    edited(tmp_path / "model", lambda header: header["classifier"]["params"].update(loss=loss))
    with pytest.raises(ValueError, match=r"is damaged: (loss must be one of|a parameter must be a number, a tuple)"):
        HistGradientBoostingMultiOutputRegressor().load_model(tmp_path / "model")
