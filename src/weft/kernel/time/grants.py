"""Logical time at a federate's own node: what waits for it, and when it is granted what it asked for.

A time-constrained federate gets messages in time stamp order (TSO) while it advances, and never one of its past.  What comes in
receive order (RO) waits while it is granted, unless it has enabled asynchronous delivery.

    asks for      is granted                                              after all messages
    TAR    t      t, once nobody will send at or before t                 up to t
    TARA   t      t, once nobody will send before t                       before t, and those of t that are there
    NMR    t      the time of the next message if that is before t, else t, once nobody will send at or before that time
    NMRA   t      the same, once nobody will send before that time
    FQR    t      at once: all that waits is delivered, whatever may still come before it

`time.galt_exchange` says how a node knows what nobody will send any more: the federate's GALT.
"""

from __future__ import annotations

from typing import Final

from weft.kernel.state.effects import Callback, Transmit
from weft.kernel.state.federation import Federation, Member, mom_handle
from weft.kernel.state.parcels import TimeBound, TimeReport
from weft.kernel.state.step import Step
from weft.kernel.state.time_state import FLUSH, GRANTED, NMR, NMRA, STOPPED, TAR, TARA, Report, Timetable
from weft.kernel.state.turn import Turn
from weft.kernel.time import galt_exchange, tso_queue
from weft.kernel.time.blocking import arm, is_halted, may_advance_alone
from weft.model.time import TimeValue
from weft.ordering.galt import Bound

PUBLICATIONS_DUE: Final = "publications_due"
TIME_STATE: Final = "HLAtimeManagerState"
TIME_STATE_CHANGED: Final = "note_time_state"

# --- asking ---------------------------------------------------------------------------------------------------


def ask(step: Step, mode: int, time: TimeValue) -> None:
    """The request is allowed; grant it now or later."""
    turn = step.turn
    federation = step.federation
    member = step.member
    timing = member.timing
    _spend(turn, member)
    timing.floor = timing.promise()
    timing.mode = mode
    timing.requested = time
    timing.prune()
    tso_queue.release_held(step)
    federation.clock.horizon.waiting[member.handle] = None
    told_state(step, member)
    changed(step, member)
    if not check(step, member) and timing.patience:
        arm(turn, member)
    if federation.home == step.node:
        settle(step)


def flush(step: Step, time: TimeValue) -> None:
    """Flush Queue Request."""
    turn = step.turn
    federation = step.federation
    member = step.member
    timing = member.timing
    _spend(turn, member)
    timing.floor = timing.promise()
    timing.mode = TAR  # what is delivered now is delivered while it advances
    tso_queue.release_held(step)
    halted = is_halted(federation, timing)
    if halted or _must_wait(step, member, time):
        federation.clock.horizon.waiting[member.handle] = None
        told_state(step, member)
        hold = _stall_flush if halted else _hold_flush
        hold(step, member, time)
        if halted and timing.patience:
            arm(turn, member)
    else:
        _flush(step, member, time)
    if federation.home == step.node:
        settle(step)


def _stall_flush(step: Step, member: Member, time: TimeValue) -> None:
    """As far as the others are concerned, it has not asked yet."""
    timing = member.timing
    timing.mode = FLUSH
    timing.flushing = time
    timing.requested = timing.time
    timing.stalled = True
    changed(step, member)


def _must_wait(step: Step, member: Member, time: TimeValue) -> bool:
    """A federation is to be saved at a time that a flush would take it beyond."""
    federation = step.federation
    limit = federation.saves.limit
    if limit is None or time <= limit[0] or not member.timing.constrained:
        return False
    galt = galt_exchange.galt_of(federation, member, step.node)
    head = member.timing.queue.head()
    return (galt is None or galt >= limit) and (head is None or head > limit[0])


def _hold_flush(step: Step, member: Member, time: TimeValue) -> None:
    """It waits at the time of the save, as far as the others are concerned."""
    timing = member.timing
    limit = step.federation.saves.limit
    assert limit is not None
    timing.mode = FLUSH
    timing.flushing = time
    timing.requested = limit[0]
    timing.reached = max(timing.reached, limit)
    changed(step, member)


