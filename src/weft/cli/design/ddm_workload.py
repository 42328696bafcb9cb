"""What federates do when strategies are compared, step by step, as plain data: all strategies play the same.

A workload is made here: from a regions file, or as a world at random of entities that wander over a plane.  `ddm_runs` plays it.

    moving   each entity has an update region around it, and each federate subscribes to a square around itself; both move along
    fixed    the plane is cut into squares, and an entity that comes into another square is associated with that; what a federate
             subscribes to stays where it is
    whole    nobody uses a region: all subscribe to everything
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from weft.cli.design.ddm_regions import SUBSCRIBES, RegionsFile
from weft.interest import Region, Space, Spaces
from weft.model.records import Source

ExtentBounds: TypeAlias = dict[str, tuple[int, int]]
"""By the full name of the dimension, half-open."""
KINDS: Final = ("moving", "fixed", "whole")
SIDE: Final = (1 << 32) - 1
"""The last bound that a dimension of a FED file can have in a region."""
SQUARES: Final = 16
# How far from home a federate and its entities are at first: standard deviations.
_NEAR_HOME: Final = 0.1
_SPREAD: Final = 0.25
_FED: Final = """\
(FED (Federation plane) (FEDversion v1.3)
 (spaces (space Plane (dimension x) (dimension y)))
 (objects (class ObjectRoot (attribute privilegeToDelete reliable timestamp)
  (class Entity (attribute place {transport} receive Plane))))
 (interactions (class InteractionRoot reliable receive)))
"""


class AttributeAt(NamedTuple):
    """What is subscribed to, or registered: an attribute, and where; without extents in the default region."""

    object_class: str
    attribute: str
    extents: list[ExtentBounds]


class WorkloadTurn(NamedTuple):
    """One step of a federate: first all that moves, then updates."""

    looks: Sequence[tuple[int, list[ExtentBounds]]] = ()  # which subscription, and where it is now
    moves: Sequence[tuple[int, list[ExtentBounds]]] = ()  # which instance, and where its region is now
    enters: Sequence[tuple[int, int]] = ()  # which instance, and which of the fixed regions it is in now
    updates: Sequence[int] = ()  # which instances


class WorkloadPart(NamedTuple):
    """What one federate does."""

    federate: str
    wishes: list[AttributeAt]
    things: list[AttributeAt]
    # Fixed regions, which `enters` speaks of; a thing with an extent {} begins in none of them.
    squares: list[ExtentBounds]
    turns: list[WorkloadTurn]


class Workload(NamedTuple):
    title: str
    model: list[Source]
    parts: list[WorkloadPart]

    @property
    def updates(self) -> int:
        return sum(len(turn.updates) for part in self.parts for turn in part.turns)

    @property
    def moves(self) -> int:
        """Regions that are set anew, or exchanged for others."""
        return sum(
            len(turn.looks) + len(turn.moves) + len(turn.enters) for part in self.parts for turn in part.turns
        )

    def silent(self) -> Workload:
        """The same without updates: what is left is news of regions."""
        parts = [
            part._replace(turns=[turn._replace(updates=[]) for turn in part.turns]) for part in self.parts
        ]
        return self._replace(parts=parts)


# From a regions file


def workload_of(spaces: Spaces, found: RegionsFile, model: list[Source]) -> Workload:
    """Everybody subscribes and registers as the file says; then each instance is updated as often as it says."""
    names = list(dict.fromkeys(use.federate for use in found.uses))
    parts = []
    for name in names:
        wishes, things, times = [], [], []
        for use in found.uses:
            if use.federate != name:
                continue
            space = spaces.of_attribute(use.object_class, use.attribute)
            extents = (
                _bounds(spaces, space, found.region_of(use)) if use.regions and space is not None else []
            )
            wish = AttributeAt(use.object_class, use.attribute, extents)
            if use.does == SUBSCRIBES:
                wishes.append(wish)
            else:
                things.append(wish)
                times.append(use.times)
        turns = [
            WorkloadTurn(updates=[thing for thing, count in enumerate(times) if step < count])
            for step in range(max(times, default=0))
        ]
        parts.append(WorkloadPart(name, wishes, things, [], turns))
    return Workload(f"{len(parts)} federates", model, parts)


def _bounds(spaces: Spaces, space: Space, region: Region) -> list[ExtentBounds]:
    """As services take them: no bound lies beyond the dimension's own, which for a FED is one less than its size."""
    names = list(spaces.model.dimensions)
    most = {
        one.number: spaces.model.dimensions[names[one.number - 1]].upper_bound for one in space.dimensions
    }
    found = []
    for extent in sorted(region.extents, key=repr):
        box: ExtentBounds = {}
        for dimension in space.dimensions:
            low, high = space.bounds(extent, dimension)
            top = min(high, most[dimension.number])
            box[names[dimension.number - 1]] = (min(low, top - 1), top)
        found.append(box)
    return found


# A world at random


