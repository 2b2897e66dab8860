"""What the pictures of the evidence share: a white ground, which suits a dark page too, and labels beside lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

GREY = "#666666"


def panels(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure with a white ground and its panels."""
    drawn = Figure(figsize=size, layout="constrained", facecolor="white")
    axes = drawn.subplots(rows, columns, squeeze=False, **options)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25)
    return drawn, axes.tolist()


def label_ends(axis: Axes, ends: Mapping[str, tuple[float, float]], colors: Mapping[str, str], size: float = 8) -> None:
    """Write a name beside the right end of each line, moved apart where they would overlap.

    Call it when the limits of the axis are final: names keep a distance in points of the page.
    """
    low, high = axis.get_ylim()
    height = axis.get_position().height * axis.figure.get_figheight() * 72  # type: ignore[union-attr]
    step = 1.25 * size * (high - low) / height
    names = sorted(ends, key=lambda name: ends[name][1])
    for name, place in zip(names, _apart([ends[name][1] for name in names], step), strict=True):
        x, y = ends[name]
        axis.annotate(
            name,
            xy=(x, y),
            xytext=(1.04, (place - low) / (high - low)),
            textcoords="axes fraction",
            color=colors[name],
            fontsize=size,
            va="center",
            arrowprops={"arrowstyle": "-", "color": colors[name], "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0},
        )


def _apart(heights: Sequence[float], step: float) -> list[float]:
    """Return rising heights at least a step apart; those that must move stay around their mean."""
    groups: list[tuple[float, int]] = []  # the middle and the number of each block of touching labels
    for height in heights:
        middle, count = height, 1
        while groups and middle - (count - 1) / 2 * step - groups[-1][0] - (groups[-1][1] - 1) / 2 * step < step:
            other, more = groups.pop()
            middle, count = (middle * count + other * more) / (count + more), count + more
        groups.append((middle, count))
    return [middle + (i - (count - 1) / 2) * step for middle, count in groups for i in range(count)]


def save(drawn: Figure, path: Path) -> None:
    """Write a figure as PNG; the same figure gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn.savefig(path.with_suffix(".png"), dpi=110, metadata={"Software": None}, facecolor="white")
