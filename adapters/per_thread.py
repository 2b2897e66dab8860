"""Attributes of which every thread has its own: trainings in several threads share an objective, not its state."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class PerThread(Generic[T]):
    """Attribute with a value for each thread; it is neither pickled nor copied with its owner.

    Parameters
    ----------
    start : callable
        ``start()`` returns the value that a thread finds at first.
    """

    def __init__(self, start: Callable[[], T]) -> None:
        self._start = start
        self._values: weakref.WeakKeyDictionary[Any, threading.local] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    @overload
    def __get__(self, instance: None, owner: Any) -> PerThread[T]: ...
    @overload
    def __get__(self, instance: object, owner: Any) -> T: ...
    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return self
        values = self._of(instance)
        if not hasattr(values, "value"):
            values.value = self._start()
        return values.value

    def __set__(self, instance: Any, value: T) -> None:
        self._of(instance).value = value

    def _of(self, instance: Any) -> threading.local:
        with self._lock:
            return self._values.setdefault(instance, threading.local())
