"""Columns, names and levels that a booster would misread, without an error of its own."""

from __future__ import annotations

from decimal import Decimal

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost

from makers import make_lgb, make_xgb
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

Y = np.arange(60) % 3
G = np.array(list("abc"))[Y]
X = np.random.default_rng(0).normal(size=60)
DAYS = pd.date_range("2020-01-01", periods=60)
PARAMS = {"verbosity": -1, "num_threads": 1}

READS_TABLES = pytest.mark.skipif(
    lightgbm.__version__.startswith("4.5."), reason="LightGBM 4.5 predicts no tables of Arrow, and says other things"
)
# scikit-learn 1.7 knows no names of polars and Arrow.
pytestmark = pytest.mark.filterwarnings("ignore:X (does not have valid|has) feature names")


@READS_TABLES
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_in_another_order_are_refused(kind):
    """LightGBM reads them by their places: a category in the place of another would have that one's levels."""
    booster = olgbm.train(PARAMS, lightgbm.Dataset(pd.DataFrame({"a b": X, "c": Y}), Y), 2)
    assert olgbm.predict(booster, kind({"a b": X, "c": Y})).shape == Y.shape
    with pytest.raises(
        ValueError, match="data must have the model's 2 feature names, in their order; got 'c' for 'a_b'"
    ):
        olgbm.predict(booster, kind({"c": Y, "a b": X}))
    with pytest.raises(ValueError, match="got 'd' for 'c' in column 1"):
        olgbm.predict_proba(booster, kind({"a b": X, "d": Y}))
    data = lightgbm.Dataset(kind({"a b": X, "c": Y}), Y)
    with pytest.raises(
        ValueError, match="valid_sets must have the model's 2 feature names, in their order; got 'c' for"
    ):
        olgbm.train(PARAMS, data, 2, [data.create_valid(kind({"c": Y, "a b": X}), Y)])
    of_array = olgbm.train(PARAMS, lightgbm.Dataset(np.c_[X, Y], Y), 2)
    assert olgbm.predict(of_array, kind({"c": X, "d": Y})).shape == Y.shape


@READS_TABLES
def test_rows_of_another_number_are_refused():
    wide = np.c_[X, X]
    data = lightgbm.Dataset(wide, Y)
    with pytest.raises(ValueError, match="valid_sets must have the 2 columns of the training set; got 1"):
        olgbm.train(PARAMS, data, 2, [data.create_valid(wide[:, :1], Y)])


LEVELS = {
    "intervals": lambda: pd.cut(X, 4),
    "dates": lambda: pd.Categorical(DAYS[Y]),
    "decimals": lambda: pd.Categorical([Decimal(int(code)) for code in Y]),
    "tuples": lambda: pd.Categorical([(int(code), 1) for code in Y]),
}


@pytest.mark.parametrize("kind", LEVELS)
@pytest.mark.parametrize("make", [make_xgb, make_lgb])
def test_categories_that_no_file_holds_are_known_by_their_text(make, kind, tmp_path):
    frame = pd.DataFrame({"x": X[::-1], "g": LEVELS[kind]()})
    as_text = frame.assign(g=frame.g.cat.rename_categories([str(level) for level in frame.g.cat.categories]))
    expected = make(min_child_samples=1) if make is make_lgb else make(min_child_weight=0.0)
    model = expected.__class__(**expected.get_params()).fit(frame, Y)
    expected = expected.fit(as_text, Y).predict_proba(as_text)
    np.testing.assert_array_equal(model.predict_proba(frame), expected)
    model.save_model(tmp_path / "model.json")
    again = type(model)().load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(frame[::-1])[::-1], expected)


def test_categories_of_arrow_as_pandas_writes_them():
    frame = pd.DataFrame({"g": pd.Categorical(G), "x": X})
    expected = make_xgb().fit(frame, Y).predict_proba(frame)
    table = pa.Table.from_pandas(frame)
    np.testing.assert_array_equal(make_xgb().fit(table, Y).predict_proba(table), expected)


# Models that hold no levels

FRAME = pd.DataFrame({"x": X, "g": pd.Categorical(G)})
SOME = FRAME[G != "a"].assign(g=lambda some: some.g.cat.remove_unused_categories())


def of_file(folder):
    lightgbm.Dataset(FRAME, Y, params=PARAMS).save_binary(folder / "rows.bin")
    return lightgbm.Dataset(folder / "rows.bin", params=PARAMS)


def of_codes(folder):
    return lightgbm.Dataset(FRAME.assign(g=FRAME.g.cat.codes).to_numpy(), Y, categorical_feature=[1])


