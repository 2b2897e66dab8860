"""A loaded classifier has the parameters of the model in the file, whatever it had before, and a file can be loaded."""

import numpy as np
import pytest

import ordinal_objectives as oo

pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=200), [-1, 0, 1])
# A classifier, its number of rounds, and parameters of another model: of the constructor, and of the library below.
KINDS = [
    (oo.XGBOrdinalClassifier, "n_estimators", {"gamma": 2.0, "colsample_bynode": 0.3, "max_delta_step": 0.1}),
    (oo.LGBMOrdinalClassifier, "n_estimators", {"reg_lambda": 9.0, "max_bin": 3, "feature_fraction": 0.4}),
    (oo.HistGradientBoostingOrdinalClassifier, "max_iter", {"gamma": 2.0, "max_features": 0.5}),
]


@pytest.mark.parametrize(("kind", "rounds", "others"), KINDS)
def test_parameters_that_a_file_does_not_name_are_forgotten(kind, rounds, others, tmp_path):
    path = tmp_path / "model.json"
    model = kind(**{rounds: 3}, random_state=0).fit(X, y)
    model.save_model(path)
    fresh, loaded = kind().load_model(path), kind(**others).load_model(path)
    given, expected = loaded.get_params(), fresh.get_params()
    assert given.keys() == expected.keys()
    assert all(repr(given[name]) == repr(expected[name]) for name in given)
    again = kind(**given).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_parameters_that_an_older_file_has_not_are_the_defaults(tmp_path):
    path = tmp_path / "model.json"
    model = oo.XGBOrdinalClassifier(n_estimators=3, gamma=0.5).fit(X, y)
    text = model._description()
    del text["params"]["gamma"]
    model._description = lambda: text
    model.save_model(path)
    assert oo.XGBOrdinalClassifier(gamma=0.7).load_model(path).gamma is None


def test_an_ensemble_takes_all_of_the_file(tmp_path):
    members = [("engine", oo.HistGradientBoostingOrdinalClassifier(max_iter=3))]
    oo.OrdinalEnsembleClassifier(members).fit(X, y).save_model(tmp_path / "model.zip")
    others = oo.OrdinalEnsembleClassifier(
        [("other", oo.XGBOrdinalClassifier(max_delta_step=0.1))], weights="rps", class_weight="balanced"
    )
    given = others.load_model(tmp_path / "model.zip").get_params()
    expected = oo.OrdinalEnsembleClassifier(members).load_model(tmp_path / "model.zip").get_params()
    assert given.keys() == expected.keys()
    assert all(repr(given[name]) == repr(expected[name]) for name in given if "__" in name)


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        (oo.XGBOrdinalClassifier, {"n_jobs": 1, "verbosity": 0, "device": "cpu"}),
        (oo.LGBMOrdinalClassifier, {"n_jobs": 1, "verbosity": -1}),
        (oo.LGBMOrdinalClassifier, {"num_threads": 1, "verbose": -1, "device_type": "cpu"}),
    ],
)
def test_parameters_of_the_machine_stay(kind, kept, tmp_path):
    path = tmp_path / "model.json"
    kind(n_estimators=3).fit(X, y).save_model(path)
    assert kept.items() <= kind(**kept).load_model(path).get_params().items()


@pytest.mark.parametrize("kind", [oo.LGBMOrdinalClassifier, oo.HistGradientBoostingOrdinalClassifier])
def test_no_file_is_written_that_cannot_be_loaded(kind, tmp_path):
    path = tmp_path / "model.txt"
    model = kind().fit(X, y).set_params(no_parameter=1)
    with pytest.raises(TypeError, match=f"{kind.__name__} has no parameter 'no_parameter'"):
        model.save_model(path)
    assert not path.exists()


def test_names_that_resemble_one_of_xgboost_are_refused_too(tmp_path):
    model = oo.XGBOrdinalClassifier(n_estimators=2).fit(X, y).set_params(max_delta_stp=1)
    with pytest.raises(TypeError, match="did you mean 'max_delta_step'"):
        model.save_model(tmp_path / "model.json")
