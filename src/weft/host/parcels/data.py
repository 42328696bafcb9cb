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
from weft.kernel.ddm import matching
from weft.kernel.state.messages import (
    Deletion,
    DirectedInteraction,
    Interaction,
    Message,
    Nothing,
    Update,
    numbered,
)
from weft.kernel.state.parcels import Data
from weft.kernel.state.region_state import Extents, Where
from weft.model.deliveries import (
    AttributeValues,
    ParameterValues,
    Stamp,
    attribute_values,
    checked,
    parameter_values,
    stamp_from,
)
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
from weft.model.packed import Item
from weft.model.time import HLAfloat64Time, HLAinteger64Time, LogicalTime
from weft.wire.codec.hot import scan_values, shared_fields
from weft.wire.codec.known_handles import (
    ATTRIBUTES,
    INTERACTION_CLASSES,
    OBJECT_INSTANCES,
    PARAMETERS,
    HandleCache,
)
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
    if parcel.only is not None:
        return None
    head = [b"\x01", varint(boot)]
    return write_fields(head, parcel.federation, parcel.execution, parcel.after, parcel.message)


def write_fields(
    parts: list[bytes], federation: str, execution: str, after: int, message: Message
) -> bytes | None:
    """Those of a `Data`, behind these parts."""
    values: ParameterValues | AttributeValues
    if isinstance(message, Update):
        service = _UPDATE
        target: bytes = message.instance
        more = b""
        values = message.values
    elif isinstance(message, Interaction):
        service = _SEND
        target = message.interaction_class
        more = message.transportation
        values = message.values
    elif isinstance(message, DirectedInteraction):
        service = _DIRECTED
        target = message.interaction_class
        if len(message.target) != 4 or len(message.transportation) != 4:
            return None
        more = message.target + message.transportation
        values = message.values
    else:
        return None
    sender = message.sender
    if len(target) != 4 or len(more) & 3 or len(sender) != 4:
        return None
    flags = service
    time = b""
    stamp = message.stamp
    if stamp is not None:
        stamp_flags, time = _stamp(stamp, sender)
        if not stamp_flags:
            return None
        flags |= stamp_flags
    if message.number and not flags & _STAMPED:
        flags |= _NUMBERED
        time = varint(message.number) + time
    regions = _regions_of(message)
    if regions:
        flags |= _REGIONS
    parts += (head_of(federation, execution), varint(after), sender)
    flags_at = len(parts)
    tag = message.tag
    parts += (b"", target, more, varint(len(tag)), tag, time)
    if regions:
        parts += (varint(len(regions)), regions)
    if isinstance(values, WireValues):
        flags |= _PACKED
        parts.append(values.values)
    elif isinstance(values, dict):
        for handle, value in values.items():
            if len(handle) != 4:
                return None
            parts += (handle, varint(len(value)), value)
    else:
        return None
    parts[flags_at] = bytes([flags])
    return b"".join(parts)


def _stamp(stamp: Stamp, sender: FederateHandle) -> tuple[int, bytes]:
    """The flags and the bytes of a stamp; no flags if it is not of the common form."""
    if stamp.sent is not stamp.received:
        return 0, b""
    flags = _TIMED
    number = b""
    if stamp.sent is _TIMESTAMP:
        retraction = stamp.retraction
        if retraction is None or len(retraction) != 12 or retraction[:4] != sender:
            return 0, b""
        flags |= _STAMPED
        number = retraction[4:]
    elif stamp.sent is not _RECEIVE or stamp.retraction:
        return 0, b""
    if isinstance(stamp.time, HLAinteger64Time):
        flags |= _INTEGER_TIME
    return flags, stamp.time.encode() + number


def _regions_of(message: Message) -> bytes:
    """Where it is sent; empty: in the default region."""
    if isinstance(message, Interaction) and message.at is not None:
        return _boxes(matching.boxes(message.at))
    if isinstance(message, Update) and message.where is not None:
        return _placed(matching.carried(message.where))
    return b""


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
    federation, execution, after, message = read_fields(data, at)
    return Data(federation, execution, after, message)


def read_fields(data: bytes, at: int) -> tuple[str, str, int, Message]:
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
    number = 0
    if flags & _NUMBERED:
        number, end = read_varint(data, end)
        if not number or flags & _STAMPED:
            raise ParcelError("a number where none can be")
    stamp, end = _read_stamp(data, end, flags, sender)
    regions = b""
    if flags & _REGIONS:
        size, end = read_varint(data, end)
        if end + size > len(data) or service == _DIRECTED:
            raise ParcelError("regions that end too soon")
        regions = data[end : end + size]
        end += size
    packed = bool(flags & _PACKED)
    message: Message
    if service == _UPDATE:
        attributes: AttributeValues = (
            _packed(data, end, target, tag, ATTRIBUTES) if packed else _plain(data, end, AttributeHandle)
        )
        where = _read_placed(regions) if flags & _REGIONS else None
        message = Update(sender, OBJECT_INSTANCES.get(target), attributes, tag, where, stamp)
    else:
        values: ParameterValues = (
            _packed(data, end, target, tag, PARAMETERS) if packed else _plain(data, end, ParameterHandle)
        )
        kind = INTERACTION_CLASSES.get(target)
        if service == _SEND:
            way = TransportationTypeHandle(data[at + 9 : at + 13])
            extents = _read_extents(regions) if flags & _REGIONS else None
            message = Interaction(sender, kind, values, tag, way, extents, stamp)
        else:
            instance = ObjectInstanceHandle(data[at + 9 : at + 13])
            way = TransportationTypeHandle(data[at + 13 : at + 17])
            message = DirectedInteraction(sender, kind, instance, values, tag, way, stamp)
    message.number = number
    return names[0], names[1], after, numbered(message)


