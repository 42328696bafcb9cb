"""What recording costs: the same with and without it, alternately.

* Server: one to one, not waiting for answers, 64-byte interactions, messages a second and the server's CPU for each (its writing
  thread included); recorded to a folder, and, where one is named, to a store.
* Embedded: one to one in one process, messages a second of wall time, for some seconds: the federates never pause.
* Of both, the share of rows that were dropped because they came faster than they could be written.
* Writer: how many rows a second it brings to the disk, from books to files.
"""

from __future__ import annotations

import os
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from weft._build import is_compiled
from weft.host.recording.run_writer import RunWriter
from weft.host.recording.runs import find_runs, open_run
from weft.host.recording.writers import Writer
from weft.kernel.federation.founding import found
from weft.recorder import Book, BookBatch
from weft_benchmarks import fedpro
from weft_benchmarks.embedded import _FOM, federation
from weft_benchmarks.runner import COMPILED, PURE, say

EMBEDDED = {COMPILED: 1_000_000, PURE: 300_000}
TIMES = 10  # as many messages as in `weft bench fedpro`: files are written once a second, and a run is to see several
ROWS = 400_000
PART = 32_768  # entries of a batch


WHERE = {"plain": "", "recorded": "recorded"}
"""To which place a server records; `stored` is a store that is named."""


def served(build: str, name: str, place: str) -> dict[str, float]:
    """Messages a second, and the server's CPU µs for each."""
    with tempfile.TemporaryDirectory() as folder:
        say(f"{build}: a server, {name}")
        with fedpro.server(build, folder, record=place) as (process, port):
            turns = TIMES * fedpro.MESSAGES[build]
            writes = partial(_has_written, Path(folder), bool(place))
            rate, cpu = fedpro.throughput(build, process, port, 1, turns, "async", writes)
        dropped = {f"server_{name}_dropped": _dropped(Path(folder))} if place else {}
    return {f"server_{name}_per_s": rate, f"server_{name}_us": cpu, **dropped}


def _dropped(folder: Path) -> float:
    """The share of all rows."""
    folders = [folder, folder / "recorded", *folder.glob("spool/*")]
    runs = [open_run(run) for directory in folders for run in find_runs(directory)]
    dropped = sum(run.dropped for run in runs)
    return dropped / (dropped + sum(run.rows for run in runs))


def _has_written(folder: Path, recorded: bool) -> bool:
    """The first rows, of those who joined, are on the disk: what it takes to write is loaded."""
    return not recorded or any(folder.rglob("*.parquet"))


def embedded() -> dict[str, float]:
    """In one process, without and with recording, in turns: the best of three each.

    Messages a second; CPU µs for each, of the federates' own thread, and what those who write add.
    """
    plain: list[tuple[float, float, float]] = []
    recorded: list[tuple[float, float, float]] = []
    dropped = []
    for _ in range(3):
        plain.append(_embedded(""))
        with tempfile.TemporaryDirectory() as folder:
            recorded.append(_embedded(folder))
            dropped.append(_dropped(Path(folder)))
    return {
        "embedded_plain_per_s": max(rate for rate, _, _ in plain),
        "embedded_recorded_per_s": max(rate for rate, _, _ in recorded),
        "embedded_plain_us": min(cpu for _, cpu, _ in plain),
        "embedded_recorded_us": min(cpu for _, cpu, _ in recorded),
        "embedded_writer_us": min(more for _, _, more in recorded),
        "embedded_recorded_dropped": max(dropped),
    }


def _embedded(folder: str) -> tuple[float, float, float]:
    members = federation(2)
    (sender, _), (ear, counter) = members
    node: Any = sender._host
    if folder:
        node.record(folder)
    ping = sender.get_interaction_class_handle("Ping")
    values = {sender.get_parameter_handle(ping, "Payload"): bytes(64)}
    sender.publish_interaction_class(ping)
    ear.subscribe_interaction_class(ping)
    messages = EMBEDDED[COMPILED if is_compiled() else PURE]
    before, thread, process = time.perf_counter(), time.thread_time(), _cpu()
    for _ in range(messages):
        sender.send_interaction(ping, values, b"")
        ear.evoke_callback(0.0)
    took, own = time.perf_counter() - before, time.thread_time() - thread
    if counter.received != messages:
        raise RuntimeError(f"{counter.received} of {messages} interactions were received")
    if folder:
        node.stop_recording()
    rest = _cpu() - process - own
    for rti, _ in members:
        rti._lose_connection()
    return messages / took, own / messages * 1e6, rest / messages * 1e6


def _cpu() -> float:
    """Of this process and of those that it had begun and that have ended."""
    told = os.times()
    return told.user + told.system + told.children_user + told.children_system


def writer() -> dict[str, float]:
    """Rows of sends and deliveries that are on the disk in a second."""
    batches = [_batch(number) for number in range(ROWS // 2 // PART)]
    rows = sum(batch.rows for batch in batches)
    federation = found("bench", "bench/0/1", "bench", ((_FOM,), None, "", None))
    with tempfile.TemporaryDirectory() as folder:
        run = RunWriter(Book(), federation, "bench", Path(folder), Writer())
        run.open({})
        before, cpu = time.perf_counter(), time.process_time()
        for batch in batches:
            run.write([batch], {})
        took, spent = time.perf_counter() - before, time.process_time() - cpu
        size = sum(path.stat().st_size for path in Path(folder).glob("**/*.parquet"))
    return {"writer_rows_per_s": rows / took, "writer_us": spent / rows * 1e6, "bytes_per_row": size / rows}


def _batch(number: int) -> BookBatch:
    book = Book(most_entries=1 << 40, most_bytes=1 << 40)
    common = (("service", "send_interaction"), ("source", 1), ("class", "HLAinteractionRoot.Ping"))
    first = (("kind", "send"), ("federate", 1), ("items", ("Payload",)), ("destinations", (2,)), *common)
    shape = book.learn(
        "ping", (first, (("kind", "deliver"), ("federate", 2), ("items", ("Payload",)), *common))
    )
    for entry in range(PART):
        message = number * PART + entry
        payload = {b"p": message.to_bytes(8, "big") * 8}
        book.enter(shape, message * 1e-5, message + 1, -1, payload, b"")
    taken = book.take()
    assert taken is not None
    return taken
