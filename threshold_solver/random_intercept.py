r"""A random intercept: an effect of each group of rows, added to the score.

Effects are normal with mean 0 and variance tau^2. Rounds move them with the leaves, by a Newton step of the
penalised likelihood: with the sums G and H of a group's gradients and Hessians,

.. math::
    b \leftarrow \frac{H b - G}{H + 1 / \tau^2}.

To second order, b - G / H is what the group alone says, with variance 1 / H: normal with variance tau^2 + 1 / H over
the groups. tau^2 is the value of the highest likelihood of these, by EM.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import softmax

from ordinal_objectives import _core
from ordinal_objectives.aliases import FloatArray, Params, RealArray, Table
from ordinal_objectives.losses import CumulativeLink, OrdinalLoss, RoundStatistics
from ordinal_objectives.random_effects import GroupColumn, RandomEffects
from ordinal_objectives.rows import CPU
from ordinal_objectives.threshold_solver import JointQuadratic, ThresholdLearner, ThresholdRecord
from ordinal_objectives.threshold_solver.effect_errors import Cells, Errors, GroupSums, JointCovariance, errors
from ordinal_objectives.threshold_solver.quadratic import free_directions, tridiagonal

# Steps of EM in a round, the variance before the first one, and how many times that before it has at most: where few
# rows are of a class, a round's quadratic model may have no maximum.
_EM_STEPS, _START, _MOST_GROWTH = 20, 1.0, 4.0
# Effects move in each of so many rounds, and then in each sixth: they have settled, and sums over groups take time.
_EVERY_ROUND, _LATER_EVERY = 10, 6
# Points of the effect of each group, in standard deviations from its mean, and their shares (Gauss and Hermite).
_POINTS, _SHARES = (of[:, np.newaxis] for of in np.polynomial.hermite_e.hermegauss(5))
_SHARES /= _SHARES.sum()
# Steps of EM after the last tree at most, and how little thresholds and tau move in the last one.
_MOST_STEPS, _AT_REST = 50, 1e-4
# A tau larger than the range of the thresholds by this has no end: groups determine the class, or a class is too rare.
_NO_END = 10.0
_NEWTON_STEPS = 20  # to the modes, at most
# The least variance of several columns, and how many groups all of them but the largest may have to be found together.
_LEAST, _MOST_TOGETHER = 1e-8, 1_000
_TINY = float(np.finfo(np.float64).tiny)


def _shares(of_group: FloatArray, variance: float) -> FloatArray:
    """Return the share of each effect in what its group says, given the variance of its error."""
    return 1.0 - of_group / variance


def _with_location(of_group: FloatArray, variance: float) -> FloatArray:
    """Return the variance of each effect's error, given that at a known location, which few groups leave uncertain."""
    shares = _shares(of_group, variance)
    return of_group + shares**2 * (variance / max(float(shares.sum()), _TINY))


