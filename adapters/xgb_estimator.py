"""XGBOrdinalClassifier: ordinal boosting through XGBoost behind scikit-learn's interface."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import xgboost
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters import xgb
from ordinal_objectives.estimator import OrdinalClassifier, evaluation_pairs
from ordinal_objectives.losses import OrdinalLoss

# Constructor names that xgboost.train spells otherwise.
_NATIVE = {"n_jobs": "nthread", "random_state": "seed"}
_OWN = [
    "n_estimators",
    "classes",
    "loss",
    "link",
    "hessian",
    "threshold_update",
    "decision_rule",
    "cost_matrix",
    "class_weight",
    "importance_type",
    "early_stopping_rounds",
    "callbacks",
    "missing",
    "enable_categorical",
    "verbosity",
]


class XGBOrdinalClassifier(OrdinalClassifier):
    """Ordinal classifier grown by XGBoost, its thresholds learned with the trees.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of boosting rounds.
    classes : array-like or None, default=None
        The classes, lowest first. None takes the order of numbers or of an ordered categorical; plain
        strings are sorted, with a warning that prints the order.
    loss, link, hessian, threshold_update
        See :class:`ordinal_objectives.adapters.xgb.OrdinalObjective`.
    decision_rule : {"median", "mode", "mean"}, default="median"
        How :meth:`predict` turns probabilities into a class: "median" suits absolute error, "mode" the
        zero-one error, "mean" squared error.
    cost_matrix : array-like of float, shape (n_classes, n_classes), or None
        Cost of predicting column j where row i is true; replaces ``decision_rule``.
    class_weight : dict, "balanced" or None
        Weights of classes, multiplied with ``sample_weight``.
    max_depth, max_leaves, max_bin, learning_rate, gamma, min_child_weight, subsample, colsample_bytree, \
