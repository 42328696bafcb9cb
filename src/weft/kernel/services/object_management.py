"""Object management (clause 6), but for the messages themselves, which are in `message.pipeline`.

Names, registration, deletion, requests for values; and the transportation and order of instances and classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from weft.fom.catalog import ObjectClassEntry
from weft.kernel.ddm import instance_regions, matching_at_time
from weft.kernel.message import advisories, discovery, timed_deletion, update_rates
from weft.kernel.message.causal_order import is_plain
from weft.kernel.message.timed_deletion import remove
from weft.kernel.services import ownership_transfers
from weft.kernel.state import preconditions
from weft.kernel.state.federation import Federation, Instance, Member, Overrides
from weft.kernel.state.messages import Deletion
from weft.kernel.state.overrides import transportation_of
from weft.kernel.state.step import Step
from weft.kernel.time import stamps, tso_queue
from weft.kernel.time.stamps import NO_RETRACTION
from weft.model.deliveries import stamp_from
from weft.model.enums import OrderType
from weft.model.errors import (
    AttributeNotPublished,
    DeletePrivilegeNotHeld,
    FederateOwnsAttributes,
    IllegalName,
    InteractionClassNotPublished,
    NameSetWasEmpty,
    ObjectClassNotPublished,
    ObjectInstanceNameInUse,
    ObjectInstanceNameNotReserved,
    RTIinternalError,
)
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    TransportationTypeHandle,
)
from weft.model.names import fault_of, shown
from weft.model.records import MessageRetractionReturn
from weft.model.time import LogicalTime, TimeValue

# --- names ----------------------------------------------------------------------------------------------------


def _check_name(name: str) -> None:
    fault = fault_of(name)
    if not fault and name.startswith("HLA"):
        fault = "names that begin with HLA are the RTI's own"
    if fault:
        raise IllegalName(f"{shown(name)} cannot be reserved: {fault}")


def _is_free(federation: Federation, name: str) -> bool:
    return name not in federation.objects.reserved and name not in federation.objects.names


def reserve_object_instance_name(step: Step, name: str) -> None:
    member = step.member
    _check_name(name)
    if _is_free(step.federation, name):
        step.federation.objects.reserved[name] = member.handle
        step.callback(member, "object_instance_name_reservation_succeeded", (name,))
    else:
        step.callback(member, "object_instance_name_reservation_failed", (name,))


def release_object_instance_name(step: Step, name: str) -> None:
    release_multiple_object_instance_names(step, [name])


def reserve_multiple_object_instance_names(step: Step, names: Iterable[str]) -> None:
    """All of them or none."""
    federation = step.federation
    member = step.member
    wanted = frozenset(names)
    if not wanted:
        raise NameSetWasEmpty("no name given to reserve")
    for name in wanted:
        _check_name(name)
    if all(_is_free(federation, name) for name in wanted):
        federation.objects.reserved.update(dict.fromkeys(sorted(wanted), member.handle))
        step.callback(member, "multiple_object_instance_name_reservation_succeeded", (wanted,))
    else:
        step.callback(member, "multiple_object_instance_name_reservation_failed", (wanted,))


def release_multiple_object_instance_names(step: Step, names: Iterable[str]) -> None:
    wanted = sorted(frozenset(names))
    for name in wanted:
        _require_reserved(step, name)
    for name in wanted:
        del step.federation.objects.reserved[name]


def _require_reserved(step: Step, name: str) -> None:
    if step.federation.objects.reserved.get(name) != step.member.handle:
        raise ObjectInstanceNameNotReserved(f"{step.member!r} has not reserved the name {name!r}")


# --- instances ------------------------------------------------------------------------------------------------


def register_object_instance(
    step: Step,
    object_class: ObjectClassHandle,
    name: str | None = None,
    past: TimeValue | None = None,
) -> ObjectInstanceHandle:
    entry, _ = _published(step, object_class)
    return _create(step, entry, name, None, past)


def register_object_instance_with_regions(
    step: Step,
    object_class: ObjectClassHandle,
    attributes_and_regions: preconditions.GivenPairs,
    name: str | None = None,
    past: TimeValue | None = None,
) -> ObjectInstanceHandle:
    member = step.member
    entry, published = _published(step, object_class)
    pairs = preconditions.placed(step.federation, member, entry, attributes_and_regions)
    for attributes, _ in pairs:
        for attribute in attributes:
            if attribute not in published:
                raise AttributeNotPublished(
                    f"{member!r} does not publish {entry.attributes[attribute].name} of {entry.name}"
                )
    return _create(step, entry, name, pairs, past)


REGISTERS: Final = {"register_object_instance": 2, "register_object_instance_with_regions": 3}
"""By which instances come about, and how many arguments they take."""


def prepare(service: str, arguments: tuple[object, ...], past: TimeValue | None) -> tuple[object, ...]:
    """With what is past for everybody, as the federate's node knows it: whom it makes discover the instance depends on that."""
    return *arguments, *[None] * (REGISTERS[service] - len(arguments)), past


