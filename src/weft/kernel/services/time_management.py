"""Time management (clause 8), but for changes of order type, which are with the objects (`services.object_management`).

All services are answered at the federate's own node, which knows its logical time.  That a federate regulates or is
constrained is known to all nodes: its node asks the home for a command (`Turn.order`), and the home says when it begins.
"""

from __future__ import annotations

from typing import Any

from weft.kernel.state.effects import Callback, Transmit
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.parcels import Retraction
from weft.kernel.state.time_state import GRANTED, NMR, NMRA, TAR, TARA
from weft.kernel.state.turn import Turn
from weft.kernel.time import blocking, galt_exchange, grants, stamps, tso_queue
from weft.model.errors import (
    AsynchronousDeliveryAlreadyDisabled,
    AsynchronousDeliveryAlreadyEnabled,
    InTimeAdvancingState,
    InvalidLookahead,
    InvalidMessageRetractionHandle,
    LogicalTimeAlreadyPassed,
    MessageCanNoLongerBeRetracted,
    RequestForTimeConstrainedPending,
    RequestForTimeRegulationPending,
    RTIinternalError,
    TimeConstrainedAlreadyEnabled,
    TimeConstrainedIsNotEnabled,
    TimeRegulationAlreadyEnabled,
    TimeRegulationIsNotEnabled,
)
from weft.model.handles import FederateHandle, MessageRetractionHandle
from weft.model.records import TimeQueryReturn
from weft.model.time import (
    HLAfloat64Interval,
    HLAinteger64Interval,
    LogicalTime,
    LogicalTimeInterval,
)

REGULATION_ASKED = "time_regulation_asked"
REGULATION_BEGUN = "time_regulation_begun"
REGULATION_ENDED = "time_regulation_ended"
CONSTRAINED_ASKED = "time_constrained_asked"
CONSTRAINED_BEGUN = "time_constrained_begun"
CONSTRAINED_ENDED = "time_constrained_ended"
COMMANDS: tuple[str, ...] = (
    REGULATION_ASKED,
    REGULATION_BEGUN,
    REGULATION_ENDED,
    CONSTRAINED_ASKED,
    CONSTRAINED_BEGUN,
    CONSTRAINED_ENDED,
)
"""Commands by which all nodes know who regulates and who is constrained."""


# --- checks ---------------------------------------------------------------------------------------------------


def _interval_value(federation: Federation, interval: LogicalTimeInterval) -> Any:
    expected = HLAinteger64Interval if stamps.is_integer(federation) else HLAfloat64Interval
    if not isinstance(interval, expected):
        raise InvalidLookahead(
            f"federation {federation.name!r} uses {federation.time.name}: the lookahead is an {expected.__name__}, "
            f"not {interval!r}"
        )
    return interval.value


def _require_granted(member: Member) -> None:
    if member.timing.mode != GRANTED:
        raise InTimeAdvancingState(
            f"{member!r} has asked to advance to {member.timing.requested}; wait for the grant"
        )


def _require_settled(member: Member) -> None:
    if member.timing.regulation_pending:
        raise RequestForTimeRegulationPending(f"{member!r} waits for time_regulation_enabled")
    if member.timing.constrained_pending:
        raise RequestForTimeConstrainedPending(f"{member!r} waits for time_constrained_enabled")


# --- regulating and constrained ---------------------------------------------------------------------------------


def enable_time_regulation(
    turn: Turn, federation: Federation, member: Member, lookahead: LogicalTimeInterval
) -> None:
    """Clause 8.2."""
    value = _interval_value(federation, lookahead)
    _require_granted(member)
    timing = member.timing
    if timing.regulation_pending:
        raise RequestForTimeRegulationPending(f"{member!r} waits for time_regulation_enabled")
    if timing.regulating:
        raise TimeRegulationAlreadyEnabled(f"{member!r} is time-regulating")
    if member.node == turn.node:
        timing.regulation_pending = True
        turn.order(federation, member, REGULATION_ASKED, (value,))


def time_regulation_asked(turn: Turn, federation: Federation, member: Member, lookahead: Any) -> None:
    timing = member.timing
    if timing.regulating:
        return
    timing.regulation_pending = True
    timing.asked_lookahead = lookahead
    if federation.home == turn.node:
        galt_exchange.flags_changed(federation, member)
        grants.settle(turn, federation)
        turn.begins = True


