"""Check that links and pictures that stay in the built site lead somewhere, and that llms.txt has each page."""

from __future__ import annotations

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors = {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one element's target and its names."""
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.targets.append(value)
            elif name == "id" and value:
                self.anchors.add(value)


page = cache(Page)


def broken(site: Path) -> list[str]:
    """Return the links that lead nowhere, each behind its page."""
    found = []
    # The theme keeps a template among what is static.
    for path in sorted(set(site.rglob("*.html")) - set(site.glob("_static/**/*.html"))):
        for target in page(path).targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            is_there = place.is_file() and (place.suffix != ".html" or unquote(parts.fragment) in page(place).anchors)
            if not is_there:
                found.append(f"{path.relative_to(site)}: {target}")
    return found


# Made by Sphinx for people who search.
INDEXES = {"index.html", "search.html", "genindex.html", "py-modindex.html"}


def wrong_in_llms(site: Path) -> list[str]:
    """Return the pages that llms.txt lacks, and those that are none or stand twice in it."""
    listed = re.findall(r"^- \[.*\]\((\S+\.html)\)", (site / "llms.txt").read_text(encoding="utf-8"), re.MULTILINE)
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html") if "_static" not in path.parts}
    twice = {name for name in listed if listed.count(name) > 1}
    return sorted((pages - INDEXES) ^ set(listed) | twice)


if __name__ == "__main__":
    site = Path(sys.argv[1]).resolve()
    if not (site / "index.html").is_file():
        sys.exit(f"{site} has no index.html")
    if lost := broken(site):
        sys.exit("\n".join(["Links that lead nowhere:", *lost]))
    if wrong := wrong_in_llms(site):
        sys.exit("\n".join(["llms.txt lacks, or has twice or in vain:", *wrong]))
