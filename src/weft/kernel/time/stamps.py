"""Time stamps: which messages get one, and what is kept of them until they can no longer be retracted.

A message is in time stamp order if its sender regulates and its order type says so; else a time is only carried along.
"""

from __future__ import annotations

from typing import Final

from weft.kernel.state.effects import Callback
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.step import Step
from weft.kernel.state.time_state import NMR, NMRA, Retractable
from weft.kernel.time import galt_exchange
from weft.model.deliveries import Stamp
from weft.model.enums import OrderType
from weft.model.errors import InvalidLogicalTime
from weft.model.handles import MessageRetractionHandle
from weft.model.records import MessageRetractionReturn
from weft.model.time import HLAfloat64Time, HLAinteger64Time, LogicalTime, TimeValue

_TIMESTAMP: Final = OrderType.TIMESTAMP  # kept at hand: it is looked for in each message
NO_RETRACTION: Final = MessageRetractionReturn(False, None)


def is_integer(federation: Federation) -> bool:
    return federation.time.name == "HLAinteger64Time"


def time_value(federation: Federation, time: LogicalTime) -> TimeValue:
    if not isinstance(time, HLAinteger64Time if is_integer(federation) else HLAfloat64Time):
        raise InvalidLogicalTime(f"federation {federation.name!r} uses {federation.time.name}, got {time!r}")
    return time.value


def carried(federation: Federation, time: LogicalTime | None) -> Stamp | None:
    """Of a time that is only carried along."""
    if time is None:
        return None
    time_value(federation, time)
    return Stamp(time)


def stamp(federation: Federation, member: Member, time: LogicalTime, order: OrderType) -> Stamp:
    """Of a message sent now: in time stamp order if its sender regulates and its order type says so."""
    value = time_value(federation, time)
    timing = member.timing
    if not timing.regulating:
        return Stamp(time)
    require_promised(member, value, "send")
    if order is not _TIMESTAMP:
        return Stamp(time)
    timing.sent += 1
    handle = MessageRetractionHandle(member.handle + timing.sent.to_bytes(8, "big"))
    return Stamp(time, _TIMESTAMP, _TIMESTAMP, handle)


def require_promised(member: Member, value: TimeValue, what: str) -> None:
    """A federate does nothing at a time that is below its promise."""
    promise = member.timing.promise()
    if (value, 0) < promise:
        least = f"later than {promise[0]}" if promise[1] else f"at {promise[0]} or later"
        raise InvalidLogicalTime(
            f"{member!r} may {what} {least} (logical time and lookahead), not at {value}"
        )


def sent(
    federation: Federation, member: Member, stamp: Stamp, nodes: tuple[str, ...], deleted: int = 0
) -> MessageRetractionReturn:
    """A message in time stamp order has gone to members here and to those nodes."""
    retraction = stamp.retraction
    assert retraction is not None
    time = stamp.time.value
    member.timing.may_retract(retraction, Retractable(time, nodes, deleted))
    announced(federation, member.node, nodes, time)
    return MessageRetractionReturn(True, retraction)


def announced(federation: Federation, here: str, nodes: tuple[str, ...], time: TimeValue) -> None:
    """A message with that time stamp is under way to these nodes."""
    announce = federation.clock.horizon.announce
    for node in nodes:
        announce[node] = min(announce.get(node, time), time)
    if federation.home == here and nodes:
        galt_exchange.announce(federation, nodes, time)


def retracted(step: Step, retraction: bytes) -> None:
    """At each node that got the message: what waits is dropped in silence, who has got it is told."""
    for member in step.federation.members.values():
        if member.node != step.node:
            continue
        timing = member.timing
        if timing.queue.retract(retraction):
            if timing.mode in (NMR, NMRA):
                step.turn.queued = True
        elif timing.delivered.pop(retraction, None) is not None:
            told = (MessageRetractionHandle(retraction),)
            step.effects.append(Callback(member.session, "request_retraction", told))
