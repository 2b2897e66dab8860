"""Metrics against scikit-learn, SciPy and slow sums over rows and pairs."""

from __future__ import annotations

import inspect
import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import kendalltau, somersd
from sklearn import metrics as sk
from sklearn.exceptions import UndefinedMetricWarning

from ordinal_objectives import metrics
from ordinal_objectives.metrics import (
    METRICS,
    concordance,
    cumulative_calibration_error,
    kendall_tau_b,
    linear_weighted_kappa,
    macro_mean_absolute_error,
    maximum_mean_absolute_error,
    mean_absolute_error,
    ordinal_log_loss,
    quadratic_weighted_kappa,
    ranked_probability_score,
    zero_one_error,
)
from ordinal_objectives.metrics.table import MetricTable

DECISION_METRICS = [metric.function for metric in METRICS.values() if metric.judges == "decisions"]
FORECAST_METRICS = [metric.function for metric in METRICS.values() if metric.judges == "probabilities"]
FEW = settings(max_examples=40)


def in_turn(metrics, *cases):
    """Return the cases, each for one of the metrics, which share their checks."""
    return [(metric, *case) for metric, case in zip(itertools.cycle(metrics), cases)]


problems = st.tuples(st.integers(0, 2**32 - 1), st.integers(2, 7), st.booleans())


def labels_and_weights(problem, n_samples=60):
    seed, n_classes, weighted = problem
    rng = np.random.default_rng(seed)
    true = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n_samples)]
    predicted = np.clip(true + rng.integers(-2, 3, true.size), 0, n_classes - 1)
    return true, predicted, rng.uniform(0.0, 3.0, true.size) if weighted else None


def forecasts(problem):
    true, _, weight = labels_and_weights(problem)
    P = np.random.default_rng(problem[0]).dirichlet(np.ones(problem[1]), true.size)
    return true, P, weight


@FEW
@given(problems)
def test_decisions_against_scikit_learn(problem):
    true, predicted, weight = labels_and_weights(problem)
    arguments = {"y_true": true, "y_pred": predicted, "sample_weight": weight}
    assert mean_absolute_error(**arguments) == pytest.approx(sk.mean_absolute_error(**arguments))
    assert zero_one_error(**arguments) == pytest.approx(sk.zero_one_loss(**arguments), abs=1e-12)
    for ours, weights in ((quadratic_weighted_kappa, "quadratic"), (linear_weighted_kappa, "linear")):
        kappa = sk.cohen_kappa_score(true, predicted, weights=weights, sample_weight=weight)
        assert ours(**arguments) == pytest.approx(kappa, abs=1e-12)


@FEW
@given(problems)
def test_macro_and_maximum_mae_are_mean_and_maximum_over_classes(problem):
    true, predicted, weight = labels_and_weights(problem)
    weight = np.ones(true.size) if weight is None else weight
    errors = [
        sk.mean_absolute_error(true[true == k], predicted[true == k], sample_weight=weight[true == k])
        for k in np.unique(true)
    ]
    assert macro_mean_absolute_error(true, predicted, weight) == pytest.approx(np.mean(errors))
    assert maximum_mean_absolute_error(true, predicted, weight) == pytest.approx(np.max(errors))


@pytest.mark.parametrize("metric", [macro_mean_absolute_error, maximum_mean_absolute_error])
def test_errors_within_classes_leave_out_classes_without_weight(metric):
    assert metric([0, 0, 3], [1, 0, 0], sample_weight=[1.0, 1.0, 0.0]) == 0.5


@FEW
@given(problems)
def test_tau_b_is_scipys_and_counts_weighted_pairs(problem):
    true, predicted, weight = labels_and_weights(problem, n_samples=15)
    assert kendall_tau_b(true, predicted) == pytest.approx(kendalltau(true, predicted).statistic, abs=1e-12)
    weight = np.ones(true.size) if weight is None else weight
    excess = of_true = of_predicted = 0.0
    for i, j in itertools.combinations(range(true.size), 2):
        pair = weight[i] * weight[j]
        first, second = np.sign(true[i] - true[j]), np.sign(predicted[i] - predicted[j])
        excess += pair * first * second
        of_true, of_predicted = of_true + pair * abs(first), of_predicted + pair * abs(second)
    expected = excess / np.sqrt(of_true * of_predicted)
    assert kendall_tau_b(true, predicted, weight) == pytest.approx(expected, abs=1e-12)


