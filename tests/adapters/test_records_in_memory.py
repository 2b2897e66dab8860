"""A record is handed on in memory: text is parsed once, in the process that reads a file, and never out of date."""

from __future__ import annotations

import copy
import json
import pickle

import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives import XGBOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.adapters.lgbm.booster import stored_record as record_on_lightgbm
from ordinal_objectives.losses import get_loss
from ordinal_objectives.threshold_solver import ThresholdRecord
from own_losses import Rising

KINDS = {
    "proportional": {"proportional": True},
    "renewal": {"proportional": False},
    "host": {"proportional": False, "shift_method": "host"},
}
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
X = np.random.default_rng(0).normal(size=(120, 4))
Y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
PARAMS = {"max_depth": 2, "nthread": 1, "verbosity": 0}
LGB_PARAMS = {"verbosity": -1, "num_threads": 1, "num_leaves": 4}


@pytest.fixture
def parsed(monkeypatch):
    """Texts that are parsed in a test."""
    texts, parse = [], ThresholdRecord.from_json

    def from_json(text, kinds):
        texts.append(text)
        return parse(text, kinds)

    monkeypatch.setattr(ThresholdRecord, "from_json", from_json)
    return texts


def matrix():
    return xgboost.DMatrix(X, Y, nthread=1)


def trained(seed=0, **kind):
    weight = np.random.default_rng(seed).uniform(0.5, 1.5, len(Y))
    data = xgboost.DMatrix(X, Y, weight=weight, nthread=1)
    return oxgb.train(PARAMS, data, 4, n_classes=4, **kind)


def on_lightgbm(**options):
    data = lightgbm.Dataset(X, Y, free_raw_data=False)
    return olgbm.train(LGB_PARAMS, data, 4, n_classes=4, **options)


@each_kind
def test_one_process_parses_nothing(kind, parsed):
    booster, data = trained(**kind), matrix()
    for copied in (
        booster,
        booster[:3],
        copy.copy(booster),
        copy.deepcopy(booster),
        pickle.loads(pickle.dumps(booster)),
    ):
        oxgb.predict_proba(copied, data, (0, 3))
        oxgb.threshold_record(copied)
    oxgb.train(PARAMS, data, 2, n_classes=4, xgb_model=booster, evals=[(data, "train")], verbose_eval=False, **kind)
    assert not parsed


@each_kind
def test_a_classifier_parses_no_text_of_its_own(kind, parsed, tmp_path):
    model = XGBOrdinalClassifier(n_estimators=3, n_jobs=1, **kind).fit(X, Y)
    model.predict_proba(X)
    model.save_model(tmp_path / "model.ubj")
    assert model.fit(X, Y, xgb_model=model).n_iter_ == 6
    oxgb.predict_proba(model.booster_, matrix())
    assert not parsed


class Mark:
    """What has no text of its own."""

    def __init__(self, name):
        self.name = name


class Marked(Rising):
    """Objects of it differ in what neither files nor texts say."""

    def __init__(self, mark):
        super().__init__("logit")
        self._mark = mark


def test_a_loss_of_one_s_own_stays_with_its_model():
    loss, newer = Marked(Mark("first")), Marked(Mark("second"))
    booster = trained(proportional=True, loss=loss)
    other = on_lightgbm(loss=loss)
    copies = [copy.copy(booster), booster[:2], pickle.loads(pickle.dumps(booster))]
    copies.append(oxgb.train(PARAMS, matrix(), 1, n_classes=4, xgb_model=booster, loss=loss))
    get_loss(newer)  # a file that names the loss means this one now
    records = [*map(oxgb.threshold_record, [booster, *copies]), olgbm.threshold_record(other)]
    assert {vars(record.ordinal_loss())["_mark"].name for record in records} == {"first"}


