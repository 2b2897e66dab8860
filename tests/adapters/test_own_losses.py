"""Losses and links of one's own train as their formulas say, in both hosts, and never as one of the package's."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives import AllThreshold
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.losses import OrdinalLoss, RowDerivatives
from ordinal_objectives.losses.quantities import Curvatures
from own_losses import Rising, Scaled, Steep, logistic_terms

ETA, LAMBDA, K, ROUNDS = 0.3, 1.0, 4, 6
TIMES = np.arange(1, K)


class XGBTrees:
    """Grows trees on gradients alone."""

    def __init__(self, X, y):
        self.X, self.data = X, xgboost.DMatrix(X, y)
        self.params = {"max_depth": 3, "eta": ETA, "lambda": LAMBDA, "min_child_weight": 0}
        self.params |= {"base_score": 0.0, "nthread": 1}
        self.booster = xgboost.Booster(self.params, [self.data])

    def grow(self, g, h):
        """Return the leaf of every row in the next tree."""
        self.booster.boost(self.data, self.booster.num_boosted_rounds(), grad=g, hess=h)
        leaves = self.booster.predict(self.data, pred_leaf=True).reshape(len(self.X), -1)[:, -1]
        return np.unique(leaves, return_inverse=True)[1]

    def train(self, **options):
        booster = oxgb.train(self.params, self.data, ROUNDS, n_classes=K, **options)
        return oxgb.threshold_record(booster), oxgb.predict_proba(booster, self.data)


class LGBTrees:
    def __init__(self, X, y):
        self.X, self.data = X, lightgbm.Dataset(X, y, free_raw_data=False)
        self.params = {"num_leaves": 6, "learning_rate": ETA, "lambda_l2": LAMBDA, "verbosity": -1, "num_threads": 1}
        self.params |= {"min_sum_hessian_in_leaf": 0.0, "boost_from_average": False}
        self.booster = lightgbm.Booster(self.params | {"objective": "none"}, self.data)

    def grow(self, g, h):
        self.booster.update(fobj=lambda score, data: (g, h))
        newest = self.booster.current_iteration() - 1
        leaves = self.booster.predict(self.X, pred_leaf=True, start_iteration=newest, num_iteration=1)
        return np.unique(leaves.ravel(), return_inverse=True)[1]

    def train(self, **options):
        booster = olgbm.train(self.params, self.data, ROUNDS, n_classes=K, **options)
        return olgbm.threshold_record(booster), olgbm.predict_proba(booster, self.X)


HOSTS = pytest.mark.parametrize("host", [XGBTrees, LGBTrees], ids=["xgboost", "lightgbm"])


def rising(f, y, thresholds):
    """The loss `Rising`: value, gradient, Hessian and cross terms of the rows, u, and the diagonal of V."""
    value, slope, curvature = (TIMES * x for x in logistic_terms(f, y, thresholds))
    return value.sum(), slope.sum(axis=1), curvature.sum(axis=1), -curvature, -slope.sum(axis=0), curvature.sum(axis=0)


def by_hand(trees, y, update):
    """Train the loss `Rising`, which is convex: no step is halved here."""
    theta = np.log(np.cumsum(np.bincount(y))[:-1] / np.cumsum(np.bincount(y)[::-1])[:-1][::-1])
    f, history, losses = np.zeros(len(y)), [], []
    loss, g, h, cross, u, V = rising(f, y, theta)
    for _ in range(ROUNDS):
        history.append(theta)
        losses.append(loss / len(y))
        leaves = trees.grow(g.astype(np.float32), h.astype(np.float32))
        n, m = leaves.max() + 1, K - 1
        gradient, hessian = np.bincount(leaves, g), np.bincount(leaves, h)
        if update == "newton":
            f = f - (ETA * gradient / (hessian + LAMBDA))[leaves]
            *_, u, V = rising(f, y, theta)
            theta = theta - u / V
        else:
            matrix = np.zeros((n + m, n + m))
            matrix[:n, :n], matrix[n:, n:] = np.diag(hessian + LAMBDA), np.diag(V)
            matrix[:n, n:] = np.array([cross[leaves == j].sum(axis=0) for j in range(n)])
            matrix[n:, :n] = matrix[:n, n:].T
            step = -ETA * np.linalg.solve(matrix, np.append(gradient, u))
            f, theta = f + step[:n][leaves], theta + step[n:]
        loss, g, h, cross, u, V = rising(f, y, theta)
    return np.array([*history, theta]), np.array([*losses, loss / len(y)]), f


@HOSTS
@pytest.mark.parametrize("update", ["newton", "joint"])
def test_a_loss_of_one_s_own_trains_by_its_formulas(host, update, ordinal_data):
    X, y = ordinal_data(500, K)
    record, proba = host(X, y).train(loss=Rising(), threshold_update=update)
    history, losses, f = by_hand(host(X, y), y, update)
    assert record.diagnostics["n_halved"] == 0
    np.testing.assert_allclose(record.thresholds, history, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(record.training_loss, losses, rtol=1e-5)
    np.testing.assert_allclose(proba, Rising().predict_proba(f, history[-1]), atol=1e-5)
    assert losses[-1] < 0.7 * losses[0]


class Again(OrdinalLoss):
    """The all-threshold loss, written out again: nothing but what every loss needs."""

    name = "again"
    ordered = True

    def _row_derivatives(self, f, y, thresholds):
        value, slope, curvature = logistic_terms(f, y, thresholds)
        beside = np.zeros((len(f), len(thresholds) - 1))
        return RowDerivatives(value.sum(axis=1), slope.sum(axis=1), -slope, curvature, beside, -curvature)


class AgainMajorized(Again):
    """With the majoriser too."""

    def _majorizes(self, link):
        return True

    def _majorized(self, f, y, thresholds):
        curvature = self.link.sharp_curvature(f[:, None] - thresholds)
        return Curvatures(curvature.sum(axis=1), curvature, np.zeros((len(f), len(thresholds) - 1)))


@HOSTS
@pytest.mark.parametrize("update", ["fixed", "joint", "newton"])
def test_a_copy_of_a_loss_trains_the_same_model(host, update, ordinal_data):
    """Steps on the thresholds alone use the majoriser wherever there is one: there the copy needs it as well."""
    X, y = ordinal_data(400, K)
    copies = Again(), AgainMajorized()
    record, proba = host(X, y).train(threshold_update=update)
    (short, of_short), (full, of_full) = (host(X, y).train(loss=loss, threshold_update=update) for loss in copies)
    np.testing.assert_allclose(full.thresholds, record.thresholds, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(of_full, proba, atol=2e-5)
    if update == "newton":  # the first steps differ already
        assert np.abs(short.thresholds[1] - record.thresholds[1]).max() > 1e-3
    else:
        np.testing.assert_allclose(short.thresholds, record.thresholds, rtol=2e-4, atol=2e-5)
        np.testing.assert_allclose(of_short, proba, atol=2e-5)


@HOSTS
@pytest.mark.parametrize(
    "options",
    [
        {"threshold_update": "newton"},
        {"threshold_update": "joint"},
        {"threshold_update": "joint", "hessian": "majorized"},
        {"proportional": False},
        {"proportional": False, "hessian": "majorized", "shift_penalty": "smooth"},
    ],
    ids=str,
)
def test_a_subclass_trains_by_its_own_formulas(host, options, ordinal_data):
    """Twice the loss with twice the penalties takes the steps of the loss, which the native pass knows."""
    X, y = ordinal_data(400, K)
    once, twice = host(X, y), host(X, y)
    twice.params |= {"lambda": 2 * LAMBDA} if host is XGBTrees else {"lambda_l2": 2 * LAMBDA}
    own = options | {"shift_l2": 20.0} if "proportional" in options else options
    (expected, proba), (found, own_proba) = once.train(**options), twice.train(loss=Scaled(), **own)
    np.testing.assert_allclose(found.thresholds, expected.thresholds, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(found.training_loss, 2 * np.array(expected.training_loss), rtol=1e-5)
    np.testing.assert_allclose(own_proba, proba, atol=2e-5)


@HOSTS
@pytest.mark.parametrize("options", [{"threshold_update": "joint"}, {"proportional": False}], ids=str)
def test_a_link_of_one_s_own_trains_by_its_formulas(host, options, ordinal_data):
    """G(x / s) halves thresholds and scores, if the penalties follow: derivatives in the score are s times as large."""
    X, y = ordinal_data(400, K)
    once, steep = host(X, y), host(X, y)
    steep.params |= {"lambda": 4 * LAMBDA} if host is XGBTrees else {"lambda_l2": 4 * LAMBDA}
    own = options | {"shift_l2": 40.0} if "proportional" in options else options
    (expected, proba), (found, own_proba) = once.train(**options), steep.train(loss=AllThreshold(Steep()), **own)
    np.testing.assert_allclose(2 * np.array(found.thresholds), expected.thresholds, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(found.training_loss, expected.training_loss, rtol=1e-5)
    np.testing.assert_allclose(own_proba, proba, atol=2e-5)


def test_lightgbm_s_fixed_thresholds_take_them(ordinal_data):
    y = ordinal_data(300, K)[1]
    objective = olgbm.FixedThresholds.of_classes(np.bincount(y), loss=Rising())
    gradient, hessian = objective(y, np.zeros(len(y)))
    _, g, h, *_ = rising(np.zeros(len(y)), y, objective.thresholds)
    np.testing.assert_allclose(gradient, g, rtol=1e-6)
    np.testing.assert_allclose(hessian, h, rtol=1e-6)
