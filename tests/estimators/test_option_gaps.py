"""Options of classifiers and wrappers that had tests one by one, together, beside values by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit

from grouped_rows import crossed, simulated
from makers import MAKERS, given, make_engine, make_xgb
from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    OrdinalCalibratedClassifier,
    OrdinalDistributionRegressor,
    OrdinalEnsembleClassifier,
    OrdinalLabels,
    OrdinalPredictionSets,
)
from ordinal_objectives.columns import NEW
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.inspection.marginal_effects import _kept_shares
from ordinal_objectives.links import Logit
from ordinal_objectives.losses import CumulativeLink, get_loss
from ordinal_objectives.losses.built_in import check_order
from ordinal_objectives.metrics import ordinal_log_loss
from ordinal_objectives.random_effects import GroupColumn, RandomEffects, with_effects
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver import ThresholdLearner
from ordinal_objectives.threshold_solver.random_intercept import EffectsLearner
from ordinal_objectives.utils.files import labels_from_json


def test_conformal_intervals_of_few_cuts_end_where_their_classes_do():
    rng = np.random.default_rng(0)
    X, cuts = rng.normal(size=(400, 2)), np.array([-1.0, 0.0, 1.5])
    y = X[:, 0] + rng.normal(size=400)
    sets = OrdinalPredictionSets(make_engine(), alpha=0.3, random_state=0)
    model = OrdinalDistributionRegressor(sets, cuts=cuts).fit(X, y)
    classes = model.estimator_.predict_interval(X)
    below, above = np.append(y.min(), cuts), np.append(cuts, y.max())
    by_hand = np.column_stack([below[classes[:, 0]], above[classes[:, 1]]])
    found = model.predict_conformal_interval(X)
    # A cut stands at the highest training value below it.
    np.testing.assert_allclose(found, by_hand, atol=0.05)
    assert ((found[:, 1] - found[:, 0]) > 0.5).all()


def test_weighted_rows_count_by_how_much_they_vary():
    rng = np.random.default_rng(0)
    P, y, weight = rng.dirichlet(np.ones(3), 60), np.arange(60) % 3, rng.uniform(0.1, 4.0, 60)
    model = OrdinalCalibratedClassifier(given(3)).fit(P, y, sample_weight=weight)
    assert model.fitted_curve().total == pytest.approx(weight.sum() ** 2 / (weight**2).sum())


def test_weights_are_found_on_the_last_of_several_sets(ordinal_data):
    X, y = ordinal_data(400, 4)
    weak, strong = make_engine(max_iter=1), make_engine(max_iter=20)
    first, last = (X[200:300], 3 - y[200:300]), (X[300:], y[300:])

    def weights(sets):
        members = [("weak", weak), ("strong", strong)]
        return OrdinalEnsembleClassifier(members, weights="log_loss").fit(X[:200], y[:200], eval_set=sets).weights_

    np.testing.assert_array_equal(weights([first, last]), weights([last]))
    assert np.abs(weights([last]) - weights([first])).max() > 0.3


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_balanced_weights_leave_out_classes_without_rows(make, ordinal_data):
    X, y = ordinal_data(200, 3)
    y, classes = 2 * y[y < 2], [0, 1, 2]  # class 1 has no rows
    X, y = X[: len(y)], y.copy()
    y[: len(y) // 3] = 0
    by_hand = len(y) / (2 * np.bincount(y, minlength=3))[y]
    balanced = make(classes=classes, class_weight="balanced").fit(X, y)
    weighted = make(classes=classes).fit(X, y, sample_weight=by_hand)
    np.testing.assert_allclose(balanced.predict_proba(X), weighted.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(balanced.training_loss_, weighted.training_loss_, rtol=1e-6)


def test_a_warm_start_goes_on_with_the_effects_of_the_groups():
    X, y, _, _ = simulated(10, 3, n_groups=30)
    options = {"loss": "cumulative_link", "random_intercept": 3, "subsample": 1.0, "early_stopping": False, "n_jobs": 1}
    model = HistGradientBoostingOrdinalClassifier(max_iter=4, warm_start=True, random_state=0, **options).fit(X, y)
    last = ordinal_log_loss(y, model.predict_proba(X))
    model.set_params(max_iter=8).fit(X, y)
    losses = [ordinal_log_loss(y, proba) for proba in model.staged_predict_proba(X)]
    np.testing.assert_allclose(losses[:-1], model.training_loss_[1:-1], rtol=1e-5)
    assert losses[4] < last


def test_rows_of_new_groups_in_two_columns_have_the_mean_over_both():
    X = np.array([[NEW, NEW], [0, NEW], [NEW, 1], [1, 0]])
    of = [np.array([0.4, -0.7]), np.array([-0.2, 0.9])]
    effects = [
        RandomEffects(GroupColumn(place, [0, 1]), values, np.ones(2), variance, 0.0, ((0, values, variance),))
        for place, values, variance in ((0, of[0], 2.0), (1, of[1], 0.5))
    ]
    scores, thresholds = np.array([0.3, -1.0, 0.5, 2.0]), np.array([-1.0, 0.5, 2.0])
    found = with_effects(scores, X, effects, get_loss("cumulative_link", "logit"), thresholds)
    nodes, weights = hermegauss(40)
    weights = weights / weights.sum()
    for row, (a, b) in enumerate([(None, None), (of[0][0], None), (None, of[1][1]), (of[0][1], of[1][0])]):
        first = np.sqrt(2.0) * nodes if a is None else np.full(40, a)
        second = np.sqrt(0.5) * nodes if b is None else np.full(40, b)
        f = scores[row] + first[:, None] + second[None, :]
        below = np.einsum("i,j,ijk->k", weights, weights, expit(thresholds - f[:, :, None]))
        np.testing.assert_allclose(expit(thresholds - found[row]), below, atol=1e-4)


def test_effects_of_one_column_step_after_those_of_another():
    """Each column's step is taken at the gradient that the columns before it leave."""
    X, _, _ = crossed(0, n_groups=(6, 5), n=300)
    rng = np.random.default_rng(0)
    gradient, hessian = rng.normal(size=300), rng.uniform(0.1, 0.3, 300)
    columns = GroupColumn.learn(X, [3, 4])

    def moved(chosen, gradient):
        learner, score = EffectsLearner(chosen, X, 1), np.zeros(300)
        learner.begin(SimpleNamespace(gradient=gradient, hessian=hessian))
        learner.move(1.0, score)
        return score

    first = moved(columns[:1], gradient)
    second = moved(columns[1:], gradient + hessian * first)
    np.testing.assert_allclose(moved(columns, gradient), first + second, atol=1e-12)
    assert np.abs(second - moved(columns[1:], gradient)).max() > 1e-3


