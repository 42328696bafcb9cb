"""Deletion at a logical time.

The federate that deletes an instance in time stamp order gives it up at once, and so does everybody who is not
time-constrained.  Who is constrained goes on knowing it until its time comes; until the last one has, the instance is
*condemned*: its name is taken, nobody discovers it, and what others own of it they may update.

When the removal has been delivered, the federate's node has all nodes forget it (`INSTANCE_REMOVED`).  A deletion that is
retracted gives the deleter back what it owned; who has had the removal delivered is asked to retract it.
"""

from __future__ import annotations

from typing import Any

from weft.kernel.ddm import instance_regions
from weft.kernel.message import update_rates
from weft.kernel.state import preconditions
from weft.kernel.state.federation import Condemned, Federation, Instance, Member
from weft.kernel.state.messages import Deletion
from weft.kernel.state.overrides import attribute_order
from weft.kernel.state.step import Step
from weft.kernel.time import stamps, tso_queue
from weft.kernel.time.stamps import NO_RETRACTION
from weft.model.handles import ObjectInstanceHandle
from weft.model.records import MessageRetractionReturn

INSTANCE_REMOVED = "instance_removed"
DELETE_RETRACTED = "delete_retracted"


def prepare(federation: Federation, member: Member, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """At the deleter's node, which alone knows its time: the arguments of the command, with a stamp in place of the time."""
    if not member.timing.regulating:
        return arguments
    object_instance, tag, time, *given = arguments
    instance = preconditions.known_instance(federation, member, object_instance)
    order = given[0] if given else attribute_order(instance, federation.catalog.privilege)
    return object_instance, tag, stamps.stamp(federation, member, time, order).arguments(), *given


def delete(step: Step, instance: Instance, message: Deletion) -> MessageRetractionReturn:
    """In time stamp order; everything else has been checked."""
    federation = step.federation
    member = step.member
    stamp = message.stamp
    assert stamp is not None
    assert stamp.retraction is not None
    retraction = stamp.retraction
    owned = [attribute for attribute, owner in instance.owners.items() if owner is member]
    condemned = Condemned(member.handle, retraction, owned)
    condemned.known_class = federation.known_class(member, instance)
    knowing = [other for other in federation.seated(instance.knowledge.mask) if other is not member]
    for other in knowing:
        if other.timing.constrained:
            condemned.waiting[other.handle] = None
    instance.condemned = condemned
    for other in knowing:
        if other.node == step.node:
            tso_queue.arrived(step, other, member, message.removal())
            other.tally.removed += 1
        if not other.timing.constrained:
            _forget(step, instance, other)
    _forget(step, instance, member)
    returned = NO_RETRACTION
    if member.node == step.node:
        nodes = tuple([node for node in federation.nodes if node != step.node])
        returned = stamps.sent(federation, member, stamp, nodes, instance.handle.number)
    if not condemned.waiting:
        remove(step, instance)
    return returned if member.node == step.node else MessageRetractionReturn(True, retraction)


def remove(step: Step, instance: Instance) -> None:
    federation = step.federation
    federation.keep_counts(instance)
    instance_regions.clear(federation, instance)
    update_rates.forget_instance(step, instance)
    if federation.recorder is not None:
        federation.note_deleted(instance)
    del federation.instances[instance.handle]
    del federation.objects.names[instance.name]
    del federation.objects.of_class[instance.entry.handle][instance.handle]
    for member in federation.members.values():
        member.told_scope.pop(instance.handle, None)
        member.told_updates.pop(instance.handle, None)
    instance.knowledge = federation.knowledge({})  # closes the lanes to it (`message.fast_lanes`)


def _forget(step: Step, instance: Instance, member: Member) -> None:
    federation = step.federation
    owners = {attribute: owner for attribute, owner in instance.owners.items() if owner is not member}
    if len(owners) != len(instance.owners):
        instance.owners = owners
    federation.forget(instance, member)
    update_rates.forget(step, member, update_rates.REMOVED, instance.handle)
    member.told_scope.pop(instance.handle, None)
    member.told_updates.pop(instance.handle, None)


def instance_removed(step: Step, number: int) -> None:
    """The removal was delivered to that member."""
    federation = step.federation
    member = step.member
    handle = ObjectInstanceHandle.of(number)
    member.timing.gone.pop(handle, None)
    instance = federation.instances.get(handle)
    if instance is None or instance.condemned is None:
        return
    instance.condemned.waiting.pop(member.handle, None)
    _forget(step, instance, member)
    if not instance.condemned.waiting:
        remove(step, instance)


def delete_retracted(step: Step, number: int) -> None:
    """The deletion has not happened: the deleter has again what it owned, unless somebody else owns it by now."""
    federation = step.federation
    member = step.member
    instance = federation.instances.get(ObjectInstanceHandle.of(number))
    if instance is None or instance.condemned is None:
        return
    condemned = instance.condemned
    instance.condemned = None
    stamps.retracted(step, condemned.retraction)
    owners = dict(instance.owners)
    for attribute in condemned.owned:
        owners.setdefault(attribute, member)
    instance.owners = owners
    if condemned.known_class is not None:
        federation.learn(instance, member, condemned.known_class)
    federation.changed()


def after_resign(step: Step) -> None:
    federation, member = step.federation, step.member
    for instance in [i for i in federation.instances.values() if i.condemned is not None]:
        condemned = instance.condemned
        if (
            condemned is not None
            and condemned.waiting.pop(member.handle, 0) is None
            and not condemned.waiting
        ):
            remove(step, instance)
