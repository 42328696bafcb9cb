"""Destinations from tables (S0-12 … S0-17, S0-26): what a sender knows of whom, above a real RTI."""

from __future__ import annotations

from typing import Any

import pytest

from support.federation import NAME
from support.recording_ambassador import Recorder
from support.small_fom import fom
from weft import CallbackModel, CausalRTIambassador, EmbeddedNode, RTIambassador
from weft.federate.causal.mom import MomTables
from weft.model.errors import RTIinternalError
from weft.ordering.group_tags import split_tag
from weft.ordering.tables import TableStamp


class Group:
    """Members at one node, and a federate without the middleware that sees what they send."""

    def __init__(self, count: int, **options: Any) -> None:
        self.node = EmbeddedNode()
        self.options = options
        self.rtis: list[CausalRTIambassador] = []
        self.logs: list[Recorder] = []
        for _ in range(count):
            self.join()
        self.bare, self.seen = RTIambassador(self.node), Recorder()
        self.bare.connect(self.seen, CallbackModel.EVOKED)
        self.bare.join_federation_execution("bare", "test", NAME)
        self.event = self.bare.get_interaction_class_handle("Event")
        self.hit = self.bare.get_interaction_class_handle("Event.Hit")
        self.building = self.bare.get_object_class_handle("Building")
        self.height = self.bare.get_attribute_handle(self.building, "Height")
        self.bare.subscribe_interaction_class(self.event)
        self.bare.subscribe_object_class_attributes(self.building, {self.height})

    def join(self) -> CausalRTIambassador:
        rti, log = CausalRTIambassador(self.node, destinations="tables", **self.options), Recorder()
        rti.connect(log, CallbackModel.EVOKED)
        if not self.rtis:
            rti.create_federation_execution(NAME, [fom()])
        rti.join_federation_execution(f"federate {len(self.rtis)}", "test", NAME)
        self.rtis.append(rti)
        self.logs.append(log)
        return rti

    def drain(self) -> None:
        for _ in range(4):
            for rti in (*self.rtis, self.bare):
                while rti.evoke_callback(0.0):
                    pass

    def destinations(self) -> list[list[int]]:
        """Those that the messages name which the federate without the middleware has got."""
        self.drain()
        found = []
        for method, arguments in self.seen.take():
            if method in ("receive_interaction", "reflect_attribute_values"):
                stamp, _ = split_tag(arguments[2])
                assert isinstance(stamp, TableStamp)
                found.append(stamp.tag.destinations)
        return found


@pytest.mark.parametrize("text", [False, True])
def test_destinations_are_those_who_subscribe(text: bool) -> None:
    """S0-12, S0-17: by class with those above it, and by attribute; processes are numbers of handles (S0-15)."""
    group = Group(4, text=text)
    sender, one, two, three = group.rtis
    one.subscribe_interaction_class(group.event)
    two.subscribe_interaction_class(group.hit)
    three.subscribe_object_class_attributes(group.building, {group.height})
    for rti in group.rtis:
        rti.publish_interaction_class(group.event)
        rti.publish_interaction_class(group.hit)
    sender.publish_object_class_attributes(group.building, {group.height})
    building = sender.register_object_instance(group.building)
    group.drain()
    sender.send_interaction(group.event, {}, b"")
    sender.send_interaction(group.hit, {}, b"")
    sender.update_attribute_values(building, {group.height: b"x"}, b"")
    assert group.destinations() == [[2], [2, 3], [4]]
    one.unsubscribe_interaction_class(group.event)
    three.unsubscribe_object_class(group.building)
    group.drain()
    sender.send_interaction(group.hit, {}, b"")
    sender.update_attribute_values(building, {group.height: b"x"}, b"")
    assert group.destinations() == [[3], []]


def test_who_has_said_nothing_is_named_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """S0-16: rather too many than too few; the MOM, if it answers, says who need not be."""
    for asks, named in ((False, [1]), (True, [])):
        if not asks:
            monkeypatch.setattr(MomTables, "ask", lambda *_: None)
        group = Group(2)
        second = group.rtis[1]
        while second.evoke_callback(0.0):  # the first says nothing meanwhile
            pass
        second.publish_interaction_class(group.event)
        second.send_interaction(group.event, {}, b"")
        group.bare.evoke_callback(0.0)
        ((_, _, tag, *_),) = group.seen.of("receive_interaction")
        stamp, _ = split_tag(tag)
        assert isinstance(stamp, TableStamp)
        assert stamp.tag.destinations == named
        monkeypatch.undo()


