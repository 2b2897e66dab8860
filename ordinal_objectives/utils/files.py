"""Code for model files of all formats: labels and parameters in JSON, and errors of damaged files."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ordinal_objectives.aliases import LabelArray
from ordinal_objectives.registry import NotRegisteredError
from ordinal_objectives.utils.json_of import Plain

# What XGBoost writes before the reason: "[12:00:00] /source/file.cc:123: Check failed: condition (1 vs. 2) : ".
_PLACE = re.compile(r"^\[[\d:]+\] \S+:\d+: ")
_CHECK = re.compile(r"^Check failed: .*?: (?=[A-Z])")
# Start of the model files of each library, and the class that loads them.
_KINDS = {
    "XGBoost": (b"{", "XGBOrdinalClassifier"),
    "LightGBM": (b"tree", "LGBMOrdinalClassifier"),
    "CatBoost": (b"CBM1", "CatBoostOrdinalClassifier"),
    "several outputs": (b"ordinal_objectives multi-output model ", "a HistGradientBoostingMultiOutput estimator"),
    "the native engine": (b"ordinal_objectives histogram model ", "HistGradientBoostingOrdinalClassifier"),
    "an ensemble": (b"PK", "OrdinalEnsembleClassifier"),
}

# Name of the digest of all else in a file. It is checked before the parser of a library sees the file, since some end
# the process over damaged ones.
DIGEST = "ordinal_objectives_sha256"


def digest(content: bytes) -> str:
    """Return the digest of what a library wrote, 64 characters."""
    return hashlib.sha256(content).hexdigest()


def check_digest(found: str, content: bytes) -> None:
    """Raise ValueError unless a file's digest is that of its content."""
    if found != digest(content):
        raise ValueError("its content is not what was written")


@contextmanager
def as_damaged_file(path: str | PathLike[str]) -> Iterator[None]:
    """Turn errors that the content of a file causes in its reader into a ValueError that names the file.

    Errors of the file system, and of a loss that is not registered, are raised unchanged.
    """
    try:
        yield
    except (OSError, NotRegisteredError):
        raise
    except Exception as error:
        kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
        raise ValueError(f"{path} is damaged: {kind}{host_reason(error)}") from error


def check_path(path: str | PathLike[str]) -> None:
    """Raise TypeError unless this names a file."""
    if not isinstance(path, str | PathLike):
        raise TypeError(f"path must be a string or an object like pathlib.Path; got {type(path).__name__}")


@contextmanager
def written(path: str | PathLike[str]) -> Iterator[Path]:
    """Yield where to write what will stand at ``path``: if that fails, as on a full disk, what stood there stays."""
    check_path(path)
    target = Path(os.path.realpath(path))
    if target.exists():
        with target.open("ab"):  # refuses folders, and what is read-only
            pass
        if not target.is_file():  # a device or a pipe
            yield target
            return
    newer = target.with_name(f".{secrets.token_hex(8)}")
    try:
        yield newer
        if target.exists():
            shutil.copymode(target, newer)
        newer.replace(target)
    except OSError as error:
        if error.errno is None:  # a library's own, which has its words alone
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        newer.unlink(missing_ok=True)


def check_kind(path: str | PathLike[str], library: str) -> None:
    """Raise ValueError if a file does not start as model files of ``library`` do; name the class that may load it."""
    check_path(path)
    with Path(path).open("rb") as file:
        start = file.read(64).lstrip()
    kinds = [name for name, (beginning, _) in _KINDS.items() if start.startswith(beginning)]
    if library not in kinds:
        hint = "".join(f"; it looks like one of {name}, which {_KINDS[name][1]} loads" for name in kinds[:1])
        raise ValueError(f"{path} is not a model file of {library}{hint}")


def host_reason(error: Exception) -> str:
    """Return the message of an XGBoost error, without source lines and stack trace."""
    text = _PLACE.sub("", str(error).split("\nStack trace:")[0].strip())
    return _CHECK.sub("", text)


