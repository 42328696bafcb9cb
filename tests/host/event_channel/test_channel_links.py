"""Event channels joined over the fabric (S3-13, S3-21; issue 7, item 6): the laws of gateways, over links that lose and break."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel.test_gateways import TOPOLOGIES, A, B, Edge, check_once, moves, play
from support.joined_event_channels import LOST, NAME, FabricFederation
from weft.channel import FULL, NO_DISPATCHING, Event, EventChannel, all_of, on
from weft.fabric import Topology
from weft.host.event_channel.parcels import EVENT, GREET, head
from weft.model.errors import ChannelError


def edges_among(count: int) -> st.SearchStrategy[list[Edge]]:
    possible = [(one, other) for one in range(count) for other in range(one)]
    return st.lists(st.sampled_from(possible), unique=True, min_size=1, max_size=8)


@st.composite
def federations(draw: st.DrawFn) -> FabricFederation:
    count = draw(st.integers(2, 4))
    configuration = draw(st.sampled_from((NO_DISPATCHING, NO_DISPATCHING, FULL)))
    seed = draw(st.integers(0, 1 << 20))
    return FabricFederation(count, draw(edges_among(count)), configuration, seed)


crashes = st.tuples(st.sampled_from(("crash", "restart")), st.integers(0, 3), st.just(None))


def play_with_crashes(federation: FabricFederation, word: str, number: int, what: Any) -> None:
    place = number % len(federation.names)
    if word == "crash":
        if place not in federation.crashed:
            federation.crash(place)
            federation.settle()
    elif word == "restart":
        if place in federation.crashed:
            federation.restart(place)
            federation.settle()
    elif place not in federation.crashed or word in ("cut", "join", "leave", "suspend", "resume"):
        play(federation, word, number, what)


def make_whole(federation: FabricFederation) -> None:
    for place in sorted(federation.crashed):
        federation.restart(place)
    federation.settle()


@settings(max_examples=25, deadline=None)
@given(federations(), st.lists(st.one_of(moves, crashes), max_size=12))
def test_each_event_once_to_everybody_who_wants_it(federation: FabricFederation, done: list[Any]) -> None:
    """S3-13: the law of tests/channel, over packets that are lost and repeated, cut links, and nodes that crash and return."""
    for word, number, what in done:
        play_with_crashes(federation, word, number, what)
    make_whole(federation)
    check_once(federation, [])


@pytest.mark.soak
@settings(max_examples=1000, deadline=None)
@given(federations(), st.lists(st.one_of(moves, crashes), max_size=40))
def test_each_event_once_in_many_federations(federation: FabricFederation, done: list[Any]) -> None:
    for word, number, what in done:
        play_with_crashes(federation, word, number, what)
    make_whole(federation)
    check_once(federation, [])


@pytest.mark.parametrize("name", TOPOLOGIES)
@pytest.mark.parametrize("seed", range(2))
def test_named_topologies(name: str, seed: int) -> None:
    """S3-13: line, ring, star and mesh, each over links that lose a fifth of what they carry."""
    federation = FabricFederation(5, TOPOLOGIES[name], seed=seed)
    for place in range(5):
        federation.consume(place, [(0, A), (1, 0)])
    for place in range(5):
        federation.check(federation.push(place, 1, A), place, 1, A)
        federation.check(federation.push(place, 2, B), place, 2, B)
    before = federation.network.parcels_sent
    federation.push(0, 2, B)  # nobody wants it
    assert federation.network.parcels_sent == before


@pytest.mark.parametrize("seed", range(6))
def test_a_storm_of_pushes_and_short_cuts_loses_nothing(seed: int) -> None:
    """Links that are cut for less than `lost_seconds`, at any moment: everything arrives once, from each channel in its order."""
    chance = random.Random(seed)
    federation = FabricFederation(4, [*TOPOLOGIES["ring"][:3], (3, 0)], seed=seed)
    for place in range(4):
        federation.consume(place, [(0, A)])
    network = federation.network
    pushed: list[Any] = []
    for _ in range(60):
        place = chance.randrange(4)
        federation.suppliers[place].push(Event(A, place + 1, (place, len(pushed))), network.clock.now)
        pushed.append((place, len(pushed)))
        if chance.random() < 0.2:
            one, other = chance.choice(sorted(federation.joined))
            names = federation.names[one], federation.names[other]
            network.cut(*names)
            network.run_until(lambda: False, network.clock.now + chance.random() * 0.9 * LOST)
            network.heal(*names)
        network.run_until(lambda: False, network.clock.now + chance.random() * 0.05)
    federation.settle()
    heard: list[list[Any]] = [list(got) for _, _, _, got in federation.consumers]
    for got in heard:
        assert sorted(got, key=lambda one: one[1]) == pushed
    neighbour = heard[1]
    assert [one for one in neighbour if one[0] == 0] == [one for one in pushed if one[0] == 0]


@pytest.mark.parametrize("seed", range(8))
def test_a_storm_with_crashes_repeats_nothing_and_ends_well(seed: int) -> None:
    """S3-21: whatever happens while nothing is settled, nobody gets anything twice; and then all is as if nothing had been."""
    chance = random.Random(seed)
    federation = FabricFederation(4, TOPOLOGIES["mesh"] if seed % 2 else TOPOLOGIES["ring"], seed=seed)
    network = federation.network
    everything: list[list[Any]] = []

    def want(place: int) -> None:
        federation.consume(place, [(0, A)])
        everything.append(federation.consumers[-1][3])

    for place in range(4):
        want(place)
    for number in range(80):
        place = chance.randrange(4)
        dice = chance.random()
        if dice < 0.1 and place not in federation.crashed:
            federation.crash(place)
        elif dice < 0.25 and place in federation.crashed:
            federation.restart(place)
        elif dice < 0.35:
            one, other = chance.choice(sorted(federation.joined))
            names = federation.names[one], federation.names[other]
            network.cut(*names)
            network.run_until(lambda: False, network.clock.now + chance.random() * 2 * LOST)
            network.heal(*names)
        elif place not in federation.crashed:
            federation.suppliers[place].push(Event(A, place + 1, -1 - number), network.clock.now)
        network.run_until(lambda: False, network.clock.now + chance.random() * 0.1)
    make_whole(federation)
    for got in everything:
        assert len(got) == len(set(got))
    for place in range(4):
        want(place)
    check_once(federation, [])


CHAIN = Topology(("c0", "c1", "c2", "c3"), {"A": ("c0", "c1"), "B": ("c1", "c2"), "C": ("c2", "c3")})


@pytest.mark.parametrize("relays", [(), ("c1",), ("c1", "c2")])
def test_routers_pass_on_what_is_wanted_beyond(relays: tuple[str, ...]) -> None:
    """A chain of domains; routers with a channel of their own, and without."""
    federation = FabricFederation(4, [], topology=CHAIN, relays=relays)
    federation.consume(3, [(0, A)])
    federation.check(federation.push(0, 1, A), 0, 1, A)
    federation.check(federation.push(0, 1, A, ttl=2), 0, 1, A, ttl=2)
    before = federation.network.parcels_sent
    federation.push(0, 1, B)  # nobody wants it: it stays where it is
    assert federation.network.parcels_sent == before
    assert federation.nodes["c1"].joined[NAME].is_relay == ("c1" in relays)


def test_a_channel_takes_the_place_of_a_relay() -> None:
    federation = FabricFederation(4, [], topology=CHAIN, relays=("c1",))
    federation.consume(3, [(0, A)])
    links = federation.nodes["c1"]
    channel = EventChannel("c1", NO_DISPATCHING, boot=links.next_epoch())
    links.join(NAME, channel, federation.network.clock.now)
    federation.channels[1], federation.suppliers[1] = channel, channel.supply((0, 0))
    federation.settle()
    federation.consume(1, [(0, A)])
    for place in range(4):
        federation.check(federation.push(place, 1, A), place, 1, A)


@pytest.mark.parametrize("ttl", range(5))
def test_time_to_live_is_a_number_of_links(ttl: int) -> None:
    """S3-13: and a router without a channel counts, too."""
    federation = FabricFederation(4, [], topology=CHAIN, relays=("c2",))
    for place in (0, 1, 3):
        federation.consume(place, [(0, A)])
    federation.check(federation.push(0, 1, A, ttl), 0, 1, A, ttl)


def test_a_node_that_dies_is_noticed_and_comes_back() -> None:
    """S3-21: its subscriptions are withdrawn and its neighbours told; started again it takes part with a higher boot."""
    federation = FabricFederation(2, [(0, 1)])
    federation.consume(1, [(0, A)])
    offered: list[Any] = []

    class Supplier:
        def wanted(self, publications: Any) -> None:
            offered.append(len(publications))

    federation.channels[0].supply((1, A), supplier=Supplier())
    federation.crash(1)
    federation.settle()
    assert offered == [1, 0]
    assert any("c1 is gone" in one and "withdrawn" in one for one in federation.reports["c0"])
    boot = federation.channels[1].boot
    federation.restart(1)
    federation.settle()
    assert federation.channels[1].boot > boot
    federation.consume(1, [(0, A)])
    assert offered == [1, 0, 1]
    for place in range(2):
        federation.check(federation.push(place, 1, A), place, 1, A)


def test_a_channel_that_is_closed_is_left_at_once() -> None:
    federation = FabricFederation(3, TOPOLOGIES["mesh"][:3])
    for place in range(3):
        federation.consume(place, [(0, A)])
    links = federation.nodes["c1"]
    links.leave(links.joined[NAME], federation.network.clock.now)
    federation.network.settle()
    assert federation.nodes["c0"].joined[NAME].linked() == ("c2",)
    assert "channel test: it was closed at c1" in federation.reports["c0"]
    federation.push(0, 1, A)
    assert [len(got) for _, _, _, got in federation.consumers] == [1, 0, 1]


def test_peers_must_name_one_another() -> None:
    """Who is not named is told so, and reports it."""
    federation = FabricFederation(3, TOPOLOGIES["mesh"][:3], relays=("c0", "c1", "c2"))
    now = federation.network.clock.now
    for name, peers in (("c0", ("c1", "c2")), ("c1", ("c0",)), ("c2", ("c1",))):
        links = federation.nodes[name]
        links.join(NAME, EventChannel(name, NO_DISPATCHING, boot=links.next_epoch()), now, peers)
    federation.network.settle()
    linked = {name: links.joined[NAME].linked() for name, links in federation.nodes.items()}
    assert linked == {"c0": ("c1",), "c1": ("c0",), "c2": ()}
    assert federation.reports["c0"][-1] == (
        "channel test: no link to c2: c2 does not name c0 among the nodes that its channel is linked to"
    )


def test_several_channels_share_the_links_and_nothing_else() -> None:
    federation = FabricFederation(2, [(0, 1)])
    found: list[Any] = []
    suppliers = []
    for name, links in federation.nodes.items():
        channel = EventChannel(name, NO_DISPATCHING, boot=links.next_epoch())
        links.join("other", channel, federation.network.clock.now)
        channel.consume(lambda events: found.append(events[0].payload), on(A), now=0.0)
        suppliers.append(channel.supply((1, A)))
    federation.consume(1, [(0, A)])
    suppliers[0].push(Event(A, 1, "other"), 0.0)
    federation.settle()
    assert found == ["other", "other"]
    assert federation.consumers[0][3] == []


def test_a_correlation_of_local_and_remote_events() -> None:
    federation = FabricFederation(2, [(0, 1)])
    found: list[Any] = []
    federation.channels[0].consume(
        lambda events: found.append([one.payload for one in events]), all_of(on(A), on(B)), now=0.0
    )
    federation.settle()
    federation.push(1, 1, B)
    federation.push(0, 1, A)
    assert found == [[0, 1]]


def test_names_that_make_no_sense_are_refused() -> None:
    federation = FabricFederation(2, [(0, 1)])
    links = federation.nodes["c0"]
    channel = EventChannel("c0", boot=links.next_epoch())
    with pytest.raises(ChannelError, match="node c0 has a channel 'test' already"):
        links.join(NAME, channel, 0.0)
    with pytest.raises(ChannelError, match="there is no node 'c7'; there are c0, c1"):
        links.join("new", channel, 0.0, ["c7"])
    with pytest.raises(ChannelError, match="cannot be linked to itself"):
        links.join("new", channel, 0.0, ["c0"])


class Odd:
    pass


@pytest.mark.parametrize(
    "payload, what",
    [
        (Odd(), f"a {__name__}.Odd"),
        ({"deep": [1, {2, 3}]}, "a set"),
        (bytearray(b"x"), "a bytearray"),
    ],
)
def test_a_payload_that_cannot_leave_names_its_supplier_and_type(payload: Any, what: str) -> None:
    """Consumers here get it all the same, and the observer of the channel hears of the gateway's failure."""
    federation = FabricFederation(2, [(0, 1)])
    federation.consume(0, [(0, A)])
    federation.consume(1, [(0, A)])
    channel = federation.channels[0]
    federation.suppliers[0].disconnect_push_consumer()
    channel.supply((1, A), name="radar").push(Event(A, 1, payload), 0.0)
    federation.settle()
    assert [got for _, _, _, got in federation.consumers] == [[payload], []]
    assert str(federation.nodes["c0"].joined[NAME].refused) == (
        f"radar pushed an event of type {A} from source 1 that cannot go to other nodes: it has {what}; "
        "there may be None, bool, int, float, str, bytes, and tuples, lists and dicts of these"
    )


@pytest.mark.parametrize(
    "payload", [b"", bytes([GREET]), bytes([GREET, 8, 0]), bytes([99, 0]), b"\x04\xff\xff"]
)
def test_what_no_channel_sends_is_reported_and_dropped(payload: bytes) -> None:
    federation = FabricFederation(2, [(0, 1)])
    tag = federation.nodes["c1"].joined[NAME].sides["c0"].tag
    for data in (payload, head(EVENT, tag) + payload, head(3, tag) + payload, head(77, tag)):
        federation.nodes["c0"].received("c1", data, 0.0)
    assert sum("sent what no event channel sends" in one for one in federation.reports["c0"]) >= 3
    federation.consume(1, [(0, A)])
    federation.check(federation.push(0, 1, A), 0, 1, A)
