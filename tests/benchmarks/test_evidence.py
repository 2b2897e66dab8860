"""The pages show what the result files say, and nothing measured beside it."""

from __future__ import annotations

import csv
import re
import sys
from collections import defaultdict
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

from claims.accuracy import plain_call
from claims.report import accuracy_report, accuracy_tables, recompute
from lib import generated
from lib.generated import Table
from lib.methods import MULTICLASS, OURS, ROUNDED
from lib.set_ratios import runs_of

pytestmark = pytest.mark.slow

PAGES = accuracy_report.PAGES
SHAPE = ("experiment", "data", "rule", "seed", "method", "n_train", "n_test", "n_classes")
SCORES = ("zero_one", "mae", "macro_mae", "qwk", "rps", "log_loss", "fit_seconds", "rounds")
COLUMNS = (*SHAPE, *SCORES, "setting", "failure", "machine")


def test_pages_equal_what_the_results_give(tables):
    texts = {page: page.read_text(encoding="utf-8") for page in PAGES}
    stale = [page for page, text in texts.items() if generated.fill(text, tables) != text]
    assert not stale, "run python benchmarks/claims/report/accuracy_report.py"
    begin = [page for page, text in texts.items() if re.search(r"^ *<!-- generated: [^>]*;", text, re.MULTILINE)]
    assert not begin, "a line that begins with a mark is HTML"


