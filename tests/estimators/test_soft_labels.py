"""Shares, counts, intervals and missing labels in every trainer, by every public way in."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.model_selection import GridSearchCV, cross_val_score

from makers import make_cat, make_engine, make_lgb, make_xgb, watching
from ordinal_objectives import (
    OrdinalLabels,
    RowBlocks,
)
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.export import to_onnx
from ordinal_objectives.inspection import shap_values
from ordinal_objectives.metrics import ordinal_log_loss
from ordinal_objectives.scorers import get_scorer, get_scorer_names, neg_rps_scorer

MAKE = {"xgb": make_xgb, "lgbm": make_lgb, "engine": make_engine}
K, N = 4, 240
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = np.digitize(X[:, 0] + 0.5 * RNG.logistic(size=N), [-1, 0, 1])
EXACT = {
    "shares": OrdinalLabels.from_shares(np.eye(K)[Y]),
    "intervals": OrdinalLabels.from_intervals(Y, Y, classes=range(K)),
    "raters": OrdinalLabels.from_raters(np.tile(np.arange(N), 2), np.repeat([0, 1], N), np.tile(Y, 2), n_rows=N),
}
COUNTS = np.eye(K)[Y] * 2 + np.eye(K)[np.minimum(Y + RNG.integers(0, 2, N), K - 1)]
SOFT = OrdinalLabels.from_counts(COUNTS)
LOWER = np.maximum(Y - RNG.integers(0, 2, N), 0)
INTERVALS = OrdinalLabels.from_intervals(LOWER, [*Y[:200], *[None] * 40], classes=range(K))
MODELS = [
    {"loss": "all_threshold"},
    {"loss": "all_threshold", "threshold_update": "newton", "proportional": True},
    {"loss": "all_threshold", "proportional": False},
    {"loss": "cumulative_link"},
    {"loss": "cumulative_link", "threshold_update": "fixed"},
    {"loss": "immediate_threshold"},
    {"loss": "immediate_threshold", "proportional": False},
]
MORE = [
    {"training_cost": "quadratic"},
    {"link": "probit", "proportional": False},
    {"loss": "cumulative_link", "link": "cloglog"},
]
OF_ONE = [
    ("xgb", {"shift_method": "host", "threshold_update": "newton"}),
    ("xgb", {"threshold_update": "schur", "proportional": True}),
    ("lgbm", {"threshold_update": "schur", "proportional": True}),
    ("engine", {"order": 4, "proportional": True}),
]
CASES: list[tuple[str, Any]] = [(kind, params) for kind in MAKE for params in [*MODELS, *MORE]] + OF_ONE
EVERY = pytest.mark.parametrize("kind", MAKE)
EVERY_CASE = pytest.mark.parametrize(
    ("kind", "params"), CASES, ids=["-".join(map(str, (kind, *params.values()))) for kind, params in CASES]
)


def losses_of(model):
    return np.array(model._record.training_loss)


@pytest.mark.parametrize(("labels", "case"), list(zip(cycle(EXACT), CASES)), ids=str)
def test_one_class_a_row_trains_the_same_model(labels, case):
    kind, params = case
    expected = MAKE[kind](**params).fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(MAKE[kind](**params).fit(X, EXACT[labels]).predict_proba(X), expected)


@EVERY_CASE
def test_counts_train_on_repeated_rows(kind, params):
    of_row = np.random.default_rng(7).uniform(0.2, 3.0, len(X))
    model = MAKE[kind](**params).fit(X, SOFT, sample_weight=of_row)
    row, code, weight = SOFT.answers()
    weight = weight * of_row[row]
    rates = model.predict_proba(X)[row, code]
    assert np.average(-np.log(rates), weights=weight) < 1.2
    # The loss before the first tree is that of as many rows of one class each.
    repeated = MAKE[kind](**params, n_estimators=1) if kind != "engine" else MAKE[kind](**params, max_iter=1)
    repeated.fit(X[row], code, sample_weight=weight)
    assert losses_of(model)[0] == pytest.approx(losses_of(repeated)[0], rel=1e-5)
    np.testing.assert_allclose(model.threshold_history_[0], repeated.threshold_history_[0], atol=1e-5)


@EVERY
@pytest.mark.parametrize("params", MODELS[:5], ids=lambda params: "-".join(map(str, params.values())))
def test_intervals_lower_their_loss(kind, params):
    losses = losses_of(MAKE[kind](**params).fit(X, INTERVALS, **watching(MAKE[kind](), X, INTERVALS)))
    assert losses[-1] < 0.8 * losses[0]
    if kind == "engine":
        assert (np.diff(losses) <= 1e-6).all()


@EVERY
@pytest.mark.parametrize("params", MODELS[5:], ids=lambda params: "-".join(map(str, params.values())))
def test_losses_without_a_likelihood_refuse_intervals(kind, params):
    with pytest.raises(ValueError, match=r"immediate_threshold.*has no likelihood of intervals"):
        MAKE[kind](**params).fit(X, INTERVALS)


@EVERY
@pytest.mark.parametrize("params", MODELS[:5], ids=lambda params: "-".join(map(str, params.values())))
def test_intervals_held_out_are_judged_by_their_log_loss(kind, params):
    some = slice(100, 240, 2)
    model = MAKE[kind](**params).fit(X, INTERVALS, **watching(MAKE[kind](), X[some], INTERVALS[some]))
    found = list(model.evals_result_.values())[-1]
    losses = next(iter(found.values())) if isinstance(found, dict) else found
    assert losses[-1] == pytest.approx(ordinal_log_loss(INTERVALS[some], model.predict_proba(X[some])), rel=1e-5)


@EVERY
def test_the_search_ends_where_most_rows_are_intervals(kind):
    rng = np.random.default_rng(0)
    X_new, noise = rng.normal(size=(1000, 3)), rng.logistic(size=1000)
    y_new = np.digitize(X_new[:, 0] + 0.5 * noise, [-1, 0, 1])
    lower = np.where(rng.random(N) < 0.8, np.minimum(Y, 1), Y)
    labels = OrdinalLabels.from_intervals(lower, np.where(lower < Y, K - 1, Y), classes=range(K))
    rounds = "max_iter" if kind == "engine" else "n_estimators"
    searched, long = (MAKE[kind](**{rounds: n}).fit(X, labels) for n in ("auto", 100))
    assert 1 <= searched.round_search_.n_iter < 60  # the loss of a training falls for hundreds of rounds
    losses = [ordinal_log_loss(y_new, model.predict_proba(X_new)) for model in (searched, long)]
    assert losses[0] < losses[1] - 0.1


@EVERY
def test_rows_without_a_label_are_left_out(kind):
    y = Y.astype(object)
    y[::5] = None
    known = np.arange(N) % 5 > 0
    labels = OrdinalLabels.from_labels(y, classes=range(K))
    weight = known.astype(float)
    expected = MAKE[kind]().fit(X, Y, sample_weight=weight).predict_proba(X)
    np.testing.assert_array_equal(MAKE[kind]().fit(X, labels).predict_proba(X), expected)


@EVERY
def test_what_needs_a_class_refuses_intervals(kind):
    with pytest.raises(ValueError, match="class_weight='balanced' needs the class of each row"):
        MAKE[kind](class_weight="balanced").fit(X, INTERVALS)
    with pytest.raises(ValueError, match="classes must be those of the labels"):
        MAKE[kind](classes=[3, 2, 1, 0]).fit(X, SOFT)


@EVERY
def test_balanced_classes_count_answers(kind):
    y, known, times = Y.astype(object), np.arange(N) % 5 > 0, RNG.integers(1, 9, N)
    y[~known] = None
    plain = OrdinalLabels.from_counts(np.eye(K)[Y] * times[:, np.newaxis])
    _, code, weight = SOFT.answers()
    for labels, repeated in (
        (OrdinalLabels.from_labels(y, classes=range(K)), Y[known]),
        (plain, np.repeat(Y, times)),
        (SOFT, np.repeat(code, weight.astype(int))),
    ):
        model = MAKE[kind](class_weight="balanced").fit(X, labels)
        expected = MAKE[kind](class_weight="balanced").fit(repeated[:, np.newaxis], repeated)
        np.testing.assert_allclose(model.threshold_history_[0], expected.threshold_history_[0], atol=1e-6)


def test_accuracy_counts_answers():
    model = make_engine().fit(X, Y)
    right = model.predict(X) == Y
    y = Y.astype(object)
    y[::5] = None
    known = np.arange(N) % 5 > 0
    assert model.score(X, OrdinalLabels.from_labels(y, classes=range(K))) == pytest.approx(right[known].mean())
    row, code, weight = SOFT.answers()
    expected = np.average(model.predict(X)[row] == code, weights=weight)
    assert model.score(X, SOFT) == pytest.approx(expected)


def test_metrics_judge_each_answer():
    row, code, weight = SOFT.answers()
    metric = {"eval_metric": "rps"}
    soft = make_engine(**metric).fit(X, Y, X_val=X, y_val=SOFT)
    repeated = make_engine(**metric).fit(X, Y, X_val=X[row], y_val=code, sample_weight_val=weight)
    name = next(key for key in soft.evals_result_ if key.endswith("rps"))
    np.testing.assert_allclose(soft.evals_result_[name], repeated.evals_result_[name], rtol=1e-6)
    with pytest.raises(ValueError, match="intervals have no class"):
        make_engine(**metric).fit(X, Y, X_val=X, y_val=INTERVALS)
    with pytest.raises(TypeError, match="y with scoring='accuracy' must hold one label a row"):
        make_engine(scoring="accuracy", early_stopping=True).fit(X, SOFT)
    with pytest.raises(TypeError, match="y with scoring='accuracy' must hold one label a row"):
        make_engine(scoring="accuracy", early_stopping=True).fit(X, Y, X_val=X, y_val=SOFT)


def test_frameworks_take_labels_beside_the_matrix():
    params = {"max_depth": 3, "nthread": 1, "disable_default_eval_metric": 1, "base_score": 0.0}
    matrix, objective = xgboost.DMatrix(X), oxgb.OrdinalObjective()
    objective.bind(matrix, SOFT)
    own = xgboost.train(params, matrix, 5, obj=objective, callbacks=[objective.callback])
    ours = oxgb.train({"max_depth": 3, "nthread": 1}, xgboost.DMatrix(X), 5, labels=SOFT, threshold_update="newton")
    np.testing.assert_array_equal(oxgb.predict_proba(own, matrix), oxgb.predict_proba(ours, matrix))
    data, options = lightgbm.Dataset(X), {"verbosity": -1, "num_threads": 1}
    booster = olgbm.train(options, data, 5, labels=SOFT, valid_sets=[data])
    with pytest.raises(ValueError, match=f"n_classes must be {K}, that of labels; got {K + 1}"):
        olgbm.train(options, data, 5, labels=SOFT, n_classes=K + 1)
    assert olgbm.predict_proba(booster, X).shape == (N, K)


@pytest.mark.parametrize("labels", EXACT.values(), ids=EXACT)
def test_one_class_a_row_is_the_label_of_a_matrix(labels):
    params, matrix = {"max_depth": 3, "nthread": 1}, xgboost.DMatrix(X, Y)
    plain, found = oxgb.train(params, matrix, 5), oxgb.train(params, xgboost.DMatrix(X), 5, labels=labels)
    np.testing.assert_array_equal(oxgb.predict_proba(found, matrix), oxgb.predict_proba(plain, matrix))
    options = {"verbosity": -1, "num_threads": 1}
    plain = olgbm.train(options, lightgbm.Dataset(X, Y), 5)
    found = olgbm.train(options, lightgbm.Dataset(X), 5, labels=labels)
    np.testing.assert_array_equal(olgbm.predict_proba(found, X), olgbm.predict_proba(plain, X))


def with_objective(host, data, objective=None, **options):
    """Train by a library's own train, with a new objective unless one is given."""
    if host == "xgboost":
        objective, params = objective or oxgb.OrdinalObjective(K), {"nthread": 1, "base_score": 0.0}
        params |= {"disable_default_eval_metric": 1, "verbosity": 0}
        return xgboost.train(
            params, data, 3, obj=objective, callbacks=[objective.callback], verbose_eval=False, **options
        )
    objective = objective or olgbm.OrdinalObjective(K)
    params = {"objective": objective, "metric": "None", "verbosity": -1, "num_threads": 1}
    return lightgbm.train(params, data, 3, callbacks=[objective.callback], **options)


