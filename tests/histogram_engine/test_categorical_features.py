"""Columns of categories in the native engine: which they are, what they are known by, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from ordinal_objectives import (
    HistGradientBoostingMultiOutputRegressor,
    HistGradientBoostingOrdinalClassifier,
)

N, LEVELS = 400, [f"level {i}" for i in range(12)]
KINDS = [{}, {"proportional": True}, {"proportional": True, "order": 3}, {"linear": True}, {"rebin_every": 3}]


def make(**options):
    fixed = {"max_iter": 8, "max_leaf_nodes": 6, "min_samples_leaf": 5, "random_state": 0, "n_jobs": 1}
    return HistGradientBoostingOrdinalClassifier(**fixed | options)


@pytest.fixture(scope="module")
def rows():
    """Return numbers, categories by number, and classes that depend on both."""
    rng = np.random.default_rng(0)
    x, g = rng.normal(size=N), rng.integers(0, len(LEVELS), N)
    effect = rng.normal(size=len(LEVELS))
    y = np.digitize(2 * effect[g] + x + rng.logistic(size=N), [-1.5, 0.0, 1.5])
    return x, g, y


def text(g):
    return [None if code < 0 else LEVELS[code] for code in g]


def frame(x, g, levels=LEVELS):
    return pd.DataFrame({"x": x, "g": pd.Categorical(text(g), categories=levels)})


def with_missing(g):
    return np.where(np.arange(len(g)) % 7 == 3, -1, g)


NAMED = {
    "pandas text": lambda x, g: pd.DataFrame({"x": x, "g": pd.Series(text(g), dtype=object)}),
    "polars text": lambda x, g: pl.DataFrame({"x": x, "g": text(g)}),
    "array of objects": lambda x, g: np.array([x, text(g)], dtype=object).T,
    "lists": lambda x, g: [list(row) for row in zip(x, text(g), strict=True)],
}


def test_every_level_and_a_missing_one_are_told_apart():
    g = np.arange(-1, 3).repeat(20)
    X = frame(np.zeros(80), g)
    assert make().fit(X, g + 1).predict(X).tolist() == (g + 1).tolist()


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_categories_are_known_by_their_value(rows, kind, tmp_path):
    x, g, y = rows
    X = frame(x, with_missing(g))
    model = make(**KINDS[kind]).fit(X, y)
    expected = model.predict_proba(X)
    trees = model._ensemble.trees
    assert any(tree.categories is not None for tree in trees)
    assert not any(tree.categories[tree.feature != 1].any() for tree in trees if tree.categories is not None)
    turned = frame(x, with_missing(g), [*LEVELS[::-1], "another"])
    np.testing.assert_array_equal(model.predict_proba(turned), expected)
    np.testing.assert_array_equal(make(**KINDS[kind]).fit(turned, y).predict_proba(X), expected)
    few = X[X["g"].isin(LEVELS[2:4])]
    few = few.assign(g=few["g"].cat.remove_unused_categories())
    np.testing.assert_array_equal(model.predict_proba(few), expected[np.isin(text(with_missing(g)), LEVELS[2:4])])
    model.save_model(tmp_path / "model")
    loaded = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "model")
    for same in (loaded, pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        np.testing.assert_array_equal(same.predict_proba(X), expected)
        np.testing.assert_array_equal(same.apply(turned), model.apply(X))
    loaded.save_model(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    staged = list(model.staged_predict_proba(X))
    np.testing.assert_allclose(staged[-1], expected, rtol=1e-12)


@pytest.mark.parametrize("asked", [[1], [False, True], np.array([False, True]), ["g"], np.array([1])])
def test_columns_are_asked_for_by_number_mask_or_name(rows, asked):
    x, g, y = rows
    X = pd.DataFrame({"x": x, "g": 10 * g})
    by_category = make(categorical_features=asked).fit(X, y)
    assert by_category.columns_.levels == {1: list(range(0, 120, 10))}
    np.testing.assert_array_equal(
        by_category.predict_proba(X), make().fit(X.astype({"g": "category"}), y).predict_proba(X)
    )
    if list(asked) != ["g"]:
        array = make(categorical_features=asked).fit(X.to_numpy(), y)
        np.testing.assert_array_equal(array.predict_proba(X.to_numpy()), by_category.predict_proba(X))


def test_unknown_and_missing_categories_go_the_same_way(rows):
    x, g, y = rows
    model = make().fit(frame(x, with_missing(g)), y)
    missing = frame(x, np.full(N, -1))
    unknown = pd.DataFrame({"x": x, "g": pd.Categorical(["never seen"] * N)})
    np.testing.assert_array_equal(model.predict_proba(unknown), model.predict_proba(missing))
    # A value that the training has is not missing.
    assert (model.predict_proba(frame(x, g)) != model.predict_proba(missing)).any()


@pytest.mark.parametrize("counts", [(10, 11), (11, 10)])
def test_unknown_categories_go_where_most_rows_go(counts):
    g = np.repeat([0.0, 1.0], counts)
    y = np.where(np.arange(21) % 5 == 0, 1 - g, g).astype(int)
    options = {"max_iter": 1, "max_leaf_nodes": 2, "min_samples_leaf": 1, "min_samples_category": 1}
    model = make(categorical_features=[0], **options).fit(g[:, np.newaxis], y)
    few, many, unknown = model.predict_raw([[float(np.argmin(counts))], [float(np.argmax(counts))], [7.0]])
    assert few != many
    assert unknown == many


@pytest.mark.parametrize("few", [0, 1])
def test_unknown_categories_move_none_of_many_known_ones(few):
    g = np.tile(np.arange(200.0), 5)
    model = make(categorical_features=[0], max_iter=1, max_leaf_nodes=2, min_samples_category=1)
    y = np.where(g % 3, 1 - few, few)
    raw = model.fit(g[:, np.newaxis], y).predict_raw(np.arange(201.0)[:, np.newaxis])
    np.testing.assert_array_equal(raw[:200], np.where(np.arange(200) % 3, raw[1], raw[0]))
    assert raw[200] == raw[1] != raw[0]


def test_what_is_no_column_of_categories_is_refused(rows):
    x, g, y = rows
    X = frame(x, g)
    for asked, message in {
        "dtype": "must be None, 'from_dtype', or a list; got 'dtype'",
        3: "must be None, 'from_dtype', or a list; got 3",
        (2,): "numbers of columns from 0 to 1, or names among 'x', 'g'; got 2",
        ("h",): "got 'h'",
        (True,): "as a mask must have 2 entries; got 1",
        (1.5,): "got 1.5",
    }.items():
        asked = list(asked) if isinstance(asked, tuple) else asked
        with pytest.raises(ValueError, match=message):
            make(categorical_features=asked).fit(X, y)
    with pytest.raises(ValueError, match="column 'g'"):
        make(categorical_features=[]).fit(X, y)
    with pytest.raises(ValueError, match="categorical_features names"):
        make().fit(NAMED["pandas text"](x, g), y)
    with pytest.raises(ValueError, match="min_samples_category"):
        make(min_samples_category=0).fit(X, y)


def test_categories_have_no_direction(rows):
    x, g, y = rows
    with pytest.raises(ValueError, match="monotonic_cst constrains feature 1, whose categories have no order"):
        make(monotonic_cst={"g": 1}).fit(frame(x, g), y)
    model = make(monotonic_cst={"x": 1}, interaction_cst="no_interactions").fit(frame(x, g), y)
    steps = [model.predict_raw(frame(np.full(N, value), g)) for value in (-2.0, 0.0, 2.0)]
    assert (steps[0] <= steps[1]).all()
    assert (steps[1] <= steps[2]).all()


def test_too_many_categories_are_refused_by_name(rows):
    x, g, y = rows
    many = np.arange(N) % 255
    X = pd.DataFrame({"x": x, "g": pd.Categorical(many)})
    with pytest.raises(ValueError, match=r"column 'g' has 255 categories, and the engine takes at most 254: join rare"):
        make().fit(X, y)
    with pytest.raises(ValueError, match=r"column 1 has 12 categories.* at most 10, as max_bins=10 says"):
        make(max_bins=10, categorical_features=[1]).fit(np.column_stack([x, g]), y)
    with pytest.raises(ValueError, match="column 1 must hold finite categories"):
        make(categorical_features=[1]).fit(np.column_stack([x, np.where(g == 0, np.inf, g)]), y)
    X["g"] = pd.Categorical(many % 254)
    assert make(min_samples_category=1).fit(X, y).columns_.sizes == {1: 254}


def test_warm_start_keeps_the_categories(rows):
    x, g, y = rows
    X, first = frame(x, g), g < 9
    model = make(max_iter=4, warm_start=True).fit(X[first], y[first])
    known = model.columns_.levels
    model.set_params(max_iter=8).fit(X, y)  # the others are unknown to it
    assert model.columns_.levels == known
    unknown = model.predict_proba(frame(x, np.full(N, 11)))
    np.testing.assert_array_equal(unknown, model.predict_proba(frame(x, np.full(N, -1))))
    with pytest.raises(ValueError, match=r"continues a model of categories in the columns \[1\]; got \[0, 1\]"):
        model.set_params(max_iter=9, categorical_features=[0, 1]).fit(X, y)


def test_several_outputs(rows, tmp_path):
    x, g, _ = rows
    rng = np.random.default_rng(1)
    effect = rng.normal(size=(len(LEVELS), 3))
    Y = effect[g] + x[:, np.newaxis] + 0.1 * rng.normal(size=(N, 3))
    X = frame(x, with_missing(g))
    model = HistGradientBoostingMultiOutputRegressor(max_iter=30, min_samples_leaf=5).fit(X, Y)
    expected = model.predict(X)
    assert np.mean((expected - Y) ** 2) < 0.3 * Y.var()
    turned = frame(x, with_missing(g), LEVELS[::-1])
    np.testing.assert_array_equal(model.predict(turned), expected)
    model.save_model(tmp_path / "model")
    loaded = HistGradientBoostingMultiOutputRegressor().load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), expected)
    model.set_params(warm_start=True, max_iter=32).fit(X, Y)
    with pytest.raises(ValueError, match="continues a model of categories"):
        model.set_params(max_iter=34, categorical_features=[0, 1]).fit(X, Y)
