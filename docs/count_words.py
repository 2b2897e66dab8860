"""Count the words of the site's pages and of the README.

python docs/count_words.py

What a reader sees of Markdown, code and tables included; docstrings, the gallery and the changelog are not counted.
"""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent
README = DOCS.parent / "README.md"
LIMITS = {"site": 55_000, "README": 850}
TOCTREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)


def pages(start: Path = DOCS / "index.md") -> list[Path]:
    """Return a page and the Markdown pages that its lists of pages lead to."""
    found = [start]
    for block in TOCTREE.findall(start.read_text(encoding="utf-8")):
        for name in re.findall(r"^(?:.* <)?([\w/]+)>?$", block, re.MULTILINE):
            page = start.parent / f"{name}.md"
            found += pages(page) if page.exists() else []
    return found


def words(text: str) -> int:
    """Return the words of a page, without comments, lists of pages and the addresses of links."""
    text = re.sub(r"<!--.*?-->", "", TOCTREE.sub("", text), flags=re.DOTALL)
    text = re.sub(r"\]\([^)]*\)|\]\[[^]]*\]|^\[[^]]+\]: .*$", "]", text, flags=re.MULTILINE)
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def counts() -> dict[str, int]:
    """Return the words of each page of the site, and of the README."""
    found = {page.relative_to(DOCS).as_posix(): words(page.read_text(encoding="utf-8")) for page in pages()}
    return found | {"README": words(README.read_text(encoding="utf-8"))}


def totals() -> dict[str, int]:
    """Return the words of the site and of the README."""
    found = counts()
    readme = found.pop("README")
    return {"site": sum(found.values()), "README": readme}


if __name__ == "__main__":
    for page, count in sorted(counts().items(), key=lambda item: -item[1]):
        print(f"{count:7,} {page}")
    for name, total in totals().items():
        print(f"{total:7,} {name}, at most {LIMITS[name]:,}")
