"""Scorers inside scikit-learn's tools, with labels whose order is not that of the alphabet."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from makers import make_xgb
from ordinal_objectives import metrics, scorers
from ordinal_objectives.estimators.class_order import class_order
from ordinal_objectives.scorers import (
    OrdinalScorer,
    concordance_scorer,
    neg_mae_scorer,
    neg_rps_scorer,
    qwk_scorer,
)
from pairs import pairwise

GRADES = np.array(["low", "medium", "high"])
ALL = [scorers.get_scorer(name) for name in scorers.get_scorer_names()]


class NearestGrade(ClassifierMixin, BaseEstimator):
    """Rounds the only feature; knows the order of the grades."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.ordered_classes_ = np.sort(GRADES), GRADES
        return self

    def codes(self, X):
        return np.clip(np.rint(np.asarray(X)[:, 0] + self.shift), 0, 2).astype(int)

    def predict(self, X):
        return GRADES[self.codes(X)]

    def predict_raw(self, X):
        return np.abs(np.asarray(X)[:, 0] + self.shift)

    def predict_proba_ordered(self, X):
        return 0.8 * np.eye(3)[self.codes(X)] + 0.2 / 3

    def predict_proba(self, X):
        return self.predict_proba_ordered(X)[:, np.argsort(GRADES)]


@pytest.fixture
def graded():
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    return (codes + 0.6 * rng.normal(size=60))[:, np.newaxis], GRADES[codes], codes


@pytest.mark.parametrize("scorer", ALL, ids=repr)
def test_scorers_use_the_order_of_the_estimators_classes(scorer, graded):
    X, y, codes = graded
    model = NearestGrade().fit(X, y)
    weight = np.random.default_rng(1).uniform(size=60)
    response = {"predict": model.codes, "predict_proba": model.predict_proba_ordered, "predict_raw": model.predict_raw}[
        scorer.response_method
    ](X)
    sign = 1 if scorer.greater_is_better else -1
    assert scorer(model, X, y) == sign * scorer.metric(codes, response)
    assert scorer(model, X, y, sample_weight=weight) == sign * scorer.metric(codes, response, weight)
    assert scorer(model, X, y) > scorer(NearestGrade(shift=-2.0).fit(X, y), X, y)


def test_scorers_inside_grid_search_and_cross_validation(graded):
    X, y, _ = graded
    search = GridSearchCV(NearestGrade(), {"shift": [0.0, 1.0, -1.0]}, scoring=neg_rps_scorer, cv=3).fit(X, y)
    assert search.best_params_ == {"shift": 0.0}
    scoring = {"mae": neg_mae_scorer, "qwk": qwk_scorer, "accuracy": "accuracy"}
    result = cross_validate(NearestGrade(), X, y, cv=3, scoring=scoring)
    assert np.all(result["test_qwk"] > 0.5)


WRAPPED = {
    "pipeline": lambda: make_pipeline(FunctionTransformer(), NearestGrade()),
    "search of a pipeline": lambda: GridSearchCV(
        make_pipeline(FunctionTransformer(), NearestGrade()), {"nearestgrade__shift": [0.0]}, cv=2
    ),
    "pipeline of a search": lambda: make_pipeline(
        FunctionTransformer(), GridSearchCV(NearestGrade(), {"shift": [0.0]}, cv=2)
    ),
    "frozen": lambda: FrozenEstimator(NearestGrade().fit(None, None)),
}


@pytest.mark.parametrize("wrap", WRAPPED.values(), ids=WRAPPED)
def test_the_order_is_found_inside_other_estimators(wrap, graded):
    (X, y, _), scorer = graded, neg_rps_scorer
    assert scorer(wrap().fit(X, y), X, y) == scorer(NearestGrade().fit(X, y), X, y)


def test_an_inner_estimator_trained_on_codes_has_no_order():
    inner = NearestGrade().fit(None, None)
    for name in ("estimator_", "final_estimator_"):
        assert class_order(SimpleNamespace(**{name: inner}), np.sort(GRADES)).tolist() == GRADES.tolist()
    inner.ordered_classes_ = np.arange(3)
    assert class_order(SimpleNamespace(estimator_=inner), np.sort(GRADES)) is None


@pytest.mark.parametrize("scorer", [one for one in ALL if one.response_method != "predict_raw"], ids=repr)
def test_strings_without_an_order_are_refused_and_labels_give_it(scorer, graded):
    X, y, codes = graded
    by_name, by_code = LogisticRegression().fit(X, y), LogisticRegression().fit(X, codes)
    with pytest.raises(ValueError, match=r"LogisticRegression does not say .*order of its classes .*labels=\)"):
        scorer(by_name, X, y)
    told = OrdinalScorer(
        scorer.metric,
        response_method=scorer.response_method,
        greater_is_better=scorer.greater_is_better,
        labels=["none", *GRADES],
    )
    assert "labels=['none', " in repr(told)
    # A class that the estimator has never seen gets no probability.
    assert told(by_name, X, y) == pytest.approx(scorer(by_code, X, codes), rel=1e-4)
    with pytest.raises(ValueError, match="labels must be distinct"):
        OrdinalScorer(scorer.metric, labels=["low", "low"])(by_name, X, y)
    with pytest.raises(ValueError, match=r"holds labels outside the classes \['low', 'high'\]; got 'medium'"):
        OrdinalScorer(scorer.metric, response_method=scorer.response_method, labels=["low", "high"])(by_name, X, y)


