"""Updates and interactions as bytes: the parcels that there are many of.

    byte       DATA
    varint     the boot of the sender's node (`mesh.federations`)
    varint, …  federation and execution, as one piece of bytes that is alike for all messages of a federation: kept ready
    varint     after which commit
    4 bytes    the sending federate
    byte       which service, whether the values are packed, whether there are a time stamp, regions, a number
    4 bytes    the instance or class (directed: the class, then the instance)
    4 bytes    the transportation (not for updates, where the receiver knows it)
    varint, …  the tag
    [varint]   the number of the message at its sender, if that is not in its stamp
    [8]        the time
    [8]        in time stamp order: the number of the message at its sender, for its retraction handle
    [varint …] sent with regions: the length of what follows; then for an update the number of attributes and for each its handle
               and extents, for an interaction the extents; extents are a number of boxes, a box is a number of numbers, and those
    …          the values, to the end: packed as they came from the wire, or for each the handle, a varint and the value

Packed values pass through undecoded.  Whatever does not fit this form goes by the slower way of control parcels.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from weft.host.parcels.plain import ParcelError
from weft.kernel.state.parcels import Data
from weft.model.enums import OrderType
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    MessageRetractionHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    TransportationTypeHandle,
)
from weft.model.time import HLAfloat64Time, HLAinteger64Time
from weft.wire.codec.hot import scan_values, shared_fields
from weft.wire.codec.known_handles import ATTRIBUTES, PARAMETERS
from weft.wire.codec.packed import WireValues

_RECEIVE: Final = OrderType.RECEIVE
_TIMESTAMP: Final = OrderType.TIMESTAMP
DATA: Final = 1
_UPDATE: Final = 0
_SEND: Final = 1
_DIRECTED: Final = 2
_PACKED: Final = 4
_TIMED: Final = 8
_INTEGER_TIME: Final = 16
_STAMPED: Final = 32
_REGIONS: Final = 64
_NUMBERED: Final = 128
_SERVICES: Final = {
    "update_attribute_values": _UPDATE,
    "send_interaction": _SEND,
    "send_directed_interaction": _DIRECTED,
}
_NAMES: Final = ["update_attribute_values", "send_interaction", "send_directed_interaction"]
_KEPT: Final = 1024
_unpack_int: Final = struct.Struct(">q").unpack_from
_unpack_float: Final = struct.Struct(">d").unpack_from
_MOST: Final = 1 << 62

_heads: dict[tuple[str, str], bytes] = {}
_federations: dict[bytes, tuple[str, str]] = {}


def varint(number: int) -> bytes:
    if number < 0x80:
        return bytes([number])
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number, and where it ends."""
    found = 0
    shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            if found >= _MOST or (byte == 0 and shift):
                break
            return found, at
        shift += 7
        if shift > 63:
            break
    raise ParcelError(f"no number at byte {at}")


def encode_data(parcel: Data, boot: int) -> bytes | None:
    """None if it is not of the common form."""
    federation, execution, after, sender, service, arguments, number = parcel
    head = [b"\x01", varint(boot)]
    return write_fields(head, federation, execution, after, sender, service, arguments, number)


