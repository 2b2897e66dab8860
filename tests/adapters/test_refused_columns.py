"""Columns, names and levels that a booster would misread, without an error of its own."""

from __future__ import annotations

from decimal import Decimal

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from makers import make_lgb, make_xgb
from ordinal_objectives.adapters import lgbm as olgbm

Y = np.arange(60) % 3
G = np.array(list("abc"))[Y]
X = np.random.default_rng(0).normal(size=60)
DAYS = pd.date_range("2020-01-01", periods=60)
PARAMS = {"verbosity": -1, "num_threads": 1}

READS_TABLES = pytest.mark.skipif(
    lightgbm.__version__.startswith("4.5."), reason="LightGBM 4.5 predicts no tables of Arrow, and says other things"
)
# scikit-learn 1.7 knows no names of polars and Arrow.
pytestmark = pytest.mark.filterwarnings("ignore:X (does not have valid|has) feature names")


@READS_TABLES
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_in_another_order_are_refused(kind):
    """LightGBM reads them by their places: a category in the place of another would have that one's levels."""
    booster = olgbm.train(PARAMS, lightgbm.Dataset(pd.DataFrame({"a b": X, "c": Y}), Y), 2)
    assert olgbm.predict(booster, kind({"a b": X, "c": Y})).shape == Y.shape
    with pytest.raises(
        ValueError, match="data must have the model's 2 feature names, in their order; got 'c' for 'a_b'"
    ):
        olgbm.predict(booster, kind({"c": Y, "a b": X}))
    with pytest.raises(ValueError, match="got 'd' for 'c' in column 1"):
        olgbm.predict_proba(booster, kind({"a b": X, "d": Y}))
    data = lightgbm.Dataset(kind({"a b": X, "c": Y}), Y)
    with pytest.raises(
        ValueError, match="valid_sets must have the model's 2 feature names, in their order; got 'c' for"
    ):
        olgbm.train(PARAMS, data, 2, [data.create_valid(kind({"c": Y, "a b": X}), Y)])
    of_array = olgbm.train(PARAMS, lightgbm.Dataset(np.c_[X, Y], Y), 2)
    assert olgbm.predict(of_array, kind({"c": X, "d": Y})).shape == Y.shape


LEVELS = {
    "intervals": lambda: pd.cut(X, 4),
    "dates": lambda: pd.Categorical(DAYS[Y]),
    "decimals": lambda: pd.Categorical([Decimal(int(code)) for code in Y]),
    "tuples": lambda: pd.Categorical([(int(code), 1) for code in Y]),
}


@pytest.mark.parametrize("kind", LEVELS)
@pytest.mark.parametrize("make", [make_xgb, make_lgb])
def test_categories_that_no_file_holds_are_known_by_their_text(make, kind, tmp_path):
    frame = pd.DataFrame({"x": X[::-1], "g": LEVELS[kind]()})
    as_text = frame.assign(g=frame.g.cat.rename_categories([str(level) for level in frame.g.cat.categories]))
    expected = make(min_child_samples=1) if make is make_lgb else make(min_child_weight=0.0)
    model = expected.__class__(**expected.get_params()).fit(frame, Y)
    expected = expected.fit(as_text, Y).predict_proba(as_text)
    np.testing.assert_array_equal(model.predict_proba(frame), expected)
    model.save_model(tmp_path / "model.json")
    again = type(model)().load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(frame[::-1])[::-1], expected)


# Models that hold no levels

FRAME = pd.DataFrame({"x": X, "g": pd.Categorical(G)})
SOME = FRAME[G != "a"].assign(g=lambda some: some.g.cat.remove_unused_categories())


def of_file(folder):
    lightgbm.Dataset(FRAME, Y, params=PARAMS).save_binary(folder / "rows.bin")
    return lightgbm.Dataset(folder / "rows.bin", params=PARAMS)


def of_codes(folder):
    return lightgbm.Dataset(FRAME.assign(g=FRAME.g.cat.codes).to_numpy(), Y, categorical_feature=[1])


@pytest.mark.parametrize("rows", [FRAME, SOME], ids=["all levels", "some levels"])
@pytest.mark.parametrize("make_set", [of_file, of_codes])
def test_categories_for_a_model_without_levels_are_refused(make_set, rows, tmp_path):
    """LightGBM would take the places of these rows' levels for codes of the training."""
    train_set = make_set(tmp_path)
    objective = olgbm.OrdinalObjective(3)
    booster = lightgbm.train({**PARAMS, "objective": objective}, train_set, 5, callbacks=[objective.callback])
    message = "must have categories .* column 'g'"
    for use in (olgbm.predict, olgbm.predict_proba, objective.predict, objective.predict_proba):
        with pytest.raises(ValueError, match=f"data {message}"):
            use(booster, rows)
    olgbm.save_model(booster, tmp_path / "model.json")
    model = make_lgb().load_model(tmp_path / "model.json")
    for use in (model.predict, model.predict_proba, model.predict_raw):
        with pytest.raises(ValueError, match=r"X must have numbers .* column 'g'"):
            use(rows)
    valid = lightgbm.Dataset(rows, Y[: len(rows)], reference=train_set)
    with pytest.raises(ValueError, match=f"valid_sets {message}"):
        olgbm.train(PARAMS, make_set(tmp_path), 2, [valid])


def test_codes_of_a_classifier_are_no_categories():
    model = make_lgb().fit(FRAME.assign(g=FRAME.g.cat.codes), Y, categorical_feature=["g"])
    for rows in (FRAME, SOME):
        with pytest.raises(ValueError, match=r"X must have numbers .* column 'g'"):
            model.predict(rows)
