"""What many federates cost a server, and one that does not read.

* Stopped: one sender, some receivers, 64-byte interactions, not waiting for answers.  In turns with one receiver more that is
  not there, that reads, and that is stopped by a signal: messages a second that the slowest of the others got, and the server's
  CPU for each message sent.
* Crowd: so many federates join, publish and subscribe; then each sends one interaction to all.  Seconds until all have all, the
  server's CPU for each delivery, its memory when all had joined, at most, and when all was read.

Federates are connections of a few processes, each of which has many.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from weft_benchmarks import fedpro
from weft_benchmarks.runner import environment, say

RECEIVERS = 3
TIMES = 2  # as many messages as in `weft bench fedpro`
PROCESSES = 4  # that the federates of a crowd are in, at most
SETTLED = 3.0  # seconds without less memory, after which no more is given back

ABSENT, READS, STOPPED = "absent", "reads", "stopped"


# --- in the federates' processes ------------------------------------------------------------------------------


def crowd(port: int, count: int, messages: int, size: int) -> None:
    """Join with so many federates; when told to, each sends one message, and all hear `messages`."""
    joined = [fedpro.join(port, "FedPro.asyncUpdates=true") for _ in range(count)]
    for rti, _, ping, _ in joined:
        rti.subscribe_interaction_class(ping)
    print("ready", flush=True)
    sys.stdin.readline()
    before = time.process_time()
    for rti, _, ping, values in joined:
        rti.send_interaction(ping, dict.fromkeys(values, bytes(size)), b"")
    waiting = joined
    while waiting:
        for rti, _, _, _ in waiting:
            rti.evoke_multiple_callbacks(0.0, 0.0)
        waiting = [one for one in waiting if one[1].received < messages]
        if waiting:
            waiting[0][0].evoke_callback(0.01)
    print(json.dumps({"cpu_s": time.process_time() - before}), flush=True)
    sys.stdin.readline()
    for rti, _, _, _ in joined:
        rti.connection.lose()


def main() -> None:
    port, count, messages, size = map(int, sys.argv[1:])
    crowd(port, count, messages, size)


# --- one receiver that does not read --------------------------------------------------------------------------


def measure_stopped(build: str, receivers: int, number: int) -> dict[str, float]:
    """One round: all three, in another order each time, and the ratios within it."""
    kinds = [ABSENT, READS, STOPPED]
    found: dict[str, float] = {}
    for kind in kinds[number % 3 :] + kinds[: number % 3]:
        say(f"{build}: one more {kind}, round {number}")
        with tempfile.TemporaryDirectory() as folder, fedpro.server(build, folder) as (process, port):
            rate, cpu = _beside(build, process, port, receivers, kind)
        found[f"{kind}_per_s"], found[f"{kind}_us"] = rate, cpu
    for kind in (READS, STOPPED):
        found[f"{kind}_ratio"] = found[f"{kind}_per_s"] / found[f"{ABSENT}_per_s"]
    return found


def _beside(
    build: str, process: subprocess.Popen[str], port: int, receivers: int, kind: str
) -> tuple[float, float]:
    """What the others get beside one more of this kind."""
    turns = TIMES * fedpro.MESSAGES[build] // receivers
    if kind == ABSENT:
        return fedpro.throughput(build, process, port, receivers, turns, "async")
    further = fedpro.role(build, "receive", port, turns)
    try:
        fedpro.ready(further)
        if kind == STOPPED:
            further.send_signal(signal.SIGSTOP)
        return fedpro.throughput(build, process, port, receivers, turns, "async")
    finally:
        further.kill()
        further.communicate(timeout=60)


# --- everybody to everybody -----------------------------------------------------------------------------------


def measure_crowd(build: str, count: int, size: int, record: bool) -> dict[str, float]:
    processes = max(1, min(PROCESSES, count // 2))
    parts = [count // processes + (place < count % processes) for place in range(processes)]
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        server, port = stack.enter_context(fedpro.server(build, folder, record=record))
        say(f"{build}: {count} federates join")
        before, cpu = time.monotonic(), fedpro._cpu_of_all(server.pid)
        members = [stack.enter_context(_members(build, port, part, count - 1, size)) for part in parts]
        for one in members:
            fedpro.ready(one)
        found = {
            "join_s": time.monotonic() - before,
            "join_us": (fedpro._cpu_of_all(server.pid) - cpu) / count * 1e6,
            "joined_mib": _mib(server.pid, "VmRSS"),
        }
        say(f"{build}: {count} federates send to all")
        before, cpu = time.monotonic(), fedpro._cpu_of_all(server.pid)
        for one in members:
            _tell(one)
        spent = [_heard(one) for one in members]
        deliveries = count * (count - 1)
        found["seconds"] = time.monotonic() - before
        found["deliveries_per_s"] = deliveries / found["seconds"]
        found["server_us"] = (fedpro._cpu_of_all(server.pid) - cpu) / deliveries * 1e6
        found["federates_us"] = sum(spent) / deliveries * 1e6
        found["peak_mib"] = _mib(server.pid, "VmHWM")
        found["after_mib"] = _settled(server.pid)
        for one in members:
            _tell(one)
    return found


@contextlib.contextmanager
def _members(build: str, port: int, count: int, messages: int, size: int) -> Iterator[subprocess.Popen[str]]:
    arguments = map(str, (port, count, messages, size))
    process = subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import main; main()", *arguments],
        env=environment(build), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=60)


def _tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def _heard(process: subprocess.Popen[str]) -> float:
    """All of it; the CPU seconds that it took the process."""
    assert process.stdout is not None
    said = process.stdout.readline()
    if not said:
        raise RuntimeError("federates of the benchmark failed; their error stands above")
    return float(json.loads(said)["cpu_s"])


def _mib(pid: int, what: str) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(what)) / 1024


def _settled(pid: int) -> float:
    """Its memory once it gives nothing back any more."""
    least, since = _mib(pid, "VmRSS"), time.monotonic()
    while time.monotonic() - since < SETTLED:
        time.sleep(0.1)
        now = _mib(pid, "VmRSS")
        if now < least - 0.5:
            least, since = now, time.monotonic()
    return least
