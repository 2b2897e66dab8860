"""scikit-learn's own checks of an estimator."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
)
from xgboost import XGBClassifier

from makers import LGB_DEFAULTS, SKLEARN_DEFAULTS, XGB_DEFAULTS, scikit_learn_checks
from ordinal_objectives import (
    CatBoostOrdinalClassifier,
    HistGradientBoostingMultiOutputClassifier,
    HistGradientBoostingMultiOutputRegressor,
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalEnsembleClassifier,
    XGBOrdinalClassifier,
)

# The checks train on plain strings and on fewer rows than two leaves hold, of which these classifiers warn; array API
# input needs a SciPy setting.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ordinal_objectives.estimators.labels.LabelOrderWarning"),
    pytest.mark.filterwarnings("ignore:no tree has a split"),
]

SMALL = {"n_estimators": 20, "n_jobs": 1}
# CatBoost's penalty is multiplied by the mean weight as well: test_catboost_estimator.py.
WEIGHTS = "the library's cuts depend on how rows are repeated; XGBClassifier fails the same check, ours at times"
DRAWN = "rows are drawn and held out: scikit-learn's BaggingClassifier fails the same check, and is listed for it"


OF_WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")


def expected_failures(estimator):
    return dict.fromkeys(OF_WEIGHTS, DRAWN) if (estimator.subsample or 1) < 1 else {}


# The checks ask for the most probable class; the default is the median class.
@scikit_learn_checks(
    [
        kind(n_jobs=1, decision_rule="mode", **options)
        for kind, options in (
            (XGBOrdinalClassifier, {"n_estimators": 20, **XGB_DEFAULTS}),
            (LGBMOrdinalClassifier, {"n_estimators": 20, **LGB_DEFAULTS}),
            (HistGradientBoostingOrdinalClassifier, {"max_iter": 20, **SKLEARN_DEFAULTS}),
            (CatBoostOrdinalClassifier, {"iterations": 10, "depth": 4, "bootstrap_type": "No"}),
        )
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    if (
        isinstance(estimator, (CatBoostOrdinalClassifier, XGBOrdinalClassifier))
        and "weight_equivalence" in check.func.__name__
    ):
        pytest.skip(WEIGHTS)
    check(estimator)


MEMBERS = [
    ("ordinal", HistGradientBoostingOrdinalClassifier(max_iter=10, n_jobs=1)),
    ("multiclass", XGBClassifier(n_estimators=10, n_jobs=1)),
]


@scikit_learn_checks(
    [OrdinalEnsembleClassifier(MEMBERS, n_bags=1, subsample=0.8, decision_rule="mode")],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks_of_an_ensemble(estimator, check):
    check(estimator)


@scikit_learn_checks(
    [
        HistGradientBoostingMultiOutputRegressor(max_iter=20, n_jobs=1),
        HistGradientBoostingMultiOutputClassifier(max_iter=20, n_jobs=1),
    ]
)
def test_scikit_learn_checks_of_several_outputs(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "check", [check_sample_weight_equivalence_on_dense_data, check_sample_weight_equivalence_on_sparse_data]
)
def test_xgboost_itself_fails_the_weight_checks(check):
    with pytest.raises(AssertionError, match="not equivalent to fitting with removed or repeated data points"):
        check("XGBClassifier", XGBClassifier(**SMALL))
