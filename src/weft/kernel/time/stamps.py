"""Time stamps: which messages get one, and what is kept of them until they can no longer be retracted.

A stamp is what a callback's arguments end with: nothing, or the time, the order it was sent in, the order it is received in, and
its retraction handle.  A message is in time stamp order if its sender regulates and its order type says so; else a time is only
carried along.
"""

from __future__ import annotations

from typing import Any, Final

from weft.kernel.state.effects import Callback
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.step import Step
from weft.kernel.state.time_state import NMR, NMRA, Retractable
from weft.kernel.time import galt_exchange
from weft.model.enums import OrderType
from weft.model.errors import InvalidLogicalTime
from weft.model.handles import MessageRetractionHandle
from weft.model.records import MessageRetractionReturn
from weft.model.time import HLAfloat64Time, HLAinteger64Time, LogicalTime

_TIMESTAMP: Final = OrderType.TIMESTAMP  # kept at hand: it is looked for in each message
NO_RETRACTION: Final = MessageRetractionReturn(False, None)


def is_integer(federation: Federation) -> bool:
    return federation.time.name == "HLAinteger64Time"


def time_value(federation: Federation, time: LogicalTime) -> Any:
    if not isinstance(time, HLAinteger64Time if is_integer(federation) else HLAfloat64Time):
        raise InvalidLogicalTime(f"federation {federation.name!r} uses {federation.time.name}, got {time!r}")
    return time.value


def carried(federation: Federation, time: LogicalTime | None) -> tuple[Any, ...]:
    """A time that is only carried along."""
    if time is None:
        return ()
    time_value(federation, time)
    return (time, OrderType.RECEIVE, OrderType.RECEIVE, None)


def stamp(
    federation: Federation, member: Member, time: LogicalTime | None, order: OrderType
) -> tuple[Any, ...]:
    """The end of a callback's arguments for a message sent now: nothing, or the time and what goes with it.

    A message is in time stamp order if its sender regulates and its order type says so; else the time is only carried along.
    """
    if time is None:
        return ()
    value = time_value(federation, time)
    timing = member.timing
    if not timing.regulating:
        return (time, OrderType.RECEIVE, OrderType.RECEIVE, None)
    require_promised(member, value, "send")
    if order is not _TIMESTAMP:
        return (time, OrderType.RECEIVE, OrderType.RECEIVE, None)
    timing.sent += 1
    handle = MessageRetractionHandle(member.handle + timing.sent.to_bytes(8, "big"))
    return (time, _TIMESTAMP, _TIMESTAMP, handle)


def require_promised(member: Member, value: Any, what: str) -> None:
    """A federate does nothing at a time that is below its promise."""
    promise = member.timing.promise()
    if (value, 0) < promise:
        least = f"later than {promise[0]}" if promise[1] else f"at {promise[0]} or later"
        raise InvalidLogicalTime(
            f"{member!r} may {what} {least} (logical time and lookahead), not at {value}"
        )


def is_stamped(stamp: tuple[Any, ...]) -> bool:
    """Is the message in time stamp order?"""
    return len(stamp) > 0 and stamp[1] is _TIMESTAMP


def sent(
    federation: Federation, member: Member, stamp: tuple[Any, ...], nodes: tuple[str, ...], deleted: int = 0
) -> MessageRetractionReturn:
    """It has gone to members here and to those nodes."""
    time = stamp[0].value
    member.timing.may_retract(stamp[3], Retractable(time, nodes, deleted))
    announced(federation, member.node, nodes, time)
    return MessageRetractionReturn(True, stamp[3])


def announced(federation: Federation, here: str, nodes: tuple[str, ...], time: Any) -> None:
    """A message with that time stamp is under way to these nodes."""
    announce = federation.horizon.announce
    for node in nodes:
        announce[node] = min(announce.get(node, time), time)
    if federation.home == here and nodes:
        galt_exchange.announce(federation, nodes, time)


def retracted(step: Step, retraction: bytes) -> None:
    """At each node that got the message: what waits is dropped in silence, who has got it is told."""
    turn = step.turn
    federation = step.federation
    for member in federation.members.values():
        if member.node != step.node:
            continue
        timing = member.timing
        if timing.queue.retract(retraction):
            if timing.mode in (NMR, NMRA):
                turn.queued = True
        elif timing.delivered.pop(retraction, None) is not None:
            told = (MessageRetractionHandle(retraction),)
            step.effects.append(Callback(member.session, "request_retraction", told))
