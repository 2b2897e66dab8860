"""What is wrong with an argument is said with its name, and what came is shown in few words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow
import pytest

from makers import ALL


@pytest.fixture
def frame(ordinal_data):
    X, y = ordinal_data(100)
    return pd.DataFrame(X, columns=list("abcd")[: X.shape[1]]), y


@ALL
@pytest.mark.parametrize("arrow", [False, True], ids=["pandas", "arrow"])
def test_columns_of_one_name_are_refused(make, frame, arrow):
    X, y = frame
    names = ["a", "b", "b", *X.columns[3:]]
    model = make().fit(X, y)
    twice = (
        pyarrow.table([pyarrow.array(X[name]) for name in X.columns], names=names)
        if arrow
        else X.set_axis(names, axis=1)
    )
    for use in (model.predict, lambda X: make().fit(X, y)):
        with pytest.raises(ValueError, match="X must have columns of different names; got more than one called 'b'"):
            use(twice)


@ALL
def test_evaluation_sets_are_named(make, frame):
    X, y = frame
    for bad in (X.iloc[:, :2], X.iloc[:0]):
        with pytest.raises(ValueError, match="evaluation set 1: "):
            make().fit(X, y, eval_set=[(X, y), (bad, y[: len(bad)])])


@ALL
def test_complex_numbers_are_refused_in_few_words(make, frame):
    X, y = frame
    with pytest.raises(
        ValueError, match=r"^Complex data not supported: X must hold real numbers; got an array of type complex128$"
    ):
        make().fit(X.to_numpy() * 1j, y)
    with pytest.raises(ValueError, match=r"^Complex data not supported: y must hold labels with an order$"):
        make().fit(X, y * 1j)


@ALL
@pytest.mark.parametrize("classes", [{0, 1, 2}, iter([0, 1, 2])], ids=["set", "iterator"])
def test_classes_without_an_order_are_refused(make, frame, classes):
    with pytest.raises(ValueError, match=r"classes must be one-dimensional; got .*; pass a list, in the order"):
        make(classes=classes).fit(*frame)


@ALL
@pytest.mark.parametrize("path", [b"model", 3, None], ids=str)
def test_paths_are_strings_or_paths(make, frame, path):
    model = make().fit(*frame)
    for use in (model.save_model, model.load_model):
        with pytest.raises(TypeError, match=r"path must be a string or an object like pathlib.Path; got"):
            use(path)
    assert np.isfinite(model.predict_proba(frame[0])).all()
