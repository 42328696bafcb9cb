"""Refusals of the support services."""

from __future__ import annotations

from typing import Any

from support.federation import Federation
from support.refusals import (
    NO_ATTRIBUTE,
    NO_CLASS,
    NO_INSTANCE,
    NO_INTERACTION,
    NO_PARAMETER,
    NOBODY,
    TANK,
    Refusal,
    tank,
    within,
)
from weft.model.handles import DimensionHandle, TransportationTypeHandle

NO_DIMENSION = DimensionHandle.of(9999)


def _asks(service: str, error: str, *args: Any) -> Refusal:
    """The service, called with just these."""
    return Refusal(service, error, lambda f: getattr(f.rti[0], service)(*args))


def _name_of_the_resigned(f: Federation) -> str:
    f.resign(1)
    return f.rti[0].get_federate_name(f.handle(1))


REPORTS = "HLAmanager.HLAfederate.HLAreport.HLAreportServiceInvocation"


def _hear_own_reports(f: Federation, passively: str) -> None:
    f.rti[0].set_service_reporting_switch(True)
    getattr(f.rti[0], f"subscribe_interaction_class{passively}")(f.interaction(REPORTS))


def _be_reported_to_oneself(f: Federation) -> None:
    f.rti[0].subscribe_interaction_class(f.interaction(REPORTS))
    f.rti[0].set_service_reporting_switch(True)


SUPPORT = [
    *(
        Refusal(
            f"subscribe_interaction_class{passively}",
            "FederateServiceInvocationsAreBeingReportedViaMOM",
            lambda f, passively=passively: _hear_own_reports(f, passively),  # type: ignore[misc]
        )
        for passively in ("", "_passively")
    ),
    Refusal("set_service_reporting_switch", "ReportServiceInvocationsAreSubscribed", _be_reported_to_oneself),
    _asks("get_federate_handle", "NameNotFound", "nobody"),
    _asks("get_federate_name", "InvalidFederateHandle", NOBODY),
    Refusal("get_federate_name", "FederateHandleNotKnown", _name_of_the_resigned),
    _asks("get_object_class_handle", "NameNotFound", "Submarine"),
    _asks("get_object_class_name", "InvalidObjectClassHandle", NO_CLASS),
    _asks("get_known_object_class_handle", "ObjectInstanceNotKnown", NO_INSTANCE),
    _asks("get_object_instance_handle", "ObjectInstanceNotKnown", "nothing"),
    _asks("get_object_instance_name", "ObjectInstanceNotKnown", NO_INSTANCE),
    _asks("get_attribute_handle", "InvalidObjectClassHandle", NO_CLASS, "Name"),
    Refusal(
        "get_attribute_handle",
        "NameNotFound",
        lambda f: f.rti[0].get_attribute_handle(f.object_class("Vehicle"), "Ammo"),
    ),
    _asks("get_attribute_name", "InvalidObjectClassHandle", NO_CLASS, NO_ATTRIBUTE),
    Refusal(
        "get_attribute_name",
        "InvalidAttributeHandle",
        lambda f: f.rti[0].get_attribute_name(f.object_class("Vehicle"), NO_ATTRIBUTE),
    ),
    Refusal(
        "get_attribute_name",
        "AttributeNotDefined",
        lambda f: f.rti[0].get_attribute_name(f.object_class("Vehicle"), f.attribute(TANK, "Ammo")),
    ),
    _asks("get_update_rate_value", "InvalidUpdateRateDesignator", "Warp"),
    _asks("get_update_rate_value_for_attribute", "ObjectInstanceNotKnown", NO_INSTANCE, NO_ATTRIBUTE),
    Refusal(
        "get_update_rate_value_for_attribute",
        "AttributeNotDefined",
        lambda f: f.rti[0].get_update_rate_value_for_attribute(tank(f), NO_ATTRIBUTE),
    ),
    Refusal(
        "get_update_rate_value_for_attribute",
        "AttributeNotDefined",
        lambda f: f.rti[1].get_update_rate_value_for_attribute(tank(f), f.attribute(TANK, "Ammo")),
    ),
    _asks("get_interaction_class_handle", "NameNotFound", "Whisper"),
    _asks("get_interaction_class_name", "InvalidInteractionClassHandle", NO_INTERACTION),
    _asks("get_parameter_handle", "InvalidInteractionClassHandle", NO_INTERACTION, "When"),
    Refusal(
        "get_parameter_handle",
        "NameNotFound",
        lambda f: f.rti[0].get_parameter_handle(f.interaction("Event"), "Where"),
    ),
    _asks("get_parameter_name", "InvalidInteractionClassHandle", NO_INTERACTION, NO_PARAMETER),
    Refusal(
        "get_parameter_name",
        "InvalidParameterHandle",
        lambda f: f.rti[0].get_parameter_name(f.interaction("Event"), NO_PARAMETER),
    ),
    Refusal(
        "get_parameter_name",
        "InteractionParameterNotDefined",
        lambda f: f.rti[0].get_parameter_name(f.interaction("Event"), f.parameter("Event.Hit", "Where")),
    ),
    _asks("get_order_type", "InvalidOrderName", "HLAsoon"),
    _asks("get_order_name", "InvalidOrderType", "soon"),
    _asks("get_transportation_type_handle", "InvalidTransportationName", "HLApigeon"),
    _asks("get_transportation_type_name", "InvalidTransportationTypeHandle", TransportationTypeHandle.of(99)),
    _asks("get_available_dimensions_for_object_class", "InvalidObjectClassHandle", NO_CLASS),
    _asks("get_available_dimensions_for_interaction_class", "InvalidInteractionClassHandle", NO_INTERACTION),
    _asks("get_dimension_handle", "NameNotFound", "Fifth"),
    _asks("get_dimension_name", "InvalidDimensionHandle", NO_DIMENSION),
    _asks("get_dimension_upper_bound", "InvalidDimensionHandle", NO_DIMENSION),
    _asks("normalize_service_group", "InvalidServiceGroup", "support"),
    _asks("normalize_federate_handle", "InvalidFederateHandle", NOBODY),
    _asks("normalize_object_class_handle", "InvalidObjectClassHandle", NO_CLASS),
    _asks("normalize_interaction_class_handle", "InvalidInteractionClassHandle", NO_INTERACTION),
    _asks("normalize_object_instance_handle", "InvalidObjectInstanceHandle", NO_INSTANCE),
    Refusal(
        "evoke_callback",
        "CallNotAllowedFromWithinCallback",
        lambda f: within(f, lambda: f.rti[0].evoke_callback(0.0)),
    ),
    Refusal(
        "evoke_multiple_callbacks",
        "CallNotAllowedFromWithinCallback",
        lambda f: within(f, lambda: f.rti[0].evoke_multiple_callbacks(0.0, 0.0)),
    ),
]