def test_noise_of_categories_is_that_of_all_rows(monkeypatch):
    """Rows come sorted by label: the first ones are of one class."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"category": pd.Categorical(rng.integers(0, 12, 20_000)), "number": rng.normal(size=20_000)})
    y = np.digitize(X["number"] + rng.logistic(size=20_000), [-2.0, 0.0, 3.0])
    order, noise, plain = np.argsort(y, kind="stable"), [], EngineRun._category_noise

    def noted(run):
        noise.append(plain(run))
        return noise[-1]

    monkeypatch.setattr(EngineRun, "_category_noise", noted)
    make = {"max_iter": 1, "n_jobs": 1, "subsample": 1.0, "proportional": True, "early_stopping": False}
    for rows in (order, rng.permutation(20_000)):
        HistGradientBoostingOrdinalClassifier(random_state=0, **make).fit(X.iloc[rows], y[rows])
    assert noise[0] == pytest.approx(noise[1], rel=0.03)


def test_the_first_trees_of_gradient_sampling_are_grown_on_all_rows(ordinal_data):
    """1 / learning_rate of them, here two, as in LightGBM."""
    X, y = ordinal_data(400, 4)
    options = {"max_iter": 3, "learning_rate": 0.5, "random_state": 0, "proportional": True}
    sampled, all_rows = (
        list(make_engine(**options, **how).fit(X, y).staged_predict_proba(X))
        for how in ({"data_sample_strategy": "goss"}, {})
    )
    for n_trees in (1, 2):
        np.testing.assert_array_equal(sampled[n_trees - 1], all_rows[n_trees - 1])
    assert np.abs(sampled[2] - all_rows[2]).max() > 1e-3


def test_a_share_that_is_missing_in_part_of_a_row_is_refused():
    with pytest.raises(ValueError, match="shares"):
        OrdinalLabels.from_shares([[0.5, 0.5, 0.0], [np.nan, 0.5, 0.5]])


def test_copies_that_keep_more_than_the_effects_count_as_all():
    effects = np.array([[0.2, -0.1, -0.1]])
    assert _kept_shares(effects, 2.0 * effects) == 1.0
    assert _kept_shares(effects, 0.75 * effects) == pytest.approx(0.75)


class OwnLogit(Logit):
    """A link of a user's with all derivatives."""

    name = "own logit"
    mirror = "own logit"


