"""Effects of groups and their variance against adaptive Gauss-Hermite quadrature given the same score.

python benchmarks/claims/accuracy/random_effects.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp

from lib import report
from ordinal_objectives import HistGradientBoostingOrdinalClassifier

type Floats = NDArray[np.float64]
type Codes = NDArray[np.intp]
THRESHOLDS, TAU, N_GROUPS, SEEDS = np.array([-2.0, -0.5, 0.5, 2.0]), 1.5, 200, range(6)


def by_quadrature(f: Floats, y: Codes, group: Codes, start: Floats, n_nodes: int = 21) -> tuple[Floats, float, Floats]:
    """Return thresholds, tau and modes of the highest likelihood, by adaptive Gauss-Hermite quadrature."""
    n_groups = int(group.max()) + 1
    modes: Floats = np.zeros(n_groups)
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)

    def unpacked(x: Floats) -> tuple[Floats, float]:
        theta = x[0] + np.concatenate([[0.0], np.cumsum(np.exp(x[1:-1]))])
        return np.concatenate([[-np.inf], theta, [np.inf]]), float(np.exp(x[-1]))

    def sums(of_rows: Floats) -> Floats:
        return np.bincount(group, of_rows, n_groups).astype(np.float64)

    def find_modes(theta: Floats, tau: float) -> Floats:
        nonlocal modes
        for _ in range(50):
            below, above = (expit(theta[side] - f - modes[group]) for side in (y, y + 1))
            curvature = sums(below * (1 - below) + above * (1 - above)) + tau**-2
            modes = modes - (sums(1 - below - above) + modes / tau**2) / curvature
        return np.asarray(curvature**-0.5)

    def value(x: Floats) -> float:
        theta, tau = unpacked(x)
        width, at = find_modes(theta, tau), []
        for node, weight in zip(nodes, weights, strict=True):
            b = modes + width * node
            low, high = theta[y] - f - b[group], theta[y + 1] - f - b[group]
            likely = sums(log_expit(high) + log_expit(-low) + np.log(-np.expm1(low - high)))
            at.append(likely - (b / tau) ** 2 / 2 + node**2 / 2 + np.log(weight * width / tau))
        return -float(logsumexp(at, axis=0).sum()) / len(y)

    found = minimize(value, [start[0], *np.log(np.diff(start)), 0.0], method="BFGS", options={"gtol": 1e-6})
    theta, tau = unpacked(found.x)
    find_modes(theta, tau)
    return theta[1:-1], tau, modes


def measure(per_group: int, seed: int) -> tuple[float, float]:
    """Return the difference of the effects and of tau, over tau."""
    rng = np.random.default_rng([per_group, seed])
    group, effects = np.repeat(np.arange(N_GROUPS), per_group), TAU * rng.normal(size=N_GROUPS)
    X = rng.normal(size=(len(group), 3))
    y = np.searchsorted(THRESHOLDS, X[:, 0] + effects[group] + rng.logistic(size=len(group)))
    options: dict[str, Any] = {"linear": True, "linear_l2": 1.0, "max_iter": 20, "early_stopping": False}
    model = HistGradientBoostingOrdinalClassifier(
        loss="cumulative_link", random_intercept=3, random_state=0, n_jobs=1, **options
    ).fit(np.column_stack([X, group]), y)
    (found,) = model.fitted_effects()
    average = np.column_stack([X, np.full(len(X), np.nan)])
    _, tau, modes = by_quadrature(model.predict_raw(average), y, group, model.thresholds_)
    return float(np.sqrt(np.mean((found.effects - modes) ** 2))) / tau, found.variance**0.5 / tau - 1.0


def main() -> None:
    rows = []
    for per_group in (5, 10, 30, 100):
        effects, taus = np.array([measure(per_group, seed) for seed in SEEDS]).T
        rows.append(
            {
                "rows a group": per_group,
                "effects off, of tau": round(float(effects.mean()), 4),
                "most": round(float(effects.max()), 4),
                "tau off": round(float(np.abs(taus).mean()), 4),
            }
        )
    report.write(
        "random_effects",
        "Effects of groups against quadrature",
        rows,
        f"{N_GROUPS} groups, tau {TAU}, {len(SEEDS)} draws. Root mean square difference of the effects from the modes, "
        f"and of tau from that of the highest likelihood, both by adaptive Gauss-Hermite quadrature with 21 nodes, "
        f"given the same score.",
    )


if __name__ == "__main__":
    main()
