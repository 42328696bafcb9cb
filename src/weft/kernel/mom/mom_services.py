"""What other federates may change through the MOM: adjustments, and services invoked on a federate's behalf.

Each becomes commands, given their place by the home like any other.  Those that are no service of the standard go by
`MOM_ADJUST`, carried out by `adjust`.
"""

from __future__ import annotations

from weft.kernel.mom.mom_objects import SWITCHES
from weft.kernel.mom.mom_parameters import (
    ParameterError,
    Parameters,
    Taken,
    constant,
    handle,
    handles,
    interval,
    optional,
    order,
    plain,
    resign_action,
    switch,
    time,
    transportation,
)
from weft.kernel.mom.mom_reports import camel
from weft.kernel.services import ownership_transfers
from weft.kernel.state import preconditions
from weft.kernel.state.effects import Alarm
from weft.kernel.state.step import Step
from weft.model.deliveries import checked
from weft.model.enums import OrderType
from weft.model.errors import AttributeNotOwned, AttributeNotPublished
from weft.model.handles import (
    AttributeHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
)

MOM_ADJUST = "mom_adjust"
GRANTED_ALONE = "granted alone"  # a federate of 2010 has joined (`Switches.non_regulated_grant`)

Command = tuple[str, tuple[object, ...]]
"""A service and its arguments."""

# --- services on behalf ---------------------------------------------------------------------------------------

_CLASS = handle(ObjectClassHandle, "HLAobjectClass")
_INTERACTION = handle(InteractionClassHandle, "HLAinteractionClass")
_INTERACTIONS = handles(InteractionClassHandle, "HLAinteractionClassList")
_INSTANCE = handle(ObjectInstanceHandle, "HLAobjectInstance")
_ATTRIBUTES = handles(AttributeHandle, "HLAattributeList")
_WAY = transportation("HLAtransportation")
_TIME = time("HLAtimeStamp")
_ACTIVE = plain("HLAactive")


def _order(given: Parameters) -> OrderType:
    return order(given, "HLAsendOrder")


_OF_ITS_TIME: dict[str, tuple[Taken, ...]] = {
    "enable_time_regulation": (interval("HLAlookahead"),),
    "disable_time_regulation": (),
    "enable_time_constrained": (),
    "disable_time_constrained": (),
    "time_advance_request": (_TIME,),
    "time_advance_request_available": (_TIME,),
    "next_message_request": (_TIME,),
    "next_message_request_available": (_TIME,),
    "flush_queue_request": (_TIME,),
    "enable_asynchronous_delivery": (),
    "disable_asynchronous_delivery": (),
    "modify_lookahead": (interval("HLAlookahead"),),
}
"""Services that only the federate's own node can judge."""
_TAKES: dict[str, tuple[Taken, ...]] = {
    **_OF_ITS_TIME,
    "resign_federation_execution": (lambda given: resign_action(given, "HLAresignAction"),),
    "synchronization_point_achieved": (plain("HLAlabel"),),
    "federate_save_begun": (),
    "publish_object_class_attributes": (_CLASS, _ATTRIBUTES),
    "unpublish_object_class_attributes": (_CLASS, _ATTRIBUTES),
    "publish_interaction_class": (_INTERACTION,),
    "unpublish_interaction_class": (_INTERACTION,),
    "publish_object_class_directed_interactions": (_CLASS, _INTERACTIONS),
    "unpublish_object_class_directed_interactions": (_CLASS, _INTERACTIONS),
    "subscribe_object_class_attributes": (_CLASS, _ATTRIBUTES, constant(""), _ACTIVE),
    "unsubscribe_object_class_attributes": (_CLASS, _ATTRIBUTES),
    "subscribe_interaction_class": (_INTERACTION, _ACTIVE),
    "unsubscribe_interaction_class": (_INTERACTION,),
    "subscribe_object_class_directed_interactions": (_CLASS, _INTERACTIONS),
    "unsubscribe_object_class_directed_interactions": (_CLASS, _INTERACTIONS),
    "delete_object_instance": (
        _INSTANCE,
        optional(plain("HLAtag"), "HLAtag", b""),
        optional(_TIME, "HLAtimeStamp", None),
    ),
    "local_delete_object_instance": (_INSTANCE,),
    "request_attribute_transportation_type_change": (_INSTANCE, _ATTRIBUTES, _WAY),
    "request_interaction_transportation_type_change": (_INTERACTION, _WAY),
    "unconditional_attribute_ownership_divestiture": (_INSTANCE, _ATTRIBUTES, constant(b"")),
    "change_attribute_order_type": (_INSTANCE, _ATTRIBUTES, _order),
    "change_interaction_order_type": (_INTERACTION, _order),
}
SERVICES = {f"HLA{camel(service)}": (service, takes) for service, takes in _TAKES.items()}
"""By the name of the interaction: the service, and what takes its arguments out of the parameters."""
# The parameter says which of two services it is.
_INDICATED = {
    "HLAfederateSaveComplete": ("federate_save_complete", "federate_save_not_complete"),
    "HLAfederateRestoreComplete": ("federate_restore_complete", "federate_restore_not_complete"),
}


