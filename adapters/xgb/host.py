"""XGBoost as the host of a classifier."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xgboost

from ordinal_objectives import tables
from ordinal_objectives.adapters.training import bind_labels
from ordinal_objectives.adapters.xgb import booster as xgb_booster, input_checks, prediction
from ordinal_objectives.adapters.xgb.train import CustomMetric, asks_for_early_stop, first_rates, schedules, train_spec
from ordinal_objectives.aliases import Estimator, FloatArray, Level, Params, Table
from ordinal_objectives.columns import Columns
from ordinal_objectives.estimators.arguments import ParameterNames
from ordinal_objectives.estimators.held_out import Choices, Rates, Rows, Tried
from ordinal_objectives.estimators.host import ORDINAL_PARAMETERS, Host, Trained, TrainingRequest
from ordinal_objectives.random_effects import without_groups
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threads import effective_n_threads, library_n_threads, one_thread_after_fork
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils import files
from ordinal_objectives.utils.validation import as_floats


class XGBoostHost(Host):
    """XGBoost: what a classifier asks of it."""

    def resolved_params(self, model: Estimator) -> tuple[Params, list[str]]:
        """Return the parameters by one name each; of linear boosters without those of trees that nobody set."""
        params, unused = super().resolved_params(model)
        if params.get("booster") == "gblinear":
            params |= {name: None for name in ("max_depth", "subsample") if params[name] == model._default(name)}
        return params, unused

    def completed_params(self, model: Estimator, params: Params, n_weighted: int) -> Params:
        """Return the parameters of ``xgboost.train``, which show warnings only unless ``verbosity`` is set."""
        return {**params, "verbosity": 1 if model.verbosity is None else model.verbosity}

    def ends_early(self, params: Params, callbacks: Any) -> bool:
        """Return whether a callback ends the training, or dart grows the trees, which cannot stop early."""
        stops = asks_for_early_stop({}, callbacks or ()) is not None
        return stops or params.get("booster") == "dart"

    def fixed_rounds(self, model: Estimator, n_rounds: int) -> Params:
        """Return the parameters of a training of so many rounds, which nothing ends early."""
        every, stopping = list(model.callbacks or ()), xgboost.callback.EarlyStopping
        others = [callback for callback in every if not isinstance(callback, stopping)]
        return {**model._found, "n_estimators": n_rounds, "early_stopping_rounds": None, "callbacks": others or None}

    # Rows

    def missing_value(self, model: Estimator) -> float:
        """Return what stood for a missing value in the fit; None is NaN, as XGBoost has it."""
        missing = model._of_rows["missing"]
        too_large = isinstance(missing, int) and abs(missing) > sys.float_info.max
        if isinstance(missing, (bool, np.bool_)) or not isinstance(missing, (Real, np.number, type(None))) or too_large:
            raise ValueError(f"missing must be a number or None; got {missing!r}")
        return np.nan if missing is None else float(missing)

    def learn_columns(self, model: Estimator, X: Table) -> Columns:
        """Return the columns of a training: categories by their type, or where ``feature_types`` says so."""
        places = set(tables.places_of(X, tables.FROM_DTYPE)) if model.enable_categorical else set[int]()
        places |= {place for place, kind in enumerate(model.feature_types or ()) if kind == "c" and place < X.shape[1]}
        return Columns.learn(X, sorted(places), declared=True, missing=self.missing_value(model))

    def category_places(self, model: Estimator, **of_rows: Any) -> list[int]:
        """Return the columns of numbers that XGBoost takes for categories."""
        return list(model.columns_.levels)

    def feature_types(self, model: Estimator) -> list[str] | None:
        """Return the types of the features for XGBoost."""
        types, levels = model.feature_types, model.columns_.levels
        if not levels:
            return types
        types = ["q"] * model.n_features_in_ if types is None else list(types)
        return ["c" if place in levels else kind for place, kind in enumerate(types)]

    def matrices(
        self, model: Estimator, rows: list[Rows], continued: xgboost.Booster | None, **of_rows: Any
    ) -> list[xgboost.DMatrix]:
        """Return the matrix to train on and those to evaluate, with types as the model has them that is continued."""
        weights = model.feature_weights  # XGBoost reads what is masked, and numbers of the other byte order
        weights = None if weights is None else as_floats(weights, name="feature_weights")
        dtrain = self.matrix_of(model, rows[0], continued, feature_weights=weights)
        return [dtrain, *(self.matrix_of(model, one, dtrain) for one in rows[1:])]

    def matrix_of(
        self, model: Estimator, rows: Rows, like: xgboost.DMatrix | xgboost.Booster | None, **options: Any
    ) -> xgboost.DMatrix:
        """Return a matrix of encoded rows, with types of the columns as another one or a booster has them."""
        start = rows.start
        if start is not None and model.shift_method == "host":  # the score is the first of the outputs
            start = np.pad(start[:, np.newaxis], ((0, 0), (0, model.n_classes_ - 2)))
        options |= {"label": rows.codes, "weight": rows.weight, "base_margin": start}
        types = None if like is None else like.feature_types
        types = self.feature_types(model) if types is None else types
        matrix = _matrix(model, without_groups(rows.X, model._groups), model.columns_.names, types, **options)
        if rows.labels is not None:
            bind_labels(matrix, rows.labels)
        return matrix

    def prediction_data(self, model: Estimator, X: Table) -> Table:
        """Return an array that XGBoost reads where it lies, or a matrix: for one row that costs more than the trees."""
        if isinstance(X, np.ndarray) and model._record.last_only is False:
            input_checks.check_finite(X, model.columns_.missing_in_codes)
            return X
        return self.matrix_like_booster(model, X)

    def matrix_like_booster(self, model: Estimator, X: Table) -> xgboost.DMatrix:
        """Return a matrix of checked features, with the names and types of the booster's."""
        types, names = model.booster_.feature_types, model.booster_.feature_names
        return _matrix(model, X, names, self.feature_types(model) if types is None else types)

    # Trainings and boosters

    def train(self, spec: OrdinalSpec, params: Params, matrices: list[Any], asked: TrainingRequest) -> Trained:
        """Train by :func:`.train.train_spec`."""
        dtrain, *others = matrices
        evals = [(matrix, f"validation_{i}") for i, matrix in enumerate(others)]
        metric, verbose = CustomMetric(list(asked.metrics)), asked.of_library.get("verbose", False)
        callbacks, patience = metric.early_stopping(asked.callbacks, asked.patience)
        booster = train_spec(
            (spec, None),
            params | ({"verbosity": 0} if asked.is_search else {}),
            dtrain,
            asked.n_rounds,
            xgb_model=None if asked.continued is None else input_checks.without_levels(asked.continued),
            evals=evals or ([(dtrain, "training")] if verbose else []),  # what verbose prints
            callbacks=callbacks,
            custom_metric=metric if metric.metrics else None,
            evals_result=asked.results if evals else {},
            early_stopping_rounds=patience,
            verbose_eval=verbose,
            progress=asked.progress,
            what=asked.what,
            carried=dict(asked.carried),
        )
        n_iter = xgb_booster.kept_rounds(booster)
        return Trained(booster, xgb_booster.carried_record(booster), n_iter, n_iter)

    @one_thread_after_fork()
    def scores(self, model: Estimator, data: Table, start: int, stop: int) -> FloatArray:
        """Return the part of the score that some iterations add; see :class:`.host.Host`."""
        booster, record = model.booster_, model._record
        if start or stop != booster.num_boosted_rounds():
            xgb_booster.check_all_rounds(booster, record, stop)
        outputs, missing = record.outputs, model.columns_.missing_in_codes
        if not model.proportional_ and outputs is None:
            n_threads = effective_n_threads(model.asked_threads())
            return prediction.leaf_scores(booster, record, data, start, stop, missing, n_threads)
        if isinstance(data, np.ndarray):
            options = {"predict_type": "margin", "iteration_range": (start, stop), "missing": missing}
            scores = booster.inplace_predict(data, validate_features=False, **options)
        else:
            scores = booster.predict(data, output_margin=True, iteration_range=(start, stop))
        return np.asarray(scores, dtype=np.float64) if outputs is None else outputs.scores(scores, start, stop)

    @one_thread_after_fork()
    def splits(self, booster: xgboost.Booster) -> list[bool]:
        """Return for each tree whether it has a split."""
        return [n_nodes > 1 for n_nodes in xgb_booster.nodes_of_trees(booster)]

    def read_continued(self, model: Any) -> tuple[xgboost.Booster, ThresholdRecord]:
        """Return a booster to go on with, and its record.

        As from a file: a booster in memory has the parameters of its training, with which XGBoost would go on.
        """
        is_booster = isinstance(model, xgboost.Booster)
        booster = xgboost.Booster(model_file=model.save_raw("ubj")) if is_booster else input_checks.from_file(model)
        return booster, xgb_booster.threshold_record(booster)

    def check_continued(self, model: Estimator, given: Any, booster: xgboost.Booster, record: ThresholdRecord) -> None:
        """Raise ValueError unless the same number stands for a missing value."""
        known = here = self.missing_value(model)
        described = {} if record.classifier is None else record.classifier.params
        if getattr(given, "_host", None) is self:
            known = self.missing_value(given)
        elif "missing" in described:
            value = files.value_from_json(described["missing"])
            known = np.nan if value is None else value
        if not np.array_equal(known, here, equal_nan=True):
            raise ValueError(f"xgb_model was trained with missing={known}; got missing={here}")

    def columns_in(self, booster: xgboost.Booster, levels: Mapping[int, list[Level]] | None = None) -> Columns:
        """Return the columns of a booster with some levels; None for those that XGBoost keeps."""
        return Columns(booster.num_features(), input_checks.levels_of(booster) if levels is None else levels)

    def names_in(self, booster: xgboost.Booster) -> list[str] | None:
        """Return the names of columns that the training had."""
        return booster.feature_names

    @one_thread_after_fork()
    def store(self, booster: xgboost.Booster, record: ThresholdRecord) -> None:
        """Make a booster carry a record."""
        xgb_booster.store_record(booster, record)

    @one_thread_after_fork()
    def write(self, model: Estimator, path: str | PathLike[str]) -> None:
        """Write the booster in JSON or UBJSON, with a digest."""
        raw = model.booster_.save_raw("json" if Path(path).suffix == ".json" else "ubj")
        with files.written(path) as newer:
            newer.write_bytes(input_checks.sealed(bytes(raw)))

    @one_thread_after_fork()
    def read(self, model: Estimator, path: str | PathLike[str]) -> tuple[ThresholdRecord, int, int]:
        """Read the booster: return the record, the number of iterations kept and of features."""
        threads = library_n_threads(model.asked_threads())
        booster = model.booster_ = input_checks.from_file(path, {} if threads is None else {"nthread": threads})
        record = xgb_booster.threshold_record(booster)
        model.shift_method = "renewal" if record.outputs is None else "host"
        if record.outputs is None:
            model.split_outputs = "score"
        with files.as_damaged_file(path):
            model.columns_ = model._columns_in(booster, record)
            prediction.check_leaves(booster, record)
            n_iter = xgb_booster.kept_rounds(booster)
        xgb_booster.check_all_rounds(booster, record, n_iter)
        return record, n_iter, booster.num_features()


