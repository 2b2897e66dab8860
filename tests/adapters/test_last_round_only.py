"""XGBoost's dart and gblinear: gradients at the score given, and no prediction by a score that the model lost."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import xgboost
from xgboost.objective import TreeObjective

from ordinal_objectives import XGBOrdinalClassifier
from ordinal_objectives.adapters import xgb as oxgb
from ordinal_objectives.adapters.run import TrainingRun
from ordinal_objectives.losses import get_loss

BARE = {"base_score": 0.0, "disable_default_eval_metric": 1}
DART = {"booster": "dart", "rate_drop": 0.4, "max_depth": 3}
LINEAR = {"booster": "gblinear", "verbosity": 0}
KINDS = pytest.mark.parametrize("params", [DART, LINEAR], ids=["dart", "gblinear"])
LOSS = get_loss("all_threshold")


@pytest.fixture
def rows(ordinal_data):
    X, y = ordinal_data(400)
    return X, y, xgboost.DMatrix(X, y)


class Spy(TreeObjective):
    """An objective that notes how far its gradients are from those at the score it was given."""

    def __init__(self, objective):
        self.objective, self.error, self.given = objective, 0.0, []

    def __call__(self, iteration, score, matrix):
        gradient, hessian = (np.array(values) for values in self.objective(iteration, score, matrix))
        theta = self.objective.thresholds_
        expected = LOSS.gradient(score.astype(float), matrix.get_label().astype(int), theta)
        self.error = max(self.error, np.abs(gradient - expected).max())
        self.given.append(score)
        return gradient, hessian


@pytest.mark.parametrize("with_callback", [True, False])
def test_dart_gradients_are_those_at_the_score_given(rows, with_callback):
    _, _, dtrain = rows
    objective = oxgb.OrdinalObjective(5)
    spy = Spy(objective)
    callbacks = [objective.callback] if with_callback else []
    xgboost.train({**BARE, **DART}, dtrain, 20, obj=spy, callbacks=callbacks)
    assert spy.error < 1e-5


def test_an_ordinary_round_costs_two_passes(rows, monkeypatch):
    _, _, dtrain = rows
    objective = oxgb.OrdinalObjective(5)
    passes = []
    evaluate = TrainingRun.evaluate

    def counting(state, *args):
        passes.append(state)
        return evaluate(state, *args)

    monkeypatch.setattr(TrainingRun, "evaluate", counting)
    xgboost.train(BARE, dtrain, 10, obj=objective, callbacks=[objective.callback])
    assert len(passes) == 11  # beside the step's own pass; one for each iteration, the start included


REPLAY = """
import sys, numpy as np, xgboost
from ordinal_objectives.adapters import xgb as oxgb
with np.load(sys.argv[1]) as data:
    matrix, y = xgboost.DMatrix(data["X"]), data["y"]
for path in sys.argv[2:]:
    booster = xgboost.Booster(model_file=path)
    record, rounds = oxgb.threshold_record(booster), booster.num_boosted_rounds()
    score = booster.predict(matrix, output_margin=True).astype(float)
    replayed = record.ordinal_loss().value(score, y, record.at(rounds)).mean()
    assert rounds == record.n_iterations, (path, rounds, record.n_iterations)
    assert abs(replayed / record.training_loss[-1] - 1) < 1e-6, (path, replayed, record.training_loss[-1])
    proba = oxgb.predict_proba(booster, matrix)
    np.testing.assert_array_equal(proba, record.ordinal_loss().predict_proba(score, record.at(rounds)))
    for t in range(1, rounds):
        try:
            oxgb.predict_proba(booster, matrix, (0, t))
        except ValueError as error:
            assert "is not in the model" in str(error), (path, error)
        else:
            raise AssertionError(f"{path}: the score of round {t} was taken")
