"""Weights that float32 gradients cannot carry are refused by name; all others give the same model."""

from __future__ import annotations

import numpy as np
import pytest

from makers import LGB_DEFAULTS, SKLEARN_DEFAULTS, XGB_DEFAULTS, watching
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.losses import get_loss
from ordinal_objectives.rows import RowStatistics
from ordinal_objectives.utils.validation import check_codes, check_sample_weight

# A penalty of shifts knows no unit of weight.
FREE = {"min_child_weight": 0.0, "n_jobs": 1, "proportional": True}
OF_HOSTS = {"n_estimators": 5, "reg_lambda": 0.0}
MODELS = {
    "xgboost": (XGBOrdinalClassifier, {**OF_HOSTS, **XGB_DEFAULTS, **FREE}, "sample_weight_eval_set"),
    "lightgbm": (LGBMOrdinalClassifier, {**OF_HOSTS, **LGB_DEFAULTS, **FREE}, "eval_sample_weight"),
    "native": (
        HistGradientBoostingOrdinalClassifier,
        {"max_iter": 5, **SKLEARN_DEFAULTS, **FREE},
        "sample_weight_val",
    ),
}
each_model = pytest.mark.parametrize("name", MODELS)
RANGE = r"must sum to between 0\.001 and 1e\+15, .*; got a sum of {}\. Multiply all weights by a constant"


@pytest.fixture
def rows(ordinal_data):
    return ordinal_data(300, 4)


@each_model
@pytest.mark.parametrize("weight", [1e38, 1e37, 1e30, 1e300, 1e-6, 1e-20, 1e-38, 1e-50])
def test_weights_out_of_range_are_refused(name, weight, rows):
    X, y = rows
    make, params, of_evaluation = MODELS[name]
    weights = np.full(len(y), weight)
    message = RANGE.format(r"[\d.e+-]+")
    with pytest.raises(ValueError, match="^sample_weight " + message):
        make(**params).fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match=f"^{of_evaluation} " + message):
        make(**params).fit(X, y, **watching(make(), X.copy(), y, weights))
    with pytest.raises(ValueError, match="^class_weight " + message):
        make(**params, class_weight=dict.fromkeys(range(4), weight)).fit(X, y)
    root = np.full(len(y), np.sqrt(weight))
    with pytest.raises(ValueError, match="^sample_weight times class_weight " + message):
        make(**params, class_weight=dict.fromkeys(range(4), np.sqrt(weight))).fit(X, y, sample_weight=root)


@each_model
def test_a_product_beyond_double_precision_is_refused(name, rows):
    X, y = rows
    make, params, _ = MODELS[name]
    with pytest.raises(ValueError, match="^sample_weight times class_weight " + RANGE.format("inf")):
        make(**params, class_weight={0: 1e200}).fit(X, y, sample_weight=np.full(len(y), 1e200))


@each_model
@pytest.mark.parametrize("total", [2e-3, 9e14])
@pytest.mark.parametrize("update", ["newton", "joint"])
def test_weights_in_range_do_not_change_the_model(name, total, update, rows):
    X, y = rows
    make, params, _ = MODELS[name]
    params = {**params, "threshold_update": update}
    plain = make(**params).fit(X, y)
    scaled = make(**params).fit(X, y, sample_weight=np.full(len(y), total / len(y)))
    # XGBoost drops gains below 1e-6, so that the least weights cost some late splits.
    assert np.abs(scaled.predict_proba(X) - plain.predict_proba(X)).mean() < (0.02 if name == "xgboost" else 1e-4)


@each_model
def test_a_weight_that_is_nothing_beside_the_others_counts_as_zero(name, rows):
    X, y = rows
    make, params, _ = MODELS[name]
    nothing = np.where(np.arange(len(y)) % 7 == 0, 1e-50, 1.0)
    with_it = make(**params).fit(X, y, sample_weight=nothing)
    without = make(**params).fit(X, y, sample_weight=np.where(nothing < 1.0, 0.0, 1.0))
    np.testing.assert_array_equal(with_it.predict_proba(X), without.predict_proba(X))


def test_weights_of_classes_are_named_beside_those_of_rows(rows):
    X, y = rows
    model = XGBOrdinalClassifier(n_estimators=1, class_weight=dict.fromkeys(np.unique(y), 1e30), n_jobs=1)
    with pytest.raises(ValueError, match=r"^class_weight must sum to between"):
        model.fit(X, y)
    with pytest.raises(ValueError, match=r"^sample_weight times class_weight must sum to between"):
        model.fit(X, y, sample_weight=np.ones(len(y)))


def test_no_weight_is_allowed_for_some_of_the_rows_alone():
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        check_sample_weight(np.zeros(3), 3)
    assert check_sample_weight(np.zeros(3), 3, part=True).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("link", ["probit", "cloglog", "loglog"])
def test_heavy_rows_far_away_have_finite_derivatives(link):
    """Links whose derivatives grow: those of a row must be float32, whatever it weighs."""
    loss = get_loss("all_threshold", link)
    f, y = np.array([-300.0, -50.0, 50.0, 300.0] * 3), np.repeat([0, 1, 2], 4)
    statistics = RowStatistics(loss, y, 3, np.full(12, 5e13))(f, [-1.0, 1.0], "exact", want_cross=True)
    for name in ("gradient", "hessian", "cross"):
        assert np.isfinite(getattr(statistics, name)).all()
    assert statistics.loss == pytest.approx(5e13 * loss.value(f, y, [-1.0, 1.0]).sum())


def test_a_single_code_outside_of_the_classes_is_refused():
    for y in ([0, 1, 3], [0, -1, 2]):
        with pytest.raises(ValueError, match=rf"holds labels outside the declared classes 0\.\.2; got {min(y) or 3}"):
            check_codes(np.array(y), 3)
