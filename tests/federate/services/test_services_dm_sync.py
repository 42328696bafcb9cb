"""Declarations as of a logical time (clause 5; paper 004; S4-1, S4-2, S4-21): each effect, and what goes by no time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from support import simulated_nodes
from support.federation import Federation, new_directory
from support.random_declarations import BEACON, FLARE, LIGHT, SIGNAL, SOUND, plain_fom
from support.saves import restore, save
from support.simulated_nodes import TWO_DOMAINS
from support.timed_federation import EVENT, Timed
from weft import EmbeddedNode, OrderType
from weft.host import NodeHost
from weft.host.settings import MeshDdmSettings, read_rid
from weft.host.simulated.fabric import FabricNetwork, FabricProfile
from weft.model.errors import (
    InteractionClassNotPublished,
    InvalidLogicalTime,
    ObjectClassNotPublished,
    TimeRegulationIsNotEnabled,
)

pytestmark = pytest.mark.over_nodes

REFLECT, HEAR, DISCOVER = "reflect_attribute_values", "receive_interaction", "discover_object_instance"
PLACES = ("one node", "three nodes")


class Declared(Timed):
    """Federate 0 sends; nobody has subscribed to anything yet."""

    def __init__(
        self,
        where: str,
        declarations: str = "timed",
        n: int = 2,
        lookahead: Any = 1,
        time: str = "HLAinteger64Time",
        nodes: Sequence[NodeHost] | None = None,
    ) -> None:
        node = EmbeddedNode(save_directory=new_directory(), declarations=declarations)
        if where == PLACES[1]:
            nodes = simulated_nodes.sites(n, read_rid(MeshDdmSettings(declarations=declarations)))
        Federation.__init__(self, n, model=plain_fom(), time=time, node=node, nodes=nodes)
        self.all_timed(lookahead)
        rti = self.rti[0]
        for name in (SIGNAL, FLARE):
            rti.publish_interaction_class(self.interaction(name))
        rti.publish_object_class_attributes(self.object_class(BEACON), self.lamps(LIGHT, SOUND))
        for i in range(n):
            self.take(i)

    def lamps(self, *names: str) -> set[Any]:
        return {self._asked.get_attribute_handle(self.object_class(BEACON), name) for name in names}

    def object_class(self, name: str) -> Any:
        return self._asked.get_object_class_handle(name)

    def say(self, time: Any, tag: bytes, name: str = SIGNAL, i: int = 0) -> Any:
        told = self.rti[i].send_interaction(self.interaction(name), {}, tag, self.time(time))
        assert told is not None
        return told.handle

    def shine(self, time: Any, tag: bytes, instance: Any, *names: str) -> None:
        values = dict.fromkeys(self.lamps(*names), b"on")
        self.rti[0].update_attribute_values(instance, values, tag, self.time(time))

    def hear(self, time: Any = None, name: str = SIGNAL, i: int = 1) -> None:
        self.rti[i].subscribe_interaction_class(self.interaction(name), **self.at(time))

    def deafen(self, time: Any = None, name: str = SIGNAL, i: int = 1) -> None:
        self.rti[i].unsubscribe_interaction_class(self.interaction(name), **self.at(time))

    def at(self, time: Any) -> dict[str, Any]:
        return {} if time is None else {"time": self.time(time)}

    def step(self, time: Any, *who: int, kind: str = "TAR") -> None:
        for i in who or sorted(self.present):
            self.ask(i, kind, time)

    def heard(self, i: int = 1) -> list[Any]:
        """What it heard and was granted: tags, with the attributes of reflections."""
        found: list[Any] = []
        lamps = {self._asked.get_attribute_handle(self.object_class(BEACON), n): n for n in (LIGHT, SOUND)}
        for method, arguments in self.take(i):
            if method == HEAR:
                found.append(arguments[2].decode())
            elif method == REFLECT:
                found.append((arguments[2].decode(), *sorted(lamps[one] for one in arguments[1])))
            elif method == "time_advance_grant":
                found.append(arguments[0].value)
        return found


@pytest.fixture(params=PLACES)
def where(request: pytest.FixtureRequest) -> str:
    place: str = request.param
    return place


# --- what is subscribed as of a time ----------------------------------------------------------------------------


def test_what_was_sent_before_a_subscription_as_of_an_earlier_time_comes_all_the_same(where: str) -> None:
    """Figures 3 and 4 (S4-13) without any region: the class has no dimensions."""
    f = Declared(where)
    for time in (9, 10, 11):
        f.say(time, b"%d" % time)
    f.hear(10)
    f.say(15, b"15")
    f.step(20)
    assert f.heard() == ["10", "11", "15", 20]


def test_by_wall_clock_it_is_lost(where: str) -> None:
    f = Declared(where)
    f.say(10, b"10")
    f.hear()
    f.say(11, b"11")
    f.step(20)
    assert f.heard() == ["11", 20]


def test_a_subscription_that_ends_as_of_a_time(where: str) -> None:
    """What waits for the federate and is at that time or later is dropped; what comes later never comes."""
    f = Declared(where)
    f.hear()
    for time in (5, 10, 15):
        f.say(time, b"%d" % time)
    f.deafen(10)
    f.say(7, b"7")
    f.say(12, b"12")
    f.step(20)
    assert f.heard() == ["5", "7", 20]


def test_changes_come_in_any_order_of_their_times(where: str) -> None:
    f = Declared(where)
    for time in range(2, 20, 2):
        f.say(time, b"%d" % time)
    f.deafen(12)
    f.hear(16)
    f.hear(6)
    f.step(20)
    assert f.heard() == ["6", "8", "10", "16", "18", 20]


def test_an_interaction_is_received_at_the_nearest_class_as_of_its_time(where: str) -> None:
    """5.1.3: the class that it is received at changes with time, too."""
    f = Declared(where)
    for time in (5, 10, 15):
        f.say(time, b"%d" % time, FLARE)
    f.hear(2)
    f.hear(8, FLARE)
    f.deafen(12, FLARE)
    f.step(20)
    names = [
        f.rti[1].get_interaction_class_name(arguments[0]).removeprefix("HLAinteractionRoot.")
        for method, arguments in f.take(1, HEAR)
    ]
    assert names == [SIGNAL, FLARE, SIGNAL]


def test_attributes_each_as_of_its_own_time(where: str) -> None:
    """S4-21: one message, of which each attribute goes by its own subscription; the instance is discovered at once."""
    f = Declared(where)
    beacon = f.object_class(BEACON)
    lamp = f.rti[0].register_object_instance(beacon)
    for time in (4, 8, 12):
        f.shine(time, b"%d" % time, lamp, LIGHT, SOUND)
    f.rti[1].subscribe_object_class_attributes(beacon, f.lamps(LIGHT), time=f.time(6))
    assert [one[1][0] for one in f.take(1, DISCOVER)] == [lamp]
    f.rti[1].subscribe_object_class_attributes(beacon, f.lamps(SOUND), time=f.time(10))
    f.shine(7, b"7", lamp, SOUND)
    f.rti[1].unsubscribe_object_class(beacon, time=f.time(14))
    f.shine(16, b"16", lamp, LIGHT)
    f.step(20)
    assert f.heard() == [("8", LIGHT), ("12", LIGHT, SOUND), 20]


def test_what_has_dimensions_needs_no_setting(where: str) -> None:
    """Their messages are kept anyway; plain subscriptions of them take a time like those with regions."""
    f = Declared(where, "")
    f.rti[0].publish_interaction_class(f.interaction(EVENT))
    f.rti[0].change_interaction_order_type(f.interaction(EVENT), OrderType.TIMESTAMP)
    for time in (5, 10):
        f.say(time, b"%d" % time, EVENT)
    f.hear(8, EVENT)
    f.deafen(15, EVENT)
    f.say(20, b"20", EVENT)
    f.step(30)
    assert f.heard() == ["10", 30]


def test_who_it_is_refused_to(where: str) -> None:
    """As changes of regions: not regulating, below time and lookahead, of another kind; and where nothing was kept."""
    f = Declared(where)
    f.step(10)
    with pytest.raises(InvalidLogicalTime, match="may change regions and subscriptions at 11 or later"):
        f.hear(10)
    with pytest.raises(InvalidLogicalTime, match="may change publications at 11 or later"):
        f.rti[0].unpublish_interaction_class(f.interaction(SIGNAL), time=f.time(10))
    f.hear(11)
    f.rti[1].disable_time_regulation()
    with pytest.raises(TimeRegulationIsNotEnabled, match="not time-regulating"):
        f.hear(30)
    off = Declared(where, "")
    with pytest.raises(
        InvalidLogicalTime, match=r"Signal as of 9.*no dimensions.*ddm.declarations = \"timed\""
    ):
        off.hear(9)
    off.step(30)  # the refused change holds nobody
    assert off.heard() == [30]


def test_receive_order_goes_by_the_last_call(where: str) -> None:
    f = Declared(where)
    f.rti[1].enable_asynchronous_delivery()
    f.hear(50)
    f.rti[0].send_interaction(f.interaction(SIGNAL), {}, b"at once")
    assert f.heard() == ["at once"]
    f.deafen(60)
    f.rti[0].send_interaction(f.interaction(SIGNAL), {}, b"no more")
    f.say(55, b"between")
    f.step(70)
    assert f.heard() == ["between", 70]


def test_a_change_without_a_time_replaces_what_was_to_come(where: str) -> None:
    f = Declared(where)
    f.hear(10)
    f.deafen()
    for time in (5, 15):
        f.say(time, b"%d" % time)
    f.step(20)
    assert f.heard() == [20]


@pytest.mark.parametrize("seed", range(8))
def test_what_crossed_a_plain_change_is_not_lost_to_a_change_as_of_a_time(seed: int) -> None:
    """The receiver's node drops a message of a class that was unsubscribed while it was under way; then it is wanted again."""
    rid = read_rid(MeshDdmSettings(declarations="timed"))
    network = FabricNetwork(TWO_DOMAINS, seed, FabricProfile(delay=0.005, jitter=0.05), rid=rid)
    # The home lies between the sender (2) and who unsubscribes (1): news of that may be faster than the message.
    f = Declared("", n=3, nodes=[network.at("S2"), network.at("S3"), network.at("S1")])
    network.settle()
    for i in range(3):
        f.take(i)
    f.rti[2].publish_interaction_class(f.interaction(SIGNAL))
    f.hear()
    f.hear(3, FLARE)  # somebody has used times
    network.settle()
    f.say(10, b"10", i=2)
    f.deafen()
    network.settle()
    f.hear(2)
    network.settle()
    f.step(20)
    network.settle()
    assert f.heard() == ["10", 20]


