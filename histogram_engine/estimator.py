"""HistGradientBoostingOrdinalClassifier: the native engine behind scikit-learn's interface."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.aliases import ArrayLike, FloatArray, Params, Seed
from ordinal_objectives.estimators import arguments, held_out, labels, new_groups
from ordinal_objectives.estimators.linear import with_start
from ordinal_objectives.estimators.ordinal_classifier import OrdinalClassifier
from ordinal_objectives.histogram_engine import binning, fit_loop, model_file
from ordinal_objectives.histogram_engine.constraints import Constraints
from ordinal_objectives.histogram_engine.parameters import OF_MODEL, BoostingParameters
from ordinal_objectives.histogram_engine.plan import TrainingPlan
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.random_effects import GroupColumn, RandomEffects, random_effects_of_model
from ordinal_objectives.row_blocks import header_of
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.threshold_solver import ThresholdRecord
from ordinal_objectives.threshold_solver.random_intercept import check_random_intercept
from ordinal_objectives.utils.extras import round_bar
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import check_choice, check_integer, check_thresholds, drawn_seed, refuse_soft


@documented
class HistGradientBoostingOrdinalClassifier(model_file.EngineModel, OrdinalClassifier):
    r"""Ordinal classifier grown by a native engine, which judges splits by the gain of leaves and thresholds together.

    By default thresholds move with x: leaves shift single thresholds, ``split_gain="vector"`` counts that in the gain
    of a split, and ``threshold_update`` has no effect. The joint mode is ``proportional=True`` with
    ``threshold_update="joint"``: one score, and splits, leaves and thresholds follow one criterion.

    Trees grow best split first. In the joint mode the gain of a split is the decrease of the quadratic model

    .. math::

        \sum_j G_j w_j + u'\delta + \tfrac12 \sum_j (H_j + \lambda) w_j^2 + \tfrac12 \delta' V \delta
        + \sum_j w_j L_j'\delta

    of leaf weights w and threshold step :math:`\delta`, less ``gamma``.

    Parameters
    ----------
    <<classes>>
    max_iter : int or "auto"
        Number of trees. "auto": the number with the lowest loss on a fifth of the rows, held out and stratified by
        class; then all rows are trained on. Fewer than 100 rows are divided three times. "auto" is 100 for a continued
        model, where ``early_stopping`` is not "auto" or ``fit`` gets rows for it, for :class:`.RowBlocks`, and for
        fewer than 10 rows.
    learning_rate : float or "auto"
        Shrinkage of leaf weights and threshold step; the largest one with ``adaptive_step``. "auto": 0.1.
    max_leaf_nodes : int, "auto" or None, default="auto"
        Leaves of a tree, at least 2; None for no limit. "auto": where ``max_iter`` is searched 7 for fewer than 1,000
        rows with weight, else the better one of 15 and 63; without a search 31.
    <<max_depth>>
    min_samples_leaf : int or "auto"
        Rows of a leaf, whatever their weight. "auto": one in 50 of the rows with weight, at least 1 and at most 20.
    l2_regularization : float
        Penalty lambda of the leaf weights.
    subsample : float
        Share of the rows of positive weight that each tree is grown on, drawn without replacement. The step uses all
        rows.
    <<categorical_features, min_samples_category>>
    monotonic_cst : array-like of int, shape (n_features,), dict of str to int, or None, default=None
        1 where the score must rise with a feature, so that P(y <= k) falls for every k, -1 where it must fall, else 0;
        a dict names the constrained columns.
    interaction_cst : {"pairwise", "no_interactions"}, list of groups, or None, default=None
        Groups of features, by number or name, that may split below each other. Features in no group form another one.
    <<decision_rule, cost_matrix, class_weight>>
    early_stopping : "auto" or bool, default="auto"
        Stop when the validation loss no longer falls: on ``X_val``, or else on held-out rows. "auto" does so for
        more than 10,000 rows, or where ``X_val`` is given or validation rows judge the trees; not where ``max_iter``
        is searched.
    validation_fraction : float, int or None, default=0.1
        Share of the rows of positive weight held out, stratified by class, or their number. None holds none out: early
        stopping looks at the training rows.
    <<n_iter_no_change, tol>>
    scoring : str, callable or None, default="loss"
        Criterion of early stopping, on the last evaluation set: the loss; a scorer, by its name in this package or in
        scikit-learn; or ``scorer(estimator, X, y)``, of which higher is better. None is the accuracy. Without early
        stopping it is not used.
    <<eval_metric>>
        Early stopping uses ``scoring``.
    <<random_state>>
    proportional : bool or "auto", default="auto"
        True: the same thresholds for all rows (proportional odds). False: leaves also shift single thresholds, so that
        these move with x; the thresholds take a Newton step after each tree. "auto": False where loss and ``order``
        allow it, and thresholds are not "fixed".
    <<loss, link>>
        Neither a loss nor a link of your own.
    <<training_cost, linear, linear_l2>>
    hessian : {"exact", "majorized"}, default="exact"
        Second derivative that steps are divided by: that of the loss, or an upper bound, which gives shorter steps. A
        step that would raise the training loss is halved.
    threshold_update : {"joint", "newton", "fixed"}, default="joint"
        With one score only. "joint": the joint step of leaves and thresholds decides the splits, and both take it.
        "newton": only the score decides the splits, and the thresholds follow by a Newton step. "fixed": thresholds
        stay where they start.
    <<shift_l2, shift_penalty, max_shifts>>
    split_gain : {"auto", "vector", "joint", "scalar"}, default="auto"
        Gain of a split where leaves shift thresholds. "vector" ("auto"): that of such leaves. Cheaper are "joint", that
        of the joint step of score and thresholds, and "scalar", that of only the score.
    <<random_intercept>>
    min_child_weight : float
        Smallest sum of weighted Hessians in a leaf; with the logit a row has at most (n_classes - 1) / 4.
    gamma : float, default=0.0
        Gain that a split must exceed.
    colsample_bytree : float
        Share of the columns drawn for each tree.
    max_features : float, int or {"sqrt", "log2"}, default=1.0
        Columns drawn for each split: a share of the tree's (1.0 is all), a number (1 is one), or the whole part of the
        root or logarithm of how many it has, and at least one. Random forests use "sqrt".
    <<max_bins>>
    rebin_every : int or None, default=None
        Cut the features anew after so many trees, into bins of equal Hessian instead of equal weight. None cuts them
        once.
    boosting_type : {"gbdt", "rf"}, default="gbdt"
        "rf": a random forest, the mean of trees that take full steps from a score of 0. Scale and thresholds are fitted
        to the out-of-bag rows, so ``subsample`` must be below 1. ``max_iter="auto"`` is 100, ``proportional="auto"``
        True, and there are no staged predictions.
    data_sample_strategy : {"bagging", "goss"}, default="bagging"
        "goss": instead of ``subsample``, the share ``top_rate`` of the rows with the largest gradients, and the share
        ``other_rate`` of the rows, drawn from the others and weighted to stand for them; not for the first
        1 / learning_rate trees.
    top_rate : float, default=0.2
        Of "goss".
    other_rate : float, default=0.1
        Of "goss"; both together are at most 1.
    pruning : bool, default=False
        Merge leaves whose split does not lower the loss of the rows of ``judged_by``.
    adaptive_step : bool, default=False
        Choose each step size, at most ``learning_rate``, by the rows of ``judged_by``.
    judged_by : {"out_of_bag", "validation"}, default="out_of_bag"
        Rows that decide pruning and step sizes. "out_of_bag": those outside each tree's sample, with ``subsample``
        below 1; the step is fitted on the sample. "validation": the last evaluation set or the held-out rows, for all
        trees, as in the thesis that the engine follows; the step is fitted on all training rows. The loss of these rows
        is then no estimate for new rows.
    order : {2, 3, 4}, default=2
        Derivatives of the loss in steps and gains; 3 and 4 need the exact Hessian and the logit link.
    cross_terms : {"auto", "all"}, default="auto"
        Thresholds whose cross terms count in the gain of a split. "auto": with eight classes or more, and 3,200 rows
        times classes, those of a few thresholds, which approximate gains to about 0.5%. Where leaves shift thresholds:
        the sums of 5 ("joint") or 3 ("vector") groups of neighbouring thresholds.
    warm_start : bool, default=False
        Continue the fitted or loaded model up to ``max_iter`` trees. Features, classes, loss, link and ``max_bins``
        must be the model's; the rows may be others.
    <<importance_type, n_jobs, progress>>
    verbose : int or bool, default=0
        Print the measurements after every so many trees.
    **other_params
        Unknown keywords raise a TypeError: a name of another library at once, with the name used here, any other in
        ``fit``.

    Attributes
    ----------
    <<classes_, ordered_classes_, n_classes_, thresholds_, proportional_, n_iter_, round_search_>>
    <<linear_>>
    <<random_effects_>>
    best_iteration_ : int
        The same as ``n_iter_``.
    <<training_loss_, threshold_history_>>
    evals_result_ : dict of str to list of float
        Weighted mean loss after 0, 1, ... trees: "training", and "validation" or "validation_<i>"; with a suffix what
        ``eval_metric`` and ``scoring`` measure, such as "validation_mae" and "validation_score". The training loss is
        that of unsorted margins, so the same rows can have a lower loss as an evaluation set.
    feature_importances_ : ndarray of float64, shape (n_features,)
        Share of each feature in the gains of all splits, or in their number, by ``importance_type``. The sum is 1, or
        0 without a split.
    oob_decision_function_ : ndarray of float64, shape (n_samples, n_classes)
        Of a random forest after ``fit``: each row predicted by the trees that were not grown on it, columns as in
        ``predict_proba``; NaN where there is none.
    oob_loss_ : float
        Weighted mean loss of these.
    <<n_features_in_, columns_, is_categorical_, feature_names_in_, diagnostics_>>

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20, max_leaf_nodes=4).fit(X, y)
    >>> model.predict_proba(X).shape
    (300, 4)
    """

    random_effects_ = random_effects_of_model
    with_groups = new_groups.with_groups
    round_search_: held_out.RoundSearch | None = None

    def __init__(
        self,
        *,
        learning_rate: float | str = "auto",
        max_iter: int | str = "auto",
        max_leaf_nodes: int | str | None = "auto",
        max_depth: int | None = None,
        min_samples_leaf: int | str = "auto",
        l2_regularization: float = 1.0,
        max_bins: int = 255,
        categorical_features: object = "from_dtype",
        min_samples_category: int = 10,
        rebin_every: int | None = None,
        early_stopping: str | bool = "auto",
        validation_fraction: float | int | None = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        scoring: object = "loss",
        eval_metric: object = None,
        warm_start: bool = False,
        class_weight: Any = None,
        random_state: Seed = None,
        loss: str | OrdinalLoss = "all_threshold",
        link: str = "logit",
        training_cost: str | ArrayLike = "absolute",
        hessian: str = "exact",
        order: int = 2,
        threshold_update: str = "joint",
        min_child_weight: float = 1e-3,
        gamma: float = 0.0,
        subsample: float = 0.8,
        colsample_bytree: float = 1.0,
        boosting_type: str = "gbdt",
        data_sample_strategy: str = "bagging",
        top_rate: float = 0.2,
        other_rate: float = 0.1,
        max_features: float | int | str = 1.0,
        monotonic_cst: object = None,
        interaction_cst: object = None,
        pruning: bool = False,
        adaptive_step: bool = False,
        judged_by: str = "out_of_bag",
        cross_terms: str = "auto",
        proportional: bool | str = "auto",
        shift_l2: float | None = None,
        shift_penalty: str = "ridge",
        max_shifts: int | None = None,
        split_gain: str = "auto",
        random_intercept: int | str | list[int | str] | None = None,
        linear: bool | str = False,
        linear_l2: float = 100.0,
        classes: ArrayLike | None = None,
        decision_rule: str = "median",
        cost_matrix: ArrayLike | None = None,
        importance_type: str = "gain",
        n_jobs: int | None = None,
        progress: bool = False,
        verbose: int = 0,
        **other_params: object,
    ) -> None:
        self._keep_arguments(dict(locals()), "other_params")

    @documented
    @arguments.explains_keywords
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        callback: fit_loop.Callback | None = None,
    ) -> HistGradientBoostingOrdinalClassifier:
        """Fit the model.

        Parameters
        ----------
        X : array-like of float, or RowBlocks, shape (n_samples, n_features)
            NaN is missing. In frames and tables, columns of numbers, booleans and categories.
        <<y, sample_weight, X_val, y_val, sample_weight_val, groups, callback>>

        Returns
        -------
        HistGradientBoostingOrdinalClassifier

        Raises
        ------
        ValueError, TypeError
            If features, labels, weights or parameters are not what the docs allow, or do not suit the model
            that ``warm_start`` continues; the message names the argument.
        """
        with self._all_or_nothing():
            self._refuse_unknown()
            parameters, stopping = self._parameters(), fit_loop.EarlyStopping.of(self)
            scorer = fit_loop.check_scoring(self.scoring)
            every = check_integer("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, 0)
            earlier = fitted = None
            if self._continues():
                earlier, fitted = self._grown, copy.copy(self)
                self._check_continued(X, parameters)
            rows = self._check_training(X, y, sample_weight, groups)
            metrics = self._metrics(self.eval_metric)
            parameters = self._with_rows(parameters, len(rows.weighted))
            parameters.warn_unused()
            if fitted is not None:
                self._check_same_classes(None, fitted, "the model that warm_start continues")
                self._check_same_groups(fitted.random_effects_)
            else:
                self._seed = drawn_seed(self.random_state)
            sets = arguments.GivenSets.of_one(X_val, y_val, sample_weight_val)
            watched = self._check_evaluation(sets)
            for name, asked in (("scoring", scorer), ("random_intercept", self._groups or None)):
                for one in () if asked is None else (rows, *watched):
                    refuse_soft(one.labels, name=f"y with {name}={getattr(self, name)!r}")
            plan = TrainingPlan(self, parameters, self.columns_, self._seed, self._groups)
            linear = None if earlier is None else self._linear
            decided = plan.decide(rows, watched, earlier, linear, stopping)
            parameters, self.round_search_, self._linear = decided.parameters, decided.search, decided.linear
            self._found = {} if self.round_search_ is None else self.round_search_.settings
            rows, *watched = [with_start(self._linear, one) for one in (decided.rows, *decided.watched)]
            scored = None if scorer is None else fit_loop.scored_by(scorer, self._labels, self._decide_in_round)
            self._max_bins, self.proportional_ = parameters.max_bins, parameters.shifts is None
            with self._under_way(), round_bar(self.progress, parameters.max_iter, "trees") as show:
                remember = partial(self._remember, parameters.spec.loss)
                after = fit_loop.after_tree(show, every, callback, remember)
                grown = plan.train(parameters, earlier, rows, watched, decided.stopping, after, metrics, scored)
            self._remember(parameters.spec.loss, grown)
            self.do_early_stopping_ = decided.stopping is not None
        self._warn_if_constant(len(rows), "min_samples_leaf", parameters.min_samples_leaf, stacklevel=4)
        return self

    def _fixed_rounds(self, n_rounds: int) -> Params:
        return {**self._found, "max_iter": n_rounds, "early_stopping": False}

    def divides_rows(self) -> bool:
        """Return whether rows out of bag, or held out, judge the trees."""
        return bool(self.boosting_type == "rf" or self.pruning or self.adaptive_step)

    def _parameters(self) -> BoostingParameters:
        """Return the parameters of a training, but for what depends on its rows; see :meth:`_with_rows`."""
        others = {field.name for field in fields(BoostingParameters)} - {"spec", "constraints"}
        given = {name: getattr(self, name) for name in (*OF_MODEL, *others)}
        for name in ("min_samples_leaf", "max_leaf_nodes", held_out.RATE):
            if held_out.is_auto(given[name]):
                del given[name]
        given["max_iter"] = held_out.rounds_unsearched("max_iter", self.max_iter)
        allowed = {"boosting_type": "gbdt", "judged_by": "out_of_bag", "threshold_update": ("joint", "newton")}
        if self.random_intercept is not None:
            check_random_intercept(self._ordinal_loss(), arguments.constructor_arguments(self), **allowed)
        return BoostingParameters.of(self._ordinal_loss(), **given)

    def _with_rows(self, parameters: BoostingParameters, n_rows: int) -> BoostingParameters:
        """Return the parameters for a number of rows with weight, with the constraints of the features."""
        names, n_features = getattr(self, "feature_names_in_", None), self.n_features_in_
        categories = self.columns_.mask
        constraints = Constraints.of(self.monotonic_cst, self.interaction_cst, n_features, names, categories)
        parameters = parameters.changed(constraints=constraints)
        if held_out.is_auto(self.min_samples_leaf):
            parameters = parameters.changed(min_samples_leaf=held_out.smallest_leaf("auto", n_rows))
        return parameters

    def _check_continued(self, X: object, parameters: BoostingParameters) -> None:
        """Raise ValueError, naming what differs, unless a fit can continue the fitted model.

        Parameters and features must be those of the classifier, and loss and bins those of its fit. Rows, weights and
        parameters of growth may be others: trees and thresholds mean the same with them. The classes are known, and
        compared, later.
        """
        if parameters.is_forest or self._fitted_as_forest:
            raise ValueError("warm_start continues trees that follow each other; boosting_type='rf' has none")
        fitted, loss = self._fitted_loss, parameters.spec.loss
        shared = {
            "loss": (fitted.identity, loss.identity),
            "link": (fitted.link.name, loss.link.name),
            "max_bins": (self._max_bins, parameters.max_bins),
            "proportional": (self.proportional_, parameters.shifts is None),
        }
        for name, (before, now) in shared.items():
            if before != now:
                raise ValueError(f"warm_start continues a model of {name}={before!r}; got {name}={now!r}")
        fit_loop.check_more_trees(parameters.max_iter, self.n_iter_)
        arguments.validate_columns(self, header_of(X), reset=False, skip_check_array=True)
        binning.check_same_categories(X, self.categorical_features, self.columns_)

    def _check_same_groups(self, before: RandomEffects | dict[int, RandomEffects] | None) -> None:
        places = before.column.place if isinstance(before, RandomEffects) else before and list(before)
        now = [column.place for column in self._groups]
        if now != ([] if places is None else [places] if isinstance(places, int) else places):
            raise ValueError(
                f"warm_start continues a model of random_intercept={places!r}; got "
                f"random_intercept={self.random_intercept!r}"
            )

    def _remember(self, loss: OrdinalLoss, grown: fit_loop.GrownModel) -> None:
        """Store the result of a training, also of one that is under way, or of a file."""
        self.__dict__.pop("_is_under_way", None)
        n_iter = self.best_iteration_ = len(grown.ensemble)
        self._grown, self._fitted_as_forest, self._effects = grown, self.boosting_type == "rf", grown.effects
        self.threshold_history_, self.evals_result_ = grown.thresholds, grown.evals
        losses = grown.evals.get("training", [])[: len(grown.thresholds)]
        found = grown.thresholds, losses, grown.diagnostics
        self._of_model = {name: getattr(self, name) for name in (*OF_MODEL, "boosting_type")}
        spec = OrdinalSpec(loss, **{name: self._of_model[name] for name in OF_MODEL})
        shifts = None if self.proportional_ else spec.given_shifts
        self._keep(ThresholdRecord.of(spec, *found, shifts=shifts), n_iter)

    def _carry(self) -> None:
        history, evals = np.array(self._record.thresholds), self.evals_result_
        self._grown = replace(self._grown, thresholds=history, evals=evals, effects=self._effects, out_of_bag=None)
        self.threshold_history_ = history

    def _check_decision(self) -> None:
        super()._check_decision()
        check_choice(self.importance_type, model_file.IMPORTANCES, name="importance_type")

    def _splits(self) -> list[bool]:
        return [len(tree.left) > 1 for tree in self._ensemble.trees]

    def _check_features(self, X: object, *, reset: bool) -> Any:
        if reset:
            self._groups = GroupColumn.learn(X, self.random_intercept, self._groups if self._continues() else ())
        features = super()._check_features(self._with_codes(X, reset=reset), reset=reset)
        if any(column.place in self.columns_.levels for column in self._groups):
            raise ValueError(
                f"random_intercept must name a column that categorical_features does not name; got "
                f"{self.random_intercept!r}"
            )
        return features

    def _scorer(self, X: Any) -> Callable[[int, int], FloatArray]:
        return partial(self._ensemble.scores, X, n_threads=effective_n_threads(self.n_jobs))

    @documented
    def staged_scores(self, X: Any, **start: Any) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield scores with their thresholds after 1, 2, ... iterations; a random forest has none."""
        check_is_fitted(self)
        self.check_stages()
        yield from super().staged_scores(X, **start)

    def check_stages(self) -> None:
        """Raise ValueError if there is no model after fewer trees."""
        if self._fitted_as_forest:
            raise ValueError(
                "a random forest has no stages: its trees are averaged, and its thresholds fitted at the end"
            )

    # Attributes of HistGradientBoostingClassifier, under the same names

    n_trees_per_iteration_ = property(lambda self: 1, doc="One tree serves all classes.")

    @property
    def train_score_(self) -> FloatArray:
        """Negative loss of the training rows after 0, 1, ... trees; empty without early stopping."""
        return -np.array(self.evals_result_["training"] if self.do_early_stopping_ else ())

    @property
    def validation_score_(self) -> FloatArray:
        """What early stopping looked at, higher is better, after 0, 1, ... trees; empty without validation rows."""
        name = next(reversed(fit_loop.watched_in(self.evals_result_)), "") if self.do_early_stopping_ else ""
        scores = self.evals_result_.get(f"{name}_score")
        return -np.array(self.evals_result_.get(name, ())) if scores is None else np.array(scores)

    @property
    def oob_decision_function_(self) -> FloatArray:
        """Probabilities of the training rows by the trees that were not grown on them, (n_samples, n_classes)."""
        return self._labels.sort_columns(self._out_of_bag().proba)

    @property
    def oob_loss_(self) -> float:
        """Weighted mean loss of these."""
        return self._out_of_bag().loss

    def _out_of_bag(self) -> fit_loop.OutOfBag:
        check_is_fitted(self)
        if self._grown.out_of_bag is None:
            raise AttributeError("rows are out of bag after a fit of a forest, not in a file or with other thresholds")
        return self._grown.out_of_bag

    def _header(self) -> model_file.Header:
        self._check_not_under_way("a random forest has no stages")
        self._refuse_unknown()
        self.check_fitted_decision()
        check_choice(self.importance_type, model_file.IMPORTANCES, name="importance_type")
        params = (
            arguments.constructor_arguments(self)
            | self._host_params
            | self._of_model
            | self._fitted_loss.as_parameters()
        )
        others: Params = {"proportional": self.proportional_, "linear": self._linear, "targets": {}}
        return self._header_of(params, self.ordered_classes_, **others)

    def _recall(self, header: model_file.Header, grown: fit_loop.GrownModel) -> None:
        self.__dict__.pop("do_early_stopping_", None)  # of an earlier fit
        self._keep_labels(labels.OrderedLabels(header.classifier.labels))
        self._check_decision()
        self.proportional_, self._found, self._linear = header.proportional, header.classifier.found, header.linear
        if self._linear is not None:
            self._linear.check(self.n_features_in_)
        self._groups = tuple(one.column for one in grown.effects)
        if any(column.place >= self.n_features_in_ for column in self._groups):
            raise ValueError(f"random effects must be of columns below {self.n_features_in_}")
        loss = self._ordinal_loss()
        if not self.proportional_:
            loss.check_shifts()
        for row in grown.thresholds:
            check_thresholds(row, self.n_classes_, ordered=loss.ordered and self.proportional_)
        self._remember(loss, grown)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
