"""Labels whose order is not the alphabet's give scikit-learn's tools the same numbers as codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import cross_val_predict
from sklearn.utils.fixes import parse_version

from makers import ALL
from ordinal_objectives.decision import decide

NAMES = np.array(["poor", "fair", "good", "very good", "excellent"])
SORTED = np.sort(NAMES).tolist()


@pytest.fixture
def data(ordinal_data):
    return ordinal_data(400, 5)


@ALL
def test_classes_are_sorted_and_the_columns_follow(make, data):
    X, codes = data
    plain = make().fit(X, codes)
    model = make(classes=NAMES).fit(X, NAMES[codes])
    assert model.classes_.tolist() == SORTED
    assert model.ordered_classes_.tolist() == NAMES.tolist()
    in_order = plain.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba_ordered(X), in_order)
    np.testing.assert_array_equal(model.predict_proba(X), in_order[:, np.argsort(NAMES)])
    for ours, of_codes in zip(model.staged_predict_proba(X), plain.staged_predict_proba(X), strict=True):
        np.testing.assert_array_equal(ours, of_codes[:, np.argsort(NAMES)])
    np.testing.assert_array_equal(model.predict_cumulative_proba(X), plain.predict_cumulative_proba(X))
    np.testing.assert_array_equal(model.thresholds_, plain.thresholds_)
    np.testing.assert_array_equal(model.encode_labels(NAMES), np.arange(5))
    for rule in ("median", "mode", "mean"):
        decisions = plain.set_params(decision_rule=rule).predict(X)
        np.testing.assert_array_equal(model.set_params(decision_rule=rule).predict(X), NAMES[decisions])


@ALL
def test_staged_labels_end_at_the_model_and_follow_its_decisions(make, data):
    X, codes = data
    model = make(classes=NAMES).fit(X, NAMES[codes])
    for rule in ("median", "mode", "mean"):
        stages = list(model.set_params(decision_rule=rule).staged_predict(X))
        assert len(stages) == model.n_iter_ == 6
        np.testing.assert_array_equal(stages[-1], model.predict(X))
        for labels, proba in zip(stages, model.staged_predict_proba(X), strict=True):
            in_order = proba[:, np.argsort(np.argsort(NAMES))]
            np.testing.assert_array_equal(labels, NAMES[decide(in_order, rule)])
    assert (stages[0] != stages[-1]).any()


@ALL
def test_costs_and_class_weights_follow_the_order_of_the_classes(make, data):
    X, codes = data
    cost = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) ** 2.0
    cost[4, :4] += 20
    plain = make(cost_matrix=cost, class_weight={0: 3.0}).fit(X, codes)
    model = make(cost_matrix=cost, class_weight={"poor": 3.0}, classes=NAMES).fit(X, NAMES[codes])
    np.testing.assert_array_equal(model.predict(X), NAMES[plain.predict(X)])
    np.testing.assert_array_equal(model.predict_proba_ordered(X), plain.predict_proba(X))


@ALL
@pytest.mark.parametrize("names", [["low", "high"], ["high", "low"]], ids=["against the alphabet", "with it"])
def test_two_classes(make, names, ordinal_data):
    X, codes = ordinal_data(300, 2)
    names = np.array(names)
    plain, model = make().fit(X, codes), make(classes=names).fit(X, names[codes])
    assert model.classes_.tolist() == ["high", "low"]
    above = plain.decision_function(X)
    np.testing.assert_allclose(plain.predict_proba(X)[:, 1], 1 / (1 + np.exp(-above)), rtol=1e-6)
    np.testing.assert_array_equal(model.decision_function(X), above if names[1] == "low" else -above)
    np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X) == model.classes_[1])
    area = get_scorer("roc_auc")(plain, X, codes)
    assert area > 0.85
    assert get_scorer("roc_auc")(model, X, names[codes]) == pytest.approx(area)
    for name in {"neg_log_loss", "d2_log_loss_score", "roc_auc_ovr"} & set(get_scorer_names()):
        assert get_scorer(name)(model, X, names[codes]) == pytest.approx(get_scorer(name)(plain, X, codes)), name


@ALL
def test_tools_that_encode_labels_first_are_refused_where_classes_are_declared(make, data):
    X, codes = data
    y, model = NAMES[codes], make(classes=NAMES)
    message = "encodes labels before fit.* loses the order.*give it codes 0..4"
    assert cross_val_predict(model, X, y, cv=2).shape == (400,)
    with pytest.raises(ValueError, match=message):
        cross_val_predict(model, X, y, cv=2, method="predict_proba")
    for tool in (
        CalibratedClassifierCV(model, ensemble=False, cv=2),
        VotingClassifier([("m", model)]),
        StackingClassifier([("m", model)], LogisticRegression(), cv=2),
        BaggingClassifier(model, n_estimators=2),
    ):
        with pytest.raises(ValueError, match=message):
            tool.fit(X, y)
    if parse_version(sklearn.__version__) >= parse_version("1.8"):
        with pytest.raises(ValueError, match=message):
            CalibratedClassifierCV(model, method="temperature", cv=2).fit(X, y)


@ALL
@pytest.mark.parametrize("link", ["cloglog", "loglog", "cauchit"])
@pytest.mark.parametrize("names", [["low", "high"], ["high", "low"]], ids=["against the alphabet", "with it"])
def test_the_sign_of_the_decision_function_is_that_of_predict(make, link, names, ordinal_data):
    X, codes = ordinal_data(300, 2)
    y = np.array(names)[codes]
    model = make(classes=names, link=link).fit(X, y)
    positive = model.decision_function(X) > 0
    np.testing.assert_array_equal(positive, model.predict_proba(X)[:, 1] > 0.5)
    np.testing.assert_array_equal(positive, model.predict(X) == model.classes_[1])
    assert 0.2 < positive.mean() < 0.8


@ALL
@pytest.mark.parametrize("names_all", [True, False], ids=["passes on what it does not name", "names a few"])
def test_a_subclass_may_have_a_constructor_of_its_own(make, names_all, data, tmp_path):
    X, codes = data
    kind: Any = type(make())
    settings = {"max_depth": 1, "link": "probit", "decision_rule": "mode", "subsample": 0.5, "random_state": 0}

    class PassesOn(kind):
        def __init__(self, note=None, **others):
            self.note = note
            super().__init__(**others)

    class NamesFew(kind):
        def __init__(self, note=None, link="logit"):
            self.note = note
            super().__init__(**make().get_params() | settings | {"link": link})

    plain = make(**settings).fit(X, codes)
    model = PassesOn("mine", **plain.get_params()) if names_all else NamesFew("mine", "probit")
    assert repr(clone(model)) == repr(model)
    for one in (model, clone(model)):
        assert one.note == "mine"
        np.testing.assert_array_equal(one.fit(X, codes).predict_proba(X), plain.predict_proba(X))
    model.save_model(tmp_path / "model.json")
    loaded = kind().load_model(tmp_path / "model.json")
    wanted = plain.get_params()
    assert {name: loaded.get_params()[name] for name in settings} == {name: wanted[name] for name in settings}
    np.testing.assert_array_equal(loaded.predict(X), plain.predict(X))
    if names_all:
        assert model.set_params(max_depth=2).max_depth == 2
    else:  # a copy would not have it
        with pytest.raises(ValueError, match="Invalid parameter 'max_depth'"):
            model.set_params(max_depth=2)
    again = type(model)().load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.fit(X, codes).predict_proba(X), plain.predict_proba(X))
