"""Federation management (clauses 4.2 to 4.18): connecting, federations, joining and resigning, synchronization points."""

from __future__ import annotations

import pytest

from support.federation import NAME, Federation, federation, refused
from support.placement import Placement
from support.recording_ambassador import Recorder
from support.refusals import TANK, tank
from support.small_fom import extra_module, fom
from weft import CallbackModel, Credentials, EmbeddedNode, ResignAction, RTIambassador, RtiConfiguration
from weft.model.enums import SynchronizationPointFailureReason
from weft.model.errors import (
    FederateNotExecutionMember,
    FederateOwnsAttributes,
    FederationExecutionDoesNotExist,
    NameNotFound,
    NotConnected,
    ObjectInstanceNotKnown,
    SynchronizationPointLabelNotAnnounced,
)
from weft.model.handles import FederateHandle
from weft.model.records import FederationExecutionInformation, FederationExecutionMemberInformation


@pytest.mark.parametrize(
    "further",
    [
        (),
        (RtiConfiguration("name", "", "settings"),),
        (Credentials(),),
        (RtiConfiguration(), Credentials()),
    ],
)
def test_connect_in_all_its_forms(further: tuple[object, ...]) -> None:
    """Clause 4.2: with or without configuration and credentials; disconnecting twice does no harm (clause 4.3)."""
    rti = RTIambassador(EmbeddedNode())
    result = rti.connect(Recorder(), CallbackModel.EVOKED, *further)  # type: ignore[arg-type]
    assert result.message
    rti.disconnect()
    rti.disconnect()
    with refused(NotConnected):
        rti.list_federation_executions()


def test_federations_are_listed_until_destroyed(placement: Placement) -> None:
    """Clauses 4.5 to 4.10: a federation is there from creation to destruction, with its members."""
    with federation(2, joined=1, placement=placement) as f:
        f.rti[1].create_federation_execution("counting", [fom()], "HLAinteger64Time")
        f.rti[1].list_federation_executions()
        f.rti[1].list_federation_execution_members(NAME)
        f.rti[1].list_federation_execution_members("counting")
        f.rti[1].destroy_federation_execution("counting")
        f.rti[1].list_federation_execution_members("counting")
        assert f.take(1) == [
            (
                "report_federation_executions",
                (
                    {
                        FederationExecutionInformation(NAME, "HLAfloat64Time"),
                        FederationExecutionInformation("counting", "HLAinteger64Time"),
                    },
                ),
            ),
            (
                "report_federation_execution_members",
                (NAME, {FederationExecutionMemberInformation("federate 0", "test")}),
            ),
            ("report_federation_execution_members", ("counting", frozenset())),
            ("report_federation_execution_does_not_exist", ("counting",)),
        ]


def test_a_federation_belongs_to_its_node(placement: Placement) -> None:
    """Two nodes in one process do not know each other's federations."""
    with federation(1, placement=placement):
        other = RTIambassador(EmbeddedNode())
        other.connect(Recorder(), CallbackModel.EVOKED)
        with refused(FederationExecutionDoesNotExist):
            other.join_federation_execution("test", NAME)


def test_joining_without_a_name_gets_a_name_of_its_own(placement: Placement) -> None:
    """Clause 4.11: the RTI chooses a name that no other federate has."""
    with federation(3, joined=1, placement=placement) as f:
        handles = [f.rti[i].join_federation_execution("watcher", NAME) for i in (1, 2)]
        names = {f.rti[0].get_federate_name(handle) for handle in handles}
        assert len(names) == 2
        assert {f.rti[0].get_federate_handle(name) for name in names} == set(handles)


def test_a_joining_federate_may_bring_modules(placement: Placement) -> None:
    """Clause 4.11: what it adds is there for all, and handles given before stay as they are."""
    more = extra_module(
        "<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Vehicle</name><objectClass><name>Boat</name>"
        "<sharing>PublishSubscribe</sharing></objectClass></objectClass></objectClass></objects>"
    )
    with federation(2, joined=1, placement=placement) as f:
        vehicle, position = f.object_class("Vehicle"), f.attribute("Vehicle", "Position")
        with refused(NameNotFound):
            f.object_class("Vehicle.Boat")
        f.rti[1].join_federation_execution("late", "test", NAME, [more])
        assert f.object_class("Vehicle") == vehicle
        assert f.attribute("Vehicle.Boat", "Position") == position


# --- resigning ----------------------------------------------------------------------------------------------------

REFUSES, REMOVES, LEAVES = "refuses", "removes", "leaves"


