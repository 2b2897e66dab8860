"""Keywords that ``fit`` does not take: the error says where they belong. And what ``verbose`` prints."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn import config_context

from makers import ALL, make_xgb
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
XGB, LGBM, ENGINE, SEVERAL, _ = KINDS


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        (XGB, "eval_metric", r"it belongs to the constructor, XGBOrdinalClassifier\(eval_metric=\.\.\.\)"),
        (XGB, "early_stopping_rounds", r"constructor, XGBOrdinalClassifier\(early_stopping_rounds=\.\.\.\)"),
        (XGB, "callbacks", r"constructor, XGBOrdinalClassifier\(callbacks=\.\.\.\)"),
        (XGB, "feature_weights", r"constructor, XGBOrdinalClassifier\(feature_weights=\.\.\.\)"),
        (XGB, "n_iter_no_change", r"constructor, XGBOrdinalClassifier\(early_stopping_rounds=\.\.\.\)"),
        (XGB, "eval_sample_weight", "here it is 'sample_weight_eval_set'"),
        (XGB, "init_model", "here it is 'xgb_model'"),
        (LGBM, "verbose", r"pass callbacks=\[lightgbm\.log_evaluation\(\)\]"),
        (LGBM, "early_stopping_round", r"constructor, LGBMOrdinalClassifier\(early_stopping_round=\.\.\.\)"),
        (LGBM, "sample_weight_eval_set", "here it is 'eval_sample_weight'"),
        (LGBM, "base_margin", "here it is 'init_score'"),
        (LGBM, "feature_name", "names are those of the columns of X"),
        (ENGINE, "verbose", "it belongs to the constructor"),
        (ENGINE, "callbacks", "here it is 'callback'"),
        (ENGINE, "early_stopping_rounds", r"constructor, .*\(n_iter_no_change=\.\.\.\) \(with early_stopping=True\)"),
        (ENGINE, "categorical_feature", r"constructor, .*\(categorical_features=\.\.\.\)"),
        (ENGINE, "sample_weight_eval_set", "here it is 'eval_sample_weight'"),
        (SEVERAL, "verbose", "pass callback= to fit"),
        (SEVERAL, "n_iter_no_change", r"constructor, HistGradientBoostingMultiOutputClassifier\(n_iter_no_change="),
    ],
)
def test_the_error_says_where_a_keyword_belongs(kind, name, hint):
    with pytest.raises(TypeError, match=rf"^{kind.__name__}\.fit takes no '{name}': .*{hint}"):
        kind().fit([[0.0]], [0], **{name: 3})


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


@pytest.mark.parametrize("kind", KINDS)
def test_the_signature_is_that_of_the_documentation(kind):
    parameters = inspect.signature(kind.fit).parameters
    assert list(parameters)[:4] == ["self", "X", "y", "sample_weight"]
    assert not any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters.values())
    with config_context(enable_metadata_routing=True):
        assert kind().set_fit_request(sample_weight=True) is not None


# verbose


@pytest.mark.parametrize(
    "options",
    [{}, {"eval_metric": "rps"}, {"threshold_update": "joint", "proportional": True}, {"shift_method": "host"}],
)
def test_verbose_prints_the_training_loss_where_nothing_is_evaluated(options, ordinal_data, capsys):
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


def test_verbose_prints_evaluation_sets_alone_where_there_are_some(ordinal_data, capsys):
    X, y = ordinal_data(100)
    make_xgb(n_estimators=1).fit(X, y, eval_set=[(X, y)], verbose=True)
    assert "validation_0-all_threshold" in (out := capsys.readouterr().out)
    assert "training" not in out
