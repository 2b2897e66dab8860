"""Thresholds meet their own booster, labels and training only: attach, slices, evaluation sets, threads."""

from __future__ import annotations

import threading

import lightgbm
import numpy as np
import pytest
import xgboost

from bare import LGB_PARAMS, XGB_PARAMS, train_lgb, train_xgb
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

# attach


def test_an_attached_booster_predicts_from_its_file(ordinal_data, tmp_path):
    X, y = ordinal_data(300)
    dtrain = xgboost.DMatrix(X, y)
    objective = oxgb.OrdinalObjective(5)
    booster = train_xgb(objective, dtrain)
    assert booster.attr(oxgb.ATTRIBUTE) is None
    objective.attach(booster, dtrain)
    booster.save_model(tmp_path / "model.ubj")
    loaded = xgboost.Booster(model_file=tmp_path / "model.ubj")
    record = oxgb.threshold_record(loaded)
    assert record.n_iterations == 10
    np.testing.assert_array_equal(record.at(10), objective.thresholds_)
    np.testing.assert_array_equal(oxgb.predict_proba(loaded, dtrain), objective.predict_proba(booster, dtrain))
    loss = record.ordinal_loss()
    for t in range(1, 11):
        score = loaded.predict(dtrain, output_margin=True, iteration_range=(0, t)).astype(np.float64)
        assert loss.value(score, y, record.at(t)).mean() == pytest.approx(record.training_loss[t], rel=1e-6)
    before = booster.attr(oxgb.ATTRIBUTE)
    objective.attach(booster, dtrain)
    assert booster.attr(oxgb.ATTRIBUTE) == before


def test_attach_refuses_the_booster_of_an_earlier_training(ordinal_data):
    X, y = ordinal_data(300)
    dtrain, objective = xgboost.DMatrix(X, y), oxgb.OrdinalObjective(5)
    earlier, latest = (xgboost.train(XGB_PARAMS | {"eta": eta}, dtrain, 6, obj=objective) for eta in (0.3, 0.1))
    with pytest.raises(ValueError, match="booster"):
        objective.attach(earlier, dtrain)
    for booster in (earlier, latest):  # neither carries thresholds: none are guessed
        with pytest.raises(ValueError, match="booster"):
            objective.predict_proba(booster, dtrain)
    with pytest.raises(ValueError, match="dtrain"):
        objective.attach(latest, xgboost.DMatrix(X[:, ::-1].copy(), y))
    objective.attach(latest, dtrain)  # which the two before have not changed
    expected = xgboost.train(XGB_PARAMS | {"eta": 0.1}, dtrain, 6, obj=objective, callbacks=[objective.callback])
    np.testing.assert_array_equal(oxgb.predict_proba(latest, dtrain), oxgb.predict_proba(expected, dtrain))


def test_attach_refuses_other_rows_and_fewer_rounds(ordinal_data):
    X, y = ordinal_data(300)
    dtrain = xgboost.DMatrix(X, y)
    objective = oxgb.OrdinalObjective(5)
    booster = train_xgb(objective, dtrain)
    with pytest.raises(ValueError, match="dtrain"):
        objective.attach(booster, xgboost.DMatrix(X, np.minimum(y, 1)))
    with pytest.raises(ValueError, match="booster"):
        objective.attach(booster[:6], dtrain)


@pytest.mark.parametrize("kind", [xgboost.DMatrix, xgboost.QuantileDMatrix])
@pytest.mark.parametrize("margin", [False, True])
def test_the_training_matrix_may_be_gone(ordinal_data, kind, margin):
    X, y = ordinal_data(3000)
    options = {"base_margin": np.linspace(-3, 3, 3000)} if margin else {}
    objective = oxgb.OrdinalObjective(5)
    booster = train_xgb(objective, kind(X, y, **options), 60)
    objective.attach(booster, kind(X, y, **options))
    assert oxgb.threshold_record(booster).n_iterations == 60


