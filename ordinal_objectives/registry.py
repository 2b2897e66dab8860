"""Names of losses and links: for users, in model files and in the native kernels."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import ClassVar

from ordinal_objectives.utils.validation import check_choice


class Named:
    """A loss or a link.

    Attributes
    ----------
    name : str
        What messages call it; users may write it for those of this package.
    is_built_in : bool
        Whether its type is exactly one of this package's. A subclass is not: its formulas may be others.
    identity : str
        What model files call it: the name if it is built in, and otherwise the type with its module and the object's
        public attributes.
    """

    name: ClassVar[str]
    # Attributes that a class must give, and their types.
    needs: ClassVar[Mapping[str, type]] = {"name": str}
    # Those of this package, and their numbers in the native kernels.
    _built_in: ClassVar[Mapping[str, object]]
    _codes: ClassVar[Mapping[str, int]]

    @property
    def is_built_in(self) -> bool:
        """Whether its type is exactly one of this package's."""
        known = self._built_in.get(self.name)
        return type(self) is known or type(self) is type(known)

    @property
    def identity(self) -> str:
        """Its name in model files."""
        if self.is_built_in:
            return self.name
        state = ", ".join(f"{key}={value!r}" for key, value in self._parameters().items())
        return f"{type(self).__module__}.{type(self).__qualname__}" + (f"({state})" if state else "")

    @property
    def code(self) -> int | None:
        """Its number in the native kernels; None if there is no kernel."""
        return self._codes.get(self.name) if self.is_built_in else None

    def check_needs(self) -> None:
        """Raise TypeError if an attribute is missing that all losses, or all links, have."""
        for name, kind in self.needs.items():
            value = getattr(self, name, None)
            if not isinstance(value, kind):
                raise TypeError(f"{type(self).__name__}.{name} must be a {kind.__name__}; got {value!r}")

    @property
    def key(self) -> tuple[str, ...]:
        """Objects with the same key are equal."""
        return (self.identity,)

    def _parameters(self) -> dict[str, object]:
        """Return the public attributes by which objects of one type differ."""
        return {key: value for key, value in sorted(vars(self).items()) if not key.startswith("_")}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and type(self) is type(other) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


_PACKAGES = {"loss": "losses", "link": "links"}


class NotRegisteredError(ValueError):
    """A model file names a loss or a link that is neither part of this package nor registered."""


class Registry[Thing: Named]:
    """Losses, or links, of users: those in use and those registered, so that model files can name them.

    Parameters
    ----------
    kind : {"loss", "link"}
        Word for them in messages.
    built_in : mapping
        Those of this package, by name.
    """

    def __init__(self, kind: str, built_in: Mapping[str, object]) -> None:
        self._kind, self._built_in = kind, built_in
        self._own: dict[tuple[str, ...], Thing] = {}
        self._private: dict[tuple[str, ...], dict[str, str]] = {}

    def add(self, thing: Thing) -> Thing:
        """Keep a copy of an object, unless it is built in, and return what is kept; it replaces one of the same key.

        Trainings and files find it as it was, whatever becomes of the original.

        Raises
        ------
        ValueError
            If another one in use differs from it in values of private attributes alone.
        """
        thing.check_needs()
        if thing.is_built_in:
            return thing
        private = {name: repr(value) for name, value in vars(thing).items() if name.startswith("_")}
        private = {name: text for name, text in private.items() if " at 0x" not in text}  # objects without a value
        earlier = self._private.get(thing.key, {}) if type(self._own.get(thing.key)) is type(thing) else {}
        differ = [name for name in private if earlier.get(name, private[name]) != private[name]]
        if differ:
            raise ValueError(
                f"{self._kind} {thing.identity!r} is in use with {differ[0]}={earlier[differ[0]]}; got "
                f"{private[differ[0]]}. Model files tell objects of a class apart by public attributes: rename it"
            )
        self._private[thing.key] = private
        own = self._own[thing.key] = copy.deepcopy(thing)
        return own

    def get(self, *key: str) -> Thing:
        """Return the one of a key.

        Raises
        ------
        ValueError
            If there is none; NotRegisteredError if the name is one of another package.
        """
        if key in self._own:
            return self._own[key]
        name, *link = key
        if "." in name:
            of_link = f" with link {link[0]!r}" if link else ""
            raise NotRegisteredError(
                f"{self._kind} {name!r}{of_link} is not part of this package: import it and call "
                f"ordinal_objectives.{_PACKAGES[self._kind]}.register_{self._kind} with it first"
            )
        check_choice(name, self._built_in, name=self._kind)
        raise AssertionError(f"{name!r} is built in")
