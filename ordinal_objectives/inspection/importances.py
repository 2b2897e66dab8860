"""Which feature moves which threshold of a fitted model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ordinal_objectives.aliases import Estimator, FloatArray, LabelArray, Seed, Table
from ordinal_objectives.inspection.rows import as_rows, name_of, unwrapped, with_column_of
from ordinal_objectives.utils import extras, validation


class _ImportancesAndShare(NamedTuple):
    importances: FloatArray
    shift_share: FloatArray


class ThresholdImportances(_ImportancesAndShare):
    """How far each feature moves each threshold; see :func:`threshold_importances`.

    It is the pair (importances, shift_share), with names beside it.

    Attributes
    ----------
    importances : ndarray of float64, shape (n_features, n_classes - 1)
        On the scale of the margins, lowest threshold first.
    shift_share : ndarray of float64, shape (n_features,)
        Share, between 0 and 1, of what a feature moves that is shift of single thresholds; the rest is score, which
        moves all alike. 0 for a feature that moves nothing.
    feature_names : list of str or None
        Names of the features; "feature 0", "feature 1", ... where X has none. None: not known.
    classes : ndarray, shape (n_classes,), or None
        Class labels, lowest first. None: not known.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import threshold_importances
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.digitize(X[:, 0], [-1.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> found = threshold_importances(model, X, random_state=0)
    >>> found.importances.shape, found.shift_share.shape
    ((2, 2), (2,))
    >>> list(found.to_frame().columns)
    ['<= 0', '<= 1', 'shift_share']
    """

    feature_names: list[str] | None = None
    classes: LabelArray | None = None

    def to_frame(self) -> Table:
        """Return a pandas.DataFrame, a row for each feature, by name.

        There is a column for each threshold, called "<= low" where it lies above the class "low", and the column
        "shift_share". Without names, features and classes are numbers.

        Raises
        ------
        ModuleNotFoundError
            If pandas is not installed.
        """
        n_features, n_thresholds = self.importances.shape
        names = range(n_features) if self.feature_names is None else self.feature_names
        columns = threshold_columns(range(n_thresholds + 1) if self.classes is None else self.classes)
        frame = extras.data_frame(self.importances, index=list(names), columns=columns)
        frame["shift_share"] = self.shift_share
        return frame


def threshold_columns(classes: Iterable[Any]) -> list[str]:
    """Return what the columns of thresholds are called, by the highest class below each."""
    return [f"<= {label}" for label in list(classes)[:-1]]


def threshold_importances(
    estimator: Estimator, X: Table, *, n_repeats: int = 5, random_state: Seed = None
) -> ThresholdImportances:
    r"""Return how far each feature moves each threshold of a fitted classifier.

    Each row is given a feature's value of another row, drawn at random, which moves its margin of threshold k by
    :math:`D_{ik}`. The importance of the feature for the threshold is

    .. math:: I_k = \sqrt{ \tfrac{1}{2n} \sum_i D_{ik}^2 } ,

    averaged over the repeats before the root: Jansen's estimator of Sobol's total effect [1]_. Where a feature's
    effect on the margin of k is b_k(x), added to those of the others, this estimates the standard deviation of b_k(x)
    over the rows: for a linear effect the absolute coefficient times that of the feature. Equal entries of a row say
    that the feature acts on all thresholds alike, which the test of Brant [2]_ asks of linear models.

    Since shifts sum to zero over the thresholds, the mean over k of D_ik^2 is the squared change of the score plus
    the mean squared change of the shifts, and ``shift_share`` is the second part's share in both.

    The importances describe the model, not the data: they need no labels, and rows kept out of the training show what
    the model does with new ones. Impurity importances add up gains tree by tree, also of trees that cancel each other,
    and each library stores other weights of its nodes. As in every permutation, features that depend on each other are
    combined in ways that the data do not have.

    Parameters
    ----------
    estimator : fitted classifier of this package, or a pipeline or search that ends in one
        The features are those that the pipeline is given.
    X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
        At least two rows. The cost is ``n_features * n_repeats + 1`` predictions of them.
    n_repeats : int, default=5
        How often each feature is permuted.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations. None takes NumPy's global state.

    Returns
    -------
    ThresholdImportances

    Raises
    ------
    NotFittedError
        Before ``fit``.
    TypeError
        If the estimator has no margins.
    ValueError
        If ``n_repeats`` is not a positive integer, or X has fewer than two rows.

    References
    ----------
    .. [1] Jansen, Analysis of variance designs for model output, Computer Physics Communications 117, 1999.
    .. [2] Brant, Assessing proportionality in the proportional odds model for ordinal logistic regression,
       Biometrics 46, 1990.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import threshold_importances
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> margins = np.array([-2.0, 2.0]) - X[:, [0]] - np.array([1.5, 0.0]) * np.tanh(X[:, [1]])
    >>> y = (rng.logistic(size=(2000, 1)) > margins).sum(axis=1)
    >>> model = HistGradientBoostingOrdinalClassifier(proportional=False, max_iter=50, max_leaf_nodes=4).fit(X, y)
    >>> found = threshold_importances(model, X, random_state=0)
    >>> found.importances.argmax(axis=0).tolist(), (found.shift_share > 0.2).tolist()
    ([0, 0], [False, True])
    >>> found.to_frame().columns.tolist()
    ['<= 0', '<= 1', 'shift_share']
    """
    model, prepared = unwrapped(estimator)
    X = as_rows(X)
    if not isinstance(n_repeats, int | np.integer) or isinstance(n_repeats, bool) or n_repeats < 1:
        raise ValueError(f"n_repeats must be a positive integer; got {n_repeats!r}")
    random, before = validation.random_numbers(random_state), model.predict_linear_predictors(prepared(X))
    n_samples, n_thresholds = before.shape
    if n_samples < 2:
        raise ValueError(f"X must have at least 2 rows; got {n_samples}")
    total, score_total = np.zeros((X.shape[1], n_thresholds)), np.zeros(X.shape[1])
    for _ in range(n_repeats):
        order, others = random.permutation(n_samples), np.empty(n_samples, np.intp)
        others[order] = np.roll(order, 1)  # one cycle through all rows: none is its own
        for feature in range(X.shape[1]):
            moved = model.predict_linear_predictors(prepared(with_column_of(X, feature, others))) - before
            total[feature] += np.mean(moved**2, axis=0)
            score_total[feature] += np.mean(moved.mean(axis=1) ** 2)
    mean = total.mean(axis=1)
    score_share = np.divide(score_total, mean, out=np.ones_like(mean), where=mean > 0.0)
    found = ThresholdImportances(np.sqrt(total / (2 * n_repeats)), np.clip(1.0 - score_share, 0.0, 1.0))
    found.feature_names = [name_of(estimator, X, column) for column in range(X.shape[1])]
    found.classes = getattr(model, "ordered_classes_", None)
    return found
