"""CatBoost: thresholds learned in its metric, replayed from its scores; records, files, and what is refused."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoost, CatBoostError, FeaturesData, Pool, cv, sum_models

from ordinal_objectives.adapters import cb as ocb
from ordinal_objectives.losses import get_loss
from ordinal_objectives.predictions import proba
from own_losses import Rising

SMALL = {"iterations": 12, "depth": 3, "learning_rate": 0.3, "thread_count": 1}


def scores(model, X, t):
    """Return CatBoost's score after t trees."""
    return model.predict(X, prediction_type="RawFormulaVal", ntree_end=t) if t else np.zeros(len(X))


def replayed(f, y, w, thresholds):
    """Return thresholds after one Newton step of the all-threshold loss with the majorised Hessian."""
    d = f[:, np.newaxis] - thresholds
    gradient = (w[:, np.newaxis] * ((y[:, np.newaxis] > np.arange(len(thresholds))) - 1 / (1 + np.exp(-d)))).sum(axis=0)
    curvature = np.where(np.abs(d) < 1e-6, 0.25, np.tanh(d / 2) / np.where(d == 0, 1, 2 * d))
    return thresholds - gradient / (w[:, np.newaxis] * curvature).sum(axis=0)


@pytest.fixture
def rows(ordinal_data):
    X, y = ordinal_data(1700)
    return X, y, np.random.default_rng(1).uniform(0.5, 2.0, len(y)).astype(np.float32).astype(float)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"boosting_type": "Ordered"},
        {"grow_policy": "Lossguide"},
        {"leaf_estimation_iterations": 3},
        {"leaf_estimation_method": "Gradient", "bootstrap_type": "Bayesian"},
        {"thread_count": 2},
        {"monotone_constraints": [1, 0, -1, 0]},  # with which CatBoost would shrink earlier trees
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_thresholds_and_losses_are_those_of_a_replay_from_the_file(rows, params, weighted, tmp_path):
    X, y, w = rows
    ocb.save_model(ocb.train(Pool(X, y, weight=w if weighted else None), SMALL | params), tmp_path / "model.cbm")
    model = ocb.load_model(tmp_path / "model.cbm")
    record, w = ocb.threshold_record(model), w if weighted else np.ones(len(y))
    assert record.n_iterations == model.tree_count_ == 12
    for t in range(13):
        if t:
            expected = replayed(scores(model, X, t), y, w, record.at(t - 1))
            np.testing.assert_allclose(record.at(t), expected, atol=1e-6)
        loss = np.average(get_loss("all_threshold").value(scores(model, X, t), y, record.at(t)), weights=w)
        np.testing.assert_allclose(record.training_loss[t], loss, rtol=1e-6)
    assert record.training_loss[-1] < 0.75 * record.training_loss[0]


def test_trees_are_grown_on_our_derivatives(rows):
    X, y, w = rows
    params = SMALL | {"iterations": 1, "bootstrap_type": "No", "l2_leaf_reg": 2.0, "random_strength": 0}
    model = ocb.train(Pool(X, y, weight=w), params)
    leaves = np.asarray(model.calc_leaf_indexes(X)).ravel()
    at = get_loss("all_threshold").round_statistics(
        np.zeros(len(y)), y, ocb.threshold_record(model).at(0), hessian="exact"
    )
    G, H = (np.bincount(leaves, w * part, minlength=8) for part in (at.gradient, at.hessian))
    scale = len(y) / w.sum()  # CatBoost's penalty is one of the mean weight
    np.testing.assert_allclose(model.get_leaf_values(), -0.3 * G / (H + 2.0 / scale), rtol=1e-4)


