"""What one feature does: partial dependence, accumulated local effects, and average marginal effects with intervals."""

from __future__ import annotations

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
    NDArray,
    Params,
    Seed,
    Table,
)
from ordinal_objectives.estimators.held_out import take_rows
from ordinal_objectives.inspection import rows
from ordinal_objectives.utils import extras, validation

# So many levels of a feature are compared.
_MOST_LEVELS = 1000
# Intervals are not stretched further than by this share of the effects.
_LEAST_KEPT = 0.5


class FeatureEffect(NamedTuple):
    """The score and the shifts along one feature, averaged over rows; see :func:`feature_effect`.

    Attributes
    ----------
    values : ndarray of float64 or object, shape (n_values,)
        Of the feature, increasing; of categories in their own order, else sorted.
    score : ndarray of float64, shape (n_values,)
        Partial dependence of f.
    shifts : ndarray of float64, shape (n_values, n_classes - 1)
        Partial dependence of each v_k.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import feature_effect
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.digitize(X[:, 0], [-1.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> found = feature_effect(model, X, feature=0)
    >>> found.values.shape == found.score.shape
    True
    >>> bool(found.score[-1] > found.score[0])  # larger values, higher classes
    True
    """

    values: NDArray[Any]
    score: FloatArray
    shifts: FloatArray


def feature_effect(
    estimator: Estimator,
    X: object,
    feature: int | str,
    *,
    grid_resolution: int = 50,
    categorical_features: ArrayLike | None = None,
) -> FeatureEffect:
    """Return the partial dependence of the score and of every shift on a feature of numbers or categories.

    Parameters
    ----------
    estimator : fitted classifier of this package, or a pipeline or search that ends in one
        The features are those that the pipeline is given.
    X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
        Rows to average over. The cost is one prediction of them for each value.
    feature : int or str
        Column, or its name.
    grid_resolution : int, default=50
        At most so many values: those that occur in X nearest to equally spaced ones between the 5th and the 95th
        percentile. Of a feature of categories, or of text, all that occur in X.
    categorical_features : array-like of int, str or bool, or None, default=None
        Columns of X whose numbers are categories, by place or name, or a mask. Text and columns of a category type
        always are. None takes those that the classifier reads as categories, where no steps stand before it.

    Returns
    -------
    FeatureEffect

    Raises
    ------
    NotFittedError
        Before ``fit``.
    TypeError
        If the estimator has no margins.
    ValueError
        If there is no such feature, it holds neither numbers nor categories, or more categories than
        ``grid_resolution``, or that is not an integer of at least 2.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import feature_effect
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20).fit(X, y)
    >>> effect = feature_effect(model, X, 0)
    >>> bool(effect.score[-1] > effect.score[0]), effect.shifts.shape
    (True, (50, 3))
    """
    model, prepared = rows.unwrapped(estimator)
    values, tables = rows.over_grid(estimator, X, feature, grid_resolution, categorical_features)
    margins = [model.predict_linear_predictors(prepared(table)) for table in tables]
    scores = np.array([(model.thresholds_ - margins_at).mean(axis=0) for margins_at in margins])
    score = scores.mean(axis=1)
    return FeatureEffect(values, score, scores - score[:, np.newaxis])


def partial_probabilities(
    estimator: Estimator,
    X: object,
    feature: int | str,
    *,
    grid_resolution: int = 50,
    categorical_features: ArrayLike | None = None,
) -> tuple[LabelArray, FloatArray]:
    """Return the partial dependence of the class probabilities on a feature of numbers or categories.

    Parameters
    ----------
    estimator : fitted classifier of this package, or a pipeline or search that ends in one
        The features are those that the pipeline is given.
    X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
        Rows to average over.
    feature : int or str
        Column, or its name.
    grid_resolution : int, default=50
        At most so many values, as in :func:`feature_effect`, which also says what is raised.
    categorical_features : array-like of int, str or bool, or None, default=None
        Columns whose numbers are categories, as in :func:`feature_effect`.

    Returns
    -------
    values : ndarray, shape (n_values,)
        Of the feature.
    proba : ndarray of float64, shape (n_values, n_classes)
        Means over the rows, lowest class first.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import partial_probabilities
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20).fit(X, y)
    >>> values, proba = partial_probabilities(model, X, 0, grid_resolution=10)
    >>> bool(proba[0, 0] > proba[-1, 0]), proba.shape
    (True, (10, 4))
    """
    model, prepared = rows.unwrapped(estimator)
    values, tables = rows.over_grid(estimator, X, feature, grid_resolution, categorical_features)
    return values, np.array([model.predict_proba_ordered(prepared(table)).mean(axis=0) for table in tables])


