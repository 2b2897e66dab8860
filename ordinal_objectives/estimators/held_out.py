"""The rows of a call, how they are divided, and the number of rounds found on rows held out."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, check_cv, train_test_split
from sklearn.utils import _safe_indexing

from ordinal_objectives.aliases import ArrayLike, FloatArray, IndexArray, IntArray, LabelArray, Params, Seed
from ordinal_objectives.estimators.labels import name_none, refuse_mixed
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.utils.arrays import as_array
from ordinal_objectives.utils.validation import check_integer, check_number, check_shape, drawn_seed

# Number of draws of whole groups; the one with class shares closest to those of all rows is taken.
_DRAWS = 20


@dataclass(frozen=True)
class Rows:
    """The rows of a call, checked, with all that goes with them. Read, never changed.

    Attributes
    ----------
    X : array, sparse matrix, data frame, Arrow table, series or list
        Features.
    codes : ndarray of int32, shape (n_samples,)
        Class codes.
    weight : ndarray of float64, shape (n_samples,), or None
    start : ndarray of float64, shape (n_samples,), or None
        Scores that the model's are added to.
    groups : ndarray of int, shape (n_samples,), or None
        Rows with the same number stay together.
    labels : OrdinalLabels, shape (n_samples,), or None
        Where rows have more than a class, or less; their codes are then those in the middle.
    """

    X: Any
    codes: IntArray
    weight: FloatArray | None = None
    start: FloatArray | None = None
    groups: IndexArray | None = None
    labels: OrdinalLabels | None = None

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def y(self) -> IntArray | OrdinalLabels:
        """What a training is given for its labels."""
        return self.codes if self.labels is None else self.labels

    @property
    def weighted(self) -> IndexArray:
        """Numbers of the rows of positive weight."""
        return np.arange(len(self)) if self.weight is None else np.flatnonzero(self.weight)

    @property
    def of_intervals(self) -> bool:
        """Whether the class of some rows lies between two, and nobody knows where."""
        return self.labels is not None and self.labels.between

    def counted(self) -> Self:
        """Return the rows of positive weight; where the others have weight 1, there are no weights left."""
        if self.weight is None:
            return self
        rows = self if self.weight.all() else self.take(self.weighted)
        return replace(rows, weight=None) if np.all(rows.weight == 1.0) else rows

    def class_weights(self, n_classes: int = 0) -> FloatArray:
        """Return the sum of the weights of each class, (n_classes,)."""
        if self.labels is not None:
            return self.labels.class_weights(self.weight)
        return np.bincount(self.codes, self.weight, n_classes).astype(np.float64, copy=False)

    @property
    def n_classes_with_weight(self) -> int:
        """Number of classes with a row of positive weight."""
        return int(np.count_nonzero(self.class_weights()))

    def bounds(self) -> tuple[IntArray, IntArray]:
        """Return the lowest and the highest code that each row may have."""
        return (self.codes, self.codes) if self.labels is None else self.labels.bounds()

    def at_most(self, n_classes: int) -> FloatArray:
        """Return the share of the answers "y <= k" of each row, (n_samples, n_classes - 1)."""
        if self.labels is None:
            return (self.codes[:, np.newaxis] <= np.arange(n_classes - 1)).astype(np.float64)
        return self.labels.at_most[self.labels.codes]

    def by_answer(self) -> Self:
        """Return a row for each answer; those of one row stay together."""
        if self.labels is None:
            return self
        row, codes, of_answers = self.labels.answers()
        weight = of_answers if self.weight is None else of_answers * self.weight[row]
        rows = replace(self, labels=None).take(row)
        return replace(rows, codes=codes, weight=weight, groups=row if rows.groups is None else rows.groups)

    def take(self, rows: IndexArray) -> Self:
        """Return some of the rows, in the given order: every field is divided."""
        return replace(self, **{field.name: take_rows(getattr(self, field.name), rows) for field in fields(self)})


def hold_out[AnyRows: Rows](
    rows: AnyRows, fraction: float | int | None, seed: int, asked: str | None = None
) -> tuple[AnyRows, AnyRows]:
    """Return rows to train on and rows held out.

    They are drawn by class where every class has two rows, and both parts have a row for each class. Rows of weight 0
    do not count in a loss: they are not held out.

    Parameters
    ----------
    rows : Rows
        No group is divided. The classes have about the same shares in both parts, as far as groups allow.
    fraction : float, int or None
        Share of the rows of positive weight that is held out, in (0, 1), or their number; with groups as near as whole
        groups allow. None holds none out: all rows are both.
    seed : int
    asked : str or None
        The argument that asks for the share, in the words of a message; None for ``validation_fraction``.

    Returns
    -------
    Rows, Rows
        Those to train on, and those held out.

    Raises
    ------
    ValueError
        If no row would be left to train on, or there are fewer than two groups.
    """
    y, groups, weighted = rows.codes, rows.groups, rows.weighted
    if fraction is None:
        return rows, rows
    n_held = fraction if isinstance(fraction, int) else math.ceil(fraction * len(weighted))
    if n_held >= len(weighted):
        asked, hint = (f"validation_fraction={fraction}", "; pass an evaluation set") if asked is None else (asked, "")
        raise ValueError(f"{asked} of {len(weighted)} rows with weight leaves none to train on{hint}")
    if groups is None:
        class_sizes = np.bincount(y[weighted])
        counts = class_sizes[class_sizes > 0]
        by_class = counts.min() >= 2 and min(n_held, len(weighted) - n_held) >= len(counts)
        stratify = y[weighted] if by_class else None
        fit, held = train_test_split(weighted, test_size=n_held, random_state=seed, stratify=stratify)
    else:
        share = n_held / len(weighted) if isinstance(fraction, int) else fraction
        held = weighted[_whole_groups(groups[weighted], y[weighted], share, seed)]
        fit = weighted[~np.isin(groups[weighted], groups[held])]
    if rows.weight is not None:
        without = np.flatnonzero(rows.weight == 0.0)
        fit = np.concatenate([fit, without if groups is None else without[~np.isin(groups[without], groups[held])]])
    return rows.take(fit), rows.take(held)


def hold_out_unless_given(
    rows: Rows, given: list[Rows], fraction: float | None, random_state: Seed
) -> tuple[Rows, list[Rows]]:
    """Return rows to train on and sets to evaluate: those given, or else a share of the rows if one is asked for."""
    share = None if fraction is None else check_fraction(fraction)
    if share is None or given:
        return rows, given
    fit, held = hold_out(rows, share, split_seed(random_state))
    return fit, [held]


def check_fraction(fraction: object) -> float:
    """Return ``validation_fraction``, or raise TypeError or ValueError unless it is a number in (0, 1)."""
    return check_number("validation_fraction", fraction, above=0.0, below=1.0)


def check_part(fraction: object) -> float | int | None:
    """Return ``validation_fraction`` as scikit-learn has it: a share of the rows, their number, or None."""
    is_number = isinstance(fraction, numbers.Integral) and not isinstance(fraction, bool)
    if is_number:
        return check_integer("validation_fraction", fraction, 1)
    return None if fraction is None else check_fraction(fraction)


def split_seed(random_state: Seed) -> int:
    """Return the seed of a split; None draws the same rows each time, as XGBoost and LightGBM do."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state) % 2**32  # XGBoost and LightGBM take negative seeds
    return 0 if random_state is None else drawn_seed(random_state)


