"""Trainings and predictions on threads with small stacks: musl, the C library of Alpine Linux, gives them 128 kB."""

from __future__ import annotations

import os
import subprocess
import sys

CHILD = """
import ctypes, threading
import numpy as np
from ordinal_objectives import (
    HistGradientBoostingMultiOutputClassifier as MultiOutput, HistGradientBoostingOrdinalClassifier as Ordinal, _core
)

n_bytes = 96 * 1024  # what is left is for other versions of Python
threading.stack_size(n_bytes)
libc = ctypes.CDLL(None)
if hasattr(libc, "pthread_setattr_default_np"):  # threads that the engine starts
    of_thread = ctypes.create_string_buffer(256)
    libc.pthread_attr_init(of_thread)
    libc.pthread_attr_setstacksize(of_thread, ctypes.c_size_t(n_bytes))
    libc.pthread_setattr_default_np(of_thread)
rng = np.random.default_rng(0)
X = rng.normal(size=(1200, 4))
z = X[:, 0] + rng.logistic(size=len(X))
few, many = np.digitize(z, [-2, 0, 2]), np.argsort(np.argsort(z)) // 12
common = dict(max_iter=1, early_stopping=False, n_jobs=2)
models = [
    (Ordinal(**common), few),
    (Ordinal(**common, shift_penalty="sparse", cross_terms="all"), many),
    (Ordinal(**common, proportional=True), many),
    (Ordinal(**common, proportional=True, cross_terms="all"), many),
    (Ordinal(**common, order=4), few),
    (Ordinal(**common, link="probit"), few),
    (MultiOutput(**common), many),
    (MultiOutput(**common, hessian="full"), np.minimum(few, 2)),
    (MultiOutput(**common, max_outputs=2, search="unrestricted"), many),
    (MultiOutput(**common, max_outputs=2), many),
]
done = []
def train(model, y):
    done.append(model.fit(X, y).predict_proba(X).shape)
for name in _core.instruction_sets():
    _core.select_instruction_set(name)
    for model, y in models:
        thread = threading.Thread(target=train, args=(model, y))
        thread.start()
        thread.join()
assert len(done) == len(models) * len(_core.instruction_sets())
print("all trained")
"""


def test_the_engine_trains_and_predicts_on_small_stacks(tmp_path):
    child = subprocess.run(
        [sys.executable, "-c", CHILD],
        cwd=tmp_path,  # not the source folder, which Python may put first on the path
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert child.returncode == 0, child.stderr
    assert child.stdout.strip() == "all trained"