@pytest.mark.parametrize("rows", [FRAME, SOME], ids=["all levels", "some levels"])
@pytest.mark.parametrize("make_set", [of_file, of_codes])
def test_categories_for_a_model_without_levels_are_refused(make_set, rows, tmp_path):
    """LightGBM would take the places of these rows' levels for codes of the training."""
    train_set = make_set(tmp_path)
    objective = olgbm.OrdinalObjective(3)
    booster = lightgbm.train({**PARAMS, "objective": objective}, train_set, 5)
    message = "must have categories .* column 'g'"
    with pytest.raises(ValueError, match=f"data {message}"):
        objective.attach(booster, rows)
    objective.attach(booster, FRAME.assign(g=FRAME.g.cat.codes))
    for use in (olgbm.predict, olgbm.predict_proba, objective.predict, objective.predict_proba):
        with pytest.raises(ValueError, match=f"data {message}"):
            use(booster, rows)
    olgbm.save_model(booster, tmp_path / "model.json")
    model = make_lgb().load_model(tmp_path / "model.json")
    for use in (model.predict, model.predict_proba, model.predict_raw):
        with pytest.raises(ValueError, match=r"X must have numbers .* column 'g'"):
            use(rows)
    valid = lightgbm.Dataset(rows, Y[: len(rows)], reference=train_set)
    with pytest.raises(ValueError, match=f"valid_sets {message}"):
        olgbm.train(PARAMS, make_set(tmp_path), 2, [valid])


def test_codes_of_a_classifier_are_no_categories():
    model = make_lgb().fit(FRAME.assign(g=FRAME.g.cat.codes), Y, categorical_feature=["g"])
    for rows in (FRAME, SOME):
        with pytest.raises(ValueError, match=r"X must have numbers .* column 'g'"):
            model.predict(rows)


@pytest.mark.parametrize("rows", [FRAME, SOME], ids=["all levels", "some levels"])
@pytest.mark.parametrize("options", [{}, {"proportional": False}])
def test_categories_for_a_model_of_xgboost_without_levels_are_refused(options, rows):
    types = {"feature_types": ["q", "c"], "enable_categorical": True}
    codes = xgboost.DMatrix(FRAME.assign(g=FRAME.g.cat.codes), Y, **types)
    booster = oxgb.train({}, codes, 3, **options)
    named = xgboost.DMatrix(rows, Y[: len(rows)], enable_categorical=True)
    assert oxgb.predict(booster, codes).shape == Y.shape
    for use in (oxgb.predict, oxgb.predict_proba):
        part = oxgb.train({}, named, 3, **options)[:2]
        for unknown in (booster, *([part] if part.get_categories().empty() else [])):  # XGBoost 3.2 forgets them
            with pytest.raises(ValueError, match="data has levels of categories, and those of the training are not"):
                use(unknown, named)
    with pytest.raises(ValueError, match="'rows' of evals has levels of categories"):
        oxgb.train({}, codes, 3, evals=[(named, "rows")], **options)
    with pytest.raises(ValueError, match="dtrain has levels of categories"):
        oxgb.train({}, named, 3, xgb_model=booster, **options)


def test_levels_that_cannot_be_compared_are_named(monkeypatch):
    """XGBoost shows the levels of a matrix through pyarrow alone."""
    booster = oxgb.train({}, xgboost.DMatrix(FRAME, Y, enable_categorical=True), 3)
    data = xgboost.DMatrix(SOME, enable_categorical=True)
    monkeypatch.setattr(xgboost.core, "is_pyarrow_available", lambda: False)
    with pytest.warns(UserWarning, match="levels of categories in data are not compared with .*pyarrow"):
        oxgb.predict_proba(booster, data)
    codes = xgboost.DMatrix(SOME.assign(g=SOME.g.cat.codes), feature_types=["q", "c"], enable_categorical=True)
    oxgb.predict_proba(booster, codes)  # has no levels


def test_errors_of_xgboost_over_a_matrix_name_it():
    booster = oxgb.train({}, xgboost.DMatrix(FRAME, Y, enable_categorical=True), 3)
    unseen = FRAME.assign(g=FRAME.g.cat.rename_categories({"a": "z"}))
    with pytest.raises(
        ValueError, match=r"^data must have the levels of the training in column 'g', a, b(, c)?; got z$"
    ):
        oxgb.predict(booster, xgboost.DMatrix(unseen, enable_categorical=True))


