"""What many federates cost a server when each sends one interaction to all.

So many federates join, publish and subscribe; then each sends.  Seconds until all have all, the server's CPU for each delivery,
how many deliveries went out with one write, its memory when all had joined, at most, and when all was read.

Federates are connections of a few processes, each of which has many, and reads those at which something has come.
"""

from __future__ import annotations

import contextlib
import json
import select
import sys
import tempfile
import time
from pathlib import Path

from weft.host.client.connection import RemoteConnection
from weft_benchmarks import fedpro
from weft_benchmarks.crowds.members import answer, cpu_of, member, tell
from weft_benchmarks.runner import Figures, say

PROCESSES = 4  # that the federates of a crowd are in, at most
SETTLED = 3.0  # seconds without less memory, after which no more is given back


# --- in the federates' processes ------------------------------------------------------------------------------


def crowd(port: int, count: int, messages: int, size: int) -> None:
    """Join with so many federates; when told to, each sends one message, and all hear `messages`."""
    joined = [fedpro.join(port, "FedPro.asyncUpdates=true") for _ in range(count)]
    poll = select.epoll()
    by_socket = {}
    for one in joined:
        one[0].subscribe_interaction_class(one[2])
        connection = one[0].connection
        assert isinstance(connection, RemoteConnection)
        by_socket[connection._stream.socket.fileno()] = one
    for number in by_socket:
        poll.register(number, select.EPOLLIN)
    print("ready", flush=True)
    sys.stdin.readline()
    before = time.process_time()
    for rti, _, ping, values in joined:
        rti.send_interaction(ping, dict.fromkeys(values, bytes(size)), b"")
        rti.evoke_multiple_callbacks(0.0, 0.0)  # which lets it go
    while by_socket:
        for number, _ in poll.poll(60.0):
            rti, counter, _, _ = by_socket[number]
            while rti.evoke_multiple_callbacks(0.0, 1.0):
                pass  # there is more
            if counter.received >= messages:
                poll.unregister(number)
                del by_socket[number]
    for rti, _, _, _ in joined:
        rti.get_order_type("HLAreceive")  # and the server knows that all was read
    print(json.dumps({"cpu_s": time.process_time() - before}), flush=True)
    sys.stdin.readline()
    for rti, _, _, _ in joined:
        rti.connection.lose()


def main() -> None:
    crowd(*map(int, sys.argv[1:]))


# --- in the benchmark's own process ---------------------------------------------------------------------------


def measure_crowd(build: str, count: int, size: int, record: bool) -> Figures:
    """One round with so many federates."""
    with tempfile.TemporaryDirectory() as folder:
        found = _round(build, count, size, record, folder)
        _, _, frames, writes = fedpro._last_words(folder)
        found["frames_per_write"] = frames / writes
    return found


def _round(build: str, count: int, size: int, record: bool, folder: str) -> Figures:
    processes = max(1, min(PROCESSES, count // 2))
    parts = [count // processes + (place < count % processes) for place in range(processes)]
    with contextlib.ExitStack() as stack:
        server, port = stack.enter_context(fedpro.server(build, folder, record="recorded" if record else ""))
        say(f"{build}: {count} federates join")
        before, cpu = time.monotonic(), cpu_of(server.pid)
        members = [
            stack.enter_context(member(build, __name__, port, part, count - 1, size)) for part in parts
        ]
        for one in members:
            fedpro.ready(one)
        found = {
            "join_s": time.monotonic() - before,
            "join_us": (cpu_of(server.pid) - cpu) / count * 1e6,
            "joined_mib": _mib(server.pid, "VmRSS"),
        }
        say(f"{build}: {count} federates send to all")
        before, cpu = time.monotonic(), cpu_of(server.pid)
        for one in members:
            tell(one)
        spent = [answer(one)["cpu_s"] for one in members]
        deliveries = count * (count - 1)
        found["seconds"] = time.monotonic() - before
        found["deliveries_per_s"] = deliveries / found["seconds"]
        found["server_us"] = (cpu_of(server.pid) - cpu) / deliveries * 1e6
        found["federates_us"] = sum(spent) / deliveries * 1e6
        found["peak_mib"] = _mib(server.pid, "VmHWM")
        found["after_mib"] = _settled(server.pid)
        found["server_s"] = found["server_us"] * deliveries / 1e6
        found["kept_mib"] = found["after_mib"] - found["joined_mib"]
        for one in members:
            tell(one)
            one.wait(timeout=60)
    return found


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
