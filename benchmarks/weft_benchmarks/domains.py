"""What causal order costs, in one domain of all servers (flat) and in domains on a bus (S1-15).

* Hop: messages of 64 bytes one way between two processes on loopback, each acknowledged; with journals (group commit) and
  without. Floors: rows of the same size into SQLite in the same batches; a round trip through a relay in C.
* Round trips of ping-pong agents with journals, one process for each server: to an agent on the same server, on the
  farthest, on all.
* What journals write for clocks meanwhile, in bytes of pages (S1-19); and the same for traffic among all, in one process with the
  real channels and journals.
* Stamps, simulated in one process with the real channels: every server sends to servers drawn at random until the clocks are
  full of news, then entries and bytes for each message are counted, over all its hops.  A flat clock has n² cells on each of
  n servers, so flat is simulated only as far as memory allows."""

from __future__ import annotations

import contextlib
import json
import math
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from weft.fabric import Changes, Channel, Packet, Saved, Topology, plan
from weft.host.carrier import Port
from weft.host.mesh.journal import Journal
from weft_benchmarks.runner import environment
from weft_benchmarks.testbed.hosts import Host, addresses
from weft_benchmarks.testbed.journal_pages import JournalPages

MODULE = "weft_benchmarks.domains_node"
HOPS = 60_000
ROUNDS = 100
CRIES = 20


# --- processes ----------------------------------------------------------------------------------------------------


def _write_file(folder: Path, topology: Topology, hosts: Sequence[Host] = ()) -> Path:
    found = addresses(len(topology.servers), hosts)
    lines = ["[servers]"]
    lines += [f'{name} = "{address}"' for name, address in zip(topology.servers, found, strict=True)]
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


