"""The codec against Google's protobuf: every message of the Federate Protocol, and the spliced bytes of the hot calls.

The oracle knows nothing of our schema: its descriptors are made from the facts in `tests/data/wire`.  Values are Weft's;
`to_message` is a second opinion on how they fill the protocol's messages.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import wire_facts
from support.wire_facts import Field
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
from weft.model.time import LogicalTimeFactory, time_factory
from weft.wire import CompressedModule, ModuleUrl, WireError
from weft.wire.codec import hot
from weft.wire.codec.callbacks import encode_callback
from weft.wire.codec.calls import decode_call, encode_call
from weft.wire.codec.messages import decode, encode
from weft.wire.codec.packed import WireValues, packed
from weft.wire.codec.schema import EVOLVED_EXCEPTIONS, HLA4_EXCEPTIONS, schema

MESSAGES = wire_facts.messages()

descriptor_pb2: Any = import_module("google.protobuf.descriptor_pb2")
descriptor_pool: Any = import_module("google.protobuf.descriptor_pool")
message_factory: Any = import_module("google.protobuf.message_factory")

PACKAGE = "oracle"
RESPONSES = {name for _, name in wire_facts.responses()[1:]}
WITH_FIELDS = [name for name, fields in MESSAGES.items() if fields]
ENVELOPES = ("CallRequest", "CallResponse", "CallbackRequest", "CallbackResponse")
HANDLES = {kind.__name__: kind for kind in handles.Handle.__subclasses__()}
FACTORIES = st.sampled_from(["HLAinteger64Time", "HLAfloat64Time"]).map(time_factory)

few = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
many = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


# --- the oracle -----------------------------------------------------------------------------------------------


@cache
def _pool() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="oracle.proto", package=PACKAGE, syntax="proto3")
    for name, members in wire_facts.enums().items():
        made = file.enum_type.add(name=name)
        for member, number in members.items():
            made.value.add(name=f"{name}_{member}", number=number)
    for name, fields in MESSAGES.items():
        made = file.message_type.add(name=name)
        for facts in fields:
            field = made.field.add(name=facts.name, number=facts.number)
            field.label = field.LABEL_REPEATED if facts.repeated else field.LABEL_OPTIONAL
            if facts.type in wire_facts.SCALARS:
                field.type = getattr(field, "TYPE_" + facts.type.upper())
            else:
                field.type = field.TYPE_MESSAGE if facts.message else field.TYPE_ENUM
                field.type_name = f".{PACKAGE}.{facts.type}"
            if facts.oneof:
                if not made.oneof_decl:
                    made.oneof_decl.add(name=facts.oneof)
                field.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


@cache
def oracle(name: str) -> Any:
    """protobuf's own class of that message."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{PACKAGE}.{name}"))


def serialised(message: Any) -> bytes:
    data: bytes = message.SerializeToString(deterministic=True)
    return data


# --- Weft's values: any of them, and as protobuf messages -----------------------------------------------------


def values(kind: str, time: LogicalTimeFactory, element: bool = False) -> st.SearchStrategy[Any]:
    """Any value of a type of the wire; an `element` of a set is never empty."""
    if kind in SCALARS:
        return SCALARS[kind]
    if kind in wire_facts.enums():
        return st.sampled_from(getattr(enums, kind))
    if kind in HANDLES:
        return st.binary(min_size=1, max_size=200 if element else 8).map(HANDLES[kind])
    if kind == "LogicalTime":
        return st.integers(0, 2**53).map(time.make_time)
    if kind == "LogicalTimeInterval":
        return st.integers(0, 2**53).map(time.make_interval)
    fields = MESSAGES[kind]
    if kind == "FomModule":
        return st.one_of(
            values("FileFomModule", time),
            st.binary(max_size=20).map(CompressedModule),
            st.text(max_size=9).map(ModuleUrl),
        )
    if kind in ("MessageRetractionReturn", "TimeQueryReturn"):
        made: Callable[..., Any] = (
            MessageRetractionReturn if kind == "MessageRetractionReturn" else TimeQueryReturn
        )
        return st.one_of(
            st.just(made(False, None)), values(fields[1].type, time).map(lambda v: made(True, v))
        )
    if fields and fields[0].oneof:
        members = st.sampled_from(fields)
        return members.flatmap(
            lambda f: st.tuples(st.just(f.number), values(f.type, time)),
        )
    if kind in COLLECTIONS or kind.endswith("Set"):
        inner = values(fields[0].type, time, element=True)
        if kind.endswith("ValueMap"):
            return st.lists(inner, max_size=4).map(dict)
        return st.lists(inner, max_size=4).map(COLLECTIONS.get(kind, frozenset))
    parts = [_field_values(field, time) for field in fields]
    if kind in RESPONSES:
        return parts[0] if parts else st.none()
    return st.tuples(*parts).map(lambda given: RECORDS[kind](*given) if kind in RECORDS else given)


