"""A host's booster on its way into a pickle or a copy, and out of it."""

from __future__ import annotations

from typing import Any

from ordinal_objectives.threads import one_thread_after_fork


class BoosterInTransit:
    """Writes and reads a booster as its library does, on one thread in a forked process, which would hang otherwise.

    Parameters
    ----------
    booster : xgboost.Booster or lightgbm.Booster
    """

    def __init__(self, booster: Any) -> None:
        self.booster = booster

    @one_thread_after_fork()
    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (type(self.booster), self.booster.__getstate__())


@one_thread_after_fork()
def _arrived(kind: Any, state: dict[str, Any]) -> Any:
    booster = kind.__new__(kind)
    booster.__setstate__(state)
    return booster
