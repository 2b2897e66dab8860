"""One run holds a criterion: which one, how often it checks what it knows, and one that only this file knows."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ordinal_objectives.histogram_engine.criteria.base import Criterion
from ordinal_objectives.histogram_engine.criteria.one_score import HighOrder, Joint, Scalar
from ordinal_objectives.histogram_engine.criteria.vector import Vector
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import LeafStep, TrainingSet
from ordinal_objectives.losses import get_loss
from ordinal_objectives.threshold_solver import learner, quadratic

ASKED: list[tuple[dict[str, Any], type]] = [
    ({}, Joint),
    ({"threshold_update": "newton"}, Scalar),
    ({"threshold_update": "fixed"}, Scalar),
    ({"proportional": False}, Vector),
    ({"proportional": False, "split_gain": "joint"}, Vector),
    ({"proportional": "auto"}, Vector),
    ({"order": 3}, HighOrder),
    ({"order": 4, "threshold_update": "newton"}, HighOrder),
]


def parameters(**options: Any) -> BoostingParameters:
    return BoostingParameters.of(get_loss("all_threshold"), max_leaf_nodes=6, min_samples_leaf=5, **options)


@pytest.fixture
def rows(ordinal_data):
    X, y = ordinal_data(200, 4)
    return TrainingSet(X, y.astype(np.int32), 4)


@pytest.mark.parametrize(("options", "_"), ASKED)
def test_a_round_checks_no_array_that_a_pass_has_made(monkeypatch, rows, options, _):
    run = EngineRun(parameters(**options), rows)
    checked = []
    for module in (learner, quadratic):
        monkeypatch.setattr(module, "as_array", lambda name, *_: checked.append(name))
    thresholds = run.thresholds
    run.advance()
    assert checked == []
    assert (run.thresholds != thresholds).any() == (options.get("threshold_update") != "fixed")


class Sparse(Scalar):
    """Leaves whose gradient is smaller than a bound stay."""

    bound = 3.0

    def solve(self, sums, leaves):
        shrunk = np.sign(sums.G[leaves]) * np.maximum(np.abs(sums.G[leaves]) - self.bound, 0.0)
        return LeafStep(-shrunk / sums.H[leaves], np.zeros(0))


def test_a_run_takes_a_criterion_of_ones_own(rows):
    asked = parameters(threshold_update="fixed", learning_rate=1.0)
    plain, sparse = EngineRun(asked, rows), EngineRun(asked, rows, criterion=Sparse)
    one, other = plain.advance(), sparse.advance()
    np.testing.assert_array_equal(one.left, other.left)
    before = EngineRun(asked, rows).state.now
    for leaf in one.leaves:
        of_leaf = plain.state.leaf_of_row == leaf
        G, H = before.gradient[of_leaf].sum(dtype=float), before.hessian[of_leaf].sum(dtype=float)
        assert one.value[leaf] == pytest.approx(-G / H, rel=1e-5)
        assert other.value[leaf] == pytest.approx(-np.sign(G) * max(abs(G) - 3.0, 0.0) / H, rel=1e-4, abs=1e-6)
    assert sparse.training_loss < EngineRun(asked, rows).training_loss


def of_the_page() -> type[Criterion]:
    """Return the criterion of the page, with the native gain of the scalar one in place of its own."""
    page = Path(__file__).parents[2] / "docs" / "how_to" / "add_a_criterion.md"
    (code,) = re.findall(r"```python\n( +class Balanced.*?)```", page.read_text(), flags=re.DOTALL)
    scope: dict[str, Any] = {"Scalar": Scalar, "__name__": __name__}
    exec(textwrap.dedent(code).replace("grow_balanced", "grow_scalar"), scope)
    found: type[Criterion] = scope["Balanced"]
    return found


Balanced = of_the_page()


@pytest.mark.parametrize("update", ["newton", "fixed"])
def test_the_criterion_of_the_page_moves_thresholds_by_the_step_that_is_asked_for(rows, update):
    asked = parameters(threshold_update=update)
    run, plain = EngineRun(asked, rows, criterion=Balanced), EngineRun(asked, rows)
    start, loss = run.thresholds, run.training_loss
    for _ in range(10):
        run.advance()
        plain.advance()
    assert (run.thresholds != start).all() == (update == "newton")
    assert run.training_loss < 0.9 * loss
    np.testing.assert_array_equal(run.thresholds, plain.thresholds)
