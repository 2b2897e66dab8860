"""The demonstration: ordinal models beside multiclass and rounded regression of the same library.

make demo
make demo DEMO_ARGS="--data table.csv --target grade --classes low mid high"
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.aliases import (
    Estimator,
    FloatArray,
    IndexArray,
    IntArray,
    Params,
)
from ordinal_objectives.compare import MOST_CLASSES, classes_of, read_table
from ordinal_objectives.estimators.held_out import Rows, hold_out
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.estimators.ordinal_classifier import OrdinalClassifier

# Multiclass and regression with early stopping: small steps of shallow trees, until so many do not help.
_EARLY: Params = {"n_estimators": 1000, "learning_rate": 0.05, "max_depth": 3}
_PATIENCE, _STOP_ON = 30, 0.2
# With fewer rows than this threads wait for each other longer than they work.
_FEWEST_FOR_THREADS = 20_000
# A target of numbers with too many values for classes is cut into these.
_CUT_INTO = 5
# Draws of the bootstrap, rows in the picture of probabilities, and classes whose confusion is printed.
_DRAWS, _ROWS_DRAWN, _MOST_PRINTED = 2000, 12, 12
_PARTIES = [
    "strong Democrat",
    "weak Democrat",
    "leaning Democrat",
    "independent",
    "leaning Republican",
    "weak Republican",
    "strong Republican",
]


@dataclass
class Data:
    """Rows with class codes, and the fold in which each is predicted."""

    name: str
    labels: OrderedLabels
    X: pd.DataFrame
    y: IntArray
    fold: IndexArray

    @property
    def names(self) -> list[str]:
        """Names of the classes, lowest first."""
        return list(map(str, self.labels.ordered_classes_))

    def parts(self) -> list[tuple[IndexArray, IndexArray]]:
        """Return the rows to train on and those to predict, fold by fold."""
        folds = range(self.fold.max() + 1)
        return [
            (np.flatnonzero(self.fold != k), np.flatnonzero(self.fold == k))
            for k in folds
        ]


@dataclass
class Result:
    """One line of the table: each row is predicted by a model that was not trained on it."""

    name: str
    proba: FloatArray
    predicted: IntArray
    seconds: float
    model: Estimator = None  # of the last fold


def survey() -> tuple[str, pd.DataFrame, pd.Series]:
    """Return 944 voters of the American National Election Study 1996, which statsmodels has, and their party."""
    from statsmodels.datasets import anes96

    data = anes96.load_pandas().data
    # Whom a voter expects to vote for all but answers the question, and one column is the logarithm of another.
    X = data.drop(columns=["PID", "vote", "logpopul"])
    party = pd.Series(np.array(_PARTIES)[data["PID"].astype(int)])
    return "Party identification, US voters 1996 (statsmodels)", X, party


def load(options: argparse.Namespace) -> Data:
    """Read the data, and deal the rows of each class out to the folds.

    Raises
    ------
    ValueError
        If the target is missing or cannot be read as ordered classes.
    """
    names = options.classes
    if options.data is None:
        (name, X, target), names = survey(), _PARTIES
    else:
        name = options.data.name
        X, target = read_table(
            options.data, options.target, names, options.drop, options.keep
        )
    if (
        pd.api.types.is_numeric_dtype(target)
        and names is None
        and target.nunique() > MOST_CLASSES
    ):
        edges = np.unique(
            np.quantile(target, np.linspace(0, 1, _CUT_INTO + 1)[1:-1])
        )
        print(
            f"The target has {target.nunique()} values; cut at {np.round(edges, 3).tolist()} into classes."
        )
        target = pd.Series(np.digitize(target, edges), index=target.index)
    labels = OrderedLabels(classes_of(target, names)).fit(target)
    codes = labels.encode(target)
    order = np.random.default_rng(options.seed).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    fold = np.empty(len(codes), dtype=np.intp)
    fold[order] = np.arange(len(codes)) % options.folds
    return Data(name, labels, X.reset_index(drop=True), codes, fold)


def models(backend: str, data: Data) -> dict[str, Callable[[], Estimator]]:
    """Return what makes each model that is compared, by name; first the ordinal ones."""
    ordinal, others = {}, {}
    n_classes = len(data.names)
    shared: Params = {
        "n_jobs": 1 if len(data.y) < _FEWEST_FOR_THREADS else None
    }
    own: Params = shared | {"classes": np.arange(n_classes), "random_state": 0}
    if backend in ("native", "all"):
        ordinal["native engine, ordinal"] = lambda: (
            HistGradientBoostingOrdinalClassifier(
                **own,
            )
        )
    if backend in ("xgboost", "all"):
        import xgboost

        from ordinal_objectives import XGBOrdinalClassifier

        # With num_class=2 XGBoost's predict returns a matrix.
        nominal: Params = (
            shared
            | {"enable_categorical": True}
            | (
                {"objective": "multi:softprob", "num_class": n_classes}
                if n_classes > 2
                else {}
            )
        )
        early = _EARLY | {"early_stopping_rounds": _PATIENCE}
        ordinal["XGBoost, ordinal"] = lambda: XGBOrdinalClassifier(
            **own,
        )
        others["XGBoost, multiclass"] = lambda: xgboost.XGBClassifier(
            **nominal
        )
        others["XGBoost, multiclass, stopped"] = lambda: xgboost.XGBClassifier(
            **nominal, **early
        )
        others["XGBoost, rounded, stopped"] = lambda: xgboost.XGBRegressor(
            enable_categorical=True, **shared, **early
        )
    if backend in ("lightgbm", "all"):
        import lightgbm

        from ordinal_objectives import LGBMOrdinalClassifier

        quiet: Params = shared | {"verbose": -1}
        nominal_too = quiet | {
            "objective": "multiclass",
            "num_class": n_classes,
        }
        ordinal["LightGBM, ordinal"] = lambda: LGBMOrdinalClassifier(
            **own | quiet
        )
        others["LightGBM, multiclass"] = lambda: lightgbm.LGBMClassifier(
            **nominal_too
        )
        others["LightGBM, multiclass, stopped"] = lambda: (
            lightgbm.LGBMClassifier(**nominal_too, **_EARLY)
        )
        others["LightGBM, rounded, stopped"] = lambda: lightgbm.LGBMRegressor(
            **quiet, **_EARLY
        )
    return ordinal | others


def _fit(
    name: str, model: Estimator, X: pd.DataFrame, y: IntArray, seed: int
) -> None:
    """Train a model; one that stops early is judged by rows that it holds out, as ordinal models do themselves."""
    given: Params = {}
    if name.endswith("stopped"):
        fit, stop = (
            part.X
            for part in hold_out(Rows(np.arange(len(y)), y), _STOP_ON, seed)
        )
        X, X_stop, y, y_stop = X.iloc[fit], X.iloc[stop], y[fit], y[stop]
        if name.startswith("XGBoost"):
            given = {"eval_set": [(X_stop, y_stop)], "verbose": False}
        else:
            import lightgbm

            stopper = lightgbm.early_stopping(_PATIENCE, verbose=False)
            given = {
                "eval_X": X_stop,
                "eval_y": y_stop,
                "callbacks": [stopper],
            }
    model.fit(X, y, **given)


def cross_predict(
    name: str, make: Callable[[], Estimator], data: Data, seed: int
) -> Result:
    """Train a model on all folds but one, for each, and let it predict that one.

    The first training is no part of the seconds: it loads libraries.
    """
    n = len(data.names)
    proba, predicted = np.zeros((len(data.y), n)), np.zeros_like(data.y)
    seconds = []
    for train, test in data.parts():
        model, X_test = make(), data.X.iloc[test]
        start = time.perf_counter()
        _fit(name, model, data.X.iloc[train], data.y[train], seed)
        seconds.append(time.perf_counter() - start)
        found = model.predict(X_test)
        if hasattr(model, "predict_proba"):
            predicted[test], proba[test] = found, model.predict_proba(X_test)
        else:
            predicted[test] = np.clip(np.rint(found), 0, n - 1)
            proba[test] = np.eye(n)[predicted[test]]
    return Result(name, proba, predicted, float(np.median(seconds[1:])), model)


def errors(result: Result, y: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return for each row by how many classes the prediction is off, and the ranked probability score."""
    codes = range(result.proba.shape[1])
    below = y[:, np.newaxis] <= np.array(codes)
    squared = (np.cumsum(result.proba, axis=1) - below) ** 2
    return np.abs(result.predicted - y).astype(float), squared[:, :-1].sum(1)


