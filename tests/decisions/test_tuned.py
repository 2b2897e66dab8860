"""Tuned decisions: cut points against every other, rows that were not trained on, and what is refused."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import KFold

from makers import draw, given
from ordinal_objectives import OrdinalTunedClassifier
from ordinal_objectives.decision import KappaRule
from ordinal_objectives.decisions.tuned import CutPoints, _moved, _off_values, mean_class, tune_decision
from ordinal_objectives.metrics import METRICS, macro_mean_absolute_error, quadratic_weighted_kappa

RNG = np.random.default_rng(0)
P, CODES = draw(RNG, 400, 4)
X = RNG.normal(size=(600, 3))
Y = np.digitize(X[:, 0] + 1.5 * RNG.normal(size=600), [-2.0, 0.0, 2.0])
W = RNG.uniform(0.5, 2.0, size=600)


def frozen(n_classes=4):
    """Return a trained classifier whose probabilities are its features."""
    return FrozenEstimator(given(n_classes).fit(np.eye(n_classes), np.arange(n_classes)))


@pytest.mark.parametrize("metric", [name for name, one in METRICS.items() if one.judges == "decisions"])
@pytest.mark.filterwarnings("ignore:The rank correlation is undefined")
def test_few_rows_have_cut_points_as_good_as_any(metric):
    proba, codes = draw(np.random.default_rng(0), 14, 3)
    codes[:3] = range(3)
    entry, means = METRICS[metric], np.sort(mean_class(proba))
    sign = 1.0 if entry.higher_is_better else -1.0
    places = [-1.0, *(means[1:] + means[:-1]) / 2, 3.0]
    scores = [
        sign * entry.function(codes, np.searchsorted(cuts, mean_class(proba)), labels=range(3))
        for cuts in itertools.combinations_with_replacement(places, 2)
    ]
    best = np.nanmax(scores)
    model = OrdinalTunedClassifier(frozen(3), metric=metric).fit(proba, codes)
    rounded = sign * entry.function(codes, np.clip(np.rint(mean_class(proba)), 0, 2).astype(int), labels=range(3))
    assert rounded - 1e-9 <= sign * model.tuned_score_ == pytest.approx(best, abs=1e-9)


def test_cut_points_count_how_many_the_mean_reaches():
    cuts = CutPoints(np.array([0.4, 1.5, 1.5]))
    proba = np.array([[1.0, 0, 0, 0], [0.6, 0.4, 0, 0], [0.5, 0.5, 0, 0], [0, 0.4, 0.6, 0]])
    assert cuts.decide(proba).tolist() == [0, 1, 1, 3]


@pytest.mark.parametrize(("metric", "weights"), [("qwk", "quadratic"), ("lwk", "linear")])
def test_the_closed_form_needs_no_labels(metric, weights):
    model = OrdinalTunedClassifier(frozen(), metric=metric, rule="kappa").fit(P, CODES)
    rule = KappaRule.fit(P, weights)
    assert model.decision_.kappa == rule.kappa
    np.testing.assert_array_equal(model.predict(P), rule.decide(P))
    other = OrdinalTunedClassifier(frozen(), metric=metric, rule="kappa").fit(P, np.roll(CODES, 1))
    assert other.decision_.kappa == rule.kappa


def test_it_is_tuned_on_rows_that_were_not_trained_on():
    model = OrdinalTunedClassifier(LogisticRegression(), cv=KFold(3)).fit(X, Y, W)
    proba = np.empty((600, 4))
    for fit, held in KFold(3).split(X):
        proba[held] = LogisticRegression().fit(X[fit], Y[fit], W[fit]).predict_proba(X[held])
    again = OrdinalTunedClassifier(frozen()).fit(proba, Y, W)
    np.testing.assert_array_equal(model.decision_.cuts, again.decision_.cuts)
    assert model.tuned_score_ == again.tuned_score_
    whole = LogisticRegression().fit(X, Y, W)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), model.decision_.decide(whole.predict_proba(X)))
    assert quadratic_weighted_kappa(Y, model.predict(X)) > quadratic_weighted_kappa(Y, whole.predict(X)) + 0.02


@pytest.mark.usefixtures("few_cut_points")
def test_a_function_is_a_metric_and_is_given_weights():
    def costly(y, predicted, sample_weight=None):
        return macro_mean_absolute_error(y, predicted, sample_weight, labels=range(4))

    def handing_on(y, predicted, **keywords):
        return costly(y, predicted, **keywords)

    rows = P[:24], CODES[:24], W[:24]
    named = OrdinalTunedClassifier(frozen(), metric="macro_mae").fit(*rows)
    for metric in (costly, handing_on):
        other = OrdinalTunedClassifier(frozen(), metric=metric, greater_is_better=False).fit(*rows)
        np.testing.assert_array_equal(named.decision_.cuts, other.decision_.cuts)
        assert named.tuned_score_ == other.tuned_score_ > 0
    by_sklearn = tune_decision(frozen(), P[:24], CODES[:24], lambda y, z: cohen_kappa_score(y, z, weights="quadratic"))
    plain = tune_decision(frozen(), P[:24], CODES[:24])
    assert by_sklearn.tuned_score_ == pytest.approx(plain.tuned_score_)


@pytest.mark.usefixtures("few_cut_points")
def test_a_function_that_takes_labels_is_given_those_without_rows():
    proba, codes = draw(np.random.default_rng(1), 16, 4)
    metrics = "qwk", partial(cohen_kappa_score, weights="quadratic")
    named, by_sklearn = (
        OrdinalTunedClassifier(frozen(), metric=one).fit(proba, np.array([0, 2, 2, 3])[codes]) for one in metrics
    )
    np.testing.assert_array_equal(by_sklearn.decision_.cuts, named.decision_.cuts)
    assert by_sklearn.tuned_score_ == pytest.approx(named.tuned_score_)


def test_one_mean_for_all_rows_is_one_class():
    alike = np.tile([0.4, 0.1, 0.2, 0.3], (20, 1))
    model = OrdinalTunedClassifier(frozen(), metric="mae").fit(alike, np.arange(20) % 4)
    assert len(set(model.predict(alike))) == 1
    assert np.isnan(OrdinalTunedClassifier(frozen(), metric="tau_b").fit(alike, np.arange(20) % 4).tuned_score_)


def test_a_cut_point_moves_as_far_as_its_neighbours():
    moved = [cuts.tolist() for cuts in _moved(np.array([0.0, 1.0, 2.0]), 1, np.arange(4.0))]
    assert moved[:4] == [[0.0, 0.0, 2.0], [0.0, 1.0, 2.0], [0.0, 2.0, 2.0], [0.0, 0.0, 0.0]]


def test_one_start_predicts_each_class_as_often_as_it_occurs():
    """From rounding, which predicts class 0 only, two cut points at a time never get there."""
    mean, y = np.linspace(0.0, 0.4, 40), np.repeat(range(4), 10)
    proba = np.column_stack([1.0 - mean, mean, np.zeros((40, 2))])
    model = OrdinalTunedClassifier(
        frozen(), metric=lambda y, codes: float(np.bincount(codes, minlength=4).tolist() == [10] * 4)
    )
    assert model.fit(proba, y).tuned_score_ == 1.0


def test_shares_whose_sum_rounding_lifts_above_1_are_taken():
    shares = np.array([0.2, 0.4, 0.3, 0.1, 0.0])
    assert np.cumsum(shares)[3] > 1.0
    assert CutPoints.free(np.eye(5), shares, lambda codes: float((codes == range(5)).mean())).cuts.shape == (4,)


def test_what_cannot_be_is_refused():
    for metric in ("rps", "accuracy", 3, None):
        with pytest.raises(ValueError, match=r"metric must be one of .*'qwk'.*, or a function of \(y, "):
            OrdinalTunedClassifier(frozen(), metric=metric).fit(P, CODES)
    with pytest.raises(ValueError, match="rule must be one of 'cuts', 'stretch', 'kappa'; got 'best'"):
        OrdinalTunedClassifier(frozen(), rule="best").fit(P, CODES)
    with pytest.raises(ValueError, match="rule='kappa' maximises 'qwk' or 'lwk'; got metric='mae'"):
        OrdinalTunedClassifier(frozen(), metric="mae", rule="kappa").fit(P, CODES)
    with pytest.raises(TypeError, match="greater_is_better must be True or False; got 'yes'"):
        OrdinalTunedClassifier(frozen(), greater_is_better="yes").fit(P, CODES)


def test_a_function_cannot_change_what_it_is_given():
    def writing(y, predicted, sample_weight=None):
        (y if sample_weight is None else sample_weight)[:] = 0
        return 1.0

    for weight in (None, W[:400]):
        with pytest.raises(ValueError, match="metric must not change the arrays that it is given"):
            OrdinalTunedClassifier(frozen(), metric=writing).fit(P, CODES, weight)


@pytest.mark.parametrize("wanted", range(4))
def test_no_cut_point_lies_on_a_mean_of_the_rows(wanted):
    """Else rounding would decide for all rows of a leaf, in another batch or an exported graph."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(4), size=3)[rng.integers(0, 3, 200)]
    means = mean_class(proba)
    shares = np.bincount(rng.integers(0, 4, 200), minlength=4) / 200
    found = CutPoints.free(proba, shares, lambda codes: float((codes == wanted).mean()))
    assert np.abs(np.unique(means)[:, np.newaxis] - found.cuts).min() > 1e-7
    assert (np.diff(found.cuts) >= 0).all()
    assert (found.decide(proba) == wanted).all()


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_the_start_that_predicts_the_shares_counts_weights(seed):
    """Only a start lies between any two of a thousand values; cut points move over two hundred."""
    p = np.sort(np.random.default_rng(seed).random(1000))
    weight = np.where(p < 0.3, 5.0, 1.0)
    proba = np.column_stack([1.0 - p, p])

    def score(codes):
        return -abs(np.average(codes == 0, weights=weight) - 0.5)

    found = CutPoints.free(proba, np.array([0.5, 0.5]), score, weight)
    best = -np.abs(np.cumsum(weight) / weight.sum() - 0.5).min()
    assert score(found.decide(proba)) == pytest.approx(best, abs=1e-12)


def test_a_cut_point_on_a_value_moves_to_the_middle_between_close_ones():
    np.testing.assert_allclose(_off_values(np.array([4e-6, 8.0]), np.array([0.0, 4e-6])), [2e-6, 8.0])


@pytest.mark.usefixtures("few_cut_points")
@pytest.mark.parametrize(("metric", "rule"), [("mae", "cuts"), ("qwk", "cuts"), ("macro_mae", "stretch")])
def test_a_weight_is_a_number_of_rows_in_any_order(metric, rule):
    """The centre of a stretch and the start of cut points had no weights, and rounding decided among equal scores."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        proba, codes = draw(rng, 16, 4)
        weight = rng.integers(1, 4, 16)
        times = rng.permutation(np.repeat(np.arange(16), weight))
        by_weight, by_rows = (
            OrdinalTunedClassifier(frozen(), metric=metric, rule=rule).fit(*rows).decision_
            for rows in ((proba, codes, weight.astype(float)), (proba[times], codes[times]))
        )
        np.testing.assert_allclose(by_weight.cuts, by_rows.cuts, atol=1e-9)
