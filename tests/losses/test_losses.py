"""Every loss with every link against finite differences, identities and refusals."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss

from ordinal_objectives.links import LINKS, get_link
from ordinal_objectives.losses import LOSSES, AllThreshold, CostWeighted, CumulativeLink, ImmediateThreshold, get_loss
from ordinal_objectives.threshold_solver import initial_thresholds
from own_losses import Rising

TABLE = [(loss, link) for loss in LOSSES for link in LINKS]
each = pytest.mark.parametrize(("loss", "link"), TABLE, ids=["-".join(pair) for pair in TABLE])
each_link = pytest.mark.parametrize("link", LINKS)

THRESHOLDS = np.array([-2.0, -0.5, 1.0])
# All classes at scores with |f - theta| up to 8.
Y = np.repeat(np.arange(4), 23)
F = np.tile(np.linspace(-7.0, 6.0, 23), 4)


def problem(seed, n=40, n_classes=5):
    rng = np.random.default_rng(seed)
    thresholds = np.sort(rng.normal(size=n_classes - 1)) + 0.2 * np.arange(n_classes - 1)
    return rng.normal(scale=2, size=n), rng.integers(n_classes, size=n), thresholds, rng.uniform(0, 3, size=n)


def derivative(function, h=1e-3):
    """Fourth-order central difference at 0."""
    return (function(-2 * h) - 8 * function(-h) + 8 * function(h) - function(2 * h)) / (12 * h)


def assert_derivative(function, expected, base):
    # The rounding of the function itself limits the difference quotient.
    noise = 1e-11 * (1 + np.abs(base))
    assert np.all(np.abs(derivative(function) - expected) <= 1e-5 * np.abs(expected) + noise)


def unit(k, n=3):
    return np.eye(n)[k]


@each
def test_derivatives_in_the_score(loss, link):
    loss = get_loss(loss, link)
    rows = loss.row_derivatives(F, Y, THRESHOLDS)
    assert_derivative(lambda t: loss.value(F + t, Y, THRESHOLDS), rows.gradient, rows.value)
    assert_derivative(lambda t: loss.gradient(F + t, Y, THRESHOLDS), rows.hessian, rows.gradient)
    assert_array_equal(loss.hessian(F, Y, THRESHOLDS, kind="exact"), rows.hessian)


@each
@pytest.mark.parametrize("k", range(3))
def test_derivatives_in_the_thresholds(loss, link, k):
    loss = get_loss(loss, link)
    rows = loss.row_derivatives(F, Y, THRESHOLDS)

    def moved(t):
        return loss.row_derivatives(F, Y, THRESHOLDS + t * unit(k))

    slope, curvature = rows.threshold_gradient, np.zeros((len(F), 3))
    curvature[:, k] = rows.curvature[:, k]
    if k > 0:
        curvature[:, k - 1] = rows.curvature_next[:, k - 1]
    if k < 2:
        curvature[:, k + 1] = rows.curvature_next[:, k]
    assert_derivative(lambda t: moved(t).value, slope[:, k], rows.value)
    assert_derivative(lambda t: moved(t).threshold_gradient, curvature, slope)
    assert_derivative(lambda t: moved(t).gradient, rows.cross[:, k], rows.gradient)


@each
def test_sums_of_a_round(loss, link):
    loss = get_loss(loss, link)
    f, y, thresholds, weight = problem(0)
    statistics = loss.round_statistics(f, y, thresholds, weight, hessian="exact")

    def total(t, k):
        return weight @ loss.value(f, y, thresholds + t * unit(k, 4))

    u = loss.threshold_gradient(f, y, thresholds, weight)
    diagonal, off_diagonal = loss.threshold_hessian(f, y, thresholds, weight, kind="exact")
    for k in range(4):
        assert_derivative(lambda t, k=k: total(t, k), u[k], statistics.loss)

        def slopes(t, k=k):
            return loss.threshold_gradient(f, y, thresholds + t * unit(k, 4), weight)

        assert_derivative(lambda t, k=k: slopes(t)[k], diagonal[k], u[k])
        if k < 3:
            assert_derivative(lambda t, k=k: slopes(t)[k + 1], off_diagonal[k], u[k + 1])
    assert_allclose(statistics.loss, weight @ loss.value(f, y, thresholds))
    assert_array_equal(statistics.gradient, weight * loss.gradient(f, y, thresholds))
    assert_array_equal(statistics.cross, weight[:, None] * loss.cross_terms(f, y, thresholds))
    assert_array_equal(statistics.threshold_gradient, u)
    assert_array_equal(statistics.threshold_hessian_off, off_diagonal)
    if LINKS[link].curvature_floor > 0.0:
        assert statistics.n_floored > 0
    else:
        assert statistics.n_floored == 0
        assert_array_equal(statistics.hessian, weight * loss.hessian(f, y, thresholds))
        assert_array_equal(statistics.threshold_hessian, diagonal)
    assert statistics.n_clipped == 0


@pytest.mark.parametrize(("loss", "f", "n_floored"), [(CumulativeLink(), -1e3, 0), (Rising("cauchit"), 4.0, 3)])
def test_what_is_raised_to_the_floor_is_counted(loss, f, n_floored):
    """A curvature that is 0 because it underflows lies at the logit's floor; far from both thresholds all three do."""
    assert loss.round_statistics([f], [0], [-1.0, 1.0], hessian="exact").n_floored == n_floored