def interval(difference: FloatArray) -> FloatArray:
    """Return the 95% bootstrap interval of a mean over rows."""
    rng = np.random.default_rng(0)
    draws = rng.multinomial(
        len(difference), np.full(len(difference), 1 / len(difference)), _DRAWS
    )
    return np.quantile(draws @ difference / len(difference), [0.025, 0.975])


def table(results: list[Result], y: IntArray) -> str:
    """Return the comparison as text, each line beside the first."""
    first = errors(results[0], y)
    lines = [
        f"{'':<31}{'MAE':>6}{'above the first':>19}{'RPS':>9}{'above the first':>19}{'wrong':>8}{'far':>6}{'seconds':>9}"
    ]
    for result in results:
        cells, of_rows = "", errors(result, y)
        for own, its in zip(of_rows, first, strict=True):
            low, high = interval(own - its)
            beside = f"[{low:+.3f}, {high:+.3f}]"
            mark = "*" if low > 0 or high < 0 else " "
            beside = "" if result is results[0] else beside + mark
            cells += f"{own.mean():>8.3f}{beside:>19}"
        wrong, far = (of_rows[0] >= 1).mean(), (of_rows[0] >= 2).mean()
        lines.append(
            f"{result.name:<29}{cells}{wrong:>8.0%}{far:>6.0%}{result.seconds:>9.2f}"
        )
    return "\n".join(lines)


