"""Command line: ``python -m ordinal_objectives demo`` and ``python -m ordinal_objectives versions``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ordinal_objectives.utils.extras import not_installed
from ordinal_objectives.versions import show_versions


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ordinal_objectives", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("versions", help="print versions, instruction set and thread count")
    demo = commands.add_parser("demo", help="train ordinal models on real data beside multiclass and regression")
    demo.add_argument(
        "--data", type=Path, metavar="FILE", help=".csv or .csv.gz file; default: scikit-learn's diabetes"
    )
    demo.add_argument("--target", metavar="COLUMN", help="column to predict; default: the last one")
    demo.add_argument("--classes", metavar="A,B,...", help="the classes of the target, lowest first")
    demo.add_argument("--backend", choices=["xgboost", "lightgbm", "all"], default="all")
    demo.add_argument("--rounds", type=int, default=500, help="most boosting rounds (early stopping ends sooner)")
    demo.add_argument("--seed", type=int, default=0, help="seed of the split into training and test rows")
    demo.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture and the models")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run a command; return the exit status."""
    options = _parser().parse_args(arguments)
    if options.command == "versions":
        show_versions()
        return 0
    try:
        from ordinal_objectives import demo

        demo.run(options)
    except ImportError as error:
        print(f"error: {not_installed(error, 'demo')}", file=sys.stderr)
        return 2
    except (ValueError, OSError) as error:
        print(f"error: {str(error).strip()}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
