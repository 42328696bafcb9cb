"""Event channels of real processes, joined over real links (S3-13, S3-21; issue 7, item 6)."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
from channel.test_gateways import TOPOLOGIES, Edge
from host.in_process.test_own_node import file, running
from host.links.test_links import _secure, certificates
from support.event_channel_process import Peer
from support.node_processes import NodeProcess, write_file
from support.server_in_thread import WAIT
from weft.channel import Cooperative, Event, SingleThreaded, deadline, on
from weft.fabric import Topology
from weft.host.in_process.event_channel import ProcessChannel
from weft.host.in_process.mesh_node import OwnNode
from weft.model.errors import ChannelError, ConnectionFailed

__all__ = ["certificates", "file"]  # fixtures

A, B = 16, 17


def opened(file: Path, server: str, **more: Any) -> ProcessChannel:
    return weft.open_channel("test", f"mesh://{server}@{file}", **more)


class Ear:
    """A consumer that keeps what it gets."""

    def __init__(self, channel: ProcessChannel, *wanted: Any) -> None:
        self.channel = channel
        self.got: list[Any] = []
        self.consumer = channel.consume(self._push, *(wanted or (on(A),)))

    def _push(self, events: Any) -> None:
        self.got.extend(event.payload for event in events)

    def hears(self, *expected: Any) -> None:
        assert self.channel.wait(WAIT, until=lambda: self.got[-len(expected) :] == list(expected)), self.got


class Mouth:
    """A supplier that knows whether it is wanted."""

    def __init__(self, channel: ProcessChannel, *pairs: tuple[int, int]) -> None:
        self.channel = channel
        self.is_wanted = False
        self.supplier = channel.supply(*(pairs or ((1, A),)), supplier=self, name="mouth")

    def wanted(self, publications: Any) -> None:
        self.is_wanted = bool(publications)

    def waits(self, wanted: bool = True) -> None:
        assert self.channel.wait(WAIT, until=lambda: self.is_wanted == wanted)

    def say(self, payload: Any, kind: int = A) -> None:
        self.supplier.push(Event(kind, 1, payload))


@pytest.mark.parametrize("dispatcher", [None, SingleThreaded, Cooperative])
def test_events_go_both_ways(file: Path, dispatcher: Any) -> None:
    with (
        opened(file, "S1", dispatcher=dispatcher and dispatcher()) as one,
        opened(file, "S2", dispatcher=dispatcher and dispatcher()) as two,
    ):
        mouth, ear = Mouth(one), Ear(two)
        assert (one.node, one.name) == ("S1", "test")
        mouth.waits()
        plain = [None, True, 7, -(1 << 80), 2.5, "text", b"bytes", (1, [2, {"three": (4,)}])]
        for payload in plain:
            mouth.say(payload)
        ear.hears(*plain)
        back, answers = Mouth(two, (2, B)), Ear(one, on(B))
        back.waits()
        back.supplier.push(Event(B, 2, "back"))
        answers.hears("back")
        assert one.linked() == ("S2",)
        assert one.reaches() == {"S2": ("S2",)}


def test_a_consumer_may_push_connect_and_disconnect(file: Path) -> None:
    """It holds the mutex; whoever called it sees to what it pushed."""
    with opened(file, "S1") as one, opened(file, "S2") as two:
        answer = two.supply((2, B))

        def push(events: Any) -> None:
            answer.push(Event(B, 2, events[0].payload + 1))
            if events[0].payload == 2:
                consumer.disconnect()

        consumer = two.consume(push, on(A))
        ear, mouth = Ear(one, on(B)), Mouth(one)
        mouth.waits()
        for number in range(3):
            mouth.say(number)
            ear.hears(number + 1)
        mouth.waits(wanted=False)


def test_subscriptions_follow_changes(file: Path) -> None:
    """S3-13: register, cancel, suspend, resume, disconnect; each is known at the supplier's process."""
    with opened(file, "S1") as one, opened(file, "S2") as two:
        mouth, other = Mouth(one), Mouth(one, (1, B))
        ear = Ear(two)
        mouth.waits()
        number = ear.consumer.register(on(B))
        other.waits()
        ear.consumer.cancel(number)
        other.waits(wanted=False)
        ear.consumer.suspend()
        mouth.waits(wanted=False)
        ear.consumer.resume()
        mouth.waits()
        ear.consumer.disconnect()
        mouth.waits(wanted=False)


def test_timers_run_while_somebody_waits_and_while_nobody_does(file: Path) -> None:
    with opened(file, "S1") as one:
        fired = threading.Event()
        ear = Ear(one, deadline(0.01))
        assert one.wait(WAIT, until=lambda: len(ear.got) == 1)
        one.consume(lambda events: fired.set(), deadline(0.01))
        assert fired.wait(WAIT)


