"""A linear score that the trees start from: its fit, its choice, and everything that carries it."""

from __future__ import annotations

import json
import pickle
from typing import Any

import lightgbm
import mord
import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
import xgboost
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags

from makers import LGB_DEFAULTS, SKLEARN_DEFAULTS, XGB_DEFAULTS, mean_loss, watching
from ordinal_objectives import (
    AllThreshold,
    CatBoostOrdinalClassifier,
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalEnsembleClassifier,
    OrdinalLabels,
    RowBlocks,
    XGBOrdinalClassifier,
)
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.adapters.prediction import record_from_json
from ordinal_objectives.estimators import linear as linear_scores
from ordinal_objectives.estimators.held_out import Rows
from ordinal_objectives.estimators.linear import LinearPart, with_start
from ordinal_objectives.inspection import shap_values
from ordinal_objectives.losses import get_loss
from ordinal_objectives.predictions import score
from ordinal_objectives.utils.json_of import decoded, encoded

RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 3)) * [1.0, 5.0, 0.1] + [0.0, 3.0, -2.0]
Y = np.digitize(X[:, 0] + 0.4 * X[:, 1] + RNG.logistic(size=N), [-1.0, 1.0, 3.0]).astype(np.int32)
W = RNG.uniform(0.5, 2.0, size=N)
KINDS = {
    "xgb": (XGBOrdinalClassifier, {"n_estimators": 6, "max_depth": 2, **XGB_DEFAULTS}),
    "lgbm": (LGBMOrdinalClassifier, {"n_estimators": 6, "num_leaves": 4, **LGB_DEFAULTS}),
    "engine": (HistGradientBoostingOrdinalClassifier, {"max_iter": 6, "max_leaf_nodes": 4, **SKLEARN_DEFAULTS}),
}
OF_SCORES = [{"proportional": True}, {"proportional": False}]


def make(kind, **options):
    cls, given = KINDS[kind]
    return cls(**{"linear": True, "linear_l2": 5.0, "n_jobs": 1, "random_state": 0} | given | options)


def fitted(y=Y, weight=None, l2=5.0, n_classes=4, loss=None, **options):
    return LinearPart.fit(Rows(X, y, weight), n_classes, loss or AllThreshold(), l2, **options)


# The fit


@pytest.mark.parametrize("weight", [None, W], ids=["", "weights"])
def test_two_classes_are_a_penalised_logistic_regression(weight):
    y = (Y > 1).astype(np.int32)
    part = fitted(y, weight, n_classes=2)
    mean = np.average(X, axis=0, weights=weight)
    scaled = (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    peer = LogisticRegression(C=1 / 5.0, tol=1e-10).fit(scaled, y, sample_weight=weight)
    np.testing.assert_allclose(part.weights, peer.coef_[0], atol=2e-4)
    np.testing.assert_allclose(part.scores(X), scaled @ peer.coef_[0], atol=1e-3)


@pytest.mark.filterwarnings("ignore:scipy.optimize:DeprecationWarning", "ignore:Unknown solver options")  # mord's
def test_several_classes_are_mord_s_all_threshold_model():
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    part, peer = fitted(), mord.LogisticAT(alpha=5.0, max_iter=10_000).fit(scaled, Y)
    np.testing.assert_allclose(part.weights, peer.coef_, rtol=0.02, atol=5e-3)


@pytest.mark.parametrize(
    ("loss", "link"), [("all_threshold", "probit"), ("immediate_threshold", "logit"), ("cumulative_link", "cloglog")]
)
def test_no_step_along_a_weight_lowers_the_objective(loss, link):
    of_loss = get_loss(loss, link)
    part = fitted(loss=of_loss)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)

    def objective(weights, thresholds):
        return of_loss.value(scaled @ weights, Y, thresholds).sum() + 2.5 * weights @ weights

    found = minimize(lambda gaps: objective(part.weights, np.cumsum([gaps[0], *np.exp(gaps[1:])])), [-1.0, 0.0, 0.0])
    thresholds = np.cumsum([found.x[0], *np.exp(found.x[1:])])
    at = objective(part.weights, thresholds)
    for step in 0.01 * np.concatenate([np.eye(3), -np.eye(3)]):
        assert objective(part.weights + step, thresholds) > at - 1e-5 * at


