"""What the golden models are: for every kind of model its cases, and how one is trained."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
Case = dict[str, Any]
# The hosts' defaults, which the classifiers had when the first golden models were written.
XGB_DEFAULTS: Case = {"subsample": 1.0}
LGB_DEFAULTS: Case = {"learning_rate": 0.1, "subsample": 1.0, "subsample_freq": 0, "min_child_samples": 20}
SKLEARN_DEFAULTS: Case = {"subsample": 1.0, "min_samples_leaf": 20, "l2_regularization": 0.0}
N_CLASSES = (2, 3, 5, 8, 12, 30)
HESSIANS = ("exact", "majorized")
# Loss and link of one case after the other; those without a majoriser raise there and are left out.
LOSSES = (
    ("all_threshold", "logit"),
    ("all_threshold", "probit"),
    ("all_threshold", "cloglog"),
    ("cumulative_link", "logit"),
    ("cumulative_link", "probit"),
    ("immediate_threshold", "logit"),
    ("immediate_threshold", "cauchit"),
)
ENGINE_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"weighted": True, "missing": True},
    {"subsample": 0.6, "colsample_bytree": 0.7, "random_state": 0},
    {"subsample": 0.6, "pruning": True, "adaptive_step": True, "random_state": 0, "weighted": True},
    {"rebin_every": 2, "max_bins": 16, "max_depth": 3, "gamma": 0.1, "l2_regularization": 0.0},
)
XGB_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"weighted": True, "missing": True, "subsample": 0.7},
    {"categorical": True, "max_leaves": 6, "grow_policy": "lossguide"},
)
LGBM_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"weighted": True, "missing": True, "subsample": 0.7, "subsample_freq": 1},
    {"categorical": True, "reg_lambda": 0.0},
)


def make_data(n_classes: int, n_rows: int, *, missing: bool, categorical: bool) -> tuple[Any, NDArray[np.int64], Any]:
    """Return features, codes and weights."""
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(n_rows, 4))
    kind = rng.integers(0, 6, n_rows)
    score = 2 * X[:, 0] + 2 * np.sin(2 * X[:, 1]) + 0.5 * kind + rng.logistic(size=n_rows)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    weight = rng.uniform(0.2, 3.0, n_rows)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    if not categorical:
        return X, y, weight
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["kind"] = pd.Categorical.from_codes(kind, list("uvwxyz"))
    return frame, y, weight


PENALTIES: tuple[Case, ...] = (
    {"shift_penalty": "ridge"},
    {"shift_penalty": "ridge", "shift_l2": 0.5, "weighted": True, "missing": True},
    {"shift_penalty": "smooth", "shift_l2": 3.0},
)
SPARSE: Case = {"shift_penalty": "sparse", "max_shifts": 2}
OF_MARGINS = (("all_threshold", "logit"), ("all_threshold", "probit"), ("immediate_threshold", "logit"))
OUTPUT_OPTIONS: tuple[Case, ...] = (
    {},
    {"weighted": True, "missing": True, "subsample": 0.6, "random_state": 0},
    {"max_outputs": 2},
    {"max_outputs": 2, "search": "unrestricted"},
    {"max_outputs": 1, "colsample_bytree": 0.7, "random_state": 0, "l2_regularization": 0.1},
)
TRAIN_OPTIONS: tuple[Case, ...] = (
    *({"threshold_update": update} for update in ("newton", "fixed", "schur", "joint")),
    {"threshold_update": "joint", "loss": "cumulative_link", "weighted": True, "missing": True},
    {"threshold_update": "newton", "hessian": "majorized"},
    *({"proportional": False, **penalty} for penalty in PENALTIES),
)
HOST: tuple[Case, ...] = tuple({**penalty, "shift_method": "host"} for penalty in PENALTIES)
SPLIT_OUTPUTS: tuple[Case, ...] = tuple({"shift_method": "host", "split_outputs": value} for value in (2, "all"))
LARGE: tuple[Case, ...] = (
    {"proportional": True, "threshold_update": "joint"},
    {"proportional": True, "threshold_update": "newton"},
    {},
    {"order": 3, "proportional": True, "threshold_update": "newton"},
)


def of_engine(model: Any, X: Any) -> Arrays:
    """Return the trees of a model of the native engine, its thresholds, and what it answers."""
    trees = model._ensemble.trees
    names = ("feature", "threshold", "left", "missing_left", "value", "gain", "count")
    arrays = {name: np.concatenate([getattr(tree, name).ravel() for tree in trees]) for name in names}
    return arrays | {"thresholds": model.threshold_history_} | answers(model, X)


def of_xgboost(model: Any, X: Any) -> Arrays:
    trees = _xgboost_trees(model.booster_, model._record)
    return {"trees": trees, "thresholds": np.array(model._record.thresholds)} | answers(model, X)


def _xgboost_trees(booster: Any, record: Any) -> NDArray[np.uint8]:
    # XGBoost 3.2 dumps no statistics of leaves with several outputs.
    return _digest("".join(booster.get_dump(dump_format="json", with_stats=record.outputs is None)))


def of_lightgbm(model: Any, X: Any) -> Arrays:
    trees = _digest(json.dumps(model.booster_.dump_model()["tree_info"], sort_keys=True))
    return {"trees": trees, "thresholds": np.array(model._record.thresholds)} | answers(model, X)


def answers(model: Any, X: Any) -> Arrays:
    return {"raw": model.predict_raw(X)[:64], "proba": model.predict_proba(X).sum(axis=0)}


def _digest(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(hashlib.sha256(text.encode()).digest(), np.uint8)


def _rows(case: Case, n_rows: int) -> tuple[Any, NDArray[np.int64], Any, Case]:
    """Return features, codes and weights of a case, and what is left of it for the model."""
    case = dict(case)
    missing, categorical = case.pop("missing", False), case.pop("categorical", False)
    X, y, weight = make_data(case.pop("K"), n_rows, missing=missing, categorical=categorical)
    return X, y, weight if case.pop("weighted", False) else None, case


def train_engine(case: Case) -> Arrays:
    from ordinal_objectives import HistGradientBoostingOrdinalClassifier

    X, y, weights, options = _rows(case, 400)
    options = {
        "max_iter": 5,
        "max_leaf_nodes": 7,
        "l2_regularization": 0.5,
        "min_samples_leaf": 5,
        "subsample": 1.0,
        "n_jobs": 1,
        **options,
    }
    return of_engine(HistGradientBoostingOrdinalClassifier(**options).fit(X, y, sample_weight=weights), X)


def train_large(case: Case) -> Arrays:
    """Train on 200,000 rows; answers alone would not show which split moved, so the trees are kept as a digest."""
    from ordinal_objectives import HistGradientBoostingOrdinalClassifier

    X, y, weights, options = _rows(case, 200_000)
    model = HistGradientBoostingOrdinalClassifier(max_iter=5, early_stopping=False, **{**SKLEARN_DEFAULTS, **options})
    arrays = of_engine(model.fit(X, y, sample_weight=weights), X)
    kept = {"thresholds": arrays["thresholds"], "raw": arrays["raw"], "proba": arrays["proba"]}
    return kept | {"trees": _digest("".join(arrays[name].tobytes().hex() for name in sorted(arrays)))}


def train_xgb(case: Case) -> Arrays:
    from ordinal_objectives import XGBOrdinalClassifier

    X, y, weights, options = _rows(case, 600)
    options = {"max_depth": 6, "n_jobs": 1, **XGB_DEFAULTS, **options}
    model = XGBOrdinalClassifier(n_estimators=5, random_state=0, **options)
    return of_xgboost(model.fit(X, y, sample_weight=weights), X)


def train_lgbm(case: Case) -> Arrays:
    from ordinal_objectives import LGBMOrdinalClassifier

    X, y, weights, options = _rows(case, 600)
    options = {"n_jobs": 1, **LGB_DEFAULTS, **options}
    model = LGBMOrdinalClassifier(n_estimators=5, num_leaves=7, random_state=0, verbose=-1, **options)
    return of_lightgbm(model.fit(X, y, sample_weight=weights), X)


def train_oxgb(case: Case) -> Arrays:
    import xgboost

    from ordinal_objectives.adapters import xgb as oxgb

    X, y, weights, options = _rows(case, 600)
    dtrain = xgboost.DMatrix(X, y, weight=weights)
    params = {"max_depth": 3, "eta": 0.3, "nthread": options.pop("n_jobs", 1)}
    booster = oxgb.train(
        params, dtrain, 5, n_classes=int(y.max()) + 1, evals=[(dtrain, "train")], verbose_eval=False, **options
    )
    record = oxgb.threshold_record(booster)
    return {
        "trees": _xgboost_trees(booster, record),
        "thresholds": np.array(record.thresholds),
        "loss": np.array(record.training_loss, dtype=float),
        "raw": oxgb.predict_proba(booster, dtrain)[:64],
    }


def train_olgbm(case: Case) -> Arrays:
    import lightgbm

    from ordinal_objectives.adapters import lgbm as olgbm

    X, y, weights, options = _rows(case, 600)
    params = {"num_leaves": 7, "learning_rate": 0.3, "verbosity": -1, "deterministic": True}
    params["num_threads"] = options.pop("n_jobs", 1)
    booster = olgbm.train(params, lightgbm.Dataset(X, y, weight=weights), 5, n_classes=int(y.max()) + 1, **options)
    record = olgbm.threshold_record(booster)
    return {
        "trees": _digest(json.dumps(booster.dump_model()["tree_info"], sort_keys=True)),
        "thresholds": np.array(record.thresholds),
        "loss": np.array(record.training_loss, dtype=float),
        "raw": olgbm.predict_proba(booster, X)[:64],
    }


def train_outputs(case: Case) -> Arrays:
    """Train a tree of several outputs: on targets, on classes without an order, or on labels."""
    from ordinal_objectives import HistGradientBoostingMultiOutputClassifier, HistGradientBoostingMultiOutputRegressor

    X, y, weights, options = _rows(case, 400)
    task = options.pop("task")
    targets = {"targets": np.c_[y, y**2, np.cos(y)], "classes": y, "labels": np.c_[y > 1, y > 2, y % 2].astype(int)}
    kind = HistGradientBoostingMultiOutputRegressor if task == "targets" else HistGradientBoostingMultiOutputClassifier
    options = {"max_iter": 5, "max_leaf_nodes": 7, "min_samples_leaf": 5, "subsample": 1.0, "n_jobs": 1, **options}
    model = kind(**options).fit(X, targets[task], sample_weight=weights)
    trees = model._ensemble.trees
    names = ("feature", "threshold", "left", "missing_left", "value", "gain", "count")
    arrays = {name: np.concatenate([getattr(tree, name).ravel() for tree in trees]) for name in names}
    return arrays | {"raw": np.asarray(model.predict(X)[:64], dtype=float)}


def of_one_score(updates: tuple[str, ...], options: tuple[Case, ...]) -> Iterator[Case]:
    """Yield every pair of loss, Hessian and update with every set of options at some number of classes."""
    combinations = itertools.product(LOSSES, HESSIANS, updates, options)
    for i, ((loss, link), hessian, update, more) in enumerate(combinations):
        n_classes = N_CLASSES[i % len(N_CLASSES)]
        case = {"loss": loss, "link": link, "hessian": hessian, "threshold_update": update, "K": n_classes, **more}
        yield case


def of_shifts(penalties: Iterable[Case], more: Iterable[Case] = ({},)) -> Iterator[Case]:
    """Yield thresholds that move with x: loss by penalty by options, at some number of classes."""
    for i, ((loss, link), penalty, others) in enumerate(itertools.product(OF_MARGINS, penalties, more)):
        yield {"loss": loss, "link": link, "K": (3, 5, 8, 12)[i % 4], "proportional": False, **penalty, **others}
    yield {"loss": "all_threshold", "link": "logit", "K": 6}  # as it ships


def of_orders() -> Iterator[Case]:
    for order, update, n_classes in itertools.product((3, 4), ("joint", "newton"), (2, 5, 8)):
        case = {"order": order, "threshold_update": update, "K": n_classes, "proportional": True}
        yield case | {"loss": "all_threshold", "link": "logit"}
        yield case | {"loss": "all_threshold", "link": "logit", "weighted": True, "missing": True}


def of_outputs() -> Iterator[Case]:
    for task, hessian, more in itertools.product(
        ("targets", "classes", "labels"), ("diagonal", "full", "majorized"), OUTPUT_OPTIONS
    ):
        if hessian == "diagonal" or "max_outputs" not in more:
            yield {"task": task, "hessian": hessian, "K": 4, **more}


def of_trains(host: bool) -> Iterator[Case]:
    for i, options in enumerate(
        (*TRAIN_OPTIONS, *({"proportional": False, **one} for one in ((*HOST, *SPLIT_OUTPUTS) if host else ())))
    ):
        yield {"K": (3, 5, 8)[i % 3], **options}


def of_threads() -> Iterator[Case]:
    for case, n_jobs in itertools.product(LARGE, (1, 2, 5)):
        yield {"K": 5, "n_jobs": n_jobs, **case}


def _one_score(train: Callable[[Case], Arrays]) -> Callable[[Case], Arrays]:
    return lambda case: train({"proportional": True, **case})


UPDATES = ("newton", "fixed", "schur", "joint")
# Kind: how one of its models is trained, and its cases.
KINDS: dict[str, tuple[Callable[[Case], Arrays], Callable[[], Iterator[Case]]]] = {
    "engine": (_one_score(train_engine), lambda: of_one_score(("joint", "newton", "fixed"), ENGINE_OPTIONS)),
    "xgb": (_one_score(train_xgb), lambda: of_one_score(UPDATES, XGB_OPTIONS)),
    "lgbm": (_one_score(train_lgbm), lambda: of_one_score(UPDATES, LGBM_OPTIONS)),
    "engine shifts": (
        train_engine,
        lambda: of_shifts((*PENALTIES, SPARSE), [{"split_gain": gain} for gain in ("vector", "joint", "scalar")]),
    ),
    "xgb shifts": (train_xgb, lambda: of_shifts((*PENALTIES, *HOST))),
    "lgbm shifts": (train_lgbm, lambda: of_shifts(PENALTIES)),
    "engine order": (train_engine, of_orders),
    "outputs": (train_outputs, of_outputs),
    "oxgb.train": (train_oxgb, lambda: of_trains(host=True)),
    "olgbm.train": (train_olgbm, lambda: of_trains(host=False)),
    "engine large": (train_large, of_threads),
}
# Of the engine alone and small: their arrays are committed.
COMMITTED = ("engine", "engine shifts", "engine order", "outputs")


def cases(kind: str) -> Iterator[tuple[str, Case]]:
    """Yield a name and the options of every case of a kind."""
    for i, case in enumerate(KINDS[kind][1]()):
        yield f"{kind}/{i:03d} " + json.dumps(case, sort_keys=True), case
