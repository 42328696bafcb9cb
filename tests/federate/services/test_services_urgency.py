"""Issue 7, item 7: a federate as a consumer with QoS (docs/explanation/urgency.md), through the ambassador."""

from __future__ import annotations

import random
from typing import Any

import pytest

from support.federation import Federation, federation, refused
from support.mom_federation import Mom
from support.placement import Placement
from support.refusals import TANK
from support.small_fom import PRIVILEGE
from weft import QOS_MODULE, HLAfloat64Interval, HLAfloat64Time, OrderType, heard
from weft.channel import Urgency, all_of, any_of, deadline, interval, on
from weft.model.errors import (
    AttributeNotDefined,
    InteractionClassNotDefined,
    ObjectClassNotDefined,
    RTIinternalError,
)
from weft.model.handles import AttributeHandle, InteractionClassHandle, ObjectClassHandle
from weft.model.records import CorrelatedEvent, DeadlineMiss

HEAR, REFLECT, REMOVE = "receive_interaction", "reflect_attribute_values", "remove_object_instance"
DISCOVER, GROUP, MISSED = "discover_object_instance", "receive_correlation", "deadline_missed"
NAMES = ("Event", "Fire", "Hit", "Command", "Halt")
AT_ONCE = 1e-9  # a deadline that nobody meets

groups = pytest.mark.bare(reason="the RTI makes groups, and knows nothing of the middleware's order")
sorted_here = pytest.mark.bare(reason="the middleware puts messages in causal order, whatever came first")


def talking(f: Federation, *federates: int) -> dict[str, InteractionClassHandle]:
    """Federate 0 sends all classes, and the others hear them."""
    full = {name: f.interaction(f"Event.{name}" if name in ("Fire", "Hit") else name) for name in NAMES[:-1]}
    full["Halt"] = f.interaction("Command.Halt")
    for handle in full.values():
        f.rti[0].publish_interaction_class(handle)
        for i in federates or (1,):
            f.rti[i].subscribe_interaction_class(handle)
    f.quiet()
    return full


def tags(calls: list[Any]) -> list[Any]:
    return [args[2] if method == HEAR else method for method, args in calls]


# --- urgency ------------------------------------------------------------------------------------------------------


@sorted_here
def test_urgent_classes_overtake_others(placement: Placement) -> None:
    """A class stands for those below it; the nearest counts; what was not said to be urgent comes last."""
    with federation(3, placement=placement) as f:
        words = talking(f, 1, 2)
        f.rti[1].set_class_qos(words["Command"], urgency=2)
        f.rti[1].set_class_qos(words["Event"], urgency=Urgency(1, sub=1))
        f.rti[1].set_class_qos(words["Hit"], urgency=Urgency(1))
        f.quiet()
        for name, tag in (("Halt", b"a"), ("Command", b"b"), ("Fire", b"c"), ("Hit", b"d"), ("Event", b"e")):
            f.rti[0].send_interaction(words[name], {}, tag)
        assert set(tags(f.take(1))) == {b"a", b"b", b"c", b"d", b"e"}
        for name, tag in (("Halt", b"a"), ("Command", b"b"), ("Hit", b"d"), ("Event", b"e")):
            f.rti[0].send_interaction(words[name], {}, tag)
        f.rti[0].send_interaction(words["Hit"], {}, b"f")
        f.rti[2].evoke_callback(0.5)  # lets what is under way arrive at all, whoever waits
        assert tags(f.take(1)) == [b"d", b"f", b"e", b"a", b"b"]
        assert tags(f.take(2))[-5:] == [
            b"a",
            b"b",
            b"d",
            b"e",
            b"f",
        ]  # who says nothing has them as they come
        f.rti[1].set_class_qos(words["Event"])
        f.rti[1].set_class_qos(words["Hit"])
        f.rti[0].send_interaction(words["Hit"], {}, b"g")
        f.rti[0].send_interaction(words["Command"], {}, b"h")
        f.rti[2].evoke_callback(0.5)
        assert tags(f.take(1)) == [b"h", b"g"]


@sorted_here
def test_objects_keep_their_story(placement: Placement) -> None:
    """An object is discovered before its values come, and these come before it is removed, however urgent."""
    with federation(2, placement=placement) as f:
        words = talking(f)
        f.publish(0, TANK, "Name")
        f.subscribe(1, TANK, "Name")
        f.rti[1].set_class_qos(f.object_class("Vehicle"), urgency=0)
        f.quiet()
        f.rti[0].send_interaction(words["Hit"], {}, b"hit")
        first = f.register(0, TANK)
        f.update(0, first, TANK, "Name")
        f.rti[0].delete_object_instance(first, b"")
        second = f.register(0, TANK)
        f.update(0, second, TANK, "Name")
        f.rti[0].send_interaction(words["Hit"], {}, b"hit")
        calls = f.take(1)
        story = [(method, args[0]) for method, args in calls if method != HEAR]
        assert story == [
            (DISCOVER, first),
            (REFLECT, first),
            (REMOVE, first),
            (DISCOVER, second),
            (REFLECT, second),
        ]
        assert [tag for tag in tags(calls) if tag == b"hit"] == [b"hit", b"hit"]
        assert tags(calls)[-1] == b"hit"


