"""What is installed, and optional packages: how to install them, frames of pandas, the bar of rounds by tqdm."""

from __future__ import annotations

import importlib
import math
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from types import ModuleType

from ordinal_objectives import __version__, _core
from ordinal_objectives.aliases import DataFrame
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.utils import validation

# What is always there, and what the extras for users bring.
_PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "xgboost", "lightgbm", "catboost", "pandas"),
    *("matplotlib", "tqdm", "dask", "distributed", "ray", "pyspark", "shap", "treelite", "onnx"),
    *("skl2onnx", "cupy-cuda12x", "cupy-cuda13x"),
)
# (rounds so far, newest loss)
Show = Callable[[int, float], None]


def how_to_install(*extras: str) -> str:
    """Return the command that installs extras, also as it is in a checkout."""
    names = ",".join(extras)
    return f"pip install 'ordinal-objectives[{names}]', in a checkout '.[{names}]'"


def not_installed(error: ImportError, *extras: str) -> ModuleNotFoundError:
    """Return the error of an import that failed, with the command that installs what is missing."""
    return ModuleNotFoundError(f"{error}: {how_to_install(*extras)}", name=error.name)


def optional(module: str, *extras: str) -> ModuleType:
    """Return a module of an optional package; raise ModuleNotFoundError where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise not_installed(error, *extras) from None


def data_frame(*args: object, **kwargs: object) -> DataFrame:
    """Return a pandas.DataFrame of these arguments; raise ModuleNotFoundError where pandas is not installed."""
    return optional("pandas", "demo").DataFrame(*args, **kwargs)


@contextmanager
def round_bar(progress: object, n_rounds: int, what: str = "rounds") -> Iterator[Show | None]:
    """Show a bar while a training lasts, on the terminal or in a notebook; nothing where ``progress`` is False.

    Parameters
    ----------
    progress : bool
    n_rounds : int
        At most.
    what : str
        What the bar is called.

    Yields
    ------
    callable or None
        To be called after each round.

    Raises
    ------
    TypeError
        If ``progress`` is no boolean.
    ModuleNotFoundError
        If tqdm is not installed.
    """
    if not validation.check_flag("progress", progress):
        yield None
        return
    with optional("tqdm.auto", "progress").tqdm(total=n_rounds, desc=what, unit="round") as bar:

        def show(done: int, loss: float) -> None:
            if math.isfinite(loss):
                bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
            bar.update(done - bar.n)

        yield show


def versions() -> dict[str, str]:
    """Return what :func:`show_versions` prints, as a dictionary of strings.

    Examples
    --------
    >>> from ordinal_objectives.utils.extras import versions
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
