"""The LightGBM classifier on a Dask cluster."""

from __future__ import annotations

from functools import partial
from os import PathLike
from typing import Any, ClassVar

import lightgbm

from ordinal_objectives.aliases import Column, Table
from ordinal_objectives.utils import documented, extras

try:
    import dask  # noqa: F401
    import xgboost  # noqa: F401, its collective adds up what the thresholds are learned from
except ImportError as error:
    raise extras.not_installed(error, "lightgbm", "xgboost", "dask") from None

from ordinal_objectives.adapters import dask_rows
from ordinal_objectives.adapters.dask_classifier import DaskClassifier, DaskRows
from ordinal_objectives.adapters.lgbm import booster as lgbm_booster, dask as lgbm_dask, data
from ordinal_objectives.adapters.lgbm.estimator import LGBMOrdinalClassifier
from ordinal_objectives.adapters.lgbm.train import checked_callbacks, schedules
from ordinal_objectives.estimators import arguments
from ordinal_objectives.estimators.held_out import rounds_unsearched, smallest_leaf


@documented
class DaskLGBMOrdinalClassifier(DaskClassifier, LGBMOrdinalClassifier):
    """Ordinal classifier that LightGBM grows on a Dask cluster, with the conventions of its ``DaskLGBMClassifier``.

    LightGBM's own network grows the trees. The sums that thresholds are learned from XGBoost's collective adds up, so
    that XGBoost must be installed too. All workers take the bins of a sample of ``subsample_for_bin`` rows of all of
    them. Fitted, it is an :class:`.estimator.LGBMOrdinalClassifier`: arrays in memory are predicted here, Dask
    collections where they are, lazily.

    Parameters
    ----------
    <<n_estimators>>
        On a cluster "auto" is 100: rows stay with their workers.
    <<classes, loss, link, training_cost, step parameters>>
    <<proportional, shift_l2, shift_penalty, max_shifts>>
    <<linear, linear_l2>>
        ``linear`` must be False on a cluster.
    <<random_intercept>>
        Refused on a cluster.
    <<decision_rule, cost_matrix>>
        "kappa" is refused on a cluster.
    <<kappa_weights, kappa_rows, class_weight>>
    num_leaves : int or "auto", default="auto"
        On a cluster "auto" is 31.
    boosting_type, max_depth, learning_rate, subsample_for_bin, min_split_gain, min_child_weight, \
min_child_samples, subsample, subsample_freq, colsample_bytree, reg_alpha, reg_lambda, random_state, n_jobs, \
importance_type, early_stopping_round
        As in :class:`lightgbm.LGBMClassifier`, with the defaults of :class:`.estimator.LGBMOrdinalClassifier`. Each
        worker draws from its own rows. ``n_jobs=None`` takes a worker's threads.
    <<validation_fraction>>
        Refused on a cluster: pass ``eval_set``.
    <<progress>>
        Must be False on a cluster.
    **host_params
        Any other parameter of :func:`lightgbm.train`. ``tree_learner`` may be "data" or "voting".

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
    >>> from ordinal_objectives import DaskLGBMOrdinalClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> with LocalCluster(n_workers=2, dashboard_address=None) as cluster, Client(cluster):  # doctest: +SKIP
    ...     X_, y_ = da.from_array(X, chunks=(150, 3)), da.from_array(y, chunks=150)
    ...     model = DaskLGBMOrdinalClassifier(n_estimators=20).fit(X_, y_)
    ...     proba = model.predict_proba(X_).compute()
    """

    _refused_there: ClassVar = {"validation_fraction": "pass eval_set, since rows stay with their workers"}
    _in_memory: ClassVar = LGBMOrdinalClassifier
    _beside_sets: ClassVar = ("eval_sample_weight", "eval_init_score")

    @documented(like=LGBMOrdinalClassifier.fit)
    @arguments.explains_keywords
    def fit(  # type: ignore[override]
        self,
        X: Table,
        y: Column,
        *,
        sample_weight: Any = None,
        init_score: Any = None,
        eval_set: list[tuple[Table, Column]] | None = None,
        eval_sample_weight: list[Any] | None = None,
        eval_init_score: list[Any] | None = None,
        categorical_feature: list[str] | list[int] | str = "auto",
        callbacks: list[Any] | None = None,
        init_model: LGBMOrdinalClassifier | lightgbm.Booster | str | PathLike[str] | None = None,
    ) -> DaskLGBMOrdinalClassifier:
        """Fit the model on the cluster.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame, shape (n_samples, n_features)
            One block of columns. NaN is missing.
        y : Dask collection, shape (n_samples,)
            Labels: integers, strings, or categories, partitioned as ``X`` is.
        sample_weight : Dask collection of float or None, shape (n_samples,)
            Weights of the rows, finite and non-negative, partitioned as ``X`` is. None for ones.
        init_score : Dask collection of float or None, shape (n_samples,)
            Scores that the trees' are added to, partitioned as ``X`` is.
        eval_set : list of (X, y) pairs of Dask collections, or None
            Evaluated each round, as "valid_0", "valid_1", ...
        eval_sample_weight : list of Dask collections or None
            Weights of each evaluation set.
        eval_init_score : list of Dask collections or None
            Start scores of each evaluation set.
        <<categorical_feature>>
        callbacks : list of callable or None
            LightGBM callbacks; each worker has a copy.
        <<init_model>>

        Returns
        -------
        DaskLGBMOrdinalClassifier

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
        init_model = arguments.as_trained(init_model)  # which may be this one
        with self._all_or_nothing():
            given = self._warned_params()
            self._fit_labels(X, y)
            booster, _ = self._continued(init_model, init_score=init_score, eval_init_score=eval_init_score)
            dask_rows.check_numbers_of_rows("sample_weight", sample_weight)
            dask_rows.check_numbers_of_rows("init_score", init_score)
            sets = self._evaluation_sets(eval_set, eval_sample_weight, eval_init_score)
            arguments.check_rounds("early_stopping_round", given["early_stopping_round"], len(sets))
            scheduled = schedules(callbacks := checked_callbacks(callbacks))
            levels = self._find_levels(header := self._header(X), booster, init_model)
            listed = partial(data.with_levels, places=self._category_places, levels=levels)
            codes = self._codes(y)
            rows = DaskRows(X, codes, self._weights(codes, sample_weight), init_score)
            training = lgbm_dask.parts_on_workers(self.client, rows, "X", partial(listed, refuse=True))
            evaluated = [
                lgbm_dask.parts_on_workers(
                    self.client, part._replace(y=self._codes(part.y)), f"X of evaluation set {i}", listed
                )
                for i, part in enumerate(sets)
            ]
            belonging = {"init_score": init_score, "init_model": init_model}
            kept = {"categorical_feature": categorical_feature}
            self._given = arguments.GivenToFit.of(bool(sets), False, kept, scheduled, **belonging)
            asked = lgbm_dask.Given(
                (self._spec("LGBMOrdinalClassifier"), None),
                self._params_for(training.n_weighted),
                rounds_unsearched("n_estimators", given["n_estimators"]),  # workers hold the rows: none is searched
                data.categorical_columns(categorical_feature, header),
                callbacks,
                {"init_model": booster, "carried": self._carried(), "set_names": ["X", "X of an evaluation set"]},
            )
            with self._under_way():
                trained = lgbm_dask.train(self.client, asked, training, evaluated)
            self.booster_, self.evals_result_ = trained.booster, trained.history
            record, n_iter = lgbm_booster.carried_record(self.booster_), lgbm_booster.iterations_of(self.booster_)
            n_rounds = trained.trees.rounds_of(n_iter, stopped=self.booster_.best_iteration > 0)
            self._n_rounds = None if n_rounds == n_iter else n_rounds
            self._keep(record.copied(), n_iter)
            self._carry()
        least = smallest_leaf(given["min_child_samples"], training.n_weighted)
        self._warn_if_constant(training.n_weighted, "min_child_samples", 20 if least is None else least, stacklevel=4)
        return self
