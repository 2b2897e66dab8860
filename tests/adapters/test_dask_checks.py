"""What a worker of Dask refuses in its parts, without a cluster."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_matrix
from sklearn.exceptions import DataConversionWarning

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")
pytest.importorskip("xgboost")

from ordinal_objectives.adapters import dask as shared  # noqa: E402, where Dask is installed
from ordinal_objectives.adapters.xgb import dask as module  # noqa: E402

X = np.arange(6.0).reshape(3, 2)
Y = np.arange(3)
TWICE = coo_matrix(([1.0, 2.0, 3.0], ([0, 0, 1], [0, 0, 1])), shape=(3, 2))


def part(**others):
    return {"data": X, "label": Y} | others


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"label": None}, "labels"),
        ({"label": Y[:2]}, "labels"),
        ({"weight": np.ones((3, 2))}, "weights"),
        ({"weight": np.array(["a", "b", "c"])}, "weights"),
        ({"label": np.array([0, 1, np.inf])}, "labels"),
        ({"weight": np.array([1.0, -1.0, 1.0])}, "weights"),
        ({"data": X * 1e39}, "X of"),
        ({"data": X.astype(">f8")}, "X of"),
        ({"label": Y.astype(">i8")}, "label of"),
        ({"data": TWICE}, "X of"),
        ({"data": pd.DataFrame({"a": ["x", "y", "z"]})}, "X of"),
    ],
)
def test_a_part_is_refused_by_name(given, named):
    fault = module._check_worker([part(**given)], np.nan).fault
    assert fault is not None
    assert named in fault


def test_parts_of_a_worker_have_the_same_columns_and_categories():
    first = pd.DataFrame({"town": pd.Categorical(["a", "b", "a"]), "size": [1.0, 2.0, 3.0]})
    renamed = first.rename(columns={"size": "length"})
    others = first.assign(town=pd.Categorical(["a", "c", "a"]))
    found = module._check_worker([part(data=first), part(data=first, weight=np.ones(3))], np.nan)
    assert (found.fault, found.total, found.n_rows) == (None, 3.0, 6)
    for other, named in ((renamed, "length"), (others, "town")):
        fault = module._check_worker([part(data=first), part(data=other)], np.nan).fault
        assert fault is not None
        assert named in fault


def test_infinity_may_be_the_missing_value():
    whole = X.copy()
    whole[0, 0] = np.inf
    assert module._check_worker([part(data=whole)], np.inf).fault is None
    assert module._check_worker([part(data=whole)], np.nan).fault is not None


def test_labels_in_a_column_become_flat_with_a_warning():
    flat = da.from_array(Y)
    assert shared._flat_labels(flat, "y") is flat
    with pytest.warns(DataConversionWarning, match="y was passed"):
        assert shared._flat_labels(flat[:, None], "y").shape == (3,)
    with pytest.raises(ValueError, match="y must"):
        shared._flat_labels(da.from_array(X), "y")
