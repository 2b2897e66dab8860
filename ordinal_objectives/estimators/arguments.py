"""Arguments of ``fit`` and of predictions: evaluation sets, start scores, keywords that belong elsewhere, callbacks."""

from __future__ import annotations

import difflib
import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ordinal_objectives import tables
from ordinal_objectives.aliases import ArrayLike, Estimator, FloatArray, Params, Table
from ordinal_objectives.utils.validation import check_start_score

_GIVE_ROWS = "validation_fraction, or eval_set to fit"


class GivenSets(NamedTuple):
    """Evaluation sets, as ``fit`` was given them.

    Attributes
    ----------
    pairs : list of (X, y) or None
    weights, weights_name : list or None, str
    starts, starts_name : list or None, str
        Scores that the trees' are added to.
    """

    pairs: object
    weights: Iterable[ArrayLike | None] | None
    weights_name: str
    starts: Iterable[ArrayLike | None] | None = None
    starts_name: str = ""

    @classmethod
    def of_one(cls, X_val: object, y_val: ArrayLike | None, sample_weight_val: ArrayLike | None) -> GivenSets:
        """Return one set or none, as scikit-learn spells it; raise ValueError if a part of it is missing."""
        parts = {"X_val": X_val, "y_val": y_val}
        missing = [name for name, part in parts.items() if part is None]
        if len(missing) == 1 or (missing and sample_weight_val is not None):
            raise ValueError(f"X_val and y_val go together, and with sample_weight_val; {missing[0]} is None")
        one = [] if missing else [(X_val, y_val)]
        return cls(one, None if sample_weight_val is None else [sample_weight_val], "sample_weight_val")

    def each(self) -> list[tuple[object, ArrayLike, ArrayLike | None]]:
        """Return features, labels and weights of each set; raise ValueError if they are none."""
        pairs = evaluation_pairs(self.pairs)
        weights = one_for_each(self.weights, pairs, self.weights_name)
        return [(X, y, weight) for (X, y), weight in zip(pairs, weights, strict=True)]


def evaluation_pairs(eval_set: object) -> list[tuple[object, ArrayLike]]:
    """Return ``eval_set`` as a list of (X, y) pairs.

    Raises
    ------
    ValueError
        If it is none.
    """
    if eval_set is None:
        return []
    is_pair = isinstance(eval_set, tuple) and not all(isinstance(part, tuple) for part in eval_set)
    if not isinstance(eval_set, Iterable):
        raise ValueError(f"eval_set must be a list of (X, y) pairs; got {eval_set!r}")
    pairs = [eval_set] if is_pair else list(eval_set)
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(f"eval_set must be a list of (X, y) pairs; got an entry of type {type(pair).__name__}")
    return [(X, y) for X, y in pairs]


def one_for_each(values: Iterable[Any] | None, sets: Sequence[object], name: str) -> list[Any]:
    """Return ``values`` as a list as long as ``sets``, or raise ValueError."""
    each = [None] * len(sets) if values is None else list(values)
    if len(each) != len(sets):
        raise ValueError(f"{name} must have one entry for each of {len(sets)} sets; got {len(each)}")
    return each


def either_spelling(eval_set: object, eval_X: object, eval_y: object) -> Any:
    """Return the pairs of ``eval_set``, or those that LightGBM's ``eval_X`` and ``eval_y`` spell.

    Raises
    ------
    ValueError
        If both are given, or a part is missing.
    """
    if eval_X is None and eval_y is None:
        return eval_set
    if eval_set is not None:
        raise ValueError("eval_set and eval_X, eval_y say the same thing; give one of them")
    if eval_X is None or eval_y is None:
        missing = "eval_X" if eval_X is None else "eval_y"
        raise ValueError(f"eval_X and eval_y go together; {missing} is None")
    if not (isinstance(eval_X, tuple) or isinstance(eval_y, tuple)):
        return [(eval_X, eval_y)]
    if not (isinstance(eval_X, tuple) and isinstance(eval_y, tuple) and len(eval_X) == len(eval_y)):
        raise ValueError("eval_X and eval_y must be tuples of one length, or neither a tuple")
    return list(zip(eval_X, eval_y, strict=True))


def check_rounds(name: str, rounds: object, n_sets: int, instead: str = _GIVE_ROWS) -> None:
    """Check the number of rounds without a better value after which a training stops; None and 0 never stop it.

    ``instead`` names the arguments to pass where there is no evaluation set.

    Raises
    ------
    TypeError, ValueError
        If it is not such a number, or there is no evaluation set.
    """
    if rounds is None:
        return
    message = f"{name} must be an integer of at least 0 or None; got {rounds!r}"
    if isinstance(rounds, bool) or not isinstance(rounds, (int, np.integer)):
        raise TypeError(message)
    if rounds < 0:
        raise ValueError(message)
    if rounds > 0 and n_sets == 0:
        raise ValueError(f"{name}={rounds} needs rows to look at: give {instead}; got none")


