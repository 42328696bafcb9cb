"""How nodes agree on logical time.

The home knows what every time-regulating federate promises, and from that how far everybody may go (`weft.ordering.galt`).
Each node reports what its members ask for (`TimeReport`); the home tells all nodes what follows, when it changes
(`TimeBound`); each node then grants its own members, who need not ask again.  When all advance in step that is one report for
each federate and one word to each node.

Messages in time stamp order, reports and bounds go by the causal class.  So a message that was sent before a promise is at its
receiver before any bound that follows from the promise: nobody counts messages under way, and no grant can overtake one.

One thing has to be counted all the same.  Who asks for the next message may be granted the time of a message that its node,
when it reported, did not have yet.  Therefore a report also names the smallest time stamp that was sent to each node since
the report before; the home keeps it until that node has reported after having been told something later, for by then it has
the message.

A federate that begins to regulate must not be able to send into anybody's past.  It is entered with the least it might
promise, which holds up all others; when all nodes have answered to that, the home knows how far everybody has come, and from
when on it may regulate.
"""

from __future__ import annotations

from typing import Final

from weft.kernel.state.effects import Alarm, Transmit
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.parcels import TimeBound, TimeReport
from weft.kernel.state.step import Step
from weft.kernel.state.time_state import (
    FLUSH,
    GRANTED,
    NMR,
    NMRA,
    NO_VIEW,
    STOPPED,
    TAR,
    TARA,
    Report,
    Timetable,
    View,
    bound_of,
)
from weft.kernel.time.report_codec import pack_report, unpack_reports
from weft.model.handles import FederateHandle
from weft.model.time import TimeValue
from weft.ordering.galt import Bound

_NAMED: Final = 8  # so many federates are named as those who block
# For so many seconds a node may take somebody for behind who has asked to advance meanwhile.
_STALE: Final = 0.25


def report_of(member: Member) -> Report:
    timing = member.timing
    mode = timing.mode
    head = None
    if timing.stalled:
        # A flush that waits for the operator promises what it did before it was asked for; `head` says how far it might go.
        mode = GRANTED
        head = timing.queue.head()
        head = timing.flush_time() if head is None else min(head, timing.flush_time())
    elif mode in (NMR, NMRA):
        head = timing.queue.head()
        held = timing.late_from()
        if held is not None:  # something may come late, and be the next message
            head = held[0] if head is None else min(head, held[0])
    return Report(
        member.handle.number,
        mode,
        timing.time,
        timing.exclusive,
        timing.requested,
        timing.lookahead,
        timing.floor,
        head,
        timing.reached,
    )


def table_of(federation: Federation) -> Timetable:
    if federation.clock.timetable is None:
        federation.clock.timetable = Timetable()
    return federation.clock.timetable


# --- what comes in at the home ----------------------------------------------------------------------------------


def enter(federation: Federation, member: Member, report: Report) -> None:
    """At the home: a federate has reported."""
    table = table_of(federation)
    table.reports[member.handle] = report
    table.silent.pop(member.handle, None)
    asking = table.asking.setdefault(member.node, {})
    if report.mode in (NMR, NMRA):
        asking[member.handle] = None
    else:
        asking.pop(member.handle, None)
    _promise(federation, table, member)


def _promise(federation: Federation, table: Timetable, member: Member) -> None:
    timing = member.timing
    report = table.reports.get(member.handle)
    if member.handle in table.silent:
        if timing.regulating:
            table.bounds.promise(member.handle, (0, 0), 0)
    elif timing.regulating and report is not None:
        bound, until = _bound(federation, table, member, report)
        table.bounds.promise(member.handle, bound, report.lookahead, until, report.floor)
    elif member.handle in table.freezing and report is not None:
        table.bounds.promise(member.handle, (report.time + timing.asked_lookahead, 0), timing.asked_lookahead)
    else:
        table.bounds.withdraw(member.handle)


def _bound(federation: Federation, table: Timetable, member: Member, report: Report) -> tuple[Bound, bool]:
    if report.mode == GRANTED:
        return bound_of(report.time, report.lookahead, report.exclusive, report.floor), False
    time = next_time(table, member, report)
    exclusive = report.mode in (TAR, NMR, FLUSH)
    return bound_of(time, report.lookahead, exclusive, report.floor), report.mode in (NMR, NMRA)


