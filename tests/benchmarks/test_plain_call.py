"""The runs by which the settings of a call without arguments are chosen."""

import numpy as np
import pandas as pd
import pytest

from claims.accuracy import plain_call
from lib.set_ratios import ratios, rows_of


@pytest.fixture(scope="module")
def rows():
    return rows_of(plain_call.NAME)


def test_ratios_are_means_of_logarithms_over_sets(rows):
    few = ratios(rows, "XGBClassifier()", plain_call.of_trainer("XGBoost"), ["mv 50", "thyroid 200"])
    assert few[0]["rps"] == "1.000 (0)"
    named = next(one for one in few if one["method"] == "XGBoost, depth 4")

    def mean(data, method):
        return np.mean([float(r["rps"]) for r in rows if (r["data"], r["method"]) == (data, method)])

    logs = [
        np.log((mean(data, "XGBoost, depth 4") + 1e-4) / (mean(data, "XGBClassifier()") + 1e-4))
        for data in ("mv 50", "thyroid 200")
    ]
    assert named["rps"] == f"{np.exp(np.mean(logs)):.3f} ({sum(log < 0 for log in logs)})"
    assert named["sets"] == 2


@pytest.mark.parametrize(("n_rows", "leaf"), [(40, 1), (500, 10), (5000, 20)])
def test_leaves_follow_the_rows(n_rows, leaf):
    assert plain_call._leaf({"min_child_samples": 50}, n_rows) == {"min_child_samples": leaf}
    assert plain_call._leaf({"max_depth": 4}, n_rows) == {"max_depth": 4}


@pytest.mark.parametrize(
    "method",
    ["XGBoost, depth 4", "LightGBM, leaf n/50", "native, leaf n/20", "LGBMOrdinalClassifier()", "class shares"],
)
def test_a_setting_predicts_every_class(method):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    y = np.digitize(X["a"], [-0.5, 0.5]).astype(np.int32)
    proba, found = plain_call._predicted(method, (X, y), X[:5], 4)
    assert proba.shape == (5, 4)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert found > 0 or method == "class shares"
