"""A bar with the rounds of a training, its newest loss and the time that is left."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ordinal_objectives.utils import extras, validation

# (rounds so far, newest loss)
Show = Callable[[int, float], None]


@contextmanager
def round_bar(progress: object, n_rounds: int, what: str = "rounds") -> Iterator[Show | None]:
    """Show a bar while a training lasts, on the terminal or in a notebook; nothing where ``progress`` is False.

    Parameters
    ----------
    progress : bool
    n_rounds : int
        At most.
    what : str
        What the bar is called.

    Yields
    ------
    callable or None
        To be called after each round.

    Raises
    ------
    TypeError
        If ``progress`` is no boolean.
    ModuleNotFoundError
        If tqdm is not installed.
    """
    if not validation.check_flag("progress", progress):
        yield None
        return
    with extras.optional("tqdm.auto", "progress").tqdm(total=n_rounds, desc=what, unit="round") as bar:

        def show(done: int, loss: float) -> None:
            if math.isfinite(loss):
                bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
            bar.update(done - bar.n)

        yield show