def write_fields(
    parts: list[bytes],
    federation: str,
    execution: str,
    after: int,
    sender: FederateHandle,
    name: str,
    arguments: tuple[Any, ...],
    count: int,
) -> bytes | None:
    """Those of a `Data`, behind these parts; `count`: its number among the messages of its sender."""
    service = _SERVICES.get(name, -1)
    regions: Any = None
    if service == _UPDATE:
        target, values, tag = arguments[:3]
        stamp = arguments[-1]
        more = b""
        if len(arguments) > 4:
            regions = arguments[3]
    elif service == _SEND:
        target, values, tag, more = arguments[:4]
        stamp = arguments[-1]
        if len(arguments) > 5:
            regions = arguments[4]
    elif service == _DIRECTED:
        target, instance, values, tag, way, stamp = arguments
        if len(instance) != 4 or len(way) != 4:
            return None
        more = instance + way
    else:
        return None
    if len(target) != 4 or len(more) & 3 or len(sender) != 4:
        return None
    flags = service
    time = b""
    if stamp:
        if len(stamp) != 4 or stamp[1] is not stamp[2]:
            return None
        number = b""
        if stamp[1] is _TIMESTAMP:
            if len(stamp[3]) != 12 or stamp[3][:4] != sender:
                return None
            flags |= _STAMPED
            number = stamp[3][4:]
        elif stamp[1] is not _RECEIVE or stamp[3]:
            return None
        flags |= _TIMED
        if isinstance(stamp[0], HLAinteger64Time):
            flags |= _INTEGER_TIME
        elif not isinstance(stamp[0], HLAfloat64Time):
            return None
        time = stamp[0].encode() + number
    if count and not flags & _STAMPED:
        flags |= _NUMBERED
        time = varint(count) + time
    parts += (head_of(federation, execution), varint(after), sender)
    flags_at = len(parts)
    parts += (b"", target, more, varint(len(tag)), tag, time)
    if regions is not None:
        flags |= _REGIONS
        written = _placed(regions) if service == _UPDATE else _boxes(regions)
        parts.append(varint(len(written)))
        parts.append(written)
    if isinstance(values, WireValues):
        flags |= _PACKED
        parts.append(values.values)
    elif isinstance(values, dict):
        for handle, value in values.items():
            if len(handle) != 4:
                return None
            parts.append(handle)
            parts.append(varint(len(value)))
            parts.append(value)
    else:
        return None
    parts[flags_at] = bytes([flags])
    return b"".join(parts)


def head_of(federation: str, execution: str) -> bytes:
    """Both names as most parcels have them."""
    head = _heads.get((federation, execution))
    return _head(federation, execution) if head is None else head


def _head(federation: str, execution: str) -> bytes:
    one = federation.encode("utf-8", "surrogatepass")
    two = execution.encode("utf-8", "surrogatepass")
    text = varint(len(one)) + one + two
    made = varint(len(text)) + text
    if len(_heads) >= _KEPT:
        _heads.clear()
    _heads[federation, execution] = made
    return made


def _names(text: bytes) -> tuple[str, str]:
    size, at = read_varint(text, 0)
    if at + size > len(text):
        raise ParcelError("the name of the federation ends too soon")
    federation = text[at : at + size].decode("utf-8", "surrogatepass")
    made = (federation, text[at + size :].decode("utf-8", "surrogatepass"))
    if len(_federations) >= _KEPT:
        _federations.clear()
    _federations[text] = made
    return made


def names_at(data: bytes, at: int) -> tuple[tuple[str, str], int]:
    """The federation and its execution, and where they end."""
    size, at = read_varint(data, at)
    if at + size > len(data):
        raise ParcelError("the name of the federation ends too soon")
    text = data[at : at + size]
    names = _federations.get(text)
    return (_names(text) if names is None else names), at + size


def decode_data(data: bytes, at: int) -> Data:
    """`at`: behind the boot."""
    federation, execution, after, sender, service, arguments, number = read_fields(data, at)
    return Data(federation, execution, after, sender, service, arguments, number)