@each
def test_a_weight_of_two_is_a_row_twice(loss, link):
    loss = get_loss(loss, link)
    f, y, thresholds, _ = problem(1)
    weight = np.where(np.arange(len(f)) % 3 == 0, 2, 1)
    twice = np.repeat(np.arange(len(f)), weight)
    weighted = loss.round_statistics(f, y, thresholds, weight, hessian="exact")
    repeated = loss.round_statistics(f[twice], y[twice], thresholds, hessian="exact")
    for name in ("loss", "threshold_gradient", "threshold_hessian", "threshold_hessian_off"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-12, atol=1e-12)
    for name in ("gradient", "hessian", "cross"):
        assert_allclose(getattr(weighted, name).sum(axis=0), getattr(repeated, name).sum(axis=0), atol=1e-12)


@each
def test_reversing_the_classes_mirrors_everything(loss, link):
    f, y, thresholds, weight = problem(2)
    here = get_loss(loss, link).round_statistics(f, y, thresholds, weight, hessian="exact")
    mirrored = get_loss(loss, get_link(link).mirror)
    there = mirrored.round_statistics(-f, 4 - y, -thresholds[::-1], weight, hessian="exact")
    assert_allclose(there.loss, here.loss)
    assert_allclose(there.gradient, -here.gradient, rtol=1e-10, atol=1e-14)
    assert_allclose(there.hessian, here.hessian, rtol=1e-10, atol=1e-14)
    assert_allclose(there.threshold_gradient, -here.threshold_gradient[::-1])
    assert_allclose(there.threshold_hessian, here.threshold_hessian[::-1])
    assert_allclose(there.threshold_hessian_off, here.threshold_hessian_off[::-1])
    assert_allclose(there.cross, here.cross[:, ::-1], rtol=1e-10, atol=1e-14)


@each
def test_two_classes_are_a_binary_loss(loss, link):
    loss, f = get_loss(loss, link), np.linspace(-2, 2, 21)
    y = np.arange(21) % 2
    p = get_link(link).complement(0.3 - f)
    assert_allclose(loss.value(f, y, [0.3]).mean(), log_loss(y, p), rtol=1e-12)
    assert_allclose(loss.predict_proba(f, [0.3])[:, 1], p, rtol=1e-12)
    assert loss.row_derivatives(f, y, [0.3]).curvature_next.shape == (21, 0)


def test_all_threshold_logit_is_the_formula_in_the_paper():
    f, y, thresholds, _ = problem(3)
    d = f[:, None] - thresholds
    s = np.where(y[:, None] > np.arange(4), 1, -1)
    sigma = 1 / (1 + np.exp(-d))
    rows = AllThreshold().row_derivatives(f, y, thresholds)
    assert_allclose(rows.value, np.log1p(np.exp(-s * d)).sum(axis=1))
    assert_allclose(rows.gradient, (sigma - (s > 0)).sum(axis=1), atol=1e-14)
    assert_allclose(rows.curvature, sigma * (1 - sigma))
    majorized = AllThreshold().round_statistics(f, y, thresholds)
    assert_allclose(majorized.hessian, ((2 * sigma - 1) / (2 * d)).sum(axis=1))
    assert_allclose(majorized.threshold_hessian, ((2 * sigma - 1) / (2 * d)).sum(axis=0))
    assert_allclose(majorized.cross, -sigma * (1 - sigma))


