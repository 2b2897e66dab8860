"""Ensembles and pipelines as one graph, and a process that serves one without this package."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import onnx
import onnxmltools
import pandas as pd
import pytest
import xgboost
from lightgbm import LGBMClassifier
from numpy.testing import assert_allclose
from onnxmltools.convert.common.data_types import FloatTensorType
from skl2onnx import to_onnx as by_skl2onnx
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder
from xgboost import XGBClassifier

from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalEnsembleClassifier,
    OrdinalTunedClassifier,
    XGBOrdinalClassifier,
)
from ordinal_objectives.export import register_converters, to_onnx
from served import answers, far_from_ties

N, NAMES = 300, ["poor", "fair", "good", "best"]
TOLERANCE = {"float32": 2e-6, "float64": 1e-6}


@pytest.fixture(scope="module")
def frame():
    """Return numbers, two of them missing, towns as text, and grades as categories."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=N).astype(np.float32),
            "age": rng.normal(size=N).astype(np.float32),
            "town": rng.choice(list("uvwxyz"), N).astype(object),
            "grade": pd.Categorical(rng.choice(["low", "middle", "high"], N)),
        }
    )
    score = X["size"] + X["age"] * (X["town"] == "u") + (X["grade"] == "high")
    X.loc[::7, "size"] = np.nan
    X.loc[2::9, "grade"] = np.nan
    return X, np.array(NAMES)[np.digitize(score + 0.4 * rng.normal(size=N), [-1.0, 0.3, 1.5])]


@pytest.fixture(scope="module")
def array(frame):
    X, y = frame
    return X[["size", "age"]].fillna(0).to_numpy(), y


def assert_same(model, X, floats="float32"):
    labels, proba = answers(to_onnx(model, X, floats=floats), X, floats)
    expected, last = model.predict_proba(X), model
    while hasattr(last, "steps"):
        last = last[-1]
    assert_allclose(proba, expected, atol=TOLERANCE[floats], rtol=0)
    ordered = expected[:, [last.classes_.tolist().index(label) for label in last.ordered_classes_]]
    far = far_from_ties(last, ordered, TOLERANCE[floats])
    assert far.mean() > 0.9
    assert (labels[far] == model.predict(X)[far]).all()


MEMBERS = {
    "default": None,
    "LightGBM": [("o", LGBMOrdinalClassifier(n_estimators=9)), ("m", LGBMClassifier(n_estimators=9, verbosity=-1))],
    "XGBoost": [("o", XGBOrdinalClassifier(n_estimators=9)), ("m", XGBClassifier(n_estimators=9))],
    "scikit-learn": [
        ("o", HistGradientBoostingOrdinalClassifier(max_iter=9)),
        ("linear", make_pipeline(StandardScaler(), LogisticRegression())),
        ("forest", make_pipeline(SimpleImputer(), RandomForestClassifier(9, random_state=0))),
    ],
}


@pytest.mark.parametrize("floats", TOLERANCE)
@pytest.mark.parametrize("members", MEMBERS)
def test_an_ensemble_is_one_graph(array, members, floats):
    X, y = array
    model = OrdinalEnsembleClassifier(MEMBERS[members], classes=NAMES, random_state=0).fit(X, y)
    if members == "scikit-learn" and floats == "float64":  # skl2onnx's forests answer in float32
        floats = "float32"
    assert_same(model, X, floats)


def test_an_ensemble_of_few_classes_and_of_weights(array):
    X, y = array
    pair = OrdinalEnsembleClassifier(MEMBERS["XGBoost"]).fit(X, y == "best")
    assert_same(pair, X)
    assert_same(OrdinalEnsembleClassifier(MEMBERS["LightGBM"], n_bags=1).fit(X, y == "best"), X)
    more = OrdinalEnsembleClassifier(MEMBERS["XGBoost"], classes=["none", *NAMES], weights="rps").fit(X, y)
    assert_same(more, X)
    assert (answers(to_onnx(more, X), X)[1][:, more.classes_ == "none"] < 0.05).all()
    alone = OrdinalEnsembleClassifier(MEMBERS["XGBoost"], classes=NAMES, weights=[0.0, 1.0], decision_rule="mode")
    assert_same(alone.fit(X, y), X)
    with pytest.raises(ValueError, match="iterations must be None for a OrdinalEnsembleClassifier"):
        to_onnx(alone, X, iterations=2)


