"""Refusals of data distribution management, and of the support services that are about regions."""

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
from support.small_fom import DIMENSION, LANES
from weft.model.handles import DimensionHandle, RegionHandle
from weft.model.records import RangeBounds
from weft.model.time import HLAinteger64Time

NO_REGION = RegionHandle.of(9999)
NO_DIMENSION = DimensionHandle.of(9999)
ELSEWHERE = "HLAfederate"  # a dimension of the MOM, available to nothing in the object model of the tests
_EVENT = "Event"


def lane(f: Federation) -> DimensionHandle:
    return f.rti[0].get_dimension_handle(DIMENSION)


def region(f: Federation, by: int = 0, dimension: str = DIMENSION, commit: bool = True) -> RegionHandle:
    made = f.rti[by].create_region({f.rti[by].get_dimension_handle(dimension)})
    if commit:
        f.rti[by].commit_region_modifications({made})
    return made


Use = Callable[[Federation, Any], Any]
"""Calls the service with that region, and with everything else as it should be."""


def _regional(service: str, use: Use, context: bool = True) -> list[Refusal]:
    """What a service says of regions that it cannot use."""
    foreign = lambda f: use(f, region(f, 1))
    cases = [
        Refusal(service, "InvalidRegion", lambda f: use(f, NO_REGION)),
        Refusal(service, "RegionNotCreatedByThisFederate", foreign),
    ]
    if context:
        cases += [
            Refusal(service, "InvalidRegion", lambda f: use(f, region(f, commit=False))),
            Refusal(service, "InvalidRegionContext", lambda f: use(f, region(f, dimension=ELSEWHERE))),
        ]
    return cases


def _gone(f: Federation) -> RegionHandle:
    made = region(f)
    f.rti[0].delete_region(made)
    return made


def _used(f: Federation) -> RegionHandle:
    made = region(f)
    f.rti[0].subscribe_object_class_attributes_with_regions(
        f.object_class("Vehicle"), [(f.attributes("Vehicle", "Position"), {made})]
    )
    return made


def _updated_in(f: Federation) -> RegionHandle:
    made = region(f)
    f.rti[0].associate_regions_for_updates(tank(f), [(f.attributes(TANK, "Position"), {made})])
    return made


def _by_class(service: str, *more: Any, context: bool = True, publish: bool = False) -> list[Refusal]:
    """Services that take an object class, and attributes of it with regions."""

    def call(f: Federation, cls: Any, attribute: Any, one: Any) -> Any:
        if publish:
            f.publish(0, TANK, "Position")
        return getattr(f.rti[0], service)(cls, [({attribute}, {one})], *more)

    use = lambda f, one: call(f, f.object_class(TANK), f.attribute(TANK, "Position"), one)
    return [
        *_regional(service, use, context),
        Refusal(service, "ObjectClassNotDefined", lambda f: call(f, NO_CLASS, NO_ATTRIBUTE, region(f))),
        Refusal(
            service,
            "AttributeNotDefined",
            lambda f: call(f, f.object_class(TANK), NO_ATTRIBUTE, region(f)),
        ),
    ]


def _by_instance(service: str, context: bool = True) -> list[Refusal]:
    def call(f: Federation, instance: Any, attribute: Any, one: Any) -> Any:
        return getattr(f.rti[0], service)(instance, [({attribute}, {one})])

    use = lambda f, one: call(f, tank(f), f.attribute(TANK, "Position"), one)
    return [
        *_regional(service, use, context),
        Refusal(
            service,
            "ObjectInstanceNotKnown",
            lambda f: call(f, NO_INSTANCE, f.attribute(TANK, "Position"), region(f)),
        ),
        Refusal(service, "AttributeNotDefined", lambda f: call(f, tank(f), NO_ATTRIBUTE, region(f))),
    ]


def _by_interaction(service: str, context: bool = True) -> list[Refusal]:
    def call(f: Federation, cls: Any, one: Any) -> Any:
        return getattr(f.rti[0], service)(cls, {one})

    cases = [
        *_regional(service, lambda f, one: call(f, f.interaction(_EVENT), one), context),
        Refusal(service, "InteractionClassNotDefined", lambda f: call(f, NO_INTERACTION, region(f))),
    ]
    if context:
        cases.append(
            Refusal(service, "FederateServiceInvocationsAreBeingReportedViaMOM", lambda f: _hear(f, service))
        )
    return cases


def _hear(f: Federation, service: str) -> None:
    f.rti[0].set_service_reporting_switch(True)
    reports = f.interaction("HLAmanager.HLAfederate.HLAreport.HLAreportServiceInvocation")
    getattr(f.rti[0], service)(reports, {region(f, dimension=ELSEWHERE)})


def _send(
    f: Federation, one: Any = None, *time: Any, publish: bool = True, cls: Any = None, parameter: Any = None
) -> Any:
    if publish:
        f.rti[0].publish_interaction_class(f.interaction(_EVENT))
    values = {} if parameter is None else {parameter: b"x"}
    regions = {region(f) if one is None else one}
    return f.rti[0].send_interaction_with_regions(cls or f.interaction(_EVENT), values, regions, b"", *time)


_REGISTER = "register_object_instance_with_regions"
_SEND = "send_interaction_with_regions"


