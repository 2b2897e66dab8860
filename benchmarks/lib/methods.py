"""The methods that accuracy.py compares, each tuned alike: settings and rounds by the same validation rows.

A method is a function of one setting. It trains on some rows, watches the validation rows if it gets any,
and returns a :class:`Fitted`. The runner tries every setting of its family, keeps the one with the lowest
validation loss (the method's own), and trains once more on all training rows with its rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import xgboost
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.decision import decide
from ordinal_objectives.metrics import mean_absolute_error, ordinal_log_loss, ranked_probability_score

# Fixed before the run, for everything that grows trees: a bound on the rounds, how long to wait for a better
# validation loss, and two depths. All else, the learning rate included, is each library's own default.
MOST_ROUNDS, PATIENCE, DEPTHS = 500, 25, (3, 6)
PENALTIES = (0.1, 1.0, 10.0)

Rows = tuple[pd.DataFrame, NDArray[np.int32]]


@dataclass
class Fitted:
    """A trained model: what it predicts for new rows, its validation loss and the rounds that gave it."""

    predict: Callable[[pd.DataFrame], tuple[NDArray[np.intp], NDArray[np.float64] | None]]  # classes, probabilities
    loss: float = np.nan
    rounds: int = 0
    leaves: int = 0  # of all trees, where the native engine grew them
    chosen: Mapping[str, Any] = field(default_factory=dict)  # what the library chose by itself and a refit must keep


Method = Callable[..., Fitted]  # (train: Rows, valid: Rows | None, rounds: int, n_classes: int, **setting)
Settings = tuple[Mapping[str, Any], ...]
Family = dict[str, tuple[Method, Settings]]

# What the evidence was measured with, beside depth and rounds, where our plain calls do otherwise: the hosts' defaults.
HOST_DEFAULTS: dict[str, dict[str, Any]] = {
    "XGBoost": {"subsample": 1.0},
    "LightGBM": {"learning_rate": 0.1, "subsample": 1.0, "subsample_freq": 0, "min_child_samples": 20},
    "native": {"subsample": 1.0, "min_samples_leaf": 20, "l2_regularization": 0.0},
}
# The method that the thesis describes, where "native joint" takes its split gain and its step only.
THESIS_OPTIONS: dict[str, Any] = {
    "hessian": "majorized",
    "pruning": True,
    "adaptive_step": True,
    "judged_by": "validation",
}
OURS, PROPORTIONAL, MULTICLASS, ROUNDED = "ordinal shifts", "ordinal", "xgb multiclass", "xgb rounded"


def ordinal(
    train: Rows, valid: Rows | None, rounds: int, n_classes: int, depth: int, host: str = "XGBoost", **options: Any
) -> Fitted:
    """Train ours, with one score unless told otherwise; XGBOrdinalClassifier unless ``host`` says otherwise."""
    options = {"proportional": True} | HOST_DEFAULTS[host] | options
    options |= {"classes": np.arange(n_classes), "max_depth": depth}
    if host == "native":  # takes numbers only
        encode = encoder(scale=False).fit(train[0])
        model = HistGradientBoostingOrdinalClassifier(
            max_iter=rounds,
            max_leaf_nodes=2**depth,
            early_stopping=valid is not None,
            n_iter_no_change=PATIENCE,
            n_jobs=1,
            **options,
        )
        watch: dict[str, Any] = {} if valid is None else {"X_val": encode.transform(valid[0]), "y_val": valid[1]}
        model.fit(encode.transform(train[0]), train[1], **watch)
        loss = np.nan if valid is None else min(model.evals_result_["validation"])
        predict = partial(_classes_and_proba, model, encode=encode.transform)
        leaves = sum(len(tree.leaves) for tree in model._ensemble.trees)
        return Fitted(predict, loss, model.n_iter_, leaves)
    if host == "LightGBM":
        model = LGBMOrdinalClassifier(n_estimators=rounds, num_leaves=2**depth, verbose=-1, n_jobs=1, **options)
        watch = {} if valid is None else {"callbacks": [lightgbm.early_stopping(PATIENCE, verbose=False)]}
    else:
        patience = None if valid is None else PATIENCE
        model = XGBOrdinalClassifier(n_estimators=rounds, n_jobs=1, early_stopping_rounds=patience, **options)
        watch = {}
    model.fit(*train, **({} if valid is None else {"eval_set": [valid], **watch}))
    loss = np.nan
    if valid is not None:
        (curves,) = model.evals_result_.values()
        loss = min(list(curves.values())[-1])  # the metric that stops, the loss unless eval_metric= is given
    return Fitted(partial(_classes_and_proba, model), loss, model.n_iter_)


def as_printed(
    train: Rows,
    valid: Rows | None,
    rounds: int,
    n_classes: int,
    depth: int,
    most_rounds: int = MOST_ROUNDS,
    **options: Any,
) -> Fitted:
    """Train the thesis's own method: majorised Hessian, trees pruned and step sizes chosen by one validation set.

    The set that chooses depth and rounds is the one that judges steps: a last fifth of the rows. The refit keeps it
    aside too, since no step can be judged without it; so it repeats the best training of the search.
    """
    if valid is None:
        train, judges = split_for_validation(train)
    else:
        judges = valid
    encode = encoder(scale=False).fit(train[0])
    model = HistGradientBoostingOrdinalClassifier(
        max_iter=rounds if valid is None else most_rounds,
        max_leaf_nodes=2**depth,
        max_depth=depth,
        early_stopping=valid is not None,
        n_iter_no_change=PATIENCE,
        n_jobs=1,
        classes=np.arange(n_classes),
        proportional=True,
        **HOST_DEFAULTS["native"] | THESIS_OPTIONS | options,
    )
    model.fit(encode.transform(train[0]), train[1], X_val=encode.transform(judges[0]), y_val=judges[1])
    predict = partial(_classes_and_proba, model, encode=encode.transform)
    return Fitted(predict, min(model.evals_result_["validation"]), model.n_iter_)


def split_for_validation(train: Rows) -> tuple[Rows, Rows]:
    """Return the first 80% of rows and the others; they are shuffled."""
    X, y = train
    cut = 8 * len(y) // 10
    return (X.iloc[:cut], y[:cut]), (X.iloc[cut:], y[cut:])


def xgb(
    train: Rows,
    valid: Rows | None,
    rounds: int,
    n_classes: int,
    depth: int,
    objective: str = "multi:softprob",
    **options: Any,
) -> Fitted:
    """Train XGBoost's own multiclass, or its squared error on the class codes, rounded."""
    params = {"max_depth": depth, "nthread": 1, "objective": objective} | options
    if objective == "multi:softprob":
        params["num_class"] = n_classes
    dtrain = _dmatrix(train)
    watch: dict[str, Any] = {}
    if valid is not None:
        watch = {"evals": [(_dmatrix(valid), "valid")], "early_stopping_rounds": PATIENCE, "verbose_eval": False}
    booster = xgboost.train(params, dtrain, rounds, **watch)
    best = rounds if valid is None else booster.best_iteration + 1

    def predict(X: pd.DataFrame) -> tuple[NDArray[np.intp], NDArray[np.float64] | None]:
        output = booster.predict(_dmatrix((X, None)), iteration_range=(0, best))
        if objective == "multi:softprob":
            return output.argmax(axis=1), output.astype(np.float64)
        return rounded(output, n_classes), None

    return Fitted(predict, np.nan if valid is None else booster.best_score, best)


