"""Training on Spark: the tasks of a barrier stage are XGBoost's workers. Predictions are columns."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xgboost
from scipy.sparse import issparse, vstack
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
    the driver. ``nthread`` is the CPUs of a task, unless ``params`` has it, and ``device="cuda"`` is the GPU that Spark
    has given it.

    Parameters
    ----------
    dataset : pyspark.sql.DataFrame
        Rows to train on, and those to evaluate.
    <<params, num_boost_round>>
    features : sequence of str
        Columns of numbers; null and NaN are missing. Rows go to XGBoost batch by batch as float32, into its quantiles
        where ``tree_method`` is "hist".
    label : str, default="label"
        Column of class codes, from 0 on; a partition may lack some.
    weight : str or None, default=None
        Column of weights.
    validation : str or None, default=None
        Column that is true where a row is evaluated after each round, as "validation", and not trained on.
    n_workers : int or None, default=None
        The dataset is divided anew for so many tasks, which all run at once; None takes its partitions, joined where
        there are more than tasks that can.
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
    ValueError
        If XGBoost has no such parameter, or fewer than ``n_workers`` tasks can run at once.
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

    def matrix(rows: pandas.DataFrame) -> Params:
        given = {"weight": None if weight is None else rows[weight], "feature_names": inputs}
        return {"data": as_float32(rows[inputs]), "label": rows[label], "feature_types": feature_types, **given}

    def train_rows(params: Mapping[str, Any], dtrain: xgboost.DMatrix, **evaluated: Any) -> xgboost.Booster:
        given = {"verbose_eval": False, **options, **evaluated}
        return train_here(params, dtrain, num_boost_round, **given)

    refuse_unused(params, len(inputs))
    rows = with_held_out(dataset.select(columns), validation)
    return train_on_tasks(rows, matrix, train_rows, params, validation, n_workers)[0]


def as_float32(rows: pandas.DataFrame) -> Any:
    """Return columns of numbers as XGBoost keeps them, (n_rows, n_columns)."""
    return rows.to_numpy(dtype=np.float32, na_value=np.nan)


def refuse_unused(params: Mapping[str, Any], n_features: int) -> None:
    """Raise ValueError if XGBoost says that it does not use one of the parameters: on tasks nobody would read it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        asked = {"verbosity": 1, "validate_parameters": True, "num_feature": n_features}
        xgboost.Booster({**params, **asked}).save_config()  # which reads the parameters
    for one in said:
        unused = re.search(r"Parameters: \{ (.*) \} are not used", str(one.message))
        if unused:
            raise ValueError(f"params must be parameters of xgboost.train; got {unused[1]}, which XGBoost does not use")


def with_held_out(dataset: DataFrame, validation: str | None) -> DataFrame:
    """Return rows whose column of those to evaluate is true or false: null and NaN are false, texts are read."""
    if validation is None:
        return dataset
    functions = optional("pyspark.sql.functions", "spark")
    given = functions.col(validation)  # NaN would be true
    is_float = dataset.select(validation).dtypes[0][1] in ("float", "double")
    held_out = (functions.nanvl(given, functions.lit(0.0)) if is_float else given).cast("boolean")
    return dataset.withColumn(validation, functions.coalesce(held_out, functions.lit(False)))


class _Batches(xgboost.DataIter):  # type: ignore[misc]
    """Batches of rows, which XGBoost reads more than once."""

    def __init__(self, batches: list[Params]) -> None:
        self._batches, self._next = batches, 0
        super().__init__()

    def next(self, input_data: Callable[..., Any]) -> bool:
        if self._next == len(self._batches):
            return False
        input_data(**self._batches[self._next])
        self._next += 1
        return True

    def reset(self) -> None:
        self._next = 0


