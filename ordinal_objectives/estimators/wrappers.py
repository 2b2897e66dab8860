"""Classifiers made of other classifiers, which are trained on class codes and asked for all classes."""

from __future__ import annotations

import importlib
import inspect
import pickle
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import sklearn
from scipy.sparse import issparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ordinal_objectives import tables
from ordinal_objectives.aliases import (
    ArrayLike,
    Estimator,
    FloatArray,
    IndexArray,
    IntArray,
    LabelArray,
    Params,
    RealArray,
)
from ordinal_objectives.estimators import arguments, held_out, ordinal_classifier
from ordinal_objectives.estimators.ordered_classifier import OrderedClassifier
from ordinal_objectives.losses import CostWeighted, get_loss
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.utils import documented, validation
from ordinal_objectives.utils.arrays import as_array

# What searches call the values that they try.
_GRIDS = ("param_grid", "param_distributions")
# What classifiers and samplers call shares of the classes that are not those of the rows, and values that change none.
_SHARES: Mapping[str, tuple[object, ...]] = {
    **dict.fromkeys(("class_weight", "class_weights", "auto_class_weights", "class_prior"), ("None",)),
    "priors": ("empirical",),
    "fit_prior": (True,),
    "is_unbalance": (False,),
    "unbalance": (False,),
    "unbalanced_sets": (False,),
    "scale_pos_weight": (1.0,),
    "sampling_strategy": (),
}


def inner_estimators(estimator: Estimator) -> list[tuple[str, Estimator]]:
    """Return the estimators whose probabilities an estimator's are made of, each with the prefix of its parameters.

    That is the last step of a pipeline, what a search, a calibration or another wrapper is given, and the members of an
    ensemble. What FrozenEstimator holds is trained already and left out.
    """
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return [(f"{name}__", last)]
    if isinstance(estimator, FrozenEstimator) or not hasattr(estimator, "get_params"):
        return []
    given = estimator.get_params(deep=False)
    for name in ("final_estimator", "estimator"):
        if given.get(name) is not None:
            return [(f"{name}__", given[name])]
    named = given.get("members", given.get("estimators"))
    pairs = [pair for pair in named if isinstance(pair, tuple) and len(pair) == 2] if isinstance(named, list) else []
    return [(f"{name}__", member) for name, member in pairs]


def all_inside(estimator: Estimator, prefix: str = "") -> Iterator[tuple[str, Estimator]]:
    """Yield an estimator and all that is :func:`inside` it, at any depth."""
    yield prefix, estimator
    for name, inner in inner_estimators(estimator):
        yield from all_inside(inner, prefix + name)


def _all_trained(part: Any, prefix: str = "") -> Iterator[tuple[str, Estimator]]:
    """Yield an estimator and all that it trains, at any depth, whatever for; searches set some."""
    if isinstance(part, (FrozenEstimator, type)):
        return
    named: Iterable[tuple[Any, Any]] = ()
    if hasattr(part, "get_params"):
        yield prefix, part
        named = part.get_params(deep=False).items()
    elif isinstance(part, Mapping):
        named = part.items()
    elif isinstance(part, (list, tuple)):
        is_named = isinstance(part, tuple) and len(part) >= 2 and isinstance(part[0], str)
        named = [(part[0], part[1])] if is_named else [("", entry) for entry in part]
    for name, inner in named:
        yield from _all_trained(inner, f"{prefix}{name}__" if name else prefix)


def _in(prefix: str) -> str:
    return f" in {prefix.removesuffix('__')}" if prefix else ""


def last_step(estimator: Estimator) -> tuple[Estimator, str]:
    """Return the estimator in which a pipeline ends, and the prefix of its parameters there."""
    prefix = ""
    while isinstance(estimator, Pipeline):
        prefix, estimator = f"{prefix}{estimator.steps[-1][0]}__", estimator[-1]
    return estimator, prefix