def hgb(
    train: Rows,
    valid: Rows | None,
    rounds: int,
    n_classes: int,
    depth: int,
    estimator: type = HistGradientBoostingClassifier,
    **options: Any,
) -> Fitted:
    """Train scikit-learn's histogram boosting: multiclass, or squared error on the class codes, rounded."""
    X, y = train
    model = estimator(
        max_iter=rounds,
        max_depth=depth,
        max_leaf_nodes=2**depth,
        early_stopping=valid is not None,
        n_iter_no_change=PATIENCE,
        random_state=0,
        **options,
    )
    is_classifier = estimator is HistGradientBoostingClassifier
    watch = {}
    if valid is not None:
        seen = np.isin(valid[1], y) if is_classifier else slice(None)  # a class that is new there has no score
        watch = {"X_val": valid[0][seen], "y_val": valid[1][seen]}
    model.fit(X, y, **watch)
    best = rounds
    loss = np.nan
    if valid is not None:
        best = max(1, int(np.argmax(model.validation_score_)))  # the first score is that of no tree
        loss = -float(np.max(model.validation_score_))

    def predict(X: pd.DataFrame) -> tuple[NDArray[np.intp], NDArray[np.float64] | None]:
        if is_classifier:
            return model.predict(X), spread(model.predict_proba(X), model.classes_, n_classes)
        return rounded(model.predict(X), n_classes), None

    return Fitted(predict, loss, best)