def test_cumulative_logit_is_immediate_threshold_and_a_gap():
    f, y, thresholds, _ = problem(4)
    cumulative = CumulativeLink().row_derivatives(f, y, thresholds)
    immediate = ImmediateThreshold().row_derivatives(f, y, thresholds)
    gap = np.diff(np.concatenate([[-np.inf], thresholds, [np.inf]]))[y]
    assert_allclose(cumulative.value, immediate.value - np.log(-np.expm1(-gap)))
    assert_allclose(cumulative.gradient, immediate.gradient, atol=1e-14)
    assert_allclose(cumulative.hessian, immediate.hessian)
    assert_allclose(cumulative.cross, immediate.cross, atol=1e-300)
    difference = CumulativeLink().hessian(f, y, thresholds, "majorized") - ImmediateThreshold().hessian(
        f, y, thresholds, "majorized"
    )
    assert_array_equal(difference, 0)
    # The gap term keeps its exact curvature, so it leaves V as majorised minus exact unchanged.
    of_gap = [
        cumulative_v - immediate_v
        for kind in ("exact", "majorized")
        for cumulative_v, immediate_v in [
            (
                CumulativeLink().threshold_hessian(f, y, thresholds, kind=kind)[0],
                ImmediateThreshold().threshold_hessian(f, y, thresholds, kind=kind)[0],
            )
        ]
    ]
    assert_allclose(of_gap[0], of_gap[1])


@each
def test_probabilities(loss, link):
    loss = get_loss(loss, link)
    f = np.concatenate([np.linspace(-8, 8, 33), [-1e4, -700.0, -40.0, 40.0, 700.0, 1e4]])
    proba = loss.predict_proba(f, THRESHOLDS)
    assert proba.shape == (39, 4)
    assert proba.min() >= 0
    assert_allclose(proba.sum(axis=1), 1, rtol=1e-14)
    cumulative = loss.cumulative_proba(f, THRESHOLDS)
    assert_allclose(cumulative, np.cumsum(proba, axis=1)[:, :-1], rtol=1e-12, atol=1e-15)
    assert np.all(np.diff(cumulative, axis=1) >= 0)
    assert cumulative.max() <= 1
    if loss.name == "immediate_threshold":
        inner = slice(8, 25)
        above, below = loss.link.complement(THRESHOLDS - f[inner, None]), loss.link.inverse(THRESHOLDS - f[inner, None])
        assert_allclose(proba[inner, 1:] / proba[inner, :-1], above / below, rtol=1e-10)
    else:
        row = np.arange(33)
        y = row % 4
        likelihood = np.exp(-CumulativeLink(link).value(f[:33], y, THRESHOLDS))
        assert_allclose(proba[row, y], likelihood, rtol=1e-10, atol=1e-300)


def test_threshold_order():
    for loss in (AllThreshold(), CumulativeLink()):
        for method in (loss.predict_proba, loss.cumulative_proba):
            with pytest.raises(ValueError, match=r"thresholds must be .*in increasing order; got \[1.0, 0.0\]"):
                method([0.0], [1.0, 0.0])
        assert_array_equal(loss.predict_proba([0.3], [0.0, 0.0])[0, 1], 0)
    assert_allclose(ImmediateThreshold().predict_proba([0.3, -1], [1.0, 0.0]).sum(axis=1), 1)
    # A class without rows may vanish between equal thresholds; one with rows may not.
    assert np.isfinite(CumulativeLink().value([0.0, 0.0], [0, 2], [0.5, 0.5])).all()
    with pytest.raises(ValueError, match=r"thresholds must increase strictly .* got .* with rows of class 1"):
        CumulativeLink().value([0.0, 0.0], [0, 1], [0.5, 0.5])
    # All-threshold is a sum: it exists in any order, as the repair of a step needs it to.
    assert_allclose(
        AllThreshold().value([0.2], [1], [1.0, 0.0]), np.log1p(np.exp(0.8)) + np.log1p(np.exp(0.2)), rtol=1e-12
    )