def test_a_subscription_that_is_over_leaves_the_class_above(where: str) -> None:
    """Who has unsubscribed as of a time that never was subscribed to discovers at the class that it is subscribed to."""
    f = Declared(where)
    root = f.object_class("HLAobjectRoot")
    privilege = f.rti[1].get_attribute_handle(root, "HLAprivilegeToDeleteObject")
    f.rti[1].unsubscribe_object_class(f.object_class(BEACON), time=f.time(5))
    f.rti[1].subscribe_object_class_attributes(root, {privilege})
    f.rti[0].register_object_instance(f.object_class(BEACON))
    assert root in [arguments[1] for _, arguments in f.take(1, DISCOVER)]


def test_a_subscription_that_is_over_for_everybody_discovers_nothing_more(where: str) -> None:
    """As long as somebody may send something of before its end, an instance is discovered for that."""
    f = Declared(where, "regulating")
    beacon = f.object_class(BEACON)
    f.rti[1].subscribe_object_class_attributes(beacon, f.lamps(LIGHT))
    f.step(5)
    f.rti[1].unsubscribe_object_class(beacon)  # as of 6
    f.rti[0].register_object_instance(beacon)
    assert len(f.take(1, DISCOVER)) == 1
    f.step(10)
    f.step(11)  # by asking again it says how far it has come
    f.take(1)
    f.rti[0].register_object_instance(beacon)
    assert f.take(1, DISCOVER) == []


