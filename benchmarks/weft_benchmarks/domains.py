"""What causal order costs, in one domain of all servers (flat) and in domains on a bus (S1-15).

* Hop: messages of 64 bytes one way between two processes on loopback, each acknowledged; with journals (group commit) and
  without. Floors: rows of the same size into SQLite in the same batches; a round trip through a relay in C.
* Round trips of ping-pong agents with journals, one process for each server: to an agent on the same server, on the
  farthest, on all.
* Stamps, simulated in one process with the real channels: every server sends to servers drawn at random until the clocks are
  full of news, then entries and bytes for each message are counted, over all its hops.  A flat clock has n² cells on each of
  n servers, so flat is simulated only as far as memory allows."""

from __future__ import annotations

import contextlib
import json
import math
import random
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weft.fabric import Channel, Packet, Topology, plan
from weft_benchmarks.runner import environment

MODULE = "weft_benchmarks.domains_node"
HOPS = 60_000
ROUNDS = 100
CRIES = 20


# --- processes ----------------------------------------------------------------------------------------------------


def _write_file(folder: Path, topology: Topology) -> Path:
    """A domains file with ports of this machine that are free just now."""
    probes = [socket.socket() for _ in topology.servers]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    lines = ["[servers]"]
    lines += [f'{name} = "127.0.0.1:{port}"' for name, port in zip(topology.servers, ports, strict=True)]
    lines += ["[domains]", *(f"{name} = {json.dumps(list(who))}" for name, who in topology.domains.items())]
    path = folder / "domains.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def _start(file: Path, node: str, journal: str, *role: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", MODULE, str(file), node, journal, *role],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def _line(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    text = process.stdout.readline()
    if not text:
        raise RuntimeError("a node of the benchmark ended early")
    found: dict[str, Any] = json.loads(text)
    return found


def _let_go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()


@contextlib.contextmanager
def _ended(processes: list[subprocess.Popen[str]]) -> Iterator[None]:
    """Whatever happens, none is left."""
    try:
        yield
    finally:
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired, OSError):
                _let_go(process)
                process.wait(60)
            if process.poll() is None:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()


def measure_hop(durable: bool) -> dict[str, float]:
    count = HOPS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = _write_file(folder, plan(2, "flat"))
        journal = name if durable else "-"
        pair = [
            _start(file, "S2", journal, "sink", str(count)),
            _start(file, "S1", journal, "flood", "S2", str(count)),
        ]
        with _ended(pair):
            found = {**_line(pair[1]), **_line(pair[0])}
    return {key: round(value, 2) for key, value in found.items()}


def measure_round_trips(servers: int, topology: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = plan(servers, topology)
        file = _write_file(folder, made)
        nodes = _start(file, "-", name, "all", str(ROUNDS), str(CRIES))
        with _ended([nodes]):
            found = _line(nodes)["round_trips"]
            _let_go(nodes)
            counts = [_line(nodes)["status"] for _ in made.servers]
    packets = sum(one["packets"] for one in counts)
    return {
        "servers": servers,
        "topology": topology,
        **{key: round(value, 1) for key, value in found.items()},
        "stamp_entries_per_packet": round(sum(one["stamp_entries"] for one in counts) / packets, 2),
        "stamp_bytes_per_packet": round(sum(one["stamp_bytes"] for one in counts) / packets, 2),
        "clock_bytes_per_node": round(sum(one["clock_bytes"] for one in counts) / servers),
    }


def measure_sqlite(batch: int = 256, batches: int = 120) -> float:
    """Rows a second into a table like the journal's, one transaction for each batch: the floor for a durable hop."""
    with tempfile.TemporaryDirectory() as name:
        base = sqlite3.connect(Path(name) / "floor", isolation_level=None)
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA synchronous = NORMAL")
        base.execute("CREATE TABLE out (a, b, c, d BLOB, PRIMARY KEY (a, b, c)) WITHOUT ROWID")
        began = time.perf_counter()
        for number in range(batches):
            base.execute("BEGIN IMMEDIATE")
            rows = [(0, 1, number * batch + one, bytes(80)) for one in range(batch)]
            base.executemany("INSERT INTO out VALUES (?, ?, ?, ?)", rows)
            base.execute("COMMIT")
        passed = time.perf_counter() - began
        base.close()
    return batch * batches / passed


# --- simulated ----------------------------------------------------------------------------------------------------


class _Network:
    """All channels in one process; packets arrive in the order in which they were sent."""

    def __init__(self, topology: Topology) -> None:
        self.channels = [Channel(topology, own, None, durable=False) for own in range(len(topology.servers))]
        self.delivered = 0
        self._under_way: deque[tuple[int, int, Packet]] = deque()

    def send(self, sender: int, receiver: int) -> None:
        self.channels[sender].send([receiver], b"")
        self._take(sender)
        while self._under_way:
            source, target, packet = self._under_way.popleft()
            self.channels[target].receive(source, packet)
            self._take(target)

    def _take(self, own: int) -> None:
        channel = self.channels[own]
        for delivery in channel.take_deliveries():
            channel.consumed(delivery.number)
            self.delivered += 1
        batch = channel.take_batch()
        for one in batch.transmit:
            self._under_way.append((own, one.peer, one.packet))
        for ack in batch.acknowledge:
            self.channels[ack.peer].acknowledged(own, ack.domain, ack.number)

    def entries(self) -> tuple[int, int]:
        counts = [channel.counts for channel in self.channels]
        return sum(one.stamp_entries for one in counts), sum(one.stamp_bytes for one in counts)


def simulate(servers: int, topology: str, seed: int = 1) -> dict[str, Any]:
    """Uniform traffic: one message for each pair in a domain to warm up, a few to measure."""
    made = plan(servers, topology)
    network = _Network(made)
    chance = random.Random(seed)
    largest = max(len(members) for members in made.domains.values())
    warm = servers * largest
    measured = max(200, warm // 20)

    def some(count: int) -> None:
        for _ in range(count):
            sender = chance.randrange(servers)
            receiver = chance.randrange(servers - 1)
            network.send(sender, receiver + (receiver >= sender))

    some(warm)
    before = network.entries()
    some(measured)
    after = network.entries()
    if network.delivered != warm + measured:
        raise RuntimeError(f"{network.delivered} of {warm + measured} messages were delivered")
    return {
        "servers": servers,
        "topology": topology,
        "stamp_entries_per_message": round((after[0] - before[0]) / measured, 1),
        "stamp_bytes_per_message": round((after[1] - before[1]) / measured, 1),
        "clock_bytes_per_node": round(sum(channel.clock_bytes() for channel in network.channels) / servers),
    }


# --- fits -----------------------------------------------------------------------------------------------------------


def fit(points: list[tuple[float, float]], power: int) -> dict[str, float]:
    """y = a·xᵖ + b by least squares, and how much of the variance that explains."""
    xs = [x**power for x, _ in points]
    ys = [y for _, y in points]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - mean_x) ** 2 for x in xs)
    a = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / spread
    b = mean_y - a * mean_x
    left = sum((y - a * x - b) ** 2 for x, y in zip(xs, ys, strict=True))
    whole = sum((y - mean_y) ** 2 for y in ys)
    r2 = 1.0 if math.isclose(whole, 0.0) else 1 - left / whole
    return {"power": power, "a": round(a, 5), "b": round(b, 2), "r2": round(r2, 4)}
