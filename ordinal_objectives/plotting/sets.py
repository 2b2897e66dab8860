"""Which classes are in the prediction sets of each true class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.plotting.style import axes_or_new, class_names_of, draw_shares, name_ticks, pyplot
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import check_codes


@documented
class PredictionSetsDisplay:
    """For each true class: how often its rows' sets hold each class, and how many classes they hold.

    The squares on the diagonal are the coverage of each class.

    Parameters
    ----------
    y : array-like of int, shape (n_samples,)
        True class codes.
    sets : array-like of bool, shape (n_samples, n_classes)
        Whether each class is in the set of a row.
    <<class_names>>

    Attributes
    ----------
    <<ax_, figure_>>

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from ordinal_objectives.plotting import PredictionSetsDisplay
    >>> display = PredictionSetsDisplay([0, 1], [[True, False], [True, True]]).plot()
    >>> display.ax_.get_title()
    'coverage 100%; mean size 1.5'
    """

    def __init__(self, y: ArrayLike, sets: ArrayLike, class_names: Any = None) -> None:
        self.sets: NDArray[np.bool_] = np.asarray(sets)
        if self.sets.ndim != 2 or self.sets.dtype != np.bool_:
            raise ValueError(
                f"sets must be an array of True and False, (n_samples, n_classes); got shape {self.sets.shape} of type "
                f"{self.sets.dtype}"
            )
        self.y = check_codes(y, self.sets.shape[1])
        if len(self.y) != len(self.sets):
            raise ValueError(f"y and sets must have the same number of rows; got {len(self.y)} and {len(self.sets)}")
        self.class_names = class_names_of(class_names, self.sets.shape[1])

    @classmethod
    @documented
    def from_estimator(cls, estimator: Any, X: Any, y: ArrayLike, *, ax: Any = None) -> PredictionSetsDisplay:
        """Plot the sets that a fitted :class:`~ordinal_objectives.OrdinalPredictionSets` has for (X, y).

        Parameters
        ----------
        estimator : OrdinalPredictionSets
            Fitted.
        X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
            Rows, others than those of ``fit``.
        y : array-like, shape (n_samples,)
            Labels.
        <<ax>>
        """
        if not hasattr(estimator, "predict_set"):
            raise TypeError(f"estimator must be fitted OrdinalPredictionSets; got {type(estimator).__name__}")
        sets = estimator.predict_set(X)
        return cls(estimator.encode_labels(y), sets, estimator.ordered_classes_).plot(ax=ax)

    def plot(self, ax: Any = None) -> PredictionSetsDisplay:
        """Draw the shares.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        pyplot()
        n = self.sets.shape[1]
        ax = axes_or_new(ax, 3.0 + 0.55 * min(n, 20), 2.0 + 0.5 * min(n, 20))
        shares, sizes = np.zeros((n, n)), self.sets.sum(axis=1)
        names = []
        for k, name in enumerate(self.class_names):
            of_class = self.y == k
            rows = int(of_class.sum())
            shares[k] = self.sets[of_class].mean(axis=0) if rows else np.nan
            names.append(f"{name} ({sizes[of_class].mean():.1f} classes)" if rows else f"{name} (no rows)")
        texts = [[f"{share:.0%}" if share > 0.005 else "" for share in of_true] for of_true in shares]
        draw_shares(ax, shares, texts, self.class_names, "share of the rows' sets")
        name_ticks(ax.yaxis, names)
        ax.set(xlabel="class in the set", ylabel="true class (mean size of its sets)")
        covered = self.sets[np.arange(len(self.y)), self.y].mean()
        ax.set_title(f"coverage {covered:.0%}; mean size {sizes.mean():.3g}", fontsize="medium")
        self.ax_, self.figure_ = ax, ax.figure
        return self
