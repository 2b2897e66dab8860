"""Rows of groups with effects, and classifiers with random intercepts, that several tests train."""

from __future__ import annotations

import numpy as np

from ordinal_objectives import LGBMOrdinalClassifier

THRESHOLDS, TAU = np.array([-2.0, -0.5, 0.5, 2.0]), 1.5


def simulated(per_group, seed, n_groups=200):
    """Return features with the group last, labels, the effect of each group, and the group of each row."""
    rng = np.random.default_rng([per_group, seed])
    group, effects = np.repeat(np.arange(n_groups), per_group), TAU * rng.normal(size=n_groups)
    X = rng.normal(size=(len(group), 3))
    y = np.searchsorted(THRESHOLDS, X[:, 0] + effects[group] + rng.logistic(size=len(group)))
    return np.column_stack([X, group]), y, effects, group


def crossed(seed, n_groups=(60, 40), n=4000):
    """Return features with two columns of groups last, labels, and the effects of each column."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(size, size=n) for size in n_groups]
    effects = [tau * rng.normal(size=size) for tau, size in zip((1.5, 0.8), n_groups, strict=True)]
    X = rng.normal(size=(n, 3))
    score = X[:, 0] + sum(of[code] for of, code in zip(effects, codes, strict=True))
    return np.column_stack([X, *codes]), np.searchsorted(THRESHOLDS, score + rng.logistic(size=n)), effects


def of_host(kind, **options):
    own = {"verbosity": -1} if kind is LGBMOrdinalClassifier else {}
    given = {"loss": "cumulative_link", "random_intercept": 3, "n_estimators": 20, "learning_rate": 0.1}
    return kind(**given | {"random_state": 0, "n_jobs": 1} | own | options)
