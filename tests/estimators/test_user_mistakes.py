"""What a user of the classifiers may get wrong: refused by name, and nothing is changed by it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    XGBOrdinalClassifier,
    metrics,
)

MAKERS = {
    "xgboost": lambda **params: XGBOrdinalClassifier(n_estimators=4, max_depth=3, n_jobs=1, **params),
    "lightgbm": lambda **params: LGBMOrdinalClassifier(n_estimators=4, num_leaves=6, n_jobs=1, **params),
    "histogram": lambda **params: HistGradientBoostingOrdinalClassifier(
        max_iter=4, max_leaf_nodes=6, n_jobs=1, **params
    ),
}
ALL = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@pytest.fixture
def data(ordinal_data):
    return ordinal_data(200, 4)


@ALL
@pytest.mark.parametrize(
    ("params", "given", "message"),
    [
        ({}, {"sample_weight": ["heavy"] * 200}, "sample_weight must be an array of numbers: could not convert"),
        ({}, {"sample_weight": np.ma.masked_less(np.arange(200.0), 5)}, "sample_weight is a masked array"),
        ({"class_weight": {0: "heavy"}}, {}, "class_weight must be an array of numbers"),
        ({"cost_matrix": "linear"}, {}, "cost_matrix must be an array of numbers"),
        ({"cost_matrix": [[0], [1, 0]]}, {}, "cost_matrix must be an array of numbers"),
        ({}, {"eval_set": 5}, r"eval_set must be a list of \(X, y\) pairs; got 5"),
    ],
)
def test_what_is_no_number_is_refused_by_name(make, params, given, message, data):
    X, y = data
    with pytest.raises(ValueError, match=message):
        make(**params).fit(X, y, **given)


@ALL
def test_a_tuple_of_evaluation_sets_is_a_list_of_them(make, data):
    X, y = data
    sets = (X[:100], y[:100]), (X[100:], y[100:])
    by_tuple, by_list = make().fit(X, y, eval_set=sets), make().fit(X, y, eval_set=list(sets))
    assert by_tuple.evals_result_ == by_list.evals_result_
    assert make().fit(X, y, eval_set=sets[0]).evals_result_ == make().fit(X, y, eval_set=[sets[0]]).evals_result_


@pytest.mark.parametrize("wrong", [{"max_depht": 3}, {"objective": "logistic"}, {"n_estimators": 9}])
def test_a_refused_parameter_is_not_kept(wrong):
    model = HistGradientBoostingOrdinalClassifier(max_iter=7)
    with pytest.raises(TypeError, match=next(iter(wrong))):
        model.set_params(**wrong)
    assert clone(model).get_params() == model.get_params()


@ALL
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"decision_rule": "medain"}, "decision_rule must be one of"),
        ({"cost_matrix": np.ones((3, 3))}, r"cost_matrix must have shape \(4, 4\)"),
        ({"cost_matrix": np.full((4, 4), np.nan)}, "cost_matrix holds NaN"),
        ({"cost_matrix": np.ones((4, 4)), "decision_rule": "mode"}, "two different rules"),
    ],
)
def test_a_model_that_no_load_would_take_is_not_saved(make, wrong, message, data, tmp_path):
    model = make().fit(*data).set_params(**wrong)
    with pytest.raises(ValueError, match=message):
        model.save_model(tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


@ALL
def test_labels_in_an_array_of_objects_are_saved(make, data, tmp_path):
    X, codes = data
    labels = np.array([np.int16(label) for label in (30, 10, 20, 40)], dtype=object)
    model = make(classes=labels).fit(X, labels[codes])
    model.save_model(tmp_path / "model.json")
    loaded = make().load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.ordered_classes_.tolist() == [30, 10, 20, 40]


def test_a_file_of_the_engine_names_the_classes_of_its_fit(data, tmp_path):
    X, codes = data
    model = MAKERS["histogram"](classes=range(4)).fit(X, codes).set_params(classes=["low", "high"])
    model.save_model(tmp_path / "model")
    assert MAKERS["histogram"]().load_model(tmp_path / "model").classes == [0, 1, 2, 3]


@ALL
def test_a_loaded_model_has_no_losses_of_an_earlier_fit(make, data, tmp_path):
    X, y = data
    model = make().fit(X, y, eval_set=[(X, y)])
    alone = make().fit(X[:150], y[:150])
    alone.save_model(tmp_path / "model.json")
    assert (
        vars(model.load_model(tmp_path / "model.json")).keys()
        == vars(make().load_model(tmp_path / "model.json")).keys()
    )
    assert "validation_0" not in getattr(model, "evals_result_", {})
    assert "valid_0" not in getattr(model, "evals_result_", {})


def test_a_metric_that_lightgbm_cannot_name_is_refused(data):
    X, y = data
    message = r"eval_metric must return \(name, value, is_higher_better\); got "
    with pytest.raises(TypeError, match=message):
        MAKERS["lightgbm"]().fit(X, y, eval_set=[(X, y)], eval_metric=metrics.ordinal_log_loss)


def test_a_metric_that_gives_xgboost_no_number_is_refused(data):
    X, y = data
    model = MAKERS["xgboost"](eval_metric=lambda y, proba: ("error", 0.5, False))
    with pytest.raises(TypeError, match=r"eval_metric must return a number; got \('error', 0.5, False\)"):
        model.fit(X, y, eval_set=[(X, y)])


@ALL
@pytest.mark.parametrize("name", ["decision_rule", "hessian", "threshold_update", "loss", "link"])
@pytest.mark.parametrize("value", [np.array(["exact", "mode"]), ["mode"], {"mode": 1}, 3])
def test_words_that_are_none_are_refused_by_name(make, name, value, data):
    """An array had raised NumPy's error of an ambiguous truth value."""
    with pytest.raises((ValueError, TypeError), match=f"^{name} must be (one of '|a string or an? )"):
        make(**{name: value}).fit(*data)


@ALL
def test_importances_before_fit(make):
    """hasattr says no, and scikit-learn's error says why."""
    with pytest.raises(NotFittedError, match="not fitted yet"):
        _ = make().feature_importances_
    assert not hasattr(make(), "feature_importances_")


@pytest.mark.parametrize("name", ["importance_type", "cross_terms"])
@pytest.mark.parametrize("value", [np.array(["gain", "auto"]), ["gain"]])
def test_words_of_the_engine_are_words(name, value, data):
    with pytest.raises(ValueError, match=f"^{name} must be one of '"):
        MAKERS["histogram"](**{name: value}).fit(*data)