def measure_round_trips(
    servers: int,
    topology: str,
    rounds: int | None = None,
    cries: int | None = None,
    hosts: Sequence[Host] = (),
) -> dict[str, Any]:
    """`hosts`: network namespaces among which the servers take turns; without them all are on this one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = plan(servers, topology)
        file = _write_file(folder, made, hosts)
        counted = [str(ROUNDS if rounds is None else rounds), str(CRIES if cries is None else cries)]
        nodes = _start(file, "-", name, "all", *counted, ",".join(host.namespace for host in hosts))
        with _ended([nodes]):
            found = _line(nodes)["round_trips"]
            _let_go(nodes)
            counts = [_line(nodes)["status"] for _ in made.servers]
    packets = sum(one["packets"] for one in counts)
    return {
        "servers": servers,
        "topology": topology,
        **{key: round(value, 1) for key, value in found.items()},
        "entries_saved_per_packet": round(sum(one["entries_saved"] for one in counts) / packets, 2),
        "clock_disk_bytes_per_packet": round(sum(one["written"]["clock"] for one in counts) / packets),
        "other_disk_bytes_per_packet": round(sum(one["written"]["other"] for one in counts) / packets),
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

    def __init__(self, topology: Topology, durable: bool = False) -> None:
        self.channels = [Channel(topology, own, None, durable) for own in range(len(topology.servers))]
        self.tables = [Saved() for _ in topology.servers if durable]
        self.journals: list[Journal] = []
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
        if self.journals:
            if batch.changes:
                self.journals[own].commit({Port.FEDERATIONS: batch.changes})
        elif self.tables:
            self.tables[own].apply(batch.changes)
        for one in batch.transmit:
            self._under_way.append((own, one.peer, one.packet))
        for ack in batch.acknowledge:
            self.channels[ack.peer].acknowledged(own, ack.domain, ack.number)

    def open_journals(self, topology: Topology, folder: Path) -> None:
        """From here on each server has one on disk, with the clocks that were in memory; nothing may be under way."""
        for name, saved in zip(topology.servers, self.tables, strict=True):
            journal = Journal(folder / f"{name}.journal", name, topology.fingerprint)
            self.journals.append(journal)
            clocks = Changes(topology.fingerprint)
            clocks.clocks += saved.clocks.items()
            clocks.told += [(*key, told) for key, told in saved.told.items()]
            clocks.cells += [(*key, *row) for key, row in saved.cells.items()]
            journal.commit({Port.FEDERATIONS: clocks})

    def entries(self) -> tuple[int, int, int, int]:
        counts = [channel.counts for channel in self.channels]
        return (
            sum(one.stamp_entries for one in counts),
            sum(one.stamp_bytes for one in counts),
            sum(one.cells_saved for one in counts),
            sum(one.stamped for one in counts),
        )

    def some(self, count: int, chance: random.Random) -> None:
        """Messages from anyone to anyone else."""
        servers = len(self.channels)
        before = self.delivered
        for _ in range(count):
            sender = chance.randrange(servers)
            receiver = chance.randrange(servers - 1)
            self.send(sender, receiver + (receiver >= sender))
        if self.delivered != before + count:
            raise RuntimeError(f"{self.delivered - before} of {count} messages were delivered")


def _largest(topology: Topology) -> int:
    return max(len(members) for members in topology.domains.values())


def simulate(
    servers: int, topology: str, seed: int = 1, durable: bool = False, on_disk: int = 0
) -> dict[str, Any]:
    """Uniform traffic: one message for each pair in a domain to warm up, a few to measure; then `on_disk` with journals."""
    made = plan(servers, topology)
    network = _Network(made, durable)
    chance = random.Random(seed)
    warm = servers * _largest(made)
    measured = max(200, warm // 20)
    network.some(warm, chance)
    before = network.entries()
    network.some(measured, chance)
    counted = zip(network.entries(), before, strict=True)
    entries, size, saved, hops = ((after - was) / measured for after, was in counted)
    return {
        "servers": servers,
        "topology": topology,
        "hops_per_message": round(hops, 2),
        "stamp_entries_per_message": round(entries, 1),
        "stamp_bytes_per_message": round(size, 1),
        "entries_saved_per_message": round(saved, 1),
        "clock_bytes_per_node": round(sum(channel.clock_bytes() for channel in network.channels) / servers),
        **(_measure_disk(network, made, on_disk, chance) if on_disk else {}),
    }


def _measure_disk(
    network: _Network, topology: Topology, measured: int, chance: random.Random
) -> dict[str, int]:
    """The same traffic with a journal on disk for each server: the bytes it writes for a message, on all its hops (S1-19)."""
    with tempfile.TemporaryDirectory() as name:
        try:
            network.open_journals(topology, Path(name))
            pages = [JournalPages(journal) for journal in network.journals]
            network.some(measured, chance)
            written = [one.written() for one in pages]
        finally:
            for journal in network.journals:
                journal.close()
    return {
        "clock_disk_bytes_per_message": round(sum(one["clock"] for one in written) / measured),
        "other_disk_bytes_per_message": round(sum(one["other"] for one in written) / measured),
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


def fit_power(points: Sequence[tuple[float, float]]) -> dict[str, float]:
    """y = a·xᵖ + b with a and b of at least 0: the p that leaves least, in hundredths from 0.1 to 4, and what that explains."""
    mean = statistics.fmean(y for _, y in points)
    whole = sum((y - mean) ** 2 for _, y in points) or 1.0
    best: dict[str, float] = {}
    least = math.inf
    for hundredths in range(10, 401):
        power = hundredths / 100
        a, b = _line_through([(x**power, y) for x, y in points])
        if b < 0:
            a, b = _through_zero([(x**power, y) for x, y in points]), 0.0
        left = sum((a * x**power + b - y) ** 2 for x, y in points)
        if a >= 0 and left < least * (1 - 1e-9):
            least, best = left, {"power": power, "a": a, "b": b, "r2": 1 - left / whole}
    return best or {"power": 0.0, "a": 0.0, "b": mean, "r2": 0.0}


def _line_through(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    mean_x = statistics.fmean(x for x, _ in points)
    mean_y = statistics.fmean(y for _, y in points)
    spread = sum((x - mean_x) ** 2 for x, _ in points) or 1.0
    a = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    return a, mean_y - a * mean_x


def _through_zero(points: Sequence[tuple[float, float]]) -> float:
    return sum(x * y for x, y in points) / sum(x * x for x, _ in points)