class LocalEffects(NamedTuple):
    """The score, the shifts and the probabilities along one feature; see :func:`accumulated_local_effects`.

    Each has the mean zero over the rows.

    Attributes
    ----------
    values : ndarray of float64, shape (n_values,)
        Of the feature, increasing.
    score : ndarray of float64, shape (n_values,)
        Effect on f.
    shifts : ndarray of float64, shape (n_values, n_classes - 1)
        Effect on each v_k, lowest threshold first. They sum to zero over the thresholds.
    proba : ndarray of float64, shape (n_values, n_classes)
        Effect on the probability of each class, lowest class first. They sum to zero over the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import accumulated_local_effects
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.digitize(X[:, 0], [-1.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> found = accumulated_local_effects(model, X, feature=0)
    >>> len(found.values) == len(found.score) == len(found.proba)
    True
    >>> bool(found.score[-1] > found.score[0])  # larger values, higher classes
    True
    """

    values: FloatArray
    score: FloatArray
    shifts: FloatArray
    proba: FloatArray


def accumulated_local_effects(
    estimator: Estimator,
    X: object,
    feature: int | str,
    *,
    grid_resolution: int = 20,
    categorical_features: ArrayLike | None = None,
) -> LocalEffects:
    r"""Return the accumulated local effects of a feature of numbers on the score, the shifts and the probabilities.

    Quantiles :math:`z_0 < z_1 < \ldots` of the feature cut the rows into intervals N(j). The effect g of a quantity h
    at :math:`z_j` adds up the mean changes of the intervals below,

    .. math:: g(z_j) = \sum_{l \le j} \frac{1}{|N(l)|} \sum_{i \in N(l)}
              h(z_l, x_{i, -j}) - h(z_{l-1}, x_{i, -j}) - c ,

    with c such that the mean over the rows is zero, g being the mean of both ends within an interval (Apley and Zhu
    [1]_). A row is moved only within its own interval. So features that depend on each other are not combined in ways
    that the data do not have, as in partial dependence (:func:`feature_effect`), and the effect of another feature that
    goes along with this one is not in it. Where effects are added up, both are the same up to a constant.

    Parameters
    ----------
    estimator : fitted classifier of this package, or a pipeline or search that ends in one
        The features are those that the pipeline is given.
    X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
        Rows to average over. The cost is two predictions of them.
    feature : int or str
        Column of numbers, or its name. Rows where it is missing or infinite do not count.
    grid_resolution : int, default=20
        Number of intervals, at most; equal quantiles are one.
    categorical_features : array-like of int, str or bool, or None, default=None
        Columns whose numbers are categories, as in :func:`feature_effect`; such a feature is refused.

    Returns
    -------
    LocalEffects

    Raises
    ------
    NotFittedError
        Before ``fit``.
    TypeError
        If the estimator has no margins, or ``grid_resolution`` is no integer.
    ValueError
        If there is no such feature, it holds categories, which have no order to add up along, or fewer than two finite
        values, or ``grid_resolution`` is not positive.

    References
    ----------
    .. [1] Apley and Zhu, Visualizing the effects of predictor variables in black box supervised learning models, JRSS B
       82, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import accumulated_local_effects
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20).fit(X, y)
    >>> found = accumulated_local_effects(model, X, 0)
    >>> bool(found.score[-1] > found.score[0]), found.shifts.shape, found.proba.shape
    (True, (21, 3), (21, 4))
    """
    (model, prepared), table = rows.unwrapped(estimator), rows.as_rows(X)
    grid_resolution = validation.check_integer("grid_resolution", grid_resolution, 1)
    column = rows.column_of(estimator, table, feature)
    if rows.holds_categories(estimator, table, column, categorical_features):
        raise ValueError(
            f"feature {feature!r} must hold numbers: effects are added up along their order; it holds categories, "
            f"whose effects feature_effect returns"
        )
    values = rows.numbers(estimator, table, column, feature)
    known, stores_zeros = np.flatnonzero(np.isfinite(values)), rows.stores_zeros(table, column, values)
    table, values = take_rows(table, known), values[known]
    # Quantiles that occur in X, so that trees are asked where they were grown.
    edges = np.unique(np.quantile(values, np.linspace(0.0, 1.0, grid_resolution + 1), method="inverted_cdf"))
    interval = np.searchsorted(edges[1:], values)  # the lowest value is in the first

    def at(ends: FloatArray) -> FloatArray:
        moved = prepared(rows.with_column(table, column, ends, stores_zeros))
        scores = model.thresholds_ - model.predict_linear_predictors(moved)
        score = scores.mean(axis=1, keepdims=True)
        return np.column_stack([score, scores - score, model.predict_proba_ordered(moved)])

    changes = at(edges[interval + 1]) - at(edges[interval])
    n_rows = np.bincount(interval, minlength=len(edges) - 1)[:, np.newaxis]
    sums = np.zeros((len(n_rows), changes.shape[1]))
    np.add.at(sums, interval, changes)
    effects = np.vstack([np.zeros(sums.shape[1]), np.cumsum(sums / n_rows, axis=0)])
    effects -= (n_rows * (effects[1:] + effects[:-1]) / 2).sum(axis=0) / len(values)
    n_thresholds = len(model.thresholds_)
    return LocalEffects(edges, effects[:, 0], effects[:, 1 : 1 + n_thresholds], effects[:, 1 + n_thresholds :])


