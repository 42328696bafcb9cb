"""What a node can say of its federations, as plain data: members, where they are in logical time, and who blocks whom."""

from __future__ import annotations

from typing import Any

from weft.kernel import advancing, steering, timetable
from weft.kernel.state import Federation, Member
from weft.kernel.timing import FLUSH, GRANTED, SERVICE_NAMES, Report
from weft.model.records import PAUSED_BY


def status(federations: dict[str, Federation], node: str, now: float) -> list[dict[str, Any]]:
    return [_federation(federation, node, now) for federation in federations.values()]


def _federation(federation: Federation, node: str, now: float) -> dict[str, Any]:
    federation.count_up()
    behind = [one.federate for one in timetable.who_is_behind(federation, node)]
    named = [member.name for member in federation.members.values() if member.handle.number in behind]
    paused = steering.paused_facts(federation, now)
    return {
        **({} if paused is None else {"paused": paused}),
        "federation": federation.name,
        "node": node,
        "home": federation.home,
        "instances": sum(
            not instance.name.startswith("HLAfederat") for instance in federation.instances.values()
        ),
        "ordered": _ordered(federation),
        "strategy": federation.channels.name,
        "regions": _regions(federation),
        "federates": [
            _member(federation, member, node, now, named) for member in federation.members.values()
        ],
    }


def _member(
    federation: Federation, member: Member, node: str, now: float, behind: list[str]
) -> dict[str, Any]:
    """Of a member elsewhere the home knows what it last reported, other nodes only its name and place."""
    timing = member.timing
    found: dict[str, Any] = {
        "name": member.name,
        "type": member.kind,
        "node": member.node,
        "regulating": timing.regulating,
        "constrained": timing.constrained,
    }
    report = None
    if member.node == node:
        report = timetable.report_of(member)
        found["queued"] = len(timing.queue)
        found["traffic"] = member.traffic.data()
        if member.qos is not None:
            found["deadlines"] = member.qos.handed
            found["misses"] = dict(member.qos.missed)
    elif federation.home == node and federation.timetable is not None:
        report = federation.timetable.reports.get(member.handle)
    if report is not None and (timing.regulating or timing.constrained or report.time):
        galt = (
            timetable.galt_of(federation, member, node)
            if federation.home == node or member.node == node
            else None
        )
        stalled = report.mode == GRANTED and report.head is not None  # a flush that waits for the operator
        waits = stalled or (report.mode != GRANTED and not timetable.may_have(federation, report, galt))
        found["time"] = report.requested if report.mode != GRANTED and not waits else report.time
        found["lookahead"] = report.lookahead
        found["galt"] = None if galt is None else galt[0]
        found["asks"] = SERVICE_NAMES[FLUSH if stalled else report.mode] if waits else ""
        found["requested"] = (report.head if stalled else report.requested) if waits else None
        if waits:
            only = member.node == node and advancing.only_halted(federation, member, galt)
            found["blocked_by"] = [
                *_operator(federation, member, node, report),
                *[
                    f"{node}, for a change as of {time}"
                    for time, nodes in advancing.settling(member)
                    for node in nodes
                ],
                *[name for name in behind if name != member.name and not only],
            ]
            if member.node == node and timing.since:
                found["seconds"] = round(now - timing.since, 1)
    return found


def _operator(federation: Federation, member: Member, node: str, report: Report) -> list[str]:
    """Of a member elsewhere it is only known what it asks for."""
    halt = federation.halt
    if halt is None:
        return []
    by = advancing.halted_by(federation, member) if member.node == node else halt.by
    if member.node != node and report.mode != GRANTED and halt.lets(report.requested):
        by = ""
    return [PAUSED_BY.format(by)] if by else []


def _regions(federation: Federation) -> dict[str, int]:
    """What regions as of a logical time have cost at this node (S4-19)."""
    counts = federation.distribution.counts
    return {
        "changes": counts.changes,
        "logged": counts.logged,
        "log": len(federation.distribution.log),
        "most": counts.log,
        "late": counts.late,
        "dropped": counts.dropped,
    }


def _ordered(federation: Federation) -> dict[str, int]:
    """What causal and total order have cost at this node."""
    counts = federation.orders.count_up()
    return {
        "messages": counts.messages,
        "tags": counts.tags,
        "tag_bytes": counts.tag_bytes,
        "waited": counts.waited,
    }
