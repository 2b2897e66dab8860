"""Ways to move the thresholds, side by side: trained on the same rows with the same settings, measured each round."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import check_consistent_length

from ordinal_objectives import metrics, predictions
from ordinal_objectives.aliases import (
    ArrayLike,
    DataFrame,
    Estimator,
    FloatArray,
    IndexArray,
    IntArray,
    LabelArray,
    Params,
    Seed,
    Series,
)
from ordinal_objectives.decision import decide
from ordinal_objectives.estimators.held_out import Rows, hold_out, split_seed, take_rows
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.inspection.features import threshold_columns
from ordinal_objectives.losses import HESSIANS, OrdinalLoss, get_loss
from ordinal_objectives.plotting.style import pyplot
from ordinal_objectives.rows import CPU
from ordinal_objectives.rows.soft_rows import judged_loss
from ordinal_objectives.utils import documented, extras, public_names, validation
from ordinal_objectives.utils.extras import Show, round_bar

__all__ = ["UpdateComparison", "compare_updates"]
__dir__ = public_names(__name__)

TRAINERS = {"xgboost": "XGBoost", "lightgbm": "LightGBM", "native": "Native engine"}
UPDATES = ("fixed", "newton", "schur", "joint")
# The native engine's own: leaves shift thresholds, and splits are judged by what such leaves gain.
VECTOR = "vector"
_COLOURS = {"fixed": "0.6", "newton": "tab:blue", "schur": "tab:green", "joint": "tab:red", VECTOR: "tab:purple"}
_LINES = {"exact": "-", "majorized": "--"}
_HELD_OUT = 0.3
# Of a file: a target of numbers with more values than this is no list of classes.
MOST_CLASSES = 20
# Text whose values have fewer rows than this on average is an id or free text, and no category.
_FEWEST_OF_A_VALUE = 2
_MEASURED = ("training_loss", "held_out_loss", "mae", "rps", "seconds")


@dataclass(frozen=True)
class _Mode:
    """A way to train: who grows the trees, how the thresholds move, and by which Hessian."""

    trainer: str
    update: str
    hessian: str


@dataclass(eq=False)
class _Fit:
    """What one mode gives on one fold: of each round, of the whole training, or why there is no model."""

    mode: _Mode
    fold: int
    status: str  # "trained", "refused", "not installed", "failed" or "interrupted"
    note: str
    rounds: dict[str, FloatArray] = field(default_factory=dict)
    thresholds: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    counters: dict[str, int] = field(default_factory=dict)


class UpdateComparison:
    """What :func:`compare_updates` finds.

    Attributes
    ----------
    classes : ndarray, shape (n_classes,)
        Labels, lowest first.
    interrupted : bool
        Whether the comparison was interrupted: what was measured before is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.compare import compare_updates
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.digitize(X[:, 0], [-1.0, 1.0])
    >>> found = compare_updates(X, y, rounds=5, trainers="native", updates="joint", hessian="exact")
    >>> found.summary()[["trainer", "update", "status"]].to_numpy().tolist()
    [['native', 'joint', 'trained'], ['native', 'vector', 'trained']]
    """

    def __init__(self, classes: LabelArray, settings: Params, fits: list[_Fit], interrupted: bool) -> None:
        self.classes, self.interrupted = classes, interrupted
        self._settings, self._fits = settings, fits

    def estimator(self, trainer: str, update: str, hessian: str = "exact") -> Estimator:
        """Return the public classifier of a mode, not fitted: the one that the comparison trains.

        Parameters
        ----------
        trainer : {"xgboost", "lightgbm", "native"}
        update : {"fixed", "newton", "schur", "joint", "vector"}
            "vector" belongs to "native".
        hessian : {"exact", "majorized"}, default="exact"
        """
        validation.check_choice(trainer, TRAINERS, name="trainer")
        validation.check_choice(update, (*UPDATES, *([VECTOR] if trainer == "native" else [])), name="update")
        validation.check_choice(hessian, HESSIANS, name="hessian")
        return _estimator(_Mode(trainer, update, hessian), self._settings, self.classes)

    def to_frame(self) -> DataFrame:
        """Return a pandas.DataFrame with a row for each trainer, update, Hessian, fold and round.

        Columns: "training_loss" and "held_out_loss" (means over the rows), "mae" and "rps" of the rows held out,
        "seconds" of training since its start, without predictions; "<= low", the threshold above the class "low"; the
        counters of the whole training (``diagnostics_``); "status" and "note". A mode without a model has one row,
        whose note is the reason.
        """
        parts: list[dict[str, object]] = []  # of a fit: arrays over its rounds, or one value for all
        for fit in self._fits:
            paths = zip(threshold_columns(self.classes), fit.thresholds.T, strict=False)  # none without a model
            parts.append(vars(fit.mode) | {"fold": fit.fold} | fit.rounds | dict(paths) | fit.counters)
        names = dict.fromkeys(name for part in parts for name in part)
        columns: dict[str, list[object]] = {name: [] for name in (*names, "status", "note")}
        for fit, part in zip(self._fits, parts, strict=True):
            part |= {"status": fit.status, "note": fit.note}
            for name, column in columns.items():
                value = part.get(name)
                column.extend(value if isinstance(value, np.ndarray) else [value] * max(1, len(fit.thresholds)))
        counters = {name for fit in self._fits for name in fit.counters}
        kinds = dict.fromkeys(_MEASURED, float) | dict.fromkeys(("round", *counters), "Int64")
        return extras.data_frame(columns).astype({name: kind for name, kind in kinds.items() if name in names})

    def summary(self) -> DataFrame:
        """Return a pandas.DataFrame with a row for each mode, means over the folds.

        "held_out_loss", "mae", "rps" and "seconds" are all those after one round, "at_round": that with the lowest mean
        held-out loss. The held-out rows choose it, so their loss there is a little too low. "note" says what could not
        be made equal, or why there is no model.
        """
        lines = []
        for mode in dict.fromkeys(fit.mode for fit in self._fits):
            fits = [fit for fit in self._fits if fit.mode == mode]
            trained = [fit for fit in fits if fit.rounds]
            line: dict[str, object] = vars(mode) | {"folds": len(trained)}
            if trained:
                path = {name: _mean_path(trained, name) for name in _MEASURED[1:]}
                lowest = int(np.argmin(path["held_out_loss"]))
                line |= {"at_round": lowest} | {name: values[lowest] for name, values in path.items()}
            others = dict.fromkeys(fit.status for fit in fits if fit not in trained)
            notes = dict.fromkeys(fit.note for fit in fits)
            lines.append(line | {"status": ", ".join(others) or "trained", "note": "; ".join(notes)})
        names = ["trainer", "update", "hessian", "folds", "at_round", *_MEASURED[1:], "status", "note"]
        return extras.data_frame(lines, columns=names).astype({"at_round": "Int64"})

    def plot(self) -> Any:
        """Draw the held-out loss against rounds and against seconds, and the paths of the thresholds.

        There is a row for each trainer and a colour for each update; dashed lines have the majorized Hessian. Losses
        and seconds are means over the folds, thresholds those of the first one. Losses of the first rounds are cut off.

        Returns
        -------
        matplotlib.figure.Figure
        """
        fits = [fit for fit in self._fits if fit.rounds]
        by_mode = {mode: [fit for fit in fits if fit.mode == mode] for mode in dict.fromkeys(fit.mode for fit in fits)}
        trainers = list(dict.fromkeys(mode.trainer for mode in by_mode))
        n = len(trainers)
        figure, axes = pyplot().subplots(n, 3, figsize=(11, 1 + 2.5 * n), squeeze=False, sharex="col", sharey="col")
        figure.set_layout_engine("constrained")
        first, lowest, last = -np.inf, np.inf, -np.inf
        for mode, fits in by_mode.items():
            by_rounds, by_seconds, paths = axes[trainers.index(mode.trainer)]
            style = {"color": _COLOURS[mode.update], "linestyle": _LINES[mode.hessian], "linewidth": 1.2}
            loss = _mean_path(fits, "held_out_loss")
            first, lowest, last = max(first, loss[0]), min(lowest, loss.min()), max(last, loss[-1])
            by_rounds.plot(loss, label=f"{mode.update}, {mode.hessian}", **style)
            by_seconds.plot(_mean_path(fits, "seconds"), loss, **style)
            paths.plot(fits[0].thresholds, **style)
        for trainer, row in zip(trainers, axes, strict=True):
            row[0].set_ylabel(f"{TRAINERS[trainer]}\nheld-out loss")
            row[2].set_ylabel("thresholds")
            handles = row[0].get_legend_handles_labels()
            row[2].legend(*handles, frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
            for ax in row:
                ax.grid(alpha=0.25)
        for ax in axes[0, :2]:
            height = max(0.4 * (first - lowest), 1.2 * (last - lowest))
            ax.set_ylim(lowest - 0.05 * height, lowest + height)
        for ax, label in zip(axes[-1], ("rounds", "seconds of training", "rounds"), strict=True):
            ax.set_xlabel(label)
        return figure


def _mean_path(fits: list[_Fit], name: str) -> FloatArray:
    """Return the mean over the folds after each round, as far as all folds have rounds."""
    shortest = min(len(fit.thresholds) for fit in fits)
    return np.mean([fit.rounds[name][:shortest] for fit in fits], axis=0)


@documented
def compare_updates(
    X: object,
    y: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    cv: object = None,
    rounds: int = 100,
    trainers: str | Collection[str] = tuple(TRAINERS),
    updates: str | Collection[str] = UPDATES,
    hessian: str | Collection[str] = HESSIANS,
    proportional: bool = True,
    max_depth: int = 4,
    learning_rate: float = 0.1,
    max_bins: int = 255,
    l2: float = 1.0,
    min_child_weight: float = 1.0,
    loss: str | OrdinalLoss = "all_threshold",
    link: str = "logit",
    random_state: Seed = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> UpdateComparison:
    """Train every threshold update with every trainer on the same rows, and measure the rows held out each round.

    All trainers get the same depth (LightGBM and the native engine: 2^depth leaves), learning rate, number of bins,
    L2 penalty and smallest sum of Hessians in a leaf, no smallest number of rows, and all rows and columns for each
    tree. What cannot be made equal is in the column "note": how features are cut into bins, what judges splits.

    The models are those of the public classifiers (:meth:`UpdateComparison.estimator`); one is in memory at a time. A
    mode that a trainer refuses, whose library is not installed, or that fails has a row with the reason, and the others
    go on. An interrupt (Ctrl-C) ends the comparison and returns what has been measured.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
        The native engine takes no sparse matrix.
    y : array-like, shape (n_samples,)
        Labels.
    <<classes>>
    cv : int, cross-validator, iterable of (training rows, held-out rows) or None, default=None
        None holds out 30% of the rows once, drawn by class; a number makes so many folds, drawn by class.
    rounds : int, default=100
        Trees of each model.
    trainers : str or list of str
        Of "xgboost", "lightgbm" and "native".
    updates : str or list of str
        Of "fixed", "newton", "schur" and "joint". With "native" they choose what judges splits too: "joint" the joint
        step of leaves and thresholds, "newton" and "fixed" only the score. The native engine has "vector" beside
        them: leaves that shift thresholds, its default.
    hessian : str or list of str
        Of "exact" and "majorized".
    proportional : bool, default=True
        True: one score with the same thresholds everywhere, but for "vector". False: thresholds move with x in every
        mode that can do so.
    max_depth : int, default=4
        At most 16.
    learning_rate : float, default=0.1
    max_bins : int, default=255
        Bins of a feature, at most 255.
    l2 : float, default=1.0
        L2 penalty of the leaves.
    min_child_weight : float, default=1.0
        Smallest sum of Hessians in a leaf.
    <<loss, link>>
    random_state : int, RandomState or None, default=None
        Draws the rows held out; None draws the same ones each time.
    <<n_jobs, progress>>

    Returns
    -------
    UpdateComparison

    Raises
    ------
    ValueError, TypeError
        If labels, rows or settings are not what the docs allow; the message names the argument.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.compare import compare_updates
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.digitize(X[:, 0], [-1.0, 1.0])
    >>> found = compare_updates(X, y, rounds=5, trainers=["xgboost", "native"], updates=["schur"], hessian="exact")
    >>> found.summary()[["trainer", "update", "status"]].to_numpy().tolist()
    [['xgboost', 'schur', 'trained'], ['native', 'schur', 'refused'], ['native', 'vector', 'trained']]
    """
    get_loss(loss, link)  # raises an error where there is none
    settings: Params = {
        "rounds": validation.check_integer("rounds", rounds, 1),
        "max_depth": validation.check_integer("max_depth", max_depth, 1, 16),  # LightGBM takes at most 2^17 leaves
        "max_bins": validation.check_integer("max_bins", max_bins, 2, 255),
        "learning_rate": validation.check_number("learning_rate", learning_rate, above=0.0),
        "l2": validation.check_number("l2", l2, at_least=0.0),
        "min_child_weight": validation.check_number("min_child_weight", min_child_weight, at_least=0.0),
        "proportional": validation.check_flag("proportional", proportional),
    }
    settings |= {"loss": loss, "link": link, "n_jobs": n_jobs, "random_state": split_seed(random_state)}
    modes = _modes(trainers, updates, hessian)
    labels = OrderedLabels(classes).fit(y)
    codes = labels.encode(y)
    X = validation.collected(np.asarray(X) if isinstance(X, (list, tuple)) else X)
    check_consistent_length(X, codes)
    folds = _folds(cv, codes, settings["random_state"])
    fits: list[_Fit] = []
    n_fits, interrupted = len(folds) * len(modes), False
    try:
        with round_bar(progress, rounds * n_fits, f"{n_fits} trainings") as show:
            for fold, rows in enumerate(folds):
                parts = [(take_rows(X, part), codes[part]) for part in rows]
                for mode in modes:
                    tick = _ticks(show, rounds * len(fits))
                    fits.append(_Fit(mode, fold, "interrupted", "interrupted"))
                    if not any(fit.status == "trained" and fit.mode.trainer == mode.trainer for fit in fits):
                        # A trainer's first training is slow: it imports, and starts its threads.
                        _train_and_measure(mode, fold, settings | {"rounds": 1}, labels, parts, _ticks(None, 0))
                    fits[-1] = _train_and_measure(mode, fold, settings, labels, parts, tick)
                    tick(rounds)
    except KeyboardInterrupt:
        interrupted = True
    return UpdateComparison(labels.ordered_classes_, settings, fits, interrupted)


def _ticks(show: Show | None, before: int) -> Callable[[int], None]:
    """Return what is called after each round of a training; others have done so many rounds before."""
    return (lambda done: None) if show is None else lambda done: show(before + done, float("nan"))


def _modes(trainers: object, updates: object, hessian: object) -> list[_Mode]:
    trainers, updates = _chosen("trainers", trainers, TRAINERS), _chosen("updates", updates, UPDATES)
    hessians = _chosen("hessian", hessian, HESSIANS)
    return [
        _Mode(trainer, update, kind)
        for trainer in trainers
        for update, kind in product([*updates, *([VECTOR] if trainer == "native" else [])], hessians)
    ]


def _chosen(name: str, given: object, allowed: Collection[str]) -> list[str]:
    """Return one or several words, each once; raise ValueError for a word that is not allowed."""
    words = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    for word in words:
        validation.check_choice(word, allowed, name=name)
    return list(dict.fromkeys(words))


def _folds(cv: object, codes: IntArray, seed: int) -> list[tuple[IndexArray, IndexArray]]:
    """Return the numbers of the rows to train on and held out, fold by fold."""
    every = np.arange(len(codes))
    if cv is None:
        fit, held = hold_out(Rows(every, codes), _HELD_OUT, seed)
        return [(fit.X, held.X)]
    if isinstance(cv, (int, np.integer)):
        splitter = StratifiedKFold(validation.check_integer("cv", cv, 2), shuffle=True, random_state=seed)
    else:
        splitter = check_cv(cv)
    return [(every[fit], every[held]) for fit, held in splitter.split(np.zeros((len(codes), 1)), codes)]


def _train_and_measure(
    mode: _Mode,
    fold: int,
    settings: Params,
    labels: OrderedLabels,
    parts: list[tuple[object, IntArray]],
    tick: Callable[[int], None],
) -> _Fit:
    """Train a mode on the first part of the rows and measure the second; or return why there is no model."""
    (X, codes), held_out = parts
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.filterwarnings("error", "threshold_update=.* has no effect")  # the model would be another mode's
            model = _estimator(mode, settings, labels.ordered_classes_)
            seconds = _train(mode.trainer, model, X, labels.decode(codes), tick)
            rounds = {"round": np.arange(model.n_iter_ + 1.0), "training_loss": model.training_loss_}
            rounds |= _measure(model, *held_out) | {"seconds": seconds}
    except ImportError as error:
        return _Fit(mode, fold, "not installed", _first_line(error))
    except (ValueError, TypeError, UserWarning) as error:
        return _Fit(mode, fold, "refused", _first_line(error))
    except Exception as error:  # one mode's failure is no reason to lose the others
        return _Fit(mode, fold, "failed", f"{type(error).__name__}: {_first_line(error)}")
    note = "; ".join(dict.fromkeys([_differences(mode, settings), *(_first_line(one.message) for one in caught)]))
    return _Fit(mode, fold, "trained", note, rounds, model.threshold_history_, dict(model.diagnostics_))


def _first_line(error: object) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _estimator(mode: _Mode, settings: Params, classes: LabelArray) -> Estimator:
    """Return the classifier of a mode, not fitted."""
    trainer, update, n_leaves = mode.trainer, mode.update, 2 ** settings["max_depth"]
    common = settings | {"hessian": mode.hessian, "threshold_update": update, "classes": classes, "subsample": 1.0}
    rounds, bins, l2 = (common.pop(name) for name in ("rounds", "max_bins", "l2"))
    if trainer == "xgboost":
        from ordinal_objectives import XGBOrdinalClassifier

        return XGBOrdinalClassifier(n_estimators=rounds, max_bin=bins, reg_lambda=l2, tree_method="hist", **common)
    if trainer == "lightgbm":
        from ordinal_objectives import LGBMOrdinalClassifier

        common |= {"num_leaves": n_leaves, "min_child_samples": 1, "min_data_in_bin": 1, "subsample_freq": 0}
        return LGBMOrdinalClassifier(n_estimators=rounds, max_bin=bins, reg_lambda=l2, **common)
    from ordinal_objectives import HistGradientBoostingOrdinalClassifier

    common |= {"max_leaf_nodes": n_leaves, "min_samples_leaf": 1, "early_stopping": False}
    gains = {"newton": "scalar", "joint": "joint", VECTOR: "vector"}
    if update == VECTOR or (not settings["proportional"] and update in gains):
        common |= {"threshold_update": "joint", "proportional": False, "split_gain": gains[update]}
    return HistGradientBoostingOrdinalClassifier(max_iter=rounds, max_bins=bins, l2_regularization=l2, **common)


def _train(trainer: str, model: Estimator, X: object, y: LabelArray, tick: Callable[[int], None]) -> FloatArray:
    """Fit a classifier; return the seconds after 0, 1, ... rounds, the last of them with all that follows the trees."""
    start, seconds = time.perf_counter(), [0.0]

    def note(*_: object) -> None:
        seconds.append(time.perf_counter() - start)
        tick(len(seconds) - 1)

    if trainer == "xgboost":
        from xgboost.callback import TrainingCallback

        class Note(TrainingCallback):  # type: ignore[misc]
            only_reads = True

            def after_iteration(self, model: object, epoch: int, evals_log: object) -> bool:
                note()
                return False

        model.set_params(callbacks=[Note()]).fit(X, y)
    else:
        model.fit(X, y, **({"callbacks": [note]} if trainer == "lightgbm" else {"callback": note}))
    known, total = seconds[: model.n_iter_], time.perf_counter() - start
    return np.array(known + [total] * (model.n_iter_ + 1 - len(known)))


def _measure(model: Estimator, X: object, codes: IntArray) -> dict[str, FloatArray]:
    """Return the mean loss of a model's predictions, and two metrics, after 0, 1, ... rounds."""
    loss, n_classes, one_score = model.trained_spec().loss, model.n_classes_, model.proportional_
    cpu = CPU(model.n_jobs)
    row_pass: Any = (cpu.row_pass if one_score else cpu.margin_pass)(loss, codes, n_classes)
    found = []
    no_trees = np.zeros(len(codes) if one_score else (len(codes), n_classes - 1))
    for scores, thresholds in chain([(no_trees, model.threshold_history_[0])], model.staged_scores(X)):
        total = judged_loss(row_pass, scores, thresholds, model.hessian)
        proba = predictions.proba(loss, scores, thresholds)
        mae = metrics.mean_absolute_error(codes, decide(proba))
        rps = metrics.ranked_probability_score(codes, proba, labels=range(n_classes))
        found.append((total / len(codes), mae, rps))
    return dict(zip(("held_out_loss", "mae", "rps"), np.array(found, float).T, strict=True))


