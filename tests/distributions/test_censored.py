"""Numbers of which an interval is known: what is fitted beside Kaplan-Meier and Turnbull, evaluated, and scored."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalDistributionRegressor,
    XGBOrdinalClassifier,
)
from ordinal_objectives.distributions.binned_target import BinnedTarget, most_likely

MONTHS = np.array([3.0, 6.0, 12.0])
LOSSES = pytest.mark.parametrize("loss", ["all_threshold", "cumulative_link"])
STOPPING = {
    "native": HistGradientBoostingOrdinalClassifier(
        max_iter=200, learning_rate=0.5, early_stopping=True, n_iter_no_change=5, n_jobs=1, random_state=0
    ),
    "xgboost": XGBOrdinalClassifier(n_estimators=60, learning_rate=0.5, early_stopping_rounds=5, n_jobs=1),
    "lightgbm": LGBMOrdinalClassifier(
        n_estimators=60, learning_rate=0.5, early_stopping_round=5, n_jobs=1, verbosity=-1
    ),
}


def followed(life, watched):
    """Return both ends of lives that are seen until some time."""
    return np.column_stack(
        [np.where(life <= watched, life, np.nextafter(watched, np.inf)), np.where(life <= watched, life, np.inf)]
    )


def ends_of(kind, n=2000, seed=1):
    """Return both ends of exponential lives of which some are censored on one side, on both, or all."""
    rng = np.random.default_rng(seed)
    life, watched = rng.exponential(8.0, n), rng.uniform(1.0, 16.0, n)
    if kind == "right":
        return followed(life, watched)
    if kind == "right, heavy":
        return followed(life, 0.3 * watched**2 / 8.0)
    life = np.ceil(10.0 * life) / 10.0
    if kind == "left and right":
        first, ends = rng.integers(1, 60, n) / 10.0, followed(life, 6.0 + np.ceil(watched))
        ends[life <= first] = np.column_stack([np.full(n, -np.inf), first])[life <= first]
        return ends
    first = rng.integers(1, 4, n)  # and an inspection every three months
    before = first + 3.0 * (np.ceil((life - first) / 3.0) - 1.0)
    return np.column_stack([np.where(before < 0.0, -np.inf, np.nextafter(before, np.inf)), before + 3.0])


def kaplan_meier(ends, weight, at):
    """Return P(T > t) of known numbers, and of lower ends."""
    events = np.unique(ends[np.isfinite(ends[:, 1]), 0])
    left = np.array([1.0 - weight[(ends == t).all(axis=1)].sum() / weight[ends[:, 0] >= t].sum() for t in events])
    return np.array([np.prod(left[events <= t]) for t in at])


def turnbull(ends, weight, at, steps=20_000):
    """Return P(T > t) by self-consistency, over all ends."""
    (low, high), place = np.unique(ends.T, axis=1, return_inverse=True)
    of_ends, values = np.bincount(place.ravel(), weight), np.unique(ends[np.isfinite(ends)])
    inside = ((low[:, np.newaxis] <= values) & (values <= high[:, np.newaxis])).astype(float)
    share = np.ones(len(values))
    for _ in range(steps):
        before, share = share, share * ((of_ends / (inside @ share)) @ inside) / of_ends.sum()
        if np.abs(share - before).sum() < 1e-8:
            break
    return np.array([share[values > t].sum() for t in at])


@pytest.mark.filterwarnings("ignore:The lowest number of some rows:UserWarning")
@LOSSES
@pytest.mark.parametrize(
    "cuts", [{"cuts": MONTHS}, {"cuts": np.arange(1.0, 13.0)}, {}], ids=["three", "monthly", "default"]
)
@pytest.mark.parametrize("kind", ["right", "left and right", "intervals"])
def test_without_features_it_is_the_most_likely_distribution_at_any_cuts(kind, cuts, loss):
    ends, X = ends_of(kind), np.random.default_rng(0).normal(size=(2000, 1))
    plain = HistGradientBoostingOrdinalClassifier(
        loss=loss, max_iter=1, learning_rate=1e-6, early_stopping=False, n_jobs=1
    )
    found = OrdinalDistributionRegressor(plain, **cuts).fit(X, ends).predict_exceedance(X[:1], MONTHS)[0]
    expected = (kaplan_meier if kind == "right" else turnbull)(ends, np.ones(2000), MONTHS)
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_groups_keep_their_own_lives_with_few_cuts():
    """Lives and censoring both depend on the group, and most of the rows of one are cut short inside a class."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 3000)
    life = rng.exponential(np.where(group == 0, 4.0, 16.0))
    ends = followed(life, np.where(rng.random(3000) < 0.2, 20.0, np.where(group == 0, 11.0, 7.5)))
    inner = HistGradientBoostingOrdinalClassifier(
        max_iter=100, learning_rate=0.3, max_leaf_nodes=2, early_stopping=False, n_jobs=1
    )
    model = OrdinalDistributionRegressor(inner, cuts=MONTHS).fit(group[:, np.newaxis], ends)
    found = model.predict_exceedance([[0], [1]], MONTHS)
    expected = [kaplan_meier(ends[group == k], np.ones((group == k).sum()), MONTHS) for k in (0, 1)]
    np.testing.assert_allclose(found, expected, atol=0.035)