def test_a_thread_may_wait_for_what_another_pushes(file: Path) -> None:
    with opened(file, "S1") as one:
        mouth, ear = Mouth(one), Ear(one)
        waiting = threading.Thread(target=lambda: ear.hears("now"))
        waiting.start()
        mouth.say("now")
        waiting.join(WAIT)
        assert not waiting.is_alive()


def test_what_is_wrong_is_said(file: Path) -> None:
    """Who, where, and what to do."""
    with opened(file, "S1") as one, opened(file, "S2") as two:
        mouth, ear = Mouth(one), Ear(two)
        mouth.waits()
        with pytest.raises(
            ChannelError, match=r"mouth pushed an event of type 16 from source 1 .* a set; there may be"
        ):
            mouth.say({1, 2})
        mouth.say("next")
        ear.hears("next")
        with pytest.raises(ChannelError, match="node S1 has a channel 'test' already; close it first"):
            opened(file, "S1")
        with pytest.raises(ChannelError, match="there is no node 'S9'; there are S1, S2"):
            weft.open_channel("new", f"mesh://S1@{file}", peers=["S9"])
        with pytest.raises(ConnectionFailed, match="channel 'test' needs one to be joined to others"):
            weft.open_channel("test", "127.0.0.1:15164")
        failures: list[Any] = []

        def wait(events: Any) -> None:
            try:
                one.wait(0.0)
            except ChannelError as error:
                failures.append(str(error))

        one.consume(wait, on(A))
        mouth.say(1)
        assert failures == ["channel test: a consumer may not wait; it holds up what it waits for"]
    with pytest.raises(ChannelError, match="channel test of S1 was closed; open it again"):
        mouth.say(1)


def test_a_channel_is_closed_and_opened_again(file: Path) -> None:
    with opened(file, "S1") as one:
        mouth = Mouth(one)
        for number in range(3):
            with opened(file, "S2") as two:
                ear = Ear(two)
                mouth.waits()
                mouth.say(number)
                ear.hears(number)
            mouth.waits(wanted=False)
        weft.stop_node(f"mesh://S1@{file}")
        with pytest.raises(ChannelError, match="node S1 of this process cannot go on"):
            mouth.say(1)


