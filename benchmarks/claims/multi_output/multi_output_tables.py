"""Tables of multi_output.py: functions of its runs, curves and rounds."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from claims.multi_output import multi_output_methods
from claims.multi_output.multi_output_data import KINDS
from claims.multi_output.multi_output_methods import (
    EACH,
    HESSIAN_RUNS,
    HUNDRED_ROUNDS,
    PATIENCE,
    RIVAL_ROUNDS,
    ROUNDS,
    VECTOR,
)
from claims.report.shifts_table import MEASURES, ratios
from lib.runner import Row

METHODS = list(multi_output_methods.METHODS)
# Table III; the paper's GBDT-SO is one engine an output.
PRINTED = {("friedman1", EACH): 0.1540, ("friedman1", VECTOR): 0.1429} | {
    ("random projection", EACH): 0.0204,
    ("random projection", VECTOR): 0.0180,
}
# Table V's RMSE.
PRINTED_ORDER = {VECTOR: 0.24392, EACH: 0.24408, "LightGBM": 0.24466, "XGBoost": 0.24623}
# Table XII's probabilities.
PRINTED_P = {EACH: 0.561, "LightGBM": 0.685, "XGBoost": 0.888}
RIVAL = "GBDT-sparse"
AFTER = (10, 30, 100, 300, 600)
HALFWAY = 30  # rounds whose loss others are asked to reach
WIDER = ("10 classes, 20,000 x 50", "100 classes, 20,000 x 50")
LOSSES = {"regression": "RMSE", "classes": "log loss", "labels": "log loss"}


def frame(rows: list[Row]) -> pd.DataFrame:
    """Return rows of texts with numbers where they are numbers."""
    found = pd.DataFrame(rows)
    for column in found.columns.difference(["data", "method"]):
        found[column] = pd.to_numeric(found[column])
    return found


def metrics(name: str) -> dict[str, str]:
    """Return the metrics of a set, with their columns: the paper's first."""
    if KINDS[name].task == "regression":
        return {"RMSE": "loss"}
    return {"top-1": "top_1", "log loss": "loss"}


def of_method(runs: pd.DataFrame, name: str, method: str) -> pd.DataFrame:
    found = runs[(runs["data"] == name) & (runs["method"] == method)]
    return found.set_index("seed").sort_index()


def names_of(rows: pd.DataFrame) -> list[str]:
    return [name for name in KINDS if name in set(rows["data"])]


def better(one: pd.DataFrame, other: pd.DataFrame, column: str) -> float:
    """Return the probability that one is better, by the t-distribution over the partitions that both have."""
    gain = (other[column] - one[column]).dropna() * (-1 if column == "top_1" else 1)
    if len(gain) < 2:
        return float("nan")
    spread = gain.std() / np.sqrt(len(gain))
    if spread == 0:
        return 0.5 + 0.5 * float(np.sign(gain.mean()))
    return float(stats.t.cdf(gain.mean() / spread, len(gain) - 1))


def shown(value: float, digits: int = 4) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}f}"


def simulated(runs: pd.DataFrame) -> list[Row]:
    table = []
    for name in (name for name in names_of(runs) if KINDS[name].simulated):
        base = of_method(runs, name, VECTOR)
        for method in METHODS:
            found = of_method(runs, name, method)
            if found.empty:
                continue
            printed = PRINTED.get((name, method))
            table.append(
                {
                    "data": name,
                    "method": method,
                    "seeds": str(len(found)),
                    "RMSE": f"{shown(found['loss'].mean())} ({shown(found['loss'].std())})",
                    "printed": "" if printed is None else f"{printed:.4f}",
                    "training RMSE": shown(found["training_loss"].mean()),
                    "eta": f"{found['eta'].iloc[0]:g}",
                    "depth": f"{found['depth'].iloc[0]:.0f}",
                    "rounds": f"{found['rounds'].mean():.0f}",
                    "trees": f"{found['trees'].mean():.0f}",
                    "P(vector leaves better)": "" if method == VECTOR else shown(better(base, found, "loss"), 3),
                }
            )
    return table


def line(claim: str, paper: str, here: str, holds: bool) -> Row:
    return {"claim": claim, "the paper": paper, "here": here, "found here too": "yes" if holds else "no"}


def mean_of(runs: pd.DataFrame, name: str, method: str, column: str = "loss") -> float:
    return float(of_method(runs, name, method)[column].mean())


