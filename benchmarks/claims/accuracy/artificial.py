"""Three artificial sets in the plane (after the thesis's section 5.1): truth, prediction and accuracy.

    python benchmarks/claims/accuracy/artificial.py

1. `smooth boundaries`: standard Gaussian points, cut into three ranks where x2 - sin(2 x1) passes -0.6 and 0.6.
2. `noisy boundaries`: the same, but the tenth of the points nearest to a boundary have, with probability 1/2,
   the rank on its other side.
3. `Gaussian quantiles`: standard Gaussian points, cut into three equal ranks by their distance from the middle.

The thesis's own boundaries and sizes are not known here; these follow its description.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.datasets import make_gaussian_quantiles

from lib import pictures, report
from lib.methods import HOST_DEFAULTS, OURS, PROPORTIONAL
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, XGBOrdinalClassifier

SIZES, N_TEST, SEEDS = (2_000, 20_000), 2_000, range(10)
# XGBoost's own depth and a hundred rounds.
SETTINGS: dict[str, Any] = {"n_estimators": 100, "max_depth": 6, "n_jobs": 1, **HOST_DEFAULTS["XGBoost"]}
METHODS: dict[str, Callable[[], Any]] = {
    OURS: partial(XGBOrdinalClassifier, **SETTINGS),
    PROPORTIONAL: partial(XGBOrdinalClassifier, proportional=True, **SETTINGS),
    "native joint": partial(
        HistGradientBoostingOrdinalClassifier,
        max_iter=100,
        max_leaf_nodes=64,
        max_depth=6,
        early_stopping=False,
        proportional=True,
        n_jobs=1,
        **HOST_DEFAULTS["native"],
    ),
}
CUTS = np.array([-0.6, 0.6])
PICTURE = Path(__file__).resolve().parents[3] / "docs" / "evidence" / "artificial.png"
PUBLISHED = json.loads((Path(__file__).parents[1] / "published.json").read_text(encoding="utf-8"))["artificial"]

Sample = tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]  # points, their true ranks, the ranks observed


def smooth_boundaries(n: int, seed: int) -> Sample:
    X = np.random.default_rng(seed).normal(size=(n, 2))
    y = np.searchsorted(CUTS, X[:, 1] - np.sin(2 * X[:, 0]))
    return X, y, y


def noisy_boundaries(n: int, seed: int) -> Sample:
    X, y, _ = smooth_boundaries(n, seed)
    distance = X[:, 1] - np.sin(2 * X[:, 0]) - CUTS[:, None]  # along x2, to each boundary
    boundary = np.abs(distance).argmin(axis=0)
    nearest = np.argsort(np.abs(distance).min(axis=0))[: n // 10]
    moved = nearest[np.random.default_rng([seed, 1]).random(len(nearest)) < 0.5]
    observed = y.copy()
    observed[moved] = 2 * boundary[moved] + 1 - y[moved]  # boundary k lies between ranks k and k + 1
    return X, y, observed


def gaussian_quantiles(n: int, seed: int) -> Sample:
    X, y = make_gaussian_quantiles(n_samples=n, n_features=2, n_classes=3, random_state=seed)
    return X, y, y


SETS: dict[str, Callable[[int, int], Sample]] = {
    "smooth boundaries": smooth_boundaries,
    "noisy boundaries": noisy_boundaries,
    "Gaussian quantiles": gaussian_quantiles,
}


def split(name: str, n_train: int, seed: int) -> tuple[Sample, Sample]:
    """Return the rows to train on and the rows to test on."""
    X, truth, observed = SETS[name](n_train + N_TEST, seed)
    train, test = slice(n_train), slice(n_train, None)
    return (X[train], truth[train], observed[train]), (X[test], truth[test], observed[test])


def evaluate(name: str, n_train: int, method: str) -> dict[str, object]:
    accuracies = []
    for seed in SEEDS:
        (X, _, y), (X_test, truth, y_test) = split(name, n_train, seed)
        model = METHODS[method]().fit(X, y)
        accuracies.append(
            [np.mean(model.predict(X) == y), np.mean(model.predict(X_test) == y_test), np.mean(truth == y_test)]
        )
    mean, deviation = 100 * np.mean(accuracies, axis=0), 100 * np.std(accuracies, axis=0, ddof=1)
    known = {row["data"]: row["accuracy"] for row in PUBLISHED["rows"]}
    return {
        "data": name,
        "rows to train on": f"{n_train:,}",
        "method": method,
        "train accuracy %": f"{mean[0]:.2f} ({deviation[0]:.2f})",
        "test accuracy %": f"{mean[1]:.2f} ({deviation[1]:.2f})",
        "true boundaries, test %": f"{mean[2]:.2f}",
        "thesis %": f"{known[name]:.2f}",
    }


def draw() -> Figure:
    """Draw the test rows of the first sample: ranks as observed beside those predicted, over the model's regions."""
    colors = ListedColormap(["#4477aa", "#ddaa33", "#bb5566"])
    drawn, axes = pictures.panels(len(SETS), 2, (7, 10.4), sharex=True, sharey=True)
    for (left, right), name in zip(axes, SETS, strict=True):
        (X, _, y), (X_test, _, y_test) = split(name, SIZES[0], seed=0)
        model = XGBOrdinalClassifier(**SETTINGS).fit(X, y)
        grid = np.meshgrid(*[np.linspace(-3.5, 3.5, 351)] * 2)
        regions = model.predict(np.column_stack([axis.ravel() for axis in grid])).reshape(grid[0].shape)
        right.imshow(regions, origin="lower", extent=(-3.5, 3.5, -3.5, 3.5), cmap=colors, alpha=0.25, vmin=0, vmax=2)
        for axis, ranks, title in ((left, y_test, "observed classes"), (right, model.predict(X_test), "predicted")):
            points = axis.scatter(X_test[:, 0], X_test[:, 1], c=ranks, cmap=colors, s=4, linewidths=0, vmin=0, vmax=2)
            axis.set(
                title=f"{name}: {title}", xlabel="x1", ylabel="x2", aspect="equal", xlim=(-3.5, 3.5), ylim=(-3.5, 3.5)
            )
            axis.label_outer()
    handles, _ = points.legend_elements()
    labels = ["lowest class", "middle class", "highest class"]
    drawn.legend(handles, labels, loc="outside upper center", ncols=3)
    return drawn


def main() -> None:
    report.write(
        "artificial",
        "Three artificial sets: XGBoost's classifier as it ships and with one score, and the engine's joint step",
        [evaluate(name, n_train, method) for name in SETS for n_train in SIZES for method in METHODS],
        f"{N_TEST:,} rows to test on; mean (standard deviation) over {len(SEEDS)} samples. `true boundaries` is the "
        f"accuracy of the boundaries that made the ranks. The last column is from {PUBLISHED['source']}. Its exact "
        f"boundaries and sizes, and whether its rows were trained on, are not known here: accuracies of this size are "
        f"all that can be compared.",
    )
    pictures.save(draw(), PICTURE)


if __name__ == "__main__":
    main()
