"""Weft's own fields in the Federate Protocol: read by Weft, passed over by others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft import OrderType
from weft.model.handles import (
    FederateHandle,
    InteractionClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    TransportationTypeHandle,
)
from weft.model.time import HLAinteger64Time, time_factory
from weft.wire import ServiceCodec, WireError
from weft.wire.codec.hot import read_hot
from weft.wire.codec.schema import schema
from weft.wire.own.fields import read_urgent, with_own, with_urgent

CODEC = ServiceCodec(time_factory("HLAinteger64Time"))
CLASS, INSTANCE = InteractionClassHandle.of(3), ObjectInstanceHandle.of(4)
VALUES = {ParameterHandle.of(1): b"x" * 200}
TIME = HLAinteger64Time(7)
CALLS: dict[str, tuple[Any, ...]] = {
    "send_interaction": (CLASS, VALUES, b"tag"),
    "update_attribute_values": (INSTANCE, {}, b"tag"),
    "send_directed_interaction": (CLASS, INSTANCE, {}, b"tag"),
    "delete_object_instance": (INSTANCE, b"tag"),
}


@pytest.mark.parametrize("service", CALLS)
@pytest.mark.parametrize("time", [None, TIME])
@pytest.mark.parametrize("order", OrderType)
def test_a_call_carries_its_order(service: str, time: Any, order: OrderType) -> None:
    """S0-1: whatever the order; and the hot path leaves such a call to the codec."""
    arguments = (*CALLS[service], time, order)
    _, payload = CODEC.encode_call(service, arguments)
    found = CODEC.decode_call(payload)
    assert (found.service, len(found.arguments)) == (service, len(arguments))
    assert found.arguments[-2:] == (time, order)
    assert read_hot(payload) is None


@pytest.mark.parametrize("service", CALLS)
def test_who_does_not_know_it_sees_the_call_without(service: str) -> None:
    """The bytes are those of the plain call, with one field more at the end of the message."""
    number, plain = CODEC.encode_call(service, CALLS[service])
    _, ordered = CODEC.encode_call(service, (*CALLS[service], None, OrderType.CAUSAL))
    assert with_own(plain, OrderType.CAUSAL.value) == ordered
    assert schema().calls[number - 1]  # a call of the standard's schema
    assert CODEC.decode_call(plain).arguments == CODEC.decode_call(ordered).arguments[:-2]


def test_a_number_that_is_no_order_is_refused() -> None:
    _, plain = CODEC.encode_call("send_interaction", CALLS["send_interaction"])
    with pytest.raises(WireError) as caught:
        CODEC.decode_call(with_own(plain, 77))
    assert caught.value.exception_name == "InvalidOrderType"


@given(st.integers(0, 1 << 40), st.binary(max_size=300))
def test_a_callback_says_how_urgent_it_is(value: int, tag: bytes) -> None:
    arguments: tuple[Any, ...] = (CLASS, {}, tag, TransportationTypeHandle.of(1), FederateHandle.of(2), None)
    payload = CODEC.encode_callback("receive_interaction", arguments)
    assert read_urgent(payload) is None
    assert read_urgent(with_own(payload, value + 1)) == (value, OrderType.PRIORITY, 0.0, 0, False)
    assert CODEC.decode_callback(with_own(payload, value + 1)) == CODEC.decode_callback(payload)


ORDERS = st.sampled_from([None, *OrderType])


@given(
    st.integers(0, 1 << 30),
    ORDERS,
    st.floats(allow_nan=False),
    st.integers(-(1 << 31), (1 << 31) - 1),
    st.booleans(),
)
def test_a_callback_says_all_of_its_urgency(
    priority: int, order: OrderType | None, dynamic: float, sub: int, watched: bool
) -> None:
    """Issue 7, item 7: whoever sorts has the same key as the node; callbacks of Weft's own say it, too."""
    urgent = (priority, order, dynamic, sub, watched)
    arguments: tuple[Any, ...] = (CLASS, {}, b"t", TransportationTypeHandle.of(1), FederateHandle.of(2), None)
    payload = CODEC.encode_callback("receive_interaction", arguments)
    assert read_urgent(with_urgent(payload, urgent)) == urgent
    assert CODEC.decode_callback(with_urgent(payload, urgent)) == CODEC.decode_callback(payload)
    if abs(dynamic) != float("inf"):
        own = CODEC.encode_callback("deadline_missed", ({"late": 1.0},))
        assert read_urgent(own) is None
        assert read_urgent(with_urgent(own, urgent)) == urgent
        assert CODEC.decode_callback(with_urgent(own, urgent)) == CODEC.decode_callback(own)
