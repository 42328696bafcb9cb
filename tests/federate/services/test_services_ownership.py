"""Ownership management (clauses 7.2 to 7.19), by example.

Three federates publish and subscribe tanks; federate 0 owns one.  Callbacks are compared whole: method, attributes and tag.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.federation import Federation, federation, refused
from support.mom_federation import Mom
from support.placement import Placement
from support.refusals import TANK
from support.small_fom import PRIVILEGE
from weft import OrderType, ResignAction
from weft.model.errors import (
    AttributeAlreadyOwned,
    AttributeNotOwned,
    DeletePrivilegeNotHeld,
    NoAcquisitionPending,
    OwnershipAcquisitionPending,
)
from weft.model.handles import AttributeHandle, ObjectInstanceHandle

ASSUME = "request_attribute_ownership_assumption"
CONFIRM = "request_divestiture_confirmation"
GAINED = "attribute_ownership_acquisition_notification"
UNAVAILABLE = "attribute_ownership_unavailable"
RELEASE = "request_attribute_ownership_release"
CANCELLED = "confirm_attribute_ownership_acquisition_cancellation"
NAMES = ("Position", "Name", "Ammo")


class Field:
    """The federation, its tank, and short ways to say who does and hears what."""

    def __init__(self, f: Federation) -> None:
        self.f = f
        for i in range(3):
            f.publish(i, TANK, *NAMES)
            f.subscribe(i, TANK, *NAMES)
        self.tank = f.register(0, TANK)
        f.quiet()

    def of(self, *names: str) -> frozenset[AttributeHandle]:
        return self.f.attributes(TANK, *names)

    def heard(self, i: int) -> list[tuple[Any, ...]]:
        """Method, attributes, tag of what federate i heard about the tank since the last time."""
        known = {self.f.attribute(TANK, name): name for name in (*NAMES, "Crew", PRIVILEGE)}
        told = []
        for method, (instance, attributes, *tag) in self.f.take(i):
            assert instance == self.tank
            told.append((method, {known[a] for a in attributes}, *tag))
        return told

    def all_heard(self) -> list[list[tuple[Any, ...]]]:
        return [self.heard(i) for i in range(3)]

    def owner(self, name: str) -> int | None:
        (attribute,) = self.of(name)
        owners = [
            i for i in self.f.present if self.f.rti[i].is_attribute_owned_by_federate(self.tank, attribute)
        ]
        assert len(owners) <= 1
        return owners[0] if owners else None

    # --- services ---------------------------------------------------------------------------------------------

    def divest(self, i: int, *names: str, tag: bytes = b"") -> None:
        self.f.rti[i].unconditional_attribute_ownership_divestiture(self.tank, self.of(*names), tag)

    def negotiate(self, i: int, *names: str, tag: bytes = b"") -> None:
        self.f.rti[i].negotiated_attribute_ownership_divestiture(self.tank, self.of(*names), tag)

    def confirm(self, i: int, *names: str, tag: bytes = b"") -> None:
        self.f.rti[i].confirm_divestiture(self.tank, self.of(*names), tag)

    def keep(self, i: int, *names: str) -> None:
        self.f.rti[i].cancel_negotiated_attribute_ownership_divestiture(self.tank, self.of(*names))

    def if_wanted(self, i: int, *names: str, tag: bytes = b"") -> set[AttributeHandle]:
        return set(self.f.rti[i].attribute_ownership_divestiture_if_wanted(self.tank, self.of(*names), tag))

    def deny(self, i: int, *names: str, tag: bytes = b"") -> None:
        self.f.rti[i].attribute_ownership_release_denied(self.tank, self.of(*names), tag)

    def acquire(self, i: int, *names: str, tag: bytes = b"") -> None:
        self.f.rti[i].attribute_ownership_acquisition(self.tank, self.of(*names), tag)

    def if_available(self, i: int, *names: str, tag: bytes = b"") -> None:
        self.f.rti[i].attribute_ownership_acquisition_if_available(self.tank, self.of(*names), tag)

    def cancel(self, i: int, *names: str) -> None:
        self.f.rti[i].cancel_attribute_ownership_acquisition(self.tank, self.of(*names))

    def query(self, i: int, *names: str) -> None:
        self.f.rti[i].query_attribute_ownership(self.tank, self.of(*names))


@pytest.fixture
def field(placement: Placement) -> Iterator[Field]:
    with federation(3, placement=placement) as f:
        yield Field(f)


# --- the push: negotiated divestiture ---------------------------------------------------------------------------


def test_a_negotiated_divestiture(field: Field) -> None:
    """Clauses 7.3 to 7.8: offered to all who could own it, wanted by one, confirmed, and acquired with the giver's tag."""
    field.negotiate(0, "Name", tag=b"for sale")
    assert field.all_heard() == [[], [(ASSUME, {"Name"}, b"for sale")], [(ASSUME, {"Name"}, b"for sale")]]
    field.acquire(2, "Name", tag=b"mine?")
    assert field.all_heard() == [[(CONFIRM, {"Name"}, b"mine?")], [], []]
    assert field.owner("Name") == 0
    field.f.update(0, field.tank, TANK, "Name")
    field.f.quiet()
    field.confirm(0, "Name", tag=b"yours")
    assert field.all_heard() == [[], [], [(GAINED, {"Name"}, b"yours")]]
    assert field.owner("Name") == 2
    with refused(AttributeNotOwned):
        field.f.update(0, field.tank, TANK, "Name")
    field.f.update(2, field.tank, TANK, "Name")
    assert field.f.heard(0) == ["reflect_attribute_values"]


