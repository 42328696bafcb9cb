"""A survey's facts of each federate: what it is, where it is in logical time, whom it waits for, and its deadlines.

Who holds up the others is found once for a federation, so all federates together cost no more than each by itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.kernel.qos.consumers import Qos, Wish
from weft.kernel.state.effects import LEAST_URGENT
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.time_state import FLUSH, GRANTED, SERVICE_NAMES, Report
from weft.kernel.time import blocking, galt_exchange
from weft.model.handles import FederateHandle
from weft.model.json_types import JsonObject
from weft.model.records import PAUSED_BY
from weft.ordering.galt import Bound


def federates(
    federation: Federation, node: str, now: float, sessions: Mapping[int, JsonObject]
) -> dict[str, JsonObject]:
    behind = names_behind(federation, node)
    paused = federation.saves.saving is not None or federation.saves.restoring is not None
    return {
        member.name: _federate(federation, member, node, now, behind, sessions, paused)
        for member in federation.members.values()
    }


def _federate(
    federation: Federation,
    member: Member,
    node: str,
    now: float,
    behind: list[str],
    sessions: Mapping[int, JsonObject],
    paused: bool,
) -> JsonObject:
    timing = member.timing
    found: JsonObject = {
        "handle": member.handle.number,
        "type": member.kind,
        "node": member.node,
        "state": _state(federation, member) if paused else "joined",
        "regulating": timing.regulating,
        "constrained": timing.constrained,
    }
    if timing.regulation_pending or timing.constrained_pending:
        words = ("regulation", timing.regulation_pending), ("constraint", timing.constrained_pending)
        found["pending"] = [word for word, waits in words if waits]
    if member.node == node:
        found["queued"] = len(timing.queue)
        if member.traffic.channels:
            found["traffic"] = member.traffic.data()
        if member.qos is not None:
            found["deadlines"] = member.qos.handed
            found["misses"] = dict(member.qos.missed)
        added = sessions.get(member.session)
        if added is not None:
            found.update(added)
        if member.absence is not None:
            found["absence"] = member.absence.data(now)
    report = report_of(federation, member, node)
    if report is not None and (timing.regulating or timing.constrained or report.time):
        _add_time(found, federation, member, node, now, behind, report)
    return found


def _add_time(
    found: JsonObject,
    federation: Federation,
    member: Member,
    node: str,
    now: float,
    behind: list[str],
    report: Report,
) -> None:
    galt = galt_exchange.galt_of(federation, member, node)
    waits = waits_for_grant(federation, member, node, report, galt)
    found["time"] = report.time if waits or report.mode == GRANTED else report.requested
    found["lookahead"] = report.lookahead
    if galt is not None:
        found["galt"] = galt[0]
    if waits:
        stalled = is_stalled(report)
        found["asks"] = SERVICE_NAMES[FLUSH if stalled else report.mode]
        found["requested"] = report.head if stalled else report.requested
        by = blockers(federation, member, node, report, galt, behind)
        found["blocked_by"] = by or [_nobody(federation, galt)]
        if member.node == node and member.timing.since:
            found["seconds"] = round(now - member.timing.since, 3)


def report_of(federation: Federation, member: Member, node: str) -> Report | None:
    """Where a member is in time: its own node knows it, and the home what it last reported."""
    if member.node == node:
        return galt_exchange.report_of(member)
    if federation.home == node and federation.clock.timetable is not None:
        return federation.clock.timetable.reports.get(member.handle)
    return None


def waits_for_grant(
    federation: Federation, member: Member, node: str, report: Report, galt: Bound | None
) -> bool:
    """Of a member elsewhere the home may know that it has been granted by now, before it says so."""
    if is_stalled(report):
        return True
    if report.mode == GRANTED or member.node == node:
        return report.mode != GRANTED
    limit = federation.saves.limit
    if limit is not None and member.timing.constrained and report.requested > limit[0]:
        return True
    if galt is None and not blocking.may_advance_alone(federation, member):
        return True
    return not galt_exchange.may_have(federation, report, galt)


def is_stalled(report: Report) -> bool:
    """A flush that waits for the operator counts as granted: it promises what it did before."""
    return report.mode == GRANTED and report.head is not None


def names_behind(federation: Federation, node: str) -> list[str]:
    """A few of those whom the others wait for, as this node knows it."""
    found = []
    for one in galt_exchange.who_is_behind(federation, node):
        member = federation.members.get(FederateHandle.of(one.federate))
        found.append("?" if member is None else member.name)
    return found


def blockers(
    federation: Federation, member: Member, node: str, report: Report, galt: Bound | None, behind: list[str]
) -> list[str]:
    """Whom or what a member that waits for a grant waits for; empty where nobody regulates, or that is not known."""
    found = _operator(federation, member, node, report)
    if found and member.node == node and blocking.only_halted(federation, member, galt):
        behind = []
    if member.timing.changes:
        found += [
            f"{node}, for a change as of {time}"
            for time, nodes in blocking.settling(member)
            for node in nodes or [federation.home]
        ]
    if federation.saves.limit is not None:
        save = blocking.held_for(federation, member, galt)
        if save:
            return [*found, f"the save {save!r}"]
    return [*found, *[name for name in behind if name != member.name]]


def _operator(federation: Federation, member: Member, node: str, report: Report) -> list[str]:
    """Of a member elsewhere it is only known what it asks for."""
    halt = federation.clock.halt
    if halt is None:
        return []
    by = blocking.halted_by(federation, member) if member.node == node else halt.by
    if member.node != node and report.mode != GRANTED and halt.lets(report.requested):
        by = ""
    return [PAUSED_BY.format(by)] if by else []


def _nobody(federation: Federation, galt: Bound | None) -> str:
    if galt is None:
        return "nobody regulates time"
    return f"{federation.home}, the home, which says how far it may go"


def _state(federation: Federation, member: Member) -> str:
    if federation.saves.saving is not None and member.handle in federation.saves.saving.status:
        return "saving"
    if federation.saves.restoring is not None and member.handle in federation.saves.restoring.handles:
        return "restoring"
    return "joined"


# --- those here that have deadlines or urgent classes (`qos.consumers`) -----------------------------------------


def consumers(federation: Federation) -> dict[str, JsonObject]:
    return {one.member.name: _consumer(one) for one in federation.qos.attended.values()}


def _consumer(qos: Qos) -> JsonObject:
    told = _classes(qos)
    found: JsonObject = {
        "queue": len(qos.open),
        "handed": qos.handed,
        "missed": sum(qos.missed.values()),
        "classes": told,
        "recent": [list(one) for one in qos.recent],
    }
    urgent = [priority for one in told.values() if isinstance(priority := one.get("priority"), int)]
    if urgent:
        found["priority"] = min(urgent)
    return found


def _classes(qos: Qos) -> dict[str, JsonObject]:
    """Those that it has said something of, and those of which it was handed callbacks with a deadline."""
    found: dict[str, JsonObject] = {}
    for handle, wish in qos.classes.items():
        entry = qos.entry(handle)
        if entry is not None:
            found[entry.name] = _said(wish)
    for name, record in qos.records.items():
        facts = found[name] = _said(record.wish)
        facts["handed"] = record.handed
        facts["missed"] = qos.missed.get(name, 0)
        if record.dealt:
            facts["laxity"] = record.laxity
    return found


def _said(wish: Wish) -> JsonObject:
    found: JsonObject = {}
    if wish.urgency.preemption < LEAST_URGENT:
        found["priority"] = wish.urgency.preemption
    if wish.deadline:
        found["deadline"] = wish.deadline
    return found


# --- what is counted for a federation --------------------------------------------------------------------------


def regions_in_time(federation: Federation) -> dict[str, int]:
    """What regions as of a logical time have cost at this node (S4-19)."""
    counts = federation.distribution.counts
    return {
        "changes": counts.changes,
        "logged": counts.logged,
        "asked": counts.asked,
        "sent": counts.sent,
        "lists": counts.lists,
        "log": len(federation.distribution.log),
        "most": counts.log,
        "late": counts.late,
        "dropped": counts.dropped,
    }


def ordered(federation: Federation) -> dict[str, int]:
    """What causal and total order have cost at this node."""
    counts = federation.orders.count_up()
    return {
        "messages": counts.messages,
        "tags": counts.tags,
        "tag_bytes": counts.tag_bytes,
        "waited": counts.waited,
    }
