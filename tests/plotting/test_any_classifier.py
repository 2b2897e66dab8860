"""Pictures of classifiers of other packages, of pipelines and searches, and of names: drawn in order, or refused."""

from __future__ import annotations

import matplotlib
import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from makers import make_engine
from ordinal_objectives import OrdinalCalibratedClassifier
from ordinal_objectives.plotting import (
    CumulativeReliabilityDisplay,
    OrdinalConfusionDisplay,
)

matplotlib.use("Agg")
NAMES = np.array(["poor", "fair", "good"])  # not in alphabetical order
RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 2))
CODES = np.digitize(X[:, 0] + 0.5 * RNG.logistic(size=240), [-0.5, 0.7])
Y = NAMES[CODES]
ORDERED = pd.Categorical(Y, NAMES, ordered=True)


OURS = {
    "classifier": lambda: make_engine(classes=NAMES).fit(X, Y),
    "pipeline": lambda: make_pipeline(StandardScaler(), make_engine(classes=NAMES)).fit(X, Y),
    "search": lambda: GridSearchCV(make_engine(classes=NAMES), {"max_iter": [5]}, cv=2).fit(X, Y),
    "wrapper": lambda: OrdinalCalibratedClassifier(make_engine(), classes=NAMES).fit(X, Y),
}
OTHERS = {
    "classifier": lambda: LogisticRegression().fit(X, Y),
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y),
    "search": lambda: GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2).fit(X, Y),
}


def check(model, y, **labels):
    display = OrdinalConfusionDisplay.from_estimator(model, X, y, **labels)
    np.testing.assert_array_equal(display.matrix, confusion_matrix(Y, model.predict(X), labels=NAMES))
    assert display.class_names == NAMES.tolist()
    found = CumulativeReliabilityDisplay.from_estimator(model, X, y, n_bins=4, **labels)
    proba = model.predict_proba(X)[:, [list(model.classes_).index(name) for name in NAMES]]
    expected = CumulativeReliabilityDisplay.from_predictions(CODES, proba, n_bins=4)
    for name in ("stated", "happened", "low", "count"):
        np.testing.assert_allclose(getattr(found.reliability, name), getattr(expected.reliability, name))
    assert found.class_names == NAMES.tolist()


@pytest.mark.parametrize("kind", OURS)
def test_models_of_this_package_know_their_order(kind):
    check(OURS[kind](), Y)


@pytest.mark.parametrize("kind", OTHERS)
def test_other_classifiers_are_told_the_order_or_read_it_from_the_labels(kind):
    model = OTHERS[kind]()
    check(model, Y, labels=NAMES)
    check(model, ORDERED)
    for display in (OrdinalConfusionDisplay, CumulativeReliabilityDisplay):
        with pytest.raises(ValueError, match="labels must hold the classes, lowest first: LogisticRegression does not"):
            display.from_estimator(model, X, Y)


def test_numbers_have_an_order():
    model = LogisticRegression().fit(X, 10 * CODES)
    assert OrdinalConfusionDisplay.from_estimator(model, X, 10 * CODES).class_names == ["0", "10", "20"]
    model.classes_, model.coef_ = model.classes_[[2, 0, 1]], model.coef_[[2, 0, 1]]  # some sort them otherwise
    assert OrdinalConfusionDisplay.from_estimator(model, X, 10 * CODES).class_names == ["0", "10", "20"]


TRUE, PREDICTED = ["poor", "good", "good", "fair"], ["fair", "good", "fair", "fair"]
MATRIX = [[0, 1, 0], [0, 1, 0], [0, 1, 1]]
CATEGORICALS = {
    "pandas": lambda y: pd.Categorical(y, NAMES, ordered=True),
    "series": lambda y: pd.Series(pd.Categorical(y, NAMES, ordered=True)),
    "polars": lambda y: polars.Series(y, dtype=polars.Enum(NAMES.tolist())),
    "arrow": lambda y: pyarrow.DictionaryArray.from_arrays(
        [NAMES.tolist().index(one) for one in y], NAMES.tolist(), ordered=True
    ),
}


def test_names_take_the_order_that_is_given():
    for given in ({"class_names": NAMES}, {"labels": NAMES}, {"labels": list(NAMES)}):
        np.testing.assert_array_equal(OrdinalConfusionDisplay.from_predictions(TRUE, PREDICTED, **given).matrix, MATRIX)
    with pytest.raises(ValueError, match="labels must hold the classes, lowest first, where y_true and y_pred hold na"):
        OrdinalConfusionDisplay.from_predictions(TRUE, PREDICTED)
    with pytest.raises(ValueError, match=r"y_pred holds labels outside the classes .* got 'fair'"):
        OrdinalConfusionDisplay.from_predictions(TRUE[:3:2], PREDICTED[:3:2], labels=["poor", "good"])
    reverse = pd.Categorical(PREDICTED, NAMES[::-1], ordered=True)
    with pytest.raises(ValueError, match="y_true and y_pred must have the same categories"):
        OrdinalConfusionDisplay.from_predictions(CATEGORICALS["pandas"](TRUE), reverse)
    with pytest.raises(ValueError, match="y_true holds labels outside the classes"):  # not left out
        OrdinalConfusionDisplay.from_predictions([1, 2, 3], [1, 2, 3], class_names=NAMES)