def test_a_divestiture_of_something_already_wanted_goes_straight_to_confirmation(field: Field) -> None:
    """Clause 7.3: nobody else is asked to assume what somebody wants; what nobody wants is offered."""
    field.acquire(1, "Name", tag=b"please")
    assert field.heard(0) == [(RELEASE, {"Name"}, b"please")]
    field.negotiate(0, "Name", "Ammo", tag=b"for sale")
    assert field.all_heard() == [
        [(CONFIRM, {"Name"}, b"please")],
        [(ASSUME, {"Ammo"}, b"for sale")],
        [(ASSUME, {"Ammo"}, b"for sale")],
    ]


def test_who_takes_what_is_available_waits_for_the_confirmation_too(field: Field) -> None:
    """Clause 7.9: an attribute in the process of being divested is available, once its owner confirms."""
    field.negotiate(0, "Name")
    field.f.quiet()
    field.if_available(1, "Name", tag=b"if so")
    assert field.all_heard() == [[(CONFIRM, {"Name"}, b"if so")], [], []]
    field.confirm(0, "Name", tag=b"yours")
    assert field.all_heard() == [[], [(GAINED, {"Name"}, b"yours")], []]


def test_a_cancelled_divestiture(field: Field) -> None:
    """Clause 7.14: passing wishes end, lasting ones now ask for the release."""
    field.negotiate(0, "Name")
    field.if_available(1, "Name", tag=b"if so")
    field.acquire(2, "Name", tag=b"please")
    field.f.quiet()
    field.keep(0, "Name")
    assert field.all_heard() == [
        [(RELEASE, {"Name"}, b"please")],
        [(UNAVAILABLE, {"Name"}, b"if so")],
        [],
    ]
    assert field.owner("Name") == 0


def test_a_divestiture_goes_on_when_the_acquirer_cancels(field: Field) -> None:
    """Clause 7.6: then nobody is there to confirm to, and the others are asked (again), but not the one who cancelled."""
    field.negotiate(0, "Name", tag=b"for sale")
    field.acquire(1, "Name")
    field.f.quiet()
    field.cancel(1, "Name")
    assert field.all_heard() == [
        [],
        [(CANCELLED, {"Name"})],
        [(ASSUME, {"Name"}, b"for sale")],
    ]
    with refused(NoAcquisitionPending):
        field.confirm(0, "Name")
    field.acquire(2, "Name", tag=b"please")
    assert field.heard(0) == [(CONFIRM, {"Name"}, b"please")]


