"""Base of the objectives of all frameworks: gradients and metrics of the run that a score belongs to."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from ordinal_objectives.adapters.arguments import given_options, spec_and_record
from ordinal_objectives.adapters.run import score_of_rows
from ordinal_objectives.adapters.training import Training
from ordinal_objectives.aliases import ArrayLike, FloatArray, RealArray
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils.shared_docs import documented


@documented
class OrdinalObjectiveBase:
    """Ordinal objective; each framework adds its training, its callback and its kind of metric.

    Parameters
    ----------
    <<n_classes, loss, link, step parameters, thresholds, shift parameters>>
    <<shift_method, split_outputs, n_threads>>

    Attributes
    ----------
    training : Training
        Returns the run and the iteration of a score.
    callback : object
        Passes the booster to the training.
    """

    training: Training
    callback: Any
    metric: Callable[..., object]  # of the ordinal loss
    # Its row in the table of :mod:`ordinal_objectives.spec`, and the framework's training and callback.
    _entry_point: ClassVar[str]
    _training_type: ClassVar[type[Training]]
    _callback_type: ClassVar[type[Any]]

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
        shift_penalty: str = "ridge",
        max_shifts: int | None = None,
        shift_method: str | None = None,
        split_outputs: str | int = "score",
        n_threads: int | None = None,
    ) -> None:
        asked = given_options(dict(locals()))
        spec, record = spec_and_record(self._entry_point, **asked)
        self._connect(self._training_type(spec, record, n_threads=n_threads))

    @classmethod
    def of(cls, training: Training) -> Self:
        """Return the objective of a training that has not begun.

        Parameters
        ----------
        training : Training
            A training of the framework.
        """
        objective = object.__new__(cls)
        objective._connect(training)
        return objective

    def _connect(self, training: Any) -> None:
        self.training, self.callback = training, self._callback_type(training)

    @property
    def spec(self) -> OrdinalSpec:
        """The ordinal model, checked."""
        return self.training.spec

    @property
    def n_classes(self) -> int | None:
        """Number of classes K, as given."""
        return self.spec.n_classes

    @property
    def loss(self) -> OrdinalLoss:
        """Loss and link."""
        return self.spec.loss

    @property
    def hessian(self) -> str:
        """Curvature given to the framework."""
        return self.spec.hessian

    @property
    def threshold_update(self) -> str:
        """How thresholds move."""
        return self.spec.threshold_update

    @property
    def thresholds(self) -> FloatArray | None:
        """Where the thresholds start, as given."""
        return self.spec.thresholds

    def __copy__(self) -> OrdinalObjectiveBase:
        new = object.__new__(type(self))
        vars(new).update(copy.deepcopy(vars(self)))
        return new

    def __repr__(self) -> str:
        spec = self.spec
        asked = f"loss={spec.loss!r}, hessian={spec.hessian!r}, threshold_update={spec.threshold_update!r}"
        return f"{type(self).__name__}(n_classes={spec.n_classes}, {asked})"

    def __call__(
        self, raw_prediction: RealArray, matrix: object, epoch: int | None = None
    ) -> tuple[RealArray, RealArray]:
        """Return gradient and Hessian, float32 (n_samples,) each, or a column for each output."""
        training = self.training
        training.check_matrix(matrix)
        if not training.in_outputs:
            raw_prediction = score_of_rows(raw_prediction)
            if raw_prediction.ndim != 1:
                raise ValueError(
                    "params['num_class'] is not allowed beside an ordinal objective: the score must have shape "
                    f"(n_samples,); got {raw_prediction.shape}"
                )
            if not training.plan.driven:
                training.check_train()
        run, iteration = training.growing(raw_prediction, matrix, epoch)
        return run.gradient(raw_prediction, iteration)

    def bind(self, matrix: object, labels: OrdinalLabels) -> None:
        """Let a matrix, of the training or evaluated, have labels of several answers a row, or intervals.

        Parameters
        ----------
        matrix : xgboost.DMatrix or lightgbm.Dataset
            Its own labels become the codes of the classes in the middle.
        labels : OrdinalLabels
            One a row.
        """
        self.training.bind(matrix, labels)

    @property
    def thresholds_(self) -> FloatArray:
        """Newest thresholds of the latest training of this thread, or else of any; (n_classes - 1,), float64."""
        return self.training.latest.thresholds.copy()

    @property
    def diagnostics_(self) -> dict[str, int]:
        """Counters of the latest training; see :class:`ordinal_objectives.threshold_solver.Diagnostics`."""
        return self.training.latest.diagnostics.as_dict()

    def mean_loss(self, raw_prediction: ArrayLike, matrix: object) -> float:
        """Return the weighted mean loss of a matrix at given scores, with the newest thresholds of its run.

        Parameters
        ----------
        raw_prediction : array-like of float, shape (n_samples,)
            Scores of its rows.
        matrix : xgboost.DMatrix or lightgbm.Dataset
            The training matrix, or one that is evaluated.
        """
        return self.training.mean_loss(score_of_rows(raw_prediction), matrix)

    def proba_metric(self, function: Callable[..., object]) -> Callable[..., object]:
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

        def metric(preds: RealArray, matrix: object) -> object:
            self.training.check_matrix(matrix)
            score = score_of_rows(preds)
            return function(self.training.evaluating(score, matrix).proba_of(matrix, score), matrix)

        metric.__name__ = getattr(function, "__name__", type(function).__name__)
        return metric

    def joined_metric(self, functions: Sequence[Callable[..., object]]) -> Callable[..., list[object]]:
        """Return the ordinal loss, and metrics of class probabilities, as one metric that returns all their results.

        Parameters
        ----------
        functions : sequence of callable
            As :meth:`proba_metric` takes them. The joined metric raises ValueError if two of them have one name.

        Returns
        -------
        callable
            For ``custom_metric=`` or ``feval=``.
        """
        metrics = [self.metric, *map(self.proba_metric, functions)]

        def metric(scores: object, matrix: object) -> list[object]:
            answers = [function(scores, matrix) for function in metrics]
            results = [result for answer in answers for result in (answer if isinstance(answer, list) else [answer])]
            names = [result[0] for result in results if isinstance(result, tuple)]
            if len(set(names)) < len(names):
                raise ValueError(
                    f"each metric must have a name of its own; got {', '.join(map(repr, names))}, of which the first "
                    f"is the ordinal loss. A function can return a name beside its value"
                )
            return results

        return metric