def _read_stamp(data: bytes, end: int, flags: int, sender: FederateHandle) -> tuple[Stamp | None, int]:
    """The stamp, and where it ends."""
    if not flags & _TIMED:
        if flags & _STAMPED:
            raise ParcelError("a stamp without a time")
        return None, end
    if end + 8 > len(data):
        raise ParcelError("a time that ends too soon")
    time: LogicalTime
    if flags & _INTEGER_TIME:
        time = HLAinteger64Time(_unpack_int(data, end)[0])
    else:
        time = HLAfloat64Time(_unpack_float(data, end)[0])
    end += 8
    if not flags & _STAMPED:
        return Stamp(time), end
    if end + 8 > len(data):
        raise ParcelError("a stamp that ends too soon")
    handle = MessageRetractionHandle(sender + data[end : end + 8])
    return Stamp(time, _TIMESTAMP, _TIMESTAMP, handle), end + 8


def _placed(carried: matching.Carried) -> bytes:
    parts = [varint(len(carried))]
    for attribute, boxes in carried:
        parts += (varint(len(attribute)), attribute, _boxes(boxes))
    return b"".join(parts)


def _boxes(boxes: tuple[tuple[int, ...], ...]) -> bytes:
    parts = [varint(len(boxes))]
    for box in boxes:
        parts.append(varint(len(box)))
        parts += [varint(number) for number in box]
    return b"".join(parts)


def _read_extents(data: bytes) -> Extents:
    boxes, at = _read_boxes(data, 0)
    if at != len(data):
        raise ParcelError("regions that do not end where they say")
    return matching.from_boxes(boxes)


def _read_placed(data: bytes) -> Where:
    count, at = read_varint(data, 0)
    where: Where = {}
    for _ in range(count):
        size, at = read_varint(data, at)
        attribute = AttributeHandle(data[at : at + size])
        boxes, at = _read_boxes(data, at + size)
        where[attribute] = matching.from_boxes(boxes)
    if at != len(data):
        raise ParcelError("regions that do not end where they say")
    return where


def _read_boxes(data: bytes, at: int) -> tuple[tuple[tuple[int, ...], ...], int]:
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


def _packed(data: bytes, at: int, target: bytes, tag: bytes, known: HandleCache) -> WireValues:
    handles = scan_values(data, at, len(data))
    if handles is None:
        raise ParcelError("values that are not in their canonical form")
    values = data[at:]
    return WireValues([known.get(raw) for raw in handles], values, target, shared_fields(target, values, tag))


def _plain(data: bytes, at: int, kind: type[Item]) -> dict[Item, bytes]:
    values: dict[Item, bytes] = {}
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


# --- what is not of the common form -----------------------------------------------------------------------------


def message_data(message: Message) -> tuple[str, tuple[object, ...], int]:
    """The service, arguments and number, for the way of control parcels."""
    stamp: tuple[object, ...] = () if message.stamp is None else message.stamp.arguments()
    arguments: tuple[object, ...] = ()
    if isinstance(message, Update):
        carried = None if message.where is None else matching.carried(message.where)
        arguments = (message.instance, message.values, message.tag, carried, stamp)
    elif isinstance(message, Interaction):
        boxes = None if message.at is None else matching.boxes(message.at)
        kind = message.interaction_class
        arguments = (kind, message.values, message.tag, message.transportation, boxes, stamp)
    elif isinstance(message, DirectedInteraction):
        kind, target, values = message.interaction_class, message.target, message.values
        arguments = (kind, target, values, message.tag, message.transportation, stamp)
    elif isinstance(message, Deletion):
        arguments = (message.instance, message.tag, stamp)
    return message.service, arguments, message.number


def message_from(sender: FederateHandle, service: str, arguments: tuple[Any, ...], number: int) -> Message:
    message: Message
    if service == "update_attribute_values":
        instance, values, tag, carried, stamp = arguments
        where = None if carried is None else matching.from_carried(carried)
        instance, given = checked(ObjectInstanceHandle, instance), attribute_values(values)
        message = Update(sender, instance, given, checked(bytes, tag), where, stamp_from(stamp))
    elif service == "send_interaction":
        kind, values, tag, way, boxes, stamp = arguments
        at = None if boxes is None else matching.from_boxes(boxes)
        kind, way = checked(InteractionClassHandle, kind), checked(TransportationTypeHandle, way)
        sent = parameter_values(values)
        message = Interaction(sender, kind, sent, checked(bytes, tag), way, at, stamp_from(stamp))
    elif service == "send_directed_interaction":
        kind, target, values, tag, way, stamp = arguments
        kind, way = checked(InteractionClassHandle, kind), checked(TransportationTypeHandle, way)
        target, sent = checked(ObjectInstanceHandle, target), parameter_values(values)
        message = DirectedInteraction(sender, kind, target, sent, checked(bytes, tag), way, stamp_from(stamp))
    elif service == "delete_object_instance":
        instance, tag, stamp = arguments
        instance = checked(ObjectInstanceHandle, instance)
        message = Deletion(sender, instance, checked(bytes, tag), stamp_from(stamp))
    elif not service:
        message = Nothing(sender)
    else:
        raise ParcelError(f"{service} is no message")
    message.number = number
    return numbered(message)
