"""Object management (clause 6), but for the messages themselves, which are in `message.pipeline`.

Names, registration, deletion, requests for values; and the transportation and order of instances and classes.
"""

from __future__ import annotations

from collections.abc import Iterable

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
from weft.model.time import LogicalTime

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
    federation = step.federation
    member = step.member
    _check_name(name)
    if _is_free(federation, name):
        federation.objects.reserved[name] = member.handle
        step.callback(member, "object_instance_name_reservation_succeeded", (name,))
    else:
        step.callback(member, "object_instance_name_reservation_failed", (name,))


def release_object_instance_name(step: Step, name: str) -> None:
    federation = step.federation
    _require_reserved(federation, step.member, name)
    del federation.objects.reserved[name]


def _require_reserved(federation: Federation, member: Member, name: str) -> None:
    if federation.objects.reserved.get(name) != member.handle:
        raise ObjectInstanceNameNotReserved(f"{member!r} has not reserved the name {name!r}")


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
    federation = step.federation
    member = step.member
    wanted = sorted(frozenset(names))
    for name in wanted:
        _require_reserved(federation, member, name)
    for name in wanted:
        del federation.objects.reserved[name]


# --- instances ------------------------------------------------------------------------------------------------


def register_object_instance(
    step: Step,
    object_class: ObjectClassHandle,
    name: str | None = None,
) -> ObjectInstanceHandle:
    federation = step.federation
    member = step.member
    entry = preconditions.object_class(federation, object_class)
    if object_class not in member.declared.published:
        raise ObjectClassNotPublished(
            f"{member!r} does not publish {entry.name}; publish it before registering"
        )
    _take_name(federation, member, name)
    return _create(step, entry, name, None)


def register_object_instance_with_regions(
    step: Step,
    object_class: ObjectClassHandle,
    attributes_and_regions: instance_regions.GivenPairs,
    name: str | None = None,
) -> ObjectInstanceHandle:
    federation = step.federation
    member = step.member
    entry = preconditions.object_class(federation, object_class)
    published = member.declared.published.get(object_class)
    if published is None:
        raise ObjectClassNotPublished(
            f"{member!r} does not publish {entry.name}; publish it before registering"
        )
    pairs = preconditions.placed(federation, member, entry, attributes_and_regions)
    for attributes, _ in pairs:
        for attribute in attributes:
            if attribute not in published:
                raise AttributeNotPublished(
                    f"{member!r} does not publish {entry.attributes[attribute].name} of {entry.name}"
                )
    _take_name(federation, member, name)
    return _create(step, entry, name, pairs)


def _take_name(federation: Federation, member: Member, name: str | None) -> None:
    if name is not None:
        if name in federation.objects.names:
            raise ObjectInstanceNameInUse(f"an instance named {name!r} exists")
        _require_reserved(federation, member, name)
        del federation.objects.reserved[name]


def _create(
    step: Step,
    entry: ObjectClassEntry,
    name: str | None,
    pairs: preconditions.Pairs | None,
) -> ObjectInstanceHandle:
    federation = step.federation
    member = step.member
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
        return timed_deletion.delete(step, instance, message)
    ordered = federation.ordered or order is not None
    if not ordered or not federation.orders.deletes(step, message, instance, order):
        for other in federation.seated(instance.knowledge.mask & ~member.bit):
            step.remove(other, message.removal())
    remove(federation, instance)
    return None if given is None else NO_RETRACTION


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
    federation.forget(instance, member)
    if instance.placement is not None:
        instance_regions.give_up(federation, instance, member)
    update_rates.forget(federation, member, object_instance)
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
        instance = preconditions.known_instance(federation, member, target)
        chosen = preconditions.known_attributes(federation, member, instance, attributes)
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
    federation = step.federation
    member = step.member
    instance = preconditions.known_instance(federation, member, object_instance)
    chosen = preconditions.known_attributes(federation, member, instance, attributes)
    preconditions.owned(instance, member, chosen)
    preconditions.transportation(federation, transportation)
    _overrides(instance).transportations.update(dict.fromkeys(chosen, transportation))
    arguments = (object_instance, frozenset(chosen), transportation)
    step.callback(member, "confirm_attribute_transportation_type_change", arguments)


def change_default_attribute_transportation_type(
    step: Step,
    object_class: ObjectClassHandle,
    attributes: Iterable[AttributeHandle],
    transportation: TransportationTypeHandle,
) -> None:
    """For the instances this federate registers from now on."""
    federation = step.federation
    entry = preconditions.object_class(federation, object_class)
    chosen = preconditions.attributes(entry, attributes)
    preconditions.transportation(federation, transportation)
    held = step.member.attribute_transportations.setdefault(object_class, {})
    held.update(dict.fromkeys(chosen, transportation))


def query_attribute_transportation_type(
    step: Step,
    object_instance: ObjectInstanceHandle,
    attribute: AttributeHandle,
) -> None:
    federation = step.federation
    member = step.member
    instance = preconditions.known_instance(federation, member, object_instance)
    preconditions.known_attributes(federation, member, instance, [attribute])
    arguments = (object_instance, attribute, transportation_of(instance, attribute))
    step.callback(member, "report_attribute_transportation_type", arguments)


def request_interaction_transportation_type_change(
    step: Step,
    interaction_class: InteractionClassHandle,
    transportation: TransportationTypeHandle,
) -> None:
    federation = step.federation
    member = step.member
    entry = preconditions.interaction_class(federation, interaction_class)
    _require_sent(member, interaction_class, entry.name)
    preconditions.transportation(federation, transportation)
    member.interaction_transportations[interaction_class] = transportation
    federation.changed()
    arguments = (interaction_class, transportation)
    step.callback(member, "confirm_interaction_transportation_type_change", arguments)


def _require_sent(member: Member, interaction_class: InteractionClassHandle, name: str) -> None:
    if interaction_class not in member.declared.sends:
        raise InteractionClassNotPublished(f"{member!r} does not publish {name}")


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
    federation = step.federation
    member = step.member
    instance = preconditions.known_instance(federation, member, object_instance)
    chosen = preconditions.known_attributes(federation, member, instance, attributes)
    preconditions.owned(instance, member, chosen)
    _require_order(federation, order)
    _overrides(instance).orders.update(dict.fromkeys(chosen, order))


def change_default_attribute_order_type(
    step: Step,
    object_class: ObjectClassHandle,
    attributes: Iterable[AttributeHandle],
    order: OrderType,
) -> None:
    federation = step.federation
    entry = preconditions.object_class(federation, object_class)
    chosen = preconditions.attributes(entry, attributes)
    _require_order(federation, order)
    step.member.attribute_orders.setdefault(object_class, {}).update(dict.fromkeys(chosen, order))


def change_interaction_order_type(
    step: Step,
    interaction_class: InteractionClassHandle,
    order: OrderType,
) -> None:
    federation = step.federation
    member = step.member
    entry = preconditions.interaction_class(federation, interaction_class)
    _require_sent(member, interaction_class, entry.name)
    _require_order(federation, order)
    member.interaction_orders[interaction_class] = order
    federation.changed()  # closes the lanes of this class
