"""Draw the pictures of docs/gallery.md: each block of code makes the picture below it.

python docs/gallery/draw.py [--into docs/gallery]
"""

from __future__ import annotations

import argparse
import ast
import re
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

PAGE = Path(__file__).parents[1] / "gallery.md"
_PARTS = re.compile(r"```python\n(?P<code>.*?)```|!\[[^\]]*\]\((?P<picture>[^)]+)\)", re.DOTALL)


def draw(into: Path) -> list[Path]:
    """Run the page's code and save what its last expressions draw; return the pictures."""
    known: dict[str, Any] = {}
    pictures, display = [], None
    for part in _PARTS.finditer(PAGE.read_text(encoding="utf-8")):
        if part["code"] is not None:
            *first, last = ast.parse(part["code"]).body
            is_value = isinstance(last, ast.Expr)
            exec(compile(ast.Module(first if is_value else [*first, last], []), str(PAGE), "exec"), known)
            display = eval(compile(ast.Expression(last.value), str(PAGE), "eval"), known) if is_value else None
            continue
        assert display is not None, f"no display above {part['picture']}"
        path = into / Path(part["picture"]).name
        display.figure_.savefig(path, dpi=80)
        plt.close(display.figure_)
        pictures.append(path)
    return pictures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=PAGE.parent / "gallery")
    for picture in draw(parser.parse_args().into):
        print(picture)
