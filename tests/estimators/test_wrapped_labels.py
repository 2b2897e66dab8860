"""Shares, counts, intervals and missing labels in ensembles and in classifiers around another one."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle, product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from makers import make_cat, make_engine, make_lgb, make_xgb
from ordinal_objectives import (
    OrdinalCalibratedClassifier,
    OrdinalEnsembleClassifier,
    OrdinalLabels,
    OrdinalPredictionSets,
)
from ordinal_objectives.decisions.tuned import OrdinalTunedClassifier
from ordinal_objectives.estimators.ensemble_members import best_weights
from ordinal_objectives.estimators.held_out import Rows
from ordinal_objectives.metrics import (
    mean_absolute_error,
    ordinal_log_loss,
    quadratic_weighted_kappa,
    ranked_probability_score,
)

K, N = 4, 240
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = np.digitize(X[:, 0] + 0.5 * RNG.logistic(size=N), [-1, 0, 1])
MISSING = Y.astype(object)
MISSING[::5] = None
KNOWN = np.arange(N) % 5 > 0
EXACT = {
    "shares": OrdinalLabels.from_shares(np.eye(K)[Y]),
    "counts": OrdinalLabels.from_counts(np.eye(K)[Y]),
    "intervals": OrdinalLabels.from_intervals(Y, Y, classes=range(K)),
    "raters": OrdinalLabels.from_raters(np.tile(np.arange(N), 2), np.repeat([0, 1], N), np.tile(Y, 2), n_rows=N),
}
COUNTS = np.eye(K)[Y] * 2 + np.eye(K)[np.minimum(Y + RNG.integers(0, 2, N), K - 1)]
SOFT = OrdinalLabels.from_counts(COUNTS)
INTERVALS = OrdinalLabels.from_intervals(
    np.maximum(Y - RNG.integers(0, 2, N), 0), [*Y[:200], *[None] * 40], classes=range(K)
)


def engine():
    return make_engine(max_iter=8)


def logistic():
    return LogisticRegression()


def ensemble(make):
    return OrdinalEnsembleClassifier([("one", make()), ("other", engine())], weights="rps", n_bags=1)


WRAP = {
    "ensemble": ensemble,
    "ensemble that stops": lambda make: OrdinalEnsembleClassifier(
        [("one", make()), ("other", engine().set_params(early_stopping=True))], weights="log_loss", n_bags=1
    ),
    "calibrated": lambda make: OrdinalCalibratedClassifier(make(), cv=3),
    "isotonic": lambda make: OrdinalCalibratedClassifier(make(), cv=3, method="isotonic"),
    "tuned": lambda make: OrdinalTunedClassifier(make(), metric="mae", rule="stretch", cv=2),
    "sets": lambda make: OrdinalPredictionSets(make()),
    "crossed sets": lambda make: OrdinalPredictionSets(make(), method="cross", cv=3),
    "in another": lambda make: OrdinalCalibratedClassifier(
        OrdinalEnsembleClassifier([("one", make())], n_bags=1), cv=2
    ),
}
EVERY = pytest.mark.parametrize("wrap", WRAP)


def answer(model):
    """Return all that a fitted wrapper says of rows."""
    found = [model.predict_proba(X), model.predict(X)]
    return [*found, model.predict_interval(X)] if hasattr(model, "predict_interval") else found


def assert_equal(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("wrap", "labels", "make"), list(zip(WRAP, cycle(EXACT), cycle([engine, logistic]))))
def test_one_class_a_row_trains_the_same_model(wrap, labels, make):
    expected = answer(WRAP[wrap](make).fit(X, Y))
    assert_equal(answer(WRAP[wrap](make).fit(X, EXACT[labels])), expected)


@EVERY
@pytest.mark.parametrize("make", [engine, KNeighborsClassifier])
def test_rows_without_a_label_are_left_out(wrap, make):
    labels = OrdinalLabels.from_labels(MISSING, classes=range(K))
    model = WRAP[wrap](make).fit(X, labels)
    if "sets" in wrap:
        assert model.n_calibration_.sum() == (KNOWN.sum() if "crossed" in wrap else pytest.approx(48, abs=8))
    other = np.where(KNOWN, Y, K - 1 - Y)  # what the rows of weight 0 say
    if make is not KNeighborsClassifier and "sets" not in wrap:
        assert_equal(answer(model), answer(WRAP[wrap](make).fit(X, Y, sample_weight=KNOWN.astype(float))))
        of_others = WRAP[wrap](make).fit(X, other, sample_weight=KNOWN.astype(float))
        assert of_others.predict_proba(X).shape == (N, K)


def get_gain(model):
    """Return how much lower the ranked probability score of the answers is than that of their shares."""
    shares = np.tile(COUNTS.sum(axis=0) / COUNTS.sum(), (N, 1))
    return ranked_probability_score(SOFT, shares) - ranked_probability_score(SOFT, model.predict_proba(X))


def test_a_classifier_of_one_class_a_row_is_given_a_row_for_each_answer():
    row, code, weight = SOFT.answers()
    expected = LogisticRegression().fit(X[row], code, sample_weight=weight).predict_proba(X)
    options = {"n_bags": 1, "subsample": 1.0}
    found = OrdinalEnsembleClassifier([("one", LogisticRegression())], **options).fit(X, SOFT)
    np.testing.assert_allclose(found.predict_proba(X), expected, atol=1e-10)
    piped = make_pipeline(StandardScaler(with_mean=False, with_std=False), LogisticRegression())
    found = OrdinalTunedClassifier(piped, cv=2).fit(X, SOFT)
    np.testing.assert_allclose(found.predict_proba(X), expected, atol=1e-10)
    for params in ({}, {"early_stopping_rounds": 3, "n_estimators": 30, "n_jobs": 1}):
        member = pytest.importorskip("xgboost").XGBClassifier(**params) if params else KNeighborsClassifier()
        model = OrdinalEnsembleClassifier([("one", member)], n_bags=1)
        if params:
            assert get_gain(model.fit(X, SOFT)) > 0.1
        else:
            with pytest.raises(TypeError, match="sample_weight"):
                model.fit(X, SOFT)


def test_answers_of_a_row_stay_together_where_a_classifier_divides_rows():
    pytest.importorskip("catboost")
    member = make_cat(iterations="auto")
    model = OrdinalTunedClassifier(member, cv=2).fit(X, SOFT)
    row, code, weight = SOFT.answers()
    expected = clone(member).fit(X[row], code, sample_weight=weight, groups=row)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-12)
    with pytest.raises(TypeError, match=r"one class a row in a search, and they are several answers a row; got Grid"):
        OrdinalTunedClassifier(GridSearchCV(logistic(), {"C": [1.0]})).fit(X, SOFT)


@pytest.mark.parametrize("wrap", ["ensemble", "ensemble that stops", "tuned", "sets", "crossed sets"])
@pytest.mark.parametrize("make", [engine, make_xgb, make_lgb])
def test_intervals_train_wrappers(wrap, make):
    model = WRAP[wrap](make).fit(X, INTERVALS)
    assert ordinal_log_loss(Y, model.predict_proba(X), labels=range(K)) < 1.1
    for refuses in (logistic, make_cat):
        with pytest.raises(TypeError, match=r"takes labels of one class a row, and they are intervals; got"):
            WRAP[wrap](refuses).fit(X, INTERVALS)


def test_weights_of_members_are_those_of_the_answers():
    proba = np.stack([make().fit(X[:, [i]], Y).predict_proba(X[:, [i]]) for i, make in enumerate([logistic] * 3)])
    row, code, weight = SOFT.answers()
    share = SOFT.reduced(None)
    repeated = Rows(row, code, weight)
    for criterion in ("log_loss", "rps"):
        found = best_weights(proba, Rows(X, SOFT.middle, *share[:1], labels=share[1]), criterion)
        np.testing.assert_allclose(found, best_weights(proba[:, row], repeated, criterion), atol=1e-6)
    parts = INTERVALS.patterns[INTERVALS.codes] * np.random.default_rng(0).uniform(0.01, 1.0, (len(Y), K))
    in_part = OrdinalLabels(parts / parts.max(axis=1, keepdims=True), np.arange(len(Y)), range(K), between=True)
    metrics = {"log_loss": ordinal_log_loss, "rps": ranked_probability_score}
    for (criterion, metric), labels in product(metrics.items(), (INTERVALS, in_part)):
        best = best_weights(proba, Rows(X, labels.middle, labels=labels), criterion)
        losses = [metric(labels, np.tensordot(w, proba, axes=1)) for w in (best, np.ones(3) / 3, *np.eye(3))]
        assert losses[0] <= min(losses) + 1e-9


def test_curves_are_fitted_to_shares_as_to_repeated_rows():
    row, code, weight = SOFT.answers()
    frozen = FrozenEstimator(engine().fit(X, Y))
    soft = OrdinalCalibratedClassifier(frozen, method="isotonic").fit(X, SOFT)
    repeated = OrdinalCalibratedClassifier(frozen, method="isotonic").fit(X[row], code, sample_weight=weight)
    stated = np.linspace(0.05, 0.95, 40)[:, np.newaxis]
    curves = [model.fitted_curve().curve(stated) for model in (soft, repeated)]
    np.testing.assert_allclose(*curves, atol=1e-10)
    assert soft.fitted_curve().total == pytest.approx(N)  # rows, not answers


@pytest.mark.usefixtures("few_cut_points")
def test_decisions_are_tuned_for_the_answers():
    row, code, weight = SOFT.answers()
    for metric in ("qwk", "mae", lambda y, predicted, sample_weight: np.average(y == predicted, weights=sample_weight)):
        soft = OrdinalTunedClassifier(FrozenEstimator(engine().fit(X, Y)), metric=metric).fit(X, SOFT)
        repeated = clone(soft).fit(X[row], code, sample_weight=weight)
        assert soft.tuned_score_ == pytest.approx(repeated.tuned_score_, abs=0.01)
    tuned = OrdinalTunedClassifier(FrozenEstimator(engine().fit(X, Y)), metric="qwk").fit(X, SOFT)
    assert tuned.tuned_score_ == pytest.approx(quadratic_weighted_kappa(SOFT, tuned.predict(X)))
    tuned = OrdinalTunedClassifier(FrozenEstimator(engine().fit(X, Y)), metric="mae").fit(X, INTERVALS)
    assert tuned.tuned_score_ == pytest.approx(mean_absolute_error(INTERVALS, tuned.predict(X)))
    for labels, what in ((SOFT, "a function that takes sample_weight"), (INTERVALS, "'mae' or 'zero_one'")):
        with pytest.raises(ValueError, match=f"metric must be {what} for OrdinalLabels"):
            OrdinalTunedClassifier(engine(), metric=lambda y, predicted: 0.0).fit(X, labels)


@pytest.mark.parametrize("severity", [None, 0.3])
def test_sets_hold_whole_intervals(severity):
    rng = np.random.default_rng(0)
    X, n = rng.normal(size=(6000, 2)), 6000
    y = np.digitize(X[:, 0] + rng.logistic(size=n), [-1, 0, 1, 2])
    lower, upper = np.maximum(y - (rng.random(n) < 0.2), 0), np.minimum(y + (rng.random(n) < 0.2), 4)
    labels = OrdinalLabels.from_intervals(lower, upper, classes=range(5))
    whole, inside, misses = [], [], []
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(n)
        some, others = order[:500], order[500:]
        frozen = FrozenEstimator(LogisticRegression().fit(X[:200], y[:200]))
        alpha = 0.2 if severity is None else None
        sets = OrdinalPredictionSets(frozen, alpha=alpha, severity=severity).fit(X[some], labels[some])
        low, high = sets.predict_interval(X[others]).T
        whole.append(np.mean((low <= lower[others]) & (upper[others] <= high)))
        inside.append(np.mean((low <= y[others]) & (y[others] <= high)))
        misses.append(np.mean(np.maximum(0, np.maximum(low - lower[others], upper[others] - high))))
    if severity is None:
        assert 0.79 < np.mean(whole) < 0.88
        assert np.mean(inside) > np.mean(whole)
    else:
        assert np.mean(misses) < severity + 0.01


def test_answers_of_a_row_keep_its_weight_and_stay_together():
    labels = OrdinalLabels.from_shares([[0.25, 0.75, 0.0], [0.0, 0.0, 1.0], [0.5, 0.0, 0.5]], classes=[0, 1, 2])
    rows = Rows(np.arange(3.0)[:, np.newaxis], np.array([1, 2, 0]), np.array([2.0, 3.0, 4.0]), labels=labels)
    answers = rows.by_answer()
    assert answers.X[:, 0].tolist() == [0, 0, 1, 2, 2]
    assert answers.codes.tolist() == [0, 1, 2, 0, 2]
    assert answers.weight.tolist() == [0.5, 1.5, 3.0, 2.0, 2.0]
    assert answers.groups.tolist() == [0, 0, 1, 2, 2]
    grouped = replace(rows, groups=np.array([7, 7, 8])).by_answer()
    assert grouped.groups.tolist() == [7, 7, 7, 8, 8]
