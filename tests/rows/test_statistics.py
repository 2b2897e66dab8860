"""The native pass equals the NumPy reference, on every instruction set and any number of threads."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ordinal_objectives import _core
from ordinal_objectives.links import LINKS
from ordinal_objectives.losses import LOSSES, get_loss, higher_derivatives
from ordinal_objectives.rows import RowStatistics
from pairs import each_pair

SETS = _core.instruction_sets()
CASES = [
    (loss, link, hessian)
    for loss in LOSSES
    for link in LINKS
    for hessian in ("majorized", "exact")
    if get_loss(loss, link).supports(hessian)
]


def make_rows(n_classes, n_rows=3000, spread=3.0, weighted=True, dtype=np.float64):
    rng = np.random.default_rng(n_classes)
    f = (spread * rng.normal(size=n_rows)).astype(dtype)
    y = rng.integers(0, n_classes, n_rows)
    thresholds = np.cumsum(rng.uniform(0.2, 1.5, n_classes - 1)) - 0.5 * n_classes
    f[:3] = thresholds[0]  # the middle of the curve, where the majoriser is a series
    return f, y, thresholds, rng.uniform(0.1, 3.0, n_rows) if weighted else None


def assert_same(native, loss, f, y, thresholds, weight, hessian, rtol):
    reference = loss.round_statistics(f.astype(np.float64), y, thresholds, weight, hessian)
    w = np.ones(len(y)) if weight is None else weight
    rows = loss.row_derivatives(f.astype(np.float64), y, thresholds)
    # Sums are compared on the scale of the absolute values of their terms.
    slopes = w[:, None] * np.abs(rows.threshold_gradient)
    bends = w[:, None] * np.abs(rows.curvature) + 1e-300
    scale = np.maximum(np.abs(reference.hessian), bends.sum(axis=1))
    assert np.all(np.abs(native.gradient - reference.gradient) <= rtol * slopes.sum(axis=1))
    assert np.all(np.abs(native.hessian - reference.hessian) <= rtol * scale)
    np.testing.assert_allclose(native.cross, reference.cross, rtol=rtol, atol=rtol * bends.max())
    total_slopes, total_bends = slopes.sum(axis=0), np.maximum(bends.sum(axis=0), reference.threshold_hessian)
    assert np.all(np.abs(native.threshold_gradient - reference.threshold_gradient) <= rtol * total_slopes)
    assert np.all(np.abs(native.threshold_hessian - reference.threshold_hessian) <= rtol * total_bends)
    np.testing.assert_allclose(
        native.threshold_hessian_off, reference.threshold_hessian_off, rtol=rtol, atol=rtol * total_bends.max()
    )
    assert native.loss == pytest.approx(reference.loss, rel=rtol)
    assert native.n_floored == reference.n_floored


@pytest.mark.parametrize(("loss", "link", "hessian"), CASES)
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_double_precision_equals_reference(loss, link, hessian, n_classes):
    loss = get_loss(loss, link)
    f, y, thresholds, weight = make_rows(n_classes)
    rows = RowStatistics(loss, y, n_classes, weight, precision="float64", n_threads=1)
    assert_same(rows(f, thresholds, hessian, want_cross=True), loss, f, y, thresholds, weight, hessian, 1e-12)


@each_pair(
    {
        "instruction_set": SETS[1:],
        "loss, link, hessian": [case for case in CASES if case[1] == "logit"],
        "n_classes": [2, 7, 40],
        "n_rows, weighted": [(1, False), (37, True), (1300, False), (1300, True)],
        "dtype": [np.float32, np.float64],
    }
)
def test_every_instruction_set_gives_the_same_bytes(
    instruction_set, loss, link, hessian, n_classes, n_rows, weighted, dtype
):
    f, y, thresholds, weight = make_rows(n_classes, n_rows, weighted=weighted, dtype=dtype)
    rows = RowStatistics(get_loss(loss, link), y, n_classes, weight, n_threads=1)
    found = rows(f, thresholds, hessian, want_cross=True)
    _core.select_instruction_set(SETS[0])
    expected = rows(f, thresholds, hessian, want_cross=True)
    for name in ("gradient", "hessian", "cross", "threshold_gradient", "threshold_hessian", "loss"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


@each_pair(
    {
        "instruction_set": SETS,
        "loss, link, hessian": [case for case in CASES if case[1] == "logit"],
        "n_classes": [2, 3, 7, 40],
        "dtype": [np.float32, np.float64],
    }
)
def test_float32_lanes_equal_reference(instruction_set, loss, link, hessian, n_classes, dtype):
    loss = get_loss(loss, link)
    f, y, thresholds, weight = make_rows(n_classes, dtype=dtype)
    rows = RowStatistics(loss, y, n_classes, weight, n_threads=1)
    native = rows(f, thresholds, hessian, want_cross=True)
    assert native.gradient.dtype == np.float32
    assert_same(native, loss, f, y, thresholds, weight, hessian, 1e-5)


def filled_with_higher(loss, f, y, thresholds, weight, n_higher, **options):
    """Return rows in the middle of which a pass put its derivatives."""
    rows = np.full((len(y), 9), -7.0, np.float32)
    native = RowStatistics(loss, y, len(thresholds) + 1, weight, **options)
    statistics = native(f, thresholds, "exact", higher=rows[:, 4 : 4 + n_higher])
    assert (np.delete(rows, np.s_[4 : 4 + n_higher], axis=1) == -7.0).all()
    return statistics, rows[:, 4 : 4 + n_higher]


# Lanes, and beyond their number of classes.
@each_pair(
    {
        "instruction_set": SETS,
        "loss": LOSSES,
        "n_classes": [2, 3, 7, 140],
        "n_higher": [1, 2],
        "weighted": [False, True],
    }
)
def test_higher_derivatives_equal_reference(instruction_set, loss, n_classes, n_higher, weighted):
    loss = get_loss(loss)
    f, y, thresholds, weight = make_rows(n_classes, 1003, weighted=weighted)
    statistics, found = filled_with_higher(loss, f, y, thresholds, weight, n_higher)
    w = np.ones(len(y)) if weight is None else weight
    expected = w[:, None] * higher_derivatives(loss, f, y, thresholds)[:, :n_higher]
    assert np.all(np.abs(found - expected) <= 1e-6 * n_classes * w[:, None])
    plain = RowStatistics(loss, y, n_classes, weight)(f, thresholds, "exact")
    np.testing.assert_allclose(statistics.gradient, plain.gradient, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(statistics.hessian, plain.hessian, rtol=1e-6, atol=1e-6)
    assert statistics.loss == pytest.approx(plain.loss, rel=1e-7)


def test_higher_derivatives_of_thresholds_far_apart():
    f, y, thresholds = np.linspace(-40.0, 40.0, 81), np.arange(81) % 3, np.array([-25.0, 25.0])
    found = filled_with_higher(get_loss("all_threshold"), f, y, thresholds, None, 2)[1]
    np.testing.assert_allclose(found, higher_derivatives(get_loss("all_threshold"), f, y, thresholds), atol=1e-7)


@pytest.mark.parametrize(("link", "hessian"), [("logit", "majorized"), ("probit", "exact")])
def test_higher_derivatives_that_no_kernel_has_are_refused(link, hessian):
    rows = RowStatistics(get_loss("all_threshold", link), [0, 1], 2)
    with pytest.raises(ValueError, match=r"needs (hessian|link)="):
        rows([0.0, 1.0], [0.0], hessian, higher=np.zeros((2, 2), np.float32))


@pytest.mark.parametrize("n_rows", [1, 15, 511, 512, 513, 8192, 8193, 30_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_any_number_of_rows(n_rows, weighted):
    loss = get_loss("all_threshold")
    f, y, thresholds, weight = make_rows(4, n_rows, weighted=weighted)
    native = RowStatistics(loss, y, 4, weight)(f, thresholds, want_cross=True)
    assert_same(native, loss, f, y, thresholds, weight, "majorized", 1e-5)


@pytest.mark.parametrize(
    ("loss", "link"), [("all_threshold", "logit"), ("cumulative_link", "logit"), ("all_threshold", "probit")]
)
def test_thread_count_changes_nothing(loss, link):
    f, y, thresholds, weight = make_rows(5, 150_000)  # enough for threads to be started
    one, two, many = (RowStatistics(get_loss(loss, link), y, 5, weight, n_threads=n)(f, thresholds) for n in (1, 2, 7))
    for other in (two, many):
        np.testing.assert_array_equal(one.gradient, other.gradient)
        np.testing.assert_array_equal(one.threshold_gradient, other.threshold_gradient)
        np.testing.assert_array_equal(one.threshold_hessian, other.threshold_hessian)
        assert one.loss == other.loss


@pytest.mark.slow
def test_late_helpers_touch_nothing():
    """Helpers outlive a call that did not need them; the rows may be gone by then."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 600_000)
    rows = RowStatistics(get_loss("all_threshold"), y, 4, n_threads=4)  # on fewer cores, some must come late
    score = rng.normal(size=len(y)).astype(np.float32)
    first = rows(score, [-1.0, 0.0, 1.0])
    loss, gradient = first.loss, first.gradient.copy()
    for _ in range(100):
        again = rows(score.copy(), [-1.0, 0.0, 1.0])
        assert again.loss == loss
    np.testing.assert_array_equal(again.gradient, gradient)


