"""What callbacks save during a training: finished models of their round, from which a training goes on."""

from __future__ import annotations

import copy
import pickle

import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives import XGBOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from pairs import each_pair

ROUNDS, EVERY = 7, 2
PARAMS = {"max_depth": 3, "eta": 0.5, "nthread": 1}
QUIET = {"verbosity": -1, "num_leaves": 5, "min_data_in_leaf": 5, "num_threads": 1, "deterministic": True}
HOST = {"proportional": False, "shift_method": "host"}
UPDATES: dict[str, dict[str, object]] = {
    "fixed": {"threshold_update": "fixed"},
    "newton": {"threshold_update": "newton"},
    "schur": {"threshold_update": "schur"},
    "joint": {"threshold_update": "joint"},
    "auto": {"proportional": "auto"},
    "host": HOST,
}
# Where leaves are renewed, a training goes on from scores that XGBoost adds up in float32.
CLOSE = {"joint": 1e-6, "auto": 1e-6}
TRAINS = [("oxgb.train", update) for update in UPDATES]
TRAINS += [("xgboost.train", update) for update in ("fixed", "newton", "schur", "host")]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 3))
    return X, np.digitize(2 * X[:, 0] + X[:, 1] * X[:, 2] + rng.logistic(size=200), [-2.0, 0.0, 2.0])


class Save(xgboost.callback.TrainingCallback):
    """Gives every round's booster to a function."""

    def __init__(self, save, when="after"):
        super().__init__()
        self.save, self.when, self.kept = save, when, {}

    def before_iteration(self, model, epoch, evals_log):
        if self.when == "before" and epoch:
            self.kept[model.num_boosted_rounds()] = self.save(model)
        return False

    def after_iteration(self, model, epoch, evals_log):
        if self.when == "after":
            self.kept[model.num_boosted_rounds()] = self.save(model)
        return False


def trained(train, update, dtrain, rounds=ROUNDS, *, ours_last=False, callbacks=(), xgb_model=None, **options):
    if train == "oxgb.train":
        return oxgb.train(
            PARAMS, dtrain, rounds, **UPDATES[update], callbacks=list(callbacks), xgb_model=xgb_model, **options
        )
    asked = {name: value for name, value in UPDATES[update].items() if name != "shift_method"}
    objective = oxgb.OrdinalObjective(4, **asked)
    params = PARAMS | {"disable_default_eval_metric": 1} | ({} if xgb_model else {"base_score": 0.0})
    both = [*callbacks, objective.callback] if ours_last else [objective.callback, *callbacks]
    return xgboost.train(params, dtrain, rounds, obj=objective, callbacks=both, xgb_model=xgb_model, **options)


def of_bytes(raw):
    return xgboost.Booster(model_file=raw)


SAVES = {
    "save_raw": (lambda model: model.save_raw(), of_bytes),
    "json": (lambda model: model.save_raw("json"), of_bytes),
    "pickle": (pickle.dumps, pickle.loads),
    "copy": (lambda model: model.copy(), lambda kept: kept),
    "deepcopy": (copy.deepcopy, lambda kept: kept),
    "slice": (lambda model: model[: model.num_boosted_rounds()], lambda kept: kept),
}


@pytest.mark.parametrize(("train", "update", "ours_last"), [(*one, i % 2 > 0) for i, one in enumerate(TRAINS)])
def test_checkpoints_predict_and_go_on(rows, tmp_path, train, update, ours_last):
    X, y = rows
    dtrain = xgboost.DMatrix(X, y)
    checkpoints = xgboost.callback.TrainingCheckPoint(tmp_path, interval=EVERY)
    whole = trained(train, update, dtrain, callbacks=[checkpoints], ours_last=ours_last)
    plain = trained(train, update, dtrain)
    assert whole.save_raw() == plain.save_raw()  # checkpoints change nothing, not even what "auto" chooses
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["model_2.ubj", "model_4.ubj", "model_6.ubj"]
    for file in files:
        booster = xgboost.Booster(model_file=file)
        n = booster.num_boosted_rounds()
        np.testing.assert_array_equal(oxgb.predict_proba(booster, dtrain), oxgb.predict_proba(whole, dtrain, (0, n)))
        again = trained(train, update, dtrain, ROUNDS - n, xgb_model=booster) if n < ROUNDS else booster
        off = CLOSE.get(update, 1e-12)
        np.testing.assert_allclose(oxgb.predict_proba(again, dtrain), oxgb.predict_proba(whole, dtrain), atol=off)
        ours, theirs = (oxgb.threshold_record(one).thresholds for one in (again, whole))
        np.testing.assert_allclose(ours, theirs, atol=off)


