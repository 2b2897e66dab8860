"""Compute the printed numbers of five pages again from the raw runs, by code that shares nothing with the tables'.

    python benchmarks/claims/report/recompute.py

README, plain_call, distributions, confirmation and the findings of thesis: each mean, median, interval, count and p is
compared with what the page prints, as far as it is printed. Differences are listed, and the exit status is 1 with any.
Then each headline is computed without each set in turn, and those sets are named without which it turns.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student, wilcoxon

ROOT = Path(__file__).resolve().parents[3]
RUNS = ROOT / "benchmarks" / "results"
ERRORS = ("mae", "zero_one", "rps", "log_loss")
SHARED = {"cpu_small": "cpu_act", "census8L": "census16H", "diabetes012": "brfss_genhlth"}
ENGINE, CATBOOST = "HistGradientBoostingOrdinalClassifier()", "CatBoostClassifier()"
Row = dict[str, str]
Means = dict[tuple[str, str], dict[str, float]]


def read(name: str) -> list[Row]:
    with (RUNS / f"{name}_runs.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def printed(page: str, name: str) -> list[Row]:
    """Return the rows of a page's generated table, or of a result, which is a page of its own."""
    text = (ROOT / page).read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    block = text.rpartition(f"<!-- generated: {name} -->")[2].split("<!-- end -->")[0]
    head, _, *lines = [line.strip("| ").split(" | ") for line in block.splitlines() if line.startswith("|")]
    return [dict(zip(head, line, strict=True)) for line in lines]


class Checks:
    """Cells compared so far, and where they differ."""

    def __init__(self) -> None:
        self.count = 0
        self.differences: list[str] = []

    def same(self, where: str, page: str, own: str) -> None:
        self.count += 1
        if page != own:
            self.differences.append(f"{where}: the page has {page!r}, the runs give {own!r}")


def rows_of_set(name: str) -> str:
    name = name.partition(",")[0]
    return SHARED.get(name, name)


def by_rows(logs: dict[str, float]) -> NDArray[np.float64]:
    """Return one logarithm, or difference, for all sets with the same rows."""
    groups: dict[str, list[float]] = defaultdict(list)
    for data, log in logs.items():
        groups[rows_of_set(data)].append(log)
    return np.array([np.mean(groups[name]) for name in sorted(groups)])  # draws of sets depend on their order


def counts(logs: NDArray[np.float64]) -> str:
    rounded = np.round(logs, 12)
    return f"{(rounded < 0).sum()} / {(rounded == 0).sum()} / {(rounded > 0).sum()}"


def p_lower(differences: NDArray[np.float64]) -> float:
    untied = np.round(differences, 12)
    untied = untied[untied != 0]
    return float(wilcoxon(untied, alternative="less", method="exact").pvalue) if len(untied) else 1.0


def t_interval(logs: NDArray[np.float64]) -> tuple[float, float]:
    half = student.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs))
    return float(np.exp(logs.mean() - half)), float(np.exp(logs.mean() + half))


def drawn(logs: NDArray[np.float64], statistic: Callable[..., Any]) -> tuple[float, float]:
    """Return the middle 95% of 4,000 draws of the sets."""
    places = np.random.default_rng(0).integers(len(logs), size=(4000, len(logs)))
    low, high = np.quantile(statistic(logs[places], axis=1), [0.025, 0.975])
    return float(low), float(high)


def means_of(rows: Iterable[Row], columns: Iterable[str], without: Iterable[tuple[str, str]] = ()) -> Means:
    sums: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if not row.get("failure") and (row["data"], row["seed"]) not in without:
            for column in columns:
                sums[row["method"], row["data"]][column].append(float(row[column]))
    return {key: {column: float(np.mean(values)) for column, values in each.items()} for key, each in sums.items()}


def diverged(rows: list[Row], method: str) -> list[tuple[str, str]]:
    fits: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for row in rows:
        if row["method"] == method and not row["failure"]:
            fits[row["data"]].append((float(row["log_loss"]), row["seed"]))
    return [
        (data, seed)
        for data, each in fits.items()
        for loss, seed in each
        if loss > 10 * np.median([one for one, _ in each])
    ]


def on_one_machine(rows: list[Row], method: str, beside: str) -> list[Row]:
    """Return the fits of both methods on the partitions that one machine has fitted by both."""
    run = ("data", "seed", "machine")
    ours, theirs = (
        {tuple(row[key] for key in run) for row in rows if row["method"] == one} for one in (method, beside)
    )
    return [row for row in rows if tuple(row[key] for key in run) in ours & theirs]