@FEW
@given(problems)
def test_log_loss_against_scikit_learn(problem):
    true, P, weight = forecasts(problem)
    expected = sk.log_loss(true, P, sample_weight=weight)
    assert ordinal_log_loss(true, P, weight) == pytest.approx(expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_loss_of_a_certain_error_is_scikit_learns(dtype):
    P = np.array([[1.0, 0.0], [1.0, 0.0]], dtype=dtype)
    assert ordinal_log_loss([0, 1], P) == pytest.approx(sk.log_loss([0, 1], P), rel=1e-6)


@FEW
@given(problems)
def test_rps_is_the_sum_over_rows_and_thresholds(problem):
    true, P, weight = forecasts(problem)
    rows = [
        sum((sum(p[: k + 1]) - float(y <= k)) ** 2 for k in range(P.shape[1] - 1)) for y, p in zip(true, P, strict=True)
    ]
    assert ranked_probability_score(true, P, weight) == pytest.approx(np.average(rows, weights=weight))


@FEW
@given(problems)
def test_rps_is_the_mae_of_certain_forecasts_and_the_brier_score_of_two_classes(problem):
    true, predicted, weight = labels_and_weights(problem)
    certain = np.eye(problem[1])[predicted]
    assert ranked_probability_score(true, certain, weight) == pytest.approx(
        mean_absolute_error(true, predicted, weight)
    )
    true, P, weight = forecasts((problem[0], 2, problem[2]))
    assert ranked_probability_score(true, P, weight) == pytest.approx(
        sk.brier_score_loss(true, P[:, 1], sample_weight=weight)
    )


@FEW
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(2, 25), st.booleans())
def test_concordance_is_the_share_of_pairs(seed, n_classes, n_samples, ties):
    rng = np.random.default_rng(seed)
    true = np.r_[0, 1, rng.integers(0, n_classes, n_samples)]
    score = rng.integers(0, 4, true.size).astype(float) if ties else rng.normal(size=true.size)
    weight = rng.uniform(0.1, 3.0, true.size)
    right, every = 0.0, 0.0
    for i, j in itertools.permutations(range(true.size), 2):
        if true[i] < true[j]:
            every += weight[i] * weight[j]
            right += weight[i] * weight[j] * ((score[i] < score[j]) + 0.5 * (score[i] == score[j]))
    assert concordance(true, score, weight) == pytest.approx(right / every)
    if np.unique(score).size > 1:
        assert concordance(true, score) == pytest.approx(0.5 + 0.5 * somersd(true, score).statistic)


@FEW
@given(st.integers(0, 2**32 - 1))
def test_concordance_of_two_classes_is_the_area_under_the_curve(seed):
    rng = np.random.default_rng(seed)
    true, weight = np.r_[0, 1, rng.integers(0, 2, 50)], rng.uniform(0.1, 2.0, 52)
    score = np.round(rng.normal(size=52), 1)
    assert concordance(true, score, weight) == pytest.approx(sk.roc_auc_score(true, score, sample_weight=weight))


@pytest.mark.slow
def test_concordance_of_gapped_codes_and_of_many_rows():
    assert concordance([0, 5, 9], [1.0, 2.0, 3.0]) == 1.0
    true = np.random.default_rng(0).integers(0, 10, 200_000)
    assert concordance(true, true + 0.0) == 1.0
    assert concordance(true, -true) == 0.0
    assert concordance(true, np.zeros(true.size)) == 0.5


