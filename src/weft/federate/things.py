"""What handlers are given and what registering returns: interactions and objects with typed values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from weft.federate.ambassador import RTIambassador
from weft.federate.vocabulary import Vocabulary
from weft.model.handles import AttributeHandle, ObjectClassHandle, ObjectInstanceHandle
from weft.model.time import LogicalTime


@dataclass(frozen=True, slots=True)
class Interaction:
    """A received interaction; `shot["Round"]` is the value of a parameter."""

    name: str  # the class it was received at, without the names above it
    sender: str  # the name of the federate that sent it
    values: dict[str, Any]
    tag: bytes = b""
    time: LogicalTime | None = None

    def __getitem__(self, parameter: str) -> Any:
        return self.values[parameter]

    def get(self, parameter: str, default: Any = None) -> Any:
        return self.values.get(parameter, default)


@dataclass(slots=True)
class RemoteObject:
    """An object of another federate, with the values received last; `tank["Position"]` is one of them."""

    name: str
    kind: str  # the class it is known as, without the names above it
    owner: str  # the name of the federate that registered it
    handle: ObjectInstanceHandle
    object_class: ObjectClassHandle = field(repr=False)
    full_kind: str = field(repr=False)
    values: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, attribute: str) -> Any:
        return self.values[attribute]

    def get(self, attribute: str, default: Any = None) -> Any:
        return self.values.get(attribute, default)


class LocalObject:
    """An object this federate registered."""

    def __init__(
        self,
        rti: RTIambassador,
        vocabulary: Vocabulary,
        full_kind: str,
        handle: ObjectInstanceHandle,
        name: str,
    ) -> None:
        self.handle = handle
        self.name = name
        self._rti = rti
        self._vocabulary = vocabulary
        self._full_kind = full_kind
        self._class = rti.get_object_class_handle(full_kind)
        self._handles: dict[str, AttributeHandle] = {}

    def update(self, tag: bytes = b"", **values: Any) -> None:
        """Send new values of some attributes."""
        encoded = {}
        for attribute, value in values.items():
            data = self._vocabulary.encode_attribute(self._full_kind, attribute, value)
            handle = self._handles.get(attribute)
            if handle is None:
                handle = self._handles[attribute] = self._rti.get_attribute_handle(self._class, attribute)
            encoded[handle] = data
        self._rti.update_attribute_values(self.handle, encoded, tag)

    def delete(self, tag: bytes = b"") -> None:
        self._rti.delete_object_instance(self.handle, tag)

    def __repr__(self) -> str:
        return f"LocalObject({self.name!r})"
