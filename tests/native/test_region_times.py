"""Counters of parallel regions, and helpers that outlive a pass."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ordinal_objectives import AllThreshold, _core
from ordinal_objectives.rows import RowStatistics

# Prints what the models say, and what the counters saw of each fit.
SCRIPT = """
import json
import numpy as np
from ordinal_objectives import AllThreshold, HistGradientBoostingOrdinalClassifier, _core
from ordinal_objectives.rows import RowStatistics

X = np.random.default_rng(0).normal(size=(70_000, 6)).astype(np.float32)
y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
models, regions = {}, {}

def fit(name, X, y, **options):
    model = HistGradientBoostingOrdinalClassifier(early_stopping=False, random_state=0, **options).fit(X, y)
    regions[name] = _core.region_times()
    assert not _core.region_times()
    models[name] = model.predict_proba(X[:50]).sum(axis=0).tolist()

fit("16 threads", X, y, max_iter=2, n_jobs=16)
fit("1 thread", X, y, max_iter=2, n_jobs=1)
fit("few rows", X[:200, :4], y[:200], max_iter=3, n_jobs=16, proportional=True)
fit("2 threads", X[:, :2], y, max_iter=1, n_jobs=2)
for n_rows in (8192, 8193, 100_000):
    score = np.zeros(n_rows, np.float32)
    RowStatistics(AllThreshold(), np.arange(n_rows) % 3, 3, n_threads=4)(score, [-1.0, 1.0])
    regions[f"{n_rows} rows"] = _core.region_times()
print(json.dumps([models, regions]))
"""


def printed(**environment):
    here = Path(__file__).parent  # not the source folder, which Python may put first on the path
    run = [sys.executable, "-c", SCRIPT]
    environment = {**os.environ, **environment}
    done = subprocess.run(run, cwd=here, env=environment, check=True, stdout=subprocess.PIPE, text=True, timeout=120)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def timed():
    return printed(ORDINAL_REGION_TIMES="1")


@pytest.fixture(scope="module")
def on_threads():
    return printed(ORDINAL_REGION_TIMES="threads")


@pytest.fixture(scope="module")
def untimed():
    return printed()


def test_the_counters_see_every_task_of_so_many_threads_and_change_no_model(timed, untimed):
    models, regions = timed
    seen = regions["16 threads"]
    for phase, threads, begin, end, wall, tasks in seen:
        assert begin <= end, phase
        assert wall > 0.0, phase
        assert 1 <= threads <= max(1, min(16, len(tasks))), phase
        assert abs(sum(tasks) - (end - begin)) < 2e-4, phase
    phases = {phase for phase, threads, *_ in seen if threads > 1}
    assert {"histogram in parts", "histogram and scan", "partition", "pass", "bin"} <= phases
    parts = max(len(tasks) for phase, *_, tasks in seen if phase == "histogram in parts")
    assert parts >= 16  # blocks of rows, as many for each thread
    assert models["16 threads"] == untimed[0]["16 threads"]
    assert not any(untimed[1].values())


def test_few_rows_are_read_once_and_wake_no_helper(timed, on_threads):
    seen = timed[1]["few rows"]
    assert {len(tasks) for phase, *_, tasks in seen if phase == "histogram and scan"} == {1}
    assert {threads for _, threads, *_ in [*seen, *on_threads[1]["few rows"]]} == {1}


def test_two_tasks_are_shared_and_a_pass_by_no_more_threads_than_it_is_worth(timed):
    of_two = [region for region in timed[1]["2 threads"] if len(region[-1]) == 2]
    assert {threads for phase, threads, *_ in of_two if phase == "histogram in parts"} == {2}
    for n_rows, expected in ((8192, (1, 1)), (8193, (2, 2)), (100_000, (4, 13))):
        regions = timed[1][f"{n_rows} rows"]
        assert [(threads, len(tasks)) for phase, threads, *_, tasks in regions if phase == "pass"] == [expected]
    # Eight microseconds each, of the twenty that a thread is worth.
    moves = [(threads, len(tasks)) for phase, threads, *_, tasks in timed[1]["16 threads"] if phase == "move scores"]
    assert set(moves) == {(7, 18)}


def test_regions_on_their_threads_tell_the_time_of_the_wall_and_who_has_worked(on_threads, untimed):
    models, regions = on_threads
    assert models == untimed[0]
    seen = regions["16 threads"]
    for phase, threads, begin, end, wall, tasks in seen:
        assert 1 <= threads <= max(1, min(16, len(tasks))), phase
        assert end - begin <= wall + 1e-3, phase  # the caller may wait, or be held up
    assert max(threads for _, threads, *_ in seen) > 1
    assert {threads for _, threads, *_ in regions["1 thread"]} == {1}


def test_counters_of_one_thread_change_no_model(timed, untimed):
    assert timed[0]["1 thread"] == untimed[0]["1 thread"]


@pytest.mark.parametrize("n_threads", [1, 2, 7])
def test_helpers_of_a_thread_change_no_sum(n_threads):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 50_000).astype(np.int32)
    score, thresholds = rng.normal(size=50_000).astype(np.float32), np.array([-1.0, 0.0, 1.0])
    rows = RowStatistics(AllThreshold(), y, 4, None, n_threads=n_threads)
    alone = rows(score, thresholds, "exact")
    helpers = _core.ThreadHelpers(n_threads)
    with_them = rows(score, thresholds, "exact")
    del helpers
    for one in (with_them, rows(score, thresholds, "exact")):
        assert one.loss == alone.loss
        np.testing.assert_array_equal(one.gradient, alone.gradient)
        np.testing.assert_array_equal(one.threshold_hessian, alone.threshold_hessian)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_the_child_of_a_fork_has_no_helpers_and_does_the_work_itself():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 50_000).astype(np.int32)
    score, thresholds = rng.normal(size=50_000).astype(np.float32), np.array([-1.0, 0.0, 1.0])
    rows = RowStatistics(AllThreshold(), y, 4, None, n_threads=3)
    helpers = _core.ThreadHelpers(3)
    before = rows(score, thresholds, "exact").loss
    child = os.fork()
    if not child:  # pragma: no cover
        same = rows(score, thresholds, "exact").loss == before
        del helpers
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert rows(score, thresholds, "exact").loss == before
