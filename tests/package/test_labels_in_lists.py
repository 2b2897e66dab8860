"""Labels in lists, which NumPy would change, and labels that may not be what is meant."""

from __future__ import annotations

import enum
from collections import deque

import numpy as np
import pandas as pd
import pytest

from ordinal_objectives import (
    HistGradientBoostingMultiOutputClassifier,
    HistGradientBoostingOrdinalClassifier,
    OrdinalCalibratedClassifier,
    OrdinalLabels,
)
from ordinal_objectives.compare import compare_updates
from ordinal_objectives.estimators.held_out import check_groups
from ordinal_objectives.estimators.labels import LabelOrderWarning, OrderedLabels
from ordinal_objectives.estimators.random_effects import as_groups
from ordinal_objectives.metrics import quadratic_weighted_kappa
from ordinal_objectives.scorers import get_scorer

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 2))
CODES = np.digitize(X[:, 0] + 0.5 * rng.normal(size=90), [-0.5, 0.5])


def labelled(labels):
    return [labels[code] for code in CODES]


def engine(**given):
    return HistGradientBoostingOrdinalClassifier(max_iter=3, **given)


# Lists whose entries NumPy would write in another way: members of enums, and others that extend Python's types


class Shout(str):
    def __str__(self):
        return "any"


class Raw(bytes):
    def __str__(self):
        return "any"


Risk = enum.Enum("Risk", {"low": "low", "lowish": "lowish", "high": "high"}, type=str)
Step = enum.IntEnum("Step", {"one": 1, "two": 2, "ten": 10})
Share = enum.Enum("Share", {"half": 0.5, "one": 1.0}, type=float)


@pytest.mark.parametrize(
    ("members", "values"),
    [
        (list(Risk), ["low", "lowish", "high"]),
        (list(Step), [1, 2, 10]),
        (list(Share), [0.5, 1.0]),
        ([Shout("lowish"), Shout("low")], ["lowish", "low"]),
        ([Raw(b"lowish"), Raw(b"low")], [b"lowish", b"low"]),
        ([np.str_("lowish"), np.str_("low")], ["lowish", "low"]),
        ([Risk.lowish, "low", np.str_("high"), Shout("other")], ["lowish", "low", "high", "other"]),
    ],
    ids=str,
)
def test_entries_that_extend_types_of_python_are_their_values(members, values):
    codes = list(range(len(values)))
    for container in (list, tuple, deque, lambda y: np.array(y, dtype=object), lambda y: pd.Series(y, dtype=object)):
        given = container(members)
        for classes, y in ((given, members), (given, values), (values, given)):
            labels = OrderedLabels(classes)
            assert labels.fit_encode(y).tolist() == labels.encode(y).tolist() == codes
            found = labels.ordered_classes_.tolist()
            assert (found, set(map(type, found))) == (values, {type(values[0])})
        assert OrdinalLabels.from_labels(given, classes=values).middle.tolist() == codes
        assert quadratic_weighted_kappa(given, values, labels=members) == pytest.approx(1.0)
        assert len(np.unique(check_groups(given, len(values)))) == len(values)
        intervals = OrdinalLabels.from_intervals(given, given, classes=members)
        assert (intervals.middle.tolist(), intervals.classes.tolist()) == (codes, values)
        raters = OrdinalLabels.from_raters(codes, given, given, n_rows=len(codes), classes=values)
        assert raters.middle.tolist() == codes


