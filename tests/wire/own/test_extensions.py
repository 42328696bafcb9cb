"""Weft's own calls over the Federate Protocol: there and back, and refused where they are not known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.model.enums import OrderType
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    MessageRetractionHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    TransportationTypeHandle,
)
from weft.model.records import CorrelatedEvent
from weft.model.time import HLAinteger64Time, time_factory
from weft.wire import ServiceCodec, WireError
from weft.wire.own.extensions import CALLBACKS, CORRELATION, NUMBER, SERVICES, encode_own

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(0, 1 << 62)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


@given(st.sampled_from(sorted(SERVICES)), st.lists(PLAIN, max_size=3), PLAIN)
def test_own_calls_go_there_and_back(service: str, arguments: list[object], result: object) -> None:
    codec = ServiceCodec()
    number, payload = codec.encode_call(service, tuple(arguments))
    assert number == NUMBER
    call = codec.decode_call(payload)
    assert (call.number, call.service, list(call.arguments)) == (NUMBER, service, arguments)
    assert codec.decode_response(number, codec.encode_response(number, result)) == result


@given(st.sampled_from(sorted(CALLBACKS - {CORRELATION})), st.lists(PLAIN, max_size=2))
def test_own_callbacks_go_there_and_back(method: str, arguments: list[object]) -> None:
    codec = ServiceCodec()
    found, back = codec.decode_callback(codec.encode_callback(method, tuple(arguments)))
    assert (found, list(back)) == (method, arguments)


WAY, SENDER = TransportationTypeHandle.of(1), FederateHandle.of(2)
TIME = (HLAinteger64Time(7), OrderType.TIMESTAMP, OrderType.TIMESTAMP, MessageRetractionHandle(b"12345678"))
HANDLES = st.integers(1, 1 << 20)


@st.composite
def events(draw: st.DrawFn) -> CorrelatedEvent:
    """As they come out: values as dicts."""
    order = draw(st.sampled_from([None, *OrderType]))
    stamp = TIME if draw(st.booleans()) else ()
    number, data = draw(HANDLES), draw(st.binary(max_size=50))
    kind = draw(st.sampled_from(["timeout", "interaction", "update", "directed"]))
    if kind == "timeout":
        return CorrelatedEvent("timeout", None, (1.5, 0.25, number))
    if kind == "update":
        given: tuple[Any, ...] = (ObjectInstanceHandle.of(number), {AttributeHandle.of(number): data})
        handle = ObjectClassHandle.of(number)
        return CorrelatedEvent(
            "reflect_attribute_values", handle, (*given, data, WAY, SENDER, None, *stamp), order
        )
    word = InteractionClassHandle.of(number)
    values = {ParameterHandle.of(number): data}
    if kind == "directed":
        given = (word, ObjectInstanceHandle.of(number), values, data, WAY, SENDER, *stamp)
        return CorrelatedEvent("receive_directed_interaction", word, given, order)
    return CorrelatedEvent(
        "receive_interaction", word, (word, values, data, WAY, SENDER, None, *stamp), order
    )


@given(st.integers(0, 1 << 30), st.lists(events(), min_size=1, max_size=4))
def test_groups_go_there_and_back(number: int, group: list[CorrelatedEvent]) -> None:
    """Issue 7, item 7: each event as the callback it would have been, with its order and its class."""
    codec = ServiceCodec(time_factory("HLAinteger64Time"))
    found, back = codec.decode_callback(codec.encode_callback(CORRELATION, (number, tuple(group))))
    assert (found, back) == (CORRELATION, (number, tuple(group)))


@given(st.lists(PLAIN, max_size=3))
def test_nonsense_in_a_group_is_a_wire_error(nonsense: list[object]) -> None:
    with pytest.raises(WireError):
        ServiceCodec().decode_callback(encode_own(CORRELATION, (1, [[0, *nonsense]])))


def test_the_status_of_many_federates_comes_whole() -> None:
    """A thousand federates take more than any small limit; frames have theirs (docs/how-to/serving.md)."""
    codec = ServiceCodec()
    status = [
        {"federates": [{"name": f"federate {n}", "type": "x" * 100, "node": "S1"} for n in range(1000)]}
    ]
    payload = codec.encode_response(NUMBER, status)
    assert len(payload) > 1 << 16
    assert codec.decode_response(NUMBER, payload) == status


@given(st.binary(max_size=200))
def test_nonsense_in_an_own_call_is_a_wire_error(nonsense: bytes) -> None:
    codec = ServiceCodec()
    _, payload = codec.encode_call("query_blocking", ())
    for broken in (payload[:4] + nonsense, payload[:-1] + nonsense, payload[:4]):
        try:
            codec.decode_call(broken)
        except WireError:
            continue


def test_what_is_no_plain_data_is_refused() -> None:
    with pytest.raises(WireError, match="no plain data"):
        ServiceCodec().encode_call("set_time_advance_patience", (object(),))