def ogboost(
    train: Rows, valid: Rows | None, rounds: int, n_classes: int, depth: int, leaf_rows: int = 1, **options: Any
) -> Fitted:
    """Train ogboost: gradient steps on f and the thresholds in Python, a regression tree each round."""
    from ogboost import GradientBoostingOrdinal
    from sklearn.tree import DecisionTreeRegressor

    encode = encoder(scale=False).fit(train[0])
    X = encode.transform(train[0])
    classes, codes = np.unique(train[1], return_inverse=True)
    if valid is not None:
        seen = np.isin(valid[1], classes)
        watched = encode.transform(valid[0])[seen], np.searchsorted(classes, valid[1][seen])
    loss, best = np.nan, rounds
    # It cannot watch given rows: more rounds until the best of them is not among the last.
    for bound in [rounds] if valid is None else [rounds // 4, rounds // 2, rounds]:
        learner = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=leaf_rows, random_state=0)
        model = GradientBoostingOrdinal(base_learner=learner, n_estimators=bound, **options)
        model.fit(X, codes)
        if valid is not None:
            losses = _staged_losses(model, *watched)
            best = int(np.argmin(losses)) + 1
            loss = losses[best - 1]
        if best + PATIENCE <= bound:
            break

    def predict(X: pd.DataFrame) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        proba = spread(model.predict_proba(encode.transform(X)), classes, n_classes)
        return proba.argmax(axis=1), proba

    return Fitted(predict, loss, best)


def _staged_losses(model: Any, X: NDArray[Any], codes: NDArray[np.intp]) -> list[float]:
    """Return ogboost's log loss after each round: its own staged_predict_proba takes longer than the training."""
    rows = np.arange(len(codes))
    losses = []
    for score, thresholds in zip(model.staged_decision_function(X), model._path["theta"][1:], strict=True):
        below = np.pad(norm.cdf(thresholds - score[:, None]), ((0, 0), (1, 1)), constant_values=(0.0, 1.0))
        losses.append(float(-np.log(np.maximum(np.diff(below)[rows, codes], 1e-15)).mean()))
    return losses


def xgbordinal(train: Rows, valid: Rows | None, rounds: int, n_classes: int, depth: int) -> Fitted:
    """Train XGBOrdinal: a binary XGBoost for each threshold, after Frank and Hall."""
    from xgbordinal import XGBOrdinal

    classes, codes = np.unique(train[1], return_inverse=True)
    model = XGBOrdinal(
        n_estimators=rounds,
        max_depth=depth,
        n_jobs=1,
        enable_categorical=True,
        **({} if valid is None else {"early_stopping_rounds": PATIENCE}),
    )
    watch = {}
    if valid is not None:
        seen = np.isin(valid[1], classes)
        watch = {"eval_set": [(valid[0][seen], np.searchsorted(classes, valid[1][seen]))], "verbose": False}
    model.fit(train[0], codes, **watch)
    loss, best = np.nan, rounds
    if valid is not None:
        curve = model.evals_result_["validation_0"]["logloss"]  # its own mean over the thresholds
        best, loss = int(np.argmin(curve)) + 1, float(np.min(curve))

    def predict(X: pd.DataFrame) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        return classes[model.predict(X)], spread(model.predict_proba(X), classes, n_classes)

    return Fitted(predict, loss, best)


def mord_at(train: Rows, valid: Rows | None, rounds: int, n_classes: int, alpha: float) -> Fitted:
    """Train mord: a linear all-threshold model."""
    import mord

    encode = encoder(scale=True).fit(train[0])
    classes, codes = np.unique(train[1], return_inverse=True)
    model = mord.LogisticAT(alpha=alpha).fit(encode.transform(train[0]), codes)

    def predict(X: pd.DataFrame) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        X = encode.transform(X)
        return classes[model.predict(X)], spread(model.predict_proba(X), classes, n_classes)

    return Fitted(predict, _validation_log_loss(predict, valid, classes))


def ordered_model(train: Rows, valid: Rows | None, rounds: int, n_classes: int) -> Fitted:
    """Train the linear cumulative logit of statsmodels, by maximum likelihood."""
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    encode = encoder(scale=True).fit(train[0])
    classes, codes = np.unique(train[1], return_inverse=True)
    result = OrderedModel(codes, encode.transform(train[0]), distr="logit").fit(method="bfgs", disp=False, maxiter=200)
    if not (result.mle_retvals["converged"] and np.isfinite(result.params).all()):
        raise RuntimeError("did not converge")

    def predict(X: pd.DataFrame) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        proba = spread(np.asarray(result.model.predict(result.params, encode.transform(X))), classes, n_classes)
        return proba.argmax(axis=1), proba

    return Fitted(predict, _validation_log_loss(predict, valid, classes))


