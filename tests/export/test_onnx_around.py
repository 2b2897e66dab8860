"""Graphs of calibrated and tuned classifiers, around classifiers of every kind."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalCalibratedClassifier,
    OrdinalEnsembleClassifier,
    OrdinalTunedClassifier,
    XGBOrdinalClassifier,
)
from ordinal_objectives.export import to_onnx
from served import answers, far_from_ties

pytestmark = pytest.mark.usefixtures("few_cut_points")

NAMES = ["poor", "fair", "good", "best"]
TOLERANCE = {"float32": 2e-6, "float64": 1e-6}
# A curve of steps is steep in places, and multiplies differences there.
STEEP = 1e-4


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3)).astype(np.float32)
    y = np.array(NAMES)[np.digitize(X[:, 0] + 0.6 * rng.normal(size=700), [-1.0, 0.0, 1.0])]
    return X[:400], y[:400], X[400:]


INSIDE = {
    "engine": HistGradientBoostingOrdinalClassifier(max_iter=20, n_jobs=1, random_state=0),
    "XGBoost": XGBOrdinalClassifier(n_estimators=20, n_jobs=1, random_state=0),
    "LightGBM": LGBMOrdinalClassifier(n_estimators=20, n_jobs=1, random_state=0, verbosity=-1),
    "LightGBM's own": LGBMClassifier(n_estimators=9, n_jobs=1, random_state=0, verbosity=-1),
    "scikit-learn": LogisticRegression(),
    "pipeline": make_pipeline(StandardScaler(), XGBOrdinalClassifier(n_estimators=9, n_jobs=1, random_state=0)),
    "search": GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2),
    "ensemble": OrdinalEnsembleClassifier(
        [("o", LGBMOrdinalClassifier(n_estimators=9, random_state=0, verbosity=-1)), ("l", LogisticRegression())]
    ),
}
AROUND = {
    "sigmoid": (OrdinalCalibratedClassifier, {"method": "sigmoid"}),
    "isotonic": (OrdinalCalibratedClassifier, {"method": "isotonic"}),
    "mean": (OrdinalCalibratedClassifier, {"decision_rule": "mean"}),
    "cuts": (OrdinalTunedClassifier, {"rule": "cuts"}),
    "stretch": (OrdinalTunedClassifier, {"rule": "stretch", "metric": "macro_mae"}),
    "kappa": (OrdinalTunedClassifier, {"rule": "kappa"}),
}


def assert_same(model, X, floats="float32", tolerance=None):
    tolerance = tolerance or TOLERANCE[floats]
    labels, proba = answers(to_onnx(model, X, floats=floats), X, floats)
    assert proba.dtype == floats
    assert_allclose(proba, model.predict_proba(X), atol=tolerance, rtol=0)
    last = model[-1] if hasattr(model, "steps") else model
    ordered = proba[:, [last.classes_.tolist().index(label) for label in last.ordered_classes_]]
    far = far_from_cuts(last, ordered, tolerance)
    assert far.mean() > 0.5
    assert (labels[far] == model.predict(X)[far]).all()


def far_from_cuts(model, proba, tolerance):
    rule = getattr(model, "decision_", None)
    if hasattr(rule, "cuts"):
        means = proba @ np.arange(proba.shape[1])
        return (np.abs(means[:, np.newaxis] - rule.cuts) > tolerance * proba.shape[1] ** 2).all(axis=1)
    if rule is not None:
        costs = np.sort(proba @ rule.weights - (1 - rule.kappa) * (rule.shares @ rule.weights), axis=1)
        return costs[:, 1] - costs[:, 0] > 2 * tolerance * rule.weights.sum(axis=0).max()
    return far_from_ties(model, proba, tolerance)


# What stands around makes its nodes from probabilities, whatever these come from.
@pytest.mark.parametrize(
    ("inside", "around"), [*(("engine", around) for around in AROUND), *list(zip(INSIDE, cycle(AROUND)))[1:]]
)
def test_a_classifier_around_another_is_one_graph(rows, inside, around):
    X, y, new = rows
    kind, options = AROUND[around]
    model = kind(INSIDE[inside], cv=2, classes=NAMES, **options).fit(X, y)
    for floats in TOLERANCE:
        assert_same(model, new, floats, STEEP if around == "isotonic" else None)


@pytest.mark.parametrize("around", AROUND)
def test_around_a_trained_one_whose_classes_are_not_in_sorted_order(rows, around):
    X, y, new = rows
    kind, options = AROUND[around]
    engine = clone(INSIDE["engine"]).set_params(classes=NAMES)
    for inside in (engine, make_pipeline(StandardScaler(), engine), LogisticRegression()):
        trained = FrozenEstimator(inside.fit(X[:200], y[:200]))
        assert_same(kind(trained, classes=NAMES, **options).fit(X[200:], y[200:]), new, tolerance=STEEP)


def test_one_in_another_and_in_an_ensemble(rows):
    X, y, new = rows
    inner = OrdinalCalibratedClassifier(INSIDE["XGBoost"], cv=2)
    tuned = OrdinalTunedClassifier(inner, cv=2, classes=NAMES)
    assert_same(tuned.fit(X, y), new)
    assert_same(OrdinalEnsembleClassifier([("c", inner), ("e", INSIDE["engine"])], classes=NAMES).fit(X, y), new)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_two_classes_a_class_without_rows_and_a_flat_curve(rows, method):
    X, y, new = rows
    pair = OrdinalCalibratedClassifier(INSIDE["engine"], method=method, cv=2).fit(X, y == "best")
    assert_same(pair, new, tolerance=STEEP)
    more = OrdinalCalibratedClassifier(INSIDE["engine"], method=method, cv=2, classes=["none", *NAMES]).fit(X, y)
    assert_same(more, new, tolerance=STEEP)
    trained = FrozenEstimator(LogisticRegression().fit(np.sign(X[:, :1]), y == "best"))
    flat = OrdinalCalibratedClassifier(trained, method=method).fit(np.ones((400, 1), np.float32), y == "best")
    assert_same(flat, np.ones((50, 1), np.float32), tolerance=STEEP)
