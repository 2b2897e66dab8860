"""Damage model files in many ways, and load them: each must be refused by name, and the process goes on.

python tests/damage_files.py --each 2000 --results benchmarks/results/damaged_files.csv
"""

from __future__ import annotations

import argparse
import csv
import re
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import xgboost

from makers import make_cat, make_engine, make_lgb, make_xgb
from ordinal_objectives import OrdinalEnsembleClassifier
from ordinal_objectives.adapters import xgb as oxgb


def without_digest(text: bytes) -> bytes:
    """Return a file of LightGBM or the engine without its digest, as one that was made by hand."""
    return re.sub(rb"ordinal_objectives_sha256=.*\n", b"", text)


def rewritten(path: Path, change: Callable[[str], str]) -> None:
    """Let a function change the text that the package wrote into a file of XGBoost, LightGBM or the engine."""
    if path.suffix in (".json", ".ubj"):
        booster = xgboost.Booster(model_file=path)
        booster.set_attr(**{oxgb.ATTRIBUTE: change(booster.attr(oxgb.ATTRIBUTE) or "")})
        booster.save_model(path)
        return
    whole = without_digest(path.read_bytes())
    _, found, rest = whole.partition(b"[ordinal_thresholds: ")
    if found:
        begin = len(whole) - len(rest)
        end = whole.index(b"\n", begin) - 1
        path.write_bytes(whole[:begin] + change(whole[begin:end].decode()).encode() + whole[end:])
        return
    begin = whole.index(b"\n") + 1
    (length,) = struct.unpack_from("<Q", whole, begin)
    header = change(whole[begin + 8 : begin + 8 + length].decode()).encode()
    path.write_bytes(whole[:begin] + struct.pack("<Q", len(header)) + header + whole[begin + 8 + length :])


def flipped(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def overwritten(content: bytes, rng: np.random.Generator) -> bytes:
    start = int(rng.integers(len(content)))
    return content[:start] + rng.bytes(int(rng.integers(1, 17))) + content[start + 17 :]


def cut(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: int(rng.integers(len(content)))]


def without_a_part(content: bytes, rng: np.random.Generator) -> bytes:
    start = int(rng.integers(len(content)))
    return content[:start] + content[start + int(rng.integers(1, 200)) :]


DAMAGES = {"a bit flipped": flipped, "bytes overwritten": overwritten, "cut": cut, "a part left out": without_a_part}
MAKERS = {
    "XGBoost, JSON": (make_xgb, "model.json"),
    "XGBoost, UBJSON": (make_xgb, "model.ubj"),
    "LightGBM": (make_lgb, "model.txt"),
    "CatBoost": (make_cat, "model.cbm"),
    "engine": (make_engine, "model"),
    "ensemble": (
        lambda: OrdinalEnsembleClassifier([("a", make_xgb()), ("b", make_lgb()), ("c", make_engine())], n_bags=1),
        "model.zip",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=2000, help="damaged files of each format")
    parser.add_argument("--formats", nargs="*", choices=list(MAKERS), default=list(MAKERS))
    parser.add_argument("--results", type=Path)
    args = parser.parse_args()
    X = np.random.default_rng(0).normal(size=(150, 4))
    y = np.digitize(X[:, 0] + X[:, 1], [-1.0, 0.0, 1.0])
    rows = []
    for name in args.formats:
        make, file = MAKERS[name]
        model, rng = make().fit(X, y), np.random.default_rng(1)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / file
            model.save_model(path)
            content, before = path.read_bytes(), model.predict_proba(X)
            for i in range(args.each):
                kind = list(DAMAGES)[i % len(DAMAGES)]
                damaged = DAMAGES[kind](content, rng)
                if damaged == content:
                    continue
                path.write_bytes(damaged)
                try:
                    model.load_model(path)
                except ValueError as error:
                    if str(path) not in str(error):
                        raise
                else:
                    np.testing.assert_array_equal(model.predict_proba(X), before, err_msg=f"{name}: {kind}")
                    rows.append([name, kind, "the same model"])
                    continue
                rows.append([name, kind, "refused"])
            np.testing.assert_array_equal(model.predict_proba(X), before)
    counts = {row: rows.count(list(row)) for row in sorted(set(map(tuple, rows)))}
    for row, count in counts.items():
        print(*row, count, sep=": ")
    if args.results:
        with args.results.open("w", newline="") as table:
            csv.writer(table).writerows(
                [["format", "damage", "answer", "files"], *([*row, n] for row, n in counts.items())]
            )


if __name__ == "__main__":
    main()
