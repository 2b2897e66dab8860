"""The test of proportional odds: its level and power, its pieces beside slow ones, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest, norm, ttest_1samp

from makers import make_engine
from ordinal_objectives.inspection import proportional_odds, proportional_odds_test
from ordinal_objectives.inspection.proportional_odds import (
    _p_values,
    _splits,
    centred,
    holm,
    null_margins,
    score_statistics,
)
from ordinal_objectives.links import LINKS, get_link

THETA = np.array([-2.0, -0.5, 1.0])


def sample(n, seed, moved=(0.0, 0.0, 0.0)):
    """x0 and x1 move the score, x2 single thresholds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    margins = THETA - X[:, [0]] - np.sin(2 * X[:, [1]]) - np.array(moved) * np.tanh(X[:, [2]])
    return X, (rng.logistic(size=(n, 1)) > margins).sum(axis=1)


def small(make=make_engine, **options):
    rounds = "max_iter" if make is make_engine else "n_estimators"
    return make(**{rounds: 10, **options})


# Level and power


def test_proportional_rows_are_rejected_at_most_at_the_level():
    """A single split has the level, here 0.1; twice the median of several splits rejects less often."""
    one = [proportional_odds_test(small(), *sample(300, s), n_splits=1, random_state=s) for s in range(50)]
    rejected = np.mean([found.overall_p_value <= 0.1 for found in one])
    assert rejected < 0.1 + 2.5 * np.sqrt(0.1 * 0.9 / 50)
    assert np.mean([found.p_values.min() <= 0.1 for found in one]) < 0.1 + 2.5 * np.sqrt(0.1 * 0.9 / 50)
    several = [proportional_odds_test(small(), *sample(300, s), random_state=s) for s in range(12)]
    assert np.mean([found.overall_p_value <= 0.1 for found in several]) <= 0.1


def test_a_threshold_that_moves_is_found():
    found = [
        proportional_odds_test(small(), *sample(800, s, (1.5, 0.0, 0.0)), n_splits=3, random_state=s) for s in range(10)
    ]
    assert sum(one.overall_p_value <= 0.05 for one in found) >= 8
    assert sum(one.p_values.argmin() == 0 for one in found) >= 8


def test_errors_of_the_score_do_not_matter_at_first_order():
    """The true model's score with an error, and shifts that are the error itself at one threshold: z stays standard."""
    rng, link = np.random.default_rng(0), get_link("logit")
    z, plain = [], []
    for _ in range(100):
        x = rng.normal(size=400)
        y = (rng.logistic(size=(400, 1)) > THETA - x[:, None]).sum(axis=1)
        below, error = y[:, None] <= np.arange(3), 0.6 * np.cos(2 * x)
        margins = null_margins(link, x - error, THETA, below, np.ones(400))
        z.append(score_statistics(link, margins, np.c_[error, np.zeros((400, 2))], below, np.ones(400))[0])
        each = error * (1 / (1 + np.exp(-margins)) - below)[:, 0]
        plain.append(each.sum() / np.sqrt(each @ each))
    assert kstest(z, norm.cdf).pvalue > 0.01
    assert abs(np.mean(z)) < 0.2 < 0.5 < np.mean(plain)  # what is not centred finds the error


# Pieces


@pytest.mark.parametrize("link", sorted(LINKS))
def test_the_null_model_has_the_lowest_loss(link):
    link, rng = get_link(link), np.random.default_rng(0)
    score = rng.normal(size=300)
    y = (rng.logistic(size=(300, 1)) > THETA - score[:, None]).sum(axis=1)
    below, weight = y[:, None] <= np.arange(3), rng.gamma(2.0, size=300)
    margins = null_margins(link, 0.3 * score, THETA, below, weight)

    def loss(m):
        return weight @ np.where(below, link.lower(m)[0], link.upper(m)[0]).sum(axis=1)

    best = loss(margins)
    for k in range(3):
        for step in (-0.05, 0.05):
            assert loss(margins + step * np.eye(3)[k]) > best
            assert loss(margins + step * score[:, None]) > best


def test_centring_is_least_squares():
    """The residual of a weighted regression on one dummy for each row and each threshold."""
    rng = np.random.default_rng(0)
    shifts, weight = rng.normal(size=(12, 4)), rng.gamma(2.0, size=(12, 4))
    dummies = np.array([np.r_[np.eye(12)[i], np.eye(4)[k]] for i in range(12) for k in range(4)])
    root = np.sqrt(weight.ravel())[:, None]
    fit = dummies @ np.linalg.lstsq(root * dummies, root[:, 0] * shifts.ravel(), rcond=None)[0]
    np.testing.assert_allclose(centred(shifts, weight), (shifts.ravel() - fit).reshape(12, 4), atol=1e-8)
    np.testing.assert_array_equal(centred(np.zeros((12, 4)), weight), 0.0)


def test_holm_by_hand():
    np.testing.assert_allclose(holm(np.array([0.04, 0.01, 0.03])), [0.06, 0.03, 0.06])
    np.testing.assert_allclose(holm(np.array([0.5, 0.9])), [1.0, 1.0])


