"""Save and restore over the Federate Protocol, with the server stopped and started again in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.recording_ambassador import Recorder
from support.server_in_thread import WAIT, serving
from support.small_fom import fom
from weft import CallbackModel, ResignAction, RTIambassador
from weft.host.files.saves import SaveDirectory
from weft.host.settings import ServeSettings
from weft.model.enums import SaveStatus
from weft.model.errors import RestoreInProgress, SaveInProgress

NAME = "range"
TANK = "Vehicle.GroundVehicle.Tank"


class Remote:
    """A federate at a server, and what it heard."""

    def __init__(self, address: str, kind: str, create: bool = False) -> None:
        self.log = Recorder()
        self.rti = RTIambassador()
        self.rti.connect(self.log, CallbackModel.EVOKED, address)
        if create:
            self.rti.create_federation_execution(NAME, [fom()])
        self.handle = self.rti.join_federation_execution(kind, NAME)

    def until(self, method: str) -> list[tuple[Any, ...]]:
        """Evoke until this is heard; what was heard up to then."""
        heard: list[tuple[Any, ...]] = []
        deadline = self.rti.connection.now() + WAIT
        while not any(call[0] == method for call in heard):
            assert self.rti.connection.now() < deadline, f"{method} is not heard, only {heard}"
            self.rti.evoke_callback(0.2)
            heard += self.log.take()
        return heard

    def leave(self) -> None:
        self.rti.resign_federation_execution(ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
        self.rti.disconnect()


def declare(one: Remote, other: Remote) -> Any:
    tank = one.rti.get_object_class_handle(TANK)
    name = one.rti.get_attribute_handle(tank, "Name")
    one.rti.publish_object_class_attributes(tank, {name})
    other.rti.subscribe_object_class_attributes(tank, {name})
    one.rti.reserve_object_instance_name("Rhino")
    one.until("object_instance_name_reservation_succeeded")
    thing = one.rti.register_object_instance(tank, "Rhino")
    other.until("discover_object_instance")
    return thing, name


def save(made: list[Remote], label: str) -> None:
    made[0].rti.request_federation_save(label)
    for one in made:
        one.until("initiate_federate_save")
        with pytest.raises(SaveInProgress):
            one.rti.reserve_object_instance_name("meanwhile")
        one.rti.federate_save_begun()
    made[0].rti.query_federation_save_status()
    ((_, (status,)),) = made[0].until("federation_save_status_response")
    assert dict(status) == {one.handle: SaveStatus.FEDERATE_SAVING for one in made}
    for one in made:
        one.rti.federate_save_complete()
    for one in made:
        one.until("federation_saved")


def test_a_federation_goes_on_after_the_server_was_stopped(tmp_path: Path) -> None:
    """Saved, server stopped and started, created and joined anew, restored: objects, owners and handles are those of the save."""
    settings = ServeSettings(save_directory=str(tmp_path / "saves"))
    with serving(serve=settings) as server:
        owner = Remote(server.address(), "owner", create=True)
        watcher = Remote(server.address(), "watcher")
        thing, name = declare(owner, watcher)
        save([owner, watcher], "noon/../../x")
        owner.rti.update_attribute_values(thing, {name: b"on"}, b"goes on")
        watcher.until("reflect_attribute_values")
        handles = (owner.handle, watcher.handle)
        for one in (owner, watcher):
            one.leave()
    assert [path.parent.parent for path in tmp_path.rglob("*.weftsave")] == [tmp_path / "saves"]
    with serving(serve=settings) as server:
        watcher = Remote(server.address(), "watcher", create=True)  # in another order than before
        owner = Remote(server.address(), "owner")
        watcher.rti.request_federation_restore("noon/../../x")
        assert ("request_federation_restore_succeeded", ("noon/../../x",)) in watcher.until(
            "request_federation_restore_succeeded"
        )
        told = [one.until("initiate_federate_restore")[-1][1] for one in (owner, watcher)]
        assert tuple(arguments[2] for arguments in told) == handles
        with pytest.raises(RestoreInProgress):
            owner.rti.update_attribute_values(thing, {name: b"no"}, b"")
        for one in (owner, watcher):
            one.rti.federate_restore_complete()
        for one in (owner, watcher):
            one.until("federation_restored")
        assert watcher.rti.get_object_instance_handle("Rhino") == thing
        owner.rti.update_attribute_values(thing, {name: b"again"}, b"as if nothing had been")
        ((_, arguments),) = watcher.until("reflect_attribute_values")
        assert arguments[1] == {name: b"again"}
        assert arguments[4] == handles[0]
        for one in (owner, watcher):
            one.leave()


def test_a_torn_file_fails_the_request_and_the_log_names_it(tmp_path: Path) -> None:
    """The federation answers that it cannot, and goes on; whoever runs the server reads why."""
    settings = ServeSettings(run_directory=str(tmp_path))
    with serving(serve=settings) as server:
        one = Remote(server.address(), "one", create=True)
        save([one], "noon")
        path = SaveDirectory(tmp_path / "saves").path(NAME, "noon")
        path.write_bytes(path.read_bytes()[:-7])
        for label in ("noon", "never"):
            one.rti.request_federation_restore(label)
            assert one.until("request_federation_restore_failed")[-1][1] == (label,)
        assert any(str(path) in report and "torn" in report for report in server.reports)
        assert any("there is no save 'never'" in report for report in server.reports)
        one.rti.reserve_object_instance_name("goes on")
        one.until("object_instance_name_reservation_succeeded")
        one.leave()


def test_federates_of_other_types_do_not_fit(tmp_path: Path) -> None:
    """Clause 4.27: as many of each type as at the save; else the request fails, and the log says what is missing."""
    settings = ServeSettings(run_directory=str(tmp_path))
    with serving(serve=settings) as server:
        one = Remote(server.address(), "one", create=True)
        save([one], "noon")
        other = Remote(server.address(), "other")
        one.rti.request_federation_restore("noon")
        one.until("request_federation_restore_failed")
        assert any("these are not in the save: ['other']" in report for report in server.reports)
        for each in (one, other):
            each.leave()


def test_what_is_sent_before_a_federate_has_taken_the_callback_is_not_refused(tmp_path: Path) -> None:
    """The callback waits at the client: until the federate has taken it, its calls belong to the time before."""
    with serving(serve=ServeSettings(run_directory=str(tmp_path))) as server:
        first = Remote(server.address(), "first", create=True)
        late = Remote(server.address(), "late")
        first.rti.request_federation_save("noon")
        first.until("initiate_federate_save")
        late.rti.get_federate_name(late.handle)  # a round trip: the callback is at the client by now
        late.rti.reserve_object_instance_name("unaware")
        late.until("initiate_federate_save")
        with pytest.raises(SaveInProgress):
            late.rti.reserve_object_instance_name("aware")
        first.rti.abort_federation_save()
        assert late.until("object_instance_name_reservation_succeeded")[0][0] == "federation_not_saved"
        late.rti.reserve_object_instance_name("aware")
        for one in (first, late):
            one.leave()
