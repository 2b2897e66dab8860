"""Keywords that ``fit`` does not take: the error says where each belongs."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

Fit = TypeVar("Fit", bound=Callable[..., Any])
# What one library's fit calls otherwise than another's.
_SAME = (
    {"callback", "callbacks"},
    {"eval_sample_weight", "sample_weight_eval_set"},
    {"init_score", "base_margin"},
    {"eval_init_score", "base_margin_eval_set"},
    {"init_model", "xgb_model"},
)


def explains_keywords(fit: Fit) -> Fit:
    """Make ``fit`` explain in its TypeError where a keyword that it does not take belongs.

    An estimator's ``_fit_hints`` says what to do instead of a keyword; its ``_refused`` and ``_dialect`` are those of
    :class:`.host_parameters.HostParameters`.
    """
    known = list(inspect.signature(fit).parameters)

    @functools.wraps(fit)
    def explained(self: Any, *args: Any, **keywords: Any) -> Any:
        for name in keywords:
            if name not in known:
                kind = type(self)
                raise TypeError(f"{kind.__name__}.fit takes no {name!r}{_hint(kind, known, name)}")
        return fit(self, *args, **keywords)

    return cast(Fit, explained)


def _hint(kind: Any, known: list[str], name: str) -> str:
    hints = {**getattr(kind, "_refused", {}), **getattr(kind, "_fit_hints", {})}
    same = next((other for group in _SAME if name in group for other in group if other in known), None)
    if name in hints:
        return f": {hints[name]}"
    if same is not None:
        return f": here it is {same!r}"
    parameters = inspect.signature(kind).parameters.values()
    own = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]
    own_name, _, condition = getattr(kind, "_dialect", {}).get(name, name).partition(" ")
    if own_name in {*own, *(getattr(kind, "_known", None) or ())}:
        return f": it belongs to the constructor, {kind.__name__}({own_name}=...) {condition}".rstrip()
    near = difflib.get_close_matches(name, [*known, *own], n=3, cutoff=0.7)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
