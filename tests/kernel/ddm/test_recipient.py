"""What one member gets of a message (6.11, 6.13), asked of it alone, against the tables of the object model; and against what the
pipeline asks of all members at once."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from support.bare_federation import HERE, attributes, bare, interaction_class, object_class, step_of
from support.small_fom import INTERACTION_ROOT, INTERACTIONS, attributes_of, lineage
from weft.kernel.ddm.recipient import count, for_member
from weft.kernel.message import recipients
from weft.kernel.services import declaration, object_management
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.messages import Interaction, Recipient, Update
from weft.model.handles import AttributeHandle, ObjectInstanceHandle

TANK = "Vehicle.GroundVehicle.Tank"
NAMES = sorted(set(attributes_of(TANK)) - {"HLAprivilegeToDeleteObject"})
ABOVE = ("Vehicle", "Vehicle.GroundVehicle", TANK)
LAWS = settings(max_examples=40, deadline=None)
CHOSEN = st.frozensets(st.sampled_from(NAMES))


def owned_tank(federation: Federation, owner: Member) -> ObjectInstanceHandle:
    tank = object_class(federation, TANK)
    step = step_of(federation, owner)
    declaration.publish_object_class_attributes(step, tank.handle, attributes(tank, NAMES))
    return object_management.register_object_instance(step, tank.handle)


def got(found: list[Recipient], sent: list[AttributeHandle]) -> dict[bytes, set[bytes]]:
    """Transportation, and the attributes that come in that callback."""
    return {
        bytes(one.transportation or b""): set(sent if one.attributes is None else one.attributes)
        for one in found
    }


@LAWS
@given(st.lists(st.tuples(st.sampled_from(ABOVE), CHOSEN, st.booleans()), max_size=6), CHOSEN)
def test_an_update_comes_in_a_callback_for_each_transportation(
    calls: list[tuple[str, frozenset[str], bool]], sent: frozenset[str]
) -> None:
    """Of those attributes that it subscribes to at the class at which it knows the instance."""
    federation, members = bare(HERE, HERE)
    owner, member = members
    instance = federation.instances[owned_tank(federation, owner)]
    subscribed: dict[str, set[str]] = defaultdict(set)
    for name, chosen, wanted in calls:
        entry = object_class(federation, name)
        handles = attributes(entry, chosen & set(attributes_of(name)))
        step = step_of(federation, member)
        if wanted:
            declaration.subscribe_object_class_attributes(step, entry.handle, handles)
            subscribed[name].update(chosen & set(attributes_of(name)))
        else:
            declaration.unsubscribe_object_class_attributes(step, entry.handle, handles)
            subscribed[name].difference_update(chosen)
    tank = object_class(federation, TANK)
    handles = attributes(tank, sorted(sent))
    message = Update(owner.handle, instance.handle, dict.fromkeys(handles, b""), b"", None, None)
    found = for_member(federation, member, message)
    known = federation.known_class(member, instance)
    expected: dict[bytes, set[bytes]] = defaultdict(set)
    for name in ABOVE:
        if object_class(federation, name).handle == known:
            for attribute in sent & subscribed[name]:
                way = federation.catalog.transportation_names[attributes_of(TANK)[attribute]]
                expected[way].add(tank.names[attribute])
    assert got(found, handles) == expected
    if handles:
        asked_at_once = recipients.of_update(step_of(federation, owner), owner, instance, handles, None)
        assert got(asked_at_once.here, handles) == expected


@LAWS
@given(
    st.lists(st.tuples(st.sampled_from(sorted(INTERACTIONS)), st.booleans()), max_size=6),
    st.sampled_from(sorted(INTERACTIONS)),
)
def test_an_interaction_comes_once_at_the_first_class_above(calls: list[tuple[str, bool]], sent: str) -> None:
    federation, (sender, member) = bare(HERE, HERE)
    subscribed: set[str] = set()
    for name, wanted in calls:
        handle = interaction_class(federation, name).handle
        if wanted:
            declaration.subscribe_interaction_class(step_of(federation, member), handle)
            subscribed.add(name)
        else:
            declaration.unsubscribe_interaction_class(step_of(federation, member), handle)
            subscribed.discard(name)
    entry = interaction_class(federation, sent)
    way = entry.transportation
    message = Interaction(sender.handle, entry.handle, {}, b"", way, None, None)
    found = for_member(federation, member, message)
    above = [name for name in lineage(sent, INTERACTION_ROOT) if name in subscribed]
    assert [one.received.name for one in found if one.received] == [
        f"{INTERACTION_ROOT}.{name}" for name in above[:1]
    ]
    for one in found:
        count(federation, message, one)
    assert member.tally.interactions_received == ({(entry.handle, way): 1} if above else {})


def test_nothing_comes_of_what_is_gone() -> None:
    """Of an instance that is not there, or that the member does not know; but of one that was, if the caller still has it."""
    federation, (owner, member) = bare(HERE, HERE)
    vehicle = object_class(federation, "Vehicle")
    handles = attributes(vehicle, ["Name"])
    declaration.publish_object_class_attributes(step_of(federation, owner), vehicle.handle, handles)
    handle = object_management.register_object_instance(step_of(federation, owner), vehicle.handle)
    message = Update(owner.handle, handle, dict.fromkeys(handles, b""), b"", None, None)
    assert for_member(federation, member, message) == []
    declaration.subscribe_object_class_attributes(step_of(federation, member), vehicle.handle, handles)
    assert len(for_member(federation, member, message)) == 1
    instance = federation.instances.pop(handle)
    assert for_member(federation, member, message) == []
    assert len(for_member(federation, member, message, instance)) == 1