@dataclass(frozen=True)
class FinalClassifier:
    """The classifier in which pipelines and searches end, which is trained on the labels that they are given.

    Attributes
    ----------
    estimator : object
    in_fit : str
        Of the keywords of its ``fit`` in those of the whole.
    is_searched : bool
        Whether a search trains it, which keeps groups to itself unless scikit-learn routes them.
    """

    estimator: Estimator
    in_fit: str = ""
    is_searched: bool = False

    @classmethod
    def of(cls, estimator: Estimator) -> FinalClassifier:
        """Return the one in which an estimator ends; that may be the estimator itself."""
        is_pipeline = isinstance(estimator, Pipeline)
        is_search = hasattr(estimator, "estimator") and hasattr(estimator, "refit")
        if not (is_pipeline or is_search):
            return cls(estimator)
        ((name, inner),) = inner_estimators(estimator)
        last = cls.of(inner)
        in_fit = name + last.in_fit if is_pipeline else last.in_fit
        return cls(last.estimator, in_fit, last.is_searched or (is_search and not last.in_fit))


def class_codes(what: str, copy: Estimator, codes: IntArray, classes: LabelArray) -> IntArray:
    """Return the class codes that a classifier is trained on: label i of its training is entry i.

    A classifier of this package, also one in which a pipeline or a search ends, knows all classes; others those that
    have rows.

    Raises
    ------
    ValueError
        If a classifier inside has other classes already, or was trained on other labels; the message begins with
        ``what`` it is.
    """
    present = np.unique(codes)
    for prefix, inner in all_inside(copy):
        if isinstance(inner, FrozenEstimator) and classes[present].tolist() != list(range(len(present))):
            raise ValueError(
                f"{what} has a FrozenEstimator{_in(prefix)}, which knows the labels that it was trained on, and class "
                f"codes are given to it: put FrozenEstimator around the whole"
            )
    for prefix, inner in _all_trained(copy):
        if not isinstance(inner, OrderedClassifier) or inner.classes is None:
            continue
        own = as_array(inner.classes, name="classes").tolist()
        if own != classes.tolist():
            raise ValueError(
                f"{what} has classes {own}{_in(prefix)}; those of the classifier around it are {classes.tolist()}. "
                f"Give classes to the classifier around it alone"
            )
        inner.set_params(classes=None)  # codes rise
    last = FinalClassifier.of(copy)
    if not isinstance(last.estimator, OrderedClassifier):
        return present
    every = np.arange(len(classes), dtype=np.int32)
    last.estimator.set_params(classes=every)
    return every


def rows_for[AnyRows: held_out.Rows](what: str, copy: Estimator, rows: AnyRows) -> AnyRows:
    """Return rows as the ``fit`` of a classifier takes them: if it takes one class a row, those are a row an answer.

    Raises
    ------
    TypeError
        If it takes one class a row, and labels are intervals, or a search would divide the answers of a row.
    """
    last = FinalClassifier.of(copy)
    if rows.labels is not None and not getattr(last.estimator, "_takes_soft", False):
        if rows.of_intervals or last.is_searched:
            kind = "intervals" if rows.of_intervals else "several answers a row"
            searched = " in a search" if last.is_searched else ""
            raise TypeError(f"{what} takes labels of one class a row{searched}, and they are {kind}; got {copy!r}")
        rows = rows.by_answer()
    return rows


def labels_of(rows: held_out.Rows, present: IntArray) -> IndexArray | OrdinalLabels:
    """Return labels as a classifier is given them that is trained on some class codes."""
    return np.searchsorted(present, rows.codes) if rows.labels is None else rows.labels


def evaluation_keywords(copy: Estimator, pairs: list[tuple[object, Any]]) -> Params:
    """Return evaluation sets as the ``fit`` of a classifier takes them, or a pipeline or search that ends in one."""
    last = FinalClassifier.of(copy).estimator
    if not has_fit_parameter(last, "X_val"):
        return {"eval_set": pairs}
    ((X, y),) = pairs
    return {"X_val": X, "y_val": y}


