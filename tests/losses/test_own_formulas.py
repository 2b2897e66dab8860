"""Formulas of a user's own: what they return, and that they do not change what they are given, is checked once."""

from __future__ import annotations

import numpy as np
import pytest

from makers import make_lgb, make_xgb
from ordinal_objectives import AllThreshold, CumulativeLink
from ordinal_objectives.links import Logit, check_link
from ordinal_objectives.rows.reference import ReferenceMarginPass, ReferenceRowPass
from ordinal_objectives.threshold_solver import initial_thresholds
from own_losses import Rising

Y, THETA = np.arange(6, dtype=np.int32) % 3, np.array([-1.0, 1.0])
WEIGHT = np.arange(1.0, 7.0)


def writing(base, formula, argument, *args):
    """Return a loss or link that doubles one of the arrays that a formula is given, and answers as its base does."""

    def formula_that_writes(self, *arguments):
        answer = getattr(base, formula)(self, *arguments)
        arguments[argument][...] *= 2
        return answer

    # What a class with formulas of its own must say again.
    own = {"_majorizes": lambda self, link: True, "takes_shifts": base is AllThreshold, "highest_order": 4}
    names = own | {formula: formula_that_writes}
    return type("Writing", (base,), names if base in (AllThreshold, Rising) else {formula: formula_that_writes})(*args)


def use(loss):
    """Begin a training with a loss."""
    return ReferenceRowPass(loss, Y, 3, WEIGHT)


N_ARGUMENTS = {
    "_row_derivatives": 3,
    "_majorized": 3,
    "_of_margins": 2,
    "_majorized_of_margins": 2,
    "_floored": 2,
    "_proba": 1,
    "_cumulative_proba": 1,
    "start": 1,
    "higher": 3,
}


@pytest.mark.parametrize(("formula", "argument"), [(name, i) for name, n in N_ARGUMENTS.items() for i in range(n)])
def test_a_loss_cannot_change_what_it_is_given(formula, argument):
    if formula == "_floored" and argument == 0:  # the answer of the row derivatives, of which the cross terms are read
        writes = type(
            "Writing",
            (AllThreshold,),
            {"_floored": lambda self, rows, y: (np.negative(rows.cross, out=rows.cross), AllThreshold._floored)},
        )()
    elif formula == "start":
        writes = type("Writing", (Rising,), {"start": lambda self, classes: classes.weights.sort()})()
    else:
        writes = writing(AllThreshold, formula, argument)
    with pytest.raises(ValueError, match=r"of loss '.*Writing.*' must not change the arrays that it is given") as info:
        initial_thresholds(np.ones(3), loss=writes) if formula == "start" else use(writes)
    assert "read-only" in str(info.value.__cause__)


@pytest.mark.parametrize("formula", ["inverse", "log_inverse", "lower", "_interval", "_link"])
def test_a_link_cannot_change_what_it_is_given(formula):
    writes = writing(Logit, formula, 0)
    with pytest.raises(ValueError, match=r"link '.*Writing' must not change the arrays that it is given"):
        use(AllThreshold(writes))


@pytest.mark.parametrize("make", [make_xgb, make_lgb], ids=["xgboost", "lightgbm"])
@pytest.mark.parametrize("argument", range(3))
def test_a_training_by_a_loss_that_writes_stops(make, argument, halves):
    """It had trained another model in silence: the scores, labels or thresholds that it left were those of the pass."""
    with pytest.raises(ValueError, match=r"_that_writes of loss '.*Writing.*' must not change the arrays"):
        make(loss=writing(Rising, "_row_derivatives", argument), proportional=True).fit(*halves[:2])


def test_a_loss_is_checked_once():
    calls = []

    class Seeing(AllThreshold):
        takes_shifts = True

        def _row_derivatives(self, f, y, thresholds):
            calls.append(len(f))
            return super()._row_derivatives(f, y, thresholds)

    loss = Seeing()
    for _ in range(2):
        rows = use(loss)
    assert calls == [6]
    rows(np.zeros(6), THETA, "exact")
    assert calls == [6, 6]
    use(Seeing("probit"))
    assert len(calls) == 3


class Broken(AllThreshold):
    """Answers a value of its own for the rows of class 1 whose score is not far from 0."""

    takes_shifts = True

    def __init__(self, value, beyond=-1.0):
        super().__init__()
        self.value_of_rows, self.beyond = value, beyond

    def _of_margins(self, x, y):
        rows = super()._of_margins(x, y)
        chosen = (y == 1) & (np.abs(x).max(axis=1) > self.beyond)
        return type(rows)(**(vars(rows) | {"value": np.where(chosen, self.value_of_rows, rows.value)}))

    def _row_derivatives(self, f, y, thresholds):
        return self._of_margins(thresholds - f[:, None], y)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
@pytest.mark.parametrize("kind", [ReferenceRowPass, ReferenceMarginPass])
def test_a_loss_that_is_no_number_is_refused_wherever_it_is_so(value, kind):
    message = rf"value of loss '.*Broken.*' must be finite at finite scores; got {value}"
    with pytest.raises(ValueError, match=message):
        kind(Broken(value), Y, 3)
    far = kind(Broken(value, beyond=700.0), Y, 3)
    with pytest.raises(ValueError, match=message):
        far(np.full((6,) if kind is ReferenceRowPass else (6, 2), 1e4), THETA, "exact")


