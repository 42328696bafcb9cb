"""How the protocol's messages look in Weft: handles, sets, maps, logical times, enumerations and records of `weft.model`.

Each kind of message has a `Shape`: how to build the value from its fields, and how to take it apart again.  A message without one
of its own (requests, callbacks, pairs) is the tuple of its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from operator import attrgetter
from typing import NamedTuple

from weft.model import enums, handles
from weft.model.records import (
    ConfigurationResult,
    Credentials,
    FederateRestoreStatus,
    FederationExecutionInformation,
    FederationExecutionMemberInformation,
    MessageRetractionReturn,
    RangeBounds,
    RtiConfiguration,
    Source,
    TimeQueryReturn,
)
from weft.model.time import HLAfloat64Interval, HLAfloat64Time, HLAinteger64Interval, HLAinteger64Time


class CompressedModule(NamedTuple):
    """An object model module as a ZIP archive, still packed."""

    data: bytes


class ModuleUrl(NamedTuple):
    """An object model module that the client could not read itself: an address, or a path misspelt."""

    url: str


# A conveyed region is its bounds by dimension, by value: the regions of another federate have no handles here.
ConveyedRegion = frozenset[tuple[handles.DimensionHandle, RangeBounds]]

HANDLES: dict[str, type[handles.Handle]] = {kind.__name__: kind for kind in handles.Handle.__subclasses__()}

ENUMS: dict[str, type[Enum]] = {
    name: found for name, found in vars(enums).items() if isinstance(found, type) and issubclass(found, Enum)
}

# The HLA exception that answers a number which is none of the enumeration's.
ENUM_EXCEPTIONS = {
    "ResignAction": "InvalidResignAction",
    "OrderType": "InvalidOrderType",
    "ServiceGroup": "InvalidServiceGroup",
}

TIMES = (HLAinteger64Time, HLAfloat64Time)
INTERVALS = (HLAinteger64Interval, HLAfloat64Interval)


class Shape(NamedTuple):
    """`build` makes the value from the list of fields, `fields` makes the fields from the value."""

    build: Callable[..., object]
    fields: Callable[..., Sequence[object]]


def _given(value: object) -> Sequence[object]:
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"{value!r} is no tuple")
    return value


def _nothing(value: object) -> Sequence[object]:
    if value is not None:
        raise TypeError(f"there is no place for {value!r}")
    return ()


def _record(kind: type[object], *names: str) -> Shape:
    if not names:  # a NamedTuple is the tuple of its fields
        return Shape(lambda values: kind(*values), _given)
    return Shape(lambda values: kind(*values), attrgetter(*names))


def _collection(made: Callable[[Iterable[object]], object], ordered: bool) -> Shape:
    """A message that is nothing but one repeated field."""

    def elements(value: Iterable[object]) -> Sequence[object]:
        return (value if ordered else Unordered(value),)

    return Shape(lambda values: made(values[0]), elements)


class Unordered(NamedTuple):
    """Elements of a set; they go out sorted by their bytes, so that equal sets are equal on the wire."""

    elements: Iterable[object]


def _if_valid(kind: Callable[..., object]) -> Callable[[list[object]], object]:
    """Of a pair: whether it is valid, and what is None where it is not."""
    return lambda values: kind(values[0], values[1] if values[0] else None)


def _time_query_fields(value: object) -> Sequence[object]:
    """The C++ client decodes the time even when it is not valid, so there always is one; zero has the same bytes in
    both representations."""
    valid, time = _given(value)
    return valid, HLAinteger64Time(0) if time is None else time


TUPLE = Shape(tuple, _given)
RESULT = Shape(lambda values: values[0], lambda value: (value,))
EMPTY = Shape(lambda values: None, _nothing)
SET = _collection(frozenset, ordered=False)
LIST = _collection(list, ordered=True)
MAP = Shape(lambda values: dict(values[0]), lambda value: (value.items(),))

SHAPES: dict[str, Shape] = {
    "RtiConfiguration": _record(RtiConfiguration, "configuration_name", "rti_address", "additional_settings"),
    "ConfigurationResult": _record(
        ConfigurationResult, "configuration_used", "address_used", "additional_settings_result", "message"
    ),
    "Credentials": _record(Credentials, "type", "data"),
    "FileFomModule": _record(Source, "name", "data"),
    "FederationExecutionInformation": _record(FederationExecutionInformation),
    "FederationExecutionMemberInformation": _record(FederationExecutionMemberInformation),
    "FederateRestoreStatus": _record(FederateRestoreStatus),
    "RangeBounds": _record(RangeBounds),
    "MessageRetractionReturn": Shape(_if_valid(MessageRetractionReturn), _given),
    "TimeQueryReturn": Shape(_if_valid(TimeQueryReturn), _time_query_fields),
    "AttributeHandleValueMap": MAP,
    "ParameterHandleValueMap": MAP,
    "AttributeSetRegionSetPairList": LIST,
    "FederateHandleSaveStatusPairArray": LIST,
    "FederateRestoreStatusArray": LIST,
    "FomModuleSet": _collection(tuple, ordered=True),
    "ConveyedRegion": SET,
}


def shape_of(message: str) -> Shape:
    """The shape of a message that is no response to a call: those are just their result, or nothing."""
    return SHAPES.get(message) or (SET if message.endswith("Set") else TUPLE)
