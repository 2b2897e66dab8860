"""XGBOrdinalClassifier: ordinal boosting through XGBoost behind scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import xgboost
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.adapters.xgb.record import check_all_rounds, kept_rounds, store_record, threshold_record
from ordinal_objectives.adapters.xgb.train import train
from ordinal_objectives.estimator import OrdinalClassifier
from ordinal_objectives.files import damage
from ordinal_objectives.host_parameters import ORDINAL_PARAMETERS, HostParameters, check_n_estimators
from ordinal_objectives.losses import OrdinalLoss, get_loss
from ordinal_objectives.metric_inputs import number_result, on_codes
from ordinal_objectives.threads import library_n_threads
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.validation import check_start_score


class XGBOrdinalClassifier(HostParameters, OrdinalClassifier):
    """Ordinal classifier grown by XGBoost, its thresholds learned with the trees.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of boosting rounds.
    classes : array-like or None, default=None
        The classes, lowest first. None takes the order of numbers or of an ordered categorical; plain
        strings are sorted, with a warning that prints the order.
    loss, link, hessian, threshold_update
        See :func:`ordinal_objectives.adapters.xgb.train`.
    decision_rule : {"median", "mode", "mean"}, default="median"
        How :meth:`predict` turns probabilities into a class: "median" suits absolute error, "mode" the
        zero-one error, "mean" squared error.
    cost_matrix : array-like of float, shape (n_classes, n_classes), or None
        Cost of predicting column j where row i is true, lowest class first; replaces ``decision_rule``.
    class_weight : dict, "balanced" or None
        Weights of classes, multiplied with ``sample_weight``. Evaluation sets are weighted by their own
        weights alone.
    max_depth, max_leaves, max_bin, learning_rate, gamma, min_child_weight, subsample, colsample_bytree, \
