"""What a federate that does not read costs a server and the other federates.

Some federates, each in a process of its own, each send so many interactions to all.  In turns with one federate more that is not
there, that reads, and that is stopped by a signal.  In three ways: small and larger messages that do not wait for their answers,
and small ones that do, so that each is a turn of the server's loop by itself.

* Deliveries a second to the others, until the slowest of them has all.
* The server's CPU, and that of the others, for each message sent.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import NamedTuple

from weft_benchmarks import fedpro
from weft_benchmarks.crowds.members import answer, cpu_of, member, tell
from weft_benchmarks.runner import COMPILED, PURE, Figures, say

FEDERATES = 4
BETWEEN = 32  # sent before it is looked what has come

ABSENT, READS, STOPPED = "absent", "reads", "stopped"
KINDS = [ABSENT, READS, STOPPED]


class Way(NamedTuple):
    """How the federates send; `messages` of each of them, by build."""

    name: str
    size: int
    waits: bool
    messages: dict[str, int]


WAYS = [
    Way("64 bytes", 64, False, {COMPILED: 40_000, PURE: 8_000}),
    Way("1,000 bytes", 1_000, False, {COMPILED: 20_000, PURE: 5_000}),
    Way("64 bytes, waiting", 64, True, {COMPILED: 4_000, PURE: 1_500}),
]


# --- in the federates' processes ------------------------------------------------------------------------------


def mutual(port: int, messages: int, size: int, expected: int, waits: int) -> None:
    """When told to, send so many messages; hear as many as expected; print the seconds and the CPU it took."""
    rti, counter, ping, values = fedpro.join(port, "" if waits else "FedPro.asyncUpdates=true")
    rti.subscribe_interaction_class(ping)
    values = dict.fromkeys(values, bytes(size))
    print("ready", flush=True)
    sys.stdin.readline()
    before, cpu = time.perf_counter(), time.process_time()
    for number in range(messages):
        rti.send_interaction(ping, values, b"")
        if number % BETWEEN == 0:
            rti.evoke_multiple_callbacks(0.0, 0.0)
    while counter.received < expected:
        rti.evoke_callback(1.0)
        rti.evoke_multiple_callbacks(0.0, 1.0)
    took = {"seconds": time.perf_counter() - before, "cpu_s": time.process_time() - cpu}
    print(json.dumps(took), flush=True)
    sys.stdin.readline()
    rti.connection.lose()


def main() -> None:
    mutual(*map(int, sys.argv[1:]))


# --- in the benchmark's own process ---------------------------------------------------------------------------


def measure(build: str, way: Way, federates: int, number: int, record: bool) -> Figures:
    """One round: all three kinds, in another order each time, and the ratios within it."""
    found: Figures = {}
    for kind in KINDS[number % 3 :] + KINDS[: number % 3]:
        say(f"{build}: {way.name}, one more {kind}, round {number}")
        found |= {
            f"{kind}_{name}": value for name, value in _beside(build, way, federates, kind, record).items()
        }
    for kind in (READS, STOPPED):
        for name in ("per_s", "server_us", "others_us"):
            found[f"{kind}_{name}_ratio"] = found[f"{kind}_{name}"] / found[f"{ABSENT}_{name}"]
    return found


def _beside(build: str, way: Way, federates: int, kind: str, record: bool) -> Figures:
    """What the others get beside one more of this kind."""
    messages = way.messages[build]
    sent, heard = messages * federates, messages * (federates - 1)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        server, port = stack.enter_context(fedpro.server(build, folder, record="recorded" if record else ""))
        if kind != ABSENT:
            # It is to hear the messages of all, and to send none.
            stack.enter_context(_further(build, port, sent, way, stop=kind == STOPPED))
        members = [
            stack.enter_context(member(build, __name__, port, messages, way.size, heard, int(way.waits)))
            for _ in range(federates)
        ]
        for one in members:
            fedpro.ready(one)
        before = cpu_of(server.pid)
        for one in members:
            tell(one)
        took = [answer(one) for one in members]
        spent = cpu_of(server.pid) - before
    return {
        "per_s": heard * federates / max(one["seconds"] for one in took),
        "server_us": spent / sent * 1e6,
        "others_us": sum(one["cpu_s"] for one in took) / sent * 1e6,
    }


@contextlib.contextmanager
def _further(build: str, port: int, expected: int, way: Way, stop: bool) -> Iterator[None]:
    with member(build, __name__, port, 0, way.size, expected, 0) as process:
        fedpro.ready(process)
        tell(process)
        if stop:
            process.send_signal(signal.SIGSTOP)
        yield
