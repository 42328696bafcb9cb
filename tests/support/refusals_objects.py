"""Refusals of declaration management, object management and the order services of time management."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.federation import Federation
from support.refusals import (
    NO_ATTRIBUTE,
    NO_CLASS,
    NO_INSTANCE,
    NO_INTERACTION,
    NO_PARAMETER,
    TANK,
    Refusal,
    tank,
)
from weft import OrderType
from weft.model.handles import TransportationTypeHandle
from weft.model.time import HLAinteger64Time

NO_WAY = TransportationTypeHandle.of(99)
NO_ORDER: Any = "TimeStamp"  # a name is no order type
WRONG_TIME = HLAinteger64Time(1)  # the test federations count in HLAfloat64Time

Provoke = Callable[[Federation], Any]


def _by_class(service: str, *more: Any, attributes: bool = True) -> list[Refusal]:
    """Services that take an object class, and perhaps attributes of it."""

    def call(f: Federation, *args: Any) -> Any:
        return getattr(f.rti[0], service)(*args, *more)

    if not attributes:
        return [Refusal(service, "ObjectClassNotDefined", lambda f: call(f, NO_CLASS))]
    return [
        Refusal(service, "ObjectClassNotDefined", lambda f: call(f, NO_CLASS, set())),
        Refusal(service, "AttributeNotDefined", lambda f: call(f, f.object_class("Vehicle"), {NO_ATTRIBUTE})),
        Refusal(
            service,
            "AttributeNotDefined",
            lambda f: call(f, f.object_class("Vehicle"), f.attributes(TANK, "Ammo")),
        ),
    ]


def _by_interaction(service: str) -> list[Refusal]:
    call = lambda f: getattr(f.rti[0], service)(NO_INTERACTION)
    return [Refusal(service, "InteractionClassNotDefined", call)]


def _directed(service: str) -> list[Refusal]:
    def call(f: Federation, *args: Any) -> Any:
        return getattr(f.rti[0], service)(*args)

    return [
        Refusal(service, "ObjectClassNotDefined", lambda f: call(f, NO_CLASS, set())),
        Refusal(
            service,
            "InteractionClassNotDefined",
            lambda f: call(f, f.object_class("Vehicle"), {NO_INTERACTION}),
        ),
    ]


_SUBSCRIBE = ("subscribe_object_class_attributes", "subscribe_object_class_attributes_passively")

DECLARATION = [
    *_by_class("publish_object_class_attributes"),
    *_by_class("unpublish_object_class", attributes=False),
    *_by_class("unpublish_object_class_attributes"),
    *_by_class("unsubscribe_object_class", attributes=False),
    *_by_class("unsubscribe_object_class_attributes"),
    *(case for service in _SUBSCRIBE for case in _by_class(service)),
    *(
        Refusal(
            service,
            "InvalidUpdateRateDesignator",
            lambda f, service=service: getattr(f.rti[0], service)(f.object_class(TANK), set(), "Warp"),  # type: ignore[misc]
        )
        for service in _SUBSCRIBE
    ),
    *_by_interaction("publish_interaction_class"),
    *_by_interaction("unpublish_interaction_class"),
    *_by_interaction("subscribe_interaction_class"),
    *_by_interaction("subscribe_interaction_class_passively"),
    *_by_interaction("unsubscribe_interaction_class"),
    *_directed("publish_object_class_directed_interactions"),
    *_directed("unpublish_object_class_directed_interactions"),
    *_directed("subscribe_object_class_directed_interactions"),
    *_directed("subscribe_object_class_directed_interactions_universally"),
    *_directed("unsubscribe_object_class_directed_interactions"),
]


def by_instance(
    service: str, *more: Any, values: bool = False, one: bool = False, owner: bool = True
) -> list[Refusal]:
    """Services that take an instance and attributes of it: a set, a mapping to values, or one only."""

    def call(f: Federation, i: int, instance: Any, attribute: Any) -> Any:
        chosen = {attribute: b"x"} if values else attribute if one else {attribute}
        return getattr(f.rti[i], service)(instance, chosen, *more)

    unknown_class = lambda f: call(f, 1, tank(f), f.attribute(TANK, "Ammo"))
    cases = [
        Refusal(
            service, "ObjectInstanceNotKnown", lambda f: call(f, 0, NO_INSTANCE, f.attribute(TANK, "Ammo"))
        ),
        Refusal(service, "AttributeNotDefined", lambda f: call(f, 0, tank(f), NO_ATTRIBUTE)),
        # Federate 1 knows the tank as a vehicle, and vehicles have no ammunition.
        Refusal(service, "AttributeNotDefined", unknown_class),
    ]
    if owner:
        cases += [
            Refusal(
                service, "AttributeNotOwned", lambda f: call(f, 1, tank(f), f.attribute(TANK, "Position"))
            ),
            Refusal(service, "AttributeNotOwned", lambda f: call(f, 0, tank(f), f.attribute(TANK, "Crew"))),
        ]
    return cases


def _register_named(f: Federation, by: int, name: str) -> None:
    f.rti[0].reserve_object_instance_name(name)
    f.publish(by, TANK, "Name")
    f.register(by, TANK, name)


def _register_above(f: Federation) -> None:
    f.publish(0, TANK, "Name")
    f.register(0, "Vehicle")


def _release(f: Federation, by: int, names: set[str]) -> None:
    f.rti[0].reserve_object_instance_name("a")
    if len(names) == 1:
        f.rti[by].release_object_instance_name(*names)
    else:
        f.rti[by].release_multiple_object_instance_names(names)


def _register_twice(f: Federation) -> None:
    _register_named(f, 0, "Leopard")
    f.register(0, TANK, "Leopard")


def _send(f: Federation, *time: Any, publish: bool = True, parameter: Any = None, tag: Any = b"") -> None:
    if publish:
        f.rti[0].publish_interaction_class(f.interaction("Event"))
    values = {} if parameter is None else {parameter: b"x"}
    f.rti[0].send_interaction(f.interaction("Event"), values, tag, *time)


def _direct(
    f: Federation, *time: Any, publish: bool = True, parameter: Any = None, instance: Any = None
) -> None:
    target = tank(f) if instance is None else instance
    command = f.interaction("Command")
    if publish:
        f.rti[0].publish_object_class_directed_interactions(f.object_class("Vehicle"), {command})
    values = {} if parameter is None else {parameter: b"x"}
    f.rti[0].send_directed_interaction(command, target, values, b"", *time)


def _changed_interaction(f: Federation, publish: bool, way: Any) -> None:
    if publish:
        f.rti[0].publish_interaction_class(f.interaction("Event"))
    f.rti[0].request_interaction_transportation_type_change(f.interaction("Event"), way)


OBJECTS = [
    Refusal(
        "reserve_object_instance_name",
        "IllegalName",
        lambda f: f.rti[0].reserve_object_instance_name("HLAmine"),
    ),
    Refusal(
        "reserve_multiple_object_instance_names",
        "IllegalName",
        lambda f: f.rti[0].reserve_multiple_object_instance_names({"good", ""}),
    ),
    Refusal(
        "reserve_multiple_object_instance_names",
        "NameSetWasEmpty",
        lambda f: f.rti[0].reserve_multiple_object_instance_names(set()),
    ),
    Refusal("release_object_instance_name", "ObjectInstanceNameNotReserved", lambda f: _release(f, 1, {"a"})),
    Refusal(
        "release_multiple_object_instance_names",
        "ObjectInstanceNameNotReserved",
        lambda f: _release(f, 0, {"a", "b"}),
    ),
    Refusal(
        "register_object_instance",
        "ObjectClassNotDefined",
        lambda f: f.rti[0].register_object_instance(NO_CLASS),
    ),
    Refusal(
        "register_object_instance",
        "ObjectClassNotPublished",
        _register_above,
    ),
    Refusal(
        "register_object_instance",
        "ObjectInstanceNameNotReserved",
        lambda f: _register_named(f, 1, "Leopard"),
    ),
    Refusal("register_object_instance", "ObjectInstanceNameInUse", _register_twice),
    *by_instance("update_attribute_values", b"", values=True),
    Refusal(
        "update_attribute_values",
        "InvalidLogicalTime",
        lambda f: f.rti[0].update_attribute_values(tank(f), {}, b"", WRONG_TIME),
    ),
    Refusal(
        "update_attribute_values",
        "RTIinternalError",
        lambda f: f.rti[0].update_attribute_values(tank(f), {f.attribute(TANK, "Name"): "text"}, b""),  # type: ignore[dict-item]
    ),
    Refusal(
        "send_interaction",
        "InteractionClassNotDefined",
        lambda f: f.rti[0].send_interaction(NO_INTERACTION, {}, b""),
    ),
    Refusal("send_interaction", "InteractionClassNotPublished", lambda f: _send(f, publish=False)),
    Refusal("send_interaction", "InteractionParameterNotDefined", lambda f: _send(f, parameter=NO_PARAMETER)),
    Refusal(
        "send_interaction",
        "InteractionParameterNotDefined",
        lambda f: _send(f, parameter=f.parameter("Event.Hit", "Where")),
    ),
    Refusal("send_interaction", "InvalidLogicalTime", lambda f: _send(f, WRONG_TIME)),
    Refusal("send_interaction", "RTIinternalError", lambda f: _send(f, tag="text")),
    Refusal(
        "send_directed_interaction",
        "InteractionClassNotDefined",
        lambda f: f.rti[0].send_directed_interaction(NO_INTERACTION, tank(f), {}, b""),
    ),
    Refusal("send_directed_interaction", "InteractionClassNotPublished", lambda f: _direct(f, publish=False)),
    Refusal(
        "send_directed_interaction",
        "InteractionParameterNotDefined",
        lambda f: _direct(f, parameter=NO_PARAMETER),
    ),
    Refusal(
        "send_directed_interaction", "ObjectInstanceNotKnown", lambda f: _direct(f, instance=NO_INSTANCE)
    ),
    Refusal("send_directed_interaction", "InvalidLogicalTime", lambda f: _direct(f, WRONG_TIME)),
    Refusal(
        "delete_object_instance",
        "ObjectInstanceNotKnown",
        lambda f: f.rti[0].delete_object_instance(NO_INSTANCE, b""),
    ),
    Refusal(
        "delete_object_instance",
        "DeletePrivilegeNotHeld",
        lambda f: f.rti[1].delete_object_instance(tank(f), b""),
    ),
    Refusal(
        "delete_object_instance",
        "InvalidLogicalTime",
        lambda f: f.rti[0].delete_object_instance(tank(f), b"", WRONG_TIME),
    ),
    Refusal(
        "local_delete_object_instance",
        "ObjectInstanceNotKnown",
        lambda f: f.rti[0].local_delete_object_instance(NO_INSTANCE),
    ),
    Refusal(
        "local_delete_object_instance",
        "FederateOwnsAttributes",
        lambda f: f.rti[0].local_delete_object_instance(tank(f)),
    ),
    *by_instance("request_attribute_value_update", b"", owner=False),
    *_by_class("request_attribute_value_update", b""),
    *by_instance("request_attribute_transportation_type_change", TransportationTypeHandle.of(1)),
    Refusal(
        "request_attribute_transportation_type_change",
        "InvalidTransportationTypeHandle",
        lambda f: f.rti[0].request_attribute_transportation_type_change(tank(f), set(), NO_WAY),
    ),
    *_by_class("change_default_attribute_transportation_type", TransportationTypeHandle.of(1)),
    Refusal(
        "change_default_attribute_transportation_type",
        "InvalidTransportationTypeHandle",
        lambda f: f.rti[0].change_default_attribute_transportation_type(f.object_class(TANK), set(), NO_WAY),
    ),
    *by_instance("query_attribute_transportation_type", one=True, owner=False),
    Refusal(
        "request_interaction_transportation_type_change",
        "InteractionClassNotDefined",
        lambda f: f.rti[0].request_interaction_transportation_type_change(
            NO_INTERACTION, TransportationTypeHandle.of(1)
        ),
    ),
    Refusal(
        "request_interaction_transportation_type_change",
        "InteractionClassNotPublished",
        lambda f: _changed_interaction(f, False, TransportationTypeHandle.of(1)),
    ),
    Refusal(
        "request_interaction_transportation_type_change",
        "InvalidTransportationTypeHandle",
        lambda f: _changed_interaction(f, True, NO_WAY),
    ),
    Refusal(
        "query_interaction_transportation_type",
        "InteractionClassNotDefined",
        lambda f: f.rti[0].query_interaction_transportation_type(f.handle(1), NO_INTERACTION),
    ),
]


def _order_by_name(f: Federation) -> None:
    f.rti[0].publish_interaction_class(f.interaction("Event"))
    f.rti[0].change_interaction_order_type(f.interaction("Event"), NO_ORDER)


ORDER = [
    *by_instance("change_attribute_order_type", OrderType.RECEIVE),
    *_by_class("change_default_attribute_order_type", OrderType.RECEIVE),
    Refusal(
        "change_interaction_order_type",
        "InteractionClassNotDefined",
        lambda f: f.rti[0].change_interaction_order_type(NO_INTERACTION, OrderType.RECEIVE),
    ),
    Refusal(
        "change_interaction_order_type",
        "InteractionClassNotPublished",
        lambda f: f.rti[0].change_interaction_order_type(f.interaction("Event"), OrderType.RECEIVE),
    ),
    Refusal(
        "change_attribute_order_type",
        "RTIinternalError",
        lambda f: f.rti[0].change_attribute_order_type(tank(f), f.attributes(TANK, "Name"), NO_ORDER),
    ),
    Refusal(
        "change_default_attribute_order_type",
        "RTIinternalError",
        lambda f: f.rti[0].change_default_attribute_order_type(
            f.object_class(TANK), f.attributes(TANK, "Name"), NO_ORDER
        ),
    ),
    Refusal("change_interaction_order_type", "RTIinternalError", _order_by_name),
]
