"""Variant records.

A value is `{discriminant: value, alternative: value}`, with the names the object model gives; where the
discriminant selects no alternative it is `{discriminant: value}`.

*HLAvariantRecord*: the discriminant, padding to the largest boundary of all alternatives, the alternative.  For
each alternative that is a fixed record of two fields, and so it is compiled as one: discriminant and alternative
fuse.  Without an alternative nothing follows the discriminant.

*HLAextendableVariantRecord*: the discriminant, padding to 4, the length of the alternative as an HLAinteger32BE,
padding to 8, the alternative; the record's boundary is 8.  An alternative this object model does not know decodes
to its bytes under the key `UNKNOWN`, and encodes back to the same bytes.

*RPRextendedVariantRecord*: the same with the boundaries of the alternatives instead of the 8.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import SupportsInt

from weft.fom.encoding.codec import PADS, Codec, Octets, as_bytes, as_fields, left_over, wrong_fields
from weft.fom.encoding.misfit import Misfit, finished, inside, short_of, wanted
from weft.fom.encoding.records import PYTHON_TYPE, RecordField, record_codec
from weft.fom.encoding.shape import Leaf
from weft.model.errors import EncodingError

UNKNOWN = "?"
"""The key of an unknown alternative's bytes; no name in an object model can be this."""

_LENGTH = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class Arm:
    """A named alternative of a variant record."""

    name: str
    codec: Codec


@dataclass(frozen=True, slots=True)
class Arms:
    """What each discriminant value selects; None is "no alternative"."""

    by_number: Mapping[int, Arm | None]
    other: Arm | None = None

    def all(self) -> list[Arm]:
        return [arm for arm in (*self.by_number.values(), self.other) if arm is not None]

    @property
    def boundary(self) -> int:
        return max((arm.codec.octet_boundary for arm in self.all()), default=1)


@dataclass(frozen=True, slots=True)
class Discriminant:
    name: str
    codec: Codec
    number: Callable[..., int]  # from the user's value
    peek: Callable[[bytes, int], int]  # from the wire


def discriminant(record: str, name: str, codec: Codec) -> Discriminant:
    """A discriminant is one integer on the wire: an enumeration, usually."""
    leaf = codec.shape
    if not isinstance(leaf, Leaf) or leaf.low is None or leaf.code.endswith("s"):
        raise EncodingError(
            f"{record}: the discriminant {name} must be an enumeration or integer of 8 to 64 bits"
        )
    reader = struct.Struct((leaf.order or ">") + leaf.code)

    def peek(data: bytes, position: int) -> int:
        if position + leaf.size > len(data):
            raise Misfit(short_of(leaf.size, len(data) - position).reason, name)
        return int(reader.unpack_from(data, position)[0])

    def number(value: SupportsInt) -> int:
        try:
            return leaf.pack(value) if leaf.pack else int(value)
        except Misfit as misfit:
            raise inside(misfit, name) from None
        except Exception:
            raise Misfit(wanted(leaf.expects, value).reason, name) from None

    return Discriminant(name, codec, number, peek)


def variant_codec(name: str, by: Discriminant, arms: Arms) -> Codec:
    boundary = arms.boundary
    bare = record_codec(name, [RecordField(by.name, by.codec, by.codec.octet_boundary)]).named(name, boundary)
    made = {id(arm): _arm_record(name, by, arm, boundary) for arm in arms.all()}
    records = {number: made[id(arm)] if arm else bare for number, arm in arms.by_number.items()}
    other = made[id(arms.other)] if arms.other else bare
    encoders = {number: record.encode for number, record in records.items()}
    writers = {number: record.write for number, record in records.items()}

    def encode(value: object) -> bytes:
        try:
            key = by.number(_chosen(value, by.name))
        except Exception as error:
            raise finished(error, name) from None
        return encoders.get(key, other.encode)(value)

    def write(out: bytearray, value: object) -> None:
        writers.get(by.number(_chosen(value, by.name)), other.write)(out, value)

    def decode(octets: Octets) -> object:
        try:
            data = octets if type(octets) is bytes else as_bytes(octets)
            record = records.get(by.peek(data, 0), other)
        except Exception as error:
            raise finished(error, name) from None
        return record.decode(data)

    def read(data: bytes, position: int) -> tuple[object, int]:
        return records.get(by.peek(data, position), other).read(data, position)

    return Codec(
        name,
        write,
        read,
        boundary=max(boundary, by.codec.octet_boundary),
        python_type=PYTHON_TYPE,
        min_size=by.codec.min_size,
        loose_end=boundary,
        encode=encode,
        decode=decode,
    )


