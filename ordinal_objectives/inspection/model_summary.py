"""A fitted model in a few lines: classes, thresholds, training, features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length

from ordinal_objectives.aliases import ArrayLike, Estimator, FloatArray, LabelArray, Params, Seed, Table
from ordinal_objectives.estimators.held_out import take_rows
from ordinal_objectives.inspection import rows
from ordinal_objectives.inspection.features import ThresholdImportances, threshold_columns, threshold_importances
from ordinal_objectives.utils import text_tables
from ordinal_objectives.utils.validation import check_integer, random_numbers, row_weights

# Features beyond so many are counted, not listed.
_MOST_FEATURES = 20


@dataclass(frozen=True)
class ModelSummary(text_tables.Printed):
    """What :func:`summary` returns: printed it is text, in a notebook tables.

    Attributes
    ----------
    classifier : str
        Name of the class.
    classes : ndarray, shape (n_classes,)
        Class labels, lowest first.
    loss, link : str
        Names of loss and link.
    proportional : bool
        Whether one score moves all thresholds alike.
    n_trees : int
        Boosting rounds that predictions use.
    first_loss, last_loss : float
        Mean training loss before the first tree and after the last; NaN where it is not known.
    thresholds : ndarray of float64, shape (n_classes - 1,)
        Lowest first.
    threshold_spread : ndarray of float64, shape (n_classes - 1,), or None
        Standard deviations over the refits: how far thresholds spread from training to training, not how far they are
        from true ones; None without refits.
    feature_names : list of str
        Names of the features that the importances are of.
    feature_importances : ndarray of float64, shape (n_features,), or None
        The classifier's own: shares, with sum 1, of the native engine and XGBoost; LightGBM and CatBoost have other
        units. None where it has none, or where they are of other features than those of X.
    threshold_importances : ThresholdImportances or None
        How far each feature moves each threshold; None without X.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import summary
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.digitize(X[:, 0], [-1.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> found = summary(model)
    >>> found.n_trees, found.loss, found.link
    (20, 'all_threshold', 'logit')
    """

    classifier: str
    classes: LabelArray
    loss: str
    link: str
    proportional: bool
    n_trees: int
    first_loss: float
    last_loss: float
    thresholds: FloatArray
    threshold_spread: FloatArray | None
    feature_names: list[str]
    feature_importances: FloatArray | None
    threshold_importances: ThresholdImportances | None

    def _lines(self) -> list[str]:
        kind = "one score moves all thresholds" if self.proportional else "thresholds move with x"
        losses = f"mean training loss {self.first_loss:.4g} before the first tree, {self.last_loss:.4g} after the last"
        lines = [
            f"{self.classifier}: {len(self.classes)} classes, {self.n_trees} trees, {kind}",
            f"classes, lowest first: {', '.join(map(str, self.classes))}",
            f"loss {self.loss}, link {self.link}; {losses}",
        ]
        if self.threshold_importances is not None:
            importances, share = self.threshold_importances
            moved = (importances**2).mean(axis=1)
            overall = moved @ share / moved.sum() if moved.any() else 0.0
            lines.append(f"share of the shifts in what features move: {overall:.1%}")
        return lines

    def _tables(self) -> list[dict[str, list[str]]]:
        """Return the cells of each table by column."""
        names = threshold_columns(self.classes)
        thresholds = {"threshold": names, "value": [f"{value:.4g}" for value in self.thresholds]}
        if self.threshold_spread is not None:
            thresholds["sd of refits"] = [f"{value:.2g}" for value in self.threshold_spread]
        columns: dict[str, FloatArray] = {}
        order = self.feature_importances
        if self.feature_importances is not None:
            columns["importance"] = self.feature_importances
        if self.threshold_importances is not None:
            importances, share = self.threshold_importances
            columns |= dict(zip(names, importances.T, strict=True)) | {"shift_share": share}
            order = (importances**2).mean(axis=1)
        if order is None:
            return [thresholds]
        listed = np.argsort(-order, kind="stable")[:_MOST_FEATURES]
        features = {"feature": [self.feature_names[i] for i in listed]}
        features |= {name: [f"{value:.3g}" for value in column[listed]] for name, column in columns.items()}
        if len(order) > _MOST_FEATURES:
            for name, cells in features.items():
                cells.append(f"and {len(order) - _MOST_FEATURES} more" if name == "feature" else "")
        return [thresholds, features]


def summary(
    estimator: Estimator,
    X: object = None,
    y: ArrayLike | None = None,
    *,
    n_refits: int = 0,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    fit_params: Params | None = None,
    random_state: Seed = None,
) -> ModelSummary:
    """Return a fitted model in a few lines: print it.

    Parameters
    ----------
    estimator : fitted classifier of this package, or a pipeline or search that ends in one
        The features are those that a pipeline is given where X is there, else those of its classifier.
    X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features), or None, default=None
        Rows by which :func:`threshold_importances` says what each feature moves, sorted by it; with ``n_refits`` those
        of the training. None lists the classifier's own ``feature_importances_`` only.
    y : array-like, shape (n_samples,), or None, default=None
        Labels of X, for ``n_refits``.
    n_refits : int, default=0
        Number of copies that are trained on rows drawn with replacement, to say how far the thresholds spread: 0, or at
        least 2. They train as many rounds as the model. Thresholds lie on the scale of the score, so that what spreads
        the score spreads them too.
    sample_weight : array-like of float, shape (n_samples,), or None, default=None
        Weights of the rows of X in the training of copies.
    groups : array-like, shape (n_samples,), or None, default=None
        The group of each row of X, such as a patient: copies are trained on whole groups drawn with replacement, and
        the importances exchange values between groups only.
    fit_params : mapping of str to object, or None, default=None
        Keywords of the ``fit`` of copies beside rows and weights, such as LightGBM's ``categorical_feature``: what the
        model's own fit was given is not kept.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations and of the copies. None takes NumPy's global state.

    Returns
    -------
    ModelSummary

    Raises
    ------
    NotFittedError
        Before ``fit``.
    TypeError
        If the estimator is no classifier with margins, or ``n_refits`` no integer.
    ValueError
        If ``n_refits`` is negative or 1, or not 0 without X and y, X and y differ in rows, or ``groups`` has
        another shape or fewer than two groups.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import summary
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.digitize(X[:, 0], [-1.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20, proportional=True).fit(X, y)
    >>> print(str(summary(model)).splitlines()[0])
    HistGradientBoostingOrdinalClassifier: 3 classes, 20 trees, one score moves all thresholds
    """
    model, _ = rows.unwrapped(estimator)
    n_refits, random = check_integer("n_refits", n_refits, 0), random_numbers(random_state)
    if n_refits == 1:
        raise ValueError("n_refits must be 0 or at least 2; got 1")
    found = None if X is None else threshold_importances(estimator, X, groups=groups, random_state=random)
    spread = (
        _spread(estimator, rows.as_rows(X), y, n_refits, sample_weight, groups, fit_params, random)
        if n_refits
        else None
    )
    last = getattr(estimator, "best_estimator_", estimator)
    transforms = isinstance(last, Pipeline) and len(last) > 1  # into other features than those of X
    own = None if found is not None and transforms else getattr(model, "feature_importances_", None)
    names = rows.names_of_model(estimator, model) if found is None else list(found.feature_names or [])
    loss, losses = model.trained_spec().loss, model.training_loss_
    return ModelSummary(
        classifier=type(model).__name__,
        classes=model.ordered_classes_,
        loss=loss.name,
        link=loss.link.name,
        proportional=model.proportional_,
        n_trees=model.n_iter_,
        first_loss=float(losses[0]),
        last_loss=float(losses[min(model.n_iter_, len(losses) - 1)]),
        thresholds=model.thresholds_,
        threshold_spread=spread,
        feature_names=names,
        feature_importances=None if own is None else np.asarray(own, dtype=np.float64),
        threshold_importances=found,
    )


def _spread(
    estimator: Estimator,
    X: Table,
    y: ArrayLike | None,
    n_refits: int,
    sample_weight: ArrayLike | None,
    groups: ArrayLike | None,
    fit_params: Params | None,
    random: np.random.RandomState,
) -> FloatArray:
    """Return the standard deviations of the thresholds of copies, (n_classes - 1,)."""
    check_consistent_length(X, y)
    weight = None if sample_weight is None else row_weights(sample_weight, X.shape[0])
    of_groups, nested = rows.check_groups(groups, X.shape[0]), list[int]()
    if of_groups is not None:
        X, nested = rows.with_nested_numbers(estimator, X, of_groups)
    copies = rows.trained_on_drawn_rows(
        estimator,
        X,
        lambda drawn: take_rows(y, drawn),
        n_refits,
        weight,
        random,
        is_labelled=True,
        groups=of_groups,
        nested=nested,
        fit_params=fit_params,
    )
    return np.std([rows.unwrapped(copy)[0].thresholds_ for copy, _ in copies], axis=0, ddof=1)