@contextmanager
def all_or_nothing(estimator: Estimator) -> Iterator[None]:
    """Put every attribute back if the body raises: a failed ``fit`` or ``load_model`` leaves the model as it was."""
    before = estimator.__dict__.copy()
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise


class ParameterNames(NamedTuple):
    """The names of a library, beside those that constructor and ``fit`` spell out, and what becomes of them.

    Attributes
    ----------
    of_library : frozenset of str
        Parameters of the library below, which gets them.
    same : mapping of str to sequence of str
        All names of a parameter in the library below, by the one that is used here. Of several that are given the first
        one counts.
    renamed : mapping of str to str
        Names of other libraries, or of arguments of ``fit``, and what they are called here.
    refused : mapping of str to str
        Those that cannot be set beside an ordinal loss, and why.
    refused_by_fit : mapping of str to str
        Arguments of the library's ``fit``, and what to do instead.
    refused_by_predict : mapping of str to str
        The same of its predictions.
    rounds : tuple of str
        Arguments of its predictions: a range of rounds, or where it begins and how many there are.
    takes_more_rounds : bool
        Whether there they may be more than the model has: it keeps none after the best one.
    attributes : mapping of str to str
        Attributes of the library's classifier after ``fit``, and where they are found here.
    no_attributes : mapping of str to str
        Those that are not here, and why or what is there instead.
    neutral : mapping of str to tuple
        Values of refused names, beside None, that say what is so without them; False where nothing else is said.
    library_warns : bool
        Whether the library below warns of names that it does not know.
    """

    of_library: frozenset[str] = frozenset()
    same: Mapping[str, Sequence[str]] = MappingProxyType({})
    renamed: Mapping[str, str] = MappingProxyType({})
    refused: Mapping[str, str] = MappingProxyType({})
    refused_by_fit: Mapping[str, str] = MappingProxyType({})
    refused_by_predict: Mapping[str, str] = MappingProxyType({})
    rounds: tuple[str, ...] = ()
    takes_more_rounds: bool = False
    attributes: Mapping[str, str] = MappingProxyType({})
    no_attributes: Mapping[str, str] = MappingProxyType({})
    neutral: Mapping[str, tuple[object, ...]] = MappingProxyType({})
    library_warns: bool = False

    def so_anyway(self, name: str, value: object) -> bool:
        """Return whether a value of a refused name says what is so without it."""
        return value is None or (value in self.neutral[name] if name in self.neutral else value is False)

    def refused_by_predictions(self) -> dict[str, str]:
        """Return the arguments that predictions refuse, those of any library among them, and what is there instead."""
        return {name: why for name, why in {**_ELSEWHERE, **self.refused_by_predict}.items() if name not in self.rounds}


NO_NAMES = ParameterNames()
# Arguments that predictions of XGBoost's and LightGBM's own classifiers take, and what is there instead.
_ELSEWHERE = {
    **dict.fromkeys(
        ("iteration_range", "ntree_limit", "num_iteration", "start_iteration"),
        "staged_predict and staged_predict_proba yield the predictions of every iteration",
    ),
    **dict.fromkeys(("output_margin", "raw_score"), "predict_raw returns the score"),
    **dict.fromkeys(
        ("pred_contrib", "pred_contribs", "pred_interactions"),
        "booster_.predict, which takes it, and inspection.shap_values explain the score",
    ),
    "pred_leaf": "apply returns the leaves, where the classifier has it, and booster_.predict(..., pred_leaf=True)",
    "sample_weight": "weights belong to fit and score",
}


def start_scores(
    given: Mapping[str, Any], name: str | None, n_samples: int, owner: str, names: ParameterNames = NO_NAMES
) -> FloatArray:
    """Return the scores that the trees' are added to, (n_samples,).

    Parameters
    ----------
    given : mapping
        Keyword arguments of a prediction.
    name : str or None
        Name of the start scores in the library; None if it has none.
    n_samples : int
    owner : str
        Name of the classifier.
    names : ParameterNames
        Of the classifier; what asks for some of the rounds is left to :func:`first_rounds`.

    Raises
    ------
    TypeError
        If there is an argument of another name.
    ValueError
        If the scores are not one finite number a row.
    """
    hints = names.refused_by_predictions()
    empty = [other for other in hints if names.so_anyway(other, given.get(other))]
    for other in (other for other in given if other not in (name, *names.rounds, *empty)):
        *first, last = ("X", name, *names.rounds)
        allowed = "only X" if name is None else f"{', '.join(map(str, first))} and {last}"
        hint = hints.get(other, "")
        hint = f"; {hint}" if hint and (name is not None or "booster_" not in hint) else ""
        value = given[other]
        got = f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)
        raise TypeError(f"predictions of {owner} take {allowed}; got {other}={got}{hint}")
    score = None if name is None else check_start_score(given.get(name), n_samples, name=name)
    return np.zeros(n_samples) if score is None else score


