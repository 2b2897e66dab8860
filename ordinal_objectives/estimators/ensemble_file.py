"""Files of ensembles: a zip archive of JSON and one file for each copy of a member, in the format of its library."""

from __future__ import annotations

import importlib
import json
import tempfile
import zipfile
from collections.abc import Mapping
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
_CONTENTS = "ensemble.json"
_PARAMETERS = [
    *("n_bags", "subsample", "weights", "validation_fraction"),
    *("class_weight", "decision_rule", "cost_matrix", "random_state"),
]


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
    params, left_out = parameters_to_json({name: getattr(model, name) for name in _PARAMETERS})
    templates = dict(members)
    described = []
    with tempfile.TemporaryDirectory() as folder:
        for i, (name, copies) in enumerate(fitted.items()):
            kind = type(copies[0].estimator).__name__
            given = {one: value for one, value in templates[name].get_params(deep=False).items() if not _is_nan(value)}
            held, lost = parameters_to_json(given)
            left_out += [f"{name}__{one}" for one in lost]
            files = [f"{i}_{j}{_KINDS[kind][1]}" for j in range(len(copies))]
            for file, copy in zip(files, copies, strict=True):
                copy.estimator.save_model(Path(folder) / file)
            present = [copy.present.tolist() for copy in copies]
            described.append({"name": name, "kind": kind, "params": held, "files": files, "present": present})
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


def read_ensemble(path: str | PathLike[str]) -> ReadEnsemble:
    """Read what :func:`write_ensemble` wrote; raise ValueError if it is damaged or something else."""
    check_kind(path, "an ensemble")
    with as_damaged_file(path), zipfile.ZipFile(path) as archive:
        contents = json.loads(archive.read(_CONTENTS))
        described = contents["members"]
        unknown = [one["kind"] for one in described if one["kind"] not in _KINDS]
        if unknown:
            raise ValueError(f"it holds a member of {unknown[0]!r}; those that can be are {', '.join(_KINDS)}")
    kinds = [_import(one["kind"], one["name"]) for one in described]
    with as_damaged_file(path), zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as folder:
        classes = labels_from_json(contents["classes"], contents["dtype"])
        members, fitted = [], {}
        for kind, one in zip(kinds, described, strict=True):
            params = {name: value_from_json(value) for name, value in one["params"].items()}
            members.append((one["name"], kind(**params)))
            fitted[one["name"]] = [
                _copy(kind, archive, file, Path(folder) / f"copy{_KINDS[one['kind']][1]}", present, len(classes))
                for file, present in zip(one["files"], one["present"], strict=True)
            ]
        weights = numbers_from_json(contents["weights"], "weights")
        if weights.shape != (len(fitted),) or weights.min() < 0 or not np.isclose(weights.sum(), 1.0):
            raise ValueError("weights must be one non-negative number for each member, of sum 1")
        params = {name: value_from_json(contents["params"][name]) for name in _PARAMETERS if name in contents["params"]}
        n_features = int(contents["n_features"])
        names = names_from_json(contents["feature_names"], n_features)
        left_out = [str(name) for name in contents["left_out"]]
    warn_of(left_out, stacklevel=3)
    return ReadEnsemble(params | {"classes": classes}, members, fitted, weights, classes, n_features, names)


def _is_nan(value: Any) -> bool:
    """Tell whether a parameter is NaN, which JSON cannot hold: the default of ``missing``."""
    return isinstance(value, float) and np.isnan(value)


def _copy(kind: Any, archive: zipfile.ZipFile, file: str, path: Path, present: Any, n_classes: int) -> FittedMember:
    codes = np.array(present)
    if (
        codes.dtype.kind != "i"
        or codes.ndim != 1
        or (np.diff(codes) <= 0).any()
        or not 0 <= codes[0] <= codes[-1] < n_classes
    ):
        raise ValueError(f"codes of a member's classes must rise, from 0 to {n_classes - 1} at most; got {present!r}")
    path.write_bytes(archive.read(file))
    estimator = kind()
    estimator.load_model(path)
    return FittedMember(estimator, codes.astype(np.int32))


def _import(kind: str, member: str) -> Any:
    """Return a class that files may hold; raise ModuleNotFoundError, which names the member, without its library."""
    home, _, extra = _KINDS[kind]
    try:
        return getattr(importlib.import_module(home), kind)
    except ImportError as error:
        raise ModuleNotFoundError(
            f"member {member!r} is of {kind}: {not_installed(error, extra)}", name=error.name
        ) from error
