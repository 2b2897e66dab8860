"""OrdinalPredictionSets: intervals of classes that hold the true one with a stated probability."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.aliases import (
    ArrayLike,
    BoolArray,
    Estimator,
    FloatArray,
    IndexArray,
    IntArray,
    LabelArray,
    Seed,
)
from ordinal_objectives.decision import decide
from ordinal_objectives.decisions.around import AroundClassifier
from ordinal_objectives.estimators.arguments import store_constructor_arguments
from ordinal_objectives.estimators.held_out import Rows, split_seed
from ordinal_objectives.estimators.wrappers import FittedMember
from ordinal_objectives.utils import documented, validation

# Sums of probabilities that are equal but for rounding are ties.
_DECIMALS = 12
# A count of rows that a product asks for is reached but for rounding.
_ROUNDING = 1e-9


def tail_scores(proba: FloatArray) -> FloatArray:
    """Return the probability of all classes nearer to the median's side of each class, the median's own being 0.

    P(y < k) for a class k above the median, P(y > k) for one below: it grows on both sides, whatever the
    probabilities are, so that the classes below any bound are an interval around the median.

    Parameters
    ----------
    proba : ndarray of float64, shape (n_samples, n_classes)
        Lowest class first.

    Returns
    -------
    ndarray of float64, shape (n_samples, n_classes)
    """
    up_to = np.cumsum(np.maximum(proba, 0.0), axis=1)
    below = np.column_stack([np.zeros(len(proba)), up_to[:, :-1]])
    middle, classes = decide(proba)[:, np.newaxis], np.arange(proba.shape[1])
    scores: FloatArray = np.where(classes > middle, below, np.where(classes < middle, 1.0 - up_to, 0.0))
    return scores.round(_DECIMALS)


@dataclass(frozen=True)
class CalibratedMember:
    """A classifier, and the scores of rows that it was not trained on.

    Attributes
    ----------
    member : FittedMember
    scores : ndarray of float64, shape (n_rows,)
        That of each row's own class, sorted; of several answers, or an interval, the highest.
    codes : ndarray of int32, shape (n_rows,)
        Class codes of these rows, in the same order; of several answers, or an interval, the one in the middle.
    weights : ndarray of float64, shape (n_rows,)
        As how many rows each counts among all.
    misses : ndarray of float64
        Scores of every class from a row's own to its median, which is left out, of all rows, sorted: a set of the
        classes up to a bound misses by as many classes as there are larger ones.
    miss_weights : ndarray of float64
    one_class : bool
        Whether each of these rows has one class.
    """

    member: FittedMember
    scores: FloatArray
    codes: IntArray
    weights: FloatArray
    misses: FloatArray
    miss_weights: FloatArray
    one_class: bool = True

    @classmethod
    def of(cls, member: FittedMember, rows: Rows, weights: FloatArray, n_classes: int) -> CalibratedMember:
        """Return a classifier with the scores of some rows."""
        proba, (lower, upper), each = member.proba(rows.X, n_classes), rows.bounds(), np.arange(len(rows))
        scores, middle = tail_scores(proba), decide(proba)
        own = np.maximum(scores[each, lower], scores[each, upper])  # they grow on both sides of the median
        order = np.argsort(own, kind="stable")
        classes = np.arange(n_classes)
        lowest, highest = (side[:, np.newaxis] for side in (np.minimum(lower, middle), np.maximum(upper, middle)))
        missed = (lowest <= classes) & (classes <= highest) & (classes != middle[:, np.newaxis])
        falling = np.argsort(scores[missed], kind="stable")
        of_misses = np.broadcast_to(weights[:, np.newaxis], missed.shape)[missed][falling]
        sorted_rows = own[order], rows.codes[order], weights[order], scores[missed][falling], of_misses
        return cls(member, *sorted_rows, one_class=bool((lower == upper).all()))

    def count(self, scores: FloatArray, by_class: bool) -> FloatArray:
        """Return how many rows score at least as much, (n_samples, n_classes); ``by_class`` those of the class."""
        if not by_class:
            return _at_least(self.scores, self.weights, scores)
        of_classes = (self.codes == k for k in range(scores.shape[1]))
        pairs = zip(of_classes, scores.T, strict=True)
        return np.column_stack([_at_least(self.scores[own], self.weights[own], of_class) for own, of_class in pairs])

    def bound_of_misses(self, severity: float, n_classes: int) -> float:
        """Return the least bound on scores by which sets miss the class by at most ``severity`` classes on average.

        Infinite where the rows are too few to say so.
        """
        allowed = severity * (self.weights.sum() + 1.0) - (n_classes - 1) + _ROUNDING
        if allowed < 0.0:
            return math.inf
        n_allowed = np.searchsorted(np.cumsum(self.miss_weights[::-1]), allowed, side="right")
        return float(self.misses[-1 - n_allowed]) if n_allowed < len(self.misses) else 0.0


def _at_least(known: FloatArray, weights: FloatArray, scores: FloatArray) -> FloatArray:
    from_here_on = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
    return from_here_on[np.searchsorted(known, scores, side="left")]


def hull(included: BoolArray, middle: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the lowest and the highest class of each row's set, with its middle and all between."""
    included = included | (np.arange(included.shape[1]) == middle[:, np.newaxis])
    return np.argmax(included, axis=1), included.shape[1] - 1 - np.argmax(included[:, ::-1], axis=1)


