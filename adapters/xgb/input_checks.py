"""What is checked before XGBoost has it: names of parameters, data that it would misread, levels, and model files."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xgboost

from ordinal_objectives.adapters import arguments
from ordinal_objectives.adapters.xgb import booster as xgb_booster
from ordinal_objectives.aliases import JSON, Level, RealArray
from ordinal_objectives.utils import files


def check_finite(X: RealArray, missing: float) -> None:
    """Raise ValueError for values that XGBoost refuses in a matrix, and accepts without an error in an array."""
    if not np.isinf(missing) and (np.abs(X) > np.finfo(np.float32).max).any():
        raise ValueError("XGBoost refuses X: Input data contains `inf` or a value too large for float32")


def check_matrix(booster: xgboost.Booster, data: object) -> None:
    """Raise TypeError unless this is an XGBoost matrix, and ValueError if it has columns that the booster lacks."""
    if not isinstance(data, xgboost.DMatrix):
        raise TypeError(f"data must be an xgboost.DMatrix; got {type(data).__name__}: pass xgboost.DMatrix(data)")
    if data.num_col() > booster.num_features():
        raise ValueError(f"data must have at most the model's {booster.num_features()} columns; got {data.num_col()}")


def check_continues(booster: Any, dtrain: Any) -> None:
    """Raise ValueError if the rows to train on have other columns than the model that is continued, if one is.

    A file is left to XGBoost, and so are the names of columns on a cluster, which its workers know.
    """
    if isinstance(booster, xgboost.Booster) and hasattr(dtrain, "num_col"):
        names = (dtrain.feature_names or ()) if isinstance(dtrain, xgboost.DMatrix) else None
        here = int(dtrain.num_col())
        arguments.check_same_columns("xgb_model", booster.num_features(), here, booster.feature_names, names)


# Metrics whose names begin so are the better the higher, as XGBoost's early stopping has it.
_RISING = ("auc", "pre", "map", "ndcg")


def check_metric_name(name: str, what: str) -> None:
    """Raise ValueError for a name that XGBoost could not read back: it puts names and values into one line."""
    if ":" in name or "".join(name.split()) != name:
        raise ValueError(f"{what} must have names without spaces and colons with XGBoost; got {name!r}")


def check_loss_name(name: str) -> None:
    """Raise ValueError for the name of a loss that XGBoost could not read back or would maximise."""
    check_metric_name(name, "losses")
    if name.startswith(_RISING) and name != "mape":
        raise ValueError(
            f"losses must have names that do not begin with {', '.join(_RISING)} with XGBoost, whose early stopping "
            f"would take the highest value for the best; got {name!r}"
        )


def check_dtrain(dtrain: Any) -> None:
    """Raise TypeError unless this is an XGBoost matrix."""
    if not isinstance(dtrain, xgboost.DMatrix):
        raise TypeError(f"dtrain must be an xgboost.DMatrix; got {type(dtrain).__name__}: pass xgboost.DMatrix(X, y)")


# Constructor names that xgboost.train spells otherwise.
NATIVE = {"n_jobs": "nthread", "random_state": "seed"}
# XGBoost's names of its parameters, by what they are called here: it has no list of them to read.
SAME = {
    "n_estimators": ("n_estimators", "num_boost_round"),
    "learning_rate": ("learning_rate", "eta"),
    "reg_lambda": ("reg_lambda", "lambda"),
    "reg_alpha": ("reg_alpha", "alpha"),
    "gamma": ("gamma", "min_split_loss"),
    "n_jobs": ("n_jobs", "nthread"),
    "random_state": ("random_state", "seed"),
}
REFUSED = {
    "objective": "the ordinal loss is the objective",
    "num_class": "the score has one output for all classes",
    "base_score": "the score starts at 0 and the thresholds hold the location",
    "scale_pos_weight": "use class_weight",
    "multi_strategy": "the score has one output for all classes, and shift_method='host' asks for more",
}
# Names of xgboost.train that the constructor does not spell out. XGBoost itself warns of those that it does not know;
# a name close to one of these is refused before it trains.
KNOWN = (frozenset(xgboost.XGBModel().get_params()) - set(REFUSED)) | {
    *("debug_synchronize", "default_direction", "disable_default_eval_metric", "fail_on_invalid_gpu_id"),
    *("feature_selector", "max_cached_hist_node", "normalize_type", "one_drop", "process_type", "rate_drop"),
    *("refresh_leaf", "sample_type", "seed_per_iteration", "skip_drop", "sparse_threshold", "tolerance", "top_k"),
    "updater",
}
# A sealed model has a digest of all that XGBoost wrote.
_DIGEST = files.DIGEST.encode()
# How it begins, and what stands after the digest, by the beginning of XGBoost's own bytes.
_SEALS = {
    b'{"': (b'{"' + _DIGEST + b'":"', b'",'),
    b"{L": (b"{L" + len(_DIGEST).to_bytes(8, "big") + _DIGEST + b"SL" + (64).to_bytes(8, "big"), b""),
}
_UNSEALED = re.compile(rb'\s*\{\s*"(?:Config|learner|version)"|\{L\0{7}\x07learner')


def sealed(raw: bytes) -> bytes:
    """Return the bytes of a model, in JSON or UBJSON, with a digest of them, which XGBoost passes over."""
    before, after = _SEALS[raw[:2]]
    return before + files.digest(raw).encode() + after + raw[1:]


def _unsealed(content: bytes) -> bytes:
    """Return the bytes that :func:`sealed` was given; all of a file without a digest, as XGBoost writes it.

    Raises
    ------
    ValueError
        If the digest is that of other bytes, or the file begins otherwise.
    """
    for before, after in _SEALS.values():
        if content.startswith(before):
            end = len(before) + 64
            raw = b"{" + content[end:].removeprefix(after)
            files.check_digest(content[len(before) : end].decode(), raw)
            return raw
    if not _UNSEALED.match(content):
        raise ValueError("it does not begin as a model")
    return content


def content_of(path: str | PathLike[str]) -> bytearray:
    """Return a model's bytes in a file, whose digest is checked where it has one; raise ValueError if it is damaged."""
    files.check_kind(path, "XGBoost")
    with files.as_damaged_file(path):
        content = Path(path).read_bytes()
        if not content.rstrip().endswith(b"}"):  # XGBoost reads on behind the end, or crashes
            raise ValueError("it is not complete")
        return bytearray(_unsealed(content))