class _ColumnLearner:
    """Effects of the groups of one column in a training, and how they move."""

    def __init__(self, column: GroupColumn, X: Table, earlier: RandomEffects | None, n_trees: int) -> None:
        n = len(column.groups)
        self.rows = column.numbers(X)
        self.group = self.rows.astype(np.int32)
        self._column, self._since = column, n_trees
        self._effects, self._errors, self._error = np.zeros(n), np.full(n, np.sqrt(_START)), 0.0
        self._variance, self._history = _START, [] if earlier is None else list(earlier.at_end(n_trees).history[:-1])
        if earlier is not None:
            self._effects[: len(earlier.groups)], self._variance = earlier.effects, earlier.variance

    def begin(self, gradient: RealArray, hessian: RealArray, n_trees: int) -> FloatArray:
        """Find the variance, and return the step of each row's effect."""
        n, before = len(self._effects), self._effects
        self._history.append((self._since, before, self._variance))
        self._since = n_trees
        sums = [np.bincount(self.rows, of, n + 2)[:n] for of in (gradient, hessian)]
        G, H = np.asarray(sums, dtype=np.float64)
        counted, most = H > 0.0, _MOST_GROWTH * self._variance
        for _ in range(_EM_STEPS):
            modes = (H * before - G) / (H + 1.0 / self._variance)
            squares = modes[counted] ** 2 + _with_location(1.0 / (H[counted] + 1.0 / self._variance), self._variance)
            self._variance = min(float(squares.mean()), most)
        self._before, self._step = before, modes - before
        of_group = 1.0 / (H + 1.0 / self._variance)
        self._errors, shares = np.sqrt(of_group), _shares(of_group, self._variance)
        self._error = self._variance * float(np.sqrt(2.0 / np.maximum(shares @ shares, _TINY)))
        return np.append(self._step, [0.0, 0.0])

    def move(self, share: float) -> tuple[FloatArray, float]:
        """Move the effects by a share of the step; return it, and how the penalty grows."""
        step = share * self._step
        self._effects = self._before + step
        return np.append(step, [0.0, 0.0]), float(step @ (self._effects + self._before)) / (2.0 * self._variance)

    def of_groups(self) -> FloatArray:
        """Return the effect of each group, and of rows without one."""
        return np.append(self._effects, [0.0, 0.0])

    def found(self) -> RandomEffects:
        """Return the newest effects."""
        history = (*self._history, (self._since, self._effects, self._variance))
        return RandomEffects(self._column, self._effects, self._errors, self._variance, self._error, history)


class EffectsLearner:
    """Effects of groups in a training, and how they move: one column after the other, each given those before it.

    Parameters
    ----------
    columns : sequence of GroupColumn
    X : ndarray, shape (n_samples, n_features)
        Checked features of the training.
    n_threads : int
    earlier : sequence of RandomEffects
        Of the model that is continued, if there is one.
    n_trees : int
        Trees of that model.
    """

    def __init__(
        self,
        columns: Sequence[GroupColumn],
        X: Table,
        n_threads: int,
        earlier: Sequence[RandomEffects] = (),
        n_trees: int = 0,
    ) -> None:
        before: dict[int, RandomEffects] = {one.column.place: one for one in earlier}
        self._columns = [_ColumnLearner(column, X, before.get(column.place), n_trees) for column in columns]
        self._first = self._n_trees = n_trees
        self._n_threads = n_threads

    def begin(self, now: RoundStatistics, n_trees: int | None = None) -> bool:
        """Find variances and steps at a pass, if effects move with the next tree; tell whether they do.

        ``n_trees`` counts that tree as well; None where each call is for another one.
        """
        self._n_trees = self._n_trees + 1 if n_trees is None else n_trees
        n_rounds = self._n_trees - self._first
        if n_rounds > _EVERY_ROUND and n_rounds % _LATER_EVERY:
            return False
        gradient = now.gradient
        for column in self._columns:
            step = column.begin(gradient, now.hessian, self._n_trees)
            if column is not self._columns[-1]:  # the gradient after it, to second order
                gradient = gradient + now.hessian * step[column.rows]
        return True

    def move(self, share: float, score: FloatArray) -> float:
        """Move the effects, and a score in place, by a share of the step; return how the penalty grows."""
        total = 0.0
        for column in self._columns:
            step, penalty = column.move(share)
            _core.add_leaf_values(score, column.group, step, score, self._n_threads)
            total += penalty
        return total

    def add_to(self, score: FloatArray) -> FloatArray:
        """Add their effects to a score of the training rows, in place, and return it."""
        for column in self._columns:
            _core.add_leaf_values(score, column.group, column.of_groups(), score, self._n_threads)
        return score

    def found(self) -> tuple[RandomEffects, ...]:
        """Return the newest effects of each column."""
        return tuple(column.found() for column in self._columns)


class RowsWithScores(NamedTuple):
    """Checked rows of a training, with the scores of its trees."""

    X: Table
    y: Any
    n_classes: int
    weight: FloatArray | None
    scores: FloatArray