def _field_values(field: Field, time: LogicalTimeFactory) -> st.SearchStrategy[Any]:
    one = values(field.type, time)
    if field.repeated:
        return st.frozensets(one, max_size=4)
    return st.none() | one if _optional(field.name) else one


def _optional(field: str) -> bool:
    return field.startswith("optional") or field == "conveyedRegions"


SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(max_size=8) | st.just("x" * 200),
    "bytes": st.binary(max_size=8) | st.binary(min_size=120, max_size=300),
    "bool": st.booleans(),
    "uint32": st.integers(0, 2**32 - 1),
    "double": st.floats(allow_nan=False),
}
COLLECTIONS: dict[str, Callable[[Any], Any]] = {
    "AttributeHandleValueMap": dict,
    "ParameterHandleValueMap": dict,
    "AttributeSetRegionSetPairList": list,
    "FederateHandleSaveStatusPairArray": list,
    "FederateRestoreStatusArray": list,
    "FomModuleSet": tuple,
    "ConveyedRegion": frozenset,
}
RECORDS: dict[str, Any] = {
    "ConfigurationResult": ConfigurationResult,
    "Credentials": Credentials,
    "FederateRestoreStatus": FederateRestoreStatus,
    "FederationExecutionInformation": FederationExecutionInformation,
    "FederationExecutionMemberInformation": FederationExecutionMemberInformation,
    "FileFomModule": Source,
    "RangeBounds": RangeBounds,
    "RtiConfiguration": RtiConfiguration,
}
ATTRIBUTES = {
    ConfigurationResult: ("configuration_used", "address_used", "additional_settings_result", "message"),
    Credentials: ("type", "data"),
    Source: ("name", "data"),
    RtiConfiguration: ("configuration_name", "rti_address", "additional_settings"),
}


def to_message(kind: str, value: Any) -> Any:
    """A Weft value as a protobuf message."""
    message = oracle(kind)()
    fields = MESSAGES[kind]
    if kind in HANDLES:
        message.data = bytes(value)
    elif kind in ("LogicalTime", "LogicalTimeInterval"):
        message.data = value.encode()
    elif kind == "FomModule":
        if isinstance(value, Source):
            message.file.MergeFrom(to_message("FileFomModule", value))
            message.file.SetInParent()
        elif isinstance(value, CompressedModule):
            message.compressedModule = value.data
        else:
            message.url = value.url
    elif kind == "TimeQueryReturn":
        message.logicalTimeIsValid = value.time_is_valid
        message.logicalTime.data = value.time.encode() if value.time_is_valid else bytes(8)
    elif fields and fields[0].oneof:
        number, content = value
        _set(message, fields[number - 1], content)
    elif kind in COLLECTIONS or kind.endswith("Set"):
        _set(message, fields[0], value.items() if isinstance(value, dict) else value)
    else:
        if kind in RESPONSES:
            value = (value,) if fields else ()
        elif type(value) in ATTRIBUTES:
            value = [getattr(value, name) for name in ATTRIBUTES[type(value)]]
        for field, part in zip(fields, value, strict=True):
            _set(message, field, part)
    return message


def _set(message: Any, field: Field, value: Any) -> None:
    name = field.name
    if field.repeated:
        elements = value
        if field.message:
            elements = [to_message(field.type, one) for one in value]
            if isinstance(value, frozenset):
                elements.sort(key=serialised)
        elif isinstance(value, frozenset):
            elements = sorted(value, key=str.encode)
        getattr(message, name).extend(elements)
    elif value is None and field.type not in RESPONSES:
        pass
    elif field.message:
        getattr(message, name).CopyFrom(to_message(field.type, value))
        getattr(message, name).SetInParent()
    else:
        setattr(message, name, value.value if isinstance(value, Enum) else value)


# --- all messages ---------------------------------------------------------------------------------------------


def test_the_schema_has_all_facts() -> None:
    ours = schema()
    calls = list(enumerate(ours.calls, 1))
    assert [(number, f"{name}Request") for number, name in calls] == wire_facts.calls()
    assert [(number + 1, f"{name}Response") for number, name in calls] == wire_facts.responses()[1:]
    assert list(enumerate(ours.callbacks, 1)) == wire_facts.callbacks()
    assert set(ours.messages) == set(MESSAGES)
    assert (len(ours.messages), len(ours.calls), len(ours.callbacks)) == (470, 178, 62)
    for name, fields in MESSAGES.items():
        assert [field[:5] for field in ours.messages[name]] == [
            (f.number, f.name, f.type, f.repeated, bool(f.oneof)) for f in fields
        ]
    for name, members in wire_facts.enums().items():
        ours_of = {member.name: member.value for member in getattr(enums, name) if member.value < 100}
        assert ours_of == members  # those from 100 on are Weft's own
    assert wire_facts.exceptions("hla4") == HLA4_EXCEPTIONS
    assert wire_facts.exceptions("evolved") == EVOLVED_EXCEPTIONS


