"""The classifier with thresholds that move with x: parameters, files, continuation, predictions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.losses import AllThreshold, get_loss
from ordinal_objectives.metrics import ordinal_log_loss

MAKE = {"max_iter": 12, "max_leaf_nodes": 8, "random_state": 0, "early_stopping": False, "proportional": False}


def make(**options):
    return HistGradientBoostingOrdinalClassifier(**{**MAKE, **options})


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    x = np.nan_to_num(X)
    # One feature moves the lower end of the scale, another the upper one.
    cut = np.stack([-2 + 1.5 * x[:, 0], np.zeros(900), 0.5 + 0 * x[:, 0], 2 + 1.5 * x[:, 1]], axis=1)
    score = 1.5 * x[:, 2] + rng.logistic(size=900)
    return X, (score[:, None] > np.sort(cut, axis=1)).sum(axis=1)


def training_losses(model, X, y):
    """Loss of every iteration from the model's own trees and thresholds, margins unsorted."""
    R, losses = np.zeros((len(y), model.n_classes_ - 1)), []
    for t in range(model.n_iter_ + 1):
        margins = model.threshold_history_[t] - R
        losses.append(model._fitted_loss.margin_derivatives(margins, y, "exact").value.mean())
        if t < model.n_iter_:
            model._ensemble.add_to(R, X, t, t + 1, 1)
    return losses


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"split_gain": "scalar", "shift_penalty": "smooth"}, {"link": "probit"}])
def test_a_saved_model_replays_its_training(data, tmp_path, options):
    X, y = data
    model = make(max_iter=5, **options).fit(X, y)
    model.save_model(tmp_path / "model")
    np.testing.assert_allclose(training_losses(model, X, y), model.evals_result_["training"], rtol=1e-6)
    loaded = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.get_params() == model.get_params()
    assert loaded.proportional_ is False
    assert training_losses(loaded, X, y) == training_losses(model, X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_probabilities_follow_from_sorted_margins_and_the_score_is_their_mean(data):
    X, y = data
    model = make(shift_l2=0.1, max_iter=60, learning_rate=0.5).fit(X, y)
    R = model._scores(X)
    margins = model.thresholds_ - R
    assert (np.diff(margins, axis=1) < 0).any(), "no row's thresholds cross: the test shows nothing"
    proba = model.predict_proba(X)
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_allclose(proba, AllThreshold().margin_proba(margins))
    np.testing.assert_allclose(model.predict_cumulative_proba(X), np.cumsum(proba, axis=1)[:, :-1], atol=1e-12)
    np.testing.assert_allclose(model.predict_raw(X), R.mean(axis=1))
    shifts = R - R.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(shifts.mean(axis=0), 0.0, atol=1e-6)
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == 60
    np.testing.assert_allclose(stages[-1], proba, atol=1e-12)
    assert all((stage >= 0).all() for stage in stages)


def test_effects_that_differ_by_threshold_are_found(data):
    X, y = data
    fit, held = slice(0, 600), slice(600, 900)
    losses = [
        ordinal_log_loss(y[held], make(proportional=p, max_iter=60).fit(X[fit], y[fit]).predict_proba(X[held]))
        for p in (True, False)
    ]
    assert losses[1] < losses[0]


def test_warm_start_continues(data, tmp_path):
    X, y = data
    whole = make(max_iter=12).fit(X, y)
    part = make(max_iter=5, warm_start=True).fit(X, y)
    part.save_model(tmp_path / "model")
    loaded = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "model")
    for model in (part, loaded):
        model.set_params(max_iter=12).fit(X, y)
        # Scores of a training are float32 sums, those that it goes on from are float64 ones.
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-6)
        assert len(model.evals_result_["training"]) == 13
    with pytest.raises(ValueError, match="of proportional=False; got proportional=True"):
        part.set_params(proportional=True, max_iter=15).fit(X, y)


@pytest.mark.parametrize("options", [{"subsample": 0.6}, {"subsample": 0.6, "pruning": True, "adaptive_step": True}])
@pytest.mark.parametrize("gain", ["vector", "joint", "scalar"])
def test_samples_pruning_bins_and_early_stopping_work_together(data, options, gain):
    X, y = data
    weight = np.random.default_rng(1).gamma(1.0, size=len(y))
    more = {"max_iter": 80, "early_stopping": True, "n_iter_no_change": 5, "rebin_every": 3, "learning_rate": 0.3}
    model = make(split_gain=gain, colsample_bytree=0.7, **more, **options).fit(X, y, sample_weight=weight)
    validation = model.evals_result_["validation"]
    assert model.n_iter_ == int(np.argmin(validation)) < 80
    assert validation[model.n_iter_] < validation[0]
    training = np.array(model.evals_result_["training"])
    assert (np.diff(training) <= 2e-7 * training[:-1]).all()


@pytest.mark.parametrize("gain", ["vector", "joint", "scalar"])
def test_bins_follow_the_hessians_whatever_judges_splits(data, gain):
    once, often = (make(split_gain=gain, rebin_every=every).fit(*data).predict_raw(data[0]) for every in (None, 3))
    assert not np.array_equal(once, often)


