"""Names of parameters and keywords: those of each library, where each belongs, and the guide's table of them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from makers import ALL, make_lgb, make_xgb, watching
from ordinal_objectives import (
    HistGradientBoostingMultiOutputClassifier,
    HistGradientBoostingMultiOutputRegressor,
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    XGBOrdinalClassifier,
)

KINDS = [
    XGBOrdinalClassifier,
    LGBMOrdinalClassifier,
    HistGradientBoostingOrdinalClassifier,
    HistGradientBoostingMultiOutputClassifier,
    HistGradientBoostingMultiOutputRegressor,
]


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_keyword_gets_what_is_near(kind):
    with pytest.raises(
        TypeError, match=rf"^{kind.__name__}\.fit takes no 'sample_weigth'; did you mean 'sample_weight'"
    ):
        kind().fit([[0.0]], [0], sample_weigth=1)
    with pytest.raises(TypeError, match=rf"^{kind.__name__}\.fit takes no 'xyzzy'$"):
        kind().fit([[0.0]], [0], xyzzy=1)


@ALL
def test_a_refused_keyword_leaves_the_model_as_it_was(make, ordinal_data):
    X, y = ordinal_data(100)
    model = make().fit(X, y)
    before = dict(vars(model))
    with pytest.raises(TypeError, match="takes no 'monitor'"):
        model.fit(X, y, monitor=1)
    assert vars(model) == before


# verbose


@pytest.mark.parametrize(
    "options",
    [{}, {"eval_metric": "rps"}, {"threshold_update": "joint", "proportional": True}, {"shift_method": "host"}],
)
def test_verbose_prints_the_training_loss_without_sets(options, ordinal_data, capsys):
    X, y = ordinal_data(100)
    model = make_xgb(n_estimators=5, **options).fit(X, y, verbose=2)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["[0]", "[2]", "[4]"]
    losses = [float(line.split("training-all_threshold:")[1].split("\t")[0]) for line in lines]
    np.testing.assert_allclose(losses, np.array(model._record.training_loss)[[1, 3, 5]], atol=1e-5)
    silent = make_xgb(n_estimators=5, **options).fit(X, y)
    assert capsys.readouterr().out == ""
    np.testing.assert_array_equal(model.predict_proba(X), silent.predict_proba(X))
    assert model.evals_result_ == silent.evals_result_ == {}
    assert model.booster_.save_raw("json") == silent.booster_.save_raw("json")


@pytest.mark.parametrize("verbosity", [0, 1])
def test_lightgbm_prints_what_a_search_found_where_it_prints_information(verbosity, ordinal_data, capsys):
    make_lgb(n_estimators="auto", verbosity=verbosity).fit(*ordinal_data(60))
    assert ("n_estimators='auto': " in capsys.readouterr().out) is (verbosity > 0)


def test_verbose_prints_only_evaluation_sets_if_given(ordinal_data, capsys):
    X, y = ordinal_data(100)
    make_xgb(n_estimators=1).fit(X, y, eval_set=[(X, y)], verbose=True)
    assert "validation_0-all_threshold" in (out := capsys.readouterr().out)
    assert "training" not in out


# LightGBM's own names of parameters, and their aliases, beside those of its scikit-learn classes


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


# scikit-learn's tools


# The guide's table of what is called how, and where it is passed


GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "classifiers.md"
CLASSIFIERS = [XGBOrdinalClassifier, LGBMOrdinalClassifier, HistGradientBoostingOrdinalClassifier]
# Of fit, what one host alone has.
OTHERS = {"self", "X", "y", "verbose", "feature_weights", "categorical_feature", "eval_names"}


def table():
    """Return the rows of the table: what, and a cell for each classifier."""
    text = GUIDE.read_text(encoding="utf-8")
    head = "| | " + " | ".join(f"`{kind.__name__}`" for kind in CLASSIFIERS) + " |\n"
    lines = text[text.index(head) + len(head) :].splitlines()[1:]
    rows = [line.strip("|").split("|") for line in lines[: lines.index("")]]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}


def small(kind, **params):
    rounds = "max_iter" if kind is HistGradientBoostingOrdinalClassifier else "n_estimators"
    return kind(**{rounds: 30, "n_jobs": 1, "learning_rate": 0.3, **params})


@pytest.mark.parametrize("place", [0, 1, 2], ids=[kind.__name__ for kind in CLASSIFIERS])
def test_every_name_is_where_the_table_says(place, halves):
    kind = CLASSIFIERS[place]
    X, y, Xv, yv = halves
    fitted = small(kind).fit(X, y, **watching(kind(), Xv, yv))
    found = {"constructor": set(inspect.signature(kind).parameters), "fit": set(inspect.signature(kind.fit).parameters)}
    told = set()
    for cells in table().values():
        where = cells[place].split(":")[0]
        names = set(re.findall("`([^`]+)`", cells[place]))
        if where == "fit":
            told |= names
        if where == "attribute":
            assert all(hasattr(fitted, name) for name in names)
        elif where in found:
            assert names <= found[where], cells[place]
    assert told == found["fit"] - OTHERS


@pytest.mark.parametrize("place", [0, 1, 2], ids=[kind.__name__ for kind in CLASSIFIERS])
def test_predictions_start_from_the_scores_that_the_table_names(place, halves):
    X, y, *_ = halves
    model = small(CLASSIFIERS[place]).fit(X, y)
    name = table()["the same in predictions"][place].strip("`")
    if name == "none":
        with pytest.raises(TypeError, match="take only X"):
            model.predict_raw(X, base_margin=X[:, 0])
    else:
        moved = model.predict_raw(X, **{name: np.full(300, 2.0)})
        np.testing.assert_allclose(moved, model.predict_raw(X) + 2.0, atol=1e-5)


def constant(y, proba):
    return 1.0


@pytest.mark.slow
def test_the_last_metric_on_the_last_set_stops_xgboost(halves):
    X, y, Xv, yv = halves
    options = {"early_stopping_rounds": 3, "max_depth": 2}
    sets = {"eval_set": [(Xv, yv), (X, y)]}
    alone = small(XGBOrdinalClassifier, eval_metric=[constant], **options).fit(X, y, **sets)
    assert alone.n_iter_ == 1
    first = small(XGBOrdinalClassifier, eval_metric=[constant, "log_loss"], **options).fit(X, y, **sets)
    losses = first.evals_result_["validation_1"]["log_loss"]
    assert first.best_iteration_ == np.argmin(losses) > 10


def test_every_metric_on_every_set_stops_lightgbm(halves):
    X, y, Xv, yv = halves
    sets = {"eval_set": [(Xv, yv), (X, y)], "eval_metric": [constant, "log_loss"]}
    options = {"early_stopping_round": 3, "num_leaves": 4}
    assert small(LGBMOrdinalClassifier, **options).fit(X, y, **sets).n_iter_ == 1
    by_loss = small(LGBMOrdinalClassifier, first_metric_only=True, **options).fit(X, y, **sets)
    assert by_loss.n_iter_ > 5


def test_the_loss_on_the_set_stops_the_engine(halves):
    X, y, Xv, yv = halves
    options = {"n_iter_no_change": 3, "max_leaf_nodes": 4}
    model = small(HistGradientBoostingOrdinalClassifier, **options).fit(X, y, X_val=Xv, y_val=3 - yv)
    assert model.n_iter_ == 0  # the loss rises from the first tree on
    model = small(HistGradientBoostingOrdinalClassifier, **options).fit(X, y, X_val=Xv, y_val=yv)
    assert model.n_iter_ > 5