def row_keywords(
    what: str, copy: Estimator, weight: RealArray | None, groups: LabelArray | None = None, **others: object
) -> Params:
    """Return weights and groups of rows as the ``fit`` of a classifier takes them, or a pipeline that ends in one.

    Groups are for classifiers that divide rows themselves, and for steps that ask for them by scikit-learn's routing;
    others do without. ``others`` are other keywords of ``fit``.

    Raises
    ------
    ValueError
        If evaluation rows would reach the end of a pipeline as they are, or a search does not pass groups on to a
        classifier that divides rows.
    """
    last = FinalClassifier.of(copy)
    if others.keys() & {"eval_set", "X_val"} and last.in_fit:
        raise ValueError(
            f"{what} is a pipeline, whose steps eval_set does not pass: transform the rows of training and evaluation, "
            f"and give them to the last step alone"
        )
    routes = sklearn.get_config().get("enable_metadata_routing", False)
    routed = routes and last.in_fit != ""
    in_fit = "" if routed else last.in_fit
    given: Params = {f"{in_fit}{name}": value for name, value in others.items()}
    if weight is not None:
        given[f"{in_fit}sample_weight"] = weight
    if groups is None:
        return given
    takes_groups = has_fit_parameter(last.estimator, "groups")
    if takes_groups and last.is_searched and not routes:
        raise ValueError(
            f"{what} has {type(last.estimator).__name__} in a search, which passes no groups on: "
            f"sklearn.set_config(enable_metadata_routing=True) and set_fit_request(groups=True) make it do so"
        )
    if routes and takes_groups:  # unless it says that it does without
        takes_groups = last.estimator.get_metadata_routing().fit.requests.get("groups") is not False
    if routes and copy is not last.estimator:  # another step may ask for them
        takes_groups |= "groups" in copy.get_metadata_routing().consumes("fit", ["groups"])
    if takes_groups:
        given[f"{in_fit}groups"] = groups
    return given


def prepared[AnyRows: held_out.Rows](
    what: str, copy: Estimator, rows: AnyRows, classes: LabelArray, **others: object
) -> tuple[AnyRows, IntArray, Params]:
    """Return rows as the ``fit`` of a classifier takes them, the codes that it is trained on, and keywords of ``fit``.

    Its own ``classes``, and ``cv`` of what divides rows, are set. ``others`` are other keywords.
    """
    rows = rows_for(what, copy, rows)
    present = class_codes(what, copy, rows.codes, classes)
    keep_groups_whole(what, copy, rows)
    return rows, present, row_keywords(what, copy, rows.weight, rows.groups, **others)


def train(copy: Estimator, rows: held_out.Rows, classes: LabelArray, **others: object) -> FittedMember:
    """Train a classifier, the argument ``estimator``, on class codes of rows; ``others`` are keywords of ``fit``."""
    rows, present, keywords = prepared("estimator", copy, rows, classes, **others)
    copy.fit(rows.X, labels_of(rows, present), **keywords)
    return FittedMember.trained(copy, present)


def native(**params: Any) -> Estimator:
    """Return a classifier of the native engine, which imports what is here."""
    return importlib.import_module("ordinal_objectives").HistGradientBoostingOrdinalClassifier(**params)


# What trains its parts on all rows that it is given.
_ON_ALL_ROWS = (Pipeline, FeatureUnion, ColumnTransformer)