# --- what is published as of a time -----------------------------------------------------------------------------


def test_it_sends_what_it_publishes_as_of_the_time_stamp(where: str) -> None:
    """S4-21: in time stamp order as of the stamp; else when the federate has come so far."""
    f = Declared(where)
    f.hear()
    signal = f.interaction(SIGNAL)
    f.rti[0].unpublish_interaction_class(signal, time=f.time(10))
    f.say(9, b"9")
    with pytest.raises(InteractionClassNotPublished, match="as of 10"):
        f.say(10, b"10")
    f.rti[0].publish_interaction_class(signal, time=f.time(20))
    f.say(25, b"25")
    f.rti[0].send_interaction(signal, {}, b"in receive order")
    f.step(12)
    with pytest.raises(InteractionClassNotPublished, match="does not publish"):
        f.rti[0].send_interaction(signal, {}, b"")
    f.say(21, b"21")
    f.step(19)
    f.rti[0].send_interaction(signal, {}, b"again")
    f.step(30)
    assert f.heard() == ["in receive order", "9", 12, 19, "again", "21", "25", 30]


def test_attributes_are_owned_until_the_time_has_come(where: str) -> None:
    f = Declared(where)
    beacon = f.object_class(BEACON)
    lamp = f.rti[0].register_object_instance(beacon)
    f.rti[1].subscribe_object_class_attributes(beacon, f.lamps(LIGHT, SOUND))
    f.rti[0].unpublish_object_class_attributes(beacon, f.lamps(SOUND), time=f.time(10))
    f.shine(9, b"9", lamp, LIGHT, SOUND)
    f.shine(15, b"15", lamp, LIGHT)
    with pytest.raises(InvalidLogicalTime, match="does not publish Sound"):
        f.shine(10, b"10", lamp, SOUND)
    (sound,) = f.lamps(SOUND)
    assert f.rti[0].is_attribute_owned_by_federate(lamp, sound)
    f.step(9)
    assert not f.rti[0].is_attribute_owned_by_federate(lamp, sound)
    f.rti[0].unpublish_object_class(beacon, time=f.time(12))
    f.step(20)
    with pytest.raises(ObjectClassNotPublished):
        f.rti[0].register_object_instance(beacon)
    assert f.heard() == [("9", LIGHT, SOUND), 9, ("15", LIGHT), 20]


