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
    by = (EVERYBODY,) if channels.exact else channels.of_interaction(entry, at)
    if sender.node != step.node:
        return channels.came(federation, by, heard, step.node), ()
    if not channels.exact and not delayed:
        nodes.clear()
        nodes.update(channels.nodes(federation, by, step.node))
    footprint = channels.sent(federation, sender, by, nodes, step.node)
    return footprint, channels.groups(by) if channels.multicast and not delayed else ()


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
        if not channels.exact:
            by, there = channels.updates(federation, instance.entry, sent, where, step.node)
            away = away if delayed else there
        if sender.node != step.node:
            heard = [one.member for one in (*recipients.here, *recipients.paced)]
            recipients.footprint = channels.came(federation, by, heard, step.node)
            return
        recipients.footprint = channels.sent(federation, sender, by, away, step.node)
        if channels.multicast and not delayed:
            recipients.posts = _group_posts(federation, instance, away, sent, where)
            return
    for node, wanted in away.items():
        recipients.posts += _posts(federation, instance, (node,), list(wanted), len(sent))


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
