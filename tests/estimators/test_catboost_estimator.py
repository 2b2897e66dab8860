"""CatBoostOrdinalClassifier: rows of every kind, early stopping, files; every feature works, or is refused by name."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier, Pool
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from makers import make_cat, make_engine
from ordinal_objectives import (
    CatBoostOrdinalClassifier,
    HistGradientBoostingOrdinalClassifier,
    OrdinalCalibratedClassifier,
    OrdinalDistributionRegressor,
    OrdinalEnsembleClassifier,
    OrdinalLabels,
    OrdinalPredictionSets,
    OrdinalTunedClassifier,
    inspection,
)
from ordinal_objectives.adapters import cb as ocb
from ordinal_objectives.adapters.cb import booster as cb_booster
from ordinal_objectives.compare import compare_updates
from ordinal_objectives.export import to_onnx, to_treelite

NAMES = ["low", "mid", "high", "top"]


@pytest.fixture
def rows(ordinal_data):
    return ordinal_data(400, 4)


def test_it_is_train_behind_scikit_learns_interface(rows):
    X, y = rows
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    model = make_cat().fit(X, y, sample_weight=weight)
    params = {"depth": 3, "learning_rate": 0.3, "thread_count": 1, "random_seed": 0}
    same = ocb.train(Pool(X, y, weight=weight), params, 15)
    np.testing.assert_array_equal(model.predict_proba(X), ocb.predict_proba(same, X))
    np.testing.assert_array_equal(model.threshold_history_, ocb.threshold_record(same).thresholds)
    np.testing.assert_array_equal(model.predict_proba(X), ocb.predict_proba(model.booster_, X))
    *_, last = model.staged_predict_proba(X)
    np.testing.assert_allclose(last, model.predict_proba(X), rtol=1e-9)
    assert model.feature_importances_.sum() == pytest.approx(100)
    assert model.n_iter_ == len(model.training_loss_) - 1 == 15


def test_the_plain_call_finds_its_rounds(rows):
    X, y = rows
    model = CatBoostOrdinalClassifier(n_jobs=1, random_state=0).fit(X, y)
    found = model.round_search_
    assert model.n_iter_ == found.n_iter == round(1.25 * np.argmin(found.losses))
    assert found.n_held_out == 80
    fixed = clone(model).set_params(iterations=model.n_iter_).fit(X, y)
    np.testing.assert_array_equal(fixed.predict_proba(X), model.predict_proba(X))


def test_early_stopping_by_the_last_set(rows):
    X, y = np.asarray(rows[0]), np.array(NAMES)[rows[1]]
    params = {"iterations": 200, "classes": NAMES, "early_stopping_rounds": 5}
    sets = {"eval_set": [(X[:50], y[:50]), (X[300:], y[300:])], "sample_weight_eval_set": [None, np.ones(100)]}
    model = make_cat(**params).fit(X[:300], y[:300], eval_metric=["qwk", "rps"], **sets)
    losses = model.evals_result_["validation_1"]["all_threshold"]
    assert list(model.evals_result_["validation_0"]) == ["all_threshold", "qwk", "rps"]
    assert model.n_iter_ == np.argmin(losses) + 1 == len(losses) - 5
    last = make_cat(**params).fit(X[:300], y[:300], eval_set=[(X[300:], y[300:])])
    assert last.n_iter_ == model.n_iter_
    assert make_cat(**params, validation_fraction=0.2).fit(X, y).n_iter_ < 200
    kept = make_cat(**params, use_best_model=False).fit(X[:300], y[:300], **sets)
    assert kept.n_iter_ == len(losses)
    with pytest.raises(ValueError, match="early_stopping_rounds=5 needs rows to look at"):
        make_cat(**params).fit(X, y)


def test_no_sparse_matrix_has_categories(rows):
    X, y = np.round(rows[0]), rows[1]
    model = make_cat(cat_features=[0]).fit(X, y)
    for use in (lambda: make_cat(cat_features=[0]).fit(csr_matrix(X), y), lambda: model.predict(csr_matrix(X))):
        with pytest.raises(ValueError, match="X must be a table or an array where cat_features names columns"):
            use()


def test_texts_and_vectors_go_to_catboost(rows):
    X, y = rows
    words = np.array(["poor work", "fair work", "good enough", "very good"])
    frame = pd.DataFrame({"a": X[:, 0], "text": words[y], "vector": list(X[:, 1:])})
    model = make_cat(text_features=["text"], embedding_features=["vector"]).fit(frame, y)
    assert model.feature_importances_[1] > 0
    assert model.predict(frame.iloc[:5]).shape == (5,)


def test_vectors_of_another_length_are_refused(rows, tmp_path):
    X, y = rows

    def of_length(n):
        return pd.DataFrame({"x": X[:, 0], "place": [list(vector) for vector in np.resize(X, (len(X), n))]})

    options = {"embedding_features": ["place"], "iterations": 3}
    model = make_cat(**options).fit(of_length(3), y)
    model.save_model(tmp_path / "model.cbm")
    for one in (model, CatBoostOrdinalClassifier().load_model(tmp_path / "model.cbm"), copy.deepcopy(model)):
        np.testing.assert_array_equal(one.predict_proba(of_length(3)), model.predict_proba(of_length(3)))
        for n in (2, 4):
            with pytest.raises(ValueError, match=f"'place' must have vectors of 3 numbers.* got some of {n}"):
                one.predict(of_length(n))
    with pytest.raises(ValueError, match=r"vectors of 3 numbers.* got some of 2"):
        make_cat(**options).fit(of_length(3), y, eval_set=[(of_length(2), y)])


def test_copies_files_and_pickles(rows, tmp_path):
    X, y = rows[0], np.array(NAMES)[rows[1]]
    model = make_cat(classes=NAMES, decision_rule="mode", l2_leaf_reg=5.0).fit(X, y)
    proba = model.predict_proba(X)
    model.save_model(tmp_path / "model.cbm")
    loaded = CatBoostOrdinalClassifier().load_model(tmp_path / "model.cbm")
    for other in (loaded, copy.deepcopy(model), pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        np.testing.assert_array_equal(other.predict_proba(X), proba)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert loaded.get_params()["l2_leaf_reg"] == 5.0
    np.testing.assert_array_equal(loaded.set_params(n_jobs=1).fit(X, y).predict_proba(X), proba)
    linear = make_cat(linear=True, classes=NAMES).fit(X, y)
    linear.save_model(tmp_path / "linear.cbm")
    from_file = CatBoostOrdinalClassifier().load_model(tmp_path / "linear.cbm")
    np.testing.assert_array_equal(from_file.predict_proba(X), linear.predict_proba(X))
    levels = pd.DataFrame({"level": pd.Categorical(y), "a": X[:, 0]})
    pool = Pool(levels, rows[1], cat_features=["level"])
    bare = CatBoostOrdinalClassifier().load_model(_saved(trained := ocb.train(pool, {"iterations": 3}), tmp_path))
    assert bare.is_categorical_.tolist() == [True, False]
    np.testing.assert_array_equal(bare.predict_proba(levels), ocb.predict_proba(trained, levels))
    bare = CatBoostOrdinalClassifier().load_model(_saved(ocb.train((X, rows[1]), {"iterations": 3}), tmp_path))
    assert bare.classes_.tolist() == [0, 1, 2, 3]


def _saved(model, folder):
    ocb.save_model(model, folder / "bare.cbm")
    return folder / "bare.cbm"


def test_a_model_is_continued(rows, tmp_path):
    X, y = rows
    half = make_cat(iterations=5).fit(X, y)
    half.save_model(tmp_path / "half.cbm")
    for model in (half, half.booster_, tmp_path / "half.cbm"):
        whole = make_cat(iterations=5).fit(X, y, init_model=model)
        assert whole.n_iter_ == 10
        np.testing.assert_array_equal(whole.threshold_history_[:6], half.threshold_history_)
    for options in ({"baseline": X[:, 0]}, {}):
        start = make_cat(linear=not options).fit(X, y, **options)
        with pytest.raises(ValueError, match="init_model cannot be continued with a baseline or a linear part"):
            make_cat(linear=not options).fit(X, y, init_model=start, **options)
    with pytest.raises(ValueError, match="init_model was trained on 4 columns; here X has 2"):
        make_cat().fit(X[:, :2], y, init_model=half)
    with pytest.raises(ValueError, match="was trained on the classes"):
        make_cat(classes=[3, 2, 1, 0]).fit(X, y, init_model=half)
    with pytest.raises(ValueError, match="was trained on the classes"):
        half.set_params(classes=[3, 2, 1, 0]).fit(X, y, init_model=half)


def test_columns_named_by_numbers_keep_their_order_in_files(rows, tmp_path):
    frame = pd.DataFrame(rows[0])
    make_cat().fit(frame, rows[1]).save_model(tmp_path / "model.cbm")
    loaded, other = CatBoostOrdinalClassifier().load_model(tmp_path / "model.cbm"), frame[[3, 2, 1, 0]]
    assert loaded.predict(frame).shape == loaded.predict(rows[0]).shape
    with pytest.raises(ValueError, match="order"):
        loaded.predict(other)
    with pytest.raises(ValueError, match="trained on the columns '0', '1', '2', '3'; here X has '3' for"):
        make_cat().fit(other, rows[1], init_model=loaded)


def test_start_scores(rows):
    X, y = rows
    start = X[:, 0]
    model = make_cat().fit(X, y, baseline=start, eval_set=[(X, y)], baseline_eval_set=[start])
    losses = model.evals_result_["validation_0"]["all_threshold"]
    np.testing.assert_allclose(losses, model.training_loss_[1:], rtol=1e-6)
    assert np.abs(model.predict_raw(X, baseline=start) - model.predict_raw(X) - start).max() < 1e-12


# Every feature, what it is used for, and None where it works, or the words with which it is refused.
def wrapped(wrap):
    def use(X, y):
        assert np.isfinite(wrap(make_cat(iterations=6)).fit(X, y).predict_proba(X)).all()

    return use


def on_model(function):
    return lambda X, y: function(make_cat(iterations=6).fit(X, y), X, y)


def explained(model, X, y):
    score = inspection.shap_values(model, X)
    np.testing.assert_allclose(score.base_values + score.values.sum(axis=1), model.predict_raw(X), rtol=1e-9)
    margins = inspection.shap_values(model, X, output="cumulative")
    np.testing.assert_allclose(
        margins.base_values + margins.values.sum(axis=2), model.predict_linear_predictors(X), rtol=1e-9
    )


def intervals(y):
    return OrdinalLabels.from_intervals(y, np.minimum(y + 1, 3), classes=range(4))


def stacked_in_an_ensemble(member):
    members = [("cat", member.set_params(iterations=50, early_stopping_rounds=5)), ("native", make_engine(max_iter=6))]
    return OrdinalEnsembleClassifier(members, n_bags=1, subsample=0.7, refit=True, random_state=0)


FEATURES = {
    "labels of intervals": (lambda X, y: make_cat().fit(X, intervals(y)), "OrdinalLabels are for"),
    "evaluated intervals": (lambda X, y: make_cat().fit(X, y, eval_set=[(X, intervals(y))]), "OrdinalLabels are for"),
    "calibrated": (wrapped(lambda m: OrdinalCalibratedClassifier(m, cv=2)), None),
    "tuned": (wrapped(lambda m: OrdinalTunedClassifier(m, cv=2)), None),
    "ensemble": (wrapped(stacked_in_an_ensemble), None),
    "bagged": (wrapped(lambda m: BaggingClassifier(m, n_estimators=2, random_state=0)), None),
    "stacked": (wrapped(lambda m: StackingClassifier([("m", m)], LogisticRegression(), cv=2)), None),
    "searched": (wrapped(lambda m: GridSearchCV(m, {"depth": [2, 3]}, cv=2)), None),
    "pipeline": (wrapped(lambda m: make_pipeline(StandardScaler(), m)), None),
    "prediction sets": (lambda X, y: OrdinalPredictionSets(make_cat()).fit(X, y).predict_set(X), None),
    "distributions": (lambda X, y: OrdinalDistributionRegressor(make_cat()).fit(X, X[:, 0]).predict(X), None),
    "kappa": (wrapped(lambda m: OrdinalTunedClassifier(m, rule="kappa", cv=2)), None),
    "linear part": (wrapped(lambda m: m.set_params(linear=True)), None),
    "training cost": (wrapped(lambda m: m.set_params(training_cost="quadratic")), None),
    "importances": (on_model(lambda m, X, y: inspection.threshold_importances(m, X, random_state=0)), None),
    "effects": (on_model(lambda m, X, y: inspection.average_marginal_effects(m, X, 0, random_state=0)), None),
    "summary": (on_model(lambda m, X, y: str(inspection.summary(m, X, random_state=0))), None),
    "SHAP values": (on_model(explained), None),
    "test of proportional odds": (
        lambda X, y: inspection.proportional_odds_test(make_cat(), X, y, n_splits=1),
        "takes no 'proportional'",
    ),
    "ONNX": (on_model(lambda m, X, y: to_onnx(m, X)), "model must be one of .*got CatBoostOrdinalClassifier"),
    "treelite": (on_model(lambda m, X, y: to_treelite(m)), "model must be one of .*got CatBoostOrdinalClassifier"),
    "comparison of updates": (lambda X, y: compare_updates(X, y, trainers=["catboost"]), "trainers|must be"),
}


@pytest.mark.parametrize("name", FEATURES)
def test_every_feature_works_or_is_refused_by_name(name, rows):
    use, refusal = FEATURES[name]
    if name == "treelite":
        pytest.importorskip("treelite")
    if refusal is None:
        use(*rows)
    else:
        with pytest.raises((TypeError, ValueError), match=refusal):
            use(*rows)


def test_ensembles_have_files(rows, tmp_path):
    X, y = rows
    model = OrdinalEnsembleClassifier([("cat", make_cat(iterations=6))], n_bags=2, random_state=0).fit(X, y)
    model.save_model(tmp_path / "ensemble.zip")
    loaded = OrdinalEnsembleClassifier().load_model(tmp_path / "ensemble.zip")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_files_without_levels_know_them_by_their_text_and_damaged_ones_are_named(rows, tmp_path):
    X, y = rows
    table = pd.DataFrame({"a": X[:, 0], "t": pd.Categorical(np.digitize(X[:, 1], [-0.5, 0.5, 3.0]).astype(float))})
    table["u"] = table["t"].cat.rename_categories([0.1, 0.75, -0.5, 7.0][: len(table["t"].cat.categories)])
    model = make_cat().fit(table, y)
    described = model._record.classifier

    def written(levels):
        cb_booster.store_record(model.booster_, replace(model._record, classifier=replace(described, levels=levels)))
        model.booster_.save_model(str(tmp_path / "model.cbm"))
        return CatBoostOrdinalClassifier().load_model(tmp_path / "model.cbm")

    for one in (written(described.levels), written({})):
        np.testing.assert_array_equal(one.predict_proba(table), model.predict_proba(table))
    for damaged in ({9: ["a"]}, {1: ["a", "a"]}, {1: [None]}):
        with pytest.raises(ValueError, match="is damaged"):
            written(damaged)
    model.booster_.save_model(str(tmp_path / "model.cbm"))  # without a digest
    content = (tmp_path / "model.cbm").read_bytes()
    (tmp_path / "model.cbm").write_bytes(content.replace(b"training_loss", b"training\xabloss"))
    with pytest.raises(ValueError, match=r"model\.cbm is damaged: UnicodeDecodeError"):
        CatBoostOrdinalClassifier().load_model(tmp_path / "model.cbm")


def levels_of(column):
    return pd.DataFrame({"a": column, "z": np.arange(len(column)) % 7})


def test_levels_that_catboost_would_take_for_one_are_refused():
    X = levels_of(pd.Series([1, "1", 2] * 40, dtype=object))
    with pytest.raises(ValueError, match="has the levels 1 and '1', one for CatBoost"):
        make_cat(cat_features=["a"], iterations=2).fit(X, np.tile([0, 1, 2], 40))


@pytest.mark.parametrize("one_hot_max_size", [2, 50])
@pytest.mark.parametrize("n_missing", [0, 30])
def test_a_level_named_nan_is_not_the_missing_one(rows, tmp_path, one_hot_max_size, n_missing):
    X, y = rows
    kinds = np.array(["a", "b", "c", "nan"], dtype=object)[y]
    kinds[:n_missing] = None
    options = {"one_hot_max_size": one_hot_max_size, "cat_features": [0]}
    model = make_cat(**options).fit(pd.DataFrame({"kind": kinds, "x": X[:, 0]}), y)
    model.save_model(tmp_path / "model.cbm")
    for one in (model, CatBoostOrdinalClassifier().load_model(tmp_path / "model.cbm")):
        proba = one.predict_proba(pd.DataFrame({"kind": ["nan", None, "other"], "x": 0.0}))
        assert proba[0, 3] > proba[1:, 3].max() + 0.1
        np.testing.assert_array_equal(proba[1], proba[2])


def test_fractions_are_levels_by_the_digits_of_their_type(tmp_path):
    """A model of CatBoost's own knows levels as text: 0.1 of float32 has more digits in float64."""
    doses = np.random.default_rng(0).choice([0.1, 0.25, 0.7], 100)
    pool = Pool(pd.DataFrame({"dose": doses.astype(str)}), np.searchsorted([0.1, 0.25], doses), cat_features=["dose"])
    bare = CatBoostOrdinalClassifier().load_model(_saved(ocb.train(pool, {"one_hot_max_size": 3}, 5), tmp_path))
    proba = bare.predict_proba(pd.DataFrame({"dose": ["0.1", "0.25", "0.7"]}))
    assert np.abs(np.diff(proba, axis=0)).max(axis=1).min() > 0.01
    for kind in (np.float32, np.float64, object):
        np.testing.assert_array_equal(bare.predict_proba(pd.DataFrame({"dose": [0.1, 0.25, 0.7]}, dtype=kind)), proba)


