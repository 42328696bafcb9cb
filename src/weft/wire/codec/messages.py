"""Messages to bytes and back: one `MessagePlan` per kind of message, made from the schema at first use.

The rules of proto3 that matter here.  A scalar that is zero or empty is left out; a message is written even when it is
empty, for its presence means something to the clients (an absent result is an error); only a field marked optional
may be None.  Reading is lenient where protobuf is: fields may come in any order, unknown ones are skipped, a scalar
given twice counts once (the last), a message given twice is merged, and an absent message reads as an empty one.  It
is strict where there is no sense to be made.

The schema does not recurse, so neither depth nor work is ever more than the length of the data calls for.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from weft.model.errors import CouldNotDecode, InvalidLogicalTime, InvalidLogicalTimeInterval
from weft.model.records import Source
from weft.model.time import LogicalTime, LogicalTimeFactory, LogicalTimeInterval
from weft.wire.codec.hot import write_values
from weft.wire.codec.hot_callbacks import read_values
from weft.wire.codec.known_handles import HandleCache
from weft.wire.codec.scalars import DOUBLE, Scalar, Time, scalar
from weft.wire.codec.schema import SchemaField, schema
from weft.wire.codec.values import (
    EMPTY,
    HANDLES,
    INTERVALS,
    RESULT,
    TIMES,
    CompressedModule,
    ModuleUrl,
    Shape,
    Unordered,
    shape_of,
)
from weft.wire.protobuf import (
    BYTES,
    FIXED64,
    VARINT,
    Malformed,
    WireError,
    read_length,
    read_tag,
    read_varint,
    skip,
    tag,
    varint,
)

ABSENT: object = object()
DatumValue = bytes | LogicalTime | LogicalTimeInterval
_UNFIT = (TypeError, ValueError, AttributeError, OverflowError, struct.error)


def decode(message: str, data: bytes, time: Time = None) -> Any:
    """The value of a message; `time` makes its logical times."""
    try:
        return plan(message).read(data, 0, len(data), time)
    except Malformed as bad:
        raise WireError(f"{message}: {bad}", bad.exception_name) from None


def encode(message: str, value: object) -> bytes:
    try:
        return plan(message).write(value)
    except _UNFIT as bad:
        raise WireError(f"{message}: {bad}") from bad


@cache
def union(message: str) -> Union:
    found = plan(message)
    assert isinstance(found, Union)
    return found


@cache
def plan(message: str) -> MessageForm:
    """How a kind of message is read and written."""
    fields = schema().messages[message]
    if message in HANDLES:
        kind = HANDLES[message]
        # A federate may have got it from the MOM, length and all.
        return Datum(message, (bytes,), lambda data, time: kind.decode(data))
    if message == "LogicalTime":
        return Datum(message, TIMES, _read_time)
    if message == "LogicalTimeInterval":
        return Datum(message, INTERVALS, _read_interval)
    if fields and fields[0].oneof:
        return ModuleUnion(message, fields) if message == "FomModule" else Union(message, fields)
    if message.endswith("Response") and message[:-8] in schema().calls:
        return MessagePlan(message, fields, RESULT if fields else EMPTY)
    if message.endswith("ValueMap"):
        return MapPlan(message, fields)
    return MessagePlan(message, fields, shape_of(message))


class FieldPlan:
    """How one field is read and written; `place` is its place among the fields."""

    def __init__(self, field: SchemaField) -> None:
        self.place = field.number - 1
        self.name = field.name
        self.repeated = field.repeated
        self.optional = field.optional
        self.names = field.repeated and field.type == "string"  # a set of names
        found = scalar(field.type)
        self.message = found is None
        if found is None:
            made = plan(field.type)
            found = Scalar(BYTES, ABSENT, made.write, made.read, bool)
        self.wire_type, self.default, self.content, self.read, self.convert = found
        if field.repeated or field.optional:
            self.default = ABSENT
        self.framed = self.wire_type == BYTES  # its length goes before it
        self.always = self.message or field.oneof  # written even when it is empty
        self.key = field.number << 3 | self.wire_type
        self.tag = tag(field.number, self.wire_type)

    def write(self, value: object) -> bytes:
        """The field with its tag; nothing for what is left out."""
        if self.repeated:
            return self._write_all(value)
        if value is None and self.optional:
            return b""
        content = self.content(value)
        if not content and not self.always:
            return b""
        return self.tag + varint(len(content)) + content if self.framed else self.tag + content

    def absent(self, time: Time) -> object:
        """What a field that may be absent, or is a message, then is."""
        if self.repeated:
            return frozenset() if self.names else []
        return None if self.optional else self.read(b"", 0, 0, time)

    def _write_all(self, values: Any) -> bytes:
        if isinstance(values, (str, bytes)):
            raise TypeError(f"{values!r} is one thing where several belong")
        unordered = type(values) is Unordered
        elements = values.elements if unordered else values
        contents = [self.content(value) for value in elements]
        if unordered or self.names:
            contents.sort()
        return b"".join([self.tag + varint(len(content)) + content for content in contents])


class MessagePlan:
    """A message with fields of its own."""

    def __init__(self, name: str, fields: tuple[SchemaField, ...], shape: Shape) -> None:
        self.name = name
        self.fields = [FieldPlan(field) for field in fields]
        self.by_key = {field.key: field for field in self.fields}
        self.names = {field.number: field.name for field in fields}
        self.blank: list[Any] = [field.default for field in self.fields]
        self.fillable = [field for field in self.fields if field.default is ABSENT]
        self.shape = shape

    def read(self, data: bytes, position: int, end: int, time: Time) -> object:
        values = self.blank.copy()
        start = position
        field: FieldPlan | None = None
        try:
            while position < end:
                field = None
                key = data[position]
                position += 1
                if key >= 0x80:
                    key, position = read_tag(data, position - 1, end)
                field = self.by_key.get(key)
                if field is None:
                    position = self._skip(key, data, position, end)
                    continue
                if field.wire_type != BYTES:
                    position = self._read_number(field, values, data, position, end)
                    continue
                if position < end and data[position] < 0x80 and position + data[position] < end:
                    stop = position + 1 + data[position]
                    position += 1
                else:
                    position, stop = read_length(data, position, end)
                place = field.place
                if field.repeated:
                    if values[place] is ABSENT:
                        values[place] = []
                    values[place].append(field.read(data, position, stop, time))
                elif field.message and values[place] is not ABSENT:
                    merged = self._merged(data, start, end)
                    return self.read(merged, 0, len(merged), time)
                else:
                    values[place] = field.read(data, position, stop, time)
                position = stop
            for field in self.fillable:
                if values[field.place] is ABSENT:
                    values[field.place] = field.absent(time)
                elif field.names:
                    values[field.place] = frozenset(values[field.place])
        except Malformed as bad:
            raise self._error(field, bad) from None
        return self.shape.build(values)

    @staticmethod
    def _read_number(field: FieldPlan, values: list[object], data: bytes, position: int, end: int) -> int:
        if field.wire_type == VARINT:
            number, position = read_varint(data, position, end)
            values[field.place] = field.convert(number)
            return position
        stop = skip(FIXED64, data, position, end)
        values[field.place] = DOUBLE.unpack_from(data, position)[0]
        return stop

    def write(self, value: object) -> bytes:
        field: FieldPlan | None = None
        try:
            values = self.shape.fields(value)
            if len(values) != len(self.fields):
                raise ValueError(f"takes {len(self.fields)} values, not {len(values)}")
            written = []
            for field, part in zip(self.fields, values, strict=True):
                written.append(field.write(part))  # an error names its field
            return b"".join(written)
        except _UNFIT as bad:
            raise self._error(field, bad) from bad

    def _error(self, field: FieldPlan | None, bad: Exception) -> WireError:
        place = self.name if field is None else f"{self.name}.{field.name}"
        return WireError(f"{place}: {bad}", getattr(bad, "exception_name", "RTIinternalError"))

    def _skip(self, key: int, data: bytes, position: int, end: int) -> int:
        number = key >> 3
        if number in self.names:
            raise Malformed(f"field {number} ({self.names[number]}) has the wrong wire type {key & 7}")
        if number == 0:
            raise Malformed("0 is no field number")
        return skip(key & 7, data, position, end)

    def _merged(self, data: bytes, position: int, end: int) -> bytes:
        """The same message, with the parts of every message that is given several times put together."""
        others = []
        pieces: dict[int, list[bytes]] = {}
        while position < end:
            start = position
            key, position = read_tag(data, position, end)
            field = self.by_key.get(key)
            if field is not None and field.message and not field.repeated:
                position, stop = read_length(data, position, end)
                pieces.setdefault(key, []).append(data[position:stop])
                position = stop
            else:
                position = skip(key & 7, data, position, end)
                others.append(data[start:position])
        joined = ((self.by_key[key].tag, b"".join(parts)) for key, parts in pieces.items())
        return b"".join(others + [head + varint(len(content)) + content for head, content in joined])


class MapPlan(MessagePlan):
    """A map of values, which is in every message that matters: the short way where the bytes are canonical."""

    def __init__(self, name: str, fields: tuple[SchemaField, ...]) -> None:
        super().__init__(name, fields, shape_of(name))
        self._handles = HandleCache(HANDLES[schema().messages[fields[0].type][0].type])

    def read(self, data: bytes, position: int, end: int, time: Time) -> object:
        found = read_values(data, position, end, self._handles)
        return super().read(data, position, end, time) if found is None else found

    def write(self, value: object) -> bytes:
        if type(value) is dict:
            for handle, content in value.items():
                if type(content) is not bytes or not isinstance(handle, bytes):
                    break
            else:
                return write_values(value)
        return super().write(value)


class Union:
    """A message that is one of several; its value is (number, value)."""

    def __init__(self, name: str, fields: tuple[SchemaField, ...]) -> None:
        self.name = name
        self.fields = {field.number: field for field in fields}
        self.plans: dict[int, FieldPlan] = {}

    def member(self, number: int) -> FieldPlan:
        """Plans are made only for the members that come up."""
        made = self.plans.get(number)
        if made is None:
            made = self.plans[number] = FieldPlan(self.fields[number])
        return made

    def find(self, data: bytes, position: int, end: int) -> tuple[int, int, int]:
        """Which member it is, and where its content lies."""
        found = (0, 0, 0)
        unknown = 0
        try:
            while position < end:
                key, position = read_tag(data, position, end)
                if key >> 3 not in self.fields:
                    unknown = key >> 3
                    position = skip(key & 7, data, position, end)
                    continue
                if key & 7 != BYTES:
                    raise Malformed(f"field {key >> 3} has the wrong wire type {key & 7}")
                if found[0]:
                    raise Malformed(f"has both field {found[0]} and field {key >> 3}, and should have one")
                position, stop = read_length(data, position, end)
                found = (key >> 3, position, stop)
                position = stop
            if not found[0]:
                raise Malformed(f"field {unknown} is not known here" if unknown else "is empty")
        except Malformed as bad:
            raise WireError(f"{self.name}: {bad}") from None
        return found

    def read(self, data: bytes, position: int, end: int, time: Time) -> object:
        number, position, stop = self.find(data, position, end)
        field = self.member(number)
        try:
            return self.build(number, field.read(data, position, stop, time))
        except Malformed as bad:
            raise WireError(f"{self.name}.{field.name}: {bad}", bad.exception_name) from None

    def write(self, value: object) -> bytes:
        try:
            number, content = self.take_apart(value)
            if number not in self.fields:
                raise ValueError(f"has no field {number}")
            return self.member(number).write(content)
        except _UNFIT as bad:
            raise WireError(f"{self.name}: {bad}") from bad

    def build(self, number: int, value: object) -> object:
        return number, value

    def take_apart(self, value: object) -> tuple[int, object]:
        if not isinstance(value, tuple):
            raise TypeError(f"{value!r} is no pair of a field's number and its value")
        number, content = value
        return number, content


class ModuleUnion(Union):
    """A FOM module: its text, a ZIP archive or an address."""

    def build(self, number: int, value: object) -> object:
        if isinstance(value, bytes):
            return CompressedModule(value)
        return ModuleUrl(value) if isinstance(value, str) else value

    def take_apart(self, value: object) -> tuple[int, object]:
        if isinstance(value, CompressedModule):
            return 2, value.data
        if isinstance(value, ModuleUrl):
            return 3, value.url
        if not isinstance(value, Source):
            raise TypeError(f"{value!r} is no FOM module")
        return 1, value


class Datum:
    """A message that is nothing but bytes: a handle or a logical time."""

    def __init__(
        self, name: str, kinds: tuple[type[DatumValue], ...], read: Callable[[bytes, Time], object]
    ) -> None:
        self.name = name
        self._kinds = kinds
        self._read = read
        self._general = MessagePlan(name, (SchemaField(1, "data", "bytes"),), RESULT)

    def read(self, data: bytes, position: int, end: int, time: Time) -> object:
        if end - position > 2 and data[position] == 0x0A and position + 2 + data[position + 1] == end:
            if end - position < 0x82:
                return self._read(data[position + 2 : end], time)
        content = self._general.read(data, position, end, time)
        assert isinstance(content, bytes)
        return self._read(content, time)

    def write(self, value: object) -> bytes:
        if not isinstance(value, self._kinds):
            raise TypeError(f"{value!r} is no {self.name}")
        content = value if isinstance(value, bytes) else value.encode()
        return b"\x0a" + varint(len(content)) + content if content else b""


MessageForm = MessagePlan | Union | Datum


def _read_time(data: bytes, time: Time) -> LogicalTime:
    try:
        return _factory(time).decode_time(_eight(data))
    except (CouldNotDecode, InvalidLogicalTime) as error:
        raise Malformed(str(error), "InvalidLogicalTime") from None


def _read_interval(data: bytes, time: Time) -> LogicalTimeInterval:
    try:
        return _factory(time).decode_interval(_eight(data))
    except (CouldNotDecode, InvalidLogicalTimeInterval) as error:
        raise Malformed(str(error), "InvalidLookahead") from None


def _eight(data: bytes) -> bytes:
    """Both of the standard's logical times have eight bytes; more are of a time that this RTI does not know."""
    if len(data) != 8:
        raise CouldNotDecode(f"a logical time has 8 bytes, not {len(data)}")
    return data


def _factory(time: Time) -> LogicalTimeFactory:
    if time is None:
        raise Malformed(
            "a federation decides on the logical time; join one first", "FederateNotExecutionMember"
        )
    return time