@pytest.mark.parametrize("metric", [*DECISION_METRICS, *FORECAST_METRICS, concordance])
def test_weights_stand_for_repeated_rows_and_their_scale_does_not_count(metric):
    rng = np.random.default_rng(0)
    true, weight = rng.integers(0, 4, 50), rng.integers(0, 4, 50)
    response = response_of(metric, rng, 50, n_classes=4)
    weighted = metric(true, response, weight)
    assert weighted == pytest.approx(metric(np.repeat(true, weight), np.repeat(response, weight, axis=0)))
    assert weighted == pytest.approx(metric(true, response, 1e-3 * weight))
    assert metric(true, response) == pytest.approx(metric(true, response, np.ones(50)))


GRADES = ["poor", "fair", "good", "very good", "excellent"]
OTHER_LABELS = {"stars": range(1, 6), "likert": [-2, -1, 0, 1, 2], "strings": GRADES, "halves": [0.5, 1, 1.5, 2, 2.5]}


def response_of(metric, rng, n_samples, n_classes=5):
    if metric is concordance:
        return rng.normal(size=n_samples)
    if metric in FORECAST_METRICS:
        return rng.dirichlet(np.ones(n_classes), n_samples)
    return rng.integers(0, 4, n_samples)


@pytest.mark.parametrize("labels", OTHER_LABELS.values(), ids=OTHER_LABELS)
@pytest.mark.parametrize("metric", [*DECISION_METRICS, *FORECAST_METRICS, concordance])
def test_labels_give_the_number_of_codes(metric, labels):
    rng = np.random.default_rng(0)
    true, weight = rng.integers(1, 4, 50), rng.uniform(0.5, 2.0, 50)
    response = response_of(metric, rng, 50)
    expected = metric(true, response, weight, labels=range(5))
    if metric not in FORECAST_METRICS:
        assert expected == metric(true, response, weight)
    names = np.array(labels)
    named = names[response] if metric in DECISION_METRICS else response
    assert metric(names[true], named, weight, labels=labels) == expected
    assert metric(pd.Categorical.from_codes(true, list(labels), ordered=True), named, weight) == expected


