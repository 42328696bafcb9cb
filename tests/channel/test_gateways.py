"""Channels joined by gateways, over all kinds of graphs: each event once to everybody who wants it (S3-13)."""

from __future__ import annotations

import pickle
from collections import deque
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel.strategies import SOURCES, TYPES
from weft.channel import (
    BROADCAST,
    FULL,
    NO_DISPATCHING,
    Border,
    Event,
    EventChannel,
    LocalLink,
    LocalLinks,
    News,
    Publication,
    SingleThreaded,
    all_of,
    on,
)
from weft.channel import gateway as gateways
from weft.channel.gateway import Window
from weft.model.errors import ChannelError

A, B = 16, 17
Edge = tuple[int, int]

TOPOLOGIES: dict[str, list[Edge]] = {
    "line": [(0, 1), (1, 2), (2, 3), (3, 4)],
    "ring": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)],
    "star": [(0, 1), (0, 2), (0, 3), (0, 4)],
    "mesh": [(one, other) for one in range(5) for other in range(one)],
}


class Federation:
    """Channels, links, and consumers that count what they get; `wanting` is what a search would find."""

    def __init__(self, count: int, edges: list[Edge], configuration: Any = NO_DISPATCHING) -> None:
        self.links = LocalLinks()
        self.channels = [EventChannel(f"c{number}", configuration) for number in range(count)]
        self.joined: dict[Edge, LocalLink] = {}
        for edge in edges:
            self.join(edge)
        self.suppliers = [channel.supply((0, 0), name="supplier") for channel in self.channels]
        self.consumers: list[tuple[int, Any, list[Any], list[int]]] = []
        self.pushed = 0

    def join(self, edge: Edge) -> None:
        self.joined[edge] = self.links.join(self.channels[edge[0]], self.channels[edge[1]], now=0.0)

    def cut(self, edge: Edge) -> None:
        self.links.cut(self.joined.pop(edge), now=0.0)

    def consume(self, place: int, wanted: list[tuple[int, int]]) -> None:
        got: list[int] = []
        proxy = self.channels[place].consume(
            lambda events: got.extend(event.payload for event in events),
            *[on(t, s) for s, t in wanted],
            now=0.0,
        )
        self.consumers.append((place, proxy, wanted, got))
        self.links.deliver(now=0.0)

    def push(self, place: int, source: int, kind: int, ttl: int = 16) -> int:
        self.suppliers[place].push(Event(kind, source, self.pushed, ttl=ttl), now=0.0)
        self.settle()
        self.pushed += 1
        return self.pushed - 1

    def settle(self) -> None:
        while self.links.deliver(now=0.0) + sum(channel.run_pending() for channel in self.channels):
            pass

    def distances(self, start: int) -> dict[int, int]:
        found = {start: 0}
        queue = deque([start])
        while queue:
            here = queue.popleft()
            for edge in self.joined:
                if here in edge:
                    there = edge[0] + edge[1] - here
                    if there not in found:
                        found[there] = found[here] + 1
                        queue.append(there)
        return found

    def check(self, payload: int, place: int, source: int, kind: int, ttl: int = 16) -> None:
        reached = {channel for channel, hops in self.distances(place).items() if hops <= ttl}
        for at, proxy, wanted, got in self.consumers:
            fits = any(s in (0, source) and t in (0, kind) for s, t in wanted)
            expected = at in reached and fits and proxy.connected and not proxy.suspended
            assert got.count(payload) == expected

    def asked(self) -> int:
        """Patterns that gateways ask for."""
        return sum(
            len(gateway.counts)
            for channel in self.channels
            for gateway in self.links.border(channel).gateways.values()
        )


@st.composite
def federations(draw: st.DrawFn) -> Federation:
    count = draw(st.integers(2, 6))
    possible = [(one, other) for one in range(count) for other in range(one)]
    edges = draw(st.lists(st.sampled_from(possible), unique=True, min_size=1, max_size=10))
    configuration = draw(st.sampled_from((NO_DISPATCHING, NO_DISPATCHING, FULL)))
    return Federation(count, edges, configuration)


patterns = st.tuples(st.sampled_from((0, *SOURCES)), st.sampled_from((0, *TYPES)))
moves = st.one_of(
    st.tuples(st.just("consume"), st.integers(0, 5), st.lists(patterns, max_size=3)),
    st.tuples(
        st.just("push"), st.integers(0, 5), st.tuples(st.sampled_from(SOURCES), st.sampled_from(TYPES))
    ),
    st.tuples(st.just("leave"), st.integers(0, 9), st.just(None)),
    st.tuples(st.just("suspend"), st.integers(0, 9), st.just(None)),
    st.tuples(st.just("resume"), st.integers(0, 9), st.just(None)),
    st.tuples(st.just("cut"), st.integers(0, 9), st.just(None)),
    st.tuples(st.just("join"), st.integers(0, 5), st.integers(0, 5)),
)


