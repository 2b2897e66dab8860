"""Losses of several outputs: the interface that a training needs, and three losses.

A loss of your own is any object with the methods of :class:`MultiOutputLoss`.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.special import expit, softmax

from ordinal_objectives.aliases import FloatArray, NDArray

HESSIANS = ("diagonal", "full", "majorized")
# With a probability of 0 or 1 the curvature is 0, and a leaf would take an infinite step.
_LEAST_HESSIAN = 1e-16


class MultiOutputLoss(Protocol):
    """Interface of a loss. Methods are given blocks of rows and must not change them.

    Each call is checked: results of another shape or type than said here raise a ValueError.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingMultiOutputRegressor
    >>> class LogCosh:  # as the squared error near zero, as the absolute error far away
    ...     def start(self, y, weight):
    ...         return np.average(y, axis=0, weights=weight)
    ...     def derivatives(self, y, raw_prediction, hessian):
    ...         off = raw_prediction - y
    ...         loss = np.logaddexp(off, -off) - np.log(2)
    ...         return loss.sum(axis=1), np.tanh(off), 1.01 - np.tanh(off) ** 2
    ...     def predict(self, raw_prediction):
    ...         return raw_prediction
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> Y = np.column_stack([X[:, 0], X[:, 0] + X[:, 1]])
    >>> HistGradientBoostingMultiOutputRegressor(loss=LogCosh(), max_iter=20).fit(X, Y).predict(X).shape
    (200, 2)
    """

    def start(self, y: NDArray[Any], weight: FloatArray | None) -> FloatArray:
        """Return the raw prediction before the first tree, (n_outputs,); it says how many outputs there are.

        Parameters
        ----------
        y : ndarray
            All training targets, (n_samples,) or (n_samples, n_targets).
        weight : ndarray of float64, shape (n_samples,), or None
            Weights of the rows; None for ones.
        """

    def derivatives(
        self, y: NDArray[Any], raw_prediction: FloatArray, hessian: str
    ) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Return the loss of each row, and its derivatives in the raw prediction, without weights.

        Parameters
        ----------
        y : ndarray, shape (n_rows,) or (n_rows, n_targets)
            Targets of a block of rows.
        raw_prediction : ndarray of float64, shape (n_rows, n_outputs)
            Sums of the trees for these rows.
        hessian : {"diagonal", "full", "majorized"}
            The diagonal of the second derivatives, the full matrix, or a diagonal that is nowhere below it.

        Returns
        -------
        ndarray, shape (n_rows,)
            The loss, whose derivatives the others are: a step that raises it is halved. It may be infinite where a
            step is too long, and never NaN.
        ndarray, shape (n_rows, n_outputs)
            The gradient, finite wherever the loss does not rise; with the weights float32 must hold it.
        ndarray or None
            The Hessian: (n_rows, n_outputs, n_outputs), (n_rows, n_outputs), (n_rows, 1) where all outputs have the
            same, or None where it is the identity. Finite like the gradient, with a diagonal that is not negative; of
            matrices the lower triangle is read. The shape must be the same at every call; "full" may be answered
            with a diagonal where it is one.
        """

    def predict(self, raw_prediction: FloatArray) -> FloatArray:
        """Return what the raw prediction (n_rows, n_outputs) says of the targets.

        Numbers, a column for each target, label or class; of two classes the second's column alone will do.
        """


class SquaredError:
    """Half the squared error, summed over outputs: 1/2 sum_j (f_j - y_j)^2."""

    def start(self, y: NDArray[Any], weight: FloatArray | None) -> FloatArray:
        """Return the mean of each target."""
        return np.average(y, axis=0, weights=weight)

    def derivatives(
        self, y: NDArray[Any], raw_prediction: FloatArray, hessian: str
    ) -> tuple[FloatArray, FloatArray, None]:
        """See :class:`MultiOutputLoss`."""
        gradient = raw_prediction - y
        return 0.5 * np.einsum("ij,ij->i", gradient, gradient), gradient, None

    def predict(self, raw_prediction: FloatArray) -> FloatArray:
        """Return the raw prediction."""
        return raw_prediction


class SoftmaxCrossEntropy:
    r"""Cross-entropy of the softmax of one output a class: -log p_y.

    The Hessian diag(p) - pp' has rows whose other entries sum to the diagonal's p (1 - p): it is nowhere above
    2 diag(p (1 - p)), the majorized one (Appendix A of the paper).

    Parameters
    ----------
    n_classes : int
        Number of classes, and of outputs.
    """

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def start(self, y: NDArray[Any], weight: FloatArray | None) -> FloatArray:
        """Return the logarithms of the classes' shares; codes 0..n_classes - 1."""
        share = np.bincount(y, weight, self.n_classes) / (len(y) if weight is None else weight.sum())
        return np.log(np.maximum(share, np.finfo(float).eps))

    def derivatives(
        self, y: NDArray[Any], raw_prediction: FloatArray, hessian: str
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """See :class:`MultiOutputLoss`."""
        # In float32, as the engine's rows are, from the difference on: a third of the time.
        p: NDArray[Any] = np.empty(raw_prediction.shape, np.float32)
        np.subtract(raw_prediction, raw_prediction.max(axis=1, keepdims=True), out=p, casting="same_kind")
        rows = np.arange(len(y))
        own = p[rows, y]
        np.exp(p, out=p)
        total = p.sum(axis=1)
        # The largest is 1: without it the sum is as exact as the loss of a row that is nearly certain has to be.
        others = np.einsum("ij->i", p, dtype=np.float64, casting="same_kind") - 1.0
        p /= total[:, np.newaxis]
        if hessian == "full":
            second = -p[:, :, np.newaxis] * p[:, np.newaxis, :]
            np.einsum("ijj->ij", second)[:] += p
        else:
            second = p * p
            np.subtract(p, second, out=second)
            if hessian == "majorized":
                second *= 2.0
            np.maximum(second, _LEAST_HESSIAN, out=second)
        p[rows, y] -= 1.0
        return (np.log1p(others) - own).astype(np.float32), p, second

    def predict(self, raw_prediction: FloatArray) -> FloatArray:
        """Return class probabilities, (n_rows, n_classes)."""
        return softmax(raw_prediction, axis=1)


class BinaryCrossEntropy:
    """Logistic loss of each label, summed over labels: log(1 + exp(f_j)) - y_j f_j. Its Hessian is diagonal."""

    def start(self, y: NDArray[Any], weight: FloatArray | None) -> FloatArray:
        """Return the log odds of each label."""
        share = np.average(y, axis=0, weights=weight)
        least = np.finfo(float).eps
        return np.log(np.maximum(share, least)) - np.log(np.maximum(1.0 - share, least))

    def derivatives(
        self, y: NDArray[Any], raw_prediction: FloatArray, hessian: str
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """See :class:`MultiOutputLoss`."""
        p = expit(raw_prediction)
        loss = np.sum(np.logaddexp(0.0, raw_prediction) - y * raw_prediction, axis=1)
        return loss, p - y, np.maximum(p * (1.0 - p), _LEAST_HESSIAN)

    def predict(self, raw_prediction: FloatArray) -> FloatArray:
        """Return the probability of each label, (n_rows, n_labels)."""
        return expit(raw_prediction)
