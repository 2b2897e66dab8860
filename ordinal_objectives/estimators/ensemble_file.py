"""Files of ensembles: a zip archive of JSON and one file for each copy of a member, in the format of its library."""

from __future__ import annotations

import importlib
import io
import json
import tempfile
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.estimators.ensemble_members import Members
from ordinal_objectives.estimators.on_codes import FittedMember
from ordinal_objectives.utils.extras import not_installed
from ordinal_objectives.utils.files import (
    as_damaged_file,
    check_kind,
    check_path,
    labels_from_json,
    labels_to_json,
    names_from_json,
    numbers_from_json,
    parameters_to_json,
    value_from_json,
    warn_of,
)

# Classifiers with a format of their own: where they live, how their files end, and the extra that installs them.
_KINDS = {
    "HistGradientBoostingOrdinalClassifier": ("ordinal_objectives", ".model", ""),
    "LGBMOrdinalClassifier": ("ordinal_objectives", ".txt", "lightgbm"),
    "XGBOrdinalClassifier": ("ordinal_objectives", ".json", "xgboost"),
    "XGBClassifier": ("xgboost", ".json", "xgboost"),
}
# Those whose own files hold all parameters that predictions need.
_WHOLE = frozenset(_KINDS) - {"XGBClassifier"}
_CONTENTS = "ensemble.json"
# Parameters of an ensemble that stand elsewhere in its file, or belong to the machine that loads it.
_NOT_PARAMETERS = frozenset({"members", "classes", "n_jobs"})


@dataclass(frozen=True)
class ReadEnsemble:
    """What a file says: parameters, members before their training, fitted copies by member, and what was learned."""

    params: dict[str, Any]
    members: Members
    fitted: dict[str, list[FittedMember]]
    weights: NDArray[np.float64]
    classes: NDArray[Any]
    n_features: int
    feature_names: NDArray[np.object_] | None


def write_ensemble(
    path: str | PathLike[str], model: Any, members: Members, fitted: Mapping[str, list[FittedMember]]
) -> None:
    """Write a fitted ensemble; raise TypeError for a member without a format of its own, and write nothing then."""
    check_path(path)
    for name, copies in fitted.items():
        of_member = type(copies[0].estimator)
        if of_member.__name__ not in _KINDS or _import(of_member.__name__, name) is not of_member:
            raise TypeError(
                f"member {name!r} is of {of_member.__name__}, which has no file format of its own; those that have are "
                f"{', '.join(_KINDS)}. Pickle the ensemble instead"
            )
    classes, dtype = labels_to_json(model.ordered_classes_)
    names = getattr(model, "feature_names_in_", None)
    params, left_out = parameters_to_json(_held(model, _NOT_PARAMETERS))
    templates = dict(members)
    described = []
    with tempfile.TemporaryDirectory() as folder:
        for i, (name, copies) in enumerate(fitted.items()):
            kind = type(copies[0].estimator).__name__
            held, lost = parameters_to_json(_held(templates[name]))
            left_out += [f"{name}__{one}" for one in lost]
            # The file of a host's own classifier holds none of its parameters, and predictions need some.
            own = [{} if kind in _WHOLE else parameters_to_json(_held(copy.estimator))[0] for copy in copies]
            files = [f"{i}_{j}{_KINDS[kind][1]}" for j in range(len(copies))]
            for file, copy in zip(files, copies, strict=True):
                copy.estimator.save_model(Path(folder) / file)
            present = [copy.present.tolist() for copy in copies]
            described.append(
                {"name": name, "kind": kind, "params": held, "own": own, "files": files, "present": present}
            )
        contents = {
            "classes": classes,
            "dtype": dtype,
            "n_features": model.n_features_in_,
            "feature_names": None if names is None else names.tolist(),
            "params": params,
            "weights": model.weights_.tolist(),
            "members": described,
            "left_out": left_out,
        }
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_CONTENTS, json.dumps(contents))
            for written in sorted(Path(folder).iterdir()):
                archive.write(written, written.name)


