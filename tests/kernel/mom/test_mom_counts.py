"""The MOM's counters (clause 11) against a count of everything that was called and heard."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from support.federation import Federation, federation
from support.mom_federation import FEDERATE, Mom
from support.small_fom import BEST_EFFORT, INTERACTIONS, OBJECTS, RELIABLE, attributes_of
from weft.model.handles import ObjectInstanceHandle

SEATS = 4  # federate 0 manages, the others act
CLASSES = list(OBJECTS)
EVENTS = ["Event", "Event.Fire", "Event.Fire.BigFire", "Event.Hit", "Command"]
Key = tuple[str, str]


class Count:
    """By brute force: what a federate did is counted when it is called, what it heard when it is evoked."""

    def __init__(self) -> None:
        self.updates = 0
        self.sent: dict[str, Counter[Key]] = {
            kind: Counter() for kind in ("updates", "interactions", "directed")
        }
        self.heard: dict[str, Counter[Key]] = {
            kind: Counter() for kind in ("updates", "interactions", "directed")
        }
        self.updated: set[ObjectInstanceHandle] = set()
        self.reflected: set[ObjectInstanceHandle] = set()
        self.plain: Counter[str] = Counter()


class Traffic:
    def __init__(self, f: Federation, random: Random) -> None:
        self.f = f
        self.random = random
        self.count = [Count() for _ in range(SEATS)]
        self.kinds: dict[ObjectInstanceHandle, str] = {}  # every instance ever
        self.owner: dict[ObjectInstanceHandle, int] = {}  # those that are there
        self.ways = {f.rti[0].get_transportation_type_handle(w): w for w in (RELIABLE, BEST_EFFORT)}
        self.override: dict[tuple[ObjectInstanceHandle, str], str] = {}  # transportation of attributes
        self.hits = RELIABLE  # transportation of Event.Hit for federate 1
        for i in range(1, SEATS):
            for cls in CLASSES:
                f.publish(i, cls, *attributes_of(cls))
            for event in EVENTS:
                f.rti[i].publish_interaction_class(f.interaction(event))
            directed = {f.interaction("Command")}
            f.rti[i].publish_object_class_directed_interactions(f.object_class("Vehicle"), directed)
            f.rti[i].subscribe_object_class_directed_interactions_universally(
                f.object_class("Vehicle"), directed
            )

    def step(self) -> None:
        i = self.random.randrange(1, SEATS)
        act = self.random.choice(
            [self.subscribe, self.listen, self.register, self.send, self.send, self.change, self.delete]
            + [self.update] * 5
            + [self.direct] * 2
        )
        act(i, self.f.rti[i], self.count[i])

    def subscribe(self, i: int, rti: Any, count: Count) -> None:
        cls = self.random.choice(CLASSES)
        names = self.random.sample(sorted(attributes_of(cls)), 2)
        if self.random.random() < 0.7:
            self.f.subscribe(i, cls, *names)
        else:
            rti.unsubscribe_object_class_attributes(self.f.object_class(cls), self.f.attributes(cls, *names))

    def listen(self, i: int, rti: Any, count: Count) -> None:
        event = self.f.interaction(self.random.choice(EVENTS))
        (
            rti.subscribe_interaction_class
            if self.random.random() < 0.8
            else rti.unsubscribe_interaction_class
        )(event)

    def register(self, i: int, rti: Any, count: Count) -> None:
        cls = self.random.choice(CLASSES)
        handle = self.f.register(i, cls)
        self.kinds[handle], self.owner[handle] = cls, i
        count.plain["HLAobjectInstancesRegistered"] += 1

    def update(self, i: int, rti: Any, count: Count) -> None:
        mine = [h for h, owner in self.owner.items() if owner == i]
        if not mine:
            return
        handle = self.random.choice(mine)
        cls = self.kinds[handle]
        table = attributes_of(cls)
        names = self.random.sample(sorted(table), self.random.randint(1, len(table)))
        self.f.update(i, handle, cls, *names)
        count.updates += 1
        count.updated.add(handle)
        for way in {self.override.get((handle, n), table[n]) for n in names}:
            count.sent["updates"][cls, way] += 1

    def change(self, i: int, rti: Any, count: Count) -> None:
        """Of an instance's attribute, or of an interaction class: the transportation."""
        way = self.random.choice([RELIABLE, BEST_EFFORT])
        handle_of_way = rti.get_transportation_type_handle(way)
        mine = [h for h, owner in self.owner.items() if owner == i]
        if mine and self.random.random() < 0.5:
            instance = self.random.choice(mine)
            name = self.random.choice(sorted(attributes_of(self.kinds[instance])))
            attribute = self.f.attribute(self.kinds[instance], name)
            rti.request_attribute_transportation_type_change(instance, {attribute}, handle_of_way)
            self.override[instance, name] = way
        elif i == 1:  # so that one table is enough
            rti.request_interaction_transportation_type_change(self.f.interaction("Event.Hit"), handle_of_way)
            self.hits = way

    def send(self, i: int, rti: Any, count: Count) -> None:
        event = self.random.choice(EVENTS)
        self.f.send(i, event)
        way = self.hits if event == "Event.Hit" and i == 1 else INTERACTIONS[event][0]
        count.sent["interactions"][event, way] += 1
        for other in range(SEATS):
            if other != i:
                self.evoke(other, event)

    def direct(self, i: int, rti: Any, count: Count) -> None:
        known = [h for h in self.owner if self.kinds[h].startswith("Vehicle") and self.owner[h] == i]
        if known:
            rti.send_directed_interaction(self.f.interaction("Command"), self.random.choice(known), {}, b"")
            count.sent["directed"]["Command", RELIABLE] += 1

    def delete(self, i: int, rti: Any, count: Count) -> None:
        mine = [h for h, owner in self.owner.items() if owner == i]
        if mine and self.random.random() < 0.5:
            handle = self.random.choice(mine)
            rti.delete_object_instance(handle, b"")
            del self.owner[handle]
            count.plain["HLAobjectInstancesDeleted"] += 1

    # --- what was heard ---------------------------------------------------------------------------------------

    def evoke(self, i: int, sent: str = "") -> None:
        """`sent` is the class of the interactions that are heard; only one can be under way."""
        count = self.count[i]
        for method, args in self.f.take(i):
            if method == "discover_object_instance":
                count.plain["HLAobjectInstancesDiscovered"] += 1
            elif method == "remove_object_instance":
                count.plain["HLAobjectInstancesRemoved"] += 1
            elif method == "reflect_attribute_values" and args[0] in self.kinds:
                count.heard["updates"][self.kinds[args[0]], self.ways[args[3]]] += 1
                count.reflected.add(args[0])
            elif method == "receive_interaction":
                count.heard["interactions"][sent, self.ways[args[3]]] += 1
            elif method == "receive_directed_interaction":
                count.heard["directed"]["Command", self.ways[args[4]]] += 1


