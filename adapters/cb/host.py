"""CatBoost as the host of a classifier."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Collection, Iterator, Mapping
from os import PathLike
from typing import Any

import numpy as np
from catboost import CatBoost, CatBoostClassifier, Pool
from scipy.sparse import csr_matrix

from ordinal_objectives import tables
from ordinal_objectives.adapters.arguments import check_same_columns
from ordinal_objectives.adapters.cb import booster as cb_booster
from ordinal_objectives.adapters.cb.train import train_spec
from ordinal_objectives.aliases import Column, Estimator, FloatArray, Level, NDArray, Params, Table
from ordinal_objectives.columns import Columns, float_type, levels_in
from ordinal_objectives.estimators.arguments import ParameterNames
from ordinal_objectives.estimators.held_out import Choices, Rates, Rows, Tried
from ordinal_objectives.estimators.host import ORDINAL_PARAMETERS, Host, Trained, TrainingRequest
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threads import library_n_threads
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils import extras, files, validation

# Parameters of the constructor that name columns, which CatBoost reads each in its way.
_COLUMNS = ("cat_features", "text_features", "embedding_features")
_NATIVE = {"random_state": "random_seed", "n_jobs": "thread_count"}
_ONE_SCORE = "CatBoost shows no leaves before the training ends, so that thresholds cannot move with x"
_REFUSED = {
    **cb_booster.REFUSED,
    **dict.fromkeys(("proportional", "shift_l2", "shift_penalty", "max_shifts", "shift_method"), _ONE_SCORE),
    **dict.fromkeys(("class_weights", "auto_class_weights", "scale_pos_weight"), "use class_weight"),
    "eval_fraction": "use validation_fraction",
    "random_intercept": "the other three classifiers have it",
    **dict.fromkeys(("classes_count", "class_names"), "use classes"),
}
del _REFUSED["eval_metric"]  # which fit takes as well
_SAME = {
    **{own: (own, *names) for own, names in cb_booster.SAME.items() if own not in _REFUSED},
    "random_state": ("random_state", "random_seed"),
    "n_jobs": ("n_jobs", "thread_count"),
    "early_stopping_rounds": ("early_stopping_rounds", "od_wait"),
}
del _SAME["random_seed"]
_NO_SNAPSHOT = "a snapshot has no thresholds; save a model of fewer rounds, and go on by init_model"
_REFUSED_BY_FIT = {
    **dict.fromkeys(("save_snapshot", "snapshot_file", "snapshot_interval"), _NO_SNAPSHOT),
    **dict.fromkeys(("plot", "plot_file"), "evals_result_ has the losses of each round, and progress=True shows them"),
    "graph": "it belongs to CatBoost's own losses",
    "column_description": "rows come as arrays or tables",
    "metric_period": "thresholds take a step in each round",
    **dict.fromkeys(("log_cout", "log_cerr"), "redirect the standard output"),
}
_REFUSED_BY_PREDICT = {
    "prediction_type": "predict_proba returns probabilities, predict_raw the score",
    "thread_count": "n_jobs of the constructor says so",
    "verbose": "predictions print nothing",
    "task_type": "predictions are made on the processor",
    "eval_period": "every round has its thresholds",
}
# What CatBoost's model says of itself, also here.
_OF_BOOSTER = (
    *("best_iteration_", "feature_names_", "get_all_params", "get_best_iteration", "get_borders"),
    *("get_cat_feature_indices", "get_embedding_feature_indices", "get_feature_importance", "get_leaf_values"),
    *("get_leaf_weights", "get_metadata", "get_n_features_in", "get_scale_and_bias", "get_text_feature_indices"),
    *("get_tree_leaf_counts", "learning_rate_", "plot_tree", "random_seed_", "save_borders", "tree_count_"),
)
_AS_GROWN = "thresholds belong to the trees as they were grown"
_NO_ATTRIBUTES = {
    **dict.fromkeys(("drop_unused_features", "set_feature_names", "set_leaf_values", "shrink"), _AS_GROWN),
    "set_scale_and_bias": _AS_GROWN,
    **dict.fromkeys(
        ("grid_search", "randomized_search", "select_features"), "scikit-learn's tools take the classifier"
    ),
    **dict.fromkeys(
        ("create_metric_calcer", "eval_metrics"), "eval_metric of fit, or metrics with staged_predict_proba"
    ),
    **dict.fromkeys(("get_test_eval", "get_test_evals"), "predict_raw returns scores of any rows"),
    **dict.fromkeys(
        ("calc_feature_statistics", "compare", "plot_partial_dependence", "plot_predictions"),
        "ordinal_objectives.plotting and inspection draw effects and probabilities",
    ),
    **dict.fromkeys(("get_probability_threshold", "set_probability_threshold"), "decision_rule and cost_matrix decide"),
    "copy": "copy.deepcopy copies it",
    "get_object_importance": "it belongs to CatBoost's own losses",
    "get_param": "get_params has all of them",
    "get_sklearn_estimator_xfail_checks": "scikit-learn's checks pass",
    "iterate_leaf_indexes": "calc_leaf_indexes returns all leaves",
    "predict_log_proba": "numpy.log(predict_proba(X))",
    "staged_predict_log_proba": "numpy.log of what staged_predict_proba yields",
    "virtual_ensembles_predict": "OrdinalEnsembleClassifier has several models",
}


class CatBoostHost(Host):
    """CatBoost: what a classifier asks of it.

    A fit keeps two facts beside the columns: ``_places``, those of the columns that are no numbers, by the parameter
    that names them, and ``_lengths``, how many numbers the vectors of a column have.
    """

    def fixed_rounds(self, model: Estimator, n_rounds: int) -> Params:
        """Return the parameters of a training of so many rounds, which nothing ends early."""
        return {"iterations": n_rounds, "early_stopping_rounds": None}

    # Rows

    def with_numbers(self, model: Estimator, X: Table, *, reset: bool) -> Table:
        """Return X with zeros in the columns of categories, text and vectors."""
        if reset:
            model._places = {name: _places(X, name, getattr(model, name)) for name in _COLUMNS}
        named = [name for name in _COLUMNS if model._places[name]]
        if named and validation.is_sparse(X):
            raise ValueError(f"X must be a table or an array where {named[0]} names columns; got a sparse matrix")
        unnamed = set(tables.places_of(X, tables.FROM_DTYPE)) - set(model._places["cat_features"])
        if reset and unnamed:
            raise ValueError(
                f"X must have categories only where cat_features says so; got {tables.describe_column(X, min(unnamed))}"
            )
        return tables.with_columns(X, dict.fromkeys(_others(model, X), np.zeros(X.shape[0])))

    def to_encode(self, model: Estimator, X: Table, checked: Table, *, reset: bool) -> Table:
        """Return X with its categories, and zeros for what only CatBoost reads."""
        if not _others(model, X):
            return checked
        return tables.with_columns(X, dict.fromkeys(_no_numbers(model, X, reset), np.zeros(X.shape[0])))

    def as_rows(self, model: Estimator, X: Table, numbers: Table, *, reset: bool) -> Table:
        """Return columns as numbers; those of text and of vectors stay what they are, in a frame."""
        lengths = dict(_lengths_in(model, X))
        if reset:
            model._lengths = {place: of_rows[0] for place, of_rows in lengths.items()}
        for place, of_rows in lengths.items():
            if of_rows != [expected := model._lengths.get(place, of_rows[0])]:
                raise ValueError(
                    f"{tables.describe_column(X, place)} must have vectors of {expected} numbers, as in the training, "
                    f"where CatBoost would read beyond their end; got some of "
                    f"{of_rows[-1 if of_rows[0] == expected else 0]}"
                )
        no_numbers = _no_numbers(model, X, reset)
        if not no_numbers:
            return numbers
        as_given = {place: _as_given(model, X, place) for place in no_numbers}
        return tables.with_columns(extras.data_frame(numbers), as_given)

    def learn_columns(self, model: Estimator, X: Table) -> Columns:
        """Return the columns of a training; CatBoost reads levels as text, which must tell them apart."""
        columns = Columns.learn(X, model._places["cat_features"])
        for place, levels in columns.levels.items():
            texts: dict[str, Level] = {}
            for level in levels:
                if level is not (other := texts.setdefault(_text(level, float), level)):
                    raise ValueError(
                        f"{tables.describe_column(X, place)} has the levels {other!r} and {level!r}, one for CatBoost: "
                        f"make them differ"
                    )
        return columns

    def category_places(self, model: Estimator, **of_rows: Any) -> Collection[int]:
        """Return the columns of categories."""
        places: list[int] = model._places["cat_features"]
        return places

    def matrices(self, model: Estimator, rows: list[Rows], continued: CatBoost | None, **of_rows: Any) -> list[Pool]:
        """Return the pool to train on and those to evaluate."""
        return [self.pool(model, one.X, label=one.codes, weight=one.weight, baseline=one.start) for one in rows]

    def prediction_data(self, model: Estimator, X: Table) -> Pool:
        """Return checked features as a pool."""
        return self.pool(model, X)

    def pool(self, model: Estimator, X: Table, **given: Any) -> Pool:
        """Return checked features as CatBoost reads them, with labels, weights and start scores of rows."""
        given |= {"thread_count": _n_threads(model)}
        if validation.is_sparse(X):  # CatBoost knows SciPy's matrices with short indices
            data = np.require(X.data, requirements="W")  # those that joblib shares with processes are read-only
            X = csr_matrix((data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
        elif any(model._places.values()):
            X = X if hasattr(X, "columns") else extras.data_frame(X)
            X = tables.with_columns(X, {place: _as_text(model, X, place) for place in model.columns_.levels})
            given |= model._places
        return Pool(X, feature_names=model._names(), **given)

    # Trainings and boosters

    def train(self, spec: OrdinalSpec, params: Params, matrices: list[Any], asked: TrainingRequest) -> Trained:
        """Train by :func:`.train.train_spec`."""
        pool, *others = matrices
        keeps_best = asked.of_library.get("use_best_model") if others else None
        booster, found = train_spec(
            (spec, None),
            pool,
            params,
            asked.n_rounds,
            eval_set=others,
            early_stopping_rounds=asked.patience or None,
            use_best_model=False if asked.is_search else keeps_best,
            init_model=asked.continued,
            callbacks=asked.callbacks,
            metrics=asked.metrics,
            progress=asked.progress,
            what=asked.what,
            carried=dict(asked.carried),
        )
        asked.results.update(found)
        record = cb_booster.threshold_record(booster)
        return Trained(booster, record, record.n_iterations, record.n_iterations)

    def scores(self, model: Estimator, data: Pool, start: int, stop: int) -> FloatArray:
        """Return the part of the score that some iterations add; see :class:`.host.Host`."""
        return cb_booster.predict_raw(model.booster_, data, start, stop, _n_threads(model))

    def splits(self, booster: CatBoost) -> list[bool]:
        """Return for each tree whether it has a split."""
        return [bool(n_leaves > 1) for n_leaves in booster.get_tree_leaf_counts()]

    def read_continued(self, model: object) -> tuple[CatBoost, ThresholdRecord]:
        """Return a booster to go on with, and its record."""
        booster = cb_booster.as_model(model)
        return booster, cb_booster.threshold_record(booster)

    def check_continued(self, model: Estimator, given: object, booster: CatBoost, record: ThresholdRecord) -> None:
        """Raise ValueError unless the columns are those of the booster."""
        n_trained, names = len(booster.feature_names_), self.names_in(booster)
        check_same_columns("init_model", n_trained, model.n_features_in_, names, model._names())

    def columns_in(self, booster: CatBoost, levels: Mapping[int, list[Level]] | None = None) -> Columns:
        """Return the columns of a booster with some levels; those of its training only CatBoost knows."""
        return Columns(len(booster.feature_names_), levels or {})

    def names_in(self, booster: CatBoost) -> list[str] | None:
        """Return the names of the columns of a training, numbers as text; None where CatBoost made them up."""
        names: list[str] = booster.feature_names_
        described = cb_booster.threshold_record(booster).classifier
        if described is not None and described.column_numbers == names:
            return names
        return None if names == [str(place) for place in range(len(names))] else names

    def store(self, booster: CatBoost, record: ThresholdRecord) -> None:
        """Make a booster carry a record."""
        cb_booster.store_record(booster, record)

    def write(self, model: Estimator, path: str | PathLike[str]) -> None:
        """Write the booster with the record that it carries."""
        cb_booster.save_model(model.booster_, path)

    def read(self, model: Estimator, path: str | PathLike[str]) -> tuple[ThresholdRecord, int, int]:
        """Read the booster: return the record, the number of iterations and of features."""
        booster = model.booster_ = cb_booster.load_model(path)
        record, n_features = cb_booster.threshold_record(booster), len(booster.feature_names_)
        of_kind = ("get_cat_feature_indices", "get_text_feature_indices", "get_embedding_feature_indices")
        model._places = {name: getattr(booster, get)() for name, get in zip(_COLUMNS, of_kind, strict=True)}
        with files.as_damaged_file(path):
            model.columns_ = model._columns_in(booster, record)
        model._lengths = {} if record.classifier is None else record.classifier.lengths
        return record, record.n_iterations, n_features


def _n_threads(model: Estimator) -> int:
    return library_n_threads(model.asked_threads()) or -1


def _others(model: Estimator, X: Table) -> list[int]:
    """Return the columns that the parameters name."""
    return [place for places in model._places.values() for place in places if place < X.shape[1]]


def _no_numbers(model: Estimator, X: Table, reset: bool) -> list[int]:
    """Return the columns of these that have no codes."""
    known = model._earlier_columns if reset else model.columns_
    codes = model._places["cat_features"] if known is None else known.levels
    return [place for place in _others(model, X) if place not in codes]


def _as_given(model: Estimator, X: Table, place: int) -> Column:
    """Return a column that holds no numbers as CatBoost reads it, (n_samples,)."""
    if place in model._places["embedding_features"]:
        return tables.column_at(X, place)
    if place in model._places["text_features"]:
        return _texts(X, place)
    levels, which = levels_in(X, place)  # of a model of others, whose levels only CatBoost knows
    kind = float_type(X, place) or float
    return np.array([*(_text(level, kind) for level in levels), "nan"], dtype=object)[which]


def _lengths_in(model: Estimator, X: Table) -> Iterator[tuple[int, list[int]]]:
    """Yield the places of columns of vectors, and the numbers of numbers that their vectors have."""
    for place in model._places["embedding_features"]:
        lengths = {_length(vector, tables.describe_column(X, place)) for vector in tables.column_at(X, place)}
        if lengths:
            yield place, sorted(lengths)


def _as_text(model: Estimator, X: Table, place: int) -> NDArray[np.object_]:
    """Return a column of codes as the text of their levels, (n_samples,), and another text where one is missing."""
    texts = [_text(level, float) for level in model.columns_.levels[place]]
    codes = np.nan_to_num(tables.column_at(X, place), nan=len(texts)).astype(np.intp)
    return np.array([*texts, _text_of_missing(texts)], dtype=object)[codes]


def _places(X: Table, name: str, asked: Any) -> list[int]:
    """Return the columns that a parameter names; of categories those of a category type, where it names none."""
    if asked is None and name == "cat_features":
        return tables.places_of(X, tables.FROM_DTYPE) if hasattr(X, "columns") else []
    return tables.places_of(X, asked, name=name)


def _texts(X: Table, place: int) -> NDArray[np.object_]:
    """Return a column of text, (n_samples,); a missing text has no words."""
    levels, which = levels_in(X, place)
    strange = [level for level in levels if not isinstance(level, str)]
    if strange:
        raise ValueError(
            f"{tables.describe_column(X, place)} must hold text, as text_features says; got "
            f"{validation.first_few(strange, repr)}"
        )
    return np.array([*levels, ""], dtype=object)[which]


def _length(vector: Any, column: str) -> int:
    """Return how many numbers a vector has, which CatBoost takes only where all are finite."""
    try:
        numbers = np.asarray(vector.as_py() if hasattr(vector, "as_py") else vector, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.full(1, np.nan)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise ValueError(
            f"{column} must hold a vector of finite numbers in each row, as embedding_features says; got "
            f"{reprlib.repr(vector)}"
        )
    return len(numbers)


def _text(level: Level, kind: type) -> str:
    return level if isinstance(level, str) else str(int(level)) if level == level // 1 else str(kind(level))


def _text_of_missing(texts: Collection[str]) -> str:
    """Return the text that stands for a missing level, which none of the levels has."""
    text = "nan"
    while text in texts:
        text += "?"
    return text


CATBOOST = CatBoostHost(
    entry_point="CatBoostOrdinalClassifier",
    rounds_name="iterations",
    leaf_name="min_data_in_leaf",
    start_name="baseline",
    continued_name="init_model",
    parameter_names=ParameterNames(
        of_library=frozenset(inspect.signature(CatBoostClassifier).parameters) - set(_REFUSED),
        same=_SAME,
        renamed={"callbacks": "callbacks= in fit"},
        refused=_REFUSED,
        refused_by_fit=_REFUSED_BY_FIT,
        refused_by_predict=_REFUSED_BY_PREDICT,
        rounds=("ntree_start", "ntree_end"),
        attributes={name: f"booster_.{name}" for name in _OF_BOOSTER},
        no_attributes=_NO_ATTRIBUTES,
        neutral={
            "metric_period": (1,),
            "prediction_type": ("Class",),
            "proportional": (True, "auto"),
            "task_type": ("CPU",),
            "thread_count": (-1,),
        },
    ),
    native_names=_NATIVE,
    not_native=ORDINAL_PARAMETERS | {"iterations", "early_stopping_rounds", "use_best_model", *_COLUMNS},
    choices=Choices({0: Tried(Rates(search=0.1, last=0.1))}, unsearched={"learning_rate": 0.1}),
    kept_on_loading=frozenset({"logging_level", "silent", "thread_count", "used_ram_limit"}),
)
