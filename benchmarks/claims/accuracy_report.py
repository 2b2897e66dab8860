"""Write what accuracy.py and the other benchmarks have measured into the pages of docs/.

python benchmarks/claims/accuracy_report.py                                  fills docs/ from the committed results
python benchmarks/claims/accuracy_report.py --results FILE --into FOLDER     one page of all tables, for a look
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pandas as pd

from claims import accuracy_tables
from lib import critical_difference, generated, report

ROOT = Path(__file__).resolve().parents[2]
RUNS = report.RESULTS / "accuracy_runs.csv"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))


def tables(runs_file: Path = RUNS) -> dict[str, generated.Table]:
    """Return every table that a page may show, by name."""
    return generated.result_tables() | accuracy_tables.tables(accuracy_tables.read(runs_file)) | machine(runs_file)


def machine(runs_file: Path) -> dict[str, generated.Table]:
    """Return the machine of the runs, which accuracy.py leaves beside them."""
    beside = runs_file.with_suffix(".json")
    if not beside.exists():
        return {"machine": generated.Table([])}
    where = json.loads(beside.read_text(encoding="utf-8"))["machine"]
    return {"machine": generated.Table([{"what": key, "which": str(value)} for key, value in where.items()])}


def draw(runs: pd.DataFrame, folder: Path) -> None:
    """Draw the critical differences of every case that has them."""
    for experiment, rule in runs[["experiment", "rule"]].drop_duplicates().itertuples(index=False, name=None):
        rows = accuracy_tables.select(runs, experiment, rule)
        if not set(accuracy_tables.MAIN) <= set(rows["method"]) or experiment in accuracy_tables.NO_CASE:
            continue
        for metric in accuracy_tables.PICTURED:
            if accuracy_tables.drawable(rows, metric):
                ranks = accuracy_tables.ranked(rows, metric)[0]
                title = f"Mean rank by {accuracy_tables.METRICS[metric]}, {len(ranks)} sets ({experiment}, {rule})"
                drawn = critical_difference.figure(ranks, title, accuracy_tables.OURS)
                path = folder / accuracy_tables.picture(f"{experiment} {rule}", metric)
                critical_difference.save(drawn, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RUNS)
    parser.add_argument("--into", type=Path, help="needed with --results: docs/ shows the committed results only")
    options = parser.parse_args()
    if (options.results == RUNS) != (options.into is None):
        parser.error("--results and --into go together: docs/ shows the committed results only")
    found = tables(options.results)
    runs = accuracy_tables.read(options.results)
    draw(runs, options.into or ROOT / "docs")
    if options.into is None:
        for page in PAGES:
            page.write_text(generated.fill(page.read_text(encoding="utf-8"), found), encoding="utf-8")
        return
    options.into.mkdir(parents=True, exist_ok=True)
    shown = {name: table for name, table in found.items() if table.rows and name not in generated.result_tables()}
    text = "\n\n".join(f"## {name}\n\n{table.markdown()}" for name, table in shown.items())
    (options.into / "accuracy.md").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
