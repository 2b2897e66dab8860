"""Prediction sets beside their definition, row by row and class by class; and the coverage that is promised."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given as cases, settings, strategies as st
from scipy.stats import betabinom
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from makers import draw, given
from ordinal_objectives import OrdinalPredictionSets
from ordinal_objectives.decision import decide

FEW = pytest.mark.filterwarnings("ignore:For alpha=")
problems = st.tuples(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(2, 40))
alphas = st.sampled_from([0.02, 0.1, 0.3, 0.5, 0.9])


def score(p, k):
    """The probability that the class lies on the median's side of k."""
    middle = int(decide([p])[0])
    return 0.0 if k == middle else round(float(sum(p[:k]) if k > middle else sum(p[k + 1 :])), 12)


def sets_by_hand(folds, n_classes, alpha, *, by_class=False, weights=None):
    """Return sets by their definition; a fold: probabilities that calibrate, their codes, probabilities of new rows."""
    weights = [np.ones(len(codes)) for _, codes, _ in folds] if weights is None else weights
    rows = []
    for i in range(len(folds[0][2])):
        inside = set()
        for k in range(n_classes):
            n = at_least = 0
            for (P, codes, new), of_fold in zip(folds, weights, strict=True):
                for p, y, weight in zip(P, codes, of_fold, strict=True):
                    n += weight * (not by_class or y == k)
                    at_least += weight * ((not by_class or y == k) and score(p, y) >= score(new[i], k))
            if (1 + at_least) / (n + 1) > alpha + 1e-12:
                inside.add(k)
        inside.add(int(decide([np.mean([new[i] for _, _, new in folds], axis=0)])[0]))
        rows.append([min(inside) <= k <= max(inside) for k in range(n_classes)])
    return np.array(rows)


def is_interval(row):
    return bool(np.all(np.diff(np.flatnonzero(row)) == 1))


@FEW
@settings(max_examples=40)
@cases(problems, alphas, st.booleans())
def test_sets_are_those_of_the_definition(problem, alpha, by_class):
    seed, n_classes, n_rows = problem
    rng = np.random.default_rng(seed)
    P, codes = draw(rng, n_rows, n_classes)
    codes[:2] = 0, n_classes - 1
    new, _ = draw(rng, 6, n_classes)
    coverage = "class" if by_class else "marginal"
    model = OrdinalPredictionSets(given(n_classes), alpha=alpha, coverage=coverage).fit(P, codes)
    expected = sets_by_hand([(P, codes, new)], n_classes, alpha, by_class=by_class)
    np.testing.assert_array_equal(model.predict_set(new), expected)


@FEW
@settings(max_examples=40)
@cases(problems, alphas, st.booleans())
def test_weights_count_as_rows_on_any_scale(problem, alpha, by_class):
    seed, n_classes, n_rows = problem
    rng = np.random.default_rng(seed)
    P, codes = draw(rng, n_rows, n_classes)
    codes[:2] = 0, n_classes - 1
    new, _ = draw(rng, 6, n_classes)
    weight = rng.uniform(0.2, 3.0, n_rows)
    coverage = "class" if by_class else "marginal"
    model = OrdinalPredictionSets(given(n_classes), alpha=alpha, coverage=coverage).fit(P, codes, 7.0 * weight)
    alike = np.equal.outer(codes, codes) | (not by_class)  # rows that a row is compared with
    of_rows = weight * (alike @ weight) / (alike @ weight**2)
    expected = sets_by_hand([(P, codes, new)], n_classes, alpha, by_class=by_class, weights=[of_rows])
    np.testing.assert_array_equal(model.predict_set(new), expected)
    own = np.equal.outer(np.arange(n_classes), codes)
    squared = np.maximum(own @ weight**2, 1e-12)  # of a class without rows
    np.testing.assert_allclose(model.n_calibration_, (own @ weight) ** 2 / squared)
    # Rows without weight are none, and equal weights are no weights; severity counts as alpha does.
    doubled, none_or_two = np.r_[P, P], np.r_[np.zeros(n_rows), np.full(n_rows, 2.0)]
    model.set_params(severity=0.3)
    plain = model.fit(P, codes).predict_set(new)
    np.testing.assert_array_equal(model.fit(doubled, np.r_[codes, codes], none_or_two).predict_set(new), plain)


def test_coverage_by_class_does_not_depend_on_the_weights_of_classes():
    rng = np.random.default_rng(0)
    P, codes = draw(rng, 200, 4)
    new, _ = draw(rng, 50, 4)
    weight = rng.uniform(0.5, 2.0, 200)
    model = OrdinalPredictionSets(given(4), alpha=0.2, coverage="class").fit(P, codes, weight)
    sets, n_rows = model.predict_set(new), model.n_calibration_
    model.fit(P, codes, weight * np.array([1.0, 20.0, 0.05, 5.0])[codes])
    np.testing.assert_array_equal(model.predict_set(new), sets)
    np.testing.assert_allclose(model.n_calibration_, n_rows)
    # A class never has more calibration rows than rows, so that too few are told.
    few = np.r_[np.flatnonzero(codes == 3)[:5], np.flatnonzero(codes != 3)]
    with pytest.warns(UserWarning, match="fewer than 9 calibration rows"):
        model.set_params(alpha=0.1).fit(P[few], codes[few], np.where(codes[few] == 3, 5.0, 1.0))
    assert 3 in model.always_included_


