"""What is wrong with labels is said in words that name the argument."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from ordinal_objectives.estimators.labels import OrderedLabels


@pytest.mark.parametrize(
    ("classes", "y", "words"),
    [
        (["0", "1", "2"], [0, 1, 2], "They are of type int, and the classes of type str: give both one type"),
        ([0, 1, 2], ["0", "1"], "They are of type str, and the classes of type int: give both one type"),
        (["a", "b", "c"], [0, 1, 2], "These look like codes"),
        (None, [Decimal("sNaN"), Decimal(1)], "y must hold labels that can be told apart"),
        (None, [{}, {"a": 1}], "y must hold labels that can be told apart"),
    ],
    ids=str,
)
def test_what_is_wrong_with_labels_is_said(classes, y, words):
    if not isinstance(y[0], int | str):
        y = np.array(y, dtype=object)
    with pytest.raises(ValueError, match=words):
        OrderedLabels(classes).fit(y)


def test_text_that_numpy_cuts_is_refused():
    with pytest.raises(ValueError, match="classes must not hold text that ends in NUL"):
        OrderedLabels(["a", "a\0", "b"])


def test_lists_of_different_lengths_are_named():
    with pytest.raises(ValueError, match=r"y must be one-dimensional: .*inhomogeneous"):
        OrderedLabels(None).fit([[0], [1], [0, 1]])
