"""Graphs of ONNX answer as the models do, by onnxruntime."""

from __future__ import annotations

import enum
from datetime import date
from fractions import Fraction

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import xgboost
from hypothesis import given, settings, strategies as st
from lightgbm import LGBMClassifier
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

from exported import CATEGORIES, mixed_rows, row_scores, train
from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalEnsembleClassifier,
    OrdinalPredictionSets,
    XGBOrdinalClassifier,
)
from ordinal_objectives.adapters import xgb as oxgb
from ordinal_objectives.export import to_onnx
from ordinal_objectives.export.model import Scorer, ScoringTree, scoring_model
from ordinal_objectives.export.onnx.graph import OPSETS, Graph
from ordinal_objectives.export.onnx.probabilities import rounded_down, tree_scores
from own_losses import Rising
from served import answers, far_from_ties

TOLERANCE = {"float32": 2e-6, "float64": 1e-6}
LINKS = ["logit", "probit", "cloglog", "loglog", "cauchit"]
N, NAMES = 300, ["poor", "fair", "good", "best"]


def assert_same(model, X, floats, rows=None, **options):
    """Compare a model's graph with it, on rows that float32 holds."""
    rows = X if rows is None else rows
    found_labels, found = answers(to_onnx(model, X, floats=floats, **options), rows, floats)
    assert found.dtype == floats
    assert_allclose(found, model.predict_proba(rows), atol=TOLERANCE[floats], rtol=0)
    far = far_from_ties(model, model.predict_proba_ordered(rows), TOLERANCE[floats])
    assert far.mean() > 0.8
    assert found_labels.dtype == (object if model.classes_.dtype.kind in "OU" else np.int64)
    assert (found_labels[far] == model.predict(rows)[far]).all()


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=N).astype(np.float32),
            "count": rng.integers(-2, 3, N),
            "town": pd.Categorical(rng.choice(list("uvwxyz"), N)),
            "grade": pd.Categorical(rng.choice([3, 5, 9, 11], N)),
        }
    )
    effect = dict(zip("uvwxyz", rng.normal(size=6), strict=True))
    X.loc[::7, "size"] = np.nan
    X.loc[3::11, "town"] = np.nan
    score = X["size"].fillna(0) * X["count"] + X["town"].map(effect).astype(float).fillna(0) + (X["grade"] == 9)
    y = np.digitize(score + 0.4 * rng.normal(size=N), [-1.0, 0.0, 1.2])
    return X, np.array(NAMES)[y]


@pytest.fixture(scope="module")
def array(frame):
    X, y = frame
    return np.column_stack([X["size"], X["count"], X["grade"].cat.codes]).astype(np.float32), y


KINDS = {
    XGBOrdinalClassifier: [
        {},
        {"proportional": True},
        {"booster": "dart", "rate_drop": 0.3, "proportional": True},
        {"num_parallel_tree": 2, "proportional": True},
        {"missing": -2.0},
        {"missing": -2.0, "linear": True},
        {"linear": True},
        {"decision_rule": "mode"},
    ],
    LGBMOrdinalClassifier: [
        {"verbosity": -1},
        {"proportional": True, "min_data_per_group": 1, "cat_smooth": 0.0},
        {"zero_as_missing": True},
        {"linear": True},
        {"decision_rule": "mean"},
    ],
    HistGradientBoostingOrdinalClassifier: [
        {},
        {"proportional": True},
        {"boosting_type": "rf"},
        {"linear": True},
        {"order": 3, "proportional": True},
        {"training_cost": "quadratic"},
        {"decision_rule": "mode"},
        {"cost_matrix": [[0, 1, 2, 3], [4, 0, 1, 2], [8, 4, 0, 1], [9, 8, 4, 0]]},
    ],
}


@pytest.mark.parametrize("floats", TOLERANCE)
@pytest.mark.parametrize(("kind", "options"), [(kind, one) for kind, those in KINDS.items() for one in those], ids=str)
def test_every_kind_of_model(frame, array, kind, options, floats):
    n_trees = "max_iter" if kind is HistGradientBoostingOrdinalClassifier else "n_estimators"
    for X, y in (frame, array):
        model = kind(random_state=0, n_jobs=1, classes=NAMES, **{n_trees: 15}, **options).fit(X, y)
        assert_same(model, X, floats)