@pytest.mark.parametrize("metric", FORECAST_METRICS)
def test_labels_that_may_be_off_by_one_are_refused(metric):
    """Stars from 1 to 5 without a 5 gave a ranked probability score of 0.674 for 0.463 when they passed for codes."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(5), 10)
    P = 0.7 * np.eye(5)[codes] + 0.3 * rng.dirichlet(np.ones(5), codes.size)
    rows = codes < 4
    right = metric(codes[rows], P[rows], labels=range(5))
    assert metric(codes[rows] + 1, P[rows], labels=[1, 2, 3, 4, 5]) == right
    assert metric(codes[rows] + 1, P[rows], labels=range(5)) > 1.5 * right
    for labels in (codes[rows] + 1, codes[rows], codes[rows] + 0.0, codes[rows] > 0):
        with pytest.raises(ValueError, match=r"proba has 5 columns: .* Pass labels=.*for codes labels=range\(5\)"):
            metric(labels, P[rows])
    with pytest.raises(ValueError, match=r"y_true holds labels outside the declared classes 0\.\.4; got 5"):
        metric(codes + 1, P)


@pytest.mark.parametrize("metric", [*DECISION_METRICS, *FORECAST_METRICS, concordance])
def test_labels_without_an_order_or_outside_it_are_refused(metric):
    rng = np.random.default_rng(0)
    true, response = np.arange(5), response_of(metric, rng, 5)
    names = np.array(GRADES)
    named = names[response] if metric in DECISION_METRICS else response
    for unordered in (names, pd.Categorical(names)):
        with pytest.raises(ValueError, match=r"y_true must hold class codes.* got values of dtype .*Pass labels="):
            metric(unordered, named)
    with pytest.raises(ValueError, match=r"y_true holds labels outside the classes \['a', 'b'\]; got 'poor'"):
        metric(names, named, labels=["a", "b"])
    with pytest.raises(ValueError, match="labels must be distinct; got more than once: 1"):
        metric(true, response, labels=[0, 1, 1, 2, 3])
    with pytest.raises(ValueError, match="labels must be one-dimensional"):
        metric(true, response, labels="abc")
    with pytest.raises(ValueError, match="y_true contains missing labels"):
        metric([*GRADES[:4], None], named, labels=GRADES)
    if metric in FORECAST_METRICS:
        with pytest.raises(ValueError, match="labels must hold one label for each of the 5 columns of proba"):
            metric(names, response, labels=[*GRADES, "best"])
    if metric in DECISION_METRICS:
        with pytest.raises(ValueError, match="y_pred holds labels outside the classes"):
            metric(names, np.array([*GRADES[:4], "best"]), labels=GRADES)


def test_big_numbers_take_no_memory():
    assert macro_mean_absolute_error([2 * 10**9, 2 * 10**9 - 1], [2 * 10**9] * 2) == 0.5
    assert linear_weighted_kappa([0, 2 * 10**9], [0, 2 * 10**9 - 1]) == pytest.approx(1.0)
    assert kendall_tau_b([0, 2 * 10**9], [0, 2 * 10**9 - 1]) == pytest.approx(1.0)
    assert concordance([0, 2 * 10**9], [0.0, 1.0]) == 1.0


def test_undefined_metrics_say_so():
    for kappa in (quadratic_weighted_kappa, linear_weighted_kappa):
        with pytest.warns(UndefinedMetricWarning, match="The kappa is undefined: true and predicted labels") as seen:
            assert np.isnan(kappa([2, 2], [2, 2]))
        assert seen[0].filename == __file__
    for labels in (([2, 2], [1, 2]), ([1, 2], [2, 2])):
        with pytest.warns(UndefinedMetricWarning, match="The rank correlation is undefined: true or predicted labels"):
            assert np.isnan(kendall_tau_b(*labels))
    with pytest.warns(UndefinedMetricWarning, match="The concordance is undefined: all true labels are of one class"):
        assert np.isnan(concordance([0, 0, 1], [1.0, 2.0, 3.0], [1.0, 1.0, 0.0]))
    assert quadratic_weighted_kappa([2, 2], [1, 1]) == linear_weighted_kappa([2, 2], [1, 1]) == 0.0


@pytest.mark.parametrize(
    ("metric", "arguments", "message"),
    in_turn(
        DECISION_METRICS,
        (([0, 1], [0, 1, 1]), "inconsistent numbers of samples"),
        (([0, 1.5], [0, 1]), "y_true"),
        (([0, 1], [0, -1]), "y_pred"),
        ((["a", "b"], [0, 1]), "y_true"),
        (([0, 1], [0, 1], [1.0, -1.0]), "sample_weight"),
        (([0, 1], [0, 1], [0.0, 0.0]), "sample_weight"),
        (([0, 1], [0, 1], [1.0]), "sample_weight"),
    ),
)
def test_bad_decisions_are_refused(metric, arguments, message):
    with pytest.raises(ValueError, match=message):
        metric(*arguments)


@pytest.mark.parametrize(
    ("metric", "arguments", "message"),
    in_turn(
        FORECAST_METRICS,
        (([0, 2], [[0.5, 0.5], [0.5, 0.5]]), "y_true"),
        (([0, 1, 1], [[0.5, 0.5], [0.5, 0.5]]), "inconsistent numbers of samples"),
        (([0, 1], [[0.5, 0.6], [0.5, 0.5]]), "proba must .* sum to 1; .* row 0 "),
        (([0, 1], [0.5, 0.5]), "proba"),
    ),
)
def test_bad_forecasts_are_refused(metric, arguments, message):
    with pytest.raises(ValueError, match=message):
        metric(*arguments)


def test_bad_scores_are_refused():
    with pytest.raises(ValueError, match="score holds NaN or infinite values"):
        concordance([0, 1], [np.nan, 1.0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        concordance([0, 1], [1.0])


def test_every_public_metric_has_its_traits():
    around = {"Interval", "NetBenefit", "Report", "interval", "net_benefit", "report"}
    assert set(metrics.__all__) - around == {metric.function.__name__ for metric in METRICS.values()}
    assert METRICS.of(concordance).higher_is_better
    assert METRICS.of(concordance).response_method == "predict_raw"


@pytest.mark.parametrize("name", METRICS)
def test_the_table_tells_what_is_so(name):
    """What a metric judges is its second parameter, and the truth itself scores best."""
    metric = METRICS[name]
    judged = list(inspect.signature(metric.function).parameters)[1]
    assert judged == {"decisions": "y_pred", "probabilities": "proba", "scores": "score"}[metric.judges]
    true = np.arange(40) % 4
    wrong = np.where(np.arange(40) % 3 == 0, 3 - true, true)
    # Nearly certain: a truth told with hesitation is not calibrated.
    best, worse = (0.98 * np.eye(4)[answer] + 0.005 if judged == "proba" else answer for answer in (true, wrong))
    gain = metric.function(true, best) - metric.function(true, worse)
    assert gain > 0 if metric.higher_is_better else gain < 0
    assert METRICS.of(metric.function) is metric


def test_an_entry_is_found_by_each_of_its_names():
    table = MetricTable()
    assert table.entry("ours", judges="decisions")(zero_one_error) is zero_one_error
    assert table.of(zero_one_error) is table["ours"]
    assert table.of(concordance) is table.of("ours") is None
    assert list(table) == ["ours"]


@pytest.mark.parametrize("kappa", [quadratic_weighted_kappa, linear_weighted_kappa])
@pytest.mark.parametrize("weight", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("label", [3, 13])
def test_kappa_of_one_class_is_undefined_whatever_rounding_says(label, weight, kappa):
    """The mean of a constant with weights is not the constant: 1 - 0 / 1e-31 had been 1."""
    for n in (3, 7, 10):
        with pytest.warns(UndefinedMetricWarning, match="kappa is undefined"):
            assert np.isnan(kappa([label] * n, [label] * n, [weight] * n))
    with pytest.warns(UndefinedMetricWarning, match="kappa is undefined"):
        assert np.isnan(kappa([0, 1, 1], [1, 1, 1], [0.0, 0.3, 0.1]))


def test_concordance_counts_the_pairs_of_a_tiny_weight():
    assert metrics.concordance([0, 1, 0], [0.0, 1.0, 2.0], [1.0, 1e-17, 3.0]) == pytest.approx(0.25)
    assert metrics.concordance([0, 1], [0.0, 1.0], [1.0, 1e-17]) == 1.0


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e200, 1e308])
def test_metrics_do_not_overflow_with_their_weights(scale):
    codes, proba = [0, 1, 2, 1], np.eye(3)[[0, 2, 2, 1]]
    for name, metric in ((name, metric.function) for name, metric in METRICS.items()):
        response = proba if "proba" in inspect.signature(metric).parameters else [0, 2, 2, 1]
        assert metric(codes, response, np.full(4, scale)) == pytest.approx(metric(codes, response)), name


@FEW
@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(1, 12))
def test_calibration_error_is_the_sum_over_thresholds_and_bins(seed, n_classes, n_bins):
    rng = np.random.default_rng(seed)
    true = np.r_[np.arange(n_classes), rng.integers(0, n_classes, 60)]
    P, weight = rng.dirichlet(np.ones(n_classes), true.size), rng.uniform(0.0, 3.0, true.size)
    errors = []
    for k in range(P.shape[1] - 1):
        stated, happened = P[:, : k + 1].sum(axis=1), true <= k
        for b in range(n_bins):
            rows = (stated * n_bins >= b) & ((stated * n_bins < b + 1) | (b == n_bins - 1))
            if weight[rows].sum() > 0:
                gap = np.average(stated[rows], weights=weight[rows]) - np.average(happened[rows], weights=weight[rows])
                errors.append(weight[rows].sum() / weight.sum() * abs(gap))
    assert cumulative_calibration_error(true, P, weight, n_bins=n_bins) == pytest.approx(np.sum(errors))
