"""What a user of the classifiers may get wrong: refused by name, and nothing is changed by it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from makers import ALL, MAKERS, watching
from ordinal_objectives import (
    HistGradientBoostingMultiOutputRegressor,
    OrdinalCalibratedClassifier,
    OrdinalEnsembleClassifier,
    OrdinalPredictionSets,
    OrdinalTunedClassifier,
    XGBOrdinalClassifier,
    scorers,
)


@ALL
@pytest.mark.parametrize(
    ("params", "given", "message"),
    [
        ({}, {"sample_weight": ["heavy"] * 300}, "sample_weight must be an array of numbers: got an array of type <U5"),
        ({}, {"sample_weight": np.ma.masked_less(np.arange(300.0), 5)}, "sample_weight is a masked array"),
        ({}, {"sample_weight": [10**400] * 300}, "sample_weight must be an array of numbers: int too large"),
        ({"cost_matrix": 10**400}, {}, "cost_matrix must be an array of numbers: int too large"),
        ({"class_weight": {0: "heavy"}}, {}, "class_weight must be an array of numbers"),
        ({"cost_matrix": "linear"}, {}, "cost_matrix must be an array of numbers"),
        ({"cost_matrix": [[0], [1, 0]]}, {}, "cost_matrix must be an array of numbers"),
    ],
)
def test_what_is_no_number_is_refused_by_name(make, params, given, message, data):
    X, y = data
    with pytest.raises(ValueError, match=message):
        make(**params).fit(X, y, **given)


@pytest.mark.parametrize("make", [MAKERS["xgboost"], MAKERS["lightgbm"]])
def test_a_tuple_of_evaluation_sets_is_a_list_of_them(make, data):
    X, y = data
    with pytest.raises(ValueError, match=r"eval_set must be a list of \(X, y\) pairs; got 5"):
        make().fit(X, y, eval_set=5)
    sets = (X[:100], y[:100]), (X[100:], y[100:])
    by_tuple, by_list = make().fit(X, y, eval_set=sets), make().fit(X, y, eval_set=list(sets))
    assert by_tuple.evals_result_ == by_list.evals_result_
    assert make().fit(X, y, eval_set=sets[0]).evals_result_ == make().fit(X, y, eval_set=[sets[0]]).evals_result_


@pytest.mark.parametrize("wrong", [{"objective": "logistic"}, {"base_score": 0.1}])
def test_a_refused_parameter_is_not_kept(wrong):
    model = XGBOrdinalClassifier(n_estimators=7)
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
    assert MAKERS["histogram"]().load_model(tmp_path / "model").classes.tolist() == [0, 1, 2, 3]


@ALL
def test_a_loaded_model_has_no_losses_of_an_earlier_fit(make, data, tmp_path):
    X, y = data
    model = make().fit(X, y, **watching(make(), X, y))
    alone = make().fit(X[:150], y[:150])
    alone.save_model(tmp_path / "model.json")
    assert (
        vars(model.load_model(tmp_path / "model.json")).keys()
        == vars(make().load_model(tmp_path / "model.json")).keys()
    )
    assert "validation_0" not in getattr(model, "evals_result_", {})
    assert "valid_0" not in getattr(model, "evals_result_", {})


# Predictions


@ALL
@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"ntree_limit": 2}, "got ntree_limit=2; staged_predict and staged_predict_proba yield"),
        ({"raw_score": True}, "got raw_score=True; predict_raw returns the score"),
        ({"pred_contrib": True}, "got pred_contrib=True"),
        ({"margin": np.zeros(3)}, r"got margin=an array of shape \(3,\)"),
    ],
)
def test_arguments_of_other_predictions_are_refused_by_name(make, given, hint, data):
    model = make().fit(*data)
    allowed = {
        "XGBOrdinalClassifier": "X, base_margin and iteration_range",
        "LGBMOrdinalClassifier": "X, init_score, start_iteration and num_iteration",
    }
    kind = type(model).__name__
    for method in ("predict", "predict_proba", "predict_raw", "predict_cumulative_proba"):
        with pytest.raises(TypeError, match=f"predictions of {kind} take {allowed.get(kind, 'only X')}; {hint}"):
            getattr(model, method)(data[0], **given)
    with pytest.raises(TypeError, match=hint):
        next(model.staged_predict(data[0], **given))


@ALL
def test_a_decision_function_of_many_classes_names_what_to_call(make, data):
    model = make().fit(*data)
    with pytest.raises(AttributeError, match=r"decision_function for two classes only; got 4. predict_raw returns"):
        model.decision_function(data[0])


# Names of parameters


@ALL
@pytest.mark.parametrize(
    ("wrong", "right"),
    [("max_dept", "max_depth"), ("learning_rte", "learning_rate"), ("decision_rul", "decision_rule")],
)
def test_a_misspelt_parameter_trains_nothing(make, wrong, right, data):
    with pytest.raises(TypeError, match=f"has no parameter '{wrong}'; did you mean '{right}'"):
        make(**{wrong: 3}).fit(*data)


def test_every_parameter_of_the_installed_xgboost_is_known(data):
    """One that is not, and resembles another, would be refused as misspelt."""
    model = MAKERS["xgboost"]().fit(*data)
    described = {}

    def collect(part):
        for name, value in part.items():
            if isinstance(value, dict):
                collect(value)
            elif isinstance(value, str):
                described[name] = value

    collect(json.loads(model.booster_.save_config())["learner"])
    of_the_model = {"name", "num_feature", "num_target", "num_trees", "boost_from_average"}
    for name in (
        set(described) - of_the_model - set(model._parameter_names.refused) - set(model._parameter_names.renamed)
    ):
        XGBOrdinalClassifier(**{name: described[name]})._refuse_unknown()


def test_a_name_unlike_all_others_is_left_to_xgboost(data):
    """A newer version may have it; XGBoost warns of those that it does not use."""
    with pytest.warns(UserWarning, match="foo_bar"):
        MAKERS["xgboost"](foo_bar=3).fit(*data)


# Files


@ALL
@pytest.mark.parametrize("content", [bytes(range(256)), b"hello\n", b""], ids=["bytes", "text", "nothing"])
def test_a_file_that_is_no_model_is_refused_in_one_line(make, content, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"model is not a model file of (XGBoost|LightGBM|the native engine)$"):
        make().load_model(path)


@ALL
def test_the_model_of_another_classifier_is_refused(make, data, tmp_path):
    kind = type(make())
    for other in MAKERS.values():
        model = other().fit(*data)
        model.save_model(tmp_path / "model.json")
        if type(model) is not kind:
            with pytest.raises(ValueError, match=f"is not a model file of .*, which {type(model).__name__} loads"):
                make().load_model(tmp_path / "model.json")


# Folds


@ALL
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
def test_folds_and_sets_with_other_classes(make, data):
    X, y = data
    rare = np.where(np.arange(300) == 5, 7, y)
    cv = {"cv": 3, "scoring": scorers.neg_mae_scorer, "error_score": "raise"}
    assert np.isfinite(cross_val_score(make(), X, rare, **cv)).all()
    assert np.isfinite(cross_val_score(make(classes=[0, 1, 2, 3, 7]), X, rare, **cv)).all()
    with pytest.raises(ValueError, match=r"y of an evaluation set holds labels outside .* Pass classes="):
        make().fit(X, y, **watching(make(), X, rare))


@ALL
@pytest.mark.parametrize("name", ["decision_rule", "hessian", "threshold_update", "loss", "link"])
@pytest.mark.parametrize("value", [np.array(["exact", "mode"]), 3])
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


# What is wrong with an argument is said with its name, and what came is shown in few words


@pytest.fixture
def frame(ordinal_data):
    X, y = ordinal_data(100)
    return pd.DataFrame(X, columns=list("abcd")[: X.shape[1]]), y


@ALL
@pytest.mark.parametrize("arrow", [False, True], ids=["pandas", "arrow"])
def test_columns_of_one_name_are_refused(make, frame, arrow):
    X, y = frame
    names = ["a", "b", "b", *X.columns[3:]]
    model = make().fit(X, y)
    twice = (
        pyarrow.table([pyarrow.array(X[name]) for name in X.columns], names=names)
        if arrow
        else X.set_axis(names, axis=1)
    )
    for use in (model.predict, lambda X: make().fit(X, y)):
        with pytest.raises(ValueError, match="X must have columns of different names; got more than one called 'b'"):
            use(twice)


@ALL
@pytest.mark.parametrize("path", [b"model", 3, None], ids=str)
def test_paths_are_strings_or_paths(make, frame, path):
    model = make().fit(*frame)
    for use in (model.save_model, model.load_model):
        with pytest.raises(TypeError, match=r"path must be a string or an object like pathlib.Path; got"):
            use(path)
    assert np.isfinite(model.predict_proba(frame[0])).all()


# ``random_state`` is named where it is nothing that draws


DOORS = MAKERS | {
    "sets": lambda **options: OrdinalPredictionSets(LogisticRegression(), **options),
    "calibrated": lambda **options: OrdinalCalibratedClassifier(LogisticRegression(), **options),
    "tuned": lambda **options: OrdinalTunedClassifier(LogisticRegression(), **options),
    "ensemble": lambda **options: OrdinalEnsembleClassifier([("one", LogisticRegression())], **options),
    "several outputs": lambda **options: HistGradientBoostingMultiOutputRegressor(max_iter=1, **options),
}


@pytest.mark.parametrize("make", DOORS.values(), ids=DOORS)
def test_what_draws_nothing_is_named(make, ordinal_data):
    with pytest.raises(ValueError, match="cannot be used to seed"):
        make(random_state="seven").fit(*ordinal_data(60, 3))
