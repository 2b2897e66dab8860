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
pytestmark = pytest.mark.slow


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_every_entry_point_ends_in_a_forked_process(tmp_path):
    call = [sys.executable, str(Path(__file__).with_name("forked_doors.py"))]
    doors = subprocess.run(call, cwd=tmp_path, timeout=250, capture_output=True, text=True, check=False)
    assert not doors.returncode, doors.stdout + doors.stderr


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