def plain_logs(rows: list[Row], method: str, beside: str, n_test: dict[str, int]) -> dict[str, dict[str, float]]:
    """Return the logarithms of ratios by error and set, without the sets that one of both solves."""
    without = diverged(rows, beside)
    of_errors, of_seconds = (
        means_of(rows, ERRORS, without),
        means_of(on_one_machine(rows, method, beside), ("seconds",), without),
    )
    found: dict[str, dict[str, float]] = {}
    for error in (*ERRORS, "seconds"):
        means, found[error] = of_seconds if error == "seconds" else of_errors, {}
        for one, data in means:
            if one == method and (beside, data) in means:
                pair = means[method, data][error], means[beside, data][error]
                if error == "seconds" or min(pair) >= 1 / n_test[data]:
                    found[error][data] = float(np.log(pair[0] / pair[1]))
    return found


def check_plain(checks: Checks, n_test: dict[str, int]) -> None:
    evaluation, aside = read("plain_call_evaluation"), read("plain_call_confirmation")
    first, first_aside = ([row for row in rows if row["seed"] == "0"] for rows in (evaluation, aside))
    cut, looked_at = {"bike_sharing_hour", "kin8nm", "puma32H"}, {"maternal_health", "fetal_health", "wine_white"}
    for table, rows in (
        ("plain_call", evaluation),
        ("plain_call_rivals", first),
        ("plain_call_before", evaluation),
        ("plain_call_confirmation", aside),
        ("plain_call_confirmation_before", aside),
        ("plain_call_aside_rivals", [row for row in first_aside if row["data"] not in cut]),
        ("plain_call_aside_looked_at", [row for row in first_aside if row["data"] in looked_at]),
        ("same_settings", read("same_settings_evaluation")),
    ):
        beside = ""
        page = f"benchmarks/results/{table}.md" if "aside" in table else "docs/evidence/plain_call.md"
        for row in printed(page, table):
            if row["mae"] == "1":
                beside = row["method"]
                continue
            found = plain_logs(rows, row["method"], beside, n_test)
            for error in ERRORS:
                logs = by_rows(found[error])
                low, high = t_interval(logs)
                own = f"{np.exp(logs.mean()):.3f} [{low:.3f}, {high:.3f}]; {np.exp(np.median(logs)):.3f}; "
                own += f"{counts(logs)}, p {p_lower(logs):.2g}"
                checks.same(f"{table}, {row['method']}, {error}", row[error], own)
            seconds = by_rows(found["seconds"])
            own = f"{np.exp(seconds.mean()):.3f} ({(seconds < 0).sum()})" if len(seconds) else "-"
            checks.same(f"{table}, {row['method']}, seconds", row["seconds"], own)


def readme_ratios(beside: str, column: str) -> dict[str, float]:
    rows = [row for row in read("plain_call_evaluation") if not row["failure"]]
    if column == "seconds":
        rows = on_one_machine(rows, ENGINE, beside)
    seeds = {(row["data"], row["seed"]) for row in rows if row["method"] == beside}
    means = means_of((row for row in rows if (row["data"], row["seed"]) in seeds), (column,))
    return {
        data: float(np.log(means[ENGINE, data][column] / each[column]))
        for (method, data), each in means.items()
        if method == beside
    }


README_ROWS = ("XGBClassifier()", "LGBMClassifier()", "HistGradientBoostingClassifier()", CATBOOST)


def check_readme(checks: Checks) -> None:
    table = printed("README.md", "readme")
    for beside, row in zip((*README_ROWS, "four bagged XGBClassifier"), table, strict=True):
        for column, name in (("rps", "RPS"), ("log_loss", "log loss"), ("seconds", "time")):
            ratios = np.exp(by_rows(readme_ratios(beside, column)))
            if not len(ratios):
                checks.same(f"README, {beside}, {name}", row[name], "-")
                continue
            low, high = drawn(ratios, np.median)
            between = "" if name == "time" else f" {low:.2f}-{high:.2f}"
            own = f"{np.median(ratios):.2f}{between} ({(ratios < 1).sum()})"
            checks.same(f"README, {beside}, {name}", row[name], own)


def distribution_means() -> Means:
    rows = read("distributions")
    methods = {row["method"] for row in rows}
    have: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        have[row["data"], row["seed"]].add(row["method"])
    short = [case for case, found in have.items() if found != methods]
    return means_of(rows, ("crps", "mae", "mse", "seconds", "coverage"), short)


def distribution_logs(means: Means, method: str, column: str = "crps") -> dict[str, float]:
    first = {data: each[column] for (one, data), each in means.items() if one == "ours, native"}
    return {
        data: float(np.log(each[column] / first[data]))
        for (one, data), each in means.items()
        if one == method and each[column] > 0 and first[data] > 0
    }


def shown(value: float) -> str:
    return f"{value:.3g}"