def encoder(scale: bool) -> Any:
    """Return what makes numbers without gaps of a data frame, for the methods that take nothing else."""
    # Linear models want neither constant columns nor ones that add up to a constant.
    numbers = [SimpleImputer(strategy="median"), *([VarianceThreshold(), StandardScaler()] if scale else [])]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False, drop="first" if scale else None)
    return make_column_transformer(
        (make_pipeline(*numbers), make_column_selector(dtype_include="number")),
        (one_hot, make_column_selector(dtype_include="category")),
    )


def median_absolute_error(y: NDArray[Any], proba: NDArray[Any]) -> float:
    """Return the mean absolute error of the default decision."""
    return mean_absolute_error(y, decide(proba, "median"))


TREES: Settings = tuple({"depth": depth} for depth in DEPTHS)
LINEAR: Settings = tuple({"alpha": alpha} for alpha in PENALTIES)

# Names: functions, settings to choose from. The peers, the variants of ours, and what else the design asked.
METHODS: Family = {
    "ordinal shifts": (partial(ordinal, proportional="auto"), TREES),
    "ordinal": (ordinal, TREES),
    "native joint": (partial(ordinal, host="native"), TREES),
    "xgb multiclass": (xgb, TREES),
    "xgb rounded": (partial(xgb, objective="reg:squarederror"), TREES),
    "hgb multiclass": (hgb, TREES),
    "hgb rounded": (partial(hgb, estimator=HistGradientBoostingRegressor), TREES),
    "XGBOrdinal": (xgbordinal, TREES),
    "ogboost": (ogboost, TREES),
    "mord LogisticAT": (mord_at, LINEAR),
    "OrderedModel": (ordered_model, ({},)),
}
VARIANTS: Family = {
    **{name: METHODS[name] for name in ("ordinal", "ordinal shifts", "native joint")},
    "majorized": (partial(ordinal, hessian="majorized"), TREES),
    "fixed": (partial(ordinal, threshold_update="fixed"), TREES),
    "schur": (partial(ordinal, threshold_update="schur"), TREES),
    "joint": (partial(ordinal, threshold_update="joint"), TREES),
    "cumulative link": (partial(ordinal, loss="cumulative_link"), TREES),
    "LightGBM": (partial(ordinal, host="LightGBM"), TREES),
    "LightGBM shifts": (partial(ordinal, host="LightGBM", proportional="auto"), TREES),
    "native shifts": (partial(ordinal, host="native", proportional="auto"), TREES),
}
# Asked after the first results on the smallest of the sixteen sets, on few rows of other sets.
DESIGN_FEW_ROWS: Family = {
    **{name: METHODS[name] for name in ("ordinal", "xgb multiclass", "xgb rounded")},
    "stop on RPS": (partial(ordinal, eval_metric=ranked_probability_score), TREES),
    "stop on MAE": (partial(ordinal, eval_metric=median_absolute_error), TREES),
    "eta 0.1": (partial(ordinal, learning_rate=0.1), TREES),
    "lambda 3": (partial(ordinal, reg_lambda=3.0), TREES),
    "min_child_weight 3": (partial(ordinal, min_child_weight=3.0), TREES),
    **{name: VARIANTS[name] for name in ("majorized", "joint", "cumulative link")},
}
# The thesis's own method, and each of its parts switched off; at last none judges, and the set only stops the training.
AS_PRINTED: Family = {
    "thesis's method": (as_printed, TREES),
    "thesis's method, exact Hessian": (partial(as_printed, hessian="exact"), TREES),
    "thesis's method, no pruning": (partial(as_printed, pruning=False), TREES),
    "thesis's method, no adaptive step": (partial(as_printed, adaptive_step=False), TREES),
}
# scikit-learn's, which differ from the engine in the loss alone: learning rate, penalty and limits of a tree are equal.
LIKE_ENGINE = ("hgb multiclass", "hgb rounded")
# Methods without 20 rows to a leaf, which the thesis does not print and XGBoost lacks. The thesis's own may grow more
# rounds, since many trainings without its adaptive step end at the limit of the others.
ONE_LEAF_ROW, MORE_ROUNDS = ", one row to a leaf", 3_000
ONE_ROW: Family = {
    f"native joint{ONE_LEAF_ROW}": (partial(ordinal, host="native", min_samples_leaf=1), TREES),
    **{
        name + ONE_LEAF_ROW: (partial(method, min_samples_leaf=1, most_rounds=MORE_ROUNDS), TREES)
        for name, (method, _) in AS_PRINTED.items()
    },
    **{name + ONE_LEAF_ROW: (partial(METHODS[name][0], min_samples_leaf=1), TREES) for name in LIKE_ENGINE},
}
DESIGN: Family = {
    **{name: METHODS[name] for name in ("ordinal", "xgb multiclass", "xgb rounded")},
    "ordinal, eta 0.1": (partial(ordinal, learning_rate=0.1), TREES),
    "xgb multiclass, eta 0.1": (partial(xgb, eta=0.1), TREES),
    "xgb rounded, eta 0.1": (partial(xgb, objective="reg:squarederror", eta=0.1), TREES),
    **{name: method for name, method in VARIANTS.items() if "shifts" not in name},
    "cumulative link joint": (partial(ordinal, loss="cumulative_link", threshold_update="joint"), TREES),
    "LightGBM joint": (partial(ordinal, host="LightGBM", threshold_update="joint"), TREES),
    "native newton": (partial(ordinal, host="native", threshold_update="newton"), TREES),
}


