"""Only LightGBM: dart, several trainings on one data set, iterations taken back, predictions from threads."""

from __future__ import annotations

import copy
import pickle
import threading

import lightgbm
import numpy as np
import pytest

from ordinal_objectives import LGBMOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm
from ordinal_objectives.adapters.lgbm.input_checks import KNOWN
from pairs import each_pair

pytestmark = pytest.mark.slow

QUIET = {"verbosity": -1, "metric": "None", "num_leaves": 7, "min_data_in_leaf": 5, "learning_rate": 0.3}
UPDATES = pytest.mark.parametrize("update", ["fixed", "newton", "schur", "joint"])
CALLBACK = pytest.mark.parametrize("callback", [True, False], ids=["callback", "bare"])
DART = r"(?i)params\['boost(ing|ing_type)?'\] = 'dart' is not allowed beside an ordinal objective: .*trees of the model"


def train(objective, data, rounds=10, *, callback=True, params=None, callbacks=(), **options):
    ours = [objective.callback] if callback else []
    params = {**QUIET, **(params or {}), "objective": objective}
    return lightgbm.train(params, data, rounds, callbacks=[*ours, *callbacks], **options)


def record_of(objective, booster):
    """Return the record of a booster, or where it carries none, as without the callback, that of its training."""
    try:
        return olgbm.threshold_record(booster)
    except ValueError:
        return objective.training.latest.record().stretched(booster.current_iteration())


def replayed_loss(booster, record, X, y, start=0.0):
    """Return the losses of a model's own scores at its recorded thresholds, from the first tree on."""
    loss = record.ordinal_loss()
    scores = (start + booster.predict(X, raw_score=True, num_iteration=t) for t in range(1, record.n_iterations + 1))
    return [loss.value(score, y, record.at(t)).mean() for t, score in enumerate(scores, 1)]


# dart


@each_pair(
    {
        "update": ["fixed", "newton", "schur", "joint"],
        "name": ["boosting", "boosting_type", "boost"],
        "value": ["dart", "DART"],
    }
)
def test_dart_is_refused_by_name(ordinal_data, update, name, value):
    data = lightgbm.Dataset(*ordinal_data(200))
    with pytest.raises(ValueError, match=DART):
        olgbm.train({"verbosity": -1, name: value}, data, 3, n_classes=5, threshold_update=update)
    assert data._handle is None  # refused before anything was done to the data


@pytest.mark.skipif("bagging_by_query" not in KNOWN, reason="LightGBM 4.5 does not have it")
def test_samples_of_queries_are_refused(ordinal_data):
    X, y = ordinal_data(200)
    refused = pytest.raises(ValueError, match=r"^params\['bagging_by_query'\] = 1 is not allowed beside an ordinal obj")
    params = {"bagging_by_query": True, "bagging_fraction": 0.8, "bagging_freq": 1}
    for update in ("newton", "joint"):
        with refused:
            olgbm.train({**QUIET, **params}, lightgbm.Dataset(X, y), 3, threshold_update=update)
    with refused:
        LGBMOrdinalClassifier(n_estimators=3, bagging_by_query=True).fit(X, y)
    objective = olgbm.OrdinalObjective(5)
    booster = train(objective, lightgbm.Dataset(X, y), 3, callback=False, params=params)
    with refused:
        objective.attach(booster, X)


@pytest.mark.parametrize("params", [{"data_sample_strategy": "goss"}, {"boosting": "goss"}, {"boosting": "gbrt"}])
@UPDATES
def test_other_kinds_of_boosting_replay(ordinal_data, params, update):
    X, y = ordinal_data(300)
    params = {"verbosity": -1, "num_leaves": 7, **params}
    booster = olgbm.train(params, lightgbm.Dataset(X, y), 10, n_classes=5, threshold_update=update)
    record = olgbm.threshold_record(booster)
    np.testing.assert_allclose(replayed_loss(booster, record, X, y), record.training_loss[1:], rtol=1e-5)


# One data set, several trainings


