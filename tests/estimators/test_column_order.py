"""Columns in another order than the training's are refused, whatever names them and whoever trained the model."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

import ordinal_objectives as oo

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")

from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb  # noqa: E402

rng = np.random.default_rng(0)
X = rng.normal(size=(240, 3))
y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=240), [-1, 0, 1])
QUIET = {"verbosity": -1}
CLASSIFIERS = {
    "xgboost": lambda **given: oo.XGBOrdinalClassifier(n_estimators=4, **given),
    "lightgbm": lambda **given: oo.LGBMOrdinalClassifier(n_estimators=4, **given),
    "engine": lambda **given: oo.HistGradientBoostingOrdinalClassifier(max_iter=4, **given),
}
ORDER = "same order|order of the training|feature_names mismatch"


def table(names):
    return pd.DataFrame(X, columns=names)


def reversed_columns(rows):
    return rows[list(rows.columns)[::-1]]


def trained_bare(library, rows, path, proportional):
    if library == "xgboost":
        data = xgboost.DMatrix(rows, y)
        oxgb.train({}, data, 4, n_classes=4, proportional=proportional).save_model(path)
        return oo.XGBOrdinalClassifier()
    data = lightgbm.Dataset(rows, y, free_raw_data=False)
    olgbm.save_model(olgbm.train(QUIET, data, 4, n_classes=4, proportional=proportional), path)
    return oo.LGBMOrdinalClassifier()


@pytest.mark.parametrize("proportional", [True, False])
@pytest.mark.parametrize("names", [["a", "b", "c"], [0, 1, 2], [10, 11, 12]])
@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_a_bare_booster_brings_its_names(library, names, proportional, tmp_path):
    path, rows = str(tmp_path / "model.json"), table(names)
    model = trained_bare(library, rows, path, proportional).load_model(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model.predict_proba(rows)
    if names[0] == "a":
        assert model.feature_names_in_.tolist() == names
    else:  # neither has scikit-learn names of numbered columns
        np.testing.assert_array_equal(found, model.predict_proba(X))
    with pytest.raises(ValueError, match=ORDER):
        model.predict_proba(reversed_columns(rows))


def test_continued_models_keep_the_order():
    rows = table([0, 1, 2])
    for kind, argument in (("xgboost", "xgb_model"), ("lightgbm", "init_model")):
        model = CLASSIFIERS[kind]().fit(rows, y)
        for earlier in (model, model.booster_):
            with pytest.raises(ValueError, match=r"order of the training|was trained on the columns"):
                CLASSIFIERS[kind]().fit(reversed_columns(rows), y, **{argument: earlier})
    model = CLASSIFIERS["engine"](warm_start=True).fit(rows, y).set_params(max_iter=6)
    with pytest.raises(ValueError, match=ORDER):
        model.fit(reversed_columns(rows), y)


def test_wrappers_and_ensembles_keep_the_order(tmp_path):
    rows = table([0, 1, 2])
    ensemble = oo.OrdinalEnsembleClassifier([("engine", CLASSIFIERS["engine"]())]).fit(rows, y)
    ensemble.save_model(tmp_path / "model.zip")
    loaded = oo.OrdinalEnsembleClassifier([("engine", CLASSIFIERS["engine"]())]).load_model(tmp_path / "model.zip")
    for model in (oo.OrdinalCalibratedClassifier(GaussianNB()).fit(rows, y), ensemble, loaded):
        with pytest.raises(ValueError, match=ORDER):
            model.predict_proba(reversed_columns(rows))