def read_fields(data: bytes, at: int) -> tuple[str, str, int, FederateHandle, str, tuple[Any, ...], int]:
    """Those of a `Data`, which begin there."""
    names, at = names_at(data, at)
    after, at = read_varint(data, at)
    service = 0 if at + 4 >= len(data) else data[at + 4] & 3
    fixed = at + (9 if service == _UPDATE else 13 if service == _SEND else 17)
    if service > _DIRECTED or fixed > len(data):
        raise ParcelError("a message that ends too soon")
    sender = FederateHandle(data[at : at + 4])
    flags = data[at + 4]
    target = data[at + 5 : at + 9]
    size, tag_at = read_varint(data, fixed)
    end = tag_at + size
    if end > len(data):
        raise ParcelError("a message that ends too soon")
    tag = data[tag_at:end]
    stamp: tuple[Any, ...] = ()
    number = 0
    if flags & _NUMBERED:
        number, end = read_varint(data, end)
        if not number or flags & _STAMPED:
            raise ParcelError("a number where none can be")
    if flags & _TIMED:
        if end + 8 > len(data):
            raise ParcelError("a time that ends too soon")
        time: Any
        if flags & _INTEGER_TIME:
            time = HLAinteger64Time(_unpack_int(data, end)[0])
        else:
            time = HLAfloat64Time(_unpack_float(data, end)[0])
        stamp = (time, _RECEIVE, _RECEIVE, None)
        end += 8
        if flags & _STAMPED:
            if end + 8 > len(data):
                raise ParcelError("a stamp that ends too soon")
            handle = MessageRetractionHandle(sender + data[end : end + 8])
            stamp = (stamp[0], _TIMESTAMP, _TIMESTAMP, handle)
            end += 8
    elif flags & _STAMPED:
        raise ParcelError("a stamp without a time")
    regions: Any = None
    if flags & _REGIONS:
        size, end = read_varint(data, end)
        if end + size > len(data) or service == _DIRECTED:
            raise ParcelError("regions that end too soon")
        regions = _read_regions(data[end : end + size], service == _UPDATE)
        end += size
    values: Any = (
        _packed(data, end, target, tag, service == _UPDATE)
        if flags & _PACKED
        else _plain(data, end, service == _UPDATE)
    )
    arguments: tuple[Any, ...]
    if service == _UPDATE:
        arguments = (ObjectInstanceHandle(target), values, tag, stamp)
        if regions is not None:
            arguments = (*arguments[:3], regions, stamp)
    elif service == _SEND:
        way = TransportationTypeHandle(data[at + 9 : at + 13])
        arguments = (InteractionClassHandle(target), values, tag, way, stamp)
        if regions is not None:
            arguments = (*arguments[:4], regions, stamp)
    else:
        instance = ObjectInstanceHandle(data[at + 9 : at + 13])
        way = TransportationTypeHandle(data[at + 13 : at + 17])
        arguments = (InteractionClassHandle(target), instance, values, tag, way, stamp)
    return names[0], names[1], after, sender, _NAMES[service], arguments, number


def _placed(carried: Any) -> bytes:
    parts = [varint(len(carried))]
    for attribute, boxes in carried:
        parts += (varint(len(attribute)), attribute, _boxes(boxes))
    return b"".join(parts)


def _boxes(boxes: Any) -> bytes:
    parts = [varint(len(boxes))]
    for box in boxes:
        parts.append(varint(len(box)))
        parts += [varint(number) for number in box]
    return b"".join(parts)


def _read_regions(data: bytes, update: bool) -> Any:
    at = 0
    found: Any
    if not update:
        found, at = _read_boxes(data, at)
    else:
        count, at = read_varint(data, at)
        rows = []
        for _ in range(count):
            size, at = read_varint(data, at)
            attribute = AttributeHandle(data[at : at + size])
            boxes, at = _read_boxes(data, at + size)
            rows.append((attribute, boxes))
        found = tuple(rows)
    if at != len(data):
        raise ParcelError("regions that do not end where they say")
    return found


def _read_boxes(data: bytes, at: int) -> tuple[Any, int]:
    count, at = read_varint(data, at)
    boxes = []
    for _ in range(count):
        size, at = read_varint(data, at)
        numbers = []
        for _ in range(size):
            number, at = read_varint(data, at)
            numbers.append(number)
        if size % 3 or any(numbers[i + 1] >= numbers[i + 2] for i in range(0, size, 3)):
            raise ParcelError("a box that is none")
        boxes.append(tuple(numbers))
    return tuple(boxes), at


def _packed(data: bytes, at: int, target: bytes, tag: bytes, attributes: bool) -> WireValues:
    handles = scan_values(data, at, len(data))
    if handles is None:
        raise ParcelError("values that are not in their canonical form")
    values = data[at:]
    known = ATTRIBUTES if attributes else PARAMETERS
    return WireValues([known.get(raw) for raw in handles], values, target, shared_fields(target, values, tag))


def _plain(data: bytes, at: int, attributes: bool) -> dict[Any, bytes]:
    kind: Any = AttributeHandle if attributes else ParameterHandle
    values: dict[Any, bytes] = {}
    while at < len(data):
        if at + 5 > len(data):
            raise ParcelError("a value that ends too soon")
        handle = kind(data[at : at + 4])
        size, start = read_varint(data, at + 4)
        at = start + size
        if at > len(data):
            raise ParcelError("a value that ends too soon")
        values[handle] = data[start:at]
    return values