def test_only_the_first_acquirer_is_announced_to_a_divesting_owner(field: Field) -> None:
    """Clause 7.5: the owner confirms once; the second acquirer then asks the first."""
    field.negotiate(0, "Name")
    field.f.quiet()
    field.acquire(1, "Name", tag=b"one")
    field.acquire(2, "Name", tag=b"two")
    assert field.all_heard() == [[(CONFIRM, {"Name"}, b"one")], [], []]
    field.confirm(0, "Name", tag=b"yours")
    assert field.all_heard() == [[], [(GAINED, {"Name"}, b"yours"), (RELEASE, {"Name"}, b"two")], []]


# --- the pull: acquisition --------------------------------------------------------------------------------------


def test_an_acquisition_that_the_owner_grants(field: Field) -> None:
    """Clauses 7.8, 7.11 and 7.13: asked to release, the owner divests what is wanted and learns what that was."""
    field.acquire(1, "Name", "Ammo", tag=b"please")
    assert field.all_heard() == [[(RELEASE, {"Name", "Ammo"}, b"please")], [], []]
    assert field.if_wanted(0, "Name", "Position", tag=b"take it") == field.of("Name")
    assert field.all_heard() == [[], [(GAINED, {"Name"}, b"take it")], []]
    assert [field.owner(name) for name in NAMES] == [0, 1, 0]


def test_an_acquisition_that_the_owner_denies(field: Field) -> None:
    """Clause 7.12: all who asked are told, with the owner's tag, and no longer wait."""
    field.acquire(1, "Name", tag=b"one")
    field.acquire(2, "Name", "Ammo", tag=b"two")
    field.f.quiet()
    field.deny(0, "Name", tag=b"never")
    assert field.all_heard() == [[], [(UNAVAILABLE, {"Name"}, b"never")], [(UNAVAILABLE, {"Name"}, b"never")]]
    assert field.if_wanted(0, "Name", "Ammo") == field.of("Ammo")


def test_denying_what_nobody_asked_for_does_nothing(field: Field) -> None:
    """Clause 7.12."""
    field.deny(0, "Name")
    assert field.all_heard() == [[], [], []]


def test_denying_leaves_those_who_only_take_what_is_available(field: Field) -> None:
    """Clause 7.12: they have not asked for a release; the owner offers the attribute, and may still confirm."""
    field.negotiate(0, "Name")
    field.if_available(1, "Name")
    field.acquire(2, "Name")
    field.f.quiet()
    field.deny(0, "Name", tag=b"never")
    assert field.all_heard() == [[], [], [(UNAVAILABLE, {"Name"}, b"never")]]
    field.confirm(0, "Name")
    assert field.heard(1) == [(GAINED, {"Name"}, b"")]


def test_acquiring_what_nobody_owns(field: Field) -> None:
    """Clauses 7.8 and 7.9: it is had at once, and the acquirer hears its own tag."""
    field.divest(0, "Name", "Ammo")
    field.f.quiet()
    field.acquire(1, "Name", tag=b"one")
    field.if_available(2, "Ammo", tag=b"two")
    assert field.all_heard() == [[], [(GAINED, {"Name"}, b"one")], [(GAINED, {"Ammo"}, b"two")]]


def test_what_is_not_available(field: Field) -> None:
    """Clauses 7.9 and 7.10: the owner is not disturbed; the rest is granted."""
    field.divest(0, "Ammo")
    field.f.quiet()
    field.if_available(1, "Name", "Ammo", tag=b"if so")
    assert field.all_heard() == [
        [],
        [(UNAVAILABLE, {"Name"}, b"if so"), (GAINED, {"Ammo"}, b"if so")],
        [],
    ]


def test_asking_twice_disturbs_the_owner_once(field: Field) -> None:
    """Clauses 7.8 and 7.9: a repeated request changes nothing."""
    field.acquire(1, "Name", tag=b"please")
    field.acquire(1, "Name", "Ammo", tag=b"pretty please")
    assert field.heard(0) == [(RELEASE, {"Name"}, b"please"), (RELEASE, {"Ammo"}, b"pretty please")]
    field.negotiate(0, "Position")
    field.f.quiet()
    field.if_available(2, "Position", tag=b"if so")
    field.if_available(2, "Position", tag=b"if so")
    assert field.heard(0) == [(CONFIRM, {"Position"}, b"if so")]


