"""The strategies of paper 002 over nodes: who gets what over the network, and who is told of it (S2-3 … S2-16, S2-21)."""

from __future__ import annotations

from random import Random

import pytest

from support.strategy_federates import (
    ATTRIBUTES,
    DIMENSIONS,
    REGIONS,
    SPACES,
    SPAN,
    WHOLE,
    Box,
    Place,
    places,
    rid,
    seated,
)
from weft import OrderType
from weft.fabric import Topology
from weft.host.simulated.fabric import FabricNetwork, FabricProfile
from weft.host.simulated.simulated import SimulatedNetwork

pytestmark = pytest.mark.over_nodes

GRID = "StaticGridPartitioned"
SPACE = "StaticSpacePartitioned"
ADAPTIVE = "AdaptivePartitioned"  # begins as StaticSpacePartitioned; test_adapting.py has what comes then


def paper() -> tuple[SimulatedNetwork, list[Place]]:
    """The three federates of the paper, with what they subscribe to."""
    network, made = places(rid(GRID, 2))
    for place, wishes in zip(
        made,
        (
            {"A.x": ["R1D-1"], "B.x": ["R2D-1"], "B.y": ["R2D-4"]},
            {"A.x": ["R1D-3"], "B.y": ["R2D-2"]},
            {"A.x": ["R1D-1", "R1D-3"], "B.x": ["R2D-1"], "B.y": ["R2D-3", "R2D-4"]},
        ),
        strict=True,
    ):
        for name, regions in wishes.items():
            boxes = [box for region in regions for box in REGIONS[region]]
            place.subscribe_at(name, place.regions(boxes))
    network.settle()
    return network, made


@pytest.mark.parametrize(
    ("name", "region", "first", "second"),
    [
        ("A.x", "R1D-1", "YY", "YY"),
        ("A.x", "R1D-2", "NN", "YY"),
        ("B.x", "R2D-3", "YY", "YN"),  # the paper says YY for the second, which has no subscription of B.x
        ("B.x", "R2D-5", "YN", "YN"),
        ("B.y", "R2D-1", "YY", "NN"),  # the paper says YN for the first, which has B.y in the whole space
        ("B.y", "R2D-5", "YY", "YN"),  # likewise
    ],
)
def test_tables_of_the_paper(name: str, region: str, first: str, second: str) -> None:
    """S2-13: who receives network traffic, and who a callback, when the third federate updates."""
    network, (one, two, three) = paper()
    three.register_at("object", name, three.regions(REGIONS[region]))
    network.settle()
    before = [place.total("received") for place in (one, two, three)]
    three.tell("object", name)
    network.settle()
    came = [place.total("received") - was for place, was in zip((one, two, three), before, strict=True)]
    told = [len(place.reflected()) for place in (one, two, three)]
    assert [f"{'NY'[n]}{'NY'[r]}" for n, r in zip(came, told, strict=True)] == [first, second, "NN"]


def test_unwanted_traffic_of_the_paper() -> None:
    """S2-14: B.x at R2D-1 and R2D-5 brings B.y of R2D-2; R2D-4 reaches all of 2D; the default region is sent on four channels."""
    network, (one, two, three) = places(rid(GRID, 2))
    one.subscribe_at("B.x", one.regions([*REGIONS["R2D-1"], *REGIONS["R2D-5"]]))
    two.subscribe_at("B.y", two.regions(REGIONS["R2D-1"]))
    three.register_at("near", "B.y", three.regions(REGIONS["R2D-2"]))
    three.register_at("whole", "B.y", three.regions(REGIONS["R2D-4"]))
    three.register_at("plain", "B.y", [])
    network.settle()
    three.tell("near", "B.y")
    network.settle()
    assert one.traffic() == {
        5: {
            "sent": 0,
            "copies": 0,
            "received": 1,
            "wanted": 0,
            "filtered_receiver": 1,
            "filtered_sender": 0,
        }
    }
    assert not two.traffic()
    assert not one.reflected()
    three.tell("whole", "B.y")
    network.settle()
    assert (one.total("received"), two.total("received")) == (2, 1)
    assert (len(one.reflected()), len(two.reflected())) == (0, 1)
    before = {channel: counts["sent"] for channel, counts in three.traffic().items()}
    three.tell("plain", "B.y")
    network.settle()
    after = {channel: counts["sent"] for channel, counts in three.traffic().items()}
    assert {channel: after[channel] - before.get(channel, 0) for channel in (3, 4, 5, 6)} == {
        3: 1,
        4: 1,
        5: 1,
        6: 1,
    }
    assert (len(one.reflected()), len(two.reflected())) == (0, 1)


