"""What handlers are given and what registering returns: interactions and objects with typed values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, ValuesView
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from weft.federate.objects.typed import missing, read
from weft.federate.regions import Ranges, Where
from weft.federate.vocabulary import ObjectKind, short
from weft.fom.classes import HLAobjectRoot
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

O = TypeVar("O", bound=HLAobjectRoot)  # noqa: E741

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
    name: str  # the attribute or parameter; empty: all of them together
    instance: str  # the object's name; empty for an interaction
    sender: str  # the name of the federate that sent it
    data: bytes
    error: str  # why it cannot be decoded

    def __str__(self) -> str:
        of = f" of {self.instance!r}" if self.instance else ""
        what = ".".join(filter(None, (self.kind, self.name)))
        return f"{what}{of}, sent by {self.sender}, cannot be decoded and is left out: {self.error}"


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
    encoded: Mapping[str, bytes] = field(default_factory=dict, repr=False, compare=False)  # the same values


@dataclass(frozen=True, slots=True, eq=False)
class ReceivedUpdate(Mapping[str, Value]):
    """New values of an object: a mapping of attributes and values, with who sent them and when; `move["Position"]` is one."""

    kind: str  # the class it is known as, without the names above it
    object: RemoteObject | None  # None: it is gone by now
    changes: dict[str, Value]
    sender: str  # the name of the federate that sent them
    tag: bytes = b""
    time: Number | None = None

    @property
    def name(self) -> str:
        """That of the object; empty if it is gone."""
        return "" if self.object is None else self.object.name

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
    _encoded: dict[str, bytes] = field(default_factory=dict, repr=False)  # the same values

    owners: dict[str, str] = field(default_factory=dict, repr=False)
    """Who owns which attributes, as far as was heard: who sends values owns them.  `Federate.owners` asks."""

    def _changed(self, values: Mapping[str, Value], encoded: Mapping[str, bytes], sender: str) -> None:
        """New values came, as Python's and in bytes; of the latter perhaps more."""
        self.owners.update(dict.fromkeys(values, sender))
        self.values.update(values)
        self._encoded.update((name, encoded[name]) for name in values)

    def read(self, kind: type[O]) -> O:
        """The last values as one of this class; EncodingError if some are missing without which there can be none."""
        return read(kind, self.name, self._encoded)

    def __getattr__(self, name: str) -> Value:
        """`ship.Position`: the value of an attribute, as `ship["Position"]`."""
        if name in RemoteObject.__slots__ or name.startswith("_"):
            raise AttributeError(name)  # of one that is just being made
        if name not in self.values:
            raise AttributeError(f"{self.kind} {self.name!r} has sent no value of {name!r} yet")
        return self.values[name]


class KnownObjects(dict[ObjectInstanceHandle, RemoteObject]):
    """All objects of others that a federate knows, by their handles; called with a class, those of it by name."""

    def __init__(self, look_up: Callable[[ObjectKind], str]) -> None:
        super().__init__()
        self._look_up = look_up

    @overload
    def __call__(self, kind: str) -> ObjectsOfClass: ...
    @overload
    def __call__(self, kind: type[O]) -> ValuesOfClass[O]: ...

    def __call__(self, kind: str | type[O]) -> ObjectsOfClass | ValuesOfClass[O]:
        """The objects of a class and of those below it: a mapping by their names that is always as of now.

        Of a class of Python it maps to such: each is made of the last values, and those are in it that are whole.
        """
        found = ObjectsOfClass(self, self._look_up(kind))
        return found if isinstance(kind, str) else ValuesOfClass(found, kind)


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


class ValuesOfClass(Mapping[str, O]):
    """The last values of each object of a class, as one of a class of Python."""

    def __init__(self, objects: ObjectsOfClass, kind: type[O]) -> None:
        self._objects = objects
        self._kind = kind

    def __getitem__(self, name: str) -> O:
        found = self._objects[name]
        wanting = missing(self._kind, found._encoded)
        if wanting:
            raise KeyError(f"{found.kind} {name!r} has sent no {', '.join(wanting)} yet")
        return found.read(self._kind)

    def __iter__(self) -> Iterator[str]:
        return (one.name for one in self._objects.values() if not missing(self._kind, one._encoded))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(self._objects)


