"""Random numbers of ``random_state``."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

# What scikit-learn calls a seed, and LightGBM beside it.
_NAMES = ("random_state", "seed", "random_seed")


def random_numbers(random_state: int | np.random.RandomState | None) -> np.random.RandomState:
    """Return the generator of ``random_state``; raise ValueError unless it is what scikit-learn takes."""
    try:
        found: np.random.RandomState = check_random_state(random_state)
    except ValueError:
        raise ValueError(
            f"random_state must be an integer from 0 to {2**32 - 1}, a numpy.random.RandomState or None; got "
            f"{random_state!r}"
        ) from None
    return found


def drawn_seed(random_state: int | np.random.RandomState | None) -> int:
    """Return a seed that ``random_state`` draws."""
    return int(random_numbers(random_state).randint(np.iinfo(np.int32).max))


def seeds_of(estimator: Any, seed: int) -> dict[str, int]:
    """Return a value for each parameter of an estimator that is a seed, at any depth."""
    return {name: seed for name in estimator.get_params() if name.rpartition("__")[2] in _NAMES}
