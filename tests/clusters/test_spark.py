"""XGBoost on Spark: the thresholds of one machine, from two tasks."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xgboost

from ordinal_objectives.adapters import xgb as oxgb

pytest.importorskip("pyspark")

import pandas as pd
from pyspark import BarrierTaskContext, cloudpickle
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.feature import IndexToString, StringIndexer, VectorAssembler
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.resource import ResourceInformation
from pyspark.sql import SparkSession, functions
from scipy.sparse import csr_matrix
from sklearn.metrics import log_loss

from ordinal_objectives import XGBOrdinalClassifier
from ordinal_objectives.adapters.xgb import spark as oxgb_spark
from ordinal_objectives.adapters.xgb.spark_estimator import SparkXGBOrdinalClassifier, SparkXGBOrdinalClassifierModel

# What Spark says to itself.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:::pyspark")]

PARAMS = {"max_depth": 4, "eta": 0.3, "tree_method": "hist", "min_child_weight": 0.1}
FEATURES = list("abcd")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "how_to" / "spark.md"
COLUMNS = {"features": FEATURES, "label": "y", "weight": "w"}


@pytest.fixture(scope="module")
def session():
    """Spark in this process, with two tasks at a time."""
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        pytest.skip("Spark needs Java: apt install default-jre-headless")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import the tests
    options = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.ui.enabled": "false",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def data(n=1500):
    """Return features of few values, some missing, class codes and weights."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 25, size=(n, 4)) / 25
    y = np.digitize(3 * X[:, 0] + X[:, 1] + rng.logistic(size=n), [0.5, 1.5, 2.5, 4.0])
    X[rng.random(X.shape) < 0.05] = np.nan
    return pd.DataFrame(X, columns=FEATURES).assign(y=y, w=rng.uniform(0.5, 2.0, size=n))


def matrix(frame):
    return xgboost.DMatrix(frame[FEATURES], frame["y"], weight=frame["w"])


def assert_same(booster, expected):
    record, alone = oxgb.threshold_record(booster), oxgb.threshold_record(expected)
    np.testing.assert_allclose(record.thresholds, alone.thresholds, rtol=0, atol=1e-6)
    np.testing.assert_allclose(record.training_loss, alone.training_loss, rtol=1e-6)
    rows = matrix(data())
    np.testing.assert_allclose(oxgb.predict_proba(booster, rows), oxgb.predict_proba(expected, rows), atol=1e-5)


@pytest.mark.parametrize(
    "update", [{"threshold_update": "newton"}, {"threshold_update": "joint"}, {"proportional": False}]
)
def test_thresholds_are_those_of_one_machine(session, update):
    # Parts by class: of other sizes, and none has all classes.
    parts = session.createDataFrame(data()).repartitionByRange(2, "y")
    booster = oxgb_spark.train(parts, PARAMS, 12, **COLUMNS, **update)
    assert_same(booster, oxgb.train(PARAMS, matrix(data()), 12, **update))


def test_early_stopping_and_the_columns_of_predictions(session):
    frame = data().assign(held_out=np.arange(1500) % 3 == 0)
    dataset = session.createDataFrame(frame)
    booster = oxgb_spark.train(
        dataset, PARAMS, 100, **COLUMNS, validation="held_out", n_workers=2, early_stopping_rounds=5
    )
    valid = [(matrix(frame[frame["held_out"]]), "validation")]
    training = matrix(frame[~frame["held_out"]])
    alone = oxgb.train(PARAMS, training, 100, evals=valid, early_stopping_rounds=5, verbose_eval=False)
    assert booster.best_iteration == alone.best_iteration < 90
    assert_same(booster, alone)
    found = oxgb_spark.transform(booster, dataset.withColumn("id", functions.lit(1))).toPandas()
    assert list(found) == [*frame, "id", "prediction", "probability"]
    rows = xgboost.DMatrix(found[FEATURES])
    np.testing.assert_array_equal(found["prediction"], oxgb.predict(booster, rows))
    proba = np.stack([vector.toArray() for vector in found["probability"]])
    np.testing.assert_allclose(proba, oxgb.predict_proba(booster, rows), rtol=1e-12)


def test_a_label_of_one_task_is_named(session):
    parts = session.createDataFrame(data()).repartitionByRange(2, "y")
    with pytest.raises(Exception, match=r"outside the declared classes 0\.\.3; got 4"):
        oxgb_spark.train(parts, PARAMS, 3, **COLUMNS, n_classes=4)


