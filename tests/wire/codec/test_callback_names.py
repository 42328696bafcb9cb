"""What a callback is called is read off its first bytes, as the last one that went to a federate (issue 9)."""

from __future__ import annotations

import pytest

from weft import FederateAmbassador
from weft.wire.codec.callbacks import HEAD, callback_name, standard_name
from weft.wire.codec.schema import schema
from weft.wire.own.extensions import CALLBACKS, encode_own
from weft.wire.own.fields import with_urgent
from weft.wire.protobuf import BYTES, tag, varint

PLAIN = ("WithTime", "WithRate")


@pytest.mark.parametrize("number", range(1, len(schema().callbacks) + 1))
def test_every_callback_of_the_protocol_has_the_name_of_its_message(number: int) -> None:
    name = schema().callbacks[number - 1]
    for ending in PLAIN:
        name = name.removesuffix(ending)
    expected = name[0].lower() + name[1:]
    content = bytes(1000)
    payload = tag(number, BYTES) + varint(len(content)) + content
    assert callback_name(payload[:HEAD]) == expected
    assert expected in {standard_name(one) for one in vars(FederateAmbassador)}


@pytest.mark.parametrize("method", sorted(CALLBACKS))
def test_weft_s_own_have_names_too(method: str) -> None:
    payload = encode_own(method, ([0] * 1000,))
    assert callback_name(payload[:HEAD]) == standard_name(method)
    assert callback_name(with_urgent(payload, (1, None, 0.5, 2, True))[:HEAD]) == standard_name(method)


def test_what_cannot_be_read_has_no_name() -> None:
    assert [callback_name(one) for one in (b"", b"\xff", tag(5000, BYTES), encode_own("x y", ())[:4])] == [
        ""
    ] * 4
