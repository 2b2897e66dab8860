"""Packages that not every use needs: what they are for, and how to get them."""

from __future__ import annotations


def not_installed(error: ImportError, *extras: str) -> ModuleNotFoundError:
    """Return the error of an import that failed, with the command that installs what is missing."""
    return ModuleNotFoundError(f"{error}: pip install 'ordinal-objectives[{','.join(extras)}]'", name=error.name)
