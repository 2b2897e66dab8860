"""Every constructor parameter, and a loss of one's own, through a model file; what a loaded classifier forgets."""

from __future__ import annotations

import inspect
import pickle
import warnings

import numpy as np
import pytest

import ordinal_objectives as oo
from makers import BOTH, make_xgb
from ordinal_objectives import (
    AllThreshold,
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    XGBOrdinalClassifier,
    links,
    losses,
)
from ordinal_objectives.adapters.xgb import booster as xgb_booster
from ordinal_objectives.losses import register_loss
from own_losses import Rising, Scaled, Steep

# Belong to the machine that loads a model: the engine keeps its threads.
OF_MACHINE = {"n_jobs", "progress", "verbose", "verbosity", "device"}
COSTS = [[0.0, 1.0, 2.0, 4.0], [1.0, 0.0, 1.0, 2.0], [2.0, 1.0, 0.0, 1.0], [3.0, 2.0, 1.0, 0.0]]


def own_metric(y, proba, sample_weight=None):
    return float(proba[:, 0].mean())


SHARED: dict[str, list] = {
    "classes": [[0, 1, 2, 3], np.arange(4)],
    "loss": ["cumulative_link"],
    "link": ["probit"],
    "training_cost": ["quadratic", COSTS],
    "hessian": ["majorized"],
    "threshold_update": ["fixed", "newton", "joint"],
    "proportional": [False, True],
    "shift_l2": [3.0],
    "shift_penalty": ["smooth", "sparse"],
    "max_shifts": [2],
    "linear": [True],
    "linear_l2": [7.0],
    "decision_rule": ["mode"],
    "cost_matrix": [COSTS, np.array(COSTS)],
    "class_weight": ["balanced", {0: 2.0, 3: 1.5}],
    "random_intercept": [2, [2]],
    "learning_rate": [0.3, np.float32(0.3)],
    "min_child_weight": [2.0],
    "subsample": [0.5],
    "colsample_bytree": [0.5],
    "random_state": [3, np.int64(3), np.random.RandomState(0)],
    "importance_type": ["gain", "split"],
    "validation_fraction": [0.2],
}
XGBOOST: dict[str, list] = {
    "n_estimators": [3],
    "shift_method": ["host"],
    "split_outputs": [1, "all"],
    "max_depth": [2, None],
    "max_leaves": [3],
    "max_bin": [16],
    "gamma": [0.1],
    "reg_alpha": [0.1],
    "reg_lambda": [2.0],
    "tree_method": ["exact"],
    "missing": [np.inf, -np.inf, -9.0],
    "enable_categorical": [False],
    "feature_types": [["q", "q", "q"]],
    "feature_weights": [[1.0, 2.0, 1.0], np.ones(3)],
    "importance_type": ["weight"],
    "early_stopping_rounds": [2],
    "eval_metric": ["mae", ["mae", "qwk"], own_metric],
    "callbacks": [[]],
    # others of XGBoost's
    "interaction_constraints": ["[[0, 1], [2]]"],
    "monotone_constraints": [(1, 0, 0), "(1,0,0)"],
    "max_delta_step": [np.inf],
}
LIGHTGBM: dict[str, list] = {
    "n_estimators": [3],
    "boosting_type": ["goss"],
    "num_leaves": [4],
    "max_depth": [2],
    "subsample_for_bin": [1000],
    "min_split_gain": [0.1],
    "min_child_samples": [5],
    "subsample_freq": [2],
    "reg_alpha": [0.1],
    "reg_lambda": [2.0],
    "early_stopping_round": [2],
    # others of LightGBM's
    "interaction_constraints": [[[0, 1], [2]], [{0, 1}, {2}], [(0, 1), (2,)], [frozenset({0, 1}), [2]]],
    "monotone_constraints": [[1, 0, 0], (1, 0, 0)],
}
ENGINE: dict[str, list] = {
    "max_iter": [3],
    "max_leaf_nodes": [4, None],
    "max_depth": [2],
    "min_samples_leaf": [3],
    "l2_regularization": [2.0],
    "max_bins": [16],
    "categorical_features": [None, [2], [False, False, True]],
    "min_samples_category": [3],
    "rebin_every": [1],
    "early_stopping": [True, False],
    "n_iter_no_change": [2],
    "tol": [1e-3],
    "scoring": ["accuracy", None],
    "eval_metric": ["mae", ["mae", "qwk"], own_metric],
    "warm_start": [True],
    "order": [3],
    "gamma": [0.1],
    "boosting_type": ["rf"],
    "data_sample_strategy": ["goss"],
    "top_rate": [0.3],
    "other_rate": [0.2],
    "max_features": [0.5, 2, "sqrt"],
    "monotonic_cst": [[1, 0, 0], np.array([1, 0, 0])],
    "interaction_cst": ["pairwise", [{0, 1}, {2}], [frozenset({0, 1})], [(0, 1), [2]]],
    "pruning": [True],
    "adaptive_step": [True],
    "judged_by": ["validation"],
    "cross_terms": ["all"],
    "split_gain": ["scalar"],
}
KINDS: dict[str, tuple] = {
    "XGBoost": (XGBOrdinalClassifier, "model.json", {"n_estimators": 2}, XGBOOST),
    "LightGBM": (LGBMOrdinalClassifier, "model.txt", {"n_estimators": 2}, LIGHTGBM),
    "engine": (HistGradientBoostingOrdinalClassifier, "model", {"max_iter": 2}, ENGINE),
}
# What a value needs beside it.
BESIDE = {
    "shift_penalty": {"proportional": False},
    "shift_l2": {"proportional": False},
    "max_shifts": {"proportional": False, "shift_penalty": "sparse"},
    "split_outputs": {"shift_method": "host"},
    "early_stopping_rounds": {"validation_fraction": 0.2},
    "early_stopping_round": {"validation_fraction": 0.2},
    "link": {"proportional": True},
    "loss": {"proportional": True},
    "hessian": {"proportional": True},
    "threshold_update": {"proportional": True},
    "training_cost": {"proportional": True},
    "judged_by": {"pruning": True},
    "random_intercept": {"loss": "cumulative_link", "proportional": True},
    "reg_alpha": {"proportional": True},
    "monotone_constraints": {"proportional": True},
    "max_delta_step": {"proportional": True},
    "split_gain": {"proportional": False},
}
NAMES = [
    (kind, name, value)
    for kind, (_, _, _, own) in KINDS.items()
    for name, values in (SHARED | own).items()
    for value in (values if kind == "engine" or name in own else values[:1])  # one writer has all kinds of values
    if name in inspect.signature(KINDS[kind][0]).parameters or name in own
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    X[:, 2] = rng.integers(0, 3, 120)
    X[::7, 1] = -9.0
    return X, np.digitize(2 * X[:, 0] + rng.logistic(size=120), [-2.0, 0.0, 2.0])


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_holds_every_parameter(kind):
    model, _, _, own = KINDS[kind]
    assert set(model().get_params()) <= set(SHARED) | set(own) | OF_MACHINE


@pytest.mark.filterwarnings("ignore:no tree has a split", "ignore:.*(is not used|has no effect)")
@pytest.mark.parametrize(("kind", "name", "value"), NAMES)
def test_a_parameter_survives_a_file_or_is_named(data, tmp_path, kind, name, value):
    X, y = data
    model, file, few, _ = KINDS[kind]
    quiet = {"verbose": -1} if kind == "LightGBM" else {}
    saved = model(**{**few, **quiet, "n_jobs": 1, "random_state": 0, **BESIDE.get(name, {}), name: value}).fit(X, y)
    saved.save_model(tmp_path / file)
    other = {"missing": 4.0} if kind == "XGBoost" else {}  # what the loading one has does not matter
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = model(**other).load_model(tmp_path / file)
    named = any(f"the file holds no {name}," in str(one.message) for one in caught)
    expected, found = saved.get_params()[name], loaded.get_params().get(name)
    arrays = any(isinstance(one, np.ndarray) for one in (found, expected))
    same = np.array_equal(found, expected) if arrays else found == expected
    assert same is not named, (expected, found)
    assert len(caught) == named
    if kind == "XGBoost":
        np.testing.assert_equal(loaded.missing, saved.missing)
    np.testing.assert_array_equal(loaded.predict(X), saved.predict(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), saved.predict_proba(X))


# Files of models with a loss or a link of one's own name it, and are read where it is registered


@pytest.fixture
def new_process(monkeypatch):
    """Return what forgets the losses and links in use, as a new process does."""

    def forget():
        for registry in (losses._OWN, links._OWN):
            monkeypatch.setattr(registry, "_own", {})
        monkeypatch.setattr(xgb_booster, "_by_text", {})

    return forget


@BOTH
@pytest.mark.parametrize("loss", [Rising(), Scaled(Steep(3.0), times=3.0), AllThreshold(Steep())], ids=repr)
def test_files_are_read_once_the_loss_is_registered(make, loss, halves, tmp_path, new_process):
    X, y = halves[:2]
    model = make(loss=loss, proportional=True).fit(X, y)
    path = tmp_path / ("model.json" if make is make_xgb else "model.txt")
    model.save_model(path)
    proba, text = model.predict_proba(X), path.read_text()
    assert loss.identity in text
    assert loss.link.identity in text
    new_process()
    with pytest.raises(ValueError, match=r"'own_losses.* is not part of this package: import it") as found:
        make().load_model(path)
    assert "damaged" not in str(found.value)
    register_loss(loss)
    loaded = make().load_model(path)
    np.testing.assert_array_equal(loaded.predict_proba(X), proba)
    assert (loaded.loss, loaded.link) == (loss.identity, loss.link.identity)
    np.testing.assert_array_equal(loaded.fit(X, y).predict_proba(X), proba)


@BOTH
def test_a_loss_with_other_attributes_is_another(make, halves, tmp_path, new_process):
    path = tmp_path / ("model.json" if make is make_xgb else "model.txt")
    make(loss=Scaled(times=3.0), proportional=True).fit(*halves[:2]).save_model(path)
    new_process()
    register_loss(Scaled(times=2.0))
    with pytest.raises(ValueError, match=r"loss 'own_losses.Scaled\(times=3.0\)' with link 'logit' is not part of"):
        make().load_model(path)


@BOTH
def test_pickles_bring_their_loss(make, halves, new_process):
    X, y = halves[:2]
    model = make(loss=Scaled(Steep(3.0)), proportional=True).fit(X, y)
    proba, stored = model.predict_proba(X), pickle.dumps(model)
    new_process()
    np.testing.assert_array_equal(pickle.loads(stored).predict_proba(X), proba)


# A loaded classifier has the parameters of the model in the file, whatever it had before


rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=200), [-1, 0, 1])
# A classifier, its number of rounds, and parameters of another model: of the constructor, and of the library below.
LOADED = [
    (oo.XGBOrdinalClassifier, "n_estimators", {"gamma": 2.0, "colsample_bynode": 0.3, "max_delta_step": 0.1}),
    (oo.LGBMOrdinalClassifier, "n_estimators", {"reg_lambda": 9.0, "max_bin": 3, "feature_fraction": 0.4}),
    (oo.HistGradientBoostingOrdinalClassifier, "max_iter", {"gamma": 2.0, "max_features": 0.5}),
]