@sorted_here
def test_the_orders_of_weft_keep_theirs(placement: Placement) -> None:
    """Causal messages are not sorted among themselves, so the first is as urgent as the second that waits for it; priority order
    has its number where the federate says nothing."""
    with federation(2, placement=placement) as f:
        words = talking(f)
        f.rti[1].set_class_qos(words["Hit"], urgency=0)
        f.quiet()
        causal = OrderType.CAUSAL
        f.rti[0].send_interaction(words["Command"], {}, b"1", order=causal)
        f.rti[0].send_interaction(words["Hit"], {}, b"2", order=causal)
        f.rti[0].send_interaction(words["Event"], {}, b"3")
        f.rti[0].send_interaction(words["Event"], {}, b"4", order=OrderType.PRIORITY)
        f.rti[0].send_interaction(words["Hit"], {}, b"5")
        f.rti[0].send_interaction(words["Hit"], {}, b"6", order=OrderType.PRIORITY)
        assert tags(f.take(1)) == [b"1", b"2", b"4", b"5", b"6", b"3"]


# --- deadlines ----------------------------------------------------------------------------------------------------


def test_misses_reach_the_federate_the_mom_and_the_status(placement: Placement) -> None:
    with federation(3, joined=2, placement=placement) as f:
        f.rti[2].join_federation_execution("late", "test", "range", [QOS_MODULE])
        f.handles[2] = f.rti[1].get_federate_handle("late")
        f.present.add(2)
        words = talking(f, 1)
        mom = Mom(f)
        mom.hear("WeftReportDeadlineMisses")
        f.rti[1].set_class_qos(words["Event"], deadline=AT_ONCE)
        f.rti[1].set_class_qos(words["Command"], deadline=1000.0)
        f.quiet()
        f.rti[0].send_interaction(words["Hit"], {}, b"late")
        f.rti[0].send_interaction(words["Command"], {}, b"in time")
        calls = f.take(1)
        misses = [args[0] for method, args in calls if method == MISSED]
        name = "HLAinteractionRoot.Event.Hit"
        assert [(m.class_name, m.sender, m.misses) for m in misses] == [(name, "federate 0", 1)]
        assert isinstance(misses[0], DeadlineMiss)
        assert misses[0].late >= 0.0
        assert {b"late", b"in time"} <= set(tags(calls))
        assert f.rti[1].query_qos()["misses"] == {name: 1}
        ((_, report),) = mom.reports()
        assert (report["HLAfederate"], report["WeftClass"]) == (f.handle(1), name)
        assert (report["WeftSender"], report["WeftMissesInAll"], report["WeftMisses"]) == ("federate 0", 1, 1)
        mom.send("HLArequest.WeftRequestDeadlineMisses", 1)
        ((_, report),) = mom.reports()
        assert (report["WeftClass"], report["WeftMisses"]) == (name, 1)
        mom.send("HLArequest.WeftRequestDeadlineMisses", 0)
        ((_, report),) = mom.reports()
        assert (report["WeftClass"], report["WeftMissesInAll"]) == ("", 0)
        (state,) = f.rti[1].query_status()
        (member,) = [one for one in state["federates"] if one["name"] == "federate 1"]
        assert (member["deadlines"], member["misses"]) == (2, {name: 1})


def test_a_callback_that_raises_is_over_all_the_same(placement: Placement) -> None:
    with federation(2, placement=placement) as f:
        words = talking(f)
        f.rti[1].set_class_qos(words["Event"], deadline=1000.0)
        f.quiet()
        f.log[1].on[HEAR] = lambda *_: 1 / 0
        f.rti[0].send_interaction(words["Event"], {}, b"")
        with pytest.raises(ZeroDivisionError):
            f.drain(1)
        assert f.rti[1].query_qos()["open"] == 0
        assert f.rti[1].query_qos()["misses"] == {}


# --- groups -------------------------------------------------------------------------------------------------------


def group_of(calls: list[Any]) -> list[list[Any]]:
    """The tags of each group, or the seconds of a timeout."""
    return [
        [event.arguments[1 if event.method == "timeout" else 2] for event in args[1]]
        for method, args in calls
        if method == GROUP
    ]


