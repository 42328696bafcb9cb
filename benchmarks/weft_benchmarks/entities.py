"""Moving entities: what crosses the network under each strategy of data distribution.

Seven federates, each at a node of its own, share some thousand entities that wander over a plane.  Each federate sees a part of
it: it subscribes to a square, and so do the others to theirs.  In every step all entities move, and each sends an update at its
place.
The nodes are real kernels over a simulated network without delay, so what is counted is what real nodes would send.

* Moving regions: each entity has an update region around it, committed anew in every step, all of a federate's at once.
* Fixed regions: the plane is cut into squares which each federate commits once, and an entity that comes into another square is
  associated with that.

Commands are what the federation has to agree on for that: each goes to all nodes, whatever the strategy.
"""

from __future__ import annotations

import json
import math
import random
import sys
import time
from typing import Any

from weft.host.simulated.simulated import SimulatedConnection, SimulatedNetwork
from weft.model.enums import ResignAction
from weft.model.records import RangeBounds, Source
from weft_benchmarks.runner import COMPILED, PURE, can_run_compiled, run_child

FEDERATES = 7
SIDE = 1 << 32
SEEN = 0.35  # the side of the square that a federate subscribes to, of that of the plane
NEAR = 0.01  # the same of an entity's update region
STEP = 0.02  # how far an entity goes in a step, at most
SQUARES = 16  # fixed regions along each side
FED = b"""
(FED (Federation plane) (FEDversion v1.3)
  (spaces (space Plane (dimension x) (dimension y)))
  (objects (class ObjectRoot (attribute privilegeToDelete reliable timestamp)
    (class Entity (attribute place best_effort receive Plane))))
  (interactions (class InteractionRoot reliable timestamp)))
"""
Point = tuple[float, float]
Box = tuple[int, int, int, int]


def strategies(grids: tuple[int, ...]) -> list[tuple[str, int]]:
    return [
        ("Exact", 1),
        ("Simple", 1),
        ("StaticSpacePartitioned", 1),
        *(("StaticGridPartitioned", grid) for grid in grids),
    ]


def box(centre: Point, side: float) -> Box:
    """A square on the plane, cut off at its borders, as lower and upper bounds."""
    low_x, low_y = [int(max(0.0, at - side / 2) * SIDE) for at in centre]
    high_x, high_y = [int(min(1.0, at + side / 2) * SIDE) - 1 for at in centre]
    return low_x, low_y, high_x, high_y


class EntityFederate:
    def __init__(self, network: SimulatedNetwork, number: int) -> None:
        self.connection: SimulatedConnection = network.at(f"S{number + 1}").connect()
        self.name = f"federate {number}"
        if number == 0:
            self.call("create_federation_execution", "plane", (Source("plane.fed", FED),), None, "")
        self.call("join_federation_execution", "plane", "bench", self.name, ())
        self.object_class = self.call("get_object_class_handle", "Entity")
        self.attribute = self.call("get_attribute_handle", self.object_class, "place")
        self.x, self.y = (self.call("get_dimension_handle", f"Plane.{name}") for name in "xy")
        self.call("publish_object_class_attributes", self.object_class, frozenset((self.attribute,)))
        self.regions: list[Any] = []
        self.instances: list[Any] = []
        self.within: list[int] = []  # fixed regions: which one each entity is associated with

    def call(self, service: str, *arguments: Any) -> Any:
        return self.connection.call(service, arguments)

    def region(self, bounds: Box) -> Any:
        made = self.call("create_region", frozenset((self.x, self.y)))
        self.set_bounds(made, bounds)
        return made

    def set_bounds(self, region: Any, bounds: Box) -> None:
        low_x, low_y, high_x, high_y = bounds
        self.call("set_range_bounds", region, self.x, RangeBounds(low_x, max(high_x, low_x + 1)))
        self.call("set_range_bounds", region, self.y, RangeBounds(low_y, max(high_y, low_y + 1)))

    def commit(self, regions: list[Any]) -> None:
        self.call("commit_region_modifications", frozenset(regions))

    def pairs(self, region: Any) -> list[Any]:
        return [(frozenset((self.attribute,)), frozenset((region,)))]

    def see(self, centre: Point) -> None:
        square = self.region(box(centre, SEEN))
        self.commit([square])
        self.call("subscribe_object_class_attributes_with_regions", self.object_class, self.pairs(square), "")

    def register(self, region: Any) -> None:
        service = "register_object_instance_with_regions"
        self.instances.append(self.call(service, self.object_class, self.pairs(region)))

    def reflections(self) -> int:
        count = 0
        while (callback := self.connection.take()) is not None:
            count += callback.method == "reflect_attribute_values"
        return count


