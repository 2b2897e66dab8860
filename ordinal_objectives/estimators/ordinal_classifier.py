"""Base of the ordinal classifiers: predictions from a score and thresholds, round by round."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives import predictions
from ordinal_objectives.estimators.evaluation_sets import one_for_each
from ordinal_objectives.estimators.held_out import Rows
from ordinal_objectives.estimators.kappa_decision import KappaDecision
from ordinal_objectives.estimators.linear_part import LinearPart
from ordinal_objectives.estimators.margin_predictions import MarginPredictions
from ordinal_objectives.estimators.start_scores import start_scores
from ordinal_objectives.estimators.two_classes import two_classes_only
from ordinal_objectives.eval_metric import EvalMetric, eval_metrics, warn_of_costs
from ordinal_objectives.losses import CostWeighted, OrdinalLoss, get_loss
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import check_start_score


class OrdinalClassifier(MarginPredictions, KappaDecision):
    """Base of the ordinal classifiers: a score cut by ordered thresholds.

    A subclass names the parameters ``classes``, ``class_weight``, ``decision_rule``, ``cost_matrix``,
    ``loss``, ``link``, ``training_cost``, ``hessian`` and ``threshold_update`` in its constructor, implements
    the abstract methods below, and grows the score in ``fit``: inside :meth:`_all_or_nothing`, from
    :meth:`_check_training` to :meth:`_keep`.
    """

    loss: str | OrdinalLoss
    link: str
    training_cost: str | ArrayLike
    n_iter_: int
    proportional_: bool
    thresholds_: NDArray[np.float64]
    diagnostics_: dict[str, int]
    # The score that the trees are added to, where there is one. It takes checked features.
    _linear: LinearPart | None = None
    # Loss and thresholds of the fit: parameters set afterwards change neither.
    _fitted_loss: OrdinalLoss
    _record: Any
    # Whether there are trees, none of them with a split.
    _is_constant: bool

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        """Mark a training: callbacks must not predict with an earlier model, or save it as if it were the new one."""
        self._is_under_way = True
        try:
            yield
        finally:
            self.__dict__.pop("_is_under_way", None)

    def _check_not_under_way(self, instead: str) -> None:
        """Raise ValueError during a training that has no model yet."""
        if getattr(self, "_is_under_way", False):
            raise ValueError(f"fit has not ended, and there is no model to save yet: {instead}")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_record") and not getattr(self, "_is_under_way", False)

    def _ordinal_loss(self) -> OrdinalLoss:
        """Return the loss that the parameters name."""
        return get_loss(self.loss, self.link, self.training_cost)

    def _check_decision(self) -> None:
        super()._check_decision()
        self._ordinal_loss().check_decision(self.decision_rule, self.cost_matrix)

    def check_fitted_decision(self) -> None:
        """Raise ValueError unless the trained model can decide by ``decision_rule`` or ``cost_matrix``."""
        super().check_fitted_decision()
        self._fitted_loss.check_decision(self.decision_rule, self.cost_matrix)

    def _metrics(self, eval_metric: Any) -> list[EvalMetric]:
        """Return ``eval_metric`` as metrics of this classifier, and warn where they judge what they should not."""
        metrics = eval_metrics(eval_metric, self.n_classes_, self._decide_in_round)
        if isinstance(self._ordinal_loss(), CostWeighted):
            warn_of_costs([metric.__name__ for metric in metrics if metric.judges_probabilities])
        return metrics

    @abstractmethod
    def _prediction_data(self, X: Any) -> Any:
        """Turn checked features into what :meth:`_score` takes, once for all iterations."""

    @abstractmethod
    def _score(self, data: Any, start: int, stop: int) -> NDArray[np.float64]:
        """Return the part of the score that iterations ``start`` to ``stop - 1`` add.

        (n_samples,), or (n_samples, n_classes - 1) of a model whose trees shift single thresholds.
        """

    @abstractmethod
    def _splits(self) -> list[bool]:
        """Tell of each tree whether it has a split; empty if there are no trees."""

    def _keep(self, record: Any, loss: OrdinalLoss, n_iter: int) -> None:
        """Store what every fitted classifier has."""
        self._record = record
        self._fitted_loss = loss
        self.n_iter_ = n_iter
        self.thresholds_ = record.at(n_iter)
        self.proportional_ = record.shifts is None
        splits = self._splits()
        self.diagnostics_ = dict(record.diagnostics) | {"n_without_split": splits.count(False)}
        self._is_constant = bool(splits) and not any(splits)

    def _warn_if_constant(self, n_samples: int, leaf: str, least: int = 0, stacklevel: int = 5) -> None:
        """Warn if no tree has a split; ``leaf`` names what bounds the size of leaves, ``least`` its number of rows."""
        if not self._is_constant:
            return
        reason = f"a split needs two leaves of {leaf}={least} rows, and the training has {n_samples} rows"
        if n_samples >= 2 * least:
            reason = f"none gained anything in leaves as large as {leaf} asks"
        warnings.warn(
            f"no tree has a split, so all rows get the same probabilities: {reason}. With few rows or small weights a "
            f"lower {leaf} allows splits",
            UserWarning,
            stacklevel=stacklevel,  # the caller of fit
        )

    @staticmethod
    def _with_evaluation_starts(checked: list[Rows], starts: Any, name: str) -> list[Rows]:
        """Return the rows of each evaluation set with its start scores, where it has some."""
        each = zip(checked, one_for_each(starts, checked, name), strict=True)
        return [replace(rows, start=check_start_score(start, len(rows), name=name)) for rows, start in each]

    def _check_same_classes(self, record: Any, model: Any, name: str) -> None:
        """Raise ValueError if a continued model has other classes, or the same in another order."""
        known = (
            model.ordered_classes_.tolist()
            if isinstance(model, OrdinalClassifier)
            else (record.classifier or {}).get("classes")
        )
        here = self.ordered_classes_.tolist()
        if known is not None and known != here:
            raise ValueError(
                f"{name} was trained on the classes {known}; here they are {here}. Pass classes= where y lacks some "
                f"of them"
            )

    @documented
    def predict_raw(self, X: Any, **start: Any) -> NDArray[np.float64]:
        """Return the score f(x).

        Parameters
        ----------
        <<X, **start>>

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            On the scale of ``thresholds_``. Of a model that is not ``proportional_`` it is the mean over thresholds of
            f(x) + v_k(x), from which P(y > k) cannot be computed.
        """
        return predictions.score(self._scores(X, **start))

    def _scores(self, X: Any, **start: Any) -> NDArray[np.float64]:
        """Return f(x), (n_samples,), or f(x) + v_k(x), (n_samples, n_classes - 1)."""
        check_is_fitted(self)
        return self._scores_of_checked(self._check_features(X, reset=False), start)

    def _scores_of_checked(self, X: Any, start: dict[str, Any]) -> NDArray[np.float64]:
        before = self._before_trees(X, start)
        return predictions.plus(before, self._score(self._prediction_data(X), 0, self.n_iter_))

    def _proba_of_checked(self, X: Any, start: dict[str, Any]) -> NDArray[np.float64]:
        return predictions.proba(self._fitted_loss, self._scores_of_checked(X, start), self.thresholds_)

    @property
    def linear_(self) -> LinearPart | None:
        """The linear score that the trees start from, which reads rows as ``predict`` does; None without one."""
        if self._linear is None:
            return None
        return replace(self._linear, read=partial(self._check_features, reset=False))

    def trained_loss(self) -> OrdinalLoss:
        """Return the loss of the training, whatever has been set since."""
        check_is_fitted(self)
        return self._fitted_loss

    @property
    def training_loss_(self) -> NDArray[np.float64]:
        """Weighted mean loss of the training rows after 0, 1, ... iterations, NaN where it is not known."""
        check_is_fitted(self)
        return np.array(self._record.training_loss)

    def _before_trees(self, X: Any, start: dict[str, Any]) -> NDArray[np.float64]:
        """Return the score of checked features without the trees, (n_samples,)."""
        given = start_scores(start, self._start_name, X.shape[0], type(self).__name__)
        return given if self._linear is None else given + self._linear.scores(X)

    @documented
    def predict_proba_ordered(self, X: Any, **start: Any) -> NDArray[np.float64]:
        """Return P(y = k | x), float64 (n_samples, n_classes), columns from the lowest class to the highest.

        They are in the order of ``ordered_classes_``, as ``thresholds_`` and what
        :func:`~ordinal_objectives.decide` and :mod:`ordinal_objectives.metrics` take.
        """
        scores = self._scores(X, **start)  # says so where there is no fit yet
        return predictions.proba(self._fitted_loss, scores, self.thresholds_)

    @documented
    def predict_cumulative_proba(self, X: Any, **start: Any) -> NDArray[np.float64]:
        """Return P(y <= k | x) for all classes but the highest, lowest first, float64 (n_samples, n_classes - 1)."""
        scores = self._scores(X, **start)
        return predictions.cumulative_proba(self._fitted_loss, scores, self.thresholds_)

    @documented
    def staged_predict_proba(self, X: Any, **start: Any) -> Iterator[NDArray[np.float64]]:
        """Yield what :meth:`predict_proba` returns after 1, 2, ... iterations, with the thresholds of each."""
        check_is_fitted(self)
        yield from map(self._labels.sort_columns, self._staged_proba_ordered(X, **start))

    @documented
    def staged_predict(self, X: Any, **start: Any) -> Iterator[NDArray[Any]]:
        """Yield what :meth:`predict` returns after 1, 2, ... iterations, with the thresholds of each."""
        for proba in self._staged_proba_ordered(X, **start):
            yield self._labels.decode(self._decide(proba))

    def _staged_proba_ordered(self, X: Any, **start: Any) -> Iterator[NDArray[np.float64]]:
        for scores, thresholds in self.staged_scores(X, **start):
            yield predictions.proba(self._fitted_loss, scores, thresholds)

    @documented
    def staged_scores(self, X: Any, **start: Any) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Yield scores, one a row or one a threshold, with their thresholds after 1, 2, ... iterations."""
        check_is_fitted(self)
        X = self._check_features(X, reset=False)
        data = self._prediction_data(X)
        scores = self._before_trees(X, start)
        for iteration in range(self.n_iter_):
            scores = predictions.plus(scores, self._score(data, iteration, iteration + 1))
            yield scores, self._record.at(iteration + 1)

    @two_classes_only
    @documented
    def decision_function(self, X: Any, **start: Any) -> NDArray[np.float64]:
        """Return f(x) - theta_0 + G^-1(1/2), float64 (n_samples,), or its negative where ``classes_[1]`` is the lower.

        Positive where ``classes_[1]`` is the more probable, as scikit-learn has it; G^-1(1/2) is 0 for a symmetric
        link. Two classes only: more would not fit its shape.
        """
        median = self._fitted_loss.link.link(np.array(0.5))
        above: NDArray[np.float64] = self.predict_raw(X, **start) - self.thresholds_[0] + median
        return above if self._labels.sorted_codes_ is None else -above