def test_notebook_of_the_thesis_shows_the_tables(tables, monkeypatch):
    """Its cells run with the tables of this run, and show what is stored."""
    notebook = nbformat.read(accuracy_report.ROOT / "notebooks" / "thesis_experiments.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    stored = [output.data["text/markdown"] for cell in cells for output in cell.outputs]
    monkeypatch.setattr(accuracy_report, "tables", lambda: tables)
    monkeypatch.setattr(sys, "path", [*sys.path])
    shown = []
    names = {"display": shown.append}
    for cell in cells:
        exec(cell.source, names)  # our own notebook
    assert len(stored) > 20
    assert [one.data for one in shown] == stored, "make notebooks"


# The same rows with other features or another target.
SHARED = {"cpu_small": "cpu_act", "census8L": "census16H", "diabetes012": "brfss_genhlth"}


def test_table_of_the_readme():
    """Beside each call the median ratio of the runs, and on how many sets ours is lower; no one set makes a loss.

    Seconds are of fits on one machine.
    """
    with runs_of(plain_call.NAME, "evaluation").open(encoding="utf-8", newline="") as file:
        runs = {(row["method"], row["data"], row["seed"]): row for row in csv.DictReader(file)}
    for method, row in zip(plain_call.IN_README, plain_call.readme().rows, strict=True):
        assert row["beside"].replace("`", "").startswith(method)
        for of, column in plain_call.README_COLUMNS.items():
            sums = defaultdict(lambda: np.zeros(2))
            for (one, data, seed), theirs in runs.items():
                ours = runs[plain_call.RECOMMENDED, data, seed]
                if one == method and (of != "seconds" or ours["machine"] == theirs["machine"]):
                    sums[data] += float(ours[of]), float(theirs[of])
            if not sums:
                assert (of, row[column]) == ("seconds", "-")
                continue
            logs = defaultdict(list)
            for data, pair in sums.items():
                logs[SHARED.get(data, data)].append(np.log(pair[0] / pair[1]))
            ratios = np.exp([np.mean(of_rows) for of_rows in logs.values()])
            assert (len(sums), len(ratios)) == (39, 36)
            found = re.fullmatch(r"([\d.]+)(?: ([\d.]+)-([\d.]+))? \((\d+)\)", row[column])
            assert found[1] == f"{np.median(ratios):.2f}"
            assert int(found[4]) == np.sum(ratios < 1)
            without_one = [np.median(np.delete(ratios, i)) for i in range(len(ratios))]
            assert of == "seconds" or (np.ptp(without_one) < 0.045 and max(without_one) < 1)
            assert of == "seconds" or float(found[2]) <= np.median(ratios) <= float(found[3]) < 1


def test_pages_equal_what_other_code_finds_in_the_raw_runs(capsys):
    """Code that shares nothing with the tables' finds the numbers of five pages; reading the runs takes seconds."""
    assert recompute.main() == 0
    assert re.match(r"\d{3} cells compared, 0 differ", capsys.readouterr().out)


def prose(text):
    """Return a page without what is generated, code, links, references to the thesis, versions, levels of intervals."""
    text = generated.MARKED.sub("", text)
    text = re.sub(r"```.*?```|^    .*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)
    return re.sub(r"(Tables?|Figures?|sections?) \d\.\d( and \d\.\d)?|version \d\.\d\.\d|95% interval", "", text)


MEASURED = re.compile(r"\d[\d.,]* ?(%|percent\b|times\b|x\b|ms\b|(micro|milli)?seconds?\b|minutes?\b)")


def test_no_measured_number_is_written_by_hand():
    for page in PAGES:
        text = prose(page.read_text(encoding="utf-8"))
        assert not MEASURED.findall(text), page
        assert "evidence" not in str(page.relative_to(accuracy_report.ROOT)) or not re.findall(r"\d+\.\d+", text), page


def test_pictures_are_those_that_the_pages_show():
    docs = accuracy_report.ROOT / "docs"
    shown = {
        (page.parent / name).resolve().relative_to(docs)
        for page in PAGES
        for name in re.findall(r"!\[[^]]*\]\(([^)]*)\)", page.read_text(encoding="utf-8"))
        if not name.startswith("https://")  # the README's are tested beside its links
    }
    assert Path("evidence/overview.png") in shown
    assert all((docs / name).exists() for name in shown)
    kept = [path for folder in ("compare", "evidence", "tutorial") for path in (docs / folder).glob("*.[ps][nv]g")]
    assert {path.relative_to(docs) for path in kept} == shown


def test_fill_writes_tables_and_cells():
    tables = {"t": Table([{"a": "x", "b": "**1**"}, {"a": "y", "b": 2.0}], "A note."), "none": Table([])}
    page = "<!-- generated: t -->old<!-- end --> and <!-- generated: t; b; a=y --><!-- end -->"
    filled = generated.fill(page, tables)
    assert filled == (
        "<!-- generated: t -->\n\n| a | b |\n|---|---|\n| x | **1** |\n| y | 2 |\n\nA note.\n\n<!-- end --> and "
        "<!-- generated: t; b; a=y -->2<!-- end -->"
    )
    assert generated.fill(filled, tables) == filled
    assert tables["t"].cell("b", {"a": "x"}) == "1"
    assert generated.PENDING in generated.fill("<!-- generated: none --><!-- end -->", tables)


def row(method, zero_one, mae, seed=0, data="a", **changes):
    rps = {} if "rounded" in method else {"rps": mae / 2, "log_loss": 2 * mae}
    shape = {"experiment": "sixteen", "rule": "quantile", "n_train": 30, "n_test": 13, "n_classes": 9}
    scores = {"zero_one": zero_one, "mae": mae, "macro_mae": mae, "qwk": 1 - mae} | rps
    name = {"data": data, "seed": seed, "method": method, "setting": "depth=3", "failure": "", "machine": "1"}
    return shape | scores | name | {"fit_seconds": 1.0, "rounds": 7} | changes


def write(rows, folder):
    path = folder / "accuracy_runs.csv"
    pd.DataFrame(rows, columns=COLUMNS).to_csv(path, index=False)
    return path


def read(rows, folder):
    return accuracy_tables.tables(accuracy_tables.read(write(rows, folder)))


@pytest.fixture(scope="module")
def small_file(tmp_path_factory):
    """Three sets, two seeds; ours is best on a and b, rounded on c; a peer fails on b."""
    ours, multi = {"a": 0.2, "b": 0.3, "c": 0.5}, {"a": 0.4, "b": 0.6, "c": 0.6}
    rows = []
    for size, data in zip((300, 200, 100), "abc", strict=True):
        for seed in (0, 1):
            base = {"data": data, "seed": seed, "n_train": size}
            rows += [row(OURS, 0.1, ours[data] + 0.1 * seed, fit_seconds=2.0 + seed, **base)]
            rows += [row(MULTICLASS, 0.2, multi[data] + 0.1 * seed, fit_seconds=5.0, **base)]
            rows += [row(ROUNDED, 0.1, 0.4 + 0.1 * seed, **base)]
            lost = dict.fromkeys(SCORES, np.nan)
            rows += [row("peer", 0.3, 0.9, **base) | (lost | {"failure": "no, never"} if data == "b" else {})]
    timed = [one | {"experiment": "seconds"} for one in rows]  # the only ones whose seconds count
    return write([one | {"fit_seconds": 99.0} for one in rows] + timed, tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def small(small_file):
    return accuracy_tables.tables(accuracy_tables.read(small_file))


def test_errors(small):
    table = small["sixteen quantile errors"]
    assert [row["data"] for row in table.rows] == ["c", "b", "a"]  # small sets first
    assert table.rows[2] == {
        "data": "a",
        "K": "9",
        "train / test": "300 / 13",
        "seeds": "2",
        "zero-one ordinal shifts": "**0.100** (0.000)",
        "zero-one xgb multiclass": "0.200 (0.000)",
        "zero-one xgb rounded": "**0.100** (0.000)",
        "MAE ordinal shifts": "**0.250** (0.071)",
        "MAE xgb multiclass": "0.450 (0.071)",
        "MAE xgb rounded": "0.450 (0.071)",
    }


def test_signed_rank_tests(small):
    table = small["sixteen quantile tests"]
    assert table.cell("wins / ties / losses", {"metric": "MAE", "against": ROUNDED}) == "2 / 0 / 1"
    assert table.cell("wins / ties / losses", {"metric": "zero-one", "against": ROUNDED}) == "0 / 3 / 0"
    assert table.cell("p", {"metric": "zero-one", "against": ROUNDED}) == "1.000"
    assert table.cell("p", {"metric": "MAE", "against": MULTICLASS}) == "0.125"  # (1/2)^3
    assert {row["significant"] for row in table.rows} == {"no"}


def test_ranks(small):
    table = small["sixteen quantile ranks"]
    assert table.cell("MAE", {"method": OURS}) == "1.33 [1.00, 2.00]"
    assert table.cell("MAE", {"method": "peer"}) == "4.00 [4.00, 4.00]"
    assert table.cell("RPS", {"method": ROUNDED}) == "-"
    assert "peer gave no result on b and ranks last there" in table.note
    assert "RPS: 3 methods on 3 sets" in table.note
    assert small["sixteen quantile peers"].cell("MAE", {f"{OURS} against": "peer"}) == "2 / 0 / 0"
    assert small["sixteen quantile failures"].rows == [
        {"method": "peer", "data": "b", "seeds": "2", "reasons": "no, never"}
    ]