class KillOne(xgboost.callback.TrainingCallback):
    """Kills the process of one task in the fourth round."""

    def before_iteration(self, model, epoch, evals_log):
        if epoch == 3 and BarrierTaskContext.get().partitionId() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return False


def test_a_killed_task_is_an_error_within_a_minute(session):
    dataset, begun = session.createDataFrame(data()), time.monotonic()
    with pytest.raises(Exception, match=r"(?i)crashed|barrier task|allreduce"):
        oxgb_spark.train(dataset, PARAMS, 2000, **COLUMNS, n_workers=2, callbacks=[KillOne()])
    assert time.monotonic() - begun < 60


def test_the_page_runs(session):
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)  # our own text
    assert session is names["spark"]
    assert names["booster"].best_iteration < names["booster"].num_boosted_rounds() - 1 < 199
    assert 0 < names["error"] < 0.7


NAMES = np.array(["none", "mild", "fair", "bad", "worst"])
OPTIONS = {"n_estimators": 12, "max_depth": 4, "subsample": 1.0, "proportional": True, "classes": NAMES}


# Warnings of Spark's cross validator.
OF_CROSS_VALIDATOR = (
    pytest.mark.filterwarnings("ignore:.*Pool.__del__:pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed running multiprocessing pool:ResourceWarning"),
)


def labelled():
    """Return the rows with text for labels, in alphabetical order the wrong one."""
    frame = data()
    return frame.assign(grade=NAMES[frame["y"]], held_out=np.arange(1500) % 3 == 0)


def test_the_estimator_is_the_classifier_in_memory(session, tmp_path):
    frame = labelled()
    given = {"features_col": FEATURES, "label_col": "grade", "weight_col": "w", "num_workers": 2}
    estimator = SparkXGBOrdinalClassifier(
        validation_indicator_col="held_out", **given, **OPTIONS | {"n_estimators": 100}, early_stopping_rounds=5
    )
    dataset = session.createDataFrame(frame)
    estimator.write().save(str(tmp_path / "estimator"))
    model = SparkXGBOrdinalClassifier.load(str(tmp_path / "estimator")).fit(dataset)
    fit, held = (frame[frame["held_out"] == which] for which in (False, True))
    alone = XGBOrdinalClassifier(**OPTIONS | {"n_estimators": 100}, early_stopping_rounds=5).fit(
        fit[FEATURES],
        fit["grade"],
        sample_weight=fit["w"],
        eval_set=[(held[FEATURES], held["grade"])],
        sample_weight_eval_set=[held["w"]],
    )
    assert model.classifier.n_iter_ == alone.n_iter_ < 90
    np.testing.assert_allclose(model.classifier.thresholds_, alone.thresholds_, rtol=0, atol=1e-6)
    model.write().overwrite().save(str(tmp_path / "model"))
    again = SparkXGBOrdinalClassifierModel.load(str(tmp_path / "model"))
    for one in (model, again):
        found = one.transform(dataset).toPandas()
        assert list(found) == [*frame, "prediction", "probability", "rawPrediction"]
        np.testing.assert_array_equal(NAMES[found["prediction"].astype(int)], model.classifier.predict(found[FEATURES]))
        proba = np.stack([vector.toArray() for vector in found["probability"]])
        np.testing.assert_allclose(proba, alone.predict_proba_ordered(found[FEATURES]), atol=1e-5)
        np.testing.assert_allclose(np.log(proba), np.stack([vector.toArray() for vector in found["rawPrediction"]]))


@OF_CROSS_VALIDATOR[0]
@OF_CROSS_VALIDATOR[1]
def test_labels_of_text_have_a_place_for_evaluators_and_names_again(session):
    """What Spark's evaluators, its cross validator and its ``IndexToString`` read."""
    frame = labelled()
    dataset = session.createDataFrame(frame).repartition(2)
    options = {"features_col": FEATURES, "label_col": "grade", "label_index_col": "place", **OPTIONS}
    estimator = SparkXGBOrdinalClassifier(**options)
    model = estimator.fit(dataset)
    names = IndexToString(inputCol="prediction", outputCol="name").transform(model.transform(dataset)).toPandas()
    np.testing.assert_array_equal(names["name"], model.classifier.predict(names[FEATURES]))
    np.testing.assert_array_equal(names["place"], names["y"])
    evaluator = MulticlassClassificationEvaluator(labelCol="place", metricName="accuracy")
    grid = ParamGridBuilder().addGrid(estimator.n_estimators, [1, 12]).build()
    search = CrossValidator(estimator=estimator, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, seed=0)
    few, more = search.fit(dataset).avgMetrics
    assert few < more
    assert model.getFeaturesCol() == FEATURES
    assert model.get_booster() is model.classifier.booster_
    assert {*model.get_feature_importances()} <= {*FEATURES}
    assert "place" not in model.transform(dataset.drop("grade")).columns  # rows to predict have no label