def first_rounds(given: Mapping[str, Any], names: ParameterNames, n_iter: int, most: int) -> int:
    """Return after how many rounds a prediction is asked for; ``n_iter`` where nothing is said.

    Parameters
    ----------
    given : mapping
        Keyword arguments of a prediction.
    names : ParameterNames
    n_iter, most : int
        How many rounds the model uses, and of how many there are thresholds.

    Raises
    ------
    ValueError
        If it is not asked for the first rounds.
    """
    if not any(given.get(name) for name in names.rounds):
        return n_iter
    parts = [part for name in names.rounds for part in np.ravel(given.get(name) or 0).tolist()]
    start, stop = parts if len(parts) == 2 else (0, None)
    if names.takes_more_rounds and isinstance(stop, int):
        stop = n_iter if stop <= 0 else min(stop, n_iter)
    if start != 0 or not isinstance(stop, int) or not 0 <= stop <= most:
        asked = ", ".join(f"{name}={given[name]!r}" for name in names.rounds if name in given)
        raise ValueError(
            f"{' and '.join(names.rounds)} must ask for rounds from 0 to one of 1..{most}, since thresholds belong to "
            f"the scores of all rounds before; got {asked}"
        )
    return stop or n_iter


def explains_keywords[Fit: Callable[..., Any]](fit: Fit) -> Fit:
    """Make ``fit`` explain in its TypeError where a keyword that it does not take belongs.

    An estimator's ``_parameter_names`` are :class:`ParameterNames`, if it has any.
    """
    known = list(inspect.signature(fit).parameters)

    @functools.wraps(fit)
    def explained(self: object, *args: object, **keywords: object) -> Any:
        names: ParameterNames = getattr(self, "_parameter_names", NO_NAMES)
        empty = [name for name in names.refused_by_fit if names.so_anyway(name, keywords.get(name))]
        asked = {name: value for name, value in keywords.items() if name in known or name not in empty}
        for name in (name for name in asked if name not in known):
            kind = type(self)
            raise TypeError(f"{kind.__name__}.fit takes no {name!r}{_hint(kind, known, name)}")
        return fit(self, *args, **asked)

    return cast(Fit, explained)


def _hint(kind: Any, known: list[str], name: str) -> str:
    names: ParameterNames = getattr(kind, "_parameter_names", NO_NAMES)
    hints = {**names.refused, **names.refused_by_fit}
    if name in hints:
        return f": {hints[name]}"
    parameters = inspect.signature(kind).parameters.values()
    own = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]
    own_name, _, condition = names.renamed.get(name, name).partition(" ")
    if own_name in {*own, *names.of_library}:
        return f": it belongs to the constructor, {kind.__name__}({own_name}=...) {condition}".rstrip()
    near = near_name(name, known, own)
    return f"; did you mean {near!r}?" if near else ""


def near_name(name: str, *groups: Iterable[str]) -> str | None:
    """Return the name that a misspelt one may mean, of the first group that has one.

    The cutoff is strict: a name of another library is often unlike the right one here, and like a wrong one.
    """
    matches = (difflib.get_close_matches(name, sorted(group), n=1, cutoff=0.84) for group in groups)
    return next((found[0] for found in matches if found), None)


def validate_columns(estimator: Estimator, X: object, *, reset: bool, **options: Any) -> Table:
    """Return what scikit-learn's ``validate_data`` does, which knows no names but text; numbers keep their order."""
    try:
        checked = validate_data(estimator, X, reset=reset, **options)
    except ValueError as error:
        if "must be in the same order" not in str(error):
            raise
        raise ValueError(f"{str(error).rstrip()} Pass X[list(model.feature_names_in_)]") from None
    if reset:
        # scikit-learn keeps the names that it knows, which depends on its version and the kind of table.
        text = getattr(estimator, "feature_names_in_", None)
        keep_names(estimator, text, None if tables.column_names(X) else tables.names_as_text(X))
    else:
        known = getattr(estimator, "_column_numbers", getattr(estimator, "feature_names_in_", None))
        tables.refuse_other_order(known, X)
    return checked


