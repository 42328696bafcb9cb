"""Messages in causal, total or priority order as bytes: what the order needs, and then the message as any other.

byte       ORDERED
varint     the boot of the sender's node
varint, …  the tag of causal order (`weft.ordering.tags`); none in priority order
varint, …  on the way to the sequencer: how many it is for, and their numbers as gaps
varint     how urgent it is
byte       is it passed on for a sender that is gone?
…          the message, as `parcels.data` has it behind the boot
"""

from __future__ import annotations

from typing import Final

from weft.host.parcels.data import read_fields, read_varint, varint, write_fields
from weft.host.parcels.plain import ParcelError
from weft.kernel.state.messages import Message
from weft.kernel.state.parcels import Ordered

ORDERED: Final = 16


def encode_ordered(parcel: Ordered, boot: int) -> bytes | None:
    """None if the message is not of the common form."""
    parts = [bytes([ORDERED]), varint(boot), varint(len(parcel.tag)), parcel.tag, varint(len(parcel.to))]
    last = 0
    for number in parcel.to:
        parts.append(varint(number - last))
        last = number
    parts += (varint(parcel.message.priority), b"\1" if parcel.forwarded else b"\0")
    return write_fields(parts, parcel.federation, parcel.execution, parcel.after, parcel.message)


def decode_ordered(data: bytes, at: int) -> Ordered:
    """`at`: behind the boot."""
    size, at = read_varint(data, at)
    tag = data[at : at + size]
    count, at = read_varint(data, at + size)
    if len(tag) != size or count > len(data):
        raise ParcelError("a message whose order ends too soon")
    to: list[int] = []
    last = 0
    for _ in range(count):
        gap, at = read_varint(data, at)
        last += gap
        to.append(last)
    priority, at = read_varint(data, at)
    if at >= len(data) or data[at] > 1:
        raise ParcelError("a message whose order is not as it should be")
    forwarded = data[at] == 1
    federation, execution, after, message = read_fields(data, at + 1)
    hurry(message, tag, priority)
    return Ordered(federation, execution, after, message, tag, tuple(to), forwarded)


def hurry(message: Message, tag: bytes, priority: int) -> None:
    """One without a tag of causal order is in priority order."""
    message.urgent = not tag
    message.priority = priority
