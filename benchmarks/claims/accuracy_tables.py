"""The tables of docs/evidence.md, from the rows that accuracy.py has written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import gmean

from lib import statistics
from lib.generated import Table

OURS, MULTICLASS, ROUNDED = "ordinal", "xgb multiclass", "xgb rounded"
MAIN = (OURS, MULTICLASS, ROUNDED)
METRICS = {
    "zero_one": "zero-one",
    "mae": "MAE",
    "macro_mae": "macro MAE",
    "qwk": "1 - QWK",
    "rps": "RPS",
    "log_loss": "log loss",
}
PICTURED = ("mae", "rps")
# Experiment and rule of the classes; each is a case whose tables are called "sixteen quantile errors" and so on.
CASES = (("sixteen", "quantile"), ("sixteen", "rank"), ("sixteen", "width"), ("ordinal", "classes"))
# Experiments that compare variants of ours, over all rules of the classes at once.
VARIANTS = ("design", "design, few rows", "ablation")
# Experiments that have no tables of their own by case: the variants, and the runs that only seconds are read off.
NO_CASE = (*VARIANTS, "seconds")
KEYS = ("experiment", "data", "rule", "method", "setting", "failure")
PUBLISHED = json.loads((Path(__file__).parent / "published.json").read_text(encoding="utf-8"))


def read(path: Path) -> pd.DataFrame:
    """Return the runs, small data sets first; without a file, none."""
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
    return runs.sort_values(["n_train", "data", "seed", "method"], kind="stable", ignore_index=True)


def tables(runs: pd.DataFrame) -> dict[str, Table]:
    """Return every table by name; one that has no runs yet has no rows."""
    found = {"goals": goals(select(runs, "sixteen", "quantile"))}
    present = runs.loc[~runs["experiment"].str.contains("decisions"), ["experiment", "rule"]].drop_duplicates()
    present = present[~present["experiment"].isin(NO_CASE)]
    for case in dict.fromkeys([*CASES, *present.itertuples(index=False, name=None)]):
        rows, name = select(runs, *case), " ".join(case)
        found[f"{name} errors"] = errors(rows)
        found[f"{name} tests"] = tests(rows)
        found[f"{name} ranks"] = rank_table(rows, name)
        found[f"{name} peers"] = peers(rows)
        found[f"{name} plain"] = plain(rows)
        timed = select(runs, "seconds", case[1])
        found[f"{name} seconds"] = seconds(timed[timed["data"].isin(rows["data"])])
        found[f"{name} failures"] = failures(rows)
        found |= {f"{name} {title}": means(rows, metric) for metric, title in METRICS.items()}
        found[f"{name} decisions"] = decisions(select(runs, f"{case[0]} decisions", case[1]))
    for experiment in VARIANTS:
        found[experiment] = variants(runs[runs["experiment"] == experiment], OURS, tuple(METRICS))
        found[f"{experiment} decisions"] = decisions(runs[runs["experiment"] == f"{experiment} decisions"])
    found["published"] = published(select(runs, "ordinal", "classes"))
    return found


def select(runs: pd.DataFrame, experiment: str, rule: str) -> pd.DataFrame:
    return runs[(runs["experiment"] == experiment) & (runs["rule"] == rule)]


def methods_of(runs: pd.DataFrame, metric: str | None = None) -> list[str]:
    """Return the methods, ours first; of a metric, those that have it on some row."""
    measured = runs if metric is None else runs[runs[metric].notna()]
    found = set(measured["method"])
    return [method for method in MAIN if method in found] + sorted(found - set(MAIN), key=str.lower)


def errors(runs: pd.DataFrame) -> Table:
    """Return zero-one error and MAE of the three main methods, mean (standard deviation), as in Table 5.2."""
    paired = {metric: statistics.pair(runs, metric, MAIN) for metric in ("zero_one", "mae")}
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
            for method in MAIN:
                mean, deviation = pairs.means.loc[data, method], pairs.deviations.loc[data, method]
                spread = f" ({deviation:.3f})" if np.isfinite(deviation) else ""
                row[f"{METRICS[metric]} {method}"] = _mark(mean, best) + spread
        rows.append(row)
    return Table(rows, _left_out(paired["mae"]))


def tests(runs: pd.DataFrame) -> Table:
    """Return the four one-sided tests of Table 5.3."""
    rows = []
    for metric in ("zero_one", "mae"):
        for other in (MULTICLASS, ROUNDED):
            both = statistics.pair(runs, metric, (OURS, other)).means.dropna()
            if len(both):
                found = statistics.signed_rank(both[OURS], both[other])
                rows.append(
                    {
                        "metric": METRICS[metric],
                        "ordinal against": other,
                        "sets": str(len(both)),
                        "wins / ties / losses": found.counts,
                        "p": _p(found.p),
                        "Dunn-Sidak level": f"{statistics.DUNN_SIDAK:.3f}",
                        "significant": "yes" if found.p < statistics.DUNN_SIDAK else "no",
                    }
                )
    return Table(rows)


def ranked(runs: pd.DataFrame, metric: str) -> tuple[pd.DataFrame, statistics.Paired]:
    """Return the ranks of all methods that have the metric, and what they are ranks of."""
    paired = statistics.pair(runs, metric, methods_of(runs, metric))
    return statistics.ranks(paired.means), paired


def rank_table(runs: pd.DataFrame, name: str) -> Table:
    """Return the mean rank of each method by each metric."""
    if runs.empty:
        return Table([])
    columns, notes = {}, {}
    for metric, title in METRICS.items():
        found, paired = ranked(runs, metric)
        columns[title] = found.mean()
        notes[_left_out(paired)] = True
        if found.shape[0] > 1 and found.shape[1] > 2:
            notes[
                f"{title}: {found.shape[1]} methods on {found.shape[0]} sets, Friedman p = "
                f"{_p(statistics.friedman(found))}, critical difference {critical(found):.2f}."
            ] = True
    table = pd.DataFrame(columns, index=methods_of(runs)).sort_values("MAE", kind="stable")
    best = table.round(2).min()
    rows = [
        {"method": method} | {title: _mark(value, best[title], 2) for title, value in table.loc[method].items()}
        for method in table.index
    ]
    pictures = [f"![{METRICS[metric]} ranks]({picture(name, metric)})" for metric in PICTURED if drawable(runs, metric)]
    return Table(rows, "\n\n".join([" ".join(filter(None, notes)), *pictures]))


def critical(found: pd.DataFrame) -> float:
    return statistics.critical_difference(found.shape[1], found.shape[0])


def picture(name: str, metric: str) -> str:
    return f"evidence/{name.replace(' ', '_')}_{metric}.svg"


def drawable(runs: pd.DataFrame, metric: str) -> bool:
    found = ranked(runs, metric)[0]
    return found.shape[0] > 1 and found.shape[1] > 2


def peers(runs: pd.DataFrame) -> Table:
    """Return sets won, tied and lost against every method, and one-sided p-values."""
    rows = []
    for other in methods_of(runs):
        if other == OURS or OURS not in methods_of(runs):
            continue
        row = {"ordinal against": other}
        for metric in ("zero_one", "mae", "rps"):
            both = statistics.pair(runs, metric, (OURS, other)).means.dropna()
            found = statistics.signed_rank(both[OURS], both[other]) if len(both) else None
            row[METRICS[metric]] = found.counts if found else "-"
            row[f"p {METRICS[metric]}"] = _p(found.p) if found else "-"
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
    for metric in ("mae", "zero_one"):
        means = statistics.pair(runs, metric, MAIN).means
        n_sets = len(means)
        for data, values in means.iterrows():
            if not values[[MULTICLASS, ROUNDED]].min() > values[OURS]:
                first = runs[runs["data"] == data].iloc[0]
                row = {"metric": METRICS[metric], "data": data, "K": str(first["n_classes"])}
                row["train"] = str(first["n_train"])
                rows.append(row | {method: _mark(values[method], values.round(3).min()) for method in MAIN})
    return Table(rows, "None of them." if n_sets and not rows else "")


def seconds(runs: pd.DataFrame) -> Table:
    """Return our processor seconds on each set, and those of the others as a ratio to ours."""
    usual = runs.pivot_table("fit_seconds", "data", "method", aggfunc="median", sort=False)
    if OURS not in usual:
        return Table([])
    others = [method for method in methods_of(runs) if method != OURS and method in usual]
    ratios = usual[others].div(usual[OURS], axis=0)
    rows = [
        {"data": data, "train": str(runs.loc[runs["data"] == data, "n_train"].iloc[0])}
        | {"ordinal, s": f"{usual.loc[data, OURS]:.3g}"}
        | {method: _number(ratios.loc[data, method], 2) for method in others}
        for data in usual.index
    ]
    geometric = {method: _number(gmean(ratios[method].dropna()), 2) for method in others}
    return Table([*rows, {"data": "geometric mean", "train": "", "ordinal, s": ""} | geometric])


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
    rows, n_sets = [], runs["data"].nunique()
    for other in others:
        row: dict[str, Any] = {"variant": other}
        for metric in metrics:
            both = statistics.pair(runs, metric, (reference, other)).means.dropna()
            found = statistics.relative(both, reference).loc[other]
            row.setdefault("sets", str(len(both)))
            row[METRICS[metric]] = f"{_number(found['ratio'], 3)} ({found['counts']})" if len(both) else "-"
        rows.append(row)
    return Table(
        rows,
        f"Geometric mean over at most {n_sets} sets of loss / loss of `{reference}`; in brackets the sets "
        f"won, tied and lost against it.",
    )


def decisions(runs: pd.DataFrame) -> Table:
    """Return what each decision rule costs beside the default's, by the metrics that judge decisions."""
    return variants(runs, f"{OURS}, median", ("zero_one", "mae", "macro_mae", "qwk"))


