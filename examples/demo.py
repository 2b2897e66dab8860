"""The demonstration: ordinal models beside multiclass and rounded regression of the same library.

make demo
make demo DEMO_ARGS="--data table.csv --target grade --classes low mid high"
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from ordinal_objectives import HistGradientBoostingOrdinalClassifier, metrics
from ordinal_objectives.aliases import (
    Estimator,
    FloatArray,
    IntArray,
    Params,
    Table,
)
from ordinal_objectives.compare import MOST_CLASSES, classes_of, read_table
from ordinal_objectives.estimators.held_out import Rows, hold_out
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.estimators.ordinal_classifier import OrdinalClassifier

# The same for every model: shallow trees, small steps, early stopping on rows held out of the training part.
_DEPTH, _LEARNING_RATE, _PATIENCE = 3, 0.05, 50
# A target of numbers with too many values for classes is cut into these.
_CUT_INTO = 5


@dataclass
class Split:
    """Rows for training, early stopping and testing, with class codes."""

    name: str
    labels: OrderedLabels
    X: tuple[Table, Table, Table]
    y: tuple[IntArray, IntArray, IntArray]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.labels.ordered_classes_)


@dataclass
class Result:
    """One line of the table."""

    name: str
    proba: FloatArray
    predicted: IntArray
    seconds: float
    rounds: int
    model: Estimator = None


def load(options: argparse.Namespace) -> Split:
    """Read the data and split it 56 : 14 : 30.

    Raises
    ------
    ValueError
        If the target is missing or cannot be read as ordered classes.
    """
    if options.data is None:
        data = load_diabetes(as_frame=True)
        name, X, target = (
            "diabetes progression (scikit-learn)",
            data.data,
            data.target,
        )
    else:
        name, (X, target) = (
            options.data.name,
            read_table(options.data, options.target, options.classes),
        )
    if (
        pd.api.types.is_numeric_dtype(target)
        and options.classes is None
        and target.nunique() > MOST_CLASSES
    ):
        edges = np.unique(
            np.quantile(target, np.linspace(0, 1, _CUT_INTO + 1)[1:-1])
        )
        print(
            f"The target has {target.nunique()} values; cut at {np.round(edges, 3).tolist()} into classes."
        )
        target = pd.Series(np.digitize(target, edges), index=target.index)
    labels = OrderedLabels(classes_of(target, options.classes)).fit(target)
    codes = labels.encode(target)
    learn, test = (
        part.X
        for part in hold_out(
            Rows(np.arange(len(codes)), codes), 0.3, options.seed
        )
    )
    fit, stop = train_test_split(
        learn, test_size=0.2, random_state=options.seed
    )
    parts = (fit, stop, test)
    return Split(
        name,
        labels,
        tuple(X.iloc[p] for p in parts),
        tuple(codes[p] for p in parts),
    )


def _models(split: Split, backend: str, rounds: int) -> Params:
    """Return the models that are compared, not fitted, by name."""
    n, models, is_whole = (
        split.n_classes,
        Params(),
        len(np.unique(split.y[0])) == split.n_classes,
    )
    alike: Params = {
        "max_depth": _DEPTH,
        "learning_rate": _LEARNING_RATE,
        "subsample": 1.0,
    }
    classes: Params = {"classes": np.arange(n)}
    if backend in ("xgboost", "all"):
        import xgboost

        from ordinal_objectives import XGBOrdinalClassifier

        common = alike | {
            "n_estimators": rounds,
            "early_stopping_rounds": _PATIENCE,
            "enable_categorical": True,
        }
        # With num_class=2 XGBoost's predict returns a matrix.
        nominal = (
            {"objective": "multi:softprob", "num_class": n} if n > 2 else {}
        )
        models["XGBoost ordinal"] = XGBOrdinalClassifier(**classes, **common)
        models["XGBoost multiclass"] = xgboost.XGBClassifier(
            **nominal, **common
        )
        models["XGBoost regression, rounded"] = xgboost.XGBRegressor(**common)
    if backend in ("lightgbm", "all"):
        import lightgbm

        from ordinal_objectives import LGBMOrdinalClassifier

        common = alike | {
            "n_estimators": rounds,
            "num_leaves": 2**_DEPTH,
            "min_child_samples": 20,
            "verbose": -1,
        }
        models["LightGBM ordinal"] = LGBMOrdinalClassifier(**classes, **common)
        models["LightGBM multiclass"] = lightgbm.LGBMClassifier(
            objective="multiclass", num_class=n, **common
        )
        models["LightGBM regression, rounded"] = lightgbm.LGBMRegressor(
            **common
        )
    if backend in ("native", "all"):
        common = (
            alike
            | classes
            | {
                "max_iter": rounds,
                "max_leaf_nodes": 2**_DEPTH,
                "random_state": 0,
            }
        )
        common |= {"early_stopping": True, "n_iter_no_change": _PATIENCE}
        joint: Params = {"proportional": True, "threshold_update": "joint"}
        models["Native joint"] = HistGradientBoostingOrdinalClassifier(
            **joint, **common
        )
        models["Native default"] = HistGradientBoostingOrdinalClassifier(
            **common
        )
    if not is_whole and backend != "native":
        print(
            "The multiclass model is left out: it needs training rows of every class.\n"
        )
    return {
        name: model
        for name, model in models.items()
        if is_whole or not name.endswith("multiclass")
    }


def _fit(name: str, model: Estimator, split: Split) -> Result:
    """Train a model, and let it predict the test rows."""
    (X, X_held, X_test), (y, y_held, _) = split.X, split.y
    given: dict[str, object] = {"eval_set": [(X_held, y_held)]}
    if name.startswith("XGBoost"):
        given["verbose"] = False
    elif name.startswith("LightGBM"):
        import lightgbm

        if not isinstance(model, OrdinalClassifier):
            given = {"eval_X": X_held, "eval_y": y_held}
        given["callbacks"] = [
            lightgbm.early_stopping(_PATIENCE, verbose=False)
        ]
    start = time.perf_counter()
    model.fit(X, y, **given)
    seconds, predicted = time.perf_counter() - start, model.predict(X_test)
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(X_test)
    else:
        predicted = np.clip(np.rint(predicted), 0, split.n_classes - 1).astype(
            int
        )
        proba = np.eye(split.n_classes)[predicted]
    if isinstance(model, OrdinalClassifier):
        rounds = model.n_iter_
    else:  # both libraries keep the best iteration; XGBoost counts it from 0
        rounds = int(
            model.best_iteration + 1
            if hasattr(model, "best_iteration")
            else model.best_iteration_
        )
    return Result(name, proba, predicted, seconds, rounds, model)


def table(results: list[Result], y: IntArray) -> str:
    """Return the comparison as text."""
    codes = range(results[0].proba.shape[1])
    lines = [
        f"{'':<30}{'MAE':>8}{'zero-one':>10}{'QWK':>8}{'RPS':>8}{'seconds':>10}{'rounds':>8}"
    ]
    for r in results:
        errors = (
            metrics.mean_absolute_error(y, r.predicted),
            metrics.zero_one_error(y, r.predicted),
        )
        kappa = metrics.quadratic_weighted_kappa(y, r.predicted)
        rps = metrics.ranked_probability_score(y, r.proba, labels=codes)
        cells = f"{errors[0]:>8.3f}{errors[1]:>10.3f}"
        lines.append(
            f"{r.name:<30}{cells}{kappa:>8.3f}{rps:>8.3f}{r.seconds:>10.2f}{r.rounds:>8d}"
        )
    return "\n".join(lines)


LEGEND = """
MAE       classes that a prediction is off, on average: lower is better
zero-one  share of rows with a wrong class, however far off: lower is better
QWK       quadratic weighted kappa, agreement beyond chance: higher is better, 1 at most
RPS       ranked probability score, the error of the probabilities P(y <= k): lower is better;
          rounded regression has none, and counts as certain of its class
