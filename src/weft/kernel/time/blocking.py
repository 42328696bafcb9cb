"""Who blocks: whom or what a federate that asks to advance waits for, and who is told of it after how long."""

from __future__ import annotations

from weft.kernel.state.effects import Alarm, Callback
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.step import Step
from weft.kernel.state.time_state import FLUSH, GRANTED, NMR, NMRA, SERVICE_NAMES, TAR, Report, Timing
from weft.kernel.state.turn import Turn
from weft.kernel.time import galt_exchange
from weft.model.handles import FederateHandle
from weft.model.json_types import JsonObject
from weft.model.time import TimeValue
from weft.ordering.galt import Bound

BLOCKED = "time_advance_blocked"


def is_halted(federation: Federation, timing: Timing) -> bool:
    """Does a flush wait for the operator?  A step lets each through once, who is no further than its time.

    One that has waited for a save is further: it has promised not to send before that.
    """
    halt = federation.clock.halt
    time = timing.requested if timing.mode == FLUSH and not timing.stalled else timing.time
    return halt is not None and not (halt.lets(time) and timing.flushed < halt.round)


def may_advance_alone(federation: Federation, member: Member) -> bool:
    """Nobody else regulates: the switch says if time may advance all the same.  For a federate of 2010 it always may."""
    if member.timing.regulating or member.switches.non_regulated_grant:
        return True
    return federation.switch("nonRegulatedGrant")


def arm(turn: Turn, member: Member) -> None:
    """If it is still waiting after so long, it is told who blocks it."""
    timing = member.timing
    timing.alarm = turn.now + timing.patience
    turn.effects.append(Alarm(member.session, timing.alarm))


def next_due(federation: Federation, node: str) -> float | None:
    table = federation.clock.timetable
    due = table.review if table is not None and table.review else None
    for handle in federation.clock.horizon.waiting:
        member = federation.members.get(handle)
        if member is not None and member.node == node and member.timing.alarm:
            due = member.timing.alarm if due is None else min(due, member.timing.alarm)
    return due


def remind(step: Step) -> None:
    """Tell those who have waited too long, and again after as long; and nodes who it is by now that blocks."""
    federation = step.federation
    galt_exchange.name_again(step)
    for handle in list(federation.clock.horizon.waiting):
        member = federation.members.get(handle)
        if member is None or member.node != step.node or not member.timing.alarm:
            continue
        if member.timing.alarm <= step.now:
            step.effects.append(Callback(member.session, BLOCKED, (blocking(step, member),)))
            arm(step.turn, member)


def blocking(step: Step, member: Member) -> JsonObject:
    """Whom a member waits for, in plain data."""
    federation = step.federation
    timing = member.timing
    galt = galt_exchange.galt_of(federation, member, step.node)
    return {
        "federate": member.name,
        "state": SERVICE_NAMES[timing.mode],
        "time": timing.time,
        "requested": _asked(timing),
        "seconds": round(step.now - timing.since, 3) if timing.since else 0.0,
        "galt": None if galt is None else galt[0],
        "settling": [[time, nodes] for time, nodes in settling(member)],
        "blocked_by": []
        if timing.mode == GRANTED or only_halted(federation, member, galt)
        else [
            _blocker(step, one)
            for one in galt_exchange.who_is_behind(federation, step.node)
            if one.federate != member.handle.number
        ],
        "save": held_for(federation, member, galt),
        "paused": halted_by(federation, member),
    }


def _asked(timing: Timing) -> TimeValue | None:
    if timing.mode == GRANTED:
        return None
    asked: TimeValue | None = timing.flushing if timing.stalled else timing.requested
    return asked


def halted_by(federation: Federation, member: Member) -> str:
    """Who has paused the federation, if that keeps a member here from what it asks for."""
    halt = federation.clock.halt
    timing = member.timing
    if halt is None or timing.mode == GRANTED:
        return ""
    if timing.mode == FLUSH:
        return halt.by if is_halted(federation, timing) else ""
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
    limit = federation.saves.limit
    if limit is None or timing.mode == GRANTED or not timing.constrained:
        return ""
    asked = timing.flush_time() if timing.mode == FLUSH else timing.requested
    if asked <= limit[0] or (galt is not None and galt < limit):
        return ""
    if federation.saves.saving is not None:
        return federation.saves.saving.label
    return federation.saves.scheduled[0] if federation.saves.scheduled is not None else ""


def settling(member: Member) -> list[tuple[TimeValue, list[str]]]:
    """Its changes as of a time that are under way: the time, and the nodes that have not carried it out yet."""
    return [
        (change.time, [] if change.nodes is None else list(change.nodes))
        for change in member.timing.changes.values()
    ]


def _blocker(step: Step, report: Report) -> JsonObject:
    found = step.federation.members.get(FederateHandle.of(report.federate))
    told: JsonObject = {
        "federate": "?" if found is None else found.name,
        "node": "?" if found is None else found.node,
        "state": SERVICE_NAMES[report.mode],
        "time": report.time,
        "requested": None if report.mode == GRANTED else report.requested,
        "lookahead": report.lookahead,
    }
    if found is not None and found.absence is not None:
        told["absence"] = found.absence.words(step.now)
    return told
