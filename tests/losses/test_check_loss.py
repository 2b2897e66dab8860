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


NUMBERS = r"got -?[\d.e-]+, where finite differences say -?[\d.e-]+"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": lambda x: x * np.nan}, r"value of loss '.*Wrong' must be finite at finite scores; got nan"),
        ({"value": lambda x: x.astype(np.float32)}, r"value of loss .* must be float64 \(60,\); got float32 \(60,\)"),
        ({"gradient": slightly}, rf"^gradient of loss '.*' is wrong at f=.*, y=0, thresholds=.*: {NUMBERS}"),
        ({"threshold_gradient": slightly}, rf"^threshold_gradient\[0\] of loss .*: {NUMBERS}"),
        ({"cross": slightly}, rf"^cross\[0\] of loss .*: {NUMBERS}"),
        ({"curvature": slightly}, rf"^curvature\[0\] of loss .*: {NUMBERS}"),
        ({"curvature_next": lambda x: x + 0.01}, rf"^curvature_next\[0\] of loss .*: {NUMBERS}"),
        ({"cross": lambda x: x[:, :1]}, r"cross of loss .* must be float64 \(60, 4\); got float64 \(60, 1\)"),
        ({"curvature": lambda x: x * np.inf}, r"curvature of loss .* must be finite at finite scores; got inf"),
    ],
)
def test_a_wrong_quantity_of_rows_is_named(change, message):
    with pytest.raises(ValueError, match=message), np.errstate(invalid="ignore"):
        check_loss(rows_with(Rising, change))


class OfTheScore(Rising):
    """No function of theta - f."""

    def _row_derivatives(self, f, y, thresholds):
        rows = super()._row_derivatives(f, y, thresholds)
        return type(rows)(**(vars(rows) | {"value": rows.value + 0.1 * f, "gradient": rows.gradient + 0.1}))


class Coupled(AllThreshold):
    """Adds (theta_0 - theta_1)^2: there are entries beside the diagonal that `strictly_ordered` must announce."""

    def _row_derivatives(self, f, y, thresholds):
        rows, gap, zero = super()._row_derivatives(f, y, thresholds), thresholds[0] - thresholds[1], [0.0] * 2
        return type(rows)(
            value=rows.value + gap**2,
            gradient=rows.gradient,
            threshold_gradient=rows.threshold_gradient + [2 * gap, -2 * gap, *zero],
            curvature=rows.curvature + [2.0, 2.0, *zero],
            curvature_next=rows.curvature_next + [-2.0, *zero],
            cross=rows.cross,
        )


class FarCoupled(Coupled):
    def _row_derivatives(self, f, y, thresholds):
        rows, gap = AllThreshold._row_derivatives(self, f, y, thresholds), thresholds[0] - thresholds[3]
        return type(rows)(
            **(
                vars(rows)
                | {
                    "value": rows.value + gap**2,
                    "threshold_gradient": rows.threshold_gradient + [2 * gap, 0.0, 0.0, -2 * gap],
                    "curvature": rows.curvature + [2.0, 0.0, 0.0, 2.0],
                }
            )
        )


class Unfloored(Rising):
    curvature_floor = -1.0

    def _floored(self, rows, y):
        found, n = super()._floored(rows, y)
        return type(found)(found.hessian - 1.0, found.diagonal, found.off_diagonal), n


class HalfFloored(Rising):
    def _floored(self, rows, y):
        found, n = super()._floored(rows, y)
        return type(found)(0.5 * found.hessian, found.diagonal, found.off_diagonal), n


class LowMajoriser(AllThreshold):
    def _majorized(self, f, y, thresholds):
        found = super()._majorized(f, y, thresholds)
        return type(found)(0.3 * found.hessian, found.diagonal, found.off_diagonal)


class LowThresholdMajoriser(AllThreshold):
    def _majorized(self, f, y, thresholds):
        found = super()._majorized(f, y, thresholds)
        return type(found)(found.hessian, 0.3 * found.diagonal, found.off_diagonal)


class NarrowMajoriser(AllThreshold):
    def _majorized(self, f, y, thresholds):
        found = super()._majorized(f, y, thresholds)
        return type(found)(found.hessian, found.diagonal[:, :1], found.off_diagonal)


class Backwards(Rising):
    def start(self, classes):
        found = super().start(classes)
        return found._replace(thresholds=found.thresholds[::-1])


class WrongHigher(AllThreshold):
    def higher(self, f, y, thresholds):
        return super().higher(f, y, thresholds) * [1.0, 1.01]


class Deficient(Rising):
    def predict_proba(self, raw_prediction, thresholds):
        return 0.99 * super().predict_proba(raw_prediction, thresholds)


class Negative(Rising):
    def _proba(self, x):
        proba = super()._proba(x)
        return proba + 0.5 * np.eye(proba.shape[1])[0] - 0.5 * np.eye(proba.shape[1])[1]


class OtherCumulative(Rising):
    def _cumulative_proba(self, x):
        return super()._cumulative_proba(0.9 * x)