def check_groups(groups: ArrayLike | None, n_samples: int) -> IndexArray | None:
    """Return the groups as numbers, (n_samples,), or None where there are none."""
    if groups is None:
        return None
    names = as_array(groups, name="groups")
    refuse_mixed(groups, names, name="groups")
    check_shape("groups", names, (n_samples,))
    missing = name_none(names)
    if missing.any():
        raise ValueError(f"groups must name the group of each row; {missing.sum()} row(s) have none (None, NaN or NA)")
    return np.asarray(np.unique(names, return_inverse=True)[1])


# What cv may be.
_CV = "a number of folds, or a splitter or a list of (rows to train on, rows held out), row numbers"


def folds_of(cv: object, rows: Rows, name: str = "cv") -> list[tuple[IndexArray, IndexArray]]:
    """Return the rows to train on and the rows held out of a splitter of scikit-learn, or of a list.

    Raises
    ------
    ValueError
        If ``cv`` is none of these, or divides a group.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The groups parameter is ignored", UserWarning)  # and refused below
        splits = check_cv(cv, rows.codes, classifier=True).split(rows.X, rows.codes, rows.groups)
        folds = [(np.asarray(fit), np.asarray(held)) for fit, held in splits]
    n_rows = len(rows)
    wrong = [
        part
        for part in chain(*folds)
        if part.dtype.kind not in "iu" or part.ndim != 1 or not part.size or part.min() < 0 or part.max() >= n_rows
    ]
    if wrong or not folds:
        got = np.array2string(wrong[0], threshold=5) if wrong else "no folds"
        raise ValueError(f"{name} must be {_CV} from 0 to {n_rows - 1}; got {got}")
    if rows.groups is not None and any(np.isin(rows.groups[held], rows.groups[fit]).any() for fit, held in folds):
        raise ValueError(f"{name} must keep groups whole, as GroupKFold does; got {cv!r}, which divides some")
    return folds


def _whole_groups(groups: LabelArray, y: IntArray, fraction: float, seed: int) -> IndexArray:
    """Return the rows of groups that hold about ``fraction`` of each class."""
    n_groups = len(np.unique(groups))
    if n_groups < 2:
        raise ValueError(f"groups must name at least two groups where rows are held out; got {n_groups}")
    wanted = fraction * np.bincount(y)
    size = min(max(round(fraction * n_groups), 1), n_groups - 1)
    draws = GroupShuffleSplit(_DRAWS, test_size=size, random_state=seed).split(y, groups=groups)

    def distance(held: IndexArray) -> float:
        return float(np.abs(np.bincount(y[held], minlength=len(wanted)) - wanted).sum())

    return min((held for _, held in draws), key=distance)


def n_rows(X: Any) -> int:
    """Return the number of rows of features in any container."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take_rows(part: object, rows: IndexArray) -> Any:
    """Return some rows of an array, a sparse matrix, a data frame, an Arrow table, a series or a list."""
    if part is None or isinstance(part, np.ndarray | OrdinalLabels):
        return None if part is None else part[rows]
    if hasattr(part, "take") and hasattr(part, "schema") and not hasattr(part, "lazy"):  # an Arrow table
        return part.take(rows)
    return _safe_indexing(part, rows)


