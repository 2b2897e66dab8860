"""Class labels in model files."""

from __future__ import annotations

import pytest

from ordinal_objectives.utils.files import labels_from_json, labels_to_json


@pytest.mark.parametrize("labels", [["z" * 100_000, "a"], [f"{i:06d}" for i in range(100_000)]])
def test_long_labels_and_many_labels_are_read(labels):
    read = labels_from_json(labels, "<U1")
    assert read.tolist() == labels
    assert labels_to_json(read)[0] == labels
