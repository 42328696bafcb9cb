"""Bytes that make no sense, and values that cannot be sent: always a WireError that says where, never anything else."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.model.enums import OrderType, ResignAction
from weft.model.errors import RTIexception
from weft.model.handles import AttributeHandle, InteractionClassHandle, ObjectClassHandle, ParameterHandle
from weft.model.records import FederationExecutionInformation, RangeBounds, Source
from weft.model.time import HLAfloat64Time, HLAinteger64Interval, HLAinteger64Time, time_factory
from weft.wire import ServiceCodec, WireError
from weft.wire.codec import hot
from weft.wire.codec.hot_callbacks import HotCallbacks
from weft.wire.codec.messages import decode, encode

CODEC = ServiceCodec(time_factory("HLAinteger64Time"))
CLASS = InteractionClassHandle.of(1)
VALUES = {ParameterHandle.of(1): b"a value", ParameterHandle.of(2): b""}
MODULES = (Source("a.xml", b"<a/>"), Source("b.xml", b""))

PAYLOADS = [
    CODEC.encode_call(service, arguments)[1]
    for service, arguments in [
        ("send_interaction", (CLASS, VALUES, b"tag", HLAinteger64Time(5))),
        ("create_federation_execution", ("F", MODULES, MODULES[0], "HLAinteger64Time")),
        ("associate_regions_for_updates", (CLASS, [(frozenset({AttributeHandle.of(1)}), frozenset())])),
        ("reserve_multiple_object_instance_names", (frozenset({"a", "b"}),)),
        ("set_range_bounds", (CLASS, CLASS, RangeBounds(1, 2**31))),
        ("resign_federation_execution", (ResignAction.NO_ACTION,)),
        ("enable_time_regulation", (HLAinteger64Interval(1),)),
    ]
] + [
    CODEC.encode_callback(
        "receive_interaction",
        (CLASS, VALUES, b"", CLASS, CLASS, frozenset({frozenset({(CLASS, RangeBounds(0, 1))})}),
         HLAinteger64Time(5), OrderType.TIMESTAMP, OrderType.RECEIVE, None),
    ),
    CODEC.encode_callback("report_federation_executions", ({FederationExecutionInformation("F", "x")},)),
    CODEC.encode_response(177, True),
    CODEC.encode_exception("NotConnected", "no"),
]  # fmt: skip


def read_all_ways(payload: bytes) -> None:
    """Everything a peer's bytes can be taken for."""
    for read in (
        CODEC.decode_call,
        CODEC.decode_callback,
        CODEC.decode_callback_response,
        hot.read_hot,
    ):
        with contextlib.suppress(WireError):
            read(payload)
    for number in (1, 15, 65, 137, 177):
        with contextlib.suppress(WireError, RTIexception):
            CODEC.decode_response(number, payload)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_damaged_bytes_raise_nothing_but_wire_errors(data: Any) -> None:
    payload = bytearray(data.draw(st.sampled_from(PAYLOADS)))
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(payload) - 1))
        payload[place] = data.draw(st.integers(0, 255) | st.just(payload[place] ^ 1))
    read_all_ways(bytes(payload[: data.draw(st.integers(0, len(payload)))]))


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 200))
def test_random_bytes_raise_nothing_but_wire_errors(noise: bytes, number: int) -> None:
    read_all_ways(noise)
    head = hot.length(number << 3 | 2) + hot.length(len(noise))
    read_all_ways(head + noise)