def _register(f: Federation, publish: tuple[str, ...], attribute: str, *name: str, reserve: int = 0) -> None:
    if publish:
        f.publish(0, TANK, *publish)
    for one in name:
        f.rti[reserve].reserve_object_instance_name(one)
    pairs = [(f.attributes(TANK, attribute), {region(f)})]
    f.rti[0].register_object_instance_with_regions(f.object_class(TANK), pairs, *name)


def _register_twice(f: Federation) -> None:
    _register(f, ("Position",), "Position", "Leopard")
    _register(f, (), "Position", "Leopard")


def _bounds(service: str, *more: Any, own: bool = False) -> list[Refusal]:
    def call(f: Federation, one: Any, dimension: Any) -> Any:
        return getattr(f.rti[0], service)(one, dimension, *more)

    cases = [
        Refusal(service, "InvalidRegion", lambda f: call(f, NO_REGION, lane(f))),
        Refusal(service, "InvalidRegion", lambda f: call(f, _gone(f), lane(f))),
        Refusal(
            service,
            "RegionDoesNotContainSpecifiedDimension",
            lambda f: call(f, region(f), f.rti[0].get_dimension_handle(ELSEWHERE)),
        ),
        Refusal(
            service, "RegionDoesNotContainSpecifiedDimension", lambda f: call(f, region(f), NO_DIMENSION)
        ),
    ]
    if own:
        foreign = lambda f: call(f, region(f, 1), lane(f))
        cases.append(Refusal(service, "RegionNotCreatedByThisFederate", foreign))
    return cases


def _set(lower: Any, upper: Any) -> Refusal:
    return Refusal(
        "set_range_bounds",
        "InvalidRangeBound",
        lambda f: f.rti[0].set_range_bounds(region(f), lane(f), RangeBounds(lower, upper)),
    )


_SUBSCRIBE = "subscribe_object_class_attributes_with_regions"
_PASSIVELY = "subscribe_object_class_attributes_passively_with_regions"
_COMMIT = "commit_region_modifications"

REGIONS = [
    Refusal("create_region", "InvalidDimensionHandle", lambda f: f.rti[0].create_region({NO_DIMENSION})),
    *_regional(_COMMIT, lambda f, one: f.rti[0].commit_region_modifications({one}), context=False),
    *_regional("delete_region", lambda f, one: f.rti[0].delete_region(one), context=False),
    Refusal("delete_region", "InvalidRegion", lambda f: f.rti[0].delete_region(_gone(f))),
    Refusal(
        "delete_region", "RegionInUseForUpdateOrSubscription", lambda f: f.rti[0].delete_region(_used(f))
    ),
    Refusal(
        "delete_region",
        "RegionInUseForUpdateOrSubscription",
        lambda f: f.rti[0].delete_region(_updated_in(f)),
    ),
    *_by_class(_REGISTER, publish=True),
    Refusal(_REGISTER, "ObjectClassNotPublished", lambda f: _register(f, (), "Position")),
    Refusal(_REGISTER, "AttributeNotPublished", lambda f: _register(f, ("Position",), "Ammo")),
    Refusal(_REGISTER, "ObjectInstanceNameInUse", _register_twice),
    Refusal(
        _REGISTER,
        "ObjectInstanceNameNotReserved",
        lambda f: _register(f, ("Position",), "Position", "Leopard", reserve=1),
    ),
    *_by_instance("associate_regions_for_updates"),
    *_by_instance("unassociate_regions_for_updates", context=False),
    *(case for service in (_SUBSCRIBE, _PASSIVELY) for case in _by_class(service)),
    *(
        Refusal(
            service,
            "InvalidUpdateRateDesignator",
            lambda f, service=service: getattr(f.rti[0], service)(f.object_class(TANK), [], "Warp"),  # type: ignore[misc]
        )
        for service in (_SUBSCRIBE, _PASSIVELY)
    ),
    *_by_class("unsubscribe_object_class_attributes_with_regions", context=False),
    *_by_interaction("subscribe_interaction_class_with_regions"),
    *_by_interaction("subscribe_interaction_class_passively_with_regions"),
    *_by_interaction("unsubscribe_interaction_class_with_regions", context=False),
    *_regional(_SEND, _send),
    Refusal(_SEND, "InteractionClassNotDefined", lambda f: _send(f, cls=NO_INTERACTION)),
    Refusal(_SEND, "InteractionClassNotPublished", lambda f: _send(f, publish=False)),
    Refusal(_SEND, "InteractionParameterNotDefined", lambda f: _send(f, parameter=NO_PARAMETER)),
    Refusal(_SEND, "InvalidLogicalTime", lambda f: _send(f, region(f), HLAinteger64Time(1))),
    *_by_class("request_attribute_value_update_with_regions", b""),
    Refusal(
        "get_dimension_handle_set", "InvalidRegion", lambda f: f.rti[0].get_dimension_handle_set(NO_REGION)
    ),
    *_bounds("get_range_bounds"),
    *_bounds("set_range_bounds", RangeBounds(0, 1), own=True),
    _set(-1, 2),
    _set(3, 3),
    _set(4, 3),
    _set(0, LANES + 1),
    _set(0.5, 2),
]
