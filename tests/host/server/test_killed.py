"""A federate's process is killed in the middle of a call: it resigns by its directive once its time to reconnect is over,
the others are told, and another can take its name."""

from __future__ import annotations

from typing import Any

import pytest

from support.federate_process import Process
from support.server_in_thread import Listener, Talker, eventually, serving
from weft import ResignAction
from weft.model.errors import FederateNameAlreadyInUse
from weft.model.handles import ObjectInstanceHandle

LOST = "HLAmanager.HLAfederate.HLAreport.HLAreportFederateLost"


class Witness(Listener):
    def __init__(self) -> None:
        super().__init__()
        self.discovered: dict[ObjectInstanceHandle, str] = {}
        self.removed: list[str] = []
        self.offered: list[str] = []
        self.reports: list[list[str]] = []
        self.updates = 0

    def discover_object_instance(self, *arguments: Any) -> None:
        self.discovered[arguments[0]] = arguments[2]

    def reflect_attribute_values(self, *arguments: Any) -> None:
        self.updates += 1

    def remove_object_instance(self, *arguments: Any) -> None:
        self.removed.append(self.discovered[arguments[0]])

    def request_attribute_ownership_assumption(self, *arguments: Any) -> None:
        self.offered.append(self.discovered[arguments[0]])

    def receive_interaction(self, *arguments: Any) -> None:
        self.reports.append([text(value) for value in arguments[1].values()])


def text(value: bytes) -> str:
    """An HLAunicodeString, or nothing."""
    count = int.from_bytes(value[:4], "big")
    return value[4:].decode("utf-16-be") if len(value) == 4 + 2 * count else ""


class Observer(Talker):
    """Sees Tanks and would take them over, and hears of lost federates."""

    def __init__(self, address: str) -> None:
        self.witness = Witness()
        super().__init__(address, ears=self.witness)
        self.rti.unsubscribe_interaction_class(self.fire)
        kind = self.rti.get_object_class_handle("Vehicle.Tank")
        position = {self.rti.get_attribute_handle(kind, "Position")}
        self.rti.publish_object_class_attributes(kind, position)
        self.rti.subscribe_object_class_attributes(kind, position)
        self.rti.subscribe_interaction_class(self.rti.get_interaction_class_handle(LOST))

    def sees(self, condition: Any) -> bool:
        def look() -> bool:
            self.rti.evoke_multiple_callbacks(0.0, 0.1)
            return bool(condition(self.witness))

        return eventually(look)


@pytest.mark.parametrize(
    ("how", "directive"),
    [
        ("calling", "DELETE_OBJECTS"),
        ("pipelining", "UNCONDITIONALLY_DIVEST_ATTRIBUTES"),
        ("half a frame", "DELETE_OBJECTS"),
    ],
)
def test_killed_in_the_middle(how: str, directive: str) -> None:
    with serving(reconnect_seconds=0.5) as running:
        observer = Observer(running.address())
        with Process("tank", running.address(), "Rhino 1", directive, how) as process:
            process.says("ready")
            assert observer.sees(lambda w: list(w.discovered.values()) == ["Rhino"])
            if how != "half a frame":
                assert observer.sees(lambda w: w.updates > 20)
            newcomer = Talker(running.address())
            newcomer.rti.resign_federation_execution(ResignAction.NO_ACTION)
            process.kill()
            # Until its time is over it is still a member; then all hear of it.  Where that time passed unseen, its end was told.
            try:
                newcomer.rti.join_federation_execution("Rhino 1", "tank", "F")
            except FederateNameAlreadyInUse:
                pass
            else:
                assert any("'Rhino 1'" in line and "is gone" in line for line in running.reports)
                newcomer.rti.resign_federation_execution(ResignAction.NO_ACTION)
            assert observer.sees(lambda w: w.reports)
            assert any("Rhino 1" in report for report in observer.witness.reports)
            assert any("did not resume it within 0.5 s" in said for said in observer.witness.reports[0])
            if directive == "DELETE_OBJECTS":
                assert observer.sees(lambda w: w.removed == ["Rhino"])
                assert observer.witness.offered == []
            else:
                assert observer.sees(lambda w: w.offered == ["Rhino"])
                assert observer.witness.removed == []
            newcomer.rti.join_federation_execution("Rhino 1", "tank", "F")
            assert len(observer.witness.reports) == 1
            newcomer.leave()
        assert any("'Rhino 1'" in line and "is gone" in line for line in running.reports)
        observer.leave()