def test_members_of_an_enum_meet_everything_around_a_model():
    names = [one.value for one in Risk]
    y = [list(Risk)[code] for code in CODES]
    model = engine(random_state=0, classes=list(Risk), class_weight={Risk.high: 2.0}).fit(X, y, X_val=X, y_val=y)
    same = engine(random_state=0, classes=names, class_weight={"high": 2.0})
    same.fit(X, np.array(names)[CODES], X_val=X, y_val=np.array(names)[CODES])
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))
    np.testing.assert_array_equal(model.predict_at_least(X, Risk.lowish), same.predict_at_least(X, "lowish"))
    assert model.score(X, y) == same.score(X, np.array(names)[CODES])
    assert get_scorer("neg_rps")(model, X, y) == get_scorer("neg_rps")(same, X, np.array(names)[CODES])
    assert OrdinalCalibratedClassifier(engine(classes=list(Risk)), cv=2).fit(X, y).ordered_classes_.tolist() == names
    assert as_groups(y).ravel().tolist() == [one.value for one in y]
    found = HistGradientBoostingMultiOutputClassifier(max_iter=1).fit(X, y)
    assert (found.classes_.tolist(), found.score(X, y) > 0.3) == (sorted(names), True)
    ordered = pd.Categorical(y, categories=list(Risk), ordered=True)
    assert list(map(type, engine().fit(X, ordered).ordered_classes_.tolist())) == [str] * 3
    costs = pd.DataFrame(1.0 - np.eye(3), index=list(Risk)[::-1], columns=list(Risk)[::-1])
    with pytest.raises(ValueError, match=r"cost_matrix must have its classes in the order \['low', 'lowish', 'high'\]"):
        engine(classes=names, cost_matrix=costs).fit(X, y)


@pytest.mark.filterwarnings("ignore::ordinal_objectives.LabelOrderWarning")
def test_text_that_numpy_cuts_is_no_class():
    with pytest.raises(ValueError, match="must not hold text that ends in NUL"):
        OrderedLabels().fit(["a", "a\0"] * 3)
    with pytest.raises(ValueError, match=r"outside the classes \['a', 'b'\]; got 'a\\x00'"):
        OrderedLabels(["a", "b"]).encode(["a\0", "b"])


def test_an_enum_may_be_the_classes():
    assert OrderedLabels(Risk).ordered_classes_.tolist() == ["low", "lowish", "high"]
    with pytest.raises(ValueError, match=r"classes must be one-dimensional; got .*; pass a list"):
        OrderedLabels({"low", "high"})


# Labels that may not be what is meant


def test_numbers_as_text_ask_for_their_order():
    with pytest.raises(ValueError, match=r"y holds numbers as text.* classes=\['1', '2', '10'\]"):
        OrderedLabels().fit(["1", "10", "2"])
    with pytest.warns(LabelOrderWarning, match="assumed 1 < 2 < 5"):
        OrderedLabels().fit(["5", "1", "2"])
    assert OrderedLabels(["1", "2", "10"]).fit_encode(["10", "2"]).tolist() == [2, 1]
    with pytest.warns(LabelOrderWarning):
        model = engine().fit(X, np.array(["1", "2", "3"])[CODES])
    with pytest.raises(ValueError, match=r"y_true holds numbers as text"):
        get_scorer("neg_mae")(model, X, np.array(["1", "2", "10"])[CODES])