def _shifted(host: str, **options: Any) -> tuple[Method, Settings]:
    return partial(ordinal, host=host, proportional=False, **options), TREES


# Thresholds that move with x: which penalty, on which trees, and whether validation rows can choose it.
_RIDGE = {f"ridge {l2:g}": _shifted("XGBoost", shift_l2=l2) for l2 in (3.0, 10.0, 30.0)}
_SMOOTH = {f"smooth {l2:g}": _shifted("XGBoost", shift_l2=l2, shift_penalty="smooth") for l2 in (10.0, 30.0)}
DESIGN_SHIFTS: Family = {
    **{name: METHODS[name] for name in ("ordinal", "xgb multiclass")},
    **_RIDGE,
    **_SMOOTH,
    "native joint": METHODS["native joint"],
    "native vector, ridge 10": _shifted("native", split_gain="vector"),
    "native vector, ridge 10, all": _shifted("native", split_gain="vector", cross_terms="all"),
    "native vector, ridge 30": _shifted("native", split_gain="vector", shift_l2=30.0),
    "native vector, smooth 10": _shifted("native", split_gain="vector", shift_penalty="smooth"),
    "native scalar, ridge 10": _shifted("native", split_gain="scalar"),
    "native joint gain, ridge 10": _shifted("native", split_gain="joint"),
    "LightGBM": VARIANTS["LightGBM"],
    "LightGBM, ridge 10": _shifted("LightGBM"),
    "chosen": (
        ordinal,
        tuple(
            {"depth": depth} | shifts
            for depth in DEPTHS
            for shifts in ({}, {"proportional": False, "shift_l2": 3.0}, {"proportional": False, "shift_l2": 30.0})
        ),
    ),
}


def _classes_and_proba(
    model: Any, X: pd.DataFrame, encode: Callable[[Any], Any] = lambda X: X
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    X = encode(X)
    return model.predict(X), model.predict_proba(X)


def _dmatrix(rows: tuple[pd.DataFrame, NDArray[np.int32] | None]) -> xgboost.DMatrix:
    return xgboost.DMatrix(rows[0], rows[1], enable_categorical=True, nthread=1)


def rounded(output: NDArray[Any], n_classes: int) -> NDArray[np.intp]:
    return np.clip(np.floor(output + 0.5), 0, n_classes - 1).astype(np.intp)


def spread(proba: NDArray[Any], classes: NDArray[Any], n_classes: int) -> NDArray[np.float64]:
    """Return the probabilities with a column for every class; one that was not trained on gets none."""
    full = np.zeros((len(proba), n_classes))
    full[:, classes] = proba
    return full


def _validation_log_loss(predict: Callable[..., Any], valid: Rows | None, classes: NDArray[Any]) -> float:
    if valid is None:
        return np.nan
    seen = np.isin(valid[1], classes)
    proba = predict(valid[0][seen])[1]
    return ordinal_log_loss(valid[1][seen], proba, labels=range(proba.shape[1]))
