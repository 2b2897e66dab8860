"""Shifts of thresholds as outputs of XGBoost: its settings, parameters that cannot be used with them, and the update.

XGBoost 3.2 and later find a tree's structure on one gradient and fit a vector in every leaf to others. What works
beside that differs from version to version.

Leaves of XGBoost hold one number for each output, -G / (H + lambda). The outputs of a row are (w, z): its score, and
contrasts that become shifts by one small matrix. Nothing is renewed, so nothing has to be followed: every round begins
with XGBoost's own outputs.

The Hessian in (w, z) is not diagonal, and XGBoost takes only the diagonal. Such a step can be too long, at learning
rates near 1 with a small penalty of the shifts, or where few rows are sampled. Where a round has raised the training
loss, the next steps are halved.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xgboost

from ordinal_objectives.adapters.run import TrainingRun, Update
from ordinal_objectives.adapters.xgb.booster import settings_of
from ordinal_objectives.aliases import JSON, ArrayLike, FloatArray, NDArray, RealArray
from ordinal_objectives.leaves.vector import Shifts, contrasts
from ordinal_objectives.losses import RoundStatistics
from ordinal_objectives.rows import Array
from ordinal_objectives.threshold_solver.record import ThresholdRecord, VectorOutputs

# The first versions that support each: older ones end the training with other messages, or do something else.
VECTOR_LEAVES = (3, 2)
CATEGORICAL_SPLITS = CONTRIBUTIONS = DART = (3, 3)
INTERACTION_CONSTRAINTS = (3, 4)
# Before, min_child_weight bounds the Hessian of every output, and no split: an output below it is 0. From then on it
# bounds the mean of the Hessians of the outputs that judge splits.
MIN_CHILD_WEIGHT = (3, 4)
_GROWERS = ("grow_quantile_histmaker", "grow_gpu_hist")


def is_at_least(version: tuple[int, int]) -> bool:
    """Tell whether the XGBoost that is installed is of this version or later."""
    return tuple(map(int, xgboost.__version__.split(".")[:2])) >= version


def refuse_before(version: tuple[int, int], what: str) -> None:
    """Raise ValueError if the XGBoost that is installed is older than the first version that can do it."""
    if not is_at_least(version):
        raise ValueError(
            f"{what}: beside shifts that XGBoost fits itself this needs XGBoost {version[0]}.{version[1]} or later; "
            f"{xgboost.__version__} is installed"
        )


def ask_for_outputs(
    booster: xgboost.Booster, n_classes: int, shifts: Shifts, n_split_outputs: int | None = 1
) -> tuple[dict[str, object], dict[str, float]]:
    """Return what to set in a booster that is about to be trained for vector leaves, and what when it is trained.

    Parameters
    ----------
    booster : xgboost.Booster
    n_classes : int
    shifts : Shifts
    n_split_outputs : int or None, default=1
        How many outputs judge splits; None for all.

    Raises
    ------
    ValueError
        If a parameter cannot be combined with them; the message names it.
    """
    before = settings_of(booster)
    n_outputs = int(before["learner_model_param"]["num_target"])
    if n_outputs not in (1, n_classes - 1):
        raise ValueError(f"params['num_target'] must be n_classes - 1 = {n_classes - 1}; got {n_outputs}")
    excluded = _why_not(before["gradient_booster"])
    if excluded is not None:
        raise ValueError(
            f"{excluded[0]} is not possible with shifts that XGBoost fits itself: {excluded[1]}; leave it out, or "
            f"use shift_method='renewal' or proportional=True"
        )
    tree = before["gradient_booster"]["tree_train_param"]
    asked = {"multi_strategy": "multi_output_tree", "num_target": n_classes - 1, "tree_method": "hist"}
    afterwards: dict[str, float] = {}
    # What XGBoost compares with min_child_weight, beside the score's Hessian.
    shares = output_shares(n_classes, float(tree["reg_lambda"]), shifts)
    share = float(shares[:n_split_outputs].mean() if is_at_least(MIN_CHILD_WEIGHT) else shares.min())
    if share != 1.0:
        afterwards["min_child_weight"] = float(tree["min_child_weight"])
        asked["min_child_weight"] = share * afterwards["min_child_weight"]
    return asked, afterwards


def output_shares(n_classes: int, reg_lambda: float, shifts: Shifts) -> FloatArray:
    """Return the Hessian of every output beside the score's where all thresholds have the same."""
    C = contrasts(n_classes - 1, reg_lambda, shifts.l2, shifts.penalty)
    return np.append(1.0, (C**2).mean(axis=0))


def _why_not(settings: JSON) -> tuple[str, str] | None:
    """Return a parameter that vector leaves rule out, with its value, and why."""
    if settings["name"] == "gblinear":
        return "params['booster'] = 'gblinear'", "it has no trees"
    # XGBoost 3.2 calls dart a booster of its own, with a gbtree inside.
    is_dart = settings["name"] == "dart"
    settings = settings.get("gbtree", settings)
    tree, forest = settings["tree_train_param"], settings["gbtree_train_param"]
    rates = settings.get("dart_train_param", {})
    if is_dart or any(float(rates.get(name, 0)) for name in ("rate_drop", "one_drop")):
        refuse_before(DART, "params['booster'] = 'dart'")
    if tree["interaction_constraints"]:
        refuse_before(INTERACTION_CONSTRAINTS, "params['interaction_constraints']")
    if not float(tree["reg_lambda"]) > 0.0:
        return f"params['reg_lambda'] = {float(tree['reg_lambda']):g}", "the penalty of shifts is a multiple of it"
    if any(sign in tree["monotone_constraints"] for sign in "123456789"):
        return (
            f"params['monotone_constraints'] = {tree['monotone_constraints']!r}",
            "no version of it keeps the score of each threshold monotone",
        )
    if forest["tree_method"] not in ("auto", "hist"):
        return f"params['tree_method'] = {forest['tree_method']!r}", "only 'hist' grows leaves with several outputs"
    if forest["process_type"] != "default" or (settings["specified_updater"] and forest["updater_seq"] not in _GROWERS):
        updater = f"params['updater'] = {forest['updater_seq']!r}"
        return updater, "only new trees of 'hist' have leaves with several outputs"
    return None