class IntegratedEffects:
    """Effects that a likelihood is integrated over, given the trees' scores.

    The effect of a group is taken at five points around its mean. For the highest likelihood, by EM, thresholds take
    joint Newton steps with the means, for which groups are leaves with the penalty 1 / tau^2, and rows have all five
    points.

    Parameters
    ----------
    effects : RandomEffects
        Those to start from.
    rows : RowsWithScores
        With their groups.
    loss : OrdinalLoss
    n_threads : int or None
    """

    def __init__(self, effects: RandomEffects, rows: RowsWithScores, loss: OrdinalLoss, n_threads: int | None) -> None:
        self._scores = scores = rows.scores
        self._effects, self._n = effects, len(effects.groups)
        self._group = effects.column.numbers(rows.X)
        weight = np.ones(len(scores)) if rows.weight is None else rows.weight
        self._counted = np.bincount(self._group, weight, self._n + 2)[:-2] > 0.0
        y, of_points = rows.y[np.tile(np.arange(len(scores)), len(_POINTS))], (_SHARES * weight).ravel()
        self._pass: Any = CPU(n_threads).row_pass(loss, y, rows.n_classes, of_points)
        self._leaves = (self._group + (self._n + 2) * np.arange(len(_POINTS))[:, np.newaxis]).ravel()
        self._mean, self._sd, self._variance = effects.effects, effects.standard_errors, effects.variance

    def find(self, learner: ThresholdLearner) -> RandomEffects:
        """Return the effects of the highest likelihood, and move the thresholds of a learner.

        They are those of the rounds where the likelihood has no maximum.
        """
        start = learner.thresholds
        no_end = (_NO_END + float(np.ptp(start))) ** 2
        for _ in range(_MOST_STEPS):
            thresholds, tau = learner.thresholds, self._variance**0.5
            self._joint_step(learner)
            self._find_posteriors()
            self._find_variance()
            if not self._variance <= no_end:
                learner.set_thresholds(start)
                _warn_without_end(self._effects.column)
                return self._effects
            if np.abs(learner.thresholds - thresholds).max() + abs(self._variance**0.5 - tau) <= _AT_REST:
                break
        now, variances = self._at(self._mean, learner.thresholds), np.array([self._variance])
        sums = GroupSums(*(of.sum(axis=0) for of in self._sums()))
        covariance = _covariance([sums], {}, variances, now, learner)
        modes = self._modes(learner.thresholds)
        (found,) = errors(covariance, [modes], variances, [self._counted])
        return _with_errors(self._effects, modes, self._variance, found)

    def deviations(self, thresholds: FloatArray) -> FloatArray:
        """Return the standard deviation of each effect's posterior at given thresholds and the variance as it is."""
        for _ in range(_MOST_STEPS):
            before = self._sd
            self._at(self._mean, thresholds)
            self._find_posteriors()
            if np.abs(self._sd - before).max() <= _AT_REST:
                break
        return self._sd

    def _at(self, mean: FloatArray, thresholds: FloatArray) -> RoundStatistics:
        points = np.pad(mean + _POINTS * self._sd, ((0, 0), (0, 2)))
        found: RoundStatistics = self._pass((self._scores + points[:, self._group]).ravel(), thresholds, "exact")
        return found

    def _sums(self) -> tuple[FloatArray, ...]:
        """Return gradient, Hessian and cross terms of each point and group at the latest pass."""
        shape = len(_POINTS), self._n + 2
        sums = self._pass.leaf_sums(self._leaves, shape[0] * shape[1])
        parts = sums.gradient, sums.hessian, sums.cross
        return tuple(of.reshape(*shape, *of.shape[1:])[:, : self._n] for of in parts)

    def _joint_step(self, learner: ThresholdLearner) -> None:
        mean, precision = self._mean, 1.0 / self._variance
        now = self._at(mean, learner.thresholds)
        G, H, L = (of.sum(axis=0) for of in self._sums())
        V = tridiagonal(now.threshold_hessian, now.threshold_hessian_off)
        model = JointQuadratic(G + mean * precision, H, L, now.threshold_gradient, V)
        step, delta = model.solve(np.arange(self._n), precision, learner.active, learner.tied)

        def loss_at(share: float, thresholds: FloatArray) -> float:
            self._mean = mean + share * step
            return self._at(self._mean, thresholds).loss + float(self._mean @ self._mean) * precision / 2.0

        highest = self._pass.highest_loss(now.loss + float(mean @ mean) * precision / 2.0)
        if learner.move(delta, loss_at, highest) == 0.0:
            loss_at(0.0, learner.thresholds)

    def _find_posteriors(self) -> None:
        """Find mean and deviation of each group's effect at the latest pass.

        Gradients and Hessians at two points tell how much less likely one is, by cubic interpolation.
        """
        (G, H, _), at = self._sums(), self._mean + _POINTS * self._sd
        G, H, between = G / _SHARES, H / _SHARES, np.diff(at, axis=0)
        less = between * (G[1:] + G[:-1]) / 2.0 - between**2 * np.diff(H, axis=0) / 12.0
        less = np.clip(less, between * G[:-1], between * G[1:])  # as it is for a convex loss
        likely = -np.concatenate([np.zeros_like(at[:1]), np.cumsum(less, axis=0)])
        posterior = softmax(np.log(_SHARES) + _POINTS**2 / 2.0 + likely - at**2 / (2.0 * self._variance), axis=0)
        self._mean = (posterior * at).sum(axis=0)
        self._sd = np.sqrt((posterior * (at - self._mean) ** 2).sum(axis=0))

    def _find_variance(self) -> None:
        """Find the variance over groups, given means and deviations."""
        squares = self._mean[self._counted] ** 2 + _with_location(self._sd[self._counted] ** 2, self._variance)
        self._variance = float(squares.mean())

    def _modes(self, thresholds: FloatArray) -> FloatArray:
        """Return the modes of the posteriors, by Newton steps from their means."""
        modes, most, self._sd = self._mean, self._sd, np.zeros(self._n)
        for _ in range(_NEWTON_STEPS):
            self._at(modes, thresholds)
            G, H, _ = (of.sum(axis=0) for of in self._sums())
            step = np.clip((G + modes / self._variance) / (H + 1.0 / self._variance), -most, most)
            modes = modes - step
            if np.abs(step).max() <= _AT_REST:
                break
        return np.where(self._counted, modes, 0.0)