class LocalObject:
    """An object this federate registered.

    It remembers what it sent last: `tank["Speed"]`.  What is assigned, `tank.Speed = 3.0` or `tank["Speed"] = 3.0`, is sent by
    `commit`, all at once.  Whoever asks for its values gets the last ones (Provide Attribute Value Update).
    """

    __slots__ = (
        "_assigned", "_class", "_dataclass", "_dataclass_sent", "_federate", "_full_kind", "_handles", "_regions", "_rti",
        "_times", "_vocabulary", "handle", "name", "values",
    )  # fmt: skip

    def __init__(self, federate: Federate, full_kind: str, handle: ObjectInstanceHandle, name: str) -> None:
        own = super().__setattr__
        own("handle", handle)
        own("name", name)
        own("values", {})
        own("_times", {})
        own("_assigned", {})
        own("_dataclass", None)
        own("_dataclass_sent", {})
        own("_federate", federate)
        own("_rti", federate.rti)
        own("_vocabulary", federate._vocabulary)
        own("_regions", federate._regions)
        own("_full_kind", full_kind)
        own("_class", federate.rti.get_object_class_handle(full_kind))
        own("_handles", {})
        federate._state.add(self)

    handle: ObjectInstanceHandle
    name: str
    values: dict[str, Value]
    """What was sent last."""
    _times: dict[str, AnyTime]  # of those that had one
    _assigned: dict[str, object]
    _dataclass: HLAobjectRoot | None  # what it was registered with: what changes in it is sent by `commit`
    _dataclass_sent: dict[str, bytes]  # of that
    _federate: Federate
    _rti: RTIambassador
    _vocabulary: Vocabulary
    _regions: Regions
    _full_kind: str
    _class: ObjectClassHandle
    _handles: dict[str, AttributeHandle]

    @overload
    def update(
        self, given: HLAobjectRoot, /, tag: bytes = b"", *, time: AnyTime | None = None
    ) -> MessageRetractionHandle | None: ...
    @overload
    def update(
        self,
        tag: bytes = b"",
        *,
        values: Mapping[str, object] | None = None,
        time: AnyTime | None = None,
        **more: object,
    ) -> MessageRetractionHandle | None: ...

    def update(
        self,
        *given: HLAobjectRoot | bytes,
        tag: bytes = b"",
        values: Mapping[str, object] | None = None,
        time: AnyTime | None = None,
        **more: object,
    ) -> MessageRetractionHandle | None:
        """Send new values of some attributes: `update(Speed=3.0)`, or `update(values={"tag": 1})` for any name.

        Or of a dataclass, `update(Tank(Speed=3.0))`, all values that are not None.
        With a logical `time` they come to those who are constrained when they have advanced so far; `Federate.retract` takes
        back what is returned.
        """
        whole = next((one for one in given if isinstance(one, HLAobjectRoot)), None)
        tag = next((one for one in given if isinstance(one, bytes)), tag)
        if whole is not None:
            return self._send_encoded(self._encode_dataclass(whole), tag, time, {})
        every = all_values(values, more, "values" in self._vocabulary.attributes(self._full_kind))
        return self._send_encoded(self._encode(every), tag, time, every)

    def commit(self, tag: bytes = b"", *, time: AnyTime | None = None) -> MessageRetractionHandle | None:
        """Send what was assigned since the last time, here or to the dataclass that it was registered with; or nothing."""
        assigned = dict(self._assigned)
        now = {} if self._dataclass is None else self._encode_dataclass(self._dataclass)
        data = {name: value for name, value in now.items() if self._dataclass_sent.get(name) != value}
        data |= self._encode(assigned)
        if not data:
            return None
        returned = self._send_encoded(data, tag, time, assigned)
        self._assigned.clear()
        self._dataclass_sent.update(now)
        return returned

    def _encode(self, given: Mapping[str, object]) -> dict[str, bytes]:
        encode, kind = self._vocabulary.encode, self._full_kind
        return {name: encode("attribute", kind, name, value) for name, value in given.items()}

    def _encode_dataclass(self, given: HLAobjectRoot) -> dict[str, bytes]:
        kind = self._vocabulary.object_class(type(given))
        if self._full_kind != kind and not self._full_kind.startswith(f"{kind}."):
            raise NameNotFound(f"{self!r} is a {short(self._full_kind)}, and no {type(given).__qualname__}")
        return given.encode()

    def _send_encoded(
        self,
        data: dict[str, bytes],
        tag: bytes,
        time: AnyTime | None,
        given: Mapping[str, object],
    ) -> MessageRetractionHandle | None:
        """`given`: those of the values that there are in Python."""
        encoded = {self._attribute(name): value for name, value in data.items()}
        stamp = self._stamp(time, encoded)
        returned = self._rti.update_attribute_values(self.handle, encoded, tag, stamp)
        decode, kind = self._vocabulary.decode, self._full_kind
        for name, value in data.items():
            self.values[name] = given[name] if name in given else decode("attribute", kind, name, value)
            if stamp is None:
                self._times.pop(name, None)
            else:
                self._times[name] = stamp
        return retraction_of(returned)

    def _send_answer(self, answer: object, wanted: list[str], tag: bytes) -> None:
        """What a function of the federate says to who asks for values: those that were asked for."""
        if isinstance(answer, HLAobjectRoot):
            data = self._encode_dataclass(answer)
        elif isinstance(answer, Mapping):
            data = self._encode(answer)
        else:
            raise TypeError(f"a function of on_request returns a dict, a dataclass or None, not {answer!r}")
        data = {name: value for name, value in data.items() if name in wanted}
        given = answer if isinstance(answer, Mapping) else {}
        if data:
            self._send_encoded(data, tag, None, given)

    def _sent_last(self, values: dict[str, Value], times: dict[str, AnyTime]) -> None:
        """After a restore; what was assigned since is not lost."""
        for mine, then in ((self.values, values), (self._times, times)):
            mine.clear()
            mine.update(then)
        self._dataclass_sent.clear()

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
            self._federate._state.remove(self)
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