def _claims_on_losses(runs: pd.DataFrame, have: set[str]) -> list[Row]:
    mean, table = partial(mean_of, runs), []
    if "student_por" in have:
        ordered = sorted((mean("student_por", method), method) for method in METHODS if method in PRINTED_ORDER)
        table.append(
            line(
                "order on student-por, lowest RMSE first",
                ", ".join(f"{method} {value:.4f}" for method, value in PRINTED_ORDER.items()),
                ", ".join(f"{method} {value:.4f}" for value, method in ordered),
                [method for _, method in ordered] == list(PRINTED_ORDER),
            )
        )
    for name in (name for name in ("friedman1", "random projection") if name in have):
        one, each = mean(name, VECTOR), mean(name, EACH)
        paper = f"{PRINTED[name, VECTOR]:.4f} for {PRINTED[name, EACH]:.4f}"
        claim = f"a lower RMSE than a model for each output, {name}"
        table.append(line(claim, paper, f"{one:.4f} for {each:.4f}", one < each))
    if "student_por" in have:
        found = {
            method: better(of_method(runs, "student_por", VECTOR), of_method(runs, "student_por", method), "loss")
            for method in PRINTED_P
        }
        claim = "P(vector leaves better) on student-por above one half"
        paper, here = (", ".join(f"{method} {p:.2f}" for method, p in of.items()) for of in (PRINTED_P, found))
        table.append(line(claim, paper, here, min(found.values()) > 0.5))
    return table


def claims(runs: pd.DataFrame, timed: pd.DataFrame, curves: pd.DataFrame, memory: pd.DataFrame) -> list[Row]:
    """Return findings of the paper beside the same of these runs; one without runs is left out."""
    mean = partial(mean_of, runs)
    have = set(runs["data"])
    table = _claims_on_losses(runs, have)
    for name, paper in (("student_por", "125 for 374"), ("digits inpainting", "2,576 for 6,373")):
        if name in have:
            one, each = mean(name, VECTOR, "trees"), mean(name, EACH, "trees")
            claim = f"fewer trees than a model for each output, {name}"
            table.append(line(claim, paper, f"{one:.0f} for {each:.0f}", one < each))
    wide_set, ks = "101 classes", (8, 16, 32, 64)
    if wide_set in have:
        found = {
            search: [mean(wide_set, f"{search}, k = {k}", "top_1") for k in ks]
            for search in ("restricted", "unrestricted")
        }
        ahead = int(np.sum(np.array(found["restricted"]) > found["unrestricted"]))
        claim = "the restricted search is more accurate on 101 classes"
        table.append(line(claim, "for 3 of 4 k", f"for {ahead} of 4 k", ahead >= 3))
        slower = [
            round_ms(timed, wide_set, f"unrestricted, k = {k}") / round_ms(timed, wide_set, f"restricted, k = {k}")
            for k in ks
        ]
        claim = "the unrestricted search takes longer on 101 classes"
        here = f"{min(slower):.2f} to {max(slower):.2f} times"
        table.append(line(claim, "1.15 to 1.44 times", here, min(slower) > 1))
    for name, paper in (("digits", "96.41% for 98.30%"), ("101 classes", "43.93% for 57.49%")):
        for rival in rivals(runs, name):
            sparse, dense = mean(name, rival, "top_1"), mean(name, VECTOR, "top_1")
            here = f"{100 * sparse:.2f}% for {100 * dense:.2f}%"
            table.append(line(f"GBDT-sparse is less accurate on {name}", paper, here, sparse < dense))
    if "digits" in have:
        dense = mean("digits", VECTOR)
        best = min((mean("digits", f"unrestricted, k = {k}"), k) for k in (2, 4, 8))
        claim, here = (
            "some k is ahead of all outputs, digits",
            f"log loss {best[0]:.4f} (k = {best[1]}) for {dense:.4f}",
        )
        table.append(line(claim, "sometimes, with a proper k", here, best[0] < dense))
        full, diagonal = mean("digits", HESSIAN_RUNS["full"], "top_1"), mean("digits", VECTOR, "top_1")
        ms = round_ms(timed, "digits", HESSIAN_RUNS["full"]) / round_ms(timed, "digits", VECTOR)
        claim = "the full Hessian is similarly accurate and much slower on digits"
        here = f"{100 * full:.2f}% for {100 * diagonal:.2f}%, {ms:.1f} times as long"
        table.append(line(claim, "98.17% for 98.30%, 5.0 times as long", here, abs(full - diagonal) < 0.005 and ms > 2))
    ratios_of_rounds = {
        name: round_ms(timed, name, VECTOR) / round_ms(timed, name, "LightGBM") for name in timed["data"].unique()
    }
    if ratios_of_rounds:
        shorter = sum(ratio < 1 for ratio in ratios_of_rounds.values())
        claim = "a round is shorter than LightGBM's"
        here = f"on {shorter} of {len(ratios_of_rounds)} sets, {min(ratios_of_rounds.values()):.2f} to "
        here += f"{max(ratios_of_rounds.values()):.2f} times as long"
        table.append(line(claim, "on 4 of 4 sets, a little", here, shorter == len(ratios_of_rounds)))
    slow = []
    for name in names_of(curves):
        at = curves[curves["rounds"] == HALFWAY].set_index(["data", "method"])["loss"]
        slow.append(bool(at[name, VECTOR] > at[name, "LightGBM"]))
    if slow:
        claim = f"a slow start: a higher test loss than LightGBM's after {HALFWAY} rounds"
        table.append(line(claim, "so in its curves", f"on {sum(slow)} of {len(slow)} sets", all(slow)))
    return table + _claim_on_memory(memory)