@pytest.mark.parametrize(("kind", "rounds", "others"), LOADED)
def test_parameters_that_a_file_does_not_name_are_forgotten(kind, rounds, others, tmp_path):
    path = tmp_path / "model.json"
    model = kind(**{rounds: 3}, random_state=0).fit(X, y)
    model.save_model(path)
    fresh, loaded = kind().load_model(path), kind(**others).load_model(path)
    given, expected = loaded.get_params(), fresh.get_params()
    assert given.keys() == expected.keys()
    assert all(repr(given[name]) == repr(expected[name]) for name in given)
    again = kind(**given).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_parameters_that_an_older_file_has_not_are_the_defaults(tmp_path):
    path = tmp_path / "model.json"
    model = oo.XGBOrdinalClassifier(n_estimators=3, gamma=0.5).fit(X, y)
    described = model._description()
    del described.params["gamma"]
    model._description = lambda **_: described
    model.save_model(path)
    assert oo.XGBOrdinalClassifier(gamma=0.7).load_model(path).gamma is None


def test_an_ensemble_takes_all_of_the_file(tmp_path):
    members = [("engine", oo.HistGradientBoostingOrdinalClassifier(max_iter=3))]
    oo.OrdinalEnsembleClassifier(members).fit(X, y).save_model(tmp_path / "model.zip")
    others = oo.OrdinalEnsembleClassifier(
        [("other", oo.XGBOrdinalClassifier(max_delta_step=0.1))], weights="rps", class_weight="balanced"
    )
    given = others.load_model(tmp_path / "model.zip").get_params()
    expected = oo.OrdinalEnsembleClassifier(members).load_model(tmp_path / "model.zip").get_params()
    assert given.keys() == expected.keys()
    assert all(repr(given[name]) == repr(expected[name]) for name in given if "__" in name)


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        (oo.XGBOrdinalClassifier, {"n_jobs": 1, "verbosity": 0, "device": "cpu"}),
        (oo.LGBMOrdinalClassifier, {"n_jobs": 1, "verbosity": -1}),
        (oo.LGBMOrdinalClassifier, {"num_threads": 1, "verbose": -1, "device_type": "cpu"}),
    ],
)
def test_parameters_of_the_machine_stay(kind, kept, tmp_path):
    path = tmp_path / "model.json"
    kind(n_estimators=3).fit(X, y).save_model(path)
    assert kept.items() <= kind(**kept).load_model(path).get_params().items()


def test_names_that_resemble_one_of_xgboost_are_refused_too(tmp_path):
    model = oo.XGBOrdinalClassifier(n_estimators=2).fit(X, y).set_params(max_delta_stp=1)
    with pytest.raises(TypeError, match="did you mean 'max_delta_step'"):
        model.save_model(tmp_path / "model.json")
