"""Boosting of several outputs with one tree a round, behind scikit-learn's interface."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from ordinal_objectives import tables
from ordinal_objectives.aliases import ArrayLike, FloatArray, IntArray, LabelArray, NDArray, Params
from ordinal_objectives.estimators import arguments, held_out
from ordinal_objectives.estimators.labels import as_labels
from ordinal_objectives.histogram_engine import fit_loop, model_file
from ordinal_objectives.histogram_engine.binning import check_same_categories
from ordinal_objectives.histogram_engine.multi_output import losses, run
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.trees import TreeEnsemble
from ordinal_objectives.utils import DOC_LINK, documented, names_for_users, validation
from ordinal_objectives.utils.arrays import as_array

_LOSSES = ("auto", "squared_error")
_LARGEST_TARGET = 1e38


@documented
class MultiOutputModel(model_file.EngineModel, BaseEstimator):  # type: ignore[misc]
    """Base of the multi-output estimators; a subclass knows its targets, and says what ``loss`` and ``hessian`` are.

    Parameters
    ----------
    learning_rate : float, default=0.1
        Shrinkage of the leaves. A step that would raise the loss of the training rows is halved until it does not,
        and counted in ``diagnostics_``.
    <<max_iter, max_leaf_nodes, max_depth, min_samples_leaf>>
    min_child_weight : float
        Smallest sum of weighted Hessians in a leaf, over its rows and the outputs.
    l2_regularization : float, default=1.0
        Penalty lambda of each output's leaf value.
    gamma : float, default=0.0
        Gain, summed over outputs, that a split must exceed: for a threshold on the mean, as in GBDT-MO, multiply it by
        the number of outputs, or by ``max_outputs``.
    <<max_bins, categorical_features, min_samples_category>>
    subsample, colsample_bytree : float, default=1.0
        Share of rows and of columns that each tree is grown on, drawn without replacement from the rows of
        positive weight. The leaves' values use all rows, and so does the loss that no step raises.
    max_outputs : int or None, default=None
        The largest number of outputs that a leaf changes: those with the largest gain. None, or as many as there
        are, for all.
    search : {"restricted", "unrestricted"}, default="restricted"
        With ``max_outputs``: whether the two sides of a split change the same outputs, or each its own.
    early_stopping : "auto" or bool, default="auto"
        Stop when the validation loss no longer falls: on ``X_val``, or else on rows held out.
        "auto" does so for more than 10,000 rows, or where ``X_val`` is given.
    validation_fraction : float, int or None, default=0.1
        Share of the rows of positive weight held out.
    <<n_iter_no_change, tol>>
    warm_start : bool, default=False
        Continue the fitted model, or a loaded one, up to ``max_iter`` trees, with its loss and ``max_bins``. Features
        and targets must be the model's; the rows may be others.
    <<random_state, importance_type, n_jobs>>

    Attributes
    ----------
    <<n_iter_>>
    best_iteration_ : int
        The same as ``n_iter_``.
    evals_result_ : dict of str to list of float
        Weighted mean loss after 0, 1, ... trees: "training", and "validation" or "validation_<i>". The squared error
        is halved and summed over targets.
    feature_importances_ : ndarray of float64, shape (n_features,)
        Share of each feature in the gains of all splits, or in their number, by ``importance_type``. The sum is 1, or
        0 without a split.
    diagnostics_ : dict of str to int
        Steps that were halved or given up, leaves without curvature, under the names of
        :class:`ordinal_objectives.threshold_solver.Diagnostics`. Of a warm start, those of the last ``fit``.
    """

    _doc_link_module = "ordinal_objectives"
    _doc_link_template = DOC_LINK
    __dir__ = names_for_users
    _fitted_loss: losses.MultiOutputLoss
    _loss_of_fit: Any  # the parameter, which may have been set anew since
    n_iter_: int
    _is_multi_output = True
    _all_or_nothing = arguments.all_or_nothing
    _parameter_names: ClassVar = arguments.ParameterNames(refused_by_fit={"verbose": "pass callback= to fit"})

    def __init__(
        self,
        loss: Any = "auto",
        *,
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        min_child_weight: float = 1e-3,
        l2_regularization: float = 1.0,
        gamma: float = 0.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        min_samples_category: int = 10,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        max_outputs: int | None = None,
        search: str = "restricted",
        hessian: str = "diagonal",
        early_stopping: str | bool = "auto",
        validation_fraction: float | int | None = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        warm_start: bool = False,
        random_state: Any = None,
        importance_type: str = "gain",
        n_jobs: int | None = None,
    ) -> None:
        arguments.store_constructor_arguments(self, locals())

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return list(cls._names_of_parameters())  # a subclass may change its own

    @classmethod
    @cache
    def _names_of_parameters(cls) -> list[str]:
        return arguments.names_of_constructors(cls, super()._get_param_names())

    @abstractmethod
    def _learn_targets(self, y: ArrayLike) -> None:
        """Store what the targets of a training tell, such as the classes."""

    @abstractmethod
    def _named_loss(self) -> losses.MultiOutputLoss:
        """Return the loss of the targets that ``loss`` names."""

    @abstractmethod
    def _encode(self, y: ArrayLike, name: str) -> tuple[IntArray, LabelArray]:
        """Return class codes by which rows are held out, and what the loss takes."""

    @abstractmethod
    def _n_columns(self) -> tuple[int, ...]:
        """Return how many columns the predictions of the loss may have."""

    @abstractmethod
    def _describe_targets(self) -> tuple[LabelArray, dict[str, object]]:
        """Return the classes, and what else a file must hold of the targets, in JSON's types."""

    @abstractmethod
    def _recall_targets(self, classes: LabelArray, targets: dict[str, object], n_outputs: int) -> None:
        """Set what :meth:`_describe_targets` returned; raise ValueError if it is damaged."""

    @documented
    @arguments.explains_keywords
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        callback: fit_loop.Callback | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            NaN is missing. In frames and tables, columns of numbers, booleans and categories.
        y : array-like, shape (n_samples,) or (n_samples, n_targets)
            Numbers, or of a classifier labels, or columns of 0 and 1.
        <<sample_weight, X_val, y_val, sample_weight_val, groups, callback>>

        Raises
        ------
        ValueError, TypeError
            If features, targets, weights or parameters are not what the docs allow; the message names the argument.
            The model stays as it was.
        """
        with self._all_or_nothing():
            sets = arguments.GivenSets.of_one(X_val, y_val, sample_weight_val)
            parameters, stopping = self._parameters(), fit_loop.EarlyStopping.of(self)
            validation.check_choice(self.importance_type, model_file.IMPORTANCES, name="importance_type")
            if y is None:
                raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
            earlier = None
            if self._continues():
                self._check_continued(X, parameters)
                earlier = self._grown
            X = self._check_features(X, reset=True)
            if earlier is None:
                is_named = isinstance(self.loss, str)
                if is_named:
                    validation.check_choice(self.loss, _LOSSES, name="loss", hint="; an object is taken as well")
                self._learn_targets(validation.readable(y, name="y"))
                self._fitted_loss, self._loss_of_fit = self._named_loss() if is_named else self.loss, self.loss
                self._seed = validation.drawn_seed(self.random_state)
            rows = self._rows(X, y, sample_weight, "y", "sample_weight", groups)
            watched = []
            for X_eval, y_eval, w in sets.each():
                X_eval = self._check_features(X_eval, reset=False)
                watched.append(self._rows(X_eval, y_eval, w, "y of an evaluation set", sets.weights_name))
            stops = stopping.applies(self.early_stopping, len(rows), watched)
            if stops and not watched:
                rows, held = held_out.hold_out(rows, held_out.check_part(self.validation_fraction), self._seed)
                watched = [held]
            self._max_bins = parameters.max_bins
            loss = run.CheckedLoss(self._fitted_loss, self._n_columns())
            options: Params = {"seed": self._seed, "n_threads": self.n_jobs, "categories": self.columns_.sizes}
            training = run.MultiOutputRun(parameters, loss, rows, earlier=earlier, **options)
            followed = [
                run.TargetEvaluationSet(name, one, loss, parameters.hessian, training.start, self.n_jobs)
                for name, one in zip(fit_loop.set_names(len(watched)), watched, strict=True)
            ]
            after = fit_loop.after_tree(None, callback=callback, remember=self._remember)
            self._remember(fit_loop.fit_loop(training, earlier, followed, stopping if stops else None, after))
        return self

    def _parameters(self) -> run.MultiOutputParameters:
        given = {one.name: getattr(self, one.name) for one in fields(run.MultiOutputParameters)}
        return run.MultiOutputParameters(**given)

    def _rows(
        self, X: Any, y: Any, weight: Any, name: str, weight_name: str, groups: Any = None
    ) -> run.RowsWithTargets:
        """Return checked rows: features come checked."""
        codes, targets = self._encode(validation.readable(y, name=name), name)
        check_consistent_length(X, targets)
        checked = validation.check_sample_weight(weight, len(targets), name=weight_name)
        weight = validation.check_total_weight(checked, name=weight_name)
        return run.RowsWithTargets(X, codes, weight, groups=held_out.check_groups(groups, len(codes)), targets=targets)

    def _check_continued(self, X: object, parameters: run.MultiOutputParameters) -> None:
        """Raise ValueError, naming what differs, unless a fit can continue the fitted model."""
        self._check_features(X, reset=False)
        check_same_categories(X, self.categorical_features, self.columns_)
        shared = {"max_bins": (self._max_bins, parameters.max_bins), "loss": (self._loss_of_fit, self.loss)}
        for name, (before, now) in shared.items():
            if before is not now and before != now:
                raise ValueError(f"warm_start continues a model of {name}={before!r}; got {name}={now!r}")
        fit_loop.check_more_trees(parameters.max_iter, self.n_iter_)

    def _remember(self, grown: fit_loop.GrownModel) -> None:
        """Store the result of a training, or of a file."""
        self._grown, self.evals_result_, self.diagnostics_ = grown, grown.evals, grown.diagnostics
        self.n_outputs_, self.n_iter_ = len(self._start), len(grown.ensemble)
        self.best_iteration_ = self.n_iter_

    @property
    def _start(self) -> FloatArray:
        return self._grown.start  # type: ignore[return-value]  # there with several outputs

    def trained_parts(self) -> tuple[losses.MultiOutputLoss, FloatArray, TreeEnsemble]:
        """Return the loss, the raw prediction without trees, ``(n_outputs_,)``, and the trees."""
        check_is_fitted(self)
        return self._fitted_loss, self._start.copy(), self._ensemble

    @documented
    def predict_raw(self, X: Any) -> FloatArray:
        """Return the raw prediction, float64 ``(n_samples, n_outputs_)``: what the loss is a function of."""
        X, raw = self._before_trees(X)
        self._ensemble.add_to(raw, X, 0, self.n_iter_, effective_n_threads(self.n_jobs))
        return raw

    def _staged_raw(self, X: Any) -> Iterator[FloatArray]:
        """Yield what :meth:`predict_raw` returns after 1, 2, ... iterations; always the same array."""
        X, raw = self._before_trees(X)
        for iteration in range(self.n_iter_):
            self._ensemble.add_to(raw, X, iteration, iteration + 1, effective_n_threads(self.n_jobs))
            yield raw

    @abstractmethod
    def _decide(self, raw: FloatArray) -> LabelArray:
        """Return predictions of a raw prediction."""

    @documented
    def staged_predict(self, X: object) -> Iterator[NDArray[Any]]:
        """Yield what :meth:`predict` returns after 1, 2, ... iterations."""
        for raw in self._staged_raw(X):
            yield self._decide(raw.copy())

    def _before_trees(self, X: Any) -> tuple[object, FloatArray]:
        """Return checked features, and their raw prediction without trees."""
        check_is_fitted(self)
        X = self._check_features(X, reset=False)
        return X, np.tile(self._start, (X.shape[0], 1))

    def _header(self) -> model_file.Header:
        check_is_fitted(self)
        loss = self._loss_of_fit
        if not isinstance(loss, str):
            raise TypeError(f"a file holds no loss of your own; got loss={loss!r}. Pickle the model")
        classes, targets = self._describe_targets()
        others: Params = {"proportional": False, "linear": None}
        others["targets"] = {"estimator": type(self).__name__, **targets}
        return self._header_of(arguments.constructor_arguments(self) | {"loss": loss}, classes, **others)

    def _recall(self, header: model_file.Header, grown: fit_loop.GrownModel) -> None:
        assert grown.start is not None
        self._parameters()
        validation.check_choice(self.loss, _LOSSES, name="loss")
        self._recall_targets(header.classifier.labels, header.targets, len(grown.start))
        self._fitted_loss, self._loss_of_fit = self._named_loss(), self.loss
        self._remember(grown)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


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
    <<n_iter_, best_iteration_, evals_result_, feature_importances_, n_features_in_, columns_, is_categorical_>>
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

    def _learn_targets(self, y: ArrayLike) -> None:
        self._target_shape = _numbers(y, "y").shape[1:]

    def _named_loss(self) -> losses.MultiOutputLoss:
        return losses.SquaredError()

    def _encode(self, y: ArrayLike, name: str) -> tuple[IntArray, LabelArray]:
        targets = _numbers(y, name)
        validation.check_shape(name, targets, ("n_samples", *self._target_shape))
        return np.zeros(len(targets), np.int32), targets.reshape(len(targets), -1)

    def _n_columns(self) -> tuple[int, ...]:
        return (int(np.prod(self._target_shape)),)

    def _describe_targets(self) -> tuple[LabelArray, dict[str, object]]:
        return np.zeros(0), {"shape": list(self._target_shape)}

    def _recall_targets(self, classes: NDArray[Any], targets: dict[str, Any], n_outputs: int) -> None:
        self._target_shape = tuple(validation.check_integer("shape", size, 1) for size in targets["shape"])

    @documented
    def predict(self, X: Any) -> FloatArray:
        """Return the targets, float64 in the shape of the training's: (n_samples,) or (n_samples, n_targets)."""
        return self._decide(self.predict_raw(X))

    @documented
    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination, R^2, of :meth:`predict`, as all regressors of scikit-learn do.

        Parameters
        ----------
        <<X>>
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
            Targets, as ``fit`` takes them.
        <<sample_weight>>
        """
        y = _numbers(y, "y")
        return float(super().score(X, y, validation.check_sample_weight(sample_weight, len(y))))

    def _decide(self, raw: FloatArray) -> FloatArray:
        predicted: FloatArray = run.predictions(self._fitted_loss, raw, *self._n_columns())
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
    <<n_iter_, best_iteration_, evals_result_, feature_importances_, n_features_in_, columns_, is_categorical_>>
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

    def _learn_targets(self, y: ArrayLike) -> None:
        columns: Any = y if issparse(y) else as_array(y, name="y")
        self._has_labels = columns.ndim == 2 and columns.shape[1] > 1
        if self._has_labels:
            check_array(columns, accept_sparse=True, dtype=None, input_name="y")  # finite
            self._has_labels = type_of_target(columns, input_name="y") == "multilabel-indicator"
        if self._has_labels:
            self.classes_ = np.arange(check_array(columns, accept_sparse=True).shape[1])
        else:
            values = _classes(y, "y", warn=True)
            check_classification_targets(values)
            self.classes_, codes = np.unique(values, return_inverse=True)
            validation.check_two_classes(np.bincount(codes).astype(float))

    def _named_loss(self) -> losses.MultiOutputLoss:
        if self.loss == "squared_error":
            return losses.SquaredError()
        one_each = self._has_labels or len(self.classes_) == 2
        return losses.BinaryCrossEntropy() if one_each else losses.SoftmaxCrossEntropy(len(self.classes_))

    def _n_columns(self) -> tuple[int, ...]:
        n = len(self.classes_)
        return (n,) if self._has_labels or n > 2 else (n, 1)

    def _describe_targets(self) -> tuple[LabelArray, dict[str, object]]:
        return self.classes_, {"labels": self._has_labels}

    def _recall_targets(self, classes: LabelArray, targets: dict[str, object], n_outputs: int) -> None:
        self.classes_, self._has_labels = classes, validation.check_flag("labels", targets["labels"])

    def _encode(self, y: ArrayLike, name: str) -> tuple[IntArray, LabelArray]:
        n = len(self.classes_)
        if self._has_labels:
            labels = check_array(y, accept_sparse=True, input_name=name)
            labels = labels.toarray() if hasattr(labels, "toarray") else labels
            if labels.shape[1] != n or not np.isin(labels, (0, 1)).all():
                raise ValueError(f"{name} must have {n} columns of 0 and 1; got the shape {labels.shape}")
            return np.zeros(len(labels), np.int32), labels.astype(np.float64)
        values = _classes(y, name)
        codes = np.minimum(np.searchsorted(self.classes_, values), n - 1).astype(np.int32)
        strange = self.classes_[codes] != values
        if strange.any():
            label = values[strange].tolist()[0]
            raise ValueError(f"{name} holds the label {label!r}, which is not among {self.classes_.tolist()}")
        if isinstance(self._fitted_loss, losses.BinaryCrossEntropy):
            return codes, codes[:, np.newaxis].astype(np.float64)
        return codes, np.eye(n)[codes] if isinstance(self._fitted_loss, losses.SquaredError) else codes

    @documented
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class, (n_samples,), or int (n_samples, n_labels): 1 where that is more probable."""
        return self._decide(self.predict_raw(X))

    @documented(like=HistGradientBoostingMultiOutputRegressor.score)
    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy of :meth:`predict`; of several labels, how often all of a row are right."""
        y = validation.readable(y, name="y") if self.has_labels() else _classes(y, "y")
        check_array(y, accept_sparse=True, ensure_2d=False, dtype=None, input_name="y")  # finite
        return float(super().score(X, y, validation.check_sample_weight(sample_weight, held_out.n_rows(y))))

    def has_labels(self) -> bool:
        """Tell whether the targets are columns of labels, any number of which may hold."""
        check_is_fitted(self)
        return self._has_labels

    def _has_proba(self) -> bool:
        loss = getattr(self, "_loss_of_fit", self.loss)
        return not isinstance(loss, str) or loss == "auto"

    @available_if(_has_proba)  # type: ignore[untyped-decorator]
    @documented
    def predict_proba(self, X: object) -> FloatArray:
        """Return probabilities, float64 (n_samples, n_classes) in the order of ``classes_``, or those of each label."""
        return self._proba(self.predict_raw(X))

    @available_if(_has_proba)  # type: ignore[untyped-decorator]
    @documented
    def staged_predict_proba(self, X: object) -> Iterator[FloatArray]:
        """Yield what :meth:`predict_proba` returns after 1, 2, ... iterations."""
        yield from map(self._proba, self._staged_raw(X))

    def _proba(self, raw: FloatArray) -> FloatArray:
        p = run.predictions(self._fitted_loss, raw, *self._n_columns())
        p = p.copy() if p is raw else p
        return p if self._has_labels or p.shape[1] > 1 else np.column_stack([1.0 - p, p])

    def _decide(self, raw: FloatArray) -> LabelArray:
        p = self._proba(raw)
        return (p > 0.5).astype(int) if self._has_labels else self.classes_[np.argmax(p, axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _classes(y: ArrayLike, name: str, *, warn: bool = False) -> LabelArray:
    """Return targets of one class a row, (n_samples,)."""
    return as_labels(name, y, warn=warn)


def _numbers(y: ArrayLike, name: str) -> FloatArray:
    """Return targets as finite float64, (n_samples,) or (n_samples, n_targets)."""
    y = validation.readable(y, name=name)
    hint = "A regressor's targets are numbers; HistGradientBoostingMultiOutputClassifier takes labels"
    tables.refuse_but_numbers(y, name=name, hint=hint)
    targets: FloatArray = check_array(y, ensure_2d=False, dtype=np.float64, input_name=name)
    if (largest := np.abs(targets).max()) > _LARGEST_TARGET:
        raise ValueError(f"{name} must lie within {_LARGEST_TARGET:g} of 0 (float32 gradients); got {largest:.3g}")
    return targets