reg_alpha, reg_lambda, tree_method, n_jobs, random_state, verbosity, missing, enable_categorical, \
feature_types, feature_weights, importance_type, early_stopping_rounds, callbacks
        As in :class:`xgboost.XGBClassifier`. ``min_child_weight`` is compared with sums of the ordinal
        Hessian, which adds up n_classes - 1 terms a row of at most 1/4 each with the logit link. In a forked
        process XGBoost runs on one thread, whatever ``n_jobs`` says: its OpenMP runtime would hang.
    eval_metric : callable, list of callables, or None
        Measured each round beside the loss, on ``(y, proba)``: class codes and probabilities in the order of the
        classes, with the thresholds of that round; ``sample_weight=`` is passed as well if the set has weights,
        and ``labels=range(n_classes)`` if the function takes labels. Early stopping takes the last one, and lower
        is better.
    **host_params
        Any other parameter of :func:`xgboost.train`.

    Attributes
    ----------
    classes_, ordered_classes_ : ndarray, shape (n_classes,)
        Labels sorted as NumPy sorts them, and the same from the lowest class to the highest.
    n_classes_ : int
    thresholds_ : ndarray of float64, shape (n_classes - 1,)
        Those of the iteration that predictions use.
    booster_ : xgboost.Booster
        Carries its thresholds: :func:`ordinal_objectives.adapters.xgb.predict_proba` reads them.
    n_iter_ : int
        Iterations that predictions use.
    best_iteration_ : int
    feature_importances_ : ndarray of float32, shape (n_features,)
    evals_result_ : dict
    diagnostics_ : dict of str to int
        What was repaired, halved, clipped or floored.

    Notes
    -----
    ``classes_``, the columns of ``predict_proba`` and the sign of ``decision_function`` are sorted by label, as
    scikit-learn asks; all else follows ``ordered_classes_``. Tools that encode labels before ``fit``, such as
    :class:`~sklearn.ensemble.VotingClassifier`, lose that order: give them codes. The user guide lists them.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import XGBOrdinalClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> model = XGBOrdinalClassifier(n_estimators=20, max_depth=2).fit(X, y)
    >>> model.predict_proba(X).shape
    (300, 4)
    """

    _native: ClassVar = {"n_jobs": "nthread", "random_state": "seed"}
    _own: ClassVar = ORDINAL_PARAMETERS | {
        "callbacks",
        "early_stopping_rounds",
        "enable_categorical",
        "eval_metric",
        "feature_types",
        "feature_weights",
        "missing",
        "verbosity",
    }
    _dialect: ClassVar = {
        "max_iter": "n_estimators",
        "num_boost_round": "n_estimators",
        "num_iterations": "n_estimators",
        "n_iter_no_change": "early_stopping_rounds",
        "eta": "learning_rate",
        "max_leaf_nodes": "max_leaves",
        "num_leaves": "max_leaves",
        "max_bins": "max_bin",
        "l2_regularization": "reg_lambda",
        "lambda": "reg_lambda",
        "lambda_l2": "reg_lambda",
        "alpha": "reg_alpha",
        "lambda_l1": "reg_alpha",
        "min_split_gain": "gamma",
        "monotonic_cst": "monotone_constraints",
        "feature_fraction": "colsample_bytree",
        "bagging_fraction": "subsample",
        "min_split_loss": "gamma",
        "min_sum_hessian_in_leaf": "min_child_weight",
        "nthread": "n_jobs",
        "num_threads": "n_jobs",
        "seed": "random_state",
        "verbose": "verbosity",
    }
    _refused: ClassVar = {
        "objective": "the ordinal loss is the objective",
        "num_class": "the score has one output for all classes",
        "base_score": "the score starts at 0 and the thresholds hold the location",
        "scale_pos_weight": "use class_weight",
        "multi_strategy": "the score has one output for all classes",
    }

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        classes: ArrayLike | None = None,
        loss: str | OrdinalLoss = "all_threshold",
        link: str = "logit",
        hessian: str = "exact",
        threshold_update: str = "newton",
        decision_rule: str = "median",
        cost_matrix: ArrayLike | None = None,
        class_weight: Any = None,
        max_depth: int | None = None,
        max_leaves: int | None = None,
        max_bin: int | None = None,
        learning_rate: float | None = None,
        gamma: float | None = None,
        min_child_weight: float | None = None,
        subsample: float | None = None,
        colsample_bytree: float | None = None,
        reg_alpha: float | None = None,
        reg_lambda: float | None = None,
        tree_method: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbosity: int | None = None,
        missing: float = np.nan,
        enable_categorical: bool = True,
        feature_types: Any = None,
        feature_weights: ArrayLike | None = None,
        importance_type: str = "gain",
        early_stopping_rounds: int | None = None,
        eval_metric: Callable[..., float] | list[Callable[..., float]] | None = None,
        callbacks: list[Any] | None = None,
        **host_params: Any,
    ) -> None:
        self.n_estimators = n_estimators
        self.classes = classes
        self.loss = loss
        self.link = link
        self.hessian = hessian
        self.threshold_update = threshold_update
        self.decision_rule = decision_rule
        self.cost_matrix = cost_matrix
        self.class_weight = class_weight
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.max_bin = max_bin
        self.learning_rate = learning_rate
        self.gamma = gamma
        self.min_child_weight = min_child_weight
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.tree_method = tree_method
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbosity = verbosity
        self.missing = missing
        self.enable_categorical = enable_categorical
        self.feature_types = feature_types
        self.feature_weights = feature_weights
        self.importance_type = importance_type
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.callbacks = callbacks
        self._keep_host_params(host_params)

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        base_margin: ArrayLike | None = None,
        eval_set: list[tuple[Any, Any]] | None = None,
        sample_weight_eval_set: list[Any] | None = None,
        base_margin_eval_set: list[Any] | None = None,
        xgb_model: XGBOrdinalClassifier | xgboost.Booster | str | PathLike[str] | None = None,
        verbose: bool | int = False,
    ) -> XGBOrdinalClassifier:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
            pandas and polars frames, lazy ones included. NaN is missing; so is what a sparse matrix does not store.
        y : array-like, shape (n_samples,)
            Labels: integers, strings, or an ordered categorical.
        sample_weight : array-like of float, shape (n_samples,), or None
            Non-negative.
        base_margin : array-like of float, shape (n_samples,), or None
            Scores that the trees' are added to. The thresholds are fitted to them before the first tree, unless
            a model is continued. Predictions start at 0 unless they are given scores of their own.
        eval_set : list of (X, y) pairs or None
            Evaluated each round; the last one decides early stopping.
        sample_weight_eval_set : list of array-like or None
            Weights of each evaluation set.
        base_margin_eval_set : list of array-like or None
            Start scores of each evaluation set.
        xgb_model : XGBOrdinalClassifier, xgboost.Booster, path or None
            Model to go on with, which must carry its thresholds and have the same classes, loss and link. All of
            its rounds are kept, also those after the best one of an early stop.
        verbose : bool or int
            As in :func:`xgboost.train`.

        Returns
        -------
        XGBOrdinalClassifier

        Raises
        ------
        ValueError
            If labels, weights or parameters are not what the docs allow; the message names the argument.
        """
        with self._all_or_nothing():
            X, codes, weight = self._check_training(X, y, sample_weight)
            margin = check_start_score(base_margin, codes.shape[0], name="base_margin")
            continued = self._continued(xgb_model)
            dtrain = self._matrix(X, codes, weight, margin, like=continued, feature_weights=self.feature_weights)
            checked = self._check_evaluation(eval_set, sample_weight_eval_set, "sample_weight_eval_set")
            margins = self._check_evaluation_starts(checked, base_margin_eval_set, "base_margin_eval_set")
            evals = [
                (self._matrix(*one, margin, like=dtrain), f"validation_{i}")
                for i, (one, margin) in enumerate(zip(checked, margins, strict=True))
            ]
            if self.early_stopping_rounds and not evals:
                raise ValueError(
                    f"early_stopping_rounds={self.early_stopping_rounds} needs at least one pair in eval_set; got none"
                )
            self.evals_result_: dict[str, Any] = {}
            self.booster_ = train(
                self._native_params(),
                dtrain,
                check_n_estimators(self.n_estimators),
                n_classes=self.n_classes_,
                loss=self.loss,
                link=self.link,
                hessian=self.hessian,
                threshold_update=self.threshold_update,
                xgb_model=continued,
                evals=evals,
                callbacks=self.callbacks,
                custom_metric=self._metric(),
                evals_result=self.evals_result_,
                early_stopping_rounds=self.early_stopping_rounds,
                verbose_eval=verbose,
            )
            record, n_iter = threshold_record(self.booster_), kept_rounds(self.booster_)
            self._keep(record, get_loss(self.loss, self.link), n_iter)
        return self

    @property
    def best_iteration_(self) -> int:
        """Last of the iterations that predictions use, counted from 0, as XGBoost does."""
        return self.n_iter_ - 1

    def _continued(self, model: Any) -> xgboost.Booster | None:
        """Return the booster of the model that ``fit`` goes on with."""
        if model is None:
            return None
        if isinstance(model, XGBOrdinalClassifier):
            check_is_fitted(model, msg="xgb_model must be a fitted model; got an %(name)s that has not been fitted")
            booster = model.booster_
        else:
            booster = model if isinstance(model, xgboost.Booster) else xgboost.Booster(model_file=model)
        self._check_same_classes(threshold_record(booster), model, "xgb_model")
        return booster

    def _start_scores(self, n_samples: int, base_margin: ArrayLike | None = None) -> NDArray[np.float64]:
        margin = check_start_score(base_margin, n_samples, name="base_margin")
        return super()._start_scores(n_samples) if margin is None else margin

    def _native_params(self) -> dict[str, Any]:
        # XGBoost warns of parameters that it does not know or use; 1 shows warnings only.
        return {**super()._native_params(), "verbosity": 1 if self.verbosity is None else self.verbosity}

    def _metric(self) -> Callable[..., Any] | None:
        """Return ``eval_metric`` as :func:`ordinal_objectives.adapters.xgb.train` asks for it."""
        if self.eval_metric is None:
            return None
        metrics = list(self.eval_metric) if isinstance(self.eval_metric, Iterable) else [self.eval_metric]
        for metric in metrics:
            if not callable(metric) or isinstance(self.eval_metric, str):
                raise TypeError(f"eval_metric must be a callable of (y, proba), or a list of them; got {metric!r}")

        named = [(_name(metric), on_codes(metric, self.n_classes_)) for metric in metrics]

        def evaluate(proba: NDArray[np.float64], dmatrix: xgboost.DMatrix) -> list[tuple[str, float]]:
            codes, weight = dmatrix.get_label().astype(np.int32), dmatrix.get_weight()
            weighted = {"sample_weight": weight} if weight.size else {}
            return [(name, number_result(metric(codes, proba, **weighted))) for name, metric in named]

        return evaluate

    def _matrix(
        self,
        X: Any,
        codes: NDArray[Any] | None = None,
        weight: Any = None,
        margin: Any = None,
        *,
        like: xgboost.DMatrix | xgboost.Booster | None = None,
        **options: Any,
    ) -> xgboost.DMatrix:
        feature_types = self.feature_types
        recodes = hasattr(X, "columns") and hasattr(like, "get_categories")  # XGBoost knows the names of frames alone
        if like is not None and recodes and "c" in (like.feature_types or ()):
            categories = like.get_categories()
            feature_types = feature_types if categories.empty() else categories
        return xgboost.DMatrix(
            X,
            codes,
            weight=weight,
            base_margin=margin,
            missing=self.missing,
            nthread=library_n_threads(self.n_jobs),
            enable_categorical=self.enable_categorical,
            feature_types=feature_types,
            **options,
        )

    def _prediction_data(self, X: Any) -> xgboost.DMatrix:
        if library_n_threads() is not None:  # the booster still asks for the threads it was trained with
            self.booster_.set_param({"nthread": library_n_threads()})
        return self._matrix(X)

    def _score(self, data: xgboost.DMatrix, start: int, stop: int) -> NDArray[np.float64]:
        if start or stop != self.booster_.num_boosted_rounds():
            check_all_rounds(self.booster_, self._record, stop)
        scores = self.booster_.predict(data, output_margin=True, iteration_range=(start, stop))
        return np.asarray(scores, dtype=np.float64)

    def _write(self, path: str | PathLike[str], record: ThresholdRecord) -> None:
        store_record(self.booster_, record)
        self.booster_.save_model(path)

    def _read(self, path: str | PathLike[str]) -> tuple[ThresholdRecord, int, int]:
        threads = library_n_threads(self.n_jobs)
        with damage(path):
            Path(path).open("rb").close()  # XGBoost has its own words for a file that is not there
            self.booster_ = xgboost.Booster({} if threads is None else {"nthread": threads}, model_file=path)
        record = threshold_record(self.booster_)
        with damage(path):
            return record, kept_rounds(self.booster_), self.booster_.num_features()

    @property
    def feature_importances_(self) -> NDArray[np.float32]:
        """Importance of each feature by ``importance_type``, summing to 1, float32 (n_features,)."""
        check_is_fitted(self)
        names = self.booster_.feature_names or [f"f{i}" for i in range(self.n_features_in_)]
        scores = self.booster_.get_score(importance_type=self.importance_type)
        values = np.array([scores.get(name, 0.0) for name in names], dtype=np.float32)
        total = values.sum()
        return values / total if total else values


def _name(metric: Callable[..., float]) -> str:
    return getattr(metric, "__name__", type(metric).__name__)
