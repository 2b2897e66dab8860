"""The XGBoost classifier as an estimator of Spark ML."""

# mypy: allow-subclassing-any, allow-untyped-decorators

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xgboost
from scipy.sparse import csr_matrix

from ordinal_objectives.utils.extras import not_installed

try:
    from pyspark import keyword_only
    from pyspark.ml import Estimator, Model
    from pyspark.ml.functions import array_to_vector, vector_to_array
    from pyspark.ml.param import Param, Params as HasParams, TypeConverters
    from pyspark.ml.param.shared import (
        HasFeaturesCol,
        HasLabelCol,
        HasPredictionCol,
        HasProbabilityCol,
        HasRawPredictionCol,
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
    from xgboost.spark.summary import XGBoostTrainingSummary
except ImportError as error:
    raise not_installed(error, "xgboost", "spark") from None

from ordinal_objectives.adapters.xgb import booster as xgb_booster, input_checks, spark as xgb_spark
from ordinal_objectives.adapters.xgb.estimator import XGBOrdinalClassifier
from ordinal_objectives.adapters.xgb.host import XGBOOST
from ordinal_objectives.adapters.xgb.train import train_spec
from ordinal_objectives.aliases import Params
from ordinal_objectives.columns import Columns
from ordinal_objectives.estimators import arguments
from ordinal_objectives.estimators.held_out import AUTO, rounds_unsearched
from ordinal_objectives.estimators.host_classifier import NO_METRICS, begin_on_cluster, refuse_on_cluster
from ordinal_objectives.estimators.labels import OrderedLabels

if TYPE_CHECKING:
    import pandas

__all__ = ["SparkXGBOrdinalClassifier", "SparkXGBOrdinalClassifierModel"]

# Parameters of the classifier in memory, and of xgboost.spark's, that are not taken, and why.
_NOT_ON_SPARK = {
    **dict.fromkeys(("feature_weights", "linear", "linear_l2", "validation_fraction"), "no task has all rows"),
    **dict.fromkeys(("callbacks", "progress", "verbose"), "tasks are processes of their own"),
    **dict.fromkeys(("coll_cfg", "launch_tracker_on_driver"), "the first task runs XGBoost's tracker"),
    **dict.fromkeys(("force_repartition", "repartition_random_shuffle"), "num_workers divides the rows anew"),
    "eval_metric": NO_METRICS,
    "missing": "null and NaN are missing, and 0 with enable_sparse_data_optim",
    "enable_categorical": "feature_types names categories",
    "feature_names": "they are those of features_col, where it is a list",
    "features_cols": "features_col takes a list",
    "arbitrary_params_dict": "other parameters of xgboost.train are taken by their names",
    "iteration_range": "predictions use the rounds up to the best one",
    "qid_col": "rows of one ranking have no classes",
}
_OF_CLASSIFIER = {
    parameter.name: parameter
    for parameter in inspect.signature(arguments.class_with_constructor(XGBOrdinalClassifier)).parameters.values()
    if parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in _NOT_ON_SPARK
}


# Spark's names of types.
_NUMBERS = {"tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "boolean", "void"}
_FEATURES, _CODE, _WEIGHT, _START = (f"_ordinal_{name}" for name in ("features", "code", "weight", "start"))
# The parts of a vector, sparse or dense.
_SIZE, _INDICES, _VALUES = (f"_ordinal_{name}" for name in ("size", "indices", "values"))
_BESIDE = {"weight": _WEIGHT, "base_margin": _START}
_DEFAULTS = {
    "featuresCol": "features",
    "labelCol": "label",
    "predictionCol": "prediction",
    "probabilityCol": "probability",
    "rawPredictionCol": "rawPrediction",
    "enable_sparse_data_optim": False,
}


def _plain(value: Any) -> Any:
    """Return a value as Spark can write it: a dict, whose keys would be text, as pairs."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, dict):
        return [[_plain(key), _plain(entry)] for key, entry in value.items()]
    return [_plain(entry) for entry in value] if isinstance(value, (list, tuple)) else value


def _as_text(model: Any) -> str:
    """Return a model to continue as the text that its file would hold, which Spark copies and writes."""
    if isinstance(model, str) and model.startswith('{"'):
        return model
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if not isinstance(booster, xgboost.Booster):
        raise ValueError(f"xgb_model must be a fitted model or a booster; got {model!r}")
    return bytes(booster.save_raw("json")).decode()


def _converter(parameter: inspect.Parameter) -> Callable[[Any], Any]:
    """Return what checks the type of a parameter of the classifier, where its annotation is of plain types."""
    kinds = str(parameter.annotation).split(" | ")

    def convert(value: Any) -> Any:
        plain = _plain(value)
        kind = "float" if type(plain) is int and "float" in kinds else type(plain).__name__
        is_right = plain == AUTO if kind == "str" and parameter.default == AUTO else kind in kinds
        if not is_right and {*kinds} <= {"str", "bool", "int", "float", "None"}:
            allowed = str(parameter.annotation).replace("str", repr(AUTO) if parameter.default == AUTO else "str")
            raise TypeError(f"{parameter.name} must be {allowed}; got {value!r}")
        return plain

    return convert


class _Columns(
    HasFeaturesCol,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasValidationIndicatorCol,
    HasWeightCol,
):
    """Names of columns, and everything else that an estimator and its model are asked for."""

    def _asked(self, name: str) -> Any:
        return self.getOrDefault(name) if self.isDefined(name) else None

    def _features(self, dataset: DataFrame) -> list[Any]:
        """Return the columns of an array with the features of each row, or of the parts of vectors that stay sparse."""
        given = self.getOrDefault("featuresCol")
        if self.getOrDefault("enable_sparse_data_optim"):
            parts = functions.unwrap_udt(given)
            size = functions.coalesce(parts["size"], functions.size(parts["values"]))  # a dense vector has no size
            return [size.alias(_SIZE), parts["indices"].alias(_INDICES), parts["values"].alias(_VALUES)]
        if isinstance(given, str):
            return [vector_to_array(given).alias(_FEATURES)]
        # Spark would cast dates to seconds, and text, with some settings, to null.
        others = [
            (name, kind) for name, kind in dataset.select(*given).dtypes if kind.partition("(")[0] not in _NUMBERS
        ]
        if others:
            raise ValueError(f"features_col must name columns of numbers; got {others[0][0]!r} of type {others[0][1]}")
        return [functions.array(*(functions.col(name).cast("double") for name in given)).alias(_FEATURES)]


for _name, _words in {
    "featuresCol": "column of vectors, or a list of columns of numbers; null and NaN are missing",
    "baseMarginCol": "column of the scores that the model's are added to",
    "predContribCol": "new column of what each feature adds to the score, and last the score without any",
    "labelIndexCol": "new column of the place of the label among the classes, for evaluators",
    "numWorkers": "tasks that train; if unset, as many as can run at once, and at most one for each partition",
    "hostParams": "other parameters of xgboost.train, by their names",
}.items():
    setattr(_Columns, _name, Param(HasParams._dummy(), _name, _words))
_Columns.xgb_model = Param(HasParams._dummy(), "xgb_model", "model to continue, as text", typeConverter=_as_text)
_words = "whether vectors stay sparse, and 0 is missing"
_Columns.enable_sparse_data_optim = Param(
    HasParams._dummy(), "enable_sparse_data_optim", _words, typeConverter=TypeConverters.toBoolean
)
for _name, _parameter in _OF_CLASSIFIER.items():
    _words = f"{_name} of XGBOrdinalClassifier"
    setattr(_Columns, _name, Param(HasParams._dummy(), _name, _words, typeConverter=_converter(_parameter)))


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
    base_margin_col : str or None, default=None
        Scores that the model's are added to, in training and in predictions.
    prediction_col : str, default="prediction"
        New column of doubles: labels that are numbers, or of text the place among the classes, from 0 for the lowest;
        Spark's ``IndexToString`` gives the labels.
    probability_col : str, default="probability"
        New column of vectors: the probabilities of the classes from the lowest on.
    raw_prediction_col : str, default="rawPrediction"
        New column of vectors: their logarithms.
    pred_contrib_col : str or None, default=None
        New column of arrays of doubles: the SHAP value of each feature, and last the score without any, as XGBoost has
        them. Their sum is the score, ``base_margin_col`` aside.
    label_index_col : str or None, default=None
        New column for evaluators: of rows that have a label, its place among the classes as a double.
    enable_sparse_data_optim : bool, default=False
        Whether the vectors of ``features_col`` stay sparse on their way to XGBoost, and 0 is missing, stored or not.
    xgb_model : SparkXGBOrdinalClassifierModel, XGBOrdinalClassifier, xgboost.Booster or None, default=None
        Model to continue, with its thresholds, and with the same classes, loss and link.
    num_workers : int or None, default=None
        The dataset is divided anew for so many tasks, which all run at once; None takes its partitions, joined where
        there are more than tasks that can.
    **params
        Those of :class:`.estimator.XGBOrdinalClassifier`, each a ``Param`` of the same name, and others of
        :func:`xgboost.train`. What needs all rows in one place is refused, and what XGBoost does not know; "auto" takes
        100 rounds and 4 levels. Where ``feature_types`` has "c", a feature is a category, by the codes of Spark's
        ``StringIndexer``.

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
        base_margin_col: str | None = None,
        prediction_col: str = "prediction",
        probability_col: str = "probability",
        raw_prediction_col: str = "rawPrediction",
        pred_contrib_col: str | None = None,
        label_index_col: str | None = None,
        enable_sparse_data_optim: bool = False,
        xgb_model: Any = None,
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
        if params.get("enable_sparse_data_optim") and params.get("missing") == 0.0:  # as xgboost.spark asks for it
            params = {name: value for name, value in params.items() if name != "missing"}
        for name in (name for name, value in params.items() if name in _NOT_ON_SPARK and value is not None):
            raise ValueError(f"{name} must be left out on Spark: {_NOT_ON_SPARK[name]}; got {params[name]!r}")
        for name, value in params.items():
            if value is None:
                continue
            head, *words = name.split("_")
            spark_name = (
                "".join([head, *map(str.title, words)]) if name.endswith("_col") or name == "num_workers" else name
            )
            if self.hasParam(spark_name):
                self._set(**{spark_name: value})
            else:
                others = self.getOrDefault(self.hostParams) if self.isSet(self.hostParams) else {}
                self._set(hostParams={**others, name: _plain(value)})
        return self

    def _fit(self, dataset: DataFrame) -> SparkXGBOrdinalClassifierModel:
        given = {name: self.getOrDefault(name) for name in _OF_CLASSIFIER if self.isSet(name)}
        if isinstance(given.get("class_weight"), list):
            given["class_weight"] = dict(given["class_weight"])
        classifier = XGBOrdinalClassifier(**given, **(self._asked("hostParams") or {}))
        with classifier._all_or_nothing():
            self._fit_classifier(classifier, dataset)
        return self._copyValues(SparkXGBOrdinalClassifierModel(classifier))

    def _fit_classifier(self, classifier: XGBOrdinalClassifier, dataset: DataFrame) -> None:
        refuse_on_cluster(classifier, {})
        names_of = ("labelCol", "weightCol", "validationIndicatorCol", "baseMarginCol")
        label, weight, held_out, start = (self._asked(name) for name in names_of)
        rounds, instead = classifier.early_stopping_rounds, "validation_indicator_col"
        arguments.check_rounds("early_stopping_rounds", rounds, int(held_out is not None), instead=instead)
        dataset = xgb_spark.with_held_out(dataset, held_out)
        if dataset.select(label).dtypes[0][1].startswith("decimal"):  # which NumPy knows as objects
            dataset = dataset.withColumn(label, functions.col(label).cast("double"))
        evaluated = functions.lit(False) if held_out is None else functions.col(held_out)
        found = dataset.select(label, evaluated.alias("held_out")).distinct().collect()
        trained = np.array([row[0] for row in found if not row["held_out"]])
        if not trained.size:
            raise ValueError(f"validation_indicator_col must leave rows to train on; {held_out!r} is true in all rows")
        classes = OrderedLabels(classifier.classes).fit(trained)
        every = np.array([row[0] for row in found])
        given, is_sparse = self.getOrDefault("featuresCol"), self.getOrDefault("enable_sparse_data_optim")
        if is_sparse and ("c" in (classifier.feature_types or ()) or not isinstance(given, str)):
            allowed = "False where features_col is a list, or feature_types has a category"
            raise ValueError(f"enable_sparse_data_optim must be {allowed}; got True")
        features = self._features(dataset)
        rows = dataset.select("*", *features)
        size = functions.col(_SIZE) if is_sparse else functions.size(_FEATURES)
        n_features = rows.select(size).first()[0] if isinstance(given, str) else len(given)
        begin_on_cluster(classifier, classes, n_features)
        names = None if isinstance(given, str) else list(given)
        arguments.keep_names(classifier, names)
        given_model = self._asked("xgb_model")
        model = None if given_model is None else xgboost.Booster(model_file=bytearray(given_model.encode()))
        continued, earlier = classifier._read_model(model)
        places = [place for place, kind in enumerate(classifier.feature_types or ()) if kind == "c"]
        occurring = rows.agg(functions.lit(0), *(functions.collect_set(functions.col(_FEATURES)[i]) for i in places))
        levels = {
            place: sorted(code for code in codes if not np.isnan(code))
            for place, codes in zip(places, occurring.first()[1:] if places else (), strict=True)
        }
        classifier._take_columns(Columns(n_features, levels, names))
        classifier._check_continued(model, continued, earlier)
        if earlier is not None:
            earlier.check_start(False, "xgb_model")
        known = classifier.columns_
        types = XGBOOST.feature_types(classifier)
        codes = dict(zip(every.tolist(), classes.encode(every, name=f"label_col {label!r}").tolist(), strict=True))
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
        columns = [*((_SIZE, _INDICES, _VALUES) if is_sparse else (_FEATURES,)), _CODE]
        columns += [] if held_out is None else [held_out]
        columns += [] if weights is None else [weights.alias(_WEIGHT)]
        columns += [] if start is None else [functions.col(start).cast("double").alias(_START)]

        def matrix(part: pandas.DataFrame) -> Params:
            others = {name: part[column].to_numpy() for name, column in _BESIDE.items() if column in part}
            data = known.encode(_rows(part, n_features), refuse_new=continued is not None, ensure_min_samples=0)
            data = data.astype(np.float32)
            return {"data": data, "label": part[_CODE], "feature_names": names, "feature_types": types, **others}

        asked, params = (classifier._spec(), None), classifier._native_params()
        xgb_spark.refuse_unused(self._asked("hostParams") or {}, n_features)
        n_rounds = rounds_unsearched("n_estimators", classifier.n_estimators)
        carried = classifier._carried()

        before = None if continued is None else input_checks.without_levels(continued)

        def train_rows(params: Params, dtrain: xgboost.DMatrix, **evaluated: Any) -> xgboost.Booster:
            options = {"early_stopping_rounds": rounds, "verbose_eval": False, "carried": carried, **evaluated}
            options["xgb_model"] = before
            return train_spec(asked, params, dtrain, n_rounds, **options)

        classifier.booster_, classifier.evals_result_ = xgb_spark.train_on_tasks(
            rows.select(columns), matrix, train_rows, params, held_out, self._asked("numWorkers")
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

    def get_booster(self) -> xgboost.Booster:
        """Return the booster, which carries its thresholds."""
        return self.classifier.booster_

    def get_feature_importances(self, importance_type: str = "weight") -> dict[str, float]:
        """Return how much each feature counts, by ``xgboost.Booster.get_score``, but for those that no tree uses."""
        return dict(self.get_booster().get_score(importance_type=importance_type))

    @property
    def training_summary(self) -> XGBoostTrainingSummary:
        """The losses of training rows and of those of ``validation_indicator_col`` after each round.

        A loaded model has those of the training rows.
        """
        own = self.classifier
        rounds = own.training_loss_[own.n_earlier_rounds() + 1 :].tolist()
        history = own.evals_result().get("validation", {})
        return XGBoostTrainingSummary({own.trained_spec().loss.name: rounds}, history)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        import pandas as pd

        decided = {name: self.getOrDefault(name) for name in ("decision_rule", "cost_matrix") if self.isSet(name)}
        classifier = copy(self.classifier).set_params(**decided)
        classes = classifier.ordered_classes_.tolist()
        of_text = isinstance(classes[0], str)
        names, explained = getattr(classifier, "feature_names_in_", None), self._asked("predContribCol")

        def answer(features: Any, start: Any) -> Any:
            X = _rows(features, classifier.n_features_in_)
            X = X if names is None else pd.DataFrame(X, columns=names)
            base_margin = None if start.isna().all() else start.to_numpy()
            proba = classifier.predict_proba_ordered(X, base_margin=base_margin)
            codes = classifier._decide(proba)
            labels = codes if of_text else np.array(classes, dtype=float)[codes]
            with np.errstate(divide="ignore"):
                found = pd.DataFrame({"label": labels, "proba": list(proba), "raw": list(np.log(proba))})
            if explained is None:
                return found
            data = XGBOOST.matrix_like_booster(classifier, classifier._check_features(X, reset=False))
            added = classifier.booster_.predict(data, pred_contribs=True, iteration_range=(0, classifier.n_iter_))
            return found.assign(contributions=list(added.astype(np.float64)))

        answer.__annotations__.update({"features": pd.DataFrame, "start": pd.Series, "return": pd.DataFrame})
        returned = "label double, proba array<double>, raw array<double>"
        returned += "" if explained is None else ", contributions array<double>"
        answers = functions.pandas_udf(answer, returned)
        start, index, label = (self._asked(name) for name in ("baseMarginCol", "labelIndexCol", "labelCol"))
        start = functions.lit(None) if start is None else functions.col(start)
        both = dataset.withColumn("_ordinal", answers(functions.struct(*self._features(dataset)), start.cast("double")))
        added = {self.getOrDefault("predictionCol"): functions.col("_ordinal.label")}
        for name, field in (("probabilityCol", "proba"), ("rawPredictionCol", "raw")):
            added[self.getOrDefault(name)] = array_to_vector(functions.col(f"_ordinal.{field}"))
        if explained is not None:
            added[explained] = functions.col("_ordinal.contributions")
        if index is not None and label in dataset.columns:
            added[index] = _looked_up({name: float(code) for code, name in enumerate(classes)}, label)
        graded = both.withColumns({name: column for name, column in added.items() if name}).drop("_ordinal")
        if of_text and self.getOrDefault("predictionCol"):
            traits = {"ml_attr": {"type": "nominal", "vals": classes, "name": self.getOrDefault("predictionCol")}}
            graded = graded.withMetadata(self.getOrDefault("predictionCol"), traits)
        return graded

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


def _rows(part: pandas.DataFrame, n_features: int) -> Any:
    """Return features as an array, (n_samples, n_features), where null is NaN; of parts of vectors a sparse matrix."""
    if _FEATURES in part:
        return np.array(part[_FEATURES].tolist(), dtype=np.float64).reshape(-1, n_features)
    values = part[_VALUES].tolist()
    # Of a dense vector every place has a value.
    indices = [np.arange(n_features) if one is None else one for one in part[_INDICES]]
    ends = np.cumsum([0, *map(len, values)])
    stored = (np.concatenate([*values, []]), np.concatenate([*indices, []]).astype(np.int32), ends)
    rows = csr_matrix(stored, shape=(len(part), n_features))
    rows.eliminate_zeros()
    return rows