@pytest.mark.parametrize("floats", TOLERANCE)
def test_a_number_that_means_missing_is_compared_in_float32(array, floats):
    X, y = array
    filled = np.nan_to_num(X, nan=-0.1)
    assert_same(
        XGBOrdinalClassifier(n_estimators=5, missing=-0.1, linear=True, classes=NAMES).fit(filled, y), filled, floats
    )


@pytest.mark.parametrize("floats", TOLERANCE)
def test_shifts_that_xgboost_fits_itself(array, floats):
    X, y = array
    model = XGBOrdinalClassifier(n_estimators=15, proportional=False, shift_method="host", classes=NAMES).fit(X, y)
    assert_same(model, X, floats)


@pytest.mark.parametrize("floats", TOLERANCE)
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("loss", ["all_threshold", "cumulative_link", "immediate_threshold"])
def test_losses_and_links_also_far_away(array, loss, link, floats):
    X, y = array
    options = {"loss": loss, "link": link, "classes": NAMES, "learning_rate": 1.0, "l2_regularization": 0.01}
    model = HistGradientBoostingOrdinalClassifier(max_iter=20, n_jobs=1, random_state=0, **options).fit(X, y)
    assert np.ptp(model.predict_linear_predictors(X)) > 8
    assert_same(model, X, floats)