def _differences(mode: _Mode, settings: Params) -> str:
    """Return what could not be made equal, in words."""
    criteria = {"joint": "leaves and thresholds together", VECTOR: "leaves that shift thresholds"}
    judges = criteria.get(mode.update, "the score") if mode.trainer == "native" else "the score"
    moving = "; thresholds move with x" if mode.update == VECTOR or not settings["proportional"] else ""
    return f"{TRAINERS[mode.trainer]}'s own bins and sets of categories; splits judged by {judges}{moving}"


def read_table(
    path: Path,
    column: str | None,
    classes: list[str] | None,
    drop: list[str] | None = None,
    keep: list[str] | None = None,
) -> tuple[DataFrame, Series]:
    """Read a CSV file: features, whose text becomes categories, and the target, the last column unless it is named.

    Rows without a target are left out; how many is printed. A class that is named is no missing value: "None", "NA".
    Columns that ``drop`` names are left out, and so are ids and free text, which are printed, unless ``keep`` names
    them.

    Raises
    ------
    ValueError
        If it is empty or no CSV file, or has no such column.
    """
    pd = extras.optional("pandas", "demo")
    frame = pd.read_csv(path, low_memory=False)
    column = frame.columns[-1] if column is None else column
    if column not in frame.columns:
        raise ValueError(f"--target {column!r} is not a column of {path}; there are {list(frame.columns)}")
    missing = frame[column].isna()
    if classes is not None and missing.any():
        as_text = pd.read_csv(path, dtype=str, keep_default_na=False)[column]
        if (missing & as_text.isin(_separate(classes))).any():
            frame[column] = as_text.where(as_text.isin(_separate(classes)) | ~missing)
            missing = frame[column].isna()
    if missing.any():
        print(f"{missing.sum()} of {len(frame)} rows have no target and are left out.")
    frame = frame[~missing]
    X, target = frame.drop(columns=column), frame[column].infer_objects()  # truth values beside empty cells are objects
    X = _features(X, _separate(drop), _separate(keep))
    names = [re.sub(r"\W+", "_", str(name)) for name in X.columns]  # both libraries refuse brackets, quotes, spaces
    if len(set(names)) < len(names):
        names = [f"{name}_{i}" for i, name in enumerate(names)]
    X = X.set_axis(names, axis=1)
    for text in _text_columns(X):
        # pandas reads True, with empty cells, as such.
        X[text] = X[text].map(str, na_action="ignore").astype("category")
    return X, target


