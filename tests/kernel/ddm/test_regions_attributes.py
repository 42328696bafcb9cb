"""Attributes of one update that are sent in different regions, some of which come late, in any order of calls
(docs/explanation/ddm-sync.md).

A federate gets of an update with time stamp T exactly the attributes that one of its regions overlaps as of T (S4-2, S4-16), in
the callbacks in which it would get them had it said everything before.  What that is is worked out here from the definitions, for
each attribute by itself; the calls are then made in every order, and in random ones over nodes.
"""

from __future__ import annotations

from itertools import permutations
from random import Random
from typing import Any, NamedTuple

import pytest

from fabric.topologies import some
from support.fabric_federations import BAD
from support.federation import Federation
from support.random_moving_regions import Bounds, as_of, overlap
from support.small_fom import DIMENSION, LANES, OBJECTS, fom
from weft import OrderType
from weft.host.simulated.fabric import FabricNetwork
from weft.model.records import RangeBounds

TANK = "Vehicle.GroundVehicle.Tank"
NAMES = ("Position", "Name", "Speed", "Ammo")
WAYS = {name: way for attributes in OBJECTS.values() for name, way in attributes.items()}
REGIONS = 2  # of each federate that listens
END = 30
PAUSES = (0.0, 0.001, 0.01, 0.05)


class Update(NamedTuple):
    time: int
    names: tuple[str, ...]


class Move(NamedTuple):
    who: int
    region: int
    time: int
    bounds: Bounds


class Wish(NamedTuple):
    who: int
    region: int
    time: int
    name: str
    begins: bool


Call = Update | Move | Wish
Callbacks = list[tuple[int, str, tuple[str, ...], frozenset[Bounds] | None]]


class Scene:
    """Where the attributes of federate 0 are sent (None: without a region), who conveys regions, and the calls, in no order."""

    def __init__(self, seed: int, listeners: int, updates: int, changes: int) -> None:
        random = Random(seed)
        self.seed = seed
        self.listeners = range(1, listeners + 1)
        self.places: dict[str, Bounds | None] = {name: _bounds(random) for name in NAMES}
        if random.random() < 0.5:
            self.places[random.choice(NAMES)] = None
        self.conveys = [i for i in self.listeners if random.random() < 0.5]
        self.starts = {(i, region): _bounds(random) for i in self.listeners for region in range(REGIONS)}
        self.calls: list[Call] = []
        for time in random.sample(range(8, 20), updates):
            self.calls.append(Update(time, tuple(sorted(random.sample(NAMES, random.randint(2, 4))))))
        # Of each region, and each wish for it, as of different times: of equal times the later call would count.
        times = {
            key: random.sample(range(2, 22), 20)
            for i in self.listeners
            for region in range(REGIONS)
            for key in ((i, region, ""), *[(i, region, name) for name in NAMES])
        }
        for _ in range(changes):
            who, region = random.choice(self.listeners), random.randrange(REGIONS)
            if random.random() < 0.3:
                self.calls.append(Move(who, region, times[who, region, ""].pop(), _bounds(random)))
            else:
                name = random.choice(NAMES)
                begins = random.random() < 0.75
                self.calls.append(Wish(who, region, times[who, region, name].pop(), name, begins))

    # --- what follows from the definitions ------------------------------------------------------------------------

    def wants(self, who: int, name: str, time: int) -> bool:
        sent = self.places[name]
        for region in range(REGIONS):
            wishes = [(-1, False)]
            places = [(-1, self.starts[who, region])]
            for call in self.calls:
                if isinstance(call, Wish) and (call.who, call.region, call.name) == (who, region, name):
                    wishes.append((call.time, call.begins))
                elif isinstance(call, Move) and (call.who, call.region) == (who, region):
                    places.append((call.time, call.bounds))
            if as_of(wishes, time) and (sent is None or overlap(as_of(places, time), sent)):
                return True
        return False

    def expected(self, who: int) -> Callbacks:
        """Attributes of different transportation come apart; so do those of different regions, to who is told of regions."""
        found: Callbacks = []
        for call in self.calls:
            if not isinstance(call, Update):
                continue
            parts: dict[Any, list[str]] = {}
            for name in call.names:
                if self.wants(who, name, call.time):
                    place = self.places[name]
                    told = None if who not in self.conveys or place is None else frozenset([place])
                    parts.setdefault((WAYS[name], told), []).append(name)
            found += [(call.time, way, tuple(sorted(names)), told) for (way, told), names in parts.items()]
        return sorted(found, key=repr)


def _bounds(random: Random) -> Bounds:
    lower = random.randrange(LANES - 4)
    return lower, lower + random.choice((2, 4))


