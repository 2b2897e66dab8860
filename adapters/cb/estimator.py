"""CatBoostOrdinalClassifier: ordinal boosting through CatBoost behind scikit-learn's interface."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from catboost import CatBoost, CatBoostClassifier, Pool
from scipy.sparse import csr_matrix, issparse
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives import tables, threads
from ordinal_objectives.adapters.arguments import check_same_columns
from ordinal_objectives.adapters.cb import booster as cb_booster
from ordinal_objectives.adapters.cb.train import train_spec
from ordinal_objectives.aliases import ArrayLike, BoolArray, Column, FloatArray, Level, NDArray, Params, Seed, Table
from ordinal_objectives.columns import Columns, float_type, levels_in
from ordinal_objectives.estimators import arguments
from ordinal_objectives.estimators.description import ClassifierDescription
from ordinal_objectives.estimators.held_out import Rows, Trial
from ordinal_objectives.estimators.host_classifier import ORDINAL_PARAMETERS, HostClassifier
from ordinal_objectives.estimators.linear import with_start
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils import extras, files, shared_docs, validation

# Parameters of the constructor that name columns, which CatBoost reads each in its way.
_COLUMNS = ("cat_features", "text_features", "embedding_features")
_NAMED = (
    "Name columns of categories in cat_features, of text in text_features, of vectors in embedding_features, and make "
    f"dates numbers{tables.OF_HOSTS.partition('dates numbers')[2]}"
)
_NATIVE = {"random_state": "random_seed", "n_jobs": "thread_count"}
_ONE_SCORE = "CatBoost shows no leaves before the training ends, so that thresholds cannot move with x"
_REFUSED = {
    **cb_booster.REFUSED,
    **dict.fromkeys(("proportional", "shift_l2", "shift_penalty", "max_shifts", "shift_method"), _ONE_SCORE),
    "eval_metric": "pass it to fit; the ordinal loss is always measured, and ends a training early",
    **dict.fromkeys(("class_weights", "auto_class_weights", "scale_pos_weight"), "use class_weight"),
    "eval_fraction": "use validation_fraction",
    "random_intercept": "the other three classifiers have it",
    **dict.fromkeys(("classes_count", "class_names"), "use classes"),
}
_DIALECT = {
    **{other: name for name, others in cb_booster.SAME.items() for other in others if name not in _REFUSED},
    **{native: name for name, native in _NATIVE.items()},
    "od_wait": "early_stopping_rounds",
    "callbacks": "callbacks= in fit",
}
_DIALECT = {name: to for name, to in _DIALECT.items() if name != "random_state"}


@shared_docs.documented
class CatBoostOrdinalClassifier(HostClassifier):
    """Ordinal classifier grown by CatBoost, its thresholds learned with the trees.

    CatBoost calls Python objectives on one thread, and grows trees on all.

    Parameters
    ----------
    iterations : int or "auto"
        Number of rounds. "auto": that with the lowest loss on a fifth of the rows, held out; then all rows are trained
        on. 100 where that is not possible, with early stopping, and for a continued model.
    <<classes, decision_rule, cost_matrix, class_weight>>
    learning_rate, depth, l2_leaf_reg, rsm, subsample, bootstrap_type, boosting_type, grow_policy, border_count, \
