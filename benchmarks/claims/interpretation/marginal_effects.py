"""How often 95% intervals of average marginal effects hold the effect, on rows whose truth is known.

    python benchmarks/claims/interpretation/marginal_effects.py

Rows have three standard Gaussian features and four classes, drawn with P(y <= k) = sigma(theta_k - f), where
f = x0 + sin(2 x1); x2 does nothing. The step is 1. True effects are means over 100,000 other rows.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from lib import report
from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.inspection import average_marginal_effects, rows as inspection_rows
from ordinal_objectives.inspection.rows import trained_again

FloatArray = NDArray[np.float64]
SETS, REFITS, POPULATION, N = 60, (10, 30), 100_000, 500
THETA = np.array([-1.5, 0.0, 1.5])
MODELS: dict[str, dict[str, Any]] = {
    "20 trees": {"max_iter": 20, "max_leaf_nodes": 8},
    "as shipped": {},
    "100 trees": {"max_iter": 100, "max_leaf_nodes": 8},
}


def true_proba(X: FloatArray) -> FloatArray:
    """Return P(y = k | x)."""
    below = 1 / (1 + np.exp(X[:, [0]] + np.sin(2 * X[:, [1]]) - THETA))
    return np.diff(np.c_[np.zeros(len(X)), below, np.ones(len(X))], axis=1)


def sample(n: int, seed: int) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return features and class codes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y: NDArray[np.intp] = (rng.random((n, 1)) > np.cumsum(true_proba(X), axis=1)[:, :-1]).sum(axis=1)
    return X, y


def effect(proba: Callable[[FloatArray], FloatArray], feature: int) -> FloatArray:
    """Return the mean change of probabilities in the population."""
    low = np.random.default_rng(2**31).normal(size=(POPULATION, 3))
    high = low.copy()
    low[:, feature] -= 0.5
    high[:, feature] += 0.5
    return (proba(high) - proba(low)).mean(axis=0)


def remembered(train: Callable[..., Any]) -> Callable[..., Any]:
    """Return a training that gives the same copy for the same rows and labels: copies are the same for each feature."""
    known: dict[tuple[bytes, bytes], Any] = {}

    def again(estimator: Any, X: Any, y: Any, *others: Any, **params: Any) -> Any:
        key = X.tobytes(), y.tobytes()
        copy = train(estimator, X, y, *others, **params) if key not in known else known[key]
        if key in known:
            others[1].randint(np.iinfo(np.int32).max)  # the seed that a training draws
        known[key] = copy
        return copy

    return again


def measure(options: dict[str, Any], seed: int) -> list[tuple[NDArray[Any], ...]]:
    """Return of each feature the effects of a model, and whether intervals by few and more refits hold."""
    X, y = sample(N, seed)
    model = HistGradientBoostingOrdinalClassifier(**options, n_jobs=1, random_state=0).fit(X, y)
    found: list[tuple[NDArray[Any], ...]] = []
    with patch.object(inspection_rows, "trained_again", remembered(trained_again)):
        for feature in range(3):
            each = [
                average_marginal_effects(model, X, feature, step=1.0, n_refits=n_refits, random_state=seed)
                for n_refits in REFITS
            ]
            true = effect(true_proba, feature)
            found.append((each[0].effects, *((of.lower <= true) & (true <= of.upper) for of in each)))
    return found


def evaluate(name: str) -> list[dict[str, Any]]:
    """Return how often intervals hold the true effect."""
    each = [measure(MODELS[name], seed) for seed in range(SETS)]
    rows = []
    for feature in range(3):
        found, few, more = (np.array([one[feature][i] for one in each]) for i in range(3))
        rows.append(
            {
                "model": name,
                "feature": f"x{feature}",
                "true effects": ", ".join(f"{value:.3f}" for value in effect(true_proba, feature)),
                "mean of the models": ", ".join(f"{value:.3f}" for value in found.mean(axis=0)),
                "10 refits": f"{few.mean():.2f}",
                "30 refits": f"{more.mean():.2f}",
                "30 refits, each class": ", ".join(f"{value:.2f}" for value in more.mean(axis=0)),
            }
        )
    return rows


def main() -> None:
    result = report.Result(
        "marginal_effects",
        "Intervals of average marginal effects, on simulated rows",
        f"Shares of {SETS} data sets of {N} rows on which the 95% interval of a class's effect holds the true one, and "
        f"their mean over the four classes, with `HistGradientBoostingOrdinalClassifier` and `n_refits` of "
        f"{REFITS[0]} and {REFITS[1]}. A share of 0.95 of one class has the standard error 0.03. "
        f"{__doc__.split(chr(10) * 2)[2].replace(chr(10), ' ')}",
    )
    measured = {row["model"] for row in result.rows}
    for name in MODELS:
        if name not in measured:
            result.add(evaluate(name))


if __name__ == "__main__":
    main()
