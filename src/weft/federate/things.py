"""What handlers are given and what registering returns: interactions and objects with typed values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, ValuesView
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from weft.federate.regions import Ranges, Where
from weft.federate.vocabulary import short
from weft.fom.objectmodel import PRIVILEGE_TO_DELETE
from weft.model.errors import NameNotFound
from weft.model.handles import (
    AttributeHandle,
    MessageRetractionHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
)
from weft.model.records import MessageRetractionReturn
from weft.model.time import AnyTime

if TYPE_CHECKING:
    from weft.federate.ambassador import RTIambassador
    from weft.federate.clock import Number
    from weft.federate.federate import Federate
    from weft.federate.regions import Regions
    from weft.federate.vocabulary import Vocabulary

Value: TypeAlias = Any
"""Which Python value a data type decodes to is known to the object model alone, so no type is said of it."""


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


def retraction_of(returned: MessageRetractionReturn | None) -> MessageRetractionHandle | None:
    """What takes the message back, where it can be."""
    if returned is None or not returned.retraction_handle_is_valid:
        return None
    return returned.handle


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
    """Has values by the names of parameters or attributes."""

    __slots__ = ()
    values: dict[str, Value]

    def __getitem__(self, name: str) -> Value:
        return self.values[name]

    def get(self, name: str, default: object = None) -> Value:
        return self.values.get(name, default)


@dataclass(frozen=True, slots=True)
class ReceivedInteraction(Valued):
    """A received interaction; `shot["Round"]` is the value of a parameter."""

    name: str  # the class it was received at, without the names above it
    sender: str  # the name of the federate that sent it
    values: dict[str, Value]
    tag: bytes = b""
    time: Number | None = None
    regions: tuple[Ranges, ...] | None = None  # with Convey Region Designator Sets on: what it was sent with


@dataclass(frozen=True, slots=True, eq=False)
class ReceivedUpdate(Mapping[str, Value]):
    """New values of an object: a mapping of attributes and values, with who sent them and when; `move["Position"]` is one."""

    kind: str  # the class it is known as, without the names above it
    object: RemoteObject | None  # None: it is gone by now
    changes: dict[str, Value]
    sender: str  # the name of the federate that sent them
    tag: bytes = b""
    time: Number | None = None

    def __getitem__(self, name: str) -> Value:
        return self.changes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)


@dataclass(slots=True)
class RemoteObject(Valued):
    """An object of another federate, with the values received last; `tank["Position"]` is one of them."""

    name: str
    kind: str  # the class it is known as, without the names above it
    owner: str  # the name of the federate that registered it
    handle: ObjectInstanceHandle
    object_class: ObjectClassHandle = field(repr=False)
    full_kind: str = field(repr=False)
    values: dict[str, Value] = field(default_factory=dict)
    # With Convey Region Designator Sets on: what the last values were sent with.
    regions: tuple[Ranges, ...] | None = None
    time: Number | None = None  # the logical time of the last values, if they had one

    def __getattr__(self, name: str) -> Value:
        """`ship.Position`: the value of an attribute, as `ship["Position"]`."""
        if name in RemoteObject.__slots__ or name.startswith("_"):
            raise AttributeError(name)  # of one that is just being made
        if name not in self.values:
            raise AttributeError(f"{self.kind} {self.name!r} has sent no value of {name!r} yet")
        return self.values[name]


class KnownObjects(dict[ObjectInstanceHandle, RemoteObject]):
    """All objects of others that a federate knows, by their handles; called with a class, those of it by name."""

    def __init__(self, look_up: Callable[[str], str]) -> None:
        super().__init__()
        self._look_up = look_up

    def __call__(self, name: str) -> ObjectsOfClass:
        """The objects of a class and of those below it: a mapping by their names that is always as of now."""
        return ObjectsOfClass(self, self._look_up(name))


class ObjectsOfClass(Mapping[str, RemoteObject]):
    """By name; of two federates' objects no two have one name."""

    def __init__(self, known: KnownObjects, full_kind: str) -> None:
        self._known = known
        self._full_kind = full_kind

    def __getitem__(self, name: str) -> RemoteObject:
        for one in self.values():
            if one.name == name:
                return one
        there = ", ".join(sorted(self)) or "none"
        raise KeyError(f"no {short(self._full_kind)} {name!r} is known; there are: {there}")

    def __iter__(self) -> Iterator[str]:
        return (one.name for one in self._all())

    def __len__(self) -> int:
        return sum(1 for _ in self._all())

    def __repr__(self) -> str:
        return f"{short(self._full_kind)}: {', '.join(sorted(self)) or 'none'}"

    def values(self) -> ValuesView[RemoteObject]:
        return {one.name: one for one in self._all()}.values()

    def _all(self) -> Iterator[RemoteObject]:
        below = f"{self._full_kind}."
        for one in list(self._known.values()):
            if one.full_kind == self._full_kind or one.full_kind.startswith(below):
                yield one


