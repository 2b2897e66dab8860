"""HistGradientBoostingOrdinalClassifier: parameters, early stopping, warm start, files."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from damage_files import without_digest
from makers import SKLEARN_DEFAULTS
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, _core

VARIANTS = {
    "plain": {},
    "exact": {"hessian": "exact"},
    "newton": {"threshold_update": "newton"},
    "sampled": {"subsample": 0.6, "colsample_bytree": 0.5},
    "held out": {"subsample": 0.6, "pruning": True, "adaptive_step": True},
    "rebinned": {"rebin_every": 5},
    "cumulative": {"loss": "cumulative_link", "link": "probit", "hessian": "exact"},
}


def make(**options):
    return HistGradientBoostingOrdinalClassifier(
        **{"max_iter": 12, "random_state": 0, "max_leaf_nodes": 8, **SKLEARN_DEFAULTS, **options}
    )


@pytest.fixture
def data(ordinal_data):
    X, y = ordinal_data(n_rows=600, n_classes=4)
    X[::7, 1] = np.nan
    return X, y


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_saved_models_replay_their_training_loss(data, tmp_path, variant):
    X, y = data
    options = {"proportional": True, **VARIANTS[variant]}
    fitted = {
        "whole": make(**options).fit(X, y),
        "stopped": make(**options, learning_rate=1.0, n_iter_no_change=2).fit(
            X[:400], y[:400], X_val=X[400:], y_val=y[400:]
        ),
        "continued": make(**{**options, "max_iter": 5, "warm_start": True}).fit(X, y).set_params(max_iter=12).fit(X, y),
    }
    for name, model in fitted.items():
        model.save_model(tmp_path / name)
        loaded = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / name)
        n = 400 if name == "stopped" else len(y)
        rows, labels = X[:n], y[:n]
        for t in range(model.n_iter_ + 1):
            score = loaded._scorer(rows)(0, t)
            value = loaded._fitted_loss.value(score, labels, loaded.threshold_history_[t]).mean()
            assert value == pytest.approx(model.evals_result_["training"][t], rel=1e-6)
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(loaded.apply(X), model.apply(X))
    np.testing.assert_array_equal(fitted["whole"].predict_raw(X), fitted["continued"].predict_raw(X))


def test_early_stopping_keeps_the_best_iteration(data):
    X, y = data
    model = make(max_iter=200, learning_rate=0.5, n_iter_no_change=5).fit(
        X[:300], y[:300], X_val=X[300:], y_val=y[300:]
    )
    losses = model.evals_result_["validation"]
    assert model.n_iter_ == int(np.argmin(losses)) < len(losses) - 1 < 200
    staged = list(model.staged_predict_proba(X))
    assert len(staged) == model.n_iter_
    np.testing.assert_array_equal(staged[-1], model.predict_proba(X))
    held_out = make(max_iter=200, learning_rate=0.5, early_stopping=True).fit(X, y)
    assert len(held_out.evals_result_["validation"]) < 201


def test_gains_below_tol_add_up(data):
    X, y = data
    options = {"max_iter": 100, "learning_rate": 0.02, "n_iter_no_change": 5, "tol": 0.02}
    losses = make(**options).fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:]).evals_result_["validation"]
    counted = [0]
    for t, loss in enumerate(losses):
        if loss < losses[counted[-1]] - 0.02:
            counted.append(t)
    assert np.max(-np.diff(losses)) < 0.02  # no tree gains as much alone
    assert counted[-1] > 5
    assert len(losses) - 1 == min(counted[-1] + 5, 100)


def test_callback_ends_training(data):
    X, y = data
    seen = []

    def stop_at_three(t, evals):
        seen.append(len(evals["training"]))
        return t == 3

    model = make().fit(X, y, callback=stop_at_three)
    assert seen == [2, 3, 4]
    assert model.n_iter_ == 3


def test_apply_and_importances(data):
    X, y = data
    model = make(importance_type="split").fit(X, y)
    leaves = model.apply(X)
    assert leaves.shape == (len(X), 12)
    first = model._ensemble.trees[0]
    np.testing.assert_allclose(model._scorer(X)(0, 1), first.value[leaves[:, 0]])
    assert (np.bincount(leaves[:, 0], minlength=len(first.count))[first.leaves] == first.count[first.leaves]).all()
    split = np.concatenate([tree.feature[tree.feature >= 0] for tree in model._ensemble.trees])
    np.testing.assert_allclose(model.feature_importances_, np.bincount(split, minlength=X.shape[1]) / len(split))
    gain = make(importance_type="gain").fit(X, y).feature_importances_
    assert gain.sum() == pytest.approx(1.0)
    assert gain[[0, 1]].min() > gain[[2, 3]].max()
    with pytest.warns(UserWarning, match="no tree has a split"):
        assert make(min_samples_leaf=len(X)).fit(X, y).feature_importances_.tolist() == [0.0] * X.shape[1]


@pytest.mark.parametrize("name", _core.instruction_sets())
def test_instruction_sets_give_the_same_bytes(data, name):
    X, y = data
    expected = make().fit(X, y).predict_raw(X)
    before = _core.instruction_set()
    _core.select_instruction_set(name)
    try:
        np.testing.assert_array_equal(make().fit(X, y).predict_raw(X), expected)
    finally:
        _core.select_instruction_set(before)


@pytest.mark.parametrize("n_classes", [2, 3, 6, 15, 20, 31, 40])
def test_any_number_of_classes(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = np.searchsorted(np.quantile(X[:, 0], np.arange(1, n_classes) / n_classes), X[:, 0])
    model = make(max_iter=5, learning_rate=0.5).fit(X, y)
    assert model.evals_result_["training"][-1] < 0.7 * model.evals_result_["training"][0]


def test_damaged_files_are_refused(data, tmp_path):
    X, y = data
    make(max_iter=2).fit(X, y).save_model(tmp_path / "model")
    whole = without_digest((tmp_path / "model").read_bytes())
    start = whole.index(b"\n") + 1
    (length,) = struct.unpack_from("<Q", whole, start)
    header = json.loads(whole[start + 8 : start + 8 + length])
    huge = json.dumps({**header, "arrays": [[name, dtype, 10**15] for name, dtype, _ in header["arrays"]]}).encode()
    damaged = [
        ("is not a model", b"tree\n" + whole),
        ("format version 9", whole.replace(b"model 1\n", b"model 9\n", 1)),
        ("damaged", whole[:-1]),
        ("damaged", whole[:start] + struct.pack("<Q", 10**18) + whole[start + 8 :]),
        ("damaged", whole[:start] + struct.pack("<Q", len(huge)) + huge + whole[start + 8 + length :]),
        ("damaged", whole[: start + 3]),
    ]
    for message, content in damaged:
        (tmp_path / "damaged").write_bytes(content)
        with pytest.raises(ValueError, match=message):
            HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "damaged")


@pytest.mark.slow
@pytest.mark.parametrize("proportional", [True, False])
def test_flipped_bits_crash_nothing(data, proportional, tmp_path):
    X, y = data
    make(max_iter=2, proportional=proportional).fit(X, y).save_model(tmp_path / "model")
    whole = without_digest((tmp_path / "model").read_bytes())
    rng = np.random.default_rng(0)
    n_refused = 0
    for _ in range(300):
        content = bytearray(whole)
        content[rng.integers(len(content))] ^= 1 << rng.integers(8)
        (tmp_path / "damaged").write_bytes(content)
        # A flipped bit of a number may pass as another number; no walk may leave its tree.
        try:
            proba = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "damaged").predict_proba(X)
        except (ValueError, TypeError):
            n_refused += 1
        else:
            assert proba.shape == (600, 4)
    assert 0 < n_refused < 300
