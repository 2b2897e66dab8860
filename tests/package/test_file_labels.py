"""Class labels in model files: what a file holds bounds what reading it takes."""

from __future__ import annotations

import tracemalloc

import pytest

from ordinal_objectives.utils.files import labels_from_json, labels_to_json


@pytest.mark.parametrize("dtype", ["<U5", "<U20000", "U1"])
def test_one_long_label_among_many_is_refused_before_memory_is_taken(dtype):
    labels = [f"{i:05d}" for i in range(20_000)] + ["z" * 20_000]
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="20001 class labels of which one has 20000 characters"):
            labels_from_json(labels, dtype)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("labels", [["z" * 100_000, "a"], [f"{i:06d}" for i in range(100_000)]])
def test_long_labels_and_many_labels_are_read(labels):
    read = labels_from_json(labels, "<U1")
    assert read.tolist() == labels
    assert labels_to_json(read)[0] == labels