class PlaneWorld(NamedTuple):
    """Lengths are shares of the side of the plane: what is seen, what an entity takes up, how far it goes."""

    kind: str = "fixed"
    federates: int = 4
    entities: int = 10  # of each federate
    steps: int = 20
    sight: float = 0.4
    near: float = 0.02
    speed: float = 0.01  # how far an entity goes in a step, at most
    extents: int = 1  # of what a federate subscribes to
    best_effort: bool = False
    seed: int = 1


Point: TypeAlias = tuple[float, float]


def plane_workload(plane: PlaneWorld) -> Workload:
    rng = random.Random(plane.seed)
    homes = _spread(plane.federates, rng)
    ways = [
        [_way(home, plane, rng, _SPREAD) for _ in range(plane.entities)] for home in homes
    ]  # of each federate, each entity's place in each step
    parts = [
        _part(plane, number, _way(home, plane, rng, _NEAR_HOME), ways[number])
        for number, home in enumerate(homes)
    ]
    transport = "best_effort" if plane.best_effort else "reliable"
    model = [Source("plane.fed", _FED.format(transport=transport).encode())]
    regions = {
        "moving": f"regions that move, seeing {plane.sight:g} of the side of the plane",
        "fixed": f"fixed regions, seeing {plane.sight:g} of the side of the plane",
        "whole": "no regions",
    }
    title = f"{plane.federates} federates with {plane.entities} entities each, {plane.steps} steps, {regions[plane.kind]}"
    return Workload(title, model, parts)


def _spread(count: int, rng: random.Random) -> list[Point]:
    """Over the plane, so that neighbours see one another and others do not."""
    columns = math.ceil(math.sqrt(count))
    return [
        (
            (number % columns + 0.5 + rng.uniform(-0.1, 0.1)) / columns,
            (number // columns + 0.5 + rng.uniform(-0.1, 0.1)) / columns,
        )
        for number in range(count)
    ]


def _way(home: Point, plane: PlaneWorld, rng: random.Random, spread: float) -> list[Point]:
    """From the step before the first."""
    x, y = (min(max(rng.gauss(at, spread), 0.0), 1.0) for at in home)
    way = [(x, y)]
    for _ in range(plane.steps):
        angle, far = rng.random() * math.tau, rng.random() * plane.speed
        x = min(max(x + far * math.cos(angle), 0.0), 1.0)
        y = min(max(y + far * math.sin(angle), 0.0), 1.0)
        way.append((x, y))
    return way


def square(centre: Point, side: float) -> ExtentBounds:
    """On the plane, and cut off at its borders."""
    box: ExtentBounds = {}
    for name, at in zip(("Plane.x", "Plane.y"), centre, strict=True):
        low = min(int(max(0.0, at - side / 2) * SIDE), SIDE - 1)
        box[name] = (low, max(low + 1, int(min(1.0, at + side / 2) * SIDE)))
    return box


def _pieces(box: ExtentBounds, count: int) -> list[ExtentBounds]:
    """The same square as strips along y."""
    low, high = box["Plane.y"]
    cuts = [low + (high - low) * place // count for place in range(count + 1)]
    return [{"Plane.x": box["Plane.x"], "Plane.y": pair} for pair in pairwise(cuts) if pair[0] < pair[1]]


def _part(
    plane: PlaneWorld, number: int, own: Sequence[Point], ways: Sequence[Sequence[Point]]
) -> WorkloadPart:
    name = f"federate {number + 1}"
    everything = list(range(plane.entities))
    if plane.kind == "whole":
        thing = AttributeAt("Entity", "place", [])
        return WorkloadPart(
            name, [thing], [thing] * plane.entities, [], [WorkloadTurn(updates=everything)] * plane.steps
        )
    seen = AttributeAt("Entity", "place", _pieces(square(own[0], plane.sight), plane.extents))
    if plane.kind == "moving":
        things = [AttributeAt("Entity", "place", [square(way[0], plane.near)]) for way in ways]
        turns = [
            WorkloadTurn(
                looks=[(0, _pieces(square(own[step], plane.sight), plane.extents))],
                moves=[(thing, [square(way[step], plane.near)]) for thing, way in enumerate(ways)],
                updates=everything,
            )
            for step in range(1, plane.steps + 1)
        ]
        return WorkloadPart(name, [seen], things, [], turns)
    cut = [
        square(((n % SQUARES + 0.5) / SQUARES, (n // SQUARES + 0.5) / SQUARES), 1 / SQUARES)
        for n in range(SQUARES**2)
    ]
    within = [[_square_of(at) for at in way] for way in ways]
    turns = [
        WorkloadTurn(
            enters=[
                (thing, where[step]) for thing, where in enumerate(within) if where[step] != where[step - 1]
            ],
            updates=everything,
        )
        for step in range(1, plane.steps + 1)
    ]
    used = sorted({place for where in within for place in where})
    numbers = {place: number for number, place in enumerate(used)}
    turns = [turn._replace(enters=[(thing, numbers[at]) for thing, at in turn.enters]) for turn in turns]
    things = [AttributeAt("Entity", "place", [cut[where[0]]]) for where in within]
    return WorkloadPart(name, [seen], things, [cut[place] for place in used], turns)


def _square_of(place: Point) -> int:
    column, row = (min(int(at * SQUARES), SQUARES - 1) for at in place)
    return row * SQUARES + column
