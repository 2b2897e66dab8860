"""Models for formats that hold trees, and nothing beside them that changes a score."""

from __future__ import annotations

from typing import Any

import numpy as np

from ordinal_objectives.export.scoring_model import ScoringModel, ScoringTree, scoring_model


def model_of_trees(model: Any, iterations: int | None, name: str) -> ScoringModel:
    """Return what a fitted classifier computes, for a format of trees that reads NaN as a missing value.

    Parameters
    ----------
    model : XGBOrdinalClassifier, LGBMOrdinalClassifier or HistGradientBoostingOrdinalClassifier
    iterations : int or None
    name : str
        What the format is called.

    Raises
    ------
    ValueError
        If the model has a linear part, or takes a number for a missing value, beside what :func:`scoring_model` raises.
    """
    found = scoring_model(model, iterations)
    if found.linear is not None:
        raise ValueError(
            f"model must be without a linear part, since {name} holds trees alone; got one that was trained with "
            f"linear={model.linear!r}: train it with linear=False"
        )
    if not np.isnan(found.scorer.missing):
        raise ValueError(
            f"model must take NaN for missing values, as {name} does; it has missing={found.scorer.missing:g}: call "
            f"set_params(missing=np.nan), and give NaN in the place of {found.scorer.missing:g}"
        )
    return found


def nodes_of(tree: ScoringTree) -> list[int]:
    """Return the nodes of a tree that rows can reach, parents before their children."""
    nodes = [0]
    for node in nodes:
        nodes += [int(tree.left[node]), int(tree.right[node])] if tree.feature[node] >= 0 else []
    return nodes