def _features(X: DataFrame, drop: list[str], keep: list[str]) -> DataFrame:
    """Return the features without the columns to drop, and without ids and free text, which are printed."""
    for option, named in (("--drop", drop), ("--keep", keep)):
        unknown = [name for name in named if name not in X.columns]
        if unknown:
            raise ValueError(f"{option} must name columns beside the target, of {list(X.columns)}; got {unknown}")
        if named is drop:
            X = X.drop(columns=drop)
    found = [
        name
        for name in _text_columns(X)
        if name not in keep and X[name].nunique() * _FEWEST_OF_A_VALUE > X[name].count()
    ]
    if found:
        print(
            f"Left out of all models: {', '.join(found)} (text whose values have fewer than {_FEWEST_OF_A_VALUE} rows "
            f"on average, as ids and free text have). To keep: --keep {','.join(found)}"
        )
    return X.drop(columns=found)


def _text_columns(X: DataFrame) -> list[str]:
    """Return the names of the columns that hold no numbers."""
    is_numeric = extras.optional("pandas", "demo").api.types.is_numeric_dtype
    return [name for name, kind in X.dtypes.items() if not is_numeric(kind)]


def classes_of(target: Series, names: list[str] | None) -> ArrayLike | None:
    """Return the classes that a command names, ``a b c`` or ``a,b,c``, in the target's type; None for its own order."""
    types = extras.optional("pandas", "demo").api.types
    numeric = types.is_numeric_dtype(target)
    if names is None:
        fractions = numeric and np.isfinite(target).all() and (target % 1).any()  # few fractions are classes too
        return np.unique(target) if fractions else None
    classes = _separate(names)
    if not numeric:
        return classes
    truth = {"False": False, "True": True} if types.is_bool_dtype(target) else {}
    return [truth[part] if part in truth else float(part) for part in classes]


def _separate(names: list[str] | None) -> list[str]:
    """Return the classes or columns that a command names, ``a b c`` or ``a,b,c``, each by itself."""
    names = names or []
    return [part.strip() for part in (names[0].split(",") if len(names) == 1 else names)]
