"""Members of an ensemble: which there are, what each is trained on, and their files."""

from __future__ import annotations

import importlib
import io
import json
import tempfile
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ordinal_objectives.estimators.held_out import Rows, hold_out, take_rows
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.estimators.ordered_classifier import OrderedClassifier
from ordinal_objectives.estimators.wrappers import (
    FittedMember,
    PrefitMember,
    refuse_weights_by_label,
    row_keywords,
    told_classes,
    weighs_costs,
)
from ordinal_objectives.threads import one_thread_after_fork
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

# Where nobody names members: an ordinal and a multiclass one of the first library that is installed.
# Both stop by the rows that they leave out, and draw rows for each tree.
_XGB: dict[str, Any] = {"n_estimators": 500, "early_stopping_rounds": 10, "subsample": 0.8}
_LGBM: dict[str, Any] = {"n_estimators": 500, "early_stopping_round": 10, "subsample": 0.8, "subsample_freq": 1}
_DEFAULTS: tuple[tuple[str, str, str, dict[str, Any], dict[str, Any]], ...] = (
    ("xgboost", "XGBOrdinalClassifier", "XGBClassifier", _XGB, {"enable_categorical": True}),
    ("lightgbm", "LGBMOrdinalClassifier", "LGBMClassifier", _LGBM, {"verbose": -1}),
    ("sklearn.ensemble", "HistGradientBoostingOrdinalClassifier", "HistGradientBoostingClassifier", {}, {}),
)
# How members say that they stop early on rows that ``fit`` is given.
_STOPPING = ("early_stopping_rounds", "early_stopping_round")
_EVALUATION_WEIGHTS = ("sample_weight_eval_set", "eval_sample_weight")
Members = list[tuple[str, Any]]


def default_members() -> Members:
    """Return an ordinal and a multiclass classifier of XGBoost, else of LightGBM, else native and scikit-learn's."""
    home, ordinal, multiclass, both, other = next(one for one in _DEFAULTS if find_spec(one[0]) is not None)
    ours, hosts = importlib.import_module("ordinal_objectives"), importlib.import_module(home)
    return [("ordinal", getattr(ours, ordinal)(**both)), ("multiclass", getattr(hosts, multiclass)(**both, **other))]


def check_members(members: Any, taken: Collection[str] = ()) -> Members:
    """Return named members, or raise TypeError or ValueError unless each is a classifier with probabilities.

    Parameters
    ----------
    members : object
    taken : collection of str, default=()
        Names that no member may have.
    """
    if members is None:
        return default_members()
    if not isinstance(members, list) or not members or not all(map(_is_pair, members)):
        raise ValueError(f"members must be a list of (name, classifier) pairs, with one at least; got {members!r}")
    names = [name for name, _ in members]
    for name, member in members:
        if names.count(name) > 1 or name in taken or "__" in name:
            raise ValueError(
                f"names of members must differ from each other and from parameters, without '__'; got {names}"
            )
        if isinstance(member, type):
            raise TypeError(f"member {name!r} must be a classifier, {member.__name__}(); got the class itself")
        lacking = [one for one in ("fit", "predict_proba", "get_params", "set_params") if not hasattr(member, one)]
        if lacking:
            raise TypeError(f"member {name!r} must be a classifier with probabilities; {member!r} has no {lacking[0]}")
        if weighs_costs(clone(member)):
            raise ValueError(
                f"member {name!r} has a training_cost, so its probabilities are weighted by cost: an ensemble averages "
                f"probabilities of the classes"
            )
        refuse_weights_by_label(f"member {name!r}", member, "give it to the ensemble")
    return members


def named_members(members: Any) -> Members:
    """Return those whose parameters have names; none where nobody named members, or as none can be."""
    is_list = isinstance(members, list) and all(map(_is_pair, members))
    return members if is_list and all(_has_params(member) for _, member in members) else []


def _has_params(member: Any) -> bool:
    return hasattr(member, "get_params") and not isinstance(member, type)


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str) and entry[0] != ""


def all_take(members: Any, kind: str) -> bool:
    """Tell whether all members take what a tag of inputs names; False where they are no members."""
    try:
        return all(getattr(get_tags(member).input_tags, kind) for _, member in check_members(members))
    except (AttributeError, TypeError, ValueError):
        return False


