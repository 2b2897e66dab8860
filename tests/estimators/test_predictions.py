"""Predictions: of a class or a higher one, without any split, and the losses that a saved model gives again."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from makers import MAKERS, PAIR, draw, given, watching
from ordinal_objectives import (
    AllThreshold,
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalCalibratedClassifier,
    OrdinalEnsembleClassifier,
    OrdinalPredictionSets,
    XGBOrdinalClassifier,
)

NAMES = np.array(["poor", "fair", "good", "excellent"])  # not in the order of the alphabet


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.filterwarnings("ignore:no tree has a split")
def test_it_is_what_lies_above_the_threshold(make, data):
    X, codes = data
    model = make(classes=NAMES).fit(X, NAMES[codes])
    cumulative = model.predict_cumulative_proba(X)
    np.testing.assert_allclose(model.predict_at_least(X, "poor"), 1.0)
    assert model.predict_at_least(X, "poor").max() == 1.0
    for k, name in enumerate(NAMES[1:]):
        found = model.predict_at_least(X, name)
        assert found.shape == (300,)
        np.testing.assert_allclose(found, 1.0 - cumulative[:, k], atol=1e-12)
    with pytest.raises(ValueError, match=r"label must be one of the classes .* got 'superb'"):
        model.predict_at_least(X, "superb")
    with pytest.raises(ValueError, match=r"label must be one of the classes .* got \['good', 'poor'\]"):
        model.predict_at_least(X, ["good", "poor"])
    with pytest.raises(NotFittedError):
        make().predict_at_least(X, "poor")


def test_of_classifiers_around_others(data):
    X, codes = data
    P, y = draw(np.random.default_rng(0), 300, 4)
    for model, rows in (
        (OrdinalEnsembleClassifier(PAIR).fit(X, codes), X),
        (OrdinalPredictionSets(given(4)).fit(P, y), P),
        (OrdinalCalibratedClassifier(given(4)).fit(P, y), P),
    ):
        np.testing.assert_allclose(model.predict_at_least(rows, 2), model.predict_proba(rows)[:, 2:].sum(axis=1))


# A model whose trees have no split forecasts the same for all rows, and says so


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


def test_lightgbms_own_size_of_leaves_is_told_where_none_is_given():
    with pytest.warns(UserWarning, match="two leaves of min_child_samples=20 rows, and the training has 39 rows"):
        MAKERS["lgbm"](min_child_samples=None).fit(*rows(39))


@EACH
def test_a_file_knows_them_too(kind, tmp_path):
    X, y = rows(200)
    with pytest.warns(UserWarning, match="no tree has a split"):
        model = MAKERS[kind]().fit(np.zeros_like(X), y)
    suffix = {"xgb": "ubj", "lgbm": "txt", "engine": "model"}[kind]
    model.save_model(tmp_path / f"model.{suffix}")
    assert MAKERS[kind]().load_model(tmp_path / f"model.{suffix}").diagnostics_ == model.diagnostics_


# What the pages promise of recorded losses: a saved model gives them again, and lower ones where margins cross


ROUNDS = 12
LONG_STEPS = {"proportional": False, "learning_rate": 1.0, "shift_l2": 0.1}
KINDS = {
    "engine": (HistGradientBoostingOrdinalClassifier, {"max_iter": ROUNDS, "early_stopping": False}),
    "xgboost": (XGBOrdinalClassifier, {"n_estimators": ROUNDS, "max_depth": 3}),
    "host": (XGBOrdinalClassifier, {"n_estimators": ROUNDS, "max_depth": 3, "shift_method": "host"}),
    "lightgbm": (LGBMOrdinalClassifier, {"n_estimators": ROUNDS}),
}


def replayed_rows(n_classes=8):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    latent = X[:, 0] + rng.logistic(size=300)
    return X, np.searchsorted(np.quantile(latent, np.arange(1, n_classes) / n_classes), latent)


def loss_of_proba(proba, y):
    """Return the all-threshold loss: that of every event y <= k, added up."""
    at_most = proba.cumsum(axis=1)[:, :-1]
    happened = y[:, np.newaxis] <= np.arange(at_most.shape[1])
    return -np.log(np.where(happened, at_most, 1.0 - at_most)).sum(axis=1).mean()


def recorded_losses(model):
    if isinstance(model, HistGradientBoostingOrdinalClassifier):
        return model.evals_result_["training"]
    return model._record.training_loss


@pytest.mark.parametrize("kind", KINDS)
def test_replayed_losses_are_recorded_ones_or_lower(kind, tmp_path):
    X, y = replayed_rows()
    make, options = KINDS[kind]
    model = make(**options, **LONG_STEPS, n_jobs=1, random_state=0).fit(X, y, **watching(make(), X.copy(), y))
    model.save_model(tmp_path / "model.ubj")
    loaded = make(n_jobs=1).load_model(tmp_path / "model.ubj")
    recorded = np.array(recorded_losses(loaded)[1:])
    replayed = np.array([loss_of_proba(proba, y) for proba in loaded.staged_predict_proba(X)])
    assert (replayed <= recorded * (1 + 1e-6)).all()
    thresholds = loaded.threshold_history_ if kind == "engine" else loaded._record.thresholds
    crossed, score_of = np.zeros(ROUNDS, bool), loaded._scorer(X)
    for t in range(1, ROUNDS + 1):
        margins = thresholds[t] - score_of(0, t)
        crossed[t - 1] = (np.diff(margins, axis=1) < 0).any()
        unsorted = AllThreshold().margin_derivatives(margins, y, "exact").value.mean()
        assert unsorted == pytest.approx(recorded[t - 1], rel=1e-5)
    assert crossed.any()
    np.testing.assert_allclose(replayed[~crossed], recorded[~crossed], rtol=1e-5)
    assert (replayed / recorded).min() < 1 - 1e-4
    # The same rows as an evaluation set are measured as predictions are.
    (watched,) = (losses for name, losses in model.evals_result_.items() if name != "training")
    watched = np.array(watched["all_threshold"] if isinstance(watched, dict) else watched[1:])
    np.testing.assert_allclose(watched, replayed, rtol=1e-5)
