"""Errors of methods on many sets, as ratios to one method: what the tables of plain calls and of ensembles hold."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lib.data import default_rule, load, partition
from lib.runner import Row
from ordinal_objectives.decision import decide
from ordinal_objectives.metrics import METRICS

NUMBERS = ("mae", "zero_one", "rps", "log_loss", "seconds")
COLUMNS = ("data", "seed", "method", *NUMBERS, "rounds", "failure")
# Added to means before their logarithms, since some are 0.
ADDED = 1e-4
SHARES = "class shares"
NOTE = (
    "Geometric mean over sets of the ratio to the first method, and in brackets on how many sets it is lower; absolute "
    "error of the median class, zero-one error of the most probable class. `above class shares`: sets with a higher "
    "RPS or log loss than the shares of the classes in the training rows. Seconds of the processor, one thread, with "
    "all that is held out and searched."
)

# (training rows, features of the test rows, number of classes) -> probabilities, rounds
Predict = Callable[[tuple[Any, Any], Any, int], tuple[NDArray[np.float64], int]]


def errors_of(case: Row, predict: Predict) -> Row:
    """Return the errors of a method on one partition of a set, or its failure."""
    warnings.simplefilter("ignore")
    dataset = load(case["data"], default_rule(case["data"]))
    train, test = partition(dataset, case["seed"])
    rows, n_classes = (dataset.X.iloc[train].reset_index(drop=True), dataset.y[train]), dataset.n_classes
    start = time.process_time()
    try:
        proba, rounds = predict(rows, dataset.X.iloc[test], n_classes)
    except Exception as error:
        return {"failure": f"{type(error).__name__}: {error}"[:120].replace("\n", " ")}
    row: Row = {"seconds": time.process_time() - start, "rounds": rounds, "failure": ""}
    y = dataset.y[test]
    row |= {name: METRICS[name].function(y, proba, labels=range(n_classes)) for name in ("rps", "log_loss")}
    row["mae"] = METRICS["mae"].function(y, decide(proba, "median"))
    row["zero_one"] = METRICS["zero_one"].function(y, decide(proba, "mode"))
    return row


def of_shares(rows: tuple[Any, Any], X_test: Any, n_classes: int) -> tuple[NDArray[np.float64], int]:
    """Predict the shares of the classes."""
    shares = np.bincount(rows[1], minlength=n_classes) / len(rows[1])
    return np.tile(shares, (len(X_test), 1)), 0


def ratios(rows: list[Row], beside: str, methods: Iterable[str], sets: Collection[str]) -> list[Row]:
    """Return of each method the geometric mean of its ratios to another, and on how many sets it is below.

    A last column counts the sets on which it is above the shares of the classes by RPS or log loss.
    """
    table = pd.DataFrame([row for row in rows if row["data"] in set(sets) and not row["failure"]])
    table[list(NUMBERS)] = table[list(NUMBERS)].astype(float)
    means = table.groupby(["method", "data"])[list(NUMBERS)].mean()
    shares, found = means.loc[SHARES], []
    for method in [beside, *(name for name in methods if name in means.index)]:
        logs = np.log(means.loc[method] + ADDED) - np.log(means.loc[beside] + ADDED)
        above = ((means.loc[method] > shares)[["rps", "log_loss"]]).any(axis=1)
        cells = {name: f"{np.exp(logs[name].mean()):.3f} ({int((logs[name] < 0).sum())})" for name in NUMBERS}
        found.append({"method": method, **cells, "above class shares": int(above.sum()), "sets": len(logs)})
    return found
