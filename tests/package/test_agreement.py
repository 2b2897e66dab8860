"""Agreement of raters."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ordinal_objectives.agreement import kappa_of_raters, krippendorff_alpha
from ordinal_objectives.metrics import linear_weighted_kappa

# Krippendorff's own example, "Computing Krippendorff's Alpha-Reliability" (2011), part C: four observers, twelve units.
_N = None
UNITS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _N, _N, _N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _N, 3],
    [_N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _N],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _N],
]
ANSWERS = [(row, rater, label) for rater, row_of in enumerate(UNITS) for row, label in enumerate(row_of) if label]


def test_alpha_is_that_of_the_published_example():
    assert krippendorff_alpha(*zip(*ANSWERS, strict=True)) == pytest.approx(0.815, abs=5e-4)


def test_alpha_of_equal_and_of_random_answers():
    row, rater = np.repeat(np.arange(2000), 2), np.tile([0, 1], 2000)
    label = np.random.default_rng(0).integers(0, 4, 4000)
    assert abs(krippendorff_alpha(row, rater, label)) < 0.05
    assert krippendorff_alpha(row, rater, np.repeat(label[:2000], 2)) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="no row has two raters"):
        krippendorff_alpha([0, 1], [0, 1], [0, 1])


def test_kappa_is_that_of_the_rows_of_both():
    raters, kappa = kappa_of_raters(*zip(*ANSWERS, strict=True), weights="linear")
    both = [(a, b) for a, b in zip(UNITS[0], UNITS[2], strict=True) if a and b]
    expected = linear_weighted_kappa(*zip(*both, strict=True), labels=[1, 2, 3, 4, 5])
    assert (raters.tolist(), kappa[0, 2]) == ([0, 1, 2, 3], pytest.approx(expected))
    np.testing.assert_array_equal(kappa, kappa.T)
    _, apart = kappa_of_raters([0, 1], ["a", "b"], [0, 1])
    assert np.isnan(apart[0, 1])


def test_rows_may_have_any_names():
    row, rater, label = zip(*ANSWERS, strict=True)
    named = [f"unit {'abcdefghijkl'[::-1][i]}" for i in row]
    assert krippendorff_alpha(named, rater, label) == pytest.approx(krippendorff_alpha(row, rater, label), abs=1e-12)
    np.testing.assert_allclose(kappa_of_raters(named, rater, label)[1], kappa_of_raters(row, rater, label)[1])


@pytest.mark.parametrize("classes", [None, [1, 2, 3]])
def test_answers_that_are_all_the_same_have_no_agreement(classes):
    answers = [0, 0, 1, 1], ["Ann", "Bob"] * 2, [3] * 4
    assert np.isnan(krippendorff_alpha(*answers, classes=classes))
    raters, kappa = kappa_of_raters(*answers, classes=classes)
    np.testing.assert_array_equal(kappa, [[1, np.nan], [np.nan, 1]])
    assert raters.tolist() == ["Ann", "Bob"]


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_missing_answer_is_left_out(missing):
    row, rater, label = (list(given) for given in zip(*ANSWERS, strict=True))
    expected = krippendorff_alpha(row, rater, label), kappa_of_raters(row, rater, label)[1]
    row, rater, label = [*row, 0, 11], [*rater, 2, 0], [*label, missing, missing]
    assert krippendorff_alpha(row, rater, label) == expected[0]
    np.testing.assert_array_equal(kappa_of_raters(row, rater, label)[1], expected[1])


def test_messages_name_the_label():
    with pytest.raises(ValueError, match="label holds labels outside the classes"):
        krippendorff_alpha([0, 0], ["Ann", "Bob"], [1, 5], classes=[1, 2])
    with pytest.raises(ValueError, match="label must have shape"):
        krippendorff_alpha([0, 0], ["Ann", "Bob"], [[1, 2], [2, 1]])
