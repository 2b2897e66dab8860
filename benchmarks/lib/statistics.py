"""Methods compared over data sets: paired means, ranks, signed-rank tests, the critical difference, intervals.

Takes runs as a data frame with one row for each (data, seed, method), NaN where a method gave no result.
Every metric is a loss here: lower is better (see :func:`losses`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import friedmanchisquare, studentized_range, t as student, wilcoxon

from lib.data import rows_from, weight_of_a_row

# Two comparisons (multiclass, rounded) share a family-wise level of 5%.
DUNN_SIDAK = 1 - (1 - 0.05) ** (1 / 2)
# Means that differ by less are equal: they are sums of the same numbers in another order.
DECIMALS = 12
# Of every interval; and how often sets or partitions are drawn again for one.
CONFIDENCE, DRAWS = 0.95, 4000
UNDECIDED = "undecided"

Interval = tuple[float, float]


@dataclass(frozen=True)
class Paired:
    """Losses on the seeds that all methods of a data set share.

    Attributes
    ----------
    values : DataFrame, index (data, seed), one column for each method
        NaN throughout a set where the method failed.
    missing : list of str
        Sets left out: some method has not run there, or no seed has results of all.
    """

    values: pd.DataFrame
    missing: list[str]

    @cached_property
    def means(self) -> pd.DataFrame:
        return self.values.groupby(level="data", sort=False).mean()

    @property
    def deviations(self) -> pd.DataFrame:
        return self.values.groupby(level="data", sort=False).std(ddof=1)

    @property
    def failures(self) -> dict[str, list[str]]:
        """Return the sets on which a method failed, for the methods that did."""
        failed = self.means.isna()
        return {method: list(failed.index[failed[method]]) for method in failed if failed[method].any()}


def losses(runs: pd.DataFrame, metric: str) -> pd.Series:
    """Return a metric as a loss: 1 - QWK, and every other metric as it is."""
    return 1 - runs[metric] if metric == "qwk" else runs[metric]


def pair(runs: pd.DataFrame, metric: str, methods: Sequence[str]) -> Paired:
    """Return the losses of methods on the seeds of a set that they share.

    A method with a result on less than half of its seeds of a set failed there; otherwise the seeds where it has
    none are left out for all methods.
    """
    column = pd.Index(methods).get_indexer(runs["method"])
    chosen, column = runs[column >= 0], column[column >= 0]
    of_set, sets = pd.factorize(chosen["data"])
    of_seed, seeds = pd.factorize(chosen["seed"])
    # A line is a set and a seed, in the order of the runs; arrays, since data frames take several times as long here.
    line, lines = pd.factorize(of_set * len(seeds) + of_seed)
    ran = np.zeros((len(lines), len(methods)), dtype=int)
    np.add.at(ran, (line, column), 1)
    if (ran > 1).any():
        raise ValueError("runs must name a set, seed and method once each; there are duplicates")
    wide = np.full(ran.shape, np.nan)
    wide[line, column] = losses(chosen, metric)
    set_of_line = lines // max(len(seeds), 1)
    # Runs of each set and method, and those with a result.
    counts = np.zeros((len(sets), len(methods)))
    results = np.zeros_like(counts)
    np.add.at(counts, set_of_line, ran)
    np.add.at(results, set_of_line, ~np.isnan(wide))
    failed = results < counts / 2
    usable = np.asarray((counts > 0).all(axis=1) & ~failed.all(axis=1))
    wide[failed[set_of_line]] = np.nan
    shared = (~np.isnan(wide) | failed[set_of_line]).all(axis=1) & usable[set_of_line]
    index = pd.MultiIndex(
        [sets, seeds], [set_of_line[shared], lines[shared] % max(len(seeds), 1)], names=["data", "seed"]
    )
    compared = np.zeros(len(sets), dtype=bool)
    compared[set_of_line[shared]] = True
    return Paired(pd.DataFrame(wide[shared], index, list(methods)), list(sets[~compared]))


def ranks(means: pd.DataFrame) -> pd.DataFrame:
    """Return the rank of each method on each set, 1 for the lowest loss; equal losses share the mean rank.

    Methods that failed on a set share the last ranks there. Sets that share rows are one line, of their mean ranks.
    """
    return once(means.round(DECIMALS).fillna(np.inf).rank(axis=1))


class Comparison:
    """Whose losses are lower, set by set.

    Attributes
    ----------
    wins, ties, losses : int
        Sets on which ours are lower, equal and higher.
    """

    def __init__(self, ours: ArrayLike, theirs: ArrayLike):
        difference = np.round(np.asarray(ours, dtype=float) - np.asarray(theirs, dtype=float), DECIMALS)
        self._untied = difference[difference != 0]
        self.wins = int((difference < 0).sum())
        self.ties, self.losses = len(difference) - len(self._untied), len(self._untied) - self.wins

    @property
    def counts(self) -> str:
        return f"{self.wins} / {self.ties} / {self.losses}"

    @cached_property
    def p(self) -> float:
        """The p-value of the signed-rank test that ours are lower (Wilcoxon, one-sided, zero differences dropped).

        It is exact up to 50 differences, and of the normal approximation beyond.
        """
        if not len(self._untied):
            return 1.0
        return self._signed_rank("less")

    @property
    def p_of_both_sides(self) -> float:
        """The same of the two-sided test, that one of the two is lower."""
        return self._signed_rank("two-sided") if len(self._untied) else 1.0

    def _signed_rank(self, alternative: str) -> float:
        method = "exact" if len(self._untied) <= 50 else "asymptotic"
        return float(wilcoxon(self._untied, alternative=alternative, method=method).pvalue)


def critical_difference(n_methods: int, n_sets: int, level: float = 0.05) -> float:
    """Return the difference of mean ranks that the Nemenyi test calls significant (Demsar 2006)."""
    quantile = studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))


def friedman(ranked: pd.DataFrame) -> float:
    """Return the p-value of Friedman's test that all methods (three or more) rank alike."""
    return float(friedmanchisquare(*(ranked[method] for method in ranked)).pvalue)


