"""Fetch the evaluation data into the folder that the environment variable ORDINAL_DATA names.

ORDINAL_DATA=~/ordinal-data python benchmarks/fetch_data.py            every set that may be fetched
ORDINAL_DATA=~/ordinal-data python benchmarks/fetch_data.py esl car    these

data_sets.csv, beside this file, says where each set lies and what its rows must be. A file that is there is kept. What
is broken off leaves no file, and the next call fetches it.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd

from lib import generated

TABLE = Path(__file__).with_name("data_sets.csv")
SECONDS = 60  # without a byte, until an address is given up


@dataclass(frozen=True)
class DataSet:
    """A line of the table.

    Attributes
    ----------
    file, set : str
        The file's name without its ending, and the data set's in `lib.data`.
    rows, features : str
    classes : str
        Lowest first, between " < "; empty for a regression target.
    source, licence : str
        Where the data come from, and what the repository at the address states.
    address : str
        One or more, between spaces; their rows follow each other.
    format : {"arff", "csv", "tsv", "parquet", "npz", ""}
    packed : {"gzip", "zip", ""}
    names : {"", "none"}
        "none": the first line holds no names.
    drop : str
        Columns that are left out, between spaces.
    target : str
        The column; empty: the last.
    recode : str
        What the target's codes are called, as "0=draw 1=loss".
    complete : {"", "yes"}
        "yes": rows with a missing cell are left out.
    sha256 : str
        Of the file's text below the line of names.
    not_fetched : str
        Why this script does not fetch it.
    """

    file: str
    set: str
    rows: str
    features: str
    classes: str
    source: str
    licence: str
    address: str
    format: str
    packed: str
    names: str
    drop: str
    target: str
    recode: str
    complete: str
    sha256: str
    not_fetched: str


def read_table(path: Path = TABLE) -> list[DataSet]:
    """Return the lines of the table."""
    with path.open(encoding="utf-8", newline="") as lines:
        return [DataSet(**line) for line in csv.DictReader(lines)]


def fetch(data_set: DataSet, folder: Path) -> str:
    """Write a set's file if it is not there, and return what was done.

    Raises
    ------
    OSError, HTTPException
        If an address gives no answer, or breaks off.
    ValueError
        If the rows found, at the address or in the folder, are not those of the table. No file is written or changed.
    """
    path = folder / f"{data_set.file}.csv.gz"
    if path.exists():
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            _check(file.read(), data_set, path.name)
        return "is there"
    text = csv_text(pd.concat([_frame(_download(address), data_set) for address in data_set.address.split()]))
    _check(text, data_set, "what the address gives")
    unfinished = path.with_suffix(".part")
    unfinished.write_bytes(gzip.compress(text.encode(), mtime=0))
    unfinished.replace(path)
    return "fetched"


def csv_text(frame: pd.DataFrame) -> str:
    """Return a table as CSV: whole numbers without a point, others as short as can be, nothing for a missing cell."""
    frame = frame.copy()
    for name in frame.select_dtypes(["number", "bool"]):
        values = frame[name].astype(float)
        frame[name] = values.astype("Int64") if (values.dropna() % 1 == 0).all() else values
    return frame.to_csv(index=False, lineterminator="\n")


def _check(text: str, data_set: DataSet, what: str) -> None:
    found = hashlib.sha256(text.partition("\n")[2].encode()).hexdigest()
    if found != data_set.sha256:
        raise ValueError(f"the rows of {what} have the SHA-256 {found}; sha256 must be {data_set.sha256}")


def _download(address: str) -> bytes:
    # GitHub sends a blob as it is only if it is asked to.
    request = Request(address, headers={"Accept": "application/vnd.github.raw+json, */*", "User-Agent": "fetch_data"})
    with urlopen(request, timeout=SECONDS) as answer:
        content: bytes = answer.read()
    return content


def _frame(content: bytes, data_set: DataSet) -> pd.DataFrame:
    frame = _parsed(content, data_set)
    frame.columns = frame.columns.astype(str)
    frame = frame.drop(columns=data_set.drop.split())
    target = frame.pop(data_set.target or str(frame.columns[-1]))
    if data_set.recode:
        names = dict(part.split("=") for part in data_set.recode.split())
        target = target.astype(str).map(names)
    frame = frame.assign(target=target).dropna(subset=["target"])
    for name in frame.columns.difference(frame.select_dtypes(["number", "bool"]).columns):
        # pandas would read the word None as a missing cell.
        frame[name] = frame[name].astype(object).str.strip().replace("None", "none_")
    return frame.dropna() if data_set.complete else frame


def _parsed(content: bytes, data_set: DataSet) -> pd.DataFrame:
    if data_set.format == "parquet":
        frame = pd.read_parquet(io.BytesIO(content))
        return frame.drop(columns="rownames", errors="ignore")
    if data_set.format == "npz":
        arrays = np.load(io.BytesIO(content))
        return pd.DataFrame(np.column_stack([arrays["X"], arrays["y"]]))
    if data_set.format == "arff":
        head, rows = re.split(r"^@data\s*$", content.decode("latin-1"), maxsplit=1, flags=re.IGNORECASE | re.MULTILINE)
        names = re.findall(r"^@attribute\s+('[^']+'|\S+)", head, re.IGNORECASE | re.MULTILINE)
        return _csv(
            rows.encode(), names=[name.strip("'") for name in names], na_values=["?"], quotechar="'", comment="%"
        )
    separator = "\t" if data_set.format == "tsv" else ";" if b";" in content.partition(b"\n")[0] else ","
    header = None if data_set.names == "none" else 0
    return _csv(content, header=header, sep=separator, compression=data_set.packed or None)


def _csv(content: bytes, **options: Any) -> pd.DataFrame:
    usual: dict[str, Any] = {"dtype": str, "keep_default_na": False, "na_values": [""], "skipinitialspace": True}
    return pd.read_csv(io.BytesIO(content), **{**usual, **options}).apply(_numbers)


def _numbers(column: pd.Series) -> pd.Series:
    """Return texts as the nearest numbers, which older versions of pandas do not read; other texts as they are."""
    try:
        return column.astype(object).astype(float)
    except ValueError:
        return column


def table() -> generated.Table:
    """Return the table of the page on the data: a line for each set, with its first address."""
    rows = [
        {
            "set": one.set,
            "rows × features": f"{one.rows} × {one.features}",
            "classes, lowest first": one.classes.replace("<=", "≤") or "deciles",
            "source": f"[{one.source}]({one.address.split()[0]})" + (f". {one.not_fetched}" if one.not_fetched else ""),
            "licence": one.licence,
            "SHA-256 of the rows": "<wbr>".join(re.findall(".{16}", one.sha256)),
        }
        for one in read_table()
    ]
    return generated.Table(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch what is asked for; return how many sets failed."""
    table = {data_set.set: data_set for data_set in read_table()}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(table)}")
    asked = parser.parse_args(arguments).sets or list(table)
    if unknown := sorted(set(asked) - set(table)):
        parser.error(f"SET must be one of {', '.join(table)}; got {', '.join(unknown)}")
    if not os.environ.get("ORDINAL_DATA"):
        parser.error("ORDINAL_DATA must name the folder of the data files; it is not set")
    folder = Path(os.environ["ORDINAL_DATA"]).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for data_set in map(table.__getitem__, asked):
        try:
            done = f"not fetched: {data_set.not_fetched}" if data_set.not_fetched else fetch(data_set, folder)
        except (OSError, HTTPException, ValueError) as error:
            failed += 1
            done = f"failed: {error}"
        print(f"{data_set.set}: {done}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
