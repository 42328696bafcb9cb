"""The mesh: commit first, then send; a crash at any point between loses nothing and repeats nothing (S1-7, S1-8)."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.meshes_in_one_loop import QUICK, Guest, Meshes, mute, run, until
from support.node_processes import loopback
from weft.fabric import Topology, parse_domains
from weft.host.carrier import Carrier, Port, Resident, ServiceClass
from weft.host.mesh.mesh import ACKS_SECONDS, Mesh
from weft.model.errors import FabricError, SettingsError
from weft.model.records import Source

PAIR = Topology(("S1", "S2"), {"A": ("S1", "S2")})
CHAIN = Topology(("S1", "S2", "S3"), {"A": ("S1", "S2"), "B": ("S2", "S3")})
CAUSAL, RELIABLE = ServiceClass.CAUSAL, ServiceClass.RELIABLE
GUESTS = Port.FEDERATIONS


class Echo(Guest):
    """Answers a little later, so many times."""

    def __init__(self, mesh: Mesh, times: int) -> None:
        super().__init__()
        self.mesh = mesh
        self.left = times

    def received(self, sender: str, payload: bytes, now: float) -> None:
        super().received(sender, payload, now)
        if self.left:
            self.left -= 1
            asyncio.get_running_loop().call_soon(self.mesh.send, sender, GUESTS, CAUSAL, payload)


def test_acknowledgements_go_with_answers(tmp_path: Path) -> None:
    """Where packets are answered, if not at once, one frame goes for each, and none for acknowledgements but in pauses."""

    async def work() -> None:
        meshes = Meshes(loopback(PAIR), tmp_path)
        await meshes.start()
        await meshes.whole()
        times = 300
        for mesh in meshes.meshes.values():
            mesh.settle(GUESTS, Echo(mesh, times))
        links = [next(iter(mesh.links.links.values())) for mesh in meshes.meshes.values()]
        before = [link.session._number for link in links if link.session is not None]
        begun = time.monotonic()
        meshes.meshes["S1"].send("S2", GUESTS, CAUSAL, b"ping")
        await until(lambda: all(mesh.received >= times for mesh in meshes.meshes.values()), "all answered")
        pauses = (time.monotonic() - begun) / ACKS_SECONDS
        after = [link.session._number for link in links if link.session is not None]
        for sent in [b - a for a, b in zip(before, after, strict=True)]:
            assert times <= sent <= times + 10 + pauses
        await until(
            lambda: all(m.status()["backlog"] == 0 for m in meshes.meshes.values()), "all acknowledged"
        )
        await meshes.stop()

    run(work())


def test_who_only_listens_says_what_has_come(tmp_path: Path) -> None:
    """More than `queue_bytes` one way, with nothing back and before any heartbeat: it was all read, so the link is not cut."""

    async def work() -> None:
        settings = replace(QUICK, lost_seconds=60.0)
        meshes = Meshes(loopback(PAIR), tmp_path, settings)
        await meshes.start()
        await meshes.whole()
        for number in range(60):
            meshes.meshes["S1"].send("S2", GUESTS, RELIABLE, bytes(50_000))
            await until(lambda n=number: len(meshes.guests["S2"].heard) > n, "it has come")  # type: ignore[misc]
        assert not any("cut" in line for line in meshes.logs["S1"])
        await meshes.stop()

    run(work())


def test_the_mesh_is_a_carrier(tmp_path: Path) -> None:
    """The port as it is written down."""

    async def work() -> None:
        domains = loopback(PAIR)
        carrier: Carrier = Mesh(domains, "S1", lambda text: None)
        resident: Resident = Guest()
        carrier.settle(GUESTS, resident)
        assert (carrier.name, carrier.nodes) == ("S1", ("S1", "S2"))
        carrier.keep("a/1", b"x")
        carrier.keep("b", b"y")
        assert carrier.kept("a/") == {"a/1": b"x"}
        with pytest.raises(FabricError, match="there is no node 'S7'; there are S1, S2"):
            carrier.send("S7", GUESTS, CAUSAL, b"")
        with pytest.raises(FabricError, match="too large"):
            carrier.send("S2", GUESTS, CAUSAL, bytes(49 << 20))
        with pytest.raises(SettingsError, match="there is no server 'S7'"):
            Mesh(domains, "S7", lambda text: None)

    run(work())


@pytest.mark.parametrize("moment", ["before the packets leave", "before the acknowledgements leave"])
def test_a_crash_between_commit_and_transmission(tmp_path: Path, moment: str) -> None:
    """Saved and not sent: it is sent at the next start.  Received and not acknowledged: it comes again, and counts once."""

    async def work() -> None:
        meshes = Meshes(loopback(CHAIN), tmp_path)
        await meshes.start()
        await meshes.whole()
        victim, other = ("S1", "S3") if moment == "before the packets leave" else ("S3", "S1")
        for link in meshes.meshes[victim].links.links.values():
            mute(link)
        for number in range(20):
            meshes.meshes["S1"].send("S3", GUESTS, CAUSAL, b"%d" % number)
        journal = meshes.meshes[victim].journal
        assert journal is not None
        if victim == "S1":
            await until(lambda: len(journal.saved(GUESTS).out) == 20, "all are saved")
        else:
            guest = meshes.guests["S3"]
            await until(lambda: len(guest.heard) == 20, "all are received")
            await until(lambda: bool(journal.saved(GUESTS).cells), "and that is saved")
        heard = meshes.guests["S3"].said()
        await meshes.crash(victim)
        await meshes.start(victim)
        await meshes.whole()
        meshes.meshes[other].send(victim, GUESTS, CAUSAL, b"last")
        meshes.meshes[victim].send(other, GUESTS, CAUSAL, b"last")
        late = meshes.guests["S3"]
        await until(lambda: late.said()[-1:] == [b"last"], "the rest arrives")
        assert heard + late.said()[:-1] == [b"%d" % number for number in range(20)]
        await until(
            lambda: all(m.status()["backlog"] == 0 for m in meshes.meshes.values()), "all acknowledged"
        )
        await meshes.stop()

    run(work())


class Counting(Guest):
    """Counts what it hears in what it keeps, and answers: all three belong to one transaction."""

    def __init__(self, mesh: Mesh, to: str) -> None:
        super().__init__()
        self.mesh = mesh
        self.to = to
        self.count = int(mesh.kept("count").get("count", b"0"))

    def received(self, sender: str, payload: bytes, now: float) -> None:
        super().received(sender, payload, now)
        self.count += 1
        self.mesh.keep("count", b"%d" % self.count)
        self.mesh.send(self.to, GUESTS, CAUSAL, b"%d:%s" % (self.count, payload))


@pytest.mark.parametrize("seed", range(4))
def test_crashes_at_random(tmp_path: Path, seed: int) -> None:
    """S2 counts what S1 sends and tells S3: whatever crashes, S3 hears 1, 2, 3 … and each number once."""

    async def work() -> None:
        chance = random.Random(seed)
        meshes = Meshes(loopback(CHAIN), tmp_path)
        heard: list[bytes] = []

        async def start(name: str) -> None:
            await meshes.start(name)
            if name == "S2":
                meshes.meshes["S2"].settle(GUESTS, Counting(meshes.meshes["S2"], "S3"))
            if name == "S3":
                meshes.guests["S3"].received = (  # type: ignore[method-assign]
                    lambda sender, payload, now: heard.append(payload)
                )

        for name in CHAIN.servers:
            await start(name)
        sent = 0
        for _ in range(12):
            for _ in range(chance.randrange(30)):
                meshes.meshes["S1"].send("S2", GUESTS, CAUSAL, b"%d" % sent)
                sent += 1
                if chance.random() < 0.2:
                    await asyncio.sleep(0)
            victim = chance.choice(("S2", "S3", ""))
            for _ in range(chance.randrange(12)):
                await asyncio.sleep(0)
            if victim:
                committed = len(heard)
                await meshes.crash(victim)
                if victim == "S3":
                    del heard[committed:]
                await start(victim)
        await meshes.whole()
        await until(lambda: len({*heard}) == sent, "all have arrived")
        # S3's own list is no part of a transaction, so what it heard before a crash it may hear again, at the seam only.
        assert sorted({*heard}, key=lambda one: int(one.split(b":")[0])) == [
            b"%d:%d" % (n + 1, n) for n in range(sent)
        ]
        assert meshes.meshes["S2"].kept("count") == {"count": b"%d" % sent}
        await meshes.stop()

    run(work())


def test_what_nobody_takes_waits_for_somebody(tmp_path: Path) -> None:
    """A causal message for a port where nobody has settled is kept, also over a restart."""

    async def work() -> None:
        meshes = Meshes(loopback(PAIR), tmp_path)
        await meshes.start()
        meshes.meshes["S1"].send("S2", Port.AGENTS, CAUSAL, b"early")
        await until(lambda: meshes.meshes["S2"].channels.counts().delivered == 1, "it has arrived")
        await until(lambda: meshes.meshes["S1"].status()["backlog"] == 0, "it is acknowledged")
        await meshes.crash("S2")
        await meshes.start("S2")
        late = Guest()
        meshes.meshes["S2"].settle(Port.AGENTS, late)
        await until(lambda: late.said() == [b"early"], "it is handed over")
        await meshes.stop()

    run(work())


@pytest.mark.parametrize("victim", ["S1", "S2"])
def test_a_node_that_lost_its_journal_is_refused(tmp_path: Path, victim: str) -> None:
    """What it sends would pass for repeated and be dropped without a word; both sides say what to do."""

    async def work() -> None:
        meshes = Meshes(loopback(PAIR), tmp_path)
        await meshes.start()
        for name, other in (("S1", "S2"), ("S2", "S1")):
            meshes.meshes[name].send(other, GUESTS, CAUSAL, b"x")
            await until(lambda: bool(meshes.guests[other].heard), "it arrives")  # noqa: B023
        await meshes.crash(victim)
        for file in tmp_path.glob(f"{victim}.journal*"):
            file.unlink()
        await meshes.start(victim)
        for name in ("S1", "S2"):
            why = f"{victim} has forgotten packets that it sent"
            await until(lambda: any(why in line for line in meshes.logs[name]), f"{name} says so")  # noqa: B023
        await meshes.stop()

    run(work())


def test_nothing_leaves_before_it_is_saved(tmp_path: Path) -> None:
    """A journal that cannot be written ends the node, and nobody has heard of what was not saved."""

    async def work() -> None:
        meshes = Meshes(loopback(PAIR), tmp_path)
        await meshes.start()
        await meshes.whole()
        broken: Any = meshes.meshes["S1"].journal

        def full(*_: object) -> None:
            raise FabricError("S1.journal: the journal cannot be written: database or disk is full")

        broken.commit = full
        meshes.meshes["S1"].send("S2", GUESTS, RELIABLE, b"reliable")
        meshes.meshes["S1"].send("S2", GUESTS, CAUSAL, b"causal")
        failed = meshes.meshes["S1"].failed
        assert failed is not None
        assert "disk is full" in await asyncio.wait_for(failed, 10)
        assert "node S1 stops" in meshes.logs["S1"][-1]
        meshes.meshes["S2"].send("S1", GUESTS, RELIABLE, b"anyone?")
        await asyncio.sleep(0)
        assert meshes.guests["S2"].heard == []
        await meshes.stop()

    run(work())


def test_a_resident_that_raises_is_reported(tmp_path: Path) -> None:
    """And the others go on."""

    async def work() -> None:
        meshes = Meshes(loopback(PAIR), tmp_path)
        await meshes.start()

        def broken(sender: str, payload: bytes, now: float) -> None:
            raise RuntimeError("a mistake of ours")

        meshes.guests["S2"].received = broken  # type: ignore[method-assign]
        meshes.meshes["S1"].send("S2", GUESTS, CAUSAL, b"x")
        await until(lambda: any("a mistake of ours" in line for line in meshes.logs["S2"]), "it is reported")
        await meshes.stop()

    run(work())


def test_a_mesh_of_processes_is_one_command(tmp_path: Path) -> None:
    """The domains file says where agents live; a name that is no server is an error with its line."""
    text = '[servers]\nS1 = "127.0.0.1:1"\n[domains]\n[agents]\nx = { server = "S9", class = "a:B" }\n'
    with pytest.raises(SettingsError, match=r"file:5: agent x lives on S9, which is not in \[servers\]"):
        parse_domains(Source("file", text.encode()))
    bad = text.replace("S9", "S1").replace("a:B", "nothing")
    with pytest.raises(
        SettingsError, match=r'file:5: the class of agent x must be like "package.module:Class"'
    ):
        parse_domains(Source("file", bad.encode()))
    good = parse_domains(Source("file", text.replace("S9", "S1").encode()))
    assert (good.agents["x"].server, good.agents["x"].program) == ("S1", "a:B")
