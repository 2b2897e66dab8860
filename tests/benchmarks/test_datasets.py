"""The loader of the evaluation data: rules for making classes, partitions, messages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from lib import data
from lib.data import Dataset, discretise, load, partition


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Name an empty data folder, and forget what was loaded before and after."""
    monkeypatch.setenv("ORDINAL_DATA", str(tmp_path))
    load.cache_clear()
    yield tmp_path
    load.cache_clear()


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60), st.sampled_from(["quantile", "rank", "width"]))
def test_classes_keep_the_order_and_none_is_empty(values, rule):
    target = np.array(values)
    codes = discretise(target, rule)
    assert set(codes) == set(range(codes.max() + 1))
    assert codes.max() < 10
    smaller = target[:, None] < target
    assert (codes[:, None] <= codes)[smaller].all()
    if rule != "rank":  # which splits ties, in the order of the file
        equal = target[:, None] == target
        assert (codes[:, None] == codes)[equal].all()


def test_rules_on_a_target_with_known_classes():
    target = np.concatenate([np.zeros(30), np.arange(1, 71)])
    # The deciles are 0, 0, 0.7, 10.6, ...: a value at a cut lies above it, and the class below 0 is empty.
    assert np.bincount(discretise(target, "quantile")).tolist() == [30, 10, 10, 10, 10, 10, 10, 10]
    assert (np.bincount(discretise(target, "rank")) == 10).all()
    assert np.bincount(discretise(target, "width")).tolist() == [36, 7, 7, 7, 7, 7, 7, 7, 7, 8]
    with pytest.raises(ValueError, match=r"rule must be 'quantile', .*; got 'deciles'"):
        discretise(target, "deciles")


def test_partitions_are_disjoint_and_repeat():
    X = pd.DataFrame({"x": np.arange(100)})
    dataset = Dataset(X, np.zeros(100, dtype=np.int32), 1, None, None)
    train, test = partition(dataset, 3)
    assert sorted([*train, *test]) == list(range(100))
    assert len(train) == 70
    assert all(np.array_equal(one, other) for one, other in zip((train, test), partition(dataset, 3), strict=True))
    assert not np.array_equal(train, partition(dataset, 4)[0])
    sized = Dataset(X, dataset.y, 1, None, (30, 13))
    assert [len(part) for part in partition(sized, 0)] == [30, 13]


def test_groups_stay_together(monkeypatch):
    monkeypatch.setattr(data, "MOST_ROWS", 150)
    groups = np.repeat(np.arange(40), 5)
    dataset = Dataset(pd.DataFrame({"x": groups}), np.zeros(200, dtype=np.int32), 1, groups, None)
    train, test = partition(dataset, 0)
    assert not set(groups[train]) & set(groups[test])
    assert len(train) + len(test) == 150
    assert len(train) == pytest.approx(105, abs=5)
    assert len(set(groups[train[:20]])) > 10  # shuffled: their last rows are to validate on


def test_named_classes_keep_their_order(folder):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(625, 4)), columns=list("abcd")).assign(target=["R", "L", "B", "L", "R"] * 125)
    frame.to_csv(folder / "B_balance_scale.csv.gz", index=False)
    dataset = load("balance_scale")
    assert dataset.n_classes == 3
    assert dataset.y[:5].tolist() == [2, 0, 1, 0, 2]
    assert list(dataset.X) == list("abcd")
