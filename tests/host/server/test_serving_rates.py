"""Update rates over the Federate Protocol: the server holds values back, and sends the newest when its time has come."""

from __future__ import annotations

from time import monotonic
from typing import Any

from support.server_in_thread import WAIT, serving
from support.small_fom import extra_module, fom
from weft import CallbackModel, FederateAmbassador, RTIambassador, RtiConfiguration

RATE = 10.0
MODULE = extra_module(
    f"<updateRates><updateRate><name>Ten</name><rate>{RATE}</rate></updateRate></updateRates>"
)


class Values(FederateAmbassador):
    def __init__(self) -> None:
        self.heard: list[dict[Any, bytes]] = []

    def reflect_attribute_values(self, *arguments: Any) -> None:
        self.heard.append(arguments[1])


def test_a_server_keeps_to_the_rate_and_sends_the_newest_value() -> None:
    """Long before the server's own tick of a second: the first at once, the last after a tenth of a second."""
    with serving() as server:
        ears = Values()
        sender, receiver = RTIambassador(), RTIambassador()
        for rti, ambassador in ((sender, FederateAmbassador()), (receiver, ears)):
            rti.connect(ambassador, CallbackModel.EVOKED, RtiConfiguration(rti_address=server.address("tcp")))
        sender.create_federation_execution("F", [fom(), MODULE])
        for rti in (sender, receiver):
            rti.join_federation_execution("test", "F")
        cls = sender.get_object_class_handle("Vehicle")
        position, name = (sender.get_attribute_handle(cls, a) for a in ("Position", "Name"))
        sender.publish_object_class_attributes(cls, {position, name})
        receiver.subscribe_object_class_attributes(cls, {position}, "Ten")
        receiver.subscribe_object_class_attributes(cls, {name})
        assert receiver.get_update_rate_value("Ten") == RATE
        thing = sender.register_object_instance(cls)
        started = monotonic()
        for number in range(100):
            sender.update_attribute_values(thing, {position: b"%d" % number, name: b"%d" % number}, b"")
        last = b"99"
        while monotonic() < started + WAIT and not any(v.get(position) == last for v in ears.heard):
            receiver.evoke_callback(0.1)
        took = monotonic() - started
        assert receiver.get_update_rate_value_for_attribute(thing, position) == RATE
        assert receiver.get_update_rate_value_for_attribute(thing, name) == 0.0
        for rti in (receiver, sender):
            rti.leave()
    positions = [values[position] for values in ears.heard if position in values]
    assert positions[0] == b"0"
    assert positions[-1] == last
    assert len(positions) <= took * RATE + 1
    assert [values[name] for values in ears.heard if name in values] == [b"%d" % n for n in range(100)]
