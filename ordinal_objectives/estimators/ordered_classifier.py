"""Classifiers of labels that have an order: labels, weights, rows to evaluate, and decisions from probabilities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cache, update_wrapper
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ordinal_objectives.aliases import (
    ArrayLike,
    Estimator,
    FloatArray,
    IndexArray,
    IntArray,
    LabelArray,
    Table,
)
from ordinal_objectives.decision import check_rule, decide
from ordinal_objectives.estimators.arguments import GivenSets, all_or_nothing, check_features, names_of_constructors
from ordinal_objectives.estimators.held_out import Rows, check_groups
from ordinal_objectives.estimators.labels import OrderedLabels, as_labels, warn_of_many_classes
from ordinal_objectives.metrics import zero_one_error
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.tables import OF_HOSTS
from ordinal_objectives.utils import DOC_LINK, documented, names_for_users, validation


class two_classes_only:  # noqa: N801 - a decorator
    """Make a method exist for two classes only; for more, the AttributeError names the methods to call instead.

    :func:`sklearn.utils.metaestimators.available_if` does the same, but words the error itself.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, estimator: Estimator, owner: type) -> Any:
        """Return the method of an estimator, or the function for the class itself.

        Raises
        ------
        NotFittedError, AttributeError
            Before ``fit``, and for more than two classes.
        """
        if estimator is None:
            return self._method
        check_is_fitted(estimator)
        if estimator.n_classes_ != 2:
            raise AttributeError(
                f"{owner.__name__} has a {self._method.__name__} for two classes only; got {estimator.n_classes_}. "
                f"predict_raw returns the score, (n_samples,), and thresholds_ cuts it; predict_cumulative_proba "
                f"returns P(y <= k)"
            )
        return self._method.__get__(estimator, owner)


class OrderedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers whose labels have an order, whatever their probabilities come from.

    A subclass names the parameters ``classes``, ``class_weight``, ``decision_rule`` and ``cost_matrix`` in its
    constructor, trains inside :meth:`_all_or_nothing` on what :meth:`_check_training` returns, and implements
    :meth:`predict_proba_ordered`.
    """

    _doc_link_module = "ordinal_objectives"
    _doc_link_template = DOC_LINK
    classes: ArrayLike | None
    classes_: LabelArray
    ordered_classes_: LabelArray
    n_classes_: int
    n_features_in_: int
    _all_or_nothing = all_or_nothing
    __dir__ = names_for_users
    # Whether ``fit`` takes OrdinalLabels.
    _takes_soft: ClassVar[bool] = False
    _takes_intervals: ClassVar[bool] = True
    # What to do with columns of text and dates.
    _hint: ClassVar[str] = OF_HOSTS

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return list(cls._names_of_parameters())  # a subclass may change its own

    @classmethod
    @cache
    def _names_of_parameters(cls) -> list[str]:
        return names_of_constructors(cls, super()._get_param_names())

    @abstractmethod
    def predict_proba_ordered(self, X: object, **start: ArrayLike | None) -> FloatArray:
        """Return the class probabilities, (n_samples, n_classes), columns from the lowest class to the highest."""

    def _check_features(self, X: object, *, reset: bool) -> Table:
        """Return X as :func:`.arguments.check_features` does."""
        return check_features(self, X, self._hint, reset=reset)

    def _check_training(self, X: object, y: ArrayLike, sample_weight: Any, groups: Any = None) -> Rows:
        """Return the rows to train on, with class codes, and set the classes."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = self._check_features(X, reset=True)
        labels, codes, soft = self._read_labels(y)
        check_consistent_length(X, codes)
        self._keep_labels(labels)
        self._check_decision()
        weight, name = validation.check_sample_weight(sample_weight, codes.shape[0]), "sample_weight"
        class_weights = None
        if self.class_weight is not None:
            of_classes = np.bincount(codes, minlength=self.n_classes_) if soft is None else soft.class_weights()
            class_weights = self._class_weights(of_classes)
        if soft is not None:
            weight, soft = (soft if class_weights is None else soft.weighted(class_weights)).reduced(weight)
        elif class_weights is not None:
            with np.errstate(over="ignore"):
                weight = class_weights[codes] if weight is None else class_weights[codes] * weight
            name = "class_weight" if sample_weight is None else "sample_weight times class_weight"
        weight = validation.check_total_weight(weight, name=name)
        return Rows(X, codes, weight, groups=check_groups(groups, len(codes)), labels=soft)

    def _read_labels(self, y: ArrayLike) -> tuple[OrderedLabels, IntArray, OrdinalLabels | None]:
        """Return the classes, the rows' codes, and their labels where these say more, or less, than a class."""
        if not isinstance(y, OrdinalLabels):
            declared = self._declared_classes(y)
            labels = OrderedLabels(declared)
            codes = labels.fit_encode(y)
            if declared is None:
                warn_of_many_classes(y, len(codes), len(labels.ordered_classes_))
            return labels, codes, None
        labels = OrderedLabels(y.classes if self.classes is None else self.classes)
        return labels, *self._read_soft(y, labels)

    def _read_soft(self, y: OrdinalLabels, labels: OrderedLabels) -> tuple[IntArray, OrdinalLabels]:
        """Return the rows' codes and their labels, or raise where these do not suit the classifier."""
        if not self._takes_soft:
            raise TypeError(
                f"{type(self).__name__} takes labels of one class a row; OrdinalLabels are for "
                f"HistGradientBoostingOrdinalClassifier, XGBOrdinalClassifier, LGBMOrdinalClassifier and wrappers"
            )
        y = y.with_codes(labels.ordered_classes_)
        if y.between and not y.is_plain:
            needs = [] if self._takes_intervals else [type(self).__name__]
            needs += [] if self.class_weight is None else [f"class_weight={self.class_weight!r}"]
            if needs:
                raise ValueError(f"{needs[0]} needs the class of each row, and the labels are intervals")
        return y.middle, y

    def _declared_classes(self, y: ArrayLike) -> ArrayLike | None:
        """Return the classes from lowest to highest, or None to find their order in the labels."""
        return self.classes

    def _keep_labels(self, labels: OrderedLabels) -> None:
        self._labels = labels
        self.classes_, self.ordered_classes_ = labels.classes_, labels.ordered_classes_
        self.n_classes_ = len(labels.ordered_classes_)

    def _check_decision(self) -> None:
        """Raise ValueError unless a model with the parameters can decide by ``decision_rule`` or ``cost_matrix``."""
        for name in ("cost_matrix", "training_cost"):
            validation.refuse_other_order_of_classes(self.ordered_classes_.tolist(), getattr(self, name, None), name)
        check_rule(self.decision_rule, self.cost_matrix, self.n_classes_, name="decision_rule")

    def check_fitted_decision(self) -> None:
        """Raise ValueError unless the trained model can decide by ``decision_rule`` or ``cost_matrix``."""
        check_is_fitted(self)
        OrderedClassifier._check_decision(self)

    def _decide(self, proba: FloatArray) -> LabelArray:
        """Return class codes by ``decision_rule`` or ``cost_matrix``, which may have been set since the training."""
        self.check_fitted_decision()
        return decide(proba, rule=self.decision_rule, cost_matrix=self.cost_matrix)

    def _class_weights(self, counts: IndexArray | FloatArray) -> FloatArray:
        """Return the weight of each class, (n_classes,), given its number of rows."""
        class_weight = self.class_weight
        if isinstance(class_weight, str) and class_weight == "balanced":
            return counts.sum() / (np.count_nonzero(counts) * np.where(counts > 0, counts, 1))
        if not isinstance(class_weight, Mapping):
            raise ValueError(f"class_weight must be a dict, 'balanced' or None; got {class_weight!r}")
        known = self.ordered_classes_.tolist()
        unknown = [label for label in class_weight if label not in known]
        if unknown:
            raise ValueError(f"class_weight names classes {unknown} that are not among {known}")
        weights = validation.as_floats([class_weight.get(label, 1.0) for label in known], name="class_weight")
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise ValueError(f"class_weight must hold finite, non-negative numbers; got {dict(class_weight)}")
        return weights

    def _check_evaluation(self, sets: GivenSets, training: tuple[object, ArrayLike, Rows] | None = None) -> list[Rows]:
        """Return the rows of each evaluation set, however it is spelled.

        ``training`` has X and y of ``fit`` and the rows that became of them, which stand for a set of the same objects.
        """
        checked = []
        for X, y, weight in sets.each():
            if training is not None and X is training[0] and y is training[1]:
                checked.append(training[2])
                continue
            X = self._check_features(X, reset=False)
            if isinstance(y, OrdinalLabels):
                codes, soft = self._read_soft(y, self._labels)
            else:
                codes, soft = self._labels.encode(y, name="y of an evaluation set"), None
            check_consistent_length(X, codes)
            weight = validation.check_sample_weight(weight, codes.shape[0], name=sets.weights_name)
            if soft is not None:
                weight, soft = soft.reduced(weight)
            checked.append(Rows(X, codes, validation.check_total_weight(weight, name=sets.weights_name), labels=soft))
        return checked

    @documented
    def predict_proba(self, X: object, **start: ArrayLike | None) -> FloatArray:
        """Return the class probabilities, float64 (n_samples, n_classes), columns sorted by label as ``classes_``."""
        proba = self.predict_proba_ordered(X, **start)
        return self._labels.sort_columns(proba)

    @documented
    def predict(self, X: object, **start: ArrayLike | None) -> LabelArray:
        """Return labels, (n_samples,), by ``decision_rule`` or ``cost_matrix``: by default the median class.

        The median is the lowest class k with P(y <= k) >= 1/2. It has the least expected absolute error. On noisy rows
        it often differs from the most probable class, the column of :meth:`predict_proba` with the largest entry, which
        ``decision_rule="mode"`` predicts.
        """
        proba = self.predict_proba_ordered(X, **start)
        return self._labels.decode(self._decide(proba))

    def score(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy of :meth:`predict`, as all classifiers of scikit-learn do.

        ``predict`` takes the median class unless ``decision_rule`` is set, and accuracy rewards the most
        probable one: ``decision_rule="mode"`` has the highest. :mod:`ordinal_objectives.scorers` count how far off a
        prediction is.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Features.
        y : array-like, shape (n_samples,)
            Labels; of OrdinalLabels each answer counts, and a class in the interval is right.
        sample_weight : array-like of float, shape (n_samples,), or None, default=None
            Weights of the rows.

        Returns
        -------
        float
        """
        if isinstance(y, OrdinalLabels):
            return 1.0 - zero_one_error(y, self.predict(X), sample_weight)
        y = as_labels("y", y)  # scikit-learn reads what is masked, and misreads Arrow's, and so for weights
        return float(super().score(X, y, validation.check_sample_weight(sample_weight, len(y))))

    @documented
    def predict_at_least(self, X: object, label: Any, **start: ArrayLike | None) -> FloatArray:
        """Return the probability that the class is ``label`` or a higher one.

        Parameters
        ----------
        <<X>>
        label : label
            One of ``classes_``.
        <<start>>

        Returns
        -------
        ndarray of float64, shape (n_samples,)

        Raises
        ------
        ValueError
            If the label is not among ``classes_``.
        """
        check_is_fitted(self)
        code = self._labels.code_of(label)
        return np.minimum(self.predict_proba_ordered(X, **start)[:, code:].sum(axis=1), 1.0)

    @documented
    def encode_labels(self, y: ArrayLike) -> IntArray:
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
        tags.target_tags.one_d_labels = True
        return tags
