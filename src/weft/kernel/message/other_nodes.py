"""To which other nodes a message goes, by the federation's strategy (`ddm.channels`), and what is counted of it.

Under the strategy `Exact` these are the nodes of those who get it; under the others, of those who listen to its channels.
"""

from __future__ import annotations

from weft.fom.catalog import InteractionClassEntry
from weft.kernel.state import overrides
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.recipients import Post, Recipients
from weft.kernel.state.region_state import Extents, Where
from weft.kernel.state.step import Step
from weft.kernel.state.traffic import EVERYBODY, Footprint
from weft.model.handles import AttributeHandle, TransportationTypeHandle


def goes_reliably(federation: Federation, transportation: TransportationTypeHandle) -> bool:
    """Between nodes; what is best effort does too if the RID file says so (BestEffortChannelType TCP)."""
    return federation.channels.over_links or federation.catalog.is_reliable(transportation)


def spread_interaction(
    step: Step,
    sender: Member,
    entry: InteractionClassEntry,
    at: Extents | None,
    heard: list[Member],
    nodes: dict[str, None],
    delayed: bool,
) -> tuple[Footprint | None, tuple[str, ...]]:
    """To which other nodes the federation's strategy sends it, in place of those of its receivers; what is to be counted."""
    federation = step.federation
    if sender is federation.rti:
        return None, ()
    channels = federation.channels
    by = (EVERYBODY,) if channels.exact else channels.of_interaction(federation, entry, at)
    if sender.node != step.node:
        return channels.came(federation, by, heard, step.node), ()
    cast = channels.multicast and not delayed
    if not channels.exact and not delayed:
        wanted = list(nodes)
        nodes.clear()
        nodes.update(channels.nodes(federation, by, step.node))
        if channels.guarded is not None:
            missed = [node for node in wanted if node not in nodes]
            if missed:
                nodes.update(dict.fromkeys(missed))
                channels.missed(step, entry.name, missed)
                cast = False
            channels.complain(step)
    footprint = channels.sent(federation, sender, by, nodes, step.node)
    if channels.adapting is not None and not delayed:
        way = sender.interaction_transportations.get(entry.handle) or entry.transportation
        to_groups = cast and not federation.catalog.is_reliable(way)
        channels.learn_interaction(footprint, step.node, entry, at, to_groups)
    return footprint, channels.groups(by) if cast else ()


def spread_update(
    step: Step,
    instance: Instance,
    recipients: Recipients,
    away: dict[str, dict[AttributeHandle, None]],
    sent: tuple[AttributeHandle, ...],
    where: Where | None,
    delayed: bool,
) -> None:
    """To which other nodes the federation's strategy sends it, in place of those of its receivers; what is to be counted."""
    federation = step.federation
    channels = federation.channels
    sender = recipients.sender
    if sender is not federation.rti:
        by: tuple[int, ...] = (EVERYBODY,)
        missed = False
        if not channels.exact:
            by, there = channels.updates(federation, instance.entry, sent, where, step.node)
            if channels.guarded is not None and not delayed and sender.node == step.node:
                missed = _missed(step, instance, away, there)
            away = away if delayed else there
        if sender.node != step.node:
            heard = [one.member for one in (*recipients.here, *recipients.paced)]
            recipients.footprint = channels.came(federation, by, heard, step.node)
            return
        recipients.footprint = channels.sent(federation, sender, by, away, step.node)
        if channels.adapting is not None and not delayed:
            _learn_update(federation, instance, recipients.footprint, sent, where, step.node)
        if channels.multicast and not delayed and not missed:
            recipients.posts = _group_posts(federation, instance, away, sent, where)
            return
    for node, wanted in away.items():
        recipients.posts += _posts(federation, instance, (node,), list(wanted), len(sent))


def _missed(
    step: Step,
    instance: Instance,
    away: dict[str, dict[AttributeHandle, None]],
    there: dict[str, dict[AttributeHandle, None]],
) -> bool:
    """Does a strategy of another package miss somebody who wants it?  Then it goes there all the same."""
    channels = step.federation.channels
    missed: list[str] = []
    for node, wanted in away.items():
        found = there.setdefault(node, {})
        if any(attribute not in found for attribute in wanted):
            missed.append(node)
            found.update(wanted)
    if missed:
        channels.missed(step, instance.entry.name, missed)
    channels.complain(step)
    return bool(missed)


def _learn_update(
    federation: Federation,
    instance: Instance,
    footprint: Footprint,
    sent: tuple[AttributeHandle, ...],
    where: Where | None,
    here: str,
) -> None:
    """Attributes that go to groups and those that go to nodes are two messages."""
    channels = federation.channels
    parts: dict[bool, list[AttributeHandle]] = {}
    for attribute in sent:
        way = overrides.transportation_of(instance, attribute)
        cast = channels.multicast and not federation.catalog.is_reliable(way)
        parts.setdefault(cast, []).append(attribute)
    for cast, attributes in parts.items():
        channels.learn_update(footprint, here, instance.entry, attributes, where, cast)


def _group_posts(
    federation: Federation,
    instance: Instance,
    away: dict[str, dict[AttributeHandle, None]],
    sent: tuple[AttributeHandle, ...],
    where: Where | None,
) -> list[Post]:
    """Best-effort attributes go to the groups of their channels, reliable ones to each node."""
    posts: list[Post] = []
    cast: dict[AttributeHandle, None] = {}
    listening: dict[str, None] = {}
    for node, wanted in away.items():
        for post in _posts(federation, instance, (node,), list(wanted), len(sent)):
            if post.reliable:
                posts.append(post)
            else:
                listening[node] = None
                cast.update(dict.fromkeys(sent if post.attributes is None else post.attributes))
    if listening:
        channels = federation.channels
        by, _ = channels.updates(federation, instance.entry, tuple(cast), where, "")
        attributes = None if len(cast) == len(sent) else tuple(cast)
        posts.append(Post(tuple(listening), attributes, False, channels.groups(by)))
    return posts


def _posts(
    federation: Federation,
    instance: Instance,
    nodes: tuple[str, ...],
    wanted: list[AttributeHandle],
    sent: int,
) -> list[Post]:
    """What goes to other nodes, attributes that go reliably and others apart."""
    parts: dict[bool, list[AttributeHandle]] = {}
    for handle in wanted:
        reliable = goes_reliably(federation, overrides.transportation_of(instance, handle))
        parts.setdefault(reliable, []).append(handle)
    return [
        Post(nodes, None if len(part) == sent else tuple(part), reliable) for reliable, part in parts.items()
    ]
