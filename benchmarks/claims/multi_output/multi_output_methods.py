"""What multi_output.py compares: the same growth and penalty everywhere, on one thread.

Trees grow best split first to 0.75 x 2^depth leaves, with a penalty of 1 as Zhang and Jung have it, and with 64
bins, where they take 8 to 64 by set.
A method without validation rows trains all its rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import lightgbm
import numpy as np
import xgboost
from numpy.typing import NDArray
from scipy.special import xlogy

from claims.multi_output.multi_output_data import Problem
from ordinal_objectives import HistGradientBoostingMultiOutputClassifier, HistGradientBoostingMultiOutputRegressor
from ordinal_objectives.histogram_engine.multi_output.losses import SoftmaxCrossEntropy

Array = NDArray[np.floating[Any]]
PENALTY, PATIENCE = 1.0, 25
# The most rounds; a hundred trees a round take long.
ROUNDS, HUNDRED_ROUNDS = 500, 150
# GBDT-sparse, whose steps are short: eight times as many.
RIVAL_ROUNDS = {"digits": 8 * ROUNDS, "101 classes": 8 * HUNDRED_ROUNDS}
# By the estimators' `hessian`: what the committed runs call the second derivatives beside the diagonal.
HESSIAN_RUNS = {"full": "exact Hessian", "majorized": "bound Hessian"}


@dataclass(frozen=True)
class Setting:
    """What is chosen for each method and set, and what is not."""

    learning_rate: float
    depth: int
    min_rows: int
    rounds: int
    bins: int = 64

    @property
    def leaves(self) -> int:
        return 3 * 2**self.depth // 4


@dataclass(frozen=True)
class Fitted:
    """A model: its rounds and trees up to the best validation loss, and predictions (n, d) after some of them."""

    rounds: int
    trees: int
    predict: Callable[[Array, int | None], Array]  # values or probabilities; None: the best rounds


def lightgbm_each(problem: Problem, setting: Setting, stop: bool = True) -> Fitted:
    """Train one tree an output: LightGBM's multiclass, or else one booster for each column, stopped by itself."""
    parameters = {
        "learning_rate": setting.learning_rate,
        "max_depth": setting.depth,
        "num_leaves": setting.leaves,
        "min_data_in_leaf": setting.min_rows,
        "lambda_l2": PENALTY,
        "max_bin": setting.bins,
        "num_threads": 1,
        "feature_pre_filter": False,
        "verbosity": -1,
    }

    def train(fit: Array, valid: Array, **task: Any) -> lightgbm.Booster:
        rows = lightgbm.Dataset(problem.fit.X, fit, params=parameters)
        watch: dict[str, Any] = {}
        if stop:
            held_out = lightgbm.Dataset(problem.valid.X, valid, reference=rows)
            watch = {"valid_sets": [held_out], "callbacks": [lightgbm.early_stopping(PATIENCE, verbose=False)]}
        return lightgbm.train(parameters | task, rows, setting.rounds, **watch)

    def best(booster: lightgbm.Booster) -> int:
        return booster.best_iteration if stop else booster.current_iteration()

    d = problem.n_outputs
    if problem.task == "classes":
        booster = train(problem.fit.Y, problem.valid.Y, objective="multiclass", num_class=d)
        found = best(booster)
        return Fitted(found, d * found, lambda X, rounds: booster.predict(X, num_iteration=rounds or found))
    objective = "regression" if problem.task == "regression" else "binary"
    columns = [train(problem.fit.Y[:, j], problem.valid.Y[:, j], objective=objective) for j in range(d)]
    trees = [best(booster) for booster in columns]

    def predict(X: Array, rounds: int | None) -> Array:
        said = zip(columns, trees, strict=True)
        return np.column_stack([one.predict(X, num_iteration=rounds or found) for one, found in said])

    return Fitted(max(trees), sum(trees), predict)


def xgboost_any(problem: Problem, setting: Setting, stop: bool = True, *, vector: bool = False) -> Fitted:
    """Train one tree an output, or vector leaves; outputs share a round."""
    objective = {"regression": "reg:squarederror", "classes": "multi:softprob", "labels": "binary:logistic"}
    parameters = {
        "objective": objective[problem.task],
        "eta": setting.learning_rate,
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_depth": setting.depth,
        "max_leaves": setting.leaves,
        # The Hessian of squared errors counts rows; of others it has no such minimum.
        "min_child_weight": setting.min_rows if problem.task == "regression" else 1.0,
        "lambda": PENALTY,
        "max_bin": setting.bins,
        "nthread": 1,
        "multi_strategy": "multi_output_tree" if vector else "one_output_per_tree",
    }
    if problem.task == "classes":
        parameters |= {"num_class": problem.n_outputs}
    rows = xgboost.QuantileDMatrix(problem.fit.X, problem.fit.Y, max_bin=setting.bins, nthread=1)
    watch: dict[str, Any] = {}
    if stop:
        held_out = xgboost.DMatrix(problem.valid.X, problem.valid.Y, nthread=1)
        watch = {"evals": [(held_out, "valid")], "early_stopping_rounds": PATIENCE, "verbose_eval": False}
    booster = xgboost.train(parameters, rows, setting.rounds, **watch)
    found = booster.best_iteration + 1 if stop else booster.num_boosted_rounds()

    def predict(X: Array, rounds: int | None) -> Array:
        return np.asarray(booster.inplace_predict(X, iteration_range=(0, rounds or found)))

    return Fitted(found, found * (1 if vector else problem.n_outputs), predict)


