"""`check_loss` passes what is right, and names the first quantity that is wrong, with the numbers."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives import AllThreshold, CumulativeLink, ImmediateThreshold
from ordinal_objectives.links import LINKS, check_link
from ordinal_objectives.losses import LOSSES, check_loss, get_loss
from own_losses import Rising, Scaled, Steep


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("loss", LOSSES)
def test_those_of_the_package_pass(loss, link):
    check_link(LINKS[link])
    for n_classes in (2, 3, 6):
        check_loss(get_loss(loss, link), n_classes)


@pytest.mark.parametrize(
    "loss",
    [
        Rising(),
        Scaled("cauchit"),
        Scaled(Steep(), 0.5),
        CumulativeLink(Steep(20.0)),
        AllThreshold(Steep(0.05)),
        ImmediateThreshold(Steep()),
    ],
    ids=repr,
)
def test_right_ones_of_one_s_own_pass(loss):
    check_loss(loss)


def rows_with(base, change, hook="_row_derivatives"):
    """Return a loss whose rows are changed: `change` maps a quantity to a function of it."""

    def changed(self, *args):
        rows = getattr(base, hook)(self, *args)
        return type(rows)(**(vars(rows) | {name: function(getattr(rows, name)) for name, function in change.items()}))

    return type("Wrong", (base,), {hook: changed})()


def slightly(numbers):
    return 1.001 * numbers


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"value": lambda x: x * np.nan}, "value"),
        ({"value": lambda x: x.astype(np.float32)}, "value"),
        ({"gradient": slightly}, "gradient"),
        ({"threshold_gradient": slightly}, "threshold_gradient"),
        ({"cross": slightly}, "cross"),
        ({"curvature": slightly}, "curvature"),
        ({"curvature_next": lambda x: x + 0.01}, "curvature_next"),
        ({"cross": lambda x: x[:, :1]}, "cross"),
        ({"curvature": lambda x: x * np.inf}, "curvature"),
    ],
)
def test_a_wrong_quantity_of_rows_is_named(change, name):
    with pytest.raises(ValueError, match=f"^{name} of loss"), np.errstate(invalid="ignore"):
        check_loss(rows_with(Rising, change))


class OfTheScore(Rising):
    """No function of theta - f."""

    def _row_derivatives(self, f, y, thresholds):
        rows = super()._row_derivatives(f, y, thresholds)
        return type(rows)(**(vars(rows) | {"value": rows.value + 0.1 * f, "gradient": rows.gradient + 0.1}))


class ManyMargins(AllThreshold):
    """Formulas of margins that are not those of the rows."""

    def _row_derivatives(self, f, y, thresholds):
        return AllThreshold._of_margins(self, thresholds - f[:, None], y)

    def _of_margins(self, x, y):
        rows = super()._of_margins(x, y)
        return type(rows)(**(vars(rows) | {"value": 1.01 * rows.value}))


@pytest.mark.parametrize(
    ("loss", "name"),
    [(OfTheScore(), "^gradient, minus the sum of threshold_gradient"), (ManyMargins(), "^value of _of_margins")],
    ids=str,
)
def test_what_a_loss_says_beside_its_rows_is_checked(loss, name):
    with pytest.raises(ValueError, match=name):
        check_loss(loss)


@pytest.mark.parametrize("n_classes", [2**70, 2**40, 2**31, 61])
def test_check_loss_says_how_many_classes_it_takes(n_classes):
    with pytest.raises(ValueError, match=rf"n_classes must be an integer between 2 and 60; got {n_classes}"):
        check_loss(AllThreshold(), n_classes)


def test_check_loss_takes_60_classes():
    check_loss(AllThreshold(), 60)