# --- calls without a time, in a federation that counts them as of one --------------------------------------------


def test_plain_calls_count_as_of_time_plus_lookahead(where: str) -> None:
    """S4-21: federates that know nothing of Weft lose nothing, and hear the same in every run."""
    f = Declared(where, "regulating", lookahead=2)
    for time in (4, 7, 12):
        f.say(time, b"%d" % time)
    f.step(5)
    f.hear()  # as of 7
    f.say(9, b"9")
    f.step(8)
    f.deafen()  # as of 10
    f.say(10, b"10")
    f.step(20)
    assert f.heard() == [5, "7", 8, "9", 20]


def test_with_regions_too(where: str) -> None:
    f = Declared(where, "regulating", lookahead=2)
    event = f.interaction(EVENT)
    for i in (0, 1):
        f.rti[i].publish_interaction_class(event)
    f.rti[0].change_interaction_order_type(event, OrderType.TIMESTAMP)
    lane = f.rti[1].get_dimension_handle("Lane")
    regions = []
    for i in (0, 1):
        regions.append(f.rti[i].create_region({lane}))
        f.rti[i].commit_region_modifications({regions[-1]})
    for time in (1, 4, 9):
        if time > 1:
            f.rti[0].send_interaction_with_regions(event, {}, {regions[0]}, b"%d" % time, f.time(time))
    f.rti[1].subscribe_interaction_class_with_regions(event, {regions[1]})  # as of 2
    f.step(5)
    f.rti[1].unsubscribe_interaction_class_with_regions(event, {regions[1]})  # as of 7
    f.step(20)
    assert f.heard() == ["4", 5, 20]


