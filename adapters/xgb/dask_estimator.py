"""The XGBoost classifier on a Dask cluster."""

from __future__ import annotations

from typing import Any, ClassVar

from ordinal_objectives.aliases import Column, Table
from ordinal_objectives.utils import documented, extras

try:
    import dask.array as da
    import xgboost.dask
    from dask import delayed
except ImportError as error:
    raise extras.not_installed(error, "xgboost", "dask") from None

from ordinal_objectives.adapters import dask_rows
from ordinal_objectives.adapters.arguments import check_same_names
from ordinal_objectives.adapters.dask_classifier import DaskClassifier, DaskRows, parts_of
from ordinal_objectives.adapters.xgb import booster as xgb_booster, dask as xgb_dask, input_checks
from ordinal_objectives.adapters.xgb.estimator import XGBOrdinalClassifier
from ordinal_objectives.adapters.xgb.train import own_copies, schedules
from ordinal_objectives.estimators import arguments, labels, tables
from ordinal_objectives.estimators.held_out import rounds_unsearched
from ordinal_objectives.threads import library_n_threads

_QUANTILES = (None, "auto", "hist")


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

    _refused_there: ClassVar = {
        "validation_fraction": "pass eval_set, since rows stay with their workers",
        "eval_metric": "the loss is measured over all rows; other metrics are not sums over rows",
        "feature_weights": (
            "XGBoost takes them from a worker's matrix; use xgboost.dask.DaskDMatrix(feature_weights=...)"
        ),
    }
    _in_memory: ClassVar = XGBOrdinalClassifier
    _beside_sets: ClassVar = ("sample_weight_eval_set", "base_margin_eval_set")

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
        RuntimeError
            If a worker is lost. To try once more, restart the client and make the collections again.
        """
        y = self._check_collections(X, y)
        xgb_model = arguments.as_trained(xgb_model)  # which may be this one
        with self._all_or_nothing():
            self._fit_labels(X, y)
            continued, earlier = self._continued(xgb_model)
            if earlier is not None:
                earlier.check_start(False, "xgb_model")
            dask_rows.check_numbers_of_rows("sample_weight", sample_weight)
            dask_rows.check_numbers_of_rows("base_margin", base_margin)
            sets = self._evaluation_sets(eval_set, sample_weight_eval_set, base_margin_eval_set)
            rounds = self.early_stopping_rounds
            arguments.check_rounds("early_stopping_rounds", rounds, len(sets), instead="eval_set to fit")
            codes = self._codes(y)
            self._levels = self._levels_of_parts(X) if continued is None else input_checks.levels_of(continued)
            X = X if continued is None else self._with_levels(X, continued)
            dtrain = self._dask_matrix(DaskRows(X, codes, self._weights(codes, sample_weight), base_margin))
            evals = []
            for i, part in enumerate(sets):
                part = DaskRows(self._with_levels(part.X, continued), self._codes(part.y), part.weight, part.margin)
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

    def _levels_of_parts(self, X: Table) -> input_checks.Levels:
        """Return the levels of the training: those that the first part declares, and the codes that all parts have."""
        header = self._header(X)
        check_same_names(tables.names_as_text(X), tables.names_as_text(header), name="each part of X")
        levels = dict(input_checks.learned(header, self.feature_types, self._missing))
        for place, kind in enumerate(self.feature_types or ()):
            if kind == "c" and not levels.get(place):
                column = X[:, [place]] if isinstance(X, da.Array) else X.iloc[:, [place]]
                occurring = [
                    self.client.compute(delayed(tables.occurring)(part, 0, labels.marks(self._missing)))
                    for part in parts_of(column)
                ]
                found = self.client.gather(occurring)
                levels[place] = {code: code for code in sorted(labels.present(set().union(*found), self._missing))}
        return levels

    def _with_levels(self, X: Table, continued: Any) -> Table:
        """Return rows whose levels are listed as in the training; raise ValueError if one of them is unknown."""
        if not self._levels:
            return X
        given = self._levels, self._missing
        faults = self.client.gather([self.client.compute(delayed(_fault)(part, *given)) for part in parts_of(X)])
        fault = next((fault for fault in faults if fault), None)
        if fault is not None:
            raise ValueError(fault)
        if isinstance(X, da.Array):
            return X
        header = self._header(X)
        input_checks.named(header, self._levels, continued, self._missing)  # whether XGBoost can be given their names
        meta = input_checks.named(header, self._levels, None, self._missing)
        return X.map_partitions(input_checks.named, self._levels, None, self._missing, meta=meta)

    def _dask_matrix(self, rows: DaskRows, name: str = "the training set", like: object = None) -> Any:
        X, codes, weight, margin = rows
        dask_rows.check_partitions(X, name, label=codes, weight=weight, base_margin=margin)
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


def _fault(part: object, levels: input_checks.Levels, missing: float) -> str:
    """Return which level of some rows the training did not have, if any."""
    try:
        input_checks.coded(part, levels, missing)
    except ValueError as error:
        return str(error)
    return ""
