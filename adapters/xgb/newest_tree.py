"""The newest tree of an XGBoost booster, read from the changes of the scores or from its bytes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import xgboost
from numpy.typing import NDArray

from ordinal_objectives.adapters.followed_scores import GrownTree
from ordinal_objectives.adapters.xgb.raw_trees import leaf_nodes, newest_array
from ordinal_objectives.adapters.xgb.trees import rounds_of

# Up to so many rounds, writing the bytes of all takes less time than slicing off the newest one.
_FEW_ROUNDS = 16
# Slicing takes as long as sorting the changes of so many rows, or as passing a row through so many trees.
_FEW_ROWS = 1 << 12
_FEW_WALKS = 1 << 14
# How a configuration names what cuts leaves off after a tree has grown, as with tree_method="exact".
_PRUNER = ',prune"'


class Settings(NamedTuple):
    """Parameters that a tree was grown with, and whether leaves were cut off afterwards, which keep their numbers."""

    learning_rate: float
    reg_lambda: float
    prunes: bool


class TreeReader:
    """Reads the tree of the last round, round by round.

    Parameters
    ----------
    booster : xgboost.Booster
    settings_stay : bool
        Whether nobody changes the booster's parameters between rounds.
    """

    def __init__(self, booster: xgboost.Booster, *, settings_stay: bool) -> None:
        self._booster = booster
        self._settings = _settings_of(booster) if settings_stay else None
        # A slice of a matrix does not say which categories its codes stand for.
        self._has_categories = "c" in (booster.feature_types or ())

    def from_bytes(self) -> GrownTree:
        """Return the tree."""
        booster = self._booster
        rounds = booster.num_boosted_rounds()
        if rounds > _FEW_ROUNDS:
            booster = xgboost.Booster.__getitem__(booster, slice(rounds - 1, rounds))
        raw = xgboost.Booster.save_raw(booster, "ubj")
        nodes = leaf_nodes(newest_array(raw, "left_children"))
        return self._grown(nodes, newest_array(raw, "split_conditions")[nodes].astype(np.float64))

    def from_steps(
        self, matrix: xgboost.DMatrix, before: NDArray[np.float32], after: NDArray[np.float32]
    ) -> GrownTree | None:
        """Return the tree as the scores of the training rows without it and with it show it, or None.

        The steps of the rows in one leaf are the same but for their rounding. One row of each step is passed through
        the trees, for the number of its leaf: a slice of the booster takes longer, unless there are many rows.
        """
        if (self._settings or _settings_of(self._booster)).prunes:
            return None
        if self._has_categories or type(matrix) is not xgboost.DMatrix or not 0 < len(after) <= _FEW_ROWS:
            return None
        steps = after.astype(np.float64) - before
        order = np.argsort(steps, kind="stable")
        steps = steps[order]
        # XGBoost rounds each sum once, so the steps of one leaf differ by this at most.
        noise = float(np.finfo(np.float32).eps) * max(float(np.abs(after).max()), abs(steps[0]), abs(steps[-1]))
        starts = np.flatnonzero(np.append(True, np.diff(steps) > noise))
        stops = np.append(starts[1:], len(after))
        if starts.size * self._booster.num_boosted_rounds() > _FEW_WALKS:
            return None
        reached = self._booster.predict(
            matrix.slice(order[starts], allow_groups=True), pred_leaf=True, validate_features=False
        )
        nodes = reached.reshape(starts.size, -1)[:, -1].astype(np.intp)
        if not _are_all_leaves(nodes):
            return None
        in_order = np.argsort(nodes)
        numbers = np.argsort(in_order).astype(np.int32)
        leaves = np.empty(len(after), np.int32)
        leaves[order] = np.repeat(numbers, stops - starts)
        values = 0.5 * (steps[starts] + steps[stops - 1])
        return self._grown(nodes[in_order], values[in_order], leaves=leaves, off=noise)

    def _grown(self, nodes: NDArray[np.intp], leaf_values: NDArray[np.float64], **known: Any) -> GrownTree:
        """Return a tree, given the numbers of its leaves among its nodes, ascending, and what else is known."""
        booster, rounds = self._booster, self._booster.num_boosted_rounds()
        settings = self._settings or _settings_of(booster)

        def route(dmatrix: xgboost.DMatrix) -> NDArray[np.int32]:
            reached = rounds_of(booster, rounds - 1, rounds).predict(dmatrix, pred_leaf=True).ravel()
            leaves: NDArray[np.int32] = np.searchsorted(nodes, reached).astype(np.int32)
            return leaves

        return GrownTree(
            leaf_values=leaf_values,
            learning_rate=settings.learning_rate,
            reg_lambda=settings.reg_lambda,
            value_type=np.float32,
            route=route,
            renew=lambda leaf_values: None,  # renew_leaves writes them all at the end
            **known,
        )


def _are_all_leaves(nodes: NDArray[np.intp]) -> bool:
    """Tell whether some leaves are all those of their tree, given their numbers among its nodes.

    A split numbers its two children next, so the highest number says how many leaves there are. Where two leaves have
    one value, a number is missing.
    """
    highest = int(nodes.max())
    return highest == 2 * (nodes.size - 1) and len(set(nodes.tolist())) == nodes.size


def _settings_of(booster: xgboost.Booster) -> Settings:
    configuration = booster.save_config()
    rate, reg_lambda = (_tree_parameter(configuration, name) for name in ("learning_rate", "reg_lambda"))
    return Settings(rate, reg_lambda, prunes=_PRUNER in configuration)


def _tree_parameter(configuration: str, name: str) -> float:
    """Return a parameter of the trees; parsing all of the configuration takes longer than reading the tree."""
    start = configuration.index(f'"{name}":"', configuration.index('"tree_train_param":')) + len(name) + 4
    return float(configuration[start : configuration.index('"', start)])
