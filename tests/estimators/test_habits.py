"""What a classifier of XGBoost, LightGBM or CatBoost takes and has, ours takes and has, or says why not."""

from __future__ import annotations

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from makers import make_cat, make_engine, make_lgb, make_xgb, watching
from ordinal_objectives import (
    CatBoostOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalDistributionRegressor,
    XGBOrdinalClassifier,
)
from ordinal_objectives.adapters import lgbm as olgbm
from ordinal_objectives.metrics import ordinal_log_loss, zero_one_error

SMALL = {"n_estimators": 5, "n_jobs": 1}


# Names of parameters


@pytest.mark.parametrize(
    ("kind", "name", "own", "value"),
    [
        (XGBOrdinalClassifier, "eta", "learning_rate", 0.05),
        (XGBOrdinalClassifier, "lambda", "reg_lambda", 9.0),
        (XGBOrdinalClassifier, "alpha", "reg_alpha", 2.0),
        (XGBOrdinalClassifier, "min_split_loss", "gamma", 3.0),
        (XGBOrdinalClassifier, "seed", "random_state", 7),
        (XGBOrdinalClassifier, "num_boost_round", "n_estimators", 3),
        (CatBoostOrdinalClassifier, "eta", "learning_rate", 0.05),
        (CatBoostOrdinalClassifier, "n_estimators", "iterations", 3),
        (CatBoostOrdinalClassifier, "num_trees", "iterations", 3),
        (CatBoostOrdinalClassifier, "max_depth", "depth", 2),
        (CatBoostOrdinalClassifier, "reg_lambda", "l2_leaf_reg", 9.0),
        (CatBoostOrdinalClassifier, "random_seed", "random_state", 7),
        (CatBoostOrdinalClassifier, "colsample_bylevel", "rsm", 0.5),
        (CatBoostOrdinalClassifier, "max_bin", "border_count", 8),
    ],
)
def test_another_name_of_the_librarys_is_the_parameter(halves, kind, name, own, value):
    X, y, Xv, _ = halves
    kept = {key: v for key, v in {"n_estimators": 5, "n_jobs": 1}.items() if key not in (name, own)}
    if own == "iterations":
        kept.pop("n_estimators", None)
    by_name, by_own = (kind(**kept, **{one: value}).fit(X, y) for one in (name, own))
    np.testing.assert_array_equal(by_name.predict_proba(Xv), by_own.predict_proba(Xv))
    assert by_name.get_params()[name] == value
    other = kind(**kept).fit(X, y)
    assert not np.array_equal(other.predict_proba(Xv), by_own.predict_proba(Xv))


@pytest.mark.parametrize(
    ("make", "name"), [(make_xgb, "nthread"), (make_lgb, "num_threads"), (make_cat, "thread_count")]
)
def test_threads_by_another_name_count_everywhere_and_stay_on_the_machine(halves, make, name, tmp_path):
    X, y, *_ = halves
    model = make(n_jobs=None, **{name: 1}).fit(X, y)
    assert model.asked_threads() == 1
    model.save_model(tmp_path / "model.json")
    assert name not in type(model)().load_model(tmp_path / "model.json").get_params()


@pytest.mark.parametrize(("make", "name"), [(make_xgb, "num_boost_round"), (make_cat, "num_trees")])
def test_copies_train_as_many_rounds_by_whatever_name(halves, make, name):
    X, y, *_ = halves
    own = "n_estimators" if make is make_xgb else "iterations"
    model = make(**{own: "auto", name: 6}).fit(X, y)
    copy = type(model)(**model.get_params()).set_params(**model.rounds_of_copies())
    assert model.n_iter_ == copy.fit(X, y).n_iter_ == 6


def test_of_two_names_the_one_used_here_counts_and_a_warning_says_so(halves):
    X, y, *_ = halves
    with pytest.warns(UserWarning, match="learning_rate=0.3 is used and eta=0.9 is not"):
        model = XGBOrdinalClassifier(learning_rate=0.3, eta=0.9, **SMALL).fit(X, y)
    same = XGBOrdinalClassifier(learning_rate=0.3, **SMALL).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))