@pytest.mark.parametrize("kind", [ReferenceRowPass, ReferenceMarginPass])
def test_a_loss_may_be_infinite_far_away_alone(kind):
    with pytest.raises(ValueError, match=r"value of loss '.*Broken.*' must be finite at finite scores; got inf"):
        kind(Broken(np.inf), Y, 3)
    rows = kind(Broken(np.inf, beyond=700.0), Y, 3)
    for score, is_finite in ((-800.0, False), (800.0, False), (5.0, True)):
        found = rows(np.full((6,) if kind is ReferenceRowPass else (6, 2), score), THETA, "exact")
        assert np.isfinite(found.loss) == is_finite


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (ReferenceRowPass, "gradient"),
        (ReferenceRowPass, "threshold_gradient"),
        (ReferenceMarginPass, "threshold_gradient"),
    ],
)
def test_derivatives_that_are_no_numbers_are_refused_wherever_they_are_so(kind, name):
    class Far(Broken):
        def _of_margins(self, x, y):
            rows = super()._of_margins(x, y)
            getattr(rows, name)[np.abs(x).max(axis=1) > 700.0] = np.nan
            return rows

    rows = kind(Far(1.0), Y, 3)
    scores = np.zeros((6, 2) if kind is ReferenceMarginPass else (6,))
    scores[0] = 800.0
    with pytest.raises(ValueError, match=r"derivatives of loss '.*Far.*' must be finite at finite scores"):
        rows(scores, THETA, "exact")


@pytest.mark.parametrize("make", [make_xgb, make_lgb], ids=["xgboost", "lightgbm"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("proportional", [True, False])
def test_a_training_by_a_loss_without_values_stops(make, value, proportional, halves):
    with pytest.raises(ValueError, match=f"value of loss '.*Broken.*' must be finite .*; got {value}"):
        make(loss=Broken(value), proportional=proportional).fit(*halves[:2])


def answering(formula, answer):
    def wrong(self, *arguments):
        return answer(getattr(AllThreshold, formula)(self, *arguments))

    own = {"_majorizes": lambda self, link: True, "takes_shifts": True}
    return type("Wrong", (AllThreshold,), own | {formula: wrong})()


def curvatures(**change):
    def changed(found):
        found, *counted = found if isinstance(found, tuple) else (found,)
        new = type(found)(**(vars(found) | {name: function(getattr(found, name)) for name, function in change.items()}))
        return (new, *counted) if counted else new

    return changed


@pytest.mark.parametrize("formula", ["_majorized", "_majorized_of_margins", "_floored"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"hessian": lambda h: h * np.nan},
            "^hessian of (wrong|_majorized) of loss .* must be finite and not negative; got nan",
        ),
        (
            {"diagonal": np.negative},
            "^diagonal of (wrong|_majorized) of loss .* must be finite and not negative; got -0",
        ),
        (
            {"diagonal": lambda d: d[:, :1]},
            r"^diagonal of (wrong|_majorized) of loss .* float64 \(6, 2\); got float64 \(6, 1\)",
        ),
        (
            {"off_diagonal": lambda d: d + np.inf},
            "^off_diagonal of (wrong|_majorized) of loss .* must be finite at .*; got inf",
        ),
    ],
)
def test_curvatures_of_a_loss_are_checked(formula, change, message):
    with pytest.raises(ValueError, match=message):
        use(answering(formula, curvatures(**change)))


@pytest.mark.parametrize(
    "change",
    [
        lambda theta: theta[:1],
        lambda theta: theta * np.nan,
        lambda theta: theta * [1, np.inf],
        lambda theta: theta[::-1],
    ],
)
def test_where_a_loss_starts_is_checked(change):
    loss = answering("start", lambda found: found._replace(thresholds=change(found.thresholds)))
    with pytest.raises(ValueError, match=r"start of loss .*Wrong': thresholds must"):
        initial_thresholds(np.ones(3), loss=loss)


@pytest.mark.parametrize(
    ("formula", "answer", "message"),
    [
        ("_proba", lambda p: p * np.nan, "_proba of loss .* must be probabilities; got nan"),
        ("_proba", lambda p: p - 1.0, "must be probabilities; got -0"),
        ("_proba", lambda p: 0.9 * p, r"must have rows that sum to 1; got a sum of 0\.9"),
        ("_proba", lambda p: p[:, 1:], r"must be float64 \(6, 3\); got float64 \(6, 2\)"),
        ("_proba", lambda p: None, r"must be float64 \(6, 3\); got 'NoneType'"),
        ("_cumulative_proba", lambda p: 2.0 * p, "_cumulative_proba of loss .* must be probabilities; got 1"),
        ("_cumulative_proba", lambda p: p[:, :1], r"must be float64 \(6, 2\); got float64 \(6, 1\)"),
    ],
)
def test_probabilities_of_a_loss_are_checked(formula, answer, message):
    def changed(self, x):
        return answer(getattr(Rising, formula)(self, x))

    changed.__name__ = formula
    loss = type("Wrong", (Rising,), {formula: changed})()
    with pytest.raises(ValueError, match=message):
        use(loss)


def of_lower(change):
    """Return a link whose `lower` is that of the logit, changed."""
    return type("Changed", (Logit,), {"lower": lambda self, x: change(*Logit.lower(self, x))})()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda a, b, c: (a, "b", c), ValueError, r"the first derivative of lower of link .* float64 .*; got 'str'"),
        (lambda a, b, c: (a[:1], b, c), ValueError, r"the value of lower of link .* float64 .*; got float64 \(1,\)"),
        (lambda a, b, c: (a, b, np.float32(c)), ValueError, r"the second derivative of lower .*; got float32"),
    ],
)
def test_what_a_link_answers_is_looked_at(change, error, message):
    link = of_lower(change)
    for check in (lambda: use(AllThreshold(link)), lambda: use(CumulativeLink(link)), lambda: check_link(link)):
        with pytest.raises(error, match=message):
            check()
