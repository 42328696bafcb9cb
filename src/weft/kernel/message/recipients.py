"""Who gets a message: the answers to the interest question, found once and kept.

An `Audience` is for interactions of one class from one sender (`Federation.audiences`), a `Route` for updates of the same
attributes (in the `Knowledge` that alike instances share).  Both say which members here get it (ears, legs) and to which other
nodes it goes.  They are forgotten when a declaration or the membership changes.  What is sent with regions has ways of its own:
those of an instance are kept with its `Placement`.
"""

from __future__ import annotations

from typing import Any, Final

from weft.fom.catalog import InteractionClassEntry
from weft.kernel.ddm import matching
from weft.kernel.message import other_nodes
from weft.kernel.message.callback_split import legs_to, paced_legs
from weft.kernel.state import overrides
from weft.kernel.state.federation import Audience, Federation, Instance, Leg, Member, Route
from weft.kernel.state.region_state import Extents, Where
from weft.kernel.state.step import Step
from weft.model.handles import AttributeHandle, InteractionClassHandle

DELAYED: Final = "delaySubscriptionEvaluation"
_MANAGER = "HLAinteractionRoot.HLAmanager"
MANAGED = frozenset(
    f"{_MANAGER}.{kind}"
    for kind in (
        "HLAfederate.HLAadjust",
        "HLAfederate.HLArequest",
        "HLAfederate.HLAservice",
        "HLAfederation.HLAadjust",
        "HLAfederation.HLArequest",
    )
)
"""Whatever is of these classes is also meant for the RTI itself (`mom.mom`)."""


# --- interactions ---------------------------------------------------------------------------------------------


def is_managed(entry: InteractionClassEntry) -> bool:
    return any(ancestor.name in MANAGED for ancestor in entry.lineage)


def audience_of(step: Step, sender: Member, interaction_class: InteractionClassHandle) -> Audience:
    found = step.federation.audiences.get((interaction_class, sender.handle))
    return find_audience(step, sender, interaction_class) if found is None else found


def find_audience(
    step: Step,
    sender: Member,
    interaction_class: InteractionClassHandle,
    at: Extents | None = None,
) -> Audience:
    """Kept for what is sent without regions."""
    federation = step.federation
    entry = federation.catalog.interaction_classes[interaction_class]
    delayed = federation.switch(DELAYED)
    ears: list[Any] = []  # pairs of class and member
    nodes: dict[str, None] = {}
    for member in federation.members.values():
        if member is not sender:
            received = matching.hears(federation, member, entry, at)
            if received is not None and member.node == step.node:
                if member.ear is None or member.ear[0] is not received:
                    member.ear = (received, member)
                ears.append(member.ear)
            elif member.node != step.node and (received is not None or delayed):
                nodes[member.node] = None
    transportation = sender.interaction_transportations.get(interaction_class) or entry.transportation
    footprint, groups = other_nodes.spread_interaction(
        step, sender, entry, at, [member for _, member in ears], nodes, delayed
    )
    made = Audience(ears, list(nodes), sender, interaction_class, transportation, is_managed(entry))
    made.at = at
    made.footprint = footprint
    if groups and not federation.catalog.is_reliable(transportation):
        made.groups = groups
    made.holding = any(member.holds for _, member in ears)
    if at is None:
        federation.audiences[(interaction_class, sender.handle)] = made
    elif any(member.switches.convey_region_designator_sets for _, member in ears):
        made.holding = True
        made.regions = matching.conveyed(at)
    return made


# --- attribute updates ----------------------------------------------------------------------------------------


def is_placed(federation: Federation, instance: Instance, sent: list[AttributeHandle]) -> bool:
    """Do these attributes, in time stamp order, go by regions as of their time (`message.deliver_as_of`)?"""
    entry = instance.entry
    if federation.switch(DELAYED):
        return False  # who wants it is asked when its time has come, and not as of that time
    return any(federation.catalog.available_to_attribute(entry, attribute) for attribute in sent)


def counted_route(
    step: Step,
    instance: Instance,
    sender: Member,
    sent: list[AttributeHandle],
    where: Where | None = None,
) -> Route:
    """The route of an update that is about to be made: it is counted here."""
    if instance.overrides is not None or where is not None:
        route = _placed_route(step, instance, sender, tuple(sent), where)
        route.count = 1
        route.count_up()
        mark(instance, route, sender)
        return route
    found = route_of(step, instance, sender, sent)
    found.count += 1
    mark(instance, found, sender)
    return found


def _placed_route(
    step: Step,
    instance: Instance,
    sender: Member,
    sent: tuple[AttributeHandle, ...],
    where: Where | None,
) -> Route:
    """Of an instance that is like no other: kept as long as all that it depends on stays as it is."""
    federation = step.federation
    placement = instance.placement
    if placement is None or where is None or instance.overrides is not None or placement.where is None:
        return _find_route(step, instance, sender, sent, where)
    if sender.node != step.node:  # the message says where it was sent, which may not be where the instance is
        return _find_route(step, instance, sender, sent, where)
    valid = placement.valid
    generation, regional = federation.generation, federation.regional
    if not valid or valid[0] != generation or valid[1] != regional or valid[2] is not instance.knowledge:
        placement.valid = (generation, regional, instance.knowledge)
        placement.routes.clear()
    found: Route | None = placement.routes.get(sent)
    if found is None:
        found = placement.routes[sent] = _find_route(step, instance, sender, sent, where)
    return found


def route_of(step: Step, instance: Instance, sender: Member, sent: list[AttributeHandle]) -> Route:
    """The route that updates of these attributes have in common, if the instance is like others (no overrides)."""
    federation = step.federation
    knowledge = instance.knowledge
    if knowledge.generation != federation.generation:
        knowledge.generation = federation.generation
        knowledge.routes.clear()
    key = (sender.handle, instance.entry.handle, *sent)
    found = knowledge.routes.get(key)
    if found is None:
        found = _find_route(step, instance, sender, tuple(sent))
        knowledge.routes[key] = found
        federation.routes.append(found)
    return found


def mark(instance: Instance, route: Route, sender: Member) -> None:
    instance.updated |= sender.bit
    if not instance.reflected:
        instance.reflected = route.reached  # one number for all alike instances
    else:
        instance.reflected |= route.reached


def _find_route(
    step: Step,
    instance: Instance,
    sender: Member,
    sent: tuple[AttributeHandle, ...],
    where: Where | None = None,
) -> Route:
    federation = step.federation
    legs: list[Leg] = []
    paced: list[Leg] = []
    away: dict[str, dict[AttributeHandle, None]] = {}  # node -> what its members want
    for known_class, mask in instance.knowledge.masks.items():
        for member in federation.seated(mask):
            subscribed = matching.wishes(federation, member, known_class, where)
            if member is sender or not subscribed:
                continue
            wanted = [handle for handle in sent if handle in subscribed]
            if wanted and member.node == step.node:
                if any(subscribed[handle].rate for handle in wanted):
                    paced.extend(paced_legs(federation, instance, member, wanted, subscribed, where))
                else:
                    legs.extend(legs_to(instance, member, wanted, len(sent), where))
            elif wanted:
                away.setdefault(member.node, {}).update(dict.fromkeys(wanted))
    delayed = federation.switch(DELAYED)
    if delayed:
        away = {m.node: dict.fromkeys(sent) for m in federation.members.values() if m.node != step.node}
    ways = list(dict.fromkeys(overrides.transportation_of(instance, handle) for handle in sent))
    route = Route(legs, [], sender, instance.entry.handle, ways, paced)
    route.where = where
    other_nodes.spread_update(step, instance, route, away, sent, where, delayed)
    return route
