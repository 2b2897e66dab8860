"""Labels that are intervals, or answers of several readers: `OrdinalLabels` beside what is done without them.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/label_patterns.py [--minutes 60]
    python benchmarks/claims/accuracy/label_patterns.py --tables
    python benchmarks/claims/accuracy/label_patterns.py --speed     what such labels cost; two minutes

Intervals: a share of the training rows is known by an interval alone, which does not depend on the class but through
holding it. "merged": the classes are merged by twos or threes, from a place drawn at random. "below, or at least": a
class is drawn at random, and the label says on which side of it the row lies. "at least": a class is drawn at random,
and of rows that reach it no more is known; for many such rows it has to be a low one. Rivals leave such rows out, take
the middle of the interval for the class (of two classes either), or mask: the sum over thresholds lacks those inside
the interval.

Readers: two to five a row, who are right by a share that depends on the class. Rivals take the majority for the class,
a tie by lot. "posterior": shares of the classes by how likely each is the true one, from the readers' common confusion,
which is estimated.

All models are the native engine's, called without arguments. Masking is a loss of one's own, which that engine does not
take, and which cannot be held out: it and intervals beside it are trained by XGBoost, each with the number of rounds
that is the best for it on the test rows. Errors are those of test rows whose class is known. Runs are kept in
results/label_patterns_runs.csv: run again to continue.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax

from lib import report
from lib.data import Dataset, load, partition
from lib.runner import Row, resume
from lib.statistics import mean_interval, ratio_interval
from lib.timing import make_data
from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalLabels,
    XGBOrdinalClassifier,
)
from ordinal_objectives.losses import AllThreshold
from ordinal_objectives.metrics import ordinal_log_loss, ranked_probability_score

NAME = "label_patterns"
Array = NDArray[np.float64]
Codes = NDArray[np.int32]
# The sixth was begun and left out: it has hardly any noise, and takes as long as all others together.
EVERY_SET = ("abalone", "california", "wine_red", "skillcraft", "era", "obesity", "eucalyptus")
SETS = tuple(name for name in EVERY_SET if name != "obesity")
SEEDS = range(10)
MOST_TRAIN, MOST_TEST = 1_400, 1_000
SHARES = (10, 30, 50, 80)
MOST_ASKED = 0.9
MERGED, SIDES, AT_LEAST = KINDS = ("merged", "below, or at least", "at least")
READERS, KNOWN = "readers", "known"
ALL_THRESHOLD, CUMULATIVE, XGBOOST = "all_threshold", "cumulative_link", "XGBoost"
OURS = "intervals"
# Trainer or loss, and what is made of the labels; ours first.
COARSE = {
    ALL_THRESHOLD: (OURS, "dropped", "midpoints"),
    CUMULATIVE: (OURS, "dropped", "midpoints"),
    XGBOOST: (OURS, "masked"),
}
OF_READERS = ("shares", "counts", "votes", "posterior")
ROUNDS = (25, 50, 100)
# How often readers are right, from the lowest class to the highest, and how far off they are otherwise.
RIGHT = (0.8, 0.5, 0.4, 0.45, 0.7)
AWAY, HOW_OFTEN = (-2, -1, 1, 2), (0.1, 0.4, 0.4, 0.1)
ERRORS = ("log_loss", "rps", "reader_log_loss", "reader_rps")
COLUMNS = ("data", "seed", "kind", "share", "model", "method", *ERRORS, "seconds")


class Masked(AllThreshold):
    """The all-threshold loss of rows known by intervals, without the thresholds inside them; y is the lower end."""

    def __init__(self, lower: Codes, upper: Codes):
        super().__init__()
        self.lower, self.upper = lower[:, np.newaxis], upper[:, np.newaxis]

    def _weights(self, y: Codes, n_thresholds: int) -> Array:
        every = super()._weights(y, n_thresholds)
        if len(y) != len(self.lower):  # the check of its formulas, which has rows of its own
            return every
        k = np.arange(n_thresholds)
        return np.where((self.lower <= k) & (k < self.upper), 0.0, every)


def coarsened(y: Codes, n_classes: int, kind: str, share: float, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Return the lowest and the highest class that is known of each row."""
    n, top = len(y), n_classes - 1
    if kind == MERGED:
        width = rng.integers(2, 4, n)
        shift = rng.integers(0, width)
        lower = (y + shift) // width * width - shift
        lower, upper = np.maximum(lower, 0), np.minimum(lower + width - 1, top)
    elif kind == SIDES:
        cut = rng.integers(1, n_classes, n)
        lower, upper = np.where(y >= cut, cut, 0), np.where(y >= cut, top, cut - 1)
    else:
        # Rows that reach one of the lowest 1, 2, ... classes above the first. At most nine tenths are asked in this
        # way, or nothing would tell the highest classes apart; of as many classes as that allows.
        reached = np.cumsum([np.mean(y >= k) for k in range(1, n_classes)]) / np.arange(1, n_classes)
        n_low = max(1, int((reached >= share / MOST_ASKED).sum()))
        cut = rng.integers(1, n_low + 1, n)
        share = min(MOST_ASKED, share / reached[n_low - 1])
        lower, upper = np.where(y >= cut, cut, y), np.where(y >= cut, top, y)
    is_coarse = rng.permutation(n) < round(share * n)
    return np.where(is_coarse, lower, y).astype(np.int32), np.where(is_coarse, upper, y).astype(np.int32)


