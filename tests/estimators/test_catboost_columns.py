"""CatBoost's columns of text and vectors: names before places, missing ones, and messages that name our parameters."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from makers import make_cat, make_engine, make_lgb, make_xgb

N = 200
COLUMNS = {"cat_features": ["ward"], "text_features": ["said"], "embedding_features": ["vector"], "iterations": 5}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=N), "ward": rng.choice(["A", "B", "C"], N)})
    X["said"] = [" ".join(rng.choice(["slow", "kind", "rude", "clean", "loud"], 3)) for _ in range(N)]
    X["vector"] = [list(vector) for vector in rng.normal(size=(N, 3))]
    good = X["said"].str.count("kind")
    return X, np.digitize(X["age"] + (X["ward"] == "B") + good + rng.logistic(size=N), [-1, 1])


def test_names_are_compared_before_columns_are_looked_up_by_place(table):
    X, y = table
    model = make_cat(**COLUMNS).fit(X, y)
    for other in (X[["said", "age", "ward", "vector"]], X.assign(note="x"), X.drop(columns="said")):
        with pytest.raises(ValueError, match="feature names"):
            model.predict_proba(other)


@pytest.mark.parametrize("make", [make_engine, make_xgb, make_lgb, make_cat])
def test_a_new_column_of_text_is_a_matter_of_names(table, make):
    X, y = table
    model = make().fit(X[["age"]], y)
    with pytest.raises(ValueError, match=r"feature names[\s\S]*said"):
        model.predict_proba(X[["age", "said"]])


@pytest.mark.parametrize("value", [None, np.nan, "abc", [1.0, np.nan, 2.0], [1.0, None, 2.0], ["a", "b", "c"], [[1.0]]])
def test_vectors_without_finite_numbers_are_refused_by_column(table, value):
    X, y = table
    rows = X.copy()
    rows.at[3, "vector"] = value
    model = make_cat(**COLUMNS).fit(X, y)
    for call in (lambda: model.predict_proba(rows), lambda: make_cat(**COLUMNS).fit(rows, y)):
        with pytest.raises(ValueError, match=r"'vector'.*embedding_features"):
            call()


def test_a_missing_text_has_no_words(table):
    X, y = table
    X = X.assign(said=X["said"].str.replace("kind", "no"))
    model = make_cat(**COLUMNS).fit(X, y)
    missing, empty, no = (model.predict_proba(X.assign(said=said)) for said in (None, "", "no"))
    np.testing.assert_array_equal(missing, empty)
    assert np.abs(missing - no).max() > 0.01
