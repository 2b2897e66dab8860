"""`check_link` passes what is right, and names the first quantity that is wrong, with the numbers."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives import AllThreshold, CumulativeLink
from ordinal_objectives.links import Cauchit, Cloglog, check_link
from ordinal_objectives.losses import check_loss
from own_losses import Steep


def wrong_link(**changed):
    """Return a link of which methods are changed: each maps what they return."""

    def method(name, change):
        return lambda self, *args: change(getattr(Steep, name)(self, *args))

    return type("WrongLink", (Steep,), {name: method(name, change) for name, change in changed.items()})()


def slightly(numbers):
    return 1.001 * numbers


def parts(place):
    return lambda terms: tuple(1.01 * term if k == place else term for k, term in enumerate(terms))


@pytest.mark.parametrize(
    ("link", "name"),
    [
        (wrong_link(_link=slightly), "inverse"),
        (wrong_link(density=np.negative), "density"),
        (wrong_link(density=slightly), "density"),
        (wrong_link(density_derivative=slightly), "density_derivative"),
        (wrong_link(lower=parts(0)), "the value of lower"),
        (wrong_link(lower=parts(1)), "the first derivative of lower"),
        (wrong_link(lower=parts(2)), "the second derivative of lower"),
    ],
)
def test_a_wrong_quantity_of_a_link_is_named(link, name):
    for check in (check_link, lambda link: check_loss(AllThreshold(link))):
        with pytest.raises(ValueError, match=f"^{name} of link"):
            check(link)


def test_a_loss_checks_what_it_reads_of_a_link():
    link = wrong_link(_interval=lambda terms: type(terms)(**(vars(terms) | {"d_lower": 1.01 * terms.d_lower})))
    with pytest.raises(ValueError, match="threshold_gradient of loss"):
        check_loss(CumulativeLink(link))
    with pytest.raises(ValueError, match="gradient of loss"):
        check_loss(AllThreshold(wrong_link(upper=parts(1))))


class Halved(Cloglog):
    """Without a mirror, and a derivative is wrong."""

    def lower(self, x):
        value, first, second = super().lower(x)
        return value, 0.5 * first, second


def test_a_mirror_that_is_missing_is_told():
    with pytest.raises(ValueError, match=r"is not symmetric, and mirror='loglog' is no built-in link"):
        AllThreshold(type("Same", (Cloglog,), {})())


@pytest.mark.parametrize("floor", [float("nan"), "low"])
def test_a_curvature_floor_that_is_no_number_is_refused_where_a_loss_takes_the_link(floor):
    class Floored(Cauchit):
        curvature_floor = floor

    with pytest.raises((TypeError, ValueError), match="curvature_floor of a link must be"):
        AllThreshold(Floored())
