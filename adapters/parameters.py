"""Parameters that the ordinal objectives of all frameworks share, and what is refused beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.losses import OrdinalLoss, get_loss
from ordinal_objectives.threshold_solver.record import THRESHOLD_UPDATES, ThresholdRecord
from ordinal_objectives.validation import check_choice, check_n_classes, check_thresholds

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
        n_threads: int | None = None,
    ) -> None:
        self.n_classes = None if n_classes is None else check_n_classes(n_classes)
        self.loss = get_loss(loss, link)
        self.loss.check_hessian(hessian)
        check_choice(threshold_update, THRESHOLD_UPDATES, name="threshold_update")
        self.hessian = hessian
        self.threshold_update = threshold_update
        self.continues: ThresholdRecord | None = None
        self.thresholds: NDArray[np.float64] | None = None
        if isinstance(thresholds, ThresholdRecord):
            self.check_continues(thresholds)
            self.continues = thresholds
        elif thresholds is not None:
            self.thresholds = check_thresholds(thresholds, self.n_classes, ordered=self.loss.ordered).copy()
        self.n_threads = n_threads

    @property
    def needs_tree(self) -> bool:
        """Whether the threshold update reads the newest tree."""
        return self.threshold_update in TREE_UPDATES

    def check_continues(self, record: ThresholdRecord) -> None:
        """Raise ValueError unless a model with this record can be continued with this objective."""
        if record.ordinal_loss() != self.loss:
            raise ValueError(
                f"thresholds come from a model with loss {record.ordinal_loss()!r}; this objective has {self.loss!r}, "
                f"and a model is continued with its own loss and link"
            )
        if self.n_classes not in (None, record.n_classes):
            raise ValueError(f"n_classes must be {record.n_classes}, that of the model continued; got {self.n_classes}")


def refuse_parameters(params: Mapping[str, Any], refused: Mapping[str, str]) -> None:
    """Raise ValueError for the first parameter in ``params`` that an ordinal objective cannot live with.

    ``refused`` maps a name to the reason.
    """
    for name, reason in refused.items():
        if params.get(name) is not None:
            raise ValueError(
                f"params[{name!r}] = {params[name]!r} is not allowed beside an ordinal objective: {reason}"
            )
