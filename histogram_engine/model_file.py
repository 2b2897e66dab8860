"""Models in a file: a line of text, a JSON header, and plain arrays. Nothing in it is executed.

Layout, all numbers little-endian:

1. the ASCII line ``ordinal_objectives histogram model 1``, or ``ordinal_objectives multi-output model 1`` of a model of
   several outputs, and a line feed; then ``ordinal_objectives_sha256=``, the digest of all that follows, and a line
   feed, which a file made by hand may leave out;
2. the header's length in bytes, uint64;
3. the header, UTF-8 JSON of a :class:`Header`;
4. the arrays, one after the other without padding.

The arrays are ``thresholds`` (n_trees + 1 times n_classes - 1, none with several outputs), ``n_cuts`` of each feature
and all ``cuts``, ``n_nodes`` of each tree, over the nodes of all trees ``feature``, ``threshold``, ``left``,
``missing_left``, ``value``, ``gain`` and ``count`` (:class:`~ordinal_objectives.trees.Tree`), ``by_category``, the
nodes whose rows are parted by categories, and ``categories``, four 64-bit words for each of these. Where leaves have
several values ``value`` has all of each leaf, in the order of the nodes, and none for other nodes.
"""

from __future__ import annotations

import json
import os
import struct
from abc import abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives import tables
from ordinal_objectives.aliases import BoolArray, FloatArray, IntArray, LabelArray, NDArray, Params
from ordinal_objectives.columns import Columns
from ordinal_objectives.estimators.description import ClassifierDescription, describe, give_back
from ordinal_objectives.estimators.linear import LinearPart
from ordinal_objectives.histogram_engine import binning, fit_loop
from ordinal_objectives.random_effects import RandomEffects
from ordinal_objectives.row_blocks import RowBlocks
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.trees import NODE_ARRAYS, SET_WORDS, Tree, TreeEnsemble, has_set
from ordinal_objectives.utils import documented, files, json_of, validation
from ordinal_objectives.utils.json_of import Within

_VERSION = 1
_DIGEST = f"{files.DIGEST}=".encode()
# Beginning of the first line, by whether there are several outputs.
_KINDS = {False: "ordinal_objectives histogram model ", True: "ordinal_objectives multi-output model "}
_ARRAYS = {
    "thresholds": "<f8",
    "n_cuts": "<i4",
    "cuts": "<f8",
    "n_nodes": "<i4",
    **NODE_ARRAYS,
    "by_category": "|u1",
    "categories": "<u8",
}
_MOST_CUTS = 254
IMPORTANCES = ("gain", "split")


@dataclass(frozen=True)
class Header:
    """The part of a file that is JSON.

    Attributes
    ----------
    classifier : ClassifierDescription
    proportional : bool
        Whether leaves have one value.
    linear : LinearPart or None
        What the trees start from.
    targets : dict of str to object
        Of several outputs: what the estimator knows of them.
    n_features, seed, max_bins : int
        The last are those of the cuts.
    evals, diagnostics, curvature, start, effects
        Of the :class:`~ordinal_objectives.histogram_engine.fit_loop.GrownModel`.
    arrays : list of (str, str, int)
        Name, type and length of each, in the order in which they follow.
    """

    classifier: ClassifierDescription
    proportional: bool
    linear: LinearPart | None
    targets: dict[str, Any]
    n_features: Annotated[int, Within(0)]
    seed: Annotated[int, Within(0, 2**31 - 1)]
    max_bins: Annotated[int, Within(2, 255)]
    evals: dict[str, list[float]]
    diagnostics: dict[str, int]
    curvature: FloatArray | None
    start: FloatArray | None
    effects: tuple[RandomEffects, ...]
    arrays: list[tuple[str, str, Annotated[int, Within(0)]]]