def test_a_peer_that_does_not_take_its_events_loses_them(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3-21: its supplier waits for a while; then events are discarded, and the link, which others use, stays."""
    monkeypatch.setenv("WEFT_FABRIC_LOST_SECONDS", "0.5")
    with opened(file, "S1") as one, opened(file, "S2") as two:
        mouth, ear = Mouth(one), Ear(two)
        mouth.waits()
        links = running(file, "S1").channels
        asked = links.has_room
        links.has_room = one._has_room = lambda node: False
        mouth.say("lost")
        mouth.say("lost, too, and nobody waits again")
        assert one.discarded() == {"S2": 2}
        links.has_room = one._has_room = asked
        mouth.say("next")
        ear.hears("next")
        assert ear.got == ["next"]


def test_many_events_in_a_burst(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than the link may hold unread: the supplier waits, and nothing is lost."""
    monkeypatch.setenv("WEFT_FABRIC_QUEUE_BYTES", str(1 << 20))
    with opened(file, "S1") as one, opened(file, "S2") as two:
        mouth, ear = Mouth(one), Ear(two)
        mouth.waits()
        for number in range(300):
            mouth.say((number, bytes(20_000)))
        assert two.wait(WAIT, until=lambda: len(ear.got) == 300)
        assert [number for number, _ in ear.got] == list(range(300))
        assert one.discarded() == {}


@contextlib.contextmanager
def federation(folder: Path, edges: list[Edge], count: int) -> Iterator[list[ProcessChannel]]:
    """Channels of nodes in one process, with real links; only neighbours in the graph are peers."""
    names = tuple(f"S{number}" for number in range(count))
    path = write_file(folder, Topology(names, {"A": names}))
    peers = {name: [f"S{a + b - n}" for a, b in edges if n in (a, b)] for n, name in enumerate(names)}
    settings = "Weft.journal=none"
    with contextlib.ExitStack() as stack:
        stack.callback(weft.stop_node)
        yield [
            stack.enter_context(opened(path, name, peers=peers[name], additional_settings=settings))
            for name in reversed(names)
        ][::-1]


SMALL = {
    "chain": [(0, 1), (1, 2), (2, 3)],
    "star": [(0, 1), (0, 2), (0, 3)],
    "ring": [(0, 1), (1, 2), (2, 3), (3, 0)],
    "mesh": [edge for edge in TOPOLOGIES["mesh"] if max(edge) < 4],
}


@pytest.mark.parametrize("name", SMALL)
def test_topologies(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3-13: consumers everywhere; each event once, whatever the graph; time to live counts links."""
    monkeypatch.setenv("WEFT_FABRIC_RETRY_SECONDS", "0.02")
    monkeypatch.setenv("WEFT_SERVE_RUN_DIRECTORY", str(tmp_path))
    with federation(tmp_path, SMALL[name], 4) as channels:
        ears = [Ear(channel) for channel in channels]
        mouths = [channel.supply((0, A)) for channel in channels]
        everybody = {f"S{number}" for number in range(4)}
        for number, channel in enumerate(channels):
            others = everybody - {f"S{number}"}
            assert channel.wait(
                WAIT,
                until=lambda c=channel, o=others: all((0, A) in _asked(c, one) for one in o),  # type: ignore[misc]
            )
            beside = {f"S{place}" for edge in SMALL[name] if number in edge for place in edge} - {
                f"S{number}"
            }
            assert channel.wait(  # what was heard of first may have come by the longer way
                WAIT,
                until=lambda c=channel, b=beside: all(len(_way(c, one)) == 1 for one in b),  # type: ignore[misc]
            )
        for place, mouth in enumerate(mouths):
            mouth.push(Event(A, place + 1, place))
        for ear in ears:
            assert ear.channel.wait(WAIT, until=lambda one=ear: len(one.got) >= 4)  # type: ignore[misc]
            assert sorted(ear.got) == [0, 1, 2, 3]
        mouths[0].push(Event(A, 1, "near", ttl=1))
        mouths[0].push(Event(A, 1, "end"))
        near = {place for edge in SMALL[name] if 0 in edge for place in edge}
        for place, ear in enumerate(ears):  # "end" may come by another way, and first
            expected = {"end", "near"} if place in near else {"end"}
            assert ear.channel.wait(WAIT, until=lambda one=ear, all=expected: all <= set(one.got))  # type: ignore[misc]
        assert [ear.got.count("near") for ear in ears] == [int(place in near) for place in range(4)]
        assert all(len(ear.got) == len(set(ear.got)) for ear in ears)


def _way(channel: ProcessChannel, other: str) -> tuple[str, ...]:
    return channel._joined.border.known().get(other, ())


def _asked(channel: ProcessChannel, other: str) -> set[tuple[int, int]]:
    """What is known to be wanted at another node."""
    border = channel._joined.border
    way = border._best.get(other)
    return way.paths[other].patterns if way is not None else set()


def test_over_tls(tmp_path: Path, certificates: Path) -> None:
    """The links' own: nothing is to be set for channels."""
    domains = _secure(Topology(("S1", "S2"), {"A": ("S1", "S2")}))
    log: list[str] = []
    nodes = [OwnNode(domains, name, folder=certificates, report=log.append) for name in ("S2", "S1")]
    try:
        for node in nodes:
            node.start()
        two, one = (ProcessChannel("test", node) for node in nodes)
        mouth, ear = Mouth(one), Ear(two)
        mouth.waits()
        mouth.say("secret")
        ear.hears("secret")
    finally:
        for node in nodes:
            node.stop()


def test_processes_that_are_killed_and_return(tmp_path: Path) -> None:
    """S3-21: kill -9 of a peer is noticed and reported, and what it wanted is withdrawn; started again it takes part again."""
    names = ("S1", "S2", "S3")
    write_file(tmp_path, Topology(names, {"A": ("S1", "S2"), "B": ("S2", "S3")}))
    peers = {name: Peer(tmp_path, name) for name in names}
    one, two, three = peers.values()
    try:
        for peer in peers.values():
            peer.has("ready")
        one.push_until(1000, [two, three])
        three.push_until(2000, [one, two])
        three.kill()
        two.has("channel test: S3 is gone")
        one.push_until(3000, [two])
        three = peers["S3"] = Peer(tmp_path, "S3")
        three.has("ready")
        one.push_until(4000, [two, three])
        three.push_until(5000, [one, two])
        for peer in peers.values():
            assert len(peer.got()) == len(set(peer.got()))
    finally:
        for peer in peers.values():
            peer.end()


def test_a_server_that_is_a_router_relays(tmp_path: Path) -> None:
    """`weft serve --node` between two processes: it has no channel of its own, and passes on what is wanted."""
    names = ("S1", "S2", "S3")
    write_file(tmp_path, Topology(names, {"A": ("S1", "S2"), "B": ("S2", "S3")}))
    router = NodeProcess(tmp_path, "S2")
    router.start()
    one, three = Peer(tmp_path, "S1"), Peer(tmp_path, "S3")
    try:
        one.push_until(1000, [three])
        three.push_until(2000, [one])
        assert len(three.got()) == len(set(three.got()))
    finally:
        one.end()
        three.end()
        router.stop()
