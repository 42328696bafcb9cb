"""Long queues to a neighbour that is away: bounded in memory, read from the journal in portions, refused beyond a limit."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.meshes_in_one_loop import Meshes, mute, run, until
from support.node_processes import loopback
from weft.fabric import Channel, Topology
from weft.federate.agents import Agent
from weft.host.carrier import Port, ServiceClass
from weft.host.files.cbor import encode
from weft.host.mesh.agents import AgentEvent, Engine
from weft.host.mesh.journal import Journal
from weft.host.mesh.mesh import Mesh
from weft.host.settings import FabricSettings

PAIR = Topology(("S1", "S2"), {"A": ("S1", "S2")})
IN_MEMORY = 8


class Author(Agent):
    """Writes 64 KiB to a node that it is told of."""

    told = 0

    def react(self, event: AgentEvent) -> None:
        self.told += 1
        if event.value != "S1":
            self.send(f"author@{event.value}", bytes(64 << 10))


def in_memory(channel: Channel) -> int:
    return sum(len(queue) for state in channel.states.values() for queue in state.out)


class Sender:
    """A channel whose queue is longer than its memory, with its journal, and what has come of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sent = 0
        self.got: list[bytes] = []
        self.receiver = Channel(PAIR, 1, durable=False)
        self.start()

    def start(self) -> None:
        self.journal = Journal(self.path, "S1", PAIR.fingerprint)
        saved = self.journal.saved(Port.AGENTS, IN_MEMORY)
        assert len(saved.out) <= IN_MEMORY
        self.channel = Channel(PAIR, 0, saved, in_memory=IN_MEMORY)

    def restart(self) -> None:
        self.journal.close()
        self.start()

    def send(self, count: int) -> None:
        for _ in range(count):
            self.sent += 1
            self.channel.send([1], b"%d" % self.sent)
        self.commit(False)

    def commit(self, up: bool) -> None:
        """One turn of a host; what it hands over arrives if the neighbour is there."""
        batch = self.channel.take_batch()
        self.journal.commit({Port.AGENTS: batch.changes})
        for portion in self.channel.wanted():
            self.channel.loaded(portion, self.journal.portion(Port.AGENTS, portion))
        if not up:
            return
        for one in batch.transmit:
            self.receiver.receive(0, one.packet)
        for delivery in self.receiver.take_deliveries():
            self.got.append(delivery.payload)
            self.receiver.consumed(delivery.number)
        for ack in self.receiver.take_batch().acknowledge:
            self.channel.acknowledged(1, ack.domain, ack.number)

    def drain(self) -> None:
        self.channel.reconnected(1)
        while self.channel.backlog(1):
            self.commit(True)
            assert in_memory(self.channel) <= IN_MEMORY
        self.commit(True)


OTHERS = st.tuples(st.sampled_from(["restart", "drain", "turn"]), st.just(0))
STEPS = st.lists(st.one_of(st.tuples(st.just("send"), st.integers(1, 30)), OTHERS), max_size=14)


@settings(max_examples=60)
@given(STEPS)
def test_a_queue_longer_than_the_memory_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    """Whatever is sent, drained and restarted in between: all arrives, once and in order; memory holds a few at any time."""
    sender = Sender(tmp_path_factory.mktemp("backlog") / "S1.journal")
    for step, count in steps:
        if step == "send":
            sender.send(count)
        elif step == "restart":
            sender.restart()
        elif step == "drain":
            sender.drain()
        else:
            sender.commit(True)
        assert in_memory(sender.channel) <= IN_MEMORY
        assert sender.channel.backlog(1) >= sender.sent - len(sender.got)
    sender.drain()
    assert sender.got == [b"%d" % number for number in range(1, sender.sent + 1)]
    assert sender.channel.backlog(1) == sender.channel.backlog_bytes(1) == 0
    assert not sender.journal.saved(Port.AGENTS).out
    sender.journal.close()


@pytest.mark.parametrize("restarted", [False, True])
def test_a_neighbour_that_was_away_gets_all(tmp_path: Path, restarted: bool) -> None:
    """Over real links, with a small memory: far more is sent than it holds, also over a restart of the sender."""

    async def work() -> None:
        small = FabricSettings(lost_seconds=0.5, retry_seconds=0.05, packets_in_memory=16)
        meshes = Meshes(loopback(PAIR), tmp_path, small)
        await meshes.start("S1")
        for number in range(500):
            meshes.meshes["S1"].send("S2", Port.FEDERATIONS, ServiceClass.CAUSAL, b"%d" % number)
        channels = meshes.meshes["S1"].channels
        await until(lambda: not channels.of(Port.FEDERATIONS)._transmit, "all is saved")
        assert channels.backlog(1) == 500
        assert in_memory(channels.of(Port.FEDERATIONS)) == 16
        if restarted:
            await meshes.crash("S1")
            await meshes.start("S1")
            channels = meshes.meshes["S1"].channels
            assert channels.backlog(1) == 500
            assert in_memory(channels.of(Port.FEDERATIONS)) == 16
        await meshes.start("S2")
        await until(lambda: len(meshes.guests["S2"].heard) == 500, "all have come")
        assert meshes.guests["S2"].said() == [b"%d" % number for number in range(500)]
        await until(lambda: channels.backlog(1) == 0, "all are acknowledged")
        await meshes.stop()

    run(work())


