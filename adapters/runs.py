"""Which run, which iteration: what an objective and its callback both must know, in one place."""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.adapters.joint_run import JointRun
from ordinal_objectives.adapters.leaf_matching import GrownTree
from ordinal_objectives.adapters.newton_run import NewtonRun
from ordinal_objectives.adapters.parameters import TREE_UPDATES, OrdinalParameters
from ordinal_objectives.adapters.vector_run import VectorRun
from ordinal_objectives.leaves.shifts import Shifts
from ordinal_objectives.rows import CPU, Device, Workers, agreed
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.validation import check_codes


class _OfThread(threading.local):
    """What every thread has for itself: trainings in several threads share an objective, not its runs."""

    def __init__(self) -> None:
        # One run for each training matrix: cross-validation interleaves its folds through one objective.
        self.runs: weakref.WeakKeyDictionary[Any, NewtonRun] = weakref.WeakKeyDictionary()
        self.latest: NewtonRun | None = None
        # Whether another run than the latest has grown a tree since.
        self.in_turns = False


class Runs(ABC):
    """Runs of one objective: which belongs to a matrix, which is the latest, which iteration it is at.

    The callback tells it what the framework shows of a training, and the objective asks it for the run and the
    iteration of a score; neither knows the other. Each framework's subclass reads its own matrices, boosters and
    trees. Every thread has its own runs.

    Parameters
    ----------
    parameters : OrdinalParameters
        What a run is begun with.

    Attributes
    ----------
    driven : bool
        Whether this package's own ``train`` drives the training, and can follow renewed leaves.
    shifts : Shifts or None
        How thresholds move with x in the training, or None if they do not.
    refusal : str or None
        What ``train`` was given that does not go with shifts.
    """

    def __init__(self, parameters: OrdinalParameters) -> None:
        self.parameters = parameters
        self.driven = False
        self.shifts: Shifts | None = None
        self.refusal: str | None = None
        self._here = _OfThread()
        # Of all threads, for one that reads what another has trained.
        self._latest_anywhere: NewtonRun | None = None

    @abstractmethod
    def growing(self, score: NDArray[Any], matrix: Any) -> tuple[NewtonRun, int]:
        """Return the run whose next tree is grown on a score of the matrix, and the iteration of that score.

        The run is begun if the score is the first of a training.
        """

    @abstractmethod
    def evaluating(self, score: NDArray[Any], matrix: Any) -> NewtonRun:
        """Return the run whose booster evaluates a matrix, advanced to that booster's iteration where it is known."""

    @abstractmethod
    def label_and_weight(self, matrix: Any) -> tuple[Any, Any]:
        """Return the labels of a matrix and its weights; None for weights that are all 1."""

    @abstractmethod
    def initial_score(self, matrix: Any) -> NDArray[Any]:
        """Return the score of an evaluated matrix before the first tree, (n_samples,)."""

    @abstractmethod
    def newest_tree(self, matrix: Any) -> GrownTree:
        """Return the tree that the framework added last for a training matrix."""

    def initial_shifts(self, matrix: Any) -> NDArray[np.float64] | None:
        """Return the shifts of a matrix by the model that is continued, (n_samples, n_classes - 1), or None."""
        return None

    @property
    def needs_tree(self) -> bool:
        """Whether a step of the training reads the newest tree."""
        return self.shifts is not None or self.parameters.threshold_update in TREE_UPDATES

    def choose_shifts(self, refusal: str | None) -> None:
        """Settle whether thresholds move with x, given what the framework's parameters have against renewed leaves."""
        parameters = self.parameters
        previous = parameters.continues
        if parameters.proportional == "auto" and previous is not None and previous.shifts is None:
            refusal = "the model that is continued is proportional"
        if not self.driven:
            refusal = f"call {self._package()}.train, which follows renewed leaves"
        self.shifts = parameters.choose_shifts(self.refusal or refusal)
        if self.shifts is None and previous is not None and previous.shifts is not None:
            raise ValueError("the model that is continued has thresholds that move with x: " + (refusal or ""))

    def of(self, matrix: Any) -> NewtonRun | None:
        """Return the run of a training matrix, or None."""
        return self._here.runs.get(matrix)

    def __getitem__(self, matrix: Any) -> NewtonRun:
        return self._here.runs[matrix]

    def items(self) -> list[tuple[Any, NewtonRun]]:
        """Return the training matrices that are alive, each with its run."""
        return list(self._here.runs.items())

    @property
    def latest(self) -> NewtonRun:
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

    def only(self, own: NewtonRun | None = None) -> NewtonRun:
        """Return the run that evaluates a matrix which no callback knows: the latest.

        Raises
        ------
        ValueError
            If others take turns with it, or ``own``, the run that grows trees on this matrix, is another one.
        """
        if self._here.in_turns or own not in (None, self._here.latest):
            raise ValueError(
                "the metric cannot tell which of several trainings, such as the folds of cv, the data belong to: pass "
                "callbacks=[objective.callback], or take one objective for each training"
            )
        return self.latest

    def begin(self, matrix: Any, previous: ThresholdRecord | None) -> NewtonRun:
        """Begin a run on a training matrix, at the end of the one that ``previous`` records."""
        parameters = self.parameters
        label, weight = self.label_and_weight(matrix)
        workers, name = self.workers, "the training set"
        codes = agreed(workers, lambda: check_codes(label, parameters.n_classes, name=name, part=workers is not None))
        n_classes = parameters.n_classes or (previous.n_classes if previous else self._n_classes_of(codes))
        options: dict[str, Any] = {
            "hessian": parameters.hessian,
            "threshold_update": parameters.threshold_update,
            "start_thresholds": parameters.thresholds,
            "previous": previous,
            "device": self.device(matrix),
            "workers": workers,
        }
        kind: type[NewtonRun] = NewtonRun
        if self.needs_tree:
            kind = JointRun
            options |= {"matrix": matrix, "newest_tree": self.newest_tree, "initial_score": self.initial_score}
        if self.shifts is not None:
            kind, more = self.run_with_shifts(matrix, self.shifts)
            options |= more
        run = kind(parameters.loss, codes, n_classes, weight, **options)
        self._here.runs[matrix] = run
        self._here.latest = self._latest_anywhere = run
        self._here.in_turns = False
        return run

    def _n_classes_of(self, codes: NDArray[np.int32]) -> int:
        """Return the number of classes that the codes of all workers speak of."""
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
        """Those who train together, each on its own rows; None if all rows are here."""
        return None

    def device(self, matrix: Any) -> Device:
        """Return where the rows of a training matrix are passed over, and by how many threads."""
        return CPU(self.n_threads(matrix))

    def n_threads(self, matrix: Any) -> int | None:
        """Return how many threads pass over a training matrix, as :func:`.threads.effective_n_threads` takes it."""
        return self.parameters.n_threads

    def run_with_shifts(self, matrix: Any, shifts: Shifts) -> tuple[type[NewtonRun], dict[str, Any]]:
        """Return the kind of run whose thresholds move with x, and what it takes beside what all runs do."""
        return VectorRun, {"shifts": shifts, "initial_shifts": self.initial_shifts}

    def forget(self) -> None:
        """Forget the runs of this thread."""
        self._here.runs = weakref.WeakKeyDictionary()
        self._here.latest = None
        self._here.in_turns = False

    def note_turn(self, run: NewtonRun) -> None:
        """Note whose tree is grown, where no callback knows it."""
        self._here.in_turns = self._here.in_turns or run is not self._here.latest

    def check_train(self) -> None:
        """Raise ValueError if the update renews leaf values and the framework's own train drives the training."""
        if self.driven:
            return
        if self.parameters.threshold_update == "joint":
            raise ValueError(
                f"threshold_update='joint' renews leaf values, which the framework's own train cannot follow; "
                f"call {self._package()}.train, or use 'newton' or 'schur'"
            )
        self.choose_shifts(None)

    def _package(self) -> str:
        return type(self).__module__.rpartition(".")[0]

    def check_start(self, score: NDArray[Any], previous: ThresholdRecord | None, cause: str) -> None:
        """Raise ValueError if thresholds that stay fixed cannot suit the score that a run starts at."""
        fixed = self.parameters.threshold_update == "fixed" and self.parameters.thresholds is None
        if fixed and previous is None and np.any(score):
            raise ValueError(
                f"the score does not start at zero ({cause}), and threshold_update='fixed' cannot fit thresholds to "
                f"it: pass thresholds="
            )

    def callback_is_needed(self) -> ValueError:
        """Return the error for an update that reads trees in a training without the callback."""
        return ValueError(
            f"threshold_update={self.parameters.threshold_update!r} reads the newest tree through the callback: pass "
            f"callbacks=[objective.callback], or call train of this module"
        )