@pytest.mark.parametrize("y", [np.arange(60), [f"id {i:02}" for i in range(60)]], ids=["numbers", "text"])
@pytest.mark.filterwarnings("ignore::ordinal_objectives.LabelOrderWarning")
def test_more_classes_than_half_the_rows_are_warned_of(y):
    with pytest.warns(UserWarning, match="y holds 60 classes in 60 rows"):
        engine().fit(X[:60], y)
    engine(classes=y).fit(X[:60], y)  # no warning of declared classes
    engine().fit(X[:60], pd.Categorical(y, categories=y, ordered=True))
    engine().fit(X[:60], np.asarray(y)[np.arange(60) // 2])


@pytest.mark.parametrize(
    ("classes", "y", "words"),
    [
        (
            ["low", "middle", "hihg"],
            ["low", "high"],
            r"Did you mean 'hihg' by 'high'; no row has 'hihg', of classes=\?",
        ),
        (["low", "middle", "high"], ["low", "high", "hihg"], r"Did you mean 'high' by 'hihg'\?"),
        (["grade 1", "grade 2"], ["grade 1", "grade 3"], r"got 'grade 3'\. Pass classes="),
        (["low", "high"], ["low", "huge"], r"got 'huge'\. Pass classes="),
    ],
)
def test_a_misspelt_class_is_named(classes, y, words):
    with pytest.raises(ValueError, match=words):
        OrderedLabels(classes).fit(y)


@pytest.mark.parametrize("label", ["hgh", 0, None, float("nan"), ["low"], {}])
def test_a_label_that_is_no_class_is_refused(label):
    model = engine(classes=["low", "middle", "high"]).fit(X, np.array(["low", "middle", "high"])[CODES])
    meant = r"; did you mean 'high'\?" if label == "hgh" else "$"
    with pytest.raises(
        ValueError, match=r"label must be one of the classes \['low', 'middle', 'high'\]; got .*" + meant
    ):
        model.predict_at_least(X, label)


def test_columns_of_grades_say_what_takes_them():
    grades = np.column_stack([CODES, CODES, 2 - CODES])
    for y in (grades, grades.astype(str), pd.DataFrame(grades), grades.tolist()):
        for model in (HistGradientBoostingMultiOutputClassifier(max_iter=1), engine()):
            with pytest.raises(ValueError, match=r"y must be one-dimensional.*OrdinalLabels\.from_columns"):
                model.fit(X, y)


# Lists that hold text beside numbers: NumPy makes text of the numbers, and 1 and "1" one label


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, "1"],
        [0.5, "a", "b"],
        [True, "a", "b"],
        [np.int64(0), "1", "2"],
        [b"a", "a", "b"],
        [b"a", 1, 2],
        [float("nan"), "a", b"b"],
        [np.array(b"a"), np.array("a"), "b"],
    ],
)
def test_mixed_labels_are_refused(labels):
    with pytest.raises(ValueError, match=r"y must hold values of one type; got .+ beside "):
        engine().fit(X, labelled(labels))
    with pytest.raises(ValueError, match="y must hold values of one type"):
        engine().fit(X, [[label] for label in labelled(labels)])
    with pytest.raises(ValueError, match="classes must hold values of one type"):
        engine(classes=labels).fit(X, CODES)


def test_mixed_labels_are_refused_everywhere():
    mixed = labelled([0, 1, "1"])
    model = engine(classes=["0", "1", "2"]).fit(X, CODES.astype(str))
    for wrong in (
        lambda: engine(classes=["0", "1", "2"]).fit(X, CODES.astype(str), X_val=X, y_val=mixed),
        lambda: model.encode_labels(mixed),
        lambda: OrdinalCalibratedClassifier(engine()).fit(X, mixed),
        lambda: compare_updates(X, mixed),
        lambda: quadratic_weighted_kappa(mixed, mixed, labels=["0", "1", "2"]),
    ):
        with pytest.raises(ValueError, match="must hold values of one type"):
            wrong()


def test_mixed_groups_are_refused():
    groups = [[1, "1", 2, "2"][i % 4] for i in range(90)]
    with pytest.raises(ValueError, match="groups must hold values of one type; got 1 beside '1'"):
        HistGradientBoostingOrdinalClassifier().fit(X, CODES, groups=groups)


def test_lists_of_one_type_are_taken():
    for labels in (["0", "1", "2"], [np.str_("0"), "1", np.array("2")], [0, 1.0, 2], [False, 1, 2]):
        codes = OrderedLabels(labels).encode(labelled(labels))
        np.testing.assert_array_equal(codes, CODES)


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_labels_of_a_shorter_float_are_told(kind):
    classes = [0.1, 0.2, 0.3]
    with pytest.raises(ValueError, match=f"Rounded to {kind.__name__} they are among the classes: give both one type"):
        engine(classes=classes).fit(X, kind(classes)[CODES])
    with pytest.raises(ValueError, match=f"Rounded to {kind.__name__} they are among the classes: give both one type"):
        engine(classes=kind(classes)).fit(X, np.array(classes)[CODES])
    with pytest.raises(ValueError, match="Pass classes= with all classes"):
        engine(classes=classes).fit(X, np.array([0.1, 0.2, 0.4])[CODES])
