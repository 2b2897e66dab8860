"""OrdinalDistributionRegressor beside the classifier inside it, the classes it cuts, and what a regressor should do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from makers import scikit_learn_checks
from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalCalibratedClassifier,
    OrdinalDistributionRegressor,
    OrdinalEnsembleClassifier,
    OrdinalPredictionSets,
    OrdinalTunedClassifier,
    XGBOrdinalClassifier,
)
from ordinal_objectives.distributions import (
    DistributionScorer,
    interval_coverage,
    interval_width,
    quantile_loss,
    regressor as module,
)
from ordinal_objectives.rows import native

TRAINERS = {
    "native": lambda **more: HistGradientBoostingOrdinalClassifier(
        max_iter=15, early_stopping=False, n_jobs=1, random_state=0, **more
    ),
    "xgboost": lambda **more: XGBOrdinalClassifier(n_estimators=15, n_jobs=1, random_state=0, **more),
    "lightgbm": lambda **more: LGBMOrdinalClassifier(n_estimators=15, n_jobs=1, verbosity=-1, random_state=0, **more),
}
EACH = pytest.mark.parametrize("make", TRAINERS.values(), ids=TRAINERS)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    return X, X[:, 0] + np.exp(0.5 * X[:, 1]) * rng.normal(size=600)


@EACH
def test_it_is_the_classifier_of_the_cut_classes(make, data):
    X, y = data
    model = OrdinalDistributionRegressor(make(), n_cuts=7).fit(X, y)
    edges = np.append(model.cuts_, np.inf)
    codes = np.argmax(y[:, np.newaxis] <= edges, axis=1)
    inner = make(classes=range(8)).fit(X, codes)
    proba = inner.predict_proba(X)
    np.testing.assert_array_equal(model.estimator_.predict_proba(X), proba)
    np.testing.assert_allclose(model.predict_cdf(X, model.cuts_), proba.cumsum(axis=1)[:, :-1], atol=1e-12)
    np.testing.assert_allclose(np.bincount(codes) / 600, 1 / 8, atol=0.002)


@EACH
def test_numbers_of_few_values_are_the_classes(make, data):
    X, y = data[0], np.digitize(data[1], [-1, 0, 1])
    model = OrdinalDistributionRegressor(make()).fit(X, y / 10)
    proba = make().fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(model.estimator_.predict_proba(X), proba)
    np.testing.assert_allclose(model.predict(X), proba @ np.arange(4) / 10)
    np.testing.assert_allclose(model.predict_cdf(X, [0.0, 0.1, 0.25]), proba.cumsum(axis=1)[:, :3], atol=1e-12)


@EACH
def test_a_rising_transformation_of_y_changes_nothing_but_the_scale(make, data):
    X, y = data
    plain, other = (OrdinalDistributionRegressor(make()).fit(X, values) for values in (y, np.exp(y)))
    for name in ("predict_raw", "predict_proba"):
        np.testing.assert_array_equal(*(getattr(model.estimator_, name)(X) for model in (plain, other)))
    np.testing.assert_array_equal(plain.estimator_.thresholds_, other.estimator_.thresholds_)
    levels = np.linspace(0, 1, 21)
    np.testing.assert_allclose(other.predict_quantile(X, levels), np.exp(plain.predict_quantile(X, levels)), rtol=1e-12)


def test_quantiles_rise_with_the_level_and_agree_with_the_rest(data):
    X, y = data
    model = OrdinalDistributionRegressor(TRAINERS["native"](), prediction="median").fit(X, y)
    levels = np.linspace(0, 1, 101)
    quantiles = model.predict_quantile(X, levels)
    assert (np.diff(quantiles, axis=1) >= 0).all()
    assert (model.predict_cdf(X, quantiles) >= levels - 1e-9).all()
    assert (model.predict_cdf(X, np.nextafter(quantiles, -np.inf))[:, 1:] < levels[1:] + 1e-9).all()
    np.testing.assert_array_equal(model.predict(X), quantiles[:, 50])
    np.testing.assert_array_equal(model.predict_interval(X, 0.9), quantiles[:, [5, 95]])
    np.testing.assert_allclose(model.predict_exceedance(X, 0.3), 1 - model.predict_cdf(X, 0.3))
    np.testing.assert_allclose(2 * quantile_loss(y, quantiles, levels), model.crps(X, y), rtol=0.02)
    ends = model.pit(X, y)
    np.testing.assert_allclose(ends[:, 1], np.diag(model.predict_cdf(X, y)))
    assert (ends[:, 0] < ends[:, 1]).all()


def test_draws_have_the_predicted_distribution(data):
    X, y = data
    model = OrdinalDistributionRegressor(TRAINERS["native"](), random_state=3).fit(X, y)
    draws = model.sample(X[:3], 10_000)
    np.testing.assert_array_equal(draws, model.sample(X[:3], 10_000))
    assert np.isin(draws, y).all()
    for row, cdf in zip(draws, model.predict_cdf(X[:3], [-1.0, 0.0, 1.0]), strict=True):
        np.testing.assert_allclose([(row <= t).mean() for t in (-1, 0, 1)], cdf, atol=0.02)


def test_a_weight_of_crps_is_a_number_of_rows(data):
    X, y = data
    model = OrdinalDistributionRegressor(TRAINERS["native"]()).fit(X, y)
    some, times = slice(0, 60), np.arange(60) % 4
    found = model.crps(X[some], y[some], sample_weight=times)
    assert found == pytest.approx(model.crps(np.repeat(X[some], times, axis=0), np.repeat(y[some], times)))
    assert found != pytest.approx(model.crps(X[some], y[some]))


def test_blocks_change_nothing(data, monkeypatch):
    X, y = data
    model = OrdinalDistributionRegressor(TRAINERS["native"]()).fit(X, y)
    frame = pd.DataFrame(X, columns=list("abc"))
    named = OrdinalDistributionRegressor(TRAINERS["native"]()).fit(frame, y)
    own = np.column_stack([y, y + 1])

    def predicted() -> list[np.ndarray]:
        of_rows = model.predict(X), named.predict(frame), model.predict_cdf(X, own), model.predict_cdf(X, [0.0, 0.1])
        return [*of_rows, model.crps(X, y)]

    whole = predicted()
    monkeypatch.setattr(module, "_BLOCK", 7)
    for one, other in zip(whole, predicted(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@EACH
def test_weights_count_in_cuts_and_in_the_training(make, data):
    X, y = data
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    model = OrdinalDistributionRegressor(make(), n_cuts=9).fit(X, y, weight)
    some = np.repeat(y, weight.astype(int))
    np.testing.assert_array_equal(model.cuts_, np.quantile(some, np.arange(1, 10) / 10, method="inverted_cdf"))
    inner = make(classes=range(10)).fit(X, np.searchsorted(model.cuts_, y), sample_weight=weight)
    np.testing.assert_array_equal(model.estimator_.predict_proba(X), inner.predict_proba(X))
    mean = [some[np.searchsorted(model.cuts_, some) == k].mean() for k in range(10)]
    np.testing.assert_allclose(model.predict(X), inner.predict_proba(X) @ mean)


def test_conformal_intervals_hold_what_they_promise():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 2))
    y = X[:, 0] + rng.standard_t(3, size=3000)
    sets = OrdinalPredictionSets(TRAINERS["native"](), alpha=0.1, random_state=0)
    model = OrdinalDistributionRegressor(sets, n_cuts=50).fit(X[:1500], y[:1500])
    interval = model.predict_conformal_interval(X[1500:])
    assert 0.87 < interval_coverage(y[1500:], interval) < 0.95
    assert interval_width(interval) < 0.6 * np.ptp(y)
    assert interval_width([[0.0, 1.0], [1.0, 3.0]]) == 1.5


FROZEN = FrozenEstimator(TRAINERS["native"]().fit(np.arange(60.0)[:, np.newaxis], np.arange(60) // 20 + 1))
WRONG: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "cuts must rise": ({"cuts": [1.0, 0.0]}, {}),
    "n_cuts=3 and cuts are two ways": ({"cuts": [0.0], "n_cuts": 3}, {}),
    "n_cuts must be": ({"n_cuts": 0}, {}),
    "prediction must be one of": ({"prediction": "mode"}, {}),
    "has classes": ({"estimator": TRAINERS["native"](classes=[1, 2])}, {}),
    "has a training_cost": ({"estimator": TRAINERS["native"](training_cost="quadratic")}, {}),
    "class_weight by label": ({"estimator": TRAINERS["native"](class_weight={0: 2})}, {}),
    "got one in FrozenEstimator": ({"estimator": FROZEN}, {}),
    "y must hold at least two distinct values": ({}, {"y": np.ones(600)}),
    "y .*finite": ({}, {"y": np.append(np.ones(599), np.nan)}),
    "y .*masked": ({}, {"y": np.ma.array(np.arange(600.0), mask=np.arange(600) < 3)}),
    "y must be an array of numbers": ({}, {"y": np.arange(600).astype(str)}),
    "requires y to be passed": ({}, {"y": None}),
    "inconsistent numbers of samples": ({}, {"y": np.arange(5.0)}),
}


@pytest.mark.parametrize("message", WRONG)
def test_mistakes_are_named_and_leave_the_model(message, data):
    X, y = data
    model = OrdinalDistributionRegressor(TRAINERS["native"](), n_cuts=5).fit(X, y)
    before, (params, rows) = model.predict(X), WRONG[message]
    model.set_params(**{"n_cuts": "auto", **params})
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, rows.get("y", y))
    np.testing.assert_array_equal(model.set_params(prediction="mean").predict(X), before)


def test_points_and_levels_are_checked(data):
    X, y = data
    model = OrdinalDistributionRegressor(TRAINERS["native"](), n_cuts=5).fit(X, y)
    with pytest.raises(ValueError, match=r"q must hold levels in \[0, 1\]"):
        model.predict_quantile(X, 1.5)
    with pytest.raises(ValueError, match=r"^q must [^?]*$"):
        model.predict_quantile(X, -50)
    for q, meant in ((50, "0.5"), ([5, 95], r"\[0.05, 0.95\]")):
        with pytest.raises(ValueError, match=rf"^q must .*; did you mean {meant}\?$"):
            model.predict_quantile(X, q)
    with pytest.raises(ValueError, match=r"^coverage must .*; did you mean 0.9\?$"):
        model.predict_interval(X, 90)
    with pytest.raises(ValueError, match="t must have shape"):
        model.predict_cdf(X, np.zeros((3, 2)))
    with pytest.raises(ValueError, match="coverage"):
        model.predict_interval(X, 1.0)
    with pytest.raises(ValueError, match="quantiles must have shape"):
        quantile_loss(y, np.zeros((600, 2)), [0.5])
    with pytest.raises(ValueError, match=r"quantiles must have its levels in the order \[0.1, 0.9\]; got columns"):
        quantile_loss([1.0], pd.DataFrame([[2.0, 0.0]], columns=[0.9, 0.1]), [0.1, 0.9])
    with pytest.raises(ValueError, match="interval must have two columns"):
        interval_width([[1.0, 0.0]])


@scikit_learn_checks(
    [
        OrdinalDistributionRegressor(
            HistGradientBoostingOrdinalClassifier(max_iter=30, subsample=1.0, random_state=0), n_cuts=10
        )
    ]
)
def test_regressor_passes_the_checks_of_scikit_learn(estimator, check, monkeypatch):
    """Weighted rows are compared with repeated ones to 1e-7, to which float32 scores and sums of shifts do not agree.

    In float64, as here, they agree to 3e-9. What float32 promises is tested beside the engine.
    """
    if "weight_equivalence" in check.func.__name__:
        monkeypatch.setattr(native, "is_far", lambda scores: True)
    check(estimator)


BALANCED = TRAINERS["native"](class_weight="balanced")
OTHER_SHARES: dict[str, Any] = {
    **{f"{name} class_weight": make(class_weight="balanced") for name, make in TRAINERS.items()},
    "pipeline class_weight": make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced")),
    "search class_weight": GridSearchCV(LogisticRegression(), {"class_weight": [None, "balanced"]}),
    "search of a step class_weight": GridSearchCV(make_pipeline(BALANCED), {"steps": [[("one", BALANCED)]]}),
    "tuned class_weight": OrdinalTunedClassifier(BALANCED),
    "member class_weight": OrdinalEnsembleClassifier([("a", LogisticRegression()), ("b", BALANCED)]),
    "ensemble class_weight": OrdinalEnsembleClassifier(class_weight="balanced"),
    "sets class_weight": OrdinalPredictionSets(BALANCED),
    "bayes priors": GaussianNB(priors=[0.5, 0.5]),
    "bayes fit_prior": BernoulliNB(fit_prior=False),
}


@pytest.mark.parametrize("place", OTHER_SHARES)
def test_other_shares_of_the_classes_are_refused_at_any_depth(place, data):
    name = place.rpartition(" ")[2]
    with pytest.raises(ValueError, match=f"estimator has .*{name}=.*distorts probabilities: give it none"):
        OrdinalDistributionRegressor(OTHER_SHARES[place], n_cuts=5).fit(*data)


@pytest.mark.parametrize("wrap", [OrdinalCalibratedClassifier, CalibratedClassifierCV])
def test_what_is_calibrated_afterwards_may_have_them(wrap, data):
    """The rows say which shares the classes have."""
    X, y = data
    inner = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced"))
    OrdinalDistributionRegressor(make_pipeline(wrap(inner, cv=3)), cuts=[np.quantile(y, 0.9)]).fit(X, y)
    OrdinalDistributionRegressor(GaussianNB(), n_cuts=5).fit(X, y)


# Numbers of which only an interval is known


def censored(seed=0, n=500):
    """Return times that end at another time, as intervals that are open above, and the times."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    time, end = rng.exponential(size=n) * np.exp(0.7 * X[:, 0]), 2.0 * rng.exponential(size=n)
    return X, np.column_stack([np.minimum(time, end), np.where(time <= end, time, np.inf)]), time


