"""Columns: every kind of table as the same numbers, at every entry."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xgboost
from scipy.sparse import csr_matrix

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
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.adapters import xgb as oxgb
from ordinal_objectives.columns import Columns

# scikit-learn 1.7 knows no names of polars.
pytestmark = pytest.mark.filterwarnings("ignore:X (does not have valid|has) feature names")

RNG = np.random.default_rng(1)
Y = np.digitize(np.array([-3.0, 3.0, 0.0])[WHICH] + RNG.logistic(size=N), [-1.0, 1.5])


def lazy(values, levels):
    return categorical(values, levels).lazy()


TABLES = [
    *((kind, table) for kind in LEVELS for table in (pandas_frame, nullable, arrow_backed, arrow, batch)),
    *(("text", table) for table in (enum, categorical, lazy)),
]
every_table = pytest.mark.parametrize(("kind", "table"), TABLES)


def values_of(kind):
    return [LEVELS[kind][which] for which in WHICH]


@every_table
def test_every_table_has_the_same_codes(kind, table):
    values, levels = values_of(kind), LEVELS[kind]
    columns = Columns.learn(pandas_frame(values, levels), declared=True)
    assert columns.levels == {1: levels}
    expected = np.column_stack([NOISE, WHICH])
    np.testing.assert_array_equal(columns.encode(table(values, levels[::-1])), expected)
    some = [*values[:5], None, NEW[kind]]
    found = columns.encode(table(some, [NEW[kind], *levels]))
    np.testing.assert_array_equal(found[:, 1], [*WHICH[:5], np.nan, np.nan])
    with pytest.raises(ValueError, match=f"X must have .* column 't', .*; got {NEW[kind]}$"):
        columns.encode(table(some, [NEW[kind], *levels]), refuse_new=True)


@every_table
def test_every_table_says_the_same_levels(kind, table):
    values, levels = values_of(kind), LEVELS[kind]
    given = table(values, levels)
    given = given.collect() if hasattr(given, "collect") else given
    found = Columns.learn(given)
    assert found.levels == {1: sorted(levels)}
    assert found.names == ["a", "t"]
    declared = Columns.learn(given, declared=True)
    assert declared.levels[1] == (list(dict.fromkeys(values)) if table is categorical or table is lazy else levels)


# Equal values are the same level, whatever their type; text is none of numbers.
RETYPED = {
    "floats": ([1, 2, 3], [1.0, 2.0, 3.0]),
    "integers": ([1.0, 2.0, 3.0], [1, 2, 3]),
    "float32": ([1, 2, 3], np.array([1, 2, 3], np.float32)),
    "nullable": ([1, 2, 3], pd.array([1, 2, 3], "Int64")),
    "of Arrow": ([1, 2, 3], pd.array([1, 2, 3], "int64[pyarrow]")),
    "booleans": ([0, 1, 2], [False, True, 2]),
    "fractions in float32": ([0.1, 0.7, 1 / 3], np.array([0.1, 0.7, 1 / 3], np.float32)),
    "fractions in float64": (np.array([0.1, 0.7, 1 / 3], np.float32), [0.1, 0.7, 1 / 3]),
}


def of_levels(levels, order=(0, 1, 2)):
    index = pd.Index(levels)[list(order)]
    return pd.DataFrame({"t": pd.Categorical.from_codes(np.argsort(order)[WHICH], index)})


@pytest.mark.parametrize("retyped", RETYPED)
def test_levels_are_matched_by_value(retyped):
    known, given = RETYPED[retyped]
    columns = Columns.learn(of_levels(known), declared=True)
    np.testing.assert_array_equal(columns.encode(of_levels(given, (2, 0, 1)))[:, 0], WHICH)


@pytest.mark.parametrize(("known", "given"), [([1, 2, 3], ["1", "2", "3"]), (["1", "2", "3"], [1, 2, 3])])
def test_text_is_no_number(known, given):
    with pytest.raises(ValueError, match="column 't'"):
        Columns.learn(of_levels(known)).encode(of_levels(given))


def test_a_float_that_may_be_two_levels_is_refused():
    levels = [0.1, float(np.float32(0.1)), 5.0]
    with pytest.raises(ValueError, match="column 't'"):
        Columns.learn(of_levels(levels)).encode(of_levels(np.array([0.1, 0.3, 5.0], np.float32)))


@pytest.mark.parametrize("bad", [b"a", [1, 2], {"u": 1}])
def test_what_is_no_level_is_refused(bad):
    objects = np.array([None] * 4, dtype=object)[:, np.newaxis]
    objects[0, 0] = bad
    for X, column in ((objects, "column 0"), (pd.DataFrame({"g": objects[:, 0]}), "column 'g'")):
        with pytest.raises(ValueError, match=column):
            Columns.learn(X, [0])


def test_other_columns_are_refused():
    columns = Columns.learn(pandas_frame(values_of("text"), LEVELS["text"]))
    X = pandas_frame(values_of("text"), LEVELS["text"])
    for other in (X[["t", "a"]], X.rename(columns={"a": "b"}), X.assign(c=0), X.assign(a=X["t"])):
        with pytest.raises(ValueError, match="X"):
            columns.encode(other)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_an_array_of_the_right_kind_is_not_copied(kind):
    array = RNG.normal(size=(6, 3)).astype(kind)
    assert Columns(3).encode(array) is array
    sparse = csr_matrix(array)
    assert np.shares_memory(Columns(3).encode(sparse).data, sparse.data)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_frame_of_one_kind_of_numbers_keeps_it(kind):
    frame = pandas_frame(values_of("text"), LEVELS["text"]).astype({"a": kind})
    assert Columns.learn(frame).encode(frame).dtype == kind


def test_a_sparse_matrix_stores_codes():
    X = csr_matrix(([7.0, 3.0, 5.0, 2.0], ([0, 1, 2, 2], [1, 1, 1, 0])), shape=(4, 2))
    columns = Columns.learn(X, [1], missing=2.0)
    assert columns.levels == {1: [3, 5, 7]}
    found = columns.encode(X)
    np.testing.assert_array_equal(found[:, [1]].data, [2.0, 0.0, 1.0])
    assert np.isnan(found[2, 0])  # the mark of a missing number
    np.testing.assert_array_equal(np.sort(X.data), [2.0, 3.0, 5.0, 7.0])  # the caller's stay


def test_entries_of_one_place_in_a_sparse_matrix_are_summed():
    twice = csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    np.testing.assert_array_equal(Columns(2).encode(twice).data, [3.0, 4.0])
    assert twice.nnz == 3


class Tensor:
    """What a tensor of another library is to an estimator: a shape, and the protocol of arrays."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, "tensor.float32"

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)

    def __len__(self):
        return len(self.values)


