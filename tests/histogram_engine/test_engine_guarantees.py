"""What the native engine promises: the training loss, the order, the mirror, weights, and equality with others."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import lightgbm
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import logit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_dense_data

from makers import SKLEARN_DEFAULTS
from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.histogram_engine import state
from ordinal_objectives.histogram_engine.binning import find_cuts, uneven
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import RunStart, TrainingSet
from ordinal_objectives.links import LINKS
from ordinal_objectives.losses import LOSSES, AllThreshold, get_loss
from ordinal_objectives.rows import RowStatistics

CASES = [
    (loss, link, hessian)
    for loss in LOSSES
    for link in LINKS
    for hessian in ("majorized", "exact")
    if get_loss(loss, link).supports(hessian)
]
OTHERS = [pytest.param(update, marks=pytest.mark.slow) for update in ("newton", "fixed")]
UPDATES = pytest.mark.parametrize("threshold_update", ["joint", *OTHERS])


def small_data(seed, n_classes, n_rows=80):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, n_classes, n_rows)
    signal = np.nan_to_num(X[:, 0]) > 0
    y[signal] = np.minimum(y[signal] + 2, n_classes - 1)
    y[:2] = [0, n_classes - 1]
    return X, y.astype(np.int32)


def losses_of(run, y, weight=None, n_rounds=6):
    """Loss after every round, in double precision from the reference."""
    loss = run.parameters.spec.loss
    w = np.ones(len(y)) if weight is None else weight
    values = []
    for _ in range(n_rounds + 1):
        values.append(w @ loss.value(run.state.score, y, run.thresholds))
        assert not loss.ordered or (np.diff(run.thresholds) >= 0).all()
        run.advance()
    return np.array(values)


def assert_never_rises(values):
    """Allow what the float32 lanes round: two sums, and a step may raise what is measured by as much."""
    assert (np.diff(values) <= 3e-7 * np.abs(values[:-1]) + 1e-12).all(), values


@pytest.mark.parametrize("threshold_update", ["joint", "fixed"])
def test_rows_that_are_alike_are_not_parted(threshold_update):
    """Their gain is 0 in exact arithmetic, and rounding may not make a split of it."""
    X = np.random.default_rng(0).normal(size=(90, 3))
    y = (X[:, 0] > 0.3).astype(int) + (X[:, 0] > 1.0)
    model = HistGradientBoostingOrdinalClassifier(
        hessian="majorized", threshold_update=threshold_update, max_iter=5, min_samples_leaf=1, subsample=1.0
    ).fit(X, y)
    assert [len(tree.leaves) for tree in model._ensemble.trees] == [3] * 5


@pytest.mark.slow
@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 6),
    learning_rate=st.floats(0.01, 1.0),
    l2=st.sampled_from([0.0, 1e-3, 1.0]),
    leaves=st.integers(2, 30),
    loss=st.sampled_from(["all_threshold", "immediate_threshold"]),
    link=st.sampled_from(["logit", "probit"]),
    weighted=st.booleans(),
    rebin_every=st.sampled_from([None, 2]),
)
def test_majorised_joint_steps_never_raise_the_loss(
    seed, n_classes, learning_rate, l2, leaves, loss, link, weighted, rebin_every
):
    """And need not be halved for it, up to a learning rate of 1."""
    X, y = small_data(seed, n_classes)
    weight = np.random.default_rng(seed).choice([0.5, 1.0, 3.0], len(y)) if weighted else None
    parameters = BoostingParameters.of(
        get_loss(loss, link),
        hessian="majorized",
        learning_rate=learning_rate,
        l2_regularization=l2,
        max_leaf_nodes=leaves,
        min_samples_leaf=1,
        min_child_weight=0.0,
        max_bins=8,
        rebin_every=rebin_every,
    )
    run = EngineRun(parameters, TrainingSet(X, y, n_classes, weight))
    values = losses_of(run, y, weight)
    assert (np.diff(values) <= 1e-9 * values[:-1]).all()
    assert run.diagnostics.n_halved == 0


@pytest.mark.parametrize(("loss", "link", "hessian"), CASES)
@UPDATES
def test_no_step_raises_the_loss(loss, link, hessian, threshold_update):
    parameters = BoostingParameters.of(
        get_loss(loss, link),
        hessian=hessian,
        threshold_update=threshold_update,
        learning_rate=6.0,
        min_samples_leaf=1,
        max_leaf_nodes=12,
    )
    for seed in range(3):
        X, y = small_data(seed, 4)
        assert_never_rises(losses_of(EngineRun(parameters, TrainingSet(X, y, 4)), y))


@pytest.mark.parametrize("hessian", ["majorized", "exact"])
@UPDATES
@pytest.mark.parametrize(
    "judged",
    [
        pytest.param(("pruning",), marks=pytest.mark.slow),
        pytest.param(("adaptive_step",), marks=pytest.mark.slow),
        ("pruning", "adaptive_step"),
    ],
)
def test_steps_fitted_on_the_sample_do_not_raise_the_loss_of_all_rows(hessian, threshold_update, judged):
    parameters = BoostingParameters.of(
        get_loss("all_threshold"),
        hessian=hessian,
        threshold_update=threshold_update,
        learning_rate=1.0,
        min_samples_leaf=1,
        max_leaf_nodes=12,
        subsample=0.2,
        **dict.fromkeys(judged, True),
    )
    n_halved = 0
    for seed in range(3):
        X, y = small_data(seed, 4)
        run = EngineRun(parameters, TrainingSet(X, y, 4), seed=seed)
        assert_never_rises(losses_of(run, y, n_rounds=12))
        n_halved += run.diagnostics.n_halved
    # A step whose size the held-out rows chose is short enough already.
    assert n_halved > 0 or "adaptive_step" in judged


@pytest.mark.parametrize(("loss", "link", "hessian"), CASES)
@pytest.mark.parametrize(
    "mode", [{}, *({"proportional": True, "threshold_update": update} for update in ("joint", "newton"))]
)
def test_reversed_classes_give_the_mirrored_model(ordinal_data, loss, link, hessian, mode):
    X, y = ordinal_data(n_rows=500, n_classes=4)
    mirror = {"cloglog": "loglog", "loglog": "cloglog"}.get(link, link)
    options = {"loss": loss, "hessian": hessian, **mode, "max_iter": 8, "max_leaf_nodes": 6}
    options = {**SKLEARN_DEFAULTS, **options}
    there = HistGradientBoostingOrdinalClassifier(link=link, **options).fit(X, y)
    back = HistGradientBoostingOrdinalClassifier(link=mirror, **options).fit(X, 3 - y)
    np.testing.assert_allclose(there.predict_raw(X), -back.predict_raw(X), atol=1e-4)
    np.testing.assert_allclose(there.thresholds_, -back.thresholds_[::-1], atol=1e-4)


@pytest.mark.parametrize("hessian", ["majorized", "exact"])
def test_integer_weights_equal_repeated_rows(ordinal_data, hessian):
    X, y = ordinal_data(n_rows=300, n_classes=4)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    model = HistGradientBoostingOrdinalClassifier(
        hessian=hessian, max_iter=10, max_leaf_nodes=6, **{**SKLEARN_DEFAULTS, "min_samples_leaf": 1}
    )
    weighted = model.fit(X, y, sample_weight=weight).predict_proba(X)
    repeated = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-5)


def test_what_float32_leaves_between_weights_and_repeated_rows(ordinal_data, instruction_set):
    """Shifts: sums over thresholds are float32 within a block, and so are scores, each tree added to them rounded.

    Rounded at other places, these differ by some 1e-7 after 60 trees, with every instruction set.
    """
    X, y = ordinal_data(n_rows=300, n_classes=4)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    options = {**SKLEARN_DEFAULTS, "min_samples_leaf": 1, "max_iter": 60, "proportional": False}
    model = HistGradientBoostingOrdinalClassifier(max_leaf_nodes=6, **options)
    logits = []
    for *rows, weights in ((X, y, weight), (np.repeat(X, weight, axis=0), np.repeat(y, weight), None)):
        model.fit(*rows, sample_weight=weights)
        logits.append(logit(model.predict_proba(X[weight > 0])[:, :-1].cumsum(axis=1)))
    np.testing.assert_allclose(*logits, rtol=0.0, atol=2e-6)


@pytest.mark.parametrize("hessian", ["majorized", "exact"])
def test_sample_weight_equivalence_of_scikit_learn(monkeypatch, hessian):
    """The check compares to 1e-7, which the float32 lanes miss by half with the exact Hessian.

    Row statistics computed in double and rounded once, as here, keep it (2.4e-8 off, as in a NumPy transcription
    that rounds them so; without rounding 2e-15).
    """
    if hessian == "exact":
        monkeypatch.setattr(state, "RowStatistics", partial(RowStatistics, precision="float64"))
    check_sample_weight_equivalence_on_dense_data(
        "HistGradientBoostingOrdinalClassifier",
        HistGradientBoostingOrdinalClassifier(
            max_iter=10, hessian=hessian, proportional=True, **{**SKLEARN_DEFAULTS, "min_samples_leaf": 1}
        ),
    )


def binary_data():
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(700, 4)), 2)
    X = np.clip(X, -1.2, 1.2)  # fewer than 255 distinct values
    y = (X[:, 0] - X[:, 1] * X[:, 2] + rng.logistic(size=len(X)) > 0.2).astype(int)
    return X, y


@pytest.mark.parametrize("l2", [0.0, 1.0])
def test_binary_with_fixed_threshold_equals_lightgbm_and_scikit_learn(l2):
    X, y = binary_data()
    ours = HistGradientBoostingOrdinalClassifier(
        threshold_update="fixed",
        hessian="exact",
        max_iter=10,
        max_leaf_nodes=8,
        min_samples_leaf=5,
        l2_regularization=l2,
        subsample=1.0,
    ).fit(X, y)
    theirs = lightgbm.train(
        {
            "objective": "binary",
            "num_leaves": 8,
            "min_data_in_leaf": 5,
            "min_data_in_bin": 1,
            "lambda_l2": l2,
            "verbose": -1,
            "num_threads": 1,
        },
        lightgbm.Dataset(X, y),
        10,
    )
    sklearn = HistGradientBoostingClassifier(
        max_iter=10, max_leaf_nodes=8, min_samples_leaf=5, l2_regularization=l2, early_stopping=False
    ).fit(X, y)
    score = ours.decision_function(X)
    np.testing.assert_allclose(score, theirs.predict(X, raw_score=True), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(score, sklearn.decision_function(X), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_copies", "n_classes", "options"),
    [
        (1, 5, {}),
        (1, 5, {"threshold_update": "fixed"}),
        (4, 15, {"rebin_every": 2}),  # wide histograms are subtracted and scanned by several threads too
        (4, 15, {"subsample": 0.5, "colsample_bytree": 0.7, "pruning": True, "adaptive_step": True}),
    ],
)
def test_number_of_threads_changes_nothing(ordinal_data, n_copies, n_classes, options):
    X, y = ordinal_data(n_rows=20_000, n_classes=n_classes)
    X = np.hstack([X + shift for shift in range(n_copies)])
    options = {"max_iter": 4, "early_stopping": False, "random_state": 0, **options}
    one, two, many = (
        HistGradientBoostingOrdinalClassifier(n_jobs=n, **options).fit(X, y).predict_raw(X) for n in (1, 2, 5)
    )
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, many)


@pytest.mark.slow
@pytest.mark.parametrize("n_features", [1, 5, 40])
@pytest.mark.parametrize("uneven", [False, True])  # then rows are added up as they are
def test_number_of_threads_changes_nothing_where_they_share_rows(n_features, uneven):
    rng = np.random.default_rng(n_features)
    n = 150_000
    X = rng.normal(size=(n, n_features)).astype(np.float32)
    X[:, 3::3] = np.round(X[:, 3::3])  # columns that share a byte of a row
    X[:, 4::3] = X[:, 4::3] > 0
    y = np.digitize(X[:, 0] + rng.logistic(size=n), [-1.0, 0.5, 2.0]).astype(np.int32)
    weight = np.where(np.arange(n) % 1000, 1.0, 1e4 if uneven else 2.0)
    in_bag = np.flatnonzero(rng.random(n) < 0.95).astype(np.uint32)
    cuts = find_cuts(X)
    parameters = BoostingParameters.of(AllThreshold(), max_leaf_nodes=12)
    trees = []
    for n_threads in (1, 2, 3, 9):
        run = EngineRun(parameters, TrainingSet(X, y, 4, weight), n_threads=n_threads, start=RunStart(cuts=cuts))
        run.advance()
        trees += [[run.grow(rows, list(range(n_features))) for rows in (None, in_bag)]]
    for others in trees[1:]:
        for one, other in zip(trees[0], others, strict=True):
            for name in ("feature", "bin", "gain"):
                np.testing.assert_array_equal(other[name], one[name])


# Rows are rounded to whole numbers of a unit, the same for light and heavy ones


LEAST = 1e-3


def lowest_class_heavy(K, n=6000, seed=0):
    """Rows of which the lowest class weighs a million times as much as the others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    score = X[:, 0] + np.sin(3 * X[:, 1]) + 0.1 * rng.logistic(size=n)
    y = np.searchsorted(np.quantile(score, np.arange(1, K) / K), score).astype(np.int32)
    return X, y, np.where(y == 0, 1e3, 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("K", [12, 30])
@pytest.mark.parametrize("threshold_update", ["joint", "newton"])
def test_leaves_of_light_rows_have_the_weight_and_the_gain_of_their_rows(threshold_update, K):
    parameters = BoostingParameters.of(
        get_loss("all_threshold"), threshold_update=threshold_update, learning_rate=0.5, min_child_weight=LEAST
    )
    for seed in range(6):
        X, y, weight = lowest_class_heavy(K, seed=seed)
        run = EngineRun(parameters, TrainingSet(X, y, K, weight))
        for _ in range(5):
            g, h = run.state.now.gradient.astype(float), run.state.now.hessian.astype(float)
            grown = run.grow(None, [0, 1, 2, 3])
            leaves = grown["left"] < 0
            assert np.bincount(run.state.leaf_of_row, h, len(leaves))[leaves].min() >= LEAST * (1 - 1e-9)
            feature = grown["feature"][0]
            if threshold_update == "newton" and feature >= 0:
                left = np.searchsorted(run.cuts[feature], X[:, feature]) <= grown["bin"][0]
                a, b, both = (g[rows].sum() ** 2 / h[rows].sum() for rows in (left, ~left, left | ~left))
                assert grown["gain"][0] == pytest.approx((a + b - both) / 2, rel=1e-6)
            run.advance()


@pytest.mark.parametrize("seed", [0, 41, 60, 242, 340, 388])
def test_few_cross_terms_judge_light_rows_as_all_do(seed):
    rng = np.random.default_rng(seed)
    n, K, features = 2051, 30, [0, 1, 2, 3]
    X = rng.normal(size=(n, 4))
    score = X[:, 0] + np.sin(3 * X[:, 1]) + rng.logistic(size=n)
    y = np.searchsorted(np.quantile(score, np.sort(rng.random(K - 1))), score).astype(np.int32)
    y[:K] = np.arange(K)
    weight = np.where(y == rng.integers(K), 1e3, 1e-3)
    auto = BoostingParameters.of(get_loss("all_threshold"), learning_rate=0.5, max_leaf_nodes=8, min_child_weight=LEAST)
    plain = EngineRun(replace(auto, cross_terms="all"), TrainingSet(X, y, K, weight))
    for t in range(3):
        start = plain.state.score.copy(), plain.thresholds, t
        few: Any = EngineRun(auto, TrainingSet(X, y, K, weight), start=RunStart(*start, cuts=plain.cuts))
        judged, right = few.grow(None, features), plain.grow(None, features)
        assert not few.criterion.cross_terms.exact
        assert judged["gain"][0] == pytest.approx(right["gain"][0], rel=5e-3)
        plain.advance()


def hard_to_round(case, n=30_000):
    """Labelled rows whose statistics differ by much, weights that are just even, and start scores."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 4))
    X[:, 2] = np.where(rng.random(n) < 0.97, 0.0, X[:, 2])  # of 255 bins one has nearly all rows
    X[:, 3] = rng.integers(0, 3, n)
    score = 2 * X[:, 0] + X[:, 2] + 0.3 * X[:, 3]
    at = {"rare class": [0.0, 7.5], "many classes": np.linspace(-4.0, 4.0, 20)}.get(case, [-1.0, 2.0])
    y = np.digitize(score + rng.logistic(size=n), at).astype(np.int32)
    heavy = {"weights": rng.random(n) < 0.01, "last row": np.arange(n) == n - 1}.get(case)
    weight = None if heavy is None else np.where(heavy, 99.0, 1.0)
    start = {"far scores": 8 * X[:, 0], "outliers": np.where(rng.random(n) < 0.001, 60.0, 0.0)}.get(case)
    return X, y, weight, start


@pytest.mark.parametrize(
    "case", ["plain", "rare class", "weights", "last row", "far scores", "outliers", "many classes"]
)
@pytest.mark.parametrize("loss", ["all_threshold", "cumulative_link"])
def test_gains_of_rounded_rows_are_those_of_float64(monkeypatch, case, loss):
    X, y, weight, start = hard_to_round(case)
    parameters = BoostingParameters.of(get_loss(loss), cross_terms="all", max_leaf_nodes=12)
    gains = []
    for unrounded in (False, True):
        monkeypatch.setattr(state, "uneven", lambda weight, unrounded=unrounded: unrounded)
        begin = RunStart(start, [-1.0, 2.0]) if start is not None else RunStart()
        run = EngineRun(parameters, TrainingSet(X, y, int(y.max()) + 1, weight), start=begin)
        grown = run.grow(None, [0, 1, 2, 3])
        gains.append(grown["gain"][grown["left"] >= 0])
    error = np.abs(gains[0] / gains[1] - 1.0)
    assert (error.max() == 0.0) == (case == "far scores")  # whose Hessians have no unit in common
    largest = 2e-3 if case == "last row" else 2e-4  # one row decides the unit
    assert error.max() < largest
    assert np.median(error) < largest / 5


def test_rows_are_taken_as_they_are_where_weights_differ_by_more_than_a_hundred():
    assert not uneven(None)
    assert not uneven(np.array([1.0, 100.0, 0.0]))
    assert uneven(np.array([1.0, 100.1, 0.0]))
