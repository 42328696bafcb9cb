"""Nothing outlives the federates and nodes that made it; compiled code must let the garbage collector see all of it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import pytest

from support.small_fom import fom
from weft import CallbackModel, FederateAmbassador, RTIambassador
from weft.host.simulated.simulated import SimulatedNetwork
from weft.model.errors import RTIexception
from weft.model.handles import InteractionClassHandle, ObjectInstanceHandle

NOWHERE = InteractionClassHandle.of(9999)
REFUSED: dict[str, Callable[[RTIambassador], object]] = {
    "a question": lambda rti: rti.get_interaction_class_name(NOWHERE),
    "a message": lambda rti: rti.send_interaction(NOWHERE, {}, b""),
    "a command": lambda rti: rti.publish_interaction_class(NOWHERE),
    "a command of the interpreted kind": lambda rti: rti.delete_object_instance(
        ObjectInstanceHandle.of(9999), b""
    ),
    "a save": lambda rti: rti.federate_save_begun(),
}


def _refused(node: str, call: Callable[[RTIambassador], object]) -> weakref.ref[SimulatedNetwork]:
    network = SimulatedNetwork(["S1", "S2"])
    home, other = RTIambassador(network.at("S1")), RTIambassador(network.at(node))
    for number, rti in enumerate((home, other)):
        rti.connect(FederateAmbassador(), CallbackModel.EVOKED)
        if number == 0:
            rti.create_federation_execution("F", [fom()])
        rti.join_federation_execution(f"federate {number}", "kind", "F")
    with pytest.raises(RTIexception):
        call(other)
    return weakref.ref(network)


@pytest.mark.parametrize("call", REFUSED.values(), ids=list(REFUSED))
@pytest.mark.parametrize("node", ["S1", "S2"], ids=["at the home", "elsewhere"])
def test_a_refused_call_keeps_nothing(node: str, call: Callable[[RTIambassador], object]) -> None:
    """An exception knows the frames it came through; kept in an answer, it had kept the whole federation."""
    gone = _refused(node, call)
    gc.collect()
    assert gone() is None
