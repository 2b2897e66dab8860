"""What a CatBoost model holds: parameters and trees, and the threshold record among its metadata; its predictions."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from catboost import CatBoost, FeaturesData, Pool

from ordinal_objectives.adapters import prediction
from ordinal_objectives.adapters.arguments import refuse_parameters
from ordinal_objectives.aliases import ArrayLike, FloatArray, IndexArray, Params
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils import files, shared_docs, validation

_KEY = "ordinal_thresholds"
_DIGEST = f"{files.DIGEST}=".encode()
# What the thresholds need. CatBoost would evaluate the metric between rounds to shorten the steps of leaves, and shrink
# earlier trees in each round where monotone constraints are set.
FIXED: Params = {"leaf_estimation_backtracking": "No", "model_shrink_rate": 0.0}
# Several names of one parameter.
SAME: Mapping[str, tuple[str, ...]] = {
    "iterations": ("num_boost_round", "n_estimators", "num_trees"),
    "learning_rate": ("eta",),
    "depth": ("max_depth",),
    "l2_leaf_reg": ("reg_lambda",),
    "random_seed": ("random_state",),
    "rsm": ("colsample_bylevel",),
    "border_count": ("max_bin",),
    "max_leaves": ("num_leaves",),
    "min_data_in_leaf": ("min_child_samples",),
    "loss_function": ("objective",),
    "custom_metric": ("custom_loss",),
}
_RESCALED = "it changes the scores of earlier trees, and thresholds belong to those of their round"
_OF_CLASSIFIER = "it belongs to CatBoost's own losses of classes; pass weights"
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("loss_function", "objective"), "the ordinal loss is the objective"),
    "eval_metric": "the thresholds take their steps in the ordinal loss, which is always measured",
    **dict.fromkeys(("custom_metric", "custom_loss"), "CatBoost's metrics do not know the thresholds"),
    **dict.fromkeys(("devices", "gpu_ram_part"), "CatBoost runs objectives of Python on the processor alone"),
    **dict.fromkeys(("model_shrink_rate", "model_shrink_mode", "langevin", "posterior_sampling"), _RESCALED),
    **dict.fromkeys(("class_weights", "auto_class_weights", "scale_pos_weight"), _OF_CLASSIFIER),
    **dict.fromkeys(("classes_count", "class_names", "target_border"), "labels are class codes; pass n_classes"),
    "eval_fraction": "CatBoost would train on other rows than the thresholds; pass eval_set",
}
# Those of which one value is allowed.
_ONE_VALUE = {
    "task_type": ("CPU", "CatBoost runs objectives of Python on the processor alone"),
    "metric_period": (1, "thresholds take a step in each round"),
    "leaf_estimation_backtracking": ("No", "the metric would be evaluated between rounds"),
    "save_snapshot": (False, "a snapshot has no thresholds; save a model of fewer rounds, and go on by init_model"),
    "boost_from_average": (False, "the score starts at 0, and the thresholds hold the location"),
}


def checked_params(params: Mapping[str, Any]) -> Params:
    """Return parameters of a training with those that the thresholds need; raise ValueError for one that is refused."""
    refuse_parameters(params, REFUSED)
    for name, (value, reason) in _ONE_VALUE.items():
        if params.get(name, value) not in (value, None):
            refuse_parameters(params, {name: reason})
    signs = params.get("monotone_constraints")
    if signs is not None and not isinstance(signs, str):
        params = {**params, "monotone_constraints": validation.signs_of(signs, name="monotone_constraints")}
    quiet = not {"verbose", "logging_level", "silent", "verbose_eval"} & params.keys()
    return {"allow_writing_files": False, **({"verbose": False} if quiet else {}), **params, **FIXED}


# Record


def _checksums(model: CatBoost) -> list[int]:
    """Return a checksum of each tree: of its leaves."""
    values, stops = np.asarray(model.get_leaf_values(), "<f8"), np.cumsum(model.get_tree_leaf_counts(), dtype=np.intp)
    return [zlib.crc32(leaves.tobytes()) for leaves in np.split(values, stops)[:-1]]


def store_record(model: CatBoost, record: ThresholdRecord, earlier: ThresholdRecord | None = None) -> None:
    """Make a model carry the record of its training, cut to its trees; raise ValueError if it has others.

    ``earlier`` is the record of the model that the training went on with.
    """
    n_trees, trees = int(model.tree_count_ or 0), _checksums(model)
    if n_trees > record.n_iterations:
        raise ValueError(
            f"model has {n_trees} trees, and the training had {record.n_iterations} rounds: attach the model that was "
            f"trained with this objective, and its callback"
        )
    if earlier is not None and earlier.trees not in (None, trees[: earlier.n_iterations]):
        raise ValueError("model does not begin with the trees of the objective's init_model: pass it to fit too")
    model.get_metadata()[_KEY] = replace(record.kept(n_trees), trees=trees).to_json()


@shared_docs.documented
def threshold_record(model: CatBoost) -> ThresholdRecord:
    """Return what a model carries about its thresholds: those of every iteration, losses, settings.

    Parameters
    ----------
    model : catboost.CatBoost
        From a file, :func:`load_model` loads it; so does CatBoost itself.

    Returns
    -------
    ThresholdRecord

    Raises
    ------
    ValueError
        If the model carries no thresholds, or its trees are not the first ones of the training that they belong to.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.adapters import cb as ocb
    >>> X = np.arange(300)[:, np.newaxis] % 7
    >>> model = ocb.train((X, X[:, 0] // 3), {"iterations": 5})
    >>> len(ocb.threshold_record(model).thresholds)  # the start, and after each round
    6
    """
    prediction.check_booster(model, CatBoost, "model")
    metadata = model.get_metadata() if model.is_fitted() else {}
    if _KEY not in metadata:
        raise ValueError(
            "model carries no ordinal thresholds: train it with ocb.train, or call objective.attach(model) after fit; "
            "a model that CatBoost made of it, as sum_models does, carries none"
        )
    record = prediction.record_from_json(metadata[_KEY])
    n_trees, found = int(model.tree_count_), _checksums(model)
    if (record.trees or [])[:n_trees] != found or tuple(model.get_scale_and_bias()) != (1.0, 0.0):
        raise ValueError(
            f"model's {n_trees} trees are not the first {n_trees} of the training that recorded its thresholds: they "
            f"were cut with ntree_start, or changed. Thresholds belong to a score summed from the first tree"
        )
    return record.kept(n_trees)


def save_model(model: CatBoost, filename: str | PathLike[str]) -> None:
    """Save a model with its thresholds in CatBoost's binary format, .cbm.

    Parameters
    ----------
    model : catboost.CatBoost
        One that carries thresholds.
    filename : path-like
        Where to write. CatBoost's own loader reads the file as well.

    Raises
    ------
    ValueError
        If the model carries no thresholds.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from ordinal_objectives.adapters import cb as ocb
    >>> X = np.arange(300)[:, np.newaxis] % 7
    >>> model = ocb.train((X, X[:, 0] // 3), {"iterations": 5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ocb.save_model(model, f"{folder}/ordinal.cbm")
    ...     loaded = ocb.load_model(f"{folder}/ordinal.cbm")
    >>> bool((ocb.predict_proba(loaded, X) == ocb.predict_proba(model, X)).all())
    True
    """
    threshold_record(model)
    with files.written(filename) as newer:
        newer.touch()  # what is wrong with the path Python says better than CatBoost
        model.save_model(str(newer), format="cbm")
        digest = files.digest(newer.read_bytes())
        with newer.open("ab") as file:  # CatBoost passes over what stands behind its own bytes
            file.write(_DIGEST + digest.encode())


def load_model(filename: str | PathLike[str]) -> CatBoost:
    """Load a model with its thresholds, as :func:`save_model`, or CatBoost itself, wrote it.

    Parameters
    ----------
    filename : path-like
        Where to read.

    Returns
    -------
    catboost.CatBoost

    Raises
    ------
    ValueError
        If the file carries no thresholds, or it is damaged.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from ordinal_objectives.adapters import cb as ocb
    >>> X = np.arange(300)[:, np.newaxis] % 7
    >>> model = ocb.train((X, X[:, 0] // 3), {"iterations": 5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ocb.save_model(model, f"{folder}/ordinal.cbm")
    ...     loaded = ocb.load_model(f"{folder}/ordinal.cbm")
    >>> bool((ocb.predict_proba(loaded, X) == ocb.predict_proba(model, X)).all())
    True
    """
    files.check_kind(filename, "CatBoost")
    with files.as_damaged_file(filename):
        content, _, found = Path(filename).read_bytes().partition(_DIGEST)
        if found:
            files.check_digest(found.decode(), content)
        model = CatBoost().load_model(str(filename), format="cbm")  # of bytes it does not notice that they are cut
        list(model.get_metadata().items())  # CatBoost decodes its texts when they are asked for
    threshold_record(model)
    return model


def as_model(init_model: object) -> CatBoost:
    """Return a model that is given as such or by the path of its file."""
    return load_model(init_model) if isinstance(init_model, str | PathLike) else init_model


# Predictions


def rows_for(model: CatBoost, data: object, name: str = "data") -> Pool:
    """Return rows to predict as a pool; raise ValueError for other columns: CatBoost skips what the model lacks."""
    validation.refuse_masked(data, name=name)
    pool: Any = data
    if not isinstance(data, Pool):
        rows = validation.collected(data, name=name)
        kinds = ("cat", "text", "embedding") if not isinstance(rows, FeaturesData) else ()
        pool = Pool(rows, **{f"{kind}_features": getattr(model, f"get_{kind}_feature_indices")() for kind in kinds})
    if pool.num_col() != len(model.feature_names_):
        raise ValueError(f"{name} must have the model's {len(model.feature_names_)} columns; got {pool.num_col()}")
    return pool


def predict_raw(
    model: CatBoost, pool: Pool, start: int = 0, stop: int | None = None, n_threads: int = -1
) -> FloatArray:
    """Return the baseline of a pool, and what trees ``start`` to ``stop - 1`` add to it, float64 (n_samples,)."""
    if start == stop:  # CatBoost would take all trees
        return baseline_of(pool)
    options = {"ntree_start": start, "ntree_end": stop or 0, "thread_count": n_threads}
    return np.asarray(model.predict(pool, prediction_type="RawFormulaVal", **options), dtype=np.float64)


def baseline_of(pool: Pool) -> FloatArray:
    """Return the scores that the trees' are added to, float64 (n_samples,)."""
    baseline = np.asarray(pool.get_baseline(), dtype=np.float64)
    return baseline.reshape(-1) if baseline.size else np.zeros(pool.num_row())


@shared_docs.documented
def predict_proba(model: CatBoost, data: object, n_trees: int | None = None) -> FloatArray:
    """Return class probabilities of a model that carries its thresholds.

    Parameters
    ----------
    model : catboost.CatBoost
        From a file, :func:`load_model` loads it.
    data : array-like or catboost.Pool
        Features, as ``catboost.CatBoost.predict`` takes them.
    n_trees : int or None
        How many trees to use, with the thresholds that belong to them; None takes all.

    Returns
    -------
    ndarray of float64, shape (n_samples, n_classes)

    Raises
    ------
    ValueError
        If the model carries no thresholds, or data has other columns than the training.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.adapters import cb as ocb
    >>> X = np.arange(300)[:, np.newaxis] % 7
    >>> ocb.predict_proba(ocb.train((X, X[:, 0] // 3), {"iterations": 5}), X).shape
    (300, 3)
    """
    return _proba_of(model, threshold_record(model), data, n_trees)


def _proba_of(model: CatBoost, record: ThresholdRecord, data: object, n_trees: int | None) -> FloatArray:
    record.check_start(False, "model")
    n = record.n_iterations if n_trees is None else validation.check_integer("n_trees", n_trees, 0)
    record.at(n)  # before CatBoost is asked for more trees than there are
    return prediction.proba_of(record, predict_raw(model, rows_for(model, data), 0, n), n)


@shared_docs.documented(like=predict_proba)
def predict(
    model: CatBoost,
    data: object,
    n_trees: int | None = None,
    *,
    decision_rule: str = "median",
    cost_matrix: ArrayLike | None = None,
) -> IndexArray:
    """Return class codes of a model that carries its thresholds.

    Parameters
    ----------
    <<model, data, n_trees, decision_rule, cost_matrix>>

    Returns
    -------
    ndarray of int, shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.adapters import cb as ocb
    >>> X = np.arange(300)[:, np.newaxis] % 7
    >>> ocb.predict(ocb.train((X, X[:, 0] // 3), {"iterations": 20, "learning_rate": 0.3}), X)[:7]
    array([0, 0, 0, 1, 1, 1, 2])
    """
    record = threshold_record(model)
    return prediction.decide(record, lambda: _proba_of(model, record, data, n_trees), decision_rule, cost_matrix)