def labels_to_json(classes: LabelArray) -> tuple[list[Plain], str]:
    """Return class labels in JSON's types, and the name of their NumPy type.

    Raises
    ------
    TypeError
        If a label is neither a string nor a number.
    """
    labels: list[Any] = classes.tolist()
    strange = [label for label in labels if not isinstance(label, (str, int, float))]
    if strange:
        raise TypeError(f"only strings and numbers can be saved as class labels; got {strange[0]!r}")
    kind = classes.dtype.kind
    return labels, kind if kind == "T" else classes.dtype.str if kind in "biufU" else "O"


def labels_from_json(labels: Any, dtype: Any) -> LabelArray:
    """Return what :func:`labels_to_json` was given, (n_classes,).

    Text gets the width of its longest label, whatever ``dtype`` says.

    Raises
    ------
    TypeError, ValueError, OverflowError
        If labels are not of the type that the file names.
    """
    if dtype == "T":
        values = np.array(labels, dtype=np.dtypes.StringDType())
    else:
        as_text = isinstance(dtype, str) and dtype.lstrip("<>|=")[:1] in ("T", "U")
        values = np.array(labels, dtype=str if as_text else dtype)
    again: list[object] = values.tolist()
    is_same = values.ndim == 1 and again == labels and list(map(type, again)) == list(map(type, labels))
    if not is_same or values.dtype.kind not in "OTUbiuf":
        raise ValueError(f"class labels must be of the type {dtype}; got {labels!r}")
    return values


# Types that a JSON file holds as they are.
_PLAIN = {type(None), bool, int, str}


def value_to_json(value: object) -> object:
    """Return the value of a parameter in JSON's types.

    Raises
    ------
    TypeError
        If it holds anything but None, booleans, numbers, strings, and arrays, lists, tuples, sets and dictionaries of
        them.
    """
    if isinstance(value, (np.generic, np.ndarray)) or hasattr(value, "columns"):  # a frame of costs
        value = np.asarray(value).tolist()
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and np.isfinite(value)):
        return value
    if isinstance(value, float):
        return {"float": str(value)}
    if isinstance(value, list):
        return [value_to_json(entry) for entry in value]
    if isinstance(value, tuple):
        return {"tuple": [value_to_json(entry) for entry in value]}
    if isinstance(value, (set, frozenset)):
        return {type(value).__name__: sorted((value_to_json(entry) for entry in value), key=repr)}
    if isinstance(value, dict):
        return {"dict": [[value_to_json(key), value_to_json(entry)] for key, entry in value.items()]}
    raise TypeError(f"a model file holds no {type(value).__name__}")


def parameters_to_json(params: Mapping[str, object]) -> tuple[dict[str, object], list[str]]:
    """Return parameters in JSON's types, and the names of those that it cannot hold."""
    held, left_out = {}, []
    for name, value in params.items():
        try:
            held[name] = value if type(value) in _PLAIN else value_to_json(value)
        except TypeError:
            left_out.append(name)
    return held, left_out


def warn_of(left_out: Iterable[object], stacklevel: int) -> None:
    """Warn of the parameters that a file could not hold."""
    if left_out:
        names = ", ".join(map(str, left_out))
        warnings.warn(f"the file holds no {names}, which JSON cannot; set them to fit", stacklevel=stacklevel + 1)


def value_from_json(value: object) -> Any:
    """Return what :func:`value_to_json` was given; arrays are lists.

    Raises
    ------
    ValueError, TypeError
        If it is nothing of the kind.
    """
    if isinstance(value, list):
        return [value_from_json(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if list(value) == ["tuple"]:
        return tuple(value_from_json(entry) for entry in value["tuple"])
    if list(value) == ["float"] and value["float"] in ("inf", "-inf", "nan"):
        return float(value["float"])
    if list(value) in (["set"], ["frozenset"]) and isinstance(next(iter(value.values())), list):
        (name, entries), kinds = next(iter(value.items())), {"set": set, "frozenset": frozenset}
        return kinds[name](value_from_json(entry) for entry in entries)
    if list(value) == ["dict"]:
        return {value_from_json(key): value_from_json(entry) for key, entry in value["dict"]}
    raise ValueError(f"a parameter must be a number, a tuple, a set or a dict; got {value!r}")
