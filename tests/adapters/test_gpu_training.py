"""Trainings of XGBoost whose rows are passed over on a GPU.

Without one, arrays are those of a stand-in that NumPy may not touch, kernels are the same source compiled as C++, and
XGBoost gets copies of the gradients. Then its own use of CuPy's arrays is not tested.
"""

from __future__ import annotations

import gc
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import xgboost

import fake_cupy
from ordinal_objectives import AllThreshold, CumulativeLink, XGBOrdinalClassifier
from ordinal_objectives.adapters import xgb as oxgb
from ordinal_objectives.adapters.xgb import training as of_xgboost
from ordinal_objectives.losses import get_loss
from ordinal_objectives.rows import CPU
from ordinal_objectives.rows.device import on_cpu
from ordinal_objectives.rows.gpu import GPU
from own_losses import Scaled, Steep

UPDATES = {
    "fixed": {"threshold_update": "fixed"},
    "newton": {"threshold_update": "newton"},
    "schur": {"threshold_update": "schur"},
    "joint": {},
    "immediate": {"loss": "immediate_threshold"},
    "probit": {"link": "probit"},
    "cloglog": {"link": "cloglog", "threshold_update": "newton"},
    "cumulative": {"loss": "cumulative_link"},
    "costs": {"loss": "cost_weighted"},
    "shifts of cauchit": {"link": "cauchit", "proportional": False},
    "shifts": {"proportional": False},
    "host's shifts": {"proportional": False, "shift_method": "host", "threshold_update": "newton"},
}


@pytest.fixture
def on_stand_in(monkeypatch):
    """Put trainings on the stand-in; what XGBoost is given of it are copies."""
    made = []

    def device_of(booster, loss, n_threads):
        made.append(loss)
        return GPU(fake_cupy)

    def copies_of(call):
        def called(*args):
            pair = call(*args)
            assert all(isinstance(one, fake_cupy.Array) for one in pair)
            return tuple(one.kept.copy() for one in pair)

        return called

    def begin():
        monkeypatch.setattr(of_xgboost, "device_of", device_of)
        monkeypatch.setattr(oxgb.OrdinalObjective, "__call__", copies_of(oxgb.OrdinalObjective.__call__))
        return made

    return begin


def train(X, y, weight, rounds=12, device="cpu", **options):
    data, valid = (xgboost.DMatrix(X[rows], y[rows], weight=weight[rows]) for rows in (slice(400), slice(400, None)))
    curves = {}
    options |= {"evals": [(data, "t"), (valid, "v")], "evals_result": curves, "verbose_eval": False}
    params = {"max_depth": 3, "nthread": 1, "min_child_weight": 0.01, "device": device}
    booster = oxgb.train(params, data, rounds, n_classes=4, **options)
    return oxgb.threshold_record(booster), curves, oxgb.predict_proba(booster, valid)


def compare(found, expected, *, thresholds, loss, curve, proba):
    """Compare what `train` returned twice, each part within its tolerance."""
    (record, curves, probabilities), (wanted, wanted_curves, wanted_probabilities) = found, expected
    np.testing.assert_allclose(record.thresholds, wanted.thresholds, rtol=thresholds, atol=thresholds)
    np.testing.assert_allclose(record.training_loss, wanted.training_loss, rtol=loss)
    for part in ("t", "v"):
        for one, other in zip(wanted_curves[part].values(), curves[part].values(), strict=True):
            np.testing.assert_allclose(other, one, rtol=curve)
    np.testing.assert_allclose(probabilities, wanted_probabilities, atol=proba)


@pytest.mark.parametrize("name", UPDATES)
def test_a_training_is_that_of_the_cpu(ordinal_data, on_stand_in, name):
    X, y = ordinal_data(600, 4)
    weight = np.random.default_rng(0).exponential(size=600)
    expected = train(X, y, weight, **UPDATES[name])
    made = on_stand_in()
    found = train(X, y, weight, **UPDATES[name])
    assert made  # or the comparison is one of the CPU with itself
    compare(found, expected, thresholds=1e-4, loss=1e-5, curve=1e-4, proba=1e-3)