@pytest.mark.parametrize(
    ("action", "whole", "part"),
    [
        (ResignAction.NO_ACTION, REFUSES, REFUSES),
        (ResignAction.CANCEL_PENDING_OWNERSHIP_ACQUISITIONS, REFUSES, REFUSES),
        (ResignAction.DELETE_OBJECTS, REMOVES, REFUSES),
        (ResignAction.UNCONDITIONALLY_DIVEST_ATTRIBUTES, LEAVES, LEAVES),
        (ResignAction.DELETE_OBJECTS_THEN_DIVEST, REMOVES, LEAVES),
        (ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST, REMOVES, LEAVES),
    ],
)
def test_resign_actions(action: ResignAction, whole: str, part: str, placement: Placement) -> None:
    """Clause 4.12: what becomes of an object of which one holds the privilege to delete (`whole`) or not (`part`)."""
    for expected, with_privilege in ((whole, True), (part, False)):
        with federation(2, placement=placement) as f:
            instance = tank(f)
            if not with_privilege:
                privilege = f.attributes(TANK, "HLAprivilegeToDeleteObject")
                f.rti[0].unpublish_object_class_attributes(f.object_class(TANK), privilege)
            f.quiet()
            if expected == REFUSES:
                with refused(FederateOwnsAttributes):
                    f.resign(0, action)
                assert f.rti[0].get_object_instance_name(instance)
                continue
            f.resign(0, action)
            removals = f.take(1, "remove_object_instance")
            if expected == REMOVES:
                assert removals == [("remove_object_instance", (instance, b"", f.handle(0)))]
                with refused(ObjectInstanceNotKnown):
                    f.rti[1].get_object_instance_name(instance)
            else:
                assert removals == []
                assert f.rti[1].get_object_instance_name(instance)


def test_who_owns_nothing_resigns_with_any_action(placement: Placement) -> None:
    """Clause 4.12: and can join again, as another federate."""
    with federation(1, placement=placement) as f:
        for action in ResignAction:
            before = f.handle(0)
            f.resign(0, action)
            with refused(FederateNotExecutionMember):
                f.rti[0].get_federate_name(before)
            assert f.join(0) != before


def test_resigning_frees_names_and_declarations(placement: Placement) -> None:
    """Clause 4.12: reserved names are free again, and the federate's subscriptions are gone."""
    with federation(2, placement=placement) as f:
        f.rti[0].reserve_object_instance_name("Leopard")
        f.subscribe(0, "Vehicle", "Name")
        f.rti[0].subscribe_interaction_class(f.interaction("Event"))
        f.resign(0)
        f.rti[1].reserve_object_instance_name("Leopard")
        assert f.heard(1) == ["object_instance_name_reservation_succeeded"]
        f.join(0)
        f.publish(1, TANK, "Name")
        f.register(1, TANK, "Leopard")
        f.rti[1].publish_interaction_class(f.interaction("Event"))
        f.send(1, "Event", "When")
        assert f.heard(0)[1:] == []


@pytest.mark.parametrize(
    ("directive", "removed"),
    [
        (ResignAction.NO_ACTION, False),
        (ResignAction.UNCONDITIONALLY_DIVEST_ATTRIBUTES, False),
        (ResignAction.DELETE_OBJECTS, True),
        (ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST, True),
    ],
)
def test_a_lost_federate_resigns_by_its_directive(
    directive: ResignAction, removed: bool, placement: Placement
) -> None:
    """Clauses 4.4 and 10.45: the automatic resign directive decides; the name is free and the point is reached without it."""
    with federation(2, placement=placement) as f:
        instance = tank(f)
        f.rti[0].set_automatic_resign_directive(directive)
        f.rti[1].register_federation_synchronization_point("go", b"")
        f.rti[1].synchronization_point_achieved("go")
        f.quiet()
        f.rti[0]._lose_connection()
        assert f.take(1) == [
            *([("remove_object_instance", (instance, b"", f.handle(0)))] if removed else []),
            ("federation_synchronized", ("go", frozenset())),
        ]
        with refused(NameNotFound):
            f.rti[1].get_federate_handle("federate 0")
        with refused(NotConnected):
            f.rti[0].list_federation_executions()


def test_the_object_model_gives_the_directive(placement: Placement) -> None:
    """Clause 10.44: the switch automaticResignAction of the object model is each federate's first directive."""
    with federation(1, model=fom(resign="DeleteObjects"), placement=placement) as f:
        assert f.rti[0].get_automatic_resign_directive() is ResignAction.DELETE_OBJECTS


# --- synchronization points ---------------------------------------------------------------------------------------


def achieve(f: Federation, *who: int, label: str = "go", successfully: bool | None = None) -> None:
    for i in who:
        f.rti[i].synchronization_point_achieved(label, successfully)


def test_a_point_for_all_ends_when_all_achieved_it(placement: Placement) -> None:
    """Clauses 4.14 to 4.18: confirmed to who registered it, announced to all, and nobody goes on before the last."""
    with federation(3, placement=placement) as f:
        f.rti[1].register_federation_synchronization_point("go", b"tag")
        announced = ("announce_synchronization_point", ("go", b"tag"))
        assert f.take(0) == [announced]
        assert f.take(1) == [("synchronization_point_registration_succeeded", ("go",)), announced]
        achieve(f, 0, 1)
        assert f.take(0) == []
        achieve(f, 2)
        assert [f.heard(i)[-1] for i in range(3)] == ["federation_synchronized"] * 3
        f.rti[0].register_federation_synchronization_point("go", b"")
        assert f.heard(0)[0] == "synchronization_point_registration_succeeded"