@pytest.mark.parametrize("link", ["logit", "cauchit"])
def test_of_intervals_the_classes_are_weighed_by_the_part_s_own_probabilities(link):
    """The loss at those weights has its minimum there: a fixed point, found here by repeated fits."""
    rng, loss, n = np.random.default_rng(0), AllThreshold(link), 100
    middle = rng.choice(4, size=n, p=[0.05, 0.05, 0.45, 0.45])
    low, high = np.maximum(middle - rng.integers(0, 4, n), 0), np.minimum(middle + rng.integers(0, 4, n), 3)
    labels = OrdinalLabels.from_intervals(low, high, classes=range(4))
    inside = labels.patterns[labels.codes]
    scaled = (X[:n] - X[:n].mean(axis=0)) / X[:n].std(axis=0)

    def objective(x, share):
        of_classes = loss.value(np.repeat(scaled @ x[3:], 4), np.tile(np.arange(4, dtype=np.int32), n), x[:3])
        return share.ravel() @ of_classes + 2.5 * x[3:] @ x[3:]

    x, share, change = np.array([-1.0, 0.0, 1.0, 0.0, 0.0, 0.0]), inside, np.inf
    while change > 1e-4:
        found = minimize(objective, x, (share / share.sum(axis=1, keepdims=True),)).x
        x, change = found, np.abs(found - x).max()
        share = inside * loss.predict_proba(scaled @ x[3:], x[:3])
    for start in (None, np.full(n, 2.0)):  # a constant is the thresholds'
        part = LinearPart.fit(Rows(X[:n], labels, None, start), 4, loss, 5.0)
        np.testing.assert_allclose(part.weights, x[3:], atol=1e-3)


@pytest.mark.parametrize("noise", [0.01, 0.1])
def test_fits_of_many_classes_reach_the_lowest_loss(noise, monkeypatch):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(150, 3))
    latent = rows[:, 0] + noise * rng.normal(size=150)
    y = np.digitize(latent, np.linspace(latent.min(), latent.max(), 101)[1:-1]).astype(np.int32)
    given, loss = Rows(rows, y, None), get_loss("all_threshold", "logit")
    part = LinearPart.fit(given, 100, loss, 1e-2)
    monkeypatch.setattr(linear_scores, "_MOST_STEPS", 50_000)
    np.testing.assert_allclose(LinearPart.fit(given, 100, loss, 1e-2).weights, part.weights, rtol=1e-12)
    monkeypatch.setattr(linear_scores, "_MOST_STEPS", 100)
    with pytest.warns(ConvergenceWarning, match="the linear part was not fitted to the end in 100 steps: a larger"):
        LinearPart.fit(given, 100, loss, 1e-2)


@pytest.mark.parametrize(("loss", "seed"), [("cumulative_link", 3), ("cost_weighted", 9)])
def test_steps_that_go_too_far_are_taken_back(loss, seed):
    """They would make thresholds infinite, or equal where they must differ."""
    rng = np.random.default_rng(seed)
    rows = np.exp(2 * rng.normal(size=(100, 6)))
    latent = rows @ rng.normal(size=6) + rng.standard_cauchy(100)
    y = np.digitize(latent, np.quantile(latent, np.sort(rng.random(49)))).astype(np.int32)
    part = LinearPart.fit(Rows(rows, y, None), 50, get_loss(loss, "cauchit"), 0.01)
    assert np.isfinite(part.weights).all()
    assert part.weights.all()


def test_rows_of_no_weight_do_not_count():
    weight = W.copy()
    weight[::3] = 0.0
    some = weight > 0
    alone = LinearPart.fit(Rows(X[some], Y[some], weight[some]), 4, AllThreshold(), 5.0)
    np.testing.assert_allclose(fitted(weight=weight).scores(X), alone.scores(X), atol=1e-6)


def test_it_is_fitted_beside_scores_that_are_given():
    given = 0.4 * X[:, 1]
    part = LinearPart.fit(Rows(X, Y, None, given), 4, AllThreshold(), 1e-3)
    assert abs(part.weights[1]) < 0.4 < part.weights[0]


# The trees start from it