def answers(y: Codes, n_classes: int, rng: np.random.Generator) -> Codes:
    """Return an answer of a reader to each row."""
    right = np.interp(np.linspace(0, 1, n_classes), np.linspace(0, 1, len(RIGHT)), RIGHT)
    off = rng.choice(AWAY, len(y), p=HOW_OFTEN)
    read = np.where(rng.random(len(y)) < right[y], y, y + off)
    return np.clip(read, 0, n_classes - 1).astype(np.int32)


def counts_of_readers(y: Codes, n_classes: int, rng: np.random.Generator) -> Array:
    """Return how many of two to five readers gave each answer, (n_rows, n_classes)."""
    row = np.repeat(np.arange(len(y)), rng.integers(2, 6, len(y)))
    counts = np.zeros((len(y), n_classes))
    np.add.at(counts, (row, answers(y[row], n_classes, rng)), 1.0)
    return counts


def labels_of_intervals(method: str, lower: Codes, upper: Codes, n_classes: int, rng: np.random.Generator) -> Any:
    """Return what a method makes of intervals: labels, with which rows it keeps."""
    every = np.ones(len(lower), dtype=bool)
    if method == OURS:
        return OrdinalLabels.from_intervals(lower, upper, classes=range(n_classes)), every
    if method == "dropped":
        return lower, lower == upper
    return (lower + upper + rng.integers(0, 2, len(lower))) // 2, every


def posterior(counts: Array) -> Array:
    """Return how likely each class is the true one, by Dawid and Skene (Applied Statistics 1979)."""
    likely = counts / counts.sum(axis=1, keepdims=True)
    for _ in range(50):
        confusion = likely.T @ counts + 0.1
        confusion /= confusion.sum(axis=1, keepdims=True)
        likely = softmax(np.log(likely.mean(axis=0)) + counts @ np.log(confusion).T, axis=1)
    return likely


def labels_of_readers(method: str, counts: Array, rng: np.random.Generator) -> Any:
    """Return what a method makes of the answers of readers."""
    if method == "counts":
        return OrdinalLabels.from_counts(counts)
    if method == "shares":
        return OrdinalLabels.from_shares(counts / counts.sum(axis=1, keepdims=True))
    if method == "posterior":
        return OrdinalLabels.from_shares(posterior(counts))
    return (counts + rng.uniform(0, 0.5, counts.shape)).argmax(axis=1)


def engine(X: pd.DataFrame, labels: Any, X_test: pd.DataFrame, n_classes: int, loss: str, seed: int) -> Array:
    """Return probabilities of the native engine's classifier."""
    model = HistGradientBoostingOrdinalClassifier(loss=loss, classes=range(n_classes), n_jobs=1, random_state=seed)
    return np.asarray(model.fit(X, labels).predict_proba_ordered(X_test))


def best_of_xgboost(
    X: pd.DataFrame, labels: Any, loss: Any, X_test: pd.DataFrame, y_test: Codes, n_classes: int, seed: int
) -> Array:
    """Return probabilities after the number of rounds whose log loss is the lowest."""
    model = XGBOrdinalClassifier(
        n_estimators=max(ROUNDS), loss=loss, classes=range(n_classes), n_jobs=1, random_state=seed
    ).fit(X, labels)
    staged = [proba for i, proba in enumerate(model.staged_predict_proba(X_test), 1) if i in ROUNDS]
    return min(staged, key=lambda proba: ordinal_log_loss(y_test, proba, labels=range(n_classes)))


