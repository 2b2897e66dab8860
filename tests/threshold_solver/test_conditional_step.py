"""The thresholds' step given the score takes the majorised curvature wherever there is one, in every trainer.

With the exact one no loss would rise either, since such a step is tried and halved: only the step itself tells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ordinal_objectives.adapters.run import TrainingRun
from ordinal_objectives.adapters.updates import NewtonUpdate
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import TrainingSet
from ordinal_objectives.links import LINKS
from ordinal_objectives.losses import LOSSES, get_loss
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver import Diagnostics, ThresholdLearner, newton_step
from ordinal_objectives.threshold_solver.quadratic import free_groups, solve_tridiagonal

K = 4
HAVE_ONE = [(loss, link) for loss in LOSSES for link in LINKS if get_loss(loss, link).supports("majorized")]
SUMS = [(loss, link) for loss, link in HAVE_ONE if loss != "cumulative_link"]


def steps(loss, score, y, thresholds):
    """Return the reference's steps with either curvature."""
    found = {}
    for kind in ("majorized", "exact"):
        now = loss.round_statistics(score, y, thresholds, hessian=kind)
        found[kind] = newton_step(now.threshold_gradient, now.threshold_hessian)
    return found


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("link", LINKS)
def test_the_learner_asks_for_a_majoriser_where_there_is_one(loss, link):
    learner = ThresholdLearner(OrdinalSpec(get_loss(loss, link)), np.ones(K))
    has_one = (loss, link) in HAVE_ONE
    assert learner.step_hessian == ("majorized" if has_one else "exact")
    assert learner.newton_may_rise == ((loss, link) not in SUMS)


@pytest.mark.parametrize("trainer", ["adapters", "engine"])
@pytest.mark.parametrize(("loss", "link"), SUMS)
def test_trainings_with_the_exact_hessian_move_thresholds_by_the_majorised_one(ordinal_data, loss, link, trainer):
    X, y = ordinal_data(300, K)
    y, loss = y.astype(np.int32), get_loss(loss, link)
    score = 4.0 * X[:, 0]
    run: Any
    if trainer == "adapters":
        run = TrainingRun(OrdinalSpec(loss), y, K, update=NewtonUpdate())
        run.advance(np.zeros(len(y)), 0)
        before = run.thresholds
        run.advance(score, 1)
    else:
        parameters = BoostingParameters.of(loss, hessian="exact", threshold_update="newton", learning_rate=1.0)
        run = EngineRun(parameters, TrainingSet(X, y, K))
        run.advance()
        before = run.thresholds
        run.advance()
        score = run.state.score
    expected = steps(loss, score, y, before)
    tolerance = 1e-5 * np.abs(expected["majorized"]).max()
    np.testing.assert_allclose(run.thresholds, before + expected["majorized"], rtol=0, atol=tolerance)
    assert np.abs(expected["exact"] - expected["majorized"]).max() > 1000 * tolerance


@pytest.mark.parametrize("n_thresholds", [1, 4, 9])
def test_thresholds_without_neighbours_are_divided_as_the_solver_does_it(n_thresholds):
    rng = np.random.default_rng(0)
    every, none = np.ones(n_thresholds, bool), np.zeros(n_thresholds, bool)
    for scale in (1e-300, 1.0, 1e300):
        u, v = scale * rng.normal(size=n_thresholds), scale * rng.random(n_thresholds)
        for u0, v0 in [(0.0, v[0]), (0.0, 0.0), (u[0], -v[0]), (0.0, 5e-324), (1.0, 5e-324)]:
            u[0], v[0] = u0, v0
            counts = Diagnostics()
            step = newton_step(u, v, None, every, none, diagnostics=counts)
            expected, fell_back = solve_tridiagonal(v, None, -u, free_groups(every, none))
            assert step.tobytes() == expected.tobytes()
            assert counts.n_fallback == fell_back == (v0 <= 0.0 or u0 / v0 > 1e308)
