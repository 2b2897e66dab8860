"""Columns by their types: levels that XGBoost's classifier knows; text, dates and durations that are no features."""

from __future__ import annotations

from itertools import cycle

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from makers import watching
from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalDistributionRegressor,
    XGBOrdinalClassifier,
)
from ordinal_objectives.adapters import lgbm as olgbm
from ordinal_objectives.tables import without_rows
from ordinal_objectives.utils.validation import as_floats

# Arrays of text, dates and durations are no features: NumPy would read digits and ticks as numbers, NaT as one too


KINDS = [XGBOrdinalClassifier, LGBMOrdinalClassifier, HistGradientBoostingOrdinalClassifier]

DAYS = np.datetime64("2020-01-01") + np.arange(200).reshape(100, 2).astype("m8[D]")
DIGITS = np.arange(200.0).reshape(100, 2).astype(str)
NO_NUMBERS = {
    "dates": lambda: DAYS,
    "missing dates": lambda: np.where(DAYS[50, 0] > DAYS, DAYS, np.datetime64("NaT", "D")),
    "durations": lambda: DAYS - DAYS[10, 0],
    "digits": lambda: DIGITS,
    "bytes": lambda: DIGITS.astype("S"),
    "digits among objects": lambda: np.array([range(100), DIGITS[:, 0].tolist()], dtype=object).T,
    "lists of digits": DIGITS.tolist,
    "records": lambda: np.zeros((100, 2), dtype=[("a", float)]),
}


@pytest.mark.parametrize(("container", "kind"), list(zip(NO_NUMBERS, cycle(KINDS))))
def test_arrays_of_text_and_dates_are_refused_as_frames_are(kind, container):
    X, y = NO_NUMBERS[container](), np.arange(100) % 3
    numbers = np.arange(200.0).reshape(100, 2)
    message = r"X must hold numbers, booleans and .*; got (an array of type|the value)"
    with pytest.raises(ValueError, match=message):
        kind().fit(X, y)
    model = kind().fit(numbers, y)
    for use in (model.predict, model.predict_proba, model.predict_raw):
        with pytest.raises(ValueError, match=message):
            use(X)
    with pytest.raises(ValueError, match=message):
        kind().fit(numbers, y, **watching(kind(), X, y))


@pytest.mark.parametrize("values", [DAYS, (DAYS - DAYS[0, 0]).astype("m8[ms]")], ids=["dates", "durations"])
def test_no_container_makes_numbers_of_dates(values):
    """Frames, polars and Arrow convert them where NumPy does not."""
    flat = values[:, 0]
    for container in (
        pd.DataFrame(values),
        pd.Series(flat).astype("category"),
        pl.Series(flat),
        pl.DataFrame({"a": flat}),
        pa.array(flat),
        pa.chunked_array([flat]),
        pa.array(flat).dictionary_encode(),
        pa.table({"a": flat}),
    ):
        with pytest.raises(
            ValueError, match=r"y must be an array of numbers: got an array of type (datetime|timedelta)64"
        ):
            as_floats(container, name="y")
    lower, upper = pd.DataFrame(values), pd.DataFrame(values + np.timedelta64(1, "D"))
    with pytest.raises(ValueError, match="y must be an array of numbers"):
        OrdinalDistributionRegressor().fit(np.zeros((len(flat), 1)), pd.concat([lower[0], upper[0]], axis=1))


@pytest.mark.parametrize("container", [name for name in NO_NUMBERS if name not in ("lists of digits", "records")])
def test_lightgbms_data_sets_and_predictions(container):
    """XGBoost's matrices hold numbers by the time that they come here."""
    X, y = NO_NUMBERS[container](), np.arange(100) % 3
    numbers, params = np.arange(200.0).reshape(100, 2), {"verbosity": -1, "num_threads": 1}
    booster = olgbm.train(params, lightgbm.Dataset(numbers, y), 2, n_classes=3)
    rows = lightgbm.Dataset(numbers, y)
    for use, name in (
        (lambda: olgbm.train(params, lightgbm.Dataset(X, y), 2, n_classes=3), "train_set"),
        (lambda: olgbm.train(params, rows, 2, [rows.create_valid(X, y)], n_classes=3), "valid_sets"),
        (lambda: olgbm.cv(params, lightgbm.Dataset(X, y), 2, n_classes=3), "train_set"),
        (lambda: olgbm.train(params, lightgbm.Dataset([numbers, X], np.tile(y, 2)), 2, n_classes=3), "train_set"),
        (lambda: olgbm.predict_proba(booster, X), "data"),
        (lambda: olgbm.predict(booster, X), "data"),
    ):
        with pytest.raises(ValueError, match=f"{name} must hold numbers, booleans and categories; got "):
            use()


@pytest.mark.parametrize("as_table", [np.asarray, pd.DataFrame, pl.DataFrame, lambda rows: pa.table({"a": rows[:, 0]})])
def test_tables_without_rows_keep_their_columns(as_table):
    table = as_table(np.arange(6.0).reshape(3, 2))
    empty = without_rows(table)
    assert type(empty) is type(table)
    assert empty.shape == (0, table.shape[1])
