"""Classifiers around another one in scikit-learn's manner: labels, copies, trained ones, and what is refused."""

from __future__ import annotations

import pickle
from itertools import cycle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from makers import EVERY, Given, draw, given, make_engine, scikit_learn_checks
from ordinal_objectives import OrdinalCalibratedClassifier, OrdinalPredictionSets, OrdinalTunedClassifier

pytestmark = pytest.mark.usefixtures("few_cut_points")

NAMES = np.array(["poor", "fair", "good", "excellent"])  # not in the order of the alphabet
KINDS = [OrdinalPredictionSets, OrdinalCalibratedClassifier, OrdinalTunedClassifier]
AROUND = pytest.mark.parametrize("kind", KINDS)


def answers(model, X):
    """Return what a fitted classifier says beside its labels."""
    sets = [model.predict_set(X)] if hasattr(model, "predict_set") else []
    cuts = [model.decision_.cuts] if hasattr(model, "decision_") else []
    return [model.predict_proba_ordered(X), *sets, *cuts]


def assert_same(model, other, X):
    for one, two in zip(answers(model, X), answers(other, X), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(("kind", "make"), list(zip(cycle(KINDS), EVERY.values())))
@pytest.mark.filterwarnings("ignore:no tree has a split")
def test_strings_give_what_codes_give(kind, make, data):
    X, codes = data
    plain = kind(make()).fit(X, codes)
    named = kind(make(), classes=NAMES).fit(X, NAMES[codes])
    assert_same(named, plain, X)
    np.testing.assert_array_equal(named.predict(X), NAMES[plain.predict(X)])
    np.testing.assert_array_equal(named.predict_proba(X), plain.predict_proba(X)[:, np.argsort(NAMES)])
    assert named.classes_.tolist() == sorted(NAMES)
    assert named.ordered_classes_.tolist() == NAMES.tolist()


@AROUND
def test_the_order_may_come_from_the_estimator_or_the_labels(kind, data):
    X, codes = data
    plain = kind(make_engine()).fit(X, codes)
    assert_same(kind(make_engine(classes=NAMES)).fit(X, NAMES[codes]), plain, X)
    categorical = pd.Series(pd.Categorical.from_codes(codes, NAMES, ordered=True))
    assert_same(kind(make_engine()).fit(X, categorical), plain, X)
    with pytest.raises(ValueError, match=r"estimator has classes \['a', 'b'\]; those of the classifier around it are"):
        kind(make_engine(classes=["a", "b"]), classes=NAMES).fit(X, NAMES[codes])


@AROUND
def test_a_trained_classifier_is_not_trained_again(kind, data):
    X, codes = data
    inner = make_engine(classes=NAMES).fit(X[:100], NAMES[codes[:100]])
    before = pickle.dumps(inner)
    model = kind(FrozenEstimator(inner)).fit(X[100:], NAMES[codes[100:]])
    assert pickle.dumps(inner) == before
    assert model.ordered_classes_.tolist() == NAMES.tolist()
    of_codes = FrozenEstimator(make_engine().fit(X[:100], codes[:100]))
    assert_same(kind(of_codes).fit(X[100:], codes[100:]), model, X)
    # The rows' order is nothing to it.
    for one, two in zip(answers(kind(of_codes).fit(X[:99:-1], codes[:99:-1]), X), answers(model, X), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6)


@AROUND
def test_labels_of_a_trained_classifier_need_an_order(kind):
    P, codes = draw(np.random.default_rng(0), 60, 4)
    inner = FrozenEstimator(Given(NAMES).fit(None, None))
    in_order = P[:, np.argsort(NAMES)]
    model = kind(inner, classes=NAMES).fit(in_order, NAMES[codes])
    assert_same(kind(inner).fit(in_order, pd.Categorical.from_codes(codes, NAMES, ordered=True)), model, in_order)
    expected = kind(given(4)).fit(P, codes)
    falling = pd.Categorical(3 - codes, categories=[3, 2, 1, 0], ordered=True)
    assert_same(
        kind(given(4)).fit(P[:, ::-1], falling), kind(given(4), classes=[3, 2, 1, 0]).fit(P[:, ::-1], 3 - codes), P
    )
    for one, two in zip(answers(model, in_order), answers(expected, P), strict=True):
        np.testing.assert_array_equal(one, two)
    with pytest.raises(ValueError, match=r"classes_ of estimator holds labels outside the classes \['poor', 'fair'\]"):
        kind(inner, classes=["poor", "fair"]).fit(in_order[:4], ["poor", "fair"] * 2)


@AROUND
def test_a_class_without_rows(kind):
    P, codes = draw(np.random.default_rng(0), 90, 5)
    rows = codes != 2
    model = kind(given(5)).fit(P[rows], codes[rows])
    assert model.n_classes_ == 5
    assert model.predict_proba_ordered(P).shape == (90, 5)
    untrained = kind(LogisticRegression(), classes=range(5)).fit(P[rows], codes[rows])
    assert (untrained.predict_proba_ordered(P)[:, 2] < 1e-2).all()


@AROUND
@pytest.mark.parametrize(
    ("estimator", "error", "message"),
    [
        (
            LogisticRegression(class_weight={0: 2.0}),
            ValueError,
            "class_weight by label, but it is trained on class codes",
        ),
        (FrozenEstimator(LogisticRegression()), NotFittedError, "FrozenEstimator instance is not fitted"),
    ],
)
def test_what_cannot_be_trained_inside_is_refused(kind, estimator, error, message, data):
    with pytest.raises(error, match=message):
        kind(estimator).fit(*data)


@AROUND
def test_a_fit_that_fails_leaves_the_model_as_it_was(kind, data):
    X, codes = data
    model = kind(LogisticRegression())
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, codes)
    before = answers(model, X)
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(np.full_like(X, np.nan), codes)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X[:-1], codes)
    with pytest.raises(ValueError, match="X has 2 features, but"):
        model.predict(X[:, :2])
    for one, two in zip(answers(model, X), before, strict=True):
        np.testing.assert_array_equal(one, two)
    with pytest.raises(TypeError, match="base_margin"):
        model.predict(X, base_margin=np.zeros(len(X)))


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"alpha": 0.0}, ValueError, "alpha must be a finite number above 0 and below 1; got 0.0"),
        ({"alpha": "0.1"}, TypeError, "alpha must be a finite number"),
        ({"alpha": None}, ValueError, "alpha and severity are both None"),
        ({"method": "naive"}, ValueError, "method must be one of 'split', 'cross'; got 'naive'"),
        ({"coverage": "row"}, ValueError, "coverage must be one of 'marginal', 'class'; got 'row'"),
        ({"severity": -1.0}, ValueError, "severity must be a finite number above 0; got -1.0"),
        ({"severity": 1.0, "method": "cross"}, ValueError, "severity needs method='split'"),
        ({"calibration_fraction": 1.0}, ValueError, "calibration_fraction must be a finite number above 0 and below 1"),
        ({"calibration_fraction": 0.999}, ValueError, "calibration_fraction=0.999 of n_samples=200 leaves no row"),
        ({"method": "cross", "cv": 1}, ValueError, "cv must be an integer at least 2; got 1"),
        ({"method": "cross", "cv": 201}, ValueError, "cv=201 folds need as many rows; got n_samples=200"),
        ({"method": "cross", "cv": ShuffleSplit(3)}, ValueError, "cv must hold every row out once at most"),
    ],
)
def test_parameters_of_sets_are_checked(params, error, message, data):
    with pytest.raises(error, match=message):
        OrdinalPredictionSets(LogisticRegression(), **params).fit(*data)