def from_file(path: str | PathLike[str], params: JSON | None = None) -> xgboost.Booster:
    """Return the booster of a file; raise ValueError if it is damaged."""
    content = content_of(path)
    with files.as_damaged_file(path):
        return xgboost.Booster(params, model_file=content)


def levels_of(booster: xgboost.Booster) -> dict[int, list[Level]]:
    """Return the levels that XGBoost keeps in a booster, in the order of their codes.

    Raises
    ------
    ValueError
        If a level is not in ASCII: XGBoost 3.2 counts letters for bytes, and cuts the levels after it.
    """
    found = dict[int, list[Level]]()
    for place, of_column in enumerate((xgb_booster.categories_of(booster) or {}).get("enc", [])):
        values, ends = of_column["values"], of_column.get("offsets")
        if ends:
            text = np.array(values, dtype=np.int16).astype(np.uint8).tobytes()
            if not text.isascii():
                name = repr(booster.feature_names[place]) if booster.feature_names else place
                raise ValueError(f"column {name} must have categories in ASCII: XGBoost does not hold others whole")
            found[place] = [text[a:b].decode() for a, b in pairwise(ends)]
        elif ends is None:
            found[place] = list(values)
    return found


def without_levels(booster: xgboost.Booster) -> xgboost.Booster:
    """Return a booster that takes codes in training: one that keeps levels asks for rows with the same ones."""
    if not any(of_column["values"] for of_column in (xgb_booster.categories_of(booster) or {}).get("enc", [])):
        return booster
    content = json.loads(bytes(booster.save_raw("json")))
    grown = content["learner"]["gradient_booster"]
    grown.get("gbtree", grown)["model"]["cats"] = {"enc": [], "feature_segments": [], "sorted_idx": []}
    return xgboost.Booster(model_file=bytearray(json.dumps(content).encode()))
