"""What inspections share: the classifier in a pipeline, columns and their values, and copies that are trained again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack, issparse
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives import tables
from ordinal_objectives.aliases import (
    ArrayLike,
    BoolArray,
    Column,
    Estimator,
    FloatArray,
    IndexArray,
    LabelArray,
    Level,
    Params,
    RealArray,
    Table,
)
from ordinal_objectives.columns import are_missing, as_dictionary
from ordinal_objectives.estimators import held_out, labels, wrappers
from ordinal_objectives.utils.validation import as_floats, check_integer, collected, drawn_seed, seeds_of


def check_groups(groups: ArrayLike | None, n_samples: int) -> IndexArray | None:
    """Return groups as numbers, (n_samples,), or None; raise ValueError unless there are at least two."""
    found = held_out.check_groups(groups, n_samples)
    if found is not None and (n_groups := len(np.unique(found))) < 2:
        raise ValueError(f"groups must name at least two groups of rows with weight; got {n_groups}")
    return found


def unwrapped(estimator: Estimator) -> tuple[Estimator, Callable[[Any], Any]]:
    """Return the classifier in which a pipeline or a search ends, and what makes its features of theirs."""
    if hasattr(estimator, "best_estimator_"):
        return unwrapped(estimator.best_estimator_)
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        model, prepared = unwrapped(estimator[-1])
        return model, lambda X: prepared(estimator[:-1].transform(X))
    if isinstance(estimator, Pipeline):
        return unwrapped(estimator[-1])
    if isinstance(estimator, BaseEstimator):  # whatever else has linear predictors will do
        check_is_fitted(estimator)
    return estimator, lambda X: X


def feature_names(estimator: Estimator, X: object) -> list[str]:
    """Return the names of the columns of X, or else those of the training; an empty list where there are none."""
    names = tables.names_as_text(X)
    if names is None:
        names = getattr(estimator, "feature_names_in_", None)
    return [] if names is None else [str(name) for name in names]


def name_of(estimator: Estimator, X: object, feature: int | str) -> str:
    """Return the name of a feature that is given by it or by its column; "feature 0", ... where there are no names."""
    names = feature_names(estimator, X)
    return feature if isinstance(feature, str) else names[feature] if names else f"feature {feature}"


def column_of(estimator: Estimator, X: Table, feature: int | str) -> int:
    """Return the number of a column given by its number or name; raise ValueError if there is none."""
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool) and 0 <= feature < X.shape[1]:
        return int(feature)
    names = feature_names(estimator, X)
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    named = f" or one of {', '.join(map(repr, names))}" if names else ""
    raise ValueError(f"feature must be a column from 0 to {X.shape[1] - 1}{named}; got {feature!r}")


def names_of_model(estimator: Estimator, model: Estimator) -> list[str]:
    """Return names of the features that the classifier at the end of an estimator is given."""
    estimator, names = getattr(estimator, "best_estimator_", estimator), getattr(model, "feature_names_in_", None)
    if names is None and isinstance(estimator, Pipeline) and len(estimator) > 1:
        try:
            names = estimator[:-1].get_feature_names_out()
        except (AttributeError, ValueError):  # a step that does not know them
            names = None
    if names is not None and len(names) == model.n_features_in_:
        return [str(name) for name in names]
    return [f"feature {column}" for column in range(model.n_features_in_)]


def as_rows(X: object) -> Table:
    """Return X such that its columns can be replaced."""
    given = collected(X)
    return given.tocsr() if issparse(given) else given if hasattr(given, "columns") else np.asanyarray(given)


def _column(X: Table, column: int) -> Column:
    return X[:, [column]].toarray().ravel() if issparse(X) else tables.column_at(X, column)


def with_column_of(X: Table, column: int, rows: IndexArray) -> Table:
    """Return X with the values of one column taken from the given rows, in their order."""
    if issparse(X):
        return with_column(X, column, X[rows][:, [column]])
    values = _column(X, column)
    return with_column(X, column, values.gather(rows) if hasattr(values, "gather") else values.take(rows))


def with_column(X: Table, column: int, values: Column, stores_zeros: bool = True) -> Table:
    """Return X with other values of one column: numbers, (n_samples,), or what is taken from a table of its kind."""
    if hasattr(X, "columns"):
        return tables.with_columns(X, {column: values})
    if issparse(X):
        if not issparse(values):
            stored = np.flatnonzero((values != 0.0) | stores_zeros)
            places = stored, np.zeros(len(stored), dtype=np.intp)
            values = csr_matrix((values[stored], places), shape=(len(values), 1))
        return hstack([X[:, :column], values, X[:, column + 1 :]], format="csr")
    array: LabelArray = np.asanyarray(X)
    changed = array.astype(np.result_type(array.dtype, values.dtype))
    changed[:, column] = values
    return changed


def over_grid(
    estimator: Estimator, X: object, feature: int | str, grid_resolution: int, categorical_features: ArrayLike | None
) -> tuple[LabelArray, Iterator[Table]]:
    """Return values of a feature, and X with each of them in all rows."""
    X = as_rows(X)
    grid_resolution = check_integer("grid_resolution", grid_resolution, 2)
    column = column_of(estimator, X, feature)
    values, rows = (
        categories(estimator, X, column, feature, grid_resolution)
        if holds_categories(estimator, X, column, categorical_features)
        else grid(numbers(estimator, X, column, feature), grid_resolution)
    )
    return values, (with_column_of(X, column, np.full(X.shape[0], row)) for row in rows)


def holds_categories(estimator: Estimator, X: Table, column: int, categorical_features: ArrayLike | None) -> bool:
    """Tell whether a column holds categories: by its type, or else as ``categorical_features`` says.

    Where that is None, the numbers of a column are categories if the estimator is the classifier itself, without steps
    before it, and takes them for some, or for groups of a random intercept.
    """
    if _kind(X, column) in ("category", "text"):
        return True
    if categorical_features is not None:
        return column in tables.places_of(X, categorical_features)
    model = getattr(estimator, "best_estimator_", estimator)
    by_category = getattr(model, "is_categorical_", None)
    groups = [group.place for group in getattr(model, "_groups", ())]
    return column in groups or (by_category is not None and bool(by_category[column]))


def _kind(X: Table, column: int) -> str:
    return next((kind for i, (_, _, kind) in enumerate(tables.column_kinds(X)) if i == column), "number")


def _first_rows(values: Column, counted: BoolArray | None = None) -> dict[Level, int]:
    """Return the first row that has each value of a column, of those that are counted, without missing ones."""
    first: dict[Level, int] = {}
    for row, value in enumerate(np.asarray(values, dtype=object).tolist()):
        if not labels.is_missing(value) and (counted is None or counted[row]):
            first.setdefault(value, row)
    return first


def numbers(estimator: Estimator, X: Table, column: int, feature: int | str) -> FloatArray:
    """Return one column, (n_samples,), NaN where it is missing to the classifier."""
    found = as_floats(_column(X, column), name=f"feature {feature!r}")
    return np.where(_missing_to_xgboost(estimator, X, column, found), np.nan, found)


def with_numbers(
    estimator: Estimator, X: Table, column: int, feature: int | str, values: FloatArray, start: FloatArray, zeros: bool
) -> Table:
    """Return X with numbers in a column that were moved from others, none of them missing to the classifier.

    What lands on its ``missing`` is the next number in float32, back to where it came from.
    """
    moved = with_column(X, column, values, zeros)
    is_mark = np.isnan(numbers(estimator, moved, column, feature)) & ~np.isnan(values)
    if not is_mark.any():
        return moved
    beside = np.nextafter(values.astype(np.float32), start.astype(np.float32)).astype(np.float64)
    return with_column(X, column, np.where(is_mark, beside, values), zeros)


def stores_zeros(X: Table, column: int, values: FloatArray) -> bool:
    """Tell whether a table has zeros of a column stored, of which :func:`numbers` returns the values.

    XGBoost tells zeros that are stored from those that are not, which count as 0 where a sparse column has one value.
    """
    return not issparse(X) or not np.any(values[np.isnan(tables.column_at(X, column))] == 0.0)


def _missing_to_xgboost(estimator: Estimator, X: Table, column: int, values: FloatArray) -> BoolArray:
    """Tell where a column of numbers holds the classifier's ``missing``, or a sparse matrix stores nothing.

    The number means missing in the features of a pipeline too, whose steps are to keep it. A sparse column that stores
    one value shows which rows have it: what it does not store is the other value, 0.
    """
    model, prepared = unwrapped(estimator)
    host = getattr(model, "_host", None)
    number = None if host is None else host.missing_value(model)
    if host is not None and host.zero_is_missing(model.booster_):
        raise ValueError(
            "estimator must not take 0 for a missing value: train it without zero_as_missing, on NaN for 0"
        )
    if number is None:
        return np.zeros(len(values), dtype=bool)
    is_mark = are_missing(values, number)
    if issparse(X) and issparse(prepared(held_out.take_rows(X, np.arange(1)))):
        stored = tables.column_at(X, column)
        is_mark &= ~np.isnan(stored)
        known = stored[np.isfinite(stored) & ~is_mark]
        return is_mark | (np.isnan(stored) & (len(np.unique(known)) > 1))
    return is_mark


def categories(
    estimator: Estimator, X: Table, column: int, feature: int | str, most: int
) -> tuple[LabelArray, IndexArray]:
    """Return the categories that occur in a column, in their own order or sorted, and a row that has each."""
    values = _column(X, column)
    dictionary = as_dictionary(values)
    order = getattr(getattr(values, "dtype", None), "categories", None)
    order = order if dictionary is None else dictionary.dictionary.to_pylist()
    is_number = _kind(X, column) == "number"
    counted = ~np.isnan(numbers(estimator, X, column, feature)) if is_number else None
    first = _first_rows(values, counted)
    known = sorted(first) if order is None else [label for label in dict.fromkeys(order) if label in first]
    if not 0 < len(known) <= most:
        raise ValueError(
            f"feature {feature!r} must have between 1 and grid_resolution={most} categories in X; it has {len(known)}"
        )
    return np.array([*known, None], dtype=object)[:-1], np.array([first[label] for label in known])


def grid(column: FloatArray, resolution: int) -> tuple[LabelArray, IndexArray]:
    """Return values of a column, increasing, and a row that has each."""
    values, rows = np.unique(column, return_index=True)
    values, rows = values[np.isfinite(values)], rows[np.isfinite(values)]
    if len(values) == 0:
        raise ValueError("feature must hold a finite number in X; it holds none")
    if len(values) > resolution:
        low, high = np.quantile(column[np.isfinite(column)], [0.05, 0.95])
        right = np.searchsorted(values, np.linspace(low, high, resolution)).clip(1, len(values) - 1)
        wanted = np.linspace(low, high, resolution)
        nearest = np.unique(np.where(wanted - values[right - 1] < values[right] - wanted, right - 1, right))
        values, rows = values[nearest], rows[nearest]
    return values, rows


def trained_again(
    estimator: Estimator,
    X: object,
    y: ArrayLike,
    weight: RealArray | None,
    random: np.random.RandomState | None,
    *,
    own_rounds: bool = False,
    groups: IndexArray | None = None,
    fit_params: Params | None = None,
    **params: object,
) -> Estimator:
    """Return a copy of an estimator, with a seed of its own and other parameters of its last step, fitted.

    Without ``random`` it keeps the seeds of the estimator. ``groups`` are for what divides rows itself. ``fit_params``
    are other keywords of the last step's ``fit``. With ``own_rounds`` the copy of a fitted estimator trains as many
    rounds as that did, however it found them.
    """
    copy, (last, path) = clone(estimator), wrappers.last_step(estimator)
    seeds = {} if random is None else seeds_of(copy, drawn_seed(random))
    rounds = last.rounds_of_copies() if own_rounds and hasattr(last, "rounds_of_copies") else {}
    copy.set_params(**seeds, **{path + key: value for key, value in (rounds | params).items()})
    given = dict(fit_params or {}) | ({} if groups is None else {"groups": groups})
    return copy.fit(X, y, **wrappers.row_keywords("estimator", copy, weight, **given))


def trained_on_drawn_rows(
    estimator: Estimator,
    X: Table,
    labels_of: Callable[[IndexArray], Column],
    n_copies: int,
    weight: FloatArray | None,
    random: np.random.RandomState,
    *,
    is_labelled: bool = False,
    groups: IndexArray | None = None,
    nested: Sequence[int] = (),
    fit_params: Params | None = None,
) -> Iterator[tuple[Estimator, IndexArray]]:
    """Yield copies of a fitted estimator, trained on rows or whole groups drawn with replacement, and these rows.

    ``groups`` are numbers, (n_samples,). Columns ``nested`` are those of :func:`with_nested_numbers`: where a group is
    drawn twice, their levels are others each time, and so two to the copy. ``labels_of`` returns the labels of rows;
    ``is_labelled`` says that a row has the same label each time it is drawn. Then no copy may divide rows, to find a
    number of rounds or to judge trees: those held out would be those trained on. So copies train as many rounds as the
    model, and where rows judge anyway, a row that is drawn twice is one of twice the weight.

    Raises
    ------
    ValueError
        If the model has thresholds of another population, by ``refit_thresholds``.
    """
    found, model = _origin(estimator)
    options: Params = {"own_rounds": is_labelled, "fit_params": fit_params, "classes": model.ordered_classes_}
    members: list[IndexArray] = []
    if groups is not None:
        units = np.unique(groups, return_inverse=True)[1]
        members = np.split(np.argsort(units, kind="stable"), np.cumsum(np.bincount(units))[:-1])
    for _ in range(n_copies):
        n_units = X.shape[0] if groups is None else len(members)
        rows = drawn = random.randint(n_units, size=n_units)
        times_before = np.zeros(0, dtype=np.intp)
        if groups is not None:
            rows = np.concatenate([members[unit] for unit in drawn])
            times_before = np.repeat(_times_before(drawn), [len(members[unit]) for unit in drawn])
        weights: RealArray | None = None if weight is None else weight[rows]
        if is_labelled and getattr(model, "divides_rows", bool)():
            rows, times = np.unique(rows, return_counts=True)
            times_before = np.zeros(len(rows), dtype=np.intp)
            weights = times * (1.0 if weight is None else weight[rows])
        if groups is not None:  # a group that is drawn twice is still not divided
            options["groups"] = groups[rows]
        table = held_out.take_rows(X, rows)
        for column in nested:
            numbers = as_floats(_column(table, column), name="random_intercept")
            table = with_column(table, column, numbers + X.shape[0] * times_before)
        yield trained_again(found, table, labels_of(rows), weights, random, **options), rows


def _times_before(drawn: IndexArray) -> IndexArray:
    """Return how often each entry came before."""
    order = np.argsort(drawn, kind="stable")
    place = np.arange(len(drawn))
    starts = np.maximum.accumulate(np.where(np.diff(drawn[order], prepend=-1) != 0, place, 0))
    times = np.empty_like(place)
    times[order] = place - starts
    return times


def with_nested_numbers(
    estimator: Estimator, X: Table, groups: IndexArray, feature: int | None = None
) -> tuple[Table, list[int]]:
    """Return X with numbers for levels of random intercepts that lie in one group each, and the columns of these.

    The numbers are below that of the rows; missing levels are NaN. It is for classifiers without steps before them, and
    leaves the column ``feature`` as it is.
    """
    columns = [one.place for one in getattr(getattr(estimator, "best_estimator_", estimator), "_groups", ())]
    nested = []
    for column in columns:
        values = np.asarray(_column(X, column), dtype=object).tolist()
        levels = {value: number for number, value in enumerate(_first_rows(_column(X, column)))}
        numbers = np.array([np.nan if labels.is_missing(value) else levels[value] for value in values])
        known = ~np.isnan(numbers)
        if column != feature and len(set(zip(numbers[known], groups[known], strict=True))) == len(levels):
            X = with_column(X, column, numbers)
            nested.append(column)
    return X, nested


def trained_with_weights(
    estimator: Estimator, X: Table, y: Any, weights: Iterable[FloatArray], *, fit_params: Params | None = None
) -> Iterator[Estimator]:
    """Yield copies of a fitted estimator that are trained with other weights of the rows, (n_samples,) each.

    Rows of weight 0 are left out. Copies keep the seeds of the estimator and train as many rounds as it did, so that
    they differ by their weights only.

    Raises
    ------
    ValueError
        If the model has thresholds of another population, by ``refit_thresholds``.
    """
    found, model = _origin(estimator)
    options: Params = {"own_rounds": True, "fit_params": fit_params, "classes": model.ordered_classes_}
    for weight in weights:
        rows = np.flatnonzero(weight)
        yield trained_again(
            found, held_out.take_rows(X, rows), held_out.take_rows(y, rows), weight[rows], None, **options
        )


def _origin(estimator: Estimator) -> tuple[Estimator, Estimator]:
    """Return the estimator that copies are made of, of a search its best one, and the classifier at its end."""
    found = getattr(estimator, "best_estimator_", estimator)
    model, _ = unwrapped(found)
    if np.isnan(getattr(model, "training_loss_", [0.0])[-1]):  # the loss that new thresholds leave unknown
        raise ValueError(
            "estimator has thresholds by refit_thresholds, which copies that are trained again do not have; pass the "
            "model before them"
        )
    return found, model