@pytest.mark.parametrize("hessian", ["majorized", "exact"])
@pytest.mark.parametrize("loss", LOSSES)
def test_float32_lanes_at_extremes(instruction_set, loss, hessian):
    distance = np.array([0.0, 1e-8, 1e-4, 0.0999, 0.1001, 1.0, 20.0, 60.0, 79.0])
    f = np.concatenate([distance, -distance])
    for label in (0, 1):
        y = np.full(f.shape, label)
        native = RowStatistics(get_loss(loss), np.append(y, 1 - label), 2)
        loss_object = get_loss(loss)
        scores = np.append(f, 0.0)
        assert_same(
            native(scores, [0.0], hessian, want_cross=True),
            loss_object,
            scores,
            np.append(y, 1 - label),
            np.array([0.0]),
            None,
            hessian,
            1e-5,
        )


def test_beyond_the_limit_is_clipped_and_counted(instruction_set):
    f = np.array([0.0, 85.0, -85.0, 1e6, -1e30])
    y = np.array([0, 0, 1, 1, 0])
    native = RowStatistics(get_loss("all_threshold"), y, 2)(f, [0.0])
    assert native.n_clipped == 4
    for values in (native.gradient, native.hessian, native.threshold_gradient, [native.loss]):
        assert np.isfinite(values).all()
    assert native.gradient[1] == pytest.approx(1.0)