@st.composite
def models(draw):
    """A model of few rows, and rows that lie on its cuts, beside them, or miss values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_classes, offset = 120, draw(st.integers(2, 30)), draw(st.sampled_from([0.0, 1e6, -1e6]))
    X = (offset + rng.normal(size=(n, 3)) * draw(st.sampled_from([1.0, 40.0]))).astype(np.float32)
    X[:, 2] = rng.integers(0, 6, n)
    score = (X[:, 0] - offset) / np.abs(X[:, 0] - offset).max() + rng.normal(size=6)[X[:, 2].astype(int)]
    y = np.argsort(np.argsort(score + 0.3 * rng.normal(size=n))) * n_classes // n
    X[rng.random((n, 3)) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    loss = draw(st.sampled_from(["all_threshold", "cumulative_link", "immediate_threshold"]))
    model = HistGradientBoostingOrdinalClassifier(
        loss=loss,
        link=draw(st.sampled_from(LINKS)),
        proportional=draw(st.booleans()) or loss == "cumulative_link",
        categorical_features=draw(st.sampled_from([None, [2]])),
        decision_rule=draw(st.sampled_from(["median", "mode", "mean"])),
        max_iter=draw(st.integers(1, 12)),
        max_leaf_nodes=6,
        min_samples_leaf=5,
        min_samples_category=2,
        classes=np.arange(n_classes),
        n_jobs=1,
        random_state=0,
    ).fit(X, y)
    cuts = {
        feature: [
            float(tree.threshold[node])
            for tree in scoring_model(model).scorer.trees
            for node in np.flatnonzero((tree.feature == feature) & np.isfinite(tree.threshold))
        ]
        for feature in range(2)
    }
    rows = np.repeat(X, 2, axis=0)
    for feature, values in cuts.items():
        if values:
            near = np.float32(rng.choice(values, n))
            rows[::2, feature] = np.nextafter(near, rng.choice(np.float32([-np.inf, np.inf]), n), dtype=np.float32)
            rows[1::4, feature] = near[::2]
    return model, X, rows


@settings(max_examples=60)
@given(models(), st.sampled_from(["float32", "float64"]))
def test_models_and_rows_on_their_cuts(drawn, floats):
    model, X, rows = drawn
    found_labels, found = answers(to_onnx(model, X, floats=floats), rows, floats)
    assert_allclose(found, model.predict_proba(rows), atol=TOLERANCE[floats], rtol=0)
    far = far_from_ties(model, model.predict_proba_ordered(rows), TOLERANCE[floats])
    assert (found_labels[far] == model.predict(rows)[far]).all()


def test_thresholds_are_rounded_down():
    """To the nearest float32, half of them would send the numbers between both the other way."""
    thresholds = 1e6 + np.random.default_rng(0).normal(size=2000)
    x = thresholds.astype(np.float32)
    for near in (x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x, np.float32(-np.inf))):
        assert ((near <= rounded_down(thresholds)) == (near.astype(np.float64) <= thresholds)).all()
    assert (x > thresholds).sum() > 500
    assert rounded_down(np.array([np.inf, -np.inf, 1e300, -1e300])).tolist() == [
        np.inf,
        -np.inf,
        float(np.finfo(np.float32).max),
        -np.inf,
    ]


def random_scorer(rng, n_codes):
    """Return trees that part one column by sets of codes, where missing values go either way."""
    trees = []
    for _ in range(20):
        left, right = np.full(9, -1, np.int32), np.full(9, -1, np.int32)
        left[:4], right[:4] = [1, 3, 5, 7], [2, 4, 6, 8]
        inner = np.arange(9) < 4
        categories = {node: rng.permutation(n_codes)[: rng.integers(0, n_codes + 1)] for node in range(4)}
        trees.append(
            ScoringTree(
                feature=np.where(inner, 0, -1).astype(np.int32),
                threshold=np.zeros(9),
                left=left,
                right=right,
                missing_left=inner & (rng.random(9) < 0.5),
                value=np.where(inner, 0.0, rng.normal(size=9))[:, np.newaxis],
                count=np.ones(9),
                categories=categories,
            )
        )
    return Scorer(trees, np.zeros(1))


@pytest.mark.parametrize("floats", TOLERANCE)
@pytest.mark.parametrize("n_codes", [2, 6, 70, 254])
def test_sets_of_categories_and_missing_values(n_codes, floats):
    """onnxruntime joins nodes that compare with codes; missing values still go where they should."""
    scorer = random_scorer(np.random.default_rng(n_codes), n_codes)
    X = np.append(np.arange(n_codes + 3), np.nan)[:, np.newaxis]
    graph = Graph(floats)
    output = tree_scores(graph, "X", scorer)
    ends = [onnx.helper.make_tensor_value_info(name, graph.element_type, [None, 1]) for name in ("X", output)]
    body = onnx.helper.make_graph(graph.nodes, "trees", ends[:1], ends[1:], graph.constants)
    made = onnx.helper.make_model(body, opset_imports=[onnx.helper.make_opsetid(*one) for one in OPSETS.items()])
    made.ir_version = 8
    (found,) = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"X": X.astype(floats)})
    assert_allclose(found, row_scores(scorer, X), atol=1e-5)


def test_first_iterations(array):
    X, y = array
    held = {"eval_set": [(X[:60], y[:60])]}
    stopped = XGBOrdinalClassifier(n_estimators=200, early_stopping_rounds=3, classes=NAMES).fit(X[60:], y[60:], **held)
    assert stopped.n_iter_ < stopped.booster_.num_boosted_rounds() < 200
    assert_same(stopped, X, "float64")
    for model in (stopped, HistGradientBoostingOrdinalClassifier(max_iter=9, classes=NAMES).fit(X, y)):
        for n_iter, proba in enumerate(model.staged_predict_proba(X), start=1):
            if n_iter in (1, 4):
                found = answers(to_onnx(model, X, iterations=n_iter), X)[1]
                assert_allclose(found, proba, atol=2e-6)
        start = answers(to_onnx(model, X, iterations=0), X)[1]
        assert (np.ptp(start, axis=0) == 0).all()
    for iterations in (-1, model.n_iter_ + 1, 1.5):
        with pytest.raises((ValueError, TypeError), match="iterations must be"):
            to_onnx(model, X, iterations=iterations)
    forest = HistGradientBoostingOrdinalClassifier(boosting_type="rf", max_iter=5, classes=NAMES).fit(X, y)
    with pytest.raises(ValueError, match="no stages"):
        to_onnx(forest, X, iterations=2)


def test_labels_of_every_type(array):
    X, y = array
    codes = np.searchsorted(sorted(NAMES), y)
    for classes, labels in (
        ([10, 20, 30, 40], codes * 10 + 10),
        ([0.5, 1.5, 2.5, 3.5], codes + 0.5),
        ([False, True], codes > 1),
    ):
        model = HistGradientBoostingOrdinalClassifier(max_iter=5, classes=classes).fit(X, labels)
        found, _ = answers(to_onnx(model, X), X)
        assert found.dtype.kind == model.classes_.dtype.kind
        assert (found == model.predict(X)).mean() > 0.99


class Grade(str, enum.Enum):
    """Text, whose str() is another."""

    LOW = "a"
    HIGH = "b"


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["a", "b"], dtype=object),
        list(Grade),
        np.array([-(2**63), 2**63 - 1]),
        np.array([1, 2**63 - 1], dtype=np.uint64),
        np.array([0.5, 1.5], dtype=np.float16),
        np.array(["", "b\0c"], dtype=object),
    ],
    ids=str,
)
def test_labels_of_a_graph_equal_those_of_the_model(array, labels):
    model, X, _ = labelled(array, labels)
    assert (answers(to_onnx(model, X), X)[0] == model.predict(X)).all()


@pytest.mark.parametrize(
    "labels",
    [[b"1", b"2"], [date(2020, 1, 1), date(2020, 1, 2)], [(1, 2), (1, 3)], [Fraction(1, 3), Fraction(1, 2)]],
    ids=str,
)
def test_labels_that_a_graph_cannot_hold_are_refused(array, labels):
    model, X, y = labelled(array, labels)
    with pytest.raises(TypeError, match="labels must be text") as caught:
        to_onnx(model, X)
    assert repr(labels[0]) in str(caught.value)
    ensemble = OrdinalEnsembleClassifier([("m", XGBOrdinalClassifier(n_estimators=2))], classes=model.ordered_classes_)
    with pytest.raises(TypeError, match="labels must be text"):
        to_onnx(ensemble.fit(X, y), X)


def labelled(array, labels):
    """Return a model of two labels, its rows and theirs."""
    X, y = array
    classes = np.empty(2, dtype=object)
    classes[:] = labels if isinstance(labels, list) else labels.tolist()
    classes = classes if isinstance(labels, list) else labels
    y = classes[(y == "best").astype(int)]
    return HistGradientBoostingOrdinalClassifier(max_iter=3, n_jobs=1, classes=classes).fit(X, y), X, y


def test_unknown_and_missing_categories(frame):
    X, y = frame
    for kind in KINDS:
        options = {"max_iter" if kind is HistGradientBoostingOrdinalClassifier else "n_estimators": 15}
        model = kind(classes=NAMES, random_state=0, **options).fit(X, y)
        rows = X.assign(town=pd.Categorical([np.nan] * N, categories=list("uvwxyz")))
        graph = to_onnx(model, X)
        given = rows.assign(town="a town that nobody knows")
        assert_allclose(answers(graph, given)[1], model.predict_proba(rows), atol=2e-6)


@pytest.mark.parametrize("floats", TOLERANCE)
@pytest.mark.parametrize("trainer", ["lightgbm", "xgboost"])
def test_codes_that_are_no_codes(trainer, floats):
    """LightGBM leaves fractions off, and finds infinite and negative codes in no set; to XGBoost's they are missing."""
    X, y = mixed_rows()
    model = train(trainer, X, y)
    X[:, CATEGORIES] = np.random.default_rng(1).choice([0.5, 1.5, 2.75, 5.999, 40.5, -0.25, -1.0, -7.5], len(X))
    if trainer == "lightgbm":  # XGBoost takes no infinite numbers
        X[::3, CATEGORIES], X[1::3, CATEGORIES] = -np.inf, np.inf
    X = X.astype(np.float32)
    found = answers(to_onnx(model, X, floats=floats), X, floats)[1]
    assert_allclose(found, model.predict_proba(X), atol=2e-6)
    if trainer == "xgboost":  # whose levels the scorer knows by their codes
        return
    scores = row_scores(scoring_model(model).scorer, X)
    assert_allclose(scores.mean(axis=1), model.predict_raw(X), atol=1e-5)