@pytest.mark.parametrize("kind", [XGBOrdinalClassifier, LGBMOrdinalClassifier, CatBoostOrdinalClassifier])
@pytest.mark.parametrize("proportional", [True, "auto"])
def test_one_loop_runs_over_the_classifiers(halves, kind, proportional):
    X, y, *_ = halves
    model = kind(n_estimators=5, proportional=proportional, scale_pos_weight=None).fit(X, y)
    assert model.get_params()["proportional"] == proportional
    assert model.proportional_ is (proportional is True or kind is CatBoostOrdinalClassifier)


def test_a_value_that_says_what_is_not_so_is_refused():
    for name, value in {"proportional": False, "objective": "MultiClass", "scale_pos_weight": 2.0}.items():
        with pytest.raises(TypeError, match=name):
            CatBoostOrdinalClassifier(**{name: value})


# Names of metrics


@pytest.mark.parametrize("name", ["logloss", "mlogloss", "multi_logloss", "error", "merror", "multi_error"])
@pytest.mark.parametrize("make", [make_xgb, make_lgb, make_cat])
def test_a_metric_of_the_librarys_is_recorded_under_its_name(halves, make, name):
    X, y, Xv, yv = halves
    if make is make_xgb:
        model = make(eval_metric=name).fit(X, y, eval_set=[(Xv, yv)])
    else:
        model = make().fit(X, y, eval_set=[(Xv, yv)], eval_metric=name)
    (found,) = model.evals_result_.values()
    n_iter = model.n_iter_
    expected = (
        ordinal_log_loss(yv, model.predict_proba(Xv)) if "loss" in name else zero_one_error(yv, model.predict(Xv))
    )
    assert found[name][n_iter - 1] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("make", "name"),
    [(make_lgb, "metric"), (make_lgb, "metrics"), (make_cat, "eval_metric"), (make_xgb, "eval_metric")],
)
def test_the_constructor_takes_metrics_where_the_librarys_does(halves, make, name):
    X, y, Xv, yv = halves
    model = make(**{name: ["merror", "rps"]}).fit(X, y, eval_set=[(Xv, yv)])
    (found,) = model.evals_result_.values()
    assert list(found) == ["all_threshold", "merror", "rps"]
    if make is not make_xgb:
        (found,) = model.fit(X, y, eval_set=[(Xv, yv)], eval_metric="qwk").evals_result_.values()
        assert list(found) == ["all_threshold", "merror", "rps", "qwk"]
        (found,) = model.fit(X, y, eval_set=[(Xv, yv)], eval_metric=[None, "rps"]).evals_result_.values()
        assert list(found) == ["all_threshold", "merror", "rps"]
    (found,) = make(**{name: "None"}).fit(X, y, eval_set=[(Xv, yv)]).evals_result_.values()
    assert list(found) == ["all_threshold"]


# Arguments of fit


def test_catboosts_fit_takes_parameters_for_this_fit(halves, capsys):
    X, y, Xv, yv = halves
    options = {"iterations": 200, "learning_rate": 0.5, "depth": 3, "n_jobs": 1}
    model = CatBoostOrdinalClassifier(**options)
    before = model.get_params()
    quiet = {"verbose": False, "plot": False}
    model.fit(X, y, eval_set=(Xv, yv), early_stopping_rounds=3, **quiet)
    assert model.get_params() == before
    by_constructor = CatBoostOrdinalClassifier(**options, early_stopping_rounds=3).fit(X, y, eval_set=(Xv, yv))
    assert model.n_iter_ == by_constructor.n_iter_ < 100
    np.testing.assert_array_equal(model.predict_proba(X), by_constructor.predict_proba(X))
    whole = model.fit(X, y, eval_set=(Xv, yv), early_stopping_rounds=3, use_best_model=False)
    assert whole.n_iter_ > by_constructor.n_iter_
    assert capsys.readouterr().out == ""
    model.set_params(iterations=3).fit(X, y, verbose=True)
    assert "remaining" in capsys.readouterr().out


def test_catboosts_fit_takes_categories_in_the_third_place(halves):
    X, y, *_ = halves
    X = X.copy()
    X[:, 1] = np.digitize(X[:, 1], [0.0, 1.0])
    model, by_constructor = make_cat().fit(X, y, [1]), make_cat(cat_features=[1]).fit(X, y)
    assert model.is_categorical_.tolist() == [False, True, False, False]
    assert model.cat_features is None
    np.testing.assert_array_equal(model.predict_proba(X), by_constructor.predict_proba(X))