class LocalObject:
    """An object this federate registered.

    It remembers what it sent last: `tank["Speed"]`.  What is assigned, `tank.Speed = 3.0` or `tank["Speed"] = 3.0`, is sent by
    `commit`, all at once.  Whoever asks for its values gets the last ones (Provide Attribute Value Update).
    """

    __slots__ = (
        "_assigned", "_class", "_federate", "_full_kind", "_handles", "_regions", "_rti", "_times", "_vocabulary", "handle",
        "name", "values",
    )  # fmt: skip

    def __init__(self, federate: Federate, full_kind: str, handle: ObjectInstanceHandle, name: str) -> None:
        own = super().__setattr__
        own("handle", handle)
        own("name", name)
        own("values", {})
        own("_times", {})
        own("_assigned", {})
        own("_federate", federate)
        own("_rti", federate.rti)
        own("_vocabulary", federate._vocabulary)
        own("_regions", federate._regions)
        own("_full_kind", full_kind)
        own("_class", federate.rti.get_object_class_handle(full_kind))
        own("_handles", {})
        federate._state.own[handle] = self

    handle: ObjectInstanceHandle
    name: str
    values: dict[str, Value]
    """What was sent last."""
    _times: dict[str, AnyTime]  # of those that had one
    _assigned: dict[str, object]
    _federate: Federate
    _rti: RTIambassador
    _vocabulary: Vocabulary
    _regions: Regions
    _full_kind: str
    _class: ObjectClassHandle
    _handles: dict[str, AttributeHandle]

    def update(
        self,
        tag: bytes = b"",
        *,
        values: Mapping[str, object] | None = None,
        time: AnyTime | None = None,
        **more: object,
    ) -> MessageRetractionHandle | None:
        """Send new values of some attributes: `update(Speed=3.0)`, or `update(values={"tag": 1})` for any name.

        With a logical `time` they come to those who are constrained when they have advanced so far; `Federate.retract` takes
        back what is returned.
        """
        given = all_values(values, more, "values" in self._vocabulary.attributes(self._full_kind))
        return self._send(given, tag, time)

    def commit(self, tag: bytes = b"", *, time: AnyTime | None = None) -> MessageRetractionHandle | None:
        """Send what was assigned since the last time; nothing if nothing was."""
        if not self._assigned:
            return None
        returned = self._send(dict(self._assigned), tag, time)
        self._assigned.clear()
        return returned

    def _send(
        self, given: dict[str, object], tag: bytes, time: AnyTime | None
    ) -> MessageRetractionHandle | None:
        encoded = {}
        for attribute, value in given.items():
            data = self._vocabulary.encode("attribute", self._full_kind, attribute, value)
            encoded[self._attribute(attribute)] = data
        stamp = self._stamp(time, encoded)
        returned = self._rti.update_attribute_values(self.handle, encoded, tag, stamp)
        self.values.update(given)
        for attribute in given:
            if stamp is None:
                self._times.pop(attribute, None)
            else:
                self._times[attribute] = stamp
        return retraction_of(returned)

    def _sent_last(self, values: dict[str, Value], times: dict[str, AnyTime]) -> None:
        """After a restore; what was assigned since is not lost."""
        for mine, then in ((self.values, values), (self._times, times)):
            mine.clear()
            mine.update(then)

    def __getitem__(self, name: str) -> Value:
        """What was assigned or sent last."""
        return self._assigned[name] if name in self._assigned else self.values[name]

    def __setitem__(self, name: str, value: object) -> None:
        self._vocabulary.attributes(self._full_kind, [name])
        self._assigned[name] = value

    def __getattr__(self, name: str) -> Value:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{self!r} has no value of {name!r} yet") from None

    def __setattr__(self, name: str, value: object) -> None:
        if name in LocalObject.__slots__ or hasattr(LocalObject, name):
            raise AttributeError(
                f"{name!r} of an object cannot be replaced; an attribute of that name goes by [{name!r}]"
            )
        try:
            self[name] = value
        except NameNotFound as error:
            raise AttributeError(str(error)) from None

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

    def delete(self, tag: bytes = b"", *, time: AnyTime | None = None) -> MessageRetractionHandle | None:
        """Others hear `on_removal`; with a logical `time`, when they have advanced so far."""
        stamp = self._stamp(time, () if time is None else (self._attribute(PRIVILEGE_TO_DELETE),))
        returned = retraction_of(self._rti.delete_object_instance(self.handle, tag, stamp))
        if returned is None:
            self._regions.gone(self.handle)
            self._federate._state.own.pop(self.handle, None)
        return returned

    def _stamp(self, time: AnyTime | None, attributes: Iterable[AttributeHandle]) -> AnyTime | None:
        if time is None:
            return None
        clock = self._federate._clock
        clock.order_of(self.handle, attributes)
        return clock.stamp(time)

    def _attribute(self, name: str) -> AttributeHandle:
        found = self._handles.get(name)
        if found is None:
            found = self._handles[name] = self._rti.get_attribute_handle(self._class, name)
        return found

    def __repr__(self) -> str:
        return f"LocalObject({self.name!r})"
