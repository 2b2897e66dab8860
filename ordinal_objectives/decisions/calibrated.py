"""OrdinalCalibratedClassifier: probabilities of any classifier, recalibrated threshold by threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.aliases import ArrayLike, Estimator, FloatArray, Seed
from ordinal_objectives.decisions.around import AroundOneClassifier
from ordinal_objectives.estimators.arguments import store_constructor_arguments
from ordinal_objectives.estimators.held_out import Rows
from ordinal_objectives.utils import documented, validation

# Stated probabilities of 0 and 1 have a logit of some 14.
LEAST = 1e-6


def cumulative(proba: FloatArray) -> FloatArray:
    """Return P(y <= k) of all classes but the highest."""
    return np.minimum(np.cumsum(proba, axis=1)[:, :-1], 1.0)


@dataclass(frozen=True)
class Sigmoids:
    """A curve for each threshold: a shift and a stretch of the logit."""

    shifts: FloatArray
    stretches: FloatArray

    @classmethod
    def fit(cls, stated: FloatArray, happened: FloatArray, weight: FloatArray) -> Sigmoids:
        """Return the likeliest curves, with the targets of Platt, which leave no curve infinite."""
        columns = zip(_logit(stated).T, happened.T, strict=True)
        return cls(*np.array([_sigmoid(logits, seen, weight) for logits, seen in columns]).T)

    def __call__(self, stated: FloatArray) -> FloatArray:
        """Return the shares of rows that belong to stated probabilities, (n_samples, n_classes - 1)."""
        return expit(self.shifts + self.stretches * _logit(stated))


def _logit(stated: FloatArray) -> FloatArray:
    return logit(np.clip(stated, LEAST, 1.0 - LEAST))


def _sigmoid(stated: FloatArray, happened: FloatArray, weight: FloatArray) -> FloatArray:
    """Return shift and stretch, which is not negative: a higher probability stays the higher one."""
    total, n_happened = weight.sum(), weight @ happened
    n_other = total - n_happened
    target = (happened * (n_happened + 1.0) / (n_happened + 2.0)) + (1.0 - happened) / (n_other + 2.0)

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        margin = parameters[0] + parameters[1] * stated
        slope = weight * (expit(margin) - target) / total
        value = weight @ (np.logaddexp(0.0, margin) - target * margin) / total
        return float(value), np.array([slope.sum(), slope @ stated])

    options = {"ftol": 1e-14, "gtol": 1e-10, "maxiter": 500}
    bounds = ((None, None), (0.0, None))
    return minimize(loss, [0.0, 1.0], jac=True, method="L-BFGS-B", bounds=bounds, options=options).x


@dataclass(frozen=True)
class Isotonic:
    """One rising curve for all thresholds, so that cumulative probabilities keep their order."""

    regression: IsotonicRegression

    @classmethod
    def fit(cls, stated: FloatArray, happened: FloatArray, weight: FloatArray) -> Isotonic:
        """Return the rising steps with the least squared error over all rows and thresholds."""
        regression = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        weights = np.repeat(weight, stated.shape[1])
        return cls(regression.fit(stated.ravel(), happened.ravel(), sample_weight=weights))

    def __call__(self, stated: FloatArray) -> FloatArray:
        """Return the shares of rows that belong to stated probabilities, (n_samples, n_classes - 1)."""
        return self.regression.predict(stated.ravel()).reshape(stated.shape)


Curve = Sigmoids | Isotonic
CURVES: dict[str, type[Curve]] = {"sigmoid": Sigmoids, "isotonic": Isotonic}


@dataclass(frozen=True)
class Recalibration:
    """A fitted curve, and how many rows of equal weight it was fitted to."""

    curve: Curve
    total: float

    @classmethod
    def fit(cls, method: str, proba: FloatArray, rows: Rows) -> Recalibration:
        """Fit the curve of a method to probabilities, lowest class first, of rows of known classes or shares of them.

        Weights say how much rows count beside each other, on any scale: they are made to sum to the number of equally
        weighted rows that would vary as much.
        """
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        weight = weight * (weight.sum() / (weight @ weight))
        return cls(CURVES[method].fit(cumulative(proba), rows.at_most(proba.shape[1]), weight), float(weight.sum()))

    def __call__(self, proba: FloatArray) -> FloatArray:
        """Return recalibrated class probabilities, never negative.

        Curves that cross in a row are sorted, which never raises its ranked probability score. What was stated counts
        as one row more: a class that had a probability keeps one.
        """
        stated = cumulative(proba)
        changed = (self.total * np.sort(self.curve(stated), axis=1) + stated) / (self.total + 1.0)
        return np.diff(changed, axis=1, prepend=0.0, append=1.0)


@documented
class OrdinalCalibratedClassifier(AroundOneClassifier):
    """A classifier whose P(y <= k) are recalibrated on rows that it was not trained on, and keep their order.

    scikit-learn's CalibratedClassifierCV recalibrates each class against the others, which knows no order. Here the
    cumulative probabilities are changed: what is stated as P(y <= k) = 0.3 becomes the share of rows with y <= k
    that was seen there.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``: of this package, of XGBoost, LightGBM or scikit-learn, or a pipeline. It is copied, and
        trained on class codes 0, 1, ..., lowest class first. ``FrozenEstimator(model)`` of scikit-learn is a trained
        one: then all rows of ``fit`` recalibrate it, and it must not have been trained on them.
    method : {"sigmoid", "isotonic"}
        "sigmoid": for each threshold a shift and a stretch of the logit of P(y <= k); for few rows as well.
        "isotonic": one rising curve of steps for all thresholds.
    cv : int or splitter
        Number of folds of the rows with weight, drawn at random, or one of scikit-learn's splitters, which divides all.
        The curve is fitted to the probabilities of the rows with weight, each by a copy that was not trained on it;
        then the estimator is trained on all of them.
    <<classes>>
        None also takes those that the estimator names.
    <<decision_rule, cost_matrix>>
    random_state : int, RandomState instance or None
        Seed of the folds. None draws the same each time.

    Attributes
    ----------
    <<classes_, ordered_classes_, n_classes_>>
    estimator_ : object
        The fitted classifier. Its labels are codes; see ``ordered_classes_``.
    <<n_features_in_, feature_names_in_>>

    Notes
    -----
    A classifier that is well calibrated gains nothing, and loses a little by chance: compare both by the ranked
    probability score of other rows, or by :func:`ordinal_objectives.metrics.cumulative_calibration_error`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from ordinal_objectives import OrdinalCalibratedClassifier
    >>> from ordinal_objectives.metrics import ranked_probability_score
    >>> rng = np.random.default_rng(0)
    >>> score = rng.normal(size=900)
    >>> X = np.column_stack([score + 0.5 * rng.normal(size=900)] * 5)  # counted five times by naive Bayes
    >>> y = np.digitize(score, [-1, 0, 1])
    >>> plain = GaussianNB().fit(X[:600], y[:600])
    >>> model = OrdinalCalibratedClassifier(GaussianNB()).fit(X[:600], y[:600])
    >>> before, after = (ranked_probability_score(y[600:], one.predict_proba(X[600:])) for one in (plain, model))
    >>> after < before
    True
    """

    _recalibrates = True
    _takes_intervals = False

    def __init__(
        self,
        estimator: Estimator,
        *,
        method: str = "sigmoid",
        cv: object = 5,
        classes: ArrayLike | None = None,
        decision_rule: str = "median",
        cost_matrix: ArrayLike | None = None,
        random_state: Seed = None,
    ) -> None:
        store_constructor_arguments(self, locals())

    @documented
    def fit(
        self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None, *, groups: ArrayLike | None = None
    ) -> OrdinalCalibratedClassifier:
        """Train the classifier, and fit the curve to rows that it, or copies of it, were not trained on.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
            What the estimator reads.
        <<y, sample_weight>>
            Rows of weight 0 are left out. Both the estimator, which must take them, and the curve are fitted with them;
            the curve does not depend on their scale.
        groups : array-like, shape (n_samples,), or None
            Rows of one group stay together in all folds, also of searches inside. Estimators whose fit takes groups are
            given them.

        Returns
        -------
        OrdinalCalibratedClassifier

        Raises
        ------
        TypeError, ValueError
            If labels, weights, parameters or the estimator are not what the docs allow; the message names the argument.
        """
        with self._all_or_nothing():
            validation.check_choice(self.method, tuple(CURVES), name="method")
            rows = self._check_rows(X, y, sample_weight, groups)
            proba, held = self._fit_member(rows)
            self._recalibration = Recalibration.fit(self.method, proba, held)
        return self

    def fitted_curve(self) -> Recalibration:
        """Return what the cumulative probabilities go through, for export."""
        check_is_fitted(self)
        return self._recalibration

    def _proba(self, X: object) -> FloatArray:
        return self._recalibration(self._member.proba(X, self.n_classes_))
