"""The XGBoost classifier on a Dask cluster is the one in memory; what is wrong on one worker is named.

And what it shares with LightGBM's: parts that are read once, and predictions.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed")

import cloudpickle
import dask.array as da
import dask.dataframe as dd
import pandas as pd
import xgboost.dask
from distributed import Client, LocalCluster

from ordinal_objectives import DaskLGBMOrdinalClassifier, DaskXGBOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.adapters.xgb import dask as oxgb_dask

pytestmark = pytest.mark.slow

NAMES = np.array(["bad", "fair", "good", "best"])
OPTIONS = {"subsample": 1.0, "n_estimators": 8, "max_depth": 3, "n_jobs": 1, "classes": NAMES}


@pytest.fixture(scope="module", autouse=True)
def client():
    # Workers in processes of their own: test_dask_training.py.
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, size=(800, 3)) / 10.0
    y = NAMES[np.digitize(2 * X[:, 0] + rng.logistic(size=800), [0.5, 2.0, 3.5])]
    return X, y, rng.uniform(0.5, 2.0, size=800)


def parted(*arrays, rows=250):
    return [da.from_array(array, chunks=(rows, *array.shape[1:])) for array in arrays]


@pytest.mark.parametrize(
    "options", [{}, {"threshold_update": "joint", "proportional": True, "class_weight": "balanced"}], ids=str
)
def test_arrays(data, options):
    X, y, w = data
    X_, y_, w_ = parted(X, y, w)
    model = DaskXGBOrdinalClassifier(**OPTIONS | options).fit(X_, y_, sample_weight=w_, eval_set=[(X_, y_)])
    alone = XGBOrdinalClassifier(**OPTIONS | options).fit(X, y, sample_weight=w, eval_set=[(X, y)])
    np.testing.assert_allclose(model.thresholds_, alone.thresholds_, atol=1e-6)
    assert model.proportional_ is alone.proportional_
    (one,), (other,) = (tuple(m.evals_result_["validation_0"].values()) for m in (model, alone))
    np.testing.assert_allclose(one, other, rtol=1e-5)
    proba = model.predict_proba(X_)
    assert isinstance(proba, da.Array)
    assert proba.shape == (800, 4)
    np.testing.assert_allclose(proba.compute(), alone.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(model.predict_raw(X_).compute(), alone.predict_raw(X), atol=1e-5)
    np.testing.assert_array_equal(model.predict(X_).compute(), model.predict(X))
    assert np.mean(model.predict(X) == alone.predict(X)) > 0.999
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_frames_and_ordered_categoricals(data):
    X, y, _ = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["y"] = pd.Categorical(y, categories=NAMES, ordered=True)
    parts = dd.from_pandas(frame, npartitions=3)
    options = OPTIONS | {"classes": None}
    model = DaskXGBOrdinalClassifier(**options).fit(parts[["a", "b", "c"]], parts["y"], verbose=True)
    assert model.evals_result_ == {}
    alone = XGBOrdinalClassifier(**options).fit(frame[["a", "b", "c"]], frame["y"])
    assert model.ordered_classes_.tolist() == NAMES.tolist()
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(model.thresholds_, alone.thresholds_, atol=1e-6)
    proba = model.predict_proba(parts[["a", "b", "c"]]).compute()
    np.testing.assert_allclose(proba, alone.predict_proba(frame[["a", "b", "c"]]), atol=1e-5)


def test_refusals(data):
    X, y, _ = data
    X_, y_ = parted(X, y)
    with pytest.raises(ValueError, match=r"eval_metric must be None on a cluster; got 'mae'"):
        DaskXGBOrdinalClassifier(**OPTIONS, eval_metric="mae").fit(X_, y_)
    wrong: Any = {"early_stopping_rounds": 3}
    with pytest.raises(
        TypeError, match=r"DaskXGBOrdinalClassifier\.fit takes no 'early_stopping_rounds': .*constructor"
    ):
        DaskXGBOrdinalClassifier(**OPTIONS).fit(X_, y_, **wrong)
    dates = X_.astype("M8[D]")
    for rows, sets in ((dates, None), (X_, [(dates, y_)])):
        with pytest.raises(
            ValueError, match="X must hold numbers, booleans and categories; got an array of type datetime"
        ):
            DaskXGBOrdinalClassifier(**OPTIONS).fit(rows, y_, eval_set=sets)
    model = DaskXGBOrdinalClassifier(**OPTIONS | {"classes": NAMES[:3]})
    with pytest.raises(ValueError, match="outside the classes"):
        model.fit(X_, y_)
    assert not hasattr(model, "booster_")
    with pytest.raises(ValueError, match="linear must be False on a cluster; got 'auto'; no worker has all rows"):
        DaskXGBOrdinalClassifier(**OPTIONS, linear="auto").fit(X_, y_)
    with pytest.raises(ValueError, match="xgb_model: the trees of this booster start from a linear part"):
        DaskXGBOrdinalClassifier(**OPTIONS).fit(
            X_, y_, xgb_model=XGBOrdinalClassifier(**OPTIONS, linear=True).fit(X, y)
        )


def test_weights_meet_their_rows_whatever_their_index_says(data):
    """Two frames multiply where their indices agree; weights belong to the rows beside which they lie."""
    X, y, w = data
    frame, labels = pd.DataFrame(X, columns=list("abc")), pd.Series(y, name="y")
    starts = range(0, 800, 200)
    index = np.concatenate([start + np.random.default_rng(start).permutation(200) for start in starts])

    def in_parts(rows):
        parts = [rows.iloc[start : start + 200] for start in starts]
        return dd.from_map(lambda part: part, parts, meta=parts[0].iloc[:0])

    options = OPTIONS | {"class_weight": "balanced"}
    expected = XGBOrdinalClassifier(**options).fit(frame, labels, sample_weight=w)
    for weights in (in_parts(pd.Series(w, index=index)), da.from_array(w, chunks=200)):
        model = DaskXGBOrdinalClassifier(**options).fit(in_parts(frame), in_parts(labels), sample_weight=weights)
        np.testing.assert_allclose(model.predict_proba(frame), expected.predict_proba(frame), atol=1e-5)
    for rows, message in (
        ((100, 300, 200, 200), "weights of the training set must be partitioned as X is; got .00 for 200 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            DaskXGBOrdinalClassifier(**options).fit(
                in_parts(frame), in_parts(labels), sample_weight=da.from_array(w, chunks=(rows,))
            )


def test_levels_are_those_of_the_training_wherever_rows_come_in():
    rng = np.random.default_rng(0)
    which = rng.integers(0, 3, 300)
    X = pd.DataFrame({"a": rng.normal(size=300), "town": pd.Categorical.from_codes(which, ["Köln", "Bonn", "Celle"])})
    y = np.digitize(X["a"] + 3 * (which == 1) + 0.3 * rng.logistic(size=300), [-1, 2])
    options = {"n_estimators": 4, "subsample": 1.0, "n_jobs": 1}

    def parts(rows):
        return dd.from_pandas(rows, npartitions=2)

    labels = parts(pd.Series(y))
    reordered = X.assign(town=X["town"].cat.reorder_categories(["Celle", "Köln", "Bonn"]))
    strange = X.assign(town=X["town"].cat.rename_categories({"Celle": "Aachen"}))
    model = DaskXGBOrdinalClassifier(**options).fit(parts(X), labels, eval_set=[(parts(reordered), labels)])
    expected = XGBOrdinalClassifier(**options).fit(X, y).predict_proba(X)
    for rows in (X, reordered):
        np.testing.assert_allclose(model.predict_proba(parts(rows)).compute(), expected, atol=1e-6)
        np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-6)
    further, again = (
        DaskXGBOrdinalClassifier(**options).fit(parts(rows), labels, xgb_model=model) for rows in (X, reordered)
    )
    np.testing.assert_allclose(again.predict_proba(X), further.predict_proba(reordered), atol=1e-6)
    missing = X.assign(town=X["town"].cat.set_categories(["Köln", "Bonn"]))
    np.testing.assert_array_equal(model.predict_proba(parts(strange)).compute(), model.predict_proba(missing))
    with pytest.raises(ValueError, match=r"in column 'town', Köln, Bonn, Celle; got Aachen$"):
        DaskXGBOrdinalClassifier(**options).fit(parts(strange), labels, xgb_model=model)


def test_parts_state_one_order_of_the_labels(data):
    """Dask would take the order of one part, or put the levels that it lacks behind the others."""
    X, y, _ = data
    rows = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=2)
    ordered = pd.Series(pd.Categorical(y, categories=NAMES, ordered=True))
    first, second, options = ordered[:400], ordered[400:], {**OPTIONS, "n_estimators": 2}

    def fit(*parts, **more):
        labels = dd.from_map(lambda i: parts[i], range(2), meta=ordered[:0])
        return DaskXGBOrdinalClassifier(**options | more).fit(rows, labels, eval_set=[(rows, labels)])

    for other in (second.cat.reorder_categories(NAMES[::-1]), second.cat.as_unordered(), second.astype(object)):
        with pytest.raises(ValueError, match="y must have the same ordered categories in all parts; got 'bad', 'fair'"):
            fit(first, other, classes=None)
        assert fit(first, other).ordered_classes_.tolist() == NAMES.tolist()
    few = first[first != "fair"].cat.remove_unused_categories().repeat(2)[:400]
    with pytest.raises(ValueError, match="got 'bad', 'good', 'best' and 'bad', 'fair', 'good', 'best'"):
        fit(few, second, classes=None)
    assert fit(first, second, classes=None).ordered_classes_.tolist() == NAMES.tolist()


# What is wrong with rows on one worker is told by the argument's name


X = np.random.default_rng(0).normal(size=(200, 3))
Y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])


def halved(values, rows=100):
    return da.from_array(values, chunks=(rows, *values.shape[1:]))


def fit(X=X, y=Y, weight=None, margin=None, eval_set=None, model=None, **options):
    given = {"sample_weight": weight, "base_margin": margin}
    rows = {name: value if value is None or hasattr(value, "dask") else halved(value) for name, value in given.items()}
    rows |= {"eval_set": eval_set, "xgb_model": model}
    X, y = (value if hasattr(value, "dask") else halved(value) for value in (X, y))
    return DaskXGBOrdinalClassifier(n_estimators=2, max_depth=2, n_jobs=1, **options).fit(X, y, **rows)


def test_a_worker_without_rows_of_a_set():
    frame = pd.DataFrame(X, columns=list("abc"))
    rows = {"X": dd.from_pandas(frame, npartitions=2), "y": dd.from_pandas(pd.Series(Y), npartitions=2)}
    one = {name: values.repartition(npartitions=1) for name, values in rows.items()}
    alone = XGBOrdinalClassifier(n_estimators=2, max_depth=2, n_jobs=1, subsample=1.0)
    expected = alone.fit(frame, Y, eval_set=[(frame, Y)]).evals_result_["validation_0"]["all_threshold"]
    for training, evaluated in ((rows, one), (one, rows)):
        model = fit(**training, eval_set=[tuple(evaluated.values())], subsample=1.0)
        np.testing.assert_allclose(model.evals_result_["validation_0"]["all_threshold"], expected, atol=1e-5)
    matrix, held_out = (xgboost.dask.DaskDMatrix(None, *values.values()) for values in (rows, one))
    booster = oxgb_dask.train(None, {}, matrix, 2, evals=[(held_out, "held_out")])["booster"]
    here = booster.predict(xgboost.DMatrix(frame), output_margin=True)
    np.testing.assert_allclose(xgboost.dask.predict(None, booster, held_out, output_margin=True).compute(), here)
    frame["d"] = pd.Categorical.from_codes(Y % 2, ["u", "v"])
    rows["X"] = dd.from_pandas(frame, npartitions=2)
    expected = alone.fit(frame, Y, eval_set=[(frame, Y)]).evals_result_["validation_0"]["all_threshold"]
    model = fit(**rows, eval_set=[(rows["X"].repartition(npartitions=1), one["y"])], subsample=1.0)
    np.testing.assert_allclose(model.evals_result_["validation_0"]["all_threshold"], expected, atol=1e-5)


@pytest.mark.parametrize("turned", [[1], [0, 1]])
def test_parts_whose_columns_have_another_order(turned):
    """As those of CSV files may: XGBoost would read columns by their place."""
    frame = pd.DataFrame(X, columns=["a", "b", "c"])

    def table(turned):
        halves = [frame[:100], frame[100:]]
        return dd.from_map(lambda i: halves[i].iloc[:, ::-1] if i in turned else halves[i], [0, 1], meta=frame[:0])

    message = "must have the model's 3 feature names, in their order; got 'c' for 'a' in column 0"
    with pytest.raises(ValueError, match=f"each part of X.* {message}"):
        fit(table(turned))
    with pytest.raises(ValueError, match=f"each part of X of validation_0 {message}"):
        fit(table([]), eval_set=[(table([1]), halved(Y))])


def read_once(array, folder, name):
    """Return a Dask array that is not in memory, and notes in a file each time that a part of it is read."""
    file = folder / name

    def read(part):
        with file.open("a", encoding="utf-8") as lines:
            lines.write("read\n")
        return part

    return parted(array)[0].map_blocks(read, meta=array[:0])


@pytest.mark.parametrize("make", [DaskXGBOrdinalClassifier, DaskLGBMOrdinalClassifier])
def test_each_part_is_read_once(data, tmp_path, make):
    X, y, w = data
    names = ("X", "y", "w", "X_valid", "y_valid")
    arrays = dict(zip(names, (X, y, w, X[:500], y[:500]), strict=True))
    X_, y_, w_, *valid = (read_once(array, tmp_path, name) for name, array in arrays.items())
    rounds = {"n_estimators": 2, "class_weight": "balanced", "classes": NAMES, "n_jobs": 1}
    make(**rounds).fit(X_, y_, sample_weight=w_, eval_set=[tuple(valid)])
    read = {name: len((tmp_path / name).read_text(encoding="utf-8").splitlines()) for name in names}
    assert read == {"X": 4, "y": 4, "w": 4, "X_valid": 2, "y_valid": 2}


@pytest.mark.parametrize("make", [DaskXGBOrdinalClassifier, DaskLGBMOrdinalClassifier])
@pytest.mark.parametrize("kind", ["arrays", "frames"])
def test_predictions_take_scores_to_start_from_and_a_graph_holds_the_model_once(data, make, kind):
    X, y, w = data
    X_, y_, w_ = parted(X, y, w)
    if kind == "frames":
        X_, X = dd.from_dask_array(X_, columns=list("abc")), pd.DataFrame(X, columns=list("abc"))
        y_ = dd.from_dask_array(y_)
    name = "base_margin" if make is DaskXGBOrdinalClassifier else "init_score"
    model = make(n_estimators=20, classes=NAMES, n_jobs=1).fit(X_, y_, **{name: w_})
    for method in ("predict", "predict_proba", "predict_raw"):
        found = getattr(model, method)(X_, **{name: w_})
        np.testing.assert_array_equal(found.compute(), getattr(model, method)(X, **{name: w}))
    many = model.predict_proba(
        X_.repartition(npartitions=4) if kind == "frames" else da.zeros((9_000, 3), chunks=(90, 3))
    )
    size = len(cloudpickle.dumps(dict(many.__dask_graph__())))
    assert size < 3 * len(cloudpickle.dumps(model))
    with pytest.raises(TypeError, match="margins"):
        model.predict(X_, margins=w_)