class MarginalEffects(NamedTuple):
    """Mean changes of class probabilities, and intervals; see :func:`average_marginal_effects`.

    Attributes
    ----------
    effects : ndarray of float64, shape (n_classes,) or (n_levels - 1, n_classes)
        Mean change of each class's probability, lowest class first. Of categories a row for each level but the
        reference. Effects sum to zero over the classes.
    lower, upper : ndarray of float64, shaped as ``effects``, or None
        Ends of the confidence intervals of the true effects; None without refits.
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
    sample_weight: ArrayLike | None = None,
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
    which are the model's own. They are valid if the model's probabilities are right; the user guide has their
    coverage in simulations.

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
        Number of copies that are trained for the intervals: 0, or at least 2. Ten are enough for most uses.
    confidence : float, default=0.95
        With ``n_refits``: share of data sets on which each interval, by itself, is meant to hold the true effect, above
        0 and below 1.
    sample_weight : array-like of float, shape (n_samples,), or None, default=None
        Weights of the rows, in the means, the step and the training of copies. Rows of weight 0 are left out.
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
        reference level, step and reference do not suit the feature, or an argument is out of range.

    References
    ----------
    .. [1] Davison and Hinkley, Bootstrap methods and their application, 1997, section 5.2.

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
    """
    model, prepared = rows.unwrapped(estimator)
    table, random = rows.as_rows(X), validation.random_numbers(random_state)
    n_refits = validation.check_integer("n_refits", n_refits, 0)
    if n_refits == 1:
        raise ValueError("n_refits must be 0 or at least 2; got 1")
    confidence = validation.check_number("confidence", confidence, above=0, below=1)
    weight = validation.row_weights(sample_weight, table.shape[0])
    if not weight.all():
        table, weight = (take_rows(part, np.flatnonzero(weight)) for part in (table, weight))
    change = _Change(estimator, table, feature, step, reference, categorical_features, weight)
    effects: Any = _means(change.of(model, prepared, table), weight)
    lower: Any = None
    upper: Any = None
    if n_refits:
        proba, drawn_effects = model.predict_proba_ordered(prepared(table)), []

        def labels_of(places: IndexArray) -> LabelArray:
            reached = random.random_sample((len(places), 1)) > np.cumsum(proba[places], axis=1)[:, :-1]
            return np.asarray(model.ordered_classes_)[reached.sum(axis=1)]

        weights = None if sample_weight is None else weight
        drawn_rows = (estimator, table, labels_of, n_refits, weights, random)
        for copy, places in rows.trained_on_drawn_rows(*drawn_rows, fit_params=fit_params):
            drawn_effects.append(_means(change.of(*rows.unwrapped(copy), table)[:, places], weight[places]))
        drawn = np.array(drawn_effects)
        kept = _kept_shares(effects, drawn.mean(axis=0))
        width = stdtrit(n_refits - 1, 0.5 + confidence / 2) * drawn.std(axis=0, ddof=1)
        middle = 2.0 * effects - drawn.mean(axis=0)
        lower, upper = middle - width / kept, middle + width / kept
    others = None if change.levels is None else change.levels[1:]
    if others is None:
        effects, lower, upper = (None if changes is None else changes[0] for changes in (effects, lower, upper))
    return MarginalEffects(effects, lower, upper, change.step, others, change.reference, model.ordered_classes_)


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
