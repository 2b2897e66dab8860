"""A host: the library that grows the trees of a classifier, with its words, and what it does with rows and boosters.

:class:`.host_classifier.HostClassifier` has the one body of ``fit``, of predictions and of files, and asks its host for
what differs between XGBoost, LightGBM and CatBoost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ordinal_objectives.aliases import ArrayLike, Booster, Estimator, FloatArray, Level, Params, Table
from ordinal_objectives.columns import Columns
from ordinal_objectives.estimators.arguments import ParameterNames, Schedules, constructor_arguments
from ordinal_objectives.estimators.held_out import Choices, Rows
from ordinal_objectives.eval_metric import EvalMetric
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.rows import CPU, soft_rows
from ordinal_objectives.spec import OrdinalSpec, parameter_names
from ordinal_objectives.threshold_solver import ThresholdRecord, initial_thresholds

# What the classifiers' constructors take and the library's ``train`` does not.
ORDINAL_PARAMETERS = frozenset(parameter_names("classifier")) | {
    *("class_weight", "classes", "cost_matrix", "decision_rule", "eval_metric", "importance_type"),
    *("linear", "linear_l2", "n_estimators", "progress", "random_intercept", "training_cost", "validation_fraction"),
}


class GivenRows(NamedTuple):
    """The rows to train on, as ``fit`` was given them; ``start`` holds the scores that the trees' are added to."""

    X: object
    y: ArrayLike
    sample_weight: Any
    start: Any
    groups: Any


class TrainingRequest(NamedTuple):
    """What a training is asked for, beside its model, its parameters and its rows.

    Attributes
    ----------
    n_rounds : int
    results : dict
        Gets the loss and the metrics of each evaluation set.
    callbacks : object
        The library's.
    patience : int or None
        After how many rounds without a better value it ends.
    progress : bool
    continued : Booster or None
    metrics : sequence of EvalMetric
    carried : dict
        What the record has beside the thresholds.
    is_search : bool
        Whether it is one of a search for the number of rounds.
    of_library : dict
        Other arguments of the library's training.
    """

    n_rounds: int
    results: Params
    callbacks: Any
    patience: int | None
    progress: bool
    continued: Booster | None = None
    metrics: Sequence[EvalMetric] = ()
    carried: Mapping[str, Any] = MappingProxyType({})
    is_search: bool = False
    of_library: Mapping[str, Any] = MappingProxyType({})

    @property
    def what(self) -> str:
        """What a bar of the progress counts."""
        return "search" if self.is_search else "rounds"


class Trained(NamedTuple):
    """What a training gives.

    Attributes
    ----------
    booster : Booster
        Carries the record.
    record : ThresholdRecord
    n_iter : int
        Number of iterations that predictions use.
    n_rounds : int
        Number of rounds that were trained for them; LightGBM adds no tree in a round without a split.
    """

    booster: Booster
    record: ThresholdRecord
    n_iter: int
    n_rounds: int


def _no_schedules(callbacks: object) -> Schedules:
    """Return that no callback of a library changes parameters."""
    return Schedules([], [])