def time_regulation_begun(
    turn: Turn, federation: Federation, member: Member, federate: int, time: Any, exclusive: bool
) -> None:
    """Given by the home: from that time on the federate regulates."""
    found = federation.members.get(FederateHandle.of(federate))
    if found is None or not found.timing.regulation_pending:
        return
    timing = found.timing
    timing.regulation_pending = False
    timing.regulating = True
    timing.lookahead = timing.asked_lookahead
    timing.floor = (0, 0)
    turn.note(federation, found, "HLAtimeRegulating")
    if found.node == turn.node:
        _begin_at(turn, federation, found, time, exclusive)
    if federation.home == turn.node:
        table = galt_exchange.table_of(federation)
        old = table.reports[found.handle]
        table.reports[found.handle] = old._replace(
            mode=GRANTED, time=time, exclusive=exclusive, lookahead=timing.lookahead, floor=(0, 0)
        )
        galt_exchange.flags_changed(federation, found)
        grants.settle(turn, federation)


def _begin_at(turn: Turn, federation: Federation, member: Member, time: Any, exclusive: bool) -> None:
    """Its time may jump; what waits for it up to there comes first."""
    timing = member.timing
    if time > timing.time:
        tso_queue.deliver_until(turn, federation, member, (time, 1 if exclusive else 0))
        timing.time = time
        timing.exclusive = exclusive
    timing.exclusive = timing.exclusive or exclusive
    told = (tso_queue.wrapped(federation, timing.time),)
    turn.effects.append(Callback(member.session, "time_regulation_enabled", told))


def disable_time_regulation(turn: Turn, federation: Federation, member: Member) -> None:
    """Clause 8.4."""
    if not member.timing.regulating:
        raise TimeRegulationIsNotEnabled(f"{member!r} is not time-regulating")
    if member.node == turn.node:
        member.timing.regulating = False
        member.timing.retractable.clear()
        member.timing.expiry.clear()
        turn.order(federation, member, REGULATION_ENDED, ())


def time_regulation_ended(turn: Turn, federation: Federation, member: Member) -> None:
    member.timing.regulating = False
    turn.note(federation, member, "HLAtimeRegulating")
    if federation.home == turn.node:
        galt_exchange.flags_changed(federation, member)
        grants.settle(turn, federation)
        turn.begins = True


def enable_time_constrained(turn: Turn, federation: Federation, member: Member) -> None:
    """Clause 8.5."""
    _require_granted(member)
    timing = member.timing
    if timing.constrained_pending:
        raise RequestForTimeConstrainedPending(f"{member!r} waits for time_constrained_enabled")
    if timing.constrained:
        raise TimeConstrainedAlreadyEnabled(f"{member!r} is time-constrained")
    if member.node == turn.node:
        timing.constrained_pending = True
        grants.changed(turn, federation, member)  # the home may not know how far it has run ahead
        turn.order(federation, member, CONSTRAINED_ASKED, ())


def time_constrained_asked(turn: Turn, federation: Federation, member: Member) -> None:
    if member.timing.constrained:
        return
    member.timing.constrained_pending = True
    if federation.home == turn.node:
        galt_exchange.flags_changed(federation, member)
        turn.begins = True


def time_constrained_begun(turn: Turn, federation: Federation, member: Member, federate: int) -> None:
    found = federation.members.get(FederateHandle.of(federate))
    if found is None or not found.timing.constrained_pending:
        return
    timing = found.timing
    timing.constrained_pending = False
    timing.constrained = True
    timing.reached = max(timing.reached, (timing.time, 0))
    if federation.timetable is not None:
        federation.timetable.pending.pop(found.handle, None)
    turn.note(federation, found, "HLAtimeConstrained")
    found.holds = True
    federation.changed()  # lanes to it end here
    if found.node == turn.node:
        told = (tso_queue.wrapped(federation, timing.time),)
        turn.effects.append(Callback(found.session, "time_constrained_enabled", told))
        federation.horizon.waiting.pop(found.handle, None)