class Upwards(Rising):
    def _distances(self, raw_prediction, thresholds):
        return super()._distances(-np.asarray(raw_prediction), thresholds)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (OfTheScore(), "^value of loss .* where a shift of score and thresholds together must leave"),
        (Coupled(), r"^curvature_next of loss .* must be 0 unless the loss has strictly_ordered = True; got -2"),
        (FarCoupled(), r"^threshold_gradient of loss .* must depend on the thresholds next to it only; got -2"),
        (Unfloored(), "^hessian of _floored of loss .* must be finite and not negative; got -0.0"),
        (HalfFloored(), "^hessian of _floored of loss .* must be no less than the exact one, and than 0"),
        (LowMajoriser(), r"^_majorized, -2.* from f, of loss .* must bound the loss from above; got -"),
        (
            LowThresholdMajoriser(),
            r"^_majorized, thresholds moved by \[.*\], of loss .* must bound the loss from above",
        ),
        (NarrowMajoriser(), r"^diagonal of _majorized of loss .* must .*\(60, 4\); got .*\(60, 1\)"),
        (Backwards(), r"^start of loss .* must be 4 thresholds in order; got \["),
        (WrongHigher(), rf"^higher\[1\] of loss .*{NUMBERS}"),
        (Deficient(), "^the sum of predict_proba of loss .* got 0.99, where it must be 1"),
        (Negative(), "^_proba of loss .* must be probabilities; got "),
        (OtherCumulative(), r"^cumulative_proba\[0\] of loss .* where predict_proba sums to"),
        (Upwards(), "^cumulative_proba of loss .* must fall as the score rises; got "),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_what_a_loss_says_beside_its_rows_is_checked(loss, message):
    with pytest.raises(ValueError, match=message):
        check_loss(loss)


class ManyMargins(AllThreshold):
    """Formulas of margins that are not those of the rows."""

    times = 1.0

    def _row_derivatives(self, f, y, thresholds):
        return AllThreshold._of_margins(self, thresholds - f[:, None], y)

    def _of_margins(self, x, y):
        rows = super()._of_margins(x, y)
        return type(rows)(**(vars(rows) | {"value": 1.01 * rows.value}))


class Mixed(AllThreshold):
    """A function of the distance between margins, which rows with one score do not see."""

    def _of_margins(self, x, y):
        rows = super()._of_margins(x, y)
        gap = (x[:, 1] - x[:, 0]) - (np.sort(x, axis=1)[:, 1] - np.sort(x, axis=1)[:, 0])
        slope = rows.threshold_gradient.copy()
        slope[:, 0] += 1e-3 * gap
        return type(rows)(**(vars(rows) | {"threshold_gradient": slope}))


class LowMajoriserOfMargins(AllThreshold):
    def _majorized(self, f, y, thresholds):
        return AllThreshold._majorized_of_margins(self, thresholds - f[:, None], y)

    def _majorized_of_margins(self, x, y):
        found = super()._majorized_of_margins(x, y)
        return type(found)(found.hessian, 0.9 * found.diagonal, found.off_diagonal)


class DeficientMargins(AllThreshold):
    def margin_proba(self, margins):
        return 0.99 * super().margin_proba(margins)


class WrongCurvatureOfMargins(AllThreshold):
    def _of_margins(self, x, y):
        rows = super()._of_margins(x, y)
        crossed = (np.diff(x, axis=1) < 0).any(axis=1)
        return type(rows)(**(vars(rows) | {"curvature": np.where(crossed[:, None], 1.01, 1.0) * rows.curvature}))


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (ManyMargins(), "^the value of _of_margins of loss .* where _row_derivatives says"),
        (Mixed(), rf"^threshold_gradient of _of_margins\[0\] of loss .* is wrong at margins=.*{NUMBERS}"),
        (WrongCurvatureOfMargins(), rf"^curvature of _of_margins\[0\] of loss .*{NUMBERS}"),
        (LowMajoriserOfMargins(), "^_majorized_of_margins of loss .* must bound the loss from above; got -"),
        (DeficientMargins(), "^the sum of margin_proba of loss .* got 0.99, where it must be 1"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_what_a_loss_says_of_margins_is_checked(loss, message):
    with pytest.raises(ValueError, match=message):
        check_loss(loss)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (AllThreshold, "check_loss takes an OrdinalLoss, an object of the class; got <class"),
        (type("Unordered", (Rising,), {"ordered": None})(), r"Unordered.ordered must be a bool; got None"),
    ],
)
def test_what_is_no_loss_is_refused(loss, message):
    with pytest.raises(TypeError, match=message):
        check_loss(loss)


def test_an_answer_that_is_no_row_derivatives_is_named():
    class Silent(AllThreshold):
        def _row_derivatives(self, f, y, thresholds):
            return None

    with pytest.raises(
        TypeError, match=r"_row_derivatives of loss .*Silent.* must return RowDerivatives; got NoneType"
    ):
        Silent().check_own(2)


@pytest.mark.parametrize("n_classes", [2**70, 2**40, 2**31, 61])
def test_check_loss_says_how_many_classes_it_takes(n_classes):
    with pytest.raises(ValueError, match=rf"n_classes must be an integer between 2 and 60; got {n_classes}"):
        check_loss(AllThreshold(), n_classes)


def test_check_loss_takes_60_classes():
    check_loss(AllThreshold(), 60)