def keep_groups_whole(what: str, copy: Estimator, rows: held_out.Rows) -> None:
    """Give searches, and whatever else inside divides rows by ``cv``, folds of whole groups.

    Raises
    ------
    ValueError
        If they would divide groups all the same.
    """
    if rows.groups is None:
        return
    routes = sklearn.get_config().get("enable_metadata_routing", False)
    last, on_some_rows, by_themselves = FinalClassifier.of(copy).estimator, list[str](), list[str]()
    for prefix, part in _all_trained(copy):
        given, is_inner = part.get_params(deep=False), prefix.startswith(tuple(on_some_rows))
        if prefix.startswith(tuple(by_themselves)):
            continue
        if has_fit_parameter(part, "groups"):
            if part is not last and not routes:
                raise ValueError(f"{what} has {type(part).__name__}{_in(prefix)}, where groups do not reach it")
            by_themselves.append(prefix)
        elif "cv" in given and not isinstance(cv := given["cv"], str):
            by_number = cv is None or isinstance(cv, (int, np.integer))
            if not is_inner:
                cv = StratifiedGroupKFold(5 if cv is None else cv) if by_number else cv
                part.set_params(cv=held_out.folds_of(cv, rows, f"{prefix}cv of {what}"))
            elif by_number or not routes:
                raise ValueError(f"{what} has {prefix}cv={cv!r} inside what divides rows, where groups do not reach it")
        if not isinstance(part, _ON_ALL_ROWS):
            on_some_rows.append(prefix)


def refuse_settings_by_label(what: str, estimator: Estimator, classes: LabelArray, instead: str) -> None:
    """Raise ValueError if anything that is trained on class codes has a setting by label, at any depth.

    That is a ``class_weight``, for which ``instead`` says what to do, or a scorer, a ``pos_label`` or the ``constant``
    of scikit-learn's DummyClassifier with labels that are no codes.
    """
    for name, value in _settings(estimator, ("class_weight", "class_weights", "constant", "pos_label", "scoring")):
        labels: list[object] = []
        if name.endswith("scoring"):
            several = value if isinstance(value, (list, tuple)) else [value]
            scorers = list(value.values()) if isinstance(value, Mapping) else several
            labels = [label for scorer in scorers for label in _scored_labels(scorer, classes)]
        elif name.endswith(("constant", "pos_label")) and value is not None:
            labels = np.ravel(value).tolist()
        weighs = isinstance(value, Mapping) and not name.endswith("scoring")
        if weighs or not all(_is_own_code(label, classes) for label in labels):
            instead = instead if weighs else "give it none"
            raise ValueError(f"{what} has {name} by label, but it is trained on class codes: {instead}")


def refuse_other_shares(what: str, estimator: Estimator) -> None:
    """Raise ValueError if anything that an estimator trains gives the classes other shares than its rows have.

    What calibrates probabilities afterwards may hold such a classifier.
    """
    calibrated = tuple(prefix for prefix, one in all_inside(estimator) if _recalibrates(one))
    for name, value in _settings(estimator, tuple(_SHARES)):
        kind = name.rpartition(": ")[2].rpartition("__")[2]
        if not (value is None or (np.ndim(value) == 0 and value in _SHARES[kind]) or name.startswith(calibrated)):
            raise ValueError(
                f"{what} has {name}={value!r}, which gives the classes other shares than the rows have, and so "
                f"distorts probabilities: give it none, or put OrdinalCalibratedClassifier around it"
            )


def _recalibrates(estimator: Estimator) -> bool:
    return bool(getattr(estimator, "_recalibrates", isinstance(estimator, CalibratedClassifierCV)))


def _scored_labels(scorer: object, classes: LabelArray) -> list[object]:
    """Return the labels by name in a scorer of this package or scikit-learn's, also the one that counts as positive.

    The codes of all classes, in their order, name none.
    """
    if isinstance(scorer, str):
        scorer = get_scorer(scorer) if scorer in get_scorer_names() else None
    given, metric = dict(getattr(scorer, "_kwargs", {})), getattr(scorer, "_score_func", scorer)
    while isinstance(metric, partial):
        given, metric = metric.keywords | given, metric.func
    labels = given.get("labels", getattr(scorer, "labels", None))
    named = [] if labels is None else as_array(labels, name="labels").tolist()
    if named == list(range(len(classes))):
        named = []
    positive = given.get("pos_label")
    if "pos_label" not in given and len(classes) == 2 and callable(metric):  # one without being named
        default = inspect.signature(metric).parameters.get("pos_label")
        positive = default.default if default is not None and default.default in classes.tolist() else None
    return named if positive is None else [*named, positive]