def test_names_of_columns(frame):
    X, y = frame
    options = {"max_iter": 5, "classes": NAMES, "random_state": 0}
    model = HistGradientBoostingOrdinalClassifier(**options).fit(X, y)
    inner = [name for node in to_onnx(model, X).graph.node for name in node.output]
    for names in (inner[:4], [0, 1, 2, 3]):  # those of the graph itself, and no names
        renamed = X.set_axis(names, axis=1)
        fitted = HistGradientBoostingOrdinalClassifier(**options).fit(renamed, y)
        found = answers(to_onnx(fitted, renamed), renamed.set_axis(map(str, names), axis=1))[1]
        assert_allclose(found, fitted.predict_proba(renamed), atol=2e-6)
    with pytest.raises(ValueError, match=r"X_example must have the columns of the training, .* got 'count' for 'size'"):
        to_onnx(model, X[["count", "size", "town", "grade"]])
    for name in ("label", "probabilities", ""):
        renamed = X.rename(columns={"size": name})
        fitted = HistGradientBoostingOrdinalClassifier(**options).fit(renamed, y)
        with pytest.raises(ValueError, match=rf"X_example must have columns with names, .* got '{name}': train on"):
            to_onnx(fitted, renamed)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize(
    "levels", [[0.1, 3.1, 0.5, -1.25], [True, False, True, False], ["ä", "ö", "a", "b"]], ids=["floats", "bool", "text"]
)
@pytest.mark.parametrize("kind", [XGBOrdinalClassifier, LGBMOrdinalClassifier, HistGradientBoostingOrdinalClassifier])
def test_levels_of_every_type(frame, kind, levels, linear):
    X, y = frame
    X = X.assign(grade=pd.Categorical(np.array(levels)[X["grade"].cat.codes]))
    model = kind(linear=linear, classes=NAMES).fit(X, y)
    assert_same(model, X, "float32")