def test_a_fit_that_fails_leaves_the_parameters(halves):
    X, y, *_ = halves
    model = make_cat()
    before = model.get_params()
    with pytest.raises(ValueError, match="early_stopping_rounds"):
        model.fit(X, y, early_stopping_rounds=-1, verbose=True)
    assert model.get_params() == before


def test_weights_of_features_are_taken_by_xgboosts_fit(halves):
    X, y, *_ = halves
    options = {"colsample_bytree": 0.5, "random_state": 0}
    weights = np.array([1.0, 0.0, 0.0, 1.0])
    model = make_xgb(**options).fit(X, y, feature_weights=weights)
    assert model.feature_weights is None
    expected = make_xgb(feature_weights=weights, **options).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize(("make", "name"), [(make_lgb, "feature_name"), (make_cat, "plot"), (make_cat, "graph")])
def test_an_argument_of_fit_is_refused_unless_it_says_nothing(halves, make, name):
    X, y, *_ = halves
    make().fit(X, y, **{name: None})
    with pytest.raises(TypeError, match=name):
        make().fit(X, y, **{name: ["a"] * 4})


@pytest.mark.parametrize("make", [make_xgb, make_lgb, make_cat])
def test_start_scores_may_be_a_column(halves, make):
    X, y, Xv, _ = halves
    name, start = make()._start_name, X[:, 0] / 2
    flat, column = (make().fit(X, y, **{name: some}) for some in (start, start[:, np.newaxis]))
    expected = flat.predict_proba(Xv, **{name: start})
    np.testing.assert_array_equal(column.predict_proba(Xv, **{name: start[:, np.newaxis]}), expected)
    with pytest.raises(ValueError, match=name):
        column.predict_proba(Xv, **{name: np.column_stack([start, start])})


@pytest.mark.parametrize("make", [make_xgb, make_lgb, make_cat])
def test_scikit_learn_routes_what_predictions_take(halves, make):
    X, y, Xv, _ = halves
    name = make()._start_name
    with config_context(enable_metadata_routing=True):
        pipe = Pipeline([("scale", StandardScaler()), ("model", make().set_predict_proba_request(**{name: True}))])
        shifted = pipe.fit(X, y).predict_proba(Xv, **{name: np.full(len(Xv), 2.0)})
        assert (shifted[:, 0] < pipe.predict_proba(Xv)[:, 0]).all()


# Files and boosters in the hands of the library


@pytest.mark.parametrize("kind", [xgboost.XGBClassifier, xgboost.XGBRegressor])
def test_xgboosts_own_estimators_refuse_a_file_whose_thresholds_they_would_drop(halves, kind, tmp_path):
    X, y, Xv, _ = halves
    model = make_xgb().fit(X, y)
    model.save_model(tmp_path / "model.json")
    with pytest.raises(TypeError, match="ordinal classifier"):
        kind().load_model(tmp_path / "model.json")
    booster = xgboost.Booster(model_file=tmp_path / "model.json")
    np.testing.assert_allclose(booster.inplace_predict(Xv), model.predict_raw(Xv), rtol=1e-5, atol=1e-6)


def test_lightgbm_reads_categories_of_a_frame_by_the_levels_of_the_fit(halves, tmp_path):
    X, y, *_ = halves
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        town=pd.Categorical(np.array(["x", "y", "z"])[np.digitize(X[:, 0], [-0.5, 0.5])]),
        one=pd.Categorical(["u"] * len(X)),
    )
    other = frame.assign(town=frame["town"].cat.set_categories(["z", "x", "new", "y"]))
    model = make_lgb().fit(frame, y)
    model.save_model(tmp_path / "model.txt")
    loaded = LGBMOrdinalClassifier().load_model(tmp_path / "model.txt")
    raw = model.predict_raw(frame)
    for booster in (model.booster_, loaded.booster_, lightgbm.Booster(model_file=tmp_path / "model.txt")):
        np.testing.assert_allclose(booster.predict(other, raw_score=True), raw, rtol=1e-12)
    np.testing.assert_allclose(olgbm.predict_proba(model.booster_, other), model.predict_proba(frame), rtol=1e-12)
    more = make_lgb().fit(other, y, init_model=loaded)
    np.testing.assert_allclose(more.booster_.predict(frame), more.predict_raw(frame), rtol=1e-12)
    with pytest.raises(ValueError, match="categorical_feature"):
        make_lgb().fit(X, y).booster_.predict(frame[["a", "b", "c", "town"]])