def test_a_call_while_it_asks_for_a_time_counts_before_its_grant(where: str) -> None:
    """It has not been given what is asked for, so what comes late is not late."""
    f = Declared(where, "regulating", lookahead=2)
    f.say(4, b"4")
    f.say(8, b"8")
    f.ask(1, "TAR", 10)
    f.hear()  # as of 2
    f.ask(0, "TAR", 20)
    assert f.heard() == ["4", "8", 10]


def test_a_call_while_it_asks_for_the_next_message_counts_at_once(where: str) -> None:
    """When it is granted others know before it does; so nothing may come to it sooner."""
    f = Declared(where, "regulating", lookahead=2)
    f.say(4, b"4")
    f.ask(1, "NMR", 1000)
    f.hear()
    f.say(8, b"8")
    f.ask(0, "TAR", 20)
    assert f.heard() == ["8", 8]


@pytest.mark.parametrize("time", ["HLAinteger64Time", "HLAfloat64Time"])
def test_without_lookahead_what_is_over_is_over(where: str, time: str) -> None:
    """8.1: who was granted all messages of a time changes nothing as of it, but the next there is."""
    f = Declared(where, "regulating", lookahead=0, time=time)
    f.say(5, b"5")
    f.say(6, b"6")
    f.step(5)
    f.hear()
    f.step(10)
    assert f.heard() == [5, "6", 10]


def test_who_does_not_regulate_declares_at_once(where: str) -> None:
    f = Declared(where, "regulating")
    f.rti[1].disable_time_regulation()
    f.say(5, b"5")
    f.hear()
    f.say(6, b"6")
    f.step(10)
    assert f.heard() == ["6", 10]


def test_the_later_call_counts_though_it_regulates_anew(where: str) -> None:
    """With a smaller lookahead its second call would be as of an earlier time than its first."""
    f = Declared(where, "regulating", lookahead=8)
    f.deafen()  # as of 8
    f.rti[1].disable_time_regulation()
    f.rti[1].enable_time_regulation(f.factory.make_interval(1))
    f.take(1)
    f.hear()  # not as of 1, which would end at 8
    f.say(20, b"20")
    f.step(30)
    assert f.heard() == ["20", 30]


def test_without_the_setting_plain_calls_are_what_they_were(where: str) -> None:
    for declarations in ("", "timed", "off"):
        f = Declared(where, declarations)
        f.say(5, b"5")
        f.hear()
        f.say(6, b"6")
        f.step(10)
        assert f.heard() == ["6", 10], declarations


# --- save and restore -------------------------------------------------------------------------------------------


def test_declarations_as_of_times_are_part_of_a_save(where: str) -> None:
    """What waits, what was kept, and what begins and ends when; of subscriptions and of publications."""
    f = Declared(where)
    f.say(10, b"10")
    f.say(15, b"15")
    f.hear(12)
    f.rti[0].unpublish_interaction_class(f.interaction(FLARE), time=f.time(20))
    save(f, "then")
    f.deafen()
    f.step(30)
    f.take(1)
    restore(f, "then")
    for i in (0, 1):
        f.take(i)
    f.hear(8)
    with pytest.raises(InteractionClassNotPublished):
        f.say(21, b"21", FLARE)
    f.step(30)
    assert f.heard() == ["10", "15", 30]
