"""Training on Spark: the tasks of a barrier stage are XGBoost's workers. Predictions are columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import xgboost
from xgboost.collective import CommunicatorContext, get_rank
from xgboost.tracker import RabitTracker

from ordinal_objectives.adapters.xgb.prediction import predict, predict_proba
from ordinal_objectives.adapters.xgb.train import train as train_here
from ordinal_objectives.aliases import Params
from ordinal_objectives.utils.extras import optional
from ordinal_objectives.utils.shared_docs import documented

if TYPE_CHECKING:
    import pandas
    from pyspark.sql import DataFrame

__all__ = ["train", "transform"]


@documented(like=train_here)
def train(
    dataset: DataFrame,
    params: Mapping[str, Any],
    num_boost_round: int = 10,
    *,
    features: Sequence[str],
    label: str = "label",
    weight: str | None = None,
    validation: str | None = None,
    n_workers: int | None = None,
    feature_types: Sequence[str] | None = None,
    **options: Any,
) -> xgboost.Booster:
    """Train an ordinal model on Spark: :func:`ordinal_objectives.adapters.xgb.train` on the tasks of a barrier stage.

    Each task has its own partition, and the sums over rows are added up by XGBoost's allreduce. Only the model comes to
    the driver. ``nthread`` is the CPUs of a task, unless ``params`` has it.

    Parameters
    ----------
    dataset : pyspark.sql.DataFrame
        Rows to train on, and those to evaluate.
    <<params, num_boost_round>>
    features : sequence of str
        Columns of numbers; null and NaN are missing.
    label : str, default="label"
        Column of class codes, from 0 on; a partition may lack some.
    weight : str or None, default=None
        Column of weights.
    validation : str or None, default=None
        Column that is true where a row is evaluated after each round, as "validation", and not trained on.
    n_workers : int or None, default=None
        The dataset is divided anew for so many tasks; None takes its partitions as they are. All run at once: Spark
        waits ten minutes for more than it has slots, and then says so (SPARK-24819).
    feature_types : sequence of str or None, default=None
        XGBoost's types of the features: "c" for a category, by the codes of Spark's ``StringIndexer``, and "q".
    **options
        Other arguments of :func:`ordinal_objectives.adapters.xgb.train`, such as ``threshold_update`` and
        ``early_stopping_rounds``. Each task has a copy.

    Returns
    -------
    xgboost.Booster
        Carries its thresholds.

    Raises
    ------
    TypeError
        If the dataset is none of Spark, or the features are one name.
    pyspark.errors.PySparkException, py4j.protocol.Py4JError
        If a task is lost, or meets an error; the message holds it.

    Examples
    --------
    >>> from ordinal_objectives.adapters.xgb import spark as oxgb_spark
    >>> params = {"max_depth": 3}
    >>> booster = oxgb_spark.train(  # doctest: +SKIP
    ...     patients, params, 50, features=["age", "dose"], label="grade", n_workers=8
    ... )
    >>> oxgb_spark.transform(booster, patients).select("prediction", "probability").show()  # doctest: +SKIP
    """
    inputs = list(features)
    columns = [*inputs, label, *(name for name in (weight, validation) if name is not None)]

    def matrix(rows: pandas.DataFrame) -> xgboost.DMatrix:
        given = {"weight": None if weight is None else rows[weight], "feature_types": feature_types}
        return xgboost.DMatrix(rows[inputs], rows[label], enable_categorical=True, **given)

    def train_rows(here: Mapping[str, Any], dtrain: xgboost.DMatrix, **evaluated: Any) -> xgboost.Booster:
        given = {"verbose_eval": False, **options, **evaluated}
        return train_here({**here, **params}, dtrain, num_boost_round, **given)

    rows = with_held_out(dataset.select(columns), validation)
    return train_on_tasks(rows, matrix, train_rows, validation, n_workers)[0]


def with_held_out(dataset: DataFrame, validation: str | None) -> DataFrame:
    """Return rows whose column of those to evaluate is true or false: null and NaN are false, texts are read."""
    if validation is None:
        return dataset
    functions = optional("pyspark.sql.functions", "spark")
    given = functions.col(validation)  # NaN would be true
    is_float = dataset.select(validation).dtypes[0][1] in ("float", "double")
    held_out = (functions.nanvl(given, functions.lit(0.0)) if is_float else given).cast("boolean")
    return dataset.withColumn(validation, functions.coalesce(held_out, functions.lit(False)))


def train_on_tasks(
    dataset: DataFrame,
    matrix: Callable[[Any], xgboost.DMatrix],
    train_rows: Callable[..., xgboost.Booster],
    validation: str | None,
    n_workers: int | None,
) -> tuple[xgboost.Booster, Params]:
    """Train on the tasks of a barrier stage; return the booster and the history of the evaluation set.

    Parameters
    ----------
    dataset : pyspark.sql.DataFrame
    matrix : callable
        ``matrix(rows)`` of a pandas frame, which may be empty.
    train_rows : callable
        ``train_rows(params, dtrain, evals=, evals_result=)``, called by every task.
    validation : str or None
        Column of booleans, as :func:`with_held_out` makes it.
    n_workers : int or None
    """
    columns = dataset.columns

    def on_worker(batches: Iterator[Any]) -> Iterator[Any]:
        import pandas as pd
        from pyspark import BarrierTaskContext

        rows = pd.concat(list(batches) or [pd.DataFrame(columns=columns, dtype=float)], ignore_index=True)
        context = BarrierTaskContext.get()
        workers = context.getTaskInfos()
        # A stage that Spark tries again needs another tracker.
        tracker = None
        if context.partitionId() == 0:
            tracker = RabitTracker(len(workers), workers[0].address.partition(":")[0], sortby="task")
            tracker.start()
        sent = context.allGather(json.dumps(tracker and tracker.worker_args()))
        # Ranks in the order of the partitions add up in the same order each time.
        with CommunicatorContext(**json.loads(sent[0]), dmlc_task_id=f"{context.partitionId():08}"):
            evaluated, history = Params(), Params()
            if validation is not None:
                held_out = rows[validation].astype(bool)  # of no rows it has another type
                evaluated = {"evals": [(matrix(rows[held_out]), "validation")], "evals_result": history}
                rows = rows[~held_out]
            booster = train_rows({"nthread": context.cpus()}, matrix(rows), **evaluated)
            is_first = get_rank() == 0
        context.barrier()  # the tracker, which ends with its task, must wait until all have left
        if is_first:
            yield pd.DataFrame({"model": [bytes(booster.save_raw("ubj"))], "history": [json.dumps(history)]})

    partitions = dataset if n_workers is None else dataset.repartition(n_workers)
    (found,) = partitions.mapInPandas(on_worker, "model binary, history string", barrier=True).collect()
    return xgboost.Booster(model_file=bytearray(found["model"])), json.loads(found["history"])


@documented
def transform(
    booster: xgboost.Booster,
    dataset: DataFrame,
    *,
    prediction: str = "prediction",
    probability: str = "probability",
    decision_rule: str = "median",
) -> DataFrame:
    """Add the columns of class codes and of probabilities.

    Parameters
    ----------
    booster : xgboost.Booster
        What :func:`train` returned.
    dataset : pyspark.sql.DataFrame
        With the columns of features of the training.
    prediction : str, default="prediction"
        New column of class codes, as doubles.
    probability : str, default="probability"
        New column of probabilities, as vectors of ``pyspark.ml``.
    <<decision_rule>>

    Returns
    -------
    pyspark.sql.DataFrame
        The dataset with two columns more.

    Examples
    --------
    >>> from ordinal_objectives.adapters.xgb import spark as oxgb_spark
    >>> graded = oxgb_spark.transform(booster, patients, decision_rule="mode")  # doctest: +SKIP
    """
    pd, functions = optional("pandas", "demo"), optional("pyspark.sql.functions", "spark")
    array_to_vector = optional("pyspark.ml.functions", "spark").array_to_vector

    def answer(rows: pandas.DataFrame) -> pandas.DataFrame:
        data = xgboost.DMatrix(rows, feature_types=booster.feature_types, enable_categorical=True)
        codes = predict(booster, data, decision_rule=decision_rule).astype(float)
        return pd.DataFrame({"code": codes, "proba": list(predict_proba(booster, data))})

    # From these Spark knows that it gets and returns several columns.
    answer.__annotations__.update({"rows": pd.DataFrame, "return": pd.DataFrame})
    answers = functions.pandas_udf(answer, "code double, proba array<double>")
    both = dataset.withColumn("_ordinal", answers(functions.struct(*booster.feature_names)))
    code, proba = functions.col("_ordinal.code"), functions.col("_ordinal.proba")
    return both.withColumns({prediction: code, probability: array_to_vector(proba)}).drop("_ordinal")