@pytest.mark.parametrize("name", ["joint", "shifts", "host's shifts"])
def test_a_training_continues_on_it(ordinal_data, on_stand_in, name):
    X, y = ordinal_data(600, 4)
    data = xgboost.DMatrix(X, y)
    params, options = {"max_depth": 3, "nthread": 1}, {"n_classes": 4, **UPDATES[name]}
    whole = oxgb.threshold_record(oxgb.train(params, data, 8, **options))
    on_stand_in()
    first = oxgb.train(params, data, 5, **options)
    found = oxgb.threshold_record(oxgb.train(params, data, 3, xgb_model=first, **options))
    np.testing.assert_allclose(found.thresholds, whole.thresholds, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", UPDATES)
def test_only_sums_come_back_and_nothing_is_left_behind(ordinal_data, on_stand_in, monkeypatch, name):
    X, y = ordinal_data(3000, 4)
    data, rounds, asked = xgboost.DMatrix(X, y), 6, []
    predict = xgboost.Booster.predict

    def counted(*args, **options):
        asked.append(options)
        return predict(*args, **options)

    monkeypatch.setattr(xgboost.Booster, "predict", counted)
    on_stand_in()
    gc.collect()
    gc.disable()  # memory is given back when the objective goes, not some time later
    try:
        before = fake_cupy.n_alive()
        fake_cupy.copied.clear()
        fake_cupy.sent.clear()
        oxgb.train({"max_depth": 3, "nthread": 1}, data, rounds, n_classes=4, **UPDATES[name])
        assert fake_cupy.n_alive() == before
    finally:
        gc.enable()
    assert max(fake_cupy.copied) < 100  # sums of thresholds and leaves
    # XGBoost asks for the margin of every round, and the last thresholds for one more. Each is sent once, as labels and
    # the scores that a training follows are.
    assert len(asked) == rounds + 1
    assert sum(size >= len(y) for size in fake_cupy.sent) <= rounds + 3


def test_an_objective_that_is_kept_keeps_its_arrays_and_no_longer(ordinal_data, on_stand_in):
    X, y = ordinal_data(300, 4)
    on_stand_in()
    gc.collect()
    before = fake_cupy.n_alive()
    objective = oxgb.OrdinalObjective(4)
    params = {"base_score": 0.0, "disable_default_eval_metric": 1, "nthread": 1, "max_depth": 2}
    data = xgboost.DMatrix(X, y)
    booster = xgboost.train(params, data, 3, obj=objective, callbacks=[objective.callback])
    assert fake_cupy.n_alive() > before
    del objective
    assert fake_cupy.n_alive() == before
    assert oxgb.threshold_record(booster).n_iterations == 3


def test_gradients_for_splits_stay_on_their_device():
    objective = oxgb.OrdinalObjective(4, proportional=False)
    rows = fake_cupy.Array(np.arange(12.0).reshape(4, 3))
    for one in objective.split_grad(0, rows, rows):
        assert isinstance(one, fake_cupy.Array)
        np.testing.assert_array_equal(on_cpu(one), [[0.0], [3.0], [6.0], [9.0]])


def fake_module(current=0, found=True, **functions):
    runtime = SimpleNamespace(getDevice=lambda: current)
    names = {name: getattr(fake_cupy, name) for name in ("ones", "exp")} | functions
    return SimpleNamespace(is_available=lambda: found, cuda=SimpleNamespace(runtime=runtime), **names)


def no_compiler(values):
    raise RuntimeError("CuPy failed to load libnvrtc.so.12")


@pytest.mark.parametrize(
    ("device", "module", "loss", "reason"),
    [
        ("cuda", None, "all_threshold", "CuPy is not installed"),
        ("cuda", fake_module(found=False), "all_threshold", "CuPy finds no GPU"),
        (
            "cuda",
            fake_module(exp=no_compiler),
            "all_threshold",
            "CuPy does not work here: CuPy failed to load libnvrtc",
        ),
        ("cuda:1", fake_module(), "all_threshold", "CuPy's arrays are on GPU 0"),
        (
            "cuda:0",
            fake_module(),
            CumulativeLink("probit"),
            "loss='cumulative_link' has no pass on a GPU with link='probit'",
        ),
        ("cuda:0", fake_module(), Scaled(), r"loss='own_losses.Scaled\(times=2.0\)' has no pass on a GPU"),
        ("cuda:0", fake_module(), AllThreshold(Steep()), r"link='own_losses.Steep\(.*\)' has no pass on a GPU"),
    ],
)
def test_gradients_of_the_cpu_are_announced_with_the_reason(monkeypatch, device, module, loss, reason):
    monkeypatch.setitem(sys.modules, "cupy", module)  # None: as if it were not installed
    monkeypatch.setattr(of_xgboost, "_configured", lambda booster: device)
    with pytest.warns(UserWarning, match=f"the trees grow on '{device}'.*computed on the CPU: {reason}"):
        found = of_xgboost.device_of(object(), get_loss(loss), 3)
    assert isinstance(found, CPU)
    assert found.n_threads == 3


def test_the_gpu_is_taken_where_xgboost_and_cupy_share_one(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", fake_module(current=1))
    monkeypatch.setattr(of_xgboost, "_configured", lambda booster: "cuda:1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(of_xgboost.device_of(object(), get_loss("all_threshold"), None), GPU)


@pytest.fixture
def cupy():
    library = pytest.importorskip("cupy", reason="CuPy is not installed: XGBoost's use of its arrays is not tested")
    if not library.is_available():
        pytest.skip("no GPU: XGBoost's use of CuPy's arrays is not tested")
    return library


def coarse(ordinal_data, n_rows=600):
    """Return rows of few values a feature, which the CPU and the GPU cut at the same places, and their weights."""
    X, y = ordinal_data(n_rows, 4)
    return np.round(2 * X), y, np.random.default_rng(0).exponential(size=n_rows)


def test_a_classifier_on_a_gpu_is_that_of_the_cpu(cupy, ordinal_data, tmp_path):
    X, y, weight = coarse(ordinal_data, 3000)
    params = {"n_estimators": 30, "learning_rate": 0.1, "subsample": 1.0}  # a GPU draws other rows
    cpu, cuda = (
        XGBOrdinalClassifier(device=device, **params).fit(X, y, sample_weight=weight) for device in ("cpu", "cuda")
    )
    proba = cuda.predict_proba(X)
    np.testing.assert_allclose(proba, cpu.predict_proba(X), atol=5e-3)
    cuda.save_model(tmp_path / "model.json")
    loaded = XGBOrdinalClassifier()
    loaded.load_model(tmp_path / "model.json")
    np.testing.assert_allclose(loaded.predict_proba(X), proba, atol=1e-6)
