"""LightGBM's rounds without a split add no tree: what is trained again counts rounds, not trees."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from ordinal_objectives import LGBMOrdinalClassifier, OrdinalEnsembleClassifier
from ordinal_objectives.decision import KappaRule
from ordinal_objectives.estimators.held_out import UnseenRows
from ordinal_objectives.inspection import summary
from ordinal_objectives.metrics import ordinal_log_loss

FEW_SPLITS = {"min_split_gain": 6, "learning_rate": 0.1, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return X, np.digitize(X[:, 0] + 0.5 * X[:, 1] + 0.8 * rng.normal(size=300), [-1, 0, 1])


def lgbm(**options):
    return LGBMOrdinalClassifier(**FEW_SPLITS | options)


def test_folds_of_kappa_train_the_rounds_of_the_model(rows):
    X, y = rows
    model = lgbm(n_estimators=60, decision_rule="kappa").fit(X, y)
    assert (model.n_iter_, model.trained_rounds()) == (pytest.approx(45, abs=14), 60)
    proba = np.empty((len(y), 4))
    for fit, held in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        proba[held] = lgbm(n_estimators=60).fit(X[fit], y[fit]).predict_proba(X[held])
    np.testing.assert_allclose(model.kappa_rule_.shares, KappaRule.fit(proba, "quadratic").shares, rtol=1e-6)


@pytest.mark.parametrize("linear", [False, True])
def test_the_rows_of_the_search_are_those_of_its_best_round(rows, monkeypatch, linear):
    found = []
    learn = LGBMOrdinalClassifier._learn_kappa

    def spy(self, unseen):
        found.append(unseen)
        return learn(self, unseen)

    monkeypatch.setattr(LGBMOrdinalClassifier, "_learn_kappa", spy)
    X, y = rows
    lgbm(decision_rule="kappa", learning_rate=0.3, loss="cumulative_link", linear=linear).fit(X, y)
    assert isinstance(found[0], UnseenRows)
    search, trial, held = found[0].found
    loss = ordinal_log_loss(held.codes, trial.proba(search.n_iter), labels=range(4))
    assert loss == pytest.approx(search.lowest, rel=1e-6)


@pytest.mark.parametrize("n", [1, 30, 500])
def test_probabilities_of_a_round_are_those_of_its_trees(rows, n):
    X, y = rows
    model = lgbm(n_estimators=60, loss="cumulative_link").fit(X, y)
    codes = model._check_training(X, y, None)
    trial = model._trials(codes, codes, categorical_feature="auto", callbacks=[])(60, None, {})
    loss = ordinal_log_loss(y, trial.proba(n), labels=range(4))
    assert loss == pytest.approx(trial.losses[min(n, 60) - 1], rel=1e-6)


def test_a_member_is_trained_again_for_as_many_rounds_as_were_best(rows):
    X, y = rows
    stopping = {"n_estimators": 500, "early_stopping_round": 10}
    first, again = (
        OrdinalEnsembleClassifier([("only", lgbm(**stopping))], n_bags=1, refit=refit, random_state=0).fit(X, y)
        for refit in (False, True)
    )
    model = first.members_["only"][0]
    losses = next(iter(next(iter(model.evals_result_.values())).values()))
    assert model.n_iter_ < model.trained_rounds() == int(np.argmin(losses)) + 1
    assert again.members_["only"][0].n_estimators == model.trained_rounds()


@pytest.mark.parametrize("stopping", [{}, {"early_stopping_round": 3}])
def test_rounds_of_a_continued_model_count(rows, stopping):
    X, y = rows
    first = lgbm(n_estimators=7).fit(X, y)
    more = lgbm(n_estimators=6, **stopping)
    more.fit(X, y, init_model=first, eval_set=[(X, y)] if stopping else None)
    assert first.trained_rounds() == 7
    assert more.trained_rounds() == 13 == more.n_iter_


def test_a_file_counts_rounds(rows, tmp_path):
    X, y = rows
    model, loaded = lgbm(n_estimators=60).fit(X, y), lgbm()
    model.save_model(tmp_path / "model.txt")
    loaded.load_model(tmp_path / "model.txt")
    assert loaded.n_iter_ < 60 == model.trained_rounds() == loaded.trained_rounds()
    spreads = (summary(one, X, y, n_refits=2, random_state=0).threshold_spread for one in (loaded, model))
    np.testing.assert_array_equal(*spreads)
    lgbm(n_estimators=2, min_split_gain=0).fit(X, y).save_model(tmp_path / "other.txt")
    assert loaded.load_model(tmp_path / "other.txt").trained_rounds() == 2