def test_an_ensemble_of_leaves_with_several_values(array):
    X, y = array
    member = XGBClassifier(n_estimators=9, multi_strategy="multi_output_tree")
    assert_same(OrdinalEnsembleClassifier([("m", member)], classes=NAMES).fit(X, y), X)


def test_members_of_scikit_learn_take_the_columns_of_a_frame(array):
    X, y = array
    X = pd.DataFrame({"size": X[:, 0], "round": np.round(X[:, 1] * 3).astype(np.int64)})
    members = [("linear", LogisticRegression()), ("o", XGBOrdinalClassifier(n_estimators=5))]
    assert_same(OrdinalEnsembleClassifier(members, classes=NAMES).fit(X, y), X)
    members[0] = ("forest", make_pipeline(SimpleImputer(), RandomForestClassifier(9, random_state=0)))
    model = OrdinalEnsembleClassifier(members, classes=NAMES).fit(X, y)
    assert_same(model, X)
    assert_same(model, X.astype({"round": np.float32}))


def test_members_that_cannot_be_written_are_refused(array):
    X, y = array
    forest = {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1, "verbosity": -1}
    for options, message in (
        (forest, "boosting_type of a member must be one whose trees add up; got 'rf'"),
        ({"objective": "multiclassova", "verbosity": -1}, "objective of a member must be multiclass or binary; got"),
    ):
        member = LGBMClassifier(n_estimators=3, **options)
        model = OrdinalEnsembleClassifier([("m", member)], classes=NAMES).fit(X, y)
        with pytest.raises(ValueError, match=message):
            to_onnx(model, X)


def test_the_rounds_of_a_member_are_those_that_it_predicts_with(array):
    X, y = array
    codes = np.searchsorted(sorted(NAMES), y)
    stopping = xgboost.callback.EarlyStopping(rounds=2)
    member = XGBClassifier(n_estimators=80, learning_rate=0.8, callbacks=[stopping], n_jobs=1)
    member.fit(X[:150], codes[:150], eval_set=[(X[150:], codes[150:])], verbose=False)
    assert member.best_iteration + 1 < member.get_booster().num_boosted_rounds()
    member = FrozenEstimator(member)
    assert_same(OrdinalTunedClassifier(member, classes=range(4)).fit(X, codes), X)


def test_rows_that_a_member_stops_adding_trees_to_are_refused(array):
    X, y = array
    member = LGBMClassifier(n_estimators=9, pred_early_stop=True, pred_early_stop_margin=0.1, verbosity=-1)
    model = OrdinalEnsembleClassifier([("a", member)], classes=NAMES).fit(X, y)
    with pytest.raises(ValueError, match=r"pred_early_stop of a member must be False; got True, which stops adding"):
        to_onnx(model, X)


def test_an_ensemble_of_columns_of_categories(frame):
    X, y = frame
    X = X.astype({"town": "category"})
    members = [
        ("o", XGBOrdinalClassifier(n_estimators=9)),
        ("m", XGBClassifier(n_estimators=9, enable_categorical=True)),
        ("l", LGBMClassifier(n_estimators=9, verbosity=-1)),
        ("n", HistGradientBoostingOrdinalClassifier(max_iter=9)),
    ]
    assert_same(OrdinalEnsembleClassifier(members, classes=NAMES).fit(X, y), X)


def encoded(floats="float32"):
    """Return what makes numbers of the frame; onnxruntime has no imputer of doubles."""
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["town"]),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["grade"]),
        (SimpleImputer() if floats == "float32" else "passthrough", ["size"]),
        ("passthrough", ["age"]),
    )