def kaplan_meier(y, t):
    """Return P(T <= t) of intervals that are open above."""
    events, n_ended = np.unique(y[np.isfinite(y[:, 1]), 0], return_counts=True)
    n_running = np.array([np.sum(y[:, 0] >= event) for event in events])
    survival = np.append(1.0, np.cumprod(1.0 - n_ended / n_running))
    return 1.0 - survival[np.searchsorted(events, t, side="right")]


@pytest.mark.filterwarnings("ignore:no tree has a split")
@pytest.mark.parametrize("loss", ["all_threshold", "cumulative_link"])
def test_without_features_survival_is_kaplan_meiers(loss):
    _, y, _ = censored()
    t = np.array([0.1, 0.3, 0.7, 1.2, 2.5])
    inside = HistGradientBoostingOrdinalClassifier(loss=loss, max_iter=3, n_jobs=1)
    model = OrdinalDistributionRegressor(inside, n_cuts=40).fit(np.zeros((500, 1)), y)
    target, expected = model.target_, kaplan_meier(y, t)
    place = np.searchsorted(target.values, t, side="right") - 1
    np.testing.assert_allclose(target.share[place], expected, atol=1e-3)
    np.testing.assert_allclose(model.predict_cdf(np.zeros((1, 1)), t)[0], expected, atol=0.02)
    np.testing.assert_allclose(model.predict_exceedance(np.zeros((1, 1)), t)[0], 1 - expected, atol=0.02)