@each_pair(
    {
        "how": SAVES,
        "when": ["after", "before"],
        "train, update": [("oxgb.train", "joint"), ("oxgb.train", "auto"), ("xgboost.train", "newton")],
    }
)
def test_whatever_leaves_a_callback_is_a_finished_model(rows, how, when, train, update):
    X, y = rows
    dtrain = xgboost.DMatrix(X, y)
    saving, loading = SAVES[how]
    save = Save(saving, when)
    whole = trained(train, update, dtrain, callbacks=[save], ours_last=True)
    assert sorted(save.kept) == list(range(1, ROUNDS + (when == "after")))
    for n, kept in save.kept.items():
        booster = loading(kept)
        assert type(booster) is xgboost.Booster
        np.testing.assert_array_equal(oxgb.predict_proba(booster, dtrain), oxgb.predict_proba(whole, dtrain, (0, n)))
        assert oxgb.threshold_record(booster).training_loss == oxgb.threshold_record(whole).training_loss[: n + 1]


def test_what_is_saved_behind_early_stopping_knows_the_best_round_so_far(rows):
    X, y = rows
    dtrain, dvalid = xgboost.DMatrix(X[:120], y[:120]), xgboost.DMatrix(X[120:], y[120:])
    save, found = Save(lambda model: model.save_raw()), {}
    callbacks = [xgboost.callback.EarlyStopping(rounds=4), save]
    options = {"verbose_eval": False, "evals": [(dvalid, "valid")], "evals_result": found, "callbacks": callbacks}
    whole = trained("oxgb.train", "auto", dtrain, 40, **options)
    losses = found["valid"]["all_threshold"]
    assert 3 < len(losses) < 40
    assert len(save.kept) == len(losses) - 1  # it ended before the other saw the round
    for n_rounds, raw in save.kept.items():
        booster = xgboost.Booster(model_file=raw)
        best = int(np.argmin(losses[:n_rounds])) + 1
        assert (booster.num_boosted_rounds(), oxgb.kept_rounds(booster)) == (n_rounds, best)
        assert float(booster.attr("best_score")) == pytest.approx(losses[best - 1], abs=1e-5)
    assert oxgb.kept_rounds(whole) == int(np.argmin(losses)) + 1


LABELS = np.array(["low", "mid", "high", "top"])
CLASSIFIERS = {
    "plain": {},
    "linear": {"linear": True},
    "joint": {"threshold_update": "joint", "proportional": True},
    "host": {"shift_method": "host"},
    "decides by the mode": {"decision_rule": "mode", "proportional": True},
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_checkpoints_of_the_classifier_load_and_go_on(rows, tmp_path, name):
    X, y = rows
    options = {"classes": LABELS, "subsample": 1.0, "n_jobs": 1, "max_depth": 3, **CLASSIFIERS[name]}
    checkpoints = xgboost.callback.TrainingCheckPoint(tmp_path, interval=EVERY)
    whole = XGBOrdinalClassifier(n_estimators=ROUNDS, callbacks=[checkpoints], **options).fit(X, LABELS[y])
    stages = list(whole.staged_predict_proba(X))
    for file in tmp_path.iterdir():
        with pytest.warns(UserWarning, match="callbacks"):
            loaded = XGBOrdinalClassifier().load_model(file)
        np.testing.assert_allclose(loaded.predict_proba(X), stages[loaded.n_iter_ - 1], atol=1e-6)
        assert set(loaded.predict(X)) <= set(LABELS)
        assert loaded.decision_rule == whole.decision_rule
        if loaded.n_iter_ < ROUNDS:
            rest = XGBOrdinalClassifier(n_estimators=ROUNDS - loaded.n_iter_, **options)
            np.testing.assert_allclose(
                rest.fit(X, LABELS[y], xgb_model=file).predict_proba(X), whole.predict_proba(X), atol=1e-6
            )


@pytest.mark.parametrize("update", [name for name in UPDATES if name != "host"])
def test_lightgbms_boosters_are_saved_in_callbacks(rows, tmp_path, update):
    X, y = rows

    def save(env):
        olgbm.save_model(env.model, tmp_path / f"{env.iteration + 1}.txt")
        pickled[env.iteration + 1] = pickle.dumps(env.model)

    pickled: dict = {}
    whole = olgbm.train(QUIET, lightgbm.Dataset(X, y), ROUNDS, callbacks=[save], **UPDATES[update])
    assert len(pickled) == ROUNDS
    for n in range(1, ROUNDS + 1):
        expected = olgbm.predict_proba(whole, X, n)
        for booster in (olgbm.load_model(tmp_path / f"{n}.txt"), pickle.loads(pickled[n])):
            np.testing.assert_array_equal(olgbm.predict_proba(booster, X), expected)
        again = olgbm.load_model(tmp_path / f"{n}.txt")
        if n < ROUNDS:
            data = lightgbm.Dataset(X, y, free_raw_data=False)
            again = olgbm.train(QUIET, data, ROUNDS - n, init_model=again, **UPDATES[update])
        np.testing.assert_allclose(olgbm.predict_proba(again, X), olgbm.predict_proba(whole, X), atol=1e-6)
