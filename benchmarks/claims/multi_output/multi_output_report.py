"""Tables and figures of multi_output.py, from what it stored.

python benchmarks/claims/multi_output/multi_output_report.py   writes them anew; accuracy_report.py then fills the page
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from claims.multi_output import multi_output_tables as tables_of
from claims.multi_output.multi_output_data import KINDS
from claims.multi_output.multi_output_tables import LOSSES, frame, names_of, round_ms
from lib import pictures, report
from lib.runner import Row

# Names and colours in pictures.
SHOWN = {
    "vector leaves": ("ours: one tree for all outputs", "#c1272d"),
    "an engine an output": ("ours: a model for each output", "#e69138"),
    "LightGBM": ("LightGBM: a tree for each output", "#2e7d32"),
    "XGBoost": ("XGBoost: a tree for each output", "#1f5fa8"),
    "XGBoost multi_output_tree": ("XGBoost: one tree for all outputs", "#7a5195"),
}


def draw_curves(curves: pd.DataFrame, path: Path) -> None:
    """Draw the losses of training rows (dotted) and test rows (solid)."""
    names = names_of(curves)
    drawn, (line,) = pictures.panels(1, len(names), (3.6 * len(names), 4.4))
    for axis, name in zip(line, names, strict=True):
        for method, (label, color) in SHOWN.items():
            found = curves[(curves["data"] == name) & (curves["method"] == method)]
            if not found.empty:
                axis.plot(found["rounds"], found["loss"], color=color, linewidth=1.5, label=label)
                axis.plot(found["rounds"], found["training_loss"], color=color, linewidth=1, linestyle=":")
        unit = LOSSES[KINDS[name].task]
        axis.set(title=name, xlabel="rounds (log)", ylabel=f"{unit} (lower is better)", xscale="log", yscale="log")
        axis.yaxis.set_minor_formatter(NullFormatter())
    handles, labels = line[0].get_legend_handles_labels()
    for words, style in (("test rows", "-"), ("training rows", ":")):
        handles.append(Line2D([], [], color=pictures.GREY, linestyle=style))
        labels.append(words)
    drawn.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=9)
    pictures.save(drawn, path)


def draw_rounds(rounds: pd.DataFrame, path: Path) -> None:
    """Draw the time of a round on one thread, as Figure 5 does, a line for each set."""
    outputs = rounds.groupby("data")["outputs"].first().astype(int).sort_values(kind="stable")
    drawn, ((axis,),) = pictures.panels(1, 1, (9, 5.2))
    for place, name in enumerate(outputs.index):
        for method, (_, color) in SHOWN.items():
            ms = round_ms(rounds, name, method)
            axis.plot(ms, -place, "o", color=color, markersize=7)
    axis.set_yticks(-np.arange(len(outputs)), [f"{name} ({n} outputs)" for name, n in outputs.items()])
    axis.set(xscale="log", xlabel="milliseconds a round, one thread, log (lower is better)")
    handles = [Line2D([], [], color=color, marker="o", linestyle="") for _, color in SHOWN.values()]
    drawn.legend(handles, [label for label, _ in SHOWN.values()], loc="outside upper center", ncols=2, fontsize=9)
    pictures.save(drawn, path)


SIMULATED = (
    "Means over the seeds, standard deviations in brackets; 10,000 rows to train on and 10,000 to test on, as in the "
    "paper, and 5,000 more that choose rounds and settings. `an engine an output` is the paper's GBDT-SO: the same "
    "engine, one model for each output. At most 8,000 rounds. P: one minus the p-value of a one-sided paired t-test "
    "over the seeds that both have; means over other seeds do not compare."
)
DEPTHS = "RMSE of the first seed's validation rows at eta 0.1, rounds in brackets; 0.75 x 2^depth leaves."
SCORES = (
    "Means over partitions of 56% training, 14% validation and 30% test rows, of 10,000 rows at most. Settings are "
    "those of the first partition's validation rows, on which other partitions may test, chosen for each method "
    "alike; 101 classes are simulated, with eta 0.25, depth 4 and 150 rounds at most for all. top-1 of labels: the "
    "most probable one is right, of rows that have any."
)
TESTS = (
    "What the paper's appendix C calls P(vector leaves better): one minus the p-value of a one-sided paired t-test "
    "over the partitions. These overlap, three are few, and of fifty such values some are near 0 or 1 by chance."
)
TREES = (
    "Trees up to the best validation loss, summed over outputs, and processor seconds of the training on one thread "
    "beside other work: a hint, no timing."
)
SEARCHES = (
    "At most k outputs of a leaf are not zero; restricted: both children share them. Settings of dense vector leaves, "
    "all outputs, in the last line of a set. ms: a round on one thread, eta 0.1, depth 6. Scores of the restricted "
    "search were measured again, on an Intel Xeon, after the gain of its splits was corrected."
)
SPARSE = (
    "GBDT-sparse chooses splits and the k outputs of a leaf by first derivatives, each row of a leaf counting as one: "
    "this engine with a loss that gives no second derivatives. Its eta and depth were chosen on the first "
    "partition's validation rows, of rates up to 4 (digits) and 64 (101 classes, depth 4), since steps without a "
    "Hessian are several times shorter. It may train 4,000 (digits) and 1,200 rounds (101 classes), the others 500 and "
    "150. At the limit: partitions whose best round is among the last 25 allowed."
)
HESSIANS = "Softmax cross-entropy; the settings of the diagonal Hessian. ms: a round on one thread, eta 0.1, depth 6."
CLAIMS = (
    "The paper's figures are those of its Tables III, V to VIII, X and XII. Its sets are others, but for student-por; "
    "digits stand for MNIST, 101 simulated classes for Caltech101. The paper takes 8 to 64 bins by set, here it "
    "is 64; labels have the squared error there and the log loss here."
)
ROUNDS = (
    "Milliseconds of a round: ten rounds after the first three, the median of three repeats taken in turns; the "
    "processor's, one thread; depth 6, "
    "48 leaves, 64 bins (20,000 x 50: 255). `to`: vector leaves over the other; below 1 they are faster."
)
CONVERGENCE = "Test losses by rounds; eta 0.1, depth 6 and 48 leaves for all, first partition, no early stopping."


ORDINALS = (
    "Multiclass through one vector tree a round, over the other model: geometric mean over the sets of a set's mean "
    "log ratio over its partitions, and the sets below 1 of all. Partitions, settings to choose from and the others' "
    "runs are those of accuracy.py; `ordinal` has one score, `ordinal shifts` is the default. Zero-one error and MAE "
    "of multiclass are the mode's."
)


def write(results: dict[str, list[Row]], *, small: bool = False) -> None:
    """Write tables and figures of what there is; of a small try, print the tables alone."""
    found = {step: frame(rows) for step, rows in results.items() if rows}
    tables: dict[str, tuple[str, list[Row], str]] = {}
    if "settings" in found:
        tables["depths"] = ("Simulated outputs by depth", tables_of.depths(found["settings"]), DEPTHS)
    if "runs" in found:
        runs = found["runs"]
        rounds = found.get("rounds", pd.DataFrame(columns=["data", "method", "ms"]))
        tables |= {
            "simulated": ("Vector leaves on simulated outputs", tables_of.simulated(runs), SIMULATED),
            "scores": ("Vector leaves on data sets, and on 101 simulated classes", tables_of.scores(runs), SCORES),
            "tests": ("Are vector leaves better?", tables_of.tests(runs), TESTS),
            "trees": ("Trees of the best model", tables_of.trees(runs), TREES),
            "searches": ("Leaves with k outputs", tables_of.searches(runs, rounds), SEARCHES),
            "sparse": ("GBDT-sparse", tables_of.sparse(runs), SPARSE),
            "hessians": ("Diagonal, full and majorized Hessian", tables_of.hessians(runs, rounds), HESSIANS),
        }
        if "rounds" in found:
            curves = found.get("curves", pd.DataFrame(columns=["data", "method", "rounds", "loss"]))
            memory = found.get("memory", pd.DataFrame(columns=["data", "method", "mib"]))
            claims = tables_of.claims(runs, rounds, curves, memory)
            tables["claims"] = ("What the paper says, and what was found here", claims, CLAIMS)
    if "rounds" in found:
        tables["ms"] = ("A round of vector leaves", tables_of.rounds(found["rounds"]), ROUNDS)
    if "curves" in found:
        title = "Losses by rounds, one tree a round or one an output"
        tables["convergence"] = (title, tables_of.convergence(found["curves"]), CONVERGENCE)
    one_tree = report.RESULTS / "multi_output_ordinal_runs.csv"
    if not small and one_tree.exists():
        others = pd.read_csv(report.RESULTS / "accuracy_runs.csv")
        title = "Ordered classes as classes without an order"
        tables["ordinal"] = (title, tables_of.ordinals(pd.read_csv(one_tree), others), ORDINALS)
    for name, (title, rows, note) in tables.items():
        if small and rows:
            print(report.table(rows), note, sep="\n\n", end="\n\n")
        elif rows:
            report.write(f"multi_output_{name}", title, rows, note)
    if not small:
        pictures = report.RESULTS.parents[1] / "docs" / "evidence"
        for step, draw in (("curves", draw_curves), ("rounds", draw_rounds)):
            if step in found:
                draw(found[step], pictures / f"multi_output_{step}.png")


STEPS = ("settings", "runs", "curves", "rounds", "memory")

if __name__ == "__main__":
    kept = {
        step: report.RESULTS / f"multi_output_{step}.csv" for step in ("settings", "runs", "curves", "rounds", "memory")
    }
    write({step: pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records") for step, path in kept.items()})
