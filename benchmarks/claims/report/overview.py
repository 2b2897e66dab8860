"""The first table and picture of docs/evidence.md: every method beside ours, over both groups of sets."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from claims.report import accuracy_tables, decision_tables
from claims.report.accuracy_tables import METRICS, noted
from lib import method_names, pictures, statistics
from lib.generated import Table
from lib.methods import OURS

SHOWN = ("mae", "zero_one", "rps", "log_loss")
TICKS = (0.9, 1, 1.2, 1.5, 2)
PICTURED = {"mae": "absolute error", "rps": "ranked probability score (RPS)"}


def runs_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of both groups of sets, each metric by its own decision."""
    return pd.concat([decision_tables.own_decisions(runs, *case) for case in decision_tables.CASES], ignore_index=True)


def ratios(runs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the geometric mean over the sets of loss / loss of ours, with interval, counts and number of sets."""
    found = {}
    for method in accuracy_tables.methods_of(runs, metric):
        if method != OURS:
            both = statistics.pair(runs, metric, (OURS, method)).means.dropna()
            if len(both):
                found[method] = statistics.relative(both, OURS).loc[method].to_dict() | {"of": len(both)}
    return pd.DataFrame.from_dict(found, orient="index")


def tables(runs: pd.DataFrame) -> dict[str, Table]:
    """Return the table, the method with the lowest absolute error first."""
    rows = runs_of(runs)
    found = {metric: ratios(rows, metric) for metric in SHOWN}
    if found["mae"].empty:
        return {"overview": Table([])}
    order = found["mae"].index.to_series().map(found["mae"]["ratio"]).sort_values(kind="stable").index
    lines = [
        {"method": OURS, "sets": str(rows["data"].nunique())} | {METRICS[metric]: "1" for metric in SHOWN},
        *(
            {"method": method, "sets": str(found["mae"].loc[method, "of"])}
            | {METRICS[metric]: _cell(found[metric], method) for metric in SHOWN}
            for method in order
        ),
    ]
    note = (
        f"Mean loss / mean loss of `{OURS}`: {accuracy_tables.RATIO}. Above 1 means a higher loss than `{OURS}`. Sets "
        "that share rows count once. MAE by the median class, zero-one error by the most probable class; methods "
        "without probabilities give their only answer."
    )
    note += accuracy_tables.solved((METRICS[metric], one) for metric in SHOWN for _, one in found[metric].iterrows())
    return {"overview": noted(Table(lines, note), rows)}


def _cell(found: pd.DataFrame, method: str) -> str:
    return accuracy_tables.ratio(found.loc[method]) if method in found.index else "-"


def draw(runs: pd.DataFrame) -> Figure | None:
    """Draw the ratios with their intervals, a line for each method; nothing without runs."""
    rows = runs_of(runs)
    ratios_of = {metric: ratios(rows, metric) for metric in PICTURED}
    if ratios_of["mae"].empty:
        return None
    drawn, (line,) = pictures.panels(1, len(PICTURED), (8.5, 4.4), sharey=True)
    order = ratios_of["mae"]["ratio"].sort_values(ascending=False, kind="stable").index
    for axis, (metric, words) in zip(line, PICTURED.items(), strict=True):
        found = ratios_of[metric]
        axis.axvline(1, color=method_names.color(OURS), linewidth=1.5)
        for place, method in enumerate(order):
            if method not in found.index:
                axis.text(1.03, place, "no probabilities", color=pictures.GREY, fontsize=8, va="center")
                continue
            low, high = found.loc[method, "interval"]
            color = method_names.color(method)
            axis.plot([low, high], [place, place], color=color, linewidth=2)
            axis.plot(found.loc[method, "ratio"], place, "o", color=color)
        axis.set(
            xscale="log", title=words, xlabel=f"loss / loss of {OURS}\nlower is better; right of 1: worse than ours"
        )
        axis.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axis.minorticks_off()
    line[0].set_yticks(range(len(order)), [method_names.IN_PICTURES.get(method, method) for method in order])
    for label, method in zip(line[0].get_yticklabels(), order, strict=True):
        label.set_color(method_names.color(method))
    return drawn
