"""Tables of every kind with a column of numbers, "a", and one of categories, "t"."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

N = 240
_RNG = np.random.default_rng(0)
WHICH = _RNG.integers(0, 3, N)
NOISE = _RNG.normal(size=N)
LEVELS = {"text": ["mid", "up", "low"], "numbers": [30, 10, 20]}
NEW = {"text": "aaa", "numbers": 15}  # sorts before, or between, the known ones


def dictionary(values, levels):
    indices = pa.array([None if value is None else levels.index(value) for value in values], pa.int8())
    return pa.DictionaryArray.from_arrays(indices, levels)


def pandas_frame(values, levels):
    return pd.DataFrame({"a": NOISE[: len(values)], "t": pd.Categorical(values, levels)})


def nullable(values, levels):
    kind = "string" if isinstance(levels[0], str) else "Int64"
    of_kind = pd.Categorical(values, pd.Index(levels, dtype=kind))
    return pd.DataFrame({"a": pd.array(NOISE[: len(values)], "Float64"), "t": of_kind})


def arrow_backed(values, levels):
    column = pd.arrays.ArrowExtensionArray(dictionary(values, levels))
    return pd.DataFrame({"a": NOISE[: len(values)], "t": column})


def arrow(values, levels):
    return pa.table({"a": NOISE[: len(values)], "t": dictionary(values, levels)})


def batch(values, levels):
    return arrow(values, levels).to_batches()[0]


def enum(values, levels):
    return pl.DataFrame({"a": NOISE[: len(values)], "t": pl.Series(values, dtype=pl.Enum(levels))})


def categorical(values, levels):
    return pl.DataFrame({"a": NOISE[: len(values)], "t": pl.Series(values, dtype=pl.Categorical)})