def next_time(table: Timetable, member: Member, report: Report) -> TimeValue:
    """What a federate that asks to advance may be granted: no less, as far as messages are known."""
    time: TimeValue = report.requested
    if report.mode in (NMR, NMRA):
        if report.head is not None:
            time = min(time, report.head)
        for _, stamp in table.under_way.get(member.node, ()):
            time = min(time, stamp)
    return time


def reported(federation: Federation, sender: str, parcel: TimeReport) -> None:
    """At the home: another node has reported."""
    table = table_of(federation)
    table.seen[sender] = max(table.seen.get(sender, 0), parcel.seen)
    here = [one for one in table.under_way.get(sender, ()) if one[0] > parcel.seen]
    table.under_way[sender] = here
    for report in parcel.reports:
        member = federation.members.get(FederateHandle.of(report.federate))
        if member is not None and member.node == sender:
            enter(federation, member, report)
    for node, stamp in parcel.announced:
        if node != federation.home:  # what comes here has come before this
            _is_under_way(federation, table, node, stamp)
    _again(federation, table, sender)


def announce(federation: Federation, nodes: tuple[str, ...], stamp: TimeValue) -> None:
    """At the home: a member here has sent to these nodes."""
    federation.clock.horizon.announce.clear()
    table = table_of(federation)
    for node in nodes:
        _is_under_way(federation, table, node, stamp)


def _is_under_way(federation: Federation, table: Timetable, node: str, stamp: TimeValue) -> None:
    """A message is, until that node has seen what it will be told next."""
    known = table.under_way.setdefault(node, [])
    version = table.version + 1
    if known and known[-1][0] == version:
        known[-1] = (version, min(known[-1][1], stamp))
    else:
        known.append((version, stamp))
    _again(federation, table, node)


def _again(federation: Federation, table: Timetable, node: str) -> None:
    """What is under way to a node has changed: that matters for those who ask for the next message there."""
    for handle in table.asking.get(node, ()):
        _promise(federation, table, federation.members[handle])


def flags_changed(federation: Federation, member: Member) -> None:
    """At the home: the federate has begun or ended to regulate, or wants to."""
    table = table_of(federation)
    if member.handle not in table.reports and member.handle not in table.silent:
        table.reports[member.handle] = Report(
            member.handle.number, GRANTED, 0, False, 0, 0, (0, 0), None, (0, 0)
        )
    if member.timing.regulation_pending and member.handle not in table.freezing:
        table.freezing[member.handle] = table.version + 1
    if not member.timing.regulation_pending:
        table.freezing.pop(member.handle, None)
    if member.timing.constrained_pending:
        table.pending[member.handle] = None
    _promise(federation, table, member)


def left(federation: Federation, member: Member) -> None:
    """A federate has resigned."""
    federation.clock.horizon.waiting.pop(member.handle, None)
    table = federation.clock.timetable
    if table is not None:
        table.bounds.withdraw(member.handle)
        table.asking.get(member.node, {}).pop(member.handle, None)
        table.reports.pop(member.handle, None)
        table.freezing.pop(member.handle, None)
        table.pending.pop(member.handle, None)
        table.silent.pop(member.handle, None)


def node_gone(federation: Federation, node: str) -> None:
    """At the home: a node has no members any more."""
    table = federation.clock.timetable
    if table is not None:
        table.seen.pop(node, None)
        table.told.pop(node, None)
        table.named.pop(node, None)
        table.under_way.pop(node, None)
        table.asking.pop(node, None)


# --- what goes out from the home --------------------------------------------------------------------------------


def view_of(table: Timetable) -> View:
    least = table.bounds.least()
    if least is None:
        return NO_VIEW
    alone = table.bounds.alone()
    return View(least, 0, None) if alone is None else View(least, alone.number, table.bounds.galt(alone))