@EACH
def test_known_numbers_are_intervals_of_themselves(make, data):
    X, y = data
    both = OrdinalDistributionRegressor(make()).fit(X, np.column_stack([y, y]))
    once = OrdinalDistributionRegressor(make()).fit(X, y)
    np.testing.assert_allclose(both.cuts_, once.cuts_)
    np.testing.assert_array_equal(both.predict_quantile(X, [0.1, 0.9]), once.predict_quantile(X, [0.1, 0.9]))


@EACH
def test_ends_between_two_training_values_add_no_class(make, data):
    """An upper end lies above the class of its highest training value, not in the next one."""
    X, y = data[0], np.round(data[1])
    y, ends = np.column_stack([y, y]), np.column_stack([y - 0.25, y + 0.25])
    ends[::2] = y[::2]
    once, found = (OrdinalDistributionRegressor(make(), n_cuts=50).fit(X, of) for of in (y, ends))
    np.testing.assert_array_equal(found.cuts_, once.cuts_)
    np.testing.assert_array_equal(found.estimator_.predict_proba(X), once.estimator_.predict_proba(X))


def test_searches_over_intervals_judge_by_their_log_loss(data):
    X, y = data
    ends = np.column_stack([np.floor(y), np.floor(y) + 0.9])
    ends[::5, 1] = np.inf
    search = GridSearchCV(
        OrdinalDistributionRegressor(TRAINERS["native"]()),
        {"n_cuts": [1, 8]},
        cv=2,
        scoring=DistributionScorer("log_loss"),
        error_score="raise",
    ).fit(X, ends)
    assert search.best_params_ == {"n_cuts": 8}
    weight = np.random.default_rng(0).integers(0, 3, 600)
    proba, values = search.best_estimator_.estimator_.predict_proba(X), search.best_estimator_.target_.values
    inside = (ends[:, :1] <= values) & (values <= ends[:, 1:])
    target = search.best_estimator_.target_
    mass = np.diff(target.cdf(proba, values[np.newaxis]), axis=1, prepend=0.0)
    expected = np.log(np.maximum((mass * inside).sum(axis=1), 2.0**-52))
    scorer = DistributionScorer("log_loss")
    np.testing.assert_allclose(scorer(search, X, ends, weight), np.average(expected, weights=weight))
