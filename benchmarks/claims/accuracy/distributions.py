"""Distributions of numbers: OrdinalDistributionRegressor beside quantile losses and families of distributions.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/distributions.py [--minutes 60] [--methods NAME ...]
    python benchmarks/claims/accuracy/distributions.py --tables

The sixteen regression sets, uncut, and six with heaps, skew or counts. Every rival finds its number of rounds, and one
of two sizes of its trees, on a fifth of the rows, and is trained again on all of them; ours are called without
arguments. Seconds are the processor's, one thread. Runs are kept in results/distributions_runs.csv: run again to
continue. Needs ngboost and quantile-forest beside the benchmarks' own packages.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xgboost
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from lib import report
from lib.data import SIXTEEN, read, rows_from
from lib.runner import Row, resume
from lib.statistics import Comparison, ratio_interval
from ordinal_objectives import (
    LGBMOrdinalClassifier,
    OrdinalDistributionRegressor,
    XGBOrdinalClassifier,
)
from ordinal_objectives.distributions import interval_coverage, interval_width, quantile_loss

NAME, FOREST = "distributions", "quantile forest"
Array = NDArray[np.float64]
LEVELS, FINE = np.arange(1, 20) / 20, np.arange(1, 100) / 100
RATE, MOST, PATIENCE, SUBSAMPLE = 0.1, 1_000, 20, 0.8
MOST_ROWS, MOST_TEST, FEW_ROWS = 4_000, 2_000, 1_000


def _statsmodels(name: str, target: str, dropped: tuple[str, ...] = ()) -> pd.DataFrame:
    import statsmodels.api as sm

    frame = getattr(sm.datasets, name).load_pandas().data
    return frame.drop(columns=[target, *dropped]).assign(target=frame[target])


def _changed(name: str, change: Callable[[Any], Any]) -> pd.DataFrame:
    frame = read(name)
    return frame.assign(target=change(frame["target"].astype(float)))


# With heaps, counts and skew: two as they are, four made of the sixteen.
SIX: dict[str, Callable[[], pd.DataFrame]] = {
    "doctor visits": partial(_statsmodels, "randhie", "mdvis"),
    "affairs": partial(_statsmodels, "fair", "affairs"),
    "boston, round prices": partial(_changed, "boston", lambda y: 5 * np.round(y / 5)),
    "california, censored below": partial(_changed, "california", lambda y: np.maximum(y, y.quantile(0.3))),
    "bank8FM, exponential": partial(_changed, "bank8FM", lambda y: np.exp(3 * y / y.std())),
    "cpu_small, rounded to tens": partial(_changed, "cpu_small", lambda y: 10 * np.round(y / 10)),
}
# Whose rows they are: sets that share rows count once in means, ranks and counts.
ROWS_FROM = {name: rows_from(name) for name in SIXTEEN} | {name: rows_from(name.split(",")[0]) for name in SIX}
SETS: dict[str, Callable[[], pd.DataFrame]] = {**{name: partial(read, name) for name in SIXTEEN}, **SIX}


def rows_of(name: str, seed: int) -> tuple[Array, Array, Array, Array]:
    """Return rows to train and to test on; categories are numbers."""
    frame = SETS[name]()
    y = frame.pop("target").to_numpy(dtype=float)
    X = np.column_stack(
        [
            column.to_numpy(dtype=float)
            if pd.api.types.is_numeric_dtype(column)
            else pd.factorize(column, sort=True)[0]
            for _, column in frame.items()
        ]
    ).astype(float)
    order = np.random.default_rng(seed).permutation(len(y))
    train = order[: min(7 * len(y) // 10, MOST_ROWS)]
    test = order[len(train) : len(train) + MOST_TEST]
    return X[train], y[train], X[test], y[test]


Predicted = tuple[Array, Array]  # quantiles at FINE, means


def ours(kind: type | None, X: Array, y: Array, X_test: Array, seed: int) -> Predicted:
    estimator = None if kind is None else kind(n_jobs=1, random_state=seed)
    model = OrdinalDistributionRegressor(estimator, random_state=seed).fit(X, y)
    return model.predict_quantile(X_test, FINE), model.predict(X_test)


def linear_cumulative(X: Array, y: Array, X_test: Array, seed: int) -> Predicted:
    """Predict by a linear score with the cumulative link; the one tree has a rate of almost nothing."""
    linear = XGBOrdinalClassifier(
        n_estimators=1,
        learning_rate=1e-9,
        linear=True,
        linear_l2=0.01,
        loss="cumulative_link",
        proportional=True,
        n_jobs=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = OrdinalDistributionRegressor(linear).fit(X, y)
    return model.predict_quantile(X_test, FINE), model.predict(X_test)


def _fine(quantiles: Array) -> Predicted:
    """Return sorted quantiles at all levels, from those at LEVELS, and their mean."""
    rising = np.sort(quantiles, axis=1)
    fine = np.array([np.interp(FINE, LEVELS, row) for row in rising])
    return fine, rising.mean(axis=1)


def _divided(X: Array, y: Array, seed: int) -> list[Array]:
    return train_test_split(X, y, test_size=0.2, random_state=seed)


def xgboost_quantiles(X: Array, y: Array, X_test: Array, seed: int) -> Predicted:
    fit_X, held_X, fit_y, held_y = _divided(X, y, seed)
    params: dict[str, Any] = {"learning_rate": RATE, "subsample": SUBSAMPLE, "n_jobs": 1, "random_state": seed}
    params |= {"objective": "reg:quantileerror", "quantile_alpha": LEVELS}
    found = []
    for depth in (3, 6):
        model = xgboost.XGBRegressor(max_depth=depth, n_estimators=MOST, early_stopping_rounds=PATIENCE, **params)
        model.fit(fit_X, fit_y, eval_set=[(held_X, held_y)], verbose=False)
        found.append((model.best_score, depth, model.best_iteration + 1))
    _, depth, rounds = min(found)
    return _fine(xgboost.XGBRegressor(max_depth=depth, n_estimators=rounds, **params).fit(X, y).predict(X_test))


def lightgbm_quantiles(X: Array, y: Array, X_test: Array, seed: int) -> Predicted:
    import lightgbm

    fit_X, held_X, fit_y, held_y = _divided(X, y, seed)
    params: dict[str, Any] = {"objective": "quantile", "learning_rate": RATE, "num_threads": 1, "verbosity": -1}
    params |= {"bagging_fraction": SUBSAMPLE, "bagging_freq": 1, "seed": seed}
    found = []
    for leaves in (7, 31):
        rounds, loss = [], 0.0
        for level in LEVELS:
            fit = lightgbm.Dataset(fit_X, fit_y)
            stop = [lightgbm.early_stopping(PATIENCE, verbose=False)]
            sized = {**params, "alpha": level, "num_leaves": leaves}
            held = [lightgbm.Dataset(held_X, held_y, reference=fit)]
            booster = lightgbm.train(sized, fit, MOST, valid_sets=held, callbacks=stop)
            rounds.append(booster.best_iteration)
            loss += booster.best_score["valid_0"]["quantile"]
        found.append((loss, leaves, rounds))
    _, leaves, rounds = min(found)
    quantiles = [
        lightgbm.train({**params, "alpha": level, "num_leaves": leaves}, lightgbm.Dataset(X, y), n).predict(X_test)
        for level, n in zip(LEVELS, rounds, strict=True)
    ]
    return _fine(np.column_stack(quantiles))


def scikit_learn_quantiles(X: Array, y: Array, X_test: Array, seed: int) -> Predicted:
    fit_X, held_X, fit_y, held_y = _divided(X, y, seed)
    params: dict[str, Any] = {"loss": "quantile", "learning_rate": RATE, "random_state": seed}

    def stopped(level: float, leaves: int) -> tuple[float, int]:
        """Return the lowest loss of the rows held out, and the rounds that gave it."""
        model = HistGradientBoostingRegressor(
            quantile=level,
            max_leaf_nodes=leaves,
            max_iter=MOST,
            early_stopping=True,
            n_iter_no_change=PATIENCE,
            **params,
        ).fit(fit_X, fit_y, X_val=held_X, y_val=held_y)
        return -float(np.max(model.validation_score_)), max(1, int(np.argmax(model.validation_score_)))

    some = LEVELS[[1, 9, 17]]
    tried = {leaves: {level: stopped(level, leaves) for level in some} for leaves in (7, 31)}
    leaves = min(tried, key=lambda leaves: sum(loss for loss, _ in tried[leaves].values()))
    found = tried[leaves] | {level: stopped(level, leaves) for level in LEVELS if level not in some}
    quantiles = [
        HistGradientBoostingRegressor(
            quantile=level, max_leaf_nodes=leaves, max_iter=found[level][1], early_stopping=False, **params
        )
        .fit(X, y)
        .predict(X_test)
        for level in LEVELS
    ]
    return _fine(np.column_stack(quantiles))


def catboost(loss: str, X: Array, y: Array, X_test: Array, seed: int) -> Predicted:
    from catboost import CatBoostRegressor

    fit_X, held_X, fit_y, held_y = _divided(X, y, seed)
    params: dict[str, Any] = {"loss_function": loss, "learning_rate": RATE, "random_seed": seed, "thread_count": 1}
    params |= {"verbose": 0, "allow_writing_files": False}
    found = []
    for depth in (4, 6):
        model = CatBoostRegressor(depth=depth, iterations=MOST, od_type="Iter", od_wait=PATIENCE, **params)
        model.fit(fit_X, fit_y, eval_set=(held_X, held_y), use_best_model=True)
        found.append((next(iter(model.get_best_score()["validation"].values())), depth, model.get_best_iteration() + 1))
    _, depth, rounds = min(found)
    predicted = CatBoostRegressor(depth=depth, iterations=rounds, **params).fit(X, y).predict(X_test)
    if loss == "RMSEWithUncertainty":
        mean, variance = predicted.T
        return mean[:, np.newaxis] + np.sqrt(variance)[:, np.newaxis] * norm.ppf(FINE), mean
    return _fine(predicted)


MULTI_QUANTILE = "MultiQuantile:alpha=" + ",".join(f"{level:.2f}" for level in LEVELS)


def ngboost(X: Array, y: Array, X_test: Array, seed: int) -> Predicted:
    from ngboost import NGBRegressor
    from ngboost.distns import LogNormal, Normal

    fit_X, held_X, fit_y, held_y = _divided(X, y, seed)
    found = []
    for family in (Normal, LogNormal) if y.min() > 0 else (Normal,):
        params = {"Dist": family, "learning_rate": 0.05, "verbose": False, "random_state": seed}
        model = NGBRegressor(n_estimators=MOST, **params)
        model.fit(fit_X, fit_y, X_val=held_X, Y_val=held_y, early_stopping_rounds=PATIENCE)
        quantiles = model.pred_dist(held_X).ppf(LEVELS[:, np.newaxis]).T
        best = MOST - 1 if model.best_val_loss_itr is None else model.best_val_loss_itr
        found.append((quantile_loss(held_y, quantiles, LEVELS), best + 1, params))
    _, rounds, params = min(found, key=lambda one: one[0])
    predicted = NGBRegressor(n_estimators=rounds, **params).fit(X, y).pred_dist(X_test)
    return predicted.ppf(FINE[:, np.newaxis]).T, predicted.mean()


def quantile_forest(X: Array, y: Array, X_test: Array, seed: int) -> Predicted:
    from quantile_forest import RandomForestQuantileRegressor

    fit_X, held_X, fit_y, held_y = _divided(X, y, seed)
    found = []
    for least in (1, 3, 15):
        forest = RandomForestQuantileRegressor(200, min_samples_leaf=least, n_jobs=1, random_state=seed).fit(
            fit_X, fit_y
        )
        found.append((quantile_loss(held_y, forest.predict(held_X, quantiles=list(LEVELS)), LEVELS), least))
    forest = RandomForestQuantileRegressor(200, min_samples_leaf=min(found)[1], n_jobs=1, random_state=seed).fit(X, y)
    return forest.predict(X_test, quantiles=list(FINE)), forest.predict(X_test, quantiles="mean")


def mean_and_residuals(X: Array, y: Array, X_test: Array, seed: int) -> Predicted:
    """One mean for each row, and the residuals of rows held out around it."""
    fit_X, held_X, fit_y, held_y = _divided(X, y, seed)
    params: dict[str, Any] = {"learning_rate": RATE, "subsample": SUBSAMPLE, "n_jobs": 1, "random_state": seed}
    found = []
    for depth in (3, 6):
        model = xgboost.XGBRegressor(max_depth=depth, n_estimators=MOST, early_stopping_rounds=PATIENCE, **params)
        model.fit(fit_X, fit_y, eval_set=[(held_X, held_y)], verbose=False)
        found.append((model.best_score, depth, model.best_iteration + 1, held_y - model.predict(held_X)))
    _, depth, rounds, residuals = min(found, key=lambda one: one[0])
    mean = xgboost.XGBRegressor(max_depth=depth, n_estimators=rounds, **params).fit(X, y).predict(X_test)
    return mean[:, np.newaxis] + np.quantile(residuals, FINE), mean


METHODS: dict[str, Callable[..., Predicted]] = {
    "ours, native": partial(ours, None),
    "ours, XGBoost": partial(ours, XGBOrdinalClassifier),
    "ours, LightGBM": partial(ours, LGBMOrdinalClassifier),
    "linear cumulative model": linear_cumulative,
    "XGBoost, 19 quantiles": xgboost_quantiles,
    "LightGBM, 19 quantiles": lightgbm_quantiles,
    "scikit-learn, 19 quantiles": scikit_learn_quantiles,
    "CatBoost, MultiQuantile": partial(catboost, MULTI_QUANTILE),
    "CatBoost, RMSEWithUncertainty": partial(catboost, "RMSEWithUncertainty"),
    "NGBoost": ngboost,
    FOREST: quantile_forest,
    "XGBoost, mean and residuals": mean_and_residuals,
}
RIVALS = [method for method in METHODS if not method.startswith("ours")]
FIGURES = ("crps", "pinball .05", "pinball .5", "pinball .95", "coverage", "width", "mae", "mse", "seconds")
COLUMNS = ("data", "seed", "method", *FIGURES)


def measure(case: Row) -> list[Row]:
    X, y, X_test, y_test = rows_of(case["data"], case["seed"])
    began = time.process_time()
    quantiles, mean = METHODS[case["method"]](X, y, X_test, case["seed"])
    seconds = time.process_time() - began
    interval = quantiles[:, [4, 94]]
    found = {
        "crps": 2 * quantile_loss(y_test, quantiles, FINE),
        **{
            f"pinball .{q}": quantile_loss(y_test, quantiles[:, k], FINE[k])
            for q, k in (("05", 4), ("5", 49), ("95", 94))
        },
        "coverage": interval_coverage(y_test, interval),
        "width": interval_width(interval),
        "mae": float(np.abs(quantiles[:, 49] - y_test).mean()),
        "mse": float(((mean - y_test) ** 2).mean()),
        "seconds": seconds,
    }
    return [found]


def _runs(name: str = NAME) -> pd.DataFrame:
    with (report.RESULTS / f"{name}_runs.csv").open(encoding="utf-8", newline="") as file:
        return pd.DataFrame(csv.DictReader(file)).astype(dict.fromkeys(FIGURES, float))


def _means() -> pd.DataFrame:
    """Return the mean over partitions of each figure, of the partitions that every method has."""
    runs = _runs()
    complete = runs.groupby(["data", "seed"])["method"].transform("nunique") == len(METHODS)
    return runs[complete].groupby(["method", "data"])[list(FIGURES)].mean()


def _ratio(means: pd.DataFrame, method: str, other: str, figure: str) -> float:
    one, two = means.loc[method][figure], means.loc[other][figure]
    keep = (one > 0) & (two > 0)
    return float(np.exp(np.log(one[keep] / two[keep]).groupby(ROWS_FROM.get).mean().mean()))


def tables() -> Iterator[tuple[str, str, list[Row]]]:
    means, first = _means(), "ours, native"
    crps = means["crps"].unstack("method")
    ranks = crps.rank(axis=1).groupby(ROWS_FROM.get).mean().mean()
    logs = np.log(crps).groupby(ROWS_FROM.get).mean()
    large = [name for name in crps.index if len(SETS[name]()) > 500]
    rows = []
    for method in METHODS:
        own = means.loc[method]
        ratios: Row = {
            f"{name} / native": _ratio(means, method, first, name) for name in ("crps", "mae", "mse", "seconds")
        }
        if method != first:
            beside = logs[method] - logs[first]
            low, high = ratio_interval(np.exp(beside))
            ratios |= {"of crps: interval": f"[{low:.3f}, {high:.3f}]", "median": f"{np.exp(beside.median()):.3f}"}
            kinds = {"the sixteen": tuple(SIXTEEN), "the six": tuple(SIX)}
            ratios |= {
                name: _ratio(means.loc[pd.IndexSlice[:, sets], :], method, first, "crps")
                for name, sets in kinds.items()
            }
            ratios["p"] = f"{Comparison(-beside, np.zeros(len(beside))).p:.2g}"
        else:
            ratios |= dict.fromkeys(("of crps: interval", "median", "the sixteen", "the six", "p"), "-")
        rows.append(
            {
                "method": method,
                "mean rank by CRPS": float(ranks[method]),
                **ratios,
                "native lower on": int((logs[first] < logs[method]).sum()),
                "coverage of 90%": float(own["coverage"].mean()),
                "lowest, over 500 rows": float(own["coverage"][large].min()),
            }
        )
    yield NAME, "Distributions of numbers", rows
    by_set = [
        {"data": name, **{method: float(crps.loc[name, method] / crps.loc[name, first]) for method in METHODS}}
        for name in SETS
        if name in crps.index
    ]
    yield f"{NAME}_by_set", "Distributions of numbers, CRPS of each set beside the native one", by_set


def forest_rows() -> list[Row]:
    """Return the forest beside the native one, on sets of few rows and of more."""
    crps = _means()["crps"].unstack("method")
    logs = np.log(crps[FOREST] / crps["ours, native"])
    few = [name for name in SETS if len(SETS[name]()) <= FEW_ROWS]
    rows = []
    for kind, names in (("the sixteen", tuple(SIXTEEN)), ("the six", tuple(SIX))):
        for words, is_few in ((f"at most {FEW_ROWS:,} rows", True), ("more rows", False)):
            of_sets = logs[[name in names and (name in few) == is_few for name in logs.index]]
            if of_sets.empty:
                continue
            of_sets = of_sets.groupby(ROWS_FROM.get).mean()
            low, high = ratio_interval(np.exp(of_sets))
            between = f" [{low:.3f}, {high:.3f}]" if np.isfinite(low) else ""
            lower = f"{int((of_sets > 0).sum())} of {len(of_sets)}"
            ratio = f"{np.exp(of_sets.mean()):.3f}{between}"
            rows.append({"sets": f"{kind}, {words}", "forest / native": ratio, "native lower on": lower})
    return rows


def write_tables() -> None:
    runs = report.RESULTS / f"{NAME}_runs.csv"
    note = (
        f"At most {MOST_ROWS:,} rows to train and {MOST_TEST:,} to test on. CRPS: twice the mean quantile loss at 99 "
        "levels; ratios are geometric means over the sets, of which those that share rows count once (16). p: of the "
        "signed-rank test that the native one is lower. Seconds are the processor's, one thread, search included."
    )
    for name, title, rows in tables():
        report.write(name, title, rows, note, runs)
    note = "CRPS of the quantile forest over the native one's: geometric mean over the sets [its interval]."
    report.write(f"{NAME}_forest", "Distributions of numbers, the quantile forest", forest_rows(), note, runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no case after so many")
    parser.add_argument("--seeds", type=int, default=2, help="number of partitions")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--results", type=Path, default=report.RESULTS / f"{NAME}_runs.csv")
    parser.add_argument("--tables", action="store_true", help="write the tables of what was measured")
    options = parser.parse_args()
    if not options.tables:
        cases = [
            {"data": data, "seed": seed, "method": method}
            for seed in range(options.seeds)
            for data in SETS
            for method in options.methods
        ]
        store = report.RunsFile(options.results, COLUMNS)
        resume(store, cases, measure, minutes=options.minutes, jobs=options.jobs)
    write_tables()


if __name__ == "__main__":
    main()