def _flush(step: Step, member: Member, time: TimeValue) -> None:
    federation = step.federation
    timing = member.timing
    waited = timing.flushing is not None
    timing.flushing = None
    galt = galt_exchange.galt_of(federation, member, step.node)
    if federation.saves.limit is not None and timing.constrained:
        galt = federation.saves.limit if galt is None else min(galt, federation.saves.limit)
    halt = federation.clock.halt
    if halt is not None and halt.gate is not None:
        timing.flushed = halt.round
        galt = (halt.gate, 1) if galt is None else min(galt, (halt.gate, 1))
    taken = []
    for message in timing.queue.take_all():
        if tso_queue.is_wanted(step, member, message):
            taken.append(message)
        else:
            tso_queue.pass_over(step, member, message)
    optimistic = min([time, *[message.key[0] for message in taken[:1]]])
    granted = optimistic if galt is None else min(optimistic, galt[0])
    for message in taken:
        timing.delivered[message.retraction] = message.key[0]
        tso_queue.remember(member, message)
    tso_queue.deliver(step, member, taken)
    timing.mode = GRANTED
    if granted > timing.time:
        timing.time = granted
        timing.exclusive = waited and granted == timing.requested
    timing.reached = max(timing.reached, (timing.time, 0))
    times = (tso_queue.wrapped(federation, timing.time), tso_queue.wrapped(federation, optimistic))
    step.effects.append(Callback(member.session, "flush_queue_grant", times))
    publications(step, member)
    timing.prune()
    changed(step, member)


def changed(step: Step, member: Member) -> None:
    """The member promises something else than before: the home is to know."""
    federation = step.federation
    report = galt_exchange.report_of(member)
    if federation.home == step.node:
        galt_exchange.enter(federation, member, report)
    else:
        send_report(step, (report,))


def send_report(step: Step, reports: tuple[Report, ...]) -> None:
    """It says what this node has seen, so all who ask for the next message are in it, with what waits for them now."""
    federation = step.federation
    horizon = federation.clock.horizon
    for handle in horizon.waiting:
        member = federation.members.get(handle)
        if member is not None and member.timing.mode in (NMR, NMRA):
            number = handle.number
            if number not in [report.federate for report in reports]:
                reports = (*reports, galt_exchange.report_of(member))
    announced = tuple(horizon.announce.items())
    horizon.announce = {}
    parcel = TimeReport(
        federation.name, federation.execution, federation.sequence, horizon.seen, reports, announced
    )
    step.effects.append(Transmit(federation.home, parcel))


# --- granting -------------------------------------------------------------------------------------------------


def check(step: Step, member: Member) -> bool:
    """Deliver what may be delivered and grant what may be granted to a member here; True if it is granted."""
    federation = step.federation
    timing = member.timing
    mode = timing.mode
    if mode == GRANTED:
        return False
    if mode == FLUSH:
        return _check_flush(step, member)
    halt = federation.clock.halt
    if not timing.constrained:
        if halt is not None and not halt.lets(timing.requested):
            return False
        _grant(step, member, timing.requested)
        return True
    galt = galt_exchange.promised_to(federation, member, step.node)
    if galt is None and not may_advance_alone(federation, member):
        return False
    if federation.saves.limit is not None:
        galt = federation.saves.limit if galt is None else min(galt, federation.saves.limit)
    if halt is not None:
        if halt.gate is None:
            return False
        galt = (halt.gate, 1) if galt is None else min(galt, (halt.gate, 1))
    held = timing.late_from()
    if held is not None and (galt is None or held < galt):
        galt = held
    time = timing.requested
    if mode in (NMR, NMRA):
        _drop_unwanted(step, member, galt)
        head = timing.queue.head()
        if head is not None and head < time:
            time = head
    goal: Bound = (time, 1 if mode in (TAR, NMR) else 0)
    if (galt is None or galt >= goal) and (held is None or time < held[0]):
        taken = timing.queue.take((time, 1))
        tso_queue.remember_open(member, taken, time)
        tso_queue.deliver(step, member, taken)
        timing.reached = max(timing.reached, goal)
        _grant(step, member, time)
        return True
    if mode in (TAR, TARA) and galt is not None:
        tso_queue.deliver_until(step, member, min(galt, goal))
    return False


