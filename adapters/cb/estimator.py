"""CatBoostOrdinalClassifier: ordinal boosting through CatBoost behind scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from catboost import CatBoost
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives import tables
from ordinal_objectives.adapters.cb.host import CATBOOST
from ordinal_objectives.aliases import ArrayLike, BoolArray, FloatArray, NDArray, Seed
from ordinal_objectives.estimators import arguments
from ordinal_objectives.estimators.description import ClassifierDescription
from ordinal_objectives.estimators.host import GivenRows
from ordinal_objectives.estimators.host_classifier import HostClassifier
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.utils import shared_docs

# Parameters that fit takes as well, as CatBoost's does.
_OF_FIT = {
    *("cat_features", "text_features", "embedding_features", "use_best_model", "early_stopping_rounds"),
    *("verbose", "logging_level", "verbose_eval", "silent"),
}
# What to do with columns of text, of vectors and of dates.
_NAMED = (
    "Name columns of categories in cat_features, of text in text_features, of vectors in embedding_features, and make "
    f"dates numbers{tables.OF_HOSTS.partition('dates numbers')[2]}"
)


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
        As in ``catboost.CatBoostClassifier``, except ``learning_rate="auto"``, which is 0.1, and
        ``one_hot_max_size=10``, which suits losses written in Python; None is CatBoost's default.
    cat_features : list of int or str, or None
        Columns of categories, by number or name. None takes those of a category type.
    text_features, embedding_features : list of int or str, or None
        Columns of a pandas frame with text, of which missing text has no words, and with vectors of finite numbers.
    random_state : int, RandomState or Generator instance, or None
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
    _host: ClassVar = CATBOOST
    _start_name: ClassVar = CATBOOST.start_name
    _parameter_names: ClassVar = CATBOOST.parameter_names
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
        learning_rate: float | str = "auto",
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
        X: object,
        y: ArrayLike,
        cat_features: list[int] | list[str] | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        baseline: ArrayLike | None = None,
        eval_set: Sequence[tuple[object, ArrayLike]] | None = None,
        sample_weight_eval_set: list[Any] | None = None,
        baseline_eval_set: list[Any] | None = None,
        groups: ArrayLike | None = None,
        eval_metric: Any = None,
        callbacks: list[Any] | None = None,
        init_model: CatBoostOrdinalClassifier | CatBoost | str | PathLike[str] | None = None,
        text_features: list[int] | list[str] | None = None,
        embedding_features: list[int] | list[str] | None = None,
        use_best_model: bool | None = None,
        early_stopping_rounds: int | None = None,
        verbose: bool | int | None = None,
        logging_level: str | None = None,
        verbose_eval: bool | int | None = None,
        silent: bool | None = None,
    ) -> CatBoostOrdinalClassifier:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
            pandas and polars frames, lazy ones included. NaN is missing; what a sparse matrix does not store is 0.
        <<y>>
        cat_features, text_features, embedding_features, use_best_model, early_stopping_rounds : object
            The parameters, for this fit; None is what the constructor says.
        <<sample_weight>>
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
        verbose, logging_level, verbose_eval, silent : object
            What CatBoost prints in this fit, as its own ``fit`` takes them.

        Returns
        -------
        CatBoostOrdinalClassifier

        Raises
        ------
        ValueError
            If labels, weights or parameters are not what the docs allow; the message names the argument.
        """
        weights = sample_weight_eval_set, "sample_weight_eval_set"
        given = {name: value for name, value in locals().items() if name in _OF_FIT}
        with self._with(**given):
            return self._fit(
                GivenRows(X, y, sample_weight, baseline, groups),
                arguments.GivenSets(eval_set, *weights, baseline_eval_set, "baseline_eval_set"),
                init_model,
                callbacks=callbacks,
                eval_metric=eval_metric,
                of_library={"use_best_model": self.use_best_model},
            )

    @property
    def is_categorical_(self) -> BoolArray:
        """Which features are categories, (n_features,)."""
        check_is_fitted(self)
        return np.isin(np.arange(self.n_features_in_), self._places["cat_features"])

    def _description(self, *, labelled: bool = True) -> ClassifierDescription:
        return replace(super()._description(labelled=labelled), lengths=dict(self._lengths))

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """Importance of each feature by how much predictions change with it, summing to 100, (n_features,)."""
        check_is_fitted(self)
        return np.asarray(self.booster_.get_feature_importance(type="PredictionValuesChange"))

    # Methods of CatBoostClassifier, under the same names

    def is_fitted(self) -> bool:
        """Return whether there is a fitted model."""
        return self.__sklearn_is_fitted__()

    def get_evals_result(self) -> dict[str, dict[str, list[float]]]:
        """Return loss and metrics of each round, of the training rows ("learn") and of each evaluation set.

        A single set is called "validation", as CatBoost calls it. No file keeps those of evaluation sets.
        """
        sets = getattr(self, "evals_result_", {})
        named = {"validation" if len(sets) == 1 else name: of_set for name, of_set in sets.items()}
        losses = self.training_loss_[self.n_earlier_rounds() + 1 :].tolist()
        return {"learn": {self.trained_spec().loss.name: losses}, **named}

    def get_best_score(self) -> dict[str, dict[str, float]]:
        """Return what :meth:`get_evals_result` has of the best round, or of the last one without evaluation sets."""
        found = self.get_evals_result()
        best = -1 if self.booster_.best_iteration_ is None else self.booster_.best_iteration_
        return {name: {metric: values[best] for metric, values in one.items()} for name, one in found.items()}

    @property
    def best_score_(self) -> dict[str, dict[str, float]]:
        """What :meth:`get_best_score` returns."""
        return self.get_best_score()

    def calc_leaf_indexes(self, data: object, ntree_start: int = 0, ntree_end: int = 0) -> NDArray[Any]:
        """Return the leaf that each row ends in, (n_samples, n_trees).

        Parameters
        ----------
        data : array-like, data frame or Arrow table, shape (n_samples, n_features)
            Rows, as ``predict`` takes them.
        ntree_start, ntree_end : int, default=0
            The first tree, and the one after the last; 0 for all.
        """
        check_is_fitted(self)
        pool = CATBOOST.pool(self, self._check_features(data, reset=False))
        return np.asarray(self.booster_.calc_leaf_indexes(pool, ntree_start, ntree_end))

    def score_contributions(self, X: object) -> FloatArray:
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
        pool = CATBOOST.pool(self, self._check_features(X, reset=False))
        return np.asarray(self.booster_.get_feature_importance(pool, type="ShapValues"), dtype=np.float64)
