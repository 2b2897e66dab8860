"""Columns that XGBoost cannot read are refused with the argument's and the column's name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from makers import make_xgb

Y = np.arange(60) % 3
G = np.array(list("abc"))[Y]
X = np.random.default_rng(0).normal(size=60)
BAD = {
    "intervals": lambda: pd.DataFrame({"x": X, "bad": pd.cut(X, 4)}),
    "objects": lambda: pd.DataFrame({"x": X, "bad": pd.Series(X, dtype=object)}),
    "complex": lambda: pd.DataFrame({"x": X, "bad": X * 1j}),
    "a name": lambda: pd.DataFrame({"x": X, "bad[0]": X}),
    "nulls": lambda: pl.DataFrame({"x": X, "bad": [None] * 60}),
    "decimals": lambda: pa.table({"x": X, "bad": pa.array(X.round(2)).cast(pa.decimal128(20, 10))}),
    "lists": lambda: pa.table({"x": X, "bad": [[1.0]] * 60}),
}


@pytest.mark.parametrize("kind", BAD)
def test_columns_that_xgboost_cannot_read_are_named(kind):
    with pytest.raises(ValueError, match=r"XGBoost refuses X: column 'bad(\[0\])?' of type "):
        make_xgb().fit(BAD[kind](), Y)


def test_categories_of_arrow_as_pandas_writes_them():
    frame = pd.DataFrame({"g": pd.Categorical(G), "x": X})
    expected = make_xgb().fit(frame, Y).predict_proba(frame)
    table = pa.Table.from_pandas(frame)
    np.testing.assert_array_equal(make_xgb().fit(table, Y).predict_proba(table), expected)
