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
from weft.wire import Codec, WireError
from weft.wire.codec_hot import read_hot
from weft.wire.own_fields import own_of_callback, with_own
from weft.wire.schema import schema

CODEC = Codec(time_factory("HLAinteger64Time"))
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
    assert own_of_callback(payload) is None
    assert own_of_callback(with_own(payload, value)) == value
    assert CODEC.decode_callback(with_own(payload, value)) == CODEC.decode_callback(payload)
