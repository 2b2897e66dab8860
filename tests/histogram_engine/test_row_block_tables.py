"""Blocks that are tables: each goes through the door of a table.

Arrow and polars do not start beside the thread sanitizer's runtime, which leaves this file out.
"""

from __future__ import annotations

import weakref

import numpy as np
import pandas as pd
import pytest

from ordinal_objectives import HistGradientBoostingOrdinalClassifier, RowBlocks


def model_of(**options):
    return HistGradientBoostingOrdinalClassifier(
        **{"max_iter": 8, "max_leaf_nodes": 6, "early_stopping": False, "random_state": 0} | options
    )


def frame(x, **columns):
    return pd.DataFrame(dict(zip("abc", x.T, strict=True)) | columns)


REFUSED = {
    "no columns": lambda x: x[:, :0],
    "one dimension": lambda x: x[:, 0],
    "no dimension": lambda x: np.float64(1.0),
    "strings": lambda x: x.astype(str),
    "other objects": lambda x: np.full(x.shape, slice(None)),
    "dates": lambda x: x.astype("datetime64[s]"),
    "masked": lambda x: np.ma.masked_array(np.where(x > 1.0, 1e6, x), mask=x > 1.0),
    "column of dates": lambda x: frame(x, g=np.arange(len(x)).astype("datetime64[s]")),
}


@pytest.mark.parametrize("as_table", REFUSED.values(), ids=REFUSED)
def test_a_block_is_refused_as_the_table_would_be(as_table):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3
    with pytest.raises((TypeError, ValueError)) as of_table:
        model_of().fit(as_table(X), y)
    words = str(of_table.value).replace(" by HistGradientBoostingOrdinalClassifier", "")
    with pytest.raises(of_table.type) as of_block:
        RowBlocks([X, as_table(X)])
    assert str(of_block.value) == f"block 1 of RowBlocks: {words}"


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
    with pytest.raises(ValueError, match="warm_start continues a model of other features: The feature names"):
        model.set_params(warm_start=True, max_iter=9).fit(RowBlocks([turned, turned]), y)


@pytest.mark.parametrize("package", ["polars", "pyarrow"])
def test_blocks_of_other_tables(package):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3
    library = pytest.importorskip(package)
    make = library.table if package == "pyarrow" else library.DataFrame
    tables = [make(dict(zip("abc", part.T, strict=True))) for part in (X[:30], X[30:])]
    model = model_of().fit(RowBlocks(tables), y)
    np.testing.assert_array_equal(
        model.predict_proba(RowBlocks(tables)), model_of().fit(frame(X), y).predict_proba(frame(X))
    )
    with pytest.raises(ValueError, match="its column 0 is 'c'"):
        RowBlocks([tables[0], tables[1].select(["c", "b", "a"])])


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
