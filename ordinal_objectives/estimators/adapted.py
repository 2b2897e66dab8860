r"""Thresholds for another population: the trees stay.

Thresholds are fitted to labelled rows by their likelihood, less a penalty of the distance to those of the model,

.. math::
    -\sum_i w_i \log [G(\theta_{y_i} - f_i) - G(\theta_{y_i - 1} - f_i)]
    + \tfrac{1}{2} (\theta - \theta^0)' \Lambda (\theta - \theta^0).

A penalty has a strength for each kind of change: all thresholds move alike, they spread, a single class grows, or
anything else. Many are tried, each is judged by leave-one-out, and the mean of their thresholds is taken, weighted by
the likelihood of the rows that were left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from ordinal_objectives.aliases import FloatArray, IntArray
from ordinal_objectives.links import Link
from ordinal_objectives.losses import AllThreshold, CumulativeLink, OrdinalLoss

# Strengths of a penalty: how many rows it weighs as much as. The last one forbids the change.
_FORBIDDEN = 1e6
_STRENGTHS = (0.3, 3.0, 30.0, _FORBIDDEN)
# Weight of a row that is invented for each inner class.
_INVENTED = 0.1
# From so many rows on, the weakest penalty is taken, and nothing is judged.
_MANY_ROWS = 5_000
# Thresholds that were equal are moved apart by so much, where labels need a class between them.
_LEAST_GAP = 1e-6
# A row that is left out moves two thresholds no farther together than this share of their distance.
_NEARER = 0.9
# Newton steps are taken until none moves a threshold farther than this, or so many of them.
_MOST_STEPS, _AT_REST = 1_000, 1e-8


class LabelledScores(NamedTuple):
    """Rows that thresholds are fitted to.

    Attributes
    ----------
    scores : ndarray of float64, shape (n_samples,) or (n_samples, n_classes - 1)
    codes : ndarray of int32, shape (n_samples,)
    weight : ndarray of float64, shape (n_samples,)
    """

    scores: FloatArray
    codes: IntArray
    weight: FloatArray

    def ends(self, thresholds: FloatArray) -> FloatArray:
        """Return theta - f below and above each row's class, (n_samples, 2), infinite beyond the outer classes."""
        sides = self.codes[:, np.newaxis] + np.arange(2)
        scores = self.scores[:, np.newaxis]
        if self.scores.ndim == 2:
            scores = np.take_along_axis(np.pad(self.scores, ((0, 0), (1, 1)), mode="edge"), sides, axis=1)
        return np.concatenate([[-np.inf], thresholds, [np.inf]])[sides] - scores


class _Terms(NamedTuple):
    """Minus the log likelihood of each row, and its derivatives in the thresholds below and above its class."""

    value: FloatArray
    gradient: FloatArray  # (n_samples, 2)
    hessian: FloatArray  # (n_samples, 2, 2)


def _terms(link: Link, rows: LabelledScores, thresholds: FloatArray) -> _Terms | None:
    """Return the terms of all rows, or None where the class of one has no probability."""
    lower, upper = rows.ends(thresholds).T
    if not (lower < upper).all():
        return None
    of_rows, weight = link.interval(lower, upper), rows.weight[:, np.newaxis]
    hessian = np.column_stack([of_rows.d_lower2, of_rows.d_cross, of_rows.d_cross, of_rows.d_upper2]) * weight
    gradient = np.column_stack([of_rows.d_lower, of_rows.d_upper]) * weight
    return _Terms(rows.weight * of_rows.value, gradient, hessian.reshape(-1, 2, 2))


def _sums(rows: LabelledScores, terms: _Terms, n: int) -> tuple[FloatArray, FloatArray]:
    """Return the derivatives of all rows in the n thresholds, (n,) and (n, n)."""
    gradient, hessian = np.zeros(n + 2), np.zeros((n + 2, n + 2))  # with a threshold beyond each outer class
    for side, other in product(range(2), repeat=2):
        np.add.at(hessian, (rows.codes + side, rows.codes + other), terms.hessian[:, side, other])
    for side in range(2):
        gradient += np.bincount(rows.codes + side, terms.gradient[:, side], n + 2)
    return gradient[1:-1], hessian[1:-1, 1:-1]


