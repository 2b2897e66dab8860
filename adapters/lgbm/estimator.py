"""LGBMOrdinalClassifier: ordinal boosting through LightGBM behind scikit-learn's interface."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar

import lightgbm
import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives import tables, threads
from ordinal_objectives.adapters.lgbm import booster as lgbm_booster, input_checks, prediction
from ordinal_objectives.adapters.lgbm.train import TreesOfRounds, first_rates, schedules, train_spec
from ordinal_objectives.adapters.training import bind_labels, labels_of
from ordinal_objectives.aliases import ArrayLike, BoolArray, Column, FloatArray, NDArray, Params, Seed, Table
from ordinal_objectives.columns import Columns
from ordinal_objectives.estimators import arguments, new_groups
from ordinal_objectives.estimators.held_out import Rows, Trial, is_auto, smallest_leaf
from ordinal_objectives.estimators.host_classifier import ORDINAL_PARAMETERS, HostClassifier
from ordinal_objectives.estimators.linear import LinearPart, with_start
from ordinal_objectives.eval_metric import EvalMetric, Result, for_early_stopping
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.random_effects import random_effects_of_model, without
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils import files
from ordinal_objectives.utils.shared_docs import documented


@documented
class LGBMOrdinalClassifier(HostClassifier):
    """Ordinal classifier grown by LightGBM, its thresholds learned with the trees.

    Parameters
    ----------
    <<classes, n_estimators>>
    num_leaves : int or "auto", default="auto"
        "auto": where ``n_estimators`` is searched 7 for fewer than 1,000 rows with weight, else the better one of 15
        and 63; without a search 31.
    boosting_type, max_depth, learning_rate, subsample_for_bin, min_split_gain, min_child_weight, \