BAD = [
    ("", r"CallRequest: is empty"),
    ("80", r"CallRequest: the data ends inside a number"),
    ("62", r"CallRequest: the data ends inside a number"),
    ("62 05 0a 01", r"CallRequest: 5 bytes are announced and 2 are left"),
    (
        "62 0c 0a ff ff ff ff ff ff ff ff ff ff 01",
        r"DestroyFederationExecutionRequest\.federationName: .* ten bytes",
    ),
    ("62 0b 0a ff ff ff ff ff ff ff ff ff 01", r"federationName: 18446744073709551615 bytes are announced"),
    (
        "62 03 0a 02 61",
        r"DestroyFederationExecutionRequest\.federationName: 2 bytes are announced and 1 are left",
    ),
    ("62 04 0a 02 c3 28", r"DestroyFederationExecutionRequest\.federationName: is not UTF-8"),
    (
        "62 02 08 01",
        r"DestroyFederationExecutionRequest: field 1 \(federationName\) has the wrong wire type 0",
    ),
    ("62 02 13 14", r"DestroyFederationExecutionRequest: wire type 3 is not used"),
    ("62 02 02 00", r"DestroyFederationExecutionRequest: 0 is no field number"),
    ("62 03 82 00 00", r"DestroyFederationExecutionRequest: 0 is no field number"),
    ("62 03 15 00 00", r"DestroyFederationExecutionRequest: the data ends inside a fixed-size number"),
    ("60 00", r"CallRequest: field 12 has the wrong wire type 0"),
    ("2a 00 2a 00", r"CallRequest: has both field 5 and field 5, and should have one"),
    ("9a 0b 00", r"CallRequest: field 179 is not known here"),
    ("fa ff ff ff 7f 00", r"CallRequest: 4294967295 is no field number"),
    ("32 04 0a 00 12 00", r"FomModule: is empty"),
    ("32 06 0a 00 12 02 22 00", r"FomModule: field 4 is not known here"),
]


@pytest.mark.parametrize(("payload", "message"), BAD)
def test_an_error_names_the_message_and_the_field(payload: str, message: str) -> None:
    with pytest.raises(WireError, match=message) as raised:
        CODEC.decode_call(bytes.fromhex(payload))
    assert raised.value.exception_name == "RTIinternalError"


def test_unknown_fields_are_passed_over() -> None:
    """A later edition may add fields; also beside the member of the oneof."""
    payload = bytes.fromhex("62 12  0a 01 46  10 05  1a 02 68 69  21 0102030405060708") + bytes.fromhex(
        "9a 0b 00"
    )
    assert CODEC.decode_call(payload) == (12, "destroy_federation_execution", ("F",))


@pytest.mark.parametrize(
    ("message", "payload", "exception"),
    [
        ("TimeAdvanceRequestRequest", "0a 02 0a 00", "InvalidLogicalTime"),
        ("TimeAdvanceRequestRequest", "0a 0a 0a 08 80 00 00 00 00 00 00 00", "InvalidLogicalTime"),
        ("TimeAdvanceRequestRequest", "", "InvalidLogicalTime"),
        ("EnableTimeRegulationRequest", "0a 0a 0a 08 80 00 00 00 00 00 00 00", "InvalidLookahead"),
        ("ResignFederationExecutionRequest", "08 06", "InvalidResignAction"),
        ("GetOrderNameRequest", "08 ff 01", "InvalidOrderType"),
        ("NormalizeServiceGroupRequest", "08 07", "InvalidServiceGroup"),
    ],
)
def test_a_value_out_of_range_has_its_own_hla_exception(message: str, payload: str, exception: str) -> None:
    with pytest.raises(WireError, match=message) as raised:
        decode(message, bytes.fromhex(payload), CODEC.time)
    assert raised.value.exception_name == exception


def test_a_time_before_joining() -> None:
    payload = CODEC.encode_call("time_advance_request", (HLAfloat64Time(1.0),))[1]
    with pytest.raises(WireError, match="join") as raised:
        ServiceCodec().decode_call(payload)
    assert raised.value.exception_name == "FederateNotExecutionMember"
    joined = ServiceCodec(time_factory(""))
    assert joined.decode_call(payload).arguments == (HLAfloat64Time(1.0),)


def test_a_handle_given_twice_is_left_to_the_general_way() -> None:
    """The first entry's bytes again: a map has a key once, and receivers must not see it twice."""
    once = hot.write_values({ParameterHandle.of(1): b"a"})
    payload = hot.request(hot.SEND, hot.shared_fields(CLASS, once + once, b""), b"")
    assert hot.read_hot(payload) is None
    assert CODEC.decode_call(payload).arguments == (CLASS, {ParameterHandle.of(1): b"a"}, b"")


