"""Agreement of raters."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t as student

from ordinal_objectives.agreement import agreement_report, kappa_ceiling, kappa_of_raters, krippendorff_alpha
from ordinal_objectives.metrics import linear_weighted_kappa, quadratic_weighted_kappa

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


def simulated(n_rows, rng, n_raters=3, noise=0.8):
    """Return row, rater and label of raters of whom each answers seven tenths of the rows."""
    label = np.digitize(rng.normal(size=n_rows) + noise * rng.normal(size=(n_raters, n_rows)), [-1.5, -0.5, 0.5, 1.5])
    rater, row = np.nonzero(rng.random((n_raters, n_rows)) < 0.7)
    return row, rater, label[rater, row]


def alpha_by_pairs(row, label):
    """Return alpha from the table of coincidences, as the book has it; rows of one answer are left out."""
    table = np.zeros((5, 5))
    for one in np.unique(row):
        given = label[row == one]
        for i, j in itertools.permutations(range(len(given)), 2):
            table[given[i], given[j]] += 1 / (len(given) - 1)
    n = table.sum(axis=1)
    distance = np.zeros((5, 5))
    for c, k in itertools.combinations(range(5), 2):
        distance[c, k] = distance[k, c] = (n[c : k + 1].sum() - (n[c] + n[k]) / 2) ** 2
    return 1 - (n.sum() - 1) * (table * distance).sum() / (np.outer(n, n) * distance).sum()


def ends_of(values, n_rows):
    """Return the ends of the expanded percentile interval of level 0.95."""
    outer = norm.cdf(student.ppf(0.975, n_rows - 1) * np.sqrt(n_rows / (n_rows - 1)))
    return np.quantile(values, [1 - outer, outer])


def test_alpha_and_its_interval_are_those_of_a_bootstrap_of_rows():
    row, rater, label = simulated(60, np.random.default_rng(0))
    found = agreement_report(row, rater, label, classes=range(5), n_draws=50, random_state=3)
    assert found.alpha.value == pytest.approx(alpha_by_pairs(row, label), abs=1e-12)
    rows, random = np.flatnonzero(np.bincount(row) > 1), np.random.RandomState(3)
    values = []
    for drawn in random.randint(len(rows), size=(50, len(rows))):
        parts = [np.flatnonzero(row == one) for one in rows[drawn]]
        number = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        values.append(alpha_by_pairs(number, label[np.concatenate(parts)]))
    np.testing.assert_allclose(found.alpha[1:], ends_of(values, len(rows)), atol=1e-12)
    assert found.n_rows == len(rows)


@pytest.mark.parametrize(
    ("weights", "kappa"), [("linear", linear_weighted_kappa), ("quadratic", quadratic_weighted_kappa)]
)
def test_each_pair_has_the_interval_of_its_kappa(weights, kappa):
    row, rater, label = simulated(80, np.random.default_rng(1))
    found = agreement_report(row, rater, label, weights=weights, n_draws=40)
    _, matrix = kappa_of_raters(row, rater, label, weights=weights)
    answers = {who: dict(zip(row[rater == who], label[rater == who], strict=True)) for who in range(3)}
    rows = np.flatnonzero(np.bincount(row) > 1)
    for (a, b), interval in found.pairs.items():
        assert interval.value == pytest.approx(matrix[a, b], abs=1e-12)
        both = [one for one in rows if one in answers[a] and one in answers[b]]
        assert found.n_shared[a, b] == len(both)
        values = []
        for drawn in np.random.RandomState(0).randint(len(rows), size=(40, len(rows))):
            taken = [one for one in rows[drawn] if one in answers[a] and one in answers[b]]
            values.append(kappa([answers[a][one] for one in taken], [answers[b][one] for one in taken]))
        np.testing.assert_allclose(interval[1:], ends_of(values, len(rows)), atol=1e-12)


def test_whole_groups_are_drawn():
    row, rater, label = simulated(60, np.random.default_rng(2))
    by_row = agreement_report(row, rater, label)
    twice = [np.concatenate([one, one + 60 * shift]) for one, shift in ((row, 1), (rater, 0), (label, 0))]
    copied = agreement_report(*twice, groups=twice[0] % 60)
    assert (copied.drawn, by_row.drawn) == (f"{by_row.n_rows} groups", "rows")
    # A copy of each row tells nothing new.
    np.testing.assert_allclose(copied.alpha, by_row.alpha, atol=0.02)
    with pytest.raises(ValueError, match="groups"):
        agreement_report(row, rater, label, groups=np.arange(len(row)))
    with pytest.raises(ValueError, match="groups"):
        agreement_report(row, rater, label, groups=np.zeros(len(row)))
    with pytest.raises(ValueError, match="row"):
        agreement_report([0, 0, 1], [0, 1, 0], [1, 2, 2])


def test_intervals_cover_the_agreement_of_the_population():
    """benchmarks/claims/interpretation/agreement_intervals.py has 1,000 simulations."""
    truth = agreement_report(*simulated(100_000, np.random.default_rng(99)), classes=range(5), n_draws=1)
    covered = np.zeros(3)
    for seed in range(150):
        one = agreement_report(*simulated(150, np.random.default_rng(seed)), classes=range(5), n_draws=200)
        pairs = [(one.alpha, truth.alpha), (one.ceiling, truth.ceiling), (one.pairs[0, 1], truth.pairs[0, 1])]
        covered += [interval.low <= true.value <= interval.high for interval, true in pairs]
    assert (covered / 150 > 0.88).all()
    assert (covered / 150 < 0.99).all()


def test_the_report_is_text_and_a_table():
    row, rater, label = simulated(60, np.random.default_rng(0))
    found = agreement_report(row, rater, label)
    assert f"{found.alpha.value:.3f}" in str(found)
    assert "0, 1" in str(found)
    assert "<table" in found._repr_html_()
    assert found.to_frame().columns.tolist() == ["kappa", "low", "high", "rows"]


def test_two_raters_who_share_few_rows_are_missing_from_some_samples():
    row, rater = [0, 0, *range(1, 9), *range(1, 9)], ["a", "b", *["a"] * 8, *["c"] * 8]
    label = [1, 2, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 3, 1, 2, 3, 4]
    found = agreement_report(row, rater, label, random_state=0)
    assert found.pairs["a", "b"].value == 0.0
    assert ("b", "c") not in found.pairs


# The ceiling of kappa


def ratings(quality, severity, rng, noise=0.6):
    """Return labels of 1 to 10 by raters of this severity."""
    return 1 + np.digitize(quality - severity + noise * rng.normal(size=len(quality)), np.linspace(-2, 2, 9))


def best_kappa(expected, label):
    """Return the highest kappa of stretches of the expected label, rounded."""
    middle, labels = expected.mean(), range(1, 11)
    stretched = (np.round(middle + by * (expected - middle)) for by in np.linspace(0.8, 2.0, 25))
    return max(quadratic_weighted_kappa(label, np.clip(one, 1, 10), labels=labels) for one in stretched)


def ceiling_and_best(spread, rng, n=40_000):
    """Return the ceiling of two ratings, expected labels, labels, and the best kappa of who knows the rater."""
    quality, severity = rng.normal(size=n), spread * rng.normal(size=(3, n))
    first, second, label = (ratings(quality, of_one, rng) for of_one in severity)
    ceiling = kappa_ceiling(np.tile(np.arange(n), 2), np.repeat([0, 1], n), np.r_[first, second], classes=range(1, 11))
    # The expected label at a quality, over raters and for an average one.
    grid = np.linspace(-6, 6, 500)
    many = np.repeat(grid, 500)
    of_row, of_rater = (
        ratings(many, by * rng.normal(size=len(many)), rng).reshape(500, 500).mean(axis=1) for by in (spread, 0.0)
    )
    expected, given_rater = np.interp(quality, grid, of_row), np.interp(quality - severity[2], grid, of_rater)
    return ceiling, expected, label, best_kappa(given_rater, label)


def test_no_model_of_the_row_is_above_the_ceiling_and_the_best_comes_near():
    ceiling, expected, label, of_known_rater = ceiling_and_best(0.7, np.random.default_rng(0))
    best = best_kappa(expected, label)
    assert ceiling - 0.02 < best < ceiling + 0.005
    assert of_known_rater > ceiling + 0.05  # it fails for a model that knows the rater
    # The mean label itself, not rounded, has 2 r / (1 + r), which is lower.
    spread = expected.var() + label.var() + (expected.mean() - label.mean()) ** 2
    stated = 1 - ((expected - label) ** 2).mean() / spread
    assert stated == pytest.approx(2 * ceiling**2 / (1 + ceiling**2), abs=0.01)
    assert stated < best - 0.01


def test_the_ceiling_of_a_mean_of_ratings_is_higher():
    rng = np.random.default_rng(1)
    quality = rng.normal(size=20_000)
    first, second, third, fourth = (ratings(quality, 0.8 * rng.normal(size=20_000), rng) for _ in range(4))
    two = np.tile(np.arange(20_000), 2), np.repeat([0, 1], 20_000), np.r_[first, second]
    one, mean = kappa_ceiling(*two), kappa_ceiling(*two, n_ratings=2)
    # The correlation of two means is the reliability of a mean.
    assert mean**2 == pytest.approx(np.corrcoef(first + second, third + fourth)[0, 1], abs=0.01)
    assert one < mean
    with pytest.raises(ValueError, match="n_ratings"):
        kappa_ceiling(*two, n_ratings=0)


def test_the_ceiling_is_0_where_raters_do_not_agree():
    assert kappa_ceiling([0, 0, 1, 1], ["a", "b"] * 2, [1, 2, 2, 1]) == 0.0
    assert np.isnan(kappa_ceiling([0, 0, 1, 1], ["a", "b"] * 2, [1, 1, 1, 1]))


def test_the_picture_has_a_line_for_each_pair():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from ordinal_objectives.plotting import AgreementDisplay

    row, rater, label = simulated(60, np.random.default_rng(0))
    display = AgreementDisplay.from_raters(row, np.array(["Ann", "Bob", "Cy"])[rater], label, level=0.9)
    values = [display.report.pairs[tuple(text.get_text().split(", "))].value for text in display.ax_.get_yticklabels()]
    assert len(values) == 3
    assert values == sorted(values)
    assert "90%" in display.ax_.get_xlabel()
    matplotlib.pyplot.close(display.figure_)
