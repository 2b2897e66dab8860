"""Levels of CatBoost, which are text, in every kind of table, and tables that are no frames for every trainer."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from level_tables import (
    LEVELS,
    NEW,
    NOISE,
    WHICH,
    N,
    arrow,
    arrow_backed,
    batch,
    categorical,
    enum,
    nullable,
    pandas_frame,
)
from makers import make_cat, watching
from ordinal_objectives import (
    CatBoostOrdinalClassifier,
    HistGradientBoostingOrdinalClassifier,
)
from ordinal_objectives.adapters import lgbm as olgbm
from ordinal_objectives.estimators import tables
from pairs import each_pair

# Many cases. scikit-learn 1.7 knows no names of polars and Arrow.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:X (does not have valid|has) feature names")]

RNG = np.random.default_rng(1)
Y = np.digitize(0.3 * NOISE + np.array([-3.0, 3.0, 0.0])[WHICH] + 0.3 * RNG.logistic(size=N), [-1.0, 1.5])
BACKWARDS = {kind: levels[::-1] for kind, levels in LEVELS.items()}
OF_PANDAS = [pandas_frame, nullable, arrow_backed]
OF_TEXT = [enum, categorical]
TABLES = [*OF_PANDAS, arrow, batch, *OF_TEXT]


def make():
    return make_cat(iterations=4, learning_rate=0.5)


def takes(kind, table):
    """Tell whether levels of a kind exist in such a table."""
    return kind == "text" or table not in OF_TEXT


def rows(table, kind, levels=None, values=None):
    levels = LEVELS[kind] if levels is None else levels
    values = [LEVELS[kind][which] for which in WHICH] if values is None else values
    return table(values, levels)


@cache
def fitted(kind, table):
    return make().fit(rows(table, kind), Y)


def reference(kind):
    return fitted(kind, pandas_frame).predict_proba(rows(pandas_frame, kind))


def strange(table, kind):
    """Return rows with all levels in another order, and one that no training had."""
    values = [LEVELS[kind][which] for which in WHICH[:-1]] + [NEW[kind]]
    return rows(table, kind, [NEW[kind], *BACKWARDS[kind]], values)


def loaded(model, tmp_path):
    model.save_model(tmp_path / "model.json")
    return type(model)().load_model(tmp_path / "model.json")


PAIRS = [
    pytest.param(kind, trained, given, id=f"{kind}-{trained.__name__}-{given.__name__}")
    for kind in LEVELS
    for trained in TABLES
    for given in TABLES
    if takes(kind, trained) and takes(kind, given)
    if trained is given or pandas_frame in (trained, given)
]
FEW = [pair for pair in PAIRS if pair.values[1] in (pandas_frame, arrow, categorical)]


@pytest.mark.parametrize(("kind", "trained", "given"), PAIRS)
def test_predictions(kind, trained, given):
    model, expected = fitted(kind, trained), reference(kind)
    np.testing.assert_allclose(model.predict_proba(rows(given, kind)), expected, atol=1e-6)
    reordered = rows(given, kind, BACKWARDS[kind])
    np.testing.assert_allclose(model.predict_proba(reordered), expected, atol=1e-6)
    np.testing.assert_allclose(list(model.staged_predict_proba(reordered))[-1], expected, atol=1e-6)
    unseen = strange(given, kind)
    found = model.predict_proba(unseen)  # the unknown level is missing
    np.testing.assert_allclose(found[:-1], expected[:-1], atol=1e-6)
    empty = pandas_frame([None], LEVELS[kind]).assign(a=NOISE[-1])
    np.testing.assert_allclose(found[-1:], model.predict_proba(empty), atol=1e-6)


@pytest.mark.parametrize(("kind", "trained", "given"), FEW)
def test_evaluation_sets(kind, trained, given):
    X, other = rows(trained, kind), rows(given, kind, BACKWARDS[kind])
    model = make().fit(X, Y, **watching(make(), other, Y))
    watched = next(result for name, result in model.evals_result_.items() if name.startswith("valid"))
    losses = watched["all_threshold"]
    np.testing.assert_allclose(losses[-1], model.training_loss_[-1], rtol=1e-5)  # these are the same rows
    np.testing.assert_allclose(model.predict_proba(X), reference(kind), atol=1e-6)


@pytest.mark.parametrize(("kind", "trained", "given"), FEW)
def test_continued_trainings(kind, trained, given, tmp_path):
    model = fitted(kind, trained)
    source = ("model", "booster", "file")[TABLES.index(given) % 3]
    start = model
    if source != "model":
        start = model.booster_
    if source == "file":
        model.save_model(tmp_path / "model.json")
        start = tmp_path / "model.json"

    def proba(X):
        further = make().fit(X, Y, init_model=start)
        assert further.n_iter_ == 8
        return further.predict_proba(rows(trained, kind))

    expected = proba(rows(trained, kind))
    other = rows(given, kind, BACKWARDS[kind])
    np.testing.assert_allclose(proba(other), expected, atol=1e-5)
    further = make().fit(strange(given, kind), Y, init_model=start)  # which goes on with new levels
    first = list(further.staged_predict_proba(rows(trained, kind)))[3]
    np.testing.assert_allclose(first, reference(kind), atol=1e-6)


@pytest.mark.parametrize(("kind", "trained", "given"), FEW)
def test_loaded_models(kind, trained, given, tmp_path):
    model, expected = loaded(fitted(kind, trained), tmp_path), reference(kind)
    np.testing.assert_allclose(model.predict_proba(rows(given, kind, BACKWARDS[kind])), expected, atol=1e-6)


# Levels of another type, by the levels of the training: equal values are the same level, others are refused.
RETYPED = {
    "floats": ([1, 2, 3], [1.0, 2.0, 3.0], True),
    "integers": ([1.0, 2.0, 3.0], [1, 2, 3], True),
    "float32": ([1, 2, 3], np.array([1, 2, 3], np.float32), True),
    "int8": ([1, 2, 3], np.array([1, 2, 3], np.int8), True),
    "nullable": ([1, 2, 3], pd.array([1, 2, 3], "Int64"), True),
    "of Arrow": ([1, 2, 3], pd.array([1, 2, 3], "int64[pyarrow]"), True),
    "booleans": ([0, 1, 2], [False, True, 2], True),
    "text": ([1, 2, 3], ["1", "2", "3"], False),
    "numbers": (["1", "2", "3"], [1, 2, 3], False),
    "fractions in float32": ([0.1, 0.7, 1 / 3], np.array([0.1, 0.7, 1 / 3], np.float32), True),
    "fractions in float64": (np.array([0.1, 0.7, 1 / 3], np.float32), [0.1, 0.7, 1 / 3], True),
}


def of_codes(levels, which=WHICH, order=(2, 0, 1)):
    index = pd.Index(levels)[list(order)] if not isinstance(levels, list) else pd.Index([levels[i] for i in order])
    return pd.DataFrame({"a": NOISE[: len(which)], "t": pd.Categorical.from_codes(np.argsort(order)[which], index)})


@each_pair({"retyped": RETYPED, "fewer": [False, True]})
def test_levels_of_another_type(retyped, fewer, tmp_path):
    known, given, same = RETYPED[retyped]
    X, other = of_codes(known), of_codes(given)
    here = np.flatnonzero(WHICH != 2) if fewer else np.arange(N)
    other = other.iloc[here]
    other = other.assign(t=other["t"].cat.remove_unused_categories())
    model = make().fit(X, Y)
    for one in (model, loaded(model, tmp_path)):
        if same:
            np.testing.assert_array_equal(one.predict_proba(other), model.predict_proba(X)[here])
            continue
        words = ("text", "numbers") if retyped == "text" else ("numbers", "text")
        with pytest.raises(
            ValueError, match="column 't' holds categories that are {}; .* training are {}".format(*words)
        ):
            one.predict(other)
    if same and not fewer:
        again, further = (make().fit(rows, Y, init_model=model).predict_proba(X) for rows in (X, other))
        np.testing.assert_array_equal(further, again)


def test_a_float_that_may_be_two_levels_is_refused():
    ids = [0.1, float(np.float32(0.1)), 5.0]
    model = make().fit(of_codes(ids), Y)
    rounded = pd.DataFrame({"a": NOISE, "t": pd.Categorical(np.array(ids, np.float32)[WHICH])})
    with pytest.raises(ValueError, match=r"column 't' holds 0\.1\d+ as float32, which may be any of"):
        model.predict(rounded)


def test_booleans_are_levels():
    X = of_codes([False, True], np.minimum(WHICH, 1), (1, 0))
    model = make().fit(X, Y)
    other = X.assign(t=X["t"].cat.reorder_categories([False, True]))
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(X))


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
                tables.levels_in(X, 0)


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
