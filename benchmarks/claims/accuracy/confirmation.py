"""The tables of the twelve sets that nobody had looked at: what accuracy.py's experiment `confirmation` found there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from claims.accuracy.accuracy import CONFIRMATION_RUN, DECISIONS
from claims.report import accuracy_tables
from claims.report.accuracy_tables import METRICS, noted
from lib import report, statistics
from lib.data import CONFIRMATION
from lib.generated import Table
from lib.methods import OURS
from lib.rivals import CONFIRMED

FILE = report.RESULTS / "confirmation_runs.csv"
# The answer that each metric asks for; the others are of probabilities.
RULES = {"mae": "median", "zero_one": "mode", "qwk": "mean"}
JUDGED = ("rps", "log_loss", "mae", "zero_one", "qwk")
BY_SET = ("rps", "mae")
RIVALS = tuple(method for method in CONFIRMED if method != OURS)


def tables(path: Path = FILE) -> dict[str, Table]:
    """Return both tables by name; without a file, empty ones."""
    runs = accuracy_tables.read(path)
    own = runs[runs["experiment"] == CONFIRMATION_RUN[0]]
    found = {metric: by_set(runs, metric) for metric in JUDGED}
    return {
        "confirmation": noted(overall(found, own), own),
        "confirmation kinds": noted(kinds(found), own),
        "confirmation sets": noted(sets(found, own), own),
        "confirmation failures": accuracy_tables.failures(own),
    }


def decided(runs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return one row for each partition and method, by the answer that the metric asks for where there is a choice."""
    own = runs[runs["experiment"] == CONFIRMATION_RUN[0]]
    if metric not in RULES:
        return own
    ending = f", {RULES[metric]}"
    asked = runs[(runs["experiment"] == CONFIRMATION_RUN[0] + DECISIONS) & runs["method"].str.endswith(ending)]
    asked = asked.assign(method=asked["method"].str.removesuffix(ending))
    return pd.concat([asked, own[~own["method"].isin(asked["method"])]])


def by_set(runs: pd.DataFrame, metric: str) -> dict[str, pd.Series]:
    """Return for each rival the ratio of its mean loss to ours, by set, on the partitions that both have."""
    rows = decided(runs, metric)
    found = {}
    for method in RIVALS:
        means = statistics.pair(rows, metric, (OURS, method)).means.dropna()
        if len(means):
            found[method] = means[method] / means[OURS]
    return found


def overall(found: dict[str, dict[str, pd.Series]], own: pd.DataFrame) -> Table:
    rows = []
    for method in RIVALS:
        n_sets = max((len(found[metric].get(method, ())) for metric in JUDGED), default=0)
        row = {"method": method, "sets": str(n_sets)}
        for metric in JUDGED:
            ratios = found[metric].get(method)
            row[METRICS[metric]] = "-" if ratios is None else _summary(np.log(ratios))
        rows.append(row)
    note = (
        f"Geometric mean over the sets of loss / loss of `{OURS}`, above 1 where `{OURS}` is better; in brackets "
        f"the middle 95% of {statistics.DRAWS} draws of as many sets, with replacement; then the sets that the method "
        f"won, tied and lost. MAE by the median, zero-one error by the mode and QWK by the mean on both sides; `xgb "
        f"rounded` has one answer. Partitions fewer than ten: {_few(own)}."
    )
    return Table(rows, note) if any(found.values()) else Table([])


def kinds(found: dict[str, dict[str, pd.Series]]) -> Table:
    """Return the ratios of the sets with ordered classes, and of regression targets cut into classes, apart."""
    groups = {
        "ordered classes": [name for name, source in CONFIRMATION.items() if source.classes],
        "cut at deciles": [name for name, source in CONFIRMATION.items() if not source.classes],
    }
    rows = [
        {"targets": words, "method": method}
        | {
            METRICS[metric]: _summary(np.log(ratios[ratios.index.isin(names)]))
            for metric in BY_SET
            if (ratios := found[metric].get(method)) is not None
        }
        for words, names in groups.items()
        for method in RIVALS
        if all(method in found[metric] for metric in BY_SET)
    ]
    return Table(rows, "Means, intervals and counts as above." if rows else "")


def _few(own: pd.DataFrame) -> str:
    """Return on how many partitions methods ran where these are fewer than ten."""
    found = []
    for method, rows in own.groupby("method", sort=False):
        sizes = rows.groupby("data").size()
        few = sizes[sizes < 10]
        where = "each set" if len(few) == len(sizes) else ", ".join(few.index)
        found += [f"{method} {', '.join(map(str, sorted(set(few))))} of {where}"] if len(few) else []
    return "; ".join(found) or "none"


def _summary(logs: pd.Series) -> str:
    low, high = np.exp(statistics.interval(statistics.sets_again(logs)))
    counts = f"{(logs < 0).sum()} / {(logs == 0).sum()} / {(logs > 0).sum()}"
    return f"{np.exp(logs.mean()):.3f} [{low:.3f}, {high:.3f}] ({counts})"


def sets(found: dict[str, dict[str, pd.Series]], own: pd.DataFrame) -> Table:
    rows = []
    for name in CONFIRMATION:
        of_set = own[own["data"] == name]
        if of_set.empty:
            continue
        row = {
            "data": name,
            "K": str(of_set["n_classes"].max()),
            "train / test": f"{of_set['n_train'].max()} / {of_set['n_test'].max()}",
        }
        for metric in BY_SET:
            for method in RIVALS:
                ratios = found[metric].get(method)
                if ratios is not None:
                    row[f"{METRICS[metric]} {method}"] = f"{ratios[name]:.3f}" if name in ratios else "-"
        rows.append(row)
    return Table(rows, f"Mean loss over the partitions / mean loss of `{OURS}`." if rows else "")