def _claim_on_memory(memory: pd.DataFrame) -> list[Row]:
    mib = memory.set_index(["data", "method"])["mib"]
    if not set(WIDER) <= set(memory["data"]):
        return []
    few, many = ({method: mib[name, method] for method in (VECTOR, "LightGBM", "XGBoost")} for name in WIDER)
    growth = many[VECTOR] / few[VECTOR]
    here = ", ".join(f"{method} {few[method]:.0f} and {many[method]:.0f} MiB" for method in few)
    claim = "memory of ten rounds grows with the outputs, 10 and 100 classes, 20,000 x 50"
    paper = "10 times the histograms, so of 48 nodes at most"
    return [line(claim, paper, f"{here}: {growth:.1f} times", growth > 5)]


def depths(tried: pd.DataFrame) -> list[Row]:
    """Return validation losses of the first seed by depth, which need no choice."""
    table = []
    for name in (name for name in names_of(tried) if KINDS[name].simulated):
        for depth in sorted(tried.loc[tried["data"] == name, "depth"].unique()):
            line: Row = {"data": name, "depth": str(depth)}
            for method in METHODS:
                place = (tried["data"] == name) & (tried["method"] == method) & (tried["depth"] == depth)
                found = tried[place]
                line[method] = "-" if found.empty else f"{found['loss'].min():.4f} ({found['rounds'].max()})"
            table.append(line)
    return table


def wide(runs: pd.DataFrame, cell: Any) -> list[Row]:
    """Return a line for every set but the paper's simulated ones and metric, a column for every method."""
    table = []
    for name in (name for name in names_of(runs) if not KINDS[name].simulated):
        for metric, column in metrics(name).items():
            found = {method: of_method(runs, name, method) for method in METHODS}
            line = {"data": name, "metric": metric, "partitions": str(len(found[VECTOR]))}
            table.append(line | cell(found, column))
    return table


def scores(runs: pd.DataFrame) -> list[Row]:
    """Return means over partitions; the best is bold."""

    def cells(found: dict[str, pd.DataFrame], column: str) -> Row:
        means = {method: rows[column].mean() for method, rows in found.items()}
        best = (max if column == "top_1" else min)(value for value in means.values() if not np.isnan(value))
        return {method: f"**{value:.4f}**" if value == best else shown(value) for method, value in means.items()}

    return wide(runs, cells)


def tests(runs: pd.DataFrame) -> list[Row]:
    """Return the paper's test: the probability that vector leaves are better than each of the others."""

    def cells(found: dict[str, pd.DataFrame], column: str) -> Row:
        return {method: shown(better(found[VECTOR], found[method], column), 3) for method in METHODS[1:]}

    return wide(runs, cells)


def trees(runs: pd.DataFrame) -> list[Row]:
    """Return trees of the best model, and processor seconds of its training."""
    table = []
    for name in names_of(runs):
        line: Row = {"data": name}
        for method in METHODS:
            found = of_method(runs, name, method)
            trees, seconds = found["trees"].mean(), found["seconds"].mean()
            line[method] = "-" if found.empty else f"{trees:.0f} ({seconds:.2g} s)"
        table.append(line)
    return table


def round_ms(rounds: pd.DataFrame, name: str, method: str) -> float:
    place = (rounds["data"] == name) & (rounds["method"] == method)
    return float(rounds.loc[place, "ms"].mean())


def searches(runs: pd.DataFrame, rounds: pd.DataFrame) -> list[Row]:
    """Return scores and milliseconds of a round for every k, and for dense leaves."""
    table = []
    for name in names_of(runs):
        said = runs.loc[runs["data"] == name, "method"].unique()
        outputs = sorted({int(method.rsplit(" ", 1)[1]) for method in said if " k = " in method})
        for k in [*outputs, None] if outputs else []:
            line: Row = {"data": name, "k": "all" if k is None else str(k)}
            for search in ("restricted", "unrestricted"):
                method = VECTOR if k is None else f"{search}, k = {k}"
                found = of_method(runs, name, method)
                line[f"{search}: top-1"] = shown(found["top_1"].mean())
                line[f"{search}: RMSE or log loss"] = shown(found["loss"].mean())
                line[f"{search}: ms"] = shown(round_ms(rounds, name, method), 2)
            table.append(line)
    return table