def _warn_without_end(column: GroupColumn) -> None:
    name = column.place if column.name is None else column.name
    warnings.warn(
        f"random_intercept={name!r}: the likelihood rises with the variance of the effects without end, as where "
        f"groups determine the class or few rows are of one; effects, their variance and thresholds are those of the "
        f"last round",
        stacklevel=2,
    )


def _covariance(
    sums: Sequence[GroupSums],
    cells: Cells,
    variances: FloatArray,
    now: RoundStatistics,
    learner: ThresholdLearner,
) -> JointCovariance:
    V = tridiagonal(now.threshold_hessian, now.threshold_hessian_off)
    return JointCovariance(sums, cells, variances, V, free_directions(learner.active, learner.tied))


def _with_errors(effects: RandomEffects, modes: FloatArray, variance: float, found: Errors) -> RandomEffects:
    standard_errors, variance_error = found
    return replace(
        effects, effects=modes, standard_errors=standard_errors, variance=variance, variance_error=variance_error
    )


class JointEffects:
    """Effects of several columns whose restricted likelihood is integrated over all of them, by Laplace's method.

    Thresholds and effects take joint Newton steps to the mode, and variances the step of Schall between these.

    Parameters
    ----------
    effects : sequence of RandomEffects
        Those to start from.
    rows : RowsWithScores
        With their groups.
    loss : OrdinalLoss
    n_threads : int or None
    """

    def __init__(
        self, effects: Sequence[RandomEffects], rows: RowsWithScores, loss: OrdinalLoss, n_threads: int | None
    ) -> None:
        self._effects, self._scores = effects, rows.scores
        self._sizes = [len(one.groups) for one in effects]
        self._groups = [one.column.numbers(rows.X).astype(np.int32) for one in effects]
        weight = np.ones(len(rows.scores)) if rows.weight is None else rows.weight
        self._counted = [
            np.bincount(group, weight, n + 2)[:n] > 0.0 for group, n in zip(self._groups, self._sizes, strict=True)
        ]
        self._pass: Any = CPU(n_threads).row_pass(loss, rows.y, rows.n_classes, rows.weight)
        self._cells = {}
        for i, j in combinations(range(len(effects)), 2):
            some = np.flatnonzero((self._groups[i] < self._sizes[i]) & (self._groups[j] < self._sizes[j]))
            numbers = self._groups[i][some].astype(np.int64) * self._sizes[j] + self._groups[j][some]
            cells, of_rows = np.unique(numbers, return_inverse=True)
            self._cells[i, j] = some, of_rows, np.divmod(cells, self._sizes[j])

    def find(self, learner: ThresholdLearner) -> tuple[RandomEffects, ...]:
        """Return the effects of the highest likelihood, and move the thresholds of a learner.

        They are those of the rounds where the likelihood has no maximum.
        """
        start = learner.thresholds
        no_end = (_NO_END + float(np.ptp(start))) ** 2
        modes = [one.effects for one in self._effects]
        variances = np.array([max(one.variance, _LEAST) for one in self._effects])
        now = self._at(modes, start)
        for _ in range(_MOST_STEPS):
            thresholds, before, taus = learner.thresholds, modes, np.sqrt(variances)
            modes, now, covariance = self._step(learner, modes, variances, now)
            for i, of in enumerate(modes):
                known = self._sizes[i] - covariance.trace(i) / variances[i]
                variances[i] = np.clip(of @ of / max(known, _TINY), _LEAST, _MOST_GROWTH * variances[i])
            if not variances.max() <= no_end:
                learner.set_thresholds(start)
                _warn_without_end(self._effects[int(np.argmax(variances))].column)
                return tuple(self._effects)
            steps = [np.abs(new - old).max() for new, old in zip(modes, before, strict=True)]
            thresholds_moved = np.abs(learner.thresholds - thresholds).max()
            if max(*steps, thresholds_moved) + np.abs(np.sqrt(variances) - taus).max() <= _AT_REST:
                break
        modes, now, _ = self._step(learner, modes, variances, now)
        modes = [np.where(counted, of, 0.0) for counted, of in zip(self._counted, modes, strict=True)]
        covariance = self._covariance(now, variances, learner)
        found = errors(covariance, modes, variances, self._counted)
        each = zip(self._effects, modes, variances.tolist(), found, strict=True)
        return tuple(_with_errors(*one) for one in each)

    def _at(self, modes: Sequence[FloatArray], thresholds: FloatArray) -> RoundStatistics:
        score = self._scores.copy()
        for of, group in zip(modes, self._groups, strict=True):
            score += np.append(of, [0.0, 0.0])[group]
        found: RoundStatistics = self._pass(score, thresholds, "exact")
        return found

    def _covariance(self, now: RoundStatistics, variances: FloatArray, learner: ThresholdLearner) -> JointCovariance:
        """Return the covariance at the latest pass."""
        sums = []
        for group, n in zip(self._groups, self._sizes, strict=True):
            of_groups = self._pass.leaf_sums(group, n + 2)
            sums.append(GroupSums(*(of[:n] for of in (of_groups.gradient, of_groups.hessian, of_groups.cross))))
        cells: Cells = {}
        for (i, j), (some, of_rows, places) in self._cells.items():
            hessian = np.bincount(of_rows, now.hessian[some], len(places[0]))
            cells[i, j] = csr_matrix((hessian, places), shape=(self._sizes[i], self._sizes[j]))
        self._sums = sums
        return _covariance(sums, cells, variances, now, learner)

    def _step(
        self, learner: ThresholdLearner, modes: list[FloatArray], variances: FloatArray, now: RoundStatistics
    ) -> tuple[list[FloatArray], RoundStatistics, JointCovariance]:
        """Take a Newton step; return the modes after it, the pass there, and the covariance before it."""
        covariance = self._covariance(now, variances, learner)
        free = free_directions(learner.active, learner.tied)
        gradients = [one.gradient + of / tau2 for one, of, tau2 in zip(self._sums, modes, variances, strict=True)]
        steps, delta = covariance.times([-of for of in gradients], -(free.T @ now.threshold_gradient))
        latest = [(modes, now)]

        def penalised(at: list[FloatArray], loss: float) -> float:
            return loss + sum(float(of @ of) / tau2 for of, tau2 in zip(at, variances, strict=True)) / 2.0

        def loss_at(share: float, thresholds: FloatArray) -> float:
            moved = [of + share * step for of, step in zip(modes, steps, strict=True)]
            latest.append((moved, self._at(moved, thresholds)))
            return penalised(moved, latest[-1][1].loss)

        if learner.move(free @ delta, loss_at, self._pass.highest_loss(penalised(modes, now.loss))) == 0.0:
            loss_at(0.0, learner.thresholds)
        return *latest[-1], covariance


