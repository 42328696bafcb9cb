"""Federation save and restore by the standard's ambassadors, at one node (clauses 4.19 to 4.35)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.federation import Federation, federation, refused
from support.mom_federation import Mom
from support.placement import Placement
from support.saves import LABEL, begin, begin_restore, instruct, restore, save
from support.small_fom import extra_module
from weft import CallbackModel, EmbeddedNode, ResignAction, RTIambassador, Source
from weft.model.enums import OrderType, RestoreFailureReason, RestoreStatus, SaveFailureReason, SaveStatus
from weft.model.errors import SaveInProgress, SaveNotInProgress

TANK = "Vehicle.GroundVehicle.Tank"


@pytest.fixture
def f(placement: Placement) -> Iterator[Federation]:
    with federation(3, placement=placement) as made:
        yield made


def test_a_save_from_request_to_end(f: Federation) -> None:
    """All are told, one after the other begins and completes, then all are told that it is saved."""
    f.rti[1].request_federation_save(LABEL)
    for i in range(3):
        assert f.take(i) == [("initiate_federate_save", (LABEL,))]
        f.rti[i].federate_save_begun()
        f.rti[i].federate_save_complete()
        assert f.take(0) == ([("federation_saved", ())] if i == 2 else [])
    assert f.take(1) == f.take(2) == [("federation_saved", ())]


def test_a_federate_that_fails_is_not_the_end_before_the_others_have_completed(f: Federation) -> None:
    instruct(f)
    begin(f)
    f.quiet()
    f.rti[0].federate_save_not_complete()
    f.rti[1].federate_save_complete()
    assert f.take(1) == []
    f.rti[2].federate_save_complete()
    reason = SaveFailureReason.FEDERATE_REPORTED_FAILURE_DURING_SAVE
    assert f.take(1) == f.take(0) == [("federation_not_saved", (reason,))]
    assert not f.node.saves.exists()


@pytest.mark.parametrize("crash", [False, True])
def test_a_federate_that_resigns_or_is_lost_fails_the_save(f: Federation, crash: bool) -> None:
    instruct(f)
    begin(f)
    f.quiet()
    f.rti[0].federate_save_complete()
    f.rti[2].federate_save_complete()
    if crash:
        f.rti[1]._lose_connection()
    else:
        f.resign(1)
    reason = SaveFailureReason.FEDERATE_RESIGNED_DURING_SAVE
    assert ("federation_not_saved", (reason,)) in f.take(0)
    f.rti[0].reserve_object_instance_name("free to go on")


def test_an_abort_ends_it_at_once(f: Federation) -> None:
    instruct(f)
    begin(f, 0)
    f.quiet()
    f.rti[1].abort_federation_save()
    for i in range(3):
        assert f.take(i) == [("federation_not_saved", (SaveFailureReason.SAVE_ABORTED,))]
    with refused(SaveNotInProgress):
        f.rti[1].abort_federation_save()


def test_who_cannot_write_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, placement: Placement
) -> None:
    """RTI_UNABLE_TO_SAVE, and the log names the file."""
    (tmp_path / "saves").write_text("in the way")
    node = EmbeddedNode(save_directory=tmp_path / "saves")
    with federation(1, node=node, placement=placement) as f, caplog.at_level(logging.WARNING, "weft"):
        instruct(f)
        begin(f)
        f.quiet()
        f.rti[0].federate_save_complete()
        assert f.take(0) == [("federation_not_saved", (SaveFailureReason.RTI_UNABLE_TO_SAVE,))]
        assert str(tmp_path / "saves") in caplog.text


def test_the_status_of_a_save(f: Federation) -> None:
    def status() -> list[SaveStatus]:
        f.rti[2].query_federation_save_status()
        ((_, (response,)),) = f.take(2, "federation_save_status_response")
        assert [handle for handle, _ in response] == f.handles
        return [one for _, one in response]

    none, told = SaveStatus.NO_SAVE_IN_PROGRESS, SaveStatus.FEDERATE_INSTRUCTED_TO_SAVE
    saving, done = SaveStatus.FEDERATE_SAVING, SaveStatus.FEDERATE_WAITING_FOR_FEDERATION_TO_SAVE
    assert status() == [none] * 3
    instruct(f)
    begin(f, 0, 1)
    f.rti[0].federate_save_complete()
    assert status() == [done, saving, told]
    f.rti[1].abort_federation_save()
    assert status() == [none] * 3


def test_messages_of_the_unaware_come_after_the_save(f: Federation) -> None:
    """Nothing is lost, nothing comes in between, nothing is refused before the federate can know."""
    for i in (0, 1):
        f.rti[i].publish_interaction_class(f.interaction("Event.Hit"))
        f.rti[i].subscribe_interaction_class(f.interaction("Event.Hit"))
    f.rti[0].request_federation_save(LABEL)
    assert f.heard(0) == ["initiate_federate_save"]
    f.send(1, "Event.Hit", tag=b"unaware")
    assert f.heard(0) == []
    assert f.heard(1) == ["initiate_federate_save"]
    with refused(SaveInProgress):
        f.send(1, "Event.Hit", tag=b"aware")
    f.rti[0].abort_federation_save()
    assert [m for m, _ in f.take(0)] == ["federation_not_saved", "receive_interaction"]


def test_all_of_the_state_comes_back(f: Federation) -> None:
    """Members, declarations, objects, owners, negotiations, points, names, switches, order and transportation."""
    f.publish(0, TANK, "Position", "Name")
    f.subscribe(1, "Vehicle", "Name")
    f.publish(1, "Vehicle", "Name")
    tank = f.register(0, TANK)
    name = f.attributes(TANK, "Name")
    f.rti[0].negotiated_attribute_ownership_divestiture(tank, name, b"take it")
    f.rti[0].register_federation_synchronization_point("go", b"", {f.handle(0), f.handle(1)})
    f.drain()
    f.rti[0].synchronization_point_achieved("go")
    f.rti[2].reserve_object_instance_name("Falcon")
    f.rti[0].publish_interaction_class(f.interaction("Event.Hit"))
    f.rti[0].change_interaction_order_type(f.interaction("Event.Hit"), OrderType.RECEIVE)
    f.rti[2].set_attribute_scope_advisory_switch(True)
    f.rti[2].set_automatic_resign_directive(ResignAction.DELETE_OBJECTS)
    f.quiet()
    save(f)
    # Everything goes another way …
    f.rti[1].attribute_ownership_acquisition(tank, name, b"")
    f.drain()
    f.rti[0].confirm_divestiture(tank, name, b"")
    f.rti[1].synchronization_point_achieved("go")
    f.rti[2].release_object_instance_name("Falcon")
    f.rti[2].set_attribute_scope_advisory_switch(False)
    f.rti[2].set_automatic_resign_directive(ResignAction.NO_ACTION)
    f.rti[0].delete_object_instance(tank, b"")
    f.rti[1].unsubscribe_object_class(f.object_class("Vehicle"))
    f.quiet()
    # … and back.
    restore(f)
    f.quiet()
    assert f.rti[1].get_known_object_class_handle(tank) == f.object_class("Vehicle")
    assert f.rti[0].is_attribute_owned_by_federate(tank, *name)
    f.update(0, tank, TANK, "Name", tag=b"again")
    assert [args[2] for _, args in f.take(1, "reflect_attribute_values")] == [b"again"]
    f.rti[1].attribute_ownership_acquisition(tank, name, b"mine")
    assert [m for m, _ in f.take(0)] == ["request_divestiture_confirmation"]
    f.rti[1].synchronization_point_achieved("go")
    assert "federation_synchronized" in f.heard(0)
    f.publish(2, TANK, "Name")
    f.register(2, TANK, "Falcon")
    assert f.rti[2].get_attribute_scope_advisory_switch() is True
    assert f.rti[2].get_automatic_resign_directive() is ResignAction.DELETE_OBJECTS


def test_the_mom_counts_on_after_a_restore(f: Federation) -> None:
    """11.4: which instances a federate has updated, and had reflected, is saved wherever that federate is."""
    f.subscribe(1, "Vehicle", "Name")
    f.publish(2, TANK, "Name")
    tank = f.register(2, TANK)
    f.update(2, tank, TANK, "Name")
    f.quiet()
    save(f)
    restore(f)
    mom = Mom(f)
    counted = {
        "HLAobjectClass": f.object_class(TANK),
        "HLAcount": 1,
    }  # the middleware hears of other instances, too
    for what, who in (("Updated", 2), ("Reflected", 1)):
        mom.hear(f"HLAreportObjectInstances{what}")
        (report,) = mom.ask(f"HLArequestObjectInstances{what}", who)
        assert counted in report["HLAobjectInstanceCounts"], what


def test_a_restore_from_request_to_end(f: Federation) -> None:
    save(f)
    f.quiet()
    f.rti[2].request_federation_restore(LABEL)
    began = [
        [
            ("federation_restore_begun", ()),
            ("initiate_federate_restore", (LABEL, f"federate {i}", f.handle(i))),
        ]
        for i in range(3)
    ]
    assert f.take(0) == began[0]
    assert f.take(2) == [("request_federation_restore_succeeded", (LABEL,)), *began[2]]
    for i in range(3):
        f.rti[i].federate_restore_complete()
    assert f.take(0) == f.take(2) == [("federation_restored", ())]


@pytest.mark.bare(reason="an instance of the middleware comes back that the new process does not know of")
def test_who_joined_anew_takes_the_place_of_one_of_its_type(f: Federation) -> None:
    """Its handle and name after the restore are those of the one before."""
    save(f)
    f.resign(1)
    now = f.rti[1].join_federation_execution("another", "test", "range")
    f.quiet()
    f.rti[0].request_federation_restore(LABEL)
    ((_, arguments),) = f.take(1, "initiate_federate_restore")
    assert arguments == (LABEL, "federate 1", f.handle(1))
    f.rti[1].query_federation_restore_status()
    ((_, (status,)),) = f.take(1, "federation_restore_status_response")
    restoring = RestoreStatus.FEDERATE_RESTORING
    assert sorted(status) == sorted(
        [
            (f.handle(0), f.handle(0), restoring),
            (f.handle(2), f.handle(2), restoring),
            (now, f.handle(1), restoring),
        ]
    )
    for rti in f.rti:
        rti.federate_restore_complete()
    assert f.rti[0].get_federate_name(f.handle(1)) == "federate 1"
    f.rti[1].resign_federation_execution(ResignAction.NO_ACTION)
    f.present.discard(1)


@pytest.mark.parametrize("how", ["unknown", "fewer", "other type"])
def test_a_request_that_cannot_be_met_fails(f: Federation, how: str) -> None:
    save(f)
    if how != "unknown":
        f.resign(2)
    if how == "other type":
        f.rti[2].join_federation_execution("another", "other", "range")
    f.quiet()
    f.rti[0].request_federation_restore("never" if how == "unknown" else LABEL)
    label = "never" if how == "unknown" else LABEL
    assert f.take(0) == [("request_federation_restore_failed", (label,))]
    assert f.take(1) == []
    f.rti[1].reserve_object_instance_name("goes on")


def test_a_restore_that_fails_leaves_everything_as_it_was(f: Federation) -> None:
    save(f)
    f.publish(0, TANK, "Name")
    tank = f.register(0, TANK)
    begin_restore(f)
    f.quiet()
    f.rti[0].federate_restore_complete()
    f.rti[1].federate_restore_not_complete()
    f.rti[2].federate_restore_complete()
    reason = RestoreFailureReason.FEDERATE_REPORTED_FAILURE_DURING_RESTORE
    assert f.take(2) == [("federation_not_restored", (reason,))]
    f.update(0, tank, TANK, "Name")


@pytest.mark.parametrize("end", ["abort", "resign", "crash"])
def test_a_restore_ends_early(f: Federation, end: str) -> None:
    save(f)
    begin_restore(f)
    f.quiet()
    if end == "abort":
        f.rti[1].abort_federation_restore()
    else:
        for i in (0, 2):
            f.rti[i].federate_restore_complete()
        if end == "resign":
            f.resign(1)
        else:
            f.rti[1]._lose_connection()
    reason = (
        RestoreFailureReason.RESTORE_ABORTED
        if end == "abort"
        else RestoreFailureReason.FEDERATE_RESIGNED_DURING_RESTORE
    )
    assert ("federation_not_restored", (reason,)) in f.take(0)
    f.rti[0].reserve_object_instance_name("goes on")


@pytest.mark.one_node
def test_handles_follow_the_object_model_of_the_save(placement: Placement) -> None:
    """Modules that federates brought one after the other have their handles again."""

    def ship(name: str) -> Source:
        text = f"<objectClass><name>HLAobjectRoot</name><objectClass><name>{name}</name></objectClass></objectClass>"
        return extra_module(f"<objects>{text}</objects>", name)

    with federation(2, joined=0, placement=placement) as f:
        for i, names in ((0, ["Barge", "Tug"]), (1, ["Ferry"])):
            modules = [ship(name) for name in names]
            f.handles[i] = f.rti[i].join_federation_execution(f"f{i}", "test", "range", modules)
            f.present.add(i)
        before = {name: f.object_class(name) for name in ("Barge", "Tug", "Ferry")}
        save(f)
        node = f.node
        for i in range(2):
            f.resign(i)
        f.rti[0].destroy_federation_execution("range")
        f.rti[0].create_federation_execution("range", [ship("Ferry")])
        for i in range(2):
            f.rti[i].join_federation_execution(f"f{i}", "test", "range")
            f.present.add(i)
        restore(f)
        assert {name: f.object_class(name) for name in before} == before
        assert node.saves.exists()


@pytest.mark.one_node
def test_immediate_callbacks_save_too(placement: Placement) -> None:
    """Answering within the callback, from the callback thread."""
    with federation(2, callbacks=CallbackModel.IMMEDIATE, placement=placement) as f:
        for rti, log in zip(f.rti, f.log, strict=True):

            def answer(label: str, rti: RTIambassador = rti) -> None:
                rti.federate_save_begun()
                rti.federate_save_complete()

            log.on["initiate_federate_save"] = answer
        f.rti[0].request_federation_save(LABEL)
        for log in f.log:
            log.wait_for("federation_saved")
