"""Base of the ordinal classifiers: parameters, predictions from a score and thresholds."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives import predictions, random_effects, tables
from ordinal_objectives.aliases import ArrayLike, Estimator, FloatArray, LabelArray, Params, Table
from ordinal_objectives.decision import decide
from ordinal_objectives.estimators import adapted, held_out
from ordinal_objectives.estimators.arguments import (
    ParameterNames,
    constructor_arguments,
    first_rounds,
    near_name,
    start_scores,
    store_constructor_arguments,
    validate_columns,
)
from ordinal_objectives.estimators.linear import LinearPart
from ordinal_objectives.estimators.ordered_classifier import OrderedClassifier, two_classes_only
from ordinal_objectives.eval_metric import EvalMetric, eval_metrics, warn_of_costs
from ordinal_objectives.losses import CostWeighted, OrdinalLoss, get_loss
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils import documented, validation


class OrdinalClassifier(OrderedClassifier):
    """Base of the ordinal classifiers: a score cut by ordered thresholds.

    A subclass names the parameters ``classes``, ``class_weight``, ``decision_rule``, ``cost_matrix``,
    ``loss``, ``link``, ``training_cost``, ``hessian`` and ``threshold_update`` in its constructor, implements
    the abstract methods below, and grows the score in ``fit``: inside :meth:`_all_or_nothing`, from
    :meth:`_check_training` to :meth:`_keep`.

    Parameters that the constructor does not name belong to the library below, as ``_parameter_names`` tells.

    Parameters
    ----------
    decision_rule : {"median", "mode", "mean"}
        How probabilities become a class. "median" suits absolute error, "mode" accuracy, "mean" squared error.
    """

    _parameter_names: ClassVar[ParameterNames] = ParameterNames()
    _host_params: Params
    loss: str | OrdinalLoss
    link: str
    training_cost: str | ArrayLike
    linear: bool | str
    n_jobs: int | None
    _start_name: ClassVar[str | None] = None
    _takes_soft = True
    n_iter_: int
    # Where it differs from n_iter_: LightGBM adds no tree in a round without a split.
    _n_rounds: int | None = None
    # Values of parameters that the search of the training found: copies and files have them too.
    _found: Mapping[str, Any] = MappingProxyType({})
    proportional_: bool
    thresholds_: FloatArray
    diagnostics_: dict[str, int]
    # The score that the trees are added to, where there is one. It takes checked features.
    _linear: LinearPart | None = None
    # Columns of groups with random intercepts, and the effects of each.
    _groups: tuple[random_effects.GroupColumn, ...] = ()
    _effects: tuple[random_effects.RandomEffects, ...] = ()
    # Loss and thresholds of the fit: parameters set afterwards change neither.
    _fitted_loss: OrdinalLoss
    _record: ThresholdRecord
    _is_constant: bool  # whether there are trees, none of them with a split

    def __init_subclass__(cls, **options: Any) -> None:
        """Name what predictions take to scikit-learn's routing of metadata, which sees only X in their signatures."""
        taken = dict.fromkeys(name for name in (cls._start_name, *cls._parameter_names.rounds) if name is not None)
        for method in ("predict", "predict_proba", "predict_log_proba"):
            setattr(cls, f"__metadata_request__{method}", taken)
        super().__init_subclass__(**options)

    def _keep_arguments(self, given: Params, others: str) -> None:
        """Store what the constructor was given, its ``locals()``; ``others`` is its name for what goes on."""
        self._keep_host_params(given.pop(others))
        store_constructor_arguments(self, given)

    def _keep_host_params(self, host_params: Params) -> None:
        """Store what the constructor does not name, unless the name is foreign or impossible here."""
        names = self._parameter_names
        why = {**{name: f"here it is {here!r}" for name, here in names.renamed.items()}, **names.refused}
        for name, value in host_params.items():
            if name in why and not names.so_anyway(name, value):
                raise TypeError(f"{type(self).__name__} takes no {name!r}: {why[name]}; got {name}={value!r}")
        self._host_params = dict(host_params)

    def get_params(self, deep: bool = True) -> Params:
        """Return the parameters, those passed on to the library below included.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return those of estimators among them as well.
        """
        return {**super().get_params(deep=deep), **self._host_params}

    def set_params(self, **params: Any) -> Self:
        """Set parameters; names unknown to the constructor go to the library below.

        Parameters
        ----------
        **params
            Values by name.
        """
        own = {
            *self._get_param_names(),
            *constructor_arguments(self),
        }  # those that a subclass does not take are refused
        passed_on = {k: v for k, v in params.items() if k not in own or k in self._host_params}
        self._keep_host_params({**self._host_params, **passed_on})
        super().set_params(**{k: v for k, v in params.items() if k in own})
        return self

    def _refuse_unknown(self) -> None:
        """Raise TypeError for an unknown name; where the library warns of it, only if it resembles a known one."""
        names = self._parameter_names
        known = names.of_library.union(names.refused, names.renamed, *names.same.values())
        for name in (name for name in self._host_params if name not in known):
            near = near_name(name, self._get_param_names(), known)
            if near or not names.library_warns:
                hint = f"; did you mean {names.renamed.get(near, near)!r}?" if near else ""
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}{hint}")

    if not TYPE_CHECKING:  # which would take every name for one that is there

        def __getattr__(self, name: str) -> Any:
            """Return a parameter or an attribute by its name in the library, or say what there is instead."""
            names, params = self._parameter_names, vars(self).get("_host_params", {})
            if name in params:
                return params[name]
            if name in names.attributes:
                with one_thread_after_fork():
                    return attrgetter(names.attributes[name])(self)
            if name in names.no_attributes:
                raise AttributeError(f"{type(self).__name__} has no {name}: {names.no_attributes[name]}")
            return object.__getattribute__(self, name)  # the error of a property of that name, or Python's

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        """Mark a training: callbacks must not predict with an earlier model, or save it as if it were the new one."""
        self._is_under_way = True
        try:
            yield
        finally:
            self.__dict__.pop("_is_under_way", None)

    def _check_not_under_way(self, instead: str) -> None:
        """Raise ValueError during a training that has no model yet."""
        if getattr(self, "_is_under_way", False):
            raise ValueError(f"fit has not ended, and there is no model to save yet: {instead}")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_record") and not getattr(self, "_is_under_way", False)

    def _ordinal_loss(self) -> OrdinalLoss:
        """Return the loss that the parameters name."""
        return get_loss(self.loss, self.link, self.training_cost)

    def _check_decision(self) -> None:
        super()._check_decision()
        self._ordinal_loss().check_decision(self.decision_rule, self.cost_matrix)

    def check_fitted_decision(self) -> None:
        """Raise ValueError unless the trained model can decide by ``decision_rule`` or ``cost_matrix``."""
        super().check_fitted_decision()
        self._fitted_loss.check_decision(self.decision_rule, self.cost_matrix)

    def _decide_in_round(self, proba: FloatArray, weight: FloatArray | None) -> LabelArray:
        return decide(proba, rule=self.decision_rule, cost_matrix=self.cost_matrix)

    def _metrics(self, *given: Any) -> list[EvalMetric]:
        """Return ``eval_metric`` as metrics of this classifier, and warn where they judge what they should not."""
        metrics = eval_metrics(given, self.n_classes_, self._decide_in_round)
        if metrics and isinstance(self._ordinal_loss(), CostWeighted):
            warn_of_costs([metric.__name__ for metric in metrics if metric.judges_probabilities])
        return metrics

    @abstractmethod
    def _scorer(self, X: Table) -> Callable[[int, int], FloatArray]:
        """Return what gives the part of the score of checked features that iterations ``start`` to ``stop - 1`` add.

        (n_samples,), or (n_samples, n_classes - 1) of a model whose trees shift single thresholds.
        """

    @abstractmethod
    def _splits(self) -> list[bool]:
        """Return for each tree whether it has a split; empty if there are no trees."""

    def _keep(self, record: ThresholdRecord, n_iter: int) -> None:
        """Store what every fitted classifier has."""
        self._record = record
        self._fitted_loss = record.spec.loss
        self.n_iter_ = n_iter
        self.thresholds_ = record.at(n_iter)
        self.proportional_ = record.shifts is None
        splits = self._splits()
        self.diagnostics_ = dict(record.diagnostics) | {"n_without_split": splits.count(False)}
        self._is_constant = bool(splits) and not any(splits)

    def _warn_if_constant(self, n_samples: int, leaf: str, least: int = 0, stacklevel: int = 5) -> None:
        """Warn if no tree has a split; ``leaf`` names what bounds the size of leaves, ``least`` its number of rows."""
        if not self._is_constant:
            return
        reason = f"a split needs two leaves of {leaf}={least} rows, and the training has {n_samples} rows"
        if n_samples >= 2 * least:
            reason = f"none gained anything in leaves as large as {leaf} asks"
        warnings.warn(
            f"no tree has a split, so all rows get the same probabilities: {reason}. With few rows or small weights a "
            f"lower {leaf} allows splits",
            stacklevel=stacklevel,  # the caller of fit
        )

    def _check_same_classes(self, record: ThresholdRecord | None, model: Estimator, name: str) -> None:
        """Raise ValueError if a continued model has other classes, or the same in another order."""
        if isinstance(model, OrdinalClassifier):
            known = model.ordered_classes_.tolist()
        else:
            known = None if record is None or record.classifier is None else record.classifier.classes
        here = self.ordered_classes_.tolist()
        if known is not None and known != here:
            raise ValueError(
                f"{name} was trained on the classes {known}; here they are {here}. Pass classes= where y lacks some "
                f"of them"
            )

    @documented
    def predict_raw(self, X: object, **start: ArrayLike | None) -> FloatArray:
        """Return the score f(x).

        Parameters
        ----------
        <<X, **start>>

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            On the scale of ``thresholds_``. Of a model that is not ``proportional_`` it is the mean over thresholds of
            f(x) + v_k(x), from which P(y > k) cannot be computed. With ``random_intercept`` the effect of the row's
            group is part of it. A row of a new group has no single score: it gets the mean over thresholds of those
            by which each P(y > k) is the mean over groups. For the average group pass a missing one.
        """
        return predictions.score(self._scores(X, **start))

    def _scores(self, X: object, **start: ArrayLike | None) -> FloatArray:
        """Return f(x), (n_samples,), or f(x) + v_k(x), (n_samples, n_classes - 1)."""
        return self._scores_and_thresholds(X, start)[0]

    def _scores_and_thresholds(self, X: object, given: Mapping[str, Any]) -> tuple[FloatArray, FloatArray]:
        """Return scores, one a row or one a threshold, with their thresholds: after the rounds that are asked for."""
        check_is_fitted(self)
        X = self._check_features(X, reset=False)
        n_rounds = first_rounds(given, self._parameter_names, self.n_iter_, self._record.n_iterations)
        if n_rounds == self.n_iter_:
            return self._scores_of_checked(X, given), self.thresholds_
        scores = predictions.add_scores(self._before_trees(X, given), self._scorer(X)(0, n_rounds))
        return self._after(n_rounds, scores, X)

    def _after(self, n_rounds: int, scores: FloatArray, X: Table) -> tuple[FloatArray, FloatArray]:
        """Return scores of checked features after some rounds, with their effects of groups, and the thresholds."""
        effects, thresholds = [one.at(n_rounds) for one in self._effects], self._record.at(n_rounds)
        return random_effects.with_effects(scores, X, effects, self._fitted_loss, thresholds), thresholds

    def _with_codes(self, X: object, *, reset: bool) -> Any:
        """Return a table with the codes of groups in the place of their names."""
        if not self._groups:
            return X
        X = tables.as_table(X)
        if not reset:
            validate_columns(self, X, reset=False, skip_check_array=True)
        return random_effects.encoded(X, self._groups)

    def _scores_of_checked(self, X: Table, start: Mapping[str, ArrayLike | None]) -> FloatArray:
        before = self._before_trees(X, start)
        scores = predictions.add_scores(before, self._scorer(X)(0, self.n_iter_))
        return random_effects.with_effects(scores, X, self._effects, self._fitted_loss, self.thresholds_)

    @documented
    def refit_thresholds(
        self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None, **start: ArrayLike | None
    ) -> Self:
        """Return a copy of the model with thresholds for another population, of which few rows are labelled.

        The trees stay. The thresholds maximise a likelihood with a penalty on their distance from the model's own. Its
        strength follows from leave-one-out likelihoods; with 5,000 rows or more it has little effect. Where the score
        itself has another meaning in the new population, train a model.

        Parameters
        ----------
        <<X, **start>>
        y : array-like of shape (n_samples,)
            Labels, among ``classes_``.
        sample_weight : array-like of shape (n_samples,), or None, default=None
            A row with weight 2 counts as two rows.

        Returns
        -------
        estimator
            A fitted copy. Its stages before the last have the model's own thresholds, and losses after the last are
            NaN.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        ValueError
            If the loss is not all-threshold or cumulative-link, or was trained with costs.
        """
        scores, codes = self._scores(X, **start), self.encode_labels(y)
        weight = validation.row_weights(sample_weight, len(codes))
        if len(codes) != len(scores):
            raise ValueError(f"X and y must have the same number of rows; got {len(scores)} and {len(codes)}")
        if scores.ndim == 2 and self._effects:
            raise ValueError("X must be rows of the training's groups: means over groups hold at its thresholds")
        fitted = adapted.to_labels(self._record.spec.loss, scores, codes, weight, self.thresholds_)
        return copy.deepcopy(self)._take_thresholds(fitted)

    def _take_thresholds(self, thresholds: FloatArray) -> Self:
        """Take other thresholds at the end."""
        record, n = self._record.copied(), self.n_iter_
        beyond = len(record.thresholds) - n  # a training that goes on may keep rounds after the best one
        record.thresholds[n:], record.training_loss[n:] = [thresholds] * beyond, [float("nan")] * beyond
        adapted.forget_losses(getattr(self, "evals_result_", {}), n, beyond, getattr(self, "_n_earlier", 0))
        self._record, self.thresholds_ = record, thresholds
        self._carry()
        return self

    @abstractmethod
    def _carry(self) -> None:
        """Store the record in the model of the library below, where there is one."""

    @property
    def linear_(self) -> LinearPart | None:
        """The linear score that the trees start from, which reads rows as ``predict`` does; None without one."""
        if self._linear is None:
            return None
        return replace(self._linear, read=partial(self._check_features, reset=False))

    def fitted_effects(self) -> tuple[random_effects.RandomEffects, ...]:
        """Return the effects of groups, a column each, for what reads models."""
        check_is_fitted(self)
        return self._effects

    def trained_spec(self) -> OrdinalSpec:
        """Return the ordinal model as it was trained, whatever has been set since."""
        check_is_fitted(self)
        return self._record.spec

    def trained_rounds(self) -> int:
        """Return how many rounds another training takes to come as far as this model: one may have added no tree."""
        check_is_fitted(self)
        return self.n_iter_ if self._n_rounds is None else self._n_rounds

    def rounds_of_copies(self) -> Params:
        """Return the parameters by which copies on other rows train as many rounds as this model did."""
        check_is_fitted(self)
        params = self._fixed_rounds(max(self.trained_rounds(), 1))
        return params | ({"linear": self._linear is not None} if held_out.is_auto(self.linear) else {})

    @abstractmethod
    def _fixed_rounds(self, n_rounds: int) -> Params:
        """Return the parameters of a training of so many rounds, which nothing ends early."""

    def asked_threads(self) -> int | None:
        """Return the number of threads that was asked for."""
        return self.n_jobs

    def divides_rows(self) -> bool:
        """Return whether a training divides its rows, also where the number of rounds is fixed: some judge others."""
        return False

    @property
    def training_loss_(self) -> FloatArray:
        """Weighted mean loss of the training rows after 0, 1, ... iterations, NaN where it is not known."""
        check_is_fitted(self)
        return np.array(self._record.training_loss)

    def _before_trees(self, X: Table, start: Mapping[str, ArrayLike | None]) -> FloatArray:
        """Return the score of checked features without the trees, (n_samples,)."""
        given = start_scores(start, self._start_name, X.shape[0], type(self).__name__, self._parameter_names)
        return given if self._linear is None else given + self._linear.scores(X)

    @documented
    def predict_proba_ordered(self, X: object, **start: ArrayLike | None) -> FloatArray:
        """Return P(y = k | x), float64 (n_samples, n_classes), columns from the lowest class to the highest.

        They are in the order of ``ordered_classes_``, as ``thresholds_`` and what
        :func:`~ordinal_objectives.decide` and :mod:`ordinal_objectives.metrics` take.
        """
        scores, thresholds = self._scores_and_thresholds(X, start)  # first: it raises NotFittedError
        return predictions.proba(self._fitted_loss, scores, thresholds)

    @documented
    def predict_shifts(self, X: object, **start: ArrayLike | None) -> FloatArray:
        """Return the shifts v_k(x): how far each threshold moves with x, beside the score.

        They sum to zero over the thresholds of a row, and have weighted mean zero over the training rows. Where v_k
        is positive, P(y > k) is higher than by the score.

        Parameters
        ----------
        <<X, **start>>
            They change no shift.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes - 1)
            Lowest threshold first. Zeros if the model is ``proportional_``.
        """
        scores = self._scores(X, **start)
        if self.proportional_:  # also where scores are means over new groups, one for each threshold
            return np.zeros((len(scores), len(self.thresholds_)))
        return scores - scores.mean(axis=1, keepdims=True)

    @documented
    def predict_linear_predictors(self, X: object, **start: ArrayLike | None) -> FloatArray:
        """Return the linear predictors theta_k - f(x) - v_k(x), as R's VGAM calls what the link turns into P(y <= k).

        With the immediate-threshold loss it is P(y = k), given that y is k or k + 1. They fall where the score rises,
        unlike what XGBoost calls a margin. Those of a model that is not ``proportional_`` need not increase with k:
        :meth:`predict_cumulative_proba` sorts those of the all-threshold loss in each row.

        Parameters
        ----------
        <<X, **start>>

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes - 1)
            Lowest threshold first, not sorted.
        """
        scores, thresholds = self._scores_and_thresholds(X, start)
        return thresholds - (scores if scores.ndim == 2 else scores[:, np.newaxis])

    @documented
    def predict_cumulative_proba(self, X: object, **start: ArrayLike | None) -> FloatArray:
        """Return P(y <= k | x) for all classes but the highest, lowest first, float64 (n_samples, n_classes - 1)."""
        scores, thresholds = self._scores_and_thresholds(X, start)
        return predictions.cumulative_proba(self._fitted_loss, scores, thresholds)

    @documented
    def staged_predict_proba(self, X: object, **start: ArrayLike | None) -> Iterator[FloatArray]:
        """Yield what :meth:`predict_proba` returns after 1, 2, ... iterations, with the thresholds of each."""
        check_is_fitted(self)
        yield from map(self._labels.sort_columns, self._staged_proba_ordered(X, **start))

    @documented
    def staged_predict(self, X: object, **start: ArrayLike | None) -> Iterator[LabelArray]:
        """Yield what :meth:`predict` returns after 1, 2, ... iterations, with the thresholds of each."""
        for proba in self._staged_proba_ordered(X, **start):
            yield self._labels.decode(self._decide(proba))

    def _staged_proba_ordered(self, X: object, **start: ArrayLike | None) -> Iterator[FloatArray]:
        for scores, thresholds in self.staged_scores(X, **start):
            yield predictions.proba(self._fitted_loss, scores, thresholds)

    @documented
    def staged_scores(self, X: object, **start: ArrayLike | None) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield scores, one a row or one a threshold, with their thresholds after 1, 2, ... iterations."""
        check_is_fitted(self)
        X = self._check_features(X, reset=False)
        score_of = self._scorer(X)
        scores = self._before_trees(X, start)
        for iteration in range(first_rounds(start, self._parameter_names, self.n_iter_, self._record.n_iterations)):
            scores = predictions.add_scores(scores, score_of(iteration, iteration + 1))
            yield self._after(iteration + 1, scores, X)

    @two_classes_only
    @documented
    def decision_function(self, X: object, **start: ArrayLike | None) -> FloatArray:
        """Return f(x) - theta_0 + G^-1(1/2), float64 (n_samples,), or its negative where ``classes_[1]`` is the lower.

        Positive where ``classes_[1]`` is the more probable, as scikit-learn has it; G^-1(1/2) is 0 for a symmetric
        link. Two classes only: more would not fit its shape.
        """
        return self._above(*self._scores_and_thresholds(X, start))

    @two_classes_only
    @documented
    def staged_decision_function(self, X: object, **start: ArrayLike | None) -> Iterator[FloatArray]:
        """Yield what :meth:`decision_function` returns after 1, 2, ... iterations; two classes only."""
        for scores, thresholds in self.staged_scores(X, **start):
            yield self._above(scores, thresholds)

    def _above(self, scores: FloatArray, thresholds: FloatArray) -> FloatArray:
        median = self._fitted_loss.link.link(np.array(0.5))
        above: FloatArray = predictions.score(scores) - thresholds[0] + median
        return above if self._labels.sorted_codes_ is None else -above
