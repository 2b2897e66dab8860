"""OrdinalEnsembleClassifier inside scikit-learn's tools, and what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from makers import FOREIGN, MAKERS, PAIR
from ordinal_objectives import OrdinalEnsembleClassifier, inspection, scorers

NAMES = np.array(["poor", "fair", "good", "excellent"])  # not in the order of the alphabet


# Inside scikit-learn


def test_parameters_of_members_have_names(data):
    X, y = data
    model = OrdinalEnsembleClassifier(PAIR, classes=NAMES)
    assert model.get_params()["trees__max_iter"] == 6
    twin = clone(model).set_params(trees__max_iter=2, linear=KNeighborsClassifier())
    assert [twin.members[0][1].max_iter, type(twin.members[1][1]).__name__] == [2, "KNeighborsClassifier"]
    assert PAIR[0][1].max_iter == 6
    grid = {"trees__max_iter": [1, 8], "weights": ["equal", [1, 0]]}
    search = GridSearchCV(make_pipeline(StandardScaler(), model), {f"ordinalensembleclassifier__{name}": values
                          for name, values in grid.items()}, scoring=scorers.neg_rps_scorer, cv=2)  # fmt: skip
    search.fit(X, NAMES[y])
    assert search.best_params_["ordinalensembleclassifier__trees__max_iter"] == 8
    assert search.best_estimator_[-1].members_["trees"][0].n_iter_ == 8
    assert search.best_score_ == pytest.approx(max(search.cv_results_["mean_test_score"]))
    assert np.ptp(search.cv_results_["mean_test_score"]) > 0.01


def test_an_ensemble_is_a_member_too(data):
    X, codes = data
    members = [("inner", OrdinalEnsembleClassifier(PAIR, n_bags=1)), ("other", FOREIGN["scikit-learn"]())]
    plain = OrdinalEnsembleClassifier(members).fit(X, codes)
    model = OrdinalEnsembleClassifier(members, classes=NAMES).fit(X, NAMES[codes])
    np.testing.assert_array_equal(model.predict_proba_ordered(X), plain.predict_proba(X))
    assert plain.set_params(inner__linear__C=2.0).members[0][1].members[1][1].C == 2.0


def test_scorers_know_the_order_and_the_rest_is_refused_by_name(data):
    X, codes = data
    model = OrdinalEnsembleClassifier(PAIR, classes=NAMES).fit(X, NAMES[codes])
    plain = OrdinalEnsembleClassifier(PAIR).fit(X, codes)
    for scorer in (scorers.neg_mae_scorer, scorers.neg_rps_scorer):
        assert scorer(model, X, NAMES[codes]) == scorer(plain, X, codes)
    with pytest.raises(TypeError, match="OrdinalEnsembleClassifier has no predict_raw"):
        scorers.get_scorer("concordance")(model, X, NAMES[codes])
    with pytest.raises(AttributeError, match="OrdinalEnsembleClassifier"):
        inspection.threshold_importances(model, X)
    assert not [name for name in dir(model) if name.startswith("staged")]
    with pytest.raises(TypeError, match="predictions of OrdinalEnsembleClassifier take only X; got base_margin"):
        model.predict(X, base_margin=codes)


# What is refused


@pytest.fixture(scope="module")
def fitted(ordinal_data):
    """Return rows and a pickle of an ensemble of them."""
    X, y = ordinal_data(300, 4)
    return X, y, pickle.dumps(OrdinalEnsembleClassifier(PAIR).fit(X, y))


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"members": []}, ValueError, r"members must be a list of \(name, classifier\) pairs"),
        ({"members": [LogisticRegression()]}, ValueError, r"members must be a list of \(name, classifier\) pairs"),
        ({"members": {"a": LogisticRegression()}}, ValueError, r"members must be a list of \(name, classifier\) pairs"),
        ({"members": [*PAIR, PAIR[0]]}, ValueError, r"must differ.*\['trees', 'linear', 'trees'\]"),
        (
            {"members": [("weights", LogisticRegression())]},
            ValueError,
            "must differ from each other and from parameters",
        ),
        ({"members": [("a__b", LogisticRegression())]}, ValueError, "without '__'"),
        (
            {"members": [("a", LogisticRegression(class_weight={1: 2}))]},
            ValueError,
            "'a' has class_weight by label",
        ),
        ({"members": [("a", MAKERS["xgboost"](classes=NAMES[::-1]))]}, ValueError, r"member 'a' has classes \['exc"),
        ({"n_bags": 0}, ValueError, "n_bags must be an integer at least 1; got 0"),
        ({"subsample": 1.5}, ValueError, "subsample must be a finite number above 0 and at most 1; got 1.5"),
        ({"subsample": "half"}, TypeError, "subsample must be a finite number"),
        ({"weights": "best"}, ValueError, "weights must be one of 'equal', 'log_loss', 'rps'; got 'best'"),
        ({"weights": [1, 2, 3]}, ValueError, "for each of 2 members"),
        ({"weights": [1, -1]}, ValueError, "non-negative"),
        ({"weights": [0, 0]}, ValueError, "not all zero"),
        ({"weights": "rps", "validation_fraction": 1.0}, ValueError, "validation_fraction must be a finite number"),
        ({"decision_rule": "best"}, ValueError, "decision_rule must be one of"),
    ],
)
def test_parameters_are_refused_and_the_model_stays(params, error, message, fitted):
    X, y, content = fitted
    model = pickle.loads(content)
    before = model.predict_proba(X)
    model.set_params(classes=NAMES, **params)
    with pytest.raises(error, match=message):
        model.fit(X[:100], NAMES[y[:100]])
    model.set_params(decision_rule="median")
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.classes_.tolist() == [0, 1, 2, 3]
