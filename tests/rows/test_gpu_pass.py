"""The pass on a GPU answers what the native pass does: run on a stand-in for CuPy, and on CuPy where there is a GPU."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import fake_cupy
from ordinal_objectives.losses import AllThreshold, get_loss
from ordinal_objectives.rows import CPU, gpu
from ordinal_objectives.rows.device import on_cpu
from own_losses import Scaled, Steep

LOSSES = ["all_threshold", "immediate_threshold"]
HESSIANS = ["exact", "majorized"]


def cupy_or_skip():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed: its own arrays are not tested")
    if not cupy.is_available():
        pytest.skip("no GPU: CuPy's own arrays are not tested")
    return cupy


@pytest.fixture(params=["stand-in", "cupy"])
def device(request):
    return gpu.GPU(fake_cupy if request.param == "stand-in" else cupy_or_skip())


def make(seed, n=3000, n_classes=5, weighted=True):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    weight = rng.exponential(size=n) if weighted else None
    theta = np.sort(rng.normal(size=n_classes - 1)) * 2 + np.arange(n_classes - 1) * 0.1
    return rng, y, weight, theta


def compare(found, expected, rtol=2e-6):
    scale = float(np.abs(expected.hessian).max())
    for name in ("gradient", "hessian"):
        np.testing.assert_allclose(on_cpu(getattr(found, name)), getattr(expected, name), rtol=1e-4, atol=2e-6 * scale)
    n = len(expected.gradient)
    assert found.loss == pytest.approx(expected.loss, rel=rtol)
    for name in ("threshold_gradient", "threshold_hessian"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=rtol, atol=1e-7 * scale * n)


@pytest.mark.parametrize("hessian", HESSIANS)
@pytest.mark.parametrize("loss", [*LOSSES, "cumulative_link"])
@pytest.mark.parametrize("weighted", [True, False])
def test_a_round_is_the_native_one(device, loss, hessian, weighted):
    rng, y, weight, theta = make(0, weighted=weighted)
    score = (2 * rng.normal(size=len(y))).astype(np.float32)
    native, here = (d.row_pass(get_loss(loss), y, 5, weight) for d in (CPU(1), device))
    expected = native(score, theta, hessian)
    found = here(score, theta, hessian)
    compare(found, expected)
    assert here(score, theta, hessian, want_loss=False).loss == 0.0
    leaves = rng.integers(0, 7, len(y)).astype(np.int32)
    for one, other in zip(
        vars(native.leaf_sums(leaves, 9)).values(), vars(here.leaf_sums(leaves, 9)).values(), strict=True
    ):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(here.leaf_weights(leaves, 9), native.leaf_weights(leaves, 9), rtol=1e-6)


@pytest.mark.parametrize("hessian", HESSIANS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("in_doubles", [True, False])
def test_a_round_with_shifts_is_the_native_one(device, loss, hessian, in_doubles):
    rng, y, weight, theta = make(1)
    scores = np.asfortranarray(2 * rng.normal(size=(len(y), 4)))
    native, here = (d.margin_pass(get_loss(loss), y, 5, weight, in_doubles=in_doubles) for d in (CPU(1), device))
    scores = scores.astype(native.scores_dtype)
    assert here.scores_dtype is native.scores_dtype
    columns, here_columns = np.empty((len(y), 8), np.float32), device.columns(len(y), 8)
    expected = native(scores, theta, hessian, columns=columns)
    compare(here(scores, theta, hessian, columns=here_columns), expected)
    np.testing.assert_allclose(on_cpu(here_columns), columns, rtol=1e-4, atol=1e-5)
    leaves = rng.integers(0, 7, len(y)).astype(np.int32)
    for one, other in zip(native.leaf_sums(leaves, 9), here.leaf_sums(leaves, 9), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-3)
    assert here.loss_of_prediction(scores, theta) == pytest.approx(native.loss_of_prediction(scores, theta), rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-300, 300, width=32), min_size=1, max_size=8),
    st.lists(st.floats(-300, 300, width=32), min_size=1, max_size=6),
    st.sampled_from(HESSIANS),
)
def test_far_scores_give_what_the_native_pass_gives(scores, thresholds, hessian):
    theta, score = np.sort(thresholds).astype(np.float64), np.asarray(scores, np.float32)
    K = len(theta) + 1
    y = np.arange(len(score)) % K
    loss = get_loss("all_threshold")
    expected, found = (d.row_pass(loss, y, K)(score, theta, hessian) for d in (CPU(1), gpu.GPU(fake_cupy)))
    np.testing.assert_allclose(on_cpu(found.gradient), expected.gradient, rtol=3e-5, atol=1e-6)
    np.testing.assert_allclose(on_cpu(found.hessian), expected.hessian, rtol=3e-5, atol=1e-6)
    assert found.loss == pytest.approx(expected.loss, rel=3e-5, abs=1e-6)
    assert found.n_clipped == expected.n_clipped


@pytest.mark.parametrize("hessian", HESSIANS)
def test_derivatives_are_taken_within_reach_of_all_thresholds(hessian):
    theta, score = np.array([-20.0, 15.0]), np.array([-300.0, -70.0, 0.0, 70.0, 300.0], np.float32)
    loss, y = get_loss("all_threshold"), [0, 1, 2, 0, 1]
    expected, found = (d.row_pass(loss, y, 3)(score, theta, hessian) for d in (CPU(1), gpu.GPU(fake_cupy)))
    np.testing.assert_allclose(on_cpu(found.hessian), expected.hessian, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(on_cpu(found.gradient), expected.gradient, rtol=1e-5, atol=1e-12)
    assert found.n_clipped == expected.n_clipped == 4
    assert found.loss == pytest.approx(expected.loss)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-300, 300, width=32), min_size=6, max_size=6),
    st.lists(st.floats(-30, 30, width=32), min_size=2, max_size=2),
    st.sampled_from(HESSIANS),
    st.booleans(),
)
def test_far_scores_with_shifts_give_what_the_native_pass_gives(scores, thresholds, hessian, in_doubles):
    loss, y = get_loss("all_threshold"), [0, 1, 2]
    native, here = (d.margin_pass(loss, y, 3, in_doubles=in_doubles) for d in (CPU(1), gpu.GPU(fake_cupy)))
    score = np.asfortranarray(np.reshape(scores, (3, 2)), dtype=native.scores_dtype)
    expected, found = (rows(score, thresholds, hessian) for rows in (native, here))
    np.testing.assert_allclose(on_cpu(found.gradient), expected.gradient, rtol=3e-5, atol=1e-6)
    np.testing.assert_allclose(on_cpu(found.hessian), expected.hessian, rtol=3e-5, atol=1e-6)
    assert found.loss == pytest.approx(expected.loss, rel=3e-5, abs=1e-6)
    assert found.n_clipped == expected.n_clipped
    assert here.loss_of_prediction(score, thresholds) == pytest.approx(
        native.loss_of_prediction(score, thresholds), rel=3e-5, abs=1e-6
    )


def test_rows_find_their_leaves_as_they_do_natively(device):
    rng = np.random.default_rng(3)
    values = np.sort(rng.normal(size=6))
    order = rng.permutation(6).astype(np.int32)
    leaves = rng.integers(0, 6, 500)
    before = rng.normal(size=500).astype(np.float32)
    after = (before + values[leaves]).astype(np.float32)
    native = CPU(1).match_leaves(before, after, values, order)
    found = device.match_leaves(device.copy(before), after, values, order)
    np.testing.assert_array_equal(on_cpu(found[0]), native[0])
    np.testing.assert_array_equal(native[0], order[leaves])
    assert found[1:] == pytest.approx(native[1:])
    moved = after + np.where(np.arange(500) == 77, 0.5, 0).astype(np.float32)
    assert device.match_leaves(device.copy(before), moved, values, order)[1:] == pytest.approx(
        CPU(1).match_leaves(before, moved, values, order)[1:]
    )
    assert device.middle(device.copy(before)) == CPU(1).middle(before)
    assert device.middle(np.zeros(3)) == CPU(1).middle(np.zeros(3)) == (0, 0.0)
    numbers = rng.integers(0, 6, 6)
    for operation, args in [
        ("renumbered", (numbers,)),
        ("add_leaf_values", (values,)),
        ("add_leaf_vectors", (rng.normal(size=(6, 3)).astype(np.float32),)),
    ]:
        first = {"renumbered": [], "add_leaf_values": [before.astype(np.float64)]}.get(
            operation, [np.asfortranarray(rng.normal(size=(500, 3)).astype(np.float32))]
        )
        one = getattr(CPU(1), operation)(*first, native[0], *args)
        other = getattr(device, operation)(*map(device.copy, first), found[0], *args)
        np.testing.assert_array_equal(on_cpu(other), one)
        assert other.dtype == one.dtype


def test_no_rows_are_no_rows(device):
    loss = get_loss("all_threshold")
    here = device.row_pass(loss, np.empty(0), 3, part=True)
    assert here(np.empty(0, np.float32), [-1.0, 1.0]).loss == 0.0
    assert not here.leaf_sums(np.empty(0, np.int32), 2).hessian.any()
    found = device.match_leaves(
        device.copy(np.empty(0)), np.empty(0), np.array([1.0, 2.0]), np.arange(2, dtype=np.int32)
    )
    assert found[1:] == (0.0, 0.0)


def test_what_it_cannot_do_is_refused_by_name(device):
    y = [0, 1, 2]
    for what, loss in [
        ("loss", get_loss("cumulative_link", "probit")),
        ("loss", Scaled()),
        ("link", AllThreshold(Steep())),
    ]:
        with pytest.raises(ValueError, match=rf"{what}='.*' has no pass on a GPU"):
            device.row_pass(loss, y, 3)
    here = device.row_pass(get_loss("all_threshold"), y, 3)
    with pytest.raises(ValueError, match="call the object with these first"):
        here.leaf_sums(np.zeros(3, np.int32), 1)
    with pytest.raises(ValueError, match=r"shape \(3,\); got \(2,\)"):
        here(np.zeros(2), [-1.0, 1.0])
    for wrong in (np.nan, np.inf, -np.inf):
        for row in range(3):
            scores = np.where(np.arange(3) == row, wrong, 0.0)
            with pytest.raises(ValueError, match="NaN or infinite"):
                here(scores, [-1.0, 1.0], want_loss=False)
    here(np.zeros(3), [-1.0, 1.0])
    with pytest.raises(ValueError, match=r"leaves must be in 0..1; got 0..2"):
        here.leaf_sums(np.arange(3, dtype=np.int32), 2)
    with pytest.raises(ValueError, match=r"leaves must be in 0..5; got -1..5"):
        here.leaf_sums(np.array([-1, 5, 0], np.int32), 6)
    with pytest.raises(ValueError, match=r"leaves must have shape \(3,\)"):
        here.leaf_sums(np.arange(2, dtype=np.int32), 2)
    margins = device.margin_pass(get_loss("all_threshold"), y, 3)
    with pytest.raises(ValueError, match="call the object with these first"):
        margins.leaf_sums(np.zeros(3, np.int32), 1)
    with pytest.raises(ValueError, match=r"scores must have shape \(3, 2\)"):
        margins(np.zeros((3, 3)), [-1.0, 1.0])


def test_cupy_has_what_the_stand_in_offers():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed: its functions are not looked up")
    assert all(callable(getattr(cupy, name)) for name in (*fake_cupy.FUNCTIONS, *fake_cupy.CREATE))
    assert all(hasattr(cupy.ndarray, name) for name in (*fake_cupy.METHODS, "get"))


def test_the_device_and_the_cpu_offer_the_same():
    def public(kind):
        return {
            name: list(inspect.signature(f).parameters)
            for name, f in vars(kind).items()
            if name[0] != "_" and callable(f)
        }

    assert set(public(CPU)) == set(public(gpu.GPU)) - {"here", "kernels"}
