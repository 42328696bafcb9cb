"""Messages and what federates get of them (clauses 6.12 to 6.18), whatever they hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support.bare_federation import HERE, bare, interaction_class
from support.small_fom import INTERACTIONS
from weft.kernel.state.messages import (
    Deletion,
    DirectedInteraction,
    Interaction,
    Message,
    Recipient,
    Update,
    attributes_of,
)
from weft.model.deliveries import Stamp, delivery_from
from weft.model.enums import OrderType
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    MessageRetractionHandle,
    ObjectInstanceHandle,
    TransportationTypeHandle,
)
from weft.model.packed import PackedValues
from weft.model.time import HLAinteger64Time
from weft.wire.codec.hot import write_values
from weft.wire.codec.packed import WireValues

SENDER = FederateHandle.of(1)
THING = ObjectInstanceHandle.of(7)
WAY = TransportationTypeHandle.of(1)
FEDERATION, (MEMBER,) = bare(HERE)
ORDERS = st.sampled_from([OrderType.RECEIVE, OrderType.TIMESTAMP])
STAMPS = st.one_of(
    st.none(),
    st.builds(
        Stamp,
        st.builds(HLAinteger64Time, st.integers(0, 99)),
        ORDERS,
        ORDERS,
        st.sampled_from([None, MessageRetractionHandle(SENDER + bytes(8))]),
    ),
)
VALUES = st.dictionaries(st.integers(1, 5).map(AttributeHandle.of), st.binary(max_size=3), min_size=1)


def packed(values: dict[Any, bytes]) -> PackedValues:
    return WireValues(list(values), write_values(dict(values)), b"", b"")


@st.composite
def sent(draw: st.DrawFn) -> tuple[Message, Recipient, dict[Any, bytes]]:
    """A message, one who gets it or some of it, and the values that this one is to get."""
    stamp, tag = draw(STAMPS), draw(st.binary(max_size=3))
    packs: Callable[[dict[Any, bytes]], Any] = packed if draw(st.booleans()) else dict
    if draw(st.booleans()):
        values = draw(VALUES)
        some = draw(st.one_of(st.none(), st.sets(st.sampled_from(sorted(values)), min_size=1)))
        kept = values if some is None else {one: values[one] for one in sorted(some)}
        recipient = Recipient(MEMBER, None, None if some is None else tuple(kept), WAY)
        return Update(SENDER, THING, packs(values), tag, None, stamp), recipient, kept
    entry = interaction_class(FEDERATION, draw(st.sampled_from(list(INTERACTIONS))))
    received = draw(st.sampled_from(entry.lineage))
    chosen = draw(st.sets(st.sampled_from(sorted(entry.parameters))))
    given_values = {one: draw(st.binary(max_size=3)) for one in sorted(chosen)}
    wanted = {one: value for one, value in given_values.items() if one in received.parameters}
    recipient = Recipient(MEMBER, received)
    at, packed_or_not = entry.handle, packs(given_values)
    if draw(st.booleans()):
        return Interaction(SENDER, at, packed_or_not, tag, WAY, None, stamp), recipient, wanted
    return DirectedInteraction(SENDER, at, THING, packed_or_not, tag, WAY, stamp), recipient, wanted


def values_of(delivery: Any) -> dict[Any, bytes]:
    values = delivery.values
    return values.unpack() if isinstance(values, PackedValues) else values


@given(sent())
def test_one_gets_the_values_that_it_wants(case: tuple[Message, Recipient, dict[Any, bytes]]) -> None:
    """6.11, 6.13: those of the class at which it is received, or of its attributes; a dict of its own."""
    message, recipient, kept = case
    delivery = message.delivery(recipient)
    assert values_of(delivery) == kept
    assert (delivery.tag, delivery.producer, delivery.stamp) == (message.tag, SENDER, message.stamp)
    values: Any = getattr(message, "values")  # noqa: B009
    assert not isinstance(values, dict) or getattr(delivery, "values") is not values  # noqa: B009
    assert delivery.object_instance() == message.object_instance()


@given(sent())
def test_a_delivery_is_read_as_it_is_written(case: tuple[Message, Recipient, dict[Any, bytes]]) -> None:
    """A save keeps the arguments of the callback."""
    for delivery in (case[0].delivery(case[1]), Deletion(SENDER, THING, b"x", case[0].stamp).removal()):
        again = delivery_from(delivery.method, delivery.arguments())
        assert type(again) is type(delivery)
        assert again == delivery


@given(sent(), VALUES)
def test_what_is_made_of_a_delivery_leaves_it_alone(
    case: tuple[Message, Recipient, dict[Any, bytes]], other: dict[Any, bytes]
) -> None:
    """Others share it: at once, or with other values, it is another that is like it in all else."""
    delivery = case[0].delivery(case[1])
    before = delivery.arguments()
    at_once = delivery.at_once()
    copied = delivery.copied()
    assert copied == delivery
    setattr(copied, "values", other)  # noqa: B010
    assert delivery.arguments() == before
    assert type(at_once) is type(copied) is type(delivery)
    assert values_of(copied) == other
    stamp = delivery.stamp
    if stamp is None:
        assert at_once is delivery
    else:
        assert at_once.stamp == Stamp(stamp.time, stamp.sent, OrderType.RECEIVE, stamp.retraction)
        assert at_once.arguments()[:-4] == before[:-4]


@given(VALUES, st.booleans(), st.data())
def test_an_update_is_cut_into_parts(values: dict[Any, bytes], packs: bool, data: st.DataObject) -> None:
    """Of different orders, or for other nodes: each part is an update of its attributes, and together they are all."""
    update = Update(SENDER, THING, packed(values) if packs else dict(values), b"tag", None, None)
    update.number, update.priority, update.urgent = 5, 3, True
    some = data.draw(st.sets(st.sampled_from(sorted(values))))
    rest = [one for one in values if one not in some]
    parts = [update.part(tuple(chosen)) for chosen in (sorted(some), rest)]
    found = [values_of(part) for part in parts]
    assert found == [{one: values[one] for one in sorted(some)}, {one: values[one] for one in rest}]
    for part in parts:
        assert (part.number, part.priority, part.urgent, part.tag, part.instance) == (
            5,
            3,
            True,
            b"tag",
            THING,
        )
    assert values_of(update) == values


@given(sent(), st.binary(max_size=3))
def test_who_keeps_a_message_is_not_touched_by_its_sender(
    case: tuple[Message, Recipient, dict[Any, bytes]], later: bytes
) -> None:
    """The sender may go on to change what it gave; twice makes one copy."""
    message: Any = case[0]
    given_values = message.values
    message.own()
    own = message.values
    message.own()
    assert message.values is own
    if isinstance(given_values, dict):
        before = dict(own)
        given_values.update(dict.fromkeys(given_values, later + b"!"))
        assert own == before


@given(VALUES, st.data())
def test_values_of_some_attributes(values: dict[Any, bytes], data: st.DataObject) -> None:
    """Packed or not, the same."""
    chosen = tuple(data.draw(st.permutations(sorted(values)))[: data.draw(st.integers(1, len(values)))])
    cut = attributes_of(packed(values), chosen)
    assert isinstance(cut, PackedValues)
    assert cut.unpack() == attributes_of(values, chosen)
