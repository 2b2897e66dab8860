"""Labels of several answers a row, intervals, and none: how they are made, read and divided."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ordinal_objectives import HistGradientBoostingOrdinalClassifier, OrdinalLabels
from ordinal_objectives.estimators.labels import LabelOrderWarning
from ordinal_objectives.metrics import METRICS, mean_absolute_error, ranked_probability_score


def rows_of(labels):
    return labels.patterns[labels.codes].tolist()


def test_weights_below_each_threshold():
    labels = OrdinalLabels.from_counts([[1, 0, 2], [0, 3, 0]])
    np.testing.assert_array_equal(labels.at_most[labels.codes], [[1, 1], [0, 3]])
    np.testing.assert_array_equal(labels.class_weights(np.array([2.0, 1.0])), [2, 3, 4])
    np.testing.assert_array_equal(labels.times(np.array([2.0, 0.5])), [6, 1.5])
    np.testing.assert_array_equal(labels.times(None), [3, 3])


def test_open_ends_reach_the_outer_classes():
    labels = OrdinalLabels.from_intervals(["b", None, np.nan], [None, "a", "b"], classes=["a", "b", "c"])
    assert rows_of(labels) == [[0, 1, 1], [1, 0, 0], [1, 1, 0]]
    assert labels.middle.tolist() == [1, 0, 0]
    assert np.asarray(labels).tolist() == ["b", "a", "a"]


def test_raters_have_shares():
    labels = OrdinalLabels.from_raters(
        [0, 0, 0, 1], [1, 2, 3, 1], ["low", "high", "high", "low"], n_rows=2, classes=["low", "high"]
    )
    np.testing.assert_allclose(rows_of(labels), [[1 / 3, 2 / 3], [1, 0]])


GRADED = pd.DataFrame(
    {"g1": ["low", None, "high", "mid"], "g2": ["low", "mid", "mid", None], "g3": ["high", "mid", None, None]}
)
SHARES = [[2 / 3, 0, 1 / 3], [0, 1, 0], [0, 1 / 2, 1 / 2], [0, 1, 0]]
LEVELS = ["low", "mid", "high"]


@pytest.mark.parametrize(
    "read",
    [
        lambda frame: frame,
        lambda frame: frame.astype(pd.CategoricalDtype(LEVELS, ordered=True)),
        pl.from_pandas,
        pa.Table.from_pandas,
        lambda frame: frame.to_numpy(),
        lambda frame: frame.to_numpy().tolist(),
    ],
    ids=["pandas", "categorical", "polars", "arrow", "array", "lists"],
)
def test_graders_may_have_columns(read):
    labels = OrdinalLabels.from_columns(read(GRADED), classes=LEVELS)
    np.testing.assert_allclose(rows_of(labels), SHARES)
    long = GRADED.melt(ignore_index=False).reset_index()
    of_long = OrdinalLabels.from_raters(long["index"], long["variable"], long["value"], n_rows=4, classes=LEVELS)
    np.testing.assert_allclose(rows_of(of_long), SHARES)


def test_a_row_that_nobody_has_graded_has_no_label():
    frame = pd.DataFrame({"g1": [1, None, 2], "g2": [None, None, 1]})
    with pytest.raises(ValueError, match=r"1 row\(s\) have no label: 1, .*unlabelled='ignore'"):
        OrdinalLabels.from_columns(frame)
    labels = OrdinalLabels.from_columns(frame, unlabelled="ignore")
    assert labels.labelled.tolist() == [True, False, True]
    long = {"row": ["a", "b", "c"], "rater": [1, 1, 1], "label": [2, None, 3], "index": ["a", "b", "c"]}
    with pytest.raises(ValueError, match=r"1 row\(s\) have no label: 1"):
        OrdinalLabels.from_raters(**long)
    assert OrdinalLabels.from_raters(**long, unlabelled="ignore").labelled.tolist() == [True, False, True]


def test_ids_find_the_rows_of_a_shuffled_file():
    truth, order = np.arange(40) % 4, np.random.default_rng(0).permutation(40)
    row, rater = np.repeat(np.arange(40), 2), np.tile(["Ann", "Bob"], 40)
    frame = pd.DataFrame({"id": order, "text": [f"essay {i}" for i in order]})
    for ids, index in (
        (row, frame["id"]),
        ([f"essay {i}" for i in row], frame["text"]),
        (row, frame.set_index("id").index),
    ):
        labels = OrdinalLabels.from_raters(ids, rater, truth[row], index=index)
        assert labels.middle.tolist() == truth[order].tolist()
    assert OrdinalLabels.from_raters(row, rater, truth[row], n_rows=40).middle.tolist() == truth.tolist()


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, "row must come with index= or n_rows=.* got neither"),
        ({"index": [0, 1], "n_rows": 2}, "got both"),
        ({"index": ["a", "b"]}, "row must hold rows of index=.*; got 0, 1"),
        ({"n_rows": 1}, "row must hold .* numbers below n_rows=; got 1"),
        ({"index": [0, 1, 1]}, "index must name each row once; got 3 entries, of which 2 are distinct"),
        ({"index": [0, 1, None]}, "index must have no missing entry"),
        ({"n_rows": 0}, "n_rows must be an integer at least 1"),
    ],
)
def test_row_numbers_need_what_they_count(given, error):
    with pytest.raises(ValueError, match=error):
        OrdinalLabels.from_raters([0, 1], ["Ann", "Ann"], [1, 2], **given)


def test_names_of_columns_are_classes():
    counts = pd.DataFrame([[1, 2, 0], [0, 1, 3]], columns=["low", "mid", "high"])
    for make, table in (
        (OrdinalLabels.from_counts, counts),
        (OrdinalLabels.from_shares, counts.div(counts.sum(axis=1), axis=0)),
    ):
        for frame in (table, pl.from_pandas(table), table.set_axis(pd.Index(list(LEVELS)), axis=1)):
            assert make(frame).classes.tolist() == LEVELS
            assert make(frame, classes=[3, 5, 9]).classes.tolist() == [3, 5, 9]
        assert make(table.to_numpy()).classes.tolist() == [0, 1, 2]
        assert make(table.set_axis([2, 5, 9], axis=1)).classes.tolist() == [2, 5, 9]
        ordered = pd.CategoricalIndex(["a", "b", "c"], ordered=True)
        assert make(table.set_axis(ordered, axis=1)).classes.tolist() == ["a", "b", "c"]  # no warning
        with pytest.warns(LabelOrderWarning, match="assumed high < low < mid"):  # as a pivot sorts them
            assert make(table.set_axis(["high", "low", "mid"], axis=1)).classes.tolist() == ["high", "low", "mid"]
        for wrong in ([2, 9, 5], ["10", "2", "9"], [0.5, 1.0, 1.5]):
            with pytest.raises(ValueError, match=r"counts|shares"):
                make(table.set_axis(wrong, axis=1))


def test_shares_of_intervals_are_most_likely():
    labels = OrdinalLabels.from_intervals(
        [0] * 60 + [1] * 20 + [0] * 20, [0] * 60 + [1] * 20 + [1] * 20, classes=[0, 1]
    )
    np.testing.assert_allclose(labels.class_weights(), [75, 25], atol=0.5)
    weight = np.arange(len(labels)) % 3.0
    of_counted = labels[weight > 0].class_weights(weight[weight > 0])
    np.testing.assert_allclose(labels.class_weights(weight), of_counted, rtol=1e-12)


GRADES = pd.Series(pd.Categorical(["ok", None, "bad"], categories=["bad", "ok"], ordered=True))
STEPS = pd.Series(pd.Categorical(["small", None, "big"], categories=["small", "medium", "big"], ordered=True))


def test_ordered_categories_are_the_classes():
    for labels in (
        OrdinalLabels.from_labels(STEPS),
        OrdinalLabels.from_intervals(STEPS, STEPS, unlabelled="ignore"),
        OrdinalLabels.from_intervals(["small", None, "big"], STEPS, unlabelled="ignore"),
    ):
        assert labels.classes.tolist() == ["small", "medium", "big"]
        assert rows_of(labels) == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: OrdinalLabels.from_shares([[0.5, 0.4]]), "shares must be 1 in all"),
        (lambda: OrdinalLabels.from_shares([[-0.5, 1.5]]), "not negative"),
        (lambda: OrdinalLabels.from_shares([[1.0, 0.0]], classes=[1, 2, 3]), "patterns must have shape"),
        (lambda: OrdinalLabels.from_counts([1, 2]), "must have shape"),
        (lambda: OrdinalLabels.from_labels(GRADED), "y must have shape"),
        (lambda: OrdinalLabels.from_columns(GRADED, classes=["low", "mid"]), r"answers.* outside the classes"),
        (lambda: OrdinalLabels.from_columns(GRADED["g1"], classes=LEVELS), "answers must have shape"),
        (lambda: OrdinalLabels.from_counts([[0, 0], [1, 0]]), "1 row.* have no label: 0"),
        (lambda: OrdinalLabels.from_counts([[1, 0]], unlabelled="drop"), "unlabelled"),
        (lambda: OrdinalLabels(np.eye(2), np.array([0, -1]), [0, 1]), "codes must be numbers of patterns"),
        (lambda: OrdinalLabels(-np.eye(2), np.array([0, 1]), [0, 1]), "patterns must hold finite numbers"),
        (lambda: OrdinalLabels.from_intervals([1, 2], [1, 1]), "lower must not lie above upper; got 2 and 1 in row 1"),
        (lambda: OrdinalLabels.from_intervals([2, 0], [1], classes=[0, 1, 2]), "upper must have shape"),
        (lambda: OrdinalLabels.from_intervals([2, 0], [7, 1], classes=[0, 1, 2]), "outside the classes"),
        (lambda: OrdinalLabels.from_raters([0, 0], ["a", "a"], [0, 1], n_rows=1), "more than once"),
        (lambda: OrdinalLabels.from_counts(pd.DataFrame([[1, 2]], columns=[1, 0]), classes=[0, 1]), "in the order"),
        (lambda: OrdinalLabels.from_intervals(GRADES, GRADES.cat.reorder_categories(["ok", "bad"])), "same categories"),
        (lambda: OrdinalLabels.from_raters([0], ["a", "a"], [0, 1], n_rows=1), "row must have shape"),
        (lambda: OrdinalLabels.from_raters([0.5, 1], ["a", "a"], [0, 1], n_rows=2), "row must hold rows .*; got 0.5"),
    ],
)
def test_what_cannot_be_is_refused(make, error):
    with pytest.raises(ValueError, match=error):
        make()


def test_missing_labels_are_counted():
    labels = OrdinalLabels.from_labels(["a", None, "b"], classes=["a", "b"])
    assert labels.labelled.tolist() == [True, False, True]
    with pytest.raises(ValueError, match=r"1 row.* have no label"):
        OrdinalLabels.from_labels(["a", None, "b"], classes=["a", "b"], unlabelled="raise")


def test_codes_are_of_one_class_a_row():
    labels, X = OrdinalLabels.from_counts([[1, 1], [0, 2]] * 20), np.arange(40.0)[:, np.newaxis]
    model = HistGradientBoostingOrdinalClassifier(n_jobs=1, max_iter=2).fit(X, labels)
    with pytest.raises(TypeError, match="y must hold one label a row here"):
        model.encode_labels(labels)


PROBA = np.random.default_rng(0).dirichlet(np.ones(4), 30)
COUNTS = np.random.default_rng(1).integers(0, 3, (30, 4)) + np.eye(4)[np.arange(30) % 4]
LOWER = np.random.default_rng(2).integers(0, 4, 30)
UPPER = np.minimum(LOWER + np.arange(30) % 3, 3)


@pytest.mark.parametrize("name", ["rps", "log_loss", "mae", "zero_one", "qwk", "macro_mae"])
def test_metrics_judge_every_answer(name):
    labels, weight = OrdinalLabels.from_counts(COUNTS), np.random.default_rng(3).uniform(size=30)
    metric, code = METRICS[name], np.tile(np.arange(4), 30)
    given = PROBA if metric.judges == "probabilities" else PROBA.argmax(axis=1)
    repeated = (weight[:, np.newaxis] * COUNTS).ravel()
    expected = metric.function(code, np.repeat(given, 4, axis=0), repeated, labels=range(4))
    assert metric.function(labels, given, weight) == pytest.approx(expected)


def test_no_interval_to_judge_by_is_refused():
    labels = OrdinalLabels.from_intervals([0, None], [1, None], classes=range(3), unlabelled="ignore")
    for call in (
        lambda: mean_absolute_error(labels[1:], [1]),
        lambda: ranked_probability_score(labels, [[0.2, 0.3, 0.5]] * 2, [0.0, 1.0]),
    ):
        with pytest.raises(ValueError, match="sample_weight is zero for every row"):
            call()


def test_metrics_of_intervals():
    labels, predicted = OrdinalLabels.from_intervals(LOWER, UPPER, classes=range(4)), PROBA.argmax(axis=1)
    within = np.array([row[low : high + 1].sum() for row, low, high in zip(PROBA, LOWER, UPPER, strict=True)])
    assert METRICS["log_loss"].function(labels, PROBA) == pytest.approx(-np.log(within).mean())
    off = np.maximum(LOWER - predicted, 0) + np.maximum(predicted - UPPER, 0)
    assert METRICS["mae"].function(labels, predicted) == pytest.approx(off.mean())
    exact = OrdinalLabels.from_intervals(LOWER, LOWER, classes=range(4))
    for name in ("log_loss", "rps"):
        expected = METRICS[name].function(LOWER, PROBA, labels=range(4))
        assert METRICS[name].function(exact, PROBA) == pytest.approx(expected)
    assert METRICS["rps"].function(labels, PROBA) < METRICS["rps"].function(exact, PROBA)
    with pytest.raises(ValueError, match="intervals have no class to judge by"):
        METRICS["qwk"].function(labels, predicted)


def test_the_log_loss_counts_the_part_of_a_class_that_an_interval_covers():
    labels = OrdinalLabels.from_intervals(LOWER, UPPER, classes=range(4))
    parts = labels.patterns[labels.codes] * np.random.default_rng(0).uniform(0.1, 1.0, PROBA.shape)
    parts /= parts.max(axis=1, keepdims=True)
    some = OrdinalLabels(parts, np.arange(len(parts)), range(4), between=True)
    assert METRICS["log_loss"].function(some, PROBA) == pytest.approx(-np.log((parts * PROBA).sum(axis=1)).mean())