def measure(case: Row) -> list[Row]:
    warnings.simplefilter("ignore")
    dataset, seed, kind, method = load(case["data"]), case["seed"], case["kind"], case["method"]
    train, test = (rows[:most] for rows, most in zip(partition(dataset, seed), (MOST_TRAIN, MOST_TEST), strict=True))
    X, y, X_test, y_test = rows_of(dataset, train, test)
    n_classes = dataset.n_classes
    # The same labels for all methods.
    rng = np.random.default_rng([seed, EVERY_SET.index(case["data"]), (READERS, KNOWN, *KINDS).index(kind)])
    start, found = time.process_time(), {}
    if kind == READERS:
        counts, fresh = counts_of_readers(y, n_classes, rng), answers(y_test, n_classes, rng)
        proba = engine(X, labels_of_readers(method, counts, rng), X_test, n_classes, case["model"], seed)
        found = errors(fresh, proba, "reader_")
    elif kind == KNOWN:
        proba = engine(X, y, X_test, n_classes, case["model"], seed)
    else:
        lower, upper = coarsened(y, n_classes, kind, case["share"] / 100, rng)
        if case["model"] == XGBOOST:
            loss = Masked(lower, upper) if method == "masked" else ALL_THRESHOLD
            labels = lower if method == "masked" else labels_of_intervals(OURS, lower, upper, n_classes, rng)[0]
            proba = best_of_xgboost(X, labels, loss, X_test, y_test, n_classes, seed)
        else:
            labels, kept = labels_of_intervals(method, lower, upper, n_classes, rng)
            proba = engine(X[kept], labels[kept], X_test, n_classes, case["model"], seed)
    seconds = time.process_time() - start
    return [dict.fromkeys(ERRORS, "") | errors(y_test, proba) | found | {"seconds": seconds}]


def rows_of(dataset: Dataset, train: NDArray[np.intp], test: NDArray[np.intp]) -> tuple[Any, Codes, Any, Codes]:
    """Return features and codes of rows to train and to test on."""
    parts = ((dataset.X.iloc[rows].reset_index(drop=True), dataset.y[rows]) for rows in (train, test))
    (X, y), (X_test, y_test) = parts
    return X, y, X_test, y_test


def errors(y: Codes, proba: Array, prefix: str = "") -> dict[str, float]:
    """Return log loss and RPS."""
    labels = range(proba.shape[1])
    return {
        f"{prefix}log_loss": ordinal_log_loss(y, proba, labels=labels),
        f"{prefix}rps": ranked_probability_score(y, proba, labels=labels),
    }


def cases() -> list[Row]:
    """Return what is measured, partition by partition; the package's own defaults first."""
    intervals: list[tuple[str, Any, str, str]] = [
        (kind, share, model, method)
        for kind in KINDS
        for share in SHARES
        for model, methods in COARSE.items()
        for method in methods
    ]
    known = [(KNOWN, "", model, KNOWN) for model in (ALL_THRESHOLD, CUMULATIVE)]
    readers = [(READERS, "", ALL_THRESHOLD, method) for method in OF_READERS]
    every = [*known, *readers, *intervals]
    return [
        {"data": data, "seed": seed, "kind": kind, "share": share, "model": model, "method": method}
        for of_model in (ALL_THRESHOLD, XGBOOST, CUMULATIVE)
        for seed in SEEDS
        for data in SETS
        for kind, share, model, method in every
        if model == of_model
    ]


def runs() -> pd.DataFrame:
    """Return what was measured, of each set and model the partitions that are complete."""
    table = pd.DataFrame(report.RunsFile(report.RESULTS / f"{NAME}_runs.csv", COLUMNS).rows)
    table = table.assign(**{name: pd.to_numeric(table[name]) for name in [*ERRORS, "seconds"]})
    n_cases = pd.DataFrame(cases()).drop_duplicates(["kind", "share", "model", "method"]).groupby("model").size()
    n_found = table.groupby(["data", "model", "seed"])["method"].transform("size")
    return table[n_found == table["model"].map(n_cases)]


