"""The evaluation data are fetched from a server on this machine: whole, changed, missing, broken off."""

from __future__ import annotations

import gzip
import hashlib
import io
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

import fetch_data
import numpy as np
import pandas as pd
import pytest
from fetch_data import DataSet, read_table

from lib import data

ARFF = b"""% A comment.
@RELATION cars
@attribute 'horse power' numeric
@attribute maker {Fiat, 'Alfa Romeo'}
@ATTRIBUTE class {bad, good}
@DATA
70.5, Fiat, good
?, 'Alfa Romeo', bad
100.0, Fiat, good
"""
ROWS = "70.5,Fiat,good\n,Alfa Romeo,bad\n100.0,Fiat,good\n"


def data_set(text: str, **given: str) -> DataSet:
    """A line of the table whose rows are `text`."""
    empty = dict.fromkeys(DataSet.__dataclass_fields__, "")
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return DataSet(**{**empty, "file": "B_cars", "set": "cars", "format": "arff", "sha256": sha256, **given})


class Server(BaseHTTPRequestHandler):
    """Answers from `files`; an address that ends in "broken" breaks off in its middle."""

    at: ClassVar[str]
    files: ClassVar[dict[str, bytes]]
    asked: ClassVar[list[str]]

    def do_GET(self):
        self.asked.append(self.path)
        name = self.path.strip("/")
        content = self.files.get(name.removesuffix(".broken"))
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if name.endswith("broken") else content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(Server, "files", {"cars.arff": ARFF}, raising=False)
    monkeypatch.setattr(Server, "asked", [], raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as running:
        thread = Thread(target=partial(running.serve_forever, 0.01))
        thread.start()
        monkeypatch.setattr(Server, "at", f"http://127.0.0.1:{running.server_port}/", raising=False)
        yield Server
        running.shutdown()
        thread.join()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Name a folder that does not exist yet."""
    monkeypatch.setenv("ORDINAL_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def file(folder):
    return folder / "B_cars.csv.gz"


@pytest.fixture
def run(server, folder, monkeypatch, capsys):
    """Call the script for some sets, with an address on the server; return its status and its lines."""

    def call(*sets: DataSet, at: str = "cars.arff"):
        asked = [replace(one, address=server.at + at) for one in sets]
        monkeypatch.setattr(fetch_data, "read_table", lambda: asked)
        return fetch_data.main([one.set for one in sets]), capsys.readouterr().out.splitlines()

    return call


def test_a_fetched_file_has_the_rows_of_the_table(run, folder, file):
    assert run(data_set(ROWS)) == (0, ["cars: fetched"])
    assert gzip.decompress(file.read_bytes()).decode() == f"horse power,maker,target\n{ROWS}"
    assert list(folder.iterdir()) == [file]


@pytest.mark.parametrize(
    ("at", "said"), [("cars.arff", "sha256"), ("none.arff", "404"), ("cars.arff.broken", "Incomplete")]
)
def test_what_is_wrong_missing_or_broken_off_leaves_no_file(run, folder, at, said):
    other = data_set("" if at == "cars.arff" else ROWS)
    status, (line,) = run(other, at=at)
    assert status == 1
    assert line.startswith("cars: failed: ")
    assert said in line
    assert not list(folder.iterdir())
    assert run(data_set(ROWS)) == (0, ["cars: fetched"])  # the next call


def packed(frame: pd.DataFrame, kind: str) -> bytes:
    """A table as a file of a kind."""
    buffer = io.BytesIO()
    if kind == "parquet":
        frame.to_parquet(buffer)
    elif kind == "npz":
        np.savez(buffer, X=frame.iloc[:, :-1].to_numpy(), y=frame.iloc[:, -1].to_numpy())
    elif kind == "zip":
        frame.to_csv(buffer, index=False, compression={"method": "zip", "archive_name": "a.csv"})
    else:
        separator = {"tsv": "\t", "semicolon": ";"}.get(kind, ",")
        text = frame.to_csv(index=False, sep=separator, header=kind != "no names").encode()
        return gzip.compress(text) if kind == "gzip" else text
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("parquet", {"format": "parquet"}),
        ("npz", {"format": "npz"}),
        ("zip", {"format": "csv", "packed": "zip"}),
        ("gzip", {"format": "csv", "packed": "gzip"}),
        ("tsv", {"format": "tsv"}),
        ("semicolon", {"format": "csv"}),
        ("no names", {"format": "csv", "names": "none"}),
    ],
)
def test_every_format_gives_the_same_rows(kind, given, run, server):
    frame = pd.DataFrame({"a": [1.5, 2.25], "b": np.float32([3, 4]), "c": [0, 1]})
    server.files["file"] = packed(frame, kind)
    assert run(data_set("1.5,3,0\n2.25,4,1\n", **given), at="file")[1] == ["cars: fetched"]


def test_the_table_and_the_loader_name_the_same_sets_shapes_and_classes():
    wanted = {
        source.file: (name, source.shape) for name, source in data.SOURCES.items() if source.file and " " not in name
    }
    table = read_table()
    assert {one.file: (one.set, (int(one.rows), int(one.features))) for one in table} == wanted
    for one in table:
        classes = data.SOURCES[one.set].classes
        if classes is not None:
            assert one.classes == " < ".join(map(str, classes))
        elif one.classes:  # the order of numbers, which words do not have
            assert sorted(map(float, one.classes.split(" < "))) == list(map(float, one.classes.split(" < ")))
        assert bool(one.format) != bool(one.not_fetched)