def test_scores_to_start_from(session):
    frame = data().assign(start=lambda rows: rows["w"] - 1.2)
    dataset = session.createDataFrame(frame).repartition(2)
    options = OPTIONS | {"classes": None}
    given = {"features_col": FEATURES, "label_col": "y", "base_margin_col": "start", **options}
    model = SparkXGBOrdinalClassifier(**given).fit(dataset)
    alone = XGBOrdinalClassifier(**options).fit(frame[FEATURES], frame["y"], base_margin=frame["start"])
    np.testing.assert_allclose(model.classifier.thresholds_, alone.thresholds_, rtol=0, atol=1e-6)
    found = model.transform(dataset).toPandas()
    expected = alone.predict_proba(found[FEATURES], base_margin=found["start"])
    np.testing.assert_allclose(np.stack([vector.toArray() for vector in found["probability"]]), expected, atol=1e-5)


@pytest.mark.parametrize("update", [{"tree_method": "hist"}, {"tree_method": "approx"}], ids=str)
def test_batches_of_rows_are_one_matrix(session, update):
    """Spark hands rows over in batches; so few rows to each that a task has many."""
    size = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before, dataset = session.conf.get(size), session.createDataFrame(data()).repartitionByRange(2, "y")
    session.conf.set(size, 100)
    try:
        booster = oxgb_spark.train(dataset, PARAMS | update, 12, **COLUMNS)
    finally:
        session.conf.set(size, before)
    assert_same(booster, oxgb.train(PARAMS | update, matrix(data()), 12))


def test_values_of_numpy_and_weights_by_class_are_kept_in_files(session, tmp_path):
    weights = {label: 1.0 + label for label in range(5)}
    options = {"n_estimators": np.int64(3), "learning_rate": np.float32(0.5), "cost_matrix": 1.0 - np.eye(5)}
    given = {"features_col": FEATURES, "label_col": "y", "class_weight": weights, "max_delta_step": np.float64(1.0)}
    options["subsample"] = 1.0
    estimator = SparkXGBOrdinalClassifier(**given, **options)
    estimator.write().save(str(tmp_path / "estimator"))
    model = SparkXGBOrdinalClassifier.load(str(tmp_path / "estimator")).fit(session.createDataFrame(data()))
    assert model.classifier.class_weight == weights
    alone = XGBOrdinalClassifier(class_weight=weights, max_delta_step=1.0, **options)
    alone.fit(data()[FEATURES], data()["y"])
    np.testing.assert_allclose(model.classifier.thresholds_, alone.thresholds_, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "kind", "named"),
    [
        ({"max_dept": 3}, TypeError, "max_dept"),
        ({"xgb_model": "model"}, ValueError, "xgb_model"),
        ({"features_cols": ["a"]}, ValueError, "features_cols"),
        ({"max_depth": "a"}, TypeError, "max_depth"),
        ({"n_estimators": 2.5}, TypeError, "n_estimators"),
        ({"num_workers": 64}, ValueError, "num_workers"),
    ],
    ids=str,
)
def test_what_would_be_ignored_or_wait_is_refused_before_the_training(session, options, kind, named):
    given, dataset = {"features_col": FEATURES, "label_col": "y", "n_estimators": 2}, session.createDataFrame(data())
    with pytest.raises(kind, match=named):
        SparkXGBOrdinalClassifier(**given | options).fit(dataset)


def test_a_label_of_held_out_rows_alone_is_refused_as_on_one_machine(session):
    frame = data().assign(held_out=lambda rows: rows["y"] == 4)
    estimator = SparkXGBOrdinalClassifier(features_col=FEATURES, label_col="y", validation_indicator_col="held_out")
    with pytest.raises(ValueError, match="label_col 'y'"):
        estimator.fit(session.createDataFrame(frame))