# Predictions by fewer rounds


ROUNDS = {
    make_xgb: lambda n: {"iteration_range": (0, n)},
    make_lgb: lambda n: {"num_iteration": n},
    make_cat: lambda n: {"ntree_end": n},
}
WITH_ROUNDS = [
    *((make, options) for make in ROUNDS for options in ({}, {"linear": True})),
    (make_xgb, {"proportional": False}),
    (make_lgb, {"proportional": False}),
    (make_xgb, {"shift_method": "host"}),
]


@pytest.mark.parametrize(("make", "options"), WITH_ROUNDS)
def test_predictions_by_the_first_rounds_have_their_thresholds(halves, make, options):
    X, y, Xv, _ = halves
    model = make(**options).fit(X, y)
    probas, labels = list(model.staged_predict_proba(Xv)), list(model.staged_predict(Xv))
    for n in (1, 4):
        asked = ROUNDS[make](n)
        np.testing.assert_allclose(model.predict_proba(Xv, **asked), probas[n - 1], rtol=1e-6)
        np.testing.assert_array_equal(model.predict(Xv, **asked), labels[n - 1])
        above = model.predict_linear_predictors(Xv, **asked)
        np.testing.assert_allclose(
            above.mean(axis=1) + model.predict_raw(Xv, **asked), model.threshold_history_[n].mean()
        )
        assert len(list(model.staged_predict(Xv, **asked))) == n
    for n in (0, 15):
        np.testing.assert_array_equal(model.predict_proba(Xv, **ROUNDS[make](n)), model.predict_proba(Xv))
    nothing = dict.fromkeys(ROUNDS[make](0))
    np.testing.assert_array_equal(model.predict_proba(Xv, **nothing), model.predict_proba(Xv))


@pytest.mark.parametrize("make", ROUNDS)
def test_rounds_after_the_best_one_have_their_thresholds_as_far_as_the_model_keeps_them(halves, make):
    X, y, Xv, yv = halves
    name = "early_stopping_round" if make is make_lgb else "early_stopping_rounds"
    rounds = "iterations" if make is make_cat else "n_estimators"
    whole = make(**{rounds: 40}, learning_rate=0.5).fit(X, y)
    model = make(**{rounds: 40, name: 5}, learning_rate=0.5).fit(X, y, eval_set=[(Xv, yv)])
    kept = model.n_iter_ if make is make_lgb else model._record.n_iterations
    assert model.n_iter_ < 30
    for n in (model.n_iter_ - 1, kept):
        expected = whole.predict_proba(Xv, **ROUNDS[make](n))
        np.testing.assert_allclose(model.predict_proba(Xv, **ROUNDS[make](n)), expected, rtol=1e-6)


def test_random_intercepts_are_those_of_the_round(halves):
    X, y, Xv, _ = halves
    groups = np.arange(300) % 6
    X, Xv = np.column_stack([X, groups]), np.column_stack([Xv, groups])
    model = make_xgb(loss="cumulative_link", random_intercept=4).fit(X, y)
    probas = list(model.staged_predict_proba(Xv))
    np.testing.assert_allclose(model.predict_proba(Xv, iteration_range=(0, 3)), probas[2], rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "asked"),
    [
        (make_xgb, {"iteration_range": (1, 3)}),
        (make_xgb, {"iteration_range": (0, 16)}),
        (make_xgb, {"iteration_range": (0, -1)}),
        (make_xgb, {"iteration_range": (0, 1.5)}),
        (make_xgb, {"iteration_range": 3}),
        (make_lgb, {"start_iteration": 1}),
        (make_lgb, {"num_iteration": "all"}),
        (make_cat, {"ntree_start": 1, "ntree_end": 3}),
        (make_cat, {"ntree_end": 16}),
    ],
)
def test_other_rounds_are_refused(halves, make, asked):
    X, y, Xv, _ = halves
    model = make().fit(X, y)
    with pytest.raises(ValueError, match=next(iter(asked))):
        model.predict(Xv, **asked)