@pytest.mark.parametrize("options", [*OF_SCORES, {"shift_method": "host"}], ids=str)
@pytest.mark.parametrize("kind", ["xgb", "lgbm"])
def test_the_trees_are_those_of_its_scores_as_start(kind, options):
    if "shift_method" in options and kind == "lgbm":
        return
    model = make(kind, **options).fit(X, Y, sample_weight=W)
    start = {"base_margin" if kind == "xgb" else "init_score": model.linear_.scores(X)}
    bare = make(kind, linear=False, **options).fit(X, Y, sample_weight=W, **start)
    np.testing.assert_array_equal(model.thresholds_, bare.thresholds_)
    np.testing.assert_allclose(model.predict_proba(X), bare.predict_proba(X, **start), atol=1e-12)


@pytest.mark.parametrize("options", OF_SCORES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_recorded_losses_are_those_of_the_predictions(kind, options):
    stops = {"early_stopping": False} if kind == "engine" else {}
    model = make(kind, **options, **stops).fit(X[:300], Y[:300], **watching(make(kind), X[300:], Y[300:]))
    if kind == "engine":
        recorded = model.evals_result_["validation"][model.n_iter_]
    else:
        recorded = next(iter(next(iter(model.evals_result_.values())).values()))[-1]
    assert recorded == pytest.approx(mean_loss(model, X[300:], Y[300:]), rel=1e-5)
    np.testing.assert_allclose(list(model.staged_predict_proba(X))[-1], model.predict_proba(X), atol=1e-6)
    assert model._record.training_loss[-1] == pytest.approx(mean_loss(model, X[:300], Y[:300], trained=True), rel=1e-4)


def test_the_engine_starts_at_the_thresholds_that_fit_its_scores():
    model = make("engine", proportional=True).fit(X, Y)
    scores, first = model.linear_.scores(X), model.threshold_history_[0]
    loss = AllThreshold()
    at = loss.value(scores, Y, first).mean()
    for step in 0.02 * np.concatenate([np.eye(3), -np.eye(3)]):
        assert loss.value(scores, Y, first + step).mean() > at
    assert model.evals_result_["training"][0] == pytest.approx(at, rel=1e-6)


@pytest.mark.parametrize("kind", ["xgb", "engine"])
def test_continued_models_keep_it(kind):
    options = {"proportional": True, "subsample": 1.0}
    whole = make(kind, **options).fit(X, Y)
    if kind == "xgb":
        half = make(kind, n_estimators=3, **options).fit(X, Y)
        more = make(kind, n_estimators=3, linear=False, **options).fit(X, Y, xgb_model=half)
    else:
        more = half = make(kind, max_iter=3, warm_start=True, **options).fit(X, Y)
        more.set_params(max_iter=6).fit(X, Y)
    np.testing.assert_allclose(more.predict_proba(X), whole.predict_proba(X), atol=1e-5)
    np.testing.assert_array_equal(more.linear_.weights, whole.linear_.weights)


# The choice


@pytest.mark.parametrize("kind", KINDS)
def test_auto_is_what_the_rows_held_out_speak_for(kind):
    rounds = {"max_iter" if kind == "engine" else "n_estimators": "auto"}
    losses = {}
    for linear in (False, True, "auto"):
        model = make(kind, linear=linear, **rounds).fit(X, Y)
        losses[linear] = np.nanmin(model.round_search_.losses), model.linear_ is not None
    assert losses[True][1]
    assert not losses[False][1]
    assert losses["auto"] == min(losses[False], losses[True])


def test_auto_is_not_taken_where_steps_decide():
    steps = np.digitize(np.sin(6 * X[:, 0]) + 0.1 * RNG.normal(size=N), [-0.5, 0.0, 0.5])
    assert make("xgb", n_estimators="auto", linear="auto").fit(X, steps).linear_ is None
    assert make("xgb", linear="auto").fit(X, Y).linear_ is None  # without a search


def test_the_search_fits_it_without_the_rows_held_out(monkeypatch):
    seen = []
    fit = LinearPart.fit.__func__  # type: ignore[attr-defined]

    def spy(cls, rows, *args, **options):
        seen.append(len(rows))
        return fit(cls, rows, *args, **options)

    monkeypatch.setattr(LinearPart, "fit", classmethod(spy))
    model = make("xgb", n_estimators="auto").fit(X, Y)
    assert seen == [N - model.round_search_.n_held_out, N]


def test_verbose_says_that_it_was_chosen(capsys):
    make("xgb", n_estimators="auto").fit(X, Y, verbose=1000)
    assert "held out, with a linear part" in capsys.readouterr().out


# Files and other entry points


@pytest.mark.parametrize("options", [*OF_SCORES, {"shift_method": "host"}], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_it_travels_in_every_file(kind, options, tmp_path):
    if "shift_method" in options and kind != "xgb":
        return
    model = make(kind, **options).fit(X, Y)
    path = tmp_path / ("model.json" if kind == "xgb" else "model")
    model.save_model(path)
    for other in (KINDS[kind][0]().load_model(path), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
        assert (other.linear, other.linear_l2) == (True, 5.0)
        np.testing.assert_array_equal(other.linear_.contributions(X), model.linear_.contributions(X))
    plain = make(kind, linear=False, **options).fit(X, Y)
    plain.save_model(path)
    assert model.load_model(path).linear_ is None
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_bare_boosters_refuse_to_forget_it():
    model = make("xgb").fit(X, Y)
    bare, started = xgboost.DMatrix(X, Y), xgboost.DMatrix(X, Y, base_margin=model.linear_.scores(X))
    np.testing.assert_allclose(oxgb.predict_proba(model.booster_, started), model.predict_proba(X), atol=1e-6)
    for use in (oxgb.predict_proba, oxgb.margin_contributions):
        with pytest.raises(ValueError, match="data has no base_margin: the trees of this booster start from a linear"):
            use(model.booster_, bare)
    one_score = make("xgb", proportional=True).fit(X, Y)
    with pytest.raises(ValueError, match="the training set has no base_margin: the trees"):
        oxgb.train({"max_depth": 2}, bare, 2, xgb_model=one_score.booster_)
    with pytest.raises(ValueError, match="the training set has no base_margin: the trees"):
        oxgb.train({"max_depth": 2}, bare, 2, xgb_model=model.booster_, proportional=False)
    lgb = make("lgbm").fit(X, Y)
    with pytest.raises(ValueError, match="booster: the trees of this booster start from a linear part"):
        olgbm.predict_proba(lgb.booster_, X)
    with pytest.raises(ValueError, match="init_model, beside which LightGBM takes no init_score: the trees"):
        make("lgbm").fit(X, Y, init_model=lgb)


def test_contributions_of_trees_and_linear_part_add_up_to_the_margins():
    model = make("xgb", proportional=True).fit(X, Y)
    data = xgboost.DMatrix(X, base_margin=model.linear_.scores(X))
    of_trees = oxgb.margin_contributions(model.booster_, data)
    np.testing.assert_allclose(of_trees.sum(axis=2), model.predict_linear_predictors(X), atol=1e-5)
    # XGBoost counts the start with the bias: the linear part says which features it belongs to.
    by_feature = model.linear_.contributions(X)
    bias = of_trees[:, :, -1] + by_feature.sum(axis=1)[:, np.newaxis]
    np.testing.assert_allclose(bias, np.broadcast_to(bias[0], bias.shape), atol=1e-5)


@pytest.mark.parametrize("options", [{"proportional": True}, {"proportional": False}], ids=str)
def test_damaged_records_are_refused(options, tmp_path):
    content = json.loads(make("xgb", **options).fit(X, Y)._record.to_json())
    assert encoded(record_from_json(json.dumps(content)).linear) == content["linear"]
    booster = make("xgb", **options).fit(X, Y).booster_
    of_no_classifier = content | {"classifier": None, "linear": {"n_features": 3}}
    booster.set_attr(**{oxgb.ATTRIBUTE: json.dumps(of_no_classifier)})
    booster.save_model(tmp_path / "model.json")
    with pytest.raises(ValueError, match=r"damaged.* linear must be"):
        make("xgb").load_model(tmp_path / "model.json")
    for name in ("leaf_vectors", "outputs", "linear"):
        with pytest.raises(ValueError, match="damaged"):
            record_from_json(json.dumps({k: v for k, v in content.items() if k != name}))


@pytest.mark.parametrize(
    "change",
    [
        {"n_features": 2},
        {"places": [0, 1, 1]},
        {"places": [0, 1]},
        {"weights": [1.0, 2.0]},
        {"weights": [1.0, 2.0, "x"]},
        {"scale": [1.0, 0.0, 1.0]},
        {"levels": {"2": ["a"]}},
        {"levels": {"2": [0.0]}},
        {"levels": {"2": [0.0]}, "places": [0, 1], "level_weights": []},
        {"mean": None},
    ],
    ids=str,
)
def test_damaged_parts_are_refused(change):
    content = json.loads(json.dumps(encoded(fitted())))
    read = decoded(LinearPart, content)
    read.check(3)
    np.testing.assert_array_equal(read.scores(X), fitted().scores(X))
    with pytest.raises((ValueError, TypeError)):
        decoded(LinearPart, content | change).check(3)


def test_ensembles_take_members_with_a_linear_part(tmp_path):
    members = [("linear", make("xgb")), ("plain", make("lgbm", linear=False))]
    model = OrdinalEnsembleClassifier(members, n_bags=1, random_state=0).fit(X, Y)
    model.save_model(tmp_path / "ensemble")
    loaded = OrdinalEnsembleClassifier().load_model(tmp_path / "ensemble")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.members_["linear"][0].linear_ is not None


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_is_refused(kind):
    for linear in ("yes", None, 1, np.array([True])):
        with pytest.raises(ValueError, match="linear must be True, False or 'auto'; got"):
            make(kind, linear=linear).fit(X, Y)
    for l2 in (0.0, -1.0, np.nan, "a", None):
        with pytest.raises((ValueError, TypeError), match="linear_l2 must be a finite number above 0"):
            make(kind, linear_l2=l2).fit(X, Y)
    refused = RowBlocks([X]) if kind == "engine" else csr_array(X)
    with pytest.raises(ValueError, match="X must be an array or a table where linear is not False; got"):
        make(kind).fit(refused, Y)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_without_it_is_not_continued_with_it(kind):
    if kind == "engine":
        model, more = make(kind, linear=False, max_iter=3, warm_start=True).fit(X, Y), {}
        model.set_params(linear=True, max_iter=6)
    else:
        bare = make(kind, linear=False).fit(X, Y)
        model, more = make(kind), {"xgb_model" if kind == "xgb" else "init_model": bare}
    with pytest.raises(ValueError, match="linear=True continues only a model with a linear part"):
        model.fit(X, Y, **more)


@pytest.mark.parametrize("kind", KINDS)
def test_scikit_learn_is_told_that_tables_must_be_dense(kind):
    assert not get_tags(make(kind)).input_tags.sparse
    assert get_tags(make(kind, linear=False)).input_tags.sparse is (kind != "engine")


def test_the_engine_predicts_blocks():
    model = make("engine").fit(X, Y)
    blocks = RowBlocks([X[:150], X[150:]])
    np.testing.assert_allclose(model.predict_proba(blocks), model.predict_proba(X), atol=1e-12)


def test_start_scores_are_added_to_those_that_are_given():
    rows = Rows(X, Y, None, np.ones(N))
    part = fitted()
    assert with_start(None, rows) is rows
    np.testing.assert_array_equal(with_start(part, rows).start, part.scores(X) + 1.0)
    np.testing.assert_array_equal(with_start(part, Rows(X, Y)).start, part.scores(X))


# Rows as users have them


LEVELS = {
    "numbers": np.array([1.0, 2.0, 5.0]),
    "text": np.array(["s", "m", "l"], dtype=object),
    "booleans": np.array([False, True, True]),
}
TABLES = {
    "array": lambda frame: frame.to_numpy(),
    "pandas": lambda frame: frame,
    "categorical": lambda frame: frame.assign(size=frame["size"].astype("category")),
    "polars": polars.from_pandas,
    "arrow": lambda frame: pyarrow.Table.from_pandas(frame, preserve_index=False),
}


def with_sizes(levels, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, N)
    frame = pd.DataFrame({"x": rng.normal(size=N), "size": LEVELS[levels][codes], "z": rng.normal(size=N)})
    return frame, np.digitize(np.array([0.0, 3.0, -2.0])[codes] + frame["x"] + rng.logistic(size=N), [-1.0, 0.0, 2.0])


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("levels", LEVELS)
def test_the_engine_s_linear_part_reads_rows_as_predict_does(table, levels, tmp_path):
    frame, y = with_sizes(levels)
    rows = TABLES[table](frame)
    model = make("engine", categorical_features=[1]).fit(rows, y)
    model.save_model(tmp_path / "model")
    for one in (model, HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "model")):
        of_trees = predictions_of_trees(one, rows)
        np.testing.assert_allclose(one.linear_.scores(rows), one.predict_raw(rows) - of_trees, atol=1e-10)
        of_features = one.linear_.contributions(rows)
        np.testing.assert_allclose(of_features.sum(axis=1), one.linear_.scores(rows), atol=1e-12)
        assert of_features[:, 1].std() > 0.05
        added = shap_values(one, rows)
        np.testing.assert_allclose(added.values.sum(axis=1) + added.base_values, one.predict_raw(rows), atol=1e-10)


def predictions_of_trees(model, rows):
    return score(model._scorer(model._check_features(rows, reset=False))(0, model.n_iter_))


@pytest.mark.parametrize("kind", KINDS)
def test_columns_in_another_order_are_refused(kind):
    frame = pd.DataFrame(X, columns=list("abc"))
    model = make(kind).fit(frame, Y)
    for read in (model.linear_.scores, model.linear_.contributions):
        with pytest.raises(ValueError, match="feature names"):
            read(frame[["c", "b", "a"]])
        with pytest.raises(ValueError, match=r"(?i)feature"):
            read(frame[["a", "b"]])


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
@pytest.mark.parametrize("start", [False, True])
def test_thresholds_without_an_order_are_fitted_without_one(link, start):
    rng = np.random.default_rng(1)
    rows, given = rng.normal(size=(1500, 2)), 0.5 * rng.normal(size=1500)
    odds = np.c_[np.zeros(1500), np.cumsum((1.5 * rows[:, 0] - rows[:, 1])[:, None] - [2.0, -2.0], axis=1)]
    proba = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    y = (rng.random((1500, 1)) > proba.cumsum(axis=1)[:, :-1]).sum(axis=1).astype(np.int32)
    loss, scaled = get_loss("immediate_threshold", link), (rows - rows.mean(axis=0)) / rows.std(axis=0)
    before = given if start else np.zeros(1500)
    part = LinearPart.fit(Rows(rows, y, None, given if start else None), 3, loss, 0.5)

    def objective(p):
        return loss.value(before + scaled @ p[2:], y, p[:2]).sum() + 0.25 * p[2:] @ p[2:]

    best = minimize(objective, [2.0, -2.0, 0.0, 0.0])
    assert best.x[0] > best.x[1]
    np.testing.assert_allclose(part.weights, best.x[2:], atol=2e-3)


SIGNS: dict[str, list[dict[str, Any]]] = {
    "xgb": [
        {"monotone_constraints": signs} for signs in [(1, 0, 0), [0, 0, -1], "(0,1,0)", {"a": 1}, np.array([0, 1, 0])]
    ],
    "lgbm": [
        {name: signs}
        for name in ("monotone_constraints", "mc", "monotone_constraint", "monotonic_cst")
        for signs in ([1, 0, 0], "0,-1,0")
    ],
    "engine": [{"monotonic_cst": [0, 1, 0]}, {"monotonic_cst": {"a": -1}}],
}
ZEROS: dict[str, list[dict[str, Any]]] = {
    "xgb": [{"monotone_constraints": "(0,0,0)"}, {"monotone_constraints": {"a": 0}}],
    "lgbm": [{"mc": [0, 0, 0]}, {"monotone_constraints": "0,0,0"}],
    "engine": [{"monotonic_cst": [0, 0, 0]}],
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_linear_part_does_not_stand_beside_monotone_constraints(kind):
    frame, name = pd.DataFrame(X, columns=list("abc")), "monotonic_cst" if kind == "engine" else "monotone_constraints"
    for signs in SIGNS[kind]:
        for linear in (True, "auto"):
            with pytest.raises(ValueError, match=f"linear must be False with {name}: a linear part need not be mono"):
                make(kind, linear=linear, **signs).fit(frame, Y)
        make(kind, linear=False, **signs).fit(frame, Y)
    for signs in ZEROS[kind]:
        assert make(kind, **signs).fit(frame, Y).linear_ is not None


def test_a_linear_part_does_not_take_zero_for_missing():
    sparse = np.where(RNG.random(X.shape) < 0.3, 0.0, X)
    half = make("lgbm", proportional=True).fit(sparse, Y)
    for linear in (True, "auto"):
        with pytest.raises(ValueError, match="a linear part counts 0 as a number: train without zero_as_missing"):
            make("lgbm", linear=linear, zero_as_missing=True).fit(sparse, Y)
    with pytest.raises(ValueError, match="a linear part counts 0 as a number"):
        make("lgbm", linear=False, proportional=True, zero_as_missing="true").fit(sparse, Y, init_model=half)
    assert make("lgbm", zero_as_missing=False).fit(sparse, Y).linear_ is not None


WRONG: list[Any] = [
    *([[1], [0], [0]], np.array([[1, 0, 0]]), b"1,0,0", [b"1", b"0", b"0"], "[1,0,0]", "1;0;0", ["up", "0", "0"]),
    *([0.5, 0, 0], [1.5, 0, 0], [256, 0, 0], [True, False, False], [1, None, 0], [np.nan, 0, 0], {1, 0}, 1),
    *({"a": 1.5}, np.ma.masked_array([1, 0, 0], [False, True, False])),
]


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
@pytest.mark.parametrize("kind", ["xgb", "lgbm", "catboost"])
def test_signs_that_a_library_would_misread_are_refused(kind, wrong):
    frame, signs = pd.DataFrame(X, columns=list("abc")), {"monotone_constraints": wrong}
    trainings: list[Any] = {
        "xgb": [lambda: oxgb.train(signs, xgboost.DMatrix(frame, Y), 2)],
        "lgbm": [
            lambda: olgbm.train({"verbosity": -1, **signs}, lightgbm.Dataset(frame, Y), 2),
            lambda: olgbm.cv({"verbosity": -1, "mc": wrong}, lightgbm.Dataset(frame, Y), 2),
        ],
        "catboost": [lambda: CatBoostOrdinalClassifier(iterations=2, **signs).fit(frame, Y)],
    }[kind]
    if kind != "catboost":
        trainings += [lambda on=on: make(kind, linear=on, **signs).fit(frame, Y) for on in (False, True)]
    for training in (
        trainings if kind != "catboost" or not isinstance(wrong, str) else ()
    ):  # CatBoost has texts of its own
        with pytest.raises(
            ValueError, match=r"must hold -1, 0 or 1 for each|is a masked array|must hold a sign for|must be F"
        ):
            training()


@pytest.mark.parametrize("kind", ["xgb", "lgbm"])
def test_signs_in_every_form_mean_the_same(kind):
    def trees(signs):
        model = make(kind, linear=False, monotone_constraints=signs).fit(X, Y)
        return model.predict_raw(X)

    expected = trees([1, -1, 0])
    assert not np.array_equal(expected, trees(None))
    forms: list[Any] = [(1, -1, 0), np.array([1, -1, 0], np.int8), [1.0, -1.0, 0.0], "1,-1,0", "(1, -1, 0)"]
    for signs in [*forms, pyarrow.array([1, -1, 0])]:
        np.testing.assert_array_equal(trees(signs), expected)


@pytest.mark.parametrize("kind", ["xgb", "engine"])
def test_constraints_do_not_continue_a_linear_part(kind):
    options = {"proportional": True}
    if kind == "xgb":
        half = make(kind, **options).fit(X, Y)
        more, keywords = make(kind, linear=False, monotone_constraints=(1, 0, 0), **options), {"xgb_model": half}
    else:
        more, keywords = make(kind, max_iter=3, warm_start=True, **options).fit(X, Y), {}
        more.set_params(max_iter=6, linear=False, monotonic_cst=[1, 0, 0])
    with pytest.raises(ValueError, match="cannot continue a model that has a linear part, which need not be monotone"):
        more.fit(X, Y, **keywords)