@groups
def test_a_conjunction_of_interactions_and_updates_comes_in_one_callback(placement: Placement) -> None:
    with federation(3, placement=placement) as f:
        words = talking(f, 1)
        tank, position = f.object_class(TANK), f.attribute(TANK, "Name")
        for i in (0, 2):
            f.publish(i, TANK, "Name", "Ammo")
        f.subscribe(1, TANK, "Name", "Ammo")
        number = f.rti[1].correlate(
            all_of(heard(words["Event"]), heard(tank, position, sender="federate 2")), singly=False
        )
        ours, theirs = f.register(0, TANK), f.register(2, TANK)
        f.quiet()
        f.rti[0].send_interaction(words["Hit"], {}, b"hit")
        f.rti[0].send_interaction(words["Command"], {}, b"command")
        f.update(0, ours, TANK, "Name", tag=b"not of federate 2")
        f.update(2, theirs, TANK, "Ammo", tag=b"not its name")
        f.drain(0, 2)
        calls = f.take(1)
        assert group_of(calls) == []
        assert {a[2] for _, a in calls} == {b"command", b"not of federate 2", b"not its name"}
        f.rti[0].send_interaction(words["Fire"], {}, b"the first is kept")
        f.update(2, theirs, TANK, "Name", "Ammo", tag=b"name")
        calls = f.take(1)
        assert group_of(calls) == [[b"hit", b"name"]]
        ((_, (got, events)),) = calls
        assert got == number
        assert all(isinstance(event, CorrelatedEvent) for event in events)
        assert [event.class_handle for event in events] == [words["Hit"], tank]
        assert events[1].arguments[0] == theirs
        f.rti[1].correlate_singly(number, True)
        f.rti[0].send_interaction(words["Hit"], {}, b"also by itself")
        assert tags(f.take(1)) == [b"also by itself"]
        f.rti[1].cancel_correlation(number)
        f.update(2, theirs, TANK, "Name", tag=b"alone")
        assert f.heard(1) == [REFLECT]
        with refused(RTIinternalError):
            f.rti[1].cancel_correlation(number)


@groups
def test_timeouts_come_with_groups(placement: Placement) -> None:
    """Issue 7, items 2 and 7: interval and deadline inside a group; the kernel's clock drives them."""
    with federation(2, placement=placement) as f:
        words = talking(f)
        f.rti[1].correlate(any_of(all_of(heard(words["Hit"]), heard(words["Fire"])), deadline(0.01)))
        f.rti[1].correlate(all_of(heard(words["Command"]), interval(0.005)))
        f.rti[0].send_interaction(words["Command"], {}, b"order")
        calls: list[Any] = []
        while len(group_of(calls)) < 2:
            f.rti[1].evoke_callback(5.0)
            calls += f.log[1].take()
        assert sorted(map(len, group_of(calls))) == [1, 2]
        assert [0.01] in group_of(calls)
        assert sorted(map(str, next(g for g in group_of(calls) if len(g) == 2))) == ["0.005", "b'order'"]


@groups
def test_a_group_is_as_urgent_and_pressing_as_its_messages(placement: Placement) -> None:
    with federation(2, placement=placement) as f:
        words = talking(f)
        f.rti[1].set_class_qos(words["Hit"], urgency=0, deadline=AT_ONCE)
        f.rti[1].correlate(all_of(heard(words["Hit"]), heard(words["Fire"])))
        f.quiet()
        for name, tag in (("Command", b"c"), ("Fire", b"f"), ("Hit", b"h")):
            f.rti[0].send_interaction(words[name], {}, tag)
        calls = f.take(1)
        names = [method for method, _ in calls]
        assert names.index(GROUP) < names.index(HEAR)
        assert [args[0].class_name for method, args in calls if method == MISSED] == [
            "HLAinteractionRoot.Event.Hit"
        ]


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.one_node
@groups
def test_what_makes_no_sense_is_refused(placement: Placement) -> None:
    with federation(1, placement=placement) as f:
        rti, event = f.rti[0], f.interaction("Event")
        with refused(InteractionClassNotDefined):
            rti.set_class_qos(InteractionClassHandle.of(9999), 1)
        with refused(ObjectClassNotDefined):
            rti.correlate(heard(ObjectClassHandle.of(9999)))
        with refused(AttributeNotDefined):
            rti.correlate(heard(f.object_class(TANK), AttributeHandle.of(9999)))
        for urgency in (-1, 1 << 30, "soon"):
            with refused(RTIinternalError):
                rti.set_class_qos(event, urgency)  # type: ignore[arg-type]
        for seconds in (-1.0, float("nan"), float("inf"), "soon"):
            with refused(RTIinternalError):
                rti.set_class_qos(event, 1, seconds)  # type: ignore[arg-type]
        with refused(RTIinternalError):
            rti.correlate(on(17))
        with refused(RTIinternalError):
            rti.correlate(heard("Event"))
        number = rti.correlate(heard(event))
        with refused(RTIinternalError):
            rti.correlate(heard(event), number=number)
        with refused(RTIinternalError):
            rti._call("correlate", (["all", ["on", 1, 2]], False, 0))
        with refused(RTIinternalError):
            rti._call("correlate", (["all"], False, 0))
        assert rti.query_qos()["groups"] == [number]
        qos = f.state().members[f.handle(0)].qos
        assert qos is not None
        assert qos.classes == {}


