"""What each extra of a wheel installs: how many packages, and how large they are.

python benchmarks/claims/report/extras.py dist/*.whl

Each one in an empty environment, outside of the checkout, where the wheel must also do what `tests/installed.py` asks.
With names of extras behind the wheel only these, which are printed and not kept.
"""

from __future__ import annotations

import argparse
import email
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from lib import report

ROOT = Path(__file__).resolve().parents[3]
# For work on the package, not with it.
INNER = {"bench", "distributions", "docs", "test"}
MIB = 2**20


def extras(wheel: Path) -> list[str]:
    """Return the extras of a wheel for its users, as its metadata lists them."""
    with zipfile.ZipFile(wheel) as opened:
        (name,) = [name for name in opened.namelist() if name.endswith(".dist-info/METADATA")]
        found = email.message_from_bytes(opened.read(name)).get_all("Provides-Extra", [])
    return [name for name in found if name not in INNER]


def installed(folder: Path) -> tuple[int, float]:
    """Return how many packages are installed in a folder, and their size in MiB, without what Python compiles."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return len(list(folder.glob("*.dist-info"))), sum(path.stat().st_size for path in files) / MIB


def try_out(wheel: Path, extra: str) -> tuple[int, float]:
    """Install a wheel with an extra, try it, and return what :func:`installed` says of it."""
    asked = f"{wheel.resolve()}[{extra}]" if extra else str(wheel.resolve())
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        python = str(Path(folder) / "bin" / "python")
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile", asked]
        subprocess.run(pip, check=True)
        found = installed(next((Path(folder) / "lib").glob("*/site-packages")))
        for command in (["-m", "ordinal_objectives", "versions"], [str(ROOT / "tests" / "installed.py")]):
            subprocess.run([python, "-I", *command], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    return found


def rows(base: tuple[int, float], found: dict[str, tuple[int, float]]) -> list[dict[str, Any]]:
    """Return the rows of the table: what an extra adds to the base, smallest first."""
    added = {extra: (packages - base[0], size - base[1]) for extra, (packages, size) in found.items()}
    table = [{"extra": "none", "packages": base[0], "MiB": round(base[1])}]
    for extra, (packages, size) in sorted(added.items(), key=lambda item: item[1][1]):
        table.append({"extra": f"`{extra}`", "packages": packages, "MiB": round(size)})
    return table


def main() -> None:
    """Measure the extras, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("extras", nargs="*")
    arguments = parser.parse_args()
    base = try_out(arguments.wheel, "")
    found = {}
    for extra in arguments.extras or extras(arguments.wheel):
        found[extra] = try_out(arguments.wheel, extra)
        print(extra, found[extra], flush=True)
    table = rows(base, found)
    if arguments.extras:
        print(report.table(table))
        return
    size = arguments.wheel.stat().st_size / MIB
    notes = f"The wheel itself has {size:.1f} MiB. Extras add to the first row."
    report.write("extras", "What each extra installs", table, notes)


if __name__ == "__main__":
    main()
