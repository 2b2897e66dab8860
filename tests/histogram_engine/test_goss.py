"""Rows drawn by their gradients (GOSS)."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from makers import make_engine
from ordinal_objectives.histogram_engine.criteria.one_score import Joint
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun, Sampler
from ordinal_objectives.histogram_engine.state import Sample, TrainingSet

CRITERIA = [
    {},
    {"split_gain": "joint"},
    {"split_gain": "scalar"},
    {"proportional": True},
    {"proportional": True, "threshold_update": "newton"},
    {"proportional": True, "order": 3},
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1500, 5))
    return X, np.digitize(X[:, 0] - X[:, 1] * X[:, 2] + rng.logistic(size=1500), [-1.5, 0.0, 1.0])


def columns(n, n_gradients, seed=0):
    rng = np.random.default_rng(seed)
    return np.hstack([rng.normal(size=(n, n_gradients)), rng.uniform(0.1, 1, (n, n_gradients))]).astype(np.float32)


def by_gradients(table, n_gradients, top_rate, other_rate, *, seed=0, iteration=0, n_threads=1):
    sampler = Sampler(len(table), 1, None, 1.0, 1.0, seed, n_threads=n_threads)
    rows, light, factor, _ = sampler.by_gradients(table, n_gradients, top_rate, other_rate, iteration)
    return Sample(rows.copy(), light.copy(), factor)


@pytest.mark.parametrize("n_gradients", [1, 3])
def test_large_gradients_stay_and_others_count_for_all(n_gradients):
    table = columns(1000, n_gradients)
    table[::10] = 0.0  # rows of weight 0
    sample = by_gradients(table, n_gradients, 0.2, 0.1)
    assert sample.rows is not None
    size = np.abs(table[:, :n_gradients] * table[:, n_gradients:]).sum(axis=1)
    assert len(sample.rows) == 270
    assert (np.diff(sample.rows.astype(int)) > 0).all()
    assert not (sample.rows % 10 == 0).any()
    light = sample.rows[sample.light == 1]
    heavy = np.setdiff1d(sample.rows, light)
    assert size[heavy].min() >= np.delete(size, heavy).max()
    assert sample.factor == pytest.approx((900 - 180) / 90)
    factors = sample.factors()
    assert factors is not None
    assert factors.sum() == pytest.approx(900)
    assert_array_equal(factors > 1, sample.light == 1)


def test_sums_are_right_on_average():
    table = columns(400, 1)
    found = []
    for seed in range(300):
        sample = by_gradients(table, 1, 0.2, 0.1, seed=seed)
        factors = sample.factors()
        assert factors is not None
        found.append(factors @ table[sample.rows])
    error = np.std(found, axis=0) / np.sqrt(300)
    assert (np.abs(np.mean(found, axis=0) - table.sum(axis=0)) < 4 * error).all()


@pytest.mark.parametrize("params", CRITERIA, ids=str)
def test_what_judges_splits_counts_rows_as_the_sample_says(data, params):
    X, y = data
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    shared = {"data_sample_strategy": "goss", "learning_rate": 0.5, "proportional": False} | params
    run = EngineRun(BoostingParameters.of("all_threshold", **shared), TrainingSet(X, y.astype(np.int32), 4, weight))
    for _ in range(3):
        run.advance()
    before = run.state.columns.copy()
    sample = run._sample(Sample(None))
    with run.state.sampled(sample):
        inside = run.state.columns[sample.rows].astype(float)
        _, now = run.state.pass_over(sample.rows)
        sums = run.state.sums_of(sample.rows).sums
        of_rows = run.state.weights_of(sample.rows)
    assert_array_equal(run.state.columns, before)
    factors = sample.factors()
    assert factors is not None
    assert_allclose(of_rows, weight[sample.rows] * factors)
    for name in ("threshold_gradient", "threshold_hessian", "threshold_hessian_off"):
        assert_allclose(getattr(sums, name), getattr(now.sums, name), rtol=1e-5, atol=1e-4)
    (count,) = np.flatnonzero((inside == 1.0).all(axis=0))
    assert_allclose(
        np.delete(inside, count, 1), np.delete(before[sample.rows] * sample.factors()[:, None], count, 1), rtol=1e-6
    )
    assert_array_equal(inside[:, count], 1.0)
    n = run.criterion.n_gradients
    if n == 1:
        assert_allclose(inside[:, 0].sum(), np.sum(now.gradient, dtype=float), rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("params", CRITERIA, ids=str)
def test_training_is_nearly_as_good_as_on_all_rows(data, params):
    X, y = data
    shared = {"max_iter": 40, "learning_rate": 0.2, "random_state": 0, **params}
    whole = make_engine(**shared).fit(X, y).training_loss_
    goss = make_engine(**shared, data_sample_strategy="goss").fit(X, y).training_loss_
    assert_array_equal(goss[:6], whole[:6])  # the first 1 / learning_rate trees take all rows
    assert not np.array_equal(goss[6:], whole[6:])
    # On three rows of ten, of which a leaf has at least 20, trees are smaller.
    assert goss[-1] < goss[0] - 0.8 * (whole[0] - whole[-1])


@pytest.mark.parametrize("few", [True, False])
def test_cross_terms_are_those_of_the_rows_as_the_sample_counts_them(data, monkeypatch, few):
    X, _ = data
    noise = np.random.default_rng(1).logistic(size=len(X))
    y = np.digitize(X[:, 0] + noise, np.linspace(-2, 2, 11)).astype(np.int32)
    parameters = BoostingParameters.of("all_threshold", data_sample_strategy="goss", learning_rate=0.5)
    run = EngineRun(parameters, TrainingSet(X, y, 12))
    for _ in range(4):
        tree = run.advance()
    state, criterion = run.state, run.criterion
    assert isinstance(criterion, Joint)
    assert len(criterion.cross_terms.chosen) < 10
    if not few:  # found too inexact for the sample: the rows carry all, and count as before
        monkeypatch.setattr(type(criterion.cross_terms), "agree", lambda *_: False)
    sample = run._sample(Sample(None))
    with state.sampled(sample):
        criterion.threshold_terms(sample.rows)
        carried = state.engine.leaf_sums(state.leaf_of_row, len(tree.left), sample.rows)
        exact = criterion.exact_sums(*state.pass_over(sample.rows), state.leaves_of(sample.rows), len(tree.left))
    assert criterion.cross_terms.exact != few
    assert_allclose(criterion.cross_terms.of_all(carried), exact.L, rtol=1e-3, atol=1e-3 * np.abs(exact.L).max())
    after = state.columns.copy()
    criterion._carry(criterion.cross_terms, state.score, state.thresholds)
    assert_array_equal(state.columns, after)  # no row is left weighed


def test_all_rows_are_no_sample(data):
    X, y = data
    whole = make_engine(max_iter=8).fit(X, y)
    goss = make_engine(max_iter=8, data_sample_strategy="goss", top_rate=0.6, other_rate=0.4).fit(X, y)
    assert_array_equal(goss.predict_proba(X), whole.predict_proba(X))
    # Half of three rows is two.
    assert Sampler(3, 1, None, 1.0, 1.0, 0).by_gradients(columns(3, 1), 1, 0.5, 0.5, 0).rows is None


def test_what_is_drawn_depends_on_the_seed_alone(data):
    X, y = data
    shared = {"data_sample_strategy": "goss", "max_iter": 12}
    one, two, other = (
        make_engine(**shared, random_state=seed, n_jobs=n).fit(X, y).predict_proba(X)
        for seed, n in ((3, 1), (3, 2), (4, 1))
    )
    assert_array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"data_sample_strategy": "mvs"}, "data_sample_strategy"),
        ({"top_rate": 1.0}, "top_rate"),
        ({"other_rate": 0.0}, "other_rate"),
        ({"data_sample_strategy": "goss", "top_rate": 0.7, "other_rate": 0.4}, "other_rate"),
        (
            {"data_sample_strategy": "goss", "pruning": True, "subsample": 0.5},
            "'goss' leaves the rows with small gradients",
        ),
    ],
)
def test_mistakes_are_told(data, params, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        make_engine(**params).fit(X, y)


def test_validation_rows_may_judge_such_trees(data):
    X, y = data
    model = make_engine(data_sample_strategy="goss", pruning=True, judged_by="validation", proportional=True)
    model.fit(X[:1000], y[:1000], X_val=X[1000:], y_val=y[1000:])
    assert model.training_loss_[-1] < model.training_loss_[0]
