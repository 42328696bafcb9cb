"""Handles made of the bytes that stand for them on the wire: each once, since to look one up is quicker than to make it anew.

Whatever is read off the wire and kept by others than the reader goes through here, or is made by its class: bytes are equal to
the handle that they stand for, so that one who keeps them for it is noticed only much later.
"""

from __future__ import annotations

from typing import Any, Final

from weft.model.handles import (
    AttributeHandle,
    Handle,
    InteractionClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
)

_HANDLES: Final = 100_000  # of one kind
_LONG: Final = 16  # bytes: no RTI's handles are longer, and nobody may fill memory by making some up


class HandleCache:
    """The handles of one kind that have been seen."""

    def __init__(self, kind: type[Handle]) -> None:
        self._kind = kind
        self._known: dict[bytes, Handle] = {}

    def get(self, raw: bytes) -> Any:
        found = self._known.get(raw)
        if found is None:
            found = self._kind(raw)
            if len(raw) <= _LONG:
                if len(self._known) >= _HANDLES:
                    self._known.clear()
                self._known[bytes(raw)] = found
        return found


# Of calls, and of messages from other nodes.
INTERACTION_CLASSES: Final = HandleCache(InteractionClassHandle)
PARAMETERS: Final = HandleCache(ParameterHandle)
OBJECT_INSTANCES: Final = HandleCache(ObjectInstanceHandle)
ATTRIBUTES: Final = HandleCache(AttributeHandle)