def _published(
    step: Step, object_class: ObjectClassHandle
) -> tuple[ObjectClassEntry, dict[AttributeHandle, None]]:
    """The class, and which attributes of it the member publishes."""
    entry = preconditions.object_class(step.federation, object_class)
    published = step.member.declared.published.get(object_class)
    if published is None:
        raise ObjectClassNotPublished(
            f"{step.member!r} does not publish {entry.name}; publish it before registering"
        )
    return entry, published


def _create(
    step: Step,
    entry: ObjectClassEntry,
    name: str | None,
    pairs: preconditions.Pairs | None,
    past: TimeValue | None,
) -> ObjectInstanceHandle:
    federation = step.federation
    member = step.member
    if name is not None:
        if name in federation.objects.names:
            raise ObjectInstanceNameInUse(f"an instance named {name!r} exists")
        _require_reserved(step, name)
        del federation.objects.reserved[name]
    if past is not None:
        discovery.reclaim(federation, past)
    federation.objects.registered += 1
    handle = ObjectInstanceHandle.of(federation.objects.registered)
    plan = discovery.plan(federation, member, entry)
    instance = Instance(
        handle,
        name or f"HLA{federation.objects.registered}",
        entry,
        plan.owners,
        plan.knowledge,
        member.handle,
    )
    instance.overrides = _defaults_of(member, entry.handle)
    if pairs:
        instance_regions.associate(federation, instance, member, pairs)
        where = matching_at_time.ever_at(federation, instance)
        plan = discovery.placed_plan(federation, member, entry, plan.owners, where)
        instance.knowledge = plan.knowledge
    federation.instances[handle] = instance
    federation.objects.names[instance.name] = instance
    federation.objects.of_class.setdefault(entry.handle, {})[handle] = instance
    for discoverer, known_class in plan.discoverers:
        discovery.announce(step, instance, discoverer, known_class)
    if federation.switch("autoProvide"):
        for discoverer, _ in plan.discoverers:
            advisories.provide(step, instance, discoverer)
    advisories.instances(step, [instance])
    return handle


def _defaults_of(member: Member, object_class: ObjectClassHandle) -> Overrides | None:
    """A registrant's changed defaults of transportation and order, if it has any for the class."""
    transportations = member.attribute_transportations.get(object_class)
    orders = member.attribute_orders.get(object_class)
    if not transportations and not orders:
        return None
    made = Overrides()
    made.transportations.update(transportations or {})
    made.orders.update(orders or {})
    return made


def delete_object_instance(
    step: Step,
    object_instance: ObjectInstanceHandle,
    tag: bytes,
    given: tuple[object, ...] | LogicalTime | None = None,
    order: OrderType | None = None,
) -> MessageRetractionReturn | None:
    """`given`: a time, or the stamp that the deleter's node made of it (`message.timed_deletion`)."""
    federation = step.federation
    member = step.member
    instance = preconditions.known_instance(federation, member, object_instance)
    owner = instance.owners.get(federation.catalog.privilege)
    if owner is not member:
        by = "nobody" if owner is None else repr(owner)
        raise DeletePrivilegeNotHeld(
            f"the privilege to delete {instance.name!r} is held by {by}, not by {member!r}"
        )
    preconditions.encoded("the user-supplied tag", tag)
    stamp = stamp_from(given) if isinstance(given, tuple) else stamps.carried(federation, given)
    message = Deletion(member.handle, instance.handle, tag, stamp)
    if message.in_time_stamp_order():
        returned = timed_deletion.delete(step, instance, message)
        ownership_transfers.forgotten(step, instance)
        return returned
    ordered = federation.ordered or order is not None
    if not ordered or not federation.orders.deletes(step, message, instance, order):
        for other in federation.seated(instance.knowledge.mask & ~member.bit):
            step.remove(other, message.removal())
    remove(step, instance)
    return None if given is None else NO_RETRACTION


def instance_removed(step: Step, number: int) -> None:
    """Its removal at a logical time was delivered to the member."""
    instance = step.federation.instances.get(ObjectInstanceHandle.of(number))
    timed_deletion.instance_removed(step, number)
    if instance is not None:
        ownership_transfers.forgotten(step, instance)


def local_delete_object_instance(step: Step, object_instance: ObjectInstanceHandle) -> None:
    """The member forgets the instance; it discovers it anew when its subscriptions next change.

    As if it had never discovered it (6.18): what waits to be told about the instance comes to nothing.
    """
    federation = step.federation
    member = step.member
    instance = preconditions.known_instance(federation, member, object_instance)
    if member in instance.owners.values():
        raise FederateOwnsAttributes(f"{member!r} owns attributes of {instance.name!r}; divest them first")
    ownership_transfers.refuse_while_pending(member, [instance])
    update_rates.forget(step, member, update_rates.FORGOTTEN, object_instance)
    federation.forget(instance, member)
    if instance.placement is not None:
        instance_regions.give_up(federation, instance, member)
    tso_queue.forget(member, object_instance)
    member.told_scope.pop(object_instance, None)
    advisories.instances(step, [instance])