def _arm_record(name: str, by: Discriminant, arm: Arm, boundary: int) -> Codec:
    return record_codec(
        name,
        [RecordField(by.name, by.codec, by.codec.octet_boundary), RecordField(arm.name, arm.codec, boundary)],
    )


def _chosen(value: object, name: str) -> object:
    try:
        return value[name] if type(value) is dict else as_fields(value, (name,))[name]
    except KeyError:
        raise Misfit("missing field", name) from None


def extendable_variant_codec(name: str, by: Discriminant, arms: Arms, boundary: int = 8) -> Codec:
    """`boundary`: where the alternative begins; 8 by the standard."""
    if arms.boundary > boundary:
        raise EncodingError(f"{name}: an alternative's octet boundary is above {boundary}")
    writers = {number: _arm_writer(by.name, arm) for number, arm in arms.by_number.items()}
    readers = {number: _arm_reader(arm) for number, arm in arms.by_number.items()}
    write_other, read_other = _arm_writer(by.name, arms.other), _arm_reader(arms.other)
    write_discriminant, read_discriminant = by.codec.write, by.codec.read

    def write(out: bytearray, value: object) -> None:
        fields = value if type(value) is dict else as_fields(value, (by.name, UNKNOWN, *_names(arms)))
        chosen = _chosen(fields, by.name)
        body = writers.get(by.number(chosen), write_other)(fields)
        try:
            write_discriminant(out, chosen)
        except Exception as error:
            raise inside(error, by.name) from None
        out += PADS[-len(out) & 3]
        out += _LENGTH.pack(len(body))
        out += PADS[-len(out) & (boundary - 1)]
        out += body

    def read(data: bytes, position: int) -> tuple[object, int]:
        key = by.peek(data, position)
        try:
            chosen, position = read_discriminant(data, position)
        except Exception as error:
            raise inside(error, by.name) from None
        begin, end = _extent(data, position, boundary)
        result = {by.name: chosen}
        result.update(readers.get(key, read_other)(data[begin:end]))
        return result, end

    return Codec(
        name,
        write,
        read,
        boundary=max(boundary, 4, by.codec.octet_boundary),
        python_type=PYTHON_TYPE,
        min_size=by.codec.min_size + 4,
    )


def _names(arms: Arms) -> set[str]:
    return {arm.name for arm in arms.all()}


def _extent(data: bytes, position: int, boundary: int) -> tuple[int, int]:
    """Where the alternative begins and ends."""
    position += -position % 4
    if position + 4 > len(data):
        raise short_of(4, len(data) - position)
    (length,) = _LENGTH.unpack_from(data, position)
    position += 4
    position += -position % boundary
    if length < 0 or position + length > len(data):
        raise Misfit(f"the alternative's length is {length}, {max(len(data) - position, 0)} bytes left")
    return position, position + length


def _arm_writer(by: str, arm: Arm | None) -> Callable[[Mapping[object, object]], bytes | bytearray]:
    """The octets of an alternative, from the whole record."""

    def nothing(fields: Mapping[object, object]) -> bytes:
        wrong = wrong_fields(fields, (by,), (UNKNOWN,))
        if wrong:
            raise wrong
        return _raw(fields.get(UNKNOWN, b""))

    if arm is None:
        return nothing
    name, names, write = arm.name, (by, arm.name), arm.codec.write

    def body(fields: Mapping[object, object]) -> bytearray:
        if len(fields) != 2 or name not in fields:
            wrong = wrong_fields({key: fields[key] for key in fields if fields[key] is not None}, names)
            if wrong:
                raise wrong
        out = bytearray()
        try:
            write(out, fields[name])
        except Exception as error:
            raise inside(error, name) from None
        return out

    return body


def _raw(value: object) -> bytes:
    if value is None:
        return b""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise Misfit(wanted("bytes", value).reason, UNKNOWN)


def _arm_reader(arm: Arm | None) -> Callable[[bytes], dict[str, object]]:
    def nothing(data: bytes) -> dict[str, object]:
        return {UNKNOWN: data} if data else {}

    if arm is None:
        return nothing
    name, read = arm.name, arm.codec.read

    def body(data: bytes) -> dict[str, object]:
        try:
            value, position = read(data, 0)
            if position != len(data):
                raise left_over(position, len(data))
        except Exception as error:
            raise inside(error, name) from None
        return {name: value}

    return body