def between(values: Iterable[float], decimals: int = 3, ratio: bool = False) -> str:
    """Return the mean, or the geometric mean, with its interval."""
    numbers = np.asarray(list(values), dtype=float)
    mean = np.exp(np.log(numbers).mean()) if ratio else numbers.mean()
    low, high = ratio_interval(numbers) if ratio else mean_interval(numbers)
    sign = "" if ratio else "+"
    return f"{mean:{sign}.{decimals}f} [{low:{sign}.{decimals}f}, {high:{sign}.{decimals}f}]"


def difference(part: pd.DataFrame, one: str, other: str, error: str) -> pd.Series:
    """Return how much lower one method's error is than another's on each set and partition."""
    wide = part.pivot_table(error, ["data", "seed"], "method").dropna()
    return wide[one] - wide[other]


def compared(part: pd.DataFrame, one: str, other: str, error: str) -> dict[str, str]:
    """Return the ratio of two methods' errors over the sets, and on how many sets the first is lower."""
    means = part.groupby(["method", "data"])[error].mean()
    by_set = difference(part, one, other, error).groupby(level="data")
    intervals = [mean_interval(values) for _, values in by_set]
    title = error.replace("reader_", "").replace("log_loss", "log loss").replace("rps", "RPS")
    return {
        f"{title}, ratio": between(means[one] / means[other], ratio=True),
        f"{title}, lower on": f"{int((by_set.mean() < 0).sum())}",
        f"surely lower / higher, {title}": (
            f"{sum(high < 0 for _, high in intervals)} / {sum(low > 0 for low, _ in intervals)}"
        ),
    }


def partitions(found: pd.DataFrame) -> str:
    """Return how many partitions each model has of the sets."""
    counts = found.groupby(["model", "data"])["seed"].nunique().groupby("model").agg(["max", "min"])
    texts = [
        f"{fewest if fewest == most else f'{fewest} to {most}'} with {model}"
        for model, (most, fewest) in counts.iterrows()
    ]
    return "partitions: " + ", ".join(texts)


def tables() -> Iterator[tuple[str, str, list[Row], str]]:
    found = runs()
    of_sets = f"{len(SETS)} sets, at most {MOST_TRAIN:,} rows to train on; {partitions(found)}."
    coarse = found[found["kind"].isin(KINDS)].assign(share=lambda rows: rows["share"].astype(int))
    rows, by_set = [], []
    for kind in KINDS:
        for share in SHARES:
            for model, (ours, *rivals) in COARSE.items():
                part = coarse[(coarse["kind"] == kind) & (coarse["share"] == share) & (coarse["model"] == model)]
                for rival in rivals if len(part) else ():
                    labels = {"intervals": kind, "% of rows": share, "model": model, "beside": rival}
                    both = [compared(part, ours, rival, error) for error in ("log_loss", "rps")]
                    rows.append({**labels, **both[0], **both[1]})
                    lower = {error: difference(part, ours, rival, error) for error in ("log_loss", "rps")}
                    means = part[part["method"] == ours].groupby("data")[["log_loss", "rps"]].mean()
                    by_set += [
                        {
                            "data": data,
                            **labels,
                            "log loss": f"{means.loc[data, 'log_loss']:.3f}",
                            "less the rival's": between(lower["log_loss"][data]),
                            "RPS": f"{means.loc[data, 'rps']:.3f}",
                            "less the rival's RPS": between(lower["rps"][data], 4),
                        }
                        for data in SETS
                        if data in means.index
                    ]
    yield (
        NAME,
        "Intervals for labels, beside leaving them out, midpoints and masking",
        rows,
        (
            f"{of_sets} Errors of intervals divided by the rival's, geometric mean over the sets with its 95% "
            f"interval; on how many sets the mean is lower, and on how many the 95% interval of the paired difference "
            f"lies below / above 0."
        ),
    )
    yield (
        f"{NAME}_by_set",
        "Intervals for labels, by set",
        by_set,
        f"{of_sets} Means, and paired differences with their 95% intervals; below 0: intervals are ahead.",
    )
    known = found[(found["kind"] == KNOWN) & (found["model"] == ALL_THRESHOLD)]
    readers = pd.concat([found[found["kind"] == READERS], known])
    yield (
        f"{NAME}_readers",
        "Two to five readers: shares and posteriors beside majority votes",
        [
            {
                "data": data,
                "RPS of the class, votes": f"{of_data['votes']:.3f}",
                "class known": f"{of_data[KNOWN]:.3f}",
                **{
                    f"{method} less votes": between(difference(readers, method, "votes", "rps")[data], 4)
                    for method in ("posterior", "shares", "counts")
                },
                "log loss of the class, posterior less votes": between(
                    difference(readers, "posterior", "votes", "log_loss")[data]
                ),
                "RPS of a fresh answer, shares less votes": between(
                    difference(readers, "shares", "votes", "reader_rps")[data], 4
                ),
                "log loss of a fresh answer, shares less votes": between(
                    difference(readers, "shares", "votes", "reader_log_loss")[data]
                ),
            }
            for data in SETS
            for of_data in [readers[readers["data"] == data].groupby("method")["rps"].mean()]
        ],
        f"{of_sets} Paired differences with their 95% intervals; below 0: ahead of votes.",
    )