def publish(step: Step, behind: bytes | None = None) -> None:
    """At the home: tell the other nodes what they do not know yet, and if it is given also who is behind."""
    federation = step.federation
    table = federation.clock.timetable
    if table is None:
        return
    whole = view_of(table)
    first = federation.members.get(FederateHandle.of(whole.alone)) if whole.alone else None
    # Enough for all but the node of the one who alone is behind.
    least = View(whole.least, 0, None) if whole.alone else whole
    bounds: dict[tuple[View, bool], TimeBound] = {}
    frozen = max(table.freezing.values()) if table.freezing else 0
    for asked in federation.saves.asked:
        frozen = max(frozen, asked.version)
    if federation.clock.halt is not None:
        frozen = max(frozen, federation.clock.halt.version)
    due = table.version + 1
    stale = False
    for node in federation.nodes:
        if node == step.node:
            continue
        view = whole if first is not None and first.node == node else least
        told, version = table.told.get(node, (NO_VIEW, 0))
        under_way = table.under_way.get(node)
        news = under_way is not None and len(under_way) > 0 and under_way[-1][0] > version
        ask = frozen > version or (news and bool(table.asking.get(node)))
        if view == told and not ask and (behind is None or behind == table.named.get(node, b"")):
            stale = behind is None
            continue
        bound = bounds.get((view, ask))
        if bound is None:  # the same for all who are told the same
            bound = bounds[view, ask] = _made(federation, table, due, view, ask)
        table.version = due
        table.told[node] = (view, due)
        table.named[node] = bound.behind
        step.effects.append(Transmit(node, bound))
    if stale and not table.review:
        table.review = step.now + _STALE
        step.effects.append(Alarm(0, table.review))


def _made(federation: Federation, table: Timetable, version: int, view: View, ask: bool) -> TimeBound:
    return TimeBound(
        federation.name,
        federation.execution,
        federation.sequence,
        version,
        view,
        _packed_behind(federation, table),
        ask,
        past(federation),
    )


def name_again(step: Step) -> None:
    """At the home, a moment after reports that changed no bound: who has asked to advance meanwhile does not block any more.

    While time advances nodes are told anyway; so this is said once when it has come to a halt, and never in the way of a grant.
    """
    federation = step.federation
    table = federation.clock.timetable
    if table is None or not table.review or table.review > step.now:
        return
    table.review = 0.0
    publish(step, _packed_behind(federation, table))


def _packed_behind(federation: Federation, table: Timetable) -> bytes:
    return b"".join([pack_report(one) for one in _behind(federation, table)])


def _behind(federation: Federation, table: Timetable) -> tuple[Report, ...]:
    """A few of those whose promise is the least, as they are by now: nodes grant by themselves and need not say so."""
    found = []
    for who in table.bounds.behind()[:_NAMED]:
        report = table.reports.get(who)
        if report is not None:
            galt = table.bounds.galt(who)
            if may_have(federation, report, galt):
                report = report._replace(mode=GRANTED, time=report.requested)
            found.append(report)
    return tuple(found)


def may_have(federation: Federation, report: Report, galt: Bound | None) -> bool:
    """Has what it asked for been granted by now?  (Of those who ask for the next message it would be reported.)"""
    if federation.clock.halt is not None and not federation.clock.halt.lets(report.requested):
        return False
    limit = (report.requested, 1 if report.mode == TAR else 0)
    return report.mode in (TAR, TARA) and (galt is None or galt >= limit)


def who_is_behind(federation: Federation, node: str) -> tuple[Report, ...]:
    """Whom the others wait for, as far as that node knows."""
    if federation.home == node:
        return () if federation.clock.timetable is None else _behind(federation, federation.clock.timetable)
    return unpack_reports(federation.clock.horizon.behind)


# --- who may begin to regulate ------------------------------------------------------------------------------------


def somebody_waits_to_begin(federation: Federation) -> bool:
    """At the home: to regulate, or to be constrained."""
    table = federation.clock.timetable
    return table is not None and (bool(table.freezing) or bool(table.pending))


def owe_answer(federation: Federation, table: Timetable, version: int) -> list[str]:
    """At the home: the nodes that have not reported since they were told of that version."""
    others = [node for node in federation.nodes if node != federation.home]
    return [node for node in others if table.seen.get(node, 0) < version]


