"""LightGBM as the host of a classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

import lightgbm
import numpy as np
from scipy.sparse import csr_array, csr_matrix

from ordinal_objectives import tables
from ordinal_objectives.adapters.lgbm import booster as lgbm_booster, input_checks, prediction
from ordinal_objectives.adapters.lgbm.train import TreesOfRounds, first_rates, schedules, train_spec
from ordinal_objectives.adapters.training import bind_labels, labels_of
from ordinal_objectives.aliases import Estimator, FloatArray, Level, Params, Table
from ordinal_objectives.columns import Columns
from ordinal_objectives.estimators.arguments import ParameterNames
from ordinal_objectives.estimators.held_out import Choices, Rates, Rows, Tried, is_auto, smallest_leaf
from ordinal_objectives.estimators.host import ORDINAL_PARAMETERS, Host, Trained, TrainingRequest
from ordinal_objectives.eval_metric import EvalMetric, Result, for_early_stopping
from ordinal_objectives.random_effects import without_groups
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threads import library_n_threads, one_thread_after_fork
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils import files


class LightGBMHost(Host):
    """LightGBM: what a classifier asks of it."""

    def completed_params(self, model: Estimator, params: Params, n_weighted: int) -> Params:
        """Return the parameters of ``lightgbm.train``: quiet unless asked for, and leaves that suit few rows."""
        params = {"feature_pre_filter": False, "verbosity": -1, **params}
        if "min_data_in_leaf" in params:
            params["min_data_in_leaf"] = smallest_leaf(params["min_data_in_leaf"], n_weighted)
        is_default = params.get("bagging_fraction") == model._default("subsample")
        if is_default and "goss" in (params.get("boosting"), params.get("data_sample_strategy")):
            params["bagging_freq"] = 0  # LightGBM draws rows in only one way
        return params

    def ends_early(self, params: Params, callbacks: list[Any]) -> bool:
        """Return whether a callback ends the training: LightGBM's early stopping has no public type."""
        return any(hasattr(one, "stopping_rounds") for one in callbacks)

    def says(self, params: Params, verbose: object) -> bool:
        """Return whether LightGBM's own verbosity has it print information."""
        verbosity = params.get("verbosity")
        return verbosity is not None and verbosity > 0

    def least_leaf(self, params: Params, n_weighted: int) -> int:
        """Return how many rows a leaf needs."""
        least = smallest_leaf(params["min_child_samples"], n_weighted)
        return 20 if least is None else int(least)  # LightGBM's default

    def fixed_rounds(self, model: Estimator, n_rounds: int) -> Params:
        """Return the parameters of a training of so many rounds, which nothing ends early."""
        return {**model._found, "n_estimators": n_rounds, "early_stopping_round": None}

    # Rows

    def zero_is_missing(self, booster: lightgbm.Booster) -> bool:
        """Return whether a booster was trained with zero_as_missing."""
        with one_thread_after_fork():
            return "[zero_as_missing: 1]" in booster.model_to_string(num_iteration=1)

    def as_rows(self, model: Estimator, X: Table, numbers: Table, *, reset: bool) -> Table:
        """Return rows as LightGBM reads them: it knows SciPy's sparse matrices, not yet its sparse arrays."""
        return csr_matrix(numbers) if isinstance(numbers, csr_array) else numbers

    def reads_names(self, model: Estimator, X: Table) -> bool:
        """Return whether a table's names are those that LightGBM's file holds in its own spelling."""
        names, known = tables.column_names(X), getattr(model, "feature_names_in_", None)
        return names is not None and known is not None and input_checks.written_names(names) == known.tolist()

    def learn_columns(self, model: Estimator, X: Table) -> Columns:
        """Return the columns of a training, and keep which LightGBM takes for categories by itself."""
        columns = Columns.learn(X, declared=True)
        model._unordered = [place for place in columns.levels if not tables.is_ordered(X, place)]
        return columns

    def categorical_columns(self, model: Estimator, asked: Any) -> list[int]:
        """Return the columns that LightGBM is to take for categories, by their places.

        By themselves those of a category type without an order are.
        """
        by_type = list(model._unordered) if is_auto(asked) else []
        return input_checks.categorical_places(asked, model.columns_.names, model.n_features_in_) or by_type

    def category_places(self, model: Estimator, *, categorical_feature: Any = "auto", **of_rows: Any) -> list[int]:
        """Return the columns of codes."""
        return sorted({*model.columns_.levels, *self.categorical_columns(model, categorical_feature)})

    def matrices(
        self,
        model: Estimator,
        rows: list[Rows],
        continued: lightgbm.Booster | None,
        *,
        categorical_feature: Any = "auto",
        keeps_data: bool = False,
        **of_rows: Any,
    ) -> list[lightgbm.Dataset]:
        """Return the training set and those to evaluate, which may be the training set.

        LightGBM 4.5 sets the categorical columns anew in a second training on them, for which they keep their data.
        """
        sets, names = list[lightgbm.Dataset](), model.columns_.names
        categories = self.categorical_columns(model, categorical_feature)
        for part in rows:
            if sets and part is rows[0]:
                sets.append(sets[0])
                continue
            options: Params = {"reference": sets[0]} if sets else {"categorical_feature": categories}
            options |= {"feature_name": "auto" if names is None else names, "free_raw_data": not keeps_data}
            X = without_groups(part.X, model._groups)
            sets.append(lightgbm.Dataset(X, part.codes, weight=part.weight, init_score=part.start, **options))
            if part.labels is not None:
                bind_labels(sets[-1], part.labels)
        sets[0].pandas_categorical = self.levels_of_frames(model)
        return sets

    def levels_of_frames(self, model: Estimator) -> list[list[Level]]:
        """Return the levels of the categories, by which LightGBM's own predictions read frames."""
        return [list(model.columns_.levels[place]) for place in sorted(model.columns_.levels)]

    def prediction_data(self, model: Estimator, X: Table) -> Table:
        """Return checked features, which LightGBM reads as they are."""
        return X

    # Trainings and boosters

    def train(self, spec: OrdinalSpec, params: Params, matrices: list[Any], asked: TrainingRequest) -> Trained:
        """Train by :func:`.train.train_spec`; outside a search ``params`` say when to stop."""
        train_set, *valid_sets = matrices
        trees = TreesOfRounds()
        watching: list[Any] = [*([lightgbm.record_evaluation(asked.results)] if valid_sets else []), trees]
        if asked.is_search:
            params = params | {"verbosity": -1}
            watching += [] if asked.patience is None else [lightgbm.early_stopping(asked.patience, verbose=False)]
        booster = train_spec(
            (spec, None),
            params,
            train_set,
            asked.n_rounds,
            valid_sets=valid_sets or None,
            feval=[_as_feval(metric) for metric in asked.metrics],
            init_model=asked.continued,
            callbacks=[*watching, *asked.callbacks],
            progress=asked.progress,
            what=asked.what,
            carried=dict(asked.carried),
            set_names=["X", *(f"X of evaluation set {i}" for i, one in enumerate(valid_sets) if one is not train_set)],
            **asked.of_library,
        )
        n_iter = lgbm_booster.iterations_of(booster)
        rounds = trees.rounds_of(n_iter, stopped=booster.best_iteration > 0)
        return Trained(booster, lgbm_booster.carried_record(booster), n_iter, rounds)

    @one_thread_after_fork()
    def scores(self, model: Estimator, data: Table, start: int, stop: int) -> FloatArray:
        """Return the part of the score that some iterations add; see :class:`.host.Host`."""
        n_threads = library_n_threads(model.asked_threads())
        options = {} if n_threads is None else {"num_threads": n_threads}
        return prediction.predict_scores(model.booster_, model._record, data, start, stop, **options)

    @one_thread_after_fork()
    def splits(self, booster: lightgbm.Booster) -> list[bool]:
        """Return for each tree whether it has a split; LightGBM keeps one without only as the first."""
        n_trees = booster.current_iteration()
        first = lgbm_booster.leaf_values_in(booster.model_to_string(num_iteration=1)) if n_trees else ()
        return [len(first) > 1, *[True] * (n_trees - 1)][:n_trees]

    def read_continued(self, model: object) -> tuple[lightgbm.Booster, ThresholdRecord]:
        """Return a booster to go on with, and its record."""
        booster = lgbm_booster.as_booster(model)
        return booster, lgbm_booster.threshold_record(booster)

    def columns_in(self, booster: lightgbm.Booster, levels: Mapping[int, list[Level]] | None = None) -> Columns:
        """Return the columns of a booster with some levels; None for those that LightGBM keeps."""
        if levels is not None or not booster.pandas_categorical:
            return Columns(booster.num_feature(), levels or {})
        names, infos = booster.feature_name(), booster.dump_model(num_iteration=1)["feature_infos"]
        places = [place for place, name in enumerate(names) if infos.get(name, {}).get("values")]
        kept = booster.pandas_categorical
        if len(kept) != len(places):
            raise ValueError(
                f"the model must say which columns its {len(kept)} lists of levels belong to; {len(places)} of its "
                f"columns hold categories of more than one value"
            )
        return Columns(len(names), dict(zip(places, kept, strict=True)))

    def names_in(self, booster: lightgbm.Booster) -> list[str] | None:
        """Return the names of columns that the training had."""
        names: list[str] = booster.feature_name()
        return None if input_checks.are_made_up(names) else names

    def store(self, booster: lightgbm.Booster, record: ThresholdRecord) -> None:
        """Make a booster carry a record."""
        lgbm_booster.carry(booster, record)

    def write(self, model: Estimator, path: str | PathLike[str]) -> None:
        """Write the iterations that predictions use."""
        lgbm_booster.save_model(model.booster_, path, num_iteration=model.n_iter_)

    def read(self, model: Estimator, path: str | PathLike[str]) -> tuple[ThresholdRecord, int, int]:
        """Read the booster: return the record, the number of iterations kept and of features."""
        booster = model.booster_ = lgbm_booster.load_model(path)
        model.__dict__.pop("_unordered", None)  # of an earlier fit
        record = lgbm_booster.carried_record(booster).copied()
        with files.as_damaged_file(path):
            model.columns_ = model._columns_in(booster, record)
        n_iter = booster.current_iteration()
        lgbm_booster.check_all_rounds(booster, record, n_iter)
        return record, n_iter, booster.num_feature()


