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
from matplotlib.text import Annotation, Text

from claims.accuracy import plain_call
from claims.report import accuracy_report, accuracy_tables, published_tables, recompute
from lib import critical_difference, generated, method_names, pictures, report
from lib.generated import Table
from lib.methods import MULTICLASS, OURS, PROPORTIONAL, ROUNDED
from lib.set_ratios import runs_of

pytestmark = pytest.mark.slow

PAGES = accuracy_report.PAGES
IDS = [page.relative_to(accuracy_report.ROOT).as_posix() for page in PAGES]
SHAPE = ("experiment", "data", "rule", "seed", "method", "n_train", "n_test", "n_classes")
SCORES = ("zero_one", "mae", "macro_mae", "qwk", "rps", "log_loss", "fit_seconds", "rounds")
COLUMNS = (*SHAPE, *SCORES, "setting", "failure", "machine")


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_page_equals_what_the_results_give(page, tables):
    text = page.read_text(encoding="utf-8")
    assert generated.fill(text, tables) == text, "run python benchmarks/claims/report/accuracy_report.py"
    assert not re.search(r"^ *<!-- generated: [^>]*;", text, re.MULTILINE), "a line that begins with a mark is HTML"


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
    """Beside each call the median ratio of the runs, and on how many sets ours is lower; no one set makes a loss."""
    with runs_of(plain_call.NAME, "evaluation").open(encoding="utf-8", newline="") as file:
        runs = {(row["method"], row["data"], row["seed"]): row for row in csv.DictReader(file)}
    for method, row in zip(plain_call.IN_README, plain_call.readme().rows, strict=True):
        assert row["beside"].replace("`", "").startswith(method)
        for of, column in plain_call.README_COLUMNS.items():
            sums = defaultdict(lambda: np.zeros(2))
            for (one, data, seed), theirs in runs.items():
                if one == method:
                    ours = runs[plain_call.RECOMMENDED, data, seed]
                    sums[data] += float(ours[of]), float(theirs[of])
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


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_no_measured_number_is_written_by_hand(page):
    text = prose(page.read_text(encoding="utf-8"))
    assert not MEASURED.findall(text)
    if "evidence" in page.relative_to(accuracy_report.ROOT).as_posix():
        assert not re.findall(r"\d+\.\d+", text)


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


@pytest.mark.parametrize("request_", ["u", "t; c; a=x", "t; b; a=z", "t; b"])
def test_fill_refuses_what_is_not_there(request_):
    tables = {"t": Table([{"a": "x", "b": "1"}, {"a": "y", "b": "2"}])}
    with pytest.raises(ValueError, match=r"no table is called|must name one cell"):
        generated.fill(f"<!-- generated: {request_} --><!-- end -->", tables)


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


def test_where_a_plain_method_is_as_good(small):
    found = {(row["metric"], row["data"]) for row in small["sixteen quantile plain"].rows}
    assert found == {("MAE", "c"), ("zero-one", "a"), ("zero-one", "b"), ("zero-one", "c")}


def test_seconds_are_medians_relative_to_ours(small):
    table = small["sixteen quantile seconds"]
    assert table.cell(f"{OURS}, s", {"data": "a"}) == "2.5"
    assert table.cell(MULTICLASS, {"data": "a"}) == "2.00"
    assert table.cell("peer", {"data": "b"}) == "-"
    assert table.cell("peer", {"data": "geometric mean"}) == "0.40"


def test_nothing_measured_says_so(tmp_path):
    found = accuracy_report.run_tables(tmp_path / "none.csv")
    goals = found.pop("goals")
    assert {row["reached"] for row in goals.rows} == {"not measured yet"}
    assert {table.markdown() for table in found.values()} == {generated.PENDING}


def test_nothing_to_report_is_not_the_same_as_nothing_measured(tmp_path):
    found = read([row(OURS, 0.1, 0.1), row(MULTICLASS, 0.2, 0.2), row(ROUNDED, 0.2, 0.2)], tmp_path)
    assert found["sixteen quantile plain"].markdown() == "None of them."
    assert found["sixteen quantile failures"].markdown() == "Every method gave a result everywhere."
    assert found["ordinal classes plain"].markdown() == generated.PENDING


def test_variants_and_decisions(tmp_path):
    rows = []
    for data, changed in (("a", 0.4), ("b", 0.1)):
        for seed in (0, 1):
            base = {"data": data, "seed": seed, "experiment": "ablation"}
            rows += [row(PROPORTIONAL, 0.2, 0.2, **base), row("joint", 0.2, changed, **base)]
            rows += [row(ROUNDED, 0.2, 0.1, **base)]
            base["experiment"] = "sixteen decisions"
            rows += [row(f"{OURS}, median", 0.2, 0.2, **base), row(f"{OURS}, mode", 0.1, 0.4, **base)]
    found = read(rows, tmp_path)
    # Log ratios of log 2 and -log 2: their 95% interval reaches to 12.706 of them, by Student's t of two sets.
    assert found["ablation"].cell("MAE", {"variant": "joint"}) == "1.000 [0.000, 6682.651], 1.000 (1 / 0 / 1; 1.000)"
    assert found["ablation"].cell("RPS", {"variant": ROUNDED}) == "-"
    assert found["ablation"].cell("sets", {"variant": ROUNDED}) == "2"
    assert found["ablation"].cell("zero-one", {"variant": "joint"}) == "1.000 [1.000, 1.000], 1.000 (0 / 2 / 0; 1.000)"
    assert (
        found["sixteen quantile decisions"].cell("MAE", {"variant": f"{OURS}, mode"})
        == "2.000 [2.000, 2.000], 2.000 (0 / 0 / 2; 0.500)"
    )


