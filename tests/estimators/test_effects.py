"""Accumulated local effects and average marginal effects, against loops and by hand."""

from __future__ import annotations

from itertools import pairwise

import lightgbm
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csr_matrix
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from makers import ALL, make_cat, make_engine, make_lgb
from ordinal_objectives import LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm
from ordinal_objectives.inspection import accumulated_local_effects, average_marginal_effects, feature_effect


class Model:
    """Margins theta_k - b_k(x), with a probability of each class."""

    thresholds_ = np.array([-1.0, 1.0])

    def __init__(self, effects):
        self.effects = effects

    def predict_linear_predictors(self, X):
        return self.thresholds_ - self.effects(np.asarray(X, dtype=float))

    def predict_proba_ordered(self, X):
        below = np.sort(1 / (1 + np.exp(-self.predict_linear_predictors(X))), axis=1)
        return np.diff(np.c_[np.zeros(len(below)), below, np.ones(len(below))], axis=1)


def added(X):
    return np.c_[np.sin(X[:, 0]) + X[:, 1] ** 2, 2 * X[:, 0] + X[:, 1] ** 2]


def multiplied(X):
    return np.repeat((X[:, 0] * X[:, 1])[:, None], 2, axis=1)


@pytest.fixture(scope="module")
def together():
    """Two features that are almost the same."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 4000)
    return np.c_[x, x + 0.05 * rng.normal(size=4000)]


def test_added_effects_are_found_up_to_their_mean():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    found = accumulated_local_effects(Model(added), X, 0, grid_resolution=50)
    z = found.values
    effects = np.c_[np.sin(z), 2 * z]
    for one, expected in ((found.score, effects.mean(axis=1)), (found.shifts, effects - effects.mean(axis=1)[:, None])):
        np.testing.assert_allclose(one - one[0], expected - expected[0], atol=1e-12)
    rows = np.interp(X[:, 0], z, found.score)
    assert abs(rows.mean()) < 0.01  # straight within an interval, where the mean of its ends is taken


def test_features_that_depend_on_each_other_are_not_pulled_apart(together):
    """Of x0 x1 with x0 = x1, the slope along x0 is x1 = x0: the effect is x0^2/2. Partial dependence sees x0 E(x1)."""
    found = accumulated_local_effects(Model(multiplied), together, 0, grid_resolution=40)
    np.testing.assert_allclose(found.score, found.values**2 / 2 - 1 / 6, atol=0.01)
    partial = feature_effect(Model(multiplied), together, 0)
    assert np.abs(partial.score - partial.score.mean()).max() < 0.03 < 0.3 < np.ptp(found.score)


def test_a_feature_without_an_effect_of_its_own_has_none(together):
    found = accumulated_local_effects(Model(lambda X: np.repeat(X[:, [1]], 2, axis=1)), together, 0)
    np.testing.assert_array_equal(found.score, 0.0)


@pytest.mark.parametrize("resolution", [1, 3, 7])
def test_it_is_the_sum_of_mean_changes(resolution):
    """Row after row, interval after interval; with ties and missing values."""
    rng = np.random.default_rng(1)
    X = np.c_[rng.integers(0, 6, 80) / 2.0, rng.normal(size=80)]
    model = Model(lambda X: np.c_[X[:, 0] * X[:, 1], X[:, 0] ** 2])
    with_missing = np.r_[X, [[np.nan, 1.0], [np.inf, 1.0]]]
    found = accumulated_local_effects(model, with_missing, 0, grid_resolution=resolution)
    edges, effect, means = found.values, [np.zeros(3)], []
    assert edges[0] == X[:, 0].min()
    assert edges[-1] == X[:, 0].max()
    assert np.isin(edges, X[:, 0]).all()
    for low, high in pairwise(edges):
        inside = [x for x in X if low < x[0] <= high or (low == edges[0] == x[0])]
        changes = [
            model.predict_proba_ordered([[high, x[1]]])[0] - model.predict_proba_ordered([[low, x[1]]])[0]
            for x in inside
        ]
        effect.append(effect[-1] + np.mean(changes, axis=0))
        means += [(effect[-1] + effect[-2]) / 2] * len(inside)
    np.testing.assert_allclose(found.proba, np.array(effect) - np.mean(means, axis=0), atol=1e-12)
    np.testing.assert_allclose(found.proba.sum(axis=1), 0.0, atol=1e-12)


@ALL
def test_every_classifier_has_them(make, ordinal_data):
    X, y = ordinal_data(300, 4)
    frame, before = pd.DataFrame(X).add_prefix("x"), X.copy()
    model = make(proportional=False).fit(frame, y)
    found = accumulated_local_effects(model, frame, "x0", grid_resolution=10)
    assert found.values.shape == found.score.shape == (11,)
    np.testing.assert_allclose(found.shifts.sum(axis=1), 0.0, atol=1e-12)
    assert np.ptp(found.score) > 0.3
    np.testing.assert_array_equal(X, before)


def test_a_pipeline_is_given_its_own_features(ordinal_data):
    X, y = ordinal_data(200, 3)
    scaled = make_pipeline(StandardScaler(), make_engine(max_iter=4)).fit(X, y)
    found = accumulated_local_effects(scaled, X, 0)
    expected = accumulated_local_effects(scaled[-1], scaled[0].transform(X), 0)
    np.testing.assert_allclose(found.score, expected.score, atol=1e-12)
    np.testing.assert_allclose(
        scaled[0].transform(np.c_[found.values, np.zeros((21, X.shape[1] - 1))])[:, 0], expected.values
    )


# Average marginal effects: by hand, of numbers and categories, in every table, and what their intervals are of


class Logistic:
    """P(y <= k) = sigma(theta_k - b x0 - x0 x1), exactly."""

    thresholds_ = np.array([-1.0, 1.0])
    ordered_classes_ = np.array(["low", "middle", "high"])

    def predict_linear_predictors(self, X):
        X = np.asarray(X, dtype=float)
        score = np.where(np.isnan(X[:, 0]), 0.0, X[:, 0]) * (1.5 + X[:, 1])
        return self.thresholds_ - score[:, None]

    def predict_proba_ordered(self, X):
        below = 1 / (1 + np.exp(-self.predict_linear_predictors(X)))
        return np.diff(np.c_[np.zeros(len(below)), below, np.ones(len(below))], axis=1)


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(200, 2))


def by_loop(model, X, low, high, weight=None):
    """Return the mean change of probabilities, row after row."""
    changes = []
    for row, at_low, at_high in zip(X, low, high, strict=True):
        before, after = row.copy(), row.copy()
        before[0], after[0] = at_low, at_high
        changes.append(model.predict_proba_ordered(after[None])[0] - model.predict_proba_ordered(before[None])[0])
    return np.average(changes, axis=0, weights=weight)


@pytest.mark.parametrize("step", [0.5, 1.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_effects_are_mean_changes_around_each_row(step, weighted, rows):
    weight = np.random.default_rng(1).gamma(2.0, size=200) if weighted else None
    found = average_marginal_effects(Logistic(), rows, 0, step=step, sample_weight=weight, random_state=0)
    expected = by_loop(Logistic(), rows, rows[:, 0] - step / 2, rows[:, 0] + step / 2, weight)
    np.testing.assert_allclose(found.effects, expected, atol=1e-12)
    assert found.step == step


def test_a_row_of_weight_two_is_two_rows_and_one_of_weight_zero_is_none(rows):
    weight = np.random.default_rng(0).integers(0, 3, size=200)
    X = np.r_[rows, [[50.0, 0.0]]]
    found = average_marginal_effects(Logistic(), X, 0, sample_weight=np.r_[weight, 0])
    repeated = average_marginal_effects(Logistic(), rows[np.repeat(np.arange(200), weight)], 0)
    assert found.step == pytest.approx(repeated.step)
    np.testing.assert_allclose(found.effects, repeated.effects, atol=1e-12)
    two = np.c_[weight, rows[:, 1]].astype(float)  # a feature of two values where it has weight
    assert average_marginal_effects(Logistic(), two, 0, sample_weight=weight).levels.tolist() == [2.0]


def test_the_step_is_the_standard_deviation_unless_given(rows):
    X = np.r_[rows, [[np.nan, 0.0]]]  # a missing value does not count
    found = average_marginal_effects(Logistic(), X, 0, random_state=0)
    assert found.step == pytest.approx(rows[:, 0].std())
    same = average_marginal_effects(Logistic(), rows, 0, step=rows[:, 0].std(), random_state=0)
    np.testing.assert_allclose(found.effects, same.effects, atol=1e-12)


def test_two_values_are_two_levels(rows):
    X = rows.copy()
    X[:, 0] = X[:, 0] > 0
    found = average_marginal_effects(Logistic(), X, 0, random_state=0)
    np.testing.assert_allclose(found.effects[0], by_loop(Logistic(), X, np.zeros(200), np.ones(200)), atol=1e-12)
    assert (found.reference, found.levels.tolist(), found.step) == (0.0, [1.0], None)
    back = average_marginal_effects(Logistic(), X, 0, reference=1.0, random_state=0)
    np.testing.assert_allclose(back.effects, -found.effects, atol=1e-12)


def test_there_are_no_intervals_without_refits(rows):
    """Those of a fixed model would not hold the true effect."""
    found = average_marginal_effects(Logistic(), rows, 0, step=1.0)
    assert found.lower is None
    assert found.upper is None


def test_few_refits_hold_the_true_effect():
    """Four of the four classes on most of six data sets, by ten copies of a model that shrinks effects."""
    truth, held = Logistic(), []
    others = np.random.default_rng(9).normal(size=(20_000, 2))
    effect = average_marginal_effects(truth, others, 0, step=1.0).effects
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(500, 2))
        y = (rng.random((500, 1)) > np.cumsum(truth.predict_proba_ordered(X), axis=1)[:, :-1]).sum(axis=1)
        model = make_engine(max_iter=15, learning_rate=0.1, max_leaf_nodes=8).fit(X, y)
        found = average_marginal_effects(model, X, 0, step=1.0, n_refits=10, random_state=seed)
        held.append((found.lower <= effect) & (effect <= found.upper))
    assert np.mean(held) > 0.85


@ALL
@pytest.mark.parametrize("proportional", [True, False])
def test_effects_and_drawn_effects_sum_to_zero(make, proportional, ordinal_data):
    X, y = ordinal_data(150, 4)
    model = make(proportional=proportional).fit(X, y)
    trees = model.predict_proba(X)
    found = average_marginal_effects(model, X, 0, n_refits=3, random_state=0)
    assert found.effects.shape == (4,)
    assert abs(found.effects.sum()) < 1e-12
    assert np.abs(found.effects).max() > 0.01
    assert (found.lower <= found.upper).all()
    assert abs((found.lower + found.upper).sum()) < 1e-12
    np.testing.assert_array_equal(model.predict_proba(X), trees)
    again = average_marginal_effects(model, X, 0, n_refits=3, random_state=0)
    np.testing.assert_array_equal(again.lower, found.lower)


def test_categories_are_compared_with_a_reference():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"site": pd.Categorical(rng.choice(["n", "s", "w"], 600)), "x": rng.normal(size=600)})
    names = np.array(["bad", "fair", "good"])
    codes = np.digitize(2.0 * (frame["site"] == "s") + frame["x"] + rng.logistic(size=600), [0.0, 1.5])
    model = XGBOrdinalClassifier(n_estimators=20, classes=names, n_jobs=1).fit(frame, names[codes])
    found = average_marginal_effects(model, frame, "site", reference="s", n_refits=3, random_state=0)
    assert found.levels.tolist() == ["n", "w"]
    assert (found.effects[:, 0] > 0.1).all()
    for level, effects in zip("nw", found.effects, strict=True):
        all_there, all_s = frame.copy(), frame.copy()
        all_there["site"] = pd.Categorical([level] * 600, categories=["n", "s", "w"])
        all_s["site"] = pd.Categorical(["s"] * 600, categories=["n", "s", "w"])
        expected = (model.predict_proba_ordered(all_there) - model.predict_proba_ordered(all_s)).mean(axis=0)
        np.testing.assert_allclose(effects, expected, atol=1e-12)
    table = found.to_frame()
    assert table.index.names == ["level", "class"]
    assert table.loc[("w", "good"), "effect"] == found.effects[1, 2]
    assert table.columns.tolist() == ["effect", "lower", "upper"]
    numbers = average_marginal_effects(model, frame, "x", random_state=0).to_frame()
    assert numbers.index.tolist() == ["bad", "fair", "good"]
    assert numbers.columns.tolist() == ["effect"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"step": 0.0}, ValueError, r"step must be a finite number above 0; got 0.0"),
        ({"step": "a"}, TypeError, r"step must be a finite number above 0; got 'a'"),
        ({"reference": 1.0}, ValueError, r"reference is for categories, and feature 0 holds numbers"),
        ({"confidence": 1.0}, ValueError, r"confidence must be a finite number above 0 and below 1; got 1.0"),
        ({"n_refits": 1}, ValueError, r"n_refits must be 0 or at least 2; got 1"),
        ({"n_refits": -1}, ValueError, r"n_refits must be an integer at least 0; got -1"),
        ({"n_refits": True}, TypeError, r"n_refits must be an integer at least 0; got True"),
        ({"feature": 3}, ValueError, r"feature must be a column from 0 to 2; got 3"),
        ({"feature": 2, "reference": 7.0}, ValueError, "7.0 is not in list"),
        ({"sample_weight": [1.0]}, ValueError, r"sample_weight must have shape \(200,\)"),
    ],
)
def test_wrong_arguments_of_marginal_effects_are_named(options, error, message, rows):
    X = np.c_[rows[:, 0], np.ones(200), rows[:, 1] > 0]
    with pytest.raises(error, match=message):
        average_marginal_effects(Logistic(), **{"X": X, "feature": 0, **options})


def test_copies_that_shrink_move_the_interval_away_from_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    y = (rng.logistic(size=(800, 1)) > np.array([-1.5, 1.5]) - 2.0 * X[:, [0]]).sum(axis=1)
    model = make_engine(max_iter=5, learning_rate=0.1).fit(X, y)
    found = average_marginal_effects(model, X, 0, step=1.0, n_refits=10, random_state=0)
    middle = (found.lower + found.upper) / 2
    assert (middle[[0, 2]] / found.effects[[0, 2]] > 1.2).all()
    assert abs(middle.sum()) < 1e-12


def test_intervals_of_copies_by_a_loop(ordinal_data):
    """The same draws, one copy after the other."""
    X, y = ordinal_data(150, 3)
    model = make_engine(max_iter=4, random_state=5).fit(X, y)
    found = average_marginal_effects(model, X, 0, step=1.0, n_refits=6, confidence=0.9, random_state=3)
    random, proba, effects = np.random.RandomState(3), model.predict_proba_ordered(X), []
    for _ in range(6):
        rows = random.randint(150, size=150)
        draws = random.random_sample((150, 1))[:, 0]
        labels = [int(np.searchsorted(np.cumsum(proba[row])[:-1], draw)) for row, draw in zip(rows, draws, strict=True)]
        copy = make_engine(max_iter=4, classes=[0, 1, 2], random_state=int(random.randint(2**31 - 1)))
        copy.fit(X[rows], np.array(labels))
        effects.append(by_loop(copy, X[rows], X[rows, 0] - 0.5, X[rows, 0] + 0.5))
    mean, spread = np.mean(effects, axis=0), np.std(effects, axis=0, ddof=1)
    kept = np.clip((mean @ found.effects) / (found.effects @ found.effects), 0.5, 1.0)
    middle, quantile = 2 * found.effects - mean, 2.0150484  # of Student's t with five degrees of freedom
    np.testing.assert_allclose(found.lower, middle - quantile * spread / kept, atol=1e-7)
    np.testing.assert_allclose(found.upper, middle + quantile * spread / kept, atol=1e-7)


def all_effects(model, X):
    yield from feature_effect(model, X, 0)
    yield from accumulated_local_effects(model, X, 0, grid_resolution=4)
    for step in (None, 1.0):
        yield average_marginal_effects(model, X, 0, step=step).effects
    yield average_marginal_effects(model, X, 1).effects


def with_holes():
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(-3, 9, size=300), rng.integers(0, 2, size=300)].astype(float)
    y = np.digitize(X[:, 0] + 4 * X[:, 1] + rng.normal(size=300), [2.0, 5.0])
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, y


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_a_number_that_means_missing_is_no_value(kind):
    X, y = with_holes()
    expected = all_effects(XGBOrdinalClassifier(n_estimators=5).fit(X, y), X)
    marked = kind(np.nan_to_num(X, nan=-99.9).astype(np.float32))
    found = all_effects(XGBOrdinalClassifier(n_estimators=5, missing=-99.9).fit(marked, y), marked)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_zeros_that_are_missing_are_no_numbers(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.arange(200) % 3
    X[rng.random(X.shape) < 0.3] = 0.0
    model = LGBMOrdinalClassifier(n_estimators=3, zero_as_missing=True).fit(X, y)
    data = lightgbm.Dataset(X, y, params={"zero_as_missing": True})
    olgbm.save_model(olgbm.train({"verbosity": -1}, data, 3), tmp_path / "model.txt")
    loaded = LGBMOrdinalClassifier().load_model(tmp_path / "model.txt")
    for one in (
        model,
        make_pipeline(StandardScaler(), model).fit(X, y),
        loaded,
        model.set_params(zero_as_missing=False),
    ):
        for effect in (feature_effect, accumulated_local_effects, average_marginal_effects):
            with pytest.raises(ValueError, match="estimator must not take 0 for a missing value"):
                effect(one, X, 0)


@pytest.mark.parametrize("stored", [np.asarray, pd.DataFrame, csr_matrix])
def test_a_step_onto_a_number_that_means_missing_is_no_missing_value(stored):
    X, y = with_holes()
    X += 4.0  # from 1 on
    expected = XGBOrdinalClassifier(n_estimators=5).fit(X, y)
    marked = stored(np.nan_to_num(X, nan=-1.0))
    found = XGBOrdinalClassifier(n_estimators=5, missing=-1.0).fit(marked, y)
    for step in (4.0, 5.0):
        effects = (average_marginal_effects(*of, 0, step=step).effects for of in ((found, marked), (expected, X)))
        np.testing.assert_allclose(*effects, atol=1e-6)
    table = pd.DataFrame({"letter": pd.Categorical(np.resize(["a", "b", "c"], len(y)))})
    plain, marked = (XGBOrdinalClassifier(n_estimators=2, missing=of).fit(table, y) for of in (np.nan, 1.0 + 1e-9))
    np.testing.assert_array_equal(marked.predict_proba(table), plain.predict_proba(table))  # no code is missing


@pytest.mark.parametrize("kind", [csr_matrix, coo_array])
def test_what_a_sparse_matrix_does_not_store_is_missing_to_xgboost(kind):
    X, y = with_holes()
    model = XGBOrdinalClassifier(n_estimators=5).fit(X, y)
    rows, columns = np.nonzero(np.isfinite(X))
    sparse = kind((X[rows, columns], (rows, columns)), shape=X.shape)  # zeros are stored
    np.testing.assert_array_equal(model.predict_proba(sparse), model.predict_proba(X))
    for one, other in zip(all_effects(model, sparse), all_effects(model, X), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("make", [XGBOrdinalClassifier, make_lgb, make_cat])
def test_entries_that_a_sparse_matrix_stores_twice_are_added_up(make):
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = np.digitize(X @ [1.0, 0.5], [-0.5, 0.5])
    places = np.repeat(np.arange(400), 2)
    halves = csr_matrix((np.c_[0.25 * X.ravel(), 0.75 * X.ravel()].ravel(), places % 2, np.arange(0, 801, 4)), X.shape)
    model = make().fit(X, y)
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(halves), expected)
    np.testing.assert_array_equal(make().fit(halves, y).predict_proba(X), expected)
    assert halves.nnz == 800  # those of the caller stay
    found, wanted = (average_marginal_effects(model, rows, 0).effects for rows in (halves, X))
    np.testing.assert_allclose(found, wanted)