def _is_own_code(label: object, classes: LabelArray) -> bool:
    """Return whether the label of a class is also its code."""
    return any(label == code == own for code, own in enumerate(classes.tolist()))


def weighs_costs(estimator: Estimator) -> bool:
    """Return whether an estimator's probabilities are those of a model with a training cost, not calibrated since.

    A fitted one has those of its fit, so what is trained anew must be given as a clone.
    """
    if isinstance(estimator, FrozenEstimator):
        return weighs_costs(estimator.estimator)
    if _recalibrates(estimator):
        return False
    if isinstance(estimator, ordinal_classifier.OrdinalClassifier):
        if estimator.__sklearn_is_fitted__():
            return isinstance(estimator.trained_spec().loss, CostWeighted)
        try:
            return isinstance(get_loss(estimator.loss, estimator.link, estimator.training_cost), CostWeighted)
        except (TypeError, ValueError):  # fit says what is wrong
            return False
    if hasattr(estimator, "best_estimator_"):
        return weighs_costs(estimator.best_estimator_)
    return any(
        not (isinstance(cost, str) and cost == "absolute") for _, cost in _searched(estimator, ("training_cost",))
    ) or any(weighs_costs(inner) for _, inner in inner_estimators(estimator))


def _settings(estimator: Estimator, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield name and value of some parameters, of all that an estimator trains; searches set some."""
    for name, value in _given(estimator):
        if name.rpartition("__")[2] in names:
            yield name, value
    yield from _searched(estimator, names)


def _given(estimator: Estimator) -> Iterable[tuple[str, Any]]:
    """Return name and value of all parameters; none of an estimator that has no ``get_params``."""
    is_one = hasattr(estimator, "get_params") and not isinstance(estimator, type)
    return estimator.get_params().items() if is_one else ()


def _searched(estimator: Estimator, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield name and value of some parameters that searches, at any depth, may set."""
    for name, grids in _given(estimator):
        if name.rpartition("__")[2] in _GRIDS:
            yield from _in_grids(name, grids, names)


def _in_grids(name: str, grids: Any, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the same of what a search is given, which may be estimators, lists of named ones, and other grids."""
    for grid in [grids] if isinstance(grids, Mapping) else grids:
        for searched, values in grid.items():
            kind, place = searched.rpartition("__")[2], f"{name}: {searched}"
            for value in values if np.iterable(values) else [values]:  # or a distribution
                if kind in names:
                    yield place, value
                elif kind in _GRIDS:
                    yield from _in_grids(place, value, names)
                else:
                    for entry in value if isinstance(value, (list, tuple)) else [value]:
                        yield from _settings(entry[1] if isinstance(entry, tuple) and entry[1:] else entry, names)


@dataclass(frozen=True)
class FittedMember:
    """A fitted classifier inside another.

    Attributes
    ----------
    estimator : object
    columns : ndarray of int32, shape (n_columns,)
        Class code of each column of its probabilities. Classifiers of this package have a column for each class, others
        for those that had rows.
    """

    estimator: Estimator
    columns: IntArray

    @classmethod
    def trained(cls, estimator: Estimator, codes: IntArray) -> FittedMember:
        """Return a classifier that was trained on the labels 0, 1, ..., given the class code of each."""
        known = np.asarray(estimator.classes_)
        if not np.isin(known, np.arange(len(codes))).all():
            raise ValueError(
                f"{type(estimator).__name__} was trained on class codes from 0 to {len(codes) - 1}; its classes_ are "
                f"{known.tolist()}"
            )
        return cls(estimator, codes[known.astype(np.intp)])

    # The booster of XGBoost's or LightGBM's own classifier asks for its threads while it is copied.
    @one_thread_after_fork()
    def __reduce__(self) -> tuple[object, ...]:
        return type(self).unpickled, (pickle.dumps(self.estimator), self.columns)

    @classmethod
    @one_thread_after_fork()
    def unpickled(cls, estimator: bytes, columns: IntArray) -> FittedMember:
        """Return a member whose estimator was pickled by itself."""
        return cls(pickle.loads(estimator), columns)

    @one_thread_after_fork()
    def proba(self, X: object, n_classes: int) -> FloatArray:
        """Return probabilities, (n_samples, n_classes), lowest class first; 0 for a class that had no rows."""
        own = validation.check_proba(self.estimator.predict_proba(X)).astype(np.float64)
        proba = np.zeros((len(own), n_classes))
        proba[:, self.columns] = own
        proba /= proba.sum(axis=1, keepdims=True)
        return proba


class ClassifierOfClassifiers(OrderedClassifier):
    """A classifier whose probabilities are made of those of others."""

    _takes_soft = True

    def _check_features(self, X: object, *, reset: bool) -> Any:
        """Count rows and features, and keep the features' names; what they may hold is for the classifiers inside.

        Texts, one a row, and other entries that are no numbers may come as a list, a series or an array.
        """
        validation.refuse_masked(X, name="X")
        X, least = _as_numbers(validation.collected(X)), 2 if reset else 1
        shape = () if issparse(X) else getattr(X, "shape", ())
        is_number = getattr(getattr(X, "dtype", None), "kind", "O") in tuple("biufc")
        is_flat = isinstance(X, (list, tuple)) or (len(shape) == 1 and not is_number)
        if hasattr(X, "columns"):
            arguments.validate_columns(self, X, reset=reset, skip_check_array=True)
        elif not is_flat:
            options = {"accept_sparse": "csr", "dtype": None, "ensure_all_finite": False, "allow_nd": True}
            return arguments.validate_columns(self, X, reset=reset, ensure_min_samples=least, **options)
        elif reset:
            arguments.keep_names(self)
            self.__dict__.pop("n_features_in_", None)  # of an earlier fit
        if held_out.n_rows(X) < least:
            raise ValueError(f"X must have at least {least} row(s); got {held_out.n_rows(X)} sample(s)")
        return X

    @abstractmethod
    def _proba(self, X: object) -> FloatArray:
        """Return the probabilities of checked features, (n_samples, n_classes), lowest class first."""

    @documented
    def predict_proba_ordered(self, X: object, **start: ArrayLike | None) -> FloatArray:
        """Return the class probabilities P(y = k | x), columns from the lowest class to the highest.

        Parameters
        ----------
        <<X>>
        **start
            Refused: start scores belong to the classifiers inside.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = self._check_features(X, reset=False)
        arguments.start_scores(start, None, held_out.n_rows(X), type(self).__name__)
        return self._proba(X)

    @documented
    def predict_cumulative_proba(self, X: object, **start: ArrayLike | None) -> FloatArray:
        """Return P(y <= k | x) for all classes but the highest, lowest first.

        Parameters
        ----------
        <<X>>
        **start
            Refused: start scores belong to the classifiers inside.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes - 1)
        """
        return np.minimum(np.cumsum(self.predict_proba_ordered(X, **start), axis=1)[:, :-1], 1.0)


def _as_numbers(X: Any) -> Any:
    """Return a list of numbers, or of lists of them, as an array, and anything else as it is."""
    if not isinstance(X, (list, tuple)):
        return X
    try:
        array = np.asarray(X)
    except ValueError:  # entries of several lengths
        return X
    if array.dtype.kind in "biufc":
        return array
    are_numbers = array.dtype.kind == "O" and all(isinstance(x, (*tables.NUMBERS, type(None))) for x in array.ravel())
    return array if array.ndim > 1 and are_numbers else X