def play(federation: Federation, word: str, number: int, what: Any) -> None:
    place = number % len(federation.channels)
    if word == "consume":
        federation.consume(place, what)
    elif word == "push":
        payload = federation.push(place, *what)
        federation.check(payload, place, *what)
    elif word == "cut" and federation.joined:
        federation.cut(sorted(federation.joined)[number % len(federation.joined)])
    elif word == "join":
        other = what % len(federation.channels)
        edge = (max(place, other), min(place, other))
        if place != other and edge not in federation.joined:
            federation.join(edge)
    elif word in ("leave", "suspend", "resume") and federation.consumers:
        proxy = federation.consumers[number % len(federation.consumers)][1]
        if not proxy.connected:
            return
        if word == "leave":
            proxy.disconnect_push_supplier()
        elif word == "suspend":
            proxy.suspend()
        else:
            proxy.resume(now=0.0)
        federation.links.deliver(now=0.0)


@settings(max_examples=100, deadline=None)
@given(federations(), st.lists(moves, max_size=25))
def test_each_event_once_to_everybody_who_wants_it(federation: Federation, done: list[Any]) -> None:
    """S3-13: over random graphs, while consumers come and go and links are cut and joined."""
    check_once(federation, done)


@pytest.mark.soak
@settings(max_examples=5000, deadline=None)
@given(federations(), st.lists(moves, max_size=60))
def test_each_event_once_in_many_federations(federation: Federation, done: list[Any]) -> None:
    check_once(federation, done)


def check_once(federation: Federation, done: list[Any]) -> None:
    for word, number, what in done:
        play(federation, word, number, what)
    for place in range(len(federation.channels)):
        for pair in ((1, A), (2, B)):
            federation.check(federation.push(place, *pair), place, *pair)
        paths = federation.links.border(federation.channels[place]).known()
        hops = {f"c{there}": far for there, far in federation.distances(place).items() if there != place}
        assert {there: len(path) for there, path in paths.items()} == hops
    for _, proxy, _, _ in federation.consumers:
        proxy.disconnect_push_supplier()
    federation.links.deliver(now=0.0)
    assert federation.asked() == 0  # in rings too, nothing is wanted because it is wanted


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_named_topologies(name: str) -> None:
    """S3-13: line, ring, star, and the full mesh of the paper."""
    federation = Federation(5, TOPOLOGIES[name])
    for place in range(5):
        federation.consume(place, [(0, A), (1, 0)])
    for place in range(5):
        federation.check(federation.push(place, 1, A), place, 1, A)
        federation.check(federation.push(place, 2, B), place, 2, B)
    before = federation.links.carried
    federation.push(0, 2, B)  # nobody wants it
    assert federation.links.carried == before


@pytest.mark.parametrize("ttl", range(6))
def test_time_to_live_is_a_number_of_hops(ttl: int) -> None:
    """S3-13: with none left it stays where it is."""
    federation = Federation(5, TOPOLOGIES["line"])
    for place in range(5):
        federation.consume(place, [(0, A)])
    federation.check(federation.push(0, 1, A, ttl), 0, 1, A, ttl)
    expired = sum(
        gateway.expired
        for channel in federation.channels
        for gateway in federation.links.border(channel).gateways.values()
    )
    assert expired == (1 if ttl < 4 else 0)


def test_what_comes_by_two_ways_is_taken_once() -> None:
    """c2 is wanted at c3 and c2 itself: on a ring of four both ways lead there."""
    federation = Federation(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    for place in range(4):
        federation.consume(place, [(0, 0)])
    federation.check(federation.push(0, 1, A), 0, 1, A)
    assert sum(federation.links.border(channel).repeated for channel in federation.channels) > 0


def test_a_correlation_of_local_and_remote_events() -> None:
    """S3-13: the gateway asks for the parts; they come together where the consumer is."""
    links = LocalLinks()
    here, there = EventChannel("here", NO_DISPATCHING), EventChannel("there", NO_DISPATCHING)
    links.join(here, there, now=0.0)
    found: list[Any] = []
    here.consume(
        lambda events: found.append([event.payload for event in events]), all_of(on(A), on(B)), now=0.0
    )
    links.deliver(now=0.0)
    there.supply((2, B)).push(Event(B, 2, "far"), now=0.0)
    links.deliver(now=0.0)
    here.supply((1, A)).push(Event(A, 1, "near"), now=0.0)
    assert found == [["far", "near"]]


def test_a_supplier_hears_of_consumers_beyond_a_gateway() -> None:
    federation = Federation(3, [(0, 1), (1, 2)])
    calls: list[frozenset[Publication]] = []

    class Supplier:
        def wanted(self, publications: frozenset[Publication]) -> None:
            calls.append(publications)

    federation.channels[0].supply((1, A), supplier=Supplier())
    federation.consume(2, [(0, A)])
    federation.consumers[0][1].disconnect_push_supplier()
    federation.links.deliver(now=0.0)
    assert calls == [frozenset(), frozenset([Publication(1, A)]), frozenset()]


def test_an_event_object_may_be_pushed_again_and_again() -> None:
    """Its place among the events of a channel is not kept in it."""
    federation = Federation(2, [(0, 1)])
    federation.consume(1, [(0, A)])
    event = Event(A, 1, 7)
    for _ in range(3):
        federation.suppliers[0].push(event, now=0.0)
    federation.settle()
    assert federation.consumers[0][3] == [7, 7, 7]
    assert event.origin == ""


def test_a_consumer_may_push_on_what_came_from_afar() -> None:
    """It is then an event of its own channel."""
    federation = Federation(2, [(0, 1)])
    got: list[Any] = []
    federation.channels[0].consume(lambda events: got.append(events[0]), on(B), now=0.0)

    def again(events: Any) -> None:
        (event,) = events
        event.type = B
        federation.suppliers[1].push(event, now=0.0)

    federation.channels[1].consume(again, on(A), now=0.0)
    federation.links.deliver(now=0.0)
    federation.push(0, 1, A)
    assert [(event.origin, event.via) for event in got] == [("c1", "c1")]


def test_a_channel_that_was_started_again_is_heard() -> None:
    """Its numbers begin anew, its boot is another; what is late from before is not taken."""
    border = Border(EventChannel("here", NO_DISPATCHING))
    assert border.takes(Event(A, 1, origin="there", boot=1, number=1))
    assert border.takes(Event(A, 1, origin="there", boot=1, number=3))
    assert not border.takes(Event(A, 1, origin="there", boot=1, number=3))
    assert border.takes(Event(A, 1, origin="there", boot=2, number=1))
    assert not border.takes(Event(A, 1, origin="there", boot=1, number=2))
    assert not border.takes(Event(A, 1, origin="here", number=1))
    assert border.repeated == 3


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 60), max_size=200))
def test_a_window_forgets_only_what_is_far_behind(numbers: list[int]) -> None:
    window, seen, top = Window(0), set(), 0
    limit = gateways.WINDOW
    gateways.WINDOW = 16
    try:
        for number in numbers:
            assert window.is_new(number) == (number not in seen and number > top - 16)
            seen.add(number)
            top = max(top, number)
            assert len(window.seen) <= 33
    finally:
        gateways.WINDOW = limit