def _fit(
    link: Link, rows: LabelledScores, start: FloatArray, penalty: FloatArray
) -> tuple[FloatArray, _Terms, FloatArray]:
    """Return the thresholds of the highest penalised likelihood, the terms there and the curvature, by Newton steps."""
    thresholds, n = start, len(start)
    terms = _terms(link, rows, start)
    assert terms is not None  # thresholds are separated at the start
    for _ in range(_MOST_STEPS):
        gradient, hessian = _sums(rows, terms, n)
        curvature, slope = hessian + penalty, gradient + penalty @ (thresholds - start)
        step = -np.linalg.solve(curvature, slope)
        if step @ slope > 0.0:  # of a link whose losses are not convex: go down also where they bend down
            bends, ways = np.linalg.eigh(curvature)
            step = -ways @ ((slope @ ways) / np.maximum(np.abs(bends), np.finfo(np.float64).tiny))
        if np.abs(step).max() <= _AT_REST:
            break
        length, shorter = 1.0, None
        while shorter is None and length > _AT_REST:
            at = thresholds + length * step
            then, middle = _terms(link, rows, at), 0.5 * (thresholds + at) - start
            # The penalty grows by the product of the step and its own slope in the middle.
            if then is not None and then.value.sum() - terms.value.sum() + length * step @ penalty @ middle <= 0.0:
                thresholds, terms, shorter = at, then, length
            length /= 2.0
        if shorter is None:
            break
    return thresholds, terms, curvature


def _left_out(link: Link, rows: LabelledScores, thresholds: FloatArray, terms: _Terms, curvature: FloatArray) -> float:
    """Return minus the log likelihood of each row by thresholds that were fitted without it: one Newton step away.

    Of a row that counts as several only one is left out.
    """
    one = 1.0 / np.maximum(rows.weight, 1.0)[:, np.newaxis, np.newaxis]
    inverse = np.pad(np.linalg.inv(curvature), 1)
    sides = rows.codes[:, np.newaxis] + np.arange(2)
    around = inverse[sides[:, :, np.newaxis], sides[:, np.newaxis, :]]
    # Only the two thresholds around a row's class are needed of (V - H)^-1 g, by the Woodbury identity.
    moved = around @ np.linalg.solve(np.eye(2) - one * terms.hessian @ around, one * terms.gradient[:, :, np.newaxis])
    lower, upper = rows.ends(thresholds).T
    nearer, room = moved[:, 0, 0] - moved[:, 1, 0], _NEARER * (upper - lower)
    share = np.divide(room, nearer, out=np.ones_like(room), where=nearer > room)
    left_out = link.interval(lower + share * moved[:, 0, 0], upper + share * moved[:, 1, 0])
    return float(rows.weight @ left_out.value)


