"""What all pictures share: one colour a class, names, and where they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.estimators.labels import OrderedLabels, ordered_categories
from ordinal_objectives.utils.extras import not_installed

# More names than this are shown at even distances alone.
_MOST_NAMES = 10
# Squares are written into for up to so many classes.
_MOST_WRITTEN = 12


def class_colors(n: int) -> NDArray[Any]:
    """Return a colour for each class, or each threshold, lowest first, (n, 4).

    Viridis without its ends: in order also without colours and for colour-blind eyes, and legible on white paper.
    """
    colors: NDArray[Any] = pyplot().get_cmap("viridis")(np.linspace(0.1, 0.85, n))
    return colors


def class_names_of(names: Sequence[Any] | None, n_classes: int) -> list[str]:
    """Return the names of classes as text; their codes where there are none."""
    found = [str(k) for k in range(n_classes)] if names is None else list(map(str, names))
    if len(found) != n_classes:
        raise ValueError(f"class_names must hold {n_classes} names; got {len(found)}")
    return found


def classes_in_order(estimator: Any, y: Any, labels: Any) -> OrderedLabels:
    """Return the classes of any fitted classifier, lowest first.

    They are ``labels``, or else the classifier's ``ordered_classes_``, the categories of an ordered y, or numbers in
    their order.

    Raises
    ------
    TypeError
        If the estimator is no classifier.
    ValueError
        If the classes are text of which nothing says the order.
    """
    check_is_fitted(estimator)
    classes = getattr(estimator, "classes_", None)
    if classes is None or not hasattr(estimator, "predict"):
        raise TypeError(f"estimator must be a fitted classifier; got {type(estimator).__name__}")
    last = estimator
    while hasattr(last, "best_estimator_") or isinstance(last, Pipeline):
        last = last[-1] if isinstance(last, Pipeline) else last.best_estimator_
    own = next(
        (of for of in (labels, getattr(last, "ordered_classes_", None), ordered_categories(y)) if of is not None), None
    )
    if own is None and np.asarray(classes).dtype.kind not in "biuf":
        raise ValueError(
            f"labels must hold the classes, lowest first: {type(last).__name__} does not say their order; got None for "
            f"{np.asarray(classes).tolist()}"
        )
    return OrderedLabels(classes if own is None else own, name="labels")


def threshold_names(class_names: list[str]) -> list[str]:
    """Return what each threshold is called, by the classes on its sides."""
    return [f"{low} | {high}" for low, high in pairwise(class_names)]


def axes_or_new(ax: Any, width: float, height: float) -> Any:
    """Return the axes to draw into; None makes a new figure."""
    return pyplot().subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax


def pair_of(axes: Any, what: str) -> tuple[Any, Any]:
    """Return two axes that are given, for what the message says."""
    found = np.ravel(np.asarray(axes, dtype=object)).tolist()
    if len(found) != 2:
        raise ValueError(f"axes must be a pair of matplotlib axes, for {what}; got {len(found)}")
    return found[0], found[1]


def draw_shares(ax: Any, shares: NDArray[np.float64], texts: list[list[str]], columns: list[str], label: str) -> None:
    """Draw shares of classes as grey squares, true classes from the top down, with texts where there are few.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    shares : ndarray of float64, shape (n_classes, n_classes)
        From 0 to 1; NaN stays empty.
    texts : list of list of str
        What is written into each square.
    columns : list of str
        Names of the classes.
    label : str
        What the shares are.
    """
    image = ax.imshow(np.ma.masked_invalid(shares), cmap="Greys", vmin=0.0, vmax=1.0)
    for i, j in np.ndindex(shares.shape) if len(shares) <= _MOST_WRITTEN else ():
        color = "white" if shares[i, j] > 0.5 else "black"
        if texts[i][j]:
            ax.text(j, i, texts[i][j], ha="center", va="center", color=color, fontsize="small")
    name_ticks(ax.xaxis, columns)
    if max(map(len, columns)) > 4:
        ax.tick_params(axis="x", labelrotation=45)
    ax.figure.colorbar(image, ax=ax, label=label)


def name_ticks(axis: Any, names: list[str]) -> None:
    """Name the classes along an axis; of many, those at even distances."""
    named = range(0, len(names), -(-len(names) // (2 * _MOST_NAMES)))
    axis.set_ticks(list(named), [names[k] for k in named])
    for label in axis.get_ticklabels():
        label.set_parse_math(False)


def colour_bar(ax: Any, colors: NDArray[Any], names: list[str], label: str) -> None:
    """Add a bar that names each colour; of many, those at even distances."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    named = range(0, len(names), -(-len(names) // _MOST_NAMES))
    scale = ScalarMappable(BoundaryNorm(np.arange(-0.5, len(names)), len(names)), ListedColormap(colors))
    bar = ax.figure.colorbar(scale, ax=ax, ticks=list(named), label=label)
    bar.ax.set_yticklabels([names[k] for k in named], parse_math=False)
    bar.ax.minorticks_off()


def pyplot() -> Any:
    """Return matplotlib.pyplot, or say how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise not_installed(error, "plot") from None
    return plt