def xgboost_vector(problem: Problem, setting: Setting, stop: bool = True) -> Fitted:
    return xgboost_any(problem, setting, stop, vector=True)


def ours(problem: Problem, setting: Setting, stop: bool = True, **options: Any) -> Fitted:
    """Train one tree of vector leaves a round."""
    return _ours(problem.task, problem.fit.Y, problem.valid.Y, problem, setting, stop, **options)


def ours_each(problem: Problem, setting: Setting, stop: bool = True) -> Fitted:
    """Train the same engine once for each column, stopped by itself."""
    if problem.task == "classes":
        raise ValueError("task must be 'regression' or 'labels': the trees of classes share a softmax")
    sides = problem.fit.Y.T, problem.valid.Y.T
    columns = [_ours(problem.task, fit, valid, problem, setting, stop) for fit, valid in zip(*sides, strict=True)]

    def predict(X: Array, rounds: int | None) -> Array:
        return np.column_stack([one.predict(X, rounds)[:, -1] for one in columns])

    return Fitted(max(one.rounds for one in columns), sum(one.trees for one in columns), predict)


class FirstDerivatives(SoftmaxCrossEntropy):
    """Cross-entropy that gives no second derivatives: each row of a leaf counts as one."""

    def derivatives(self, y: Any, raw_prediction: Any, hessian: str) -> Any:
        row_loss, gradient, _ = super().derivatives(y, raw_prediction, hessian)
        return row_loss, gradient, None


def gbdt_sparse(problem: Problem, setting: Setting, stop: bool = True, *, k: int) -> Fitted:
    """Train what Zhang and Jung call GBDT-sparse: splits and the k outputs of a leaf by first derivatives."""
    first = FirstDerivatives(problem.n_outputs)
    return ours(problem, setting, stop, loss=first, max_outputs=k, search="unrestricted")


def _ours(
    task: str, fit: Array, valid: Array, problem: Problem, setting: Setting, stop: bool, **options: Any
) -> Fitted:
    regression = task == "regression"
    kind: Any = HistGradientBoostingMultiOutputRegressor if regression else HistGradientBoostingMultiOutputClassifier
    model = kind(
        learning_rate=setting.learning_rate,
        max_iter=setting.rounds,
        max_depth=setting.depth,
        max_leaf_nodes=setting.leaves,
        min_samples_leaf=setting.min_rows,
        l2_regularization=PENALTY,
        max_bins=setting.bins,
        early_stopping=stop,
        n_iter_no_change=PATIENCE,
        tol=0.0,
        n_jobs=1,
        **options,
    )
    watch = {"X_val": problem.valid.X, "y_val": valid} if stop else {}
    model.fit(problem.fit.X, fit, **watch)

    def predict(X: Array, rounds: int | None) -> Array:
        if rounds is None:
            found = model.predict(X) if regression else model.predict_proba(X)
        else:
            stages = model.staged_predict(X) if regression else model.staged_predict_proba(X)
            found = next(islice(stages, min(rounds, model.n_iter_) - 1, None))
        return np.asarray(found).reshape(len(X), -1)

    return Fitted(model.n_iter_, model.n_iter_, predict)


VECTOR, EACH = "vector leaves", "an engine an output"
METHODS: dict[str, Callable[..., Fitted]] = {
    VECTOR: ours,
    EACH: ours_each,
    "LightGBM": lightgbm_each,
    "XGBoost": xgboost_any,
    "XGBoost multi_output_tree": xgboost_vector,
}


def rmse(Y: Array, predicted: Array) -> float:
    """Return the root of the mean over rows and outputs."""
    return float(np.sqrt(np.mean((Y - predicted) ** 2)))


def log_loss(Y: Array, probability: Array) -> float:
    """Return the mean over rows of codes' cross-entropy, or over rows and columns of labels' two."""
    p = np.clip(probability, 1e-12, 1 - 1e-12)
    if Y.ndim == 1:
        return float(-np.mean(np.log(p[np.arange(len(Y)), Y.astype(int)])))
    return float(-np.mean(xlogy(Y, p) + xlogy(1 - Y, 1 - p)))


def top_1(Y: Array, probability: Array) -> float:
    """Return the share of rows whose most probable class or label is right; rows without a label are left out."""
    first = probability.argmax(axis=1)
    if Y.ndim == 1:
        return float(np.mean(first == Y))
    return float(np.mean(Y[np.arange(len(Y)), first][Y.any(axis=1)]))


def loss(task: str, Y: Array, predicted: Array) -> float:
    """Return what settings and rounds are chosen by."""
    return rmse(Y, predicted) if task == "regression" else log_loss(Y, predicted)
