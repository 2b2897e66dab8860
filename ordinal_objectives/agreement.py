"""How far raters of the same rows agree, with intervals: what a model can reach, and whose answers stand out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ordinal_objectives.aliases import ArrayLike, DataFrame, FloatArray, IndexArray, IntArray, LabelArray, Seed
from ordinal_objectives.estimators.held_out import check_groups
from ordinal_objectives.metrics import METRICS, Interval
from ordinal_objectives.metrics.intervals import BootstrapSample, OfDraws
from ordinal_objectives.ordinal_labels import Ratings
from ordinal_objectives.utils import documented, extras, text_tables, validation
from ordinal_objectives.utils.arrays import as_array

__all__ = ["AgreementReport", "agreement_report", "kappa_ceiling", "kappa_of_raters", "krippendorff_alpha"]

_KAPPAS = {"linear": METRICS["lwk"], "quadratic": METRICS["qwk"]}


class _Pair(NamedTuple):
    """Two raters, the rows that both have rated, and their class codes."""

    i: int
    j: int
    rows: IndexArray
    of_i: IntArray
    of_j: IntArray


def krippendorff_alpha(
    row: ArrayLike, rater: ArrayLike, label: ArrayLike, *, classes: ArrayLike | None = None
) -> float:
    """Return Krippendorff's alpha for ordered labels [1]_: 1 where all agree, 0 where answers are as by chance.

    Rows may have any number of raters; those with one say nothing. The distance of two classes is the number of answers
    between them. :func:`agreement_report` has its interval.

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
    return _of_all_rows(_alpha, Ratings.of(row, rater, label, classes))


