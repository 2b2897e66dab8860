"""Dates as categories: the same level as a date or as its midnight, in every kind of table and with every library."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ordinal_objectives as oo
from ordinal_objectives.columns import codes_in, levels_in, plain_level

pytestmark = pytest.mark.filterwarnings("ignore:X (does not have valid|has) feature names")
rng = np.random.default_rng(0)
N = 240
DAYS = np.array(["2020-03-01", "2020-01-01", "2020-04-01", "2020-02-01"], "M8[D]")
WHICH = rng.integers(0, 4, N)
NOISE = rng.normal(size=N)
Y = np.digitize(np.array([-2, 2, 0, -1.0])[WHICH] + 0.3 * NOISE + 0.5 * rng.normal(size=N), [-1, 0, 1])
VALUES = DAYS[WHICH]
OBJECTS = np.array([dt.date.fromisoformat(str(day)) for day in VALUES], dtype=object)


def pandas_of(column):
    return pd.DataFrame({"d": column, "x": NOISE})


def arrow_of(column):
    return pa.table({"d": column, "x": NOISE})


TABLES = {
    "pandas ns": pandas_of(pd.Series(VALUES).astype("M8[ns]")),
    "pandas s": pandas_of(pd.Series(VALUES).astype("M8[s]")),
    "pandas dates": pandas_of(pd.Series(OBJECTS, dtype=object)),
    "pandas Arrow dates": pandas_of(pd.Series(OBJECTS).astype(pd.ArrowDtype(pa.date32()))),
    "pandas Arrow times": pandas_of(pd.Series(VALUES.astype("M8[us]")).astype(pd.ArrowDtype(pa.timestamp("us")))),
    "polars dates": pl.DataFrame({"d": OBJECTS.tolist(), "x": NOISE}),
    "polars times": pl.DataFrame({"d": VALUES.astype("M8[us]"), "x": NOISE}),
    "polars ns": pl.DataFrame({"d": VALUES.astype("M8[ns]"), "x": NOISE}),
    "Arrow dates": arrow_of(pa.array(OBJECTS)),
    "Arrow times": arrow_of(pa.array(VALUES.astype("M8[us]"))),
    "Arrow ns": arrow_of(pa.array(VALUES.astype("M8[ns]"))),
    "text": pandas_of(pd.Series(list(map(str, VALUES)))),
}
CATEGORIES = {
    "pandas": pandas_of(pd.Series(VALUES).astype("M8[ns]").astype("category")),
    "pandas dates": pandas_of(pd.Series(OBJECTS, dtype=object).astype("category")),
    "text": pandas_of(pd.Series(list(map(str, VALUES))).astype("category")),
}
DICTIONARIES = {
    "Arrow dates": arrow_of(pa.array(OBJECTS).dictionary_encode()),
    "Arrow times": arrow_of(pa.array(VALUES.astype("M8[us]")).dictionary_encode()),
}


def check(make, tables):
    expected = None
    for kind, rows in tables.items():
        model = make().fit(rows, Y)
        found = [model.predict_proba(others) for others in tables.values()]
        expected = found[0] if expected is None else expected
        assert np.ptp(expected[:, 0]) > 0.2
        for other, proba in zip(tables, found, strict=True):
            np.testing.assert_allclose(proba, found[0], atol=1e-6, err_msg=f"{kind}, {other}")


def test_the_engine():
    def make():
        return oo.HistGradientBoostingOrdinalClassifier(max_iter=5, categorical_features=["d"], random_state=0)

    check(make, TABLES | CATEGORIES | DICTIONARIES)


@pytest.mark.parametrize("linear", [False, True])
def test_xgboost(linear):
    pytest.importorskip("xgboost")
    check(lambda: oo.XGBOrdinalClassifier(n_estimators=5, linear=linear), CATEGORIES | DICTIONARIES)


@pytest.mark.parametrize("linear", [False, True])
def test_lightgbm(linear):
    pytest.importorskip("lightgbm")
    check(lambda: oo.LGBMOrdinalClassifier(n_estimators=5, linear=linear), CATEGORIES)


def test_times_of_the_day_stay_apart():
    noon, late = dt.datetime(2020, 1, 1, 12), pd.Timestamp("2020-01-01") + pd.Timedelta(5, "ns")
    aware = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    assert plain_level(noon) == "2020-01-01 12:00:00"
    assert plain_level(late) == "2020-01-01 00:00:00.000000005"
    assert plain_level(aware) == "2020-01-01 00:00:00+00:00"
    assert plain_level(dt.datetime(2020, 1, 1)) == plain_level(dt.date(2020, 1, 1)) == "2020-01-01"


@pytest.mark.parametrize("make", [pandas_of, arrow_of, lambda column: pl.DataFrame({"d": column, "x": NOISE})])
def test_nanoseconds_tell_levels_apart(make):
    times = DAYS[0].astype("M8[ns]") + WHICH.astype("m8[ns]")
    assert levels_in(make(times), 0)[1].max() == 3
    assert levels_in(make(times - times.min()), 0)[1].max() == 3


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns"])
def test_arrays_of_dates_have_the_levels_of_tables(unit):
    times = VALUES.astype(f"M8[{unit}]")[:, np.newaxis]
    known = sorted(map(str, DAYS))
    expected = codes_in(TABLES["pandas ns"], 0, known)
    held = np.empty((N, 1), dtype=object)
    held[:, 0] = list(times[:, 0])
    for X in (times, held):
        np.testing.assert_array_equal(codes_in(X, 0, known), expected)
    elapsed = times - times.min()
    of_table = levels_in(pandas_of(elapsed[:, 0].astype("m8[ns]")), 0)
    assert levels_in(elapsed, 0)[0] == of_table[0]
    missing = np.where(WHICH[:, np.newaxis] == 0, np.datetime64("NaT", unit), times)
    np.testing.assert_array_equal(levels_in(missing, 0)[1] < 0, WHICH == 0)