@pytest.mark.parametrize("floats", TOLERANCE)
@pytest.mark.parametrize(
    "last",
    [
        HistGradientBoostingOrdinalClassifier(max_iter=15, classes=NAMES),
        HistGradientBoostingOrdinalClassifier(max_iter=15, classes=NAMES, categorical_features=[6]),
        XGBOrdinalClassifier(n_estimators=15, classes=NAMES),
        LGBMOrdinalClassifier(n_estimators=15, classes=NAMES),
        OrdinalEnsembleClassifier(classes=NAMES),
    ],
    ids=lambda last: f"{type(last).__name__}{getattr(last, 'categorical_features', '')}",
)
def test_a_pipeline_is_one_graph(frame, last, floats):
    X, y = frame
    X = X.astype({"grade": object}).fillna({"grade": "?"})
    assert_same(make_pipeline(encoded(floats), last).fit(X, y), X, floats)


def missing_as(kind):
    """Return text with missing values of a kind."""
    town = np.random.default_rng(3).choice(list("uvwx"), N).astype(object)
    if kind in ("nan", "None"):
        town[::4] = np.nan if kind == "nan" else None
    column = pd.Series(town, dtype=object)
    return column if kind in ("nan", "None", "later") else column.where(np.arange(N) % 4 > 0).astype(kind)


def ordinal(**options):
    return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, **options)


ENCODERS = {
    "one-hot": OneHotEncoder(sparse_output=False),
    "one-hot, unknown ignored": OneHotEncoder(sparse_output=False, handle_unknown="ignore"),
    "one-hot, first dropped": OneHotEncoder(sparse_output=False, drop="first"),
    "ordinal": OrdinalEncoder(),
    "ordinal, missing has a code": OrdinalEncoder(encoded_missing_value=-2),
    "ordinal, unknown is NaN": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan),
    "ordinal, unknown and missing have codes": ordinal(encoded_missing_value=-2),
    "target": TargetEncoder(target_type="continuous"),
    "imputed": make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    ),
    "imputed, ordinal": make_pipeline(SimpleImputer(strategy="constant", fill_value="gone"), ordinal()),
}


# An imputer of NaN leaves None as it is, and pipelines that refuse unknown text have no answer to it.
KINDS = {
    "nan": list(ENCODERS),
    "str": list(ENCODERS),
    "category": list(ENCODERS),
    "None": [name for name in ENCODERS if "imputed" not in name],
    "later": [name for name in ENCODERS if "unknown" in name or "imputed" in name or name == "target"],
}


@pytest.mark.parametrize(("kind", "encoder"), [(kind, name) for kind, those in KINDS.items() for name in those])
def test_missing_text_is_empty_text_to_every_encoder(kind, encoder):
    """Also where the training had none: then it is a level that the encoder does not know."""
    size = np.random.default_rng(0).normal(size=N).astype(np.float32)
    X = pd.DataFrame({"size": size, "town": missing_as(kind), "again": missing_as(kind)[::-1].to_numpy()})
    y = np.where(X["town"].isna(), 2, np.digitize(size + (X["town"] == "u"), [0.0, 1.0]))
    steps = make_column_transformer((ENCODERS[encoder], ["town", "again"]), remainder="passthrough")
    model = make_pipeline(steps, HistGradientBoostingOrdinalClassifier(max_iter=9, n_jobs=1)).fit(X, y)
    graph = to_onnx(model, X)
    if kind == "later":
        X.loc[::4, "town"] = np.nan
    labels, proba = answers(graph, X)  # which gives "" for what is no text
    assert_allclose(proba, model.predict_proba(X), atol=2e-6, rtol=0)
    assert (labels == model.predict(X)).all()


