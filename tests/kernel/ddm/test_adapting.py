"""Partitions that change while a federation runs (S2-23, S2-19): nothing is lost or doubled, what was predicted comes."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from support.strategy_federates import DIMENSIONS, SPACES, SPAN, WHOLE, Box, Place, places, seated
from weft import Source
from weft.fabric import Topology
from weft.host.simulated.fabric import FabricNetwork, FabricProfile
from weft.host.simulated.simulated import LinkProfile, SimulatedNetwork
from weft.interest.adaptive import LINES, Plan
from weft.kernel.ddm.adapting import Adapting
from weft.kernel.state.federation import Federation

pytestmark = pytest.mark.over_nodes

HALF = SPAN // 2


def rid(messages: int = 60, interval: float = 1.0, more: str = "") -> Source:
    text = (
        f"(RTI (DataDistribution (StrategyToUse AdaptivePartitioned) {more} (AdaptivePartitionedStrategyOptions "
        f"(MinimumMessages {messages}) (ReportInterval {interval}))))"
    )
    return Source("adaptive.rid", text.encode())


def adapting(network: SimulatedNetwork, node: str = "S1") -> Adapting:
    found = network.node(node).federations["paper"].channels.adapting
    assert found is not None
    return found


def passing(network: SimulatedNetwork, seconds: float) -> None:
    network.run_until(lambda: False, network.clock.now + seconds)


def quarter(number: int) -> dict[str, tuple[int, int]]:
    x, y = divmod(number % 4, 2)
    return {"2D.x": (x * HALF + 9, x * HALF + HALF - 9), "2D.y": (y * HALF + 9, y * HALF + HALF - 9)}


def quarters(network: SimulatedNetwork, made: list[Place]) -> None:
    """Each federate listens in a quarter of the space, and has an object there and one in the next."""
    for number, place in enumerate(made):
        place.subscribe_at("B.x", place.regions([quarter(number)]))
        for more in range(2):
            place.register_at(str(more), "B.x", place.regions([quarter(number + more)]))
    network.settle()


def rounds(network: SimulatedNetwork, made: list[Place], count: int) -> int:
    """All objects are updated again and again; returns the copies that left nodes for it."""
    before = sum(place.total("copies") for place in made)
    for _ in range(count):
        for place in made:
            place.tell("0", "B.x")
            place.tell("1", "B.x")
        passing(network, 0.3)
    return sum(place.total("copies") for place in made) - before


def test_the_gain_that_was_predicted_is_obtained() -> None:
    """S2-19, S2-23: each message went to three nodes, and goes to half a node: known before the switch, counted after it."""
    network, made = places(rid(), 4)
    quarters(network, made)
    assert rounds(network, made, 4) == 4 * 8 * 3  # one partition: everybody hears everything
    rounds(network, made, 20)
    facts = adapting(network).facts()
    assert (facts["changes"], facts["state"]) == (1, "steady")
    predicted, obtained = facts["predicted"], facts["obtained"]
    assert isinstance(predicted, dict)
    assert isinstance(obtained, dict)
    assert (predicted["before"], predicted["after"]) == (obtained["before"], obtained["after"]) == (3.0, 0.5)
    assert rounds(network, made, 4) == 4 * 8 // 2
    for node in ("S2", "S3", "S4"):
        assert adapting(network, node).plan == adapting(network).plan
    assert network.notices[-1].startswith("federation 'paper': partitions changed for the 1. time; of ")
    for place in made:
        assert len(place.reflected()) == 28  # every object of the neighbour's in its quarter, at each round


def test_where_nothing_is_to_be_saved_nothing_changes() -> None:
    """All listen everywhere: no cut keeps a message from anybody; and where nothing is sent, nothing is told."""
    network, made = places(rid(20), 3)
    for place in made:
        place.subscribe_all("B.x")
        place.register_at("0", "B.x", place.regions([quarter(1)]))
    network.settle()
    for _ in range(20):
        for place in made:
            place.tell("0", "B.x")
        passing(network, 0.5)
    assert adapting(network).facts() == {"changes": 0, "state": "steady"}
    sent = network.parcels_sent
    passing(network, 2.0)
    sent = network.parcels_sent
    passing(network, 30.0)
    assert network.parcels_sent == sent


def test_partitions_follow_the_traffic() -> None:
    """The traffic moves elsewhere, and the partitions after it."""
    network, made = places(rid(), 3)
    spots = [{"1D.x": (n * SPAN // 16 + 1, n * SPAN // 16 + 9)} for n in range(16)]
    wanted = [place.regions([spots[number]])[0] for number, place in enumerate(made)]
    for place, region in zip(made, wanted, strict=True):
        place.subscribe_at("A.x", [region])
        place.register_at("0", "A.x", [region])
    network.settle()
    for first in (0, 8):
        for number, (place, region) in enumerate(zip(made, wanted, strict=True)):
            place.move(region, spots[first + number])
        network.settle()
        copies = []
        for _ in range(400):
            before = sum(place.total("copies") for place in made)
            for place in made:
                place.tell("0", "A.x")
            passing(network, 0.3)
            copies.append(sum(place.total("copies") for place in made) - before)
            if not copies[-1] and adapting(network).steady:
                break
        assert (copies[0], copies[-1]) == (6, 0)
    assert adapting(network).changes >= 2
    assert not any(place.reflected() for place in made)


# --- switches at random moments, beside brute force --------------------------------------------------------------------


def random_plan(random: Random) -> Plan:
    return tuple(
        (space, _cuts(random, [(0, LINES - 1)] * len(names), 4))
        for space, names in DIMENSIONS.items()
        if space
    )


def _cuts(random: Random, box: list[tuple[int, int]], depth: int) -> tuple[int, ...]:
    place = random.randrange(len(box))
    first, last = box[place]
    if not depth or first == last or random.random() < 0.2:
        return (-1,)
    cell = random.randint(first + 1, last)
    below, above = list(box), list(box)
    below[place], above[place] = (first, cell - 1), (cell, last)
    return (place, cell * (SPAN // LINES), *_cuts(random, below, depth - 1), *_cuts(random, above, depth - 1))


class Storm:
    """Updates while the partitions change at random; who must get each is worked out from plain boxes."""

    NAMES = ("A.x", "B.x", "C.x")

    def __init__(self, network: SimulatedNetwork, made: list[Place], seed: int) -> None:
        self.network = network
        self.random = Random(seed)
        self.places = made
        self.wishes: dict[str, list[tuple[str, Box, Any]]] = {}
        self.objects: dict[str, list[tuple[str, str, Box, Any]]] = {}
        self.expected: dict[str, list[bytes]] = {}
        self.got: dict[str, list[bytes]] = {}
        self.told = 0
        for place in made:
            self.settle_in(place)

    def box(self, name: str) -> Box:
        made = {}
        for dimension in DIMENSIONS[SPACES[name]]:
            lower = self.random.randrange(SPAN - 2)
            made[dimension] = (lower, min(lower + 1 + self.random.randrange(HALF), WHOLE))
        return made

    def settle_in(self, place: Place) -> None:
        self.wishes[place.node], self.objects[place.node] = [], []
        self.expected[place.node], self.got[place.node] = [], []
        for name in self.NAMES:
            for number in range(2):
                box = self.box(name)
                (region,) = place.regions([box])
                place.subscribe_at(name, [region])
                self.wishes[place.node].append((name, box, region))
                box = self.box(name)
                regions = place.regions([box])
                label = f"{place.node} {name} {number}"
                place.register_at(label, name, regions)
                self.objects[place.node].append((label, name, box, regions[0]))
        self.network.settle()

    def step(self) -> None:
        kind = self.random.random()
        if kind < 0.6:
            self.update()
        elif kind < 0.7:
            self.move()
        else:
            passing(self.network, self.random.random() * 0.3)

    def update(self) -> None:
        place = self.random.choice(self.places)
        label, name, box, _ = self.random.choice(self.objects[place.node])
        self.told += 1
        tag = b"%d" % self.told
        place.tell(label, name, tag=tag)
        for other in self.places:
            if other is not place and any(
                wish == name and overlap(there, box) for wish, there, _ in self.wishes[other.node]
            ):
                self.expected[other.node].append(tag)

    def move(self) -> None:
        """When all that was sent has arrived, so that nobody is in doubt about who wanted it."""
        self.network.settle()
        place = self.random.choice(self.places)
        number = self.random.randrange(len(self.wishes[place.node]))
        name, _, region = self.wishes[place.node][number]
        box = self.box(name)
        place.move(region, box)
        self.wishes[place.node][number] = (name, box, region)
        number = self.random.randrange(len(self.objects[place.node]))
        label, name, _, region = self.objects[place.node][number]
        box = self.box(name)
        place.move(region, box)
        self.objects[place.node][number] = (label, name, box, region)
        self.network.settle()

    def until_stage(self, stage: int) -> None:
        """Updates, until the home has come so far."""
        for _ in range(1000):
            if self.network.run_until(
                lambda: adapting(self.network).stage >= stage, self.network.clock.now + 0.05
            ):
                return
            self.update()
        raise AssertionError(f"the home did not come to stage {stage}")

    def take(self) -> None:
        for place in self.places:
            self.got[place.node] += place.reflected()

    def check(self) -> None:
        """Each got what it had to, and once; all nodes have come to the same."""
        self.network.settle()
        for _ in range(40):
            passing(self.network, 0.2)
        self.take()
        for place in self.places:
            assert sorted(self.got[place.node]) == sorted(self.expected[place.node]), place.node
        plans = [adapting(self.network, place.node) for place in self.places]
        assert {one.plan for one in plans} == {plans[0].plan}


def overlap(one: Box, other: Box) -> bool:
    return all(one[name][0] < other[name][1] and other[name][0] < one[name][1] for name in one)


def at_random(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """The home goes over to any plan whenever it may."""
    random = Random(seed)

    def any_plan(_: Adapting, __: Federation) -> tuple[Plan, int, int, int]:
        return random_plan(random), 1, 1, 1

    monkeypatch.setattr(Adapting, "_better", any_plan)


GROUPS = "(BestEffortChannelType UDPmulticast)"


def fabric_storm(seed: int, more: str = "") -> Storm:
    topology = Topology(("S1", "S2", "S3", "S4"), {"D": ("S1", "S2", "S3", "S4")})
    profile = FabricProfile(delay=0.02, jitter=0.1)
    network = FabricNetwork(topology, seed, profile, rid=rid(1, 0.2, more))
    return Storm(network, seated(network, 3), seed)


@pytest.mark.parametrize("more", [GROUPS, ""], ids=["groups", "links"])
@pytest.mark.parametrize("seed", range(6))
def test_storm_of_switches(seed: int, more: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """S2-23: partitions change at any moment of a storm: nothing is lost, nothing doubled; also who joins late, at a new node."""
    at_random(monkeypatch, seed)
    storm = fabric_storm(seed, more)
    joins = storm.random.randrange(80)
    for number in range(120):
        storm.step()
        if number == joins:
            newcomer = Place(storm.network, "S4")
            newcomer.begin_all()
            storm.places.append(newcomer)
            storm.settle_in(newcomer)
    storm.check()
    assert adapting(storm.network).changes >= 3


def test_listening_to_old_and_new_is_what_keeps_the_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """The storm can tell: nodes that leave the groups of the other plan at once lose messages."""
    monkeypatch.setattr(Adapting, "other_plans", lambda _: [])
    lost = 0
    for seed in range(6):
        with monkeypatch.context() as patch:
            at_random(patch, seed)
            storm = fabric_storm(seed, GROUPS)
            for _ in range(120):
                storm.step()
            storm.network.settle()
            storm.take()
            lost += any(storm.got[p.node] != storm.expected[p.node] for p in storm.places) and any(
                len(storm.got[p.node]) < len(storm.expected[p.node]) for p in storm.places
            )
    assert lost


@pytest.mark.parametrize("seed", range(4))
def test_a_node_that_dies_in_a_switch(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others do not wait for it for ever: they go on, and go over."""
    at_random(monkeypatch, seed)
    profile = LinkProfile(delay=0.02, jitter=0.1)
    network = SimulatedNetwork(["S1", "S2", "S3"], seed, profile, rid(1, 0.2))
    storm = Storm(network, seated(network, 3), seed)
    storm.until_stage(storm.random.randrange(1, 7))
    for _ in range(storm.random.randrange(20)):
        storm.update()
        passing(network, storm.random.random() * 0.05)
    network.settle()
    storm.take()
    network.crash("S3")
    gone = storm.places.pop()
    network.settle()
    passing(network, 3.0)
    before = adapting(network).changes
    for _ in range(60):
        storm.step()
    assert gone.node == "S3"
    storm.check()
    assert adapting(network).changes > before


