"""What all pictures share: one colour a class, names, and where they are drawn."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinal_objectives.aliases import LabelArray, NDArray
from ordinal_objectives.utils.extras import optional
from ordinal_objectives.utils.validation import names_along, refuse_other_order_of_classes

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes  # noqa: PLC0414, for the displays
    from matplotlib.axis import Axis

    Names = Collection[object] | None
    Pair = Sequence[Axes] | NDArray[np.object_]

# More names than this are shown at even distances only.
_MOST_NAMES = 10


def class_colors(n: int) -> LabelArray:
    """Return a colour for each class, or each threshold, lowest first, (n, 4).

    Viridis without its ends: in order also without colours and for colour-blind eyes, and legible on white paper.
    """
    return pyplot().get_cmap("viridis")(np.linspace(0.1, 0.85, n))


def class_names_of(
    names: Names, n_classes: int, table: object = None, name: str = "proba", axes: Iterable[str] = ("columns",)
) -> list[str]:
    """Return the names of classes as text; their codes where there are none. A table has them in no other order."""
    found = list(range(n_classes)) if names is None else names.tolist() if hasattr(names, "tolist") else list(names)
    if len(found) != n_classes:
        raise ValueError(f"class_names must hold {n_classes} names; got {len(found)}")
    refuse_other_order_of_classes(found, table, name, axes=axes)
    return list(map(str, found))


def row_names_of(names: Names, n_rows: int, table: object = None) -> list[str]:
    """Return the names of rows as text: those that are given, those of a table's index, or their numbers."""
    found = names_along(table, "index", list(range(n_rows))) if names is None else list(names)
    return list(map(str, found))


def threshold_names(class_names: list[str]) -> list[str]:
    """Return what each threshold is called, by the classes on its sides."""
    return [f"{low} | {high}" for low, high in pairwise(class_names)]


def axes_or_new(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes to draw into; None makes a new figure."""
    return pyplot().subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax


def pair_or_new(axes: Pair | None, *, sharey: bool = False) -> tuple[Axes, Axes]:
    """Return two axes to draw into; None makes a new figure."""
    if axes is None:
        axes = pyplot().subplots(1, 2, figsize=(9.0, 4.0), sharex=True, sharey=sharey, layout="constrained")[1]
    first, second = np.ravel(np.asarray(axes, dtype=object)).tolist()
    return first, second


def name_values(ax: Axes, values: LabelArray) -> None:
    """Name categories along the horizontal axis."""
    rotation = 45 if len(values) > 6 else 0
    ax.set_xticks(np.arange(len(values)), [str(value) for value in values], rotation=rotation, parse_math=False)


def name_ticks(axis: Axis, names: list[str]) -> None:
    """Name the classes along an axis; of many, those at even distances."""
    named = range(0, len(names), -(-len(names) // (2 * _MOST_NAMES)))
    axis.set_ticks(list(named), [names[k] for k in named])
    for label in axis.get_ticklabels():
        label.set_parse_math(False)


def colour_bar(ax: Axes, colors: LabelArray, names: list[str], label: str) -> None:
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
    return optional("matplotlib.pyplot", "plot")
