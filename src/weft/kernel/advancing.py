"""Logical time at a federate's own node: what waits for it, and when it is granted what it asked for.

A time-constrained federate gets messages in time stamp order (TSO) while it advances, and never one of its past.  What comes in
receive order (RO) waits while it is granted, unless it has enabled asynchronous delivery.

    asks for      is granted                                              after all messages
    TAR    t      t, once nobody will send at or before t                 up to t
    TARA   t      t, once nobody will send before t                       before t, and those of t that are there
    NMR    t      the time of the next message if that is before t, else t, once nobody will send at or before that time
    NMRA   t      the same, once nobody will send before that time
    FQR    t      at once: all that waits is delivered, whatever may still come before it

`weft.kernel.timetable` says how a node knows what nobody will send any more: the federate's GALT.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.kernel import recording_orders, timetable
from weft.kernel.effects import Alarm, Callback, Transmit
from weft.kernel.parcels import TimeBound, TimeReport
from weft.kernel.state import Federation, Member, mom_handle
from weft.kernel.timing import (
    FLUSH,
    GRANTED,
    NMR,
    NMRA,
    SERVICE_NAMES,
    STOPPED,
    TAR,
    TARA,
    Report,
    Timetable,
    Timing,
)
from weft.kernel.turn import Turn
from weft.model.enums import OrderType
from weft.model.handles import FederateHandle
from weft.model.time import LogicalTime
from weft.ordering.galt import Bound
from weft.ordering.stamped import Key, Stamped

BLOCKED = "time_advance_blocked"

Callbacks = list[tuple[str, tuple[Any, ...]]]
LATE: dict[str, Callable[[Federation, Member, tuple[Any, ...], bool], Callbacks]] = {}
"""What becomes of messages for which interest is asked when they are delivered, by service (`weft.kernel.late`)."""


def wrapped(federation: Federation, value: Any) -> LogicalTime:
    """A number as the federation's logical time, which ends somewhere."""
    factory: Any = federation.time
    final = factory.make_final()
    made: LogicalTime = final if value >= final.value else factory.make_time(value)
    return made


# --- messages for a federate ----------------------------------------------------------------------------------


def hand(
    turn: Turn,
    member: Member,
    method: str,
    arguments: tuple[Any, ...],
    order: OrderType | None = OrderType.RECEIVE,
) -> None:
    """In receive order or one of Weft's own, to a member that may be time-constrained."""
    if member.timing.is_holding():
        member.timing.held.append((method, arguments, turn.number))
    else:
        _issue(turn, member, method, arguments, order, turn.number)


def _issue(
    turn: Turn,
    member: Member,
    method: str,
    arguments: tuple[Any, ...],
    order: OrderType | None,
    number: int = 0,  # of a stamped message: what its retraction says
) -> None:
    if member.qos is None:
        turn.effects.append(Callback(member.session, method, arguments, number))
    else:
        member.qos.issue(turn, method, arguments, order, number)


def arrived(
    turn: Turn,
    federation: Federation,
    member: Member,
    sender: Member,
    method: str,
    arguments: tuple[Any, ...],
    stamp: tuple[Any, ...],
    part: int = 0,
    condition: Any = None,
) -> None:
    """In time stamp order, to any member.  `arguments` end with the stamp; all who get the same may share them."""
    timing = member.timing
    time, _, _, retraction = stamp
    if not timing.constrained:
        timing.delivered[retraction] = time.value
        _issue(turn, member, method, _at_once(arguments), OrderType.RECEIVE)
    elif (time.value, 0) < timing.reached:
        # Its sender was taken for lost, and time went on without it.
        for one, given in wanted(federation, member, method, arguments):
            hand(turn, member, one, _at_once(given))
    else:
        number = int.from_bytes(retraction[4:], "big")
        key: Key = (time.value, sender.name, number, part)
        message = Stamped(key, (method, arguments), retraction)
        message.condition = condition
        timing.queue.add(message)
        if federation.recorder is not None:
            recording_orders.queued(
                turn, federation, federation.recorder, member, sender, method, arguments, number
            )
        if timing.mode in (NMR, NMRA):
            turn.queued = True
            federation.horizon.waiting[member.handle] = None


def wanted(
    federation: Federation, member: Member, method: str, arguments: tuple[Any, ...], count: bool = True
) -> Callbacks:
    """The callbacks by which a member gets what has waited for it, if it still wants it."""
    late = LATE.get(method)
    if late is not None:
        return late(federation, member, arguments, count)
    if method == "reflect_attribute_values":
        instance = federation.instances.get(arguments[0])
        if instance is None or not instance.knowledge.mask & member.bit:
            return []
    return [(method, arguments)]