def test_weights_are_numbers_of_rows_with_ends_inside_classes():
    rng, ends = np.random.default_rng(2), ends_of("right", 400)
    X, weight = rng.integers(0, 4, (400, 1)), rng.integers(0, 4, 400)
    some = np.repeat(np.arange(400), weight)
    inner = HistGradientBoostingOrdinalClassifier(max_iter=5, early_stopping=False, n_jobs=1, random_state=0)
    weighed = OrdinalDistributionRegressor(inner, cuts=MONTHS).fit(X, ends, sample_weight=weight)
    repeated = OrdinalDistributionRegressor(inner, cuts=MONTHS).fit(X[some], ends[some])
    grid = np.arange(1.0, 15.0)
    np.testing.assert_allclose(weighed.predict_cdf(X, grid), repeated.predict_cdf(X, grid), atol=2e-3)


def test_the_most_likely_distribution_is_found_to_its_tail():
    """Nine rows of ten are cut short; what lies beyond the last known number moves slowly with plain EM steps."""
    rng = np.random.default_rng(0)
    ends = followed(rng.exponential(8.0, 5000), rng.exponential(0.7, 5000))
    at = np.quantile(ends[:, 0], [0.5, 0.9, 0.99, 0.999])
    values, mass = most_likely(ends[:, 0], ends[:, 1], None)
    found = np.array([mass[values > t].sum() for t in at]) / mass.sum()
    np.testing.assert_allclose(found, kaplan_meier(ends, np.ones(5000), at), atol=1e-4)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(0, 2))
def test_an_interval_has_the_probability_of_its_training_values(seed, n_cuts, decimals):
    rng = np.random.default_rng(seed)
    y = np.append(np.round(rng.normal(size=30), decimals), [-1.0, 1.0])
    target = BinnedTarget.fit(y, rng.integers(1, 4, 32).astype(float), n_cuts)
    lower = np.append(rng.normal(size=20), y[:5])
    upper = np.append(lower[:20] + rng.exponential(size=20), y[:5])
    lower[:3], upper[3:6] = -np.inf, np.inf
    labels, proba = target.encode_intervals(lower, upper), rng.dirichlet(np.ones(target.n_classes), size=7)
    parts = labels.patterns[labels.codes]
    np.testing.assert_array_equal(parts.max(axis=1), 1.0)
    points = np.column_stack([np.nextafter(lower, -np.inf), upper])
    for part, point in zip(parts, np.clip(points, -1e300, 1e300), strict=True):
        below, up_to = target.cdf(proba, point[np.newaxis]).T
        inside = up_to - below
        if inside.max() > 1e-12:
            np.testing.assert_allclose(proba @ part * inside[0] / (proba[0] @ part), inside, rtol=1e-7, atol=1e-12)
        else:
            assert np.count_nonzero(part) == 1


def test_intervals_without_a_training_value_belong_to_the_class_around_them():
    target = BinnedTarget.fit(np.arange(10.0), None, np.array([2.0, 5.0]))
    found = target.encode_intervals(np.array([-9.0, 2.2, 4.3, 11.0]), np.array([-8.0, 2.8, 4.6, np.inf]))
    assert found.patterns[found.codes].tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]


# Evaluation


def data(n=900, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, followed(np.exp(X[:, 0] + rng.normal(size=n)), rng.exponential(3.0, n))


class Exponential(OrdinalDistributionRegressor):
    """Exponential lives, whose means are a multiple of the feature."""

    def __init__(self, times):
        self.times = times

    def predict_cdf(self, X, t):
        return 1.0 - np.exp(-np.maximum(np.asarray(t, dtype=float), 0.0) / (self.times * X[:, :1]))


@pytest.mark.parametrize("watched", ["all alike", "briefly", "by their life"])
def test_the_log_loss_is_lowest_at_the_truth(watched):
    """Where a row that is cut short could be in the whole of its class, shorter lives would have a lower loss."""
    losses, rng = [], np.random.default_rng(0)
    for _ in range(6):
        X = 8.0 * np.exp(0.7 * rng.normal(size=(2000, 1)))
        until = {
            "all alike": rng.uniform(1.0, 16.0, 2000),
            "briefly": rng.exponential(3.0, 2000),
            "by their life": rng.exponential(X[:, 0]),
        }
        ends = followed(rng.exponential(X[:, 0]), until[watched])
        losses.append([Exponential(times).log_loss(X, ends) for times in (0.8, 0.9, 1.0, 1.1, 1.25)])
    shorter, short, truth, long, longer = np.mean(losses, axis=0)
    assert truth < short < shorter
    assert truth < long < longer


def test_the_log_loss_counts_classes_of_the_rows_and_their_weights():
    X, y = data()[0], np.arange(900.0)
    model = OrdinalDistributionRegressor(STOPPING["native"], n_cuts=8).fit(X, np.random.default_rng(0).permutation(y))
    weight = np.random.default_rng(1).integers(1, 3, 900).astype(float)
    cuts = BinnedTarget.fit(y, weight, 30).cuts
    proba = np.diff(model.predict_cdf(X, cuts), axis=1, prepend=0.0, append=1.0)
    expected = -np.average(np.log(proba[np.arange(900), np.searchsorted(cuts, y)]), weights=weight)
    assert model.log_loss(X, y, weight) == pytest.approx(expected)
    assert model.log_loss(X, np.column_stack([y, y]), weight) == pytest.approx(expected)
