"""LGBMOrdinalClassifier: ordinal boosting through LightGBM behind scikit-learn's interface."""

from __future__ import annotations

from typing import Any, ClassVar

import lightgbm
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters import lgbm
from ordinal_objectives.estimator import OrdinalClassifier, evaluation_pairs
from ordinal_objectives.losses import OrdinalLoss

# Constructor names that lightgbm.train spells otherwise.
_NATIVE = {
    "boosting_type": "boosting",
    "subsample_for_bin": "bin_construct_sample_cnt",
    "min_split_gain": "min_gain_to_split",
    "min_child_weight": "min_sum_hessian_in_leaf",
    "min_child_samples": "min_data_in_leaf",
    "subsample": "bagging_fraction",
    "subsample_freq": "bagging_freq",
    "colsample_bytree": "feature_fraction",
    "reg_alpha": "lambda_l1",
    "reg_lambda": "lambda_l2",
    "random_state": "seed",
    "n_jobs": "num_threads",
}
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
]


class LGBMOrdinalClassifier(OrdinalClassifier):
    """Ordinal classifier grown by LightGBM, its thresholds learned with the trees.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of boosting rounds.
    classes : array-like or None, default=None
        The classes, lowest first. None takes the order of numbers or of an ordered categorical; plain
        strings are sorted, with a warning that prints the order.
    loss, link, hessian, threshold_update
        See :class:`ordinal_objectives.adapters.lgbm.OrdinalObjective`.
    decision_rule : {"median", "mode", "mean"}, default="median"
        How :meth:`predict` turns probabilities into a class: "median" suits absolute error, "mode" the
        zero-one error, "mean" squared error.
    cost_matrix : array-like of float, shape (n_classes, n_classes), or None
        Cost of predicting column j where row i is true; replaces ``decision_rule``.
    class_weight : dict, "balanced" or None
        Weights of classes, multiplied with ``sample_weight``.
    boosting_type, num_leaves, max_depth, learning_rate, subsample_for_bin, min_split_gain, min_child_weight, \
min_child_samples, subsample, subsample_freq, colsample_bytree, reg_alpha, reg_lambda, random_state, n_jobs, \
importance_type
        As in :class:`lightgbm.LGBMClassifier`.
    **host_params
        Any other parameter of :func:`lightgbm.train`.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    n_classes_ : int
    thresholds_ : ndarray of float64, shape (n_classes - 1,)
        Those of the iteration that predictions use.
    booster_ : lightgbm.Booster
        Carries its thresholds: :func:`ordinal_objectives.adapters.lgbm.predict_proba` reads them.
    n_iter_ : int
        Iterations that predictions use.
    best_iteration_ : int
        The same number, as LightGBM counts.
    feature_importances_ : ndarray, shape (n_features,)
    evals_result_ : dict
    diagnostics_ : dict of str to int

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import LGBMOrdinalClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> model = LGBMOrdinalClassifier(n_estimators=20, num_leaves=4).fit(X, y)
    >>> model.predict_proba(X).shape
    (300, 4)
    """

    _dialect: ClassVar = {
        "max_iter": "n_estimators",
        "num_boost_round": "n_estimators",
        "num_iterations": "n_estimators",
        "eta": "learning_rate",
        "max_leaf_nodes": "num_leaves",
        "max_leaves": "num_leaves",
        "max_bins": "max_bin",
        "l2_regularization": "reg_lambda",
        "lambda_l2": "reg_lambda",
        "lambda_l1": "reg_alpha",
        "gamma": "min_split_gain",
        "min_samples_leaf": "min_child_samples",
        "min_data_in_leaf": "min_child_samples",
        "monotonic_cst": "monotone_constraints",
        "num_threads": "n_jobs",
        "seed": "random_state",
        "early_stopping_rounds": "callbacks=[lightgbm.early_stopping(...)] in fit",
    }
    _refused: ClassVar = {
        "objective": "the ordinal loss is the objective",
        "num_class": "the score has one output for all classes",
        "metric": "evaluation uses the ordinal loss",
        "boost_from_average": "the score starts at 0 and the thresholds hold the location",
        "is_unbalance": "use class_weight",
        "scale_pos_weight": "use class_weight",
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
        boosting_type: str = "gbdt",
        num_leaves: int = 31,
        max_depth: int = -1,
        learning_rate: float = 0.1,
        subsample_for_bin: int = 200_000,
        min_split_gain: float = 0.0,
        min_child_weight: float = 1e-3,
        min_child_samples: int = 20,
        subsample: float = 1.0,
        subsample_freq: int = 0,
        colsample_bytree: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 0.0,
        random_state: Any = None,
        n_jobs: int | None = None,
        importance_type: str = "split",
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
        self.boosting_type = boosting_type
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.subsample_for_bin = subsample_for_bin
        self.min_split_gain = min_split_gain
        self.min_child_weight = min_child_weight
        self.min_child_samples = min_child_samples
        self.subsample = subsample
        self.subsample_freq = subsample_freq
        self.colsample_bytree = colsample_bytree
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.importance_type = importance_type
        self._keep_host_params(host_params)

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        eval_set: list[tuple[Any, Any]] | None = None,
        eval_sample_weight: list[Any] | None = None,
        callbacks: list[Any] | None = None,
    ) -> LGBMOrdinalClassifier:
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
            Evaluated each round.
        eval_sample_weight : list of array-like or None
            Weights of each evaluation set.
        callbacks : list of callable or None
            LightGBM callbacks, early stopping among them.

        Returns
        -------
        LGBMOrdinalClassifier

        Raises
        ------
        ValueError
            If labels, weights or parameters are not what the docs allow; the message names the argument.
        """
        X, codes, weight = self._validate_training(X, y, sample_weight)
        objective = lgbm.OrdinalObjective(
            self.n_classes_,
            loss=self.loss,
            link=self.link,
            hessian=self.hessian,
            threshold_update=self.threshold_update,
            n_threads=self.n_jobs,
        )
        train_set = lightgbm.Dataset(X, codes, weight=weight)
        pairs = evaluation_pairs(eval_set)
        weights = [None] * len(pairs) if eval_sample_weight is None else list(eval_sample_weight)
        if len(weights) != len(pairs):
            raise ValueError(
                f"eval_sample_weight must have one entry for each of the {len(pairs)} pairs in eval_set; "
                f"got {len(weights)}"
            )
        valid_sets = [
            lightgbm.Dataset(
                self._validate_features(Xv, reset=False), self._labels.encode(yv), weight=wv, reference=train_set
            )
            for (Xv, yv), wv in zip(pairs, weights, strict=True)
        ]
        self.evals_result_: dict[str, Any] = {}
        self.booster_ = lightgbm.train(
            {**self._native_params(), "objective": objective, "metric": "None"},
            train_set,
            self.n_estimators,
            valid_sets=valid_sets or None,
            feval=objective.metric if valid_sets else None,
            callbacks=[
                objective.callback,
                *([lightgbm.record_evaluation(self.evals_result_)] if valid_sets else []),
                *(callbacks or []),
            ],
        )
        self.diagnostics_ = objective.diagnostics_
        best = self.booster_.best_iteration
        self.n_iter_ = best if best > 0 else self.booster_.current_iteration()
        self.best_iteration_ = self.n_iter_
        self._record = lgbm.threshold_record(self.booster_)
        self.thresholds_ = self._record.at(self.n_iter_)
        return self

    def _native_params(self) -> dict[str, Any]:
        given = {name: value for name, value in self.get_params(deep=False).items() if name not in _OWN}
        params = {_NATIVE.get(name, name): value for name, value in given.items() if value is not None}
        if isinstance(params.get("seed"), np.random.RandomState):
            params["seed"] = int(params["seed"].randint(np.iinfo(np.int32).max))
        params.setdefault("verbosity", params.pop("verbose", -1))
        return params

    def _score(self, X: Any, iteration: int | None = None) -> NDArray[np.float64]:
        end = self.n_iter_ if iteration is None else iteration
        threads = {} if self.n_jobs is None else {"num_threads": self.n_jobs}
        scores = self.booster_.predict(X, raw_score=True, num_iteration=end, **threads)
        return np.asarray(scores, dtype=np.float64)

    def _thresholds_at(self, iteration: int) -> NDArray[np.float64]:
        return self._record.at(iteration)

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """Importance of each feature by ``importance_type``, (n_features,)."""
        return np.asarray(self.booster_.feature_importance(importance_type=self.importance_type))
