"""Object management (clause 6) against dictionaries: names and instances, who knows them, and which types they have."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support.bare_federation import HERE, attributes, bare, object_class, step_of, told
from support.small_fom import BEST_EFFORT, PRIVILEGE, RELIABLE, attributes_of
from weft.kernel.services import declaration, object_management
from weft.kernel.state import overrides
from weft.kernel.state.federation import Federation, Member
from weft.model.enums import OrderType
from weft.model.errors import (
    AttributeNotOwned,
    DeletePrivilegeNotHeld,
    FederateOwnsAttributes,
    IllegalName,
    NameSetWasEmpty,
    ObjectClassNotPublished,
    ObjectInstanceNameInUse,
    ObjectInstanceNameNotReserved,
    ObjectInstanceNotKnown,
    RTIexception,
)
from weft.model.handles import ObjectInstanceHandle

TANK = "Vehicle.GroundVehicle.Tank"
WHO = st.integers(0, 2)
NAMES = st.sampled_from(["a", "b", "c"])
SETS = st.frozensets(NAMES, max_size=3)
LAWS = settings(max_examples=60, deadline=None)


def federation_of_three() -> tuple[Federation, list[Member]]:
    """All publish and subscribe to vehicles; the first alone publishes tanks, which the others know as vehicles."""
    federation, members = bare(HERE, HERE, HERE)
    for member in members:
        step = step_of(federation, member)
        for name in ("Vehicle", TANK) if member is members[0] else ("Vehicle",):
            entry = object_class(federation, name)
            declaration.publish_object_class_attributes(
                step, entry.handle, [*attributes(entry, attributes_of(name)), entry.names[PRIVILEGE]]
            )
        vehicle = object_class(federation, "Vehicle")
        declaration.subscribe_object_class_attributes(
            step, vehicle.handle, attributes(vehicle, ["Position", "Name"])
        )
    return federation, members


def outcome(function: Any, *arguments: Any) -> Any:
    """What it returns, or the exception that it raises."""
    try:
        return function(*arguments)
    except RTIexception as error:
        return type(error)


class Names:
    """Clauses 6.2 to 6.8: a name is free, reserved by one federate, or the name of one instance."""

    def __init__(self) -> None:
        self.reserved: dict[str, int] = {}
        self.used: set[str] = set()

    def reserve(self, who: int, names: frozenset[str]) -> bool:
        if self.reserved.keys() & names or self.used & names:
            return False
        self.reserved.update(dict.fromkeys(names, who))
        return True

    def release(self, who: int, names: frozenset[str]) -> type[RTIexception] | None:
        if any(self.reserved.get(name) != who for name in names):
            return ObjectInstanceNameNotReserved
        for name in names:
            del self.reserved[name]
        return None

    def register(self, who: int, name: str) -> type[RTIexception] | None:
        if name in self.used:
            return ObjectInstanceNameInUse
        if self.reserved.get(name) != who:
            return ObjectInstanceNameNotReserved
        del self.reserved[name]
        self.used.add(name)
        return None


@LAWS
@given(
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from(["reserve", "register"]), WHO, NAMES),
            st.tuples(st.sampled_from(["reserve all", "release"]), WHO, SETS),
            st.tuples(st.just("delete"), WHO, NAMES),
        ),
        min_size=10,
        max_size=40,
    )
)
def test_a_name_belongs_to_one(calls: list[tuple[str, int, Any]]) -> None:
    """Clauses 6.2 to 6.8, 6.14: whatever is called; a set of names is reserved whole or not at all."""
    federation, members = federation_of_three()
    of_rti = set(federation.objects.names)
    model = Names()
    for call, who, what in calls:
        member = members[who]
        step = step_of(federation, member)
        if call == "reserve":
            object_management.reserve_object_instance_name(step, what)
            said = "succeeded" if model.reserve(who, frozenset([what])) else "failed"
            assert told(step, member) == [(f"object_instance_name_reservation_{said}", (what,))]
        elif call == "reserve all" and what:
            object_management.reserve_multiple_object_instance_names(step, what)
            said = "succeeded" if model.reserve(who, what) else "failed"
            assert told(step, member) == [(f"multiple_object_instance_name_reservation_{said}", (what,))]
        elif call == "reserve all":
            found = outcome(object_management.reserve_multiple_object_instance_names, step, what)
            assert found is NameSetWasEmpty
        elif call == "release":
            found = outcome(object_management.release_multiple_object_instance_names, step, what)
            assert found is model.release(who, what)
        elif call == "register":
            vehicle = object_class(federation, "Vehicle").handle
            found = outcome(object_management.register_object_instance, step, vehicle, what)
            expected = model.register(who, what)
            assert found is expected if expected else isinstance(found, ObjectInstanceHandle)
        elif what in model.used:
            instance = federation.objects.names[what]
            found = outcome(object_management.delete_object_instance, step, instance.handle, b"")
            owns = instance.producer == member.handle
            assert found is (None if owns else DeletePrivilegeNotHeld)
            if owns:
                model.used.discard(what)
    assert federation.objects.reserved == {name: members[who].handle for name, who in model.reserved.items()}
    assert set(federation.objects.names) - of_rti == model.used


@LAWS
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["register", "register tank", "delete", "forget", "subscribe"]),
            WHO,
            st.integers(0, 5),
        ),
        min_size=10,
        max_size=40,
    )
)
def test_who_knows_an_instance(calls: list[tuple[str, int, int]]) -> None:
    """Clauses 6.9, 6.14 to 6.18: whoever subscribes discovers it once and hears once that it is gone; who has forgotten it
    does not know it, and discovers it when it subscribes again."""
    federation, members = federation_of_three()
    of_rti = set(federation.instances)
    knows: dict[ObjectInstanceHandle, set[int]] = {}
    owner: dict[ObjectInstanceHandle, int] = {}
    for call, who, at in calls:
        member = members[who]
        step = step_of(federation, member)
        chosen = list(owner)[at % len(owner)] if owner else None
        before = {handle: set(known) for handle, known in knows.items()}
        gone: list[ObjectInstanceHandle] = []
        if call.startswith("register"):
            entry = object_class(federation, TANK if call == "register tank" else "Vehicle")
            handle = outcome(object_management.register_object_instance, step, entry.handle)
            if call == "register tank" and who != 0:
                assert handle is ObjectClassNotPublished
            else:
                knows[handle], owner[handle] = {0, 1, 2}, who
                before[handle] = {who}
        elif call == "subscribe":
            vehicle = object_class(federation, "Vehicle")
            declaration.subscribe_object_class_attributes(step, vehicle.handle, [vehicle.names["Name"]])
            for known in knows.values():
                known.add(who)
        elif chosen is not None and call == "delete":
            found = outcome(object_management.delete_object_instance, step, chosen, b"")
            if who not in knows[chosen]:
                assert found is ObjectInstanceNotKnown
            else:
                assert found is (None if owner[chosen] == who else DeletePrivilegeNotHeld)
            if found is None:
                gone = [chosen]
                del knows[chosen], owner[chosen]
        elif chosen is not None and call == "forget":
            found = outcome(object_management.local_delete_object_instance, step, chosen)
            if who not in knows[chosen]:
                assert found is ObjectInstanceNotKnown
            else:
                assert found is (FederateOwnsAttributes if owner[chosen] == who else None)
                if found is None:
                    knows[chosen].remove(who)
                    before[chosen].remove(who)
        for number, one in enumerate(members):
            new = [handle for handle, known in knows.items() if number in known - before[handle]]
            over = [handle for handle in gone if number in before[handle] - {who}]
            heard = told(step, one)
            discovered = [a[0] for m, a in heard if m == "discover_object_instance"]
            assert Counter(discovered) == Counter(new)
            assert [a[0] for m, a in heard if m == "remove_object_instance"] == over
            for handle, known in knows.items():
                assert bool(federation.instances[handle].knowledge.mask & one.bit) == (number in known)
    assert set(federation.instances) - of_rti == set(knows)


@LAWS
@given(
    st.lists(
        st.tuples(st.sampled_from(["of class", "of instance"]), WHO, st.booleans()), min_size=2, max_size=8
    ),
    st.booleans(),
)
def test_types_are_those_that_were_chosen_last(changes: list[tuple[str, int, bool]], late: bool) -> None:
    """Clauses 6.25, 6.27, 8.24, 8.25: of an instance what its owner said; else the registrant's defaults as they were when it
    was registered, else those of the object model."""
    federation, members = federation_of_three()
    vehicle = object_class(federation, "Vehicle")
    position = vehicle.names["Position"]
    ways = federation.catalog.transportation_names
    reliable, best = ways[RELIABLE], ways[BEST_EFFORT]
    orders = {True: OrderType.TIMESTAMP, False: OrderType.RECEIVE}
    expected = best, OrderType.RECEIVE
    register = object_management.register_object_instance
    handle = None if late else register(step_of(federation, members[0]), vehicle.handle)
    for which, who, on in changes:
        step = step_of(federation, members[who])
        way = reliable if on else best
        if which == "of class":
            object_management.change_default_attribute_transportation_type(
                step, vehicle.handle, [position], way
            )
            object_management.change_default_attribute_order_type(
                step, vehicle.handle, [position], orders[on]
            )
            if handle is None and who == 0:
                expected = way, orders[on]
        elif handle is not None:
            change = object_management.request_attribute_transportation_type_change
            found = outcome(change, step, handle, [position], way)
            again = outcome(
                object_management.change_attribute_order_type, step, handle, [position], orders[on]
            )
            assert found is again is (None if who == 0 else AttributeNotOwned)
            if who == 0:
                expected = way, orders[on]
    if handle is None:
        handle = register(step_of(federation, members[0]), vehicle.handle)
    instance = federation.instances[handle]
    found = overrides.transportation_of(instance, position), overrides.attribute_order(instance, position)
    assert found == expected


@given(st.sampled_from(["", "HLA1", "HLAfederation", "\0", "x" * 100_000]))
def test_names_of_the_rti_and_absurd_ones_are_nobodys(name: str) -> None:
    """Clause 6.2: refused alone and among others, and then nothing is reserved."""
    federation, members = federation_of_three()
    step = step_of(federation, members[0])
    assert outcome(object_management.reserve_object_instance_name, step, name) is IllegalName
    assert outcome(object_management.reserve_multiple_object_instance_names, step, ["a", name]) is IllegalName
    assert (federation.objects.reserved, step.effects) == ({}, [])
