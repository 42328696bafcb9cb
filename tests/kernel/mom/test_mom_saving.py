"""The MOM about saves and restores: states, names and times, and services on behalf (clause 11)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.federation import Federation, federation
from support.mom_federation import FEDERATE, FEDERATION, THE_FEDERATION, Mom
from support.saves import LABEL, begin_restore, save
from weft.kernel.mom.mom_objects import _FEDERATION, state_of
from weft.kernel.state.federation import Federation as State
from weft.model.time import HLAfloat64Interval, HLAfloat64Time


@pytest.fixture
def f() -> Iterator[Federation]:
    with federation(2) as made:
        yield made


def kernel(f: Federation) -> State:
    return f.node._node.federations["range"]


def states(f: Federation) -> list[str]:
    found = kernel(f)
    return [state_of(found, member) for member in found.members.values()]


def test_the_states_of_federates(f: Federation) -> None:
    """HLAfederateState, as it is at each moment."""
    assert states(f) == ["ActiveFederate"] * 2
    f.rti[0].request_federation_save(LABEL)
    assert states(f) == ["FederateSaveInProgress"] * 2
    f.rti[0].abort_federation_save()
    save(f)
    assert states(f) == ["ActiveFederate"] * 2
    begin_restore(f)
    assert states(f) == ["FederateRestoreInProgress"] * 2
    f.rti[0].abort_federation_restore()
    assert states(f) == ["ActiveFederate"] * 2


def test_the_last_and_the_next_save(f: Federation) -> None:
    """HLAnextSaveName and HLAnextSaveTime until it is over, then HLAlastSaveName and -Time; not of one that failed."""

    def names() -> list[Any]:
        return [
            _FEDERATION[f"HLA{which}Save{what}"](kernel(f))
            for which in ("last", "next")
            for what in ("Name", "Time")
        ]

    time = HLAfloat64Time(5.0)
    assert names() == ["", b"", "", b""]
    f.rti[0].request_federation_save("failing")
    assert names() == ["", b"", "failing", b""]
    f.rti[0].abort_federation_save()
    assert names() == ["", b"", "", b""]
    f.rti[0].enable_time_regulation(HLAfloat64Interval(1.0))
    f.rti[1].enable_time_constrained()
    f.rti[0].request_federation_save(LABEL, time)
    assert names() == ["", b"", LABEL, time.encode()]
    f.rti[1].disable_time_constrained()
    assert names() == ["", b"", LABEL, time.encode()]
    for rti in f.rti:
        rti.federate_save_begun()
    for rti in f.rti:
        rti.federate_save_complete()
    assert names() == [LABEL, time.encode(), "", b""]
    save(f, "later")
    begin_restore(f, LABEL)
    for rti in f.rti:
        rti.federate_restore_complete()
    assert names() == [LABEL, time.encode(), "", b""]


def test_who_subscribes_is_told(f: Federation) -> None:
    """The updates come when the save is over, in order; the last one is what holds."""
    mom = Mom(f)
    mom.watch(FEDERATE, "HLAfederateState")
    mom.watch(FEDERATION, "HLAlastSaveName")
    f.quiet()
    save(f)
    updates = f.log[0].of("reflect_attribute_values")
    told: dict[Any, list[Any]] = {}
    for handle, values, *_ in updates:
        told.setdefault(handle, []).append(list(values.values())[-1])
    assert len(told[mom.instance(1)]) == 2
    assert told[THE_FEDERATION][-1] == mom.model.encode("HLAunicodeString", LABEL)


def test_services_on_behalf(f: Federation) -> None:
    """HLAfederateSaveBegun and HLAfederateSaveComplete in the name of a federate that does not answer."""
    mom = Mom(f)
    mom.send(
        "HLArequest.HLArequestPublications", 1
    )  # publishes nothing yet: so that nothing below is the first
    for name in ("HLAfederateSaveBegun", "HLAfederateSaveComplete"):
        mom.rti.publish_interaction_class(f.interaction(f"HLAmanager.HLAfederate.HLAservice.{name}"))
        mom._published.add(f"HLAinteractionRoot.HLAmanager.HLAfederate.HLAservice.{name}")
    f.quiet()
    f.rti[1].request_federation_save(LABEL)
    mom.send("HLAservice.HLAfederateSaveBegun", 1)
    mom.send("HLAservice.HLAfederateSaveComplete", 1, HLAsuccessIndicator=True)
    f.rti[0].federate_save_begun()
    f.rti[0].federate_save_complete()
    assert ("federation_saved", ()) in f.take(1)