def test_who_fails_is_named(placement: Placement) -> None:
    """Clause 4.18: the set of those that achieved the point without success."""
    with federation(3, placement=placement) as f:
        f.rti[0].register_federation_synchronization_point("go", b"")
        achieve(f, 0, successfully=True)
        achieve(f, 1, successfully=False)
        achieve(f, 2)
        assert f.take(2)[-1] == ("federation_synchronized", ("go", {f.handle(1)}))


def test_a_point_for_some(placement: Placement) -> None:
    """Clause 4.14: only the set hears of it; the others cannot achieve it, nor do later joiners take part."""
    with federation(4, joined=3, placement=placement) as f:
        f.rti[0].register_federation_synchronization_point("go", b"", {f.handle(1), f.handle(2)})
        f.join(3)
        assert f.heard(0) == ["synchronization_point_registration_succeeded"]
        assert f.heard(3) == []
        for outsider in (0, 3):
            with refused(SynchronizationPointLabelNotAnnounced):
                achieve(f, outsider)
        achieve(f, 1, 2)
        with refused(SynchronizationPointLabelNotAnnounced):
            achieve(f, 1)
        assert [f.heard(i) for i in range(4)] == [
            [],
            ["announce_synchronization_point", "federation_synchronized"],
            ["announce_synchronization_point", "federation_synchronized"],
            [],
        ]


def test_late_joiners_take_part_in_a_point_for_all(placement: Placement) -> None:
    """Clause 4.14: without a set, or with an empty one, who joins while the point is pending is waited for too."""
    none: set[FederateHandle] = set()
    for chosen in (None, none):
        with federation(2, joined=1, placement=placement) as f:
            f.rti[0].register_federation_synchronization_point("go", b"", chosen)
            f.join(1)
            achieve(f, 0)
            assert "federation_synchronized" not in f.heard(0)
            achieve(f, 1)
            assert f.heard(0) == ["federation_synchronized"]


def test_a_resigning_federate_is_not_waited_for(placement: Placement) -> None:
    """Clause 4.18: a point ends with those that are left, and with nobody it ends unheard."""
    with federation(3, placement=placement) as f:
        f.rti[0].register_federation_synchronization_point("go", b"")
        achieve(f, 0, 1)
        f.resign(1)
        f.quiet()
        f.resign(2)
        assert f.take(0) == [("federation_synchronized", ("go", frozenset()))]
        f.rti[0].register_federation_synchronization_point("alone", b"")
        f.resign(0)
        f.join(0)
        assert "announce_synchronization_point" not in f.heard(0)[2:]


def test_a_failure_goes_with_the_one_who_failed(placement: Placement) -> None:
    """Clause 4.18: only joined federates are named."""
    with federation(2, placement=placement) as f:
        f.rti[0].register_federation_synchronization_point("go", b"")
        achieve(f, 1, successfully=False)
        f.resign(1)
        achieve(f, 0)
        assert f.take(0)[-1] == ("federation_synchronized", ("go", frozenset()))


def test_a_point_that_cannot_be_registered(placement: Placement) -> None:
    """Clause 4.15: the label is in use, or a federate of the set has resigned; told by callback, not by exception."""
    with federation(3, placement=placement) as f:
        f.resign(2)
        f.rti[0].register_federation_synchronization_point("go", b"")
        f.quiet()
        f.rti[0].register_federation_synchronization_point("go", b"")
        f.rti[0].register_federation_synchronization_point("on", b"", {f.handle(1), f.handle(2)})
        reason = SynchronizationPointFailureReason
        failed = "synchronization_point_registration_failed"
        assert f.take(0) == [
            (failed, ("go", reason.SYNCHRONIZATION_POINT_LABEL_NOT_UNIQUE)),
            (failed, ("on", reason.SYNCHRONIZATION_SET_MEMBER_NOT_JOINED)),
        ]
        assert f.take(1) == []


def test_callbacks_that_wait_are_dropped_at_resigning(placement: Placement) -> None:
    """Clause 4.12: a federate that has resigned hears nothing more of the federation, nor when it joins again."""
    with federation(2, placement=placement) as f:
        f.quiet()
        f.rti[0].register_federation_synchronization_point("late", b"")
        f.rti[1].list_federation_executions()
        f.rti[1].resign_federation_execution(ResignAction.NO_ACTION)
        assert f.heard(1) == ["report_federation_executions"]
        f.rti[1].join_federation_execution("again", "test", NAME)
        assert f.heard(1) == ["announce_synchronization_point"]
        f.rti[1].resign_federation_execution(ResignAction.NO_ACTION)
        f.present.discard(1)
