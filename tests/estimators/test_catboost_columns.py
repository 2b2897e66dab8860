"""CatBoost's columns of text and vectors: names before places, missing ones, and messages that name our parameters."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

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


def test_missing_text_has_no_words(table):
    X, y = table
    mask = np.arange(N) % 5 == 0
    missing, empty = X.assign(said=X["said"].mask(mask)), X.assign(said=X["said"].mask(mask, ""))
    assert missing["said"].isna().sum() == mask.sum()
    for rows in (X, missing):  # trained without and with
        model = make_cat(**COLUMNS).fit(rows, y)
        np.testing.assert_array_equal(model.predict_proba(missing), model.predict_proba(empty))
    assert np.abs(model.predict_proba(X) - model.predict_proba(missing)).max() > 0.01
    with pytest.raises(ValueError, match=r"'said'.*text_features"):
        model.predict(X.assign(said=[3, *X["said"][1:]]))


@pytest.mark.parametrize("value", [None, np.nan, "abc", [1.0, np.nan, 2.0], [1.0, None, 2.0], ["a", "b", "c"], [[1.0]]])
def test_vectors_without_finite_numbers_are_refused_by_column(table, value):
    X, y = table
    rows = X.copy()
    rows.at[3, "vector"] = value
    model = make_cat(**COLUMNS).fit(X, y)
    for call in (lambda: model.predict_proba(rows), lambda: make_cat(**COLUMNS).fit(rows, y)):
        with pytest.raises(ValueError, match=r"'vector'.*embedding_features"):
            call()


def test_sparse_frames_are_the_same_matrix(table):
    age, y = table[0]["age"].clip(0), table[1]
    dense = np.column_stack([age, -age])
    sparse = pd.DataFrame({"a": pd.arrays.SparseArray(age, fill_value=0.0), "b": pd.arrays.SparseArray(-age)})
    for frame in (sparse, sparse.assign(b=-age)):
        expected = make_cat().fit(csr_matrix(dense), y).predict_proba(csr_matrix(dense))
        np.testing.assert_array_equal(make_cat().fit(frame, y).predict_proba(frame), expected)


@pytest.mark.parametrize("values", [[datetime.date(2020, 1, 1)] * N, ["x"] * N, pd.Categorical(["x"] * N)], ids=type)
def test_messages_name_the_parameters_of_this_class(table, values):
    X, y = table
    with pytest.raises(ValueError, match=r"'d'.*cat_features|cat_features.*'d'"):
        make_cat(cat_features=["ward"]).fit(X[["age", "ward"]].assign(d=values), y)


@pytest.mark.parametrize("make", [make_engine, make_xgb, make_lgb, make_cat])
def test_one_row_of_a_frame_is_refused_alike_whatever_it_holds(table, make):
    X, y = table
    mixed = X[["age"]].assign(ward=pd.Categorical(X["ward"]))
    for rows in (mixed, mixed[["age"]]):
        model = make().fit(rows, y)
        for row in (rows.iloc[0], rows.to_numpy()[0], rows.iloc[0].tolist()):
            with pytest.raises(ValueError, match=r"Expected 2D array or table X; got shape \([12],\)"):
                model.predict(row)
