"""OrdinalTunedClassifier: decisions of any classifier, tuned for a metric on rows that it was not trained on."""

from __future__ import annotations

import inspect
import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning

from ordinal_objectives.decision import KappaRule
from ordinal_objectives.decisions.around import AroundOneClassifier
from ordinal_objectives.decisions.cut_points import CutPoints, Score
from ordinal_objectives.metrics import METRICS
from ordinal_objectives.metrics.table import Metric
from ordinal_objectives.utils.read_only import call_read_only, read_only
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import check_choice, check_flag

RULES = ("cuts", "stretch", "kappa")
# What rule="kappa" can make large.
_KAPPAS = {"qwk": "quadratic", "lwk": "linear"}


@documented
class OrdinalTunedClassifier(AroundOneClassifier):
    """A classifier whose decisions are tuned for a metric, by probabilities of rows that it was not trained on.

    Tuned on the rows of the training, cut points suit probabilities that are too good. Here each row's probabilities
    are those of a copy that was not trained on it; the classifier that predicts is trained on all rows afterwards.
    Probabilities stay as they are.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``: of this package, of XGBoost, LightGBM or scikit-learn, or a pipeline. It is copied, and
        trained on class codes 0, 1, ..., lowest class first. ``FrozenEstimator(model)`` of scikit-learn is a trained
        one: then all rows of ``fit`` tune it, and it must not have been trained on them.
    metric : str or callable
        One of :data:`ordinal_objectives.metrics.METRICS` that judges decisions: "qwk", "lwk", "mae", "macro_mae",
        "max_mae", "zero_one", "tau_b"; or a function ``metric(y, predicted)`` of class codes, which may take
        ``sample_weight``.
    greater_is_better : bool
        Of a metric that is a function.
    rule : {"cuts", "stretch", "kappa"}
        "cuts": cut points of the mean class, each free. "stretch": the mean class is stretched about its mean, and
        rounded; one number is found. "kappa": the closed form for "qwk" and "lwk", which needs no labels; see
        :class:`ordinal_objectives.decision.KappaRule`.
    cv : int or splitter
        Number of folds, drawn at random, or one of scikit-learn's splitters.
    <<classes>>
        None also takes those that the estimator names.
    random_state : int, RandomState instance or None
        Seed of the folds. None draws the same each time.

    Attributes
    ----------
    <<classes_, ordered_classes_, n_classes_>>
    estimator_ : object
        The fitted classifier. Its labels are codes; see ``ordered_classes_``.
    decision_ : CutPoints or KappaRule
        The rule: ``decide(proba)`` returns class codes. ``cuts`` are the cut points.
    tuned_score_ : float
        The metric of the rows that the rule was tuned on. It is a little too good, since the rule was chosen by it.
    <<n_features_in_, feature_names_in_>>

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ordinal_objectives import OrdinalTunedClassifier
    >>> from ordinal_objectives.metrics import quadratic_weighted_kappa
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = np.digitize(X[:, 0] + 2 * rng.normal(size=2000), [-3, 0, 3])
    >>> plain = LogisticRegression().fit(X[:1000], y[:1000])
    >>> tuned = OrdinalTunedClassifier(LogisticRegression(), metric="qwk").fit(X[:1000], y[:1000])
    >>> before, after = (quadratic_weighted_kappa(y[1000:], one.predict(X[1000:])) for one in (plain, tuned))
    >>> after > before
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        metric: Any = "qwk",
        greater_is_better: bool = True,
        rule: str = "cuts",
        cv: Any = 5,
        classes: ArrayLike | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.greater_is_better = greater_is_better
        self.rule = rule
        self.cv = cv
        self.classes = classes
        self.random_state = random_state

    @documented
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> OrdinalTunedClassifier:
        """Tune the decision, and train the classifier on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
            What the estimator reads.
        <<y, sample_weight>>
            Both the estimator, which must take them, and the metric are given them.

        Returns
        -------
        OrdinalTunedClassifier

        Raises
        ------
        TypeError, ValueError
            If labels, weights, parameters or the estimator are not what the docs allow; the message names the argument.
        """
        with self._all_or_nothing():
            known = self._check_metric()
            proba, codes, weight = self._fit_member(self._check_rows(X, y, sample_weight))
            score = self._score(known, codes, weight)
            self.decision_ = self._tune(proba, codes, weight, score)
            found = score(self.decision_.decide(proba))
            if known is None and not np.isfinite(found):
                raise ValueError("metric must be a finite number for some decision; got NaN or infinity for each")
            self.tuned_score_ = self._sign(known) * found
        return self

    def _check_metric(self) -> Metric | None:
        """Return the entry of the table, or None for a function."""
        check_choice(self.rule, RULES, name="rule")
        known = METRICS.of(self.metric) if callable(self.metric) else METRICS.get(str(self.metric))
        if known.judges != "decisions" if known is not None else not callable(self.metric):
            names = ", ".join(repr(name) for name, one in METRICS.items() if one.judges == "decisions")
            raise ValueError(f"metric must be one of {names}, or a function of (y, predicted); got {self.metric!r}")
        METRICS.refuse_scorer(self.metric, "metric")
        if self.rule == "kappa" and (known is None or known.name not in _KAPPAS):
            raise ValueError(f"rule='kappa' makes 'qwk' or 'lwk' large; got metric={self.metric!r}")
        check_flag("greater_is_better", self.greater_is_better)
        return known

    def _score(self, known: Metric | None, codes: NDArray[np.int32], weight: NDArray[np.float64] | None) -> Score:
        """Return what is to be large of predictions."""
        function = self.metric if known is None else known.function
        given: dict[str, Any] = {} if known is None else {"labels": range(self.n_classes_)}
        if weight is not None and "sample_weight" in inspect.signature(function).parameters:
            given["sample_weight"] = read_only(weight)
        called = partial(function, **given)

        def score(predicted: NDArray[np.intp]) -> float:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UndefinedMetricWarning)  # of predictions that are never taken
                value = call_read_only("metric", called, codes, predicted)
            if not isinstance(value, (float, int, np.floating, np.integer)):
                raise TypeError(f"metric must return a number; got {value!r}")
            return -np.inf if np.isnan(value) else self._sign(known) * float(value)

        return score

    def _sign(self, known: Metric | None) -> float:
        return 1.0 if (self.greater_is_better if known is None else known.higher_is_better) else -1.0

    def _tune(
        self, proba: NDArray[np.float64], codes: NDArray[np.int32], weight: NDArray[np.float64] | None, score: Score
    ) -> CutPoints | KappaRule:
        if self.rule == "kappa":
            known = METRICS.of(self.metric) or METRICS[self.metric]
            return KappaRule.fit(proba, _KAPPAS[known.name], weight)
        if self.rule == "stretch":
            return CutPoints.stretched(proba, score)
        of_classes = np.bincount(codes, weight, minlength=self.n_classes_)
        return CutPoints.free(proba, of_classes / of_classes.sum(), score)

    def _decide(self, proba: NDArray[np.float64]) -> NDArray[Any]:
        return self.decision_.decide(proba)

    def _proba(self, X: Any) -> NDArray[np.float64]:
        return self._member.proba(X, self.n_classes_)


def tune_decision(
    estimator: Any, X: Any, y: Any, metric: Any = "qwk", *, sample_weight: ArrayLike | None = None, **options: Any
) -> OrdinalTunedClassifier:
    """Return a classifier whose decisions are tuned for a metric.

    Parameters
    ----------
    estimator, metric
        See :class:`OrdinalTunedClassifier`.
    X, y, sample_weight
        Of its ``fit``.
    **options
        Its other parameters.

    Returns
    -------
    OrdinalTunedClassifier
        Fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ordinal_objectives.decisions.tuned import tune_decision
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = np.digitize(X[:, 0] + rng.normal(size=500), [-1, 1])
    >>> tune_decision(LogisticRegression(), X, y, "macro_mae").decision_.cuts.shape
    (2,)
    """
    return OrdinalTunedClassifier(estimator, metric=metric, **options).fit(X, y, sample_weight)
