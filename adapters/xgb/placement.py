"""Where the rows of a training are: on a GPU, or on the CPU."""

from __future__ import annotations

import importlib
import warnings
from types import ModuleType

import numpy as np
import xgboost

from ordinal_objectives.adapters.xgb.booster import settings_of
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.rows import CPU, Device
from ordinal_objectives.rows.gpu import GPU, why_no_pass
from ordinal_objectives.utils.extras import how_to_install


def device_of(booster: xgboost.Booster | None, loss: OrdinalLoss, n_threads: int | None) -> Device:
    """Return the GPU that a booster is trained on, or the CPU.

    Parameters
    ----------
    booster : xgboost.Booster or None
    loss : OrdinalLoss
    n_threads : int or None
        Of the CPU.

    Warns
    -----
    UserWarning
        If the booster is on a GPU, and gradients are computed on the CPU nevertheless.
    """
    trained_on = "cpu" if booster is None else _configured(booster)
    if not trained_on.startswith("cuda"):
        return CPU(n_threads)
    library, reason = cupy_of(int(trained_on.partition(":")[2] or 0))
    refused = why_no_pass(loss)
    if library is not None and refused is None:
        return GPU(library)
    warnings.warn(
        f"the trees grow on {trained_on!r}, and the gradients are computed on the CPU: {reason or refused}",
        stacklevel=2,
    )
    return CPU(n_threads)


def cupy_of(ordinal: int) -> tuple[ModuleType | None, str]:
    """Return CuPy if its arrays are on this GPU, or None and the reason."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError:
        return None, f"CuPy is not installed ({how_to_install('gpu')})"
    if not cupy.is_available():
        return None, "CuPy finds no GPU"
    try:
        # What a training needs of CuPy: CUDA's compiler and its libraries are loaded when they are first needed.
        few = cupy.ones((2, 2), np.float32)
        float((cupy.exp(few) @ few).sum())
    except Exception as error:  # whatever CuPy and the libraries of CUDA raise
        return None, f"CuPy does not work here: {error}"
    current = int(cupy.cuda.runtime.getDevice())
    if current != ordinal:
        return None, f"CuPy's arrays are on GPU {current}; choose one by CUDA_VISIBLE_DEVICES instead"
    return cupy, ""


def _configured(booster: xgboost.Booster) -> str:
    """Return the device of a booster's configuration: XGBoost itself goes back to "cpu" where it finds no GPU."""
    return str(settings_of(booster)["generic_param"]["device"])
