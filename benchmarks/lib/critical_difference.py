"""Draw mean ranks on a line, with a bar over methods that the Nemenyi test does not tell apart (Demsar 2006)."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from lib import method_names, statistics

ROW = 0.32  # inches of a label's row


def figure(ranked: pd.DataFrame, title: str, highlight: str) -> Figure:
    """Return the picture of a table of ranks (sets x methods)."""
    mean_ranks = ranked.mean().sort_values(kind="stable")
    n_methods = len(mean_ranks)
    difference = statistics.critical_difference(n_methods, len(ranked))
    bars = statistics.cliques(mean_ranks, difference)
    n_left = (n_methods + 1) // 2
    # Heights count rows of labels: the bars hang below the axis, the labels below the bars.
    first = 0.8 + 0.35 * len(bars)
    depth = first + n_left
    drawn = Figure(figsize=(9, ROW * (depth + 3)), layout="constrained", facecolor="white")
    axis = drawn.subplots()
    axis.set(xlim=(0.5 - 0.45 * n_methods, n_methods + 0.5 + 0.45 * n_methods), ylim=(depth, -2.6))
    axis.set_axis_off()
    axis.set_title(title, fontsize=11)
    axis.text(n_methods + 0.15, -0.02, "worse", va="center", fontsize=9)
    axis.text(0.85, -0.02, "better", ha="right", va="center", fontsize=9)
    axis.plot([1, n_methods], [0, 0], color="black", linewidth=1)
    for rank in range(1, n_methods + 1):
        axis.plot([rank, rank], [0, -0.2], color="black", linewidth=1)
        axis.text(rank, -0.35, str(rank), ha="center", va="bottom", fontsize=9)
    axis.plot([1, 1 + difference], [-1.6, -1.6], color="black", linewidth=2)
    axis.text(
        1,
        -1.7,
        f"critical difference {difference:.2f}: bars join methods closer than this",
        ha="left",
        va="bottom",
        fontsize=9,
    )
    for i, (low, high) in enumerate(bars):
        height = 0.5 + 0.35 * i
        axis.plot([low - 0.04, high + 0.04], [height, height], color="black", linewidth=3, solid_capstyle="butt")
    for i, (method, rank) in enumerate(mean_ranks.items()):
        left = i < n_left
        height = first + (i if left else n_methods - 1 - i)
        end = 0.6 if left else n_methods + 0.4
        color = method_names.color(str(method)) if method == highlight else "black"
        name = method_names.IN_PICTURES.get(str(method), method)
        axis.plot([rank, rank, end], [0, height, height], color=color, linewidth=1)
        label = f"{name}  {rank:.2f}" if left else f"{rank:.2f}  {name}"
        axis.text(
            end + (-0.1 if left else 0.1),
            height,
            label,
            ha="right" if left else "left",
            va="center",
            color=color,
            fontsize=10,
        )
    return drawn