def test_more_rounds_than_there_are_mean_all_of_them_as_with_lightgbm(halves):
    X, y, Xv, _ = halves
    model = make_lgb().fit(X, y)
    for n in (100, -1):
        np.testing.assert_array_equal(model.predict(Xv, num_iteration=n), model.predict(Xv))


def test_leaves_by_the_first_rounds(halves):
    X, y, Xv, _ = halves
    model = make_xgb().fit(X, y)
    np.testing.assert_array_equal(model.apply(Xv, iteration_range=(0, 4)), model.apply(Xv)[:, :4])
    np.testing.assert_array_equal(model.apply(Xv, iteration_range=(0, 0)), model.apply(Xv))


@pytest.mark.parametrize(
    ("make", "silent", "said"),
    [
        (make_xgb, {"output_margin": False, "validate_features": True}, {"output_margin": True}),
        (make_lgb, {"raw_score": False, "pred_leaf": False, "validate_features": False}, {"pred_leaf": True}),
        (make_lgb, {"pred_early_stop": False, "predict_disable_shape_check": False}, {"num_threads": 1}),
        (make_cat, {"prediction_type": "Class", "thread_count": -1}, {"prediction_type": "RawFormulaVal"}),
    ],
)
def test_what_a_prediction_has_no_ordinal_meaning_for_is_refused_unless_it_says_nothing(halves, make, silent, said):
    X, y, Xv, _ = halves
    model = make().fit(X, y)
    np.testing.assert_array_equal(model.predict(Xv, **silent), model.predict(Xv))
    with pytest.raises(TypeError, match=next(iter(said))):
        model.predict(Xv, **said)


# Attributes after fit


def test_lightgbms_attributes(halves):
    X, y, Xv, yv = halves
    for options in ({}, {"threshold_update": "joint", "proportional": True}):
        model = make_lgb(n_estimators=60, early_stopping_round=3, **options)
        with pytest.raises(AttributeError):
            _ = model.n_estimators_
        model.fit(X, y, eval_set=[(X, y), (Xv, yv)])
        losses = model.evals_result_["valid_1"]["all_threshold"]
        assert model.n_iter_ < 50
        assert model.best_score_["valid_1"]["all_threshold"] == losses[model.n_iter_ - 1] == min(losses)
        assert set(model.best_score_) == set(model.evals_result_) == {"training", "valid_1"}
    assert (model.n_estimators_, model.n_features_) == (model.n_iter_, 4)
    assert model.feature_name_ == [f"Column_{place}" for place in range(4)]
    assert model.objective_ == "all_threshold"


def test_xgboosts_attributes(halves):
    X, y, Xv, yv = halves
    model = make_xgb().fit(X, y)
    assert not hasattr(model, "best_iteration")
    assert not hasattr(model, "best_score")
    assert model.best_iteration_ == 14
    assert model.get_num_boosting_rounds() == 15
    found = make_xgb(n_estimators="auto")
    assert found.get_num_boosting_rounds() == 100
    assert found.fit(X, y).get_num_boosting_rounds() == found.n_iter_ != 100
    assert model.get_xgb_params()["learning_rate"] == 0.3
    assert model.get_xgb_params()["n_jobs"] == 1
    asked = make_xgb(subsample=0.5, random_state=3)
    one, same = (xgboost.train(p, xgboost.DMatrix(X, y), 2) for p in (asked.get_xgb_params(), asked._native_params()))
    np.testing.assert_array_equal(one.inplace_predict(X), same.inplace_predict(X))
    model = make_xgb(n_estimators=60, early_stopping_rounds=3).fit(X, y, eval_set=[(Xv, yv)])
    losses = model.evals_result()["validation_0"]["all_threshold"]
    assert model.best_iteration == model.n_iter_ - 1 == np.argmin(losses)
    assert model.best_score == pytest.approx(min(losses), rel=1e-6)
    with pytest.raises(AttributeError, match="coef_: thresholds_"):
        _ = model.coef_


