"""How two ends of a link between event channels begin: whatever is lost, and whoever is told of it first, they end up linked."""

from __future__ import annotations

from collections import deque
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.channel import NO_DISPATCHING, Event, EventChannel, on
from weft.host.carrier import Port, ServiceClass
from weft.host.event_channel.links import ChannelLinks
from weft.host.event_channel.parcels import GREET

A = 16
NODES = ("S1", "S2")


class Wire:
    """The carrier of one end, as far as channels need one: what it sends waits until it is delivered."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes = NODES
        self.sent: deque[bytes] = deque()
        self.disk: dict[str, bytes] = {}

    def send(self, node: str, port: Port, kind: ServiceClass, payload: bytes) -> bool:
        self.sent.append(payload)
        return True

    def keep(self, key: str, value: bytes) -> None:
        self.disk[key] = value

    def kept(self, prefix: str) -> dict[str, bytes]:
        return dict(self.disk)


class End:
    """One process of a node, with a channel whose consumer wants everything."""

    def __init__(self, wire: Wire, clock: int) -> None:
        self.wire = wire
        self.log: list[str] = []
        carrier: Any = wire
        others = [node for node in NODES if node != wire.name]
        self.links = ChannelLinks(carrier, others, False, lambda: clock, self.log.append)
        self.channel = EventChannel(wire.name, NO_DISPATCHING, boot=self.links.next_epoch())
        self.got: list[Any] = []
        self.channel.consume(lambda events: self.got.append(events[0].payload), on(A), now=0.0)
        self.supplier = self.channel.supply((1, A))
        self.joined = self.links.join("test", self.channel, 0.0)

    def push(self, payload: Any) -> None:
        self.supplier.push(Event(A, 1, payload), 0.0)


class Pair:
    def __init__(self) -> None:
        self.wires = [Wire(name) for name in NODES]
        self.ends = [End(wire, 1) for wire in self.wires]
        self.untold = [False, False]
        self.restarted = [False, False]

    def deliver(self, receiver: int) -> bool:
        sent = self.wires[1 - receiver].sent
        if sent:
            self.ends[receiver].links.received(NODES[1 - receiver], sent.popleft(), 0.0)
        return bool(sent)

    def break_way(self) -> None:
        """All that is under way is lost; both will be told."""
        for wire in self.wires:
            wire.sent.clear()
        self.untold = [True, True]

    def restart(self, place: int) -> None:
        """Its clock stands still: that its epochs are higher is the journal's doing."""
        self.break_way()
        self.ends[place] = End(self.wires[place], 1)
        self.untold[place] = False
        self.restarted[1 - place] = True

    def tell(self, place: int, first_lost: bool) -> None:
        if self.untold[place]:
            links = self.ends[place].links
            if first_lost:
                links.lost(NODES[1 - place], "the test says so", 0.0)
            links.found(NODES[1 - place], self.restarted[place], 0.0)
            self.untold[place] = self.restarted[place] = False

    def settle(self) -> None:
        for place in range(2):
            self.tell(place, False)
        while any(wire.sent for wire in self.wires):
            for place in range(2):
                self.deliver(place)

    def check(self) -> None:
        for place, end in enumerate(self.ends):
            assert end.joined.linked() == (NODES[1 - place],)
            for one in self.ends:
                one.got.clear()
            end.push("both")
            self.settle()
            assert [one.got for one in self.ends] == [["both"], ["both"]]


places = st.integers(0, 1)
steps = st.one_of(
    st.tuples(st.just("deliver"), places),
    st.tuples(st.just("deliver"), places),
    st.tuples(st.just("push"), places),
    st.tuples(st.just("break"), places),
    st.tuples(st.just("restart"), places),
    st.tuples(st.just("found"), places),
    st.tuples(st.just("lost and found"), places),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(steps, max_size=30))
def test_two_ends_always_find_one_another(done: list[tuple[str, int]]) -> None:
    """S3-21: in whatever order they hear of what was lost, and of one another; nothing comes twice meanwhile."""
    pair = Pair()
    for number, (word, place) in enumerate(done):
        if word == "deliver":
            pair.deliver(place)
        elif word == "push":
            pair.ends[place].push(number)
        elif word == "break":
            pair.break_way()
        elif word == "restart":
            pair.restart(place)
        else:
            pair.tell(place, word.startswith("lost"))
    pair.settle()
    for end in pair.ends:
        assert len(end.got) == len(set(end.got))
    pair.check()


def test_one_end_alone_begins_anew() -> None:
    pair = Pair()
    pair.settle()
    pair.ends[0].links.found("S2", False, 0.0)
    pair.settle()
    pair.check()
    assert "the way to S2 was broken" in "".join(pair.ends[0].log)


def test_an_old_greeting_changes_nothing() -> None:
    """Nor does a message of the epoch before."""
    pair = Pair()
    old = list(pair.wires[0].sent)
    assert old[0][0] == GREET
    pair.settle()
    pair.ends[0].push("old")
    stale = list(pair.wires[0].sent)
    pair.restart(0)
    pair.settle()
    for payload in old + stale:
        pair.ends[1].links.received("S1", payload, 0.0)
    pair.settle()
    assert pair.ends[1].got == []
    pair.check()


def test_a_journal_that_was_lost_is_no_reason_to_be_ignored() -> None:
    """A clock that was set back, and no journal: epochs begin lower, and the other end is told that the process is new."""
    pair = Pair()
    pair.settle()
    for _ in range(5):
        pair.ends[0].links.found("S2", False, 0.0)
        pair.settle()
    pair.wires[0].disk.clear()
    pair.restart(0)
    pair.settle()
    assert pair.ends[0].joined.linked() == ("S2",)
    assert pair.ends[1].joined.linked() == ("S1",)
