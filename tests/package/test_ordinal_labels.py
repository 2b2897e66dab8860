"""Labels of several answers a row, intervals, and none: how they are made, read and divided."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from ordinal_objectives import HistGradientBoostingOrdinalClassifier, OrdinalLabels
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
        [0, 0, 0, 1], [1, 2, 3, 1], ["low", "high", "high", "low"], classes=["low", "high"]
    )
    np.testing.assert_allclose(rows_of(labels), [[1 / 3, 2 / 3], [1, 0]])


def test_the_middle_of_shares_is_that_of_the_counts():
    counts = np.array([[3, 3, 3, 1, 6, 4], [1, 1, 1, 1, 3, 1]])
    shares = OrdinalLabels.from_shares(counts / counts.sum(axis=1, keepdims=True))
    assert shares.middle.tolist() == OrdinalLabels.from_counts(counts).middle.tolist() == [3, 3]


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


def test_a_set_to_evaluate_may_have_one_class():
    assert rows_of(OrdinalLabels.from_labels([1, 1], classes=[0, 1])) == [[0, 1], [0, 1]]
    assert rows_of(OrdinalLabels.from_intervals([1], [None], classes=[0, 1, 2])) == [[0, 1, 1]]
    assert rows_of(OrdinalLabels.from_raters([0, 0], ["a", "b"], [1, 1], classes=[0, 1])) == [[0, 1]]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: OrdinalLabels.from_shares([[0.5, 0.4]]), "shares must be 1 in all"),
        (lambda: OrdinalLabels.from_shares([[-0.5, 1.5]]), "not negative"),
        (lambda: OrdinalLabels.from_shares([[1.0, 0.0]], classes=[1, 2, 3]), "one a column"),
        (lambda: OrdinalLabels.from_counts([1, 2]), "must have shape"),
        (lambda: OrdinalLabels.from_counts([[0, 0], [1, 0]]), "1 row.* have no label: 0"),
        (lambda: OrdinalLabels.from_counts([[0, 0]], unlabelled="ignore"), "no row has a label"),
        (lambda: OrdinalLabels.from_counts([[1, 0]], unlabelled="drop"), "unlabelled"),
        (lambda: OrdinalLabels.from_intervals([1, 2], [1, 1]), "lower must not lie above upper; got 2 and 1 in row 1"),
        (lambda: OrdinalLabels.from_intervals([2, 0], [1]), "one label a row"),
        (lambda: OrdinalLabels.from_intervals([2, 0], [7, 1], classes=[0, 1, 2]), "outside the classes"),
        (lambda: OrdinalLabels.from_raters([0, 0], ["a", "a"], [0, 1]), "more than once"),
        (lambda: OrdinalLabels.from_counts(pd.DataFrame([[1, 2]], columns=[1, 0]), classes=[0, 1]), "in the order"),
        (lambda: OrdinalLabels.from_intervals(GRADES, GRADES.cat.reorder_categories(["ok", "bad"])), "same categories"),
        (lambda: OrdinalLabels(np.array([[-1.0, 2.0]]), np.array([0]), [0, 1]), "patterns must hold"),
        (lambda: OrdinalLabels(np.eye(2), np.array([0, -1]), [0, 1]), "numbers of patterns, 0 to 1"),
        (lambda: OrdinalLabels.from_raters([0], ["a", "a"], [0, 1]), "one entry an answer"),
        (lambda: OrdinalLabels.from_raters([0.5, 1], ["a", "a"], [0, 1]), "integers from 0"),
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


def test_splitters_index_them():
    labels, X = OrdinalLabels.from_labels(np.arange(30) % 3), np.arange(30)
    for train, test in KFold(3).split(X, labels):
        assert (len(labels[train]), len(labels[test])) == (20, 10)
    for _, test in StratifiedKFold(3).split(X, labels):
        assert np.bincount(labels[test].middle).tolist() == [4, 3, 3] or len(test) == 10
    _, _, y_train, y_test = train_test_split(X, labels, random_state=0, stratify=labels)
    assert (type(y_train), len(y_test)) == (OrdinalLabels, 8)
    assert len(labels[5:9]) == 4
    assert len(labels[np.arange(30) > 20]) == 9


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


def test_metrics_refuse_other_classes():
    intervals = OrdinalLabels.from_intervals(LOWER, UPPER, classes=range(4))
    for labels in (OrdinalLabels.from_counts(COUNTS), intervals):
        for name in ("rps", "log_loss", "mae"):
            function, predicted = METRICS[name].function, PROBA.argmax(axis=1) if name == "mae" else PROBA
            assert function(labels, predicted, labels=range(4)) == function(labels, predicted)
            with pytest.raises(ValueError, match=r"labels must be the classes of y_true, \[0, 1, 2, 3\]"):
                function(labels, predicted, labels=[3, 2, 1, 0])
        with pytest.raises(ValueError, match="proba must have a column for each of the 4 classes of y_true; got 3"):
            METRICS["rps"].function(labels, PROBA[:, :3] / PROBA[:, :3].sum(axis=1, keepdims=True))
        with pytest.raises(TypeError, match="y_true must hold one label a row here"):
            METRICS["concordance"].function(labels, PROBA[:, 0])
