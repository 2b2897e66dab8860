"""Labels, weights, names and probabilities in lists, masked arrays and tables mean what they do in arrays."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from ordinal_objectives import (
    HistGradientBoostingMultiOutputClassifier,
    HistGradientBoostingMultiOutputRegressor,
    HistGradientBoostingOrdinalClassifier,
    OrdinalDistributionRegressor,
    OrdinalLabels,
    XGBOrdinalClassifier,
)
from ordinal_objectives.estimators.held_out import check_groups
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.estimators.random_effects import as_groups
from ordinal_objectives.inspection import partial_probabilities
from ordinal_objectives.metrics import concordance, ordinal_log_loss

SIZES = ["small", "medium", "large"]


def test_a_missing_entry_of_a_table_of_arrow_is_no_number():
    column = pa.chunked_array([pa.array([1.0, None, 2.0]).dictionary_encode()])
    counts = OrdinalLabels.from_counts(pa.table({"a": column, "b": column}), classes=["a", "b"], unlabelled="ignore")
    assert counts.patterns[counts.codes].tolist() == [[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]]
    with pytest.raises(ValueError, match="NaN"):
        concordance([0, 1, 0], pa.table({"score": column}))


def test_levels_of_an_arrow_dictionary_without_rows_are_no_classes():
    column = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2]), pa.array([1, 77, 2]))
    for y in (column, pd.Series(column, dtype=pd.ArrowDtype(column.type))):
        labels = OrderedLabels().fit(y)
        assert labels.ordered_classes_.tolist() == [1, 2]
        assert labels.encode(y).tolist() == [1, 0, 1]


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
    found = as_groups(names).ravel().tolist()
    assert found[::2] == ["Ann", "Bob"]
    assert found[1] != found[1]
    with pytest.raises(ValueError, match="y contains missing labels"):
        HistGradientBoostingMultiOutputClassifier(max_iter=1).fit(np.eye(3), ["Ann", np.nan, "Bob"])


def test_nan_beside_text_in_a_list_is_missing():
    X = [["low" if i % 3 else np.nan, "high"] for i in range(30)]
    model = HistGradientBoostingOrdinalClassifier(max_iter=2, categorical_features=[0, 1]).fit(X, [0, 1, 1] * 10)
    assert model.category_levels() == {0: ["low"], 1: ["high"]}


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


def test_levels_that_a_dictionary_holds_twice_are_one():
    X = pd.DataFrame({"x": np.arange(40.0), "size": pd.Categorical(["small", "large"] * 20)})
    model = HistGradientBoostingOrdinalClassifier(max_iter=2).fit(X, np.arange(40) % 3)
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3] * 10), pa.array(["small", "large"] * 2))
    values, _ = partial_probabilities(model, pa.table({"x": X["x"], "size": twice}), "size")
    assert values.tolist() == ["small", "large"]


def test_features_that_arguments_name_are_not_masked():
    X, y, hidden = np.arange(80.0).reshape(40, 2) % 7, np.arange(40) % 3, np.ma.masked_array([1, 0], [False, True])
    chunked = pa.chunked_array([pa.array([1, None]).dictionary_encode()])
    for estimator, name in (
        (HistGradientBoostingOrdinalClassifier(max_iter=1), "monotonic_cst"),
        (HistGradientBoostingOrdinalClassifier(max_iter=1), "categorical_features"),
        (XGBOrdinalClassifier(n_estimators=1), "feature_weights"),
    ):
        for given in (hidden, chunked):
            with pytest.raises(ValueError, match=rf"{name}|must be greater than 0"):
                clone(estimator).set_params(**{name: given}).fit(X, y)


def test_feature_weights_may_have_another_byte_order():
    X, y, weights = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 3, np.array([9.0, 1.0, 1.0, 5.0])
    found = [
        XGBOrdinalClassifier(n_estimators=3, colsample_bytree=0.5, random_state=0, feature_weights=of).fit(X, y)
        for of in (weights, weights.astype(">f8"))
    ]
    np.testing.assert_array_equal(found[1].predict_proba(X), found[0].predict_proba(X))


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
