"""OrdinalDistributionRegressor: P(y <= t | x) of a number, from the classes that it is cut into."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ordinal_objectives.aliases import ArrayLike, Estimator, FloatArray, IntArray, Seed
from ordinal_objectives.distributions.binned_target import BinnedTarget, most_likely
from ordinal_objectives.distributions.judging import ends_of, known_numbers, levels_of, numbers_of
from ordinal_objectives.estimators import arguments, wrappers
from ordinal_objectives.estimators.held_out import Rows, check_groups, is_auto, n_rows, split_seed, take_rows
from ordinal_objectives.metrics import ordinal_log_loss
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.utils import DOC_LINK, documented, names_for_users, validation

# Predictions hold probabilities of all classes for so many rows at a time.
_BLOCK = 10_000
_FEWEST_CUTS, _MOST_CUTS, _LEAST_ROWS = 5, 50, 4
_LARGEST = np.finfo(np.float64).max


@documented
class OrdinalDistributionRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The whole distribution of a number, from an ordinal classifier of the classes that it is cut into.

    A cumulative model of the classes between cut points says P(y <= t | x) at each cut: with many cuts that is the
    distribution of y, without a family of distributions, and with quantiles that never cross (Liu, Shepherd, Li and
    Harrell, Modeling continuous response variables using ordinal regression, Statistics in Medicine 2017). Between two
    cuts it is that of the training rows there. The scale of y does not matter: the model of log(y) has the same
    quantiles, transformed.

    Parameters
    ----------
    estimator : classifier or None
        With ``predict_proba``: of this package, or any other, or a pipeline that ends in one. It is copied, and trained
        on the number of the class, 0, 1, ... None for ``HistGradientBoostingOrdinalClassifier()``.
    n_cuts : "auto" or int
        Number of quantiles of y at which it is cut, evenly spaced. "auto": the square root of the number of rows,
        within 5 and 50, and the outer classes are halved as long as they keep 4 rows. A value that many rows share
        becomes a class of its own; where y has few values, each does.
    cuts : array-like of float, shape (n_cuts,), or None
        The cuts themselves, rising, instead of ``n_cuts``: a class ends with each of them. There must be training rows
        between two of them and beyond the outer ones.
    prediction : {"mean", "median"}
        What ``predict`` returns.
    random_state : int, RandomState or Generator instance, or None
        Seed of :meth:`sample`, and of the training, unless ``estimator`` has its own.

    Attributes
    ----------
    estimator_ : object
        The fitted classifier, for its importances, SHAP values and the like. Its labels are the numbers of the classes.
    target_ : BinnedTarget
        The cuts, and the training values with their shares.
    cuts_ : ndarray of float64, shape (n_classes - 1,)
        The highest training value of each class but the last.
    <<n_features_in_, feature_names_in_>>

    Notes
    -----
    All probability is on training values of y: no prediction lies outside of their range, and quantiles are training
    values. The mean depends on the scale of y, quantiles do not.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import OrdinalDistributionRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(1000, 2))
    >>> y = np.exp(X[:, 0] + X[:, 1] * rng.normal(size=1000))
    >>> model = OrdinalDistributionRegressor(random_state=0).fit(X, y)
    >>> lower, upper = model.predict_interval([[0.5, 0.1], [0.5, 0.9]], 0.9).T
    >>> bool(upper[0] < upper[1])
    True
    >>> rarely, often = model.predict_exceedance([[0.5, 0.1], [0.5, 0.9]], 3.0)
    >>> bool(rarely < 0.05 < often)
    True
    """

    _doc_link_module = "ordinal_objectives"
    _doc_link_template = DOC_LINK
    __dir__ = names_for_users
    _all_or_nothing = arguments.all_or_nothing
    estimator_: Estimator
    target_: BinnedTarget
    n_features_in_: int

    def __init__(
        self,
        estimator: Estimator | None = None,
        *,
        n_cuts: str | int = "auto",
        cuts: ArrayLike | None = None,
        prediction: str = "mean",
        random_state: Seed = None,
    ) -> None:
        arguments.store_constructor_arguments(self, locals())

    def fit(
        self,
        X: object,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        eval_set: Sequence[tuple[object, ArrayLike]] | None = None,
        groups: ArrayLike | None = None,
    ) -> OrdinalDistributionRegressor:
        """Cut y into classes, and train a copy of the estimator on them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
            What the estimator reads.
        y : array-like of float, shape (n_samples,) or (n_samples, 2)
            Finite numbers; or the lowest and the highest that each may be, with infinite ends for "at least" and "at
            most", for a classifier that takes OrdinalLabels. "More than t" begins at ``np.nextafter(t, np.inf)``. A
            warning names a number that is the lowest of some rows and the highest of others. A table with the columns
            "lower" and "upper" is read by name. One with the columns "event" and "time", and a structured array of a
            boolean event and a time, say a number, and more than it where no event was seen.
        sample_weight : array-like of float, shape (n_samples,), or None, default=None
            Weights of the rows; the estimator must take them.
        eval_set : list of (X, y), or None, default=None
            Evaluation sets, for an estimator that takes them and is no pipeline. Their y is numbers, or the lowest and
            the highest of each row as in training, and then judged by the log loss of the classes.
        groups : array-like, shape (n_samples,), or None, default=None
            Rows that belong together, for an estimator that divides the rows.

        Returns
        -------
        OrdinalDistributionRegressor

        Raises
        ------
        TypeError, ValueError
            If y, weights, parameters or the estimator are not what the docs allow; the message names the argument.
        """
        with self._all_or_nothing():
            validation.check_choice(self.prediction, ("mean", "median"), name="prediction")
            X, (y, lower), copy = self._check_features(X, reset=True), _ends_of(y), self._copy()
            check_consistent_length(X, y)
            weight = validation.check_sample_weight(sample_weight, len(y))
            weight = validation.check_total_weight(weight, name="sample_weight")
            n_weighted = len(y) if weight is None else int(np.count_nonzero(weight))
            cuts, is_free = self._cuts(n_weighted), self.cuts is None and is_auto(self.n_cuts)
            values = (y, weight) if lower is None else most_likely(lower, y, weight)
            self.target_ = BinnedTarget.fit(*values, cuts, _LEAST_ROWS / n_weighted if is_free else 1.0)
            codes, classes = self.target_.encode(y), np.arange(self.target_.n_classes)
            rows = Rows(X, codes, weight, groups=check_groups(groups, len(y)))
            if lower is not None:
                labels = self.target_.encode_intervals(lower, y)
                rows = replace(rows, codes=labels.middle, labels=labels)
            sets = {} if eval_set is None else wrappers.evaluation_keywords(copy, self._coded(eval_set))
            self._member = wrappers.train(copy, rows, classes, **sets)
            self.estimator_ = copy
        return self

    def _copy(self) -> Estimator:
        if self.estimator is None:
            return wrappers.native(random_state=self.random_state)
        if any(isinstance(inner, FrozenEstimator) for _, inner in wrappers.all_inside(self.estimator)):
            raise ValueError("estimator is trained on the classes that y is cut into; got one in FrozenEstimator")
        wrappers.refuse_settings_by_label("estimator", self.estimator, np.array([]), "pass sample_weight to fit")
        wrappers.refuse_other_shares("estimator", self.estimator)
        copy = clone(self.estimator)
        if self.random_state is not None:  # also for what the estimator leaves to NumPy's global state
            given = copy.get_params()
            seeds = validation.seeds_of(copy, split_seed(self.random_state))
            copy.set_params(**{name: seed for name, seed in seeds.items() if given[name] is None})
        if wrappers.weighs_costs(copy):
            raise ValueError("estimator has a training_cost, so its probabilities are weighted by cost")
        return copy

    def _cuts(self, n_rows: int) -> int | FloatArray:
        if self.cuts is None:
            if is_auto(self.n_cuts):
                return _n_cuts(n_rows)
            return validation.check_integer("n_cuts", self.n_cuts, 1)
        if not is_auto(self.n_cuts):
            raise ValueError(f"n_cuts={self.n_cuts!r} and cuts are two ways to say where y is cut: give one of them")
        cuts = numbers_of(self.cuts, "cuts")
        if (np.diff(cuts) <= 0.0).any():
            raise ValueError(f"cuts must rise; got {cuts.tolist()}")
        return cuts

    def _coded(self, eval_set: Sequence[tuple[object, ArrayLike]]) -> list[tuple[object, IntArray | OrdinalLabels]]:
        ends = [_ends_of(y, "y of an evaluation set") for _, y in eval_set]
        return [
            (X, self.target_.encode(upper) if lower is None else self.target_.encode_intervals(lower, upper))
            for (X, _), (upper, lower) in zip(eval_set, ends, strict=True)
        ]

    @property
    def cuts_(self) -> FloatArray:
        """The highest training value of each class but the last, (n_classes - 1,)."""
        check_is_fitted(self)
        return self.target_.cuts

    _check_features = wrappers.ClassifierOfClassifiers._check_features

    def _by_blocks(self, X: object, compute: Callable[[FloatArray, slice], FloatArray]) -> FloatArray:
        """Return what is computed from class probabilities and the number of their rows, for some rows at a time."""
        check_is_fitted(self)
        X = self._check_features(X, reset=False)
        n, found = n_rows(X), []
        for first in range(0, n, _BLOCK):
            rows = slice(first, min(first + _BLOCK, n))
            block = X if n <= _BLOCK else take_rows(X, np.arange(rows.start, rows.stop))
            found.append(compute(self._member.proba(block, self.target_.n_classes), rows))
        return np.concatenate(found)

    def predict(self, X: object) -> FloatArray:
        """Return the mean of each row's distribution, float64 (n_samples,), or its median, as ``prediction`` says.

        The mean has the least expected squared error, the median the least expected absolute error.
        """
        validation.check_choice(self.prediction, ("mean", "median"), name="prediction")
        if self.prediction == "median":
            return self.predict_quantile(X, 0.5)
        return self._by_blocks(X, lambda proba, _: self.target_.mean(proba))

    def predict_quantile(self, X: object, q: ArrayLike) -> FloatArray:
        """Return quantiles: the lowest training value t of y with P(y <= t | x) >= q.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
            Features.
        q : float, or array-like of float, shape (n_levels,)
            Levels in [0, 1], in any order.

        Returns
        -------
        ndarray of float64, shape (n_samples,) or (n_samples, n_levels)

        Raises
        ------
        ValueError
            If a level is outside [0, 1].
        """
        levels = levels_of(q)[np.newaxis]
        found = self._by_blocks(X, lambda proba, _: self.target_.quantiles(proba, levels))
        return found if np.ndim(q) else found[:, 0]

    def predict_interval(self, X: object, coverage: float = 0.9) -> FloatArray:
        """Return central intervals: as much probability is left out below as above.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
            Features.
        coverage : float, default=0.9
            Probability of the interval, in (0, 1).

        Returns
        -------
        ndarray of float64, shape (n_samples, 2)
            Lower and upper end, training values that belong to the interval.

        Raises
        ------
        ValueError
            If ``coverage`` is outside (0, 1).
        """
        out = (1.0 - validation.check_number("coverage", coverage, above=0.0, below=1.0)) / 2.0
        return self.predict_quantile(X, [out, 1.0 - out])

    def predict_cdf(self, X: object, t: ArrayLike) -> FloatArray:
        """Return P(y <= t | x).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
            Features.
        t : float, or array-like of float, shape (n_points,) or (n_samples, n_points)
            Numbers, the same for each row or, in two dimensions, each row's own.

        Returns
        -------
        ndarray of float64, shape (n_samples,) or (n_samples, n_points)

        Raises
        ------
        ValueError
            If ``t`` is not finite, or has rows of its own for another number of rows.
        """
        points = _points(t, n_rows(X))
        found = self._by_blocks(
            X, lambda proba, rows: self.target_.cdf(proba, points if len(points) == 1 else points[rows])
        )
        return found if np.ndim(t) else found[:, 0]

    def predict_exceedance(self, X: object, t: ArrayLike) -> FloatArray:
        """Return P(y > t | x), one minus :meth:`predict_cdf`, of the same shape."""
        return 1.0 - self.predict_cdf(X, t)

    def predict_conformal_interval(self, X: object) -> FloatArray:
        """Return the intervals of an :class:`.OrdinalPredictionSets` as ``estimator``, in the unit of y.

        They hold a new row's number with the probability that it promises, whatever the model is, but for numbers
        beyond the training values, which are of probability 2 / (n_samples + 1) at most.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of float64, shape (n_samples, 2)
            Lower and upper end: cuts, or the outermost training values.
        """
        check_is_fitted(self)
        codes = self.estimator_.predict_interval(self._check_features(X, reset=False))
        edges = np.append(self.target_.values[0], self.target_.values[self.target_.last])
        return edges[codes + [0, 1]]

    def pit(self, X: object, y: ArrayLike) -> FloatArray:
        """Return P(y' < y | x) and P(y' <= y | x), the ends of the probability integral transform of each row.

        For a model that is calibrated, numbers drawn between both ends are uniform (Czado, Gneiting and Held,
        Predictive model assessment for count data, Biometrics 2009).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
            Features.
        y : array-like of float, shape (n_samples,)
            Numbers.

        Returns
        -------
        ndarray of float64, shape (n_samples, 2)
        """
        y = known_numbers(y, "y")
        check_consistent_length(X, y)
        return self.predict_cdf(X, np.column_stack([np.nextafter(y, -np.inf), y]))

    def fitted_member(self) -> wrappers.FittedMember:
        """Return the fitted classifier with the class of each of its columns, for export."""
        check_is_fitted(self)
        return self._member

    def sample(self, X: object, n_draws: int = 1) -> FloatArray:
        """Return numbers drawn from each row's distribution, float64 (n_samples, n_draws)."""
        check_is_fitted(self)
        shape = n_rows(X), validation.check_integer("n_draws", n_draws, 1)
        levels = 1.0 - validation.random_numbers(self.random_state).random_sample(shape)  # in (0, 1]
        return self._by_blocks(X, lambda proba, rows: self.target_.quantiles(proba, levels[rows]))

    def crps(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean continuous ranked probability score: lower is better, in the unit of y.

        For a row it is the integral of (F(t | x) - [y <= t])^2 over t, the absolute error of a forecast that gives
        all probability to one number (Gneiting and Raftery, Strictly proper scoring rules, JASA 2007).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
            Features.
        y : array-like of float, shape (n_samples,)
            Numbers.
        sample_weight : array-like of float, shape (n_samples,), or None, default=None
            Weights of the rows.

        Returns
        -------
        float
        """
        y = known_numbers(y, "y")
        check_consistent_length(X, y)
        scores = self._by_blocks(X, lambda proba, rows: self.target_.crps(proba, y[rows]))
        return float(np.average(scores, weights=validation.relative_weights(sample_weight, len(y))))

    def log_loss(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean of -log P(y | x), also where numbers are known within bounds only: lower is better.

        Where no number is known, P(lowest <= y <= highest | x) is that of :meth:`predict_cdf`. A known number has no
        probability of its own. So where some are known, the rows cut y into classes, at their quantiles and without
        regard to the model's cuts. A known number counts with the probability of its class. Within bounds, each class
        counts with the share of its numbers, by Turnbull's estimate, that lies between them. Then rows that are cut
        short favour neither long nor short lives, as they would if the whole class were possible. The number of classes
        depends on that of the rows: compare models on the same rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
            Features.
        y : array-like of float, shape (n_samples,) or (n_samples, 2)
            Numbers; or the lowest and the highest that each may be, as in :meth:`fit`.
        sample_weight : array-like of float, shape (n_samples,), or None, default=None
            Weights of the rows.

        Returns
        -------
        float
            Probabilities of less than 2.2e-16 count as that.

        Raises
        ------
        ValueError
            If y or weights are not what the docs allow, or all numbers are known and the same.
        """
        upper, lower = _ends_of(y)
        lower = upper if lower is None else lower
        check_consistent_length(X, upper)
        weight = validation.check_sample_weight(sample_weight, len(upper))
        if (lower < upper).all():
            points = np.clip(np.column_stack([np.nextafter(lower, -np.inf), upper]), -_LARGEST, _LARGEST)
            below, up_to = self.predict_cdf(X, points).T
            found = -np.log(np.maximum(up_to - below, np.finfo(float).eps))
            return float(np.average(found, weights=validation.relative_weights(weight, len(found))))
        target = BinnedTarget.fit(*most_likely(lower, upper, weight), _n_cuts(len(upper)))
        proba = np.diff(self.predict_cdf(X, target.cuts), axis=1, prepend=0.0, append=1.0)
        return ordinal_log_loss(target.encode_intervals(lower, upper), np.maximum(proba, 0.0), weight)

    def score(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination, R^2, of :meth:`predict`, as all regressors of scikit-learn do.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
            Features.
        y : array-like, shape (n_samples,)
            Numbers.
        sample_weight : array-like of float, shape (n_samples,), or None, default=None
            Weights of the rows.

        Returns
        -------
        float
        """
        y = known_numbers(y, "y")
        return float(super().score(X, y, validation.check_sample_weight(sample_weight, len(y))))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = None if self.estimator is None else get_tags(self.estimator).input_tags
        for kind in ("sparse", "allow_nan", "string", "categorical"):
            setattr(tags.input_tags, kind, kind != "string" if inner is None else getattr(inner, kind, False))
        return tags


def _n_cuts(n_rows: int) -> int:
    return int(np.clip(math.isqrt(n_rows), _FEWEST_CUTS, _MOST_CUTS))


def _ends_of(y: ArrayLike, name: str = "y") -> tuple[FloatArray, FloatArray | None]:
    """Return the highest and the lowest number that each row may be; None where all are known."""
    ends = ends_of(y, name)
    if ends is None:
        return numbers_of(y, name, warn=True), None
    lower, upper = ends.T
    if not (lower <= upper).all():
        raise ValueError(f"{name} must hold the lowest and the highest number of each row, in this order, without NaN")
    shared = np.intersect1d(lower[lower < upper], upper)
    if len(shared) > 0:
        warnings.warn(
            f"The lowest number of some rows is the highest of others, such as {shared[0]}, and both ends of a row "
            "count as possible. Where rows lie above it, as what still runs then or the upper of two brackets that "
            "touch, pass np.nextafter(lowest, np.inf)",
            UserWarning,
            stacklevel=3,
        )
    return upper, lower


def _points(values: ArrayLike, n_samples: int) -> FloatArray:
    """Return numbers to evaluate distributions at, (1 or n_samples, n_points)."""
    points = validation.as_floats(values, name="t")
    validation.check_finite(points, "t", "it must hold finite numbers")
    if points.ndim == 2 and len(points) == n_samples:
        return points
    points = np.atleast_1d(points)
    validation.check_shape("t", points, ("n_points",))
    return points.reshape(1, -1)
