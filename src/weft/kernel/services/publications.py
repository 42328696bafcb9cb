"""Publications, also as of a logical time (docs/explanation/ddm-sync.md).

A federate that says "from 20 on I publish this, and no longer that" may send in time stamp order what it publishes as of the
time stamp (`preconditions.published_as_of`): that is its own affair, and nobody has anything to make good.  All else that goes
with a publication (to register instances, to own attributes, to be told who is interested, to send in receive order) has no
time.  It comes about when the time has come: when the federate, granted some time, can send nothing before it any more.
Its node then has all nodes do what the federate would have called (`PUBLICATIONS_DUE`).
"""

from __future__ import annotations

import math
from contextlib import suppress

from weft.fom.catalog import InteractionClassEntry, ObjectClassEntry
from weft.interest import SpaceTime
from weft.kernel.message import advisories
from weft.kernel.services import ownership_transfers
from weft.kernel.services.timed_changes import As
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.step import Step
from weft.kernel.time import grants
from weft.model.errors import OwnershipAcquisitionPending
from weft.model.handles import AttributeHandle, RegionHandle
from weft.model.time import TimeValue

# --- at once ------------------------------------------------------------------------------------------------------


def publish(step: Step, entry: ObjectClassEntry, chosen: list[AttributeHandle]) -> None:
    federation = step.federation
    member = step.member
    # The privilege to delete goes with any publication of the class.
    held = member.declared.published.get(entry.handle, {})
    gained = [a for a in (*chosen, federation.catalog.privilege) if a not in held]
    member.declared.publish(entry.handle, gained)
    federation.changed()
    for instance in _known_as(federation, member, entry):
        ownership_transfers.offer(step, instance, member, gained)
    advisories.registrations(step, [entry])


def _known_as(federation: Federation, member: Member, entry: ObjectClassEntry) -> list[Instance]:
    """The instances that the member knows as of this class."""
    return [
        instance
        for below in entry.family()
        for instance in federation.objects.of_class.get(below.handle, {}).values()
        if instance.knowledge.masks.get(entry.handle, 0) & member.bit
    ]


def unpublish(step: Step, entry: ObjectClassEntry, gone: list[AttributeHandle]) -> None:
    """A federate that no longer publishes an attribute no longer owns it at the instances it knows as of that class."""
    member = step.member
    privilege = step.federation.catalog.privilege
    held = member.declared.published.get(entry.handle, {})
    left = [a for a in held if a not in gone]
    if left == [privilege] and len(left) < len(held):
        gone = [*gone, privilege]  # it goes with the last other attribute
    known = _known_as(step.federation, member, entry)
    ownership_transfers.refuse_while_pending(member, known, gone)
    member.declared.unpublish(entry.handle, gone)
    step.federation.changed()
    if entry.handle not in member.declared.published:
        member.told_registrations.pop(entry.handle, None)
    released = []
    for instance in known:
        lost = [a for a in gone if instance.owners.get(a) is member]
        if lost:
            ownership_transfers.release(step, instance, member, lost, b"")
            released.append(instance)
    advisories.registrations(step, [entry])
    advisories.instances(step, released)


def begin_to_send(step: Step, entry: InteractionClassEntry) -> None:
    step.member.declared.sends[entry.handle] = None
    step.federation.changed()
    advisories.interactions(step, [entry])


def stop_sending(step: Step, entry: InteractionClassEntry) -> None:
    step.member.declared.sends.pop(entry.handle, None)
    step.federation.changed()
    step.member.told_interactions.pop(entry.handle, None)


# --- as of a time -------------------------------------------------------------------------------------------------


def write_attributes(
    step: Step, entry: ObjectClassEntry, attributes: list[AttributeHandle], how: bool | None, timed: As
) -> None:
    """As of a time; without one it is the same at all times.  `how`: None for no longer."""
    declared = step.member.declared
    kind = entry.handle
    if timed is None:
        declared.timed_published.forget(kind, [(attribute, None) for attribute in attributes])
        return
    held = declared.published.get(kind, {})
    for attribute in attributes:
        before = True if attribute in held else None
        declared.timed_published.write(kind, (attribute, None), timed[0], before, how)
    grants.publications(step, step.member)


def write_interaction(step: Step, entry: InteractionClassEntry, how: bool | None, timed: As) -> None:
    declared = step.member.declared
    kind = entry.handle
    if timed is None:
        declared.timed_sends.forget(kind, [(None, None)])
        return
    before = True if kind in declared.sends else None
    declared.timed_sends.write(kind, (None, None), timed[0], before, how)
    grants.publications(step, step.member)


def publications_due(step: Step, until: TimeValue | None) -> None:
    """The member sends nothing before that time any more; None: nothing in time stamp order at all."""
    time = math.inf if until is None else until
    catalog = step.federation.catalog
    declared = step.member.declared
    for kind, lines in list(declared.timed_published.of.items()):
        _attributes_due(step, catalog.object_classes[kind], lines, time)
    for interaction, sends in list(declared.timed_sends.of.items()):
        entry = catalog.interaction_classes[interaction]
        is_sent = sends[None, None].read(time) is not None
        if is_sent and interaction not in declared.sends:
            begin_to_send(step, entry)
        elif not is_sent and interaction in declared.sends:
            stop_sending(step, entry)
    declared.timed_published.reclaim((time, 1), declared.published_now)
    declared.timed_sends.reclaim((time, 1), declared.sent_now)


def _attributes_due(
    step: Step,
    entry: ObjectClassEntry,
    lines: dict[tuple[AttributeHandle, RegionHandle | None], SpaceTime[bool | None]],
    time: TimeValue,
) -> None:
    held = step.member.declared.published.get(entry.handle, {})
    begun = [a for (a, _), line in lines.items() if line.read(time) and a not in held]
    ended = [a for (a, _), line in lines.items() if not line.read(time) and a in held]
    if begun:
        publish(step, entry, begun)
    if ended:
        with suppress(OwnershipAcquisitionPending):  # it is tried again with its next grant
            unpublish(step, entry, ended)