def test_imputers_of_doubles_are_refused_since_no_runtime_has_them():
    X = np.random.default_rng(0).normal(size=(120, 2))
    model = make_pipeline(SimpleImputer(), HistGradientBoostingOrdinalClassifier(max_iter=2))
    with pytest.raises(ValueError, match="floats='float64' is not possible with SimpleImputer"):
        to_onnx(model.fit(X, np.arange(120) % 3), X, floats="float64")


@pytest.mark.parametrize(
    ("step", "column", "message"),
    [
        (ordinal(), ["u", np.nan, "v"], "train with a whole number as encoded_missing_value, or with NaN for both"),
        (ordinal(encoded_missing_value=-1.5), ["u", np.nan, "v"], "train with a whole number"),
        (ordinal(), [1.0, np.nan, 2.0], "train with a whole number"),
        (OneHotEncoder(sparse_output=False), ["", None, "v"], "OneHotEncoder must have one level that is missing or"),
        (OneHotEncoder(sparse_output=False), [np.nan, None, "v"], "OneHotEncoder must have one level that is missing"),
        (OneHotEncoder(sparse_output=False), [1.0, np.nan, 2.0], "OneHotEncoder of numbers with a missing level"),
        (ordinal(encoded_missing_value=-2), [1.0, np.nan, 2.0], "OrdinalEncoder of numbers with a missing level"),
        (TargetEncoder(target_type="continuous"), [1.0, np.nan, 2.0], "TargetEncoder of numbers with a missing level"),
        (ordinal(min_frequency=60), ["u", "v", "u"], r"OrdinalEncoder\(min_frequency=60\) cannot be written"),
        (SimpleImputer(add_indicator=True), [1.0, np.nan, 2.0], "train with add_indicator=False"),
        (
            make_pipeline(SimpleImputer(strategy="constant", fill_value="v"), OrdinalEncoder()),
            ["u", np.nan, None],
            "None is a level beside a SimpleImputer of NaN",
        ),
    ],
)
def test_steps_to_which_missing_values_would_be_others_are_refused(step, column, message):
    X = pd.DataFrame({"a": pd.Series(column * 40, dtype=object if "v" in column or None in column else float)})
    model = make_pipeline(make_column_transformer((step, ["a"])), HistGradientBoostingOrdinalClassifier(max_iter=2))
    with pytest.raises(ValueError, match=message):
        to_onnx(model.fit(X, np.arange(120) % 3), X)


@pytest.mark.parametrize(
    "step",
    [
        SimpleImputer(strategy="constant", fill_value=-1.0),
        make_pipeline(SimpleImputer(), StandardScaler()),
        StandardScaler(),
    ],
)
def test_steps_of_numbers_take_missing_ones_as_the_pipeline_does(step):
    X = pd.DataFrame(np.random.default_rng(0).exponential(size=(120, 2)).astype(np.float32), columns=["a", "b"])
    X.loc[::4, "a"] = np.nan
    model = make_pipeline(
        make_column_transformer((step, ["a"]), remainder="passthrough"),
        HistGradientBoostingOrdinalClassifier(max_iter=2),
    )
    assert_same(model.fit(X, np.arange(120) % 4), X)


@pytest.mark.parametrize("columns", [[True, False, True, False], np.array([False, True, True, False]), [-2, 0]])
def test_columns_of_a_step_are_given_by_a_mask_or_from_the_end(frame, columns):
    X, y = frame
    X = X[["size", "age", "town", "grade"]].assign(town=np.arange(N) % 7.0, grade=np.arange(N) % 5.0)
    model = HistGradientBoostingOrdinalClassifier(max_iter=5, classes=NAMES, random_state=0)
    step = make_column_transformer(("passthrough", columns), (StandardScaler(), ["age"]))
    assert_same(make_pipeline(step, model).fit(X, y), X)
    within = make_column_transformer((make_pipeline(step, StandardScaler()), [0, 1, 2, 3]))
    assert_same(make_pipeline(within, model).fit(X, y), X)