METHODS = ("split", "cross")
COVERAGES = ("marginal", "class")


@documented
class OrdinalPredictionSets(AroundClassifier):
    """Conformal prediction sets around any classifier: an interval of classes for each row.

    The sets hold the true class of a new row with probability 1 - alpha at least, whatever the classifier is, as long
    as the new row and those of ``fit`` are drawn alike. The width of an interval says how sure the classifier is.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``: of this package, of XGBoost, LightGBM or scikit-learn, or a pipeline. It is copied, and
        trained on class codes 0, 1, ..., lowest class first. ``FrozenEstimator(model)`` of scikit-learn is a trained
        one: then all rows of ``fit`` calibrate it, and it must not have been trained on them.
    alpha : float or None
        Probability of a set without the true class, in (0, 1). It is read when sets are predicted, so ``set_params``
        changes it without another ``fit``. None for sets that are bound by ``severity`` alone.
    method : {"split", "cross"}
        "split": a share of the rows calibrates, the others train. "cross": each of ``cv`` models is calibrated on the
        rows that it was not trained on. Every row then serves both, the sets vary less from seed to seed, and
        the guarantee is weaker, about 1 - 2 alpha.
    coverage : {"marginal", "class"}
        "marginal": 1 - alpha of all rows. "class": 1 - alpha of the rows of each class, also of rare ones. Sets
        are wider then. A class that has too few calibration rows is in every set; ``fit`` warns of it.
    severity : float or None
        Bound on the expected distance, in classes, of the true class from the set; 0 for a class inside. Sets are
        widened where ``alpha`` alone would not keep it. For ``method="split"``. None for no bound.
    calibration_fraction : float
        With "split": share of the rows that calibrate, in (0, 1), drawn at random.
    cv : int or splitter
        With "cross": number of folds of the rows with weight, drawn at random, or scikit-learn's splitter whose test
        folds do not overlap, which divides all rows.
    <<classes>>
        None also takes those that the estimator names.
    random_state : int, RandomState instance or None
        Seed of the rows that calibrate. None draws the same each time.

    Attributes
    ----------
    <<classes_, ordered_classes_, n_classes_>>
    estimators_ : list of estimators
        The fitted classifiers: one, or with "cross" one for each fold. Their labels are codes; see
        ``ordered_classes_``.
    n_calibration_ : ndarray, shape (n_classes,)
        Calibration rows of each class, lowest first; of weighted ones, the equally weighted rows that would vary as
        much. A row with several answers is of the one in the middle.
    always_included_ : ndarray
        Classes that are in every set, since their calibration rows are too few for ``alpha``.
    <<n_features_in_, feature_names_in_>>

    Notes
    -----
    The docs (theory, Prediction sets) have the guarantees and their proofs.

    Of OrdinalLabels the sets hold all answers of a row, or its whole interval, with the stated probability, and so the
    class in it.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier, OrdinalPredictionSets
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> y = np.array(["low", "middle", "high"])[np.digitize(X[:, 0] + 0.5 * rng.normal(size=600), [-0.5, 0.5])]
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20, random_state=0)
    >>> sets = OrdinalPredictionSets(model, alpha=0.1, classes=["low", "middle", "high"]).fit(X[:500], y[:500])
    >>> sets.predict_interval([[-2.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
    array([['low', 'low'],
           ['middle', 'high']], dtype='<U6')
    >>> inside = sets.predict_set(X[500:])[np.arange(100), sets.encode_labels(y[500:])]
    >>> bool(inside.mean() > 0.85)
    True
    """

    def __init__(
        self,
        estimator: object,
        *,
        alpha: float | None = 0.1,
        method: str = "split",
        coverage: str = "marginal",
        severity: float | None = None,
        calibration_fraction: float = 0.25,
        cv: object = 5,
        classes: ArrayLike | None = None,
        random_state: Seed = None,
    ) -> None:
        store_constructor_arguments(self, locals())

    @documented
    def fit(
        self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None, *, groups: ArrayLike | None = None
    ) -> OrdinalPredictionSets:
        """Train the classifier on some rows, and calibrate the sets on others.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
            What the estimator reads.
        <<y, sample_weight>>
            The estimator must take them. Coverage is then that of a population in which rows are as frequent as their
            weights say, on any scale. Rows of weight 0 are left out.
        groups : array-like, shape (n_samples,), or None
            Rows of one group stay together in all folds, also of searches inside. Estimators whose fit takes groups are
            given them. Coverage is that of rows of new groups, if many calibrate.

        Returns
        -------
        OrdinalPredictionSets

        Raises
        ------
        TypeError, ValueError
            If labels, parameters or the estimator are not what the docs allow; the message names the argument.

        Warns
        -----
        UserWarning
            If the calibration rows, or with ``coverage="class"`` those of a class, are too few for ``alpha``.
        """
        with self._all_or_nothing():
            validation.check_choice(self.method, METHODS, name="method")
            is_cross = self.method == "cross"
            self._check_sets(is_cross=is_cross, several=False)
            rows = self._check_rows(X, y, sample_weight, groups)
            several = rows.labels is not None
            self._check_sets(is_cross=is_cross, several=several)
            if several and sample_weight is not None:
                raise ValueError("sample_weight must be None where labels are intervals or several answers")
            members = self._members(rows)
            weights = [np.ones(len(held)) if several or held.weight is None else held.weight for _, held in members]
            every = np.concatenate(weights)
            scale = every.sum() / (every @ every)  # a weight of the population is 1 on average
            pairs = zip(members, weights, strict=True)
            self._parts = [CalibratedMember.of(*part, weight * scale, self.n_classes_) for part, weight in pairs]
        if self.alpha is not None and len(self.always_included_):
            least = math.ceil(1.0 / self.alpha - 1e-9) - 1
            n = self._class_sums(1).sum()
            text = f"{n:.4g} calibration rows are fewer than {least}: all classes are in every set"
            if self.coverage == "class":
                few = self.always_included_.tolist()
                text = f"the classes {few} have fewer than {least} calibration rows each, and are in every set"
            warnings.warn(f"For alpha={self.alpha} {text}.", UserWarning, stacklevel=2)
        return self

    def _check_sets(self, *, is_cross: bool, several: bool) -> None:
        """Check the parameters that sets are predicted with, which may have been set after a fit."""
        validation.check_choice(self.coverage, COVERAGES, name="coverage")
        if several and self.coverage == "class":
            raise ValueError(
                "coverage='class' needs the class of each row, and labels are intervals or several answers"
            )
        if self.alpha is not None:
            validation.check_number("alpha", self.alpha, above=0.0, below=1.0)
        if self.severity is not None:
            validation.check_number("severity", self.severity, above=0.0)
            if is_cross:
                raise ValueError("severity needs method='split'; got method='cross'")
        elif self.alpha is None:
            raise ValueError("alpha and severity are both None; give one of them")

    def _members(self, rows: Rows) -> list[tuple[FittedMember, Rows]]:
        """Return classifiers, each with the rows that calibrate it."""
        if self._prefit:
            return [(self._prefit_member(), rows.counted())]
        if self.method == "cross":
            folds = self._folds(rows)
            if np.bincount(np.concatenate([held for _, held in folds])).max() > 1:
                raise ValueError(
                    f"cv must hold every row out once at most; got overlapping test folds from {self.cv!r}"
                )
        else:
            rows = rows.counted()
            folds = [self._split(rows)]
        folds = [(fit, held) for fit, held in folds if np.isin(held, rows.weighted).any()]
        trained = [self._train(rows.take(fit)) for fit, _ in folds]
        return [(member, rows.take(held).counted()) for member, (_, held) in zip(trained, folds, strict=True)]

    def _split(self, rows: Rows) -> tuple[IndexArray, IndexArray]:
        """Return rows to train on and rows that calibrate, drawn regardless of their class: that is what is proved."""
        n_samples = len(rows)
        share = validation.check_number("calibration_fraction", self.calibration_fraction, above=0.0, below=1.0)
        n_held = math.ceil(share * n_samples)
        if n_held == n_samples:
            raise ValueError(f"calibration_fraction={share} of n_samples={n_samples} leaves no row to train on")
        group = np.arange(n_samples) if rows.groups is None else np.unique(rows.groups, return_inverse=True)[1]
        sizes = np.bincount(group)
        if len(sizes) < 2:
            raise ValueError(f"groups must name at least two groups where rows are held out; got {len(sizes)}")
        order = np.random.RandomState(split_seed(self.random_state)).permutation(len(sizes))
        n_first = min(int(np.searchsorted(np.cumsum(sizes[order]), n_held)) + 1, len(sizes) - 1)
        is_held = np.isin(group, order[:n_first])
        return np.flatnonzero(~is_held), np.flatnonzero(is_held)

    @property
    def estimators_(self) -> list[Estimator]:
        """The fitted classifiers."""
        check_is_fitted(self)
        return [part.member.estimator for part in self._parts]

    @property
    def n_calibration_(self) -> FloatArray:
        """Calibration rows of each class, lowest first."""
        check_is_fitted(self)
        return self._class_sums(1) * self._rows_of_weight()

    def _class_sums(self, power: int) -> FloatArray:
        """Return the sum of a power of the weights of each class, (n_classes,)."""
        codes, weights = (np.concatenate([getattr(part, of) for part in self._parts]) for of in ("codes", "weights"))
        return np.bincount(codes, weights**power, minlength=self.n_classes_).astype(np.float64)

    def _rows_of_weight(self) -> FloatArray:
        """Return as how many rows a weight counts among rows of its own class, (n_classes,)."""
        squares = self._class_sums(2)
        return np.divide(self._class_sums(1), squares, out=np.zeros_like(squares), where=squares > 0.0)

    @property
    def always_included_(self) -> LabelArray:
        """Classes that are in every set, since their calibration rows are too few."""
        check_is_fitted(self)
        return self.ordered_classes_[self._least_counts() < 1.0]

    def _least_counts(self) -> FloatArray:
        """Return for each class how many calibration rows may score at least as much where it is left out."""
        if self.alpha is None:
            return np.full(self.n_classes_, np.inf)
        every = np.full(self.n_classes_, self._class_sums(1).sum())
        n_rows = self.n_calibration_ if self.coverage == "class" else every
        return self.alpha * (n_rows + 1.0) + _ROUNDING

    def _bounds(self, X: object) -> tuple[IndexArray, IndexArray]:
        """Return the codes of the lowest and the highest class of each row's set."""
        check_is_fitted(self)
        self._check_sets(is_cross=len(self._parts) > 1, several=not all(part.one_class for part in self._parts))
        X = self._check_features(X, reset=False)
        proba = [part.member.proba(X, self.n_classes_) for part in self._parts]
        scores = [tail_scores(part_proba) for part_proba in proba]
        pairs, by_class = zip(self._parts, scores, strict=True), self.coverage == "class"
        counts = np.sum([part.count(part_scores, by_class) for part, part_scores in pairs], axis=0)
        if by_class:
            counts *= self._rows_of_weight()
        included = counts + 1.0 > self._least_counts()
        if self.severity is not None:
            included |= scores[0] <= self._parts[0].bound_of_misses(self.severity, self.n_classes_)
        return hull(included, decide(np.mean(proba, axis=0)))

    @documented
    def predict_interval(self, X: object) -> LabelArray:
        """Return the lowest and the highest class of the set of each row.

        Parameters
        ----------
        <<X>>

        Returns
        -------
        ndarray, shape (n_samples, 2)
            Labels. The class that ``predict`` returns lies between them.
        """
        return np.column_stack([self._labels.decode(codes) for codes in self._bounds(X)])

    @documented
    def predict_set(self, X: object) -> BoolArray:
        """Return which classes are in the set of each row.

        Parameters
        ----------
        <<X>>

        Returns
        -------
        ndarray of bool, shape (n_samples, n_classes)
            Columns from the lowest class to the highest, as ``ordered_classes_``.
        """
        lowest, highest = (codes[:, np.newaxis] for codes in self._bounds(X))
        classes = np.arange(self.n_classes_)
        return (lowest <= classes) & (classes <= highest)

    def _proba(self, X: object) -> FloatArray:
        return np.mean([part.member.proba(X, self.n_classes_) for part in self._parts], axis=0)
