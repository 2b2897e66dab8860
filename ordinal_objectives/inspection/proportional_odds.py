"""A test of proportional odds: whether rows that were held out confirm the shifts of single thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr, stdtr
from sklearn.model_selection import StratifiedShuffleSplit

from ordinal_objectives.aliases import (
    ArrayLike,
    BoolArray,
    DataFrame,
    Estimator,
    FloatArray,
    IndexArray,
    IntArray,
    LabelArray,
    Params,
    Seed,
)
from ordinal_objectives.estimators.held_out import Rows, hold_out, take_rows
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.estimators.wrappers import last_step
from ordinal_objectives.inspection.features import threshold_columns
from ordinal_objectives.inspection.rows import as_rows, check_groups, trained_again, unwrapped
from ordinal_objectives.links import Link
from ordinal_objectives.losses import get_loss
from ordinal_objectives.utils.extras import data_frame
from ordinal_objectives.utils.validation import (
    check_integer,
    check_number,
    check_shape,
    drawn_seed,
    random_numbers,
    row_weights,
)

# Shifts are centred until nothing moves by more than this share of them.
_CENTRED, _MOST_PASSES = 1e-10, 1000


class ProportionalOddsTest(NamedTuple):
    """Whether rows held out confirm shifts; see :func:`proportional_odds_test`.

    Attributes
    ----------
    statistics : ndarray of float64, shape (n_classes - 1,)
        Lowest threshold first: about standard normal where odds are proportional, large where a shift is confirmed. Of
        several splits the median.
    p_values : ndarray of float64, shape (n_classes - 1,)
        One-sided, adjusted by Holm's method: all those of at most alpha can be rejected together at the level alpha.
    overall_statistic, overall_p_value : float
        Statistic and p-value of the shifts of all thresholds together.
    classes : ndarray, shape (n_classes,)
        Class labels, lowest first.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import proportional_odds_test
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 2))
    >>> y = np.digitize(2 * X[:, 0] + rng.logistic(size=600), [-1.0, 1.0])  # proportional odds
    >>> found = proportional_odds_test(HistGradientBoostingOrdinalClassifier(max_iter=20), X, y, random_state=0)
    >>> found.p_values.shape, found.overall_p_value > 0.05
    ((2,), True)
    """

    statistics: FloatArray
    p_values: FloatArray
    overall_statistic: float
    overall_p_value: float
    classes: LabelArray

    def to_frame(self) -> DataFrame:
        """Return a pandas.DataFrame with a row for each threshold, called "<= low", and the row "overall".

        Raises
        ------
        ModuleNotFoundError
            If pandas is not installed.
        """
        statistics, p_values = [*self.statistics, self.overall_statistic], [*self.p_values, self.overall_p_value]
        columns = {"statistic": statistics, "p_value": p_values}
        return data_frame(columns, index=[*threshold_columns(self.classes), "overall"])


def proportional_odds_test(
    estimator: Estimator,
    X: object,
    y: ArrayLike,
    *,
    n_splits: int = 5,
    test_size: float = 0.5,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    fit_params: Params | None = None,
    random_state: Seed = None,
) -> ProportionalOddsTest:
    r"""Test proportional odds: whether shifts that some rows show are confirmed by others.

    A copy of the estimator with ``proportional=False`` is trained on a part of the rows, drawn by class. On the others
    its score, scaled and with new thresholds, is the null model :math:`P(y \le k | x) = G(\theta_k - b f(x))`, and its
    shifts :math:`v_k(x)` are the direction in which that is tested. With :math:`s_{ik}` the derivative of the log loss
    of :math:`y_i \le k` by its margin, and :math:`h_{ik}` the expectation of its second derivative, the statistic is

    .. math:: z = \frac{\sum_i \psi_i}{\sqrt{\sum_i \psi_i^2}} , \qquad \psi_i = \sum_k u_{ik} s_{ik} ,

    where :math:`u_{ik}` are the shifts less what is common to the thresholds of a row and less a constant for each
    threshold, such that :math:`\sum_k h_{ik} u_{ik} = 0` and :math:`\sum_i h_{ik} u_{ik} = 0`. So errors
    of the score and of the thresholds, which move all thresholds of a row or all rows alike, change the mean of z by
    only their square (Neyman's orthogonality [1]_). Under proportional odds z is about standard normal; where the
    shifts are real it is large, and the p-value is one-sided. For a single threshold k, the shifts of the others are
    set to zero before they are centred.

    The p-value of a single split depends on chance. With several splits it is twice the median, at most 1 [2]_,
    which keeps the level whatever the dependence of the splits, and rejects less often than that. The p-values of the
    thresholds are adjusted by Holm's method [3]_ afterwards.

    With ``groups`` no group is divided, and the sums :math:`\psi_g` of the groups take the place of those of the rows,
    as in a variance that is robust to clusters, so that rows of a group may depend on each other in any way. With few
    groups z is not normal: where the :math:`\psi_g` of G groups are, :math:`z \sqrt{(G - 1) / (G - z^2)}` is the t
    statistic of their mean, with G - 1 degrees of freedom, which Cameron, Gelbach and Miller [4]_ advise for clusters.
    The p-values are those of it.

    What is tested is the fitted kind of model: a link that is wrong, or a feature that is missing, makes odds
    non-proportional too. A score with far too few trees leaves errors whose squares are not small, and with enough rows
    the test then rejects although odds are proportional; the user guide has simulations. A large p-value does not
    prove that odds are proportional.

    Parameters
    ----------
    estimator : classifier of this package, a pipeline that ends in one, or a fitted search
        Copies of it are trained, of a search those of its best estimator. It must allow ``proportional=False``: set
        ``loss="all_threshold"`` instead of "cumulative_link", which fits the same model where odds are proportional.
    X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
        Rows to train on and to hold out.
    y : array-like, shape (n_samples,)
        Labels of at least three classes, each of at least two rows.
    n_splits : int, default=5
        How often the rows are divided.
    test_size : float, default=0.5
        Share of the rows that is held out, above 0 and below 1.
    sample_weight : array-like of float, shape (n_samples,), or None, default=None
        Weights of the rows, in training and in the sums.
    groups : array-like, shape (n_samples,), or None, default=None
        The group of each row, such as a patient. Whole groups are held out, with class shares as near to those of all
        rows as 20 draws of them allow. Some twenty groups or more give the test power.
    fit_params : mapping of str to object, or None, default=None
        Keywords of the ``fit`` of copies beside rows and weights, such as LightGBM's ``categorical_feature``: what the
        model's own fit was given is not kept.
    random_state : int, RandomState instance or None, default=None
        Seed of the splits and of the copies. None takes NumPy's global state.

    Returns
    -------
    ProportionalOddsTest

    Raises
    ------
    TypeError
        If the estimator is none of these, or an argument is of a wrong type.
    ValueError
        If there are fewer than three classes, a class has a single row, X and y differ in rows, an argument is out of
        range, the estimator refuses ``proportional=False``, or there are fewer than four groups, or whole groups do
        not leave every class on both sides.

    References
    ----------
    .. [1] Chernozhukov et al., Double/debiased machine learning for treatment and structural parameters, Econometrics
       Journal 21, 2018.
    .. [2] Meinshausen, Meier, Bühlmann, P-values for high-dimensional regression, JASA 104, 2009.
    .. [3] Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979.
    .. [4] Cameron, Gelbach and Miller, Bootstrap-based improvements for inference with clustered errors, Review of
       Economics and Statistics 90, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import proportional_odds_test
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 2))
    >>> margins = np.array([-2.0, 2.0]) - X[:, [0]] - np.array([1.5, 0.0]) * np.tanh(X[:, [1]])
    >>> y = (rng.logistic(size=(600, 1)) > margins).sum(axis=1)
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=30, max_leaf_nodes=4)
    >>> found = proportional_odds_test(model, X, y, random_state=0)
    >>> found.overall_p_value < 0.05, found.p_values.shape
    (True, (2,))
    """
    found = getattr(estimator, "best_estimator_", estimator)
    X, random = as_rows(X), random_numbers(random_state)
    n_splits, test_size = check_integer("n_splits", n_splits, 1), check_number("test_size", test_size, above=0, below=1)
    codes = _codes(y, last_step(found)[0].classes, X.shape[0])
    weight = row_weights(sample_weight, len(codes))
    of_groups = check_groups(groups, len(codes))
    statistics: list[FloatArray] = []
    p_of_splits: list[FloatArray] = []
    classes: Any = None
    for train, test in _splits(codes, of_groups, n_splits, test_size, random):
        weights = None if sample_weight is None else weight[train]
        train_groups, test_groups = take_rows(of_groups, train), take_rows(of_groups, test)
        options: Params = {"fit_params": fit_params, "groups": train_groups, "proportional": False}
        copy = trained_again(found, take_rows(X, train), take_rows(y, train), weights, random, **options)
        model, prepared = unwrapped(copy)
        rows = prepared(take_rows(X, test))
        below = model.encode_labels(take_rows(y, test))[:, np.newaxis] <= np.arange(len(model.thresholds_))
        score, shifts, link = model.predict_raw(rows), model.predict_shifts(rows), get_loss(model.loss, model.link).link
        margins = null_margins(link, score, model.thresholds_, below, weight[test])
        statistics.append(score_statistics(link, margins, shifts, below, weight[test], test_groups))
        p_of_splits.append(_p_values(statistics[-1], None if test_groups is None else len(np.unique(test_groups))))
        classes = model.ordered_classes_
    z = np.median(statistics, axis=0)
    p_values = np.where(np.any(statistics, axis=0), p_of_splits, 1.0)  # no shifts at all
    p = p_values[0] if n_splits == 1 else np.minimum(2.0 * np.median(p_values, axis=0), 1.0)
    return ProportionalOddsTest(z[:-1], holm(p[:-1]), float(z[-1]), float(p[-1]), classes)


def _splits(
    codes: IntArray, groups: IndexArray | None, n_splits: int, test_size: float, random: np.random.RandomState
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield rows to train on and rows held out, which have rows of every class and share no group."""
    if groups is None:
        yield from StratifiedShuffleSplit(n_splits, test_size=test_size, random_state=random).split(codes, codes)
        return
    if (n_groups := len(np.unique(groups))) < 4:
        raise ValueError(f"groups must name at least 4 groups, 2 on each side; got {n_groups}")
    places = np.arange(len(codes))
    for _ in range(n_splits):
        parts = hold_out(Rows(places, codes, groups=groups), test_size, drawn_seed(random))
        has_all = [len(np.unique(part.codes)) == len(np.unique(codes)) for part in parts]
        if not all(has_all) or min(len(np.unique(groups[part.X])) for part in parts) < 2:
            raise ValueError(
                "groups must leave rows of every class, and at least 2 groups, to train on and to hold out; a class "
                "has rows in too few groups, or test_size leaves too few of them"
            )
        yield parts[0].X, parts[1].X


