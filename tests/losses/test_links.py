"""Every link: G and its derivatives, the losses made of them, and the parabola above the loss."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ordinal_objectives.links import LINKS, Logit, get_link

ALL = list(LINKS.values())
BOUNDED = [link for link in ALL if link.curvature_bound is not None]
X = np.linspace(-8, 8, 161)
# Where G stays away from 0 and 1, so that naive formulas are accurate enough to compare with.
MIDDLE = np.linspace(-2.5, 1.0, 36)
GAPS = np.array([0.01, 0.3, 1.0, 2.5])

each_link = pytest.mark.parametrize("link", ALL, ids=list(LINKS))
each_bounded = pytest.mark.parametrize("link", BOUNDED, ids=[link.name for link in BOUNDED])


def derivative(function, x, h=1e-3):
    """Fourth-order central difference."""
    return (function(x - 2 * h) - 8 * function(x - h) + 8 * function(x + h) - function(x + 2 * h)) / (12 * h)


def test_lookup():
    assert get_link("logit") == Logit()
    link = Logit()
    assert get_link(link) is link
    with pytest.raises(ValueError, match=r"link must be one of 'logit', 'probit'.*got 'logistic'"):
        get_link("logistic")
    with pytest.raises(TypeError, match="link must be a string or a Link; got 3"):
        get_link(3)


@each_link
def test_links_are_values(link):
    copy = pickle.loads(pickle.dumps(link))
    assert copy == link
    assert hash(copy) == hash(link)
    assert [other for other in ALL if other == link] == [link]
    assert repr(link) == type(link).__name__ + "()"


@each_link
def test_round_trip(link):
    p = np.concatenate([10.0 ** np.arange(-12, -1), np.linspace(0.05, 0.95, 19), 1 - 10.0 ** np.arange(-8, -1)])
    assert_allclose(link.inverse(link.link(p)), p, rtol=1e-12)
    assert_allclose(link.complement(link.link(p)), 1 - p, rtol=1e-7)
    assert_allclose(link.link(link.inverse(MIDDLE)), MIDDLE, rtol=1e-12, atol=1e-14)
    assert_array_equal(link.link(np.array([0.0, 1.0])), [-np.inf, np.inf])
    assert_array_equal(link.inverse(np.array([-np.inf, np.inf])), [0, 1])
    assert_array_equal(link.complement(np.array([-np.inf, np.inf])), [1, 0])


@each_link
@pytest.mark.parametrize("p", [-0.1, 1.1, np.nan])
def test_link_refuses_what_is_no_probability(link, p):
    with pytest.raises(ValueError, match=rf"p must lie in \[0, 1\]; got {p}"):
        link.link(np.array([0.5, p]))


@each_link
def test_density_is_the_derivative(link):
    assert_allclose(derivative(link.inverse, X), link.density(X), rtol=1e-6, atol=1e-12)
    assert_allclose(derivative(link.density, X), link.density_derivative(X), rtol=1e-6, atol=1e-12)


@each_link
def test_logs_and_complement_agree_with_the_inverse_link(link):
    assert_allclose(link.inverse(X) + link.complement(X), 1, rtol=1e-15)
    assert_allclose(np.exp(link.log_inverse(X)), link.inverse(X), rtol=1e-12, atol=1e-300)
    assert_allclose(np.exp(link.log_complement(X)), link.complement(X), rtol=1e-12, atol=1e-300)


@each_link
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_pair_loss_derivatives(link, side):
    function = getattr(link, side)
    value, d1, d2 = function(X)
    log = link.log_inverse if side == "lower" else link.log_complement
    assert_array_equal(value, -log(X))
    # The value's own rounding limits the difference quotient.
    noise = 1e-11 * (1 + np.abs(value))
    assert np.all(np.abs(derivative(lambda x: function(x)[0], X) - d1) <= 1e-5 * np.abs(d1) + noise)
    assert np.all(np.abs(derivative(lambda x: function(x)[1], X) - d2) <= 1e-5 * np.abs(d2) + noise)


@each_link
def test_mirror(link):
    mirror = get_link(link.mirror)
    assert mirror.mirror == link.name
    assert link.symmetric == (mirror == link)
    assert_allclose(mirror.inverse(X), link.complement(-X), rtol=1e-15)
    assert_allclose(mirror.density(X), link.density(-X), rtol=1e-14)
    assert_allclose(mirror.density_derivative(X), -link.density_derivative(-X), rtol=1e-14)
    below, above = link.interval(X, X + 0.7), mirror.interval(-X - 0.7, -X)
    assert_allclose(below.value, above.value, rtol=1e-12)
    assert_allclose(below.d_lower, -above.d_upper, rtol=1e-12)
    assert_allclose(below.d_lower2, above.d_upper2, rtol=1e-12)


@each_link
@pytest.mark.parametrize("gap", GAPS)
def test_interval_against_the_naive_formula(link, gap):
    a, b = MIDDLE, MIDDLE + gap
    terms = link.interval(a, b)
    p = link.inverse(b) - link.inverse(a)
    d_a, d_b = link.density(a) / p, -link.density(b) / p
    rtol = 1e-12 / gap**2
    assert_allclose(terms.value, -np.log(p), rtol=rtol)
    assert_allclose(terms.d_lower, d_a, rtol=rtol)
    assert_allclose(terms.d_upper, d_b, rtol=rtol)
    assert_allclose(terms.d_shift, d_a + d_b, rtol=rtol, atol=rtol)
    assert_allclose(terms.d_lower2, link.density_derivative(a) / p + d_a**2, rtol=rtol)
    assert_allclose(terms.d_upper2, -link.density_derivative(b) / p + d_b**2, rtol=rtol)
    assert_allclose(terms.d_cross, d_a * d_b, rtol=rtol)
    assert_allclose(terms.d_lower_shift, terms.d_lower2 + terms.d_cross, rtol=rtol, atol=rtol / gap)
    assert_allclose(terms.d_upper_shift, terms.d_upper2 + terms.d_cross, rtol=rtol, atol=rtol / gap)


@each_link
def test_interval_with_open_ends(link):
    inf = np.full(X.shape, np.inf)
    below, above = link.interval(-inf, X), link.interval(X, inf)
    value, d1, d2 = link.lower(X)
    for got, expected in ((below.value, value), (below.d_upper, d1), (below.d_shift, d1), (below.d_upper2, d2)):
        assert_array_equal(got, expected)
    value, d1, d2 = link.upper(X)
    for got, expected in ((above.value, value), (above.d_lower, d1), (above.d_shift, d1), (above.d_lower2, d2)):
        assert_array_equal(got, expected)
    assert_array_equal(below.d_lower, 0)
    assert_array_equal(above.d_cross, 0)
    whole = link.interval(-inf, inf)
    assert not any(array.any() for array in vars(whole).values())
    # A far end is as good as an open one; tails that are not like exp are long.
    tolerance = 1e-2 if link.curvature_floor > 0.0 else 1e-12
    assert_allclose(link.interval(X, X + 600).value, above.value, rtol=tolerance, atol=tolerance)


@each_link
@pytest.mark.parametrize(("lower", "upper"), [(1.0, 1.0), (1.0, 0.0), (np.nan, 1.0), (np.inf, np.inf)])
def test_interval_refuses_an_empty_one(link, lower, upper):
    with pytest.raises(ValueError, match=f"lower must be below upper; got lower={lower}, upper={upper}"):
        link.interval(np.array([0.0, lower]), np.array([1.0, upper]))


@each_link
def test_curvature_stays_within_its_bounds(link):
    x = np.linspace(-30, 30, 60001)
    for side in (link.lower, link.upper):
        curvature = side(x)[2]
        assert curvature.min() >= -link.curvature_floor - 1e-15
        if link.curvature_bound is not None:
            assert curvature.max() <= link.curvature_bound + 1e-15


def test_curvature_bounds_are_sharp():
    x = np.linspace(-2, 2, 400001)
    logit, cauchit, probit = get_link("logit"), get_link("cauchit"), get_link("probit")
    assert_allclose(logit.lower(x)[2].max(), logit.curvature_bound, rtol=1e-9)
    assert_allclose(cauchit.lower(x)[2].max(), cauchit.curvature_bound, rtol=1e-9)
    assert_allclose(cauchit.lower(x)[2].min(), -cauchit.curvature_floor, rtol=1e-9)
    assert_allclose(probit.lower(np.array([-700.0]))[2], probit.curvature_bound, rtol=1e-5)


@pytest.mark.parametrize("name", ["cloglog", "loglog"])
def test_links_without_majoriser_refuse(name):
    with pytest.raises(ValueError, match=f"link '{name}' has no quadratic majoriser.*'logit', 'probit', 'cauchit'"):
        get_link(name).sharp_curvature(X)
    side = get_link(name).upper if name == "cloglog" else get_link(name).lower
    assert side(np.array([-20.0, 20.0]))[2].max() > 1e8


@pytest.mark.slow
@each_bounded
@given(d=st.floats(-50, 50), z=st.floats(-50, 50))
def test_the_parabola_is_nowhere_below_the_loss(link, d, z):
    points = np.array([d, z])
    for side in (link.lower, link.upper):
        value, slope, _ = side(points)
        c = link.sharp_curvature(points)[0]
        parabola = value[0] + slope[0] * (z - d) + 0.5 * c * (z - d) ** 2
        assert value[1] <= parabola + 1e-12 * (1 + abs(parabola) + abs(slope[0] * (z - d)))


def test_the_logit_parabola_is_sharp():
    logit = get_link("logit")
    d = np.concatenate([X, [1e-320, 1e-9, 0.00999, 0.01, 0.0101]])
    c = logit.sharp_curvature(d)
    assert_array_equal(c, logit.sharp_curvature(-d))
    # It touches the loss again at -d, and no smaller curvature would stay above there.
    value, slope, _ = logit.lower(d)
    assert_allclose(value - 2 * slope * d + 2 * c * d**2, logit.lower(-d)[0], rtol=1e-12, atol=1e-13)
    e = logit.density(d)
    assert np.all(e <= c * (1 + 1e-14))
    assert np.all(c <= 0.25)
    far = np.abs(d) > 1e-3
    assert_allclose(c[far], np.tanh(0.5 * d[far]) / (2 * d[far]), rtol=1e-14)