def test_a_metric_of_ones_own_gets_codes_and_columns_in_order(graded):
    X, y, codes = graded
    seen = []

    def brier(true, proba, sample_weight=None):
        seen.append((true, proba))
        return float(((proba - np.eye(3)[true]) ** 2).sum(axis=1).mean())

    model = NearestGrade().fit(X, y)
    assert OrdinalScorer(brier, response_method="predict_proba")(model, X, y) < 0.0
    np.testing.assert_array_equal(seen[0][0], codes)
    np.testing.assert_array_equal(seen[0][1], model.predict_proba_ordered(X))


def test_a_fold_without_a_class_is_scored(graded):
    X, y, codes = graded
    model = NearestGrade().fit(X, y)
    for rows in (codes < 2, codes > 0, codes == 1):
        expected = metrics.ranked_probability_score(codes[rows], model.predict_proba_ordered(X[rows]), labels=range(3))
        assert neg_rps_scorer(model, X[rows], y[rows]) == -expected


LABELS = {"stars": np.arange(1, 5), "names": np.array(list("abcd"))}
CLASSIFIERS = {
    "of this package": lambda: make_xgb(n_estimators=3),
    "in a pipeline": lambda: make_pipeline(StandardScaler(), make_xgb(n_estimators=3)),
    "in a search": lambda: GridSearchCV(make_xgb(n_estimators=3), {"max_depth": [2]}, cv=2),
    "scikit-learn's": LogisticRegression,
}


@pytest.mark.filterwarnings("ignore:The labels are strings")
@pytest.mark.parametrize(
    ("scorer", "lacking", "labels", "kind"),
    [
        (scorer, lacking, labels, kind)
        for scorer, lacking, labels, kind in pairwise(ALL, [0, 2, 3], LABELS, CLASSIFIERS)
        # scikit-learn's know no order of names, and no scores.
        if kind != "scikit-learn's" or (labels == "stars" and scorer.response_method != "predict_raw")
    ],
)
def test_rows_of_a_class_not_trained_on_count_as_wrong(kind, labels, lacking, scorer):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    codes = np.digitize(X[:, 0] + 0.5 * rng.logistic(size=300), [-1.0, 0.0, 1.0])
    y, has = LABELS[labels][codes], codes != lacking
    model = CLASSIFIERS[kind]().fit(X[has], y[has])
    if scorer.response_method == "predict":
        response = np.searchsorted(LABELS[labels], model.predict(X))
    elif scorer.response_method == "predict_proba":
        response = np.insert(model.predict_proba(X), lacking, 0.0, axis=1)
    else:
        inner = getattr(model, "best_estimator_", model)
        response = inner[-1].predict_raw(inner[:-1].transform(X)) if kind == "in a pipeline" else inner.predict_raw(X)
    value = scorer.metric(codes, response, labels=range(4))
    assert scorer(model, X, y) == pytest.approx(value if scorer.greater_is_better else -value)


def test_scores_of_an_estimator_that_has_none_are_refused(graded):
    X, y, codes = graded
    model = make_pipeline(FunctionTransformer(), LogisticRegression()).fit(X, codes)
    with pytest.raises(TypeError, match="concordance judges scores, and LogisticRegression has no predict_raw"):
        concordance_scorer(model, X, codes)
    of_scores = OrdinalScorer(metrics.concordance)
    assert of_scores.greater_is_better
    assert of_scores(NearestGrade().fit(X, y), X, y) == metrics.concordance(codes, np.abs(X[:, 0])) > 0.8


def test_unknown_labels_are_refused(graded):
    X, y, _ = graded
    with pytest.raises(ValueError, match=r"outside the classes \['low', 'medium', 'high'\]; got 'huge'"):
        neg_mae_scorer(NearestGrade().fit(X, y), X[:1], ["huge"])
    with pytest.raises(
        ValueError,
        match="response_method must be one of 'predict', 'predict_proba', 'predict_raw'; got 'decision_function'",
    ):
        OrdinalScorer(metrics.zero_one_error, response_method="decision_function")


def test_weights_are_routed_where_scikit_learn_routes(graded):
    X, y, codes = graded
    weight = np.random.default_rng(1).uniform(size=60)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = neg_mae_scorer.set_score_request(sample_weight=True)
        estimator = NearestGrade().set_fit_request(sample_weight=False)
        scores = cross_val_score(
            estimator, X, y, cv=[(codes < 3, codes < 3)], scoring=asking, params={"sample_weight": weight}
        )
        assert scores[0] == neg_mae_scorer(estimator.fit(X, y), X, y, sample_weight=weight)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            cross_val_score(estimator, X, y, scoring=neg_mae_scorer, params={"sample_weight": weight})


def test_what_is_no_metric_and_no_name_is_refused():
    with pytest.raises(ValueError, match=r"scoring must be one of .*; got \['neg_rps'\]"):
        scorers.get_scorer(["neg_rps"])
