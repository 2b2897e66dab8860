"""LightGBM's own names of parameters, and their aliases, beside those of its scikit-learn classes."""

from __future__ import annotations

import warnings

import lightgbm
import numpy as np
import pytest
from lightgbm.basic import _ConfigAliases
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from makers import make_lgb
from ordinal_objectives import LGBMOrdinalClassifier


def same(first, second):
    """Assert that two models were told the same and are the same, whatever the names."""
    texts = [model.booster_.model_to_string() for model in (first, second)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("name", "own", "value"),
    [
        ("min_data_in_leaf", "min_child_samples", 7),
        ("min_data_per_leaf", "min_child_samples", 7),
        ("feature_fraction", "colsample_bytree", 0.5),
        ("sub_feature", "colsample_bytree", 0.5),
        ("lambda_l1", "reg_alpha", 1.0),
        ("lambda_l2", "reg_lambda", 3.0),
        ("l2_regularization", "reg_lambda", 3.0),
        ("num_iterations", "n_estimators", 3),
        ("max_iter", "n_estimators", 3),
        ("num_boost_round", "n_estimators", 3),
        ("max_leaf_nodes", "num_leaves", 3),
        ("eta", "learning_rate", 0.05),
        ("min_gain_to_split", "min_split_gain", 2.0),
        ("min_sum_hessian_in_leaf", "min_child_weight", 20.0),
        ("min_hessian", "min_child_weight", 20.0),
        ("bin_construct_sample_cnt", "subsample_for_bin", 60),
        ("boosting", "boosting_type", "goss"),
    ],
)
def test_a_name_of_lightgbms_is_the_parameter(ordinal_data, name, own, value):
    X, y = ordinal_data(200, 4)
    kept = {k: v for k, v in {"n_estimators": 5, "n_jobs": 1, "num_leaves": 6}.items() if k != own}
    by_name = LGBMOrdinalClassifier(**kept, **{name: value}).fit(X, y)
    same(by_name, LGBMOrdinalClassifier(**kept, **{own: value}).fit(X, y))
    assert by_name.get_params()[name] == value
    assert by_name.get_params()[own] == LGBMOrdinalClassifier().get_params()[own]


def test_rows_are_drawn_by_either_name(ordinal_data):
    X, y = ordinal_data(200, 4)
    ours = {"bagging_fraction": 0.5, "bagging_freq": 1, "seed": 3, "num_threads": 1}
    theirs = {"subsample": 0.5, "subsample_freq": 1, "random_state": 3, "n_jobs": 1}
    models = [LGBMOrdinalClassifier(n_estimators=5, **names).fit(X, y) for names in (ours, theirs)]
    same(*models)
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))


@pytest.mark.parametrize("name", ["early_stopping_rounds", "n_iter_no_change", "early_stopping"])
def test_early_stopping_and_held_out_rows_by_either_name(ordinal_data, name):
    X, y = ordinal_data(300, 4)
    options = {"n_estimators": 60, "learning_rate": 0.5, "validation_fraction": 0.3, "n_jobs": 1}
    by_name = LGBMOrdinalClassifier(**options, seed=5, **{name: 2}).fit(X, y)
    by_own = LGBMOrdinalClassifier(**options, random_state=5, early_stopping_round=2).fit(X, y)
    assert by_name.n_iter_ == by_own.n_iter_ < 60
    assert by_name.evals_result_ == by_own.evals_result_
    with pytest.raises(ValueError, match="early_stopping_round=2 needs rows to look at"):
        LGBMOrdinalClassifier(**{name: 2}).fit(X, y)


def test_wrong_values_are_refused_by_either_name(ordinal_data):
    X, y = ordinal_data(100)
    for wrong, error, message in (
        ({"num_iterations": 0}, ValueError, "n_estimators must be at least 1"),
        ({"num_iterations": "many"}, TypeError, "n_estimators must be an integer"),
        ({"boosting": "dart"}, ValueError, "'dart' is not allowed beside an ordinal objective"),
        ({"min_data_in_leaf": -1}, lightgbm.basic.LightGBMError, "min_data_in_leaf"),
    ):
        with pytest.raises(error, match=message):
            LGBMOrdinalClassifier(**wrong).fit(X, y)


def test_every_alias_of_lightgbm_is_taken_or_refused_with_a_reason():
    """What lightgbm's own classifier takes; its parameters that no ordinal model can have are refused by all names."""
    impossible = _ConfigAliases.get(
        "objective", "num_class", "metric", "boost_from_average", "is_unbalance", "scale_pos_weight",
        "categorical_feature",
    )  # fmt: skip
    own = set(LGBMOrdinalClassifier().get_params())
    for primary in _ConfigAliases.aliases:
        for alias in _ConfigAliases.get(primary) - own:
            if alias in impossible:
                with pytest.raises(TypeError, match=f"'{alias}'"):
                    LGBMOrdinalClassifier(**{alias: 1})
            else:
                LGBMOrdinalClassifier(**{alias: 1})._refuse_unknown()


# Several names for one parameter


def test_lightgbms_rule_chooses_and_a_warning_says_so(ordinal_data):
    """Its primary name comes first, then the shortest one; a default of the constructor was not given."""
    X, y = ordinal_data(200, 4)
    options = {"n_estimators": 5, "n_jobs": 1}
    for names, taken in (
        ({"min_data_in_leaf": 5, "min_child_samples": 30}, {"min_child_samples": 5}),
        ({"max_leaf_nodes": 3, "num_leaves": 6}, {"num_leaves": 6}),
        ({"num_leaf": 3, "max_leaves": 6}, {"num_leaves": 3}),
    ):
        (kept, value), *_ = [(k, v) for k, v in names.items() if v in taken.values()]
        (lost, _), *_ = [(k, v) for k, v in names.items() if k != kept]
        with pytest.warns(UserWarning, match=f"{kept}={value} is used and {lost}=.* is not"):
            model = LGBMOrdinalClassifier(**options, **names).fit(X, y)
        same(model, LGBMOrdinalClassifier(**options, **taken).fit(X, y))


def test_names_that_agree_and_none_are_no_conflict(ordinal_data):
    X, y = ordinal_data(200, 4)
    plain = make_lgb(num_leaves=6).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(make_lgb(num_leaves=6, max_leaf_nodes=6, min_data_in_leaf=None).fit(X, y), plain)


# scikit-learn's tools


def test_the_names_travel(ordinal_data):
    X, y = ordinal_data(200, 4)
    model = LGBMOrdinalClassifier(num_iterations=4, lambda_l2=2.0, n_jobs=1)
    assert clone(model).get_params() == model.get_params()
    model.set_params(lambda_l2=5.0, min_data_in_leaf=7)
    same(
        model.fit(X, y), LGBMOrdinalClassifier(n_estimators=4, reg_lambda=5.0, min_child_samples=7, n_jobs=1).fit(X, y)
    )
    assert len(list(model.staged_predict(X))) == 4
    grid = GridSearchCV(LGBMOrdinalClassifier(n_estimators=3, n_jobs=1), {"min_data_in_leaf": [5, 40]}, cv=2)
    searched = grid.fit(X, y)
    assert np.ptp(searched.cv_results_["mean_test_score"]) > 0
    assert set(searched.best_params_) == {"min_data_in_leaf"}
