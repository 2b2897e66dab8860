"""Counters of parallel regions, and helpers that outlive a pass."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ordinal_objectives import AllThreshold, _core
from ordinal_objectives.rows import RowStatistics

TIMED = """
import numpy as np
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, _core
X = np.random.default_rng(0).normal(size=(70_000, 6)).astype(np.float32)
y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
model = HistGradientBoostingOrdinalClassifier(max_iter=2, early_stopping=False, n_jobs=16, random_state=0).fit(X, y)
regions = _core.region_times()
assert not _core.region_times()
for phase, shared, begin, end, tasks in regions:
    assert begin <= end and abs(sum(tasks) - (end - begin)) < 1e-4, phase
phases = {phase for phase, shared, *_ in regions if shared}
assert {"histogram in parts", "histogram and scan", "partition", "pass", "bin"} <= phases, phases
parts = max(len(tasks) for phase, *_, tasks in regions if phase == "histogram in parts")
print(parts, model.predict_proba(X[:50]).sum(axis=0).tolist())
"""


UNTIMED = """
import numpy as np
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, _core
X = np.random.default_rng(0).normal(size=(70_000, 6)).astype(np.float32)
y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
model = HistGradientBoostingOrdinalClassifier(max_iter=2, early_stopping=False, n_jobs=16, random_state=0).fit(X, y)
assert not _core.region_times()
print(model.predict_proba(X[:50]).sum(axis=0).tolist())
"""


def printed(code, **environment):
    run = [sys.executable, "-c", code]
    environment = {**os.environ, **environment}
    here = Path(__file__).parent  # outside the source folder, which Python 3.10 would put first on the path
    finished = subprocess.run(
        run, cwd=here, env=environment, check=True, stdout=subprocess.PIPE, text=True, timeout=120
    )
    return finished.stdout


def test_the_counters_see_every_task_of_so_many_threads_and_change_no_model():
    n_tasks, timed = printed(TIMED, ORDINAL_REGION_TIMES="1").split(" ", 1)
    assert int(n_tasks) >= 12  # two parts, three blocks, two groups of features
    assert timed == printed(UNTIMED)


FEW_ROWS = """
import numpy as np
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, _core
X = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
HistGradientBoostingOrdinalClassifier(max_iter=3, proportional=True, n_jobs=16, random_state=0).fit(X, y)
regions = _core.region_times()
print({len(tasks) for phase, *_, tasks in regions if phase == "histogram and scan"})
print({phase for phase, shared, *_ in regions if shared})
"""


def test_few_rows_are_read_once_and_wake_no_helper():
    regions = printed(FEW_ROWS, ORDINAL_REGION_TIMES="1")
    assert regions == "{1}\nset()\n"


SHARED = """
import numpy as np
from ordinal_objectives import AllThreshold, HistGradientBoostingOrdinalClassifier, _core
from ordinal_objectives.rows import RowStatistics
X = np.random.default_rng(0).normal(size=(70_000, 2)).astype(np.float32)
y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
HistGradientBoostingOrdinalClassifier(max_iter=1, early_stopping=False, n_jobs=2, random_state=0).fit(X, y)
of_two = [region for region in _core.region_times() if len(region[-1]) == 2]
print({shared for phase, shared, *_ in of_two if phase == "histogram in parts"})
for n_rows in (16 * 8192, 16 * 8192 + 1):
    score = np.zeros(n_rows, np.float32)
    RowStatistics(AllThreshold(), np.arange(n_rows) % 3, 3, n_threads=4)(score, [-1.0, 1.0])
    print([(shared, len(tasks)) for phase, shared, *_, tasks in _core.region_times() if phase == "pass"])
"""


def test_two_tasks_are_shared_and_a_pass_of_more_than_sixteen_chunks():
    assert printed(SHARED, ORDINAL_REGION_TIMES="1") == "{True}\n[(False, 16)]\n[(True, 17)]\n"


def test_counters_of_one_thread_change_no_model():
    of_one = UNTIMED.replace("n_jobs=16", "n_jobs=1").replace("assert not _core.region_times()\n", "")
    assert printed(of_one, ORDINAL_REGION_TIMES="1") == printed(of_one)


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