def test_categories_have_the_scores_of_the_training(rows):
    X, y, _ = rows
    frame = pd.DataFrame(X[:, 1:], columns=list("abc"))
    frame["level"] = np.digitize(X[:, 0], np.linspace(-2, 2, 30)).astype(str)
    pool = Pool(frame, y, cat_features=["level"])
    record = ocb.threshold_record(model := ocb.train(pool, SMALL))
    assert model.get_feature_importance()[3] > 20
    assert record.training_loss[-1] < 0.8 * record.training_loss[0]
    loss = get_loss("all_threshold").value(scores(model, frame, 12), y, record.at(12)).mean()
    np.testing.assert_allclose(record.training_loss[-1], loss, rtol=0.1)  # levels are encoded otherwise in predictions


@pytest.mark.parametrize("params", [{}, {"boosting_type": "Ordered"}, {"leaf_estimation_iterations": 2}], ids=str)
def test_rows_in_another_order_are_followed(rows, params):
    """With categories CatBoost permutes the rows; levels split one by one have the same score in predictions."""
    X, y, w = rows
    frame = pd.DataFrame(X[:, 1:], columns=list("abc")).assign(level=np.digitize(X[:, 0], [-1, 0, 1]).astype(str))
    pool = Pool(frame, y, weight=w, cat_features=["level"])
    record = ocb.threshold_record(model := ocb.train(pool, SMALL | {"one_hot_max_size": 10} | params))
    for t in range(12):
        expected = replayed(scores(model, frame, t + 1), y, w, record.at(t))
        np.testing.assert_allclose(record.at(t + 1), expected, atol=1e-6)
        loss = np.average(get_loss("all_threshold").value(scores(model, frame, t), y, record.at(t)), weights=w)
        np.testing.assert_allclose(record.training_loss[t], loss, rtol=1e-6)


def test_blocks_of_any_rows_get_their_derivatives(rows):
    X, y, w = rows
    objective = ocb.OrdinalObjective(Pool(X, y, weight=w))
    rng, score = np.random.default_rng(0), np.zeros(len(y))
    for some in (slice(0, 1000), slice(1000, 1700), slice(0, 500), rng.permutation(len(y))[:300], slice(500, 900)):
        for f in (score[some], rng.normal(size=len(y[some]))):
            block = objective.calc_ders_range(f, y[some].astype(np.float32), w[some].astype(np.float32))
            at = get_loss("all_threshold").round_statistics(f, y[some], objective.thresholds_, hessian="exact")
            expected = -np.column_stack([at.gradient, at.hessian]) * w[some][:, np.newaxis]
            assert len(block) == len(f)
            np.testing.assert_allclose(np.array(list(block)), expected, rtol=1e-4, atol=1e-6)


def test_the_idiom_of_catboost_is_train(rows):
    X, y, _ = rows
    pool = Pool(X, y)
    objective = ocb.OrdinalObjective(pool)
    quiet = {"verbose": False, "allow_writing_files": False}
    model = CatBoost(SMALL | quiet | objective.params).fit(pool, callbacks=[objective.callback])
    objective.attach(model)
    same = ocb.threshold_record(ocb.train(pool, SMALL))
    assert np.array_equal(ocb.threshold_record(model).thresholds, same.thresholds)
    assert np.array_equal(objective.thresholds_, same.at(12))
    assert objective.spec.threshold_update == "newton"
    assert objective.diagnostics_ == same.diagnostics
    with pytest.raises(ValueError, match="model has 12 trees, and the training had 0 rounds"):
        ocb.OrdinalObjective(pool).attach(model)
    without = ocb.OrdinalObjective(pool)
    with pytest.raises(CatBoostError, match="was not evaluated on the training rows"):
        CatBoost(SMALL | quiet | without.params | {"metric_period": 5}).fit(pool, callbacks=[without.callback])
    assert "was not evaluated" in str(without.training.error)


def fitted(objective, pool, **options):
    quiet = {"verbose": False, "allow_writing_files": False}
    return CatBoost(SMALL | quiet | objective.params).fit(pool, callbacks=[objective.callback], **options)