def test_a_cumulative_link_of_a_users_own_has_no_steps_of_higher_order():
    assert OwnLogit.highest_order == 4
    with pytest.raises(ValueError, match="order"):
        check_order(CumulativeLink(OwnLogit()), "exact", 4)
    check_order(CumulativeLink("logit"), "exact", 4)


@pytest.mark.parametrize(
    ("labels", "dtype"), [([1.0, 2.0], "<i8"), ([1, 2], "<f8"), ([1, 300], "|i1"), (["1", "2"], "<i8"), ([0, 1], "|b1")]
)
def test_labels_of_a_file_are_of_the_type_that_it_names(labels, dtype):
    with pytest.raises((ValueError, OverflowError)):
        labels_from_json(labels, dtype)


def test_a_step_of_the_cumulative_link_is_that_of_the_whole_tridiagonal():
    """Its thresholds depend on their neighbours; the loss alone would not show a step without them."""
    rng = np.random.default_rng(0)
    loss, y, f = get_loss("cumulative_link", "logit"), rng.integers(0, 4, 500), rng.normal(size=500)
    learner = ThresholdLearner(OrdinalSpec(loss), np.bincount(y).astype(np.float64))
    before = learner.thresholds
    now = loss.round_statistics(f, y, before, hessian=learner.step_hessian)
    assert learner.newton(now, lambda at: float(loss.value(f, y, at).sum()), lambda value: value)
    off = np.diag(now.threshold_hessian_off, 1)
    expected = np.linalg.solve(np.diag(now.threshold_hessian) + off + off.T, -now.threshold_gradient)
    np.testing.assert_allclose(learner.thresholds - before, expected, rtol=1e-6)


def test_xgboost_stops_by_the_metric_beside_shifts_that_several_thresholds_share(ordinal_data):
    X, y = ordinal_data(400, 6)
    options = {"proportional": False, "max_shifts": 2, "eval_metric": "mae", "early_stopping_rounds": 3}
    model = make_xgb(n_estimators=40, learning_rate=0.6, **options).fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])])
    by_hand = [
        np.abs(np.argmax(P.cumsum(axis=1) >= 0.5, axis=1) - y[200:]).mean() for P in model.staged_predict_proba(X[200:])
    ]
    np.testing.assert_allclose(model.evals_result_["validation_0"]["mae"][: model.n_iter_], by_hand, rtol=1e-9)
    assert model.n_iter_ == np.argmin(model.evals_result_["validation_0"]["mae"]) + 1 < 40