AUTO = "auto"
# Rounds where "auto" does not search.
UNSEARCHED = 100
_FRACTION = 0.2
# All rows take as many more rounds than those that were trained on.
_MORE_ROUNDS = 1.0 / (1.0 - _FRACTION)
# Fewer rows than this are not divided.
_LEAST_ROWS = 10
# With fewer than so many rows so many draws of rows held out find the number of rounds together.
_ONE_DRAW, _DRAWS_OF_FEW = 100, 3
# The search ends after this much learning rate without a lower loss, or in all, within these numbers of rounds.
_PATIENCE, _PATIENCE_ROUNDS = 2.0, (10, 500)
_MOST, _MOST_ROUNDS = 100.0, (500, 10_000)
# After so much learning rate a setting must have a lower loss than the best one before it had, else it is dropped.
_TRIED = 1.5


Settings = Sequence[Params]
RATE = "learning_rate"
# A training on some of the rows: (most rounds, rounds without a lower loss after which it ends, or None, values of the
# parameters that are searched) -> weighted mean losses of the rows held out after 0, 1, ... rounds.
Trial = Callable[[int, int | None, Params], Sequence[float]]
# (rows to train on, rows held out), which are made ready for the trainer once
TrialOf = Callable[[Rows, Rows], Trial]


def is_auto(asked: object) -> bool:
    """Return whether a parameter is left to the data."""
    return isinstance(asked, str) and asked == AUTO


def rounds_unsearched(name: str, asked: object) -> int:
    """Return the number of rounds where none is searched: "auto" is 100."""
    return UNSEARCHED if is_auto(asked) else check_integer(name, asked, 1, also=" or 'auto'")


class Rates(NamedTuple):
    """Learning rates of a search, and of the training after it, which has more rounds by as much as it is slower."""

    search: float
    last: float


class Tried(NamedTuple):
    """What a search tries: settings, small trees first, and learning rates."""

    rates: Rates
    settings: Settings = ({},)


@dataclass(frozen=True)
class Choices:
    """What parameters may be that are left at "auto".

    Attributes
    ----------
    tried : dict of int to Tried
        What a search tries, by the least number of rows with weight, rising from 0. With few rows it is one size of
        trees: the losses of so few rows held out differ by chance.
    unsearched : dict of str to object
        What they are where nothing is searched.
    """

    tried: dict[int, Tried]
    unsearched: Params = field(default_factory=dict)

    def left(self, given: Params, n_rows: int) -> tuple[Settings, Rates]:
        """Return what a search tries with so many rows: of the parameters that are left at "auto" only."""
        rates, settings = next(tried for least, tried in reversed(self.tried.items()) if n_rows >= least)
        if is_auto(given[RATE]):
            settings = [one | {RATE: rates.search} for one in settings]
        else:
            rates = Rates(given[RATE], given[RATE])
        left = [{name: value for name, value in one.items() if is_auto(given[name])} for one in settings]
        return [one for place, one in enumerate(left) if one not in left[:place]], rates

    def replaced(self, given: Params) -> Params:
        """Return parameters without "auto" where nothing is searched."""
        return given | {name: value for name, value in self.unsearched.items() if is_auto(given[name])}


