"""Support services (clause 10): names and handles, switches, and what the RTI knows about a federation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from weft.fom.catalog import DimensionEntry, InteractionClassEntry, ObjectClassEntry
from weft.fom.orders import NAMES
from weft.kernel.ddm import matching
from weft.kernel.message import advisories
from weft.kernel.services import declaration
from weft.kernel.state import preconditions
from weft.kernel.state.step import Step
from weft.model.enums import OrderType, ResignAction, ServiceGroup
from weft.model.errors import (
    AttributeNotDefined,
    InteractionParameterNotDefined,
    InvalidAttributeHandle,
    InvalidDimensionHandle,
    InvalidFederateHandle,
    InvalidInteractionClassHandle,
    InvalidObjectClassHandle,
    InvalidObjectInstanceHandle,
    InvalidOrderName,
    InvalidOrderType,
    InvalidParameterHandle,
    InvalidResignAction,
    InvalidServiceGroup,
    InvalidTransportationName,
    InvalidTransportationTypeHandle,
    NameNotFound,
    ObjectInstanceNotKnown,
    RTIexception,
    RTIinternalError,
)
from weft.model.handles import (
    AttributeHandle,
    DimensionHandle,
    FederateHandle,
    Handle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    TransportationTypeHandle,
)

_ORDER_NAMES = {
    "Receive": OrderType.RECEIVE,
    "TimeStamp": OrderType.TIMESTAMP,
    "HLAcausal": OrderType.CAUSAL,
    "HLAtotal": OrderType.TOTAL,
    "HLApriority": OrderType.PRIORITY,
}
# Some write the two of the standard as its other names are written.
_ORDER_SPELLINGS = {
    **_ORDER_NAMES,
    **NAMES,
    "HLAreceive": OrderType.RECEIVE,
    "HLAtimestamp": OrderType.TIMESTAMP,
    "HLAtimeStamp": OrderType.TIMESTAMP,
}

Entry = TypeVar("Entry")


def _named(step: Step, found: Entry | None, what: str, name: str) -> Entry:
    if found is None:
        raise NameNotFound(f"no {what} {name!r} in the object model of {step.federation.name!r}")
    return found


def _valid(
    step: Step, found: Entry | None, what: str, handle: Handle, error: Callable[[str], RTIexception]
) -> Entry:
    if found is None:
        raise error(f"{handle!r} is no {what} of {step.federation.name!r}")
    return found


# --- federates, classes, instances ----------------------------------------------------------------------------


def get_federate_handle(step: Step, name: str) -> FederateHandle:
    found = step.federation.membership.names.get(name)
    if found is None:
        raise NameNotFound(f"no federate named {name!r} in {step.federation.name!r}")
    return found.handle


def get_federate_name(step: Step, handle: FederateHandle) -> str:
    return preconditions.member(step.federation, handle).name


def get_object_class_handle(step: Step, name: str) -> ObjectClassHandle:
    return _named(step, step.federation.catalog.object_class_named(name), "object class", name).handle


def _object_class(step: Step, handle: ObjectClassHandle) -> ObjectClassEntry:
    found = step.federation.catalog.object_classes.get(handle)
    return _valid(step, found, "object class", handle, InvalidObjectClassHandle)


def get_object_class_name(step: Step, handle: ObjectClassHandle) -> str:
    return _object_class(step, handle).name


def get_known_object_class_handle(step: Step, handle: ObjectInstanceHandle) -> ObjectClassHandle:
    instance = preconditions.known_here(step, handle)
    known = step.federation.known_class(step.member, instance)
    assert known is not None  # a known instance has a known class
    return known


def get_object_instance_handle(step: Step, name: str) -> ObjectInstanceHandle:
    instance = step.federation.objects.names.get(name)
    if instance is None or not instance.knowledge.mask & step.member.bit:
        raise ObjectInstanceNotKnown(f"no instance named {name!r} is known to {step.member!r}")
    return instance.handle


def get_object_instance_name(step: Step, handle: ObjectInstanceHandle) -> str:
    return preconditions.known_here(step, handle).name


def get_attribute_handle(step: Step, object_class: ObjectClassHandle, name: str) -> AttributeHandle:
    entry = _object_class(step, object_class)
    found = entry.names.get(name)
    if found is None:
        raise NameNotFound(f"class {entry.name} has no attribute {name!r}")
    return found


def get_attribute_name(step: Step, object_class: ObjectClassHandle, attribute: AttributeHandle) -> str:
    entry = _object_class(step, object_class)
    found = entry.attributes.get(attribute)
    if found is None and step.federation.catalog.is_attribute(attribute):
        raise AttributeNotDefined(f"{attribute!r} is no attribute of class {entry.name}")
    return _valid(step, found, "attribute", attribute, InvalidAttributeHandle).name


def get_interaction_class_handle(step: Step, name: str) -> InteractionClassHandle:
    found = step.federation.catalog.interaction_class_named(name)
    return _named(step, found, "interaction class", name).handle


def _interaction_class(step: Step, handle: InteractionClassHandle) -> InteractionClassEntry:
    found = step.federation.catalog.interaction_classes.get(handle)
    return _valid(step, found, "interaction class", handle, InvalidInteractionClassHandle)


def get_interaction_class_name(step: Step, handle: InteractionClassHandle) -> str:
    return _interaction_class(step, handle).name


def get_parameter_handle(step: Step, interaction_class: InteractionClassHandle, name: str) -> ParameterHandle:
    entry = _interaction_class(step, interaction_class)
    found = entry.names.get(name)
    if found is None:
        raise NameNotFound(f"class {entry.name} has no parameter {name!r}")
    return found


def get_parameter_name(
    step: Step,
    interaction_class: InteractionClassHandle,
    parameter: ParameterHandle,
) -> str:
    entry = _interaction_class(step, interaction_class)
    found = entry.parameters.get(parameter)
    if found is None and step.federation.catalog.is_parameter(parameter):
        raise InteractionParameterNotDefined(f"{parameter!r} is no parameter of class {entry.name}")
    return _valid(step, found, "parameter", parameter, InvalidParameterHandle).name


# --- rates, orders, transportations, dimensions ---------------------------------------------------------------


def get_update_rate_value(step: Step, designator: str) -> float:
    return declaration.update_rate(step.federation, designator)


def get_update_rate_value_for_attribute(
    step: Step,
    object_instance: ObjectInstanceHandle,
    attribute: AttributeHandle,
) -> float:
    """The rate this federate subscribed the attribute with; 0 where it asked for every update or for none."""
    federation = step.federation
    instance, _ = preconditions.instance_attributes(step, object_instance, [attribute])
    known = federation.known_class(step.member, instance)
    where = matching.where_is(federation, instance)
    wishes = {} if known is None else matching.wishes(federation, step.member, known, where) or {}
    wish = wishes.get(attribute)
    return federation.catalog.model.update_rates[wish.rate] if wish is not None and wish.rate else 0.0


def get_order_type(step: Step, name: str) -> OrderType:
    found = _ORDER_SPELLINGS.get(name)
    if found is None:
        raise InvalidOrderName(f"{name!r} is no order; use {' or '.join(_ORDER_NAMES)}")
    return found


def get_order_name(step: Step, order: OrderType) -> str:
    for name, found in _ORDER_NAMES.items():
        if found is order:
            return name
    raise InvalidOrderType(f"{order!r} is no order type")


def get_transportation_type_handle(step: Step, name: str) -> TransportationTypeHandle:
    names = step.federation.catalog.transportation_names
    found = names.get(name)
    if found is None:
        known = ", ".join(names)
        raise InvalidTransportationName(f"{name!r} is no transportation of the object model (it has {known})")
    return found


def get_transportation_type_name(step: Step, handle: TransportationTypeHandle) -> str:
    found = step.federation.catalog.transportations.get(handle)
    return _valid(step, found, "transportation type", handle, InvalidTransportationTypeHandle)


def get_available_dimensions_for_object_class(
    step: Step, handle: ObjectClassHandle
) -> frozenset[DimensionHandle]:
    return step.federation.catalog.available_to_object_class(_object_class(step, handle))


def get_available_dimensions_for_interaction_class(
    step: Step, handle: InteractionClassHandle
) -> frozenset[DimensionHandle]:
    return step.federation.catalog.available_to_interaction_class(_interaction_class(step, handle))


def get_dimension_handle(step: Step, name: str) -> DimensionHandle:
    return _named(step, step.federation.catalog.dimension_names.get(name), "dimension", name).handle


def dimension(step: Step, handle: DimensionHandle) -> DimensionEntry:
    found = step.federation.catalog.dimensions.get(handle)
    return _valid(step, found, "dimension", handle, InvalidDimensionHandle)


def get_dimension_name(step: Step, handle: DimensionHandle) -> str:
    return dimension(step, handle).name


def get_dimension_upper_bound(step: Step, handle: DimensionHandle) -> int:
    return dimension(step, handle).upper_bound


# --- normalisation --------------------------------------------------------------------------------------------


def normalize_service_group(step: Step, group: ServiceGroup) -> int:
    if not isinstance(group, ServiceGroup):
        raise InvalidServiceGroup(f"{group!r} is no service group")
    return group.value


def normalize_federate_handle(step: Step, handle: FederateHandle) -> int:
    if not handle.is_between(1, step.federation.membership.joined):
        raise InvalidFederateHandle(f"{handle!r} was never given to a federate of {step.federation.name!r}")
    return handle.number


def normalize_object_class_handle(step: Step, handle: ObjectClassHandle) -> int:
    return _object_class(step, handle).handle.number


def normalize_interaction_class_handle(step: Step, handle: InteractionClassHandle) -> int:
    return _interaction_class(step, handle).handle.number


def normalize_object_instance_handle(step: Step, handle: ObjectInstanceHandle) -> int:
    found = step.federation.instances.get(handle)
    return _valid(step, found, "object instance", handle, InvalidObjectInstanceHandle).handle.number


# --- switches -------------------------------------------------------------------------------------------------

SWITCHES = {
    "object_class_relevance": "HLAobjectClassRelevanceAdvisory",
    "attribute_relevance": "HLAattributeRelevanceAdvisory",
    "attribute_scope": "HLAattributeScopeAdvisory",
    "interaction_relevance": "HLAinteractionRelevanceAdvisory",
    "convey_region_designator_sets": "HLAconveyRegionDesignatorSets",
    "service_reporting": "HLAserviceReporting",
    "exception_reporting": "HLAexceptionReporting",
    "send_service_reports_to_file": "HLAsendServiceReportsToFile",
}
"""The switches of a federate, and what the MOM calls them."""


def get_switch(step: Step, name: str) -> bool:
    return bool(getattr(step.member.switches, name))


def set_switch(step: Step, name: str, value: bool) -> None:
    federation = step.federation
    member = step.member
    if name not in SWITCHES:
        raise RTIinternalError(f"{name!r} is no switch of a federate")
    if getattr(member.switches, name) == bool(value):
        return  # nothing is switched, so there is nothing to tell
    if name == "service_reporting" and value:
        preconditions.not_hearing_reports(federation, member)
    setattr(member.switches, name, bool(value))
    step.note(member, SWITCHES[name])
    if name == "send_service_reports_to_file":
        step.note(member, "HLAreportServiceFile")
    catalog = federation.catalog
    if name == "object_class_relevance":
        member.told_registrations.clear()
        published = list(member.declared.published)
        advisories.registrations(step, [catalog.object_classes[handle] for handle in published])
    elif name == "interaction_relevance":
        member.told_interactions.clear()
        sent = list(member.declared.sends)
        advisories.interactions(step, [catalog.interaction_classes[handle] for handle in sent])
    elif name in ("attribute_relevance", "attribute_scope"):
        (member.told_updates if name == "attribute_relevance" else member.told_scope).clear()
        advisories.instances(step, federation.instances.values())
    elif name == "convey_region_designator_sets":
        federation.ddm.changes += 1  # forgets the routes of what is sent with regions


def get_federation_switch(step: Step, name: str) -> bool:
    return step.federation.switch(name)


def get_automatic_resign_directive(step: Step) -> ResignAction:
    return step.member.resign_directive


def set_automatic_resign_directive(step: Step, value: ResignAction) -> None:
    if not isinstance(value, ResignAction):
        raise InvalidResignAction(f"{value!r} is no resign action")
    step.member.resign_directive = value
