"""Which order labels have, their codes, and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.exceptions import NotFittedError

from ordinal_objectives import (
    OrdinalLabels,
)
from ordinal_objectives.estimators.held_out import check_groups
from ordinal_objectives.estimators.labels import LabelOrderWarning, OrderedLabels
from ordinal_objectives.metrics import concordance
from ordinal_objectives.random_effects import as_groups

SIZES = ["small", "medium", "large"]


class FakeEnum:
    """Stands in for a polars data type; only its class name and its categories count."""

    categories = tuple(SIZES)


FakeEnum.__name__ = "Enum"


class FakeSeries:
    dtype = FakeEnum()

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)

    def __len__(self):
        return len(self.values)


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([3, 1, 2, 1], [1, 2, 3]),
        ([100, -5, 20], [-5, 20, 100]),
        ([10, 9, 100], [9, 10, 100]),
        ([2.0, 1.0, 5.0], [1.0, 2.0, 5.0]),
        ([True, False], [False, True]),
        (np.array([3, 1], dtype=np.uint8), [1, 3]),
        (np.array([3, 1], dtype=object), [1, 3]),
        (pd.Series([10, 2, 10]), [2, 10]),
        (pd.Series([10, 2, 10], dtype="Int64"), [2, 10]),
        (pd.Series([10, 2, 10], dtype="category"), [2, 10]),
        (pd.Categorical([10, 2, 10], categories=[10, 2, 7], ordered=True), [10, 2, 7]),
        (pd.Series(pd.Categorical(["large", "small"], categories=SIZES, ordered=True)), SIZES),
        (pd.CategoricalIndex(["large", "small"], categories=SIZES, ordered=True), SIZES),
        (FakeSeries(["large", "small"]), SIZES),
    ],
)
def test_order_without_a_word_from_the_user(y, expected):
    labels = OrderedLabels().fit(y)
    assert labels.ordered_classes_.tolist() == expected
    assert labels.decode(labels.encode(y)).tolist() == np.asarray(y).tolist()


@pytest.mark.parametrize(
    "y",
    [
        SIZES,
        np.array(SIZES, dtype=object),
        pd.Series(SIZES),
        pd.Series(SIZES, dtype="category"),
        np.array(SIZES, dtype=np.dtypes.StringDType()),
    ],
)
def test_strings_warn_with_the_order_assumed(y):
    with pytest.warns(LabelOrderWarning, match="assumed large < medium < small") as record:
        labels = OrderedLabels().fit(y)
    assert record[0].filename == __file__
    assert labels.ordered_classes_.tolist() == ["large", "medium", "small"]
    assert labels.encode(y).tolist() == [2, 1, 0]


@pytest.mark.parametrize("classes", [SIZES, tuple(SIZES), np.array(SIZES), pd.Index(SIZES), pd.Series(SIZES)])
def test_declared_classes_set_the_order(classes):
    labels = OrderedLabels(classes).fit(["large", "small"])
    assert labels.ordered_classes_.tolist() == SIZES
    codes = labels.encode(["large", "small", "medium"])
    assert codes.dtype == np.int32
    assert codes.tolist() == [2, 0, 1]
    assert labels.decode([0, 2]).tolist() == ["small", "large"]


def test_declared_classes_are_there_before_fit_and_are_the_callers_no_more():
    classes = np.array([1, 2, 3])
    labels = OrderedLabels(classes)
    assert labels.encode([2]).tolist() == [1]
    classes[0] = 9
    assert labels.ordered_classes_.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "classes",
    [
        SIZES,
        np.array(SIZES, dtype=object),
        np.array(SIZES, dtype=np.dtypes.StringDType()),
        [3, 1, 2],
        [2.5, -1.0, 0.0],
        [True, False],
        [b"no", b"a"],
    ],
    ids=repr,
)
def test_sorted_classes_are_those_of_numpy_unique(classes):
    labels = OrderedLabels(classes)
    assert labels.classes_.tolist() == np.unique(classes).tolist()
    assert labels.classes_.dtype == labels.ordered_classes_.dtype
    assert labels.ordered_classes_[labels.sorted_codes_].tolist() == labels.classes_.tolist()
    proba = np.random.default_rng(0).random((2, len(classes)))
    columns = dict(zip(labels.classes_.tolist(), labels.sort_columns(proba).T, strict=True))
    for label, expected in zip(labels.ordered_classes_.tolist(), proba.T, strict=True):
        np.testing.assert_array_equal(columns[label], expected)


def test_classes_that_are_sorted_already_are_left_alone():
    labels = OrderedLabels().fit([2, 1, 3])
    proba = np.ones((2, 3))
    assert labels.sorted_codes_ is None
    assert labels.classes_ is labels.ordered_classes_
    assert labels.sort_columns(proba) is proba


def test_labels_that_look_encoded_are_explained():
    message = r"got 2, 0, 1\. These look like codes. A tool that encodes labels before fit .* give it codes 0\.\.2, "
    with pytest.raises(ValueError, match=message):
        OrderedLabels(SIZES).fit([2, 0, 1])
    with pytest.raises(ValueError, match=r"got 3\. Pass classes= with all classes"):
        OrderedLabels([0, 1, 2]).fit([0, 3])


def test_labels_keep_their_type():
    assert OrderedLabels().fit(np.array([1, 2], dtype=np.int16)).decode([0]).dtype == np.int16
    assert OrderedLabels(SIZES).decode([0]).dtype.kind == "U"
    assert OrderedLabels().fit([True, False]).decode([0]).dtype == np.bool_


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 1, 1], "y must"),
        (["a", "a"], "y must"),
        ([], "y must"),
        (3, "y must"),
        ([1.0, np.nan], "y contains"),
        ([1.0, np.inf], "y contains"),
        (np.array([1, None], dtype=object), "y contains"),
        (np.array(["a", np.nan], dtype=object), "y contains"),
        (pd.Series([1, pd.NA], dtype="Int64"), "y contains"),
        (pd.Series(["a", None]), "y contains"),
        (pd.Series(["a", None], dtype="category"), "y contains"),
        (pd.Categorical(["large", None], categories=SIZES, ordered=True), "y contains"),
        ([0.5, 1.5], r"Unknown label type: continuous. y holds 0.5"),
        (np.array([1.5, 2], dtype=object), r"Unknown label type: continuous. y holds 1.5"),
        (np.array(["a", 1], dtype=object), "Unknown label type: mixed. y holds labels of types int, str"),
        (np.array([1j, 2j]), "Complex data not supported"),
        (np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"), "Unknown label type: datetime64"),
        ([[1, 2], [2, 1]], "y must"),
        (["a", np.nan, "b"], "y contains"),
        ((np.array(np.nan), np.array("a"), "b"), "y contains"),
        (["b", None, b"a"], "Unknown label type: mixed. y must hold values of one type"),
        (pd.Categorical(["a", "a"], categories=["a"], ordered=True), "at least two classes; got only the class 'a'"),
    ],
)
def test_bad_labels_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        OrderedLabels().fit(y)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["a"], "classes"),
        ([], "classes"),
        (["a", "b", "a", "c", "b"], "classes"),
        ([1, 1.0], "classes"),
        ([1.0, np.nan], "classes"),
        ("abc", "classes"),
        ({"a", "b"}, "classes"),
        (np.array(["a", 1], dtype=object), "classes"),
    ],
)
def test_bad_classes_are_refused(classes, message):
    with pytest.raises(ValueError, match=message):
        OrderedLabels(classes)


@pytest.mark.parametrize("method", ["fit", "encode"])
def test_labels_outside_the_declared_classes_are_printed(method):
    labels = OrderedLabels(["low", "high"])
    message = r"y holds labels outside the classes \['low', 'high'\]; got 'medium', 'huge'"
    with pytest.raises(ValueError, match=message):
        getattr(labels, method)(["low", "medium", "huge", "medium", "high"])
    with pytest.raises(ValueError, match=r"got 2, 3, 4, 5, 6, \.\.\."):
        OrderedLabels([0, 1]).encode(range(9))
    with pytest.raises(ValueError, match=r"outside the classes \[1, 2\]; got '1', '2'"):
        OrderedLabels([1, 2]).fit(["1", "2"])


def test_one_observed_class_of_the_declared_ones_is_refused_for_training_alone():
    labels = OrderedLabels(SIZES)
    with pytest.raises(ValueError, match="at least two classes; got only the class 'medium'"):
        labels.fit(["medium", "medium"])
    assert labels.encode(["medium", "medium"]).tolist() == [1, 1]


def test_without_classes_nothing_is_encoded():
    with pytest.raises(NotFittedError, match="pass classes= or call fit first"):
        OrderedLabels().encode([1])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_an_enum_in_a_polars_frame_keeps_its_order():
    frame = pl.DataFrame({"size": pl.Series(["large", "small"], dtype=pl.Enum(SIZES))})
    assert OrderedLabels().fit(frame).ordered_classes_.tolist() == SIZES


def test_masked_labels_are_missing():
    with pytest.raises(ValueError, match=r"y contains missing labels \(masked\)"):
        OrderedLabels().fit(np.ma.masked_equal([1, 2, 3], 2))
    assert OrderedLabels().fit(np.ma.masked_equal([1, 2, 3], 9)).ordered_classes_.tolist() == [1, 2, 3]
    hidden = np.ma.masked_equal([1, 2, 3], 2)
    asked = {
        "groups": lambda: check_groups(hidden, 3),
        "upper": lambda: OrdinalLabels.from_intervals([1, 1, 1], hidden),
        "rater": lambda: OrdinalLabels.from_raters([0, 1, 2], hidden, [1, 2, 3], n_rows=3),
        "random_intercept": lambda: as_groups(hidden),
        "score": lambda: concordance([0, 1, 0], hidden),
    }
    for name, ask in asked.items():
        with pytest.raises(ValueError, match=f"{name} is a masked array"):
            ask()


@pytest.mark.parametrize("y", [[2**63 + 1, 2**63, -1], np.array([2**63 + 1, 2**63, -1], dtype=object), [1e300, 1.0]])
def test_floats_that_merge_integers_are_no_labels(y):
    with pytest.raises(ValueError, match=r"y holds numbers beyond 2\*\*53"):
        OrderedLabels().fit(y)
    assert OrderedLabels().fit(np.array([2, 1], dtype=np.float16)).ordered_classes_.tolist() == [1.0, 2.0]
    assert OrderedLabels().fit([2**62 + 1, 2**62]).ordered_classes_.tolist() == [2**62, 2**62 + 1]


_TEXTS = st.lists(st.sampled_from([f"label {i}" * (1 + i % 3) for i in range(12)]), min_size=1, max_size=60)
_WHOLE = st.lists(st.sampled_from([-3, 0, 1, 2, 7, 2**40]), min_size=1, max_size=60)


def _containers(labels):
    """Every kind of array that may hold the labels."""
    yield from (labels, np.array(labels), np.array(labels, dtype=object))
    yield from (pd.Series(labels), pd.Series(labels, dtype="category"), pd.Categorical(labels), pd.Index(labels))
    yield from (
        pd.Series(labels, dtype=object),
        pl.Series(labels),
        pa.chunked_array([labels]),
        pd.DataFrame({"y": labels}),
    )
    if isinstance(labels[0], str):
        yield from (
            pd.Series(labels, dtype="string"),
            np.array(labels).astype("S"),
            pl.Series(labels, dtype=pl.Categorical),
            np.array(labels, dtype=np.dtypes.StringDType()),
        )
    else:
        yield from (np.array(labels, dtype=float), np.array(labels, dtype=np.float32), pd.Series(labels, dtype="Int64"))


@pytest.mark.slow
@settings(max_examples=40)
@given(labels=_TEXTS | _WHOLE, left_out=st.sets(st.integers(0, 11)))
def test_codes_are_those_of_a_loop_over_the_rows(labels, left_out):
    for y in _containers(labels):
        values = np.asarray(y).ravel().tolist()
        classes = sorted(set(values))
        known = [label for i, label in enumerate(classes) if i not in left_out] + [values[0] * 2 + type(values[0])(1)]
        known = list(dict.fromkeys(known))[::-1]
        unknown = list(dict.fromkeys(label for label in values if label not in known))
        if len(known) < 2:
            continue
        encoder = OrderedLabels(np.array(known))
        if unknown:
            with pytest.raises(ValueError, match="outside the classes") as refused:
                encoder.encode(y)
            assert f"; got {', '.join(map(repr, unknown[:5]))}" in str(refused.value)
        else:
            codes = encoder.encode(y)
            assert codes.dtype == np.int32
            assert codes.tolist() == [known.index(label) for label in values]
        if len(classes) > 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the order of strings is assumed, a frame is made flat
                assert OrderedLabels().fit(y).ordered_classes_.tolist() == classes
