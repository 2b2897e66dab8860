"""What the rows of a multi-output training carry through the histograms: gradients, then Hessians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives import _core

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class OutputColumns:
    """The columns of a row.

    Attributes
    ----------
    n_outputs : int
    kind : {"shared", "diagonal", "full"}
        One Hessian for all outputs, one for each, or the lower triangle of a matrix.
    is_count : bool
        The one Hessian is 1 for every row: the count that the engine carries anyway.
    """

    n_outputs: int
    kind: str
    is_count: bool = False

    @classmethod
    def of(cls, gradient: FloatArray, hessian: FloatArray | None, n_outputs: int, *, weighted: bool) -> OutputColumns:
        """Return the columns that derivatives of this shape need.

        Raises
        ------
        ValueError
            If there are more outputs than the engine takes.
        """
        shared = hessian is None or hessian.shape[1:] == (1,)
        kind = "shared" if shared else "diagonal" if hessian is not None and hessian.ndim == 2 else "full"
        most = _core.max_full_outputs if kind == "full" else _core.max_outputs
        if n_outputs > most:
            hint = "; hessian='diagonal' takes more" if kind == "full" else ""
            raise ValueError(f"a leaf has at most {most} outputs here; got {n_outputs}{hint}")
        return cls(n_outputs, kind, hessian is None and not weighted)

    @property
    def first_hessian(self) -> int:
        """Column of the first Hessian; the count follows the columns."""
        return self.n_outputs

    @property
    def n_columns(self) -> int:
        """Columns in front of the count."""
        d = self.n_outputs
        n_hessians = {"shared": 0 if self.is_count else 1, "diagonal": d, "full": d * (d + 1) // 2}
        return d + n_hessians[self.kind]

    def hold(self, statistics: NDArray[np.float32]) -> bool:
        """Tell whether rows' columns are finite, and no Hessian on a diagonal is negative."""
        used = statistics[:, : self.n_columns]
        return bool(np.isfinite(used).all()) and bool(np.min(used[:, self._diagonal()], initial=0.0) >= 0.0)

    def refuse(self, statistics: NDArray[np.float32], name: str) -> NoReturn:
        """Raise ValueError: a loss of this name has returned what columns do not :meth:`hold`."""
        used = statistics[:, : self.n_columns]
        wrong = ~np.isfinite(used)
        wrong[:, self._diagonal()] |= used[:, self._diagonal()] < 0.0
        row, column = np.argwhere(wrong)[0]
        what = "gradient" if column < self.n_outputs else "Hessian"
        raise ValueError(
            f"{name}.derivatives must return finite gradients, and Hessians that are finite and not negative, which "
            f"float32 holds times the rows' weights; got the {what} {used[row, column]:g} in row {row}"
        )

    def _diagonal(self) -> slice | NDArray[np.intp]:
        d = self.n_outputs
        if self.kind != "full":
            return slice(d, self.n_columns)
        j = np.arange(d)
        return d + j * (j + 3) // 2

    def fill(
        self,
        statistics: NDArray[np.float32],
        gradient: FloatArray,
        hessian: FloatArray | None,
        weight: FloatArray | None,
    ) -> None:
        """Write the derivatives of some rows, times their weights, into the rows' columns (n_rows, width)."""
        d = self.n_outputs
        statistics[:, :d] = gradient
        if hessian is not None and hessian.ndim == 3:
            lower = np.tril_indices(d)
            hessian = hessian[:, lower[0], lower[1]]
        if not self.is_count:
            statistics[:, d : self.n_columns] = 1.0 if hessian is None else hessian
        if weight is not None:
            statistics[:, : self.n_columns] *= weight[:, np.newaxis]

    def split(self, sums: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return gradients and Hessians of rows or of sums over them (n, width), in the shapes of a loss."""
        d = self.n_outputs
        if self.kind != "full":
            return sums[:, :d], sums[:, d : 2 * d if self.kind == "diagonal" else d + 1]
        H = np.zeros((len(sums), d, d))
        lower = np.tril_indices(d)
        H[:, lower[0], lower[1]] = sums[:, d : self.n_columns]
        H[:, lower[1], lower[0]] = sums[:, d : self.n_columns]
        return sums[:, :d], H
