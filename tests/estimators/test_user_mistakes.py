"""What a user of the classifiers may get wrong: refused by name, and nothing is changed by it."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pyarrow
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from makers import ALL, MAKERS, make_cat, make_engine, make_lgb, make_xgb, watching
from ordinal_objectives import (
    HistGradientBoostingMultiOutputClassifier,
    HistGradientBoostingMultiOutputRegressor,
    OrdinalCalibratedClassifier,
    OrdinalEnsembleClassifier,
    OrdinalPredictionSets,
    OrdinalTunedClassifier,
    XGBOrdinalClassifier,
    scorers,
)
from ordinal_objectives.inspection import (
    average_marginal_effects,
    proportional_odds_test,
    summary,
    threshold_importances,
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


@pytest.mark.parametrize("wrong", [{"objective": "logistic"}, {"eta": 0.1}])
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
    assert MAKERS["histogram"]().load_model(tmp_path / "model").classes == [0, 1, 2, 3]


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
        ({"iteration_range": (0, 2)}, r"got iteration_range=\(0, 2\); staged_predict and staged_predict_proba yield"),
        ({"num_iteration": 2}, "got num_iteration=2; staged_predict and staged_predict_proba yield"),
        ({"raw_score": True}, "got raw_score=True; predict_raw returns the score"),
        ({"pred_contrib": True}, "got pred_contrib=True"),
        ({"margin": np.zeros(3)}, r"got margin=an array of shape \(3,\)"),
    ],
)
def test_arguments_of_other_predictions_are_refused_by_name(make, given, hint, data):
    model = make().fit(*data)
    allowed = {"XGBOrdinalClassifier": "X and base_margin", "LGBMOrdinalClassifier": "X and init_score"}
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


# Features


# Names of parameters


@ALL
@pytest.mark.parametrize(
    ("wrong", "right"),
    [("max_dept", "max_depth"), ("learning_rte", "learning_rate"), ("decision_rul", "decision_rule")],
)
def test_a_misspelt_parameter_trains_nothing(make, wrong, right, data):
    with pytest.raises(TypeError, match=f"has no parameter '{wrong}'; did you mean '{right}'"):
        make(**{wrong: 3}).fit(*data)


@pytest.mark.parametrize(
    ("make", "wrong", "shown"),
    [
        (make_engine, "iterations", None),
        (make_engine, "cat_features", None),
        (make_engine, "bagging_fraction", None),
        (make_engine, "num_class", None),
        (make_cat, "max_iter", None),
        (make_lgb, "num_leafs", "num_leaves"),
    ],
)
def test_a_name_is_hinted_at_only_if_it_is_close_and_by_the_constructors_own(make, wrong, shown, data):
    with pytest.raises(TypeError, match=f"'{wrong}'") as refused:
        make(**{wrong: 3}).fit(*data)
    assert re.findall("did you mean '(.*)'", str(refused.value)) == ([shown] if shown else [])


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
    for name in set(described) - of_the_model - set(model._refused) - set(model._dialect):
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


@ALL
def test_the_file_of_a_model_of_several_outputs_is_called_that(make, data, tmp_path):
    HistGradientBoostingMultiOutputClassifier(max_iter=2).fit(*data).save_model(tmp_path / "model.txt")
    with pytest.raises(
        ValueError, match=r"HistGradientBoostingMultiOutput estimator loads$|holds a multi-output model"
    ):
        make().load_model(tmp_path / "model.txt")


def test_a_file_that_xgboost_cannot_read_is_refused_in_one_line(tmp_path):
    path = tmp_path / "model.json"
    path.write_text('{"version": 1}')
    with pytest.raises(ValueError, match=r"model\.json is damaged: XGBoostError: [A-Z].*") as refusal:
        XGBOrdinalClassifier().load_model(path)
    assert "\n" not in str(refusal.value)
    assert ".h:" not in str(refusal.value)


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
def test_complex_numbers_are_refused_in_few_words(make, frame):
    X, y = frame
    with pytest.raises(
        ValueError, match=r"^Complex data not supported: X must hold real numbers; got an array of type complex128$"
    ):
        make().fit(X.to_numpy() * 1j, y)
    with pytest.raises(ValueError, match=r"^Complex data not supported: y must hold labels with an order$"):
        make().fit(X, y * 1j)


@ALL
@pytest.mark.parametrize("classes", [{0, 1, 2}, iter([0, 1, 2])], ids=["set", "iterator"])
def test_classes_without_an_order_are_refused(make, frame, classes):
    with pytest.raises(ValueError, match=r"classes must be one-dimensional; got .*; pass a list, in the order"):
        make(classes=classes).fit(*frame)


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
@pytest.mark.parametrize("wrong", ["a", 1.5, np.random.default_rng(0)])
def test_what_draws_nothing_is_named(make, wrong, ordinal_data):
    with pytest.raises(ValueError, match="cannot be used to seed"):
        make(random_state=wrong).fit(*ordinal_data(60, 3))


INSPECTIONS = {
    "importances": lambda model, X, y, **options: threshold_importances(model, X, **options),
    "effects": lambda model, X, y, **options: average_marginal_effects(model, X, 0, **options),
    "odds": proportional_odds_test,
    "summary": summary,
}


@pytest.mark.parametrize("inspect", INSPECTIONS.values(), ids=INSPECTIONS)
def test_inspections_name_it_too(inspect, ordinal_data):
    X, y = ordinal_data(60, 3)
    with pytest.raises(ValueError, match="Seed must be between 0 and"):
        inspect(MAKERS["histogram"]().fit(X, y), X, y, random_state=-1)


@pytest.mark.parametrize("make", [make_xgb, make_lgb, make_engine])
def test_text_columns_are_answered_with_the_line_to_type(make):
    frame = pd.DataFrame({"age": np.arange(200.0), "smoker": ["yes", "no"] * 100})
    with pytest.raises(ValueError, match="'smoker'") as refused:
        make().fit(frame, np.arange(200) // 67)
    line = re.search(r"X\[name\] = X\[name\]\.astype\(\"category\"\)", str(refused.value))
    names = {"X": frame, "name": "smoker"}
    exec(line[0], names)  # our own text
    make().fit(names["X"], np.arange(200) // 67)


# What to type instead


NAMES = np.array(["low", "mid", "high"])
FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "c"])
LABELS = pd.Series(NAMES[np.arange(60) % 3])


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (LABELS.where(LABELS != "low"), ["20 in all", "keep = y.notna()"]),
        (LABELS.where(LABELS != "low").astype("category"), ["20 in all", "keep = y.notna()"]),
        (LABELS.replace("high", "high "), ["'high' by 'high '", "y = y.str.strip()."]),
        (LABELS.str.capitalize(), ["'low' by 'Low'", "y = y.str.strip().str.lower()"]),
        (LABELS.replace("high", "HiGh "), ["'high' by 'HiGh '", "y = y.str.strip().str.lower()"]),
        (LABELS.replace("high", "hihg"), ["'high' by 'hihg'", "? Pass classes="]),
    ],
)
def test_labels_that_are_no_classes_are_answered_with_the_line_to_type(y, words):
    with pytest.raises(ValueError, match=r"^y ") as refused:
        make_engine(classes=NAMES).fit(FRAME, y)
    assert [word for word in words if word not in str(refused.value)] == []
    assert "?." not in str(refused.value)
    line = re.search(r"(keep = .*|y = y.str[.a-z()]*\))", str(refused.value))
    if line:
        names = {"X": FRAME, "y": y}
        exec(line[0], names)  # our own text
        make_engine(classes=NAMES).fit(names["X"], names["y"])


@pytest.mark.parametrize(
    ("y", "line"),
    [([1.0, np.nan, np.nan, 0.0], "keep = y.notna()"), ([1.0, np.inf, np.nan, 0.0], "keep = numpy.isfinite(y)")],
)
def test_numbers_that_are_no_labels_are_counted(y, line):
    with pytest.raises(ValueError, match=r"^y contains .*, 2 in all") as refused:
        make_engine().fit(FRAME[:4], y)
    assert line in str(refused.value)


@ALL
@pytest.mark.parametrize("classes", ["low,mid,high", 3])
def test_classes_that_are_no_list_are_answered_with_one(make, classes):
    with pytest.raises(ValueError, match=f"^classes .*got {classes!r}; pass a list.*lowest first"):
        make(classes=classes).fit(FRAME, LABELS)


@ALL
def test_columns_in_another_order_and_one_column_are_answered_with_the_line_to_type(make):
    model = make(classes=NAMES).fit(FRAME, LABELS)
    with pytest.raises(ValueError, match=r"Pass X\[list\(model\.feature_names_in_\)\]$"):
        model.predict(FRAME[["c", "a", "b"]])
    with pytest.raises(ValueError, match=r"a column is X\.to_frame\(\)"):
        make().fit(FRAME["a"], LABELS)
    with pytest.raises(ValueError, match=r"X\.reshape\(-1, 1\)"):
        make().fit(FRAME["a"].to_numpy(), LABELS)


@pytest.mark.parametrize("make", [make_xgb, make_lgb, make_cat, make_engine])
def test_dates_are_answered_with_the_line_to_type(make):
    X = FRAME.assign(d=pd.date_range("2021-01-01", periods=60))
    with pytest.raises(ValueError, match="'d'") as refused:
        make(classes=NAMES).fit(X, LABELS)
    names = {"X": X, "name": "d", "pandas": pd}
    exec(re.search(r"X\[name\] = \(.*\.dt\.days", str(refused.value))[0], names)  # our own text
    make(classes=NAMES).fit(names["X"], LABELS)
