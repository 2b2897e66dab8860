"""JSON of dataclasses: what is written is read again, and what a file holds instead is named by its path."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import pytest

from ordinal_objectives.aliases import FloatArray, IntArray, NDArray
from ordinal_objectives.utils.json_of import NOT_IN_FILES, Plain, Within, decoded, encoded, parsed


@dataclass
class Inner:
    place: Annotated[int, Within(0, 9)]
    values: FloatArray


@dataclass
class Outer:
    inner: Inner
    others: list[Inner]
    name: str | None
    flag: bool
    rate: float
    share: Annotated[float, Within(0)]
    levels: dict[int, list[Plain]]
    counts: dict[str, int]
    pair: tuple[int, FloatArray, float]
    pairs: tuple[tuple[str, int], ...]
    codes: IntArray
    vectors: NDArray[np.float32]
    anything: dict[str, Any]
    own: object = field(default=None, metadata=NOT_IN_FILES)


def content(**changes):
    inner = Inner(3, np.array([0.1, -2.0]))
    whole = Outer(
        inner, [inner], None, True, np.nan, 0.5, {4: ["a", 1, 1.0, True]}, {"n": 2}, (1, np.zeros(2), -np.inf),
        (("a", 1),), np.array([1, 2], np.int32), np.ones((2, 0), np.float32), {"x": [None]},
    )  # fmt: skip
    return json.loads(json.dumps(encoded(whole), allow_nan=False)) | changes


def test_what_is_written_is_read_again():
    again = decoded(Outer, content(vectors=encoded(np.float32([[0.1, 0.2]]))), own=3)
    assert again.inner.values.tolist() == [0.1, -2.0]
    assert again.others[0].place == 3
    assert np.isnan(again.rate)
    assert again.levels == {4: ["a", 1, 1.0, True]}
    assert list(map(type, again.levels[4])) == [str, int, float, bool]
    assert again.pair[2] == -np.inf
    assert again.pairs == (("a", 1),)
    assert (again.codes.dtype, again.vectors.dtype) == (np.int32, np.float32)
    np.testing.assert_array_equal(again.vectors, np.float32([[0.1, 0.2]]))
    assert again.own == 3


def test_arrays_that_are_partly_infinite_have_no_number_that_json_lacks():
    assert encoded(np.array([1.0, np.inf, np.nan])) == [1.0, "inf", None]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"inner": {"place": 10, "values": []}}, "inner.place"),
        ({"inner": {"place": 1.0, "values": []}}, "inner.place"),
        ({"inner": {"place": True, "values": []}}, "inner.place"),
        ({"inner": {"place": 1, "values": ["x"]}}, "inner.values"),
        ({"inner": {"place": 1, "values": [None]}}, "inner.values"),
        ({"inner": {"place": 1, "values": 1.0}}, "inner.values"),
        ({"inner": {"place": 1}}, "inner .*values"),
        ({"inner": {"place": 1, "values": [], "more": 1}}, "inner .*more"),
        ({"others": [[]]}, r"others\[0\]"),
        ({"name": 1}, "name"),
        ({"flag": 1}, "flag"),
        ({"rate": "x"}, "rate"),
        ({"share": -1.0}, "share"),
        ({"share": None}, "share"),
        ({"levels": {"x": []}}, "levels"),
        ({"levels": {"01": []}}, "levels"),
        ({"levels": {"1": [None]}}, r"levels.1\[0\]"),
        ({"counts": {"n": 1.5}}, "counts.n"),
        ({"pair": [1, []]}, "pair"),
        ({"pairs": [["a", "b"]]}, r"pairs\[0\]\[1\]"),
        ({"codes": [0.5]}, "codes"),
        ({"vectors": [1.0]}, "vectors"),
        ({"vectors": {"shape": [1], "float32": ""}}, "vectors"),
        ({"vectors": {"shape": [-1], "float32": ""}}, r"vectors.shape\[0\]"),
        ({"vectors": {"shape": [1], "float32": "AADAfw=="}}, "vectors must be finite"),
        ({"vectors": {"shape": [1], "float32": "AAAAAAAAAAA="}}, "vectors must be of shape"),
        ({"anything": []}, "anything"),
    ],
)
def test_other_content_is_named_by_its_path(changes, path):
    with pytest.raises(ValueError, match=f"^{path}"):
        decoded(Outer, content(**changes))


@pytest.mark.parametrize("text", ["[]", "1", '{"a": NaN}', '{"a": -Infinity}', "{"])
def test_texts_that_are_no_object_of_json(text):
    with pytest.raises(ValueError):  # noqa: PT011
        parsed(text)
