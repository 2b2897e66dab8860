"""The table of what extras install: which ones, and what each adds to the base."""

from __future__ import annotations

import zipfile

from claims.report import extras


def test_extras_for_users_are_those_of_the_wheel(tmp_path):
    wheel = tmp_path / "one.whl"
    with zipfile.ZipFile(wheel, "w") as written:
        written.writestr("one-1.dist-info/METADATA", "Name: one\nProvides-Extra: plot\nProvides-Extra: test\n")
    assert extras.extras(wheel) == ["plot"]


def test_an_extra_counts_what_it_adds(tmp_path):
    (tmp_path / "one-1.dist-info").mkdir()
    (tmp_path / "one.py").write_bytes(bytes(2**20))
    (tmp_path / "one.pyc").write_bytes(bytes(2**20))
    assert extras.installed(tmp_path) == (1, 1.0)
    table = extras.rows((3, 10.0), {"large": (9, 110.4), "small": (4, 10.6)})
    assert [tuple(row.values()) for row in table] == [("none", 3, 10), ("`small`", 1, 1), ("`large`", 6, 100)]
