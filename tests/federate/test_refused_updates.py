"""6.10: an update of what is not defined and of what somebody else owns is refused alike in every order of its values.

A federate's client chooses that order: a map has it by handle in C++ and by hash in Java.
"""

from __future__ import annotations

from contextlib import ExitStack
from itertools import permutations

import pytest

from support.server_in_thread import serving
from weft import CallbackModel, EmbeddedNode, FederateAmbassador, RTIambassador
from weft.cli.data import object_model
from weft.model.errors import AttributeNotDefined, AttributeNotOwned
from weft.model.handles import AttributeHandle
from weft.model.records import RtiConfiguration

TANK = "Vehicle.Tank"


@pytest.mark.parametrize("world", ["embedded", "server"])
def test_an_update_is_refused_alike_in_every_order_of_its_values(world: str) -> None:
    with ExitStack() as stack:
        if world == "server":
            where = RtiConfiguration("", stack.enter_context(serving()).address())
            owner, other = RTIambassador(), RTIambassador()
        else:
            where = RtiConfiguration()
            node = EmbeddedNode()
            owner, other = RTIambassador(node), RTIambassador(node)
        for rti in (owner, other):
            rti.connect(FederateAmbassador(), CallbackModel.EVOKED, where)
            stack.callback(rti.leave)
        owner.create_federation_execution("F", object_model("range.xml"))
        for rti in (owner, other):
            rti.join_federation_execution("it", "F")
        tank = owner.get_object_class_handle(TANK)
        place, state = (owner.get_attribute_handle(tank, one) for one in ("Position", "State"))
        for rti, attributes in ((owner, {place}), (other, {place, state})):
            rti.publish_object_class_attributes(tank, frozenset(attributes))
            rti.subscribe_object_class_attributes(tank, frozenset([place, state]))
        instance = other.register_object_instance(tank)
        while owner.evoke_callback(0.5):
            pass
        nothing = AttributeHandle.of(0xFFFF00)
        for sent, refusal in (
            ([place, state], AttributeNotOwned),
            ([place, state, nothing], AttributeNotDefined),
        ):
            for order in permutations(sent):
                with pytest.raises(refusal):
                    owner.update_attribute_values(instance, dict.fromkeys(order, b""), b"")
