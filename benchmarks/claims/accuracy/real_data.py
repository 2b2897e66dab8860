"""Ordinal boosting beside the same library's multiclass, and learned beside fixed thresholds, on real data.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/real_data.py

Regression targets are cut at their deciles by value (rule `quantile`). Three random 70/30 partitions; depth 4,
eta 0.1, 300 rounds; nothing is tuned.
"""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import xgboost
from numpy.typing import NDArray

from lib import report
from lib.data import load
from lib.methods import HOST_DEFAULTS
from ordinal_objectives import AllThreshold, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.metrics import mean_absolute_error, zero_one_error

DATA = ("abalone", "cpu_act", "california", "wine_red")
ROUNDS, DEPTH, ETA = 300, 4, 0.1


def evaluate(
    library: str, X: tuple[pd.DataFrame, pd.DataFrame], y: tuple[NDArray[np.integer], ...]
) -> dict[str, float]:
    """Return test errors of the ordinal and the multiclass model, and test losses by threshold update."""
    n_classes = int(max(y[0].max(), y[1].max())) + 1
    classes = np.arange(n_classes)
    common: dict[str, Any] = {"n_estimators": ROUNDS, "max_depth": DEPTH, "learning_rate": ETA}
    if library == "XGBoost":
        ordinal: XGBOrdinalClassifier | LGBMOrdinalClassifier = XGBOrdinalClassifier(
            classes=classes, proportional=True, **HOST_DEFAULTS["XGBoost"], **common
        )
        multiclass = xgboost.XGBClassifier(enable_categorical=True, **common)
    else:
        common |= {"num_leaves": 2**DEPTH, "verbose": -1}
        ordinal = LGBMOrdinalClassifier(classes=classes, proportional=True, **(HOST_DEFAULTS["LightGBM"] | common))
        multiclass = lightgbm.LGBMClassifier(**common)
    result = {}
    for hessian, update in (("exact", "newton"), ("exact", "fixed"), ("majorized", "newton"), ("majorized", "fixed")):
        ordinal.set_params(hessian=hessian, threshold_update=update).fit(X[0], y[0])
        loss = AllThreshold().value(ordinal.predict_raw(X[1]), y[1], ordinal.thresholds_)
        result[f"loss {update}, {hessian}"] = float(loss.mean())
        if update == "newton":
            result[f"MAE {hessian}"] = mean_absolute_error(y[1], ordinal.predict(X[1]))
            result[f"zero-one {hessian}"] = zero_one_error(y[1], ordinal.predict(X[1]))
    # XGBClassifier wants every class in the training rows; a class that is missing there gets no vote.
    seen, codes = np.unique(y[0], return_inverse=True)
    predicted = seen[multiclass.fit(X[0], codes).predict(X[1])]
    result["MAE multiclass"] = mean_absolute_error(y[1], predicted)
    result["zero-one multiclass"] = zero_one_error(y[1], predicted)
    return result


def main() -> None:
    rows = []
    for name in DATA:
        dataset = load(name)
        X, y = dataset.X, dataset.y
        for seed in range(3):
            order = np.random.default_rng(seed).permutation(len(y))
            cut = int(0.7 * len(y))
            fit, test = order[:cut], order[cut:]
            for library in ("XGBoost", "LightGBM"):
                found = evaluate(library, (X.iloc[fit], X.iloc[test]), (y[fit], y[test]))
                ratios = {
                    f"MAE ratio {hessian}": found[f"MAE {hessian}"] / found["MAE multiclass"]
                    for hessian in ("exact", "majorized")
                }
                rows.append({"data": name, "seed": seed, "library": library, **ratios, **found})
                print(rows[-1], flush=True)
    report.write(
        "real_data",
        "Ordinal against multiclass, learned against fixed thresholds (test rows)",
        rows,
        f"Ordinal: all-threshold, logit, decision rule median; {ROUNDS} rounds, depth {DEPTH}, eta {ETA}. `loss` is "
        f"the all-threshold loss. MAE ratio: ordinal / multiclass.",
    )


if __name__ == "__main__":
    main()
