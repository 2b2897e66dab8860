"""warm_start continues a model only with what it was fitted with; the native code checks once more."""

from __future__ import annotations

import copy
from functools import partial

import numpy as np
import pandas as pd
import pytest

from ordinal_objectives import HistGradientBoostingOrdinalClassifier, _core
from ordinal_objectives.trees import TreeEnsemble

GRADES = np.array(list("abcd"))


def make(**options):
    # Bit by bit: scores of a training with shifts are float32, those of its model float64.
    known = {
        "max_iter": 5,
        "max_leaf_nodes": 7,
        "random_state": 0,
        "warm_start": True,
        "n_jobs": 1,
        "proportional": True,
    }
    return HistGradientBoostingOrdinalClassifier(**{**known, **options})


@pytest.fixture
def data(ordinal_data):
    return ordinal_data(400, 4)


def framed(X, names="pqrs"):
    return pd.DataFrame(X, columns=list(names))


CHANGES = {
    "more features": (lambda X, y: (np.tile(X, (1, 100)), y), {}, "X has 400 features, .* expecting 4"),
    "fewer features": (lambda X, y: (X.iloc[:, :3], y), {}, "feature names should match"),
    "one feature": (lambda X, y: (X.to_numpy()[:, :1], y), {}, "X has 1 features, .* expecting 4"),
    "other names": (lambda X, y: (framed(X.to_numpy(), "pqrt"), y), {}, "feature names should match"),
    "other order of columns": (lambda X, y: (X[list("srqp")], y), {}, "must be in the same order"),
    "fewer classes": (lambda X, y: (X, np.minimum(y, 2)), {"classes": None}, "trained on the classes"),
    "other order of classes": (lambda X, y: (X, y), {"classes": [3, 2, 1, 0]}, "trained on the classes"),
    "other labels": (lambda X, y: (X, GRADES[y]), {"classes": GRADES}, "trained on the classes"),
    "another loss": (lambda X, y: (X, y), {"loss": "cumulative_link"}, "of loss='all_threshold'; got .*cumulative"),
    "another link": (lambda X, y: (X, y), {"link": "probit"}, "of link='logit'; got link='probit'"),
    "other bins": (lambda X, y: (X, y), {"max_bins": 16}, "of max_bins=255; got max_bins=16"),
    "no boolean": (lambda X, y: (X, y), {"warm_start": "no"}, "warm_start must be True or False; got 'no'"),
}


@pytest.mark.parametrize("loaded", [False, True], ids=["fitted", "loaded"])
@pytest.mark.parametrize("change", CHANGES)
# An array after a frame is told by scikit-learn's warning, as in predict.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_what_differs_is_refused_by_name(data, tmp_path, change, loaded):
    X, y = framed(data[0]), data[1]
    model = make(classes=[0, 1, 2, 3]).fit(X, y)
    if loaded:
        model.save_model(tmp_path / "model")
        model = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "model")
    before = model.predict_proba(X)
    changed, options, message = CHANGES[change]
    with pytest.raises((ValueError, TypeError), match=message):
        model.set_params(**{"max_iter": 10, **options}).fit(*changed(X, y))
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.n_iter_ == 5


@pytest.mark.parametrize("loaded", [False, True], ids=["fitted", "loaded"])
def test_other_rows_and_weights_continue(data, tmp_path, loaded):
    X, y = data
    model = make().fit(X[:200], y[:200])
    raw = model.predict_raw(X)
    if loaded:
        model.save_model(tmp_path / "model")
        model = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "model")
    model.set_params(max_iter=10, learning_rate=0.3, min_samples_leaf=5)
    model.fit(X[200:], y[200:], sample_weight=np.linspace(1, 2, 200))
    assert model.n_iter_ == 10
    np.testing.assert_array_equal(model._scorer(X)(0, 5), raw)
    losses = model.evals_result_["training"]
    assert losses[10] < losses[5]


def test_a_copy_of_the_model_before_keeps_its_trees(data):
    X, y = data[:2]
    model = make(max_iter=2, warm_start=True).fit(X, y)
    before, trees = copy.copy(model), list(model._ensemble.trees)
    model.set_params(max_iter=5).fit(X, y)
    assert before._ensemble.trees == trees
    assert len(model._ensemble.trees) == 5


def test_a_saved_file_keeps_loss_and_bins_of_the_fit(data, tmp_path):
    """Parameters set after fit are for the next one: the file gives back this model."""
    X, y = data
    model = make(max_bins=32, link="probit").fit(X, y)
    model.set_params(max_bins=64, link="logit", loss="cumulative_link").save_model(tmp_path / "model")
    loaded = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert (loaded.max_bins, loaded.link, loaded.loss) == (64, "probit", "all_threshold")


def test_losses_belong_to_their_iterations_whichever_rows_are_watched(data):
    """Sets that come later are judged after the earlier trees as well, and no set keeps another's losses."""
    X, y = data
    rows = {
        "first": {"X_val": X[:200], "y_val": y[:200]},
        "second": {"X_val": X[200:], "y_val": y[200:]},
    }
    stays = {"early_stopping": False}
    whole = {name: make(max_iter=10, **stays).fit(X, y, **watched) for name, watched in rows.items()}
    for before in ({}, *rows.values()):
        for name, after in rows.items():
            model = make(**stays).fit(X, y, **before).set_params(max_iter=10).fit(X, y, **after)
            assert model.evals_result_ == whole[name].evals_result_
        alone = make(**stays).fit(X, y, **before).set_params(max_iter=10).fit(X, y)
        assert alone.evals_result_ == {"training": whole["first"].evals_result_["training"]}


