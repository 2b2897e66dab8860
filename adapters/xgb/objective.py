"""The ordinal objective for ``xgboost.train``."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import xgboost
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.objective import OrdinalObjectiveBase
from ordinal_objectives.adapters.xgb.attach import finished_record
from ordinal_objectives.adapters.xgb.callback import ThresholdCallback
from ordinal_objectives.adapters.xgb.outputs import VECTOR_LEAVES, refuse_before
from ordinal_objectives.adapters.xgb.prediction import proba_of
from ordinal_objectives.adapters.xgb.record import store_record, stored_record
from ordinal_objectives.adapters.xgb.runs import XGBoostRuns
from ordinal_objectives.decision import decide
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.validation import check_choice

try:
    from xgboost.objective import TreeObjective
except ImportError:  # before 3.2

    class TreeObjective:  # type: ignore[no-redef]
        """Stands in for XGBoost's."""


SHIFT_METHODS = ("renewal", "host")


class OrdinalObjective(OrdinalObjectiveBase):
    """Ordinal objective for :func:`xgboost.train`.

    The score starts at 0, so ``params`` must hold ``base_score=0.0``; ``disable_default_eval_metric=1``
    silences XGBoost's rmse. Pass the object as ``obj=``: thresholds are learned inside the call, one Newton
    step behind the trees. Pass ``callbacks=[objective.callback]`` as well, and metrics see the thresholds
    of their own round, the last step is done, and the thresholds are stored in the booster, where
    saving, slicing, pickling and continuing keep them.

    With ``proportional=False`` XGBoost itself fits shifts of single thresholds, as outputs beside the score: the
    callback tells it to grow trees with a vector in every leaf, and :func:`predict_proba` makes probabilities of its
    outputs. ``n_classes`` and the callback are needed then.

    Parameters
    ----------
    n_classes, loss, link, hessian, threshold_update, thresholds, proportional, shift_l2, shift_penalty, n_threads
        See :class:`ordinal_objectives.adapters.parameters.OrdinalParameters`.
    shift_method : {"host", "renewal"} or None, default=None
        Who fits the shifts: XGBoost, or :func:`.train.train`, which renews leaves and sets this itself. None: "host",
        unless the model is proportional.

    Raises
    ------
    ValueError
        If a parameter is not one of those allowed, or the XGBoost that is installed cannot fit shifts.

    Examples
    --------
    >>> import numpy as np, xgboost
    >>> from ordinal_objectives.adapters import xgb as oxgb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> dtrain = xgboost.DMatrix(X, y)
    >>> objective = oxgb.OrdinalObjective(n_classes=4)
    >>> params = {"base_score": 0.0, "disable_default_eval_metric": 1, "max_depth": 2}
    >>> booster = xgboost.train(params, dtrain, 20, obj=objective, callbacks=[objective.callback])
    >>> objective.predict_proba(booster, dtrain).shape
    (300, 4)
    """

    # Whether XGBoost fits the shifts.
    _in_outputs: ClassVar[bool] = False

    def __new__(cls, *args: Any, **kwargs: Any) -> OrdinalObjective:
        """Return an :class:`OutputObjective` where XGBoost fits the shifts, since it asks for that by the class."""
        proportional, method = kwargs.get("proportional", True), kwargs.get("shift_method")
        fits_shifts = (isinstance(proportional, str) or not proportional) and method in (None, "host")
        return super().__new__(OutputObjective if cls is OrdinalObjective and fits_shifts else cls)

    def __init__(self, *args: Any, shift_method: str | None = None, **kwargs: Any) -> None:
        if shift_method is not None:
            check_choice(shift_method, SHIFT_METHODS, name="shift_method")
        super().__init__(*args, **kwargs)
        if shift_method == "host" and not self._in_outputs:
            raise ValueError(
                "shift_method='host' belongs to thresholds that move with x: pass proportional=False with it"
            )
        if self._in_outputs and self.shift_penalty == "sparse":
            raise ValueError(
                "shift_penalty='sparse' chooses thresholds leaf by leaf, which XGBoost does not: it goes with "
                "shift_method='renewal'; here 'ridge' and 'smooth' are possible"
            )

    def connect(self) -> None:
        """Set ``runs`` and ``callback``, new and empty."""
        self.runs: XGBoostRuns = XGBoostRuns(self, in_outputs=self._in_outputs)
        self.callback = ThresholdCallback(self.runs)

    def metric(self, predt: NDArray[Any], dmatrix: xgboost.DMatrix) -> tuple[str, float]:
        """Weighted mean of the loss, for ``custom_metric=``; fresh thresholds if the callback is passed."""
        return self.loss.name, self.mean_loss(predt, dmatrix)

    def attach(self, booster: xgboost.Booster, dtrain: xgboost.DMatrix | None = None) -> None:
        """Store the thresholds in a booster that was trained without the callback.

        Parameters
        ----------
        booster : xgboost.Booster
            What the latest training with this objective returned. Its attribute is set.
        dtrain : xgboost.DMatrix or None, default=None
            The training matrix, to take the last threshold step; None leaves the last tree with the
            thresholds it was grown on. It may be left out while the matrix that was trained on is alive: the
            booster is recognised by its scores. With gblinear, and with dart that drops trees, the objective
            has not seen such scores; dtrain is needed, and the thresholds are fitted to the last one.

        Raises
        ------
        ValueError
            If the objective's latest training is not the booster's, or dtrain is needed to tell.
        """
        store_record(booster, finished_record(self.runs, booster, dtrain))

    def _record(self, booster: xgboost.Booster) -> ThresholdRecord:
        return stored_record(booster) or finished_record(self.runs, booster, None)

    def predict_proba(
        self, booster: xgboost.Booster, data: xgboost.DMatrix, iteration_range: tuple[int, int] | None = None
    ) -> NDArray[np.float64]:
        """Class probabilities, float64 (n_samples, n_classes); see :func:`predict_proba`."""
        return proba_of(booster, self._record(booster), data, iteration_range)

    def predict(
        self,
        booster: xgboost.Booster,
        data: xgboost.DMatrix,
        iteration_range: tuple[int, int] | None = None,
        *,
        decision_rule: str = "median",
        cost_matrix: ArrayLike | None = None,
    ) -> NDArray[np.intp]:
        """Class codes, (n_samples,); see :func:`predict`."""
        return decide(self.predict_proba(booster, data, iteration_range), decision_rule, cost_matrix)


class OutputObjective(OrdinalObjective, TreeObjective):  # type: ignore[misc]
    """What :class:`OrdinalObjective` is where XGBoost fits the shifts: gradients for leaves, and others for splits.

    Leaves have the outputs (w, z), the score and contrasts of the shifts; splits are judged by the score alone.
    """

    _in_outputs: ClassVar[bool] = True

    def __init__(self, *args: Any, proportional: bool | str = False, **kwargs: Any) -> None:
        refuse_before(VECTOR_LEAVES, "proportional=False")
        super().__init__(*args, proportional=False if proportional == "auto" else proportional, **kwargs)

    def __call__(self, iteration: int, y_pred: NDArray[Any], dtrain: xgboost.DMatrix) -> Any:  # type: ignore[override]
        """Return gradient and Hessian of the outputs, float32 (n_samples, n_classes - 1) each."""
        run, t = self.runs.growing(y_pred, dtrain)
        return run.gradient(y_pred, t)

    def split_grad(self, iteration: int, grad: NDArray[Any], hess: NDArray[Any]) -> Any:
        """Return those of the score, (n_samples, 1) each."""
        return grad[:, :1].copy(), hess[:, :1].copy()  # of either device
