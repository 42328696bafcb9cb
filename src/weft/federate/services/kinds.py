"""What kind of value each argument of a service is, and what a value of another kind is refused with.

An RTI far away sees bytes: of a time only eight of them, of a handle that is none nothing at all.  So values are looked at here,
on the federate's side, before anything is sent; a federate is then refused alike by an embedded node, by a node of its own and by
a server, ours or another's.

`_TABLE` has one line for each service, with a word for each of its arguments as they go to the node:

    ObjectClass …          the handle of one
    Attributes …           a set of such handles
    AttributeValues        a dict of handles and bytes; likewise ParameterValues
    Pairs                  attributes with regions, several times
    Time, Time?            a logical time of the federation's kind; or None
    …
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeVar, cast

from weft.model.enums import OrderType, ResignAction, ServiceGroup
from weft.model.errors import InvalidLogicalTime, InvalidLogicalTimeInterval, RTIexception, rti_exception
from weft.model.handles import (
    AttributeHandle,
    DimensionHandle,
    FederateHandle,
    Handle,
    InteractionClassHandle,
    MessageRetractionHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    RegionHandle,
    TransportationTypeHandle,
)
from weft.model.time import (
    HLAfloat64Interval,
    HLAfloat64Time,
    HLAinteger64Interval,
    HLAinteger64Time,
    LogicalTime,
    LogicalTimeInterval,
)

_TABLE: Final = """
register_federation_synchronization_point: Text Tag Federates
synchronization_point_achieved: Name Bool
request_federation_save: Text Time?
request_federation_restore: Text
create_federation_execution: Text Modules Module? TimeName
destroy_federation_execution: Name
list_federation_execution_members: Text
join_federation_execution: Name Text Text? Modules
resign_federation_execution: ResignAction

publish_object_class_attributes: ObjectClass Attributes Time
unpublish_object_class: ObjectClass Time
unpublish_object_class_attributes: ObjectClass Attributes Time
publish_interaction_class: InteractionClass Time
unpublish_interaction_class: InteractionClass Time
publish_object_class_directed_interactions: ObjectClass InteractionClasses
unpublish_object_class_directed_interactions: ObjectClass InteractionClasses
subscribe_object_class_attributes: ObjectClass Attributes Name Bool Time
unsubscribe_object_class: ObjectClass Time
unsubscribe_object_class_attributes: ObjectClass Attributes Time
subscribe_interaction_class: InteractionClass Bool Time
unsubscribe_interaction_class: InteractionClass Time
subscribe_object_class_directed_interactions: ObjectClass InteractionClasses Bool
unsubscribe_object_class_directed_interactions: ObjectClass InteractionClasses

reserve_object_instance_name: Name
release_object_instance_name: Name
reserve_multiple_object_instance_names: Names
release_multiple_object_instance_names: Names
register_object_instance: ObjectClass Name
update_attribute_values: ObjectInstance AttributeValues Tag Time? Order?
send_interaction: InteractionClass ParameterValues Tag Time? Order?
send_directed_interaction: InteractionClass ObjectInstance ParameterValues Tag Time? Order?
delete_object_instance: ObjectInstance Tag Time? Order?
local_delete_object_instance: ObjectInstance
request_attribute_value_update: Target Attributes Tag
request_attribute_transportation_type_change: ObjectInstance Attributes TransportationType
change_default_attribute_transportation_type: ObjectClass Attributes TransportationType
query_attribute_transportation_type: ObjectInstance Attribute
request_interaction_transportation_type_change: InteractionClass TransportationType
query_interaction_transportation_type: Federate InteractionClass

unconditional_attribute_ownership_divestiture: ObjectInstance Attributes Tag
negotiated_attribute_ownership_divestiture: ObjectInstance Attributes Tag
confirm_divestiture: ObjectInstance Attributes Tag
attribute_ownership_acquisition: ObjectInstance Attributes Tag
attribute_ownership_acquisition_if_available: ObjectInstance Attributes Tag
attribute_ownership_release_denied: ObjectInstance Attributes Tag
attribute_ownership_divestiture_if_wanted: ObjectInstance Attributes Tag
cancel_negotiated_attribute_ownership_divestiture: ObjectInstance Attributes
cancel_attribute_ownership_acquisition: ObjectInstance Attributes
query_attribute_ownership: ObjectInstance Attributes
is_attribute_owned_by_federate: ObjectInstance Attribute

