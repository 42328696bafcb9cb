"""What clients written by others rely on, beyond the protocol; each was found by running them against a server."""

from __future__ import annotations

import itertools

from weft import CallbackModel, FederateAmbassador, ResignAction, RTIambassador
from weft.cli.data import object_model
from weft.model import handles


def test_the_standard_transportations_have_the_handles_that_java_has_built_in() -> None:
    """The Java client drops every callback whose transportation is not one of these two byte strings."""
    rti = RTIambassador()
    rti.connect(FederateAmbassador(), CallbackModel.EVOKED)
    rti.create_federation_execution("Foreign", [object_model("range.xml")])
    rti.join_federation_execution("f", "Foreign")
    assert rti.get_transportation_type_handle("HLAreliable").encode() == bytes.fromhex("00000001")
    assert rti.get_transportation_type_handle("HLAbestEffort").encode() == bytes.fromhex("00000002")
    rti.resign_federation_execution(ResignAction.NO_ACTION)
    rti.destroy_federation_execution("Foreign")
    rti.disconnect()


def test_handles_of_different_kinds_are_never_equal() -> None:
    kinds: list[type[handles.Handle]] = handles.Handle.__subclasses__()
    assert len(kinds) == 10
    for one, other in itertools.combinations(kinds, 2):
        assert one.of(1) != other.of(1)