def test_catboosts_attributes(halves, tmp_path):
    X, y, Xv, yv = halves
    model = make_cat(iterations=60)
    assert not model.is_fitted()
    assert not hasattr(model, "tree_count_")
    model.fit(X, y, eval_set=(Xv, yv), early_stopping_rounds=3)
    n_iter = model.n_iter_
    losses = model.evals_result_["validation_0"]["all_threshold"]
    assert model.is_fitted()
    assert model.best_iteration_ == model.get_best_iteration() == n_iter - 1 < 50
    assert model.get_evals_result()["validation"]["all_threshold"] == losses
    score = model.get_best_score()
    assert score == model.best_score_
    assert score["validation"] == {"all_threshold": min(losses)}
    assert score["learn"] == {"all_threshold": model.training_loss_[n_iter]}
    assert model.tree_count_ == n_iter
    assert model.feature_names_ == ["0", "1", "2", "3"]
    np.testing.assert_array_equal(model.get_feature_importance(), model.feature_importances_)
    leaves = model.calc_leaf_indexes(Xv)
    assert leaves.shape == (300, n_iter)
    np.testing.assert_array_equal(model.calc_leaf_indexes(Xv, ntree_end=2), leaves[:, :2])
    with pytest.raises(AttributeError, match="shrink: thresholds"):
        model.shrink(3)
    alone = make_cat().fit(X, y)
    assert alone.get_best_iteration() is None
    assert alone.get_best_score() == {"learn": {"all_threshold": alone.training_loss_[-1]}}
    more = make_cat(iterations=3).fit(X, y, init_model=alone, eval_set=(Xv, yv), use_best_model=False)
    assert [len(more.get_evals_result()[name]["all_threshold"]) for name in ("learn", "validation")] == [3, 3]
    model.save_model(tmp_path / "model.cbm")
    loaded = CatBoostOrdinalClassifier().load_model(tmp_path / "model.cbm")
    assert loaded.get_best_score()["learn"] == score["learn"]


@pytest.mark.parametrize("make", [make_xgb, make_lgb, make_cat])
def test_parameters_of_the_library_are_attributes(make):
    model = make(seed=3)
    assert model.seed == 3
    assert not hasattr(clone(model).set_params(seed=None), "sead")


def test_the_engines_attributes(halves, tmp_path):
    X, y, Xv, yv = halves
    options = {"max_iter": 60, "n_iter_no_change": 3}
    model = make_engine(**options).fit(X, y, X_val=Xv, y_val=yv)
    assert model.do_early_stopping_ is True
    assert model.n_trees_per_iteration_ == 1
    assert model.n_iter_ < 50
    np.testing.assert_array_equal(model.train_score_, -np.array(model.evals_result_["training"]))
    np.testing.assert_array_equal(model.validation_score_, -np.array(model.evals_result_["validation"]))
    assert model.validation_score_.argmax() == model.n_iter_
    scored = make_engine(early_stopping=True, scoring="qwk", **options).fit(X, y)
    np.testing.assert_array_equal(scored.validation_score_, scored.evals_result_["validation_score"])
    alone = make_engine().fit(X, y)
    assert alone.do_early_stopping_ is False
    assert len(alone.train_score_) == len(alone.validation_score_) == 0
    model.save_model(tmp_path / "model.json")
    assert not hasattr(alone.load_model(tmp_path / "model.json"), "do_early_stopping_")


@pytest.mark.parametrize("make", [make_xgb, make_lgb, make_cat, make_engine])
def test_staged_decisions_of_two_classes(halves, make):
    X, y, Xv, _ = halves
    model = make().fit(X, y > 1)
    *_, last = stages = list(model.staged_decision_function(Xv))
    assert len(stages) == 15
    np.testing.assert_allclose(last, model.decision_function(Xv), rtol=1e-5, atol=1e-6)
    with pytest.raises(AttributeError, match="two classes only"):
        _ = make().fit(X, y).staged_decision_function


@pytest.mark.parametrize("make", [make_xgb, make_lgb, make_cat, make_engine])
def test_an_attribute_that_nobody_has_is_none(make):
    assert not hasattr(make(), "xyzzy")
    with pytest.raises(NotFittedError):
        _ = make().feature_importances_


# scikit-learn's forms


@pytest.mark.parametrize("make", [make_lgb, make_engine])
def test_weights_by_position(halves, make):
    X, y, *_ = halves
    weight = np.arange(300) % 3 + 1.0
    by_name = make().fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(make().fit(X, y, weight).predict_proba(X), by_name.predict_proba(X))


