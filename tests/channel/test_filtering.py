"""Filtering by source, type and both, against a search through all subscriptions; changes during a push (S3-1, S3-4, S3-7)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel.mutants import FILTERING, load
from channel.strategies import SOURCES, TYPES
from weft import channel as real
from weft.channel import BROADCAST, NO_DISPATCHING, Event, EventChannel, Publication, on
from weft.model.errors import ChannelError

A, B = 16, 17

patterns = st.tuples(st.sampled_from((0, *SOURCES)), st.sampled_from((0, *TYPES)))
moves = st.one_of(
    st.tuples(st.just("connect"), patterns),
    st.tuples(
        st.sampled_from(("disconnect", "suspend", "resume")), st.tuples(st.integers(0, 12), st.just(0))
    ),
    st.tuples(st.just("register"), st.tuples(st.integers(0, 12), patterns)),
    st.tuples(st.just("push"), st.tuples(st.sampled_from(SOURCES), st.sampled_from(TYPES))),
)


class Scanned:
    """A channel of plain subscriptions in which every push searches all."""

    def __init__(self) -> None:
        self.consumers: list[tuple[list[tuple[int, int]], str]] = []
        self.found: list[tuple[int, int]] = []
        self.count = 0

    def push(self, source: int, kind: int) -> None:
        for number, (wanted, state) in enumerate(self.consumers):
            if state == "active" and any(s in (0, source) and t in (0, kind) for s, t in wanted):
                self.found.append((number, self.count))
        self.count += 1


def play(module: Any, done: list[Any]) -> tuple[list[Any], list[Any]]:
    """What the consumers of a channel get, and what a search finds."""
    channel = module.EventChannel("test", module.NO_DISPATCHING)
    supplier = channel.supply((0, 0))
    scanned = Scanned()
    found: list[tuple[int, int]] = []
    proxies: list[Any] = []

    def connect(source: int, kind: int) -> None:
        number = len(proxies)
        proxies.append(
            channel.consume(
                lambda events: found.append((number, events[0].payload)), module.on(kind, source), now=0.0
            )
        )
        scanned.consumers.append(([(source, kind)], "active"))

    for word, what in done:
        if word == "connect":
            connect(*what)
        elif word == "push":
            supplier.push(module.Event(what[1], what[0], scanned.count), now=0.0)
            scanned.push(*what)
        elif what[0] < len(proxies) and scanned.consumers[what[0]][1] != "gone":
            wanted, state = scanned.consumers[what[0]]
            if word == "register":
                proxies[what[0]].register(module.on(what[1][1], what[1][0]), now=0.0)
                wanted.append(what[1])
            elif word == "disconnect":
                proxies[what[0]].disconnect_push_supplier()
                state = "gone"
            elif word == "suspend":
                proxies[what[0]].suspend()
                state = "suspended"
            else:
                proxies[what[0]].resume(now=0.0)
                state = "active"
            scanned.consumers[what[0]] = (wanted, state)
    return found, scanned.found


@settings(max_examples=200, deadline=None)
@given(st.lists(moves, max_size=40))
def test_filtering_finds_what_a_search_finds(done: list[Any]) -> None:
    """S3-4, S3-7: in the order of connection, whatever is connected, suspended and resumed between pushes."""
    found, expected = play(real, done)
    assert found == expected


@pytest.mark.parametrize("name", FILTERING)
def test_a_wrong_channel_is_found_out(name: str) -> None:
    mutant = load(name)
    plain = [("connect", (0, A)), ("connect", (1, A)), ("connect", (1, 0))]
    push = [("push", (1, A)), ("push", (2, A))]
    game = [
        *plain, *push, ("connect", (1, A)), *push, ("connect", (1, 0)), *push, ("connect", (0, A)), *push,
        ("suspend", (1, 0)), *push, ("disconnect", (0, 0)), *push, ("resume", (1, 0)), *push,
    ]  # fmt: skip
    found, expected = play(mutant, game)
    assert found != expected or leaves_during_a_push(mutant) != ["first"]


def leaves_during_a_push(module: Any) -> list[str]:
    channel = module.EventChannel("test", module.NO_DISPATCHING)
    order: list[str] = []
    proxies: list[Any] = []

    def first(events: Any) -> None:
        order.append("first")
        proxies[1].suspend()

    proxies.append(channel.consume(first, module.on(A), now=0.0))
    proxies.append(channel.consume(lambda events: order.append("second"), module.on(A), now=0.0))
    channel.supply((1, A)).push(module.Event(A, 1), now=0.0)
    return order


def test_who_leaves_during_a_push_before_his_turn_gets_nothing() -> None:
    assert leaves_during_a_push(real) == ["first"]


def test_nobody_is_skipped_or_served_twice_when_others_come_and_go() -> None:
    """S3-2: consumers that connect, leave, suspend and resume while an event is being pushed."""
    channel = EventChannel("test", NO_DISPATCHING)
    served: list[str] = []
    proxies: dict[str, Any] = {}

    def take(name: str) -> Any:
        def push(events: Any) -> None:
            served.append(name)
            if name == "b":
                proxies["a"].disconnect_push_supplier()  # has been served
                proxies["d"].suspend()
                proxies["e"].suspend()
                proxies["e"].resume(now=0.0)
                proxies["b"].disconnect_push_supplier()  # itself
                proxies["new"] = channel.consume(take("new"), on(A), name="new", now=0.0)

        return push

    for name in "abcdef":
        proxies[name] = channel.consume(take(name), on(A), name=name, now=0.0)
    supplier = channel.supply((1, A))
    supplier.push(Event(A, 1), now=0.0)
    assert served == ["a", "b", "c", "e", "f"]
    served.clear()
    supplier.push(Event(A, 1), now=0.0)
    assert served == ["c", "e", "f", "new"]


def test_a_push_within_a_push_is_complete() -> None:
    channel = EventChannel("test", NO_DISPATCHING)
    served: list[tuple[str, int]] = []
    supplier = channel.supply((1, A), (1, B))

    def first(events: Any) -> None:
        served.append(("first", events[0].type))
        if events[0].type == A:
            supplier.push(Event(B, 1), now=0.0)

    channel.consume(first, on(), now=0.0)
    channel.consume(lambda events: served.append(("second", events[0].type)), on(), now=0.0)
    supplier.push(Event(A, 1), now=0.0)
    assert served == [("first", A), ("first", B), ("second", B), ("second", A)]


def test_exactly_the_routes_concerned_are_worked_out_anew() -> None:
    """S3-4: a change for one pair leaves the routes of the others alone."""
    channel = EventChannel("test", NO_DISPATCHING)
    supplier = channel.supply((0, 0))
    built = channel._core.subscriptions

    def push_all() -> int:
        before = built.built
        for source in SOURCES:
            for kind in TYPES:
                supplier.push(Event(kind, source), now=0.0)
        return built.built - before

    assert push_all() == len(SOURCES) * len(TYPES)
    assert push_all() == 0
    for dependency, concerned in ((on(A, 1), 1), (on(A), len(SOURCES)), (on(0, 1), len(TYPES)), (on(), 6)):
        proxy = channel.consume(lambda events: None, dependency, now=0.0)
        assert push_all() == concerned
        proxy.suspend()
        assert push_all() == concerned
        proxy.disconnect_push_supplier()
        assert push_all() == 0


def test_more_pairs_than_routes_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A supplier of any source cannot fill the memory with routes, and who is forgotten is found again."""
    from weft.channel.subscriptions import ROUTES

    channel = EventChannel("test", NO_DISPATCHING)
    found: list[Any] = []
    channel.consume(found.append, on(A, 1), now=0.0)
    supplier = channel.supply((0, A))
    supplier.push(Event(A, 1), now=0.0)
    for source in range(1, ROUTES + 10):
        supplier._find(Event(A, source))
    proxy = channel.consume(found.append, on(A, 1), now=0.0)
    supplier.push(Event(A, 1), now=0.0)
    assert len(found) == 3
    proxy.suspend()
    supplier.push(Event(A, 1), now=0.0)
    assert len(found) == 4


