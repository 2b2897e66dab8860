"""Ensembles and pipelines as one graph, and a process that serves one without this package."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xgboost
from lightgbm import LGBMClassifier
from numpy.testing import assert_allclose
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalEnsembleClassifier,
    OrdinalTunedClassifier,
    XGBOrdinalClassifier,
)
from ordinal_objectives.export import to_onnx
from served import answers, far_from_ties

N, NAMES = 300, ["poor", "fair", "good", "best"]
TOLERANCE = {"float32": 2e-6, "float64": 1e-6}


@pytest.fixture(scope="module")
def frame():
    """Return numbers, two of them missing, towns as text, and grades as categories."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=N).astype(np.float32),
            "age": rng.normal(size=N).astype(np.float32),
            "town": rng.choice(list("uvwxyz"), N).astype(object),
            "grade": pd.Categorical(rng.choice(["low", "middle", "high"], N)),
        }
    )
    score = X["size"] + X["age"] * (X["town"] == "u") + (X["grade"] == "high")
    X.loc[::7, "size"] = np.nan
    X.loc[2::9, "grade"] = np.nan
    return X, np.array(NAMES)[np.digitize(score + 0.4 * rng.normal(size=N), [-1.0, 0.3, 1.5])]


@pytest.fixture(scope="module")
def array(frame):
    X, y = frame
    return X[["size", "age"]].fillna(0).to_numpy(), y


def assert_same(model, X, floats="float32"):
    labels, proba = answers(to_onnx(model, X, floats=floats), X, floats)
    expected, last = model.predict_proba(X), model
    while hasattr(last, "steps"):
        last = last[-1]
    assert_allclose(proba, expected, atol=TOLERANCE[floats], rtol=0)
    ordered = expected[:, [last.classes_.tolist().index(label) for label in last.ordered_classes_]]
    far = far_from_ties(last, ordered, TOLERANCE[floats])
    assert far.mean() > 0.9
    assert (labels[far] == model.predict(X)[far]).all()


MEMBERS = {
    "default": None,
    "LightGBM": [("o", LGBMOrdinalClassifier(n_estimators=9)), ("m", LGBMClassifier(n_estimators=9, verbosity=-1))],
    "XGBoost": [("o", XGBOrdinalClassifier(n_estimators=9)), ("m", XGBClassifier(n_estimators=9))],
    "scikit-learn": [
        ("o", HistGradientBoostingOrdinalClassifier(max_iter=9)),
        ("linear", make_pipeline(StandardScaler(), LogisticRegression())),
        ("forest", make_pipeline(SimpleImputer(), RandomForestClassifier(9, random_state=0))),
    ],
}


@pytest.mark.parametrize("floats", TOLERANCE)
@pytest.mark.parametrize("members", MEMBERS)
def test_an_ensemble_is_one_graph(array, members, floats):
    X, y = array
    model = OrdinalEnsembleClassifier(MEMBERS[members], classes=NAMES, random_state=0).fit(X, y)
    if members == "scikit-learn" and floats == "float64":  # skl2onnx's forests answer in float32
        floats = "float32"
    assert_same(model, X, floats)


def test_an_ensemble_of_leaves_with_several_values(array):
    X, y = array
    member = XGBClassifier(n_estimators=9, multi_strategy="multi_output_tree")
    assert_same(OrdinalEnsembleClassifier([("m", member)], classes=NAMES).fit(X, y), X)


def test_members_of_scikit_learn_take_the_columns_of_a_frame(array):
    X, y = array
    X = pd.DataFrame({"size": X[:, 0], "round": np.round(X[:, 1] * 3).astype(np.int64)})
    members = [("linear", LogisticRegression()), ("o", XGBOrdinalClassifier(n_estimators=5))]
    assert_same(OrdinalEnsembleClassifier(members, classes=NAMES).fit(X, y), X)
    members[0] = ("forest", make_pipeline(SimpleImputer(), RandomForestClassifier(9, random_state=0)))
    model = OrdinalEnsembleClassifier(members, classes=NAMES).fit(X, y)
    assert_same(model, X)
    assert_same(model, X.astype({"round": np.float32}))


def test_members_that_cannot_be_written_are_refused(array):
    X, y = array
    forest = {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1, "verbosity": -1}
    for options, message in (
        (forest, "boosting_type of a member must be one whose trees add up; got 'rf'"),
        ({"objective": "multiclassova", "verbosity": -1}, "objective of a member must be multiclass or binary; got"),
    ):
        member = LGBMClassifier(n_estimators=3, **options)
        model = OrdinalEnsembleClassifier([("m", member)], classes=NAMES).fit(X, y)
        with pytest.raises(ValueError, match=message):
            to_onnx(model, X)


def test_the_rounds_of_a_member_are_those_that_it_predicts_with(array):
    X, y = array
    codes = np.searchsorted(sorted(NAMES), y)
    stopping = xgboost.callback.EarlyStopping(rounds=2)
    member = XGBClassifier(n_estimators=80, learning_rate=0.8, callbacks=[stopping], n_jobs=1)
    member.fit(X[:150], codes[:150], eval_set=[(X[150:], codes[150:])], verbose=False)
    assert member.best_iteration + 1 < member.get_booster().num_boosted_rounds()
    member = FrozenEstimator(member)
    assert_same(OrdinalTunedClassifier(member, classes=range(4)).fit(X, codes), X)