def service_command(name: str, given: Parameters) -> Command:
    if name in _INDICATED:
        well, badly = _INDICATED[name]
        return (well if given.get("HLAsuccessIndicator") else badly), ()
    service, takes = SERVICES[name]
    return service, tuple(take(given) for take in takes)


def is_service(name: str) -> bool:
    return name in SERVICES or name in _INDICATED


def is_judged_by_its_node(name: str) -> bool:
    return name in SERVICES and SERVICES[name][0] in _OF_ITS_TIME


# --- adjustments ----------------------------------------------------------------------------------------------


def adjust_commands(name: str, given: Parameters) -> list[Command]:
    """What an HLAadjust of a federate comes to."""
    if name == "HLAsetTiming":
        period = given.number("HLAreportPeriod")
        if period < 0:
            raise ParameterError(f"HLAreportPeriod is {period}; it is a number of seconds, 0 for none")
        return [(MOM_ADJUST, ("timing", period))]
    if name == "HLAmodifyAttributeState":
        state = given.get("HLAattributeState")
        if state not in ("Owned", "Unowned"):
            raise ParameterError(f"HLAattributeState is {state!r}, neither Owned nor Unowned")
        attribute = given.handle(AttributeHandle, "HLAattribute")
        return [(MOM_ADJUST, ("attribute", _INSTANCE(given), attribute, state == "Owned"))]
    if name in OLDER_ADJUSTMENTS:
        return [("set_switch", (OLDER_ADJUSTMENTS[name], bool(given.get("HLAreportingState"))))]
    commands: list[Command] = [
        ("set_switch", (switch_name, switch(given, parameter)))
        for parameter, switch_name in SWITCHES.items()
        if given.has(parameter)
    ]
    if given.has("HLAautomaticResignAction"):
        action = resign_action(given, "HLAautomaticResignAction")
        commands.append(("set_automatic_resign_directive", (action,)))
    return commands


def federation_commands(given: Parameters) -> list[Command]:
    """What HLAsetSwitches of the federation comes to; it is in the name of whoever sent it."""
    if not given.has("HLAautoProvide"):
        return []
    return [(MOM_ADJUST, ("autoProvide", switch(given, "HLAautoProvide")))]


# Of 2010, where each is a class of its own (`weft.fom.mim.older_mom`).
OLDER_ADJUSTMENTS = {
    "HLAsetServiceReporting": "service_reporting",
    "HLAsetExceptionReporting": "exception_reporting",
}
ADJUSTMENTS = ("HLAsetTiming", "HLAmodifyAttributeState", "HLAsetSwitches")


def adjust(step: Step, what: str, *arguments: object) -> None:
    if what == "timing":
        _set_timing(step, checked(int, arguments[0]))
    elif what == "attribute":
        instance, attribute, owned = arguments
        _set_ownership(
            step,
            checked(ObjectInstanceHandle, instance),
            checked(AttributeHandle, attribute),
            checked(bool, owned),
        )
    elif what == GRANTED_ALONE:
        step.member.switches.non_regulated_grant = True
    elif step.federation.switch(what) != arguments[0]:
        step.federation.switches[what] = checked(bool, arguments[0])
        step.note(None, "HLAautoProvide")


def _set_timing(step: Step, period: int) -> None:
    member = step.member
    member.report_period = period
    if period and member.node == step.node:
        step.federation.mom.due[member.handle] = step.now + period
        step.effects.append(Alarm(member.session, step.now + period, recurring=True))
    else:
        step.federation.mom.due.pop(member.handle, None)


def _set_ownership(step: Step, handle: ObjectInstanceHandle, attribute: AttributeHandle, owned: bool) -> None:
    """Nobody is told: neither the one who gains nor the one who loses."""
    member = step.member
    instance, _ = preconditions.instance_attributes(step, handle, [attribute])
    name = instance.entry.attributes[attribute].name
    owner = instance.owners.get(attribute)
    if owner is step.federation.rti:
        raise AttributeNotOwned(f"{name} of {instance.name!r} belongs to the RTI")
    known_class = step.federation.known_class(member, instance)
    if owned and attribute not in member.declared.published.get(known_class or instance.entry.handle, {}):
        raise AttributeNotPublished(f"{member!r} does not publish {name}, so it cannot own it")
    if not owned and owner is not member:
        raise AttributeNotOwned(f"{name} of {instance.name!r} is not owned by {member!r}")
    ownership_transfers.impose(step, instance, attribute, member if owned else None)