TABLES_OF_LEVELS = {
    "pandas": lambda frame: frame,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("table", TABLES_OF_LEVELS)
@pytest.mark.parametrize("unseen", ["a", "c", "z"])
def test_a_level_that_a_matrix_of_xgboost_does_not_know_is_refused(table, unseen):
    def matrix(levels, rows=60):
        named = pd.Categorical([levels[i % len(levels)] for i in range(rows)], categories=sorted(set(levels)))
        frame = pd.DataFrame({"g": named, "x": np.arange(rows, dtype=float)})
        return xgboost.DMatrix(TABLES_OF_LEVELS[table](frame), np.arange(rows) % 3, enable_categorical=True)

    train, others = matrix(["b", "d", "f"]), matrix(["b", "d", unseen])
    booster = oxgb.train({}, train, 3)
    refused = pytest.raises(ValueError, match=f"levels of the training in column 'g', b, d, f; got {unseen}$")
    for use in (oxgb.predict, oxgb.predict_proba):
        with refused:
            use(booster, others)
    with refused:
        oxgb.train({}, train, 3, evals=[(others, "others")])
    with refused:
        oxgb.train({}, others, 3, xgb_model=booster, proportional=False)
    declared = pd.DataFrame({"g": pd.Categorical(["f", "b"], categories=[*"adbf"]), "x": [0.0, 1.0]})
    listed = xgboost.DMatrix(TABLES_OF_LEVELS[table](declared), enable_categorical=True)
    if xgboost.__version__.startswith("3.2."):
        found, expected = (oxgb.predict_proba(booster, rows) for rows in (listed, matrix(["f", "b"], 2)))
        np.testing.assert_array_equal(found, expected)
        return
    with pytest.raises(ValueError, match="not in the training set"):  # later ones refuse a level that is only listed
        oxgb.predict_proba(booster, listed)


@pytest.mark.parametrize("table", TABLES_OF_LEVELS)
def test_xgboost_goes_on_with_levels_in_their_order(table, tmp_path):
    def matrix(levels):
        frame = pd.DataFrame({"g": pd.Categorical(G, categories=levels), "x": X})
        return xgboost.DMatrix(TABLES_OF_LEVELS[table](frame), Y, enable_categorical=True)

    booster = oxgb.train({}, matrix([*"bac"]), 3, threshold_update="newton")
    booster.save_model(tmp_path / "model.json")
    objective = oxgb.OrdinalObjective()
    options = {"obj": objective, "callbacks": [objective.callback], "xgb_model": booster}
    for go_on in (
        lambda rows: oxgb.train({}, rows, 3, threshold_update="newton", xgb_model=booster),
        lambda rows: oxgb.train({}, rows, 3, threshold_update="newton", xgb_model=tmp_path / "model.json"),
        lambda rows: xgboost.train({"disable_default_eval_metric": 1}, rows, 3, **options),
    ):
        further = go_on(matrix([*"bac"]))
        loss = oxgb.threshold_record(further).ordinal_loss()
        score = further.predict(matrix([*"cab"]), output_margin=True).astype(np.float64)
        recorded = oxgb.threshold_record(further)
        assert loss.value(score, Y, recorded.thresholds[-1]).mean() == pytest.approx(
            recorded.training_loss[-1], abs=1e-5
        )
        with pytest.raises(
            ValueError, match="levels of column 'g' in the order of the model that is continued, 'b', 'a'"
        ):
            go_on(matrix([*"cab"]))


LONG = ("ñandú", "a", "zz", "é", "ü")


@pytest.mark.skipif(not xgboost.__version__.startswith("3.2."), reason="later ones may keep names whole")
@pytest.mark.parametrize(
    ("levels", "others"),
    [(["ü", "é", "zz"], ["zz", "é", "ü"]), ([*LONG], [*LONG])],
    ids=["another order", "names that become the same"],
)
def test_levels_that_xgboost_cuts_are_refused(levels, others):
    def matrix(order):
        frame = pd.DataFrame({"g": pd.Categorical([levels[i] for i in Y], categories=order), "x": X})
        return xgboost.DMatrix(frame, Y, enable_categorical=True)

    booster = oxgb.train({}, matrix(levels), 3)
    for use in (
        lambda rows: oxgb.predict_proba(booster, rows),
        lambda rows: oxgb.predict(booster, rows),
        lambda rows: oxgb.train({}, matrix(levels), 3, evals=[(rows, "others")]),
        lambda rows: oxgb.train({}, rows, 3, xgb_model=booster),
    ):
        with pytest.raises(ValueError, match="must have levels in ASCII in column 'g': XGBoost cuts others"):
            use(matrix(others))
