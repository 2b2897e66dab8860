"""Features in blocks: the model is that of the whole array, bit for bit; a block is checked as a table would be."""

from __future__ import annotations

import pickle
import weakref

import numpy as np
import pandas as pd
import pytest

from ordinal_objectives import (
    HistGradientBoostingMultiOutputRegressor,
    HistGradientBoostingOrdinalClassifier,
    RowBlocks,
)
from ordinal_objectives.histogram_engine import binning


def data(n=1000, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(dtype)
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + rng.logistic(size=n), [-1.5, 0.0, 1.5])
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


def parted(X, sizes=(300, 1, 0, 450, 249)):
    assert sum(sizes) == len(X)
    return RowBlocks(np.split(X, np.cumsum(sizes)[:-1]))


class Files:
    """Reads its blocks from files, and counts how often."""

    def __init__(self, paths):
        self.paths, self.n_passes = paths, 0

    def __iter__(self):
        self.n_passes += 1
        return (np.load(path) for path in self.paths)


def model_of(**options):
    return HistGradientBoostingOrdinalClassifier(
        **{"max_iter": 8, "max_leaf_nodes": 6, "early_stopping": False, "random_state": 0} | options
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"proportional": True},
        {"threshold_update": "newton", "proportional": True, "subsample": 0.5},
        {"rebin_every": 3},
    ],
    ids=["shifts", "joint", "newton", "cut anew"],
)
def test_the_model_and_its_predictions_are_those_of_the_array(options, dtype):
    X, y = data(dtype=dtype)
    blocks, model, other = parted(X), model_of(**options), model_of(**options)
    assert blocks.shape == X.shape
    assert blocks.dtype == dtype
    model.fit(blocks, y, sample_weight=np.where(y == 1, 2.0, 1.0))
    other.fit(X, y, sample_weight=np.where(y == 1, 2.0, 1.0))
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    for method in ("predict", "predict_proba", "predict_raw", "apply"):
        np.testing.assert_array_equal(getattr(model, method)(blocks), getattr(other, method)(X))
    assert model.n_features_in_ == 4
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(blocks), other.predict(X))


def test_cuts_of_a_large_table_are_those_of_the_array(monkeypatch):
    X, _ = data()
    monkeypatch.setattr(binning, "SUBSAMPLE", 200)
    weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    for given in (None, weight):
        for one, other in zip(binning.find_cuts(parted(X), 16, given), binning.find_cuts(X, 16, given), strict=True):
            np.testing.assert_array_equal(one, other)


def test_early_stopping_watches_blocks_and_warm_start_continues():
    X, y = data()
    V, v = data(600, seed=5)
    valid = parted(V, (400, 200))
    model, other = (model_of(max_iter=60, learning_rate=0.5, early_stopping=True) for _ in range(2))
    model.fit(parted(X), y, X_val=valid, y_val=v)
    other.fit(X, y, X_val=V, y_val=v)
    assert 0 < model.n_iter_ < 60
    np.testing.assert_array_equal(model.evals_result_["validation"], other.evals_result_["validation"])
    for one, rows in ((model, parted(X)), (other, X)):
        one.set_params(warm_start=True, max_iter=one.n_iter_ + 3, early_stopping=False).fit(rows, y)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("asked", [None, [3]])
def test_lists_are_read_as_arrays(asked):
    X, y = data(300)
    X[:, 3] = np.arange(300) % 5
    expected = model_of(categorical_features=asked).fit(X, y)
    model = model_of(categorical_features=asked, warm_start=True)
    for rows in (RowBlocks([X[:100].tolist(), X[100:].tolist()]), X.tolist()):
        model.fit(rows, y).set_params(max_iter=model.max_iter + 1)
        np.testing.assert_array_equal(next(model.staged_predict_proba(X)), next(expected.staged_predict_proba(X)))
    assert model.n_iter_ == expected.n_iter_ + 1


def test_files_are_read_three_times_for_a_fit_and_once_for_a_prediction(tmp_path):
    X, y = data()
    paths = [tmp_path / f"{i}.npy" for i in range(4)]
    for path, block in zip(paths, np.split(X, 4), strict=True):
        np.save(path, block)
    files = Files(paths)
    blocks = RowBlocks(files)  # once
    model = model_of().fit(blocks, y)
    assert files.n_passes == 3
    model.predict(blocks)
    assert files.n_passes == 4