enable_time_regulation: Interval
time_advance_request: Time
time_advance_request_available: Time
next_message_request: Time
next_message_request_available: Time
flush_queue_request: Time
modify_lookahead: Interval
retract: MessageRetraction
set_time_advance_patience: Seconds
change_attribute_order_type: ObjectInstance Attributes Order
change_default_attribute_order_type: ObjectClass Attributes Order
change_interaction_order_type: InteractionClass Order

create_region: Dimensions
commit_region_modifications: Regions Time
delete_region: Region
register_object_instance_with_regions: ObjectClass Pairs Name
associate_regions_for_updates: ObjectInstance Pairs
unassociate_regions_for_updates: ObjectInstance Pairs
subscribe_object_class_attributes_with_regions: ObjectClass Pairs Name Time
subscribe_object_class_attributes_passively_with_regions: ObjectClass Pairs Name Time
unsubscribe_object_class_attributes_with_regions: ObjectClass Pairs Time
subscribe_interaction_class_with_regions: InteractionClass Regions Time
subscribe_interaction_class_passively_with_regions: InteractionClass Regions Time
unsubscribe_interaction_class_with_regions: InteractionClass Regions Time
send_interaction_with_regions: InteractionClass ParameterValues Regions Tag Time? Order?
request_attribute_value_update_with_regions: ObjectClass Pairs Tag

get_federate_handle: Name
get_federate_name: Federate
get_object_class_handle: Name
get_object_class_name: ObjectClass
get_known_object_class_handle: ObjectInstance
get_object_instance_handle: Name
get_object_instance_name: ObjectInstance
get_attribute_handle: ObjectClass Name
get_attribute_name: ObjectClass Attribute
get_update_rate_value: Name
get_update_rate_value_for_attribute: ObjectInstance Attribute
get_interaction_class_handle: Name
get_interaction_class_name: InteractionClass
get_parameter_handle: InteractionClass Name
get_parameter_name: InteractionClass Parameter
get_order_type: Name
get_order_name: Order
get_transportation_type_handle: Name
get_transportation_type_name: TransportationType
get_available_dimensions_for_object_class: ObjectClass
get_available_dimensions_for_interaction_class: InteractionClass
get_dimension_handle: Name
get_dimension_name: Dimension
get_dimension_upper_bound: Dimension
get_dimension_handle_set: Region
get_range_bounds: Region Dimension
set_range_bounds: Region Dimension Bounds
normalize_service_group: ServiceGroup
normalize_federate_handle: Federate
normalize_object_class_handle: ObjectClass
normalize_interaction_class_handle: InteractionClass
normalize_object_instance_handle: ObjectInstance
set_switch: Text Bool
set_automatic_resign_directive: ResignAction
"""

Times = tuple[type[LogicalTime], type[LogicalTimeInterval]]
"""The federation's kinds of time and of interval."""
Fits = Callable[[object, Times], bool]
INTEGER: Final[Times] = (HLAinteger64Time, HLAinteger64Interval)
FLOAT: Final[Times] = (HLAfloat64Time, HLAfloat64Interval)


class Kind(NamedTuple):
    said: str
    fits: Fits
    errors: tuple[str, ...] = ()
    """What a value of another kind is refused with: the first of these that the standard lists for the service."""
    otherwise: str = "RTIinternalError"  # where it lists none
    then: Kind | None = None
    """What is to be looked at where that fits."""


def _handle(kind: type[Handle], *refusals: str) -> dict[str, Kind]:
    """The word for the handle, that for a set of them, and that for values by handle."""
    word = kind.__name__.removesuffix("Handle")
    many = f"{word}es" if word.endswith("s") else f"{word}s"
    article = "an" if word[0] in "AEIOU" else "a"

    def one(value: object, times: Times) -> bool:
        return isinstance(value, kind)

    def several(value: object, times: Times) -> bool:
        return isinstance(value, (frozenset, set)) and all(isinstance(each, kind) for each in value)

    def keys(value: object, times: Times) -> bool:
        return isinstance(value, Mapping) and all(isinstance(each, kind) for each in value)

    return {
        word: Kind(f"{article} {kind.__name__}", one, refusals),
        many: Kind(f"a set of {kind.__name__}", several, refusals),
        f"{word}Values": Kind(f"a dict of {kind.__name__} and bytes", keys, refusals, then=_ENCODED),
    }


