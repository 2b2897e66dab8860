"""Load model files that a coverage-guided fuzzer has changed: each must be refused by name, or be a model that answers.

    pip install atheris
    python tests/fuzz_files.py --seconds 600 --results benchmarks/results/fuzzed_files.csv

A change keeps what would be refused at once: lengths and digests are those of the changed content. What was
found to reach new code is kept in a folder, from which the next run goes on, and runs add up in the file of results.
"""

from __future__ import annotations

import argparse
import csv
import gc
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import atheris
import numpy as np

with atheris.instrument_imports(include=["ordinal_objectives"]):
    from ordinal_objectives.adapters.xgb import input_checks
    from ordinal_objectives.estimators import ensemble

from damage_files import without_digest

COUNTS = ("executions", "answered", "unnamed errors", "over 2 s", "over 64 MiB and ten times the file")
COLUMNS = ("format", *COUNTS, "crashes", "processor seconds")
_LIMIT = 64 << 20
# Values that may stand where another was.
_OTHERS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 255, 2**31, 2**63, 10**400, 0.5, -0.0, 1e-320, 1e308, float("nan"), float("inf"),
    "", "a", "0", "\0", "../a", "x" * 300, [], [0], [[0]], {}, {"tuple": [1]}, {"float": "inf"}, {"dict": [[[], 1]]},
)  # fmt: skip


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every container of a JSON value with each of its keys."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in list(pairs) for place in ((value, key), *places(inner))]


def changed_json(text: bytes, rng: random.Random) -> bytes:
    """Return JSON with one entry changed, left out, doubled, or taken from elsewhere."""
    value = json.loads(text)
    found = places(value)
    (container, key), (other, its_key) = rng.choice(found), rng.choice(found)
    how = rng.randrange(6)
    if how == 0:
        del container[key]
    elif how == 1 and isinstance(container, list):
        container.insert(key, container[key])
    elif how == 2:
        container[key] = other[its_key]
    elif how == 3 and type(container[key]) in (int, float):
        container[key] += rng.choice([-1, 1, 0.5, 1e9])
    else:
        container[key] = rng.choice(_OTHERS)
    return json.dumps(value).encode()


def split_engine(content: bytes) -> tuple[bytes, bytes, bytes]:
    """Return the first line, the header and the arrays of a file of the engine that has no digest."""
    start = content.index(b"\n") + 1
    end = start + 8 + int.from_bytes(content[start : start + 8], "little")
    return content[:start], content[start + 8 : end], content[end:]


def mutated(content: bytes, mutate: Callable[[bytes], bytes], rng: random.Random) -> bytes:
    """Return a changed part of a file, as the format has it: JSON, or a file of the engine."""
    try:
        first, header, arrays = split_engine(content) if content.startswith(b"ordinal") else (b"", content, b"")
        how = rng.randrange(4) if first else rng.randrange(2)
        if how < 2:
            header = changed_json(header, rng) if rng.random() < 0.8 else mutate(header)
        elif how == 2:  # any element of an array
            at = rng.randrange(len(arrays))
            arrays = arrays[:at] + mutate(arrays[at : at + 8])[:8].ljust(8, b"\0") + arrays[at + 8 :]
        else:  # an array that is longer or shorter, and says so
            described, at = json.loads(header), 0
            sizes = [np.dtype(dtype).itemsize * n for _, dtype, n in described["arrays"]]
            which = rng.randrange(len(sizes))
            at, end, width = (
                sum(sizes[:which]),
                sum(sizes[: which + 1]),
                np.dtype(described["arrays"][which][1]).itemsize,
            )
            n = rng.choice([-1, 1])
            described["arrays"][which][2] += n
            arrays = (
                arrays[: end - width] + (arrays[end - width : end] * (1 + n)) + arrays[end:] if end > at else arrays
            )
            header = json.dumps(described).encode()
    except Exception:  # it is no such file any more
        return mutate(content)
    return first + len(header).to_bytes(8, "little") + header + arrays if first else header


class Engine:
    """Files of the native engine, without their digest."""

    def __init__(self) -> None:
        from makers import make_engine

        options: list[Any] = [{}, {"proportional": True}, {"linear": True}, {"decision_rule": "mode"}]
        options += [{"categorical_features": [3]}, {"classes": ["a", "b", "c", "d"], "proportional": "auto"}]
        self.models = [fitted(make_engine(max_iter=3, **one)) for one in options]

    def parts(self, path: Path) -> list[bytes]:
        return [without_digest(saved(model, path)) for model in self.models]

    def put(self, content: bytes, path: Path) -> None:
        path.write_bytes(content)


class Records(Engine):
    """What a booster carries, as JSON: the record of the thresholds, and what the classifier knows."""

    def __init__(self) -> None:
        from makers import make_xgb

        options: list[Any] = [{}, {"proportional": False}, {"classes": list("abcd")}]
        options += [{"cost_matrix": np.eye(4).tolist()}, {"proportional": False, "shift_method": "host"}]
        self.models = [fitted(make_xgb(n_estimators=3, max_depth=2, **one)) for one in options]

    def parts(self, path: Path) -> list[bytes]:
        for model in self.models:
            saved(model, path)  # stores the record
        records = [model.booster_.attr("ordinal_objectives").encode() for model in self.models]
        self.before, _, self.after = bytes(self.models[0].booster_.save_raw("ubj")).partition(records[0])
        return records

    def put(self, content: bytes, path: Path) -> None:
        path.write_bytes(input_checks.sealed(self.before[:-8] + len(content).to_bytes(8, "big") + content + self.after))