LEGEND = """
MAE      classes that a prediction is off, on average: lower is better
RPS      ranked probability score, the error of the probabilities P(y <= k): lower is better;
         rounded regression has no probabilities, and counts as certain of its class
above    by how much, beside the first line: 95% interval, a bootstrap over the rows; *: it does not hold 0
wrong    rows with a wrong class; far: rows that are off by two classes or more
seconds  of one training, the median without the first one, which loads libraries

Ordinal and plain multiclass models are called without settings. The ordinal ones find their number of trees
themselves, which is part of their lead: "stopped" models find it too, with trees of depth 3 and small steps.
Ordinal models predict the median class, which suits MAE. Multiclass predicts the most probable class, which
suits "wrong"; decision_rule="mode" does the same."""


def confusion(result: Result, data: Data) -> str:
    """Return how often each class is taken for which, as text."""
    n = len(data.names)
    counts = np.zeros((n, n), dtype=int)
    np.add.at(counts, (data.y, result.predicted), 1)
    width = max(map(len, data.names))
    lines = [
        f"\n{result.name}: rows by true class (down) and predicted class (across, in the same order)"
    ]
    lines += [
        f"  {name:<{width}}" + "".join(f"{count:>6}" for count in row)
        for name, row in zip(data.names, counts, strict=True)
    ]
    return "\n".join(lines)


def decision(results: list[Result], data: Data) -> str:
    """Return what two models say of one row, the first that they predict differently, as text."""
    ordinal, other = results
    row = int(np.argmax(ordinal.predicted != other.predicted))
    of_row = ", ".join(f"{name} {x}" for name, x in data.X.iloc[row].items())
    width = max(map(len, data.names))
    lines = [
        f"\nOne decision: row {row}, which the two predict differently. Its true class is {data.names[data.y[row]]}.",
        f"  {of_row}",
        f"  {'':<{width}}  {ordinal.name:<46}{other.name}",
        f"  {'':<{width}}{'P(class)':>10}{'P(class or lower)':>20}{'':>18}{'P(class)':>10}",
    ]
    p, q = ordinal.proba[row], other.proba[row]
    for k, name in enumerate(data.names):
        median = "  predicted" if k == ordinal.predicted[row] else ""
        mode = "  predicted" if k == other.predicted[row] else ""
        cells = f"{p[k]:>10.2f}{p[: k + 1].sum():>20.2f}{median:<18}"
        lines.append(f"  {name:<{width}}{cells}{q[k]:>10.2f}{mode}")
    return "\n".join(lines)


