"""Boosting of several outputs with one tree a round, behind scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from ordinal_objectives.estimators.column_types import refuse_but_numbers
from ordinal_objectives.histogram_engine.multi_output.base import MultiOutputModel
from ordinal_objectives.histogram_engine.multi_output.losses import (
    BinaryCrossEntropy,
    MultiOutputLoss,
    SoftmaxCrossEntropy,
    SquaredError,
)
from ordinal_objectives.histogram_engine.multi_output.run import predictions
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_two_classes,
    refuse_masked,
)

FloatArray = NDArray[np.float64]
_LARGEST_TARGET = 1e38


@documented
class HistGradientBoostingMultiOutputRegressor(RegressorMixin, MultiOutputModel):  # type: ignore[misc]
    r"""Regressor of one or several targets: one tree a round, whose leaves hold a value for each target.

    A tree is grown best split first. The gain of a split is :math:`\tfrac12 \sum_j G_j^2 / (H_j + \lambda)` over the
    outputs j, both sides less the leaf that is split [1]_.

    Parameters
    ----------
    loss : "auto", "squared_error", or an object
        "auto" is the squared error. An object has the methods of
        :class:`~ordinal_objectives.histogram_engine.multi_output.losses.MultiOutputLoss`; it is given y as
        float64 (n_samples, n_targets).
    <<learning_rate, max_iter, max_leaf_nodes, max_depth, min_samples_leaf, min_child_weight, l2_regularization, gamma>>
    <<max_bins, categorical_features, min_samples_category, subsample, colsample_bytree>>
    <<max_outputs, search>>
    hessian : {"diagonal", "full", "majorized"}, default="diagonal"
        "diagonal": the diagonal of a row's second derivatives. "full": the whole matrix, for at most 32 outputs, with
        a positive ``l2_regularization`` and without ``max_outputs``. "majorized": a diagonal that is nowhere below the
        matrix. For the squared error the three are the same.
    <<early_stopping, validation_fraction, n_iter_no_change, tol, warm_start, random_state, importance_type, n_jobs>>

    Attributes
    ----------
    n_outputs_ : int
        Targets.
    <<n_iter_, best_iteration_, evals_result_, feature_importances_, n_features_in_, is_categorical_>>
    <<feature_names_in_, diagnostics_>>

    References
    ----------
    .. [1] Z. Zhang and C. Jung. GBDT-MO: Gradient-boosted decision trees for multiple outputs. IEEE Transactions on
       Neural Networks and Learning Systems, 32(7), 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingMultiOutputRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> Y = np.column_stack([X[:, 0] > 0, X[:, 0] + X[:, 1]])
    >>> model = HistGradientBoostingMultiOutputRegressor(max_iter=20).fit(X, Y)
    >>> model.predict(X).shape
    (300, 2)
    """

    def _learn_targets(self, y: Any) -> MultiOutputLoss:
        self._target_shape = _numbers(y, "y").shape[1:]
        if isinstance(self.loss, str):
            check_choice(self.loss, ("auto", "squared_error"), name="loss", hint="; an object is taken as well")
            return SquaredError()
        loss: MultiOutputLoss = self.loss
        return loss

    def _encode(self, y: Any, name: str) -> tuple[NDArray[np.int32], NDArray[Any]]:
        targets = _numbers(y, name)
        if targets.shape[1:] != self._target_shape:
            raise ValueError(f"{name} must have the shape (n_samples, *{self._target_shape}); got {targets.shape}")
        return np.zeros(len(targets), np.int32), targets.reshape(len(targets), -1)

    def _n_columns(self) -> tuple[int, ...]:
        return (int(np.prod(self._target_shape)),)

    def _describe_targets(self) -> tuple[NDArray[Any], dict[str, Any]]:
        return np.zeros(0), {"shape": list(self._target_shape)}

    def _recall_targets(self, classes: NDArray[Any], targets: dict[str, Any], n_outputs: int) -> MultiOutputLoss:
        self._target_shape = tuple(check_integer("shape", size, 1) for size in targets["shape"])
        if self._target_shape not in ((n_outputs,), ()) or (n_outputs > 1 and self._target_shape == ()):
            raise ValueError(f"targets of the shape {self._target_shape} do not have {n_outputs} outputs")
        check_choice(self.loss, ("auto", "squared_error"), name="loss")
        return SquaredError()

    @documented
    def predict(self, X: Any) -> FloatArray:
        """Return the targets, float64 in the shape of the training's: (n_samples,) or (n_samples, n_targets)."""
        return self._shaped(self.predict_raw(X))

    @documented
    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """Yield what :meth:`predict` returns after 1, 2, ... iterations."""
        for raw in self._staged_raw(X):
            yield self._shaped(raw.copy())

    def _shaped(self, raw: FloatArray) -> FloatArray:
        predicted: FloatArray = predictions(self._fitted_loss, raw, *self._n_columns())
        return predicted.reshape(len(raw), *self._target_shape)


