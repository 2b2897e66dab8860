"""Passes over rows with soft labels or intervals: each class that a row may have is a row of its own, with a weight.

A row's loss is sum_y q_y l(y), with given weights q. Those of an interval that covers the part d_y of class y are the
model's own probabilities d_y P(y) at every pass, and sum_y q_y log(q_y / d_y) is added: with the cumulative link that
is the interval's likelihood, its gradients are those of the sum, and its curvatures below those of the sum
(docs/theory.md).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ordinal_objectives import predictions
from ordinal_objectives.aliases import FloatArray, IndexArray, IntArray, RealArray
from ordinal_objectives.losses import LeafSums, OrdinalLoss, RoundStatistics
from ordinal_objectives.ordinal_labels import OrdinalLabels, numbers_in
from ordinal_objectives.rows.checked_rows import LossBounds
from ordinal_objectives.utils.validation import check_sample_weight

# Intervals that the model takes for impossible are divided evenly.
_LEAST = 1e-300
# Outputs of a pass that it fills, by rows.
_FILLED = ("side_by_side", "columns", "higher")


def pass_over(kind: Any, loss: OrdinalLoss, y: Any, *args: Any, **options: Any) -> Any:
    """Return a pass of some kind over rows whose labels are class codes, or :class:`OrdinalLabels`."""
    if not isinstance(y, OrdinalLabels):
        return kind(loss, y, *args, **options)
    if y.between and not loss.takes_intervals and not y.is_plain:
        raise ValueError(
            f"loss {loss.identity!r} has no likelihood of intervals; for them take 'all_threshold' or "
            f"'cumulative_link', without a training_cost"
        )
    if not y.is_plain:
        return SoftLabelPass(kind, loss, y, *args, **options)
    n_classes, weight = (*args, None)[:2]
    return kind(loss, y.middle, n_classes, y.times(weight), **options)


def chances(loss: OrdinalLoss, scores: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return what the classes of an interval are weighed by, (n_samples, n_classes): the model's probabilities."""
    return predictions.proba(loss, scores, thresholds)


def judged_loss(rows: Any, scores: Any, thresholds: Any, hessian: str) -> float:
    """Return the loss by which rows are judged that no tree is grown on: of what is predicted for them."""
    if scores.ndim == 1 and not (isinstance(rows, SoftLabelPass) and rows.between):
        return float(rows(scores, thresholds, hessian).loss)
    return float(rows.loss_of_prediction(scores, thresholds))


