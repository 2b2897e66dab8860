"""Data at the ends of what numbers can be: answers are finite and in order, the loss falls or its rises are counted."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from makers import make_cat, make_engine, make_lgb, make_xgb

pytestmark = pytest.mark.slow

MAKERS = {
    "engine": lambda rounds, **o: make_engine(max_iter=rounds, min_samples_leaf=2, random_state=0, **o),
    "xgboost": lambda rounds, **o: make_xgb(n_estimators=rounds, **o),
    "lightgbm": lambda rounds, **o: make_lgb(n_estimators=rounds, min_child_samples=2, verbose=-1, **o),
    "catboost": lambda rounds, **o: make_cat(iterations=rounds, **o),
}
# CatBoost knows neither these updates nor shifts.
UPDATES = {
    "newton": {"threshold_update": "newton", "proportional": True},
    "joint": {"threshold_update": "joint", "proportional": True},
    "shifts": {"proportional": False},
    "alternating": {},
}
PAIRS = [(name, update) for name in MAKERS for update in UPDATES if (name == "catboost") == (update == "alternating")]


def rows(n_rows=300, n_classes=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(-64, 65, (n_rows, 3)) / 16
    score = X[:, 0] + rng.logistic(size=n_rows)
    codes = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    codes[:n_classes] = np.arange(n_classes)
    return X, codes


def separable(n_classes=4):
    X = np.linspace(-4, 4, 120)[:, np.newaxis]
    return X, np.digitize(X[:, 0], np.linspace(-3, 3, n_classes - 1))


def weighted(make):
    """Return rows whose weights are a function of a random generator and the codes."""
    X, codes = rows()
    return X, codes, 6, {"sample_weight": make(np.random.default_rng(1), codes)}


def scaled(scale, shift=0.0):
    X, codes = rows()
    return shift + X * scale, codes, 6, {}


START = {"engine": None, "xgboost": "base_margin", "lightgbm": "init_score", "catboost": "baseline"}
CASES = {
    "separable": lambda: (*separable(), 100, {}),
    "two separable classes": lambda: (*separable(2), 60, {}),
    "60 classes": lambda: (*rows(600, 60), 4, {}),
    "two classes": lambda: (*rows(n_classes=2), 6, {}),
    "a class of one millionth": lambda: weighted(lambda rng, codes: np.where(codes == 3, 1e-6, 1.0)),
    "a middle class of one millionth": lambda: weighted(lambda rng, codes: np.where(codes == 1, 1e-6, 1.0)),
    "weights of 1e-12 to 1e12": lambda: weighted(lambda rng, codes: 10.0 ** rng.uniform(-12, 12, len(codes))),
    "weights of 1e-12": lambda: weighted(lambda rng, codes: np.full(len(codes), 1e-12)),
    "weights of 1e12": lambda: weighted(lambda rng, codes: np.full(len(codes), 1e12)),
    "features near 1e6": lambda: scaled(1.0, 1e6),
    "features of 1e-300": lambda: scaled(1e-300),
    "features of 1e300": lambda: scaled(1e300),
    "margins of 1e4": lambda: (*rows(), 6, {"start": 1e4}),
}

# What is no training, by name.
REFUSED = {
    "weights of 1e-12": "sample_weight must sum to between 0.001 and",
    ("xgboost", "features of 1e300"): "a value too large",  # it holds float32, as CatBoost
    ("catboost", "features of 1e-300"): "All features are either constant or ignored",
}


def check(model, X, **start):
    with np.errstate(all="raise", under="ignore"):
        proba = model.predict_proba(X, **start)
    assert np.isfinite(proba).all()
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-9)
    assert np.isfinite(model.predict_raw(X, **start)).all()
    thresholds = model.thresholds_
    assert np.isfinite(thresholds).all()
    if model.proportional_:
        assert (np.diff(thresholds) >= 0).all()
    losses = np.asarray(model.training_loss_)
    assert not np.isinf(losses).any()  # LightGBM without any split records none of the start
    assert np.isfinite(losses[1:]).all()
    rises = np.count_nonzero(np.diff(losses) > 1e-6 * np.abs(losses[:-1]) + 1e-12)
    assert rises <= model.diagnostics_.get("n_raised", 0)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("name", "update"), PAIRS)
def test_answers_are_finite_and_in_order(name, update, case):
    X, codes, rounds, given = CASES[case]()
    start = {}
    if "start" in given:
        if START[name] is None:
            pytest.skip("the engine takes no scores to start from")
        start = {START[name]: given.pop("start") * np.sign(X[:, 0] - 1)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if (name, case) in REFUSED or case in REFUSED:
            with pytest.raises(ValueError, match=REFUSED.get((name, case)) or REFUSED[case]):
                MAKERS[name](rounds, **UPDATES[update]).fit(X, codes, **given, **start)
            return
        model = MAKERS[name](rounds, **UPDATES[update]).fit(X, codes, **given, **start)
        check(model, X, **start)


@pytest.mark.parametrize(("name", "update"), PAIRS)
def test_float32_is_float64(name, update):
    X, codes = rows()
    models = [MAKERS[name](5, **UPDATES[update]).fit(X.astype(kind), codes) for kind in (np.float32, np.float64)]
    expected = models[0].predict_proba(X.astype(np.float32))
    for model in models:
        for kind in (np.float32, np.float64):
            np.testing.assert_array_equal(model.predict_proba(X.astype(kind)), expected)
