"""Printed figures beside ours: the thesis's Tables 5.2 and 5.3 with its own cut, published errors of natural sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from claims.accuracy import accuracy
from claims.report import accuracy_tables
from claims.report.accuracy_tables import METRICS, noted
from lib import report, statistics
from lib.data import SIXTEEN, THESIS_RANK, THESIS_WIDTH
from lib.generated import Table
from lib.methods import AS_PRINTED, MULTICLASS, OURS, PROPORTIONAL, ROUNDED

PUBLISHED = json.loads((Path(__file__).parents[1] / "published.json").read_text(encoding="utf-8"))
JOINT = "native joint"  # the split gain and the step of the thesis's method
# The same with one row to a leaf on the nine smallest sets, of accuracy.py's experiment of that name.
ONE_ROW_FILE = report.RESULTS / "one_row_runs.csv"
ONE_ROW = f"{JOINT}, one row to a leaf"
# The method as the thesis describes it, of accuracy.py's experiment of that name.
AS_PRINTED_FILE = report.RESULTS / "as_printed_runs.csv"
OWN = next(iter(AS_PRINTED))
# Each of ours beside the column of the thesis that it stands for.
BESIDE = {OWN: None, JOINT: "AT", OURS: None, MULTICLASS: "MC", ROUNDED: "MSE"}
# A mean that is above the published best by less has reached it: three decimals are printed.
ROUNDING = 0.0005


def tables(runs: pd.DataFrame, one_row: pd.DataFrame, as_printed: pd.DataFrame) -> dict[str, Table]:
    everything = pd.concat([part for part in (runs, as_printed) if len(part)]) if len(as_printed) else runs
    cut, by_rule = thesis_runs(everything), thesis_runs(everything, decisions=True)
    of_methods = cut[cut["method"].isin([*BESIDE, PROPORTIONAL])]
    natural = accuracy_tables.select(runs, "ordinal", "classes")
    return {
        "thesis zero-one": noted(beside(cut, "zero_one"), of_methods),
        "thesis MAE": noted(beside(cut, "mae"), of_methods),
        "thesis findings": noted(findings(cut, by_rule), of_methods),
        "thesis beside its print": noted(beside_print(cut), cut[cut["method"].isin([OWN, JOINT, OURS])]),
        "thesis's method, its parts": noted(parts(cut), cut[cut["method"].isin(AS_PRINTED)]),
        "thesis tests": noted(tests(cut, decided(runs)), of_methods),
        "thesis tests, one row to a leaf": noted(one_row_tests(cut, one_row), with_one_row(cut, one_row)),
        "published": noted(published(natural), natural[natural["method"].isin(accuracy_tables.MAIN)]),
    }


def thesis_runs(runs: pd.DataFrame, decisions: bool = False) -> pd.DataFrame:
    """Return the runs of the sixteen sets with the classes that the thesis's printed errors fit.

    With ``decisions`` those of the three decision rules, which stand behind the method's name.
    """
    in_cut = ((runs["rule"] == "width") & runs["data"].isin(THESIS_WIDTH)) | (
        (runs["rule"] == "rank") & runs["data"].isin(THESIS_RANK)
    )
    experiments = [name + accuracy.DECISIONS * decisions for name in ("sixteen", *accuracy.AS_PRINTED_RUN)]
    return runs[runs["experiment"].isin(experiments) & in_cut]


def decided(runs: pd.DataFrame, rule: str = "mode") -> pd.DataFrame:
    """Return the runs of the thesis's cut with one rule's answers, by default the mode, under the method's name."""
    of_rules = thesis_runs(runs, decisions=True)
    of_rule = of_rules[of_rules["method"].str.endswith(f", {rule}")]
    return of_rule.assign(method=of_rule["method"].str.removesuffix(f", {rule}"))


