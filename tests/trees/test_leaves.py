"""Closed forms of leaves against a numerical minimiser, and trees whose leaves hold several values."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize

from ordinal_objectives.leaves import scalar
from ordinal_objectives.threshold_solver import JointQuadratic, schur_step
from ordinal_objectives.trees import Tree, TreeEnsemble


def sums(seed, n_leaves=4, n_thresholds=3):
    """Sums of random rows: G, H, L, u, V of a convex joint model."""
    rng = np.random.default_rng(seed)
    L = -rng.uniform(0.1, 1.0, (n_leaves, n_thresholds))
    V = np.diag(-L.sum(axis=0) + 0.3)
    return rng.normal(size=n_leaves), -L.sum(axis=1) + 0.2, L, rng.normal(size=n_thresholds), V


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("reg_lambda", [0.0, 1.5])
def test_joint_forms_minimise_the_quadratic_model(seed, reg_lambda):
    G, H, L, u, V = sums(seed)

    def model(step):
        w, delta = step[:4], step[4:]
        own = G @ w + 0.5 * (H + reg_lambda) @ w**2
        return own + u @ delta + 0.5 * delta @ V @ delta + w @ L @ delta

    found = minimize(model, np.zeros(7), method="BFGS", options={"gtol": 1e-9})
    step = schur_step(JointQuadratic.of(G, H, L, u, np.diag(V)), reg_lambda)
    np.testing.assert_allclose(np.r_[step.leaf_weights, step.threshold_step], found.x, atol=1e-5)
    assert step.decrease == pytest.approx(-found.fun, abs=1e-9)


def test_scalar_forms_minimise_the_quadratic_model():
    G, H, *_ = sums(0)
    w = scalar.weights(G, H, 0.5)
    np.testing.assert_allclose(G + (H + 0.5) * w, 0.0, atol=1e-15)
    assert scalar.value(G, H, 0.5) == pytest.approx(-(G @ w + 0.5 * (H + 0.5) @ w**2))


def test_a_leaf_without_curvature_does_not_move():
    assert scalar.weights([1.0, 1.0], [0.0, 2.0]).tolist() == [0.0, -0.5]
    step = schur_step(JointQuadratic.of([1.0, 1.0], [0.0, 2.0], np.zeros((2, 1)), [0.0], [1.0]))
    assert step.leaf_weights.tolist() == [0.0, -0.5]


def reciprocal(series):
    """Coefficients of 1 / F."""
    c = [1.0 / series[0]]
    for k in range(1, len(series)):
        c.append(-sum(series[i] * c[k - i] for i in range(1, k + 1)) / series[0])
    return c


@pytest.mark.parametrize("order", [3, 4])
def test_high_order_steps_are_householders(order):
    for seed in range(300):
        check_householders_step(order, np.random.default_rng(seed))


def check_householders_step(order, rng):
    """Householder's iteration for F = 0 is d (1/F)^(d-1) / (1/F)^(d): the quotient of two coefficients of 1 / F.

    F is the derivative of a random cubic or quartic.
    """
    G1, G3, G4, h = rng.normal(), 2.0 * rng.normal(), 6.0 * rng.normal(), rng.uniform(0.3, 2.0)
    step = scalar.high_order_step([-G1 / h], [h], [G3], [G4], order=order)
    c = reciprocal([G1, h, G3 / 2, G4 / 6][:order])
    expected = c[order - 2] / c[order - 1]
    newton = -G1 / h
    epsilon = G1 * G3 / h**2
    sound = 0.0 < expected / newton <= (order - 1) and (order == 3 or epsilon < 2)
    assert step.fell_back[0] == (not sound)
    w = expected if sound else newton
    assert step.weights[0] == pytest.approx(w, rel=1e-9)
    if not sound:
        assert step.decrease[0] == pytest.approx(G1 * G1 / h / 2)
        return
    polynomial = np.polynomial.Polynomial([0.0, G1, h / 2, G3 / 6, G4 / 24][: order + 1])
    at_newton = -polynomial(newton) if abs(w) > abs(newton) else -np.inf
    assert step.decrease[0] == pytest.approx(max(-polynomial(w), at_newton), rel=1e-9)


def householder(newton, curvature, *higher):
    r"""Return leaf steps of any order, 2 and the number of higher derivatives that are given.

    With F the derivative of the penalised loss in the leaf's weight, the step of order p + 1 is Householder's p-th one
    for F = 0, the paper's equation 12: p (1/F)^(p-1) / (1/F)^(p). In Newton steps w_2 it is N_{p-1} / N_p, from the
    power series of 1/F: N_0 = 1, N_k = sum_{i=1}^k b_i N_{k-i}, b_i = F^(i) w_2^(i-1) / (i! F').
    """
    w, h = np.asarray(newton, dtype=np.float64), np.asarray(curvature, dtype=np.float64)
    p = 1 + len(higher)
    bent = h > 0.0
    b, series = [np.ones_like(w)], [np.ones_like(w)]
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows falls back
        for i, derivative in enumerate(higher, start=2):
            share = np.asarray(derivative, dtype=np.float64) / np.where(bent, h, 1.0)
            b.append(share * w ** (i - 1) / math.factorial(i))
        for k in range(1, p + 1):
            series.append(np.sum([b[i] * series[k - 1 - i] for i in range(k)], axis=0))
        above, below = series[p - 1], series[p]
        stands = bent & np.isfinite(below) & (above > 0.0) & (above <= p * 1.001 * below)
        return np.where(stands, w * (above / np.where(stands, below, 1.0)), w)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_the_general_step_is_the_closed_form_of_each_order(order):
    rng = np.random.default_rng(order)
    w, third, fourth = rng.normal(size=(3, 500)) * [[1.0], [2.0], [6.0]]
    h = rng.uniform(-0.1, 2.0, 500)
    w[h <= 0.0] = 0.0
    found = householder(w, h, *[third, fourth][: order - 2])
    if order == 2:
        np.testing.assert_array_equal(found, w)
        return
    step = scalar.high_order_step(w, h, third, fourth, order=order)
    assert 0.1 < step.fell_back.mean() < 0.9
    np.testing.assert_allclose(found, step.weights, rtol=1e-12)


def leaf_loss(w):
    """Penalised all-threshold loss of a leaf's rows that step by w."""
    scores, labels, thresholds = [-1.0, 0.3, 2.0, 0.7, -0.2], [1, 2, 2, 0, 1], [-0.5, 0.8]
    terms = [
        mpmath.log1p(mpmath.exp((1 if y <= k else -1) * (f + w - theta)))
        for f, y in zip(scores, labels, strict=True)
        for k, theta in enumerate(thresholds)
    ]
    return mpmath.fsum(terms) + mpmath.mpf("0.5") * w**2 / 2


@pytest.mark.parametrize("p", range(1, 8))
def test_steps_of_any_order_are_householders(p):
    """Against the derivatives of 1 / F by their definition; the errors left show the order."""
    with mpmath.workdps(60):
        at = mpmath.findroot(lambda w: mpmath.diff(leaf_loss, w), 0) + mpmath.mpf("0.4")
        series = mpmath.taylor(leaf_loss, at, p + 1)
        derivatives = [float(c * mpmath.factorial(i)) for i, c in enumerate(series)][1:]

        def reciprocal(x):
            return 1 / mpmath.fsum(i * c * x ** (i - 1) for i, c in enumerate(series) if i)

        above, below = mpmath.taylor(reciprocal, 0, p)[-2:]
        expected = float(above / below)  # the factorials leave p (p - 1)! / p! = 1
    found = householder([-derivatives[0] / derivatives[1]], [derivatives[1]], *derivatives[2:])
    assert found[0] == pytest.approx(expected, rel=1e-10)
    assert abs(found[0] + 0.4) <= 0.4 * 0.2**p


def test_orders_of_rows_that_agree():
    """They pull like exp(-w) once they are well on their side: order p goes p - 1 Newton steps."""
    f = 12.0
    s = 1 / (1 + np.exp(-f))
    e = s * (1 - s)
    G1, G2, G3, G4 = (s - 1), e, e * (1 - 2 * s), e * (1 - 6 * e)
    for order in (3, 4):
        step = scalar.high_order_step([-G1 / G2], [G2], [G3], [G4], order=order)
        assert not step.fell_back[0]
        assert step.weights[0] == pytest.approx(order - 1, rel=1e-3)


@pytest.mark.parametrize("rule", ["root", "expanded"])
@pytest.mark.parametrize("epsilon", [-3.0, -1.0, -0.1, 0.0, 0.1, 0.4, 0.6])
def test_other_rules_of_order_three(rule, epsilon):
    G1, h = -1.0, 2.0
    G3 = epsilon * h * h / G1
    step = scalar.high_order_step([-G1 / h], [h], [G3], rule=rule)
    exists = epsilon < 0.5 if rule == "root" else epsilon > -2.0
    assert step.fell_back[0] == (not exists)
    w = step.weights[0]
    if rule == "root" and exists:
        assert G1 + h * w + 0.5 * G3 * w * w == pytest.approx(0.0, abs=1e-12)
        assert h + G3 * w > 0  # the branch near 0, a minimum
    elif exists:
        assert w == pytest.approx(-G1 / h * (1 + epsilon / 2))
        # The corrected equation 11.
        bracket = 0.5 + epsilon / 6 + epsilon**2 / 8 + epsilon**3 / 8 + epsilon**4 / 48
        at_newton = 0.5 + epsilon / 6 if epsilon > 0 else -np.inf
        assert step.decrease[0] == pytest.approx(G1 * G1 / h * max(bracket, at_newton))
    else:
        assert w == -G1 / h


def test_high_order_steps_are_guarded():
    step = scalar.high_order_step([0.0, 1e200, 1.0, 1.0], [0.0, 1e-200, 1e6, 1.0], [3.0, 1.0, 5.0, -2.0], order=3)
    # Flat; overflows; a large penalty makes it Newton's; the denominator vanishes.
    assert step.fell_back.tolist() == [False, True, False, True]
    np.testing.assert_allclose(step.weights, [0.0, 1e200, 1.0, 1.0], rtol=1e-5)
    for order, rule in ((2, "householder"), (4, "root"), (3, "newton")):
        with pytest.raises(ValueError, match="order must be 3, or 4 with rule 'householder'"):
            scalar.high_order_step([1.0], [1.0], [0.0], order=order, rule=rule)


def random_tree(rng, n_outputs):
    """A tree of five nodes over three features."""
    return Tree(
        np.array([0, -1, 2, -1, -1], np.int32),
        np.array([0.1, 0.0, -0.2, 0.0, 0.0]),
        np.array([1, -1, 3, -1, -1], np.int32),
        np.array([1, 0, 0, 0, 0], np.uint8),
        rng.normal(size=(5, n_outputs)),
        np.zeros(5),
        np.ones(5, np.int64),
    )


@pytest.mark.parametrize("n_threads", [1, 2])
def test_trees_with_several_values_are_added_up_for_every_output(n_threads):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    ensemble = TreeEnsemble([random_tree(rng, 4) for _ in range(3)], 3)
    ensemble.check()
    scores = np.ones((len(X), 4))
    ensemble.add_to(scores, X, 1, 3, n_threads)
    left = np.isnan(X[:, 0]) | (X[:, 0] <= 0.1)
    node = np.where(left, 1, np.where(X[:, 2] <= -0.2, 3, 4))  # NaN fails the comparison: it goes right there
    np.testing.assert_array_equal(scores, 1.0 + ensemble.trees[1].value[node] + ensemble.trees[2].value[node])
    np.testing.assert_array_equal(ensemble.apply(X, n_threads), np.repeat(node[:, None], 3, axis=1))


def test_trees_of_several_outputs_are_checked():
    for name in ("threshold", "gain", "value"):
        tree = random_tree(np.random.default_rng(0), 2)
        getattr(tree, name)[..., 1] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            tree.check(3)
    with pytest.raises(ValueError, match="arrays over nodes must have one size"):
        TreeEnsemble([tree], 3).add_to(np.zeros((2, 3)), np.zeros((2, 3)), 0, 1, 1)
