"""Mistakes for `make sanitize` to find: the core trusts the checks of its Python side, which are left out here.

python tests/native_mistakes.py overrun|race
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ordinal_objectives import _core

N = 2_000_000


def overrun() -> None:
    engine = _core.Engine(np.zeros((8, 1)), [[0.5]], 1)
    engine.add_leaves(np.zeros(8), np.full(8, 1000, np.int32), np.zeros(2))


def race() -> None:
    engine = _core.Engine(np.zeros((N, 1)), [[0.5]], 1)
    score, leaves, values = np.zeros(N), np.zeros(N, np.int32), np.ones(1)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: engine.add_leaves(score, leaves, values), range(8)))


if __name__ == "__main__":
    {"overrun": overrun, "race": race}[sys.argv[1]]()
