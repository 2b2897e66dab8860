"""The claim of vector leaves: rows as described, rivals alike, tables that say what was measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import metrics

from claims.multi_output import (
    multi_output_methods,
    multi_output_tables,
)
from claims.multi_output.multi_output_data import Part, Problem, problem
from claims.multi_output.multi_output_methods import METHODS, Setting
from lib import baselines

SETTING = Setting(learning_rate=0.3, depth=3, min_rows=5, rounds=60)


def rows(task, seed=0, n=240):
    """Return features of which one moves the first output, and two move the others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    Y = np.column_stack([X[:, 0], X[:, 0] + X[:, 1], X[:, 1]]) + 0.3 * rng.normal(size=(n, 3))
    return Part(X, {"regression": Y, "labels": (Y > 0).astype(float), "classes": Y.argmax(axis=1).astype(float)}[task])


def small(task):
    return Problem(task, 3, rows(task, 0), rows(task, 1, 120), rows(task, 2, 120))


def test_simulated_rows_follow_the_formulas():
    kept = problem("friedman1", 3)
    assert (kept.fit.X.shape, kept.test.Y.shape, kept.n_outputs) == ((10_000, 10), (10_000, 5), 5)
    x = kept.fit.X.astype(float)
    f = np.sin(np.pi * x[:, 0] * x[:, 1]) + 2 * (x[:, 2] - 0.5) ** 2 + x[:, 3] + 0.5 * x[:, 4]
    noise = kept.fit.Y - f[:, None]
    np.testing.assert_allclose(noise.std(axis=0), 0.1, rtol=0.03)
    assert np.abs(np.corrcoef(noise.T) - np.eye(5)).max() < 0.05
    kept = problem("random projection", 3)
    w = np.linalg.lstsq(kept.fit.X, kept.fit.Y, rcond=None)[0]
    assert w.shape == (4, 8)
    np.testing.assert_allclose(kept.test.X @ w, kept.test.Y, atol=1e-6)


def test_losses_are_the_known_ones():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), size=50)
    codes = np.append(rng.integers(3, size=47), [0, 1, 2]).astype(float)
    assert multi_output_methods.log_loss(codes, p) == pytest.approx(metrics.log_loss(codes, p))
    assert multi_output_methods.top_1(codes, p) == pytest.approx(metrics.accuracy_score(codes, p.argmax(axis=1)))
    labels = (rng.uniform(size=(50, 3)) < p).astype(float)
    one = np.mean([metrics.log_loss(labels[:, j], p[:, j]) for j in range(3)])
    assert multi_output_methods.log_loss(labels, p) == pytest.approx(one)
    labels = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 0.0]])
    assert multi_output_methods.top_1(labels, np.array([[0.9, 0, 0], [0.1, 0.2, 0.8], [0.8, 0.1, 0]])) == 0.5
    assert multi_output_methods.rmse(np.zeros((2, 2)), np.array([[1, 2], [3, 4.0]])) == pytest.approx(np.sqrt(7.5))


@pytest.mark.parametrize("task", ["regression", "classes", "labels"])
@pytest.mark.parametrize("label", METHODS)
def test_every_method_learns_stops_and_counts_its_trees(label, task):
    kept = small(task)
    if label == "an engine an output" and task == "classes":
        with pytest.raises(ValueError, match="share a softmax"):
            METHODS[label](kept, SETTING)
        return
    fitted = METHODS[label](kept, SETTING)
    assert 0 < fitted.rounds < SETTING.rounds
    one_tree = label in ("vector leaves", "XGBoost multi_output_tree")
    assert fitted.rounds <= fitted.trees <= 3 * fitted.rounds
    assert (fitted.trees == fitted.rounds) == one_tree
    best = fitted.predict(kept.test.X, None)
    assert best.shape == (120, 3)
    guess = {"regression": kept.fit.Y.mean(axis=0), "labels": 0.5, "classes": 1 / 3}[task]
    at_start = multi_output_methods.loss(task, kept.test.Y, np.broadcast_to(guess, (120, 3)))
    assert multi_output_methods.loss(task, kept.test.Y, best) < 0.9 * at_start
    if one_tree or task == "classes":
        np.testing.assert_allclose(fitted.predict(kept.test.X, fitted.rounds), best, rtol=1e-6)
    all_rounds = METHODS[label](kept, SETTING, stop=False)
    assert all_rounds.rounds == SETTING.rounds
    first, last = (all_rounds.predict(kept.fit.X, rounds) for rounds in (1, SETTING.rounds))
    losses = [multi_output_methods.loss(task, kept.fit.Y, said) for said in (first, last)]
    assert losses[1] < 0.7 * losses[0]


def test_gbdt_sparse_counts_rows_for_a_hessian():
    kept = small("classes")
    setting = Setting(1.0, 2, 1, 1)
    fitted = multi_output_methods.gbdt_sparse(kept, setting, stop=False, k=1)
    start, after = (np.bincount(kept.fit.Y.astype(int)) / len(kept.fit.Y), fitted.predict(kept.fit.X, None))
    step = np.log(after) - np.log(start)
    step -= np.median(step, axis=1, keepdims=True)  # the softmax knows differences only; one of three outputs moved
    moved = np.abs(step) > 1e-6
    assert (moved.sum(axis=1) <= 1).all()
    gradient = start - np.eye(3)[kept.fit.Y.astype(int)]
    leaves = np.unique(step.round(6), axis=0)
    assert len(leaves) == 3
    for leaf in leaves:
        inside = np.abs(step - leaf).max(axis=1) < 1e-5
        total = gradient[inside].sum(axis=0)
        expected = np.where(np.abs(total) == np.abs(total).max(), -total / (inside.sum() + 1.0), 0.0)
        np.testing.assert_allclose(leaf, expected, atol=1e-5)


def test_baseline_of_ordered_classes_spreads_its_probabilities_over_all_of_them():
    kept = rows("classes", n=300)
    codes = np.array([1, 3, 4])[kept.Y.astype(int)].astype(np.int32)
    train, valid = (pd.DataFrame(kept.X[:200]), codes[:200]), (pd.DataFrame(kept.X[200:]), codes[200:].copy())
    valid[1][:3] = 0  # not among the training rows
    fitted = baselines.vector_multiclass(train, valid, 40, 6, depth=3)
    predicted, probability = fitted.predict(valid[0])
    assert probability.shape == (100, 6)
    assert (probability[:, [0, 2, 5]] == 0).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(predicted, probability.argmax(axis=1))
    assert np.mean(predicted[3:] == valid[1][3:]) > 0.6
    assert fitted.loss == pytest.approx(metrics.log_loss(valid[1][3:], probability[3:][:, [1, 3, 4]]))
    assert 0 < fitted.rounds <= 40


def test_probability_of_being_better_is_that_of_a_paired_test():
    rng = np.random.default_rng(0)
    runs = multi_output_tables.frame(
        [
            {"data": "digits", "method": method, "seed": str(seed), "loss": str(rng.normal()), "top_1": str(value)}
            for method in ("a", "b")
            for seed, value in enumerate(rng.normal(size=10))
        ]
    )
    one, other = (multi_output_tables.of_method(runs, "digits", method) for method in "ab")
    for column, side in (("loss", "less"), ("top_1", "greater")):
        p = stats.ttest_rel(one[column], other[column], alternative=side).pvalue
        assert multi_output_tables.better(one, other, column) == pytest.approx(1 - p)
    assert np.isnan(multi_output_tables.better(one[:1], other, "loss"))
