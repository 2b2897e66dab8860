"""Parameters that the ordinal objectives of all frameworks share, and what is refused beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.leaves.shifts import DEFAULT_SHIFT_PENALTY, STAY, Shifts, choose_shifts
from ordinal_objectives.losses import OrdinalLoss, get_loss
from ordinal_objectives.threshold_solver.record import THRESHOLD_UPDATES, ThresholdRecord
from ordinal_objectives.validation import check_choice, check_n_classes, check_thresholds, n_classes_of

# Those that need the leaves of the newest tree.
TREE_UPDATES = ("schur", "joint")


class OrdinalParameters:
    """Parameters of an ordinal objective, checked.

    Parameters
    ----------
    n_classes : int or None, default=None
        Number of classes K. None takes the largest training label plus one.
    loss : {"all_threshold", "cumulative_link", "immediate_threshold"} or OrdinalLoss
        An instance brings its own link.
    link : {"logit", "probit", "cloglog", "loglog", "cauchit"} or Link
        Inverse link G in P(y <= k | x) = G(theta_k - f(x)).
    hessian : {"exact", "majorized"}, default="exact"
        Curvature given to the framework. "majorized" takes shorter steps, and exists for some losses and
        links only: with the all-threshold or immediate-threshold loss, the logit or probit link, all rows and
        a learning rate of at most 1, no step raises the training loss. At learning rates of 0.3 and below the
        exact one behaves as well and needs about half the rounds.
    threshold_update : {"newton", "fixed", "schur", "joint"}
        "newton": one conditional Newton step on the thresholds a round. "fixed": the thresholds that fit
        the class shares, never moved. "schur": the Newton step by the Schur complement over the leaves of
        the newest tree, times the learning rate; needs the callback. "joint": the same step with renewed
        leaves, through this module's ``train`` alone, halved until the training loss is not higher. The
        others leave the framework's trees as they are: where one raises the loss, as it may with the exact
        Hessian or with sampled rows, ``diagnostics_`` counts the round ("n_raised").
    thresholds : array-like of float, shape (n_classes - 1,), ThresholdRecord, or None
        Where the thresholds start; None computes them from the class shares. The record of a model that is
        to be continued starts with its last thresholds and keeps its history.
    proportional : {True, False, "auto"}, default=True
        Whether one score moves all thresholds alike (proportional odds). False: the leaves of every tree are renewed
        as vectors, which shift single thresholds too, and "joint" and "newton" both mean that the thresholds then
        take one Newton step; through this module's ``train`` alone. It refuses what "joint" refuses, the
        cumulative link, "fixed" and "schur". "auto": False where that is possible. XGBoost can fit such vectors
        itself: ``shift_method`` of its adapter.
    shift_l2 : float or None, default=None
        L2 penalty of the shifts, positive; None for 10. With ``proportional=False`` or "auto".
    shift_penalty : {"ridge", "smooth", "sparse"}, default="ridge"
        What it penalises: the shifts' distance to their mean, or between neighbours.
    n_threads : int or None
        Threads of the gradient kernel; see :func:`ordinal_objectives.threads.effective_n_threads`.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not one of those allowed; the message names it.
    """

    def __init__(
        self,
        n_classes: int | None = None,
        *,
        loss: str | OrdinalLoss = "all_threshold",
        link: str = "logit",
        hessian: str = "exact",
        threshold_update: str = "newton",
        thresholds: ArrayLike | ThresholdRecord | None = None,
        proportional: bool | str = True,
        shift_l2: float | None = None,
        shift_penalty: str = DEFAULT_SHIFT_PENALTY,
        n_threads: int | None = None,
    ) -> None:
        self.n_classes = None if n_classes is None else check_n_classes(n_classes)
        self.loss = get_loss(loss, link)
        self.loss.check_hessian(hessian)
        check_choice(threshold_update, THRESHOLD_UPDATES, name="threshold_update")
        self.hessian = hessian
        self.threshold_update = threshold_update
        self.proportional, self.shift_l2, self.shift_penalty = proportional, shift_l2, shift_penalty
        self.choose_shifts(None)
        self.continues: ThresholdRecord | None = None
        self.thresholds: NDArray[np.float64] | None = None
        if isinstance(thresholds, ThresholdRecord):
            self.check_continues(thresholds)
            self.continues = thresholds
        elif thresholds is not None:
            ordered = self.loss.ordered and proportional is True
            self.thresholds = check_thresholds(thresholds, self.n_classes, ordered=ordered).copy()
        self.n_threads = n_threads

    def choose_shifts(self, refusal: str | None) -> Shifts | None:
        """Return how thresholds move with x in a training, or None; see :func:`.leaves.shifts.choose_shifts`."""
        if self.threshold_update == "fixed":
            refusal = STAY
        elif self.threshold_update == "schur":
            refusal = "threshold_update='schur' leaves the framework's trees as they are"
        return choose_shifts(self.proportional, self.shift_l2, self.shift_penalty, self.loss, refusal)

    def check_continues(self, record: ThresholdRecord) -> None:
        """Raise ValueError unless a model with this record can be continued with this objective."""
        if record.ordinal_loss() != self.loss:
            raise ValueError(
                f"thresholds come from a model with loss {record.ordinal_loss()!r}; this objective has {self.loss!r}, "
                f"and a model is continued with its own loss and link"
            )
        if record.shifts is not None and self.proportional is True:
            raise ValueError(
                "the model to be continued has thresholds that move with x: pass proportional=False to go on with it"
            )
        if self.n_classes not in (None, record.n_classes):
            raise ValueError(f"n_classes must be {record.n_classes}, that of the model continued; got {self.n_classes}")


# What cv hands on to the objective.
_OPTIONS = (
    "n_classes",
    "loss",
    "link",
    "hessian",
    "threshold_update",
    "thresholds",
    "proportional",
    "shift_l2",
    "shift_penalty",
)


def ordinal_options(options: dict[str, Any], label: ArrayLike) -> dict[str, Any]:
    """Take the objective's parameters out of the options of ``cv``, and return them.

    The classes are those of all labels, since a fold may lack some; the update is that of ``train``.
    """
    own = given_options(options)
    if own.get("n_classes") is None:
        own["n_classes"] = n_classes_of(label)
    return own


def given_options(options: dict[str, Any]) -> dict[str, Any]:
    """Take the objective's parameters out of the options of a ``train``, and return them with its default update."""
    return {"threshold_update": "joint"} | {name: options.pop(name) for name in _OPTIONS if name in options}


def refuse_parameters(params: Mapping[str, Any], refused: Mapping[str, str]) -> None:
    """Raise ValueError for the first parameter in ``params`` that an ordinal objective cannot live with.

    ``refused`` maps a name to the reason.
    """
    for name, reason in refused.items():
        if params.get(name) is not None:
            raise ValueError(
                f"params[{name!r}] = {params[name]!r} is not allowed beside an ordinal objective: {reason}"
            )