def test_agents_are_refused_beyond_a_limit(tmp_path: Path) -> None:
    """The message says who is away, how much waits and which setting; what is not for that server goes on."""

    async def work(journal: bool) -> None:
        said: list[str] = []
        small = FabricSettings(
            lost_seconds=0.5, retry_seconds=0.05, queue_bytes=1 << 20, backlog_bytes=2 << 20
        )
        domains = loopback(Topology(("S1", "S2", "S3"), {"A": ("S1", "S2"), "B": ("S2", "S3")}))
        mesh = Mesh(domains, "S1", said.append, small, tmp_path / "S1.journal" if journal else None)
        author = Author()
        engine = Engine(mesh, {"author": author}, {}, said.append, tries=2)
        mesh.settle(Port.AGENTS, engine)
        engine.begin()
        await mesh.start()
        for _ in range(40):
            mesh.spread(("S1",), Port.AGENTS, encode(["author", "test", "S3"]))
        await until(lambda: bool(engine.dead_letters()), "an event is set aside")
        await until(lambda: author.told + len(engine.dead_letters()) == 40, "all have been reacted to")
        setting, fits = ("backlog_bytes", 32) if journal else ("queue_bytes", 16)
        assert author.told == mesh.channels.backlog(1) == fits
        error = engine.dead_letters()[0]["error"]
        assert f"{fits} messages of agents" in error
        assert "wait for S2, the way to S3" in error
        assert f"more than fabric.{setting} ({getattr(small, setting)})" in error
        mesh.spread(("S1",), Port.AGENTS, encode(["author", "test", "S1"]))
        await until(lambda: author.told == fits + 1, "the agent goes on")
        mesh.send("S2", Port.FEDERATIONS, ServiceClass.CAUSAL, b"not refused")
        await mesh.stop()

    run(work(True))
    run(work(False))


def test_a_neighbour_that_leaves_too_many_commands_is_lost(tmp_path: Path) -> None:
    """Commands cannot be refused: the link is cut, which the residents are told as a loss, and a new session begins."""

    async def work() -> None:
        small = FabricSettings(lost_seconds=5.0, retry_seconds=0.05, backlog_bytes=1 << 20)
        meshes = Meshes(loopback(PAIR), tmp_path, small)
        await meshes.start()
        await meshes.whole()
        for link in meshes.meshes["S2"].links.links.values():
            mute(link)  # it acknowledges nothing
        for _ in range(40):
            meshes.meshes["S1"].send("S2", Port.FEDERATIONS, ServiceClass.CAUSAL, bytes(64 << 10))
        news = meshes.guests["S1"].news
        await until(lambda: any(what == "lost" for what, _, _ in news), "it is lost")
        (why,) = [why for what, _, why in news if what == "lost"]
        assert "bytes of causal packets (fabric.backlog_bytes)" in why
        await until(lambda: meshes.meshes["S1"].channels.backlog(1) == 0, "all have come in the end")
        await until(lambda: len(meshes.guests["S2"].heard) == 40, "each once")
        await meshes.stop()

    run(work())


@pytest.mark.parametrize("restarted", [False, True])
def test_a_node_that_is_started_again_takes_the_dead_for_lost(tmp_path: Path, restarted: bool) -> None:
    """It does not know who was lost to the process before; a node that never ran waits for the others to be started."""

    async def work() -> None:
        meshes = Meshes(loopback(PAIR), tmp_path)
        if restarted:
            await meshes.start()
            await meshes.whole()
            meshes.meshes["S1"].send("S2", Port.FEDERATIONS, ServiceClass.CAUSAL, b"so that it knows of S2")
            await until(lambda: bool(meshes.guests["S2"].heard), "it has come")
            await meshes.crash("S2")
            await meshes.crash("S1")
        await meshes.start("S1")
        news = meshes.guests["S1"].news
        if restarted:
            await until(lambda: bool(news), "S2 is given up")
            assert news == [("lost", "S2", "not reached since this node was started again")]
            assert meshes.meshes["S1"].channels._lost == {1}
        else:
            assert not meshes.meshes["S1"]._doubts
        await meshes.start("S2")
        await meshes.whole()
        assert news[-1] == ("found", "S2", False)
        assert not meshes.meshes["S1"].channels._lost
        await meshes.stop()

    run(work())