def _as_feval(metric: EvalMetric) -> Callable[..., list[Result]]:
    """Return a metric as :func:`ordinal_objectives.adapters.lgbm.train` asks for it."""

    def evaluate(proba: FloatArray, data: lightgbm.Dataset) -> list[Result]:
        codes = labels_of(data, np.asarray(data.get_label()).astype(np.int32))
        return for_early_stopping(metric(codes, proba, data.get_weight()))

    return evaluate


LIGHTGBM = LightGBMHost(
    entry_point="LGBMOrdinalClassifier",
    stopping_name="early_stopping_round",
    leaf_name="min_child_samples",
    start_name="init_score",
    continued_name="init_model",
    parameter_names=ParameterNames(
        of_library=input_checks.KNOWN,
        same=input_checks.SAME,
        renamed=input_checks.DIALECT,
        refused=input_checks.REFUSED,
        refused_by_fit=input_checks.FIT_HINTS,
        refused_by_predict=input_checks.PREDICT_HINTS,
        rounds=("start_iteration", "num_iteration"),
        takes_more_rounds=True,
        attributes={
            "best_score_": "booster_.best_score",
            "n_estimators_": "n_iter_",
            "n_features_": "n_features_in_",
        },
        no_attributes={"fitted_": "sklearn.utils.validation.check_is_fitted says so"},
        neutral={"feature_name": ("auto",), "validate_features": (True, False)},
    ),
    native_names=input_checks.NATIVE,
    not_native=ORDINAL_PARAMETERS,
    choices=Choices(
        {
            0: Tried(Rates(search=0.2, last=0.2), [{"num_leaves": 7, "reg_lambda": 1.0}]),
            100: Tried(Rates(search=0.1, last=0.05), [{"num_leaves": 7, "reg_lambda": 1.0}]),
            1_000: Tried(Rates(search=0.2, last=0.05), [{"num_leaves": n, "reg_lambda": 0.0} for n in (15, 63)]),
        },
        unsearched={"num_leaves": 31, "reg_lambda": 0.0, "learning_rate": 0.2},
    ),
    default_rate=0.1,
    schedules=schedules,
    first_rates=first_rates,
    kept_on_loading=input_checks.OF_MACHINE,
    start_beside_model="LightGBM puts the model's scores in its place",
    knows_training_set=True,
)
