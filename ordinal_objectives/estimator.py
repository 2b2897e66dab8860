"""What the classifiers share: labels, checks, decision rules and predictions from a score and thresholds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ordinal_objectives.decision import decide
from ordinal_objectives.labels import OrderedLabels
from ordinal_objectives.losses import OrdinalLoss, get_loss


def _is_binary(estimator: OrdinalClassifier) -> bool:
    check_is_fitted(estimator)
    return estimator.n_classes_ == 2


class OrdinalClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the ordinal classifiers: a score cut by ordered thresholds.

    A subclass grows the score: it implements ``_fit_score`` and ``_score``, and lists in ``_dialect`` the
    parameter names of other libraries with its own name for each. Parameters that its constructor does not
    name go to the host library unchanged.
    """

    _dialect: ClassVar[Mapping[str, str]] = {}
    _refused: ClassVar[Mapping[str, str]] = {}
    _host_params: dict[str, Any]

    classes_: NDArray[Any]
    n_classes_: int
    thresholds_: NDArray[np.float64]
    n_features_in_: int

    def _keep_host_params(self, host_params: dict[str, Any]) -> None:
        """Store what the constructor does not name, unless the name is foreign or impossible here."""
        for name, value in host_params.items():
            if name in self._dialect:
                raise TypeError(f"{type(self).__name__} calls {name!r} {self._dialect[name]!r}; got {name}={value!r}")
            if name in self._refused:
                raise TypeError(f"{type(self).__name__} takes no {name!r}: {self._refused[name]}; got {name}={value!r}")
        self._host_params = dict(host_params)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, those passed on to the host library included."""
        return {**super().get_params(deep=deep), **self._host_params}

    def set_params(self, **params: Any) -> OrdinalClassifier:
        """Set parameters; names unknown to the constructor go to the host library."""
        own = set(self._get_param_names())
        host = {name: value for name, value in params.items() if name not in own}
        self._keep_host_params({**self._host_params, **host})
        super().set_params(**{name: value for name, value in params.items() if name in own})
        return self

    def _loss(self) -> OrdinalLoss:
        return get_loss(self.loss, self.link)

    def _validate_features(self, X: Any, *, reset: bool) -> Any:
        """Check X; data frames pass as they are, so that the host library sees categories and names."""
        if hasattr(X, "dtypes") and hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if X.shape[0] == 0:
                raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
            return X
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", ensure_all_finite=False, dtype=[np.float64, np.float32]
        )

    def _validate_training(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[np.int32], Any]:
        """Return features, class codes and weights, and set ``classes_``; nothing fitted is touched before."""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        labels = OrderedLabels(self.classes).fit(y)
        codes = labels.encode(y)
        X = self._validate_features(X, reset=True)
        if X.shape[0] != codes.shape[0]:
            raise ValueError(f"X and y must have the same number of rows; got {X.shape[0]} and {codes.shape[0]}")
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, codes, ensure_non_negative=True)
        if self.class_weight is not None:
            sample_weight = self._class_weights(labels, codes) * (1.0 if sample_weight is None else sample_weight)
        self._labels = labels
        self.classes_ = labels.classes_
        self.n_classes_ = len(labels.classes_)
        return X, codes, sample_weight

    def _class_weights(self, labels: OrderedLabels, codes: NDArray[np.int32]) -> NDArray[np.float64]:
        class_weight = self.class_weight
        if isinstance(class_weight, Mapping):
            known = list(labels.classes_)
            unknown = [label for label in class_weight if label not in known]
            if unknown:
                raise ValueError(f"class_weight names classes {unknown} that are not among {known}")
            class_weight = {known.index(label): weight for label, weight in class_weight.items()}
        weights: NDArray[np.float64] = compute_sample_weight(class_weight, codes)
        return weights

    @abstractmethod
    def _score(self, X: Any, iteration: int | None = None) -> NDArray[np.float64]:
        """Return the score after ``iteration`` iterations, or of the whole model, from checked features."""

    @abstractmethod
    def _thresholds_at(self, iteration: int) -> NDArray[np.float64]:
        """Return the thresholds that belong to that score."""

    def predict_raw(self, X: Any) -> NDArray[np.float64]:
        """Return the score f(x).

        Parameters
        ----------
        X : array-like or data frame, shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            On the scale of ``thresholds_``.
        """
        check_is_fitted(self)
        return self._score(self._validate_features(X, reset=False))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return P(y = k | x), float64 (n_samples, n_classes), columns in the order of ``classes_``."""
        return self._loss().predict_proba(self.predict_raw(X), self.thresholds_)

    def predict_cumulative_proba(self, X: Any) -> NDArray[np.float64]:
        """Return P(y <= k | x) for all classes but the last, float64 (n_samples, n_classes - 1)."""
        return self._loss().cumulative_proba(self.predict_raw(X), self.thresholds_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels, (n_samples,), by ``decision_rule`` or ``cost_matrix``."""
        proba = self.predict_proba(X)
        return self._labels.decode(decide(proba, rule=self.decision_rule, cost_matrix=self.cost_matrix))

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield class probabilities after 1, 2, ... iterations, each with the thresholds of its iteration."""
        check_is_fitted(self)
        X = self._validate_features(X, reset=False)
        for iteration in range(1, self.n_iter_ + 1):
            yield self._loss().predict_proba(self._score(X, iteration), self._thresholds_at(iteration))

    @available_if(_is_binary)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return f(x) - theta_0, float64 (n_samples,). Two classes only: more would not fit scikit-learn's shape."""
        distance: NDArray[np.float64] = self.predict_raw(X) - self.thresholds_[0]
        return distance

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def evaluation_pairs(eval_set: Any) -> list[tuple[Any, ArrayLike]]:
    """Return ``eval_set`` as a list of (X, y) pairs.

    Raises
    ------
    ValueError
        If an entry is not a pair.
    """
    if eval_set is None:
        return []
    pairs = [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(f"eval_set must be a list of (X, y) pairs; got an entry of type {type(pair).__name__}")
    return [(X, y) for X, y in pairs]
