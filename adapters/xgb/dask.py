"""Training on a Dask cluster, with the conventions of ``xgboost.dask``, and the classifier there.

What is wrong is said before a training begins: XGBoost's own errors name no argument there, or come together with the
lost connections of other workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeGuard

import numpy as np
import xgboost

from ordinal_objectives.utils import documented, extras

try:
    import dask.array as da
    import distributed
    import xgboost.dask
    from dask import delayed
except ImportError as error:
    raise extras.not_installed(error, "xgboost", "dask") from None

from ordinal_objectives import tables
from ordinal_objectives.adapters.arguments import Asked, check_same_names, given_options, spec_and_record
from ordinal_objectives.adapters.dask import (
    LARGEST,
    DaskClassifier,
    DaskCollection,
    DaskData,
    fault_of_rows,
    numbers_of_rows,
    parts_of,
    watched,
)
from ordinal_objectives.adapters.xgb import booster as xgb_booster, input_checks
from ordinal_objectives.adapters.xgb.estimator import XGBOrdinalClassifier
from ordinal_objectives.adapters.xgb.host import XGBOOST
from ordinal_objectives.adapters.xgb.train import arguments_of, own_copies, train as train_here
from ordinal_objectives.columns import Columns, in_order
from ordinal_objectives.estimators import arguments
from ordinal_objectives.estimators.held_out import rounds_unsearched
from ordinal_objectives.estimators.host_classifier import NO_METRICS
from ordinal_objectives.tables import refuse_text_and_dates
from ordinal_objectives.threads import library_n_threads
from ordinal_objectives.utils.validation import collected, first_few, is_sparse

__all__ = ["DaskXGBOrdinalClassifier", "train"]

# Methods of growing trees that XGBoost bins the features for.
_QUANTILES = (None, "auto", "hist")


@documented(like=train_here)
def train(
    client: distributed.Client | None,
    params: Mapping[str, Any],
    dtrain: xgboost.dask.DaskDMatrix,
    num_boost_round: int = 10,
    *,
    evals: Sequence[tuple[xgboost.dask.DaskDMatrix, str]] | None = None,
    xgb_model: xgboost.Booster | None = None,
    callbacks: Sequence[xgboost.callback.TrainingCallback] | None = None,
    custom_metric: Callable[..., Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Train an ordinal model on a Dask cluster: :func:`xgboost.dask.train` with the thresholds in place.

    Thresholds are functions of sums over rows. Each worker computes those of its own rows, the sums are added up by the
    allreduce that XGBoost grows its trees with, and all workers take the same step. The classes are those of all
    workers' rows, and the loss of the training and evaluation sets is the mean over all of theirs.

    Parameters
    ----------
    client : distributed.Client or None
        None takes the current one.
    <<params>>
    dtrain : xgboost.dask.DaskDMatrix or DaskQuantileDMatrix
        Labels are class codes 0..n_classes - 1; a worker may lack some, or have no rows.
    <<num_boost_round>>
    evals : sequence of (DaskDMatrix, name) pairs or None
        Evaluated each round with the ordinal loss.
    xgb_model : Booster or None
        Model to continue, which must carry its thresholds.
    callbacks : sequence of xgboost.callback.TrainingCallback or None
        Each worker has a copy.
    custom_metric : callable or None
        ``custom_metric(proba, dmatrix) -> (name, value)``, called on each worker with its own rows. XGBoost takes the
        mean of the workers' values, unweighted.
    <<n_classes, loss, link, step parameters, thresholds>>
    <<shift parameters, shift_method>>
        "host" is refused: XGBoost does not add up such leaves over workers.
    <<split_outputs>>
    **options
        ``early_stopping_rounds``, ``verbose_eval`` and ``coll_cfg`` of :func:`xgboost.dask.train`.

    Returns
    -------
    dict
        ``"booster"``, which carries its thresholds, and ``"history"``.

    Raises
    ------
    TypeError
        If a matrix is none of ``xgboost.dask``, or the client is asynchronous.
    ValueError
        If a parameter is refused, or features, labels, weights or start scores that one worker has, or a column has
        another name or other categories in one part than in another, or another name in an evaluation set; the message
        names it.
    RuntimeError
        If a worker is lost. To try once more, restart the client, since the other workers may still wait in XGBoost's
        allreduce, and make the matrices again: rows were lost with the worker.

    Examples
    --------
    >>> import dask.array as da, numpy as np, xgboost.dask
    >>> from distributed import Client, LocalCluster
    >>> from ordinal_objectives.adapters import xgb as oxgb
    >>> from ordinal_objectives.adapters.xgb import dask as oxgb_dask
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> with LocalCluster(n_workers=2, dashboard_address=None) as cluster, Client(cluster) as client:  # doctest: +SKIP
    ...     data = da.from_array(X, chunks=(150, 3))
    ...     dtrain = xgboost.dask.DaskDMatrix(client, data, da.from_array(y, chunks=150))
    ...     model = oxgb_dask.train(client, {"max_depth": 2}, dtrain, 20)
    >>> proba = oxgb.predict_proba(model["booster"], xgboost.DMatrix(X))  # doctest: +SKIP
    """
    given = dict(locals())
    asked = spec_and_record("xgb.dask.train", **given_options(options))
    return _train_spec(asked, **given.pop("options"), **given)