@OF_CROSS_VALIDATOR[0]
@OF_CROSS_VALIDATOR[1]
def test_vectors_in_a_pipeline_and_a_cross_validator(session, tmp_path):
    frame = data().fillna(0.0)
    dataset = session.createDataFrame(frame).repartition(2)
    options = OPTIONS | {"classes": None, "class_weight": "balanced"}
    estimator = SparkXGBOrdinalClassifier(label_col="y", weight_col="w", num_workers=2, **options)
    pipeline = Pipeline(stages=[VectorAssembler(inputCols=FEATURES, outputCol="features"), estimator])
    model = pipeline.fit(dataset)
    alone = XGBOrdinalClassifier(**options).fit(frame[FEATURES].to_numpy(), frame["y"], sample_weight=frame["w"])
    np.testing.assert_allclose(model.stages[-1].classifier.thresholds_, alone.thresholds_, rtol=0, atol=1e-6)
    model.write().save(str(tmp_path / "pipeline"))
    found = PipelineModel.load(str(tmp_path / "pipeline")).transform(dataset)
    evaluator = MulticlassClassificationEvaluator(labelCol="y", metricName="logLoss")
    expected = log_loss(frame["y"], alone.predict_proba(frame[FEATURES].to_numpy()))
    assert evaluator.evaluate(found) == pytest.approx(expected, abs=1e-5)
    grid = ParamGridBuilder().addGrid(estimator.max_depth, [1, 4]).addGrid(estimator.n_estimators, [2, 12]).build()
    search = CrossValidator(estimator=pipeline, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, seed=0)
    best = search.fit(dataset)
    chosen = grid[int(np.argmin(best.avgMetrics))]
    assert best.bestModel.stages[-1].classifier.n_iter_ == chosen[estimator.n_estimators]


@pytest.mark.parametrize(
    "update",
    [{"threshold_update": "newton"}, {"threshold_update": "schur"}, {"proportional": False}],
    ids=lambda update: str(*update.values()),
)
def test_every_update_of_the_estimator_with_categories(session, tmp_path, update):
    """Codes of categories that one task lacks; the other lacks classes."""
    frame = data().assign(kind=np.array(["x", "z", "u", "y"])[np.digitize(data()["w"], [0.8, 1.2, 1.8])])
    dataset = session.createDataFrame(frame).repartitionByRange(2, "kind")
    indexed = StringIndexer(inputCol="kind", outputCol="code").fit(dataset).transform(dataset)
    options = OPTIONS | {"classes": None, "feature_types": ["q", "q", "q", "q", "c"]} | update
    given = {"features_col": [*FEATURES, "code"], "label_col": "y"}
    model = SparkXGBOrdinalClassifier(**given, **options).fit(indexed)
    rows = indexed.toPandas()
    alone = XGBOrdinalClassifier(**options).fit(rows[given["features_col"]], rows["y"])
    assert model.classifier.is_categorical_.tolist() == [False] * 4 + [True]
    np.testing.assert_allclose(model.classifier.thresholds_, alone.thresholds_, rtol=0, atol=1e-6)
    model.write().save(str(tmp_path / "model"))
    again = SparkXGBOrdinalClassifierModel.load(str(tmp_path / "model"))
    proba = np.stack([vector.toArray() for vector in again.transform(indexed).toPandas()["probability"]])
    np.testing.assert_allclose(proba, alone.predict_proba(rows[given["features_col"]]), atol=1e-5)
    unseen = again.transform(indexed.withColumn("code", functions.lit(7.0))).toPandas()["probability"]
    missing = alone.predict_proba(rows[given["features_col"]].assign(code=np.nan))  # as on one machine
    np.testing.assert_allclose(np.stack([vector.toArray() for vector in unseen]), missing, atol=1e-5)
    assert np.abs(missing - proba).max() > 0.01


def test_an_empty_partition(session):
    parts = session.createDataFrame(data().assign(same=0)).repartition(2, "same")
    assert sorted(parts.rdd.glom().map(len).collect()) == [0, 1500]
    assert_same(oxgb_spark.train(parts, PARAMS, 12, **COLUMNS), oxgb.train(PARAMS, matrix(data()), 12))


