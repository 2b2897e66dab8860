r"""Standard errors of the effects of groups, of all columns together with the thresholds.

With the sums of a pass over the rows, the curvature of the penalised likelihood in effects and thresholds is

.. math::
    Q = \begin{pmatrix} Z'WZ + \mathrm{diag}(1 / \tau^2) & Z'L \\ L'Z & V \end{pmatrix},

Z the groups of the rows, W their Hessians, L their cross terms. C, its inverse, is the covariance of the errors given
the variances (Henderson).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import pinvh
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse import csr_matrix, hstack
from scipy.special import log_ndtr

from ordinal_objectives.aliases import BoolArray, FloatArray

# Rows of a product that is dense are made so many at a time.
_AT_ONCE = 4096
# Degrees of freedom of the t distribution at least, which has a variance from three on.
_LEAST_FREEDOM = 3

# Sums of the Hessians over the rows of a group of one column and one of a later column.
type Cells = dict[tuple[int, int], Any]


class GroupSums(NamedTuple):
    """Sums of a pass over the rows of each group of one column.

    Attributes
    ----------
    gradient, hessian : ndarray of float64, shape (n_groups,)
    cross : ndarray of float64, shape (n_groups, n_thresholds)
        Mixed second derivatives with the thresholds.
    """

    gradient: FloatArray
    hessian: FloatArray
    cross: FloatArray


class JointCovariance:
    """C, the inverse of Q, in blocks: the column of most groups is eliminated, whose own block of Q is diagonal.

    Parameters
    ----------
    columns : sequence of GroupSums
    cells : dict of (int, int) to csr_matrix
        For each two columns.
    variances : ndarray of float64, shape (n_columns,)
    thresholds : ndarray of float64, shape (n_thresholds, n_thresholds)
        V.
    free : ndarray of float64, shape (n_thresholds, n_free)
        Directions in which thresholds may move.
    """

    def __init__(
        self,
        columns: Sequence[GroupSums],
        cells: Cells,
        variances: FloatArray,
        thresholds: FloatArray,
        free: FloatArray,
    ) -> None:
        sizes = [len(one.hessian) for one in columns]
        self._variances, self._sizes, self._n_free = variances, sizes, free.shape[1]
        self._large = large = int(np.argmax(sizes))
        others = [i for i in range(len(columns)) if i != large]
        ends = np.cumsum([0, *(sizes[i] for i in others)])
        self._place = {i: slice(start, end) for i, start, end in zip(others, ends[:-1], ends[1:], strict=True)}
        self._of_thresholds = slice(ends[-1], None)
        cross = [one.cross @ free for one in columns]
        self._diagonal = columns[large].hessian + 1.0 / variances[large]
        beside = [_cell(cells, large, i) for i in others]
        T = hstack([*beside, csr_matrix(cross[large])], format="csr")
        rest = np.zeros((T.shape[1], T.shape[1]))
        rest[self._of_thresholds, self._of_thresholds] = free.T @ thresholds @ free
        for i in others:
            at = self._place[i]
            rest[at, at] = np.diag(columns[i].hessian + 1.0 / variances[i])
            rest[at, self._of_thresholds] = cross[i]
            rest[self._of_thresholds, at] = cross[i].T
            for j in others:
                if j != i:
                    rest[at, self._place[j]] = _cell(cells, i, j).toarray()
        self._ratio = T.multiply(1.0 / self._diagonal[:, np.newaxis]).tocsr()  # of T to the diagonal
        self._rest = _inverse(rest - (T.T @ self._ratio).toarray())
        self._gram = (self._ratio.T @ self._ratio).toarray()

    def times(
        self, vectors: Sequence[FloatArray], of_free: FloatArray | None = None
    ) -> tuple[list[FloatArray], FloatArray]:
        """Return C times a vector, of which there is a part for each column and one for free thresholds, None for 0."""
        large, of_free = self._large, np.zeros(self._n_free) if of_free is None else of_free
        right = np.concatenate([*(vectors[i] for i in self._place), of_free])
        found = self._rest @ (right - self._ratio.T @ vectors[large])
        parts = {i: found[at] for i, at in self._place.items()}
        parts[large] = vectors[large] / self._diagonal - self._ratio @ found
        return [parts[i] for i in range(len(self._sizes))], found[self._of_thresholds]

    def diagonal(self, column: int) -> FloatArray:
        """Return the variances of the errors of a column's effects."""
        if column != self._large:
            return np.diag(self._rest)[self._place[column]].copy()
        return 1.0 / self._diagonal + self._of_rest(self._rest)

    def squares(self, column: int) -> FloatArray:
        """Return the sum of the squares of each row in a column's block."""
        if column != self._large:
            at = self._place[column]
            return np.asarray(np.sum(self._rest[at, at] ** 2, axis=1))
        own = 1.0 / self._diagonal
        of_both = self._of_rest(self._rest @ self._gram @ self._rest)
        return own**2 + 2.0 * own * self._of_rest(self._rest) + of_both

    def trace(self, column: int) -> float:
        """Return the sum of the variances of the errors of a column's effects."""
        if column != self._large:
            return float(np.diag(self._rest)[self._place[column]].sum())
        return float(np.sum(1.0 / self._diagonal) + np.sum(self._rest * self._gram))

    def information(self) -> FloatArray:
        """Return the information of the restricted likelihood about the variances, (n_columns, n_columns)."""
        n, variances = len(self._sizes), self._variances
        found = np.zeros((n, n))
        for i, at in self._place.items():
            for j, beside in self._place.items():
                block = self._rest[at, beside] / variances[j]
                if i == j:
                    block = block - np.eye(len(block))
                found[i, j] = np.sum(block**2) / variances[i] ** 2
            of_both = self._rest[:, at]
            squares = float(np.sum(of_both * (self._gram @ of_both)))
            found[i, self._large] = found[self._large, i] = squares / (variances[i] * variances[self._large]) ** 2
        tau2, product = variances[self._large], self._rest @ self._gram
        own = 1.0 - 1.0 / (self._diagonal * tau2)
        squares = (
            np.sum(own**2) - 2.0 / tau2 * (own @ self._of_rest(self._rest)) + np.sum(product * product.T) / tau2**2
        )
        found[self._large, self._large] = squares / tau2**2
        return found / 2.0

    def _of_rest(self, matrix: FloatArray) -> FloatArray:
        """Return the diagonal that a matrix of the rest brings to the large column."""
        parts = []
        for start in range(0, len(self._diagonal), _AT_ONCE):
            some = self._ratio[start : start + _AT_ONCE]
            parts.append(np.asarray(some.multiply(some @ matrix).sum(axis=1)).ravel())
        return np.concatenate(parts)


