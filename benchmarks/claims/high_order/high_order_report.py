"""Tables and figures of high_order.py, from the runs that it stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from lib import pictures, report

Row = dict[str, Any]
ORDERS = [f"order {order}" for order in (2, 3, 4)]
SAME = [f"{order}, setting of order 2" for order in ORDERS[1:]]
PLAIN = [f"{order}, eta 0.1, lambda 1" for order in ORDERS]
LONGER = "order 2, eta x 1.5"
RULES = ["order 3 by its root (eq. 9)", "order 3 expanded (eq. 10)", "order 3, quadratic splits"]
COLORS = {
    "order 2 (Newton)": "#1f5fa8",
    "order 3 (Halley)": "#c1272d",
    "order 4": "#2e7d32",
}
# An accuracy says little where one class has nearly all rows.
MOST_FREQUENT = 0.9


def races(runs: list[Row], name: str, label: str) -> list[Row]:
    found = [row for row in runs if row["kind"] == "race" and row["data"] == name and row["run"] == label]
    return sorted(found, key=lambda row: row["seed"])


def middle(rows: list[Row], column: str) -> float:
    """Return the median over partitions; one that never got there counts as infinite."""
    return float(np.median([np.inf if row[column] is None else row[column] for row in rows]))


def gap(rows: list[Row], base: list[Row], column: str) -> str:
    """Return the median of paired changes, as the paper prints them."""
    changes = []
    for one, other in zip(rows, base, strict=True):
        if other[column] is None:
            continue
        changes.append(np.inf if one[column] is None else one[column] / max(other[column], 1e-9) - 1.0)
    change = float(np.median(changes)) if changes else np.nan
    return f"{100 * change:+.0f}%" if np.isfinite(change) else "not reached"


def shown(value: float) -> str:
    return f"{value:.3g}" if np.isfinite(value) else "not reached"


def reached(rows: list[Row]) -> str:
    return f"{sum(row['seconds'] is not None for row in rows)} / {len(rows)}"


def table_of_orders(runs: list[Row], names: list[str]) -> list[Row]:
    table = []
    for name in names:
        base = races(runs, name, ORDERS[0])
        for label in ORDERS:
            rows = races(runs, name, label)
            says_much = base[0]["most frequent"] < MOST_FREQUENT
            table.append(
                {
                    "data": name,
                    "order": label[-1],
                    "eta": " ".join(dict.fromkeys(f"{row['eta']:g}" for row in rows)),
                    "lambda": " ".join(dict.fromkeys(f"{row['lambda']:g}" for row in rows)),
                    "reached": reached(rows),
                    "seconds": shown(middle(rows, "seconds")),
                    "gap": gap(rows, base, "seconds"),
                    "rounds": shown(middle(rows, "rounds")),
                    "gap of rounds": gap(rows, base, "rounds"),
                    "gap by accuracy": gap(rows, base, "accuracy seconds") if says_much else "",
                    "best test loss": shown(middle(rows, "best test loss")),
                    "at round": shown(middle(rows, "best round")),
                }
            )
    return table


def table_of_equals(runs: list[Row], names: list[str]) -> list[Row]:
    table = []
    for name in names:
        base, plain = races(runs, name, ORDERS[0]), races(runs, name, PLAIN[0])
        row = {"data": name}
        for label, short in zip([*SAME, LONGER], ("order 3", "order 4", "order 2, eta x 1.5"), strict=True):
            row[f"{short}: rounds"] = gap(races(runs, name, label), base, "rounds")
        row["order 2, eta 0.1, lambda 1: rounds"] = shown(middle(plain, "rounds"))
        for label, order in zip(PLAIN[1:], ("order 3", "order 4"), strict=True):
            row[f"{order}, so: rounds"] = gap(races(runs, name, label), plain, "rounds")
        for label, order in zip(PLAIN[1:], ("order 3", "order 4"), strict=True):
            row[f"{order}, so: best loss"] = gap(races(runs, name, label), plain, "best test loss")
            row[f"{order}, so: a round"] = gap(races(runs, name, label), plain, "round ms")
        table.append(row)
    return table


def table_of_rules(runs: list[Row], names: list[str]) -> list[Row]:
    table = []
    for name in names:
        base = races(runs, name, ORDERS[1])
        for label in [ORDERS[1], *RULES]:
            rows = races(runs, name, label)
            table.append(
                {
                    "data": name,
                    "leaves": "Halley (eq. 13)" if label == ORDERS[1] else label,
                    "rounds": shown(middle(rows, "rounds")),
                    "gap to Halley": gap(rows, base, "rounds"),
                    "best test loss": shown(middle(rows, "best test loss")),
                }
            )
    return table


def draw(runs: list[Row], names: list[str], folder: Path) -> None:
    """Draw test losses of the first partition, by seconds and by rounds: three sets a line, tuned above equal."""
    names = [name for name in names if races(runs, name, ORDERS[0])[0]["curve"]]
    lines = [(labels, part) for labels in (ORDERS, PLAIN) for part in (names[:3], names[3:]) if part]
    for column, unit in ((1, "processor seconds"), (0, "rounds")):
        drawn, axes = pictures.panels(len(lines), 3, (10, 2.7 * len(lines)))
        for (labels, part), line in zip(lines, axes, strict=True):
            for name, axis in zip(part, line, strict=False):
                for label, (short, color) in zip(labels, COLORS.items(), strict=True):
                    row = races(runs, name, label)[0]
                    curve = np.array(row["curve"])[1:]
                    axis.plot(curve[:, column], curve[:, 2], color=color, label=short, linewidth=1.3)
                axis.axhline(row["mark"], color=pictures.GREY, linewidth=0.7, linestyle=":")
                axis.set(xscale="log", xlabel=f"{unit} (log)")
                axis.set_title(f"{name}, {'settings tuned' if labels is ORDERS else 'equal settings'}", fontsize=10)
            line[0].set_ylabel("test loss (lower is better)")
            for axis in line[len(part) :]:
                axis.remove()
        drawn.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
        pictures.save(drawn, folder / f"high_order_{unit.split()[-1]}")


NOTE = (
    "Medians over the partitions; processor seconds, one thread. The mark is 99% of the way from the loss without "
    "trees to the test loss of order 2's best long run. eta and lambda are those that reach the like mark on "
    "validation rows first, chosen for every order alike and for all "
    "partitions at once. Binary sets: logistic loss; the others: all-threshold loss, "
    "thresholds learned jointly. `gap` is that of seconds, paired by partition, over those where order 2 reached the "
    "mark; a run that did not reach it there is the slowest. `gap by accuracy`: the same to 99% of the best accuracy, "
    "left out where one class has over 90% of the rows."
)
EQUAL = (
    "Rounds to the mark against order 2 with the same eta and lambda: first order 2's own chosen ones, beside order 2 "
    "with a step half as long again; then eta 0.1 and lambda 1, where nothing is tuned and the mark is 99% of what "
    "order 2 gains so. `a round`: its seconds."
)
RULE = (
    "Leaves of order 3 by other equations, with order 3's chosen setting and splits judged as Halley's; and Halley's "
    "leaves on trees whose splits the quadratic model judges. `gap to Halley`: of rounds, paired by partition, which "
    "is not that of the medians."
)


def write(runs: list[Row], *, small: bool = False) -> None:
    """Write tables and figures; of a small try, print the tables alone."""
    names = list(dict.fromkeys(row["data"] for row in runs))
    if not names:
        return
    tables = {
        "high_order": ("Time to the mark by the order of leaf steps", table_of_orders(runs, names), NOTE),
        "high_order_equal": ("The same settings for every order", table_of_equals(runs, names), EQUAL),
        "high_order_rules": ("Rules of order three", table_of_rules(runs, names), RULE),
    }
    for name, (title, rows, note) in tables.items():
        if small:
            print(report.table(rows), note, sep="\n\n", end="\n\n")
        else:
            report.write(name, title, rows, note)
    if not small:
        draw(runs, names, report.RESULTS.parents[1] / "docs" / "evidence")


if __name__ == "__main__":
    write(json.loads((report.RESULTS / "high_order_runs.json").read_text(encoding="utf-8")))
