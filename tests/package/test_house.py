"""Files stay readable, and house.py counts what it says."""

from __future__ import annotations

import house
from sources import PACKAGE, files

MOST_LINES = 600


def test_no_file_is_long():
    lengths = {path: len(path.read_text().splitlines()) for path in files(*PACKAGE, "native", "tests", "benchmarks")}
    assert not {str(path): n for path, n in lengths.items() if n > MOST_LINES}


COUNTED = '''"""A module."""

import os  # a comment


def checked(path):
    """Return it."""
    if not hasattr(path, "name"):
        kind = type(path)
        raise TypeError(
            f"path must have a name; got {kind}"
        )
    if (
        path.name == ""
    ):
        raise ValueError
    elif path.name == "-":
        raise ValueError
    else:
        name = path.name
    try:
        return os.stat(name)
    except OSError:
        raise
'''


def test_guards_of_a_file(tmp_path):
    (tmp_path / "one.py").write_text(COUNTED)
    found = house.count(tmp_path / "one.py")
    assert (found.code, found.docstrings, found.raises, found.hasattr) == (19, 2, 4, 1)
    assert found.guards == 5 + 4 + 2 + 1