def test_the_validation_loss_is_that_of_predictions(data):
    X, y = data
    model = make(shift_l2=0.1, learning_rate=0.5, max_iter=30).fit(X[:600], y[:600], X_val=X[600:], y_val=y[600:])
    margins = model.thresholds_ - model._scores(X[600:])
    assert (np.diff(margins, axis=1) < 0).any()
    expected = AllThreshold().margin_derivatives(np.sort(margins, axis=1), y[600:], "exact").value.mean()
    assert model.evals_result_["validation"][-1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("proportional", [True, False, "auto"])
def test_a_file_keeps_whether_thresholds_move_with_x(data, tmp_path, proportional):
    X, y = data
    model = make(max_iter=2, proportional=proportional).fit(X, y)
    model.save_model(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    loaded = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "model")
    assert (loaded.proportional, loaded.proportional_) == (proportional, proportional is True)
    assert content.startswith(b"ordinal_objectives histogram model 1\n")
    (tmp_path / "model").write_bytes(content.replace(b"model 1\n", b"model 2\n", 1))
    with pytest.raises(ValueError, match="has format version 2; this version of ordinal_objectives reads version 1"):
        HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "model")


@pytest.mark.parametrize("gain", ["vector", "scalar", "joint"])
def test_adjacent_categories_shift_as_well(data, gain):
    X, y = data
    model = make(loss="immediate_threshold", split_gain=gain).fit(X, y)
    loss = get_loss("immediate_threshold", "logit")
    np.testing.assert_allclose(model.predict_proba(X), loss.margin_proba(model.thresholds_ - model._scores(X)))
    assert model.evals_result_["training"][-1] < model.evals_result_["training"][0]


def test_sparse_shifts_move_few_thresholds_of_a_leaf(ordinal_data, tmp_path):
    X, y = ordinal_data(900, 9)

    def most_steps(**options):
        """Return how many steps differ, of the thresholds, between two leaves of one tree."""
        tree = make(max_iter=1, cross_terms="all", **options).fit(X, y)._ensemble.trees[0]
        of_leaves = tree.value[tree.leaves]  # all less the mean shift, which belongs to the thresholds
        return max(len(np.unique((a - of_leaves[0]).round(9))) for a in of_leaves)

    assert most_steps(shift_penalty="sparse") <= 3
    assert 3 < most_steps(shift_penalty="sparse", max_shifts=2) <= 5
    assert most_steps(shift_penalty="ridge") == 8
    dense = make().fit(X, y % 5)
    nearly = make(shift_penalty="sparse", max_shifts=3).fit(X, y % 5)
    np.testing.assert_array_equal(nearly.predict_proba(X), dense.predict_proba(X))
    sparse = make(shift_penalty="sparse").fit(X, y)
    sparse.save_model(tmp_path / "model")
    loaded = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "model")
    assert (loaded.shift_penalty, loaded.max_shifts) == ("sparse", None)
    np.testing.assert_array_equal(loaded.predict_proba(X), sparse.predict_proba(X))


def test_neighbours_share_shifts(ordinal_data, tmp_path):
    X, y = ordinal_data(900, 9)
    three = make(max_shifts=3).fit(X, y)
    shared = [0, 0, 0, 3, 3, 3, 6, 6]
    for tree in three._ensemble.trees:
        np.testing.assert_allclose(tree.value, tree.value[:, shared], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(make(max_shifts=8).fit(X, y).predict_proba(X), make().fit(X, y).predict_proba(X))
    three.save_model(tmp_path / "model")
    loaded = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "model")
    assert loaded.max_shifts == 3
    np.testing.assert_array_equal(loaded.predict_proba(X), three.predict_proba(X))


def test_a_model_with_a_shift_for_each_threshold_is_continued_with_few(ordinal_data):
    X, y = ordinal_data(900, 9)
    model = make(max_iter=5, warm_start=True).fit(X, y)
    before = model._scores(X)
    model.set_params(max_iter=6, max_shifts=2).fit(X, y)
    added = model._scores(X) - before
    np.testing.assert_allclose(added, added[:, [0, 0, 0, 0, 4, 4, 4, 4]], atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold_update": "newton"}, "threshold_update='newton' has no effect where thresholds move with x"),
        ({"threshold_update": "newton", "proportional": False}, "and split_gain judges the splits"),
        (
            {"split_gain": "joint", "loss": "cumulative_link"},
            "split_gain='joint' has no effect where thresholds do not",
        ),
        ({"split_gain": "scalar", "threshold_update": "fixed"}, "split_gain='scalar' has no effect"),
        ({"split_gain": "vector", "order": 3}, "split_gain='vector' has no effect"),
        ({"split_gain": "vector", "boosting_type": "rf", "subsample": 0.5}, "split_gain='vector' has no effect"),
    ],
)
def test_what_has_no_effect_is_warned_of_once(ordinal_data, options, message):
    X, y = ordinal_data(100, 3)
    with pytest.warns(UserWarning, match=message) as caught:
        HistGradientBoostingOrdinalClassifier(max_iter=2, **options).fit(X, y)
    assert len(caught) == 1


def test_the_default_is_the_vector_mode_bit_for_bit_and_the_joint_mode_is_another(ordinal_data):
    X, y = ordinal_data(300, 4)

    def proba(**options):
        return HistGradientBoostingOrdinalClassifier(max_iter=5, random_state=0, **options).fit(X, y).predict_proba(X)

    default = proba()
    np.testing.assert_array_equal(default, proba(proportional=False, split_gain="vector"))
    assert not np.array_equal(default, proba(proportional=True, threshold_update="joint"))