reg_alpha, reg_lambda, tree_method, n_jobs, random_state, verbosity, missing, enable_categorical, \
importance_type, early_stopping_rounds, callbacks
        As in :class:`xgboost.XGBClassifier`. ``min_child_weight`` is compared with sums of the ordinal
        Hessian, which adds up n_classes - 1 terms a row of at most 1/4 each with the logit link.
    **host_params
        Any other parameter of :func:`xgboost.train`.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    n_classes_ : int
    thresholds_ : ndarray of float64, shape (n_classes - 1,)
        Those of the iteration that predictions use.
    booster_ : xgboost.Booster
        Carries its thresholds: :func:`ordinal_objectives.adapters.xgb.predict_proba` reads them.
    n_iter_ : int
        Iterations that predictions use.
    best_iteration_ : int
        Last of them, counted from 0, as XGBoost does.
    feature_importances_ : ndarray of float32, shape (n_features,)
    evals_result_ : dict
    diagnostics_ : dict of str to int

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

    _dialect: ClassVar = {
        "max_iter": "n_estimators",
        "num_boost_round": "n_estimators",
        "num_iterations": "n_estimators",
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
        "nthread": "n_jobs",
        "seed": "random_state",
    }
    _refused: ClassVar = {
        "objective": "the ordinal loss is the objective",
        "num_class": "the score has one output for all classes",
        "base_score": "the score starts at 0 and the thresholds hold the location",
        "scale_pos_weight": "use class_weight",
        "eval_metric": "evaluation uses the ordinal loss",
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
        importance_type: str = "gain",
        early_stopping_rounds: int | None = None,
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
        self.importance_type = importance_type
        self.early_stopping_rounds = early_stopping_rounds
        self.callbacks = callbacks
        self._keep_host_params(host_params)

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        eval_set: list[tuple[Any, Any]] | None = None,
        sample_weight_eval_set: list[Any] | None = None,
        verbose: bool | int = False,
    ) -> XGBOrdinalClassifier:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
            NaN is missing.
        y : array-like, shape (n_samples,)
            Labels: integers, strings, or an ordered categorical.
        sample_weight : array-like of float, shape (n_samples,), or None
            Non-negative.
        eval_set : list of (X, y) pairs or None
            Evaluated each round; the last one decides early stopping.
        sample_weight_eval_set : list of array-like or None
            Weights of each evaluation set.
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
        X, codes, weight = self._validate_training(X, y, sample_weight)
        objective = xgb.OrdinalObjective(
            self.n_classes_,
            loss=self.loss,
            link=self.link,
            hessian=self.hessian,
            threshold_update=self.threshold_update,
            n_threads=self.n_jobs,
        )
        dtrain = self._matrix(X, codes, weight)
        evals = self._evaluation_sets(eval_set, sample_weight_eval_set)
        if self.early_stopping_rounds and not evals:
            raise ValueError(
                f"early_stopping_rounds={self.early_stopping_rounds} needs at least one pair in eval_set; got none"
            )
        self.evals_result_: dict[str, Any] = {}
        self.booster_ = xgboost.train(
            self._native_params(),
            dtrain,
            self.n_estimators,
            evals=evals,
            obj=objective,
            custom_metric=objective.metric,
            evals_result=self.evals_result_,
            early_stopping_rounds=self.early_stopping_rounds,
            callbacks=[objective.callback, *(self.callbacks or [])],
            verbose_eval=verbose,
        )
        self.diagnostics_ = objective.diagnostics_
        self.n_iter_ = xgb.kept_rounds(self.booster_)
        self.best_iteration_ = self.n_iter_ - 1
        self._record = xgb.threshold_record(self.booster_)
        self.thresholds_ = self._record.at(self.n_iter_)
        return self

    def _native_params(self) -> dict[str, Any]:
        given = {name: value for name, value in self.get_params(deep=False).items() if name not in _OWN}
        params = {_NATIVE.get(name, name): value for name, value in given.items() if value is not None}
        if isinstance(params.get("seed"), np.random.RandomState):
            params["seed"] = int(params["seed"].randint(np.iinfo(np.int32).max))
        # XGBoost warns of parameters that its chosen booster ignores; 1 shows warnings only.
        params["verbosity"] = 1 if self.verbosity is None else self.verbosity
        return {**params, "base_score": 0.0, "disable_default_eval_metric": 1}

    def _matrix(self, X: Any, codes: NDArray[Any] | None = None, weight: Any = None) -> xgboost.DMatrix:
        return xgboost.DMatrix(
            X,
            codes,
            weight=weight,
            missing=self.missing,
            nthread=self.n_jobs,
            enable_categorical=self.enable_categorical,
        )

    def _evaluation_sets(self, eval_set: Any, weights: Any) -> list[tuple[xgboost.DMatrix, str]]:
        pairs = evaluation_pairs(eval_set)
        weights = [None] * len(pairs) if weights is None else list(weights)
        if len(weights) != len(pairs):
            raise ValueError(
                f"sample_weight_eval_set must have one entry for each of the {len(pairs)} pairs in eval_set; "
                f"got {len(weights)}"
            )
        return [
            (self._matrix(self._validate_features(Xv, reset=False), self._labels.encode(yv), weight), f"validation_{i}")
            for i, ((Xv, yv), weight) in enumerate(zip(pairs, weights, strict=True))
        ]

    def _score(self, X: Any, iteration: int | None = None) -> NDArray[np.float64]:
        end = self.n_iter_ if iteration is None else iteration
        scores = self.booster_.predict(self._matrix(X), output_margin=True, iteration_range=(0, end))
        return np.asarray(scores, dtype=np.float64)

    def _thresholds_at(self, iteration: int) -> NDArray[np.float64]:
        return self._record.at(iteration)

    @property
    def feature_importances_(self) -> NDArray[np.float32]:
        """Importance of each feature by ``importance_type``, summing to 1, float32 (n_features,)."""
        names = self.booster_.feature_names or [f"f{i}" for i in range(self.n_features_in_)]
        scores = self.booster_.get_score(importance_type=self.importance_type)
        values = np.array([scores.get(name, 0.0) for name in names], dtype=np.float32)
        total = values.sum()
        return values / total if total else values