MAKERS = {
    "xgboost": lambda **more: XGBOrdinalClassifier(n_estimators=3, random_state=0, n_jobs=1, **more),
    "lightgbm": lambda **more: LGBMOrdinalClassifier(n_estimators=3, random_state=0, n_jobs=1, **more),
    "engine": lambda **more: HistGradientBoostingOrdinalClassifier(max_iter=3, random_state=0, n_jobs=1, **more),
    "catboost": lambda **more: make_cat(iterations=3, **more),
}
every_trainer = pytest.mark.parametrize("trainer", MAKERS)


@every_trainer
def test_tensors_are_arrays(trainer):
    X = np.column_stack([NOISE, WHICH]).astype(np.float32)
    expected = MAKERS[trainer]().fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(MAKERS[trainer]().fit(Tensor(X), Y).predict_proba(Tensor(X)), expected)


@every_trainer
@every_table
def test_training_and_files_know_levels_of_every_table(trainer, kind, table, tmp_path):
    values, levels = values_of(kind), LEVELS[kind]
    reference = pandas_frame(values, levels)
    expected = MAKERS[trainer]().fit(reference, Y).predict_proba(reference)
    model = MAKERS[trainer]()
    model.fit(table(values, levels), Y, **watching(model, table(values, levels[::-1]), Y))
    expected = model.predict_proba(reference) if trainer == "engine" else expected
    model.save_model(tmp_path / "model.json")
    for one in (model, type(model)().load_model(tmp_path / "model.json")):
        np.testing.assert_allclose(one.predict_proba(table(values, levels[::-1])), expected, atol=1e-7)
        unseen = table([*values[:3], NEW[kind]], [NEW[kind], *levels])
        missing = pandas_frame([*values[:3], None], levels)
        np.testing.assert_array_equal(one.predict_proba(unseen), one.predict_proba(missing))


@pytest.mark.parametrize(
    ("trainer", "argument"), [("xgboost", "xgb_model"), ("lightgbm", "init_model"), ("catboost", "init_model")]
)
@pytest.mark.parametrize("source", ["model", "booster", "file"])
def test_a_training_that_goes_on_keeps_the_levels(trainer, argument, source, tmp_path):
    values, levels = values_of("text"), LEVELS["text"]
    first = MAKERS[trainer]().fit(pandas_frame(values, levels), Y)
    first.save_model(tmp_path / "model.json")
    earlier = {"model": first, "booster": first.booster_, "file": tmp_path / "model.json"}[source]
    expected = MAKERS[trainer]().fit(pandas_frame(values, levels), Y, **{argument: first})
    further = MAKERS[trainer]().fit(arrow(values, levels[::-1]), Y, **{argument: earlier})
    assert further.columns_.levels == first.columns_.levels
    X = pandas_frame(values, levels)
    np.testing.assert_allclose(further.predict_proba(X), expected.predict_proba(X), atol=1e-7)
    with pytest.raises(ValueError, match=r"column 't', .*; got aaa$"):
        MAKERS[trainer]().fit(arrow([*values[1:], "aaa"], [*levels, "aaa"]), Y, **{argument: earlier})


