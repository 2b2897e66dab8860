"""XGBoost on Spark: the thresholds of one machine, from two tasks."""

from __future__ import annotations

import os
import re
import signal
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
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import SparkSession, functions
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
        assert list(found) == [*frame, "prediction", "probability"]
        np.testing.assert_array_equal(found["prediction"], model.classifier.predict(found[FEATURES]))
        proba = np.stack([vector.toArray() for vector in found["probability"]])
        np.testing.assert_allclose(proba, alone.predict_proba_ordered(found[FEATURES]), atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*Pool.__del__:pytest.PytestUnraisableExceptionWarning")  # of the cross validator
@pytest.mark.filterwarnings("ignore:unclosed running multiprocessing pool:ResourceWarning")
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


def test_codes_of_categories_and_other_types_of_numbers(session):
    frame = data().astype({"a": "float32", "w": "float32", "y": "int16"}).assign(d=data()["d"].fillna(0.5) * 25 // 5)
    dataset = session.createDataFrame(frame).repartition(2)
    types = {"feature_types": ["q", "q", "q", "c"]}
    booster = oxgb_spark.train(dataset, PARAMS, 12, **COLUMNS, **types)
    rows = xgboost.DMatrix(frame[FEATURES], frame["y"], weight=frame["w"], **types, enable_categorical=True)
    expected = oxgb.train(PARAMS, rows, 12)
    record, alone = oxgb.threshold_record(booster), oxgb.threshold_record(expected)
    np.testing.assert_allclose(record.thresholds, alone.thresholds, rtol=0, atol=1e-6)
    found = oxgb_spark.transform(booster, dataset).toPandas()
    again = xgboost.DMatrix(found[FEATURES], **types, enable_categorical=True)
    np.testing.assert_array_equal(found["prediction"], oxgb.predict(booster, again))


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


def test_decimal_labels_and_the_decision_of_a_call(session, tmp_path):
    dataset = session.createDataFrame(data()).repartition(2)
    dataset = dataset.withColumn("grade", (functions.col("y") / 2).cast("decimal(10,2)"))
    options = OPTIONS | {"classes": [0, 0.5, 1, 1.5, 2], "n_estimators": 5}
    model = SparkXGBOrdinalClassifier(features_col=FEATURES, label_col="grade", **options).fit(dataset)
    model.write().save(str(tmp_path / "model"))
    again = SparkXGBOrdinalClassifierModel.load(str(tmp_path / "model"))
    modes = again.transform(dataset, {again.decision_rule: "mode"})
    assert dict(modes.dtypes)["prediction"] == "double"
    found, medians = modes.toPandas(), again.transform(dataset).toPandas()["prediction"]
    proba = np.stack([vector.toArray() for vector in found["probability"]])
    np.testing.assert_array_equal(found["prediction"], proba.argmax(axis=1) / 2)
    assert (found["prediction"] != medians).any()
    assert set(medians) <= {0, 0.5, 1, 1.5, 2}


def test_what_the_estimator_refuses(session):
    dataset = session.createDataFrame(labelled())
    dated = dataset.withColumn("day", functions.lit("2026-01-01").cast("timestamp"))
    for column, kind in (("day", "timestamp"), ("grade", "string")):
        with pytest.raises(ValueError, match=f"must name columns of numbers; got '{column}' of type {kind}"):
            SparkXGBOrdinalClassifier(features_col=["a", column], label_col="y").fit(dated)
    given = {"features_col": FEATURES, "label_col": "grade"}
    with pytest.raises(ValueError, match="linear must be left out on Spark"):
        SparkXGBOrdinalClassifier(**given, linear=True)
    with pytest.raises(ValueError, match=r"early_stopping_rounds.*validation_indicator_col"):
        SparkXGBOrdinalClassifier(**given, **OPTIONS, early_stopping_rounds=3).fit(dataset)
    with pytest.raises(ValueError, match="outside the classes"):
        SparkXGBOrdinalClassifier(**given, **OPTIONS | {"classes": NAMES[:4]}).fit(dataset)
    with pytest.raises(TypeError, match="max_deep"):
        SparkXGBOrdinalClassifier(**given, **OPTIONS, max_deep=3).fit(dataset)