def findings(runs: pd.DataFrame, by_rule: pd.DataFrame) -> Table:
    """Return the thesis's four findings, tested with each method and one decision for all of them."""
    rows = []
    rivals = runs[runs["method"].isin((MULTICLASS, ROUNDED))]
    for ours in (OWN, JOINT, OURS, PROPORTIONAL):
        for rule in ("median", "mode"):
            mine = decided(by_rule, rule).query("method == @ours")
            row: dict[str, Any] = {"method": ours, "answers": rule}
            significant = 0
            for metric in ("zero_one", "mae"):
                for other in (MULTICLASS, ROUNDED):
                    found = accuracy_tables.test(pd.concat([mine, rivals]), metric, ours, other) if len(mine) else {}
                    if found:
                        significant += found["significant"] == "yes"
                        row[f"{METRICS[metric]}, {other}"] = f"{found['wins / ties / losses']}, p {found['p']}"
            if len(row) == 6:
                rows.append(row | {"confirmed": f"{significant} of 4"})
    note = (
        "Wins / ties / losses over the sets, and the one-sided p-value of the signed ranks; a finding is confirmed "
        f"below {statistics.DUNN_SIDAK:.3f}. One decision rule for all four. The thesis does not say how its "
        "method answers."
    )
    return Table(rows, note if rows else "")


def beside_print(runs: pd.DataFrame) -> Table:
    """Return how ours stand beside the printed errors of the thesis's method, all-threshold."""
    rows = []
    for ours in (OWN, JOINT, OURS):
        for metric in ("zero_one", "mae"):
            means = statistics.pair(runs, metric, (ours,)).means.dropna()
            if means.empty:
                continue
            theirs = printed(metric).loc[means.index, "AT"]
            ratio = means[ours] / theirs
            p = wilcoxon(np.log(ratio)).pvalue if len(ratio) > 1 else np.nan
            rows.append(
                {
                    "metric": METRICS[metric],
                    "method": ours,
                    "sets": str(len(ratio)),
                    "higher than printed": str(int((ratio > 1).sum())),
                    "ours / printed": f"{np.exp(np.log(ratio).mean()):.3f}",
                    "p": accuracy_tables.p_text(p),
                }
            )
    note = (
        "Mean error of ours, divided by the printed error of the thesis's all-threshold method (AT), geometric mean "
        "over the sets; p of the two-sided signed ranks of the logarithms. Partitions are others, and classes are "
        "those that fit the printed errors best."
    )
    return Table(rows, note if rows else "")


def parts(runs: pd.DataFrame) -> Table:
    """Return the errors of the thesis's method with each of its parts switched off, beside the whole."""
    rows, lines = [], []
    for variant in (*list(AS_PRINTED)[1:], JOINT):
        row: dict[str, Any] = {"variant": variant, "against": OWN}
        for metric in METRICS:
            both = statistics.pair(runs, metric, (OWN, variant)).means.dropna()
            row.setdefault("sets", str(len(both)))
            if len(both):
                found = statistics.relative(both, OWN).loc[variant]
                lines.append((METRICS[metric], found))
                row[METRICS[metric]] = accuracy_tables.ratio(found)
        if row["sets"] != "0":
            rows.append(row)
    note = (
        f"Error / error of the whole method: {accuracy_tables.RATIO}.{accuracy_tables.solved(lines)} "
        f"`{JOINT}` is trained once more on all "
        "rows, without a set that judges steps."
    )
    return Table(rows, note if rows else "")


def printed(metric: str) -> pd.DataFrame:
    """Return a metric of Table 5.2, sets x methods."""
    content = PUBLISHED["thesis"]
    return pd.DataFrame([row[metric] for row in content["rows"]], [row["data"] for row in content["rows"]]).set_axis(
        content["methods"], axis=1
    )


def beside(runs: pd.DataFrame, metric: str) -> Table:
    """Return a metric of Table 5.2 as printed beside the same metric of ours."""
    methods = [method for method in BESIDE if method in set(runs["method"])]
    paired = statistics.pair(runs, metric, methods)
    theirs, rows = printed(metric), []
    for data in (name for name in SIXTEEN if name in paired.means.index):
        first = runs[runs["data"] == data].iloc[0]
        row: dict[str, Any] = {"data": data, "classes": f"{first['n_classes']}, {first['rule']}"}
        for method in methods:
            row[method] = f"{paired.means.loc[data, method]:.3f}"
            if column := BESIDE[method]:
                row[f"thesis {column}"] = f"{theirs.loc[data, column]:.3f}"
        rows.append(row)
    note = (
        f"{METRICS[metric]}, mean over the partitions. Printed: {PUBLISHED['thesis']['source']}; the two bank sets "
        "stand there in each other's place. AT is its method, MC its multiclass, MSE its rounded squared error."
    )
    return Table(rows, note if rows else "")


