"""Trees of any trainer as boosters of LightGBM, written in its text."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ordinal_objectives.aliases import Booster, FloatArray, IndexArray, NDArray
from ordinal_objectives.export.model import Scorer, ScoringTree
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.utils.extras import optional

_CATEGORICAL, _DEFAULT_LEFT, _ZERO_IS_MISSING, _NAN_IS_MISSING = 1, 2, 4, 8
_WORD = 32
# LightGBM writes a section of parameters only where it has read one that is not empty.
_END = """end of trees

feature_importances:

parameters:
[boosting: gbdt]

end of parameters

pandas_categorical:null
"""
# Counts are integers of 32 bits.
_MOST = 2**30


@one_thread_after_fork()
def booster_of(scorer: Scorer, n_features: int) -> Booster:
    """Return a LightGBM booster whose raw scores are a scorer's; one without trees gets one without a split.

    A scorer of several outputs becomes as many trees a round, since LightGBM has no leaves of several values. Missing
    values go with the categories that no set lists, see :meth:`Scorer.with_unknown_missing`.
    """
    lightgbm = optional("lightgbm", "lightgbm")
    texts: list[str] = []
    for number, tree in enumerate(scorer.trees or [_constant(scorer.n_outputs)]):
        nodes = np.array(tree.reachable_nodes())
        leaves, inner = nodes[tree.feature[nodes] < 0], nodes[tree.feature[nodes] >= 0]
        splits = _lines(_splits(tree, inner, leaves, scorer) if len(inner) else {"num_leaves": 1, "num_cat": 0})
        for values in (tree.value[leaves] + (scorer.offset if number == 0 else 0.0)).T:
            leaf_value = _joined(map(repr, values.tolist()))
            texts.append(f"Tree={len(texts)}\n{splits}\nleaf_value={leaf_value}\nis_linear=0\nshrinkage=1\n\n\n")
    head = {
        "version": "v4",
        "num_class": scorer.n_outputs,
        "num_tree_per_iteration": scorer.n_outputs,
        "label_index": 0,
        "max_feature_idx": n_features - 1,
        "feature_names": _joined(f"Column_{place}" for place in range(n_features)),
        "feature_infos": _joined(["[-inf:inf]"] * n_features),
        "tree_sizes": _joined(len(text.encode()) for text in texts),
    }
    return lightgbm.Booster(model_str=f"tree\n{_lines(head)}\n\n{''.join(texts)}{_END}")


def _splits(tree: ScoringTree, inner: IndexArray, leaves: IndexArray, scorer: Scorer) -> dict[str, object]:
    """Return the fields of a tree but for the values of its leaves; LightGBM numbers inner nodes and leaves apart."""
    place = {node: number for number, node in enumerate(inner.tolist())}
    place |= {node: ~number for number, node in enumerate(leaves.tolist())}
    rows, sets = [], list[NDArray[np.uint32]]()
    for node in inner.tolist():
        feature, missing_left = int(tree.feature[node]), bool(tree.missing_left[node])
        left, right = place[int(tree.left[node])], place[int(tree.right[node])]
        if node not in tree.categories:
            missing = _ZERO_IS_MISSING if feature in scorer.zero_is_missing else _NAN_IS_MISSING
            rows.append((missing | _DEFAULT_LEFT * missing_left, repr(float(tree.threshold[node])), left, right))
            continue
        rows.append((_CATEGORICAL | _NAN_IS_MISSING, str(len(sets)), left, right))
        sets.append(_bits(tree.categories[node]))
    decision, threshold, lefts, rights = zip(*rows, strict=True)
    count = _whole(tree.count)
    fields = {
        "num_leaves": len(leaves),
        "num_cat": len(sets),
        "split_feature": _joined(tree.feature[inner]),
        "threshold": _joined(threshold),
        "decision_type": _joined(decision),
        "left_child": _joined(lefts),
        "right_child": _joined(rights),
        "leaf_count": _joined(count[leaves]),
        "internal_count": _joined(count[inner]),
    }
    if sets:
        fields["cat_boundaries"] = _joined(np.cumsum([0, *map(len, sets)]))
        fields["cat_threshold"] = _joined(np.concatenate(sets))
    return fields


def _constant(n_outputs: int) -> ScoringTree:
    """Return a tree of one leaf, which adds nothing."""
    none, no = np.full(1, -1, np.int32), np.zeros(1, bool)
    return ScoringTree(none, np.zeros(1), none, none, no, np.zeros((1, n_outputs)), np.ones(1))


def _bits(codes: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return a set of codes, a bit each from the lowest of the first word on."""
    bits = np.zeros(_WORD * (int(codes.max(initial=0)) // _WORD + 1), dtype=np.uint8)
    bits[codes] = 1
    return np.packbits(bits, bitorder="little").view("<u4").astype(np.uint32)


def _whole(count: FloatArray) -> NDArray[np.int64]:
    """Return counts, or Hessians in their place, as integers above 0 in the same proportions."""
    if not np.array_equal(count, np.rint(count)) or count.max() > _MOST:
        count = count / max(count[0], np.finfo(np.float64).tiny) * _MOST
    return np.maximum(np.rint(count), 1).astype(np.int64)


def _joined(values: Iterable[object]) -> str:
    return " ".join(map(str, values))


def _lines(fields: dict[str, object]) -> str:
    return "\n".join(f"{name}={value}" for name, value in fields.items())
