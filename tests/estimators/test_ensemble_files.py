"""Files of ensembles: what is in them, what they refuse, and what a damaged one says."""

from __future__ import annotations

import copy
import json
import zipfile

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier

from makers import MAKERS
from ordinal_objectives import OrdinalEnsembleClassifier, XGBOrdinalClassifier

NAMES = np.array(["poor", "fair", "good", "excellent"])


def members():
    multiclass = XGBClassifier(n_estimators=4, max_depth=2, n_jobs=1)
    return [*((name, make()) for name, make in MAKERS.items()), ("multiclass", multiclass)]


@pytest.fixture(scope="module")
def fitted(ordinal_data):
    """Return features, labels of which a declared class has no row, and a fitted ensemble."""
    X, codes = ordinal_data(300, 4)
    y = NAMES[np.where(codes == 2, 1, codes)]
    model = OrdinalEnsembleClassifier(members(), classes=NAMES, weights=[1, 2, 3, 4], cost_matrix=1 - np.eye(4))
    return X, y, model.fit(X, y)


@pytest.fixture
def saved(fitted, tmp_path):
    """Return them, the ensemble as a copy of the test's own, and its file."""
    X, y, model = copy.deepcopy(fitted)
    model.save_model(tmp_path / "model.zip")
    return X, y, model, tmp_path / "model.zip"


def rewrite(path, change):
    """Change the JSON of a file."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    contents = json.loads(files["ensemble.json"])
    files["ensemble.json"] = json.dumps(change(contents)).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


def of_member(i, **changes):
    """Return a change of a member."""

    def change(contents):
        contents["members"][i] |= changes
        return contents

    return change


def of_classifier(**changes):
    """Return a change of what the file says of the ensemble."""

    def change(contents):
        contents["classifier"] |= changes
        return contents

    return change


def test_a_loaded_ensemble_predicts_and_trains_the_same(saved):
    X, y, model, path = saved
    loaded = OrdinalEnsembleClassifier(n_jobs=2).load_model(path)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.weights_, model.weights_)
    assert loaded.ordered_classes_.tolist() == NAMES.tolist()
    assert (loaded.n_features_in_, loaded.n_jobs) == (4, 2)
    again = clone(loaded).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    loaded.save_model(path)
    np.testing.assert_array_equal(OrdinalEnsembleClassifier().load_model(path).predict(X), model.predict(X))


def test_the_file_holds_the_hosts_own_files_and_no_pickle(saved, tmp_path):
    X, _, model, path = saved
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        archive.extract("0_1.json", tmp_path)
    assert names == ["ensemble.json", *(f"{i}_{j}{end}" for i, end in enumerate([".json", ".txt", ".model", ".json"])
                                        for j in range(2))]  # fmt: skip
    member = XGBOrdinalClassifier().load_model(tmp_path / "0_1.json")
    np.testing.assert_array_equal(member.predict_proba(X), model.members_["xgboost"][1].predict_proba(X))


def test_names_of_features_are_in_the_file(data, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = data
    X = pandas.DataFrame(X, columns=list("abcd"))
    OrdinalEnsembleClassifier(members()[:1]).fit(X, y).save_model(tmp_path / "model.zip")
    loaded = OrdinalEnsembleClassifier().load_model(tmp_path / "model.zip")
    assert loaded.feature_names_in_.tolist() == list("abcd")


def test_a_member_without_a_format_is_refused_by_name(data, tmp_path):
    X, y = data
    model = OrdinalEnsembleClassifier([*members(), ("linear", LogisticRegression())])
    with pytest.raises(NotFittedError):
        model.save_model(tmp_path / "model.zip")
    with pytest.raises(TypeError, match="member 'linear' is of LogisticRegression, which has no file format"):
        model.fit(X, y).save_model(tmp_path / "model.zip")
    assert not list(tmp_path.iterdir())

    class XGBClassifier(LogisticRegression):
        """Has the name of one that can be saved."""

    with pytest.raises(TypeError, match="member 'a' is of XGBClassifier, which has no"):
        OrdinalEnsembleClassifier([("a", XGBClassifier())]).fit(X, y).save_model(tmp_path / "model.zip")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (of_member(0, kind="os.system"), "is damaged: it holds a member of 'os.system'"),
        (of_member(0, files=["0_0.json"]), "is damaged"),
        (of_member(0, files=["../a", "b"]), "is damaged: KeyError"),
        (of_classifier(classes=NAMES[1:].tolist()), "is damaged"),
        (of_classifier(params={"decision_rule": "best"}), "is damaged: decision_rule"),
        (of_classifier(params={"unknown": 1}), "is damaged: .*unknown"),
        (lambda c: {}, "is damaged"),
        (lambda c: c | {"members": [{"kind": one["kind"]} for one in c["members"]]}, r"is damaged: members\[0\]"),
        (lambda c: [1], "is damaged"),
    ],
)
def test_damaged_contents_are_refused_and_the_model_stays(change, message, saved):
    X, _, model, path = saved
    before = model.predict_proba(X)
    rewrite(path, change)
    with pytest.raises(ValueError, match=message):
        model.load_model(path)
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize(
    "params",
    [{"missing": -999.0}, {"missing": -999.0, "early_stopping_rounds": 2}, {"importance_type": "weight"}],
    ids=str,
)
@pytest.mark.parametrize("kind", [XGBClassifier, XGBOrdinalClassifier])
def test_parameters_that_predictions_need_are_those_of_the_copies(kind, params, data, tmp_path):
    X, y = data
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, -999.0, X)
    model = OrdinalEnsembleClassifier([("a", kind(n_estimators=5, n_jobs=1, **params))]).fit(X, y)
    model.save_model(tmp_path / "model.zip")
    loaded = OrdinalEnsembleClassifier().load_model(tmp_path / "model.zip")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    for one, two in zip(loaded.members_["a"], model.members_["a"], strict=True):
        np.testing.assert_array_equal(one.feature_importances_, two.feature_importances_)


@pytest.mark.parametrize(
    "later", [{"members": [("b", LogisticRegression())]}, {"a": XGBClassifier()}, {"a__n_estimators": 9}], ids=str
)
def test_a_file_gives_back_the_members_that_were_trained(later, data, tmp_path):
    X, y = data
    model = OrdinalEnsembleClassifier([("a", MAKERS["xgboost"]())]).fit(X, y)
    before = model.predict_proba(X)
    model.set_params(**later).save_model(tmp_path / "model.zip")
    loaded = OrdinalEnsembleClassifier().load_model(tmp_path / "model.zip")
    np.testing.assert_array_equal(loaded.predict_proba(X), before)
    assert [name for name, _ in loaded.members] == ["a"]


def test_a_loaded_default_trains_as_the_default_does(data, tmp_path):
    X, y = data
    model = OrdinalEnsembleClassifier(random_state=0).fit(X, y)
    model.set_params(members=members()).save_model(tmp_path / "model.zip")
    loaded = OrdinalEnsembleClassifier().load_model(tmp_path / "model.zip")
    assert loaded.members is None
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(clone(loaded).fit(X, y).predict_proba(X), model.predict_proba(X))
