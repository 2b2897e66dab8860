"""Lists that hold text beside numbers are refused: NumPy makes text of the numbers, and 1 and "1" one label."""

import numpy as np
import pytest

from ordinal_objectives import HistGradientBoostingOrdinalClassifier, OrdinalCalibratedClassifier
from ordinal_objectives.compare import compare_updates
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.metrics import quadratic_weighted_kappa

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 2))
CODES = np.digitize(X[:, 0] + 0.5 * rng.normal(size=90), [-0.5, 0.5])


def labelled(labels):
    return [labels[code] for code in CODES]


def engine(**given):
    return HistGradientBoostingOrdinalClassifier(max_iter=3, **given)


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, "1"],
        [0.5, "a", "b"],
        [True, "a", "b"],
        [np.int64(0), "1", "2"],
        [b"a", "a", "b"],
        [b"a", 1, 2],
        [float("nan"), "a", "b"],
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
        lambda: engine(classes=["0", "1", "2"]).fit(X, CODES.astype(str), eval_set=[(X, mixed)]),
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
        engine(decision_rule="kappa").fit(X, CODES, groups=groups)


def test_lists_of_one_type_are_taken():
    for labels in (["0", "1", "2"], [np.str_("0"), "1", "2"], [0, 1.0, 2], [False, 1, 2]):
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
