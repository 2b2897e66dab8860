"""The classifiers: labels, weights, features, predictions, and what may not go wrong."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from makers import BOTH, make_xgb, margins_of

GRADES = ["low", "medium", "high", "top"]


# Labels


@BOTH
@pytest.mark.parametrize(
    "labels",
    [[0, 1, 2, 3], [3, 10, 11, 40], [-1.0, 0.0, 2.0, 7.0], [True, False], np.array([1, 2, 3, 4], np.uint8)],
    ids=["codes", "gapped", "floats", "booleans", "uint8"],
)
def test_labels_keep_their_type_and_order(make, labels, ordinal_data):
    X, codes = ordinal_data(300, len(labels))
    labels = np.sort(np.asarray(labels))
    model = make().fit(X, labels[codes])
    np.testing.assert_array_equal(model.classes_, labels)
    assert model.predict(X).dtype == labels.dtype
    assert np.mean(model.predict(X) == labels[codes]) > 0.5
    np.testing.assert_array_equal(model.predict_proba(X), make().fit(X, codes).predict_proba(X))


@BOTH
def test_ordered_categorical_keeps_unobserved_levels(make, data):
    X, codes = data
    keep = codes != 1
    y = pd.Series(pd.Categorical.from_codes(codes, GRADES, ordered=True))[keep]
    model = make().fit(X[keep], y)
    assert model.ordered_classes_.tolist() == GRADES
    proba = model.predict_proba_ordered(X)
    assert proba.shape == (300, 4)
    assert proba[:, 1].mean() < 0.05
    np.testing.assert_array_equal(model.encode_labels(y), codes[keep])


@BOTH
@pytest.mark.parametrize(
    ("params", "change", "message"),
    [
        ({"classes": [0, 1, 2]}, None, r"labels outside the classes \[0, 1, 2\]; got 3"),
        ({}, 1.0, "at least two classes; got only the class 1"),
        ({}, np.nan, "y contains NaN"),
        ({}, 0.5, "y must hold labels of at least two classes|Unknown label type: continuous"),
        ({"decision_rule": "average"}, None, "decision_rule must be one of .*'mean'; got 'average'"),
        ({"cost_matrix": np.eye(3)}, None, r"cost_matrix must have shape \(4, 4\)"),
        ({"class_weight": {9: 2.0}}, None, r"class_weight names classes \[9\]"),
        ({"class_weight": {1: -2.0}}, None, "class_weight must hold finite, non-negative numbers"),
        ({"class_weight": "even"}, None, "class_weight must be a dict, 'balanced' or None; got 'even'"),
        ({"n_estimators": 0}, None, "n_estimators must be an integer at least 1 or 'auto'; got 0"),
        ({"threshold_update": "often"}, None, "threshold_update"),
    ],
)
def test_a_refused_fit_names_the_argument_and_changes_nothing(make, params, change, message, data):
    X, codes = data
    model = make().fit(X, codes)
    before, attributes = model.predict_proba(X), set(vars(model))
    bad = codes if change is None else np.full(300, change)
    model.set_params(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(X[:, :2], bad)
    model.set_params(**{name: make().get_params()[name] for name in params})
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert set(vars(model)) == attributes
    assert model.n_features_in_ == 4


@BOTH
def test_lengths_are_compared(make, data):
    X, y = data
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        make().fit(X, y[1:])
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(300,\)"):
        make().fit(X, y, sample_weight=np.ones(299))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        make().fit(X, y, eval_set=[(X, y[:10])])


# Weights


@BOTH
def test_balanced_weights_give_every_class_the_same_total(make, ordinal_data):
    X, y = ordinal_data(400, 4)
    keep = (y < 3) | (np.arange(400) % 5 == 0)
    X, y = X[keep], y[keep]
    total = {label: len(y) / (4 * np.sum(y == label)) for label in range(4)}
    balanced, explicit = make(class_weight="balanced").fit(X, y), make(class_weight=total).fit(X, y)
    np.testing.assert_array_equal(balanced.predict_proba(X), explicit.predict_proba(X))
    assert balanced.predict_proba(X)[:, 3].sum() > make().fit(X, y).predict_proba(X)[:, 3].sum()


# Features


# Predictions


@BOTH
def test_decision_rules(make, data):
    X, y = data
    model = make().fit(X, y)
    proba = model.predict_proba(X)
    cumulative = model.predict_cumulative_proba(X)
    np.testing.assert_allclose(cumulative, np.cumsum(proba, axis=1)[:, :-1])
    np.testing.assert_array_equal(model.predict(X), (cumulative < 0.5).sum(axis=1))
    np.testing.assert_array_equal(model.predict(X), (margins_of(model, X) < 0).sum(axis=1))
    model.set_params(decision_rule="mode")
    np.testing.assert_array_equal(model.predict(X), proba.argmax(axis=1))
    model.set_params(decision_rule="mean")
    np.testing.assert_array_equal(model.predict(X), np.rint(proba @ np.arange(4)))
    cost = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) ** 2.0
    cost[3, :3] += 50
    model.set_params(decision_rule="median", cost_matrix=cost)
    np.testing.assert_array_equal(model.predict(X), (proba @ cost).argmin(axis=1))


@BOTH
@pytest.mark.parametrize("loss", ["all_threshold", "cumulative_link", "immediate_threshold"])
def test_staged_probabilities_end_at_the_model(make, loss, data):
    X, y = data
    model = make(loss=loss).fit(X, y)
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == model.n_iter_ == 15
    np.testing.assert_allclose(stages[-1], model.predict_proba(X), atol=1e-6)
    short = make(loss=loss, n_estimators=4).fit(X, y)
    np.testing.assert_allclose(stages[3], short.predict_proba(X), atol=1e-6)


@BOTH
def test_before_fit(make, data):
    model = make()
    for method in ("predict", "predict_proba", "predict_raw", "predict_cumulative_proba", "encode_labels"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(data[0])
    with pytest.raises(NotFittedError):
        next(model.staged_predict_proba(data[0]))
    with pytest.raises(NotFittedError):
        model.save_model("nowhere.json")


@BOTH
def test_importances_and_diagnostics(make, data):
    X, y = data
    model = make().fit(np.column_stack([X, np.zeros(300)]), y)
    importances = model.feature_importances_
    assert importances.shape == (5,)
    assert importances[4] == 0
    assert importances[:2].min() > importances[2:].max()
    assert all(isinstance(count, int) for count in model.diagnostics_.values())


@BOTH
def test_an_interrupted_fit_leaves_the_model_as_it_was(make, data):
    X, y = data
    model = make().fit(X, y)
    before = model.predict_proba(X)

    def interrupt(*_):
        raise KeyboardInterrupt

    if make is make_xgb:
        model.set_params(eval_metric=interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[:, :2], y, eval_set=[(X[:, :2], y)])
    else:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[:, :2], y, callbacks=[interrupt])
    np.testing.assert_array_equal(model.predict_proba(X), before)


@BOTH
def test_training_is_quiet(make, data, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make().fit(*data).predict(data[0])
    assert capfd.readouterr() == ("", "")
