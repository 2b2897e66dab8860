"""The figures of docs/reliability.md, each with its command, from the result files of scripts in tests/."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from lib.generated import Table
from lib.report import RESULTS

Rows = list[dict[str, str]]
DATA = Path(__file__).resolve().parents[3] / "tests" / "data"


def read(path: Path) -> Rows:
    """Return the rows of a file; none without one."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def total(rows: Rows, column: str) -> int:
    return sum(int(row[column]) for row in rows)


def state_machines(rows: Rows) -> str:
    broken = sum(bool(row["found"]) for row in rows)
    return (
        f"{total(rows, 'runs'):,} runs with {total(rows, 'calls'):,} calls, of which {total(rows, 'refused'):,} were "
        f"refused by name; {broken or 'none'} broke a rule"
    )


def fuzzed(rows: Rows) -> str:
    each = ", ".join(f"{int(row['executions']):,} of {row['format']}" for row in rows)
    ends = ("crashes", "unnamed errors", "over 2 s", "over 64 MiB and ten times the file")
    rate = total(rows, "executions") / total(rows, "processor seconds") * 3600
    found = [f"{total(rows, end) or 'none'} {words}" for end, words in zip(ends, ENDS, strict=True)]
    return f"{each}, {rate:,.0f} an hour of one processor; {', '.join(found)}"


ENDS = (
    "ended the process",
    "raised an unnamed error (those of earlier runs are mended, each with a test)",
    "took over 2 s",
    "took over 64 MiB and ten times the file",
)


def damaged(rows: Rows) -> str:
    same = total([row for row in rows if row["answer"] != "refused"], "files")
    return (
        f"{total(rows, 'files'):,} of {len({row['format'] for row in rows})} formats: all refused by name but {same}, "
        "which were the same model (a date in an archive, the name of a digest); none ended the process"
    )


def lasting(what: str) -> Callable[[Rows], str]:
    def found(rows: Rows) -> str:
        return "; ".join(
            f"{row['classifier']} {int(row['times']):,}: {row['result']}"
            for row in rows
            if row["what"].startswith(what)
        )

    return found


def separable(rows: Rows) -> str:
    rows = [row for row in rows if row["what"].startswith("rounds on separable data")]
    found = [re.findall(r"\d\S*", row["result"]) for row in rows]  # two losses, and how often it rose
    last, rises = [float(numbers[1].strip(",")) for numbers in found], sum(int(numbers[2]) for numbers in found)
    ended = [f"{row['classifier']} {row['what'].split(', ')[1]} after {row['times']}" for row in rows]
    most = max(int(row["times"]) for row in rows)
    early = [text for text, row in zip(ended, rows, strict=True) if int(row["times"]) < most]
    return (
        f"{len(rows)} trainings of {most:,} rounds, but for {', '.join(early)}, which found no split any more: all "
        f"finite and in order; the loss fell from {found[0][0]} to between {min(last):g} and {max(last):g}, and rose "
        f"in {rises} rounds"
    )


def changed(which: Callable[[str], bool]) -> Callable[[Rows], str]:
    def found(rows: Rows) -> str:
        rows = [row for row in rows if which(row["change"])]
        largest = max((row["largest difference"] for row in rows), key=float, default="0")
        return (
            f"of {total(rows, 'models'):,} models {total(rows, 'same bytes'):,} had the same bytes and "
            f"{total(rows, 'within 1e-6'):,} the same scores and thresholds to one in a million; "
            f"{total(rows, 'other splits') or 'none'} had another split; the others differed by {largest} at most"
        )

    return found


def killed(rows: Rows) -> str:
    found = []
    for engine in dict.fromkeys(row["engine"] for row in rows):
        runs = [row for row in rows if row["engine"] == engine]
        right = sum(row["ended"] == "the right model" for row in runs)
        lost = sum(not row["ended"].endswith(("model", "unnamed")) for row in runs)
        other = len(runs) - right - lost
        slowest = max(float(row["seconds"]) for row in runs)
        found.append(
            f"{engine} {len(runs)}: an error that names the loss in {lost}, the right model in {right}, anything else "
            f"in {other}, after {slowest:.1f} s at most; the next training was right in "
            f"{sum(row['next_right'] == 'True' for row in runs)}"
        )
    return "; ".join(found)


def mutants(rows: Rows) -> str:
    verdicts = Counter(row["verdict"] for row in rows)
    explained = sum(row["verdict"] == "survived" and bool(row["note"]) for row in rows)
    return (
        f"{len(rows)} in the list: {verdicts['killed']} noticed by a test, {verdicts['survived']} not, of which "
        f"{explained} change no result; the lines of {verdicts['gone']} are gone, and {verdicts['']} are not run yet"
    )


# What, its file, its figure, and the command that gives it.
FIGURES: tuple[tuple[str, Path, Callable[[Rows], str], str], ...] = (
    (
        "calls of every classifier and wrapper in random order, with random tables, labels and parameters",
        RESULTS / "state_machines.csv",
        state_machines,
        "make fuzz SEED=2000",
    ),
    (
        "files that a coverage-guided fuzzer has changed, their lengths and digests put right",
        RESULTS / "fuzzed_files.csv",
        fuzzed,
        "make fuzz-files",
    ),
    ("files damaged at random", RESULTS / "damaged_files.csv", damaged, "python tests/damage_files.py --each 2000"),
    *(
        (what, RESULTS / "endurance.csv", figure, f"python tests/endure.py --only {only}")
        for what, figure, only in (
            ("growth of memory after 50 fits, each with 100 predictions", lasting("growth after 50 fits"), "growth"),
            ("fits interrupted at random moments", lasting("interrupted fits"), "interrupted --interrupts 500"),
            (
                "predictions of eight threads while a ninth trains",
                lasting("predictions of 8 threads beside fits"),
                "threads --seconds 600",
            ),
            ("trainings on data that a score separates", separable, "separable"),
        )
    ),
    *(
        (what, RESULTS / "golden_models.csv", changed(which), "python tests/golden_models.py changes FILE")
        for what, which in (
            ("models with another number of threads", lambda change: change == "2 threads"),
            ("models with the instructions of other processors", lambda change: change != "2 threads"),
        )
    ),
    (
        "a worker killed at a random moment of a training, and the next training",
        RESULTS / "killed_workers_runs.csv",
        killed,
        "PYTHONPATH=benchmarks python benchmarks/claims/speed/killed_workers.py",
    ),
    ("small changes of the Python code", DATA / "mutants.csv", mutants, "python tests/mutants.py run"),
    ("small changes of the native core", DATA / "core_mutants.csv", mutants, "python tests/core_mutants.py run"),
)


def table() -> Table:
    """Return what was counted, with the file and the command."""
    rows = [
        {"what": what, "figure": f"{figure(read(path))} (`{path.name}`)", "command": f"`{command}`"}
        for what, path, figure, command in FIGURES
        if path.exists()
    ]
    return Table(rows)