def test_whole_weights_are_copies_of_rows():
    rng, link = np.random.default_rng(0), get_link("logit")
    score, y, weight = rng.normal(size=60), rng.integers(0, 4, 60), rng.integers(1, 4, 60)
    below, rows = y[:, None] <= np.arange(3), np.repeat(np.arange(60), weight)
    margins = null_margins(link, score, THETA, below, weight.astype(float))
    copied = null_margins(link, score[rows], THETA, below[rows], np.ones(len(rows)))
    np.testing.assert_allclose(margins[rows], copied, atol=1e-4)
    shifts, information = rng.normal(size=(60, 3)), rng.gamma(2.0, size=(60, 3))
    found = centred(shifts, weight[:, None] * information)
    np.testing.assert_allclose(found[rows], centred(shifts[rows], information[rows]), atol=1e-8)


# Groups


GROUPS, SIZE = 40, 8
GROUP = np.repeat(np.arange(GROUPS), SIZE)


def test_statistics_of_groups_are_those_of_their_sums():
    """A loop over the groups; of groups of one row they are those of the rows."""
    rng, link = np.random.default_rng(0), get_link("logit")
    margins, shifts = THETA - rng.normal(size=(60, 1)), rng.normal(size=(60, 3))
    below, weight, group = (
        rng.integers(0, 4, 60)[:, None] <= np.arange(3),
        rng.gamma(2.0, size=60),
        rng.integers(9, size=60),
    )
    found = score_statistics(link, margins, shifts, below, weight, group)
    (_, low, _), (_, high, _) = link.lower(margins), link.upper(margins)
    direction = centred(shifts, weight[:, None] * -low * high)
    psi = weight * (direction * np.where(below, low, high)).sum(axis=1)
    sums = [sum(psi[i] for i in range(60) if group[i] == g) for g in range(9)]
    assert found[-1] == pytest.approx(sum(sums) / np.sqrt(sum(x**2 for x in sums)))
    of_rows = score_statistics(link, margins, shifts, below, weight)
    np.testing.assert_allclose(score_statistics(link, margins, shifts, below, weight, np.arange(60)), of_rows)
    assert _p_values(found[-1:], 9)[0] == pytest.approx(ttest_1samp(np.array(sums), 0.0, alternative="greater").pvalue)
    assert _p_values(np.array([3.0]), 9)[0] < 1e-12  # all sums are the same


def copied(seed, moved=0.0):
    """Return rows of which eight of a group have the same features and labels."""
    X, y = sample(GROUPS, seed, (moved, 0.0, 0.0))
    return X[GROUP], y[GROUP]


def test_copies_of_rows_are_no_more_evidence():
    """Where each row is there eight times, the test by rows rejects far too often, and that of groups does not."""
    rejected = {"rows": [], "groups": []}
    for seed in range(40):
        X, y = copied(seed)
        if np.bincount(y, minlength=4).min() < 4 * SIZE:  # too few groups of a class
            continue
        for name, groups in (("rows", None), ("groups", GROUP)):
            # Groups are held out in both, since rows would have copies on both sides, and judged by rows or groups.
            with pytest.MonkeyPatch.context() as patch:
                if groups is None:
                    patch.setattr(proportional_odds, "score_statistics", lambda *given: score_statistics(*given[:5]))
                    patch.setattr(proportional_odds, "_p_values", lambda z, _: norm.sf(z))
                found = proportional_odds_test(small(), X, y, groups=GROUP, n_splits=1, random_state=seed)
            rejected[name].append(found.overall_p_value <= 0.1)
    assert len(rejected["groups"]) > 20
    assert np.mean(rejected["groups"]) < 0.25
    assert np.mean(rejected["rows"]) > np.mean(rejected["groups"]) + 0.1


def test_no_group_is_divided_and_a_threshold_that_moves_is_found():
    X, y = sample(800, 0, (2.5, 0.0, 0.0))
    group = np.arange(800) // 10
    for train, test in _splits(y, group, 4, 0.3, np.random.RandomState(0)):
        assert not set(group[train]) & set(group[test])
        assert len(train) + len(test) == 800
        assert len(test) == 240
    found = proportional_odds_test(small(), X, y, groups=group.astype(str), n_splits=3, random_state=0)
    assert found.overall_p_value < 0.05


# The entry point


@pytest.mark.parametrize("groups", [np.zeros(200), np.arange(200) % 3, np.arange(199), np.arange(200) < 0])
def test_groups_that_cannot_be_held_out_are_named(groups):
    X, y = sample(200, 0)
    with pytest.raises(ValueError, match=r"^groups "):
        proportional_odds_test(small(), X, y, groups=groups)


def test_a_class_of_a_single_group_is_named():
    X, y = sample(200, 0)
    y[:20] = 4
    with pytest.raises(ValueError, match=r"^groups "):
        proportional_odds_test(small(), X, y, groups=np.arange(200) // 20)