seconds   of training; rounds: trees, of multiclass for each class, that early stopping kept"""


def reading(results: list[Result], y: IntArray) -> str:
    """Return how to read the table, as text."""
    lines = []
    for ordinal in (r for r in results if r.name.endswith("ordinal")):
        for other in results:
            if (
                other.name.split()[0] == ordinal.name.split()[0]
                and other is not ordinal
            ):
                off = np.abs(other.predicted - y) - np.abs(
                    ordinal.predicted - y
                )
                spread = (
                    2 * off.std(ddof=1) / math.sqrt(len(y))
                    if len(y) > 1
                    else math.inf
                )
                verdict = (
                    "within chance"
                    if abs(off.mean()) <= spread
                    else "beyond chance"
                )
                lines.append(
                    f"  {other.name:<30}{off.mean():>+7.3f} ± {spread:.3f}, {verdict}"
                )
    return "\n".join(
        [
            f"\nMAE beside the ordinal model's, with two standard errors, on {len(y)} test rows of one split:",
            *lines,
            "",
            "The ordinal models predict the median class, which suits MAE. Multiclass predicts the most probable",
            'class, which suits zero-one; decision_rule="mode" does the same. With few rows the step on thresholds',
            'after each tree takes longer than the tree. Of the native engine, "joint" has one score whose splits,',
            "leaves and thresholds follow one criterion; by default its thresholds move with x.",
        ]
    )


def _save(results: list[Result], split: Split, folder: Path) -> list[Path]:
    from ordinal_objectives.plotting import ScoreDistributionDisplay

    folder.mkdir(parents=True, exist_ok=True)
    ordinal = [r for r in results if isinstance(r.model, OrdinalClassifier)]
    with mpl.rc_context({"font.size": 9}):
        figure = Figure(
            figsize=(8.0, (1.4 + 0.55 * split.n_classes) * len(ordinal)),
            layout="constrained",
        )
        axes = figure.subplots(len(ordinal), 1, squeeze=False)[:, 0]
        for ax, result in zip(axes, ordinal, strict=True):
            model, names = result.model, split.labels.ordered_classes_
            scores, thresholds = (
                model.predict_raw(split.X[2]),
                model.thresholds_,
            )
            ScoreDistributionDisplay(
                scores, split.y[2], thresholds, names, result.predicted
            ).plot(ax)
            ax.set_title(f"{result.name}, test rows of {split.name}")
        figure.savefig(folder / "scores.png", dpi=120)
    written = [folder / "scores.png"]
    for result in ordinal:
        suffix = ".txt" if result.name.startswith("LightGBM") else ".json"
        written.append(
            folder / (result.name.lower().replace(" ", "_") + suffix)
        )
        result.model.save_model(written[-1])
    return written


def run(options: argparse.Namespace) -> list[Result]:
    """Run the demonstration and print what it finds."""
    split = load(options)
    sizes = [len(y) for y in split.y]
    print(
        f"{split.name}: {sizes[0]} rows to fit, {sizes[1]} to stop early, {sizes[2]} to test"
    )
    print(
        f"classes, lowest first: {', '.join(map(str, split.labels.ordered_classes_))}\n"
    )
    results: list[Result] = []
    for name, model in _models(split, options.backend, options.rounds).items():
        try:
            results.append(_fit(name, model, split))
        except ValueError as error:  # the native engine takes at most 254 categories of a column
            if not name.startswith("Native"):
                raise
            print(f"{name} is left out: {error}\n")
    if not results:
        raise ValueError("no model could be trained")
    print(
        table(results, split.y[2]),
        LEGEND,
        reading(results, split.y[2]),
        sep="\n",
    )
    print("\nLearned thresholds (the score axis is cut here):")
    for result in results:
        if isinstance(result.model, OrdinalClassifier):
            print(
                f"  {result.name:<18}{np.array2string(result.model.thresholds_, precision=3)}"
            )
    written = _save(results, split, options.output)
    print("\nWritten: " + ", ".join(map(str, written)))
    return results


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
        help=".csv or .csv.gz file; default: scikit-learn's diabetes",
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
        "--backend",
        choices=["xgboost", "lightgbm", "native", "all"],
        default="all",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=500,
        help="most boosting rounds (early stopping ends sooner)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="seed of the split into training and test rows",
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
