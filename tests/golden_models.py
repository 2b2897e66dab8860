"""Small models of every kind, stored as arrays, to see that a rebuild changes nothing.

    python tests/golden_models.py write models.npz             all three backends
    python tests/golden_models.py compare models.npz           bit for bit; prints what differs
    python tests/golden_models.py write --engine tests/data/golden_engine.npz

The engine's models of the last version are committed; `test_engine_golden.py` compares them to 1e-6, since instruction
sets differ by 2e-8. Those of the hosts depend on the hosts' versions and are compared on one machine alone.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
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


def cases(backend: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a name and the options of every case."""
    updates = ("joint", "newton", "fixed") if backend == "engine" else ("newton", "fixed", "schur", "joint")
    options = {"engine": ENGINE_OPTIONS, "xgb": XGB_OPTIONS, "lgbm": LGBM_OPTIONS}[backend]
    # Every pair of loss, Hessian and update with every set of options at some number of classes: not the full product.
    combinations = itertools.product(LOSSES, HESSIANS, updates, options)
    for i, ((loss, link), hessian, update, more) in enumerate(combinations):
        n_classes = N_CLASSES[i % len(N_CLASSES)]
        case = {"loss": loss, "link": link, "hessian": hessian, "threshold_update": update, "K": n_classes, **more}
        yield f"{backend}/{i:03d} " + json.dumps(case, sort_keys=True), case


def train(backend: str, case: dict[str, Any]) -> Arrays:
    """Train one model; return its thresholds, its trees, scores of some rows and the sums of probabilities."""
    from ordinal_objectives import (
        HistGradientBoostingOrdinalClassifier,
        LGBMOrdinalClassifier,
        XGBOrdinalClassifier,
    )

    case = dict(case)
    n_rows = 400 if backend == "engine" else 600
    X, y, weight = make_data(
        case.pop("K"), n_rows, missing=case.pop("missing", False), categorical=case.pop("categorical", False)
    )
    weights = weight if case.pop("weighted", False) else None
    model: Any
    if backend == "engine":
        options = {"max_iter": 5, "max_leaf_nodes": 7, "l2_regularization": 0.5, "min_samples_leaf": 5, **case}
        model = HistGradientBoostingOrdinalClassifier(proportional=True, n_jobs=1, **options)
        model.fit(X, y, sample_weight=weights)
        trees = model._ensemble.trees
        of_trees = {
            name: np.concatenate([getattr(tree, name) for tree in trees])
            for name in ("feature", "threshold", "left", "missing_left", "value", "gain", "count")
        }
        thresholds = model.threshold_history_
    elif backend == "xgb":
        model = XGBOrdinalClassifier(proportional=True, n_estimators=5, n_jobs=1, random_state=0, **case)
        model.fit(X, y, sample_weight=weights)
        of_trees = {"trees": _digest("".join(model.booster_.get_dump(dump_format="json", with_stats=True)))}
        thresholds = np.array(model._record.thresholds)
    else:
        model = LGBMOrdinalClassifier(
            proportional=True, n_estimators=5, num_leaves=7, n_jobs=1, random_state=0, verbose=-1, **case
        )
        model.fit(X, y, sample_weight=weights)
        of_trees = {"trees": _digest(json.dumps(model.booster_.dump_model()["tree_info"], sort_keys=True))}
        thresholds = np.array(model._record.thresholds)
    return {
        "thresholds": thresholds,
        "raw": model.predict_raw(X)[:64],
        "proba": model.predict_proba(X).sum(axis=0),
        **of_trees,
    }


def _digest(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(hashlib.sha256(text.encode()).digest(), np.uint8)


def models(backends: list[str], loss: str | None = None) -> Iterator[tuple[str, Arrays]]:
    """Yield the name and arrays of every model that its library allows, of one loss or of all."""
    from ordinal_objectives.losses import get_loss

    for backend in backends:
        for name, case in cases(backend):
            if loss not in (None, case["loss"]) or not get_loss(case["loss"], case["link"]).supports(case["hessian"]):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield name, train(backend, case)


def write(path: str | Path, backends: list[str]) -> int:
    """Store models: of each kind of array all models' entries, one after the other. Return how many there are."""
    found = list(models(backends))
    content: Arrays = {"names": np.array([name for name, _ in found])}
    for key in sorted({key for _, arrays in found for key in arrays}):
        parts = [arrays.get(key, np.zeros(0)) for _, arrays in found]
        content[key] = np.concatenate([part.ravel() for part in parts if part.size])
        content[f"{key}_size"] = np.array([part.size for part in parts])
    np.savez_compressed(path, **content)
    return len(found)


def read(path: str | Path) -> dict[str, Arrays]:
    """Return the stored models by name; arrays are flat."""
    content = np.load(path)
    result: dict[str, Arrays] = {str(name): {} for name in content["names"]}
    for key in content.files:
        if f"{key}_size" in content.files:
            parts = np.split(content[key], np.cumsum(content[f"{key}_size"])[:-1])
            for arrays, part in zip(result.values(), parts, strict=True):
                arrays[key] = part
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["write", "compare"])
    parser.add_argument("path")
    parser.add_argument("--engine", action="store_true", help="the native engine alone")
    arguments = parser.parse_args()
    backends = ["engine"] if arguments.engine else ["engine", "xgb", "lgbm"]
    if arguments.action == "write":
        print(f"{write(arguments.path, backends)} models")
        return
    stored = read(arguments.path)
    n_models = n_different = 0
    for name, arrays in models(backends):
        n_models += 1
        different = [key for key, value in arrays.items() if not np.array_equal(stored[name][key], value.ravel())]
        n_different += bool(different)
        if different:
            print(name, "differs in", ", ".join(different))
    print(f"{n_models} models, {n_different} differ; {len(stored)} stored")


if __name__ == "__main__":
    main()
