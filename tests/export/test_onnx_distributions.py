"""An ONNX graph of a regressor of distributions answers what it predicts, quantiles among it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalDistributionRegressor,
    XGBOrdinalClassifier,
)

onnxruntime = pytest.importorskip("onnxruntime")
from ordinal_objectives.export import to_onnx  # noqa: E402

LEVELS = [0.95, 0.0, 0.05, 0.5, 1.0]
TRAINERS = {
    "native": HistGradientBoostingOrdinalClassifier(max_iter=10, early_stopping=False, random_state=0, n_jobs=1),
    "xgboost": XGBOrdinalClassifier(n_estimators=10, random_state=0, n_jobs=1),
    "lightgbm": LGBMOrdinalClassifier(n_estimators=10, random_state=0, n_jobs=1, verbosity=-1),
    "scikit-learn": LogisticRegression(),
}


def answers(model, X, **options):
    session = onnxruntime.InferenceSession(to_onnx(model, X, **options).SerializeToString())
    asked = {"X": X} if isinstance(X, np.ndarray) else {name: X[[name]].to_numpy() for name in X}
    return dict(zip([one.name for one in session.get_outputs()], session.run(None, asked), strict=True))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)).astype(np.float32)
    return X, np.maximum(X[:, 0] + np.exp(0.5 * X[:, 1]) * rng.normal(size=500), -0.5)


@pytest.mark.parametrize("prediction", ["mean", "median"])
@pytest.mark.parametrize("trainer", TRAINERS)
def test_a_graph_answers_means_and_quantiles(trainer, prediction, data):
    X, y = data
    model = OrdinalDistributionRegressor(TRAINERS[trainer], n_cuts=12, prediction=prediction).fit(X, y)
    found = answers(model, X, quantiles=LEVELS)
    same = found["quantiles"] == model.predict_quantile(X, LEVELS).astype(np.float32)
    assert (same.mean(axis=0) > 0.99).all()  # a rounding may take the next value
    same = np.isclose(found["variable"][:, 0], model.predict(X), rtol=1e-4, atol=1e-5)
    assert same.mean() > 0.99
    assert list(answers(model, X)) == ["variable"]


def test_quantiles_are_those_of_distributions_only(data):
    X, y = data
    with pytest.raises(ValueError, match="quantiles must be left out for a XGBOrdinalClassifier"):
        to_onnx(XGBOrdinalClassifier(n_estimators=2).fit(X, y > 0), X, quantiles=[0.5])
    with pytest.raises(ValueError, match=r"quantiles must hold levels in \[0, 1\]"):
        to_onnx(OrdinalDistributionRegressor(TRAINERS["xgboost"], n_cuts=3).fit(X, y), X, quantiles=[1.5])