def test_the_mom_is_asked_at_joining() -> None:
    """S0-13: what others subscribed to before is known before they have said a word, and the federate hears nothing of it."""
    group = Group(1)
    first = group.rtis[0]
    first.subscribe_interaction_class(group.event)
    first.subscribe_object_class_attributes(group.building, {group.height})
    second = group.join()
    while second.evoke_callback(0.0):
        pass
    seat = second._seat
    assert seat is not None
    (peer,) = seat.party.peers.values()
    assert (peer.reported, peer.greeted) == (True, False)
    assert {"~HLAinteractionRoot.Event", "~HLAobjectRoot.Building/Height"} <= peer.wants
    group.drain()
    assert (peer.reported, peer.greeted) == (True, True)
    assert peer.wants == {"HLAinteractionRoot.Event", "HLAobjectRoot.Building/Height"}
    assert group.logs[1].calls == []


def test_stamps_and_information_are_counted_apart() -> None:
    """S0-26: what the order costs by its stamps, and what by what members tell one another."""
    group = Group(3)
    for rti in group.rtis:
        rti.publish_interaction_class(group.event)
        rti.subscribe_interaction_class(group.event)
    group.drain()
    group.rtis[0].send_interaction(group.event, {}, b"")
    group.drain()
    before = group.rtis[0].counts
    for _ in range(20):
        group.rtis[0].send_interaction(group.event, {}, b"")
    after = group.rtis[0].counts
    assert after.messages == before.messages + 20
    assert after.stamp_bytes > before.stamp_bytes
    assert after.notices == before.notices


def test_who_is_not_named_is_not_involved() -> None:
    """It hears nothing, holds nothing, and its messages depend on nothing."""
    group = Group(3)
    group.rtis[1].subscribe_interaction_class(group.event)
    group.rtis[0].publish_interaction_class(group.event)
    group.drain()
    for _ in range(5):
        group.rtis[0].send_interaction(group.event, {}, b"")
    group.drain()
    assert group.rtis[1].counts.delivered == 5
    assert (group.rtis[2].counts.delivered, group.rtis[2].counts.noted) == (0, 0)


class Wild(RTIambassador):
    """Numbers federates as it likes."""

    def normalize_federate_handle(self, federate: Any) -> int:
        return 1 << 31


def test_numbers_that_are_too_large_are_refused() -> None:
    """S0-15: a vector would have an entry for each; the error says what to do, and nobody is left half joined."""
    rti = CausalRTIambassador(above=Wild(EmbeddedNode()), destinations="tables")
    rti.connect(Recorder(), CallbackModel.EVOKED)
    rti.create_federation_execution(NAME, [fom()])
    with pytest.raises(RTIinternalError, match='destinations="all"'):
        rti.join_federation_execution("one", "test", NAME)
    rti.destroy_federation_execution(NAME)


def test_the_options_are_checked() -> None:
    with pytest.raises(ValueError, match="tables"):
        CausalRTIambassador(destinations="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="envelope"):
        CausalRTIambassador(carrier="pigeon")  # type: ignore[arg-type]


def test_an_envelope_leaves_the_tag_alone() -> None:
    """S0-11: who does without the middleware sees the tag as it was sent."""
    group = Group(2, carrier="envelope")
    group.rtis[0].publish_interaction_class(group.event)
    group.rtis[1].subscribe_interaction_class(group.event)
    group.drain()
    for tag in (b"first", b"second"):  # after the first the RTI has said that the class is reliable
        group.rtis[0].send_interaction(group.event, {}, tag)
        group.drain()
    assert [arguments[2] for arguments in group.seen.of("receive_interaction")][-1] == b"second"
    assert [arguments[2] for arguments in group.logs[1].of("receive_interaction")] == [b"first", b"second"]
    assert group.rtis[1].counts.delivered == 2