def test_an_acquisition_overrides_one_if_available(field: Field) -> None:
    """Clause 7.8: from then on it lasts, also when the owner no longer offers; the owner is asked to confirm once only."""
    field.negotiate(0, "Name")
    field.f.quiet()
    field.if_available(1, "Name", tag=b"if so")
    field.acquire(1, "Name", tag=b"please")
    assert field.heard(0) == [(CONFIRM, {"Name"}, b"if so")]
    field.keep(0, "Name")
    assert field.all_heard() == [[(RELEASE, {"Name"}, b"please")], [], []]


def test_a_cancelled_acquisition(field: Field) -> None:
    """Clauses 7.15 and 7.16: it is confirmed, and then nothing is wanted any more."""
    field.acquire(1, "Name", "Ammo")
    field.f.quiet()
    field.cancel(1, "Name")
    assert field.all_heard() == [[], [(CANCELLED, {"Name"})], []]
    assert field.if_wanted(0, *NAMES) == field.of("Ammo")
    with refused(AttributeAlreadyOwned):
        field.cancel(1, "Ammo")


def test_several_acquirers_are_served_in_turn(field: Field) -> None:
    """Clause 7.8: a chain; each new owner is asked by those who still wait."""
    field.acquire(1, "Name", tag=b"one")
    field.acquire(2, "Name", tag=b"two")
    assert field.heard(0) == [(RELEASE, {"Name"}, b"one"), (RELEASE, {"Name"}, b"two")]
    field.if_wanted(0, "Name", tag=b"first")
    assert field.all_heard() == [[], [(GAINED, {"Name"}, b"first"), (RELEASE, {"Name"}, b"two")], []]
    field.acquire(0, "Name", tag=b"back")
    assert field.heard(1) == [(RELEASE, {"Name"}, b"back")]
    field.if_wanted(1, "Name", tag=b"second")
    assert field.all_heard() == [[], [], [(GAINED, {"Name"}, b"second"), (RELEASE, {"Name"}, b"back")]]
    field.if_wanted(2, "Name", tag=b"third")
    assert field.all_heard() == [[(GAINED, {"Name"}, b"third")], [], []]
    assert field.owner("Name") == 0


# --- giving up --------------------------------------------------------------------------------------------------


def test_an_unconditional_divestiture(field: Field) -> None:
    """Clauses 7.2 and 7.4: it has no owner at once; all who could own it are asked, but not the one who gave it up."""
    field.divest(0, "Name", tag=b"free")
    assert field.all_heard() == [[], [(ASSUME, {"Name"}, b"free")], [(ASSUME, {"Name"}, b"free")]]
    assert field.owner("Name") is None


def test_an_unconditional_divestiture_serves_those_who_wait(field: Field) -> None:
    """Clause 7.2: what somebody wants is not offered to the others."""
    field.acquire(1, "Name", tag=b"please")
    field.f.quiet()
    field.divest(0, "Name", tag=b"free")
    assert field.all_heard() == [[], [(GAINED, {"Name"}, b"please")], []]


def test_unpublishing_gives_up(field: Field) -> None:
    """Clause 5.3: as by an unconditional divestiture, with an empty tag."""
    field.acquire(1, "Name", tag=b"please")
    field.f.quiet()
    field.f.rti[0].unpublish_object_class(field.f.object_class(TANK))
    offered = {"Position", "Ammo", PRIVILEGE}
    assert field.all_heard() == [
        [],
        [(ASSUME, offered, b""), (GAINED, {"Name"}, b"please")],
        [(ASSUME, offered, b"")],
    ]


