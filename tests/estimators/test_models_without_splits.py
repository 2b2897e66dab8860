"""A model whose trees have no split forecasts the same for all rows, and says so."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier

MAKERS = {
    "xgb": lambda **o: XGBOrdinalClassifier(n_estimators=5, n_jobs=1, **o),
    "lgbm": lambda **o: LGBMOrdinalClassifier(n_estimators=5, n_jobs=1, verbose=-1, **o),
    "engine": lambda **o: HistGradientBoostingOrdinalClassifier(max_iter=5, n_jobs=1, **o),
}
EACH = pytest.mark.parametrize("kind", MAKERS)


def rows(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.arange(n) % 3 if n < 6 else np.digitize(X[:, 0], np.quantile(X[:, 0], [1 / 3, 2 / 3]))


@pytest.mark.parametrize(("kind", "limit"), [("lgbm", "min_child_samples"), ("engine", "min_samples_leaf")])
@pytest.mark.parametrize("proportional", [True, "auto"])
def test_fewer_rows_than_two_leaves_hold_are_named(kind, limit, proportional):
    X, y = rows(39)
    with pytest.warns(UserWarning, match=rf"of {limit}=20 rows, and the training has 39 rows\. .*lower {limit}"):
        model = MAKERS[kind](proportional=proportional, **{limit: 20}).fit(X, y)
    assert len(np.unique(model.predict_proba(X), axis=0)) == 1
    assert model.diagnostics_["n_without_split"] == model.n_iter_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = MAKERS[kind](proportional=proportional, **{limit: 5}).fit(X, y)
    assert len(np.unique(fitted.predict_proba(X), axis=0)) > 1
    assert fitted.diagnostics_["n_without_split"] == 0


@EACH
def test_weights_and_features_that_allow_no_split_are_told_of(kind):
    X, y = rows(200)
    with pytest.warns(UserWarning, match="none gained anything in leaves as large as") as told:
        model = MAKERS[kind]().fit(np.zeros_like(X), y)
    assert told[0].filename == __file__
    assert model.diagnostics_["n_without_split"] == model.n_iter_ > 0
    if kind == "xgb":
        with pytest.warns(UserWarning, match="With few rows or small weights a lower min_child_weight allows splits"):
            MAKERS[kind]().fit(X, y, sample_weight=np.full(200, 1e-4))


@EACH
def test_a_file_knows_them_too(kind, tmp_path):
    X, y = rows(200)
    with pytest.warns(UserWarning, match="no tree has a split"):
        model = MAKERS[kind]().fit(np.zeros_like(X), y)
    suffix = {"xgb": "ubj", "lgbm": "txt", "engine": "model"}[kind]
    model.save_model(tmp_path / f"model.{suffix}")
    assert MAKERS[kind]().load_model(tmp_path / f"model.{suffix}").diagnostics_ == model.diagnostics_


@pytest.mark.parametrize("shift_method", ["renewal", "host"])
def test_single_trees_without_a_split_are_counted(shift_method):
    X, y = rows(60)
    model = XGBOrdinalClassifier(
        n_estimators=40, max_depth=2, learning_rate=1.0, n_jobs=1, min_child_weight=6.0, shift_method=shift_method
    ).fit(X, y)
    texts = model.booster_.get_dump()
    assert model.diagnostics_["n_without_split"] == sum("[f" not in text for text in texts) < len(texts)


def test_a_linear_booster_has_no_trees_to_split():
    X, y = rows(60)
    model = XGBOrdinalClassifier(n_estimators=2, booster="gblinear", proportional=True, n_jobs=1, verbosity=0).fit(X, y)
    assert model.diagnostics_["n_without_split"] == 0


@EACH
def test_a_fit_looks_at_its_trees_once(kind, monkeypatch):
    looked, model = [], MAKERS[kind]()

    def splits():
        looked.append(type(model)._splits(model))
        return looked[-1]

    monkeypatch.setattr(model, "_splits", splits)
    model.fit(*rows(200))
    assert [len(found) for found in looked] == [5]
