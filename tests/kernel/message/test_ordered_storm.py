"""Causal and total order while federates and nodes come and go: nothing hangs, no effect before its cause, all goes on after."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest

from fabric.topologies import some
from host.simulated.test_fabric_storm import plan_faults
from kernel.message.test_ordered import uneven
from support.fabric_federations import BAD
from support.federation_digest import check_agreement
from support.ordered_federates import CAUSAL, Town
from support.simulated_federates import NAME, Seat, federation, handles, seats
from weft import OrderType, ResignAction
from weft.host.simulated.fabric import FabricNetwork
from weft.host.simulated.simulated import SimulatedConnection

pytestmark = pytest.mark.over_nodes

LASTS = 2.0


def finish(town: Town, seed: int) -> None:
    """What must hold when the storm is over, and that those who are left can still talk."""
    network = town.network
    town.check_nothing_left()
    town.history.check_order()
    assert not town.history.faults, (seed, town.history.faults[:3])
    town.check_all_ended()
    left = [n for n in range(len(town.seats)) if n not in town.gone]
    before = len(town.history.sent)
    for order in (CAUSAL, OrderType.TOTAL):
        for federate in left:
            town.act(federate, order)
            town.run()
    town.history.check_order()
    town.check_nothing_left()
    for name, sent in enumerate(town.history.sent[before:], before):
        for federate in sent.to & set(left):
            if not town.history.heard[federate] >> name & 1:
                town.history.faults.append(f"after all, federate {federate} did not hear {name}")
    assert not town.history.faults, (seed, town.history.faults[:3])
    check_agreement(network, *network.incarnations)


def crashes(seed: int) -> Town:
    """At nodes with uneven links: nodes crash, federates are lost, resign and come late."""
    random = Random(seed)
    nodes = random.choice((3, 4, 5))
    network = uneven(nodes, seed, random)
    network.detection = random.choice((0.02, 0.1, 0.3))  # so that federates go on while a view ends
    places = [f"S{random.randint(1, nodes)}" for _ in range(random.randint(3, 7))]
    town = Town(network, random, federation(network, *places))
    town.plan(150, LASTS)
    now = network.clock.now
    home = places[0]
    others = [f"S{n}" for n in range(1, nodes + 1) if f"S{n}" not in (home, "S1")]
    for node in random.sample(others, random.choice((0, 1, 1, 2)) if len(others) > 1 else 1):
        when = now + random.random() * LASTS
        network.clock.at(when, partial(_crash, town, node))
    for federate in random.sample(range(len(places)), random.choice((0, 1))):
        network.clock.at(now + random.random() * LASTS, partial(_lose, town, federate))
    for federate in random.sample(range(len(places)), random.choice((0, 1))):
        network.clock.at(now + random.random() * LASTS, partial(_resign, town, federate))
    _latecomers(town, others)
    town.run()
    town.history.check_survivors(town.gone)
    finish(town, seed)
    return town


def _latecomers(town: Town, nodes: list[str] | tuple[str, ...]) -> None:
    for number in range(town.random.choice((0, 1, 2))):
        when = town.network.clock.now + town.random.random() * LASTS
        node = town.random.choice(nodes)
        town.network.clock.at(when, partial(_come, town, node, f"late {number}"))


def _come(town: Town, node: str, name: str) -> None:
    if node in town.network._nodes:
        town.comes(Seat(town.network.at(node), name))


def _crash(town: Town, node: str) -> None:
    town.poll()
    if node in town.network._nodes:
        town.network.crash(node)
        town.poll()


def _lose(town: Town, federate: int) -> None:
    town.poll()
    if federate not in town.gone:
        town.gone.add(federate)
        town.seats[federate].connection.lose()


def _resign(town: Town, federate: int) -> None:
    town.poll()
    if federate not in town.gone:
        town.gone.add(federate)
        connection = town.seats[federate].connection
        assert isinstance(connection, SimulatedConnection)
        town.pending.append(
            connection.begin("resign_federation_execution", (ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST,))
        )


def storm(seed: int) -> Town:
    """Over domains: routers die and take messages with them, links are cut for a short or a long time, nodes come back."""
    random = Random(seed)
    topology = some(seed)
    network = FabricNetwork(topology, seed, BAD, lost_seconds=1.0)
    places = [random.choice(topology.servers) for _ in range(5)]
    town = Town(network, random, federation(network, *places))
    town.plan(80, LASTS)
    plan_faults(network, random)
    _latecomers(town, topology.servers)
    town.run()
    if NAME not in {name for node in network._nodes.values() for name in node.federations}:
        town.gone.update(range(len(places)))
    finish(town, seed)
    return town


@pytest.mark.parametrize("block", range(4))
def test_crashes_end_views_and_nothing_hangs(block: int) -> None:
    """S0-14, S0-16: a node that dies takes messages with it; survivors keep causal order, and nobody waits for ever."""
    views = 0
    for seed in range(block * 12, block * 12 + 12):
        town = crashes(seed)
        views += max(
            (f.orders.settled for n in town.network._nodes.values() for f in n.federations.values()),
            default=0,
        )
    assert views > 5


@pytest.mark.parametrize("block", range(4))
def test_storms_over_domains(block: int) -> None:
    """S0-16, S1-9: routers and homes among those that die and come back."""
    for seed in range(block * 4, block * 4 + 4):
        storm(seed)


@pytest.mark.parametrize("seed", [1041, 1229, 2009, 2109, 2179])
def test_marks_that_come_before_the_welcome(seed: int) -> None:
    """S0-15, S0-16: a view ends while somebody joins at a new node; what others say to that node is kept until it is welcomed."""
    storm(seed)


def test_a_node_that_leaves_while_a_view_ends() -> None:
    """S0-15, S0-16: its last federate resigns before it has the marks of all others; nobody waits for it."""
    crashes(1080)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_thousands_of_crashes_and_storms() -> None:
    for seed in range(1000, 3000):
        crashes(seed)
        if seed % 2:
            storm(seed)


def test_a_late_joiner_takes_part() -> None:
    """S0-15: who joins late has a number of its own, hears nothing from before, and is in order from there on."""
    random = Random(3)
    network = uneven(3, 3, random)
    town = Town(network, random, federation(network, "S1", "S2"))
    for _ in range(10):
        town.act(0, CAUSAL)
        town.act(1, CAUSAL)
    (late,) = seats(network, "S3")
    late.name = "late"
    late.join()
    late.subscribe_interaction("Event.Hit")
    network.settle()
    town.poll()
    for seat in town.seats:
        seat.call("change_interaction_order_type", handles().interactions["Event.Hit"], CAUSAL)
    town.seats[0].send("Event.Hit", b"1000")
    network.settle()
    assert late.tags("receive_interaction") == [b"1000"]