@pytest.mark.parametrize("make", [make_xgb, make_lgb, make_cat, make_engine])
def test_a_generator_is_a_seed(halves, make):
    X, y, *_ = halves
    drawn = {"subsample": 0.5, "bootstrap_type": "Bernoulli"} if make is make_cat else {"subsample": 0.5}
    if make is make_lgb:
        drawn["subsample_freq"] = 1
    fitted = [make(random_state=np.random.default_rng(seed), **drawn).fit(X, y).predict_proba(X) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(fitted[0], fitted[1])
    assert not np.array_equal(fitted[0], fitted[2])
    assert clone(make(random_state=np.random.default_rng(1))).get_params()["random_state"] is not None


def test_a_generator_goes_on_from_fit_to_fit(halves):
    X, y, *_ = halves
    model = make_engine(random_state=np.random.default_rng(1), subsample=0.5)
    assert not np.array_equal(model.fit(X, y).predict_proba(X), model.fit(X, y).predict_proba(X))


def test_an_outer_seed_reaches_the_estimator_of_a_distribution(halves):
    X, y, *_ = halves
    inner = Pipeline([("scale", StandardScaler()), ("model", make_engine(subsample=0.5))])
    outer = OrdinalDistributionRegressor(inner, random_state=3).fit(X, y + 0.0)
    assert outer.estimator_.get_params()["model__random_state"] == 3
    own = clone(inner).set_params(model__random_state=5)
    outer = OrdinalDistributionRegressor(own, random_state=3).fit(X, y + 0.0)
    assert outer.estimator_.get_params()["model__random_state"] == 5
    assert inner.get_params()["model__random_state"] is None


def test_the_engine_holds_out_a_number_of_rows(halves):
    X, y, *_ = halves
    options = {"early_stopping": True, "random_state": 0}
    by_number = make_engine(validation_fraction=60, **options).fit(X, y)
    by_share = make_engine(validation_fraction=0.2, **options).fit(X, y)
    assert by_number.evals_result_ == by_share.evals_result_
    grouped = make_engine(validation_fraction=60, **options).fit(X, y, groups=np.arange(300) % 10)
    assert "validation" in grouped.evals_result_
    for wrong in (300, 0, -1, True, 1.5):
        with pytest.raises((TypeError, ValueError), match="validation_fraction"):
            make_engine(validation_fraction=wrong, **options).fit(X, y)


@pytest.mark.parametrize("scoring", ["loss", "qwk"])
def test_without_rows_held_out_the_engine_looks_at_the_training_rows(halves, scoring):
    X, y, *_ = halves
    model = make_engine(validation_fraction=None, early_stopping=True, scoring=scoring, n_iter_no_change=2)
    model.fit(X, y)
    assert model.do_early_stopping_
    np.testing.assert_allclose(model.evals_result_["validation"], model.evals_result_["training"], rtol=1e-6)
    without = make_engine(validation_fraction=None, early_stopping=False, scoring=scoring).fit(X, y)
    assert without.n_iter_ == 15
    assert list(without.evals_result_) == ["training"]


def test_a_scoring_is_not_used_without_early_stopping(halves):
    X, y, *_ = halves
    options = {"max_iter": "auto", "max_leaf_nodes": 4, "random_state": 0}
    scored, plain = make_engine(scoring="qwk", **options).fit(X, y), make_engine(**options).fit(X, y)
    np.testing.assert_array_equal(scored.predict_proba(X), plain.predict_proba(X))


def test_the_engine_says_none_where_nothing_is_a_category(halves):
    X, y, *_ = halves
    assert make_engine().fit(X, y).is_categorical_ is None
    X = np.column_stack([X, np.arange(300) % 4])
    assert make_engine(categorical_features=[4]).fit(X, y).is_categorical_.tolist() == [False] * 4 + [True]


@pytest.mark.parametrize("make", [make_xgb, make_lgb, make_cat, make_engine])
def test_a_function_gets_the_probabilities_of_the_higher_of_two_classes(halves, make):
    X, y, Xv, yv = halves
    shapes = set()

    def brier(codes, proba):
        shapes.add(proba.shape)
        return np.mean((codes - proba) ** 2)

    metric = {"eval_metric": brier}
    of_constructor, of_fit = (metric, {}) if make in (make_xgb, make_engine) else ({}, metric)
    model = make(**of_constructor)
    model.fit(X, y > 1, **watching(model, Xv, yv > 1), **of_fit)
    assert shapes == {(300,)}