def test_whole_numbers_that_a_step_cannot_take_are_named():
    X = pd.DataFrame({"a": np.arange(120) % 5, "b": np.arange(120) % 3.0})
    steps = make_column_transformer((StandardScaler(), ["a"]), remainder="passthrough")
    model = make_pipeline(steps, HistGradientBoostingOrdinalClassifier(max_iter=2)).fit(X, np.arange(120) % 4)
    with pytest.raises(ValueError, match="try an X_example with floats in the columns 'a'"):
        to_onnx(model, X)
    assert to_onnx(model, X.astype(float)).graph.input[0].name == "a"


@pytest.mark.parametrize("kind", [HistGradientBoostingOrdinalClassifier, XGBOrdinalClassifier])
def test_categories_that_a_step_passes_on_are_refused(frame, kind):
    X, y = frame
    steps = make_column_transformer((StandardScaler(), ["age"]), ("passthrough", ["town"]))
    steps.set_output(transform="pandas")
    options = {"max_iter": 2} if kind is HistGradientBoostingOrdinalClassifier else {"n_estimators": 2}
    model = make_pipeline(steps, kind(classes=NAMES, **options)).fit(X.astype({"town": "category"}), y)
    with pytest.raises(ValueError, match=r"a step passes a column of text or categories on.* encode that column"):
        to_onnx(model, X.astype({"town": "category"}))


def test_unknown_text_of_an_encoder_that_refuses_it_is_missing(frame):
    X, y = frame
    X = X[["town", "age"]].assign(town=X["town"].where(X["town"] != "u", np.nan))
    steps = make_column_transformer((OrdinalEncoder(), ["town"]), remainder="passthrough")
    model = make_pipeline(steps, HistGradientBoostingOrdinalClassifier(max_iter=5, classes=NAMES)).fit(X, y)
    found = [answers(to_onnx(model, X), X.assign(town=town))[1] for town in ("", "nowhere")]
    assert_allclose(found[0], found[1])


def test_a_graph_leaves_the_steps_of_a_pipeline_as_they_are(frame):
    X, y = frame
    X = X[["town", "age"]].assign(town=X["town"].where(X["town"] != "u", np.nan))
    steps = make_column_transformer((OrdinalEncoder(), ["town"]), remainder="passthrough")
    model = make_pipeline(steps, HistGradientBoostingOrdinalClassifier(max_iter=5, classes=NAMES)).fit(X, y)
    before = model.predict_proba(X)
    to_onnx(model, X)
    assert np.isnan(steps.named_transformers_["ordinalencoder"].categories_[0][-1])
    assert (model.predict_proba(X) == before).all()


def test_pipelines_of_arrays_and_searches(array):
    X, y = array
    model = make_pipeline(StandardScaler(), HistGradientBoostingOrdinalClassifier(max_iter=5, classes=NAMES))
    assert_same(model.fit(X, y), X, "float64")
    assert_same(make_pipeline(StandardScaler(), model).fit(X, y), X)
    search = GridSearchCV(model, {"histgradientboostingordinalclassifier__max_depth": [2]}, cv=2).fit(X, y)
    assert_same(search.best_estimator_, X)
    assert to_onnx(search, X).graph.output == to_onnx(search.best_estimator_, X).graph.output
    with pytest.raises(ValueError, match="iterations must be None for a pipeline"):
        to_onnx(model, X, iterations=2)


def test_names_of_the_columns_of_a_pipeline(array):
    X, y = array[0], np.searchsorted(sorted(NAMES), array[1])
    for names in (["a b", "0"], ["n", "variable"]):
        columns = pd.DataFrame(X, columns=names)
        model = make_pipeline(StandardScaler(), HistGradientBoostingOrdinalClassifier(max_iter=5)).fit(columns, y)
        assert_same(model, columns)
        members = [("m", make_pipeline(StandardScaler(), LogisticRegression()))]
        assert_same(OrdinalEnsembleClassifier(members).fit(columns, y), columns)
    with pytest.raises(ValueError, match="X_example must have the columns of the training, in their order"):
        to_onnx(model, columns[names[::-1]])
    with pytest.raises(ValueError, match="X_example must have the 2 features of the training; got 1"):
        to_onnx(model, columns[names[:1]])
    labels = columns.rename(columns={"n": "label"})
    with pytest.raises(ValueError, match="X_example must have columns with names, other than 'label'"):
        to_onnx(model.fit(labels, y), labels)
    for nothing in ("passthrough", make_pipeline("passthrough"), make_pipeline(None, "passthrough")):
        passed = make_pipeline(nothing, HistGradientBoostingOrdinalClassifier(max_iter=5)).fit(columns, y)
        assert_same(passed, columns)
        with pytest.raises(ValueError, match="X_example must have the columns of the training, in their order"):
            to_onnx(passed, columns[names[::-1]])


