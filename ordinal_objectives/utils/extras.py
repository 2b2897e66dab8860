"""Optional packages: what they are for, and how to install them."""

from __future__ import annotations

import importlib
from types import ModuleType

from ordinal_objectives.aliases import Table


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
