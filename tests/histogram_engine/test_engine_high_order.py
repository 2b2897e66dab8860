"""Trees and steps of order three and four: against the oracle, and what they promise a training."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from makers import SKLEARN_DEFAULTS
from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.histogram_engine.criteria.one_score import full_hessian
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import RunStart, TrainingSet
from ordinal_objectives.leaves import scalar
from ordinal_objectives.losses import get_loss, higher_derivatives
from ordinal_objectives.rows import RowStatistics

_spec = importlib.util.spec_from_file_location("engine_oracle", Path(__file__).with_name("test_engine_oracle.py"))
engine_oracle: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(engine_oracle)


class Sums(tuple):
    """G, H and L of a leaf; beside them its third and fourth derivatives."""

    higher: np.ndarray


class HighOrderOracle(engine_oracle.Oracle):
    """The oracle of the joint model, whose leaves take longer steps; the leaf that is split is judged by them."""

    def __init__(self, boosting, X, rows=None):
        super().__init__(boosting, X, rows)
        higher = higher_derivatives(
            self.parameters.spec.loss, boosting.state.score, boosting.state.rows.y, boosting.thresholds
        )
        self.higher = (
            higher if boosting.state.rows.sample_weight is None else boosting.state.rows.sample_weight[:, None] * higher
        )

    def sums(self, rows):
        sums = Sums(super().sums(rows))
        sums.higher = self.higher[rows].sum(axis=0)
        return sums

    def raised(self, leaves):
        newton, delta = super().step(leaves)
        curvature = [H + self.parameters.l2_regularization for _, H, _ in leaves]
        third, fourth = np.array([leaf.higher for leaf in leaves]).T
        step = scalar.high_order_step(newton, curvature, third, fourth, order=self.parameters.order)
        return step, step.decrease - 0.5 * np.array(newton) ** 2 * curvature, delta

    def step(self, leaves):
        step, _, delta = self.raised(leaves)
        return step.weights, delta

    def worth(self, others, own):
        leaves = [*others, *map(self.sums, own)]
        return self.value(leaves) + self.raised(leaves)[1][len(others) :].sum()


# Those with the exact Hessian.
SEEDS = [seed for seed in range(240) if seed // 2 % 2]


@pytest.mark.slow
@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("block", range(4))
def test_engine_agrees_with_the_oracle(block, order):
    raised = 0.0
    for seed in SEEDS[block::4]:
        boosting, X = engine_oracle.random_problem(seed, order=order)
        # Longer steps stretch the rounding of Newton's.
        engine_oracle.assert_tree_and_step_agree(boosting, X, of_step=3e-6, oracle=HighOrderOracle)
        oracle = HighOrderOracle(boosting, X)
        raised += abs(oracle.raised([oracle.sums(oracle.rows[: len(X) // 2])])[1][0])
    assert raised > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("order", [3, 4])
def test_splits_by_category_agree_with_the_oracle(order):
    n_splits = 0
    for seed in SEEDS[::4]:
        boosting, X = engine_oracle.random_problem(seed, order=order, n_categories=7, min_samples_category=2)
        engine_oracle.assert_tree_and_step_agree(boosting, X, of_step=3e-6, oracle=HighOrderOracle)
        sets = boosting.grow(None, list(range(X.shape[1])))["categories"]
        n_splits += 0 if sets is None else np.count_nonzero(sets.any(axis=1))
    assert n_splits > 10


@pytest.mark.slow
@pytest.mark.parametrize("K", [8, 16])
def test_many_classes_agree_with_the_oracle(K):
    few = 0
    for seed in (2, 3, 6, 7, 10, 11):
        boosting, X = engine_oracle.random_problem(seed, K=K, order=4)
        is_few = engine_oracle.carries_few(boosting)
        few += is_few
        tolerance = 3 * engine_oracle.FEW_TOLERANCE if is_few else engine_oracle.TOLERANCE
        engine_oracle.assert_tree_and_step_agree(boosting, X, tolerance, oracle=HighOrderOracle)
    assert few > 0


def make(**options):
    return HistGradientBoostingOrdinalClassifier(
        **({"max_iter": 30, "max_leaf_nodes": 8, "early_stopping": False} | SKLEARN_DEFAULTS | options)
    )


def run_of(X, y, n_classes, n_rounds=0, **options):
    parameters = BoostingParameters.of(get_loss(options.pop("loss", "all_threshold")), max_leaf_nodes=8, **options)
    run = EngineRun(parameters, TrainingSet(X, y.astype(np.int32), n_classes))
    for _ in range(n_rounds):
        run.advance()
    return run


def test_two_classes_take_the_papers_steps(ordinal_data):
    """K = 2 with fixed thresholds is the paper's setting: logistic loss, one value a leaf."""
    X, y = ordinal_data(600, 2)
    for order in (3, 4):
        run = run_of(X, y, 2, 5, order=order, threshold_update="fixed", l2_regularization=0.5, learning_rate=0.3)
        before = run.state.score.copy()
        run.advance()
        s = 1 / (1 + np.exp(run.thresholds[0] - before))
        e = s * (1 - s)
        for leaf in np.unique(run.state.leaf_of_row):
            rows = run.state.leaf_of_row == leaf
            terms = np.column_stack([s - y, e, e * (1 - 2 * s), e * (1 - 6 * e)])
            g, h, third, fourth = terms[rows].sum(axis=0) + [0.0, 0.5, 0.0, 0.0]
            if order == 3:
                w = -g / h / (1 - g * third / h**2 / 2)
            else:
                w = -g * (h**2 - g * third / 2) / (h**3 - g * h * third + g**2 * fourth / 6)
            np.testing.assert_allclose((run.state.score - before)[rows], 0.3 * w, rtol=1e-4)
        assert run.diagnostics.n_low_order == 0