def bound(host):
    data = xgboost.DMatrix(X) if host == "xgboost" else lightgbm.Dataset(X, free_raw_data=False)
    objective = (oxgb if host == "xgboost" else olgbm).OrdinalObjective(K)
    objective.bind(data, SOFT)
    return data, objective


ROWS = np.arange(0, N, 2)
PARTS = {
    "slice": ("xgboost", lambda data, path: data.slice(ROWS)),
    "slice of a slice": ("xgboost", lambda data, path: data.slice(ROWS).slice(ROWS[: N // 4])),
    "file": ("xgboost", lambda data, path: (data.save_binary(path), xgboost.DMatrix(path))[1]),
    "subset": ("lightgbm", lambda data, path: data.subset(ROWS)),
    "subset of a subset": ("lightgbm", lambda data, path: data.subset(ROWS).subset(ROWS[: N // 4])),
}
PART = "the data are a part, or the file, of a matrix with labels of several answers"


@pytest.mark.parametrize("part", PARTS)
def test_parts_of_a_matrix_do_not_lose_its_labels_in_silence(part, tmp_path):
    host, cut = PARTS[part]
    for own in (False, True):
        whole, objective = bound(host)
        some = cut(whole, str(tmp_path / "data.bin"))
        with pytest.raises(ValueError, match=PART):
            with_objective(host, some, objective if own else None)
    whole, objective = bound(host)
    some = cut(whole, str(tmp_path / "data.bin"))
    watched = {"evals": [(some, "part")]} if host == "xgboost" else {"valid_sets": [some]}
    metric = {"custom_metric" if host == "xgboost" else "feval": objective.metric}
    with pytest.raises(ValueError, match=PART):
        with_objective(host, whole, objective, **watched, **metric)


def test_catboost_refuses_labels_by_name():
    pytest.importorskip("catboost")
    with pytest.raises(TypeError, match="CatBoostOrdinalClassifier takes labels of one class a row"):
        make_cat().fit(X, SOFT)


def test_blocks_of_rows_take_labels():
    blocks = RowBlocks([X[:100], X[100:]])
    whole = make_engine(subsample=1.0).fit(X, INTERVALS)
    np.testing.assert_allclose(
        make_engine(subsample=1.0).fit(blocks, INTERVALS).predict_proba(X), whole.predict_proba(X)
    )


@EVERY
def test_files_need_nothing(kind, tmp_path):
    model = MAKE[kind]().fit(X, INTERVALS)
    path = tmp_path / ("model.json" if kind != "lgbm" else "model.txt")
    model.save_model(path)
    loaded = type(model)()
    loaded.load_model(path)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def exact_and_soft(kind):
    return [MAKE[kind]().fit(X, labels) for labels in (SOFT, INTERVALS)]


@EVERY
def test_graphs_of_onnx_answer_as_the_model(kind):
    pytest.importorskip("onnxruntime")
    from served import answers  # needs onnxruntime

    for model in exact_and_soft(kind):
        found = answers(to_onnx(model, X, floats="float64"), X, "float64")[1]
        np.testing.assert_allclose(found, model.predict_proba(X), atol=1e-6)


@EVERY
def test_shap_values_sum_to_the_score(kind):
    for model in exact_and_soft(kind):
        found = shap_values(model, X, output="score", random_state=0)
        total = found.values.sum(axis=-1) + found.base_values
        np.testing.assert_allclose(total, model.predict_raw(X), atol=1e-5)


@EVERY
def test_scorers_judge_each_answer(kind):
    row, code, weight = SOFT.answers()
    model = MAKE[kind]().fit(X, SOFT)
    for name in get_scorer_names():
        if name != "concordance":
            found, expected = get_scorer(name)(model, X, SOFT), get_scorer(name)(model, X[row], code, weight)
            assert found == pytest.approx(expected, rel=1e-6)
    assert neg_rps_scorer(model, X, INTERVALS) < 0.0


def test_searches_judge_each_answer():
    kind = "engine"
    assert (cross_val_score(MAKE[kind](), X, INTERVALS, cv=3, scoring=neg_rps_scorer) < 0.0).all()
    search = GridSearchCV(MAKE[kind](), {"learning_rate": [1e-6, 0.3]}, cv=3, scoring=neg_rps_scorer).fit(X, SOFT)
    assert search.best_params_["learning_rate"] == 0.3


def test_labels_cannot_be_changed_in_place():
    labels = OrdinalLabels.from_shares([[0.5, 0.5], [1.0, 0.0]])
    with pytest.raises(ValueError, match="read-only"):
        labels.patterns[:] = 0.5