"""


@pytest.mark.slow
def test_saved_models_replay_their_last_loss(rows, tmp_path):
    """In a process that never saw a training; the recorded losses of earlier rounds have no score any more."""
    X, y, dtrain = rows
    for kind, params in (("dart", DART), ("gblinear", LINEAR)):
        for how in ("callback", "attach"):
            objective = oxgb.OrdinalObjective(5)
            callbacks = [objective.callback] if how == "callback" else []
            booster = xgboost.train({**BARE, **params}, dtrain, 12, obj=objective, callbacks=callbacks)
            if how == "attach":
                objective.attach(booster, dtrain)
            booster.save_model(tmp_path / f"{kind}_{how}.ubj")
        for update in ("newton", "fixed"):
            first = oxgb.train(params, dtrain, 12, threshold_update=update)
            first.save_model(tmp_path / f"{kind}_{update}.ubj")
            second = oxgb.train(params, dtrain, 6, threshold_update=update, xgb_model=first)
            second.save_model(tmp_path / f"{kind}_{update}_continued.ubj")
            before, after = (oxgb.threshold_record(booster).training_loss for booster in (first, second))
            assert after[:12] == before[:12]
            assert np.isnan(after).tolist() == [t == 12 for t in range(19)]
        model = XGBOrdinalClassifier(n_estimators=12, threshold_update="newton", **params).fit(X, y)
        model.save_model(tmp_path / f"{kind}_classifier.ubj")
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    models = sorted(map(str, tmp_path.glob("*.ubj")))
    assert len(models) == 14
    subprocess.run([sys.executable, "-c", REPLAY, str(tmp_path / "rows.npz"), *models], check=True, cwd=tmp_path)


@KINDS
def test_attach_needs_the_matrix_and_fits_to_its_score(rows, params):
    X, y, dtrain = rows
    objective = oxgb.OrdinalObjective(5)
    booster = xgboost.train({**BARE, **params}, dtrain, 12, obj=objective)
    for use in (lambda: objective.attach(booster), lambda: objective.predict_proba(booster, dtrain)):
        with pytest.raises(ValueError, match=r"objective\.attach\(booster, dtrain\)"):
            use()
    with pytest.raises(ValueError, match="its labels differ"):
        objective.attach(booster, xgboost.DMatrix(X, 4 - y))
    objective.attach(booster, dtrain)
    record = oxgb.threshold_record(booster)
    assert np.isnan(record.training_loss).tolist() == [True] * 12 + [False]
    # No thresholds fit that score better.
    score = booster.predict(dtrain, output_margin=True).astype(float)
    for k in range(4):
        for step in (-0.01, 0.01):
            assert LOSS.value(score, y, record.at(12) + step * (np.arange(4) == k)).mean() > record.training_loss[-1]


@KINDS
def test_an_early_stop_of_xgboost_itself_is_refused_at_predict(rows, ordinal_data, params):
    _, _, dtrain = rows
    dvalid = xgboost.DMatrix(*ordinal_data(100, seed=5))
    objective = oxgb.OrdinalObjective(5)
    booster = xgboost.train(
        {**BARE, **params, "eta": 1.0}, dtrain, 60, obj=objective, callbacks=[objective.callback],
        custom_metric=objective.metric, evals=[(dvalid, "v")], early_stopping_rounds=2, verbose_eval=False,
    )  # fmt: skip
    rounds = booster.num_boosted_rounds()
    assert booster.best_iteration + 1 < rounds < 60
    with pytest.raises(ValueError, match=rf"only iteration_range=\(0, {rounds}\)"):
        oxgb.predict_proba(booster, dvalid)
    assert oxgb.predict_proba(booster, dvalid, (0, rounds)).shape == (100, 5)


@KINDS
def test_a_stage_of_a_classifier_is_refused(rows, params):
    X, y, _ = rows
    model = XGBOrdinalClassifier(n_estimators=4, threshold_update="newton", n_jobs=1, **params).fit(X, y)
    with pytest.raises(ValueError, match=r"only iteration_range=\(0, 4\)"):
        next(iter(model.staged_predict_proba(X)))


def test_a_linear_booster_gets_no_parameters_of_trees_of_which_xgboost_warns(rows):
    X, y, _ = rows
    options = {"booster": "gblinear", "threshold_update": "newton", "n_estimators": 2, "n_jobs": 1}
    assert XGBOrdinalClassifier(**options).fit(X, y).n_iter_ == 2
    with pytest.warns(UserWarning, match="max_depth"):
        XGBOrdinalClassifier(**options, max_depth=3).fit(X, y)


def test_cross_validation_checks_the_configuration_too(rows):
    _, _, dtrain = rows
    objective = oxgb.OrdinalObjective(5, threshold_update="schur")
    with pytest.raises(ValueError, match="threshold_update='newton' supports it"):
        xgboost.cv({**BARE, **DART}, dtrain, 3, nfold=2, obj=objective, callbacks=[objective.callback])
