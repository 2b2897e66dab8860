"""Printed figures beside ours: the thesis's Tables 5.2 and 5.3 with its own cut, published errors of natural sets."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
from lib.methods import (
    AS_PRINTED,
    LIKE_ENGINE,
    MORE_ROUNDS,
    MOST_ROUNDS,
    MULTICLASS,
    ONE_LEAF_ROW,
    ONE_ROW,
    OURS,
    PATIENCE,
    PROPORTIONAL,
    ROUNDED,
)

PUBLISHED = json.loads((Path(__file__).parents[1] / "published.json").read_text(encoding="utf-8"))
JOINT = "native joint"  # the split gain and the step of the thesis's method
# Methods with one row to a leaf on the nine smallest sets, of accuracy.py's experiment of that name.
ONE_ROW_FILE = report.RESULTS / "one_row_runs.csv"
# The method as the thesis describes it, of accuracy.py's experiment of that name.
AS_PRINTED_FILE = report.RESULTS / "as_printed_runs.csv"
OWN = next(iter(AS_PRINTED))
# Multiclass and rounded regression that differ from ours in the loss alone: through XGBoost, and as the engine grows.
RIVALS = {"XGBoost": (MULTICLASS, ROUNDED), "scikit-learn": LIKE_ENGINE}
# Each of ours beside the column of the thesis that it stands for.
BESIDE = {OWN: None, JOINT: "AT", OURS: None, MULTICLASS: "MC", ROUNDED: "MSE"}
THESIS_RUNS = ("sixteen", *accuracy.AS_PRINTED_RUN, *accuracy.ONE_ROW_RUN)
# Whose findings are tested, and those that the native engine grows.
FOUND, ENGINES = (OWN, JOINT, OURS, PROPORTIONAL), (OWN, JOINT)
KINDS = ("multiclass", "rounded")
ALL_RIVALS = (*RIVALS["XGBoost"], *RIVALS["scikit-learn"], *(name + ONE_LEAF_ROW for name in RIVALS["scikit-learn"]))
PARTS_BY = ("mae", "rps")
# A mean that is above the published best by less has reached it: three decimals are printed.
ROUNDING = 0.0005


def tables(runs: pd.DataFrame, one_row: pd.DataFrame, as_printed: pd.DataFrame) -> dict[str, Table]:
    parts_of_it = [part for part in (runs, one_row, as_printed) if len(part)]
    everything = pd.concat(parts_of_it) if len(parts_of_it) > 1 else runs
    cut = with_one_row(thesis_runs(everything))
    by_rule = with_one_row(thesis_runs(everything, decisions=True))
    in_findings = cut[cut["method"].isin([*FOUND, *(name + ONE_LEAF_ROW for name in ENGINES), *RIVALS["XGBoost"]])]
    natural = accuracy_tables.select(runs, "ordinal", "classes")
    return {
        "thesis zero-one": noted(beside(cut, "zero_one"), cut[cut["method"].isin(BESIDE)]),
        "thesis MAE": noted(beside(cut, "mae"), cut[cut["method"].isin(BESIDE)]),
        "thesis findings": noted(findings(cut, by_rule), in_findings),
        "thesis beside its print": noted(beside_print(cut), cut[cut["method"].isin([OWN, JOINT, OURS])]),
        "thesis's method, its parts": noted(parts(cut), cut[cut["method"].isin(AS_PRINTED)]),
        "published": noted(published(natural), natural[natural["method"].isin(accuracy_tables.MAIN)]),
    }


def thesis_runs(runs: pd.DataFrame, decisions: bool = False) -> pd.DataFrame:
    """Return the runs of the sixteen sets with the classes that the thesis's printed errors fit.

    With ``decisions`` those of the three decision rules, which stand behind the method's name.
    """
    in_cut = ((runs["rule"] == "width") & runs["data"].isin(THESIS_WIDTH)) | (
        (runs["rule"] == "rank") & runs["data"].isin(THESIS_RANK)
    )
    experiments = [name + accuracy.DECISIONS * decisions for name in THESIS_RUNS]
    return runs[runs["experiment"].isin(experiments) & in_cut]


def decided(runs: pd.DataFrame, rule: str = "mode") -> pd.DataFrame:
    """Return the runs of the thesis's cut with one rule's answers, by default the mode, under the method's name."""
    of_rules = thesis_runs(runs, decisions=True)
    of_rule = of_rules[of_rules["method"].str.endswith(f", {rule}")]
    return of_rule.assign(method=of_rule["method"].str.removesuffix(f", {rule}"))


def findings(runs: pd.DataFrame, by_rule: pd.DataFrame) -> Table:
    """Return the thesis's four findings, tested with each method and one decision for all of them."""
    rows = [_printed_findings()] if len(by_rule) else []
    for ours in FOUND:
        for suffix in ("", ONE_LEAF_ROW) if ours in ENGINES else ("",):
            for rule in ("median", "mode"):
                mine = decided(by_rule, rule).query("method == @ours + @suffix")
                for trainer in RIVALS if ours in ENGINES else ("XGBoost",):
                    one_row = suffix if trainer == "scikit-learn" else ""
                    rivals = [name + one_row for name in RIVALS[trainer]]
                    row = {"method": ours, "rows to a leaf": _rows_to_a_leaf(ours, suffix), "answers": rule}
                    row |= {"rivals": trainer} | _tested(
                        pd.concat([mine, runs[runs["method"].isin(rivals)]]), ours + suffix, rivals
                    )
                    row["constant answers"] = _constant(mine)
                    if len(mine) and row["confirmed"]:
                        rows.append(row)
    constant = ", ".join(f"{name} {_constant(runs[runs['method'] == name])}" for name in ALL_RIVALS)
    partitions = runs[runs["method"].isin(LIKE_ENGINE)].groupby("data")["seed"].nunique()
    of_engine = f" It ran on {partitions.min()} to {partitions.max()} partitions a set." if len(partitions) else ""
    note = (
        "Wins / ties / losses over the sets, and the one-sided p-value of the signed ranks; a finding is confirmed "
        f"below {statistics.DUNN_SIDAK:.3f}. One decision rule for all four. The thesis does not say how its "
        "method answers. 1 row to a leaf: on the nine smallest sets, 20 on the others; so has scikit-learn, whose "
        f"trees, rate and penalty are the engine's.{of_engine} Constant answers: the share of trainings that "
        f"give all test rows one class; of the rivals {constant}."
    )
    return Table(rows, note if len(rows) > 1 else "")