# The native code's own checks


def predict(trees: TreeEnsemble, X, scores=None):
    trees.add_to(np.zeros(len(X)) if scores is None else scores, X, 0, len(trees), 1)


def test_the_predictor_refuses_what_leads_out_of_a_tree(data):
    X, y = data
    ensemble = make().fit(X, y)._ensemble
    predict(ensemble, X)
    with pytest.raises(ValueError, match="reads no feature of X"):
        predict(ensemble, X[:, :1])
    with pytest.raises(ValueError, match="scores must have one entry for each row"):
        predict(ensemble, X, np.zeros(len(X) - 1))
    with pytest.raises(ValueError, match="X must hold float32 or float64"):
        predict(ensemble, X.astype(np.float16))
    for left in (0, -1, 10**6, 2**31 - 1):
        ensemble.trees[1].left[0] = left
        vars(ensemble).pop("_packed")
        with pytest.raises(ValueError, match="tree 1 is damaged: a node leads out of it"):
            predict(ensemble, X)


def test_the_engine_refuses_cuts_that_no_byte_counts(data):
    X, _ = data
    for cuts, message in [
        ([list(range(255))] + [[]] * 3, "at most 254 cuts"),
        ([[]] * 3, "one list for each feature"),
        ([[1.0, 1.0]] + [[]] * 3, "cuts must increase"),
        ([[np.nan]] + [[]] * 3, "cuts must increase"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.Engine(len(X), [[]] * 4, 1).recut(cuts)
    for cuts, message in [
        ([list(range(255))], "at most 254 cuts"),
        ([[1.0, 1.0]], "cuts must increase"),
        ([[np.nan]], "cuts must increase"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.Engine(len(X), cuts, 1)
    with pytest.raises(ValueError, match="X must have less than 2147483648 rows"):
        _core.Engine(1, [[]], 1).bin(0, np.broadcast_to(X[:1, :1], (2**31, 1)))
    engine = _core.Engine(len(X), [list(range(254))] + [[]] * 3, 1)
    with pytest.raises(ValueError, match="at most 254 cuts"):
        engine.recut([list(range(255))] + [[]] * 3)
    for first, rows in ((0, np.tile(X, (2, 1))), (1, X), (-1, X[:1]), (0, X[:, :3])):
        with pytest.raises(ValueError, match="rows that the engine was made for"):
            engine.bin(first, rows)
    with pytest.raises(ValueError, match="X must have less than 2147483648 rows"):
        _core.Engine(2**31, [[]], 1)


@pytest.mark.parametrize("loaded", [False, True], ids=["fitted", "loaded"])
@pytest.mark.parametrize("split_gain", ["vector", "joint"])
def test_a_continued_training_groups_thresholds_as_one_in_a_single_piece(tmp_path, split_gain, loaded):
    """By the curvature of the pass that grouped them last, which the thresholds' own step has left behind."""
    differences = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(600, 4))
        z = 2 * X[:, 0] + X[:, 1] ** 2 + rng.logistic(size=len(X))
        y = np.searchsorted(np.quantile(z, np.sort(rng.random(8))), z)
        options = {"proportional": "auto", "split_gain": split_gain, "classes": range(9), "max_leaf_nodes": 15}
        whole = make(max_iter=14, **options).fit(X, y)
        model = make(max_iter=7, **options).fit(X, y)
        if loaded:
            model.save_model(tmp_path / "model")
            model = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "model")
        model.set_params(max_iter=14).fit(X, y)
        differences.append(np.abs(model.predict_proba(X) - whole.predict_proba(X)).max())
    assert max(differences) < 1e-5


def test_early_stopping_keeps_what_groups_the_thresholds_of_the_kept_iteration(data):
    X, y = data
    options = {"proportional": "auto", "max_iter": 60, "learning_rate": 0.5, "early_stopping": True}
    stopped = make(**options, n_iter_no_change=4).fit(X[:250], y[:250], X_val=X[250:], y_val=y[250:])
    assert 0 < stopped.n_iter_ < len(stopped.evals_result_["training"]) - 1
    whole = make(**options | {"max_iter": stopped.n_iter_, "early_stopping": False}).fit(X[:250], y[:250])
    np.testing.assert_array_equal(stopped._grown.curvature, whole._grown.curvature)


@pytest.mark.parametrize("rounds", [2, 4, 6])
def test_a_warm_start_looks_again_and_grows_the_same_trees(rounds):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 3)).astype(np.float32)
    score = X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.logistic(size=12_000)
    y = np.searchsorted(np.quantile(score, np.arange(1, 10) / 10), score)
    options = {"subsample": 1.0, "proportional": True, "max_leaf_nodes": 8, "learning_rate": 0.5}
    make = partial(HistGradientBoostingOrdinalClassifier, early_stopping=False, **options)
    whole, continued = make(max_iter=8).fit(X, y), make(max_iter=rounds, warm_start=True).fit(X, y)
    continued.set_params(max_iter=8).fit(X, y)
    assert 0 < whole.diagnostics_["n_all_cross_terms"] < 8
    np.testing.assert_array_equal(continued.predict_proba(X), whole.predict_proba(X))


def test_a_warm_start_keeps_bins_of_equal_hessian(data):
    X, y = data
    options = {"max_bins": 8, "rebin_every": 3, "early_stopping": False}
    whole, continued = make(max_iter=8, **options).fit(X, y), make(max_iter=5, **options).fit(X, y)
    continued.set_params(max_iter=8).fit(X, y)
    np.testing.assert_array_equal(continued.predict_proba(X), whole.predict_proba(X))