@pytest.mark.parametrize("seed", range(4))
def test_a_home_that_is_started_again_goes_on_with_the_switch(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the commands said is in its journal, whatever the stage; its reports come again."""
    at_random(monkeypatch, seed)
    storm = fabric_storm(seed, GROUPS)
    network = storm.network
    assert isinstance(network, FabricNetwork)
    stage = storm.random.randrange(1, 7)
    storm.until_stage(stage)
    network.settle()
    network.crash("S1")
    network.clock.at(network.clock.now + 0.3, lambda: network.restart("S1"))
    storm.take()
    storm.places.pop(0)
    network.settle()
    passing(network, 3.0)
    for place in storm.places:
        assert adapting(network, place.node).plan == adapting(network).plan
    before = adapting(network).stage
    for _ in range(60):
        storm.step()
    storm.check()
    assert adapting(network).stage > before >= stage


@pytest.mark.parametrize("seed", range(6))
def test_save_and_restore_in_a_switch(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan and the stage are saved; restored, all nodes have those again, and go on."""
    at_random(monkeypatch, seed)
    profile = LinkProfile(delay=0.02, jitter=0.1)
    network = SimulatedNetwork(["S1", "S2", "S3"], seed, profile, rid(1, 0.2))
    storm = Storm(network, seated(network, 3), seed)
    stage = storm.random.randrange(1, 7)
    storm.until_stage(stage)
    storm.take()
    paused(storm, "request_federation_save", "federate_save_begun", "federate_save_complete")
    saved = [adapting(network, place.node).plain() for place in storm.places]
    assert saved[0] == saved[1] == saved[2]
    kept = adapting(network).stage
    assert kept >= stage
    for _ in range(60):
        storm.update()
        passing(network, storm.random.random() * 0.3)
    network.settle()
    storm.take()
    later = adapting(network).stage
    paused(storm, "request_federation_restore", "federate_restore_complete")
    assert stage <= adapting(network).stage < later
    assert len({tuple(map(str, adapting(network, place.node).plain())) for place in storm.places}) == 1
    for _ in range(60):
        storm.update()
        passing(network, storm.random.random() * 0.3)
    storm.check()
    assert adapting(network).stage > kept


def paused(storm: Storm, request: str, *answers: str) -> None:
    """Save or restore, with as little time passing as need be."""
    storm.network.settle()
    storm.places[0].call(request, "noon")
    storm.network.settle()
    for answer in answers:
        for place in storm.places:
            place.call(answer)
        storm.network.settle()
    storm.take()
