"""The middleware above a server that speaks only the standard's wire (S0-9), in all its variants."""

from __future__ import annotations

from typing import Any

import pytest

from federate.causal.test_causal_ambassador import LEAVE, VARIANTS
from support.federation import NAME
from support.plain_server import plain_server
from support.recording_ambassador import Recorder
from support.server_in_thread import eventually
from support.small_fom import fom
from weft import CallbackModel, CausalRTIambassador, OrderType, RTIambassador, RtiConfiguration
from weft.model.errors import RTIexception

COUNT = 20


@pytest.mark.parametrize("variant", VARIANTS)
def test_chains_of_answers_come_in_order(variant: str) -> None:
    """The first calls; the second answers by an update, and the third by an interaction: the last sees each after its cause."""
    with plain_server() as plain:
        logs = [Recorder() for _ in range(4)]
        rtis = [CausalRTIambassador(**VARIANTS[variant]) for _ in logs]
        for number, (rti, log) in enumerate(zip(rtis, logs, strict=True)):
            rti.connect(log, CallbackModel.EVOKED, plain.address)
            if number == 0:
                rti.create_federation_execution(NAME, [fom()])
            rti.join_federation_execution(f"federate {number}", "test", NAME)
        event = rtis[0].get_interaction_class_handle("Event")
        building = rtis[0].get_object_class_handle("Building")
        height = rtis[0].get_attribute_handle(building, "Height")
        for rti in rtis:
            rti.publish_interaction_class(event)
            rti.subscribe_interaction_class(event)
            rti.subscribe_object_class_attributes(building, {height})
        rtis[1].publish_object_class_attributes(building, {height})
        instance = rtis[1].register_object_instance(building)

        def second(*arguments: Any) -> None:
            if arguments[2].startswith(b"call"):
                rtis[1].update_attribute_values(instance, {height: b"x"}, b"value " + arguments[2])

        def third(*arguments: Any) -> None:
            rtis[2].send_interaction(event, {}, b"answer " + arguments[2])

        logs[1].on["receive_interaction"] = second
        logs[2].on["reflect_attribute_values"] = third

        def all_heard() -> bool:
            for rti in rtis:
                while rti.evoke_callback(0.0):
                    pass
            return len(heard(logs[3])) >= 3 * COUNT

        for one in range(COUNT):
            rtis[0].send_interaction(event, {}, b"call %d" % one)
        assert eventually(all_heard)
        tags = heard(logs[3])
        for one in range(COUNT):
            call, value = b"call %d" % one, b"value call %d" % one
            assert tags.index(call) < tags.index(value) < tags.index(b"answer " + value)
        assert all(rti.counts.held == 0 for rti in rtis)
        for rti in rtis:
            rti.resign_federation_execution(LEAVE)
            rti.disconnect()
        assert not plain.faults
        assert plain.calls > 100


def heard(log: Recorder) -> list[bytes]:
    methods = ("receive_interaction", "reflect_attribute_values")
    return [arguments[2] for method, arguments in log.calls if method in methods]


def test_the_plain_server_is_plain() -> None:
    """It refuses what is Weft's own: the double does what it is there for."""
    with plain_server() as plain:
        rti = RTIambassador()
        where = RtiConfiguration(rti_address=plain.address, additional_settings="FED_TIMEOUT_RECONNECT=0.2")
        rti.connect(Recorder(), CallbackModel.EVOKED, where)
        rti.create_federation_execution(NAME, [fom()])
        rti.join_federation_execution("one", "test", NAME)
        event = rti.get_interaction_class_handle("Event")
        rti.publish_interaction_class(event)
        with pytest.raises(RTIexception):
            rti.send_interaction(event, {}, b"", order=OrderType.CAUSAL)
        assert eventually(lambda: plain.faults)
        # Its connection is taken from it whenever it says that again: it gives up when its time is over.
        assert plain.connections < 10