@each_pair({"instruction_set": SETS, "loss": LOSSES, "n_classes": [2, 3, 12], "dtype": [np.float32, np.float64]})
def test_loss_is_right_at_any_finite_score(instruction_set, loss, n_classes, dtype):
    """The loss of the wrong side is a line without an end, whatever the lanes' reach."""
    loss, thresholds = get_loss(loss), np.linspace(-2.0, 3.0, n_classes - 1)
    rng = np.random.default_rng(n_classes)
    for size in (70.0, 82.0, 100.0, 1e4, 1e6, 1e30):
        f = (size * rng.choice([-1.0, 1.0], 1100) * rng.uniform(0.9, 1.1, 1100)).astype(dtype)
        f[::3] = rng.normal(size=len(f[::3]))
        y, weight = rng.integers(0, n_classes, len(f)), rng.uniform(0.1, 3.0, len(f))
        for w in (None, weight):
            native = RowStatistics(loss, y, n_classes, w)(f, thresholds)
            reference = loss.round_statistics(f.astype(np.float64), y, thresholds, w)
            assert native.loss == pytest.approx(reference.loss, rel=1e-6)
            np.testing.assert_allclose(native.gradient, reference.gradient, rtol=1e-5, atol=1e-5)
        assert RowStatistics(loss, y, n_classes)(f, thresholds, want_loss=False).loss == 0.0


