"""Callbacks that change parameters: trainings on some of the rows change them too, or refuse."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives import LGBMOrdinalClassifier, XGBOrdinalClassifier

RATE = 0.1


class Logs(xgboost.callback.TrainingCallback):
    """Might do anything."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def after_iteration(self, model, epoch, evals_log):
        self.seen.append(epoch)
        return False


class Steady:
    """A schedule that remembers how often it was asked."""

    def __init__(self):
        self.asked = 0

    def __call__(self, iteration):
        self.asked += 1
        return RATE


def by_xgboost(rows, schedule, **options):
    X, y = rows
    callbacks = [xgboost.callback.LearningRateScheduler(schedule), xgboost.callback.EvaluationMonitor()]
    # XGBoost grows the first tree before a schedule is asked.
    return XGBOrdinalClassifier(callbacks=callbacks, learning_rate=RATE, n_jobs=1, max_depth=2, **options).fit(X, y)


def by_lightgbm(rows, schedule, **options):
    X, y = rows
    callbacks = [lightgbm.reset_parameter(eta=schedule), lightgbm.log_evaluation(period=0)]
    model = LGBMOrdinalClassifier(n_jobs=1, num_leaves=4, learning_rate=0.5, **options)
    return model.fit(X, y, callbacks=callbacks)


BOTH = pytest.mark.parametrize("fit", [by_xgboost, by_lightgbm])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return X, np.digitize(X[:, 0] + np.sin(2 * X[:, 1]) + 0.8 * rng.normal(size=300), [-1, 0, 1])


def plain(fit, rows, **options):
    model = {by_xgboost: XGBOrdinalClassifier, by_lightgbm: LGBMOrdinalClassifier}[fit]
    size = {"max_depth": 2} if fit is by_xgboost else {"num_leaves": 4}
    return model(learning_rate=RATE, n_jobs=1, **size, **options).fit(*rows)


@BOTH
def test_a_steady_schedule_is_searched_with_as_its_rate_is(fit, rows):
    steady, expected = fit(rows, Steady()), plain(fit, rows)
    assert steady.n_iter_ == expected.n_iter_
    np.testing.assert_allclose(steady.round_search_.losses, expected.round_search_.losses, rtol=1e-6)


@BOTH
def test_a_schedule_that_changes_counts(fit, rows):
    falling = fit(rows, lambda iteration: RATE if iteration < 15 else 1e-9)
    rounds = falling.round_search_.losses
    np.testing.assert_allclose(rounds[17:30], rounds[17], rtol=1e-4)
    assert falling.n_iter_ < plain(fit, rows).n_iter_


@BOTH
def test_a_schedule_with_a_state_is_asked_by_its_own_training_alone(fit, rows):
    steady = Steady()
    model = fit(rows, steady, n_estimators=12)
    assert steady.asked == model.n_iter_ == 12
    steady = Steady()
    assert fit(rows, steady).n_iter_ == steady.asked


def test_own_callbacks_are_warned_of_where_some_rows_are_trained_on(rows):
    X, y = rows
    words = r"callbacks holds Logs, which n_estimators='auto' does not call"
    with pytest.warns(UserWarning, match=words):
        XGBOrdinalClassifier(callbacks=[Logs()], n_jobs=1).fit(X, y)

    def logs(env):
        seen.append(env.iteration)

    seen, model = [], LGBMOrdinalClassifier(n_jobs=1)
    with pytest.warns(UserWarning, match=words.replace("Logs", "logs")):
        assert model.fit(X, y, callbacks=[logs]).n_iter_ == len(seen)
    seen.clear()
    vars(logs)["only_reads"] = True
    assert model.fit(X, y, callbacks=[logs]).n_iter_ == len(seen)
    reads = Logs()
    reads.only_reads = True
    assert XGBOrdinalClassifier(callbacks=[reads], n_jobs=1).fit(X, y).n_iter_ == len(reads.seen)


def test_where_no_rows_are_divided_any_callback_will_do(rows):
    X, y = rows
    logs = Logs()
    XGBOrdinalClassifier(n_estimators=3, callbacks=[logs]).fit(X, y)
    held_out = {"early_stopping_rounds": 2, "validation_fraction": 0.2}
    XGBOrdinalClassifier(n_estimators=3, callbacks=[logs], **held_out).fit(X, y)
    assert len(logs.seen) == 6


def test_a_list_of_rates_has_one_for_each_round(rows):
    X, y = rows
    rates = [lightgbm.reset_parameter(learning_rate=[0.1] * 8)]
    model = LGBMOrdinalClassifier(n_estimators=8, n_jobs=1).fit(X, y, callbacks=rates)
    assert model.n_iter_ == 8


def test_callbacks_of_a_classifier_are_as_new_after_a_fit(rows, tmp_path):
    X, y = rows
    stop, save = xgboost.callback.EarlyStopping(rounds=5), xgboost.callback.TrainingCheckPoint(tmp_path, interval=4)
    model = XGBOrdinalClassifier(n_estimators=200, validation_fraction=0.2, n_jobs=1, callbacks=[stop, save])
    first = model.fit(X, y).n_iter_
    files = sorted(path.name for path in tmp_path.iterdir())
    for path in tmp_path.iterdir():
        path.unlink()
    assert model.fit(X, y).n_iter_ == first > 5
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    assert not stop.stopping_history