@pytest.mark.parametrize("kind", ["boolean", "int", "double"])
def test_null_says_that_a_row_is_not_held_out(session, kind):
    frame = data().assign(third=np.arange(1500) % 3)
    held_out = functions.when(functions.col("third") == 0, True).cast(kind)
    if kind == "double":  # as pandas hands over null
        held_out = functions.coalesce(held_out, functions.lit(float("nan")))
    dataset = session.createDataFrame(frame).repartition(2).withColumn("held_out", held_out)
    fit, held = (frame[(frame["third"] == 0) == which] for which in (False, True))
    booster = oxgb_spark.train(dataset, PARAMS, 5, **COLUMNS, validation="held_out")
    assert_same(booster, oxgb.train(PARAMS, matrix(fit), 5))
    options = OPTIONS | {"classes": None, "n_estimators": 5, "class_weight": "balanced"}
    given = {"features_col": FEATURES, "label_col": "y", "validation_indicator_col": "held_out"}
    model = SparkXGBOrdinalClassifier(**given, **options).fit(dataset).classifier
    sets = [(held[FEATURES], held["y"])]
    alone = XGBOrdinalClassifier(**options).fit(fit[FEATURES], fit["y"], eval_set=sets)
    np.testing.assert_allclose(model.thresholds_, alone.thresholds_, rtol=0, atol=1e-6)
    losses = [
        one.evals_result_[name]["all_threshold"] for one, name in ((model, "validation"), (alone, "validation_0"))
    ]
    np.testing.assert_allclose(*losses, rtol=1e-6)


def test_a_model_is_continued_with_its_thresholds(session, tmp_path):
    dataset = session.createDataFrame(data())
    settings = {"max_depth": 3, "subsample": 1.0}  # each task would draw from its own rows
    options = {"features_col": FEATURES, "label_col": "y", "num_workers": 2, **settings}
    first = SparkXGBOrdinalClassifier(n_estimators=4, **options).fit(dataset)
    for before in (first, first.classifier, first.get_booster()):
        estimator = SparkXGBOrdinalClassifier(n_estimators=3, xgb_model=before, **options)
    estimator.write().overwrite().save(str(tmp_path / "estimator"))
    model = SparkXGBOrdinalClassifier.load(str(tmp_path / "estimator")).fit(dataset)
    frame = data()
    alone = XGBOrdinalClassifier(n_estimators=4, **settings).fit(frame[FEATURES], frame["y"])
    more = XGBOrdinalClassifier(n_estimators=3, **settings).fit(frame[FEATURES], frame["y"], xgb_model=alone)
    np.testing.assert_allclose(model.classifier.thresholds_, more.thresholds_, atol=1e-5)
    history = model.training_summary.train_objective_history["all_threshold"]
    np.testing.assert_allclose(history, more.training_loss_[5:], rtol=1e-5)
    with pytest.raises(ValueError, match="xgb_model"):
        SparkXGBOrdinalClassifier(xgb_model=first, classes=range(9), **options).fit(dataset)
    with pytest.raises(ValueError, match="xgb_model"):
        SparkXGBOrdinalClassifier(xgb_model=3)


def test_contributions_of_features_add_up_to_the_score(session):
    dataset = session.createDataFrame(data().assign(held_out=np.arange(1500) % 3 == 0))
    model = SparkXGBOrdinalClassifier(
        features_col=FEATURES,
        label_col="y",
        n_estimators=40,
        learning_rate=0.5,
        early_stopping_rounds=3,
        validation_indicator_col="held_out",
        pred_contrib_col="why",
    ).fit(dataset)
    found = model.transform(dataset).toPandas()
    why = np.stack(found["why"])
    assert why.shape == (1500, len(FEATURES) + 1)
    np.testing.assert_allclose(why.sum(axis=1), model.classifier.predict_raw(found[FEATURES]), atol=1e-4)
    history = model.training_summary.validation_objective_history["all_threshold"]
    assert (
        len(history) == len(model.training_summary.train_objective_history["all_threshold"]) > model.classifier.n_iter_
    )


