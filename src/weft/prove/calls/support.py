"""Support services and the MOM."""

from __future__ import annotations

import contextlib

from weft.model.enums import ResignAction
from weft.model.json_types import Json
from weft.prove.author import NOBODY, Author, NotNow, one_of
from weft.prove.calls.objects import NAMES
from weft.prove.script import ScriptedCall
from weft.prove.words import (
    FEDERATE,
    FEDERATION,
    MOM_OBJECTS,
    MOM_REPORTS,
    MOM_REQUESTS,
    MOM_SERVICES,
)

_SWITCHES = (
    "object_class_relevance_advisory", "attribute_relevance_advisory", "attribute_scope_advisory",
    "interaction_relevance_advisory", "convey_region_designator_sets",
)  # fmt: skip
_QUESTIONS = (
    "get_auto_provide_switch", "get_delay_subscription_evaluation_switch", "get_advisories_use_known_class_switch",
    "get_allow_relaxed_ddm_switch", "get_non_regulated_grant_switch", "get_automatic_resign_directive",
    "get_service_reporting_switch", "get_exception_reporting_switch",
)  # fmt: skip


def switch(a: Author, who: int) -> ScriptedCall:
    name = a.any(_SWITCHES)
    if a.chance(0.2):
        return ScriptedCall(who, f"get_{name}_switch")
    return ScriptedCall(who, f"set_{name}_switch", (a.chance(0.7),))


def directive(a: Author, who: int) -> ScriptedCall:
    return ScriptedCall(who, "set_automatic_resign_directive", (a.any(list(ResignAction)).name,))


def name(a: Author, who: int) -> ScriptedCall:
    """A look-up of some name or handle."""
    cls, interaction = a.cls(), a.interaction()
    attributes = a.names_of(cls) or [NOBODY]
    instance = NOBODY
    with contextlib.suppress(NotNow):
        instance = a.instance(who)
    found: list[tuple[str, tuple[Json, ...]]] = [
        ("get_federate_handle", (a.federate(),)),
        ("get_federate_name", (a.federate(),)),
        ("get_object_class_handle", (a.any([cls, "Nope"]),)),
        ("get_object_class_name", (cls,)),
        ("get_known_object_class_handle", (instance,)),
        ("get_object_instance_handle", (a.any(NAMES),)),
        ("get_object_instance_name", (instance,)),
        ("get_attribute_handle", (cls, a.any([*attributes, "Nope"]))),
        ("get_attribute_name", (cls, a.any(attributes))),
        ("get_update_rate_value", (a.any([*a.words.rates, "Nope"]),)),
        ("get_update_rate_value_for_attribute", (instance, a.any(attributes))),
        ("get_interaction_class_handle", (a.any([interaction, "Nope"]),)),
        ("get_interaction_class_name", (interaction,)),
        ("get_order_type", (a.any(["Receive", "TimeStamp", "Nope"]),)),
        ("get_order_name", (a.any(["RECEIVE", "TIMESTAMP"]),)),
        ("get_transportation_type_handle", (a.any(["HLAreliable", "HLAbestEffort", "Nope"]),)),
        ("get_transportation_type_name", (a.any(["HLAreliable", NOBODY]),)),
        ("get_available_dimensions_for_object_class", (cls,)),
        ("get_available_dimensions_for_interaction_class", (interaction,)),
        ("get_dimension_handle", (a.any([*a.words.dimensions, "Nope"]),)),
        ("get_dimension_upper_bound", (a.any([*a.words.dimensions, NOBODY]),)),
    ]
    if interaction in a.words.interactions and a.words.parameters(interaction):
        parameter = a.any([*a.words.parameters(interaction), NOBODY])
        found += [
            ("get_parameter_handle", (interaction, parameter)),
            ("get_parameter_name", (interaction, parameter)),
        ]
    service, arguments = a.any(found)
    return ScriptedCall(who, service, arguments)


# --- the MOM --------------------------------------------------------------------------------------------------


def manage(a: Author, who: int) -> ScriptedCall:
    """Subscribe to an object class of the MOM, or to a report."""
    if a.chance(0.4):
        cls = a.any(list(MOM_OBJECTS))
        if a.chance(0.2):
            return ScriptedCall(who, "unsubscribe_object_class", (cls,))
        names = sorted(a.some(a.words.attributes(cls)))
        return ScriptedCall(who, "subscribe_object_class_attributes", (cls, names))
    report = f"{FEDERATE}.HLAreport.{a.any(MOM_REPORTS)}"
    if a.chance(0.15):
        report = f"{FEDERATION}.HLAreport.HLAreportSynchronizationPoints"
    return ScriptedCall(who, "subscribe_interaction_class", (report,))


def ask(a: Author, who: int) -> ScriptedCall:
    interaction = f"{FEDERATE}.HLArequest.{a.any(MOM_REQUESTS)}"
    values: dict[str, Json] = {"HLAfederate": {"federate": a.federate()}}
    if a.chance(0.1):
        interaction = f"{FEDERATION}.HLArequest.HLArequestSynchronizationPoints"
        values = {}
    if a.wild:
        values = a.any([{}, {"HLAfederate": "x"}])
    return _said(a, who, interaction, values)


def command(a: Author, who: int) -> ScriptedCall:
    """A service on behalf of another federate."""
    service = a.any(MOM_SERVICES)
    a.require(service != "HLAresignFederationExecution" or a.chance(0.3))
    values: dict[str, Json] = {"HLAfederate": {"federate": a.federate()}}
    if service == "HLAresignFederationExecution":
        values["HLAresignAction"] = {
            "value": "CancelPendingAcquisitionsThenDeleteObjectInstancesThenDivestOwnership"
        }
    elif service == "HLAsynchronizationPointAchieved":
        values["HLAlabel"] = {"value": a.any(["ready", "over"])}
    return _said(a, who, f"{FEDERATE}.HLAservice.{service}", values)


def _said(a: Author, who: int, interaction: str, values: dict[str, Json]) -> ScriptedCall:
    sent = ScriptedCall(who, "send_interaction", (interaction, values, ""))
    if interaction in a.one(who).sends:
        return sent
    return a.follow(ScriptedCall(who, "publish_interaction_class", (interaction,)), sent)


CHOICES = (
    (3, switch), (0.5, one_of(*_QUESTIONS)), (0.5, directive), (4, name),
    (2.5, manage), (2, ask), (1, command),
)  # fmt: skip