def test_an_objective_belongs_to_one_fit_of_its_pool(rows, tmp_path):
    X, y, w = rows
    pool = Pool(X, y)
    used = ocb.OrdinalObjective(pool)
    fitted(used, pool)
    some, others = ocb.OrdinalObjective(pool), ocb.OrdinalObjective(pool)
    with pytest.raises(CatBoostError, match="an objective belongs to one fit"):
        fitted(used, pool)
    with pytest.raises(CatBoostError, match="CatBoost trains on 300 rows, the objective was made for 1700"):
        fitted(some, Pool(X[:300], y[:300]))
    with pytest.raises(CatBoostError, match="labels or weights differ"):
        cv(pool, SMALL | {"verbose": False, "train_dir": str(tmp_path)} | others.params, fold_count=2)
    groups = {"group_id": np.arange(len(y)) // 10, "group_weight": np.repeat(w[:170], 10)}
    with pytest.raises(ValueError, match="without weights of groups"):
        ocb.train(Pool(X, y, **groups), SMALL)
    with pytest.raises(ValueError, match=r"params\['eval_fraction'\] .* pass eval_set"):
        ocb.train(pool, SMALL | {"eval_fraction": 0.2})
    half = ocb.train(pool, SMALL)
    for options in ({}, {"init_model": ocb.train(Pool(X[:, ::-1], y), SMALL)}):
        objective = ocb.OrdinalObjective(pool, init_model=half)
        model = fitted(objective, pool, **options)
        with pytest.raises(ValueError, match="does not begin with the trees of the objective's init_model"):
            objective.attach(model)


def test_early_stopping_keeps_the_thresholds_of_the_best_round(rows):
    X, y, _ = rows
    valid = Pool(X[400:], y[400:])
    params = SMALL | {"iterations": 300}
    model = ocb.train(Pool(X[:400], y[:400]), params, eval_set=valid, early_stopping_rounds=8)
    record, losses = ocb.threshold_record(model), model.get_evals_result()["validation"]
    (losses,) = losses.values()
    best = int(np.argmin(losses)) + 1
    assert record.n_iterations == model.tree_count_ == best < len(losses) == best + 8
    value = get_loss("all_threshold").value(scores(model, X[400:], best), y[400:], record.at(best)).mean()
    np.testing.assert_allclose(losses[best - 1], value, rtol=1e-6)
    whole = ocb.train(Pool(X[:400], y[:400]), params | {"iterations": best})
    assert np.array_equal(ocb.threshold_record(whole).thresholds, record.thresholds)
    kept = ocb.train(
        Pool(X[:400], y[:400]), params, eval_set=[valid, valid], early_stopping_rounds=8, use_best_model=False
    )
    assert ocb.threshold_record(kept).n_iterations == best + 8


def test_continuing_keeps_the_thresholds(rows, tmp_path):
    X, y, _ = rows
    pool, path = Pool(X, y), tmp_path / "half.cbm"
    half = ocb.train(pool, SMALL | {"iterations": 6})
    ocb.save_model(half, path)
    for model in (half, path):
        going_on = ocb.train(pool, SMALL | {"iterations": 6}, init_model=model)
        record = ocb.threshold_record(going_on)
        assert record.n_iterations == 12
        assert np.array_equal(record.thresholds[:7], ocb.threshold_record(half).thresholds)
        for t in range(6, 12):
            expected = replayed(scores(going_on, X, t + 1), y, np.ones(len(y)), record.at(t))
            np.testing.assert_allclose(record.at(t + 1), expected, atol=1e-6)
    with pytest.raises(ValueError, match="a model is continued with its own loss and link"):
        ocb.train(pool, SMALL, init_model=half, link="probit")
    other = CatBoost(SMALL | {"loss_function": "RMSE", "allow_writing_files": False, "verbose": False}).fit(pool)
    with pytest.raises(ValueError, match="model carries no ordinal thresholds"):
        ocb.train(pool, SMALL, init_model=other)


def test_a_baseline_is_where_the_score_starts(rows):
    X, y, _ = rows
    start = 0.5 * X[:, 0] + 1
    pool = Pool(X, y, baseline=start)
    record = ocb.threshold_record(model := ocb.train(pool, SMALL))
    assert record.training_loss[0] < ocb.threshold_record(ocb.train((X, y), SMALL)).training_loss[0]
    value = get_loss("all_threshold").value(start + scores(model, X, 12), y, record.at(12)).mean()
    np.testing.assert_allclose(record.training_loss[12], value, rtol=1e-6)
    with pytest.raises(ValueError, match="the score does not start at zero"):
        ocb.train(pool, SMALL, threshold_update="fixed")


def test_a_baseline_is_not_continued(rows):
    X, y, _ = rows
    pool = Pool(X, y, baseline=0.5 * X[:, 0] + 1)
    model = ocb.train(pool, SMALL)
    with pytest.raises(ValueError, match="init_model cannot be continued with a baseline"):
        ocb.train(pool, SMALL, init_model=model)
    going_on = ocb.train(Pool(X, y), SMALL, init_model=model)
    record = ocb.threshold_record(going_on)
    for t in range(12, 24):
        expected = replayed(scores(going_on, X, t + 1), y, np.ones(len(y)), record.at(t))
        np.testing.assert_allclose(record.at(t + 1), expected, atol=1e-6)
    at_start = proba(get_loss("all_threshold"), 0.5 * X[:5, 0] + 1, ocb.threshold_record(model).at(0))
    few = Pool(X[:5], baseline=0.5 * X[:5, 0] + 1)
    np.testing.assert_allclose(ocb.predict_proba(model, few, 0), at_start, rtol=1e-6)


@pytest.mark.parametrize("named", [False, True])
def test_rows_of_other_columns_are_refused(rows, named):
    """CatBoost passes over columns that its model lacks."""
    X, y, _ = rows
    names = [f"x{place}" for place in range(X.shape[1] + 1)]
    more = pd.DataFrame(np.column_stack([X, y]), columns=names)
    frame, more = (more[names[:-1]], more) if named else (X, more.to_numpy())
    model, says = ocb.train((frame, y), SMALL), rf"must have the model's {X.shape[1]} columns; got {X.shape[1] + 1}"
    for data in (more, more.to_numpy() if named else more.tolist(), Pool(more)):
        for use in (ocb.predict_proba, ocb.predict, lambda model, data: ocb.predict_proba(model, data, 0)):
            with pytest.raises(ValueError, match=f"data {says}"):
                use(model, data)
    for train in (ocb.train, lambda pool, **given: ocb.OrdinalObjective(Pool(*pool), **given)):
        with pytest.raises(ValueError, match=f"pool {says}"):
            train((more, y), init_model=model)
    expected = ocb.predict_proba(model, Pool(frame))
    for data in (frame, frame[names[-2::-1]] if named else FeaturesData(X.astype(np.float32))):  # CatBoost reads names
        np.testing.assert_allclose(ocb.predict_proba(model, data), expected, rtol=1e-9)


def test_the_record_travels(rows, tmp_path):
    X, y, _ = rows
    model = ocb.train((X, y), SMALL)
    proba = ocb.predict_proba(model, X)
    ocb.save_model(model, tmp_path / "model.cbm")
    loaded = ocb.load_model(tmp_path / "model.cbm")
    for other in (
        loaded,
        CatBoost().load_model(str(tmp_path / "model.cbm")),
        copy.copy(model),
        pickle.loads(pickle.dumps(model)),
    ):
        assert np.array_equal(ocb.predict_proba(other, X), proba)
    assert np.array_equal(ocb.predict(model, X), (proba.cumsum(axis=1) < 0.5).sum(axis=1))
    record = ocb.threshold_record(model)
    np.testing.assert_allclose(ocb.predict_proba(model, X, 5), ocb.predict_proba(cut(loaded, 0, 5), X), rtol=1e-12)
    assert np.ptp(ocb.predict_proba(model, X, 0), axis=0).max() == 0
    with pytest.raises(ValueError, match=r"iteration must be in 0..12"):
        ocb.predict_proba(model, X, 13)
    assert ocb.threshold_record(cut(model.copy(), 0, 12)).thresholds[12].tolist() == record.at(12).tolist()


def cut(model, start, stop):
    model.shrink(stop, start)
    return model


def test_other_trees_are_noticed(rows, tmp_path):
    X, y, _ = rows
    model = ocb.train((X, y), SMALL)
    moved = model.copy()
    moved.set_scale_and_bias(1.0, 0.5)
    changed, values = ocb.train((X, y), SMALL), model.get_leaf_values()
    values[7] += 0.5
    changed.set_leaf_values(values)
    for other in (cut(model.copy(), 2, 12), moved, changed):
        with pytest.raises(ValueError, match="are not the first"):
            ocb.threshold_record(other)
    with pytest.raises(ValueError, match="carries no ordinal thresholds"):
        ocb.threshold_record(sum_models([model, model]))
    with pytest.raises(ValueError, match="carries no ordinal thresholds"):
        ocb.threshold_record(CatBoost())
    with pytest.raises(TypeError, match=r"model must be a catboost.CatBoost; got int"):
        ocb.threshold_record(3)
    (tmp_path / "damaged.cbm").write_bytes(b"CBM1" + b"x" * 40)
    with pytest.raises(ValueError, match=r"damaged.cbm is damaged"):
        ocb.load_model(tmp_path / "damaged.cbm")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ValueError, match="is not a model file of CatBoost"):
        ocb.load_model(tmp_path / "other.json")


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"loss_function": "Logloss"}, "the ordinal loss is the objective"),
        ({"objective": "MultiClass"}, "the ordinal loss is the objective"),
        ({"eval_metric": "AUC"}, "the thresholds take their steps"),
        ({"custom_metric": ["RMSE"]}, "do not know the thresholds"),
        ({"task_type": "GPU"}, "on the processor alone"),
        ({"metric_period": 3}, "a step in each round"),
        ({"leaf_estimation_backtracking": "Armijo"}, "between rounds"),
        ({"boost_from_average": True}, "the thresholds hold the location"),
        ({"model_shrink_rate": 0.1}, "changes the scores of earlier trees"),
        ({"langevin": True}, "changes the scores of earlier trees"),
        ({"posterior_sampling": True}, "changes the scores of earlier trees"),
        ({"auto_class_weights": "Balanced"}, "pass weights"),
        ({"save_snapshot": True}, "a snapshot has no thresholds"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_cannot_be_is_refused_by_name(rows, params, words):
    (name,) = params
    with pytest.raises(
        ValueError, match=rf"params\['{name}'\] = .* is not allowed beside an ordinal objective: .*{words}"
    ):
        ocb.train(rows[:2], SMALL | params)


def test_a_loss_of_ones_own(rows):
    X, y, _ = rows
    record = ocb.threshold_record(ocb.train((X[:300], y[:300]), SMALL, loss=Rising()))
    assert record.training_loss[-1] < record.training_loss[0]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_continued_model_with_encoded_levels_keeps_its_predictions(seed):
    """CatBoost's own result reads tables of the model that it continued, which may be gone."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(100, 3)).round(2), columns=list("abc"))
    X["town"] = rng.choice([f"t{i}" for i in range(20)], 100)
    y = np.digitize(X["a"] + rng.logistic(size=100), [-1.5, 0, 1.5])
    whole, held = (Pool(some, labels, cat_features=["town"]) for some, labels in ((X, y), (X[:30], y[30:60])))
    params = SMALL | {"iterations": 3, "learning_rate": 0.1, "one_hot_max_size": 10}
    first = ocb.train(whole, params, n_classes=4)
    second = ocb.train(whole, params | {"iterations": 4}, init_model=first, eval_set=held, n_classes=4)
    gc.collect()
    expected = scores(second, whole, 4)
    assert all((scores(second, whole, 4) == expected).all() for _ in range(300))
    assert list(second.evals_result_) == ["learn", "validation"]  # which CatBoost recorded