# Factor by which steps grow again in a round that does not raise the loss.
_RECOVERY = 0.9


class OutputUpdate(Update):
    """Shifts as outputs of the framework's own, and the conditional step.

    The raw prediction of the other updates is the outputs here, float32 (n_samples, n_classes - 1), or
    (n_samples,) of two classes.

    Parameters
    ----------
    shifts : Shifts
    reg_lambda : float
        The framework's penalty of every number in a leaf, positive.
    halves : bool, default=True
        Whether steps are halved after a round that raised the loss. With dart it says nothing of the newest tree.
    """

    def __init__(self, shifts: Shifts, *, reg_lambda: float, halves: bool = True) -> None:
        super().__init__()
        self.shifts: Shifts = shifts
        self._reg_lambda = reg_lambda
        self._halves, self._damping, self._n_raised = halves, 1.0, 0

    def begin(self, run: TrainingRun, previous: ThresholdRecord | None) -> None:
        """Compute how outputs become scores: as in the model that is continued, if there is one.

        Raises
        ------
        ValueError
            If the penalties are not those that scaled the outputs of that model.
        """
        active, rows, shifts = run.learner.active, run.rows, self.shifts
        n_thresholds = active.shape[0]
        before = None if previous is None else previous.outputs
        shifted = active if before is None else before.contrasts.any(axis=1)
        C = contrasts(n_thresholds, self._reg_lambda, shifts.l2, shifts.penalty, shifted)
        if before is not None and not np.allclose(C, before.contrasts):
            raise ValueError(
                f"reg_lambda={self._reg_lambda:g}, shift_l2={shifts.l2:g} and shift_penalty={shifts.penalty!r} are not "
                f"those that scaled the outputs of the model to be continued; use its own"
            )
        self._outputs = VectorOutputs(C, [] if before is None else list(before.means))
        self._mixing = self._outputs.mixing.astype(np.float32)
        # A threshold without weight on one side takes no shift of its own.
        mixing = np.where(active[:, np.newaxis], self._outputs.mixing, [1.0] + [0.0] * (n_thresholds - 1))
        self._to_gradient, self._to_hessian = mixing.astype(np.float32), (mixing**2).astype(np.float32)
        device, weight, n_samples = run.placement.device, rows.sample_weight, rows.y.shape[0]
        shares = np.ones(n_samples) if weight is None else weight.astype(np.float64)
        self._device = device
        self._shares = device.copy((shares / shares.sum()).astype(np.float32))
        self.columns = device.columns(n_samples, 2 * n_thresholds)

    def start(self, run: TrainingRun, raw_prediction: Array, iteration: int) -> Array:
        """Return the scores at the outputs, without the mean of the shifts."""
        self._centre(run, raw_prediction, iteration)
        return self.score_of(None, raw_prediction)

    def take(self, run: TrainingRun, raw_prediction: Array, iteration: int) -> Array:
        """Take the conditional step at the outputs, and return their scores."""
        scores = self.start(run, raw_prediction, iteration)
        run.step_thresholds(scores)
        return scores

    def gradients(self, run: TrainingRun, statistics: RoundStatistics) -> tuple[RealArray, RealArray]:
        """Return those of every output, (n_samples, n_classes - 1) each; the first columns are those of the score."""
        # The next steps are halved if the round before raised the loss.
        if self._halves and run.diagnostics.n_raised > self._n_raised:
            self._damping *= 2.0
        else:
            self._damping = max(1.0, _RECOVERY * self._damping)
        self._n_raised = run.diagnostics.n_raised
        n_thresholds = len(self._mixing)
        G, H = self.columns[:, :n_thresholds], self.columns[:, n_thresholds:]
        damped = np.float32(self._damping) * self._to_hessian
        return self._device.times(G, self._to_gradient), self._device.times(H, damped)

    def score_of(self, matrix: object, raw_prediction: Array) -> Array:
        """Return the scores f + v_k, (n_samples, n_classes - 1), at outputs of any matrix."""
        offset = self._outputs.offset(-1).astype(np.float32)
        return self._device.scores_of(_rows_of(raw_prediction), self._mixing.T, offset)

    def kept_in(self, record: ThresholdRecord) -> ThresholdRecord:
        """Return a record with how thresholds move with x, and how outputs become scores."""
        outputs = VectorOutputs(self._outputs.contrasts, list(self._outputs.means))
        return replace(record, outputs=outputs)

    def _centre(self, run: TrainingRun, outputs: ArrayLike, iteration: int) -> None:
        """Take the mean of the shifts out of the scores and into the thresholds, which changes no margin.

        A model that is continued brings the mean of its last iteration.
        """
        means = self._outputs.means
        run.forget()
        if iteration < len(means):
            return
        means.append(self._device.weighted_sum(self._shares, _rows_of(outputs))[1:])
        if iteration:
            moved = self._outputs.offset(iteration) - self._outputs.offset(iteration - 1)
            run.learner.set_thresholds(run.thresholds - moved)


def _rows_of(outputs: ArrayLike) -> NDArray[np.float32]:
    """Return outputs as rows; those of two classes come as (n_samples,)."""
    rows = np.asarray(outputs, dtype=np.float32)
    return rows[:, np.newaxis] if rows.ndim == 1 else rows