def disable_time_constrained(turn: Turn, federation: Federation, member: Member) -> None:
    """Clause 8.7."""
    if not member.timing.constrained:
        raise TimeConstrainedIsNotEnabled(f"{member!r} is not time-constrained")
    if member.node == turn.node:
        member.timing.constrained = False
        turn.order(federation, member, CONSTRAINED_ENDED, ())


def time_constrained_ended(turn: Turn, federation: Federation, member: Member) -> None:
    """What waits for it comes now, in receive order."""
    timing = member.timing
    timing.constrained = False
    turn.note(federation, member, "HLAtimeConstrained")
    member.holds = member.qos is not None
    federation.changed()
    if member.node == turn.node:
        tso_queue.release_held(turn, federation, member)
        tso_queue.deliver_rest(turn, federation, member)
        grants.check(turn, federation, member)
    if federation.home == turn.node:
        galt_exchange.flags_changed(federation, member)
        grants.settle(turn, federation)


def ready_to_be_constrained(federation: Federation) -> FederateHandle | None:
    """At the home: the first federate that waits to be constrained and cannot get a message of its past any more."""
    table = federation.timetable
    if table is None or table.silent:
        return None
    limit = federation.save_limit
    for handle in table.pending:
        report = table.reports.get(handle)
        if limit is not None and report is not None and report.time > limit[0]:
            continue  # it is ahead of a save that all who are constrained have to come to
        galt = table.bounds.galt(handle)
        if report is not None and (galt is None or galt >= (report.time, 0)):
            return handle
    return None


# --- advancing ------------------------------------------------------------------------------------------------


def _requested(turn: Turn, federation: Federation, member: Member, time: LogicalTime) -> Any:
    """First what is pending, as a client judges that keeps it itself; then the time."""
    value = stamps.time_value(federation, time)
    _require_granted(member)
    _require_settled(member)
    if value < member.timing.time:
        raise LogicalTimeAlreadyPassed(
            f"{member!r} is at {member.timing.time}, and cannot go back to {value}"
        )
    return value


def time_advance_request(turn: Turn, federation: Federation, member: Member, time: LogicalTime) -> None:
    """Clause 8.8."""
    if member.node == turn.node:
        grants.ask(turn, federation, member, TAR, _requested(turn, federation, member, time))


def time_advance_request_available(
    turn: Turn, federation: Federation, member: Member, time: LogicalTime
) -> None:
    """Clause 8.9."""
    if member.node == turn.node:
        grants.ask(turn, federation, member, TARA, _requested(turn, federation, member, time))


def next_message_request(turn: Turn, federation: Federation, member: Member, time: LogicalTime) -> None:
    """Clause 8.10."""
    if member.node == turn.node:
        grants.ask(turn, federation, member, NMR, _requested(turn, federation, member, time))


def next_message_request_available(
    turn: Turn, federation: Federation, member: Member, time: LogicalTime
) -> None:
    """Clause 8.11."""
    if member.node == turn.node:
        grants.ask(turn, federation, member, NMRA, _requested(turn, federation, member, time))


def flush_queue_request(turn: Turn, federation: Federation, member: Member, time: LogicalTime) -> None:
    """Clause 8.12."""
    if member.node == turn.node:
        grants.flush(turn, federation, member, _requested(turn, federation, member, time))


def enable_asynchronous_delivery(turn: Turn, federation: Federation, member: Member) -> None:
    """Clause 8.15."""
    if member.node == turn.node:
        if member.timing.asynchronous:
            raise AsynchronousDeliveryAlreadyEnabled(f"{member!r} has enabled asynchronous delivery")
        member.timing.asynchronous = True
        turn.note(federation, member, "HLAasynchronousDelivery")
        tso_queue.release_held(turn, federation, member)


def disable_asynchronous_delivery(turn: Turn, federation: Federation, member: Member) -> None:
    """Clause 8.16."""
    if member.node == turn.node:
        if not member.timing.asynchronous:
            raise AsynchronousDeliveryAlreadyDisabled(f"{member!r} has not enabled asynchronous delivery")
        member.timing.asynchronous = False
        turn.note(federation, member, "HLAasynchronousDelivery")


# --- questions ------------------------------------------------------------------------------------------------


