"""Inspections of rows that depend on each other: whole groups are drawn, or replicate weights say the design."""

from __future__ import annotations

from functools import wraps

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from makers import ALL, make_engine, make_lgb
from ordinal_objectives import OrdinalTunedClassifier
from ordinal_objectives.inspection import (
    average_marginal_effects,
    rows as inspection_rows,
    summary,
    threshold_importances,
)

G, SIZE = 24, 10
GROUP = np.repeat(np.arange(G), SIZE)


def grouped(seed=0, deviation=1.0):
    """Return features, of which the first is the same in a group, and labels that an effect of the group moves."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(G * SIZE, 3))
    X[:, 0] = rng.normal(size=G)[GROUP]
    score = X[:, 0] + X[:, 1] + deviation * rng.normal(size=G)[GROUP]
    return X, np.digitize(score + rng.logistic(size=len(X)), [-1.0, 1.0])


X, Y = grouped()


def effects_of(model, rows, weight=None):
    """Return the mean change of probabilities where the first feature rises by 1, row after row."""
    changes = []
    for row in rows:
        low, high = row - [0.5, 0.0, 0.0], row + [0.5, 0.0, 0.0]
        changes.append(model.predict_proba_ordered(high[None])[0] - model.predict_proba_ordered(low[None])[0])
    return np.average(changes, axis=0, weights=weight)


# Whole groups


@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_of_groups_by_a_loop(weighted):
    """Copies on new labels for the middle, then copies on whole groups with their own labels for the width."""
    weight = np.random.default_rng(1).gamma(3.0, size=len(X)) if weighted else None
    names = np.array(["a", "b", "c"])[GROUP % 3].astype(object) + GROUP.astype(str)  # sorted as text
    model = make_engine(max_iter=4, random_state=5).fit(X, Y, sample_weight=weight)
    given = {"step": 1.0, "n_refits": 5, "confidence": 0.9, "random_state": 3, "sample_weight": weight}
    found = average_marginal_effects(model, X, 0, y=Y, groups=names, **given)
    random, proba = np.random.RandomState(3), model.predict_proba_ordered(X)
    shrunk, of_groups = [], []

    def copy_on(rows, labels):
        of_rows = None if weight is None else weight[rows]
        copy = make_engine(max_iter=4, classes=[0, 1, 2], random_state=int(random.randint(2**31 - 1)))
        return effects_of(copy.fit(X[rows], labels, sample_weight=of_rows), X[rows], of_rows)

    for _ in range(5):
        rows = random.randint(len(X), size=len(X))
        labels = (random.random_sample((len(X), 1)) > np.cumsum(proba[rows], axis=1)[:, :-1]).sum(axis=1)
        shrunk.append(copy_on(rows, labels))
    for _ in range(5):
        drawn = np.unique(names)[random.randint(G, size=G)]
        rows = np.concatenate([np.flatnonzero(names == name) for name in drawn])
        of_groups.append(copy_on(rows, Y[rows]))
    mean = np.mean(shrunk, axis=0)
    kept = np.clip((mean @ found.effects) / (found.effects @ found.effects), 0.5, 1.0)
    variance = np.var(of_groups, axis=0, ddof=1) * G / (G - 1) + np.var(shrunk, axis=0, ddof=1) / 5
    width = student.ppf(0.95, 1 / (1 / (G - 1) + 1 / 4)) * np.sqrt(variance) / kept
    np.testing.assert_allclose(found.lower, 2 * found.effects - mean - width, atol=1e-7)
    np.testing.assert_allclose(found.upper, 2 * found.effects - mean + width, atol=1e-7)
    alone = average_marginal_effects(model, X, 0, **given)
    np.testing.assert_allclose(found.lower + found.upper, alone.lower + alone.upper, atol=1e-12)


def test_intervals_hold_what_groups_share():
    """The truth is the mean over 20,000 groups. Eight data sets; the benchmark has 500."""
    rng = np.random.default_rng(99)
    x, u = rng.normal(size=(2, 20_000))
    below = [
        1 / (1 + np.exp(np.add.outer([1.0, -1.0], x + step + u + rng.normal(size=20_000)))) for step in (-0.5, 0.5)
    ]
    true = np.diff(np.mean(below[1] - below[0], axis=1), prepend=0.0, append=0.0)
    held = {"rows": [], "groups": []}
    for seed in range(8):
        rows, y = grouped(seed + 1)
        model = make_engine(max_iter=20, learning_rate=0.1).fit(rows, y)
        given = {"step": 1.0, "n_refits": 8, "confidence": 0.9, "random_state": seed}
        by = {"rows": average_marginal_effects(model, rows, 0, **given)}
        by["groups"] = average_marginal_effects(model, rows, 0, y=y, groups=GROUP, **given)
        assert (
            (by["groups"].upper - by["groups"].lower)[[0, 2]] > 1.2 * (by["rows"].upper - by["rows"].lower)[[0, 2]]
        ).all()
        for name, found in by.items():
            held[name].append(((found.lower <= true) & (true <= found.upper))[[0, 2]])
    assert np.mean(held["groups"]) > 0.75


@ALL
def test_every_classifier_has_intervals_of_groups_also_of_categories(make):
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(site=pd.Categorical(np.array(["n", "s", "w"])[GROUP % 3]))
    model = make().fit(frame, Y)
    given = {"y": Y.tolist(), "groups": pd.Series(GROUP), "n_refits": 2, "random_state": 0}
    found = average_marginal_effects(model, frame, "site", **given)
    assert found.lower.shape == found.effects.shape == (2, 3)
    assert (found.lower < found.upper).all()
    again = average_marginal_effects(make_pipeline(StandardScaler(), make()).fit(X, Y), X, 1, **given)
    assert (again.lower < again.upper).all()


def test_rows_of_weight_zero_are_not_there():
    weight = np.random.default_rng(0).random(len(X)) > 0.3
    model = make_lgb().fit(X, Y)
    given = {"n_refits": 3, "step": 1.0, "random_state": 0}
    found = average_marginal_effects(model, X, 0, y=Y, groups=GROUP, sample_weight=1.0 * weight, **given)
    ones = np.ones(weight.sum())
    fewer = average_marginal_effects(
        model, X[weight], 0, y=Y[weight], groups=GROUP[weight], sample_weight=ones, **given
    )
    np.testing.assert_array_equal(found.lower, fewer.lower)


def test_a_classifier_that_divides_rows_is_given_the_groups_of_its_copies(monkeypatch):
    given_groups, fit = [], OrdinalTunedClassifier.fit

    @wraps(fit)
    def spy(self, rows, y, *given, groups=None, **others):
        given_groups.append((rows, groups))
        return fit(self, rows, y, *given, groups=groups, **others)

    model = OrdinalTunedClassifier(make_engine(max_iter=3), cv=2).fit(X, Y)
    monkeypatch.setattr(OrdinalTunedClassifier, "fit", spy)
    average_marginal_effects(model, X, 0, y=Y, groups=GROUP + 7, n_refits=2, random_state=0)
    assert [groups is None for _, groups in given_groups] == [True, True, False, False]
    place = dict(zip(X[:, 0], GROUP, strict=True))
    for rows, groups in given_groups[2:]:
        assert groups.tolist() == [place[first] for first in rows[:, 0]]


@pytest.mark.parametrize("kind", ["text", "category", "array"])
def test_a_group_that_is_drawn_twice_is_two_to_a_random_intercept(kind, monkeypatch):
    """So are levels in one group each; those that groups share are not, nor those of the feature that is asked for."""
    copies, again = [], inspection_rows.trained_again

    def spy(estimator, rows, *given, **options):
        copies.append((rows, again(estimator, rows, *given, **options)))
        return copies[-1][1]

    rater = np.random.default_rng(1).integers(5, size=len(X))
    frame = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "clinic": GROUP.astype(str), "rater": rater})
    frame["clinic"] = frame["clinic"].astype({"text": object, "category": "category", "array": float}[kind])
    rows = frame.to_numpy() if kind == "array" else frame
    model = make_engine(max_iter=5, loss="cumulative_link", random_intercept=[2, 3]).fit(rows, Y)
    monkeypatch.setattr(inspection_rows, "trained_again", spy)
    given = {"step": 1.0, "y": Y, "groups": GROUP, "n_refits": 2, "random_state": 0}
    found = average_marginal_effects(model, rows, 0, **given)
    assert (found.lower < found.upper).all()
    for of_rows, copy in copies[2:]:
        clinic, others = np.asarray(of_rows)[:, 2].astype(float), np.asarray(of_rows)[:, 3].astype(float)
        assert np.unique(clinic, return_counts=True)[1].tolist() == [SIZE] * G
        assert set(others) <= set(range(5))
        assert len(copy.random_effects_[2].to_frame()) == G
    copies.clear()
    summary(model, rows, Y, groups=GROUP, n_refits=2, random_state=0)
    assert [len(np.unique(np.asarray(of_rows)[:, 2].astype(float))) for of_rows, _ in copies] == [G, G]
    copies.clear()
    del given["step"]
    average_marginal_effects(model, rows, 2, **given)
    assert all(len(np.unique(np.asarray(of_rows)[:, 2].astype(str))) < G for of_rows, _ in copies[2:])


# A summary, and importances


def test_thresholds_spread_more_where_groups_are_drawn():
    rows, y = grouped(3, deviation=2.0)
    model = make_engine(max_iter=10).fit(rows, y)

    def spread(groups):
        return summary(model, rows, y, n_refits=12, groups=groups, random_state=0).threshold_spread

    assert (spread(GROUP) > 1.3 * spread(None)).all()
    np.testing.assert_allclose(spread(np.arange(len(y))).mean(), spread(None).mean(), rtol=0.5)


def test_values_are_exchanged_between_groups_only():
    """A feature of the group alone: a row of the same group would move nothing."""

    class Linear:
        thresholds_ = np.array([-1.0, 1.0])

        def predict_linear_predictors(self, X):
            moved.append(X[:, 0].copy())
            return self.thresholds_ - X[:, [0]]

    moved: list[np.ndarray] = []
    sizes = np.array([1, 2, 30, 7])
    group = np.random.default_rng(0).permutation(np.repeat(np.arange(4), sizes))
    own = np.column_stack([group, np.zeros(40)]).astype(float)
    found = threshold_importances(Linear(), own, n_repeats=400, groups=group, random_state=0)
    of_rows = np.array([one for one in moved[1:] if (one != group).any()])
    assert len(of_rows) == 400
    assert (of_rows != group).all()
    for k in range(4):  # others come as often as they have rows
        others = of_rows[:, group == k].astype(int)
        expected = np.where(np.arange(4) == k, 0, sizes) / (40 - sizes[k])
        np.testing.assert_allclose(np.bincount(others.ravel(), minlength=4) / others.size, expected, atol=0.06)
    squares = [np.average((np.arange(4) - k) ** 2, weights=np.where(np.arange(4) == k, 0, sizes)) for k in range(4)]
    np.testing.assert_allclose(found.importances[0], np.sqrt(np.average(squares, weights=sizes) / 2), rtol=0.02)
    assert found.importances[1].tolist() == [0.0, 0.0]


# Replicate weights


def designed(kind):
    """Return replicate weights of 12 strata with two groups each, and their scale."""
    weight = np.random.default_rng(2).uniform(1.0, 3.0, len(X))
    if kind == "jackknife":
        replicates = np.column_stack([weight * (g != GROUP) * G / (G - 1) for g in range(G)])
        return weight, replicates, (G - 1) / G
    if kind == "stratified jackknife":
        of_stratum = [np.where(g == GROUP, 0, np.where(g // 2 == GROUP // 2, 2, 1)) for g in range(G)]
        return weight, weight[:, None] * np.column_stack(of_stratum), np.full(G, 0.5)
    signs = np.array([[1]])
    while len(signs) < 16:  # Hadamard
        signs = np.block([[signs, signs], [signs, -signs]])
    chosen = signs[:, 1:13][:, GROUP // 2].T * np.where(GROUP % 2, 1, -1)[:, None]
    rho = 0.3 if kind == "Fay" else 0.0
    return weight, weight[:, None] * (1 + (1 - rho) * chosen), 1 / (16 * (1 - rho) ** 2)


@pytest.mark.parametrize(
    ("kind", "freedom"), [("jackknife", 23), ("stratified jackknife", 12), ("BRR", 12), ("Fay", 12)]
)
def test_replicate_weights_against_a_loop(kind, freedom):
    weight, replicates, scale = designed(kind)
    options = {"max_iter": 6, "max_leaf_nodes": 4, "classes": range(3), "random_state": 7}
    model = make_engine(**options).fit(X, Y, sample_weight=weight)
    given = {"step": 1.0, "sample_weight": weight, "confidence": 0.9, "y": Y}
    found = average_marginal_effects(model, X, 0, replicate_weights=replicates, replicate_scale=scale, **given)
    theta, variance = effects_of(model, X, weight), np.zeros(3)
    np.testing.assert_allclose(found.effects, theta, rtol=0, atol=1e-12)
    for column, of_column in zip(replicates.T, np.broadcast_to(scale, replicates.shape[1]), strict=True):
        there = column > 0
        copy = make_engine(**options).fit(X[there], Y[there], sample_weight=column[there])
        variance += of_column * (effects_of(copy, X[there], column[there]) - theta) ** 2
    width = student.ppf(0.95, freedom) * np.sqrt(variance)
    np.testing.assert_allclose(found.lower, theta - width, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.upper, theta + width, rtol=0, atol=1e-10)
    assert (width > 1e-4).all()


@pytest.mark.parametrize(
    ("given", "error", "name"),
    [
        ({"groups": GROUP, "n_refits": 2}, ValueError, "y"),
        ({"y": Y, "n_refits": 2}, ValueError, "y"),
        ({"y": Y[1:], "groups": GROUP, "n_refits": 2}, ValueError, "y"),
        ({"y": Y, "groups": GROUP}, ValueError, "n_refits"),
        ({"y": Y, "groups": GROUP[1:], "n_refits": 2}, ValueError, "groups"),
        ({"y": Y, "groups": np.zeros(len(Y)), "n_refits": 2}, ValueError, "groups"),
        ({"y": Y, "groups": GROUP, "sample_weight": 1.0 * (GROUP == 0), "n_refits": 2}, ValueError, "groups"),
        ({"y": Y, "replicate_weights": np.ones((len(Y), 3))}, ValueError, "replicate_scale"),
        ({"y": Y, "replicate_scale": 1.0}, ValueError, "replicate_scale"),
        ({"y": Y, "replicate_weights": np.ones((len(Y), 3)), "replicate_scale": -1.0}, ValueError, "replicate_scale"),
        ({"y": Y, "replicate_weights": np.ones((len(Y), 3)), "replicate_scale": [1.0]}, ValueError, "replicate_scale"),
        ({"y": Y, "replicate_weights": np.ones((len(Y), 1)), "replicate_scale": 1.0}, ValueError, "replicate_weights"),
        ({"y": Y, "replicate_weights": np.ones(len(Y)), "replicate_scale": 1.0}, ValueError, "replicate_weights"),
        ({"y": Y, "replicate_weights": -np.ones((len(Y), 2)), "replicate_scale": 1.0}, ValueError, "replicate_weights"),
        ({"replicate_weights": np.ones((len(Y), 2)), "replicate_scale": 1.0}, ValueError, "y"),
        (
            {"y": Y, "replicate_weights": np.ones((len(Y), 2)), "replicate_scale": 1.0, "n_refits": 2},
            ValueError,
            "n_refits",
        ),
        (
            {"y": Y, "replicate_weights": np.ones((len(Y), 2)), "replicate_scale": 1.0, "groups": GROUP},
            ValueError,
            "groups",
        ),
    ],
)
def test_arguments_that_do_not_suit_each_other_are_named(given, error, name):
    model = make_engine(max_iter=2).fit(X, Y)
    with pytest.raises(error, match=rf"^{name} "):
        average_marginal_effects(model, X, 0, **given)


def test_groups_of_a_summary_and_of_importances_are_checked():
    model = make_engine(max_iter=2).fit(X, Y)
    with pytest.raises(ValueError, match=r"^groups "):
        summary(model, X, Y, n_refits=2, groups=GROUP[1:])
    with pytest.raises(ValueError, match=r"^groups "):
        threshold_importances(model, X, groups=np.zeros(len(X)))
