"""The step on the thresholds waits for the next gradient, and for nobody who asks for them."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost

from bare import XGB_PARAMS
from ordinal_objectives.adapters import xgb as oxgb

KINDS = {
    "newton": {"threshold_update": "newton"},
    "joint": {"threshold_update": "joint"},
    "shifts": {"proportional": False},
    "host": {"proportional": False, "shift_method": "host"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_training_rows_are_predicted_once_a_round(ordinal_data, kind, monkeypatch):
    dtrain, calls = xgboost.DMatrix(*ordinal_data(300), nthread=1), []
    predict = xgboost.Booster.predict

    def counted(booster, data, **options):
        calls.append(data is dtrain)
        return predict(booster, data, **options)

    monkeypatch.setattr(xgboost.Booster, "predict", counted)
    oxgb.train({"max_depth": 3, "nthread": 1}, dtrain, 12, n_classes=5, **KINDS[kind])
    assert sum(calls) == 13


class Ask(xgboost.callback.TrainingCallback):
    """Asks for the thresholds before and after each tree, or in some rounds alone."""

    def __init__(self, objective, rounds):
        self.objective, self.rounds, self.before, self.after = objective, rounds, {}, {}

    def before_iteration(self, model, epoch, evals_log):
        if epoch in self.rounds and epoch:
            self.before[epoch] = self.objective.thresholds_
        return False

    def after_iteration(self, model, epoch, evals_log):
        if epoch in self.rounds:
            self.after[epoch + 1] = self.objective.thresholds_
        return False


@pytest.mark.parametrize("update", ["newton", "schur"])
@pytest.mark.parametrize("rounds", [range(8), [3], [0, 7]], ids=str)
def test_who_asks_in_a_round_gets_the_thresholds_of_its_tree(ordinal_data, update, rounds):
    dtrain = xgboost.DMatrix(*ordinal_data(300), nthread=1)
    records = []
    for asked in (rounds, []):
        objective = oxgb.OrdinalObjective(5, threshold_update=update)
        ask = Ask(objective, asked)
        booster = xgboost.train(XGB_PARAMS, dtrain, 8, obj=objective, callbacks=[objective.callback, ask])
        records.append(oxgb.threshold_record(booster))
        for found in (ask.before, ask.after):
            for iteration, thresholds in found.items():
                np.testing.assert_array_equal(thresholds, records[0].at(iteration))
        assert len(ask.after) == len(asked)
        np.testing.assert_array_equal(objective.thresholds_, records[0].at(8))
    assert records[0].to_json() == records[1].to_json()


def test_thresholds_after_an_exception_are_those_of_the_newest_tree(ordinal_data):
    class Stop(xgboost.callback.TrainingCallback):
        def before_iteration(self, model, epoch, evals_log):
            if epoch == 5:
                raise InterruptedError
            return False

    dtrain = xgboost.DMatrix(*ordinal_data(300), nthread=1)
    whole, cut = oxgb.OrdinalObjective(5), oxgb.OrdinalObjective(5)
    record = oxgb.threshold_record(xgboost.train(XGB_PARAMS, dtrain, 8, obj=whole, callbacks=[whole.callback]))
    with pytest.raises(InterruptedError):
        xgboost.train(XGB_PARAMS, dtrain, 8, obj=cut, callbacks=[cut.callback, Stop()])
    np.testing.assert_array_equal(cut.thresholds_, record.at(5))