FOLDS = "a row of weight 0 still has a place in the folds; scikit-learn lists CalibratedClassifierCV for the same"
MEDIAN = "it asks for the most probable class; the default is the median class"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ordinal_objectives.estimators.labels.LabelOrderWarning")
@pytest.mark.filterwarnings("ignore:For alpha=")
@scikit_learn_checks(
    [kind(make_pipeline(StandardScaler(), LogisticRegression())) for kind in KINDS],
    expected_failed_checks=lambda _: {
        "check_classifiers_train": MEDIAN,
        "check_sample_weight_equivalence_on_dense_data": FOLDS,
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("groups", [False, True])
@AROUND
def test_drawn_folds_are_those_of_the_rows_with_weight(kind, groups, data):
    X, codes = data
    weight = np.where(np.arange(len(X)) % 3 > 0, 1.0, 0.0)
    there, names = weight > 0, np.arange(len(X)) // 4
    options = {"method": "cross", "alpha": 0.2} if kind is OrdinalPredictionSets else {}
    model = kind(LogisticRegression(), **options)
    some, all_rows = ({"groups": names[there]}, {"groups": names}) if groups else ({}, {})
    weighted = clone(model).fit(X, codes, sample_weight=weight, **all_rows)
    assert_same(weighted, clone(model).fit(X[there], codes[there], **some), X)


@AROUND
def test_folds_by_row_number_count_rows_without_weight(kind, data):
    X, codes = data
    weight = np.where(np.arange(len(X)) % 3 > 0, 1.0, 0.0)
    there, even = weight > 0, np.arange(len(X)) % 2 == 0
    options = {"method": "cross", "alpha": 0.2} if kind is OrdinalPredictionSets else {}

    def model(even):
        halves = np.flatnonzero(even), np.flatnonzero(~even)
        return kind(LogisticRegression(), cv=[halves, halves[::-1]], **options)

    weighted = model(even).fit(X, codes, sample_weight=weight)
    assert_same(weighted, model(even[there]).fit(X[there], codes[there]), X)