def _cell(cells: Cells, i: int, j: int) -> Any:
    return cells[i, j] if i < j else cells[j, i].T


def _inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse of a positive definite matrix; of one that is not, the pseudo-inverse."""
    factor, failed = dpotrf(matrix, lower=True)
    if failed:
        return np.asarray(pinvh(matrix))
    lower = np.tril(dpotri(factor, lower=True)[0])
    return np.asarray(lower + np.tril(lower, -1).T)


class Errors(NamedTuple):
    """Standard errors of the effects of one column, and of their variance.

    Attributes
    ----------
    of_effects : ndarray of float64, shape (n_groups,)
    of_variance : float
    """

    of_effects: FloatArray
    of_variance: float


def errors(
    covariance: JointCovariance, effects: Sequence[FloatArray], variances: FloatArray, counted: Sequence[BoolArray]
) -> list[Errors]:
    """Return the standard errors of the effects of each column, as deviations from their mean over the groups.

    The data determine each column's effects up to a number that thresholds or another column takes up.

    Parameters
    ----------
    covariance : JointCovariance
    effects : sequence of ndarray of float64, shape (n_groups,)
        Modes of each column.
    variances : ndarray of float64, shape (n_columns,)
    counted : sequence of ndarray of bool, shape (n_groups,)
        Groups that have rows.
    """
    empty = [np.zeros_like(of) for of in effects]
    of_variances = pinvh(covariance.information())
    moved = []  # by a change of each variance
    for i, of in enumerate(effects):
        vectors = [*empty[:i], of / variances[i] ** 2, *empty[i + 1 :]]
        moved.append(covariance.times(vectors)[0])
    found = []
    for i, has_rows in enumerate(counted):
        mean = has_rows / has_rows.sum()
        with_mean = covariance.times([*empty[:i], mean, *empty[i + 1 :]])[0][i]
        given_variances = covariance.diagonal(i) - 2.0 * with_mean + mean @ with_mean
        change = np.stack([one[i] - mean @ one[i] for one in moved], axis=1)
        error = float(np.sqrt(max(of_variances[i, i], 0.0)))
        again = covariance.times([*empty[:i], with_mean, *empty[i + 1 :]])[0][i]
        growth = (covariance.squares(i) - 2.0 * again + with_mean @ with_mean) / variances[i] ** 2
        given_variances = given_variances + growth * beyond(float(variances[i]), error)
        of_effects = widened(given_variances, np.sum(change @ of_variances * change, axis=1), int(has_rows.sum()))
        found.append(Errors(of_effects, error))
    return found


def beyond(variance: float, error: float) -> float:
    """Return by how much a variance exceeds its estimate on average, as a normal number that is not negative.

    Errors given a variance near 0 are near 0 too. They grow with it.
    """
    if error <= 0.0:
        return 0.0
    ratio = variance / error
    return error * float(np.exp(-(ratio**2) / 2.0 - log_ndtr(ratio)) / np.sqrt(2.0 * np.pi))


def widened(given_variances: FloatArray, by_variances: FloatArray, n_groups: int) -> FloatArray:
    """Return standard errors of effects whose variances are estimated from few groups.

    ``by_variances`` is the variance that their estimate brings (Kackar and Harville). It counts twice, since the errors
    at the estimate are too small by as much on average (Prasad and Rao). The standard deviation is that of the t
    distribution with the number of groups less one as degrees of freedom.
    """
    freedom = max(n_groups - 1, _LEAST_FREEDOM)
    squares = (given_variances + 2.0 * by_variances) * freedom / (freedom - 2.0)
    return np.sqrt(np.maximum(squares, 0.0))