def _save(results: list[Result], data: Data, folder: Path) -> list[Path]:
    """Draw the first model's scores and probabilities of the last fold, in one colour a class; save all ordinal ones."""
    from ordinal_objectives.plotting import (
        RowProbabilitiesDisplay,
        ScoreDistributionDisplay,
    )

    folder.mkdir(parents=True, exist_ok=True)
    ordinal = [r for r in results if isinstance(r.model, OrdinalClassifier)]
    first, rows = ordinal[0], data.parts()[-1][1]
    X, model = data.X.iloc[rows], ordinal[0].model
    with mpl.rc_context({"font.size": 9}):
        figure = Figure(figsize=(9.0, 10.0), layout="constrained")
        above, below = figure.subplots(2, 1)
        ScoreDistributionDisplay(
            model.predict_raw(X),
            data.y[rows],
            model.thresholds_,
            data.names,
            first.predicted[rows],
        ).plot(above)
        above.set_title(f"{first.name}: {len(rows)} rows of the last fold")
        rising = np.argsort(first.proba[rows] @ np.arange(len(data.names)))
        some = np.linspace(0, len(rows) - 1, min(_ROWS_DRAWN, len(rows)))
        chosen = rows[rising[some.astype(int)]]
        RowProbabilitiesDisplay(first.proba[chosen], data.names, chosen).plot(
            below
        )
        below.set_title(
            "Some of these rows, from a low to a high expected class"
        )
        figure.savefig(folder / "scores.png", dpi=120)
    written = [folder / "scores.png"]
    for result in ordinal:
        suffix = ".txt" if result.name.startswith("LightGBM") else ".json"
        name = result.name.lower().replace(",", "").replace(" ", "_")
        written.append(folder / (name + suffix))
        result.model.save_model(written[-1])
    return written


def run(options: argparse.Namespace) -> list[Result]:
    """Run the demonstration and print what it finds."""
    data = load(options)
    n_rows, n_features = data.X.shape
    print(f"{data.name}: {n_rows} rows, {n_features} columns")
    print(f"classes, lowest first: {', '.join(data.names)}")
    print(
        f"{options.folds} folds: each row is predicted by models that are trained on the other folds\n"
    )
    found = models(options.backend, data)
    parts = [
        hold_out(Rows(train, data.y[train]), _STOP_ON, options.seed)[0]
        for train, _ in data.parts()
    ]
    if not all(len(np.unique(of.codes)) == len(data.names) for of in parts):
        left_out = [name for name in found if "multiclass" in name]
        found = {k: make for k, make in found.items() if k not in left_out}
        if left_out:
            print(
                "The multiclass models are left out: they need training rows of every class.\n"
            )
    results: list[Result] = []
    for name, make in found.items():
        try:
            results.append(cross_predict(name, make, data, options.seed))
        except ValueError as error:  # the native engine takes at most 254 categories of a column
            if not name.startswith("native"):
                raise
            print(f"{name} is left out: {error}\n")
    if not results:
        raise ValueError("no model could be trained")
    print(table(results, data.y), LEGEND, sep="\n")
    others = [r for r in results if r.name.endswith("multiclass, stopped")]
    shown = [results[0], *others[:1]]
    if len(data.names) <= _MOST_PRINTED:
        print(*(confusion(result, data) for result in shown), sep="\n")
    if others and (shown[0].predicted != shown[1].predicted).any():
        print(decision(shown, data))
    written = _save(results, data, options.output)
    print("\nWritten: " + ", ".join(map(str, written)))
    return results


def _at_least_2(text: str) -> int:
    if int(text) < 2:
        raise argparse.ArgumentTypeError(f"must be at least 2; got {text}")
    return int(text)


def main(arguments: list[str] | None = None) -> int:
    """Run the demonstration as the command says; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FILE",
        help=".csv or .csv.gz file; default: a survey of US voters, 1996",
    )
    parser.add_argument(
        "--target",
        metavar="COLUMN",
        help="column to predict; default: the last one",
    )
    parser.add_argument(
        "--classes",
        nargs="+",
        metavar="A",
        help="the classes of the target, lowest first",
    )
    parser.add_argument(
        "--drop",
        nargs="+",
        metavar="COLUMN",
        help="columns to leave out, as ids",
    )
    parser.add_argument(
        "--keep",
        nargs="+",
        metavar="COLUMN",
        help="text to keep though most of its values have one row",
    )
    parser.add_argument(
        "--backend",
        choices=["xgboost", "lightgbm", "native", "all"],
        default="all",
    )
    parser.add_argument(
        "--folds",
        type=_at_least_2,
        default=5,
        help="parts of the rows, of which each is predicted once",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="seed of the folds",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("demo_output"),
        help="folder for the picture and the models",
    )
    try:
        run(parser.parse_args(arguments))
    except (ValueError, OSError) as error:
        print(f"error: {str(error).strip()}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
