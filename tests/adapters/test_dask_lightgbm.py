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


@needs_wrapper
@pytest.mark.parametrize("loss", ["all_threshold", "cumulative_link"])
def test_fixed_thresholds_are_those_of_the_plain_objective(loss):
    X, y, w = data()
    objective = olgbm.FixedThresholds.of_classes(np.bincount(y, weights=w), loss=loss)
    model = lightgbm.LGBMRegressor(objective=objective, n_estimators=10, n_jobs=1, **PARAMS).fit(X, y, sample_weight=w)
    objective.attach(model.booster_)
    plain = olgbm.OrdinalObjective(4, loss=loss, threshold_update="fixed")
    params = PARAMS | {"objective": plain, "num_threads": 1}
    booster = lightgbm.train(params, lightgbm.Dataset(X, y, weight=w), 10, callbacks=[plain.callback])
    np.testing.assert_allclose(olgbm.predict_proba(model.booster_, X), olgbm.predict_proba(booster, X), atol=1e-12)


@pytest.mark.parametrize("name", ["num_machines", "num_machine"])
@pytest.mark.parametrize("options", [{}, {"threshold_update": "fixed"}])
def test_learning_on_one_machine_of_several_is_refused(name, options):
    X, y, _ = data()
    objective = olgbm.OrdinalObjective(4, **options)
    with pytest.raises(ValueError, match="num_machines"):
        objective(np.zeros(600), lightgbm.Dataset(X, y, params={name: 2}).construct())
    fixed = olgbm.OrdinalObjective(4, threshold_update="fixed", thresholds=[-1.0, 0.0, 1.0])
    fixed(np.zeros(600), lightgbm.Dataset(X, y, params={name: 2}).construct())


@needs_wrapper
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Parameter .* will be ignored:UserWarning")  # LightGBM's, of its own defaults
def test_fixed_thresholds_on_dask(client):
    import dask.array as da

    X, y, _ = data()
    order = np.argsort(y, kind="stable")  # so that no worker has all classes
    X, y = X[order], y[order]
    objective = olgbm.FixedThresholds.of_classes(np.bincount(y))
    parts = da.from_array(X, chunks=(300, 3)), da.from_array(y, chunks=300)
    options = {"objective": objective, "n_estimators": 10, "tree_learner": "data"}
    booster = lightgbm.DaskLGBMRegressor(client=client, **options, **PARAMS).fit(*parts).booster_
    objective.attach(booster)
    alone = lightgbm.LGBMRegressor(objective=objective, n_estimators=10, n_jobs=1, **PARAMS).fit(X, y)
    objective.attach(alone.booster_)
    expected = olgbm.predict_proba(alone.booster_, X)
    np.testing.assert_allclose(olgbm.predict_proba(booster, X), expected, atol=1e-3)
