"""One contract of ``eval_metric`` for both hosts: by name, by function, one or several."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.metrics
import xgboost

from ordinal_objectives import LGBMOrdinalClassifier, XGBOrdinalClassifier, metrics
from ordinal_objectives.metrics import METRICS

NAMED = ["poor", "fair", "good", "top"]


def fit_xgb(X, y, held_out, eval_metric, weight=None, **params):
    model = XGBOrdinalClassifier(n_estimators=6, max_depth=3, n_jobs=1, eval_metric=eval_metric, **params)
    return model.fit(X, y, eval_set=[held_out], sample_weight_eval_set=None if weight is None else [weight])


def fit_lgb(X, y, held_out, eval_metric, weight=None, **params):
    model = LGBMOrdinalClassifier(n_estimators=6, num_leaves=6, n_jobs=1, **params)
    weights = None if weight is None else [weight]
    return model.fit(X, y, eval_set=[held_out], eval_sample_weight=weights, eval_metric=eval_metric)


BOTH = pytest.mark.parametrize("fit", [fit_xgb, fit_lgb], ids=["xgboost", "lightgbm"])


def seen(model):
    return next(iter(model.evals_result_.values()))


@BOTH
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [name for name, metric in METRICS.items() if metric.by_rounds])
def test_every_name_measures_its_metric(fit, name, weighted, halves):
    X, y, Xv, yv = halves
    labels = np.array(NAMED)
    weight = np.linspace(0.5, 2.0, 300) if weighted else None
    metric = METRICS[name]
    of_proba = metric.judges == "probabilities"
    told = {"classes": labels, "decision_rule": "mode"}
    model = fit(X, labels[y], (Xv, labels[yv]), name, weight, **told)
    expected = [
        metric.function(yv, P if of_proba else P.argmax(axis=1), weight, labels=range(4))
        for P in (proba[:, np.argsort(np.argsort(labels))] for proba in model.staged_predict_proba(Xv))
    ]
    np.testing.assert_allclose(seen(model)[name], expected, rtol=1e-5, atol=1e-7)
    by_function = fit(X, labels[y], (Xv, labels[yv]), metric.function, weight, **told)
    np.testing.assert_array_equal(seen(by_function)[metric.function.__name__], seen(model)[name])


@BOTH
def test_several_at_once(fit, halves):
    X, y, Xv, yv = halves

    def largest(y, proba):
        return float(proba.max())

    def both(y, proba, weight):
        assert weight is not None
        return [("mean", proba[:, 0].mean(), False), ("worst", proba.min(), True)]

    model = fit(X, y, (Xv, yv), ["rps", largest, both, sklearn.metrics.log_loss], np.linspace(0.5, 2.0, 300))
    assert list(seen(model)) == ["all_threshold", "rps", "largest", "mean", "worst", "log_loss"]
    last, weight = model.predict_proba(Xv), np.linspace(0.5, 2.0, 300)
    expected = [last.max(), last[:, 0].mean(), last.min(), sklearn.metrics.log_loss(yv, last, sample_weight=weight)]
    np.testing.assert_allclose([values[-1] for values in list(seen(model).values())[2:]], expected, rtol=1e-4)


@BOTH
@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ("auc", ValueError, "must be a function of .* one of .*; got 'auc'; 'tau_b'"),
        ("rsp", ValueError, r"must be a function of \(y, proba\), one of .*'qwk', 'rps'.*; got 'rsp'$"),
        (["rps", 5], ValueError, "eval_metric must be a function.*; got 5"),
        (5, ValueError, "eval_metric must be a function.*; got 5"),
    ],
)
def test_what_is_no_metric_is_refused(fit, wrong, error, message, halves):
    X, y, Xv, yv = halves
    with pytest.raises(error, match=message):
        fit(X, y, (Xv, yv), wrong)


def mae(y, proba):
    return 5.0


@BOTH
@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ([lambda y, proba: 1.0, lambda y, proba: 2.0], "'<lambda>', '<lambda>'"),
        (lambda y, proba: [("a", 1.0, False), ("a", 2.0, False)], "'a', 'a'"),
        ([mae, "mae"], "'mae', 'mae'"),
        (lambda y, proba: ("all_threshold", 1.0, False), "'all_threshold'"),
    ],
)
def test_two_of_one_name_are_refused(fit, wanted, names, halves):
    X, y, Xv, yv = halves
    with pytest.raises(ValueError, match=f"each metric must have a name of its own; got 'all_threshold', {names}, of"):
        fit(X, y, (Xv, yv), wanted)


@pytest.mark.parametrize("metric", ["qwk", lambda y, proba: ("mean_class", (proba @ np.arange(4)).mean() * 1.0, True)])
def test_early_stopping_of_xgboost_goes_the_way_of_the_metric(metric, halves):
    """XGBoost takes every metric that it does not know by name for one of which lower is better."""
    X, y, Xv, yv = halves
    model = fit_xgb(X, y, (Xv, yv), metric, early_stopping_rounds=4, learning_rate=0.5)
    model.set_params(n_estimators=60).fit(X, y, eval_set=[(Xv, yv)])
    values = list(seen(model).values())[-1]
    assert model.best_iteration_ == np.argmax(values)
    assert len(values) in (60, np.argmax(values) + 5)
    stop = xgboost.callback.EarlyStopping(rounds=4)
    asked = fit_xgb(X, y, (Xv, yv), metric, callbacks=[stop], learning_rate=0.5)
    assert asked.best_iteration_ == np.argmax(list(seen(asked).values())[-1])


def test_a_name_that_xgboost_would_guess_at(halves):
    """XGBoost takes a metric whose name begins with "pre" for one of which higher is better."""
    X, y, Xv, yv = halves

    def precise(y, proba):
        return metrics.ranked_probability_score(y, proba)

    model = fit_xgb(X, y, (Xv, yv), precise, early_stopping_rounds=2)
    assert model.best_iteration_ == np.argmin(seen(model)["precise"])


def test_a_name_that_xgboost_could_not_read_back(halves):
    X, y, Xv, yv = halves
    with pytest.raises(ValueError, match=r"eval_metric must have names without spaces and colons .*; got 'two words'"):
        fit_xgb(X, y, (Xv, yv), lambda y, proba: ("two words", 1.0, False))


@BOTH
@pytest.mark.parametrize("argument", range(3))
def test_a_metric_cannot_change_what_it_is_given(fit, argument, halves):
    """The metrics after it, and the rounds, had read what it left."""

    def writes(y, proba, weight):
        (y, proba, weight)[argument][...] = 0
        return 1.0

    X, y, Xv, yv = halves
    with pytest.raises(Exception, match="eval_metric 'writes' must not change the arrays that it is given"):
        fit(X, y, (Xv, yv), [writes, "mae"], np.linspace(1.0, 2.0, 300))
