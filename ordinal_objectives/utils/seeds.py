"""Random numbers of ``random_state``."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from ordinal_objectives.aliases import Seed


def random_numbers(random_state: Seed) -> np.random.RandomState:
    """Return the generator of ``random_state``; raise ValueError unless it is what scikit-learn takes."""
    try:
        found: np.random.RandomState = check_random_state(random_state)
    except ValueError:
        raise ValueError(
            f"random_state must be an integer from 0 to {2**32 - 1}, a numpy.random.RandomState or None; got "
            f"{random_state!r}"
        ) from None
    return found


def drawn_seed(random_state: Seed) -> int:
    """Return a seed that ``random_state`` draws."""
    return int(random_numbers(random_state).randint(np.iinfo(np.int32).max))