def _rows_to_a_leaf(ours: str, suffix: str) -> str:
    return "1" if suffix else "20" if ours not in (OURS, PROPORTIONAL) else "-"


def _printed_findings() -> dict[str, Any]:
    """Return the tests of the errors that the thesis prints."""
    row: dict[str, Any] = {"method": "thesis, printed", "rows to a leaf": "-", "answers": "-", "rivals": "its own"}
    values = {metric: printed(metric).loc[list(SIXTEEN)] for metric in ("zero_one", "mae")}
    found = {
        (metric, kind): accuracy_tables.signed_rank(values[metric]["AT"], values[metric][other], metric, "AT", other)
        for metric in values
        for kind, other in zip(KINDS, ("MC", "MSE"), strict=True)
    }
    return row | _cells(found) | {"constant answers": "-"}


def _tested(runs: pd.DataFrame, ours: str, rivals: Sequence[str]) -> dict[str, str]:
    found = {
        (metric, kind): accuracy_tables.test(runs, metric, ours, rival)
        for metric in ("zero_one", "mae")
        for kind, rival in zip(KINDS, rivals, strict=True)
    }
    return _cells(found) if all(found.values()) else {"confirmed": ""}


def _cells(found: dict[tuple[str, str], dict[str, str]]) -> dict[str, str]:
    cells = {
        f"{METRICS[metric]}, {kind}": f"{test['wins / ties / losses']}, p {test['p']}"
        for (metric, kind), test in found.items()
    }
    return cells | {"confirmed": f"{sum(test['significant'] == 'yes' for test in found.values())} of 4"}


def _constant(runs: pd.DataFrame) -> str:
    """Return the share of runs whose answers are all one class, which makes kappa zero but for rounding."""
    return f"{(runs['qwk'].abs() < 1e-9).mean():.3f}"


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
    small = runs[runs["experiment"].isin(accuracy.ONE_ROW_RUN)]
    for suffix, of_leaf in (("", runs), (ONE_LEAF_ROW, small)):
        for variant in (*list(AS_PRINTED)[1:], JOINT):
            row: dict[str, Any] = {"variant": variant, "rows to a leaf": _rows_to_a_leaf(variant, suffix)}
            for metric in PARTS_BY:
                both = statistics.pair(of_leaf, metric, (OWN + suffix, variant + suffix)).means.dropna()
                row.setdefault("sets", str(len(both)))
                if len(both):
                    found = statistics.relative(both, OWN + suffix).loc[variant + suffix]
                    lines.append((METRICS[metric], found))
                    row[METRICS[metric]] = accuracy_tables.ratio(found)
            if row["sets"] != "0":
                rows.append(row | {"at the limit": _at_the_limit(of_leaf, variant + suffix)})
    note = (
        f"Error / error of the whole method: {accuracy_tables.RATIO}.{accuracy_tables.solved(lines)} At the limit: "
        f"trainings whose best round is among the last {PATIENCE} of {MOST_ROUNDS}, or of {MORE_ROUNDS:,} with one row "
        f"to a leaf; of the whole method {_at_the_limit(runs, OWN)} and {_at_the_limit(small, OWN + ONE_LEAF_ROW)}. "
        f"`{JOINT}` is trained once more on all rows, without a set that judges steps."
    )
    return Table(rows, note if rows else "")


def _at_the_limit(runs: pd.DataFrame, method: str) -> str:
    rounds = runs.loc[runs["method"] == method, "rounds"].astype(float)
    limit = MORE_ROUNDS if method.startswith(OWN) and method.endswith(ONE_LEAF_ROW) else MOST_ROUNDS
    return f"{int((rounds >= limit - PATIENCE).sum())} of {len(rounds)}"


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
        row: dict[str, Any] = {"data": data}
        if metric == "zero_one":
            row["classes"] = f"{first['n_classes']}, {first['rule']}"
        for method in methods:
            row[method] = f"{paired.means.loc[data, method]:.3f}"
            if column := BESIDE[method]:
                row[f"thesis {column}"] = f"{theirs.loc[data, column]:.3f}"
        rows.append(row)
    note = f"{METRICS[metric]}, mean over the partitions."
    if metric == "zero_one":
        note += (
            f" Printed: {PUBLISHED['thesis']['source']}; the two bank sets stand there in each other's place. AT is "
            "its method, MC its multiclass, MSE its rounded squared error."
        )
    return Table(rows, note if rows else "")


def with_one_row(runs: pd.DataFrame) -> pd.DataFrame:
    """Return runs where methods with one row to a leaf, which ran on the smallest sets, are as usual on the others."""
    ends = ("", ", median", ", mode", ", mean")
    names = {name.removesuffix(ONE_LEAF_ROW) + end: name + end for name in ONE_ROW for end in ends}
    small = runs.loc[runs["method"].isin(names.values()), "data"].unique()
    others = runs[~runs["data"].isin(small) & runs["method"].isin(names)] if len(small) else runs[:0]
    return pd.concat([runs, others.assign(method=others["method"].map(names))]) if len(others) else runs


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