class Play:
    """A scene, its calls in one order."""

    def __init__(self, scene: Scene, network: FabricNetwork | None = None) -> None:
        self.scene = scene
        self.network = network
        random = Random(scene.seed)
        nodes: Any = None
        if network is not None:
            nodes = [network.at(random.choice(network.topology.servers)) for _ in (0, *scene.listeners)]
        f = self.f = Federation(1 + len(scene.listeners), model=fom(), time="HLAinteger64Time", nodes=nodes)
        self.lane = f.rti[0].get_dimension_handle(DIMENSION)
        self.handles = {name: f.attribute(TANK, name) for name in NAMES}
        self.tank = f.object_class(TANK)
        factory = f.rti[0].get_time_factory()
        self.time = factory.make_time
        f.publish(0, TANK, *NAMES)
        placed = [
            ({self.handles[name]}, {self._region(0, place)})
            for name, place in scene.places.items()
            if place is not None
        ]
        self.instance = f.rti[0].register_object_instance_with_regions(self.tank, placed)
        f.rti[0].change_attribute_order_type(self.instance, set(self.handles.values()), OrderType.TIMESTAMP)
        self.ears = {key: self._region(key[0], bounds) for key, bounds in scene.starts.items()}
        for i in (0, *scene.listeners):
            f.rti[i].enable_time_regulation(factory.make_interval(1))
            f.rti[i].enable_time_constrained()
            if i in scene.conveys:
                f.rti[i].set_convey_region_designator_sets_switch(True)
        self._settle()
        f.drain()

    def _settle(self) -> None:
        if self.network is not None:
            self.network.settle()

    def _region(self, i: int, bounds: Bounds) -> Any:
        made = self.f.rti[i].create_region({self.lane})
        self.f.rti[i].set_range_bounds(made, self.lane, RangeBounds(*bounds))
        self.f.rti[i].commit_region_modifications({made})
        return made

    def do(self, call: Call) -> None:
        at = self.time(call.time)
        if isinstance(call, Update):
            values = {self.handles[name]: name.encode() for name in call.names}
            self.f.rti[0].update_attribute_values(self.instance, values, b"", at)
            return
        rti, region = self.f.rti[call.who], self.ears[call.who, call.region]
        if isinstance(call, Move):
            rti.set_range_bounds(region, self.lane, RangeBounds(*call.bounds))
            rti.commit_region_modifications({region}, time=at)
            return
        pairs = [({self.handles[call.name]}, {region})]
        if call.begins:
            rti.subscribe_object_class_attributes_with_regions(self.tank, pairs, time=at)
        else:
            rti.unsubscribe_object_class_attributes_with_regions(self.tank, pairs, time=at)

    def finish(self) -> None:
        """Everybody advances to the end: each has got what the definitions say, in the order of time stamps."""
        for rti in self.f.rti:
            rti.time_advance_request(self.time(END))
        self._settle()
        for i in self.scene.listeners:
            calls = self.f.take(i, "reflect_attribute_values", "time_advance_grant")
            assert calls[-1][0] == "time_advance_grant"
            heard = [self._told(*arguments) for _, arguments in calls[:-1]]
            assert [one[0] for one in heard] == sorted(one[0] for one in heard)
            assert sorted(heard, key=repr) == self.scene.expected(i), f"seed {self.scene.seed}, federate {i}"
        self.f.close()

    def _told(self, _: Any, values: Any, tag: bytes, way: Any, sender: Any, regions: Any, *stamp: Any) -> Any:
        told = None
        if regions is not None:
            bounds = [self.f.rti[0].get_range_bounds(region, self.lane) for region in regions]
            told = frozenset((one.lower, one.upper) for one in bounds)
        names = tuple(sorted(value.decode() for value in values.values()))
        return stamp[0].value, self.f.rti[0].get_transportation_type_name(way), names, told


def crossed(seed: int) -> Scene:
    """An update of several attributes, of which two are asked for by a region each; and one of the regions moves."""
    random = Random(seed)
    scene = Scene(seed, 1, 0, 0)
    one, other = random.sample(NAMES, 2)
    scene.starts[1, 0] = scene.places[one] or scene.starts[1, 0]
    scene.starts[1, 1] = scene.places[other] or scene.starts[1, 1]
    times = random.sample(range(2, 16), 3)
    scene.calls = [
        Update(random.randint(12, 18), tuple(sorted({one, other, random.choice(NAMES)}))),
        Wish(1, 0, times[0], one, True),
        Wish(1, 1, times[1], other, True),
        Move(1, 0, times[2], _bounds(random)),
    ]
    return scene


@pytest.mark.parametrize("seed", range(10))
def test_in_every_order_of_calls(seed: int) -> None:
    scene = crossed(seed)
    for calls in permutations(scene.calls):
        play = Play(scene)
        for call in calls:
            play.do(call)
        play.finish()


@pytest.mark.parametrize("seed", range(100, 116))
def test_in_random_orders(seed: int) -> None:
    scene = Scene(seed, 3, 4, 24)
    random = Random(seed)
    for _ in range(4):
        play = Play(scene)
        for call in random.sample(scene.calls, len(scene.calls)):
            play.do(call)
        play.finish()


@pytest.mark.parametrize("seed", range(200, 210))
def test_over_nodes(seed: int) -> None:
    """With delay, loss and repetition between them."""
    scene = Scene(seed, 3, 4, 24)
    random = Random(seed)
    for number in range(2):
        network = FabricNetwork(some(seed), seed + number, BAD, lost_seconds=1000.0)
        play = Play(scene, network)
        for call in random.sample(scene.calls, len(scene.calls)):
            play.do(call)
            network.run_until(lambda: False, network.clock.now + random.choice(PAUSES))
        play.finish()
