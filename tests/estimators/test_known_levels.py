"""XGBoost's classifier knows the levels of its categories: in any order, outside ASCII, and no others."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from ordinal_objectives import XGBOrdinalClassifier

TOWNS = (["Aachen", "Bonn", "Celle"], ["Berlin", "Köln", "München"], ["東京", "Alm", "大阪"], [3, 1, 2])


@pytest.fixture(params=TOWNS, ids=["ascii", "umlauts", "signs", "numbers"])
def fitted(request):
    towns = request.param
    rng = np.random.default_rng(0)
    which = rng.integers(0, 3, 400)
    X = pd.DataFrame({"a": rng.normal(size=400), "town": pd.Categorical.from_codes(which, towns)})
    y = np.digitize(X["a"] + 3 * (which == 1) + rng.logistic(size=400), [-1, 2])
    model = XGBOrdinalClassifier(n_estimators=10, random_state=0).fit(X, y)
    return model, X, towns


def in_other_order(X, towns):
    return X.assign(town=X["town"].cat.reorder_categories(towns[::-1]))


@pytest.fixture(params=["fitted", "loaded", "pickled"])
def same(request, fitted, tmp_path):
    model = fitted[0]
    if request.param == "pickled":
        return pickle.loads(pickle.dumps(model))
    if request.param == "loaded":
        model.save_model(tmp_path / "model.json")
        return XGBOrdinalClassifier().load_model(tmp_path / "model.json")
    return model


def test_levels_in_another_order_are_the_same_rows(fitted, same):
    model, X, towns = fitted
    moved = in_other_order(X, towns)
    assert moved["town"].cat.codes.ne(X["town"].cat.codes).any()
    np.testing.assert_array_equal(same.predict_proba(moved), model.predict_proba(X))
    assert moved["town"].cat.categories.tolist() == towns[::-1]  # the caller's frame stays as it was


def test_one_row_knows_its_level_alone(fitted, same):
    model, X, _ = fitted
    row = X.iloc[:1].assign(town=X["town"].iloc[:1].cat.remove_unused_categories())
    np.testing.assert_array_equal(same.predict_proba(row), model.predict_proba(X)[:1])


def test_a_row_without_a_level(fitted, same):
    model, X, towns = fitted
    empty, missing = (X.iloc[:1].assign(town=pd.Categorical([np.nan], known)) for known in (None, towns))
    np.testing.assert_array_equal(same.predict_proba(empty), model.predict_proba(missing))


def test_other_levels_are_refused_by_name(fitted, same):
    _, X, towns = fitted
    other = 99 if isinstance(towns[0], int) else "Bo"  # between others, which XGBoost takes for one of them
    strange = X.iloc[:2].assign(town=pd.Categorical([towns[0], other]))
    with pytest.raises(ValueError, match=f"^X must have the levels of the training in column 'town', .*; got {other}$"):
        same.predict(strange)
    declared = X.iloc[:2].assign(town=pd.Categorical([towns[0], towns[1]], [*towns, other]))
    np.testing.assert_array_equal(
        same.predict(declared), same.predict(X.iloc[:2].assign(town=pd.Categorical(towns[:2], towns)))
    )


def test_rows_to_evaluate_too(fitted):
    _, X, towns = fitted
    y = np.arange(400) % 3
    with pytest.raises(ValueError, match="got "):
        XGBOrdinalClassifier(n_estimators=2).fit(
            X, y, eval_set=[(X.assign(town=pd.Categorical([*towns, "Bo"] * 100)), y)]
        )
    losses = [
        XGBOrdinalClassifier(n_estimators=5, random_state=0).fit(X, y, eval_set=[(rows, y)]).evals_result_
        for rows in (X, in_other_order(X, towns))
    ]
    assert losses[0] == losses[1]
