"""All that goes with the rows of a call is divided with them: in searches, folds and early stopping."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from makers import make_engine, make_lgb, make_xgb
from ordinal_objectives import OrdinalEnsembleClassifier
from ordinal_objectives.estimators import held_out
from ordinal_objectives.estimators.wrappers import row_keywords
from pairs import pairwise

TRAINERS = {
    "xgboost": (make_xgb, "n_estimators", "base_margin"),
    "lightgbm": (make_lgb, "n_estimators", "init_score"),
    "engine": (make_engine, "max_iter", None),
}


@pytest.fixture
def spied(monkeypatch):
    """Return a list of the row numbers of each part that is taken, as (part, groups of all rows)."""
    taken = []
    take = held_out.Rows.take

    def spy(self, rows):
        part = take(self, rows)
        taken.append((self, part))
        return part

    monkeypatch.setattr(held_out.Rows, "take", spy)
    return taken


@pytest.mark.parametrize(
    ("trainer", "fraction", "linear", "weighted"), pairwise(TRAINERS, [None, 0.25], [False, "auto"], [False, True])
)
def test_groups_weights_and_starts_go_with_the_rows(trainer, fraction, linear, weighted, data, spied):
    X, y = data
    X = np.column_stack([np.arange(len(y)), X])
    make, rounds, start = TRAINERS[trainer]
    options = {rounds: "auto", "linear": linear}
    if fraction is not None:
        options |= {"validation_fraction": fraction}
        options |= {"early_stopping": True} if trainer == "engine" else {}
    given = {"groups": np.repeat([f"house {i:03}" for i in range(len(y) // 3)], 3)}
    if weighted:
        given["sample_weight"] = 1.0 + np.arange(len(y)) % 2
        given |= {} if start is None else {start: 0.01 * X[:, 1]}
    model = make(learning_rate=0.5, **options).fit(X, y, **given)
    assert model.predict(X).shape == y.shape
    assert spied
    for _, part in spied:
        numbers = part.X[:, 0].astype(int)
        np.testing.assert_array_equal(part.codes, y[numbers])
        np.testing.assert_array_equal(part.groups, numbers // 3)
        assert (np.bincount(part.groups)[np.unique(part.groups)] == 3).all()
        if weighted:
            np.testing.assert_array_equal(part.weight, given["sample_weight"][numbers])


def test_members_of_an_ensemble_get_the_groups_of_their_rows(data, spied):
    X, y = data
    X = np.column_stack([np.arange(len(y)), X])
    member = make_xgb(n_estimators="auto", learning_rate=0.5)
    OrdinalEnsembleClassifier([("a", member)], n_bags=1).fit(X, y, groups=np.arange(len(y)) // 3)
    searched = [part for _, part in spied if part.X.ndim == 2]
    assert len(searched) >= 3
    for part in searched:
        numbers = part.X[:, 0].astype(int)
        assert (np.bincount(numbers // 3)[np.unique(numbers // 3)] == 3).all()


def test_groups_go_to_classifiers_that_divide_rows_themselves():
    one, groups = make_xgb(), np.arange(3)
    piped, searched = make_pipeline(StandardScaler(), one), GridSearchCV(make_pipeline(StandardScaler(), one), {})
    assert list(row_keywords("model", one, None, groups)) == ["groups"]
    assert list(row_keywords("model", piped, None, groups)) == ["xgbordinalclassifier__groups"]
    assert list(row_keywords("model", searched, None, groups)) == ["xgbordinalclassifier__groups"]
    with pytest.raises(ValueError, match="model has XGBOrdinalClassifier in a search, which passes no groups on"):
        row_keywords("model", make_pipeline(GridSearchCV(one, {})), None, groups)
    with config_context(enable_metadata_routing=True):  # scikit-learn asks a classifier that has not said
        assert list(row_keywords("model", piped, None, groups)) == ["groups"]
        without = make_pipeline(StandardScaler(), make_xgb().set_fit_request(groups=False))
        assert row_keywords("model", without, None, groups) == {}


@pytest.mark.parametrize("groups", [[None, "a"], [np.nan, 1.0]], ids=["None", "NaN"])
def test_rows_without_a_group_are_refused(groups, data):
    X, y = data
    with pytest.raises(ValueError, match="groups"):
        make_xgb(n_estimators="auto").fit(X, y, groups=np.repeat(np.array(groups, dtype=object), len(y) // 2))
