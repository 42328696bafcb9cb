"""Handles in the MOM's values (11.2.3): in an array of bytes with its length in front, and as their own `encode` gives them.

A federate turns such a value into a handle with what its client has for handles, and puts into a parameter what the handle's
`encode` gives; so both forms are taken, by the RTI and by Weft's own client.
"""

from __future__ import annotations

from typing import Any

import pytest

from support.federation import federation
from support.foreign_client import Foreign
from support.mom_federation import FEDERATE, Mom, Raw
from support.server_in_thread import serving
from weft.cli.data import object_model
from weft.model.handles import FederateHandle, Handle, TransportationTypeHandle

TANK = "Vehicle.GroundVehicle.Tank"


def _typed(*handles: Handle) -> Raw:
    return Raw(b"".join([b"\0\0\0\4" + handle for handle in handles]))


def test_a_value_of_the_mom_decodes_to_the_federates_own_handle() -> None:
    with federation(2) as f:
        mom = Mom(f)
        mom.watch(FEDERATE, "HLAfederateHandle")
        attribute = f.attribute(FEDERATE, "HLAfederateHandle")
        for i in (0, 1):
            f.quiet()
            f.rti[0].request_attribute_value_update(mom.instance(i), frozenset([attribute]), b"")
            values = [v for _, (h, v, *_) in f.take(0, "reflect_attribute_values") if h == mom.instance(i)]
            assert FederateHandle.decode(values[-1][attribute]) == f.handle(i)
            assert FederateHandle.decode(f.handle(i).encode()) == f.handle(i)


@pytest.mark.parametrize("kind", Handle.__subclasses__())
def test_only_what_can_be_nothing_else_loses_its_length(kind: type[Handle]) -> None:
    """Another RTI's handles are whatever that RTI likes; they come back as they were."""
    for foreign in (
        b"\0\0\0\4\0\0\0\1",
        b"\0\0\0\4\xf0\0\0\1",
        b"\0\0\0\4",
        b"x",
        b"\0\0\0\4\0\0\0\1\0\0\0\1",
    ):
        assert kind.decode(foreign).encode() == foreign
    assert TransportationTypeHandle.decode(b"\0\0\0\4\0\0\0\1").encode() == b"\0\0\0\4\0\0\0\1"


@pytest.mark.parametrize("typed", [True, False])
def test_a_parameter_may_be_what_encode_gives(typed: bool) -> None:
    """Single handles, and handles in an array; the federate that is meant, and what is asked of it."""

    def one(handle: Handle) -> Raw:
        return _typed(handle) if typed else Raw(handle.encode())

    def several(*handles: Handle) -> Raw:
        count = len(handles).to_bytes(4, "big")
        return Raw(count + (_typed(*handles) if typed else b"".join([h.encode() for h in handles])))

    with federation(2) as f:
        mom = Mom(f)
        mom.hear("HLAreportMOMexception")
        tank, ammo, name = f.object_class(TANK), f.attribute(TANK, "Ammo"), f.attribute(TANK, "Name")
        mom.send(
            "HLAservice.HLApublishObjectClassAttributes",
            HLAfederate=one(f.handle(1)),
            HLAobjectClass=one(tank),
            HLAattributeList=several(ammo, name),
        )
        assert {ammo, name} <= set(f.state().members[f.handle(1)].declared.published[tank])
        made = f.register(1, TANK)
        f.subscribe(0, TANK, "Ammo")
        mom.send(
            "HLAservice.HLAlocalDeleteObjectInstance",
            HLAfederate=one(f.handle(0)),
            HLAobjectInstance=one(made),
        )
        assert mom.reports() == []


@pytest.mark.parametrize("way", ["handle", "encoded", "name"])
def test_a_transportation_may_be_named_as_in_2010(way: str) -> None:
    """1516.1-2010, 11.4: HLAtransportation is a name there; since 2025 it is a handle."""
    with federation(2) as f:
        mom = Mom(f)
        mom.hear("HLAreportMOMexception")
        best = f.rti[0].get_transportation_type_handle("HLAbestEffort")
        hit = f.interaction("Event.Hit")
        f.rti[1].publish_interaction_class(hit)
        text = "HLAbestEffort"
        forms: dict[str, Any] = {
            "handle": best,
            "encoded": Raw(best.encode()),
            "name": Raw(len(text).to_bytes(4, "big") + text.encode("utf-16-be")),
        }
        service = "HLAservice.HLArequestInteractionTransportationTypeChange"
        mom.send(service, 1, HLAinteractionClass=hit, HLAtransportation=forms[way])
        assert mom.reports() == []
        assert f.state().members[f.handle(1)].interaction_transportations == {hit: best}
        wrong = Raw(b"\0\0\0\4" + "none".encode("utf-16-be"))
        mom.send(service, 1, HLAinteractionClass=hit, HLAtransportation=wrong)
        [(_, told)] = mom.reports()
        assert told["HLAexception"].startswith("HLAtransportation is none of HLAreliable, HLAbestEffort")


def test_a_service_takes_a_handle_with_its_length() -> None:
    """A client written by others decodes the MOM's value as it is, and names the federate by it in a call."""
    with serving() as running:
        federate = Foreign(running.ports["tcp"], settings="")
        federate.call("create_federation_execution", "F", (object_model("range.xml"),), None, "")
        handle = federate.join("F", "it")
        assert federate.call("get_federate_name", FederateHandle(_typed(handle))) == "it"