class Ensembles(Engine):
    """The table of contents of an ensemble, in an archive with the files of its members."""

    def __init__(self) -> None:
        from makers import make_engine, make_xgb
        from ordinal_objectives import OrdinalEnsembleClassifier

        members = [("a", make_xgb(n_estimators=2, max_depth=2)), ("b", make_engine(max_iter=2))]
        self.models = [fitted(OrdinalEnsembleClassifier(members, n_bags=1))]

    def parts(self, path: Path) -> list[bytes]:
        saved(self.models[0], path)
        with zipfile.ZipFile(path) as archive:
            self.files = {name: archive.read(name) for name in archive.namelist()}
        return [self.files.pop(ensemble._CONTENTS)]

    def put(self, content: bytes, path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, held in (self.files | {ensemble._CONTENTS: content}).items():
                archive.writestr(name, held)


FORMATS = {"engine": Engine, "record in a booster": Records, "ensemble": Ensembles}


def rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(80, 3)), rng.integers(0, 4, 80)])
    return X, rng.permutation(np.arange(80) % 4)


def fitted(model: Any) -> Any:
    X, y = rows()
    return model.fit(X, y if model.get_params().get("classes") is None else np.array(model.classes)[y])


def saved(model: Any, path: Path) -> bytes:
    model.save_model(path)
    return path.read_bytes()


def fuzz(name: str, folder: Path, seconds: int, seed: int) -> None:
    """Fuzz one format until the time is over; libFuzzer ends the process then."""
    counts = np.memmap(folder / "counts", np.int64, "r+", shape=len(COUNTS))
    warnings.simplefilter("ignore")
    tempfile.tempdir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # memory
    form, corpus = FORMATS[name](), folder / "corpus"
    path = Path(tempfile.gettempdir(), f"fuzzed-{os.getpid()}")
    corpus.mkdir(exist_ok=True)
    for i, part in enumerate(form.parts(path)):
        (corpus / f"seed-{i}").write_bytes(part)
    kind, X, peak = type(form.models[0]), rows()[0][:5], 0

    def attempt(content: bytes) -> None:
        nonlocal peak
        form.put(content, path)
        counts[0] += 1
        signal.setitimer(signal.ITIMER_PROF, 60)  # of the processor's time, after which the process ends
        start = time.process_time()
        try:
            with np.errstate(all="ignore"):
                proba = kind().load_model(path).predict_proba(X)
                assert np.isfinite(proba).all(), proba
                assert np.allclose(proba.sum(axis=1), 1.0), proba
            counts[1] += 1
        except (ValueError, ModuleNotFoundError):
            pass
        except Exception as error:
            counts[2] += 1
            place = traceback.extract_tb(error.__traceback__)[-1]
            found = folder / f"{type(error).__name__}-{Path(place.filename).stem}-{place.lineno}"
            if not found.exists():
                found.write_bytes(content)
                found.with_suffix(".txt").write_text(traceback.format_exc())
        counts[3] += time.process_time() - start > 2
        before, peak = peak, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        if before and peak - before > _LIMIT + 10 * path.stat().st_size:
            counts[4] += 1
            (folder / f"memory-{counts[4]}").write_bytes(content)

    def mutate(content: bytes, max_size: int, seed: int) -> bytes:
        changed = mutated(content, lambda part: atheris.Mutate(part, len(part) + 64), random.Random(seed))
        return changed[:max_size]

    options = [f"-max_total_time={seconds}", "-timeout=86400", "-max_len=200000", f"-seed={seed}", "-reload=0"]
    options += [f"-artifact_prefix={folder}/crash-", "-verbosity=0", "-rss_limit_mb=4096", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], attempt, custom_mutator=mutate)
    gc.freeze()  # what is here by now is not looked through again
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--formats", nargs="*", choices=list(FORMATS), default=list(FORMATS))
    parser.add_argument("--seconds", type=int, default=600, help="for each format")
    parser.add_argument("--folder", type=Path, default=Path("build/fuzzed_files"))
    parser.add_argument("--results", type=Path, default=Path("build/fuzzed_files.csv"))
    parser.add_argument("--inside", type=int, help=argparse.SUPPRESS)  # the seed of a process that fuzzes
    args = parser.parse_args()
    if args.inside is not None:
        fuzz(args.formats[0], args.folder, args.seconds, args.inside)
    done = {row["format"]: row for row in csv.DictReader(args.results.open())} if args.results.exists() else {}
    for name in args.formats:
        folder = args.folder / name.replace(" ", "_")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "counts").write_bytes(bytes(8 * len(COUNTS)))
        before = {column: int(done.get(name, {}).get(column, 0)) for column in COLUMNS[1:]}
        began = sum(os.times()[2:4])  # of processes that have ended
        command = [sys.executable, __file__, "--inside", str(before["executions"]), "--formats", name]
        ended = subprocess.run([*command, "--folder", folder, "--seconds", str(args.seconds)], check=False).returncode
        new = dict(zip(COUNTS, np.fromfile(folder / "counts", np.int64).tolist(), strict=True))
        new |= {"crashes": int(ended != 0), "processor seconds": round(sum(os.times()[2:4]) - began)}
        done[name] = {"format": name} | {column: before[column] + new[column] for column in before}
        with args.results.open("w", newline="") as file:
            table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            table.writeheader()
            table.writerows(done.values())
        print(done[name], flush=True)


if __name__ == "__main__":
    main()