def test_messages_without_fields_are_empty() -> None:
    for name in MESSAGES:
        if name not in WITH_FIELDS:
            value = None if name in RESPONSES else ()
            assert encode(name, value) == serialised(oracle(name)()) == b""
            assert decode(name, b"") == value


@pytest.mark.parametrize("name", WITH_FIELDS)
@few
@given(data=st.data(), time=FACTORIES)
def test_every_message_is_what_protobuf_makes_of_it(name: str, data: Any, time: LogicalTimeFactory) -> None:
    value = data.draw(values(name, time))
    message = to_message(name, value)
    ours = encode(name, value)
    assert oracle(name).FromString(ours) == message
    assert ours == serialised(message)
    assert decode(name, serialised(message), time) == value


def test_an_empty_message_has_its_default_values() -> None:
    """What is absent reads as empty, as in protobuf; but there is no empty time, and no module that is nothing."""
    time = time_factory("HLAinteger64Time")
    for name in MESSAGES:
        if {"LogicalTime", "LogicalTimeInterval", "FomModule"} & _kinds(name) or name in ENVELOPES:
            with pytest.raises(WireError, match=r"is empty|has 8 bytes"):
                decode(name, b"", time)
        else:
            value = decode(name, b"", time)
            assert decode(name, encode(name, value), time) == value
            assert oracle(name).FromString(encode(name, value)).IsInitialized()


def _kinds(name: str) -> set[str]:
    """The types of the message and of the messages in it that are read even if absent."""
    found = {name}
    for field in MESSAGES[name]:
        optional = _optional(field.name) or name in ("MessageRetractionReturn", "TimeQueryReturn")
        if field.message and not field.repeated and not field.oneof and not optional:
            found |= _kinds(field.type)
    return found


@many
@given(data=st.data(), time=FACTORIES)
def test_fields_in_any_order_unknown_ones_and_repeated_ones_read_as_in_protobuf(
    data: Any, time: LogicalTimeFactory
) -> None:
    """The pieces of two messages, shuffled: protobuf merges them, and so do we."""
    name = data.draw(st.sampled_from(["SendInteractionWithTimeRequest", "InitiateFederateRestore",
                                      "DiscoverObjectInstance", "SynchronizationPointAchievedRequest"]))  # fmt: skip
    first, second = data.draw(st.tuples(values(name, time), values(name, time)))
    if name.startswith("Send"):  # a map may not have a key twice
        first = (first[0], {}, *first[2:])
    unknown = [b"\xfa\x01\x03abc", b"\x98\x06\x96\x01", b"\x99\x06" + bytes(8), b"\x9d\x06" + bytes(4)]
    pieces = [*_pieces(name, first), *_pieces(name, second), *unknown]
    mixed = b"".join(data.draw(st.permutations(pieces)))
    merged = oracle(name).FromString(mixed)
    merged.DiscardUnknownFields()
    assert decode(name, mixed, time) == decode(name, serialised(merged), time)


def _pieces(name: str, value: Any) -> list[bytes]:
    """The message taken apart into its fields."""
    whole = to_message(name, value)
    pieces = []
    for descriptor, _ in whole.ListFields():
        piece = oracle(name)()
        piece.CopyFrom(whole)
        for other, _ in whole.ListFields():
            if other.name != descriptor.name:
                piece.ClearField(other.name)
        pieces.append(serialised(piece))
    return pieces


# --- the hot calls --------------------------------------------------------------------------------------------

TIMES = st.none() | st.integers(0, 2**53)
CALLS = ("update_attribute_values", "send_interaction")


def _request(data: Any, service: str, time: int | None) -> tuple[Any, ...]:
    target, value_map = (
        ("ObjectInstanceHandle", "AttributeHandleValueMap")
        if service == CALLS[0]
        else ("InteractionClassHandle", "ParameterHandleValueMap")
    )
    factory = time_factory("HLAinteger64Time")
    assert factory is not None
    first = (
        data.draw(values(target, factory)),
        data.draw(values(value_map, factory)),
        data.draw(SCALARS["bytes"]),
    )
    return first if time is None else (*first, factory.make_time(time))


