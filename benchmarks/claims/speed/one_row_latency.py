"""How long the probabilities of one row take: by the classifiers, through ONNX, and by the hosts' own classifiers.

    python benchmarks/claims/speed/one_row_latency.py
    python benchmarks/claims/speed/one_row_latency.py --trees 20 --repeats 50

All numbers of a line come from one process. The ways take turns, and each is the median over many calls.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import onnxruntime
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from xgboost import XGBClassifier

from claims.speed.engine_rounds import in_turns
from lib import report
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.export import to_onnx

NAME, FEATURES, ROWS, K = "one_row_latency", 28, 5000, 5
NOTE = (
    "predict_proba of one row of an array in milliseconds, on one thread; medians. Five classes, 28 features; 100 "
    "trees of 32 leaves at most, for the multiclass models 100 rounds of five trees. ONNX in float32, by onnxruntime. "
    '"shifts": thresholds move with x, by trees of vectors.'
)


def session(model: Any, X: np.ndarray) -> Callable[[np.ndarray], Any]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    running = onnxruntime.InferenceSession(to_onnx(model, X).SerializeToString(), options)
    return lambda row: running.run(["probabilities"], {"X": row})


def measure(trees: int, repeats: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES)).astype(np.float32)
    score = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + rng.logistic(size=ROWS)
    y = np.searchsorted(np.quantile(score, np.arange(1, K) / K), score)
    row, rows = X[:1], []
    kinds: dict[str, tuple[Any, Any]] = {
        "XGBoost": (
            lambda **more: XGBOrdinalClassifier(n_estimators=trees, max_depth=5, n_jobs=1, **more),
            XGBClassifier(n_estimators=trees, max_depth=5, n_jobs=1),
        ),
        "LightGBM": (
            lambda **more: LGBMOrdinalClassifier(n_estimators=trees, n_jobs=1, **more),
            LGBMClassifier(n_estimators=trees, n_jobs=1, verbosity=-1),
        ),
        "native": (
            lambda **more: HistGradientBoostingOrdinalClassifier(max_iter=trees, n_jobs=1, **more),
            HistGradientBoostingClassifier(max_iter=trees, early_stopping=False),
        ),
    }
    for name, (make, multiclass) in kinds.items():
        models = {kind: make(proportional=kind == "one score").fit(X, y) for kind in ("one score", "shifts")}
        calls = {f"{kind}, predict_proba": model.predict_proba for kind, model in models.items()}
        calls |= {f"{kind}, ONNX": session(model, X) for kind, model in models.items()}
        calls["multiclass, predict_proba"] = multiclass.fit(X, y).predict_proba
        timed: dict[str, Callable[[], Any]] = {way: partial(call, row) for way, call in calls.items()}
        ms = {way: median(times) for way, times in in_turns(timed, repeats).items()}
        rows.append({"library": name} | ms)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=500)
    options = parser.parse_args()
    report.write(NAME, "The probabilities of one row", measure(options.trees, options.repeats), NOTE)


if __name__ == "__main__":
    main()