def test_loss_beyond_the_range_of_float32():
    native = RowStatistics(get_loss("all_threshold"), [0, 1, 2], 3)(np.array([1e39, 0.0, -1e300]), [-1.0, 1.0])
    assert native.loss == pytest.approx(2e300)


@each_pair(
    {"instruction_set": SETS, "loss": LOSSES, "offset": [0.7, 1000.3, 123456.789, 4e6 + 0.1, 3e7 + 0.1, -1e9 + 0.1]}
)
def test_a_common_shift_changes_nothing(instruction_set, loss, offset):
    """Float32 scores are compared with thresholds in float64, whatever lies between both and 0."""
    rng = np.random.default_rng(0)
    y, thresholds = rng.integers(0, 4, 700), offset + np.array([-1.0, 0.5, 1.0])
    loss = get_loss(loss)
    for dtype in (np.float32, np.float64):
        f = (offset + 2.0 * rng.normal(size=700)).astype(dtype)
        rows = RowStatistics(loss, y, 4)
        native, reference = rows(f, thresholds), loss.round_statistics(f.astype(float), y, thresholds)
        assert native.loss == pytest.approx(reference.loss, rel=2e-6)
        np.testing.assert_allclose(native.gradient, reference.gradient, atol=2e-6)
        leaf = rows.leaf_sums(np.zeros(700, np.int32), 1)
        np.testing.assert_allclose(leaf.cross[0], reference.cross.sum(axis=0), rtol=1e-5)


@pytest.mark.parametrize("thresholds", [[-19.0, 19.0], [-70.0, 70.0], [-85.0, 85.0], [-300.0, 0.0]])
@pytest.mark.parametrize("loss", ["all_threshold", "immediate_threshold"])
def test_thresholds_far_apart(thresholds, loss):
    f = np.array([-200.0, -60.0, 0.0, 60.0, 200.0] * 3)
    y = np.repeat([0, 1, 2], 5)
    loss = get_loss(loss)
    native = RowStatistics(loss, y, 3)(f, thresholds)
    reference = loss.round_statistics(f, y, np.array(thresholds))
    assert native.gradient.dtype == np.float32
    assert native.loss == pytest.approx(reference.loss, rel=1e-6)
    np.testing.assert_allclose(native.gradient, reference.gradient, atol=1e-6)
    inside = np.abs(f) <= 60
    native = RowStatistics(loss, y[inside], 3)(f[inside], thresholds)
    reference = loss.round_statistics(f[inside], y[inside], np.array(thresholds))
    np.testing.assert_allclose(native.hessian, reference.hessian, rtol=1e-5)
    assert native.loss == pytest.approx(reference.loss, rel=1e-6)


def test_loss_of_a_near_perfect_fit_keeps_its_digits(instruction_set):
    f, y = np.repeat([-12.0, 0.0, 12.0], 40) * np.linspace(1.0, 2.0, 120), np.repeat([0, 1, 2], 40)
    for name in LOSSES:
        loss = get_loss(name)
        native = RowStatistics(loss, y, 3)(f, [-6.0, 6.0])
        reference = loss.value(f, y, np.array([-6.0, 6.0])).sum()
        assert reference / len(y) < 0.01
        assert native.loss == pytest.approx(reference, rel=1e-6)


def test_caller_keeps_its_arrays():
    f, y, thresholds, weight = make_rows(4)
    copies = [a.copy() for a in (f, y, thresholds, weight)]
    RowStatistics(get_loss("all_threshold"), y, 4, weight)(f, thresholds)
    for before, after in zip(copies, (f, y, thresholds, weight), strict=True):
        np.testing.assert_array_equal(before, after)


