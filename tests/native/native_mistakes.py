"""Mistakes for `make sanitize` to find: the core trusts the checks of its Python side, which are left out here.

python tests/native/native_mistakes.py overrun|race
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ordinal_objectives import _core

N = 2_000_000


def overrun() -> None:
    # The next number: memory far behind may not be mapped, and the sanitizer would know nothing of it.
    _core.add_leaf_values(np.zeros(8), np.full(8, 2, np.int32), np.zeros(2), np.zeros(8), 1)


def race() -> None:
    score, leaves, values, total = np.zeros(N), np.zeros(N, np.int32), np.ones(1), np.zeros(N)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: _core.add_leaf_values(score, leaves, values, total, 1), range(8)))


if __name__ == "__main__":
    {"overrun": overrun, "race": race}[sys.argv[1]]()
