"""What a model of the state machines can be: tables, labels, classifiers and their parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import xgboost
from scipy import sparse

from makers import make_cat, make_engine, make_lgb, make_xgb
from ordinal_objectives import (
    HistGradientBoostingMultiOutputClassifier,
    OrdinalCalibratedClassifier,
    OrdinalDistributionRegressor,
    OrdinalEnsembleClassifier,
    OrdinalLabels,
    OrdinalPredictionSets,
    OrdinalTunedClassifier,
    RowBlocks,
)

TOWNS, NAMES = np.array(list("vwxyz")), np.array(["poor", "fair", "good", "better", "best", "beyond"])


class Rows(NamedTuple):
    X: np.ndarray  # multiples of 1/8, which every type of number holds
    town: np.ndarray
    codes: np.ndarray

    @classmethod
    def drawn(cls, n_rows: int, n_classes: int, missing: bool, seed: int) -> Rows:
        rng = np.random.default_rng(seed)
        X, town = rng.integers(-16, 17, (n_rows, 3)) / 8, rng.integers(0, 5, n_rows)
        score = X[:, 0] + (town % 2) + rng.logistic(size=n_rows) / 2
        codes = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
        codes[:n_classes] = np.arange(n_classes)  # every class has a row
        if missing:
            X[rng.random(X.shape) < 0.1] = np.nan
        return cls(X, town, codes)

    def part(self, rows: Any) -> Rows:
        return Rows(*(array[rows] for array in self))


def frame(rows: Rows) -> dict[str, Any]:
    return {"a": rows.X[:, 0], "b": rows.X[:, 1], "c": rows.X[:, 2]}


def towns(rows: Rows) -> pd.Categorical:
    return pd.Categorical.from_codes(rows.town, list(TOWNS))


TABLES: dict[str, Callable[[Rows], Any]] = {
    "float64": lambda rows: rows.X,
    "float32": lambda rows: rows.X.astype(np.float32),
    "Fortran's order": lambda rows: np.asfortranarray(rows.X),
    "lists": lambda rows: rows.X.tolist(),
    "sparse": lambda rows: sparse.csr_matrix(np.nan_to_num(rows.X)),
    "pandas": lambda rows: pd.DataFrame(frame(rows)),
    "pandas with categories": lambda rows: pd.DataFrame(frame(rows)).assign(town=towns(rows)),
    "pandas of objects": lambda rows: pd.DataFrame(frame(rows)).astype({"a": "Float64", "b": "Float32"}),
    "polars": lambda rows: pl.DataFrame(frame(rows)),
    "polars with categories": lambda rows: pl.DataFrame(
        frame(rows) | {"town": pl.Series(TOWNS[rows.town], dtype=pl.Enum(list(TOWNS)))}
    ),
    "arrow with categories": lambda rows: pa.table(
        frame(rows) | {"town": pa.DictionaryArray.from_arrays(rows.town.astype(np.int8), list(TOWNS))}
    ),
    "blocks": lambda rows: RowBlocks([rows.X[: len(rows.X) // 2], rows.X[len(rows.X) // 2 :]]),
}


def between(codes: np.ndarray, n_classes: int) -> OrdinalLabels:
    return OrdinalLabels.from_intervals(np.maximum(codes - (codes % 2), 0), codes, classes=range(n_classes))


def shares(codes: np.ndarray, n_classes: int) -> OrdinalLabels:
    return OrdinalLabels.from_shares(0.8 * np.eye(n_classes)[codes] + 0.2 / n_classes, classes=range(n_classes))


# Labels of codes, and the parameter `classes`.
LABELS: dict[str, tuple[Callable[[np.ndarray, int], Any], Callable[[int], Any]]] = {
    "codes": (lambda codes, n: codes, lambda n: None),
    "numbers": (lambda codes, n: 10 * codes - 5, lambda n: None),
    "floats": (lambda codes, n: codes / 2, lambda n: np.arange(n) / 2),
    "from high to low": (lambda codes, n: n - codes, lambda n: np.arange(n, 0, -1)),
    "texts": (lambda codes, n: NAMES[codes], lambda n: np.array(list(NAMES[:n]))),
    "objects": (lambda codes, n: NAMES[codes].astype(object), lambda n: list(NAMES[:n])),
    "categories": (lambda codes, n: pd.Categorical.from_codes(codes, list(NAMES[:n]), ordered=True), lambda n: None),
    "intervals": (between, lambda n: None),
    "shares": (shares, lambda n: None),
}
SOFT = ("intervals", "shares")

_COMMON: dict[str, list[Any]] = {
    "loss": ["immediate_threshold", "cumulative_link"],
    "link": ["probit", "cloglog", "loglog", "cauchit"],
    "hessian": ["majorized"],
    "threshold_update": ["newton", "joint", "schur", "fixed"],
    "training_cost": ["quadratic"],
    "decision_rule": ["mode", "mean"],
    "class_weight": ["balanced"],
    "linear": [True, "auto"],
    "cost_matrix": ["squares"],
    "learning_rate": [1.0, 0.05],
}
_SHIFTS: dict[str, list[Any]] = {
    "proportional": [True, False],
    "shift_penalty": ["smooth", "sparse"],
    "shift_l2": [0.1, 10.0],
}
_SIGNS = [[1, 0, 0], [1, -1, 0, 0], {"a": 1}]


class Trainer(NamedTuple):
    """How a classifier is made, which parameters may differ from their defaults, and how it goes on training."""

    make: Callable[..., Any]
    options: dict[str, list[Any]]
    rounds: str = ""
    goes_on: str = ""
    stops_early: Mapping[str, Any] = MappingProxyType({})
    callback: Callable[[Callable[[Any], None]], dict[str, Any]] | None = None


class _Calls(xgboost.callback.TrainingCallback):
    def __init__(self, function: Callable[[Any], None]) -> None:
        super().__init__()
        self.function = function

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self.function(model)
        return False


class _CatCalls:
    def __init__(self, function: Callable[[Any], None]) -> None:
        self.function = function

    def after_iteration(self, info: Any) -> bool:
        self.function(None)
        return True


def _around(kind: Callable[..., Any], **always: Any) -> Callable[..., Any]:
    """Return a maker of a wrapper; parameters of another name are those of the classifier inside."""

    def make(classes: Any = None, of: str = "engine", **params: Any) -> Any:
        known = kind.__init__.__code__.co_varnames
        own = {name: value for name, value in params.items() if name in known}
        inside = TRAINERS[of].make(**{name: value for name, value in params.items() if name not in known})
        return kind(inside, classes=classes, **always, **own)

    return make


def _ensemble(classes: Any = None, of: str = "engine", **params: Any) -> Any:
    members = [("one", TRAINERS[of].make()), ("two", make_xgb(n_estimators=2, max_depth=2))]
    return OrdinalEnsembleClassifier(members, classes=classes, n_jobs=1, random_state=0, **{"n_bags": 1} | params)


def _several(classes: Any = None, **params: Any) -> Any:
    options = {"max_iter": 3, "max_leaf_nodes": 4, "min_samples_leaf": 3, "n_jobs": 1, "random_state": 0}
    return HistGradientBoostingMultiOutputClassifier(**options | params)


def _numbers(classes: Any = None, of: str = "engine", **params: Any) -> Any:
    return OrdinalDistributionRegressor(TRAINERS[of].make(), n_cuts=4, random_state=0, **params)


_INSIDE: dict[str, list[Any]] = {"of": ["xgboost", "lightgbm", "catboost"]}
_RULES: dict[str, list[Any]] = {"decision_rule": ["mode", "mean"], "cost_matrix": ["squares"]}
TRAINERS: dict[str, Trainer] = {
    "engine": Trainer(
        lambda **o: make_engine(
            **{
                "max_iter": 3,
                "max_leaf_nodes": 4,
                "min_samples_leaf": 3,
                "min_samples_category": 2,
                "random_state": 0,
                **o,
            }
        ),
        _COMMON
        | _SHIFTS
        | {
            "max_iter": ["auto", 1],
            "subsample": [0.7],
            "order": [3],
            "early_stopping": [True],
            "boosting_type": ["rf"],
            "data_sample_strategy": ["goss"],
            "max_features": [0.5],
            "monotonic_cst": _SIGNS,
            "interaction_cst": ["no_interactions"],
            "pruning": [True],
            "adaptive_step": [True],
            "split_gain": ["vector"],
            "random_intercept": [2],
            "rebin_every": [1],
            "scoring": ["accuracy"],
        },
        "max_iter",
        "warm_start",
        {"early_stopping": True, "n_iter_no_change": 1},
        lambda function: {"callback": lambda iteration, evals: function(None)},
    ),
    "xgboost": Trainer(
        lambda **o: make_xgb(**{"n_estimators": 3, "max_depth": 2, "random_state": 0, **o}),
        _COMMON
        | _SHIFTS
        | {
            "n_estimators": ["auto", 1],
            "subsample": [0.7],
            "booster": ["dart", "gblinear"],
            "monotone_constraints": [(1, 0, 0), (1, 0, 0, 0)],
            "shift_method": ["host"],
            "split_outputs": ["all"],
            "tree_method": ["exact", "approx"],
            "num_parallel_tree": [2],
            "reg_alpha": [0.5],
            "gamma": [0.5],
            "missing": [0.0],
            "validation_fraction": [0.3],
        },
        "n_estimators",
        "xgb_model",
        {"early_stopping_rounds": 1},
        lambda function: {"callbacks": [_Calls(function)]},
    ),
    "lightgbm": Trainer(
        lambda **o: make_lgb(
            **{
                "n_estimators": 3,
                "num_leaves": 4,
                "min_child_samples": 3,
                "random_state": 0,
                "verbose": -1,
                "min_data_per_group": 2,
                **o,
            }
        ),
        _COMMON
        | _SHIFTS
        | {
            "n_estimators": ["auto", 1],
            "subsample": [0.7],
            "boosting_type": ["dart", "rf", "goss"],
            "monotone_constraints": _SIGNS[:2],
            "reg_alpha": [0.5],
            "extra_trees": [True],
            "linear_tree": [True],
            "validation_fraction": [0.3],
        },
        "n_estimators",
        "init_model",
        {"early_stopping_round": 1},
        lambda function: {"callbacks": [lambda env: function(env.model)]},
    ),
    "catboost": Trainer(
        lambda **o: make_cat(**{"iterations": 3, "depth": 2, "allow_writing_files": False, **o}),
        _COMMON
        | {
            "iterations": ["auto", 1],
            "subsample": [0.7],
            "grow_policy": ["Lossguide"],
            "monotone_constraints": [[1, 0, 0]],
            "boosting_type": ["Ordered"],
        },
        "iterations",
        "init_model",
        {"early_stopping_rounds": 1},
        lambda function: {"callbacks": [_CatCalls(function)]},
    ),
    "several outputs": Trainer(
        _several,
        {"max_iter": [1], "subsample": [0.7], "search": ["unrestricted"], "max_outputs": [2], "hessian": ["full"]},
        "max_iter",
        "warm_start",
        {"early_stopping": True, "n_iter_no_change": 1},
        lambda function: {"callback": lambda iteration, evals: function(None)},
    ),
    "ensemble": Trainer(
        _ensemble, _INSIDE | _RULES | {"weights": ["log_loss", "rps"], "refit": [False], "n_bags": [2]}
    ),
    "calibrated": Trainer(
        _around(OrdinalCalibratedClassifier, cv=2, random_state=0), _INSIDE | _RULES | {"method": ["isotonic"]}
    ),
    "prediction sets": Trainer(
        _around(OrdinalPredictionSets, random_state=0),
        _INSIDE | {"method": ["cross"], "coverage": ["class"], "alpha": [0.3]},
    ),
    "tuned": Trainer(
        _around(OrdinalTunedClassifier, cv=2, random_state=0), _INSIDE | {"metric": ["mae"], "rule": ["stretch"]}
    ),
    "numbers": Trainer(_numbers, _INSIDE | {"prediction": ["median"]}),
}
# Those that name the order of their classes.
ORDINAL = [name for name in TRAINERS if name not in ("several outputs", "numbers")]