min_child_samples, subsample, subsample_freq, colsample_bytree, reg_alpha, reg_lambda, random_state, n_jobs, \
importance_type
        As in :class:`lightgbm.LGBMClassifier`, except ``learning_rate=0.2``, ``subsample=0.8`` with
        ``subsample_freq=1``, ``min_child_samples="auto"``: one row in 50, at least 1 and at most 20; and
        ``reg_lambda="auto"``: 1 where ``n_estimators`` is searched with fewer than 1,000 rows, else 0. In a forked
        process LightGBM runs on one thread.
    <<decision_rule, cost_matrix, class_weight>>
    early_stopping_round : int or None, default=None
        Stop when the loss or a metric has not improved for so many rounds on one of the evaluation sets;
        ``first_metric_only=True`` considers only the loss.
    validation_fraction : float or None, default=None
        Share of the rows held out for early stopping where ``fit`` gets no evaluation set. Stratified by class, by
        ``random_state``; class weights count there.
    <<progress, proportional, loss, link, training_cost, linear, linear_l2, step parameters>>
        "schur", "joint" and shifts refuse lambda_l1, max_delta_step, path_smooth, monotone constraints and linear_tree;
        dart and rf are always refused.
    <<shift_l2, shift_penalty, max_shifts, random_intercept>>
    **host_params
        Any other parameter of :func:`lightgbm.train`, and those above by LightGBM's other names, such as
        ``num_iterations``. Several names for one parameter raise a warning. ``feature_pre_filter`` is False unless
        given.

    Attributes
    ----------
    <<classes_, ordered_classes_, n_classes_, thresholds_, proportional_>>
    booster_ : lightgbm.Booster
        The booster, with its thresholds; see :func:`ordinal_objectives.adapters.lgbm.predict_proba`.
    <<n_iter_, round_search_, linear_>>
    <<random_effects_, training_loss_, threshold_history_>>
    best_iteration_ : int
        The best iteration, counted from 1.
    feature_importances_ : ndarray, shape (n_features,)
        Of each feature, by ``importance_type``.
    evals_result_ : dict of str to dict
        Loss and metrics of each evaluation set after 1, 2, ... rounds, as :func:`lightgbm.record_evaluation` fills it.
    <<n_features_in_, columns_, is_categorical_, feature_names_in_, diagnostics_>>

    Notes
    -----
    ``classes_``, the columns of ``predict_proba`` and the sign of ``decision_function`` are sorted by label, as
    scikit-learn requires; all else follows ``ordered_classes_``. Tools that encode labels before ``fit``, such as
    :class:`~sklearn.ensemble.VotingClassifier`, lose that order: give them codes.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import LGBMOrdinalClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> model = LGBMOrdinalClassifier(n_estimators=20, num_leaves=4).fit(X, y)
    >>> model.predict_proba(X).shape
    (300, 4)
    """

    _native: ClassVar = input_checks.NATIVE
    _own: ClassVar = ORDINAL_PARAMETERS
    _refused: ClassVar = input_checks.REFUSED
    _dialect: ClassVar = input_checks.DIALECT
    _known: ClassVar = input_checks.KNOWN
    _tried: ClassVar = (
        ({"num_leaves": 7, "reg_lambda": 1.0},),
        ({"num_leaves": 15, "reg_lambda": 0.0}, {"num_leaves": 63, "reg_lambda": 0.0}),
    )
    _unsearched: ClassVar = {"num_leaves": 31, "reg_lambda": 0.0}
    _of_machine: ClassVar = input_checks.OF_MACHINE
    _start_name: ClassVar = "init_score"
    _continued_by: ClassVar = "init_model"
    _knows_training_set: ClassVar = True
    # Columns of categories that LightGBM takes for such by itself: of a category type without an order.
    _unordered: Sequence[int] = ()
    _fit_hints: ClassVar = input_checks.FIT_HINTS
    random_effects_ = random_effects_of_model
    with_groups = new_groups.with_groups

    def __init__(
        self,
        *,
        n_estimators: int | str = "auto",
        classes: ArrayLike | None = None,
        loss: str | OrdinalLoss = "all_threshold",
        link: str = "logit",
        training_cost: str | ArrayLike = "absolute",
        hessian: str = "exact",
        threshold_update: str = "newton",
        decision_rule: str = "median",
        cost_matrix: ArrayLike | None = None,
        class_weight: Any = None,
        proportional: bool | str = "auto",
        shift_l2: float | None = None,
        shift_penalty: str = "ridge",
        max_shifts: int | None = None,
        linear: bool | str = False,
        linear_l2: float = 100.0,
        random_intercept: int | str | list[int | str] | None = None,
        boosting_type: str = "gbdt",
        num_leaves: int | str = "auto",
        max_depth: int = -1,
        learning_rate: float = 0.2,
        subsample_for_bin: int = 200_000,
        min_split_gain: float = 0.0,
        min_child_weight: float = 1e-3,
        min_child_samples: int | str = "auto",
        subsample: float = 0.8,
        subsample_freq: int = 1,
        colsample_bytree: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float | str = "auto",
        random_state: Seed = None,
        n_jobs: int | None = None,
        importance_type: str = "split",
        early_stopping_round: int | None = None,
        validation_fraction: float | None = None,
        progress: bool = False,
        **host_params: Any,
    ) -> None:
        self._keep_arguments(dict(locals()), "host_params")

    @documented
    @threads.one_thread_after_fork()
    @arguments.explains_keywords
    def fit(
        self,
        X: Table,
        y: Column,
        *,
        sample_weight: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        eval_set: list[tuple[Table, Column]] | None = None,
        eval_X: Any = None,
        eval_y: Any = None,
        eval_names: list[str] | str | None = None,
        eval_sample_weight: list[Any] | None = None,
        eval_init_score: list[Any] | None = None,
        groups: ArrayLike | None = None,
        eval_metric: Any = None,
        categorical_feature: list[str] | list[int] | str = "auto",
        callbacks: list[Any] | None = None,
        init_model: LGBMOrdinalClassifier | lightgbm.Booster | str | PathLike[str] | None = None,
    ) -> LGBMOrdinalClassifier:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
            pandas and polars frames, lazy ones included. NaN is missing; what a sparse matrix does not store is 0.
        <<y, sample_weight>>
        init_score : array-like of float, shape (n_samples,), or None
            Scores that the trees' are added to. The thresholds are fitted to them before the first tree.
            Predictions start at 0 unless they are given scores of their own.
        eval_set : list of (X, y) pairs or None
            Evaluated each round. A pair of the very X and y of this call is the training set, as LightGBM has it:
            called "training", with the weights and start scores of the training, and left out of early stopping.
        eval_X, eval_y : array-like, tuple of array-like, or None
            Features and labels of one evaluation set, or tuples of several: LightGBM's newer spelling of ``eval_set``.
        eval_names : list of str, str or None
            Names of the evaluation sets; None calls them valid_0, valid_1, ...
        eval_sample_weight : list of array-like or None
            Weights of each evaluation set.
        eval_init_score : list of array-like or None
            Start scores of each evaluation set.
        <<groups, eval_metric>>
        categorical_feature : list of str, list of int, or "auto"
            Categorical columns; "auto" takes the categorical columns of a pandas data frame.
        callbacks : list of callable or None
            LightGBM callbacks, early stopping among them. Where "auto" trains on some of the rows, only
            ``reset_parameter`` is called there; a warning tells of those of your own without ``only_reads = True``.
        init_model : LGBMOrdinalClassifier, lightgbm.Booster, path or None
            Model to continue, with its thresholds, and with the same classes, loss and link. Not
            beside ``init_score``: LightGBM would put the model's scores in its place.

        Returns
        -------
        LGBMOrdinalClassifier

        Raises
        ------
        ValueError
            If labels, weights or parameters are not what the docs allow; the message names the argument.
        """
        init_model = self._apart(init_model)
        with self._all_or_nothing():
            given = self._warned_params()
            pairs = arguments.either_spelling(eval_set, eval_X, eval_y)
            weights = eval_sample_weight, "eval_sample_weight"
            sets = arguments.GivenSets(pairs, *weights, eval_init_score, "eval_init_score")
            training = (X, y, sample_weight, init_score, groups)
            self._refuse_starts(init_model, init_score=init_score, eval_init_score=eval_init_score)
            booster, earlier = self._read_model(init_model)
            rows, held_out = self._rows_to_fit(training, "init_score", sets, given["random_state"])
            self._check_continued(init_model, booster, earlier)
            unseen = [held for held in held_out if held is not rows]
            search, scheduled = _search_of(given, callbacks := list(callbacks or ()), booster, len(held_out))
            plan = self._plan(
                given["n_estimators"], rows, search, continued=earlier, watched=unseen, callbacks=scheduled,
                says=self._native_params()["verbosity"] > 0, categorical_feature=categorical_feature,
            )  # fmt: skip
            train_set, *valid_sets = self._datasets([rows, *held_out], categorical_feature, self._linear)
            n_sets = len(valid_sets)
            self.evals_result_, trees = dict[str, Any](), TreesOfRounds()
            watching = [*([lightgbm.record_evaluation(self.evals_result_)] if valid_sets else []), trees]
            with self._under_way():
                self.booster_ = train_spec(
                    (self._spec("LGBMOrdinalClassifier"), None), self._params_for(len(rows.weighted), plan.settings),
                    train_set, plan.n_rounds, valid_sets=valid_sets or None,
                    valid_names=eval_names,
                    feval=[_as_feval(metric) for metric in self._metrics(eval_metric)],
                    init_model=booster, callbacks=[*watching, *callbacks],
                    progress=self.progress, carried=self._carried(),
                    set_names=["X", *(f"X of evaluation set {i}" for i in range(n_sets) if held_out[i] is not rows)],
                )  # fmt: skip
            record, n_iter = lgbm_booster.carried_record(self.booster_), lgbm_booster.iterations_of(self.booster_)
            n_rounds = trees.rounds_of(n_iter, stopped=self.booster_.best_iteration > 0)
            self._finish(record, n_iter, rows, n_rounds)
        least = smallest_leaf(given["min_child_samples"], len(rows.weighted))
        self._warn_if_constant(len(rows), "min_child_samples", 20 if least is None else least)  # LightGBM's default
        return self

    def _by_other_names(self) -> tuple[Params, list[str]]:
        """Return parameters given by other names of LightGBM, and warnings of those that are not used."""
        if not self._host_params:
            return {}, []
        kept = {name: value for name, value in arguments.kept_arguments(self).items() if name in input_checks.KNOWN}
        own = {name: value for name, value in kept.items() if value != self._default(name)}
        return input_checks.resolved(own, self._host_params)

    def _warned_params(self) -> Params:
        """Return the parameters by one name each, and warn of those that are not used."""
        values, unused = self._by_other_names()
        for words in unused:
            warnings.warn(words, stacklevel=5)  # the caller of fit
        return arguments.kept_arguments(self) | values

    def _resolved_params(self) -> Params:
        return arguments.kept_arguments(self) | self._by_other_names()[0]

    def _native_params(self) -> Params:
        return {"feature_pre_filter": False, "verbosity": -1, **super()._native_params()}

    def _params_for(self, n_weighted: int, settings: Params | None = None) -> Params:
        """Return the parameters of a training on so many rows with weight, with settings that a search tries."""
        tried = {self._native.get(name, name): value for name, value in (settings or {}).items()}
        params = self._native_params() | tried
        if "min_data_in_leaf" in params:
            params["min_data_in_leaf"] = smallest_leaf(params["min_data_in_leaf"], n_weighted)
        is_default = params.get("bagging_fraction") == self._default("subsample")
        if is_default and "goss" in (params.get("boosting"), params.get("data_sample_strategy")):
            params["bagging_freq"] = 0  # LightGBM draws rows in only one way
        return params

    def _trial(self, fit: Rows, held: Rows, **options: Any) -> Trial:
        train_set, held_set = self._datasets([fit, held], options["categorical_feature"], keeps=True)

        def trial(most: int, patience: int | None, settings: Params) -> list[float]:
            result = dict[str, dict[str, list[float]]]()
            stops = [] if patience is None else [lightgbm.early_stopping(patience, verbose=False)]
            spec = self._spec("LGBMOrdinalClassifier")
            params = self._params_for(len(fit.weighted), settings) | {"verbosity": -1}
            train_spec(
                (spec, None), params, train_set, most,
                valid_sets=[held_set], valid_names=["held_out"],
                callbacks=[lightgbm.record_evaluation(result), *stops, *copy.deepcopy(options["callbacks"])],
                progress=self.progress, what="search", set_names=["X", "X"],
            )  # fmt: skip

            return next(iter(result["held_out"].values()))

        return trial

    def _datasets(
        self, rows: list[Rows], categorical_feature: Any, linear: LinearPart | None = None, *, keeps: bool = False
    ) -> list[lightgbm.Dataset]:
        """Return the training set and those to evaluate, which may be the training set.

        LightGBM 4.5 sets the categorical columns anew in a second training on them, which needs data that it ``keeps``.
        """
        sets, names = list[lightgbm.Dataset](), self.columns_.names
        categories = self._categorical_columns(categorical_feature)
        for given in rows:
            if sets and given is rows[0]:
                sets.append(sets[0])
                continue
            part = with_start(linear, replace(given, X=without(given.X, self._groups)))
            options: Params = {"reference": sets[0]} if sets else {"categorical_feature": categories}
            options |= {"feature_name": "auto" if names is None else names}
            options |= {"weight": part.weight, "init_score": part.start, "free_raw_data": not keeps}
            sets.append(lightgbm.Dataset(part.X, part.codes, **options))
            if part.labels is not None:
                bind_labels(sets[-1], part.labels)
            self._bind_groups(sets[-1], given)
        return sets

    def _fixed_rounds(self, n_rounds: int) -> Params:
        others = dict.fromkeys(name for name in input_checks.ROUNDS_AND_STOPPING if name in self._host_params)
        return {**others, **self._found, "n_estimators": n_rounds, "early_stopping_round": None}

    @threads.one_thread_after_fork()
    def _splits(self) -> list[bool]:
        n_trees = self.booster_.current_iteration()
        # LightGBM keeps a tree without a split only as the first one.
        first = lgbm_booster.leaf_values_in(self.booster_.model_to_string(num_iteration=1)) if n_trees else ()
        return [len(first) > 1, *[True] * (n_trees - 1)][:n_trees]

    @property
    @threads.one_thread_after_fork()
    def _zero_is_missing(self) -> bool:
        return "[zero_as_missing: 1]" in self.booster_.model_to_string(num_iteration=1)

    @property
    def best_iteration_(self) -> int:
        """The same as ``n_iter_``, as LightGBM counts."""
        return self.n_iter_

    @property
    @threads.one_thread_after_fork()
    def is_categorical_(self) -> BoolArray:
        """Which features are categories, (n_features,); one with a single value is none."""
        check_is_fitted(self)
        infos = self.booster_.dump_model(num_iteration=1)["feature_infos"]  # of a category it lists the codes
        return np.array([bool(infos.get(name, {}).get("values")) for name in self.booster_.feature_name()], np.bool_)

    def _categorical_columns(self, given: Any) -> list[int]:
        """Return the columns that LightGBM is to take for categories, by their places."""
        by_type = list(self._unordered) if is_auto(given) else []
        return input_checks.categorical_places(given, self.columns_.names, self.n_features_in_) or by_type

    def _categories(self, **options: Any) -> list[int]:
        return sorted({*self.columns_.levels, *self._categorical_columns(options["categorical_feature"])})

    def _refuse_starts(self, model: object, **starts: Any) -> None:
        given = [name for name, start in starts.items() if start is not None]
        if given and model is not None:
            raise ValueError(
                f"{given[0]} is not allowed beside init_model: LightGBM puts the model's scores in its place"
            )

    def _read_continued(self, model: object) -> tuple[lightgbm.Booster, ThresholdRecord]:
        booster = lgbm_booster.as_booster(model)
        return booster, lgbm_booster.threshold_record(booster)

    def _check_features(self, X: Table, *, reset: bool) -> Table:
        numbers = self._encoded(super()._check_features(X, reset=reset), reset=reset)
        # LightGBM knows SciPy's sparse matrices, not yet its sparse arrays.
        return csr_matrix(numbers) if isinstance(numbers, csr_array) else numbers

    def _forget_fit(self) -> None:
        super()._forget_fit()
        self._unordered = ()

    def _take_columns(self, X: Table) -> None:
        super()._take_columns(X)
        self._unordered = [place for place in self.columns_.levels if not tables.is_ordered(X, place)]

    def _own_columns(self, booster: lightgbm.Booster) -> Columns:
        if not booster.pandas_categorical:
            return Columns(booster.num_feature())
        names, infos = booster.feature_name(), booster.dump_model(num_iteration=1)["feature_infos"]
        places = [place for place, name in enumerate(names) if infos.get(name, {}).get("values")]
        levels = booster.pandas_categorical
        if len(levels) != len(places):
            raise ValueError(
                f"the model must say which columns its {len(levels)} lists of levels belong to; {len(places)} of its "
                f"columns hold categories of more than one value"
            )
        return Columns(len(names), dict(zip(places, levels, strict=True)))

    @threads.one_thread_after_fork()
    def _score(self, data: Table, start: int, stop: int) -> FloatArray:
        n_threads = threads.library_n_threads(self._by_other_names()[0].get("n_jobs", self.n_jobs))
        options = {} if n_threads is None else {"num_threads": n_threads}
        return prediction.predict_scores(self.booster_, self._record, data, start, stop, **options)

    def _store(self, record: ThresholdRecord) -> None:
        lgbm_booster.carry(self.booster_, record)

    def _write(self, path: str | PathLike[str]) -> None:
        lgbm_booster.save_model(self.booster_, path, num_iteration=self.n_iter_)

    def _read(self, path: str | PathLike[str]) -> tuple[ThresholdRecord, int, int]:
        self.booster_ = lgbm_booster.load_model(path)
        record = lgbm_booster.carried_record(self.booster_).copied()
        with files.as_damaged_file(path):
            self.columns_ = self._columns_in(self.booster_, record)
        n_iter = self.booster_.current_iteration()
        lgbm_booster.check_all_rounds(self.booster_, record, n_iter)
        return record, n_iter, self.booster_.num_feature()

    def _names_in_booster(self) -> list[str] | None:
        names: list[str] = self.booster_.feature_name()
        return None if input_checks.are_made_up(names) else names

    def _has_written_names(self, X: Table) -> bool:
        names, known = tables.column_names(X), getattr(self, "feature_names_in_", None)
        return names is not None and known is not None and input_checks.written_names(names) == known.tolist()

    @property
    @threads.one_thread_after_fork()
    def feature_importances_(self) -> NDArray[Any]:
        """Importance of each feature by ``importance_type``, (n_features,)."""
        check_is_fitted(self)
        return np.asarray(self.booster_.feature_importance(importance_type=self.importance_type))


