"""Write what accuracy.py and the other benchmarks have measured into the pages of docs/.

python benchmarks/claims/report/accuracy_report.py   fills docs/ from the committed results
python benchmarks/claims/report/accuracy_report.py --no-pictures   the same, and leaves the pictures alone
python benchmarks/claims/report/accuracy_report.py --results FILE --into FOLDER   one page of all tables, for a look
"""

from __future__ import annotations

import argparse
from pathlib import Path
from types import ModuleType

import fetch_data
import pandas as pd

from claims.accuracy import accuracy, confirmation, known_sets, learning_curves, plain_call, thesis_options, tuned
from claims.report import (
    accuracy_tables,
    decision_tables,
    goals,
    overview,
    published_tables,
    reliability_figures,
    tuned_tables,
)
from lib import critical_difference, generated, pictures, report
from lib.methods import OURS
from ordinal_objectives.metrics import METRICS

ROOT = Path(__file__).resolve().parents[3]
RUNS = report.RESULTS / "accuracy_runs.csv"
SETS_IN_WORDS = {
    ("sixteen", "quantile"): "sets whose target was cut at its deciles",
    ("ordinal", "classes"): "sets whose classes were ordered from the start",
}
# What the machines' files name too, and no number of these runs depends on.
NOT_SHOWN = {
    "platform",
    "cores",
    "threads",
    "pandas",
    "matplotlib",
    "joblib",
    "threadpoolctl",
    "ngboost",
    "quantile-forest",
}
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))


def tables(runs_file: Path = RUNS) -> dict[str, generated.Table]:
    """Return every table that a page may show, by name."""
    return generated.result_tables() | run_tables(runs_file) | machine(runs_file) | of_no_run()


def of_no_run() -> dict[str, generated.Table]:
    """Return the tables that do not depend on the file of runs."""
    return {
        "metrics": of_metrics(),
        "data": fetch_data.table(),
        "readme": plain_call.readme(),
        "reliability": reliability_figures.table(),
    }


def of_metrics() -> generated.Table:
    """Return the package's own table of metrics."""
    rows = [
        {
            "function": f"`{metric.function.__name__}`",
            "`eval_metric`": f"`{metric.name}`" if metric.by_rounds else "",
            "scorer": f"`{metric.scorer_name}`",
            "judges": metric.judges,
            "better": "higher" if metric.higher_is_better else "lower",
        }
        for metric in METRICS.values()
    ]
    return generated.Table(rows)


def beside(runs_file: Path, claim: ModuleType) -> Path:
    """Return where another claim's runs lie."""
    return runs_file.with_name(claim.FILE.name)


def run_tables(runs_file: Path) -> dict[str, generated.Table]:
    """Return the tables of a file of runs, and of the files of the other claims beside it."""
    runs = accuracy_tables.read(runs_file)
    return {
        "goals": goals.table(runs, tuned_tables.read(beside(runs_file, tuned))),
        "hours": hours(runs_file),
        **overview.tables(runs),
        **accuracy_tables.tables(runs),
        **decision_tables.tables(runs),
        **published_tables.tables(
            runs,
            *(
                accuracy_tables.read(runs_file.with_name(file.name))
                for file in (published_tables.ONE_ROW_FILE, published_tables.AS_PRINTED_FILE)
            ),
        ),
        **known_sets.tables(runs, runs_file.parent),
        **tuned_tables.tables(beside(runs_file, tuned)),
        **confirmation.tables(beside(runs_file, confirmation)),
        **thesis_options.tables(beside(runs_file, thesis_options)),
        **learning_curves.tables(beside(runs_file, learning_curves)),
    }


def hours(runs_file: Path) -> generated.Table:
    """Return the processor hours of the fits of every claim: search, validation and training."""
    rows = []
    for claim in (accuracy, confirmation, tuned, thesis_options, learning_curves):
        path = beside(runs_file, claim)
        if not path.exists():
            continue
        runs = pd.read_csv(path, dtype={"machine": str}, keep_default_na=False, na_values={"fit_seconds": [""]})
        group = runs["experiment"].str.removesuffix(accuracy.DECISIONS) if claim is accuracy else claim.__name__
        for experiment, part in runs.assign(group=group).groupby("group", sort=False):
            # Several decisions of one fit repeat its seconds.
            fits = part.drop_duplicates([key for key in ("data", "seed", "n_train", "fit_seconds") if key in part])
            rows.append(
                {
                    "claim": claim.FILE.stem.removesuffix("_runs"),
                    "experiment": experiment if claim is accuracy else "",
                    "fits": str(len(fits)),
                    "processor hours": f"{fits['fit_seconds'].sum() / 3600:.2f}",
                }
            )
    return generated.Table(rows)


def machine(runs_file: Path) -> dict[str, generated.Table]:
    """Return the machines of the runs, which accuracy.py leaves beside them."""
    found = report.machines(runs_file)
    # Of later machines, whatever else was installed there says nothing of these runs.
    shown = {*(found[0] if found else ()), *report.RIVALS} - NOT_SHOWN
    keys = [key for key in dict.fromkeys(key for where in found for key in where) if key in shown]
    rows = [
        {"what": key} | {f"machine {i}": str(where.get(key, "-")).split(" (")[0] for i, where in enumerate(found, 1)}
        for key in keys
    ]
    return {"machine": generated.Table(rows)}


def draw(runs_file: Path, folder: Path) -> None:
    """Draw all methods beside ours, their ranks, the tuned comparison and the learning curves."""
    runs = accuracy_tables.read(runs_file)
    for experiment, rule in runs[["experiment", "rule"]].drop_duplicates().itertuples(index=False, name=None):
        rows = accuracy_tables.select(runs, experiment, rule)
        if OURS not in set(rows["method"]) or (experiment, rule) not in SETS_IN_WORDS:
            continue
        for metric in accuracy_tables.PICTURED:
            if accuracy_tables.drawable(rows, metric):
                ranks = accuracy_tables.ranked(rows, metric)[0]
                title = (
                    f"Mean rank by {accuracy_tables.METRICS[metric]}, {len(ranks)} {SETS_IN_WORDS[experiment, rule]}"
                )
                drawn = critical_difference.figure(ranks, title, OURS)
                pictures.save(drawn, folder / "evidence" / f"{experiment}_{rule}_{metric}")
    for name, figure in (
        ("overview", overview.draw(runs)),
        ("tuned", tuned_tables.draw(beside(runs_file, tuned))),
        ("learning_curves", learning_curves.draw(beside(runs_file, learning_curves))),
    ):
        if figure is not None:
            pictures.save(figure, folder / "evidence" / name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RUNS)
    parser.add_argument("--into", type=Path, help="needed with --results: docs/ shows the committed results only")
    parser.add_argument("--no-pictures", action="store_true", help="draw nothing")
    options = parser.parse_args()
    if (options.results == RUNS) != (options.into is None):
        parser.error("--results and --into go together: docs/ shows the committed results only")
    found = tables(options.results)
    if not options.no_pictures:
        draw(options.results, options.into or ROOT / "docs")
    if options.into is None:
        for page in PAGES:
            page.write_text(generated.fill(page.read_text(encoding="utf-8"), found), encoding="utf-8")
        return
    options.into.mkdir(parents=True, exist_ok=True)
    others = of_no_run() | generated.result_tables()
    shown = {name: table for name, table in found.items() if table.rows and name not in others}
    text = "\n\n".join(f"## {name}\n\n{table.markdown()}" for name, table in shown.items())
    (options.into / "accuracy.md").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