def cliques(mean_ranks: Sequence[float], difference: float) -> list[tuple[float, float]]:
    """Return the ends of the longest runs of mean ranks within the critical difference of each other."""
    ordered = np.sort(np.asarray(mean_ranks, dtype=float))
    last = np.searchsorted(ordered, ordered + difference, side="right") - 1
    starts = [0, *(i for i, (before, now) in enumerate(pairwise(last), 1) if now > before)]
    return [(float(ordered[i]), float(ordered[last[i]])) for i in starts if last[i] > i]


def relative(means: pd.DataFrame, reference: str, *, are_errors: bool = True) -> pd.DataFrame:
    """Compare each method's losses with the reference's over the sets, by the logarithms of their ratios.

    A set that one of both solves is left out: its mean loss is below what one test row weighs. Sets that share rows are
    one, with the mean of their logarithms. Numbers that are no errors, such as seconds, solve nothing.

    Returns
    -------
    DataFrame
        For each method the geometric mean of its ratios with its interval, their median, sets won, tied and lost, the
        two-sided p of the signed ranks, how many sets there are, and the names of those left out.
    """
    rows = {}
    for method in means.columns.drop(reference):
        both = means[[method, reference]].dropna().astype(float)
        of_a_row = pd.Series({data: are_errors * weight_of_a_row(data) for data in both.index}, dtype=float)
        solved = both.le(of_a_row, axis=0).any(axis=1)
        logs = once(np.log(both.loc[~solved, method] / both.loc[~solved, reference]))
        found = Comparison(logs, np.zeros(len(logs)))
        rows[method] = {
            "ratio": float(np.exp(logs.mean())) if len(logs) else np.nan,
            "interval": ratio_interval(np.exp(logs)),
            "median": float(np.exp(logs.median())),
            "counts": found.counts,
            "p": found.p_of_both_sides,
            "sets": len(logs),
            "solved": list(solved.index[solved]),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def once[FrameOrSeries: (pd.DataFrame, pd.Series)](by_set: FrameOrSeries) -> FrameOrSeries:
    """Return a line for each set, and one, of means, for sets that share rows."""
    return by_set.groupby(by_set.index.map(rows_from), sort=False).mean()


def mean_interval(values: ArrayLike) -> Interval:
    """Return the interval of a mean by Student's t; few values make it wide, and one has none."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return np.nan, np.nan
    half = student.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def ratio_interval(ratios: ArrayLike) -> Interval:
    """Return the interval of a geometric mean."""
    low, high = mean_interval(np.log(np.asarray(ratios, dtype=float)))
    return float(np.exp(low)), float(np.exp(high))


def sets_again(by_set: pd.DataFrame | pd.Series, statistic: Callable[..., Any] = np.mean) -> NDArray[np.float64]:
    """Return a statistic over the sets (lines) in many draws of as many sets, with replacement: draws x columns."""
    values = by_set.to_numpy(dtype=float)
    drawn = np.random.default_rng(0).integers(len(values), size=(DRAWS, len(values)))
    return np.asarray(statistic(values[drawn], axis=1))


def partitions_again(values: pd.DataFrame) -> NDArray[np.float64]:
    """Return the means of each set in many draws of its partitions, with replacement: draws x sets x methods.

    Takes the values of :class:`Paired`. The sets stay as they are.
    """
    rng = np.random.default_rng(0)
    of_sets = [part.to_numpy(dtype=float) for _, part in values.groupby(level="data", sort=False)]
    return np.stack([part[rng.integers(len(part), size=(DRAWS, len(part)))].mean(axis=1) for part in of_sets], axis=1)


def interval(draws: ArrayLike) -> Interval:
    """Return the middle 95% of draws."""
    low, high = np.quantile(np.asarray(draws, dtype=float), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def verdict(between: Interval, reached: Callable[[float], bool]) -> str:
    """Return whether a goal is reached: yes or no where both ends of the quantity's interval say so, else undecided."""
    ends = {bool(reached(end)) for end in between}
    return UNDECIDED if len(ends) > 1 or np.isnan(between).any() else "yes" if ends.pop() else "no"
