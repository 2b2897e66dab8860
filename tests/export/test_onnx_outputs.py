"""Graphs of the estimators of several outputs."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from ordinal_objectives import HistGradientBoostingMultiOutputClassifier, HistGradientBoostingMultiOutputRegressor
from ordinal_objectives.export import to_onnx
from served import answers

OPTIONS = {"max_iter": 15, "n_jobs": 1}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    X[::9, 1] = np.nan
    return X, np.nan_to_num(X) @ rng.normal(size=(3, 4)) + 0.3 * rng.normal(size=(300, 4))


def numbers(graph, X, floats):
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    return session.run(["variable"], {"X": X.astype(floats)})[0]


@pytest.mark.parametrize("floats", ["float32", "float64"])
def test_numbers(rows, floats):
    X, Y = rows
    for targets in (Y, Y[:, :1], Y[:, 0]):
        model = HistGradientBoostingMultiOutputRegressor(**OPTIONS).fit(X, targets)
        found = numbers(to_onnx(model, X, floats=floats), X, floats)
        assert found.shape == (300, 1 if targets.ndim == 1 else targets.shape[1])
        assert_allclose(found, model.predict(X).reshape(found.shape), atol=1e-5)
    few = HistGradientBoostingMultiOutputRegressor(max_outputs=2, **OPTIONS).fit(X, Y)
    assert_allclose(numbers(to_onnx(few, X, floats=floats), X, floats), few.predict(X), atol=1e-5)


@pytest.mark.parametrize("floats", ["float32", "float64"])
def test_classes_and_labels(rows, floats):
    X, Y = rows
    names = np.array(["red", "green", "blue", "grey"])
    for y in (names[Y.argmax(axis=1)], names[(Y[:, 0] > 0).astype(int)], (Y > 0).astype(int)):
        model = HistGradientBoostingMultiOutputClassifier(**OPTIONS).fit(X, y)
        labels, proba = answers(to_onnx(model, X, floats=floats), X, floats)
        assert_allclose(proba, model.predict_proba(X), atol=2e-6)
        assert labels.shape == y.shape
        assert (labels == model.predict(X)).mean() > 0.99


def test_columns_of_categories(rows):
    X, Y = rows
    frame = pd.DataFrame({"a": X[:, 0], "g": pd.Categorical(np.where(X[:, 1] > 0, "x", "y"))})
    model = HistGradientBoostingMultiOutputClassifier(**OPTIONS).fit(frame, Y[:, 0] > 0)
    labels, proba = answers(to_onnx(model, frame), frame)
    assert_allclose(proba, model.predict_proba(frame), atol=2e-6)
    assert labels.dtype == bool


class OwnLoss:
    def start(self, y, weight):
        return np.zeros(1)

    def derivatives(self, y, raw_prediction, hessian):
        error = raw_prediction - y.reshape(-1, 1)
        return 0.5 * (error**2).sum(axis=1), error, None

    def predict(self, raw_prediction):
        return raw_prediction


def test_what_cannot_be_written_is_refused(rows):
    X, Y = rows
    own = HistGradientBoostingMultiOutputRegressor(loss=OwnLoss(), **OPTIONS).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="model must have a built-in loss; a graph cannot hold OwnLoss"):
        to_onnx(own, X)
    squared = HistGradientBoostingMultiOutputClassifier(loss="squared_error", **OPTIONS).fit(X, Y[:, 0] > 0)
    with pytest.raises(ValueError, match="model must have probabilities"):
        to_onnx(squared, X)
    model = HistGradientBoostingMultiOutputRegressor(**OPTIONS).fit(X, Y)
    with pytest.raises(ValueError, match="iterations must be None for a HistGradientBoostingMultiOutputRegressor"):
        to_onnx(model, X, iterations=2)