def rivals(runs: pd.DataFrame, name: str) -> list[str]:
    methods: list[str] = runs.loc[runs["data"] == name, "method"].unique().tolist()
    return [method for method in methods if method.startswith(RIVAL)]


def sparse(runs: pd.DataFrame) -> list[Row]:
    """Return GBDT-sparse beside the unrestricted search with as many outputs a leaf, and all outputs."""
    table = []
    for name in names_of(runs):
        for rival in rivals(runs, name):
            for method in (rival, rival.replace(RIVAL, "unrestricted"), VECTOR):
                found = of_method(runs, name, method)
                limit = HUNDRED_ROUNDS if name == "101 classes" else ROUNDS
                limit = RIVAL_ROUNDS[name] if method == rival else limit
                table.append(
                    {
                        "data": name,
                        "method": method,
                        "partitions": str(len(found)),
                        "eta": f"{found['eta'].iloc[0]:g}",
                        "depth": f"{found['depth'].iloc[0]:.0f}",
                        "top-1": shown(found["top_1"].mean()),
                        "log loss": shown(found["loss"].mean()),
                        "rounds": f"{found['rounds'].mean():.0f}",
                        "at the limit": f"{(found['rounds'] > limit - PATIENCE).sum()} of {len(found)}",
                        "P(vector leaves better)": ""
                        if method == VECTOR
                        else shown(better(of_method(runs, name, VECTOR), found, "top_1"), 3),
                    }
                )
    return table


def hessians(runs: pd.DataFrame, rounds: pd.DataFrame) -> list[Row]:
    table = []
    for name in (name for name in names_of(runs) if not of_method(runs, name, HESSIAN_RUNS["full"]).empty):
        for label, method in {"diagonal": VECTOR, **HESSIAN_RUNS}.items():
            found = of_method(runs, name, method)
            table.append(
                {
                    "data": name,
                    "Hessian": label,
                    "top-1": shown(found["top_1"].mean()),
                    "log loss": shown(found["loss"].mean()),
                    "trees": f"{found['trees'].mean():.0f}",
                    "P(diagonal better)": ""
                    if method == VECTOR
                    else shown(better(of_method(runs, name, VECTOR), found, "top_1"), 3),
                    "ms a round": shown(round_ms(rounds, name, method), 2),
                }
            )
    return table


def rounds(rounds: pd.DataFrame) -> list[Row]:
    table = []
    for name, found in rounds.groupby("data", sort=False):
        ms = found.set_index("method")["ms"]
        one = found.iloc[0]
        line = {"data": name, "outputs": f"{one['outputs']:.0f}", "rows": f"{one['rows']:.0f}"}
        line |= {"features": f"{one['features']:.0f}"}
        line |= {method: f"{ms[method]:.3g}" if method in ms else "-" for method in METHODS}
        for rival, column in (("LightGBM", "to LightGBM's"), ("XGBoost multi_output_tree", "to multi_output_tree's")):
            line[column] = f"{ms[VECTOR] / ms[rival]:.2f}" if rival in ms else "-"
        table.append(line)
    return sorted(table, key=lambda line: (int(line["outputs"]), line["data"]))


def convergence(curves: pd.DataFrame) -> list[Row]:
    """Return test losses after some rounds, and rounds to what one tree an output reaches after thirty."""
    table = []
    for name in names_of(curves):
        base = curves[(curves["data"] == name) & (curves["method"] == "LightGBM")].set_index("rounds")
        mark = base.loc[HALFWAY, "loss"]
        for method in METHODS:
            found = curves[(curves["data"] == name) & (curves["method"] == method)].set_index("rounds").sort_index()
            if found.empty:
                continue
            line = {"data": name, "loss": LOSSES[KINDS[name].task], "method": method}
            line |= {f"after {after}": shown(found.loc[after, "loss"]) for after in AFTER}
            line |= {f"training after {after}": shown(found.loc[after, "training_loss"]) for after in AFTER[2::2]}
            reached = found.index[found["loss"] <= mark]
            line["rounds to LightGBM's 30th"] = str(reached[0]) if len(reached) else "not reached"
            line["best"] = shown(found["loss"].min())
            line["at round"] = str(found["loss"].idxmin())
            table.append(line)
    return table


def ordinals(one_tree: pd.DataFrame, others: pd.DataFrame) -> list[Row]:
    """Return what one vector tree a round gives on ordered classes, relative to other models of the same partitions."""
    runs = pd.concat([one_tree, others[others["experiment"] == "ordinal"]])
    return [
        {"against": base} | ratios(runs, "vector multiclass", base, MEASURES)
        for base in ("xgb multiclass", "hgb multiclass", "ordinal", "ordinal shifts")
    ]
