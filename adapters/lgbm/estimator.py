"""LGBMOrdinalClassifier: ordinal boosting through LightGBM behind scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar

import lightgbm
import numpy as np
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives import threads
from ordinal_objectives.adapters.lgbm.host import LIGHTGBM
from ordinal_objectives.aliases import ArrayLike, BoolArray, NDArray, Seed
from ordinal_objectives.estimators import arguments, new_groups
from ordinal_objectives.estimators.host import GivenRows
from ordinal_objectives.estimators.host_classifier import HostClassifier
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.random_effects import random_effects_of_model
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
        As in :class:`lightgbm.LGBMClassifier`, except ``learning_rate="auto"``: 0.2; where ``n_estimators`` is searched
        with at least 100 rows with weight, 0.05 in the training on all rows; ``subsample=0.8`` with
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

    _host: ClassVar = LIGHTGBM
    _start_name: ClassVar = LIGHTGBM.start_name
    _parameter_names: ClassVar = LIGHTGBM.parameter_names
    # Columns of categories that LightGBM takes for such by itself: of a category type without an order.
    _unordered: Sequence[int] = ()
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
        learning_rate: float | str = "auto",
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
    @arguments.explains_keywords
    def fit(
        self,
        X: object,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        eval_set: Sequence[tuple[object, ArrayLike]] | None = None,
        eval_names: list[str] | str | None = None,
        eval_sample_weight: list[Any] | None = None,
        *,
        eval_X: Any = None,
        eval_y: Any = None,
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
        eval_names : list of str, str or None
            Names of the evaluation sets; None calls them valid_0, valid_1, ...
        eval_sample_weight : list of array-like or None
            Weights of each evaluation set.
        eval_X, eval_y : array-like, tuple of array-like, or None
            Features and labels of one evaluation set, or tuples of several: LightGBM's newer spelling of ``eval_set``.
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
        pairs, weights = arguments.either_spelling(eval_set, eval_X, eval_y), eval_sample_weight
        return self._fit(
            GivenRows(X, y, sample_weight, init_score, groups),
            arguments.GivenSets(pairs, weights, "eval_sample_weight", eval_init_score, "eval_init_score"),
            init_model,
            callbacks=list(callbacks or ()),
            eval_metric=eval_metric,
            of_library={"valid_names": eval_names},
            categorical_feature=categorical_feature,
        )

    @property
    def best_iteration_(self) -> int:
        """The same as ``n_iter_``, as LightGBM counts."""
        return self.n_iter_

    @property
    @threads.one_thread_after_fork()
    def feature_name_(self) -> list[str]:
        """Names of the columns, as LightGBM spells them."""
        check_is_fitted(self)
        return list(self.booster_.feature_name())

    @property
    def objective_(self) -> str:
        """Name of the ordinal loss."""
        return self.trained_spec().loss.name

    @property
    @threads.one_thread_after_fork()
    def is_categorical_(self) -> BoolArray:
        """Which features are categories, (n_features,); one with a single value is none."""
        check_is_fitted(self)
        infos = self.booster_.dump_model(num_iteration=1)["feature_infos"]  # of a category it lists the codes
        return np.array([bool(infos.get(name, {}).get("values")) for name in self.booster_.feature_name()], np.bool_)

    @property
    @threads.one_thread_after_fork()
    def feature_importances_(self) -> NDArray[Any]:
        """Importance of each feature by ``importance_type``, (n_features,)."""
        check_is_fitted(self)
        return np.asarray(self.booster_.feature_importance(importance_type=self.importance_type))