# What is wanted


class Told:
    def __init__(self) -> None:
        self.calls: list[frozenset[Publication]] = []

    def wanted(self, publications: frozenset[Publication]) -> None:
        self.calls.append(publications)


class Watcher:
    def __init__(self) -> None:
        self.wants: set[tuple[int, int]] = set()
        self.calls = 0

    def wants_changed(self, added: frozenset[tuple[int, int]], removed: frozenset[tuple[int, int]]) -> None:
        assert not added & self.wants
        assert removed <= self.wants
        assert added or removed or not self.calls
        self.wants = (self.wants - removed) | added
        self.calls += 1


def test_a_supplier_hears_what_is_wanted_of_it() -> None:
    """So that it can stop when nobody listens."""
    channel = EventChannel("test", NO_DISPATCHING)
    told = Told()
    channel.supply((1, A), (1, B), supplier=told)
    a, b = Publication(1, A), Publication(1, B)
    one = channel.consume(print, on(A), now=0.0)
    other = channel.consume(print, on(0, 1), on(A, 1), now=0.0)
    one.disconnect_push_supplier()
    other.suspend()
    other.resume(now=0.0)
    other.cancel(1)
    channel.consume(print, on(A, 2), now=0.0)
    assert told.calls == [
        frozenset(), frozenset([a]), frozenset([a, b]), frozenset(), frozenset([a, b]), frozenset([a]),
    ]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    st.lists(patterns, min_size=1, max_size=8),
    st.lists(st.lists(patterns, max_size=3), max_size=8),
    st.data(),
)
def test_suppliers_and_observers_hear_every_change_once(
    offered: list[Any], asked: list[Any], data: st.DataObject
) -> None:
    """S3-13: the disjunction of what is wanted, and which publications overlap with it."""
    channel = EventChannel("test", NO_DISPATCHING)
    told, watcher = Told(), Watcher()
    channel.supply(*offered, supplier=told)
    channel.observe(watcher)
    proxies = [channel.consume(print, *[on(t, s) for s, t in wanted], now=0.0) for wanted in asked]
    live = dict(enumerate(asked))

    def check() -> None:
        wanted = {pattern for one in live.values() for pattern in one}
        assert watcher.wants == wanted == channel.wanted()
        fits = {
            (s, t)
            for s, t in offered
            if any((s == 0 or ws in (0, s)) and (t == 0 or wt in (0, t)) for ws, wt in wanted)
        }
        assert {(one.source, one.type) for one in told.calls[-1]} == fits
        assert all(one != other for one, other in zip(told.calls, told.calls[1:], strict=False))

    check()
    for number in data.draw(st.permutations(range(len(asked)))):
        proxies[number].disconnect_push_supplier()
        del live[number]
        check()