def test_a_loop_of_ones_own_with_lightgbm_calls_the_callback(ordinal_data):
    X, y = ordinal_data(300)
    params, objective = LGB_PARAMS, olgbm.OrdinalObjective(5)
    booster = lightgbm.Booster(dict(params), lightgbm.Dataset(X, y))
    for i in range(5):
        booster.update(fobj=objective)
        objective.callback(lightgbm.callback.CallbackEnv(booster, params, i, 0, 5, []))
    expected = olgbm.OrdinalObjective(5)
    trained = train_lgb(expected, lightgbm.Dataset(X, y), 5, callbacks=[expected.callback])
    np.testing.assert_array_equal(olgbm.predict_proba(booster, X), olgbm.predict_proba(trained, X))


def test_xgboost_without_the_callback_learns_what_it_learns_with_it(ordinal_data):
    """Also in a second training with the objective, on the same matrix, and in one of another number of rounds."""
    dtrain = xgboost.DMatrix(*ordinal_data(300))
    with_callback = oxgb.OrdinalObjective(5)
    expected = oxgb.threshold_record(train_xgb(with_callback, dtrain, 8, callbacks=[with_callback.callback]))
    objective = oxgb.OrdinalObjective(5)
    for rounds in (8, 3, 8):
        booster = train_xgb(objective, dtrain, rounds)
        objective.attach(booster, dtrain)
        found = oxgb.threshold_record(booster)
        np.testing.assert_array_equal(found.thresholds, expected.thresholds[: rounds + 1])
        np.testing.assert_array_equal(found.training_loss, expected.training_loss[: rounds + 1])


def test_xgboost_trainings_in_turns_need_the_callback(ordinal_data):
    objective = oxgb.OrdinalObjective(5)
    matrices = [xgboost.DMatrix(*ordinal_data(200, seed=seed)) for seed in (0, 1)]
    boosters = [xgboost.Booster(XGB_PARAMS, [matrix]) for matrix in matrices]
    for booster, matrix in zip(boosters, matrices, strict=True):
        booster.update(matrix, 0, objective)
    boosters[1].update(matrices[1], 1, objective)
    with pytest.raises(ValueError, match="callback"):
        boosters[0].update(matrices[0], 1, objective)
    with pytest.raises(ValueError, match="callback"):  # a round is missing
        boosters[1].update(matrices[1], 3, objective)


def test_a_function_around_the_objective_needs_the_callback(ordinal_data):
    objective, dtrain = oxgb.OrdinalObjective(5), xgboost.DMatrix(*ordinal_data(200))

    def around(predt, dmatrix):
        return objective(predt, dmatrix)

    with pytest.raises(ValueError, match="callback"):
        train_xgb(around, dtrain)
    booster = train_xgb(around, dtrain, callbacks=[objective.callback])
    assert oxgb.threshold_record(booster).n_iterations == 10


def test_lightgbm_needs_the_callback(ordinal_data):
    X, y = ordinal_data(300)
    objective, calls = olgbm.OrdinalObjective(5), []
    data = lightgbm.Dataset(X, y, free_raw_data=False)
    with pytest.raises(ValueError, match="callback"):
        train_lgb(objective, data, callbacks=[lambda env: calls.append(env.iteration)])
    assert calls == [0]  # it is missed at the second gradient
    booster = train_lgb(objective, data, callbacks=[objective.callback])
    assert olgbm.threshold_record(booster).n_iterations == 10


@pytest.mark.parametrize("metric", [True, False], ids=["metric", "no metric"])
@pytest.mark.parametrize("constant", [True, False], ids=["no first split", "first split"])
@pytest.mark.parametrize("last", [True, False], ids=["last split", "no last split"])
def test_lightgbm_counts_rounds_without_a_split(ordinal_data, metric, constant, last):
    """LightGBM adds a constant tree for the first of them, and none for later ones."""
    X, y = ordinal_data(300)
    data = lightgbm.Dataset(X, y, free_raw_data=False)
    objective = olgbm.OrdinalObjective(5)
    splits = [not constant, False, True, True, False, True, last]
    gains = [0.0 if split else 1e9 for split in splits]
    options = {"feval": objective.metric, "valid_sets": [data], "valid_names": ["t"]} if metric else {}
    schedule = lightgbm.reset_parameter(min_gain_to_split=gains)
    booster = train_lgb(objective, data, 7, callbacks=[objective.callback, schedule], **options)
    record = olgbm.threshold_record(booster)
    assert record.n_iterations == booster.current_iteration() == sum(splits) + constant
    loss = record.ordinal_loss()
    for t in range(1, record.n_iterations + 1):
        replayed = loss.value(booster.predict(X, raw_score=True, num_iteration=t), y, record.at(t)).mean()
        expected = replayed if constant and t == 1 else record.training_loss[t]
        assert replayed == pytest.approx(expected, rel=1e-6), t
    assert record.training_loss[-1] < record.training_loss[-2]


