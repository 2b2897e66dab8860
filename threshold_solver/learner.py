"""Thresholds of one training: where they start, how they move, and the longest step that loss and order allow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ordinal_objectives.aliases import ArrayLike, FloatArray
from ordinal_objectives.links import Link
from ordinal_objectives.losses import OrdinalLoss, RoundStatistics, get_loss, quantities
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver.quadratic import as_array, newton_step
from ordinal_objectives.threshold_solver.record import Diagnostics
from ordinal_objectives.utils.validation import NEGLIGIBLE_SHARE, check_two_classes

# Thresholds that fit given scores are found in so many steps at most, or when they move no farther than this share.
_MOST_STEPS = 100
_AT_REST = 1e-10
MAX_HALVINGS = 30


def initial_thresholds(
    class_weights: ArrayLike, link: str | Link = "logit", loss: str | OrdinalLoss = "all_threshold"
) -> quantities.InitialThresholds:
    r"""Thresholds that minimise the loss while the score is 0 everywhere.

    For the all-threshold and the cumulative-link loss
    :math:`\theta_k = G^{-1}(\sum_{l \le k} n_l / \sum_l n_l)`, for the immediate-threshold loss
    :math:`\theta_k = G^{-1}(n_k / (n_k + n_{k+1}))`, with n the weight of each class.

    Nothing in the data places a threshold that has no weight on one side: half a row is assumed there (less
    if a class weighs less than one row), shared out if several classes are empty. The data do not separate two
    thresholds around an empty inner class, and estimated alone they would cross: they are tied. With the cumulative
    link, whose loss needs a gap, half a row is assumed between them.

    Parameters
    ----------
    class_weights : array-like of shape (n_classes,), float64
        n, the sum of sample weights of each class; at least two of them positive.
    link : str or Link, default="logit"
        Link G^{-1}; see :func:`ordinal_objectives.links.get_link`.
    loss : str or OrdinalLoss, default="all_threshold"
        See :func:`ordinal_objectives.losses.get_loss`; an instance brings its own link. A loss of one's own starts
        like the all-threshold loss, unless it has a method ``start``.

    Returns
    -------
    InitialThresholds
        Thresholds with their masks `active` and `tied`, which the steps take.

    Raises
    ------
    ValueError
        If `class_weights` is not a vector, has a negative or infinite entry or fewer than two positive ones,
        or `link` or `loss` is unknown.

    Examples
    --------
    >>> from ordinal_objectives.threshold_solver import initial_thresholds
    >>> start = initial_thresholds([25, 50, 25, 0])
    >>> start.thresholds.round(3), start.active
    (array([-1.099,  1.099,  5.293]), array([ True,  True, False]))
    """
    n = as_array("class_weights", class_weights, None)
    of_loss = get_loss(loss, link)
    if np.any(n < 0.0):
        raise ValueError(f"class_weights must be at least 0, got {n.tolist()}")
    check_two_classes(n, name="class_weights")
    total = n.sum()
    observed = np.flatnonzero(n > NEGLIGIBLE_SHARE * total)
    half_a_row = 0.5 * min(max(1.0, NEGLIGIBLE_SHARE * total), n[observed].min())
    return of_loss.start_at(quantities.ClassWeights(n, observed, half_a_row))


class ThresholdLearner:
    """Moves the thresholds of one training run.

    Parameters
    ----------
    spec : OrdinalSpec
        The ordinal model.
    class_weights : ndarray of float64, shape (n_classes,)
        Sum of the weights of each class among the training rows.
    thresholds : ndarray of float64, shape (n_classes - 1,), or None
        Where they start; None for those that fit a score of 0.
    ordered : bool, default=True
        Whether they keep the order that the loss asks for. Not where they move with x: each row has its own then.

    Attributes
    ----------
    loss : OrdinalLoss
        Loss and link.
    thresholds : ndarray of float64, shape (n_classes - 1,)
        The newest ones. Replaced at every step, never changed in place.
    active, tied : ndarray of bool, shape (n_classes - 1,)
        Thresholds with weight on both sides, and those that move with the one below.
    step_hessian : {"majorized", "exact"}
        Curvature of the conditional step: a majoriser wherever there is one, since its step never raises the loss.
    newton_may_rise : bool
        Whether a full conditional step can raise the loss, and must be tried.
    diagnostics : Diagnostics

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.losses import AllThreshold
    >>> from ordinal_objectives.spec import OrdinalSpec
    >>> from ordinal_objectives.threshold_solver import ThresholdLearner
    >>> f, y = np.array([-1.0, -0.5, 0.2, 0.9]), np.array([0, 1, 1, 2])
    >>> learner = ThresholdLearner(OrdinalSpec(AllThreshold()), np.bincount(y).astype(float))
    >>> start = learner.thresholds
    >>> now = learner.loss.round_statistics(f, y, start)
    >>> learner.newton(now, lambda thresholds: learner.loss.value(f, y, thresholds).sum(), lambda loss: loss)
    False
    >>> start.round(3), learner.thresholds.round(3)
    (array([-1.099,  1.099]), array([-1.28 ,  1.118]))
    """

    def __init__(
        self,
        spec: OrdinalSpec,
        class_weights: FloatArray,
        thresholds: FloatArray | None = None,
        *,
        ordered: bool = True,
    ) -> None:
        self.spec, self.loss = spec, (loss := spec.loss)
        start = initial_thresholds(class_weights, loss=loss)
        self.ordered = loss.ordered and ordered
        self.active, self.tied = start.active, start.tied
        n_thresholds = len(start.thresholds)
        self.thresholds = start.thresholds if thresholds is None else as_array("thresholds", thresholds, n_thresholds)
        self.step_hessian = "majorized" if loss.supports("majorized") else "exact"
        self.newton_may_rise = self.step_hessian == "exact" or loss.strictly_ordered
        self.diagnostics = Diagnostics(n_inactive=int((~start.active).sum()), n_tied=int(start.tied.sum()))

    def set_thresholds(self, thresholds: FloatArray) -> None:
        """Replace the thresholds; the array is kept as it is, not copied."""
        self.thresholds = thresholds

    def settle(self, step: Callable[[], object]) -> None:
        """Take steps until the thresholds rest, or 100 of them."""
        for _ in range(_MOST_STEPS):
            before = self.thresholds
            step()
            if np.abs(self.thresholds - before).max() <= _AT_REST * (1 + np.abs(before).max()):
                return

    def newton(
        self, now: RoundStatistics, loss_at: Callable[[FloatArray], float], highest: Callable[[float], float]
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
        sums, counts = now.sums, self.diagnostics
        off = sums.threshold_hessian_off if self.loss.strictly_ordered else None
        of_thresholds = sums.threshold_gradient, sums.threshold_hessian, off
        delta = newton_step(*of_thresholds, self.active, self.tied, diagnostics=counts, check_input=False)
        if self.newton_may_rise:
            return self.move(delta, lambda _, thresholds: loss_at(thresholds), highest(sums.loss)) > 0.0
        self.thresholds = self.thresholds + delta
        if self.ordered:
            self.thresholds, repaired = repair_order(self.thresholds, check_input=False)
            if repaired:
                self.diagnostics.add(n_repaired=repaired)
        return False

    def move(
        self,
        delta: FloatArray,
        loss_at: Callable[[float, FloatArray], float],
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
        self.thresholds, share = longest_step(
            self.thresholds,
            delta,
            loss_at,
            highest,
            ordered=self.ordered,
            strictly_ordered=self.loss.strictly_ordered,
            max_halvings=max_halvings,
            diagnostics=self.diagnostics,
            check_input=False,
        )
        return share


def longest_step(
    thresholds: ArrayLike,
    delta: ArrayLike,
    loss_at: Callable[[float, FloatArray], float],
    highest: float,
    *,
    ordered: bool = True,
    strictly_ordered: bool = False,
    max_halvings: int = MAX_HALVINGS,
    diagnostics: Diagnostics | None = None,
    check_input: bool = True,
) -> tuple[FloatArray, float]:
    """Take the longest of the steps delta, delta/2, delta/4, ... after which the loss is not above `highest`.

    Where a step leaves thresholds out of order, they are sorted if the loss is defined without order, since sorting
    never raises the all-threshold loss; otherwise the step is halved.

    Parameters
    ----------
    thresholds : array-like of shape (n_classes - 1,), float64
        Cut points before the step; not changed.
    delta : array-like of shape (n_classes - 1,), float64
        Step to try first.
    loss_at : callable
        ``loss_at(share, thresholds)`` returns the training loss after the given share of the step; `thresholds`
        are in order. Whatever else moves, as leaf values do in a joint step, moves by the same share.
    highest : float
        Largest loss that is allowed: the one before the step, and its rounding.
    ordered : bool, default=True
        Whether thresholds must be in order. With the immediate-threshold loss they need not.
    strictly_ordered : bool, default=False
        Whether the loss is defined for strictly increasing thresholds only, as that of the cumulative link. A step
        that breaks this is halved without a call of `loss_at`.
    max_halvings : int, default=30
        Halvings before the step is given up. With 0 the step is only tried, and no rejection is counted.
    diagnostics : Diagnostics or None
        `n_halved`, `n_rejected` and `n_repaired` are raised here.
    check_input : bool, default=True
        Whether arrays and numbers are checked; False for those of a training.

    Returns
    -------
    new_thresholds : ndarray of shape (n_classes - 1,), float64
        A copy of `thresholds` if no step was accepted.
    share : float
        Of the step that was accepted; 0 if none was.

    Raises
    ------
    ValueError
        If an array has the wrong shape or is not finite, `highest` is NaN, `max_halvings` is negative, or
        `thresholds` are out of order to begin with.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.threshold_solver import longest_step
    >>> loss_at = lambda share, thresholds: float(np.sum((thresholds - [0.0, 1.0]) ** 2))
    >>> start = np.array([1.0, 2.0])
    >>> longest_step(start, [-4.0, -4.0], loss_at, loss_at(0.0, start), strictly_ordered=True)
    (array([-1.,  0.]), 0.5)
    """
    if check_input:
        thresholds = as_array("thresholds", thresholds, None)
        delta = as_array("delta", delta, thresholds.size)
    theta, step = np.asarray(thresholds), np.asarray(delta)
    counts = Diagnostics() if diagnostics is None else diagnostics
    if (ordered or strictly_ordered) and not is_ordered(theta, strictly_ordered, check_input=False):
        how = "strictly " if strictly_ordered else ""
        raise ValueError(f"thresholds must increase {how}before the step, got {theta.tolist()}")
    n_repaired = 0
    for n_halvings in range(max_halvings + 1):
        share = 0.5**n_halvings
        candidate = theta + share * step
        if strictly_ordered and not is_ordered(candidate, strict=True, check_input=False):
            continue
        if ordered:
            candidate, repaired = repair_order(candidate, check_input=False)
            n_repaired += repaired
        # A loss that is not a number fails the comparison, so it is never accepted.
        if loss_at(share, candidate) <= highest:
            if n_halvings or n_repaired:
                counts.add(n_halved=n_halvings, n_repaired=n_repaired)
            return candidate, share
    counts.add(n_halved=max_halvings, n_rejected=int(max_halvings > 0), n_repaired=n_repaired)
    return theta.copy(), 0.0


def is_ordered(thresholds: ArrayLike, strict: bool = False, *, check_input: bool = True) -> bool:
    """Tell whether thresholds increase.

    Parameters
    ----------
    thresholds : array-like of shape (n_classes - 1,), float64
        Cut points.
    strict : bool, default=False
        Whether equal neighbours count as out of order, as they do for the cumulative-link loss.
    check_input : bool, default=True
        Whether thresholds are checked.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If `thresholds` is not a finite vector.

    Examples
    --------
    >>> from ordinal_objectives.threshold_solver import is_ordered
    >>> is_ordered([-1.0, 0.5, 0.5]), is_ordered([-1.0, 0.5, 0.5], strict=True)
    (True, False)
    """
    gaps = np.diff(as_array("thresholds", thresholds, None) if check_input else thresholds)
    return bool(np.all(gaps > 0.0 if strict else gaps >= 0.0))


def repair_order(thresholds: ArrayLike, *, check_input: bool = True) -> tuple[FloatArray, int]:
    """Sort thresholds that a partial step left out of order.

    Sorting never raises the all-threshold loss. Only rows of the classes between two crossing thresholds depend on
    their order, and for these the loss is lower in order; for all other rows the sum of both terms is the same.
    Projections that move thresholds to new values, such as isotonic regression, have no such property.

    Parameters
    ----------
    thresholds : array-like of shape (n_classes - 1,), float64
        Cut points in any order; not changed.
    check_input : bool, default=True
        Whether thresholds are checked.

    Returns
    -------
    sorted_thresholds : ndarray of shape (n_classes - 1,), float64
        A sorted copy.
    n_repairs : int
        Neighbouring pairs that were out of order; 0 means that nothing moved.

    Raises
    ------
    ValueError
        If `thresholds` is not a finite vector.

    Examples
    --------
    >>> from ordinal_objectives.threshold_solver import repair_order
    >>> thresholds, n_repairs = repair_order([0.4, 0.1, 2.0])
    >>> thresholds.tolist(), n_repairs
    ([0.1, 0.4, 2.0], 1)
    """
    theta = as_array("thresholds", thresholds, None) if check_input else np.asarray(thresholds)
    return np.sort(theta), int(np.count_nonzero(np.diff(theta) < 0.0))