HOT_CALLBACKS = [
    CODEC.encode_callback(method, (CLASS, VALUES, b"tag", CLASS, CLASS, None))
    for method in ("receive_interaction", "reflect_attribute_values")
]


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_a_hot_callback_reads_as_in_the_general_way_or_not_at_all(data: Any) -> None:
    payload = bytearray(data.draw(st.sampled_from(HOT_CALLBACKS)))
    for _ in range(data.draw(st.integers(0, 2))):
        place = data.draw(st.integers(0, len(payload) - 1))
        payload[place] = data.draw(st.integers(0, 255) | st.sampled_from([0x0A, 0x12, 0, 2, 4, 6, 8]))
    reader = HotCallbacks()
    around = data.draw(st.binary(max_size=3))  # it is read where it lies
    found = reader.read(around + bytes(payload) + around, len(around), len(around) + len(payload))
    if found is not None:
        method, arguments = CODEC.decode_callback(bytes(payload))
        assert (found.method, found.arguments()) == (method, arguments)
        assert [type(each) for each in found.arguments()] == [type(each) for each in arguments]


def test_the_wrong_response() -> None:
    with pytest.raises(WireError, match=r"DisconnectResponse \(field 6\) is due, and field 7 came"):
        CODEC.decode_response(5, bytes.fromhex("3a 00"))


@pytest.mark.parametrize(
    ("service", "arguments", "message"),
    [
        ("fly", (), "no message for a service 'fly'"),
        ("send_interaction", (CLASS,), "no message for send_interaction with 1 such arguments"),
        ("send_interaction", (CLASS, {"x": b""}, b""), r"ParameterHandleValue\.parameterHandle: 'x' is no ParameterHandle"),
        ("send_interaction", (CLASS, {CLASS: "x"}, b""), r"ParameterHandleValue\.value: 'x' is not bytes"),
        ("send_interaction", (CLASS, [CLASS], b""), r"ParameterHandleValueMap"),
        ("send_interaction", (CLASS, {}, "tag"), r"SendInteractionRequest\.userSuppliedTag: 'tag' is not bytes"),
        ("send_interaction", (None, {}, b""), r"SendInteractionRequest\.interactionClass: None is no Interaction"),
        ("time_advance_request", (HLAinteger64Interval(1),), r"TimeAdvanceRequestRequest\.time: .* is no LogicalTime"),
        ("resign_federation_execution", (0,), r"resignAction: 0 is no ResignAction"),
        ("reserve_multiple_object_instance_names", ("name",), r"objectInstanceNames: 'name' is one thing"),
        ("reserve_object_instance_name", ("\ud800",), r"objectInstanceName: .* surrogates not allowed"),
        ("set_range_bounds", (CLASS, CLASS, (0, -1)), r"RangeBounds\.upper: -1 is no number"),
        ("set_range_bounds", (CLASS, CLASS, (0, 1, 2)), r"RangeBounds: takes 2 values, not 3"),
        ("create_federation_execution", ("F", ("a.xml",), None, ""), r"FomModule: 'a.xml' is no FOM module"),
        ("publish_object_class_attributes", (CLASS, 5), r"AttributeHandleSet\.attributeHandle: 'int' object"),
    ],
)  # fmt: skip
def test_what_cannot_be_sent(service: str, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(WireError, match=message):
        CODEC.encode_call(service, arguments)


def test_results_that_cannot_be_sent() -> None:
    with pytest.raises(WireError, match=r"GetUpdateRateValueResponse\.result"):
        encode("GetUpdateRateValueResponse", "fast")
    with pytest.raises(WireError, match="CallRequest: has no field 400"):
        encode("CallRequest", (400, ()))


def test_the_work_is_in_proportion_to_the_bytes() -> None:
    """A hundred thousand repetitions of one message field, at two depths, are merged in one go."""
    handle = b"\x0a\x00" * 50_000 + b"\x0a\x01x"
    field = b"\x0a" + hot.length(len(handle)) + handle
    payload = b"\x0a\x00" * 50_000 + field
    assert decode("GetObjectClassNameRequest", payload) == (ObjectClassHandle(b"x"),)


def test_equal_sets_are_equal_on_the_wire() -> None:
    numbers = list(range(1, 50))
    payloads = {
        CODEC.encode_call(
            "publish_object_class_attributes", (CLASS, frozenset(AttributeHandle.of(n) for n in order))
        )[1]
        for order in (numbers, numbers[::-1], numbers[20:] + numbers[:20])
    }
    assert len(payloads) == 1