def read_ensemble(path: str | PathLike[str], known: set[str]) -> ReadEnsemble:
    """Read what :func:`write_ensemble` wrote; raise ValueError if it is damaged or something else."""
    check_kind(path, "an ensemble")
    whole = io.BytesIO(Path(path).read_bytes())  # a place outside it is no error of the file system
    with as_damaged_file(path), zipfile.ZipFile(whole) as archive:
        contents = json.loads(archive.read(_CONTENTS))
        described = contents["members"]
        unknown = [one["kind"] for one in described if one["kind"] not in _KINDS]
        if unknown:
            raise ValueError(f"it holds a member of {unknown[0]!r}; those that can be are {', '.join(_KINDS)}")
    kinds = [_import(one["kind"], one["name"]) for one in described]
    with as_damaged_file(path), zipfile.ZipFile(whole) as archive, tempfile.TemporaryDirectory() as folder:
        classes = labels_from_json(contents["classes"], contents["dtype"])
        members, fitted, n_features = [], {}, int(contents["n_features"])
        for kind, one in zip(kinds, described, strict=True):
            params = {name: value_from_json(value) for name, value in one["params"].items()}
            members.append((one["name"], kind(**params)))
            fitted[one["name"]] = [
                _copy(
                    kind(**{name: value_from_json(value) for name, value in own.items()}),
                    archive.read(file),
                    Path(folder) / f"copy{_KINDS[one['kind']][1]}",
                    _codes(present, len(classes)),
                    n_features,
                )
                for file, own, present in zip(one["files"], one["own"], one["present"], strict=True)
            ]
        weights = numbers_from_json(contents["weights"], "weights")
        if weights.shape != (len(fitted),) or weights.min() < 0 or not np.isclose(weights.sum(), 1.0):
            raise ValueError("weights must be one non-negative number for each member, of sum 1")
        params = {name: value_from_json(value) for name, value in contents["params"].items()}
        if not set(params) <= known:
            raise ValueError(f"an ensemble has no parameters {sorted(set(params) - known)}")
        names = names_from_json(contents["feature_names"], n_features)
        left_out = [str(name) for name in contents["left_out"]]
    warn_of(left_out, stacklevel=3)
    return ReadEnsemble(params | {"classes": classes}, members, fitted, weights, classes, n_features, names)


def _held(estimator: Any, others: Collection[str] = ()) -> dict[str, Any]:
    """Return parameters of an estimator but NaN, which JSON cannot hold: the default of ``missing``."""
    given = estimator.get_params(deep=False).items()
    return {
        name: value
        for name, value in given
        if name not in others and not (isinstance(value, float) and np.isnan(value))
    }


def _codes(present: Any, n_classes: int) -> NDArray[np.int32]:
    codes = np.array(present)
    if (
        codes.dtype.kind != "i"
        or codes.ndim != 1
        or (np.diff(codes) <= 0).any()
        or not 0 <= codes[0] <= codes[-1] < n_classes
    ):
        raise ValueError(f"codes of a member's classes must rise, from 0 to {n_classes - 1} at most; got {present!r}")
    return codes.astype(np.int32)


def _copy(estimator: Any, content: bytes, path: Path, codes: NDArray[np.int32], n_features: int) -> FittedMember:
    path.write_bytes(content)
    estimator.load_model(path)
    found = np.asarray(estimator.classes_).tolist()
    if found != list(range(len(codes))) or estimator.n_features_in_ != n_features:
        raise ValueError(
            f"a copy of a member must have {len(codes)} classes and {n_features} features; got the classes {found} and "
            f"{estimator.n_features_in_} features"
        )
    return FittedMember(estimator, codes)


def _import(kind: str, member: str) -> Any:
    """Return a class that files may hold; raise ModuleNotFoundError, which names the member, without its library."""
    home, _, extra = _KINDS[kind]
    try:
        return getattr(importlib.import_module(home), kind)
    except ImportError as error:
        raise ModuleNotFoundError(
            f"member {member!r} is of {kind}: {not_installed(error, extra)}", name=error.name
        ) from error
