"""Orders over the Federate Protocol: named by a call or a class, and no lane for what is not in receive order."""

from __future__ import annotations

from typing import Any

import pytest

from support.server_in_thread import WAIT, serving
from support.small_fom import extra_module, fom
from weft import CallbackModel, FederateAmbassador, OrderType, RTIambassador, RtiConfiguration

MODULE = extra_module(
    "<interactions><interactionClass><name>HLAinteractionRoot</name>"
    + "".join(
        f"<interactionClass><name>{name}</name><sharing>PublishSubscribe</sharing>"
        f"<transportation>HLAreliable</transportation><order>{order}</order></interactionClass>"
        for name, order in (("Soon", "Priority(2)"), ("Now", "Priority(1)"), ("Why", "Causal"))
    )
    + "</interactionClass></interactions>"
)


class Ears(FederateAmbassador):
    def __init__(self) -> None:
        self.tags: list[bytes] = []

    def receive_interaction(self, *arguments: Any) -> None:
        self.tags.append(arguments[2])


@pytest.fixture
def served() -> Any:
    with serving() as server:
        ears = Ears()
        pair = [RTIambassador(), RTIambassador()]
        for rti, ambassador in zip(pair, (FederateAmbassador(), ears), strict=True):
            rti.connect(ambassador, CallbackModel.EVOKED, RtiConfiguration(rti_address=server.address("tcp")))
        pair[0].create_federation_execution("F", [fom(), MODULE])
        for rti in pair:
            rti.join_federation_execution("test", "F")
        classes = {}
        for name in ("Event", "Soon", "Now", "Why"):
            classes[name] = pair[0].get_interaction_class_handle(name)
            pair[0].publish_interaction_class(classes[name])
            pair[1].subscribe_interaction_class(classes[name])
        yield server, pair, ears, classes
        for rti in pair:
            rti.leave()


def hear(rti: RTIambassador, ears: Ears, count: int) -> list[bytes]:
    while len(ears.tags) < count and rti.evoke_callback(WAIT) is not None:
        continue
    return ears.tags


def test_a_client_may_name_the_order_of_a_call(served: Any) -> None:
    """S0-1: the order goes in a field of Weft's own; calls without it still take their lane."""
    server, (sender, receiver), ears, classes = served
    orders = [None, OrderType.CAUSAL, None, OrderType.TOTAL, None, OrderType.CAUSAL, None]
    for number, order in enumerate(orders):
        sender.send_interaction(classes["Event"], {}, b"%d" % number, order=order)
    assert hear(receiver, ears, len(orders)) == [b"%d" % n for n in range(len(orders))]
    federation = server.ask(lambda s: next(iter(s.board.node.federations.values())))
    assert federation.orders.counts.messages == 4  # the total one goes by the sequencer
    assert receiver.get_order_type("HLAcausal") is OrderType.CAUSAL


def test_a_class_in_causal_order_has_no_lane(served: Any) -> None:
    server, (sender, receiver), ears, classes = served
    for number in range(5):
        sender.send_interaction(classes["Why"], {}, b"%d" % number)
    hear(receiver, ears, 5)
    assert server.ask(lambda s: s.board.spliced) == 0
    for number in range(5):
        sender.send_interaction(classes["Event"], {}, b"%d" % number)
    assert len(hear(receiver, ears, 10)) == 10
    assert server.ask(lambda s: s.board.spliced) > 0
    sender.change_interaction_order_type(classes["Event"], OrderType.CAUSAL)  # closes the lane
    before = server.ask(lambda s: s.board.spliced)
    sender.send_interaction(classes["Event"], {}, b"last")
    assert hear(receiver, ears, 11)[-1] == b"last"
    assert server.ask(lambda s: s.board.spliced) == before


def test_urgent_messages_come_first_at_a_client(served: Any) -> None:
    """The client sorts what waits there; the server sends at once."""
    _, (sender, receiver), ears, classes = served
    for name, tag in (("Event", b"a"), ("Soon", b"b"), ("Now", b"c"), ("Soon", b"d"), ("Now", b"e")):
        sender.send_interaction(classes[name], {}, tag)
    while len(receiver.connection._inbox._arrived) < 5:
        receiver.get_order_name(OrderType.RECEIVE)  # a round trip brings what has come meanwhile
    assert hear(receiver, ears, 5) == [b"c", b"e", b"b", b"d", b"a"]