# slices


@pytest.fixture(params=["newton", "joint", "forest"])
def sliced(request, ordinal_data):
    X, y = ordinal_data(300)
    dtrain = xgboost.DMatrix(X, y)
    params = {"max_depth": 2} | ({"num_parallel_tree": 3, "subsample": 0.5} if request.param == "forest" else {})
    update = "joint" if request.param == "joint" else "newton"
    return oxgb.train(params, dtrain, 12, threshold_update=update), dtrain


def test_slices_from_the_first_round_keep_their_thresholds(sliced, tmp_path):
    booster, dtrain = sliced
    for t in (1, 6, 12):
        expected = oxgb.predict_proba(booster, dtrain, (0, t))
        np.testing.assert_array_equal(oxgb.predict_proba(booster[:t], dtrain), expected)
        np.testing.assert_array_equal(oxgb.predict_proba(booster[:12][:t], dtrain), expected)
        booster[:t].save_model(tmp_path / "slice.json")
        loaded = xgboost.Booster(model_file=tmp_path / "slice.json")
        loaded.feature_names = ["a", "b", "c", "d"]  # names do not matter
        loaded.feature_names = None
        np.testing.assert_array_equal(oxgb.predict_proba(loaded, dtrain), expected)


@pytest.mark.parametrize("cut", [slice(6, 12), slice(0, 12, 2), slice(1, 2), slice(1, 12), slice(2, 10, 2)])
def test_other_slices_are_refused(sliced, cut):
    booster, dtrain = sliced
    part = booster[cut.start : cut.stop : cut.step] if cut.step else booster[cut.start : cut.stop]
    with pytest.raises(ValueError, match="a slice that does not start at 0 or leaves rounds out"):
        oxgb.predict_proba(part, dtrain)
    with pytest.raises(ValueError, match="a slice that does not start at 0"):
        oxgb.train({"max_depth": 2}, dtrain, 3, threshold_update="newton", xgb_model=part)


def test_a_slice_continued_without_thresholds_is_refused(sliced):
    booster, dtrain = sliced
    other = oxgb.OrdinalObjective(5)
    grown = xgboost.train({"max_depth": 2}, dtrain, 4, obj=other, xgb_model=booster[:6])
    with pytest.raises(ValueError, match="10 rounds are not the first 10"):
        oxgb.predict_proba(grown, dtrain)


def test_slices_of_single_leaves_are_told_apart(ordinal_data):
    """Stumps that split alike differ in their leaves."""
    X, y = ordinal_data(300)
    dtrain = xgboost.DMatrix(X[:, :1] > 0, y)
    booster = oxgb.train({"max_depth": 1}, dtrain, 8)
    with pytest.raises(ValueError, match="a slice"):
        oxgb.predict_proba(booster[2:6], dtrain)
    assert oxgb.predict_proba(booster[:4], dtrain).shape == (300, 5)


# evaluation sets


