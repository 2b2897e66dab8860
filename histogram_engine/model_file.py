"""Models in a file: a line of text, a JSON header, and plain arrays. Nothing in it is executed.

Layout, version 1, all numbers little-endian:

1. the ASCII line ``ordinal_objectives histogram model 1`` and a line feed;
2. the header's length in bytes, uint64;
3. the header, UTF-8 JSON: ``params``, ``classes`` (lowest first), ``classes_dtype``, ``n_features``,
   ``feature_names``, ``seed``, ``max_bins`` (of the cuts; absent from the first files, where it is the parameter),
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

from ordinal_objectives.files import damage, labels_from_json, labels_to_json, names_from_json
from ordinal_objectives.histogram_engine.parameters import check_integer
from ordinal_objectives.histogram_engine.threshold_history import ThresholdHistory
from ordinal_objectives.histogram_engine.trees import NODE_ARRAYS, Tree, TreeEnsemble
from ordinal_objectives.labels import OrderedLabels
from ordinal_objectives.losses import get_loss
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.validation import check_thresholds

if TYPE_CHECKING:
    from ordinal_objectives.histogram_engine.estimator import HistGradientBoostingOrdinalClassifier

VERSION = 1
_MAGIC = "ordinal_objectives histogram model "
_ARRAYS = {"thresholds": "<f8", "n_cuts": "<i4", "cuts": "<f8", "n_nodes": "<i4", **NODE_ARRAYS}

_MOST_CUTS = 254


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
    for name in NODE_ARRAYS:
        arrays[name] = np.concatenate([np.zeros(0), *(getattr(tree, name) for tree in trees)])
    stored = {name: np.asarray(arrays[name]).astype(dtype) for name, dtype in _ARRAYS.items()}
    names = getattr(model, "feature_names_in_", None)
    labels, labels_dtype = labels_to_json(model.ordered_classes_)
    header = {
        "params": _plain_params(model, labels),
        "classes": labels,
        "classes_dtype": labels_dtype,
        "n_features": model.n_features_in_,
        "feature_names": None if names is None else [str(name) for name in names],
        "seed": model._seed,
        "max_bins": model._max_bins,
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


def _plain_params(model: HistGradientBoostingOrdinalClassifier, labels: list[Any]) -> dict[str, Any]:
    params = model.get_params(deep=False)
    # Those of the fit, whatever has been set since: the thresholds belong to them.
    params["loss"], params["link"] = model._fitted_loss.name, model._fitted_loss.link.name
    params["classes"] = None if params["classes"] is None else labels
    if params["cost_matrix"] is not None:
        params["cost_matrix"] = np.asarray(params["cost_matrix"], dtype=np.float64).tolist()
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
    with damage(path):
        header, arrays = _read(content[len(first) + 1 :])
        return _model(cls, header, arrays)


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
    effective_n_threads(model.n_jobs)
    n_features = check_integer("n_features", header["n_features"], 0)
    if n_features != len(arrays["n_cuts"]):
        raise ValueError(f"it has cuts of {len(arrays['n_cuts'])} features, and {n_features} features")
    classes = labels_from_json(header["classes"], header["classes_dtype"])
    model._keep_labels(OrderedLabels(classes))
    model._check_decision()
    trees = _trees(arrays)
    if len(arrays["thresholds"]) != (len(trees) + 1) * (len(classes) - 1):
        raise ValueError(f"its {len(trees)} trees need {len(trees) + 1} sets of thresholds")
    model.threshold_history_ = arrays["thresholds"].reshape(len(trees) + 1, len(classes) - 1)
    loss = get_loss(model.loss, model.link)
    for thresholds in model.threshold_history_:
        check_thresholds(thresholds, len(classes), ordered=loss.ordered)
    model._cuts = _split(arrays["cuts"], arrays["n_cuts"])
    model._max_bins = check_integer("max_bins", header.get("max_bins", model.max_bins), 2, 255)
    for cuts in model._cuts:
        if len(cuts) > _MOST_CUTS or np.isnan(cuts).any() or not (cuts[:-1] < cuts[1:]).all():
            raise ValueError(f"the cuts of a feature must increase, and be at most {_MOST_CUTS}; got {len(cuts)}")
    model._ensemble = TreeEnsemble(trees, n_features)
    model._ensemble.check()
    model.best_iteration_ = len(trees)
    model.n_features_in_ = n_features
    names = names_from_json(header["feature_names"], n_features)
    if names is not None:
        model.feature_names_in_ = names
    model._seed = check_integer("seed", header["seed"], 0, 2**31 - 1)
    model.evals_result_ = {str(name): [float(x) for x in values] for name, values in header["evals"].items()}
    diagnostics = {str(name): int(count) for name, count in header["diagnostics"].items()}
    model._keep(ThresholdHistory(model.threshold_history_, diagnostics), loss, len(trees))
    return model


def _split(values: NDArray[Any], sizes: NDArray[np.int32]) -> list[NDArray[Any]]:
    if (sizes < 0).any() or sizes.sum(dtype=np.int64) != len(values):
        raise ValueError(f"parts of {int(sizes.sum(dtype=np.int64))} entries do not make up {len(values)}")
    return np.split(values, np.cumsum(sizes, dtype=np.int64)[:-1]) if len(sizes) else []


def _trees(arrays: dict[str, NDArray[Any]]) -> list[Tree]:
    parts = {name: _split(arrays[name], arrays["n_nodes"]) for name in NODE_ARRAYS}
    return [Tree(**{name: parts[name][t] for name in NODE_ARRAYS}) for t in range(len(arrays["n_nodes"]))]
