"""The pass in NumPy: that of the native kernels for the losses they know, and the loss's own for others."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives import AllThreshold, CumulativeLink, ImmediateThreshold
from ordinal_objectives.links import LINKS, Logit
from ordinal_objectives.losses import LOSSES, get_loss
from ordinal_objectives.rows import CPU, MarginStatistics, RowStatistics
from ordinal_objectives.rows.reference import ReferenceMarginPass, ReferenceRowPass
from ordinal_objectives.utils.validation import check_codes, n_classes_of
from own_losses import Rising, Scaled, Steep

CASES = [
    (loss, link, hessian)
    for loss in LOSSES
    for link in LINKS
    for hessian in ("majorized", "exact")
    if get_loss(loss, link).supports(hessian)
]


def make_rows(weighted, n=400, n_classes=5):
    """Rows of which class 3 has none."""
    rng = np.random.default_rng(1)
    y = rng.choice([0, 1, 2, 4], n)
    weight = rng.uniform(0.1, 3.0, n) if weighted else None
    return (
        1.5 * rng.normal(size=n),
        y,
        np.array([-1.5, -0.25, 0.5, 1.75]),
        weight,
        rng.integers(0, 6, n).astype(np.int32),
    )


def assert_same(found, expected):
    for name in ("gradient", "hessian", "threshold_gradient", "threshold_hessian", "threshold_hessian_off", "loss"):
        got, want = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-6 * np.abs(want).max(initial=0.0), err_msg=name)
    assert (found.n_floored, found.n_clipped) == (expected.n_floored, expected.n_clipped)
    assert found.gradient.dtype == found.hessian.dtype == np.float32


@pytest.mark.parametrize(("loss", "link", "hessian"), CASES)
@pytest.mark.parametrize("weighted", [True, False])
def test_rows_are_those_of_the_native_pass(loss, link, hessian, weighted):
    f, y, thresholds, weight, leaves = make_rows(weighted)
    native, here = (kind(get_loss(loss, link), y, 5, weight) for kind in (RowStatistics, ReferenceRowPass))
    assert_same(here(f, thresholds, hessian), native(f, thresholds, hessian))
    for got, want in zip(
        vars(here.leaf_sums(leaves, 6)).values(), vars(native.leaf_sums(leaves, 6)).values(), strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-6 * np.abs(want).max())
    np.testing.assert_array_equal(here.class_weights, native.class_weights)
    np.testing.assert_allclose(here.leaf_weights(leaves, 6), native.leaf_weights(leaves, 6), rtol=1e-6)


@pytest.mark.parametrize(("loss", "link", "hessian"), [case for case in CASES if case[0] != "cumulative_link"])
@pytest.mark.parametrize("weighted", [True, False])
def test_margins_are_those_of_the_native_pass(loss, link, hessian, weighted):
    f, y, thresholds, weight, leaves = make_rows(weighted)
    scores = np.asfortranarray(f[:, None] + np.random.default_rng(2).normal(size=(len(f), 4)))
    native, here = (kind(get_loss(loss, link), y, 5, weight) for kind in (MarginStatistics, ReferenceMarginPass))
    columns = np.zeros((2, len(f), 8), np.float32)
    assert_same(
        here(scores, thresholds, hessian, columns=columns[0]), native(scores, thresholds, hessian, columns=columns[1])
    )
    np.testing.assert_allclose(columns[0], columns[1], rtol=2e-6, atol=2e-6 * columns.max())
    for got, want in zip(here.leaf_sums(leaves, 6), native.leaf_sums(leaves, 6), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-6 * np.abs(want).max())
    expected = native.loss_of_prediction(scores, thresholds)
    assert here.loss_of_prediction(scores, thresholds) == pytest.approx(expected, rel=1e-6)


class SameFormulas(CumulativeLink):
    pass


class Renamed(Logit):
    name = "logit"


@pytest.mark.parametrize("loss", [SameFormulas(), Rising(), Scaled(), AllThreshold(Steep()), CumulativeLink(Renamed())])
def test_native_passes_take_exactly_the_types_they_know(loss):
    assert isinstance(CPU().row_pass(loss, [0, 1, 2], 3), ReferenceRowPass)
    with pytest.raises(ValueError, match="has formulas of its own, which the native engine does not know"):
        RowStatistics(loss, [0, 1, 2], 3)
    if loss.takes_shifts:
        assert isinstance(CPU().margin_pass(loss, [0, 1, 2], 3), ReferenceMarginPass)
        with pytest.raises(ValueError, match="has formulas of its own, which the native engine does not know"):
            MarginStatistics(loss, [0, 1, 2], 3)


@pytest.mark.parametrize("kind", LOSSES.values())
def test_the_package_s_own_losses_take_the_native_pass(kind):
    assert isinstance(CPU().row_pass(kind("cloglog"), [0, 1, 2], 3), RowStatistics)


@pytest.mark.parametrize("part", [True, False])
def test_a_part_may_have_no_rows(part):
    rows = [np.zeros(0), np.zeros(0, int)]
    if not part:
        with pytest.raises(ValueError, match="non-empty"):
            ReferenceRowPass(Rising(), rows[1], 3)
        return
    here = ReferenceRowPass(Rising(), rows[1], 3, part=part)
    assert here(rows[0], [0.0, 1.0], "exact").loss == 0.0
    assert here.leaf_sums(np.zeros(0, np.int32), 2).cross.tolist() == [[0.0, 0.0]] * 2


@pytest.mark.parametrize("margin", [700.0, 701.0])
def test_rows_beyond_the_limit_of_a_link_are_counted(margin):
    found = ReferenceMarginPass(AllThreshold("cloglog"), [0, 1], 2)([[-margin], [0.0]], [0.0], "exact")
    assert found.n_clipped == (margin > 700.0)


def test_what_is_wrong_is_refused():
    here = ReferenceRowPass(ImmediateThreshold(), [0, 1, 2], 3)
    with pytest.raises(ValueError, match="call the object with these first"):
        here.leaf_sums(np.zeros(3, np.int32), 1)
    with pytest.raises(ValueError, match="raw_prediction holds NaN"):
        here([0.0, np.nan, 1.0], [0.0, 1.0])
    with pytest.raises(ValueError, match=r"raw_prediction must have shape \(3,\); got \(2,\)"):
        here([0.0, 1.0], [0.0, 1.0])
    margins = ReferenceMarginPass(AllThreshold(), [0, 1, 2], 3)
    with pytest.raises(ValueError, match=r"scores must have shape \(3, 2\); got \(3,\)"):
        margins(np.zeros(3), [0.0, 1.0])
    with pytest.raises(ValueError, match="call the object with these first"):
        margins.leaf_sums(np.zeros(3, np.int32), 1)
    with pytest.raises(ValueError, match="too far from the thresholds for float32"):
        ReferenceRowPass(AllThreshold("cloglog"), [0, 1, 2], 3)([0.0, 0.0, -100.0], [-1.0, 1.0], "exact")


@pytest.mark.parametrize("kind", [ReferenceRowPass, RowStatistics, ReferenceMarginPass, MarginStatistics])
def test_how_many_classes_a_pass_takes(kind):
    for n_classes in (1, 2**40, 2**70):
        with pytest.raises(ValueError, match=f"n_classes must be an integer between 2 and 32768; got {n_classes}"):
            kind(AllThreshold(), [0, 1], n_classes)


def test_labels_that_are_no_codes_are_refused_before_memory_is_asked_for():
    with pytest.raises(ValueError, match="n_classes must be an integer between 2 and 32768; got 2000000001"):
        n_classes_of([0, 1, 2 * 10**9])
    with pytest.raises(ValueError, match=r"y must hold integer class codes; got 1e\+300"):
        check_codes([0.0, 1e300])


class Narrow(Rising):
    def _row_derivatives(self, f, y, thresholds):
        rows = super()._row_derivatives(f, y, thresholds)
        return type(rows)(**(vars(rows) | {"threshold_gradient": rows.threshold_gradient[:, :1]}))


class Wild(Rising):
    def _row_derivatives(self, f, y, thresholds):
        rows = super()._row_derivatives(f, y, thresholds)
        return type(rows)(**(vars(rows) | {"threshold_gradient": rows.threshold_gradient * np.inf}))


def test_what_a_loss_returns_is_checked():
    with pytest.raises(
        ValueError, match=r"threshold_gradient of loss '.*Narrow' must be float64 \(6, 2\); got float64 \(6, 1\)"
    ):
        ReferenceRowPass(Narrow(), [0, 1, 2], 3)(np.zeros(3), [0.0, 1.0], "exact")
    with pytest.raises(ValueError, match=r"loss '.*Wild' must be finite at finite scores; got -?inf"):
        ReferenceRowPass(Wild(), [0, 1, 2], 3)(np.zeros(3), [0.0, 1.0], "exact")
