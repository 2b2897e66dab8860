"""Claims that take long resume where they were stopped, whatever keeps their rows."""

from __future__ import annotations

import json

import pytest

from lib import report
from lib.runner import CsvFile, JsonFile, missing, resume

CASES = [{"data": name, "seed": seed} for name in ("a", "b, c") for seed in (0, 1)]
COLUMNS = ("data", "seed", "method", "error")


def measure(case):
    return [{"method": method, "error": case["seed"] + 1 / 3} for method in ("ours", "theirs")]


@pytest.fixture(params=["json", "csv", "result"])
def open_store(request, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    return {
        "json": lambda: JsonFile(tmp_path / "runs.json"),
        "csv": lambda: CsvFile(tmp_path / "runs.csv", COLUMNS),
        "result": lambda: report.Result("name", "title", order=("data", "seed")),
    }[request.param]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # it forks, and may have threads
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_second_run_measures_what_the_first_left(open_store, jobs):
    resume(open_store(), CASES[1:2], measure)
    assert missing(CASES, open_store().rows) == [CASES[0], *CASES[2:]]
    assert len(resume(open_store(), CASES, measure, minutes=0.0, jobs=jobs)) == 2
    resume(open_store(), CASES, measure, jobs=jobs)

    def never(case):
        raise AssertionError(case)

    rows = resume(open_store(), CASES, never)
    assert len(rows) == 8
    assert {(row["data"], int(row["seed"]), float(row["error"]) > 1) for row in rows} == {
        (case["data"], case["seed"], case["seed"] == 1) for case in CASES
    }


def test_a_run_that_is_stopped_loses_the_case_it_was_at(open_store):
    def stopped(case):
        if case == CASES[2]:
            raise KeyboardInterrupt
        return measure(case)

    with pytest.raises(KeyboardInterrupt):
        resume(open_store(), CASES, stopped)
    assert missing(CASES, open_store().rows) == CASES[2:]


def test_rows_name_the_machine_that_measured_them(tmp_path, monkeypatch):
    path = tmp_path / "runs.csv"
    for cores in (2, 4, 2):
        monkeypatch.setattr(report, "machine", lambda cores=cores: {"cores": cores})
        store = report.RunsFile(path, COLUMNS)
        store.add([{"data": "a", "seed": len(store.rows), "method": "ours", "error": 0.5}])
    rows = report.RunsFile(path, COLUMNS).rows
    assert [row["machine"] for row in rows] == ["1", "2", "1"]
    assert [where["cores"] for where in report.machines(path)] == [2, 4]
    assert report.machines(tmp_path / "none.csv") == []


def test_a_file_of_other_columns_is_refused(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("data,seed\n")
    with pytest.raises(ValueError, match=r"must have the columns data, seed, method, error; it has \['data', 'seed'\]"):
        CsvFile(path, COLUMNS)


@pytest.mark.parametrize("kept", [-5, 25])
def test_half_a_line_is_taken_out(tmp_path, kept):
    """Of the last row, or of the first, where the columns' names alone are left."""
    path = tmp_path / "runs.csv"
    resume(CsvFile(path, COLUMNS), CASES, lambda case: measure(case)[:1])
    text = path.read_text()
    path.write_text(text[:kept])
    resume(CsvFile(path, COLUMNS), CASES, lambda case: measure(case)[:1])
    assert path.read_text() == text


def test_a_result_of_another_machine_is_measured_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    resume(report.Result("name", "title"), CASES[:1], measure)
    content = json.loads((tmp_path / "name.json").read_text())
    assert len(report.Result("name", "title").rows) == 2
    content["machine"]["processor"] = "another"
    (tmp_path / "name.json").write_text(json.dumps(content))
    assert report.Result("name", "title").rows == []
