"""Standard errors of effects of groups against dense matrices and explicit derivatives, and what they cover."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import expit
from scipy.stats import truncnorm

from grouped_rows import crossed
from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.losses import CumulativeLink
from ordinal_objectives.random_effects import GroupColumn, RandomEffects
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver import ThresholdLearner, effect_errors
from ordinal_objectives.threshold_solver.effect_errors import GroupSums, JointCovariance, errors, widened
from ordinal_objectives.threshold_solver.random_intercept import RowsWithScores, integrated


def designs(sizes, n, seed):
    """Return groups of rows in several columns, curvatures of rows, cross terms and curvature of thresholds."""
    rng = np.random.default_rng(seed)
    groups = [rng.integers(size, size=n) for size in sizes]
    roots = rng.normal(size=(n, 3, 4))  # of the curvature of a row in its score and three thresholds
    curvature = np.einsum("nik,njk->nij", roots := np.concatenate([roots, rng.normal(size=(n, 1, 4))], axis=1), roots)
    return groups, curvature[:, 0, 0], curvature[:, 0, 1:], curvature[:, 1:, 1:].sum(axis=0)


def dense(groups, sizes, hessian, cross, thresholds, variances, free):
    """Return C as a matrix, and the matrix of the groups of rows."""
    Z = np.hstack([np.eye(size)[group] for group, size in zip(groups, sizes, strict=True)])
    L = Z.T @ cross @ free
    Q = np.block([[Z.T @ (hessian[:, np.newaxis] * Z), L], [L.T, free.T @ thresholds @ free]])
    Q[: sum(sizes), : sum(sizes)] += np.diag(np.repeat(1.0 / variances, sizes))
    return np.linalg.inv(Q), Z


def in_blocks(groups, sizes, hessian, cross, thresholds, variances, free):
    sums = [
        GroupSums(np.zeros(size), np.bincount(group, hessian, size), np.eye(size)[group].T @ cross)
        for group, size in zip(groups, sizes, strict=True)
    ]
    cells = {
        (i, j): csr_matrix((hessian, (groups[i], groups[j])), shape=(sizes[i], sizes[j]))
        for i, j in combinations(range(len(sizes)), 2)
    }
    return JointCovariance(sums, cells, variances, thresholds, free)


COLUMNS = pytest.mark.parametrize("sizes", [(7,), (7, 5), (4, 9), (3, 8, 5), (2, 3, 4)])


@COLUMNS
@pytest.mark.parametrize("free", [np.eye(3), np.eye(3)[:, 1:], np.array([[1.0, 0], [1, 0], [0, 1]])])
def test_covariance_in_blocks_is_the_inverse_of_the_whole_matrix(sizes, free, monkeypatch):
    monkeypatch.setattr(effect_errors, "_AT_ONCE", 3)
    variances = np.linspace(0.4, 1.5, len(sizes))
    groups, *curvatures = designs(sizes, 60, 0)
    given = groups, sizes, *curvatures, variances, free
    C, _ = dense(*given)
    found = in_blocks(*given)
    ends = np.cumsum([0, *sizes])
    vector = np.random.default_rng(1).normal(size=len(C))
    parts, of_free = found.times(np.split(vector[: ends[-1]], ends[1:-1]), vector[ends[-1] :])
    np.testing.assert_allclose(np.concatenate([*parts, of_free]), C @ vector, rtol=1e-9, atol=1e-10)
    for i in range(len(sizes)):
        np.testing.assert_allclose(found.diagonal(i), np.diag(C)[ends[i] : ends[i + 1]], rtol=1e-9)
        block = C[ends[i] : ends[i + 1], ends[i] : ends[i + 1]]
        np.testing.assert_allclose(found.squares(i), np.sum(block**2, axis=1), rtol=1e-9)
        assert found.trace(i) == pytest.approx(found.diagonal(i).sum())


@COLUMNS
def test_information_is_that_of_the_restricted_likelihood_of_normal_rows(sizes):
    """Of normal rows it is tr(P Z_i Z_i' P Z_j Z_j') / 2, with thresholds as fixed effects; one threshold has one."""
    rng = np.random.default_rng(2)
    groups, weight = [rng.integers(size, size=50) for size in sizes], rng.uniform(0.5, 2.0, 50)
    variances, one = np.linspace(0.4, 1.5, len(sizes)), np.ones((50, 1))
    given = groups, sizes, weight, -weight[:, np.newaxis], np.array([[weight.sum()]]), variances, np.eye(1)
    own = [np.eye(size)[group] for group, size in zip(groups, sizes, strict=True)]
    V = np.diag(1.0 / weight) + sum(tau2 * Z @ Z.T for tau2, Z in zip(variances, own, strict=True))
    inverse = np.linalg.inv(V)
    P = inverse - inverse @ one @ np.linalg.inv(one.T @ inverse @ one) @ one.T @ inverse
    expected = [[np.trace(P @ Z @ Z.T @ P @ other @ other.T) / 2.0 for other in own] for Z in own]
    np.testing.assert_allclose(in_blocks(*given).information(), expected, rtol=1e-8)


@pytest.mark.parametrize("sizes", [(8,), (6, 9)])
def test_errors_are_those_of_deviations_with_derivatives_by_differences(sizes):
    groups, hessian, cross, thresholds = designs(sizes, 90, 3)
    given = groups, sizes, hessian, cross, thresholds
    variances, free, residual = np.linspace(0.5, 1.2, len(sizes)), np.eye(3), np.random.default_rng(4).normal(size=90)

    def modes(tau2):  # of a quadratic likelihood
        C, Z = dense(*given, tau2, free)
        return C @ np.concatenate([Z.T @ residual, np.zeros(3)])

    ends = np.cumsum([0, *sizes])
    C, _ = dense(*given, variances, free)
    covariance = in_blocks(*given, variances, free)
    of_variances = np.linalg.inv(covariance.information())
    by = [(modes(variances + step) - modes(variances - step)) / 2e-5 for step in 1e-5 * np.eye(len(sizes))]
    counted = [np.arange(size) < size - 1 for size in sizes]  # the last group has no rows
    effects = np.split(modes(variances)[: ends[-1]], ends[1:-1])
    for i, found in enumerate(errors(covariance, effects, variances, counted)):
        centre = np.eye(sizes[i]) - counted[i] / counted[i].sum()
        at = slice(ends[i], ends[i + 1])
        change = np.stack([centre @ one[at] for one in by], axis=1)
        step, error = 1e-5 * np.eye(len(sizes))[i], np.sqrt(of_variances[i, i])
        low, high = (
            np.diag(centre @ dense(*given, variances + sign * step, free)[0][at, at] @ centre.T) for sign in (-1, 1)
        )
        beyond = truncnorm.mean(-variances[i] / error, np.inf, variances[i], error) - variances[i]
        squares = np.diag(centre @ C[at, at] @ centre.T) + (high - low) / 2e-5 * beyond
        squares += 2 * np.diag(change @ of_variances @ change.T)
        freedom = max(sizes[i] - 2, 3)
        np.testing.assert_allclose(found.of_effects, np.sqrt(squares * freedom / (freedom - 2)), rtol=1e-5)
        assert found.of_variance == pytest.approx(np.sqrt(of_variances[i, i]))


@pytest.mark.parametrize(("n_groups", "ratio"), [(2, 3.0), (4, 3.0), (5, 2.0), (10, 9 / 7), (1001, 1000 / 998)])
def test_few_groups_widen_errors(n_groups, ratio):
    np.testing.assert_allclose(
        widened(np.array([1.0, 4.0]), np.array([0.5, 0.0]), n_groups) ** 2, [2 * ratio, 4 * ratio]
    )


def _make(**options):
    given = {"loss": "cumulative_link", "linear": True, "linear_l2": 1.0, "max_iter": 10, "early_stopping": False}
    return HistGradientBoostingOrdinalClassifier(**given | {"random_state": 0, "n_jobs": 1} | options)


def _restricted(f, y, groups, sizes, log_taus, start):
    """Return minus the log of the restricted likelihood by Laplace's method, and where its mode is."""
    Z = np.hstack([np.eye(size)[group] for group, size in zip(groups, sizes, strict=True)])
    variances = np.repeat(np.exp(2 * np.asarray(log_taus)), sizes)
    row = np.arange(len(y))

    def parts(x):
        b, theta = x[: len(variances)], np.r_[-np.inf, x[len(variances) :], np.inf]
        low, high = expit(theta[y] - f - Z @ b), expit(theta[y + 1] - f - Z @ b)
        p, slopes = high - low, (low * (1 - low), high * (1 - high))
        G = np.zeros((len(y), len(theta)))
        G[row, y + 1] -= slopes[1] / p
        G[row, y] += slopes[0] / p
        slope = np.concatenate([Z.T @ (1 - low - high) + b / variances, G[:, 1:-1].sum(axis=0)])
        return -np.log(p).sum() + b @ (b / variances) / 2, slope

    def gradient(x):
        return parts(x)[1]

    found = minimize(lambda x: parts(x)[0], start, jac=gradient, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    x, step = found.x, 1e-5 * np.eye(len(start))
    Q = np.array([(gradient(x + one) - gradient(x - one)) / 2e-5 for one in step])
    return found.fun + np.log(variances).sum() / 2 + np.linalg.slogdet(Q)[1] / 2, x


def test_effects_and_variances_of_two_columns_are_those_of_the_restricted_likelihood():
    X, y, _ = crossed(1, n_groups=(9, 6), n=250)
    model = _make(random_intercept=[3, 4]).fit(X, y)
    checked = model._check_features(X, reset=False)
    f = model._before_trees(checked, {}) + model._scorer(checked)(0, model.n_iter_)
    groups, found = [X[:, 3].astype(int), X[:, 4].astype(int)], model.random_effects_
    taus = np.array([one.variance**0.5 for one in found.values()])
    start = np.concatenate([*(one.effects for one in found.values()), model.thresholds_])
    _, mode = _restricted(f, y, groups, (9, 6), np.log(taus), start + 0.1 * np.sin(np.arange(len(start))))
    np.testing.assert_allclose(start, mode, atol=1e-3)
    best = minimize(
        lambda logs: _restricted(f, y, groups, (9, 6), logs, start)[0], np.log(taus) + 0.2, method="Nelder-Mead"
    )
    # Schall's step holds the curvature of the rows where it is.
    np.testing.assert_allclose(taus, np.exp(best.x), rtol=0.05)


def _found(X, y, weight, n_trees=3):
    """Return effects of two columns of codes, and the thresholds, given a score of 0."""
    learner = ThresholdLearner(OrdinalSpec(CumulativeLink()), np.bincount(y, weight).astype(float))
    start = [
        RandomEffects(GroupColumn(place, [*range(5)]), np.full(5, 0.3), np.ones(5), 1.0, 0.5, ((0, np.ones(5), 1.0),))
        for place in range(2)
    ]
    rows = RowsWithScores(X, y, int(y.max()) + 1, weight, np.zeros(len(y)))
    return integrated(start, n_trees, rows, learner, 1), learner.thresholds


def test_weights_count_rows_and_groups_without_rows_have_no_effect():
    rng = np.random.default_rng(5)
    X = rng.integers(-1, 5, (120, 2)).astype(float)  # -1: no group
    y = np.digitize(X @ [0.4, -0.3] + rng.logistic(size=120), [-0.5, 1.0])
    weight = rng.integers(0, 3, 120) * (X[:, 0] != 4.0)
    repeated = np.repeat(np.arange(120), weight)
    found, thresholds = _found(X, y, weight.astype(float))
    again, as_rows = _found(X[repeated], y[repeated], np.ones(len(repeated)))
    np.testing.assert_allclose(thresholds, as_rows, atol=1e-3)
    for one, other in zip(found, again, strict=True):
        np.testing.assert_allclose(one.effects, other.effects, atol=1e-3)
        np.testing.assert_allclose(one.standard_errors, other.standard_errors, rtol=5e-3)
        assert one.variance == pytest.approx(other.variance, rel=1e-2)
        assert one.history[-1][0] == 3
    assert found[0].effects[4] == 0.0
    assert (found[0].effects[:4] != 0.0).all()
    assert found[0].standard_errors[4] > found[0].variance ** 0.5


def _nested(seed):
    """Return features with ten groups and thirty in these, labels and the effects."""
    rng, inner = np.random.default_rng(seed), np.repeat(np.arange(30), 20)
    effects, X = [rng.normal(size=10), rng.normal(size=30)], rng.normal(size=(600, 3))
    score = X[:, 0] + effects[0][inner // 3] + effects[1][inner]
    y = np.searchsorted([-2.0, -0.5, 0.5, 2.0], score + rng.logistic(size=600))
    return np.column_stack([X, inner // 3, inner]), y, effects


@pytest.mark.parametrize("kind", ["crossed", "nested"])
def test_intervals_of_two_columns_cover_deviations_from_their_mean(kind):
    covered = []
    for seed in range(25):
        X, y, effects = _nested(seed) if kind == "nested" else crossed(seed, n_groups=(10, 10), n=200)
        found = _make(random_intercept=[3, 4]).fit(X, y).random_effects_
        for one, true in zip(found.values(), effects, strict=True):
            off = np.abs(one.effects - true + true.mean())
            covered.append(np.mean(off < 1.645 * one.standard_errors))
            assert one.variance_error > 0.0
    assert 0.85 <= np.mean(covered) <= 0.95
