"""Messages with a time, requests to advance and grants on the short way of the wire: the same bytes and the same values."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from weft import HLAfloat64Time, HLAinteger64Time, OrderType
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    MessageRetractionHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    TransportationTypeHandle,
)
from weft.model.time import HLAfloat64TimeFactory, HLAinteger64TimeFactory
from weft.wire import ServiceCodec
from weft.wire.codec.hot_callbacks import HotCallbacks
from weft.wire.codec.packed import advance_number, encode_advance, encode_hot_call, read_advance

FACTORIES: list[Any] = [HLAinteger64TimeFactory(), HLAfloat64TimeFactory()]
ADVANCES = (
    "time_advance_request",
    "time_advance_request_available",
    "next_message_request",
    "next_message_request_available",
)


def number(first: int, last: int = 1 << 20) -> st.SearchStrategy[int]:
    return st.integers(first, last)


def times(factory: Any) -> st.SearchStrategy[Any]:
    if factory.name == "HLAinteger64Time":
        return st.integers(0, (1 << 63) - 1).map(HLAinteger64Time)
    return st.floats(0.0, 1e300).map(HLAfloat64Time)


@st.composite
def messages(draw: st.DrawFn) -> tuple[Any, str, tuple[Any, ...]]:
    factory = draw(st.sampled_from(FACTORIES))
    send = draw(st.booleans())
    keys: Any = ParameterHandle if send else AttributeHandle
    target: Any = InteractionClassHandle if send else ObjectInstanceHandle
    values = {
        keys.of(n): v
        for n, v in draw(st.dictionaries(number(1), st.binary(max_size=200), max_size=4)).items()
    }
    given_ = (target.of(draw(number(1))), values, draw(st.binary(max_size=150)), draw(times(factory)))
    return factory, "send_interaction" if send else "update_attribute_values", given_


@given(messages())
def test_a_message_with_a_time_is_written_as_by_the_codec(message: tuple[Any, str, tuple[Any, ...]]) -> None:
    factory, service, arguments = message
    assert encode_hot_call(service, arguments) == ServiceCodec(factory).encode_call(service, arguments)[1]


@given(messages(), number(1), number(0, 1), number(0, 1), st.none() | st.binary(min_size=1, max_size=20))
def test_a_callback_with_a_time_is_read_as_by_the_codec(
    message: tuple[Any, str, tuple[Any, ...]],
    producer: int,
    sent: int,
    received: int,
    retraction: bytes | None,
) -> None:
    factory, service, (target, values, tag, time) = message
    method = "receive_interaction" if service == "send_interaction" else "reflect_attribute_values"
    arguments = (
        target,
        values,
        tag,
        TransportationTypeHandle.of(1),
        FederateHandle.of(producer),
        None,
        time,
        OrderType(sent),
        OrderType(received),
        None if retraction is None else MessageRetractionHandle(retraction),
    )
    codec, hot = ServiceCodec(factory), HotCallbacks()
    payload = codec.encode_callback(method, arguments)
    assert hot.read(payload, 0, len(payload)) is None  # nobody knows the federation's time yet
    hot.time = factory
    found = hot.read(payload, 0, len(payload))
    assert found is not None
    assert found.arguments() == codec.decode_callback(payload)[1] == arguments
    assert found.method == method
    for cut in range(len(payload)):
        hot.read(payload[:cut], 0, cut)  # whatever it finds, it does not fail


@given(st.data(), st.sampled_from(FACTORIES), st.sampled_from(ADVANCES))
def test_advances_and_grants_are_as_by_the_codec(data: st.DataObject, factory: Any, service: str) -> None:
    time = data.draw(times(factory))
    codec, hot = ServiceCodec(factory), HotCallbacks()
    call, payload = codec.encode_call(service, (time,))
    assert encode_advance(advance_number(service), time) == payload
    assert read_advance(payload) == (call, service, time.encode())
    assert read_advance(payload + b"\x00") is None
    hot.time = factory
    grant = codec.encode_callback("time_advance_grant", (time,))
    assert hot.read(grant, 0, len(grant)) is None
    assert hot.read_grant(grant, 0, len(grant)) == time


def test_what_is_no_time_goes_the_long_way() -> None:
    assert encode_advance(93, "five") is None
    assert encode_hot_call("send_interaction", (InteractionClassHandle.of(1), {}, b"", 5.0)) is None
    assert advance_number("flush_queue_request") == 0
