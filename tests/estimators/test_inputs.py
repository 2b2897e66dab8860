"""Whatever the frameworks read, the plug-in trains on: the same rows in another container give the same model."""

from __future__ import annotations

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost
from scipy import sparse

from ordinal_objectives import (
    LGBMOrdinalClassifier,
    XGBOrdinalClassifier,
)
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

pytestmark = pytest.mark.slow

NAMES = list("abcd")


def arrow_in_chunks(X):
    def table(rows):
        return pa.table({name: rows[:, i] for i, name in enumerate(NAMES)})

    return pa.concat_tables([table(X[:37]), table(X[37:])])


CONTAINERS = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "arrow": arrow_in_chunks,
    "csr_matrix": sparse.csr_matrix,
    "csc_matrix": sparse.csc_matrix,
    "csr_array": sparse.csr_array,
    "csc_array": sparse.csc_array,
}
FRAMES = ("pandas", "polars", "arrow")


def xgboost_train(put, X, y, update):
    dvalid = xgboost.DMatrix(put(X[300:]), y[300:])
    options = {"threshold_update": update, "evals": [(dvalid, "v")], "verbose_eval": False}
    booster = oxgb.train({"max_depth": 3, "nthread": 1}, xgboost.DMatrix(put(X[:300]), y[:300]), 8, **options)
    return booster, oxgb.threshold_record(booster), oxgb.predict_proba(booster, xgboost.DMatrix(put(X[300:])))


def xgboost_bare(put, X, y, update):
    objective = oxgb.OrdinalObjective(4, threshold_update=update)
    params = {"base_score": 0.0, "disable_default_eval_metric": 1, "max_depth": 3, "nthread": 1}
    dtrain = xgboost.DMatrix(put(X[:300]), y[:300])
    booster = xgboost.train(params, dtrain, 8, obj=objective, callbacks=[objective.callback])
    return booster, oxgb.threshold_record(booster), objective.predict_proba(booster, xgboost.DMatrix(put(X[300:])))


def xgboost_classifier(put, X, y, update):
    model = XGBOrdinalClassifier(n_estimators=8, max_depth=3, n_jobs=1, threshold_update=update, proportional=True)
    model.fit(put(X[:300]), y[:300], eval_set=[(put(X[300:]), y[300:])])
    return model.booster_, oxgb.threshold_record(model.booster_), model.predict_proba(put(X[300:]))


LGB_PARAMS = {"num_leaves": 6, "min_data_in_leaf": 5, "num_threads": 1, "verbosity": -1}


def lightgbm_train(put, X, y, update):
    train_set = lightgbm.Dataset(put(X[:300]), y[:300])
    valid_sets = [lightgbm.Dataset(put(X[300:]), y[300:], reference=train_set)]
    booster = olgbm.train(LGB_PARAMS, train_set, 8, valid_sets=valid_sets, threshold_update=update)
    return booster, olgbm.threshold_record(booster), olgbm.predict_proba(booster, put(X[300:]))


def lightgbm_bare(put, X, y, update):
    objective = olgbm.OrdinalObjective(4, threshold_update=update)
    params = {**LGB_PARAMS, "metric": "None", "objective": objective}
    booster = lightgbm.train(params, lightgbm.Dataset(put(X[:300]), y[:300]), 8, callbacks=[objective.callback])
    return booster, olgbm.threshold_record(booster), objective.predict_proba(booster, put(X[300:]))


def lightgbm_classifier(put, X, y, update):
    model = LGBMOrdinalClassifier(
        n_estimators=8, num_leaves=6, min_child_samples=5, n_jobs=1, threshold_update=update, proportional=True
    ).fit(put(X[:300]), y[:300], eval_set=[(put(X[300:]), y[300:])])
    return model.booster_, olgbm.threshold_record(model.booster_), model.predict_proba(put(X[300:]))


XGBOOST = (xgboost_train, xgboost_bare, xgboost_classifier)
LIGHTGBM = (lightgbm_train, lightgbm_bare, lightgbm_classifier)
BARE = (xgboost_bare, lightgbm_bare)  # these refuse the joint step
ROUTES = [(train, "newton") for train in (*XGBOOST, *LIGHTGBM)]
ROUTES += [(train, "joint") for train in (*XGBOOST, *LIGHTGBM) if train not in BARE]


def structure(booster):
    """Return what is split where; containers differ in the names of features only."""
    frame = booster.trees_to_dataframe()
    if isinstance(booster, xgboost.Booster):
        names, columns = {f"f{i}": name for i, name in enumerate(NAMES)}, ["Feature", "Yes", "No", "Missing"]
    else:
        names = {f"Column_{i}": name for i, name in enumerate(NAMES)}
        columns = ["split_feature", "left_child", "right_child", "missing_direction"]
    return frame[columns].replace(names)


# Each container on several ways, and each way with several containers.
@pytest.mark.parametrize(
    ("container", "train", "update"),
    [
        pytest.param(container, *route, id=f"{container}-{route[0].__name__}-{route[1]}")
        for i, container in enumerate(CONTAINERS)
        for route in ROUTES[i % 3 :: 3]
    ],
)
# lightgbm.Dataset takes SciPy's sparse arrays as it takes matrices, but predict says that it converts them.
@pytest.mark.filterwarnings("ignore:Converting data to scipy sparse matrix")
def test_containers_agree(container, train, update, ordinal_data):
    X, y = ordinal_data(400, 4)
    X[np.random.default_rng(1).random(X.shape) < 0.3] = 0.0
    # An entry that is not stored is missing to XGBoost and zero to LightGBM.
    dense = np.where(X == 0, np.nan, X) if train in XGBOOST and container not in FRAMES else X
    expected, found = train(np.asarray, dense, y, update), train(CONTAINERS[container], X, y, update)
    pd.testing.assert_frame_equal(structure(found[0]), structure(expected[0]))
    np.testing.assert_allclose(found[1].thresholds, expected[1].thresholds, rtol=1e-6)
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-6)


@pytest.mark.parametrize("kind", [XGBOrdinalClassifier, LGBMOrdinalClassifier])
@pytest.mark.parametrize("column", [pl.Series, pa.array, pd.Series])
def test_labels_and_weights_in_columns(kind, column, ordinal_data):
    X, y = ordinal_data(100)
    weight = np.random.default_rng(0).random(100) + 0.5
    model = kind(n_estimators=3).fit(X, column(y), sample_weight=column(weight))
    np.testing.assert_array_equal(
        model.predict_proba(X), kind(n_estimators=3).fit(X, y, sample_weight=weight).predict_proba(X)
    )


ODD_NAMES = ["größe", "a\tb", "名前 😀", 'quoted "x" \\']


@pytest.mark.parametrize("update", ["newton", "joint"])
@pytest.mark.parametrize("kind", [XGBOrdinalClassifier, LGBMOrdinalClassifier])
def test_names_of_features_may_hold_any_letters(ordinal_data, kind, update, tmp_path):
    """With the leaves renewed, XGBoost's names had become escapes, and no row fitted them."""
    X, y = ordinal_data(200, 4)
    names = ODD_NAMES if kind is XGBOrdinalClassifier else ODD_NAMES[:1] + ["b", "名前", "d"]
    frame = pd.DataFrame(X, columns=names)
    labels = np.array(["größer", "mittel", "klein", "名"])
    options = {"n_estimators": 4, "n_jobs": 1, "threshold_update": update, "proportional": True}
    model = kind(**options, classes=labels).fit(frame, labels[y])
    plain = kind(**options).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba_ordered(frame), plain.predict_proba(X))
    model.save_model(tmp_path / "model.json")
    loaded = kind().load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
