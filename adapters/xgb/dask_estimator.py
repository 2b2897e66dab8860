"""The XGBoost classifier on a Dask cluster."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.aliases import Column, Params, Table
from ordinal_objectives.utils import documented, extras

try:
    import dask
    import dask.array as da
    import distributed
    import xgboost.dask
    from dask import delayed
except ImportError as error:
    raise extras.not_installed(error, "xgboost", "dask") from None

from ordinal_objectives.adapters.xgb import booster as xgb_booster
from ordinal_objectives.adapters.xgb import dask as xgb_dask
from ordinal_objectives.adapters.xgb import input_checks
from ordinal_objectives.adapters.xgb.estimator import XGBOrdinalClassifier
from ordinal_objectives.adapters.xgb.train import own_copies, schedules
from ordinal_objectives.estimators import arguments, tables
from ordinal_objectives.estimators.held_out import rounds_unsearched
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.threads import library_n_threads

# Parameters that are refused on a cluster, and what to do instead.
_REFUSED = {
    "validation_fraction": "pass eval_set, since rows stay with their workers",
    "eval_metric": "the loss is measured over all rows; other metrics are not sums over rows",
    "feature_weights": "XGBoost takes them from a worker's matrix; use xgboost.dask.DaskDMatrix(feature_weights=...)",
    "random_intercept": "rows stay with their workers",
}
_QUANTILES = (None, "auto", "hist")


class _DaskRows(NamedTuple):
    """Features, labels or their codes, weights and start scores: Dask collections, the last two may be None."""

    X: Table
    y: Column
    weight: Any
    margin: Any


@documented
class DaskXGBOrdinalClassifier(XGBOrdinalClassifier):
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
    kappa_weights : str
        No effect, as "kappa" is refused.
    kappa_rows : str
        No effect, as "kappa" is refused.
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

    @property
    def client(self) -> distributed.Client:
        """The client that trains: the one that was set, or else the current one."""
        return self.__dict__.get("_client") or distributed.get_client()

    @client.setter
    def client(self, client: distributed.Client | None) -> None:
        self._client = client

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_client"}

    @documented(like=XGBOrdinalClassifier.fit)
    @arguments.explains_keywords
    def fit(  # type: ignore[override]
        self,
        X: Table,
        y: Column,
        *,
        sample_weight: Any = None,
        base_margin: Any = None,
        eval_set: list[tuple[Table, Column]] | None = None,
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
        """
        xgb_dask.check_client(self.client)
        xgb_dask.check_table(X)
        y = xgb_dask.flat_labels(y, "y")
        self._refuse_what_needs_all_rows()
        xgb_model = arguments.as_trained(xgb_model)  # which may be this one
        with self._all_or_nothing():
            self._fit_labels(X, y)
            continued, earlier = self._continued(xgb_model)
            if earlier is not None:
                earlier.check_start(False, "xgb_model")
            xgb_dask.check_numbers_of_rows("sample_weight", sample_weight)
            xgb_dask.check_numbers_of_rows("base_margin", base_margin)
            sets = self._evaluation_sets(eval_set, sample_weight_eval_set, base_margin_eval_set)
            rounds = self.early_stopping_rounds
            arguments.check_rounds("early_stopping_rounds", rounds, len(sets), instead="eval_set to fit")
            codes = self._codes(y)
            self._levels = self._levels_of_parts(X) if continued is None else input_checks.levels_of(continued)
            X = X if continued is None else self._with_levels(X, continued)
            dtrain = self._dask_matrix(_DaskRows(X, codes, self._weights(codes, sample_weight), base_margin))
            evals = []
            for i, part in enumerate(sets):
                part = _DaskRows(self._with_levels(part.X, continued), self._codes(part.y), part.weight, part.margin)
                evals.append((self._dask_matrix(part, f"validation_{i}", dtrain), f"validation_{i}"))
            belonging = {"base_margin": base_margin, "xgb_model": xgb_model}
            self._given = arguments.GivenToFit.of(bool(sets), False, {}, schedules(self.callbacks), **belonging)
            trained = xgb_dask.train_spec(
                (self._spec("XGBOrdinalClassifier"), None),
                self.client,
                self._native_params(),
                dtrain,
                rounds_unsearched("n_estimators", self.n_estimators),  # workers hold the rows: none is searched
                xgb_model=continued,
                evals=evals or ([(dtrain, "training")] if verbose else []),
                callbacks=own_copies(input_checks.callbacks_in(self.callbacks)),
                early_stopping_rounds=rounds,
                verbose_eval=verbose,
                coll_cfg=coll_cfg,
                carried=self._carried(),
            )
            self.booster_, self.evals_result_ = trained["booster"], trained["history"] if evals else {}
            self.booster_.set_param({"nthread": library_n_threads(self.n_jobs) or 0})
            self._keep(xgb_booster.threshold_record(self.booster_), xgb_booster.kept_rounds(self.booster_))
            self._carry()
        self._warn_if_constant(0, "min_child_weight", stacklevel=4)
        return self

    def _refuse_what_needs_all_rows(self) -> None:
        for name, instead in _REFUSED.items():
            if getattr(self, name) is not None:
                raise ValueError(f"{name} must be None on a cluster; got {getattr(self, name)!r}; {instead}")
        if self._takes_kappa():
            raise ValueError(
                "decision_rule='kappa' is not supported on a cluster: fit it to predict_proba of rows in memory"
            )
        if self.progress is not False:
            raise ValueError(f"progress must be False on a cluster, which has a dashboard; got {self.progress!r}")
        if self.linear is not False:
            raise ValueError(f"linear must be False on a cluster, where no worker has all rows; got {self.linear!r}")

    def _evaluation_sets(self, eval_set: object, sample_weight: object, base_margin: object) -> list[_DaskRows]:
        """Return every evaluation set, checked, its labels in one dimension and among the classes."""
        pairs = arguments.evaluation_pairs(eval_set)
        weights = arguments.one_for_each(sample_weight, pairs, "sample_weight_eval_set")
        margins = arguments.one_for_each(base_margin, pairs, "base_margin_eval_set")
        sets, name = list[_DaskRows](), "y of an evaluation set"
        for (X, y), weight, margin in zip(pairs, weights, margins, strict=True):
            xgb_dask.check_table(X, self.n_features_in_, name="X of an evaluation set")
            xgb_dask.check_numbers_of_rows("sample_weight_eval_set", weight)
            xgb_dask.check_numbers_of_rows("base_margin_eval_set", margin)
            labels = xgb_dask.flat_labels(y, name)
            self._labels.encode(self._distinct(labels, name), name=name)
            sets.append(_DaskRows(X, labels, weight, margin))
        return sets

    @documented
    def predict(self, X: Table, **start: Any) -> Table:
        """Return labels, (n_samples,); of a Dask collection a Dask array."""
        return self._blockwise("predict", X, start)

    @documented
    def predict_raw(self, X: object, **start: object) -> Any:
        """Return the score f(x), (n_samples,); of a Dask collection a Dask array."""
        return self._blockwise("predict_raw", X, start)

    @documented
    def predict_proba(self, X: object, **start: object) -> Any:
        """Return the class probabilities, columns as ``classes_``; of a Dask collection a Dask array."""
        return self._blockwise("predict_proba", X, start)

    @documented
    def predict_proba_ordered(self, X: object, **start: object) -> Any:
        """Return the class probabilities from the lowest class on; of a Dask collection a Dask array."""
        return self._blockwise("predict_proba_ordered", X, start)

    def _blockwise(self, name: str, X: Table, start: Params) -> Table:
        """Return the result of a method of a classifier in memory for every block of rows."""
        if not dask.is_dask_collection(X):
            return getattr(super(), name)(X, **start)
        check_is_fitted(self)
        xgb_dask.check_table(X, self.n_features_in_)
        if start:
            raise TypeError(f"predictions of a Dask collection take only X; got {', '.join(start)}")
        labels = self.ordered_classes_[:0]
        nothing = {"predict": labels, "predict_raw": np.empty(0)}.get(name, np.empty((0, self.n_classes_)))
        in_memory = XGBOrdinalClassifier()
        in_memory.__setstate__(self.__getstate__())

        def of(block: Any) -> Any:
            return getattr(in_memory, name)(block) if block.shape[0] else nothing

        if not isinstance(X, da.Array):
            return X.map_partitions(of, meta=nothing)
        X = X.rechunk({1: -1})
        if nothing.ndim == 1:
            return X.map_blocks(of, drop_axis=1, meta=nothing)
        return X.map_blocks(of, chunks=(X.chunks[0], (self.n_classes_,)), meta=nothing)

    def _check_features(self, X: object, *, reset: bool) -> Any:
        if dask.is_dask_collection(X):
            raise TypeError(
                "X is a Dask collection, which predict, predict_raw, predict_proba and predict_proba_ordered take; "
                "give other methods rows in memory"
            )
        return super()._check_features(X, reset=reset)

    def _fit_labels(self, X: Table, y: Column) -> None:
        """Find the classes of all workers' labels, and the features."""
        self.round_search_ = self._linear = self.kappa_rule_ = None  # of an earlier fit
        self._found = {}
        self._keep_labels(OrderedLabels(self.classes).fit(self._distinct(y)))
        self._check_decision()
        self.n_features_in_ = X.shape[1]
        names = tables.column_names(X)
        arguments.keep_names(self, names, tables.names_as_text(X) if names is None else None)

    def _header(self, X: object) -> Any:
        """Return the first part without its rows: what it declares, Dask may not know."""
        return self.client.compute(delayed(tables.without_rows)(_parts(X)[0])).result()

    def _levels_of_parts(self, X: Table) -> input_checks.Levels:
        """Return the levels of the training: those that the first part declares, and the codes that all parts have."""
        levels = dict(input_checks.learned(self._header(X), self.feature_types, self._missing))
        for place, kind in enumerate(self.feature_types or ()):
            if kind == "c" and not levels.get(place):
                column = X[:, [place]] if isinstance(X, da.Array) else X.iloc[:, [place]]
                occurring = [self.client.compute(delayed(tables.occurring)(part, 0)) for part in _parts(column)]
                found = self.client.gather(occurring)
                levels[place] = {value: value for value in sorted(set().union(*found)) if value != self._missing}
        return levels

    def _with_levels(self, X: Table, continued: Any) -> Table:
        """Return rows whose levels are listed as in the training; raise ValueError if one of them is unknown."""
        if not self._levels:
            return X
        given = self._levels, self._missing
        faults = self.client.gather([self.client.compute(delayed(_fault)(part, *given)) for part in _parts(X)])
        fault = next((fault for fault in faults if fault), None)
        if fault is not None:
            raise ValueError(fault)
        if isinstance(X, da.Array):
            return X
        header = self._header(X)
        input_checks.named(header, self._levels, continued, self._missing)  # whether XGBoost can be given their names
        meta = input_checks.named(header, self._levels, None, self._missing)
        return X.map_partitions(input_checks.named, self._levels, None, self._missing, meta=meta)

    def _distinct(self, y: Column, name: str = "y") -> Column:
        """Return the labels that the workers have, each once."""

        def unmasked(block: object) -> Any:
            if np.ma.is_masked(block):
                raise ValueError(f"{name} contains missing labels (masked); every row needs a label")
            return block

        is_array = isinstance(y, da.Array)
        distinct = da.unique(y.map_blocks(unmasked, meta=np.empty(0, y.dtype))) if is_array else y.drop_duplicates()
        try:
            return self.client.compute(distinct).result()
        except TypeError as error:  # NumPy cannot sort labels of different types
            raise ValueError(f"{name} must hold labels of one type, and no missing ones; {error}") from error

    def _codes(self, y: Column) -> Column:
        """Return class codes, partitioned as the labels are."""
        labels, none = self._labels, np.empty(0, np.int32)

        def encode(block: Any) -> Any:
            return labels.encode(block) if len(block) else none

        if isinstance(y, da.Array):
            return y.map_blocks(encode, meta=none)
        import pandas as pd

        def encode_part(part: Any) -> Any:
            return pd.Series(encode(part), index=part.index, name=part.name, dtype="int32")

        return y.map_partitions(encode_part, meta=(y.name, "int32"))

    def _weights(self, codes: Any, sample_weight: Any) -> Any:
        """Return the weights of the rows times those of their classes, or None."""
        if self.class_weight is None:
            return sample_weight
        array = _blocks(codes)
        counts = self.client.compute(da.bincount(array, minlength=self.n_classes_)).result()
        of_class = self._class_weights(counts)
        if sample_weight is None:
            return array.map_blocks(lambda block: of_class[block], meta=of_class[:0])

        def times(block: Any, weight: Any) -> Any:
            # What is wrong the training refuses by name; XGBoost would not show an error raised here.
            if len(weight) != len(block):
                return weight
            try:
                return of_class[block] * xgb_dask.numbers_of_rows(weight, name="sample_weight")
            except (TypeError, ValueError):
                return weight

        # By position, as XGBoost takes weights: the product of two frames would join rows by their index.
        given = _blocks(sample_weight)
        if given.numblocks != array.numblocks:
            raise ValueError(
                f"sample_weight must be partitioned as y is; got {given.numblocks[0]} parts for those "
                f"{array.numblocks[0]} of y"
            )
        return da.map_blocks(times, array, given, meta=of_class[:0])

    def _dask_matrix(self, rows: _DaskRows, name: str = "the training set", like: object = None) -> Any:
        X, codes, weight, margin = rows
        xgb_dask.check_partitions(X, name, label=codes, weight=weight, base_margin=margin)
        options = {
            "weight": weight,
            "base_margin": margin,
            "missing": self._missing,
            "enable_categorical": self.enable_categorical,
            "feature_types": self.feature_types,
        }
        if self.tree_method not in _QUANTILES:
            return xgboost.dask.DaskDMatrix(self.client, X, codes, **options)
        return xgboost.dask.DaskQuantileDMatrix(self.client, X, codes, max_bin=self.max_bin, ref=like, **options)


def _parts(X: Table) -> list[Any]:
    """Return the parts of a Dask array or frame, delayed."""
    parts = X.rechunk({1: -1}) if isinstance(X, da.Array) else X
    return list(np.ravel(np.asarray(parts.to_delayed(), dtype=object)))


def _fault(part: object, levels: input_checks.Levels, missing: float) -> str:
    """Return which level of some rows the training did not have, if any."""
    try:
        input_checks.coded(part, levels, missing)
    except ValueError as error:
        return str(error)
    return ""


def _blocks(values: Any) -> da.Array:
    """Return one dimension of a Dask array, frame or series, partitioned as it is."""
    return values if isinstance(values, da.Array) else values.to_dask_array()