def _are_encoded(value: object, times: Times) -> bool:
    return isinstance(value, Mapping) and all(type(each) is bytes for each in value.values())


_ENCODED: Final = Kind("values that are bytes (encode them first)", _are_encoded)


def _of(kind: type[object] | tuple[type[object], ...]) -> Fits:
    return lambda value, times: isinstance(value, kind)


def _or_none(kind: Kind) -> Kind:
    def fits(value: object, times: Times) -> bool:
        return value is None or kind.fits(value, times)

    return kind._replace(said=f"{kind.said} or None", fits=fits)


def _is_text(value: object, times: Times) -> bool:
    """Half a character is none, and could not be sent."""
    if not isinstance(value, str):
        return False
    return value.isascii() or not any("\ud800" <= each <= "\udfff" for each in value)


def _is_number(value: object, times: Times) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _are_bounds(value: object, times: Times) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(type(each) is int and 0 <= each < 1 << 32 for each in value)
    )


def _are_names(value: object, times: Times) -> bool:
    return isinstance(value, (frozenset, set)) and all(_is_text(each, times) for each in value)


def _are_pairs(value: object, times: Times) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(pair, tuple)
        and len(pair) == 2
        and all(isinstance(each, frozenset) for each in pair)
        and all(isinstance(each, AttributeHandle) for each in pair[0])
        for pair in value
    )


def _pairs_name_regions(value: object, times: Times) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(each, RegionHandle) for pair in value for each in pair[1]
    )


_NAMES: Final = (
    "NameNotFound",
    "IllegalName",
    "ObjectInstanceNameNotReserved",
    "ObjectInstanceNotKnown",
    "InvalidOrderName",
    "InvalidTransportationName",
    "InvalidUpdateRateDesignator",
    "SynchronizationPointLabelNotAnnounced",
    "FederationExecutionDoesNotExist",
)
_TIME: Final = Kind(
    "a logical time", lambda value, times: type(value) is times[0], otherwise="InvalidLogicalTime"
)
_ORDER: Final = Kind("an OrderType", _of(OrderType), ("InvalidOrderType",))
_TEXT: Final = Kind("text", _is_text)

KINDS: Final[dict[str, Kind]] = {
    **_handle(ObjectClassHandle, "InvalidObjectClassHandle", "ObjectClassNotDefined"),
    **_handle(AttributeHandle, "InvalidAttributeHandle", "AttributeNotDefined"),
    **_handle(InteractionClassHandle, "InvalidInteractionClassHandle", "InteractionClassNotDefined"),
    **_handle(ParameterHandle, "InvalidParameterHandle", "InteractionParameterNotDefined"),
    **_handle(ObjectInstanceHandle, "InvalidObjectInstanceHandle", "ObjectInstanceNotKnown"),
    **_handle(DimensionHandle, "InvalidDimensionHandle", "RegionDoesNotContainSpecifiedDimension"),
    **_handle(RegionHandle, "InvalidRegion"),
    **_handle(TransportationTypeHandle, "InvalidTransportationTypeHandle"),
    **_handle(FederateHandle, "InvalidFederateHandle"),
    **_handle(MessageRetractionHandle, "InvalidMessageRetractionHandle"),
    "Target": Kind(
        "an ObjectInstanceHandle or an ObjectClassHandle",
        _of((ObjectInstanceHandle, ObjectClassHandle)),
        ("ObjectInstanceNotKnown",),
    ),
    "Tag": Kind("bytes", lambda value, times: type(value) is bytes),
    "Text": _TEXT,
    "Text?": _or_none(_TEXT),
    "Name": Kind("text", _is_text, _NAMES),
    "Names": Kind("a set of texts", _are_names, _NAMES),
    "TimeName": Kind("text", _is_text, ("CouldNotCreateLogicalTimeFactory",)),
    "Modules": Kind("modules", _of(tuple)),
    "Module?": Kind("a module", _of(object)),
    "Bool": Kind("True or False", _of(bool)),
    "Seconds": Kind("a number of seconds", _is_number),
    "Time": _TIME,
    "Time?": _or_none(_TIME),
    "Interval": Kind(
        "an interval of logical time",
        lambda value, times: type(value) is times[1],
        otherwise="InvalidLookahead",
    ),
    "Order": _ORDER,
    "Order?": _or_none(_ORDER)._replace(otherwise="InvalidOrderType"),
    "ResignAction": Kind("a ResignAction", _of(ResignAction), ("InvalidResignAction",)),
    "ServiceGroup": Kind("a ServiceGroup", _of(ServiceGroup), ("InvalidServiceGroup",)),
    "Bounds": Kind("RangeBounds from 0 to 2^32-1", _are_bounds, ("InvalidRangeBound",)),
    "Pairs": Kind(
        "a list of pairs, each of a set of AttributeHandle and a set of RegionHandle",
        _are_pairs,
        ("AttributeNotDefined",),
        then=Kind("a set of RegionHandle in each pair", _pairs_name_regions, ("InvalidRegion",)),
    ),
}