@many
@given(data=st.data(), service=st.sampled_from(CALLS), time=TIMES)
def test_a_hot_call_is_recognised_and_half_read(data: Any, service: str, time: int | None) -> None:
    arguments = _request(data, service, time)
    number, payload = encode_call(service, arguments)
    call = hot.read_hot(payload)
    assert hot.hot_number(payload) == number
    if any(len(handle) > 125 for handle in (arguments[0], *arguments[1])):
        assert call is None  # left to the general way
        return
    assert call is not None
    assert (call.number, call.target, call.handles, call.tag) == (
        number, arguments[0], list(arguments[1]), arguments[2])  # fmt: skip
    assert call.time == (b"" if time is None else arguments[3].encode())
    kind = "AttributeHandleValueMap" if service == CALLS[0] else "ParameterHandleValueMap"
    assert decode(kind, call.values) == arguments[1]
    assert hot.shared_fields(call.target, call.values, call.tag) == call.shared
    assert hot.request(number, call.shared, call.time) == payload
    assert hot.write_values(arguments[1]) == call.values
    entries = hot.scan_entries(call.values)
    assert {handle: value for handle, _, value in entries} == arguments[1]
    assert b"".join(entry for _, entry, _ in entries) == call.values
    wanted = (
        frozenset(data.draw(st.sets(st.sampled_from(call.handles)))) if call.handles else frozenset[bytes]()
    )
    kept = {handle: value for handle, value in arguments[1].items() if handle in wanted}
    part = packed(call).subset(wanted)
    assert isinstance(part, WireValues)
    assert decode(kind, part.values) == kept == part.unpack()


@many
@given(
    data=st.data(),
    service=st.sampled_from(CALLS),
    time=TIMES,
    orders=st.tuples(st.sampled_from(enums.OrderType), st.sampled_from(enums.OrderType)),
    retraction=st.none() | st.binary(min_size=1, max_size=9).map(handles.MessageRetractionHandle),
    transportation=st.binary(min_size=1, max_size=200).map(handles.TransportationTypeHandle),
    producer=st.binary(min_size=1, max_size=9).map(handles.FederateHandle),
)
def test_a_spliced_callback_is_byte_for_byte_what_protobuf_writes(
    data: Any,
    service: str,
    time: int | None,
    orders: tuple[enums.OrderType, enums.OrderType],
    retraction: handles.MessageRetractionHandle | None,
    transportation: handles.TransportationTypeHandle,
    producer: handles.FederateHandle,
) -> None:
    arguments = _request(data, service, time)
    payload = encode_call(service, arguments)[1]
    call = hot.read_hot(payload)
    if call is None:
        return
    method, number = (
        ("reflect_attribute_values", hot.REFLECT)
        if service == CALLS[0]
        else ("receive_interaction", hot.RECEIVE)
    )
    tail = hot.callback_tail(transportation, producer)
    expected: tuple[Any, ...] = (*arguments[:3], transportation, producer, None)
    if time is not None:
        number += 1
        sent, received = orders
        tail = hot.timed_tail(tail, call.time, sent.value, received.value, retraction or b"")
        expected = (*expected, arguments[3], sent, received, retraction)
    spliced = hot.callback(number, call.shared, tail)
    assert spliced == serialised(to_message("CallbackRequest", (number, expected)))
    assert spliced == encode_callback(method, expected)


@many
@given(data=st.data(), service=st.sampled_from(CALLS), time=TIMES)
def test_the_hot_way_takes_only_what_the_general_way_takes_alike(
    data: Any, service: str, time: int | None
) -> None:
    """Damaged requests: the hot way gives way, or reads the same."""
    factory = time_factory("HLAinteger64Time")
    payload = bytearray(encode_call(service, _request(data, service, time))[1])
    for _ in range(data.draw(st.integers(0, 3))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(payload[: data.draw(st.integers(max(0, len(payload) - 9), len(payload)))])
    call = hot.read_hot(damaged)
    if (
        call is not None and call.time[:1] < b"\x80"
    ):  # the other times are negative, which the hot way cannot see
        number, decoded, arguments = decode_call(damaged, factory)
        assert (number, arguments[0], arguments[2]) == (call.number, call.target, call.tag)
        assert decoded == CALLS[(number - 62) // 2]
        assert isinstance(arguments[1], dict)
        assert call.handles == list(arguments[1])


def test_the_empty_responses_of_the_hot_calls() -> None:
    assert serialised(to_message("CallResponse", (63, None))) == hot.EMPTY_UPDATE_RESPONSE
    assert serialised(to_message("CallResponse", (65, None))) == hot.EMPTY_SEND_RESPONSE
