"""Regions as of a time without a log (S4-15): what is refused, and that nothing is late and nothing missing."""

from __future__ import annotations

from random import Random

import pytest

from kernel.ddm.test_regions_nodes import HERE, NAME, THERE, Side
from support.fabric_federations import BAD
from support.small_fom import fom
from weft import Source
from weft.fabric import Topology
from weft.host.simulated.fabric import FabricNetwork
from weft.model.errors import InvalidLogicalTime, RTIinternalError

pytestmark = pytest.mark.over_nodes

AHEAD = 5
RID = Source("bound.rid", f"(RTI (DataDistribution (StrategyToUse Exact) (TboundAhead {AHEAD})))".encode())


def sides(seed: int, rid: Source = RID) -> tuple[FabricNetwork, list[Side]]:
    topology = Topology(("S1", "S2", "S3"), {"A": ("S1", "S2"), "B": ("S2", "S3")})
    network = FabricNetwork(topology, seed, BAD, lost_seconds=60.0, rid=rid)
    made = [Side(name, network.at(name)) for name in topology.servers]
    made[0].rti.create_federation_execution(NAME, [fom()], "HLAinteger64Time")
    for side in made:
        side.join()
    network.settle()
    for side in made:
        side.timed()
    network.settle()
    for side in made:
        side.told()
    return network, made


def test_both_sides_of_the_bound() -> None:
    """S4-15: a message before it, a change at it or later, and nothing else."""
    network, (one, two, _) = sides(1)
    one.send(AHEAD - 1)
    with pytest.raises(InvalidLogicalTime, match=f"before {AHEAD}.* only, not at {AHEAD}.*TboundAhead"):
        one.send(AHEAD)
    with pytest.raises(
        InvalidLogicalTime, match=f"as of {AHEAD}.* or later, not of {AHEAD - 1}.*TboundAhead"
    ):
        two.hear(AHEAD - 1)
    two.hear(AHEAD)
    network.settle()
    two.move(two.ear, THERE, AHEAD + 1)
    with pytest.raises(InvalidLogicalTime):
        two.move(two.ear, HERE, AHEAD - 1)


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_logged_late_or_lost(seed: int) -> None:
    """Random messages and changes on the right sides: everybody hears what it wants as of its time, in every network."""
    random = Random(seed // 2)  # the same federates over two networks
    network, made = sides(seed)
    wants: list[dict[int, tuple[int, int] | None]] = [{0: None} for _ in made]
    heard: list[list[str]] = [[] for _ in made]
    expected: list[list[str]] = [[] for _ in made]
    for now in range(20):
        for number, side in enumerate(made):
            if random.random() < 0.5:
                bounds = random.choice((HERE, THERE))
                time = now + AHEAD + 2 + random.randrange(3)
                if not any(at >= time for at in wants[number]):
                    if len(wants[number]) == 1:
                        side.hear(time)
                    side.move(side.ear, bounds, time)
                    wants[number][time] = bounds
            time = now + 1 + random.randrange(AHEAD - 2)
            tag = f"{side.name} {time}"
            for other, hears in enumerate(wants):
                as_of = [at for at in hears if at <= time]
                if other != number and hears[max(as_of)] == HERE:
                    expected[other].append(tag)
            side.send(time)
        for side in made:
            side.ask(now + 1)
        network.settle()
        for number, side in enumerate(made):
            heard[number] += [one for one in side.told() if isinstance(one, str)]
    for number, side in enumerate(made):
        until = [tag for tag in expected[number] if int(tag.split()[1]) <= 20]
        assert sorted(heard[number]) == sorted(until), side.name
    for name in network.topology.servers:
        counts = network.node(name).federations[NAME].distribution.counts
        assert (counts.logged, counts.late) == (0, 0)
    assert sum(map(len, heard)) > 20


def test_a_bound_that_is_none() -> None:
    with pytest.raises(RTIinternalError, match=r"bound\.rid:1: TboundAhead must be a number above 0"):
        sides(1, Source("bound.rid", b"(RTI (DataDistribution (TboundAhead -1)))"))
