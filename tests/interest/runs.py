"""Random runs of a distribution list, and what the definition says of them (S4-7, S4-8, S4-10, S4-18).

By definition a federate gets an update if, of any of its members, the latest time up to the update's own at which Adds and
Deletes are not equally many has more Adds.  Nothing here bisects or remembers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from weft.interest import DistributionList, Logged

ADD, DELETE, UPDATE = 1, -1, 0


class Operation(NamedTuple):
    kind: int
    member: tuple[str, int]
    time: Any


class Load(NamedTuple):
    """How many operations of what sort."""

    length: int
    times: int
    federates: int = 2
    regions: int = 2
    updates: float = 0.4


MIXED = Load(18, 10)
ONE = Load(13, 20, 1, 1)  # one member, as in the paper


def random_operations(rng: random.Random, load: Load) -> list[Operation]:
    made = []
    for _ in range(load.length):
        kind = UPDATE if rng.random() < load.updates else rng.choice((ADD, DELETE))
        member = (f"f{rng.randrange(load.federates)}", rng.randrange(load.regions))
        made.append(Operation(kind, member, rng.randrange(load.times)))
    return made


def signs(operations: list[Operation]) -> dict[tuple[str, int], dict[Any, int]]:
    """Of each member, the times at which Adds and Deletes are not equally many, and by how much."""
    found: dict[tuple[str, int], dict[Any, int]] = {}
    for kind, member, time in operations:
        if kind:
            nets = found.setdefault(member, {})
            nets[time] = nets.get(time, 0) + kind
    return {member: {time: net for time, net in nets.items() if net} for member, nets in found.items()}


def on_at(found: dict[tuple[str, int], dict[Any, int]], time: Any) -> set[str]:
    """D(T)."""
    on = set()
    for member, nets in found.items():
        latest = max((one for one in nets if one <= time), default=None)
        if latest is not None and nets[latest] > 0:
            on.add(member[0])
    return on


def wanted(operations: list[Operation]) -> dict[tuple[str, int], Any]:
    """(federate, number of the update): its time."""
    found = signs(operations)
    return {
        (federate, number): one.time
        for number, one in enumerate(operations)
        if one.kind == UPDATE
        for federate in on_at(found, one.time)
    }


def carry_out(
    target: Any, operations: list[Operation], faults: list[str]
) -> Iterator[dict[tuple[str, int], Any]]:
    """What everybody holds after each operation; a send of what is held, or a retraction of what is not, is a fault."""
    held: dict[tuple[str, int], Any] = {}
    for number, (kind, member, time) in enumerate(operations):
        if kind == UPDATE:
            for federate in target.update(Logged(time, number)):
                held[federate, number] = time
        else:
            outcome = target.add(member, time) if kind == ADD else target.delete(member, time)
            for one in outcome.sends:
                if (outcome.federate, one.value) in held:
                    faults.append(f"{number}: {one} sent again")
                held[outcome.federate, one.value] = one.time
            absent = [one for one in outcome.retractions if (outcome.federate, one.value) not in held]
            faults.extend(f"{number}: {one} retracted, though not there" for one in absent)
            for one in outcome.retractions:
                held.pop((outcome.federate, one.value), None)
        yield held


def is_right(operations: list[Operation], make: Callable[[], Any] = DistributionList) -> bool:
    """In the end."""
    faults: list[str] = []
    *_, held = carry_out(make(), operations, faults)
    return held == wanted(operations) and not faults


def wrong_runs(make: Callable[[], Any], runs: int, load: Load = MIXED) -> int:
    return sum(not is_right(random_operations(random.Random(seed), load), make) for seed in range(runs))
