"""What each feature does to a fitted model: to each threshold over all rows, and to each row as its SHAP values."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from ordinal_objectives import random_effects, tables
from ordinal_objectives.aliases import (
    ArrayLike,
    DataFrame,
    Estimator,
    FloatArray,
    IndexArray,
    LabelArray,
    RealArray,
    Seed,
    Table,
)
from ordinal_objectives.columns import Columns, are_missing
from ordinal_objectives.estimators import held_out
from ordinal_objectives.export import lightgbm_model, xgboost_model
from ordinal_objectives.export.model import Scorer, scoring_model
from ordinal_objectives.inspection.rows import as_rows, check_groups, name_of, names_of_model, unwrapped, with_column_of
from ordinal_objectives.threads import effective_n_threads, library_n_threads, one_thread_after_fork
from ordinal_objectives.utils import extras, validation

# Of SHAP values.
_OUTPUTS = ("score", "cumulative", "probability")
# Rows of X that are drawn as a background where none is given.
_BACKGROUND = 100
# XGBoost adds up in float32. What a library reads otherwise is off by whole leaves.
_SUMS_OFF = 1e-3


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

    def to_frame(self) -> DataFrame:
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
    estimator: Estimator,
    X: object,
    *,
    n_repeats: int = 5,
    groups: ArrayLike | None = None,
    random_state: Seed = None,
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
    groups : array-like, shape (n_samples,), or None, default=None
        The group of each row, such as a patient. Then a row gets the values of a row of another group, drawn at random:
        Jansen's estimator asks for an independent row, and rows of one group may have the same value.
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
        If ``n_repeats`` is not a positive integer, X has fewer than two rows, or ``groups`` has another shape or fewer
        than two groups.

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
    n_repeats = validation.check_integer("n_repeats", n_repeats, 1)
    random, before = validation.random_numbers(random_state), model.predict_linear_predictors(prepared(X))
    n_samples, n_thresholds = before.shape
    if n_samples < 2:
        raise ValueError(f"X must have at least 2 rows; got {n_samples}")
    of_groups = check_groups(groups, n_samples)
    total, score_total = np.zeros((X.shape[1], n_thresholds)), np.zeros(X.shape[1])
    for _ in range(n_repeats):
        others = _other_rows(n_samples, of_groups, random)
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


def _other_rows(n_samples: int, groups: IndexArray | None, random: np.random.RandomState) -> IndexArray:
    """Return another row for each row, of another group where there are groups, (n_samples,)."""
    if groups is None:
        order, others = random.permutation(n_samples), np.empty(n_samples, np.intp)
        others[order] = np.roll(order, 1)  # one cycle through all rows: none is its own
        return others
    sizes = np.bincount(groups)
    by_group, starts = np.argsort(groups, kind="stable"), np.cumsum(sizes) - sizes
    place = random.randint(n_samples - sizes[groups])  # among the rows of the others, by group
    return by_group[place + np.where(place >= starts[groups], sizes[groups], 0)]


class ShapValues(NamedTuple):
    """What each feature adds to an output; see :func:`shap_values`.

    Attributes
    ----------
    values : ndarray of float64, shape (n_samples, n_features) or (n_samples, n_outputs, n_features)
        Of the score; else of each threshold or class, lowest first.
    base_values : ndarray of float64, shape () or (n_outputs,)
        What all rows have in common: with the values of all features it sums to the output.
    feature_names : list of str
        Of the features, as the classifier is given them; of a pipeline those that its steps make.
    output_names : list of str or None
        Of several outputs, in the order of the classes: "<= low" of each threshold, or the label of each class. None of
        the score.
    data : array, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
        The rows, with the features that are explained.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import shap_values
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.digitize(X[:, 0], [-1.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> found = shap_values(model, X)
    >>> found.values.shape
    (300, 2)
    >>> np.allclose(found.base_values + found.values.sum(axis=1), model.predict_raw(X))
    True
    """

    values: FloatArray
    base_values: FloatArray
    feature_names: list[str]
    output_names: list[str] | None = None
    data: Table | None = None

    def to_shap(self) -> Any:
        """Return the same as the shap library has it, for its plots: ``shap.plots.beeswarm(found.to_shap())``.

        Returns
        -------
        shap.Explanation
            Values of the score are (n_samples, n_features). Those of several outputs are (n_samples, n_features,
            n_outputs), lowest class first; ``explanation[:, :, "high"]`` are those of the class "high".

        Raises
        ------
        ModuleNotFoundError
            If shap is not installed.
        """
        n_samples = len(self.values)
        data: Any = self.data
        rows = (
            data.toarray()
            if validation.is_sparse(data)
            else np.column_stack([np.asarray(tables.column_at(data, place)) for place in range(data.shape[1])])
        )
        return extras.optional("shap", "shap").Explanation(
            values=np.moveaxis(self.values, 1, -1),
            base_values=np.broadcast_to(self.base_values, (n_samples, *self.base_values.shape)),
            data=rows,
            feature_names=self.feature_names,
            output_names=self.output_names,
        )


def shap_values(
    model: Estimator,
    X: object,
    *,
    output: str = "score",
    background: object = None,
    n_permutations: int = 10,
    random_state: Seed = None,
) -> ShapValues:
    """Return the SHAP values of rows: what each feature adds to the model's output, beside a base value.

    Those of the score and of the linear predictors are exact: path-dependent TreeSHAP [1]_, in which a feature that is
    not known leaves a row to both sides of a split, in the shares of the training rows. Those of class probabilities,
    which are no sums over trees, are estimated by the permutation explainer of the shap library [2]_, which gives a
    feature that is not known its values in background rows. The two answer different questions of features that depend
    on each other, and need not agree.

    Parameters
    ----------
    model : XGBOrdinalClassifier, LGBMOrdinalClassifier, CatBoostOrdinalClassifier or \
HistGradientBoostingOrdinalClassifier
        Fitted; or a pipeline or search that ends in one. Its steps transform X, and what they make is explained.
    X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
        Rows to explain, as the model takes them, at least one; for probabilities an array or a pandas frame.
    output : {"score", "cumulative", "probability"}, default="score"
        "score": what ``predict_raw`` returns; higher for higher classes. "cumulative": what
        ``predict_linear_predictors`` returns, theta_k - f(x) - v_k(x), which the link turns into P(y <= k); the base
        holds the threshold. "probability": what ``predict_proba_ordered`` returns.
    background : array or pandas frame, shape (n_background, n_features), or None, default=None
        Of probabilities: rows as in the training. None draws up to 100 of X. Their number is a factor of the cost.
    n_permutations : int, default=10
        Of probabilities: orders in which the features of a row become known, each taken forwards and backwards. The
        cost of a row is ``n_permutations * (2 * n_features + 1) * n_background`` predictions.
    random_state : int, RandomState instance or None, default=None
        Of probabilities: seed of the permutations and the drawn background. None takes NumPy's global state.

    Returns
    -------
    ShapValues
        Base value and values of a row sum to the output, whatever the number of permutations. Trees of an XGBoost model
        are explained by XGBoost, in float32: with a hundred trees the sums are right within about 1e-5. CatBoost
        explains its own trees in float64, LightGBM all others, and the sums are right but for rounding. A linear part
        adds the weight of each feature times its distance from the mean of the training. A column of
        ``random_intercept`` has the effect of the row's group, and 0 where the group is new: there the sums are those
        of the average group.

    Raises
    ------
    TypeError
        If ``model`` is another object, or X a table that rows cannot be made of.
    NotFittedError
        Before ``fit``.
    ValueError
        If an argument is out of range, ``background`` is given for another output, or the values do not sum to the
        output.
    ModuleNotFoundError
        If the library that explains is not installed: XGBoost, LightGBM or shap.

    References
    ----------
    .. [1] Lundberg et al., From local explanations to global understanding with explainable AI for trees, Nature
       Machine Intelligence 2, 2020.
    .. [2] Lundberg and Lee, A unified approach to interpreting model predictions, NeurIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import shap_values
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20).fit(X, y)
    >>> found = shap_values(model, X)
    >>> int(np.abs(found.values).mean(axis=0).argmax())
    0
    >>> bool(np.allclose(found.base_values + found.values.sum(axis=1), model.predict_raw(X)))
    True
    >>> shap_values(model, X, output="cumulative").values.shape
    (300, 3, 3)
    """
    validation.check_choice(output, _OUTPUTS, name="output")
    whole = model
    if isinstance(model, Pipeline) or hasattr(model, "best_estimator_"):
        model, prepared = unwrapped(model)
        X = prepared(X)
        background = None if background is None else prepared(background)
    names = names_of_model(whole, model) if hasattr(model, "n_features_in_") else []
    explains_itself = hasattr(model, "score_contributions")  # CatBoost, whose trees nothing else reads
    found = None if explains_itself else scoring_model(model)
    X = tables.as_table(X)
    if output == "probability":
        validation.check_integer("n_permutations", n_permutations, 1)
        estimated = _probability_values(model, X, background, n_permutations, random_state)
        return ShapValues(*estimated, names, [str(label) for label in model.ordered_classes_], X)
    if background is not None:
        raise ValueError(f"background must be None with output={output!r}: the training rows take its place")
    expected = model.predict_linear_predictors(X)  # checks the rows
    effects = model.fitted_effects()
    grouped = random_effects.encoded(X, [one.column for one in effects])
    if found is None:
        tree_values = model.score_contributions(X)[:, np.newaxis]
    else:
        codes, scorer = _codes(found.scorer, grouped), found.scorer
        if output == "score":
            scorer = scorer.with_outputs(lambda values: values.mean(axis=-1, keepdims=True))
        tree_values = _tree_values(scorer, codes, library_n_threads(model.asked_threads()) or effective_n_threads())
    linear = np.zeros((1, model.n_features_in_)) if model.linear_ is None else model.linear_.contributions(X)
    for one in effects:
        tree_values[:, :, one.column.place] += one.of_rows(grouped)[:, np.newaxis]
    values, base = tree_values[:, :, :-1] + linear[:, np.newaxis], tree_values[0, :, -1]
    score = (model.thresholds_ - expected).mean(axis=1)
    off = np.abs((values.sum(axis=-1) + base).mean(axis=1) - score).max()
    if not effects and off > _SUMS_OFF * max(1.0, np.abs(values).max()):  # new groups have sums of the average one
        raise ValueError(
            f"SHAP values of these rows do not sum to the score, but are off by up to {off:.2g}: the library that "
            f"explains the trees reads them otherwise. CatBoost does with a grow_policy other than 'SymmetricTree', "
            f"and LightGBM, which explains the native engine's trees too, with numbers within 1e-35 of 0"
        )
    if output == "score":
        return ShapValues(values[:, 0], np.asarray(base[0]), names, None, X)
    shape = (len(expected), len(model.thresholds_), model.n_features_in_)
    of_thresholds = -np.broadcast_to(values, shape)
    return ShapValues(of_thresholds, model.thresholds_ - base, names, threshold_columns(model.ordered_classes_), X)


def _codes(scorer: Scorer, X: Table) -> FloatArray:
    """Return checked rows as the trees read them, float64 (n_samples, n_features)."""
    if validation.is_sparse(X):
        stored = X.tocoo()
        # What a sparse matrix does not hold is missing to XGBoost, and 0 to LightGBM.
        dense = np.full(X.shape, np.nan if scorer.reads_float32 else 0.0)
        dense[stored.row, stored.col] = stored.data
        X = dense
    columns = Columns(X.shape[1], scorer.levels, missing=scorer.missing)
    codes = columns.encode(X).astype(np.float64)
    return np.where(are_missing(codes, columns.missing_in_codes), np.nan, codes)


@one_thread_after_fork()
def _tree_values(scorer: Scorer, codes: FloatArray, n_threads: int) -> FloatArray:
    """Return TreeSHAP of rows, and last the base values, (n_samples, n_outputs, n_features + 1)."""
    n_samples, n_features = codes.shape
    if not scorer.reads_float32:
        extras.optional("lightgbm", "lightgbm")  # which computes them of all trees but XGBoost's
        booster = lightgbm_model.booster_of(scorer, n_features)
        found = np.asarray(booster.predict(codes, pred_contrib=True, num_threads=n_threads), dtype=np.float64)
        return found.reshape(n_samples, scorer.n_outputs, n_features + 1)
    import xgboost

    types = xgboost_model.types_of(scorer, n_features)
    data = xgboost.DMatrix(codes, feature_types=types, nthread=n_threads)
    each = []
    for k in range(scorer.n_outputs):  # XGBoost explains leaves of several values only from version 3.3 on
        booster = xgboost_model.booster_of(scorer.with_outputs(itemgetter((..., [k]))), types)
        booster.set_param({"nthread": n_threads})
        each.append(booster.predict(data, pred_contribs=True))
    return np.stack(each, axis=1).astype(np.float64)


def _probability_values(
    model: Estimator, X: Table, background: object, n_permutations: int, random_state: Seed
) -> tuple[FloatArray, FloatArray]:
    shap = extras.optional("shap", "shap")
    random = validation.random_numbers(random_state)
    model.predict_proba_ordered(X)  # checks the rows
    rows = _joined(X, background, random)
    n_samples, n_features = X.shape

    # A row is given by the places of its features, since columns may be of any types.
    def proba(places: RealArray) -> FloatArray:
        return model.predict_proba_ordered(_mixed(rows, places.astype(np.intp)))

    places = np.repeat(np.arange(len(rows))[:, np.newaxis], n_features, axis=1)
    masker = shap.maskers.Independent(places[n_samples:], max_samples=len(places) - n_samples)
    before = np.random.get_state()  # noqa: NPY002, shap seeds the numbers of everybody
    try:
        explainer = shap.explainers.Permutation(proba, masker, seed=validation.drawn_seed(random))
        found = explainer(places[:n_samples], max_evals=n_permutations * (2 * n_features + 1), silent=True)
    finally:
        np.random.set_state(before)  # noqa: NPY002
    return np.swapaxes(found.values, 1, 2), found.base_values[0]


def _joined(X: Any, background: Any, random: np.random.RandomState) -> Any:
    """Return the rows of X, and those of the background or some of X, in one table.

    Raises
    ------
    ValueError
        If columns of frames differ.
    """
    other = X if background is None else background
    are_arrays = isinstance(X, np.ndarray) and isinstance(other, np.ndarray | list | tuple)
    other = np.asarray(other) if are_arrays else other
    if background is None:
        other = held_out.take_rows(X, random.permutation(len(X))[:_BACKGROUND])
    if are_arrays:
        return np.concatenate([X, other])
    if not X.dtypes.equals(other.dtypes):
        raise ValueError("background must have the columns of X, of the same types")
    return extras.optional("pandas", "demo").concat([X, other], ignore_index=True)


def _mixed(rows: Any, places: IndexArray) -> Table:
    """Return rows that have each feature of the row at its place."""
    if isinstance(rows, np.ndarray):
        return rows[places, np.arange(places.shape[1])]
    mixed = rows.iloc[places[:, 0]].reset_index(drop=True)
    for column, rows_of_column in enumerate(places.T):
        mixed.isetitem(column, rows.iloc[rows_of_column, column].array)
    return mixed
