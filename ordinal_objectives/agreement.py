"""How far raters of the same rows agree: what a model can reach, and whose answers stand out."""

from __future__ import annotations

import numpy as np

from ordinal_objectives.aliases import ArrayLike, FloatArray, LabelArray
from ordinal_objectives.metrics import linear_weighted_kappa, quadratic_weighted_kappa
from ordinal_objectives.ordinal_labels import Ratings
from ordinal_objectives.utils import documented, validation

__all__ = ["kappa_of_raters", "krippendorff_alpha"]

_KAPPAS = {"linear": linear_weighted_kappa, "quadratic": quadratic_weighted_kappa}


def krippendorff_alpha(
    row: ArrayLike, rater: ArrayLike, label: ArrayLike, *, classes: ArrayLike | None = None
) -> float:
    """Return Krippendorff's alpha for ordered labels [1]_: 1 where all agree, 0 where answers are as by chance.

    Rows may have any number of raters; those with one say nothing. The distance of two classes is the number of answers
    between them.

    Parameters
    ----------
    row : array-like, shape (n_answers,)
        The row that is rated: any id, or a number.
    rater : array-like, shape (n_answers,)
        Who rates it; once each.
    label : array-like, shape (n_answers,)
        The answer; one that is None or NaN is left out.
    classes : array-like or None, default=None
        Labels from the lowest class to the highest; None finds their order as ``fit`` does.

    Returns
    -------
    float
        NaN where all answers are the same.

    References
    ----------
    .. [1] K. Krippendorff, Content Analysis: An Introduction to Its Methodology, 4th edition, Sage (2018), chapter 12.

    Examples
    --------
    >>> from ordinal_objectives.agreement import krippendorff_alpha
    >>> round(krippendorff_alpha([0, 0, 1, 1, 2, 2], ["Ann", "Bob"] * 3, [1, 1, 2, 3, 3, 3]), 3)
    0.778
    """
    counts = Ratings.of(row, rater, label, classes).counts()
    counts = counts[counts.sum(axis=1) > 1]
    if not len(counts):
        raise ValueError("no row has two raters")
    of_others = counts / (counts.sum(axis=1, keepdims=True) - 1)
    together = counts.T @ of_others - np.diag(of_others.sum(axis=0))
    n = counts.sum(axis=0)
    middle = np.cumsum(n) - n / 2
    distance = np.subtract.outer(middle, middle) ** 2
    expected = n @ distance @ n
    return float(1 - (n.sum() - 1) * (together * distance).sum() / expected) if expected else float("nan")


@documented(like=krippendorff_alpha)
def kappa_of_raters(
    row: ArrayLike, rater: ArrayLike, label: ArrayLike, *, classes: ArrayLike | None = None, weights: str = "quadratic"
) -> tuple[LabelArray, FloatArray]:
    """Return the raters, and the weighted kappa of each two of them on the rows that both have rated.

    Parameters
    ----------
    <<row, rater, label, classes>>
    weights : {"quadratic", "linear"}, default="quadratic"
        How distances of classes count.

    Returns
    -------
    ndarray of shape (n_raters,), ndarray of float64, shape (n_raters, n_raters)
        1 on the diagonal; NaN where two share no row, or their answers are all the same.

    Examples
    --------
    >>> from ordinal_objectives.agreement import kappa_of_raters
    >>> raters, kappa = kappa_of_raters([0, 0, 1, 1, 2, 2], ["Ann", "Bob"] * 3, [1, 1, 2, 3, 3, 3])
    >>> raters.tolist(), kappa.round(3).tolist()
    (['Ann', 'Bob'], [[1.0, 0.8], [0.8, 1.0]])
    """
    validation.check_choice(weights, tuple(_KAPPAS), name="weights")
    rows, number, codes, n_rows, raters, names = Ratings.of(row, rater, label, classes)
    answers = np.full((len(raters), n_rows), -1)
    answers[number, rows] = codes
    kappa: FloatArray = np.eye(len(raters))
    for i, j in zip(*np.triu_indices(len(raters), 1), strict=True):
        both = (answers[i] >= 0) & (answers[j] >= 0)
        pair = answers[i][both], answers[j][both]
        differ = np.unique(pair).size > 1
        kappa[i, j] = kappa[j, i] = _KAPPAS[weights](*pair, labels=range(len(names))) if differ else np.nan
    return raters, kappa