def write_tables() -> None:
    for name, title, rows, note in tables():
        report.write(name, title, rows, note, report.RESULTS / f"{NAME}_runs.csv")


SPEED_ROWS, SPEED_FEATURES, SPEED_CLASSES, SPEED_ROUNDS, REPEATS = 200_000, 20, 5, 20, 3
TRAINERS: dict[str, Callable[..., Any]] = {
    "native": partial(HistGradientBoostingOrdinalClassifier, max_iter=SPEED_ROUNDS, early_stopping=False),
    "XGBoost": partial(XGBOrdinalClassifier, n_estimators=SPEED_ROUNDS),
    "LightGBM": partial(LGBMOrdinalClassifier, n_estimators=SPEED_ROUNDS, verbosity=-1),
}


def speed() -> None:
    """Write seconds of fits with labels of each kind."""
    X, y = make_data(SPEED_ROWS, SPEED_FEATURES, SPEED_CLASSES)
    rng = np.random.default_rng(0)
    counts = counts_of_readers(y, SPEED_CLASSES, rng)
    merged = coarsened(y, SPEED_CLASSES, MERGED, 0.5, rng)
    kinds = {
        "one class": y,
        "one class, OrdinalLabels": OrdinalLabels.from_intervals(y, y, classes=range(SPEED_CLASSES)),
        "shares": labels_of_readers("shares", counts, rng),
        "counts": labels_of_readers("counts", counts, rng),
        "intervals": OrdinalLabels.from_intervals(*merged, classes=range(SPEED_CLASSES)),
    }
    seconds: dict[str, dict[str, list[float]]] = {trainer: {kind: [] for kind in kinds} for trainer in TRAINERS}
    for _ in range(REPEATS):
        for trainer, make in TRAINERS.items():
            for kind, labels in kinds.items():
                start = time.perf_counter()
                make(n_jobs=1, random_state=0).fit(X, labels)
                seconds[trainer][kind].append(time.perf_counter() - start)
    rows = []
    for trainer, of_kinds in seconds.items():
        usual = {kind: median(values) for kind, values in of_kinds.items()}
        plain = usual.pop("one class")
        ratios = {f"{kind}, times that": f"{value / plain:.2f}" for kind, value in usual.items()}
        rows.append({"trainer": trainer, "one class, s": f"{plain:.2f}", **ratios})
    report.write(
        f"{NAME}_speed",
        "What labels of several answers, and intervals, cost",
        rows,
        f"{SPEED_ROWS:,} rows, {SPEED_FEATURES} features, {SPEED_CLASSES} classes, {SPEED_ROUNDS} trees, one thread; "
        f"medians of {REPEATS} fits, taken in turns. Two to five answers a row; half of the rows are intervals of two "
        f"or three classes.",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no case after so many")
    parser.add_argument("--tables", action="store_true", help="write the tables of what was measured")
    parser.add_argument("--speed", action="store_true", help="measure how long fits take, and nothing else")
    options = parser.parse_args()
    if options.speed:
        speed()
        return
    if not options.tables:
        store = report.RunsFile(report.RESULTS / f"{NAME}_runs.csv", COLUMNS)
        resume(store, cases(), measure, minutes=options.minutes)
    write_tables()


if __name__ == "__main__":
    main()
