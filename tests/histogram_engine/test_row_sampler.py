"""Which rows are drawn for a tree."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from ordinal_objectives import _core
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun, Sampler
from ordinal_objectives.histogram_engine.state import RunStart, Sample, TrainingSet
from ordinal_objectives.trees import TreeEnsemble


def drawn(n_rows, n_drawn, *, seed=0, iteration=0, weight=None, n_threads=1):
    rows, outside = _core.RowSampler(n_rows, weight).draw(n_drawn, seed, iteration, n_threads)
    return rows.copy(), outside.copy()


def counts(n_rows, n_drawn, n_draws):
    """Return how often each row was drawn, and each pair, (n_rows, n_rows)."""
    table = np.zeros((n_draws, n_rows))
    for i in range(n_draws):
        table[i, drawn(n_rows, n_drawn, seed=i % 7, iteration=i)[0]] = 1.0
    return table.sum(axis=0), table.T @ table


@pytest.mark.parametrize(
    ("n_rows", "n_drawn"),
    [(1, 1), (2, 1), (7, 7), (255, 1), (256, 100), (257, 256), (16_384, 13_000), (16_385, 8000), (200_003, 160_002)],
)
def test_exactly_so_many_rows_in_order(n_rows, n_drawn):
    for iteration in range(5):
        rows, outside = drawn(n_rows, n_drawn, iteration=iteration)
        assert len(rows) == n_drawn
        assert (np.diff(rows.astype(int)) > 0).all()
        assert (np.diff(outside.astype(int)) > 0).all()
        assert_array_equal(np.sort(np.concatenate([rows, outside])), np.arange(n_rows))


def test_rows_without_weight_are_outside():
    weight = np.random.default_rng(0).integers(0, 3, 5000).astype(float)
    eligible = np.count_nonzero(weight)
    assert _core.RowSampler(5000, weight).n_eligible == eligible
    for n_drawn in (1, 700, eligible):
        rows, outside = drawn(5000, n_drawn, weight=weight)
        assert len(rows) == n_drawn
        assert len(outside) == 5000 - n_drawn
        assert weight[rows].all()
    with pytest.raises(ValueError, match="not so many rows"):
        drawn(5000, eligible + 1, weight=weight)


@pytest.mark.parametrize("n_sizes", [1, 3, 40_000])
def test_rows_without_weight_change_no_sample(n_sizes):
    """Those of one size, too: which of them stay among the largest gradients is drawn by their places."""
    rng, n = np.random.default_rng(0), 40_000
    weight = (rng.random(n) < 0.7).astype(float)
    kept = np.flatnonzero(weight)
    columns = (np.column_stack([rng.integers(1, n_sizes + 1, n), np.ones(n)]) * weight[:, np.newaxis]).astype(
        np.float32
    )
    samplers = _core.RowSampler(n, weight), _core.RowSampler(len(kept), None)
    for n_threads in (1, 2):
        rows, alone = (one.draw(9000, 3, 1, n_threads)[0] for one in samplers)
        assert_array_equal(rows, kept[alone])
        (rows, light, _), (alone, light_alone, _) = (
            one.draw_by_gradients(of_rows, 1, 0.2, 0.1, 3, 1, n_threads)
            for one, of_rows in zip(samplers, (columns, columns[kept]), strict=True)
        )
        assert_array_equal(rows, kept[alone])
        assert_array_equal(light, light_alone)


def test_every_set_of_rows_is_as_likely():
    sets = dict.fromkeys(combinations(range(5), 2), 0)
    for i in range(6000):
        sets[tuple(drawn(5, 2, seed=3, iteration=i)[0].tolist())] += 1
    assert stats.chisquare(list(sets.values())).pvalue > 1e-3


@pytest.mark.parametrize("n_drawn", [20, 160, 192])
def test_rows_and_pairs_have_their_share(n_drawn):
    n_rows, n_draws = 200, 4000
    of_rows, of_pairs = counts(n_rows, n_drawn, n_draws)
    share = n_drawn / n_rows
    z = (of_rows - n_draws * share) / np.sqrt(n_draws * share * (1 - share))
    assert stats.kstest(z, "norm").pvalue > 1e-3
    both = share * (n_drawn - 1) / (n_rows - 1)
    pairs = of_pairs[np.triu_indices(n_rows, 1)]
    z = (pairs - n_draws * both) / np.sqrt(n_draws * both * (1 - both))
    assert abs(z.mean()) < 1e-6  # exact: so many rows were drawn each time
    assert z.std() == pytest.approx(1.0, abs=0.2)  # pairs of the same row go together
    assert np.abs(z).max() < 5.5


@pytest.mark.parametrize("apart", [1, 2, 64])
def test_iterations_and_seeds_are_independent(apart):
    n_rows, n_drawn, n_draws = 5000, 2000, 400
    expected = stats.hypergeom(n_rows, n_drawn, n_drawn)

    def shared(one, other):
        return len(np.intersect1d(one[0], other[0], assume_unique=True))

    for pairs in (
        [(drawn(n_rows, n_drawn, iteration=i), drawn(n_rows, n_drawn, iteration=i + apart)) for i in range(n_draws)],
        [(drawn(n_rows, n_drawn, seed=i), drawn(n_rows, n_drawn, seed=i + apart)) for i in range(n_draws)],
        # A row does not follow its neighbour of the iteration before.
        [
            ((drawn(n_rows, n_drawn, iteration=i)[0] + 1,), drawn(n_rows, n_drawn, iteration=i + apart))
            for i in range(n_draws)
        ],
    ):
        found = np.array([shared(*pair) for pair in pairs])
        assert abs(found.mean() - expected.mean()) < 4 * expected.std() / np.sqrt(n_draws)
        assert found.std() == pytest.approx(expected.std(), rel=0.2)


def test_neighbours_do_not_cling_together():
    rows, _ = drawn(1_000_000, 500_000)
    inside = np.zeros(1_000_000, bool)
    inside[rows] = True
    for lag in (1, 2, 8, 256, 16_384):
        together = np.mean(inside[lag:] == inside[:-lag])
        assert abs(together - 0.5) < 5 * 0.5 / 1000
    blocks = inside[:983_040].reshape(-1, 16_384).sum(axis=1)
    assert stats.kstest((blocks - 8192) / 64, "norm").pvalue > 1e-3


def test_the_same_rows_for_any_threads_and_any_processor():
    default = _core.instruction_set()
    columns = np.random.default_rng(0).uniform(0.1, 1, (50_001, 4)).astype(np.float32)
    found = []
    try:
        for name in _core.instruction_sets():
            _core.select_instruction_set(name)
            for n_threads in (1, 2, 3, 7):
                sampler = _core.RowSampler(len(columns), None)
                rows, outside = (part.copy() for part in sampler.draw(31_000, 5, 9, n_threads))
                goss, light, factor = sampler.draw_by_gradients(columns, 2, 0.2, 0.1, 5, 9, n_threads)
                found.append((rows, outside, goss.copy(), light.copy(), factor))
    finally:
        _core.select_instruction_set(default)
    for other in found[1:]:
        for one, another in zip(found[0], other, strict=True):
            assert_array_equal(one, another)


def test_a_seed_may_have_any_size():
    one, other = (Sampler(1000, 3, None, 0.5, 1.0, seed).draw(0)[0].rows for seed in (2**70 + 1, 2**32 - 1))
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("shape", ["spread", "few sizes", "all alike", "one row"])
def test_the_largest_gradients_stay(shape):
    n, rng = 40_000, np.random.default_rng(1)
    size = {
        "spread": np.exp(5 * rng.normal(size=n)),
        "few sizes": rng.integers(1, 6, n).astype(float),
        "all alike": np.ones(n),
        "one row": np.where(np.arange(n) == 17, 1e9, 1e-9),
    }[shape]
    columns = np.column_stack([size, np.ones(n)]).astype(np.float32)
    rows, light, factor = _core.RowSampler(n, None).draw_by_gradients(columns, 1, 0.25, 0.1, 0, 0, 2)
    top, others = rows[light == 0], rows[light == 1]
    assert (len(top), len(others)) == (10_000, 4000)
    assert columns[top, 0].min() >= np.delete(columns[:, 0], top).max()
    assert factor == pytest.approx(7.5)
    if shape == "all alike":  # which of them stay is drawn, too
        assert abs(top.mean() - n / 2) < 5 * n / np.sqrt(12 * len(top))
    assert abs(others.mean() - np.delete(np.arange(n), top).mean()) < 5 * n / np.sqrt(12 * len(others))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40_000, 5)).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    score = np.nan_to_num(X[:, 0]) - np.nan_to_num(X[:, 1] * X[:, 2]) + rng.logistic(size=len(X))
    return X, np.digitize(score, [-1.5, 0.0, 1.0]).astype(np.int32)


@pytest.mark.parametrize("share", [0.02, 0.5, 0.99])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_rows_outside_find_their_leaves(data, share, n_threads):
    X, y = data
    parameters = BoostingParameters.of("all_threshold", subsample=share)
    run = EngineRun(parameters, TrainingSet(X, y, 4), n_threads=n_threads)
    for _ in range(3):
        tree = run.advance()
        assert_array_equal(run.state.leaf_of_row, TreeEnsemble([tree], X.shape[1]).apply(X, 1)[:, 0])
        assert tree.count[0] == round(share * len(y))


def test_leaves_of_a_tree_that_a_sample_grew_are_those_of_all_rows(data):
    X, y = data
    parameters = BoostingParameters.of(
        "all_threshold", subsample=0.4, threshold_update="fixed", learning_rate=0.5, l2_regularization=0.0
    )
    run = EngineRun(parameters, TrainingSet(X, y, 4), n_threads=1)
    gradient, hessian = run.state.now.gradient.copy(), run.state.now.hessian.copy()
    tree = run.advance()
    leaf = run.state.leaf_of_row
    leaves = np.unique(leaf)
    G, H = (np.bincount(leaf, of_rows)[leaves] for of_rows in (gradient, hessian))
    assert_allclose(tree.value[leaves], -0.5 * G / H, rtol=1e-5)


@pytest.mark.parametrize("loss", ["all_threshold", "immediate_threshold", "cumulative_link"])
@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_a_sample_are_those_of_its_rows(data, loss, link, weighted):
    X, y = data
    rng = np.random.default_rng(3)
    weight = rng.uniform(0.5, 2, len(y)) if weighted else None
    rows, outside = drawn(len(y), 32_000)
    parameters = BoostingParameters.of(loss, link=link, subsample=0.8)
    start = RunStart(score=rng.normal(size=len(y)))
    state = EngineRun(parameters, TrainingSet(X, y, 4, weight), n_threads=2, start=start).state
    _, expected = state.pass_over(rows)
    light = (rng.random(len(rows)) < 0.3).astype(np.uint8)
    with state.sampled(Sample(rows, outside=outside)):
        less = state.sums_of(rows)  # without weights the difference from all rows, which a heavy one would spoil
    if weighted:
        assert_array_equal(less.threshold_gradient, state.sums_of(rows).threshold_gradient)
    for found in (state.sums_of(rows), less):
        for name in ("threshold_gradient", "threshold_hessian", "threshold_hessian_off"):
            assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-6, atol=1e-2)
    with state.sampled(Sample(rows, light, 3.0)):
        _, expected = state.pass_over(rows)
        found = state.sums_of(rows)
        for name in ("threshold_gradient", "threshold_hessian", "threshold_hessian_off"):
            assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-6, atol=1e-2)


def test_thresholds_too_far_apart_for_the_lanes(data):
    X, y = data
    start = RunStart(thresholds=np.array([-30.0, 0.0, 30.0]))
    state = EngineRun(BoostingParameters.of("all_threshold", subsample=0.5), TrainingSet(X, y, 4), start=start).state
    rows, _ = drawn(len(y), 20_000)
    assert_allclose(state.sums_of(rows).threshold_gradient, state.pass_over(rows)[1].threshold_gradient, rtol=1e-9)