@pytest.mark.parametrize(("n_classes", "order", "width"), [(2, 3, 4), (2, 4, 8), (5, 4, 8), (7, 4, 16), (13, 4, 16)])
def test_one_cross_term_less_saves_a_vector(ordinal_data, n_classes, order, width):
    X, y = ordinal_data(300, n_classes)
    run = run_of(X, y, n_classes, order=order, cross_terms="all")
    assert run.state.engine.width == width


@pytest.mark.parametrize("loss", ["all_threshold", "cumulative_link", "immediate_threshold"])
@pytest.mark.parametrize("update", ["joint", "newton", "fixed"])
@pytest.mark.parametrize("order", [3, 4])
def test_no_round_raises_the_loss(ordinal_data, loss, update, order):
    X, y = ordinal_data(500, 5)
    options = {"loss": loss, "threshold_update": update, "order": order}
    model = make(learning_rate=1.0, min_samples_leaf=3, **options).fit(X, y)
    training = np.array(model.evals_result_["training"])
    assert np.all(np.diff(training) <= 1e-6 * training[0])
    assert loss == "immediate_threshold" or np.all(np.diff(model.threshold_history_, axis=1) > 0)


@pytest.mark.parametrize("loss", ["all_threshold", "cumulative_link"])
@pytest.mark.parametrize("order", [3, 4])
def test_thresholds_stay_those_of_the_score(ordinal_data, loss, order):
    """The joint step knows the leaves' Newton weights, not the longer ones; the thresholds follow all the same.

    With enough rounds they lie where the loss is lowest given the score, as they do with order two.
    """
    X, y = ordinal_data(800, 5)

    def distance(order):
        run = run_of(X, y, 5, 60, loss=loss, order=order, l2_regularization=1.0)
        rows = RowStatistics(run.parameters.spec.loss, y, 5, precision="float64")
        now = rows(run.state.score, run.thresholds, "exact")
        V = full_hessian(now)
        return np.abs(np.linalg.solve(V, now.threshold_gradient)).max()

    plain, longer = distance(2), distance(order)
    assert longer <= 1.5 * plain + 0.02


def test_order_two_is_the_default_and_nothing_else(ordinal_data):
    X, y = ordinal_data()
    model = make().fit(X, y)
    np.testing.assert_array_equal(model.predict_raw(X), make(order=2).fit(X, y).predict_raw(X))
    assert not np.array_equal(model.predict_raw(X), make(order=3).fit(X, y).predict_raw(X))


@pytest.mark.parametrize("order", [3, 4])
def test_a_heavy_penalty_leaves_newtons_step(ordinal_data, order):
    X, y = ordinal_data()
    options = {"l2_regularization": 1e7, "learning_rate": 1.0, "max_iter": 5, "proportional": True}
    plain, high = (make(order=one, **options).fit(X, y) for one in (2, order))
    np.testing.assert_allclose(high.predict_raw(X), plain.predict_raw(X), rtol=1e-3, atol=1e-8)


