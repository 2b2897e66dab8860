"""Finds from the scores that LightGBM passes to which booster they belong, and how many trees they hold."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray


class TrainingScore:
    """Score of the rows that one booster is trained on, its iterations counted by its changes.

    LightGBM shows an objective no booster, but passes it the same array at every call: one that belongs to
    the booster.

    Parameters
    ----------
    score : ndarray of float64, shape (n_samples,)
        As LightGBM passes it before the first tree.
    iteration : int
        The iteration that this is.
    """

    def __init__(self, score: NDArray[Any], iteration: int) -> None:
        self._array = weakref.ref(_owner(score))
        self._iteration = iteration
        self._looks = _looks(score)
        self._looks_before: NDArray[np.float64] | None = None

    def is_in(self, score: NDArray[Any]) -> bool:
        """Return whether LightGBM passed this array before, for the same booster."""
        return self._array() is _owner(score)

    def count(self, score: NDArray[Any]) -> int:
        """Return the iteration of a score. A round without a split, or one taken back at once, changes nothing.

        Raises
        ------
        ValueError
            If the score is again what it was before the newest tree.
        """
        looks = _looks(score)
        # A tree added and taken back leaves two roundings.
        noise = 8 * np.finfo(np.float64).eps * max(np.abs(looks).max(), np.abs(self._looks).max())
        if np.abs(looks - self._looks).max() <= noise:
            return self._iteration
        if self._looks_before is not None and np.abs(looks - self._looks_before).max() <= noise:
            raise out_of_step(f"the score is again that of iteration {self._iteration - 1}")
        self._looks_before, self._looks = self._looks, looks
        self._iteration += 1
        return self._iteration


def _owner(array: NDArray[Any]) -> NDArray[Any]:
    return _owner(array.base) if isinstance(array.base, np.ndarray) else array


def _looks(score: NDArray[Any]) -> NDArray[np.float64]:
    # No product of vectors here: the threads of a BLAS would go on spinning beside LightGBM's.
    return np.append(score[:: len(score) // 1024 + 1], score.mean())


def out_of_step(what: str) -> ValueError:
    """Return the error for a booster whose iterations are no longer those that thresholds were learned for."""
    return ValueError(
        f"{what}: the thresholds cannot follow rollback_one_iter or any other change of the booster's iterations "
        f"during the training"
    )
