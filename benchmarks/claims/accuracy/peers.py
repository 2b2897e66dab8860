"""Our classifiers beside ogboost and XGBOrdinal: same depth, rounds, learning rate and rows; seconds and test errors.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/peers.py [--data synthetic california abalone] [--seeds 0 1 2]

The settings are ogboost's defaults: 100 rounds, trees of depth 3, learning rate 0.1. One thread each, so seconds are
those of the processor: other work on the machine does not count. The methods of a partition alternate, and those
that are done in seconds are repeated. Partitions that are in
results/peers_runs.json already are not measured again.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import time
import warnings
from functools import partial
from statistics import mean, median, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lib import report
from lib.data import load, partition as split
from lib.methods import HOST_DEFAULTS, encoder
from lib.runner import resume
from lib.timing import make_data
from ordinal_objectives import LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.metrics import mean_absolute_error, ordinal_log_loss, quadratic_weighted_kappa

ROUNDS, DEPTH, ETA = 100, 3, 0.1
REPEATS, LONG = 3, 5.0  # fits of more seconds than LONG are timed once


def estimators(n_classes: int) -> dict[str, Any]:
    """Return what is compared, by name, each ready to be fitted to numbers and class codes."""
    from ogboost import GradientBoostingOrdinal
    from sklearn.tree import DecisionTreeRegressor
    from xgbordinal import XGBOrdinal

    common: dict[str, Any] = {"n_estimators": ROUNDS, "learning_rate": ETA}
    trees = {**common, "max_depth": DEPTH, "n_jobs": 1}
    found = {}
    for host, kind in (("XGBoost", XGBOrdinalClassifier), ("LightGBM", partial(LGBMOrdinalClassifier, num_leaves=8))):
        for loss, name in (("all_threshold", ""), ("cumulative_link", ", likelihood")):
            for update in ("newton", "joint"):
                options: dict[str, Any] = {"classes": np.arange(n_classes), "loss": loss, "threshold_update": update}
                found[f"{host} {update}{name}"] = kind(**(HOST_DEFAULTS[host] | trees), **options)
    found["ogboost"] = GradientBoostingOrdinal(base_learner=DecisionTreeRegressor(max_depth=DEPTH), **common)
    found["XGBOrdinal"] = XGBOrdinal(**trees)
    return found


DATA = ("synthetic", "california", "abalone")
FILE = report.RESULTS / "peers_runs.json"
MEASURES = {"log loss": "log_loss", "MAE": "mae", "QWK": "qwk"}


def rows_of(name: str, seed: int) -> tuple[list[NDArray[Any]], list[NDArray[np.int32]], int]:
    """Return numbers and class codes to train and to test on, and the number of classes."""
    if name == "synthetic":
        n_classes = 10
        X, y = make_data(30_000, 10, n_classes)
        order = np.random.default_rng(seed).permutation(len(y))
        parts = order[:20_000], order[20_000:]
        return [X[part] for part in parts], [y[part] for part in parts], n_classes
    dataset = load(name, "quantile")
    parts = split(dataset, seed)
    encode = encoder(scale=False).fit(dataset.X.iloc[parts[0]])
    return (
        [encode.transform(dataset.X.iloc[part]) for part in parts],
        [dataset.y[part] for part in parts],
        dataset.n_classes,
    )


def judge(model: Any, X: NDArray[Any], y: NDArray[np.int32]) -> dict[str, float]:
    predicted, proba = model.predict(X), model.predict_proba(X)
    return {
        "log_loss": ordinal_log_loss(y, proba, labels=range(proba.shape[1])),
        "mae": mean_absolute_error(y, predicted),
        "qwk": quadratic_weighted_kappa(y, predicted),
    }


def measure(case: dict[str, Any]) -> list[dict[str, Any]]:
    (X, X_test), (y, y_test), n_classes = rows_of(case["data"], case["seed"])
    models = estimators(n_classes)
    seconds: dict[str, list[float]] = {method: [] for method in models}
    for model in models.values():
        model.fit(X[:1000], y[:1000])  # whatever is imported and built once
    for _ in range(REPEATS):
        for method, model in models.items():
            if not seconds[method] or max(seconds[method]) < LONG:
                start = time.process_time()
                model.fit(X, y)
                seconds[method].append(time.process_time() - start)
    return [
        {"n": len(y), "method": method, "seconds": median(seconds[method]), **judge(model, X_test, y_test)}
        for method, model in models.items()
    ]


def summarise(runs: list[dict[str, Any]]) -> None:
    table = []
    for name in DATA:
        here = [run for run in runs if run["data"] == name]
        slowest = {run["seed"]: run["seconds"] for run in here if run["method"] == "ogboost"}
        for method in estimators(2):
            found = [run for run in here if run["method"] == method]
            if found:
                faster = median(slowest[run["seed"]] / run["seconds"] for run in found)
                row = {"data": name, "n": found[0]["n"], "method": method}
                row |= {"seconds": median(run["seconds"] for run in found), "times faster than ogboost": faster}
                table.append(row | {shown: _spread([run[key] for run in found]) for shown, key in MEASURES.items()})
    report.write(
        "peers",
        f"Beside other ordinal boosters: {ROUNDS} rounds, depth {DEPTH}, learning rate {ETA}, one thread",
        table,
        "Processor seconds of a whole fit, median over partitions; test errors: mean ± standard deviation over them. "
        "Ours: logit link, all-threshold loss, or the likelihood of the cumulative link, which ogboost (probit) "
        "minimises too; LightGBM grows 8 leaves. XGBOrdinal trains one booster for each threshold. MAE and QWK by each "
        "package's own decision rule: the median class of ours, the most probable class of the others. ordinalgbt "
        "wants lightgbm below 4 and could not be installed beside it.",
    )


def _spread(values: list[float]) -> str:
    return f"{mean(values):.4f} ± {stdev(values) if len(values) > 1 else 0.0:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the peers' own
    cases = [{"data": name, "seed": seed} for name in options.data for seed in options.seeds]
    summarise(resume(FILE, cases, measure))


if __name__ == "__main__":
    main()