def check_distributions(checks: Checks) -> None:
    means = distribution_means()
    data_sets, methods = sorted({data for _, data in means}), sorted({method for method, _ in means})
    table = np.array([[means[method, data]["crps"] for method in methods] for data in data_sets])
    ranks = (table[:, :, None] > table[:, None, :]).sum(axis=2) + 1.0
    ranks += ((table[:, :, None] == table[:, None, :]).sum(axis=2) - 1) / 2
    for row in printed("docs/evidence/distributions.md", "distributions"):
        method, where = row["method"], f"distributions, {row['method']}"
        of_method = dict(zip(data_sets, ranks[:, methods.index(method)], strict=True))
        checks.same(f"{where}, rank", row["mean rank by CRPS"], shown(float(by_rows(of_method).mean())))
        coverage = float(np.mean([means[method, data]["coverage"] for data in data_sets]))
        checks.same(f"{where}, coverage", row["coverage of 90%"], shown(coverage))
        if method == "ours, native":
            continue
        for column in ("crps", "mae", "mse", "seconds"):
            ratio = float(np.exp(by_rows(distribution_logs(means, method, column)).mean()))
            checks.same(f"{where}, {column}", row[f"{column} / native"], shown(ratio))
        logs = by_rows(distribution_logs(means, method))
        low, high = t_interval(logs)
        checks.same(f"{where}, interval", row["of crps: interval"], f"[{low:.3f}, {high:.3f}]")
        checks.same(f"{where}, median", row["median"], f"{np.exp(np.median(logs)):.3f}")
        checks.same(f"{where}, p", row["p"], f"{p_lower(-logs):.2g}")
        checks.same(f"{where}, lower on", row["native lower on"], str(int((logs > 0).sum())))


DECISION = {"mae": "median", "zero_one": "mode", "qwk": "mean"}
READABLE = {"XGBoost multiclass": "xgb multiclass", "XGBoost rounded": "xgb rounded"}


def paired(ours: list[Row], theirs: list[Row], metric: str) -> dict[str, tuple[float, float]]:
    """Return both means by set, over the partitions that both have."""
    found: list[dict[tuple[str, str], float]] = []
    for rows in (ours, theirs):
        losses = {
            (row["data"], row["seed"]): float(row[metric]) for row in rows if row[metric] not in ("", "nan", "NaN")
        }
        found.append({key: 1 - value if metric == "qwk" else value for key, value in losses.items()})
    pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for key in found[0].keys() & found[1].keys():
        pairs[key[0]].append((found[0][key], found[1][key]))
    return {data: (float(np.mean(pair, axis=0)[0]), float(np.mean(pair, axis=0)[1])) for data, pair in pairs.items()}


def confirmation_logs(method: str, metric: str) -> dict[str, float]:
    rows = read("confirmation")

    def answers(name: str) -> list[Row]:
        asked = [row for row in rows if row["method"] == f"{name}, {DECISION.get(metric)}"]
        return asked or [row for row in rows if row["method"] == name]

    pairs = paired(answers(READABLE.get(method, method)), answers("ordinal shifts"), metric)
    return {data: float(np.log(theirs / ours)) for data, (theirs, ours) in sorted(pairs.items())}


CUT = ("bike_sharing_hour", "kin8nm", "puma32H")


def check_confirmation(checks: Checks) -> None:
    names = {"RPS": "rps", "log loss": "log_loss", "MAE": "mae", "zero-one": "zero_one", "1 - QWK": "qwk"}
    for table in ("confirmation", "confirmation kinds"):
        for row in printed("docs/evidence/confirmation.md", table):
            for name, metric in names.items():
                if row.get(name, "-") == "-":
                    continue
                kept = {
                    data: log
                    for data, log in confirmation_logs(row["method"], metric).items()
                    if "targets" not in row or (data in CUT) == (row["targets"] == "cut at deciles")
                }
                logs = np.array(list(kept.values()))
                own = f"{np.exp(logs.mean()):.3f} ({counts(logs)})"
                where = f"{table}, {row.get('targets', 'all')}, {row['method']}, {name}"
                checks.same(where, re.sub(r" \[[^]]*\]", "", row[name]), own)
                low, high = np.exp(drawn(logs, np.mean))
                ends = [float(end) for end in re.findall(r"\[([\d.]+), ([\d.]+)\]", row[name])[0]]
                # The draws depend on the order of the sets, so the ends agree as far as 4,000 draws do.
                near = bool(np.allclose(ends, (low, high), atol=0.02))
                checks.same(f"{where}, interval", "near", "near" if near else f"[{low:.3f}, {high:.3f}] for {ends}")


def thesis_rows() -> Iterator[Row]:
    by_size = ("bank8FM", "bank32nh", "cpu_small", "cpu_act", "census8L", "census16H")
    for row in (*read("accuracy"), *read("as_printed"), *read("one_row")):
        experiment = row["experiment"].removesuffix(" decisions")
        rule = "rank" if row["data"] in by_size else "width"
        if experiment.startswith("sixteen") and row["rule"] == rule:
            yield row


