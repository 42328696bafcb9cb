"""What handlers are given and what registering returns: interactions and objects with typed values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from weft.federate.regions import Ranges, Where
from weft.model.handles import AttributeHandle, ObjectClassHandle, ObjectInstanceHandle
from weft.model.time import LogicalTime

if TYPE_CHECKING:
    from weft.federate.federate import Federate


def all_values(values: object, more: dict[str, object], is_name: bool) -> dict[str, object]:
    """What is given by names and in a dict together.

    `is_name`: `values` may be the name of one, too; if so a dict is the dict of all, and anything else its value.
    """
    if values is None:
        return more
    if not isinstance(values, Mapping):
        if is_name:
            return {"values": values, **more}
        raise TypeError(f"values= is a dict of names and values, not {values!r}")
    twice = values.keys() & more.keys()
    if twice:
        raise TypeError(f"{sorted(twice)[0]!r} is given twice, by its name and in values=")
    return {**values, **more}


@dataclass(frozen=True, slots=True)
class Undecoded:
    """A value that is not of its data type: what came, of what, and from whom."""

    kind: str  # the class of the object or interaction
    name: str  # the attribute or parameter
    instance: str  # the object's name; empty for an interaction
    sender: str  # the name of the federate that sent it
    data: bytes
    error: str  # why it cannot be decoded

    def __str__(self) -> str:
        of = f" of {self.instance!r}" if self.instance else ""
        return f"{self.kind}.{self.name}{of}, sent by {self.sender}, cannot be decoded and is left out: {self.error}"


class Valued:
    """Has values by the names of parameters or attributes.

    Which Python value a data type decodes to is known to the object model alone, so no type is said of it.
    """

    __slots__ = ()
    values: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def get(self, name: str, default: object = None) -> Any:
        return self.values.get(name, default)


@dataclass(frozen=True, slots=True)
class ReceivedInteraction(Valued):
    """A received interaction; `shot["Round"]` is the value of a parameter."""

    name: str  # the class it was received at, without the names above it
    sender: str  # the name of the federate that sent it
    values: dict[str, Any]
    tag: bytes = b""
    time: LogicalTime | None = None
    regions: tuple[Ranges, ...] | None = None  # with Convey Region Designator Sets on: what it was sent with


@dataclass(slots=True)
class RemoteObject(Valued):
    """An object of another federate, with the values received last; `tank["Position"]` is one of them."""

    name: str
    kind: str  # the class it is known as, without the names above it
    owner: str  # the name of the federate that registered it
    handle: ObjectInstanceHandle
    object_class: ObjectClassHandle = field(repr=False)
    full_kind: str = field(repr=False)
    values: dict[str, Any] = field(default_factory=dict)
    # With Convey Region Designator Sets on: what the last values were sent with.
    regions: tuple[Ranges, ...] | None = None


class LocalObject:
    """An object this federate registered."""

    def __init__(self, federate: Federate, full_kind: str, handle: ObjectInstanceHandle, name: str) -> None:
        self.handle = handle
        self.name = name
        self._rti = federate.rti
        self._vocabulary = federate._vocabulary
        self._regions = federate._regions
        self._full_kind = full_kind
        self._class = federate.rti.get_object_class_handle(full_kind)
        self._handles: dict[str, AttributeHandle] = {}

    def update(self, tag: bytes = b"", *, values: Mapping[str, object] | None = None, **more: object) -> None:
        """Send new values of some attributes: `update(Speed=3.0)`, or `update(values={"tag": 1})` for any name."""
        encoded = {}
        for attribute, value in all_values(
            values, more, "values" in self._vocabulary.attributes(self._full_kind)
        ).items():
            data = self._vocabulary.encode("attribute", self._full_kind, attribute, value)
            encoded[self._attribute(attribute)] = data
        self._rti.update_attribute_values(self.handle, encoded, tag)

    def place(self, where: Where | None, *attributes: str) -> None:
        """Update it in these regions from now on, instead of where it was; None: everywhere.

        That is for some attributes, or if none is named for those that have the regions' dimensions.
        """
        regions = self._regions.chosen(where)
        if attributes or regions is None:
            names = self._vocabulary.attributes(self._full_kind, attributes)
        else:
            names = self._regions.attributes(self._full_kind, regions)
        self._regions.place(self.handle, map(self._attribute, names), regions)

    def delete(self, tag: bytes = b"") -> None:
        self._rti.delete_object_instance(self.handle, tag)
        self._regions.gone(self.handle)

    def _attribute(self, name: str) -> AttributeHandle:
        found = self._handles.get(name)
        if found is None:
            found = self._handles[name] = self._rti.get_attribute_handle(self._class, name)
        return found

    def __repr__(self) -> str:
        return f"LocalObject({self.name!r})"
