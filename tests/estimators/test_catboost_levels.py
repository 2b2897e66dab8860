"""Tables that are no frames, and what is no level."""

from __future__ import annotations

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
from ordinal_objectives.adapters import lgbm as olgbm

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