def _train_spec(
    asked: Asked,
    client: distributed.Client | None,
    params: Mapping[str, Any],
    dtrain: xgboost.dask.DaskDMatrix,
    num_boost_round: int,
    *,
    carried: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Train the model of a specification; ``options`` are the other arguments of :func:`train`."""
    options |= arguments_of(asked, params, options, dtrain, carried=carried)
    client = client or distributed.get_client()
    matrices = [(dtrain, "the training set"), *(options.get("evals") or [])]

    async def train_there() -> dict[str, Any]:
        await _check_parts(client, matrices)
        result: dict[str, Any] = await xgboost.dask.train(
            client=client, dtrain=dtrain, num_boost_round=num_boost_round, **options
        )
        return result

    trained: dict[str, Any] = watched(client, {one for matrix, _ in matrices for one in matrix.worker_map}, train_there)
    return trained


# The categories of each column, in their order; None of a column without any.
_Columns = Mapping[Any, list[Any] | None]


class _WorkerData(NamedTuple):
    """A fault in the parts of a matrix that one worker has, if any; the sum of their weights; columns and rows."""

    fault: str | None
    total: float | None = None
    columns: _Columns | None = None
    n_rows: int = 0


async def _check_parts(client: distributed.Client, matrices: Sequence[tuple[xgboost.dask.DaskDMatrix, str]]) -> None:
    """Raise ValueError if a worker has rows that no training can take, or other columns than another worker.

    XGBoost checks the rows of a worker after all workers have connected: the error of one worker then comes together
    with the lost connections of the others. It compares the number of categories, and no names of columns; where an
    evaluation set has others than the training, it raises an AssertionError without words.

    Parameters
    ----------
    client : distributed.Client
    matrices : sequence of (DaskDMatrix, name) pairs
    """
    asked = [
        [
            client.submit(_check_worker, parts, matrix.missing, workers=[address], pure=False)
            for address, parts in matrix.worker_map.items()
        ]
        for matrix, _ in matrices
    ]
    everywhere = {address for matrix, _ in matrices for address in matrix.worker_map}
    trained: list[str] | None = None
    uneven = ""
    for found, (matrix, name) in zip(await client.gather(asked, asynchronous=True), matrices, strict=True):
        faults = [seen.fault for seen in found if seen.fault is not None]
        known = [seen.columns for seen in found if seen.columns is not None]
        faults += [fault for other in known if (fault := _differing(known[0], other)) is not None]
        if faults:
            raise ValueError(faults[0].replace("{name}", name))
        names = [str(column) for column in known[0]] if known else trained
        trained = names if trained is None else trained
        check_same_names(trained, names, name=f"X of {name}")
        totals = [seen.total for seen in found if seen.total is not None]
        if totals and not any(totals):
            raise ValueError(f"weights of {name} are zero for every row; at least one must be positive")
        with_rows = {address for address, seen in zip(matrix.worker_map, found, strict=True) if seen.n_rows}
        if with_rows != everywhere and any(levels is not None for of in known[:1] for levels in of.values()):
            uneven = uneven or (
                f"X of {name} must have rows on every worker, of which XGBoost learns the categories; "
                f"{min(everywhere - with_rows)} has none: divide X into more parts"
            )
        if all(isinstance(column, str) for of in known[:1] for column in of):
            matrix.feature_names = matrix.feature_names or names  # a worker without rows would know none
    if uneven:  # where rows are is by chance, and what they hold is not
        raise ValueError(uneven)


def _check_worker(parts: Sequence[Mapping[str, Any]], missing: float) -> _WorkerData:
    """Check the parts of a matrix that one worker has."""
    total, columns = None, None
    for part in parts:
        here = _columns(part["data"])
        columns = here if columns is None else columns
        fault = fault_of_rows(part) or _fault_of_features(part["data"], missing) or _differing(columns, here)
        fault = fault or next((fault for kind, values in part.items() if (fault := _misread(kind, values))), None)
        if fault is not None:
            return _WorkerData(fault)
        if part.get("weight") is not None:
            total = (total or 0.0) + float(numbers_of_rows(part["weight"], name="weights").sum())
    return _WorkerData(None, total, columns, sum(part["data"].shape[0] for part in parts))


def _fault_of_features(data: object, missing: float) -> str | None:
    """Return what XGBoost refuses, or would misread, in the features of a part."""
    try:
        refuse_text_and_dates(data, name="X of {name}")
    except (TypeError, ValueError) as error:
        return str(error)
    if np.isinf(missing):
        return None
    for values in _floats(data):
        for extreme in (np.fmax.reduce(values, axis=None, initial=0.0), np.fmin.reduce(values, axis=None, initial=0.0)):
            if abs(extreme) > LARGEST:
                return f"X of {{name}} must hold missing or finite numbers that float32 can hold; got {extreme}"
    return None


def _misread(kind: str, values: Any) -> str | None:
    """Return how XGBoost would misread the features of a part, or the numbers of its rows."""
    name = "X of {name}" if kind == "data" else f"{kind} of {{name}}"
    for dtype in values.dtypes if hasattr(values, "columns") else [getattr(values, "dtype", None)]:
        if isinstance(dtype, np.dtype) and not dtype.isnative:
            return f"{name} must be in the byte order of the machine; got {dtype.str}"
    if is_sparse(values) and collected(values).nnz < values.nnz:
        return f"{name} must store each entry once, of which XGBoost takes one and not their sum"
    return None


def _floats(data: object) -> Iterator[Any]:
    """Yield the floats in the features of a part, if they are in memory, without a copy of all of them."""
    if _is_pandas(data):
        for _, column in data.items():
            if column.dtype.kind == "f":
                yield column.to_numpy(dtype=np.float64, na_value=np.nan)
        return
    values = data.data if is_sparse(data) else data
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        yield values


def _columns(data: Any) -> _Columns:
    """Return the columns of a part, by the text of their names in a pandas frame and else by their numbers."""
    if not _is_pandas(data):
        return dict.fromkeys(range(data.shape[1]))
    dtypes = zip(data.columns, data.dtypes, strict=True)
    return {str(name): dtype.categories.tolist() if hasattr(dtype, "categories") else None for name, dtype in dtypes}


def _is_pandas(data: object) -> TypeGuard[Any]:
    return type(data).__module__.partition(".")[0] == "pandas"


def _differing(one: _Columns, other: _Columns) -> str | None:
    """Return which column has another name or other categories in one part than in another."""
    names = ([str(name) for name in columns] for columns in (one, other))
    try:
        check_same_names(*names, name="each part of X of {name}")
    except ValueError as error:
        return str(error)
    for name, categories in one.items():
        if other[name] != categories:
            both = " and ".join(first_few(of or ["none"], repr) for of in (categories, other[name]))
            return (
                f"column {name!r} of {{name}} must have the same categories in all parts; got {both}. "
                f"X.categorize() of dask.dataframe makes them so"
            )
    return None


@documented
class DaskXGBOrdinalClassifier(DaskClassifier, XGBOrdinalClassifier):
    """Ordinal classifier trained on a Dask cluster, with the conventions of :class:`xgboost.dask.DaskXGBClassifier`.

    The classes are those of all workers' labels. Fitted, it is an :class:`.estimator.XGBOrdinalClassifier`: arrays in
    memory are predicted here, Dask collections where they are, lazily.

    Parameters
    ----------
    <<classes>>
    n_estimators : int or "auto"
        Number of boosting rounds. "auto" is 100 on a cluster.
    max_depth : int, "auto" or None
        "auto" is 4. None is XGBoost's default.
    <<max_leaves>>
        ``feature_weights`` is refused.
    decision_rule : {"median", "mode", "mean"}
        How probabilities become a class. "median" suits absolute error, "mode" accuracy, "mean" squared error.
    <<cost_matrix, class_weight>>
    <<proportional, loss, link, training_cost, step parameters>>
    <<shift_l2, shift_penalty, max_shifts, shift_method, split_outputs>>
    validation_fraction, eval_metric : None
        Not possible on a cluster: pass ``eval_set`` for early stopping by the loss.
    linear, progress : False
        Not possible on a cluster.
    <<random_intercept>>
        Refused on a cluster.
    linear_l2 : float
        No effect, as ``linear`` is False.
    <<host_params>>

    Attributes
    ----------
    client : distributed.Client
        The one that was set, or else the current one.
    <<classes_, ordered_classes_, n_classes_, thresholds_, proportional_, booster_, n_iter_, best_iteration_>>
    <<feature_importances_, evals_result_, n_features_in_, is_categorical_, feature_names_in_, diagnostics_>>
    <<training_loss_, threshold_history_>>

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> from distributed import Client, LocalCluster
    >>> from ordinal_objectives import DaskXGBOrdinalClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> with LocalCluster(n_workers=2, dashboard_address=None) as cluster, Client(cluster):  # doctest: +SKIP
    ...     X_, y_ = da.from_array(X, chunks=(150, 3)), da.from_array(y, chunks=150)
    ...     model = DaskXGBOrdinalClassifier(n_estimators=20).fit(X_, y_)
    ...     proba = model.predict_proba(X_).compute()
    """

    _refused_there: ClassVar = {
        "validation_fraction": "pass eval_set, since rows stay with their workers",
        "eval_metric": NO_METRICS,
        "feature_weights": (
            "XGBoost takes them from a worker's matrix; use xgboost.dask.DaskDMatrix(feature_weights=...)"
        ),
    }
    _parameter_names: ClassVar = XGBOOST.parameter_names._replace(
        renamed={"coll_cfg": "coll_cfg= in fit"},
        refused_by_fit={"feature_weights": _refused_there["feature_weights"]},
    )
    _in_memory: ClassVar = XGBOrdinalClassifier
    _beside_sets: ClassVar = ("sample_weight_eval_set", "base_margin_eval_set")

    @documented(like=XGBOrdinalClassifier.fit)
    @arguments.explains_keywords
    def fit(  # type: ignore[override]
        self,
        X: DaskCollection,
        y: DaskCollection,
        *,
        sample_weight: Any = None,
        base_margin: Any = None,
        eval_set: list[tuple[DaskCollection, DaskCollection]] | None = None,
        sample_weight_eval_set: list[Any] | None = None,
        base_margin_eval_set: list[Any] | None = None,
        xgb_model: Any = None,
        verbose: bool | int = False,
        coll_cfg: Any = None,
    ) -> DaskXGBOrdinalClassifier:
        """Fit the model on the cluster.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame, shape (n_samples, n_features)
            One block of columns. NaN is missing.
        y : Dask collection, shape (n_samples,)
            Labels: integers, strings, or categories, partitioned as ``X`` is.
        sample_weight : Dask collection of float or None, shape (n_samples,)
            Weights of the rows, finite and non-negative, partitioned as ``X`` is. None for ones.
        base_margin : Dask collection of float or None, shape (n_samples,)
            Scores that the trees' are added to, partitioned as ``X`` is.
        eval_set : list of (X, y) pairs of Dask collections, or None
            Evaluated each round; the last one decides early stopping.
        sample_weight_eval_set : list of Dask collections or None
            Weights of each evaluation set.
        base_margin_eval_set : list of Dask collections or None
            Start scores of each evaluation set.
        <<xgb_model, verbose>>
        coll_cfg : xgboost.collective.Config or None
            How workers connect.

        Returns
        -------
        DaskXGBOrdinalClassifier

        Raises
        ------
        TypeError
            If X, y, weights or start scores are no Dask collections.
        ValueError
            If labels, weights or parameters are not what the docs allow; the message names the argument.
        RuntimeError
            If a worker is lost. To try once more, restart the client and make the collections again.
        """
        y = self._check_collections(X, y)
        X, y, sample_weight, base_margin, eval_set, sample_weight_eval_set, base_margin_eval_set = self._persisted(
            X, y, sample_weight, base_margin, eval_set, sample_weight_eval_set, base_margin_eval_set
        )
        xgb_model = copy(self) if xgb_model is self else xgb_model
        with self._all_or_nothing():
            given = self._resolved_params(warns_at=4)
            self._fit_labels(X, y)
            continued, earlier = self._read_model(xgb_model)
            self._take_columns(self._columns_of(X))
            self._check_continued(xgb_model, continued, earlier)
            if earlier is not None:
                earlier.check_start(False, "xgb_model")
            sets = self._evaluation_sets(eval_set, sample_weight_eval_set, base_margin_eval_set)
            rounds = given["early_stopping_rounds"]
            arguments.check_rounds("early_stopping_rounds", rounds, len(sets), instead="eval_set to fit")
            codes = self._codes(y)
            X = self._codes_of(X, refuse_new=continued is not None)
            dtrain = self._dask_matrix(DaskData(X, codes, self._weights(codes, sample_weight), base_margin))
            evals = []
            for i, part in enumerate(sets):
                part = DaskData(self._codes_of(part.X), self._codes(part.y), part.weight, part.margin)
                evals.append((self._dask_matrix(part, f"validation_{i}", dtrain), f"validation_{i}"))
            trained = _train_spec(
                (self._spec(), None),
                self.client,
                self._native_params(),
                dtrain,
                rounds_unsearched("n_estimators", given["n_estimators"]),  # workers hold the rows: none is searched
                xgb_model=None if continued is None else input_checks.without_levels(continued),
                evals=evals or ([(dtrain, "training")] if verbose else []),
                callbacks=own_copies(self.callbacks or ()),
                early_stopping_rounds=rounds,
                verbose_eval=verbose,
                coll_cfg=coll_cfg,
                carried=self._carried(),
            )
            self.booster_, self.evals_result_ = trained["booster"], trained["history"] if evals else {}
            self.booster_.set_param({"nthread": library_n_threads(self.asked_threads()) or 0})
            self._keep(xgb_booster.threshold_record(self.booster_), xgb_booster.kept_rounds(self.booster_))
            self._carry()
        self._warn_if_constant(0, "min_child_weight", stacklevel=4)
        return self

    def _columns_of(self, X: DaskCollection) -> Columns:
        """Return the columns that the first part declares, with the codes that all parts have."""
        header = self._header(X)
        check_same_names(tables.names_as_text(X), tables.names_as_text(header), name="each part of X")
        columns = XGBOOST.learn_columns(self, header)
        places = sorted(columns.levels.keys() - set(tables.places_of(header, tables.FROM_DTYPE)))
        if not places:
            return columns
        learn = delayed(partial(Columns.learn, asked=places, missing=XGBOOST.missing_value(self)))
        found = self.client.gather(self.client.compute([learn(part) for part in parts_of(X)]))
        occurring = {place: in_order(set().union(*(one.levels[place] for one in found))) for place in places}
        return replace(columns, levels={**columns.levels, **occurring})

    def _codes_of(self, X: DaskCollection, *, refuse_new: bool = False) -> DaskCollection:
        """Return rows with codes in place of levels; without levels as they are."""
        if not self.columns_.levels:
            return X
        encode = partial(_encoded, self.columns_, refuse_new)
        if isinstance(X, da.Array):
            codes = X.map_blocks(encode, meta=np.empty((0, 0)))
        else:
            codes = X.map_partitions(encode, meta=encode(self._header(X)))
        codes = self.client.persist(codes)
        distributed.wait(codes)
        for future in distributed.futures_of(codes):  # XGBoost's matrix would not say why a part has failed
            if future.status == "error":
                future.result()
        return codes

    def _dask_matrix(self, rows: DaskData, name: str = "the training set", like: object = None) -> Any:
        X, codes, weight, margin = rows
        options = {
            "weight": weight,
            "base_margin": margin,
            "missing": self.columns_.missing_in_codes,
            "enable_categorical": True,
            "feature_types": XGBOOST.feature_types(self),
        }
        if self.tree_method not in _QUANTILES:
            return xgboost.dask.DaskDMatrix(self.client, X, codes, **options)
        return xgboost.dask.DaskQuantileDMatrix(self.client, X, codes, max_bin=self.max_bin, ref=like, **options)


def _encoded(columns: Columns, refuse_new: bool, part: Any) -> Any:
    """Return a part of some rows as numbers, a frame as a frame."""
    codes = columns.encode(part, refuse_new=refuse_new, ensure_min_samples=0)
    return type(part)(codes, columns=part.columns, index=part.index) if hasattr(part, "iloc") else codes
