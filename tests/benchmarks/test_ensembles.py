"""The runs of ensembles: which there are, and that the default of the tables is that of the library."""

import numpy as np
import pandas as pd
import pytest

from claims.accuracy import ensembles
from lib import report
from lib.data import FEW_ROWS, ORDINAL, OTHER, SIXTEEN
from lib.set_ratios import COLUMNS
from ordinal_objectives.estimators.ensemble_members import default_members


@pytest.mark.parametrize(
    ("file", "sets", "methods"),
    [
        (ensembles.FILE, (*FEW_ROWS, *OTHER), ensembles.METHODS),
        (ensembles.EVALUATION, (*SIXTEEN, *ORDINAL), ensembles.SHIPPED),
    ],
    ids=["design", "evaluation"],
)
def test_every_method_ran_on_every_set(file, sets, methods):
    rows = report.RunsFile(file, COLUMNS).rows
    found = {(row["data"], int(row["seed"]), row["method"]) for row in rows}
    assert found == {(data, seed, method) for data in sets for seed in range(ensembles.SEEDS) for method in methods}
    assert not any(row["failure"] for row in rows)


def test_the_default_is_the_librarys():
    members, options = ensembles.ENSEMBLES[ensembles.DEFAULT]
    assert options == {"n_bags": 2}
    for (name, one), (name_there, there) in zip(members, default_members(), strict=True):
        assert name == name_there
        given, expected = one.get_params() | {"n_jobs": None}, there.get_params()
        assert type(one) is type(there)
        assert {key: value for key, value in given.items() if key != "missing"} == {
            key: value for key, value in expected.items() if key != "missing"
        }


@pytest.mark.parametrize("method", [ensembles.ONE, ensembles.DEFAULT, "2 ordinal, 2 multiclass, weights by log loss"])
def test_a_method_predicts_every_class(method):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    y = np.digitize(X["a"], [-0.5, 0.5]).astype(np.int32)
    proba, _ = ensembles._predicted(method, (X, y), X[:5], 4)
    assert proba.shape == (5, 4)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
