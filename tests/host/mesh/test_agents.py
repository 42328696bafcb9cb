"""Agents: atomic reactions, a state that survives, addressed by name (S1-1)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import weft
from support.checking_agents import Asker, Echo
from support.meshes_in_one_loop import QUICK, run, until
from support.node_processes import NodeProcess, ended, loopback, wait_until, write_file
from weft.fabric import AgentPlace, Topology
from weft.host.carrier import Port
from weft.host.files.cbor import decode
from weft.host.mesh.agents import AgentEvent, Engine, load_agent
from weft.host.mesh.journal import Journal
from weft.host.mesh.node import FabricNode
from weft.model.errors import FabricError, SettingsError

CHAIN = Topology(("S1", "S2", "S3"), {"A": ("S1", "S2"), "B": ("S2", "S3")})


class Desk:
    """A node in memory: what is sent comes back in order, when `settle` is called."""

    name = "S1"
    nodes = ("S1", "S2")

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.queue: list[bytes] = []
        self.away: list[tuple[str, bytes]] = []
        self.reports: list[str] = []

    def check_room(self, nodes: Iterable[str]) -> None:
        pass

    def spread(self, nodes: Iterable[str], port: Port, payload: bytes) -> None:
        for node in nodes:
            if node == self.name:
                self.queue.append(payload)
            else:
                self.away.append((node, payload))

    def keep(self, key: str, value: bytes | None) -> None:
        if value is None:
            self.values.pop(key, None)
        else:
            self.values[key] = value

    def kept(self, prefix: str) -> dict[str, bytes]:
        return {key: self.values[key] for key in sorted(self.values) if key.startswith(prefix)}

    def engine(self, tries: int = 3, directory: dict[str, str] | None = None, **agents: weft.Agent) -> Engine:
        made = Engine(self, agents, directory or {}, self.reports.append, tries)
        made.begin()
        return made

    def settle(self, engine: Engine) -> None:
        while self.queue:
            engine.received(self.name, self.queue.pop(0), 0.0)


class Moody(weft.Agent):
    """Adds up what it hears, tells `sink`, and raises when it is told to."""

    total = 0
    _attempts = 0

    def react(self, event: AgentEvent) -> None:
        self._attempts += 1
        self.total += event.value
        self.send("sink", self.total)
        if event.value == 13 or (event.value == 7 and self._attempts % 3):
            self.noise = "should not stay"
            raise ValueError("an unlucky number")


class Sink(weft.Agent):
    def begin(self) -> None:
        self.heard: list[Any] = []

    def react(self, event: AgentEvent) -> None:
        self.heard.append([event.sender, event.value])


class Sender(weft.Agent):
    def begin(self) -> None:
        for value in (1, 13, 2, 7, 4):
            self.send("moody", value)

    def react(self, event: AgentEvent) -> None:
        pass


def test_a_reaction_that_raises_has_not_happened() -> None:
    """State and sends are rolled back, it is tried again, and at last set aside; what follows is handled."""
    desk = Desk()
    moody, sink = Moody(), Sink()
    engine = desk.engine(moody=moody, sink=sink, sender=Sender())
    desk.settle(engine)
    assert sink.heard == [["moody@S1", 1], ["moody@S1", 3], ["moody@S1", 10], ["moody@S1", 14]]
    assert not hasattr(moody, "noise")
    [letter] = engine.dead_letters()
    assert (letter["agent"], letter["sender"], letter["value"]) == ("moody", "sender@S1", 13)
    assert "ValueError: an unlucky number" in letter["error"]
    assert sum("was put back as it was" in line for line in desk.reports) >= 3


def test_a_state_comes_back() -> None:
    """The next process finds the state as of the last reaction; `begin` is for the first life only."""
    desk = Desk()
    engine = desk.engine(moody=Moody(), sink=Sink(), sender=Sender())
    desk.settle(engine)
    moody, sink = Moody(), Sink()
    desk.engine(moody=moody, sink=sink, sender=Sender())
    assert moody.total == 14
    assert len(sink.heard) == 4
    assert desk.queue == []


class Untidy(weft.Agent):
    def begin(self) -> None:
        self._scratch = {1, 2}  # not saved, so it may be anything

    def react(self, event: AgentEvent) -> None:
        self.things = {1, 2}


def test_a_state_that_cannot_be_saved_names_the_attribute() -> None:
    desk = Desk()
    engine = desk.engine(untidy=Untidy())
    desk.queue.append(b"\x83" + b"\x66untidy" + b"\x61x" + b"\x01")
    desk.settle(engine)
    [letter] = engine.dead_letters()
    assert "the attribute 'things' of agent untidy cannot be saved: set is no plain data" in letter["error"]


class Lost(weft.Agent):
    def begin(self) -> None:
        self.send("nobody", 1)

    def react(self, event: AgentEvent) -> None:
        self.send("sink", object())


def test_errors_say_who_and_what() -> None:
    desk = Desk()
    engine = desk.engine(lost=Lost(), sink=Sink())
    assert "agent lost@S1 sends to 'nobody', whom nobody knows; known are: lost, sink" in desk.reports[0]
    desk.queue.append(b"\x83" + b"\x64lost" + b"\x61x" + b"\x01")
    desk.queue.append(b"\x83" + b"\x64gone" + b"\x61x" + b"\x01")
    desk.settle(engine)
    first, second = engine.dead_letters()
    assert "agent lost@S1 sends 'sink' a value that is no plain data: object" in first["error"]
    assert second["error"] == "there is no agent 'gone' on node S1"
    with pytest.raises(SettingsError, match=r"agent 'x': say it as package.module:Class"):
        load_agent("x")
    with pytest.raises(SettingsError, match="nowhere"):
        load_agent("nowhere.at_all:Class")
    with pytest.raises(SettingsError, match=r"Path is no weft\.Agent"):
        load_agent("pathlib:Path")
    with pytest.raises(NotImplementedError, match="Agent does not say how it reacts"):
        weft.Agent().react(AgentEvent("x", 1))


class Crier(weft.Agent):
    def begin(self) -> None:
        value = [1]
        self.send("sink@*", value)
        value.append(2)  # what was sent is what it was when it was sent

    def react(self, event: AgentEvent) -> None:
        pass


def test_all_agents_of_a_name() -> None:
    """One message to all nodes, this one too."""
    desk = Desk()
    sink = Sink()
    engine = desk.engine(sink=sink, crier=Crier(), directory={"crier": "S1"})
    desk.settle(engine)
    assert sink.heard == [["crier", [1]]]
    assert [node for node, _ in desk.away] == ["S2"]


def test_agents_do_not_know_where_others_live(tmp_path: Path) -> None:
    """By name, over a router, in order, and again in another process of the same node."""

    async def work() -> None:
        domains = loopback(CHAIN)
        place = {
            "echo": AgentPlace("S3", "support.checking_agents:Echo"),
            "asker": AgentPlace("S1", "support.checking_agents:Asker"),
        }
        object.__setattr__(domains, "agents", place)
        nodes = [
            FabricNode(domains, name, lambda text: None, QUICK, tmp_path / f"{name}.journal")
            for name in CHAIN.servers
        ]
        for node in nodes:
            await node.start()
        asker, echo = nodes[0].engine._agents["asker"], nodes[2].engine._agents["echo"]
        assert isinstance(asker, Asker)
        assert isinstance(echo, Echo)
        assert (asker.name, echo.name) == ("asker", "echo")
        await until(lambda: len(asker.back) == 50, "all come back")
        assert asker.back == list(range(50))
        assert nodes[0].status()["reactions"] == 50
        for node in nodes:
            await node.stop()

    run(work())
    journal = Journal(tmp_path / "S3.journal", "S3", CHAIN.fingerprint)
    assert decode(journal.kept("agent/")["agent/echo"]) == {"heard": 50}
    journal.close()


def test_agents_of_the_domains_file_run_under_weft_serve(tmp_path: Path) -> None:
    """`weft serve --node S3 --domains FILE`; the process ends cleanly."""
    agents = (
        '[agents]\necho = { server = "S3", class = "support.checking_agents:Echo" }\n'
        'asker = { server = "S1", class = "support.checking_agents:Asker" }\n'
    )
    write_file(tmp_path, CHAIN, agents)
    nodes = [NodeProcess(tmp_path, name) for name in CHAIN.servers]
    with ended(nodes):
        for node in nodes:
            node.start()
        wait_until(lambda: nodes[0].status.get("reactions") == 50, "all come back")
        assert [node.stop() for node in nodes] == [0, 0, 0]
    journal = Journal(tmp_path / "runs" / "journal" / "S1.journal", "S1", CHAIN.fingerprint)
    assert decode(journal.kept("agent/")["agent/asker"])["back"] == list(range(50))
    journal.close()
    with pytest.raises(FabricError, match="this is the journal of S1"):
        Journal(tmp_path / "runs" / "journal" / "S1.journal", "S2", CHAIN.fingerprint)
