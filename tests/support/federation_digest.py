"""What must be the same at all nodes of a federation, and what must hold at each of them."""

from __future__ import annotations

from typing import Any

from weft.host.simulated.simulated import SimulatedNetwork
from weft.kernel.federation.operator import plain
from weft.kernel.federation.snapshot_regions import regions_data, subscriptions_data
from weft.kernel.state.federation import Federation, Instance, Member
from weft.model.errors import NotConnected

_SWITCHES = (
    "object_class_relevance",
    "attribute_relevance",
    "attribute_scope",
    "interaction_relevance",
    "convey_region_designator_sets",
    "service_reporting",
    "exception_reporting",
    "send_service_reports_to_file",
)


def digest(federation: Federation) -> dict[str, Any]:
    """All that the order of commits decides; orders of dicts included, since effects follow them."""
    return {
        "home": federation.home,
        "sequence": federation.sequence,
        "joined": federation.membership.joined,
        "registered": federation.objects.registered,
        "members": [_member(member) for member in federation.members.values()],
        "seats": [None if member is None else member.handle for member in federation.membership.seats],
        "instances": [_instance(instance) for instance in federation.instances.values()],
        "names": {name: instance.handle for name, instance in federation.objects.names.items()},
        "by class": {cls: list(found) for cls, found in federation.objects.of_class.items() if found},
        "regions": regions_data(federation),
        "reserved": list(federation.objects.reserved.items()),
        "points": [
            (label, point.tag, list(point.waiting), list(point.achieved.items()), point.everyone)
            for label, point in federation.points.items()
        ],
        "paused": []
        if federation.clock.halt is None
        else (plain(federation, federation.clock.halt.since) or []),
        "classes": [entry.name for entry in federation.catalog.object_classes.values()],
        "interactions": [entry.name for entry in federation.catalog.interaction_classes.values()],
    }


def _member(member: Member) -> tuple[Any, ...]:
    declared = member.declared
    return (
        (member.handle, member.name, member.kind, member.node, member.session, member.seat),
        {cls: list(names) for cls, names in declared.published.items()},
        {cls: list(wishes.items()) for cls, wishes in declared.subscribed.items()},
        list(declared.sends),
        list(declared.receives.items()),
        subscriptions_data(member),
        {cls: list(names) for cls, names in declared.directs.items()},
        {cls: list(names.items()) for cls, names in declared.directed.items()},
        [getattr(member.switches, name) for name in _SWITCHES],
        member.resign_directive,
    )


def _instance(instance: Instance) -> tuple[Any, ...]:
    return (
        (instance.handle, instance.name, instance.entry.name, instance.producer),
        [(attribute, owner.handle) for attribute, owner in instance.owners.items()],
        list(instance.knowledge.masks.items()),
        None
        if instance.transfers is None
        else (
            list(instance.transfers.offered.items()),
            [(a, list(bids.items())) for a, bids in instance.transfers.wanted.items()],
        ),
    )


def running(network: SimulatedNetwork, *names: str) -> list[Any]:
    found = []
    for name in names:
        try:
            found.append(network.node(name))
        except NotConnected:
            continue
    return found


def check_agreement(network: SimulatedNetwork, *names: str) -> None:
    """Of a settled network: every node that runs holds what the home holds, and members and sessions match."""
    nodes = {node.name: node for node in running(network, *names)}
    for node in nodes.values():
        assert not node.calls.waiting, f"{node.name} still waits: {node.calls.waiting}"
        assert not node.calls.early, f"{node.name} still keeps {node.calls.early}"
        for federation in node.federations.values():
            home = nodes[federation.home].federations[federation.name]
            assert digest(federation) == digest(home), f"{node.name} and {home.home} differ"
            here = [member for member in federation.members.values() if member.node == node.name]
            assert here or federation.home == node.name, f"{node.name} has no member and should have left"
            for member in here:
                session = node.sessions.get(member.session)
                assert session is not None, f"{member} at {node.name} is a ghost"
                assert session.member is member
                assert session.federation is federation
            elsewhere = {member.node for member in federation.members.values()}
            assert all(name in nodes and federation.name in nodes[name].federations for name in elsewhere)
        for session in node.sessions.values():
            if session.member is not None:
                assert node.federations[session.federation.name] is session.federation
                assert session.federation.members[session.member.handle] is session.member