@FEW
@settings(max_examples=60)
@cases(problems, st.booleans(), st.sampled_from([None, 0.05, 0.5]))
def test_sets_are_intervals_around_the_prediction_and_grow_as_alpha_falls(problem, by_class, severity):
    seed, n_classes, n_rows = problem
    rng = np.random.default_rng(seed)
    P, codes = draw(rng, n_rows, n_classes)
    codes[:2] = 0, n_classes - 1
    new, _ = draw(rng, 30, n_classes)
    coverage = "class" if by_class else "marginal"
    model = OrdinalPredictionSets(given(n_classes), coverage=coverage, severity=severity).fit(P, codes)
    wider = np.ones((30, n_classes), dtype=bool)
    for alpha in (0.01, 0.1, 0.2, 0.5, 0.95):
        inside = model.set_params(alpha=alpha).predict_set(new)
        assert all(map(is_interval, inside))
        assert inside[np.arange(30), model.predict(new)].all()
        assert not (inside & ~wider).any()
        wider = inside
        assert (
            model.predict_interval(new) == [[row.argmax(), n_classes - 1 - row[::-1].argmax()] for row in inside]
        ).all()


@pytest.mark.parametrize("coverage", ["marginal", "class"])
@FEW
def test_cross_conformal_sets_are_those_of_the_definition(coverage, ordinal_data):
    X, y = ordinal_data(90, 4)
    X_new = X[:12] + 0.1
    model = OrdinalPredictionSets(
        LogisticRegression(), method="cross", cv=3, coverage=coverage, alpha=0.2, random_state=3
    ).fit(X, y)
    folds = []
    for rows, held in KFold(3, shuffle=True, random_state=3).split(X):
        inner = LogisticRegression().fit(X[rows], y[rows])
        folds.append((inner.predict_proba(X[held]), y[held], inner.predict_proba(X_new)))
    expected = sets_by_hand(folds, 4, 0.2, by_class=coverage == "class")
    np.testing.assert_array_equal(model.predict_set(X_new), expected)
    np.testing.assert_allclose(model.predict_proba(X_new), np.mean([fold[2] for fold in folds], axis=0))
    assert len(model.estimators_) == 3
    assert model.n_calibration_.tolist() == np.bincount(y).tolist()


def test_split_trains_on_some_rows_and_calibrates_on_the_others(ordinal_data):
    X, y = ordinal_data(80, 3)
    model = OrdinalPredictionSets(LogisticRegression(), calibration_fraction=0.3, random_state=5).fit(X, y)
    held = np.sort(np.random.RandomState(5).permutation(80)[:24])
    rest = np.setdiff1d(np.arange(80), held)
    inner = LogisticRegression().fit(X[rest], y[rest])
    np.testing.assert_array_equal(model.estimators_[0].coef_, inner.coef_)
    expected = sets_by_hand([(inner.predict_proba(X[held]), y[held], inner.predict_proba(X[:9]))], 3, 0.1)
    np.testing.assert_array_equal(model.predict_set(X[:9]), expected)


# Coverage


def simulated(n_rows, n_classes, seed, *, by_class=False):
    """Return probabilities without ties and classes drawn from others: a classifier that is confidently wrong."""
    rng = np.random.default_rng(seed)
    center = rng.uniform(0, n_classes - 1, n_rows)
    apart = np.abs(np.arange(n_classes) - center[:, np.newaxis])
    stated, true = np.exp(-1.5 * apart), np.exp(-0.25 * apart)
    codes = (rng.uniform(size=(n_rows, 1)) > np.cumsum(true / true.sum(axis=1, keepdims=True), axis=1)).sum(axis=1)
    return stated / stated.sum(axis=1, keepdims=True), np.minimum(codes, n_classes - 1)


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2])
def test_coverage_is_beta_binomial(alpha):
    """Of m new rows the covered ones are beta-binomial, with k = ceil((1 - alpha) (n + 1)), where no scores tie."""
    n, m, n_times, n_classes = 59, 40, 250, 12
    covered = 0
    for seed in range(n_times):
        P, codes = simulated(n + m, n_classes, seed)
        model = OrdinalPredictionSets(given(n_classes), alpha=alpha).fit(P[:n], codes[:n])
        covered += int(model.predict_set(P[n:])[np.arange(m), codes[n:]].sum())
    k = math.ceil((1 - alpha) * (n + 1) - 1e-9)
    expected = betabinom(m, k, n + 1 - k)
    deviation = math.sqrt(n_times * expected.var())
    assert abs(covered - n_times * expected.mean()) < 3.5 * deviation


