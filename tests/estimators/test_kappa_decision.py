"""decision_rule="kappa": which rows it is fitted to, and what carries it."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from makers import make_engine, make_lgb, make_xgb
from ordinal_objectives import OrdinalEnsembleClassifier, OrdinalTunedClassifier, RowBlocks
from ordinal_objectives.decision import KappaRule, decide
from ordinal_objectives.estimators.held_out import Rows, UnseenRows, hold_out, split_seed
from ordinal_objectives.export.onnx.model import to_onnx
from ordinal_objectives.metrics import METRICS
from pairs import each_pair

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


@each_pair(
    {
        "kind": MAKE,
        "weights": ["quadratic", "linear", [[0, 1, 2, 9], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]]],
        "options": [{}, {"linear": True}],
    }
)
def test_five_models_tell_of_rows_that_they_were_not_trained_on(kind, weights, options):
    model = MAKE[kind](**KAPPA, **options, kappa_weights=weights).fit(X, Y, sample_weight=W)
    proba, of_part = np.empty((N, 4)), {"random_state": 0, "classes": range(4), **options}
    of_part |= {"early_stopping": False} if kind == "engine" else {}
    for fit, held in StratifiedKFold(5, shuffle=True, random_state=seed_of(kind, model)).split(X, Y):
        part = MAKE[kind](**of_part).fit(X[fit], Y[fit], sample_weight=W[fit])
        proba[held] = part.predict_proba(X[held])
    same(model.kappa_rule_, KappaRule.fit(proba, weights, W))
    assert model.expected_kappa_ == model.kappa_rule_.measured
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
    options |= model.round_search_.settings
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
    assert model.kappa_rule_.kappa > MAKE[kind](**KAPPA).fit(X, Y).kappa_rule_.kappa


def test_no_group_is_divided(monkeypatch):
    divided, groups = [], np.arange(N) // 10

    def spy(self):
        for fit, held in folds(self):
            divided.append(np.intersect1d(groups[fit], groups[held]).size)
            yield fit, held

    folds = UnseenRows._folds
    monkeypatch.setattr(UnseenRows, "_folds", spy)
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


@pytest.mark.parametrize("kind", MAKE)
def test_a_row_s_class_does_not_depend_on_others(kind):
    model = MAKE[kind](**KAPPA).fit(X, Y)
    one_by_one = np.concatenate([model.predict(X[i : i + 1]) for i in range(20)])
    np.testing.assert_array_equal(one_by_one, model.predict(X)[:20])
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))


@each_pair({"kind": MAKE, "metric": ["qwk", "lwk", "mae", "zero_one"], "weighted": [False, True]})
def test_the_metrics_of_rounds_judge_the_decisions_of_the_model(kind, metric, weighted):
    in_fit = {"eval_metric": metric} if kind == "lgbm" else {}
    if weighted:
        in_fit |= {"sample_weight_eval_set" if kind == "xgb" else "eval_sample_weight": [W[:200], W[200:]]}
    given = {} if kind == "lgbm" else {"eval_metric": metric}
    given |= {"early_stopping": False} if kind == "engine" else {}
    sets = [(X[:200], Y[:200]), (X[200:], Y[200:])]
    model = MAKE[kind](**KAPPA, **given).fit(X[:200], Y[:200], eval_set=sets, **in_fit)
    results = model.evals_result_
    logged = results[f"validation_1_{metric}"] if kind == "engine" else list(results.values())[-1][metric]
    of_last = METRICS[metric].function(Y[200:], model.predict(X[200:]), W[200:] if weighted else None)
    assert logged[-1] == pytest.approx(of_last, abs=1e-6)
    proba = model.predict_proba(X[200:])
    median = METRICS[metric].function(Y[200:], decide(proba), W[200:] if weighted else None)
    assert metric != "qwk" or abs(of_last - median) > 1e-3


def test_early_stopping_looks_at_the_decisions_of_the_model():
    given = {"eval_set": [(X[200:], Y[200:])]}
    model = make_engine(**KAPPA, scoring="qwk", max_iter=60).fit(X[:200], Y[:200], **given)
    achieved = METRICS["qwk"].function(Y[200:], model.predict(X[200:]))
    assert max(model.evals_result_["validation_score"]) == pytest.approx(achieved)
    host = make_xgb(**KAPPA, eval_metric="qwk", early_stopping_rounds=10, n_estimators=60).fit(
        X[:200], Y[:200], **given
    )
    achieved = METRICS["qwk"].function(Y[200:], host.predict(X[200:]))
    assert max(host.evals_result_["validation_0"]["qwk"]) == pytest.approx(achieved)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="kappa_weights must be one of 'quadratic', 'linear'; got 'cubic'"):
        make_xgb(**KAPPA, kappa_weights="cubic").fit(X, Y)
    with pytest.raises(ValueError, match="kappa_rows must be one of 'unseen', 'training'; got 'all'"):
        make_xgb(**KAPPA, kappa_rows="all").fit(X, Y)
    with pytest.raises(ValueError, match="rule='kappa' and cost_matrix are two different rules"):
        make_lgb(**KAPPA, cost_matrix=1 - np.eye(4)).fit(X, Y)
    with pytest.raises(ValueError, match="decision_rule='kappa' is found in the training of one ordinal model, not of"):
        OrdinalEnsembleClassifier([("one", make_xgb())], decision_rule="kappa").fit(X, Y)
    with pytest.raises(ValueError, match="decision_rule='kappa' divides only arrays; for RowBlocks pass X_val"):
        make_engine(**KAPPA).fit(RowBlocks([X]), Y)
    model = make_xgb().fit(X, Y).set_params(decision_rule="kappa")
    with pytest.raises(ValueError, match="decision_rule='kappa' needs rows that the model was not trained on"):
        make_xgb(**KAPPA).fit(X, Y, xgb_model=model)
    assert make_xgb(**KAPPA, kappa_rows="training").fit(X, Y, xgb_model=model).kappa_rule_ is not None
    engine = make_engine(**KAPPA, warm_start=True, kappa_rows="training").fit(X, Y)
    with pytest.raises(ValueError, match="decision_rule='kappa' needs rows that the model was not trained on"):
        engine.set_params(max_iter=20, kappa_rows="unseen").fit(X, Y)
    blocks = make_engine(**KAPPA).fit(RowBlocks([X[:200]]), Y[:200], X_val=X[200:], y_val=Y[200:])
    assert blocks.expected_kappa_ == blocks.kappa_rule_.measured


PLACE = RNG.choice([40, 10, 30, 20], size=N)
Z = np.digitize(np.array([0, 3, -2, 2])[PLACE // 10 - 1] + X[:, 0] + RNG.logistic(size=N), [-2.0, 0.0, 2.0])
CATEGORIES = {
    "numbers": lambda: (np.column_stack([PLACE, X[:, 0]]), {"categorical_features": [0]}),
    "text": lambda: (pd.DataFrame({"place": pd.Categorical(PLACE.astype(str)), "x": X[:, 0]}), {}),
}


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("rows", ["training", "evaluated", "held out"])
@pytest.mark.parametrize("levels", CATEGORIES)
def test_the_rule_of_the_engine_reads_categories_as_predictions_do(levels, rows, linear):
    table, given = CATEGORIES[levels]()
    part = (lambda rows: table[rows]) if isinstance(table, np.ndarray) else (lambda rows: table.iloc[rows])
    first, last = np.arange(200), np.arange(200, N)
    how = {"training": {"kappa_rows": "training"}, "held out": {"early_stopping": True, "validation_fraction": 0.3}}
    model = make_engine(**KAPPA, **given, **how.get(rows, {}), linear=linear)
    if rows == "held out":
        model.fit(table, Z)
        rows_of_rule = hold_out(Rows(np.arange(N), Z.astype(np.int32)), 0.3, model._seed)[1].X
    else:
        rows_of_rule = first if rows == "training" else last
        model.fit(part(first), Z[first], **({} if rows == "training" else {"eval_set": [(part(last), Z[last])]}))
    same(model.kappa_rule_, KappaRule.fit(model.predict_proba(part(rows_of_rule))))


def test_the_rule_of_the_engine_reads_blocks_of_categories_as_predictions_do():
    blocks = [np.column_stack([PLACE, X[:, 0]])[:200], np.column_stack([PLACE, X[:, 0]])[200:]]
    model = make_engine(**KAPPA, categorical_features=[0]).fit(
        RowBlocks(blocks[:1]), Z[:200], X_val=RowBlocks(blocks[1:]), y_val=Z[200:]
    )
    same(model.kappa_rule_, KappaRule.fit(model.predict_proba(blocks[1])))


@pytest.mark.parametrize("kind", MAKE)
def test_where_no_tree_is_best_the_rule_is_that_of_the_tree_that_is_kept(kind):
    noise, found = RNG.permutation(Y), []
    for seed in range(6):
        options = KAPPA | {"random_state": seed} | rounds(kind, "auto") | {"learning_rate": 1.0}
        model = MAKE[kind](**options).fit(X, noise)
        if np.nanargmin(model.round_search_.losses) == 0:
            found.append(model)
    assert found
    assert all(model.n_iter_ == 1 and model.kappa_rule_.kappa > 1e-3 for model in found)


@pytest.mark.parametrize(("kind", "rounds_given"), [("xgb", "auto"), ("lgbm", 60), ("engine", 60), ("engine", "auto")])
def test_expected_kappa_is_that_of_new_rows(kind, rounds_given):
    pairs = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(1200, 3))
        labels = np.digitize(features[:, 0] + np.sin(2 * features[:, 1]) + rng.logistic(size=1200), [-2.0, 0.0, 2.0])
        model = MAKE[kind](**KAPPA, classes=range(4), **rounds(kind, rounds_given)).fit(features[:200], labels[:200])
        achieved = METRICS["qwk"].function(labels[200:], model.predict(features[200:]))
        pairs.append((model.expected_kappa_, model.kappa_rule_.kappa, achieved))
    expected, promised, achieved = np.mean(pairs, axis=0)
    assert abs(expected - achieved) < 0.06
    if rounds_given == 60:
        assert promised - achieved > 0.1


def test_a_class_of_few_rows_does_not_keep_the_search_from_a_kappa():
    y = np.where(np.arange(60) < 2, 1, 0)
    model = make_xgb(**KAPPA, **rounds("xgb", "auto"), min_child_weight=0).fit(X[:60], y)
    assert np.isfinite(model.kappa_rule_.kappa)


@pytest.mark.parametrize("asked", ["kappa", "costs, mode", "costs, mode, cost parameter reset", "kappa and costs"])
@pytest.mark.parametrize("kind", MAKE)
def test_a_decision_that_is_set_after_the_fit_suits_the_trained_model(kind, asked, tmp_path):
    cases = {
        "kappa": ({}, {"decision_rule": "kappa"}, "decision_rule='kappa' is found at the end of fit"),
        "costs, mode": ({"training_cost": "quadratic"}, {"decision_rule": "mode"}, "with a training_cost the decision"),
        "costs, mode, cost parameter reset": (
            {"training_cost": "quadratic"},
            {"decision_rule": "mode", "training_cost": "absolute"},
            "with a training_cost the decision",
        ),
        "kappa and costs": (KAPPA, {"cost_matrix": 1.0 - np.eye(4)}, "and cost_matrix are two different rules"),
    }
    before, after, words = cases[asked]
    model = MAKE[kind](**before, **rounds(kind, 3)).fit(X, Y).set_params(**after)
    path = tmp_path / "model.json"
    for use in (
        lambda: model.predict(X),
        lambda: list(model.staged_predict(X)),
        lambda: model.save_model(path),
        lambda: to_onnx(model, X[:1]),
    ):
        with pytest.raises(ValueError, match=words):
            use()
    assert not path.exists()


@pytest.mark.parametrize("kind", MAKE)
def test_costs_that_are_set_after_a_fit_without_them_change_no_decision(kind, tmp_path):
    model = MAKE[kind](**rounds(kind, 3)).fit(X, Y).set_params(training_cost="quadratic", decision_rule="mode")
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
    model.save_model(tmp_path / "model.json")
    loaded = type(model)().load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_ensembles_leave_kappa_to_what_is_around_them():
    members = [("one", make_xgb(**KAPPA, n_estimators=3)), ("other", make_lgb(n_estimators=3))]
    ensemble = OrdinalEnsembleClassifier(members, n_bags=1)
    fitted = clone(ensemble).fit(X, Y)
    np.testing.assert_array_equal(fitted.predict(X), decide(fitted.predict_proba(X)))
    with pytest.raises(ValueError, match="decision_rule='kappa' is found in the training of one ordinal model"):
        fitted.set_params(decision_rule="kappa").predict(X)
    tuned = OrdinalTunedClassifier(ensemble, metric="qwk", rule="kappa", cv=2).fit(X, Y)
    np.testing.assert_array_equal(tuned.predict(X), tuned.decision_.decide(tuned.predict_proba(X)))


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


CHANGED = {
    "other weights": ({"kappa_weights": "linear"}, "kappa_weights must be those of the fit"),
    "no weights": ({"kappa_weights": "cubic"}, "kappa_weights must be one of 'quadratic', 'linear'; got 'cubic'"),
    "weights of other classes": ({"kappa_weights": np.eye(3)}, r"or a \(4, 4\) matrix"),
    "no such rows": ({"kappa_rows": "all"}, "kappa_rows must be one of 'unseen', 'training'; got 'all'"),
}


@pytest.mark.parametrize("use", ["predict", "save_model", "to_onnx"])
@pytest.mark.parametrize("change", CHANGED)
@pytest.mark.parametrize("kind", MAKE)
def test_the_rule_of_other_weights_is_not_taken_for_those_set_after_the_fit(kind, change, use, tmp_path):
    params, message = CHANGED[change]
    model = MAKE[kind](**KAPPA, **rounds(kind, 3)).fit(X, Y)
    before = model.predict(X)
    model.set_params(**params)
    uses = {"predict": lambda: model.predict(X), "save_model": lambda: model.save_model(tmp_path / "model.json")}
    with pytest.raises(ValueError, match=message):
        uses.get(use, lambda: to_onnx(model, X))()
    assert not list(tmp_path.iterdir())
    squares = np.subtract.outer(range(4), range(4)) ** 2
    np.testing.assert_array_equal(model.set_params(kappa_weights=squares, kappa_rows="unseen").predict(X), before)
