"""Pipelines by skl2onnx: our estimators answer after its steps as in scikit-learn, also in a process without us."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import skl2onnx
from numpy.testing import assert_allclose
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from ordinal_objectives import (
    HistGradientBoostingMultiOutputClassifier,
    HistGradientBoostingMultiOutputRegressor,
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalCalibratedClassifier,
    OrdinalDistributionRegressor,
    OrdinalEnsembleClassifier,
    OrdinalTunedClassifier,
    XGBOrdinalClassifier,
)
from ordinal_objectives.export import register_converters
from served import answers, scales_in_float32

pytestmark = pytest.mark.usefixtures("few_cut_points")

N, NAMES = 300, ["poor", "fair", "good", "best"]
ENGINE = HistGradientBoostingOrdinalClassifier(max_iter=9, n_jobs=1)
CLASSIFIERS = {
    "engine": ENGINE,
    "XGBoost": XGBOrdinalClassifier(n_estimators=9, n_jobs=1),
    "LightGBM": LGBMOrdinalClassifier(n_estimators=9, n_jobs=1, verbosity=-1),
    "calibrated": OrdinalCalibratedClassifier(ENGINE, cv=2),
    "tuned": OrdinalTunedClassifier(ENGINE, cv=2),
    "ensemble": OrdinalEnsembleClassifier(
        [("o", ENGINE), ("l", make_pipeline(StandardScaler(), LogisticRegression()))]
    ),
    "several outputs": HistGradientBoostingMultiOutputClassifier(max_iter=9, n_jobs=1),
}
REGRESSORS = {
    "several outputs": HistGradientBoostingMultiOutputRegressor(max_iter=9, n_jobs=1),
    "distributions": OrdinalDistributionRegressor(XGBOrdinalClassifier(n_estimators=5, n_jobs=1), n_cuts=6),
}


def after_scalers(models):
    """Return names to parametrize by: trees of XGBoost are met by what scikit-learn's scaler rounds."""
    return [pytest.param(name, marks=scales_in_float32 if "XGB" in str(models[name]) else ()) for name in models]


@pytest.fixture(scope="module", autouse=True)
def converters():
    register_converters()
    register_converters()  # changes nothing


@pytest.fixture(scope="module")
def frame():
    """Return numbers, towns as text and grades, and labels."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=N).astype(np.float32),
            "age": rng.normal(size=N).astype(np.float32),
            "town": rng.choice(list("uvwxyz"), N).astype(object),
            "grade": rng.choice(["low", "middle", "high"], N).astype(object),
        }
    )
    score = X["size"] + X["age"] * (X["town"] == "u") + (X["grade"] == "high")
    return X, np.array(NAMES)[np.digitize(score + 0.4 * rng.normal(size=N), [-1.0, 0.3, 1.5])]


def graph_of(model, X):
    """Return a pipeline's graph; a product with a scaler's rounded 1 / scale would cross cuts of XGBoost's."""
    return skl2onnx.to_onnx(model, X[:1], options={id(model[-1]): {"zipmap": False}, StandardScaler: {"div": "div"}})


def with_order(model):
    return model.set_params(classes=NAMES) if "classes" in model.get_params() else model


def steps():
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["town"]),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["grade"]),
        (StandardScaler(), ["size"]),
        remainder="passthrough",
    )


@pytest.mark.parametrize("floats", ["float32", "float64"])
@pytest.mark.parametrize("name", after_scalers(CLASSIFIERS))
def test_classifiers_after_a_scaler(frame, name, floats):
    X, y = frame[0][["size", "age"]].to_numpy(dtype=floats), frame[1]
    model = make_pipeline(StandardScaler(), with_order(CLASSIFIERS[name])).fit(X, y)
    labels, proba = answers(graph_of(model, X), X, floats)
    assert proba.dtype == floats
    assert_allclose(proba, model.predict_proba(X), atol=2e-6, rtol=0)
    assert (labels == model.predict(X)).mean() > 0.99  # ties may turn


@pytest.mark.parametrize("name", after_scalers(REGRESSORS))
def test_regressors_after_a_scaler(frame, name):
    X = frame[0][["size", "age"]].to_numpy()
    model = make_pipeline(StandardScaler(), REGRESSORS[name]).fit(X, X @ [1.0, 2.0])
    graph = skl2onnx.to_onnx(model, X[:1], options={StandardScaler: {"div": "div"}})
    found = onnxruntime.InferenceSession(graph.SerializeToString()).run(["variable"], {"X": X})[0]
    assert_allclose(found[:, 0], model.predict(X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["engine", "XGBoost"])
def test_categories_that_a_step_passes_on_are_refused(frame, name):
    X, y = frame[0].astype({"town": "category"}), frame[1]
    passed = make_column_transformer((StandardScaler(), ["age"]), ("passthrough", ["town"]))
    model = make_pipeline(passed.set_output(transform="pandas"), with_order(CLASSIFIERS[name])).fit(X, y)
    with pytest.raises(ValueError, match="must hold numbers; it holds text"):
        graph_of(model, X.astype({"town": object}))


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
    model = make_pipeline(steps(), with_order(CLASSIFIERS["LightGBM"])).fit(X, y)
    onnx.save(graph_of(model, X), tmp_path / "model.onnx")
    (tmp_path / "rows.json").write_text(json.dumps(X.to_dict("list")))
    (tmp_path / "server.py").write_text(SERVER)
    command = [sys.executable, "server.py", "model.onnx", "rows.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == model.predict(X).tolist()
