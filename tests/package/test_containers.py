"""Labels, weights, names and probabilities in lists, masked arrays and tables mean what they do in arrays."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ordinal_objectives import (
    HistGradientBoostingMultiOutputClassifier,
    HistGradientBoostingMultiOutputRegressor,
    HistGradientBoostingOrdinalClassifier,
    OrdinalDistributionRegressor,
    OrdinalLabels,
)
from ordinal_objectives.estimators.held_out import check_groups
from ordinal_objectives.metrics import ordinal_log_loss
from ordinal_objectives.random_effects import as_groups

SIZES = ["small", "medium", "large"]


@pytest.mark.parametrize(
    "names",
    [
        ["Ann", np.nan, "Bob"],
        [np.array("Ann"), np.nan, np.array("Bob")],
        np.array(["Ann", np.nan, "Bob"], dtype=np.dtypes.StringDType(na_object=np.nan)),
    ],
    ids=["list", "arrays", "StringDType"],
)
def test_nan_beside_text_is_no_name(names):
    """NumPy makes the text 'nan' of it in a list, and its strings compare it as they do any other."""
    with pytest.raises(ValueError, match=r"groups .* have none"):
        check_groups(names, 3)
    with pytest.raises(ValueError, match="rater must have no missing entry"):
        OrdinalLabels.from_raters([0, 1, 2], names, [1, 2, 3], n_rows=3)
    found = np.ravel(as_groups(names)).tolist()
    assert found[::2] == ["Ann", "Bob"]
    assert found[1] != found[1]
    with pytest.raises(ValueError, match="y contains missing labels"):
        HistGradientBoostingMultiOutputClassifier(max_iter=1).fit(np.eye(3), ["Ann", np.nan, "Bob"])


@pytest.mark.parametrize(
    "estimator",
    [
        HistGradientBoostingOrdinalClassifier(max_iter=2),
        HistGradientBoostingMultiOutputClassifier(max_iter=2),
        HistGradientBoostingMultiOutputRegressor(max_iter=2),
        OrdinalDistributionRegressor(HistGradientBoostingOrdinalClassifier(max_iter=2)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_score_reads_labels_and_weights_as_fit_does(estimator):
    X, y, weight = np.arange(40.0)[:, np.newaxis], np.repeat([0, 1], 20), np.array([1.0, 2.0] * 20)
    model = estimator.fit(X, y)
    chunked = pa.chunked_array([pa.array([None, *y[1:].tolist()]).dictionary_encode()])
    assert model.score(X, pa.array(y).dictionary_encode(), pa.array(weight)) == model.score(X, y, weight)
    for labels in (chunked, pa.table({"y": chunked}), np.ma.masked_array(y, X[:, 0] == 0)):
        with pytest.raises(ValueError, match=r"NaN|mask|of type dictionary"):
            model.score(X, labels)
    for weights in (chunked, np.ma.masked_array(weight, X[:, 0] == 0), [np.ma.masked, *weight[1:]]):
        with pytest.raises(ValueError, match=r"sample_weight (holds NaN|is a masked array)"):
            model.score(X, y, weights)


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table, pa.record_batch])
def test_columns_of_the_classes_in_another_order_are_refused(table):
    proba = {"small": [0.5, 0.25], "large": [0.25, 0.75], "medium": [0.25, 0.0]}
    y, ordered = ["small", "large"], table({size: proba[size] for size in SIZES})
    soft = OrdinalLabels.from_shares(ordered, classes=SIZES)
    for ask in (
        lambda P: OrdinalLabels.from_shares(P, classes=SIZES),
        lambda P: ordinal_log_loss(y, P, labels=SIZES),
        lambda P: ordinal_log_loss(soft, P),
        lambda P: ordinal_log_loss(OrdinalLabels.from_intervals(y, [None, None], classes=SIZES), P),
        lambda P: HistGradientBoostingOrdinalClassifier(max_iter=1, classes=SIZES, cost_matrix=P).fit([[0], [1]], y),
    ):
        with pytest.raises(ValueError, match=r"must have its classes in the order|cost_matrix must have shape"):
            ask(table(proba))
    assert ordinal_log_loss(y, ordered, labels=SIZES) == ordinal_log_loss(
        y, np.array([*proba.values()]).T[:, [0, 2, 1]], labels=SIZES
    )