def test_leaves_that_fall_back_are_counted():
    """One sure row of the wrong side among unsure ones: the curvature ends before the Newton step does."""
    score = np.concatenate([np.full(200, -9.0), np.full(5, 1.5)])
    y = np.ones(205, np.int32)
    parameters = BoostingParameters.of(
        get_loss("all_threshold"), order=3, threshold_update="fixed", min_samples_leaf=205
    )
    X = np.zeros((206, 1))
    start = np.append(score, -3.0), np.zeros(1), 0
    run = EngineRun(parameters, TrainingSet(X, np.append(y, 0).astype(np.int32), 2), start=RunStart(*start))
    run.advance()
    assert run.diagnostics.n_low_order == 1
    G, h = (1 / (1 + np.exp(-start[0])) - np.append(y, 0)).sum(), 0.0
    s = 1 / (1 + np.exp(-start[0]))
    h = (s * (1 - s)).sum()
    share = (run.state.score - start[0])[0] / (-G / h)
    assert np.log2(0.1 / share) == pytest.approx(round(np.log2(0.1 / share)), abs=1e-3)  # Newton's, halved


@pytest.mark.parametrize("order", [3, 4])
def test_weights_are_repeated_rows(ordinal_data, order):
    X, y = ordinal_data(300, 4)
    weight = np.random.default_rng(0).integers(1, 4, 300)
    options = {"order": order, "min_samples_leaf": 1, "l2_regularization": 1.0, "max_bins": 20}
    rounds = {"max_iter": 8}
    one = make(**options, **rounds).fit(X, y, sample_weight=weight)
    other = make(**options, **rounds).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.predict_raw(X), other.predict_raw(X), atol=2e-4)


@pytest.mark.parametrize("update", ["joint", "newton"])
def test_samples_threads_and_missing_values(ordinal_data, update):
    X, y = ordinal_data(3000, 9)
    X[::7, 0] = np.nan
    options = {"order": 4, "subsample": 0.5, "colsample_bytree": 0.8, "threshold_update": update, "random_state": 0}
    one, two = (make(n_jobs=n, **options).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.predict_raw(X), two.predict_raw(X))
    assert one.evals_result_["training"][-1] < 0.8 * one.evals_result_["training"][0]


def test_a_model_of_high_order_is_stored_and_continued(ordinal_data, tmp_path):
    X, y = ordinal_data()
    whole = make(order=4).fit(X, y)
    model = make(order=4, max_iter=15, warm_start=True).fit(X, y)
    model.save_model(tmp_path / "model")
    loaded = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "model")
    assert loaded.order == 4
    loaded.set_params(max_iter=30).fit(X, y)
    np.testing.assert_allclose(loaded.predict_raw(X), whole.predict_raw(X), atol=1e-5)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"order": 1}, ValueError, "order must"),
        ({"order": 5}, ValueError, "order must"),
        ({"order": 3.0}, TypeError, "order must"),
        ({"order": 3, "hessian": "majorized"}, ValueError, "order=3 needs hessian='exact'.*got hessian='majorized'"),
        ({"order": 4, "link": "cloglog"}, ValueError, "order=4 needs .*cloglog"),
        ({"order": 3, "subsample": 0.5, "pruning": True}, ValueError, "pruning=True .* needs order=2; got 3"),
        ({"order": 4, "subsample": 0.5, "adaptive_step": True}, ValueError, "adaptive_step=True .* order=2; got 4"),
        ({"order": 3, "proportional": False}, ValueError, "proportional=False is not possible here: order=3"),
        ({"order": 3, "split_gain": "joint", "proportional": True}, ValueError, "split_gain='joint' belongs"),
    ],
)
def test_what_does_not_go_with_an_order_is_refused(ordinal_data, options, error, message):
    model = make(**options)
    with pytest.raises(error, match=message):
        model.fit(*ordinal_data())
    assert not hasattr(model, "n_iter_")


@pytest.mark.parametrize(("order", "proportional"), [(2, False), (3, True), (4, True)])
def test_auto_is_proportional_where_leaves_are_of_high_order(ordinal_data, order, proportional):
    X, y = ordinal_data()
    model = make(order=order, proportional="auto").fit(X, y)
    assert model.proportional_ == proportional
    if proportional:
        np.testing.assert_array_equal(model.predict_raw(X), make(order=order).fit(X, y).predict_raw(X))