min_data_in_leaf, random_strength, one_hot_max_size
        As in ``catboost.CatBoostClassifier``, except ``learning_rate=0.1`` and ``one_hot_max_size=10``, which suits
        losses written in Python; None is CatBoost's default.
    cat_features : list of int or str, or None
        Columns of categories, by number or name. None takes those of a category type.
    text_features, embedding_features : list of int or str, or None
        Columns of a pandas frame with text, of which missing text has no words, and with vectors of finite numbers.
    random_state : int, RandomState instance or None
        Seed; ``random_seed`` of CatBoost.
    n_jobs : int or None
        Number of threads; ``thread_count`` of CatBoost.
    early_stopping_rounds : int or None
        Stop when the last evaluation set has not improved for so many rounds, by the last metric or else the loss.
    use_best_model : bool or None
        Whether to keep only the trees up to the best round of the last evaluation set; None does so.
    validation_fraction : float or None
        Share of the rows held out for early stopping where ``fit`` gets no evaluation set. Stratified by class, by
        ``random_state``; class weights count there.
    <<progress, loss, link, training_cost, linear, linear_l2, hessian>>
    threshold_update : {"newton", "fixed"}
        Step of the thresholds after each tree: a Newton step, or none. CatBoost shows no tree before the training ends,
        so nothing else is possible.
    **host_params
        Any other parameter of ``catboost.CatBoost``. ``allow_writing_files`` and ``verbose`` are False unless
        given.

    Attributes
    ----------
    <<classes_, ordered_classes_, n_classes_, thresholds_, proportional_>>
    booster_ : catboost.CatBoost
        The model, with its thresholds; see :func:`ordinal_objectives.adapters.cb.predict_proba`.
    <<n_iter_, round_search_, linear_>>
    <<training_loss_, threshold_history_>>
    feature_importances_ : ndarray of float64, shape (n_features,)
        Of each feature, by how much predictions change with it; they sum to 100.
    evals_result_ : dict of str to dict
        Loss and metrics of each evaluation set after 1, 2, ... rounds.
    <<n_features_in_, columns_, is_categorical_, feature_names_in_, diagnostics_>>

    Notes
    -----
    ``classes_``, the columns of ``predict_proba`` and the sign of ``decision_function`` are sorted by label, as
    scikit-learn requires; all else follows ``ordered_classes_``. Tools that encode labels before ``fit``, such as
    :class:`~sklearn.ensemble.VotingClassifier`, lose that order: give them codes.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import CatBoostOrdinalClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> model = CatBoostOrdinalClassifier(iterations=20, depth=2).fit(X, y)
    >>> model.predict_proba(X).shape
    (300, 4)
    """

    _takes_soft: ClassVar = False
    _hint: ClassVar = _NAMED
    _start_name: ClassVar = "baseline"
    _continued_by: ClassVar = "init_model"
    _rounds_name: ClassVar = "iterations"
    _native: ClassVar = _NATIVE
    _own: ClassVar = ORDINAL_PARAMETERS | {"iterations", "early_stopping_rounds", "use_best_model", *_COLUMNS}
    _refused: ClassVar = _REFUSED
    _dialect: ClassVar = _DIALECT
    _known: ClassVar = frozenset(inspect.signature(CatBoostClassifier).parameters) - set(_REFUSED) - set(_DIALECT)
    _tried: ClassVar = (({},), ({},))
    _unsearched: ClassVar[Params] = {}
    _of_machine: ClassVar = frozenset({"logging_level", "silent", "used_ram_limit"})
    # Places of the columns that are no numbers, by the parameter that names them.
    _places: dict[str, list[int]]
    # How many numbers the vectors of a column have, as far as the model says so.
    _lengths: Mapping[int, int] = {}

    def __init__(
        self,
        *,
        iterations: int | str = "auto",
        classes: ArrayLike | None = None,
        loss: str | OrdinalLoss = "all_threshold",
        link: str = "logit",
        training_cost: str | ArrayLike = "absolute",
        hessian: str = "exact",
        threshold_update: str = "newton",
        linear: bool | str = False,
        linear_l2: float = 100.0,
        decision_rule: str = "median",
        cost_matrix: ArrayLike | None = None,
        class_weight: Any = None,
        learning_rate: float = 0.1,
        depth: int | None = None,
        l2_leaf_reg: float | None = None,
        rsm: float | None = None,
        subsample: float | None = None,
        bootstrap_type: str | None = None,
        boosting_type: str | None = None,
        grow_policy: str | None = None,
        border_count: int | None = None,
        min_data_in_leaf: int | None = None,
        random_strength: float | None = None,
        one_hot_max_size: int | None = 10,
        cat_features: list[int] | list[str] | None = None,
        text_features: list[int] | list[str] | None = None,
        embedding_features: list[int] | list[str] | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        early_stopping_rounds: int | None = None,
        use_best_model: bool | None = None,
        validation_fraction: float | None = None,
        progress: bool = False,
        **host_params: Any,
    ) -> None:
        self._keep_arguments(dict(locals()), "host_params")

    @shared_docs.documented
    @arguments.explains_keywords
    def fit(
        self,
        X: Table,
        y: Column,
        *,
        sample_weight: ArrayLike | None = None,
        baseline: ArrayLike | None = None,
        eval_set: list[tuple[Table, Column]] | None = None,
        sample_weight_eval_set: list[Any] | None = None,
        baseline_eval_set: list[Any] | None = None,
        groups: ArrayLike | None = None,
        eval_metric: Any = None,
        callbacks: list[Any] | None = None,
        init_model: CatBoostOrdinalClassifier | CatBoost | str | PathLike[str] | None = None,
    ) -> CatBoostOrdinalClassifier:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
            pandas and polars frames, lazy ones included. NaN is missing; what a sparse matrix does not store is 0.
        <<y, sample_weight>>
        baseline : array-like of float, shape (n_samples,), or None
            Scores that the trees' are added to, not beside ``init_model``. The thresholds are fitted to them before the
            first tree. Predictions start at 0 unless they are given scores of their own.
        eval_set : list of (X, y) pairs or None
            Evaluated each round; the last one decides early stopping, and which model is the best, by the last metric
            of ``eval_metric``, else by the loss.
        sample_weight_eval_set : list of array-like or None
            Weights of each evaluation set.
        baseline_eval_set : list of array-like or None
            Start scores of each evaluation set.
        <<groups, eval_metric>>
        callbacks : list of objects or None
            CatBoost's, with a method ``after_iteration``.
        init_model : CatBoostOrdinalClassifier, catboost.CatBoost, path or None
            Model to continue, with its thresholds, and with the same classes, loss and link.

        Returns
        -------
        CatBoostOrdinalClassifier

        Raises
        ------
        ValueError
            If labels, weights or parameters are not what the docs allow; the message names the argument.
        """
        init_model = self._apart(init_model)
        with self._all_or_nothing():
            weights = sample_weight_eval_set, "sample_weight_eval_set"
            sets = arguments.GivenSets(eval_set, *weights, baseline_eval_set, "baseline_eval_set")
            training = (X, y, sample_weight, baseline, groups)
            continued, earlier = self._read_model(init_model)
            rows, held_out = self._rows_to_fit(training, "baseline", sets, self.random_state)
            self._check_continued(init_model, continued, earlier)
            arguments.check_rounds("early_stopping_rounds", self.early_stopping_rounds, len(held_out))
            decided = bool(self.early_stopping_rounds) or continued is not None
            search = None if decided else (self.learning_rate, self.random_state)
            options: Params = {"watched": held_out, "callbacks": arguments.Schedules([], [])}
            plan = self._plan(self.iterations, rows, search, continued=earlier, **options)
            pools = [self._pool(some.X, some) for some in (with_start(self._linear, one) for one in (rows, *held_out))]
            with self._under_way():
                self.booster_, self.evals_result_ = self._train(
                    pools, plan.n_rounds, self.early_stopping_rounds, init_model=continued, callbacks=callbacks,
                    use_best_model=self.use_best_model if held_out else None, carried=self._carried(),
                    metrics=self._metrics(eval_metric), progress=self.progress,
                )  # fmt: skip
            record = cb_booster.threshold_record(self.booster_)
            self._finish(record, record.n_iterations, rows)
        self._warn_if_constant(len(rows), "min_data_in_leaf")
        return self

    def _train(self, pools: list[Pool], n_rounds: int, patience: int | None, **options: Any) -> tuple[CatBoost, Params]:
        """Train on the first of some pools, and evaluate the others; return the model, and losses and metrics."""
        asked = (self._spec("CatBoostOrdinalClassifier"), None)
        return train_spec(
            asked, pools[0], self._native_params(), n_rounds, eval_set=pools[1:],
            early_stopping_rounds=patience or None, **options,
        )  # fmt: skip

    def _trial(self, fit: Rows, held: Rows, **options: Any) -> Trial:
        pools = [self._pool(some.X, some) for some in (fit, held)]

        def trial(most: int, patience: int | None, settings: Params) -> list[float]:
            options: Params = {"use_best_model": False, "progress": self.progress, "what": "search"}
            _, results = self._train(pools, most, patience, **options)
            losses: list[float] = next(iter(results["validation_0"].values()))
            return losses

        return trial

    def _fixed_rounds(self, n_rounds: int) -> Params:
        return {"iterations": n_rounds, "early_stopping_rounds": None}

    def _splits(self) -> list[bool]:
        return [bool(n_leaves > 1) for n_leaves in self.booster_.get_tree_leaf_counts()]

    @property
    def is_categorical_(self) -> BoolArray:
        """Which features are categories, (n_features,)."""
        check_is_fitted(self)
        return np.isin(np.arange(self.n_features_in_), self._places["cat_features"])

    def _categories(self, **options: Any) -> Collection[int]:
        return self._places["cat_features"]

    def _read_continued(self, model: object) -> tuple[CatBoost, ThresholdRecord]:
        booster = cb_booster.as_model(model)
        return booster, cb_booster.threshold_record(booster)

    def _check_continued(self, model: object, booster: CatBoost | None, record: ThresholdRecord | None) -> None:
        super()._check_continued(model, booster, record)
        if booster is not None:
            n_trained, names = len(booster.feature_names_), _names_of(booster)
            check_same_columns("init_model", n_trained, self.n_features_in_, names, self._names())

    def _own_columns(self, booster: CatBoost) -> Columns:
        return Columns(len(booster.feature_names_))

    def _learned(self, X: Table) -> Columns:
        columns = Columns.learn(X, self._places["cat_features"])
        for place, levels in columns.levels.items():
            texts: dict[str, Level] = {}
            for level in levels:
                if level is not (other := texts.setdefault(_text(level, float), level)):
                    raise ValueError(
                        f"{tables.called(X, place)} has the levels {other!r} and {level!r}, one for CatBoost: make "
                        f"them differ"
                    )
        return columns

    # Rows as CatBoost's pools

    def _check_features(self, X: Table, *, reset: bool) -> Table:
        """Check X, and return its columns as numbers; those of text and of vectors stay what they are, in a frame."""
        X = tables.as_table(X)
        if reset:
            self._places = {name: _places(X, name, getattr(self, name)) for name in _COLUMNS}
        named = [name for name in _COLUMNS if self._places[name]]
        if named and issparse(X):
            raise ValueError(f"X must be a table or an array where {named[0]} names columns; got a sparse matrix")
        unnamed = set(tables.places_of(X, tables.FROM_DTYPE)) - set(self._places["cat_features"])
        if reset and unnamed:
            raise ValueError(
                f"X must have categories only where cat_features says so; got {tables.called(X, min(unnamed))}"
            )
        zeros = np.zeros(X.shape[0])
        others = [place for places in self._places.values() for place in places if place < X.shape[1]]
        checked = super()._check_features(tables.with_columns(X, dict.fromkeys(others, zeros)), reset=reset)
        if not others:
            return self._encoded(checked, reset=reset)
        known = self._earlier_columns if reset else self.columns_
        codes = self._places["cat_features"] if known is None else known.levels
        no_numbers = [place for place in others if place not in codes]
        numbers = self._encoded(tables.with_columns(X, dict.fromkeys(no_numbers, zeros)), reset=reset)
        lengths = dict(self._lengths_in(X))
        if reset:
            self._lengths = {place: of_rows[0] for place, of_rows in lengths.items()}
        for place, of_rows in lengths.items():
            if of_rows != [expected := self._lengths.get(place, of_rows[0])]:
                raise ValueError(
                    f"{tables.called(X, place)} must have vectors of {expected} numbers, as in the training, where "
                    f"CatBoost would read beyond their end; got some of {of_rows[-1 if of_rows[0] == expected else 0]}"
                )
        if not no_numbers:
            return numbers
        as_given = {place: self._as_given(X, place) for place in no_numbers}
        return tables.with_columns(extras.data_frame(numbers), as_given)

    def _as_given(self, X: Table, place: int) -> Column:
        """Return a column that holds no numbers as CatBoost reads it, (n_samples,)."""
        if place in self._places["embedding_features"]:
            return tables.column_at(X, place)
        if place in self._places["text_features"]:
            return _texts(X, place)
        levels, which = levels_in(X, place)  # of a model of others, whose levels only CatBoost knows
        kind = float_type(X, place) or float
        return np.array([*(_text(level, kind) for level in levels), "nan"], dtype=object)[which]

    def _prediction_data(self, X: Table) -> Pool:
        return self._pool(X)

    def _lengths_in(self, X: Table) -> Iterator[tuple[int, list[int]]]:
        """Yield the places of columns of vectors, and the numbers of numbers that their vectors have."""
        for place in self._places["embedding_features"]:
            lengths = {_length(vector, tables.called(X, place)) for vector in tables.column_at(X, place)}
            if lengths:
                yield place, sorted(lengths)

    def _pool(self, X: Table, rows: Rows | None = None) -> Pool:
        """Return checked features as CatBoost reads them, with labels, weights and start scores of rows."""
        given: Params = {} if rows is None else {"label": rows.codes, "weight": rows.weight, "baseline": rows.start}
        given |= {"thread_count": threads.library_n_threads(self.n_jobs) or -1}
        if issparse(X):  # CatBoost knows SciPy's matrices with short indices
            data = np.require(X.data, requirements="W")  # those that joblib shares with processes are read-only
            X = csr_matrix((data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
        elif any(self._places.values()):
            X = X if hasattr(X, "columns") else extras.data_frame(X)
            X = tables.with_columns(X, {place: self._as_text(X, place) for place in self.columns_.levels})
            given |= self._places
        return Pool(X, feature_names=self._names(), **given)

    def _as_text(self, X: Table, place: int) -> NDArray[np.object_]:
        """Return a column of codes as the text of their levels, (n_samples,), and another text where one is missing."""
        texts = [_text(level, float) for level in self.columns_.levels[place]]
        codes = np.nan_to_num(tables.column_at(X, place), nan=len(texts)).astype(np.intp)
        return np.array([*texts, _text_of_missing(texts)], dtype=object)[codes]

    def _score(self, data: Pool, start: int, stop: int) -> FloatArray:
        return cb_booster.predict_raw(self.booster_, data, start, stop, threads.library_n_threads(self.n_jobs) or -1)

    # Files

    def _store(self, record: ThresholdRecord) -> None:
        cb_booster.store_record(self.booster_, record)

    def _write(self, path: str | PathLike[str]) -> None:
        cb_booster.save_model(self.booster_, path)

    def _description(self, *, labelled: bool = True) -> ClassifierDescription:
        return replace(super()._description(labelled=labelled), lengths=dict(self._lengths))

    def _read(self, path: str | PathLike[str]) -> tuple[ThresholdRecord, int, int]:
        self.booster_ = cb_booster.load_model(path)
        record, n_features = cb_booster.threshold_record(self.booster_), len(self.booster_.feature_names_)
        of_kind = ("get_cat_feature_indices", "get_text_feature_indices", "get_embedding_feature_indices")
        self._places = {name: getattr(self.booster_, get)() for name, get in zip(_COLUMNS, of_kind, strict=True)}
        with files.as_damaged_file(path):
            self.columns_ = self._columns_in(self.booster_, record)
        self._lengths = {} if record.classifier is None else record.classifier.lengths
        return record, record.n_iterations, n_features

    def _names_in_booster(self) -> list[str] | None:
        return _names_of(self.booster_)

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """Importance of each feature by how much predictions change with it, summing to 100, (n_features,)."""
        check_is_fitted(self)
        return np.asarray(self.booster_.get_feature_importance(type="PredictionValuesChange"))

    def score_contributions(self, X: Table) -> FloatArray:
        """Return what each feature adds to the score of the trees by CatBoost's SHAP values, and last the base.

        Parameters
        ----------
        X : array-like, data frame or Arrow table, shape (n_samples, n_features)
            Rows, as ``predict`` takes them.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_features + 1)
        """
        check_is_fitted(self)
        pool = self._pool(self._check_features(X, reset=False))
        return np.asarray(self.booster_.get_feature_importance(pool, type="ShapValues"), dtype=np.float64)


def _names_of(booster: CatBoost) -> list[str] | None:
    """Return the names of the columns of a training, numbers as text; None where CatBoost made them up."""
    names: list[str] = booster.feature_names_
    described = cb_booster.threshold_record(booster).classifier
    if described is not None and described.column_numbers == names:
        return names
    return None if names == [str(place) for place in range(len(names))] else names


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
            f"{tables.called(X, place)} must hold text, as text_features says; got "
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