def _matrix(
    model: Estimator, X: Table, names: list[str] | None, types: list[str] | None, **options: Any
) -> xgboost.DMatrix:
    return xgboost.DMatrix(
        X,
        missing=model.columns_.missing_in_codes,
        nthread=library_n_threads(model.asked_threads()),
        enable_categorical=True,
        feature_names=names,
        feature_types=types,
        **options,
    )


XGBOOST = XGBoostHost(
    entry_point="XGBOrdinalClassifier",
    leaf_name="min_child_weight",
    start_name="base_margin",
    continued_name="xgb_model",
    parameter_names=ParameterNames(
        of_library=input_checks.KNOWN,
        same=input_checks.SAME,
        refused=input_checks.REFUSED,
        library_warns=True,
        refused_by_predict={"validate_features": "names of columns are compared"},
        rounds=("iteration_range",),
        attributes={"best_iteration": "booster_.best_iteration", "best_score": "booster_.best_score"},
        no_attributes=dict.fromkeys(
            ("coef_", "intercept_"), "thresholds_ are the intercepts, and booster_.get_dump() has what gblinear learns"
        ),
        neutral={"validate_features": (True, False)},
    ),
    native_names=input_checks.NATIVE,
    not_native=ORDINAL_PARAMETERS
    | {
        *("callbacks", "early_stopping_rounds", "enable_categorical", "feature_types"),
        *("feature_weights", "missing", "verbosity"),
    },
    choices=Choices(
        {
            0: Tried(Rates(search=0.3, last=0.1), [{"max_depth": 4}]),
            1_000: Tried(Rates(search=0.3, last=0.1), [{"max_depth": depth} for depth in (4, 6, 8)]),
        },
        unsearched={"max_depth": 4, "learning_rate": 0.3},
    ),
    default_rate=0.3,
    schedules=schedules,
    first_rates=first_rates,
    row_parameters=("missing", "feature_types", "enable_categorical"),
    kept_on_loading=frozenset({"nthread"}),
)
