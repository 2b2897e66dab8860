"""Parameters set after ``fit`` are for the next one: predictions, graphs and what a file gives back stay."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from xgboost import XGBClassifier

from makers import make_cat, make_engine, make_lgb, make_xgb
from ordinal_objectives import (
    CatBoostOrdinalClassifier,
    HistGradientBoostingMultiOutputClassifier,
    OrdinalCalibratedClassifier,
    OrdinalDistributionRegressor,
    OrdinalEnsembleClassifier,
    OrdinalPredictionSets,
    OrdinalTunedClassifier,
)
from ordinal_objectives.export import to_onnx
from ordinal_objectives.inspection import shap_values
from ordinal_objectives.scorers import get_scorer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 3))
X[RNG.random(X.shape) < 0.1] = -9.0
Y = np.digitize(X[:, 0] + RNG.normal(size=160), [-1, 0, 1])
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": pd.Categorical(np.where(X[:, 2] > 0, "up", "down"))})
FEW = {"random_state": 0, "subsample": 0.7}
FIXED = {
    "xgb": lambda **options: make_xgb(**{"n_estimators": 3, "missing": -9.0, **FEW, **options}),
    "lgbm": lambda **options: make_lgb(**{"n_estimators": 3, **FEW, **options}),
    "engine": lambda **options: make_engine(**{"max_iter": 3, **FEW, **options}),
    "cat": lambda **options: make_cat(**{"iterations": 3, **FEW, **options}),
}
# What predictions and displays read as it is now, and what belongs to the machine.
SET_LATER = {"decision_rule", "cost_matrix", "importance_type", "n_jobs", "progress", "verbose", "verbosity"}
OF_HOSTS: dict[str, dict[str, Any]] = {
    "xgb": {"max_delta_step": 3.0},
    "lgbm": {"path_smooth": 3.0},
    "engine": {},
    "cat": {"sampling_frequency": "PerTree"},
}
# No code can read it and go on as before.
NOTHING = object()
TABLES = {
    "xgb": [(X, {}), (FRAME, {"missing": np.nan})],
    "lgbm": [(X, {}), (FRAME, {})],
    "engine": [(X, {}), (FRAME, {})],
    "cat": [(X, {}), (FRAME, {})],
}


def answers(model, table):
    """Return what a fitted classifier says of itself and of rows."""
    return [
        model.predict_proba(table),
        model.predict(table),
        *model.staged_predict_proba(table),
        *(() if isinstance(model, CatBoostOrdinalClassifier) else answers_of_trees(model, table)),
        model.is_categorical_,
        shap_values(model, table[:20]).values,
        get_scorer("neg_log_loss")(model, table, Y),
    ]


def answers_of_trees(model, table):
    """Return what no model of CatBoost says."""
    graph = to_onnx(model, table).SerializeToString()
    return [model.predict_shifts(table), np.frombuffer(graph, np.uint8)]


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("table", [0, 1], ids=["numbers", "categories"])
@pytest.mark.parametrize("kind", FIXED)
def test_no_parameter_set_after_a_fit_changes_what_the_model_says(kind, table, tmp_path):
    rows, options = TABLES[kind][table]
    model = FIXED[kind](**options).fit(rows, Y)
    before = answers(model, rows)
    later = dict.fromkeys(model.get_params().keys() - SET_LATER, NOTHING) | OF_HOSTS[kind]
    assert len(later) > 25
    model.set_params(**later)
    assert_same(answers(model, rows), before)


LATER = {
    "xgb": {"missing": 0.5, "link": "probit", "shift_method": "host"},
    "lgbm": {"link": "probit", "proportional": True, "num_leaves": 3},
    "engine": {"link": "probit", "boosting_type": "rf", "proportional": True, "threshold_update": "fixed"},
    "cat": {"link": "probit", "depth": 2},
}


@pytest.mark.parametrize("kind", FIXED)
def test_a_file_gives_back_the_model_that_was_saved(kind, tmp_path):
    model, file = FIXED[kind]().fit(X, Y), tmp_path / "file.json"
    before = answers(model, X)
    model.set_params(**LATER[kind]).save_model(file)
    loaded = type(model)(n_jobs=1).load_model(file)
    assert_same(answers(loaded, X), before)
    assert loaded.link == "logit"


def test_a_fit_that_continues_itself_takes_what_has_been_set_and_keeps_its_classes():
    for kind, name in (("xgb", "xgb_model"), ("lgbm", "init_model"), ("cat", "init_model")):
        model = FIXED[kind](classes=[0, 1, 2, 3]).fit(X, Y)
        other = pickle.loads(pickle.dumps(model))
        found = model.set_params(learning_rate=0.05).fit(X, Y, **{name: model}).predict_proba(X)
        again = FIXED[kind](classes=[0, 1, 2, 3], learning_rate=0.05).fit(X, Y, **{name: other})
        np.testing.assert_array_equal(found, again.predict_proba(X))
        with pytest.raises(ValueError, match=name):
            model.set_params(classes=[3, 2, 1, 0]).fit(X, Y, **{name: model})


@pytest.mark.parametrize("kind", FIXED)
def test_a_frame_of_costs_has_the_classes_in_their_order(kind):
    names = ["poor", "fair", "good", "best"]
    costs = pd.DataFrame(np.abs(np.subtract.outer(range(4), range(4))), names, names)
    given, other = {"classes": names} | ({} if kind == "cat" else {"proportional": True}), costs.iloc[::-1, ::-1]
    labels = np.array(names)[Y]
    for name in ("cost_matrix", "training_cost"):
        model = FIXED[kind](**given, **{name: costs}).fit(X, labels)
        with pytest.raises(ValueError, match=rf"{name} must have its classes in the order .*; got index"):
            model.set_params(**{name: other}).fit(X, labels)
    with pytest.raises(ValueError, match=r"cost_matrix must have its classes in the order .*; got columns"):
        FIXED[kind](**given).fit(X, labels).set_params(cost_matrix=costs[sorted(names)]).predict(X)
    of_file = costs.set_axis(list("3210"), axis=1)  # as a CSV file names them
    for y in (Y, Y.astype(float)):
        with pytest.raises(ValueError, match=r"cost_matrix must have its classes in the order .0.*3.*; got columns"):
            FIXED[kind](cost_matrix=of_file).fit(X, y)


# Classifiers inside others

INSIDE = {"random_state": 0, "max_iter": 3}
MEMBERS = [
    ("a", make_xgb(n_estimators=3)),
    ("b", XGBClassifier(n_estimators=3, n_jobs=1)),
    ("c", make_engine(**INSIDE)),
]
WRAPPERS: dict[str, Callable[[], Any]] = {
    "ensemble": lambda: OrdinalEnsembleClassifier([(n, clone(one)) for n, one in MEMBERS], n_bags=1),
    "default ensemble": lambda: OrdinalEnsembleClassifier(n_bags=1, n_jobs=1),
    "calibrated": lambda: OrdinalCalibratedClassifier(make_engine(**INSIDE), cv=2),
    "calibrated, trained": lambda: OrdinalCalibratedClassifier(
        FrozenEstimator(make_xgb(n_estimators=3, missing=-9.0).fit(X, Y))
    ),
    "tuned": lambda: OrdinalTunedClassifier(make_engine(**INSIDE), cv=2),
    "sets": lambda: OrdinalPredictionSets(make_engine(**INSIDE), alpha=0.3),
    "distribution": lambda: OrdinalDistributionRegressor(make_engine(**INSIDE), n_cuts=4),
    "several outputs": lambda: HistGradientBoostingMultiOutputClassifier(**INSIDE, n_jobs=1),
}
OF_PREDICTIONS = {"alpha", "coverage", "severity", "prediction"}


def answers_of_wrapper(model, path):
    found = [model.predict(X)]
    if hasattr(model, "predict_proba"):
        found += [model.predict_proba(X)]
    if hasattr(model, "ordered_classes_"):
        found += [get_scorer("neg_log_loss")(model, X, Y)]
    if hasattr(model, "predict_quantile"):
        found += [model.predict_quantile(X, [0.1, 0.9])]
    if hasattr(model, "predict_interval"):
        found += [model.predict_interval(X)]
    if hasattr(model, "save_model"):
        loaded = type(model)()
        model.save_model(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what no file holds
            found += [loaded.load_model(path).predict_proba(X)]
    if not isinstance(model, OrdinalPredictionSets):  # no graph holds sets
        found += [np.frombuffer(to_onnx(model, X).SerializeToString(), np.uint8)]
    return found


def other(name, value):
    if name == "members":
        return [("z", make_engine(max_iter=1))]
    if hasattr(value, "get_params"):
        return make_engine(max_iter=1)
    return "quadratic" if name.endswith("training_cost") else NOTHING


@pytest.mark.parametrize("kind", WRAPPERS)
def test_nor_does_one_of_a_wrapper_or_of_a_classifier_inside(kind, tmp_path):
    model, file = WRAPPERS[kind](), tmp_path / "file.zip"
    model.fit(X, X[:, 0] + 10.0 if kind == "distribution" else Y)
    before = answers_of_wrapper(model, file)
    stays = SET_LATER | OF_PREDICTIONS | ({"random_state"} if kind == "distribution" else set())
    stays |= {name for name, _ in MEMBERS}  # the list of members goes instead
    params = {name: value for name, value in model.get_params().items() if name.rpartition("__")[2] not in stays}
    assert len(params) > 4
    for depth in (2, 1, 0):  # those inside first
        later = {name: other(name, value) for name, value in params.items() if name.count("__") == depth}
        assert_same(answers_of_wrapper(model.set_params(**later), file), before)
