"""Methods with settings drawn at random: one draw of six numbers means the same to every library.

Learning rate, depth, penalty of leaf values, least size of a leaf, share of rows and share of columns. A library that
lacks one of them leaves it out: scikit-learn's boosting draws no rows, CatBoost's symmetric trees have no least leaf,
and ogboost neither penalises nor draws columns. The least size is a sum of Hessians in XGBoost and a number of rows in
the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor

from lib.methods import (
    METHODS,
    MULTICLASS,
    OURS,
    PATIENCE,
    PROPORTIONAL,
    ROUNDED,
    TREES,
    Family,
    Fitted,
    Method,
    Rows,
    hgb,
    ogboost,
    ordinal,
    rounded,
    spread,
    xgb,
)

Setting = dict[str, float]
Spelled = Callable[[Setting], dict[str, Any]]


def draw(seed: int, n_settings: int) -> list[Setting]:
    """Return settings by neutral names; the first ones do not depend on how many there are."""
    uniform = np.random.default_rng([16, seed]).random((n_settings, 6))
    return [
        {
            "eta": _between(u[0], 0.02, 0.3),
            "depth": 2 + int(7 * u[1]),
            "l2": _between(u[2], 0.01, 10.0),
            "hessian": _between(u[3], 0.1, 10.0),
            "leaf_rows": round(_between(u[3], 2.0, 50.0)),
            "rows": 0.5 + 0.5 * u[4],
            "columns": 0.5 + 0.5 * u[5],
        }
        for u in uniform
    ]


def _between(u: float, low: float, high: float) -> float:
    """Return the point at u on a logarithmic scale, four digits."""
    return float(f"{low * (high / low) ** u:.4g}")


def _xgboost(s: Setting) -> dict[str, Any]:
    return {"reg_lambda": s["l2"], "min_child_weight": s["hessian"], "subsample": s["rows"]} | _columns(s)


def _columns(s: Setting) -> dict[str, Any]:
    return {"depth": s["depth"], "learning_rate": s["eta"], "colsample_bytree": s["columns"]}


def _lightgbm(s: Setting) -> dict[str, Any]:
    leaves: dict[str, Any] = {"reg_lambda": s["l2"], "min_child_samples": s["leaf_rows"], "max_depth": s["depth"]}
    return leaves | {"subsample": s["rows"], "subsample_freq": 1} | _columns(s)


def _engine(s: Setting) -> dict[str, Any]:
    leaves: dict[str, Any] = {"l2_regularization": s["l2"], "min_samples_leaf": s["leaf_rows"]}
    return leaves | {"subsample": s["rows"], "random_state": 0} | _columns(s)


def _hgb(s: Setting) -> dict[str, Any]:
    leaves: dict[str, Any] = {"l2_regularization": s["l2"], "min_samples_leaf": s["leaf_rows"]}
    return leaves | {"depth": s["depth"], "learning_rate": s["eta"], "max_features": s["columns"]}


def _catboost(s: Setting) -> dict[str, Any]:
    leaves: dict[str, Any] = {"l2_leaf_reg": s["l2"], "rsm": s["columns"]}  # its symmetric trees know no least leaf
    return leaves | {"depth": s["depth"], "learning_rate": s["eta"], "subsample": s["rows"]}


def _ogboost(s: Setting) -> dict[str, Any]:
    rows: dict[str, Any] = {"leaf_rows": s["leaf_rows"], "subsample": s["rows"], "random_state": 0}
    return rows | {"depth": s["depth"], "learning_rate": s["eta"]}


def lgbm(
    train: Rows, valid: Rows | None, rounds: int, n_classes: int, depth: int, objective: str, **options: Any
) -> Fitted:
    """Train LightGBM's own multiclass, or its squared error on the class codes, rounded."""
    params = {"num_leaves": 2**depth, "objective": objective, "num_threads": 1, "verbosity": -1, "seed": 0} | options
    if objective == "multiclass":
        params["num_class"] = n_classes
    fit = lightgbm.Dataset(*train)
    watch: dict[str, Any] = {}
    if valid is not None:
        watch = {
            "valid_sets": [lightgbm.Dataset(*valid, reference=fit)],
            "callbacks": [lightgbm.early_stopping(PATIENCE, verbose=False)],
        }
    booster = lightgbm.train(params, fit, rounds, **watch)
    best = rounds if valid is None else booster.best_iteration

    def predict(X: pd.DataFrame) -> tuple[NDArray[np.intp], NDArray[np.float64] | None]:
        output = booster.predict(X, num_iteration=best)
        return (output.argmax(axis=1), output) if objective == "multiclass" else (rounded(output, n_classes), None)

    loss = np.nan if valid is None else next(iter(booster.best_score["valid_0"].values()))
    return Fitted(predict, loss, best)


