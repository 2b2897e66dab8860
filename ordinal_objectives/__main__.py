"""Command line: ``python -m ordinal_objectives COMMAND``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ordinal_objectives.utils.extras import not_installed, show_versions


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ordinal_objectives",
        description="Ordinal gradient boosting. COMMAND --help lists a command's options.",
    )
    commands = parser.add_subparsers(dest="command", title="commands", metavar="COMMAND")
    commands.add_parser("versions", help="print versions, instruction set and thread count")
    compare = commands.add_parser("compare", help="train all threshold updates with all trainers on the rows of a file")
    compare.add_argument("table", type=Path, metavar="FILE", help=".csv or .csv.gz file; text becomes categories")
    compare.add_argument("--target", metavar="COLUMN", required=True, help="column to predict")
    compare.add_argument("--classes", nargs="+", metavar="A", help="the classes of the target, lowest first")
    compare.add_argument("--drop", nargs="+", metavar="COLUMN", help="columns to leave out, as ids")
    compare.add_argument(
        "--keep", nargs="+", metavar="COLUMN", help="text to keep though most of its values have one row"
    )
    compare.add_argument("--rounds", type=int, default=100, help="trees of each model")
    compare.add_argument("--folds", type=int, help="folds of a cross-validation; default: 30%% of the rows held out")
    compare.add_argument("--seed", type=int, default=0, help="seed of the rows held out")
    compare.add_argument(
        "--out", type=Path, default=Path("compare_output"), help="folder for the table and the picture"
    )
    return parser


def _compare(options: argparse.Namespace) -> None:
    """Compare the threshold updates on a file; print the summary, and write what was measured and a picture."""
    import pandas as pd

    from ordinal_objectives.compare import MOST_CLASSES, classes_of, compare_updates, read_table

    X, target = read_table(options.table, options.target, options.classes, options.drop, options.keep)
    n_values, target_is = target.nunique(), f"--target {options.target!r} of {options.table}"
    if options.classes is None and pd.api.types.is_numeric_dtype(target) and n_values > MOST_CLASSES:
        raise ValueError(
            f"{target_is} looks continuous: it holds {n_values} different numbers. Cut it into at most {MOST_CLASSES} "
            f"classes, or name all of them with --classes"
        )
    classes = classes_of(target, options.classes)
    given = {"cv": options.folds, "rounds": options.rounds, "random_state": options.seed}
    found = compare_updates(X, target, classes=classes, progress=sys.stderr.isatty(), **given)
    print(f"{options.table.name}: {len(X)} rows, {X.shape[1]} columns")
    print(f"classes, lowest first: {', '.join(map(str, found.classes))}\n")
    table = found.summary()
    shown = table.drop(columns="note").assign(at_round=table["at_round"].map(str, na_action="ignore"))
    print(shown.to_string(index=False, float_format="{:.4f}".format, na_rep="-"))
    print("\nLoss, MAE, RPS and seconds are those after at_round, the round with the lowest loss on the rows held out.")
    print("These rows choose it, so the figures are a little too good. The same for all: depth, learning rate, rounds,")
    print("bins, penalty, smallest leaf; all rows and columns for each tree. What differs, and why there is no model:")
    for note, modes in table.groupby("note", sort=False):
        who = ", ".join(dict.fromkeys(f"{one.trainer} {one.update}" for one in modes.itertuples()))
        print(f"  {who}: {note}")
    options.out.mkdir(parents=True, exist_ok=True)
    written = [options.out / "compare.csv"]
    found.to_frame().to_csv(written[0], index=False)
    if (table["folds"] > 0).any():
        written.append(options.out / "compare.png")
        found.plot().savefig(written[1], dpi=90)
    print("\nWritten: " + ", ".join(map(str, written)))


def main(arguments: list[str] | None = None) -> int:
    """Run a command; return the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 0
    if options.command == "versions":
        show_versions()
        return 0
    try:
        _compare(options)
    except ImportError as error:
        print(f"error: {not_installed(error, 'demo')}", file=sys.stderr)
        return 2
    except (ValueError, OSError) as error:
        print(f"error: {str(error).strip()}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