def test_integers_become_doubles():
    X = np.arange(60).reshape(20, 3)
    blocks = RowBlocks([X[:5], X[5:].astype(np.float32)])
    assert blocks.dtype == np.float64
    np.testing.assert_array_equal(blocks[np.array([0, 4, 5, 19])], X[[0, 4, 5, 19]])


def test_mistakes_are_named():
    X, y = data()
    with pytest.raises(TypeError, match="can be iterated more than once, such as a list; got generator"):
        RowBlocks(block for block in np.split(X, 2))
    with pytest.raises(TypeError, match="can be iterated more than once, such as a list; got NoneType"):
        RowBlocks(None)
    with pytest.raises(ValueError, match="at least one block; got none"):
        RowBlocks([])
    with pytest.raises(ValueError, match=r"block 1 must have the shape \(n_rows, 4\); got \(500, 3\)"):
        RowBlocks([X[:500], X[500:, :3]])
    blocks = parted(X)
    assert repr(blocks) == "RowBlocks(shape=(1000, 4), dtype=float64)"
    with pytest.raises(ValueError, match=r"early_stopping holds rows out of arrays only.*got True"):
        model_of(early_stopping=True).fit(blocks, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model_of().fit(blocks, y[1:])
    with pytest.raises(TypeError, match="not read into memory as a whole"):
        HistGradientBoostingMultiOutputRegressor().fit(blocks, X[:, :2])
    model = model_of().fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but HistGradientBoostingOrdinalClassifier is expecting 4"):
        model.predict(RowBlocks([X[:, :3]]))


@pytest.mark.parametrize(
    "later", [[(500, 4)], [(500, 4), (501, 4)], [(500, 3), (500, 3)]], ids=["less", "more", "other"]
)
def test_blocks_that_change_are_refused(later):
    X, y = data()

    class Changing:
        n_passes = 0

        def __iter__(self):
            self.n_passes += 1
            return iter(np.split(X, 2) if self.n_passes == 1 else [np.zeros(shape) for shape in later])

    with pytest.raises(
        ValueError, match=r"^(the blocks held 1000 rows when they were counted|block 0 (of|must have the shape))"
    ):
        model_of().fit(RowBlocks(Changing()), y)


# Blocks that are tables


def frame(x, **columns):
    return pd.DataFrame(dict(zip("abc", x.T, strict=True)) | columns)


def test_blocks_of_other_columns_are_refused():
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3
    first, second = frame(X[:30]), frame(X[30:])
    model = model_of().fit(RowBlocks([first, second]), y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict_proba(RowBlocks([first])), model.predict_proba(first))
    turned = second[["c", "b", "a"]]
    with pytest.raises(
        ValueError, match=r"block 1 must have the columns of block 0.*its column 0 is 'c', that of block 0 is 'a'"
    ):
        RowBlocks([first, turned])
    with pytest.raises(ValueError, match="block 0 does, block 1 does not"):
        RowBlocks([first, X[30:]])
    with pytest.raises(ValueError, match="block 1 does, block 0 does not"):
        RowBlocks([X[:30], second])
    for table in (turned, RowBlocks([turned])):
        with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
            model.predict_proba(table)
    with pytest.raises(ValueError, match="The feature names should match"):
        model.set_params(warm_start=True, max_iter=9).fit(RowBlocks([turned, turned]), y)


def test_blocks_of_categories_are_not_kept_in_memory():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(300, 2)), rng.integers(0, 3, 300)
    alive, most = weakref.WeakValueDictionary(), []

    class Blocks:
        def __iter__(self):
            for start in range(0, 300, 30):
                block = pd.DataFrame({"a": x[start : start + 30, 0], "g": pd.Categorical(rng.choice(list("uvw"), 30))})
                alive[len(most)] = block
                most.append(len(alive))
                yield block
                del block

    model_of().fit(RowBlocks(Blocks()), y)
    assert max(most) <= 2