@documented(like=krippendorff_alpha)
def kappa_of_raters(
    row: ArrayLike, rater: ArrayLike, label: ArrayLike, *, classes: ArrayLike | None = None, weights: str = "quadratic"
) -> tuple[LabelArray, FloatArray]:
    """Return the raters, and the weighted kappa of each two of them on the rows that both have rated.

    :func:`agreement_report` has intervals.

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
    ratings = Ratings.of(row, rater, label, classes)
    n_raters = len(ratings.raters)
    kappa = np.full((n_raters, n_raters), np.nan)
    np.fill_diagonal(kappa, 1.0)
    for pair in _pairs(ratings):
        if np.union1d(pair.of_i, pair.of_j).size > 1:
            value = _KAPPAS[weights].function(pair.of_i, pair.of_j)
            kappa[pair.i, pair.j] = kappa[pair.j, pair.i] = value
    return ratings.raters, kappa


@documented(like=krippendorff_alpha)
def kappa_ceiling(
    row: ArrayLike, rater: ArrayLike, label: ArrayLike, *, classes: ArrayLike | None = None, n_ratings: int = 1
) -> float:
    r"""Return the highest quadratic weighted kappa that a model can reach against such labels.

    Rows that two or more raters have answered tell the reliability :math:`\rho` of a label: the part of its variance
    that is due to the row, and not to who rates it. It is Krippendorff's alpha for the class numbers, an intraclass
    correlation. Kappa is at most the correlation of decisions with labels, and a decision that does not know the
    rater's error has a correlation of at most :math:`\sqrt\rho`.

    Parameters
    ----------
    <<row, rater, label, classes>>
    n_ratings : int, default=1
        How many ratings the label is the mean of that the model is judged by. The reliability of a mean follows from
        that of one rating [1]_.

    Returns
    -------
    float
        0 where raters agree no more than by chance, NaN where all answers are the same.

    Notes
    -----
    It is a limit of large samples: the kappa of few rows varies around it. A model that states the mean label of each
    row exactly, before any rounding, has the kappa :math:`2\rho / (1 + \rho)`, which is lower: to reach
    :math:`\sqrt\rho` its decisions must vary as much as the labels. Ceilings of essay scoring [2]_ are of that first
    kind: what an ideal model of the true scores reaches. With few classes even the best decision stays below
    :math:`\sqrt\rho`, since it is a class.

    The ceiling does not hold

    - for a model that knows the rater of each label, as with a random intercept: severity is no error to it;
    - where raters err alike, since they talk, see each other's labels or share a bias: their agreement is then part of
      what a model can learn, but says nothing of the truth;
    - for labels that were adjudicated, or are from other raters or other rows than these.

    References
    ----------
    .. [1] C. Spearman, "Correlation calculated from faulty data", British Journal of Psychology 3 (1910), 271-295;
       W. Brown, "Some experimental results in the correlation of mental abilities", the same, 296-322.
    .. [2] M. Uto, "Has automated essay scoring reached sufficient accuracy? Deriving achievable QWK ceilings from
       classical test theory", arXiv:2604.19131 (2026).

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.agreement import kappa_ceiling
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=1000)
    >>> label = np.digitize(truth + rng.normal(size=(2, 1000)), [-1.5, -0.5, 0.5, 1.5])  # two raters, reliability 0.46
    >>> round(kappa_ceiling(np.tile(np.arange(1000), 2), np.repeat(["Ann", "Bob"], 1000), label.ravel()), 1)
    0.7
    """
    n_ratings = validation.check_integer("n_ratings", n_ratings, 1)
    return _of_all_rows(partial(_ceiling, n_ratings=n_ratings), Ratings.of(row, rater, label, classes))


@dataclass(frozen=True)
class AgreementReport(text_tables.Printed):
    """What :func:`agreement_report` returns: printed it is text, in a notebook a table.

    Attributes
    ----------
    n_rows : int
        Rows with two answers or more.
    drawn : str
        What the samples of the intervals are drawn from: "rows", or "groups" with their number.
    level : float
        Of the intervals.
    alpha : Interval
        Krippendorff's alpha.
    ceiling : Interval
        The highest quadratic weighted kappa of a model with one answer; see :func:`kappa_ceiling`.
    pairs : dict of (rater, rater) to Interval
        The weighted kappa of each two raters who share a row.
    n_shared : dict of (rater, rater) to int
        Rows that both have rated.

    Examples
    --------
    >>> from ordinal_objectives.agreement import agreement_report
    >>> found = agreement_report([0, 0, 1, 1, 2, 2], ["Ann", "Bob"] * 3, [1, 1, 2, 3, 3, 3])
    >>> list(found.pairs), found.n_shared["Ann", "Bob"]
    ([('Ann', 'Bob')], 3)
    """

    n_rows: int
    drawn: str
    level: float
    alpha: Interval
    ceiling: Interval
    pairs: dict[tuple[object, object], Interval]
    n_shared: dict[tuple[object, object], int]

    def to_frame(self) -> DataFrame:
        """Return a pandas.DataFrame with a row for each pair: "kappa", "low", "high" and "rows"."""
        columns = dict(zip(("kappa", "low", "high"), zip(*self.pairs.values(), strict=True), strict=True))
        return extras.data_frame({**columns, "rows": list(self.n_shared.values())}, index=list(self.pairs))

    def _lines(self) -> list[str]:
        return [
            f"{self.n_rows} rows with two answers or more",
            f"{100.0 * self.level:.4g}% intervals by samples of the {self.drawn}",
            f"Krippendorff's alpha {_text(self.alpha)}",
            f"highest quadratic weighted kappa of a model {_text(self.ceiling)}",
        ]

    def _tables(self) -> Iterator[text_tables.Cells]:
        yield {
            "raters": [f"{a}, {b}" for a, b in self.pairs],
            "kappa": [_text(one) for one in self.pairs.values()],
            "rows": [str(n) for n in self.n_shared.values()],
        }


def _text(found: Interval) -> str:
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


@documented(like=kappa_of_raters)
def agreement_report(
    row: ArrayLike,
    rater: ArrayLike,
    label: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    weights: str = "quadratic",
    groups: ArrayLike | None = None,
    level: float = 0.95,
    n_draws: int = 1000,
    random_state: Seed = 0,
) -> AgreementReport:
    """Return alpha, the ceiling of kappa, and the kappa of each two raters, with bootstrap intervals.

    Each sample takes as many rows as there are, with replacement, and all answers of a row with it; intervals lie
    between quantiles, as those of :func:`~ordinal_objectives.metrics.interval`.

    Parameters
    ----------
    <<row, rater, label, classes, weights>>
    groups : array-like, shape (n_answers,), or None, default=None
        The group of each answer's row, such as the prompt that a text answers. Then whole groups are drawn.
    level : float, default=0.95
        Of the intervals, in (0, 1).
    n_draws : int, default=1000
        Number of samples.
    random_state : int, RandomState instance or None, default=0
        Seed of the samples.

    Returns
    -------
    AgreementReport

    Raises
    ------
    ValueError
        If fewer than two rows, or groups of them, have two answers, or a row is in two groups.

    Notes
    -----
    Rows are drawn and raters stay: the intervals are those of these raters on other rows. With fewer than some fifty
    rows or groups, or shared rows of a pair, they are too short: with 60 groups, intervals of the ceiling of level 0.95
    covered it in 93 of 100 simulations.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.agreement import agreement_report
    >>> rng = np.random.default_rng(0)
    >>> label = np.digitize(rng.normal(size=200) + rng.normal(size=(2, 200)), [-1, 0, 1])
    >>> found = agreement_report(np.tile(np.arange(200), 2), np.repeat(["Ann", "Bob"], 200), label.ravel())
    >>> found.alpha.low < found.alpha.value < found.alpha.high
    True
    """
    validation.check_choice(weights, tuple(_KAPPAS), name="weights")
    level = validation.check_number("level", level, above=0.0, below=1.0)
    n_draws = validation.check_integer("n_draws", n_draws, 1)
    ratings = Ratings.of(row, rater, label, classes)
    counts = ratings.counts()
    shared = np.flatnonzero(counts.sum(axis=1) > 1)
    if len(shared) < 2:
        raise ValueError(f"row must have at least two rows with two answers; got {len(shared)}")
    of_rows = None if groups is None else _groups_of_rows(row, groups)[shared]
    drawn_rows = BootstrapSample.of(np.zeros(len(shared), dtype=np.int32), None, of_rows)
    place = np.full(ratings.n_rows, -1)
    place[shared] = np.arange(len(shared))
    pairs = list(_pairs(ratings))
    functions: list[OfDraws] = [partial(_alpha, counts[shared]), partial(_ceiling, counts[shared])]
    for pair in pairs:
        both = replace(drawn_rows, y=pair.of_i, row=np.arange(len(pair.rows)))
        functions.append(partial(_of_some, both.function(_KAPPAS[weights], pair.of_j), place[pair.rows]))
    values = [float(function(drawn_rows.weight[np.newaxis])[0]) for function in functions]
    drawn = drawn_rows.draw(functions, n_draws, validation.random_numbers(random_state))
    ends = drawn_rows.expanded(level)
    alpha, ceiling, *kappas = (Interval.of(value, of_one, ends) for value, of_one in zip(values, drawn, strict=True))
    raters = ratings.raters.tolist()
    names = [(raters[pair.i], raters[pair.j]) for pair in pairs]
    return AgreementReport(
        n_rows=len(shared),
        drawn="rows" if groups is None else f"{int(drawn_rows.unit.max()) + 1} groups",
        level=level,
        alpha=alpha,
        ceiling=ceiling,
        pairs=dict(zip(names, kappas, strict=True)),
        n_shared={name: len(pair.rows) for name, pair in zip(names, pairs, strict=True)},
    )


def _groups_of_rows(row: ArrayLike, groups: ArrayLike) -> IndexArray:
    """Return the number of the group of each row, from those of its answers."""
    number = np.unique(as_array(row, name="row"), return_inverse=True)[1]
    of_answers = check_groups(groups, len(number))
    assert of_answers is not None
    of_rows = np.zeros(number.max() + 1, dtype=np.intp)
    of_rows[number] = of_answers
    if (of_rows[number] != of_answers).any():
        raise ValueError("groups must have all answers of a row in one group")
    return of_rows


def _pairs(ratings: Ratings) -> Iterator[_Pair]:
    """Yield each two raters who share a row."""
    answers = np.full((len(ratings.raters), ratings.n_rows), -1, dtype=np.int32)
    answers[ratings.rater, ratings.row] = ratings.code
    for i, j in combinations(range(len(answers)), 2):
        rows = np.flatnonzero((answers[i] >= 0) & (answers[j] >= 0))
        if len(rows):
            yield _Pair(i, j, rows, answers[i, rows], answers[j, rows])


def _of_some(function: OfDraws, rows: IndexArray, weight: FloatArray) -> FloatArray:
    """Return the values of a function of the weights of some rows; NaN in samples without any of these."""
    values, of_rows = np.full(len(weight), np.nan), weight[:, rows]
    has_any = of_rows.any(axis=1)
    if has_any.any():
        values[has_any] = function(of_rows[has_any])
    return values


def _of_all_rows(function: Callable[[FloatArray, FloatArray], FloatArray], ratings: Ratings) -> float:
    """Return a value of the counts of answers of the rows with two answers or more."""
    counts = ratings.counts()
    counts = counts[counts.sum(axis=1) > 1]
    if not len(counts):
        raise ValueError("row must have two raters somewhere; no row has two raters")
    return float(function(counts, np.ones((1, len(counts))))[0])


def _alpha(counts: FloatArray, weight: FloatArray) -> FloatArray:
    """Return Krippendorff's alpha for ordered labels of samples, by the weights of rows, (n_samples, n_rows)."""
    total = weight @ counts
    return _alpha_by_position(counts, weight, np.cumsum(total, axis=1) - total / 2)


