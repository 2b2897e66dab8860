"""What was to be shown of the defaults with chosen depth and rounds, and whether it was: a table of docs/evidence.md.

The goals were written down before the runs, but for those that say so. One that is not measured yet says so too, and
one that the data cannot decide, whose number has its mark inside its interval (`statistics.verdict`). A goal of
significance is decided by its test, and one that asks for no set that is worse by its own rule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import pandas as pd

from claims.accuracy.accuracy import FEW_SEEDS, SLOW
from claims.accuracy.tuned import PLANS, SEEDS, SETS, SETTINGS
from claims.report import accuracy_tables, decision_tables, published_tables, tuned_tables
from claims.report.accuracy_tables import METRICS
from lib import statistics
from lib.data import ORDINAL, PUBLISHED_SETS, SIXTEEN
from lib.generated import Table
from lib.methods import METHODS, MULTICLASS, OURS, PROPORTIONAL, ROUNDED

LEAST_BETTER, WORSE, LEVEL = 30, 1.02, 0.05
NOT_YET = "not measured yet"
PARTITIONS, PUBLISHED_PARTITIONS = {"sixteen": 20, "ordinal": 10}, 30
RANKED = tuple(METHODS)
CASES = {("sixteen", "quantile"): SIXTEEN, ("ordinal", "classes"): ORDINAL}
IN_WORDS = {("sixteen", "quantile"): "the sixteen sets", ("ordinal", "classes"): "the ordinal sets"}

Goal = tuple[str, str, str]  # goal, found, reached


def table(runs: pd.DataFrame, tuned: pd.DataFrame) -> Table:
    """Return every goal with what was found and whether it was reached."""
    found = [
        *against_proportional(runs),
        *findings(runs),
        *medians(runs),
        *lowest_ranks(runs),
        *tuned_goals(tuned),
        published(runs),
    ]
    return Table([dict(zip(("goal", "found", "reached"), goal, strict=True)) for goal in found])


def is_measured(runs: pd.DataFrame, sets: Collection[str], n_partitions: int, methods: Collection[str]) -> bool:
    """Tell whether every method has run on all partitions of all sets; slow ones see fewer."""
    found = runs.groupby(["data", "method"])["seed"].nunique().unstack()
    found = found.reindex(index=list(sets), columns=list(methods)).fillna(0)
    wanted = {method: min(n_partitions, FEW_SEEDS) if method in SLOW else n_partitions for method in methods}
    return bool((found >= pd.Series(wanted)).all(axis=None))


def _yes(reached: bool) -> str:
    return "yes" if reached else "no"


def against_proportional(runs: pd.DataFrame) -> Iterator[Goal]:
    """Yield whether thresholds that move with x are better than proportional ones, and nowhere much worse."""
    rows = pd.concat([accuracy_tables.select(runs, *case) for case in CASES])
    n_sets = sum(map(len, CASES.values()))
    complete = all(
        is_measured(accuracy_tables.select(runs, *case), sets, PARTITIONS[case[0]], (OURS, PROPORTIONAL))
        for case, sets in CASES.items()
    )
    for metric in ("rps", "log_loss"):
        paired = statistics.pair(rows, metric, (OURS, PROPORTIONAL))
        means = paired.means.dropna()
        title = METRICS[metric]
        goal = f"{title} below that of `{PROPORTIONAL}` on at least {LEAST_BETTER} of {n_sets} sets"
        yield goal, *(_enough(paired, n_sets, complete) if len(means) else ("-", NOT_YET))
        worse = [data for data in means.index if _is_worse(paired.values.loc[data], means.loc[data])]
        goal = f"{title} higher than that by more than 2% with paired p < {LEVEL} on no set"
        yield goal, (", ".join(worse) or "on none") if len(means) else "-", _yes(not worse) if complete else NOT_YET


def _enough(paired: statistics.Paired, n_sets: int, complete: bool) -> tuple[str, str]:
    """Return on how many sets ours is lower, with what other partitions would have given, and whether it is enough.

    Behind it the sets lower, equal and higher by the rules of ratios: without solved sets, shared rows once.
    """
    means, again = paired.means.dropna(), statistics.partitions_again(paired.values.dropna())
    better, counts = int((means[OURS] < means[PROPORTIONAL]).sum()), (again[..., 0] < again[..., 1]).sum(axis=1)
    between = statistics.interval(counts)
    by_rules = statistics.relative(means, PROPORTIONAL).loc[OURS, "counts"]
    found = f"{better} of {len(means)} [{between[0]:.0f}, {between[1]:.0f}], by the rules {by_rules}"
    if not complete:
        return found, NOT_YET
    share = f"{np.mean(counts >= LEAST_BETTER):.2f} of the draws"
    found += f"; with partitions drawn again at least {LEAST_BETTER} in {share}"
    return found, statistics.verdict(between, lambda count: count >= LEAST_BETTER)


def _is_worse(by_seed: pd.DataFrame, means: pd.Series) -> bool:
    test = statistics.Comparison(by_seed[PROPORTIONAL], by_seed[OURS])
    return bool(means[OURS] > WORSE * means[PROPORTIONAL] and test.p < LEVEL)


def findings(runs: pd.DataFrame) -> Iterator[Goal]:
    """Yield the thesis's findings with classes by decile, and with the thesis's own classes."""
    deciles = decision_tables.own_decisions(runs, "sixteen", "quantile")
    cut, modes = published_tables.thesis_runs(runs), published_tables.decided(runs)
    for words, answers, by_mode in (
        ("classes by decile", accuracy_tables.select(runs, "sixteen", "quantile"), deciles),
        ("the thesis's classes", cut, modes),
    ):
        for metric, other in (("mae", ROUNDED), ("zero_one", ROUNDED), ("mae", MULTICLASS)):
            goal = f"{METRICS[metric]} lower than that of {other}, {words}"
            yield _tested(goal, answers, metric, other)
        goal = f"zero-one by the mode lower than that of {MULTICLASS}, {words}"
        yield _tested(goal, by_mode, "zero_one", MULTICLASS)


def _tested(
    goal: str, rows: pd.DataFrame, metric: str, other: str, sets: Collection[str] = SIXTEEN, n_partitions: int = 0
) -> Goal:
    test = accuracy_tables.test(rows, metric, OURS, other)
    if not is_measured(rows, sets, n_partitions or PARTITIONS["sixteen"], (OURS, other)):
        return goal, "-" if not test else f"{test['wins / ties / losses']} so far", NOT_YET
    return goal, f"{test['wins / ties / losses']}, p = {test['p']}", test["significant"]


def medians(runs: pd.DataFrame) -> Iterator[Goal]:
    """Yield whether ours is lower by absolute error where multiclass answers with its median too."""
    for case, sets in CASES.items():
        own = decision_tables.own_decisions(runs, *case)
        goal = f"MAE by medians on both sides lower than that of {MULTICLASS}, {IN_WORDS[case]} (written afterwards)"
        yield _tested(goal, own, "mae", MULTICLASS, sets, PARTITIONS[case[0]])


def lowest_ranks(runs: pd.DataFrame) -> Iterator[Goal]:
    """Yield whether the default leads all methods, those of ours among them."""
    for case, sets in CASES.items():
        own = decision_tables.own_decisions(runs, *case)
        answers = accuracy_tables.select(runs, *case)
        for words, metric, rows in (
            ("MAE", "mae", answers),
            ("RPS", "rps", answers),
            ("log loss", "log_loss", answers),
            ("zero-one by its own decision", "zero_one", own),
            ("MAE by its own decision", "mae", own),
        ):
            goal = f"lowest mean rank of all methods by {words} on {IN_WORDS[case]}"
            complete = is_measured(rows, sets, PARTITIONS[case[0]], RANKED)
            yield _leads(goal, rows, metric, complete)


def _leads(goal: str, rows: pd.DataFrame, metric: str, complete: bool) -> Goal:
    if OURS not in accuracy_tables.methods_of(rows, metric):
        return goal, "-", NOT_YET
    ranks, _ = accuracy_tables.ranked(rows, metric)
    if ranks.empty or ranks.shape[1] < 2:
        return goal, "-", NOT_YET
    mean_ranks = ranks.mean()
    ours, others = mean_ranks[OURS], mean_ranks.drop(OURS)
    again = pd.DataFrame(statistics.sets_again(ranks), columns=ranks.columns)
    lead = statistics.interval(again.drop(columns=OURS).min(axis=1) - again[OURS])
    found = f"{ours:.2f}, best other: {others.idxmin()} {others.min():.2f}; lead{accuracy_tables.interval(lead, 2)}"
    return goal, found, statistics.verdict(lead, lambda ahead: ahead > 0) if complete else NOT_YET


def tuned_goals(runs: pd.DataFrame) -> Iterator[Goal]:
    """Yield whether any tuned rival is ahead on average, and the sets where one is."""
    best = tuned_tables.after(runs, SETTINGS)
    rivals = [method for method in tuned_tables.methods_of(best) if method not in tuned_tables.OURS_TUNED]
    for metric in ("rps", "mae"):
        goal = f"no tuned rival lower by {METRICS[metric]} on average"
        average, between, n_sets, ahead = {}, {}, {}, []
        for rival in rivals:
            both = statistics.pair(best, metric, (OURS, rival)).means.dropna()
            if len(both):
                found = statistics.relative(both, OURS).loc[rival]
                average[rival], between[rival] = found["ratio"], found["interval"]
                n_sets[rival] = len(both)
                ratios = both[rival] / both[OURS]
                ahead += [(ratio, data, rival) for data, ratio in ratios.items() if ratio < 1]
        if not average:
            yield goal, "-", NOT_YET
            continue
        closest = min(average, key=lambda rival: average[rival])
        per_set = {data: f"{data} ({rival} {ratio:.3f})" for ratio, data, rival in sorted(ahead, reverse=True)}
        lowest = f"{average[closest]:.3f}{accuracy_tables.interval(between[closest])}"
        on = f"{n_sets[closest]} of {len(SETS)} sets"
        found = f"lowest: {closest} {lowest} on {on}; ahead on {', '.join(per_set.values()) or 'no set'}"
        ends = tuple(min(ends) for ends in zip(*between.values(), strict=True))
        complete = all(is_measured(best, sets, SEEDS, methods) for methods, sets in PLANS)
        yield goal, found, statistics.verdict(ends, lambda ratio: ratio >= 1) if complete else NOT_YET


def published(runs: pd.DataFrame) -> Goal:
    """Return on how many of the natural sets the best published MAE was reached."""
    rows = published_tables.published(accuracy_tables.select(runs, "ordinal", "classes")).rows
    goal = f"the best published MAE reached on the {len(PUBLISHED_SETS)} natural sets that have one"
    if not rows:
        return goal, "-", NOT_YET
    missed = [row["data"] for row in rows if row["reached"] != "yes"]
    found = f"{len(rows) - len(missed)} of {len(rows)}" + (f"; not on {', '.join(missed)}" if missed else "")
    complete = [row["partitions"] for row in rows] == [str(PUBLISHED_PARTITIONS)] * len(PUBLISHED_SETS)
    return goal, found, _yes(not missed) if complete else NOT_YET
