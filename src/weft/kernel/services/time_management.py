"""Time management (clause 8), but for changes of order type, which are with the objects (`services.object_management`).

All services are answered at the federate's own node, which knows its logical time.  That a federate regulates or is
constrained is known to all nodes: its node asks the home for a command (`Turn.order`), and the home says when it begins.
"""

from __future__ import annotations

from weft.kernel.state.effects import Callback, Transmit
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.parcels import Retraction
from weft.kernel.state.step import Step
from weft.kernel.state.time_state import GRANTED, NMR, NMRA, TAR, TARA
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
from weft.model.json_types import JsonObject
from weft.model.records import TimeQueryReturn
from weft.model.time import (
    HLAfloat64Interval,
    HLAinteger64Interval,
    HLAinteger64TimeFactory,
    LogicalTime,
    LogicalTimeInterval,
    TimeValue,
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


def _interval_value(federation: Federation, interval: LogicalTimeInterval) -> TimeValue:
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


# --- regulating and constrained ---------------------------------------------------------------------------------


def enable_time_regulation(step: Step, lookahead: LogicalTimeInterval) -> None:
    """Clause 8.2."""
    member = step.member
    value = _interval_value(step.federation, lookahead)
    _require_granted(member)
    timing = member.timing
    if timing.regulation_pending:
        raise RequestForTimeRegulationPending(f"{member!r} waits for time_regulation_enabled")
    if timing.regulating:
        raise TimeRegulationAlreadyEnabled(f"{member!r} is time-regulating")
    if member.node == step.node:
        timing.regulation_pending = True
        tso_queue.release_held(step)
        step.order(member, REGULATION_ASKED, (value,))


def time_regulation_asked(step: Step, lookahead: TimeValue) -> None:
    federation = step.federation
    member = step.member
    timing = member.timing
    if timing.regulating:
        return
    timing.regulation_pending = True
    timing.asked_lookahead = lookahead
    if federation.home == step.node:
        galt_exchange.flags_changed(federation, member)
        grants.settle(step)
        step.turn.begins = True


def time_regulation_begun(step: Step, federate: int, time: TimeValue, exclusive: bool) -> None:
    """Given by the home: from that time on the federate regulates."""
    federation = step.federation
    found = federation.members.get(FederateHandle.of(federate))
    if found is None or not found.timing.regulation_pending:
        return
    timing = found.timing
    timing.regulation_pending = False
    timing.regulating = True
    timing.lookahead = timing.asked_lookahead
    timing.floor = (0, 0)
    step.note(found, "HLAtimeRegulating")
    if found.node == step.node:
        _begin_at(step, found, time, exclusive)
    if federation.home == step.node:
        table = galt_exchange.table_of(federation)
        old = table.reports[found.handle]
        table.reports[found.handle] = old._replace(
            mode=GRANTED, time=time, exclusive=exclusive, lookahead=timing.lookahead, floor=(0, 0)
        )
        galt_exchange.flags_changed(federation, found)
        grants.settle(step)


def _begin_at(step: Step, member: Member, time: TimeValue, exclusive: bool) -> None:
    """Its time may jump; what waits in its queue up to there comes first."""
    timing = member.timing
    if time > timing.time:
        tso_queue.deliver_until(step, member, (time, 1 if exclusive else 0))
        timing.time = time
        timing.exclusive = exclusive
    timing.exclusive = timing.exclusive or exclusive
    told = (tso_queue.wrapped(step.federation, timing.time),)
    step.effects.append(Callback(member.session, "time_regulation_enabled", told))


def disable_time_regulation(step: Step) -> None:
    """Clause 8.4."""
    member = step.member
    if not member.timing.regulating:
        raise TimeRegulationIsNotEnabled(f"{member!r} is not time-regulating")
    if member.node == step.node:
        member.timing.regulating = False
        member.timing.retractable.clear()
        member.timing.expiry.clear()
        step.order(member, REGULATION_ENDED, ())
        if member.declared.timed_published.of or member.declared.timed_sends.of:
            step.order(member, grants.PUBLICATIONS_DUE, (None,))


def time_regulation_ended(step: Step) -> None:
    federation = step.federation
    member = step.member
    member.timing.regulating = False
    step.note(member, "HLAtimeRegulating")
    if federation.home == step.node:
        galt_exchange.flags_changed(federation, member)
        grants.settle(step)
        step.turn.begins = True


def enable_time_constrained(step: Step) -> None:
    """Clause 8.5."""
    member = step.member
    _require_granted(member)
    timing = member.timing
    if timing.constrained_pending:
        raise RequestForTimeConstrainedPending(f"{member!r} waits for time_constrained_enabled")
    if timing.constrained and not timing.constrained_ending:
        raise TimeConstrainedAlreadyEnabled(f"{member!r} is time-constrained")
    if member.node == step.node:
        timing.constrained_pending = True
        grants.changed(step, member)  # the home may not know how far it has run ahead
        step.order(member, CONSTRAINED_ASKED, ())


def time_constrained_asked(step: Step) -> None:
    federation = step.federation
    member = step.member
    if member.timing.constrained:
        return
    member.timing.constrained_pending = True
    if federation.home == step.node:
        galt_exchange.flags_changed(federation, member)
        step.turn.begins = True


def time_constrained_begun(step: Step, federate: int) -> None:
    federation = step.federation
    found = federation.members.get(FederateHandle.of(federate))
    if found is None or not found.timing.constrained_pending:
        return
    timing = found.timing
    timing.constrained_pending = False
    timing.constrained = True
    timing.reached = max(timing.reached, (timing.time, 0))
    if federation.clock.timetable is not None:
        federation.clock.timetable.pending.pop(found.handle, None)
    step.note(found, "HLAtimeConstrained")
    found.holds = True
    federation.changed()  # lanes to it end here
    if found.node == step.node:
        told = (tso_queue.wrapped(federation, timing.time),)
        step.effects.append(Callback(found.session, "time_constrained_enabled", told))
        federation.clock.horizon.waiting.pop(found.handle, None)


def disable_time_constrained(step: Step) -> None:
    """Clause 8.7.  It ends for all nodes at one place in the order of commands, or they would not agree on whom a deletion at
    a logical time still has to wait for."""
    member = step.member
    if not member.timing.constrained or member.timing.constrained_ending:
        raise TimeConstrainedIsNotEnabled(f"{member!r} is not time-constrained")
    if member.node == step.node:
        member.timing.constrained_ending = True
        step.order(member, CONSTRAINED_ENDED, ())


def time_constrained_ended(step: Step) -> None:
    """What waits for it comes now, in receive order."""
    federation = step.federation
    member = step.member
    member.timing.constrained = member.timing.constrained_ending = False
    step.note(member, "HLAtimeConstrained")
    member.holds = member.qos is not None
    federation.changed()
    if member.node == step.node:
        tso_queue.release_held(step)
        tso_queue.deliver_rest(step)
        grants.check(step, member)
    if federation.home == step.node:
        galt_exchange.flags_changed(federation, member)
        grants.settle(step)


def ready_to_be_constrained(federation: Federation) -> FederateHandle | None:
    """At the home: the first federate that waits to be constrained and cannot get a message of its past any more."""
    table = federation.clock.timetable
    if table is None or table.silent:
        return None
    limit = federation.saves.limit
    for handle in table.pending:
        report = table.reports.get(handle)
        if limit is not None and report is not None and report.time > limit[0]:
            continue  # it is ahead of a save that all who are constrained have to come to
        galt = table.bounds.galt(handle)
        if report is not None and (galt is None or galt >= (report.time, 0)):
            return handle
    return None


# --- advancing ------------------------------------------------------------------------------------------------


def _requested(step: Step, time: LogicalTime) -> TimeValue:
    """First what is pending, as a client judges that keeps it itself; then the time."""
    member = step.member
    value = stamps.time_value(step.federation, time)
    _require_granted(member)
    if member.timing.regulation_pending:
        raise RequestForTimeRegulationPending(f"{member!r} waits for time_regulation_enabled")
    if member.timing.constrained_pending:
        raise RequestForTimeConstrainedPending(f"{member!r} waits for time_constrained_enabled")
    if value < member.timing.time:
        raise LogicalTimeAlreadyPassed(
            f"{member!r} is at {member.timing.time}, and cannot go back to {value}"
        )
    return value


def time_advance_request(step: Step, time: LogicalTime) -> None:
    """Clause 8.8."""
    if step.member.node == step.node:
        grants.ask(step, TAR, _requested(step, time))


def time_advance_request_available(step: Step, time: LogicalTime) -> None:
    """Clause 8.9."""
    if step.member.node == step.node:
        grants.ask(step, TARA, _requested(step, time))


def next_message_request(step: Step, time: LogicalTime) -> None:
    """Clause 8.10."""
    if step.member.node == step.node:
        grants.ask(step, NMR, _requested(step, time))


def next_message_request_available(step: Step, time: LogicalTime) -> None:
    """Clause 8.11."""
    if step.member.node == step.node:
        grants.ask(step, NMRA, _requested(step, time))


def flush_queue_request(step: Step, time: LogicalTime) -> None:
    """Clause 8.12."""
    if step.member.node == step.node:
        grants.flush(step, _requested(step, time))


def enable_asynchronous_delivery(step: Step) -> None:
    """Clause 8.15."""
    member = step.member
    if member.node == step.node:
        if member.timing.asynchronous:
            raise AsynchronousDeliveryAlreadyEnabled(f"{member!r} has enabled asynchronous delivery")
        member.timing.asynchronous = True
        step.note(member, "HLAasynchronousDelivery")
        tso_queue.release_held(step)


def disable_asynchronous_delivery(step: Step) -> None:
    """Clause 8.16."""
    member = step.member
    if member.node == step.node:
        if not member.timing.asynchronous:
            raise AsynchronousDeliveryAlreadyDisabled(f"{member!r} has not enabled asynchronous delivery")
        member.timing.asynchronous = False
        step.note(member, "HLAasynchronousDelivery")


# --- questions ------------------------------------------------------------------------------------------------


def galt_value(node: str, federation: Federation, member: Member) -> TimeValue | None:
    galt = galt_exchange.galt_of(federation, member, node)
    return None if galt is None else galt[0]


def lits_value(node: str, federation: Federation, member: Member) -> TimeValue | None:
    """The smaller of GALT and the first message that waits."""
    known = [galt_value(node, federation, member), member.timing.queue.head()]
    return min([value for value in known if value is not None], default=None)


def _answer(federation: Federation, value: TimeValue | None) -> TimeQueryReturn:
    if value is None:
        return TimeQueryReturn(False, None)
    return TimeQueryReturn(True, tso_queue.wrapped(federation, value))


def query_galt(step: Step) -> TimeQueryReturn:
    """Clause 8.17."""
    federation = step.federation
    return _answer(federation, galt_value(step.node, federation, step.member))


def query_logical_time(step: Step) -> LogicalTime:
    """Clause 8.18."""
    return tso_queue.wrapped(step.federation, step.member.timing.time)


def query_lits(step: Step) -> TimeQueryReturn:
    """Clause 8.19."""
    federation = step.federation
    return _answer(federation, lits_value(step.node, federation, step.member))


def modify_lookahead(step: Step, lookahead: LogicalTimeInterval) -> None:
    """Clause 8.20.  A larger lookahead holds at once; a smaller one as time advances, for what was promised stays promised."""
    federation = step.federation
    member = step.member
    value = _interval_value(federation, lookahead)
    _require_granted(member)
    timing = member.timing
    if not timing.regulating:
        raise TimeRegulationIsNotEnabled(f"{member!r} is not time-regulating")
    if member.node == step.node:
        timing.floor = timing.promise()
        timing.lookahead = value
        grants.changed(step, member)
        if federation.home == step.node:
            grants.settle(step)


def query_lookahead(step: Step) -> LogicalTimeInterval:
    """Clause 8.21."""
    member = step.member
    if not member.timing.regulating:
        raise TimeRegulationIsNotEnabled(f"{member!r} is not time-regulating")
    return lookahead_of(step.federation, member)


def lookahead_of(federation: Federation, member: Member) -> LogicalTimeInterval:
    """Its actual lookahead, as the federation's logical time interval."""
    factory = federation.time
    value: TimeValue = member.timing.actual_lookahead()
    if isinstance(factory, HLAinteger64TimeFactory):
        return factory.make_interval(int(value))
    return factory.make_interval(value)


def query_blocking(step: Step) -> JsonObject:
    """No service of the standard: whom the federate waits for."""
    return blocking.blocking(step, step.member)


def set_time_advance_patience(step: Step, seconds: float) -> None:
    """No service of the standard: after so many seconds without a grant, tell the federate who blocks it; 0: never."""
    member = step.member
    if not 0.0 <= seconds < float("inf"):
        raise RTIinternalError(f"a time-out is a number of seconds from 0, not {seconds!r}")
    timing = member.timing
    timing.patience = float(seconds)
    timing.alarm = 0.0
    if timing.patience and timing.mode != GRANTED:
        blocking.arm(step.turn, member)


# --- sending in time stamp order ----------------------------------------------------------------------------------


def retract(step: Step, retraction: MessageRetractionHandle) -> None:
    """Clause 8.22."""
    federation = step.federation
    member = step.member
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
        step.order(member, "delete_retracted", (found.deleted,))
        return
    federation.distribution.withdraw(retraction)
    stamps.retracted(step, retraction)
    for node in found.nodes:
        parcel = Retraction(federation.name, federation.execution, federation.sequence, bytes(retraction))
        step.effects.append(Transmit(node, parcel))
