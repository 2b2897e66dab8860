"""Start values: the closed form, and classes without rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ordinal_objectives.links import LINKS, get_link
from ordinal_objectives.losses import get_loss
from ordinal_objectives.threshold_solver import initial_thresholds, is_ordered, longest_step, newton_step

LOSSES = ["all_threshold", "cumulative_link", "immediate_threshold"]
counts = st.lists(st.just(0) | st.integers(1, 50), min_size=2, max_size=9).filter(lambda n: np.count_nonzero(n) >= 2)
weights = st.lists(st.sampled_from([0.0, 1e-9, 0.3, 1.0, 2.5, 1e6]), min_size=2, max_size=9).filter(
    lambda n: np.count_nonzero(np.array(n) > 1e-12 * sum(n)) >= 2
)


def rows_of(class_counts):
    y = np.repeat(np.arange(len(class_counts)), class_counts)
    return np.zeros(y.size), y


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("loss", LOSSES)
def test_start_is_the_optimum_for_a_score_of_zero(loss, link):
    class_counts = [7, 20, 3, 11]
    start = initial_thresholds(class_counts, link, loss)
    raw_prediction, y = rows_of(class_counts)
    u = get_loss(loss, link).threshold_gradient(raw_prediction, y, start.thresholds)
    np.testing.assert_allclose(u, 0.0, atol=1e-11)
    assert start.active.all()
    assert not start.tied.any()


@pytest.mark.parametrize("link", LINKS)
def test_start_is_the_link_of_the_weighted_share(link):
    start = initial_thresholds([0.5, 1.5, 2.0], link)
    np.testing.assert_allclose(start.thresholds, get_link(link).link(np.array([0.125, 0.5])))


@given(weights, st.sampled_from(sorted(LINKS)), st.sampled_from(LOSSES))
def test_start_is_finite_and_in_the_order_that_the_loss_needs(class_weights, link, loss):
    start = initial_thresholds(class_weights, link, loss)
    assert np.all(np.isfinite(start.thresholds))
    if loss != "immediate_threshold":
        assert is_ordered(start.thresholds, strict=loss == "cumulative_link")


@pytest.mark.slow
@given(counts, st.sampled_from(LOSSES))
def test_masks_say_where_the_rows_are(class_counts, loss):
    n = np.array(class_counts)
    _, active, tied = initial_thresholds(n, loss=loss)
    for k in range(n.size - 1):
        if loss == "immediate_threshold":
            assert active[k] == (n[k] > 0 and n[k + 1] > 0)
            assert not tied[k]
        else:
            assert active[k] == (n[: k + 1].sum() > 0 and n[k + 1 :].sum() > 0)
            assert tied[k] == (k > 0 and n[k] == 0 and active[k - 1] and active[k])


@pytest.mark.slow
@given(counts, st.sampled_from(LOSSES))
def test_reversed_classes_give_mirrored_thresholds(class_counts, loss):
    start = initial_thresholds(class_counts, "logit", loss)
    mirrored = initial_thresholds(class_counts[::-1], "logit", loss)
    np.testing.assert_allclose(mirrored.thresholds, -start.thresholds[::-1], atol=1e-9)
    assert mirrored.active.tolist() == start.active[::-1].tolist()


@pytest.mark.slow
@given(counts)
def test_active_all_thresholds_are_the_shares_whatever_is_empty(class_counts):
    n = np.array(class_counts)
    start = initial_thresholds(n)
    share = np.cumsum(n)[:-1] / n.sum()
    with np.errstate(divide="ignore"):
        expected = np.log(share) - np.log1p(-share)
    np.testing.assert_allclose(start.thresholds[start.active], expected[start.active], atol=1e-12)


def test_no_weight_on_one_side_counts_as_half_a_row():
    start = initial_thresholds([0, 60, 40, 0, 0])
    np.testing.assert_allclose(
        1 / (1 + np.exp(-start.thresholds)), [0.5 / 100, 60 / 100, 99.5 / 100, 99.75 / 100], rtol=1e-12
    )
    assert start.active.tolist() == [False, True, False, False]
    normalised = initial_thresholds([0.0, 0.1, 0.9])
    np.testing.assert_allclose(1 / (1 + np.exp(-normalised.thresholds)), [0.05, 0.1], rtol=1e-12)


def test_empty_inner_class_gives_equal_thresholds_or_the_gap_that_the_loss_needs():
    equal = initial_thresholds([10, 0, 30])
    assert equal.thresholds[0] == equal.thresholds[1] == pytest.approx(np.log(10 / 30))
    assert equal.tied.tolist() == [False, True]
    gap = initial_thresholds([10, 0, 30], loss="cumulative_link")
    np.testing.assert_allclose(1 / (1 + np.exp(-gap.thresholds)), [9.75 / 40, 10.25 / 40])
    assert gap.tied.tolist() == [False, True]


def test_both_neighbours_empty_in_the_immediate_threshold_loss():
    start = initial_thresholds([10, 0, 0, 30], loss="immediate_threshold")
    np.testing.assert_allclose(start.thresholds, np.log([20.0, 1.0, 1 / 60]))
    assert not start.active.any()


def optimum(raw_prediction, y, n_classes, loss):
    """Start values, and the thresholds that safeguarded exact Newton steps lead to; the loss never rises."""
    start = initial_thresholds(np.bincount(y, minlength=n_classes), loss.link, loss.name)
    thresholds = start.thresholds

    def loss_at(thresholds):
        return float(loss.value(raw_prediction, y, thresholds).sum())

    for _ in range(30):
        u = loss.threshold_gradient(raw_prediction, y, thresholds)
        v, v_off = loss.threshold_hessian(raw_prediction, y, thresholds, kind="exact")
        step = newton_step(u, v, v_off, start.active, start.tied)
        strict = loss.name == "cumulative_link"
        highest = loss_at(thresholds) * (1 + 1e-12)
        thresholds, _ = longest_step(
            thresholds, step, lambda _, at: loss_at(at), highest, ordered=loss.ordered, strictly_ordered=strict
        )
    return start, thresholds


@pytest.mark.slow
@pytest.mark.parametrize("name", ["all_threshold", "cumulative_link"])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_empty_inner_classes_change_nothing_for_the_others(name, link):
    loss = get_loss(name, link)
    _, y = rows_of([150, 0, 0, 250, 100])
    raw_prediction = np.random.default_rng(0).normal(size=y.size) + 0.5 * y
    start, full = optimum(raw_prediction, y, 5, loss)
    _, alone = optimum(raw_prediction, np.searchsorted([0, 3, 4], y), 3, loss)
    np.testing.assert_allclose(np.diff(full[:3]), np.diff(start.thresholds[:3]), rtol=1e-9)
    np.testing.assert_allclose(full[[1, 3]], alone, atol=1e-9 if name == "all_threshold" else 1e-3)


@pytest.mark.parametrize("name", ["all_threshold", "cumulative_link"])
def test_empty_outer_classes_give_way(name):
    """A score with a wide spread needs thresholds far beyond the start values of the empty classes."""
    loss = get_loss(name)
    _, y = rows_of([0, 0, 40, 50, 40, 0])
    raw_prediction = 20.0 * (y - 3.0) + np.random.default_rng(0).normal(size=y.size)
    start, full = optimum(raw_prediction, y, 6, loss)
    assert is_ordered(full, strict=True)
    assert full[1] < start.thresholds[1]
    assert full[4] > start.thresholds[4]
    if name == "all_threshold":
        assert full[2] < start.thresholds[1]
        assert full[3] > start.thresholds[4]
        _, alone = optimum(raw_prediction, y - 2, 3, loss)
        np.testing.assert_allclose(full[2:4], alone, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0, 2.0]],), "class_weights"),
        (([1.0, np.inf],), "class_weights"),
        (([1.0, -1.0, 2.0],), "class_weights"),
        (([0.0, 5.0, 0.0],), "class_weights"),
        (([1e-9, 1e6],), "class_weights"),
        (([1.0, 2.0], "logistic"), "link"),
        (([1.0, 2.0], "logit", "hinge"), "loss"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        initial_thresholds(*arguments)