def test_broadcasters_repeat_to_one_another() -> None:
    """S3-12: without filtering everything is wanted everywhere."""
    federation = Federation(3, [(0, 1), (1, 2), (2, 0)], BROADCAST)
    for place in range(3):
        federation.consume(place, [(1, A)])
    payload = federation.push(0, 2, B)
    assert [got for _, _, _, got in federation.consumers] == [[payload]] * 3


def test_queued_channels_keep_their_order() -> None:
    """Gateways are consumers: what crosses waits in the queues like everything else."""
    links = LocalLinks()
    here = EventChannel("here", dispatcher=SingleThreaded())
    there = EventChannel("there", dispatcher=SingleThreaded())
    links.join(here, there, now=0.0)
    found: list[int] = []
    there.consume(lambda events: found.append(events[0].payload), on(A), now=0.0)
    links.deliver(now=0.0)
    supplier = here.supply((1, A))
    for number in range(5):
        supplier.push(Event(A, 1, number), now=0.0)
    assert links.deliver(now=0.0) == 0
    here.run_pending()
    links.deliver(now=0.0)
    there.run_pending()
    assert found == [0, 1, 2, 3, 4]


def test_links_that_make_no_sense_are_refused() -> None:
    links = LocalLinks()
    one, other = EventChannel("one"), EventChannel("other")
    link = links.join(one, other, now=0.0)
    with pytest.raises(ChannelError, match="one has a link to other already"):
        links.join(one, other, now=0.0)
    with pytest.raises(ChannelError, match="of the same name"):
        links.join(one, one, now=0.0)
    with pytest.raises(ChannelError, match="there are two channels one"):
        links.join(EventChannel("one"), other, now=0.0)
    links.cut(link, now=0.0)
    assert one.consumers() == []
    assert one.suppliers() == []
    assert link.left is not None
    with pytest.raises(ChannelError, match="is not open"):
        links.border(one).close(link.left, now=0.0)
    link.left.receive(News("other", ("other",)), now=0.0)  # late, and ignored


def test_a_channel_that_is_destroyed_takes_nothing_more() -> None:
    """Neither events nor news; and a border that is shut tells nobody anything."""
    federation = Federation(3, [(0, 1), (1, 2), (2, 0)])
    for place in range(3):
        federation.consume(place, [(0, A)])
    federation.channels[1].destroy()
    payload = federation.push(0, 1, A)
    assert [got for _, _, _, got in federation.consumers] == [[payload], [], [payload]]
    federation.consume(2, [(0, B)])
    federation.links.border(federation.channels[2]).shut(now=0.0)
    federation.links.deliver(now=0.0)
    before = federation.links.carried
    federation.consume(2, [(2, 0)])
    assert federation.links.carried == before


def test_events_and_news_go_through_pickle() -> None:
    """For links between processes."""
    event = Event(A, 1, {"x": 1}, 2.5, 3, "there", 4, 5, "via")
    again = pickle.loads(pickle.dumps(event))
    assert repr(again) == repr(event)
    news = News("a", ("a",), frozenset([(1, A)]))
    assert pickle.loads(pickle.dumps(news)) == news
