"""The XGBoost classifier as an estimator of Spark ML."""

# mypy: allow-subclassing-any, allow-untyped-decorators

from __future__ import annotations

import inspect
import tempfile
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xgboost

from ordinal_objectives.utils.extras import not_installed

try:
    from pyspark import keyword_only
    from pyspark.ml import Estimator, Model
    from pyspark.ml.functions import array_to_vector, vector_to_array
    from pyspark.ml.param import Param, Params as HasParams
    from pyspark.ml.param.shared import (
        HasLabelCol,
        HasPredictionCol,
        HasProbabilityCol,
        HasValidationIndicatorCol,
        HasWeightCol,
    )
    from pyspark.ml.util import (
        DefaultParamsReadable,
        DefaultParamsReader,
        DefaultParamsWritable,
        DefaultParamsWriter,
        MLReadable,
        MLReader,
        MLWritable,
        MLWriter,
    )
    from pyspark.sql import DataFrame, functions
except ImportError as error:
    raise not_installed(error, "xgboost", "spark") from None

from ordinal_objectives.adapters.xgb import booster as xgb_booster, spark as xgb_spark
from ordinal_objectives.adapters.xgb.estimator import XGBOrdinalClassifier
from ordinal_objectives.adapters.xgb.host import XGBOOST
from ordinal_objectives.adapters.xgb.train import train_spec
from ordinal_objectives.aliases import FloatArray, Params
from ordinal_objectives.columns import Columns
from ordinal_objectives.estimators import arguments
from ordinal_objectives.estimators.held_out import rounds_unsearched
from ordinal_objectives.estimators.host_classifier import begin_on_cluster, refuse_on_cluster
from ordinal_objectives.estimators.labels import OrderedLabels

if TYPE_CHECKING:
    import pandas

__all__ = ["SparkXGBOrdinalClassifier", "SparkXGBOrdinalClassifierModel"]

# Parameters of the classifier in memory that need all rows in one place, or belong to matrices and processes.
_NOT_ON_SPARK = frozenset(
    ("callbacks", "enable_categorical", "eval_metric", "feature_weights")
    + ("linear", "linear_l2", "missing", "progress", "validation_fraction")
)
_OF_CLASSIFIER = [
    parameter.name
    for parameter in inspect.signature(arguments.class_with_constructor(XGBOrdinalClassifier)).parameters.values()
    if parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in _NOT_ON_SPARK
]