def test_published_figures_stand_beside_ours(tmp_path):
    place = {"experiment": "ordinal", "rule": "classes"}
    errors = {OURS: 0.3, MULTICLASS: 0.4, "peer": 0.2}
    runs = [row(name, mae, mae, data=data, **place) for data in ("esl", "tae") for name, mae in errors.items()]
    runs += [row(OURS, 0.3, 0.5, data="tae", seed=1, **place), row(MULTICLASS, 0.3, 1.0, data="tae", seed=1, **place)]
    none = accuracy_tables.read(tmp_path / "none.csv")
    table = published_tables.tables(accuracy_tables.read(write(runs, tmp_path)), none, none)["published"]
    assert [row["data"] for row in table.rows] == ["esl", "tae"]
    esl, tae = ({"data": data} for data in ("esl", "tae"))
    assert table.cell("ours (standard error)", tae) == "0.400 (0.100)"
    assert (table.cell("published best", esl), table.cell("reached", esl)) == ("0.302", "yes")
    assert table.cell("published best", tae) == "0.517"
    assert table.cell("partitions", tae) == "2"
    assert table.cell("lowest here", tae) == "peer 0.200 (1)"


def test_tables_name_seeds_and_machines(tmp_path):
    runs = [row(OURS, 0.1, 0.1, seed=seed, machine=str(1 + seed)) for seed in (0, 1)]
    path = tmp_path / "accuracy_runs.csv"
    path.with_suffix(".json").write_text(
        '{"machines": [{"cores": 2}, {"cores": 4, "numpy": "2.4", "catboost": "1.2"}, {"cores": 8}]}'
    )
    table = read(runs, tmp_path)["sixteen quantile MAE"]
    assert "2 partitions a set, by seeds 0 to 1. Measured on: cores 2, 4; numpy 2.4." in table.note
    assert report.machines(path)[2] == {"cores": 8}
    assert "cores 8" not in table.note


def test_tables_name_the_partitions_that_methods_share(tmp_path):
    seen = {"abalone": {OURS: 4, "peer": 2}, "boston": {OURS: 3, "peer": 3}}
    runs = [
        row(name, 0.1, 0.1, data=data, seed=seed)
        for data, methods in seen.items()
        for name, n_seeds in methods.items()
        for seed in range(n_seeds)
    ]
    tables = read(runs, tmp_path)
    assert "2 to 3 partitions a set, by seeds 0 to 2." in tables["sixteen quantile MAE"].note
    assert "3 to 4 partitions a set, by seeds 0 to 3." in tables["sixteen quantile errors"].note  # of ours alone


def test_a_file_of_another_shape_is_refused(tmp_path):
    (tmp_path / "x.csv").write_text("experiment,data\n")
    with pytest.raises(ValueError, match=r"must have the columns of accuracy\.py; it lacks failure"):
        accuracy_tables.read(tmp_path / "x.csv")


def test_picture_shows_every_method_at_its_rank(tmp_path):
    ranked = pd.DataFrame({OURS: [1.0, 1.0], "hgb rounded": [2.0, 3.0], "y": [3.0, 2.0]})
    drawn = critical_difference.figure(ranked, "Title", OURS)
    labels = {text.get_text() for text in drawn.axes[0].texts}
    assert {f"{method_names.IN_PICTURES[OURS]}  1.00", "scikit-learn rounded  2.50", "2.50  y"} <= labels
    pictures.save(drawn, tmp_path / "one.png")
    first = (tmp_path / "one.png").read_bytes()
    pictures.save(critical_difference.figure(ranked, "Title", OURS), tmp_path / "one.png")
    assert first == (tmp_path / "one.png").read_bytes()


def test_labels_beside_lines_do_not_overlap():
    drawn, ((axis,),) = pictures.panels(1, 1, (6, 4))
    axis.set_ylim(0, 1)
    ends = dict(zip("abcd", [(0.0, 0.5), (0.0, 0.501), (0.0, 0.9), (0.0, 0.499)], strict=True))
    pictures.label_ends(axis, ends, dict.fromkeys("abcd", "black"))
    labels = [text for text in axis.texts if isinstance(text, Annotation)]
    heights = {label.get_text(): label.xyann[1] for label in labels}
    assert sorted(heights, key=lambda name: heights[name]) == ["d", "a", "b", "c"]
    assert heights["a"] == pytest.approx(0.5, abs=1e-3)
    assert heights["c"] == 0.9
    assert heights["b"] - heights["a"] == pytest.approx(heights["a"] - heights["d"])
    drawn.draw_without_rendering()
    boxes = [Text.get_window_extent(label) for label in labels]  # without the lines that lead there
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])


def test_report_of_another_file_leaves_the_pages_alone(small_file, tmp_path, monkeypatch):
    before = [page.read_bytes() for page in PAGES]
    arguments = [
        "accuracy_report.py",
        "--results",
        str(small_file),
        "--into",
        str(tmp_path / "out"),
    ]
    monkeypatch.setattr("sys.argv", arguments)
    accuracy_report.main()
    assert "| c | 9 | 100 / 13 | 2 |" in (tmp_path / "out" / "accuracy.md").read_text(encoding="utf-8")
    assert (tmp_path / "out" / "evidence" / "sixteen_quantile_mae.png").exists()
    assert [page.read_bytes() for page in PAGES] == before
    monkeypatch.setattr("sys.argv", arguments[:3])
    with pytest.raises(SystemExit):
        accuracy_report.main()