def test_a_space_keeps_traffic_apart_without_any_region() -> None:
    """S2-7, S2-15: who subscribes to one class gets nothing of another in another space, though it calls no DDM service."""
    network, (one, two, three) = places(rid(SPACE))
    one.subscribe_all("A.x")
    two.subscribe_all("B.x")
    for label, name in (("tank", "A.x"), ("plane", "B.x"), ("plain", "C.y")):
        three.register_at(label, name, [])
    network.settle()
    for label, name in (("tank", "A.x"), ("tank", "A.x"), ("plane", "B.x"), ("plain", "C.y")):
        three.tell(label, name)
    network.settle()
    assert {channel: counts["received"] for channel, counts in one.traffic().items()} == {1: 2, 0: 1}
    assert {channel: counts["received"] for channel, counts in two.traffic().items()} == {2: 1, 0: 1}
    assert (one.total("wanted"), two.total("wanted")) == (2, 1)
    assert three.total("filtered_sender") == 3


def test_simple_sends_everything_everywhere() -> None:
    """S2-6: no sender filters."""
    network, (one, two, three) = places(rid("Simple"))
    one.subscribe_at("A.x", one.regions(REGIONS["R1D-1"]))
    three.register_at("tank", "A.x", three.regions(REGIONS["R1D-2"]))
    network.settle()
    three.tell("tank", "A.x")
    network.settle()
    assert [place.total("received") for place in (one, two)] == [1, 1]
    assert [place.total("filtered_receiver") for place in (one, two)] == [1, 1]
    assert three.total("copies") == 2
    assert three.total("filtered_sender") == 0


# --- what really crosses the links ------------------------------------------------------------------------------------


def fabric(strategy: str, **options: object) -> tuple[FabricNetwork, list[Place]]:
    topology = Topology(("S1", "S2", "S3"), {"D": ("S1", "S2", "S3")})
    network = FabricNetwork(topology, 1, FabricProfile(), rid=rid(strategy, 2, **options))
    return network, seated(network, 3)


@pytest.mark.parametrize(
    ("strategy", "crosses"), [("Exact", False), (GRID, False), (SPACE, True), ("Simple", True)]
)
def test_what_the_sender_filters_is_not_sent(strategy: str, crosses: bool) -> None:
    """S2-3: bytes on the links: nothing at all goes to a node that listens to none of the channels."""
    network, (one, two, three) = fabric(strategy)
    one.subscribe_at("A.x", one.regions(REGIONS["R1D-1"]))
    two.subscribe_at("A.x", two.regions(REGIONS["R1D-2"]))
    three.register_at("tank", "A.x", three.regions(REGIONS["R1D-2"]))
    network.settle()
    network.watched = True
    for _ in range(10):
        three.tell("tank", "A.x")
    network.settle()
    to_one = [data for sender, receiver, data in network.crossed if (sender, receiver) == ("S3", "S1")]
    to_two = [data for sender, receiver, data in network.crossed if (sender, receiver) == ("S3", "S2")]
    assert len(to_two) == 10
    assert len(to_one) == (10 if crosses else 0)
    assert len(two.reflected()) == 10
    assert not one.reflected()