# Spark's names of types.
_NUMBERS = {"tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "boolean", "void"}
_FEATURES, _CODE, _WEIGHT = "_ordinal_features", "_ordinal_code", "_ordinal_weight"
_DEFAULTS = {
    "featuresCol": "features",
    "labelCol": "label",
    "predictionCol": "prediction",
    "probabilityCol": "probability",
}


class _Columns(HasLabelCol, HasPredictionCol, HasProbabilityCol, HasValidationIndicatorCol, HasWeightCol):
    """Names of columns, and everything else that an estimator and its model are asked for."""

    def _features(self, dataset: DataFrame) -> Any:
        """Return the column of an array with the features of each row."""
        given = self.getOrDefault("featuresCol")
        if isinstance(given, str):
            return vector_to_array(given)
        # Spark would cast dates to seconds, and text, with some settings, to null.
        others = [
            (name, kind) for name, kind in dataset.select(*given).dtypes if kind.partition("(")[0] not in _NUMBERS
        ]
        if others:
            raise ValueError(f"features_col must name columns of numbers; got {others[0][0]!r} of type {others[0][1]}")
        return functions.array(*(functions.col(name).cast("double") for name in given))


for _name, _words in {
    "featuresCol": "column of vectors, or a list of columns of numbers; null and NaN are missing",
    "numWorkers": "tasks that train; if unset, as many as the dataset has partitions",
    "hostParams": "other parameters of xgboost.train, by their names",
    **{name: f"{name} of XGBOrdinalClassifier" for name in _OF_CLASSIFIER},
}.items():
    setattr(_Columns, _name, Param(HasParams._dummy(), _name, _words))


class SparkXGBOrdinalClassifier(Estimator, _Columns, DefaultParamsReadable, DefaultParamsWritable):
    """Ordinal classifier trained on Spark, with the conventions of ``xgboost.spark.SparkXGBClassifier``.

    Rows stay with the tasks of a barrier stage, and sums over them are added up by XGBoost's allreduce; only the model
    and the distinct labels come to the driver. It fits into a ``Pipeline``, a ``CrossValidator``, and Spark's files.

    Parameters
    ----------
    features_col : str or list of str, default="features"
        A column of vectors, or several of numbers; null and NaN are missing.
    label_col : str, default="label"
        Labels: text or numbers. Their order is ``classes``, or that of the numbers.
    weight_col : str or None, default=None
        Weights of the rows.
    validation_indicator_col : str or None, default=None
        True where a row is evaluated after each round, and not trained on; ``early_stopping_rounds`` looks at these.
    prediction_col : str, default="prediction"
        New column of labels: text, or doubles where labels are numbers.
    probability_col : str, default="probability"
        New column of vectors: the probabilities of the classes from the lowest on.
    num_workers : int or None, default=None
        The dataset is divided anew for so many tasks; None takes its partitions as they are. All run at once: Spark
        waits ten minutes for more than it has slots, and then says so (SPARK-24819).
    **params
        Those of :class:`.estimator.XGBOrdinalClassifier`, each a ``Param`` of the same name, and others of
        :func:`xgboost.train`. What needs all rows in one place is refused; "auto" takes 100 rounds and 4 levels. Where
        ``feature_types`` has "c", a feature is a category, by the codes of Spark's ``StringIndexer``.

    Examples
    --------
    >>> from ordinal_objectives.adapters.xgb.spark_estimator import SparkXGBOrdinalClassifier
    >>> grades = ["none", "mild", "severe"]
    >>> estimator = SparkXGBOrdinalClassifier(label_col="grade", classes=grades, num_workers=8)  # doctest: +SKIP
    >>> graded = estimator.fit(patients).transform(patients)  # doctest: +SKIP
    """

    @keyword_only
    def __init__(
        self,
        *,
        features_col: str | list[str] = "features",
        label_col: str = "label",
        weight_col: str | None = None,
        validation_indicator_col: str | None = None,
        prediction_col: str = "prediction",
        probability_col: str = "probability",
        num_workers: int | None = None,
        **params: Any,
    ) -> None:
        super().__init__()
        self._setDefault(**_DEFAULTS)
        self.setParams(**self._input_kwargs)

    def setParams(self, **params: Any) -> SparkXGBOrdinalClassifier:
        """Set parameters by the names of the constructor.

        Parameters
        ----------
        **params
            None leaves one as it is.

        Returns
        -------
        SparkXGBOrdinalClassifier
        """
        refused = sorted(_NOT_ON_SPARK & params.keys())
        if refused:
            raise ValueError(f"{', '.join(refused)} must be left out on Spark, where no task has all rows")
        for name, value in params.items():
            if value is None:
                continue
            head, *words = name.split("_")
            spark_name = (
                "".join([head, *map(str.title, words)]) if name.endswith("_col") or name == "num_workers" else name
            )
            if self.hasParam(spark_name):
                self._set(**{spark_name: value.tolist() if isinstance(value, np.ndarray) else value})
            else:
                others = self.getOrDefault(self.hostParams) if self.isSet(self.hostParams) else {}
                self._set(hostParams={**others, name: value})
        return self

    def _asked(self, name: str) -> Any:
        return self.getOrDefault(name) if self.isDefined(name) else None

    def _fit(self, dataset: DataFrame) -> SparkXGBOrdinalClassifierModel:
        given = {name: self.getOrDefault(name) for name in _OF_CLASSIFIER if self.isSet(name)}
        classifier = XGBOrdinalClassifier(**given, **(self._asked("hostParams") or {}))
        with classifier._all_or_nothing():
            self._fit_classifier(classifier, dataset)
        return self._copyValues(SparkXGBOrdinalClassifierModel(classifier))

    def _fit_classifier(self, classifier: XGBOrdinalClassifier, dataset: DataFrame) -> None:
        refuse_on_cluster(classifier, {})
        label, weight, held_out = (self._asked(name) for name in ("labelCol", "weightCol", "validationIndicatorCol"))
        rounds, instead = classifier.early_stopping_rounds, "validation_indicator_col"
        arguments.check_rounds("early_stopping_rounds", rounds, int(held_out is not None), instead=instead)
        dataset = xgb_spark.with_held_out(dataset, held_out)
        if dataset.select(label).dtypes[0][1].startswith("decimal"):  # which NumPy knows as objects
            dataset = dataset.withColumn(label, functions.col(label).cast("double"))
        found = np.array([row[0] for row in dataset.select(label).distinct().collect()])
        classes = OrderedLabels(classifier.classes).fit(found)
        given = self.getOrDefault("featuresCol")
        rows = dataset.withColumn(_FEATURES, self._features(dataset))
        n_features = rows.select(functions.size(_FEATURES)).first()[0] if isinstance(given, str) else len(given)
        begin_on_cluster(classifier, classes, n_features)
        names = None if isinstance(given, str) else list(given)
        arguments.keep_names(classifier, names)
        levels = {}
        for place in (i for i, kind in enumerate(classifier.feature_types or ()) if kind == "c"):
            occurring = rows.select(functions.col(_FEATURES)[place]).dropna().distinct().collect()
            levels[place] = [float(code) for (code,) in sorted(occurring)]
        known = classifier.columns_ = Columns(n_features, levels, names)
        types = XGBOOST.feature_types(classifier)
        codes = dict(zip(found.tolist(), classes.encode(found).tolist(), strict=True))
        rows = rows.withColumn(_CODE, _looked_up(codes, label))
        weights = None if weight is None else functions.col(weight).cast("double")
        if classifier.class_weight is not None:
            trained_on = rows if held_out is None else rows.filter(~functions.col(held_out))
            counts = dict(trained_on.groupBy(_CODE).count().collect())
            of_class = classifier._class_weights(np.array([counts.get(k, 0) for k in range(classifier.n_classes_)]))
            factor = _looked_up(dict(enumerate(of_class.tolist())), _CODE)
            if held_out is not None:
                factor = functions.when(functions.col(held_out), 1.0).otherwise(factor)
            weights = factor if weights is None else factor * weights
        columns = [_FEATURES, _CODE] + ([] if held_out is None else [held_out])
        columns += [] if weights is None else [weights.alias(_WEIGHT)]

        def matrix(part: pandas.DataFrame) -> xgboost.DMatrix:
            weight = part[_WEIGHT].to_numpy() if _WEIGHT in part else None
            given = {"weight": weight, "feature_names": names, "feature_types": types, "enable_categorical": True}
            return xgboost.DMatrix(known.encode(_array(part[_FEATURES], n_features)), part[_CODE], **given)

        asked, params = (classifier._spec(), None), classifier._native_params()
        n_rounds = rounds_unsearched("n_estimators", classifier.n_estimators)
        carried = classifier._carried()

        def train_rows(here: Params, dtrain: xgboost.DMatrix, **evaluated: Any) -> xgboost.Booster:
            options = {"early_stopping_rounds": rounds, "verbose_eval": False, "carried": carried, **evaluated}
            return train_spec(asked, {**here, **params}, dtrain, n_rounds, **options)

        classifier.booster_, classifier.evals_result_ = xgb_spark.train_on_tasks(
            rows.select(columns), matrix, train_rows, held_out, self._asked("numWorkers")
        )
        classifier._keep(
            xgb_booster.threshold_record(classifier.booster_), xgb_booster.kept_rounds(classifier.booster_)
        )
        classifier._carry()


class SparkXGBOrdinalClassifierModel(Model, _Columns, MLReadable, MLWritable):
    """What :class:`SparkXGBOrdinalClassifier` fits: a transformer that adds labels and probabilities.

    Parameters
    ----------
    classifier : XGBOrdinalClassifier
        Fitted.

    Attributes
    ----------
    classifier : XGBOrdinalClassifier
        The same model for rows in memory.
    """

    def __init__(self, classifier: XGBOrdinalClassifier) -> None:
        super().__init__()
        self._setDefault(**_DEFAULTS)
        self.classifier = classifier

    def _transform(self, dataset: DataFrame) -> DataFrame:
        import pandas as pd

        decided = {name: self.getOrDefault(name) for name in ("decision_rule", "cost_matrix") if self.isSet(name)}
        classifier = copy(self.classifier).set_params(**decided)
        text = classifier.ordered_classes_.dtype.kind in "OU"
        names = getattr(classifier, "feature_names_in_", None)

        def answer(features: Any) -> Any:
            X = pd.DataFrame(_array(features, classifier.n_features_in_), columns=names)
            X = X if names is not None else X.to_numpy()
            labels = classifier.predict(X)
            proba = classifier.predict_proba_ordered(X)
            return pd.DataFrame({"label": labels.astype(str if text else float), "proba": list(proba)})

        answer.__annotations__.update({"features": pd.Series, "return": pd.DataFrame})
        answers = functions.pandas_udf(answer, f"label {'string' if text else 'double'}, proba array<double>")
        both = dataset.withColumn("_ordinal", answers(self._features(dataset)))
        label, proba = functions.col("_ordinal.label"), array_to_vector(functions.col("_ordinal.proba"))
        added = {self.getOrDefault("predictionCol"): label, self.getOrDefault("probabilityCol"): proba}
        return both.withColumns(added).drop("_ordinal")

    def write(self) -> MLWriter:
        """Return what writes the model as Spark does."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader[SparkXGBOrdinalClassifierModel]:
        """Return what reads a model that was written."""
        return _Reader()


class _Writer(MLWriter):
    def __init__(self, model: SparkXGBOrdinalClassifierModel) -> None:
        super().__init__()
        self._model = model

    def saveImpl(self, path: str) -> None:
        DefaultParamsWriter.saveMetadata(self._model, path, self.sparkSession)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.json"
            self._model.classifier.save_model(file)
            rows = [(bytearray(file.read_bytes()),)]
        self.sparkSession.createDataFrame(rows, "model binary").write.parquet(f"{path}/model")


class _Reader(MLReader[SparkXGBOrdinalClassifierModel]):
    def load(self, path: str) -> SparkXGBOrdinalClassifierModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.json"
            file.write_bytes(self.sparkSession.read.parquet(f"{path}/model").first()["model"])
            model = SparkXGBOrdinalClassifierModel(XGBOrdinalClassifier().load_model(file))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def _looked_up(values: dict[Any, Any], column: str) -> Any:
    """Return the column of the values that belong to the keys in another one."""
    pairs = [functions.lit(one) for pair in values.items() for one in pair]
    return functions.create_map(*pairs)[functions.col(column)]


def _array(features: Any, n_features: int) -> FloatArray:
    """Return a column of arrays as one, (n_samples, n_features); null is NaN."""
    return np.array(features.tolist(), dtype=np.float64).reshape(-1, n_features)
