"""One training: which run, which iteration, what is watched, what is refused, when it stops.

The objective, the callback and the runs have references to this object, and not to each other. ``train`` makes it with
a plan, or the objective does without one.
"""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ordinal_objectives.adapters.followed_scores import GrownTree
from ordinal_objectives.adapters.run import RowPlacement, TrainingRun, Update
from ordinal_objectives.adapters.updates import EffectsUpdate, JointUpdate, NewtonUpdate, VectorUpdate
from ordinal_objectives.aliases import ArrayLike, FloatArray, IntArray, RealArray
from ordinal_objectives.leaves.vector import Shifts
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.rows import CPU, Device, Workers, fail_together
from ordinal_objectives.spec import TREE_UPDATES, OrdinalSpec
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils.validation import check_codes

if TYPE_CHECKING:
    from ordinal_objectives.estimators.description import ClassifierDescription
    from ordinal_objectives.estimators.linear import LinearPart

# Frameworks' matrices hold one number a row. This attribute of theirs holds the rest.
CARRIED = "_ordinal_labels"
# Slices and files of XGBoost's matrices keep these numbers, here -1 minus the code in the middle, and no attribute.
_MARK = "label_lower_bound"


def bind_labels(matrix: Any, labels: OrdinalLabels) -> None:
    """Let a matrix of a framework carry labels of more, or less, than a class a row.

    The framework's own labels, one number a row, become the codes of the classes in the middle.
    """
    matrix.set_label(labels.middle)
    if hasattr(matrix, "set_float_info"):
        matrix.set_float_info(_MARK, -1 - labels.middle)
    setattr(matrix, CARRIED, labels)


def labels_of(matrix: Any, label: Any) -> Any:
    """Return the labels that a matrix carries, or else ``label``, the framework's own.

    Raises
    ------
    ValueError
        If a matrix has been given others since, or is a part of one that carries some.
    """
    labels, middle = getattr(matrix, CARRIED, None), _middle(matrix)
    unchanged = middle is not None and np.array_equal(middle, label)
    if labels is not None and not unchanged:
        raise ValueError("the matrix has been given other labels since labels were bound to it: bind them again")
    if labels is None and unchanged:
        raise ValueError(
            "the data are a part, or the file, of a matrix with labels of several answers a row, and hold only the "
            "class in the middle: bind the labels of their rows to them; for the folds of cv, take the classifier "
            "with scikit-learn's cross_validate"
        )
    return label if labels is None else labels


def _middle(matrix: Any) -> IntArray | None:
    """Return the codes in the middle of labels that a matrix, or one that it is a part of, carries; None without."""
    labels, rows = getattr(matrix, CARRIED, None), getattr(matrix, "used_indices", None)
    if labels is not None:
        return np.asarray(labels.middle)
    if hasattr(matrix, "get_float_info"):
        mark = matrix.get_float_info(_MARK)
        return -1 - mark if mark.size else None
    whole = None if rows is None else _middle(matrix.reference)  # rows of a subset of LightGBM's
    return None if whole is None else whole[rows]


@dataclass(frozen=True)
class Plan:
    """Settings that this package's own ``train`` passes to a training before it begins.

    Attributes
    ----------
    driven : bool
        Whether there is such a ``train``, which can follow renewed leaves.
    stops_early : str or None
        The argument that asks for an early stop, if one does.
    settings_stay : bool
        Whether no callback of a user's can change the framework's parameters between rounds.
    linear : LinearPart or None
        The linear score that a classifier's trees are added to, as the record holds it.
    classifier : ClassifierDescription or None
        What a file that is written during the training says of the classifier.
    """

    driven: bool = False
    stops_early: str | None = None
    settings_stay: bool = False
    linear: LinearPart | None = None
    classifier: ClassifierDescription | None = None


def one_at_a_time() -> ValueError:
    """Return the error for scores of another training than the one that an objective without its callback follows."""
    return ValueError(
        "without its callback an objective follows one training at a time, from its first round: pass "
        "callbacks=[objective.callback], also for the folds of cv, or take one objective for each training"
    )