class EngineModel:
    """Base of the estimators: what both kinds know of their features and trees, and how these get into files."""

    warm_start: bool
    categorical_features: Any
    max_bins: int
    importance_type: str
    n_jobs: int | None
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    columns_: Columns
    _grown: fit_loop.GrownModel
    _seed: int
    _max_bins: int
    _is_multi_output: ClassVar[bool] = False

    def _continues(self) -> bool:
        return validation.check_flag("warm_start", self.warm_start) and hasattr(self, "_grown")

    def _check_features(self, X: object, *, reset: bool) -> Any:
        X = X if isinstance(X, RowBlocks) else tables.as_table(X)
        if reset and not self._continues():
            self.columns_ = binning.learn_columns(X, self.categorical_features, self.max_bins)
        return binning.check_features(self, X, self.columns_, reset=reset, blocks=not self._is_multi_output)

    @documented
    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file; see ``ordinal_objectives.histogram_engine.model_file``.

        In a callback of ``fit`` that is the model of the trees so far.

        Raises
        ------
        ValueError
            Where there is none yet: of a random forest, whose thresholds are fitted at the end.
        TypeError
            Of several outputs, if the loss is an object of your own, which a file does not hold: pickle the model. If a
            parameter has been set that there is not.
        """
        save(self._header(), self._grown, path)

    @documented
    def load_model(self, path: str | os.PathLike[str]) -> Self:
        """Load the model that :meth:`save_model` wrote, its parameters included, into this object.

        Raises ValueError if the file is damaged, of another format or another estimator's; warns of parameters that
        it could not hold.
        """
        (header, grown), name = load(path, multi_output=self._is_multi_output), type(self).__name__
        written_by = header.targets.get("estimator", name)
        if written_by != name:
            raise ValueError(f"{path} holds a model of {written_by}; {name} cannot load it")
        model = clone(self)
        with files.as_damaged_file(path):
            give_back(header.classifier, model, header.n_features)
            model._seed, model._max_bins = header.seed, header.max_bins
            names = header.classifier.feature_names or header.classifier.column_numbers
            model.columns_ = Columns(header.n_features, header.classifier.levels, names)
            model._recall(header, grown)
        self.__dict__ = model.__dict__
        files.warn_of(header.classifier.left_out, stacklevel=2)
        return self

    @abstractmethod
    def _header(self) -> Header:
        """Return the header of the fitted model's file."""

    @abstractmethod
    def _recall(self, header: Header, grown: fit_loop.GrownModel) -> None:
        """Set what a file says of labels or targets, of the loss, and of the training."""

    def _header_of(self, params: Params, classes: LabelArray, **others: Any) -> Header:
        grown: dict[str, Any] = {
            name: getattr(self._grown, name) for name in ("evals", "diagnostics", "curvature", "start", "effects")
        }
        return Header(
            classifier=describe(self, params, classes),
            n_features=self.n_features_in_,
            seed=self._seed,
            max_bins=self._max_bins,
            arrays=[],
            **grown,
            **others,
        )

    @property
    def _ensemble(self) -> TreeEnsemble:
        return self._grown.ensemble

    def grown_trees(self) -> TreeEnsemble:
        """Return the trees, with what their leaves add to the score."""
        check_is_fitted(self)
        return self._ensemble

    @documented
    def apply(self, X: object) -> IntArray:
        """Return the node that each row ends in, int32 ``(n_samples, n_iter_)``."""
        trees = self.grown_trees()
        return trees.apply(self._check_features(X, reset=False), effective_n_threads(self.n_jobs))

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in the importance by ``importance_type``, (n_features,)."""
        found = self.grown_trees().importances(self.importance_type)
        return found / (found.sum() or 1.0)

    @property
    def is_categorical_(self) -> BoolArray | None:
        """Which features are categories, (n_features,); None where none is, as scikit-learn has it."""
        check_is_fitted(self)
        return self.columns_.mask if self.columns_.levels else None

    def category_levels(self) -> dict[int, list[Any]]:
        """Return the levels of each feature of categories, in the order of their codes."""
        check_is_fitted(self)
        return {place: list(levels) for place, levels in self.columns_.levels.items()}


def save(header: Header, grown: fit_loop.GrownModel, path: str | os.PathLike[str]) -> None:
    """Write a model."""
    trees, cuts = grown.ensemble.trees, grown.cuts
    arrays: dict[str, Any] = {
        "thresholds": grown.thresholds.ravel(),
        "n_cuts": [len(c) for c in cuts],
        "cuts": np.concatenate([np.zeros(0), *cuts]),
        "n_nodes": [len(tree.left) for tree in trees],
    }
    for name in NODE_ARRAYS:
        parts = [getattr(tree, name) for tree in trees]
        if name == "value":
            parts = [tree.value if tree.value.ndim == 1 else tree.value[tree.leaves].ravel() for tree in trees]
        arrays[name] = np.concatenate([np.zeros(0), *parts])
    by_category = [has_set(tree.categories, len(tree.left)) for tree in trees]
    sets = [tree.categories[of] for tree, of in zip(trees, by_category, strict=True) if tree.categories is not None]
    arrays["by_category"] = np.concatenate([np.zeros(0), *by_category])
    arrays["categories"] = np.concatenate([np.zeros((0, SET_WORDS), np.uint64), *sets]).ravel()
    written = {name: np.asarray(arrays[name]).astype(dtype) for name, dtype in _ARRAYS.items()}
    header = replace(header, arrays=[(name, _ARRAYS[name], len(array)) for name, array in written.items()])
    text = json.dumps(json_of.encoded(header), allow_nan=False).encode()
    body = b"".join([struct.pack("<Q", len(text)), text, *(array.tobytes() for array in written.values())])
    first = f"{_KINDS[grown.start is not None]}{_VERSION}\n{files.DIGEST}={files.digest(body)}\n"
    with files.written(path) as newer:
        newer.write_bytes(first.encode() + body)


def load(path: str | os.PathLike[str], *, multi_output: bool = False) -> tuple[Header, fit_loop.GrownModel]:
    """Read a model, an ordinal one or one of several outputs; nothing is allocated before the file is known to hold it.

    Raises
    ------
    ValueError
        If the file is no such model, is damaged, or was written by a newer version of the format.
    """
    kind = _KINDS[multi_output]
    files.check_kind(path, "several outputs" if multi_output else "the native engine")
    content = Path(path).read_bytes()
    first = content[:80].split(b"\n")[0].decode(errors="replace")
    version = first.removeprefix(kind)
    if version != str(_VERSION):
        raise ValueError(
            f"{path} has format version {version}; this version of ordinal_objectives reads version {_VERSION}"
        )
    with files.as_damaged_file(path):
        body = content[len(first) + 1 :]
        if body.startswith(_DIGEST):
            line, _, body = body.partition(b"\n")
            files.check_digest(line.removeprefix(_DIGEST).decode(), body)
        header, arrays = _read(body)
        return header, _grown(header, arrays)


def _check_splits(ensemble: TreeEnsemble, columns: Columns) -> None:
    """Raise ValueError unless the columns of categories, and no others, are split by them."""
    by_category = columns.mask
    for tree in ensemble.trees:
        inner = tree.feature >= 0
        if (by_category[tree.feature[inner]] != has_set(tree.categories, len(inner))[inner]).any():
            raise ValueError("a column is split both by categories and by a threshold")


def _read(body: bytes) -> tuple[Header, dict[str, NDArray[Any]]]:
    (length,) = struct.unpack_from("<Q", body)
    header: Header = json_of.decoded(Header, json_of.parsed(body[8 : 8 + length].decode()))
    arrays, at = {}, 8 + length
    for (name, dtype), (*_, size) in zip(_ARRAYS.items(), header.arrays, strict=True):
        arrays[name] = np.frombuffer(body, dtype, size, at).astype(np.dtype(dtype).newbyteorder("="))
        at += arrays[name].nbytes
    return header, arrays


def _grown(header: Header, arrays: dict[str, NDArray[Any]]) -> fit_loop.GrownModel:
    """Return what was grown; raise ValueError where the parts of a file do not belong to each other."""
    n_features, start = header.n_features, header.start
    if n_features != len(arrays["n_cuts"]):
        raise ValueError(f"it has cuts of {len(arrays['n_cuts'])} features, and {n_features} features")
    n_thresholds = len(header.classifier.labels) - 1 if start is None else 0
    n_outputs = len(start) if start is not None else None if header.proportional else n_thresholds
    ensemble = TreeEnsemble(_trees(arrays, n_outputs), n_features)
    ensemble.check()
    columns = Columns(n_features, header.classifier.levels)
    columns.check(binning.MOST_LEVELS)
    _check_splits(ensemble, columns)
    thresholds = arrays["thresholds"].reshape(len(ensemble) + 1, n_thresholds)
    cuts = _split(arrays["cuts"], arrays["n_cuts"])
    for of_feature in cuts:
        if len(of_feature) > _MOST_CUTS or np.isnan(of_feature).any() or not (np.diff(of_feature) > 0).all():
            raise ValueError(f"the cuts of a feature must increase, and be at most {_MOST_CUTS}; got {len(of_feature)}")
    others: dict[str, Any] = {name: getattr(header, name) for name in ("curvature", "diagnostics", "start", "effects")}
    return fit_loop.GrownModel(ensemble, thresholds, header.evals, cuts, **others)


def _split(values: NDArray[Any], sizes: NDArray[np.integer]) -> list[NDArray[Any]]:
    if (sizes < 0).any() or sizes.sum(dtype=np.int64) != len(values):
        raise ValueError(f"parts of {int(sizes.sum(dtype=np.int64))} entries do not make up {len(values)}")
    return np.split(values, np.cumsum(sizes, dtype=np.int64)[:-1]) if len(sizes) else []


def _trees(arrays: dict[str, NDArray[Any]], n_outputs: int | None) -> list[Tree]:
    n_nodes = arrays["n_nodes"]
    parts = {name: _split(arrays[name], n_nodes) for name in NODE_ARRAYS if name != "value"}
    if n_outputs is None:
        parts["value"] = _split(arrays["value"], n_nodes)
    else:
        leaves = [feature < 0 for feature in parts["feature"]]
        n_leaves = np.array([np.count_nonzero(of_tree) for of_tree in leaves], dtype=np.int64)
        parts["value"] = []
        for is_leaf, values in zip(leaves, _split(arrays["value"], n_outputs * n_leaves), strict=True):
            value = np.zeros((len(is_leaf), n_outputs))
            value[is_leaf] = values.reshape(-1, n_outputs)
            parts["value"].append(value)
    sets = _sets(arrays, n_nodes)
    return [Tree(**{name: parts[name][t] for name in NODE_ARRAYS}, categories=sets[t]) for t in range(len(n_nodes))]


def _sets(arrays: dict[str, NDArray[Any]], n_nodes: NDArray[np.integer]) -> list[NDArray[np.uint64] | None]:
    """Return the categories that go left at the nodes of each tree, None where no node parts them."""
    by_category = [of_tree.astype(bool) for of_tree in _split(arrays["by_category"], n_nodes)]
    n_sets = np.array([np.count_nonzero(of_tree) for of_tree in by_category], dtype=np.int64)
    found: list[NDArray[np.uint64] | None] = [None] * len(n_nodes)
    for t, words in enumerate(_split(arrays["categories"], SET_WORDS * n_sets)):
        if n_sets[t]:
            found[t] = sets = np.zeros((len(by_category[t]), SET_WORDS), np.uint64)
            sets[by_category[t]] = words.reshape(-1, SET_WORDS)
    return found
