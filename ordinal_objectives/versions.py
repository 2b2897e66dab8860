"""What runs here: versions, instruction set, threads."""

from __future__ import annotations

import platform
from importlib import metadata

from ordinal_objectives import __version__, _core
from ordinal_objectives.threads import effective_n_threads

# What is always there, and what the extras for users bring.
_PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "xgboost", "lightgbm", "catboost", "pandas"),
    *("matplotlib", "tqdm", "dask", "distributed", "ray", "pyspark", "shap", "treelite", "onnx"),
    *("skl2onnx", "cupy-cuda12x", "cupy-cuda13x"),
)


def versions() -> dict[str, str]:
    """Return what :func:`show_versions` prints, as a dictionary of strings.

    Examples
    --------
    >>> from ordinal_objectives.versions import versions
    >>> "instruction set" in versions()
    True
    """
    found = {
        "ordinal_objectives": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "instruction set": f"{_core.instruction_set()} (this processor runs {', '.join(_core.instruction_sets())})",
        "threads": str(effective_n_threads()),
    }
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def show_versions() -> None:
    """Print versions, the instruction set of the native kernels and their thread count.

    Examples
    --------
    >>> from ordinal_objectives import show_versions
    >>> show_versions()  # doctest: +ELLIPSIS
    ordinal_objectives...
    """
    content = versions()
    width = max(map(len, content))
    for name, value in content.items():
        print(f"{name:<{width}}  {value}")