# Passes over the columns, where there are several.
_SWEEPS = 4


def integrated(
    effects: Sequence[RandomEffects],
    n_trees: int,
    rows: RowsWithScores,
    learner: ThresholdLearner,
    n_threads: int | None,
) -> tuple[RandomEffects, ...]:
    """Return the effects of the highest likelihood, given so many trees, and move the thresholds.

    Of several columns with many groups each is integrated over given the modes of the others.
    """
    sizes = sorted(len(one.groups) for one in effects)
    if len(sizes) > 1 and sum(sizes[:-1]) <= _MOST_TOGETHER:
        together = JointEffects(effects, rows, learner.loss, n_threads).find(learner)
        return tuple(one.at_end(n_trees) for one in together)
    found = list(effects)
    for _ in range(_SWEEPS if len(found) > 1 else 1):
        for i in range(len(found)):
            given = rows.scores + sum(one.of_rows(rows.X) for one in (*found[:i], *found[i + 1 :]))
            found[i] = IntegratedEffects(found[i], RowsWithScores(*rows[:-1], given), learner.loss, n_threads).find(
                learner
            )
    return tuple(one.at_end(n_trees) for one in found)


def with_final_effects(
    record: ThresholdRecord, n_iter: int, rows: RowsWithScores, n_threads: int | None
) -> ThresholdRecord:
    """Return the record of a training with effects and last thresholds of the highest likelihood, given its trees."""
    weights = np.bincount(rows.y, rows.weight, rows.n_classes).astype(np.float64)
    learner = ThresholdLearner(record.spec, weights, record.at(n_iter))
    before: list[RandomEffects] = [one.at(n_iter) for one in record.random_effects]
    effects = integrated(before, n_iter, rows, learner, n_threads)
    thresholds = [*record.thresholds[:n_iter], *[learner.thresholds] * (len(record.thresholds) - n_iter)]
    return replace(record, thresholds=thresholds, random_effects=effects)


def check_random_intercept(loss: OrdinalLoss, given: Params, **allowed: object) -> None:
    """Raise ValueError unless a loss, and the parameters ``given`` of those allowed, go with random intercepts.

    A tuple allows each of its values.
    """
    if type(loss) is not CumulativeLink:
        raise ValueError(
            f"random_intercept needs loss='cumulative_link', the likelihood of a row; got loss={loss.name!r}, "
            f"whose sum over thresholds counts rows several times, so that effects would be shrunk too little"
        )
    if loss.link.curvature_floor > 0.0:
        raise ValueError(f"random_intercept needs a link whose losses are convex; got link={loss.link.name!r}")
    for name, value in allowed.items():
        values = value if isinstance(value, tuple) else (value,)
        if given.get(name, values[0]) not in values:
            raise ValueError(f"random_intercept needs {name}={' or '.join(map(repr, values))}; got {given[name]!r}")