def test_numbered_columns_keep_their_order(array):
    X, y = array
    X = pd.DataFrame(X)
    model = HistGradientBoostingOrdinalClassifier(max_iter=3, classes=NAMES).fit(X, y)
    with pytest.raises(ValueError, match="X_example must have its columns in the order of the training, 0, 1, 2"):
        to_onnx(model, X[[1, 0, 2]])


def test_levels_that_float32_does_not_tell_apart(frame):
    X, y = frame
    X = X.assign(grade=X["grade"].cat.rename_categories([0.1, 0.1 + 1e-12, 0.5, 0.7]))
    model = HistGradientBoostingOrdinalClassifier(max_iter=5, classes=NAMES).fit(X, y)
    with pytest.raises(ValueError, match=r"column 'grade' must have levels that float32 tells apart; .* near 0.1"):
        to_onnx(model, X)


def test_levels_beyond_int64_are_refused(frame):
    X, y = frame
    X = X.assign(grade=X["grade"].cat.rename_categories([1, 2, 3, 2**63]))
    model = HistGradientBoostingOrdinalClassifier(max_iter=5, classes=NAMES).fit(X, y)
    with pytest.raises(ValueError, match=r"column 'grade' of X_example must be of the type that the levels"):
        to_onnx(model, X)


def test_a_graph_leaves_the_model_as_it_is(frame):
    X, y = frame
    model = LGBMOrdinalClassifier(n_estimators=10, classes=NAMES).fit(X, y)
    before, copy = model.predict_proba(X), X.copy()
    to_onnx(model, X)
    assert (model.predict_proba(X) == before).all()
    pd.testing.assert_frame_equal(X, copy)


