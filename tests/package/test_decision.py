"""Each rule is the best one for its error, and ties are broken the same way everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ordinal_objectives.decision import RULES, decide

ERRORS = {
    "median": lambda true, predicted: np.abs(true - predicted),
    "mode": lambda true, predicted: (true != predicted).astype(float),
    "mean": lambda true, predicted: (true - predicted) ** 2,
}


def cost_of(rule, n_classes):
    return np.array([[float(ERRORS[rule](np.array(j), k)) for k in range(n_classes)] for j in range(n_classes)])


def probabilities(seed, n_classes, n_samples=30):
    """Random rows, half of them with few distinct values so that ties occur."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(n_classes), n_samples)
    coarse = rng.integers(0, 4, (n_samples // 2, n_classes)).astype(float)
    coarse[:, 0] += coarse.sum(axis=1) == 0
    P[: n_samples // 2] = coarse / coarse.sum(axis=1, keepdims=True)
    return P


@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.sampled_from(RULES))
def test_every_rule_minimises_its_expected_error(seed, n_classes, rule):
    P = probabilities(seed, n_classes)
    expected_error = P @ cost_of(rule, n_classes)
    chosen = decide(P, rule)
    assert chosen.dtype == np.intp
    rows = np.arange(len(P))
    np.testing.assert_allclose(expected_error[rows, chosen], expected_error.min(axis=1), atol=1e-12)
    lower_is_worse = expected_error - expected_error.min(axis=1, keepdims=True) > 1e-9
    if rule != "mode":
        assert all(lower_is_worse[i, :k].all() for i, k in enumerate(chosen))


@given(st.integers(0, 2**32 - 1), st.integers(2, 9))
def test_cost_matrix_minimises_the_expected_cost(seed, n_classes):
    P = probabilities(seed, n_classes)
    cost = np.random.default_rng(seed).uniform(-1.0, 5.0, (n_classes, n_classes))
    by_hand = [np.argmin([sum(p[j] * cost[j, k] for j in range(n_classes)) for k in range(n_classes)]) for p in P]
    assert decide(P, cost_matrix=cost).tolist() == by_hand


def test_cost_rows_are_the_true_classes():
    """Missing class 1 is dear, so it is predicted although it is unlikely."""
    assert decide([[0.9, 0.1]], cost_matrix=[[0.0, 1.0], [20.0, 0.0]]).tolist() == [1]
    assert decide([[0.9, 0.1]], cost_matrix=[[0.0, 20.0], [1.0, 0.0]]).tolist() == [0]


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(2, 9))
def test_median_counts_the_thresholds_below_the_score(seed, n_classes):
    rng = np.random.default_rng(seed)
    thresholds = np.sort(rng.normal(size=n_classes - 1))
    score = np.r_[3 * rng.normal(size=20), thresholds]
    cumulative = 1 / (1 + np.exp(np.subtract.outer(score, thresholds)))
    P = np.diff(cumulative, axis=1, prepend=0.0, append=1.0)
    assert decide(P).tolist() == np.searchsorted(thresholds, score, side="left").tolist()


def test_a_sum_within_rounding_of_one_half_counts():
    """A cumulative sum may fall the last digit short of 1/2 although the probabilities do not."""
    short = np.array([0.25, 0.25 - 1e-16, 0.25, 0.25 + 1e-16])
    assert np.cumsum(short)[1] < 0.5
    assert decide([short]).tolist() == [1]
    assert decide([[0.25, 0.25 - 1e-6, 0.25, 0.25 + 1e-6]]).tolist() == [2]
    thirds = np.full((1, 6), np.float32(1 / 6))
    assert decide(thirds).tolist() == [2]
    assert decide(thirds, "mean").tolist() == [2]


@pytest.mark.parametrize("rule", RULES)
def test_two_equal_classes_give_the_lower_one(rule):
    assert decide([[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]], rule).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, 0.5],), "proba"),
        (([[1.0]],), r"got \(1, 1\)"),
        (([[0.5, np.nan]],), "proba"),
        (([[1.5, -0.5]],), "proba"),
        (([[0.5, 0.5], [0.5, 0.4]],), "proba must .* sum to 1; .* row 1 "),
        (([[0.5, 0.5]], "average"), "rule"),
        (([[0.5, 0.5]], "mode", np.eye(2)), "rule='mode' and cost_matrix are two different rules"),
        (([[0.5, 0.5]], "median", np.eye(3)), "cost_matrix"),
        (([[0.5, 0.5]], "median", [[0, np.inf], [1, 0]]), "cost_matrix"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        decide(*arguments)