def test_groups_of_channels() -> None:
    """S2-5, S2-14: best-effort data goes once to each group; a node is in the groups of what it subscribes to."""
    network, (one, two, three) = fabric(GRID, BestEffortChannelType="UDPmulticast")
    groups = {place.node: network.carriers[place.node].groups for place in (one, two, three)}
    assert groups["S1"] == groups["S2"] == {"239.255.87.0"}  # channel 0: everybody
    half = dict.fromkeys(DIMENSIONS["3D"], (0, SPAN // 2))
    (region,) = one.regions([half])
    one.subscribe_at("C.x", [region])
    two.subscribe_all("C.x")
    network.settle()
    assert network.carriers["S1"].groups == {"239.255.87.0", "239.255.87.7"}
    assert network.carriers["S2"].groups == {f"239.255.87.{n}" for n in (0, *range(7, 15))}
    three.register_at("near", "C.x", three.regions([half]))
    three.register_at("anywhere", "C.x", [])
    network.settle()
    network.watched = True
    three.tell("near", "C.x")
    network.settle()
    assert network.casts == 1
    three.tell("anywhere", "C.x")
    network.settle()
    assert network.casts == 1 + 8  # the whole space is eight channels
    assert [len(place.reflected()) for place in (one, two)] == [2, 2]
    assert [place.total("received") for place in (one, two)] == [2, 2]
    one.move(region, dict.fromkeys(DIMENSIONS["3D"], (SPAN // 2, WHOLE)))
    network.settle()
    assert network.carriers["S1"].groups == {"239.255.87.0", "239.255.87.14"}
    three.tell("near", "C.x")
    network.settle()
    assert [len(place.reflected()) for place in (one, two)] == [0, 1]
    one.resign()
    network.settle()
    assert network.carriers["S1"].groups == frozenset()


def completed_before_update(order: OrderType | None, seed: int) -> bool:
    """A best-effort update in one space, then word in another that it was the last: is that heard first?"""
    topology = Topology(("S1", "S2", "S3"), {"D": ("S1", "S2", "S3")})
    profile = FabricProfile(delay=0.01, jitter=0.05)
    network = FabricNetwork(topology, seed, profile, rid=rid(GRID))
    one, two, _ = seated(network, 3)
    one.subscribe_all("C.x")
    one.call("subscribe_interaction_class", one.interaction("Shot"))
    two.register_at("cloud", "C.x", [])
    network.settle()
    one.heard()
    values = {two.names["C.x"][1]: b"v"}
    two.call("update_attribute_values", two.objects["cloud"], values, b"", None, order)
    two.call("send_interaction", two.interaction("Shot"), {}, b"", None, order)
    network.settle()
    heard = [method for method, _ in one.heard("reflect_attribute_values", "receive_interaction")]
    assert len(heard) == 2
    return heard[0] == "receive_interaction"


def test_channels_may_overtake_one_another_unless_order_is_causal() -> None:
    """S2-21: in receive order the word of completion may come first; in causal order it never does."""
    assert 0 < sum(completed_before_update(None, seed) for seed in range(20)) < 20
    assert not any(completed_before_update(OrderType.CAUSAL, seed) for seed in range(20))


# --- same callbacks, and the traffic that an independent count predicts ----------------------------------------------


class Story:
    """A run at random: regions, subscriptions, moves, updates and interactions; written down, to be told again."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        random = self.random
        self.steps: list[tuple[object, ...]] = []
        for place in range(3):
            for _ in range(random.randint(1, 3)):
                name = random.choice(ATTRIBUTES[:4])
                self.steps.append(("subscribe", place, name, [self.box(SPACES[name])]))
            if random.random() < 0.5:
                self.steps.append(("plainly", place, random.choice(ATTRIBUTES)))
            for number in range(2):
                name = random.choice(ATTRIBUTES)
                boxes = [self.box(SPACES[name])] if SPACES[name] and random.random() < 0.8 else []
                self.steps.append(("register", place, f"{place}.{number}", name, boxes))
        for _ in range(30):
            self.steps.append((random.choice(("update", "update", "move", "turn")), random.randrange(3),
                               random.randrange(100), self.box("1D"), self.box("2D"), self.box("3D")))  # fmt: skip

    def box(self, space: str) -> Box:
        made = {}
        for dimension in DIMENSIONS[space]:
            marks = sorted(self.random.randrange(17) for _ in range(2))
            lower = marks[0] * (SPAN // 16) if marks[0] < 16 else SPAN // 2
            upper = min(max(marks[1] * (SPAN // 16), lower + 1), WHOLE)
            made[dimension] = (lower, upper)
        return made


class Told:
    """A story as one strategy tells it, and beside it the regions as plain boxes, for an independent count."""

    def __init__(self, story: Story, strategy: str, partitions: int, channels: int = 1000) -> None:
        self.network, self.places = places(rid(strategy, partitions, MaxNumberOfDataChannelsToUse=channels))
        self.strategy, self.partitions = strategy, partitions
        self.subscribed: list[list[tuple[str, Box | None]]] = [[], [], []]
        self.handles: list[list[tuple[int, object]]] = [
            [],
            [],
            [],
        ]  # of subscribed regions: which, and its handle
        self.objects: list[list[tuple[str, str, Box | None, object]]] = [[], [], []]
        self.copies = [0, 0, 0]
        self.received = [0, 0, 0]
        self.wanted = [0, 0, 0]
        self.kept = [0, 0, 0]
        self.heard: list[list[bytes]] = [[], [], []]
        for number, step in enumerate(story.steps):
            getattr(self, f"do_{step[0]}")(number, *step[1:])
            self.network.settle()
            for heard, place in zip(self.heard, self.places, strict=True):
                heard += place.reflected()

    def do_subscribe(self, number: int, at: int, name: str, boxes: list[Box]) -> None:
        place = self.places[at]
        for box, region in zip(boxes, place.regions(boxes), strict=True):
            place.subscribe_at(name, [region])
            self.handles[at].append((len(self.subscribed[at]), region))
            self.subscribed[at].append((name, box))

    def do_plainly(self, number: int, at: int, name: str) -> None:
        self.places[at].subscribe_all(name)
        self.subscribed[at].append((name, None))

    def do_register(self, number: int, at: int, label: str, name: str, boxes: list[Box]) -> None:
        place = self.places[at]
        regions = place.regions(boxes)
        place.register_at(label, name, regions)
        self.objects[at].append((label, name, boxes[0] if boxes else None, regions[0] if regions else None))

    def do_move(self, number: int, at: int, choice: int, *boxes: Box) -> None:
        """An update region."""
        label, name, _, region = self.objects[at][choice % len(self.objects[at])]
        if region is not None:
            new = boxes[int(SPACES[name][0]) - 1]
            self.places[at].move(region, new)  # type: ignore[arg-type]
            self.objects[at][choice % len(self.objects[at])] = (label, name, new, region)

    def do_turn(self, number: int, at: int, choice: int, *boxes: Box) -> None:
        """A subscribed region."""
        which, region = self.handles[at][choice % len(self.handles[at])]
        name, _ = self.subscribed[at][which]
        new = boxes[int(SPACES[name][0]) - 1]
        self.places[at].move(region, new)  # type: ignore[arg-type]
        self.subscribed[at][which] = (name, new)

    def do_update(self, number: int, at: int, choice: int, *_: Box) -> None:
        label, name, box, _region = self.objects[at][choice % len(self.objects[at])]
        self.predict(at, name, box)
        self.places[at].tell(label, name, tag=b"%d" % number)

    # --- the count ------------------------------------------------------------------------------------------------

    def cells(self, space: str, box: Box | None) -> set[tuple[str, tuple[int, ...]]]:
        """The channels, by brute force: every cell of the grid that has a point of the box."""
        if self.strategy == "Simple" or not space:
            return {("", ())}
        per = self.partitions if self.strategy == GRID else 1
        size = -(-SPAN // per)
        found: set[tuple[int, ...]] = {()}
        for dimension in DIMENSIONS[space]:
            lower, upper = (0, WHOLE) if box is None else box[dimension]
            touched = [n for n in range(per) if lower < (n + 1) * size and n * size < upper]
            found = {(*cell, n) for cell in found for n in touched}
        return {(space, cell) for cell in found}

    def predict(self, at: int, name: str, box: Box | None) -> None:
        channels = self.cells(SPACES[name], box)
        for other in range(3):
            if other == at:
                continue
            wants = any(wish == name and self.overlap(there, box) for wish, there in self.subscribed[other])
            if self.strategy == "Exact":
                comes = wants
            else:
                listens: set[tuple[str, tuple[int, ...]]] = {("", ())}
                for wish, there in self.subscribed[other]:
                    listens |= self.cells(SPACES[wish], there)
                comes = bool(channels & listens)
            self.copies[at] += comes
            self.kept[at] += not comes
            self.received[other] += comes
            self.wanted[other] += wants

    @staticmethod
    def overlap(one: Box | None, other: Box | None) -> bool:
        if one is None or other is None:
            return True
        return all(one[name][0] < other[name][1] and other[name][0] < one[name][1] for name in one)

    def check_count(self) -> None:
        for what, predicted in (
            ("copies", self.copies),
            ("filtered_sender", self.kept),
            ("received", self.received),
            ("wanted", self.wanted),
        ):
            assert [place.total(what) for place in self.places] == predicted, what


@pytest.mark.parametrize("seed", range(12))
def test_all_strategies_deliver_the_same_and_differ_in_traffic(seed: int) -> None:
    """S2-3, S2-4, S2-6 … S2-8: the same callbacks under every strategy; the traffic is what an independent count predicts."""
    story = Story(seed)
    exact = Told(story, "Exact", 1)
    exact.check_count()
    simple = Told(story, "Simple", 1)
    for strategy, partitions in ((SPACE, 1), (GRID, 1), (GRID, 2), (GRID, 5), (ADAPTIVE, 1)):
        told = Told(story, strategy, partitions)
        assert told.heard == exact.heard
        told.check_count()
        assert sum(exact.copies) <= sum(told.copies) <= sum(simple.copies)
    simple.check_count()
    assert simple.heard == exact.heard


@pytest.mark.parametrize("seed", range(4))
def test_channels_that_are_used_again(seed: int) -> None:
    """S2-9: 155 partitions on 8 channels: more traffic than with as many channels, and the same callbacks."""
    story = Story(seed)
    few, many = Told(story, GRID, 5, 8), Told(story, GRID, 5)
    assert few.heard == many.heard
    assert sum(few.copies) == sum(many.copies)  # as predicted without reuse …
    assert sum(place.total("copies") for place in few.places) >= sum(many.copies)
    assert all(channel <= 8 for place in few.places for channel in place.traffic())