def test_unpublishing_at_another_class_than_one_knows_it_as_changes_nothing(placement: Placement) -> None:
    """Clause 5.3: it is the known class that counts, also for one who acquired the attribute."""
    with federation(2, placement=placement) as f:
        f.publish(0, TANK, "Name")
        f.publish(1, "Vehicle", "Name")
        f.publish(1, TANK, "Name")
        f.subscribe(1, "Vehicle", "Name")
        tank = f.register(0, TANK)
        f.rti[1].attribute_ownership_acquisition(tank, f.attributes(TANK, "Name"), b"")
        f.rti[0].attribute_ownership_divestiture_if_wanted(tank, f.attributes(TANK, "Name"), b"")
        f.rti[1].unpublish_object_class(f.object_class(TANK))
        assert f.rti[1].is_attribute_owned_by_federate(tank, f.attribute(TANK, "Name"))
        f.rti[1].unpublish_object_class(f.object_class("Vehicle"))
        assert not f.rti[1].is_attribute_owned_by_federate(tank, f.attribute(TANK, "Name"))


@pytest.mark.parametrize(
    "action", [ResignAction.UNCONDITIONALLY_DIVEST_ATTRIBUTES, ResignAction.DELETE_OBJECTS_THEN_DIVEST]
)
def test_resigning_gives_up(field: Field, action: ResignAction) -> None:
    """Clause 4.12: what is not deleted is had by who waits for it, and offered otherwise."""
    field.acquire(1, "Name", PRIVILEGE, tag=b"please")
    field.if_wanted(0, PRIVILEGE)  # so that federate 0 cannot delete the tank
    field.f.quiet()
    field.f.resign(0, action)
    offered = {"Position", "Ammo"}
    assert [field.heard(1), field.heard(2)] == [
        [(ASSUME, offered, b""), (GAINED, {"Name"}, b"please")],
        [(ASSUME, offered, b"")],
    ]


def test_a_federate_that_is_lost_gives_up_and_no_longer_waits(field: Field) -> None:
    """Clause 4.4: by its directive, which here divests and does not delete."""
    field.f.rti[1].set_automatic_resign_directive(ResignAction.UNCONDITIONALLY_DIVEST_ATTRIBUTES)
    field.acquire(1, "Name", "Ammo")
    field.if_wanted(0, "Name")
    field.f.quiet()
    field.f.rti[1]._lose_connection()
    field.f.present.discard(1)
    assert [field.heard(0), field.heard(2)] == [[(ASSUME, {"Name"}, b"")], [(ASSUME, {"Name"}, b"")]]
    assert field.if_wanted(0, "Ammo") == set()


@pytest.mark.parametrize(
    "action",
    [ResignAction.CANCEL_PENDING_OWNERSHIP_ACQUISITIONS, ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST],
)
def test_resigning_can_cancel_acquisitions(field: Field, action: ResignAction) -> None:
    """Clause 4.12: the owner finds that nobody wants it, and the next is asked where it offers it."""
    field.negotiate(0, "Name", tag=b"for sale")
    field.acquire(1, "Name", "Ammo")
    field.f.quiet()
    field.f.resign(1, action)
    assert field.heard(2) == [(ASSUME, {"Name"}, b"for sale")]
    assert field.if_wanted(0, "Name", "Ammo") == set()


def test_who_comes_later_is_asked_too(placement: Placement) -> None:
    """Clause 7.4: while an owner is sought, also who only then publishes the attribute or gets to know the instance."""
    with federation(3, placement=placement) as f:
        f.publish(0, TANK, "Name", "Ammo")
        f.subscribe(1, TANK, "Name")
        tank = f.register(0, TANK)
        f.publish(2, TANK, "Name")
        f.rti[0].negotiated_attribute_ownership_divestiture(tank, f.attributes(TANK, "Name"), b"tag")
        f.quiet()
        f.publish(1, TANK, "Name", "Ammo")
        assert f.take(1) == [(ASSUME, (tank, f.attributes(TANK, "Name"), b"tag"))]
        f.publish(1, TANK, "Name", "Ammo")
        assert f.take(1) == []
        f.subscribe(2, TANK, "Ammo")
        assert f.heard(2) == ["discover_object_instance", ASSUME]