def test_boosters_predict_what_is_encoded():
    X = pandas_frame(values_of("text"), LEVELS["text"])
    by_lightgbm = MAKERS["lightgbm"](proportional=True).fit(X, Y)
    codes = by_lightgbm.columns_.encode(X)
    np.testing.assert_array_equal(by_lightgbm.booster_.predict(codes, raw_score=True), by_lightgbm.predict_raw(X))
    by_xgboost = MAKERS["xgboost"](proportional=True).fit(X, Y)
    raw = by_xgboost.booster_.inplace_predict(
        by_xgboost.columns_.encode(X), predict_type="margin", validate_features=False
    )
    np.testing.assert_array_equal(raw, by_xgboost.predict_raw(X))


@pytest.mark.parametrize("table", [pandas_frame, arrow, enum])
@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_bare_boosters_of_xgboost_know_their_levels(booster, table, tmp_path):
    values, levels = values_of("text"), LEVELS["text"]
    X = pandas_frame(values, levels)
    data = xgboost.DMatrix(X, Y, enable_categorical=True, nthread=1)
    bare = oxgb.train({"nthread": 1, "booster": booster}, data, 3, threshold_update="newton")
    bare.save_model(tmp_path / "bare.json")
    model = XGBOrdinalClassifier().load_model(tmp_path / "bare.json")
    np.testing.assert_allclose(
        model.predict_proba(table(values, levels[::-1])), oxgb.predict_proba(bare, data), atol=1e-6
    )
    if booster == "gbtree":
        further = MAKERS["xgboost"](proportional=True, threshold_update="newton")
        assert further.fit(table(values, levels[::-1]), Y, xgb_model=bare).n_iter_ == 6


@pytest.mark.parametrize("as_table", [np.asarray, pd.DataFrame, csr_matrix], ids=["array", "frame", "sparse"])
def test_codes_that_feature_types_declares(as_table, tmp_path):
    X = np.column_stack([NOISE, WHICH + 1.0])
    new, missing = X.copy(), X.copy()
    new[0, 1], missing[0, 1] = 7, np.nan
    model = MAKERS["xgboost"](feature_types=["q", "c"]).fit(as_table(X), Y)
    further = MAKERS["xgboost"](feature_types=["q", "c"]).fit(as_table(X), Y, xgb_model=model)
    model.save_model(tmp_path / "model.json")
    for one in (model, further, XGBOrdinalClassifier().load_model(tmp_path / "model.json")):
        assert one.columns_.levels == {1: [1, 2, 3]}
        found, expected = (one.predict_proba(as_table(rows)) for rows in (new, missing))
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="got 7"):
        MAKERS["xgboost"](feature_types=["q", "c"]).fit(as_table(new), Y, xgb_model=model)


@every_trainer
def test_an_ordered_category_of_pandas_stays_what_its_library_takes_it_for(trainer):
    X = pandas_frame(values_of("text"), LEVELS["text"]).assign(
        t=lambda frame: frame["t"].cat.set_categories(["low", "mid", "up"], ordered=True)
    )
    assert MAKERS[trainer]().fit(X, Y).is_categorical_.tolist() == [False, trainer != "lightgbm"]


@every_trainer
def test_arrays_are_matched_by_value(trainer):
    X = pandas_frame(values_of("numbers"), LEVELS["numbers"])
    model = MAKERS[trainer]().fit(X, Y)
    array = np.column_stack([NOISE, X["t"].astype(float)])
    np.testing.assert_array_equal(model.predict_proba(array), model.predict_proba(X))
    of_text = MAKERS[trainer]().fit(pandas_frame(values_of("text"), LEVELS["text"]), Y)
    with pytest.raises(ValueError, match="column 1"):
        of_text.predict(array)


@pytest.mark.parametrize("levels", [{2: ["a"]}, {0: ["a", "a"]}])
def test_damaged_levels_are_refused(levels):
    with pytest.raises(ValueError, match="categories of"):
        Columns(2, levels).check()


@pytest.mark.parametrize("missing", [None, -9.0])
def test_a_training_goes_on_with_the_number_that_means_missing(missing, tmp_path):
    X = NOISE[:, np.newaxis]
    MAKERS["xgboost"](missing=missing).fit(X, Y).save_model(tmp_path / "model.json")
    further = MAKERS["xgboost"](missing=missing).fit(X, Y, xgb_model=tmp_path / "model.json")
    assert further.n_iter_ == 2 * MAKERS["xgboost"]().n_estimators
    with pytest.raises(ValueError, match=r"xgb_model was trained with missing=.*; got missing=0\.0"):
        MAKERS["xgboost"](missing=0.0).fit(X, Y, xgb_model=tmp_path / "model.json")
