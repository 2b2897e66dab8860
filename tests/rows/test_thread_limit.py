"""Where the system gives no more threads, those there are do the work, and the result is the same."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.slow

resource = pytest.importorskip("resource", reason="the system has no limit of the address space to set")

WANTED = 64
SECONDS = 100
# A stack is far larger than the arrays of a fit: what the limit refuses is a thread, not an array.
STACK_MIB = 128

CHILD = """
    import resource, sys, threading
    import numpy as np
    from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    from ordinal_objectives.losses import get_loss
    from ordinal_objectives.rows import RowStatistics

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    y = np.digitize(X[:, 0] + rng.logistic(size=len(X)), [-1.0, 0.0, 1.0])

    def proba(n_threads):
        model = HistGradientBoostingOrdinalClassifier(max_iter=2, random_state=0, n_jobs=n_threads)
        return model.fit(X, y).predict_proba(X)

    def probit_loss(n_threads):
        rows = RowStatistics(get_loss("all_threshold", "probit"), y, 4, n_threads=n_threads)
        return rows(X[:, 0].copy(), [-1.0, 0.0, 1.0]).loss

    expected = proba(1), probit_loss(1)
    now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + int(sys.argv[2]) * 2**20,) * 2)

    end, started = threading.Event(), []
    try:
        while len(started) < int(sys.argv[1]):
            thread = threading.Thread(target=end.wait)
            thread.start()
            started.append(thread)
    except RuntimeError:
        pass
    end.set()
    for thread in started:
        thread.join()
    print(len(started), flush=True)

    n_threads = int(sys.argv[1])
    np.testing.assert_array_equal(proba(n_threads), expected[0])
    assert probit_loss(n_threads) == expected[1]
    print("done")
"""


def large_stacks():
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (STACK_MIB * 2**20, hard))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and limits the address space")
def test_no_more_threads():
    """There is memory for some stacks; the child prints how many threads it got."""
    child = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(WANTED), str(8 * STACK_MIB)],
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        preexec_fn=large_stacks,
        env=os.environ | {"MALLOC_ARENA_MAX": "1"},  # a heap for each thread would take what arrays need
    )
    assert child.returncode == 0, child.stderr
    n_started, last = child.stdout.split()
    assert int(n_started) < WANTED, "the limit does not bind here, so that nothing is tested"
    assert last == "done"
