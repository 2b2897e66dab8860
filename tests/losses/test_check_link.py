"""`check_link` passes what is right, and names the first quantity that is wrong, with the numbers."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives import AllThreshold
from ordinal_objectives.links import Cauchit, Cloglog, Logit, check_link, register_link
from ordinal_objectives.losses import check_loss
from own_losses import Steep

NUMBERS = r"got -?[\d.e-]+, where finite differences say -?[\d.e-]+"


def slightly(numbers):
    return 1.001 * numbers


def wrong_link(**changed):
    """Return a link of which methods are changed: each maps what they return."""

    def method(name, change):
        return lambda self, *args: change(getattr(Steep, name)(self, *args))

    return type("WrongLink", (Steep,), {name: method(name, change) for name, change in changed.items()})()


def parts(place):
    return lambda terms: tuple(1.01 * term if k == place else term for k, term in enumerate(terms))


def interval_part(name):
    return lambda terms: type(terms)(**(vars(terms) | {name: 1.01 * getattr(terms, name)}))


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (wrong_link(_link=slightly), "^link of link .* is wrong at p=.*, where inverse of it must give"),
        (wrong_link(density=np.negative), "^density of link .* must be positive, so that G increases; got -"),
        (wrong_link(density=slightly), rf"^density of link .*: {NUMBERS}"),
        (wrong_link(density_derivative=slightly), rf"^density_derivative of link .*: {NUMBERS}"),
        (wrong_link(log_inverse=slightly), "^log_inverse of link .* where log inverse is"),
        (wrong_link(complement=slightly), "^complement of link .* where 1 - inverse is"),
        (wrong_link(log_complement=slightly), r"^log_complement of link .* where log\(1 - inverse\) is"),
        (wrong_link(lower=parts(0)), "^the value of lower of link .* where minus the logarithm is"),
        (wrong_link(lower=parts(1)), rf"^the first derivative of lower of link .*: {NUMBERS}"),
        (wrong_link(lower=parts(2)), rf"^the second derivative of lower of link .*: {NUMBERS}"),
        (wrong_link(upper=parts(1)), rf"^the first derivative of upper of link .*: {NUMBERS}"),
        (wrong_link(sharp_curvature=lambda c: 0.5 * c), "^the parabola of sharp_curvature of link .* nowhere below"),
        *(
            (wrong_link(_interval=interval_part(name)), rf"^{name} of interval of link .* is wrong at lower=.*, upper=")
            for name in ("value", "d_lower", "d_upper", "d_shift", "d_lower_shift", "d_upper_shift")
        ),
    ],
)
def test_a_wrong_quantity_of_a_link_is_named(link, message):
    for check in (check_link, lambda link: check_loss(AllThreshold(link))):
        with pytest.raises(ValueError, match=message):
            check(link)


class LowBound(Steep):
    curvature_bound = 0.5  # it is 1


class NotConvex(Cauchit):
    """-log G is not convex, and this does not say so."""

    name = mirror = "not convex"
    curvature_floor = 0.0


class WrongHigherLink(Logit):
    def lower(self, x):
        return super().lower(x)

    def higher(self, x):
        third, fourth = super().higher(x)
        return third, 1.01 * fourth

    highest_order = 4


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (LowBound(), "^curvature_bound of link .* must be no less than the curvature of -log G, but is 0.5"),
        (NotConvex(), "^curvature_floor of link .* must be no less than minus the curvature of -log G, but is 0"),
        (WrongHigherLink(), rf"^the fourth derivative of higher of link .*: {NUMBERS}"),
    ],
    ids=repr,
)
def test_constants_of_a_link_are_checked(link, message):
    with pytest.raises(ValueError, match=message):
        check_link(link)


class Halved(Cloglog):
    """Without a mirror, and a derivative is wrong."""

    def lower(self, x):
        value, first, second = super().lower(x)
        return value, 0.5 * first, second


def test_a_wrong_derivative_is_told_before_a_mirror_that_is_missing():
    for use in (check_link, AllThreshold, register_link):
        with pytest.raises(
            ValueError, match=rf"^the first derivative of lower of link '.*Halved' is wrong .*{NUMBERS}"
        ):
            use(Halved())
    with pytest.raises(ValueError, match=r"is not symmetric, and mirror='loglog' is no built-in link"):
        AllThreshold(type("Same", (Cloglog,), {})())


@pytest.mark.parametrize("wrong", [None, "logit", Logit])
def test_check_link_takes_links_alone(wrong):
    with pytest.raises(TypeError, match="check_link takes a Link, an object of the class"):
        check_link(wrong)


@pytest.mark.parametrize("floor", [float("nan"), "low"])
def test_a_curvature_floor_that_is_no_number_is_refused_where_a_loss_takes_the_link(floor):
    class Floored(Cauchit):
        curvature_floor = floor

    with pytest.raises((TypeError, ValueError), match="curvature_floor of a link must be"):
        AllThreshold(Floored())