@pytest.fixture
def started(ordinal_data):
    X, y = ordinal_data(500)
    return X, y, 2 * np.random.default_rng(3).normal(size=500)


@CALLBACK
@pytest.mark.parametrize("update", ["newton", "fixed"])
def test_one_data_set_trains_twice_from_start_scores(started, callback, update):
    """The second training equals one with a fresh objective, and leaves the record of the first as it was."""
    X, y, start = started
    thresholds = [-2.0, -1.0, 1.0, 2.0] if update == "fixed" else None
    objective = olgbm.OrdinalObjective(5, threshold_update=update, thresholds=thresholds)
    data = lightgbm.Dataset(X, y, init_score=start, free_raw_data=False)
    boosters, records = [], []
    for rounds in (10, 30):
        boosters.append(train(objective, data, rounds, callback=callback))
        records.append(record_of(objective, boosters[-1]))
        if rounds == 10:
            before = copy.deepcopy(records[0])
    fresh = olgbm.OrdinalObjective(5, threshold_update=update, thresholds=thresholds)
    expected = train(fresh, lightgbm.Dataset(X, y, init_score=start), 30, callback=callback)
    first, second, third = (*records, record_of(fresh, expected))
    np.testing.assert_array_equal(first.thresholds, before.thresholds)
    np.testing.assert_array_equal(second.thresholds, third.thresholds)
    np.testing.assert_array_equal(second.training_loss, third.training_loss)
    np.testing.assert_array_equal(boosters[1].predict(X), expected.predict(X))
    known = slice(1, 31 if callback else 30)
    replayed = replayed_loss(boosters[1], second, X, y, start)
    np.testing.assert_allclose(replayed[: known.stop - 1], second.training_loss[known], rtol=1e-5)


@CALLBACK
def test_one_objective_continues_and_starts_again(ordinal_data, callback):
    """A plain training, its continuation, and a plain training again, all on one data set."""
    X, y = ordinal_data(500)
    objective = olgbm.OrdinalObjective(5)
    data = lightgbm.Dataset(X, y, free_raw_data=False)
    first = train(objective, data, 8, callback=callback)
    second = train(objective, data, 6, callback=callback, init_model=first)
    if not callback:
        objective.attach(second, X)
    record = olgbm.threshold_record(second)
    assert record.n_iterations == second.current_iteration() == 14
    known = slice(9, 15 if callback else 14)
    np.testing.assert_allclose(
        replayed_loss(second, record, X, y)[8 : known.stop - 1], record.training_loss[known], rtol=1e-5
    )
    train(objective, data, 8, callback=callback)
    fresh = olgbm.OrdinalObjective(5)
    train(fresh, lightgbm.Dataset(X, y), 8, callback=callback)
    np.testing.assert_array_equal(objective.thresholds_, fresh.thresholds_)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@CALLBACK
def test_a_training_after_an_interrupted_one(started, callback, error):
    X, y, start = started
    data = lightgbm.Dataset(X, y, init_score=start, free_raw_data=False)
    objective, fresh = olgbm.OrdinalObjective(5), olgbm.OrdinalObjective(5)

    def interrupt(env):
        if env.iteration == 4:
            raise error("enough")

    with pytest.raises(error):
        train(objective, data, 10, callback=callback, callbacks=[interrupt])
    train(objective, data, 10, callback=callback)
    train(fresh, lightgbm.Dataset(X, y, init_score=start), 10, callback=callback)
    np.testing.assert_array_equal(objective.thresholds_, fresh.thresholds_)


@UPDATES
@pytest.mark.parametrize("options", [{}, {"min_gain_to_split": 5.0}])
def test_a_record_is_of_its_round(ordinal_data, update, options):
    """What the booster carries after a round does not grow with the rounds that follow."""
    kept = []
    callback = lambda env: kept.append((env.model.current_iteration(), env.model.ordinal_thresholds))  # noqa: E731
    data = lightgbm.Dataset(*ordinal_data(300))
    params = {"verbosity": -1, **options}
    olgbm.train(params, data, 6, n_classes=5, threshold_update=update, callbacks=[callback])
    for rounds, record in kept:
        assert (len(record.thresholds), len(record.training_loss)) == (rounds + 1, rounds + 1)


