"""LightGBM's rounds without a split add no tree: what is trained again counts rounds, not trees."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives import LGBMOrdinalClassifier, OrdinalEnsembleClassifier
from ordinal_objectives.inspection import summary

FEW_SPLITS = {"min_split_gain": 6, "learning_rate": 0.1, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return X, np.digitize(X[:, 0] + 0.5 * X[:, 1] + 0.8 * rng.normal(size=300), [-1, 0, 1])


def lgbm(**options):
    return LGBMOrdinalClassifier(**FEW_SPLITS | options)


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
    assert again.members_["only"][0].n_estimators == round(model.trained_rounds() * 300 / 240)


@pytest.mark.parametrize("stopping", [{}, {"early_stopping_round": 3}])
def test_rounds_of_a_continued_model_count(rows, stopping):
    X, y = rows
    first = lgbm(n_estimators=7).fit(X, y)
    more = lgbm(n_estimators=6, **stopping)
    more.fit(X, y, init_model=first, eval_set=[(X.copy(), y)] if stopping else None)
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
