"""What tab completion shows of a module, and the page that an estimator's picture in a notebook links to."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

# ``_doc_link_template`` of an estimator: the page that scikit-learn's picture of it links to.
DOC_LINK = "https://ordinal-objectives.github.io/ordinal-objectives/generated/ordinal_objectives.{estimator_name}.html"


def public_names(module: str) -> Callable[[], list[str]]:
    """Return a module's ``__dir__``: what it exports, and those of its submodules that have been imported."""

    def names() -> list[str]:
        content = vars(sys.modules[module])
        inner = [
            name
            for name, value in content.items()
            if isinstance(value, ModuleType) and value.__name__ == f"{module}.{name}" and not name.startswith("_")
        ]
        return sorted({*content["__all__"], *inner, *(name for name in content if name.startswith("__"))})

    return names
