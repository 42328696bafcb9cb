"""What `weft status` shows of a node's federations, as plain data: members, where they are in logical time, and who blocks whom.

`survey.survey` says much more, in another form; this one stays as it is for those who read it.
"""

from __future__ import annotations

from weft.kernel.federation import operator
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.time_state import FLUSH, GRANTED, SERVICE_NAMES
from weft.kernel.survey import classes, federates, regions
from weft.kernel.time import galt_exchange
from weft.model.json_types import JsonObject


def status(federations: dict[str, Federation], node: str, now: float) -> list[JsonObject]:
    return [_federation(federation, node, now) for federation in federations.values()]


def _federation(federation: Federation, node: str, now: float) -> JsonObject:
    federation.count_up()
    behind = federates.names_behind(federation, node)
    paused = operator.paused_facts(federation, now)
    return {
        **({} if paused is None else {"paused": paused}),
        "federation": federation.name,
        "node": node,
        "home": federation.home,
        "instances": classes.instances(federation),
        "ordered": federates.ordered(federation),
        **regions.strategy(federation),
        "regions": federates.regions_in_time(federation),
        "federates": [
            _member(federation, member, node, now, behind) for member in federation.members.values()
        ],
    }


def _member(federation: Federation, member: Member, node: str, now: float, behind: list[str]) -> JsonObject:
    """Of a member elsewhere the home knows what it last reported, other nodes only its name and place."""
    timing = member.timing
    found: JsonObject = {
        "name": member.name,
        "type": member.kind,
        "node": member.node,
        "regulating": timing.regulating,
        "constrained": timing.constrained,
    }
    if member.node == node:
        found["queued"] = len(timing.queue)
        found["traffic"] = member.traffic.data()
        if member.qos is not None:
            found["deadlines"] = member.qos.handed
            found["misses"] = dict(member.qos.missed)
    report = federates.report_of(federation, member, node)
    if report is not None and (timing.regulating or timing.constrained or report.time):
        galt = galt_exchange.galt_of(federation, member, node)
        waits = federates.waits_for_grant(federation, member, node, report, galt)
        stalled = federates.is_stalled(report)
        found["time"] = report.time if waits or report.mode == GRANTED else report.requested
        found["lookahead"] = report.lookahead
        found["galt"] = None if galt is None else galt[0]
        found["asks"] = SERVICE_NAMES[FLUSH if stalled else report.mode] if waits else ""
        found["requested"] = (report.head if stalled else report.requested) if waits else None
        if waits:
            found["blocked_by"] = federates.blockers(federation, member, node, report, galt, behind)
            if member.node == node and timing.since:
                found["seconds"] = round(now - timing.since, 1)
    return found
