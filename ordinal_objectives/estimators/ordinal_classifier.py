"""Base of the classifiers: labels, checks, decision rules and predictions from a score and thresholds."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ordinal_objectives import predictions
from ordinal_objectives.decision import RULES, decide
from ordinal_objectives.estimators.column_types import check_table, refuse_text_and_dates
from ordinal_objectives.estimators.evaluation_sets import either_spelling, evaluation_pairs, one_for_each
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.estimators.start_scores import start_scores
from ordinal_objectives.estimators.two_classes import two_classes_only
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.margin_predictions import MarginPredictions
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import (
    as_floats,
    check_choice,
    check_sample_weight,
    check_start_score,
    check_total_weight,
    collected,
    refuse_masked,
)


class OrdinalClassifier(MarginPredictions, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the ordinal classifiers: a score cut by ordered thresholds.

    A subclass names the parameters ``classes``, ``class_weight``, ``decision_rule``, ``cost_matrix``,
    ``loss``, ``link``, ``hessian`` and ``threshold_update`` in its constructor, implements the abstract
    methods below, and grows the score in ``fit``: inside :meth:`_all_or_nothing`, from
    :meth:`_check_training` to :meth:`_keep`.
    """

    classes: ArrayLike | None
    classes_: NDArray[Any]
    ordered_classes_: NDArray[Any]
    n_classes_: int
    n_iter_: int
    proportional_: bool
    thresholds_: NDArray[np.float64]
    diagnostics_: dict[str, int]
    n_features_in_: int
    # Name in the host of the scores that the trees' are added to.
    _start_name: ClassVar[str | None] = None
    # Loss and thresholds of the fit: parameters set afterwards change neither.
    _fitted_loss: OrdinalLoss
    _record: Any
    # Whether there are trees, none of them with a split.
    _is_constant: bool

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

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Put every attribute back if the body raises: a failed fit leaves the model as it was."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

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

    def _check_features(self, X: Any, *, reset: bool) -> Any:
        """Check X; data frames and Arrow tables pass as they are: the host library sees categories and names."""
        refuse_masked(X, name="X")
        least = 2 if reset else 1
        X = collected(X)
        X = np.asarray(X) if isinstance(X, (list, tuple)) else X
        check_table(X)
        refuse_text_and_dates(X)
        if not hasattr(X, "columns"):
            return validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                ensure_all_finite=False,
                dtype=[np.float64, np.float32],
                ensure_min_samples=least,
            )
        validate_data(self, X, reset=reset, skip_check_array=True)
        if X.shape[0] < least or X.shape[1] == 0:
            raise ValueError(
                f"X must have at least {least} row(s) and one column; got {X.shape[0]} sample(s) and "
                f"{X.shape[1]} feature(s)"
            )
        return X

    def _check_training(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, NDArray[np.int32], NDArray[np.float64] | None]:
        """Return features, class codes and weights, and set the classes."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = self._check_features(X, reset=True)
        labels = OrderedLabels(self.classes).fit(y)
        codes = labels.encode(y)
        if X.shape[0] != codes.shape[0]:
            raise ValueError(f"X and y must have the same number of rows; got {X.shape[0]} and {codes.shape[0]}")
        self._keep_labels(labels)
        self._check_decision()
        weight, name = check_sample_weight(sample_weight, codes.shape[0]), "sample_weight"
        if self.class_weight is not None:
            of_class = self._class_weights(np.bincount(codes, minlength=self.n_classes_))
            with np.errstate(over="ignore"):
                weight = of_class[codes] if weight is None else of_class[codes] * weight
            name = "class_weight" if sample_weight is None else "sample_weight times class_weight"
        return X, codes, check_total_weight(weight, name=name)

    def _keep_labels(self, labels: OrderedLabels) -> None:
        self._labels = labels
        self.classes_, self.ordered_classes_ = labels.classes_, labels.ordered_classes_
        self.n_classes_ = len(labels.ordered_classes_)

    def _check_decision(self) -> None:
        check_choice(self.decision_rule, RULES, name="decision_rule")
        uniform = np.full((1, self.n_classes_), 1 / self.n_classes_)
        decide(uniform, rule=self.decision_rule, cost_matrix=self.cost_matrix)

    def _decide(self, proba: NDArray[np.float64]) -> NDArray[Any]:
        """Return class codes by ``decision_rule`` or ``cost_matrix``."""
        return decide(proba, rule=self.decision_rule, cost_matrix=self.cost_matrix)

    def _class_weights(self, counts: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the weight of each class, (n_classes,), given its number of rows."""
        class_weight = self.class_weight
        if isinstance(class_weight, str) and class_weight == "balanced":
            balanced: NDArray[np.float64] = counts.sum() / (np.count_nonzero(counts) * np.maximum(counts, 1))
            return balanced
        if not isinstance(class_weight, Mapping):
            raise ValueError(f"class_weight must be a dict, 'balanced' or None; got {class_weight!r}")
        known = self.ordered_classes_.tolist()
        unknown = [label for label in class_weight if label not in known]
        if unknown:
            raise ValueError(f"class_weight names classes {unknown} that are not among {known}")
        weights = as_floats([class_weight.get(label, 1.0) for label in known], name="class_weight")
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise ValueError(f"class_weight must hold finite, non-negative numbers; got {dict(class_weight)}")
        return weights

    def _check_evaluation(
        self,
        eval_set: Any,
        weights: Any,
        weights_name: str,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> list[tuple[Any, Any, Any]]:
        """Return (features, class codes, weights) of each evaluation set, however it is spelled."""
        eval_set, weights = either_spelling(eval_set, weights, weights_name, X_val, y_val, sample_weight_val)
        pairs = evaluation_pairs(eval_set)
        checked = []
        for i, ((X, y), weight) in enumerate(zip(pairs, one_for_each(weights, pairs, weights_name), strict=True)):
            try:
                X = self._check_features(X, reset=False)
            except ValueError as error:
                raise ValueError(f"evaluation set {i}: {error}") from error
            codes = self._labels.encode(y, name="y of an evaluation set")
            if X.shape[0] != codes.shape[0]:
                raise ValueError(f"X and y of an evaluation set differ in rows; got {X.shape[0]} and {codes.shape[0]}")
            weight = check_sample_weight(weight, codes.shape[0], name=weights_name)
            checked.append((X, codes, check_total_weight(weight, name=weights_name)))
        return checked

    @staticmethod
    def _check_evaluation_starts(checked: list[tuple[Any, Any, Any]], starts: Any, name: str) -> list[Any]:
        """Return the start scores of each evaluation set, or None where it has none."""
        each = zip(checked, one_for_each(starts, checked, name), strict=True)
        return [check_start_score(start, codes.shape[0], name=name) for (_, codes, _), start in each]

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
        X = self._check_features(X, reset=False)
        before = start_scores(start, self._start_name, X.shape[0], type(self).__name__)
        return predictions.plus(before, self._score(self._prediction_data(X), 0, self.n_iter_))

    @documented
    def predict_proba(self, X: Any, **start: Any) -> NDArray[np.float64]:
        """Return the class probabilities, float64 (n_samples, n_classes), columns sorted by label as ``classes_``."""
        proba = self.predict_proba_ordered(X, **start)
        return self._labels.sort_columns(proba)

    @documented
    def predict_proba_ordered(self, X: Any, **start: Any) -> NDArray[np.float64]:
        """Return P(y = k | x), float64 (n_samples, n_classes), columns from the lowest class to the highest.

        They are in the order of ``ordered_classes_``, as ``thresholds_`` and what
        :func:`~ordinal_objectives.decision.decide` and :mod:`ordinal_objectives.metrics` take.
        """
        scores = self._scores(X, **start)  # says so where there is no fit yet
        return predictions.proba(self._fitted_loss, scores, self.thresholds_)

    @documented
    def predict_cumulative_proba(self, X: Any, **start: Any) -> NDArray[np.float64]:
        """Return P(y <= k | x) for all classes but the highest, lowest first, float64 (n_samples, n_classes - 1)."""
        scores = self._scores(X, **start)
        return predictions.cumulative_proba(self._fitted_loss, scores, self.thresholds_)

    @documented
    def predict(self, X: Any, **start: Any) -> NDArray[Any]:
        """Return labels, (n_samples,), by ``decision_rule`` or ``cost_matrix``."""
        proba = self.predict_proba_ordered(X, **start)
        return self._labels.decode(self._decide(proba))

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
        check_is_fitted(self)
        X = self._check_features(X, reset=False)
        data = self._prediction_data(X)
        scores = start_scores(start, self._start_name, X.shape[0], type(self).__name__)
        for iteration in range(self.n_iter_):
            scores = predictions.plus(scores, self._score(data, iteration, iteration + 1))
            yield predictions.proba(self._fitted_loss, scores, self._record.at(iteration + 1))

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

    @documented
    def encode_labels(self, y: ArrayLike) -> NDArray[np.int32]:
        """Return the codes 0..n_classes - 1 of labels, int32 (n_samples,), as ``ordered_classes_``.

        Raises
        ------
        ValueError
            If a label is not among ``classes_``.
        """
        check_is_fitted(self)
        return self._labels.encode(y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
