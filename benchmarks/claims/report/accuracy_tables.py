"""The tables of docs/evidence.md, from the rows that accuracy.py has written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import gmean

from claims.accuracy.accuracy import SLOW
from lib import report, statistics
from lib.generated import Table
from lib.methods import MULTICLASS, OURS, PROPORTIONAL, ROUNDED

MAIN = (OURS, PROPORTIONAL, MULTICLASS, ROUNDED)
METRICS = {
    "zero_one": "zero-one",
    "mae": "MAE",
    "macro_mae": "macro MAE",
    "qwk": "1 - QWK",
    "rps": "RPS",
    "log_loss": "log loss",
}
PICTURED = ("mae", "rps")
# Packages whose versions are said where a method of theirs is: part of its name.
VERSIONS = {
    "scikit-learn": "hgb",
    "catboost": "CatBoost",
    "mord": "mord",
    "ogboost": "ogboost",
    "statsmodels": "OrderedModel",
    "xgbordinal": "XGBOrdinal",
}
# Experiment and rule of the classes; each is a case whose tables are called "sixteen quantile errors" and so on.
CASES = (("sixteen", "quantile"), ("sixteen", "rank"), ("sixteen", "width"), ("ordinal", "classes"))
# Experiments that compare variants of ours, over all rules of the classes at once.
VARIANTS = ("design", "design, few rows", "ablation")
# Experiments that have no tables of their own by case: the variants, and the runs that only seconds are read off.
NO_CASE = (*VARIANTS, "seconds")
# With these rules the main methods have run on all sets, and others on those that the thesis cut so.
MAIN_ONLY = (("sixteen", "rank"), ("sixteen", "width"))
KEYS = ("experiment", "data", "rule", "method", "setting", "failure", "machine")
BETWEEN = "with its 95% interval over the sets"


def read(path: Path) -> pd.DataFrame:
    """Return the runs, small data sets first, each with its machine; without a file, none."""
    columns = (*KEYS, "seed", "n_train", "n_test", "n_classes", "fit_seconds", *METRICS)
    if not path.exists():
        return pd.DataFrame(columns=list(columns))
    runs = pd.read_csv(
        path,
        dtype=dict.fromkeys(KEYS, str),
        keep_default_na=False,
        na_values={"failure": []} | {column: [""] for column in columns if column not in KEYS},
    )
    if lacking := set(columns) - set(runs):
        raise ValueError(f"{path} must have the columns of accuracy.py; it lacks {', '.join(sorted(lacking))}")
    runs["machine"] = machine_texts(runs["machine"], path)
    return runs.sort_values(["n_train", "data", "seed", "method"], kind="stable", ignore_index=True)


def read_rows(path: Path) -> pd.DataFrame:
    """Return the rows of another script, each with its machine."""
    runs = pd.read_csv(path, dtype={"machine": str, "failure": str}, keep_default_na=False, na_values=[""])
    runs["machine"] = machine_texts(runs["machine"], path)
    return runs


def machine_texts(numbers: pd.Series, path: Path) -> pd.Series:
    """Return the machines that numbers stand for, as JSON, from the file beside the runs."""
    named = {str(i): json.dumps(where) for i, where in enumerate(report.machines(path), 1)}
    return numbers.map(lambda number: named.get(number, ""))


def noted(table: Table, runs: pd.DataFrame) -> Table:
    """Return a table with the partitions and the machines of the runs that it was made from."""
    if not table.rows or runs.empty:
        return table
    shared = shared_partitions(runs)
    counts, seeds = shared.value_counts("data"), pd.to_numeric(shared["seed"])
    few = f"{counts.min()} to " if counts.min() < counts.max() else ""
    partitions = f"{few}{counts.max()} partitions a set, by seeds {seeds.min()} to {seeds.max()}."
    note = "One partition a set." if counts.max() == 1 else partitions
    if machines := sorted(set(runs["machine"]) - {""}):
        methods = " ".join(runs["method"].unique())
        more = [package for package, name in VERSIONS.items() if name in methods]
        note += " " + report.measured_on(*map(json.loads, machines), more=more)
    return Table(table.rows, "\n\n".join(filter(None, [table.note, note])))


def shared_partitions(runs: pd.DataFrame) -> pd.DataFrame:
    """Return data (of a size) and seed of the partitions on which the methods of each set are compared."""
    if "rows" in runs:
        runs = runs.assign(data=runs["data"] + " " + runs["rows"].astype(str))
    methods = runs.groupby("data")["method"].transform(lambda names: ", ".join(sorted(set(names))))
    pairs = [statistics.pair(alike, "mae", methods_of(alike, "mae")) for _, alike in runs.groupby(methods)]
    return pd.concat([paired.values.index.to_frame(index=False) for paired in pairs])


def tables(runs: pd.DataFrame) -> dict[str, Table]:
    """Return every table by name; one that has no runs yet has no rows."""
    found = {}
    present = runs.loc[~runs["experiment"].str.contains("decisions"), ["experiment", "rule"]].drop_duplicates()
    present = present[~present["experiment"].isin(NO_CASE)]
    for case in dict.fromkeys([*CASES, *present.itertuples(index=False, name=None)]):
        rows, name = select(runs, *case), " ".join(case)
        main = rows[rows["method"].isin(MAIN)]
        found[f"{name} errors"] = noted(errors(rows), main)
        found[f"{name} tests"] = noted(tests(rows), main)
        found[f"{name} ranks"] = noted(rank_table(rows), rows)
        quick = rows[~rows["method"].isin(SLOW)]
        found[f"{name} ranks, quick methods"] = noted(rank_table(quick), quick)
        found[f"{name} peers"] = noted(peers(rows), rows)
        found[f"{name} plain"] = noted(plain(rows), main)
        timed = select(runs, "seconds", case[1])
        found[f"{name} seconds"] = noted(seconds(timed[timed["data"].isin(rows["data"])]), timed)
        found[f"{name} failures"] = failures(rows)
        found |= {f"{name} {title}": noted(means(rows, metric), rows) for metric, title in METRICS.items()}
        decided = select(runs, f"{case[0]} decisions", case[1])
        found[f"{name} decisions"] = noted(decisions(decided, OURS), decided)
    for experiment in VARIANTS:
        rows, decided = (runs[runs["experiment"] == name] for name in (experiment, f"{experiment} decisions"))
        found[experiment] = noted(variants(rows, PROPORTIONAL, tuple(METRICS)), rows)
        found[f"{experiment} decisions"] = noted(decisions(decided, PROPORTIONAL), decided)
    return found


def select(runs: pd.DataFrame, experiment: str, rule: str) -> pd.DataFrame:
    chosen = runs[(runs["experiment"] == experiment) & (runs["rule"] == rule)]
    return chosen[chosen["method"].isin(MAIN)] if (experiment, rule) in MAIN_ONLY else chosen


def methods_of(runs: pd.DataFrame, metric: str | None = None) -> list[str]:
    """Return the methods, ours first; of a metric, those that have it on some row."""
    measured = runs if metric is None else runs[runs[metric].notna()]
    found = set(measured["method"])
    return [method for method in MAIN if method in found] + sorted(found - set(MAIN), key=str.lower)


def errors(runs: pd.DataFrame) -> Table:
    """Return zero-one error and MAE of the main methods, mean (standard deviation), as in Table 5.2."""
    methods = [method for method in methods_of(runs) if method in MAIN]
    paired = {metric: statistics.pair(runs, metric, methods) for metric in ("zero_one", "mae")}
    rows = []
    for data in paired["mae"].means.index:
        first = runs[runs["data"] == data].iloc[0]
        row = {
            "data": data,
            "K": str(first["n_classes"]),
            "train / test": f"{first['n_train']} / {first['n_test']}",
            "seeds": str(len(paired["mae"].values.loc[data])),
        }
        for metric, pairs in paired.items():
            best = pairs.means.loc[data].round(3).min()
            for method in methods:
                mean, deviation = pairs.means.loc[data, method], pairs.deviations.loc[data, method]
                spread = f" ({deviation:.3f})" if np.isfinite(deviation) else ""
                row[f"{METRICS[metric]} {method}"] = _mark(mean, best) + spread
        rows.append(row)
    return Table(rows, _left_out(paired["mae"]))


def tests(runs: pd.DataFrame) -> Table:
    """Return the four one-sided tests of Table 5.3."""
    found = [test(runs, metric, OURS, other) for metric in ("zero_one", "mae") for other in (MULTICLASS, ROUNDED)]
    return Table([row for row in found if row])


def test(runs: pd.DataFrame, metric: str, ours: str, other: str) -> dict[str, str]:
    """Return the one-sided test that ours is lower; nothing where the two share no runs."""
    both = statistics.once(statistics.pair(runs, metric, (ours, other)).means.dropna())
    return signed_rank(both[ours], both[other], metric, ours, other) if len(both) else {}


def signed_rank(mine: pd.Series, theirs: pd.Series, metric: str, ours: str, other: str) -> dict[str, str]:
    found = statistics.Comparison(mine, theirs)
    return {
        "metric": METRICS[metric],
        "method": ours,
        "against": other,
        "sets": str(len(mine)),
        "wins / ties / losses": found.counts,
        "p": p_text(found.p),
        "Dunn-Sidak level": f"{statistics.DUNN_SIDAK:.3f}",
        "significant": "yes" if found.p < statistics.DUNN_SIDAK else "no",
    }


def ranked(runs: pd.DataFrame, metric: str) -> tuple[pd.DataFrame, statistics.Paired]:
    """Return the ranks of all methods that have the metric, and what they are ranks of."""
    paired = statistics.pair(runs, metric, methods_of(runs, metric))
    return statistics.ranks(paired.means), paired


def rank_table(runs: pd.DataFrame, metrics: Sequence[str] = tuple(METRICS)) -> Table:
    """Return the mean rank of each method by each metric."""
    if runs.empty:
        return Table([])
    columns, between, notes = {}, {}, {}
    for metric in metrics:
        title = METRICS[metric]
        found, paired = ranked(runs, metric)
        columns[title] = found.mean()
        again = pd.DataFrame(statistics.sets_again(found), columns=found.columns) if len(found) > 1 else pd.DataFrame()
        between[title] = {method: interval(statistics.interval(again[method]), 2) for method in again}
        notes[_left_out(paired)] = True
        if found.shape[0] > 1 and found.shape[1] > 2:
            notes[
                f"{title}: {found.shape[1]} methods on {found.shape[0]} sets, Friedman p = "
                f"{p_text(statistics.friedman(found))}, critical difference {critical(found):.2f}."
            ] = True
    table = pd.DataFrame(columns, index=methods_of(runs)).sort_values("MAE", kind="stable")
    best = table.round(2).min()
    rows = [
        {"method": method}
        | {
            title: _mark(value, best[title], 2) + between[title].get(method, "")
            for title, value in table.loc[method].items()
        }
        for method in table.index
    ]
    return Table(rows, " ".join(filter(None, notes)))


def critical(found: pd.DataFrame) -> float:
    return statistics.critical_difference(found.shape[1], found.shape[0])


def drawable(runs: pd.DataFrame, metric: str) -> bool:
    found = ranked(runs, metric)[0]
    return found.shape[0] > 1 and found.shape[1] > 2


def peers(runs: pd.DataFrame) -> Table:
    """Return sets won, tied and lost against every method, and one-sided p-values."""
    rows = []
    for other in methods_of(runs):
        if other == OURS or OURS not in methods_of(runs):
            continue
        row = {f"{OURS} against": other}
        for metric in ("zero_one", "mae", "rps"):
            both = statistics.once(statistics.pair(runs, metric, (OURS, other)).means.dropna())
            found = statistics.Comparison(both[OURS], both[other]) if len(both) else None
            row[METRICS[metric]] = found.counts if found else "-"
            row[f"p {METRICS[metric]}"] = p_text(found.p) if found else "-"
        rows.append(row)
    return Table(rows)


def means(runs: pd.DataFrame, metric: str) -> Table:
    """Return the mean loss of each method on each set."""
    paired = statistics.pair(runs, metric, methods_of(runs, metric))
    rows = []
    for data, values in paired.means.iterrows():
        row = {"data": data, "seeds": str(len(paired.values.loc[data]))}
        rows.append(row | {method: _mark(value, values.round(3).min()) for method, value in values.items()})
    return Table(rows, _left_out(paired))


def plain(runs: pd.DataFrame) -> Table:
    """Return the sets where multiclass or rounded regression was as good as ours or better."""
    rows, n_sets = [], 0
    methods = [method for method in methods_of(runs) if method in MAIN]
    for metric in ("mae", "zero_one"):
        means = statistics.pair(runs, metric, methods).means if OURS in methods else pd.DataFrame()
        n_sets = len(means)
        for data, values in means.iterrows():
            plain = [method for method in (MULTICLASS, ROUNDED) if method in methods]
            if plain and not values[plain].min() > values[OURS]:
                first = runs[runs["data"] == data].iloc[0]
                row = {"metric": METRICS[metric], "data": data, "K": str(first["n_classes"])}
                row["train"] = str(first["n_train"])
                rows.append(row | {method: _mark(values[method], values.round(3).min()) for method in methods})
    return Table(rows, "None of them." if n_sets and not rows else "")


def seconds(runs: pd.DataFrame) -> Table:
    """Return our processor seconds on each set, and those of the others as a ratio to ours, all of one machine."""
    of_ours = runs.loc[runs["method"] == OURS, "machine"]
    runs = runs[runs["machine"].isin(of_ours.mode()[:1])]
    usual = runs.pivot_table("fit_seconds", "data", "method", aggfunc="median", sort=False)
    if OURS not in usual:
        return Table([])
    others = [method for method in methods_of(runs) if method != OURS and method in usual]
    ratios = usual[others].div(usual[OURS], axis=0)
    rows = [
        {"data": data, "train": str(runs.loc[runs["data"] == data, "n_train"].iloc[0])}
        | {f"{OURS}, s": f"{usual.loc[data, OURS]:.3g}"}
        | {method: _number(ratios.loc[data, method], 2) for method in others}
        for data in usual.index
    ]
    geometric = {method: _number(gmean(ratios[method].dropna()), 2) for method in others}
    return Table([*rows, {"data": "geometric mean", "train": "", f"{OURS}, s": ""} | geometric])


def failures(runs: pd.DataFrame) -> Table:
    """Return where a method gave no result, and why."""
    failed = runs[runs["failure"] != ""]
    groups = failed.groupby(["method", "data"], sort=False)
    rows = [
        {"method": method, "data": data, "seeds": str(len(group)), "reasons": "; ".join(sorted(set(group["failure"])))}
        for (method, data), group in groups
    ]
    none = "Every method gave a result everywhere." if len(runs) and not rows else ""
    return Table(sorted(rows, key=lambda row: (row["method"].lower(), row["data"])), none)


def variants(runs: pd.DataFrame, reference: str, metrics: Sequence[str]) -> Table:
    """Return each variant's losses relative to the reference's, and sets won, tied and lost against it."""
    if reference not in set(runs["method"]):
        return Table([])
    # Each against the reference alone: a variant that has not run everywhere takes no set from the others.
    others = [method for method in sorted(set(runs["method"]), key=str.lower) if method != reference]
    rows, lines = [], []
    for other in others:
        row: dict[str, Any] = {"variant": other}
        for metric in metrics:
            both = statistics.pair(runs, metric, (reference, other)).means.dropna()
            found = statistics.relative(both, reference).loc[other]
            lines.append((METRICS[metric], found))
            row.setdefault("sets", str(len(both)))
            row[METRICS[metric]] = ratio(found) if len(both) else "-"
        rows.append(row)
    return Table(rows, f"Loss / loss of `{reference}`: {RATIO}.{solved(lines)}")


def decisions(runs: pd.DataFrame, ours: str) -> Table:
    """Return what each decision rule costs beside our median, by the metrics that judge decisions."""
    return variants(runs, f"{ours}, median", ("zero_one", "mae", "macro_mae", "qwk"))


def _left_out(paired: statistics.Paired) -> str:
    parts = [
        f"{method} gave no result on {', '.join(sets)} and ranks last there."
        for method, sets in paired.failures.items()
    ]
    if paired.missing:
        parts.append(f"Left out, since some method has no run there yet: {', '.join(paired.missing)}.")
    return " ".join(parts)


def ratio(found: pd.Series, counts: str = "") -> str:
    """Return a line of :func:`statistics.relative` as text."""
    beside = f"{interval(found['interval'])}, {_number(found['median'], 3)}"
    return f"{_number(found['ratio'], 3)}{beside} ({counts or found['counts']}; {p_text(found['p'])})"


def solved(found: Iterable[tuple[str, pd.Series]]) -> str:
    """Return which sets the means of some metrics leave out."""
    by_set: dict[str, dict[str, bool]] = {}
    for title, line in found:
        for data in line["solved"]:
            by_set.setdefault(data, {})[title] = True
    named = "; ".join(f"{data} by {', '.join(titles)}" for data, titles in by_set.items())
    return f" Left out, since one of both solves them: {named}." if named else ""


# How these cells are read.
RATIO = "geometric mean over the sets [95% interval], median (sets won / tied / lost; two-sided p of signed ranks)"


def interval(between: statistics.Interval, decimals: int = 3) -> str:
    """Return an interval as it stands behind a number; nothing where there is none."""
    low, high = between
    return f" [{low:.{decimals}f}, {high:.{decimals}f}]" if np.isfinite(low) else ""


def _number(value: float, decimals: int) -> str:
    return f"{value:.{decimals}f}" if np.isfinite(value) else "-"


def _mark(value: float, best: float, decimals: int = 3) -> str:
    text = _number(value, decimals)
    return f"**{text}**" if np.round(value, decimals) <= best else text


def p_text(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1e}"
