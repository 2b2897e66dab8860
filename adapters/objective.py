"""What the objectives of both frameworks share: their parameters, and predictions from scores."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.grown_tree import GrownTree
from ordinal_objectives.adapters.per_thread import PerThread
from ordinal_objectives.adapters.threshold_record import THRESHOLD_UPDATES, ThresholdRecord
from ordinal_objectives.adapters.training_run import TrainingRun
from ordinal_objectives.adapters.tree_run import TreeRun
from ordinal_objectives.losses import OrdinalLoss, get_loss
from ordinal_objectives.statistics import RowStatistics
from ordinal_objectives.validation import check_codes, check_n_classes, check_thresholds, check_total_weight

# Those that need the leaves of the newest tree.
TREE_UPDATES = ("schur", "joint")


class _EvaluatedRows(NamedTuple):
    """Rows of an evaluation set, and the labels and weights that they were read with."""

    rows: RowStatistics
    label: NDArray[Any]
    weight: NDArray[Any] | None

    def belongs_to(self, label: Any, weight: Any, n_classes: int) -> bool:
        same_weight = np.array_equal(self.weight, weight) if self.weight is not None else weight is None
        return self.rows.n_classes == n_classes and same_weight and np.array_equal(self.label, label)


class OrdinalObjectiveBase:
    """Parameters and state of an ordinal objective; :mod:`.xgb` and :mod:`.lgbm` add the framework.

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

    _wired = False  # whether this module's train drives the training
    # One run for each training matrix: cross-validation interleaves its folds through one objective.
    _runs = PerThread[weakref.WeakKeyDictionary[Any, TrainingRun]](weakref.WeakKeyDictionary)
    _rows = PerThread[weakref.WeakKeyDictionary[Any, _EvaluatedRows]](weakref.WeakKeyDictionary)
    _latest = PerThread[TrainingRun | None](lambda: None)
    # Whether another run than the latest has grown a tree since.
    _in_turns = PerThread[bool](lambda: False)
    # Of all threads, for one that reads what another has trained.
    _latest_anywhere: TrainingRun | None = None

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
        if threshold_update not in THRESHOLD_UPDATES:
            raise ValueError(
                f"threshold_update must be one of {', '.join(map(repr, THRESHOLD_UPDATES))}; got {threshold_update!r}"
            )
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
        self._forget()

    def check_continues(self, record: ThresholdRecord) -> None:
        """Raise ValueError unless a model with this record can be continued with this objective."""
        if record.ordinal_loss() != self.loss:
            raise ValueError(
                f"thresholds come from a model with loss {record.ordinal_loss()!r}; this objective has {self.loss!r}, "
                f"and a model is continued with its own loss and link"
            )
        if self.n_classes not in (None, record.n_classes):
            raise ValueError(f"n_classes must be {record.n_classes}, that of the model continued; got {self.n_classes}")

    def _forget(self) -> None:
        self._runs = weakref.WeakKeyDictionary()
        self._rows = weakref.WeakKeyDictionary()
        self._latest = None
        self._in_turns = False

    def __getstate__(self) -> dict[str, Any]:
        # Training matrices cannot travel; a copy starts afresh.
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget()

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(n_classes={self.n_classes}, loss={self.loss!r}, "
            f"hessian={self.hessian!r}, threshold_update={self.threshold_update!r})"
        )

    @property
    def thresholds_(self) -> NDArray[np.float64]:
        """Newest thresholds of the latest training of this thread, or else of any; (n_classes - 1,), float64."""
        return self._latest_run().thresholds.copy()

    @property
    def diagnostics_(self) -> dict[str, int]:
        """Counters of the latest training; see :class:`ordinal_objectives.threshold_solver.Diagnostics`."""
        return self._latest_run().diagnostics.as_dict()

    def _latest_run(self) -> TrainingRun:
        run = self._latest or self._latest_anywhere
        if run is None:
            raise ValueError("the objective has not been used in a training yet, so it holds no thresholds")
        return run

    def _new_run(self, matrix: Any, previous: ThresholdRecord | None = None) -> TrainingRun:
        label, weight = self._label_and_weight(matrix)
        codes = check_codes(label, self.n_classes, name="the training labels")
        n_classes = self.n_classes or (previous.n_classes if previous else max(2, int(codes.max()) + 1))
        options: dict[str, Any] = {
            "hessian": self.hessian,
            "threshold_update": self.threshold_update,
            "start_thresholds": self.thresholds,
            "previous": previous,
            "n_threads": self.n_threads,
        }
        run: TrainingRun
        if self.threshold_update in TREE_UPDATES:
            run = TreeRun(
                self.loss,
                codes,
                n_classes,
                weight,
                matrix=matrix,
                newest_tree=self._newest_tree,
                initial_score=self._initial_score,
                **options,
            )
        else:
            run = TrainingRun(self.loss, codes, n_classes, weight, **options)
        self._runs[matrix] = run
        self._latest = self._latest_anywhere = run
        self._in_turns = False
        return run

    def _note_turn(self, run: TrainingRun) -> None:
        """Note whose tree is grown, where no callback knows it."""
        self._in_turns = self._in_turns or run is not self._latest

    def _only_run(self) -> TrainingRun:
        """Return the run that evaluates a matrix, where no callback knows it."""
        if self._in_turns:
            raise self._several_trainings()
        return self._latest_run()

    def _several_trainings(self) -> ValueError:
        return ValueError(
            "the metric cannot tell which of several trainings, such as the folds of cv, the data belong to: pass "
            "callbacks=[objective.callback], or take one objective for each training"
        )

    def _label_and_weight(self, matrix: Any) -> tuple[Any, Any]:
        raise NotImplementedError("each framework's adapter reads its own matrix")

    def _newest_tree(self, matrix: Any) -> GrownTree:
        raise NotImplementedError("each framework's adapter reads its own trees")

    def _initial_score(self, matrix: Any) -> NDArray[Any]:
        raise NotImplementedError("each framework's adapter reads its own matrix")

    def _refuse_bare_joint(self) -> None:
        if self.threshold_update == "joint" and not self._wired:
            raise ValueError(
                f"threshold_update='joint' renews leaf values, which the framework's own train cannot follow; "
                f"call {type(self).__module__}.train, or use 'newton' or 'schur'"
            )

    def proba_metric(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a metric for the framework that hands class probabilities to ``function``.

        Parameters
        ----------
        function : callable
            ``function(proba, matrix)``, with proba float64 (n_samples, n_classes) from the thresholds of the
            round just finished; returns what the framework's metrics return.

        Returns
        -------
        callable
            For ``custom_metric=`` or ``feval=``. Thresholds are fresh if the callback is passed as well.
        """

        def metric(preds: NDArray[Any], matrix: Any) -> Any:
            run = self._run_of(preds, matrix)
            score = np.asarray(run.score_of(matrix, preds), dtype=np.float64)
            return function(self.loss.predict_proba(score, run.thresholds), matrix)

        metric.__name__ = getattr(function, "__name__", type(function).__name__)
        return metric

    def _run_of(self, preds: NDArray[Any], matrix: Any) -> TrainingRun:
        raise NotImplementedError("each framework's adapter knows which booster evaluates a matrix")

    def _mean_loss(self, raw_prediction: ArrayLike, matrix: Any, run: TrainingRun) -> float:
        """Weighted mean loss of any matrix at given scores and the newest thresholds of a run."""
        if self._runs.get(matrix) is run:
            return run.training_loss[-1]
        thresholds = run.thresholds
        of_matrix = self._label_and_weight(matrix)
        kept = self._rows.get(matrix)
        if kept is None or not kept.belongs_to(*of_matrix, thresholds.shape[0] + 1):
            label = check_codes(np.array(of_matrix[0]), thresholds.shape[0] + 1, name="the labels of an evaluation set")
            weight = None if of_matrix[1] is None else np.array(of_matrix[1])
            check_total_weight(weight, name="the weight of an evaluation set")
            rows = RowStatistics(self.loss, label, thresholds.shape[0] + 1, weight, n_threads=self.n_threads)
            kept = self._rows[matrix] = _EvaluatedRows(rows, label, weight)
        rows = kept.rows
        score = run.score_of(matrix, np.asarray(raw_prediction))
        return rows(score, thresholds, self.hessian).loss / rows.total_weight

    def _record_of(self, run: TrainingRun) -> ThresholdRecord:
        """Return a record of the run as it is now."""
        return ThresholdRecord(
            loss=self.loss.name,
            link=self.loss.link.name,
            hessian=self.hessian,
            threshold_update=self.threshold_update,
            n_classes=run.thresholds.shape[0] + 1,
            thresholds=list(run.history),
            training_loss=list(run.training_loss),
            diagnostics=run.diagnostics.as_dict(),
        )


def refuse_parameters(params: Mapping[str, Any], refused: Mapping[str, str]) -> None:
    """Raise ValueError for the first parameter in ``params`` that an ordinal objective cannot live with.

    ``refused`` maps a name to the reason.
    """
    for name, reason in refused.items():
        if params.get(name) is not None:
            raise ValueError(
                f"params[{name!r}] = {params[name]!r} is not allowed beside an ordinal objective: {reason}"
            )


def predict_from_scores(record: ThresholdRecord, iteration: int, raw_prediction: NDArray[Any]) -> NDArray[np.float64]:
    """Return class probabilities (n_samples, n_classes) with the thresholds of ``iteration``."""
    scores = np.asarray(raw_prediction, dtype=np.float64)
    return record.ordinal_loss().predict_proba(scores, record.at(iteration))