def check_features(estimator: Estimator, X: object, hint: str, *, reset: bool, names_are_known: bool = False) -> Table:
    """Check X; data frames and Arrow tables pass as they are: the library below sees categories and names.

    ``hint`` says what to do with columns of text and dates. Where ``names_are_known``, they are not compared.
    """
    X, least = tables.as_table(X), 2 if reset else 1
    if hasattr(X, "columns") and not names_are_known:
        validate_columns(estimator, X, reset=reset, skip_check_array=True)
    tables.refuse_text_and_dates(X, hint=hint)
    if not hasattr(X, "columns"):
        types = [np.float64, np.float32]
        options = {"accept_sparse": "csr", "ensure_all_finite": False, "dtype": types, "ensure_min_samples": least}
        return validate_columns(estimator, X, reset=reset, **options)
    if X.shape[0] < least or X.shape[1] == 0:
        raise ValueError(
            f"X must have at least {least} row(s) and one column; got {X.shape[0]} sample(s) and "
            f"{X.shape[1]} feature(s)"
        )
    return X


def store_constructor_arguments(estimator: Estimator, given: Params) -> None:
    """Store what a constructor was given, its ``locals()``, each argument under its own name, as scikit-learn asks."""
    estimator.__dict__ |= {name: value for name, value in given.items() if name not in ("self", "__class__")}


def class_with_constructor(kind: type[Any]) -> Any:
    """Return the class here whose constructor keeps its arguments; subclasses and mixins may have their own."""
    here = [one for one in kind.__mro__ if one.__module__.startswith("ordinal_objectives.")]
    return next(one for one in reversed(here) if issubclass(one, BaseEstimator) and "__init__" in vars(one))


@functools.cache
def _kept_names(kind: type[Any]) -> tuple[str, ...]:
    given = inspect.signature(class_with_constructor(kind)).parameters.values()
    return tuple(p.name for p in given if p.kind is not p.VAR_KEYWORD)


def constructor_arguments(estimator: Estimator) -> Params:
    """Return what is kept of the arguments of that constructor, whether or not a subclass names them."""
    kind: Any = type(estimator)
    return {name: getattr(estimator, name) for name in _kept_names(kind)}


def names_of_constructors(kind: type[Any], own: Iterable[str]) -> list[str]:
    """Return the names of a constructor, and of its parents' as far as it passes arguments on to them."""
    names = set(own)
    for one in kind.__mro__:
        if "__init__" in vars(one):
            given = inspect.signature(vars(one)["__init__"]).parameters.values()
            names |= {p.name for p in given if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
            if one is class_with_constructor(kind) or not any(p.kind is p.VAR_KEYWORD for p in given):
                break  # what keeps its arguments passes none on
    return sorted(names - {"self"})


def keep_names(estimator: Estimator, text: Iterable[str] | None = None, numbers: Sequence[str] | None = None) -> None:
    """Keep the names of the training's columns, or the text of those that are numbers, and forget an earlier fit's."""
    names = {"feature_names_in_": None if text is None else np.array(text, dtype=object), "_column_numbers": numbers}
    estimator.__dict__ = {name: value for name, value in vars(estimator).items() if name not in names}
    estimator.__dict__ |= {name: found for name, found in names.items() if found is not None}


def only_reads(callback: object, own: tuple[type, ...]) -> bool:
    """Return whether a callback changes no parameter: one of the library's ``own``, or one that says so of itself."""
    return type(callback) in own or getattr(callback, "only_reads", False) is True


class Schedules(NamedTuple):
    """Callbacks that change parameters: the library's own, and the names of those that may change some."""

    known: list[Any]
    unknown: list[str]

    @classmethod
    def among(cls, callbacks: list[Any], own: tuple[type, ...], schedule: type) -> Schedules:
        """Return those among callbacks; see :func:`only_reads`. ``schedule`` is the type of the library's own."""
        others = [callback for callback in callbacks if not only_reads(callback, own)]
        unknown = [callback for callback in others if type(callback) is not schedule]
        names = [getattr(callback, "__name__", type(callback).__name__) for callback in unknown]
        return cls([callback for callback in others if type(callback) is schedule], names)

    def warn_of_unknown(self) -> None:
        """Warn of callbacks that may change parameters, where some of the rows are trained on first.

        Such a training must change them too, and what a callback of somebody else's does it cannot know.
        """
        if self.unknown:
            warnings.warn(
                f"callbacks holds {', '.join(self.unknown)}, which n_estimators='auto' does not call where it trains "
                f"on some of the rows. If it changes parameters, pass n_estimators as a number; if it does not, give "
                f"it an attribute only_reads = True",
                stacklevel=2,
            )


def smallest_rate(rate: float, first_rates: Iterable[float]) -> float:
    """Return the smaller of a learning rate and the positive ones with which schedules begin."""
    return min([rate, *(first for first in first_rates if first > 0)])