def _where_one_class_grows(link: Link, scores: FloatArray, weight: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return how thresholds begin to move where one class becomes more frequent, by Bayes' rule: a row a class."""
    n = len(thresholds)
    slopes, whole = np.zeros((n + 1, n)), np.zeros((n, n))
    for code in range(n + 1):
        alike = LabelledScores(scores, np.full(len(scores), code, np.int32), np.ones(len(scores)))
        terms = _terms(link, alike, thresholds)
        assert terms is not None  # thresholds are separated
        proba = weight * np.exp(-terms.value)
        weighted = _Terms(proba * terms.value, (proba * terms.gradient.T).T, (proba * terms.hessian.T).T)
        slopes[code], hessian = _sums(alike, weighted, n)
        whole += hessian
    return np.asarray(-np.linalg.solve(whole, slopes.T).T, dtype=np.float64)


def _penalties(
    link: Link, scores: FloatArray, weight: FloatArray, thresholds: FloatArray
) -> tuple[list[FloatArray], FloatArray]:
    """Return the penalties that are tried, (n_classes - 1, n_classes - 1) each, and which changes each one allows.

    Those that allow the same share one weight, so that there is no gain in being many.
    """
    n = len(thresholds)
    alike, spread = np.full(n, n**-0.5), thresholds - thresholds.mean()
    kinds = [np.outer(alike, alike)]
    if n > 1:
        spread /= np.linalg.norm(spread)
        kinds.append(np.outer(spread, spread))
    if n > 2:
        kinds.append(np.eye(n) - np.sum(kinds, axis=0))
    # What changes the shape more is bound at least as much.
    strengths = [s for s in product(_STRENGTHS, repeat=len(kinds)) if max(s) == s[-1]]
    penalties = list(np.tensordot(strengths, kinds, axes=1))
    allowed = [tuple(int(s < _FORBIDDEN) for s in by) for by in strengths]
    for code, grows in enumerate(_where_one_class_grows(link, scores, weight, thresholds) if n > 1 else ()):
        of_class = np.outer(grows, grows) / (grows @ grows)
        penalties += [_FORBIDDEN * (np.eye(n) - of_class) + strength * of_class for strength in _STRENGTHS[:-1]]
        allowed += [(code,)] * len(_STRENGTHS[:-1])
    return penalties, np.array([1.0 / allowed.count(one) for one in allowed])


def _separated(thresholds: FloatArray) -> FloatArray:
    """Return thresholds that increase by something at every step."""
    gaps = np.maximum(np.diff(thresholds), _LEAST_GAP)
    return np.concatenate([thresholds[:1], thresholds[0] + np.cumsum(gaps)])


def _in_order(scores: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return scores whose linear predictors increase in each row, as probabilities take them."""
    if scores.ndim == 1:
        return scores
    sorted_predictors = np.sort(thresholds - scores, axis=1) + _LEAST_GAP * np.arange(len(thresholds))
    ordered: FloatArray = thresholds - sorted_predictors
    return ordered


def to_labels(
    loss: OrdinalLoss, scores: FloatArray, codes: IntArray, weight: FloatArray, thresholds: FloatArray
) -> FloatArray:
    """Return the thresholds that suit labelled rows, near those of the model, (n_classes - 1,).

    Parameters
    ----------
    loss : OrdinalLoss
    scores : ndarray of float64, shape (n_samples,) or (n_samples, n_classes - 1)
    codes : ndarray of int32, shape (n_samples,)
    weight : ndarray of float64, shape (n_samples,)
    thresholds : ndarray of float64, shape (n_classes - 1,)
        Of the model.

    Raises
    ------
    ValueError
        If the loss has other probabilities than differences of G(theta - f).
    """
    link, counted, start = _link_of(loss), weight > 0.0, _separated(thresholds)
    scores = _in_order(scores[counted], thresholds)
    # Where a class has no row, nothing else keeps the thresholds around it in order.
    inner = np.arange(1, len(start), dtype=np.int32)
    between = np.broadcast_to(0.5 * (start[1:] + start[:-1]), (*scores.shape[:0:-1], len(inner))).T
    rows = LabelledScores(
        np.concatenate([scores, between]),
        np.concatenate([codes[counted], inner]),
        np.concatenate([weight[counted], np.full(len(inner), _INVENTED)]),
    )
    if weight.sum() >= _MANY_ROWS:
        return _fit(link, rows, start, _STRENGTHS[0] * np.eye(len(start)))[0]
    penalties, shares = _penalties(link, scores, weight[counted], start)
    fitted = [_fit(link, rows, start, penalty) for penalty in penalties]
    shares = softmax(np.log(shares) - [_left_out(link, rows, *fit) for fit in fitted])
    mean: FloatArray = shares @ np.array([thresholds for thresholds, *_ in fitted])
    return mean


def forget_losses(evals: Mapping[str, Any], n: int, beyond: int, n_earlier: int) -> None:
    """Make NaN of the losses of evaluation sets after n rounds and those beyond, which other thresholds have had.

    Libraries measure from the first round after those of a continued model on, the engine from the start.
    """
    for found in evals.values():
        is_of_library = isinstance(found, dict)
        first = max(n - 1 - n_earlier, 0) if is_of_library else n
        for losses in found.values() if is_of_library else [found]:
            losses[first : first + beyond] = [float("nan")] * len(losses[first : first + beyond])


def _link_of(loss: OrdinalLoss) -> Link:
    if type(loss) not in (AllThreshold, CumulativeLink):
        raise ValueError(
            f"thresholds of another population are found for the losses 'all_threshold' and 'cumulative_link' without "
            f"training_cost; this model was trained with {loss!r}"
        )
    return loss.link
