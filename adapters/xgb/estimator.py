"""XGBOrdinalClassifier: ordinal boosting through XGBoost behind scikit-learn's interface."""

from __future__ import annotations

import copy
import sys
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import xgboost
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives import tables
from ordinal_objectives.adapters.training import bind_labels
from ordinal_objectives.adapters.xgb import booster as xgb_booster, input_checks, prediction
from ordinal_objectives.adapters.xgb.train import CustomMetric, asks_for_early_stop, first_rates, schedules, train_spec
from ordinal_objectives.aliases import ArrayLike, BoolArray, Column, FloatArray, IntArray, NDArray, Params, Seed, Table
from ordinal_objectives.columns import Columns
from ordinal_objectives.estimators import arguments, new_groups
from ordinal_objectives.estimators.held_out import Rows, Trial
from ordinal_objectives.estimators.host_classifier import HostClassifier
from ordinal_objectives.estimators.linear import with_start
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.random_effects import random_effects_of_model, without
from ordinal_objectives.threads import effective_n_threads, library_n_threads, one_thread_after_fork
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils import files, shared_docs
from ordinal_objectives.utils.validation import as_floats


@shared_docs.documented
class XGBOrdinalClassifier(HostClassifier):
    """Ordinal classifier grown by XGBoost, its thresholds learned with the trees.

    Parameters
    ----------
    <<classes, n_estimators>>
    max_depth : int, "auto" or None, default="auto"
        "auto": 4; where ``n_estimators`` is searched and 1,000 rows have weight, the better one of 4 and 8. None is
        XGBoost's default.
    learning_rate, min_child_weight, subsample, colsample_bytree, reg_lambda, reg_alpha, gamma, max_leaves, max_bin, \
tree_method, n_jobs, random_state, verbosity, missing, enable_categorical, feature_types, feature_weights, \
importance_type, early_stopping_rounds, callbacks
        As in :class:`xgboost.XGBClassifier`, except ``subsample=0.8``; None is XGBoost's default. ``min_child_weight``
        is compared with sums of the ordinal Hessian: with the logit at most (n_classes - 1) / 4 a row. In a forked
        process XGBoost runs on one thread.
    <<decision_rule, cost_matrix, class_weight>>
    validation_fraction : float or None, default=None
        Share of the rows held out for early stopping where ``fit`` gets no evaluation set. Stratified by class, by
        ``random_state``; class weights count there.
    <<eval_metric>>
        Early stopping uses the last one.
    <<progress, proportional, loss, link, training_cost, linear, linear_l2, step parameters>>
        "schur", "joint" and shifts refuse reg_alpha, max_delta_step, monotone constraints, num_parallel_tree above 1,
        dart and gblinear.
    <<shift_l2, shift_penalty, max_shifts, shift_method, split_outputs, random_intercept>>
    **host_params
        Any other parameter of :func:`xgboost.train`.

    Attributes
    ----------
    <<classes_, ordered_classes_, n_classes_, thresholds_, proportional_>>
    booster_ : xgboost.Booster
        The booster, with its thresholds; see :func:`ordinal_objectives.adapters.xgb.predict_proba`.
    <<n_iter_, round_search_, linear_>>
    <<random_effects_, training_loss_, threshold_history_>>
    best_iteration_ : int
        Last of the iterations that predictions use, counted from 0.
    feature_importances_ : ndarray of float32, shape (n_features,)
        Of each feature, by ``importance_type``; they sum to 1.
    evals_result_ : dict of str to dict
        Loss and metrics of each evaluation set after 1, 2, ... rounds, as :func:`xgboost.train` fills it.
    <<n_features_in_, columns_, is_categorical_, feature_names_in_, diagnostics_>>

    Notes
    -----
    ``classes_``, the columns of ``predict_proba`` and the sign of ``decision_function`` are sorted by label, as
    scikit-learn requires; all else follows ``ordered_classes_``. Tools that encode labels before ``fit``, such as
    :class:`~sklearn.ensemble.VotingClassifier`, lose that order: give them codes.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import XGBOrdinalClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> model = XGBOrdinalClassifier(n_estimators=20, max_depth=2).fit(X, y)
    >>> model.predict_proba(X).shape
    (300, 4)
    """

    _start_name: ClassVar = "base_margin"
    _continued_by: ClassVar = "xgb_model"
    _native: ClassVar = input_checks.NATIVE
    _own: ClassVar = input_checks.OWN
    _dialect: ClassVar = input_checks.DIALECT
    _refused: ClassVar = input_checks.REFUSED
    _known: ClassVar = input_checks.KNOWN
    _tried: ClassVar = (({"max_depth": 4},), ({"max_depth": 4}, {"max_depth": 8}))
    _unsearched: ClassVar = {"max_depth": 4}
    _host_checks_names: ClassVar = True
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
        proportional: bool | str = "auto",
        shift_l2: float | None = None,
        shift_penalty: str = "ridge",
        max_shifts: int | None = None,
        shift_method: str = "renewal",
        split_outputs: str | int = "score",
        linear: bool | str = False,
        linear_l2: float = 100.0,
        random_intercept: int | str | list[int | str] | None = None,
        decision_rule: str = "median",
        cost_matrix: ArrayLike | None = None,
        class_weight: Any = None,
        max_depth: int | str | None = "auto",
        max_leaves: int | None = None,
        max_bin: int | None = None,
        learning_rate: float | None = None,
        gamma: float | None = None,
        min_child_weight: float | None = None,
        subsample: float | None = 0.8,
        colsample_bytree: float | None = None,
        reg_alpha: float | None = None,
        reg_lambda: float | None = None,
        tree_method: str | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbosity: int | None = None,
        missing: float | None = np.nan,
        enable_categorical: bool = True,
        feature_types: Any = None,
        feature_weights: ArrayLike | None = None,
        importance_type: str = "gain",
        early_stopping_rounds: int | None = None,
        validation_fraction: float | None = None,
        eval_metric: Any = None,
        callbacks: list[Any] | None = None,
        progress: bool = False,
        **host_params: Any,
    ) -> None:
        self._keep_arguments(dict(locals()), "host_params")

    @shared_docs.documented
    @one_thread_after_fork()
    @arguments.explains_keywords
    def fit(
        self,
        X: Table,
        y: Column,
        *,
        sample_weight: ArrayLike | None = None,
        base_margin: ArrayLike | None = None,
        eval_set: list[tuple[Table, Column]] | None = None,
        sample_weight_eval_set: list[Any] | None = None,
        base_margin_eval_set: list[Any] | None = None,
        groups: ArrayLike | None = None,
        xgb_model: XGBOrdinalClassifier | xgboost.Booster | str | PathLike[str] | None = None,
        verbose: bool | int = False,
    ) -> XGBOrdinalClassifier:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
            pandas and polars frames, lazy ones included. NaN is missing; so is what a sparse matrix does not store.
        <<y, sample_weight>>
        base_margin : array-like of float, shape (n_samples,), or None
            Scores that the trees' are added to. The thresholds are fitted to them before the first tree, unless
            a model is continued. Predictions start at 0 unless they are given scores of their own.
            XGBoost adds trees to them in float32, which is coarse far from 0: subtract a constant, the thresholds take
            it.
        eval_set : list of (X, y) pairs or None
            Evaluated each round; the last one decides early stopping.
        sample_weight_eval_set : list of array-like or None
            Weights of each evaluation set.
        base_margin_eval_set : list of array-like or None
            Start scores of each evaluation set.
        <<groups>>
        xgb_model : XGBOrdinalClassifier, xgboost.Booster, path or None
            Model to continue, with its thresholds, and with the same classes, loss and link. All of
            its rounds are kept, also those after the best one of an early stop.
        verbose : bool or int
            Whether to print the loss and the metrics each round, or each so many rounds: ``verbose_eval`` of
            :func:`xgboost.train`. Without an evaluation set those of the training rows are printed.

        Returns
        -------
        XGBOrdinalClassifier

        Raises
        ------
        ValueError
            If labels, weights or parameters are not what the docs allow; the message names the argument.
        """
        xgb_model = self._apart(xgb_model)
        with self._all_or_nothing():
            weights = sample_weight_eval_set, "sample_weight_eval_set"
            sets = arguments.GivenSets(eval_set, *weights, base_margin_eval_set, "base_margin_eval_set")
            training = (X, y, sample_weight, base_margin, groups)
            continued, earlier = self._read_model(xgb_model)
            rows, held_out = self._rows_to_fit(training, "base_margin", sets, self.random_state)
            self._check_continued(xgb_model, continued, earlier)
            arguments.check_rounds("early_stopping_rounds", self.early_stopping_rounds, len(held_out))
            metric = CustomMetric(self._metrics(self.eval_metric))
            callbacks, rounds = metric.early_stopping(self.callbacks, self.early_stopping_rounds)
            self.evals_result_: dict[str, Any] = {}
            params = self._native_params()
            search, scheduled = self._search_of(params, callbacks, continued)
            options: Params = {"watched": held_out, "callbacks": scheduled, "says": bool(verbose)}
            plan = self._plan(self.n_estimators, rows, search, continued=earlier, **options)
            dtrain, *matrices = self._matrices([rows, *held_out], continued)
            evals = [(matrix, f"validation_{i}") for i, matrix in enumerate(matrices)]
            with self._under_way():
                self.booster_ = train_spec(
                    (self._spec("XGBOrdinalClassifier"), None),
                    params | plan.settings,
                    dtrain,
                    plan.n_rounds,
                    xgb_model=continued,
                    evals=evals or ([(dtrain, "training")] if verbose else []),  # what verbose prints
                    callbacks=callbacks,
                    custom_metric=metric if metric.metrics else None,
                    evals_result=self.evals_result_ if evals else {},
                    early_stopping_rounds=rounds,
                    verbose_eval=verbose,
                    progress=self.progress,
                    carried=self._carried(),
                )
            record, n_iter = xgb_booster.carried_record(self.booster_), xgb_booster.kept_rounds(self.booster_)
            self._finish(record, n_iter, rows)
        self._warn_if_constant(dtrain.num_row(), "min_child_weight")
        return self

    def _search_of(
        self, params: Params, callbacks: list[Any], continued: xgboost.Booster | None
    ) -> tuple[tuple[float, Seed] | None, arguments.Schedules]:
        """Return what a search for the number of rounds needs, or None where it is decided; and the schedules."""
        ends = asks_for_early_stop({"early_stopping_rounds": self.early_stopping_rounds}, callbacks)
        decided = ends or continued is not None or params.get("booster") == "dart"  # which cannot stop early
        scheduled = schedules(self.callbacks)
        rate = arguments.smallest_rate(params.get("learning_rate", 0.3), first_rates(scheduled.known))  # XGBoost's
        return None if decided else (rate, self.random_state), scheduled

    def _trial(self, fit: Rows, held: Rows, **options: Any) -> Trial:
        dtrain = self._training_matrix(fit)
        matrix = self._dmatrix(held.X, held, dtrain)

        def trial(most: int, patience: int | None, settings: Params) -> list[float]:
            result: dict[str, dict[str, list[float]]] = {}
            train_spec(
                (self._spec("XGBOrdinalClassifier"), None),
                self._native_params() | {"verbosity": 0} | settings,
                dtrain,
                most,
                evals=[(matrix, "held_out")],
                evals_result=result,
                early_stopping_rounds=patience,
                verbose_eval=False,
                callbacks=copy.deepcopy(options["callbacks"]),
                progress=self.progress,
                what="search",
            )
            return next(iter(result["held_out"].values()))

        return trial

    def _fixed_rounds(self, n_rounds: int) -> Params:
        every, stopping = list(self.callbacks or ()), xgboost.callback.EarlyStopping
        others = [callback for callback in every if not isinstance(callback, stopping)]
        return {**self._found, "n_estimators": n_rounds, "early_stopping_rounds": None, "callbacks": others or None}

    @one_thread_after_fork()
    def _splits(self) -> list[bool]:
        return [n_nodes > 1 for n_nodes in xgb_booster.nodes_of_trees(self.booster_)]

    @property
    def is_categorical_(self) -> BoolArray:
        """Which features are categories, (n_features,)."""
        check_is_fitted(self)
        types = self.booster_.feature_types or [""] * self.n_features_in_
        return np.array([kind == "c" for kind in types], dtype=np.bool_)

    def _categories(self, **options: Any) -> list[int]:
        return list(self.columns_.levels)

    def _read_model(self, model: Any) -> tuple[xgboost.Booster | None, ThresholdRecord | None]:
        booster, record = super()._read_model(model)
        return None if booster is None else input_checks.without_levels(booster), record

    def _check_continued(self, model: Any, booster: xgboost.Booster | None, record: ThresholdRecord | None) -> None:
        super()._check_continued(model, booster, record)
        if record is None:
            return
        known, described = self._missing, {} if record.classifier is None else record.classifier.params
        if isinstance(model, XGBOrdinalClassifier):
            known = model._missing
        elif "missing" in described:
            given = files.value_from_json(described["missing"])
            known = np.nan if given is None else given
        if not np.array_equal(known, self._missing, equal_nan=True):
            raise ValueError(f"xgb_model was trained with missing={known}; got missing={self._missing}")

    def _read_continued(self, model: Any) -> tuple[xgboost.Booster, ThresholdRecord]:
        # As from a file: a booster in memory has the parameters of its training, with which XGBoost would go on.
        is_booster = isinstance(model, xgboost.Booster)
        booster = xgboost.Booster(model_file=model.save_raw("ubj")) if is_booster else input_checks.from_file(model)
        return booster, xgb_booster.threshold_record(booster)

    def _check_features(self, X: Table, *, reset: bool) -> Table:
        return self._encoded(super()._check_features(X, reset=reset), reset=reset)

    def _forget_fit(self) -> None:
        super()._forget_fit()
        self._of_rows = {name: getattr(self, name) for name in ("missing", "feature_types", "enable_categorical")}

    def _learned(self, X: Table) -> Columns:
        places = set(tables.places_of(X, tables.FROM_DTYPE)) if self.enable_categorical else set[int]()
        places |= {place for place, kind in enumerate(self.feature_types or ()) if kind == "c" and place < X.shape[1]}
        return Columns.learn(X, sorted(places), declared=True, missing=self._missing)

    def _own_columns(self, booster: xgboost.Booster) -> Columns:
        return Columns(booster.num_features(), input_checks.levels_of(booster))

    def _resolved_params(self) -> Params:
        params = super()._resolved_params()
        if params.get("booster") == "gblinear":
            params |= {name: None for name in ("max_depth", "subsample") if params[name] == self._default(name)}
        return params

    def _native_params(self) -> Params:
        # XGBoost warns of parameters that it does not know or use; 1 shows warnings only.
        return {**super()._native_params(), "verbosity": 1 if self.verbosity is None else self.verbosity}

    def _prediction_data(self, X: Table) -> Table:
        # XGBoost reads an array where it lies; making a matrix of one row costs more than its prediction.
        if isinstance(X, np.ndarray) and self._record.last_only is False:
            input_checks.check_finite(X, self.columns_.missing_in_codes)
            return X
        return self._dmatrix(X, None, self.booster_)

    @one_thread_after_fork()
    def _score(self, data: Table, start: int, stop: int) -> FloatArray:
        if start or stop != self.booster_.num_boosted_rounds():
            xgb_booster.check_all_rounds(self.booster_, self._record, stop)
        outputs, missing = self._record.outputs, self.columns_.missing_in_codes
        if not self.proportional_ and outputs is None:
            n_threads = effective_n_threads(self.n_jobs)
            return prediction.leaf_scores(self.booster_, self._record, data, start, stop, missing, n_threads)
        if isinstance(data, np.ndarray):
            options = {"predict_type": "margin", "iteration_range": (start, stop), "missing": missing}
            scores = self.booster_.inplace_predict(data, validate_features=False, **options)
        else:
            scores = self.booster_.predict(data, output_margin=True, iteration_range=(start, stop))
        return np.asarray(scores, dtype=np.float64) if outputs is None else outputs.scores(scores, start, stop)

    @one_thread_after_fork()
    def _store(self, record: ThresholdRecord) -> None:
        xgb_booster.store_record(self.booster_, record)

    @one_thread_after_fork()
    def _write(self, path: str | PathLike[str]) -> None:
        raw = self.booster_.save_raw("json" if Path(path).suffix == ".json" else "ubj")
        with files.written(path) as newer:
            newer.write_bytes(input_checks.sealed(bytes(raw)))

    @one_thread_after_fork()
    def _read(self, path: str | PathLike[str]) -> tuple[ThresholdRecord, int, int]:
        threads = library_n_threads(self.n_jobs)
        self.booster_ = input_checks.from_file(path, {} if threads is None else {"nthread": threads})
        record = xgb_booster.threshold_record(self.booster_)
        self.shift_method = "renewal" if record.outputs is None else "host"
        if record.outputs is None:
            self.split_outputs = "score"
        with files.as_damaged_file(path):
            self.columns_ = self._columns_in(self.booster_, record)
            prediction.check_leaves(self.booster_, record)
            n_iter = xgb_booster.kept_rounds(self.booster_)
        xgb_booster.check_all_rounds(self.booster_, record, n_iter)
        return record, n_iter, self.booster_.num_features()

    def _names_in_booster(self) -> list[str] | None:
        return self.booster_.feature_names

    # Rows as XGBoost's matrices

    @property
    def _missing(self) -> float:
        """What stands for a missing value; None is NaN, as XGBoost has it."""
        missing = self._of_rows["missing"]
        too_large = isinstance(missing, int) and abs(missing) > sys.float_info.max
        if isinstance(missing, (bool, np.bool_)) or not isinstance(missing, (Real, np.number, type(None))) or too_large:
            raise ValueError(f"missing must be a number or None; got {missing!r}")
        return np.nan if missing is None else float(missing)

    def _matrices(self, rows: list[Rows], continued: xgboost.Booster | None) -> list[xgboost.DMatrix]:
        """Return the training matrix and those to evaluate, with the linear part in their start."""
        first, *others = (with_start(self._linear, some) for some in rows)
        dtrain = self._training_matrix(first, continued)
        return [dtrain, *(self._dmatrix(some.X, some, dtrain) for some in others)]

    def _training_matrix(self, rows: Rows, continued: xgboost.Booster | None = None) -> xgboost.DMatrix:
        weights = self.feature_weights  # XGBoost reads what is masked, and numbers of the other byte order
        weights = None if weights is None else as_floats(weights, name="feature_weights")
        return self._dmatrix(rows.X, rows, continued, feature_weights=weights)

    def _feature_types(self) -> list[str] | None:
        """Return the types of the features for XGBoost."""
        types, levels = self.feature_types, self.columns_.levels
        if not levels:
            return types
        types = ["q"] * self.n_features_in_ if types is None else list(types)
        return ["c" if place in levels else kind for place, kind in enumerate(types)]

    def _dmatrix(
        self, X: Table, rows: Rows | None, like: xgboost.DMatrix | xgboost.Booster | None, **options: Any
    ) -> xgboost.DMatrix:
        """Return a matrix of encoded rows, with names and types of the columns as another one or a booster has them."""
        types = None if like is None else like.feature_types
        names = like.feature_names if rows is None and like is not None else self.columns_.names
        if rows is not None:
            start = rows.start
            if start is not None and self.shift_method == "host":  # the score is the first of the outputs
                start = np.pad(start[:, np.newaxis], ((0, 0), (0, self.n_classes_ - 2)))
            options |= {"label": rows.codes, "weight": rows.weight, "base_margin": start}
            X = without(X, self._groups)
        matrix = xgboost.DMatrix(
            X,
            missing=self.columns_.missing_in_codes,
            nthread=library_n_threads(self.n_jobs),
            enable_categorical=True,
            feature_names=names,
            feature_types=self._feature_types() if types is None else types,
            **options,
        )
        if rows is not None and rows.labels is not None:
            bind_labels(matrix, rows.labels)
        if rows is not None:
            self._bind_groups(matrix, rows)
        return matrix

    # Methods of XGBClassifier about its booster, under the same names

    @property
    def best_iteration_(self) -> int:
        """Last of the iterations that predictions use, counted from 0, as XGBoost does.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        """
        check_is_fitted(self)
        return self.n_iter_ - 1

    best_iteration = best_iteration_

    def get_booster(self) -> xgboost.Booster:
        """Return ``booster_``.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        """
        check_is_fitted(self)
        return self.booster_

    def evals_result(self) -> dict[str, Any]:
        """Return ``evals_result_``: the loss and the metrics of every round on every evaluation set.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        """
        check_is_fitted(self)
        return getattr(self, "evals_result_", {})  # no file keeps them

    @property
    @one_thread_after_fork()
    def best_score(self) -> float:
        """The value by which early stopping chose the best round.

        Raises
        ------
        NotFittedError, AttributeError
            Before ``fit``, and where nothing could stop the training early.
        """
        score = self.get_booster().attr("best_score")
        if score is None:
            raise AttributeError("best_score is there after early stopping only; give early_stopping_rounds")
        return float(score)

    @property
    @one_thread_after_fork()
    def feature_importances_(self) -> NDArray[np.float32]:
        """Importance of each feature by ``importance_type``, summing to 1, float32 (n_features,).

        Of ``booster="gblinear"``, which has no trees, the size of its coefficient.
        """
        check_is_fitted(self)
        names = self.booster_.feature_names or [f"f{i}" for i in range(self.n_features_in_)]
        is_linear = xgb_booster.settings_of(self.booster_)["gradient_booster"]["name"] == "gblinear"
        scores = self.booster_.get_score(importance_type="weight" if is_linear else self.importance_type)
        values = np.abs(np.array([scores.get(name, 0.0) for name in names], dtype=np.float32))
        total = values.sum()
        return values / total if total else values

    @shared_docs.documented
    @one_thread_after_fork()
    def apply(self, X: Table) -> IntArray:
        """Return the leaf that each row ends in, int32 ``(n_samples, n_iter_)``.

        Trees of one round that grew in parallel have a column each.

        Parameters
        ----------
        <<X>>
        """
        check_is_fitted(self)
        matrix = self._dmatrix(self._check_features(X, reset=False), None, self.booster_)
        leaves = self.booster_.predict(matrix, pred_leaf=True, iteration_range=(0, self.n_iter_))
        return np.asarray(leaves, dtype=np.int32).reshape(matrix.num_row(), -1)
