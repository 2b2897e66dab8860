"""A report holds the values of the metrics, of any classifier and labels, beside the median class and the shares."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_fscore_support
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from makers import make_engine
from ordinal_objectives import OrdinalLabels
from ordinal_objectives.metrics import METRICS, interval, report

GRADES = np.array(["low", "middle", "high", "top"])
RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
Y = np.digitize(X[:, 0] + RNG.logistic(size=240), [-1.5, 0.5, 2.5])
WEIGHT = RNG.uniform(0.5, 2.0, 120) * (np.arange(120) % 7 > 0)
GROUPS = np.arange(120) // 4
TRAIN, TEST = slice(0, 120), slice(120, 240)
FEW = {"n_draws": 30}


@pytest.fixture(scope="module")
def engine():
    return make_engine(classes=GRADES).fit(X[TRAIN], GRADES[Y[TRAIN]])


def responses_of(model):
    codes = {label: code for code, label in enumerate(GRADES)}
    return {
        "decisions": np.array([codes[label] for label in model.predict(X[TEST])]),
        "probabilities": model.predict_proba_ordered(X[TEST]),
        "scores": model.predict_raw(X[TEST]),
    }


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("groups", [None, GROUPS])
def test_values_and_intervals_are_those_of_each_metric(engine, weight, groups):
    found = report(engine, X[TEST], GRADES[Y[TEST]], weight, groups=groups, **FEW)
    shares = np.bincount(Y[TEST], weight, 4) / (120 if weight is None else weight.sum())
    median = int(np.argmax(np.cumsum(shares) >= 0.5))
    guesses = {
        "decisions": np.full(120, median),
        "probabilities": np.tile(shares, (120, 1)),
        "scores": np.zeros(120),
    }
    assert list(found.values) == list(METRICS)
    assert found.median_class == GRADES[median]
    for name, metric in METRICS.items():
        mine, guess = responses_of(engine)[metric.judges], guesses[metric.judges]
        options = {"groups": groups, "labels": range(4), **FEW}
        if name == "tau_b":
            expected = {"values": interval(name, Y[TEST], mine, weight, **options)}
        else:
            expected = {
                "values": interval(name, Y[TEST], mine, weight, **options),
                "baseline": interval(name, Y[TEST], guess, weight, **options),
                "differences": interval(name, Y[TEST], mine, weight, other=guess, **options),
            }
        for part, one in expected.items():
            got = getattr(found, part)[name]
            np.testing.assert_allclose(got, one if name != "ece" else [one.value, np.nan, np.nan], atol=1e-12)
    assert np.isnan(found.baseline["tau_b"]).all()


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_table_by_class_is_scikit_learns(engine, weight):
    found = report(engine, X[TEST], GRADES[Y[TEST]], weight, **FEW).by_class
    of = responses_of(engine)
    known = {"labels": range(4), "sample_weight": weight, "zero_division": np.nan}
    precision, recall, _, rows = precision_recall_fscore_support(Y[TEST], of["decisions"], **known)
    np.testing.assert_allclose(found["precision"], precision)
    np.testing.assert_allclose(found["recall"], recall)
    np.testing.assert_allclose(found["rows"], np.bincount(Y[TEST], weight, 4))
    assert weight is not None or found["rows"].tolist() == rows.tolist()
    np.testing.assert_allclose(found["predicted"], np.bincount(of["decisions"], weight, 4))
    for k in range(4):
        of_class = Y[TEST] == k
        w = None if weight is None else weight[of_class]
        off = np.average(np.abs(of["decisions"][of_class] - k), weights=w)
        assert found["mean_absolute_error"][k] == pytest.approx(off)
        assert found["probability"][k] == pytest.approx(np.average(of["probabilities"][of_class, k], weights=w))


def test_frames_text_and_html_hold_the_same(engine):
    found = report(engine, X[TEST], GRADES[Y[TEST]], **FEW)
    frame, of_classes = found.to_frame(), found.to_frame("classes")
    assert frame.loc["mae", "value"] == found.values["mae"].value
    assert frame.loc["rps", "difference_high"] == found.differences["rps"].high
    assert frame.loc["qwk", "higher_is_better"]
    assert list(of_classes.index) == GRADES.tolist()
    text = str(found)
    assert max(map(len, text.splitlines())) <= 100
    for part in (f"{found.values['mae'].value:.3f}", "quadratic weighted kappa", "middle", "95% intervals"):
        assert part in text
        assert part in found._repr_html_()
    with pytest.raises(ValueError, match="of"):
        found.to_frame("rows")


def test_pipelines_and_searches_are_judged_as_their_last_step(engine):
    names = GRADES[Y]
    inner = make_engine(classes=GRADES)
    piped = make_pipeline(StandardScaler(), inner).fit(X[TRAIN], names[TRAIN])
    searched = GridSearchCV(inner, {"max_iter": [15]}, cv=2).fit(X[TRAIN], names[TRAIN])
    expected = report(engine, X[TEST], names[TEST], **FEW)
    assert report(searched, X[TEST], names[TEST], **FEW).values == expected.values
    assert list(report(piped, X[TEST], names[TEST], **FEW).values) == list(METRICS)


def test_other_classifiers_need_the_order_of_names():
    names, codes = GRADES[Y], LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    expected = report(codes, X[TEST], Y[TEST], **FEW)
    assert "concordance" not in expected.values
    model = LogisticRegression().fit(X[TRAIN], names[TRAIN])
    with pytest.raises(ValueError, match="labels="):
        report(model, X[TEST], names[TEST])
    ordered = pd.Categorical(names[TEST], GRADES, ordered=True)
    for found in (
        report(model, X[TEST], names[TEST], labels=GRADES, **FEW),
        report(model, X[TEST], ordered, **FEW),
    ):
        for name, value in found.values.items():
            np.testing.assert_allclose(value, expected.values[name], atol=1e-6)


def test_a_class_without_rows_and_rows_of_one_class(engine):
    names = GRADES[Y]
    some = np.flatnonzero(Y[TEST] != 3)
    found = report(engine, X[TEST][some], names[TEST][some], **FEW)
    assert found.by_class["rows"][3] == 0
    assert np.isnan([found.by_class[of][3] for of in ("recall", "mean_absolute_error", "probability")]).all()
    assert "-" in str(found).splitlines()[-1]
    one = np.flatnonzero(Y[TEST] == 1)
    found = report(engine, X[TEST][one], names[TEST][one], **FEW)
    assert np.isnan(found.values["concordance"]).all()
    assert found.baseline["mae"] == (0.0, 0.0, 0.0)
    constant = DummyClassifier().fit(X[TRAIN], Y[TRAIN])
    assert np.isnan(report(constant, X[TEST], Y[TEST], **FEW).values["tau_b"]).all()


def test_labels_of_several_answers_and_of_intervals(engine):
    counts = np.eye(4)[Y[TEST]]
    names = GRADES[Y]
    found = report(engine, X[TEST], OrdinalLabels.from_counts(counts, classes=GRADES), **FEW)
    expected = report(engine, X[TEST], names[TEST], **FEW)
    assert set(expected.values) - set(found.values) == {"concordance"}
    for name, value in found.values.items():
        np.testing.assert_allclose(value, expected.values[name], atol=1e-12)
    several = report(engine, X[TEST], OrdinalLabels.from_counts(counts + 1.0, classes=GRADES), **FEW)
    assert several.n_rows == 120
    assert several.by_class["rows"].sum() == pytest.approx(5 * 120)
    between = OrdinalLabels.from_intervals(names[TEST], GRADES[np.minimum(Y[TEST] + 1, 3)], classes=GRADES)
    found = report(engine, X[TEST], between, **FEW)
    assert set(found.values) == {"mae", "zero_one", "rps", "log_loss"}
    assert found.by_class is None
    assert "lower is better" in str(found)
    assert "higher" not in str(found)
    with pytest.raises(ValueError, match="intervals"):
        found.to_frame("classes")


def test_what_is_no_classifier_of_these_rows_is_refused(engine):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        report(engine, X[TEST], GRADES[Y[:7]])
    with pytest.raises(ValueError, match="y"):
        report(engine, X[TEST], Y[TEST])
    with pytest.raises(ValueError, match="groups"):
        report(engine, X[TEST], GRADES[Y[TEST]], groups=np.zeros(120))