@each_link
def test_a_narrow_gap_far_from_the_score_is_not_empty(link):
    rows = CumulativeLink(link).row_derivatives([600.0, -600.0], [1, 1], [0.0, 1e-14])
    assert all(np.isfinite(array).all() for array in vars(rows).values())


@each
def test_which_hessians_exist(loss, link):
    expected = link == "logit" if loss == "cumulative_link" else LINKS[link].curvature_bound is not None
    loss = get_loss(loss, link)
    assert loss.supports("exact")
    assert loss.supports("majorized") == expected
    assert not loss.supports("gauss_newton")
    f, y, thresholds, _ = problem(5)
    calls = [
        lambda: loss.check_hessian("majorized"),
        lambda: loss.hessian(f, y, thresholds, kind="majorized"),
        lambda: loss.threshold_hessian(f, y, thresholds, kind="majorized"),
        lambda: loss.round_statistics(f, y, thresholds, hessian="majorized"),
    ]
    for call in calls:
        if expected:
            call()
        else:
            message = f"'majorized' does not exist for loss '{loss.name}' with link '{link}'; allowed: hessian='exact'"
            with pytest.raises(ValueError, match=message):
                call()
    with pytest.raises(ValueError, match="hessian must be one of 'exact', 'majorized'; got 'newton'"):
        loss.check_hessian("newton")


@each
def test_losses_are_values(loss, link):
    made = get_loss(loss, link)
    copy = pickle.loads(pickle.dumps(made))
    assert copy == made
    assert hash(copy) == hash(made)
    assert repr(made) == f"{LOSSES[loss].__name__}(link={link!r})"
    assert made != get_loss(loss, "probit" if link == "logit" else "logit")
    assert made.ordered == (loss != "immediate_threshold")
    assert sum(made == get_loss(*pair) for pair in TABLE) == 1


def test_lookup():
    loss = CumulativeLink("probit")
    assert get_loss(loss, "logit") is loss
    with pytest.raises(ValueError, match=r"loss must be one of 'all_threshold', .*; got 'ordinal'"):
        get_loss("ordinal")
    with pytest.raises(TypeError, match="loss must be a string or an OrdinalLoss; got <class"):
        get_loss(AllThreshold)
    with pytest.raises(ValueError, match="link must be one of"):
        get_loss("all_threshold", "log")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"raw_prediction": [0.0, np.nan]}, "raw_prediction"),
        ({"raw_prediction": [[0.0, 1.0]]}, "raw_prediction"),
        ({"raw_prediction": [0.0]}, "raw_prediction"),
        ({"y": [0, 3]}, "y holds"),
        ({"y": [-1, 0]}, "y holds"),
        ({"y": [0.5, 1.0]}, "y must"),
        ({"thresholds": []}, "thresholds"),
        ({"thresholds": [0.0, np.inf]}, "thresholds"),
        ({"sample_weight": [1.0, -1.0]}, "sample_weight"),
        ({"sample_weight": [1.0]}, "sample_weight"),
    ],
)
@pytest.mark.parametrize("loss", LOSSES)
def test_bad_input_is_named(loss, change, message):
    arguments = {"raw_prediction": [0.0, 1.0], "y": [0, 2], "thresholds": [-1.0, 1.0]} | change
    with pytest.raises(ValueError, match=message):
        get_loss(loss).round_statistics(**arguments)


@each
def test_arguments_are_left_alone(loss, link):
    arguments = problem(6)
    before = [array.copy() for array in arguments]
    for array in arguments:
        array.flags.writeable = False
    loss = get_loss(loss, link)
    loss.round_statistics(*arguments, hessian="exact")
    loss.predict_proba(arguments[0], arguments[2])
    for array, copy in zip(arguments, before, strict=True):
        assert_array_equal(array, copy)


@pytest.mark.parametrize("loss", [*LOSSES, CostWeighted()], ids=str)
@pytest.mark.parametrize("weights", [[2.0, 3.0, 1.0], [2.0, 0.0, 1.0], [0.0, 3.0, 1.0]], ids=str)
def test_a_start_has_an_entry_for_each_threshold(loss, weights):
    start = initial_thresholds(weights, loss=loss)
    assert [np.shape(part) for part in start] == [(2,)] * 3
    assert start.active.dtype == start.tied.dtype == np.bool_