def request_attribute_value_update(
    step: Step,
    target: ObjectInstanceHandle | ObjectClassHandle,
    attributes: Iterable[AttributeHandle],
    tag: bytes,
) -> None:
    """Of one instance, or of all instances of a class and the classes below it."""
    federation = step.federation
    member = step.member
    preconditions.encoded("the user-supplied tag", tag)
    if isinstance(target, ObjectInstanceHandle):
        instance, chosen = preconditions.instance_attributes(step, target, attributes)
        advisories.solicit(step, instance, chosen, tag, member)
    else:
        entry = preconditions.object_class(federation, target)
        chosen = preconditions.attributes(entry, attributes)
        for below in entry.family():
            for found in federation.objects.of_class.get(below.handle, {}).values():
                advisories.solicit(step, found, chosen, tag, member)


# --- transportation and order ---------------------------------------------------------------------------------


def _overrides(instance: Instance) -> Overrides:
    if instance.overrides is None:
        instance.overrides = Overrides()
    return instance.overrides


def request_attribute_transportation_type_change(
    step: Step,
    object_instance: ObjectInstanceHandle,
    attributes: Iterable[AttributeHandle],
    transportation: TransportationTypeHandle,
) -> None:
    instance, chosen = preconditions.instance_attributes(step, object_instance, attributes)
    preconditions.owned(instance, step.member, chosen)
    preconditions.transportation(step.federation, transportation)
    _overrides(instance).transportations.update(dict.fromkeys(chosen, transportation))
    arguments = (object_instance, frozenset(chosen), transportation)
    step.callback(step.member, "confirm_attribute_transportation_type_change", arguments)


def change_default_attribute_transportation_type(
    step: Step,
    object_class: ObjectClassHandle,
    attributes: Iterable[AttributeHandle],
    transportation: TransportationTypeHandle,
) -> None:
    """For the instances this federate registers from now on."""
    entry = preconditions.object_class(step.federation, object_class)
    chosen = preconditions.attributes(entry, attributes)
    preconditions.transportation(step.federation, transportation)
    held = step.member.attribute_transportations.setdefault(object_class, {})
    held.update(dict.fromkeys(chosen, transportation))


def query_attribute_transportation_type(
    step: Step,
    object_instance: ObjectInstanceHandle,
    attribute: AttributeHandle,
) -> None:
    instance, _ = preconditions.instance_attributes(step, object_instance, [attribute])
    arguments = (object_instance, attribute, transportation_of(instance, attribute))
    step.callback(step.member, "report_attribute_transportation_type", arguments)


def request_interaction_transportation_type_change(
    step: Step,
    interaction_class: InteractionClassHandle,
    transportation: TransportationTypeHandle,
) -> None:
    _require_sent(step, interaction_class)
    preconditions.transportation(step.federation, transportation)
    step.member.interaction_transportations[interaction_class] = transportation
    step.federation.changed()
    arguments = (interaction_class, transportation)
    step.callback(step.member, "confirm_interaction_transportation_type_change", arguments)


def _require_sent(step: Step, interaction_class: InteractionClassHandle) -> None:
    entry = preconditions.interaction_class(step.federation, interaction_class)
    if interaction_class not in step.member.declared.sends:
        raise InteractionClassNotPublished(f"{step.member!r} does not publish {entry.name}")


def query_interaction_transportation_type(
    step: Step,
    federate: FederateHandle,
    interaction_class: InteractionClassHandle,
) -> None:
    federation = step.federation
    entry = preconditions.interaction_class(federation, interaction_class)
    asked = federation.members.get(federate)
    if asked is None:  # clause 6.32 has no exception of its own for this
        raise RTIinternalError(f"{federate!r} is no federate of {federation.name!r}, or has resigned")
    found = asked.interaction_transportations.get(interaction_class, entry.transportation)
    step.callback(step.member, "report_interaction_transportation_type", (federate, interaction_class, found))


def _require_order(federation: Federation, order: object) -> None:
    if not isinstance(order, OrderType):
        raise RTIinternalError(f"{order!r} is no order type")
    if not is_plain(order):
        federation.ordered = True


def change_attribute_order_type(
    step: Step,
    object_instance: ObjectInstanceHandle,
    attributes: Iterable[AttributeHandle],
    order: OrderType,
) -> None:
    instance, chosen = preconditions.instance_attributes(step, object_instance, attributes)
    preconditions.owned(instance, step.member, chosen)
    _require_order(step.federation, order)
    _overrides(instance).orders.update(dict.fromkeys(chosen, order))


def change_default_attribute_order_type(
    step: Step,
    object_class: ObjectClassHandle,
    attributes: Iterable[AttributeHandle],
    order: OrderType,
) -> None:
    entry = preconditions.object_class(step.federation, object_class)
    chosen = preconditions.attributes(entry, attributes)
    _require_order(step.federation, order)
    step.member.attribute_orders.setdefault(object_class, {}).update(dict.fromkeys(chosen, order))


def change_interaction_order_type(
    step: Step,
    interaction_class: InteractionClassHandle,
    order: OrderType,
) -> None:
    _require_sent(step, interaction_class)
    _require_order(step.federation, order)
    step.member.interaction_orders[interaction_class] = order
    step.federation.changed()  # closes the lanes of this class
