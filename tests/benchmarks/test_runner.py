"""Claims that take long resume where they were stopped, whatever keeps their rows."""

from __future__ import annotations

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