def _p_values(z: FloatArray, n_groups: int | None) -> FloatArray:
    """Return one-sided p-values of sums of many rows, or of as many groups."""
    if n_groups is None:
        return ndtr(-z)
    room = np.maximum(n_groups - z**2, np.finfo(np.float64).eps)  # 0 where all sums are the same
    return stdtr(n_groups - 1, -z * np.sqrt((n_groups - 1) / room))


def _codes(y: ArrayLike, classes: ArrayLike | None, n_samples: int) -> IntArray:
    """Return labels as class codes, by which rows are drawn: what classes are called does not matter."""
    codes = OrderedLabels(classes).fit_encode(y)
    check_shape("y", codes, (n_samples,))
    counts = np.unique(codes, return_counts=True)[1]
    if len(counts) < 3:
        raise ValueError(f"y must hold at least 3 classes, so that there are 2 thresholds; got {len(counts)}")
    if counts.min() < 2:
        raise ValueError("every class of y must have at least 2 rows, to train on and to hold out; one class has 1 row")
    return codes


def null_margins(link: Link, score: FloatArray, start: FloatArray, below: BoolArray, weight: FloatArray) -> FloatArray:
    """Return theta_k - b f of the b and theta with the lowest log loss of y <= k over all thresholds.

    Parameters
    ----------
    link : Link
    score : ndarray of float64, shape (n_samples,)
    start : ndarray of float64, shape (n_classes - 1,)
        Thresholds to start from.
    below : ndarray of bool, shape (n_samples, n_classes - 1)
        Whether y <= k.
    weight : ndarray of float64, shape (n_samples,)

    Returns
    -------
    ndarray of float64, shape (n_samples, n_classes - 1)
    """
    share = (weight / weight.sum())[:, np.newaxis]

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        margins = parameters[1:] - parameters[0] * score[:, np.newaxis]
        (low, d_low, _), (high, d_high, _) = link.lower(margins), link.upper(margins)
        slopes = share * np.where(below, d_low, d_high)
        gradient = np.concatenate([[-score @ slopes.sum(axis=1)], slopes.sum(axis=0)])
        return float((share * np.where(below, low, high)).sum()), gradient

    found = minimize(loss, np.concatenate([[1.0], start]), jac=True, method="BFGS").x
    return found[1:] - found[0] * score[:, np.newaxis]


