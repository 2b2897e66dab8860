"""Tables that are no frames, and what is no level."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from level_tables import (
    NOISE,
    WHICH,
    N,
)
from makers import make_cat
from ordinal_objectives import (
    CatBoostOrdinalClassifier,
    HistGradientBoostingOrdinalClassifier,
)
from ordinal_objectives.adapters import lgbm as olgbm
from ordinal_objectives.columns import levels_in

# Many cases. scikit-learn 1.7 knows no names of polars and Arrow.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:X (does not have valid|has) feature names")]

RNG = np.random.default_rng(1)
Y = np.digitize(0.3 * NOISE + np.array([-3.0, 3.0, 0.0])[WHICH] + 0.3 * RNG.logistic(size=N), [-1.0, 1.5])


def make():
    return make_cat(iterations=4, learning_rate=0.5)


def of_codes(levels):
    return pd.DataFrame({"a": NOISE, "t": pd.Categorical.from_codes(WHICH, levels)})


def test_the_library_reads_data_sets_of_bare_lightgbm_alike():
    lightgbm = pytest.importorskip("lightgbm")
    X = of_codes([1, 2, 3])
    booster = olgbm.train({"verbosity": -1, "num_threads": 1}, lightgbm.Dataset(X, Y), 4)
    expected = olgbm.predict_proba(booster, X)
    np.testing.assert_array_equal(olgbm.predict_proba(booster, of_codes([1.0, 2.0, 3.0])), expected)
    with pytest.raises(ValueError, match="column 't' holds categories that are text"):
        olgbm.predict_proba(booster, of_codes(["1", "2", "3"]))


# Tables of other kinds


class Frame:
    """A frame of another library: columns by name, its values by ``__array__``, and perhaps a protocol."""

    def __init__(self, frame):
        self.frame, self.columns, self.shape = frame, frame.columns, frame.shape

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.frame, dtype)


class ArrowFrame(Frame):
    def __arrow_c_stream__(self, requested_schema=None):
        return pa.Table.from_pandas(self.frame, preserve_index=False).__arrow_c_stream__(requested_schema)


class ProtocolFrame(Frame):
    def __dataframe__(self, *args, **options):
        return pa.Table.from_pandas(self.frame, preserve_index=False).__dataframe__()


OTHERS = {
    "batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
    "stream": ArrowFrame,
    "protocol": ProtocolFrame,
    "lazy": lambda frame: pl.from_pandas(frame).lazy(),
}
PLAIN = pd.DataFrame({"a": NOISE, "b": 100.0 + WHICH})


@pytest.mark.parametrize("other", OTHERS)
def test_other_tables_are_read_by_name(other):
    put, model = OTHERS[other], make().fit(PLAIN, Y)
    np.testing.assert_array_equal(model.predict_proba(put(PLAIN)), model.predict_proba(PLAIN))
    trained = make().fit(put(PLAIN), Y)
    assert trained.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(put(PLAIN[["b", "a"]]))


def test_tables_that_nothing_reads_by_name_are_refused():
    model = make().fit(PLAIN, Y)
    with pytest.raises(TypeError, match=r"^X must be an array, .* or an Arrow table; got .*Frame, which must be"):
        model.predict(Frame(PLAIN))
    with pytest.raises(TypeError, match=r"got .*Frame"):
        make().fit(Frame(PLAIN), Y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        with pytest.raises(ValueError, match=r"2D|2-dimensional"):
            model.predict(PLAIN.iloc[0])


def test_bytes_are_no_levels():
    """Their text, b'...', is no level of a table that holds text."""
    levels = np.array([b"a", b"b"] * 20)
    frame = pd.DataFrame({"g": pd.Series(levels.tolist(), dtype="object")})
    arrow = pa.table({"g": levels.tolist()})
    tables_of_bytes = {
        "column 0": [levels[:, np.newaxis], frame.to_numpy()],
        "column 'g'": [frame, frame.astype("category"), pl.from_arrow(arrow), arrow],
    }
    tables_of_bytes["column 'g'"].append(pa.table({"g": arrow["g"].dictionary_encode()}))
    for name, kinds in tables_of_bytes.items():
        for X in kinds:
            with pytest.raises(ValueError, match=f"{name} must hold text or numbers; got b'a': decode bytes"):
                levels_in(X, 0)


@pytest.mark.parametrize(
    "values", [[[1, 2], [2]], [{"u": 1}, {"u": 2}], [[("k", 1)], []]], ids=["list", "record", "map"]
)
def test_lists_and_records_are_no_levels(values):
    """Their text depends on the kind of table."""
    kind = pa.map_(pa.string(), pa.int64()) if values[-1] == [] else None
    column = pa.array([*values, None] * 8, kind)
    arrow, dtype = pa.table({"g": column, "x": np.arange(24.0)}), pd.ArrowDtype(column.type)
    objects = pd.DataFrame({"g": pd.Series([*values, None] * 8, dtype="object"), "x": np.arange(24.0)})
    kinds = [arrow, arrow.to_pandas(), objects, objects.to_numpy(), pl.from_arrow(arrow)]
    kinds.append(pd.DataFrame({"g": pd.Series(column, dtype=dtype), "x": np.arange(24.0)}))
    kinds.append(arrow.set_column(0, "g", pa.DictionaryArray.from_arrays([0, 1, None] * 8, pa.array(values, kind))))
    y = np.arange(24) % 3
    for X in kinds:
        for model in (
            HistGradientBoostingOrdinalClassifier(max_iter=1, categorical_features=[0]),
            HistGradientBoostingOrdinalClassifier(max_iter=1, loss="cumulative_link", random_intercept=0),
            CatBoostOrdinalClassifier(iterations=1, cat_features=[0]),
        ):
            with pytest.raises(ValueError, match=r"column (0|'g') must hold text or numbers, no lists or records"):
                model.fit(X, y)