def ready_to_regulate(federation: Federation) -> tuple[FederateHandle, TimeValue, bool] | None:
    """At the home: the first federate that may begin to regulate, from what time on, and if that time itself is over."""
    table = federation.clock.timetable
    if table is None:
        return None
    for handle, version in table.freezing.items():
        if table.silent or owe_answer(federation, table, version):
            continue
        member = federation.members[handle]
        report = table.reports[handle]
        lookahead = member.timing.asked_lookahead
        own = bound_of(report.time, lookahead, report.exclusive, (0, 0))
        need = max([own, *_reached(federation, table, member)])
        if need == own:
            return handle, report.time, report.exclusive
        if need[1]:  # somebody was granted all messages of that time: begin where it is
            return handle, max(need[0], report.time), True
        return handle, max(need[0] - lookahead, report.time), False
    return None


def _reached(federation: Federation, table: Timetable, member: Member) -> list[Bound]:
    """What time-constrained federates other than that one have been given."""
    found = []
    for other in federation.members.values():
        report = table.reports.get(other.handle)
        if other is member or not other.timing.constrained:
            continue
        if other.node == federation.home:
            found.append(other.timing.reached)
        elif report is not None:
            found.append(report.reached)
    return found


def past(federation: Federation) -> TimeValue | None:
    """At the home: nothing is sent or changed before that time any more, not even by a federate that begins to regulate.

    Nobody promises less, and no constrained federate has come less far: who begins to regulate begins no earlier than all of
    these, as long as there are any.
    """
    table = federation.clock.timetable
    if table is None or not (federation.catalog.has_dimensions or federation.channels.as_of):
        return None
    least = table.bounds.least()
    if least is None:
        return None
    found = least[0]
    for member in federation.members.values():
        if member.timing.constrained:
            report = table.reports.get(member.handle)
            if member.node == federation.home:
                found = min(found, member.timing.reached[0])
            else:
                found = min(found, 0 if report is None else report.reached[0])
    return found


def galt_of(federation: Federation, member: Member, node: str) -> Bound | None:
    """What nobody will send less than to that member, as its own node knows it; None: nobody else regulates."""
    promised = promised_to(federation, member, node)
    held = member.timing.late_from()
    return promised if held is None or (promised is not None and promised < held) else held


def promised_to(federation: Federation, member: Member, node: str) -> Bound | None:
    """The same, but for what it is sent late because of changes of its own."""
    if federation.home == node:
        table = federation.clock.timetable
        return None if table is None else table.bounds.galt(member.handle)
    view = federation.clock.horizon.view
    return view.second if view.alone and view.alone == member.handle.number else view.least


# --- a home that was started again ----------------------------------------------------------------------------------


def begin_again(federation: Federation) -> None:
    """Nobody's time is known, nor what is under way: all wait until the nodes have reported, and have seen that they had to."""
    federation.clock.timetable = None
    timed = [m for m in federation.members.values() if takes_part(m)]
    if not timed and not federation.saves.asked:
        return
    table = table_of(federation)
    for asked in federation.saves.asked:
        asked.version = 1
    for member in timed:
        table.silent[member.handle] = None
        if member.timing.regulation_pending:
            table.freezing[member.handle] = 1
        if member.timing.constrained_pending:
            table.pending[member.handle] = None
        _promise(federation, table, member)
    for node in federation.nodes:
        table.under_way[node] = [(1, 0)]
        table.told[node] = (STOPPED, 0)  # as they hold it themselves, until they are told


def takes_part(member: Member) -> bool:
    timing = member.timing
    return timing.regulating or timing.constrained or timing.regulation_pending or timing.constrained_pending


def refresh(federation: Federation) -> None:
    """At the home of a federation made of a save: all is known of everybody."""
    federation.clock.timetable = None
    for member in federation.members.values():
        if takes_part(member) or member.timing.time:
            enter(federation, member, report_of(member))
        if member.timing.constrained_pending or member.timing.regulation_pending:
            flags_changed(federation, member)
