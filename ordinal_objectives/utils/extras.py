"""Optional packages: how to install them, frames of pandas, and the bar that tqdm shows of a training's rounds."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType

from ordinal_objectives.aliases import Table
from ordinal_objectives.utils import validation

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


def data_frame(*args: object, **kwargs: object) -> Table:
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
