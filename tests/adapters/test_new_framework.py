"""The smallest framework, as docs/how_to/add_a_framework.md adds one: nothing outside its own classes knows it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from ordinal_objectives import AllThreshold
from ordinal_objectives.adapters.followed_scores import GrownTree
from ordinal_objectives.adapters.objective import OrdinalObjectiveBase
from ordinal_objectives.adapters.training import Plan, Training
from ordinal_objectives.spec import OrdinalSpec

RATE, LAMBDA = 0.3, 1.0


# The framework


class Rows:
    def __init__(self, X, y):
        self.X, self.y = X.astype(np.float32), y


class Booster:
    """Trees of Newton steps; keeps the training score beside them, with the leaves that it set."""

    def __init__(self, rows):
        self.rows, self.trees, self.values, self.record = rows, [], [], None
        self.training_score = np.zeros(len(rows.y))

    def update(self, objective):
        gradient, hessian = (np.asarray(part, dtype=np.float64) for part in objective(self.training_score, self.rows))
        tree = DecisionTreeRegressor(max_leaf_nodes=8, random_state=0).fit(self.rows.X, -gradient / hessian, hessian)
        leaves = np.unique(tree.apply(self.rows.X), return_inverse=True)[1]
        sums = [np.bincount(leaves, part) for part in (gradient, hessian)]
        self.trees.append(tree)
        self.values.append(-RATE * sums[0] / (sums[1] + LAMBDA))
        self.training_score = self.training_score + self.values[-1][leaves]

    def leaves(self, rows, t):
        inner = np.flatnonzero(self.trees[t].tree_.children_left == -1)
        return np.searchsorted(inner, self.trees[t].apply(rows.X)).astype(np.int32)

    def score(self, rows):
        return sum((self.values[t][self.leaves(rows, t)] for t in range(len(self.trees))), np.zeros(len(rows.y)))


# Its adapter


class SmallTraining(Training):
    booster: Booster | None = None

    def growing(self, score, rows, epoch=None):
        run = self.of(rows)
        if run is None:
            self.check_start(score, self.continues, "it is continued")
            run = self.begin(rows, self.continues)
        return run, run.first_iteration + run.n_grown if self.booster is None else len(self.booster.trees)

    def evaluating(self, score, rows):
        if self.booster is None:
            return self.only_run(rows)
        run = self.of(self.booster.rows)
        run.advance(self.booster.training_score, len(self.booster.trees))
        return run

    def label_and_weight(self, rows):
        return rows.y, None

    def initial_score(self, rows):
        return np.zeros(len(rows.y))

    def newest_tree(self, rows, before, after):
        t = len(self.booster.trees) - 1
        return GrownTree(
            leaf_values=self.booster.values[t].copy(),
            learning_rate=RATE,
            reg_lambda=LAMBDA,
            value_type=np.float64,
            route=lambda matrix: self.booster.leaves(matrix, t),
            renew=lambda values: self.booster.values.__setitem__(t, values),
        )

    def show(self, booster):
        self.booster = booster


class SmallCallback:
    def __init__(self, training):
        self.training = training

    def before_training(self, booster):
        self.training.show(booster)

    def after_round(self, booster):
        self.training.evaluating(booster.training_score, booster.rows)
        booster.record = self.training.of(booster.rows).record()


class SmallObjective(OrdinalObjectiveBase):
    _entry_point = "lgbm.OrdinalObjective"  # the defaults of an objective
    _training_type = SmallTraining
    _callback_type = SmallCallback

    def metric(self, score, rows):
        return self.mean_loss(score, rows)


@pytest.mark.parametrize("update", ["fixed", "newton", "schur", "joint"])
def test_a_framework_of_a_page(ordinal_data, update):
    rows, valid = (Rows(*ordinal_data(400, 4, seed=seed)) for seed in (0, 1))
    spec = OrdinalSpec(AllThreshold(), n_classes=4, threshold_update=update)
    objective = SmallObjective.of(SmallTraining(spec, plan=Plan(driven=True)))
    booster = Booster(rows)
    objective.callback.before_training(booster)
    running = np.zeros(400)
    for t in range(15):
        booster.update(objective)
        running = running + booster.values[t][booster.leaves(valid, t)]  # before its leaves are renewed
        objective.callback.after_round(booster)
        measured = objective.metric(running, valid)
    record = booster.record
    assert record.n_iterations == 15
    assert record.training_loss[-1] < 0.8 * record.training_loss[0]
    loss = objective.loss
    for one, expected in ((rows, record.training_loss[-1]), (valid, measured)):
        value = loss.value(booster.score(one), one.y, record.at(15)).mean()
        np.testing.assert_allclose(value, expected, rtol=1e-6)
    assert (np.ptp(np.array(record.thresholds), axis=0) == 0).all() == (update == "fixed")