def galt_value(node: str, federation: Federation, member: Member) -> Any:
    galt = galt_exchange.galt_of(federation, member, node)
    return None if galt is None else galt[0]


def lits_value(node: str, federation: Federation, member: Member) -> Any:
    """The smaller of GALT and the first message that waits."""
    known = [galt_value(node, federation, member), member.timing.queue.head()]
    return min([value for value in known if value is not None], default=None)


def _answer(federation: Federation, value: Any) -> TimeQueryReturn:
    if value is None:
        return TimeQueryReturn(False, None)
    return TimeQueryReturn(True, tso_queue.wrapped(federation, value))


def query_galt(turn: Turn, federation: Federation, member: Member) -> TimeQueryReturn:
    """Clause 8.17."""
    return _answer(federation, galt_value(turn.node, federation, member))


def query_logical_time(turn: Turn, federation: Federation, member: Member) -> LogicalTime:
    """Clause 8.18."""
    return tso_queue.wrapped(federation, member.timing.time)


def query_lits(turn: Turn, federation: Federation, member: Member) -> TimeQueryReturn:
    """Clause 8.19."""
    return _answer(federation, lits_value(turn.node, federation, member))


def modify_lookahead(
    turn: Turn, federation: Federation, member: Member, lookahead: LogicalTimeInterval
) -> None:
    """Clause 8.20.  A larger lookahead holds at once; a smaller one as time advances, for what was promised stays promised."""
    value = _interval_value(federation, lookahead)
    _require_granted(member)
    timing = member.timing
    if not timing.regulating:
        raise TimeRegulationIsNotEnabled(f"{member!r} is not time-regulating")
    if member.node == turn.node:
        timing.floor = timing.promise()
        timing.lookahead = value
        grants.changed(turn, federation, member)
        if federation.home == turn.node:
            grants.settle(turn, federation)


def query_lookahead(turn: Turn, federation: Federation, member: Member) -> LogicalTimeInterval:
    """Clause 8.21."""
    if not member.timing.regulating:
        raise TimeRegulationIsNotEnabled(f"{member!r} is not time-regulating")
    factory: Any = federation.time
    made: LogicalTimeInterval = factory.make_interval(member.timing.actual_lookahead())
    return made


def query_blocking(turn: Turn, federation: Federation, member: Member) -> dict[str, Any]:
    """No service of the standard: whom the federate waits for."""
    return blocking.blocking(turn, federation, member)


def set_time_advance_patience(turn: Turn, federation: Federation, member: Member, seconds: float) -> None:
    """No service of the standard: after so many seconds without a grant, tell the federate who blocks it; 0: never."""
    if not 0.0 <= seconds < float("inf"):
        raise RTIinternalError(f"a time-out is a number of seconds from 0, not {seconds!r}")
    timing = member.timing
    timing.patience = float(seconds)
    timing.alarm = 0.0
    if timing.patience and timing.mode != GRANTED:
        blocking.arm(turn, member)


# --- sending in time stamp order ----------------------------------------------------------------------------------


def retract(turn: Turn, federation: Federation, member: Member, retraction: MessageRetractionHandle) -> None:
    """Clause 8.22."""
    timing = member.timing
    if not timing.regulating:
        raise TimeRegulationIsNotEnabled(f"{member!r} is not time-regulating")
    number = int.from_bytes(retraction[4:], "big")
    if len(retraction) != 12 or retraction[:4] != member.handle or not 0 < number <= timing.sent:
        raise InvalidMessageRetractionHandle(f"{bytes(retraction)!r} is no message of {member!r}")
    found = timing.retractable.get(retraction)
    if found is None or (found.time, 0) < timing.promise():
        raise MessageCanNoLongerBeRetracted(
            f"{member!r} may send at {timing.promise()[0]} and later; what it sent before, or took back, stays as it is"
        )
    del timing.retractable[retraction]
    if found.deleted:
        turn.order(federation, member, "delete_retracted", (found.deleted,))
        return
    federation.distribution.withdraw(retraction)
    stamps.retracted(turn, federation, retraction)
    for node in found.nodes:
        parcel = Retraction(federation.name, federation.execution, federation.sequence, bytes(retraction))
        turn.effects.append(Transmit(node, parcel))
