"""Average marginal effects: mean changes of class probabilities where one feature changes, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from ordinal_objectives.aliases import (
    ArrayLike,
    DataFrame,
    Estimator,
    FloatArray,
    IndexArray,
    LabelArray,
    Params,
    Seed,
    Table,
)
from ordinal_objectives.estimators.held_out import n_rows, take_rows
from ordinal_objectives.inspection import rows
from ordinal_objectives.utils import extras, validation

# So many levels of a feature are compared.
_MOST_LEVELS = 1000
# Intervals are not stretched further than by this share of the effects.
_LEAST_KEPT = 0.5


class MarginalEffects(NamedTuple):
    """Mean changes of class probabilities, and intervals; see :func:`average_marginal_effects`.

    Attributes
    ----------
    effects : ndarray of float64, shape (n_classes,) or (n_levels - 1, n_classes)
        Mean change of each class's probability, lowest class first. Of categories a row for each level but the
        reference. Effects sum to zero over the classes.
    lower, upper : ndarray of float64, shaped as ``effects``, or None
        Ends of the confidence intervals; None without refits or replicate weights.
    step : float or None
        By how much the feature rises. None of levels.
    levels : ndarray or None, shape (n_levels - 1,)
        Levels that are compared with the reference. None of numbers.
    reference : object
        The reference level. None of numbers.
    classes : ndarray, shape (n_classes,)
        Class labels, lowest first.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import average_marginal_effects
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.digitize(X[:, 0], [-1.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> found = average_marginal_effects(model, X, feature=0)
    >>> found.classes, found.effects.round(2), found.lower is None
    (array([0, 1, 2]), array([-0.24,  0.03,  0.21]), True)
    >>> found = average_marginal_effects(model, X, feature=0, n_refits=5, random_state=0)
    >>> bool(found.upper[0] < 0 < found.lower[2])
    True
    """

    effects: FloatArray
    lower: Any
    upper: Any
    step: float | None
    levels: LabelArray | None
    reference: Any
    classes: LabelArray

    def to_frame(self) -> DataFrame:
        """Return a pandas.DataFrame with the column "effect", and a row for each class.

        With refits there are also the columns "lower" and "upper". Of categories there is a row for each pair (level,
        class).

        Raises
        ------
        ModuleNotFoundError
            If pandas is not installed.
        """
        columns = {"effect": self.effects.ravel()}
        if self.lower is not None:
            columns |= {"lower": self.lower.ravel(), "upper": self.upper.ravel()}
        if self.levels is None:
            return extras.data_frame({"class": self.classes, **columns}).set_index("class")
        levels, classes = zip(*product(self.levels, self.classes), strict=True)
        return extras.data_frame({"level": levels, "class": classes, **columns}).set_index(["level", "class"])


def average_marginal_effects(
    estimator: Estimator,
    X: object,
    feature: int | str,
    *,
    step: float | None = None,
    reference: Any = None,
    categorical_features: ArrayLike | None = None,
    n_refits: int = 0,
    confidence: float = 0.95,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    replicate_weights: ArrayLike | None = None,
    replicate_scale: ArrayLike | None = None,
    fit_params: Params | None = None,
    random_state: Seed = None,
) -> MarginalEffects:
    r"""Return the mean change of each class's probability where one feature changes.

    A feature of numbers rises by a step s, around the value of each row:

    .. math:: \Delta_k = \tfrac{1}{n} \sum_i P(y = k | x_j = x_{ij} + s/2, x_{i, -j})
              - P(y = k | x_j = x_{ij} - s/2, x_{i, -j}) .

    Trees are step functions, whose derivative is zero almost everywhere, so the step is finite, and part of the result.
    Outside the values of the training trees are constant: a step that leaves them has too small an effect. Whole
    numbers with a whole step stay whole, from x - floor(s/2). Rows where the feature is missing do not count. For
    categories, text, booleans, and numbers with only two values, all rows get one level and then another. The other
    features of a row stay as they are, so combinations may occur that the data do not have.

    There are no intervals without refits, since one fitted model does not show its own sampling error. With
    ``n_refits`` the intervals are of the true effect in the population. Rows are drawn with replacement, their labels
    from the probabilities of the model, and copies are trained on them (the parametric bootstrap [1]_). Boosting
    shrinks effects: those of the copies, :math:`m_k` on average, are smaller than those of the model that drew their
    labels. The intervals correct as much,

    .. math:: 2 \Delta_k - m_k \pm t \cdot SE_k / r ,

    with the quantile t of Student's distribution for ``n_refits - 1`` degrees of freedom, so that intervals of few
    copies are wider, and the copies' standard deviations SE, which shrink as well: r, between 1/2 and 1, is the share
    of the effects that copies keep, by least squares over the classes. So intervals need not lie around ``effects``,
    which are the model's own. They are valid if the model's probabilities are right and rows are independent; the user
    guide has their coverage in simulations.

    Rows that belong together, such as those of a patient or a school, need ``groups``. Then as many more copies are
    trained on whole groups, drawn with replacement, with their labels ``y`` as observed (the cluster bootstrap,
    [1]_ section 3.8), so that the labels of a group keep what they have in common. These copies shrink effects as the
    model does and do not show its bias, so the middle of the intervals stays, and only their width changes,

    .. math:: 2 \Delta_k - m_k \pm t \cdot \sqrt{S_k^2 + SE_k^2 / R} / r ,

    with the standard deviations S of the copies of groups, and the error of m by the R = ``n_refits`` copies. Of G
    groups samples vary by (G - 1) / G too little, which S corrects. With few groups normal quantiles are too short:
    Student's distribution has G - 1 degrees of freedom [2]_. The R copies estimate a variance too, with R - 1, and both
    together have :math:`((G - 1)^{-1} + (R - 1)^{-1})^{-1}` (Satterthwaite [3]_). In simulations intervals without
    the shift of the middle covered far too little.

    Files of surveys bring replicate weights instead: each column of ``replicate_weights`` has the weights of a sample
    that could have been drawn as well. A copy is trained with each, and weighs its effects :math:`\theta_r` with them.
    The variance is :math:`\sum_r c_r (\theta_r - \theta)^2` around the model's effects, with
    c = ``replicate_scale``, and the intervals are :math:`\theta \pm t \sqrt{\cdot}` with one degree of freedom less
    than the rank of the weights, as in the R package survey [4]_. They hold the error of the sample, and not the
    shrinkage of boosting. Trees are no smooth functions of weights, which the jackknife asks for: prefer weights by
    balanced repeated replication (BRR) or the bootstrap.

    Parameters
    ----------
    estimator : fitted classifier of this package, or a pipeline or search that ends in one
        The features are those that the pipeline is given.
    X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
        Rows to average over; with ``n_refits`` those of the training.
    feature : int or str
        Column, or its name.
    step : float or None, default=None
        By how much a feature of numbers rises, positive. None for its weighted standard deviation over the rows.
    reference : object, default=None
        Level that the others are compared with. None for the first: in their own order, or else sorted.
    categorical_features : array-like of int, str or bool, or None, default=None
        Columns of X whose numbers are categories, by place or name, or a mask. Text and columns of a category type
        always are. None takes those that the classifier reads as categories, where no steps stand before it.
    n_refits : int, default=0
        Number of copies that are trained for the intervals: 0, or at least 2. Ten are enough for most uses. With
        ``groups`` twice as many are trained, with ``replicate_weights`` one for each column, and none by this number.
    confidence : float, default=0.95
        Share of data sets on which each interval, by itself, is meant to hold the true effect, above 0 and below 1.
    y : array-like, shape (n_samples,), or None, default=None
        Labels of X, for ``groups`` and ``replicate_weights``.
    sample_weight : array-like of float, shape (n_samples,), or None, default=None
        Weights of the rows, in the means, the step and the training of copies. Rows of weight 0 are left out.
    groups : array-like, shape (n_samples,), or None, default=None
        The group of each row. With ``n_refits``, copies for the width of intervals are trained on whole groups. One
        that is drawn twice counts as two, also to a ``random_intercept`` whose levels lie in one group each.
    replicate_weights : array-like of float, shape (n_samples, n_replicates), or None, default=None
        Weights of the rows, a column for each replicate, at least 2: weights themselves, not factors of
        ``sample_weight``, which are those of the whole sample. Copies keep the seed of the estimator: set its
        ``random_state`` where it draws rows or features.
    replicate_scale : float or array-like of float, shape (n_replicates,), or None, default=None
        For ``replicate_weights``: 1 / R for BRR and the bootstrap, 1 / (R (1 - rho)^2) for Fay's BRR with the factor
        rho, (R - 1) / R for the jackknife without strata; one for each replicate for that with strata.
    fit_params : mapping of str to object, or None, default=None
        Keywords of the ``fit`` of copies beside rows and weights, such as LightGBM's ``categorical_feature``: what the
        model's own fit was given is not kept.
    random_state : int, RandomState instance or None, default=None
        Seed of the copies. None takes NumPy's global state.

    Returns
    -------
    MarginalEffects

    Raises
    ------
    NotFittedError
        Before ``fit``.
    TypeError
        If the estimator has no margins, or an argument is of a wrong type.
    ValueError
        If there is no such feature, it holds neither numbers nor categories, or fewer than two values, there is no such
        reference level, step and reference do not suit the feature, an argument is out of range or of another shape, or
        ``y``, ``groups``, ``replicate_weights``, ``replicate_scale`` and ``n_refits`` do not suit each other.

    References
    ----------
    .. [1] Davison and Hinkley, Bootstrap methods and their application, 1997, sections 3.8 and 5.2.
    .. [2] Cameron, Gelbach and Miller, Bootstrap-based improvements for inference with clustered errors, Review of
       Economics and Statistics 90, 2008.
    .. [3] Satterthwaite, An approximate distribution of estimates of variance components, Biometrics Bulletin 2, 1946.
    .. [4] Lumley, Analysis of complex survey samples, Journal of Statistical Software 9, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import average_marginal_effects
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20).fit(X, y)
    >>> found = average_marginal_effects(model, X, 0, step=0.5)
    >>> found.effects.shape, bool(found.effects[0] < 0 < found.effects[-1]), bool(abs(found.effects.sum()) < 1e-12)
    ((4,), True, True)

    Ten rows of each of 30 groups:

    >>> groups = np.repeat(np.arange(30), 10)
    >>> found = average_marginal_effects(model, X, 0, y=y, groups=groups, n_refits=5, random_state=0)
    >>> bool((found.lower < found.upper).all())
    True
    """
    model, prepared = rows.unwrapped(estimator)
    table, random = rows.as_rows(X), validation.random_numbers(random_state)
    n_refits = validation.check_integer("n_refits", n_refits, 0)
    if n_refits == 1:
        raise ValueError("n_refits must be 0 or at least 2; got 1")
    confidence = validation.check_number("confidence", confidence, above=0, below=1)
    weight = validation.row_weights(sample_weight, table.shape[0])
    of_groups, replicates = rows.check_groups(groups, len(weight)), _check_replicates(replicate_weights, len(weight))
    scale = _check_scale(replicate_scale, replicates)
    _check_labels(y, len(weight), n_refits, of_groups, replicates)
    if not weight.all():
        parts = (table, y, weight, of_groups, replicates)
        table, y, weight, of_groups, replicates = (take_rows(part, np.flatnonzero(weight)) for part in parts)
        of_groups = rows.check_groups(of_groups, len(weight))
    change = _Change(estimator, table, feature, step, reference, categorical_features, weight)
    effects: Any = _means(change.of(model, prepared, table), weight)
    weights = None if sample_weight is None else weight
    lower: Any = None
    upper: Any = None
    if replicates is not None:
        copies = rows.trained_with_weights(estimator, table, y, replicates.T, fit_params=fit_params)
        pairs = zip(copies, replicates.T, strict=True)
        drawn = np.array([_means(change.of(*rows.unwrapped(copy), table), column) for copy, column in pairs])
        error = np.sqrt(np.einsum("r,rck->ck", scale, (drawn - effects) ** 2))
        width = _quantile(confidence, np.linalg.matrix_rank(replicates) - 1) * error
        lower, upper = effects - width, effects + width
    elif n_refits:
        drawn_rows = (estimator, table, _labels_by(model, prepared(table), random), n_refits, weights, random)
        copies_of = rows.trained_on_drawn_rows(*drawn_rows, fit_params=fit_params)
        drawn = _effects_of(copies_of, change, table, weight)
        error, freedom = drawn.std(axis=0, ddof=1), float(n_refits - 1)
        if of_groups is not None:
            numbered, nested = rows.with_nested_numbers(estimator, table, of_groups, change.column)
            drawn_rows = (estimator, numbered, lambda places: take_rows(y, places), n_refits, weights, random)
            options: Params = {"is_labelled": True, "groups": of_groups, "nested": nested, "fit_params": fit_params}
            of_whole_groups = _effects_of(rows.trained_on_drawn_rows(*drawn_rows, **options), change, numbered, weight)
            n_groups = len(np.unique(of_groups))
            spread = of_whole_groups.std(axis=0, ddof=1) * np.sqrt(n_groups / (n_groups - 1))
            error = np.hypot(spread, error / np.sqrt(n_refits))
            freedom = 1.0 / (1.0 / freedom + 1.0 / (n_groups - 1))
        middle = 2.0 * effects - drawn.mean(axis=0)
        width = _quantile(confidence, freedom) * error / _kept_shares(effects, drawn.mean(axis=0))
        lower, upper = middle - width, middle + width
    others = None if change.levels is None else change.levels[1:]
    if others is None:
        effects, lower, upper = (None if changes is None else changes[0] for changes in (effects, lower, upper))
    return MarginalEffects(effects, lower, upper, change.step, others, change.reference, model.ordered_classes_)


def _check_replicates(replicate_weights: ArrayLike | None, n_samples: int) -> FloatArray | None:
    """Return replicate weights, float64 (n_samples, n_replicates), or None."""
    if replicate_weights is None:
        return None
    weights = validation.as_floats(replicate_weights, name="replicate_weights")
    validation.check_shape("replicate_weights", weights, (n_samples, "n_replicates"))
    if weights.shape[1] < 2:
        raise ValueError(f"replicate_weights must have at least 2 columns; got {weights.shape[1]}")
    for column in weights.T:
        validation.check_sample_weight(column, n_samples, name="replicate_weights")
    return weights


def _check_scale(replicate_scale: ArrayLike | None, replicates: FloatArray | None) -> FloatArray:
    """Return the scale of each replicate, (n_replicates,)."""
    if replicates is None:
        if replicate_scale is not None:
            raise ValueError(f"replicate_scale is for replicate_weights, which are None; got {replicate_scale!r}")
        return np.zeros(0)
    n_replicates = replicates.shape[1]
    if replicate_scale is None:
        raise ValueError(
            "replicate_scale must be given with replicate_weights: 1 / R for BRR and the bootstrap, (R - 1) / R for "
            "the jackknife; got None"
        )
    scale = validation.as_floats(replicate_scale, name="replicate_scale")
    if scale.shape not in ((), (n_replicates,)) or not (np.isfinite(scale).all() and (scale > 0.0).all()):
        raise ValueError(
            f"replicate_scale must be a finite number above 0, or {n_replicates} of them, one for each replicate; got "
            f"{replicate_scale!r}"
        )
    return np.broadcast_to(scale, n_replicates)


def _check_labels(
    y: ArrayLike | None, n_samples: int, n_refits: int, groups: IndexArray | None, replicates: FloatArray | None
) -> None:
    """Raise ValueError unless labels, groups, replicates and the number of copies suit each other."""
    if groups is not None and replicates is not None:
        raise ValueError("groups must be None with replicate_weights, which hold the design; got both")
    if replicates is not None and n_refits:
        raise ValueError(f"n_refits must be 0 with replicate_weights, which have a copy each; got {n_refits}")
    if groups is not None and not n_refits:
        raise ValueError("n_refits must be at least 2 with groups, which the copies are for; got 0")
    if groups is None and replicates is None:
        if y is not None:
            raise ValueError("y is for groups and replicate_weights, which are both None")
        return
    if y is None:
        raise ValueError("y must hold the labels of X with groups or replicate_weights; got None")
    if n_rows(y) != n_samples:
        raise ValueError(f"y must have as many labels as X has rows, {n_samples}; got {n_rows(y)}")


def _labels_by(model: Estimator, features: Table, random: np.random.RandomState) -> Callable[[IndexArray], LabelArray]:
    """Return what draws labels of rows by their probabilities."""
    below = np.cumsum(model.predict_proba_ordered(features), axis=1)[:, :-1]

    def drawn(places: IndexArray) -> LabelArray:
        reached = random.random_sample((len(places), 1)) > below[places]
        return np.asarray(model.ordered_classes_)[reached.sum(axis=1)]

    return drawn


def _effects_of(
    copies: Iterable[tuple[Estimator, IndexArray]], change: _Change, table: Table, weight: FloatArray
) -> FloatArray:
    """Return the effects of copies on the rows of each, (n_copies, n_changes, n_classes)."""
    return np.array(
        [_means(change.of(*rows.unwrapped(copy), table)[:, places], weight[places]) for copy, places in copies]
    )


def _quantile(confidence: float, freedom: float) -> float:
    """Return the quantile of Student's distribution for an interval with two sides."""
    return float(stdtrit(max(freedom, 1.0), 0.5 + confidence / 2.0))


class _Change:
    """How one feature is changed: by a step, or from the first of some levels to each other."""

    step: float | None = None
    levels: LabelArray | None = None
    reference: Any = None

    def __init__(
        self,
        estimator: Estimator,
        X: Table,
        feature: int | str,
        step: Any,
        reference: Any,
        categorical_features: ArrayLike | None,
        weight: FloatArray,
    ) -> None:
        column = rows.column_of(estimator, X, feature)
        self.estimator, self.column, self.feature = estimator, column, feature
        by_level = rows.holds_categories(estimator, X, column, categorical_features)
        values = None if by_level else rows.numbers(estimator, X, column, feature)
        known = np.zeros(0) if values is None else np.unique(values[np.isfinite(values)])
        if values is not None and (len(known) > 2 or step is not None):
            if reference is not None:
                raise ValueError(f"reference is for categories, and feature {feature!r} holds numbers: give its step")
            self.step = _deviation(values, weight) if step is None else step
            self.step = validation.check_number("step", self.step, above=0)
            whole = self.step % 1 == 0 and bool((known % 1 == 0).all())
            self.below = self.step // 2 if whole else self.step / 2
            return
        if step is not None:
            raise ValueError(f"step is for numbers, and feature {feature!r} holds categories; got step={step!r}")
        levels, places = rows.categories(estimator, X, column, feature, _MOST_LEVELS)
        first = 0 if reference is None else levels.tolist().index(reference)
        order = [first, *(i for i in range(len(levels)) if i != first)]
        self.levels, self.reference, self.rows = levels[order], levels[first], places[order]

    def of(self, model: Estimator, prepared: Any, X: Table) -> FloatArray:
        """Return the changes of each row, (n_changes, n_samples, n_classes), NaN where the feature is missing."""
        if self.step is not None:
            values = rows.numbers(self.estimator, X, self.column, self.feature)
            zeros, known = rows.stores_zeros(X, self.column, values), np.isfinite(values)
            # Steps before the classifier may not take NaN.
            filled = np.where(known, values, values[known][:1] if known.any() else 0.0)
            ends = (filled - self.below, filled - self.below + self.step)
            of_column = self.estimator, X, self.column, self.feature
            tables = (rows.with_numbers(*of_column, end, filled, zeros) for end in ends)
            low, high = (model.predict_proba_ordered(prepared(table)) for table in tables)
            return np.where(known[:, np.newaxis], high - low, np.nan)[np.newaxis]
        tables = (rows.with_column_of(X, self.column, np.full(X.shape[0], row)) for row in self.rows)
        at = [model.predict_proba_ordered(prepared(table)) for table in tables]
        return np.array(at[1:]) - at[0]


def _deviation(values: FloatArray, weight: FloatArray) -> float:
    """Return the weighted standard deviation of the finite values."""
    known = np.isfinite(values)
    values, share = values[known], weight[known] / weight[known].sum()
    return float(np.sqrt(share @ (values - share @ values) ** 2))


def _means(each: FloatArray, weight: FloatArray) -> FloatArray:
    """Return weighted means over the rows without NaN, (n_changes, n_classes)."""
    weight = np.where(np.isnan(each[0, :, 0]), 0.0, weight)
    return np.einsum("n,cnk->ck", weight, np.nan_to_num(each)) / weight.sum()


def _kept_shares(effects: FloatArray, copies: FloatArray) -> FloatArray:
    """Return the share of the effects that copies keep, by least squares over the classes, (n_changes, 1)."""
    length = (effects**2).sum(axis=1, keepdims=True)
    share = np.divide((effects * copies).sum(axis=1, keepdims=True), length, np.ones_like(length), where=length > 0)
    return np.clip(share, _LEAST_KEPT, 1.0)
