"""Run the state machines in random batches; those that the file of results names are not repeated.

python tests/fuzz.py --runs 10000 --seed 0 --results build/fuzz.csv
"""

from __future__ import annotations

import argparse
import csv
import time
import traceback
from pathlib import Path

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from state_machine import CALLS, MACHINES, REFUSALS
from state_tables import TRAINERS


def run(trainer: str, number: int, n_runs: int, *, steps: int = 8, shrinks: bool = True) -> None:
    """Run a batch of random runs of one trainer; a failure is shrunk, and raised with the calls that lead to it."""
    phases = (Phase.explicit, Phase.generate, *((Phase.shrink,) if shrinks else ()))
    options = settings(
        max_examples=n_runs, stateful_step_count=steps, deadline=None, database=None, phases=phases,
        suppress_health_check=list(HealthCheck), derandomize=False, print_blob=False, report_multiple_bugs=False,
    )  # fmt: skip
    run_state_machine_as_test(seed(number)(MACHINES[trainer]), settings=options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000, help="of all trainers together")
    parser.add_argument("--batch", type=int, default=20, help="runs of one trainer at a time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trainers", nargs="*", choices=list(TRAINERS), default=list(TRAINERS))
    parser.add_argument("--shrink", action="store_true", help="look for the shortest calls that fail, which takes long")
    parser.add_argument("--refusals", action="store_true", help="print what was refused")
    parser.add_argument("--results", type=Path, default=Path("build/fuzz.csv"))
    args = parser.parse_args()
    args.results.parent.mkdir(parents=True, exist_ok=True)
    done = set()
    if args.results.exists():
        with args.results.open() as file:
            done = {(row["trainer"], int(row["seed"])) for row in csv.DictReader(file)}
    else:
        args.results.write_text("trainer,seed,runs,calls,refused,seconds,found\n")
    for number in range(args.seed, args.seed + -(-args.runs // (args.batch * len(args.trainers)))):
        for trainer in args.trainers:
            if (trainer, number) in done:
                continue
            CALLS.clear()
            REFUSALS.clear()
            start, found = time.perf_counter(), ""
            try:
                run(trainer, number, args.batch, shrinks=args.shrink)
            except Exception as error:
                found = f"{type(error).__name__}: {str(error).strip()[:200]}"
                print(f"--- {trainer}, seed {number}: {type(error).__name__}: {error}"[:1500])
                places = [place for place in traceback.extract_tb(error.__traceback__) if "hypothesis" not in place[0]]
                print(
                    "".join(traceback.format_list(places[-9:])), *getattr(error, "__notes__", []), sep="\n", flush=True
                )
            if args.refusals:
                print(*REFUSALS.most_common(), sep="\n")
            seconds = round(time.perf_counter() - start, 1)
            with args.results.open("a", newline="") as file:
                csv.writer(file).writerow(
                    [trainer, number, args.batch, CALLS.total(), REFUSALS.total(), seconds, found]
                )
            print(trainer, number, CALLS.total(), REFUSALS.total(), seconds, found[:100], flush=True)


if __name__ == "__main__":
    main()