def goals(runs: pd.DataFrame) -> Table:
    """Return what was to be shown, and whether it was."""
    rows = [
        {
            "goal": f"{test['metric']} lower than that of {test['ordinal against']}",
            "found": f"{test['wins / ties / losses']}, p = {test['p']}",
            "reached": test["significant"],
        }
        for test in tests(runs).rows
    ]
    for metric in PICTURED if len(methods_of(runs)) > len(MAIN) else ():
        mean_ranks = ranked(runs, metric)[0].mean().sort_values()
        ours, others = mean_ranks[OURS], mean_ranks.drop(OURS)
        rows.append(
            {
                "goal": f"lowest mean rank of all methods by {METRICS[metric]}",
                "found": f"{ours:.2f}, best other: {others.idxmin()} {others.min():.2f}",
                "reached": "yes" if ours < others.min() else "no",
            }
        )
    return Table(rows)


def published(runs: pd.DataFrame) -> Table:
    """Return published mean MAE beside ours."""
    natural, rows = PUBLISHED["natural"], []
    for row in natural["rows"]:
        found = statistics.pair(runs[runs["data"] == row["data"]], "mae", MAIN).means
        if len(found):
            rows.append(
                {
                    "data": row["data"],
                    "ours": _number(found[OURS].iloc[0], 3),
                    "published best": _number(row["best"], 3),
                    "our run of XGBoost's multiclass": _number(found[MULTICLASS].iloc[0], 3),
                    "published XGBoost multiclass": _number(row["xgboost multiclass"], 3),
                }
            )
    note = f"Published: {natural['source']}. Their partitions, preparation and tuning differ from ours."
    return Table(rows, note if rows else "")


def _left_out(paired: statistics.Paired) -> str:
    parts = [
        f"{method} gave no result on {', '.join(sets)} and ranks last there."
        for method, sets in paired.failures.items()
    ]
    if paired.missing:
        parts.append(f"Left out, since some method has no run there yet: {', '.join(paired.missing)}.")
    return " ".join(parts)


def _number(value: float, decimals: int) -> str:
    return f"{value:.{decimals}f}" if np.isfinite(value) else "-"


def _mark(value: float, best: float, decimals: int = 3) -> str:
    text = _number(value, decimals)
    return f"**{text}**" if np.round(value, decimals) <= best else text


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1e}"
