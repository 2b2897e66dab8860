"""progress=True: a bar that counts the rounds, says the newest loss, and changes nothing else."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
import tqdm.auto
import xgboost

from makers import make_engine, make_lgb, make_xgb, watching

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = np.digitize(X[:, 0] + RNG.logistic(size=200), [-1.0, 1.0])
MAKE = {"xgb": make_xgb, "lgbm": make_lgb, "engine": make_engine}


class Bar:
    """Stands in for tqdm."""

    made: ClassVar[list[Bar]] = []

    def __init__(self, total, desc, unit):
        self.total, self.desc, self.n, self.losses, self.closed = total, desc, 0, [], False
        Bar.made.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed = True

    def set_postfix(self, loss, refresh):
        self.losses.append(loss)

    def update(self, n):
        self.n += n


@pytest.fixture(autouse=True)
def bars(monkeypatch):
    monkeypatch.setattr(tqdm.auto, "tqdm", Bar)
    Bar.made = []
    return Bar.made


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("kind", MAKE)
def test_every_round_is_counted_with_the_newest_loss(kind, watched, bars):
    sets = watching(MAKE[kind](), X[150:], Y[150:]) if watched else {}
    options = {"early_stopping": False} if kind == "engine" else {}
    model = MAKE[kind](progress=True, **options).fit(X[:150], Y[:150], **sets)
    (bar,) = bars
    assert (bar.total, bar.n, bar.closed) == (15, 15, True)
    losses = model._record.training_loss[1:]
    if watched:
        of_set = list(model.evals_result_.values())[-1]
        losses = of_set[1:] if kind == "engine" else next(iter(of_set.values()))
    assert bar.losses[-1] == f"{losses[-1]:.4f}"
    assert len(set(bar.losses)) > 10
    plain = MAKE[kind](**options).fit(X[:150], Y[:150], **sets)
    assert len(bars) == 1
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("kind", MAKE)
def test_a_training_that_fails_closes_it(kind, bars):
    def fails(*_):
        raise InterruptedError

    if kind == "xgb":
        callback = type("Fails", (xgboost.callback.TrainingCallback,), {"after_iteration": fails})()
        model, more = make_xgb(progress=True, callbacks=[callback]), {}
    else:
        model, more = MAKE[kind](progress=True), {"callback": fails} if kind == "engine" else {"callbacks": [fails]}
    with pytest.raises(InterruptedError):
        model.fit(X, Y, **more)
    assert bars[0].closed
