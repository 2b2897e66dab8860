"""Checks of what a multi-output loss returns, which may be a user's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.histogram_engine.multi_output.losses import MultiOutputLoss
from ordinal_objectives.utils.read_only import call_read_only

FloatArray = NDArray[np.float64]
_METHODS = ("start", "derivatives", "predict")


def predictions(loss: MultiOutputLoss, raw_prediction: FloatArray, *n_columns: int) -> NDArray[Any]:
    """Return what a loss predicts, (n_rows, one of n_columns); raise ValueError if it is no such array of numbers."""
    said, (n, n_outputs) = (
        np.asarray(call_read_only(type(loss).__name__, loss.predict, raw_prediction)),
        raw_prediction.shape,
    )
    said = said[:, np.newaxis] if 1 in n_columns and said.shape == (n,) else said
    if said.dtype.kind not in "fiub" or said.shape not in [(n, k) for k in n_columns]:
        raise ValueError(
            f"{type(loss).__name__}.predict must return real numbers, {' or '.join(f'({n}, {k})' for k in n_columns)} "
            f"for {n} rows of {n_outputs} outputs, as start says; got {said.shape} of the type {said.dtype}"
        )
    if not np.isfinite(said).all():
        raise ValueError(f"{type(loss).__name__}.predict must return finite numbers; got {said[~np.isfinite(said)][0]}")
    return said


class CheckedLoss:
    """A loss whose results are checked for the shapes and types of a training; see :class:`.losses.MultiOutputLoss`.

    Whether derivatives are finite depends on the raw prediction, so the training checks it: a step that is too long may
    end where they are infinite, and is halved.

    Parameters
    ----------
    loss : MultiOutputLoss
    n_columns : tuple of int
        How many columns its predictions may have.

    Raises
    ------
    TypeError
        If it lacks a method, or is a class.
    """

    def __init__(self, loss: MultiOutputLoss, n_columns: tuple[int, ...]) -> None:
        if isinstance(loss, type):
            raise TypeError(f"loss must be an object, not a class: pass {loss.__name__}(); got {loss!r}")
        if missing := [name for name in _METHODS if not callable(getattr(loss, name, None))]:
            raise TypeError(
                f"a loss of your own must have the methods {', '.join(_METHODS)}; got {loss!r} without "
                f"{', '.join(missing)}"
            )
        self._loss, self._n_columns = loss, n_columns
        self.name = type(loss).__name__
        self._first: dict[str, Any] = {}  # shape of the Hessian, without rows, for each `hessian`

    def start(self, y: NDArray[Any], weight: FloatArray | None) -> FloatArray:
        """Return the raw prediction before the first tree."""
        said = call_read_only(self.name, self._loss.start, y, weight)
        start: FloatArray = self._numbers(said, "start", "answer").astype(np.float64)
        if start.ndim != 1 or not start.size or not np.isfinite(start).all():
            raise ValueError(f"{self.name}.start must return one finite number for each output; got {start}")
        return start

    def predictions(self, raw_prediction: FloatArray) -> NDArray[Any]:
        """Return what it predicts; see :func:`predictions`."""
        return predictions(self._loss, raw_prediction, *self._n_columns)

    def derivatives(
        self, y: NDArray[Any], raw_prediction: FloatArray, hessian: str
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
        """Return the loss of each row, which may be infinite, the gradient and the Hessian.

        Raises
        ------
        ValueError
            If one of them has another shape or type than it may, the Hessian another than at the first call, or a
            row's loss is NaN or minus infinity.
        """
        answer = call_read_only(self.name, self._loss.derivatives, y, raw_prediction, hessian)
        if not isinstance(answer, (tuple, list)) or len(answer) != 3:
            raise ValueError(
                f"{self.name}.derivatives must return a tuple of three, the loss, gradient and Hessian; "
                f"got {type(answer).__name__}"
            )
        n, d = raw_prediction.shape
        loss, gradient = (
            self._numbers(one, "derivatives", what) for one, what in zip(answer, ("loss", "gradient"), strict=False)
        )
        second = None if answer[2] is None else self._numbers(answer[2], "derivatives", "Hessian")
        if loss.shape != (n,):
            raise ValueError(
                f"{self.name}.derivatives must return one loss for each row, ({n},) for {n} rows; got {loss.shape}"
            )
        if not loss.min() > -np.inf:
            row = int(np.argmin(loss))
            raise ValueError(f"{self.name}.derivatives must return losses that are numbers; got {loss[row]}")
        allowed = [(n, 1), (n, d), (n, d, d)]
        if gradient.shape != (n, d) or (second is not None and second.shape not in allowed):
            raise ValueError(
                f"{self.name}.derivatives must return gradients ({n}, {d}) and Hessians of one of the shapes "
                f"{', '.join(map(str, allowed))}, or None, for {n} rows; "
                f"got {gradient.shape} and {None if second is None else second.shape}"
            )
        shape = None if second is None else second.shape[1:]
        if (first := self._first.setdefault(hessian, shape)) != shape:
            was, came = ("None" if one is None else f"(n_rows, {', '.join(map(str, one))})" for one in (first, shape))
            raise ValueError(
                f"{self.name}.derivatives must return a Hessian of the same shape at every call, or None at every "
                f"call; at the first it was {was}; got {came}"
            )
        return loss, gradient, second

    def _numbers(self, answer: Any, method: str, what: str) -> NDArray[Any]:
        array = np.asarray(answer)
        if array.dtype.kind not in "fiub":
            raise ValueError(f"{self.name}.{method} must return real numbers; its {what} has the type {array.dtype}")
        return array