def joined(batches: list[Params], params: Mapping[str, Any], ref: xgboost.DMatrix | None = None) -> xgboost.DMatrix:
    """Return the matrix of batches: of quantiles, a byte or two a number, where trees are grown from these."""
    if params.get("tree_method") in (None, "auto", "hist"):
        return xgboost.QuantileDMatrix(
            _Batches(batches), ref=ref, max_bin=params.get("max_bin"), enable_categorical=True
        )
    names = ("feature_names", "feature_types")
    rows = {
        name: value if name in names or value is None else _stacked([batch[name] for batch in batches])
        for name, value in batches[0].items()
    }
    return xgboost.DMatrix(**rows, enable_categorical=True)


def _stacked(parts: list[Any]) -> Any:
    """Return the rows of several parts, arrays or sparse matrices."""
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def device_of_task(params: Mapping[str, Any], resources: Mapping[str, Any]) -> Params:
    """Return the device of a task: of the GPUs that Spark has given it the first, where one is asked for by no number.

    In Spark's local mode a task has no resources, and takes XGBoost's first GPU.
    """
    if params.get("device") not in ("cuda", "gpu") or "gpu" not in resources:
        return {}
    return {"device": f"cuda:{int(resources['gpu'].addresses[0])}"}


def _on_slots(dataset: DataFrame, n_workers: int | None) -> DataFrame:
    """Return the dataset in as many partitions as tasks train: all of them run at once, so there is a slot for each."""
    try:
        spark = dataset.sparkSession.sparkContext._jsc.sc()
        n_slots = spark.maxNumConcurrentTasks(spark.resourceProfileManager().resourceProfileFromId(0))
    except AttributeError:  # Spark Connect does not tell
        return dataset if n_workers is None else dataset.repartition(n_workers)
    if n_workers is None:
        return dataset.coalesce(max(n_slots, 1))
    if n_workers > n_slots:
        given = f"num_workers (in train n_workers) must be at most the {n_slots} task(s) that can run at once"
        raise ValueError(f"{given}; got {n_workers}")
    return dataset.repartition(n_workers)


def train_on_tasks(
    dataset: DataFrame,
    matrix: Callable[[Any], Params],
    train_rows: Callable[..., xgboost.Booster],
    params: Mapping[str, Any],
    validation: str | None,
    n_workers: int | None,
) -> tuple[xgboost.Booster, Params]:
    """Train on the tasks of a barrier stage; return the booster and the history of the evaluation set.

    Parameters
    ----------
    dataset : pyspark.sql.DataFrame
    matrix : callable
        ``matrix(rows)`` of a pandas frame, which may be empty: what a matrix of XGBoost is given.
    train_rows : callable
        ``train_rows(params, dtrain, evals=, evals_result=)``, called by every task.
    params : dict of str to object
    validation : str or None
        Column of booleans, as :func:`with_held_out` makes it.
    n_workers : int or None
    """
    columns, dataset = dataset.columns, _on_slots(dataset, n_workers)

    def on_worker(frames: Iterator[Any]) -> Iterator[Any]:
        import pandas as pd
        from pyspark import BarrierTaskContext

        empty = pd.DataFrame(columns=columns, dtype=float)
        fit, held_out = list[Params](), list[Params]()
        for rows in frames:
            if validation is not None:
                held = rows[validation].astype(bool)
                held_out.append(matrix(rows[held]))
                rows = rows[~held]
            fit.append(matrix(rows))
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
            dtrain = joined(fit or [matrix(empty)], params)
            evaluated, history = dict[str, Any](), dict[str, Any]()
            if validation is not None:
                dvalid = joined(held_out or [matrix(empty)], params, dtrain)
                evaluated = {"evals": [(dvalid, "validation")], "evals_result": history}
            of_task = device_of_task(params, context.resources())
            booster = train_rows({"nthread": context.cpus(), **params, **of_task}, dtrain, **evaluated)
            is_first = get_rank() == 0
        context.barrier()  # the tracker, which ends with its task, must wait until all have left
        if is_first:
            yield pd.DataFrame({"model": [bytes(booster.save_raw("ubj"))], "history": [json.dumps(history)]})

    (found,) = dataset.mapInPandas(on_worker, "model binary, history string", barrier=True).collect()
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
