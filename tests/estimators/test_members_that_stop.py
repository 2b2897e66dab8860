"""Members of an ensemble that stop early by weighted rows, each as its library is told them, and frozen ones."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from ordinal_objectives import HistGradientBoostingOrdinalClassifier, OrdinalEnsembleClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
Y = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=240), [-0.5, 0.5])
WEIGHT = RNG.uniform(0.5, 2.0, size=240)


def bagged(member):
    return OrdinalEnsembleClassifier([("a", member)], n_bags=2, subsample=0.7, random_state=0)


def catboost_member():
    catboost = pytest.importorskip("catboost")
    return catboost.CatBoostClassifier(
        iterations=20, early_stopping_rounds=3, verbose=False, allow_writing_files=False, thread_count=1
    )


def native_member():
    return HistGradientBoostingOrdinalClassifier(max_iter=20, early_stopping=True, n_iter_no_change=3, max_leaf_nodes=4)


@pytest.mark.parametrize("member", [native_member, catboost_member])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weights"])
def test_members_stop_by_rows_with_weights(member, weight):
    model = bagged(member()).fit(X, Y, sample_weight=weight)
    assert model.score(X, Y) > 0.6


class Nearest(ClassifierMixin, BaseEstimator):
    """Shares of the classes, whatever the rows are."""

    def __init__(self, early_stopping_rounds=None):
        self.early_stopping_rounds = early_stopping_rounds

    def fit(self, X, y, sample_weight=None, eval_set=None):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_, self.best_iteration_ = counts / len(y), 1
        return self

    def predict_proba(self, X):
        return np.tile(self.shares_, (len(X), 1))


def test_a_member_that_takes_no_weights_of_evaluation_rows_is_named():
    with pytest.raises(ValueError, match="member 'a'"):
        bagged(Nearest(3)).fit(X, Y, sample_weight=WEIGHT)


def test_a_member_that_does_not_say_what_its_rounds_are_called_is_named():
    with pytest.raises(ValueError, match="member 'a'"):
        bagged(Nearest(3)).fit(X, Y)


def test_a_frozen_member_must_be_fitted():
    with pytest.raises(NotFittedError, match="member 'a'"):
        OrdinalEnsembleClassifier([("a", FrozenEstimator(native_member()))]).fit(X, Y)
    fitted = native_member().fit(X, Y)
    model = OrdinalEnsembleClassifier([("a", FrozenEstimator(fitted))]).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), fitted.predict_proba(X))
