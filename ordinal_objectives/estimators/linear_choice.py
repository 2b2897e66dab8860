"""Whether the trees start from a linear part: as asked for, or as rows held out speak for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ordinal_objectives.estimators.held_out import Rows
from ordinal_objectives.estimators.linear_part import LinearPart
from ordinal_objectives.estimators.round_search import Found, Trial, TrialOf, find_rounds, is_auto
from ordinal_objectives.utils.validation import check_number

FitLinear = Callable[[Rows], LinearPart]


def check_linear(linear: Any, l2: Any) -> bool:
    """Check ``linear`` and ``linear_l2``; tell whether ``linear`` asks for a linear part whatever the rows say.

    Raises
    ------
    TypeError, ValueError
        If the first is neither a boolean nor "auto", or the second no positive number.
    """
    if not isinstance(linear, (bool, np.bool_)) and not is_auto(linear):
        raise ValueError(f"linear must be True, False or 'auto'; got {linear!r}")
    check_number("linear_l2", l2, above=0.0)
    return not is_auto(linear) and bool(linear)


def check_continued(always: bool, has_linear: bool) -> None:
    """Raise ValueError if a linear part is asked for, and the model that is continued has none."""
    if always and not has_linear:
        raise ValueError("linear=True continues models that have a linear part; the one to go on with has none")


def check_monotone(linear: Any, continued: bool, name: str, signs: Any) -> None:
    """Raise ValueError if a linear part, asked for or continued, stands beside monotone constraints.

    Parameters
    ----------
    linear : bool or "auto"
    continued : bool
        Whether the model that is continued has a linear part.
    name : str
        What the constraints are called.
    signs : array-like, mapping of signs, str or None
        The constraints, as either library takes them; zeros constrain nothing.
    """
    if isinstance(signs, Mapping):
        signs = signs.values()
    given = [] if signs is None else [signs] if isinstance(signs, str) else list(signs)
    if not any(re.search("[1-9]", str(sign)) for sign in given):
        return
    if linear is not False:
        raise ValueError(f"linear must be False with {name}: a linear part need not be monotone; got {linear!r}")
    if continued:
        raise ValueError(f"{name} cannot continue a model that has a linear part, which need not be monotone")


def with_start(part: LinearPart | None, rows: Rows) -> Rows:
    """Return rows with the linear part added to their start scores; without one the rows as given."""
    if part is None:
        return rows
    score = part.scores(rows.X)
    return replace(rows, start=score if rows.start is None else rows.start + score)


def search(
    linear: bool | str,
    fit_linear: FitLinear,
    trial_of: TrialOf,
    rows: Rows,
    learning_rate: float,
    seed: int,
) -> tuple[Found | None, LinearPart | None]:
    """Find the number of rounds, and for "auto" whether a linear part lowers the loss of the rows held out.

    Parameters
    ----------
    linear : bool or "auto"
    fit_linear : callable
        ``fit_linear(rows)`` returns the linear part of some rows.
    trial_of, rows, learning_rate, seed
        Of :func:`.round_search.find_rounds`.

    Returns
    -------
    Found or None, LinearPart or None
        The second is fitted to all rows. Without a search, "auto" takes none.
    """
    best, linear_is_best = None, not is_auto(linear) and bool(linear)
    for with_it in (False, True) if is_auto(linear) else (bool(linear),):
        trial = with_linear(fit_linear, trial_of) if with_it else trial_of
        found = find_rounds(trial, rows, learning_rate, seed)
        if found is not None and (best is None or found.search.lowest < best.search.lowest):
            best, linear_is_best = found, with_it
    return best, fit_linear(rows) if linear_is_best else None


def with_linear(fit_linear: FitLinear, trial_of: TrialOf) -> TrialOf:
    """Return trials whose trees start from a linear part, fitted without the rows held out."""

    def trial(fit: Rows, held: Rows, most: int, patience: int | None) -> Trial:
        part = fit_linear(fit)
        return trial_of(with_start(part, fit), with_start(part, held), most, patience)

    return trial