def _search_of(
    given: Params, callbacks: list[Any], booster: lightgbm.Booster | None, n_sets: int
) -> tuple[tuple[float, Seed] | None, arguments.Schedules]:
    """Return what a search for the number of rounds needs, or None where it is decided; and the schedules."""
    arguments.check_rounds("early_stopping_round", given["early_stopping_round"], n_sets)
    scheduled = schedules(callbacks)
    # LightGBM's early stopping has no public type.
    stops = bool(given["early_stopping_round"]) or any(hasattr(one, "stopping_rounds") for one in callbacks)
    if stops or booster is not None:
        return None, scheduled
    rate = 0.1 if given["learning_rate"] is None else given["learning_rate"]  # LightGBM's default
    rate = arguments.smallest_rate(rate, first_rates(scheduled.known)) if is_auto(given["n_estimators"]) else rate
    return (rate, given["random_state"]), scheduled


def _as_feval(metric: EvalMetric) -> Callable[..., list[Result]]:
    """Return a metric as :func:`ordinal_objectives.adapters.lgbm.train` asks for it."""

    def evaluate(proba: FloatArray, data: lightgbm.Dataset) -> list[Result]:
        codes = labels_of(data, np.asarray(data.get_label()).astype(np.int32))
        return for_early_stopping(metric(codes, proba, data.get_weight()))

    return evaluate
