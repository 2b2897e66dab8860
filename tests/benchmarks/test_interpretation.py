"""The simulated rows are what is said of them, and copies are trained as the package trains them."""

from __future__ import annotations

import numpy as np
import pytest

from claims.interpretation import marginal_effects, proportional_odds
from claims.interpretation.proportional_odds import DATA, THETA
from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.inspection import average_marginal_effects
from ordinal_objectives.inspection.rows import trained_again


@pytest.mark.parametrize("data", DATA)
def test_labels_follow_the_margins_which_are_ordered(data):
    X, y = proportional_odds.sample(data, 40_000, 7)
    stretch, moved = DATA[data]
    margins = THETA - stretch * (X[:, [0]] + np.sin(2 * X[:, [1]])) - np.array(moved) * np.tanh(X[:, [2]])
    assert (np.diff(margins, axis=1) > 0).all()
    shares = np.mean(y[:, None] <= np.arange(3), axis=0)
    np.testing.assert_allclose(shares, np.mean(1 / (1 + np.exp(-margins)), axis=0), atol=0.01)


def test_true_effects_are_those_of_the_rows():
    """Of a feature that does nothing 0; of one that the score rises with, less of the lowest class."""
    true = marginal_effects.effect(marginal_effects.true_proba, 0)
    assert true[0] < -0.1 < 0.1 < true[3]
    np.testing.assert_array_equal(marginal_effects.effect(marginal_effects.true_proba, 2), 0.0)
    X, y = marginal_effects.sample(40_000, 7)
    expected = marginal_effects.true_proba(X).mean(axis=0)
    np.testing.assert_allclose(np.bincount(y) / 40_000, expected, atol=0.01)


def test_remembered_copies_are_those_of_the_training():
    X, y = marginal_effects.sample(120, 0)
    again = marginal_effects.remembered(trained_again)
    model = HistGradientBoostingOrdinalClassifier(max_iter=2, n_jobs=1)
    first, second = np.random.RandomState(0), np.random.RandomState(0)
    copies = [again(model, X, y, None, random) for random in (first, second)]
    assert copies[0] is copies[1]
    assert first.randint(1000) == second.randint(1000)
    assert average_marginal_effects(copies[0], X, 0, random_state=0).effects.shape == (4,)