@FEW
def test_coverage_of_each_class():
    alpha, n, m, n_times, n_classes = 0.2, 120, 60, 120, 4
    hits, seen = np.zeros(n_classes), np.zeros(n_classes)
    marginal = np.zeros(n_classes)
    for seed in range(n_times):
        P, codes = simulated(n + m, n_classes, seed)
        P = P * [1.0, 0.1, 1.0, 0.3]  # classes 1 and 3 are played down
        P /= P.sum(axis=1, keepdims=True)
        model = OrdinalPredictionSets(given(n_classes), alpha=alpha, coverage="class").fit(P[:n], codes[:n])
        inside = model.predict_set(P[n:])[np.arange(m), codes[n:]]
        hits += np.bincount(codes[n:], weights=inside, minlength=n_classes)
        seen += np.bincount(codes[n:], minlength=n_classes)
        inside = model.set_params(coverage="marginal").predict_set(P[n:])[np.arange(m), codes[n:]]
        marginal += np.bincount(codes[n:], weights=inside, minlength=n_classes)
    # The variance of a share that varies between trainings as well, from at least 20 rows of a class.
    slack = 3.5 * np.sqrt(0.2 * 0.8 * (1 / seen + 1 / (20 * n_times)))
    assert (hits / seen > 1 - alpha - slack).all()
    assert (marginal / seen).min() < 1 - alpha - slack.max()  # which marginal coverage does not promise


# Severity


@cases(problems, st.sampled_from([0.01, 0.1, 0.4, 1.0, 3.0]))
def test_the_bound_on_severity_is_the_least_that_the_rows_allow(problem, severity):
    seed, n_classes, n_rows = problem
    P, codes = draw(np.random.default_rng(seed), n_rows, n_classes)
    codes[:2] = 0, n_classes - 1
    model = OrdinalPredictionSets(given(n_classes), alpha=None, severity=severity).fit(P, codes)
    scores = np.array([[score(p, k) for k in range(n_classes)] for p in P])

    def allowed(bound):
        missed = [
            min(abs(k - y) for k in range(n_classes) if s[k] <= bound) for s, y in zip(scores, codes, strict=True)
        ]
        return (sum(missed) + n_classes - 1) / (n_rows + 1) <= severity + 1e-12

    bound = next((one for one in np.unique(scores) if allowed(one)), math.inf)
    np.testing.assert_array_equal(model.predict_set(P), scores <= bound)


def test_the_expected_distance_of_a_miss_is_bounded():
    n, m, n_times, severity = 100, 50, 200, 0.3
    distances = []
    for seed in range(n_times):
        P, codes = simulated(n + m, 8, seed)
        model = OrdinalPredictionSets(given(8), alpha=None, severity=severity).fit(P[:n], codes[:n])
        low, high = model.predict_interval(P[n:]).T
        distances.append(np.maximum(np.maximum(low - codes[n:], codes[n:] - high), 0).mean())
    slack = 3.5 * np.std(distances) / math.sqrt(n_times)
    assert severity - 8 / n - slack < np.mean(distances) < severity + slack


def test_severity_widens_sets_and_never_narrows_them():
    P, codes = simulated(300, 8, 0)
    model = OrdinalPredictionSets(given(8), alpha=0.3).fit(P, codes)
    plain = model.predict_set(P)
    strict = model.set_params(severity=0.05).predict_set(P)
    assert (strict | ~plain).all()
    assert strict.sum() > plain.sum()
    assert (model.set_params(severity=5.0).predict_set(P) == plain).all()
    assert model.set_params(severity=0.01).predict_set(P).all()  # (K - 1) / (n + 1) is more


# Few rows


def test_a_class_that_lacks_calibration_rows_is_in_every_set_and_said():
    P, codes = simulated(400, 5, 0)
    rows = codes != 3
    message = r"For alpha=0.1 the classes \[3\] have fewer than 9 calibration rows each, and are in every set\."
    with pytest.warns(UserWarning, match=message) as seen:
        model = OrdinalPredictionSets(given(5), coverage="class").fit(P[rows], codes[rows])
    assert seen[0].filename == __file__
    assert model.always_included_.tolist() == [3]
    assert model.n_calibration_[3] == 0
    assert model.predict_set(P)[:, 3].all()
    assert model.set_params(coverage="marginal").always_included_.tolist() == []
    assert not model.predict_set(P)[:, 3].all()


@pytest.mark.parametrize(("n_rows", "enough"), [(8, False), (9, True)])
def test_nine_rows_are_needed_for_a_tenth(n_rows, enough):
    P, codes = simulated(n_rows, 3, 0)
    codes[:3] = 0, 1, 2
    model = OrdinalPredictionSets(given(3), alpha=0.1)
    if enough:
        model.fit(P, codes)
    else:
        with pytest.warns(UserWarning, match="8 calibration rows are fewer than 9: all classes are in every set"):
            model.fit(P, codes)
        assert model.predict_set(P).all()
    assert len(model.always_included_) == (0 if enough else 3)
