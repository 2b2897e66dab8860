"""Which cross terms the engine's rows carry, and what follows from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.histogram_engine.criteria import cross_terms
from ordinal_objectives.histogram_engine.criteria.cross_terms import (
    TOLERANCE,
    WIDTHS,
    ScoreMass,
    all_cross_terms,
    few_cross_terms,
    score_mass,
)
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import RunStart, TrainingSet
from ordinal_objectives.losses import get_loss
from ordinal_objectives.rows import RowStatistics

pytestmark = pytest.mark.slow

LOSSES = ["all_threshold", "cumulative_link", "immediate_threshold"]


def carried(scores, thresholds, hessian, cross_terms, y=None, loss="all_threshold"):
    """Return what rows carry, gradient first, and the cross terms of all thresholds."""
    y = np.zeros(len(scores), int) if y is None else y
    rows = get_loss(loss).row_derivatives(scores, y, thresholds)
    h = get_loss(loss).hessian(scores, y, thresholds, hessian)
    return np.column_stack([rows.gradient, h, rows.cross[:, cross_terms.chosen], np.ones(len(h))]), rows.cross


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("K", [2, 3, 4, 5, 7, 9, 15])
@pytest.mark.parametrize("one_follows", [True, False])
def test_cross_terms_of_all_thresholds_follow_exactly(K, one_follows, loss):
    rng = np.random.default_rng(K)
    y = rng.integers(0, K, 50)
    cross_terms = all_cross_terms(np.bincount(y, minlength=K).astype(float), one_follows=one_follows)
    assert cross_terms.exact
    assert len(cross_terms.chosen) == K - 1 - (one_follows and K in (3, 7, 15))
    thresholds, scores = np.linspace(-2, 2, K - 1), rng.normal(size=50)
    rows, cross = carried(scores, thresholds, "exact", cross_terms, y, loss)
    np.testing.assert_allclose(cross_terms.of_all(rows), cross, atol=1e-14)


def test_the_threshold_that_halves_the_classes_follows():
    for weights, follows in (([1.0, 1, 1, 1, 1, 1, 6], 5), ([6.0, 1, 1, 1, 1, 1, 1], 0), ([3.0, 1, 1, 1, 1, 1, 2], 2)):
        chosen = all_cross_terms(np.array(weights), one_follows=True).chosen
        np.testing.assert_array_equal(chosen, np.delete(np.arange(6), follows))
    np.testing.assert_array_equal(
        all_cross_terms(np.array([1.0, 1, 1, 10, 1, 1, 1]), one_follows=True).chosen, [0, 1, 3, 4, 5]
    )
    np.testing.assert_array_equal(all_cross_terms(np.array([30.0, 1, 1]), one_follows=True).chosen, [1])


def few_of(scores, thresholds, hessian="exact", weight=None, **options):
    rows = score_mass(scores, weight, thresholds, 1)
    return few_cross_terms(rows, thresholds, hessian, weighted=weight is not None, **options)


def weights_of(kind, scores, rng):
    if kind == "balanced":  # rows far out count for as much as all others
        return 1.0 / np.exp(-0.5 * scores**2)
    if kind == "heavy":
        weight = np.ones(len(scores))
        weight[rng.choice(len(scores), 20, replace=False)] = len(scores)
        return weight
    return {"none": None, "spread": np.exp(2 * rng.normal(size=len(scores)))}[kind]


@pytest.mark.parametrize("n_thresholds", [15, 99])
@pytest.mark.parametrize("spread", [0.2, 2.0])
@pytest.mark.parametrize("hessian", ["exact", "majorized"])
@pytest.mark.parametrize("kind", ["none", "balanced", "heavy", "spread"])
def test_the_error_is_known_however_rows_are_shared_out_to_leaves(n_thresholds, spread, hessian, kind):
    rng = np.random.default_rng(n_thresholds)
    thresholds = np.linspace(-4, 4, n_thresholds)
    scores = np.clip(spread * rng.normal(size=5_000), -4, 4)
    scores[:20] += 9.0  # a rare group, and one row far beyond it
    scores[0] = 40.0
    weight = weights_of(kind, np.clip(scores, -4, 4), rng)
    few = few_of(scores, thresholds, hessian, weight)
    assert not few.exact
    assert few.error <= TOLERANCE
    assert len(few.chosen) in WIDTHS
    assert len(few.weights) == len(few.chosen) + (2 if weight is None else 1)
    rows, cross = carried(scores, thresholds, hessian, few)
    w = np.ones(len(scores)) if weight is None else weight
    rows[:, :-1] *= w[:, None]
    cross, V = cross * w[:, None], -(w @ cross)
    if hessian == "exact":
        np.testing.assert_allclose(few.of_all(rows).sum(axis=1), -rows[:, 1], atol=1e-12 * w.max())
    order = np.argsort(scores)
    partitions = [np.zeros(len(scores), int), rng.integers(0, 30, len(scores)), np.arange(len(scores)) // 200]
    partitions[2][order] = partitions[2].copy()
    for leaves in partitions:
        sums = np.zeros((leaves.max() + 1, rows.shape[1]))
        off = np.zeros((leaves.max() + 1, n_thresholds))
        np.add.at(sums, leaves, rows)
        np.add.at(off, leaves, few.of_all(rows) - cross)
        H = np.maximum(sums[:, 1:2], 1e-9)
        assert np.sqrt((off**2 / H / V).sum()) <= 1.1 * few.error + 1e-6


def test_as_many_thresholds_are_chosen_as_their_distances_ask_for():
    scores = np.random.default_rng(0).normal(size=5_000) * 2

    def n_chosen(thresholds, scores=scores):
        few = few_of(scores, thresholds)
        return None if few is None else len(few.chosen)

    assert n_chosen(np.linspace(-2, 2, 6)) is None
    assert n_chosen(np.linspace(-1, 1, 7)) == 5
    assert n_chosen(np.linspace(-8, 8, 14)) is None
    assert n_chosen(np.linspace(-4, 4, 40)) == 13
    assert n_chosen(np.linspace(-8, 8, 40), 4 * scores) == 29
    assert n_chosen(np.linspace(-100, 100, 40), 50 * scores) is None


def test_thresholds_that_stay_need_not_follow():
    thresholds = np.append(np.linspace(-1, 1, 12), np.arange(8.0, 20.0, 2.0))
    scores = np.append(np.random.default_rng(0).normal(size=5_000), np.linspace(5, 20, 100))
    assert len(few_of(scores, thresholds).chosen) == 13
    assert len(few_of(scores[:-100], thresholds, active=np.arange(18) < 12).chosen) == 5


@pytest.mark.parametrize("scores", [np.zeros(1000), np.zeros(1), np.arange(5.0), np.full(7, 1e6)])
@pytest.mark.parametrize("hessian", ["exact", "majorized"])
def test_few_different_scores_need_few_thresholds(scores, hessian):
    few = few_of(scores, np.linspace(-3, 3, 30), hessian)
    assert len(few.chosen) == 5
    rows, cross = carried(scores, np.linspace(-3, 3, 30), hessian, few)
    np.testing.assert_allclose(few.of_all(rows), cross, atol=1e-4)


@pytest.mark.parametrize("weighted", [True, False])
def test_rows_are_counted_by_score(weighted):
    rng = np.random.default_rng(0)
    scores = 3 * rng.normal(size=300_000)
    scores[:3] = [1e9, -1e9, 50.0]
    weight = rng.random(len(scores)) if weighted else None
    thresholds = np.linspace(-2, 2, 9)
    rows = score_mass(scores, weight, thresholds, 1)
    w = np.ones(len(scores)) if weight is None else weight
    bins = np.clip((scores + 18) * (1024 / 36), 0, 1023).astype(int)
    mass = np.bincount(bins, w, 1024)
    np.testing.assert_allclose(rows.mass, mass[mass > 0])
    np.testing.assert_allclose(rows.scores, (np.bincount(bins, w * scores, 1024)[mass > 0]) / rows.mass)
    for n_threads in (2, 5):
        np.testing.assert_array_equal(score_mass(scores, weight, thresholds, n_threads).scores, rows.scores)


def test_they_agree_with_V_of_the_rows_they_were_fitted_to():
    rng = np.random.default_rng(0)
    thresholds, n = np.linspace(-6, 6, 20), 5000
    near, far = rng.normal(size=n), np.append(rng.normal(size=n - 20), np.full(20, 5.0))
    few = few_of(near, thresholds)

    def agree(scores):
        return few.agree(np.diag(-carried(scores, thresholds, "exact", few)[1].sum(axis=0)), n, np.ones(20, bool))

    assert agree(near)
    assert not agree(far)


def rare_group(share, n, K, seed=0):
    """Rows of which a small share, told by a feature, has the upper half of the classes to itself."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    score = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + rng.logistic(size=n)
    rare = np.zeros(n, bool)
    rare[1 + (n // 1024) * rng.choice(1000, int(share * n), replace=False)] = True  # not every (n // 1024)th row
    y = np.empty(n, np.int32)
    for part, first in ((~rare, 0), (rare, K // 2)):
        edges = np.quantile(score[part], np.arange(1, K // 2) / (K // 2))
        y[part] = first + np.searchsorted(edges, score[part])
    X[:, 4] = rare + 0.1 * X[:, 4]
    return X, y


def balanced(y):
    return len(y) / (y.max() + 1) / np.bincount(y)[y]


def rare_and_balanced(K):
    X, y = rare_group(0.01, 20_000, K)
    return X, y, K, balanced(y)


def rare(K):
    X, y = rare_group(0.004, 100_000, K)
    return X, y, K, None


def falling_shares(K):
    X, _ = rare_group(0.01, 20_000, K)
    score = X[:, 0] + X[:, 1] + np.random.default_rng(1).logistic(size=len(X))
    y = np.searchsorted(np.quantile(score, 1 - 0.6 ** np.arange(1, K)), score).astype(np.int32)
    return X, y, K, balanced(y)


def few_heavy(K):
    X, y = rare_group(0.01, 20_000, K)
    weight = np.ones(len(y))
    weight[np.random.default_rng(2).choice(len(y), 20, replace=False)] = len(y) / 20
    return X, y, K, weight


@pytest.mark.parametrize(
    "rows", [rare_and_balanced(10), rare(10), rare(30), falling_shares(16), few_heavy(10), few_heavy(24)]
)
@pytest.mark.parametrize("options", [{}, {"hessian": "majorized"}, {"subsample": 0.3}])
def test_few_rows_and_heavy_rows_are_judged_as_by_all(rows, options):
    X, y, K, weight = rows
    auto = BoostingParameters.of(get_loss("all_threshold"), max_leaf_nodes=31, learning_rate=0.3, **options)
    every = replace(auto, cross_terms="all")
    plain = EngineRun(every, TrainingSet(X, y, K, weight))
    n_few = 0
    for t in range(16):
        if t % 3 == 0:
            few: Any = EngineRun(
                auto,
                TrainingSet(X, y, K, weight),
                start=RunStart(*(plain.state.score.copy(), plain.thresholds, t), cuts=plain.cuts),
            )
            sample, features = plain._sampler.draw(plain.iteration)
            judged, right = few.grow(sample.rows, features), plain.grow(sample.rows, features)
            for node in sorted(np.flatnonzero(right["feature"] >= 0), key=lambda node: right["left"][node]):
                (same,) = np.flatnonzero(judged["left"] == right["left"][node])
                assert judged["gain"][same] == pytest.approx(right["gain"][node], rel=1e-2)
                if any(judged[name][node] != right[name][node] for name in ("left", "feature", "bin")):
                    break  # two splits of the same worth
            n_few += not few.criterion.cross_terms.exact
            assert few.diagnostics.n_all_cross_terms == few.criterion.cross_terms.exact
        plain.advance()
    assert n_few >= 1
    assert plain.diagnostics.n_all_cross_terms == 0


def test_with_a_sample_few_speak_for_its_rows():
    rng = np.random.default_rng(0)
    n, K, features = 6000, 10, [0, 1]
    X, y, light = rng.normal(size=(n, 2)), np.arange(n, dtype=np.int32) % 10, np.arange(n) % 6 == 0
    scores = np.where(light, rng.uniform(-6, 6, n), 0.2 * rng.normal(size=n))
    weight = np.where(light, 1.0, 1e6)
    auto = BoostingParameters.of(get_loss("all_threshold"), subsample=0.5)
    start = (scores, np.linspace(-6, 6, K - 1), 1)
    run: Any = EngineRun(auto, TrainingSet(X, y, K, weight), start=RunStart(*start))
    some, light_ones = np.arange(0, n, 3, dtype=np.uint32), np.flatnonzero(light).astype(np.uint32)
    run.grow(some, features)
    chosen = run.criterion.cross_terms.chosen
    fitted = few_of(scores[some], run.thresholds, weight=weight[some], active=run.state.learner.active, chosen=chosen)
    np.testing.assert_array_equal(run.criterion.cross_terms.weights, fitted.weights)
    assert run.diagnostics.n_all_cross_terms == 0
    judged = run.grow(light_ones, features)
    assert run.diagnostics.n_all_cross_terms == 1
    every = EngineRun(
        replace(auto, cross_terms="all"), TrainingSet(X, y, K, weight), start=RunStart(*start, cuts=run.cuts)
    )
    np.testing.assert_array_equal(judged["gain"], every.grow(light_ones, features)["gain"])


def test_all_are_carried_where_V_is_not_what_few_say(monkeypatch):
    X, y, K, weight = rare_and_balanced(10)
    run: Any = EngineRun(BoostingParameters.of(get_loss("all_threshold")), TrainingSet(X, y, K, weight))
    for _ in range(3):
        run.advance()
    assert not run.criterion.cross_terms.exact
    assert run.diagnostics.n_all_cross_terms == 0
    one_place = ScoreMass(np.zeros(1), np.ones(1))
    monkeypatch.setattr(cross_terms, "score_mass", lambda *_: one_place)
    for n in range(4):  # the first tree was chosen for before
        assert run.diagnostics.n_all_cross_terms == max(0, n - 1)
        run.advance()


def test_rounds_by_all_are_counted():
    X, y, _, weight = rare_and_balanced(10)
    options = {"max_iter": 4, "learning_rate": 1.0, "early_stopping": False, "proportional": True}
    model = HistGradientBoostingOrdinalClassifier(**options).fit(X, y, sample_weight=weight)
    assert 1 <= model.diagnostics_["n_all_cross_terms"] <= 3
    every = HistGradientBoostingOrdinalClassifier(cross_terms="all", **options).fit(X, y, sample_weight=weight)
    assert every.diagnostics_["n_all_cross_terms"] == 0


def test_a_training_stops_looking_where_few_no_longer_do(monkeypatch):
    found = []

    def two_times(*arguments, **options):
        found.append(few_cross_terms(*arguments, **options) if len(found) < 2 else None)
        return found[-1]

    monkeypatch.setattr(cross_terms, "few_cross_terms", two_times)
    run: Any = many_classes("exact")
    carried_all = []
    for _ in range(6):
        run.advance()
        carried_all.append(run.criterion.cross_terms.exact)
    assert carried_all == [False, True, True, True, True, True]
    assert len(found) == 3
    assert run.diagnostics.n_all_cross_terms == 4  # the newest has not been grown on


@pytest.mark.parametrize(("n", "K", "few"), [(319, 10, False), (320, 10, True), (200, 15, False), (100, 40, True)])
def test_few_rows_of_few_classes_carry_all(n, K, few):
    run: Any = many_classes("exact", K=K, n=n)
    assert run.criterion.cross_terms.exact != few
    run.advance()
    assert run.diagnostics.n_all_cross_terms == 0


def many_classes(hessian, K=24, n=3000, **options):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 4))
    score = 2 * X[:, 0] + np.sin(3 * X[:, 1]) + rng.logistic(size=n)
    y = np.searchsorted(np.quantile(score, np.arange(1, K) / K), score).astype(np.int32)
    loss = get_loss("all_threshold")
    return EngineRun(
        BoostingParameters.of(loss, hessian=hessian, learning_rate=0.3, max_leaf_nodes=15, **options),
        TrainingSet(X, y, K),
    )


@pytest.mark.parametrize("hessian", ["exact", "majorized"])
def test_training_goes_the_same_way_by_few_and_by_all(hessian):
    few = many_classes(hessian)
    losses, widths = [], set()
    for _ in range(30):
        widths.add(len(few.criterion.cross_terms.chosen))
        few.advance()
        losses.append(few.training_loss)
        assert (np.diff(few.thresholds) > 0).all()
    assert (np.diff(losses) < 0).all()
    assert widths == {5, 13}
    every = many_classes(hessian, cross_terms="all")
    for _ in range(30):
        every.advance()
    assert every.criterion.cross_terms.exact
    assert few.training_loss == pytest.approx(every.training_loss, rel=2e-3)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("factor", [1.0, 50.0])  # beyond the spread of the float32 lanes
def test_cross_terms_of_some_thresholds_are_columns_of_all(precision, factor):
    rng = np.random.default_rng(0)
    n, K = 1000, 20
    thresholds, raw = factor * np.linspace(-2, 2, K - 1), rng.normal(size=n)
    chosen = np.array([0, 3, 4, 11, 18], np.int32)
    kernel = RowStatistics(get_loss("all_threshold"), rng.integers(0, K, n), K, precision=precision)
    every = kernel(raw, thresholds, want_cross=True).cross[:, chosen].copy()
    np.testing.assert_array_equal(kernel(raw, thresholds, want_cross=True, cross_of=chosen).cross, every)
    rows = np.full((n, 8), 7.0, np.float32)
    some = kernel(raw, thresholds, want_cross=True, side_by_side=rows, cross_of=chosen)
    np.testing.assert_array_equal(rows[:, 2:7], every.astype(np.float32))
    np.testing.assert_array_equal(rows[:, 0], some.gradient.astype(np.float32))
    assert (rows[:, 7] == 7.0).all()


def very_many_classes(K, **options):
    X = np.arange(float(K))[:, None]
    return (
        HistGradientBoostingOrdinalClassifier(
            max_iter=1, max_leaf_nodes=2, min_samples_leaf=1, early_stopping=False, **{"proportional": True, **options}
        )
        .set_params(classes=range(K))
        .fit(X, np.arange(K))
    )


def test_more_classes_than_a_scan_has_room_for_are_refused():
    with pytest.raises(ValueError, match="threshold_update='joint' takes at most 1001 classes; got 1002"):
        very_many_classes(1002)
    assert len(very_many_classes(1002, threshold_update="newton").thresholds_) == 1001
