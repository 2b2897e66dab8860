"""The runs of plain calls and ensembles: which there are, and that the default of the tables is the library's."""

import numpy as np
import pandas as pd
import pytest

from claims.accuracy import ensembles, plain_call
from lib.set_ratios import GROUPS, rows_of
from ordinal_objectives.estimators.ensemble_members import default_members

EXPERIMENTS = {
    "plain call": (plain_call.NAME, list(plain_call.METHODS), plain_call.SHIPPED, plain_call.SEEDS),
    "ensembles": (ensembles.NAME, ensembles.METHODS, ensembles.SHIPPED, ensembles.SEEDS),
}


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(("name", "methods", "shipped", "seeds"), EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_every_method_ran_on_every_set(name, methods, shipped, seeds, group):
    rows = rows_of(name, group)
    found = [(row["data"], int(row["seed"]), row["method"]) for row in rows]
    asked = methods if group == "design" else shipped
    assert set(found) == {(data, seed, one) for data in GROUPS[group] for seed in range(seeds[group]) for one in asked}
    assert len(found) == len(set(found))
    # It takes at most 255 categories.
    refused = {("movielens100k", "HistGradientBoostingClassifier()")} if group == "confirmation" else set()
    assert {(row["data"], row["method"]) for row in rows if row["failure"]} <= refused


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