def smallest_leaf(asked: object, n_rows: int) -> Any:
    """Return the number of rows that a leaf needs: as asked for, or for "auto" one in 50, at most 20."""
    return int(np.clip(n_rows // 50, 1, 20)) if is_auto(asked) else asked


@dataclass(frozen=True)
class RoundSearch:
    """What a search for the number of rounds, and the size of the trees, has found.

    Attributes
    ----------
    n_iter : int
        The number of rounds of the model: those with the lowest loss, at least 1, and more by as much as there are more
        rows and the learning rate is lower than that of the search.
    losses : ndarray of float64, shape (n_tried + 1,)
        Weighted mean loss of the rows held out after 0, 1, ... rounds; NaN for 0 where scores to start from are given.
    n_held_out : int
        Number of these rows, in each of three draws where there are fewer than 100 rows with weight.
    settings : dict of str to object
        Values of the parameters that were left to the search, by name, as the model has them.
    tried : list of dict of str to object
        All settings that were tried, each with its lowest ``loss``, the ``n_iter`` of that, and the number of rounds
        that were tried, ``n_tried``.
    """

    n_iter: int
    losses: FloatArray
    n_held_out: int
    settings: Params = field(default_factory=dict)
    tried: list[Params] = field(default_factory=list)

    @property
    def lowest(self) -> float:
        """The lowest of the losses."""
        return float(np.nanmin(self.losses))

    def __str__(self) -> str:
        settings = "".join(f", {name}={value}" for name, value in self.settings.items())
        return f"{self.n_iter} rounds{settings}, found on {self.n_held_out} rows held out"


def find_rounds(trial_of: TrialOf, settings: Settings, rows: Rows, rates: Rates, seed: int) -> RoundSearch | None:
    """Return the number of rounds and the settings with the lowest loss on a fifth of the rows, held out.

    Of fewer than 100 rows a fifth is drawn three times, and the losses are means over the draws.
    With a learning rate of r a trial has at most 100 / r rounds, but 500 to 10,000, and ends after 2 / r rounds, but 10
    to 500, without a lower loss. Larger trees learn faster: settings after the first are dropped unless 1.5 / r rounds
    have a lower loss than as many of the best one before them. The number of rounds is that of the trial times the
    ratio of the rates, and times 5 / 4 since four fifths of the rows were trained on.

    Parameters
    ----------
    trial_of : callable
        Returns what trains on some rows and evaluates others; see ``TrialOf``.
    settings : sequence of dict of str to object
        Those to try, at least one, small trees first.
    rows : Rows
        No group is divided.
    rates : Rates
    seed : int
        Of the rows held out.

    Returns
    -------
    RoundSearch or None
        None where there are fewer than 10 rows with weight, or a single class is left without the rows held out.
    """
    if len(rows.weighted) < _LEAST_ROWS:
        return None
    n_draws = _DRAWS_OF_FEW if len(rows.weighted) < _ONE_DRAW else 1
    every = (hold_out(rows, _FRACTION, (seed + i) % 2**32) for i in range(n_draws))
    drawn = [(fit, held) for fit, held in every if fit.n_classes_with_weight >= 2]
    if not drawn:
        return None
    most, patience = (
        math.ceil(min(max(rate / rates.search, least), highest))
        for rate, (least, highest) in ((_MOST, _MOST_ROUNDS), (_PATIENCE, _PATIENCE_ROUNDS))
    )
    trials, best, tried = [trial_of(fit, held) for fit, held in drawn], None, list[Params]()
    more = rates.search / rates.last * _MORE_ROUNDS
    for some in settings:
        if best is not None:
            n_first = math.ceil(min(_TRIED / rates.search, len(best.losses) - 1))
            losses = _mean(_losses(trials, n_first, None, some))
            if losses[n_first] >= best.losses[n_first]:
                tried.append(_outcome(some, losses))
                continue
        losses = _mean(_losses(trials, most, patience, some))
        tried.append(_outcome(some, losses))
        n_iter, last = max(1, round(int(np.nanargmin(losses)) * more)), {RATE: rates.last} if RATE in some else {}
        search = RoundSearch(n_iter, losses, len(drawn[0][1]), some | last, tried)
        if best is None or search.lowest < best.lowest:
            best = search
    return best


def _losses(trials: list[Trial], most: int, patience: int | None, settings: Params) -> list[Sequence[float]]:
    """Train on each draw, none longer than the shortest before it: the losses of more rounds have no mean."""
    every = list[Sequence[float]]()
    for trial in trials:
        every.append(trial(most, patience, settings))
        most = min(most, max(len(every[-1]) - 1, 1))
    return every


def _mean(every: list[Sequence[float]]) -> FloatArray:
    """Return the mean losses after 0, 1, ... rounds, as many as all trials have had."""
    n_losses = min(map(len, every))
    return np.mean([losses[:n_losses] for losses in every], axis=0, dtype=np.float64)


def _outcome(settings: Params, losses: FloatArray) -> Params:
    n_iter = int(np.nanargmin(losses))
    return {**settings, "n_iter": n_iter, "loss": float(losses[n_iter]), "n_tried": len(losses) - 1}
