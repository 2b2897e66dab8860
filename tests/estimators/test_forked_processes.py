"""A model that was there before a fork: the child's predictions are right, end, and change nothing of its booster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xgboost

from ordinal_objectives import XGBOrdinalClassifier, threads
from ordinal_objectives.adapters import xgb as oxgb

SHIFTS = {
    "proportional": {"proportional": True},
    "renewal": {"proportional": False},
    "host": {"proportional": False, "shift_method": "host"},
}
IN_CHILD = """
import os, signal, sys, threading, warnings
import numpy as np
import ordinal_objectives
# Python 3.12 and newer warn of every fork of a process with threads: here that is the point.
warnings.filterwarnings("ignore", category=DeprecationWarning)
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
y = np.digitize(X[:, 0] + rng.normal(size=300), [-1.0, 0.0, 1.0])
model = getattr(ordinal_objectives, sys.argv[1])(n_estimators=10, n_jobs=2).fit(X, y)
expected = model.predict_proba(X)
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
signal.alarm(40)  # ends a child that hangs
right = []

def predict():
    right.append(all((model.predict_proba(X) == expected).all() for _ in range(10)))

threads = [threading.Thread(target=predict) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
os._exit(0 if right == [True] * 8 else 3)  # an exception in the child ends it with 1
"""
in_child = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
pytestmark = pytest.mark.slow
# One thread would hang nowhere, and a model that was loaded takes as many as the environment says.
TWO_THREADS = os.environ | {"OMP_NUM_THREADS": "2"}


@in_child
@pytest.mark.parametrize("kind", ["XGBOrdinalClassifier", "LGBMOrdinalClassifier"])
def test_threads_of_a_forked_process_predict_what_the_parent_does(kind, tmp_path):
    call = [sys.executable, "-c", IN_CHILD, kind]
    subprocess.run(call, check=True, timeout=60, cwd=tmp_path, env=TWO_THREADS)


@in_child
def test_every_entry_point_ends_in_a_forked_process(tmp_path):
    call = [sys.executable, str(Path(__file__).with_name("forked_entries.py"))]
    entries = subprocess.run(
        call, cwd=tmp_path, env=TWO_THREADS, timeout=250, capture_output=True, text=True, check=False
    )
    assert not entries.returncode, entries.stdout + entries.stderr


@pytest.mark.parametrize("shifts", SHIFTS)
def test_predictions_set_nothing_of_the_booster(shifts, monkeypatch):
    """XGBoost says of its set_param that no other thread may use the booster meanwhile."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.arange(60) % 3
    model = XGBOrdinalClassifier(n_estimators=3, n_jobs=2, **SHIFTS[shifts]).fit(X, y)

    def watched(method):
        def setter(self, *args, **kwargs):
            assert self is not model.booster_  # a slice of it may be set up
            return method(self, *args, **kwargs)

        return setter

    for name in ("set_param", "set_attr"):
        monkeypatch.setattr(xgboost.Booster, name, watched(getattr(xgboost.Booster, name)))
    for forked in (False, True):
        monkeypatch.setitem(threads._process, "forked", forked)
        assert len(list(model.staged_predict_proba(X))) == 3
        assert model.apply(X).shape == (60, 3)
        np.testing.assert_array_equal(
            oxgb.predict_proba(model.booster_, xgboost.DMatrix(X, nthread=1)), model.predict_proba(X)
        )
