"""What a training refuses by name, of XGBoost and LightGBM, and no other test meets."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives import LGBMOrdinalClassifier, OrdinalLabels, XGBOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=200), [-0.5, 0.5])


def dmatrix(**options):
    return xgboost.DMatrix(X, Y, **options)


def by_xgboost(n_rounds=2, dtrain=None, params=None, **options):
    return oxgb.train({"verbosity": 0} | (params or {}), dmatrix() if dtrain is None else dtrain, n_rounds, **options)


def by_lightgbm(data=None, **options):
    return olgbm.train({"verbosity": -1}, lightgbm.Dataset(X, Y) if data is None else data, 2, **options)


def with_other_labels():
    matrix = dmatrix()
    oxgb.OrdinalObjective().bind(matrix, OrdinalLabels.from_intervals(Y, np.minimum(Y + 1, 2)))
    matrix.set_label(2 - Y)
    return by_xgboost(dtrain=matrix)


REFUSED = {
    "labels beside others": (with_other_labels, ValueError, "labels"),
    "labels of an array": (
        lambda: oxgb.OrdinalObjective().bind(X, OrdinalLabels.from_intervals(Y, Y)),
        TypeError,
        "ndarray",
    ),
    "no training yet": (lambda: oxgb.OrdinalObjective().thresholds_, (AttributeError, ValueError), "training"),
    "renewed leaves without train": (
        lambda: xgboost.train({"verbosity": 0}, dmatrix(), 2, obj=oxgb.OrdinalObjective(threshold_update="joint")),
        ValueError,
        "threshold_update",
    ),
    "shifts of a host in one score": (
        lambda: by_xgboost(shift_method="host", proportional=True),
        ValueError,
        "shift_method",
    ),
    "sparse shifts of a host": (
        lambda: by_xgboost(shift_method="host", shift_penalty="sparse", proportional=False),
        ValueError,
        "shift_penalty",
    ),
    "start at infinity": (
        lambda: by_xgboost(dtrain=dmatrix(base_margin=np.full(200, np.inf))),
        (ValueError, xgboost.core.XGBoostError),
        "base_margin|Input data contains",
    ),
    "early stopping of dropped trees": (
        lambda: by_xgboost(
            params={"booster": "dart", "rate_drop": 0.5},
            threshold_update="newton",
            evals=[(dmatrix(), "held out")],
            early_stopping_rounds=2,
        ),
        ValueError,
        "early_stopping_rounds",
    ),
    "another number of columns": (
        lambda: oxgb.margin_contributions(by_xgboost(proportional=False), xgboost.DMatrix(X[:, :2])),
        ValueError,
        "columns",
    ),
    "lightgbm fits no shifts": (
        lambda: LGBMOrdinalClassifier(shift_method="host").fit(X, Y),
        (TypeError, ValueError),
        "shift_method",
    ),
    "lightgbm stops at metrics of its own on blocks": (
        lambda: olgbm.predict(by_lightgbm(), None),
        (TypeError, ValueError),
        "data",
    ),
    "no rounds": (lambda: XGBOrdinalClassifier(n_estimators=2.5).fit(X, Y), TypeError, "n_estimators"),
}


@pytest.mark.filterwarnings("ignore:.*`booster=dart` is deprecated:UserWarning")
@pytest.mark.parametrize("case", REFUSED)
def test_is_refused_by_name(case):
    call, kind, name = REFUSED[case]
    with pytest.raises(kind, match=name):
        call()
