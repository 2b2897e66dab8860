"""The runs by which the settings of a call without arguments are chosen."""

import numpy as np
import pandas as pd
import pytest

from claims.accuracy import plain_call
from lib import report
from lib.data import FEW_ROWS, ORDINAL, OTHER, SIXTEEN
from lib.set_ratios import COLUMNS, ratios


@pytest.fixture(scope="module")
def rows():
    return report.RunsFile(plain_call.FILE, COLUMNS).rows


def test_every_setting_ran_on_every_design_set_and_no_other(rows):
    found = {(row["data"], int(row["seed"]), row["method"]) for row in rows}
    wanted = {
        (data, seed, method)
        for data in (*FEW_ROWS, *OTHER)
        for seed in range(plain_call.SEEDS)
        for method in plain_call.METHODS
    }
    assert found == wanted
    assert len(rows) == len(wanted)
    assert not any(row["failure"] for row in rows)


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


def test_every_classifier_ran_on_every_set_of_the_evidence_as_it_ships():
    rows = report.RunsFile(plain_call.EVALUATION, COLUMNS).rows
    found = {(row["data"], int(row["seed"]), row["method"]) for row in rows}
    sets, seeds = (*SIXTEEN, *ORDINAL), range(plain_call.EVALUATED)
    assert found == {(data, seed, method) for data in sets for seed in seeds for method in plain_call.SHIPPED}
    assert not any(row["failure"] for row in rows)
    table = ratios(rows, "XGBClassifier()", plain_call.of_trainer("XGBoost", True), sets)
    assert [row["method"] for row in table] == ["XGBClassifier()", "XGBOrdinalClassifier()"]


@pytest.mark.parametrize(("rows_of", "leaf"), [(40, 1), (500, 10), (5000, 20)])
def test_leaves_follow_the_rows(rows_of, leaf):
    assert plain_call._leaf({"min_child_samples": 50}, rows_of) == {"min_child_samples": leaf}
    assert plain_call._leaf({"max_depth": 4}, rows_of) == {"max_depth": 4}


@pytest.mark.parametrize(
    "method",
    ["XGBoost, depth 4", "LightGBM, leaf n/50", "native, leaf n/20", "LGBMOrdinalClassifier()", "class shares"],
)
def test_a_setting_predicts_every_class(method):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    y = np.digitize(X["a"], [-0.5, 0.5]).astype(np.int32)
    proba, found = plain_call._predicted(plain_call.METHODS[method], (X, y), X[:5], 4)
    assert proba.shape == (5, 4)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert found > 0 or method == "class shares"