# --- what else hangs on ownership -------------------------------------------------------------------------------


def test_the_privilege_to_delete_can_be_transferred(field: Field) -> None:
    """Clause 6.16: who acquires it may delete the instance, and with the instance all requests end."""
    field.acquire(1, PRIVILEGE)
    field.if_wanted(0, PRIVILEGE)
    field.acquire(2, "Name")
    with refused(DeletePrivilegeNotHeld):
        field.f.rti[0].delete_object_instance(field.tank, b"")
    field.f.quiet()
    field.f.rti[1].delete_object_instance(field.tank, b"")
    assert [field.f.heard(i) for i in range(3)] == [
        ["remove_object_instance"],
        [],
        ["remove_object_instance"],
    ]
    field.f.resign(2, ResignAction.NO_ACTION)


def test_nothing_is_locally_deleted_while_it_is_wanted(field: Field) -> None:
    """Clause 6.18; and once the acquisition is cancelled it can be."""
    field.acquire(1, "Name")
    with refused(OwnershipAcquisitionPending):
        field.f.rti[1].local_delete_object_instance(field.tank)
    field.cancel(1, "Name")
    field.f.rti[1].local_delete_object_instance(field.tank)


def test_other_attributes_can_be_unpublished_while_one_is_wanted(field: Field) -> None:
    """Clause 5.3: only what is being acquired must stay published."""
    field.acquire(1, "Name")
    field.f.rti[1].unpublish_object_class_attributes(field.f.object_class(TANK), field.of("Ammo"))
    with refused(OwnershipAcquisitionPending):
        field.f.rti[1].unpublish_object_class_attributes(field.f.object_class(TANK), field.of("Name"))


def test_a_transfer_leads_to_discovery(placement: Placement) -> None:
    """Clause 6.9: who subscribes to an attribute that nobody owned discovers the instance when somebody does."""
    with federation(3, placement=placement) as f:
        f.publish(0, TANK, "Name")
        f.subscribe(1, TANK, "Name")
        f.publish(1, TANK, "Ammo")
        f.subscribe(2, TANK, "Ammo")
        tank = f.register(0, TANK)
        assert f.heard(2) == []
        f.rti[1].attribute_ownership_acquisition(tank, f.attributes(TANK, "Ammo"), b"")
        assert f.heard(2) == ["discover_object_instance"]
        f.update(1, tank, TANK, "Ammo")
        assert f.heard(2) == ["reflect_attribute_values"]


def test_a_new_owner_is_advised_anew(field: Field) -> None:
    """Clauses 6.22 and 6.23: the new owner is told that updates are wanted; the former one is no longer concerned."""
    for rti in field.f.rti:
        rti.set_attribute_relevance_advisory_switch(True)
    field.f.quiet()
    field.acquire(1, "Name")
    field.f.quiet()
    field.if_wanted(0, "Name")
    assert field.all_heard() == [
        [],
        [(GAINED, {"Name"}, b""), ("turn_updates_on_for_object_instance", {"Name"})],
        [],
    ]


def test_a_new_owner_begins_with_its_own_defaults(field: Field) -> None:
    """Clauses 6.25 and 8.24: transportation and order are the owner's choice, not the attribute's."""
    f = field.f
    best_effort = f.rti[0].get_transportation_type_handle("HLAbestEffort")
    f.rti[0].request_attribute_transportation_type_change(field.tank, field.of("Name", "Ammo"), best_effort)
    f.rti[0].change_attribute_order_type(field.tank, field.of("Name"), OrderType.TIMESTAMP)
    field.acquire(1, "Name")
    field.if_wanted(0, "Name")
    f.rti[2].change_default_attribute_transportation_type(f.object_class(TANK), field.of("Name"), best_effort)
    f.quiet()
    f.update(1, field.tank, TANK, "Name")
    assert f.take(0)[0][1][3] == f.rti[0].get_transportation_type_handle("HLAreliable")
    field.acquire(2, "Name")
    field.if_wanted(1, "Name")
    f.quiet()
    f.update(2, field.tank, TANK, "Name")
    assert f.take(0)[0][1][3] == best_effort


