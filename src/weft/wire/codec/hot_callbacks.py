"""Reflect, receive and grant callbacks as a federate's side reads them: in place, with handles that have been made before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.model.deliveries import DeliveredInteraction, Delivery, Reflection, Stamp
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
from weft.model.time import LogicalTime, LogicalTimeFactory
from weft.wire.codec.hot_fields import datum_at, field_start, field_stop
from weft.wire.codec.known_handles import HandleCache

if TYPE_CHECKING:
    from mypy_extensions import i64


class HotCallbacks:
    """Reads reflect and receive callbacks."""

    def __init__(self) -> None:
        self._classes = HandleCache(InteractionClassHandle)
        self._parameters = HandleCache(ParameterHandle)
        self._instances = HandleCache(ObjectInstanceHandle)
        self._attributes = HandleCache(AttributeHandle)
        self._transportations = HandleCache(TransportationTypeHandle)
        self._federates = HandleCache(FederateHandle)
        self.time: LogicalTimeFactory | None = None
        """The factory of the federation's logical time, once the federate has joined."""

    def read(self, data: bytes, start: i64, end: i64) -> Delivery | None:
        """The message of the callback, if it is a plain one (no regions, canonical); else None."""
        if end - start < 4:
            return None
        first = data[start]
        second = data[start + 1]
        timed = False
        if second == 0x02 and (first == 0x92 or first == 0x82):
            timed = True
            if self.time is None:
                return None
        interaction = second == 0x02 and (first == 0x8A or first == 0x92)
        if not interaction and not timed and (first != 0xFA or second != 0x01):
            return None
        if field_stop(data, start + 2, end) != end:
            return None
        at = field_start(data, start + 2)
        target = datum_at(data, at, end, 0x0A)
        if not target:
            return None
        at += 4 + len(target)
        if at >= end or data[at] != 0x12:
            return None
        stop = field_stop(data, at + 1, end)
        if stop < 0:
            return None
        at = field_start(data, at + 1)
        parameters: dict[ParameterHandle, bytes] | None = None
        attributes: dict[AttributeHandle, bytes] | None = None
        if interaction:
            parameters = read_values(data, at, stop, self._parameters)
        else:
            attributes = read_values(data, at, stop, self._attributes)
        at = stop
        tag = b""
        if at < end and data[at] == 0x1A:
            stop = field_stop(data, at + 1, end)
            if stop < 0:
                return None
            tag = data[field_start(data, at + 1) : stop]
            at = stop
        transportation = datum_at(data, at, end, 0x22)
        at += 4 + len(transportation)
        producer = datum_at(data, at, end, 0x2A) if transportation else b""
        at += 4 + len(producer)
        if not producer or (at != end and not timed):
            return None
        stamp: Stamp | None = None
        if timed:
            stamp = self._stamp(data, at, end)
            if stamp is None:
                return None
        way = self._transportations.get(transportation)
        sender = self._federates.get(producer)
        if parameters is not None:
            kind = self._classes.get(target)
            return DeliveredInteraction(kind, parameters, tag, way, sender, None, stamp)
        if attributes is not None:
            return Reflection(self._instances.get(target), attributes, tag, way, sender, None, stamp)
        return None

    def read_grant(self, data: bytes, start: i64, end: i64) -> LogicalTime | None:
        """The time of a Time Advance Grant, if it is one."""
        if self.time is None or end - start != 15 or data[start] != 0xEA or data[start + 1] != 0x03:
            return None
        if data[start + 2] != 12:
            return None
        time = datum_at(data, start + 3, end, 0x0A)
        return None if len(time) != 8 else self.time.decode_time(time)

    def _stamp(self, data: bytes, at: i64, end: i64) -> Stamp | None:
        """Fields 7 to 10: the time, both orders where they are time stamp order, and the retraction handle or nothing."""
        time = datum_at(data, at, end, 0x3A)
        if len(time) != 8:
            return None
        at += 12
        sent = OrderType.RECEIVE
        received = OrderType.RECEIVE
        if at + 2 <= end and data[at] == 0x40:
            if data[at + 1] != 1:
                return None
            sent = OrderType.TIMESTAMP
            at += 2
        if at + 2 <= end and data[at] == 0x48:
            if data[at + 1] != 1:
                return None
            received = OrderType.TIMESTAMP
            at += 2
        retraction: MessageRetractionHandle | None = None
        if at < end:
            raw = datum_at(data, at, end, 0x52)
            if not raw or at + 4 + len(raw) != end:
                return None
            retraction = MessageRetractionHandle(raw)
        assert self.time is not None
        return Stamp(self.time.decode_time(time), sent, received, retraction)


def read_values(data: bytes, at: i64, stop: i64, known: HandleCache) -> dict[Any, bytes] | None:
    """The map of parameters or attributes that lies there; None: it is not in its canonical form."""
    values: dict[Any, bytes] = {}
    while at < stop:
        entry_stop = field_stop(data, at + 1, stop)
        if data[at] != 0x0A or entry_stop < 0:
            return None
        at = field_start(data, at + 1)
        handle = datum_at(data, at, entry_stop, 0x0A)
        if not handle:
            return None
        at += 4 + len(handle)
        value = b""
        if at < entry_stop:
            if data[at] != 0x12 or field_stop(data, at + 1, entry_stop) != entry_stop:
                return None
            value = data[field_start(data, at + 1) : entry_stop]
        key = known.get(handle)
        if key in values:
            return None
        values[key] = value
        at = entry_stop
    return values