# Iterations taken back, parameters changed under way


def rollback_after(iterations, times=1):
    def rollback(env):
        if env.iteration in iterations:
            for _ in range(times):
                env.model.rollback_one_iter()

    return rollback


@UPDATES
@pytest.mark.parametrize("times", [1, 2])
def test_rollback_is_refused(ordinal_data, update, times):
    data = lightgbm.Dataset(*ordinal_data(300))
    with pytest.raises(ValueError, match="rollback_one_iter"):
        olgbm.train(
            {"verbosity": -1}, data, 10, n_classes=5, threshold_update=update, callbacks=[rollback_after([4], times)]
        )


@UPDATES
def test_rollback_of_the_last_iteration_keeps_the_others(ordinal_data, update):
    X, y = ordinal_data(300)
    options = {"n_classes": 5, "threshold_update": update}
    params = {"verbosity": -1, "num_leaves": 7}
    booster = olgbm.train(params, lightgbm.Dataset(X, y), 10, callbacks=[rollback_after([9])], **options)
    expected = olgbm.train(params, lightgbm.Dataset(X, y), 10, **options)
    assert booster.current_iteration() == 9
    np.testing.assert_allclose(olgbm.predict_proba(booster, X), olgbm.predict_proba(expected, X, 9), rtol=1e-9)


@pytest.mark.parametrize("update", ["schur", "joint"])
@pytest.mark.parametrize(("name", "value"), [("lambda_l1", 0.5), ("max_delta_step", 0.1), ("path_smooth", 1.0)])
def test_parameters_changed_under_way_are_refused(ordinal_data, update, name, value):
    data = lightgbm.Dataset(*ordinal_data(300))
    change = lightgbm.reset_parameter(**{name: [0.0] * 3 + [value] * 3})
    with pytest.raises(ValueError, match=rf"params\['{name}'\] = .*threshold_update='{update}'"):
        olgbm.train({"verbosity": -1}, data, 6, n_classes=5, threshold_update=update, callbacks=[change])


@UPDATES
def test_decaying_learning_rate_and_penalty_replay(ordinal_data, update):
    X, y = ordinal_data(300)
    change = lightgbm.reset_parameter(learning_rate=lambda t: 0.5 * 0.7**t, lambda_l2=[0.0, 1.0] * 10)
    params = {"verbosity": -1, "num_leaves": 7}
    data = lightgbm.Dataset(X, y)
    booster = olgbm.train(params, data, 20, n_classes=5, threshold_update=update, callbacks=[change])
    record = olgbm.threshold_record(booster)
    np.testing.assert_allclose(replayed_loss(booster, record, X, y), record.training_loss[1:], rtol=1e-5)


# Continued and copied classifiers


# Predictions of one LightGBM model from several threads


@pytest.fixture(scope="module")
def shared():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    y = np.digitize(X[:, 0] * 2 + rng.logistic(size=3000), [-2, 0, 2])
    return X, LGBMOrdinalClassifier(n_estimators=15, n_jobs=1).fit(X, y)


def in_threads(work, n_threads=8):
    found = []
    threads = [threading.Thread(target=lambda i=i: found.append(work(i))) for i in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert len(found) == n_threads
    return found


@pytest.mark.parametrize("twin", [lambda m: m, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_predictions_of_one_model_from_several_threads(shared, twin):
    X, model = shared
    model = twin(model)
    staged, whole = list(model.staged_predict_proba(X)), model.predict_proba(X)
    few = olgbm.predict_proba(model.booster_, X, 3)

    def work(i):
        if i % 4 == 0:
            return sum(not np.array_equal(model.predict_proba(X), whole) for _ in range(20))
        if i % 4 == 1:
            return sum(not np.array_equal(olgbm.predict_proba(model.booster_, X, 3), few) for _ in range(20))
        return sum(not np.array_equal(list(model.staged_predict_proba(X)), staged) for _ in range(10))

    assert sum(in_threads(work)) == 0
