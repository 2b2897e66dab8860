"""The statistics behind docs/evidence.md, against scipy, published constants and examples by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata, ttest_1samp, wilcoxon

from lib import statistics


def runs(values, metric="mae"):
    """Return runs of {data: {method: losses by seed}}; None is a failure."""
    rows = [
        {"data": data, "seed": seed, "method": method, metric: np.nan if value is None else value}
        for data, methods in values.items()
        for method, losses in methods.items()
        for seed, value in enumerate(losses)
    ]
    return pd.DataFrame(rows)


def test_means_use_the_seeds_that_all_methods_share():
    frame = runs({"a": {"fast": [1.0, 3.0, 100.0], "slow": [2.0, 4.0]}})
    paired = statistics.pair(frame, "mae", ["fast", "slow"])
    assert paired.means.loc["a"].to_dict() == {"fast": 2.0, "slow": 3.0}
    assert paired.deviations.loc["a", "fast"] == pytest.approx(np.sqrt(2))
    assert statistics.pair(frame, "mae", ["fast"]).means.loc["a", "fast"] == pytest.approx(104 / 3)


def test_a_rare_failure_drops_the_seed_and_a_common_one_ranks_last():
    frame = runs(
        {"a": {"x": [1.0, 2.0, 9.0], "y": [3.0, 4.0, None]}, "b": {"x": [1.0, 2.0, 9.0], "y": [None, None, 0.0]}}
    )
    paired = statistics.pair(frame, "mae", ["x", "y"])
    assert paired.means.loc["a"].to_dict() == {"x": 1.5, "y": 3.5}
    assert paired.means.loc["b", "x"] == 4.0
    assert paired.failures == {"y": ["b"]}
    assert paired.missing == []
    assert statistics.ranks(paired.means).to_numpy().tolist() == [[1, 2], [1, 2]]


def test_a_set_where_a_method_has_not_run_is_left_out_and_named():
    frame = runs({"a": {"x": [1.0], "y": [2.0]}, "b": {"x": [1.0]}, "c": {"x": [None], "y": [None]}})
    paired = statistics.pair(frame, "mae", ["x", "y"])
    assert list(paired.means.index) == ["a"]
    assert paired.missing == ["b", "c"]
    assert statistics.pair(frame, "mae", ["x", "z"]).means.empty
    assert statistics.pair(frame, "mae", ["v", "z"]).means.empty


def test_signed_rank_drops_zeros_and_is_exact():
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(size=(2, 12))
    theirs[:2] = ours[:2]
    found = statistics.Comparison(ours, theirs)
    difference = (ours - theirs)[2:]
    # Under the hypothesis every pattern of signs is equally likely.
    observed, magnitude = (rankdata(abs(difference)) * (difference > 0)).sum(), rankdata(abs(difference))
    sums = np.array([np.dot(signs, magnitude) for signs in product((0, 1), repeat=10)])
    assert found.p == pytest.approx(np.mean(sums <= observed))
    assert found.p == pytest.approx(wilcoxon(difference, alternative="less").pvalue)
    assert (found.wins, found.ties, found.losses) == (sum(difference < 0), 2, sum(difference > 0))


# Demsar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006, Table 5(a).
@pytest.mark.parametrize(
    ("n_methods", "quantile"),
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (7, 2.949), (8, 3.031), (9, 3.102), (10, 3.164)],
)
def test_critical_difference_has_the_published_constants(n_methods, quantile):
    scale = np.sqrt(n_methods * (n_methods + 1) / (6 * 14))
    assert statistics.critical_difference(n_methods, 14) / scale == pytest.approx(quantile, abs=1.1e-3)


def test_friedman_by_hand():
    # Three methods that rank 1, 2, 3 on each of 4 sets: chi-squared is its largest value, 8, at 2 degrees of freedom.
    ranked = pd.DataFrame([[1, 2, 3]] * 4, columns=list("xyz"), dtype=float)
    assert statistics.friedman(ranked) == pytest.approx(np.exp(-4))


def test_relative_losses():
    means = pd.DataFrame({"ours": [1.0, 2.0, 0.0], "x": [2.0, 1.0, 0.0], "y": [2.0, 8.0, 1.0]}, index=list("abc"))
    found = statistics.relative(means, "ours")  # which solves the set c
    assert found.loc["x", "ratio"] == pytest.approx(1.0)
    assert found.loc["y", "ratio"] == pytest.approx(np.sqrt(8))
    # Over the logarithms of two sets, log 2 and -log 2: t is 12.706 at one degree of freedom.
    assert found.loc["x", "interval"] == pytest.approx((2**-12.7062, 2**12.7062), rel=1e-4)
    assert found["counts"].to_dict() == {"x": "1 / 0 / 1", "y": "0 / 0 / 2"}
    assert found["median"].to_dict() == pytest.approx({"x": 1.0, "y": np.sqrt(8)})
    assert found["p"].to_dict() == {"x": 1.0, "y": 0.5}
    assert found["solved"].to_dict() == {"x": ["c"], "y": ["c"]}


def test_a_set_below_one_row_is_left_out_and_sets_that_share_rows_are_one():
    """`car` has 519 rows to test on. Counted once, the two of cpu have the mean of their logarithms."""
    means = pd.DataFrame(
        {"ours": [1.0, 1.0, 1.0, 0.5], "x": [2.0, 8.0, 4.0, 1 / 520]}, ["cpu_act", "cpu_small", "esl", "car"]
    )
    found = statistics.relative(means, "ours").loc["x"]
    assert (found["ratio"], found["sets"], found["counts"]) == (pytest.approx(4.0), 2, "0 / 0 / 2")
    assert found["solved"] == ["car"]
    seconds = statistics.relative(means, "ours", are_errors=False).loc["x"]
    assert (seconds["sets"], seconds["solved"]) == (3, [])


def test_intervals_of_means_are_scipys():
    values = np.random.default_rng(0).normal(size=7)
    expected = ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert statistics.mean_interval(values) == pytest.approx(tuple(expected))
    assert statistics.ratio_interval(np.exp(values)) == pytest.approx(tuple(np.exp(expected)))
    assert np.isnan(statistics.mean_interval([1.0])).all()


def test_sets_drawn_again_spread_as_the_mean_does():
    by_set = pd.DataFrame({"x": np.arange(50.0), "y": 2 * np.arange(50.0)})
    again = statistics.sets_again(by_set)
    assert again.shape == (statistics.DRAWS, 2)
    assert again[:, 1] == pytest.approx(2 * again[:, 0])  # the same sets for all methods
    assert again[:, 0].std() == pytest.approx(by_set["x"].std(ddof=0) / np.sqrt(50), rel=0.05)
    low, high = statistics.interval(again[:, 0])
    assert np.mean((again[:, 0] >= low) & (again[:, 0] <= high)) == pytest.approx(0.95, abs=0.003)
    middles = statistics.sets_again(by_set["x"], np.median)
    assert set(np.unique(2 * middles)) <= set(range(100))


def test_verdicts():
    assert statistics.verdict((30, 33), lambda count: count >= 30) == "yes"
    assert statistics.verdict((27, 29), lambda count: count >= 30) == "no"
    assert statistics.verdict((27, 32), lambda count: count >= 30) == statistics.UNDECIDED
    assert statistics.verdict((np.nan, np.nan), lambda count: count >= 30) == statistics.UNDECIDED