class _OfThread(threading.local):
    """State of one thread: trainings in several threads share an objective, not its runs."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget the runs."""
        # One run for each training matrix: cross-validation interleaves its folds through one objective.
        self.runs: weakref.WeakKeyDictionary[object, TrainingRun] = weakref.WeakKeyDictionary()
        self.latest: TrainingRun | None = None


class Training(ABC):
    """A training with an ordinal objective, and those that follow with the same one.

    The callback passes it what the framework provides, and the objective gets the run and the iteration of a score from
    it. Each framework's subclass reads its own matrices, boosters and trees. Every thread has its own runs. A copy, and
    what comes out of a pickle, is a training that has not begun.

    Parameters
    ----------
    spec : OrdinalSpec
        What a run is begun with.
    continues : ThresholdRecord or None, default=None
        Record of the model that is continued, where the model itself does not bring one.
    n_threads : int or None, default=None
        Threads of the passes over rows; None takes those of the framework.
    plan : Plan, default=Plan()

    Attributes
    ----------
    shifts : Shifts or None
        How thresholds move with x in the training, or None if they do not.
    in_outputs : bool
        Whether the framework fits the shifts itself.

    Raises
    ------
    ValueError
        If the model that is continued is another one.
    """

    # What the framework's own train passes to an objective and a metric, and what to use elsewhere.
    _matrix_type: ClassVar[type] = object
    _elsewhere: ClassVar[str] = ""
    _workers: Workers | None = None

    def __init__(
        self,
        spec: OrdinalSpec,
        continues: ThresholdRecord | None = None,
        *,
        n_threads: int | None = None,
        plan: Plan | None = None,
    ) -> None:
        self.spec, self.continues, self.plan = spec, continues, plan or Plan()
        if continues is not None:
            self.check_continues(continues)
        self.asked_threads = n_threads
        self.in_outputs = spec.in_outputs
        self.shifts: Shifts | None = None
        self._here = _OfThread()
        # Of all threads, for one that reads what another has trained.
        self._latest_anywhere: TrainingRun | None = None

    def __reduce__(self) -> tuple[Callable[[], Training], tuple[()]]:
        return partial(type(self), self.spec, self.continues, n_threads=self.asked_threads, plan=self.plan), ()

    @abstractmethod
    def growing(self, score: RealArray, matrix: object, epoch: int | None = None) -> tuple[TrainingRun, int]:
        """Return the run whose next tree is grown on a score of the matrix, and the iteration of that score.

        The run is begun if the score is the first of a training. ``epoch`` is the number of rounds that the training
        has done before, where the framework passes it to an objective.
        """

    @abstractmethod
    def evaluating(self, score: RealArray, matrix: object) -> TrainingRun:
        """Return the run whose booster evaluates a matrix, advanced to that booster's iteration where it is known."""

    @abstractmethod
    def label_and_weight(self, matrix: object) -> tuple[ArrayLike, ArrayLike | None]:
        """Return the labels of a matrix and its weights; None for weights that are all 1."""

    @abstractmethod
    def initial_score(self, matrix: object) -> RealArray:
        """Return the score of an evaluated matrix before the first tree, (n_samples,)."""

    @abstractmethod
    def newest_tree(self, matrix: object, before: object, after: object) -> GrownTree:
        """Return the tree that the framework added last for a training matrix, given its scores without and with it."""

    def initial_shifts(self, matrix: object) -> FloatArray | None:
        """Return the shifts of a matrix by the model that is continued, (n_samples, n_classes - 1), or None."""
        return None

    @property
    def needs_tree(self) -> bool:
        """Whether a step of the training reads the newest tree."""
        return not self.in_outputs and (self.shifts is not None or self.spec.threshold_update in TREE_UPDATES)

    def choose_shifts(self, refusal: str | None) -> None:
        """Decide whether thresholds move with x; ``refusal`` says what excludes renewed leaves, if anything does."""
        if self.in_outputs:
            self.shifts = self.spec.shifts()
            self.spec.warn_unused()
            return
        previous = self.continues
        if self.spec.proportional == "auto" and previous is not None and previous.shifts is None:
            refusal = "the model that is continued is proportional"
        if not self.plan.driven:
            refusal = f"call {self._package()}.train, which follows renewed leaves"
        self.shifts = self.spec.shifts(refusal)
        if self.shifts is not None:
            self.spec.warn_unused()
        elif previous is not None and previous.shifts is not None:
            raise ValueError("the model that is continued has thresholds that move with x: " + (refusal or ""))

    def check_continues(self, record: ThresholdRecord) -> None:
        """Raise ValueError unless a model with this record can be continued in this training."""
        spec, loss = self.spec, record.ordinal_loss()
        if record.random_effects:
            raise ValueError("the model to be continued has random intercepts: train all rounds at once")
        if loss != spec.loss:
            raise ValueError(
                f"thresholds come from a model with loss {loss!r}; this objective has {spec.loss!r}, "
                f"and a model is continued with its own loss and link"
            )
        if record.shifts is not None and spec.proportional is True:
            where = f" to {self._package()}.train, not the framework's own," if not self.plan.driven else ""
            raise ValueError(
                "the model to be continued has thresholds that move with x: "
                f"pass proportional=False{where} to continue it"
            )
        if spec.n_classes not in (None, record.n_classes):
            raise ValueError(f"n_classes must be {record.n_classes}, that of the model continued; got {spec.n_classes}")

    def bind(self, matrix: object, labels: OrdinalLabels) -> None:
        """Let a matrix carry labels."""
        self.check_matrix(matrix)
        bind_labels(matrix, labels)

    def check_matrix(self, matrix: object) -> None:
        """Raise TypeError for what other parts of the framework pass in the place of a matrix."""
        if not isinstance(matrix, self._matrix_type):
            raise TypeError(f"{self._elsewhere}; got {type(matrix).__name__} in the place of the data")

    def mean_loss(self, score: RealArray, matrix: object) -> float:
        """Return the weighted mean loss of a matrix at given scores, with the newest thresholds of its run."""
        self.check_matrix(matrix)
        run = self.evaluating(score, matrix)
        if self.of(matrix) is run:
            return run.newest_loss()
        label, weight = self.label_and_weight(matrix)
        return run.mean_loss_of(matrix, score, labels_of(matrix, label), weight)

    def of(self, matrix: object) -> TrainingRun | None:
        """Return the run of a training matrix, or None."""
        return self._here.runs.get(matrix)

    def items(self) -> list[tuple[object, TrainingRun]]:
        """Return the training matrices that are alive, each with its run."""
        return list(self._here.runs.items())

    @property
    def latest(self) -> TrainingRun:
        """The latest run of this thread, or else of any.

        Raises
        ------
        ValueError
            If there has been none.
        """
        run = self._here.latest or self._latest_anywhere
        if run is None:
            raise ValueError("the objective has not been used in a training yet, so it holds no thresholds")
        return run

    def only_run(self, matrix: object) -> TrainingRun:
        """Return the run of this thread's latest training, which a matrix is evaluated in where no callback knows it.

        Raises
        ------
        ValueError
            If the matrix is that of another training, such as another fold of cv.
        """
        if self.of(matrix) not in (None, self._here.latest):
            raise one_at_a_time()
        return self.latest

    def begin(self, matrix: object, previous: ThresholdRecord | None, *, grows_on_recorded: bool = True) -> TrainingRun:
        """Begin a run on a training matrix, at the end of the one that ``previous`` records.

        ``grows_on_recorded`` tells whether trees grow on the scores that thresholds are learned from.
        """
        spec, workers = self.spec, self.workers
        label, weight = self.label_and_weight(matrix)

        def checked() -> IntArray | OrdinalLabels:
            given = labels_of(matrix, label)
            if isinstance(given, OrdinalLabels):
                return given
            return check_codes(given, spec.n_classes, name="the training set", part=workers is not None)

        codes = fail_together(workers, checked)
        if isinstance(codes, OrdinalLabels):
            self._check_bound(codes, matrix)
            n_classes = len(codes.classes)
        else:
            n_classes = spec.n_classes or (previous.n_classes if previous else self._n_classes_of(codes))
        placement = RowPlacement(self.device(matrix), workers, grows_on_recorded)
        update = self.update_of(matrix)
        run = TrainingRun(spec, codes, n_classes, weight, update=update, previous=previous, placement=placement)
        self._here.runs[matrix] = self._here.latest = run
        self._latest_anywhere = run
        return run

    def _check_bound(self, labels: OrdinalLabels, matrix: object) -> None:
        """Raise ValueError unless a training can take the labels that a matrix carries."""
        if self.workers is not None or not isinstance(self.device(matrix), CPU):
            raise ValueError(
                "OrdinalLabels are for a training on the CPU of one machine; give workers and GPUs class codes"
            )
        if self.spec.n_classes not in (None, len(labels.classes)):
            raise ValueError(f"n_classes must be {len(labels.classes)}, that of labels; got {self.spec.n_classes}")

    def update_of(self, matrix: Any) -> Update:
        """Return how the rounds of a run on a training matrix move leaves and thresholds."""
        groups = getattr(matrix, "ordinal_groups", None)
        if groups is not None:
            if not isinstance(self.device(matrix), CPU) or self.workers is not None:
                raise ValueError("random_intercept must be None for a training on GPUs or several machines")
            columns, X = groups
            return EffectsUpdate(columns, X, effective_n_threads(self.n_threads(matrix)))
        if self.shifts is not None:
            return VectorUpdate(self, matrix, self.shifts)
        if self.needs_tree:
            return JointUpdate(self, matrix, renews=self.spec.threshold_update == "joint")
        return NewtonUpdate()

    def _n_classes_of(self, codes: IntArray) -> int:
        """Return the number of classes by the largest code of all workers."""
        lowest, highest = (int(codes.min()), int(codes.max())) if codes.size else (np.iinfo(np.int32).max, -1)
        if self.workers is not None:
            least, most = self.workers.max(np.array([-lowest, highest], np.float64))
            lowest, highest = -int(least), int(most)
        if lowest > 0:
            raise ValueError(
                f"the training set must hold class codes, which start at 0; got {lowest}..{highest}. Subtract "
                f"{lowest}, or pass n_classes={highest + 1} if the lower classes have no rows here"
            )
        return max(2, highest + 1)

    @property
    def workers(self) -> Workers | None:
        """The workers of the training, each with its own rows; None if all rows are on this machine."""
        return self._workers

    def device(self, matrix: object) -> Device:
        """Return where gradients of a training matrix are computed, and by how many threads."""
        return CPU(self.n_threads(matrix))

    def n_threads(self, matrix: object) -> int | None:
        """Return how many threads compute over a training matrix, as :func:`.threads.effective_n_threads` takes it."""
        return self.asked_threads

    def check_train(self) -> None:
        """Raise ValueError if the update renews leaf values and the framework's own train drives the training."""
        if self.spec.threshold_update == "joint":
            raise ValueError(
                f"threshold_update='joint' renews leaf values, which the framework's own train cannot follow; "
                f"call {self._package()}.train, or use 'newton' or 'schur'"
            )
        self.choose_shifts(None)

    def _package(self) -> str:
        return type(self).__module__.rpartition(".")[0]

    def check_start(self, score: RealArray, previous: ThresholdRecord | None, cause: str) -> None:
        """Raise ValueError if thresholds that stay fixed cannot suit the score that a run starts at."""
        fixed = not self.spec.learns and self.spec.thresholds is None
        if fixed and previous is None and np.any(score):
            raise ValueError(
                f"the score does not start at zero ({cause}), and threshold_update='fixed' cannot fit thresholds to "
                f"it: pass thresholds="
            )

    def callback_is_needed(self) -> ValueError:
        """Return the error for a training that cannot go on without the callback."""
        return ValueError(
            f"the training with threshold_update={self.spec.threshold_update!r} and "
            f"proportional={self.spec.proportional!r} needs the callback: pass callbacks=[objective.callback], or call "
            f"{self._package()}.train"
        )