def _drop_unwanted(step: Step, member: Member, galt: Bound | None) -> None:
    """Who asks for the next message is not granted the time of one that it does not want when that might be delivered."""
    timing = member.timing
    dropped = False
    message = timing.queue.first()
    while message is not None and not tso_queue.is_wanted(step, member, message):
        time = message.key[0]
        if time > timing.requested or (galt is not None and galt < (time, 1 if timing.mode == NMR else 0)):
            break
        timing.queue.drop(message)
        tso_queue.pass_over(step, member, message)
        dropped = True
        message = timing.queue.first()
    if dropped:
        changed(step, member)


def _check_flush(step: Step, member: Member) -> bool:
    """A flush that waits for a save: the save may be over, or is to be at another time."""
    federation = step.federation
    timing = member.timing
    limit = federation.saves.limit
    if is_halted(federation, timing):
        return False
    stalled, timing.stalled = timing.stalled, False
    if _must_wait(step, member, timing.flush_time()):
        if stalled:
            _hold_flush(step, member, timing.flush_time())
            return False
        if limit is not None and limit[0] != timing.requested:
            timing.floor = timing.promise()
            _hold_flush(step, member, timing.flush_time())
        return False
    galt = galt_exchange.galt_of(federation, member, step.node)
    if not stalled and timing.constrained and galt is not None and galt < (timing.requested, 1):
        return False  # the home was started again, or the federation restored: it is yet to say how far time may go
    _spend(step.turn, member)
    timing.floor = timing.promise()
    federation.clock.horizon.waiting.pop(member.handle, None)
    _flush(step, member, timing.flush_time())
    told_state(step, member)
    return True


def _grant(step: Step, member: Member, time: TimeValue) -> None:
    federation = step.federation
    timing = member.timing
    mode = timing.mode
    _spend(step.turn, member)
    timing.exclusive = mode in (TAR, NMR) or (timing.exclusive and timing.time == time)
    timing.time = time
    timing.mode = GRANTED
    timing.alarm = 0.0
    federation.clock.horizon.waiting.pop(member.handle, None)
    granted = federation.clock.horizon.granted
    if granted is None or granted[0].value != time:
        granted = federation.clock.horizon.granted = (tso_queue.wrapped(federation, time),)
    step.effects.append(Callback(member.session, "time_advance_grant", granted))
    told_state(step, member)
    publications(step, member)
    if mode in (NMR, NMRA):
        timing.prune()
        changed(step, member)
    elif federation.home == step.node:
        galt_exchange.enter(federation, member, galt_exchange.report_of(member))


def publications(step: Step, member: Member) -> None:
    """Has the time come of what a member here publishes, or does no longer, as of a time (`services.publications`)?"""
    declared = member.declared
    if not declared.timed_published.of and not declared.timed_sends.of:
        return
    timing = member.timing
    if member.node != step.node or timing.mode != GRANTED:
        return
    promise = timing.promise()
    if declared.publishes_by(promise[0]):
        step.order(member, PUBLICATIONS_DUE, (promise[0],))


def queued(step: Step) -> None:
    """At the end of a turn: messages have come for members that ask for the next one."""
    federation = step.federation
    for handle in list(federation.clock.horizon.waiting):
        member = federation.members.get(handle)
        if member is not None and member.node == step.node and member.timing.mode in (NMR, NMRA):
            if federation.home == step.node:
                galt_exchange.enter(federation, member, galt_exchange.report_of(member))
            check(step, member)
    if federation.home == step.node:
        settle(step)


def settle(step: Step) -> None:
    """At the home, when promises have changed: grant all members here that may be granted, and tell the other nodes."""
    turn = step.turn
    federation = step.federation
    if federation.clock.timetable is None:
        return
    _settle_here(step, federation.clock.timetable)
    galt_exchange.publish(step)
    if federation.saves.scheduled is not None or federation.saves.asked:
        turn.begins = True
    if federation.clock.halt is not None and federation.clock.halt.steps:
        turn.begins = True


def _settle_here(step: Step, table: Timetable) -> None:
    federation = step.federation
    horizon = federation.clock.horizon
    view = galt_exchange.view_of(table)
    while view != horizon.view:
        horizon.view = view
        _look_at_all(step)
        view = galt_exchange.view_of(table)
        _passed(federation, galt_exchange.past(federation))