def test_what_cannot_be_written_is_refused(frame, array):
    X, y = array
    small = {"n_estimators": 3, "classes": NAMES}
    fitted = XGBOrdinalClassifier(**small).fit(X, y)
    cases = [
        (XGBOrdinalClassifier(booster="gblinear", verbosity=0, **small).fit(np.nan_to_num(X), y), X, "must have trees"),
        (
            LGBMOrdinalClassifier(linear_tree=True, proportional=True, **small).fit(X, y),
            X,
            "linear_tree=True they are linear models",
        ),
        (XGBOrdinalClassifier(loss=Rising(), **small).fit(X, y), X, "a graph cannot hold"),
        (fitted, X[:, 0], r"X_example must have shape \(n_samples, n_features\)"),
        (fitted, X[:, :2], "X_example must have the 3 features of the training; got 2"),
        (fitted, X.astype(object), "X_example must be a frame where columns hold text"),
        (fitted, pd.DataFrame(X).assign(day=np.datetime64("2020-01-01")).drop(columns=0), "column 'day' is of type"),
    ]
    for model, rows, message in cases:
        with pytest.raises(ValueError, match=message):
            to_onnx(model, rows)
    with pytest.raises(ValueError, match="floats must be one of"):
        to_onnx(fitted, X, floats="float16")
    with pytest.raises(NotFittedError):
        to_onnx(XGBOrdinalClassifier(), X)
    with pytest.raises(TypeError, match=r"model must be one .* holds no sets; got OrdinalPredictionSets"):
        to_onnx(OrdinalPredictionSets(XGBOrdinalClassifier(**small)).fit(X, y), X)
    X, y = frame
    member = LGBMClassifier(n_estimators=3, verbosity=-1)  # whose file does not say which columns are categories
    model = OrdinalEnsembleClassifier([("m", member)], classes=NAMES, n_bags=1).fit(X, y)
    with pytest.raises(ValueError, match=r"must have the 2 column\(s\) of a category type"):
        to_onnx(model, X.assign(grade=X["grade"].astype(int)))
    towns = X.assign(town=X["town"].cat.rename_categories({"u": "Zürich"}))
    data = xgboost.DMatrix(towns, np.arange(len(towns)) % 3, enable_categorical=True)
    with pytest.raises(ValueError, match="column 'town' must have categories in ASCII"):
        XGBOrdinalClassifier(**small).fit(towns, np.arange(len(towns)) % 3, xgb_model=oxgb.train({}, data, 1))


def test_numbers_that_are_zeros_to_lightgbm_are_so_in_doubles():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((N, 1)) < 0.4, 0.0, rng.normal(size=(N, 1)))
    y = np.digitize(np.where(X[:, 0] == 0, 2.0, X[:, 0]), [-0.3, 0.3, 1.5])
    model = LGBMOrdinalClassifier(n_estimators=3, zero_as_missing=True, n_jobs=1, verbosity=-1).fit(X, y)
    assert_same(model, X, "float64", rows=np.array([[0.0], [np.float32(1e-35)], [-np.float32(1e-35)], [1.1e-35]]))


@pytest.mark.parametrize("floats", TOLERANCE)
@pytest.mark.parametrize("options", [{}, {"use_missing": False}])
def test_numbers_on_the_border_of_lightgbms_zeros(floats, options):
    X = np.random.default_rng(0).choice([-1.0, 0.0, 1.0], (200, 1))
    y = np.searchsorted([-1.0, 0.0, 1.0], X[:, 0])
    model = LGBMOrdinalClassifier(n_estimators=4, min_child_samples=5, verbosity=-1, **options).fit(X, y)
    border = np.float32(1e-35)
    rows = np.array([[-1], [-border], [border], [np.nextafter(border, 1)], [-np.nextafter(border, 1)], [0]], np.float64)
    assert_same(model, X, floats, rows=rows)


@pytest.mark.parametrize("kind", [XGBOrdinalClassifier, HistGradientBoostingOrdinalClassifier])
def test_a_linear_part_of_numbers_far_from_0(kind):
    rng = np.random.default_rng(0)
    X = np.column_stack([16_777_216.0 + 2 * rng.integers(0, 40, 300), rng.normal(size=300).astype(np.float32)])
    model = kind(linear=True, random_state=0).fit(X, np.digitize(X[:, 0] + 9 * X[:, 1], [16777240, 16777260]))
    assert_same(model, X, "float32")


def test_whole_numbers_that_float32_rounds_are_warned_of(array):
    X = pd.DataFrame({"time": 1_600_000_000 + np.arange(300) * 7, "few": np.arange(300) % 5})
    model = HistGradientBoostingOrdinalClassifier(max_iter=3).fit(X, np.arange(300) // 100)
    with pytest.warns(UserWarning, match=r"may round whole numbers beyond 2\*\*24 to float32, as in 'time': rows may"):
        to_onnx(model, X)
    assert_same(model, X, "float64")
    assert_same(model, X.astype({"time": np.float32}), "float32", rows=X.astype({"time": np.float32}))