@pytest.mark.parametrize("seed", range(6))
def test_random_traffic_is_counted(seed: int) -> None:
    with federation(SEATS) as f:
        traffic = Traffic(f, Random(seed))
        for _ in range(250):
            traffic.step()
        for i in range(1, SEATS):
            traffic.evoke(i)
        mom = Mom(f)
        mom.watch(FEDERATE)
        for i in range(1, SEATS):
            compare(traffic, mom, i)


def compare(traffic: Traffic, mom: Mom, i: int) -> None:
    count, f = traffic.count[i], traffic.f
    found = mom.request(mom.instance(i), FEDERATE)
    for name, value in {
        "HLAupdatesSent": count.updates,
        "HLAreflectionsReceived": count.heard["updates"].total(),
        "HLAinteractionsSent": count.sent["interactions"].total(),
        "HLAinteractionsReceived": count.heard["interactions"].total(),
        "HLAdirectedInteractionsSent": count.sent["directed"].total(),
        "HLAdirectedInteractionsReceived": count.heard["directed"].total(),
        "HLAobjectInstancesUpdated": len(count.updated),
        "HLAobjectInstancesReflected": len(count.reflected),
        "HLAobjectInstancesThatCanBeDeleted": sum(owner == i for owner in traffic.owner.values()),
        **{
            name: count.plain[name]
            for name in (
                "HLAobjectInstancesRegistered",
                "HLAobjectInstancesDiscovered",
                "HLAobjectInstancesDeleted",
                "HLAobjectInstancesRemoved",
            )
        },
    }.items():
        assert found[name] == value, name
    kinds = {f.object_class(cls): cls for cls in CLASSES}
    for name, instances in {
        "ObjectInstancesUpdated": count.updated,
        "ObjectInstancesReflected": count.reflected,
        "ObjectInstancesThatCanBeDeleted": {h for h, owner in traffic.owner.items() if owner == i},
    }.items():
        mom.hear(f"HLAreport{name}")
        (report,) = mom.ask(f"HLArequest{name}", i)
        counted = {kinds[row["HLAobjectClass"]]: row["HLAcount"] for row in report["HLAobjectInstanceCounts"]}
        assert counted == Counter(traffic.kinds[h] for h in instances), name
    named: dict[Any, str] = {**kinds, **{f.interaction(event): event for event in EVENTS}}
    for name, field, expected in (
        ("UpdatesSent", "HLAupdateCounts", count.sent["updates"]),
        ("ReflectionsReceived", "HLAreflectCounts", count.heard["updates"]),
        ("InteractionsSent", "HLAinteractionCounts", count.sent["interactions"]),
        ("InteractionsReceived", "HLAinteractionCounts", count.heard["interactions"]),
        ("DirectedInteractionsSent", "HLAinteractionCounts", count.sent["directed"]),
        ("DirectedInteractionsReceived", "HLAinteractionCounts", count.heard["directed"]),
    ):
        mom.hear(f"HLAreport{name}")
        reports = mom.ask(f"HLArequest{name}", i)
        assert [traffic.ways[r["HLAtransportation"]] for r in reports] == [RELIABLE, BEST_EFFORT]
        rows: Counter[Key] = Counter()
        for report in reports:
            for row in report[field]:
                cls, number = row.values()
                rows[named[cls], traffic.ways[report["HLAtransportation"]]] = number
        assert rows == expected, name


def test_a_seat_that_is_taken_again_begins_at_nothing() -> None:
    with federation(3) as f:
        f.publish(0, "Vehicle", "Name")
        f.subscribe(1, "Vehicle", "Name")
        car = f.register(0, "Vehicle")
        f.update(0, car, "Vehicle", "Name")
        f.resign(1)
        f.join(1)
        mom = Mom(f)
        mom.watch(FEDERATE)
        found = mom.request(mom.instance(1), FEDERATE)
        assert (found["HLAobjectInstancesReflected"], found["HLAreflectionsReceived"]) == (0, 0)
        assert mom.request(mom.instance(0), FEDERATE)["HLAobjectInstancesUpdated"] == 1
