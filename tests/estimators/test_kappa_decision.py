"""decision_rule="kappa": which rows it is fitted to, and what carries it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from makers import make_engine, make_lgb, make_xgb
from ordinal_objectives import OrdinalEnsembleClassifier, RowBlocks
from ordinal_objectives.decision import KappaRule
from ordinal_objectives.estimators import kappa_decision
from ordinal_objectives.estimators.held_out import Rows, hold_out, split_seed
from ordinal_objectives.estimators.kappa_decision import Unseen

RNG = np.random.default_rng(0)
N = 300
X = RNG.normal(size=(N, 3))
Y = np.digitize(X[:, 0] + X[:, 1] ** 2 + RNG.logistic(size=N), [-1.0, 1.0, 3.0])
W = RNG.uniform(0.5, 2.0, size=N)
MAKE = {"xgb": make_xgb, "lgbm": make_lgb, "engine": make_engine}
KAPPA = {"decision_rule": "kappa", "random_state": 0}


def rounds(kind, n):
    return {"max_iter" if kind == "engine" else "n_estimators": n}


def same(rule, other, rtol=1e-6):
    np.testing.assert_allclose(rule.shares, other.shares, rtol=rtol)
    assert rule.kappa == pytest.approx(other.kappa, rel=rtol)


@pytest.mark.parametrize("options", [{}, {"linear": True}], ids=str)
@pytest.mark.parametrize("weights", ["quadratic", "linear", [[0, 1, 2, 9], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]]])
@pytest.mark.parametrize("kind", MAKE)
def test_five_models_tell_of_rows_that_they_were_not_trained_on(kind, weights, options):
    model = MAKE[kind](**KAPPA, **options, kappa_weights=weights).fit(X, Y, sample_weight=W)
    proba, of_part = np.empty((N, 4)), {"random_state": 0, "classes": range(4), **options}
    of_part |= {"early_stopping": False} if kind == "engine" else {}
    for fit, held in StratifiedKFold(5, shuffle=True, random_state=seed_of(kind, model)).split(X, Y):
        part = MAKE[kind](**of_part).fit(X[fit], Y[fit], sample_weight=W[fit])
        proba[held] = part.predict_proba(X[held])
    same(model.kappa_rule_, KappaRule.fit(proba, weights, W))
    assert model.expected_kappa_ == model.kappa_rule_.kappa
    np.testing.assert_array_equal(model.predict(X), model.kappa_rule_.decide(model.predict_proba(X)))
    bare = MAKE[kind](random_state=0, **options).fit(X, Y, sample_weight=W)
    np.testing.assert_array_equal(model.predict_proba(X), bare.predict_proba(X))


def seed_of(kind, model):
    return model._seed if kind == "engine" else split_seed(0)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("kind", MAKE)
def test_the_search_has_held_rows_out(kind, linear):
    model = MAKE[kind](**KAPPA, **rounds(kind, "auto"), linear=linear).fit(X, Y)
    fit, held = hold_out(Rows(X, Y.astype(np.int32)), 0.2, seed_of(kind, model))
    options = rounds(kind, model.n_iter_) | ({"early_stopping": False} if kind == "engine" else {})
    part = MAKE[kind](random_state=0, linear=linear, **options).fit(fit.X, fit.codes)
    same(model.kappa_rule_, KappaRule.fit(part.predict_proba(held.X)))


@pytest.mark.parametrize("kind", MAKE)
def test_rows_that_are_evaluated_are_taken(kind):
    start = {"xgb": {"base_margin_eval_set": [np.ones(100)]}, "lgbm": {"eval_init_score": [np.ones(100)]}}
    weight = {"xgb": "sample_weight_eval_set"}.get(kind, "eval_sample_weight")
    given = {weight: [W[200:]], **start.get(kind, {})}
    model = MAKE[kind](**KAPPA).fit(X[:200], Y[:200], eval_set=[(X[200:], Y[200:])], **given)
    started = {"xgb": {"base_margin": np.ones(100)}, "lgbm": {"init_score": np.ones(100)}}.get(kind, {})
    same(model.kappa_rule_, KappaRule.fit(model.predict_proba(X[200:], **started), sample_weight=W[200:]))


@pytest.mark.parametrize("kind", MAKE)
def test_training_rows_are_taken_on_request_alone(kind):
    model = MAKE[kind](**KAPPA, kappa_rows="training").fit(X, Y)
    same(model.kappa_rule_, KappaRule.fit(model.predict_proba(X)))
    with pytest.raises(AttributeError, match="expected_kappa_ is there after a fit with decision_rule='kappa'"):
        _ = model.expected_kappa_
    assert model.kappa_rule_.kappa > MAKE[kind](**KAPPA).fit(X, Y).expected_kappa_


def test_no_group_is_divided(monkeypatch):
    divided, groups = [], np.arange(N) // 10

    def spy(self):
        for fit, held in folds(self):
            divided.append(np.intersect1d(groups[fit], groups[held]).size)
            yield fit, held

    folds = Unseen._folds
    monkeypatch.setattr(kappa_decision.Unseen, "_folds", spy)
    make_xgb(**KAPPA).fit(X, Y, groups=groups)
    assert divided == [0] * 5


@pytest.mark.parametrize("kind", MAKE)
def test_files_and_copies_carry_it(kind, tmp_path):
    model = MAKE[kind](**KAPPA, kappa_weights="linear").fit(X, Y)
    model.save_model(tmp_path / "model.json")
    loaded = type(model)().load_model(tmp_path / "model.json")
    for other in (loaded, pickle.loads(pickle.dumps(model)), clone(model).fit(X, Y)):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert (other.expected_kappa_, other.kappa_weights) == (model.expected_kappa_, "linear")
    plain = MAKE[kind]().fit(X, Y)
    plain.save_model(tmp_path / "model.json")
    assert model.load_model(tmp_path / "model.json").kappa_rule_ is None
    content = (tmp_path / "model.json").read_bytes()
    assert b"kappa_rule" not in content


@pytest.mark.parametrize("kind", MAKE)
def test_a_row_s_class_does_not_depend_on_others(kind):
    model = MAKE[kind](**KAPPA).fit(X, Y)
    one_by_one = np.concatenate([model.predict(X[i : i + 1]) for i in range(20)])
    np.testing.assert_array_equal(one_by_one, model.predict(X)[:20])
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))


def test_the_metrics_of_rounds_are_those_of_the_median():
    given = {"eval_set": [(X[200:], Y[200:])]}
    model = make_xgb(**KAPPA, eval_metric="mae").fit(X[:200], Y[:200], **given)
    median = make_xgb(random_state=0, eval_metric="mae").fit(X[:200], Y[:200], **given)
    assert model.evals_result_ == median.evals_result_


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="kappa_weights must be one of 'quadratic', 'linear'; got 'cubic'"):
        make_xgb(**KAPPA, kappa_weights="cubic").fit(X, Y)
    with pytest.raises(ValueError, match="kappa_rows must be one of 'unseen', 'training'; got 'all'"):
        make_xgb(**KAPPA, kappa_rows="all").fit(X, Y)
    with pytest.raises(ValueError, match="rule='kappa' and cost_matrix are two different rules"):
        make_lgb(**KAPPA, cost_matrix=1 - np.eye(4)).fit(X, Y)
    with pytest.raises(ValueError, match="decision_rule must be one of 'median', 'mode', 'mean'; got 'kappa'"):
        OrdinalEnsembleClassifier([("one", make_xgb())], decision_rule="kappa").fit(X, Y)
    with pytest.raises(ValueError, match="decision_rule='kappa' divides arrays alone; for RowBlocks pass X_val"):
        make_engine(**KAPPA).fit(RowBlocks([X]), Y)
    model = make_xgb().fit(X, Y).set_params(decision_rule="kappa")
    with pytest.raises(ValueError, match="decision_rule='kappa' is found by fit, and this model was fitted with"):
        model.predict(X)
    with pytest.raises(ValueError, match="decision_rule='kappa' needs rows that the model was not trained on"):
        make_xgb(**KAPPA).fit(X, Y, xgb_model=model)
    assert make_xgb(**KAPPA, kappa_rows="training").fit(X, Y, xgb_model=model).kappa_rule_ is not None
    engine = make_engine(**KAPPA, warm_start=True, kappa_rows="training").fit(X, Y)
    with pytest.raises(ValueError, match="decision_rule='kappa' needs rows that the model was not trained on"):
        engine.set_params(max_iter=20, kappa_rows="unseen").fit(X, Y)
    blocks = make_engine(**KAPPA).fit(RowBlocks([X[:200]]), Y[:200], X_val=X[200:], y_val=Y[200:])
    assert blocks.expected_kappa_ == blocks.kappa_rule_.kappa


def test_scikit_learn_clones_it():
    model = clone(make_xgb(**KAPPA, kappa_weights=np.abs(np.subtract.outer(np.arange(4), np.arange(4)))))
    with sklearn.config_context(transform_output="default"):
        assert model.fit(X, Y).score(X, Y) > 0.3


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.filterwarnings("ignore:no tree has a split")
def test_what_cannot_be_divided_is_said(kind):
    model = MAKE[kind](**rounds(kind, 2), **KAPPA)
    few = np.arange(12) == 5
    with pytest.raises(ValueError, match="trains on four fifths of the rows, and of some only one class has weight"):
        model.fit(X[:12], few.astype(int))
    with pytest.raises(ValueError, match="of some only one class has weight"):
        model.fit(X, Y > 0, sample_weight=np.where(Y > 0, np.arange(N) == np.argmax(Y > 0), 1.0))
    with pytest.raises(ValueError, match="groups must name at least two groups with decision_rule='kappa'; got 1"):
        model.fit(X, Y, groups=np.zeros(N))
    assert model.set_params(kappa_rows="training").fit(X[:12], few.astype(int)).n_classes_ == 2