class World:
    """The same places and the same ways in every run."""

    def __init__(self, entities: int) -> None:
        self.random = random.Random(entities)
        draw = self.random
        self.homes = [(draw.uniform(0.2, 0.8), draw.uniform(0.2, 0.8)) for _ in range(FEDERATES)]
        self.places: list[list[Point]] = [[] for _ in range(FEDERATES)]
        for entity in range(entities):
            home = self.homes[entity % FEDERATES]
            place = (_wrapped(draw.gauss(home[0], 0.2)), _wrapped(draw.gauss(home[1], 0.2)))
            self.places[entity % FEDERATES].append(place)

    def step(self) -> None:
        for places in self.places:
            for at, (x, y) in enumerate(places):
                angle = self.random.random() * math.tau
                far = self.random.random() * STEP
                places[at] = (_wrapped(x + far * math.cos(angle)), _wrapped(y + far * math.sin(angle)))


def _wrapped(value: float) -> float:
    return min(max(value % 1.0, 0.0), 1.0 - 1e-9)


def square_of(place: Point) -> int:
    return int(place[1] * SQUARES) * SQUARES + int(place[0] * SQUARES)


def run_here(strategy: str, grid: int, regions: str, entities: int, steps: int) -> dict[str, Any]:
    text = f"(RTI (DataDistribution (StrategyToUse {strategy}) (NumPartitionsPerDimension {grid})"
    text += " (MaxNumberOfDataChannelsToUse 65535)))"
    nodes = [f"S{number + 1}" for number in range(FEDERATES)]
    network = SimulatedNetwork(nodes, 1, None, Source("bench.rid", text.encode()))
    begun = time.perf_counter()
    federates = [EntityFederate(network, number) for number in range(FEDERATES)]
    world = World(entities)
    for federate, home, places in zip(federates, world.homes, world.places, strict=True):
        federate.see(home)
        if regions == "fixed":
            centres = [
                ((n % SQUARES + 0.5) / SQUARES, (n // SQUARES + 0.5) / SQUARES) for n in range(SQUARES**2)
            ]
            federate.regions = [federate.region(box(centre, 1 / SQUARES)) for centre in centres]
            federate.commit(federate.regions)
            federate.within = [square_of(place) for place in places]
            for square in federate.within:
                federate.register(federate.regions[square])
        else:
            federate.regions = [federate.region(box(place, NEAR)) for place in places]
            federate.commit(federate.regions)
            for region in federate.regions:
                federate.register(region)
    network.settle()
    for federate in federates:
        federate.reflections()
    before = _totals(network)
    made = time.perf_counter()
    reflected = 0
    for _ in range(steps):
        world.step()
        for federate, places in zip(federates, world.places, strict=True):
            _place(federate, places, regions)
        network.settle()
        for federate in federates:
            for instance in federate.instances:
                federate.call("update_attribute_values", instance, {federate.attribute: b"here"}, b"")
        network.settle()
        reflected += sum(federate.reflections() for federate in federates)
    taken = time.perf_counter() - made
    after = _totals(network)
    found = {name: after[name] - before[name] for name in after}
    if reflected != found["wanted"]:
        raise RuntimeError(f"{strategy}: {found['wanted']} messages counted as wanted, {reflected} callbacks")
    for federate in federates:
        federate.call("resign_federation_execution", ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
    return {
        "strategy": strategy,
        "grid": grid,
        "regions": regions,
        "entities": entities,
        "updates": entities * steps,
        **found,
        "set_up_s": round(made - begun, 2),
        "seconds": round(taken, 2),
    }


def _place(federate: EntityFederate, places: list[Point], regions: str) -> None:
    if regions == "moving":
        for region, place in zip(federate.regions, places, strict=True):
            federate.set_bounds(region, box(place, NEAR))
        federate.commit(federate.regions)
        return
    for at, place in enumerate(places):
        square = square_of(place)
        if square != federate.within[at]:
            old, new = (federate.pairs(federate.regions[one]) for one in (federate.within[at], square))
            instance = federate.instances[at]
            federate.call("associate_regions_for_updates", instance, new)
            federate.call("unassociate_regions_for_updates", instance, old)
            federate.within[at] = square


def _totals(network: SimulatedNetwork) -> dict[str, int]:
    """Over all federates, each as its own node counts it."""
    totals = {"sent": 0, "messages": 0, "wanted": 0, "unwanted": 0, "kept_at_sender": 0, "commands": 0}
    for number in range(FEDERATES):
        name = f"S{number + 1}"
        federation = network.node(name).federations["plane"]
        federation.count_up()
        totals["commands"] = federation.sequence
        for member in federation.members.values():
            if member.node == name:
                for counts in member.traffic.channels.values():
                    totals["sent"] += counts.sent
                    totals["messages"] += counts.copies
                    totals["wanted"] += counts.wanted
                    totals["unwanted"] += counts.filtered_receiver
                    totals["kept_at_sender"] += counts.filtered_sender
    return totals


def measure(strategy: str, grid: int, regions: str, entities: int, steps: int) -> dict[str, Any]:
    """In a process of its own, compiled where that can be."""
    build = COMPILED if can_run_compiled() else PURE
    code = f"from {__name__} import main; main()"
    plan = (strategy, grid, regions, entities, steps)
    return run_child(f"of {strategy}", build, code, *plan, timeout=3600)


def main() -> None:
    strategy, grid, regions, entities, steps = sys.argv[1:]
    print(json.dumps(run_here(strategy, int(grid), regions, int(entities), int(steps))))
