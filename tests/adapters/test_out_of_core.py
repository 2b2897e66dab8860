"""Rows that the frameworks read in batches: the thresholds of the table in memory."""

from __future__ import annotations

import gc

import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

pytestmark = pytest.mark.slow

UPDATES = [
    {"threshold_update": "newton"},
    {"threshold_update": "schur"},
    {"threshold_update": "joint"},
    {"proportional": False},
]
XGB = {"max_depth": 4, "max_bin": 64, "nthread": 1}
LGBM = {"num_leaves": 8, "verbosity": -1, "num_threads": 1, "deterministic": True}


def name_of(update):
    return "-".join(str(value) for value in update.values())


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5)).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2]) + rng.logistic(size=len(X)), [-1.0, 0.0, 1.0, 2.0])
    return X, y, rng.uniform(0.5, 2.0, size=len(X))


class Batches(xgboost.DataIter):
    """Hands over a thousand rows at a time, or another number; XGBoost keeps its pages in files."""

    def __init__(self, table, prefix, size=1000):
        self.table, self.at, self.size = table, 0, size
        super().__init__(cache_prefix=str(prefix))

    def next(self, input_data):
        if self.at == 3:
            return False
        X, y, w = (part[self.size * self.at : self.size * (self.at + 1)] for part in self.table)
        input_data(data=X, label=y, weight=w)
        self.at += 1
        return True

    def reset(self):
        self.at = 0


@pytest.mark.parametrize("update", [*UPDATES, {"proportional": False, "shift_method": "host"}], ids=name_of)
def test_xgboost_reads_pages_from_files(table, update, tmp_path):
    X, y, w = table
    whole = xgboost.QuantileDMatrix(X, y, weight=w, max_bin=64)
    pages = xgboost.ExtMemQuantileDMatrix(Batches(table, tmp_path / "pages"), max_bin=64)
    found, expected = {}, {}
    for matrix, history in ((pages, found), (whole, expected)):
        history["booster"] = oxgb.train(
            XGB, matrix, 8, n_classes=5, evals=[(matrix, "train")], evals_result=history, verbose_eval=False, **update
        )
    one, other = (oxgb.threshold_record(history["booster"]) for history in (found, expected))
    np.testing.assert_allclose(one.thresholds, other.thresholds, rtol=0, atol=1e-6)
    np.testing.assert_allclose(one.training_loss, other.training_loss, rtol=1e-6)
    np.testing.assert_allclose(*(list(history["train"].values()) for history in (found, expected)), rtol=1e-6)
    proba = oxgb.predict_proba(found["booster"], pages)
    np.testing.assert_allclose(proba, oxgb.predict_proba(expected["booster"], xgboost.DMatrix(X)), atol=1e-6)
    del pages, matrix
    gc.collect()  # its files go before their folder does


@pytest.mark.parametrize("update", [{"threshold_update": "joint"}, {"proportional": False}], ids=name_of)
def test_xgboost_reads_plain_matrices_from_files(table, update, tmp_path):
    few = [part[:900] for part in table]
    pages = xgboost.DMatrix(Batches(few, tmp_path / "pages", size=300))
    whole = xgboost.DMatrix(few[0], few[1], weight=few[2])
    one, other = (oxgb.threshold_record(oxgb.train(XGB, rows, 3, n_classes=5, **update)) for rows in (pages, whole))
    np.testing.assert_allclose(one.thresholds, other.thresholds, rtol=0, atol=1e-6)
    del pages, one
    gc.collect()


class Rows(lightgbm.Sequence):
    """Reads slices and single rows."""

    batch_size = 700

    def __init__(self, X):
        self.X = X

    def __getitem__(self, rows):
        return self.X[rows].astype(np.float64)

    def __len__(self):
        return len(self.X)


@pytest.mark.parametrize("update", UPDATES, ids=name_of)
def test_lightgbm_reads_batches(table, update):
    X, y, w = table
    records = []
    for data in (Rows(X), X.astype(np.float64)):
        dataset = lightgbm.Dataset(data, y, weight=w, params=LGBM)
        records.append(olgbm.threshold_record(olgbm.train(LGBM, dataset, 8, n_classes=5, **update)))
    np.testing.assert_allclose(records[0].thresholds, records[1].thresholds, rtol=0, atol=1e-9)
    np.testing.assert_allclose(records[0].training_loss, records[1].training_loss, rtol=1e-9)


@pytest.mark.parametrize("train", [olgbm.train, olgbm.cv])
@pytest.mark.parametrize("parts", [1, 2])
def test_linear_leaves_need_rows_in_memory(table, train, parts):
    X, y, _ = table
    rows = [Rows(part) for part in np.array_split(X, parts)]
    dataset = lightgbm.Dataset(rows if parts > 1 else rows[0], y)
    with pytest.raises(ValueError, match=r"params\['linear_tree'\] = True needs an array"):
        train({**LGBM, "linear_tree": True}, dataset, 2)


def test_linear_leaves_of_a_subset_need_rows_that_the_whole_has_kept(table):
    X, y, _ = table
    params, asked = {**LGBM, "linear_tree": True}, {"n_classes": 5, "threshold_update": "newton"}
    chosen = np.arange(0, len(X), 2)
    for subset in (lightgbm.Dataset(X, y).subset(chosen), lightgbm.Dataset(X, y).subset(chosen, params=params)):
        with pytest.raises(ValueError, match=r"params\['linear_tree'\] = True needs an array"):
            olgbm.train(params, subset, 2, **asked)
    kept = lightgbm.Dataset(X, y, params=params).subset(chosen)
    assert olgbm.train(params, kept, 2, **asked).num_trees() == 2