def _is_wanted(federation: Federation, member: Member, message: Stamped) -> bool:
    method, arguments = message.content
    return method not in LATE or bool(wanted(federation, member, method, arguments, count=False))


def _at_once(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same, received in receive order."""
    time, sent, _, retraction = arguments[-4:]
    return (*arguments[:-4], time, sent, OrderType.RECEIVE, retraction)


def queued(turn: Turn, federation: Federation) -> None:
    """At the end of a turn: messages have come for members that ask for the next one."""
    for handle in list(federation.horizon.waiting):
        member = federation.members.get(handle)
        if member is not None and member.node == turn.node and member.timing.mode in (NMR, NMRA):
            if federation.home == turn.node:
                timetable.enter(federation, member, timetable.report_of(member))
            check(turn, federation, member)
    if federation.home == turn.node:
        settle(turn, federation)


def _deliver(turn: Turn, federation: Federation, member: Member, messages: list[Stamped]) -> None:
    """What waited in its queue, but for what it does not want, or cannot, by now."""
    for message in messages:
        for method, arguments in wanted(federation, member, *message.content):
            if method == "remove_object_instance":
                handle = arguments[0]
                member.timing.gone[handle] = None
                turn.order(federation, member, "instance_removed", (handle.number,))
            _issue(turn, member, method, arguments, OrderType.TIMESTAMP)


def deliver_until(turn: Turn, federation: Federation, member: Member, limit: Bound) -> None:
    member.timing.reached = max(member.timing.reached, limit)
    taken = member.timing.queue.take(limit)
    _remember_open(member, taken, limit[0])
    _deliver(turn, federation, member, taken)


def deliver_rest(turn: Turn, federation: Federation, member: Member) -> None:
    """It is not constrained any more: what waits is delivered as to anybody who is not."""
    for message in member.timing.queue.take_all():
        method, arguments = message.content
        member.timing.delivered[message.retraction] = message.key[0]
        _remember(member, message)
        message.content = (method, _at_once(arguments))
        _deliver(turn, federation, member, [message])


def _remember(member: Member, message: Stamped) -> None:
    """It is delivered while its time may still be changed: some or all of it may be sent again (`weft.kernel.distributing`)."""
    if message.condition is None:
        return  # it goes by no regions
    method, arguments = message.content
    values = arguments[1] if method == "reflect_attribute_values" else {}
    sent = values if isinstance(values, dict) else values.handles
    member.timing.give(message.retraction, message.key[0], sent)


def _remember_open(member: Member, messages: list[Stamped], time: Any) -> None:
    """Who is granted an "available" time may, without lookahead, still change something as of that time."""
    if member.timing.mode in (TARA, NMRA):
        for message in reversed(messages):
            if message.key[0] < time:
                break
            _remember(member, message)


def release_held(turn: Turn, federation: Federation, member: Member) -> None:
    """Where there are orders of Weft's own, it is not known any more which of them were in receive order."""
    held, member.timing.held = member.timing.held, []
    order = None if federation.ordered else OrderType.RECEIVE
    for method, arguments, number in held:
        _issue(turn, member, method, arguments, order, number)


# --- asking ---------------------------------------------------------------------------------------------------


def ask(turn: Turn, federation: Federation, member: Member, mode: int, time: Any) -> None:
    """The request is allowed; grant it now or later."""
    timing = member.timing
    _spend(turn, member)
    timing.floor = timing.promise()
    timing.mode = mode
    timing.requested = time
    timing.prune()
    release_held(turn, federation, member)
    federation.horizon.waiting[member.handle] = None
    told_state(turn, federation, member)
    changed(turn, federation, member)
    if not check(turn, federation, member) and timing.patience:
        arm(turn, member)
    if federation.home == turn.node:
        settle(turn, federation)


def flush(turn: Turn, federation: Federation, member: Member, time: Any) -> None:
    """Flush Queue Request."""
    timing = member.timing
    _spend(turn, member)
    timing.floor = timing.promise()
    timing.mode = TAR  # what is delivered now is delivered while it advances
    release_held(turn, federation, member)
    halted = _is_halted(federation, timing)
    if halted or _must_wait(turn, federation, member, time):
        federation.horizon.waiting[member.handle] = None
        told_state(turn, federation, member)
        hold = _stall_flush if halted else _hold_flush
        hold(turn, federation, member, time)
        if halted and timing.patience:
            arm(turn, member)
    else:
        _flush(turn, federation, member, time)
    if federation.home == turn.node:
        settle(turn, federation)


def _is_halted(federation: Federation, timing: Timing) -> bool:
    """Does a flush wait for the operator?  A step lets each through once, who is no further than its time.

    One that has waited for a save is further: it has promised not to send before that.
    """
    halt = federation.halt
    time = timing.requested if timing.mode == FLUSH and not timing.stalled else timing.time
    return halt is not None and not (halt.lets(time) and timing.flushed < halt.round)


def _stall_flush(turn: Turn, federation: Federation, member: Member, time: Any) -> None:
    """As far as the others are concerned, it has not asked yet."""
    timing = member.timing
    timing.mode = FLUSH
    timing.flushing = time
    timing.requested = timing.time
    timing.stalled = True
    changed(turn, federation, member)


def _must_wait(turn: Turn, federation: Federation, member: Member, time: Any) -> bool:
    """A federation is to be saved at a time that a flush would take it beyond."""
    limit = federation.save_limit
    if limit is None or time <= limit[0] or not member.timing.constrained:
        return False
    galt = timetable.galt_of(federation, member, turn.node)
    head = member.timing.queue.head()
    return (galt is None or galt >= limit) and (head is None or head > limit[0])


def _hold_flush(turn: Turn, federation: Federation, member: Member, time: Any) -> None:
    """It waits at the time of the save, as far as the others are concerned."""
    timing = member.timing
    limit = federation.save_limit
    assert limit is not None
    timing.mode = FLUSH
    timing.flushing = time
    timing.requested = limit[0]
    timing.reached = max(timing.reached, limit)
    changed(turn, federation, member)


def _flush(turn: Turn, federation: Federation, member: Member, time: Any) -> None:
    timing = member.timing
    waited = timing.flushing is not None
    timing.flushing = None
    galt = timetable.galt_of(federation, member, turn.node)
    if federation.save_limit is not None and timing.constrained:
        galt = federation.save_limit if galt is None else min(galt, federation.save_limit)
    halt = federation.halt
    if halt is not None and halt.gate is not None:
        timing.flushed = halt.round
        galt = (halt.gate, 1) if galt is None else min(galt, (halt.gate, 1))
    taken = [message for message in timing.queue.take_all() if _is_wanted(federation, member, message)]
    optimistic = min([time, *[message.key[0] for message in taken[:1]]])
    granted = optimistic if galt is None else min(optimistic, galt[0])
    for message in taken:
        timing.delivered[message.retraction] = message.key[0]
        _remember(member, message)
    _deliver(turn, federation, member, taken)
    timing.mode = GRANTED
    if granted > timing.time:
        timing.time = granted
        timing.exclusive = waited and granted == timing.requested
    timing.reached = max(timing.reached, (timing.time, 0))
    times = (wrapped(federation, timing.time), wrapped(federation, optimistic))
    turn.effects.append(Callback(member.session, "flush_queue_grant", times))
    timing.prune()
    changed(turn, federation, member)


def changed(turn: Turn, federation: Federation, member: Member) -> None:
    """The member promises something else than before: the home is to know."""
    report = timetable.report_of(member)
    if federation.home == turn.node:
        timetable.enter(federation, member, report)
    else:
        send_report(turn, federation, (report,))


def send_report(turn: Turn, federation: Federation, reports: tuple[Report, ...]) -> None:
    """It says what this node has seen, so all who ask for the next message are in it, with what waits for them now."""
    horizon = federation.horizon
    for handle in horizon.waiting:
        member = federation.members.get(handle)
        if member is not None and member.timing.mode in (NMR, NMRA):
            number = handle.number
            if number not in [report.federate for report in reports]:
                reports = (*reports, timetable.report_of(member))
    announced = tuple(horizon.announce.items())
    horizon.announce = {}
    parcel = TimeReport(
        federation.name, federation.execution, federation.sequence, horizon.seen, reports, announced
    )
    turn.effects.append(Transmit(federation.home, parcel))


# --- granting -------------------------------------------------------------------------------------------------


def check(turn: Turn, federation: Federation, member: Member) -> bool:
    """Deliver what may be delivered and grant what may be granted to a member here; True if it is granted."""
    timing = member.timing
    mode = timing.mode
    if mode == GRANTED:
        return False
    if mode == FLUSH:
        return _check_flush(turn, federation, member)
    halt = federation.halt
    if not timing.constrained:
        if halt is not None and not halt.lets(timing.requested):
            return False
        _grant(turn, federation, member, timing.requested)
        return True
    galt = timetable.promised_to(federation, member, turn.node)
    if galt is None and not may_advance_alone(federation, member):
        return False
    if federation.save_limit is not None:
        galt = federation.save_limit if galt is None else min(galt, federation.save_limit)
    if halt is not None:
        if halt.gate is None:
            return False
        galt = (halt.gate, 1) if galt is None else min(galt, (halt.gate, 1))
    held = timing.late_from()
    if held is not None and (galt is None or held < galt):
        galt = held
    time = timing.requested
    if mode in (NMR, NMRA):
        _drop_unwanted(turn, federation, member, galt)
        head = timing.queue.head()
        if head is not None and head < time:
            time = head
    goal: Bound = (time, 1 if mode in (TAR, NMR) else 0)
    if (galt is None or galt >= goal) and (held is None or time < held[0]):
        taken = timing.queue.take((time, 1))
        _remember_open(member, taken, time)
        _deliver(turn, federation, member, taken)
        timing.reached = max(timing.reached, goal)
        _grant(turn, federation, member, time)
        return True
    if mode in (TAR, TARA) and galt is not None:
        deliver_until(turn, federation, member, min(galt, goal))
    return False


def _drop_unwanted(turn: Turn, federation: Federation, member: Member, galt: Bound | None) -> None:
    """Who asks for the next message is not granted the time of one that it does not want when that might be delivered."""
    timing = member.timing
    dropped = False
    message = timing.queue.first()
    while message is not None and not _is_wanted(federation, member, message):
        time = message.key[0]
        if time > timing.requested or (galt is not None and galt < (time, 1 if timing.mode == NMR else 0)):
            break
        timing.queue.drop(message)
        dropped = True
        message = timing.queue.first()
    if dropped:
        changed(turn, federation, member)


def _check_flush(turn: Turn, federation: Federation, member: Member) -> bool:
    """A flush that waits for a save: the save may be over, or is to be at another time."""
    timing = member.timing
    limit = federation.save_limit
    if _is_halted(federation, timing):
        return False
    stalled, timing.stalled = timing.stalled, False
    if _must_wait(turn, federation, member, timing.flushing):
        if stalled:
            _hold_flush(turn, federation, member, timing.flushing)
            return False
        if limit is not None and limit[0] != timing.requested:
            timing.floor = timing.promise()
            _hold_flush(turn, federation, member, timing.flushing)
        return False
    galt = timetable.galt_of(federation, member, turn.node)
    if not stalled and timing.constrained and galt is not None and galt < (timing.requested, 1):
        return False  # the home was started again, or the federation restored: it is yet to say how far time may go
    _spend(turn, member)
    timing.floor = timing.promise()
    federation.horizon.waiting.pop(member.handle, None)
    _flush(turn, federation, member, timing.flushing)
    told_state(turn, federation, member)
    return True


def may_advance_alone(federation: Federation, member: Member) -> bool:
    """Nobody else regulates: the switch says if time may advance all the same."""
    return member.timing.regulating or federation.switch("nonRegulatedGrant")


def _grant(turn: Turn, federation: Federation, member: Member, time: Any) -> None:
    timing = member.timing
    mode = timing.mode
    _spend(turn, member)
    timing.exclusive = mode in (TAR, NMR) or (timing.exclusive and timing.time == time)
    timing.time = time
    timing.mode = GRANTED
    timing.alarm = 0.0
    federation.horizon.waiting.pop(member.handle, None)
    granted = federation.horizon.granted
    if granted is None or granted[0].value != time:
        granted = federation.horizon.granted = (wrapped(federation, time),)
    turn.effects.append(Callback(member.session, "time_advance_grant", granted))
    told_state(turn, federation, member)
    if mode in (NMR, NMRA):
        timing.prune()
        changed(turn, federation, member)
    elif federation.home == turn.node:
        timetable.enter(federation, member, timetable.report_of(member))


def settle(turn: Turn, federation: Federation) -> None:
    """At the home, when promises have changed: grant all members here that may be granted, and tell the other nodes."""
    if federation.timetable is None:
        return
    _settle_here(turn, federation, federation.timetable)
    timetable.publish(turn, federation)
    if federation.save_scheduled is not None or federation.save_asked:
        turn.begins = True
    if federation.halt is not None and federation.halt.steps:
        turn.begins = True


def _settle_here(turn: Turn, federation: Federation, table: Timetable) -> None:
    horizon = federation.horizon
    view = timetable.view_of(table)
    while view != horizon.view:
        horizon.view = view
        _look_at_all(turn, federation)
        view = timetable.view_of(table)
        _passed(federation, timetable.past(federation))


def _look_at_all(turn: Turn, federation: Federation) -> None:
    for handle in list(federation.horizon.waiting):
        member = federation.members.get(handle)
        if member is None or member.node != turn.node:
            federation.horizon.waiting.pop(handle, None)
        else:
            check(turn, federation, member)
    turn.begins = turn.begins or timetable.somebody_waits_to_begin(federation)
    least = federation.horizon.view.least
    for member in federation.members.values():
        if member.timing.delivered and least is not None:
            delivered = member.timing.delivered
            for retraction in [r for r, time in delivered.items() if (time, 0) < least]:
                del delivered[retraction]


def _passed(federation: Federation, past: Any) -> None:
    """Nothing is sent or changed before that time any more, so nothing of it need be known."""
    federation.horizon.past = past
    federation.distribution.reclaim(past)
    for member in federation.members.values():
        if member.timing.given and past is not None:
            member.timing.forget(past)


def look_again(turn: Turn, federation: Federation) -> None:
    """Nobody is held by a save any more, or not so soon."""
    _look_at_all(turn, federation)
    if federation.home == turn.node:
        settle(turn, federation)


def told(turn: Turn, federation: Federation, bound: TimeBound) -> None:
    """At another node than the home: how far time may go."""
    horizon = federation.horizon
    horizon.view = bound.view
    horizon.behind = bound.behind
    _passed(federation, bound.past)
    horizon.seen = bound.version
    before = len(turn.effects)
    _look_at_all(turn, federation)
    reported = any(
        isinstance(effect, Transmit) and isinstance(effect.parcel, TimeReport)
        for effect in turn.effects[before:]
    )
    if bound.answer:
        send_report(turn, federation, reports_here(turn, federation))
    elif not reported and any(
        federation.members[handle].timing.mode in (NMR, NMRA) for handle in horizon.waiting
    ):
        send_report(turn, federation, ())


def reports_here(turn: Turn, federation: Federation) -> tuple[Report, ...]:
    here = [member for member in federation.members.values() if member.node == turn.node]
    return tuple([timetable.report_of(member) for member in here])


def reported(turn: Turn, federation: Federation, sender: str, parcel: TimeReport) -> None:
    timetable.reported(federation, sender, parcel)
    settle(turn, federation)
    turn.begins = turn.begins or timetable.somebody_waits_to_begin(federation)


def restored(turn: Turn, federation: Federation) -> None:
    """The federation is another, made of a save: the home knows everybody's time.

    The others are told at the end of the turn: what they are told before the command that makes it they take for another's.
    """
    if federation.home == turn.node:
        timetable.refresh(federation)
        if federation.timetable is not None:
            _settle_here(turn, federation, federation.timetable)
        _look_at_all(turn, federation)
        turn.begins = True
    else:
        _look_at_all(turn, federation)  # whom nobody but the save has held up


def home_is_back(turn: Turn, federation: Federation) -> None:
    """The home was started again and knows nobody's time: no grants until it has said something."""
    if not any(timetable.takes_part(member) for member in federation.members.values()):
        return
    federation.horizon.view = STOPPED
    federation.horizon.seen = 0
    reports = reports_here(turn, federation)
    if reports:
        send_report(turn, federation, reports)


# --- who blocks, and for how long -------------------------------------------------------------------------------


def arm(turn: Turn, member: Member) -> None:
    """If it is still waiting after so long, it is told who blocks it."""
    timing = member.timing
    timing.alarm = turn.now + timing.patience
    turn.effects.append(Alarm(member.session, timing.alarm))


def next_due(federation: Federation, node: str) -> float | None:
    table = federation.timetable
    due = table.review if table is not None and table.review else None
    for handle in federation.horizon.waiting:
        member = federation.members.get(handle)
        if member is not None and member.node == node and member.timing.alarm:
            due = member.timing.alarm if due is None else min(due, member.timing.alarm)
    return due


def remind(turn: Turn, federation: Federation) -> None:
    """Tell those who have waited too long, and again after as long; and nodes who it is by now that blocks."""
    timetable.name_again(turn, federation)
    for handle in list(federation.horizon.waiting):
        member = federation.members.get(handle)
        if member is None or member.node != turn.node or not member.timing.alarm:
            continue
        if member.timing.alarm <= turn.now:
            turn.effects.append(Callback(member.session, BLOCKED, (blocking(turn, federation, member),)))
            arm(turn, member)


def blocking(turn: Turn, federation: Federation, member: Member) -> dict[str, Any]:
    """Whom a member waits for, in plain data."""
    timing = member.timing
    galt = timetable.galt_of(federation, member, turn.node)
    return {
        "federate": member.name,
        "state": SERVICE_NAMES[timing.mode],
        "time": timing.time,
        "requested": _asked(timing),
        "seconds": round(turn.now - timing.since, 3) if timing.since else 0.0,
        "galt": None if galt is None else galt[0],
        "settling": settling(member),
        "blocked_by": []
        if timing.mode == GRANTED or only_halted(federation, member, galt)
        else [
            _blocker(federation, one)
            for one in timetable.who_is_behind(federation, turn.node)
            if one.federate != member.handle.number
        ],
        "save": held_for(federation, member, galt),
        "paused": halted_by(federation, member),
    }


def _asked(timing: Timing) -> Any:
    if timing.mode == GRANTED:
        return None
    return timing.flushing if timing.stalled else timing.requested


def halted_by(federation: Federation, member: Member) -> str:
    """Who has paused the federation, if that keeps a member here from what it asks for."""
    halt = federation.halt
    timing = member.timing
    if halt is None or timing.mode == GRANTED:
        return ""
    if timing.mode == FLUSH:
        return halt.by if _is_halted(federation, timing) else ""
    return "" if halt.lets(_goal(timing)[0]) else halt.by


def only_halted(federation: Federation, member: Member, galt: Bound | None) -> bool:
    """Does a member here wait for the operator and for nobody else?"""
    if not halted_by(federation, member):
        return False
    timing = member.timing
    if timing.mode == FLUSH or not timing.constrained:
        return True
    return may_advance_alone(federation, member) if galt is None else galt >= _goal(timing)


def _goal(timing: Timing) -> Bound:
    """What nobody may send less than any more before it is granted what it asks for."""
    time = timing.requested
    if timing.mode in (NMR, NMRA) and timing.constrained:
        head = timing.queue.head()
        time = time if head is None else min(time, head)
    return time, 1 if timing.mode in (TAR, NMR) else 0


def held_for(federation: Federation, member: Member, galt: Bound | None) -> str:
    """The label of the save that alone keeps the member from more."""
    timing = member.timing
    limit = federation.save_limit
    if limit is None or timing.mode == GRANTED or not timing.constrained:
        return ""
    asked = timing.flushing if timing.mode == FLUSH else timing.requested
    if asked <= limit[0] or (galt is not None and galt < limit):
        return ""
    if federation.saving is not None:
        return federation.saving.label
    return federation.save_scheduled[0] if federation.save_scheduled is not None else ""


def settling(member: Member) -> list[list[Any]]:
    """Its changes as of a time that are under way: the time, and the nodes that have not carried it out yet."""
    return [
        [change.time, [] if change.nodes is None else list(change.nodes)]
        for change in member.timing.changes.values()
    ]


def _blocker(federation: Federation, report: Report) -> dict[str, Any]:
    found = federation.members.get(FederateHandle.of(report.federate))
    return {
        "federate": "?" if found is None else found.name,
        "node": "?" if found is None else found.node,
        "state": SERVICE_NAMES[report.mode],
        "time": report.time,
        "requested": None if report.mode == GRANTED else report.requested,
        "lookahead": report.lookahead,
    }


# --- for the MOM ------------------------------------------------------------------------------------------------


def told_state(turn: Turn, federation: Federation, member: Member) -> None:
    """HLAtimeManagerState has changed; it changes often, so only where somebody watches it."""
    instance = federation.instances.get(mom_handle(member))
    if instance is not None and instance.knowledge.mask & ~federation.rti.bit:
        turn.note(federation, member, "HLAtimeManagerState")


def _spend(turn: Turn, member: Member) -> None:
    timing = member.timing
    state = 0 if timing.mode == GRANTED else 1
    timing.spent[state] += turn.now - max(timing.since, timing.told[state], member.granted_since)
    timing.since = turn.now
