"""What a federate has asked for is pending until its callback is delivered, not until the RTI has decided.

IEEE 1516.1-2025: 8.2 and 8.5 (Enable Time Regulation, Constrained), 8.8 to 8.12 (advances), 8.4, 8.7, 8.20 to 8.22 (what needs
regulation or constraint), 7.2 to 7.19 (ownership), with 4.12, 5.3, 6.10, 6.16 and 6.18 (what needs to own, or not to be
acquiring), 6.4, 6.8 (names), 6.25, 6.30 (transportation types).

Embedded, at a server (waiting or not), and over own nodes; in both callback models.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import weft
from support.node_processes import write_file
from support.recording_ambassador import Recorder
from support.server_in_thread import eventually, serving
from support.simulated_federates import handles
from support.small_fom import RELIABLE, fom
from weft import CallbackModel, OrderType, ResignAction, RTIambassador, RtiConfiguration
from weft.fabric import Topology
from weft.host.in_process.embedded import EmbeddedNode
from weft.model.errors import (
    AttributeAcquisitionWasNotRequested,
    AttributeAlreadyBeingAcquired,
    AttributeAlreadyBeingChanged,
    AttributeAlreadyBeingDivested,
    AttributeAlreadyOwned,
    AttributeDivestitureWasNotRequested,
    AttributeNotOwned,
    DeletePrivilegeNotHeld,
    FederateOwnsAttributes,
    InteractionClassAlreadyBeingChanged,
    InTimeAdvancingState,
    InvalidLogicalTime,
    LogicalTimeAlreadyPassed,
    NoAcquisitionPending,
    NotConnected,
    ObjectInstanceNameNotReserved,
    ObjectInstanceNotKnown,
    OwnershipAcquisitionPending,
    RequestForTimeConstrainedPending,
    RequestForTimeRegulationPending,
    RestoreInProgress,
    SaveInProgress,
    TimeConstrainedIsNotEnabled,
    TimeRegulationIsNotEnabled,
)
from weft.model.handles import AttributeHandle, ObjectInstanceHandle
from weft.model.time import HLAfloat64Time, HLAinteger64Interval, HLAinteger64Time

NAME = "F"
TANK = "Vehicle.GroundVehicle.Tank"
ONE = HLAinteger64Interval(1)


def at(time: int) -> HLAinteger64Time:
    return HLAinteger64Time(time)


class Site:
    """A federate, and how to have its callbacks delivered when the test says so."""

    def __init__(
        self, connect: Callable[[RTIambassador, Recorder, CallbackModel], None], model: CallbackModel
    ) -> None:
        self.rti, self.ears = RTIambassador(), Recorder()
        self._model = model
        self._seen: dict[str, int] = {}
        connect(self.rti, self.ears, model)
        self.hold()

    def hold(self) -> None:
        """No callback is delivered until `until`."""
        if self._model is CallbackModel.IMMEDIATE:
            with contextlib.suppress(SaveInProgress, RestoreInProgress):
                self.rti.disable_callbacks()

    def until(self, method: str) -> None:
        before = self._seen.get(method, 0)
        self._seen[method] = before + 1
        if self._model is CallbackModel.IMMEDIATE:
            with contextlib.suppress(SaveInProgress, RestoreInProgress):
                self.rti.enable_callbacks()
            assert eventually(lambda: self.ears.count(method) > before), method
            self.hold()
            assert eventually(lambda: not self.rti._calling_back)
        else:

            def heard() -> bool:
                if self.ears.count(method) <= before:
                    self.rti.evoke_callback(0.05)
                return self.ears.count(method) > before

            assert eventually(heard), method


@pytest.fixture(params=["embedded", "server", "server, not waiting", "own nodes"])
def places(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[Callable[..., None]]]:
    if request.param == "embedded":
        node = EmbeddedNode()

        def embedded(rti: RTIambassador, ears: Recorder, model: CallbackModel) -> None:
            rti._host = node
            rti.connect(ears, model)

        yield [embedded, embedded]
    elif request.param == "own nodes":
        monkeypatch.setenv("WEFT_SERVE_RUN_DIRECTORY", str(tmp_path / "runs"))
        monkeypatch.setenv("WEFT_FABRIC_RETRY_SECONDS", "0.02")
        file = write_file(tmp_path, Topology(("S1", "S2"), {"A": ("S1", "S2")}))
        yield [
            lambda rti, ears, model, where=f"mesh://{server}@{file}": rti.connect(ears, model, where)
            for server in ("S1", "S2")
        ]
        weft.stop_node()
    else:
        with serving() as server:
            how = RtiConfiguration(
                "", server.address(), "asyncUpdates=true" if "not" in request.param else ""
            )
            yield [lambda rti, ears, model: rti.connect(ears, model, how)] * 2


@pytest.fixture(params=[CallbackModel.EVOKED, CallbackModel.IMMEDIATE], ids=["evoked", "immediate"])
def sites(request: pytest.FixtureRequest, places: list[Callable[..., None]]) -> Iterator[list[Site]]:
    made = [Site(place, request.param) for place in places]
    made[0].rti.create_federation_execution(NAME, [fom()], "HLAinteger64Time")
    for number, site in enumerate(made):
        site.rti.join_federation_execution(f"F{number}", "kind", NAME)
    yield made
    for site in made:
        site.rti.resign_federation_execution(ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
        site.rti.disconnect()


def test_regulation_is_pending_until_it_is_told(sites: list[Site]) -> None:
    """8.2, 8.4, 8.8, 8.20, 8.21."""
    site = sites[0]
    rti = site.rti
    rti.enable_time_regulation(ONE)
    with pytest.raises(RequestForTimeRegulationPending):
        rti.enable_time_regulation(ONE)
    with pytest.raises(RequestForTimeRegulationPending):
        rti.time_advance_request(at(5))
    with pytest.raises(TimeRegulationIsNotEnabled):
        rti.disable_time_regulation()
    with pytest.raises(TimeRegulationIsNotEnabled):
        rti.modify_lookahead(ONE)
    with pytest.raises(TimeRegulationIsNotEnabled):
        rti.query_lookahead()
    site.until("time_regulation_enabled")
    rti.time_advance_request(at(5))
    site.until("time_advance_grant")
    rti.disable_time_regulation()
    rti.enable_time_regulation(ONE)
    site.until("time_regulation_enabled")


def test_constraint_is_pending_until_it_is_told(sites: list[Site]) -> None:
    """8.5, 8.7, 8.8."""
    site = sites[1]
    rti = site.rti
    rti.enable_time_constrained()
    with pytest.raises(RequestForTimeConstrainedPending):
        rti.enable_time_constrained()
    with pytest.raises(RequestForTimeConstrainedPending):
        rti.next_message_request(at(5))
    with pytest.raises(TimeConstrainedIsNotEnabled):
        rti.disable_time_constrained()
    site.until("time_constrained_enabled")
    rti.disable_time_constrained()


@pytest.mark.parametrize(
    "service",
    [
        "time_advance_request",
        "time_advance_request_available",
        "next_message_request",
        "next_message_request_available",
        "flush_queue_request",
    ],
)
def test_an_advance_lasts_until_its_grant_is_told(sites: list[Site], service: str) -> None:
    """8.8 to 8.12, 8.2, 8.5, 8.20: each kind of request refuses each other."""
    site = sites[0]
    rti = site.rti
    rti.enable_time_regulation(ONE)
    site.until("time_regulation_enabled")
    if service == "flush_queue_request":
        rti.enable_time_constrained()
        site.until("time_constrained_enabled")
    getattr(rti, service)(at(2))
    for other in ("time_advance_request", "next_message_request_available", "flush_queue_request"):
        with pytest.raises(InTimeAdvancingState):
            getattr(rti, other)(at(9))
    with pytest.raises(InTimeAdvancingState):
        rti.enable_time_constrained()
    with pytest.raises(InTimeAdvancingState):
        rti.modify_lookahead(ONE)
    site.until("flush_queue_grant" if service == "flush_queue_request" else "time_advance_grant")
    rti.time_advance_request(at(9))
    site.until("time_advance_grant")


def test_a_refused_request_leaves_nothing_pending(sites: list[Site]) -> None:
    """8.8: a request that was refused, at once or later, is none; and what follows goes well."""
    site = sites[0]
    rti = site.rti
    rti.enable_time_regulation(ONE)
    site.until("time_regulation_enabled")
    rti.time_advance_request(at(5))
    site.until("time_advance_grant")
    refused = (LogicalTimeAlreadyPassed, InvalidLogicalTime, InTimeAdvancingState)

    def goes_well() -> bool:
        try:
            rti.time_advance_request(at(7))
        except refused:  # of the one before, where nobody waits for answers
            rti.query_logical_time()
            return False
        return True

    try:
        rti.time_advance_request(at(3))
        rti.query_logical_time()
    except refused:
        pass
    assert eventually(goes_well)
    site.until("time_advance_grant")
    assert site.ears.of("time_advance_grant")[-1] == (at(7),)


def test_within_the_callback_it_is_told(sites: list[Site]) -> None:
    """8.14: a federate may ask for the next step in the very callback that grants one."""
    site = sites[0]
    rti = site.rti
    rti.enable_time_regulation(ONE)
    site.until("time_regulation_enabled")
    wanted = iter([at(2), at(3)])

    def ask_next(_: object) -> None:
        for time in wanted:
            rti.time_advance_request(time)
            return

    site.ears.on["time_advance_grant"] = ask_next
    rti.time_advance_request(at(1))
    for expected in (1, 2, 3):
        site.until("time_advance_grant")
        assert site.ears.count("time_advance_grant") >= expected
    assert site.ears.of("time_advance_grant") == [(at(1),), (at(2),), (at(3),)]


def test_ownership_names_and_transportation_are_pending_until_told(sites: list[Site]) -> None:
    """7.9, 6.4, 6.8, 6.25, 6.30."""
    one, two = sites
    h = handles()
    name = h.set_of("Name")
    for site in sites:
        site.rti.publish_object_class_attributes(h.classes[TANK], name)
    two.rti.subscribe_object_class_attributes(h.classes[TANK], name)
    one.rti.reserve_object_instance_name("Rhino")
    with pytest.raises(ObjectInstanceNameNotReserved):
        one.rti.register_object_instance(h.classes[TANK], "Rhino")
    with pytest.raises(ObjectInstanceNameNotReserved):
        one.rti.release_object_instance_name("Rhino")
    one.until("object_instance_name_reservation_succeeded")
    thing = one.rti.register_object_instance(h.classes[TANK], "Rhino")
    two.until("discover_object_instance")
    two.rti.attribute_ownership_acquisition(thing, name, b"")
    with pytest.raises(AttributeAlreadyBeingAcquired):
        two.rti.attribute_ownership_acquisition_if_available(thing, name, b"")
    reliable = one.rti.get_transportation_type_handle(RELIABLE)
    one.rti.request_attribute_transportation_type_change(thing, name, reliable)
    with pytest.raises(AttributeAlreadyBeingChanged):
        one.rti.request_attribute_transportation_type_change(thing, name, reliable)
    one.until("confirm_attribute_transportation_type_change")
    one.rti.request_attribute_transportation_type_change(thing, name, reliable)
    event = h.interactions["Event"]
    one.rti.publish_interaction_class(event)
    one.rti.request_interaction_transportation_type_change(event, reliable)
    with pytest.raises(InteractionClassAlreadyBeingChanged):
        one.rti.request_interaction_transportation_type_change(event, reliable)
    one.until("confirm_interaction_transportation_type_change")


def shared(sites: list[Site]) -> tuple[ObjectInstanceHandle, frozenset[AttributeHandle]]:
    """An instance that the first federate owns and both publish and know, and one of its attributes."""
    one, two = sites
    h = handles()
    chosen = frozenset(h.set_of("Name"))
    for site in sites:
        site.rti.publish_object_class_attributes(h.classes[TANK], chosen)
        site.rti.subscribe_object_class_attributes(h.classes[TANK], chosen)
    thing = one.rti.register_object_instance(h.classes[TANK])
    two.until("discover_object_instance")
    return thing, chosen


def grant(sites: list[Site]) -> tuple[ObjectInstanceHandle, frozenset[AttributeHandle]]:
    """As `shared`; the second has asked for the attribute, the RTI has given it that, and it has not been told yet."""
    thing, chosen = shared(sites)
    one, two = sites
    two.rti.attribute_ownership_acquisition(thing, chosen, b"")
    one.until("request_attribute_ownership_release")
    assert one.rti.attribute_ownership_divestiture_if_wanted(thing, chosen, b"") == chosen
    for attribute in chosen:
        assert not one.rti.is_attribute_owned_by_federate(thing, attribute)
    one.rti.query_attribute_ownership(thing, chosen)
    one.until("inform_attribute_ownership")
    assert one.ears.of("inform_attribute_ownership")[-1][2] == one.rti.get_federate_handle("F1")
    return thing, chosen


def test_an_acquisition_lasts_until_it_is_told(sites: list[Site]) -> None:
    """7.7 to 7.9, 7.19, 6.10, 7.2, 7.3: who has not been told does not own, and is still acquiring; others see the new owner."""
    thing, chosen = grant(sites)
    two = sites[1].rti
    (attribute,) = chosen
    assert not two.is_attribute_owned_by_federate(thing, attribute)
    with pytest.raises(AttributeAlreadyBeingAcquired):
        two.attribute_ownership_acquisition_if_available(thing, chosen, b"")
    with pytest.raises(AttributeNotOwned):
        two.update_attribute_values(thing, {attribute: b"x"}, b"")
    for divest in (
        two.unconditional_attribute_ownership_divestiture,
        two.negotiated_attribute_ownership_divestiture,
        two.confirm_divestiture,
        two.attribute_ownership_divestiture_if_wanted,
        two.attribute_ownership_release_denied,
    ):
        with pytest.raises(AttributeNotOwned):
            divest(thing, chosen, b"")
    with pytest.raises(AttributeNotOwned):
        two.cancel_negotiated_attribute_ownership_divestiture(thing, chosen)
    with pytest.raises(AttributeNotOwned):
        two.change_attribute_order_type(thing, chosen, OrderType.RECEIVE)
    with pytest.raises(AttributeNotOwned):
        two.request_attribute_transportation_type_change(
            thing, chosen, two.get_transportation_type_handle(RELIABLE)
        )
    two.attribute_ownership_acquisition(thing, chosen, b"")  # again: it is told once
    sites[1].until("attribute_ownership_acquisition_notification")
    assert two.is_attribute_owned_by_federate(thing, attribute)
    two.update_attribute_values(thing, {attribute: b"x"}, b"")
    with pytest.raises(FederateOwnsAttributes):
        two.attribute_ownership_acquisition(thing, chosen, b"")
    with pytest.raises(AttributeAlreadyOwned):
        two.cancel_attribute_ownership_acquisition(thing, chosen)
    two.unconditional_attribute_ownership_divestiture(thing, chosen, b"")
    assert sites[1].ears.count("attribute_ownership_acquisition_notification") == 1


def test_a_cancellation_may_come_too_late(sites: list[Site]) -> None:
    """7.15, 7.16: whoever cancels what was granted and not told is told of the grant, and of no cancellation."""
    thing, chosen = grant(sites)
    two = sites[1]
    (attribute,) = chosen
    two.rti.cancel_attribute_ownership_acquisition(thing, chosen)
    assert not two.rti.is_attribute_owned_by_federate(thing, attribute)
    two.until("attribute_ownership_acquisition_notification")
    assert two.rti.is_attribute_owned_by_federate(thing, attribute)
    assert two.ears.count("confirm_attribute_ownership_acquisition_cancellation") == 0


def test_a_cancellation_lasts_until_it_is_confirmed(sites: list[Site]) -> None:
    """7.15, 7.16, 7.9, 5.3: until then the acquisition is under way, and asked for again it goes on."""
    (thing, chosen), h = shared(sites), handles()
    one, two = sites
    two.rti.attribute_ownership_acquisition(thing, chosen, b"")
    two.rti.cancel_attribute_ownership_acquisition(thing, chosen)
    with pytest.raises(AttributeAcquisitionWasNotRequested):
        two.rti.cancel_attribute_ownership_acquisition(thing, chosen)
    with pytest.raises(AttributeAlreadyBeingAcquired):
        two.rti.attribute_ownership_acquisition_if_available(thing, chosen, b"")
    with pytest.raises(OwnershipAcquisitionPending):
        two.rti.unpublish_object_class_attributes(h.classes[TANK], chosen)
    two.until("confirm_attribute_ownership_acquisition_cancellation")
    two.rti.attribute_ownership_acquisition_if_available(thing, chosen, b"")
    two.until("attribute_ownership_unavailable")
    two.rti.attribute_ownership_acquisition(thing, chosen, b"")
    two.rti.cancel_attribute_ownership_acquisition(thing, chosen)
    two.rti.attribute_ownership_acquisition(thing, chosen, b"")
    two.until("confirm_attribute_ownership_acquisition_cancellation")
    one.rti.unconditional_attribute_ownership_divestiture(thing, chosen, b"")
    (attribute,) = chosen
    assert not two.rti.is_attribute_owned_by_federate(thing, attribute)
    two.until("attribute_ownership_acquisition_notification")
    assert two.rti.is_attribute_owned_by_federate(thing, attribute)


def test_a_denial_lasts_until_it_is_told(sites: list[Site]) -> None:
    """7.10, 7.12: who has not been told that it is unavailable is acquiring, and may cancel that in vain."""
    thing, chosen = shared(sites)
    one, two = sites
    two.rti.attribute_ownership_acquisition(thing, chosen, b"")
    one.until("request_attribute_ownership_release")
    one.rti.attribute_ownership_release_denied(thing, chosen, b"")
    with pytest.raises(AttributeAlreadyBeingAcquired):
        two.rti.attribute_ownership_acquisition_if_available(thing, chosen, b"")
    with pytest.raises(OwnershipAcquisitionPending):
        two.rti.local_delete_object_instance(thing)
    two.rti.cancel_attribute_ownership_acquisition(thing, chosen)
    two.until("attribute_ownership_unavailable")
    with pytest.raises(AttributeAcquisitionWasNotRequested):
        two.rti.cancel_attribute_ownership_acquisition(thing, chosen)
    two.rti.attribute_ownership_acquisition_if_available(thing, chosen, b"")
    two.until("attribute_ownership_unavailable")
    two.rti.local_delete_object_instance(thing)


@pytest.mark.parametrize(
    "service", ["attribute_ownership_acquisition", "attribute_ownership_acquisition_if_available"]
)
def test_what_is_pending_holds_declarations_and_membership(sites: list[Site], service: str) -> None:
    """5.3, 6.18, 4.12: OwnershipAcquisitionPending until the federate has been told, whatever the RTI has decided."""
    (thing, chosen), h = shared(sites), handles()
    one, two = sites
    one.rti.unconditional_attribute_ownership_divestiture(thing, chosen, b"")
    two.until("request_attribute_ownership_assumption")
    getattr(two.rti, service)(thing, chosen, b"")
    refusals: list[Callable[[], None]] = [
        lambda: two.rti.unpublish_object_class(h.classes[TANK]),
        lambda: two.rti.unpublish_object_class_attributes(h.classes[TANK], chosen),
        lambda: two.rti.local_delete_object_instance(thing),
        lambda: two.rti.resign_federation_execution(ResignAction.NO_ACTION),
        lambda: two.rti.resign_federation_execution(ResignAction.UNCONDITIONALLY_DIVEST_ATTRIBUTES),
    ]
    for refused in refusals:
        with pytest.raises(OwnershipAcquisitionPending):
            refused()
    two.rti.unpublish_object_class(h.classes["Vehicle"])
    two.until("attribute_ownership_acquisition_notification")
    two.rti.unpublish_object_class_attributes(h.classes[TANK], chosen)


def test_if_available_is_asked_twice(sites: list[Site]) -> None:
    """7.9, 7.8: asked for again, or for good, before the outcome was told: it is told once."""
    thing, chosen = shared(sites)
    one, two = sites
    one.rti.unconditional_attribute_ownership_divestiture(thing, chosen, b"")
    two.rti.attribute_ownership_acquisition_if_available(thing, chosen, b"")
    two.rti.attribute_ownership_acquisition_if_available(thing, chosen, b"")
    two.rti.attribute_ownership_acquisition(thing, chosen, b"")
    (attribute,) = chosen
    assert not two.rti.is_attribute_owned_by_federate(thing, attribute)
    two.until("attribute_ownership_acquisition_notification")
    assert two.rti.is_attribute_owned_by_federate(thing, attribute)
    with pytest.raises(FederateOwnsAttributes):
        two.rti.attribute_ownership_acquisition_if_available(thing, chosen, b"")


def test_the_privilege_to_delete_is_held_once_it_is_told(sites: list[Site]) -> None:
    """6.16: DeletePrivilegeNotHeld before."""
    thing, _ = shared(sites)
    one, two = sites
    tank = handles().classes[TANK]
    privilege = frozenset([two.rti.get_attribute_handle(tank, "HLAprivilegeToDeleteObject")])
    two.rti.publish_object_class_attributes(tank, privilege)
    one.rti.unconditional_attribute_ownership_divestiture(thing, privilege, b"")
    two.rti.attribute_ownership_acquisition(thing, privilege, b"")
    with pytest.raises(DeletePrivilegeNotHeld):
        two.rti.delete_object_instance(thing, b"")
    odd = HLAfloat64Time(3.0)  # which no call could bring to the RTI
    with pytest.raises(InvalidLogicalTime):
        two.rti.delete_object_instance(thing, b"", odd)
    with pytest.raises(InvalidLogicalTime):
        two.rti.update_attribute_values(thing, dict.fromkeys(privilege, b""), b"", odd)
    two.until("attribute_ownership_acquisition_notification")
    two.rti.delete_object_instance(thing, b"")


def test_who_deletes_an_instance_awaits_nothing_of_it(sites: list[Site]) -> None:
    """6.16, 7.6: it is not known any more, and that is what is said."""
    thing, chosen = shared(sites)
    one, _ = sites
    one.rti.negotiated_attribute_ownership_divestiture(thing, chosen, b"")
    with pytest.raises(NoAcquisitionPending):
        one.rti.confirm_divestiture(thing, chosen, b"")
    one.rti.delete_object_instance(thing, b"")
    with pytest.raises(ObjectInstanceNotKnown):
        one.rti.confirm_divestiture(thing, chosen, b"")


def test_a_divestiture_is_confirmed_when_that_was_asked_for(sites: list[Site]) -> None:
    """7.3, 7.5, 7.6, 7.14: as long as the request to confirm is not delivered, nobody is known to want it."""
    thing, chosen = shared(sites)
    one, two = sites
    for _ in range(2):
        one.rti.negotiated_attribute_ownership_divestiture(thing, chosen, b"")
        with pytest.raises(AttributeAlreadyBeingDivested):
            one.rti.negotiated_attribute_ownership_divestiture(thing, chosen, b"")
        two.until("request_attribute_ownership_assumption")
        two.rti.attribute_ownership_acquisition(thing, chosen, b"")
        with pytest.raises(NoAcquisitionPending):
            one.rti.confirm_divestiture(thing, chosen, b"")
        one.until("request_divestiture_confirmation")
        one.rti.cancel_negotiated_attribute_ownership_divestiture(thing, chosen)
        with pytest.raises(AttributeDivestitureWasNotRequested):
            one.rti.confirm_divestiture(thing, chosen, b"")
        one.until("request_attribute_ownership_release")
        two.rti.cancel_attribute_ownership_acquisition(thing, chosen)
        two.until("confirm_attribute_ownership_acquisition_cancellation")
    two.rti.attribute_ownership_acquisition(thing, chosen, b"")
    one.until("request_attribute_ownership_release")
    one.rti.negotiated_attribute_ownership_divestiture(thing, chosen, b"")
    one.until("request_divestiture_confirmation")
    one.rti.confirm_divestiture(thing, chosen, b"")
    two.until("attribute_ownership_acquisition_notification")


def test_within_the_notification_it_is_owned(sites: list[Site]) -> None:
    """7.7: a federate may update in the very callback that tells of its ownership."""
    thing, chosen = grant(sites)
    two = sites[1]
    (attribute,) = chosen
    owned: list[bool] = []

    def use(*_: object) -> None:
        two.rti.update_attribute_values(thing, {attribute: b"x"}, b"")
        owned.append(two.rti.is_attribute_owned_by_federate(thing, attribute))

    two.ears.on["attribute_ownership_acquisition_notification"] = use
    two.until("attribute_ownership_acquisition_notification")
    assert eventually(lambda: owned == [True])


def test_an_acquisition_is_pending_again_after_a_restore(sites: list[Site]) -> None:
    """4.32, 7.8: what was asked for at the save is asked for again; what was asked for since is not."""
    thing, chosen = shared(sites)
    one, two = sites
    (attribute,) = chosen
    save(sites, "before")
    two.rti.attribute_ownership_acquisition(thing, chosen, b"")
    one.until("request_attribute_ownership_release")
    save(sites, "during")
    with pytest.raises(AttributeAlreadyBeingAcquired):
        two.rti.attribute_ownership_acquisition_if_available(thing, chosen, b"")
    one.rti.attribute_ownership_divestiture_if_wanted(thing, chosen, b"")
    two.until("attribute_ownership_acquisition_notification")
    restore(sites, "during")
    assert not two.rti.is_attribute_owned_by_federate(thing, attribute)
    with pytest.raises(AttributeAlreadyBeingAcquired):
        two.rti.attribute_ownership_acquisition_if_available(thing, chosen, b"")
    one.rti.attribute_ownership_divestiture_if_wanted(thing, chosen, b"")
    assert not two.rti.is_attribute_owned_by_federate(thing, attribute)
    two.until("attribute_ownership_acquisition_notification")
    assert two.rti.is_attribute_owned_by_federate(thing, attribute)
    restore(sites, "before")
    two.rti.attribute_ownership_acquisition_if_available(thing, chosen, b"")
    two.until("attribute_ownership_unavailable")


def save(sites: list[Site], label: str) -> None:
    sites[0].rti.request_federation_save(label)
    for site in sites:
        site.until("initiate_federate_save")
        site.rti.federate_save_begun()
        site.rti.federate_save_complete()
    for site in sites:
        site.until("federation_saved")


def restore(sites: list[Site], label: str) -> None:
    sites[0].rti.request_federation_restore(label)
    for site in sites:
        site.until("initiate_federate_restore")
        site.rti.federate_restore_complete()
    for site in sites:
        site.until("federation_restored")


def test_nothing_is_pending_after_resigning_or_restoring(sites: list[Site]) -> None:
    """4.12, 4.32: a federate that begins anew, or from a save, has asked for nothing since."""
    site = sites[0]
    sites[1].rti.resign_federation_execution(ResignAction.NO_ACTION)
    rti = site.rti
    rti.enable_time_regulation(ONE)
    rti.resign_federation_execution(ResignAction.NO_ACTION)
    rti.join_federation_execution("F0", "kind", NAME)
    rti.request_federation_save("noon")
    site.until("initiate_federate_save")
    rti.federate_save_begun()
    rti.federate_save_complete()
    site.until("federation_saved")
    rti.enable_time_regulation(ONE)
    rti.request_federation_restore("noon")
    site.until("initiate_federate_restore")
    rti.federate_restore_complete()
    site.until("federation_restored")
    rti.enable_time_regulation(ONE)
    site.until("time_regulation_enabled")
    sites[1].rti.join_federation_execution("F1", "kind", NAME)


def test_an_advance_over_a_save_goes_on(sites: list[Site]) -> None:
    """4.19, 8.14: a grant that was not delivered when the federation was saved still ends the advance."""
    site = sites[0]
    sites[1].rti.resign_federation_execution(ResignAction.NO_ACTION)
    rti = site.rti
    rti.enable_time_regulation(ONE)
    site.until("time_regulation_enabled")
    rti.time_advance_request(at(5))
    rti.request_federation_save("noon")
    site.until("initiate_federate_save")
    rti.federate_save_begun()
    rti.federate_save_complete()
    site.until("federation_saved")
    site.until("time_advance_grant")
    rti.time_advance_request(at(6))
    site.until("time_advance_grant")
    sites[1].rti.join_federation_execution("F1", "kind", NAME)


def test_an_advance_is_pending_again_after_a_restore(sites: list[Site]) -> None:
    """4.32, 8.20: what was asked for at the save is asked for again, and ends with its grant."""
    waiting, other = sites
    other.rti.enable_time_regulation(ONE)
    other.until("time_regulation_enabled")
    waiting.rti.enable_time_constrained()
    waiting.until("time_constrained_enabled")
    waiting.rti.time_advance_request(at(5))
    save(sites, "noon")
    other.rti.time_advance_request(at(7))
    waiting.until("time_advance_grant")
    other.until("time_advance_grant")
    restore(sites, "noon")
    with pytest.raises(InTimeAdvancingState):
        waiting.rti.modify_lookahead(ONE)
    other.rti.time_advance_request(at(7))
    waiting.until("time_advance_grant")
    waiting.rti.time_advance_request(at(6))


def test_who_is_not_connected_is_told_that(places: list[Callable[..., None]]) -> None:
    """4.3: what was pending ends with the connection."""
    site = Site(places[0], CallbackModel.EVOKED)
    site.rti.create_federation_execution(NAME, [fom()], "HLAinteger64Time")
    site.rti.join_federation_execution("F0", "kind", NAME)
    site.rti.enable_time_regulation(ONE)
    site.rti._lose_connection()
    with pytest.raises(NotConnected):
        site.rti.enable_time_regulation(ONE)


def test_an_advance_outlives_a_restore_that_is_aborted(sites: list[Site]) -> None:
    """4.33, 8.8: whoever waits for its grant when a restore begins and is given up is granted afterwards, or may ask again."""
    one, two = sites
    save(sites, "noon")
    two.rti.enable_time_regulation(ONE)
    two.until("time_regulation_enabled")
    one.rti.enable_time_constrained()
    one.until("time_constrained_enabled")
    one.rti.time_advance_request(at(5))
    one.rti.request_federation_restore("noon")
    for site in sites:
        site.until("initiate_federate_restore")
    two.rti.abort_federation_restore()
    for site in sites:
        site.until("federation_not_restored")
    with pytest.raises(InTimeAdvancingState):
        one.rti.time_advance_request(at(6))
    two.rti.time_advance_request(at(9))
    one.until("time_advance_grant")
    one.rti.time_advance_request(at(6))
    one.until("time_advance_grant")


@pytest.mark.parametrize("odd", [5, [{}], [[]]])
def test_before_all_else_one_is_connected(odd: object) -> None:
    """6.2, 6.5, 6.25: NotConnected, whatever is asked for."""
    rti, h = RTIambassador(), handles()
    with pytest.raises(NotConnected):
        rti.reserve_object_instance_name(odd)  # type: ignore[arg-type]
    with pytest.raises(NotConnected):
        rti.reserve_multiple_object_instance_names(odd)  # type: ignore[arg-type]
    with pytest.raises(NotConnected):
        rti.request_interaction_transportation_type_change(odd, odd)  # type: ignore[arg-type]
    with pytest.raises(NotConnected):
        rti.request_attribute_transportation_type_change(odd, h.set_of("Name"), odd)  # type: ignore[arg-type]
