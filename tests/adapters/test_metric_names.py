"""Two metrics, or two evaluation sets, of one name are refused: their values would stand in one list."""

from __future__ import annotations

import lightgbm
import pytest
import xgboost

from ordinal_objectives.adapters import lgbm as olgbm
from ordinal_objectives.adapters import xgb as oxgb

METRICS = {
    "of one function": [("u", 1.0, False), ("v", 1.0, False), ("u", 2.0, False)],
    "the loss's": [("all_threshold", 1.0, False)],
}
BY_NAME = pytest.mark.parametrize("results", METRICS.values(), ids=METRICS)


@pytest.fixture
def rows(ordinal_data):
    return ordinal_data(120)


def refused(results):
    names = ", ".join(repr(name) for name, *_ in results)
    return pytest.raises(
        ValueError,
        match=f"each metric must have a name of its own; got 'all_threshold', {names}, of which the first is",
    )


@BY_NAME
def test_xgboost(rows, results):
    matrix = xgboost.DMatrix(*rows)

    def custom_metric(proba, matrix):
        return [(name, value) for name, value, _ in results]

    with refused(results):
        oxgb.train({}, matrix, 2, evals=[(matrix, "rows")], custom_metric=custom_metric, verbose_eval=False)
    with refused(results):
        oxgb.cv({}, matrix, 2, custom_metric=custom_metric)


@BY_NAME
def test_lightgbm(rows, results):
    params = {"verbosity": -1}

    def feval(proba, data):
        return results

    def one_each():
        return [lambda proba, data, result=result: result for result in results]

    for how in (feval, one_each()):
        data = lightgbm.Dataset(*rows, free_raw_data=False)
        with refused(results):
            olgbm.train(params, data, 2, valid_sets=[data], feval=how)
        with refused(results):
            olgbm.cv(params, lightgbm.Dataset(*rows, free_raw_data=False), 2, feval=how)


def test_sets_of_xgboost(rows):
    matrix, other = xgboost.DMatrix(*rows), xgboost.DMatrix(*rows)
    with pytest.raises(ValueError, match=r"evals must have a name of its own for each set; got \['rows', 'rows'\]"):
        oxgb.train({}, matrix, 2, evals=[(matrix, "rows"), (other, "rows")])


def test_sets_on_a_cluster(rows):
    dask = pytest.importorskip("ordinal_objectives.adapters.xgb.dask")
    with pytest.raises(ValueError, match=r"evals must have a name of its own for each set; got \['rows', 'rows'\]"):
        dask.train(None, {}, None, 2, evals=[(None, "rows"), (None, "rows")])


@pytest.mark.parametrize(
    ("given", "names"),
    [(["a", "a"], ["a", "a"]), ("valid_1", ["valid_1", "valid_1"]), (["b", "a"], None), (None, None)],
)
def test_sets_of_lightgbm(rows, given, names):
    data = lightgbm.Dataset(*rows)
    sets = [lightgbm.Dataset(*rows, reference=data) for _ in range(2)]
    seen = {}
    ask = {"valid_sets": sets, "valid_names": given, "callbacks": [lightgbm.record_evaluation(seen)]}
    if names is None:
        olgbm.train({"verbosity": -1}, data, 2, **ask)
        assert [len(losses["all_threshold"]) for losses in seen.values()] == [2, 2]
        return
    with pytest.raises(ValueError, match="valid_names must have a name of its own for each set; got ") as refusal:
        olgbm.train({"verbosity": -1}, data, 2, **ask)
    assert str(names) in str(refusal.value)