def _ceiling(counts: FloatArray, weight: FloatArray, n_ratings: int = 1) -> FloatArray:
    """Return the square root of the reliability of the mean of some ratings."""
    position = np.broadcast_to(np.arange(counts.shape[1], dtype=np.float64), (len(weight), counts.shape[1]))
    one = np.maximum(_alpha_by_position(counts, weight, position), 0.0)
    return np.asarray(np.sqrt(n_ratings * one / (1.0 + (n_ratings - 1) * one)))


def _alpha_by_position(counts: FloatArray, weight: FloatArray, position: FloatArray) -> FloatArray:
    """Return alpha where the distance of two classes is the square of that of their positions (n_samples, n_classes).

    Sums over pairs of answers follow from sums over answers: that of the squared distances in a row with n answers is
    2 (n sum m^2 - (sum m)^2), with m the positions.
    """
    n_of_row, total = counts.sum(axis=1), weight @ counts
    n = total.sum(axis=1)
    position = position - (total * position).sum(axis=1, keepdims=True) / n[:, np.newaxis]
    expected = n * (total * position**2).sum(axis=1)
    own = (weight * (n_of_row / (n_of_row - 1))) @ counts
    sums = position @ counts.T
    observed = (own * position**2).sum(axis=1) - (weight * sums**2 / (n_of_row - 1)).sum(axis=1)
    differ = (total > 0.0).sum(axis=1) > 1
    return 1.0 - np.divide((n - 1.0) * observed, expected, out=np.full(len(weight), np.nan), where=differ)
