"""The tables of the tuned comparison, from the rows that tuned.py has written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from claims.accuracy import tuned
from claims.report import accuracy_tables
from claims.report.accuracy_tables import METRICS, noted
from lib import method_names, pictures, statistics
from lib.generated import Table
from lib.methods import OURS
from lib.rivals import SLOW

AFTER = (1, 2, 4, 8, 15)
PICTURED = {"mae": "absolute error", "rps": "ranked probability score (RPS)"}
# Ours come first; those after them are the rivals.
OURS_TUNED = ("ordinal shifts", "LightGBM shifts", "native shifts")


def read(path: Path = tuned.FILE) -> pd.DataFrame:
    """Return the rows of the searches and of the settings that were the best so far; without a file, none."""
    if not path.exists():
        return pd.DataFrame(columns=[*tuned.COLUMNS, "machine"])
    return accuracy_tables.read_rows(path).sort_values(
        ["n_train", "data", "seed", "method", "setting"], kind="stable", ignore_index=True
    )


def after(runs: pd.DataFrame, n_settings: int) -> pd.DataFrame:
    """Return the runs of the setting that a search of so many settings ends with."""
    key = ["data", "seed", "method"]
    finals = runs[(runs["step"] == "final") & (runs["setting"] < n_settings)]
    # The records of a search fall one after the other: the last one is the best.
    return finals.sort_values("setting", kind="stable").groupby(key, sort=False).tail(1).sort_index()


def tables(path: Path = tuned.FILE) -> dict[str, Table]:
    runs = read(path)
    best = after(runs, tuned.SETTINGS)
    small = best[best["data"].isin(best.loc[best["method"].isin(list(SLOW)), "data"])]
    return {
        "tuned": noted(ratios(best), best),
        "tuned, small sets": noted(ratios(small), small),
        "tuned curve": noted(curve(runs), best),
        "tuned failures": failures(runs),
    } | {f"tuned {METRICS[metric]}": noted(means(best, metric), best) for metric in tuned.MEASURES}


def methods_of(runs: pd.DataFrame) -> list[str]:
    return [method for method in tuned.METHODS if method in set(runs["method"])]


def ratios(best: pd.DataFrame) -> Table:
    """Return each method's losses relative to ours through XGBoost, on the sets that both have."""
    rows, lines = [], []
    for method in methods_of(best):
        if method == OURS or OURS not in set(best["method"]):
            continue
        row: dict[str, Any] = {"method": method}
        for metric in tuned.MEASURES:
            both = statistics.pair(best, metric, (OURS, method)).means.dropna()
            row.setdefault("sets", str(len(both)))
            row[METRICS[metric]] = "-"
            if len(both):
                found = statistics.relative(both, OURS).loc[method]
                row[METRICS[metric]] = accuracy_tables.ratio(found)
                lines.append((METRICS[metric], found))
        rows.append(row)
    note = (
        f"Loss / loss of `{OURS}`: {accuracy_tables.RATIO}.{accuracy_tables.solved(lines)} "
        f"The best of {tuned.SETTINGS} settings by validation rows, each metric by its own "
        "decision."
    )
    return Table(rows, note if rows else "")


def means(best: pd.DataFrame, metric: str) -> Table:
    """Return the mean loss of each method on each set after the whole search."""
    rows = []
    methods = [method for method in methods_of(best) if best.loc[best["method"] == method, metric].notna().any()]
    for data in best["data"].drop_duplicates():
        here = best[best["data"] == data]
        of_set = statistics.pair(here, metric, [method for method in methods if method in set(here["method"])])
        if len(of_set.means):
            values = of_set.means.iloc[0]
            row = {"data": data, "rows": str(here["n_train"].iloc[0]), "partitions": str(len(of_set.values))}
            lowest = values.round(4).min()
            rows.append(row | {method: _shown(values.get(method, np.nan), lowest) for method in methods})
    return Table(rows)


def curve(runs: pd.DataFrame) -> Table:
    """Return what each method's search had found after some settings, relative to the end of ours."""
    relative = curves(runs)
    rows = [
        {"metric": METRICS[metric], "method": method}
        | {f"after {n}": f"{relative[metric].loc[n, method]:.3f}" for n in AFTER}
        for metric in PICTURED
        for method in methods_of(runs)
        if method in relative[metric]
    ]
    note = (
        f"Geometric mean over sets and partitions of loss / loss of `{OURS}` after {tuned.SETTINGS} settings; the "
        "sets that a method has, and searches that had a result after the first setting."
    )
    return Table(rows, note if rows else "")


def curves(runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return for each pictured metric the ratios, numbers of settings x methods."""
    key, found = ["data", "seed", "method"], {}
    at_end = after(runs, tuned.SETTINGS)
    for metric in PICTURED:
        ours = at_end[at_end["method"] == OURS].set_index(["data", "seed"])[metric]
        lines = {}
        for n in range(1, tuned.SETTINGS + 1):
            losses = after(runs, n).set_index(key)[metric].dropna().unstack("method")
            ratio = losses.div(ours.reindex(losses.index), axis=0)
            lines[n] = np.exp(np.log(ratio.where(ratio > 0)).mean())
        found[metric] = pd.DataFrame(lines).T.dropna(axis=1, how="all")
    return found


def failures(runs: pd.DataFrame) -> Table:
    """Return where a setting gave no result, and why."""
    failed = runs[runs["failure"].notna()]
    rows = [
        {
            "method": method,
            "data": data,
            "settings": str(len(group)),
            "reasons": "; ".join(sorted(set(group["failure"]))),
        }
        for (method, data), group in failed.groupby(["method", "data"], sort=False)
    ]
    return Table(rows, "Every setting of every method gave a result." if len(runs) and not rows else "")


def draw(path: Path = tuned.FILE) -> Figure | None:
    """Draw what each search had found against the number of settings; nothing without runs."""
    runs = read(path)
    relative = curves(runs) if len(after(runs, tuned.SETTINGS)) else {}
    if not relative or any(table.empty for table in relative.values()):
        return None
    drawn, axes = pictures.panels(len(relative), 1, (8, 4 * len(relative)), sharex=True, sharey=True)
    for (axis,), (metric, table) in zip(axes, relative.items(), strict=True):
        methods = [method for method in methods_of(runs) if method in table]
        for method in methods:
            axis.plot(
                table.index, table[method], color=method_names.color(method), linewidth=2.5 if method == OURS else 1.2
            )
        axis.axhline(1.0, color=pictures.GREY, linewidth=0.5)
        axis.set(title=PICTURED[metric], xlim=(1, tuned.SETTINGS))
        axis.set_ylabel(f"loss / loss of {OURS}\nin the end (lower is better)")
    axes[-1][0].set_xlabel("settings tried")
    drawn.draw_without_rendering()
    for (axis,), table in zip(axes, relative.values(), strict=True):
        shown = {method_names.IN_PICTURES.get(name, name): name for name in map(str, table)}
        ends = {label: (float(tuned.SETTINGS), float(table[name].iloc[-1])) for label, name in shown.items()}
        pictures.label_ends(axis, ends, {label: method_names.color(name) for label, name in shown.items()})
    return drawn


def _shown(value: float, best: float) -> str:
    text = f"{value:.4f}" if np.isfinite(value) else "-"
    return f"**{text}**" if np.round(value, 4) <= best else text