def test_what_the_mom_imposes_is_silent_but_for_those_who_wait(field: Field) -> None:
    """HLAmodifyAttributeState of the MOM: who gains and who loses is not told; who still wants it is dealt with as ever."""
    mom = Mom(field.f)
    (name,) = field.of("Name")
    order: dict[str, Any] = {"HLAobjectInstance": field.tank, "HLAattribute": name}
    field.negotiate(0, "Name")
    field.if_available(1, "Name")
    field.acquire(2, "Name", tag=b"please")
    field.f.quiet()
    mom.send("HLAadjust.HLAmodifyAttributeState", 1, **order, HLAattributeState="Owned")
    assert field.all_heard() == [[], [(RELEASE, {"Name"}, b"please")], []]
    assert field.owner("Name") == 1
    mom.send("HLAadjust.HLAmodifyAttributeState", 1, **order, HLAattributeState="Unowned")
    assert field.all_heard() == [[], [], [(GAINED, {"Name"}, b"please")]]
    mom.send("HLAadjust.HLAmodifyAttributeState", 2, **order, HLAattributeState="Unowned")
    assert field.all_heard() == [[], [], []]
    assert field.owner("Name") is None


# --- looking ----------------------------------------------------------------------------------------------------


def test_who_owns_what(field: Field) -> None:
    """Clauses 7.17 and 7.18: one answer for each owner, one for what nobody owns."""
    f = field.f
    field.acquire(1, "Name")
    field.if_wanted(0, "Name")
    f.quiet()
    field.query(2, "Position", "Ammo", "Name", "Crew")
    assert sorted(f.take(2), key=repr) == sorted(
        [
            ("inform_attribute_ownership", (field.tank, field.of("Position", "Ammo"), f.handle(0))),
            ("inform_attribute_ownership", (field.tank, field.of("Name"), f.handle(1))),
            ("attribute_is_not_owned", (field.tank, field.of("Crew"))),
        ],
        key=repr,
    )


def mom_instance(f: Federation, i: int) -> tuple[ObjectInstanceHandle, AttributeHandle]:
    """An instance of the RTI's own, as federate i discovers it, and an attribute of it."""
    cls = f.object_class("HLAmanager.HLAfederation")
    name = f.rti[i].get_attribute_handle(cls, "HLAfederationName")
    f.rti[i].publish_object_class_attributes(cls, {name})
    f.rti[i].subscribe_object_class_attributes(cls, {name})
    f.drain(i)
    found = [args[0] for method, args in f.log[i].take() if method == "discover_object_instance"]
    return found[0], name


def test_what_the_rti_owns_is_not_to_be_had(field: Field) -> None:
    """Clause 7.18: the MOM's attributes are the RTI's."""
    f = field.f
    instance, name = mom_instance(f, 1)
    f.rti[1].query_attribute_ownership(instance, {name})
    assert f.take(1) == [("attribute_is_owned_by_rti", (instance, frozenset([name])))]
    f.rti[1].attribute_ownership_acquisition(instance, {name}, b"please")
    f.rti[1].attribute_ownership_acquisition_if_available(instance, {name}, b"if so")
    assert f.take(1) == [
        (UNAVAILABLE, (instance, frozenset([name]), b"please")),
        (UNAVAILABLE, (instance, frozenset([name]), b"if so")),
    ]
    assert not f.rti[1].is_attribute_owned_by_federate(instance, name)


@pytest.mark.parametrize(
    "service", ["divest", "negotiate", "confirm", "if_wanted", "deny", "acquire", "if_available"]
)
def test_nothing_asked_nothing_done(field: Field, service: str) -> None:
    """An empty set of attributes is no error, and nobody hears of it."""
    getattr(field, service)(0)
    assert field.all_heard() == [[], [], []]


def test_an_empty_cancellation_is_not_confirmed(field: Field) -> None:
    """Clauses 7.14 and 7.15."""
    field.cancel(0)
    field.keep(0)
    field.query(0)
    assert field.all_heard() == [[], [], []]