@dataclass(frozen=True, kw_only=True, eq=False)
class Host(ABC):
    """A library that grows trees: its words as fields, and what it does as methods.

    Methods that get a classifier, ``model``, read its parameters, and what its fit has found so far.

    Attributes
    ----------
    entry_point : str
        The classifier, in the table of entry points of :mod:`ordinal_objectives.spec`.
    rounds_name, stopping_name : str
        Parameters: the number of rounds, and after how many without a better value a training stops.
    leaf_name : str
        The parameter that bounds the size of leaves.
    start_name, continued_name : str
        Arguments of ``fit``: the scores that the trees' are added to, and the model to continue.
    parameter_names : ParameterNames
        Names that are no parameters of the constructor.
    native_names : mapping of str to str
        Parameters that the library's ``train`` spells otherwise.
    not_native : frozenset of str
        Parameters that never go to the library's ``train``.
    choices : Choices
        What a search chooses between, and what "auto" is without one.
    default_rate : float or None
        The library's learning rate where the parameter is None.
    row_parameters : tuple of str
        Parameters by which rows are read: predictions read theirs by those of the fit, whatever is set since.
    kept_on_loading : frozenset of str
        Parameters of the machine, which stay as they are when a file is loaded.
    start_beside_model : str or None
        Why start scores are not allowed beside a model that is continued; None where they are.
    schedules : callable
        Returns those of some callbacks that change parameters.
    first_rates : callable
        Returns the learning rates with which schedules begin.
    knows_training_set : bool
        Whether the library evaluates its training set where an evaluation set is the very X and y of ``fit``.
    """

    entry_point: str
    rounds_name: str = "n_estimators"
    stopping_name: str = "early_stopping_rounds"
    leaf_name: str
    start_name: str
    continued_name: str
    parameter_names: ParameterNames
    native_names: Mapping[str, str]
    not_native: frozenset[str]
    choices: Choices
    default_rate: float | None = None
    row_parameters: tuple[str, ...] = ()
    kept_on_loading: frozenset[str] = frozenset()
    start_beside_model: str | None = None
    schedules: Callable[[Any], Schedules] = _no_schedules
    first_rates: Callable[[list[Any]], list[float]] = list
    knows_training_set: bool = False

    # Parameters

    def resolved_params(self, model: Estimator) -> tuple[Params, list[str]]:
        """Return the parameters by one name each, and warnings of those that are not used."""
        kept, unused = constructor_arguments(model), list[str]()
        others, same = model._host_params, self.parameter_names.same
        if not others:
            return kept, unused
        values = kept | {name: value for name, value in others.items() if name not in chain(*same.values())}
        for own, names in same.items():
            given = {name: others[name] for name in names if others.get(name) is not None}
            if not given:
                continue
            if own in kept and kept[own] not in (None, model._default(own)):
                given = {name: given.get(name, kept[own]) for name in names if name in given or name == own}
            (first, values[own]), *rest = given.items()
            unused += [
                f"{first}={values[own]!r} is used and {name}={value!r} is not: both are {own}"
                for name, value in rest
                if value != values[own]
            ]
        return values, unused

    def completed_params(self, model: Estimator, params: Params, n_weighted: int) -> Params:
        """Return the parameters of the library's ``train`` on so many rows with weight, given those that are set."""
        return params

    def ends_early(self, params: Params, callbacks: list[Any]) -> bool:
        """Return whether callbacks decide the number of rounds, or no search can find it."""
        return False

    def says(self, params: Params, verbose: object) -> bool:
        """Return whether the result of a search is printed."""
        return bool(verbose)

    def least_leaf(self, params: Params, n_weighted: int) -> int:
        """Return how many rows a leaf needs, as far as ``leaf_name`` counts rows."""
        return 0

    @abstractmethod
    def fixed_rounds(self, model: Estimator, n_rounds: int) -> Params:
        """Return the parameters of a training of so many rounds, which nothing ends early."""

    # Rows

    def missing_value(self, model: Estimator) -> float | None:
        """Return what stood for a missing value in the fit; None where no parameter says so, and NaN does."""
        return None

    def zero_is_missing(self, booster: Booster) -> bool:
        """Return whether a booster takes 0 for a missing value."""
        return False

    def with_numbers(self, model: Estimator, X: Table, *, reset: bool) -> Table:
        """Return X with numbers in the place of columns that only the library reads."""
        return X

    def to_encode(self, model: Estimator, X: Table, checked: Table, *, reset: bool) -> Table:
        """Return X as its levels are read, given what became of :meth:`with_numbers`."""
        return checked

    def as_rows(self, model: Estimator, X: Table, numbers: Table, *, reset: bool) -> Table:
        """Return X for the library, given its columns as numbers."""
        return numbers

    def reads_names(self, model: Estimator, X: Table) -> bool:
        """Return whether a table's names are the model's, which its file holds in another spelling."""
        return False

    @abstractmethod
    def learn_columns(self, model: Estimator, X: Table) -> Columns:
        """Return the columns of a training."""

    @abstractmethod
    def category_places(self, model: Estimator, **of_rows: Any) -> Collection[int]:
        """Return the columns of numbers that the library takes for categories."""

    @abstractmethod
    def matrices(self, model: Estimator, rows: list[Rows], continued: Booster | None, **of_rows: Any) -> list[Any]:
        """Return rows as the library's training reads them: those to train on, then those to evaluate."""

    @abstractmethod
    def prediction_data(self, model: Estimator, X: Table) -> Any:
        """Return checked features as :meth:`scores` takes them."""

    # Trainings and boosters

    @abstractmethod
    def train(self, spec: OrdinalSpec, params: Params, matrices: list[Any], asked: TrainingRequest) -> Trained:
        """Train on the first of some matrices, and evaluate the others into ``asked.results``.

        A search prints nothing, and does not look for the best round: its results hold all of them.
        """

    @abstractmethod
    def scores(self, model: Estimator, data: Any, start: int, stop: int) -> FloatArray:
        """Return the part of the score that iterations ``start`` to ``stop - 1`` add.

        (n_samples,), or (n_samples, n_classes - 1) of a model whose trees shift single thresholds.
        """

    @abstractmethod
    def splits(self, booster: Booster) -> list[bool]:
        """Return for each tree whether it has a split."""

    @abstractmethod
    def read_continued(self, model: object) -> tuple[Booster, ThresholdRecord]:
        """Return a booster to go on with, given as such or by its file, and its record."""

    def check_continued(self, model: Estimator, given: object, booster: Booster, record: ThresholdRecord) -> None:
        """Raise ValueError unless a training goes on with a booster, given as such, as a classifier or by its file."""
        return

    @abstractmethod
    def columns_in(self, booster: Booster, levels: Mapping[int, list[Level]] | None = None) -> Columns:
        """Return the columns of a booster with some levels; None for those that the library keeps."""

    @abstractmethod
    def names_in(self, booster: Booster) -> list[str] | None:
        """Return the names of columns that the training had, numbers as text; None where it had none."""

    @abstractmethod
    def store(self, booster: Booster, record: ThresholdRecord) -> None:
        """Make a booster carry a record."""

    @abstractmethod
    def write(self, model: Estimator, path: str | PathLike[str]) -> None:
        """Write the booster with the record that it carries."""

    @abstractmethod
    def read(self, model: Estimator, path: str | PathLike[str]) -> tuple[ThresholdRecord, int, int]:
        """Read the booster: return the record, the number of iterations kept and of features."""


def loss_without_trees(loss: OrdinalLoss, n_classes: int, fit: Rows, held: Rows) -> float:
    """Return the mean loss of rows held out at the thresholds that a training starts from."""
    if held.start is not None:  # to which the training fits them
        return float("nan")
    options = {"part": True} if loss.codes is None else {"part": True, "precision": "float64"}
    of_fit, of_held = (CPU(1).row_pass(loss, some.y, n_classes, some.weight, **options) for some in (fit, held))
    thresholds = initial_thresholds(of_fit.class_weights, loss=loss).thresholds
    return soft_rows.judged_loss(of_held, np.zeros(len(held)), thresholds, "exact") / of_held.total_weight