_TIMED: Final = (KINDS["Time"], KINDS["Time?"], KINDS["Interval"])
"""Where a plain number may stand."""

SERVICES: Final = {
    service: tuple(KINDS[word] for word in words)
    for service, *words in (line.replace(":", "").split() for line in _TABLE.splitlines() if line)
}


def misfit(service: str, arguments: tuple[object, ...], times: Times) -> tuple[Kind, object] | None:
    """The first argument that is not of its kind, and what it should be; None if all are."""
    for kind, value in zip(SERVICES.get(service, ()), arguments, strict=False):
        if not kind.fits(value, times):
            return kind, value
        if kind.then is not None and not kind.then.fits(value, times):
            return kind.then, value
    return None


def _whole(value: object, interval: bool) -> object:
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    return HLAinteger64Interval(value) if interval else HLAinteger64Time(value)


def _fraction(value: object, interval: bool) -> object:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return value
    return HLAfloat64Interval(value) if interval else HLAfloat64Time(value)


_FROM_NUMBERS: Final[dict[type[LogicalTime], Callable[[object, bool], object]]] = {
    HLAinteger64Time: _whole,
    HLAfloat64Time: _fraction,
}


def with_times(service: str, arguments: tuple[object, ...], times: Times) -> tuple[object, ...]:
    """The same arguments, and where a plain number stands for a time or an interval, that.

    What is none stays as it is, to be refused: a fraction in a federation that counts in whole numbers, a number below zero.
    """
    makes = _FROM_NUMBERS[times[0]]
    made = list(arguments)
    for place, kind in enumerate(SERVICES.get(service, ())[: len(made)]):
        if kind in _TIMED:
            with contextlib.suppress(InvalidLogicalTime, InvalidLogicalTimeInterval, OverflowError):
                made[place] = makes(made[place], kind is KINDS["Interval"])
    return tuple(made)


def refusal(service: str, kind: Kind, value: object, may_raise: Iterable[str], times: Times) -> RTIexception:
    """What a service that may raise these refuses that value with."""
    may = set(may_raise)
    name = next((name for name in kind.errors if name in may), kind.otherwise)
    raised = rti_exception(name)
    said = kind.said
    if name == "InvalidLogicalTime":
        said = f"an {times[0].__name__}, the federation's logical time"
    elif name == "InvalidLookahead":
        said = f"an {times[1].__name__}, an interval of the federation's logical time"
    shown = repr(value)
    if len(shown) > 80:
        shown = f"{shown[:77]}…"
    return raised(f"{service} takes {said}, not {shown}")


# --- collections, as they go to the node ------------------------------------------------------------------------

K = TypeVar("K")


def as_dict(values: Mapping[K, bytes]) -> dict[K, bytes]:
    """What is no mapping stays as it is, to be refused."""
    if type(values) is dict:
        return values
    try:
        return dict(values)
    except (TypeError, ValueError):
        return cast("dict[K, bytes]", values)


def as_set(values: Iterable[K]) -> frozenset[K]:
    """What cannot be a set stays as it is, to be refused."""
    try:
        return frozenset(values)
    except TypeError:
        return cast("frozenset[K]", values)


Pairs = list[tuple[frozenset[AttributeHandle], frozenset[RegionHandle]]]


def as_pairs(values: Iterable[tuple[Iterable[AttributeHandle], Iterable[RegionHandle]]]) -> Pairs:
    """What cannot be pairs of sets stays as it is, to be refused."""
    try:
        return [(frozenset(first), frozenset(second)) for first, second in values]
    except (TypeError, ValueError):
        return cast("Pairs", values)
