"""The threshold step of one training: what moves, how far, and in which order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.losses import OrdinalLoss, RoundStatistics
from ordinal_objectives.threshold_solver.checks import as_vector
from ordinal_objectives.threshold_solver.diagnostics import Diagnostics
from ordinal_objectives.threshold_solver.initial_thresholds import initial_thresholds
from ordinal_objectives.threshold_solver.line_search import MAX_HALVINGS, halved
from ordinal_objectives.threshold_solver.newton import conditional_step
from ordinal_objectives.threshold_solver.order import in_order

# Thresholds that fit given scores are found in so many steps at most, or when they move no farther than this share.
_MOST_STEPS = 100
_AT_REST = 1e-10


class ThresholdLearner:
    """Moves the thresholds of one training run.

    Parameters
    ----------
    loss : OrdinalLoss
        Loss and link.
    class_weights : ndarray of float64, shape (n_classes,)
        Sum of the weights of each class among the training rows.
    thresholds : ndarray of float64, shape (n_classes - 1,), or None
        Where they start; None for those that fit a score of 0.
    ordered : bool, default=True
        Whether they keep the order that the loss asks for. Not where they move with x: each row has its own then.

    Attributes
    ----------
    thresholds : ndarray of float64, shape (n_classes - 1,)
        The newest ones. Replaced at every step, never changed in place.
    active, tied : ndarray of bool, shape (n_classes - 1,)
        Thresholds with weight on both sides, and those that move with the one below.
    step_hessian : {"majorized", "exact"}
        Curvature of the conditional step: a majoriser wherever there is one, since its step never raises the loss.
    diagnostics : Diagnostics

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.losses import AllThreshold
    >>> from ordinal_objectives.threshold_solver import ThresholdLearner
    >>> f, y = np.array([-1.0, -0.5, 0.2, 0.9]), np.array([0, 1, 1, 2])
    >>> learner = ThresholdLearner(AllThreshold(), np.bincount(y).astype(float))
    >>> start = learner.thresholds
    >>> now = learner.loss.round_statistics(f, y, start)
    >>> learner.newton(now, lambda thresholds: learner.loss.value(f, y, thresholds).sum(), lambda loss: loss)
    False
    >>> start.round(3), learner.thresholds.round(3)
    (array([-1.099,  1.099]), array([-1.28 ,  1.118]))
    """

    def __init__(
        self,
        loss: OrdinalLoss,
        class_weights: NDArray[np.float64],
        thresholds: NDArray[np.float64] | None = None,
        *,
        ordered: bool = True,
    ) -> None:
        start = initial_thresholds(class_weights, loss=loss)
        self.loss = loss
        self.ordered = loss.ordered and ordered
        self.active, self.tied = start.active, start.tied
        n_thresholds = len(start.thresholds)
        self.thresholds = start.thresholds if thresholds is None else as_vector("thresholds", thresholds, n_thresholds)
        self.step_hessian = "majorized" if loss.supports("majorized") else "exact"
        self.diagnostics = Diagnostics(n_inactive=int((~start.active).sum()), n_tied=int(start.tied.sum()))

    def set_thresholds(self, thresholds: NDArray[np.float64]) -> None:
        """Replace the thresholds; the array is kept as it is, not copied."""
        self.thresholds = thresholds

    def settle(self, step: Callable[[], object]) -> None:
        """Take steps until the thresholds rest, or 100 of them."""
        for _ in range(_MOST_STEPS):
            before = self.thresholds
            step()
            if np.abs(self.thresholds - before).max() <= _AT_REST * (1 + np.abs(before).max()):
                return

    @property
    def newton_may_rise(self) -> bool:
        """Whether a full conditional step can raise the loss, and must be tried."""
        return self.step_hessian == "exact" or self.loss.strictly_ordered

    def newton(
        self,
        now: RoundStatistics,
        loss_at: Callable[[NDArray[np.float64]], float],
        highest: Callable[[float], float],
    ) -> bool:
        """Take one conditional Newton step, given the score.

        Parameters
        ----------
        now : RoundStatistics
            At the newest thresholds, with the curvature `step_hessian`, and with the loss if `newton_may_rise`.
        loss_at : callable
            ``loss_at(thresholds)`` returns the loss at the same score; called only if `newton_may_rise`.
        highest : callable
            ``highest(loss)`` returns the largest loss that may be `loss`, rounded.

        Returns
        -------
        bool
            Whether the last thresholds passed to `loss_at` are now the newest.
        """
        delta = conditional_step(
            now.threshold_gradient,
            now.threshold_hessian,
            now.threshold_hessian_off if self.loss.strictly_ordered else None,
            self.active,
            self.tied,
            self.diagnostics,
        )
        if self.newton_may_rise:
            return self.move(delta, lambda _, thresholds: loss_at(thresholds), highest(now.loss)) > 0.0
        self.thresholds = self.thresholds + delta
        if self.ordered:
            self.thresholds, repaired = in_order(self.thresholds)
            self.diagnostics.add(n_repaired=repaired)
        return False

    def move(
        self,
        delta: NDArray[np.float64],
        loss_at: Callable[[float, NDArray[np.float64]], float],
        highest: float,
        max_halvings: int = MAX_HALVINGS,
    ) -> float:
        """Move the thresholds, and what `loss_at` moves with them, by the longest step that the loss allows.

        Parameters
        ----------
        delta : ndarray of float64, shape (n_classes - 1,)
        loss_at, highest, max_halvings
            As in :func:`.longest_step`.

        Returns
        -------
        float
            Share of the step that was taken; 0 if the thresholds stay. The newest thresholds are those of the last
            call of `loss_at`, unless it is 0.
        """
        strictly = self.loss.strictly_ordered
        self.thresholds, share = halved(
            self.thresholds, delta, loss_at, highest, self.ordered, strictly, max_halvings, self.diagnostics
        )
        return share