def _look_at_all(step: Step) -> None:
    turn = step.turn
    federation = step.federation
    for handle in list(federation.clock.horizon.waiting):
        member = federation.members.get(handle)
        if member is None or member.node != step.node:
            federation.clock.horizon.waiting.pop(handle, None)
        else:
            check(step, member)
    turn.begins = turn.begins or galt_exchange.somebody_waits_to_begin(federation)
    least = federation.clock.horizon.view.least
    for member in federation.members.values():
        if member.timing.delivered and least is not None:
            delivered = member.timing.delivered
            for retraction in [r for r, time in delivered.items() if (time, 0) < least]:
                del delivered[retraction]


def _passed(federation: Federation, past: TimeValue | None) -> None:
    """Nothing is sent or changed before that time any more, so nothing of it need be known."""
    federation.clock.horizon.past = past
    federation.distribution.reclaim(past)
    for member in federation.members.values():
        if member.timing.given and past is not None:
            member.timing.forget(past)


def look_again(step: Step) -> None:
    """Nobody is held by a save any more, or not so soon."""
    _look_at_all(step)
    if step.federation.home == step.node:
        settle(step)


def told(step: Step, bound: TimeBound) -> None:
    """At another node than the home: how far time may go."""
    federation = step.federation
    horizon = federation.clock.horizon
    horizon.view = bound.view
    horizon.behind = bound.behind
    _passed(federation, bound.past)
    horizon.seen = bound.version
    before = len(step.effects)
    _look_at_all(step)
    reported = any(
        isinstance(effect, Transmit) and isinstance(effect.parcel, TimeReport)
        for effect in step.effects[before:]
    )
    if bound.answer:
        send_report(step, reports_here(step))
    elif not reported and any(
        federation.members[handle].timing.mode in (NMR, NMRA) for handle in horizon.waiting
    ):
        send_report(step, ())


def reports_here(step: Step) -> tuple[Report, ...]:
    here = [member for member in step.federation.members.values() if member.node == step.node]
    return tuple([galt_exchange.report_of(member) for member in here])


def reported(step: Step, sender: str, parcel: TimeReport) -> None:
    turn = step.turn
    federation = step.federation
    galt_exchange.reported(federation, sender, parcel)
    settle(step)
    turn.begins = turn.begins or galt_exchange.somebody_waits_to_begin(federation)


def restored(step: Step) -> None:
    """The federation is another, made of a save: the home knows everybody's time.

    The others are told at the end of the turn: what they are told before the command that makes it they take for another's.
    """
    federation = step.federation
    if federation.home == step.node:
        galt_exchange.refresh(federation)
        if federation.clock.timetable is not None:
            _settle_here(step, federation.clock.timetable)
        _look_at_all(step)
        step.turn.begins = True
    else:
        _look_at_all(step)  # whom nobody but the save has held up


def home_is_back(step: Step) -> None:
    """The home was started again and knows nobody's time: no grants until it has said something."""
    federation = step.federation
    if not any(galt_exchange.takes_part(member) for member in federation.members.values()):
        return
    federation.clock.horizon.view = STOPPED
    federation.clock.horizon.seen = 0
    reports = reports_here(step)
    if reports:
        send_report(step, reports)


# --- for the MOM ------------------------------------------------------------------------------------------------


def told_state(step: Step, member: Member) -> None:
    """HLAtimeManagerState has changed; it changes often, so only where somebody watches it."""
    federation = step.federation
    instance = federation.instances.get(mom_handle(member))
    if instance is not None and instance.knowledge.mask & ~federation.rti.bit:
        step.tell_rti(TIME_STATE_CHANGED, (member.handle, state_of(member)))


def state_of(member: Member) -> str:
    return "TimeGranted" if member.timing.mode == GRANTED else "TimeAdvancing"


def _spend(turn: Turn, member: Member) -> None:
    timing = member.timing
    state = 0 if timing.mode == GRANTED else 1
    timing.spent[state] += turn.now - max(timing.since, timing.told[state], member.granted_since)
    timing.since = turn.now