@pytest.mark.filterwarnings("ignore:XGBoost cuts at numbers of the training")  # which is of float32
def test_scaled_rows_stay_on_their_side_of_a_cut(array):
    """Cuts of XGBoost are numbers of the training, so that a scaler's last digit counts."""
    X, y = array
    X = np.round(X * [1, 3]).astype(np.float32)
    assert_same(make_pipeline(StandardScaler(), XGBOrdinalClassifier(n_estimators=9, classes=NAMES)).fit(X, y), X)


def test_pipelines_that_cannot_be_written_are_refused(array):
    X, y = array
    with pytest.raises(NotFittedError, match="Pipeline instance is not fitted"):
        to_onnx(make_pipeline(StandardScaler(), HistGradientBoostingOrdinalClassifier()), X)
    for last in (LogisticRegression(), SimpleImputer()):
        with pytest.raises(TypeError, match=f"model must be an estimator .* got {type(last).__name__} at the end of"):
            to_onnx(make_pipeline(StandardScaler(), last).fit(X, y), X)


def test_skl2onnx_converts_the_classifiers_itself(array):
    X, y = array
    register_converters()
    register_converters()
    model = make_pipeline(StandardScaler(), LGBMOrdinalClassifier(n_estimators=5, classes=NAMES)).fit(X, y)
    graph = by_skl2onnx(model, X[:1], options={"zipmap": False}, target_opset={"": 17, "ai.onnx.ml": 3})
    assert_allclose(answers(graph, X)[1], model.predict_proba(X), atol=2e-6)


SERVER = """
import json, sys
import numpy as np, onnxruntime
rows = json.load(open(sys.argv[2]))
session = onnxruntime.InferenceSession(sys.argv[1])
types = {"tensor(string)": object, "tensor(float)": np.float32}
given = {one.name: np.array(rows[one.name], dtype=types[one.type])[:, np.newaxis] for one in session.get_inputs()}
print(json.dumps(session.run(["label"], given)[0].tolist()))
assert not {"ordinal_objectives", "sklearn", "xgboost", "lightgbm", "pandas"} & set(sys.modules)
"""


def test_a_process_without_this_package_serves_a_pipeline(frame, tmp_path):
    X, y = frame
    X = X.astype({"grade": object}).fillna({"grade": "?"})
    model = make_pipeline(encoded(), LGBMOrdinalClassifier(n_estimators=15, classes=NAMES)).fit(X, y)
    onnx.save(to_onnx(model, X), tmp_path / "model.onnx")
    (tmp_path / "rows.json").write_text(json.dumps(X.to_dict("list")))
    (tmp_path / "server.py").write_text(SERVER)
    command = [sys.executable, "server.py", "model.onnx", "rows.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == model.predict(X).tolist()


def test_onnxmltools_does_not_know_several_outputs(array):
    """The guide warns of it: what it does with such a booster is an error at best."""
    X, y = array
    model = XGBOrdinalClassifier(n_estimators=3, proportional=False, shift_method="host", classes=NAMES).fit(X, y)
    with pytest.raises((xgboost.core.XGBoostError, TypeError)):
        onnxmltools.convert_xgboost(model.booster_, initial_types=[("X", FloatTensorType([None, 2]))])
