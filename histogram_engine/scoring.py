"""``scoring`` of the classifier: what early stopping looks at, by the scorers of scikit-learn and of this package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer

from ordinal_objectives import predictions, scorers
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.eval_metric import Decide, takes_weight
from ordinal_objectives.histogram_engine.fit_loop import Scored
from ordinal_objectives.histogram_engine.state import LabelledRows
from ordinal_objectives.utils.read_only import call_read_only, read_only

LOSS = "loss"
Scorer = Callable[..., float]


@dataclass(eq=False, repr=False)
class PredictedRows(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Stands for a classifier in the middle of its training, with its predictions for the rows that are watched.

    Attributes
    ----------
    labels : OrderedLabels
    decide : callable
        From probabilities to class codes.
    proba : ndarray of float64, shape (n_samples, n_classes)
        Lowest class first.
    score_of_rows : ndarray of float64, shape (n_samples,) or (n_samples, n_classes - 1)
    """

    labels: OrderedLabels
    decide: Callable[[NDArray[np.float64]], NDArray[Any]]
    proba: NDArray[np.float64]
    score_of_rows: NDArray[np.float64]

    def __post_init__(self) -> None:
        self.classes_, self.ordered_classes_ = self.labels.classes_, self.labels.ordered_classes_

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels of the rows that are watched."""
        self._check(X)
        return self.labels.decode(self.decide(self.proba))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return probabilities of the rows that are watched, columns sorted by label."""
        self._check(X)
        return self.labels.sort_columns(self.proba)

    def predict_raw(self, X: Any) -> NDArray[np.float64]:
        """Return the score of the rows that are watched."""
        self._check(X)
        return predictions.score(self.score_of_rows)

    def _check(self, X: Any) -> None:
        if X.shape[0] != len(self.proba):
            raise ValueError(f"scoring must predict all {len(self.proba)} rows that are watched; got {X.shape[0]}")


def check_scoring(scoring: Any) -> Scorer | None:
    """Return the scorer that ``scoring`` names, or None for the loss.

    Raises
    ------
    ValueError, TypeError
        If it is neither a scorer nor the name of one.
    """
    if isinstance(scoring, str) and scoring == LOSS:
        return None
    if scoring is None:
        accuracy: Scorer = PredictedRows.score
        return accuracy
    allowed = "scoring must be 'loss', None for the accuracy, a scorer, or the name of one"
    if isinstance(scoring, str):
        if scoring in scorers.get_scorer_names():
            return scorers.get_scorer(scoring)
        try:
            found: Scorer = get_scorer(scoring)
        except ValueError:
            known = f"scikit-learn's, {', '.join(map(repr, scorers.get_scorer_names()))}"
            raise ValueError(f"{allowed}: {known}; got {scoring!r}") from None
        return found
    if not callable(scoring):
        raise TypeError(f"{allowed}; got {scoring!r}")
    given: Scorer = scoring
    return given


def scored_by(scorer: Scorer, labels: OrderedLabels, decide: Decide) -> Scored:
    """Return what early stopping looks at, given a scorer.

    Parameters
    ----------
    scorer : callable
        ``scorer(estimator, X, y)``, with ``sample_weight=`` where the rows have weights and it takes them; higher is
        better.
    labels : OrderedLabels
    decide : callable
        From probabilities and weights to class codes.
    """
    by_name, _ = takes_weight(scorer)

    def scored(rows: LabelledRows, proba: NDArray[np.float64], score: NDArray[np.float64]) -> float:
        estimator = PredictedRows(labels, lambda P: decide(P, rows.sample_weight), proba, score)
        function = scorer
        if by_name and rows.sample_weight is not None:
            function = partial(scorer, sample_weight=read_only(rows.sample_weight))
        found: Any = call_read_only("scoring", function, estimator, rows.X, labels.decode(rows.y))
        try:
            number = float(found)
        except (TypeError, ValueError):
            raise TypeError(f"scoring must return a number; got {found!r}") from None
        if not np.isnan(number):
            return number
        if np.ptp(estimator.decide(proba)) > 0:
            raise ValueError("scoring must return a number; got NaN")
        return -np.inf  # a rank correlation, before the trees tell rows apart

    return scored
