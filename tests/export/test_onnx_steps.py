"""Steps and classifiers of scikit-learn in a graph: written as they predict, or refused by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    OrdinalCalibratedClassifier,
    OrdinalEnsembleClassifier,
)
from ordinal_objectives.export import to_onnx
from served import answers


def rows(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).astype(np.float32).astype(np.float64)
    return X, np.digitize(X[:, 0] + X[:, 1] + 0.4 * rng.logistic(size=200), np.linspace(-1, 1, n_classes + 1)[1:-1])


def native():
    return HistGradientBoostingOrdinalClassifier(max_iter=8, min_samples_leaf=5, random_state=0)


def of_text(step, sentences, y):
    X = pd.DataFrame({"said": sentences})
    columns = make_column_transformer((step, "said"), sparse_threshold=0)
    return make_pipeline(columns, native()).fit(X, y), X


@pytest.mark.parametrize(
    "vectorizer",
    [
        CountVectorizer(lowercase=False),
        CountVectorizer(lowercase=False, ngram_range=(1, 2)),
        CountVectorizer(lowercase=False, token_pattern=r"(?u)\b\w+\b"),
        CountVectorizer(lowercase=False, token_pattern="[a-z]+"),
        TfidfVectorizer(lowercase=False, norm="l1"),
    ],
    ids=repr,
)
def test_words_are_those_of_the_pipeline(vectorizer):
    rng = np.random.default_rng(0)
    words = ["good", "bad", "über", "naïve", "a", "don't", "x1", "日本", "end."]
    sentences = np.array([" ".join(rng.choice(words, rng.integers(1, 7))) for _ in range(300)], dtype=object)
    score = [one.count("good") - one.count("bad") + 2 * ("über" in one) - 2 * (" a bad" in one) for one in sentences]
    model, X = of_text(vectorizer, sentences, np.digitize(score, [0, 2]))
    assert_allclose(answers(to_onnx(model, X), X)[1], model.predict_proba(X), atol=2e-6)


def test_words_that_a_graph_cannot_find_are_refused():
    sentences = np.array(["good one", "bad", "good", "worse one"] * 10, dtype=object)
    model, X = of_text(CountVectorizer(lowercase=False, token_pattern=r"\w+"), sentences, np.arange(40) % 4)
    with pytest.raises(ValueError, match=r"token_pattern='.*w\+'\) cannot be written, since a graph knows letters"):
        to_onnx(model, X)


@pytest.mark.parametrize(
    ("classifier", "n_classes", "message"),
    [
        (LinearDiscriminantAnalysis(), 2, r"DiscriminantAnalysis\(of two classes\) cannot be written.*another"),
        (BaggingClassifier(LinearDiscriminantAnalysis(), n_estimators=2), 2, r"Analysis\(of two classes\) cannot be"),
        (OneVsRestClassifier(LinearDiscriminantAnalysis()), 4, r"Analysis\(of two classes\) cannot be written"),
        (
            StackingClassifier([("a", LinearDiscriminantAnalysis()), ("b", GaussianNB())], LogisticRegression(), cv=2),
            *(2, r"Analysis\(of two classes\) cannot be written"),
        ),
        (
            CalibratedClassifierCV(QuadraticDiscriminantAnalysis(), cv=2),
            *(2, r"CalibratedClassifierCV\(QuadraticDiscriminantAnalysis\(\)\) cannot be written"),
        ),
    ],
)
def test_classifiers_of_which_other_probabilities_would_be_written_are_refused(classifier, n_classes, message):
    X, y = rows(n_classes)
    model = OrdinalCalibratedClassifier(classifier, cv=2).fit(X, y)
    with pytest.raises(ValueError, match=message):
        to_onnx(model, X)


@pytest.mark.parametrize(
    ("classifier", "n_classes"),
    [
        (LinearDiscriminantAnalysis(), 4),
        (CalibratedClassifierCV(LinearDiscriminantAnalysis(), cv=2), 2),
        (make_pipeline(CalibratedClassifierCV(LinearDiscriminantAnalysis(), cv=2)), 2),
        (QuadraticDiscriminantAnalysis(), 2),
    ],
)
def test_discriminant_analyses_that_are_written_as_they_predict(classifier, n_classes):
    X, y = rows(n_classes)
    model = OrdinalCalibratedClassifier(classifier, cv=2).fit(X, y)
    assert_allclose(answers(to_onnx(model, X), X)[1], model.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("pattern", ["([a-z])[a-z]+", "be|bet|bett", "[a-z]+?t", "[a-z]*", "[a-z]+$", r"\S+"])
def test_words_that_end_elsewhere_in_a_graph_are_refused(pattern):
    sentences = np.array(["bet better", "better bet\n", "be", "bet"] * 10, dtype=object)
    model, X = of_text(CountVectorizer(lowercase=False, token_pattern=pattern), sentences, np.arange(40) % 4)
    with pytest.raises(ValueError, match=r"CountVectorizer\(token_pattern=.* cannot be written, since a graph"):
        to_onnx(model, X)


@pytest.mark.parametrize("pattern", ["[a-z|$]{2,}", r"[a-z]+\|?", "(?:be)+", "[a-z]+t?"])
def test_words_that_a_graph_finds_as_scikit_learn_does(pattern):
    sentences = np.array(["bet better", "better| bet\n", "bebe", "b$e bet"] * 10, dtype=object)
    model, X = of_text(CountVectorizer(lowercase=False, token_pattern=pattern), sentences, np.arange(40) % 4)
    assert_allclose(answers(to_onnx(model, X), X)[1], model.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "classifier",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {}, cv=2),
        make_pipeline(StandardScaler(), GridSearchCV(LogisticRegression(), {}, cv=2)),
    ],
)
def test_pipelines_and_searches_are_calibrated_by_their_scores(classifier, n_classes):
    X, y = rows(n_classes)
    calibrated = CalibratedClassifierCV(classifier, cv=2)
    for member in (calibrated, GridSearchCV(calibrated, {}, cv=2)):
        model = OrdinalEnsembleClassifier([("a", native()), ("b", member)]).fit(X, y)
        assert_allclose(answers(to_onnx(model, X), X)[1], model.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize(
    "classifier",
    [
        OneVsRestClassifier(make_pipeline(StandardScaler(), LogisticRegression())),
        OneVsRestClassifier(LinearSVC()),
        BaggingClassifier(make_pipeline(StandardScaler(), LogisticRegression()), 2),
        make_pipeline(BaggingClassifier(LogisticRegression(), 2)),
        StackingClassifier([("a", GaussianNB())], make_pipeline(StandardScaler(), LogisticRegression()), cv=2),
        TunedThresholdClassifierCV(LogisticRegression()),
        make_pipeline(QuadraticDiscriminantAnalysis()),
    ],
)
def test_calibrations_of_other_scores_are_refused(classifier):
    X, y = rows(2)
    model = OrdinalCalibratedClassifier(CalibratedClassifierCV(classifier, cv=2), cv=2).fit(X, y)
    with pytest.raises(ValueError, match=r"CalibratedClassifierCV\(\w+\(\)\) cannot be written: skl2onnx makes other"):
        to_onnx(model, X)


def test_steps_that_would_scale_otherwise_are_refused():
    X, y = rows(4)
    with pytest.raises(ValueError, match=r"Normalizer\(norm='max'\) cannot be written; train with another norm"):
        to_onnx(make_pipeline(Normalizer("max"), native()).fit(X, y), X)
    sentences = np.array(["one two", "two", "three"] * 10, dtype=object)
    model, X = of_text(CountVectorizer(analyzer="char"), sentences, np.arange(30) % 3)
    with pytest.raises(ValueError, match=r"CountVectorizer\(analyzer='char'\) cannot be written"):
        to_onnx(model, X)
    model, X = of_text(TfidfVectorizer(sublinear_tf=True), sentences, np.arange(30) % 3)
    with pytest.raises(ValueError, match=r"TfidfVectorizer\(sublinear_tf=True\) cannot be written"):
        to_onnx(model, X)


def test_empty_text_that_is_a_level_after_an_imputer_is_refused():
    levels = np.array(["a", "", "b", np.nan] * 10, dtype=object)
    X, y = pd.DataFrame({"said": levels}), np.arange(40) % 4
    imputer = SimpleImputer(strategy="most_frequent")
    encoded = make_pipeline(imputer, OneHotEncoder(handle_unknown="ignore", sparse_output=False))
    model = make_pipeline(make_column_transformer((encoded, ["said"])), native()).fit(X, y)
    with pytest.raises(ValueError, match="OneHotEncoder must have no level '' after a SimpleImputer of text"):
        to_onnx(model, X)