def score_statistics(
    link: Link,
    margins: FloatArray,
    shifts: FloatArray,
    below: BoolArray,
    weight: FloatArray,
    groups: IndexArray | None = None,
) -> FloatArray:
    """Return z of only each threshold's shifts, and last of all together, (n_classes,).

    Of groups, numbers (n_samples,), the sums over the rows of each take the place of the rows.
    """
    (_, d_low, _), (_, d_high, _) = link.lower(margins), link.upper(margins)
    score, information = np.where(below, d_low, d_high), -d_low * d_high
    z = []
    for threshold in (*np.eye(shifts.shape[1]), np.ones(shifts.shape[1])):
        psi = weight * (centred(shifts * threshold, weight[:, np.newaxis] * information) * score).sum(axis=1)
        psi = psi if groups is None else np.bincount(groups, psi)
        length = np.sqrt(psi @ psi)
        z.append(psi.sum() / length if length > 0.0 else 0.0)
    return np.array(z)


def centred(shifts: FloatArray, weight: FloatArray) -> FloatArray:
    """Return shifts less an amount for each row and one for each threshold, all weighted means then being zero.

    Parameters
    ----------
    shifts, weight : ndarray of float64, shape (n_samples, n_thresholds)
    """
    row_weight, threshold_weight = weight.sum(axis=1, keepdims=True), weight.sum(axis=0)
    row_weight[row_weight == 0.0] = 1.0
    for _ in range(_MOST_PASSES):
        shifts = shifts - (weight * shifts).sum(axis=1, keepdims=True) / row_weight
        step = (weight * shifts).sum(axis=0) / threshold_weight
        if np.abs(step).max() <= _CENTRED * np.abs(shifts).max():
            break
        shifts = shifts - step
    return shifts


def holm(p_values: FloatArray) -> FloatArray:
    """Return p-values adjusted by Holm's method: the j-th smallest of m times m - j + 1, none below a smaller one's."""
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1)), 1.0)
    return adjusted