def test_a_model_is_continued_by_the_levels_that_it_has():
    town = np.random.default_rng(0).choice(list("uvwx"), 200)
    y = np.char.find("uvwx", town) % 3
    model = make_cat(cat_features=["town"]).fit(pd.DataFrame({"town": town}), y)
    each = pd.DataFrame({"town": list("uvwx")})
    np.testing.assert_allclose(model.predict_raw(each), model.booster_.predict(each))
    with pytest.raises(ValueError, match=r"column 'town'.* got z"):
        make_cat(cat_features=["town"]).fit(pd.DataFrame({"town": np.append(town[1:], "z")}), y, init_model=model)


def test_levels_that_only_the_trees_know_stay_known():
    rng = np.random.default_rng(0)
    X = levels_of(rng.choice(list("abcd"), 200))
    y = X["a"].map({"a": 0, "b": 1, "c": 2, "d": 0}).to_numpy()
    params = {"one_hot_max_size": 10, "learning_rate": 0.5}
    old = ocb.train(Pool(X, y, cat_features=["a"]), params, 10)
    few = X["a"].isin(["a", "b"]).to_numpy()
    model = make_cat(iterations=1, cat_features=["a"], classes=[0, 1, 2]).fit(X[few], y[few], init_model=old)
    assert model.predict(levels_of(list("abcd"))).tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize(
    "make",
    [
        partial(CatBoostOrdinalClassifier, iterations=8, cat_features=["a"], learning_rate=0.8),
        partial(HistGradientBoostingOrdinalClassifier, categorical_features=["a"], max_iter=30, random_state=0),
    ],
    ids=["CatBoost", "engine"],
)
def test_durations_and_times_of_zones_are_known_by_their_values(make):
    y = np.tile([0, 1, 2], 40)
    durations = pd.Series(pd.to_timedelta(["1D", "3h", "2D"]).tolist() * 40)
    moments = pd.Series(pd.to_datetime(["2020-01-01 05:00", "2020-01-02 06:00", "2020-01-03 07:00"]).tolist() * 40)
    moments = moments.dt.tz_localize("UTC")
    own = durations.map(lambda one: one.to_pytimedelta()).astype(object)
    for there, here in ((durations, own), (moments, moments.dt.tz_convert("Europe/Berlin"))):
        model = make().fit(levels_of(there), y)
        assert model.predict(levels_of(here[:3])).tolist() == [0, 1, 2]


