"""Outputs of a framework that fits the score and the contrasts of the shifts itself, and how they become scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.utils.validation import as_floats


@dataclass
class VectorOutputs:
    r"""How outputs (w, z) of a row become its scores, :math:`f + v_k = w + \sum_j C_{kj} (z_j - \bar z_j)`.

    Parameters
    ----------
    contrasts : ndarray of float64, shape (n_classes - 1, n_classes - 2)
        C; see :mod:`ordinal_objectives.leaves.contrasts`.
    means : list of ndarray of float64, shape (n_classes - 2,)
        For every iteration, the weighted mean of z over the training rows. It belongs to the thresholds, so that
        shifts have mean zero there.
    """

    contrasts: NDArray[np.float64]
    means: list[NDArray[np.float64]]

    @property
    def mixing(self) -> NDArray[np.float64]:
        """The matrix that takes (w, z) to w + C z, (n_classes - 1, n_classes - 1)."""
        return np.column_stack([np.ones(len(self.contrasts)), self.contrasts])

    def offset(self, iteration: int) -> NDArray[np.float64]:
        """Return the mean of C z over the training rows, (n_classes - 1,)."""
        mean: NDArray[np.float64] = self.contrasts @ self.means[iteration]
        return mean

    def scores(self, outputs: NDArray[Any], start: int, stop: int) -> NDArray[np.float64]:
        """Return what iterations ``start`` to ``stop - 1`` add to f + v_k, (n_samples, n_classes - 1).

        Parameters
        ----------
        outputs : ndarray, shape (n_samples, n_classes - 1), or (n_samples,) of two classes
            What these iterations add to (w, z).
        start, stop : int
        """
        rows = np.asarray(outputs, dtype=np.float64).reshape(len(outputs), len(self.mixing))
        scores: NDArray[np.float64] = rows @ self.mixing.T - (self.offset(stop) - self.offset(start))
        return scores

    def kept(self, n_iterations: int) -> VectorOutputs:
        """Return those of the first iterations."""
        return VectorOutputs(self.contrasts, self.means[: n_iterations + 1])

    def to_json(self) -> dict[str, Any]:
        """Return JSON types."""
        return {"contrasts": self.contrasts.tolist(), "means": [mean.tolist() for mean in self.means]}

    @classmethod
    def from_json(cls, content: Any, n_classes: int, n_iterations: int) -> VectorOutputs:
        """Read what :meth:`to_json` wrote.

        Raises
        ------
        ValueError, TypeError, KeyError
            If it is damaged.
        """
        contrasts = as_floats(content["contrasts"], name="contrasts").reshape(n_classes - 1, n_classes - 2)
        means = as_floats(content["means"], name="means").reshape(n_iterations + 1, n_classes - 2)
        if not (np.isfinite(contrasts).all() and np.isfinite(means).all()):
            raise ValueError("contrasts and means must hold finite numbers")
        return cls(contrasts, list(means))
