"""The float64 kernel equals the reference where formulas break: tails, narrow gaps, beyond the range."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives.links import LINKS
from ordinal_objectives.losses import LOSSES, get_loss
from ordinal_objectives.rows import RowStatistics

TABLE = [(loss, link) for loss in LOSSES for link in LINKS]
each = pytest.mark.parametrize(("loss", "link"), TABLE, ids=["-".join(pair) for pair in TABLE])
FAR = np.array([0.0, 1e-8, 1e-3, 0.01, 0.3, 1.0, 4.9, 5.1, 9.9, 10.1, 30.0, 37.0, 40.0, 300.0, 699.0])


def assert_rows_equal(loss, f, y, thresholds):
    """Row by row, relative to the sum of the absolute terms: each row is a data set of its own."""
    n_classes = len(thresholds) + 1
    reference = loss.row_derivatives(f, y, thresholds)
    native = RowStatistics(loss, y, n_classes, precision="float64", n_threads=1)
    floored = loss.round_statistics(f, y, thresholds, hessian="exact")
    statistics = native(f, thresholds, "exact", want_cross=True)
    size = np.abs(reference.threshold_gradient).sum(axis=1)
    np.testing.assert_array_less(np.abs(statistics.gradient - reference.gradient), 1e-12 * size + 1e-290)
    np.testing.assert_allclose(statistics.hessian, floored.hessian, rtol=1e-11, atol=1e-290)
    np.testing.assert_allclose(statistics.cross, floored.cross, rtol=1e-11, atol=1e-290)
    assert statistics.n_floored == floored.n_floored
    for i in range(len(f)):
        # Two more rows of weight zero, because one class alone is no data set.
        row = RowStatistics(loss, [y[i], 0, n_classes - 1], n_classes, [1.0, 0.0, 0.0], precision="float64")
        one = row([f[i], 0.0, 0.0], thresholds, "exact")
        assert one.loss == pytest.approx(reference.value[i], rel=1e-12, abs=1e-290)
        np.testing.assert_allclose(one.threshold_gradient, reference.threshold_gradient[i], rtol=1e-12, atol=1e-290)
        np.testing.assert_allclose(one.threshold_hessian_off, reference.curvature_next[i], rtol=1e-12, atol=1e-290)


@each
def test_tails(loss, link):
    f = np.tile(np.concatenate([FAR, -FAR]), 3)
    y = np.repeat([0, 1, 2], 2 * len(FAR))
    assert_rows_equal(get_loss(loss, link), f, y, np.array([-0.75, 0.5]))


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("gap", [1e-10, 1e-5, 0.01, 0.24, 0.26, 1.99, 2.01, 50.0, 1000.0])
def test_gaps(link, gap):
    f = np.array([-600.0, -30.0, -3.0, -0.5, 0.0, 0.4, 3.0, 30.0, 600.0])
    assert_rows_equal(get_loss("cumulative_link", link), f, np.ones(9, int), np.array([0.0, gap]))


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("loss", LOSSES)
def test_beyond_the_range_is_counted_and_finite(loss, link, precision):
    f, y = np.array([-1e5, -750.0, -90.0, 0.0, 90.0, 750.0, 1e5] * 3), np.repeat([0, 1, 2], 7)
    thresholds = np.array([-0.75, 0.5])
    loss = get_loss(loss, link)
    statistics = RowStatistics(loss, y, 3, precision=precision)(f, thresholds, "exact", want_cross=True)
    if precision == "float64":
        reference = loss.round_statistics(f, y, thresholds, hessian="exact")
        assert statistics.n_clipped == reference.n_clipped
        np.testing.assert_allclose(statistics.gradient, reference.gradient, rtol=1e-12, atol=1e-290)
    else:
        assert statistics.n_clipped == (18 if link in ("logit", "cloglog", "loglog") else 0)
        reference = loss.round_statistics(f, y, thresholds, hessian="exact")
    assert statistics.loss == pytest.approx(reference.loss, rel=1e-6)
    for name, quantity in {**vars(statistics), **vars(statistics.sums)}.items():
        if name != "sums":
            assert np.isfinite(quantity).all(), name


@pytest.mark.parametrize("precision", ["float32", "float64"])
@each
def test_loss_is_right_at_any_score(loss, link, precision):
    """One row at a time, up to where the loss itself leaves double precision and is held there."""
    thresholds, loss = np.array([-0.75, 0.5]), get_loss(loss, link)
    for f in (-1e100, -1e30, -1e6, -750.0, -690.0, -90.0, 90.0, 690.0, 750.0, 1e6, 1e30, 1e100):
        for y in range(3):
            rows = RowStatistics(loss, [y, 0, 2], 3, [1.0, 0.0, 0.0], precision=precision)
            if link == "probit" and precision == "float32" and abs(f) > 1e38:
                continue
            statistics = rows(np.array([f, 0.0, 0.0]), thresholds, "exact")
            assert statistics.loss == pytest.approx(loss.value([f], [y], thresholds)[0], rel=1e-6, abs=1e-30)


@each
def test_thresholds_far_apart(loss, link):
    thresholds, f = np.array([-1e6, -5e5, 5e5, 1e6]), np.array([-2e6, -1e6, -9e5, -3.0, 40.0, 9e5, 2e6])
    loss = get_loss(loss, link)
    for label in range(5):
        for score in f:
            row = RowStatistics(loss, [label, 0, 4], 5, [1.0, 0.0, 0.0], precision="float64")
            one = row(np.array([score, 0.0, 0.0]), thresholds, "exact")
            reference = loss.row_derivatives([score], [label], thresholds)
            assert one.loss == pytest.approx(reference.value[0], rel=1e-12, abs=1e-290)
            size = np.abs(reference.threshold_gradient).sum()
            assert one.gradient[0] == pytest.approx(reference.gradient[0], rel=0, abs=1e-12 * size + 1e-290)


@each
def test_a_far_threshold_on_the_right_side_costs_nothing(loss, link):
    # Thresholds 300 apart: beyond every limit of float32, and still the loss of a label between them.
    thresholds, f = np.array([-150.0, -149.0, 150.0]), np.array([-150.0, -149.5, 0.0, 149.0, 151.0])
    y, loss = np.array([0, 1, 2, 2, 3]), get_loss(loss, link)
    reference = loss.round_statistics(f, y, thresholds, hessian="exact")
    single = RowStatistics(loss, y, 4, precision="float64")
    np.testing.assert_allclose(single(f, thresholds, "exact").gradient, reference.gradient, rtol=1e-12, atol=1e-15)
    if link != "logit":
        single = RowStatistics(loss, y, 4, precision="float32")
        np.testing.assert_allclose(single(f, thresholds, "exact").gradient, reference.gradient, rtol=1e-6, atol=1e-15)


@each
@pytest.mark.parametrize("score", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers_are_refused(loss, link, score):
    for y in ([0, 1, 2], [1, 0, 2], [2, 1, 0]):
        rows = RowStatistics(get_loss(loss, link), y, 3, precision="float64")
        with pytest.raises(ValueError, match="raw_prediction holds NaN"):
            rows([score, 0.0, 0.0], [-0.5, 0.5], "exact")


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_class_without_room_is_refused(link, precision):
    loss = get_loss("cumulative_link", link)
    with pytest.raises(ValueError, match=r"must increase strictly .* 'cumulative_link'; got \[0.5, 0.5\] .* class 1"):
        RowStatistics(loss, [0, 1, 2], 3, precision=precision)(np.zeros(3), [0.5, 0.5], "exact")
    empty = RowStatistics(loss, [0, 0, 2], 3, precision=precision)(np.zeros(3), [0.5, 0.5], "exact")
    assert np.isfinite(empty.threshold_gradient).all()


@each
def test_threads_and_input_precision_change_nothing(loss, link):
    rng = np.random.default_rng(0)
    f = rng.normal(scale=2, size=20_000).astype(np.float32)
    y = rng.integers(0, 4, 20_000)
    weight = rng.uniform(0, 2, 20_000)
    results = []
    for scores, n_threads in ((f, 1), (f, 3), (f.astype(np.float64), 2)):
        rows = RowStatistics(get_loss(loss, link), y, 4, weight, precision="float64", n_threads=n_threads)
        results.append(rows(scores, [-1.0, 0.0, 1.5], "exact", want_cross=True))
    for other in results[1:]:
        for name, quantity in {**vars(results[0]), **vars(results[0].sums)}.items():
            if name != "sums":
                np.testing.assert_array_equal(quantity, getattr(other, name), err_msg=name)
