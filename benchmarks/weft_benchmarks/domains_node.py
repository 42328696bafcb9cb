"""One node of a benchmark of domains, as a process: `python -m weft_benchmarks.domains_node FILE NODE JOURNAL ROLE …`.

    pong                   answers pings, until its input ends; then prints its counters
    ping  ROUNDS CRIES     … and sends them: round trips to itself, to the farthest server and to all
    flood TO COUNT         sends messages one way as fast as they are acknowledged
    sink  COUNT            takes them
    all   ROUNDS CRIES [HOSTS]   a process for each server of the file (NODE is not looked at): the first pings, the others pong;
                           HOSTS: network namespaces, with commas between, among which the servers take turns

JOURNAL is a folder, or - for none.  What is measured is printed as one line of JSON.  With journals the counters have what was
written to them since the round trips began (`weft_benchmarks.testbed.journal_pages`).
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from weft.federate.agents import Agent
from weft.host.carrier import Port, ServiceClass
from weft.host.mesh.agents import AgentEvent
from weft.host.mesh.mesh import Mesh
from weft.host.mesh.node import FabricNode, read_domains
from weft.host.server.server import run_loop
from weft.host.settings import FabricSettings
from weft_benchmarks.testbed.journal_pages import JournalPages

_NETWORK = 0x40000000  # CLONE_NEWNET
SETTINGS = FabricSettings(lost_seconds=60.0, retry_seconds=0.2, retry_most_seconds=2.0)
PAYLOAD = bytes(64)
AT_ONCE = 256
UNDER_WAY = 4096


class Pong(Agent):
    """Answers; the count is its state, so that there is something to save."""

    count = 0

    def react(self, event: AgentEvent) -> None:
        self.count += 1
        self.send(event.sender, event.value)


class PingAgent(Agent):
    """`_go` says to whom; `_back` is set when all answers have come."""

    count = 0
    _to = ""
    _missing = 0
    _back: asyncio.Event

    def react(self, event: AgentEvent) -> None:
        self.count += 1
        if event.sender == self.name:
            self.send(self._to, PAYLOAD)
            return
        self._missing -= 1
        if self._missing == 0:
            self._back.set()


async def _round_trip(node: FabricNode, ping: PingAgent, to: str, answers: int) -> float:
    ping._to, ping._missing, ping._back = to, answers, asyncio.Event()
    before = time.perf_counter()
    node.mesh.spread((node.mesh.name,), Port.AGENTS, _letter(ping.name))
    await asyncio.wait_for(ping._back.wait(), 120.0)
    return (time.perf_counter() - before) * 1e6


def _letter(name: str) -> bytes:
    from weft.host.files.cbor import encode

    return encode([name.partition("@")[0], name, b""])


async def _ping(node: FabricNode, ping: PingAgent, rounds: int, cries: int) -> dict[str, Any]:
    nodes = node.mesh.nodes
    await _until(lambda: all(node.mesh.is_reachable(name) for name in nodes[1:]))
    found: dict[str, Any] = {}
    plans = (
        ("local", f"Pong@{nodes[0]}", 1, rounds),
        ("remote", f"Pong@{nodes[-1]}", 1, rounds),
        ("broadcast", "Pong@*", len(nodes), cries),
    )
    for name, to, answers, count in plans:
        await _round_trip(node, ping, to, answers)
        times = sorted([await _round_trip(node, ping, to, answers) for _ in range(count)])
        found[f"{name}_us"] = statistics.median(times)
        found[f"{name}_quarter_us"] = times[len(times) // 4]  # hardly touched by what else the machine does
    return found


async def _until(condition: Any) -> None:
    deadline = time.monotonic() + 300.0
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("the mesh did not come up within 300 s")
        await asyncio.sleep(0.02)


class _Counter:
    count = 0
    cpu = 0.0  # of this process when the first came

    def received(self, sender: str, payload: bytes, now: float) -> None:
        if not self.count:
            self.cpu = time.process_time()
        self.count += 1

    def lost(self, node: str, why: str, now: float) -> None:
        pass

    def found(self, node: str, restarted: bool, now: float) -> None:
        pass


async def _flood(mesh: Mesh, to: str, count: int) -> dict[str, Any]:
    place = mesh.nodes.index(to)
    await _until(lambda: mesh.is_reachable(to))
    wall, cpu = time.perf_counter(), time.process_time()
    sent = 0
    while sent < count:
        if mesh.channels.backlog(place) < UNDER_WAY:
            for _ in range(AT_ONCE):
                mesh.send(to, Port.FEDERATIONS, ServiceClass.CAUSAL, PAYLOAD)
            sent += AT_ONCE
        await asyncio.sleep(0)
    while mesh.channels.backlog(place):
        await asyncio.sleep(0)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    commits = int(mesh.status()["commits"])
    return {
        "per_s": sent / wall,
        "sender_us": cpu / sent * 1e6,
        "messages_per_commit": sent / max(1, commits),
    }


async def _sink(mesh: Mesh, counter: _Counter, count: int) -> dict[str, Any]:
    await _until(lambda: counter.count >= count)
    return {"receiver_us": (time.process_time() - counter.cpu) / counter.count * 1e6}


async def main(file: str, name: str, journal: str, role: str, *rest: str) -> None:
    domains, folder = read_domains(file)
    path = None if journal == "-" else Path(journal) / f"{name}.journal"
    os.set_blocking(sys.stdin.fileno(), True)
    told = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    said: dict[str, Any] = {}
    if role in ("flood", "sink"):
        mesh = Mesh(domains, name, _quiet, SETTINGS, path, folder)
        counter = _Counter()
        mesh.settle(Port.FEDERATIONS, counter)
        await mesh.start()
        said = await (
            _flood(mesh, rest[0], int(rest[1])) if role == "flood" else _sink(mesh, counter, int(rest[0]))
        )
        _print(said)
        await told
        await mesh.stop()
        return
    ping = PingAgent()
    agents: dict[str, Agent] = {"Pong": Pong()}
    if role == "ping":
        agents["Ping"] = ping
    node = FabricNode(domains, name, _quiet, SETTINGS, path, folder, agents)
    pages = None if node.mesh.journal is None else JournalPages(node.mesh.journal)
    await node.start()
    if role == "ping":
        _print({"round_trips": await _ping(node, ping, int(rest[0]), int(rest[1]))})
    await told
    status: dict[str, object] = {**node.status(), "entries_saved": node.mesh.channels.counts().cells_saved}
    if pages is not None:
        status["written"] = pages.written()
    _print({"status": status})
    await node.stop()


def _print(said: dict[str, Any]) -> None:
    """In one piece, since many processes write to one pipe."""
    os.write(1, json.dumps(said).encode() + b"\n")


def _quiet(text: str) -> None:
    if "cut" in text or "internal" in text or "stops" in text:
        print(text, file=sys.stderr)


def enter_host(name: str) -> None:
    """From here on this process is in that network namespace."""
    there = os.open(f"/run/netns/{name}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(there, _NETWORK):
        raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {name}")
    os.close(there)


def fork_all(file: str, journal: str, rounds: str, cries: str, hosts: str = "") -> None:
    """One process has imported all there is to import; the nodes are its copies, which start at once."""
    servers = read_domains(file)[0].topology.servers
    places = hosts.split(",") if hosts else []
    children: list[int] = []
    for server in servers[::-1]:
        child = os.fork()
        if child == 0:
            if places:
                enter_host(places[servers.index(server) % len(places)])
            role = ("ping", rounds, cries) if server == servers[0] else ("pong",)
            run_loop(main(file, server, journal, *role))
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    if sys.argv[4] == "all":
        fork_all(sys.argv[1], sys.argv[3], *sys.argv[5:])
    else:
        run_loop(main(*sys.argv[1:]))