def test_a_text_that_was_changed_is_read():
    booster, data = trained(), matrix()
    before = oxgb.predict_proba(booster, data)
    content = json.loads(booster.attr(oxgb.ATTRIBUTE))
    content["thresholds"] = [[cut + 1.0 for cut in row] for row in content["thresholds"]]
    booster.set_attr(**{oxgb.ATTRIBUTE: json.dumps(content)})
    after = oxgb.predict_proba(booster, data)
    assert (after[:, 0] > before[:, 0]).all()
    np.testing.assert_array_equal(oxgb.threshold_record(booster).thresholds, content["thresholds"])
    booster.set_attr(**{oxgb.ATTRIBUTE: "{"})
    with pytest.raises(ValueError, match="damaged"):
        oxgb.predict_proba(booster, data)
    booster.set_attr(**{oxgb.ATTRIBUTE: None})
    with pytest.raises(ValueError, match="carries no ordinal thresholds"):
        oxgb.predict_proba(booster, data)


@each_kind
def test_a_booster_that_loads_another_model_takes_over_its_record(kind):
    booster, other, data = trained(**kind), trained(1, **kind), matrix()
    expected = oxgb.predict_proba(other, data)
    assert (oxgb.predict_proba(booster, data) != expected).any()
    booster.load_model(other.save_raw())
    np.testing.assert_array_equal(oxgb.predict_proba(booster, data), expected)


def test_trees_that_were_refreshed_are_refused():
    booster, data = trained(), matrix()
    oxgb.predict_proba(booster, data)
    booster.set_param({"process_type": "update", "updater": "refresh"})
    for iteration in range(4):
        booster.update(data, iteration, fobj=lambda predt, _: (predt - 1.0, np.ones_like(predt)))
    with pytest.raises(ValueError, match="its trees were changed"):
        oxgb.predict_proba(booster, data)


@pytest.mark.parametrize("host", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("kind", [KINDS["proportional"], KINDS["renewal"]], ids=["proportional", "renewal"])
def test_what_a_user_does_to_a_record_changes_no_model(host, kind):
    module, booster, data = (oxgb, trained(**kind), matrix()) if host == "xgboost" else (olgbm, on_lightgbm(**kind), X)
    expected = module.predict_proba(booster, data)
    record = module.threshold_record(booster)
    for array in (*record.thresholds, *record.leaf_vectors):
        array[:] = 9.0
    for container in (record.thresholds, record.training_loss, record.trees, record.leaf_vectors, record.diagnostics):
        container.clear()
    np.testing.assert_array_equal(module.predict_proba(booster, data), expected)
    with pytest.raises(AttributeError, match="cannot assign"):
        record.loss = "other"


def test_a_lightgbm_booster_that_loads_another_model_takes_over_its_record(tmp_path):
    first, second = on_lightgbm(), on_lightgbm(threshold_update="newton")
    olgbm.save_model(first, tmp_path / "first.txt")
    olgbm.save_model(second, tmp_path / "second.txt")
    booster = lightgbm.Booster(model_file=tmp_path / "first.txt")
    assert record_on_lightgbm(booster).spec.threshold_update == "joint"
    booster.model_from_string((tmp_path / "second.txt").read_text())
    assert record_on_lightgbm(booster).spec.threshold_update == "newton"
    np.testing.assert_array_equal(olgbm.predict_proba(booster, X), olgbm.predict_proba(second, X))
    booster.model_from_string(second.model_to_string())
    with pytest.raises(ValueError, match="carries no ordinal thresholds"):
        olgbm.predict_proba(booster, X)


def test_a_loaded_lightgbm_booster_whose_trees_were_changed_is_refused(tmp_path):
    olgbm.save_model(on_lightgbm(), tmp_path / "model.txt")
    booster = lightgbm.Booster(model_file=tmp_path / "model.txt")
    olgbm.predict_proba(booster, X)
    booster.set_leaf_output(2, 0, 5.0)
    with pytest.raises(ValueError, match="or changed"):
        olgbm.predict_proba(booster, X)
