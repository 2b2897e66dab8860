"""Models in a file: a line of text, a JSON header, and plain arrays. Nothing in it is executed.

Layout, version 1, all numbers little-endian:

1. the ASCII line ``ordinal_objectives histogram model 1`` and a line feed;
2. the header's length in bytes, uint64;
3. the header, UTF-8 JSON: ``params``, ``classes`` (lowest first), ``n_features``, ``feature_names``, ``seed``,
   ``evals``, ``diagnostics``, and ``arrays``, the list of [name, dtype, length] in the order they follow;
4. the arrays, one after the other without padding.

The arrays are ``thresholds`` (n_trees + 1 times n_classes - 1), ``n_cuts`` of each feature and all ``cuts``,
``n_nodes`` of each tree, and over the nodes of all trees ``feature``, ``threshold``, ``left``,
``missing_left``, ``value``, ``gain`` and ``count`` (:class:`~ordinal_objectives.histogram_engine.trees.Tree`).
"""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.histogram_engine.threshold_history import ThresholdHistory
from ordinal_objectives.histogram_engine.trees import Tree, TreeEnsemble
from ordinal_objectives.labels import OrderedLabels
from ordinal_objectives.losses import OrdinalLoss, get_loss
from ordinal_objectives.validation import check_thresholds

if TYPE_CHECKING:
    from ordinal_objectives.histogram_engine.estimator import HistGradientBoostingOrdinalClassifier

VERSION = 1
_MAGIC = "ordinal_objectives histogram model "
_OF_NODES = {
    "feature": "<i4",
    "threshold": "<f8",
    "left": "<i4",
    "missing_left": "|u1",
    "value": "<f8",
    "gain": "<f8",
    "count": "<i8",
}
_ARRAYS = {"thresholds": "<f8", "n_cuts": "<i4", "cuts": "<f8", "n_nodes": "<i4", **_OF_NODES}


def save(model: HistGradientBoostingOrdinalClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted model.

    Parameters that JSON cannot hold (a RandomState, a dict of class weights) are left out: they matter to
    training alone.
    """
    trees, cuts = model._ensemble.trees, model._cuts
    arrays: dict[str, Any] = {
        "thresholds": model.threshold_history_.ravel(),
        "n_cuts": [len(c) for c in cuts],
        "cuts": np.concatenate([np.zeros(0), *cuts]),
        "n_nodes": [len(tree.left) for tree in trees],
    }
    for name in _OF_NODES:
        arrays[name] = np.concatenate([np.zeros(0), *(getattr(tree, name) for tree in trees)])
    stored = {name: np.asarray(arrays[name]).astype(dtype) for name, dtype in _ARRAYS.items()}
    names = getattr(model, "feature_names_in_", None)
    header = {
        "params": _plain_params(model),
        "classes": model.ordered_classes_.tolist(),
        "classes_dtype": model.ordered_classes_.dtype.str if model.ordered_classes_.dtype.kind != "O" else "O",
        "n_features": model.n_features_in_,
        "feature_names": None if names is None else [str(name) for name in names],
        "seed": model._seed,
        "evals": model.evals_result_,
        "diagnostics": model.diagnostics_,
        "arrays": [[name, _ARRAYS[name], len(array)] for name, array in stored.items()],
    }
    text = json.dumps(header, allow_nan=False).encode()
    with Path(path).open("wb") as file:
        file.write(f"{_MAGIC}{VERSION}\n".encode())
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for array in stored.values():
            file.write(array.tobytes())


def _plain_params(model: HistGradientBoostingOrdinalClassifier) -> dict[str, Any]:
    params = model.get_params(deep=False)
    if isinstance(params["loss"], OrdinalLoss):
        params["loss"], params["link"] = params["loss"].name, params["loss"].link.name
    for name in ("classes", "cost_matrix"):
        if params[name] is not None:
            params[name] = np.asarray(params[name]).tolist()
    plain = {}
    for name, value in params.items():
        value = value.item() if isinstance(value, np.generic) else value
        if value is None or isinstance(value, (bool, int, float, str, list)):
            plain[name] = value
    return plain


def load(
    cls: type[HistGradientBoostingOrdinalClassifier], path: str | os.PathLike[str]
) -> HistGradientBoostingOrdinalClassifier:
    """Read a model; nothing is allocated before the file is known to hold it.

    Raises
    ------
    ValueError
        If the file is no such model, is damaged, or was written by a newer version of the format.
    """
    content = Path(path).read_bytes()
    first = content[: len(_MAGIC) + 16].split(b"\n")[0]
    if not first.startswith(_MAGIC.encode()) or not first[len(_MAGIC) :].isdigit():
        raise ValueError(f"{path} is not a model of HistGradientBoostingOrdinalClassifier")
    if int(first[len(_MAGIC) :]) != VERSION:
        raise ValueError(
            f"{path} has format version {int(first[len(_MAGIC) :])}; this version of ordinal_objectives reads "
            f"version {VERSION}"
        )
    try:
        header, arrays = _read(content[len(first) + 1 :])
        return _model(cls, header, arrays)
    except (KeyError, TypeError, IndexError, AttributeError, UnicodeDecodeError, RecursionError, struct.error) as error:
        raise ValueError(f"{path} is damaged: {type(error).__name__}: {error}") from error
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def _read(body: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    (length,) = struct.unpack_from("<Q", body)
    if length > len(body) - 8:
        raise ValueError(f"the header should have {length} bytes, and the file has {len(body) - 8} left")
    header = json.loads(body[8 : 8 + length].decode())
    declared = [(str(name), str(dtype), int(size)) for name, dtype, size in header["arrays"]]
    if [(name, dtype) for name, dtype, _ in declared] != list(_ARRAYS.items()) or any(n < 0 for *_, n in declared):
        raise ValueError(f"the arrays must be {list(_ARRAYS)}")
    expected = 8 + length + sum(np.dtype(dtype).itemsize * size for _, dtype, size in declared)
    if expected != len(body):
        raise ValueError(f"its arrays should end at byte {expected} and the file ends at {len(body)}")
    arrays, at = {}, 8 + length
    for name, dtype, size in declared:
        arrays[name] = np.frombuffer(body, dtype, size, at).astype(np.dtype(dtype).newbyteorder("="))
        at += arrays[name].nbytes
    return header, arrays


def _model(
    cls: type[HistGradientBoostingOrdinalClassifier], header: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> HistGradientBoostingOrdinalClassifier:
    model = cls(**header["params"])
    n_features = int(header["n_features"])
    if n_features != len(arrays["n_cuts"]):
        raise ValueError(f"it has cuts of {len(arrays['n_cuts'])} features, and {n_features} features")
    classes = np.array(header["classes"], dtype=header["classes_dtype"])
    model._keep_labels(OrderedLabels(classes))
    trees = _trees(arrays, n_features)
    if len(arrays["thresholds"]) != (len(trees) + 1) * (len(classes) - 1):
        raise ValueError(f"its {len(trees)} trees need {len(trees) + 1} sets of thresholds")
    model.threshold_history_ = arrays["thresholds"].reshape(len(trees) + 1, len(classes) - 1)
    loss = get_loss(model.loss, model.link)
    for thresholds in model.threshold_history_:
        check_thresholds(thresholds, len(classes), ordered=loss.ordered)
    model._cuts = _split(arrays["cuts"], arrays["n_cuts"])
    model._ensemble = TreeEnsemble(trees, n_features)
    model.best_iteration_ = len(trees)
    model.n_features_in_ = n_features
    if header["feature_names"] is not None:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
        if len(model.feature_names_in_) != n_features:
            raise ValueError(f"it has {len(model.feature_names_in_)} feature names and {n_features} features")
    model._seed = int(header["seed"])
    model.evals_result_ = {str(name): [float(x) for x in values] for name, values in header["evals"].items()}
    diagnostics = {str(name): int(count) for name, count in header["diagnostics"].items()}
    model._keep(ThresholdHistory(model.threshold_history_, diagnostics), loss, len(trees))
    return model


def _split(values: NDArray[Any], sizes: NDArray[np.int32]) -> list[NDArray[Any]]:
    if (sizes < 0).any() or sizes.sum(dtype=np.int64) != len(values):
        raise ValueError(f"parts of {int(sizes.sum(dtype=np.int64))} entries do not make up {len(values)}")
    return np.split(values, np.cumsum(sizes, dtype=np.int64)[:-1]) if len(sizes) else []


def _trees(arrays: dict[str, NDArray[Any]], n_features: int) -> list[Tree]:
    parts = {name: _split(arrays[name], arrays["n_nodes"]) for name in _OF_NODES}
    trees = [Tree(**{name: parts[name][t] for name in _OF_NODES}) for t in range(len(arrays["n_nodes"]))]
    for t, tree in enumerate(trees):
        n, node = len(tree.left), np.arange(len(tree.left))
        is_leaf = tree.feature == -1
        # Children after their parent, each node the child of one: every walk from the root ends in a leaf.
        children = np.sort(np.concatenate([tree.left[~is_leaf], tree.left[~is_leaf] + 1]))
        if (
            n == 0
            or (tree.feature < -1).any()
            or (tree.feature >= n_features).any()
            or (tree.left[~is_leaf] <= node[~is_leaf]).any()
            or not np.array_equal(children, np.arange(1, n))
            or np.isnan(tree.threshold).any()
            or not np.isfinite(tree.value).all()
        ):
            raise ValueError(f"tree {t} is not a tree")
    return trees
