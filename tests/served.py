"""ONNX graphs answer rows, as a server has them do."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
import sklearn
from sklearn.utils.fixes import parse_version

# Older scalers compute float32 rows in float64, and graphs do not. XGBoost's cuts are values of rows: there a rounding
# matters.
scales_in_float32 = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"), reason="scikit-learn before 1.8 scales in float64"
)


def answers(graph, X, floats="float32"):
    """Return labels and probabilities of an array or a pandas frame by a graph."""
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    given = {one.name: _tensor(X, one, floats) for one in session.get_inputs()}
    return session.run(["label", "probabilities"], given)


def _tensor(X, given, floats):
    if isinstance(X, np.ndarray):
        return X.astype(floats)
    column = X[given.name]
    if given.type == "tensor(string)":
        values = np.array([value if isinstance(value, str) else "" for value in column], dtype=object)
    elif given.type == "tensor(int64)":
        values = np.array([-1 if value != value else value for value in column.astype(object)], dtype=np.int64)
    else:
        values = column.to_numpy(dtype=floats)
    return values[:, np.newaxis]


def far_from_ties(model, proba, tolerance):
    """Tell which rows' decisions stay the same where probabilities change by less than the tolerance."""
    n_classes = proba.shape[1]
    if model.cost_matrix is not None:
        return _gap(proba @ np.asarray(model.cost_matrix)) > 2 * tolerance * np.abs(model.cost_matrix).sum(axis=0).max()
    if model.decision_rule == "mode":
        return _gap(-proba) > 2 * tolerance
    if model.decision_rule == "mean":
        mean = proba @ np.arange(n_classes)
        return np.abs(mean - np.floor(mean) - 0.5) > tolerance * n_classes**2
    return np.abs(np.cumsum(proba, axis=1) - 0.5).min(axis=1) > tolerance * n_classes


def _gap(costs):
    least = np.partition(costs, 1, axis=1)
    return least[:, 1] - least[:, 0]