def of_leaves(rows: dict[str, list[Row]], method: str, answers: str, leaf: str) -> list[Row]:
    """Return a method's rows; with one row to a leaf where there are such, and the usual ones on the other sets."""
    usual = rows[method + answers]
    if leaf != "1":
        return usual
    small = rows[f"{method}, one row to a leaf{answers}"]
    return small + [row for row in usual if row["data"] not in {one["data"] for one in small}]


def finding(ours: list[Row], rival: list[Row], metric: str) -> dict[str, float]:
    return {data: one - other for data, (one, other) in paired(ours, rival, metric).items()}


def thesis_findings() -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in thesis_rows():
        found[row["method"]].append(row)
    return found


def check_thesis(checks: Checks) -> None:
    rows = thesis_findings()
    for row in printed("docs/evidence/thesis.md", "thesis findings"):
        if row["answers"] == "-":  # of the printed errors
            continue
        where = f"thesis, {row['method']}, {row['rows to a leaf']}, {row['answers']}, {row['rivals']}"
        ours = of_leaves(rows, row["method"], f", {row['answers']}", row["rows to a leaf"])
        trainer, leaf = ("xgb", "20") if row["rivals"] == "XGBoost" else ("hgb", row["rows to a leaf"])
        confirmed = 0
        for column, metric in (("zero-one", "zero_one"), ("MAE", "mae")):
            for kind in ("multiclass", "rounded"):
                differences = by_rows(finding(ours, of_leaves(rows, f"{trainer} {kind}", "", leaf), metric))
                p = p_lower(differences)
                confirmed += p < 1 - 0.95**0.5
                own = f"{counts(differences)}, p {p:.3f}" if p >= 0.001 else f"{counts(differences)}, p {p:.1e}"
                checks.same(f"{where}, {column}, {kind}", row[f"{column}, {kind}"], own)
        checks.same(where, row["confirmed"], f"{confirmed} of 4")
        constant = sum(abs(float(one["qwk"])) < 1e-9 for one in ours) / len(ours)
        checks.same(f"{where}, constant answers", row["constant answers"], f"{constant:.3f}")


def turned(logs: dict[str, float], holds: Callable[[NDArray[np.float64]], bool]) -> str:
    """Return the sets without which a headline turns."""
    turns = [
        left_out
        for left_out in logs
        if holds(by_rows(logs)) != holds(by_rows({data: log for data, log in logs.items() if data != left_out}))
    ]
    return f"{'holds' if holds(by_rows(logs)) else 'does not hold'}; hangs on {', '.join(turns) or 'no set'}"


def headlines(n_test: dict[str, int]) -> Iterator[str]:
    for beside in (*README_ROWS, "four bagged XGBClassifier"):
        for column in ("rps", "log_loss"):
            found = turned(readme_ratios(beside, column), lambda logs: drawn(logs, np.median)[1] < 0)
            yield f"README, median {column} below {beside}, interval below 1: {found}"
    first = [row for row in read("plain_call_evaluation") if row["seed"] == "0"]
    beside_catboost = plain_logs(first, ENGINE, CATBOOST, n_test)
    for error in ERRORS:
        found = turned(beside_catboost[error], lambda logs: t_interval(logs)[1] < 1)
        yield f"plain_call, engine's mean {error} below CatBoost's, interval below 1: {found}"
    means = distribution_means()
    for method in ("quantile forest", "XGBoost, 19 quantiles"):
        found = turned(distribution_logs(means, method), lambda logs: t_interval(logs)[0] > 1)
        yield f"distributions, native's mean CRPS below that of {method}, interval beyond 1: {found}"
    for method in ("XGBoost multiclass", "CatBoost multiclass"):
        nine = {data: log for data, log in confirmation_logs(method, "rps").items() if data not in CUT}
        found = turned(nine, lambda logs: bool(logs.mean() < 0))
        yield f"confirmation, {method} below the default by mean RPS on the nine: {found}"
    rows = thesis_findings()
    for metric in ("zero_one", "mae"):
        for rival, name in READABLE.items():
            differences = finding(rows["ordinal shifts, median"], rows[name], metric)
            found = turned(differences, lambda values: p_lower(values) < 1 - 0.95**0.5)
            yield f"thesis, the default's median below {rival} by {metric}: {found}"


def main() -> int:
    n_test = {row["data"]: int(row["n_test"]) for name in ("accuracy", "confirmation") for row in read(name)}
    checks = Checks()
    check_readme(checks)
    check_plain(checks, n_test)
    check_distributions(checks)
    check_confirmation(checks)
    check_thesis(checks)
    print(f"{checks.count} cells compared, {len(checks.differences)} differ")
    print(*checks.differences, *headlines(n_test), sep="\n")
    return int(bool(checks.differences))


if __name__ == "__main__":
    sys.exit(main())
