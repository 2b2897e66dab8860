"""What a loss of a user's own may answer: the rest is refused, named, and leaves the model alone."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from ordinal_objectives import HistGradientBoostingMultiOutputRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = X[:, :2] + RNG.normal(size=(200, 2))


class Own:
    """Squared error, of which one answer is another."""

    def __init__(self, derivatives=None, start=None):
        self.answer, self.first = derivatives, start

    def start(self, y, weight):
        return y.mean(axis=0) if self.first is None else self.first

    def derivatives(self, y, raw_prediction, hessian):
        right = 0.5 * ((raw_prediction - y) ** 2).sum(axis=1), raw_prediction - y, None
        return right if self.answer is None else self.answer(y, raw_prediction, *right)

    def predict(self, raw_prediction):
        return raw_prediction


def fit(loss, y=Y, **options):
    model = HistGradientBoostingMultiOutputRegressor(loss=loss, max_iter=6, n_jobs=1)
    return model.fit(X, y, **options)


def late(answer):
    """Let an answer be wrong from the fifth call on: rounds, not the first look, must see it."""
    calls = count()

    def answer_later(y, r, v, g, h):
        wrong = answer(y, r, v, g, h)
        if next(calls) > 3:
            return wrong
        of_kind = wrong[2] if isinstance(wrong, tuple) and len(wrong) == 3 else None
        if of_kind is not None:
            h = np.broadcast_to(np.eye(2) if of_kind.ndim == 3 else 1.0, (len(r), *of_kind.shape[1:]))
        return v, g, h

    return answer_later


ANSWERS = {
    "NaN in gradients": (lambda y, r, v, g, h: (v, np.where(y > 1, np.nan, g), h), "the gradient nan in row"),
    "infinite gradients": (lambda y, r, v, g, h: (v, np.where(y > 1, np.inf, g), h), "the gradient inf in row"),
    "beyond float32": (lambda y, r, v, g, h: (v, g * 1e60, h), "which float32 holds .* the gradient -?inf in row 0"),
    "complex gradients": (lambda y, r, v, g, h: (v, g * 1j, h), "real numbers; its gradient has the type complex128"),
    "text": (lambda y, r, v, g, h: (v, g.astype(str), h), "real numbers; its gradient has the type <U"),
    "no array": (lambda y, r, v, g, h: (v, None, h), "real numbers; its gradient has the type object"),
    "NaN in Hessians": (lambda y, r, v, g, h: (v, g, np.where(y > 1, np.nan, 1.0)), "the Hessian nan in row"),
    "negative Hessians": (lambda y, r, v, g, h: (v, g, -np.ones_like(r)), "not negative, .* the Hessian -1 in row 0"),
    "one negative": (lambda y, r, v, g, h: (v, g, np.where(y > 1, -0.5, 1.0)), "the Hessian -0.5 in row"),
    "a negative diagonal": (lambda y, r, v, g, h: (v, g, np.tile([[1, 0], [0, -2]], (len(r), 1, 1))), "the Hessian -2"),
    "a loss of NaN": (lambda y, r, v, g, h: (v * np.nan, g, h), "losses that are numbers; got nan"),
    "a loss of minus infinity": (lambda y, r, v, g, h: (v - np.inf, g, h), "losses that are numbers; got -inf"),
    "one loss": (lambda y, r, v, g, h: (1.0, g, h), r"have shape \(\d+,\); got \(\)"),
    "too few losses": (lambda y, r, v, g, h: (v[:1], g, h), r"have shape .*; got \(1,\)"),
    "losses of outputs": (lambda y, r, v, g, h: (g**2, g, h), r"have shape .*; got \(\d+, 2\)"),
    "gradients of one output": (lambda y, r, v, g, h: (v, g[:, :1], h), r"have shape .* got \(\d+, 1\)"),
    "Hessians of one row": (lambda y, r, v, g, h: (v, g, np.ones((1, 2))), "one Hessian for each row"),
}


@pytest.mark.parametrize("when", ["first", "late"])
@pytest.mark.parametrize("kind", ANSWERS)
def test_wrong_answers_are_refused(kind, when):
    answer, message = ANSWERS[kind]
    model = fit(Own())
    before = model.predict_raw(X)
    with pytest.raises(ValueError, match=rf"Own\.derivatives must (.|\n)*{message}"):
        model.set_params(loss=Own(answer if when == "first" else late(answer))).fit(X, Y)
    np.testing.assert_array_equal(model.predict_raw(X), before)


@pytest.mark.parametrize(
    ("first", "then", "message"),
    [(None, 1, r"got \(2,\)"), (1, None, "got None")],
)
def test_a_hessian_of_another_shape_later_is_refused(first, then, message):
    calls = count()

    def answer(y, r, v, g, h):
        kind = first if next(calls) < 4 else then
        return v, g, None if kind is None else np.full_like(r, 5.0)

    with pytest.raises(ValueError, match=rf"Own\.derivatives .* the same at every call.*{message}"):
        fit(Own(answer))


def test_an_infinite_loss_at_the_start_is_refused():
    with pytest.raises(ValueError, match="Own must be finite before the first tree; got a mean loss of inf"):
        fit(Own(lambda y, r, v, g, h: (v + np.inf, g, h)))


@pytest.mark.parametrize(
    ("method", "argument"), [("start", 0), ("start", 1), ("derivatives", 0), ("derivatives", 1), ("predict", 0)]
)
def test_a_loss_cannot_change_what_it_is_given(method, argument):
    def write(*arguments):
        arguments[argument][...] = 0

    loss, y, weight = Own(), Y.copy(), np.ones(len(Y))
    setattr(loss, method, write)
    with pytest.raises(ValueError, match=r"^write of Own must not change the arrays that it is given"):
        fit(loss, y, sample_weight=weight).predict(X)
    assert np.array_equal(y, Y)
    assert np.array_equal(weight, np.ones(len(Y)))


def test_predictions_that_are_not_finite_are_refused():
    loss = Own()
    loss.predict = lambda raw: raw * np.nan
    with pytest.raises(ValueError, match=r"^Own\.predict holds NaN"):
        fit(loss)