# Errors


def test_a_supplier_that_pushes_what_it_has_not_published_hears_so() -> None:
    channel = EventChannel("test", NO_DISPATCHING)
    supplier = channel.supply((1, A), name="radar")
    with pytest.raises(
        ChannelError, match="radar pushes an event of type 17 from source 1, which it has not published"
    ):
        supplier.push(Event(B, 1), now=0.0)
    for wrong in (Event(0, 1), Event(5, 1), Event(A, 0)):
        with pytest.raises(ChannelError, match="radar pushes an event of type"):
            supplier.push(wrong, now=0.0)
    supplier.disconnect_push_consumer()
    supplier.disconnect_push_consumer()
    with pytest.raises(ChannelError, match="radar is not connected to channel test"):
        supplier.push(Event(A, 1), now=0.0)


def test_proxies_are_for_one_connection() -> None:
    """S3-2: made by the admins, connected once, of no use afterwards."""
    channel = EventChannel("test", NO_DISPATCHING)
    consumer = channel.for_consumers().obtain_push_supplier()
    supplier = channel.for_suppliers().obtain_push_consumer()
    with pytest.raises(ChannelError, match="not connected"):
        consumer.suspend()
    with pytest.raises(ChannelError, match="not connected"):
        supplier.push(Event(A, 1), now=0.0)
    found: list[Any] = []
    consumer.connect_push_consumer(found.append, real.depends(on(A), name="display"), now=0.0)
    supplier.connect_push_supplier(None, real.publishes((1, A)))
    supplier.push(Event(A, 1), now=0.0)
    assert len(found) == 1
    with pytest.raises(ChannelError, match="display has been connected through this proxy"):
        consumer.connect_push_consumer(found.append, real.depends(on(A)), now=0.0)
    with pytest.raises(ChannelError, match="has no registration 7"):
        consumer.cancel(7)
    with pytest.raises(ChannelError, match="is no consumer"):
        channel.consume(3, on(A), now=0.0)  # type: ignore[arg-type]
    channel.destroy()
    channel.destroy()
    assert not consumer.connected
    for call in (channel.for_consumers().obtain_push_supplier, channel.for_suppliers().obtain_push_consumer):
        with pytest.raises(ChannelError, match="was destroyed"):
            call()


def test_a_broadcaster_repeats_everything_to_everybody() -> None:
    """S3-12, S3-19 [V]: neither filtering nor correlation, as a standard event channel."""
    channel = EventChannel("test", BROADCAST)
    found: list[Any] = []
    channel.consume(found.append, on(A, 1), name="one", now=0.0)
    channel.consume(found.append, real.all_of(on(A), on(B)), on(B), name="two", now=0.0)
    channel.supply((2, 30)).push(Event(30, 2, "x"), now=0.0)
    assert [events[0].payload for events in found] == ["x", "x"]
