"""Another population: thresholds fitted again to 50 of its rows, beside a model trained on 5,000 of them.

    python benchmarks/claims/accuracy/other_populations.py

Labels are those of a known score with five classes. In the new population all thresholds lie higher, or farther apart,
or one class is three times as frequent as another, or nothing has changed, or the score itself is another one, which
no thresholds can follow. Where the shares of the classes are known, Bayes' rule changes the old model's probabilities;
shares are also estimated from 2,000 rows without labels, by EM.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lib import report
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.metrics import ordinal_log_loss

Array = NDArray[np.float64]
N_OLD, N_NEW, N_TEST, FEW, UNLABELLED, DRAWS = 10_000, 5_000, 10_000, 50, 2_000, range(20)
THRESHOLDS = np.array([-2.0, -0.5, 0.5, 2.0])
ROUNDS = 100
MODELS: dict[str, Callable[[], Any]] = {
    "native": partial(HistGradientBoostingOrdinalClassifier, max_iter=ROUNDS, early_stopping=False, n_jobs=1),
    "XGBoost": partial(XGBOrdinalClassifier, n_estimators=ROUNDS, max_depth=4, n_jobs=1),
    "LightGBM": partial(LGBMOrdinalClassifier, n_estimators=ROUNDS, num_leaves=16, n_jobs=1, verbosity=-1),
}
SHIFTS = ("none", "all alike", "stretched", "one class more frequent", "another score")


def score(X: Array, other: bool = False) -> Array:
    first, second = (X[:, 2], X[:, 3]) if other else (X[:, 0], X[:, 1])
    return 1.2 * first + np.sin(2.0 * second) + 0.8 * X[:, 4] * X[:, 5]


def rows(n: int, shift: str, rng: np.random.Generator) -> tuple[Array, NDArray[np.intp]]:
    """Return rows of a population, with their classes."""
    thresholds = {"all alike": THRESHOLDS + 1.0, "stretched": 1.6 * THRESHOLDS}.get(shift, THRESHOLDS)
    X = rng.normal(size=(6 * n, 8))
    y = np.searchsorted(thresholds, score(X, shift == "another score") + rng.logistic(size=6 * n))
    if shift == "one class more frequent":
        kept = np.flatnonzero(rng.random(len(y)) < np.where(y == 3, 1.0, 1.0 / 3.0))
        X, y = X[kept], y[kept]
    return X[:n], y[:n]


def at_shares(proba: Array, old: Array, new: Array) -> Array:
    """Return probabilities where the classes have other shares, by Bayes' rule."""
    joint = proba * (new / old)
    return joint / joint.sum(axis=1, keepdims=True)


def shares_by_em(proba: Array, old: Array) -> Array:
    """Return class shares of rows without labels, as Saerens, Latinne and Decaestecker (2002) find them."""
    shares = old
    for _ in range(1_000):
        shares = at_shares(proba, old, shares).mean(axis=0)
    return np.maximum(shares, 1e-6)


def measure(shift: str, trainer: str, draw: int) -> dict[str, float]:
    """Return log losses of the old model, of both adapted ones and of a new one."""
    rng = np.random.default_rng([draw, SHIFTS.index(shift)])
    X, y = rows(N_OLD, "none", rng)
    model = MODELS[trainer]().fit(X, y)
    X_new, y_new = rows(N_NEW, shift, rng)
    X_test, y_test = rows(N_TEST, shift, rng)
    old, new = (np.bincount(labels, minlength=len(THRESHOLDS) + 1) / len(labels) for labels in (y, y_new))
    found = shares_by_em(model.predict_proba_ordered(X_new[:UNLABELLED]), old)
    proba = model.predict_proba_ordered(X_test)
    of_each = {
        "old model": proba,
        "50 labels": model.refit_thresholds(X_new[:FEW], y_new[:FEW]).predict_proba_ordered(X_test),
        "known shares": at_shares(proba, old, new),
        "shares by EM": at_shares(proba, old, found),
        "new model": MODELS[trainer]().fit(X_new, y_new).predict_proba_ordered(X_test),
    }
    return {name: ordinal_log_loss(y_test, one) for name, one in of_each.items()}


def table(shift: str, trainer: str) -> dict[str, object]:
    draws = [measure(shift, trainer, draw) for draw in DRAWS]
    mean = {name: float(np.mean([draw[name] for draw in draws])) for name in draws[0]}
    lost = np.array([draw["50 labels"] - draw["old model"] for draw in draws])
    gain = mean["old model"] - mean["new model"]

    def regained(name: str) -> str:
        return f"{(mean['old model'] - mean[name]) / gain:.2f}" if gain > 0.0 else "-"

    return {
        "the new population": shift,
        "trainer": trainer,
        **{
            f"log loss, {name}": round(mean[name], 4)
            for name in ("old model", "50 labels", "known shares", "shares by EM", "new model")
        },
        "regained by 50 labels": regained("50 labels"),
        "by shares": regained("known shares"),
        "50 labels less old model": f"{lost.mean():+.4f} ± {2 * lost.std(ddof=1) / np.sqrt(len(lost)):.4f}",
    }


def main() -> None:
    report.write(
        "other_populations",
        "Another population: thresholds fitted again to 50 of its rows, and probabilities at its class shares",
        [table(shift, trainer) for shift in SHIFTS for trainer in MODELS],
        f"{N_OLD:,} rows of the old population to train on, {N_NEW:,} of the new one for a new model, {N_TEST:,} to "
        f"test on; mean of {len(DRAWS)} draws, ± two standard errors. Regained: share of what the new model gains on "
        f"the old one.",
    )


if __name__ == "__main__":
    main()
