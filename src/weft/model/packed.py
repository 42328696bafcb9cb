"""Values as they came over the wire, not decoded because they are only passed on."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Container
from typing import Any, TypeVar

from weft.model.handles import Handle

Item = TypeVar("Item", bound=Handle)
"""Handles of parameters or of attributes."""


class PackedValues:
    """An encoded map of parameters or attributes to values: which handles it has is known, the values are not looked at.

    The kernel treats it like the dict it stands for.  Whoever read it from the wire knows how to take a part of it and how to
    unpack it, and subclasses this.  It is abstract without being an `ABC`, of which `isinstance` would be slow.
    """

    def __init__(self, handles: list[Any]) -> None:
        # Parameters or attributes, each of its class, as in the dict: the kernel keeps what it finds here.  Not a generic class:
        # compiled, an instance of one may bring the garbage collector down.
        self.handles = handles

    @abstractmethod
    def subset(self, wanted: Container[bytes]) -> PackedValues:
        """Only what has one of these handles."""

    @abstractmethod
    def unpack(self) -> dict[Any, bytes]: ...

    @abstractmethod
    def encoded(self, tag: bytes) -> bytes:
        """The message it was sent with, or a part of it, with that tag: for the recorder."""