def test_weights_scale_everything():
    f, y, thresholds, _ = make_rows(4)
    loss = get_loss("cumulative_link")
    one = RowStatistics(loss, y, 4, np.ones(len(y)))(f, thresholds, "exact", want_cross=True)
    one_gradient, one_hessian = one.gradient.copy(), one.hessian.copy()
    three = RowStatistics(loss, y, 4, np.full(len(y), 3.0))(f, thresholds, "exact", want_cross=True)
    for a, b in [
        (one_gradient, three.gradient),
        (one_hessian, three.hessian),
        (one.threshold_gradient, three.threshold_gradient),
        (one.threshold_hessian, three.threshold_hessian),
        (one.threshold_hessian_off, three.threshold_hessian_off),
        (one.cross, three.cross),
        (one.loss, three.loss),
    ]:
        np.testing.assert_allclose(3 * np.asarray(a), b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("f", "thresholds", "message"),
    [
        ([0.0, 1.0], [0.0, 1.0], "raw_prediction"),
        ([0.0, np.nan, 1.0], [0.0, 1.0], "raw_prediction"),
        ([0.0, np.inf, 1.0], [0.0, 1.0], "raw_prediction"),
        ([-np.inf, 0.0, 1.0], [0.0, 1.0], "raw_prediction"),
        ([0.0, 1.0, 2.0], [0.0], "thresholds"),
        ([0.0, 1.0, 2.0], [1.0, 0.0], "increasing order"),
        ([0.0, 1.0, 2.0], [0.0, np.inf], "thresholds"),
    ],
)
def test_bad_call_is_refused(f, thresholds, message):
    rows = RowStatistics(get_loss("all_threshold"), [0, 1, 2], 3)
    with pytest.raises(ValueError, match=message):
        rows(f, thresholds)


@pytest.mark.parametrize(
    ("y", "weight", "message"),
    [
        ([0, 1, 3], None, r"outside the declared classes 0\.\.2; got 3"),
        ([0, -1, 2], None, "got -1"),
        ([0, 0.5, 2], None, "integer class codes; got 0.5"),
        ([0, np.nan, 2], None, "must hold integer class codes; got nan"),
        ([0, np.inf, 2], None, "must hold integer class codes; got inf"),
        (["a", "b", "c"], None, "must hold class codes"),
        ([], None, "non-empty"),
        ([0, 1, 2], [1.0, -1.0, 1.0], "sample_weight"),
        ([0, 1, 2], [0.0, 0.0, 0.0], "zero for every row"),
        ([0, 1, 2], [1.0, 1.0], "sample_weight"),
        ([0, 1, 2], [1.0, np.nan, 1.0], "sample_weight"),
    ],
)
def test_bad_rows_are_refused(y, weight, message):
    with pytest.raises(ValueError, match=message):
        RowStatistics(get_loss("all_threshold"), y, 3, weight)


def test_hessian_without_majoriser_is_refused():
    rows = RowStatistics(get_loss("all_threshold", "cloglog"), [0, 1, 2], 3)
    with pytest.raises(ValueError, match="cloglog"):
        rows(np.zeros(3), [0.0, 1.0], "majorized")


@pytest.mark.parametrize("loss", ["all_threshold", "cumulative_link"])
def test_sums_of_parts_add_up_to_those_of_all_rows(loss):
    """What a cluster, a device or blocks of a file rely on: only sums cross the border."""
    rng = np.random.default_rng(0)
    y, score, weight = rng.integers(0, 4, 900).astype(np.int32), rng.normal(size=900), rng.uniform(0.5, 2.0, 900)
    thresholds, leaves = [-1.0, 0.2, 1.1], rng.integers(0, 5, 900).astype(np.int32)
    parts = [slice(0, 250), slice(250, 900)]

    def of(rows):
        kernel = RowStatistics(get_loss(loss), y[rows], 4, weight[rows], precision="float64")
        statistics = kernel(score[rows], thresholds, "exact")
        return statistics.sums, kernel.leaf_sums(leaves[rows], 5)

    whole = of(slice(None))
    for one, other, expected in zip(*(of(rows) for rows in parts), whole, strict=True):
        for field in dataclasses.fields(expected):
            np.testing.assert_allclose(
                getattr(one + other, field.name), getattr(expected, field.name), rtol=1e-12, atol=1e-12
            )