def test_shap_values_of_catboost_that_do_not_sum_to_the_score_are_refused(rows):
    """CatBoost 1.2.10 explains trees that are not symmetric wrongly."""
    X, y = rows
    model = make_cat(grow_policy="Lossguide", iterations=20).fit(X, y)
    with pytest.raises(ValueError, match=r"do not sum to the score.*grow_policy other than 'Sym"):
        inspection.shap_values(model, X)


def test_read_only_sparse_rows(rows):
    X, y = np.maximum(rows[0], 0.0), rows[1]
    sparse = csr_matrix(X)
    sparse.data.setflags(write=False)
    np.testing.assert_array_equal(make_cat().fit(sparse, y).predict_raw(sparse), make_cat().fit(X, y).predict_raw(X))


@pytest.mark.parametrize("kind", [CatBoostClassifier, CatBoostOrdinalClassifier])
def test_weights_are_repeated_rows_but_for_catboosts_penalty_and_cuts(rows, kind):
    """CatBoost multiplies ``l2_leaf_reg`` by the mean weight, and its cuts do not know weights; ours add nothing."""
    X, y = np.round(rows[0] * 2) / 2, rows[1]
    weight = np.arange(len(y)) % 3 + 1
    options = {"iterations": 20, "depth": 3, "learning_rate": 0.3, "bootstrap_type": "No", "random_strength": 0}
    options |= {"border_count": 254, "verbose": False, "allow_writing_files": False}

    def found(l2):
        return kind(l2_leaf_reg=l2, **options).fit(X, y, sample_weight=weight).predict_proba(X)

    repeated = kind(l2_leaf_reg=3.0, **options).fit(X.repeat(weight, axis=0), y.repeat(weight)).predict_proba(X)
    np.testing.assert_allclose(found(3.0 / weight.mean()), repeated, atol=1e-6)
    assert np.abs(found(3.0) - repeated).max() > 0.01