@documented
class HistGradientBoostingMultiOutputClassifier(ClassifierMixin, MultiOutputModel):  # type: ignore[misc]
    """Classifier of unordered classes or of several labels: one tree a round, with a value for each class or label.

    Classes without an order have the cross-entropy of the softmax, two of them the logistic loss of one output. Columns
    of 0 and 1 are labels, each with the logistic loss of its own output. Classes with an order are what
    :class:`~ordinal_objectives.HistGradientBoostingOrdinalClassifier` is for.

    Parameters
    ----------
    loss : "auto", "squared_error", or an object
        "auto" is the loss above; "squared_error" that of the columns of 0 and 1, or of the classes written so, which
        has no probabilities. An object has the methods of
        :class:`~ordinal_objectives.histogram_engine.multi_output.losses.MultiOutputLoss`; it is given class codes
        (n_samples,), or the columns, and its ``predict`` returns probabilities.
    hessian : {"diagonal", "full", "majorized"}, default="diagonal"
        Second derivatives of the softmax. "diagonal": p (1 - p) of each class. "full": the matrix diag(p) - pp', for at
        most 32 classes, with a positive ``l2_regularization`` and without ``max_outputs``. "majorized": 2 p (1 - p),
        which is nowhere below the matrix.
    <<learning_rate, max_iter, max_leaf_nodes, max_depth, min_samples_leaf, min_child_weight, l2_regularization, gamma>>
    <<max_bins, categorical_features, min_samples_category, subsample, colsample_bytree>>
    <<max_outputs, search>>
    <<early_stopping, validation_fraction, n_iter_no_change, tol, warm_start, random_state, importance_type, n_jobs>>

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
        Sorted; with columns of labels their numbers.
    n_outputs_ : int
        Classes, labels, or 1 where there are two classes.
    <<n_iter_, best_iteration_, evals_result_, feature_importances_, n_features_in_, is_categorical_>>
    <<feature_names_in_, diagnostics_>>

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingMultiOutputClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.array(["red", "green", "blue"])[np.argmax(X, axis=1)]
    >>> model = HistGradientBoostingMultiOutputClassifier(max_iter=20).fit(X, y)
    >>> model.predict_proba(X).shape
    (300, 3)
    """

    classes_: NDArray[Any]
    _has_labels: bool

    def _learn_targets(self, y: Any) -> MultiOutputLoss:
        refuse_masked(y, name="y")
        check_array(y, accept_sparse=True, ensure_2d=False, dtype=None, input_name="y")  # finite
        self._has_labels = type_of_target(y, input_name="y") == "multilabel-indicator"
        if isinstance(self.loss, str):
            check_choice(self.loss, ("auto", "squared_error"), name="loss", hint="; an object is taken as well")
        if self._has_labels:
            self.classes_ = np.arange(check_array(y, accept_sparse=True).shape[1])
        else:
            check_classification_targets(y)
            self.classes_, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
            check_two_classes(np.bincount(codes).astype(float))
        if not isinstance(self.loss, str):
            loss: MultiOutputLoss = self.loss
            return loss
        return self._named_loss()

    def _named_loss(self) -> MultiOutputLoss:
        if self.loss == "squared_error":
            return SquaredError()
        one_each = self._has_labels or len(self.classes_) == 2
        return BinaryCrossEntropy() if one_each else SoftmaxCrossEntropy(len(self.classes_))

    def _n_columns(self) -> tuple[int, ...]:
        n = len(self.classes_)
        return (n,) if self._has_labels or n > 2 else (n, 1)

    def _describe_targets(self) -> tuple[NDArray[Any], dict[str, Any]]:
        return self.classes_, {"labels": self._has_labels}

    def _recall_targets(self, classes: NDArray[Any], targets: dict[str, Any], n_outputs: int) -> MultiOutputLoss:
        self.classes_, self._has_labels = classes, check_flag("labels", targets["labels"])
        check_choice(self.loss, ("auto", "squared_error"), name="loss")
        loss = self._named_loss()
        if self._has_labels and classes.tolist() != list(range(len(classes))):
            raise ValueError(f"labels are numbered from 0; got {classes.tolist()}")
        expected = 1 if isinstance(loss, BinaryCrossEntropy) and not self._has_labels else len(classes)
        if n_outputs != expected or len(classes) < 2 - self._has_labels:
            raise ValueError(f"{len(classes)} classes or labels do not have {n_outputs} outputs")
        return loss

    def _encode(self, y: Any, name: str) -> tuple[NDArray[np.int32], NDArray[Any]]:
        n = len(self.classes_)
        if self._has_labels:
            labels = check_array(y, accept_sparse=True, input_name=name)
            labels = labels.toarray() if hasattr(labels, "toarray") else labels
            if labels.shape[1] != n or not np.isin(labels, (0, 1)).all():
                raise ValueError(f"{name} must have {n} columns of 0 and 1; got the shape {labels.shape}")
            return np.zeros(len(labels), np.int32), labels.astype(np.float64)
        values = column_or_1d(y)
        codes = np.minimum(np.searchsorted(self.classes_, values), n - 1).astype(np.int32)
        strange = self.classes_[codes] != values
        if strange.any():
            label = values[strange].tolist()[0]
            raise ValueError(f"{name} holds the label {label!r}, which is not among {self.classes_.tolist()}")
        if isinstance(self._fitted_loss, BinaryCrossEntropy):
            return codes, codes[:, np.newaxis].astype(np.float64)
        return codes, np.eye(n)[codes] if isinstance(self._fitted_loss, SquaredError) else codes

    @documented
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class, (n_samples,), or int (n_samples, n_labels): 1 where that is more probable."""
        return self._decide(self.predict_raw(X))

    @documented
    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield what :meth:`predict` returns after 1, 2, ... iterations."""
        yield from map(self._decide, self._staged_raw(X))

    def has_labels(self) -> bool:
        """Tell whether the targets are columns of labels, any number of which may hold."""
        check_is_fitted(self)
        return self._has_labels

    def _has_proba(self) -> bool:
        loss = getattr(self, "_loss_of_fit", self.loss)
        return not isinstance(loss, str) or loss == "auto"

    @available_if(_has_proba)  # type: ignore[untyped-decorator]
    @documented
    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities, float64 (n_samples, n_classes) in the order of ``classes_``, or those of each label."""
        return self._proba(self.predict_raw(X))

    @available_if(_has_proba)  # type: ignore[untyped-decorator]
    @documented
    def staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        """Yield what :meth:`predict_proba` returns after 1, 2, ... iterations."""
        yield from map(self._proba, self._staged_raw(X))

    def _proba(self, raw: FloatArray) -> FloatArray:
        p = predictions(self._fitted_loss, raw, *self._n_columns())
        p = p.copy() if p is raw else p
        return p if self._has_labels or p.shape[1] > 1 else np.column_stack([1.0 - p, p])

    def _decide(self, raw: FloatArray) -> NDArray[Any]:
        p = self._proba(raw)
        return (p > 0.5).astype(int) if self._has_labels else self.classes_[np.argmax(p, axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _numbers(y: Any, name: str) -> FloatArray:
    """Return targets as finite float64, (n_samples,) or (n_samples, n_targets)."""
    refuse_masked(y, name=name)
    refuse_but_numbers(
        y, name=name, hint="A regressor's targets are numbers; HistGradientBoostingMultiOutputClassifier takes labels"
    )
    targets: FloatArray = check_array(y, ensure_2d=False, dtype=np.float64, input_name=name)
    if targets.ndim > 2 or targets.size == 0:
        raise ValueError(f"{name} must have the shape (n_samples,) or (n_samples, n_targets); got {targets.shape}")
    if (largest := np.abs(targets).max()) > _LARGEST_TARGET:
        raise ValueError(
            f"{name} must lie within {_LARGEST_TARGET:g} of 0, for gradients in float32; got {largest:.3g}"
        )
    return targets
