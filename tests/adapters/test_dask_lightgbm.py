"""LightGBM on several machines: thresholds that stay are sound, and others are refused."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest

from ordinal_objectives.adapters import lgbm as olgbm

# LightGBM's own scikit-learn classes, which take the objective here.
needs_wrapper = pytest.mark.skipif(
    lightgbm.__version__.startswith("4.5."), reason="LGBMRegressor of LightGBM 4.5 does not run with scikit-learn 1.8"
)
PARAMS = {"num_leaves": 7, "min_child_samples": 5, "verbosity": -1}


def data(n=600):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 15, size=(n, 3)) / 5.0
    y = np.digitize(2 * X[:, 0] + rng.logistic(size=n), [1.0, 3.0, 5.0])
    return X, y, rng.uniform(0.5, 2.0, size=n)


@pytest.mark.parametrize("name", ["num_machines", "num_machine"])
@pytest.mark.parametrize("options", [{}, {"threshold_update": "fixed"}])
def test_learning_on_one_machine_of_several_is_refused(name, options):
    X, y, _ = data()
    objective = olgbm.OrdinalObjective(4, **options)
    with pytest.raises(ValueError, match="num_machines"):
        objective(np.zeros(600), lightgbm.Dataset(X, y, params={name: 2}).construct())
    fixed = olgbm.OrdinalObjective(4, threshold_update="fixed", thresholds=[-1.0, 0.0, 1.0])
    fixed(np.zeros(600), lightgbm.Dataset(X, y, params={name: 2}).construct())


def test_a_network_needs_workers_that_are_connected():
    with pytest.raises(RuntimeError, match="network_params"):
        olgbm.network_params("127.0.0.1")