@pytest.mark.parametrize(("host", "with_callback"), [("xgboost", True), ("xgboost", False), ("lightgbm", True)])
@pytest.mark.parametrize("changed", ["label", "weight"])
def test_evaluation_sets_are_read_anew(ordinal_data, host, with_callback, changed):
    X, y = ordinal_data(400)
    Xv, yv = ordinal_data(200, seed=5)
    weight = np.where(yv > 2, 5.0, 0.5)
    if host == "xgboost":
        train, valid = xgboost.DMatrix(X, y), xgboost.DMatrix(Xv, yv)
    else:
        train = lightgbm.Dataset(X, y, free_raw_data=False)
        valid = train.create_valid(Xv, yv)

    def losses(objective):
        callbacks, seen = [objective.callback] if with_callback else [], {}
        if host == "xgboost":
            options = {"evals": [(valid, "v")], "evals_result": seen, "custom_metric": objective.metric}
            train_xgb(objective, train, 5, callbacks=callbacks, **options)
        else:
            callbacks.append(lightgbm.record_evaluation(seen))
            options = {"valid_sets": [valid], "valid_names": ["v"], "feval": objective.metric}
            train_lgb(objective, train, 5, callbacks=callbacks, **options)
        return seen["v"]["all_threshold"]

    make = (oxgb if host == "xgboost" else olgbm).OrdinalObjective
    objective = make(5)
    first = losses(objective)
    if changed == "label":
        valid.set_label(4 - yv)
    else:
        valid.set_weight(weight)
    again = losses(objective)
    assert again == losses(make(5))
    assert abs(again[-1] - first[-1]) > 0.02


@pytest.mark.parametrize("weight", [None, np.ones(200)], ids=["alike", "weighted"])
def test_labels_that_change_within_a_training_are_seen(weight, ordinal_data):
    X, y = ordinal_data(300)
    dvalid = xgboost.DMatrix(*ordinal_data(200, seed=5), weight=weight)
    objective = oxgb.OrdinalObjective(5)
    seen = {}

    class Relabel(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            dvalid.set_label(4 - dvalid.get_label())
            return False

    options = {"evals": [(dvalid, "v")], "evals_result": seen, "custom_metric": objective.metric}
    train_xgb(objective, xgboost.DMatrix(X, y), 6, callbacks=[objective.callback, Relabel()], **options)
    losses = seen["v"]["all_threshold"]
    assert min(losses[1::2]) > max(losses[0::2]) + 0.2


# one objective in several threads


@pytest.mark.parametrize("host", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("update", ["newton", "schur"])
@pytest.mark.parametrize("shared_matrix", [False, True])
def test_threads_share_an_objective_but_not_a_training(ordinal_data, host, update, shared_matrix):
    """Each training in a thread is the one that would run alone, however the threads take turns."""
    sets = [ordinal_data(200, seed=0 if shared_matrix else seed) for seed in range(3)]
    module, train = (oxgb, train_xgb) if host == "xgboost" else (olgbm, train_lgb)
    if host == "xgboost":
        matrices = [xgboost.DMatrix(X, y) for X, y in sets]
    else:
        matrices = [lightgbm.Dataset(X, y, free_raw_data=False).construct() for X, y in sets]
    if shared_matrix:
        matrices = matrices[:1] * 3
    rates = [0.1, 0.3, 0.5]

    class InTurns:
        """An objective that lets the other threads go on after each call."""

        def __init__(self, objective, barrier):
            self.objective, self.barrier = objective, barrier

        def __deepcopy__(self, memo):
            return self

        def __call__(self, score, matrix):
            gradient, hessian = (values.copy() for values in self.objective(score, matrix))
            if self.barrier is not None:
                self.barrier.wait(timeout=60)
            return gradient, hessian

    def scheduled(rate):
        if host == "xgboost":
            return xgboost.callback.LearningRateScheduler(lambda _: rate)
        return lightgbm.reset_parameter(learning_rate=lambda _: rate)

    def run(objective, i, barrier=None):
        booster = train(
            InTurns(objective, barrier), matrices[i], 6, callbacks=[objective.callback, scheduled(rates[i])]
        )
        return module.threshold_record(booster)

    expected = [run(module.OrdinalObjective(5, threshold_update=update), i) for i in range(3)]
    shared, barrier = module.OrdinalObjective(5, threshold_update=update), threading.Barrier(3)
    found, own = {}, {}

    def work(i):
        found[i] = run(shared, i, barrier)
        own[i] = shared.thresholds_

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert sorted(found) == [0, 1, 2]
    for i in range(3):
        np.testing.assert_array_equal(found[i].thresholds, expected[i].thresholds)
        np.testing.assert_array_equal(found[i].training_loss, expected[i].training_loss)
        np.testing.assert_array_equal(own[i], expected[i].thresholds[-1])
    assert any(np.array_equal(shared.thresholds_, one.thresholds[-1]) for one in expected)