@dataclass(frozen=True)
class TrainingRows:
    """What all members draw their rows from, and the classes."""

    rows: Rows
    labels: OrderedLabels
    subsample: float
    refit: bool

    def draw(self, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows that a copy is trained on, and those that it leaves out; no group is divided."""
        codes, weight = self.rows.codes, self.rows.weight
        weighted = np.arange(len(codes)) if weight is None else np.flatnonzero(weight)
        if self.subsample == 1.0:
            return weighted, weighted[:0]
        numbers = replace(self.rows, X=np.arange(len(codes))).take(weighted)
        asked = f"subsample={self.subsample}"
        bag, rest = (part.X for part in hold_out(numbers, round(1.0 - self.subsample, 12), seed, asked))
        if numbers.groups is None:  # a class keeps one of its rows
            lost = np.setdiff1d(codes[rest], codes[bag])
            kept = rest[[int(np.argmax(codes[rest] == code)) for code in lost]]
            bag, rest = np.concatenate([bag, kept]), np.setdiff1d(rest, kept)
        return np.sort(bag), np.sort(rest)

    @one_thread_after_fork()
    def fit_copy(self, name: str, member: Any, seed: int) -> FittedMember:
        """Train a copy of a member on rows of its own, with a seed of its own.

        Raises
        ------
        ValueError
            If it cannot be trained; the message names it.
        """
        if isinstance(member, FrozenEstimator):
            check_is_fitted(member, msg=f"member {name!r} is a FrozenEstimator, and what it holds is not fitted")
            return PrefitMember(member, self.labels.encode(member.classes_, name=f"classes_ of member {name!r}"))
        bag, rest = self.draw(seed)
        seeds = {key: seed for key in member.get_params() if ("__" + key).endswith("__random_state")}
        fitted = self._fit(name, clone(member).set_params(**seeds), bag, rest)
        stopping = _stopping(member)
        if not self.refit or stopping is None:
            return fitted
        again = clone(member).set_params(**seeds, **{"n_estimators": _rounds(name, fitted.estimator), stopping: None})
        return self._fit(name, again, np.sort(np.concatenate([bag, rest])), rest[:0])

    def _fit(self, name: str, copy: Any, bag: NDArray[np.intp], rest: NDArray[np.intp]) -> FittedMember:
        """Train a copy on some rows; ``rest`` are those that it may stop early by."""
        rows, what = self.rows.take(bag), f"member {name!r}"
        present = told_classes(what, copy, rows.codes, self.labels.ordered_classes_)
        keywords = row_keywords(what, copy, rows.weight, rows.groups) | self._evaluation(name, copy, present, rest)
        try:
            copy.fit(rows.X, np.searchsorted(present, rows.codes), **keywords)
        except Exception as error:
            kind = ValueError if isinstance(error, ValueError) or not isinstance(error, TypeError) else TypeError
            raise kind(f"member {name!r} cannot be trained: {type(error).__name__}: {error}") from error
        return FittedMember(copy, present)

    def _evaluation(self, name: str, copy: Any, present: NDArray[Any], rest: NDArray[np.intp]) -> dict[str, Any]:
        """Return the rows that a copy stops early by, as its ``fit`` takes them: those that it is not trained on."""
        stopping = _stopping(copy)
        if stopping is None:
            return {}
        rest = rest[np.isin(self.rows.codes[rest], present)]
        if len(rest) == 0:
            raise ValueError(
                f"member {name!r} has {stopping} and needs rows that it is not trained on: lower subsample, or give it "
                f"a validation_fraction of its own where it takes one"
            )
        X, labels = take_rows(self.rows.X, rest), np.searchsorted(present, self.rows.codes[rest])
        keywords: dict[str, Any] = {"eval_set": [(X, labels)]}
        if has_fit_parameter(copy, "eval_X"):  # LightGBM has given eval_set up
            keywords = {"eval_X": X, "eval_y": labels}
        of_weights = next((one for one in _EVALUATION_WEIGHTS if has_fit_parameter(copy, one)), None)
        if self.rows.weight is not None and of_weights is not None:
            keywords[of_weights] = [self.rows.weight[rest]]
        return keywords | ({"verbose": False} if has_fit_parameter(copy, "verbose") else {})


def _stopping(member: Any) -> str | None:
    """Return the parameter by which a member stops early on rows that ``fit`` is given, or None."""
    given = member.get_params(deep=False)
    if given.get("validation_fraction") is not None:
        return None
    return next((one for one in _STOPPING if given.get(one) is not None), None)


def _rounds(name: str, fitted: Any) -> int:
    """Return the number of rounds up to the best one of a member that has stopped early."""
    if isinstance(fitted, OrderedClassifier):
        return int(fitted.n_iter_)
    if hasattr(fitted, "best_iteration"):  # XGBoost counts it from 0
        return int(fitted.best_iteration) + 1
    if hasattr(fitted, "best_iteration_"):  # LightGBM counts it from 1
        return int(fitted.best_iteration_)
    raise ValueError(
        f"member {name!r} stops early and does not say at which round: with refit=True it must have best_iteration or "
        f"best_iteration_ once it is fitted; pass refit=False"
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
