"""Multi-output rounds do not raise the training loss: steps that would are halved, and counted."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives import HistGradientBoostingMultiOutputClassifier, HistGradientBoostingMultiOutputRegressor
from ordinal_objectives.threshold_solver import Diagnostics

N_ROWS = 300
LOOSE = {"l2_regularization": 0.0, "min_samples_leaf": 1}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 4))
    z = X[:, 0] + rng.logistic(size=N_ROWS)
    classes = np.digitize(z, [-2, -1, 0, 1, 2])
    labels = np.column_stack([z > 0, z > 2, rng.random(N_ROWS) < 0.03]).astype(int)
    return {"X": X, "classes": classes, "labels": labels, "targets": X + rng.normal(size=X.shape)}


def fitted(data, task, **options):
    kind = HistGradientBoostingMultiOutputRegressor if task == "targets" else HistGradientBoostingMultiOutputClassifier
    options = {"max_iter": 40, "n_jobs": 1, "random_state": 0, **options}
    return kind(**options).fit(data["X"], data[task])


def rises(losses):
    """Return by how much each round raises the loss, relative to it or to the first."""
    t = np.array(losses)
    return np.diff(t) / np.maximum(np.abs(t[:-1]), t[0])


@pytest.mark.parametrize("rate", [1.0, 2.5])
@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("classes", {}),
        ("classes", {"hessian": "full"}),
        ("classes", {"hessian": "majorized"}),
        ("classes", {"subsample": 0.3}),
        ("classes", LOOSE),
        ("labels", {}),
        ("labels", LOOSE),
        ("labels", {"max_outputs": 2}),
        ("targets", {}),
        ("targets", {"subsample": 0.3}),
    ],
)
def test_no_round_raises_the_loss(data, task, options, rate):
    model = fitted(data, task, learning_rate=rate, **options)
    assert rises(model.evals_result_["training"]).max() <= 1e-6
    counts = model.diagnostics_
    assert set(counts) == set(Diagnostics().as_dict())
    assert counts["n_raised"] == 0
    if rate > 2.0:
        assert counts["n_halved"] > 0
    elif options is not LOOSE:
        assert not any(counts.values())
    # The record is that of the model.
    raw, loss = model.predict_raw(data["X"]), model._fitted_loss
    of_rows = loss.derivatives(np.asarray(data[task]), raw, "diagonal")[0]
    assert of_rows.mean() == pytest.approx(model.evals_result_["training"][-1], rel=1e-5, abs=1e-7)


def test_a_halved_step_is_half_a_step(data):
    """For squared errors the loss of a whole step at a rate above 2 rises, and that of half of it falls."""
    whole, half = (fitted(data, "targets", learning_rate=rate, max_iter=1) for rate in (2.5, 1.25))
    assert whole.diagnostics_["n_halved"] == 1
    np.testing.assert_array_equal(whole.predict_raw(data["X"]), half.predict_raw(data["X"]))


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_unit_of_targets_does_not_matter(data, unit):
    model = HistGradientBoostingMultiOutputRegressor(max_iter=20, learning_rate=2.5, n_jobs=1)
    losses = model.fit(data["X"], data["targets"] * unit).evals_result_["training"]
    assert rises(losses).max() <= 1e-6
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize("heavy", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("task", ["classes", "labels"])
def test_one_heavy_row_hides_no_rise(data, task, heavy):
    """Its loss is nearly 0, and the others' count as much as they do without it."""
    weight = np.r_[heavy, np.ones(N_ROWS - 1)]
    model = HistGradientBoostingMultiOutputClassifier(max_iter=20, learning_rate=1.0, min_child_weight=0.0, n_jobs=1)
    losses = np.array(model.fit(data["X"], data[task], sample_weight=weight).evals_result_["training"])
    assert (np.diff(losses) <= 1e-6 * losses[:-1]).all()
    assert model.diagnostics_["n_rejected"] == 0
    if (task, heavy) != ("classes", 1e12):  # float32 gradients of the softmax forget 1e-12
        assert losses[-1] < 0.8 * losses[0]


class Counts:
    """Poisson: exp(f) - y f, which leaves the numbers when a step is long."""

    def start(self, y, weight):
        return np.zeros(y.shape[1])

    def derivatives(self, y, raw_prediction, hessian):
        mean = np.exp(raw_prediction)
        return np.sum(mean - y * raw_prediction, axis=1), mean - y, mean

    def predict(self, raw_prediction):
        return np.exp(raw_prediction)


def test_a_step_to_an_infinite_loss_is_halved(data):
    y = np.full((N_ROWS, 1), 2000.0) + data["targets"][:, :1]
    model = HistGradientBoostingMultiOutputRegressor(loss=Counts(), learning_rate=1.0, max_iter=60, n_jobs=1)
    model.fit(data["X"], y)
    assert np.isfinite(model.evals_result_["training"]).all()
    assert model.diagnostics_["n_halved"] >= 2
    np.testing.assert_allclose(model.predict(data["X"]), y, rtol=0.01)


class Wrong(Counts):
    """Its gradient points away from lower losses."""

    def derivatives(self, y, raw_prediction, hessian):
        loss, gradient, second = super().derivatives(y, raw_prediction, hessian)
        return loss, -gradient, second


def test_a_step_that_no_halving_helps_is_given_up(data):
    y = np.ones((N_ROWS, 1)) + (data["X"][:, :1] > 0)
    model = HistGradientBoostingMultiOutputRegressor(loss=Wrong(), max_iter=2, n_jobs=1).fit(data["X"], y)
    assert model.diagnostics_["n_rejected"] == 2
    assert len(set(model.evals_result_["training"])) == 1
    np.testing.assert_array_equal(model.predict_raw(data["X"]), 0.0)


def test_leaves_without_curvature_are_counted(data):
    class Flat(Counts):
        def derivatives(self, y, raw_prediction, hessian):
            return np.abs(raw_prediction - y).sum(axis=1), np.sign(raw_prediction - y), np.zeros_like(raw_prediction)

    model = HistGradientBoostingMultiOutputRegressor(
        loss=Flat(), max_iter=3, l2_regularization=0.0, min_child_weight=0.0, n_jobs=1
    )
    assert model.fit(data["X"], data["targets"]).diagnostics_["n_flat_leaves"] == 3


def test_counters_are_kept_in_files(data, tmp_path):
    model = fitted(data, "targets", learning_rate=2.5, max_iter=3)
    model.save_model(tmp_path / "model")
    loaded = HistGradientBoostingMultiOutputRegressor().load_model(tmp_path / "model")
    assert loaded.diagnostics_ == model.diagnostics_
    assert loaded.diagnostics_["n_halved"] == 3