def tests(runs: pd.DataFrame, modes: pd.DataFrame) -> Table:
    """Return Table 5.3 of the printed numbers, and of ours with the same classes."""
    rows = []
    for metric in ("zero_one", "mae"):
        values = printed(metric).loc[list(SIXTEEN)]
        rows += [
            accuracy_tables.signed_rank(values["AT"], values[other], metric, "thesis AT", f"thesis {other}")
            for other in ("MC", "MSE")
        ]
        for ours in (OWN, JOINT, OURS, PROPORTIONAL):
            rows += [accuracy_tables.test(runs, metric, ours, other) for other in (MULTICLASS, ROUNDED)]
    # Multiclass answers with the most probable class: so does ours here.
    multiclass = runs[runs["method"] == MULTICLASS]
    for ours in (JOINT, OURS, PROPORTIONAL):
        mine = modes[modes["method"] == ours].assign(method=f"{ours}, mode")
        rows.append(
            accuracy_tables.test(pd.concat([mine, multiclass]), "zero_one", f"{ours}, mode", MULTICLASS)
            if len(mine)
            else {}
        )
    return Table([row for row in rows if row] if len(runs) else [])


def with_one_row(runs: pd.DataFrame, one_row: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of the thesis's method, those with one row to a leaf where there are some, and of its rivals."""
    small = one_row[one_row["experiment"].isin(accuracy.ONE_ROW_RUN)]
    kept = runs[runs["method"].isin((JOINT, MULTICLASS, ROUNDED))]
    replaced = (kept["method"] == JOINT) & kept["data"].isin(small["data"])
    parts = [kept[~replaced & (kept["method"] == JOINT)].assign(method=ONE_ROW), kept[kept["method"] != JOINT], small]
    return pd.concat([part for part in parts if len(part)]) if len(small) else small


def one_row_tests(runs: pd.DataFrame, one_row: pd.DataFrame) -> Table:
    """Return the tests of the thesis's method where its smallest sets have leaves of one row, as its rivals do."""
    mixed = with_one_row(runs, one_row)
    pairs = [(metric, other) for metric in ("zero_one", "mae") for other in (MULTICLASS, ROUNDED)]
    rows = [accuracy_tables.test(mixed, metric, ONE_ROW, other) for metric, other in pairs]
    rows = [row for row in rows if row]
    n_small = one_row["data"].nunique()
    return Table(rows, f"One row to a leaf on {n_small} of the sets, 20 on the others; run afterwards." if rows else "")


def lowest(of_set: pd.DataFrame) -> str:
    """Return the method with the lowest mean MAE on the partitions that all share, and its mean."""
    paired = statistics.pair(of_set, "mae", accuracy_tables.methods_of(of_set, "mae"))
    if paired.means.empty:
        return "-"
    means = paired.means.iloc[0]
    return f"{means.idxmin()} {means.min():.3f} ({len(paired.values)})"


def published(runs: pd.DataFrame) -> Table:
    """Return published mean MAE beside ours."""
    natural, rows = PUBLISHED["natural"], []
    for row in natural["rows"]:
        of_set = runs[runs["data"] == row["data"]]
        methods = [method for method in accuracy_tables.MAIN if method in set(of_set["method"])]
        if OURS not in methods:
            continue
        paired = statistics.pair(of_set, "mae", methods)
        mean, deviation = paired.means[OURS].iloc[0], paired.deviations[OURS].iloc[0]
        n_seeds = len(paired.values)
        rows.append(
            {
                "data": row["data"],
                "partitions": str(n_seeds),
                "ours (standard error)": f"{mean:.3f} ({deviation / np.sqrt(n_seeds):.3f})",
                "published best": f"{row['best']:.3f}",
                "reached": "yes" if mean <= row["best"] + ROUNDING else "no",
                "lowest here": lowest(of_set),
            }
            | {f"our run of {method}": f"{paired.means[method].iloc[0]:.3f}" for method in methods if method != OURS}
            | {"published XGBoost multiclass": f"{row['xgboost multiclass']:.3f}"}
        )
    note = (
        f"MAE by the median. Published: {natural['source']}, means over its 30 partitions, the best of its methods on "
        "each set. Their partitions, preparation and tuning differ from ours. `lowest here` is the lowest mean of all "
        "methods of this page, on the partitions that they share, whose number stands in brackets: it may be another "
        "than that of the columns beside it."
    )
    return Table(rows, note if rows else "")