def catboost(
    train: Rows, valid: Rows | None, rounds: int, n_classes: int, depth: int, objective: str, **options: Any
) -> Fitted:
    """Train CatBoost's multiclass, or its squared error on the class codes, rounded."""
    from catboost import CatBoost, Pool

    categories = list(train[0].select_dtypes("category").columns)

    def pool(X: pd.DataFrame, y: NDArray[np.int32] | None = None) -> Any:
        texts = {name: X[name].astype(object).where(X[name].notna(), "missing").astype(str) for name in categories}
        return Pool(X.assign(**texts), y, cat_features=categories)

    classes = np.unique(train[1])
    params = {"iterations": rounds, "depth": depth, "loss_function": objective, "bootstrap_type": "Bernoulli"}
    params |= {"thread_count": 1, "random_seed": 0, "allow_writing_files": False, "logging_level": "Silent"} | options
    watch: dict[str, Any] = {}
    if valid is not None:
        seen = np.isin(valid[1], classes)
        watch = {"eval_set": pool(valid[0][seen], valid[1][seen]), "early_stopping_rounds": PATIENCE}
    model = CatBoost(params)
    model.fit(pool(*train), **watch)
    best = rounds if valid is None else model.get_best_iteration() + 1

    def predict(X: pd.DataFrame) -> tuple[NDArray[np.intp], NDArray[np.float64] | None]:
        if objective == "RMSE":
            return rounded(model.predict(pool(X)), n_classes), None
        proba = spread(model.predict(pool(X), prediction_type="Probability"), classes, n_classes)
        return proba.argmax(axis=1), proba

    if valid is None:
        return Fitted(predict, rounds=best)
    # Without a learning rate CatBoost takes one by the number of rounds, which are fewer in the refit.
    return Fitted(
        predict, model.get_best_score()["validation"][objective], best, chosen={"learning_rate": model.learning_rate_}
    )


# Names: functions, and what a drawn setting is called there.
TUNED: dict[str, tuple[Method, Spelled]] = {
    "ordinal shifts": (partial(ordinal, proportional="auto"), _xgboost),
    "LightGBM shifts": (partial(ordinal, host="LightGBM", proportional="auto"), _lightgbm),
    "native shifts": (partial(ordinal, host="native", proportional="auto"), _engine),
    "xgb multiclass": (xgb, _xgboost),
    "xgb rounded": (partial(xgb, objective="reg:squarederror"), _xgboost),
    "lgbm multiclass": (partial(lgbm, objective="multiclass"), _lightgbm),
    "lgbm rounded": (partial(lgbm, objective="regression"), _lightgbm),
    "hgb multiclass": (hgb, _hgb),
    "hgb rounded": (partial(hgb, estimator=HistGradientBoostingRegressor), _hgb),
}
CATBOOST: dict[str, tuple[Method, Spelled]] = {
    "CatBoost multiclass": (partial(catboost, objective="MultiClass"), _catboost),
    "CatBoost rounded": (partial(catboost, objective="RMSE"), _catboost),
}
SLOW: dict[str, tuple[Method, Spelled]] = {"ogboost": (ogboost, _ogboost)}
# Asked of the sets that were looked at once, tuned as in accuracy.py.
CONFIRMED: Family = {
    **{name: METHODS[name] for name in (OURS, PROPORTIONAL, MULTICLASS, ROUNDED)},
    "CatBoost multiclass": (partial(catboost, objective="MultiClass"), TREES),
    "ogboost": METHODS["ogboost"],
}