# --- the law, from end to end -------------------------------------------------------------------------------------

URGENCY = {"Event": 2, "Fire": 0, "Hit": 1, "Command": None, "Halt": 3}


@sorted_here
@pytest.mark.parametrize("seed", range(4))
def test_every_order_is_kept_and_what_is_free_goes_by_urgency(seed: int, placement: Placement) -> None:
    """All that was sent comes once; receive, causal and time stamp order and the story of each object hold, and interactions in
    receive order, which nothing else binds, come by urgency alone."""
    dice = random.Random(seed)
    with federation(3, placement=placement) as f:
        words = talking(f)
        for name, urgency in URGENCY.items():
            f.rti[2].publish_interaction_class(words[name])
            f.rti[1].set_class_qos(words[name], urgency)
        f.rti[1].set_class_qos(f.object_class(TANK), urgency=1)
        for i in (0, 2):
            f.publish(i, TANK, "Name", PRIVILEGE)
            f.rti[i].enable_time_regulation(HLAfloat64Interval(1.0))
        f.subscribe(1, TANK, "Name")
        f.rti[1].enable_time_constrained()
        f.rti[1].enable_asynchronous_delivery()
        for _ in range(3):
            f.quiet()
        sent = _chatter(f, dice, words)
        for i in (0, 1, 2):
            f.rti[i].time_advance_request(HLAfloat64Time(20.0))
        f.drain(0, 2)
        calls: list[Any] = []
        while "time_advance_grant" not in [method for method, _ in calls]:
            f.rti[1].evoke_callback(5.0)
            calls += f.log[1].take()
        said = [args[2] for method, args in calls if method == HEAR]
        assert sorted(said) == sorted(sent)
        heard_tags = [tag.decode().split() for tag in said]
        plain = [(order, who, word, int(n)) for order, who, word, n in heard_tags]
        for who in "02":
            numbers = [n for order, one, _, n in plain if one == who and order == "causal"]
            assert numbers == sorted(numbers)
        streams: dict[Any, list[int]] = {}
        for order, who, word, n in plain:
            streams.setdefault((order, who, word), []).append(n)
        assert all(numbers == sorted(numbers) for key, numbers in streams.items() if key[0] != "time")
        times = [args[6].value for method, args in calls if method == HEAR and len(args) > 6]
        assert times == sorted(times)
        free = [URGENCY[word] for order, _, word, _ in plain if order == "receive"]
        assert free == sorted(free, key=lambda urgency: 99 if urgency is None else urgency)
        _check_stories(calls)


def _chatter(f: Federation, dice: random.Random, words: dict[str, InteractionClassHandle]) -> list[bytes]:
    sent = []
    tanks: list[tuple[int, Any]] = []
    for n in range(40):
        who = dice.choice((0, 2))
        kind = dice.choice(("receive", "receive", "receive", "causal", "time", "object"))
        word = dice.choice(list(URGENCY))
        tag = f"{kind} {who} {word} {n}".encode()
        if kind == "receive":
            f.rti[who].send_interaction(words[word], {}, tag)
        elif kind == "causal":
            f.rti[who].send_interaction(words[word], {}, tag, order=OrderType.CAUSAL)
        elif kind == "time":
            f.rti[who].change_interaction_order_type(words[word], OrderType.TIMESTAMP)
            f.rti[who].send_interaction(words[word], {}, tag, HLAfloat64Time(float(dice.randint(2, 15))))
            f.rti[who].change_interaction_order_type(words[word], OrderType.RECEIVE)
        elif tanks and dice.random() < 0.7:
            owner, instance = dice.choice(tanks)
            if dice.random() < 0.8:
                f.update(owner, instance, TANK, "Name", tag=str(n).encode())
            else:
                f.rti[owner].delete_object_instance(instance, b"")
                tanks.remove((owner, instance))
        else:
            tanks.append((who, f.register(who, TANK)))
        if kind != "object":
            sent.append(tag)
    return sent


def _check_stories(calls: list[Any]) -> None:
    stories: dict[Any, list[Any]] = {}
    for method, args in calls:
        if method in (DISCOVER, REFLECT, REMOVE):
            stories.setdefault(args[0], []).append(int(args[2]) if method == REFLECT else method)
    assert stories
    for story in stories.values():
        assert story[0] == DISCOVER
        inner = story[1:-1] if story[-1] == REMOVE else story[1:]
        assert inner == sorted(inner)  # numbers only: neither comes in between