@pytest.mark.parametrize("tree_method", ["hist", "approx"])
def test_sparse_vectors_stay_sparse_and_their_zeros_are_missing(session, tmp_path, tree_method):
    frame = data().fillna(0.0)
    frame[FEATURES] *= np.random.default_rng(1).random((1500, 4)) < 0.5
    rows = session.createDataFrame(frame).repartition(2)
    dataset = VectorAssembler(inputCols=FEATURES, outputCol="features").transform(rows)
    kinds = {type(row["features"]).__name__ for row in dataset.select("features").collect()}
    assert kinds == {"SparseVector", "DenseVector"}
    options = OPTIONS | {"classes": None, "tree_method": tree_method}
    estimator = SparkXGBOrdinalClassifier(label_col="y", enable_sparse_data_optim=True, missing=0.0, **options)
    estimator.fit(dataset).write().save(str(tmp_path / "model"))
    model = SparkXGBOrdinalClassifierModel.load(str(tmp_path / "model"))
    alone = XGBOrdinalClassifier(**options).fit(csr_matrix(frame[FEATURES]), frame["y"])
    np.testing.assert_allclose(model.classifier.thresholds_, alone.thresholds_, rtol=0, atol=1e-6)
    found = model.transform(dataset).toPandas()
    proba = np.stack([vector.toArray() for vector in found["probability"]])
    np.testing.assert_allclose(proba, alone.predict_proba(csr_matrix(found[FEATURES])), atol=1e-5)
    dense = SparkXGBOrdinalClassifier(label_col="y", **options).fit(dataset).classifier  # where 0 is a number
    assert np.abs(dense.thresholds_ - alone.thresholds_).max() > 1e-3
    with pytest.raises(ValueError, match="enable_sparse_data_optim"):
        SparkXGBOrdinalClassifier(label_col="y", features_col=FEATURES, enable_sparse_data_optim=True).fit(rows)
    with pytest.raises(ValueError, match="missing"):
        SparkXGBOrdinalClassifier(missing=0.0)


def test_a_task_takes_the_gpu_that_spark_has_given_it():
    given = {"gpu": ResourceInformation("gpu", ["3", "1"])}
    assert oxgb_spark.device_of_task({"device": "cuda"}, given) == {"device": "cuda:3"}
    assert oxgb_spark.device_of_task({"device": "cuda"}, {}) == {}
    for params in ({"device": "cuda:2"}, {"device": "cpu"}, {}):
        assert oxgb_spark.device_of_task(params, given) == {}


THROUGH_CONNECT = """
import sys

import numpy as np
import pandas as pd
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import SparkSession

from ordinal_objectives.adapters.xgb import spark as oxgb_spark
from ordinal_objectives.adapters.xgb.spark_estimator import SparkXGBOrdinalClassifier

frame = pd.read_parquet(sys.argv[1])
session = SparkSession.builder.remote("local[2]").getOrCreate()
rows = session.createDataFrame(frame)
booster = oxgb_spark.train(rows, {"max_depth": 4}, 5, features=list("abcd"), label="y", n_workers=2)
booster.save_model(sys.argv[2])
vectors = VectorAssembler(inputCols=list("abcd"), outputCol="features", handleInvalid="keep").transform(rows)
options = {"label_col": "y", "n_estimators": 5, "max_depth": 4, "subsample": 1.0, "num_workers": 2}
for is_sparse in (False, True):
    model = SparkXGBOrdinalClassifier(enable_sparse_data_optim=is_sparse, **options).fit(vectors)
    found = model.transform(vectors).select("y", "probability").toPandas()
    proba = np.stack([vector.toArray() for vector in found["probability"]])
    np.savez(f"{sys.argv[2]}-{is_sparse}.npz", thresholds=model.classifier.thresholds_, proba=proba)
session.stop()
"""


def test_through_spark_connect(tmp_path):
    """In a process of its own: a session of Spark Connect does not start beside another one."""
    pytest.importorskip("grpc")
    frame = data()
    frame.to_parquet(tmp_path / "rows.parquet")
    model = str(tmp_path / "model.ubj")
    command = [sys.executable, "-W", "ignore", "-c", THROUGH_CONNECT, str(tmp_path / "rows.parquet"), model]
    subprocess.run(command, check=True, timeout=300, env={**os.environ, "PYSPARK_PYTHON": sys.executable}, cwd=tmp_path)
    unweighted = xgboost.DMatrix(frame[FEATURES], frame["y"])
    expected = oxgb.train({"max_depth": 4}, unweighted, 5)
    assert_same(xgboost.Booster(model_file=model), expected)
    for is_sparse, rows in ((False, frame[FEATURES].to_numpy()), (True, csr_matrix(frame[FEATURES]))):
        alone = XGBOrdinalClassifier(n_estimators=5, max_depth=4, subsample=1.0).fit(rows, frame["y"])
        found = np.load(f"{model}-{is_sparse}.npz")
        np.testing.assert_allclose(found["thresholds"], alone.thresholds_, atol=1e-6)
        np.testing.assert_allclose(found["proba"], alone.predict_proba(rows), atol=1e-5)