class SoftLabelPass(LossBounds):
    """A pass over rows of which some may have several classes; methods and attributes are those of its kind.

    Parameters
    ----------
    kind : type
        :class:`.native.RowStatistics`, :class:`.native.MarginStatistics`, or one of :mod:`.reference`.
    loss : OrdinalLoss
    labels : OrdinalLabels
        A row without a label counts nothing.
    n_classes : int
    sample_weight : array-like of float, shape (n_samples,), or None
    **options
        Those of the kind.
    """

    def __init__(
        self,
        kind: Any,
        loss: OrdinalLoss,
        labels: OrdinalLabels,
        n_classes: int,
        sample_weight: Any = None,
        **options: Any,
    ) -> None:
        weight = check_sample_weight(sample_weight, len(labels))
        self._of_rows = kind(loss, labels.middle, n_classes, sample_weight, **options)
        row, code, given = labels.answers()
        self.loss, self.between, self._row, self._code = loss, labels.between, row, code
        if labels.between:
            self._part = labels.shares[labels.codes[row], code]
            given = given / self._part
        self._weight = given if weight is None else given * weight[row]
        self._inner = kind(loss, code, n_classes, self._weight, **options)
        self.class_weights = labels.class_weights(weight)
        self.total_weight = float(self.class_weights.sum())
        self.loss_precision = self._inner.loss_precision
        self._sizes = np.bincount(row, minlength=len(labels))
        self._first: IndexArray = np.cumsum(self._sizes) - self._sizes
        ends = np.append(self._first, len(row))
        self._sum = csr_matrix((np.ones(len(row), np.float32), np.arange(len(row)), ends))
        # Rows whose class the model weighs, their answers, and where those of each begin.
        self._open: IndexArray = np.flatnonzero(self._sizes > 1) if labels.between else self._first[:0]
        self._open_answers, sizes = self._answers_of(self._open), self._sizes[self._open]
        self._open_first, self._open_row = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)
        self._weight_now = self._weight.copy()

    _log_share, _are_held = 0.0, False

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_of_rows"], name)

    def __call__(self, scores: Any, thresholds: Any, hessian: str = "majorized", **options: Any) -> RoundStatistics:
        """Return the statistics of the rows, as the kind does."""
        scores = np.asarray(scores)
        log_share = self._weigh(scores, thresholds)
        outputs = {name: options[name] for name in _FILLED if options.get(name) is not None}
        # What a pass leaves as it was stays NaN.
        filled = {name: np.full((len(self._row), out.shape[1]), np.nan, np.float32) for name, out in outputs.items()}
        found = self._inner(_taken(scores, self._row), thresholds, hessian, **options | filled)
        for name, out in outputs.items():
            written = np.flatnonzero(~np.isnan(filled[name][0]))
            out[:, written] = self._sum @ filled[name][:, written]
        cross = self._added(found.cross)
        if len(cross) and "side_by_side" in outputs:
            cross = outputs["side_by_side"][:, 2 : 2 + cross.shape[1]]
        sums = replace(found.sums, loss=found.loss + log_share) if options.get("want_loss", True) else found.sums
        return RoundStatistics(self._added(found.gradient), self._added(found.hessian), cross, sums)

    def sums_of(
        self, rows: IntArray, scores: Any, thresholds: Any, hessian: str, light: Any = None, factor: float = 1.0
    ) -> RoundStatistics:
        """Return the sums over thresholds of some rows, as :class:`.native.RowStatistics` does."""
        self._weigh(scores, thresholds)
        light = None if light is None else np.repeat(light, self._sizes[rows])
        of_some = self._answers_of(rows)
        of_answers = _taken(scores, self._row)
        found: RoundStatistics = self._inner.sums_of(of_some, of_answers, thresholds, hessian, light, factor)
        return found

    def leaf_sums(self, leaves: Any, n_leaves: int, rows: Any = None) -> LeafSums:
        """Return the sums of the latest call over the leaves of a tree."""
        self._of_rows.check_leaves(leaves, n_leaves)
        some = () if rows is None else (self._answers_of(rows),)
        found: LeafSums = self._inner.leaf_sums(leaves[self._row], n_leaves, *some)
        return found

    def leaf_weights(self, leaves: Any, n_leaves: int) -> FloatArray:
        """Return the sum of the weights of each leaf's rows, float64 (n_leaves,)."""
        of_leaves: FloatArray = self._inner.leaf_weights(leaves[self._row], n_leaves)
        return of_leaves

    def loss_of_prediction(self, scores: Any, thresholds: Any) -> float:
        """Return the loss of margins as predictions use them; of intervals it is the log loss, with any loss.

        A model that believes in itself lowers the loss of a training on intervals, but not their log loss.
        """
        if not self.between:
            return float(self._inner.loss_of_prediction(_taken(scores, self._row), thresholds))
        first = self._first[self._sizes > 0]
        likely = predictions.proba(self.loss, self._of_thresholds(scores), np.asarray(thresholds, np.float64))
        of_answers = np.maximum(likely[self._row, self._code] * self._part, _LEAST)
        return -float(self._weight[first] @ np.log(np.add.reduceat(of_answers, first)))

    def hold_weights(self, scores: Any, thresholds: Any) -> None:
        """Weigh the classes of intervals by the model's probabilities of these scores, in all later calls too.

        Only then is the gradient, which takes the weights as given, that of the loss, unless the loss is the likelihood
        of the intervals.
        """
        self._are_held = False
        self._weigh(scores, thresholds)
        self._are_held = True

    def highest_loss(self, loss: float, rounding: float = 1.0) -> float:
        """Return the largest loss sum that may still be `loss`, at a multiple of the usual rounding."""
        return float(self._inner.highest_loss(loss - self._log_share, rounding)) + self._log_share

    def _added(self, of_answers: RealArray) -> Any:
        """Return the sums of numbers of a row's classes; those that were not asked for are none."""
        return self._sum @ of_answers if len(of_answers) else of_answers

    def _answers_of(self, rows: IntArray | IndexArray) -> Any:
        return numbers_in(self._first, self._sizes, rows).astype(np.uint32)

    def _of_thresholds(self, scores: RealArray) -> FloatArray:
        """Return scores of which each threshold has one, or f."""
        shared = getattr(self._of_rows, "score_of", None)
        found: FloatArray = (scores if shared is None else scores[:, shared]).astype(np.float64)
        return found

    def _weigh(self, scores: RealArray, thresholds: Any) -> float:
        """Weigh each interval's classes by the model's probabilities; return the sum of q log(q / d), or 0."""
        if len(self._open) and not self._are_held:
            answers, some = self._open_answers, self._of_thresholds(_taken(scores, self._open))
            likely = chances(self.loss, some, np.asarray(thresholds, np.float64))[self._open_row, self._code[answers]]
            part = self._part[answers]
            likely = np.maximum(likely * part, _LEAST)
            share, weight = likely / np.add.reduceat(likely, self._open_first)[self._open_row], self._weight[answers]
            self._weight_now[answers] = weight * share
            self._inner.reweigh(self._weight_now)
            self._log_share = float(weight @ (share * np.log(share / part)))
        return self._log_share


def _taken(scores: RealArray, rows: IndexArray) -> RealArray:
    """Return scores of some rows, each threshold's one after the other in memory."""
    return np.take(scores.T, rows, axis=-1).T
