"""6.11, 6.15: nothing comes of an instance after its removal, though it was sent before the deletion, with a later time."""

from __future__ import annotations

import pytest

from support.federation import federation
from weft import OrderType
from weft.model.time import HLAinteger64Interval, HLAinteger64Time
from weft.prove import proving_model

CRAFT, HAIL = "Craft", "Hail"


@pytest.mark.parametrize("way", ["update", "directed"])
def test_what_was_sent_with_a_later_time_than_the_deletion_does_not_come(way: str) -> None:
    with federation(2, model=proving_model(), time="HLAinteger64Time") as f:
        hearer, sender = f.rti
        hail = sender.get_interaction_class_handle(HAIL)
        craft = sender.get_object_class_handle(CRAFT)
        due = sender.get_attribute_handle(craft, "Due")
        f.subscribe(0, CRAFT, "Due")
        hearer.subscribe_object_class_directed_interactions_universally(craft, frozenset([hail]))
        f.publish(1, CRAFT, "Due")
        sender.publish_object_class_directed_interactions(craft, frozenset([hail]))
        sender.publish_interaction_class(hail)
        sender.change_interaction_order_type(hail, OrderType.TIMESTAMP)
        instance = f.register(1, CRAFT)
        sender.enable_time_regulation(HLAinteger64Interval(1))
        hearer.enable_time_constrained()
        f.quiet()
        hearer.time_advance_request(HLAinteger64Time(5))
        for time in (2, 5):
            if way == "update":
                sender.update_attribute_values(instance, {due: b"x"}, b"", HLAinteger64Time(time))
            else:
                sender.send_directed_interaction(hail, instance, {}, b"", HLAinteger64Time(time))
        sender.delete_object_instance(instance, b"", HLAinteger64Time(3))
        sender.time_advance_request(HLAinteger64Time(5))
        comes = "reflect_attribute_values" if way == "update" else "receive_directed_interaction"
        assert f.heard(0) == [comes, "remove_object_instance", "time_advance_grant"]
