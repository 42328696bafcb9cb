"""What a node can say of its federations, as plain data: members, where they are in logical time, and who blocks whom."""

from __future__ import annotations

from typing import Any

from weft.kernel import advancing, timetable
from weft.kernel.state import Federation, Member
from weft.kernel.timing import GRANTED, SERVICE_NAMES


def status(federations: dict[str, Federation], node: str, now: float) -> list[dict[str, Any]]:
    return [_federation(federation, node, now) for federation in federations.values()]


def _federation(federation: Federation, node: str, now: float) -> dict[str, Any]:
    federation.count_up()
    behind = [one.federate for one in timetable.who_is_behind(federation, node)]
    named = [member.name for member in federation.members.values() if member.handle.number in behind]
    return {
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
        waits = report.mode != GRANTED and not timetable.may_have(report, galt)
        found["time"] = report.requested if report.mode != GRANTED and not waits else report.time
        found["lookahead"] = report.lookahead
        found["galt"] = None if galt is None else galt[0]
        found["asks"] = SERVICE_NAMES[report.mode] if waits else ""
        found["requested"] = report.requested if waits else None
        if waits:
            found["blocked_by"] = [
                *[
                    f"{node}, for a change as of {time}"
                    for time, nodes in advancing.settling(member)
                    for node in nodes
                ],
                *[name for name in behind if name != member.name],
            ]
            if member.node == node and timing.since:
                found["seconds"] = round(now - timing.since, 1)
    return found


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
