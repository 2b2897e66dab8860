"""XGBOrdinalClassifier: ordinal boosting through XGBoost behind scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import xgboost
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.adapters.xgb import booster as xgb_booster
from ordinal_objectives.adapters.xgb.host import XGBOOST
from ordinal_objectives.aliases import ArrayLike, BoolArray, IntArray, NDArray, Seed
from ordinal_objectives.estimators import arguments, new_groups
from ordinal_objectives.estimators.held_out import is_auto, rounds_unsearched
from ordinal_objectives.estimators.host import GivenRows
from ordinal_objectives.estimators.host_classifier import HostClassifier
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.random_effects import random_effects_of_model
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.utils import shared_docs


@shared_docs.documented
class XGBOrdinalClassifier(HostClassifier):
    """Ordinal classifier grown by XGBoost, its thresholds learned with the trees.

    Parameters
    ----------
    <<classes, n_estimators>>
    max_depth : int, "auto" or None, default="auto"
        "auto": 4; where ``n_estimators`` is searched and 1,000 rows have weight, the best one of 4, 6 and 8. None is
        XGBoost's default.
    learning_rate, min_child_weight, subsample, colsample_bytree, reg_lambda, reg_alpha, gamma, max_leaves, max_bin, \
tree_method, n_jobs, random_state, verbosity, missing, enable_categorical, feature_types, feature_weights, \
importance_type, early_stopping_rounds, callbacks
        As in :class:`xgboost.XGBClassifier`, except ``subsample=0.8`` and ``learning_rate="auto"``: 0.3, and 0.1 in the
        training on all rows where ``n_estimators`` is searched; None is XGBoost's default. ``min_child_weight``
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

    _host: ClassVar = XGBOOST
    _start_name: ClassVar = XGBOOST.start_name
    _parameter_names: ClassVar = XGBOOST.parameter_names
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
        learning_rate: float | str | None = "auto",
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
    @arguments.explains_keywords
    def fit(
        self,
        X: object,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        base_margin: ArrayLike | None = None,
        eval_set: Sequence[tuple[object, ArrayLike]] | None = None,
        sample_weight_eval_set: list[Any] | None = None,
        base_margin_eval_set: list[Any] | None = None,
        groups: ArrayLike | None = None,
        xgb_model: XGBOrdinalClassifier | xgboost.Booster | str | PathLike[str] | None = None,
        verbose: bool | int | None = False,
        feature_weights: ArrayLike | None = None,
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
        feature_weights : array-like of float, shape (n_features,), or None
            The parameter, for this fit.

        Returns
        -------
        XGBOrdinalClassifier

        Raises
        ------
        ValueError
            If labels, weights or parameters are not what the docs allow; the message names the argument.
        """
        weights = sample_weight_eval_set, "sample_weight_eval_set"
        with self._with(feature_weights=feature_weights):
            return self._fit(
                GivenRows(X, y, sample_weight, base_margin, groups),
                arguments.GivenSets(eval_set, *weights, base_margin_eval_set, "base_margin_eval_set"),
                xgb_model,
                callbacks=self.callbacks,
                verbose=verbose,
                of_library={"verbose": verbose or False},
            )

    @property
    def is_categorical_(self) -> BoolArray:
        """Which features are categories, (n_features,)."""
        check_is_fitted(self)
        types = self.booster_.feature_types or [""] * self.n_features_in_
        return np.array([kind == "c" for kind in types], dtype=np.bool_)

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

    def get_num_boosting_rounds(self) -> int:
        """Return ``n_estimators``; of "auto" the number of rounds that the search has found, or 100."""
        asked = self._resolved_params()["n_estimators"]
        is_found = is_auto(asked) and self.__sklearn_is_fitted__()
        return self.trained_rounds() if is_found else rounds_unsearched("n_estimators", asked)

    def get_xgb_params(self) -> dict[str, Any]:
        """Return the parameters that :func:`xgboost.train` gets, by the names of the constructor, which it knows."""
        own = {native: name for name, native in self._host.native_names.items()}
        return {own.get(name, name): value for name, value in self._native_params(found=self._found).items()}

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
    def apply(self, X: object, iteration_range: tuple[int, int] | None = None) -> IntArray:
        """Return the leaf that each row ends in, int32 ``(n_samples, n_iter_)``.

        Trees of one round that grew in parallel have a column each.

        Parameters
        ----------
        <<X>>
        iteration_range : tuple (0, n) or None
            After how many rounds; None for all.
        """
        check_is_fitted(self)
        matrix = XGBOOST.matrix_like_booster(self, self._check_features(X, reset=False))
        asked = {"iteration_range": iteration_range}, self._parameter_names
        n_rounds = arguments.first_rounds(*asked, self.n_iter_, self._record.n_iterations)
        leaves = self.booster_.predict(matrix, pred_leaf=True, iteration_range=(0, n_rounds))
        return np.asarray(leaves, dtype=np.int32).reshape(matrix.num_row(), -1)
