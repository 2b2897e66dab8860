"""Write the headers that include every criterion: a criterion is a folder of core/criteria, and a file of bindings.

    python list_criteria.py NATIVE GENERATED

Files whose content stays are not touched, so nothing is compiled again for them.
"""

from __future__ import annotations

import sys
from pathlib import Path


def headers(native: Path) -> dict[str, str]:
    """Return what each generated header says, by its name."""
    names = sorted(path.parent.name for path in native.glob("core/criteria/*/leaf.hpp"))
    found = {part: [f"criteria/{name}/{part}.hpp" for name in names] for part in ("leaf", "gain", "order", "criterion")}
    found["binding"] = [f"bindings/criteria/{name}.hpp" for name in names]
    texts = {
        part: "#pragma once\n\n" + "".join(f'#include "{path}"\n' for path in paths) for part, paths in found.items()
    }
    uses = " ".join(f"use({name}, {name.title().replace('_', '')})" for name in names)
    texts["leaf"] += (
        f"\n// ORDINAL_CRITERIA(use) calls use(folder, Name) for each.\n#define ORDINAL_CRITERIA(use) {uses}\n"
    )
    return {f"every_{part}.hpp": text for part, text in texts.items()}


def main() -> None:
    """Write them where they are new."""
    native, generated = map(Path, sys.argv[1:])
    folder = generated / "criteria"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in headers(native).items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
